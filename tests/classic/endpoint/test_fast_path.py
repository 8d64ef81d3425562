"""Fast paths equal the general step: the same events, octets and state come of the same octets, at either end."""

# pyright: reportPrivateUsage=false
import pickle
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cache, partial
from random import Random
from struct import pack
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amqp_sansio import (
    AMQP_0_8,
    AMQP_0_9_1,
    EndpointClosed,
    Failed,
    LimitExceeded,
    Limits,
    LocalProtocolError,
    Settled,
    Signal,
    Version,
)
from amqp_sansio._classic.codec.dialect import default_dialect
from amqp_sansio._classic.endpoint.channel import Channel
from amqp_sansio._classic.endpoint.fastpath import FastPath
from amqp_sansio.amqp_0_9_1 import BasicProperties, Config, Delivery, MethodReceived, Published
from amqp_sansio.endpoint import Side
from tests.kit.applications import Server
from tests.kit.driving_classic import VERSIONS
from tests.kit.facing_classic import STRICT, Facing
from tests.kit.octets_classic import HEARTBEAT, METHOD, body, frame, header
from tests.kit.pair import SIDES, pieces, structure, told
from tests.kit.pair_classic import Pair, client_config, in_runs, server_config
from tests.kit.steps import count_steps

SIZES = st.lists(st.integers(1, 40) | st.integers(1, 5000), min_size=1, max_size=8)


@contextmanager
def without_shortcut() -> Generator[None]:
    """Switch the shortcut off."""

    def nothing(*_: object) -> None: ...

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(FastPath, "read", nothing)
        yield


Path = Callable[[], AbstractContextManager[None]]
BOTH_PATHS = pytest.mark.parametrize("path", [nullcontext, without_shortcut], ids=["fast path", "general step"])


@cache
def recorded(version: Version, receiver: Side) -> bytes:
    """Octets that `receiver` gets: deliveries, publishes and confirms of every size around the bounds."""
    pair = Pair(version).open()
    channel = _consuming(pair)
    properties = BasicProperties(priority=1)
    pair.pump()
    before = len(pair.sent[receiver.other])
    for size in (0, 1, 1016, 1024, 1025, 4096, 9000, 131_064, 131_065, 140_000):
        for tag in ("c", "c", "free", "free", "free"):
            pair.peer(channel).deliver(bytes(size), consumer_tag=tag, routing_key="r", properties=properties)
        channel.publish(bytes(size), routing_key="r", mandatory=size == 1)
        pair.pump()
    return bytes(pair.sent[receiver.other][before:])


def _consuming(pair: Pair) -> Any:
    """A channel with a consumer of each kind, in confirm mode."""
    channel = pair.channel()
    channel.call(pair.method("basic.consume", queue="q", consumer_tag="c"))
    channel.call(pair.method("basic.consume", queue="q", consumer_tag="free", no_ack=True))
    if pair.has("confirm.select"):
        channel.call(pair.method("confirm.select"))
    return channel


@pytest.mark.parametrize("side", SIDES, ids=lambda side: side.value)
@given(version=VERSIONS, sizes=SIZES, at=st.integers(0, 10_000), flip=st.integers(0, 255))
def test_damaged_messages_make_no_difference(
    side: Side, version: Version, sizes: list[int], at: int, flip: int
) -> None:
    octets = bytearray(recorded(version, side))
    octets[at % min(len(octets), 6000)] ^= flip
    events, states = _fed(version, side, bytes(octets), sizes)
    with without_shortcut():
        assert _fed(version, side, bytes(octets), sizes) == (events, states)
    same_events, fewer_states = _fed(version, side, bytes(octets), sizes, together=True)
    assert (same_events, fewer_states) == (events, {number: states[number] for number in fewer_states})
    assert side is Side.SERVER or at < 2000 or min(sizes) < 2500 or len(fewer_states) < len(states)


RAWS = [b"\0\0", b"\x80\0\x01x", b"\x80\0\x01y", b"\x80\0\x02xy"]
ALIKE = st.tuples(
    st.integers(1, 8),
    st.sampled_from([0, 1, 2, 2, 300]),
    st.sampled_from(RAWS),
    st.sampled_from(["c", "free"]),
    st.sampled_from(["", "e", "f"]),
    st.booleans(),
)
"""Deliveries that are alike: how many, the octets of their bodies, properties, consumer, exchange, and redelivered."""


@given(
    version=VERSIONS, groups=st.lists(ALIKE, min_size=1, max_size=8), sizes=st.lists(st.integers(1, 600), max_size=3)
)
def test_runs_of_deliveries_that_are_alike_make_no_difference(
    version: Version, groups: list[Any], sizes: list[int]
) -> None:
    """However they are grouped and arrive."""
    pair, channel = serving(version)
    for count, size, raw, tag, exchange, redelivered in groups:
        for number in range(count):
            channel.forward(bytes([number]) * size, raw, tag, exchange, "key", redelivered)
    fewer = _same_in_runs(version, pair.server.data_to_send(0.0), sizes)
    are_alike = any(size and count > 2 for count, size, *_ in groups)
    assert sizes or not are_alike or fewer


@pytest.mark.parametrize("part", range(3))
@pytest.mark.parametrize("tag", ["c", "free"])
def test_damage_anywhere_in_a_run_makes_no_difference(version: Version, tag: str, part: int) -> None:
    pair, channel = serving(version)
    for _ in range(6):
        channel.forward(b"xy", RAWS[1], tag, "e", "key")
    octets = pair.server.data_to_send(0.0)
    size = len(octets) // 6
    for place in range(4 * size + part, 5 * size, 3):
        damaged = bytearray(octets)
        damaged[place] ^= 0x83
        assert _same_in_runs(version, bytes(damaged), [])


CONFIRMS = st.lists(
    st.tuples(st.integers(1, 2), st.integers(0, 13), st.sampled_from([0, 0, 0, 0, 1, 2])), min_size=1, max_size=20
)
"""Channel, number, and the bits of basic.ack, of which one is defined."""


@given(
    confirms=CONFIRMS,
    mandatory=st.booleans(),
    sizes=st.lists(st.integers(1, 60), max_size=3),
    at=st.none() | st.integers(0, 300),
    flip=st.integers(1, 255),
)
def test_runs_of_confirms_make_no_difference(
    confirms: list[tuple[int, int, int]], mandatory: bool, sizes: list[int], at: int | None, flip: int
) -> None:
    octets = bytearray()
    for channel, number, bits in confirms:
        octets += frame(METHOD, channel, pack(">HHQB", 60, 80, number, bits))
    if at is not None:
        octets[at % len(octets)] ^= flip
    found: list[object] = []
    for together in (True, False):
        pair, channels = publishing(mandatory)
        events = list[str]()
        for piece in pieces(*sizes, 30_000)(bytes(octets)):
            pair.client.receive_data(piece, 0.0)
            while not isinstance(event := pair.client.next_event(), Signal):
                events += map(told, in_runs(pair.client, event) if together else [event])
        counts = [(each.publish_count, dict(each.unconfirmed)) for each in channels]
        found.append((events, counts, pair.client.data_to_send(0.0), structure(pair.client)))
    assert found[0] == found[1]


@pytest.mark.parametrize("mandatory", [False, True])
def test_confirms_that_follow_are_those_of_single_publishes_on_one_channel(mandatory: bool) -> None:
    """Where none may have been returned before."""
    pair, channels = publishing(mandatory)
    pendings = [list(each.unconfirmed.values()) for each in channels]
    served = [pair.peer(each) for each in channels]
    for number in (3, 1, 2):
        served[0].confirm(number)
    served[1].confirm(1)
    served[1].confirm(2, multiple=True)
    served[0].confirm(4)
    pair.client.receive_data(pair.server.data_to_send(0.0), 0.0)
    event = pair.client.next_event()
    assert isinstance(event, Settled)
    assert event.pendings == (pendings[0][2],)
    assert pair.client.next_confirms() == ([] if mandatory else pendings[0][:2])
    if not mandatory:
        assert pair.client.next_confirms() == pendings[1][:1]
        assert pair.client.next_confirms() == []
    assert pair.server.next_confirms() == []


def publishing(mandatory: bool) -> tuple[Pair, list[Channel]]:
    """A client that waits for the confirms of ten publishes on each of two channels."""
    pair = Pair(AMQP_0_9_1, applications={Side.SERVER: Server(confirm=False)}).open()
    channels = [pair.channel(), pair.channel()]
    for channel in channels:
        channel.call(pair.method("confirm.select"))
        for _ in range(10):
            channel.publish(b"", routing_key="r", mandatory=mandatory)
    pair.pump()
    return pair, channels


def _same_in_runs(version: Version, octets: bytes, sizes: list[int]) -> bool:
    """Compare deliveries one by one with runs of them; return whether there were any runs."""
    events, states = _fed(version, Side.CLIENT, octets, sizes)
    same_events, fewer_states = _fed(version, Side.CLIENT, octets, sizes, together=True)
    assert (same_events, fewer_states) == (events, {number: states[number] for number in fewer_states})
    return len(fewer_states) < len(states)


def _fed(
    version: Version, side: Side, octets: bytes, sizes: list[int], together: bool = False
) -> tuple[list[str], dict[int, object]]:
    """The events of an endpoint that waits for messages and gets these octets, and its state after so many of them."""
    end = receiving(version, side)
    events, states = list[str](), dict[int, object]()
    for piece in pieces(*sizes, 30_000)(octets):
        end.receive_data(piece, 0.0)
        while not isinstance(event := end.next_event(), Signal):
            events += map(told, in_runs(end, event) if together else [event])
            states[len(events)] = structure(end)
    return events, {**states, -1: (end.data_to_send(0.0), structure(end))}


def receiving(version: Version, side: Side) -> Any:
    """An endpoint that waits for the messages of `recorded`."""
    limits = Limits(unparsed=200_000, bodies=200_000, message=200_000)
    pair = Pair(version, client=client_config(limits=limits), server=server_config(limits=limits)).open()
    channel = _consuming(pair)
    for _ in range(12 if pair.has("confirm.select") else 0):
        channel.publish(b"", routing_key="r", mandatory=True)
    pair.pump()
    return pair.ends[side]


@pytest.mark.parametrize("how", ["heartbeat", "two bodies", "within another", "a method"])
@pytest.mark.parametrize("version", [AMQP_0_8, AMQP_0_9_1], ids=str)
def test_deliveries_that_follow_are_to_the_same_consumer(version: Version, how: str) -> None:
    """Also behind deliveries that come frame by frame, because other frames are in front of them or within them."""
    random = Random(how)
    facing = Facing.opened(version, Side.CLIENT, 2)
    sent = {1: 0, 2: 0}
    for number in sent:
        method = facing.make("basic.consume", queue="q", consumer_tag=f"c{number}", no_wait=True)
        facing.end.channel(number).call(method)

    def begun(number: int, size: int) -> bytes:
        sent[number] += 1
        method = facing.method("basic.deliver", number, consumer_tag=f"c{number}", delivery_tag=sent[number])
        return method + header(number, 60, size)

    octets = b""
    for _ in range(200):
        number = random.choice((1, 1, 2))
        kind = how if random.random() < 0.3 else ""
        if kind == "two bodies":
            octets += begun(number, 2) + body(number, b"x") + body(number, b"x")
        elif kind == "within another":
            whole = begun(3 - number, 1) + body(3 - number, b"x")
            octets += begun(number, 2000) + whole + body(number, bytes(2000))
        else:
            octets += {"heartbeat": frame(HEARTBEAT, 0), "a method": facing.method("channel.flow", number)}.get(
                kind, b""
            )
            octets += begun(number, 1) + body(number, b"x")
    taken = {1: 0, 2: 0}
    runs = 0
    for piece in pieces(700, 5000)(octets):
        facing.end.receive_data(piece, 0.0)
        while not isinstance(event := facing.end.next_event(), Signal):
            if not isinstance(event, Delivery):
                continue
            following = facing.end.next_deliveries(event)
            runs += bool(following)
            for each in (event, *following):
                assert (each.channel, each.consumer_tag) == (event.channel, event.consumer_tag)
                taken[each.channel] += 1
                assert each.delivery_tag == taken[each.channel]
    assert taken == sent
    assert runs > 20


def test_deliveries_that_follow_have_the_properties_of_their_own_octets(version: Version) -> None:
    """Also where they are those of the delivery before, or damaged, and whoever reads them first."""
    random = Random(2)
    raws = [b"\0\0", b"\x80\0\x01x", b"\x80\0\x01y", b"\x08\0\x05", b"\x80\0\x09x"]
    pair, channel = serving(version)
    sent = [random.choice(raws[random.randrange(len(raws)) :]) for _ in range(400)]
    for raw in sent:
        channel.forward(b"x", raw, "c" if channel.last_tag % 100 else "free")
    pair.client.receive_data(pair.server.data_to_send(0.0), 0.0)
    taken, following = list[Delivery](), 0
    while not isinstance(event := pair.client.next_event(), Signal):
        assert isinstance(event, Delivery)
        if random.random() < 0.5:
            repr(event.properties)
        more = pair.client.next_deliveries(event)
        following += len(more)
        taken += [event, *more]
    assert [each.raw_properties for each in taken] == sent
    for each in random.sample(taken, len(taken)):
        own = BasicProperties.from_wire(each.raw_properties, each.tables)
        assert repr(each.properties) == repr(own)
        assert each.properties.raw == each.raw_properties
    assert following > 300


@BOTH_PATHS
def test_bodies_under_way_count_for_both(version: Version, path: Path) -> None:
    limits = Limits(unparsed=100_000, bodies=100_000, message=100_000)
    facing = Facing.opened(version, Side.CLIENT, 2, limits=limits)
    for number in (1, 2):
        method = facing.make("basic.consume", queue="q", consumer_tag="c", no_wait=True)
        facing.end.channel(number).call(method)
    facing.feed(facing.method("basic.deliver", consumer_tag="c", delivery_tag=1))
    facing.feed(header(1, 60, 60_000), body(1, bytes(30_000)))
    second = facing.message("basic.deliver", bytes(50_000), 2, consumer_tag="c", delivery_tag=1)
    with path():
        facing.feed(second)
    (failed,) = facing.of(Failed)
    assert (failed.channel, failed.error.code) == (2, 311)


@BOTH_PATHS
def test_a_method_above_the_limit_is_refused_by_both(version: Version, path: Path) -> None:
    facing = Facing.opened(version, Side.CLIENT, limits=Limits(header=700))
    long = "t" * 255
    facing.channel.call(facing.make("basic.consume", queue="q", consumer_tag=long, no_wait=True))
    deliver = facing.message(
        "basic.deliver", b"x", consumer_tag=long, delivery_tag=1, exchange="e" * 255, routing_key="r" * 255
    )
    with path():
        facing.feed(deliver)
    (failed,) = facing.of(Failed)
    assert failed.error.code == 501


@BOTH_PATHS
def test_the_header_of_another_channel_is_not_taken_for_the_next_one(version: Version, path: Path) -> None:
    """Content of two channels may be mixed, and their routes be the same."""
    facing = Facing.opened(version, Side.CLIENT, 2)
    for number in (1, 2):
        method = facing.make("basic.consume", queue="q", consumer_tag="c", no_wait=True)
        facing.end.channel(number).call(method)

    def deliver(number: int, tag: int) -> bytes:
        return facing.method("basic.deliver", number, consumer_tag="c", delivery_tag=tag, routing_key="r")

    # The first is the one whose route is remembered.
    arrivals = (deliver(1, 1) + header(1, 60, 0) + deliver(1, 2), deliver(2, 1) + header(1, 60, 0) + header(2, 60, 0))
    with path():
        facing.feed(*arrivals)
    assert [(each.channel, each.delivery_tag) for each in facing.of(Delivery)] == [(1, 1), (1, 2), (2, 1)]


TAGS = st.sampled_from(["c", "free", "gone", "t" * 255])
RAW = st.sampled_from(
    [b"\0\0", BasicProperties(priority=1, headers={"a": 1}).encode(default_dialect(AMQP_0_9_1).tables)]
)
NAMES = st.sampled_from(["", "r", "amq.direct", "\u00e9\u4e16" * 20, "n" * 255, "n" * 256])
SENDS = st.lists(
    st.tuples(st.sampled_from([0, 1, 8192, 8193, 131_064, 131_065, 300_000]), RAW, TAGS, NAMES, NAMES, st.booleans()),
    max_size=6,
)


def serving(version: Version, config: Config | None = None) -> tuple[Pair, Channel]:
    """A client with consumers, and the server's channel."""
    pair = Pair(version, server=config, client=client_config(dialect=config and config.dialect)).open()
    channel = pair.channel()
    for tag in ("c", "t" * 255):
        channel.call(pair.method("basic.consume", queue="q", consumer_tag=tag))
    channel.call(pair.method("basic.consume", queue="q", consumer_tag="free", no_ack=True))
    pair.pump()
    return pair, pair.peer(channel)


@given(version=VERSIONS, sends=SENDS, strict=st.booleans(), state=st.sampled_from(["open", "flow", "closed"]))
def test_forwarding_equals_the_general_step(version: Version, sends: list[Any], strict: bool, state: str) -> None:
    limits = Limits(unsettled=3, backlog_hard=500_000, backlog_high=200_000, backlog_low=1000)
    dialect = STRICT[version] if strict and version is AMQP_0_9_1 else None
    found: list[tuple[object, ...]] = []
    for command in ("forward", "_forward"):
        pair, channel = serving(version, server_config(limits=limits, dialect=dialect))
        channel.server_stopped = state == "flow"
        if state == "closed":
            channel.close()
        results: list[object] = []
        for size, raw, tag, exchange, key, redelivered in sends:
            try:
                number = getattr(channel, command)(bytes(size), raw, tag, exchange, key, redelivered)
                results.append((number, channel.last_tag, dict(channel.unsettled)))
            except (EndpointClosed, LocalProtocolError) as error:
                results.append((type(error), str(error)))
            # How the octets that wait lie in pieces is no part of the state.
            copy = pickle.loads(pickle.dumps(pair.server))
            results.append((copy.data_to_send(0.0), structure(copy)))
        found.append((*results, pair.server.data_to_send(0.0), structure(pair.server)))
    assert found[0] == found[1]


def test_what_is_forwarded_arrives_octet_by_octet(version: Version) -> None:
    """The second time on the same way, which is remembered, as the first time; with a short body and a long one."""
    pair, channel = serving(version)
    raw = b"\x80\x00\x01x"
    sends = [(body, tag, tag == "c") for tag in ("c", "free") for body in (b"body", b"again", bytes(9000))]
    tags = [channel.forward(body, raw, tag, "e", "r", redelivered) for body, tag, redelivered in sends]
    pair.pump()
    assert [
        (each.delivery_tag, each.raw_properties, each.body, each.exchange, each.routing_key, each.redelivered)
        for each in pair.take(Side.CLIENT, Delivery)
    ] == [(number, raw, body, "e", "r", redelivered) for number, (body, _, redelivered) in enumerate(sends, 1)]
    assert tags == [1, 2, 3, 4, 5, 6]
    assert channel.unsettled == {1: None, 2: None, 3: None}


def test_publishes_carry_their_own_properties_however_they_alternate(version: Version) -> None:
    """Also those that are sent again, and those whose table was changed meanwhile."""
    random = Random(3)
    pair = Pair(version).open()
    channels = [pair.channel(), pair.channel()]
    pair.pump()
    headers: dict[str, Any] = {"n": 0}
    tables = pair.client.dialect.tables
    shared = [
        None,
        BasicProperties(),
        BasicProperties(content_type="text/plain", priority=3),
        BasicProperties.from_wire(BasicProperties(message_id="m").encode(tables), tables),
        BasicProperties(headers=headers),
    ]
    sent = list[bytes]()
    for number in range(100):
        headers["n"] = number
        properties = random.choice([*shared, BasicProperties(message_id=str(number))])
        sent.append(b"\0\0" if properties is None else properties.encode(tables))
        random.choice(channels).publish(b"x", routing_key=random.choice(("r", "s")), properties=properties)
    pair.pump()
    assert [each.raw_properties for each in pair.take(Side.SERVER, Published)] == sent
    assert len({*sent}) > 20


def test_forwarding_is_for_servers_and_has_bounds() -> None:
    pair, channel = serving(AMQP_0_9_1, server_config(limits=Limits(unsettled=1)))
    with pytest.raises(LocalProtocolError):
        pair.client.channel(1).forward(b"", b"\0\0", "c")
    channel.forward(b"", b"\0\0", "c")
    with pytest.raises(LimitExceeded):
        channel.forward(b"", b"\0\0", "c")
    with pytest.raises(LocalProtocolError):
        channel.forward(b"", bytes(200_000), "free")
    assert channel.last_tag == 1


def received(
    version: Version,
    mode: str,
    with_handles: bool,
    octets: bytes,
    sizes: list[int],
    quick: bool,
    together: bool = False,
) -> Any:
    """The events and states of a server that has delivered ten messages and gets these octets."""
    pair, channel = serving(version)
    if mode != "normal" and pair.has(mode):
        pair.client.channel(1).call(pair.method(mode))
        pair.pump()
    for number in range(10):
        if with_handles and number % 2:
            channel.deliver(b"x", consumer_tag="c")
        else:
            channel.forward(b"x", b"\0\0", "c")
    server = pair.server
    server.data_to_send(0.0)
    events, states = list[str](), list[object]()
    with nullcontext() if quick else without_shortcut():
        for piece in pieces(*sizes, 30_000)(octets):
            server.receive_data(piece, 0.0)
            while not isinstance(event := server.next_event(), Signal):
                events += map(told, in_runs(server, event) if together else [event])
                states.append(structure(server))
    return events, [] if together else states, server.data_to_send(0.0), structure(server)


ACKS = st.lists(st.tuples(st.integers(0, 12), st.sampled_from([0, 0, 1, 3, 0xFF])), min_size=1, max_size=8)


@given(
    version=VERSIONS,
    mode=st.sampled_from(["normal", "tx.select", "confirm.select"]),
    handles=st.booleans(),
    acks=ACKS,
    sizes=st.lists(st.integers(1, 100), min_size=1, max_size=4),
    at=st.none() | st.integers(0, 200),
    flip=st.integers(1, 255),
)
def test_acknowledgements_make_no_difference(
    version: Version, mode: str, handles: bool, acks: list[tuple[int, int]], sizes: list[int], at: int | None, flip: int
) -> None:
    octets = bytearray()
    for tag, bits in acks:
        payload = (60 << 16 | 80).to_bytes(4, "big") + tag.to_bytes(8, "big") + bytes((bits,))
        octets += b"\x01\x00\x01" + len(payload).to_bytes(4, "big") + payload + b"\xce"
    if at is not None:
        octets[at % len(octets)] ^= flip
    quick = received(version, mode, handles, bytes(octets), sizes, True)
    assert quick == received(version, mode, handles, bytes(octets), sizes, False)
    events, _, *rest = quick
    assert received(version, mode, handles, bytes(octets), sizes, True, together=True) == (events, [], *rest)


def test_acknowledgements_that_follow_are_of_single_deliveries_on_one_channel(version: Version) -> None:
    """At most as many as are asked for, and none that somebody waits for."""
    pair, channel = serving(version)
    for _ in range(8):
        channel.forward(b"x", b"\0\0", "c")
    channel.deliver(b"x", consumer_tag="c")
    pair.pump()
    for tag in (3, 1, 2, 4, 5):
        pair.client.channel(1).accept(tag)
    pair.client.channel(1).accept(7, multiple=True)
    for tag in (8, 9):
        pair.client.channel(1).accept(tag)
    pair.server.receive_data(pair.client.data_to_send(0.0), 0.0)
    assert isinstance(pair.server.next_event(), MethodReceived)
    assert pair.server.next_acks(2, 9) == []
    assert pair.server.next_acks(1, 0) == []
    assert pair.server.next_acks(1, 2) == [1, 2]
    assert pair.server.next_acks(1, 9) == [4, 5]
    assert pair.server.next_acks(1, 9) == []
    assert isinstance(pair.server.next_event(), MethodReceived)
    assert pair.server.next_acks(1, 9) == [8]
    assert list(channel.unsettled) == [9]
    assert pair.client.next_acks(1, 9) == []


def test_a_few_acknowledgements_cost_the_same_however_many_follow(version: Version) -> None:
    steps = list[int]()
    for many in (20, 200):
        pair, channel = serving(version)
        for _ in range(many):
            channel.forward(b"x", b"\0\0", "c")
        pair.pump()
        for tag in range(1, many + 1):
            pair.client.channel(1).accept(tag)
        pair.server.receive_data(pair.client.data_to_send(0.0), 0.0)
        assert isinstance(pair.server.next_event(), MethodReceived)
        steps.append(count_steps(partial(pair.server.next_acks, 1, 5)))
    assert steps[0] == steps[1]


@pytest.mark.parametrize("same", [True, False])
def test_publishes_of_two_channels_may_be_mixed(version: Version, same: bool) -> None:
    """What is remembered of one channel isn't taken for another's."""
    facing = Facing.opened(version, Side.SERVER, 2)
    whole = facing.message("basic.publish", b"", 1, routing_key="r")
    facing.feed(whole, whole)
    other = facing.method("basic.publish", 1 if same else 2, routing_key="r")
    if same:
        facing.feed(other, header(1, 60, 0))
    else:
        facing.feed(facing.method("basic.publish", 1, routing_key="r"))
        facing.feed(other + header(1, 60, 0) + header(2, 60, 0))
    channels = [each.channel for each in facing.of(Published)]
    assert channels == ([1, 1, 1] if same else [1, 1, 1, 2])
