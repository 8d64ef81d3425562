"""Hostile captures cost no more for their octets when there are thousands of them."""

import pytest

from tests.capture import test_cost


@pytest.mark.parametrize("kind", test_cost.STREAMS)
def test_segments_cost_the_same_whatever_their_number(kind: str) -> None:
    test_cost.test_segments_cost_the_same_whatever_their_number(kind, 2000)


@pytest.mark.parametrize("kind", test_cost.FILES)
def test_records_cost_the_same_whatever_their_number(kind: str) -> None:
    test_cost.test_records_cost_the_same_whatever_their_number(kind, 1000)
