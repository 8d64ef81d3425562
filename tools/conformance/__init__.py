"""Rules of the specifications that the test suite proves: facts, outcomes of a run, a report."""
