"""What the tests of the blocking adapter share: a world that each of them runs in, and a broker of it."""

from __future__ import annotations

from collections.abc import Callable, Generator
from functools import partial

import pytest

from amqp_sansio.testing.simulate import World
from amqp_sansio.testing.simulate.network import Line
from amqp_sansio_sync.simulated import inside
from tests.kit.certificates import Certificates, kept_certificates
from tests.kit.scripted import ScriptedBroker
from tests.kit.sync_interrupts import Calls, Interrupts
from tests.kit.world_broker import WorldBroker


@pytest.fixture
def world() -> Generator[World]:
    """The world that the test's own code runs in."""
    with World() as world, inside(world):
        yield world


@pytest.fixture
def made(world: World) -> Callable[..., ScriptedBroker]:
    """Makes brokers that the test reaches."""
    return partial(WorldBroker, world)


@pytest.fixture
def broker(made: Callable[..., ScriptedBroker]) -> Generator[ScriptedBroker]:
    """A broker with the queue "jobs", without TLS."""
    with made() as broker:
        broker.fill("jobs")
        yield broker


@pytest.fixture
def certificates() -> Certificates:
    """An authority, a server and a client certificate."""
    return kept_certificates()


class Silent:
    """The end of a server that never says anything."""

    room = 65_536

    def attach(self, line: Line) -> None:
        """It needs no line."""

    def receive(self, octets: bytes) -> None:
        """It says nothing."""

    def writable(self) -> None:
        """It has nothing to write."""

    def ended(self, reason: str, *, is_reset: bool) -> None:
        """Nobody asks it."""


@pytest.fixture
def silent(world: World) -> Generator[str]:
    """The URL of a server that says nothing."""
    listener = world.listen("127.0.0.1", 0, Silent)
    yield f"amqp://127.0.0.1:{listener.address[1]}/"
    listener.close()


@pytest.fixture
def closed_port(world: World) -> int:
    """A port on which nobody listens."""
    return 9


@pytest.fixture
def interrupts(world: World) -> Interrupts:
    """What interrupts the test's own code."""
    return Calls(world)


@pytest.fixture
def stride() -> int:
    """How many of the lines of the client make one at which it is interrupted; tests/system tries each."""
    return 23
