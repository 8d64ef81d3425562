"""No surprise: arbitrary octets never raise; they end in NEED_DATA, or in Failed and Closed with the reply queued."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from amqp_sansio import (
    AuthenticationRequested,
    By,
    Closed,
    CloseHint,
    Failed,
    RemoteProtocolError,
    ScramKeysRequested,
    Signal,
    Version,
)
from amqp_sansio._classic.endpoint.connection import Connection
from amqp_sansio.amqp_0_9_1 import Delivery
from amqp_sansio.endpoint import Side
from amqp_sansio.sasl import SERVER_MECHANISMS, AmqPlain, External, Plain, ScramSha256
from tests.kit.driving import VERSIONS
from tests.kit.facing import Facing, frame
from tests.kit.pair import SIDES, Pair, client_config, connection_of, pieces, server_config

OCTETS = st.binary(max_size=200)
CLIENTS_WORDS = st.sampled_from(
    (b"", b"\0user\0secret", b"n,,n=user,r=abcdefghij", b"c=biws,r=abcdefghij" + b"n" * 20 + b",p=AAAA")
)
SERVERS_WORDS = st.sampled_from((b"", b"r=" + b"c" * 20 + b"xyz,s=c2FsdA==,i=4096", b"v=AAAA", b"e=no"))
PIECES = st.lists(st.integers(1, 30), min_size=1, max_size=5)


@st.composite
def frames(draw: st.DrawFn) -> bytes:
    """Frames whose outside is right and whose inside is anything, near to what a method looks like."""
    kind = draw(st.sampled_from((1, 1, 1, 2, 3, 8, 4, 9)))
    channel = draw(st.sampled_from((0, 1, 1, 2, 65_535)))
    class_id = draw(st.sampled_from((10, 20, 40, 50, 60, 60, 85, 90, 30, 120)))
    method_id = draw(st.sampled_from((10, 11, 20, 21, 30, 31, 40, 41, 50, 51, 60, 70, 71, 80, 120)))
    start = bytes([0, class_id, 0, method_id]) if draw(st.booleans()) else b""
    return frame(kind, channel, start + draw(st.binary(max_size=40)))


def check_ends(end: Connection, octets: bytes, sizes: list[int]) -> None:
    """Feed octets and take events: nothing raises, and what failed has its reply queued or is at its end."""
    closed = False
    for piece in pieces(*sizes)(octets):
        end.receive_data(piece, 0.0)
        while not isinstance(event := end.next_event(), Signal):
            assert not closed, "Closed is the last event"
            if isinstance(event, Failed) and event.by is By.LOCAL:
                assert isinstance(event.error, RemoteProtocolError)
                assert event.error.rule is None or event.error.rule.startswith(("0-8/", "0-9-1/"))
                assert end.send_backlog or end.close_hint is not CloseHint.KEEP
            closed = isinstance(event, Closed) and event.channel == 0
            repr(event)
        end.data_to_send(0.0)
    assert closed == (end.close_hint is not CloseHint.KEEP)


@given(VERSIONS, st.sampled_from(SIDES), OCTETS, PIECES)
def test_a_fresh_end_takes_any_octets(version: Version, side: Side, octets: bytes, sizes: list[int]) -> None:
    check_ends(connection_of(version, side), octets, sizes)


@given(VERSIONS, st.sampled_from(SIDES), OCTETS | st.lists(frames(), max_size=8).map(b"".join), PIECES)
def test_an_open_end_takes_any_octets(version: Version, side: Side, octets: bytes, sizes: list[int]) -> None:
    check_ends(Facing.opened(version, side, 2).end, octets, sizes)


@given(VERSIONS, st.sampled_from(SIDES), st.integers(0, 400), OCTETS)
def test_an_opening_goes_wrong_anywhere(version: Version, side: Side, after: int, octets: bytes) -> None:
    pair = Pair(version).open()
    end = connection_of(version, side)
    sound = bytes(pair.sent[side.other])[:after]
    for piece in (sound, octets):
        end.receive_data(piece, 0.0)
        while not isinstance(event := end.next_event(), Signal):
            pair.applications[side](end, event)
            if end.close_hint is CloseHint.KEEP:
                end.data_to_send(0.0)
    end.receive_eof(0.0)
    while not isinstance(end.next_event(), Signal):
        pass
    assert end.report is not None


@given(VERSIONS, st.binary(max_size=60))
def test_damaged_properties_are_told_when_they_are_read(version: Version, raw: bytes) -> None:
    """A client reads properties when it's asked for them; then, and only then, octets that are none raise."""
    facing = Facing.opened(version, Side.CLIENT)
    facing.channel.call(facing.make("basic.consume", queue="q", consumer_tag="c"))
    facing.settle()
    facing.feed(facing.method("basic.consume-ok", consumer_tag="c"))
    facing.feed(facing.method("basic.deliver", consumer_tag="c", delivery_tag=1))
    payload = bytes([0, 60, 0, 0]) + bytes(8) + raw
    facing.feed(frame(2, 1, payload))
    deliveries: list[Delivery] = facing.of(Delivery)
    assert len(deliveries) == (1 if len(raw) >= 2 else 0)
    for delivery in deliveries:
        try:
            assert delivery.properties.content_type is None or raw
        except ValueError as error:
            assert type(error).__name__ == "CodecError"


@given(VERSIONS, st.sampled_from(sorted(SERVER_MECHANISMS)), st.lists(OCTETS | CLIENTS_WORDS, max_size=4))
def test_any_login_ends_in_a_decision_or_a_refusal(version: Version, mechanism: str, responses: list[bytes]) -> None:
    facing = Facing(version, Side.SERVER, server_config(mechanisms=(mechanism,), nonce="n" * 20))
    facing.application = _decide
    facing.feed(facing.dialect.header)
    names = ["connection.start-ok", *["connection.secure-ok"] * 3]
    for name, response in zip(names, responses, strict=False):
        fields: dict[str, Any] = {"response": response}
        if name == "connection.start-ok":
            fields |= {"mechanism": mechanism, "locale": "en_US"}
        facing.feed(facing.method(name, 0, **fields))
    facing.end.receive_eof(0.0)
    facing.settle()
    assert isinstance(facing.events[-1], Closed)


def _decide(connection: Connection, event: object) -> None:
    if isinstance(event, ScramKeysRequested):
        connection.provide_scram_keys(None)
    elif isinstance(event, AuthenticationRequested):
        connection.refuse_authentication("no")


@given(VERSIONS, st.integers(0, 3), st.lists(OCTETS | SERVERS_WORDS, max_size=4))
def test_any_challenge_is_answered_or_ends_it(version: Version, which: int, challenges: list[bytes]) -> None:
    mechanism = (
        ScramSha256("user", "secret", nonce="c" * 20),
        Plain("user", "secret"),
        AmqPlain("user", "secret"),
        External(),
    )[which]
    facing = Facing(version, Side.CLIENT, client_config(sasl=mechanism))
    numbers = {"version_major": facing.dialect.version_major, "version_minor": facing.dialect.version_minor}
    offer = mechanism.name.encode()
    facing.feed(facing.method("connection.start", 0, mechanisms=offer, locales=b"en_US", **numbers))
    assert facing.end.mechanism == mechanism.name
    for challenge in challenges:
        facing.feed(facing.method("connection.secure", 0, challenge=challenge))
    facing.feed(facing.method("connection.tune", 0))
    facing.end.receive_eof(0.0)
    facing.settle()
    assert isinstance(facing.events[-1], Closed)
    assert b"secret" not in repr(facing.events).encode()
