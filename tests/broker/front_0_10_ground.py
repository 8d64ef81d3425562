"""Sessions of 0-10 on a `Stage`: their connections, what they are told, and what becomes of them without one.

An actor is a session; what connections own in other versions, sessions do here. A session that is kept when its
connection is lost is in `kept` until it goes on elsewhere or its time is over. What a client has completed is told at
once, where an engine may take its time, so that both models know the same of credit.

`cuts` says that the connection is lost in the middle of the next command of a session that is kept: after so many
octets to the broker, and so many back. The session goes on on another connection, and the command is answered there.
"""

# What an engine won't send, and when it tells completions, can only be changed from inside.
# pyright: reportPrivateUsage=false
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar

from amqp_sansio import Event, LocalProtocolError, RemoteProtocolError
from amqp_sansio import amqp_0_10 as amqp
from amqp_sansio.broker.contents.amqp_0_10 import Content_0_10
from amqp_sansio.broker.frontends.amqp_0_10.sessions import ServedSession, register_of
from amqp_sansio.broker.model.content import Content
from amqp_sansio.errors import Scope
from amqp_sansio.events import Abandoned, Closed, Failed, Opened, Replied, Settled
from amqp_sansio.sasl import Plain
from tests.broker.front_models import (
    Actor,
    Answer,
    Copy,
    Error,
    Handle,
    Line,
    Place,
    Room,
    Seen,
    Stage,
    same,
)
from tests.broker.naive_0_10 import Distributed, Flow, Naive_0_10
from tests.broker.naive_values import Refusal, fail

R = TypeVar("R")

CODES = {
    "not-found": 404, "binding-not-found": 404, "type-unknown": 404, "locked": 405, "exclusive": 405, "in-use": 406,
    "not-empty": 406, "queue-deleted": 408, "illegal-state": 409, "limit": 506, "inequivalent": 530,
    "reserved-name": 530, "not-allowed": 530, "used-as-alternate": 530, "unknown-argument": 540, "name-missing": 542,
    "default-exchange": 542, "bad-argument": 542,
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


class Ground_0_10(Stage):
    """Sessions on connections that come and go; what is said on them is `Stage_0_10`'s."""

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


def _executed(session: ServedSession, number: int) -> bool:
    """Whether a session's command `number` has come as a whole."""
    core = session.core
    state = session.state if core is None else core._state
    assert state is not None
    if core is not None and core._incoming._arriving is not None and core._incoming._arriving.number == number:
        return False
    return state.receiving.next_id is not None and state.receiving.next_id > number


__all__ = ["FORCED", "Cut", "Ground_0_10", "Sent"]
