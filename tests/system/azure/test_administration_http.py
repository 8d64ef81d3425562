"""The administration's ports: requests as they shouldn't be get a status, and the next one is served."""

from __future__ import annotations

import socket
import ssl
from pathlib import Path

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


def asked_securely(service_bus: ServiceBus, context: ssl.SSLContext, host: str) -> bytes:
    port = int(service_bus.administration_connection_string.partition(":")[2].partition(":")[2].partition(";")[0])
    client = socket.create_connection(("127.0.0.1", port), timeout=30)
    with client, context.wrap_socket(client, server_hostname=host) as wrapped:
        wrapped.sendall(REQUESTS["a list"][0])
        return wrapped.recv(65_536)


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1"])
def test_it_is_served_over_tls(service_bus: ServiceBus, host: str) -> None:
    strict = ssl.create_default_context(cafile=service_bus.certificate)
    strict.verify_flags |= ssl.VERIFY_X509_STRICT
    assert asked_securely(service_bus, strict, host).startswith(b"HTTP/1.1 200 ")
    with pytest.raises(ssl.SSLCertVerificationError):
        asked_securely(service_bus, strict, "example.com")
    with pytest.raises(ssl.SSLCertVerificationError):
        asked_securely(service_bus, ssl.create_default_context(), host)
    assert service_bus.broker.errors == []


def test_its_certificate_is_another_one_each_time_and_gone_with_it() -> None:
    with ServiceBus() as one, ServiceBus() as other:
        paths = [Path(each.certificate) for each in (one, other)]
        first, second = [path.read_text() for path in paths]
        assert first != second
        assert [each.name for each in paths[0].parent.iterdir()] != []
    assert not any(path.parent.exists() for path in paths)
