"""Thousands of messages that are alike are joined to their publishes."""

from tests.histories import test_matching


def test_many_alike_cost_what_they_are() -> None:
    test_matching.test_many_alike_cost_what_they_are(3000)
