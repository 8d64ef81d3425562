"""A hub with a client of 0-8 or 0-9-1."""

import pytest

from tests.kit.hub_classic import Talk, World


@pytest.fixture
def dialect() -> str | None:
    """What both sides speak, for tests that aren't run for several dialects: the hub's own."""
    return None


@pytest.fixture
def world(dialect: str | None) -> World:
    return World(dialect)


@pytest.fixture
def channel(world: World) -> Talk:
    """A channel of a client of its own."""
    return world.channel()
