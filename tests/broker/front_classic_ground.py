"""The ground for clients of 0-8 and 0-9-1 on a `Stage`: coming and going, events, requests and replies, errors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from amqp_sansio import Closed, Event, Scope
from amqp_sansio._classic.codec.dialect import get_dialect
from amqp_sansio.amqp_0_9_1 import ConsumerCancelled, Delivery, MessageReturned
from amqp_sansio.broker import Settings
from amqp_sansio.broker.contents.classic import ClassicContent
from amqp_sansio.broker.model.content import Content
from amqp_sansio.endpoint import Side
from amqp_sansio.events import Abandoned, Failed, Opened, Replied, Settled
from tests.broker.front_models import Actor, Answer, Error, Handle, Line, Place, Room, Seen, Stage
from tests.broker.naive_values import Refusal, fail
from tests.kit.hub_classic import version_of
from tests.kit.pair import client_config, connection_of, server_config

EXPECTED = (Opened, Replied, Settled, Failed, Abandoned)
"""Events whose matter is in the handles of calls, or in the `Closed` that follows."""


class Book:
    """What else is known of a channel: `whole` is shared by the channels of its connection, `prefetch` is what
    consumers get each that begin from now on, as messages and octets."""

    def __init__(self, number: int, whole: Whole) -> None:
        self.number = number
        self.whole = whole
        self.ticket = 0
        self.current = ""
        self.confirms = False
        self.prefetch: tuple[int, int] = (0, 0)
        self.room = Room(None, None, True)
        self.flow = Room(None, None, False)
        self.is_stopped = False


class Whole:
    """What the channels of a connection have together."""

    def __init__(self) -> None:
        self.room = Room(None, None, True)


def _channel(**codes: int) -> dict[str, Error]:
    return {kind.replace("_", "-"): Error("channel", code) for kind, code in codes.items()}


RABBIT = {
    **_channel(
        not_found=404, binding_not_found=404, inequivalent=406, reserved_name=403, name_missing=403,
        default_exchange=403, locked=405, exclusive=403, internal=403, in_use=406, not_empty=406, bad_argument=406,
    ),
    "type-unknown": Error("connection", 503),
}  # fmt: skip
FORGIVING = {
    "delete_queue": ("not-found",),
    "delete_exchange": ("not-found",),
    "unbind": ("not-found", "binding-not-found"),
    "unbind_exchange": ("not-found", "binding-not-found"),
}
"""What isn't there counts as deleted, to RabbitMQ."""
SPEC_0_9_1 = {**RABBIT, "binding-not-found": Error("connection", 404)}
SPEC_0_8 = {**SPEC_0_9_1, **_channel(inequivalent=530, in_use=405, not_empty=530, bad_argument=530)}
EXCEPTIONS_0_8 = {
    ("declare_queue", "reserved-name"): Error("connection", 403),
    ("bind", "default-exchange"): Error("connection", 530),
}


class ClassicGround(Stage):
    """A stage on which all speak one dialect, which is set by subclasses."""

    dialect: ClassVar[str]
    shortens = False
    """Whether clients leave out the name of the queue that they declared last."""
    hurries = False
    """Whether clients don't want answers that needn't be given (no-wait)."""

    def __init__(self, sizes: Sequence[int] = (1 << 16,)) -> None:
        config = server_config(dialect=get_dialect(self.dialect))
        super().__init__(sizes, Settings(configs={version_of(self.dialect): config}))
        self.is_rabbit = self.dialect.endswith("-rabbit")
        self.is_old = self.dialect.startswith("0-8")
        self.named = get_dialect(self.dialect).named
        self.books: dict[int, Book] = {}
        self.wholes: dict[Line, Whole] = {}
        self.by_number: dict[tuple[Line, int], Actor] = {}
        self.errors: dict[tuple[Line, int], Error] = {}
        self.returned: list[tuple[int, str, str, bytes]] = []
        self.under_way: list[Any] = []
        """What was called and isn't waited for yet."""
        self.is_other = False
        """Whether what is declared is there with another type (an exchange) or another exclusive (a queue)."""

    # Coming and going.

    def connect(self) -> Line:
        """A client that is logged in."""
        config = client_config(dialect=get_dialect(self.dialect))
        line = self.join(connection_of(version_of(self.dialect), Side.CLIENT, config))
        assert line.engine.is_open
        line.owner = self.naive.open_owner(None)
        self.wholes[line] = Whole()
        return line

    def open(self, line: Line) -> Actor:
        """A channel; in the dialect of 0-8's specification with a ticket for everything."""
        core = line.engine.open_channel()
        actor = self.enter(line, core, line.owner)
        book = self.books[actor.owner] = Book(core.number, self.wholes[line])
        self.by_number[line, core.number] = actor
        self.pump()
        assert core.is_open
        if self.dialect == "0-8":
            everything = {"passive": True, "active": True, "write": True, "read": True}
            answer = self.ask(actor, "access.request", realm="/data", **everything)
            book.ticket = answer.value.ticket
        return actor

    def forget(self, actor: Actor) -> None:
        """A channel is gone."""
        super().forget(actor)
        self.by_number.pop((actor.line, self.books[actor.owner].number), None)

    def held_by(self, actor: Actor) -> list[Handle]:
        """By their delivery tags, which "multiple" counts by."""
        return sorted(super().held_by(actor))

    def leave_line(self, line: Line) -> None:
        """A connection is gone, and why is known."""
        super().leave_line(line)
        self.errors = {each: error for each, error in self.errors.items() if each[0] is not line}

    def tell_close(self, actor: Actor) -> Answer:
        """channel.close."""
        actor.core.close()
        self.pump()
        return self.answer(actor, None)

    def close_line(self, line: Line) -> None:
        """connection.close."""
        line.engine.close()
        self.pump()
        self.judge(Actor(line, -1, None), "close_line", Answer(), lambda: self.leave_line(line))

    def observe(self, line: Line, event: Event) -> None:
        """Take an event of a client."""
        match event:
            case Delivery(channel, tag, number, redelivered, exchange, key, body):
                owner = self.by_number[line, channel].owner
                self.saw(Seen(line, (owner, tag), (owner, number), body, redelivered, None, (exchange, key), event))
            case ConsumerCancelled(channel, tag):
                self.ended((self.by_number[line, channel].owner, tag))
            case MessageReturned(_, code, _, exchange, key, body):
                self.returned.append((code, exchange, key, body))
            case Closed(Scope.CHANNEL, channel, report):
                self.errors[line, channel] = Error("channel", report.code)
            case Closed(_, _, report):
                self.errors[line, 0] = Error("connection", report.code)
            case _ if isinstance(event, EXPECTED):
                pass
            case _:
                fail(f"a client got {event}")

    # Asking.

    def make(self, actor: Actor, name: str, fields: dict[str, Any]) -> Any:
        """A method with the channel's ticket."""
        kind = self.named[name]
        ticket = self.books[actor.owner].ticket
        known = {field: value for field, value in fields.items() if field in kind.__match_args__}
        if any(value for field, value in fields.items() if field not in known):
            raise AssertionError(f"{name} of {self.dialect} doesn't have all of {fields}")
        if ticket and "ticket" in kind.__match_args__:
            known["ticket"] = ticket
        return kind(**known)

    def ask(self, actor: Actor, name: str, /, **fields: Any) -> Answer:
        """Send a request and wait; its reply, None if there is none."""
        if self.hurries and self.named[name].HAS_NO_WAIT:
            fields.setdefault("no_wait", True)
        handle = actor.core.call(self.make(actor, name, fields))
        self.pump()
        return self.answer(actor, handle)

    def send(self, actor: Actor, name: str, /, **fields: Any) -> Answer:
        """Send a method that has no reply."""
        actor.core.send(self.make(actor, name, fields))
        self.pump()
        return self.answer(actor, None)

    def answer(self, actor: Actor, handle: Any) -> Answer:
        """What became of a call, or of what has no answer."""
        if self.waiting is not None:
            self.under_way.append(handle)
            return Answer(handle)
        line = actor.line
        whole = self.errors.pop((line, 0), None)
        error = self.errors.pop((line, self.books[actor.owner].number), None)
        # With the connection its channels end.
        error = whole or error
        if any(each[0] is not line for each in self.errors) or (self.errors and whole is None):
            fail(f"others were closed too: {self.errors}")
        self.errors.clear()
        if error is not None and error.code != 200:
            return Answer(None, error)
        if handle is None:
            return Answer()
        if not handle.done or handle.error is not None:
            fail(f"{handle} has no answer")
        return Answer(handle.result)

    def together(self, commands: Sequence[Callable[[], object]]) -> None:
        """Commands that are all under way before the broker sees the first; every call has to have an answer."""
        super().together(commands)
        if self.errors:
            fail(f"{self.errors} of {self.under_way}")
        for handle in self.under_way:
            if handle is not None and (not handle.done or handle.error is not None):
                fail(f"{handle} has no answer")
        self.under_way.clear()

    def short(self, actor: Actor, name: str) -> str:
        """A queue's name, left out if it is the one that was declared last."""
        return "" if self.shortens and name == self.books[actor.owner].current else name

    # What is told of refusals.

    def error_of(self, action: str, kind: str) -> Error | None:
        """The code of the specification, or RabbitMQ's."""
        if self.is_rabbit:
            if action in FORGIVING and kind in FORGIVING[action]:
                return None
            if (action, kind) == ("declare_queue", "inequivalent") and self.is_other:
                return Error("channel", 405)
            return RABBIT[kind]
        if (action, kind) == ("declare_exchange", "inequivalent") and self.is_other:
            return Error("connection", 530)
        if self.is_old:
            return EXCEPTIONS_0_8.get((action, kind)) or SPEC_0_8[kind]
        return SPEC_0_9_1[kind]

    def queue_told(self, actor: Actor, options: dict[str, Any]) -> dict[str, Any]:
        """To the specification of 0-8 exclusive implies auto-delete (queue.declare)."""
        told = super().queue_told(actor, options)
        if self.dialect == "0-8" and told["exclusive"] is not None:
            told["auto_delete"] = True
        return told

    def naive_bind(self, actor: Actor, queue: str, exchange: str, key: str, arguments: dict[str, Any]) -> bool:
        """To the specification of 0-8 a durable queue isn't bound to a transient exchange (queue.bind)."""
        source, target = self.naive.exchanges.get(exchange), self.naive.queues.get(queue)
        is_both = source is not None and target is not None and target.durable and not source.durable
        if is_both and self.dialect == "0-8":
            raise Refusal("bad-argument", *([] if target is None or target.exclusive is None else ["locked"]))
        return super().naive_bind(actor, queue, exchange, key, arguments)

    def naive_delete_queue(self, actor: Actor, name: str, if_unused: bool, if_empty: bool) -> int:
        """To RabbitMQ a queue is empty when none of its messages is available."""
        there = self.naive.queues.get(name)
        is_empty = self.is_rabbit and there is not None and not there.ordered()
        return super().naive_delete_queue(actor, name, if_unused, if_empty and not is_empty)

    def body_of(self, content: Content) -> bytes:
        """The body in these versions' encoding."""
        assert isinstance(content, ClassicContent)
        return content.body

    def tells_end(self, place: Place) -> bool:
        """Only RabbitMQ's clients are told, and not in 0-8."""
        return self.is_rabbit and not self.is_old


__all__ = ["Book", "ClassicGround"]
