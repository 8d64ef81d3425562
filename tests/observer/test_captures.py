"""The observer against recorded traffic: the units that others count, and no violation where nobody broke a rule."""

import pickle
import random
from collections import Counter
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from amqp_sansio import AMQP_0_8, AMQP_0_10, AMQP_1_0, NEED_DATA, Limits, Side
from amqp_sansio.amqp_0_10 import Headers, ObservedCommand
from amqp_sansio.amqp_0_10.observer import connection as observing
from amqp_sansio.amqp_0_10.observer.content import Direction
from amqp_sansio.amqp_0_10.spec import Command, Control
from amqp_sansio.amqp_1_0.spec import Transfer
from amqp_sansio.observer import Identified, Observed, ObserverEvent, Skipped, Violation
from tests.kit.captures import everywhere, named, oracle, truth
from tests.kit.observing import arrive, recorded, watch
from tests.observer.arrivals import Arrivals, assert_accounted, cut, last_identified, side_of, told, units

_CLASSIC = ("o08_", "o09_", "o091_", "o091d_")
_AMQP_0_10 = ("o010_",)
_AMQP_1_0 = ("o10_", "o10d_")
_ALL = (*_CLASSIC, *_AMQP_0_10, *_AMQP_1_0)
_MIDDLE = ("o091_pika_mid_connection", "o091_amqpstorm_mid_connection")
_DAMAGED = ("_gap.", "_gaps_nosyn.", "_snap200.", "rst_midframe")
_TYPES = "o10_proton_proton_types.pcap"
"""What the damaged captures of 1.0 were made of."""
_PROVOKED = {
    "o08_amqplib_brokerj_errors": ["0-8/basic.ack/unknown-tag"],
    "o08_amqplib_rabbit_errors": ["0-8/basic.ack/unknown-tag"],
    "o091_pika_channel_errors": ["0-9-1/basic.ack/unknown-tag"],
    "o091_pika_connection_errors": [
        "0-9-1/wire/frame-end-check",
        "0-9-1/wire/frame-type-unknown",
        "0-9-1/wire/content-incomplete",
        "0-9-1/wire/method-payload",
        "0-9-1/channel/closed-when",
        "0-9-1/connection/life-cycle",
        "0-9-1/wire/method-payload",
        "0-9-1/wire/frame-oversize-send",
    ],
    "o091_raw_wrong_headers": ["0-9-1/wire/header-client-first"] * 2,
}
"""What the clients of these captures did wrong on purpose."""
_BY_RABBIT = {"1.0/transport/flow/delivery-count-receiver", "1.0/transport/close/nothing-after"}
"""Rules of 1.0 that RabbitMQ 3 breaks as a server, and all its clients put up with."""


def _captures(prefixes: tuple[str, ...], *, damaged: bool | None = None) -> list[Any]:
    """The captures of some versions; damaged ones, whole ones, or both."""
    params = [param for param in everywhere("*.pcap") if str(param.id).startswith(prefixes)]
    return [param for param in params if damaged in (None, any(word in str(param.id) for word in _DAMAGED))] or [
        pytest.param(Path(), marks=pytest.mark.skip(reason="no capture of this kind is there"))
    ]


def _is(path: Path, prefixes: tuple[str, ...]) -> bool:
    return path.name.startswith(prefixes)


def _counts(events: list[ObserverEvent], side: Side) -> Counter[str]:
    """The units of one side in the words of the oracle."""
    version = last_identified(events).version
    counts: Counter[str] = Counter()
    for event in units(events):
        if event.sender is not side:
            continue
        if event.unit == "header":
            counts["header " + "-".join([str(octet) for octet in event.content[4:]])] += 1
        elif version is AMQP_1_0:
            counts["empty" if event.unit == "heartbeat" else event.event] += 1
        elif version is AMQP_0_10:
            counts.update(_words_of_0_10(event))
        elif event.unit in ("method", "content", "partial"):
            counts[event.event] += 1
            if event.unit == "content":
                counts["content-header"] += 1
                counts["content-body-bytes"] += event.body_size or 0
        elif event.unit == "heartbeat":
            counts["heartbeat"] += 1
    return +counts


def _words_of_0_10(event: Observed) -> list[str]:
    """The numbers of a command or control, and whether it has headers."""
    assert isinstance(event.content, Command if isinstance(event, ObservedCommand) else Control)
    kind = "command" if isinstance(event, ObservedCommand) else "control"
    code: int = event.content.CODE  # pyright: ignore[reportUnknownMemberType]
    assert event.properties is None or isinstance(event.properties, Headers)
    return [f"{kind} {code >> 8}.{code & 255}", *(["header"] if event.properties is not None else [])]


def _wanted(counts: dict[str, int], events: list[ObserverEvent]) -> Counter[str]:
    """The oracle's counts; it can't tell 0-8's methods from those that have the same numbers in 0-9-1."""
    early = any([isinstance(each, Identified) and each.version is AMQP_0_8 for each in events])
    renamed: Counter[str] = Counter()
    for name, count in counts.items():
        if name not in ("content-body", "body") and not name.startswith("flags "):
            later, _, earlier = name.partition("/0-8:")
            renamed[f"connection.{earlier}" if earlier and early else later] += count
    return +renamed


def _endpoint(node: str) -> str:
    """The oracle's "::1:5672" as the capture layer's "[::1]:5672"."""
    address, _, port = node.rpartition(":")
    return f"[{address}]:{port}" if ":" in address and not address.startswith("[") else node


@pytest.mark.parametrize("path", _captures(_ALL, damaged=False))
@pytest.mark.rule("0-10/wire/frame-flags", "0-10/wire/struct-code", "0-10/wire/header-each-peer")
@pytest.mark.rule("1.0/transport/frame/layout", "1.0/transport/frame/empty")
def test_every_unit_is_one_that_the_oracle_counts(path: Path) -> None:
    classic = _is(path, _CLASSIC)
    streams = oracle(path).get("frames", {})
    assert streams or classic
    names = oracle(path)["streams"]
    found = {frozenset((each.start.a, each.start.b)): each for each in recorded(path)}
    for number, directions in streams.items():
        nodes = [_endpoint(names[number][node][0]) for node in ("node0", "node1")]
        events = found[frozenset(nodes)].watch()
        if not classic:
            assert last_identified(events).version is (AMQP_0_10 if _is(path, _AMQP_0_10) else AMQP_1_0)
        for direction, node in zip(("n0_to_n1", "n1_to_n0"), nodes, strict=True):
            if directions[direction]["stop"] is not None:
                assert classic
                continue
            wanted = _wanted(directions[direction]["counts"], events)
            seen = _counts(events, side_of(events, node))
            if classic and any(isinstance(each, Violation) for each in events):
                # What was sent wrong on purpose is no unit of a known name for us.
                assert not seen - wanted
            else:
                assert seen == wanted, (path.name, number, direction)


@pytest.mark.parametrize("path", _captures(_ALL, damaged=False))
def test_whole_captures_break_the_rules_that_peers_broke_and_no_others(path: Path) -> None:
    events = [event for each in recorded(path) for event in each.watch()]
    violations = [event for event in events if isinstance(event, Violation)]
    if _is(path, _AMQP_1_0) and "_rabbit_" in path.stem:
        assert {event.rule for event in violations} <= _BY_RABBIT
        assert all([event.sender is Side.SERVER for event in violations])
        assert {event.severity for event in violations} <= {"warning"}
    else:
        assert [event.rule for event in violations] == _PROVOKED.get(path.stem, [])
    if path.stem not in (*_PROVOKED, *_MIDDLE):
        assert not [event for event in events if isinstance(event, Skipped)]
        assert not [event for event in units(events) if event.missing != 0 or event.unit in ("partial", "frame")]


@pytest.mark.parametrize("path", _captures(_ALL, damaged=True))
def test_damaged_captures_break_no_rule_and_say_what_is_missing(path: Path) -> None:
    skipped: list[Skipped] = []
    for connection in recorded(path):
        events = connection.watch()
        assert not [event for event in events if isinstance(event, Violation)]
        skipped += [event for event in events if isinstance(event, Skipped)]
        gaps = [(side_of(events, sender), what) for sender, what, _ in connection.arrivals if isinstance(what, int)]
        assert gaps or _is(path, _CLASSIC)
        if _is(path, _AMQP_1_0):
            assert [(event.sender, event.octets) for event in skipped if event.reason == "gap"] == gaps
    assert skipped


@pytest.mark.parametrize("path", _captures(_ALL))
def test_every_octet_is_in_a_unit_or_skipped(path: Path) -> None:
    for connection in recorded(path):
        assert_accounted(connection.watch(), connection.arrivals)


@pytest.mark.parametrize("path", _captures(_CLASSIC, damaged=True))
def test_damage_invents_no_unit(path: Path) -> None:
    """All methods of a damaged capture are in the capture that it was made of."""
    source = {"o091d_channels": "o091_aiopika_channels_interleaved", "o091d_exchange": "o091_pika_exchange_types"}
    name = next((whole for part, whole in source.items() if path.stem.startswith(part)), path.stem)
    sent = {told(event) for each in recorded(path.with_name(f"{name}.pcap")) for event in units(each.watch())}
    for connection in recorded(path):
        methods = [event for event in units(connection.watch()) if event.unit in ("method", "content")]
        assert {told(event) for event in methods} <= sent


@pytest.mark.parametrize("path", _captures(_AMQP_1_0, damaged=True))
def test_damage_of_1_0_invents_no_unit_and_finds_all_others(path: Path) -> None:
    sent = {(told(event), event.offset): event for each in recorded(named(_TYPES)) for event in units(each.watch())}
    (connection,) = recorded(path)
    events = connection.watch()
    seen = {(told(event), event.offset) for event in units(events)}
    assert seen <= set(sent)
    holes = [event for event in events if isinstance(event, Skipped)]
    for event in [event for key, event in sent.items() if key not in seen]:
        begin, end = event.offset, event.offset + event.size
        beside = [hole for hole in holes if hole.sender is event.sender]
        assert any([begin < hole.offset + hole.octets and hole.offset < end for hole in beside])


def test_a_gap_says_what_is_missing_and_the_rest_is_there() -> None:
    (connection,) = recorded(named("o091d_channels_gap.pcap"))
    events = connection.watch()
    (skipped,) = [event for event in events if isinstance(event, Skipped)]
    assert (skipped.sender, skipped.octets, skipped.reason) == (Side.SERVER, 3132, "gap")
    acks = [event for event in units(events) if event.event == "basic.ack"]
    deliveries = [event for event in units(events) if event.event == "basic.deliver"]
    assert (len(acks), len(deliveries)) == (30, 29)
    assert all([event.missing == 0 for event in deliveries])


def test_a_snap_length_leaves_all_messages_of_which_the_headers_are_there() -> None:
    (connection,) = recorded(named("o091d_channels_snap200.pcap"))
    published = [event for event in units(connection.watch()) if event.event == "basic.publish"]
    assert len(published) == 30
    assert {event.unit for event in published} == {"content"}
    assert {event.body_size for event in published} == {3000}
    assert all([event.body is None and event.missing for event in published])


def test_a_snap_length_leaves_all_transfers() -> None:
    (connection,) = recorded(named("o10d_types_snap200.pcap"))
    (whole,) = recorded(named(_TYPES))
    transfers, originals = [
        [event for event in units(each.watch()) if event.event == "transfer"] for each in (connection, whole)
    ]
    short = [(each.sender, each.content, each.size + (each.missing or 0)) for each in transfers]
    assert short == [(each.sender, each.content, each.size) for each in originals]
    assert {each.unit for each in transfers} == {"content"}
    assert all([each.body is None and each.missing for each in transfers])


# Bodies.


@pytest.mark.parametrize("treatment", ["keep", "hash", "all", "size"])
@pytest.mark.parametrize(
    "stem",
    [
        "o010_messaging_1MB",
        "o10_proton_brokerj_250k",
        "o10_proton_proton_1MB_frame4096",
        "o10_proton_proton_200k_default",
        "o10_proton_rabbit_300k",
    ],
)
@pytest.mark.rule("1.0/transport/transfer/more", "1.0/message/section-order")
def test_a_body_in_many_frames_is_put_together(stem: str, treatment: str) -> None:
    path = named(f"{stem}.pcap")
    body = truth(path)["truth"]["body"]
    messages: list[Observed] = []
    for connection in recorded(path):
        observer = connection.observer(body=treatment)
        messages += [event for event in units(watch(observer, connection.arrivals)) if event.unit == "content"]
        assert observer.held == 0
    assert len(messages) == 2
    assert {event.sender for event in messages} == set(Side)
    for message in messages:
        assert message.body_size == body["len"]
        assert message.body is None or sha256(message.body).hexdigest() == body["sha256"]
        assert (message.body is not None) is (treatment in ("keep", "all"))
        assert message.body_sha256 == (body["sha256"] if treatment in ("hash", "all") else None)
        assert message.properties is not None
        if stem.startswith("o010"):
            assert message.properties.delivery_properties.routing_key == "lab010b"


def test_a_body_that_is_counted_is_not_held() -> None:
    (connection,) = recorded(named("o010_messaging_1MB.pcap"))
    observer = connection.observer(body="size")
    for arrival in connection.arrivals:
        arrive(observer, *arrival)
        while observer.next_event() is not NEED_DATA:
            pass
        assert observer.held < 2 * 70_000


def test_the_parts_of_a_delivery_are_units() -> None:
    path = named("o10_proton_proton_1MB_frame4096.pcap")
    observed = [event for each in recorded(path) for event in units(each.watch())]
    for side in Side:
        transfers = [event for event in observed if event.sender is side and event.event == "transfer"]
        assert [event.unit for event in transfers] == ["part"] * (len(transfers) - 1) + ["content"]
        assert all([isinstance(event.content, Transfer) for event in transfers])
        assert all([event.content.more for event in transfers[:-1]])


# Answers.


@pytest.mark.rule("1.0/transport/session/remote-channel-answer", "1.0/transport/session/end-pair")
def test_what_answers_what() -> None:
    (connection,) = recorded(named("o10_proton_brokerj_basic.pcap"))
    by_seq = {event.seq: event for event in units(connection.watch())}
    answers = [(event, by_seq[event.answers]) for event in by_seq.values() if event.answers is not None]
    assert {(one.event, other.event) for one, other in answers} >= {
        ("sasl-init", "sasl-mechanisms"),
        ("sasl-outcome", "sasl-init"),
        *[(name, name) for name in ("open", "begin", "attach", "close")],
    }
    assert all([one.sender is not other.sender and other.seq < one.seq for one, other in answers])


@pytest.mark.parametrize("path", _captures(_AMQP_0_10))
@pytest.mark.rule("0-10/session.command-point/newly-attached", "0-10/execution.result/always")
def test_commands_are_numbered_and_results_answer_them(path: Path) -> None:
    for connection in recorded(path):
        by_seq = {event.seq: event for event in units(connection.watch())}
        numbers: dict[tuple[Side, int], list[int | None]] = {}
        for event in by_seq.values():
            if isinstance(event, ObservedCommand):
                numbers.setdefault((event.sender, event.channel), []).append(event.command_id)
            if event.event == "execution.result":
                asked: Any = by_seq[event.answers or 0]
                assert (asked.command_id, asked.channel) == (event.content.command_id, event.channel)
                assert asked.content.RESULT == event.content.value.NAME
            elif event.answers is not None:
                assert event.event in by_seq[event.answers].content.RESPONSES
        assert all([found == list(range(len(found))) for found in numbers.values()])


# Holes in captures of 0-10.


def _holed(arrivals: Arrivals, choose: random.Random) -> Arrivals:
    """The same arrivals with a hole in some of them."""
    holed: Arrivals = []
    for sender, what, at_ns in arrivals:
        if not isinstance(what, bytes) or choose.random() > 0.15 or len(what) < 3:
            holed.append((sender, what, at_ns))
            continue
        begin = choose.randrange(len(what) - 1)
        end = choose.randrange(begin + 1, len(what))
        parts = (what[:begin], end - begin, what[end:])
        holed += [(sender, part, at_ns) for part in parts if part]
    return holed


@pytest.mark.parametrize("path", _captures(_AMQP_0_10))
def test_gaps_invent_no_unit_lose_no_octet_and_break_no_rule(path: Path, at_large: bool) -> None:
    for connection in recorded(path):
        sent = {(told(event), event.offset, event.size) for event in units(connection.watch())}
        for seed in range(30 if at_large else 8):
            arrivals = _holed(connection.arrivals, random.Random(seed))
            events = watch(connection.observer(), arrivals)
            assert not [event for event in events if isinstance(event, Violation)]
            for event in units(events):
                if event.unit not in ("partial", "frame"):
                    # A body that lacks octets is told by what was captured of its frames.
                    assert (told(event), event.offset, event.size) in sent or event.missing
            assert_accounted(events, arrivals)
            assert watch(connection.observer(), cut(arrivals, seed, (3, 50, 3000))) == events


@pytest.mark.parametrize("path", _captures(_AMQP_0_10))
def test_a_whole_assembly_is_read_as_frame_by_frame(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The shortcut takes most assemblies, and changes neither events nor what the observer keeps."""
    few = Limits(header=60, message=100, bodies=400, channels=1)
    taken: list[Observed | None] = []
    fastpath = observing.Observer.fastpath

    def counted(self: observing.Observer, direction: Direction) -> Observed | None:
        taken.append(fastpath(self, direction))
        return taken[-1]

    def never(self: observing.Observer, direction: Direction) -> Observed | None:
        return None

    def ways() -> list[tuple[list[ObserverEvent], bytes]]:
        found: list[tuple[list[ObserverEvent], bytes]] = []
        for connection in recorded(path):
            for seed, body in enumerate(("keep", "all", "hash", "size", "all")):
                holed = _holed(connection.arrivals, random.Random(seed))
                for arrivals in (connection.arrivals, cut(holed, seed, (60, 3000)), holed):
                    observer = connection.observer(body=body, limits=few if seed == 4 else None)
                    found.append((watch(observer, arrivals), pickle.dumps(observer)))
        return found

    monkeypatch.setattr(observing.Observer, "fastpath", counted)
    short = ways()
    assert len([each for each in taken if each is not None]) > 20
    monkeypatch.setattr(observing.Observer, "fastpath", never)
    for (events, kept), (general, kept_then) in zip(short, ways(), strict=True):
        assert events == general
        assert len(kept) == len(kept_then)
