"""Hostile clients of 1.0 at a hub: what they send wrong has its condition, and nobody else notices."""

from functools import partial
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from amqp_sansio import RemoteProtocolError
from amqp_sansio import amqp_1_0 as amqp
from amqp_sansio.testing import amqp_1_0
from tests.broker.hostile_play import by_rule, feed, play
from tests.kit.facing_1_0 import octets_of
from tests.kit.hostile_1_0 import Choices
from tests.kit.hostile_hub_1_0 import CONDITIONS, One, check_words, hostile
from tests.kit.hub_hostile import Driver, check_rule

PLAYS = st.binary(min_size=800, max_size=2500)

# Hostile ones.

DECODE, FRAMING = "amqp:decode-error", "amqp:connection:framing-error"
INVALID, NOT_ALLOWED, ILLEGAL = "amqp:invalid-field", "amqp:not-allowed", "amqp:illegal-state"
FAULTS = by_rule(
    {
        ("connection", DECODE): (
            "transport/frame/performative",
            "types/array-layout",
            "types/composite-list",
            "types/compound-layout",
            "types/constructor",
            "types/format-code",
            "types/string",
            "types/symbol",
            "types/variable-width",
        ),
        ("connection", FRAMING): (
            "transport/frame/doff",
            "transport/frame/performative",
            "transport/frame/size",
            "transport/session/handle-max",
        ),
        ("connection", INVALID): ("transport/session/remote-channel-answer",),
        ("connection", NOT_ALLOWED): ("transport/session.state/unmapped",),
        ("link", ILLEGAL): ("transport/transfer/aborted",),
        ("link", INVALID): (
            "received/sender-only-first-resume",
            "transport/flow/delivery-count-sender",
            "transport/transfer/delivery-id",
            "transport/transfer/delivery-tag",
            "transport/transfer/no-interleave",
            "transport/transfer/rcv-illegal",
        ),
        ("link", NOT_ALLOWED): (
            "transactions/declare/settled-detach",
            "transport/transfer/delivery-id",
            "transport/transfer/resume-own-map",
            "transport/transfer/settled-mode-settled",
            "transport/transfer/settled-mode-unsettled",
        ),
        ("link", "amqp:link:transfer-limit-exceeded"): ("transport/error/transfer-limit",),
        ("link", "amqp:not-implemented"): ("transactions/declare/body",),
        ("session", ILLEGAL): ("transport/session.state/mapped",),
        ("session", INVALID): (
            "transport/attach/initial-delivery-count",
            "transport/disposition/range",
            "transport/flow/no-handle",
        ),
        ("session", "amqp:resource-limit-exceeded"): ("transport/session/handle-max",),
        ("session", "amqp:session:handle-in-use"): ("transport/link/handle-in-use",),
        ("session", "amqp:session:unattached-handle"): ("transport/link/unattached-handle",),
    }
)
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
