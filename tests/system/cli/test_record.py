"""`record`: real clients and servers on sockets, and the file read back."""

import os
import signal
import socket
import ssl
import struct
import subprocess
import sys
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from amqp_sansio import Accepted, EndpointClosed
from amqp_sansio.capture import (
    CaptureDamage,
    ConnectionEnd,
    ConnectionStart,
    Segment,
    StreamData,
    read_segments,
    reassemble,
)
from amqp_sansio_pytest import EmbeddedBroker
from amqp_sansio_sync import connect
from tests.kit.captures import named
from tests.kit.certificates import make_certificates
from tests.kit.processes import LIMIT, running
from tests.system.cli.conftest import Running

Handler = Callable[[socket.socket], None]
Run = Callable[..., subprocess.CompletedProcess[str]]


@contextmanager
def upstream(handler: Handler) -> Generator[int]:
    """A server that hands every connection to `handler`, each in a thread; gives its port."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        threads: list[threading.Thread] = []

        def serve() -> None:
            while True:
                try:
                    connection, _ = server.accept()
                except OSError:
                    return
                thread = threading.Thread(target=handler, args=(connection,))
                thread.start()
                threads.append(thread)

        accepting = threading.Thread(target=serve)
        accepting.start()
        try:
            yield server.getsockname()[1]
        finally:
            server.shutdown(socket.SHUT_RDWR)
            accepting.join()
            for thread in threads:
                thread.join()


@pytest.fixture
def proxy_of(start: Callable[..., Running]) -> Callable[..., Running]:
    """Starts a proxy in front of a port, which records to a file."""

    def run(port: int, output: Path, *more: str) -> Running:
        upstream = f"127.0.0.1:{port}"
        return start("record", "--listen", "127.0.0.1:0", "--upstream", upstream, "--output", output, *more)

    return run


def streams_of(path: Path) -> tuple[bytes, bytes]:
    """What client and server sent on the one connection of a capture."""
    segments = segments_of(path)
    client = b""
    data: dict[str, list[bytes]] = {}
    for item in reassemble(segments):
        if isinstance(item, ConnectionStart):
            client = (item.client or "").encode()
        elif isinstance(item, StreamData):
            data.setdefault(item.sender, []).append(item.data)
    ours = b"".join(data.pop(client.decode(), []))
    assert len(data) <= 1
    return ours, b"".join(b"".join(parts) for parts in data.values())


def segments_of(path: Path) -> list[Segment]:
    found = list(read_segments(path.read_bytes(), file=path.name))
    assert not [row for row in found if isinstance(row, CaptureDamage)]
    return [row for row in found if isinstance(row, Segment)]


def speaks(octets: bytes, expected: int) -> Handler:
    """A server that takes `expected` octets, sends its own, and closes."""

    def handle(connection: socket.socket) -> None:
        with connection:
            received = receive(connection, expected)
            if len(received) == expected:
                connection.sendall(octets)

    return handle


def receive(connection: socket.socket, size: int) -> bytes:
    """That many octets, or all until the end."""
    parts: list[bytes] = []
    while size and (part := connection.recv(min(size, 65536))):
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


def until_end(connection: socket.socket) -> bytes:
    return receive(connection, 1 << 62)


@pytest.mark.parametrize("name", ["o091_pika_basic.pcap", "o10_proton_brokerj_basic.pcap"])
@pytest.mark.parametrize("secrets", [False, True])
def test_a_recording_holds_what_passed(
    proxy_of: Callable[..., Running], tmp_path: Path, secrets: bool, name: str
) -> None:
    ours, theirs = streams_of(named(name))
    assert b"guest" in ours
    output = tmp_path / "recorded.pcapng"
    with upstream(speaks(theirs, len(ours))) as port:
        proxy = proxy_of(port, output, *(["--record-secrets"] if secrets else []))
        with proxy.connect() as client:
            client.sendall(ours)
            assert until_end(client) == theirs
        said = proxy.stop()
    assert "1 connections" in said
    recorded, answered = streams_of(output)
    assert answered == theirs
    if secrets:
        assert recorded == ours
    else:
        password = b"\0guest\0guest"
        assert password in ours and password not in recorded
        assert recorded == ours.replace(password, b"*" * len(password))


def test_the_file_is_complete_while_the_connection_is_open(proxy_of: Callable[..., Running], tmp_path: Path) -> None:
    """A recorder that is killed loses nothing that it passed on."""
    output = tmp_path / "recorded.pcapng"
    with upstream(lambda connection: _echo(connection)) as port:
        proxy = proxy_of(port, output)
        with proxy.connect() as client:
            client.sendall(b"AMQP\0\0\x09\x01")
            assert receive(client, 8) == b"AMQP\0\0\x09\x01"
            proxy.process.kill()
            proxy.process.wait()
            assert streams_of(output) == (b"AMQP\0\0\x09\x01", b"AMQP\0\0\x09\x01")


def test_a_half_closed_connection_stays_open_the_other_way(proxy_of: Callable[..., Running], tmp_path: Path) -> None:
    def answer_after_end(connection: socket.socket) -> None:
        with connection:
            connection.sendall(until_end(connection)[::-1])

    output = tmp_path / "recorded.pcapng"
    with upstream(answer_after_end) as port:
        proxy = proxy_of(port, output)
        with proxy.connect() as client:
            client.sendall(b"abc" * 100_000)
            client.shutdown(socket.SHUT_WR)
            assert until_end(client) == b"cba" * 100_000
        proxy.stop(signal.SIGINT)
    assert streams_of(output) == (b"abc" * 100_000, b"cba" * 100_000)
    (end,) = [item for item in reassemble(segments_of(output)) if isinstance(item, ConnectionEnd)]
    assert (end.how, end.complete) == ("fin", True)
    start_item = next(reassemble(segments_of(output)).__iter__())
    assert isinstance(start_item, ConnectionStart)
    assert end.by == start_item.client


def test_a_reset_is_passed_on_and_recorded(proxy_of: Callable[..., Running], tmp_path: Path) -> None:
    def reset(connection: socket.socket) -> None:
        receive(connection, 4)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        connection.close()

    output = tmp_path / "recorded.pcapng"
    with upstream(reset) as port:
        proxy = proxy_of(port, output)
        with proxy.connect() as client:
            client.sendall(b"AMQP")
            with pytest.raises(ConnectionResetError):
                receive(client, 1)
        proxy.stop()
    (end,) = [item for item in reassemble(segments_of(output)) if isinstance(item, ConnectionEnd)]
    assert end.how == "rst"
    assert end.by == f"127.0.0.1:{port}"


def test_a_broker_that_is_away_ends_the_clients_connection(proxy_of: Callable[..., Running], tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    proxy = proxy_of(port, tmp_path / "recorded.pcapng")
    with pytest.raises(ConnectionResetError), proxy.connect() as client:
        receive(client, 1)
    assert f"upstream 127.0.0.1:{port}: connection refused\n" in proxy.stop()
    assert segments_of(tmp_path / "recorded.pcapng") == []


def test_a_recording_is_continued_and_its_torn_end_cut_off(proxy_of: Callable[..., Running], tmp_path: Path) -> None:
    output = tmp_path / "recorded.pcapng"
    with upstream(lambda connection: _echo(connection)) as port:
        for message in (b"first", b"second"):
            proxy = proxy_of(port, output)
            with proxy.connect() as client:
                client.sendall(message)
                assert receive(client, len(message)) == message
            proxy.stop()
            if message == b"first":
                whole = output.read_bytes()
                output.write_bytes(whole + whole[:20])
    payloads = [segment.payload for segment in segments_of(output) if segment.payload]
    assert payloads == [b"first", b"first", b"second", b"second"]


def test_an_address_in_use_is_one_line(cli: Run, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        where = f"127.0.0.1:{taken.getsockname()[1]}"
        output = tmp_path / "x.pcapng"
        done = cli("record", "--listen", where, "--upstream", "127.0.0.1:1", "--output", output)
    assert done.returncode == 2
    assert where in done.stderr and done.stderr.count("\n") == 1


def test_an_upstream_that_does_not_exist_or_is_the_proxy_is_one_line(cli: Run, tmp_path: Path) -> None:
    """Nothing is written, and another proxy at a taken address leaves the recording of the first as it is."""
    output = tmp_path / "x.pcapng"
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    for listen, upstream, words in [
        ("127.0.0.1:0", "none.invalid:5672", "upstream none.invalid:5672: "),
        ("none.invalid:0", "127.0.0.1:1", "none.invalid:0: "),
        (f"127.0.0.1:{port}", f"127.0.0.1:{port}", f"upstream 127.0.0.1:{port}: the proxy itself listens there"),
        (f"127.0.0.1:{port}", f"localhost:{port}", f"upstream localhost:{port}: the proxy itself listens there"),
        (f"0.0.0.0:{port}", f"127.0.0.1:{port}", f"upstream 127.0.0.1:{port}: the proxy itself listens there"),
    ]:
        done = cli("record", "--listen", listen, "--upstream", upstream, "--output", output)
        assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
        assert done.stderr.startswith(f"amqp-sansio: {words}")
        assert not output.exists()
    output.write_bytes(b"\x0a\x0d\x0d\x0a and not yet whole")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        where = f"127.0.0.1:{taken.getsockname()[1]}"
        for command in (["record", "--upstream", "127.0.0.1:1", "--output"], ["broker", "--record"]):
            done = cli(*command, output, "--listen", where)
            assert done.returncode == 2 and f"{where}: address already in use" in done.stderr
    assert output.read_bytes() == b"\x0a\x0d\x0d\x0a and not yet whole"


def test_a_connection_that_comes_back_ends_the_proxy(tmp_path: Path) -> None:
    """The check at the start doesn't see it: the name of the upstream leads elsewhere by then."""
    script = """
import socket, sys
from amqp_sansio_cli import addresses
addresses.leads_to = lambda *_: False
from amqp_sansio_cli.main import main
sys.exit(main())
"""
    with socket.create_server(("127.0.0.1", 0)) as free:
        where = f"127.0.0.1:{free.getsockname()[1]}"
    output, ready = tmp_path / "x.pcapng", tmp_path / "ready"
    words: list[str | Path] = ["record", "--listen", where, "--upstream", where]
    words += ["--output", output, "--ready-file", ready]
    with running([sys.executable, "-c", script, *words], stderr=subprocess.PIPE, env=dict(os.environ)) as process:
        assert process.stderr is not None
        assert b"listening on" in process.stderr.readline()
        with socket.create_connection((where.split(":")[0], int(where.split(":")[1])), timeout=LIMIT) as client:
            client.sendall(b"AMQP\0\0\x09\x01")
            assert process.wait(LIMIT) == 2
        said = process.stderr.read().decode()
    assert said == f"amqp-sansio: upstream {where}: its connections come back to the proxy itself\n"


def test_several_addresses(start: Callable[..., Running], tmp_path: Path) -> None:
    with upstream(lambda connection: _echo(connection)) as port:
        proxy = start(
            *("record", "--listen", "127.0.0.1:0", "--listen", "127.0.0.2:0"),
            *("--upstream", f"127.0.0.1:{port}", "--output", tmp_path / "x.pcapng"),
        )
        for address in proxy.addresses:
            host, _, number = address.rpartition(":")
            with socket.create_connection((host, int(number)), timeout=LIMIT) as client:
                client.sendall(b"hello")
                assert receive(client, 5) == b"hello"
        said = proxy.stop()
    assert f"listening on {' and '.join(proxy.addresses)}, upstream" in said and "2 connections" in said


def _echo(connection: socket.socket) -> None:
    with connection:
        while data := connection.recv(65536):
            connection.sendall(data)


def test_between_tls_and_tls_the_octets_above_it_are_recorded(proxy_of: Callable[..., Running], tmp_path: Path) -> None:
    """The proxy has a certificate for clients, and verifies that of the broker."""
    files = make_certificates(tmp_path)
    theirs = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    theirs.load_cert_chain(files.server, files.server_key)
    output = tmp_path / "session.pcapng"
    own = ("--tls-cert", str(files.server), "--tls-key", str(files.server_key))
    with EmbeddedBroker(definitions={"queues": ["jobs"]}, ssl=theirs) as broker:
        proxy = proxy_of(broker.port, output, *own, "--upstream-ca", str(files.ca))
        url = f"amqps://guest:guest@127.0.0.1:{proxy.port}/?cacertfile={files.ca}"
        with connect(url) as connection:
            assert connection.open_channel(confirm=True).publish(b"hello", routing_key="jobs") == Accepted()
        proxy.stop()
        ours, answers = streams_of(output)
        assert ours.startswith(b"AMQP\x00\x00\x09\x01") and b"hello" in ours and b"guest" not in ours
        assert answers.startswith(b"\x01\x00\x00")
        # The system's authorities don't know this broker.
        careful = proxy_of(broker.port, tmp_path / "refused.pcapng", *own, "--upstream-tls")
        with pytest.raises((EndpointClosed, OSError)):
            connect(url.replace(f":{proxy.port}/", f":{careful.port}/"), timeout=60)
        assert "certificate verify failed" in careful.stop()
