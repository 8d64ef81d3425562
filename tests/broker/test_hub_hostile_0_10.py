"""Hostile clients of 0-10 at a hub: what they send wrong has its code, and nobody else notices; slow ones."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from amqp_sansio import Limits, RemoteProtocolError
from amqp_sansio import amqp_0_10 as amqp
from amqp_sansio.amqp_0_10.codec.frames import BODY as BODY_SEGMENT
from amqp_sansio.amqp_0_10.codec.frames import COMMAND, CONTROL, HEADER, encode_assembly
from amqp_sansio.amqp_0_10.model.execution import ERROR_CODES
from amqp_sansio.broker import BrokerLimits
from amqp_sansio.endpoint import Side
from amqp_sansio.sasl import Plain
from amqp_sansio.testing import amqp_0_10
from tests.kit.hostile_1_0 import Choices
from tests.kit.hostile_hub_0_10 import Ten, check_words, hostile
from tests.kit.hub_hostile import LIMITS, Driver, Stage, check_rule, faults_found, settings_of
from tests.kit.hub_lines import BODY, Line, check_held, pump, result
from tests.kit.hub_witness import witnesses_of
from tests.kit.octets_0_10 import attach, command_point

PLAYS = st.binary(min_size=600, max_size=2000)
SMALL = BrokerLimits(memory_high=300_000, memory_low=100_000, backlog_high=40_000, backlog_low=10_000)

# Hostile ones.

FAULTS: dict[str, set[tuple[str, int]]] = {
    "connection.tune-ok/available-channels": {("connection", 501)},
    "connection.tune-ok/max-frame-size": {("connection", 501)},
    "dtx.end/illegal-state": {("session", 409)},
    "dtx.end/not-associated": {("session", 409)},
    "dtx.start/illegal-state": {("session", 409)},
    "file.ack/validation": {("session", 542)},
    "file.consume/queue-empty": {("session", 530)},
    "file.consume/tag-in-use": {("session", 530)},
    "file.open-ok/behavior": {("session", 409)},
    "file.open/content-size": {("session", 542)},
    "file.reject/session-local": {("session", 542)},
    "message.cancel/not-found": {("session", 404)},
    "message.message-properties/user-id": {("session", 403)},
    "message.set-flow-mode/mode-switching": {("session", 409)},
    "message.subscribe/unique-destination": {("session", 530)},
    "session.command-point/newly-attached": {("session", 0)},
    "stream.consume/tag-in-use": {("session", 530)},
    "tx.commit/select-required": {("session", 409)},
    "tx.rollback/select-required": {("session", 409)},
    "tx.select/exactly-once": {("session", 409)},
    "tx.select/explicit-accepts": {("session", 530)},
    "tx.select/no-dtx": {("session", 409)},
    "wire/frame-flags": {("connection", 501)},
    "wire/frame-reserved-zero": {("connection", 501)},
    "wire/frame-size<12 malformed": {("connection", 501)},
    "wire/struct-required": {("connection", 501), ("session", 503)},
}
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


def check_all_words(driver: Driver, after: int) -> None:
    """What all clients but the first ones were told."""
    for number, octets in driver.out.items():
        if number > after:
            check_words(bytes(octets), driver.ends.get(number))


@pytest.mark.rule("0-10/session/exception-then-detach")
@settings(max_examples=20)
@given(octets=PLAYS)
def test_whatever_they_send_others_get_what_is_theirs(octets: bytes) -> None:
    with faults_found() as found:
        stage = Stage(octets, [hostile()] * 2)
        stage.run()
        stage.finish()
    check_faults(found)
    check_all_words(stage.driver, len(stage.witnesses))


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


@settings(max_examples=15)
@given(units=DRAWN)
def test_any_values_of_any_command(units: list[bytes]) -> None:
    driver = Driver(settings_of())
    (witness,) = witnesses_of(driver, ["0-10"], "")
    wild = Ten(driver, Choices(b""))
    wild.open()
    with faults_found() as found:
        for octets in units:
            engine = wild.engine
            if engine is None:
                wild = Ten(driver, Choices(b""))
                wild.open()
                engine = wild.engine
            if not engine.sessions:
                driver.feed(wild.number, attach(b"wild", force=True) + command_point())
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

    def __init__(
        self, *, size: int = 1000, arguments: dict[str, Any] | None = None, limits: Limits | None = None
    ) -> None:
        self.size = size
        self.driver = Driver(settings_of(limits=SMALL, connection_limits=limits or Limits(), history=0))
        config = amqp.Config(sasl=Plain("guest", "guest"), vhost="/", heartbeat=0)
        self.publisher, self.consumer = [Line(self.driver, amqp.Connection.client(config)) for _ in range(2)]
        pump(self.publisher, self.consumer)
        self.out = self.publisher.end.open_session(b"out")
        self.into = self.consumer.end.open_session(b"into")
        pump(self.publisher, self.consumer)
        self.call(self.out, amqp.QueueDeclare("q", arguments=arguments))
        self.sent = 0
        self.taken: list[int] = []

    def call(self, session: Any, command: amqp.Command[Any]) -> Any:
        """Ask for something."""
        return result(session.call(command), self.publisher, self.consumer)

    def subscribe(self, accept_mode: int = amqp.EXPLICIT) -> None:
        """Subscribe to the queue, without credit."""
        self.call(self.into, amqp.MessageSubscribe("q", "d", accept_mode, 0))

    def grant(self, messages: int) -> None:
        """Give credit."""
        for unit, value in ((amqp.MESSAGE, messages), (amqp.BYTE, amqp.INFINITE)):
            self.into.call(amqp.MessageFlow("d", unit, value))

    def publish(self, count: int) -> None:
        """Publish so many messages, as far as the hub lets it."""
        for _ in range(count):
            if self.out.credit("")[0] == 0:
                return
            self.out.transfer(
                "", amqp.Message(b"%06d" % self.sent + bytes(self.size), routing_key="q"), accept_mode=amqp.NONE
            )
            self.sent += 1
            pump(self.publisher, self.consumer)

    @property
    def queue(self) -> Any:
        """The queue."""
        return self.driver.hub.model.vhosts["/"].queues["q"]

    def bodies(self) -> list[int]:
        """The numbers of what has come."""
        found = self.consumer.take(amqp.MessageReceived)
        self.taken += [each.command_id for each in found]
        return [int(each.body[:6]) for each in found]


@pytest.mark.parametrize("size", [0, 1000])
def test_who_does_not_read_gets_no_more_than_the_backlog_and_holds_up_publishers(size: int) -> None:
    slow = Slow(size=size)
    slow.subscribe(amqp.NONE)
    slow.consumer.stop()
    slow.grant(amqp.INFINITE)
    slow.publish(2000)
    hub = slow.driver.hub
    check_held(hub, SMALL.memory_high + 4 * len(BODY))
    client, publisher = [slow.driver.client(each.number) for each in (slow.consumer, slow.publisher)]
    assert client is not None
    assert publisher is not None
    assert SMALL.backlog_high // 2 <= client.send_backlog <= SMALL.backlog_high + 2 * len(BODY)
    assert hub.model.ledger.is_blocked
    assert publisher.receive_budget == 0
    assert slow.out.credit("")[0] == 0
    got: list[int] = []
    slow.consumer.go_on()
    for _ in range(20):
        pump(slow.publisher, slow.consumer)
        got += slow.bodies()
        for number in slow.taken:
            slow.into.complete(number)
        slow.taken.clear()
        slow.call(slow.into, amqp.ExecutionSync())
    assert not hub.model.ledger.is_blocked
    assert got == list(range(slow.sent))
    assert hub.model.ledger.octets == 0


def test_who_gives_no_credit_gets_nothing() -> None:
    slow = Slow()
    slow.subscribe()
    slow.publish(2000)
    assert not slow.bodies()
    check_held(slow.driver.hub, SMALL.memory_high + 4 * len(BODY))
    assert slow.driver.hub.model.ledger.is_blocked
    slow.grant(3)
    pump(slow.publisher, slow.consumer)
    assert slow.bodies() == [0, 1, 2]


def test_a_window_stays_closed_till_something_is_completed() -> None:
    slow = Slow()
    slow.subscribe()
    slow.call(slow.into, amqp.MessageSetFlowMode("d", amqp.WINDOW))
    slow.grant(5)
    slow.publish(50)
    assert slow.bodies() == list(range(5))
    assert (slow.queue.ready, slow.queue.unsettled) == (45, 5)
    result(slow.into.accept(*slow.taken, sync=True), slow.publisher, slow.consumer)
    assert slow.bodies() == list(range(5, 10))


@pytest.mark.parametrize("limits", [Limits(replay=10), Limits(replay_octets=20_000), Limits(unsettled=10)])
def test_who_completes_nothing_gets_no_more_than_can_be_kept_for_a_replay(limits: Limits) -> None:
    slow = Slow(limits=limits)
    slow.subscribe()
    slow.call(slow.into, amqp.MessageSetFlowMode("d", amqp.CREDIT))
    slow.grant(amqp.INFINITE)
    slow.publish(200)
    got = slow.bodies()
    assert got == list(range(len(got)))
    assert 5 <= len(got) <= 20
    assert slow.queue.ready == slow.sent - len(got)
    check_held(slow.driver.hub, SMALL.memory_high + 4 * len(BODY))


def test_a_queue_with_a_limit_keeps_no_more() -> None:
    slow = Slow(arguments={"x-max-length": 10})
    slow.subscribe()
    slow.publish(500)
    assert slow.queue.ready == 10
    assert not slow.driver.hub.model.ledger.is_blocked
    check_held(slow.driver.hub, 12 * (len(BODY) + 1000))
    assert [int(each.message.content.body[:6]) for each in slow.queue.available()] == list(range(490, 500))


def test_who_asks_and_never_reads_ends() -> None:
    """Answers pile up to `Limits.backlog_hard`: nothing that is said then would be read."""
    driver = Driver(settings_of(limits=BrokerLimits(), connection_limits=Limits(backlog_hard=LIMITS.backlog_hard)))
    (witness,) = witnesses_of(driver, ["0-10"], "")
    line = Line(driver, amqp.Connection.client(amqp.Config(sasl=Plain("other", "other"), vhost="/", heartbeat=0)))
    pump(line)
    session = line.end.open_session(b"s")
    pump(line)
    line.stop()
    for _ in range(5000):
        session.call(amqp.QueueQuery("q" * 200))
        session.call(amqp.ExecutionSync())
        pump(line)
        client = driver.client(line.number)
        if client is None:
            break
        assert client.send_backlog <= LIMITS.backlog_hard + 1000
    assert driver.client(line.number) is None
    witness.act(Choices(b"\0"))
    witness.finish()
    assert witness.got == witness.sent == 1
