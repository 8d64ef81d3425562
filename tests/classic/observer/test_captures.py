"""The observer against recorded traffic: the units that others count, and no violation where nobody broke a rule."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from amqp_sansio import AMQP_0_8, Side
from amqp_sansio.observer import Identified, Observed, Skipped, Violation
from tests.kit.captures import everywhere, oracle
from tests.kit.observing import Recorded, accounted, recorded

_CLASSIC = ("o08_", "o09_", "o091_", "o091d_")
_MIDDLE = ("o091_pika_mid_connection", "o091_amqpstorm_mid_connection")
_DAMAGED = ("_gap.", "_gaps_nosyn.", "_snap200.", "rst_midframe")
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


def _classic(*, damaged: bool) -> list[Any]:
    params = [param for param in everywhere("*.pcap") if str(param.id).startswith(_CLASSIC)]
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
        elif event.unit in ("method", "content", "partial"):
            counts[event.event] += 1
            if event.unit == "content":
                counts["content-header"] += 1
                counts["content-body-bytes"] += event.body_size
        elif event.unit == "heartbeat":
            counts["heartbeat"] += 1
    return +counts


@pytest.mark.parametrize("path", _classic(damaged=False))
def test_every_unit_is_one_that_the_oracle_counts(path: Path) -> None:
    streams = oracle(path).get("frames", {})
    names = oracle(path)["streams"]
    found = {frozenset((each.start.a, each.start.b)): each for each in recorded(path)}
    for number, directions in streams.items():
        nodes = [names[number]["node0"][0], names[number]["node1"][0]]
        connection = found[frozenset(map(_endpoint, nodes))]
        events = connection.watch()
        client = _client(events)
        for name, node in (("n0_to_n1", nodes[0]), ("n1_to_n0", nodes[1])):
            if directions[name]["stop"] is not None:
                continue
            counts = _renamed(directions[name]["counts"], events)
            side = Side.CLIENT if _endpoint(node) == client else Side.SERVER
            seen = _counts(events, side)
            if any(isinstance(each, Violation) for each in events):
                # What was sent wrong on purpose is no unit of a known name for us.
                assert not seen - counts
            else:
                assert seen == +counts, (path.name, number, name)


def _renamed(counts: dict[str, int], events: list[Any]) -> Counter[str]:
    """The oracle's counts; it can't tell 0-8's methods from those that have the same numbers in 0-9-1."""
    early = any([isinstance(each, Identified) and each.version is AMQP_0_8 for each in events])
    renamed: Counter[str] = Counter()
    for name, count in counts.items():
        if name != "content-body":
            later, _, earlier = name.partition("/0-8:")
            renamed[f"connection.{earlier}" if earlier and early else later] += count
    return renamed


def _client(events: list[Any]) -> str | None:
    identified = [event for event in events if isinstance(event, Identified)]
    return identified[-1].client


def _endpoint(node: str) -> str:
    """The oracle's "::1:5672" as the capture layer's "[::1]:5672"."""
    address, _, port = node.rpartition(":")
    return f"[{address}]:{port}" if ":" in address and not address.startswith("[") else node


@pytest.mark.parametrize("path", _classic(damaged=False))
def test_whole_captures_have_the_violations_that_were_provoked_and_no_others(path: Path) -> None:
    events = [event for each in recorded(path) for event in each.watch()]
    rules = [event.rule for event in events if isinstance(event, Violation)]
    assert rules == _PROVOKED.get(path.stem, [])
    if path.stem not in (*_PROVOKED, *_MIDDLE):
        assert not [event for event in events if isinstance(event, Skipped)]
        assert not [event for event in events if isinstance(event, Observed) and event.missing != 0]


@pytest.mark.parametrize("path", _classic(damaged=True))
def test_damaged_captures_break_no_rule(path: Path) -> None:
    events = [event for each in recorded(path) for event in each.watch()]
    assert not [event for event in events if isinstance(event, Violation)]
    assert [event for event in events if isinstance(event, Skipped)]


@pytest.mark.parametrize("path", [*_classic(damaged=True), *_classic(damaged=False)])
def test_every_octet_is_in_a_unit_or_skipped(path: Path) -> None:
    for connection in recorded(path):
        events = connection.watch()
        client = _client(events)
        for side in Side:
            assert accounted(events, side) == _sent(connection, client, side)


def _sent(connection: Recorded, client: str | None, side: Side) -> int:
    return sum(
        what if isinstance(what, int) else len(what)
        for sender, what, _ in connection.arrivals
        if (sender == client) is (side is Side.CLIENT)
    )


@pytest.mark.parametrize("path", _classic(damaged=True))
def test_damage_invents_no_unit(path: Path) -> None:
    """All methods of a damaged capture are in the capture that it was made of."""
    source = {"o091d_channels": "o091_aiopika_channels_interleaved", "o091d_exchange": "o091_pika_exchange_types"}
    name = next((whole for part, whole in source.items() if path.stem.startswith(part)), path.stem)
    whole = path.with_name(f"{name}.pcap")
    sent = {_told(event) for each in recorded(whole) for event in each.watch() if isinstance(event, Observed)}
    for connection in recorded(path):
        for event in connection.watch():
            if isinstance(event, Observed) and event.unit in ("method", "content"):
                assert _told(event) in sent


def _told(event: Observed) -> tuple[object, ...]:
    return event.sender, event.channel, event.event, repr(event.content)


def test_a_gap_says_what_is_missing_and_the_rest_is_there() -> None:
    path = next((param for param in everywhere("o091d_channels_gap.pcap")), None)
    if path is None or path.marks:
        pytest.skip("the capture isn't there")
    (connection,) = recorded(Path(str(path.values[0])))
    events = connection.watch()
    (skipped,) = [event for event in events if isinstance(event, Skipped)]
    assert (skipped.sender, skipped.octets, skipped.reason) == (Side.SERVER, 3132, "gap")
    acks = [event for event in events if isinstance(event, Observed) and event.event == "basic.ack"]
    deliveries = [event for event in events if isinstance(event, Observed) and event.event == "basic.deliver"]
    assert (len(acks), len(deliveries)) == (30, 29)
    assert all([event.missing == 0 for event in deliveries])


def test_a_snap_length_leaves_all_messages_of_which_the_headers_are_there() -> None:
    path = next((param for param in everywhere("o091d_channels_snap200.pcap")), None)
    if path is None or path.marks:
        pytest.skip("the capture isn't there")
    (connection,) = recorded(Path(str(path.values[0])))
    published = [
        event
        for event in connection.watch()
        if isinstance(event, Observed) and event.event == "basic.publish"
    ]
    assert len(published) == 30
    assert {event.unit for event in published} == {"content"}
    assert {event.body_size for event in published} == {3000}
    assert all([event.body is None and event.missing for event in published])
