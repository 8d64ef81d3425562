"""Hostile clients of 0-10 at a hub: what they send wrong has its code, and nobody else notices."""

from functools import partial
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from amqp_sansio import RemoteProtocolError
from amqp_sansio import amqp_0_10 as amqp
from amqp_sansio.amqp_0_10.codec.frames import BODY as BODY_SEGMENT
from amqp_sansio.amqp_0_10.codec.frames import COMMAND, CONTROL, HEADER, encode_assembly
from amqp_sansio.amqp_0_10.model.execution import ERROR_CODES
from amqp_sansio.endpoint import Side
from amqp_sansio.testing import amqp_0_10
from tests.broker.hostile_play import by_rule, feed, play
from tests.kit.hostile_1_0 import Choices
from tests.kit.hostile_hub_0_10 import Ten, check_words, hostile
from tests.kit.hub_hostile import Driver, check_rule
from tests.kit.octets_0_10 import attach, command_point

PLAYS = st.binary(min_size=600, max_size=2000)

# Hostile ones.

FAULTS = by_rule(
    {
        ("connection", 501): (
            "connection.tune-ok/available-channels",
            "connection.tune-ok/max-frame-size",
            "wire/frame-flags",
            "wire/frame-reserved-zero",
            "wire/frame-size<12 malformed",
            "wire/struct-required",
        ),
        ("session", 0): ("session.command-point/newly-attached",),
        ("session", 403): ("message.message-properties/user-id",),
        ("session", 404): ("message.cancel/not-found",),
        ("session", 409): (
            "dtx.end/illegal-state",
            "dtx.end/not-associated",
            "dtx.start/illegal-state",
            "file.open-ok/behavior",
            "message.set-flow-mode/mode-switching",
            "tx.commit/select-required",
            "tx.rollback/select-required",
            "tx.select/exactly-once",
            "tx.select/no-dtx",
        ),
        ("session", 503): ("wire/struct-required",),
        ("session", 530): (
            "file.consume/queue-empty",
            "file.consume/tag-in-use",
            "message.subscribe/unique-destination",
            "stream.consume/tag-in-use",
            "tx.select/explicit-accepts",
        ),
        ("session", 542): ("file.ack/validation", "file.open/content-size", "file.reject/session-local"),
    }
)
"""What the rules of the specification ask for: connection.close with a close-code, or execution.exception with an
error-code; 0: session.detached alone."""


def check_faults(found: list[RemoteProtocolError]) -> None:
    """Each fault has the scope and code of its rule; of other rules a code that fits the scope."""
    for error in found:
        check_rule(error)
        asked = FAULTS.get((error.rule or "").removeprefix("0-10/"))
        place = error.scope.value, error.code
        if asked is not None:
            assert place in asked, (error, error.rule)
        elif error.scope.value == "connection":
            assert error.code in (0, 501), (error, error.rule)
        else:
            assert error.code in {0, *ERROR_CODES} - {541}, (error, error.rule)


@pytest.mark.rule("0-10/session/exception-then-detach")
@settings(max_examples=20)
@given(octets=PLAYS)
def test_whatever_they_send_others_get_what_is_theirs(octets: bytes) -> None:
    play(octets, hostile(), check_faults, check_words)


def _assembly(record: Any, headers: bytes, body: bytes) -> bytes:
    if isinstance(record, amqp.Command):
        segments = [(COMMAND, record.encode_segment(sync=True))]
        if record.HAS_BODY:
            segments += [(HEADER, headers)] if headers else []
            segments += [(BODY_SEGMENT, body)] if body else []
        return encode_assembly(0, segments, 4096)
    return encode_assembly(0, [(CONTROL, record.encode_assembly())], 4096)


DRAWN = st.lists(
    st.builds(
        _assembly,
        st.one_of(
            amqp_0_10.commands(sent_by=Side.CLIENT),
            amqp_0_10.commands(sent_by=Side.CLIENT),
            amqp_0_10.controls(sent_by=Side.CLIENT),
        ),
        amqp_0_10.messages().map(lambda each: each.headers.raw),
        st.binary(max_size=300),
    ),
    min_size=5,
    max_size=20,
)


def _attach(driver: Driver, wild: Ten) -> None:
    if not wild.engine.sessions:
        driver.feed(wild.number, attach(b"wild", force=True) + command_point())


@settings(max_examples=15)
@given(units=DRAWN)
def test_any_values_of_any_command(units: list[bytes]) -> None:
    feed("0-10", partial(Ten, choices=Choices(b"")), _attach, units, check_faults, check_words)
