"""Witnesses: well-behaved clients of every version beside hostile ones, which note everything that they are told.

Each publishes to a queue that is its own, where its messages have to come exactly once and in order, and to one that it
shares with everybody, and consumes both. Whatever else it's told is what nobody asked for.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from amqp_sansio import (
    AMQP_0_8,
    AMQP_0_9_1,
    Abandoned,
    Accepted,
    Event,
    Failed,
    Opened,
    Rejected,
    Replied,
    Settled,
    Signal,
)
from amqp_sansio.amqp_0_9_1 import ConsumerCancelled, Delivery
from amqp_sansio.amqp_0_10 import Config as TenConfig
from amqp_sansio.amqp_0_10 import Connection as TenConnection
from amqp_sansio.amqp_0_10 import CreditChanged as TenCredit
from amqp_sansio.amqp_0_10 import ExecutionError, MessageReceived, SessionClosed
from amqp_sansio.amqp_0_10 import Message as TenMessage
from amqp_sansio.amqp_0_10.spec import MessageSubscribe, QueueDeclare
from amqp_sansio.amqp_1_0 import Accepted as OneAccepted
from amqp_sansio.amqp_1_0 import Config as OneConfig
from amqp_sansio.amqp_1_0 import Connection as OneConnection
from amqp_sansio.amqp_1_0 import CreditChanged as OneCredit
from amqp_sansio.amqp_1_0 import Delivery as OneDelivery
from amqp_sansio.amqp_1_0 import LinkClosed, LinkFailed, LinkOpened, Released
from amqp_sansio.amqp_1_0 import Message as OneMessage
from amqp_sansio.amqp_1_0 import Rejected as OneRejected
from amqp_sansio.broker.model.queue import Queue
from amqp_sansio.endpoint import Side
from amqp_sansio.sasl import Plain
from tests.kit.pair_classic import client_config, connection_of

if TYPE_CHECKING:
    from tests.kit.choices import Choices
    from tests.kit.hub_hostile import Driver
    from tests.kit.hub_ledger import Ledger

VHOST = "/"
WINDOW = 4
"""Messages that a witness has at the same time, from each queue."""


class Witness(ABC):
    """One witness. `sent`, `confirmed` and `got` are the numbers of its own messages, `shared_sent` and
    `shared_confirmed` of those to the shared queue; `pending` are deliveries that it hasn't settled yet.
    """

    def __init__(self, driver: Driver, label: str, shared: str) -> None:
        self.driver = driver
        self.label = label
        self.shared = shared
        self.own = f"own-{label}"
        self.end: Any = None
        self.number = driver.connect()
        self.sent = 0
        self.got = 0
        self.settled = 0
        self.shared_sent = 0
        self.confirmed: set[int] = set()
        self.shared_confirmed: set[int] = set()
        self.unrouted: set[int] = set()
        """Of the shared ones, those that found no queue."""
        self.refused: set[int] = set()
        """Of the shared ones, those of which it was told that the queue is full: a hostile one has made it anew."""
        self.consumes_shared: Queue | None = None
        self.shared_got: dict[bytes, int] = {}

    # The test's side.

    def act(self, choices: Choices) -> None:
        """Publish, or settle what it has."""
        match choices.below(5):
            case 0 | 1 if self.sent - self.settled < 3 * WINDOW:
                self.publish(self.own, self.body("own", self.sent))
                self.sent += 1
            case 2 if self.shared:
                self.publish(self.shared, self.body("shared", self.shared_sent))
                self.shared_sent += 1
            case _:
                self.settle_all()

    def body(self, kind: str, number: int) -> bytes:
        """What a message of its own says."""
        return self.token(kind, number) + b"." * (number % 7 * 20)

    def token(self, kind: str, number: int) -> bytes:
        """The name of a message of its own."""
        return f"<{self.label} {kind} {number}>".encode()

    def pump(self) -> bool:
        """Take events and exchange octets once; whether anything moved."""
        moved = False
        while not isinstance(event := self.end.next_event(), Signal):
            moved = True
            self.hear(event)
        octets = self.end.data_to_send(self.driver.now)
        if octets:
            assert self.driver.feed(self.number, octets), "a witness has to wait"
        out = self.driver.out[self.number]
        fresh = bytes(out[self.read :])
        if fresh:
            self.read = len(out)
            self.end.receive_data(fresh, self.driver.now)
        return moved or bool(octets) or bool(fresh)

    read = 0
    """Octets that it has read."""
    tells_refusals = True
    """Whether its version has a word for a message that a full queue doesn't take."""

    def look(self) -> None:
        """Consume the shared queue again when there is another one that it may consume."""
        if not self.shared or self.consumes_shared is not None:
            return
        queue = self.driver.hub.model.vhosts[VHOST].queues.get(self.shared)
        limit = self.driver.hub.settings.limits.consumers
        if queue is None or queue.exclusive_to is not None or queue.exclusive_consumer is not None:
            return
        if len(queue.consumers) < limit:
            self.consumes_shared = queue
            self.consume_shared()

    def check(self, ledger: Ledger) -> None:
        """What must be true all the time."""
        for number in self.shared_confirmed - self.unrouted:
            place = ledger.numbers.get(self.token("shared", number))
            assert place is not None, f"{self.label}: {number} was confirmed and never published"
            is_full = place in ledger.refused
            assert is_full == (number in self.refused) or not self.tells_refusals, (self.label, number)
            assert is_full or ledger.routed.get(place) == [self.shared], (self.label, number, ledger.routed.get(place))

    def finish(self) -> None:
        """Take and settle everything."""
        for _ in range(4 * WINDOW + 20):
            self.settle_all()
            while self.pump():
                pass

    def check_out(self, ledger: Ledger) -> None:
        """In the end all was confirmed, and came once; each was accepted, and is nowhere any more."""
        assert self.got == self.sent, (self.label, self.got, self.sent)
        assert self.confirmed == set(range(self.sent)), (self.label, self.confirmed, self.sent)
        for number in range(self.sent):
            place = ledger.numbers[self.token("own", number)]
            assert ledger.ended[VHOST, self.own, place] == "accepted", (self.label, number)
        queue = self.driver.hub.model.vhosts[VHOST].queues[self.own]
        assert not queue.messages, queue

    # What the versions share.

    def delivered(self, body: bytes, redelivered: bool) -> None:
        """A message of its own queue has come."""
        assert body == self.body("own", self.got), (self.label, body, self.got)
        assert not redelivered, (self.label, body)
        self.got += 1

    def delivered_shared(self, body: bytes) -> None:
        """A message of the shared queue has come."""
        if body.startswith(b"<"):
            self.shared_got[body] = self.shared_got.get(body, 0) + 1

    def confirm(self, kind: str, number: int) -> None:
        """A message is the broker's responsibility now."""
        known = self.confirmed if kind == "own" else self.shared_confirmed
        assert number not in known, (self.label, kind, number)
        known.add(number)

    def lose_shared(self) -> None:
        """It was told that the shared queue is gone, which has to be true."""
        assert self.consumes_shared is not None
        assert self.driver.hub.model.vhosts[VHOST].queues.get(self.shared) is not self.consumes_shared
        self.consumes_shared = None

    def unasked(self, event: Event) -> AssertionError:
        """What to raise for anything else."""
        return AssertionError(f"{self.label} was told what it never asked for: {event}")

    @abstractmethod
    def start(self) -> None:
        """Log in, and consume its own queue."""

    @abstractmethod
    def publish(self, queue: str, body: bytes) -> None:
        """Publish a message to a queue."""

    @abstractmethod
    def settle_all(self) -> None:
        """Accept all that it has."""

    @abstractmethod
    def consume_shared(self) -> None:
        """Consume the shared queue."""

    @abstractmethod
    def hear(self, event: Event) -> None:
        """Take an event."""


class ClassicWitness(Witness):
    """Of 0-9-1 or 0-8: with confirms, or where there are none with a transaction for each publish."""

    def __init__(self, driver: Driver, label: str, shared: str) -> None:
        super().__init__(driver, label, shared)
        version = AMQP_0_9_1 if label == "0-9-1" else AMQP_0_8
        dialect = driver.hub.settings.shared_config(version).dialect
        self.end = connection_of(version, Side.CLIENT, client_config(dialect=dialect))
        self.is_old = label == "0-8"
        self.transacts = "confirm.select" not in self.end.dialect.named
        self.tells_refusals = not self.transacts
        self.handles: dict[Any, tuple[str, int]] = {}
        self.pending: dict[int, list[int]] = {2: [], 3: []}
        self.calls: list[Any] = []
        self.tickets: dict[int, int] = {}

    def start(self) -> None:
        while self.pump():
            pass
        for _ in (1, 2, 3) if self.shared else (1, 2):
            self.calls.append(self.end.open_channel().opening)
        while self.pump():
            pass
        if self.end.dialect.name == "0-8":
            for number in (1, 2, 3) if self.shared else (1, 2):
                asked = self._call(
                    number, "access.request", realm="/data", passive=True, active=True, write=True, read=True
                )
                self.tickets[number] = asked.result.ticket
        self._call(1, "tx.select" if self.transacts else "confirm.select")
        self._call(2, "queue.declare", queue=self.own, exclusive=True)
        self._call(2, "basic.qos", prefetch_count=WINDOW)
        self._call(2, "basic.consume", queue=self.own, consumer_tag="own")
        if self.shared:
            self._call(3, "queue.declare", queue=self.shared, durable=True)
            self._call(3, "basic.qos", prefetch_count=WINDOW)

    def publish(self, queue: str, body: bytes) -> None:
        kind, number = ("own", self.sent) if queue == self.own else ("shared", self.shared_sent)
        exists = queue in self.driver.hub.model.vhosts[VHOST].queues
        if not exists:
            self.unrouted.add(number)
        handle = self.end.channel(1).publish(body, routing_key=queue, ticket=self.tickets.get(1, 0))
        if self.transacts:
            handle = self.end.channel(1).call(self.end.dialect.named["tx.commit"]())
        self.handles[handle] = kind, number

    def settle_all(self) -> None:
        for channel, tags in self.pending.items():
            if tags:
                self.end.channel(channel).accept(tags[-1], len(tags) > 1)
                if channel == 2:
                    self.settled += len(tags)
                tags.clear()

    def consume_shared(self) -> None:
        self._call(3, "basic.consume", wait=False, queue=self.shared, consumer_tag="shared")

    def look(self) -> None:
        """0-8 isn't told when its consumer ends."""
        if self.is_old and self.consumes_shared is not None and self.consumes_shared.is_deleted:
            self.consumes_shared = None
            self._call(3, "basic.cancel", consumer_tag="shared")
        super().look()

    def _call(self, channel: int, name: str, wait: bool = True, **fields: Any) -> Any:
        kind = self.end.dialect.named[name]
        if self.tickets and "ticket" in kind.__match_args__:
            fields["ticket"] = self.tickets[channel]
        handle = self.end.channel(channel).call(kind(**fields))
        self.calls.append(handle)
        while wait and self.pump():
            pass
        assert not wait or handle.done, (self.label, name)
        return handle

    def hear(self, event: Event) -> None:
        match event:
            case Delivery(channel=channel):
                self.pending[channel].append(event.delivery_tag)
                if channel == 2:
                    self.delivered(event.body, event.redelivered)
                else:
                    self.delivered_shared(event.body)
            case Settled():
                for handle in event.pendings:
                    kind, number = self.handles.pop(handle)
                    if kind == "shared" and isinstance(event.state, Rejected):
                        self.refused.add(number)
                    else:
                        assert isinstance(event.state, Accepted), event
                    self.confirm(kind, number)
            case Replied() if event.pending in self.handles:
                self.confirm(*self.handles.pop(event.pending))
            case Replied() | Opened():
                assert event.pending is None or event.pending in self.calls, event
            case ConsumerCancelled(consumer_tag="shared"):
                self.lose_shared()
            case _:
                raise self.unasked(event)


class TenWitness(Witness):
    """Of 0-10: a session for its own queue, and one for the shared queue, which ends with that."""

    def __init__(self, driver: Driver, label: str, shared: str) -> None:
        super().__init__(driver, label, shared)
        self.end = TenConnection.client(TenConfig(sasl=Plain("guest", "guest"), vhost=VHOST, heartbeat=0))
        self.session: Any = None
        self.other: Any = None
        self.handles: dict[Any, tuple[str, int]] = {}
        self.pending: dict[int, list[int]] = {}
        self.sessions = 0

    def start(self) -> None:
        while self.pump():
            pass
        self.session = self.end.open_session(b"witness")
        self._consume(self.session, QueueDeclare(self.own, exclusive=True, auto_delete=True), self.own)
        while self.pump():
            pass
        assert self.session.report is None

    def _consume(self, session: Any, declare: Any, queue: str) -> None:
        if declare is not None:
            session.call(declare)
        session.call(MessageSubscribe(queue, "d", 0, 0))
        session.top_up("d", WINDOW)

    def publish(self, queue: str, body: bytes) -> None:
        kind, number = ("own", self.sent) if queue == self.own else ("shared", self.shared_sent)
        sent = self.session.transfer("", TenMessage(body, routing_key=queue))
        self.handles[sent.outcome] = kind, number

    def settle_all(self) -> None:
        sessions: list[Any] = [self.session] if self.other is None else [self.session, self.other]
        for session in sessions:
            ids = self.pending.pop(session.channel, [])
            if ids:
                session.accept(*ids)
                session.top_up("d", WINDOW)
                self.settled += len(ids) if session is self.session else 0

    def consume_shared(self) -> None:
        self.sessions += 1
        self.other = self.end.open_session(b"witness %d" % self.sessions)
        self._consume(self.other, None, self.shared)

    def hear(self, event: Event) -> None:
        match event:
            case MessageReceived(channel=channel):
                self.pending.setdefault(channel, []).append(event.command_id)
                if channel == self.session.channel:
                    properties = event.headers.delivery_properties
                    self.delivered(event.body, properties is not None and properties.redelivered)
                else:
                    self.delivered_shared(event.body)
            case Settled():
                for handle in event.pendings:
                    kind, number = self.handles.pop(handle, ("", 0))
                    if kind == "own":
                        assert isinstance(event.state, Accepted), event
                    elif kind and not isinstance(event.state, Accepted):
                        gone = self.shared not in self.driver.hub.model.vhosts[VHOST].queues
                        (self.unrouted if gone else self.refused).add(number)
                    if kind:
                        self.confirm(kind, number)
            case Opened() | Replied() | TenCredit():
                pass
            case Failed(channel=channel) if self.other is not None and channel == self.other.channel:
                assert isinstance(event.error, ExecutionError) or event.error, event
            case SessionClosed(channel=channel) if self.other is not None and channel == self.other.channel:
                assert event.report.code == 408, event
                self.pending.pop(channel, None)
                self.other = None
                self.lose_shared()
            case Abandoned() if self.other is not None:
                pass
            case _:
                raise self.unasked(event)


class OneWitness(Witness):
    """Of 1.0: a session with two links for its own queue, and one for the shared queue's."""

    def __init__(self, driver: Driver, label: str, shared: str) -> None:
        super().__init__(driver, label, shared)
        self.end = OneConnection.client(OneConfig(container_id="witness", sasl=Plain("guest", "guest")))
        self.sender: Any = None
        self.receiver: Any = None
        self.shared_sender: Any = None
        self.shared_receiver: Any = None
        self.handles: dict[Any, tuple[str, int]] = {}
        self.pending: dict[int, list[Any]] = {0: [], 1: []}

    def start(self) -> None:
        while self.pump():
            pass
        session, other = self.end.open_session(), self.end.open_session()
        while self.pump():
            pass
        # Over the management node it would be exclusive to its connection as well.
        self.driver.declare(self.number, self.own, own=True)
        self.sender = session.open_sender(f"/queues/{self.own}")
        self.receiver = session.open_receiver(f"/queues/{self.own}", credit=WINDOW)
        self.session = session
        self.other = other
        while self.pump():
            pass
        assert self.receiver.is_open

    def publish(self, queue: str, body: bytes) -> None:
        own = queue == self.own
        link = self.sender if own else self.shared_sender
        if link is None or not link.is_open or not link.credit:
            # It isn't sent.
            self.sent -= own
            self.shared_sent -= not own
            return
        self.handles[link.send(OneMessage(body))] = ("own", self.sent) if own else ("shared", self.shared_sent)

    def settle_all(self) -> None:
        for number, link in enumerate((self.receiver, self.shared_receiver)):
            found = self.pending[number]
            if found and link is not None and link.is_open:
                link.accept(*found)
                self.settled += 0 if number else len(found)
                link.flow(WINDOW)
            found.clear()

    def consume_shared(self) -> None:
        self.shared_sender = self.other.open_sender(f"/queues/{self.shared}")
        self.shared_receiver = self.other.open_receiver(f"/queues/{self.shared}", credit=WINDOW)

    def hear(self, event: Event) -> None:
        match event:
            case OneDelivery(channel=channel):
                number = int(channel != self.session.channel)
                self.pending[number].append(event)
                if number:
                    self.delivered_shared(bytes(event.body) if isinstance(event.body, bytes) else b"")
                else:
                    header = event.message.header
                    again = header is not None and bool(header.delivery_count)
                    self.delivered(event.body, again)
            case Settled():
                for handle in event.pendings:
                    kind, number = self.handles.pop(handle)
                    if kind == "shared" and isinstance(event.state, Released):
                        self.unrouted.add(number)
                    elif kind == "shared" and isinstance(event.state, OneRejected):
                        self.refused.add(number)
                    else:
                        assert isinstance(event.state, OneAccepted), event
                    self.confirm(kind, number)
            case LinkFailed(channel=channel) if channel == self.other.channel:
                assert event.error is not None
                assert str(getattr(event.error, "condition", "")) == "amqp:resource-deleted", event
            case LinkClosed(channel=channel) if channel == self.other.channel:
                if self.consumes_shared is not None:
                    self.lose_shared()
                    self.pending[1].clear()
            case LinkOpened() | Opened() | OneCredit():
                pass
            case Abandoned():
                for handle in event.pendings:
                    kind, _ = self.handles.pop(handle)
                    assert kind == "shared", event
            case _:
                raise self.unasked(event)


_KINDS: dict[str, type[Witness]] = {
    "0-9-1": ClassicWitness,
    "0-8": ClassicWitness,
    "0-10": TenWitness,
    "1.0": OneWitness,
}


def witnesses_of(driver: Driver, labels: Sequence[str], shared: str) -> list[Witness]:
    """A witness of each version, logged in."""
    found = [_KINDS[label](driver, label, shared) for label in labels]
    for each in found:
        each.start()
    if shared:
        if shared not in driver.hub.model.vhosts[VHOST].queues:
            driver.declare(found[0].number, shared)
        for each in found:
            each.look()
    return found
