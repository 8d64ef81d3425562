"""Opening and closing connections: login, versions, TLS, timeouts, reports, recordings."""

from __future__ import annotations

import copy
import io
import pickle
import ssl
from pathlib import Path
from typing import Any

import pytest

from amqp_sansio import AMQP_0_9_1, AMQP_0_10, AMQP_1_0, EndpointClosed, Version
from amqp_sansio.amqp_1_0 import Rejected
from amqp_sansio.broker import Settings
from amqp_sansio.capture import Segment, StreamData, read_segments, reassemble
from amqp_sansio.client.recovery import RecoveryPolicy
from amqp_sansio.errors import LinkEnded, NotAccepted, SessionEnded, TransactionFailed
from amqp_sansio.uri import UriError, parse
from amqp_sansio_sync import Recorder, connect
from amqp_sansio_sync.system import current
from tests.kit.certificates import Certificates
from tests.kit.scripted import ScriptedBroker
from tests.kit.sync_user import WAIT, Made, SyncUser, each_version


def test_what_is_no_url_is_refused() -> None:
    with pytest.raises(UriError):
        connect("http://localhost/")


def test_a_server_that_says_nothing_is_given_up(silent: str) -> None:
    begun = current().now()
    with pytest.raises(TimeoutError, match=r"not? .*within 0.2 seconds, it is header sent"):
        connect(silent, timeout=0.2)
    assert 0.2 <= current().now() - begun < 10


def test_the_timeout_of_the_url_is_in_milliseconds(silent: str) -> None:
    with pytest.raises(TimeoutError, match=r"within 0.15"):
        connect(silent + "?connection_timeout=150")


@pytest.mark.rule("1.0/security/tls/validate", "1.0/security/tls/pure", "1.0/transport/port-tls")
@each_version
def test_tls_verifies_by_default(made: Made, certificates: Certificates, version: Version) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificates.server, certificates.server_key)
    with made(ssl=context) as broker:
        broker.fill("jobs")
        url = broker.url.replace("127.0.0.1", "localhost")
        with SyncUser(broker, version, f"{url}?cacertfile={certificates.ca}") as user:
            body = b"x" * 300_000
            user.publish(body)
            assert next(user.consume()).body == body
        with pytest.raises(ssl.SSLCertVerificationError, match=r"no TLS with localhost:.* cacertfile is"):
            connect(url, version=version)
        with pytest.raises(ssl.SSLCertVerificationError, match=r"example\.org"):
            connect(f"{url}?cacertfile={certificates.ca}&server_name_indication=example.org", version=version)
        # It is TLS from the first octet on.
        with pytest.raises((EndpointClosed, OSError)):
            connect(url.replace("amqps:", "amqp:"), version=version, timeout=WAIT)
        assert parse("amqps://localhost").port == 5671
        with connect(url + "?verify=verify_none", version=version) as connection:
            assert connection.is_open
        trusting = ssl.create_default_context(cafile=str(certificates.ca))
        with connect(url, version=version, ssl=trusting) as connection:
            assert connection.is_open


def test_a_client_certificate_is_shown(made: Made, certificates: Certificates) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificates.server, certificates.server_key)
    context.load_verify_locations(certificates.ca)
    context.verify_mode = ssl.CERT_REQUIRED
    files = f"certfile={certificates.client}&keyfile={certificates.client_key}"
    with made(ssl=context) as broker, connect(f"{broker.url}?cacertfile={certificates.ca}&{files}") as connection:
        transport = broker.peer.line.transport
        assert transport is not None and transport.get_extra_info("peercert")
        assert connection.is_open


def test_tls_to_a_port_without_is_told(broker: ScriptedBroker) -> None:
    with pytest.raises(ssl.SSLError, match="perhaps the port is one without TLS"):
        connect(broker.url.replace("amqp:", "amqps:"), timeout=WAIT)


def test_tls_to_a_server_that_says_nothing_is_given_up(silent: str) -> None:
    with pytest.raises(TimeoutError, match="no answer in time"):
        connect(silent.replace("amqp:", "amqps:"), timeout=0.2)


@pytest.mark.real("an attempt begins by the machine's clock before it is refused")
def test_a_file_for_tls_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"a file for TLS that isn't there: .*none\.pem"):
        connect(f"amqps://localhost?cacertfile={tmp_path / 'none.pem'}")


@pytest.mark.real("an attempt begins by the machine's clock before it is refused")
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


def test_a_recording_goes_on_when_a_lost_connection_is_opened_again(made: Made, tmp_path: Path) -> None:
    path = tmp_path / "recording.pcapng"
    with (
        made(clock="real", definitions={"queues": ["jobs"]}) as broker,
        connect(broker.url, record=path, recover=RecoveryPolicy(first_delay=0.01)) as connection,
    ):
        channel = connection.open_channel(confirm=True)
        broker.faults.close_connections()
        channel.publish(b"recorded body", routing_key="jobs", timeout=30)
    data = path.read_bytes()
    assert (len(_streams(data)), b"recorded body" in data) == (3, True)


@each_version
@pytest.mark.parametrize("secret", [False, True])
def test_a_recording_has_everything_but_secrets(made: Made, version: Version, secret: bool) -> None:
    settings = Settings(mechanisms=("PLAIN",))
    header = {AMQP_0_9_1: b"AMQP\0\0\x09\x01", AMQP_0_10: b"AMQP\1\1\0\x0a", AMQP_1_0: b"AMQP\3\1\0\0"}[version]
    file = io.BytesIO()
    with made(settings=settings, users={"me": "tell-nobody"}) as broker:
        broker.fill("jobs")
        url = f"amqp://me:tell-nobody@127.0.0.1:{broker.port}/"
        with Recorder(file, record_secrets=secret) as recorder, SyncUser(broker, version, url, record=recorder) as user:
            user.publish(b"recorded body")
        streams = _streams(file.getvalue())
        received = streams.pop(f"127.0.0.1:{broker.port}")
    (sent,) = streams.values()
    assert sent.startswith(header)
    assert b"recorded body" in sent
    assert (b"tell-nobody" in sent) is secret
    assert received.startswith(b"\1" if version is AMQP_0_9_1 else header)


def test_one_recorder_takes_many_connections_into_a_file_of_the_caller(broker: ScriptedBroker, tmp_path: Path) -> None:
    file = io.BytesIO()
    with Recorder(file) as recorder:
        for _ in range(2):
            with connect(broker.url, record=recorder):
                pass
    assert not file.closed
    assert len(_streams(file.getvalue())) == 3
    with connect(broker.url, record=tmp_path / "recording.pcapng"):
        pass
    assert len(_streams((tmp_path / "recording.pcapng").read_bytes())) == 2


def test_an_unwritable_recording_ends_alone(broker: ScriptedBroker, caplog: pytest.LogCaptureFixture) -> None:
    class Full(io.BytesIO):
        def write(self, data: Any, /) -> int:
            if self.tell() > 400:
                raise OSError(28, "No space left on device")
            return super().write(data)

    with connect(broker.url, record=Full()) as connection:
        assert connection.open_channel().is_open
    assert "the recording ends here" in caplog.text


def test_a_recording_is_closed_when_there_is_no_connection(closed_port: int, tmp_path: Path) -> None:
    path = tmp_path / "recording.pcapng"
    with pytest.raises(ConnectionRefusedError):
        connect(f"amqp://127.0.0.1:{closed_port}/", record=str(path))
    assert path.stat().st_size > 0


def test_a_refused_connection_names_the_address(closed_port: int) -> None:
    with pytest.raises(
        ConnectionRefusedError,
        match=f"no connection to amqp://guest:.*@127.0.0.1:{closed_port}.*(refused|nobody listens)",
    ):
        connect(f"amqp://guest:guest@127.0.0.1:{closed_port}/", timeout=5)


@pytest.mark.parametrize("version", [AMQP_0_10, AMQP_1_0], ids=lambda each: each.label)
def test_names_are_unique(broker: ScriptedBroker, version: Version) -> None:
    names: set[object] = set()
    for _ in range(2):
        with SyncUser(broker, version) as user, user.open() as other:
            container = user.connection.core.config.container_id if version is AMQP_1_0 else ""
            names |= {container} if container else {user.channel.name, other.name}
    assert len(names) == (4 if version is AMQP_0_10 else 2)


@pytest.mark.parametrize(
    "error",
    [
        LinkEnded("text", None, "mine"),
        NotAccepted("text", Rejected()),
        TransactionFailed("text", None),
        SessionEnded("text", None, b"mine", True),
    ],
)
def test_errors_copy_and_pickle(error: BaseException) -> None:
    for each in (copy.copy(error), pickle.loads(pickle.dumps(error))):
        assert type(each) is type(error)
        assert str(each) == "text"
        assert each.__dict__ == error.__dict__
