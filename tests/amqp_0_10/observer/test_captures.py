"""The observer against recorded traffic of 0-10: units as others count them, none invented, and wherever it is cut."""

from __future__ import annotations

import pickle
import random
from collections import Counter
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from amqp_sansio import AMQP_0_10, NEED_DATA, Limits, Side
from amqp_sansio.amqp_0_10 import Command, Control, Headers, ObservedCommand
from amqp_sansio.amqp_0_10.observer import connection as observing
from amqp_sansio.amqp_0_10.observer.content import Direction
from amqp_sansio.observer import (
    Identified,
    Observed,
    Observer,
    ObserverEvent,
    Skipped,
    Violation,
)
from tests.kit.captures import everywhere, named, oracle, truth
from tests.kit.observing import Recorded, accounted, recorded, watch

Arrivals = list[tuple[str, bytes | int, int]]

_CAPTURES = everywhere("o010_*.pcap")


def _side(connection: Recorded, sender: str) -> Side:
    return Side.CLIENT if sender == connection.start.client else Side.SERVER


def _sent(arrivals: Arrivals, sender: str) -> int:
    return sum([what if isinstance(what, int) else len(what) for each, what, _ in arrivals if each == sender])


def _counts(events: list[Any], side: Side) -> Counter[str]:
    """The units of one side in the words of the oracle."""
    counts: Counter[str] = Counter()
    for event in events:
        if not isinstance(event, Observed) or event.sender is not side:
            continue
        if event.unit == "header":
            counts["header " + "-".join([str(octet) for octet in event.content[4:]])] += 1
            continue
        assert isinstance(event.content, Command if isinstance(event, ObservedCommand) else Control)
        kind = "command" if isinstance(event, ObservedCommand) else "control"
        code: int = event.content.CODE  # pyright: ignore[reportUnknownMemberType]
        counts[f"{kind} {code >> 8}.{code & 255}"] += 1
        if event.properties is not None:
            assert isinstance(event.properties, Headers)
            counts["header"] += 1
    return counts


@pytest.mark.parametrize("path", _CAPTURES)
@pytest.mark.rule("0-10/wire/frame-flags", "0-10/wire/struct-code", "0-10/wire/header-each-peer")
def test_every_unit_is_one_that_the_oracle_counts(path: Path) -> None:
    names = oracle(path)["streams"]
    found = {frozenset((each.start.a, each.start.b)): each for each in recorded(path)}
    for number, directions in oracle(path)["frames"].items():
        nodes = [names[number]["node0"][0], names[number]["node1"][0]]
        connection = found[frozenset(nodes)]
        events = connection.watch()
        for name, node in (("n0_to_n1", nodes[0]), ("n1_to_n0", nodes[1])):
            assert directions[name]["stop"] is None
            wanted = {
                key: count
                for key, count in directions[name]["counts"].items()
                if key != "body" and not key.startswith("flags ")
            }
            assert _counts(events, _side(connection, node)) == wanted


@pytest.mark.parametrize("path", _CAPTURES)
def test_whole_captures_have_no_violations_and_every_octet_is_in_a_unit(path: Path) -> None:
    for connection in recorded(path):
        events = connection.watch()
        (identified,) = [event for event in events if isinstance(event, Identified)]
        assert identified.version is AMQP_0_10
        assert not [event for event in events if isinstance(event, Violation | Skipped)]
        units = [event for event in events if isinstance(event, Observed)]
        assert not [event for event in units if event.missing or event.unit in ("partial", "frame")]
        for sender in {sender for sender, _, _ in connection.arrivals}:
            side = _side(connection, sender)
            assert accounted(events, side) == _sent(connection.arrivals, sender)


@pytest.mark.parametrize("path", _CAPTURES)
@pytest.mark.rule("0-10/session.command-point/newly-attached", "0-10/execution.result/always")
def test_commands_are_numbered_and_results_answer_them(path: Path) -> None:
    for connection in recorded(path):
        units = [event for event in connection.watch() if isinstance(event, Observed)]
        by_seq = {event.seq: event for event in units}
        numbers: dict[tuple[Side, int], list[int | None]] = {}
        for event in units:
            if isinstance(event, ObservedCommand):
                numbers.setdefault((event.sender, event.channel), []).append(event.command_id)
            if event.event == "execution.result":
                asked: Any = by_seq[event.answers or 0]
                assert (asked.command_id, asked.channel) == (event.content.command_id, event.channel)
                assert asked.content.RESULT == event.content.value.NAME
            elif event.answers is not None:
                assert event.event in by_seq[event.answers].content.RESPONSES
        assert all([found == list(range(len(found))) for found in numbers.values()])


@pytest.mark.parametrize("treatment", ["keep", "hash", "all", "size"])
def test_a_body_in_many_frames_is_put_together(treatment: str) -> None:
    path = named("o010_messaging_1MB.pcap")
    body = truth(path)["truth"]["body"]
    (connection,) = recorded(path)
    observer = connection.observer(body=treatment)
    events = watch(observer, connection.arrivals)
    messages = [event for event in events if isinstance(event, Observed) and event.unit == "content"]
    assert {event.sender for event in messages} == set(Side)
    assert len(messages) == 2
    for message in messages:
        assert message.body_size == body["len"]
        assert (message.body is not None) is (treatment in ("keep", "all"))
        assert message.body is None or sha256(message.body).hexdigest() == body["sha256"]
        assert message.body_sha256 == (body["sha256"] if treatment in ("hash", "all") else None)
        assert message.properties.delivery_properties.routing_key == "lab010b"
    assert observer.held == 0


def test_a_body_that_is_counted_is_not_held() -> None:
    path = named("o010_messaging_1MB.pcap")
    (connection,) = recorded(path)
    observer = connection.observer(body="size")
    for sender, what, at_ns in connection.arrivals:
        assert isinstance(what, bytes)
        observer.receive_data(what, sender, at_ns)
        while observer.next_event() is not NEED_DATA:
            pass
        assert observer.held < 2 * 70_000


# Cuts, pickles, gaps, late starts.


def _cut(arrivals: Arrivals, seed: int, sizes: tuple[int, ...] = (1, 2, 7, 60, 1000)) -> Arrivals:
    choose = random.Random(seed)
    pieces: Arrivals = []
    for sender, what, at_ns in arrivals:
        if isinstance(what, int):
            pieces.append((sender, what, at_ns))
            continue
        begin = 0
        while begin < len(what):
            end = begin + choose.choice(sizes)
            pieces.append((sender, what[begin:end], at_ns))
            begin = end
    return pieces


def _sizes(arrivals: Arrivals) -> tuple[int, ...]:
    small = sum([len(what) for _, what, _ in arrivals if isinstance(what, bytes)]) < 50_000
    return (1,) if small else (50, 3000)


@pytest.mark.parametrize("path", _CAPTURES)
def test_where_arrivals_are_cut_makes_no_difference(path: Path) -> None:
    for connection in recorded(path):
        whole = connection.watch(body="all")
        for seed, sizes in enumerate((_sizes(connection.arrivals), (7, 60, 1000))):
            cut = _cut(connection.arrivals, seed, sizes)
            assert watch(connection.observer(body="all"), cut) == whole


@pytest.mark.parametrize("path", _CAPTURES)
def test_a_pickled_copy_goes_on_alike(path: Path) -> None:
    for connection in recorded(path):
        whole = connection.watch()
        observer = connection.observer()
        events: list[ObserverEvent] = []
        for number, (sender, what, at_ns) in enumerate(_cut(connection.arrivals, 5, (30, 9000))):
            assert isinstance(what, bytes)
            observer.receive_data(what, sender, at_ns)
            if number < 300:
                observer = pickle.loads(pickle.dumps(observer))
            while (event := observer.next_event()) is not NEED_DATA:
                assert isinstance(event, Observed | Violation | Skipped | Identified)
                events.append(event)
        observer.finish(connection.arrivals[-1][2])
        while (event := observer.next_event()) is not NEED_DATA:
            assert isinstance(event, Observed | Violation | Skipped | Identified)
            events.append(event)
        assert events == whole
        assert pickle.loads(pickle.dumps(events)) == events


def _told(event: Observed) -> tuple[object, ...]:
    return event.sender, event.event, repr(event.content), event.offset, event.size


def _holed(arrivals: Arrivals, choose: random.Random) -> Arrivals:
    """The same arrivals with a hole in some of them."""
    holed: Arrivals = []
    for sender, what, at_ns in arrivals:
        if not isinstance(what, bytes) or choose.random() > 0.15 or len(what) < 3:
            holed.append((sender, what, at_ns))
            continue
        begin = choose.randrange(len(what) - 1)
        end = choose.randrange(begin + 1, len(what))
        if begin:
            holed.append((sender, what[:begin], at_ns))
        holed.append((sender, end - begin, at_ns))
        holed.append((sender, what[end:], at_ns))
    return holed


@pytest.mark.parametrize("path", _CAPTURES)
def test_gaps_invent_no_unit_lose_no_octet_and_break_no_rule(path: Path) -> None:
    for connection in recorded(path):
        sent = {_told(event) for event in connection.watch() if isinstance(event, Observed)}
        for seed in range(30):
            arrivals = _holed(connection.arrivals, random.Random(seed))
            events = watch(connection.observer(), arrivals)
            assert not [event for event in events if isinstance(event, Violation)]
            for event in events:
                if isinstance(event, Observed) and event.unit not in ("partial", "frame"):
                    # A body that lacks octets is told by what was captured of its frames.
                    assert _told(event) in sent or event.missing
            for sender in {sender for sender, _, _ in arrivals}:
                side = _side(connection, sender)
                assert accounted(events, side) == _sent(arrivals, sender)
            cut = _cut(arrivals, seed, (3, 50, 3000))
            assert watch(connection.observer(), cut) == events


@pytest.mark.parametrize("path", _CAPTURES)
def test_a_whole_assembly_is_read_as_frame_by_frame(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The shortcut takes most assemblies, and changes neither events nor what the observer keeps."""
    few = Limits(header=60, message=100, bodies=400, channels=1)
    taken: list[bool] = []
    whole_assembly = observing.Observer.whole_assembly

    def counted(self: observing.Observer, direction: Direction) -> bool:
        taken.append(whole_assembly(self, direction))
        return taken[-1]

    def never(self: observing.Observer, direction: Direction) -> bool:
        return False

    def ways() -> list[tuple[list[ObserverEvent], bytes]]:
        found: list[tuple[list[ObserverEvent], bytes]] = []
        for connection in recorded(path):
            for seed, body in enumerate(("keep", "all", "hash", "size", "all")):
                holed = _holed(connection.arrivals, random.Random(seed))
                for arrivals in (connection.arrivals, _cut(holed, seed, (60, 3000)), holed):
                    observer = connection.observer(body=body, limits=few if seed == 4 else None)
                    found.append((watch(observer, arrivals), pickle.dumps(observer)))
        return found

    monkeypatch.setattr(observing.Observer, "whole_assembly", counted)
    short = ways()
    assert sum(taken) > 20
    monkeypatch.setattr(observing.Observer, "whole_assembly", never)
    for (events, kept), (general, kept_then) in zip(short, ways(), strict=True):
        assert events == general
        assert len(kept) == len(kept_then)


@pytest.mark.parametrize("path", _CAPTURES)
def test_a_connection_seen_from_anywhere_cut_anywhere(path: Path) -> None:
    """The observer is told nothing, and begins in the middle of a frame."""
    for connection in recorded(path):
        sent = {
            (event.sender, event.event, repr(event.content), event.size)
            for event in connection.watch()
            if isinstance(event, Observed)
        }
        choose = random.Random(7)
        for _ in range(20):
            begin = choose.randrange(len(connection.arrivals))
            late = list(connection.arrivals[begin:])
            sender, what, at_ns = late[0]
            assert isinstance(what, bytes)
            late[0] = (sender, what[choose.randrange(len(what)) :], at_ns)
            whole = watch(Observer(body="all"), late)
            identified = [event for event in whole if isinstance(event, Identified)][-1]
            assert not [event for event in whole if isinstance(event, Violation)]
            for event in whole:
                if not isinstance(event, Observed) or event.unit not in ("method", "content"):
                    continue
                if identified.by != "guess":
                    told = (event.sender, event.event, repr(event.content), event.size)
                    assert told in sent
            cut = _cut(late, 3, _sizes(late) if len(late) < 30 else (7, 60, 1000))
            assert watch(Observer(body="all"), cut) == whole
