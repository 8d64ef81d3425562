"""`Gather`: its figures are those of the rows, whatever way they came; and it stays small."""

import pickle
import sys
from collections import Counter
from collections.abc import Iterator
from functools import cache
from itertools import groupby
from math import ceil
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from amqp_sansio.capture import CaptureDamage, Segment, sort_key
from amqp_sansio.recorded.histories import HISTORY_COLUMNS
from amqp_sansio.recorded.tables import COLUMNS, FlowReplay, damage_row
from amqp_sansio_report import Bounds, Gather, gather_segments
from amqp_sansio_report.page import page
from tests.kit.captures import carried
from tests.report.making import connection, event, message, row, rows_in, segments_in

SECOND = 1_000_000_000


@cache
def segments() -> tuple[Segment | CaptureDamage, ...]:
    """The carried captures that don't tell of the same connections."""
    paths = [path for path in carried("*.pcap") if "d_" not in path.name]
    paths += carried("o091d_exchange_gap.pcap") + carried("o10d_types_snap200.pcap")
    return tuple(segments_in(paths))


@cache
def rows() -> dict[str, list[dict[str, Any]]]:
    return rows_in(segments())


@cache
def gathered() -> Gather:
    return gather_segments(segments())


def test_counts_are_those_of_the_rows() -> None:
    gather, tables = gathered(), rows()
    packets = [one for one in segments() if isinstance(one, Segment)]
    assert (gather.packets, gather.payload) == (len(packets), sum(one.wire_len for one in packets))
    assert {name: one.packets for name, one in gather.files.items()} == Counter(one.file for one in packets)
    assert gather.first_ns == min(one.ts_ns for one in packets)
    assert gather.last_ns == max(one.ts_ns for one in packets)
    assert gather.connections == len(tables["connections"])
    assert gather.amqp == sum(one["protocol"] is not None for one in tables["connections"])
    assert gather.events == len(tables["events"])
    assert gather.messages == len(tables["messages"])
    assert gather.octets["client"] == sum(one["bytes_client"] for one in tables["connections"])
    wanted = Counter((one["protocol"] or "", one["dialect"] or "") for one in tables["connections"])
    assert {key: times for key, times, _ in gather.versions.ranks(99)} == wanted
    names = [
        " ".join(filter(None, (one["client_product"], one["client_version"])))
        for one in tables["connections"]
        if one["protocol"]
    ]
    assert {key[0]: times for key, times, _ in gather.products.ranks(99)} == Counter(names)
    of_units = Counter((one["event"], one["sender"]) for one in tables["events"])
    assert {key: times for key, times, _ in gather.units.ranks(999)} == of_units


def test_what_is_told_of_messages_is_that_of_the_rows() -> None:
    gather, messages = gathered(), rows()["messages"]
    assert gather.outcomes == Counter((one["kind"], one["outcome"] or "open") for one in messages)
    for name, sender in (("publish", "client"), ("deliver", "server")):
        told = [one for one in messages if one["sender"] == sender and one["kind"] != "return"]
        values = sorted(one["latency_ns"] for one in told if one["latency_ns"] is not None)
        histogram = gather.latencies[name]
        assert (histogram.count, histogram.most) == (len(values), values[-1])
        for share in (0.5, 0.95, 0.99):
            exact = values[ceil(share * len(values)) - 1]
            assert histogram.quantile(share) == pytest.approx(exact, rel=1 / 64)
    publishes = [one for one in messages if one["kind"] == "publish"]
    keys = Counter(
        (one["address"] or "" if one["exchange"] is None else one["exchange"], one["routing_key"] or "")
        for one in publishes
    )
    assert {key: times for key, times, _ in gather.keys.ranks(9999)} == keys
    assert gather.sizes["publish"].total == sum(one["body_size"] for one in publishes)
    assert gather.redelivered_over_time.total == sum(bool(one["redelivered"]) for one in messages)
    for kind, series in gather.messages_over_time.items():
        assert series.total == sum(one["kind"] == kind for one in messages)


def test_what_is_held_when_is_that_of_the_rows() -> None:
    """The unsettled deliveries at every time at which they change."""
    changes: Counter[int] = Counter()
    for one in rows()["messages"]:
        if one["kind"] in ("deliver", "get") and not (one["settled_ns"] is None and one["outcome"] == "settled"):
            changes[one["ts_ns"]] += 1
            until = one["ended_ns"] if one["settled_ns"] is None else one["settled_ns"]
            if until is not None:
                changes[until] -= 1
    series = gathered().unsettled_deliveries
    assert series.width == 1
    level, wanted = 0, list[tuple[int, int]]()
    for at in sorted(changes):
        level += changes[at]
        wanted.append((at, level))
    assert series.levels() == wanted
    unsettled = [
        one
        for one in rows()["messages"]
        if one["kind"] in ("deliver", "get") and one["settled_ns"] is None and one["outcome"] != "settled"
    ]
    assert gathered().unsettled == len(unsettled) > 0
    assert sum(holder.open for holder in gathered().holders) == len(unsettled)


def test_violations_and_ends_are_those_of_the_rows() -> None:
    gather, tables = gathered(), rows()
    of_rules = Counter((one["rule"], one["severity"]) for one in tables["violations"])
    assert {(name, "error"): rule.errors for name, rule in gather.rules.items() if rule.errors} == {
        key: times for key, times in of_rules.items() if key[1] == "error"
    }
    for name, rule in gather.rules.items():
        first = min(one["ts_ns"] or 0 for one in tables["violations"] if one["rule"] == name)
        assert rule.first[0] == first
    hints = Counter(one["hint"] for one in tables["connections"] if one["hint"])
    told: Counter[str] = Counter()
    for key, times, _ in gather.ends.ranks(999):
        if key[4]:
            told[key[4]] += times
    assert told == hints
    lost = [one for one in tables["connections"] if one["closed_by"] == "transport" and one["protocol"]]
    assert gather.causes["transport"] == len(lost) > 0


def test_latency_from_publish_to_delivery_comes_from_histories() -> None:
    histogram = gathered().latencies["path"]
    assert histogram.count > 100
    gather = Gather()
    names = [name for name, _ in HISTORY_COLUMNS]
    for what, certainty in (("deliver", "certain"), ("deliver", "possible"), ("redeliver", "certain")):
        values = {
            "what": what,
            "ts_ns": 900,
            "since_publish_ns": 400,
            "certainty": certainty,
            "connection": "c",
            "seq": 1,
        }
        gather.add("histories", tuple(values.get(name) for name in names))
    assert (gather.latencies["path"].count, gather.latencies["path"].most, gather.unsure) == (1, 400, 1)
    assert list(gather.latencies_over_time["path"].cells) == [(500, gather_bucket(400))]


def gather_bucket(value: int) -> int:
    from amqp_sansio_report.measures import quarter

    return quarter(value)


def test_too_many_messages_to_join_are_told() -> None:
    gather = gather_segments(segments(), Bounds(joined=10))
    assert gather.unjoined and not gather.latencies["path"].count
    assert "There are more than 10 messages: which delivery belongs to which publish isn" in page(gather)


class Rows(list[tuple[str, tuple[Any, ...], str]]):
    """What a gather takes of one flow: its rows, and its packets."""

    def __init__(self, flow: list[Segment]) -> None:
        super().__init__()
        self.packets = flow
        replay = FlowReplay(flow[0].flow)
        found = [row for segment in flow for row in replay.push(segment)] + replay.finish()
        self.extend((table, values, flow[0].flow) for table, values in found)

    def give(self, gather: Gather) -> None:
        for packet in self.packets:
            gather.segment(packet)
        for table, values, name in self:
            gather.add(table, values, name)


def segments_of(share: int) -> list[Segment | CaptureDamage]:
    """Those of each `share`-th capture, and the damage of all."""
    files = sorted({one.file for one in segments()})[::share]
    return [one for one in segments() if isinstance(one, CaptureDamage) or one.file in files]


@cache
def flows(share: int) -> list[Rows]:
    found = sorted((one for one in segments_of(share) if isinstance(one, Segment)), key=sort_key)
    return [Rows(list(some)) for _, some in groupby(found, key=lambda one: one.flow)]


SPLITS = st.lists(st.integers(0, 4), min_size=200, max_size=200)
ORDERS = st.permutations(range(5))


@settings(max_examples=8)
@given(split=SPLITS, order=ORDERS)
def test_flows_spread_in_any_way_make_the_same_page(split: list[int], order: list[int]) -> None:
    """Those of some captures; tests/system/report has all."""
    check_spread(3, split, order)


def check_spread(share: int, split: list[int], order: list[int]) -> None:
    # Small bounds, so that everything is cut.
    bounds = Bounds(steps=40, cloud=30, keys=7, connections=9, holders=4, incidents=5, files=6)
    whole, pieces = Gather(bounds), [Gather(bounds) for _ in range(5)]
    every = flows(share)
    assert len(every) <= len(split)
    for number, flow in enumerate(every):
        flow.give(whole)
        flow.give(pieces[split[number]])
    for one in segments_of(share):
        if isinstance(one, CaptureDamage):
            whole.add(*damage_row(one))
            pieces[0].add(*damage_row(one))
    first, *rest = [pieces[number] for number in order]
    middle = pickle.loads(pickle.dumps(rest[0]))
    for piece in rest[1:]:
        middle.merge(piece)
    first.merge(middle)
    assert page(first) == page(whole)


def hostile_flood(count: int) -> Iterator[tuple[str, tuple[Any, ...]]]:
    """Rows in which hardly anything comes twice, 100 for each connection."""
    _, plain = event("", 0, 0, "")
    _, held = message("", 0, 0, "deliver", outcome="accepted", redelivered=True)
    of_event = [[name for name, _ in COLUMNS["events"]].index(name) for name in ("connection", "seq", "ts_ns", "event")]
    names = ("connection", "seq", "ts_ns", "queue", "consumer_tag", "settled_ns", "latency_ns")
    of_message = [[name for name, _ in COLUMNS["messages"]].index(name) for name in names]

    def changed(values: tuple[Any, ...], places: list[int], new: tuple[Any, ...]) -> tuple[Any, ...]:
        found = list(values)
        for place, value in zip(places, new, strict=True):
            found[place] = value
        return tuple(found)

    for number in range(count // 100):
        name = f"{number:032x}"
        at = number * 7_919_000_017 % (86_400 * SECOND)
        for step in range(60):
            yield ("events", changed(plain, of_event, (name, step, at + step * 997, f"odd.unit-{number}-{step}")))
        for step in range(37):
            begun, took = at + step * 1009, (number + 1) * (step + 1)
            new = (name, 60 + step, begun, f"q{number}-{step}", f"c{number}", begun + took, took)
            yield "messages", changed(held, of_message, new)
        yield event(
            name, 97, at + 5, "channel.close", "server", fields={"reply_code": number, "reply_text": f"t{number}"}
        )
        values = {
            "connection": name,
            "seq": 1,
            "ts_ns": at,
            "rule": "0-9-1/x/y",
            "severity": "error",
            "text": f"{number}",
        }
        yield "violations", row("violations", **values)
        yield connection(
            name,
            opened_ns=at,
            closed_ns=at + SECOND,
            closed_by="transport",
            cause="transport",
            heartbeat=1,
            client_product=f"p{number}",
            user=f"u{number}",
            hint=f"h{number}",
        )


def test_ten_times_the_rows_take_no_more_room() -> None:
    """tests/system/report has a million."""
    gather = Gather(Bounds(keys=20, steps=40, cloud=30, connections=9, holders=4, incidents=5))
    sizes: dict[int, int] = {}
    for number, (table, values) in enumerate(hostile_flood(30_000), 1):
        gather.add(table, values)
        if number in (3_000, 30_000):
            sizes[number] = len(pickle.dumps(gather))
    assert sizes[30_000] < 1.1 * sizes[3_000]
    assert gather.connections == 300


def test_connections_leave_nothing_behind() -> None:
    gather = Gather()
    for number in range(300):
        name = f"{number:032x}"
        for seq in range(50):
            gather.add(*event(name, seq, seq, "basic.ack", fields={"delivery_tag": 1}))
        gather.add(*connection(name))
    assert gather.connections == 300
    assert sys.getsizeof(gather._accounts) < 1000 and not gather._accounts  # pyright: ignore[reportPrivateUsage]


def test_a_long_connection_stays_small_too() -> None:
    gather = Gather()
    for number in range(3_000):
        tag = f"c{number}"
        gather.add(
            *event("aa", 2 * number, number * SECOND, "basic.consume", fields={"consumer_tag": tag, "queue": tag})
        )
        gather.add(*message("aa", 2 * number + 1, number * SECOND, "deliver", consumer_tag=tag, queue=tag))
    gather.add(*connection("aa", closed_ns=3_000 * SECOND))
    assert gather.holders.count == 257  # those beyond 256 are one
    assert gather.unsettled == 3_000


def test_a_purge_and_a_delete_take_messages_out_of_the_backlog() -> None:
    gather = Gather()
    for number in range(6):
        gather.add(*message("aa", number, number * SECOND, "publish", exchange="", routing_key="jobs"))
    asked = (("queue.purge", 10, 4), ("queue.delete", 20, 2))
    for name, seq, count in asked:
        gather.add(*event("aa", seq, seq * SECOND, name, fields={"queue": "jobs"}))
        answer = event(
            "aa", seq + 1, (seq + 1) * SECOND, f"{name}-ok", "server", answers=seq, fields={"message_count": count}
        )
        gather.add(*answer)
    backlog = gather.backlogs.get("jobs")
    assert backlog is not None
    assert [level for _, level in backlog.levels()][5:] == [6, 2, 0]
