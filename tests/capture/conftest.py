"""A connection of TCP for the tests that write its segments."""

import pytest

from tests.kit.tcp import Wire


@pytest.fixture
def wire() -> Wire:
    """The two ends of a connection, without segments yet."""
    return Wire()
