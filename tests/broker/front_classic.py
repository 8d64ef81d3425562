"""Clients of 0-8 and 0-9-1 on a `Stage`: what is done to both models in the words of these versions, and back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from amqp_sansio import Accepted, Closed, Event, Rejected, Scope
from amqp_sansio import amqp_0_9_1 as amqp
from amqp_sansio._classic.codec.dialect import get_dialect
from amqp_sansio.broker import Settings
from amqp_sansio.broker.contents.classic import ClassicContent
from amqp_sansio.broker.model.content import Content
from amqp_sansio.endpoint import Side
from amqp_sansio.events import Abandoned, Failed, Opened, Replied, Settled
from tests.broker.front_models import Actor, Answer, Error, Handle, Line, Place, Seen, Stage, same
from tests.broker.naive_values import Copy, Note, Refusal, Room, fail
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


class ClassicStage(Stage):
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
            case amqp.Delivery(channel, tag, number, redelivered, exchange, key, body):
                owner = self.by_number[line, channel].owner
                self.saw(Seen(line, (owner, tag), (owner, number), body, redelivered, None, (exchange, key), event))
            case amqp.ConsumerCancelled(channel, tag):
                self.ended((self.by_number[line, channel].owner, tag))
            case amqp.MessageReturned(_, code, _, exchange, key, body):
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

    # Exchanges and queues.

    def tell_declare_queue(self, actor: Actor, name: str, options: dict[str, Any]) -> Answer:
        there = self.naive.queues.get(name)
        self.is_other = there is not None and (there.exclusive is not None) != options.get("exclusive", False)
        told = options if name else {**options, "no_wait": False}
        answer = self.ask(actor, "queue.declare", queue=name, **told)
        if answer.error is not None:
            return answer
        reply = answer.value
        self.books[actor.owner].current = name if reply is None else reply.queue
        return Answer((name, None, None) if reply is None else (reply.queue, reply.message_count, reply.consumer_count))

    def tell_delete_queue(self, actor: Actor, name: str, *, if_unused: bool, if_empty: bool) -> Answer:
        answer = self.ask(actor, "queue.delete", queue=self.short(actor, name), if_unused=if_unused, if_empty=if_empty)
        return answer if answer.value is None else Answer(answer.value.message_count)

    def tell_purge(self, actor: Actor, name: str) -> Answer:
        answer = self.ask(actor, "queue.purge", queue=self.short(actor, name))
        return answer if answer.value is None else Answer(answer.value.message_count)

    def tell_declare_exchange(self, actor: Actor, name: str, options: dict[str, Any]) -> Answer:
        """exchange.declare; the alternate is one of its arguments."""
        there = self.naive.exchanges.get(name)
        self.is_other = there is not None and there.type != options["type"]
        told = {**options}
        alternate = told.pop("alternate", None)
        arguments = {} if alternate is None else {"alternate-exchange": alternate}
        return self.ask(actor, "exchange.declare", exchange=name, arguments=arguments, **told)

    def tell_delete_exchange(self, actor: Actor, name: str, *, if_unused: bool) -> Answer:
        return self.ask(actor, "exchange.delete", exchange=name, if_unused=if_unused)

    def tell_bind(self, actor: Actor, queue: str, exchange: str, key: str, arguments: dict[str, Any]) -> Answer:
        """queue.bind; without queue and key the key would be the queue's name."""
        name = self.short(actor, queue) if key else queue
        return self.ask(actor, "queue.bind", queue=name, exchange=exchange, routing_key=key, arguments=arguments)

    def tell_unbind(self, actor: Actor, queue: str, exchange: str, key: str, arguments: dict[str, Any]) -> Answer:
        name = self.short(actor, queue)
        return self.ask(actor, "queue.unbind", queue=name, exchange=exchange, routing_key=key, arguments=arguments)

    # Publishing.

    def tell_publish(self, actor: Actor, note: Note, options: dict[str, Any], branch: int | None) -> Answer:
        """basic.publish; the value is the outcome in confirm mode, else None."""
        expiration = None if note.ttl is None else str(round(note.ttl * 1000))
        properties = amqp.BasicProperties(
            headers=note.headers or None, priority=note.priority or None, expiration=expiration
        )
        handle = actor.core.publish(
            note.body, exchange=note.exchange, routing_key=note.key, properties=properties,
            ticket=self.books[actor.owner].ticket, **options,
        )  # fmt: skip
        self.pump()
        return self.answer(actor, handle)

    def check_published(
        self, actor: Actor, note: Note, options: dict[str, Any], answer: Answer, result: tuple[bool, bool, bool] | None
    ) -> None:
        """What came back, and what was confirmed."""
        book = self.books[actor.owner]
        expected: list[tuple[int, str, str, bytes]] = []
        confirm: object = None
        if result is not None:
            routed, consumed, refused = result
            code = self._return_code(routed, consumed, options)
            confirm = Rejected() if refused else Accepted()
            if code and book.is_stopped:
                # The client takes nothing at the moment.
                confirm = Rejected()
            elif code:
                expected.append((code, note.exchange, note.key, note.body))
                confirm = amqp.Returned
        same(self.take_returned(), expected, f"returns of {note.body!r}")
        if not book.confirms:
            same(answer.value, None, "a confirm")
        elif confirm is amqp.Returned:
            same(isinstance(answer.value, amqp.Returned), True, f"whether {note.body!r} came back")
        else:
            same(answer.value, confirm, f"confirm of {note.body!r}")

    def check_delivery(self, seen: Seen, copy: Copy) -> None:
        """The properties, and the deaths that its headers tell of."""
        properties, note = seen.event.properties, copy.note
        headers = dict(properties.headers or {})
        told = {name: value for name, value in headers.items() if not name.startswith("x-")}
        same(told, note.headers, f"headers of {seen}")
        same(properties.priority or 0, note.priority, f"priority of {seen}")
        same(properties.expiration, None if note.ttl is None else str(round(note.ttl * 1000)), f"expiration of {seen}")
        deaths = [
            (each["queue"], each["reason"], each["count"], each["exchange"], tuple(each["routing-keys"]))
            for each in headers.get("x-death", ())
        ]
        same(deaths, [tuple(each[:5]) for each in note.deaths], f"deaths of {seen}")

    def take_returned(self) -> list[tuple[int, str, str, bytes]]:
        """What came back since the last time."""
        found, self.returned = self.returned, []
        return found

    def _return_code(self, routed: bool, consumed: bool, options: dict[str, Any]) -> int:
        if options.get("mandatory") and not routed:
            return NO_ROUTE
        return NO_CONSUMERS if options.get("immediate") and not consumed else 0

    # Consuming.

    def tell_subscribe(self, actor: Actor, queue: str, options: dict[str, Any]) -> tuple[Place, Answer]:
        """basic.consume, mostly with a tag of the client's."""
        tag = ""
        if not options.get("unnamed"):
            taken = actor.core.consumers
            tag = next(name for name in (f"t{number}" for number in range(100)) if name not in taken)
        fields: dict[str, Any] = {} if tag else {"no_wait": False}
        fields |= {
            "queue": self.short(actor, queue),
            "consumer_tag": tag,
            "no_ack": options.get("settles", False),
            "exclusive": options.get("exclusive", False),
            "no_local": options.get("no_local", False),
        }
        if options.get("priority"):
            fields["arguments"] = {"x-priority": options["priority"]}
        answer = self.ask(actor, "basic.consume", **fields)
        if answer.value is not None:
            tag = answer.value.consumer_tag
        return (actor.owner, tag), answer

    def rooms_for(self, actor: Actor, place: Place, options: dict[str, Any]) -> list[Room]:
        """RabbitMQ counts by consumer and by channel, the specifications by channel and by connection."""
        book = self.books[actor.owner]
        if options.get("settles"):
            return [book.flow]
        if not self.counts_by_consumer:
            return [book.flow, book.room, book.whole.room]
        messages, octets = book.prefetch
        return [book.flow, book.room, Room(messages or None, octets or None, True, idle=octets or None)]

    @property
    def counts_by_consumer(self) -> bool:
        """Whether basic.qos is for each consumer, or with global for the channel."""
        return self.is_rabbit and not self.is_old

    def tell_cancel(self, actor: Actor, place: Place) -> Answer:
        return self.ask(actor, "basic.cancel", consumer_tag=place[1])

    def set_prefetch(self, actor: Actor, count: int, size: int = 0, *, whole: bool = False) -> None:
        """basic.qos."""
        answer = self.ask(actor, "basic.qos", prefetch_count=count, prefetch_size=size, global_=whole)
        book = self.books[actor.owner]
        if self.counts_by_consumer and not whole:
            book.prefetch = count, size
            self.judge(actor, "qos", answer, lambda: None)
            return
        room, owners = book.room, [actor.owner]
        if whole and not self.counts_by_consumer:
            room, owners = book.whole.room, [each.owner for each in self.actors if each.line is actor.line]
        kept = self._outstanding(owners)
        messages = count - len(kept) if count else None
        octets = size - sum(len(each.note.body) for each in kept) if size else None
        room.idle = size or None
        self.judge(actor, "qos", answer, lambda: self.naive.change_room(room, messages, octets, add=False))

    def _outstanding(self, owners: Sequence[int]) -> list[Copy]:
        """What consumers have to acknowledge."""
        return [
            each
            for each in self.naive.every
            if each.state == "acquired" and each.owner in owners and each.consumer is not None
        ]

    def set_flow(self, actor: Actor, active: bool) -> None:
        """channel.flow of a client: it takes deliveries, or not."""
        answer = self.ask(actor, "channel.flow", active=active)
        book = self.books[actor.owner]
        book.is_stopped = not active
        self.judge(
            actor, "flow", answer,
            lambda: self.naive.change_room(book.flow, None if active else 0, None, add=False),
        )  # fmt: skip

    def get(self, actor: Actor, queue: str, *, settles: bool = False) -> None:
        answer = self.ask(actor, "basic.get", queue=self.short(actor, queue), no_ack=settles)
        copy = self.judge(actor, "get", answer, lambda: (self.naive.get(actor.owner, queue, settles),))
        if copy is None:
            return
        found, got = copy[0], answer.value
        if found is None or isinstance(got, amqp.BasicGetEmpty):
            same(isinstance(got, amqp.BasicGetEmpty), found is None, f"get from {queue}")
            return
        method, note = got.method, found.note
        left = len(found.queue.ordered())
        same(got.body, note.body, f"get from {queue}")
        same(method.redelivered, found.redelivered, f"redelivered of {got}")
        same((method.exchange, method.routing_key), (note.exchange, note.key), f"address of {got}")
        same(method.message_count, left, f"count of {got}")
        if not settles:
            self.held[actor.owner, method.delivery_tag] = found

    # Settling.

    def tell_settle(
        self, actor: Actor, handles: Sequence[Handle], outcome: str, options: dict[str, Any], branch: int | None
    ) -> Answer:
        """basic.ack, basic.reject, basic.nack: of one, or with "multiple" of all up to the last of `handles`."""
        tag, multiple = handles[-1][1], options.get("multiple", False)
        if outcome == "accept":
            actor.core.accept(tag, multiple)
        elif not multiple:
            (actor.core.reject if outcome == "reject" else actor.core.release)(tag)
        else:
            return self.send(actor, "basic.nack", delivery_tag=tag, multiple=True, requeue=outcome == "release")
        self.pump()
        return self.answer(actor, None)

    def settle_flags(self, outcome: str, options: dict[str, Any]) -> dict[str, bool]:
        """What is requeued counts as failed; the specifications want it to go to somebody else."""
        is_back = outcome == "release"
        return {"failed": is_back, "excluded": is_back and not self.is_rabbit}

    def recover(self, actor: Actor, requeue: bool) -> None:
        """basic.recover: what a channel has comes again, to the same consumers or to whom it may."""
        copies = [self.held.pop(each) for each in self.held_by(actor)]
        request = self.make(actor, "basic.recover", {"requeue": requeue})
        handle = None
        if request.REPLIES:
            handle = actor.core.call(request)
        else:
            actor.core.send(request)
        self.pump()
        answer = self.answer(actor, handle)
        is_stopped = self.books[actor.owner].is_stopped
        back: list[Copy] = []
        at = 0
        for copy in copies:
            consumer = copy.consumer
            if requeue or is_stopped or consumer is None or consumer.ended:
                back.append(copy)
            else:
                at = self._see_again(actor, copy, at)
        self.judge(
            actor, "recover", answer,
            lambda: self.naive.settle(actor.owner, back, "release", redelivered=True),
        )  # fmt: skip

    def _see_again(self, actor: Actor, copy: Copy, start: int) -> int:
        """One that comes again to its consumer, behind those before; where it is in what was seen."""
        for at, seen in enumerate(self.seen[start:], start):
            number = self.places.get(seen.place)
            if copy.consumer is not None and number == copy.consumer.number and seen.body == copy.note.body:
                same(seen.redelivered, True, f"redelivered of {seen}")
                del self.seen[at]
                assert seen.handle is not None
                self.held[seen.handle] = copy
                return at
        fail(f"{copy.note.body!r} doesn't come again")

    # Bindings between exchanges (RabbitMQ).

    def bind_exchange(self, actor: Actor, destination: str, source: str, key: str) -> None:
        answer = self.ask(actor, "exchange.bind", destination=destination, source=source, routing_key=key)
        self.judge(
            actor, "bind_exchange", answer,
            lambda: self.naive.bind("exchange", destination, source, key, {}, actor.owner, True),
        )  # fmt: skip

    def unbind_exchange(self, actor: Actor, destination: str, source: str, key: str) -> None:
        answer = self.ask(actor, "exchange.unbind", destination=destination, source=source, routing_key=key)
        self.judge(
            actor, "unbind_exchange", answer,
            lambda: self.naive.unbind("exchange", destination, source, key, {}, actor.owner, True),
        )  # fmt: skip

    # Transactions and confirms.

    def tell_begin(self, actor: Actor) -> Answer:
        """tx.select."""
        return self.ask(actor, "tx.select")

    def tell_commit(self, actor: Actor, branch: int) -> Answer:
        return self.ask(actor, "tx.commit")

    def check_committed(self, actor: Actor, answer: Answer, returned: list[Note]) -> None:
        """What found no queue, or no consumer, comes back in its order."""
        told = [each[1:] for each in self.take_returned()]
        expected = [(each.exchange, each.key, each.body) for each in returned]
        same(told, [] if self.books[actor.owner].is_stopped else expected, "returns of the commit")

    def tell_roll_back(self, actor: Actor, branch: int) -> Answer:
        """tx.rollback."""
        return self.ask(actor, "tx.rollback")

    def select_confirms(self, actor: Actor) -> None:
        answer = self.ask(actor, "confirm.select")
        self.books[actor.owner].confirms = True
        self.judge(actor, "confirms", answer, lambda: None)


NO_ROUTE = 312
NO_CONSUMERS = 313
