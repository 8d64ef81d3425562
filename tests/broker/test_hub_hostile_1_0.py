"""Hostile clients of 1.0 at a hub: what they send wrong has its condition, and nobody else notices; slow ones."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from amqp_sansio import Limits, RemoteProtocolError
from amqp_sansio import amqp_1_0 as amqp
from amqp_sansio.broker import BrokerLimits
from amqp_sansio.broker.model.commands import DeclareQueue
from amqp_sansio.sasl import Plain
from amqp_sansio.testing import amqp_1_0
from tests.kit.facing_1_0 import octets_of
from tests.kit.hostile_1_0 import Choices
from tests.kit.hostile_hub_1_0 import CONDITIONS, One, check_words, hostile
from tests.kit.hub_hostile import LIMITS, Driver, Stage, check_rule, faults_found, settings_of
from tests.kit.hub_lines import BODY, Line, check_held, pump
from tests.kit.hub_witness import witnesses_of

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


def check_all_words(driver: Driver, after: int) -> None:
    """What all clients but the first ones were told."""
    for number, octets in driver.out.items():
        if number > after:
            check_words(bytes(octets), driver.ends.get(number))


@settings(max_examples=20)
@given(octets=PLAYS)
def test_whatever_they_send_others_get_what_is_theirs(octets: bytes) -> None:
    with faults_found() as found:
        stage = Stage(octets, [hostile()] * 2)
        stage.run()
        stage.finish()
    check_faults(found)
    check_all_words(stage.driver, len(stage.witnesses))


def _frame(record: Any, message: amqp.Message) -> bytes:
    return octets_of(record, 0, message.encode() if isinstance(record, amqp.Transfer) else b"")


DRAWN = st.lists(st.builds(_frame, amqp_1_0.performatives(), amqp_1_0.messages()), min_size=2, max_size=6)


@settings(max_examples=12)
@given(units=DRAWN)
def test_any_values_of_any_performative(units: list[bytes]) -> None:
    driver = Driver(settings_of())
    (witness,) = witnesses_of(driver, ["1.0"], "")
    wild = One(driver, Choices(b""))
    wild.open()
    begin = octets_of(amqp.Begin(next_outgoing_id=0, incoming_window=50, outgoing_window=50))
    with faults_found() as found:
        for octets in units:
            engine = wild.engine
            if engine is None:
                wild = One(driver, Choices(b""))
                wild.open()
                engine = wild.engine
            if engine.is_open and not engine.sessions:
                driver.feed(wild.number, begin)
            driver.feed(wild.number, octets)
            witness.act(Choices(b"\0"))
            while witness.pump():
                pass
    check_faults(found)
    check_all_words(driver, 1)
    witness.finish()
    assert witness.got == witness.sent == len(witness.confirmed) > 0


# Slow ones.


class Slow:
    """A publisher and a consumer of a queue."""

    def __init__(self, *, size: int = 1000, arguments: dict[str, Any] | None = None, window: int = 100_000) -> None:
        self.size = size
        self.driver = Driver(settings_of(limits=SMALL, connection_limits=Limits(), history=0))
        login = Plain("guest", "guest")
        self.publisher, self.consumer = [
            Line(self.driver, amqp.Connection.client(amqp.Config(container, sasl=login, incoming_window=window)))
            for container in ("p", "c")
        ]
        pump(self.publisher, self.consumer)
        front: Any = self.driver.hub.fronts[self.publisher.number]
        self.driver.hub.apply(DeclareQueue(front.connection_owner, "q", arguments=arguments or {}))
        self.out = self.publisher.end.open_session().open_sender("/queues/q")
        self.into = self.consumer.end.open_session().open_receiver("/queues/q", credit=0)
        self.sent = 0
        pump(self.publisher, self.consumer)

    def grant(self, messages: int) -> None:
        """Give credit."""
        self.into.flow(messages)

    def publish(self, count: int) -> None:
        """Publish so many messages, as far as there is credit."""
        for _ in range(count):
            if not self.out.credit:
                return
            self.out.send(amqp.Message(b"%06d" % self.sent + bytes(self.size)))
            self.sent += 1
            pump(self.publisher, self.consumer)

    @property
    def queue(self) -> Any:
        """The queue."""
        return self.driver.hub.model.vhosts["/"].queues["q"]

    def got(self) -> list[amqp.Delivery]:
        """What has come."""
        return self.consumer.take(amqp.Delivery)

    def bodies(self) -> list[int]:
        """The numbers of what has come."""
        return [int(bytes(each.body)[:6]) for each in self.got()]


@pytest.mark.parametrize("size", [0, 1000])
def test_who_does_not_read_gets_no_more_than_the_backlog_and_holds_up_publishers(size: int) -> None:
    """Links get no more credit while the broker is full, and nothing is read of who publishes."""
    slow = Slow(size=size)
    slow.grant(1_000_000)
    pump(slow.publisher, slow.consumer)
    slow.consumer.stop()
    slow.publish(2000)
    hub = slow.driver.hub
    assert slow.out.credit == 0 or hub.is_blocked
    # What a link had credit for when it became full.
    check_held(hub, SMALL.memory_high + 100 * (len(BODY) + 600))
    client, publisher = [slow.driver.client(each.number) for each in (slow.consumer, slow.publisher)]
    assert client is not None
    assert publisher is not None
    assert SMALL.backlog_high // 4 <= client.send_backlog <= SMALL.backlog_high + 2 * len(BODY)
    assert hub.model.ledger.is_blocked
    assert publisher.receive_budget == 0
    slow.consumer.go_on()
    got: list[int] = []
    for _ in range(100):
        pump(slow.publisher, slow.consumer)
        found = slow.got()
        got += [int(bytes(each.body)[:6]) for each in found]
        if found:
            slow.into.accept(*found)
    assert not hub.model.ledger.is_blocked
    assert got == list(range(slow.sent))
    assert hub.model.ledger.octets == 0
    assert slow.publisher.take(amqp.CreditChanged)
    assert slow.out.credit


def test_who_gives_no_credit_gets_nothing() -> None:
    slow = Slow()
    slow.publish(2000)
    assert not slow.bodies()
    check_held(slow.driver.hub, SMALL.memory_high + 100 * (len(BODY) + 600))
    assert slow.driver.hub.model.ledger.is_blocked
    slow.grant(3)
    pump(slow.publisher, slow.consumer)
    assert slow.bodies() == [0, 1, 2]


def test_who_settles_nothing_gets_as_many_as_it_gave_credit_for() -> None:
    slow = Slow()
    slow.grant(5)
    slow.publish(50)
    found = slow.got()
    assert len(found) == 5
    assert (slow.queue.ready, slow.queue.unsettled) == (45, 5)
    slow.into.accept(*found)
    pump(slow.publisher, slow.consumer)
    assert not slow.bodies()
    slow.grant(2)
    pump(slow.publisher, slow.consumer)
    assert slow.bodies() == [5, 6]


def test_a_session_whose_window_is_closed_holds_one_message_up() -> None:
    slow = Slow(window=3)
    slow.consumer.stop()
    slow.grant(100)
    slow.publish(50)
    assert slow.queue.ready >= 46
    slow.consumer.go_on()
    pump(slow.publisher, slow.consumer)
    assert slow.bodies() == list(range(50))


def test_a_queue_with_a_limit_keeps_no_more() -> None:
    slow = Slow(arguments={"x-max-length": 10})
    slow.publish(500)
    assert slow.queue.ready == 10
    assert not slow.driver.hub.model.ledger.is_blocked
    check_held(slow.driver.hub, 12 * (len(BODY) + 1000))


def test_who_asks_and_never_reads_is_told_so_and_ends() -> None:
    """Each flow with echo is answered by one: the answers pile up to `Limits.backlog_hard`."""
    driver = Driver(settings_of(limits=BrokerLimits()))
    (witness,) = witnesses_of(driver, ["1.0"], "")
    wild = One(driver, Choices(b""))
    wild.open()
    driver.feed(wild.number, octets_of(amqp.Begin(next_outgoing_id=0, incoming_window=50, outgoing_window=50)))
    driver.deafen(wild.number, True)
    ask = octets_of(amqp.Flow(0, 50, 0, 50, echo=True))
    for _ in range(3000):
        driver.feed(wild.number, ask)
        client = driver.client(wild.number)
        if client is None:
            break  # It goes on asking instead of answering the close.
        assert client.send_backlog <= LIMITS.backlog_hard + 1000
    driver.pass_time(60.0)
    assert driver.client(wild.number) is None
    report = driver.ends[wild.number].report
    assert report is not None
    assert report.condition == "amqp:resource-limit-exceeded"
    witness.act(Choices(b"\0"))
    witness.finish()
    assert witness.got == witness.sent == 1
