"""What is known of the recorded traffic of 1.0 is what the tables say: who did what, and what became of it."""

import ast
import base64
import json
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from amqp_sansio.amqp_1_0 import Message
from tests.kit.captures import everywhere, named, sampled, truth
from tests.tables.reading import Tables, messages, tables_of


def _fields(found: Tables, *names: str, sender: str = "") -> list[dict[str, Any]]:
    """The fields of all events of these names."""
    return [
        json.loads(row["fields"]) for row in found["events"] if row["event"] in names and sender in ("", row["sender"])
    ]


def _bodies(found: Tables, kind: str) -> list[Any]:
    """The decoded bodies of messages, in their order."""
    by_seq = {(row["connection"], row["seq"]): json.loads(row["fields"]) for row in found["events"]}
    bodies: list[Any] = []
    for row in messages(found, kind=kind):
        fields = by_seq[row["connection"], row["seq"]]
        octets = base64.b64decode(fields["body"])
        bodies.append(octets if fields["body_kind"] == "data" else Message.from_wire(octets).body)
    return bodies


def _outcomes(found: Tables, kind: str) -> list[str | None]:
    return [row["outcome"] for row in messages(found, kind=kind)]


def _told(outcomes: list[str]) -> list[str]:
    """Outcomes as the notes have them, without what is said about them."""
    return [outcome.partition("(")[0] for outcome in outcomes]


def _errors(found: Tables) -> list[tuple[str, str, str | None]]:
    """Errors of links, sessions and connections: kind, condition, description."""
    scopes = {"detach": "link", "end": "session", "close": "connection"}
    return [
        (scope, fields["error"]["condition"], fields["error"].get("description"))
        for name, scope in scopes.items()
        for fields in _fields(found, name)
        if "error" in fields
    ]


def _reported(known: Any) -> list[tuple[str, str, str]]:
    """The errors in the notes of one connection that came over the wire."""
    entries: list[Any] = [entry for entry in known if len(entry) == 3 and entry[0] != "transport"]
    return [(scope, condition, text) for scope, condition, text in entries if condition]


_KNOWN: dict[str, Callable[[Tables, Any], None]] = {}


def _knows(name: str) -> Callable[[Callable[[Tables, Any], None]], Callable[[Tables, Any], None]]:
    def add(check: Callable[[Tables, Any], None]) -> Callable[[Tables, Any], None]:
        _KNOWN[name] = check
        return check

    return add


def _count_of(kind: str) -> Callable[[Tables, Any], None]:
    def check(found: Tables, known: Any) -> None:
        assert len(messages(found, kind=kind)) == known

    return check


for _name, _kind in (
    ("transfers_sent", "publish"),
    ("transfers_received", "deliver"),
    ("sent", "publish"),
    ("requests", "publish"),
    ("transfers", "publish"),
):
    _KNOWN[_name] = _count_of(_kind)


@_knows("messages")
def _messages_sent(found: Tables, known: Any) -> None:
    assert len(messages(found, kind="publish")) == known


@_knows("outcomes")
def _outcomes_of_sent(found: Tables, known: Any) -> None:
    assert _outcomes(found, "publish") == _told(known)


@_knows("receiver_outcomes")
def _outcomes_of_received(found: Tables, known: Any) -> None:
    first = {row["body_sha256"]: row["outcome"] for row in reversed(messages(found, kind="deliver"))}
    sent = [row["body_sha256"] for row in messages(found, kind="publish")]
    assert [first[digest] for digest in sent] == _told(known)


@_knows("sender_seen")
def _outcomes_by_link(found: Tables, known: Any) -> None:
    shown = {row["address"]: row["outcome"] for row in messages(found, kind="publish")}
    assert set(shown) == set(known)
    for address, seen in known.items():
        assert str(shown[address]) in seen.lower()


@_knows("presettled_sent")
def _presettled(found: Tables, known: Any) -> None:
    assert _outcomes(found, "publish") == ["settled"] * known


@_knows("bodies")
def _all_bodies(found: Tables, known: Any) -> None:
    assert _bodies(found, "publish") == _bodies(found, "deliver") == known


@_knows("received")
def _received_bodies(found: Tables, known: Any) -> None:
    assert _bodies(found, "deliver") == known


@_knows("replies")
def _reply_bodies(found: Tables, known: Any) -> None:
    assert _bodies(found, "deliver") == known
    assert len({row["address"] for row in messages(found, kind="deliver")}) == 1


@_knows("body")
def _digests(found: Tables, known: Any) -> None:
    for row in found["messages"]:
        assert (row["body_size"], row["body_sha256"]) == (known["len"], known["sha256"])
    assert Counter([row["kind"] for row in found["messages"]]) == {"publish": 1, "deliver": 1}


@_knows("max_frame")
def _frame_max(found: Tables, known: Any) -> None:
    assert {row["frame_max"] for row in found["connections"]} <= {int(known[0]), 32_768}


@_knows("sessions")
def _sessions(found: Tables, known: Any) -> None:
    assert len(_fields(found, "begin", sender="client")) == known
    assert len({row["channel"] for row in found["messages"]}) == known


@_knows("links")
def _links(found: Tables, known: Any) -> None:
    assert len(_fields(found, "attach", sender="client")) == known
    assert len({(row["kind"], row["link"]) for row in found["messages"]}) == known


@_knows("log")
def _log(found: Tables, known: Any) -> None:
    for entry in known:
        kind: type[Any] = entry.__class__
        if kind is dict:
            by_address = Counter([row["address"][-1] for row in messages(found, kind="deliver")])
            assert by_address == {name[-1]: count for name, count in entry.items()}
        elif kind is list and entry[0] == "transport":
            (row,) = found["connections"]
            assert row["closed_by"] == "server"
            assert "login" in row["close_text"]
            assert "password" in row["hint"]
            assert row["mechanism"] in entry[2]
        elif kind is list and entry[0] == "remote_idle":
            (opened,) = _fields(found, "open", sender="server")
            assert opened.get("idle_time_out", 0) == entry[1] * 1000
        elif kind is list:
            assert tuple(entry) in _errors(found)
    if "drained" in known:
        flows = _fields(found, "flow", sender="server")
        assert [flow for flow in flows if flow.get("drain") and flow.get("link_credit") == 0]
    texts = [entry for entry in known if isinstance(entry, str)]
    assert texts.count("acc") in (0, _outcomes(found, "publish").count("accepted"))
    assert [text for text in texts if text.startswith("dr") and text != "drained"] in (
        [],
        [body for body in _bodies(found, "deliver") if isinstance(body, str)],
    )
    if "committed" in texts:
        _transactions(found, texts)


def _transactions(found: Tables, texts: list[str]) -> None:
    declared = [text for text in texts if text.startswith("declared")]
    answers = [fields.get("state", {}).get("type") for fields in _fields(found, "disposition")]
    assert answers.count("declared") == len(declared)
    requests = [fields["request"] for fields in _fields(found, "transfer") if "request" in fields]
    ends = [request["fail"] for request in requests if request["type"] == "discharge"]
    assert ends == [text == "aborted" for text in texts if text in ("committed", "aborted")]
    delivered = [text for text in texts if text.startswith("tx")]
    outcomes = dict(zip(_bodies(found, "publish"), _outcomes(found, "publish"), strict=True))
    assert [body for body, outcome in outcomes.items() if outcome == "accepted"] == delivered
    assert {outcomes[body] for body in outcomes if body not in delivered} == {"released"}
    assert _bodies(found, "deliver") == delivered


@_knows("heartbeat")
def _heartbeat(found: Tables, known: Any) -> None:
    """The client announces half of the time after which it gives up."""
    (opened,) = _fields(found, "open", sender="client")
    assert opened["idle_time_out"] == known * 500
    (row,) = found["connections"]
    assert row["heartbeat"] == known // 2


@_knows("idle_s")
def _heartbeats(found: Tables, known: Any) -> None:
    empty = [row for row in found["events"] if row["event"] == "heartbeat"]
    assert len([row for row in empty if row["sender"] == "server"]) >= known


@_knows("connections")
def _connections(found: Tables, known: Any) -> None:
    assert len(found["connections"]) == known


@_knows("session_end_error")
def _session_error(found: Tables, known: Any) -> None:
    assert ("session", known) in [error[:2] for error in _errors(found)]


@_knows("credit_issued_with_drain")
def _drain_credit(found: Tables, known: Any) -> None:
    drains = [flow for flow in _fields(found, "flow", sender="client") if flow["drain"]]
    assert known in [flow["link_credit"] for flow in drains]


@_knows("selector")
def _selector(found: Tables, known: Any) -> None:
    filters = [
        fields["source"]["filter"]
        for fields in _fields(found, "attach", sender="client")
        if "filter" in fields["source"]
    ]
    (selector,) = [value["value"] for each in filters for value in each.values()]
    assert selector.replace(" ", "").startswith(known)


@_knows("results")
def _results(found: Tables, known: Any) -> None:
    if known[0].__class__ is str:
        accepted = [text for text in known if text.startswith("accepted / got")]
        assert len(accepted) == len(known)
        assert _outcomes(found, "publish").count("accepted") == len(known)
        assert len(messages(found, kind="deliver", outcome="accepted")) == len(known)
        return
    errors = _errors(found)
    for _, _, reported in known:
        for error in _reported(reported):
            assert error in errors


@_knows("errors")
def _failures(found: Tables, known: Any) -> None:
    """What the client's exceptions quote; the connection that a server dropped without a word has only its end."""
    for _, text in known:
        quoted = re.search(r"Condition\((.*?)\)", text)
        assert quoted is not None
        condition, description = ast.literal_eval(f"({quoted.group(1)})")
        if description == "connection aborted":
            ends = [row for row in found["connections"] if row["closed_by"] != "client"]
            assert len(ends) == 1
        else:
            assert (condition, description) in [error[1:] for error in _errors(found)]


@_knows("sent_properties")
def _properties(found: Tables, known: Any) -> None:
    """All types at once, in the first message."""
    rows = [json.loads(row["headers"]) for row in messages(found, kind="publish") if row["headers"]]
    headers = max(rows, key=len)
    names = re.findall(r"'(\w+)': ", known)
    assert list(headers) == names
    for name, value in {
        "null": None,
        "true": True,
        "ubyte": 200,
        "ulong": 1 << 63,
        "long": -1099511627776,
        "float": 1.5,
        "double": 2.25,
        "char": "\N{EURO SIGN}",
        "ts": 1_700_000_000_123,
        "uuid": "00112233-4455-6677-8899-aabbccddeeff",
        "bin": {"base64": "AP8="},
        "str": "h\u00e9",
        "sym": "sy",
    }.items():
        assert headers[name] == value, name


_NOT_ON_THE_WIRE = {"kind", "error", "network"}
"""What the notes say about the tools, not about the traffic."""


@pytest.mark.parametrize("path", everywhere("o10_*.pcap"))
def test_the_tables_say_what_was_done(path: Path) -> None:
    """Everything in the notes that were taken when the traffic was recorded."""
    known: dict[str, Any] = truth(path)["truth"]
    found = tables_of(path)
    if not truth(path)["ok"]:
        assert not found["messages"]
        assert found["connections"][0]["closed_by"] == "transport"
        return
    for name, value in known.items():
        if name not in _NOT_ON_THE_WIRE:
            _KNOWN[name](found, value)
    assert not [row for row in found["violations"] if row["severity"] == "error"]


@pytest.mark.parametrize("path", sampled("o10_*.pcap"))
def test_the_rows_are_the_same_whatever_is_kept_of_bodies(path: Path) -> None:
    kept, sized = tables_of(path), tables_of(path, body="none")
    for table in ("connections", "messages", "violations"):
        assert sized[table] == kept[table]


@pytest.mark.parametrize("kind", ["gap", "gaps_nosyn", "snap200"])
def test_what_is_left_of_a_damaged_capture_is_true(kind: str) -> None:
    """Messages and outcomes are among the source's, and few of them are missing."""
    whole = tables_of(named("o10_proton_proton_types.pcap"))
    damaged = tables_of(named(f"o10d_types_{kind}.pcap"))
    columns = ("kind", "tag", "address", "link")
    known = {tuple([row[name] for name in columns]): row["outcome"] for row in whole["messages"]}
    assert 20 <= len(damaged["messages"]) <= len(known)
    for row in damaged["messages"]:
        assert row["outcome"] in (None, known[tuple([row[name] for name in columns])])
    assert {row["severity"] for row in damaged["violations"]} == {"warning"}
    assert damaged["connections"][0]["complete"] is False


def test_two_places_on_the_way_have_seen_the_same_connection() -> None:
    near, far = [tables_of(named(f"o10_proton_lossy_tun{end}.pcap")) for end in ("", "_serverside")]
    columns = ("kind", "channel", "address", "tag", "body_sha256", "outcome", "link")
    for found in (near, far):
        assert not found["violations"]
    assert Counter([tuple([row[name] for name in columns]) for row in near["messages"]]) == Counter(
        [tuple([row[name] for name in columns]) for row in far["messages"]]
    )
