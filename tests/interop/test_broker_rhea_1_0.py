"""The embedded broker with rhea, unmodified (1.0)."""

from typing import Any

from tests.interop.brokers.declaring import dead_lettering, declare
from tests.interop.brokers.embedded import Embedded
from tests.interop.brokers.nodes import run_rhea_client


def told_by(embedded: Embedded, scenario: str) -> Any:
    return run_rhea_client(embedded.port, scenario)


def test_sending_and_receiving(embedded: Embedded) -> None:
    declare(embedded, "rhea.basic")
    told = told_by(embedded, "basic")
    assert told["outcomes"] == ["accepted"] * 50
    assert told["received"] == [[f"m{n}", "basic", n, {"n": n, "even": n % 2 == 0}] for n in range(50)]


def test_settling(embedded: Embedded) -> None:
    declare(embedded, "dead.rhea.settling")
    declare(embedded, "rhea.settling", arguments=dead_lettering("dead.rhea.settling"))
    told = told_by(embedded, "settling")
    tries = [tuple(each[:2]) for each in told["tries"]]
    assert sorted(tries) == sorted([("one", 0), ("one", 0), ("two", 0), ("two", 1), ("three", 0), ("four", 0)])
    # The broker adds where it came from, as RabbitMQ does.
    noted = [notes["x-opt-why"] for body, count, notes in told["tries"] if (body, count) == ("two", 1)]
    assert noted == ["again"]
    assert told["dead"] == ["three"]


def test_sizes_and_types(embedded: Embedded) -> None:
    declare(embedded, "rhea.large", "rhea.types")
    assert told_by(embedded, "large") == {"event": "accepted", "size": 1_000_000, "same": True}
    told = told_by(embedded, "types")
    assert told["event"] == "accepted"
    body = told["body"]
    assert (body["ubyte"], body["uint"], body["text"], body["list"]) == (200, 4_000_000_000, "äöü€", [1, "two", []])
    assert (body["when"], body["binary"]) == (1_700_000_000_123, "00ff01")
    assert body["uuid"] == "00112233445566778899aabbccddeeff"


def test_settlement_modes(embedded: Embedded) -> None:
    declare(embedded, "rhea.presettled", "rhea.second")
    assert told_by(embedded, "presettled") == {"settled": [True] * 3, "received": [1, 2, 3]}
    assert told_by(embedded, "second") == {"event": "accepted", "received": ["twice"]}


def test_draining(embedded: Embedded) -> None:
    declare(embedded, "rhea.drain")
    assert told_by(embedded, "drain") == {"found": [1, 2, 3], "credit": 0}


def test_a_dynamic_node(embedded: Embedded) -> None:
    told = told_by(embedded, "dynamic")
    assert (told["dynamic"], told["body"], told["id"]) == (True, "reply", 7)


def test_errors(embedded: Embedded) -> None:
    assert told_by(embedded, "absent")["condition"] == "amqp:not-found"
    assert "Failed to authenticate" in told_by(embedded, "password")["error"]


def test_twenty_sessions(embedded: Embedded) -> None:
    declare(embedded, *[f"rhea.sessions.{n}" for n in range(20)])
    accepted = ["accepted", "accepted"]
    assert told_by(embedded, "sessions") == [[accepted, [n, n + 100]] for n in range(20)]


def test_idle_connections(embedded: Embedded) -> None:
    declare(embedded, "rhea.idle")
    assert told_by(embedded, "idle")["event"] == "accepted"
