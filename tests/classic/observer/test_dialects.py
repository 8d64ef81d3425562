"""Dialects under observation: each method is named, whatever dialect has it and whatever the server says it is."""

import pickle
from itertools import permutations
from typing import Any

import pytest

from amqp_sansio import AMQP_0_8, AMQP_0_9_1, Version
from amqp_sansio._classic.codec.dialect import DIALECTS, get_dialect
from amqp_sansio._classic.observer.dialect import observed_dialect
from amqp_sansio.observer import Identified, Observer
from tests.kit.observing import CLIENT, SERVER, Talk, header, take

QPID: dict[str, Any] = {"product": "qpid"}
RABBIT: dict[str, Any] = {"product": "RabbitMQ"}
SPOKEN = ("0-8-rabbit", "0-8-qpid", "0-9-1-rabbit", "0-9-1-qpid")
"""The dialects that an observer may find."""


def _start(version: Version, properties: dict[str, Any]) -> bytes:
    """The server's connection.start, by which an observer knows the dialect."""
    talk = Talk(version)
    major, minor = talk.dialect.version_major, talk.dialect.version_minor
    return talk.octets(talk.named("connection.start", major, minor, properties, b"PLAIN", b"en_US"))


def _start_of(dialect: str) -> bytes:
    properties = QPID if dialect.endswith("-qpid") else RABBIT
    return _start(get_dialect(dialect).version, properties)


def _on_broker_j() -> Talk:
    """A connection of 0-9-1 with an open channel, whose server says it is Qpid's."""
    talk = Talk().header().server(_start(AMQP_0_9_1, {"product": "qpid-broker"}))
    talk.client(talk.named("connection.start-ok", {}, "PLAIN", b"\0ann\0pw", "en_US"))
    talk.server(talk.named("connection.tune", 2047, 131_072, 0))
    talk.client(talk.named("connection.tune-ok", 2047, 131_072, 0))
    talk.client(talk.named("connection.open", "/")).server(talk.named("connection.open-ok"))
    return talk.channel()


def test_a_request_of_the_dialect_before_is_no_obstacle() -> None:
    talk = Talk().header().channel().client(Talk().named("confirm.select"), channel=1)
    talk.server(_start(AMQP_0_9_1, QPID))
    talk.server(talk.named("tx.select-ok"), talk.named("confirm.select-ok"), channel=1).finish()
    assert [unit.event for unit in talk.observed[-4:]] == [
        "confirm.select",
        "connection.start",
        "tx.select-ok",
        "confirm.select-ok",
    ]
    assert talk.last.answers == talk.observed[-4].seq


@pytest.mark.parametrize(("before", "after"), [*permutations(SPOKEN, 2)])
def test_any_method_of_any_dialect_on_both_sides_of_a_change(before: str, after: str) -> None:
    """Every method there is waits for its reply when the dialect changes, and comes again behind the change."""
    records = {kind for name in DIALECTS for kind in get_dialect(name).methods.values()}
    closing = ("connection.start", "channel.close", "channel.close-ok")
    kinds = [kind for kind in records if kind.NAME not in closing]
    kinds.sort(key=lambda kind: (kind.ID, kind.__module__))
    version = get_dialect(before).version
    talk = Talk(version).header().server(_start_of(before)).channel()
    for start in (b"", _start_of(after)):
        talk.server(start)
        for sender in (CLIENT, SERVER):
            for kind in kinds:
                octets = talk.octets(kind(), 0 if kind.CLASS_ID == 10 else 1)
                talk.send(sender, octets + (header(1, 0, class_id=kind.CLASS_ID) if kind.HAS_CONTENT else b""))
                assert talk.last.unit in ("method", "content"), kind.NAME
    talk.finish()
    assert [event.dialect for event in talk.events if isinstance(event, Identified)][-2:] == [before, after]


@pytest.mark.rule("0-9-1/wire/method-payload")
def test_extensions_of_rabbitmq_are_named_on_a_server_of_qpids() -> None:
    talk = _on_broker_j()
    talk.client(talk.named("exchange.bind", "a", "b"), channel=1)
    talk.server(talk.named("exchange.bind-ok"), channel=1).finish()
    assert [(unit.unit, unit.event) for unit in talk.observed[-2:]] == [
        ("method", "exchange.bind"),
        ("method", "exchange.bind-ok"),
    ]
    assert talk.last.answers == talk.observed[-2].seq
    assert [(violation.rule, violation.sender.value) for violation in talk.violations] == [
        ("0-9-1/wire/method-payload", "client"),
        ("0-9-1/wire/method-payload", "server"),
    ]
    assert "0-9-1-qpid has no exchange.bind" in talk.violations[0].text


def test_confirms_of_broker_j_are_followed_and_break_no_rule() -> None:
    talk = _on_broker_j()
    talk.client(talk.named("confirm.select"), channel=1)
    talk.server(talk.named("confirm.select-ok"), channel=1)
    talk.client(talk.publish(b"1"), talk.publish(b"2"))
    talk.server(talk.named("basic.ack", 1), talk.named("basic.nack", 2), channel=1)
    talk.client(Talk().named("basic.nack", 1), channel=2).finish()
    assert [kind for kind, _, _ in talk.outcomes()] == ["publish", "publish"]
    assert [outcome for _, _, outcome in talk.outcomes()] == ["accepted", "rejected"]
    assert [violation.channel for violation in talk.violations] == [2]
    assert talk.last.event == "basic.nack"


def test_methods_of_another_version_are_named_too() -> None:
    talk = Talk().login().channel()
    talk.client(Talk(AMQP_0_8).named("file.cancel", "tag"), channel=1).finish()
    assert (talk.last.unit, talk.last.event) == ("method", "file.cancel")
    assert talk.rules == ["0-9-1/wire/method-payload"]


@pytest.mark.parametrize("name", DIALECTS)
def test_an_observed_dialect_knows_every_method_and_keeps_its_own(name: str) -> None:
    own, observed = get_dialect(name), observed_dialect(name)
    numbers = {number for each in DIALECTS for number in get_dialect(each).methods}
    assert observed.methods.keys() == numbers
    assert observed.senders.keys() == observed.replies.keys() == numbers
    content = {kind.CLASS_ID for kind in observed.methods.values() if kind.HAS_CONTENT}
    assert content == observed.properties.keys()
    for number, kind in own.methods.items():
        assert observed.methods[number] is observed.named[kind.NAME] is kind
        assert observed.senders[number] == own.senders[number]
        assert observed.replies[number] == own.replies[number]
    assert (observed.name, observed.tables, observed.strict) == (own.name, own.tables, own.strict)
    assert (observed.own, observed.codes) == (own, own.codes)
    assert pickle.loads(pickle.dumps(observed)) is observed


def test_an_observation_is_pickled_in_the_midst_of_another_dialects_methods() -> None:
    talk = _on_broker_j().client(Talk().named("exchange.bind", "a", "b"), channel=1)
    observer: Observer = pickle.loads(pickle.dumps(talk.observer))
    observer.receive_data(talk.octets(talk.named("exchange.bind-ok"), 1), SERVER, 99)
    events: list[Any] = take(observer)
    assert (events[0].event, events[0].answers) == ("exchange.bind-ok", talk.last.seq)
