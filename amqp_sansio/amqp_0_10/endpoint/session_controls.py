"""The controls of sessions: attach, find out what the peer knows, replay, tell what is completed (class 2)."""

# The modules of this package share one engine; its private state is theirs, not the caller's.
# pyright: reportPrivateUsage=false
from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from ..._core.serial import add, distance
from ...endpoint import Side
from ...errors import LimitExceeded, LocalProtocolError, RemoteProtocolError, Scope
from ...events import By, CloseReport, Handle, Opened, Replied
from ..codec.dialect import missing
from ..codec.frames import CONTROL, encode_assembly
from ..codec.records import (
    SessionAttach,
    SessionAttached,
    SessionCommandPoint,
    SessionCompleted,
    SessionConfirmed,
    SessionDetach,
    SessionDetached,
    SessionExpected,
    SessionFlush,
    SessionGap,
    SessionKnownCompleted,
    SessionRequestTimeout,
    SessionTimeout,
)
from ..codec.sequence_set import SequenceSet
from ..codec.violation import DetachCode, Violation, exception, framing_error, misuse
from ..model.events import BodyAborted, Resumed, SessionRequested
from ..model.execution import ILLEGAL_STATE, NOT_IMPLEMENTED, RESOURCE_LIMIT_EXCEEDED
from ..model.session_state import SessionState
from ..model.states import ATTACHMENT, Attachment, AttachmentInput
from . import incoming, outgoing, session_end
from .session import Session

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ..codec.record import Control
    from .connection import Connection

_NOTHING: Final = SequenceSet()
_FIRST: Final = SequenceSet.of(0)
_ALL: Final = SessionFlush(expected=True, confirmed=True, completed=True)
_MANY: Final = 65_536
"""So many ids may be completed and not known to be before the peer is asked to say that it knows, or told so."""
_MOST_RANGES: Final = 0xFFFF // 8
"""More ranges don't fit into a sequence-set: eight octets each, and a size of two."""

_INPUTS: Final = {
    (True, "attach"): AttachmentInput.I_ATTACH,
    (False, "attached"): AttachmentInput.A_ATTACHED,
    (True, "detach"): AttachmentInput.I_DETACH,
    (False, "detach"): AttachmentInput.A_DETACH,
    (True, "detached"): AttachmentInput.I_DETACHED,
    (False, "detached"): AttachmentInput.A_DETACHED,
    (True, "other"): AttachmentInput.I_OTHER,
    (False, "other"): AttachmentInput.A_OTHER,
}


# What this end does.


def send(session: Session, control: Control) -> None:
    """Queue a control of a session. Raises CodecError, LimitExceeded."""
    send_on(session._connection, session.channel, control)


def send_on(connection: Connection, channel: int, control: Control) -> None:
    """Queue a control on a channel."""
    octets = encode_assembly(
        channel, [(CONTROL, control.encode_assembly())], connection._max_frame
    )
    connection._check_backlog(len(octets))
    connection._queue_octets(octets)


def step_own(session: Session, name: str) -> None:
    """Step the attachment's table for what this end has sent."""
    _step(session, session._initiator, name)


def _step(session: Session, by_initiator: bool, name: str) -> bool:
    given = _INPUTS.get((by_initiator, name))
    after = None if given is None else ATTACHMENT[session._attachment].get(given)
    if after is None:
        return False
    session._attachment = after
    return True


def open_session(
    connection: Connection, name: bytes, timeout: int | None, *, force: bool
) -> Session:
    """Attach a new session on the lowest free channel."""
    state = SessionState(name, connection.role, connection.config.limits)
    state.timeout = timeout
    return _attach(connection, state, force=force)


def resume_session(connection: Connection, state: SessionState, *, force: bool) -> Session:
    """Attach a session that was attached before."""
    if state.side is not connection.role:
        raise LocalProtocolError(
            f"session {state.name!r} is that of a {state.side.value}, this is a {connection.role.value}"
        )
    state.receiving.detached()
    return _attach(connection, state, force=force)


def _attach(connection: Connection, state: SessionState, *, force: bool) -> Session:
    connection._check_open()
    if connection._knows(state.name):
        raise misuse(
            f"session {state.name!r} is attached on this connection", "session.attach/one-transport"
        )
    number = _free_channel(connection)
    session = Session(connection, number, state, initiator=True)
    session._resuming = session._resumes = state.lasts
    state.adopt(connection.config.limits)
    send_on(connection, number, SessionAttach(state.name, force))
    session.opening = Handle((state.name, connection.role.value, "open", connection._new_serial()))
    step_own(session, "attach")
    connection._sessions[number] = session
    return session


def _free_channel(connection: Connection) -> int:
    for number in range(connection.channel_max):
        asked = connection._requested
        if number not in connection._sessions and (asked is None or asked.channel != number):
            return number
    raise LimitExceeded(
        f"all {connection.channel_max} channels that were agreed are in use",
        rule="0-10/connection.tune-ok/available-channels",
    )


def request_timeout(session: Session, seconds: int | None) -> Handle[int | None]:
    """Ask the peer to keep the session."""
    send(session, SessionRequestTimeout(seconds))
    handle: Handle[int | None] = Handle(
        (session.name, session._connection.role.value, "timeout", session._connection._new_serial())
    )
    session._timeouts.append(handle)
    return handle


def accept(connection: Connection, channel: int, state: SessionState | None) -> Session:
    """Answer `SessionRequested` with attached: a new session, or one that was attached before."""
    request = _requested(connection, channel)
    if connection._knows(request.name):
        raise misuse(
            f"session {request.name!r} is attached on another channel: detach it there, or refuse",
            "session.attach/one-transport",
        )
    if state is None:
        state = SessionState(request.name, connection.role, connection.config.limits)
    elif state.name != request.name:
        raise LocalProtocolError(f"the state is that of session {state.name!r}, asked is {request.name!r}")
    elif state.side is not connection.role:
        raise LocalProtocolError(f"the state is that of a {state.side.value}")
    session = Session(connection, channel, state, initiator=False)
    session._attachment = Attachment.ATTACHING
    session._check_backlog(len(request.name))
    state.receiving.detached()
    state.adopt(connection.config.limits)
    send_on(connection, channel, SessionAttached(request.name))
    step_own(session, "attached")
    connection._sessions[channel] = session
    connection._requested = connection._waiting_for = None
    if state.lasts:
        session._resuming = session._resumes = session._asked = True
        send(session, _ALL)
    else:
        _set_out(session)
    return session


def refuse(connection: Connection, channel: int, code: DetachCode) -> None:
    """Answer `SessionRequested` with detached."""
    request = _requested(connection, channel)
    send_on(connection, channel, SessionDetached(request.name, code.value))
    connection._requested = connection._waiting_for = None


def _requested(connection: Connection, channel: int) -> SessionRequested:
    connection._check_open()
    request = connection._requested
    if request is None or request.channel != channel:
        raise LocalProtocolError(f"no session waits on channel {channel} to be attached")
    return request


def _set_out(session: Session, first: int | None = None) -> None:
    """Commands go out from now on, those that were kept first (part 1 section 3.6)."""
    state = session._state
    replay = state.sending.to_replay(_NOTHING if first is None else SequenceSet.of(first))
    doubtful = bool(state.sending.replay)
    number = replay[0][0] if replay else state.sending.next_id
    send(session, SessionCommandPoint(number, 0))
    session._ready = True
    for each, segments in replay:
        if each != number:
            # What was given up leaves a hole.
            send(session, SessionCommandPoint(each, 0))
        outgoing.write(session, segments)
        number = add(each, 1)
    if number != state.sending.next_id:
        send(session, SessionCommandPoint(state.sending.next_id, 0))
    state.opened = state.lasts = True
    events = session._connection._events
    opening, session.opening = session.opening, None
    if opening is not None:
        opening._complete(session)
    if session._resuming:
        session._resuming = False
        found = tuple([incoming.on_channel(each, session.channel) for each in state.incomplete])
        state.executing = dict(zip(state.executing, found, strict=True))
        events.append(Resumed(Scope.SESSION, session.channel, opening, found))
        if doubtful:
            tell_completed(session, timely=True)
    else:
        events.append(Opened(Scope.SESSION, session.channel, opening))


def tell_completed(session: Session, *, timely: bool = False) -> None:
    """Send the full set of what this end has executed and the peer may not know.

    On a session that is resumed not before what was in doubt is sent again: the result of a command, and the outcome
    of a message, come before the completion.
    """
    doubtful = session._resuming and session._state.sending.replay
    if doubtful or session._attachment is not Attachment.ATTACHED:
        return
    session._state.untold = 0
    completed = session._state.receiving.completed
    timely = timely or len(completed) > _MANY
    for part in _parts(completed):
        send(session, SessionCompleted(part, timely or part is not completed))


def _parts(ids: SequenceSet) -> list[SequenceSet]:
    """The same ids in as many sets as it takes to write them."""
    ranges = ids.ranges
    if len(ranges) <= _MOST_RANGES:
        return [ids]
    return [
        SequenceSet(ranges[begin : begin + _MOST_RANGES])
        for begin in range(0, len(ranges), _MOST_RANGES)
    ]


# What the peer sends.


def receive(connection: Connection, channel: int, control: Any) -> None:
    """Take a control of the session class. Raises Violation."""
    if channel >= connection.channel_max:
        raise framing_error(
            f"{control.NAME} on channel {channel}, {connection.channel_max} channels were agreed",
            "connection.tune-ok/available-channels",
        )
    name = missing(control, connection.config.dialect)
    if name:
        raise framing_error(f"{control.NAME} without {name.replace('_', '-')}", "wire/struct-required")
    session = connection._sessions.get(channel)
    kind = control.__class__
    if kind is SessionAttach:
        _attach_wanted(connection, channel, session, control)
    elif kind is SessionDetached:
        _detached(session, control)
    elif kind is SessionDetach:
        _detach(connection, channel, session, control)
    elif session is None:
        send_on(connection, channel, SessionDetached(b"", DetachCode.NOT_ATTACHED.value))
    elif kind is SessionAttached:
        _attached(session, control)
    elif _step(session, not session._initiator, "other") and (
        session._report is None or kind is SessionRequestTimeout
    ):
        try:
            _RECEIVE[kind](session, control)
        except Violation as violation:
            if violation.scope is not Scope.SESSION:
                raise
            session_end.fail(session, violation, None, None)


def _attach_wanted(
    connection: Connection, channel: int, session: Session | None, control: SessionAttach
) -> None:
    name = control.name or b""
    code: DetachCode | None = None
    if session is not None:
        same = session._report is None and session.name == name
        if same and _step(session, not session._initiator, "attach"):
            send(session, SessionAttached(name))
            return
        code = DetachCode.TRANSPORT_BUSY
    elif connection.role is Side.CLIENT:
        # Attaching to a client is for peers that have agreed on it (class 2, attach: a client may handle it).
        code = DetachCode.SESSION_BUSY
    elif not control.force and connection._knows(name):
        code = DetachCode.SESSION_BUSY
    if code is not None:
        send_on(connection, channel, SessionDetached(name, code.value))
        return
    connection._requested = SessionRequested(channel, name, control.force)
    connection._waiting_for = "session"
    connection._events.append(connection._requested)


def _attached(session: Session, control: SessionAttached) -> None:
    if control.name != session.name or not _step(session, not session._initiator, "attached"):
        return
    if session._attachment is not Attachment.ATTACHED or session._asked:
        return
    session._asked = True
    send(session, _ALL)
    state = session._state
    if state.timeout != 0 and not state.opened:
        request_timeout(session, state.timeout)
    if session._closing:
        send(session, SessionRequestTimeout(0))


def _detached(session: Session | None, control: SessionDetached) -> None:
    """The session is detached; what belongs to an earlier attachment is none of this one's business."""
    if session is None or (control.name and control.name != session.name):
        return
    unanswered = session._attachment in (Attachment.ATTACHING, Attachment.LEAVING)
    if unanswered and not control.name and control.code == DetachCode.NOT_ATTACHED.value:
        # The answer to attach has its name: this one answers what came before it on the channel.
        return
    if session._attachment is Attachment.ATTACHING and not control.code:
        # A refusal says why: this answers an earlier attachment's detach, which met the peer's own.
        return
    own_wish = session._attachment in (
        Attachment.INITIATOR_DETACHING,
        Attachment.ACCEPTOR_DETACHING,
        Attachment.LEAVING,
    )
    if not _step(session, not session._initiator, "detached"):
        session._attachment = Attachment.DETACHED
    if own_wish or session._report is not None or not control.code:
        by = By.LOCAL if own_wish else By.REMOTE
        session_end.end(session, session._report or CloseReport(by))
        return
    name = _detach_name(control.code)
    text = f"the peer detached session {session.name!r}: {name}"
    hint = _HINTS.get(control.code, "")
    error = RemoteProtocolError(
        text, scope=Scope.SESSION, code=control.code, channel=session.channel, condition=name
    )
    report = CloseReport(By.REMOTE, control.code, text, hint=hint, condition=name)
    session_end.end(session, report, error, lasting=session._state.lasts)


def _detach(
    connection: Connection, channel: int, session: Session | None, control: SessionDetach
) -> None:
    name = control.name or b""
    if session is None or (name and name != session.name):
        send_on(connection, channel, SessionDetached(name, DetachCode.NOT_ATTACHED.value))
        return
    crossed = not _step(session, not session._initiator, "detach")
    if not crossed or session._attachment is not Attachment.DETACHED:
        send(session, SessionDetached(session.name, DetachCode.NORMAL.value))
    session._attachment = Attachment.DETACHED
    session_end.end(session, session._report or CloseReport(By.REMOTE))


def _request_timeout(session: Session, control: SessionRequestTimeout) -> None:
    """Grant what is asked, as far as this end keeps sessions at all (rule maximum-granted-timeout)."""
    most, wanted = session._connection.config.session_timeout_max, control.timeout
    granted = most if wanted is None else wanted if most is None else min(wanted, most)
    session._state.timeout = granted
    _answer(session, SessionTimeout(granted))


def _timeout(session: Session, control: SessionTimeout) -> None:
    """What is granted. A peer that wasn't asked can't have this end keep the session for longer."""
    state, granted = session._state, control.timeout
    if session._timeouts or (granted is not None and (state.timeout is None or granted < state.timeout)):
        state.timeout = granted
    if session._timeouts:
        state.lasts = True
        handle = session._timeouts.popleft()
        handle._complete(granted)
        session._connection._events.append(Replied(handle))
    elif session._closing and session._attachment is Attachment.ATTACHED:
        send(session, SessionDetach(session.name))
        step_own(session, "detach")


def _command_point(session: Session, control: SessionCommandPoint) -> None:
    number, offset = control.command_id or 0, control.command_offset or 0
    receiving = session._state.receiving
    arriving = session._arriving
    if arriving is not None:
        if offset and arriving.number == number and offset == arriving.octets:
            return
        abort_arriving(session)
    if offset:
        raise exception(
            NOT_IMPLEMENTED,
            f"session.command-point in the middle of command {number}, at octet {offset}; "
            "commands are expected as a whole",
        )
    if not receiving.command_point(number):
        raise exception(
            ILLEGAL_STATE,
            f"session.command-point {number} leaves out commands from {receiving.next_id} on, without session.gap",
        )


def abort_arriving(session: Session) -> None:
    """What has come of a command so far is dropped: it will come again, or never."""
    arriving, session._arriving = session._arriving, None
    if arriving is None:
        return
    if arriving.new:
        session._state.receiving.forget(arriving.number)
    if arriving.told:
        begun = session._state.executing[arriving.number]
        incoming.retire(session._state, arriving.number, completed=False)
        incoming.unspend(session._state, begun, arriving.number)
        session._state.incoming.unsettled.pop(arriving.number, None)
        session._connection._events.append(BodyAborted(session.channel, arriving.number))
    session._connection._bodies -= arriving.held


def _answer(session: Session, control: Control) -> None:
    """Reply on a channel that this end hasn't left yet."""
    if session._attachment is Attachment.ATTACHED:
        send(session, control)


def _flush(session: Session, control: SessionFlush) -> None:
    receiving = session._state.receiving
    if control.expected:
        expected = receiving.expected
        if not expected and session._resumes:
            # Nothing expected means a new session (rule session.expected/empty-iff-new), and this one is kept.
            expected = _FIRST
        _answer(session, SessionExpected(expected))
    if control.confirmed:
        for part in _parts(receiving.completed):
            _answer(session, SessionConfirmed(part))
    if control.completed:
        tell_completed(session, timely=control.expected)


def _expected(session: Session, control: SessionExpected) -> None:
    expected = control.commands or _NOTHING
    if session._ready or not session._asked or session._attachment is not Attachment.ATTACHED:
        return
    state = session._state
    if session._resuming and not expected and state.opened:
        text = f"the peer has forgotten session {session.name!r}: what is in doubt stays so"
        session_end.leave(session, text, forgotten=True)
    elif expected and not session._resuming:
        text = f"the peer already knows a session {session.name!r}; resume it with its state, or take another name"
        session_end.leave(session, text, forgotten=False)
    elif expected and distance(expected.ranges[-1][1], state.sending.next_id) < 0:
        text = f"the peer expects command {expected.ranges[-1][1]} of session {session.name!r}, "
        text += f"the next one to be sent is {state.sending.next_id}"
        session_end.leave(session, text, forgotten=True)
    else:
        _set_out(session, expected.ranges[-1][1] if expected else None)


def _confirmed(session: Session, control: SessionConfirmed) -> None:
    session._state.sending.confirmed(_sent(session, control.commands))


def _completed(session: Session, control: SessionCompleted) -> None:
    commands = control.commands or _NOTHING
    news = session._state.sending.told_completed(_sent(session, commands))
    session._state.asked = False
    if news:
        outgoing.completed(session, news)
    if control.timely_reply or len(commands) > _MANY:
        # An exact echo will do (rule stateless). Who doesn't ask for it isn't told of every completion (rule
        # delayed-reply): a later reply covers all that went before.
        _answer(session, SessionKnownCompleted(commands))


def _sent(session: Session, ids: SequenceSet | None) -> SequenceSet:
    """The ids, when all were sent. Raises Violation."""
    if not ids:
        return _NOTHING
    next_id = session._state.sending.next_id
    for lower, upper in ids.ranges:
        if distance(upper, next_id) <= 0 or distance(lower, next_id) <= 0:
            raise exception(
                ILLEGAL_STATE, f"the peer tells of command {upper}, the next one to be sent is {next_id}"
            )
    return ids


def _known_completed(session: Session, control: SessionKnownCompleted) -> None:
    session._state.receiving.known_completed(control.commands or _NOTHING)
    _check_holes(session)


def _check_holes(session: Session) -> None:
    """An honest sender leaves holes only around what isn't completed. Raises Violation."""
    state = session._state
    receiving = state.receiving
    holes = len(receiving.known.ranges) + len(receiving.ahead.ranges)
    if holes > _MOST_RANGES + 2 * state.waiting:
        raise exception(
            RESOURCE_LIMIT_EXCEEDED,
            f"the commands that aren't known to be completed are {holes} ranges of ids",
        )


def _gap(session: Session, control: SessionGap) -> None:
    """The sender gives up commands: they count as completed, also the one that is arriving (rules of session.gap)."""
    ids = control.commands or _NOTHING
    arriving = session._arriving
    if arriving is not None and arriving.number in ids:
        abort_arriving(session)
    session._state.receiving.gap(ids)
    _check_holes(session)


def unattached_command(connection: Connection, channel: int) -> None:
    """Command data on a channel without a session: it's dropped, and its sender is told so."""
    send_on(connection, channel, SessionDetached(b"", DetachCode.NOT_ATTACHED.value))


def unknown_ids(session: Session) -> Violation:
    """Command data came before the first command-point (rule newly-attached-transports)."""
    return Violation(
        0,
        f"command data on session {session.name!r} before session.command-point",
        rule="session.command-point/newly-attached",
        scope=Scope.SESSION,
        detach=DetachCode.UNKNOWN_IDS,
    )


def _detach_name(code: int) -> str:
    try:
        return DetachCode(code).name.lower().replace("_", "-")
    except ValueError:
        return str(code)


_HINTS: Final = {
    1: "another connection has it; resume it with force, or take another name",
    2: "the channel has another session",
    3: "the peer has no session on this channel",
    4: "the peer has lost count of the commands: session.command-point came too late",
}

_RECEIVE: Final[Mapping[type[Control], Callable[[Session, Any], None]]] = {
    SessionRequestTimeout: _request_timeout,
    SessionTimeout: _timeout,
    SessionCommandPoint: _command_point,
    SessionExpected: _expected,
    SessionConfirmed: _confirmed,
    SessionCompleted: _completed,
    SessionKnownCompleted: _known_completed,
    SessionFlush: _flush,
    SessionGap: _gap,
}
