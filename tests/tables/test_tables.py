"""The tables: one row for each thing, the same from any arrangement of the same segments."""

import json
import pickle
import random
from hashlib import sha256
from pathlib import Path
from typing import Any, Protocol

import pytest

from amqp_sansio import AMQP_0_8, AMQP_0_9_1, LocalProtocolError, Version
from amqp_sansio.capture import CaptureDamage, Segment, sort_key
from amqp_sansio.capture.records import ACK, FIN, RST, SYN
from amqp_sansio.recorded.tables import COLUMNS, FlowReplay, LiveReplay, Row, damage_row, plain, replay_segments
from tests.kit.captures import named, sampled
from tests.kit.observing import CLIENT, Arrival, Talk
from tests.kit.tables import segments_of
from tests.tables.reading import Tables, tables

_ENDS = {CLIENT: ("10.0.0.1", 40_000), "server": ("10.0.0.2", 5672)}


class Conversation(Protocol):
    """What arrived, whatever version was spoken."""

    arrivals: list[Arrival]


def packets(talk: Conversation, *, syn: bool = True, end: int = FIN, by: str = CLIENT) -> list[Segment]:
    """The segments of a conversation: the handshake, one for each arrival, and an end by one side."""
    seqs = {CLIENT: 1000, "server": 2000}
    segments: list[Segment] = []

    def add(sender: str, data: bytes, flags: int, size: int | None = None) -> None:
        other = "server" if sender == CLIENT else CLIENT
        wire = len(data) if size is None else size
        number = len(segments)
        segments.append(
            Segment(
                1_700_000_000_000_000_000 + number * 1_000_001,
                "f.pcap",
                number,
                *_ENDS[sender],
                *_ENDS[other],
                seqs[sender],
                seqs[other],
                flags,
                wire,
                data,
            )
        )
        seqs[sender] += wire + (1 if flags & (SYN | FIN) else 0)

    if syn:
        add(CLIENT, b"", SYN)
        add("server", b"", SYN | ACK)
    for sender, what in talk.arrivals:
        if isinstance(what, bytes):
            add(sender, what, ACK)
        else:
            add(sender, b"", ACK, what)
    if end:
        add(by, b"", end | ACK)
        if end == FIN:
            add("server" if by == CLIENT else CLIENT, b"", FIN | ACK)
    return segments


def rows_of(talk: Conversation, **options: Any) -> Tables:
    """The tables of a conversation."""
    return tables(replay_segments(packets(talk), **options))


def _busy(version: Version = AMQP_0_9_1) -> Talk:
    talk = Talk(version).login().channel().consumer()
    talk.client(talk.publish(b"hello", routing_key="q", exchange="e"))
    talk.server(talk.deliver(1, b"hello")).client(talk.named("basic.ack", 1), channel=1)
    talk.client(talk.named("connection.close", 200, "done"))
    return talk.server(talk.named("connection.close-ok"))


# The columns of the contract.


def test_the_columns_that_others_depend_on_come_first() -> None:
    contract = {
        "connections": "connection client server protocol opened_ns closed_ns closed_by close_code close_text "
        "client_product client_version mechanism user vhost container bytes_client bytes_server gaps complete",
        "events": "connection seq ts ts_ns sender protocol channel event size offset fields",
        "messages": "connection ts_ns protocol channel kind exchange routing_key address tag message_id "
        "correlation_id content_type redelivered body_size body_sha256 headers outcome settled_ns latency_ns",
        "violations": "connection seq ts_ns sender rule severity text offset",
    }
    for table, names in contract.items():
        columns = [name for name, _ in COLUMNS[table]]
        assert columns[: len(names.split())] == names.split()
        assert len(set(columns)) == len(columns)
    kinds = {kind for columns in COLUMNS.values() for _, kind in columns}
    assert kinds == {"string", "int64", "bool", "timestamp", "json"}


_TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "json": (str,),
    "int64": (int,),
    "timestamp": (int,),
    "bool": (bool,),
}


@pytest.mark.parametrize("path", sampled("*.pcap"))
def test_every_value_has_the_type_of_its_column(path: Path) -> None:
    for table, values in replay_segments(segments_of([path])):
        for (name, kind), value in zip(COLUMNS[table], values, strict=True):
            assert value is None or type(value) in _TYPES[kind], (table, name, value)
            if isinstance(value, int):
                assert -(1 << 63) <= value < 1 << 63
            if isinstance(value, str):
                value.encode()
                assert kind != "json" or isinstance(json.loads(value), dict)


# Rows.


@pytest.mark.parametrize("version", (AMQP_0_9_1, AMQP_0_8), ids=lambda version: version.label)
def test_one_connection(version: Version) -> None:
    talk = _busy(version)
    found = rows_of(talk)
    (row,) = found["connections"]
    segments = packets(talk)
    assert (row["client"], row["server"]) == ("10.0.0.1:40000", "10.0.0.2:5672")
    assert (row["protocol"], row["opened_ns"]) == (version.label, segments[0].ts_ns)
    assert (row["closed_by"], row["close_code"], row["close_text"]) == ("client", 200, "done")
    assert (row["user"], row["vhost"], row["mechanism"], row["container"]) == ("ann", "/", "PLAIN", None)
    assert (row["client_product"], row["server_product"]) == ("Y", "X")
    assert (row["gaps"], row["complete"], row["violations"], row["hint"]) == (0, True, 0, None)
    for side in ("client", "server"):
        sent = [what for sender, what in talk.arrivals if sender == side and isinstance(what, bytes)]
        assert row[f"bytes_{side}"] == sum(map(len, sent))
    assert row["events"] == len(found["events"])
    assert row["messages"] == len(found["messages"]) == 2
    assert not found["violations"]


def test_events() -> None:
    found = rows_of(_busy())
    events = found["events"]
    assert [event["seq"] for event in events] == list(range(len(events)))
    first, publish = events[0], next(event for event in events if event["event"] == "basic.publish")
    assert json.loads(first["fields"]) == {"octets": {"base64": "QU1RUAAACQE="}, "version": "0-0-9-1"}
    assert (first["sender"], first["channel"], first["size"], first["offset"]) == ("client", 0, 8, 0)
    assert json.loads(publish["fields"]) == {
        "exchange": "e",
        "routing_key": "q",
        "mandatory": False,
        "immediate": False,
        "properties": {},
        "body_size": 5,
    }
    assert publish["ts"] == publish["ts_ns"] // 1000
    ack = next(event for event in events if event["event"] == "connection.close-ok")
    assert events[ack["answers"]]["event"] == "connection.close"


def test_secrets_are_shown_only_when_asked_for() -> None:
    hidden = next(row for row in rows_of(_busy())["events"] if row["event"] == "connection.start-ok")
    assert json.loads(hidden["fields"])["response"] == {"redacted": 7}
    shown = rows_of(_busy(), secrets=True)["events"]
    shown_row = next(row for row in shown if row["event"] == "connection.start-ok")
    assert json.loads(shown_row["fields"])["response"] == {"base64": "AGFubgBwdw=="}


def test_bodies_are_shown_as_asked_for() -> None:
    for body, keys in (("none", set[str]()), ("size", {"body_size"}), ("base64", {"body_size", "body"})):
        found = rows_of(_busy(), body=body)
        publish = next(row for row in found["events"] if row["event"] == "basic.publish")
        fields = json.loads(publish["fields"])
        assert {key for key in fields if key.startswith("body")} == keys
        assert fields.get("body", "aGVsbG8=") == "aGVsbG8="
        digests = {row["body_sha256"] for row in found["messages"]}
        assert digests == {sha256(b"hello").hexdigest()}
    with pytest.raises(ValueError, match="none, size, base64"):
        FlowReplay("x", body="all")


def test_messages() -> None:
    found = rows_of(_busy())
    publish, deliver = sorted(found["messages"], key=lambda row: row["seq"])
    assert (publish["kind"], publish["outcome"], publish["latency_ns"]) == ("publish", "settled", None)
    assert (deliver["kind"], deliver["outcome"], deliver["tag"]) == ("deliver", "accepted", 1)
    assert deliver["latency_ns"] == deliver["settled_ns"] - deliver["ts_ns"] == 1_000_001
    assert (deliver["queue"], deliver["consumer_tag"], deliver["redelivered"]) == ("q", "ct", False)
    events = {row["seq"]: row["event"] for row in found["events"]}
    assert (events[deliver["seq"]], events[deliver["settled_seq"]]) == ("basic.deliver", "basic.ack")


def test_headers_keep_their_order_and_types() -> None:
    from decimal import Decimal

    from amqp_sansio.amqp_0_9_1.spec import Timestamp

    headers: dict[str, Any] = {
        "z": 'text \u00e9 "quoted" \\ \n \x01',
        "a": [1, -(1 << 40), True, None, 1.5, float("nan"), float("inf"), -float("inf")],
        "d": Decimal("12.340"),
        "t": Timestamp(1_700_000_000),
        "x": b"\0\xff",
        "n": {"m": {}},
        "odd": "\udcff",
        "\udcff": 1,
    }
    talk = Talk().login().channel()
    talk.client(talk.message(talk.named("basic.publish"), b"", headers=headers, message_id="m\udcff"))
    (message,) = rows_of(talk)["messages"]
    assert message["message_id"] == "m\\xff"
    assert message["headers"].startswith('{"z":"text \u00e9 \\"quoted\\" \\\\ \\n \\u0001","a":[1,')
    assert '"d":12.340,' in message["headers"]
    assert json.loads(message["headers"]) == {
        "z": headers["z"],
        "a": [1, -(1 << 40), True, None, 1.5, "NaN", "Infinity", "-Infinity"],
        "d": 12.34,
        "t": 1_700_000_000,
        "x": {"base64": "AP8="},
        "n": {"m": {}},
        "odd": {"base64": "/w=="},
        "\\xff": 1,
    }


def test_numbers_beyond_64_bits_with_sign() -> None:
    talk = Talk().login().channel().consumer().server(Talk().deliver((1 << 64) - 1, b"x"))
    found = rows_of(talk)
    assert found["messages"][0]["tag"] is None
    fields = next(row["fields"] for row in found["events"] if row["event"] == "basic.deliver")
    assert json.loads(fields)["delivery_tag"] == (1 << 64) - 1


def test_what_can_not_be_decoded_is_there_as_octets() -> None:
    from tests.kit.observing import frame, header

    talk = Talk().login().channel()
    method = talk.octets(talk.named("basic.publish"), 1)
    talk.client(frame(1, 1, b"\0\x63\0\x01"), method + header(1, 0, b"\x80\0\xff"))
    talk.client(method + header(1, 0, b"\x20\0\0\0\0\x03\x01xA")).client(method + header(1, 9))
    found = rows_of(talk)
    unknown, bad, table, partial = [json.loads(row["fields"]) for row in found["events"][-4:]]
    assert unknown == {"payload": {"base64": "AGMAAQ=="}}
    assert bad["properties"] == {"invalid": {"base64": "gAD/"}}
    assert table["properties"] == {"headers": {"invalid": {"base64": "AXhB"}}}
    assert (partial["missing"], partial["body_size"]) == (9, 9)
    rules = [(row["rule"], row["severity"]) for row in found["violations"]]
    assert ("capture/partial-message", "warning") in rules
    assert found["connections"][0]["violations"] == len(rules)


def test_violations() -> None:
    talk = Talk().login().client(Talk().publish(b"x", 9))
    (row,) = rows_of(talk)["violations"]
    assert (row["rule"], row["severity"], row["sender"]) == ("0-9-1/channel/closed-when", "error", "client")
    assert row["channel"] == 9
    assert row["seq"] is not None


# How connections end.


@pytest.mark.parametrize(
    ("end", "by", "closed_by", "ended_by"),
    [
        (FIN, CLIENT, "transport", "fin of the client"),
        (FIN, "server", "transport", "fin of the server"),
        (RST, "server", "transport", "rst of the server"),
        (0, CLIENT, None, "end-of-capture"),
    ],
)
def test_connections_without_a_close(end: int, by: str, closed_by: str | None, ended_by: str) -> None:
    talk = Talk().login()
    (row,) = tables(replay_segments(packets(talk, end=end, by=by)))["connections"]
    assert (row["closed_by"], row["ended_by"], row["close_code"]) == (closed_by, ended_by, None)
    assert (row["closed_ns"] is None) is (end == 0)


def test_a_login_that_fails_without_a_word_has_a_hint() -> None:
    talk = Talk()
    for sender, what in Talk().login().arrivals[:3]:
        assert isinstance(what, bytes)
        talk.send(sender, what)
    (row,) = tables(replay_segments(packets(talk, end=RST, by="server")))["connections"]
    assert "login" in row["hint"]


def test_a_connection_without_octets_is_a_row() -> None:
    (row,) = rows_of(Talk())["connections"]
    assert (row["protocol"], row["bytes_client"], row["events"], row["complete"]) == (None, 0, 0, True)


def test_a_connection_seen_from_the_middle() -> None:
    talk = Talk(late=True)
    talk.server(talk.deliver(3, b"x")).client(talk.named("basic.ack", 3), channel=1)
    found = tables(replay_segments(packets(talk, syn=False)))
    (row,) = found["connections"]
    assert (row["client"], row["server"], row["complete"]) == ("10.0.0.1:40000", "10.0.0.2:5672", False)
    assert row["bytes_server"] == len(talk.deliver(3, b"x"))
    assert [message["outcome"] for message in found["messages"]] == ["accepted"]


def test_sides_that_nothing_tells_apart_stay_unnamed() -> None:
    talk = Talk(late=True).client(b"hello").server(b"world")
    found = tables(replay_segments(packets(talk, syn=False), ports=(5672, 40_000)))
    (row,) = found["connections"]
    assert (row["client"], row["server"], row["protocol"]) == (None, None, None)
    assert {violation["sender"] for violation in found["violations"]} == {None}
    assert {violation["rule"] for violation in found["violations"]} == {"capture/unrecognised"}


def test_what_is_not_amqp_is_counted_and_has_no_row_but_at_a_port_of_amqp() -> None:
    talk = Talk(late=True).client(b"SSH-2.0-OpenSSH_9\r\n").gap("server", 5).server(b"SSH-2.0-x").client(b"...")
    segments = packets(talk)
    passed: dict[str, int] = {}
    assert not any(tables(replay_segments(segments, ports=(), passed=passed)).values())
    assert passed == {"SSH": 1}
    live = LiveReplay(ports=())
    assert not [row for each in segments for _, rows in live.push(each) for row in rows]
    assert not [row for _, rows in live.finish() for row in rows]
    assert live.passed == passed
    found = tables(replay_segments(segments, passed=passed))
    assert len(found["connections"]) == 1
    assert passed == {"SSH": 1}


def test_what_tls_hides_is_said_to_be_not_decoded() -> None:
    tls = b"AMQP\x02\x01\x00\x00"
    talk = Talk().client(tls).server(tls).client(b"abc")
    found = rows_of(talk)
    (connection,) = found["connections"]
    assert (connection["protocol"], connection["complete"]) == ("1.0", True)
    (row,) = found["violations"]
    assert (row["rule"], row["severity"]) == ("capture/undecoded", "warning")
    assert "3 octets of 1.0" in row["text"]


# Damage.


def test_a_gap_is_a_row_and_the_connection_is_not_complete() -> None:
    talk = Talk().login().channel().consumer().gap("server", 50).server(Talk().deliver(9, b"x"))
    found = rows_of(talk)
    (row,) = [row for row in found["violations"] if row["rule"] == "capture/gap"]
    assert (row["sender"], row["severity"], row["seq"]) == ("server", "warning", None)
    assert "50 octets" in row["text"]
    (connection,) = found["connections"]
    assert (connection["gaps"], connection["complete"]) == (1, False)
    assert [message["tag"] for message in found["messages"]] == [9]


def test_a_gap_before_the_sides_are_known_is_named_later() -> None:
    talk = Talk(late=True).client(b"??").gap("server", 10).server(Talk().deliver(9, b"x"))
    found = tables(replay_segments(packets(talk, syn=False)))
    assert [row["sender"] for row in found["violations"] if row["rule"] == "capture/gap"] == ["server"]


def test_contradicting_packets_are_rows() -> None:
    segments = packets(_busy())
    wrong = segments[2]
    again = Segment(
        wrong.ts_ns + 1,
        wrong.file,
        wrong.packet,
        wrong.src,
        wrong.sport,
        wrong.dst,
        wrong.dport,
        wrong.seq,
        wrong.ack,
        wrong.flags,
        wrong.wire_len,
        b"HTTP/1.1",
    )
    found = tables(replay_segments([*segments, again]))
    assert [row["rule"] for row in found["violations"]] == ["capture/conflicting-overlap"]
    assert found["connections"][0]["complete"] is False


def test_damage_of_a_file_is_a_row_of_no_connection() -> None:
    damage = CaptureDamage("a.pcap", 7, 5, 99, "truncated-file", "it ends inside of a record")
    assert tables([damage_row(damage)])["violations"] == [
        {
            "connection": None,
            "seq": None,
            "ts_ns": 5,
            "sender": None,
            "rule": "capture/truncated-file",
            "severity": "warning",
            "text": "a.pcap: it ends inside of a record (packet 7)",
            "offset": 99,
            "channel": None,
        }
    ]
    assert list(replay_segments([damage])) == [damage_row(damage)]


def test_text_for_every_consumer() -> None:
    assert [plain(text) for text in (None, "", "a", "\u00e9", "a\udcff\u00e9")] == [
        None,
        "",
        "a",
        "\u00e9",
        "a\\xff\u00e9",
    ]


# The same rows from any arrangement.

MIXED = (*sampled("o_mixed*.pcap"), *sampled("o091d_*_reorder*"), *sampled("o091d_*_snap200*"))


@pytest.mark.parametrize("path", MIXED)
def test_the_order_of_segments_makes_no_difference(path: Path) -> None:
    segments = segments_of([path])
    expected = list(replay_segments(segments))
    for seed in range(3):
        assert list(replay_segments(random.Random(seed).sample(segments, len(segments)))) == expected


@pytest.mark.parametrize("path", [*MIXED, *sampled("o010_*.pcap")])
def test_flows_apart_and_pickled_at_every_step_give_the_same_rows(path: Path) -> None:
    segments = [row for row in segments_of([path]) if isinstance(row, Segment)]
    replays: dict[str, FlowReplay] = {}
    rows: list[Row] = []
    for segment in sorted(segments, key=lambda segment: (segment.ts_ns, sort_key(segment))):
        replay = replays.get(segment.flow) or FlowReplay(segment.flow)
        rows += replay.push(segment)
        replays[segment.flow] = pickle.loads(pickle.dumps(replay))
    for replay in replays.values():
        rows += replay.finish()
    assert sorted(map(repr, rows)) == sorted(map(repr, replay_segments(segments)))


@pytest.mark.parametrize("path", sampled("*.pcap"))
def test_segments_taken_together_give_the_rows_of_each(path: Path) -> None:
    flows: dict[str, list[Segment]] = {}
    for segment in sorted([row for row in segments_of([path]) if isinstance(row, Segment)], key=sort_key):
        flows.setdefault(segment.flow, []).append(segment)
    for flow, segments in flows.items():
        alone, together = FlowReplay(flow), FlowReplay(flow)
        rows = [row for segment in segments for row in alone.push(segment)]
        assert [row for taken in together.push_all(segments) for row in taken] == rows
        assert together.finish() == alone.finish()


def test_capture_time_that_passes_declares_what_is_missing() -> None:
    talk = Talk().login().client(Talk().octets(Talk().named("channel.open"), 1))
    segments = packets(talk, end=0)
    del segments[4]
    replay = FlowReplay(segments[0].flow)
    before = [row for segment in segments for row in replay.push(segment)]
    later = replay.advance(segments[-1].ts_ns + 3_600_000_000_000)
    assert [row for row in tables(before)["events"] if row["sender"] == "client"][-1]["event"] == "protocol-header"
    assert "connection.tune-ok" in [row["event"] for row in tables(later)["events"]]
    assert [name for name, _ in replay.finish()] == ["connections"]


def test_a_flow_takes_only_its_own_segments() -> None:
    with pytest.raises(LocalProtocolError, match="in the replay of other"):
        FlowReplay("other").push(packets(Talk())[0])


def test_another_release_s_state_is_refused() -> None:
    replay = FlowReplay("a")
    _, *values = replay.__getstate__()
    with pytest.raises(LocalProtocolError, match="layout 7"):
        replay.__setstate__((7, *values))


def test_two_connections_of_one_flow_are_two_rows() -> None:
    first = packets(_busy())
    second = [
        Segment(
            segment.ts_ns + 10_000_000_000,
            segment.file,
            segment.packet + 100,
            segment.src,
            segment.sport,
            segment.dst,
            segment.dport,
            segment.seq + 5_000_000,
            segment.ack + 5_000_000 if segment.flags & ACK else 0,
            segment.flags,
            segment.wire_len,
            segment.payload,
        )
        for segment in first
    ]
    found = tables(replay_segments(first + second))
    assert len(found["connections"]) == 2
    assert len({row["connection"] for row in found["connections"]}) == 2
    assert len(found["messages"]) == 4


@pytest.mark.parametrize("wanted", [(name,) for name in COLUMNS] + [("events", "violations"), ()])
def test_tables_that_are_not_wanted_are_left_out(wanted: tuple[str, ...]) -> None:
    talk = _busy().client(Talk().publish(b"x", 9))
    damage = CaptureDamage("a.pcap", 7, 5, 99, "truncated-file", "it ends inside of a record")
    segments: list[Segment | CaptureDamage] = [*packets(talk), damage]
    everything = [row for row in replay_segments(segments) if row[0] in wanted]
    assert list(replay_segments(segments, tables=wanted)) == everything


@pytest.mark.parametrize("path", sampled("*.pcap"))
def test_each_table_alone_has_the_rows_that_it_has_beside_the_others(path: Path) -> None:
    segments = segments_of([path])
    everything = list(replay_segments(segments))
    for name in COLUMNS:
        assert list(replay_segments(segments, tables=(name,))) == [row for row in everything if row[0] == name]


def test_a_table_that_there_is_not_is_refused() -> None:
    with pytest.raises(ValueError, match="no table is called 'rows'"):
        FlowReplay("x", tables=("rows",))


def test_names_that_look_alike_stay_apart() -> None:
    headers = {"\udcff": 1, "\\xff": 2}
    talk = Talk().login().channel()
    talk.client(talk.message(talk.named("basic.publish"), b"", headers=headers))
    (message,) = rows_of(talk)["messages"]
    pairs = json.loads(message["headers"], object_pairs_hook=list)
    assert len({name for name, _ in pairs}) == 2


def test_a_live_replay_has_the_rows_of_the_whole_and_bounds_its_flows() -> None:
    paths = [
        named(f"{name}.pcap") for name in ("o091_concurrent_4_clients", "o10d_types_gap", "o091d_channels_reorder")
    ]
    segments = [row for row in segments_of(paths) if isinstance(row, Segment)]
    segments.sort(key=lambda each: (each.ts_ns, each.file, each.packet))
    whole, few = LiveReplay(), LiveReplay(flows=2)
    rows: list[Row] = []
    for number, segment in enumerate(segments):
        rows += [row for _, some in whole.push(segment) for row in some]
        few.push(segment)
        if number % 100 == 0:
            whole = pickle.loads(pickle.dumps(whole))
    early = len(rows)
    rows += [row for _, some in whole.finish() for row in some]
    assert 0 < early < len(rows)
    assert sorted(map(str, rows)) == sorted(map(str, replay_segments(segments)))
    assert len(few.finish()) == 2
