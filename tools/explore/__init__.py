"""`make explore`: runs the Hypothesis tests with new seeds and more examples, for any time."""
