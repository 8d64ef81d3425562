"""Hostile clients of 1.0 at a hub: what they send wrong has its condition, and nobody else notices; slow ones."""

from __future__ import annotations

from functools import partial
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from amqp_sansio import RemoteProtocolError
from amqp_sansio import amqp_1_0 as amqp
from amqp_sansio.broker import BrokerLimits
from amqp_sansio.testing import amqp_1_0
from tests.broker.hostile_play import feed, play
from tests.kit.facing_1_0 import octets_of
from tests.kit.hostile_1_0 import Choices
from tests.kit.hostile_hub_1_0 import CONDITIONS, One, check_words, hostile
from tests.kit.hub_hostile import Driver, check_rule

PLAYS = st.binary(min_size=800, max_size=2500)
SMALL = BrokerLimits(memory_high=300_000, memory_low=100_000, backlog_high=40_000, backlog_low=10_000)

# Hostile ones.

DECODE, FRAMING = "amqp:decode-error", "amqp:connection:framing-error"
INVALID, NOT_ALLOWED, ILLEGAL = "amqp:invalid-field", "amqp:not-allowed", "amqp:illegal-state"
FAULTS: dict[str, set[tuple[str, str]]] = {
    "received/sender-only-first-resume": {("link", INVALID)},
    "transactions/declare/body": {("link", "amqp:not-implemented")},
    "transactions/declare/settled-detach": {("link", NOT_ALLOWED)},
    "transport/attach/initial-delivery-count": {("session", INVALID)},
    "transport/disposition/range": {("session", INVALID)},
    "transport/error/transfer-limit": {("link", "amqp:link:transfer-limit-exceeded")},
    "transport/flow/delivery-count-sender": {("link", INVALID)},
    "transport/flow/no-handle": {("session", INVALID)},
    "transport/frame/doff": {("connection", FRAMING)},
    "transport/frame/performative": {("connection", DECODE), ("connection", FRAMING)},
    "transport/frame/size": {("connection", FRAMING)},
    "transport/link/handle-in-use": {("session", "amqp:session:handle-in-use")},
    "transport/link/unattached-handle": {("session", "amqp:session:unattached-handle")},
    "transport/session.state/mapped": {("session", ILLEGAL)},
    "transport/session.state/unmapped": {("connection", NOT_ALLOWED)},
    "transport/session/handle-max": {("session", "amqp:resource-limit-exceeded"), ("connection", FRAMING)},
    "transport/session/remote-channel-answer": {("connection", INVALID)},
    "transport/transfer/aborted": {("link", ILLEGAL)},
    "transport/transfer/delivery-id": {("link", INVALID), ("link", NOT_ALLOWED)},
    "transport/transfer/delivery-tag": {("link", INVALID)},
    "transport/transfer/no-interleave": {("link", INVALID)},
    "transport/transfer/rcv-illegal": {("link", INVALID)},
    "transport/transfer/resume-own-map": {("link", NOT_ALLOWED)},
    "transport/transfer/settled-mode-settled": {("link", NOT_ALLOWED)},
    "transport/transfer/settled-mode-unsettled": {("link", NOT_ALLOWED)},
    "types/array-layout": {("connection", DECODE)},
    "types/composite-list": {("connection", DECODE)},
    "types/compound-layout": {("connection", DECODE)},
    "types/constructor": {("connection", DECODE)},
    "types/format-code": {("connection", DECODE)},
    "types/string": {("connection", DECODE)},
    "types/symbol": {("connection", DECODE)},
    "types/variable-width": {("connection", DECODE)},
}
"""What the rules of the specification ask for: a detach, end or close with a condition."""


def check_faults(found: list[RemoteProtocolError]) -> None:
    """Each fault has the scope and condition of its rule; of other rules a condition that there is.

    Before the first close can be sent there is none.
    """
    for error in found:
        check_rule(error)
        asked = FAULTS.get((error.rule or "").removeprefix("1.0/"))
        place = error.scope.value, str(error.condition)
        if asked is not None and error.condition:
            assert place in asked, (error, error.rule)
        else:
            assert not error.condition or str(error.condition) in CONDITIONS, (error, error.rule)
            assert error.condition or error.scope.value == "connection", (error, error.rule)


@settings(max_examples=20)
@given(octets=PLAYS)
def test_whatever_they_send_others_get_what_is_theirs(octets: bytes) -> None:
    play(octets, hostile(), check_faults, check_words)


def _frame(record: Any, message: amqp.Message) -> bytes:
    return octets_of(record, 0, message.encode() if isinstance(record, amqp.Transfer) else b"")


DRAWN = st.lists(st.builds(_frame, amqp_1_0.performatives(), amqp_1_0.messages()), min_size=2, max_size=6)


def _begin(driver: Driver, wild: One) -> None:
    if wild.engine.is_open and not wild.engine.sessions:
        driver.feed(wild.number, octets_of(amqp.Begin(next_outgoing_id=0, incoming_window=50, outgoing_window=50)))


@settings(max_examples=12)
@given(units=DRAWN)
def test_any_values_of_any_performative(units: list[bytes]) -> None:
    feed("1.0", partial(One, choices=Choices(b"")), _begin, units, check_faults, check_words)
