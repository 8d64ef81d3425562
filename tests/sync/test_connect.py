"""Opening and closing connections: login, versions, TLS, timeouts, reports, recordings."""

from __future__ import annotations

import io
import socket
import ssl
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic
from typing import Any, cast

import pytest

from amqp_sansio import By
from amqp_sansio.amqp_0_9_1 import QueueDeclare
from amqp_sansio.capture import Segment, StreamData, read_segments, reassemble
from amqp_sansio.uri import UriError
from amqp_sansio_sync import Recorder, connect
from tests.kit.certificates import Certificates
from tests.kit.sync_server import WAIT, Server, running, wait_until


@contextmanager
def answering(answer: Callable[[socket.socket], object]) -> Generator[str]:
    """The URL of a listener whose one connection is handed to `answer` in a thread."""
    listener = socket.create_server(("127.0.0.1", 0))
    stop = threading.Event()

    def serve() -> None:
        connected, _ = listener.accept()
        with connected:
            answer(connected)
            stop.wait(WAIT)

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield f"amqp://127.0.0.1:{listener.getsockname()[1]}/"
    finally:
        stop.set()
        thread.join(WAIT)
        listener.close()


def test_what_is_no_option_is_refused(server: Server) -> None:
    options: dict[str, Any] = {"hartbeat": 10}
    with pytest.raises(TypeError, match="connect takes no 'hartbeat' in AMQP 0-9-1; did you mean 'heartbeat'"):
        connect(server.url, **options)


def test_what_is_no_url_is_refused() -> None:
    with pytest.raises(UriError):
        connect("http://localhost/")


def test_a_server_that_says_nothing_is_given_up() -> None:
    begun = monotonic()
    with (
        answering(lambda connected: None) as url,
        pytest.raises(TimeoutError, match=r"not? .*within 0.2 seconds, it is header sent"),
    ):
        connect(url, timeout=0.2)
    assert monotonic() - begun < 10


def test_the_timeout_of_the_url_is_in_milliseconds() -> None:
    with answering(lambda connected: None) as url, pytest.raises(TimeoutError, match=r"within 0.15"):
        connect(url + "?connection_timeout=150")


def test_a_server_that_does_not_answer_the_close_is_left(server: Server) -> None:
    connection = connect(server.url, close_timeout=0.2)
    session = server.session()
    session.reading = False
    session.do(lambda: None)
    begun = monotonic()
    report = connection.close()
    assert monotonic() - begun < 10
    assert report.by is By.LOCAL
    assert not connection.is_open


def test_tls_verifies_by_default(certificates: Certificates) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificates.server, certificates.server_key)
    with running(tls=context) as server:
        with connect(f"{server.url}?cacertfile={certificates.ca}") as connection:
            channel = connection.open_channel(confirm=True)
            body = b"x" * 300_000
            channel.call(QueueDeclare("jobs"))
            channel.publish(body, routing_key="jobs")
            got = channel.get("jobs")
            assert got is not None
            assert got.body == body
        with pytest.raises(ssl.SSLCertVerificationError):
            connect(server.url)
        with pytest.raises(ssl.SSLCertVerificationError, match=r"example\.org"):
            connect(f"{server.url}?cacertfile={certificates.ca}&server_name_indication=example.org")
        with connect(server.url + "?verify=verify_none") as connection:
            assert connection.is_open
        trusting = ssl.create_default_context(cafile=str(certificates.ca))
        with connect(server.url, ssl=trusting) as connection:
            assert connection.is_open


def test_a_client_certificate_is_shown(certificates: Certificates) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificates.server, certificates.server_key)
    context.load_verify_locations(certificates.ca)
    context.verify_mode = ssl.CERT_REQUIRED
    files = f"certfile={certificates.client}&keyfile={certificates.client_key}"
    with running(tls=context) as server, connect(f"{server.url}?cacertfile={certificates.ca}&{files}") as connection:
        tls = cast("ssl.SSLSocket", server.session().socket)
        assert tls.getpeercert()
        assert connection.is_open


def test_a_file_for_tls_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"a file for TLS that isn't there: .*none\.pem"):
        connect(f"amqps://localhost?cacertfile={tmp_path / 'none.pem'}")


def test_tls_to_a_port_without_is_told(server: Server) -> None:
    with pytest.raises(ssl.SSLError, match="perhaps the port is one without TLS"):
        connect(server.url.replace("amqp:", "amqps:"), timeout=WAIT)


def test_tls_to_a_server_that_says_nothing_is_given_up() -> None:
    with answering(lambda connected: None) as url, pytest.raises(TimeoutError, match="no answer in time"):
        connect(url.replace("amqp:", "amqps:"), timeout=0.2)


@pytest.mark.parametrize(
    ("url", "context", "text"),
    [
        ("amqp://localhost/", True, "write amqps://"),
        ("amqps://localhost/?verify=verify_none", True, "use one of them"),
        ("amqps://localhost/?keyfile=key.pem", False, "no certfile"),
        ("amqps://localhost/?server_name_indication=disable", False, "verify=verify_none"),
    ],
)
def test_what_does_not_go_together_in_tls_is_refused(url: str, context: bool, text: str) -> None:
    with pytest.raises(ValueError, match=text):
        connect(url, ssl=ssl.create_default_context() if context else None)


def _streams(data: bytes) -> dict[str, bytes]:
    streams: dict[str, bytes] = {}
    segments = [each for each in read_segments(data) if isinstance(each, Segment)]
    for item in reassemble(segments):
        if isinstance(item, StreamData):
            streams[item.sender] = streams.get(item.sender, b"") + item.data
    return streams


def test_a_recording_has_everything_but_secrets(server: Server, tmp_path: Path) -> None:
    path = tmp_path / "recording.pcapng"
    with connect(server.url, record=path) as connection:
        connection.open_channel().publish(b"recorded body", routing_key="nowhere")
    wait_until(lambda: server.session().ended.is_set())
    streams = _streams(path.read_bytes())
    assert len(streams) == 2
    sent = streams.pop(next(name for name in streams if not name.endswith(f":{server.port}")))
    assert len(sent) == server.session().received
    assert sent.startswith(b"AMQP\x00\x00\x09\x01")
    assert b"recorded body" in sent
    assert b"guest" not in sent
    (received,) = streams.values()
    assert received[:1] == b"\x01"


def test_one_recorder_takes_many_connections_into_a_file_of_the_caller(server: Server) -> None:
    file = io.BytesIO()
    with Recorder(file, record_secrets=True) as recorder:
        for _ in range(2):
            with connect(server.url, record=recorder):
                pass
    assert not file.closed
    streams = _streams(file.getvalue())
    assert len(streams) == 3
    assert sum(b"\x00guest\x00guest" in data for data in streams.values()) == 2


def test_a_recording_that_cannot_be_written_ends_and_the_connection_goes_on(
    server: Server, caplog: pytest.LogCaptureFixture
) -> None:
    class Full(io.BytesIO):
        def write(self, data: Any, /) -> int:
            if self.tell() > 400:
                raise OSError(28, "No space left on device")
            return super().write(data)

    with connect(server.url, record=Full()) as connection:
        assert connection.open_channel().is_open
    assert "the recording ends here" in caplog.text


def test_a_recording_is_closed_when_there_is_no_connection(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    path = tmp_path / "recording.pcapng"
    with pytest.raises(ConnectionRefusedError):
        connect(f"amqp://127.0.0.1:{port}/", record=str(path))
    assert path.stat().st_size > 0


def test_a_refused_connection_names_the_address() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
    with pytest.raises(ConnectionRefusedError, match=f"no connection to amqp://guest:.*@127.0.0.1:{port}.*refused"):
        connect(f"amqp://guest:guest@127.0.0.1:{port}/", timeout=5)
