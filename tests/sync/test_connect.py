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

from amqp_sansio import AMQP_0_8, AMQP_0_10, By, EndpointClosed, Event, LocalProtocolError, OpenRequested
from amqp_sansio.amqp_0_8 import AccessRequest, QueueDeclareOk
from amqp_sansio.amqp_0_8 import QueueDeclare as QueueDeclare08
from amqp_sansio.amqp_0_9_1 import (
    Config,
    ConnectionBlocked,
    ConnectionUnblocked,
    ConnectionUpdateSecret,
    ConnectionUpdateSecretOk,
    QueueDeclare,
    Unblocked,
)
from amqp_sansio.capture import Segment, StreamData, read_segments, reassemble
from amqp_sansio.sasl import Plain, SaslError
from amqp_sansio.uri import UriError
from amqp_sansio_sync import Connection, Recorder, connect
from tests.kit.certificates import Certificates
from tests.kit.sync_server import WAIT, Server, Session, running, wait_until


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


def test_a_connection_opens_and_closes(server: Server) -> None:
    with connect(server.url, heartbeat=20, channel_max=7, frame_max=8192) as connection:
        assert connection.is_open
        assert connection.report is None
        assert connection.core.heartbeat == 20
        assert connection.core.channel_max == 7
        assert connection.core.frame_max == 8192
        assert connection.peer_properties["product"] == "amqp_sansio"
        assert repr(connection) == f"<Connection to {server.url.replace('guest@', '***@')}%2F, open>"
    assert not connection.is_open
    assert connection.report is not None
    assert connection.report.by is By.LOCAL
    assert connection.report.code == 200
    assert "closed by this side: 200" in repr(connection)
    assert server.session().ended.wait(WAIT)


def test_close_says_how_it_ended_and_may_be_called_again(server: Server) -> None:
    connection = connect(server.url)
    report = connection.close(302, "going home")
    assert (report.by, report.code, report.text) == (By.LOCAL, 302, "going home")
    assert connection.close() == report
    with pytest.raises(EndpointClosed, match="going home") as caught:
        connection.open_channel()
    assert caught.value.report == report


def test_the_options_of_the_url_count_and_those_of_the_call_win(server: Server) -> None:
    with connect(server.url + "?heartbeat=30&frame_max=4096", heartbeat=10) as connection:
        assert connection.core.heartbeat == 10
        assert connection.core.frame_max == 4096


def test_without_a_user_it_is_guest() -> None:
    with running() as server, connect(f"amqp://127.0.0.1:{server.port}") as connection:
        assert connection.is_open
        assert connection.core.mechanism == "PLAIN"


def test_what_is_no_option_is_refused(server: Server) -> None:
    options: dict[str, Any] = {"stream_above": 10}
    with pytest.raises(TypeError, match="connect takes no stream_above"):
        connect(server.url, **options)


def test_what_is_no_url_is_refused() -> None:
    with pytest.raises(UriError):
        connect("http://localhost/")


def test_a_version_that_the_server_does_not_speak_is_told(server: Server) -> None:
    with pytest.raises(EndpointClosed, match="0-9-1"):
        connect(server.url, version=AMQP_0_10)


def test_a_wrong_password_is_told(server: Server) -> None:
    with pytest.raises(EndpointClosed, match="ACCESS_REFUSED") as caught:
        connect(server.url.replace("guest:guest", "guest:wrong"))
    report = caught.value.report
    assert report is not None
    assert report.code == 403
    assert "password is wrong" in report.hint
    assert "wrong@" not in str(caught.value)


def test_an_unknown_virtual_host_is_told(server: Server) -> None:
    with pytest.raises(EndpointClosed, match="530 NOT_ALLOWED"):
        connect(server.url + "nowhere")


def test_no_common_mechanism_is_told(server: Server) -> None:
    with pytest.raises(EndpointClosed, match="no SASL mechanism in common"):
        connect(server.url + "?auth_mechanism=external")
    with pytest.raises(SaslError, match="isn't known"):
        connect(server.url + "?auth_mechanism=kerberos")


def test_scram_draws_a_fresh_nonce_for_each_connection() -> None:
    nonces: list[str] = []

    config = Config(mechanisms=("SCRAM-SHA-256",), nonce="server-nonce-of-this-test")
    with running(config=config) as server:
        for _ in range(2):
            with connect(server.url) as connection:
                assert connection.core.mechanism == "SCRAM-SHA-256"
                configured: tuple[Any, ...] = connection.core.config.sasl
                nonces += [str(getattr(each, "nonce", "")) for each in configured[:1]]
        with pytest.raises(EndpointClosed):
            connect(server.url.replace("guest:guest", "guest:wrong"))
    assert len(set(nonces)) == 2
    assert all(len(nonce) >= 24 for nonce in nonces)


def test_a_mechanism_can_be_given(server: Server) -> None:
    server.users["me"] = "secret"
    with connect(server.url, sasl=Plain("me", "secret")) as connection:
        assert connection.is_open


def test_nobody_listens() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    with pytest.raises(ConnectionRefusedError):
        connect(f"amqp://127.0.0.1:{port}/")


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


def test_a_server_of_another_version_is_told() -> None:
    with (
        answering(lambda connected: connected.sendall(b"AMQP\x00\x01\x00\x00")) as url,
        pytest.raises(EndpointClosed, match=r"refused 0-9-1-rabbit .* and offers 0-1-0-0"),
    ):
        connect(url)


def test_tls_on_the_port_of_a_client_without_is_told() -> None:
    with (
        answering(lambda connected: connected.sendall(b"\x15\x03\x03\x00\x02\x02\x16")) as url,
        pytest.raises(EndpointClosed, match="TLS records on a connection without TLS"),
    ):
        connect(url)


def test_a_server_that_hangs_up_during_the_login_is_told() -> None:
    def hang_up(session: Session, event: Event) -> bool:
        if isinstance(event, OpenRequested):
            session.core.connection_lost("hung up", monotonic())
            return True
        return False

    with running(script=hang_up) as server, pytest.raises(EndpointClosed, match="virtual host is missing or forbidden"):
        connect(server.url)


def test_version_0_8() -> None:
    with running() as server, connect(server.url, version=AMQP_0_8) as connection:
        channel = connection.open_channel()
        channel.call(AccessRequest(realm="/data"))
        ok = channel.call(QueueDeclare08(queue="jobs"))
        assert isinstance(ok, QueueDeclareOk)
        channel.publish(b"hello", routing_key="jobs")
        got = channel.get("jobs")
        assert got is not None
        assert got.body == b"hello"
        got.release()
        with channel.consume("jobs", prefetch=5) as deliveries:
            delivery = next(deliveries)
            assert delivery.redelivered
            delivery.accept()
        with pytest.raises(LocalProtocolError, match="has no confirms"):
            connection.open_channel(confirm=True)
        assert len(connection.core.channels) == 1


def test_blocked_and_unblocked(server: Server, connection: Connection) -> None:
    session = server.session()
    assert connection.blocked is None
    with connection.events(Unblocked, timeout=WAIT) as events:
        session.do(lambda: session.core.send(ConnectionBlocked("low on memory")))
        connection.open_channel()
        assert connection.blocked == "low on memory"
        session.do(lambda: session.core.send(ConnectionUnblocked()))
        assert next(events) == Unblocked()
    assert connection.blocked is None


def test_events_of_a_closed_connection_say_why(server: Server) -> None:
    connection = connect(server.url)
    events = connection.events()
    connection.close(320, "enough")
    with pytest.raises(EndpointClosed, match="320 enough"):
        next(events)
    with pytest.raises(EndpointClosed, match="320 enough"):
        next(connection.events())


def test_a_secret_is_updated(server: Server, connection: Connection) -> None:
    ok = connection.call(ConnectionUpdateSecret(b"new", "expired"), timeout=WAIT)
    assert isinstance(ok, ConnectionUpdateSecretOk)


def test_the_server_closes_the_connection(server: Server) -> None:
    session: list[Session] = []
    with (
        pytest.raises(EndpointClosed, match="320 CONNECTION_FORCED - shutdown") as caught,
        connect(server.url) as connection,
    ):
        channel = connection.open_channel()
        session.append(server.session())
        session[0].do(lambda: session[0].core.close(320, "CONNECTION_FORCED - shutdown"))
        while True:
            channel.get("nothing")
    report = caught.value.report
    assert report is not None
    assert report.by is By.REMOTE
    assert session[0].ended.wait(WAIT)


def test_leaving_the_context_raises_what_no_call_has_raised(server: Server) -> None:
    with (
        pytest.raises(EndpointClosed, match="404 NOT_FOUND - no exchange 'missing'"),
        connect(server.url) as connection,
    ):
        channel = connection.open_channel()
        channel.publish(b"lost", exchange="missing")
        other = connection.open_channel()
        other.close()


def test_leaving_the_context_is_quiet_when_the_report_was_read(server: Server) -> None:
    with connect(server.url) as connection:
        channel = connection.open_channel()
        channel.publish(b"lost", exchange="missing")
        connection.open_channel()
        report = channel.report
        assert report is not None
        assert report.code == 404


def test_an_exception_in_the_context_stays_the_one_that_is_raised(server: Server) -> None:
    with pytest.raises(RuntimeError, match="mine"), connect(server.url) as connection:
        channel = connection.open_channel()
        channel.publish(b"lost", exchange="missing")
        connection.open_channel()
        raise RuntimeError("mine")
    assert not connection.is_open


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
