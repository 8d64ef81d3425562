"""What tests/tables tries with a sample of captures and some conversations, with every capture and many of them."""

from pathlib import Path

import pytest

from tests.kit.captures import everywhere
from tests.tables import test_lane
from tests.tables.test_lane import (
    test_traffic_that_repeats_wraps_and_lies_has_the_same_events_alone,
    test_traffic_with_less_in_it_has_the_same_events_alone,
)

pytestmark = pytest.mark.large

__all__ = [
    "test_traffic_that_repeats_wraps_and_lies_has_the_same_events_alone",
    "test_traffic_with_less_in_it_has_the_same_events_alone",
]


@pytest.mark.parametrize("path", everywhere())
def test_a_capture_has_the_same_events_alone(path: Path) -> None:
    test_lane.test_a_capture_has_the_same_events_alone(path, True)
