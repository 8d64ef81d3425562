"""A whole broker, reached by octets alone, beside the naive model: what all tests of that kind have in common.

A `Stage` is a real `Hub`, real client engines that are joined to it in memory (their octets are cut into pieces), a
clock, and a `NaiveBroker`. Every command is carried out twice. A `tell_...` method of the version's subclass gives it
to a client's engine, lets all octets flow, and says in an `Answer` what the client was told; then the naive model
carries it out and judges: whether it should have been refused and with which error, whether each delivery that
clients saw since was one that the broker was free to make, whether any is missing, which consumers were ended.
`check` compares what lies in the queues. Who disagrees raises `Disagreement`.

How a version uses it:

- Subclass `Stage`. An `Actor` is what has an owner of its own in the broker (a channel, a session). Write `connect`
  and `open`, the `tell_...` methods, `error_of`, `body_of`, and `observe`, which takes the events of a client and
  calls `saw` for deliveries and `ended` for consumers that the broker ended. An event that nobody expects is a
  disagreement: let `observe` raise it.
- Places and handles are tuples that begin with the number of their actor's owner: a place names a consumer,
  (owner, tag); a handle names a delivery, (owner, numbers that order it). `held` has by handle what may be settled.
- What only this version has (fetching, credit, confirms) are methods of the subclass that end in
  `judge(actor, action, answer, command)`, where `command` asks the naive model.
- A `RuleBasedStateMachine` of the version draws the commands, and calls `check` as its invariant.

A stage is usable without hypothesis as well: call its commands and then `check`.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Hashable, Iterator, Sequence
from itertools import cycle
from typing import Any, ClassVar, NamedTuple, TypeAlias, TypeVar

from amqp_sansio import CloseHint, Event, Signal
from amqp_sansio.broker import Client, Hub, Settings
from amqp_sansio.broker.model.content import Content
from amqp_sansio.broker.model.queue import Queue
from amqp_sansio.broker.snapshot import dumps, loads
from tests.broker.naive_model import NaiveBroker
from tests.broker.naive_values import Copy, NaiveConsumer, NaiveQueue, Note, Refusal, Room, Witness, fail

R = TypeVar("R")
Place: TypeAlias = tuple[Any, ...]
"""A consumer: the number of its actor's owner, and its tag."""
Handle: TypeAlias = tuple[int, ...]
"""A delivery: the number of its actor's owner, and numbers that put the deliveries of an actor in their order."""
STEPS = 100_000
"""More turns than any command needs: beyond it the ends talk without end."""
LONG = 10_000
"""More than happens to messages in one command."""


class Error(NamedTuple):
    """What a client was told went wrong: what ended ("connection", "channel", "session", "link", or "request" when
    only the request failed), and the code."""

    scope: str
    code: Hashable


class Answer(NamedTuple):
    """What the client was told about a command: a value that only its version understands, or an error."""

    value: Any = None
    error: Error | None = None


class Seen(NamedTuple):
    """A delivery as its client saw it. `redelivered`, `failures` (how often deliveries of it failed) and `address`
    (exchange and key) are None where the version doesn't tell; `event` is what `Ground.check_delivery` may look into.
    `handle` None: nothing to settle, as with consumers that settle by themselves."""

    line: Line
    place: Place
    handle: Handle | None
    body: bytes
    redelivered: bool | None = None
    failures: int | None = None
    address: tuple[str, str] | None = None
    event: Any = None


class Line:
    """A client's engine, the broker's end of its connection, and what is between them. `owner` is the connection's
    number in the naive model, None where connections own nothing."""

    def __init__(self, stage: Ground, engine: Any) -> None:
        self.stage = stage
        self.engine = engine
        self.end: Client = stage.hub.connect()
        self.owner: int | None = None
        self.is_lost = False

    def turn(self) -> bool:
        """Carry what there is both ways; whether there was anything."""
        if self.is_lost:
            return False
        now = self.stage.now
        moved = self.take()
        out = self.engine.data_to_send(now)
        for piece in self.stage.cut(out):
            self.end.receive_data(piece, now)
            self.end.next_event()
        self.end.next_event()
        back = self.end.data_to_send(now)
        for piece in self.stage.cut(back):
            self.engine.receive_data(piece, now)
            self.take()
        moved = moved or bool(out) or bool(back)
        if not moved and {self.end.close_hint, self.engine.close_hint} != {CloseHint.KEEP}:
            self.lose()
        return moved

    def take(self) -> bool:
        """Let the stage see all events; whether there were any."""
        found = False
        while not isinstance(event := self.engine.next_event(), Signal):
            found = True
            self.stage.observe(self, event)
        return found

    def lose(self) -> None:
        """The transport is gone."""
        if self.is_lost:
            return
        self.is_lost = True
        now = self.stage.now
        self.end.connection_lost("cut", now)
        self.end.next_event()
        self.engine.connection_lost("cut", now)
        self.take()


class Actor:
    """Who gives commands: `owner` is its number in the naive model, `core` the engine's channel or session, `branch`
    the transaction that it is in, as the naive model numbers it."""

    def __init__(self, line: Line, owner: int, core: Any) -> None:
        self.line, self.owner, self.core = line, owner, core
        self.branch: int | None = None
        self.error: Error | None = None
        self.is_over = False

    def __repr__(self) -> str:
        return f"<Actor {self.owner}>"


class Ground(Witness):
    """The broker, its clients, the clock, and the naive model; who sees what, and whether both models agree. `sizes`
    are those of the pieces that octets are cut into, in turns."""

    sees_order = False

    def __init__(self, sizes: Sequence[int] = (1 << 16,), settings: Settings | None = None) -> None:
        self.hub = Hub((settings or Settings(users={"guest": "guest"})).but(history=LONG))
        self.now = 0.0
        self.naive = NaiveBroker(self)
        self.lines: list[Line] = []
        self.actors: list[Actor] = []
        self.places: dict[Place, int] = {}
        """The naive model's numbers of consumers."""
        self.rooms: dict[Place, list[Room]] = {}
        self.held: dict[Handle, Copy] = {}
        """What clients have and may settle, in the order in which it came to them."""
        self.undecided: dict[int, dict[Handle, Copy]] = {}
        """By branch, what was settled in a transaction that isn't over."""
        self.seen: list[Seen] = []
        self.told_ends: list[Place] = []
        self.bodies = 0
        self.waiting: list[tuple[Line, Callable[[], object]]] | None = None
        self.is_ordered = False
        """Whether each client was served in the order that the naive model's commands have."""
        self._sizes = cycle(sizes)

    # What a version says.

    @abstractmethod
    def connect(self) -> Line:
        """A client that is logged in; `join` adds its engine. Sets the line's owner where connections own things."""

    @abstractmethod
    def open(self, line: Line) -> Actor:
        """A new channel or session; `enter` adds it."""

    @abstractmethod
    def observe(self, line: Line, event: Event) -> None:
        """Take an event of a client."""

    @abstractmethod
    def error_of(self, action: str, kind: str) -> Error | None:
        """What a client is told when `action` ("declare_queue", "publish"...) is refused for `kind` by the naive
        model; None: nothing, it counts as done (deleting what isn't there, to RabbitMQ)."""

    @abstractmethod
    def body_of(self, content: Content) -> bytes:
        """The body that a client of this version would see."""

    def check_delivery(self, seen: Seen, copy: Copy) -> None:
        """Compare what else the version tells of a delivery."""

    def end_by_error(self, actor: Actor, error: Error) -> None:
        """What an error ended is gone in the naive model too."""
        if error.scope == "connection":
            self.leave_line(actor.line)
        elif error.scope != "request":
            self.leave(actor)

    def tells_end(self, place: Place) -> bool:
        """Whether the client of a consumer is told that it has ended."""
        return True

    # What a version calls.

    def join(self, engine: Any) -> Line:
        """A connection for a client's engine."""
        line = Line(self, engine)
        self.lines.append(line)
        self.pump()
        return line

    def enter(self, line: Line, core: Any, parent: int | None = None) -> Actor:
        """An actor with an owner of its own in the naive model."""
        actor = Actor(line, self.naive.open_owner(parent), core)
        self.actors.append(actor)
        return actor

    def leave(self, actor: Actor, redelivered: bool = True) -> None:
        """An actor is gone: so it is for the naive model."""
        self.forget(actor)
        self.naive.close_owner(actor.owner, redelivered)

    def forget(self, actor: Actor) -> None:
        """Nothing is known of an actor any more; the naive model isn't told."""
        actor.is_over = True
        if actor in self.actors:
            self.actors.remove(actor)
        for place in [each for each in self.places if each[0] == actor.owner]:
            self.forget_place(place)
        for handle in [each for each in self.held if each[0] == actor.owner]:
            del self.held[handle]

    def forget_place(self, place: Place) -> None:
        """A consumer is gone."""
        self.places.pop(place, None)
        self.rooms.pop(place, None)

    def saw(self, seen: Seen) -> None:
        """A client got a message."""
        self.seen.append(seen)

    def ended(self, place: Place) -> None:
        """A client was told that its consumer has ended."""
        self.told_ends.append(place)

    def held_by(self, actor: Actor) -> list[Handle]:
        """What an actor may settle, in its order."""
        return [each for each in self.held if each[0] == actor.owner]

    def places_of(self, actor: Actor) -> list[Place]:
        return [each for each in self.places if each[0] == actor.owner]

    def new_body(self, size: int = 0) -> bytes:
        """A body that no other message has."""
        self.bodies += 1
        return b"%d:" % self.bodies + b"." * size

    def cut(self, octets: bytes) -> Iterator[bytes]:
        """The pieces of what one end sent."""
        at = 0
        while at < len(octets):
            size = next(self._sizes)
            yield octets[at : at + size]
            at += size

    def pump(self) -> None:
        """Carry octets until nobody sends any; the clock stands still. Not yet for commands that go `together`."""
        if self.waiting is not None:
            return
        for _ in range(STEPS):
            if not any([line.turn() for line in self.lines]):
                self.lines = [line for line in self.lines if not line.is_lost]
                return
        fail("the ends talk without end")

    def errors_of(self, actor: Actor, action: str, refusal: Refusal) -> set[Error | None]:
        """What a client may be told of a refusal: that any of its faults is the reason."""
        return {self.error_of(action, kind) for kind in refusal.kinds}

    def judge(self, actor: Actor, action: str, answer: Answer, command: Callable[[], R]) -> R | None:
        """Let the naive model carry out what a client has done already; its result, None if both refuse.

        Among commands that are under way `together` it waits for its turn, and there is no result yet.
        """
        if self.waiting is not None:
            self.waiting.append((actor.line, command))
            return None
        self.naive.events.clear()
        refusal: Refusal | None = None
        result: R | None = None
        try:
            result = command()
        except Refusal as caught:
            refusal = caught
        if refusal is None:
            if answer.error is not None:
                fail(f"{action} was refused: {answer.error}")
        else:
            right = self.errors_of(actor, action, refusal)
            if answer.error not in right:
                fail(f"{action} is refused because of {refusal.kinds}: {answer.error}, not one of {right}")
            if answer.error is not None:
                self.end_by_error(actor, answer.error)
        self.compare()
        return result

    def together(self, commands: Sequence[Callable[[], object]]) -> None:
        """Commands of several clients that are all under way before the broker sees the first; it takes those of the
        first line first. For those that nothing can be wrong with, and whose `tell_...` doesn't need the answer."""
        waiting: list[tuple[Line, Callable[[], object]]] = []
        self.waiting = waiting
        for each in commands:
            each()
        self.waiting = None
        self.pump()
        self.naive.events.clear()
        self.is_ordered = True
        for line in self.lines:
            for command in [command for other, command in waiting if other is line]:
                command()
        self.is_ordered = False
        self.compare()

    def snapshot(self) -> None:
        """Go on with what comes out when the broker is pickled and read back."""
        self.hub = loads(dumps(self.hub))
        for line in self.lines:
            line.end = self.hub.clients[line.end.number]

    def leave_line(self, line: Line) -> None:
        """A connection is gone with all its actors."""
        for actor in [each for each in self.actors if each.line is line]:
            if line.owner is None:
                self.leave(actor)
            else:
                self.forget(actor)
        if line.owner is not None:
            self.naive.close_owner(line.owner)
            line.owner = None

    def advance(self, seconds: float) -> None:
        """Let time pass, from one deadline to the next."""
        end = self.now + seconds
        while self.now < end:
            due = self.hub.next_deadline
            self.now = end if due is None else min(end, max(due, self.now))
            self.hub.handle_timeout(self.now)
            for line in self.lines:
                line.end.handle_timeout(self.now)
                line.engine.handle_timeout(self.now)
            self.pump()
            self.naive.events.clear()
            self.naive.pass_time(self.now)
            self.compare()
            if due is not None and due <= self.now and self.hub.next_deadline == due:
                fail(f"a deadline stays {due} after it was handled at {self.now}")

    # Comparing.

    def choose(
        self, queue: NaiveQueue, legal: Sequence[tuple[NaiveConsumer, Copy]]
    ) -> tuple[NaiveConsumer, Copy] | None:
        """The next delivery of that queue that one of the clients saw, if it is among those.

        Nobody knows in which order different clients were served: the first in the queue's order is taken first. Where
        more than one command is under way, what a later one brought about must not be taken for an earlier one's.
        """
        order = {copy: index for index, copy in enumerate(queue.ordered())}
        here = {each.number for each in queue.consumers}
        heads: dict[Line, Seen] = {}
        for seen in self.seen:
            if self.is_ordered or self.places.get(seen.place) in here:
                heads.setdefault(seen.line, seen)
        found = [
            (order[copy], seen, consumer, copy)
            for seen in heads.values()
            for consumer, copy in legal
            if consumer.number == self.places.get(seen.place) and copy.note.body == seen.body
        ]
        # Who only looks may have looked before it was taken, and not afterwards; a commit brings several at once, so
        # that what a client saw later may come before that on its line.
        seen_by = {(self.places.get(each.place), each.body) for each in self.seen}
        shown = {id(copy) for looks, copy in legal if not looks.acquires and (looks.number, copy.note.body) in seen_by}
        found = [each for each in found if not each[2].acquires or id(each[3]) not in shown]
        if not found:
            return None
        _, seen, consumer, copy = min(found, key=lambda each: each[0])
        self.seen.remove(seen)
        self._check_flags(seen, copy)
        if seen.handle is not None and not consumer.settles:
            self.held[seen.handle] = copy
        return consumer, copy

    def choose_letter(self, letters: Sequence[tuple[NaiveQueue, Note, str]]) -> int:
        """The one of them that the broker sent first: between queues there is no order."""
        history = self.hub.model.history
        assert history is not None
        firsts = [(queue.name, note.body) for queue, note, _ in letters]
        for each in history.records:
            if each.kind == "dead-lettered" and (each.queue, self.body_of(each.content)) in firsts:
                history.records.remove(each)
                return firsts.index((each.queue, self.body_of(each.content)))
        return 0

    def _check_flags(self, seen: Seen, copy: Copy) -> None:
        if seen.redelivered is not None:
            same(seen.redelivered, copy.redelivered, f"redelivered of {seen}")
        if seen.failures is not None:
            same(seen.failures, copy.count, f"failures of {seen}")
        if seen.address is not None:
            same(seen.address, (copy.note.exchange, copy.note.key), f"address of {seen}")
        self.check_delivery(seen, copy)

    def compare(self) -> None:
        """After a command: every delivery was one that may be made, and clients know of the consumers that ended."""
        if self.seen:
            fail(f"these deliveries may not be made: {self.seen}")
        places = {number: place for place, number in self.places.items()}
        gone = [places[each.whom] for each in self.naive.events if each.what == "cancelled" and each.whom in places]
        expected = [each for each in gone if self.tells_end(each)]
        same(sorted(self.told_ends), sorted(expected), "ends of consumers that clients were told of")
        self.told_ends.clear()
        if self.hub.model.history is not None:
            self.hub.model.history.records.clear()
        for place in gone:
            self.forget_place(place)

    def check(self) -> None:
        """Both have the same exchanges, bindings, queues, and messages in their order."""
        vhost = self.hub.model.vhosts["/"]
        naive = self.naive
        named = {name: each.type for name, each in vhost.exchanges.items() if each.type not in ("system", "failover")}
        same(named, {name: each.type for name, each in naive.exchanges.items()}, "exchanges")
        same(sorted(vhost.queues), sorted(naive.queues), "queues")
        for name, exchange in vhost.exchanges.items():
            same(len(exchange.bindings), sum(each.source == name for each in naive.bindings), f"bindings of {name}")
        for name, queue in vhost.queues.items():
            self._check_queue(queue, naive.queues[name])

    def _check_queue(self, queue: Queue, naive: NaiveQueue) -> None:
        entries, copies = list(queue.available()), naive.ordered()
        bodies = [self.body_of(each.message.content) for each in entries]
        same(bodies, [each.note.body for each in copies], queue.name)
        for entry, copy in zip(entries, copies, strict=True):
            same((entry.redelivered, entry.delivery_count), (copy.redelivered, copy.count), f"flags of {entry}")
            message, note = entry.message, copy.note
            same((message.exchange, message.routing_key), (note.exchange, note.key), f"address of {entry}")
            deaths = [
                (each.queue, each.reason, each.count, each.exchange, each.routing_keys)
                for each in message.content.deaths
            ]
            same(deaths, [tuple(each[:5]) for each in note.deaths], f"deaths of {entry}")
        same(queue.unsettled, len(naive.held()), f"unsettled of {queue.name}")
        same(len(queue.consumers), len(naive.consumers), f"consumers of {queue.name}")


def same(actual: object, expected: object, what: str) -> None:
    """Both models say the same."""
    if actual != expected:
        fail(f"{what}: the broker has {actual}, the naive model {expected}")


def same_told(actual: Sequence[object], expected: Sequence[object], what: str) -> None:
    """A client was told the same; None is what it wasn't told."""
    told = tuple([None if mine is None else theirs for mine, theirs in zip(actual, expected, strict=True)])
    same(tuple(actual), told, what)


class Stage(Ground):
    """The broker with its clients and the naive model, and the commands that are carried out in both."""

    queue_compare: ClassVar[Sequence[str]] = ("durable", "exclusive", "auto_delete", "arguments")
    exchange_compare: ClassVar[Sequence[str]] = ("type", "durable", "auto_delete", "internal", "alternate")
    binds_by_arguments: ClassVar[bool] = True

    # What a version says.

    @abstractmethod
    def tell_declare_queue(self, actor: Actor, name: str, options: dict[str, Any]) -> Answer:
        """The value: (name, available messages, consumers), with None for what the version doesn't tell."""

    @abstractmethod
    def tell_delete_queue(self, actor: Actor, name: str, *, if_unused: bool, if_empty: bool) -> Answer:
        """The value: how many messages went, or None."""

    @abstractmethod
    def tell_purge(self, actor: Actor, name: str) -> Answer:
        """The value: how many messages went, or None."""

    @abstractmethod
    def tell_declare_exchange(self, actor: Actor, name: str, options: dict[str, Any]) -> Answer:
        """No value."""

    @abstractmethod
    def tell_delete_exchange(self, actor: Actor, name: str, *, if_unused: bool) -> Answer:
        """No value."""

    @abstractmethod
    def tell_bind(self, actor: Actor, queue: str, exchange: str, key: str, arguments: dict[str, Any]) -> Answer:
        """No value."""

    @abstractmethod
    def tell_unbind(self, actor: Actor, queue: str, exchange: str, key: str, arguments: dict[str, Any]) -> Answer:
        """No value."""

    @abstractmethod
    def tell_publish(self, actor: Actor, note: Note, options: dict[str, Any], branch: int | None) -> Answer:
        """Send a message: `note` has body, exchange, key, headers, priority and ttl in seconds, `options` what the
        machine drew of "mandatory", "immediate" and so on. The value is what `check_published` looks at."""

    @abstractmethod
    def tell_subscribe(self, actor: Actor, queue: str, options: dict[str, Any]) -> tuple[Place, Answer]:
        """Begin to consume; the place is known before the answer."""

    @abstractmethod
    def rooms_for(self, actor: Actor, place: Place, options: dict[str, Any]) -> list[Room]:
        """The windows of a new consumer."""

    @abstractmethod
    def tell_cancel(self, actor: Actor, place: Place) -> Answer:
        """No value."""

    @abstractmethod
    def tell_settle(
        self, actor: Actor, handles: Sequence[Handle], outcome: str, options: dict[str, Any], branch: int | None
    ) -> Answer:
        """`outcome` is "accept", "reject" or "release"; `options` what the machine drew. No value."""

    @abstractmethod
    def settle_flags(self, outcome: str, options: dict[str, Any]) -> dict[str, bool]:
        """The flags (redelivered, failed, excluded) of `NaiveBroker.settle` that it has in this version."""

    @abstractmethod
    def tell_begin(self, actor: Actor) -> Answer:
        """Begin a transaction. No value."""

    @abstractmethod
    def tell_commit(self, actor: Actor, branch: int) -> Answer:
        """The value is what `check_committed` looks at."""

    @abstractmethod
    def tell_roll_back(self, actor: Actor, branch: int) -> Answer:
        """No value."""

    @abstractmethod
    def tell_close(self, actor: Actor) -> Answer:
        """Close the channel or session, as clients do. No value."""

    def queue_told(self, actor: Actor, options: dict[str, Any]) -> dict[str, Any]:
        """The options of a queue for the naive model."""
        owner = actor.owner if actor.line.owner is None else actor.line.owner
        return {**options, "exclusive": owner if options.get("exclusive") else None}

    def check_published(
        self, actor: Actor, note: Note, options: dict[str, Any], answer: Answer, result: tuple[bool, bool, bool] | None
    ) -> None:
        """Compare what a publisher was told with `NaiveBroker.publish`'s result; None: it is in a transaction."""

    def check_committed(self, actor: Actor, answer: Answer, returned: list[Note]) -> None:
        """Compare what a client was told at a commit with what the naive model returns to it."""

    # Commands, in both.

    def declare_queue(self, actor: Actor, name: str, **options: Any) -> str:
        """`options`: passive, durable, auto_delete, exclusive, alternate, arguments. Returns the name, "" if both
        refuse. What is exclusive belongs to the connection, or to the actor where connections own nothing."""
        answer = self.tell_declare_queue(actor, name, options)
        told = self.queue_told(actor, options)
        named: str = name or (answer.value[0] if answer.error is None else "")
        result = self.judge(
            actor, "declare_queue", answer,
            lambda: self.naive.declare_queue(
                actor.owner, named, compare=self.queue_compare, reserved=bool(name), **told
            ),
        )  # fmt: skip
        if result is not None and answer.error is None:
            same_told(answer.value, result, "declaring the queue")
        return "" if result is None else result[0]

    def delete_queue(self, actor: Actor, name: str, *, if_unused: bool = False, if_empty: bool = False) -> None:
        answer = self.tell_delete_queue(actor, name, if_unused=if_unused, if_empty=if_empty)
        result = self.judge(
            actor, "delete_queue", answer, lambda: self.naive_delete_queue(actor, name, if_unused, if_empty)
        )
        if result is not None:
            same_told((answer.value,), (result,), "deleting the queue")

    def naive_delete_queue(self, actor: Actor, name: str, if_unused: bool, if_empty: bool) -> int:
        return self.naive.delete_queue(actor.owner, name, if_unused=if_unused, if_empty=if_empty)

    def purge(self, actor: Actor, name: str) -> None:
        """Empty a queue."""
        answer = self.tell_purge(actor, name)
        result = self.judge(actor, "purge", answer, lambda: self.naive.purge(actor.owner, name))
        if result is not None:
            same_told((answer.value,), (result,), "purging")

    def declare_exchange(self, actor: Actor, name: str, **options: Any) -> None:
        """`options`: type, passive, durable, auto_delete, internal, alternate."""
        answer = self.tell_declare_exchange(actor, name, options)
        told: dict[str, Any] = {"type": "direct", **options}
        self.judge(
            actor, "declare_exchange", answer,
            lambda: self.naive.declare_exchange(name, compare=self.exchange_compare, **told),
        )  # fmt: skip

    def delete_exchange(self, actor: Actor, name: str, *, if_unused: bool = False) -> None:
        answer = self.tell_delete_exchange(actor, name, if_unused=if_unused)
        self.judge(actor, "delete_exchange", answer, lambda: self.naive.delete_exchange(name, if_unused=if_unused))

    def bind(self, actor: Actor, queue: str, exchange: str, key: str, arguments: dict[str, Any] | None = None) -> None:
        told = arguments or {}
        answer = self.tell_bind(actor, queue, exchange, key, told)
        self.judge(actor, "bind", answer, lambda: self.naive_bind(actor, queue, exchange, key, told))

    def naive_bind(self, actor: Actor, queue: str, exchange: str, key: str, arguments: dict[str, Any]) -> bool:
        return self.naive.bind("queue", queue, exchange, key, arguments, actor.owner, self.binds_by_arguments)

    def unbind(
        self, actor: Actor, queue: str, exchange: str, key: str, arguments: dict[str, Any] | None = None
    ) -> None:
        told = arguments or {}
        answer = self.tell_unbind(actor, queue, exchange, key, told)
        by_arguments = self.binds_by_arguments
        self.judge(
            actor, "unbind", answer,
            lambda: self.naive.unbind("queue", queue, exchange, key, told, actor.owner, by_arguments),
        )  # fmt: skip

    def publish(
        self,
        actor: Actor,
        exchange: str,
        key: str,
        *,
        size: int = 0,
        headers: dict[str, Any] | None = None,
        priority: int = 0,
        ttl: float | None = None,
        branch: int | None = None,
        **options: Any,
    ) -> None:
        """Publish a message with a body of its own; in the actor's transaction, or in `branch`. `ttl` in seconds."""
        note = Note(self.new_body(size), exchange, key, headers, priority, ttl)
        transaction = actor.branch if branch is None else branch
        answer = self.tell_publish(actor, note, options, transaction)
        result = self.judge(
            actor, "publish", answer,
            lambda: (
                self.naive.publish(
                    actor.owner, note, mandatory=options.get("mandatory", False),
                    immediate=options.get("immediate", False), transaction=transaction,
                ),
            ),
        )  # fmt: skip
        if result is not None and answer.error is None:
            self.check_published(actor, note, options, answer, result[0])

    def subscribe(self, actor: Actor, queue: str, **options: Any) -> Place | None:
        """`options`: settles, exclusive, no_local, priority, acquires, which the naive model knows, and others that
        are the version's. Returns the consumer's place, None if both refuse."""
        place, answer = self.tell_subscribe(actor, queue, options)
        rooms = self.rooms_for(actor, place, options)
        known = ("settles", "exclusive", "no_local", "priority", "acquires", "accepts")
        told = {name: value for name, value in options.items() if name in known}
        # Deliveries come before the naive model has said its number.
        self.places[place] = self.naive.numbers + 1
        self.rooms[place] = rooms
        number = self.judge(
            actor, "subscribe", answer,
            lambda: self.naive.subscribe(actor.owner, queue, place, rooms, **told),
        )  # fmt: skip
        if number is None:
            self.forget_place(place)
            return None
        return place

    def cancel(self, actor: Actor, place: Place) -> None:
        """End a consumer."""
        answer = self.tell_cancel(actor, place)
        number = self.places[place]

        def command() -> None:
            self.naive.cancel(number)
            self.forget_place(place)

        self.judge(actor, "cancel", answer, command)

    def settle(
        self, actor: Actor, handles: Sequence[Handle], outcome: str, *, branch: int | None = None, **options: Any
    ) -> None:
        """Decide of deliveries that an actor has, all alike; in the actor's transaction, or in `branch`."""
        taken = {each: self.held.pop(each) for each in handles}
        transaction = actor.branch if branch is None else branch
        answer = self.tell_settle(actor, handles, outcome, options, transaction)
        flags: dict[str, Any] = {**self.settle_flags(outcome, options)}
        if transaction is not None:
            self.undecided.setdefault(transaction, {}).update(taken)
        self.judge(
            actor, "settle", answer,
            lambda: self.naive.settle(actor.owner, list(taken.values()), outcome, transaction=transaction, **flags),
        )  # fmt: skip

    def begin(self, actor: Actor) -> None:
        """The actor is in a transaction from now on."""
        answer = self.tell_begin(actor)
        actor.branch = self.judge(actor, "begin", answer, lambda: self.naive.begin(actor.owner))

    def commit(self, actor: Actor, branch: int | None = None) -> None:
        """Commit; `restart` says what is next."""
        number = actor.branch if branch is None else branch
        assert number is not None
        answer = self.tell_commit(actor, number)
        self.undecided.pop(number, None)
        returned = self.judge(actor, "commit", answer, lambda: self.naive.commit(number))
        if returned is not None and answer.error is None:
            self.check_committed(actor, answer, returned)
        self._restart(actor, number)

    def roll_back(self, actor: Actor, branch: int | None = None) -> None:
        """Roll back: what was settled in the transaction is as it was before."""
        number = actor.branch if branch is None else branch
        assert number is not None
        answer = self.tell_roll_back(actor, number)
        restored = self.undecided.pop(number, {})
        self.judge(actor, "roll_back", answer, lambda: self.naive.roll_back(number))
        if not actor.is_over:
            self.restore(restored)
        self._restart(actor, number)

    def restore(self, handles: dict[Handle, Copy]) -> None:
        """These are to be settled again, in their order."""
        self.held = dict(sorted({**self.held, **handles}.items(), key=repr))

    def restarts(self) -> bool:
        """Whether the end of a transaction is the beginning of the next."""
        return True

    def _restart(self, actor: Actor, number: int) -> None:
        if actor.branch == number:
            actor.branch = None
            if self.restarts() and not actor.is_over:
                actor.branch = self.naive.begin(actor.owner)

    def close(self, actor: Actor) -> None:
        """Close a channel or session."""
        answer = self.tell_close(actor)
        self.judge(actor, "close", answer, lambda: self.leave(actor))

    def lose(self, line: Line) -> None:
        """The transport of a client is gone."""
        actor = Actor(line, -1, None)
        line.lose()
        self.pump()
        self.judge(actor, "lose", Answer(), lambda: self.leave_line(line))
