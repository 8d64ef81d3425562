"""A socket that can't become a connection is closed, whichever step fails, and the error says whose it was."""

from __future__ import annotations

import errno
import gc
import select
import socket
import ssl
import struct
import warnings
from collections.abc import Generator
from contextlib import contextmanager
from io import BytesIO
from typing import Any

import pytest

from amqp_sansio import EndpointClosed
from amqp_sansio.client.reaching import Reopening
from amqp_sansio.client.recovery import RecoveryPolicy
from amqp_sansio.uri import AmqpUri, parse
from amqp_sansio_probe.transport import SocketOpener
from amqp_sansio_probe.verdicts import Unusable
from amqp_sansio_sync import connect
from amqp_sansio_sync.reconnecting import OpenTransport
from amqp_sansio_sync.transport import SocketTransport, Transport
from tests.kit.certificates import Certificates
from tests.kit.processes import LIMIT
from tests.kit.scripted import ScriptedBroker


class Failing(socket.socket):
    """A socket that is not connected any more after some steps."""

    left = 0
    """Steps that still succeed."""

    def _step(self) -> None:
        if not self.left:
            raise OSError(errno.ENOTCONN, "Transport endpoint is not connected")
        self.left -= 1

    def getsockname(self) -> Any:
        self._step()
        return super().getsockname()

    def getpeername(self) -> Any:
        self._step()
        return super().getpeername()

    def setsockopt(self, *arguments: Any) -> None:
        self._step()
        super().setsockopt(*arguments)

    def setblocking(self, flag: bool, /) -> None:
        self._step()
        super().setblocking(flag)

    def settimeout(self, value: float | None, /) -> None:
        self._step()
        super().settimeout(value)


@contextmanager
def nothing_left() -> Generator[None]:
    """Fail if a socket is left that nobody closed."""
    gc.collect()
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always", ResourceWarning)
        yield
        gc.collect()
    assert [str(each.message) for each in seen] == []


def reset(listener: socket.socket, joined: socket.socket) -> None:
    """Let the peer of `joined` reset the connection, and wait until that has come."""
    accepted, _ = listener.accept()
    accepted.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    accepted.close()
    poll = select.poll()
    poll.register(joined, select.POLLIN)
    assert poll.poll(LIMIT * 1000)


@pytest.fixture
def listener() -> Generator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield listener


@pytest.mark.parametrize("record", [False, True], ids=["", "recorded"])
@pytest.mark.parametrize("scheme", ["amqp", "amqp+ws"])
def test_each_step_that_fails_closes_the_socket(listener: socket.socket, scheme: str, record: bool) -> None:
    made: list[Failing] = []
    url = f"{scheme}://127.0.0.1:{listener.getsockname()[1]}/"

    def fails_later(uri: AmqpUri, seconds: float) -> socket.socket:
        found = Failing(socket.AF_INET, socket.SOCK_STREAM)
        found.connect((uri.host, uri.port))
        found.left = len(made)
        made.append(found)
        return found

    failures = 0
    while failures == len(made):
        with nothing_left(), pytest.raises(OSError) as caught:
            connect(url, connector=fails_later, timeout=0.05, record=BytesIO() if record else None)
        assert made[-1].fileno() == -1, f"step {len(made) - 1}"
        if not isinstance(caught.value, TimeoutError):
            failures += 1
            assert f"no connection to {url}" in str(caught.value)
    assert failures >= 3, "a peer that says nothing in time is the last"


@pytest.mark.parametrize("secure", [False, True], ids=["plain", "TLS"])
def test_a_peer_that_resets_the_connection_at_once(
    listener: socket.socket, certificates: Certificates, secure: bool
) -> None:
    url = f"{'amqps' if secure else 'amqp'}://127.0.0.1:{listener.getsockname()[1]}/"

    def is_reset(uri: AmqpUri, seconds: float) -> socket.socket:
        joined = socket.create_connection((uri.host, uri.port))
        reset(listener, joined)
        return joined

    context = ssl.create_default_context(cafile=certificates.ca) if secure else None
    with nothing_left(), pytest.raises(OSError, match=f"no connection to {url}"):
        connect(url, connector=is_reset, ssl=context)


def test_a_client_that_broke_while_another_socket_was_opened(broker: ScriptedBroker) -> None:
    """Nobody goes on with the socket of that attempt."""
    with nothing_left():
        connection = connect(broker.url, recover=RecoveryPolicy(first_delay=0.0))
        driver = connection._driver  # pyright: ignore[reportPrivateUsage]
        opened: list[Transport] = []

        def reopen(*arguments: Any) -> tuple[Reopening, OpenTransport]:
            assert real is not None
            found, open_transport = real(*arguments)

            def breaks() -> Transport:
                opened.append(open_transport())
                # As after an exception from a signal's handler in the middle of a step.
                driver._busy = True  # pyright: ignore[reportPrivateUsage]
                return opened[-1]

            return found, breaks

        real, driver.reopen = driver.reopen, reopen
        broker.peer.cut()
        with pytest.raises(EndpointClosed):
            connection.open_channel()
        connection.close()
    assert len(opened) == 1
    assert isinstance(opened[0], SocketTransport) and opened[0].socket.fileno() == -1


@pytest.mark.parametrize("scheme", ["amqp", "amqps"])
def test_the_prober_at_such_a_peer(listener: socket.socket, monkeypatch: pytest.MonkeyPatch, scheme: str) -> None:
    where = f"127.0.0.1:{listener.getsockname()[1]}"
    real = socket.create_connection

    def is_reset(address: tuple[str, int], timeout: float) -> socket.socket:
        joined = real(address, timeout)
        reset(listener, joined)
        return joined

    monkeypatch.setattr(socket, "create_connection", is_reset)
    with nothing_left(), pytest.raises(Unusable, match=f"the connection to {where} fails"):
        SocketOpener(parse(f"{scheme}://{where}"), LIMIT)()
