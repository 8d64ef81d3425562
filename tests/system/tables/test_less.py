"""What tests/tables tries with parts of some captures, with many parts of every capture."""

from pathlib import Path

import pytest

from tests.kit.captures import everywhere
from tests.tables import test_less
from tests.tables.test_less import test_traffic_of_every_version_with_less_in_it

__all__ = ["test_traffic_of_every_version_with_less_in_it"]


@pytest.mark.parametrize("path", everywhere("*.pcap"))
def test_a_capture_with_less_in_it_makes_nothing_up(path: Path) -> None:
    test_less.test_a_capture_with_less_in_it_makes_nothing_up(path, True)


@pytest.mark.parametrize("path", everywhere("*.pcap"))
def test_roles_that_nothing_tells_are_null_and_ports_tell_them(path: Path) -> None:
    test_less.test_roles_that_nothing_tells_are_null_and_ports_tell_them(path)
