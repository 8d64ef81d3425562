"""Which rules of the specifications the test suite proves: facts, outcomes of a run, a report."""
