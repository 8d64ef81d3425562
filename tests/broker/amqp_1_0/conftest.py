"""A hub with a client of 1.0."""

import pytest

from tests.kit.hub_1_0 import User, World


@pytest.fixture
def world() -> World:
    return World()


@pytest.fixture
def user(world: World) -> User:
    return world.connect()
