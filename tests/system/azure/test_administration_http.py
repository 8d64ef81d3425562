"""The administration's port: requests as they shouldn't be get a status, and the next one is served."""

from __future__ import annotations

import socket

import pytest

from amqp_sansio_pytest import ServiceBus

REQUESTS = {
    "a list": (b"GET /$Resources/queues HTTP/1.1\r\nHost: a\r\n\r\n", 200),
    "no entity": (b"GET /nowhere HTTP/1.1\r\nHost: a\r\n\r\n", 404),
    "no request": (b"\r\n\r\n", 400),
    "two words": (b"GET /\r\n\r\n", 400),
    "a length that is none": (b"PUT /q HTTP/1.1\r\nHost: a\r\nContent-Length: x\r\n\r\n", 400),
    "a length below zero": (b"PUT /q HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n", 400),
    "chunks": (b"PUT /q HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n", 400),
    "a large body": (b"PUT /q HTTP/1.1\r\nHost: a\r\nContent-Length: 65537\r\n\r\n", 413),
}


def asked(port: int, octets: bytes) -> bytes:
    with socket.create_connection(("127.0.0.1", port), timeout=30) as client:
        client.sendall(octets)
        parts: list[bytes] = []
        while part := client.recv(65_536):
            parts.append(part)
    return b"".join(parts)


@pytest.mark.parametrize("name", REQUESTS)
def test_each_request_has_a_status(service_bus: ServiceBus, name: str) -> None:
    octets, status = REQUESTS[name]
    port = service_bus.administration_port
    assert asked(port, octets).startswith(f"HTTP/1.1 {status} ".encode())
    assert asked(port, REQUESTS["a list"][0]).startswith(b"HTTP/1.1 200 ")


def test_a_head_without_an_end_is_refused(service_bus: ServiceBus) -> None:
    port = service_bus.administration_port
    with socket.create_connection(("127.0.0.1", port), timeout=30) as client:
        client.sendall(b"GET / HTTP/1.1\r\n" + b"a" * 40_000)
        assert client.recv(100).startswith(b"HTTP/1.1 431 ")


def test_a_client_that_leaves_does_no_harm(service_bus: ServiceBus) -> None:
    port = service_bus.administration_port
    for octets in (b"", b"PUT /q HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nabc"):
        with socket.create_connection(("127.0.0.1", port), timeout=30) as client:
            client.sendall(octets)
    assert asked(port, REQUESTS["a list"][0]).startswith(b"HTTP/1.1 200 ")
    assert service_bus.broker.errors == []
