"""What the tests of the blocking adapter share on the machine: brokers on loopback, certificates, signals."""

from __future__ import annotations

import socket
from collections.abc import Generator

import pytest

from tests.kit.certificates import Certificates, make_certificates
from tests.kit.scripted import ScriptedBroker
from tests.kit.sync_interrupts import Interrupts, Signals
from tests.kit.sync_user import Made


@pytest.fixture
def made() -> Made:
    """Makes brokers that the test reaches."""
    return ScriptedBroker


@pytest.fixture
def broker(made: Made) -> Generator[ScriptedBroker]:
    """A broker with the queue "jobs", without TLS."""
    with made() as broker:
        broker.fill("jobs")
        yield broker


@pytest.fixture(scope="session")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    """An authority, a server and a client certificate."""
    return make_certificates(tmp_path_factory.mktemp("certificates"))


@pytest.fixture
def silent() -> Generator[str]:
    """The URL of a server that says nothing."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield f"amqp://127.0.0.1:{listener.getsockname()[1]}/"


@pytest.fixture
def closed_port() -> Generator[int]:
    """A port on which nobody listens."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield taken.getsockname()[1]


@pytest.fixture
def interrupts() -> Interrupts:
    """What interrupts the test's own code."""
    return Signals()


@pytest.fixture
def stride() -> int:
    """How many of the lines of the client make one at which it is interrupted."""
    return 1
