"""What the tests of the blocking adapter share: a broker with the queue "jobs" on loopback, and certificates."""

from __future__ import annotations

from collections.abc import Generator

import pytest

from tests.kit.certificates import Certificates, make_certificates
from tests.kit.scripted import ScriptedBroker


@pytest.fixture
def broker() -> Generator[ScriptedBroker]:
    """A broker without TLS."""
    with ScriptedBroker() as broker:
        broker.fill("jobs")
        yield broker


@pytest.fixture(scope="session")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    """An authority, a server and a client certificate."""
    return make_certificates(tmp_path_factory.mktemp("certificates"))
