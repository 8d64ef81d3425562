"""Sessions of 0-10 on a `Stage`: their connections, what they are told, and what becomes of them without one.

An actor is a session; what connections own in other versions, sessions do here. A session that is kept when its
connection is lost is in `kept` until it goes on elsewhere or its time is over. What a client has completed is told at
once, where an engine may take its time, so that both models know the same of credit.

`cuts` says that the connection is lost in the middle of the next command of a session that is kept: after so many
octets to the broker, and so many back. The session goes on on another connection, and the command is answered there.
"""

# What an engine won't send, and when it tells completions, can only be changed from inside.
# pyright: reportPrivateUsage=false
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar

from amqp_sansio import Accepted, Event, LocalProtocolError, RemoteProtocolError
from amqp_sansio import amqp_0_10 as amqp
from amqp_sansio.broker.contents.amqp_0_10 import Content_0_10
from amqp_sansio.broker.frontends.amqp_0_10.sessions import ServedSession, register_of
from amqp_sansio.broker.model.content import Content
from amqp_sansio.errors import Scope
from amqp_sansio.events import Abandoned, Closed, Failed, Opened, Replied, Settled
from amqp_sansio.sasl import Plain
from tests.broker.front_models import Actor, Answer, Error, Handle, Line, Place, Seen, Stage, same
from tests.broker.naive_0_10 import Distributed, Flow, Naive_0_10, Terms
from tests.broker.naive_values import Copy, Note, Refusal, Room, fail

R = TypeVar("R")

CODES = {
    "not-found": 404,
    "binding-not-found": 404,
    "type-unknown": 404,
    "locked": 405,
    "exclusive": 405,
    "in-use": 406,
    "not-empty": 406,
    "queue-deleted": 408,
    "illegal-state": 409,
    "limit": 506,
    "inequivalent": 530,
    "reserved-name": 530,
    "not-allowed": 530,
    "used-as-alternate": 530,
    "unknown-argument": 540,
    "name-missing": 542,
    "default-exchange": 542,
    "bad-argument": 542,
}
"""The codes of execution.exception, where amqp0-10.xml names one for a command; else what is nearest."""
QUEUE_DELETED = 408
FORCED = "the client's engine refuses it"
FORGOTTEN = Error("session", "forgotten")
"""The session can't go on: it has ended meanwhile."""
EXPECTED = (Opened, Replied, Settled, Abandoned, amqp.CreditChanged, amqp.SessionClosed)
"""Events whose matter is in the handles of calls."""


class Sent(NamedTuple):
    """A message as it was published: what its deliveries have to say, and the octets that credit counts."""

    delivery: amqp.DeliveryProperties
    headers: dict[str, Any] | None
    size: int


class Cut(NamedTuple):
    """Octets that are carried before a connection is lost. `unseen`: the broker hasn't noticed when the session goes on
    elsewhere; `rushed`: it has noticed before it executes what came. Both only where a session is alone."""

    up: int
    down: int
    unseen: bool = False
    rushed: bool = False


class Stage_0_10(Stage):
    """Sessions on connections that come and go, and what is said on them."""

    binds_by_arguments = False
    naive: Naive_0_10

    def __init__(self, sizes: Sequence[int] = (1 << 16,)) -> None:
        super().__init__(sizes)
        self.naive = Naive_0_10(self, self.time_passed)
        self.dtx = Distributed(self.naive)
        self.names = 0
        self.cores: dict[tuple[Line, int], Actor] = {}
        self.gates: dict[int, Room] = {}
        """By owner: closed while a session is detached."""
        self.timeouts: dict[int, int] = {}
        """By owner: for how many seconds a session is kept."""
        self.modes: dict[int, str] = {}
        """By owner: "tx" or "dtx" once that is selected."""
        self.kept: dict[Actor, float] = {}
        """The sessions that are detached, with the time at which they end."""
        self.doomed: set[Actor] = set()
        """Those of them that have lost a queue."""
        self.flows: dict[Place, Flow] = {}
        self.quiet: set[Place] = set()
        """The subscriptions with accept-mode none."""
        self.untold: dict[Handle, Flow] = {}
        """The transfers that clients haven't completed."""
        self.looked: dict[Handle, Copy] = {}
        """What was shown to clients that may acquire it."""
        self.sent: dict[bytes, Sent] = {}
        self.broken: dict[int, int] = {}
        """By owner: the code of the exception that has ended a session, till somebody has looked at it."""
        self.cuts: Cut | None = None
        self._was_cut: Callable[[Callable[[], Any]], Any] | None = None

    # Coming and going.

    def connect(self) -> Line:
        """A client that is logged in; it owns nothing itself."""
        line = self.join(amqp.Connection.client(amqp.Config(sasl=Plain("guest", "guest"))))
        assert line.engine.is_open
        return line

    def open(self, line: Line, timeout: int = 0) -> Actor:
        """A session, which is kept for `timeout` seconds when it's detached."""
        self.names += 1
        core = line.engine.open_session(b"s%d" % self.names, timeout=timeout)
        actor = self.enter(line, core)
        self.cores[line, core.channel] = actor
        self.gates[actor.owner] = Room(None, None, False)
        self.timeouts[actor.owner] = timeout
        self.pump()
        assert core.is_attached
        same(core.timeout, timeout, "the session's timeout")
        return actor

    def tell_close(self, actor: Actor) -> Answer:
        """session.request-timeout(0) and session.detach."""
        actor.core.close()
        self.pump()
        return Answer()

    def detach(self, actor: Actor) -> None:
        """session.detach: one without a timeout is over by that."""
        self.step_aside(self.timeouts[actor.owner])
        if actor.is_over:
            return
        actor.core.detach()
        self.pump()
        self.judge(actor, "detach", Answer(), lambda: self._leave_transport(actor))

    def lose(self, line: Line) -> None:
        """The transport of a client is gone; its sessions may be kept."""
        for actor in [each for each in self.actors if each.line is line]:
            self.step_aside(self.timeouts[actor.owner])
        if not line.is_lost:
            super().lose(line)

    def leave_line(self, line: Line) -> None:
        """A connection is gone."""
        self._leave_all([each for each in self.actors if each.line is line])

    def _leave_all(self, actors: list[Actor]) -> None:
        """One after the other: what the end of one takes from those behind it, it takes from sessions that aren't
        detached yet."""
        for index, actor in enumerate(actors):
            if not actor.is_over:
                self._leave_transport(actor)
                self.end_bereft(actors[index + 1 :])

    def _leave_transport(self, actor: Actor) -> None:
        if self.timeouts[actor.owner] == 0:
            self.leave(actor)
            return
        self.actors.remove(actor)
        self.kept[actor] = self.now + self.timeouts[actor.owner]
        self.naive.change_room(self.gates[actor.owner], 0, None, add=False)

    def resume(self, actor: Actor, line: Line) -> None:
        """A kept session goes on."""
        self._attach(actor, line)
        self.judge(actor, "resume", Answer(None, self._error_of(actor)), lambda: self._rejoin(actor))
        if not actor.is_over and not actor.core.is_attached:
            fail(f"{actor} doesn't go on")

    def _attach(self, actor: Actor, line: Line) -> None:
        actor.core = line.engine.resume_session(actor.core.detached_state(), force=True)
        actor.line = line
        self.cores[line, actor.core.channel] = actor
        self.pump()

    def _rejoin(self, actor: Actor) -> None:
        del self.kept[actor]
        self.actors.append(actor)
        if actor in self.doomed:
            raise Refusal("queue-deleted")
        self.naive.change_room(self.gates[actor.owner], None, None, add=False)

    def end_by_error(self, actor: Actor, error: Error) -> None:
        """Unless it is over already."""
        if not actor.is_over:
            super().end_by_error(actor, error)

    def leave(self, actor: Actor, redelivered: bool = True) -> None:
        """A session is over: the branches that it works for are to be rolled back."""
        self.forget(actor)
        self.dtx.model.close(actor.owner)
        self.naive.close_owner(actor.owner, redelivered)
        self.dtx.decide(self.undecided)

    def forget(self, actor: Actor) -> None:
        """A session is over."""
        super().forget(actor)
        self.kept.pop(actor, None)
        self.doomed.discard(actor)
        for handles in (self.looked, self.untold):
            for handle in [each for each in handles if each[0] == actor.owner]:
                del handles[handle]

    def forget_place(self, place: Place) -> None:
        """A subscription is over; what it has transferred can be completed, and gives no credit back."""
        super().forget_place(place)
        self.flows.pop(place, None)

    # Time.

    def advance(self, seconds: float) -> None:
        """Let time pass; what is due in the naive model is to have happened then in the broker too."""
        end = self.now + seconds
        while self.now < end:
            due = [each for each in self.deadlines() if self.now < each < end]
            super().advance(min([*due, end]) - self.now)
            self.check()

    def deadlines(self) -> list[float]:
        """When sessions end that are kept, and branches time out."""
        return [*self.kept.values(), *[each[0] for each in self.dtx.deadlines()]]

    def time_passed(self, now: float) -> None:
        """Sessions that nobody has resumed end, and branches time out."""
        due: list[tuple[float, Any]] = [(deadline, each) for each, deadline in self.kept.items() if deadline <= now]
        due += [each for each in self.dtx.deadlines() if each[0] <= now]
        for _, each in sorted(due, key=lambda pair: pair[0]):
            if isinstance(each, Actor):
                self.leave(each)
            else:
                self.dtx.model.doom(each, "timeout")
                self.dtx.decide(self.undecided)
                # Who works for it still does, and what it does now is undone in the end.
                for actor in [*self.actors, *self.kept]:
                    if self.modes.get(actor.owner) == "dtx":
                        actor.branch = self.dtx.branch_of(actor.owner)

    def step_aside(self, seconds: int) -> None:
        """Let a moment pass if something would be due at the same time as something else: nobody says what is first."""
        while self.now + seconds in self.deadlines():
            self.advance(0.25)

    # Events.

    def observe(self, line: Line, event: Event) -> None:
        """Take an event of a client."""
        match event:
            case amqp.MessageReceived():
                actor = self.cores[line, event.channel]
                handle = (actor.owner, event.command_id)
                place = (actor.owner, event.destination)
                settles = event.acquired and event.accepts
                self.saw(Seen(line, place, handle if settles else None, event.body, event=event))
            case Failed(Scope.SESSION, channel, error):
                assert isinstance(error, RemoteProtocolError)
                self.broken[self.cores[line, channel].owner] = error.code
            case Closed(Scope.CONNECTION) if line.is_lost:
                pass
            case _ if isinstance(event, EXPECTED):
                pass
            case _:
                fail(f"a client got {event}")

    def check_delivery(self, seen: Seen, copy: Copy) -> None:
        """Its header says what its publisher's did, and the exchange; byte credit is counted alike."""
        event = seen.event
        handle = (seen.place[0], event.command_id)
        flow = self.flows[seen.place]
        flow.untold[handle] = event.size
        self.untold[handle] = flow
        if not event.acquired and event.accepts:
            self.looked[handle] = copy
        sent = self.sent[seen.body]
        delivery = event.headers.delivery_properties
        same(delivery.redelivered, copy.redelivered or sent.delivery.redelivered, f"redelivered of {seen}")
        if copy.note.deaths:
            return
        same(event.size, sent.size, f"octets of {seen}")
        for name in ("routing_key", "exchange", "priority", "delivery_mode", "ttl"):
            same(getattr(delivery, name), getattr(sent.delivery, name), f"{name} of {seen}")
        properties = event.headers.message_properties
        same(None if properties is None else properties.application_headers, sent.headers, f"headers of {seen}")

    def body_of(self, content: Content) -> bytes:
        """The body of a message that came by 0-10."""
        assert isinstance(content, Content_0_10)
        return content.body

    def tells_end(self, place: Place) -> bool:
        """Nobody is told of a subscription's end but by the end of its session."""
        return False

    def compare(self) -> None:
        """As everywhere; and sessions that have lost a queue are over (message.subscribe, queue-deleted)."""
        self.end_bereft()
        same(self.broken, {}, "sessions that were ended by an exception")
        super().compare()

    def end_bereft(self, lost: Sequence[Actor] = ()) -> None:
        """End the sessions one of whose subscriptions was cancelled because its queue is gone. Those that have `lost`
        their connection aren't told."""
        naive = self.naive
        while cancelled := [each for each in naive.events if each.what == "cancelled"]:
            naive.events.clear()
            for event in cancelled:
                for place in [each for each, number in self.places.items() if number == event.whom]:
                    self.forget_place(place)
                    for actor in [each for each in self.kept if each.owner == place[0]]:
                        self.doomed.add(actor)
                    for actor in [each for each in self.actors if each.owner == place[0]]:
                        code = None if actor in lost else QUEUE_DELETED
                        same(self.broken.pop(actor.owner, None), code, f"the end of {actor}")
                        self.leave(actor)

    def check(self) -> None:
        """As everywhere; and clients know what credit they have given, the broker which sessions there are."""
        super().check()
        for place, flow in self.flows.items():
            for actor in [each for each in self.actors if each.owner == place[0]]:
                granted = actor.core.granted(place[1])
                same(granted, (flow.room.messages, flow.room.octets), f"the credit of {place}")
        names = {each.core.name for each in [*self.actors, *self.kept]}
        same({key[2] for key in register_of(self.hub).known}, names, "sessions")

    # Asking.

    def ask(self, actor: Actor, command: Any, message: amqp.Message | None = None) -> Answer:
        """Send a command and wait for its end. What the client's own engine refuses to send is sent all the same: it's
        the broker that has to refuse it."""
        number = actor.core._state.sending.next_id
        try:
            handle = actor.core.call(command, message)
        except LocalProtocolError:
            actor.core._outgoing.issue(command)
            self.pump()
            return Answer(FORCED, self._error_of(actor))
        self.carry(actor, number)
        return self._answer(actor, handle)

    def _answer(self, actor: Actor, handle: Any) -> Answer:
        if handle is not None and handle.done and handle.error is None:
            return Answer(handle.result)
        error = self._error_of(actor)
        if error is None:
            fail(f"{handle} of {actor} has no answer")
        return Answer(None, error)

    def _error_of(self, actor: Actor) -> Error | None:
        code = self.broken.pop(actor.owner, None)
        if code is None:
            return None
        # Who resumes a session that has ended is told nothing more.
        return Error("session", code) if code else FORGOTTEN

    def judge(self, actor: Actor, action: str, answer: Answer, command: Callable[[], R]) -> R | None:
        """As everywhere; what was cut is done before or behind the loss of the connection."""
        whole = command
        if self._was_cut is not None:
            around = self._was_cut
            self._was_cut = None

            def whole() -> R:
                result: R = around(command)
                return result

        if answer.error == FORGOTTEN:
            try:
                whole()
            except Refusal:
                # Which error it was, nobody was told.
                if not actor.is_over:
                    self.leave(actor)
                self.compare()
                return None
            fail(f"{action}: the session was ended by it")
        result = super().judge(actor, action, answer, whole)
        if answer.value == FORCED and answer.error is None:
            fail(f"{action}: {FORCED}, and both models allow it")
        return result

    def error_of(self, action: str, kind: str) -> Error | None:
        """The code of the exception; those of class dtx come as they are."""
        return Error("session", int(kind) if kind.isdigit() else CODES[kind])

    # Octets.

    def carry(self, actor: Actor, number: int) -> None:
        """Carry octets until nobody sends any; or lose the connection in the middle of `actor`'s command `number`."""
        cut, self.cuts = self.cuts, None
        if cut is None or self.timeouts[actor.owner] == 0:
            self.pump()
            return
        line, now = actor.line, self.now
        actors = [each for each in self.actors if each.line is line]
        alone = len(actors) == 1
        rushed, unseen = cut.rushed and alone, cut.unseen and alone and not cut.rushed
        line.end.receive_data(line.engine.data_to_send(now)[: cut.up], now)
        if rushed:
            line.lose()
        else:
            line.end.next_event()
            # What others were sent has come: it would be missed until they go on.
            line.engine.receive_data(line.end.data_to_send(now)[: cut.down if alone else None], now)
            line.take()
        done = self._was_executed(actor, number)
        if unseen:
            line.is_lost = True
            line.engine.connection_lost("cut", now)
            line.take()
        else:
            line.lose()
        if actor.owner not in self.broken:
            self._attach(actor, self.connect())
        if unseen:
            line.end.connection_lost("cut", now)
            line.end.next_event()
        self.pump()

        def around(command: Callable[[], R]) -> R:
            result: list[R] = []
            if done and rushed:
                # Its subscriptions got nothing of it any more.
                self._leave_all(actors)
                result.append(command())
            elif done:
                try:
                    result.append(command())
                except Refusal:
                    # It has ended the session, before the connection was lost.
                    self.leave(actor)
                    self.end_bereft()
                    self._leave_all([each for each in actors if not each.is_over])
                    raise
            if not (done and rushed):
                self._leave_all(actors)
            if actor.is_over:
                raise Refusal("queue-deleted")
            self._rejoin(actor)
            return result[0] if done else command()

        self._was_cut = around

    def _was_executed(self, actor: Actor, number: int) -> bool:
        """Whether the broker has got a command as a whole."""
        for key, session in register_of(self.hub).known.items():
            if key[2] == actor.core.name:
                return _executed(session, number)
        return True

    # Exchanges and queues.

    def tell_declare_queue(self, actor: Actor, name: str, options: dict[str, Any]) -> Answer:
        """queue.declare, which says nothing of what is in the queue."""
        told = dict(options)
        answer = self.ask(actor, amqp.QueueDeclare(name, told.pop("alternate", None), **told))
        return answer._replace(value=answer.value or (name, None, None))

    def tell_delete_queue(self, actor: Actor, name: str, *, if_unused: bool, if_empty: bool) -> Answer:
        return self.ask(actor, amqp.QueueDelete(name, if_unused, if_empty))

    def tell_purge(self, actor: Actor, name: str) -> Answer:
        return self.ask(actor, amqp.QueuePurge(name))

    def tell_declare_exchange(self, actor: Actor, name: str, options: dict[str, Any]) -> Answer:
        told: dict[str, Any] = {"type": "direct", **options}
        return self.ask(actor, amqp.ExchangeDeclare(name, told.pop("type"), told.pop("alternate", None), **told))

    def tell_delete_exchange(self, actor: Actor, name: str, *, if_unused: bool) -> Answer:
        return self.ask(actor, amqp.ExchangeDelete(name, if_unused))

    def tell_bind(self, actor: Actor, queue: str, exchange: str, key: str, arguments: dict[str, Any]) -> Answer:
        return self.ask(actor, amqp.ExchangeBind(queue, exchange, key, arguments or None))

    def tell_unbind(self, actor: Actor, queue: str, exchange: str, key: str, arguments: dict[str, Any]) -> Answer:
        return self.ask(actor, amqp.ExchangeUnbind(queue, exchange, key))

    def query(self, actor: Actor, queue: str) -> None:
        """queue.query: what there is, or nothing at all."""
        answer = self.ask(actor, amqp.QueueQuery(queue))
        there = self.judge(actor, "query", answer, lambda: (self.naive.queues.get(queue),))
        result = answer.value
        told = (
            result.queue, result.alternate_exchange, result.durable, result.exclusive, result.auto_delete,
            result.message_count, result.subscriber_count,
        )  # fmt: skip
        if there is None or there[0] is None:
            same(told, (None, None, False, False, False, None, None), f"queue.query of {queue}")
            return
        found = there[0]
        same(
            told,
            (
                queue, found.alternate, found.durable, found.exclusive is not None, found.auto_delete,
                len(found.ordered()), len(found.consumers),
            ),
            f"queue.query of {queue}",
        )  # fmt: skip

    def synchronize(self, actor: Actor) -> None:
        """execution.sync: nothing is left to be done."""
        number = actor.core._state.sending.next_id
        handle = actor.core.sync()
        self.carry(actor, number)
        self.judge(actor, "synchronize", self._answer(actor, handle), lambda: None)
        same(actor.core.pending, (), f"what {actor} waits for")

    def query_exchange(self, actor: Actor, name: str) -> None:
        answer = self.ask(actor, amqp.ExchangeQuery(name))
        there = self.judge(actor, "query_exchange", answer, lambda: (self.naive.exchanges.get(name),))
        found = None if there is None else there[0]
        expected = (None, False, True) if found is None else (found.type, found.durable, False)
        result = answer.value
        same((result.type, result.durable, result.not_found), expected, f"exchange.query of {name}")

    def query_binding(self, actor: Actor, exchange: str, queue: str, key: str | None) -> None:
        """exchange.bound. Of a queue that isn't bound at all nothing is said of the key."""
        answer = self.ask(actor, amqp.ExchangeBound(exchange, queue, key))
        found = self.judge(actor, "query_binding", answer, lambda: self.naive.bound(exchange, queue, key))
        names = ["exchange_not_found", "queue_not_found", "queue_not_matched"]
        if found is not None and "queue_not_matched" not in found:
            names.append("key_not_matched")
        told = {name: True for name in names if getattr(answer.value, name)}
        same(told, {name: True for name in names if found and name in found}, f"exchange.bound of {exchange}")

    # Publishing.

    def publish(
        self,
        actor: Actor,
        exchange: str,
        key: str,
        *,
        size: int = 0,
        headers: dict[str, Any] | None = None,
        priority: int | None = None,
        ttl: float | None = None,
        branch: int | None = None,
        **options: Any,
    ) -> None:
        """message.transfer. `options` are those of `Terms`; without a priority it's 4."""
        terms = Terms(**options)
        note = Note(self.new_body(size), exchange, key, headers, 4 if priority is None else priority, ttl)
        transaction = actor.branch if branch is None else branch
        answer = self.tell_publish(actor, note, {"terms": terms, "priority": priority}, transaction)
        if transaction is not None:
            self.dtx.worked(actor.owner)
        fate = self.judge(actor, "publish", answer, lambda: self.naive.transfer(actor.owner, note, terms, transaction))
        if fate is not None:
            same(answer.value, fate if terms.explicit else None, f"what is told of publishing {note.body!r}")

    def tell_publish(self, actor: Actor, note: Note, options: dict[str, Any], branch: int | None) -> Answer:
        """The value: what the publisher is told of its message, None with accept-mode none."""
        terms: Terms = options["terms"]
        told: dict[str, Any] = {
            "discard_unroutable": terms.discards,
            "immediate": terms.immediate,
            "redelivered": terms.redelivered,
            "priority": options["priority"],
            "delivery_mode": 2 if terms.persistent else None,
            "ttl": None if note.ttl is None else int(note.ttl * 1000),
            "routing_key": note.key,
        }
        others = (amqp.MessageProperties(application_headers=note.headers),) if note.headers else ()
        whole = amqp.DeliveryProperties(exchange=note.exchange, **told)
        size = len(amqp.encode_headers((whole, *others))) + len(note.body)
        self.sent[note.body] = Sent(whole, note.headers or None, size)
        message = amqp.Message(
            note.body,
            delivery_properties=amqp.DeliveryProperties(**told),
            message_properties=others[0] if others else None,
        )
        number = actor.core._state.sending.next_id
        sent = actor.core.transfer(
            note.exchange, message, accept_mode=amqp.EXPLICIT if terms.explicit else amqp.NONE, sync=True
        )
        self.carry(actor, number)
        answer = self._answer(actor, sent.outcome or sent.completion)
        match answer.value:
            case Accepted():
                return Answer("accepted")
            case amqp.Rejected(code):
                return Answer(REASONS[code])
            case _:
                return answer

    # Subscriptions and their credit.

    def subscribe(self, actor: Actor, queue: str, **options: Any) -> Place | None:
        """message.subscribe. `options`: accepts, acquires, exclusive, priority; `name` is one that there is already."""
        place, answer = self.tell_subscribe(actor, queue, options)
        known = place in self.places
        flow = Flow()
        if not known:
            # Deliveries come before the naive model has said its number.
            self.places[place] = self.naive.numbers + 1
            self.flows[place] = flow
        acquires = options.get("acquires", True)
        accepts = options.get("accepts", True)

        def command() -> int:
            if known or (self.modes.get(actor.owner) == "tx" and not accepts):
                # No second one of a name; with standard transactions only explicit accepts (tx.select).
                raise Refusal("not-allowed")
            return self.naive.subscribe(
                actor.owner, queue, place, [flow.room, self.gates[actor.owner]],
                acquires=acquires,
                settles=acquires and not accepts,
                exclusive=options.get("exclusive", False),
                priority=options.get("priority", 0),
                octets_of=lambda note: self.sent[note.body].size,
            )  # fmt: skip

        number = self.judge(actor, "subscribe", answer, command)
        if number is not None:
            if not accepts:
                self.quiet.add(place)
            return place
        if not known:
            self.forget_place(place)
        return None

    def tell_subscribe(self, actor: Actor, queue: str, options: dict[str, Any]) -> tuple[Place, Answer]:
        """message.subscribe; Qpid's argument for the priority is "x-priority"."""
        self.names += 1
        name: str = options.get("name") or f"d{self.names}"
        priority = options.get("priority", 0)
        answer = self.ask(
            actor,
            amqp.MessageSubscribe(
                queue,
                name,
                amqp.EXPLICIT if options.get("accepts", True) else amqp.NONE,
                amqp.PRE_ACQUIRED if options.get("acquires", True) else amqp.NOT_ACQUIRED,
                options.get("exclusive", False),
                arguments={"x-priority": priority} if priority else None,
            ),
        )
        return (actor.owner, name), answer

    def rooms_for(self, actor: Actor, place: Place, options: dict[str, Any]) -> list[Room]:
        """Those of its `Flow`, which is made with it."""
        return [self.flows[place].room, self.gates[actor.owner]]

    def tell_cancel(self, actor: Actor, place: Place) -> Answer:
        return self.ask(actor, amqp.MessageCancel(place[1]))

    def ask_for_nobody(self, actor: Actor, command: Any) -> None:
        """A command for a destination that is no subscription."""
        answer = self.ask(actor, command)

        def refuse() -> None:
            raise Refusal("not-found")

        self.judge(actor, "cancel", answer, refuse)

    def grant(self, actor: Actor, place: Place, *, octets: bool, value: int | None) -> None:
        """message.flow; None: without limit."""
        answer = self.ask(actor, amqp.MessageFlow(place[1], amqp.BYTE if octets else amqp.MESSAGE, value))
        flow = self.flows[place]

        def command() -> None:
            flow.grant(octets, value)
            self.naive.change_room(flow.room, 0, 0, add=True)

        self.judge(actor, "grant", answer, command)

    def stop(self, actor: Actor, place: Place, *, flush: bool) -> None:
        """message.stop or message.flush: afterwards there is no credit."""
        # Before a flush is done, everything has come that can.
        answer = self.ask(actor, amqp.MessageFlush(place[1]) if flush else amqp.MessageStop(place[1]))
        flow = self.flows[place]

        def command() -> None:
            flow.zero()
            self.naive.change_room(flow.room, 0, 0, add=True)

        self.judge(actor, "stop", answer, command)

    def set_flow_mode(self, actor: Actor, place: Place, *, window: bool) -> None:
        """message.set-flow-mode, which needs both balances to be zero if it changes anything (mode-switching)."""
        answer = self.ask(actor, amqp.MessageSetFlowMode(place[1], amqp.WINDOW if window else amqp.CREDIT))
        flow = self.flows[place]

        def command() -> None:
            if window != flow.is_window and not flow.is_zero:
                raise Refusal("illegal-state")
            flow.is_window = window

        self.judge(actor, "set_flow_mode", answer, command)

    # What clients say of messages.

    def complete(self, actor: Actor, handles: Sequence[Handle]) -> None:
        """session.completed of transfers: windows open again."""
        for handle in handles:
            actor.core.complete(handle[1])
            actor.core._incoming.tell_completed()
        self.pump()

        def command() -> None:
            for handle in handles:
                self._completed([handle])

        self.judge(actor, "complete", Answer(), command)

    def _completed(self, handles: Sequence[Handle]) -> None:
        """What is told at once counts subscription by subscription."""
        flows: dict[Flow, list[Handle]] = {}
        for handle in sorted(handles):
            flows.setdefault(self.untold.pop(handle), []).append(handle)
        for flow, theirs in flows.items():
            messages, octets = flow.complete(theirs)
            if flow in self.flows.values():
                self.naive.change_room(flow.room, messages, octets, add=True)

    def settle(
        self, actor: Actor, handles: Sequence[Handle], outcome: str, *, branch: int | None = None, **options: Any
    ) -> None:
        """message.accept, which a transaction decides of, or reject, release, which none does. `options`: `completes`
        (what isn't yet completed is by that), and for a release `set_redelivered`."""
        # They're named in the order of their ids.
        taken = {each: self.held.pop(each) for each in sorted(handles)}
        transaction = (actor.branch if branch is None else branch) if outcome == "accept" else None
        completes = options.get("completes", True) and self.cuts is None
        untold = [each for each in handles if completes and each in self.untold]
        answer = self.tell_settle(actor, handles, outcome, {**options, "completes": completes}, transaction)
        if transaction is not None:
            self.undecided.setdefault(transaction, {}).update(taken)
            self.dtx.worked(actor.owner)

        def command() -> None:
            self.naive.settle(
                actor.owner, list(taken.values()), outcome, transaction=transaction,
                redelivered="redelivered" in self.settle_flags(outcome, options),
            )  # fmt: skip
            self._completed(untold)

        self.judge(actor, "settle", answer, command)

    def tell_settle(
        self, actor: Actor, handles: Sequence[Handle], outcome: str, options: dict[str, Any], branch: int | None
    ) -> Answer:
        """With the completion, or without."""
        ids = amqp.SequenceSet.of(*[each[1] for each in handles])
        more: dict[str, Any] = {"set_redelivered": True} if self.settle_flags(outcome, options) else {}
        if not options["completes"]:
            return self.ask(actor, SETTLING[outcome](ids, **more))
        handle = getattr(actor.core, outcome)(*ids, sync=True, **more)
        actor.core._incoming.tell_completed()
        self.pump()
        return self._answer(actor, handle)

    def settle_flags(self, outcome: str, options: dict[str, Any]) -> dict[str, bool]:
        """A release says itself whether it marks."""
        return {"redelivered": True} if outcome == "release" and options.get("set_redelivered") else {}

    def acquire(self, actor: Actor, handles: Sequence[Handle]) -> None:
        """message.acquire of what was only shown: the result names what was still there."""
        answer = self.ask(actor, amqp.MessageAcquire(amqp.SequenceSet.of(*[each[1] for each in handles])))

        def command() -> list[Handle]:
            wanted: dict[Copy, Handle] = {}
            for each in sorted(handles):
                wanted.setdefault(self.looked[each], each)
            # All at once: nobody gets one of them because another one is gone.
            return [wanted[copy] for copy in self.naive.acquire(actor.owner, list(wanted), None)]

        found = self.judge(actor, "acquire", answer, command)
        if found is not None:
            same(sorted(answer.value.transfers or ()), [each[1] for each in found], "acquired transfers")
            for each in found:
                self.held[each] = self.looked.pop(each)

    def settle_looked(self, actor: Actor, handles: Sequence[Handle], outcome: str) -> None:
        """What isn't acquired may be released; a reject of it is ignored, an accept is a release (lenient-accepts)."""
        ids = amqp.SequenceSet.of(*[each[1] for each in handles])
        answer = self.ask(actor, SETTLING[outcome](ids))
        if answer.value == FORCED and outcome == "accept":
            # The specification doesn't allow it, the broker takes it: Qpid's browsers do so.
            answer = answer._replace(value=None)
        self.judge(actor, "settle_looked", answer, lambda: None)
        if outcome != "reject":
            for each in handles:
                self.looked.pop(each, None)

    # Transactions.

    def tell_begin(self, actor: Actor) -> Answer:
        """tx.select."""
        return self.ask(actor, amqp.TxSelect())

    def begin(self, actor: Actor) -> None:
        """tx.select, once, with nothing but explicit accepts, and not beside class dtx."""
        answer = self.tell_begin(actor)
        quiet = any(each in self.quiet for each in self.places_of(actor))

        def command() -> int:
            faults = ["illegal-state"] if actor.owner in self.modes else []
            faults += ["not-allowed"] if quiet else []
            if faults:
                raise Refusal(*faults)
            return self.naive.begin(actor.owner)

        branch = self.judge(actor, "begin", answer, command)
        if branch is not None:
            actor.branch = branch
            self.modes[actor.owner] = "tx"

    def tell_commit(self, actor: Actor, branch: int) -> Answer:
        return self.ask(actor, amqp.TxCommit())

    def tell_roll_back(self, actor: Actor, branch: int) -> Answer:
        """tx.rollback."""
        return self.ask(actor, amqp.TxRollback())

    def end_nothing(self, actor: Actor, *, rolls_back: bool) -> None:
        """tx.commit and tx.rollback on a session that isn't selected for them."""
        answer = self.ask(actor, amqp.TxRollback() if rolls_back else amqp.TxCommit())

        def refuse() -> None:
            raise Refusal("illegal-state")

        self.judge(actor, "commit", answer, refuse)

    def coordinate(self, actor: Actor, command: Any) -> None:
        """A command of class dtx."""
        if isinstance(command, amqp.DtxSetTimeout) and command.timeout:
            self.step_aside(command.timeout)
            if actor.is_over:
                return
        answer = self.ask(actor, command)

        def execute() -> tuple[object]:
            mode = self.modes.get(actor.owner)
            if (isinstance(command, amqp.DtxSelect) and mode == "tx") or (
                isinstance(command, (amqp.DtxStart, amqp.DtxEnd)) and mode != "dtx"
            ):
                raise Refusal("illegal-state")
            result = self.dtx.execute(actor.owner, command, self.now)
            if isinstance(command, amqp.DtxSelect):
                self.modes[actor.owner] = "dtx"
            self.dtx.decide(self.undecided)
            return (result,)

        found = self.judge(actor, "coordinate", answer, execute)
        if found is not None:
            same(_plain(answer.value), found[0], f"the result of {command}")
            if not actor.is_over and self.modes.get(actor.owner) == "dtx":
                actor.branch = self.dtx.branch_of(actor.owner)


def _executed(session: ServedSession, number: int) -> bool:
    """Whether a session's command `number` has come as a whole."""
    core = session.core
    state = session.state if core is None else core._state
    assert state is not None
    if core is not None and core._incoming._arriving is not None and core._incoming._arriving.number == number:
        return False
    return state.receiving.next_id is not None and state.receiving.next_id > number


REASONS = {0: "full", 1: "unroutable", 2: "immediate"}
"""What the codes of message.reject say of a publish."""
SETTLING: dict[str, Any] = {"accept": amqp.MessageAccept, "reject": amqp.MessageReject, "release": amqp.MessageRelease}


def _plain(result: object) -> object:
    """What a result says."""
    match result:
        case amqp.XaResult():
            return result.status
        case amqp.GetTimeoutResult():
            return result.timeout
        case amqp.RecoverResult():
            return list(result.in_doubt or ())
        case _:
            return result
