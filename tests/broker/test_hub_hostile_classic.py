"""Hostile clients of 0-8 and 0-9-1 at a hub: what they send wrong has its code, and nobody else notices."""

from functools import partial
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from amqp_sansio import AMQP_0_8, AMQP_0_9_1, RemoteProtocolError
from amqp_sansio._classic.codec.dialect import DIALECTS, get_dialect
from amqp_sansio.broker import Settings
from amqp_sansio.endpoint import Side
from amqp_sansio.testing import amqp_0_8, amqp_0_9_1
from tests.broker.hostile_play import CheckFaults, CheckWords, by_rule, feed, play
from tests.kit.facing import METHOD, body, frame, header
from tests.kit.hostile_1_0 import Choices
from tests.kit.hostile_classic import Classic, check_words, hostile
from tests.kit.hub_hostile import LIMITS, check_rule, settings_of
from tests.kit.pair import server_config

VERSIONS = {"0-8": AMQP_0_8, "0-9-1": AMQP_0_9_1}
PLAYS = st.binary(min_size=500, max_size=1500)
EACH_DIALECT = pytest.mark.parametrize("name", DIALECTS)


def label_of(name: str) -> str:
    """The version of a dialect."""
    return "0-8" if name.startswith("0-8") else "0-9-1"


def settings_for(name: str) -> Settings:
    """The settings of a hub that speaks a dialect."""
    version = VERSIONS[label_of(name)]
    return settings_of(configs={version: server_config(dialect=get_dialect(name), limits=LIMITS)})


# Hostile ones.

FAULTS: dict[str, dict[str, set[tuple[str, Any]]]] = {
    "0-9-1": by_rule(
        {
            ("channel", 311): ("",),
            ("channel", 404): (
                "queue.bind/no-current-queue",
                "queue.declare/current-queue",
                "queue.delete/no-current-queue",
                "queue.purge/no-current-queue",
                "queue.unbind/no-current-queue",
            ),
            ("channel", 406): (
                "basic.ack/unknown-tag",
                "rabbitmq/confirm.select-not-tx",
                "tx.commit/not-transacted",
                "tx.rollback/not-transacted",
            ),
            ("channel", 506): ("",),
            ("connection", 0): ("connection/life-cycle", "wire/frame-end-check", "wire/frame-type-unknown"),
            ("connection", 501): ("wire/content-class", "wire/frame-oversize-receive", "wire/heartbeat-invalid"),
            ("connection", 502): ("domain/exchange-name.regexp", "domain/queue-name.regexp", "wire/method-payload"),
            ("connection", 503): (
                "connection/error-scope",
                "connection/life-cycle",
                "method/sync-reply",
                "wire/channel-zero",
                "wire/method-payload",
            ),
            ("connection", 504): ("channel.open/already-open", "channel/closed-when", "wire/content-channel-zero"),
            ("connection", 505): ("wire/content-incomplete",),
            ("connection", 530): ("basic.consume/tag-in-use",),
        }
    ),
    "0-8": by_rule(
        {
            ("channel", 311): ("",),
            ("channel", 404): ("basic.ack/unknown-tag",),
            ("channel", 503): ("basic.recover/transacted", "dtx/grammar", "dtx.select/required", "tx.select/required"),
            ("channel", 506): ("",),
            ("connection", 0): ("connection/grammar", "wire/frame-end-check", "wire/frame-type-unknown"),
            ("connection", 403): ("access.request/realm-prefix",),
            ("connection", 501): (
                "file.open/content-size",
                "wire/content-class",
                "wire/content-incomplete",
                "wire/frame-oversize-receive",
                "wire/heartbeat-invalid",
                "wire/trace-channel",
            ),
            ("connection", 502): (
                "domain/access-ticket.nonzero",
                "dtx.start/id-notnull",
                "exchange.declare/type-regexp",
                "test.table/integer-op-enum",
                "test.table/string-op-enum",
                "wire/method-payload",
            ),
            ("connection", 503): (
                "connection/error-scope",
                "connection/grammar",
                "method/sync-wait",
                "wire/channel-range",
                "wire/method-payload",
            ),
            ("connection", 504): ("channel.open/already-open", "channel/grammar", "wire/content-channel-zero"),
            ("connection", 530): (
                "access.request-ok/channel-scope",
                "basic.consume/no-current-queue",
                "basic.consume/tag-in-use",
                "basic.get/no-current-queue",
                "file.consume/no-current-queue",
                "queue.bind/no-current-queue",
                "queue.delete/no-current-queue",
                "queue.purge/no-current-queue",
                "stream.consume/no-current-queue",
            ),
            ("connection", 540): ("channel.open/oob-null", "wire/oob-format"),
        }
    ),
}
"""What the rules of the specifications ask for: the scope and code of whoever breaks them; 0: the socket is closed
without a word. "" stands for bounds of `Limits`."""


def check_faults(name: str, found: list[RemoteProtocolError]) -> None:
    """Each fault has the scope and code of its rule; of other rules a code that fits the scope."""
    label, dialect = label_of(name), get_dialect(name)
    for error in found:
        check_rule(error)
        rule = (error.rule or "").removeprefix(f"{label}/")
        asked = FAULTS[label].get(rule)
        if asked is not None:
            assert (error.scope.value, error.code) in asked, (error, error.rule)
        else:
            assert dialect.is_hard(error.code) == (error.scope.value == "connection"), (error, error.rule)


def checks_for(name: str) -> tuple[CheckFaults, CheckWords]:
    """What is looked at in a dialect."""
    return partial(check_faults, name), partial(check_words, get_dialect(name))


@pytest.mark.rule("0-9-1/connection/error-scope", "0-8/connection/error-scope", "0-8/constant/soft-vs-hard")
@EACH_DIALECT
@settings(max_examples=8)
@given(octets=PLAYS)
def test_whatever_they_send_others_get_what_is_theirs(name: str, octets: bytes) -> None:
    play(octets, hostile(label_of(name)), *checks_for(name), settings_for(name))


def _drawn(name: str) -> st.SearchStrategy[list[bytes]]:
    """Methods of a client on its channel 1, with content where they carry some."""
    strategies: Any = amqp_0_8 if label_of(name) == "0-8" else amqp_0_9_1
    tables = get_dialect(name).tables

    def of_message(message: Any) -> bytes:
        method, properties, octets = message.method, message.properties, message.body
        start = frame(METHOD, 1, method.encode(tables))
        start += header(1, method.CLASS_ID, len(octets), properties.encode(tables))
        return start + (body(1, octets) if octets else b"")

    def of_method(method: Any) -> bytes:
        return frame(METHOD, 0 if method.CLASS_ID == 10 else 1, method.encode(tables))

    def is_alone(method: Any) -> bool:
        return not method.HAS_CONTENT

    methods: st.SearchStrategy[Any] = strategies.methods(sent_by=Side.CLIENT, dialect=name)
    messages: st.SearchStrategy[Any] = strategies.messages(sent_by=Side.CLIENT, dialect=name)
    opening = frame(METHOD, 1, get_dialect(name).named["channel.open"]().encode(tables))
    return st.lists(
        st.one_of(methods.filter(is_alone).map(of_method), messages.map(of_message), st.just(opening)),
        min_size=5,
        max_size=20,
    )


@EACH_DIALECT
@settings(max_examples=5)
@given(data=st.data())
def test_any_values_of_any_method(name: str, data: st.DataObject) -> None:
    label, units = label_of(name), data.draw(_drawn(name))
    make = partial(Classic, choices=Choices(b""), label=label)
    feed(label, make, lambda _, __: None, units, *checks_for(name), settings_for(name))
