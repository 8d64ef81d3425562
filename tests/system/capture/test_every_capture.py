"""What tests/capture tries with a sample of the recorded captures, with every one of them."""

from pathlib import Path

import pytest

from tests.capture import test_captures, test_clocks, test_two_points
from tests.kit.captures import everywhere


@pytest.mark.parametrize("path", everywhere())
def test_the_streams_are_those_of_tshark(path: Path) -> None:
    test_captures.test_the_streams_are_those_of_tshark(path)


@pytest.mark.parametrize("path", everywhere("*.pcapng"))
def test_both_formats_hold_the_same_traffic(path: Path) -> None:
    test_captures.test_both_formats_hold_the_same_traffic(path)


@pytest.mark.parametrize("path", test_captures.derived(everywhere))
def test_a_rewritten_capture_gives_the_streams_of_its_source(path: Path) -> None:
    test_captures.test_a_rewritten_capture_gives_the_streams_of_its_source(path)


@pytest.mark.parametrize("path", test_captures.derived(everywhere))
def test_capture_order_does_as_well_as_time_order(path: Path) -> None:
    test_captures.test_capture_order_does_as_well_as_time_order(path)


@pytest.mark.parametrize("path", everywhere())
def test_packets_captured_at_two_points_count_once(path: Path) -> None:
    test_two_points.test_packets_captured_at_two_points_count_once(path)


@pytest.mark.parametrize("path", everywhere())
def test_a_file_for_each_direction(path: Path) -> None:
    test_two_points.test_a_file_for_each_direction(path)


@pytest.mark.parametrize("path", everywhere())
def test_what_is_found_of_clocks_is_true(path: Path) -> None:
    test_clocks.test_what_is_found_is_true_of_every_capture(path)
