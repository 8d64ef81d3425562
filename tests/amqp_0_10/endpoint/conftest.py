"""Sides and endpoints of 0-10 that many tests here begin with.

Whoever takes `side`, `facing` or `opened` runs for both sides.
"""

import pytest

from amqp_sansio import Side
from tests.kit.facing import CLIENT, SERVER
from tests.kit.facing_0_10 import Facing


@pytest.fixture(params=[CLIENT, SERVER], ids=lambda side: side.value)
def side(request: pytest.FixtureRequest) -> Side:
    """The client's side and the server's."""
    found: Side = request.param
    return found


@pytest.fixture
def facing(side: Side) -> Facing:
    """An endpoint with a session on channel 0, in step both ways."""
    return Facing.attached(side)


@pytest.fixture
def client() -> Facing:
    """A client with a session on channel 0, in step both ways."""
    return Facing.attached(CLIENT)


@pytest.fixture
def server() -> Facing:
    """A server with a session on channel 0, in step both ways."""
    return Facing.attached(SERVER)


@pytest.fixture
def opened(side: Side) -> Facing:
    """An endpoint of an open connection without a session."""
    return Facing.opened(side)
