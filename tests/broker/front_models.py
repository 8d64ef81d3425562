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
from collections.abc import Sequence
from typing import Any, ClassVar

from tests.broker.front_stage import (
    Actor,
    Answer,
    Error,
    Ground,
    Handle,
    Line,
    Place,
    Seen,
    same,
    same_told,
)
from tests.broker.naive_values import Copy, Note, Room


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
        """Delete a queue."""
        answer = self.tell_delete_queue(actor, name, if_unused=if_unused, if_empty=if_empty)
        result = self.judge(
            actor, "delete_queue", answer, lambda: self.naive_delete_queue(actor, name, if_unused, if_empty)
        )
        if result is not None:
            same_told((answer.value,), (result,), "deleting the queue")

    def naive_delete_queue(self, actor: Actor, name: str, if_unused: bool, if_empty: bool) -> int:
        """What the naive model does then."""
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
        """Delete an exchange."""
        answer = self.tell_delete_exchange(actor, name, if_unused=if_unused)
        self.judge(actor, "delete_exchange", answer, lambda: self.naive.delete_exchange(name, if_unused=if_unused))

    def bind(
        self, actor: Actor, queue: str, exchange: str, key: str, arguments: dict[str, Any] | None = None
    ) -> None:
        """Bind a queue to an exchange."""
        told = arguments or {}
        answer = self.tell_bind(actor, queue, exchange, key, told)
        self.judge(actor, "bind", answer, lambda: self.naive_bind(actor, queue, exchange, key, told))

    def naive_bind(self, actor: Actor, queue: str, exchange: str, key: str, arguments: dict[str, Any]) -> bool:
        """What the naive model does then."""
        return self.naive.bind("queue", queue, exchange, key, arguments, actor.owner, self.binds_by_arguments)

    def unbind(
        self, actor: Actor, queue: str, exchange: str, key: str, arguments: dict[str, Any] | None = None
    ) -> None:
        """Undo that."""
        told = arguments or {}
        answer = self.tell_unbind(actor, queue, exchange, key, told)
        by_arguments = self.binds_by_arguments
        self.judge(
            actor, "unbind", answer,
            lambda: self.naive.unbind("queue", queue, exchange, key, told, actor.owner, by_arguments),
        )  # fmt: skip

    def publish(
        self, actor: Actor, exchange: str, key: str, *, size: int = 0, headers: dict[str, Any] | None = None,
        priority: int = 0, ttl: float | None = None, branch: int | None = None, **options: Any
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


__all__ = [
    "Actor", "Answer", "Copy", "Error", "Handle", "Line", "Note", "Place", "Room", "Seen", "Stage", "same", "same_told",
]  # fmt: skip
