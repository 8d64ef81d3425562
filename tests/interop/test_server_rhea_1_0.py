"""The core as an AMQP 1.0 server: clients on rhea use a node on it."""

from typing import Any

import pytest

from tests.interop.brokers.embedded import Embedded
from tests.interop.brokers.facing_1_0 import Server
from tests.interop.brokers.nodes import run_rhea_client
from tests.kit.node_1_0 import ServerNode

pytestmark = pytest.mark.usefixtures("sound")


def told_by(server: Server, scenario: str, user: str | None = None) -> Any:
    return run_rhea_client(server.port, scenario, server.user if user is None else user)


def test_rhea_sends_and_receives(server: Server) -> None:
    told = told_by(server, "basic")
    assert told["outcomes"] == ["accepted"] * 50
    assert told["received"] == [[f"m{n}", "basic", n, {"n": n, "even": n % 2 == 0}] for n in range(50)]


def test_rhea_is_told_outcomes(server: Server) -> None:
    told = told_by(server, "outcomes")
    assert told["rejecting"]["event"] == "rejected"
    assert told["rejecting"]["error"] == {
        "condition": "amqp:not-allowed",
        "description": "never here",
        "info": {"why": "by intent"},
    }
    assert told["releasing"]["event"] == "released"
    assert told["modifying"] == {
        "event": "modified",
        "failed": True,
        "here": True,
        "annotations": {"x-opt-by": server.kind},
    }


def test_rhea_settles(server: Server) -> None:
    told = told_by(server, "settling")
    tries = [tuple(each[:2]) for each in told["tries"]]
    assert sorted(tries) == sorted([("one", 0), ("one", 0), ("two", 0), ("two", 1), ("three", 0), ("four", 0)])
    assert ["two", 1, {"x-opt-why": "again"}] in told["tries"]
    assert told["dead"] == ["three"]


def test_rhea_sends_a_megabyte(server: Server) -> None:
    assert told_by(server, "large") == {"event": "accepted", "size": 1_000_000, "same": True}


def test_rhea_sends_settled(server: Server) -> None:
    assert told_by(server, "presettled") == {"settled": [True] * 3, "received": [1, 2, 3]}


def test_rhea_settles_second(server: Server) -> None:
    assert told_by(server, "second") == {"event": "accepted", "received": ["twice"]}


def test_rhea_drains(server: Server) -> None:
    assert told_by(server, "drain") == {"found": [1, 2, 3], "credit": 0}


def test_rhea_has_a_dynamic_node(server: Server) -> None:
    told = told_by(server, "dynamic")
    assert told["name"]
    assert (told["dynamic"], told["body"], told["id"]) == (True, "reply", 7)


def said(error: dict[str, object]) -> dict[str, object]:
    """The fields that say something: a server of this project writes those that are null, too."""
    return {name: value for name, value in error.items() if value is not None}


def test_rhea_is_refused(server: Server) -> None:
    assert told_by(server, "absent") == {
        "condition": "amqp:not-found",
        "description": "no such node",
        "info": {"node": "absent"},
    }
    ended = {"condition": "amqp:internal-error", "description": "the session ends here"}
    assert said(told_by(server, "ending")) == ended
    closed = {"condition": "amqp:connection:forced", "description": "closed by intent"}
    assert said(told_by(server, "closing")) == closed


def test_rhea_is_refused_by_the_broker_itself(embedded: Embedded) -> None:
    assert run_rhea_client(embedded.port, "absent")["condition"] == "amqp:not-found"
    assert "Failed to authenticate" in run_rhea_client(embedded.port, "password")["error"]


def test_rhea_logs_in(server_with_passwords: Server) -> None:
    assert "Failed to authenticate" in told_by(server_with_passwords, "password")["error"]
    assert told_by(server_with_passwords, "anonymous") == {"event": "accepted"}


def test_rhea_without_sasl() -> None:
    with ServerNode() as node:
        told = run_rhea_client(node.port, "dynamic", "")
        assert told["body"] == "reply"
        assert node.errors == []


def test_rhea_has_twenty_sessions(server: Server) -> None:
    accepted = ["accepted", "accepted"]
    assert told_by(server, "sessions") == [[accepted, [n, n + 100]] for n in range(20)]


def test_rhea_is_kept_by_empty_frames() -> None:
    with ServerNode() as node:
        told = run_rhea_client(node.port, "idle")
        assert told == {"event": "accepted", "theirs": 1000}


def test_rhea_has_every_type(server: Server) -> None:
    told = told_by(server, "types")
    assert told["event"] == "accepted"
    assert told["body"] == {
        "ubyte": 200,
        "ushort": 60_000,
        "uint": 4_000_000_000,
        "ulong": 5,
        "byte": -5,
        "short": -500,
        "int": -70_000,
        "long": -8,
        "float": 1.5,
        "double": -2.25,
        "yes": True,
        "no": False,
        "text": "äöü€",
        "symbol": "sym",
        "binary": "00ff01",
        "list": [1, "two", []],
        "map": {"a": 1},
        "array": [1, 2, 3],
        "symbols": ["a", "b"],
        "when": 1_700_000_000_123,
        "nothing": None,
        "uuid": "00112233445566778899aabbccddeeff",
    }
