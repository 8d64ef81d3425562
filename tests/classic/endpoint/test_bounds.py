"""Whatever the peer sends: nothing is raised, and no endpoint holds more than its Limits allow."""

import pickle
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amqp_sansio import (
    PAUSED,
    AuthenticationRequested,
    By,
    Closed,
    CloseHint,
    Failed,
    LimitExceeded,
    Limits,
    RemoteProtocolError,
    Scope,
    ScramKeysRequested,
    Signal,
    Version,
)
from amqp_sansio._classic.endpoint.connection import Connection
from amqp_sansio.amqp_0_9_1 import BasicProperties, Delivery, Published
from amqp_sansio.endpoint import Side
from amqp_sansio.sasl import AmqPlain, External, Plain, ScramSha256
from amqp_sansio.sasl._registry import SERVER_MECHANISMS
from tests.kit.driving import OPERATIONS, Operation
from tests.kit.driving_classic import VERSIONS, Driver
from tests.kit.facing_classic import Facing
from tests.kit.octets_classic import METHOD, body, frame, header
from tests.kit.pair import SIDES, pieces
from tests.kit.pair_classic import Pair, client_config, connection_of, held_octets, server_config
from tests.kit.small import small_limits

LIMITS = small_limits(unparsed=6000, header=4096, calls=6, unsettled=5, unconfirmed=5, consumers=2)
SLACK = 10_000
"""One unit more than the backlog's bound: what is queued as a whole when the bound isn't reached yet."""


def check_bounds(end: Any, limits: Limits) -> None:
    """Every gauge is within its limit."""
    assert held_octets(end) <= limits.unparsed + limits.bodies + limits.backlog_hard + SLACK
    assert end.receive_budget <= limits.unparsed
    assert len(end.channels) <= limits.channels
    server = end.role is Side.SERVER
    for number in end.channels:
        channel = end.channel(number)
        assert len(channel.calls(server) or ()) <= limits.requests
        assert len(channel.calls(not server) or ()) <= limits.calls
        assert len(channel.unsettled) <= limits.unsettled
        assert len(channel.unconfirmed) <= limits.unconfirmed
        assert len(channel.consumers) <= limits.consumers + limits.requests
        assert len(channel.deferred or ()) <= limits.requests + 1


@given(VERSIONS, OPERATIONS, st.booleans())
def test_two_ends_stay_within_their_limits(version: Version, operations: list[Operation], damage: bool) -> None:
    driver = Driver(
        version,
        client=client_config(limits=LIMITS, frame_max=4096),
        server=server_config(limits=LIMITS, frame_max=4096),
        damage=damage,
    )
    for operation in operations:
        driver.apply(operation)
        for side in SIDES:
            check_bounds(driver.pair.ends[side], LIMITS)


UNITS = st.lists(st.tuples(st.integers(0, 17), st.integers(1, 4), st.integers(0, 9)), max_size=80)


def hostile_unit(facing: Facing, code: int, channel: int, size: int) -> bytes:
    """What a client may send that makes a server remember something."""
    name, fields = (
        ("channel.open", {}),
        ("channel.open", {}),
        ("channel.close", {"reply_code": 200}),
        ("channel.close-ok", {}),
        ("queue.declare", {"queue": "q" * size}),
        ("queue.declare", {"queue": "q", "arguments": {"k" * size: "v" * 30 * size}}),
        ("basic.consume", {"queue": "q", "consumer_tag": "c" * size}),
        ("basic.consume", {"queue": "q", "consumer_tag": "c" * size, "no_wait": True}),
        ("basic.cancel", {"consumer_tag": "c" * size, "no_wait": True}),
        ("confirm.select", {"no_wait": True}),
        ("tx.select", {}),
        ("basic.publish", {}),
        ("channel.flow", {"active": bool(size % 2)}),
        ("basic.get", {"queue": "q"}),
    )[code % 14]
    if code >= 14:
        return header(channel, 60, size * 1500) if code % 2 else body(channel, bytes(size * 300))
    if not facing.dialect.named.get(name):
        return facing.method("basic.qos", channel)
    return facing.method(name, channel, **fields)


@given(VERSIONS, UNITS, st.booleans())
def test_a_hostile_client_cannot_fill_a_server(
    version: Version, units: list[tuple[int, int, int]], reads: bool
) -> None:
    """Nothing is answered, and a client that doesn't read leaves the answers lying."""
    facing = Facing.opened(version, Side.SERVER, limits=LIMITS, frame_max=4096)
    end = facing.end
    for code, channel, size in units:
        unit = hostile_unit(facing, code, channel, size)
        if len(unit) <= end.receive_budget:
            end.receive_data(unit, 0.0)
        while not isinstance(end.next_event(), Signal):
            check_bounds(end, LIMITS)
        if reads:
            end.data_to_send(0.0)
        check_bounds(end, LIMITS)
        assert len(pickle.dumps(end)) < 200_000


def test_a_client_that_never_reads_is_ended(version: Version) -> None:
    """Answers that pile up are what the peer provokes: 506 (Limits.backlog_hard)."""
    limits = Limits(backlog_hard=1000)
    facing = Facing.opened(version, Side.SERVER, 0, limits=limits)
    end = facing.end
    for _ in range(200):
        end.receive_data(facing.method("channel.open"), 0.0)
        end.receive_data(facing.method("channel.close"), 0.0)
        while not isinstance(event := end.next_event(), Signal):
            facing.events.append(event)
        assert end.send_backlog < 1500
    (failed,) = facing.of(Failed)
    assert isinstance(failed.error, RemoteProtocolError)
    assert (failed.error.code, failed.scope) == (506, Scope.CONNECTION)


def test_requests_beyond_the_limit_pause_until_one_is_answered(version: Version) -> None:
    facing = Facing.opened(version, Side.SERVER, limits=Limits(requests=3))
    end = facing.end
    end.receive_data(facing.method("queue.declare", queue="q") * 5, 0.0)
    for _ in range(3):
        assert not isinstance(end.next_event(), Signal)
    assert end.next_event() is PAUSED
    facing.channel.reply(facing.make("queue.declare-ok", queue="q"))
    assert not isinstance(end.next_event(), Signal)
    assert end.next_event() is PAUSED
    assert len(end.unanswered) == 3


@pytest.mark.parametrize("ending", ["receive_eof", "connection_lost"])
def test_a_paused_connection_ends_all_the_same(version: Version, ending: str) -> None:
    """What is still unparsed then is dropped: nobody would answer it."""
    facing = Facing.opened(version, Side.SERVER, limits=Limits(requests=1))
    end = facing.end
    end.receive_data(facing.method("queue.declare", queue="q") * 5, 0.0)
    assert not isinstance(end.next_event(), Signal)
    assert end.next_event() is PAUSED
    arguments = ("reset", 1.0) if ending == "connection_lost" else (1.0,)
    getattr(end, ending)(*arguments)
    assert isinstance(end.next_event(), Closed)
    assert isinstance(end.next_event(), Closed)
    assert end.next_event() is Signal.NEED_DATA
    assert held_octets(end) == 0


def test_a_body_above_the_limit_ends_its_channel(version: Version) -> None:
    facing = Facing.opened(version, Side.SERVER, 2, limits=Limits(message=1000))
    error = facing.refuses(
        facing.method("basic.publish"), header(1, 60, 1001), code=311, rule=None, scope=Scope.CHANNEL, close=False
    )
    assert "Limits.message" in str(error)
    facing.feed(body(1, bytes(1001)), facing.message("basic.publish", bytes(1000), 2))
    assert held_octets(facing.end) == 0
    assert facing.end.is_open


def test_bodies_under_way_share_a_limit(version: Version) -> None:
    facing = Facing.opened(version, Side.SERVER, 3, limits=Limits(message=1000, bodies=1500))
    for channel in (1, 2):
        facing.feed(facing.method("basic.publish", channel))
    facing.feed(header(1, 60, 1000))
    facing.feed(header(2, 60, 600))
    (failed,) = facing.of(Failed)
    assert (failed.channel, failed.error.code) == (2, 311)
    facing.feed(body(1, bytes(1000)))
    facing.feed(facing.message("basic.publish", bytes(900), 3))
    assert len(facing.of(Failed)) == 1
    assert [len(event.body) for event in facing.of(Published)] == [1000, 900]


def test_a_body_that_the_end_of_a_connection_cuts_counts_no_more(version: Version) -> None:
    """Also while the close that says what is wrong waits for its answer."""
    facing = Facing.opened(version, Side.SERVER)
    facing.feed(facing.method("basic.publish"), header(1, 60, 5000), body(1, b"begun"), frame(METHOD, 1, b"?"))
    assert [sent.method.NAME for sent in facing.sent()] == ["connection.close"]
    assert not facing.end.channels
    facing.end.check()


def test_small_pieces_of_a_body_cost_what_they_hold(server: Facing) -> None:
    """One object for each octet would cost fifty times the body."""
    server.feed(server.method("basic.publish"), header(1, 60, 5000))
    for number in range(4999):
        server.feed(body(1, bytes((number % 256,))))
    assert len(pickle.dumps(server.end)) < 12_000
    server.feed(body(1, b"!"))
    assert server.events[-1].body == bytes([n % 256 for n in range(4999)]) + b"!"  # type: ignore[attr-defined]


def test_own_calls_and_publishes_are_limited(version: Version) -> None:
    facing = Facing.opened(version, Side.CLIENT, limits=Limits(calls=2, unconfirmed=2, backlog_hard=5000))
    channel = facing.channel
    for _ in range(2):
        channel.call(facing.make("basic.qos"))
    with pytest.raises(LimitExceeded, match=r"Limits\.calls"):
        channel.call(facing.make("basic.qos"))
    with pytest.raises(LimitExceeded, match=r"Limits\.backlog_hard"):
        channel.publish(bytes(5000))
    with pytest.raises(LimitExceeded, match=r"Limits\.backlog_hard"):
        channel.begin(facing.make("basic.publish"), BasicProperties(message_id="x" * 200), 0)
        channel.continue_body(bytes(5000))


# No surprise: arbitrary octets never raise; they end in NEED_DATA, or in Failed and Closed with the reply queued.


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
