"""The tests of tests/sync/test_websocket.py over sockets, those that meet a server; and a proxy between the two."""

from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Generator
from contextlib import contextmanager, suppress

import pytest

from amqp_sansio import Version
from amqp_sansio.testing.simulate import World
from amqp_sansio.uri import AmqpUri
from amqp_sansio_sync import connect
from amqp_sansio_sync.simulated import inside as inside_world
from tests.kit.certificates import Certificates
from tests.kit.sync_user import Made, SyncUser, each_version
from tests.sync.test_websocket import (
    inside,
    test_a_lost_one_recovers,
    test_a_server_that_never_answers_the_request,
    test_messages_go_through,
    test_over_tls,
)

__all__ = [
    "test_a_lost_one_recovers",
    "test_a_server_that_never_answers_the_request",
    "test_messages_go_through",
    "test_over_tls",
]


def _copy(one: socket.socket, other: socket.socket) -> None:
    try:
        while octets := one.recv(65_536):
            other.sendall(octets)
        other.shutdown(socket.SHUT_WR)
    except OSError:
        return


@contextmanager
def proxy() -> Generator[tuple[int, list[bytes]]]:
    """A proxy for CONNECT; its port, and what it was asked for."""
    asked: list[bytes] = []
    opened: list[socket.socket] = []
    threads: list[threading.Thread] = []
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            while True:
                try:
                    client, _ = listener.accept()
                except OSError:
                    return
                head = b""
                while not head.endswith(b"\r\n\r\n"):
                    head += client.recv(1)
                asked.append(head.split(b"\r\n")[0])
                host, port = head.split()[1].decode().split(":")
                server = socket.create_connection((host, int(port)))
                client.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
                opened.extend((client, server))
                for pair in ((client, server), (server, client)):
                    threads.append(threading.Thread(target=_copy, args=pair, daemon=True))
                    threads[-1].start()

        accepting = threading.Thread(target=serve, daemon=True)
        accepting.start()
        yield listener.getsockname()[1], asked
        with suppress(OSError):
            listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        accepting.join()
        for each in opened:
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
        for thread in threads:
            thread.join()
        for each in opened:
            each.close()


@each_version
def test_through_a_proxy_with_tls(made: Made, certificates: Certificates, version: Version) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificates.server, certificates.server_key)
    with made(ssl=context) as broker, proxy() as (port, asked):
        broker.fill("jobs")

        def through(uri: AmqpUri, seconds: float) -> socket.socket:
            made = socket.create_connection(("127.0.0.1", port), seconds)
            made.sendall(f"CONNECT {uri.host}:{uri.port} HTTP/1.1\r\n\r\n".encode())
            head = b""
            while not head.endswith(b"\r\n\r\n"):
                head += made.recv(1)
            assert head.startswith(b"HTTP/1.1 200")
            return made

        url = inside(broker.url.replace("127.0.0.1", "localhost"))
        with SyncUser(broker, version, f"{url}?cacertfile={certificates.ca}", connector=through) as user:
            user.publish(b"x" * 100_000)
            assert len(next(user.consume()).body) == 100_000
        assert asked and asked[0].startswith(b"CONNECT localhost:")


def test_a_simulated_world_takes_no_connector() -> None:
    def through(uri: AmqpUri, seconds: float) -> socket.socket:
        raise AssertionError

    with World() as world, inside_world(world), pytest.raises(ValueError, match="simulated world"):
        connect("amqp://broker/", connector=through)
