"""Hostile clients of 0-8 and 0-9-1 at a hub: what they send wrong has its code, and nobody else notices; slow ones."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from amqp_sansio import AMQP_0_8, AMQP_0_9_1, RemoteProtocolError
from amqp_sansio._classic.codec.dialect import DIALECTS, get_dialect
from amqp_sansio.broker import BrokerLimits, Settings
from amqp_sansio.endpoint import Side
from amqp_sansio.testing import amqp_0_8, amqp_0_9_1
from tests.broker.hostile_play import CheckFaults, CheckWords, feed, play
from tests.kit.facing import METHOD, body, frame, header
from tests.kit.hostile_1_0 import Choices
from tests.kit.hostile_classic import Classic, check_words, hostile
from tests.kit.hub_hostile import LIMITS, check_rule, settings_of
from tests.kit.pair import server_config

VERSIONS = {"0-8": AMQP_0_8, "0-9-1": AMQP_0_9_1}
PLAYS = st.binary(min_size=500, max_size=1500)
EACH_DIALECT = pytest.mark.parametrize("name", DIALECTS)
SMALL = BrokerLimits(memory_high=300_000, memory_low=100_000, backlog_high=40_000, backlog_low=10_000)


def label_of(name: str) -> str:
    """The version of a dialect."""
    return "0-8" if name.startswith("0-8") else "0-9-1"


def settings_for(name: str) -> Settings:
    """The settings of a hub that speaks a dialect."""
    version = VERSIONS[label_of(name)]
    return settings_of(configs={version: server_config(dialect=get_dialect(name), limits=LIMITS)})


# Hostile ones.

FAULTS: dict[str, dict[str | None, set[tuple[str, int]]]] = {
    "0-9-1": {
        None: {("channel", 311), ("channel", 506)},
        "basic.ack/unknown-tag": {("channel", 406)},
        "basic.consume/tag-in-use": {("connection", 530)},
        "channel.open/already-open": {("connection", 504)},
        "channel/closed-when": {("connection", 504)},
        "connection/error-scope": {("connection", 503)},
        "connection/life-cycle": {("connection", 0), ("connection", 503)},
        "domain/exchange-name.regexp": {("connection", 502)},
        "domain/queue-name.regexp": {("connection", 502)},
        "method/sync-reply": {("connection", 503)},
        "queue.bind/no-current-queue": {("channel", 404)},
        "queue.declare/current-queue": {("channel", 404)},
        "queue.delete/no-current-queue": {("channel", 404)},
        "queue.purge/no-current-queue": {("channel", 404)},
        "queue.unbind/no-current-queue": {("channel", 404)},
        "rabbitmq/confirm.select-not-tx": {("channel", 406)},
        "tx.commit/not-transacted": {("channel", 406)},
        "tx.rollback/not-transacted": {("channel", 406)},
        "wire/channel-zero": {("connection", 503)},
        "wire/content-channel-zero": {("connection", 504)},
        "wire/content-class": {("connection", 501)},
        "wire/content-incomplete": {("connection", 505)},
        "wire/frame-end-check": {("connection", 0)},
        "wire/frame-oversize-receive": {("connection", 501)},
        "wire/frame-type-unknown": {("connection", 0)},
        "wire/heartbeat-invalid": {("connection", 501)},
        "wire/method-payload": {("connection", 502), ("connection", 503)},
    },
    "0-8": {
        None: {("channel", 311), ("channel", 506)},
        "access.request-ok/channel-scope": {("connection", 530)},
        "access.request/realm-prefix": {("connection", 403)},
        "basic.ack/unknown-tag": {("channel", 404)},
        "basic.consume/no-current-queue": {("connection", 530)},
        "basic.consume/tag-in-use": {("connection", 530)},
        "basic.get/no-current-queue": {("connection", 530)},
        "basic.recover/transacted": {("channel", 503)},
        "channel.open/already-open": {("connection", 504)},
        "channel.open/oob-null": {("connection", 540)},
        "channel/grammar": {("connection", 504)},
        "connection/error-scope": {("connection", 503)},
        "connection/grammar": {("connection", 0), ("connection", 503)},
        "domain/access-ticket.nonzero": {("connection", 502)},
        "dtx/grammar": {("channel", 503)},
        "dtx.select/required": {("channel", 503)},
        "dtx.start/id-notnull": {("connection", 502)},
        "exchange.declare/type-regexp": {("connection", 502)},
        "file.consume/no-current-queue": {("connection", 530)},
        "file.open/content-size": {("connection", 501)},
        "method/sync-wait": {("connection", 503)},
        "queue.bind/no-current-queue": {("connection", 530)},
        "queue.delete/no-current-queue": {("connection", 530)},
        "queue.purge/no-current-queue": {("connection", 530)},
        "stream.consume/no-current-queue": {("connection", 530)},
        "test.table/integer-op-enum": {("connection", 502)},
        "test.table/string-op-enum": {("connection", 502)},
        "tx.select/required": {("channel", 503)},
        "wire/channel-range": {("connection", 503)},
        "wire/content-channel-zero": {("connection", 504)},
        "wire/content-class": {("connection", 501)},
        "wire/content-incomplete": {("connection", 501)},
        "wire/frame-end-check": {("connection", 0)},
        "wire/frame-oversize-receive": {("connection", 501)},
        "wire/frame-type-unknown": {("connection", 0)},
        "wire/heartbeat-invalid": {("connection", 501)},
        "wire/method-payload": {("connection", 502), ("connection", 503)},
        "wire/oob-format": {("connection", 540)},
        "wire/trace-channel": {("connection", 501)},
    },
}
"""What the rules of the specifications ask for: the scope and code of whoever breaks them; 0: the socket is closed
without a word. None stands for bounds of `Limits`."""


def check_faults(name: str, found: list[RemoteProtocolError]) -> None:
    """Each fault has the scope and code of its rule; of other rules a code that fits the scope."""
    label, dialect = label_of(name), get_dialect(name)
    for error in found:
        check_rule(error)
        rule = None if error.rule is None else error.rule.removeprefix(f"{label}/")
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
