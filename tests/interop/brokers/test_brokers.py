"""The brokers that the fixtures start are the ones they describe."""

import socket
import ssl
from pathlib import Path

import pytest

from tests.interop.brokers.brokerj import BrokerJ
from tests.interop.brokers.nodes import Node, run_rhea_client
from tests.interop.brokers.process import HOST, BrokerError, run_install
from tests.interop.brokers.rabbitmq import RabbitMQ

HEADER_0_8 = b"AMQP\x01\x01\x08\x00"
HEADER_0_9_1 = b"AMQP\x00\x00\x09\x01"
HEADER_SASL_1_0 = b"AMQP\x03\x01\x00\x00"


def start_frame(connection: socket.socket, header: bytes) -> bytes:
    """The first frame after `header`: connection.start, whose mechanisms stand in it as text."""
    connection.sendall(header)
    received = b""
    while not received.endswith(b"\xce"):
        octets = connection.recv(4096)
        assert octets, f"closed after {received!r}"
        received += octets
    return received


def mechanisms(port: int, header: bytes) -> set[str]:
    """The mechanisms in connection.start: the long string before the locales."""
    with socket.create_connection((HOST, port), timeout=10) as connection:
        frame = start_frame(connection, header)
    assert frame[7:11] == b"\x00\x0a\x00\x0a"
    locales = b"\x00\x00\x00\x05en_US\xce"
    assert frame.endswith(locales)
    text = frame[: -len(locales)]
    length = next(size for size in range(len(text)) if text[-size - 4 : -size or None][:4] == size.to_bytes(4))
    return set(text[len(text) - length :].decode().split())


@pytest.mark.parametrize("header", [HEADER_0_8, HEADER_0_9_1], ids=["0-8", "0-9-1"])
def test_mechanisms_of_rabbitmq(rabbitmq: RabbitMQ, header: bytes) -> None:
    assert mechanisms(rabbitmq.port, header) == {"PLAIN", "AMQPLAIN"}


@pytest.mark.parametrize("header", [HEADER_0_8, HEADER_0_9_1], ids=["0-8", "0-9-1"])
def test_mechanisms_of_brokerj(brokerj: BrokerJ, header: bytes) -> None:
    assert mechanisms(brokerj.port, header) == {"PLAIN"}
    assert mechanisms(brokerj.scram_port, header) == {"SCRAM-SHA-256"}
    assert mechanisms(brokerj.anonymous_port, header) == {"ANONYMOUS"}


def mechanisms_1_0(port: int) -> set[str]:
    """The mechanisms in AMQP 1.0's sasl-mechanisms: an array of symbols, or one."""
    with socket.create_connection((HOST, port), timeout=10) as connection:
        connection.sendall(HEADER_SASL_1_0)
        received = b""
        while len(received) < 12 or len(received) < 8 + int.from_bytes(received[8:12]):
            octets = connection.recv(4096)
            assert octets, f"closed after {received!r}"
            received += octets
    assert received.startswith(HEADER_SASL_1_0)
    known = (b"PLAIN", b"AMQPLAIN", b"ANONYMOUS", b"EXTERNAL", b"SCRAM-SHA-256")
    return {name.decode() for name in known if bytes([len(name)]) + name in received}


def test_mechanisms_of_1_0(rabbitmq: RabbitMQ, brokerj: BrokerJ, proton: Node, rhea: Node) -> None:
    assert mechanisms_1_0(rabbitmq.port) == {"PLAIN", "AMQPLAIN", "ANONYMOUS"}
    assert mechanisms_1_0(brokerj.port) == {"PLAIN"}
    assert mechanisms_1_0(brokerj.scram_port) == {"SCRAM-SHA-256"}
    assert mechanisms_1_0(brokerj.anonymous_port) == {"ANONYMOUS"}
    for node in (proton, rhea):
        assert mechanisms_1_0(node.port) == node.mechanisms


def test_the_nodes_and_the_client_get_on(proton: Node, rhea: Node) -> None:
    for node, user in ((proton, ""), (rhea, "guest")):
        told = run_rhea_client(node.port, "dynamic", user)
        assert told["body"] == "reply"
    with pytest.raises(AssertionError, match="ended with 1"):
        run_rhea_client(proton.port, "dynamic", "guest")


def test_tls_of_rabbitmq(rabbitmq: RabbitMQ) -> None:
    context = ssl.create_default_context(cafile=rabbitmq.ca_file)
    context.load_cert_chain(rabbitmq.certificates.client, rabbitmq.certificates.client_key)
    for name in ("localhost", HOST):
        with (
            socket.create_connection((HOST, rabbitmq.tls_port), timeout=10) as plain,
            context.wrap_socket(plain, server_hostname=name) as connection,
        ):
            assert b"EXTERNAL" in start_frame(connection, HEADER_0_9_1)


def test_tls_of_rabbitmq_is_not_trusted_by_itself(rabbitmq: RabbitMQ) -> None:
    with (
        socket.create_connection((HOST, rabbitmq.tls_port), timeout=10) as plain,
        pytest.raises(ssl.SSLCertVerificationError),
    ):
        ssl.create_default_context().wrap_socket(plain, server_hostname="localhost")


def test_rabbitmqctl(rabbitmq: RabbitMQ) -> None:
    users = {line.split("\t")[0] for line in rabbitmq.ctl("list_users").splitlines()[1:]}
    assert users == {rabbitmq.user, rabbitmq.noperm_user}
    with pytest.raises(BrokerError, match="delete_user"):
        rabbitmq.ctl("delete_user", "nobody")


def test_the_versions_are_the_brokers_own(rabbitmq: RabbitMQ, brokerj: BrokerJ) -> None:
    for port, version in ((rabbitmq.port, rabbitmq.version), (brokerj.port, brokerj.version)):
        with socket.create_connection((HOST, port), timeout=10) as connection:
            assert version.encode() in start_frame(connection, HEADER_0_9_1)


@pytest.mark.parametrize(("fails", "passes"), [(0, True), (2, True), (3, False)])
def test_what_installs_is_tried_again(tmp_path: Path, fails: int, passes: bool) -> None:
    tried = tmp_path / "tried"
    script = f'echo x >>{tried}; echo "try $(wc -l <{tried})"; [ "$(wc -l <{tried})" -gt {fails} ]'
    if passes:
        assert run_install("it", ["sh", "-c", script], pauses=(0, 0)) == f"try {fails + 1}\n"
    else:
        with pytest.raises(BrokerError, match="try 3"):
            run_install("it", ["sh", "-c", script], pauses=(0, 0))
