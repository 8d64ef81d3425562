"""What is known of the recorded traffic is what the tables say: who did what, how often, and what became of it."""

import json
from collections import Counter
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from tests.kit.captures import everywhere, named, truth
from tests.tables.reading import Tables, messages, tables_of

_CLASSIC = ("o08_", "o09_", "o091_")
_DECODED = ("0-8", "0-9-1", "0-10", "1.0")


def _count(found: Tables, **wanted: object) -> int:
    """How many messages have these values."""
    return len(messages(found, **wanted))


def _events(found: Tables, *names: str, sender: str = "") -> list[dict[str, Any]]:
    return [row for row in found["events"] if row["event"] in names and (not sender or row["sender"] == sender)]


def _digests(bodies: list[Any]) -> Counter[str]:
    digests: Counter[str] = Counter()
    for body in bodies:
        digests[body["sha256"] if isinstance(body, dict) else sha256(body.encode()).hexdigest()] += 1
    return digests


@pytest.mark.parametrize("path", [param for param in everywhere("*.pcap") if str(param.id).startswith(_CLASSIC)])
def test_the_tables_say_what_was_done(path: Path) -> None:
    """Every count in the notes that were taken when the traffic was recorded."""
    known: dict[str, Any] = truth(path).get("truth") or {}
    found = tables_of(path)
    expected: dict[str, Callable[[], object]] = {
        "publishes": lambda: _count(found, kind="publish"),
        "whole_publishes_in_capture": lambda: _count(found, kind="publish"),
        "complete_messages": lambda: len(found["messages"]),
        "publishes_started": lambda: len(_events(found, "basic.publish")),
        "deliveries": lambda: _count(found, kind="deliver"),
        "get_ok": lambda: _count(found, kind="get"),
        "acks": lambda: len(_events(found, "basic.ack", sender="client")),
        "confirms": lambda: _count(found, kind="publish", outcome="accepted"),
        "acked": lambda: _count(found, kind="publish", outcome="accepted"),
        "nacked": lambda: _count(found, kind="publish", outcome="rejected"),
        "ack_methods": lambda: len(_events(found, "basic.ack", sender="server")),
        "nack_methods": lambda: len(_events(found, "basic.nack", sender="server")),
        "returns": lambda: _count(found, kind="return"),
        "commits": lambda: len(_events(found, "tx.commit-ok")),
        "rollbacks": lambda: len(_events(found, "tx.rollback-ok")),
        "connections": lambda: len(found["connections"]),
        "connection_close": lambda: found["connections"][0]["close_code"],
        "close": lambda: found["connections"][0]["close_code"],
        "frame_max": lambda: found["connections"][0]["frame_max"],
        "heartbeat": lambda: found["connections"][0]["heartbeat"],
    }
    for name, value in known.items():
        if name in expected:
            assert expected[name]() == value, name
    bodies: list[Any] = known.get("bodies") or ([known["body"]] if "body" in known else [])
    if bodies:
        published = Counter([row["body_sha256"] for row in messages(found, kind="publish")])
        assert published == _digests(bodies)
    if "body_len" in known:
        sizes = {row["body_size"] for row in found["messages"]}
        assert sizes == {known["body_len"]}


def test_channels_that_the_server_closed() -> None:
    found = tables_of(named("o091_pika_channel_errors.pcap"))
    known = truth(named("o091_pika_channel_errors.pcap"))["truth"]["channel_closes"]
    closes = [json.loads(row["fields"]) for row in _events(found, "channel.close", sender="server")]
    assert Counter([close["reply_code"] for close in closes]) == Counter(known)


def test_connections_that_the_server_killed() -> None:
    path = named("o091_pika_connection_errors.pcap")
    found = tables_of(path)
    known = [result[1] for result in truth(path)["truth"]["results"][:8]]
    rows = [row for row in found["connections"] if row["close_code"] != 530]
    assert Counter([row["close_code"] for row in rows]) == Counter(known)
    assert {row["closed_by"] for row in rows if row["close_code"]} == {"server"}
    refused = [row for row in found["connections"] if row["close_code"] == 530]
    assert [(row["vhost"], row["closed_by"]) for row in refused] == [("nope", "server")]
    texts = {row["close_text"] for row in rows} - {None}
    assert texts == {result[2] for result in truth(path)["truth"]["results"][:8]} - {None}


def test_every_provoked_error_has_its_rule_before_the_server_says_so() -> None:
    found = tables_of(named("o091_pika_connection_errors.pcap"))
    by_connection: dict[str, list[str]] = {}
    for row in found["violations"]:
        if row["severity"] == "error":
            by_connection.setdefault(row["connection"], []).append(row["rule"])
    killed = {row["connection"] for row in found["connections"] if row["close_code"] != 530}
    assert set(by_connection) == killed
    assert all([len(rules) == 1 for rules in by_connection.values()])


def test_logins_that_failed() -> None:
    found = tables_of(named("o091_pika_auth_failures.pcap"))
    assert not found["violations"]
    rows = sorted(found["connections"], key=lambda row: row["opened_ns"])
    assert [(row["closed_by"], row["close_code"]) for row in rows] == [
        ("server", 403),
        ("server", 403),
        ("server", 403),
        ("server", 530),
    ]
    assert all([row["hint"] for row in rows])
    assert [row["user"] for row in rows[:2]] == ["guest", "guest"]


def test_acks_rejects_and_redeliveries() -> None:
    path = named("o091_pika_nack_reject_requeue.pcap")
    found = tables_of(path)
    gets = sorted(messages(found, kind="get"), key=lambda row: row["seq"])
    known = truth(path)["truth"]["gets"]
    queue = gets[0]["queue"]
    mine = [row for row in gets if row["queue"] == queue]
    assert [(row["redelivered"], row["tag"]) for row in mine] == [(again, tag) for _, again, tag in known]
    assert Counter([row["outcome"] for row in mine]) == {"accepted": 3, "released": 3, "rejected": 3}


def test_returned_publishes_are_tied_to_their_returns() -> None:
    found = tables_of(named("o091_pyamqp_mandatory_return.pcap"))
    returned = messages(found, kind="publish", outcome="returned")
    assert sorted([row["routing_key"] for row in returned]) == ["nowhere.1", "nowhere.2"]
    assert {row["reply_code"] for row in returned} == {312}
    returns = {row["seq"] for row in messages(found, kind="return")}
    assert {row["settled_seq"] for row in returned} == returns


def test_a_consumer_that_was_cancelled_and_a_message_that_stayed_open() -> None:
    found = tables_of(named("o091_pika_cancel_notify.pcap"))
    assert len(_events(found, "basic.cancel", sender="server")) == 1
    assert [row["outcome"] for row in messages(found, kind="deliver")] == [None]


def test_four_protocols_in_one_file() -> None:
    found = tables_of(named("o_mixed_4_protocols.pcap"))
    assert sorted([row["protocol"] for row in found["connections"]]) == ["0-10", "0-8", "0-9-1", "1.0"]
    decoded = {row["connection"] for row in found["connections"] if row["protocol"] in _DECODED}
    broken = [row for row in found["violations"] if row["connection"] in decoded]
    assert not [row for row in broken if row["severity"] == "error"]
    assert {row["rule"].partition("/")[0] for row in broken} <= {"1.0"}
    assert {row["connection"] for row in found["messages"]} == decoded


def test_a_reset_in_the_middle_of_a_frame() -> None:
    found = tables_of(named("o091_pika_rst_midframe.pcap"))
    (publish,) = _events(found, "basic.publish")
    fields = json.loads(publish["fields"])
    assert (fields["body_size"], fields["missing"]) == (50_000, 40_000)
    assert not found["messages"]
    (connection,) = found["connections"]
    assert (connection["closed_by"], connection["complete"]) == ("transport", False)
    assert connection["ended_by"] == "rst of the client"
    texts = [row["text"] for row in found["violations"]]
    assert texts == [
        "40000 of the 50000 octets of the body of basic.publish are missing",
        "707 octets of a frame that isn't all there",
    ]


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ("o091_aiopika_channels_interleaved", "o091d_channels"),
        ("o091_pika_exchange_types", "o091d_exchange"),
        ("o10_proton_proton_types", "o10d_types"),
    ],
    ids=["channels", "exchange", "types"],
)
@pytest.mark.parametrize("kind", ["dup", "nsec", "bigendian", "reorder", "reseg_overlap", "seqwrap"])
def test_lossless_rewrites_have_the_rows_of_their_source(source: str, name: str, kind: str) -> None:
    whole, rewritten = (tables_of(named(f"{each}.pcap")) for each in (source, f"{name}_{kind}"))
    assert not rewritten["violations"]
    for table, columns in (
        ("events", ("seq", "sender", "event", "size", "offset", "fields", "answers")),
        ("messages", ("kind", "tag", "exchange", "address", "body_sha256", "headers", "outcome", "seq", "settled_seq")),
    ):
        before = sorted([repr([row[name] for name in columns]) for row in whole[table]])
        after = sorted([repr([row[name] for name in columns]) for row in rewritten[table]])
        assert after == before
