"""The broker and the naive model side by side: what is done to one is done to the other, and they are compared."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from amqp_sansio import AMQP_0_9_1
from amqp_sansio._classic.dialect import get_dialect
from amqp_sansio.amqp_0_9_1 import BasicProperties
from amqp_sansio.broker import Broker, Entry, Fault, Outcome
from amqp_sansio.broker.commands import Command, Lifetime, Publish, Published
from amqp_sansio.broker.consumer import Consumer, Filter, Window
from amqp_sansio.broker.contents.classic import ClassicContent
from amqp_sansio.broker.effects import Cancelled, Deliver, NodeDeleted
from amqp_sansio.broker.entry import MESSAGE_OCTETS, PLACE_OCTETS, Message, State
from amqp_sansio.broker.owner import Owner
from amqp_sansio.broker.queue import Queue
from amqp_sansio.broker.snapshot import dumps, loads
from amqp_sansio.broker.transaction import Transaction
from tests.broker.naive_model import NaiveBroker
from tests.broker.naive_values import (
    Copy,
    Event,
    NaiveConsumer,
    NaiveQueue,
    Note,
    Refusal,
    Room,
    Witness,
    fail,
)

TABLES = get_dialect("0-9-1-rabbit").tables


class Seen(NamedTuple):
    """A delivery that the broker made."""

    consumer: int
    entry: Entry
    redelivered: bool
    failures: int


class Record(Witness):
    """The deliveries of the last command, in their order."""

    def __init__(self) -> None:
        self.seen: list[Seen] = []
        self.copies: dict[Entry, Copy] = {}

    def choose(
        self, queue: NaiveQueue, legal: Sequence[tuple[NaiveConsumer, Copy]]
    ) -> tuple[NaiveConsumer, Copy] | None:
        """The next delivery of that queue, if it is among those."""
        consumers = {each.number for each in queue.consumers}
        for seen in self.seen:
            if seen.consumer not in consumers:
                continue
            for consumer, copy in legal:
                if consumer.number == seen.consumer and self.is_same(seen.entry, copy):
                    self.seen.remove(seen)
                    if (seen.redelivered, seen.failures) != (copy.redelivered, copy.count):
                        fail(f"{seen} came with other flags than redelivered {copy.redelivered} and {copy.count}")
                    return consumer, copy
            return None
        return None

    def is_same(self, entry: Entry, copy: Copy) -> bool:
        """Whether the broker's entry is the naive model's copy; from the first time on they belong together."""
        if entry in self.copies or copy.tag is not None:
            return self.copies.get(entry) is copy
        if body_of(entry.message) != copy.note.body:
            return False
        self.copies[entry] = copy
        copy.tag = "known"
        return True


class OddLength(Filter):
    """A consumer that wants every second message."""

    __slots__ = ()

    def accepts(self, message: Message) -> bool:
        """By the last letter of its key."""
        return message.routing_key.endswith(("a", "1"))

    def __reduce__(self) -> tuple[Any, ...]:
        return OddLength, ()


def wants_odd(note: Note) -> bool:
    """What `OddLength` is to the naive model."""
    return note.key.endswith(("a", "1"))


class Shared(NamedTuple):
    """A window of both models, and the owner whose consumers may use it."""

    owner: int
    window: Window
    room: Room


def body_of(message: Message) -> bytes:
    """The body of a message in 0-9-1's encoding."""
    content = message.content
    assert isinstance(content, ClassicContent)
    return content.body


def classic_content(
    body: bytes, headers: dict[str, Any] | None, priority: int | None, milliseconds: int | None
) -> ClassicContent:
    """A message as a client of 0-9-1 would write it."""
    properties = BasicProperties(
        headers=headers, priority=priority, expiration=None if milliseconds is None else str(milliseconds)
    )
    return ClassicContent(AMQP_0_9_1, properties.encode(TABLES), TABLES, body)


class Both:
    """Both models. Numbers name owners, consumers and transactions in both; it pickles."""

    def __init__(self) -> None:
        self.broker = Broker()
        self.record = Record()
        self.naive = NaiveBroker(self.record)
        self.now = 0.0
        self.owners: dict[int, Owner] = {}
        self.consumers: dict[int, Consumer] = {}
        self.transactions: dict[int, Transaction] = {}
        self.windows: list[Shared] = []
        self.bodies = 0

    def copied(self) -> Both:
        """What comes out when it is pickled and read back."""
        copy: Both = loads(dumps(self))
        return copy

    # Doing.

    def do(self, command: Command, naive: Callable[[], Any], *, makes: str = "") -> tuple[Any, Any]:
        """Carry out `command` in the broker and what it is in the naive model; both results, None if both refuse.

        `makes` says what the number that the naive model gives next will stand for.
        """
        result: Any = None
        fault: Fault | None = None
        try:
            result = self.broker.apply(command, self.now)
        except Fault as caught:
            fault = caught
        if makes and fault is None:
            getattr(self, makes)[self.naive.numbers + 1] = result
        self._watch_effects()
        if fault is not None and (self.record.seen or self.effects):
            fail(f"{command} was refused ({fault}) and had effects")
        self.naive.events.clear()
        try:
            expected = naive()
        except Refusal as refusal:
            if fault is None:
                fail(f"{command} should have been refused: {refusal.kinds}, and gave {result}")
            if fault.kind.value not in refusal.kinds:
                fail(f"{command} was refused because of {fault.kind}, not of {refusal.kinds}")
            return None, None
        if fault is not None:
            fail(f"{command} was refused: {fault}")
        self._compare_effects()
        return result, expected

    def publish(
        self,
        owner: int,
        exchange: str,
        key: str,
        *,
        size: int = 0,
        headers: dict[str, Any] | None = None,
        priority: int | None = None,
        milliseconds: int | None = None,
        mandatory: bool = False,
        immediate: bool = False,
        transaction: int | None = None,
    ) -> None:
        """Publish a message with a body of its own."""
        self.bodies += 1
        body = b"%d:" % self.bodies + b"." * size
        note = Note(
            body, exchange, key, headers, priority or 0, None if milliseconds is None else milliseconds / 1000
        )
        branch = None if transaction is None else self.transactions[transaction]
        result, expected = self.do(
            Publish(
                self.owners[owner], exchange, key, classic_content(body, headers, priority, milliseconds),
                mandatory, immediate, branch,
            ),
            lambda: self.naive.publish(
                owner, note, mandatory=mandatory, immediate=immediate, transaction=transaction
            ),
        )  # fmt: skip
        if isinstance(result, Published):
            # Whether a consumer got it at once is said only to who asks.
            consumed = result.consumed if immediate else expected[1]
            if (result.routed, consumed, result.refused) != expected:
                fail(f"publishing {body!r} gave {result}, not {expected}")
        elif result != expected:
            fail(f"publishing {body!r} gave {result}, not {expected}")

    def pass_time(self, seconds: float) -> None:
        """Let time pass, from one deadline to the next."""
        end = self.now + seconds
        while self.now < end:
            due = self.broker.next_deadline
            self.now = end if due is None else min(end, max(due, self.now))
            self.broker.handle_timeout(self.now)
            self._watch_effects()
            self.naive.events.clear()
            self.naive.pass_time(self.now)
            self._compare_effects()
            if due is not None and due <= self.now and self.broker.next_deadline == due:
                fail(f"a deadline stays {due} after it was handled at {self.now}")

    def _watch_effects(self) -> None:
        numbers = {consumer: number for number, consumer in self.consumers.items()}
        self.effects: list[Event] = []
        while self.broker.effects:
            effect = self.broker.effects.popleft()
            if isinstance(effect, Deliver):
                entry = effect.entry
                seen = Seen(numbers[effect.consumer], entry, entry.redelivered, entry.delivery_count)
                self.record.seen.append(seen)
            elif isinstance(effect, Cancelled):
                self.effects.append(Event("cancelled", numbers[effect.consumer]))
            elif isinstance(effect, NodeDeleted):
                self.effects.append(Event("deleted", (effect.kind, effect.name)))
            else:
                fail(f"unexpected {effect}")

    def _compare_effects(self) -> None:
        if self.record.seen:
            fail(f"these deliveries may not be made: {self.record.seen}")
        if sorted(map(repr, self.effects)) != sorted(map(repr, self.naive.events)):
            fail(f"effects {self.effects}, not {self.naive.events}")

    # Comparing.

    def check(self) -> None:
        """Both have the same exchanges, bindings, queues, messages in their order, owners, windows."""
        vhost = self.broker.vhosts["/"]
        naive = self.naive
        named = {name: each.type for name, each in vhost.exchanges.items() if each.type not in ("system", "failover")}
        same(named, {name: each.type for name, each in naive.exchanges.items()}, "exchanges")
        same(list(vhost.queues), list(naive.queues), "queues")
        same(vhost.bindings, len(naive.bindings), "bindings")
        for name, exchange in vhost.exchanges.items():
            same(len(exchange.bindings), sum(each.source == name for each in naive.bindings), f"bindings of {name}")
        for name, queue in vhost.queues.items():
            self._check_queue(queue, naive.queues[name])
        for number, consumer in self.consumers.items():
            same(not consumer.is_cancelled, number in naive.consumers, f"consumer {number}")
        for shared in self.windows:
            same((shared.window.messages, shared.window.octets), (shared.room.messages, shared.room.octets), "window")
        self._check_messages()

    def _check_queue(self, queue: Queue, naive: NaiveQueue) -> None:
        entries, copies = list(queue.available()), naive.ordered()
        same([body_of(each.message) for each in entries], [each.note.body for each in copies], queue.name)
        for entry, copy in zip(entries, copies, strict=True):
            if not self.record.is_same(entry, copy):
                fail(f"{entry} isn't the one that it should be")
            self._check_entry(entry, copy)
        same(queue.ready, len(copies), f"ready of {queue.name}")
        same(queue.unsettled, len(naive.held()), f"unsettled of {queue.name}")
        same(queue.octets, sum(len(each.note.body) for each in copies), f"octets of {queue.name}")
        same(len(queue.consumers), len(naive.consumers), f"consumers of {queue.name}")

    def _check_entry(self, entry: Entry, copy: Copy) -> None:
        same((entry.redelivered, entry.delivery_count), (copy.redelivered, copy.count), f"flags of {entry}")
        message, note = entry.message, copy.note
        same((message.exchange, message.routing_key), (note.exchange, note.key), f"address of {entry}")
        deaths = [
            (each.queue, each.reason, each.count, each.exchange, each.routing_keys, int(each.time))
            for each in message.content.deaths
        ]
        same(deaths, [(*each[:5], int(each.time)) for each in note.deaths], f"deaths of {entry}")

    def _check_messages(self) -> None:
        """Every message is in one state, the same in both; and what the broker counts of it is right."""
        alive: dict[Message, int] = {}
        for entry, copy in self.record.copies.items():
            same(entry.state.value, copy.state, f"state of {entry}")
            if entry.state is not State.ARCHIVED:
                alive[entry.message] = alive.get(entry.message, 0) + 1
            if entry.state is State.ACQUIRED:
                owner = None if copy.owner is None else self.owners[copy.owner]
                same(entry.owner, owner, f"owner of {entry}")
                if owner is not None and entry not in owner.held:
                    fail(f"{owner} doesn't know that it has {entry}")
        for message, count in alive.items():
            same(message.copies, count, f"copies of {message}")
        kept = sum(each.content.octets + MESSAGE_OCTETS + PLACE_OCTETS * count for each, count in alive.items())
        same(self.broker.octets, kept, "octets of the broker")
        waiting = [each.expires for each in self.naive.every if each.state == "available" and each.expires is not None]
        due = self.broker.next_deadline
        if waiting and (due is None or due > min(waiting)):
            fail(f"the next deadline is {due}, and a message expires at {min(waiting)}")


def same(actual: object, expected: object, what: str) -> None:
    """Both models say the same."""
    if actual != expected:
        fail(f"{what}: the broker has {actual}, the naive model {expected}")


OUTCOMES = {"accept": Outcome.ACCEPT, "reject": Outcome.REJECT, "release": Outcome.RELEASE}
LIFETIMES = {each.value: each for each in Lifetime}

__all__ = ["LIFETIMES", "OUTCOMES", "Both", "OddLength", "Shared", "classic_content", "same", "wants_odd"]
