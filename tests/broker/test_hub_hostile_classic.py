"""Hostile clients of 0-8 and 0-9-1 at a hub: what they send wrong has its code, and nobody else notices; slow ones."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from amqp_sansio import AMQP_0_8, AMQP_0_9_1, Limits, RemoteProtocolError, Settled, Version
from amqp_sansio._classic.codec.dialect import DIALECTS, get_dialect
from amqp_sansio.amqp_0_9_1 import Blocked, Delivery, FlowChanged, Unblocked
from amqp_sansio.broker import BrokerLimits, Settings
from amqp_sansio.endpoint import Side
from amqp_sansio.testing import amqp_0_8, amqp_0_9_1
from tests.kit.facing import METHOD, body, frame, header
from tests.kit.hostile_1_0 import Choices
from tests.kit.hostile_classic import Classic, check_words, hostile
from tests.kit.hub_hostile import LIMITS, Driver, Stage, check_rule, faults_found, settings_of
from tests.kit.hub_lines import BODY, Line, check_held, pump, result
from tests.kit.hub_witness import witnesses_of
from tests.kit.pair import client_config, connection_of, server_config

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


def check_all_words(name: str, driver: Driver, after: int) -> None:
    """What all clients but the first ones were told."""
    for number, octets in driver.out.items():
        if number > after:
            check_words(get_dialect(name), bytes(octets), driver.ends.get(number))


@pytest.mark.rule("0-9-1/connection/error-scope", "0-8/connection/error-scope", "0-8/constant/soft-vs-hard")
@EACH_DIALECT
@settings(max_examples=8)
@given(octets=PLAYS)
def test_whatever_they_send_others_get_what_is_theirs(name: str, octets: bytes) -> None:
    with faults_found() as found:
        stage = Stage(octets, [hostile(label_of(name))] * 2, settings=settings_for(name))
        stage.run()
        stage.finish()
    check_faults(name, found)
    check_all_words(name, stage.driver, len(stage.witnesses))


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
    driver = Driver(settings_for(name))
    (witness,) = witnesses_of(driver, [label_of(name)], "")
    wild = Classic(driver, Choices(b""), label_of(name))
    wild.open()
    with faults_found() as found:
        for octets in data.draw(_drawn(name)):
            driver.feed(wild.number, octets)
            witness.act(Choices(b"\0"))
            while witness.pump():
                pass
            if driver.client(wild.number) is None:
                wild = Classic(driver, Choices(b""), label_of(name))
                wild.open()
    check_faults(name, found)
    check_all_words(name, driver, 1)
    witness.finish()
    assert witness.got == witness.sent == len(witness.confirmed) > 0


# Slow ones.


class Slow:
    """A publisher and a consumer of a queue, without a limit of its own or with one."""

    def __init__(
        self,
        label: str,
        *,
        no_ack: bool = False,
        prefetch: int = 0,
        size: int = 1000,
        arguments: dict[str, Any] | None = None,
    ) -> None:
        self.size = size
        self.version: Version = VERSIONS[label]
        self.driver = Driver(settings_of(limits=SMALL, connection_limits=Limits(), history=0))
        self.publisher, self.consumer = [
            Line(self.driver, connection_of(self.version, Side.CLIENT, client_config())) for _ in range(2)
        ]
        pump(self.publisher, self.consumer)
        self.named = self.publisher.end.dialect.named
        self.out, self.into = self.publisher.end.open_channel(), self.consumer.end.open_channel()
        self.call(self.out, "queue.declare", queue="q", arguments=arguments or {})
        if prefetch:
            self.call(self.into, "basic.qos", prefetch_count=prefetch)
        self.call(self.into, "basic.consume", queue="q", consumer_tag="c", no_ack=no_ack)
        self.sent = 0

    def call(self, channel: Any, name: str, **fields: Any) -> Any:
        """Ask for something."""
        return result(channel.call(self.named[name](**fields)), self.publisher, self.consumer)

    def publish(self, count: int) -> None:
        """Publish so many messages, as far as the hub and flow control let it."""
        for _ in range(count):
            if self.out.client_stopped:
                return
            self.out.publish(b"%06d" % self.sent + bytes(self.size), routing_key="q")
            self.sent += 1
            pump(self.publisher, self.consumer)

    @property
    def queue(self) -> Any:
        """The queue."""
        return self.driver.hub.model.vhosts["/"].queues["q"]

    def bodies(self) -> list[int]:
        """The numbers of what has come."""
        return [int(each.body[:6]) for each in self.consumer.take(Delivery)]


BOTH = pytest.mark.parametrize("label", ["0-9-1", "0-8"])


@BOTH
@pytest.mark.parametrize("size", [0, 1000])
def test_who_does_not_read_gets_no_more_than_the_backlog_and_holds_up_publishers(label: str, size: int) -> None:
    """0-9-1 by connection.blocked, 0-8 by channel.flow; in any case nothing more is read of who publishes."""
    slow = Slow(label, no_ack=True, size=size)
    slow.consumer.stop()
    slow.publish(2000)
    hub = slow.driver.hub
    # What was in the engine's hands, and what had been read already, comes on top.
    check_held(hub, SMALL.memory_high + 2 * len(BODY) + 300)
    client = slow.driver.client(slow.consumer.number)
    assert client is not None
    assert SMALL.backlog_high // 2 <= client.send_backlog <= SMALL.backlog_high + 2 * len(BODY)
    publisher = slow.driver.client(slow.publisher.number)
    assert publisher is not None
    assert publisher.receive_budget == 0
    told = slow.publisher.take(Blocked if label == "0-9-1" else FlowChanged)
    assert len(told) == 1
    slow.consumer.go_on()
    pump(slow.publisher, slow.consumer)
    assert not hub.model.ledger.is_blocked
    told = [each for each in slow.publisher.events if isinstance(each, Blocked | Unblocked | FlowChanged)]
    assert isinstance(told[-1], Unblocked) if label == "0-9-1" else told[-1] == FlowChanged(1, True)
    assert slow.bodies() == list(range(slow.sent))
    assert hub.model.ledger.octets == 0


@BOTH
def test_who_does_not_settle_gets_its_prefetch_and_the_rest_waits_in_the_queue(label: str) -> None:
    slow = Slow(label, prefetch=5)
    slow.publish(100)
    assert slow.bodies() == list(range(5))
    assert (slow.queue.ready, slow.queue.unsettled) == (95, 5)
    slow.publish(2000)
    check_held(slow.driver.hub, SMALL.memory_high + 2 * len(BODY) + 300)
    assert slow.driver.hub.model.ledger.is_blocked
    assert not slow.bodies()
    slow.into.accept(3, True)
    pump(slow.publisher, slow.consumer)
    assert slow.bodies() == [5, 6, 7]


@BOTH
@pytest.mark.parametrize("overflow", ["drop-head", "reject-publish"])
def test_a_queue_with_a_limit_keeps_no_more(label: str, overflow: str) -> None:
    slow = Slow(label, prefetch=1, arguments={"x-max-length": 10, "x-overflow": overflow})
    if label == "0-9-1":
        slow.call(slow.out, "confirm.select")
    slow.publish(500)
    assert slow.queue.ready == 10
    assert not slow.driver.hub.model.ledger.is_blocked
    check_held(slow.driver.hub, 12 * (len(BODY) + 1000))
    kept = [int(each.message.content.body[:6]) for each in slow.queue.available()]
    assert kept == (list(range(490, 500)) if overflow == "drop-head" else list(range(1, 11)))
    if label == "0-9-1":
        refused = [each for each in slow.publisher.take(Settled) if type(each.state).__name__ == "Rejected"]
        assert len(refused) == (0 if overflow == "drop-head" else 489)


@BOTH
def test_who_stops_the_flow_gets_nothing(label: str) -> None:
    slow = Slow(label, no_ack=True)
    slow.call(slow.into, "channel.flow", active=False)
    slow.publish(50)
    assert not slow.bodies()
    assert slow.queue.ready == 50
    slow.call(slow.into, "channel.flow", active=True)
    assert slow.bodies() == list(range(50))


@BOTH
def test_who_asks_and_never_reads_is_told_so_and_ends(label: str) -> None:
    """Answers pile up to `Limits.backlog_hard`, which ends the connection with 506."""
    driver = Driver(settings_of(limits=BrokerLimits()))
    (witness,) = witnesses_of(driver, [label], "")
    version = VERSIONS[label]
    line = Line(driver, connection_of(version, Side.CLIENT, client_config()))
    pump(line)
    channel = line.end.open_channel()
    pump(line)
    line.stop()
    for _ in range(1000):
        channel.call(line.end.dialect.named["queue.declare"](queue="q" * 100))
        pump(line)
        client = driver.client(line.number)
        if client is None:
            break  # It goes on asking instead of answering the close.
        assert client.send_backlog <= LIMITS.backlog_hard + 1000
    driver.pass_time(60.0)
    assert driver.client(line.number) is None
    report = driver.ends[line.number].report
    assert report is not None
    assert report.code == 506
    witness.act(Choices(b"\0"))
    witness.finish()
    assert witness.got == witness.sent == 1
