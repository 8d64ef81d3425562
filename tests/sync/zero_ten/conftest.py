"""What the tests of the blocking adapter's 0-10 share: a server on loopback, a connection to it, a session."""

from __future__ import annotations

from collections.abc import Generator

import pytest

from amqp_sansio import AMQP_0_10
from amqp_sansio_sync import connect
from amqp_sansio_sync.amqp_0_10 import Connection, Session
from tests.kit.sync_0_10 import WAIT, Server, running


@pytest.fixture
def server() -> Generator[Server]:
    """A server without TLS."""
    with running() as server:
        yield server


@pytest.fixture
def connection(server: Server) -> Generator[Connection]:
    """An open connection to `server`."""
    with connect(server.url, version=AMQP_0_10, timeout=WAIT) as connection:
        yield connection


@pytest.fixture
def session(connection: Connection) -> Session:
    """A session of `connection`."""
    return connection.open_session(open_timeout=WAIT)
