"""Sequence diagrams: every unit, its fields, and the octets of its frames; no secrets; bounded."""

import json
from collections.abc import Sequence
from functools import cache
from typing import Any, cast

import pytest

from amqp_sansio.capture import Segment, StreamData, reassemble, sort_key
from amqp_sansio.capture.records import ACK, ZERO_WINDOW
from amqp_sansio_report import Bounds, Diagram, Gather, diagrams
from amqp_sansio_report.report import choose, gather_segments
from amqp_sansio_report.sequence import field_lines, kind_of, summary
from tests.kit.captures import named
from tests.report.making import rows_in, segments_in

NAMES = (
    "o091_pika_basic.pcap",
    "o091_aiopika_channels_interleaved.pcap",
    "o_mixed_4_protocols.pcap",
    "o010_messaging_basic.pcap",
    "o10_proton_rabbit_basic.pcap",
    "o08_amqplib_rabbit_basic.pcap",
    "o091_pika_mid_connection.pcap",
    "o091d_exchange_seqwrap.pcap",
)
EVERYTHING = Bounds(frames=100_000, octets=1 << 20)


@cache
def segments(name: str) -> tuple[Segment, ...]:
    found = [one for one in segments_in([named(name)]) if isinstance(one, Segment)]
    return tuple(sorted(found, key=sort_key))


def all_of(name: str, bounds: Bounds = EVERYTHING) -> list[Diagram]:
    ids = [row["connection"] for row in rows_in(segments(name))["connections"]]
    return diagrams(segments(name), ids, bounds)


def streams(name: str) -> dict[str, dict[str, bytearray]]:
    """The octets of each connection by their sender, put together by the capture layer alone."""
    found: dict[str, dict[str, bytearray]] = {}
    for item in reassemble(segments(name)):
        if isinstance(item, StreamData):
            stream = found.setdefault(item.connection, {}).setdefault(item.sender, bytearray())
            assert len(stream) == item.offset
            stream += item.data
    return found


@pytest.mark.parametrize("name", NAMES)
def test_units_are_the_rows_and_frames_the_octets_of_the_stream(name: str) -> None:
    events = rows_in(segments(name))["events"]
    octets = streams(name)
    drawn = all_of(name)
    assert sum(one.total for one in drawn) == len(events)
    for one in drawn:
        rows = [row for row in events if row["connection"] == one.connection]
        assert [unit.seq for unit in one.units] == [row["seq"] for row in rows]
        for unit, row in zip(one.units, rows, strict=True):
            assert (unit.ts_ns, unit.event, unit.sender, unit.channel) == (
                row["ts_ns"],
                row["event"],
                row["sender"],
                row["channel"],
            )
            assert unit.lines == field_lines(json.loads(row["fields"]))
            stream = octets[one.connection][one.client if unit.sender == "client" else one.server]
            first = row["offset"]
            if unit.hidden:
                assert not unit.frames
                continue
            assert unit.frames[0].offset == first
            assert len(unit.frames) == 6 or sum(frame.size for frame in unit.frames) == row["size"]
            for frame in unit.frames:
                sent = bytes(stream[frame.offset : frame.offset + frame.size])
                assert len(frame.octets) == frame.size
                if unit.event in ("connection.start-ok", "connection.secure-ok", "sasl-init", "sasl-response"):
                    assert all(a in (b, ord("*")) for a, b in zip(frame.octets, sent, strict=True))
                else:
                    assert frame.octets == sent
        assert not [unit for unit in one.units if unit.hidden and unit.event not in ("connection.start-ok",)]


def test_octets_that_are_not_in_the_capture_are_not_shown() -> None:
    (one,) = all_of("o091d_exchange_snap200.pcap")
    told = {unit.hidden for unit in one.units}
    assert "they are not all in the capture" in told
    complete = [unit for unit in one.units if unit.frames]
    assert len(complete) > 20


def test_a_login_behind_a_gap_is_hidden() -> None:
    """Without the protocol header nobody knows where a secret begins."""
    name = "o091_pika_basic.pcap"
    found = list(segments(name))
    header = next(index for index, one in enumerate(found) if one.payload.startswith(b"AMQP"))
    without = [one for index, one in enumerate(found) if index != header]
    (row,) = rows_in(without)["connections"]
    (one,) = diagrams(without, [row["connection"]], EVERYTHING)
    login = next(unit for unit in one.units if unit.event == "connection.start-ok")
    assert (login.hidden, login.frames) == ("they may show a secret", [])


def test_the_middle_is_left_out_but_not_what_went_wrong() -> None:
    name = "o091_pika_channel_errors.pcap"
    bounds = Bounds(frames=12, octets=64)
    one = max(all_of(name, bounds), key=lambda diagram: diagram.total)
    seqs = [unit.seq for unit in one.units]
    assert one.total == 47
    assert seqs == sorted(seqs)
    assert (seqs[:6], seqs[-6:]) == ([*range(6)], [*range(41, 47)])
    middle = [unit for unit in one.units if 5 < unit.seq < 41]
    assert len(middle) == 3 and all(unit.notable for unit in middle)
    assert all(len(frame.octets) <= 64 for unit in one.units for frame in unit.frames)


def test_ends_resets_and_closed_windows_are_drawn() -> None:
    (reset,) = all_of("o091_pika_rst_midframe.pcap")
    assert [(one.text, one.sender == reset.client) for one in reset.tcp] == [("RST: the connection is gone", True)]
    assert cast("list[Any]", reset.data(100_000)["tcp"])[0][1:] == [0, "RST: the connection is gone"]
    found = list(segments("o091_pika_basic.pcap"))
    at = next(index for index, one in enumerate(found) if one.payload and one.sport == 56720)
    shut = found[at]
    for change in (-2, -1):
        closed: dict[str, Any] = {name: getattr(shut, name) for name in Segment.__match_args__}
        closed.update(flags=ACK | ZERO_WINDOW, payload=b"", wire_len=0, ts_ns=shut.ts_ns + change)
        found.append(Segment(**closed))
    found.sort(key=sort_key)
    (row,) = rows_in(found)["connections"]
    (one,) = diagrams(found, [row["connection"]], EVERYTHING)
    texts = [(signal.sender == one.server, signal.text) for signal in one.tcp]
    assert texts[:2] == [(True, "zero window: it takes nothing more"), (True, "the window is open again after 2 ns")]
    assert texts[2:] == [(False, "FIN: it sends nothing more"), (True, "RST: the connection is gone")]


def test_a_diagram_has_the_messages_that_waited() -> None:
    name = "o091_pika_nack_reject_requeue.pcap"
    (one,) = all_of(name)
    messages = [row for row in rows_in(segments(name))["messages"] if row["settled_ns"] is not None]
    wanted = sorted((row["ts_ns"], row["settled_ns"], row["seq"], row["channel"]) for row in messages)
    assert [span[:4] for span in one.spans] == wanted and len(wanted) == 9
    assert all(span.text.endswith("octets), held by the client") for span in one.spans)
    first = cast("list[Any]", one.data(100_000)["spans"])[0]
    assert first[:2] == [one.spans[0].from_ns - one.start_ns, (one.spans[0].until_ns or 0) - one.start_ns]


def test_violations_stand_at_their_unit() -> None:
    one = max(all_of("o091_pika_channel_errors.pcap"), key=lambda diagram: diagram.total)
    (unit,) = [unit for unit in one.units if unit.violations]
    assert (unit.seq, unit.event) == (23, "basic.ack")
    assert [(rule, severity) for rule, severity, _ in unit.violations] == [("0-9-1/basic.ack/unknown-tag", "error")]


def test_a_diagram_fits_its_budget() -> None:
    for one in all_of("o091_aiopika_channels_interleaved.pcap"):
        for budget in (2_000, 20_000, 200_000):
            told = one.data(budget)
            units = cast("list[list[Any]]", told["units"])
            assert len(json.dumps(units)) <= budget + 4 * len(units) + 2
            seqs = [unit[0] for unit in units]
            assert seqs == sorted(seqs) and (not seqs or seqs[0] == 0)


def chosen(gather: Gather) -> Sequence[str]:
    return choose(gather)[0]


def test_connections_are_chosen_by_what_there_is_to_tell_or_by_id() -> None:
    found = segments("o_mixed_4_protocols.pcap")
    ids = [row["connection"] for row in rows_in(found)["connections"]]
    assert sorted(chosen(gather_segments(found))) == sorted(ids)
    pika = [row["connection"] for row in rows_in(found)["connections"] if "Pika" in (row["client_product"] or "")]
    assert chosen(gather_segments(found, wanted=["pika python"])) == pika
    assert len(chosen(gather_segments(found, Bounds(diagrams=2)))) == 2
    assert chosen(gather_segments(found, Bounds(connections=1), wanted=[ids[2][:9]])) == [ids[2]]
    assert chosen(gather_segments(found, wanted=[ids[1], ids[0], ids[1]])) == [ids[1], ids[0]]
    with pytest.raises(ValueError, match="no connection has an id that begins with 'zz'"):
        choose(gather_segments(found, wanted=["zz"]))
    with pytest.raises(ValueError, match="'' begins the ids of several connections: "):
        choose(gather_segments(found, wanted=[""]))


def test_summaries_and_kinds() -> None:
    assert (
        summary({"reply_code": 404, "reply_text": "NOT_FOUND", "class_id": 50}) == "reply_code=404 reply_text=NOT_FOUND"
    )
    assert summary({"settled": False, "state": {"type": "rejected", "error": {}}}) == "settled=false state=rejected"
    assert len(summary({"queue": "q" * 300, "exchange": "e" * 300, "routing_key": "r" * 300})) == 110
    assert kind_of("disposition", "client") == "settle"
    assert kind_of("message.transfer", "server") == "deliver"
    assert kind_of("no.such", "client") == "other"
    deep: dict[str, object] = {"a": 1}
    for _ in range(50):
        deep = {"d": deep}
    assert len(field_lines(deep)) <= 10
    assert field_lines({"response": {"redacted": 12}}) == [(0, "response", "(12 octets, not shown)")]
    assert len(field_lines({f"f{number}": number for number in range(500)})) == 81
