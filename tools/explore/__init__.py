"""`make explore`: the Hypothesis tests with new seeds and more examples, for as long as one likes."""
