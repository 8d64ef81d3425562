"""Controls: how a session attaches, finds out what the peer knows, replays, tells what is completed, and ends.

Class 2, part 1 sections 3.4.1.3 and 3.6. In order: attach and attached put the session on the channel; each end
flushes, to learn what the other expects; then each sends its command-point, replays what the peer hasn't got, and is
`ready`.
Commands that the application gives before that wait in the state's replay.

Between two calls these hold: commands go out only while the channel is `ready` and attached; the session is told once,
by Opened or Resumed; and once `report` is set, only detached and the answer to a close still count.
"""

from __future__ import annotations

from collections import deque

from ..._checking import TYPE_CHECKING
from ..._core.violation import refuse
from ..._ground.serial import add, distance
from ..._watching.ends import failed, tell_abandoned
from ...errors import EndpointClosed, LocalProtocolError, RemoteProtocolError, Scope
from ...events import By, CloseReport, Failed, Info, Opened, Pending, Replied
from ..codec import records
from ..codec.record import COMMANDS
from ..codec.sequence_set import SequenceSet
from ..codec.violation import DETACH_CODES, DetachCode, Violation, exception
from ..model import execution
from ..model.command_ids import never_sent
from ..model.states import Attachment
from .events import Resumed, SessionClosed
from .incoming import Incoming, command_of, on_channel
from .outgoing import Outgoing

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any, ClassVar, Final

    from ..codec.record import Command, Control
    from .channel import Channel
    from .session_state import SessionState

_NOTHING: Final = SequenceSet()
_FIRST: Final = SequenceSet.of(0)
_ALL: Final = records.SessionFlush(expected=True, confirmed=True, completed=True)
_MANY: Final = 65_536
"""So many ids may be completed before the peer is told that this is known, asked or not."""
_MOST_RANGES: Final = 0xFFFF // 8
"""An honest sender leaves at most so many holes beside those of the commands that wait."""
_LONGEST_TEXT: Final = 2048
"""Characters of a description that an exception carries."""
_ATTACHED: Final = Attachment.ATTACHED
_UNANSWERED: Final = (Attachment.ATTACHING, Attachment.LEAVING)
_LEAVING: Final = (Attachment.INITIATOR_DETACHING, Attachment.ACCEPTOR_DETACHING, Attachment.LEAVING)
_HINTS: Final = {
    1: "another connection has it; resume it with force, or take another name",
    2: "the channel has another session",
    3: "the peer has no session on this channel",
    4: "the peer has lost count of the commands: session.command-point came too late",
}


class Controls:
    """One end of a session's attachment to a channel, from session.attach until the channel is free again."""

    __slots__ = (
        "_asked",
        "_closing",
        "_ended",
        "_resumes",
        "_timeouts",
        "_transport",
        "channel",
        "incoming",
        "opening",
        "outgoing",
        "session",
        "state",
    )

    def __init__(self, channel: Channel, state: SessionState, ended: Callable[[Controls], None]) -> None:
        # The place, with the state of the attachment.
        self.channel = channel
        # What survives the attachment; a resumed session brings it.
        self.state = state
        # This end's commands, which the peer's session.completed ends.
        self.outgoing = Outgoing(channel, state)
        # The peer's commands, whose completion this end tells.
        self.incoming = Incoming(channel, state, self.outgoing, self.fail, self.failed_by_peer)
        # The pending that ends with `session` once both ends are in step; None afterwards, and for sessions that the
        # peer opened.
        self.opening: Pending[object] | None = None
        # The session as the application has it.
        self.session: Any = None
        # The connection's, for events and numbers of pendings.
        self._transport = channel.transport
        # Called once, when the session has left the channel.
        self._ended = ended
        # Whether this end has asked what the peer knows of the session (session.flush).
        self._asked = False
        # Whether this end leaves the session for good: its detach follows once the peer keeps nothing (`close`).
        self._closing = False
        # Whether this end kept the session from an earlier attachment: then it never says that it expects nothing,
        # which means a new session (rule session.expected/empty-iff-new).
        self._resumes = False
        # The pendings of session.request-timeout, in the order of the requests: an answer ends the first.
        self._timeouts: deque[Pending[int | None]] = deque()

    # Attaching.

    def attach(self, *, force: bool) -> None:
        """Ask the peer to attach the session. Raises LimitExceeded."""
        channel, state, transport = self.channel, self.state, self._transport
        channel.resuming = state.lasts
        self._resumes = channel.resuming
        state.adopt(transport.limits)
        channel.send_step(records.SessionAttach(state.name, force))
        self.opening = Pending((state.name, state.side_name, "open", transport.new_serial()))

    def accept(self) -> None:
        """Answer the peer's attach. Raises LimitExceeded when the answer, and what follows it, can't be queued."""
        self.outgoing.check_backlog(len(self.state.name))
        self.channel.send_step(records.SessionAttached(self.state.name))

    def begin(self) -> None:
        """Go on behind the answer: a session that lasts asks what the peer knows, another one begins."""
        if self.state.lasts:
            self.channel.resuming = True
            self._resumes = True
            self._asked = True
            self.channel.send(_ALL)
        else:
            self._set_out()

    def attach_again(self) -> bool:
        """The peer attaches the session where it's attached, which succeeds; False when that isn't legal now."""
        if self.channel.report is not None or not self.channel.came("attach"):
            return False
        self.channel.send(records.SessionAttached(self.state.name))
        return True

    def attached(self, control: records.SessionAttached) -> None:
        """The peer has attached the session."""
        channel, state = self.channel, self.state
        if control.name != state.name or not channel.came("attached"):
            return
        if channel.state is not _ATTACHED or self._asked:
            return
        self._asked = True
        channel.send(_ALL)
        if state.timeout != 0 and not state.opened:
            self.request_timeout(state.timeout)
        if self._closing:
            channel.send(records.SessionRequestTimeout(0))

    def _set_out(self, first: int | None = None) -> None:
        """Commands go out from now on, those that were kept first (part 1 section 3.6)."""
        channel, state = self.channel, self.state
        replay = state.sending.to_replay(_NOTHING if first is None else SequenceSet.of(first))
        doubtful = bool(state.sending.replay)
        number = replay[0][0] if replay else state.sending.next_id
        channel.send(records.SessionCommandPoint(number, 0))
        channel.ready = True
        for each, segments in replay:
            if each != number:
                # Commands that were given up leave a hole.
                channel.send(records.SessionCommandPoint(each, 0))
            channel.write(segments)
            number = add(each, 1)
        if number != state.sending.next_id:
            channel.send(records.SessionCommandPoint(state.sending.next_id, 0))
        state.attached()
        events = self._transport.events
        opening, self.opening = self.opening, None
        if opening is not None:
            opening.complete(self.session)
        if channel.resuming:
            channel.resuming = False
            found = tuple([on_channel(each, channel.number) for each in state.incomplete])
            state.renew(found)
            events.append(Resumed(Scope.SESSION, channel.number, opening, found))
            if doubtful:
                self.incoming.tell_completed(timely=True)
        else:
            events.append(Opened(Scope.SESSION, channel.number, opening))

    # This end's controls.

    def request_timeout(self, seconds: int | None) -> Pending[int | None]:
        """Ask the peer to keep the session for so long."""
        state = self.state
        self.channel.send(records.SessionRequestTimeout(seconds))
        pending: Pending[int | None] = Pending((state.name, state.side_name, "timeout", self._transport.new_serial()))
        self._timeouts.append(pending)
        return pending

    def gap(self, command_ids: tuple[int, ...]) -> None:
        """Give up commands that the peer may not have got. Raises LocalProtocolError, LimitExceeded."""
        self.channel.check()
        control = records.SessionGap(SequenceSet.of(*command_ids))
        self.outgoing.check_backlog(len(control.encode()))
        self.outgoing.give_up(command_ids)
        self.channel.send(control)

    def detach(self) -> None:
        """Leave the channel; a second call does nothing."""
        channel = self.channel
        if channel.report is None and channel.state in (Attachment.ATTACHING, _ATTACHED):
            channel.check()
            self._detach()

    def _detach(self) -> None:
        self.channel.send_step(records.SessionDetach(self.state.name))

    def close(self) -> None:
        """Leave the session for good: the detach follows when the peer has said that it keeps nothing."""
        channel = self.channel
        if self._closing or channel.report is not None:
            return
        channel.check()
        if channel.state is _ATTACHED:
            channel.send(records.SessionRequestTimeout(0))
        else:
            self.detach()
        self._closing = True

    def let_go(self, code: DetachCode) -> None:
        """Give up the attachment: the session is attached elsewhere (rule session.attach/one-transport)."""
        channel = self.channel
        if channel.report is not None:
            return
        text = f"session {self.state.name!r} was taken to another transport"
        if channel.state is _ATTACHED and self._transport.is_open:
            channel.send_step(records.SessionDetached(self.state.name, code.value))
        self.end(CloseReport(By.LOCAL, code.value, text))

    def detached_state(self) -> SessionState:
        """This end's knowledge of a session that isn't attached."""
        channel, name = self.channel, self.state.name
        if channel.report is None:
            raise LocalProtocolError(f"session {name!r} is attached; detach it, or wait for SessionClosed")
        if self._closing or channel.state is not Attachment.DETACHED:
            raise EndpointClosed(f"session {name!r} is over: {channel.report}", channel.report)
        return self.state

    # The peer's controls.

    def receive(self, control: Control) -> None:
        """Take a control that isn't about the attachment itself. Raises Violation for the connection."""
        kind = control.__class__
        channel = self.channel
        if channel.came("other") and (channel.report is None or kind is records.SessionRequestTimeout):
            try:
                self._RECEIVE[kind](self, control)
            except Violation as violation:
                self.fail(violation, None, None)

    def detached(self, control: records.SessionDetached) -> None:
        """The session is detached; what belongs to an earlier attachment is none of this one's business."""
        channel, state = self.channel, self.state
        if control.name and control.name != state.name:
            return
        if channel.state in _UNANSWERED and not control.name and control.code == DetachCode.NOT_ATTACHED.value:
            # The answer to attach has its name: this one answers what came before it on the channel.
            return
        if channel.state is Attachment.ATTACHING and not control.code:
            # A refusal says why: this answers an earlier attachment's detach, which met the peer's own.
            return
        own_wish = channel.state in _LEAVING
        if not channel.came("detached"):
            channel.state = Attachment.DETACHED
        if own_wish or channel.report is not None or not control.code:
            self.end(channel.report or CloseReport(By.LOCAL if own_wish else By.REMOTE))
            return
        name = DETACH_CODES.get(control.code, str(control.code))
        text = f"the peer detached session {state.name!r}: {name}"
        hint = _HINTS.get(control.code, "")
        error, report = self._failure(By.REMOTE, control.code, text, name, hint=hint)
        self.end(report, error, lasting=state.lasts)

    def left(self) -> None:
        """The peer detaches the session."""
        channel = self.channel
        crossed = not channel.came("detach")
        if not crossed or channel.state is not Attachment.DETACHED:
            channel.send(records.SessionDetached(self.state.name, DetachCode.NORMAL.value))
        channel.state = Attachment.DETACHED
        self.end(channel.report or CloseReport(By.REMOTE))

    def _request_timeout(self, control: records.SessionRequestTimeout) -> None:
        """Grant what is asked, as far as this end keeps sessions at all (rule maximum-granted-timeout)."""
        most, wanted = self._transport.config.session_timeout_max, control.timeout
        granted = most if wanted is None else wanted if most is None else min(wanted, most)
        self.state.keep_for(granted)
        self.channel.answer(records.SessionTimeout(granted))

    def _timeout(self, control: records.SessionTimeout) -> None:
        """A peer that wasn't asked can't have this end keep the session for longer."""
        state, granted, waiting = self.state, control.timeout, self._timeouts
        if waiting or (granted is not None and (state.timeout is None or granted < state.timeout)):
            state.keep_for(granted)
        if waiting:
            state.confirm_timeout()
            pending = waiting.popleft()
            pending.complete(granted)
            self._transport.events.append(Replied(pending))
        elif self._closing and self.channel.state is _ATTACHED:
            self._detach()

    def _command_point(self, control: records.SessionCommandPoint) -> None:
        number, offset = control.command_id or 0, control.command_offset or 0
        receiving, incoming = self.state.receiving, self.incoming
        if incoming.goes_on(number, offset):
            return
        incoming.abort()
        if offset:
            text = f"session.command-point in the middle of command {number}, at octet {offset}; "
            text += "commands are expected as a whole"
            raise exception(execution.NOT_IMPLEMENTED, text)
        if not receiving.command_point(number):
            raise exception(
                execution.ILLEGAL_STATE,
                f"session.command-point {number} leaves out commands from {receiving.next_id} on, without session.gap",
            )

    def _flush(self, control: records.SessionFlush) -> None:
        receiving, channel = self.state.receiving, self.channel
        if control.expected:
            expected = receiving.expected
            if not expected and self._resumes:
                # Nothing expected means a new session (rule session.expected/empty-iff-new), and this one is kept.
                expected = _FIRST
            channel.answer(records.SessionExpected(expected))
        if control.confirmed:
            for part in receiving.completed.parts():
                channel.answer(records.SessionConfirmed(part))
        if control.completed:
            self.incoming.tell_completed(timely=control.expected)

    def _expected(self, control: records.SessionExpected) -> None:
        expected = control.commands or _NOTHING
        channel, state = self.channel, self.state
        if channel.ready or not self._asked or channel.state is not _ATTACHED:
            return
        name = state.name
        if channel.resuming and not expected and state.opened:
            self._leave(f"the peer has forgotten session {name!r}: what is in doubt stays so", By.REMOTE)
        elif expected and not channel.resuming:
            self._leave(
                f"the peer already knows a session {name!r}; resume it with its state, or take another name", By.LOCAL
            )
        elif expected and distance(expected.ranges[-1][1], state.sending.next_id) < 0:
            text = f"the peer expects command {expected.ranges[-1][1]} of session {name!r}, "
            text += f"the next one to be sent is {state.sending.next_id}"
            self._leave(text, By.REMOTE)
        else:
            self._set_out(expected.ranges[-1][1] if expected else None)

    def _confirmed(self, control: records.SessionConfirmed) -> None:
        self.state.sending.confirmed(self._sent(control.commands))

    def _completed(self, control: records.SessionCompleted) -> None:
        commands = control.commands or _NOTHING
        news = self.state.told_completed(self._sent(commands))
        if news:
            self.outgoing.completed(news)
        if control.timely_reply or len(commands) > _MANY:
            # An exact echo will do (rule stateless). A peer that doesn't ask for replies isn't told of every
            # completion (rule delayed-reply): a later reply covers all that went before.
            self.channel.answer(records.SessionKnownCompleted(commands))

    def _sent(self, ids: SequenceSet | None) -> SequenceSet:
        """The ids, when all were sent. Raises Violation."""
        if not ids:
            return _NOTHING
        refuse(never_sent(ids, self.state.sending.next_id))
        return ids

    def _known_completed(self, control: records.SessionKnownCompleted) -> None:
        self.state.receiving.known_completed(control.commands or _NOTHING)
        self._check_holes()

    def _check_holes(self) -> None:
        """An honest sender leaves holes only around what isn't completed. Raises Violation."""
        state = self.state
        receiving = state.receiving
        holes = len(receiving.known.ranges) + len(receiving.ahead.ranges)
        if holes > _MOST_RANGES + 2 * state.waiting:
            text = f"the commands that aren't known to be completed are {holes} ranges of ids"
            raise exception(execution.RESOURCE_LIMIT_EXCEEDED, text)

    def _gap(self, control: records.SessionGap) -> None:
        """The sender gives up commands: they count as completed, also the one that is arriving (rules of gap)."""
        ids = control.commands or _NOTHING
        if self.incoming.arriving in ids:
            self.incoming.abort()
        self.state.receiving.gap(ids)
        self._check_holes()

    _RECEIVE: ClassVar[Mapping[type[Control], Callable[..., None]]] = {
        records.SessionRequestTimeout: _request_timeout,
        records.SessionTimeout: _timeout,
        records.SessionCommandPoint: _command_point,
        records.SessionExpected: _expected,
        records.SessionConfirmed: _confirmed,
        records.SessionCompleted: _completed,
        records.SessionKnownCompleted: _known_completed,
        records.SessionFlush: _flush,
        records.SessionGap: _gap,
    }

    # Exceptions.

    def refuse(self, error: execution.ExecutionError, command_id: int | None, field: str | None) -> None:
        """The application refuses a command of the peer, or the whole session."""
        channel = self.channel
        if channel.report is not None or channel.state is not _ATTACHED:
            return
        self._transport.check_open()
        event = None if command_id is None else self.state.executing.get(command_id)
        if command_id is not None and event is None:
            raise LocalProtocolError(f"command {command_id} doesn't wait for its completion")
        command = None if event is None else command_of(event)
        report = CloseReport(By.LOCAL, error.code, str(error), rule=error.rule, condition=error.condition)
        self._send_exception(error.code, str(error), command_id, command, field)
        channel.report = report
        self._give_up(self._open_pendings(), report)

    def fail(self, violation: Violation, command_id: int | None, command: Command[object] | None) -> None:
        """The peer broke a rule of the session: tell it with an exception, or detach it.

        Raises a violation for the connection again.
        """
        if violation.scope is not Scope.SESSION:
            raise violation
        channel = self.channel
        if channel.report is not None:
            return
        if channel.is_leaving:
            channel.ignore()
            return
        text = str(violation)
        error, report = self._failure(
            By.LOCAL,
            violation.code,
            text,
            execution.ERROR_CODES.get(violation.code, ""),
            blamed=(0, 0) if command is None else divmod(command.CODE, 256),
            offset=self._transport.unit_offset(),
            rule=f"0-10/{violation.rule}" if violation.rule else None,
        )
        if violation.detach is not None:
            channel.send_step(records.SessionDetached(self.state.name, violation.detach.value))
            self.end(report, error, by=By.LOCAL)
            return
        self._send_exception(violation.code, text, command_id, command, None)
        channel.report = report
        self._tell_failed(error, By.LOCAL, self._open_pendings())

    def _send_exception(
        self, code: int, text: str, command_id: int | None, command: Command[object] | None, field: str | None
    ) -> None:
        """Send execution.exception, then give the session up, and detach it."""
        names = () if command is None else command.__match_args__
        group, number = (None, None) if command is None else divmod(command.CODE, 256)
        place = names.index(field) if field in names else None
        self.outgoing.issue_last(
            records.ExecutionException(code, command_id, group, number, place, text[:_LONGEST_TEXT])
        )
        self.channel.send(records.SessionRequestTimeout(0))
        self._detach()

    def failed_by_peer(self, exception: records.ExecutionException) -> None:
        """The peer sent an exception: the session is over, its detach follows."""
        code = exception.error_code or 0
        name = execution.ERROR_CODES.get(code, str(code))
        text = exception.description or name
        blamed = (exception.class_code or 0, exception.command_code or 0)
        command = COMMANDS.get(blamed[0] << 8 | blamed[1])
        places = () if command is None else command.__match_args__
        field = exception.field_index
        said: dict[str, object] = {
            "command-id": exception.command_id,
            "field": places[field] if field is not None and field < len(places) else field,
            **(exception.error_info or {}),
        }
        info = Info({key: value for key, value in said.items() if value is not None})
        error, report = self._failure(By.REMOTE, code, text, name, blamed=blamed)
        error.info = info
        self.channel.report = report.but(method="" if command is None else command.NAME, info=info)
        self._tell_failed(error, By.REMOTE, self._open_pendings())

    def _failure(
        self,
        by: By,
        code: int,
        text: str,
        condition: str,
        *,
        blamed: tuple[int, int] = (0, 0),
        offset: int | None = None,
        rule: str | None = None,
        hint: str = "",
    ) -> tuple[RemoteProtocolError, CloseReport]:
        """The error that ends the session, and the report of it. `blamed` are class and command."""
        error = RemoteProtocolError(
            text,
            scope=Scope.SESSION,
            code=code,
            channel=self.channel.number,
            class_id=blamed[0],
            method_id=blamed[1],
            offset=offset,
            rule=rule,
            condition=condition,
        )
        return error, CloseReport(by, code, text, *blamed, hint=hint, rule=rule, condition=condition)

    def _tell_failed(self, error: RemoteProtocolError, by: By, pendings: list[Pending[object]]) -> None:
        event = Failed(Scope.SESSION, self.channel.number, error, by, failed(pendings, error))
        self._transport.events.append(event)

    def _give_up(self, pendings: list[Pending[object]], report: CloseReport) -> None:
        error = EndpointClosed(f"no answer will come: {report}", report)
        tell_abandoned(self._transport.events, pendings, error, report)

    def _open_pendings(self) -> list[Pending[object]]:
        """Every pending of the session that nothing has ended."""
        found: list[Pending[object]] = [] if self.opening is None else [self.opening]
        self.opening = None
        found += self._timeouts
        self._timeouts.clear()
        return [*found, *self.state.pending]

    # Ends.

    def _leave(self, text: str, by: By) -> None:
        """The peer doesn't know what this end thought: leave the session, which isn't what was asked for."""
        error, self.channel.report = self._failure(By.LOCAL, 0, text, "")
        self._tell_failed(error, by, self._open_pendings())
        self._detach()

    def end(
        self,
        report: CloseReport,
        error: RemoteProtocolError | None = None,
        *,
        by: By = By.REMOTE,
        lasting: bool = False,
    ) -> None:
        """The session isn't attached any more: queue its last events.

        `lasting`: the error is that of the attachment, what is known of the session stays.
        """
        channel, state = self.channel, self.state
        over = channel.report is not None
        self.incoming.abort()
        state.receiving.detached()
        channel.ready = False
        channel.state = Attachment.DETACHED
        keep = not over and not self._closing and state.lasts and state.timeout != 0
        resumable = keep and (error is None or lasting)
        channel.report = report
        if error is not None and not resumable:
            self._tell_failed(error, by, self._open_pendings())
        elif not over or self.opening is not None or self._timeouts:
            # Of a session that may go on only what belongs to its attachment can't be answered any more.
            kept: frozenset[Pending[object]] = frozenset(state.pending if resumable else ())
            pendings = [pending for pending in self._open_pendings() if pending not in kept]
            if error is not None:
                self._tell_failed(error, by, pendings)
            else:
                self._give_up(pendings, report)
        self._transport.events.append(SessionClosed(Scope.SESSION, channel.number, report, state.name, resumable))
        if not resumable:
            self._closing = True
        self._ended(self)
