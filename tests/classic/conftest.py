"""Versions, sides and ends that many tests of 0-8 and 0-9-1 begin with.

Whoever takes `version` runs for both of them, whoever takes `side` for both sides, and so for the ends made of them.
"""

import pytest

from amqp_sansio import AMQP_0_8, AMQP_0_9_1, Side, Version
from tests.kit.facing import CLIENT, SERVER
from tests.kit.facing_classic import Facing
from tests.kit.pair_classic import Pair


@pytest.fixture(params=[AMQP_0_8, AMQP_0_9_1], ids=lambda version: version.label)
def version(request: pytest.FixtureRequest) -> Version:
    """0-8 and 0-9-1."""
    found: Version = request.param
    return found


@pytest.fixture(params=[CLIENT, SERVER], ids=lambda side: side.value)
def side(request: pytest.FixtureRequest) -> Side:
    """The client's side and the server's."""
    found: Side = request.param
    return found


@pytest.fixture
def facing(version: Version, side: Side) -> Facing:
    """An endpoint of an open connection with one channel."""
    return Facing.opened(version, side)


@pytest.fixture
def client(version: Version) -> Facing:
    """A client of an open connection with one channel."""
    return Facing.opened(version, CLIENT)


@pytest.fixture
def server(version: Version) -> Facing:
    """A server of an open connection with one channel."""
    return Facing.opened(version, SERVER)


@pytest.fixture
def pair(version: Version) -> Pair:
    """Both ends of an open connection without channels."""
    return Pair(version).open()
