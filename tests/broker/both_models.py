"""The broker and the naive model side by side: what is done to one is done to the other, and they are compared."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from amqp_sansio import AMQP_0_9_1
from amqp_sansio._classic.codec.dialect import get_dialect
from amqp_sansio.amqp_0_9_1 import BasicProperties
from amqp_sansio.broker import Broker, BrokerLimits, Fault, Outcome
from amqp_sansio.broker.contents.classic import ClassicContent
from amqp_sansio.broker.model.commands import Command, Publish, Published
from amqp_sansio.broker.model.consumer import Consumer, Window
from amqp_sansio.broker.model.content import MESSAGE_OCTETS, PLACE_OCTETS, Filter, Measure, Message
from amqp_sansio.broker.model.effects import Blocked, Cancelled, Deliver, NodeDeleted, Unblocked
from amqp_sansio.broker.model.entry import Entry
from amqp_sansio.broker.model.exchange import Exchange
from amqp_sansio.broker.model.owner import Owner, Transaction
from amqp_sansio.broker.model.queue import Queue
from amqp_sansio.broker.model.states import State
from amqp_sansio.broker.snapshot import dumps, loads
from tests.broker.naive_model import NaiveBroker
from tests.broker.naive_values import (
    Copy,
    Event,
    NaiveConsumer,
    NaiveExchange,
    NaiveQueue,
    Note,
    Refusal,
    Room,
    Witness,
    fail,
    typed_items,
)

TABLES = get_dialect("0-9-1-rabbit").tables


class Seen(NamedTuple):
    """A delivery that the broker made."""

    consumer: int
    entry: Entry
    redelivered: bool
    failures: int


class Record(Witness):
    """The deliveries of the last command, in their order, and the queues and bodies of its dead letters."""

    def __init__(self) -> None:
        self.seen: list[Seen] = []
        self.letters: list[tuple[str, bytes]] = []
        self.copies: dict[Entry, Copy] = {}

    def choose(
        self, queue: NaiveQueue, legal: Sequence[tuple[NaiveConsumer, Copy]]
    ) -> tuple[NaiveConsumer, Copy] | None:
        """The next delivery, if it is among those; the order between queues matters where they share a window."""
        if not self.seen:
            return None
        seen = self.seen[0]
        for consumer, copy in legal:
            if consumer.number == seen.consumer and self.is_same(seen.entry, copy):
                del self.seen[0]
                if (seen.redelivered, seen.failures) != (copy.redelivered, copy.count):
                    fail(f"{seen} came with other flags than redelivered {copy.redelivered} and {copy.count}")
                return consumer, copy
        return None

    def choose_letter(self, letters: Sequence[tuple[NaiveQueue, Note, str]]) -> int:
        """The one of them that the broker sent first: between queues there is no order."""
        firsts = [(queue.name, note.body) for queue, note, _ in letters]
        for letter in self.letters:
            if letter in firsts:
                self.letters.remove(letter)
                return firsts.index(letter)
        return 0

    def is_same(self, entry: Entry, copy: Copy) -> bool:
        """Whether the broker's entry is the naive model's copy; from the first time on they belong together."""
        if entry in self.copies or copy.tag is not None:
            return self.copies.get(entry) is copy
        if (entry.queue.name, body_of(entry.message)) != (copy.queue.name, copy.note.body):
            return False
        self.copies[entry] = copy
        copy.tag = "known"
        copy.note.kept = entry.message.content.octets
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


class KeyLength(Measure):
    """A consumer whose messages take of its windows what their keys are long."""

    __slots__ = ()

    def octets_of(self, message: Message) -> int:
        """What its key is long, and one."""
        return len(message.routing_key) + 1

    def __reduce__(self) -> tuple[Any, ...]:
        return KeyLength, ()


def key_length(note: Note) -> int:
    """What `KeyLength` is to the naive model."""
    return len(note.key) + 1


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
    body: bytes,
    headers: dict[str, Any] | None,
    priority: int | None,
    milliseconds: int | None,
    persistent: bool = False,
) -> ClassicContent:
    """A message as a client of 0-9-1 would write it."""
    properties = BasicProperties(
        headers=headers,
        delivery_mode=2 if persistent else None,
        priority=priority,
        expiration=None if milliseconds is None else str(milliseconds),
    )
    return ClassicContent(AMQP_0_9_1, properties.encode(TABLES), TABLES, body)


class Both:
    """Both models. Numbers name owners, consumers and transactions in both; it pickles.

    `limits` are fields of `BrokerLimits`. Without `history` none is kept, and the order of dead letters isn't known.
    """

    def __init__(self, limits: dict[str, int] | None = None, *, history: bool = True) -> None:
        told = limits or {}
        self.broker = Broker(BrokerLimits(**told), history=LONG if history else 0)
        self.record = Record()
        self.naive = NaiveBroker(self.record, told)
        self.effects: list[Event] = []
        self.happened: list[tuple[str, str, bytes]] = []
        self.blocked = False
        self.result: Any = None
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

        `makes` says what the number that the naive model gives next will stand for. `self.result` is the broker's
        result when the naive model is asked. If time has passed meanwhile, both first do what is due.
        """
        late = self.now > self.naive.now
        result: Any = None
        fault: Fault | None = None
        try:
            result = self.broker.apply(command, self.now)
        except Fault as caught:
            fault = caught
        if makes and fault is None:
            getattr(self, makes)[self.naive.numbers + 1] = result
        self.result = result
        self._watch_effects()
        if fault is not None and (self.record.seen or self.effects or self.happened) and not late:
            fail(f"{command} was refused ({fault}) and had effects")
        self._forget()
        if late:
            self.naive.pass_time(self.now)
        try:
            expected = naive()
        except Refusal as refusal:
            if fault is None:
                fail(f"{command} should have been refused: {refusal.kinds}, and gave {result}")
            if fault.kind.value not in refusal.kinds:
                fail(f"{command} was refused because of {fault.kind}, not of {refusal.kinds}")
            self._compare_effects()
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
        persistent: bool = False,
        alternates: bool = True,
        chained: bool = False,
        rerouted: bool = False,
        promised: bool = False,
    ) -> None:
        """Publish a message with a body of its own."""
        self.bodies += 1
        body = b"%d:" % self.bodies + b"." * size
        content = classic_content(body, headers, priority, milliseconds, persistent)
        note = Note(
            body,
            exchange,
            key,
            headers,
            priority or 0,
            None if milliseconds is None else milliseconds / 1000,
            persistent=persistent,
            kept=content.octets,
        )
        branch = None if transaction is None else self.transactions[transaction]
        result, expected = self.do(
            Publish(
                self.owners[owner],
                exchange,
                key,
                content,
                mandatory,
                immediate,
                branch,
                alternates,
                chained,
                rerouted,
                promised,
            ),
            lambda: self.naive.publish(
                owner,
                note,
                mandatory=mandatory,
                immediate=immediate,
                transaction=transaction,
                alternates=alternates,
                chained=chained,
                rerouted=rerouted,
                promised=promised,
            ),
        )
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
            self._time_out()
            if due is not None and due <= self.now and self.broker.next_deadline == due:
                fail(f"a deadline stays {due} after it was handled at {self.now}")

    def _time_out(self) -> None:
        self.broker.handle_timeout(self.now)
        self._watch_effects()
        self._forget()
        self.naive.pass_time(self.now)
        self._compare_effects()

    def restart(self) -> None:
        """Stop both and start them again: who was there isn't any more."""
        if self.naive.consumers:
            # What they are still given isn't told afterwards.
            self._time_out()
        self.broker.restart(self.now)
        self._watch_effects()
        if self.effects or self.record.seen:
            fail("somebody was told of the restart")
        self._forget()
        self.naive.restart(self.now)
        self._compare_effects()
        self.windows.clear()
        self.blocked = self.broker.ledger.is_blocked

    def hold_publishers(self, reason: str) -> None:
        """Hold publishers up, until `reason` is ""."""
        self.broker.hold_publishers(reason)
        self._watch_effects()

    def _watch_effects(self) -> None:
        numbers = {consumer: number for number, consumer in self.consumers.items()}
        self.effects = []
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
            elif isinstance(effect, (Blocked, Unblocked)):
                if isinstance(effect, Blocked) is self.blocked:
                    fail(f"{effect} is told twice")
                self.blocked = not self.blocked
            else:
                fail(f"unexpected {effect}")
        self._watch_history()

    def _watch_history(self) -> None:
        self.happened = []
        if self.broker.history is not None:
            for each in self.broker.history.records:
                assert isinstance(each.content, ClassicContent)
                self.happened.append((each.kind, each.queue, each.content.body))
                if each.kind == "dead-lettered":
                    self.record.letters.append((each.queue, each.content.body))
            self.broker.history.records.clear()

    def _forget(self) -> None:
        self.naive.events.clear()
        self.naive.history.clear()

    def _compare_effects(self) -> None:
        if self.record.seen:
            fail(f"these deliveries may not be made: {self.record.seen}")
        self.record.letters.clear()
        if sorted(map(repr, self.effects)) != sorted(map(repr, self.naive.events)):
            fail(f"effects {self.effects}, not {self.naive.events}")
        happened, expected = Counter(self.happened), Counter(self.naive.history)
        if self.broker.history is not None and happened != expected:
            fail(f"the history has {happened - expected} too much, and {expected - happened} too little")

    # Comparing.

    def check(self) -> None:
        """Both have the same exchanges, bindings, queues, messages in their order, owners, windows, transactions."""
        vhost = self.broker.vhosts["/"]
        naive = self.naive
        named = {name: each for name, each in vhost.exchanges.items() if name not in ("amq.system", "amq.failover")}
        same(list(named), list(naive.exchanges), "exchanges")
        same(list(vhost.queues), list(naive.queues), "queues")
        same(vhost.bindings, len(naive.bindings), "bindings")
        for name, exchange in named.items():
            self._check_exchange(exchange, naive.exchanges[name])
        for destination, sources in vhost.sources.items():
            kind = "exchange" if isinstance(destination, Exchange) else "queue"
            bound = [each.source for each in naive.bindings if each[1:3] == (kind, destination.name)]
            same(sources, dict(Counter(bound)), f"sources of {destination}")
        for name, queue in vhost.queues.items():
            self._check_queue(queue, naive.queues[name])
        for number, consumer in self.consumers.items():
            same(not consumer.is_cancelled, number in naive.consumers, f"consumer {number}")
        for shared in self.windows:
            same((shared.window.messages, shared.window.octets), (shared.room.messages, shared.room.octets), "window")
            using = [self.consumers[each.number] for each in naive.consumers.values() if shared.room in each.rooms]
            same(set(shared.window.consumers.values()), set(using), "consumers of a window")
        self._check_messages()
        self._check_owners()
        self._check_octets()
        if self.broker.dead or self.broker.runnable:
            fail(f"something is left to be done: {self.broker.dead}, {self.broker.runnable}")

    def _check_exchange(self, exchange: Exchange, naive: NaiveExchange) -> None:
        same(
            (exchange.type, exchange.durable, exchange.auto_delete, exchange.internal, exchange.alternate),
            (naive.type, naive.durable, naive.auto_delete, naive.internal, naive.alternate),
            exchange.name,
        )
        bindings = [(*each.key[:3], typed_items(dict(each.arguments))) for each in exchange.bindings.values()]
        expected = [each[1:] for each in self.naive.bindings if each.source == exchange.name]
        same(bindings, expected, f"bindings of {exchange.name}")

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
        numbers = {consumer: number for number, consumer in self.consumers.items()}
        consumers = list(queue.consumers.values())
        same([numbers[each] for each in consumers], [each.number for each in naive.consumers], queue.name)
        waiting = [each for each in consumers if each.waiting and each.acquires]
        same(
            sorted(each.number for turns in queue.turns.values() for each in turns),
            sorted(each.number for each in waiting),
            f"turns of {queue.name}",
        )
        exclusive = None if naive.exclusive is None else self.owners[naive.exclusive]
        creator = None if naive.creator not in self.naive.owners else self.owners[naive.creator]
        lifetime = None if queue.lifetime is None else queue.lifetime.value
        same(
            (
                queue.durable,
                queue.auto_delete,
                queue.exclusive_to,
                queue.alternate,
                queue.outlives,
                lifetime,
                queue.creator,
                queue.links,
                queue.options.expires is None or queue.used_at,
            ),
            (
                naive.durable,
                naive.auto_delete,
                exclusive,
                naive.alternate,
                naive.outlives,
                naive.lifetime,
                creator,
                len(naive.links),
                "x-expires" not in naive.arguments or naive.used,
            ),
            queue.name,
        )
        if queue.options.single_active_consumer:
            active = None if naive.active is None else self.consumers[naive.active.number]
            same(queue.active, active, f"the active consumer of {queue.name}")

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
        """Every message is in one state, the same in both."""
        for entry, copy in self.record.copies.items():
            same(entry.state.value, copy.state, f"state of {entry}")
            if entry.state is State.ACQUIRED:
                self._check_entry(entry, copy)
                owner = None if copy.owner is None else self.owners[copy.owner]
                consumer = None if copy.consumer is None else self.consumers[copy.consumer.number]
                transaction = None if copy.transaction is None else self.transactions[copy.transaction]
                same(
                    (entry.owner, entry.consumer, entry.transaction), (owner, consumer, transaction), f"who has {entry}"
                )

    def _check_owners(self) -> None:
        naive = self.naive
        same(set(self.broker.owners.values()), {self.owners[each] for each in naive.owners}, "owners")
        for number, each in naive.owners.items():
            owner = self.owners[number]
            held = {
                entry for entry, copy in self.record.copies.items() if copy.state == "acquired" and copy.owner == number
            }
            same(set(owner.held), held, f"held by {owner}")
            consumers = {self.consumers[each.number] for each in naive.consumers.values() if each.owner == number}
            same(set(owner.consumers.values()), consumers, f"consumers of {owner}")
            exclusive = {each.name for each in naive.queues.values() if each.exclusive == number}
            same(set(owner.exclusive), exclusive, f"exclusive queues of {owner}")
            same(owner.parent, None if each.parent is None else self.owners[each.parent], f"parent of {owner}")
        going = {number for number, each in naive.branches.items() if not each.is_over}
        same(set(self.broker.transactions.values()), {self.transactions[each] for each in going}, "transactions")
        same(self.broker.pending_octets, sum(naive.branches[each].octets for each in going), "octets of transactions")

    def _check_octets(self) -> None:
        """What the broker counts of its messages is right, and so are its deadlines."""
        alive: dict[Message, int] = {}
        for entry in self.record.copies:
            if entry.state is not State.ARCHIVED:
                alive[entry.message] = alive.get(entry.message, 0) + 1
        for message, count in alive.items():
            same(message.copies, count, f"copies of {message}")
        kept = sum(each.content.octets + MESSAGE_OCTETS + PLACE_OCTETS * count for each, count in alive.items())
        same(self.broker.ledger.octets, kept, "octets of the broker")
        same(self.broker.ledger.is_blocked, self.blocked, "whether publishers are held up")
        if not self.broker.ledger.held_up:
            limits = self.broker.limits
            total = kept + self.broker.ledger.topology if kept else 0
            if (total > limits.memory_high and not self.blocked) or (total <= limits.memory_low and self.blocked):
                fail(f"publishers are held up: {self.blocked}, with {kept} octets")
        waiting = [each.expires for each in self.naive.every if each.state == "available" and each.expires is not None]
        waiting += [
            each.used + each.arguments["x-expires"] / 1000
            for each in self.naive.queues.values()
            if "x-expires" in each.arguments and not each.consumers
        ]
        due = self.broker.next_deadline
        if waiting and (due is None or due > min(waiting)):
            fail(f"the next deadline is {due}, and something expires at {min(waiting)}")


def same(actual: object, expected: object, what: str) -> None:
    """Both models say the same."""
    if actual != expected:
        fail(f"{what}: the broker has {actual}, the naive model {expected}")


LONG = 1_000_000
"""Records of what happens: all."""
OUTCOMES = {"accept": Outcome.ACCEPT, "reject": Outcome.REJECT, "release": Outcome.RELEASE}
