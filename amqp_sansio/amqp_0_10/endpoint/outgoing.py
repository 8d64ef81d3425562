"""The commands that this end sends: checked, kept for a replay, written, completed by the peer (part 1 section 3.2)."""

# The modules of this package share one engine; its private state is theirs, not the caller's.
# pyright: reportPrivateUsage=false
from __future__ import annotations

from itertools import islice
from struct import Struct
from typing import TYPE_CHECKING, Any, Final

from ..._core.serial import MASK
from ...endpoint import Side
from ...errors import EndpointClosed, LocalProtocolError
from ...events import Abandoned, Accepted, By, CloseReport, Handle, Replied, Settled
from ..codec.dialect import adapt
from ..codec.frames import BODY, COMMAND, FRAME, FRAME_HEADER_SIZE, HEADER, encode_assembly
from ..codec.records import (
    DtxCommit,
    DtxRollback,
    ExecutionException,
    ExecutionResult,
    MessageAccept,
    MessageAcquire,
    MessageCancel,
    MessageFlow,
    MessageFlush,
    MessageReject,
    MessageRelease,
    MessageSetFlowMode,
    MessageStop,
    MessageSubscribe,
    MessageTransfer,
    SessionCommandPoint,
    SessionFlush,
    TxCommit,
    TxRollback,
)
from ..codec.sequence_set import SequenceSet
from ..codec.violation import Violation, exception, misuse
from ..model.credit import Balance, check_flow_mode, check_unit
from ..model.dtx_states import XA_HEURRB, XA_RBROLLBACK, XA_RBTIMEOUT
from ..model.events import Completed, CreditChanged
from ..model.execution import ILLEGAL_STATE, NOT_ALLOWED
from ..model.open_ids import covered
from ..model.session_state import Call
from ..model.states import Attachment, TransferInput
from ..model.states import Connection as ConnectionState
from ..model.transfers import Transfers
from . import incoming, session_controls
from .fastpath import WHOLE_COMMAND
from .session import Transferred

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from ..codec.message import Message
    from ..model.session_state import Segments, SessionState
    from .session import Session

_COMPLETED: Final = Completed()
_ROLLED_BACK: Final = (XA_RBROLLBACK, XA_RBTIMEOUT, XA_HEURRB)
_ACCEPTED: Final = Accepted()
_HALF: Final = 2
_EXECUTION: Final = 3
_pack_two: Final = Struct(">HHII").pack
_HEADER_FRAME: Final = 0x0302
_BODY_FRAME: Final = 0x0703
_TRACK: Final = 0x10000
_OPEN: Final = ConnectionState.OPEN
_ATTACHED: Final = Attachment.ATTACHED
_OUTCOMES: Final[Mapping[type[Any], tuple[TransferInput, str]]] = {
    MessageAccept: (TransferInput.R_ACCEPT, "message.accept/acquisition"),
    MessageReject: (TransferInput.R_REJECT, "message.reject/acquisition"),
    MessageRelease: (TransferInput.R_RELEASE, "message/states"),
    MessageAcquire: (TransferInput.R_ACQUIRE, "message.acquire/one-to-one"),
}
"""What an end says of messages that it has received."""


Lead = tuple[tuple[str, int, int, bool], tuple[MessageTransfer, bytes, bytes]]
"""What a transfer is sent with, and its command, segment and frame."""


class NoCredit(LocalProtocolError):
    """The recipient takes nothing at the moment; `CreditChanged` says when it does again."""


def call(session: Session, command: Any, message: Message | None, sync: bool) -> Handle[Any]:
    """Send any command but a transfer. Raises LocalProtocolError, LimitExceeded, CodecError, EndpointClosed."""
    session._check()
    kind = command.__class__
    if command.CODE >> 8 == _EXECUTION and kind in (ExecutionResult, ExecutionException):
        raise LocalProtocolError(f"{command.NAME} is sent by Session.complete and Session.fail")
    _check_handler(session, command)
    missing = command.missing()
    if missing:
        raise LocalProtocolError(
            f"{command.NAME} needs {missing}", rule="0-10/wire/struct-required"
        )
    if message is not None and not (command.HEADERS or command.HAS_BODY):
        raise LocalProtocolError(f"{command.NAME} carries no message")
    segments, size = _segments(session, command, message, sync)
    state = session._state
    numbers: list[int] = []
    try:
        if kind in _OUTCOMES:
            move, rule = _OUTCOMES[kind]
            numbers = _to_settle(state.incoming, command, move, rule)
        before = _BEFORE.get(kind)
        if before is not None:
            before(state, command)
        state.files.step(state.side_name, command, 0 if message is None else len(message.body))
        state.own_rules.step(command)
    except Violation as violation:
        raise misuse(str(violation), violation.rule) from None
    handle: Handle[Any] = Handle((state.name, state.side_name, state.sending.next_id))
    number = _send(session, Call(command, handle, size, None, 0), segments)
    after = _AFTER.get(kind)
    if after is not None:
        after(state, command, number)
        state.tell_at = incoming.tell_at(state)
    elif kind is MessageAccept and state.own_rules.work is not None:
        state.incoming.put_aside(numbers, state.own_rules.work)
    elif numbers and kind is not MessageAcquire:
        state.incoming.move(numbers, _OUTCOMES[kind][0])
    return handle


def settle(session: Session, command: Any, sync: bool) -> Handle[Any]:
    """Accept, reject or release messages; those that aren't completed yet are now."""
    arriving = session._arriving
    if arriving is not None and arriving.told and arriving.number in command.transfers:
        raise LocalProtocolError(f"the message of command {arriving.number} is still arriving")
    handle = call(session, command, None, sync)
    incoming.complete_transfers(session, command.transfers)
    return handle


def transfer(
    session: Session,
    destination: str,
    message: Message,
    accept_mode: int,
    acquire_mode: int,
    sync: bool,
) -> Transferred:
    """Send a message. Raises NoCredit, and as `call`."""
    connection = session._connection
    if (
        not session._ready
        or session._attachment is not _ATTACHED
        or session._report is not None
        or connection._state is not _OPEN
        or connection._lost
    ):
        session._check()
    state = session._state
    header, body = message.headers.raw, message.body
    size = len(header) + len(body)
    throttled = destination
    balance = state.balances.get(destination)
    if balance is None:
        if state.side is Side.SERVER:
            raise LocalProtocolError(f"{destination!r} is no subscription of session {session.name!r}")
        # Brokers mean all that a session publishes when they throttle the default exchange.
        throttled = ""
        balance = state.balances.get("")
    if balance is not None and not balance.holds(size):
        raise NoCredit(
            f"destination {throttled!r} takes {_shown(balance.messages)} messages and {_shown(balance.octets)} "
            f"octets, this one has {size}; wait for CreditChanged",
            rule="0-10/message.set-flow-mode/no-partial",
        )
    found = _lead(session, destination, accept_mode, acquire_mode, sync)
    command, octets, lead = found[1]
    whole = size + len(octets)
    sending = state.sending
    limits = connection.config.limits
    crowded = (
        len(sending.replay) * _HALF >= limits.replay
        or len(state.calls) * _HALF >= limits.calls
        or (state.octets + whole) * _HALF >= limits.replay_octets
        or (connection._out.size + whole) * _HALF > limits.backlog_hard
    )
    if crowded:
        session._check_room(whole)
    explicit = not accept_mode or acquire_mode
    if explicit:
        _check_outgoing(state)
    session._lead = found
    number = sending.next_id
    key = (state.name, state.side_name, number)
    completion: Handle[None] = Handle(key)
    outcome: Handle[Any] | None = Handle((*key, "outcome")) if explicit else None
    call = Call(command, completion, whole, throttled, size)
    most = connection._max_frame - FRAME_HEADER_SIZE
    content: Segments = ((HEADER, header), (BODY, body)) if header else ((BODY, body),)
    segments = ((COMMAND, octets), *content)
    if not crowded and session._ready and len(header) <= most and len(body) <= most and message.has_body and lead:
        # As `_send` does it, for what most messages are.
        sending.replay[number] = segments
        sending.next_id = (number + 1) & MASK
        state.calls[number] = call
        state.octets += whole
        place = _TRACK | session.channel
        if header:
            lead += _pack_two(_HEADER_FRAME, len(header) + FRAME_HEADER_SIZE, place, 0) + header
        connection._queue_octets(
            b"".join((lead, _pack_two(_BODY_FRAME, len(body) + FRAME_HEADER_SIZE, place, 0), body))
        )
    else:
        _send(session, call, segments if message.has_body else segments[:-1])
    if balance is not None:
        balance.spend(size)
    if explicit:
        state.outgoing.transfer(number, accept_mode, acquire_mode, outcome)
    return Transferred(number, completion, outcome)


def _lead(
    session: Session, destination: str, accept_mode: int, acquire_mode: int, sync: bool
) -> Lead:
    """The command of a transfer, its segment, and the frame of it; most are octet by octet the one before."""
    wanted = (destination, accept_mode, acquire_mode, sync)
    last = session._lead
    if last is not None and last[0] == wanted:
        return last
    command = MessageTransfer(destination, accept_mode, acquire_mode)
    octets = command.encode_segment(sync=sync)
    lead = b""
    size = len(octets) + FRAME_HEADER_SIZE
    if size <= session._connection._max_frame:
        lead = FRAME.pack(WHOLE_COMMAND, COMMAND, size, 0, 1, session.channel, 0) + octets
    return wanted, (command, octets, lead)


def _check_outgoing(state: SessionState) -> None:
    try:
        state.outgoing.check_room()
    except Violation as violation:
        raise misuse(str(violation), violation.rule) from None


def issue(session: Session, command: Any) -> None:
    """Send a command of the core itself: a result, an exception. Raises LimitExceeded, CodecError."""
    segments, size = _segments(session, command, None, sync=False)
    _send(session, Call(command, None, size, None, 0), segments)


def issue_last(session: Session, command: Any) -> None:
    """Send the exception that ends a session: nobody keeps it. Raises LimitExceeded, CodecError."""
    octets = adapt(command, session._connection.config.dialect).encode_segment()
    session._check_backlog(len(octets))
    state = session._state
    if not session._ready:
        session_controls.send(session, SessionCommandPoint(state.sending.next_id, 0))
        session._ready = True
    state.sending.next_id = (state.sending.next_id + 1) & MASK
    write(session, ((COMMAND, octets),))


def give_up(session: Session, command_ids: Iterable[int]) -> None:
    """Commands that won't be sent again. Raises LocalProtocolError."""
    state = session._state
    ids = dict.fromkeys(command_ids)
    for number in ids:
        if number not in state.sending.replay:
            raise LocalProtocolError(f"command {number} doesn't wait to be confirmed")
    report = CloseReport(By.LOCAL, 0, "given up with session.gap")
    error = EndpointClosed("the command was given up", report)
    handles: list[Handle[Any]] = []
    for number in ids:
        del state.sending.replay[number]
        found = state.calls.pop(number, None)
        entry = state.outgoing.unsettled.pop(number, None)
        for balance in state.granted.values():
            balance.taking.discard(number)
        if found is not None:
            state.octets -= found.octets
        handles += [
            each
            for each in (
                None if found is None else found.handle,
                None if entry is None else entry.handle,
            )
            if each is not None
        ]
    for handle in handles:
        handle._fail(error)
    if handles:
        session._connection._events.append(Abandoned(tuple(handles), report))


def write(session: Session, segments: Segments) -> None:
    """Queue the frames of a command."""
    connection = session._connection
    if len(segments) == 1 and len(segments[0][1]) + FRAME_HEADER_SIZE <= connection._max_frame:
        octets = segments[0][1]
        connection._queue_octets(
            FRAME.pack(0x0F, COMMAND, FRAME_HEADER_SIZE + len(octets), 0, 1, session.channel, 0) + octets
        )
        return
    connection._queue_octets(encode_assembly(session.channel, segments, connection._max_frame))


def _segments(
    session: Session, command: Any, message: Message | None, sync: bool
) -> tuple[Segments, int]:
    """The segments of a command, and their octets together. Raises CodecError, LimitExceeded."""
    octets = adapt(command, session._connection.config.dialect).encode_segment(sync=sync)
    size = len(octets)
    if message is None:
        segments: Segments = ((COMMAND, octets),)
    else:
        header, body = message.headers.raw, message.body
        size += len(header) + len(body)
        found = [(COMMAND, octets)]
        if header:
            found.append((HEADER, header))
        if message.has_body:
            found.append((BODY, body))
        segments = tuple(found)
    session._check_room(size)
    return segments, size


def _send(session: Session, call: Call, segments: Segments) -> int:
    state = session._state
    number = state.sending.send(segments)
    state.calls[number] = call
    state.octets += call.octets
    if session._ready:
        write(session, segments)
        _ask_in_time(session, state)
    return number


def _ask_in_time(session: Session, state: SessionState) -> None:
    """Ask for what is completed, before nothing more can be kept."""
    limits = session._connection.config.limits
    if not state.asked and (
        len(state.sending.replay) * _HALF >= limits.replay
        or state.octets * _HALF >= limits.replay_octets
    ):
        state.asked = True
        session_controls.send(session, SessionFlush(completed=True))


def _check_handler(session: Session, command: Any) -> None:
    """The peer has to be one that handles this command."""
    if session._connection.role.other.value not in command.HANDLERS:
        raise LocalProtocolError(f"{command.NAME} isn't for a {session._connection.role.other.value}")


def _to_settle(books: Transfers, command: Any, move: TransferInput, rule: str) -> list[int]:
    """The transfers that a command names. Raises Violation when one doesn't wait for it."""
    ids: SequenceSet = command.transfers
    numbers = books.check(command.NAME, ids, move, rule)
    if len(numbers) != len(ids | SequenceSet()):
        gone = list(islice((number for number in ids if number not in books.unsettled), 5))
        raise misuse(
            f"{command.NAME} of {gone}: no transfers of these ids wait for it (already settled, or accept-mode none)"
        )
    return numbers


def _shown(credit: int | None) -> str:
    return "any number of" if credit is None else str(credit)


# What commands do to this end's own books when they're sent.


def _after_subscribe(state: SessionState, command: MessageSubscribe, number: int) -> None:
    destination = command.destination or ""
    state.granted[destination] = Balance(stale=state.arrived(destination))


def _before_subscribe(state: SessionState, command: MessageSubscribe) -> None:
    """What is under way to the one that was cancelled would be taken for the new one's."""
    destination = command.destination or ""
    if destination in state.granted and destination not in state.own_rules.subscriptions:
        raise exception(
            NOT_ALLOWED,
            f"message.subscribe with the destination {destination!r}, whose message.cancel isn't completed; "
            "wait for its handle",
            "message.subscribe/unique-destination",
        )


def _before_flow_mode(state: SessionState, command: MessageSetFlowMode) -> None:
    mode = check_flow_mode(command.flow_mode)
    balance = state.granted.get(command.destination or "")
    if balance is not None:
        balance.check_mode(mode, command.destination or "")


def _after_flow_mode(state: SessionState, command: MessageSetFlowMode, number: int) -> None:
    balance = state.granted.setdefault(command.destination or "", Balance())
    balance.flow_mode = check_flow_mode(command.flow_mode)


def _before_flow(state: SessionState, command: MessageFlow) -> None:
    """What the peer has left of it could not be known."""
    check_unit(command.unit)
    balance = state.granted.get(command.destination or "")
    if balance is not None and balance.taking:
        raise exception(
            ILLEGAL_STATE,
            f"message.flow for {command.destination!r}, whose message.stop or flush isn't completed; "
            "wait for its handle",
            "message.stop/zero",
        )


def _after_flow(state: SessionState, command: MessageFlow, number: int) -> None:
    balance = state.granted.setdefault(command.destination or "", Balance())
    balance.grant(check_unit(command.unit), command.value)


def _after_stop(state: SessionState, command: MessageStop | MessageFlush, number: int) -> None:
    state.granted.setdefault(command.destination or "", Balance()).take(number)


def _after_end(state: SessionState, command: TxCommit | TxRollback, number: int) -> None:
    """What is accepted from now on belongs to the next transaction."""
    state.incoming.close_work("tx", number)


def _after_branch(state: SessionState, command: DtxCommit | DtxRollback, number: int) -> None:
    state.incoming.close_work(command.xid, number)


_BEFORE: Final[Mapping[type[Any], Callable[[SessionState, Any], None]]] = {
    MessageSubscribe: _before_subscribe,
    MessageSetFlowMode: _before_flow_mode,
    MessageFlow: _before_flow,
}
_AFTER: Final[Mapping[type[Any], Callable[[SessionState, Any, int], None]]] = {
    MessageSubscribe: _after_subscribe,
    MessageSetFlowMode: _after_flow_mode,
    MessageFlow: _after_flow,
    MessageStop: _after_stop,
    MessageFlush: _after_stop,
    TxCommit: _after_end,
    TxRollback: _after_end,
    DtxCommit: _after_branch,
    DtxRollback: _after_branch,
}


# What the peer's completions end.


def completed(session: Session, ids: SequenceSet) -> None:
    """The peer has executed commands: end their handles (session.completed)."""
    state = session._state
    events = session._connection._events
    done: list[Handle[Any]] = []
    accepted: list[Handle[Any]] = []
    changed: dict[str, Balance] = {}
    for number in covered(state.calls, ids):
        found = state.calls[number]
        found.completed = True
        state.octets -= found.octets
        found.octets = 0
        if found.destination is not None:
            balance = state.balances.get(found.destination)
            if balance is not None and balance.restore(number, found.size):
                changed[found.destination] = balance
            if state.side is Side.CLIENT:
                accepted += _taken(state, number)
        _executed(state, found, number)
        if found.result:
            continue
        del state.calls[number]
        handle = found.handle
        if handle is None:
            continue
        if found.command.RESULT:
            handle._complete(found.value)
            events.append(Replied(handle))
        else:
            handle._complete(None)
            done.append(handle)
    if done:
        events.append(Settled(tuple(done), _COMPLETED))
    if accepted:
        events.append(Settled(tuple(accepted), _ACCEPTED))
    for destination, balance in changed.items():
        events.append(
            CreditChanged(session.channel, destination, balance.messages, balance.octets)
        )


def _taken(state: SessionState, number: int) -> list[Handle[Any]]:
    """A server that has executed a transfer without another word has taken the message."""
    entry = state.outgoing.unsettled.pop(number, None)
    if entry is None or entry.handle is None:
        return []
    entry.handle._complete(_ACCEPTED)
    return [entry.handle]


def _executed(state: SessionState, found: Call, number: int) -> None:
    """What is true from the moment on that the peer says it has executed a command."""
    command = found.command
    kind = command.__class__
    if kind in (MessageStop, MessageFlush):
        balance = state.granted.get(command.destination or "")
        if balance is not None:
            balance.zero(number, state.arrived(command.destination or ""))
    elif kind is MessageCancel:
        destination = command.destination or ""
        if destination not in state.own_rules.subscriptions:
            state.granted.pop(destination, None)
    elif kind is TxCommit:
        state.incoming.commit(("tx", number))
    elif kind is TxRollback:
        state.incoming.roll_back(("tx", number))
    elif kind is DtxCommit:
        if getattr(found.value, "status", None) in _ROLLED_BACK:
            state.incoming.roll_back((command.xid, number))
        else:
            state.incoming.commit((command.xid, number))
    elif kind is DtxRollback:
        state.incoming.roll_back((command.xid, number))


def result(session: Session, command: ExecutionResult) -> bool:
    """The result of an own call; whether there is such a call."""
    state = session._state
    found = state.calls.get(command.command_id or 0)
    if found is None or not found.result:
        return False
    name = getattr(command.value, "NAME", None)
    if name is not None and name != found.result:
        return False
    if isinstance(found.command, MessageAcquire) and command.value is not None:
        state.incoming.move(state.incoming.named(command.value.transfers), TransferInput.R_ACQUIRE)
    state.own_rules.answered(found.command, command.value)
    found.result = ""
    found.value = command.value
    if found.completed:
        del state.calls[command.command_id or 0]
        if found.handle is not None:
            found.handle._complete(found.value)
            session._connection._events.append(Replied(found.handle))
    return True
