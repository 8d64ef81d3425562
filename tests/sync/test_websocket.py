"""AMQP inside a WebSocket in the blocking client: every version, TLS, what is held up, refusals, and the end."""

from __future__ import annotations

import ssl

import pytest
from websockets.frames import Frame, Opcode

from amqp_sansio import Version
from amqp_sansio.client.recovery import RecoveryPolicy
from amqp_sansio.uri import parse
from amqp_sansio.websocket import server_stream
from amqp_sansio_sync import connect
from amqp_sansio_sync.websocket import Inside
from tests.kit.certificates import Certificates
from tests.kit.scripted import ScriptedBroker
from tests.kit.sync_user import Made, SyncUser, each_version


def inside(url: str) -> str:
    """The URL of the same port, for a WebSocket."""
    return url.replace("amqp://", "amqp+ws://").replace("amqps://", "amqps+ws://")


@each_version
def test_messages_go_through(broker: ScriptedBroker, version: Version) -> None:
    with SyncUser(broker, version, inside(broker.url)) as user:
        bodies = [b"", b"x" * 70_000, b"y" * 1_000_000, b"z"]
        for body in bodies:
            user.publish(body)
        got = user.consume()
        assert [next(got).body for _ in bodies] == bodies


@each_version
def test_over_tls(made: Made, certificates: Certificates, version: Version) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificates.server, certificates.server_key)
    with made(ssl=context) as broker:
        broker.fill("jobs")
        url = inside(broker.url.replace("127.0.0.1", "localhost"))
        with SyncUser(broker, version, f"{url}?cacertfile={certificates.ca}") as user:
            body = b"x" * 300_000
            user.publish(body)
            assert next(user.consume()).body == body
        with pytest.raises(ssl.SSLCertVerificationError):
            connect(url, version=version)


def test_a_server_that_never_answers_the_request(silent: str) -> None:
    with pytest.raises(TimeoutError, match=r"no WebSocket at amqp\+ws://.*: no answer in time"):
        connect(inside(silent), timeout=0.2)


@each_version
def test_a_lost_one_recovers(broker: ScriptedBroker, version: Version) -> None:
    policy = RecoveryPolicy(first_delay=0.01)
    with SyncUser(broker, version, inside(broker.url), recover=policy) as user:
        user.publish(b"1")
        broker.peer.cut()
        user.publish(b"2")
        got = user.consume()
        assert {next(got).body, next(got).body} >= {b"2"}


class Narrow:
    """A stream that takes and gives few octets at a time, and blocks in between."""

    def __init__(self) -> None:
        self.written = bytearray()
        self.to_read = bytearray()
        self.turn = 0
        self.is_full = False

    def recv(self, size: int, /) -> bytes:
        self.turn += 1
        if self.turn % 2 or not self.to_read:
            raise BlockingIOError
        octets = bytes(self.to_read[:7])
        del self.to_read[:7]
        return octets

    def send(self, octets: bytes | memoryview, /) -> int:
        self.turn += 1
        if self.turn % 3 or self.is_full:
            raise BlockingIOError
        self.written += octets[:11]
        return len(octets[:11])


class Meeting:
    """A blocking client's end of a WebSocket, and the server's, over that stream."""

    def __init__(self) -> None:
        self.below = Narrow()
        self.server = server_stream()
        self.got = bytearray()
        self.inside = Inside(self.below, parse("ws://mq/"))

    def move(self) -> None:
        """Carry what is on its way."""
        octets, self.below.written = bytes(self.below.written), bytearray()
        if octets:
            self.got += self.server.receive_data(octets)
        self.below.to_read += self.server.data_to_send()

    def send(self, octets: bytes) -> None:
        """Send them as the driver does: what wasn't taken is given again."""
        while octets:
            try:
                octets = octets[self.inside.send(octets) :]
            except BlockingIOError:
                self.move()
        self.move()

    def recv(self, size: int) -> bytes:
        """So many octets."""
        found = b""
        while len(found) < size:
            try:
                octets = self.inside.recv(size - len(found))
            except BlockingIOError:
                self.move()
                continue
            if not octets:
                break
            found += octets
        return found


def test_octets_that_go_slowly_go_once_and_in_order() -> None:
    meeting = Meeting()
    meeting.inside.shake_hands(meeting.move)
    octets = bytes(range(256)) * 3
    meeting.send(octets)
    assert meeting.got == octets
    meeting.server.send(octets)
    assert meeting.recv(len(octets)) == octets
    meeting.server.send(b"last")
    meeting.server.end()
    assert meeting.recv(100) == b"last"
    assert meeting.inside.can_receive
    assert meeting.inside.recv(10) == b""


def test_pings_are_answered_and_dont_hold_a_reader_up() -> None:
    meeting = Meeting()
    meeting.inside.shake_hands(meeting.move)
    pings = bytes(Frame(Opcode.PING, b"?").serialize(mask=False)) * 200
    meeting.below.to_read += pings
    for _ in range(1000):
        with pytest.raises(BlockingIOError):
            meeting.inside.recv(10)
    meeting.send(b"x")
    assert meeting.got == b"x"
    assert not meeting.below.to_read


def test_pings_of_a_server_that_reads_nothing_fill_nothing() -> None:
    meeting = Meeting()
    meeting.inside.shake_hands(meeting.move)
    below = meeting.below
    below.is_full = True
    for number in range(200):
        below.to_read += bytes(Frame(Opcode.PING, bytes([number])).serialize(mask=False))
        with pytest.raises(BlockingIOError):
            meeting.inside.recv(10)
    assert not below.to_read
    below.is_full = False
    while True:
        try:
            assert meeting.inside.send(b"x") == 1
            break
        except BlockingIOError:
            continue
    # The pong that was begun, the latest one, and the octet: each is a masked frame of 7 octets.
    assert len(below.written) == 3 * 7


def test_an_end_in_the_middle_is_an_error() -> None:
    meeting = Meeting()
    meeting.inside.shake_hands(meeting.move)
    meeting.below.to_read += bytes(Frame(Opcode.TEXT, b"?").serialize(mask=False))
    with pytest.raises(ConnectionResetError, match="AMQP is binary"):
        meeting.recv(1)


def test_a_refusal_is_told() -> None:
    meeting = Meeting()
    meeting.below.to_read += b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n"
    with pytest.raises(ConnectionRefusedError, match=r"no WebSocket at ws://mq/: HTTP 503 Service Unavailable"):
        meeting.inside.shake_hands(lambda: None)
