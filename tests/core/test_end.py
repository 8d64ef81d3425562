"""Ends: the first one decides, its cause is in the words of who ended it, and what isn't known is nobody's fault."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

import pytest

from amqp_sansio import AMQP_0_9_1
from amqp_sansio.recorded.ends import CAUSES, SILENCE, End, Transport, end_of_connection, end_of_unit
from amqp_sansio.recorded.lifecycle import ConnectionRecord

SECOND = 1_000_000_000
OPEN = ConnectionRecord(version=AMQP_0_9_1, client_timeout=5.0, server_timeout=5.0)
CLOSED: Final[dict[str, Any]] = {
    "closed_by": "server",
    "close_code": 320,
    "close_text": "bye",
    "close_how": "connection.close",
}
BOTH_AT_0 = {"client": 0, "server": 0}


def ended(how: str, by: str | None, at: int = 10, heard: Mapping[str, int] = BOTH_AT_0) -> Transport:
    return Transport(how, by, at * SECOND, None if by is None else at * SECOND, heard)


def of(transport: Transport, known: ConnectionRecord = OPEN, **broken: str) -> End:
    return end_of_connection(known, transport, broken, "")


@pytest.mark.parametrize(
    ("transport", "cause", "by"),
    [
        (ended("fin", "client", 1), "transport", "client"),
        (ended("rst", "server", 1), "transport", "server"),
        (ended("fin", "server"), "heartbeat", "server"),
        (ended("rst", "client"), "heartbeat", "client"),
        (ended("fin", "server", heard={"server": 0}), "transport", "server"),
        (ended("refused", "server", 1), "unreached", "server"),
        (ended("unanswered", None, 1), "unreached", None),
        (ended("end-of-capture", None), "open", None),
        (ended("reuse", None), "transport", None),
    ],
)
def test_the_end_of_a_connection_without_a_close(transport: Transport, cause: str, by: str | None) -> None:
    end = of(transport)
    assert (end.what, end.how, end.cause, end.by) == ("connection", transport.how, cause, by)
    assert cause in CAUSES and end.hint.startswith(SILENCE) is (cause == "heartbeat")
    assert (end.at_ns is None) is (cause == "open")
    assert bool(end.hint) is ((cause != "open" and by is not None) or cause == "unreached")


def test_a_close_decides_whatever_comes_behind_it() -> None:
    known = ConnectionRecord(version=AMQP_0_9_1, hint="shut", close_ns=3 * SECOND, client_timeout=5.0, **CLOSED)
    end = of(ended("rst", "client", 20), known)
    assert (end.by, end.how, end.cause, end.at_ns, end.hint) == (
        "server",
        "connection.close",
        "server-error",
        3 * SECOND,
        "shut",
    )
    late = ConnectionRecord(version=AMQP_0_9_1, close_ns=8 * SECOND, client_timeout=5.0, **CLOSED)
    assert of(ended("fin", "server", 20), late).cause == "heartbeat"


def test_who_hangs_up_on_a_broken_rule_says_which() -> None:
    known = ConnectionRecord(version=AMQP_0_9_1)
    end = end_of_connection(known, ended("fin", "server", 1), {"client": "too large"}, "wrong password")
    assert end.hint == "the server hung up on the client, which broke a rule: too large"
    assert end_of_connection(known, ended("fin", "client", 1), {"client": "too large"}, "left").hint == "left"


def test_a_header_that_answers_no_amqp_is_explained_by_what_it_answers() -> None:
    answer: dict[str, Any] = {"closed_by": "server", "close_text": "its header", "close_how": "protocol-header"}
    known = ConnectionRecord(version=AMQP_0_9_1, hint="another version", **answer)
    assert of(ended("fin", "client", 1), known).hint == "another version"
    end = of(ended("fin", "client", 1), known, client="these are TLS records")
    assert (end.cause, end.hint) == ("refused", "these are TLS records")


@pytest.mark.parametrize(
    ("event", "fields", "what", "said"),
    [
        (
            "channel.close",
            {"reply_code": 404, "reply_text": "no queue", "class_id": 50, "method_id": 10},
            "channel",
            "404 no queue (in answer to queue.declare)",
        ),
        ("connection.close", {"reply_code": 320, "reply_text": "bye"}, "connection", "320 bye"),
        ("session.detached", {"code": 4}, "session", "4"),
        ("execution.exception", {"error_code": 404, "description": "no"}, "session", "404 no"),
        ("end", {"error": {"condition": "amqp:decode-error", "description": "x"}}, "session", "amqp:decode-error x"),
        ("detach", {"error": {"condition": "amqp:not-found"}}, "link", "amqp:not-found"),
        ("close", {"error": {"condition": "amqp:not-found"}}, "connection", "amqp:not-found"),
        ("sasl-outcome", {"code": 1}, "connection", "1 the login failed"),
        ("basic.cancel", {"consumer_tag": "ct"}, "consumer", ""),
    ],
)
def test_the_end_that_a_unit_brings(event: str, fields: Mapping[str, Any], what: str, said: str) -> None:
    end = end_of_unit(event, "server", json.loads(json.dumps(fields)), 7)
    assert end is not None
    assert (end.what, end.by, end.how, end.cause, end.at_ns) == (what, "server", event, "server-error", 7)
    assert end.said == said


@pytest.mark.parametrize(
    ("event", "sender", "fields"),
    [
        ("channel.close", "client", {"reply_code": 200}),
        ("detach", "client", {"closed": True}),
        ("end", "server", {}),
        ("session.detached", "server", {"code": 0}),
        ("basic.cancel", "client", {"consumer_tag": "ct"}),
        ("channel.close", "client", {"reply_code": [], "reply_text": {}}),
    ],
)
def test_an_end_in_order_is_no_error(event: str, sender: str, fields: Mapping[str, Any]) -> None:
    end = end_of_unit(event, sender, fields)
    assert end is not None and not end.is_error and not end.said


def test_other_units_end_nothing() -> None:
    assert end_of_unit("basic.ack", "client", {}) is None
    assert end_of_unit("sasl-outcome", "server", {"code": 0}) is None
