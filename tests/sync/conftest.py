"""What the tests of the blocking adapter share: a server on loopback, a connection to it, certificates."""

from __future__ import annotations

from collections.abc import Generator, Iterator

import pytest

from amqp_sansio_sync import Connection, connect
from tests.kit.certificates import Certificates, make_certificates
from tests.kit.sync_server import Server, running


@pytest.fixture
def server() -> Generator[Server]:
    """A server without TLS."""
    with running() as server:
        yield server


@pytest.fixture
def connection(server: Server) -> Iterator[Connection]:
    """An open connection to `server`."""
    connection = connect(server.url)
    yield connection
    connection.close()


@pytest.fixture(scope="session")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    """An authority, a server and a client certificate."""
    return make_certificates(tmp_path_factory.mktemp("certificates"))
