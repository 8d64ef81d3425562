"""A hub with a client of 0-10, for tests that need no other settings."""

import pytest

from amqp_sansio.amqp_0_10 import Session
from tests.kit.hub_0_10 import User, World


@pytest.fixture
def world() -> World:
    return World()


@pytest.fixture
def peer(world: World) -> User:
    return world.connect()


@pytest.fixture
def session(peer: User) -> Session:
    return peer.session()


@pytest.fixture
def second(peer: User) -> Session:
    """Another session of the same connection."""
    return peer.session(b"second")
