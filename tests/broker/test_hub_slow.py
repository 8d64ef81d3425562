"""Slow clients at a hub, by every version: who doesn't read, gives no credit, settles nothing, asks without reading."""

from abc import abstractmethod
from collections.abc import Callable
from functools import partial
from typing import Any, TypeAlias

import pytest

from amqp_sansio import AMQP_0_8, AMQP_0_9_1, Limits, Settled, amqp_0_10, amqp_1_0
from amqp_sansio.amqp_0_9_1 import Blocked, Delivery, FlowChanged, Unblocked
from amqp_sansio.amqp_0_10 import spec
from amqp_sansio.broker import BrokerLimits
from amqp_sansio.broker.model.commands import DeclareQueue
from amqp_sansio.endpoint import Side
from amqp_sansio.sasl import Plain
from tests.kit.choices import Choices
from tests.kit.hostile_hub_1_0 import One
from tests.kit.hub_hostile import LIMITS, Driver, settings_of
from tests.kit.hub_lines import BODY, Line, check_held, pump, result
from tests.kit.hub_witness import witnesses_of
from tests.kit.octets_1_0 import octets_of
from tests.kit.pair_classic import client_config, connection_of

SMALL = BrokerLimits(memory_high=300_000, memory_low=100_000, backlog_high=40_000, backlog_low=10_000)
VERSIONS = {"0-8": AMQP_0_8, "0-9-1": AMQP_0_9_1}
BOTH = pytest.mark.parametrize("label", VERSIONS)


class Slow:
    """A publisher of a queue, which sends as far as the hub and flow control let it, and a consumer."""

    slack: int
    """What is held above the bound: octets in the engine's hands, those that had been read already."""
    least_backlog = SMALL.backlog_high // 2

    def __init__(self, connect: Callable[[str], Any], size: int, limits: Limits | None = None) -> None:
        self.size = size
        self.driver = Driver(settings_of(limits=SMALL, connection_limits=limits or Limits(), history=0))
        self.publisher, self.consumer = [Line(self.driver, connect(each)) for each in ("p", "c")]
        self.sent = 0
        self.pump()

    @abstractmethod
    def is_stopped(self) -> bool:
        """Whether the publisher was told to wait."""

    @abstractmethod
    def send(self, body: bytes) -> None:
        """Publish to the queue."""

    @abstractmethod
    def bodies(self) -> list[int]:
        """The numbers of what has come."""

    def complete(self) -> None:
        """Say that what has come is done with, if the version wants that."""

    def pump(self) -> None:
        """Let everything arrive."""
        pump(self.publisher, self.consumer)

    def publish(self, count: int) -> None:
        """Publish so many messages, as far as the publisher may."""
        for _ in range(count):
            if self.is_stopped():
                return
            self.send(b"%06d" % self.sent + bytes(self.size))
            self.sent += 1
            self.pump()

    @property
    def queue(self) -> Any:
        return self.driver.hub.model.vhosts["/"].queues["q"]

    @property
    def is_blocked(self) -> bool:
        """Whether the hub is full."""
        return self.driver.hub.model.ledger.is_blocked

    def check_held(self) -> None:
        """No more is held than the bound allows."""
        check_held(self.driver.hub, SMALL.memory_high + self.slack)


class SlowClassic(Slow):
    """The clients of 0-8 and 0-9-1."""

    slack = 2 * len(BODY) + 300

    def __init__(
        self, label: str, *, no_ack: bool = False, prefetch: int = 0, size: int = 1000, **arguments: Any
    ) -> None:
        super().__init__(lambda _: connection_of(VERSIONS[label], Side.CLIENT, client_config()), size)
        self.out, self.into = self.publisher.end.open_channel(), self.consumer.end.open_channel()
        self.call(self.out, "queue.declare", queue="q", durable=True, arguments=arguments)
        if prefetch:
            self.call(self.into, "basic.qos", prefetch_count=prefetch)
        self.call(self.into, "basic.consume", queue="q", consumer_tag="c", no_ack=no_ack)

    def call(self, channel: Any, name: str, **fields: Any) -> Any:
        """Ask for something."""
        return result(channel.call(self.publisher.end.dialect.named[name](**fields)), self.publisher, self.consumer)

    def is_stopped(self) -> bool:
        return bool(self.out.client_stopped)

    def send(self, body: bytes) -> None:
        self.out.publish(body, routing_key="q")

    def bodies(self) -> list[int]:
        return [int(each.body[:6]) for each in self.consumer.take(Delivery)]


class Slow_0_10(Slow):
    """The clients of 0-10."""

    slack = 4 * len(BODY)

    def __init__(
        self, *, accept_mode: int = spec.EXPLICIT, size: int = 1000, limits: Limits | None = None, **arguments: Any
    ) -> None:
        config = amqp_0_10.Config(sasl=Plain("guest", "guest"), vhost="/", heartbeat=0)
        super().__init__(lambda _: amqp_0_10.Connection.client(config), size, limits)
        self.out, self.into = self.publisher.end.open_session(b"out"), self.consumer.end.open_session(b"into")
        self.pump()
        self.call(self.out, amqp_0_10.spec.QueueDeclare("q", arguments=arguments))
        self.call(self.into, amqp_0_10.spec.MessageSubscribe("q", "d", accept_mode, 0))
        self.taken: list[int] = []

    def call(self, session: Any, command: amqp_0_10.spec.Command[Any]) -> Any:
        """Ask for something."""
        return result(session.call(command), self.publisher, self.consumer)

    def grant(self, messages: int) -> None:
        for unit, value in ((spec.MESSAGE, messages), (spec.BYTE, spec.INFINITE)):
            self.into.call(amqp_0_10.spec.MessageFlow("d", unit, value))

    def is_stopped(self) -> bool:
        return bool(self.out.credit("")[0] == 0)

    def send(self, body: bytes) -> None:
        self.out.transfer("", amqp_0_10.Message(body, routing_key="q"), accept_mode=spec.NONE)

    def bodies(self) -> list[int]:
        found = self.consumer.take(amqp_0_10.MessageReceived)
        self.taken += [each.command_id for each in found]
        return [int(each.body[:6]) for each in found]

    def complete(self) -> None:
        for number in self.taken:
            self.into.complete(number)
        self.taken.clear()
        self.call(self.into, amqp_0_10.spec.ExecutionSync())


class Slow_1_0(Slow):
    """The clients of 1.0, whose links may use up the credit that they have."""

    slack = 100 * (len(BODY) + 600)
    least_backlog = SMALL.backlog_high // 4

    def __init__(self, *, size: int = 1000, window: int = 100_000, **arguments: Any) -> None:
        login = Plain("guest", "guest")
        super().__init__(
            lambda name: amqp_1_0.Connection.client(amqp_1_0.Config(name, sasl=login, incoming_window=window)), size
        )
        front: Any = self.driver.hub.fronts[self.publisher.number]
        self.driver.hub.apply(DeclareQueue(front.connection_owner, "q", arguments=arguments))
        self.out = self.publisher.end.open_session().open_sender("/queues/q")
        self.into = self.consumer.end.open_session().open_receiver("/queues/q", credit=0)
        self.taken: list[amqp_1_0.Delivery] = []
        self.pump()

    def grant(self, messages: int) -> None:
        self.into.flow(messages)

    def is_stopped(self) -> bool:
        return not self.out.credit

    def send(self, body: bytes) -> None:
        self.out.send(amqp_1_0.Message(body))

    def bodies(self) -> list[int]:
        found = self.consumer.take(amqp_1_0.Delivery)
        self.taken += found
        return [int(bytes(each.body)[:6]) for each in found]

    def complete(self) -> None:
        if self.taken:
            self.into.accept(*self.taken)
        self.taken.clear()


def unlimited(label: str, size: int) -> Slow:
    """Clients of a version whose consumer takes everything that comes."""
    if label in VERSIONS:
        return SlowClassic(label, no_ack=True, size=size)
    slow: Slow_0_10 | Slow_1_0
    if label == "0-10":
        slow = Slow_0_10(accept_mode=spec.NONE, size=size)
        slow.grant(spec.INFINITE)
    else:
        slow = Slow_1_0(size=size)
        slow.grant(1_000_000)
    slow.pump()
    return slow


@pytest.mark.parametrize("label", ["0-8", "0-9-1", "0-10", "1.0"])
@pytest.mark.parametrize("size", [0, 1000])
def test_who_does_not_read_gets_no_more_than_the_backlog_and_holds_up_publishers(label: str, size: int) -> None:
    """0-9-1 by connection.blocked, 0-8 by channel.flow, 0-10 and 1.0 by credit; in any case nothing more is read of who
    publishes."""
    slow = unlimited(label, size)
    slow.consumer.stop()
    slow.publish(2000)
    slow.check_held()
    client, publisher = [slow.driver.client(each.number) for each in (slow.consumer, slow.publisher)]
    assert client is not None
    assert publisher is not None
    assert slow.least_backlog <= client.send_backlog <= SMALL.backlog_high + 2 * len(BODY)
    assert slow.is_blocked
    assert publisher.receive_budget == 0
    if label in VERSIONS:
        assert len(slow.publisher.take(Blocked if label == "0-9-1" else FlowChanged)) == 1
    elif label == "0-10":
        assert slow.is_stopped()
    slow.consumer.go_on()
    got: list[int] = []
    for _ in range(100 if label == "1.0" else 20):
        slow.pump()
        got += slow.bodies()
        slow.complete()
    assert not slow.is_blocked
    assert got == list(range(slow.sent))
    assert slow.driver.hub.model.ledger.octets == 0
    if label == "1.0":
        assert slow.publisher.take(amqp_1_0.CreditChanged)
        assert not slow.is_stopped()
    elif label in VERSIONS:
        told = [each for each in slow.publisher.events if isinstance(each, Blocked | Unblocked | FlowChanged)]
        assert isinstance(told[-1], Unblocked) if label == "0-9-1" else told[-1] == FlowChanged(1, True)


@BOTH
def test_who_does_not_settle_gets_its_prefetch_and_the_rest_waits_in_the_queue(label: str) -> None:
    slow = SlowClassic(label, prefetch=5)
    slow.publish(100)
    assert slow.bodies() == list(range(5))
    assert (slow.queue.ready, slow.queue.unsettled) == (95, 5)
    slow.publish(2000)
    slow.check_held()
    assert slow.is_blocked
    assert not slow.bodies()
    slow.into.accept(3, True)
    slow.pump()
    assert slow.bodies() == [5, 6, 7]


@pytest.mark.parametrize("slow_type", [Slow_0_10, Slow_1_0])
def test_who_gives_no_credit_gets_nothing(slow_type: type[Slow_0_10 | Slow_1_0]) -> None:
    slow = slow_type()
    slow.publish(2000)
    assert not slow.bodies()
    slow.check_held()
    assert slow.is_blocked
    slow.grant(3)
    slow.pump()
    assert slow.bodies() == [0, 1, 2]


def test_a_window_stays_closed_till_something_is_completed() -> None:
    slow = Slow_0_10()
    slow.call(slow.into, amqp_0_10.spec.MessageSetFlowMode("d", spec.WINDOW))
    slow.grant(5)
    slow.publish(50)
    assert slow.bodies() == list(range(5))
    assert (slow.queue.ready, slow.queue.unsettled) == (45, 5)
    result(slow.into.accept(*slow.taken, sync=True), slow.publisher, slow.consumer)
    assert slow.bodies() == list(range(5, 10))


def test_who_settles_nothing_gets_as_many_as_it_gave_credit_for() -> None:
    slow = Slow_1_0()
    slow.grant(5)
    slow.publish(50)
    assert slow.bodies() == list(range(5))
    assert (slow.queue.ready, slow.queue.unsettled) == (45, 5)
    slow.complete()
    slow.pump()
    assert not slow.bodies()
    slow.grant(2)
    slow.pump()
    assert slow.bodies() == [5, 6]


def test_a_session_whose_window_is_closed_holds_one_message_up() -> None:
    slow = Slow_1_0(window=3)
    slow.consumer.stop()
    slow.grant(100)
    slow.publish(50)
    assert slow.queue.ready >= 46
    slow.consumer.go_on()
    slow.pump()
    assert slow.bodies() == list(range(50))


@pytest.mark.parametrize("limits", [Limits(replay=10), Limits(replay_octets=20_000), Limits(unsettled=10)])
def test_who_completes_nothing_gets_no_more_than_can_be_kept_for_a_replay(limits: Limits) -> None:
    slow = Slow_0_10(limits=limits)
    slow.call(slow.into, amqp_0_10.spec.MessageSetFlowMode("d", spec.CREDIT))
    slow.grant(spec.INFINITE)
    slow.publish(200)
    got = slow.bodies()
    assert got == list(range(len(got)))
    assert 5 <= len(got) <= 20
    assert slow.queue.ready == slow.sent - len(got)
    slow.check_held()


LIMITED: dict[str, Callable[..., Slow]] = {
    **{label: partial(SlowClassic, label, prefetch=1) for label in VERSIONS},
    "0-10": Slow_0_10,
    "1.0": Slow_1_0,
}


@pytest.mark.parametrize(
    ("label", "overflow", "kept"),
    [
        *[(label, "drop-head", range(490, 500)) for label in LIMITED],
        *[(label, "reject-publish", range(1, 11)) for label in VERSIONS],
    ],
)
def test_a_queue_with_a_limit_keeps_no_more(label: str, overflow: str, kept: range) -> None:
    slow = LIMITED[label](**{"x-max-length": 10, "x-overflow": overflow})
    if isinstance(slow, SlowClassic) and label == "0-9-1":
        slow.call(slow.out, "confirm.select")
    slow.publish(500)
    assert slow.queue.ready == 10
    assert not slow.is_blocked
    check_held(slow.driver.hub, 12 * (len(BODY) + 1000))
    if label != "1.0":
        assert [int(each.message.content.body[:6]) for each in slow.queue.available()] == list(kept)
    if label == "0-9-1":
        refused = [each for each in slow.publisher.take(Settled) if type(each.state).__name__ == "Rejected"]
        assert len(refused) == (0 if overflow == "drop-head" else 489)


@BOTH
def test_who_stops_the_flow_gets_nothing(label: str) -> None:
    slow = SlowClassic(label, no_ack=True)
    slow.call(slow.into, "channel.flow", active=False)
    slow.publish(50)
    assert not slow.bodies()
    assert slow.queue.ready == 50
    slow.call(slow.into, "channel.flow", active=True)
    assert slow.bodies() == list(range(50))


# Asking without reading.

Asking: TypeAlias = Callable[[Driver], tuple[int, Callable[[], object]]]
"""A client that has stopped reading: its number, and how it asks once more."""


def _asks_classic(label: str) -> Asking:
    def begin(driver: Driver) -> tuple[int, Callable[[], object]]:
        line = Line(driver, connection_of(VERSIONS[label], Side.CLIENT, client_config()))
        pump(line)
        channel = line.end.open_channel()
        pump(line)
        line.stop()

        def ask() -> None:
            channel.call(line.end.dialect.named["queue.declare"](queue="q" * 100, durable=True))
            pump(line)

        return line.number, ask

    return begin


def _asks_0_10(driver: Driver) -> tuple[int, Callable[[], object]]:
    config = amqp_0_10.Config(sasl=Plain("other", "other"), vhost="/", heartbeat=0)
    line = Line(driver, amqp_0_10.Connection.client(config))
    pump(line)
    session = line.end.open_session(b"s")
    pump(line)
    line.stop()

    def ask() -> None:
        session.call(amqp_0_10.spec.QueueQuery("q" * 200))
        session.call(amqp_0_10.spec.ExecutionSync())
        pump(line)

    return line.number, ask


def _asks_1_0(driver: Driver) -> tuple[int, Callable[[], object]]:
    wild = One(driver, Choices(b""))
    wild.open()
    driver.feed(wild.number, octets_of(amqp_1_0.spec.Begin(next_outgoing_id=0, incoming_window=50, outgoing_window=50)))
    driver.deafen(wild.number, True)
    # Each flow with echo is answered by one.
    flow = octets_of(amqp_1_0.spec.Flow(0, 50, 0, 50, echo=True))
    return wild.number, lambda: driver.feed(wild.number, flow)


@pytest.mark.parametrize(
    ("label", "asking", "code"),
    [
        ("0-8", _asks_classic("0-8"), 506),
        ("0-9-1", _asks_classic("0-9-1"), 506),
        ("0-10", _asks_0_10, None),
        ("1.0", _asks_1_0, "amqp:resource-limit-exceeded"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_who_asks_and_never_reads_is_told_so_and_ends(label: str, asking: Asking, code: int | str | None) -> None:
    """Answers pile up to `Limits.backlog_hard`, which ends the connection; in 0-10 without a word, for nothing that is
    said then would be read."""
    changes = {"connection_limits": Limits(backlog_hard=LIMITS.backlog_hard)} if label == "0-10" else {}
    driver = Driver(settings_of(limits=BrokerLimits(), **changes))
    (witness,) = witnesses_of(driver, [label], "")
    number, ask = asking(driver)
    for _ in range(5000):
        ask()
        client = driver.client(number)
        if client is None:
            break  # It goes on asking instead of answering the close.
        assert client.send_backlog <= LIMITS.backlog_hard + 1000
    if code is not None:
        driver.pass_time(60.0)
    assert driver.client(number) is None
    if code is not None:
        report = driver.ends[number].report
        assert report is not None
        assert code in (report.code, report.condition)
    witness.act(Choices(b"\0"))
    witness.finish()
    assert witness.got == witness.sent == 1
