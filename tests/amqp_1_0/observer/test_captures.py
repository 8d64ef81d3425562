"""The observer against recorded traffic of 1.0: units as others count them, no violations but what peers do wrong."""

from __future__ import annotations

from collections import Counter
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from amqp_sansio import AMQP_1_0, Side
from amqp_sansio.amqp_1_0 import Transfer
from amqp_sansio.observer import Identified, Observed, Skipped, Violation
from tests.kit.captures import everywhere, named, oracle, truth
from tests.kit.observing import Recorded, accounted, recorded

_ONE_ZERO = ("o10_", "o10d_")
_DAMAGED = ("_gap.", "_gaps_nosyn.", "_snap200.")
_SOURCE = "o10_proton_proton_types.pcap"
"""What the damaged captures were made of."""
_BY_RABBIT = {"1.0/transport/flow/delivery-count-receiver", "1.0/transport/close/nothing-after"}
"""Rules that RabbitMQ 3 breaks as a server, and all its clients put up with."""


def _captures(*, damaged: bool) -> list[Any]:
    params = [param for param in everywhere("*.pcap") if str(param.id).startswith(_ONE_ZERO)]
    return [
        param for param in params if any(word in str(param.id) for word in _DAMAGED) is damaged
    ] or [pytest.param(Path(), marks=pytest.mark.skip(reason="no capture of this kind is there"))]


def _counts(events: list[Any], side: Side) -> Counter[str]:
    """The units of one side in the words of the oracle."""
    counts: Counter[str] = Counter()
    for event in events:
        if not isinstance(event, Observed) or event.sender is not side:
            continue
        if event.unit == "header":
            counts["header " + "-".join([str(octet) for octet in event.content[4:]])] += 1
        else:
            counts["empty" if event.unit == "heartbeat" else event.event] += 1
    return counts


def _identified(events: list[Any]) -> Identified:
    return [event for event in events if isinstance(event, Identified)][-1]


def _side(events: list[Any], sender: str) -> Side:
    identified = _identified(events)
    if identified.client is not None:
        return Side.CLIENT if sender == identified.client else Side.SERVER
    return Side.SERVER if sender == identified.server else Side.CLIENT


@pytest.mark.parametrize("path", _captures(damaged=False))
@pytest.mark.rule("1.0/transport/frame/layout", "1.0/transport/frame/empty")
def test_every_unit_is_one_that_the_oracle_counts(path: Path) -> None:
    frames = oracle(path).get("frames", {})
    assert frames
    names = oracle(path)["streams"]
    found = {frozenset((each.start.a, each.start.b)): each for each in recorded(path)}
    for number, directions in frames.items():
        nodes = [names[number]["node0"][0], names[number]["node1"][0]]
        events = found[frozenset(nodes)].watch()
        assert _identified(events).version is AMQP_1_0
        for name, node in (("n0_to_n1", nodes[0]), ("n1_to_n0", nodes[1])):
            assert directions[name]["stop"] is None
            assert _counts(events, _side(events, node)) == directions[name]["counts"]


@pytest.mark.parametrize("path", _captures(damaged=False))
def test_whole_captures_have_no_violations_but_those_of_rabbitmq(path: Path) -> None:
    events = [event for each in recorded(path) for event in each.watch()]
    violations = [event for event in events if isinstance(event, Violation)]
    if "_rabbit_" in path.stem:
        assert {event.rule for event in violations} <= _BY_RABBIT
        assert all([event.sender is Side.SERVER for event in violations])
        assert {event.severity for event in violations} <= {"warning"}
    else:
        assert not violations
    assert not [event for event in events if isinstance(event, Skipped)]
    units = [event for event in events if isinstance(event, Observed)]
    assert not [event for event in units if event.missing != 0 or event.unit == "partial"]


@pytest.mark.parametrize("path", _captures(damaged=True))
def test_damaged_captures_break_no_rule_and_say_what_is_missing(path: Path) -> None:
    for connection in recorded(path):
        events = connection.watch()
        assert not [event for event in events if isinstance(event, Violation)]
        gaps = [(sender, what) for sender, what, _ in connection.arrivals if isinstance(what, int)]
        told = [
            (event.sender, event.octets)
            for event in events
            if isinstance(event, Skipped) and event.reason == "gap"
        ]
        assert gaps
        assert told == [(_side(events, sender), octets) for sender, octets in gaps]


@pytest.mark.parametrize("path", [*_captures(damaged=True), *_captures(damaged=False)])
def test_every_octet_is_in_a_unit_or_skipped(path: Path) -> None:
    for connection in recorded(path):
        events = connection.watch()
        senders = {sender for sender, _, _ in connection.arrivals}
        for sender in senders:
            assert accounted(events, _side(events, sender)) == _sent(connection, sender)


def _sent(connection: Recorded, sender: str) -> int:
    return sum(what if isinstance(what, int) else len(what) for each, what, _ in connection.arrivals if each == sender)


@pytest.mark.parametrize("path", _captures(damaged=True))
def test_damage_invents_no_unit_and_finds_all_others(path: Path) -> None:
    sent = {
        (_told(event), event.offset): event
        for each in recorded(named(_SOURCE))
        for event in each.watch()
        if isinstance(event, Observed)
    }
    (connection,) = recorded(path)
    events = connection.watch()
    units = [event for event in events if isinstance(event, Observed)]
    assert all([(_told(event), event.offset) in sent for event in units])
    seen = {(_told(event), event.offset) for event in units}
    holes = [event for event in events if isinstance(event, Skipped)]
    for key, event in sent.items():
        if key not in seen:
            begin, end = event.offset, event.offset + event.size
            assert any(
                [
                    hole.sender is event.sender
                    and begin < hole.offset + hole.octets
                    and hole.offset < end
                    for hole in holes
                ]
            )


def _told(event: Observed) -> tuple[object, ...]:
    return event.sender, event.channel, event.event, repr(event.content)


def test_a_snap_length_leaves_all_transfers() -> None:
    (connection,) = recorded(named("o10d_types_snap200.pcap"))
    (whole,) = recorded(named(_SOURCE))
    transfers, originals = [
        [event for event in each.watch() if isinstance(event, Observed) and event.event == "transfer"]
        for each in (connection, whole)
    ]
    cut = [(each.sender, each.content, each.size + (each.missing or 0)) for each in transfers]
    assert cut == [(each.sender, each.content, each.size) for each in originals]
    assert {each.unit for each in transfers} == {"content"}
    assert all([each.body is None and each.missing for each in transfers])


@pytest.mark.parametrize(
    "stem",
    [
        "o10_proton_brokerj_250k",
        "o10_proton_proton_1MB_frame4096",
        "o10_proton_proton_200k_default",
        "o10_proton_rabbit_300k",
    ],
)
@pytest.mark.rule("1.0/transport/transfer/more", "1.0/message/section-order")
def test_a_body_in_many_frames_is_put_together(stem: str) -> None:
    path = named(f"{stem}.pcap")
    body = truth(path)["truth"]["body"]
    for treatment in ("keep", "hash", "all", "size"):
        events = [event for each in recorded(path) for event in each.watch(body=treatment)]
        messages = [event for event in events if isinstance(event, Observed) and event.unit == "content"]
        assert len(messages) == 2
        assert {event.sender for event in messages} == set(Side)
        for message in messages:
            assert message.body_size == body["len"]
            assert message.body is None or sha256(message.body).hexdigest() == body["sha256"]
            assert (message.body is not None) is (treatment in ("keep", "all"))
            digest = body["sha256"] if treatment in ("hash", "all") else None
            assert message.body_sha256 == digest
            assert message.properties is not None


def test_the_parts_of_a_delivery_are_units() -> None:
    path = named("o10_proton_proton_1MB_frame4096.pcap")
    events = [event for each in recorded(path) for event in each.watch()]
    for side in Side:
        transfers = [
            event
            for event in events
            if isinstance(event, Observed) and event.sender is side and event.event == "transfer"
        ]
        assert [event.unit for event in transfers] == ["part"] * (len(transfers) - 1) + ["content"]
        assert all([isinstance(event.content, Transfer) for event in transfers])
        assert all([event.content.more for event in transfers[:-1]])


@pytest.mark.rule("1.0/transport/session/remote-channel-answer", "1.0/transport/session/end-pair")
def test_what_answers_what() -> None:
    path = named("o10_proton_brokerj_basic.pcap")
    (connection,) = recorded(path)
    units = [event for event in connection.watch() if isinstance(event, Observed)]
    by_seq = {event.seq: event for event in units}
    answers = [(event, by_seq[event.answers]) for event in units if event.answers is not None]
    assert {(one.event, other.event) for one, other in answers} >= {
        ("sasl-init", "sasl-mechanisms"),
        ("sasl-outcome", "sasl-init"),
        ("open", "open"),
        ("begin", "begin"),
        ("attach", "attach"),
        ("close", "close"),
    }
    assert all([one.sender is not other.sender and other.seq < one.seq for one, other in answers])
