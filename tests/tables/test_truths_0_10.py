"""What is known of the recorded traffic of 0-10 is what the tables say: who did what, and what became of it."""

import base64
import json
from collections import Counter
from pathlib import Path

import pytest

from amqp_sansio.recorded.tables import replay_segments
from tests.kit.captures import everywhere, named, truth
from tests.kit.tables import segments_of
from tests.tables.reading import Tables, messages, tables_of

_CAPTURES = everywhere("o010_*.pcap")


def _bodies(found: Tables, kind: str) -> list[str]:
    by_seq = {row["seq"]: json.loads(row["fields"]) for row in found["events"]}
    return [base64.b64decode(by_seq[row["seq"]].get("body", "")).decode() for row in messages(found, kind=kind)]


def _events(found: Tables, name: str) -> int:
    return sum([row["event"] == name for row in found["events"]])


@pytest.mark.parametrize("path", _CAPTURES)
def test_everything_that_is_known_of_a_capture(path: Path) -> None:
    known = truth(path)["truth"]
    found = tables_of(path)
    assert not found["violations"]
    (connection,) = found["connections"]
    assert (connection["protocol"], connection["complete"]) == ("0-10", True)
    assert connection["mechanism"] == ("ANONYMOUS" if "anonymous" in path.stem else "PLAIN")
    assert connection["client_product"] == "qpid python client"
    deliveries = messages(found, kind="deliver")
    if "publishes" in known:
        assert len(messages(found, kind="publish")) == known["publishes"]
        assert all([row["outcome"] for row in found["messages"]])
    if "deliveries" in known:
        assert len(deliveries) == known["deliveries"]
        assert {row["outcome"] for row in deliveries} == {"accepted"}
    if "bodies" in known:
        assert _bodies(found, "deliver") == known["bodies"]
    if "queue" in known:
        assert {row["queue"] for row in deliveries} == {known["queue"]}
    if "body" in known:
        assert {row["body_sha256"] for row in found["messages"]} == {known["body"]["sha256"]}
        assert {row["body_size"] for row in found["messages"]} == {known["body"]["len"]}
    if "commits" in known:
        assert _events(found, "tx.commit") == known["commits"]
        assert _events(found, "tx.rollback") == known["rollbacks"]
    if "heartbeat" in known:
        assert connection["heartbeat"] == known["heartbeat"]
        assert _events(found, "heartbeat") >= known["idle_s"] // known["heartbeat"]
    if "errors" in known:
        assert not found["messages"]
        assert _events(found, "session.detached") == len(known["errors"])


def test_released_and_rejected() -> None:
    path = named("o010_messaging_release_reject.pcap")
    known = truth(path)["truth"]
    found = tables_of(path)
    outcomes = Counter([row["outcome"] for row in messages(found, kind="deliver")])
    assert outcomes == {"released": known["released"], "rejected": known["rejected"], "accepted": len(known["rest"])}
    accepted = [row for row in messages(found, kind="deliver") if row["outcome"] == "accepted"]
    assert [row["redelivered"] for row in accepted] == [again for _, again in known["rest"]]
    assert _bodies(found, "deliver")[-2:] == [body for body, _ in known["rest"]]


def test_what_was_rolled_back() -> None:
    found = tables_of(named("o010_messaging_tx.pcap"))
    outcomes = [row["outcome"] for row in messages(found, kind="publish")]
    assert outcomes == ["accepted"] * 2 + ["released"] * 3
    assert _bodies(found, "publish")[:2] == truth(named("o010_messaging_tx.pcap"))["truth"]["bodies"]


def test_a_login_that_failed() -> None:
    (connection,) = tables_of(named("o010_messaging_authfail.pcap"))["connections"]
    assert (connection["closed_by"], connection["close_code"]) == ("server", 320)
    assert connection["close_text"] == "Authentication failed"
    assert "password" in connection["hint"]


def test_all_types() -> None:
    found = tables_of(named("o010_messaging_types.pcap"))
    sent, received = [messages(found, kind=kind)[0] for kind in ("publish", "deliver")]
    headers = json.loads(sent["headers"])
    assert json.loads(received["headers"]) == headers
    assert headers.pop("long") == "L" * 300
    assert headers == {
        "map": {"a": {"b": [1, "two", None]}},
        "none": None,
        "str8": "h\u00e9",
        "false": False,
        "uuid": "01234567-89ab-cdef-0123-456789abcdef",
        "emptymap": {},
        "int": 5,
        "neg": -5,
        "qpid.subject": "sub",
        "float": 1.5,
        "bytes": {"base64": "AP8="},
        "ts": 1234567890,
        "list": [1, "x", True, 2.5, [], {}],
        "big": 1099511627776,
        "true": True,
        "bigneg": -1099511627776,
    }
    assert (sent["correlation_id"], sent["content_type"]) == ("corr", "amqp/map")
    assert sent["message_id"] == "39343136-3933-3964-2d38-3965312d3437"


@pytest.mark.parametrize("path", _CAPTURES)
def test_no_secret_is_in_a_row(path: Path) -> None:
    rows = repr(list(replay_segments(segments_of([path]), body="none")))
    assert '"response":{"redacted":' in rows or "ANONYMOUS" in rows
    assert base64.b64encode(b"\0guest\0guest").decode() not in rows
