"""The commands that the peer sends: checked, told or executed at once, and completed (part 1 section 3.2.3)."""

# The modules of this package share one engine; its private state is theirs, not the caller's.
# pyright: reportPrivateUsage=false
from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from ..._core.serial import MASK, distance
from ...endpoint import Side
from ...errors import LocalProtocolError
from ...events import Accepted, Settled
from ..codec.dialect import missing
from ..codec.records import (
    DtxCommit,
    DtxRollback,
    ExecutionException,
    ExecutionResult,
    ExecutionSync,
    MessageAccept,
    MessageAcquire,
    MessageCancel,
    MessageFlow,
    MessageFlush,
    MessageReject,
    MessageRelease,
    MessageResume,
    MessageSetFlowMode,
    MessageStop,
    MessageSubscribe,
    MessageTransfer,
    TxCommit,
    TxRollback,
)
from ..codec.sequence_set import SequenceSet
from ..codec.violation import Violation, exception
from ..model.credit import Balance, check_flow_mode, check_unit
from ..model.events import (
    BodyReceived,
    CommandReceived,
    CreditChanged,
    MessageBegun,
    MessageReceived,
    Rejected,
    Released,
)
from ..model.execution import (
    COMMAND_INVALID,
    ILLEGAL_STATE,
    INVALID_ARGUMENT,
    NOT_ALLOWED,
    NOT_FOUND,
    RESOURCE_LIMIT_EXCEEDED,
    UNAUTHORIZED_ACCESS,
)
from ..model.session_state import TELL_EVERY
from ..model.states import Attachment, TransferInput
from ..model.states import Connection as ConnectionState
from . import outgoing, session_controls
from . import session_end as ending

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from ...events import Event, Handle
    from ..codec.message import Headers
    from ..codec.record import Command, Struct
    from ..codec.records import Xid
    from ..model.session_state import SessionState
    from .session import Session

_ATTACHED: Final = Attachment.ATTACHED
_OPEN: Final = ConnectionState.OPEN
_ACCEPTED: Final = Accepted()
_NO_IDS: Final = [-1, -1]
"""A range that no id is next to: both ends of none."""
_SETTLING: Final[Mapping[type[Any], tuple[TransferInput, str]]] = {
    MessageAccept: (TransferInput.R_ACCEPT, "message.accept/acquisition"),
    MessageReject: (TransferInput.R_REJECT, "message.reject/acquisition"),
    MessageRelease: (TransferInput.R_RELEASE, "message.release/states"),
}


# Commands that have come.


def execute(
    session: Session,
    number: int,
    command: Any,
    sync: bool,
    headers: Headers,
    body: bytes,
    has_body: bool,
) -> None:
    """A command is all there: what the core can do itself is done, the rest is told. Raises Violation."""
    _check(session, command, headers, body)
    state = session._state
    kind = command.__class__
    if kind is MessageTransfer:
        _take_transfer(session, number, command, headers, len(headers.raw) + len(body), len(body))
        event = MessageReceived(session.channel, number, command, headers, body, sync, has_body)
        _tell(session, number, event, len(body))
        return
    state.peer_rules.step(command)
    state.files.step(state.side.other.value, command, len(body))
    at_once = _AT_ONCE.get(kind)
    if at_once is not None:
        at_once(session, number, command, sync)
        return
    if kind is MessageSubscribe:
        destination = command.destination or ""
        state.balances[destination] = Balance(stale=state.under_way(destination))
    elif kind is MessageFlush:
        _balance(state, command.destination).take(number)
    elif kind is MessageResume and state.side is Side.CLIENT:
        _check_resumable(state, command)
    lenient = state.side is Side.SERVER and session._connection.config.lenient_accepts
    if lenient and kind is MessageAccept:
        _let_go(session, command)
    handles = _concerned(state, command)
    if kind in _SETTLING and state.side is Side.CLIENT:
        # A server's word on what this client has published: there's nothing to be executed.
        _apply(session, number, command)
        _done(session, number, sync=sync)
        return
    _put_aside(state, number, command)
    called = CommandReceived(session.channel, number, command, sync, headers, body, handles)
    _tell(session, number, called, len(body))


def begin_message(session: Session, number: int, command: Any, sync: bool, headers: Headers) -> None:
    """A message is told before its body is all there. Raises Violation."""
    _check(session, command, headers, b"")
    _take_transfer(session, number, command, headers, 0, 0)
    event = MessageBegun(session.channel, number, command, headers, sync)
    _tell(session, number, event, 0)


def end_message(session: Session, number: int, octets: bytes, size: int) -> None:
    """The last piece of such a body; `size` are the octets of header and body in all. Raises Violation."""
    state = session._state
    event = state.executing.get(number)
    destination = event.transfer.destination or "" if isinstance(event, MessageBegun) else ""
    balance = state.granted.get(destination)
    if balance is not None and isinstance(event, MessageBegun):
        body = size - len(event.headers.raw)
        if balance.bodies is not None and balance.bodies < body:
            raise _overrun(destination, balance, size)
        balance.spend_octets(size, body)
    state.streamed[number] = size
    session._connection._events.append(BodyReceived(session.channel, number, octets, last=True))


def _check(session: Session, command: Any, headers: Headers, body: bytes) -> None:
    """Whether such a command may come at all, and whether what must be there is."""
    role = session._connection.role.value
    if role not in command.HANDLERS:
        raise exception(NOT_ALLOWED, f"{command.NAME} isn't for a {role}")
    name = missing(command, session._connection.config.dialect)
    if name:
        raise exception(
            COMMAND_INVALID, f"{command.NAME} without {name.replace('_', '-')}", "wire/struct-required"
        )
    if (headers.raw and not command.HEADERS) or (body and not command.HAS_BODY):
        raise exception(COMMAND_INVALID, f"{command.NAME} with a header or body segment")
    if headers.raw and session._connection._validates:
        headers.check()


def _tell(session: Session, number: int, event: Event, octets: int) -> None:
    state = session._state
    state.executing[number] = event
    state.weight += octets
    session._connection._events.append(event)
    _crowd(session, isinstance(event, CommandReceived))


def _crowd(session: Session, is_call: bool) -> None:
    """A server takes no more while so much waits; for a client it's too much. Raises Violation."""
    connection, state = session._connection, session._state
    limits = connection.config.limits
    if connection.role is Side.SERVER:
        if state.waiting >= limits.requests or state.weight > limits.bodies:
            connection._crowded = session
    elif state.waiting > limits.unsettled or (is_call and state.weight > limits.bodies):
        raise exception(
            RESOURCE_LIMIT_EXCEEDED,
            f"{state.waiting} commands of {state.weight} octets wait for their completion, "
            f"Limits.unsettled allows {limits.unsettled}, Limits.bodies {limits.bodies}",
        )


def _take_transfer(
    session: Session,
    number: int,
    command: MessageTransfer,
    headers: Headers,
    size: int,
    body: int,
) -> None:
    state = session._state
    destination = command.destination or ""
    balance = state.granted.get(destination)
    if state.side is Side.CLIENT and balance is None:
        raise exception(
            NOT_FOUND,
            f"message.transfer to {destination!r}, which is no subscription of this session",
            "message.transfer/nonexistent-exchange",
        )
    if balance is not None and not balance.admits(body):
        raise _overrun(destination, balance, size)
    if state.side is Side.SERVER:
        _check_user(session, headers)
    state.incoming.check_room()
    if balance is not None:
        balance.spend(size, body)
    state.incoming.transfer(number, command.accept_mode, command.acquire_mode, None)


def _overrun(destination: str, balance: Balance, size: int) -> Violation:
    return exception(
        RESOURCE_LIMIT_EXCEEDED,
        f"message.transfer of {size} octets to {destination!r}, which takes {balance.messages} messages "
        f"and {balance.octets} octets",
        "message.set-flow-mode/no-partial",
    )


def _check_user(session: Session, headers: Headers) -> None:
    """A user-id is that of who is logged in (rule message-properties.user-id.authentication)."""
    connection = session._connection
    if not connection._validates or not headers.raw:
        return
    if not connection.user and connection.mechanism != "ANONYMOUS":
        # Who it is, only the application knows: a certificate or a token says so.
        return
    properties = headers.message_properties
    user_id = None if properties is None else properties.user_id
    if user_id is not None and user_id != connection.user.encode():
        raise exception(
            UNAUTHORIZED_ACCESS,
            f"message.transfer with the user-id {user_id!r}, logged in is {connection.user!r}",
            "message.message-properties/user-id",
        )


def _check_resumable(state: SessionState, command: MessageResume) -> None:
    if (command.destination or "") not in state.granted:
        raise exception(
            NOT_FOUND,
            f"message.resume to {command.destination!r}, which is no subscription of this session",
            "message.resume/destination",
        )


def _concerned(state: SessionState, command: Any) -> tuple[Handle[Any], ...]:
    """The handles of own transfers that a command is about. Raises Violation for transfers that it can't be about."""
    kind = command.__class__
    books = state.outgoing
    if kind is TxCommit or kind is TxRollback:
        return books.in_work("tx")
    if kind is DtxCommit or kind is DtxRollback:
        return books.in_work(command.xid)
    if kind not in _SETTLING and kind is not MessageAcquire:
        return ()
    ids: SequenceSet = command.transfers or SequenceSet()
    for _, upper in ids.ranges:
        if distance(upper, state.sending.next_id) <= 0:
            raise exception(
                INVALID_ARGUMENT, f"{command.NAME} of {upper}, which was never transferred"
            )
    move, rule = _SETTLING.get(kind, (TransferInput.R_ACQUIRE, ""))
    numbers = books.check(command.NAME, ids, move, rule)
    if kind is MessageReject:
        # That of a message that isn't acquired is ignored (rule message.reject.acquisition).
        numbers = [number for number in numbers if books.ends_with(number, move)]
    entries = [books.unsettled[number] for number in numbers]
    return tuple([entry.handle for entry in entries if entry.handle is not None])


def _let_go(session: Session, command: MessageAccept) -> None:
    """What is accepted and isn't acquired was only looked at: nobody has taken it."""
    books = session._state.outgoing
    seen = [each for each in books.named(command.transfers) if not books.is_acquired(each)]
    _settled(session, books.move(seen, TransferInput.R_RELEASE), Released(False))


def _put_aside(state: SessionState, number: int, command: Any) -> None:
    """What a command settles is decided by its place among the others, not by when it's completed."""
    kind = command.__class__
    books = state.outgoing
    if kind is TxCommit:
        books.close_work("tx", number)
    elif kind is TxRollback:
        books.roll_back("tx")
    elif kind in _SETTLING:
        move = _SETTLING[kind][0]
        ending = [each for each in books.named(command.transfers) if books.ends_with(each, move)]
        work = state.peer_rules.work if kind is MessageAccept else None
        books.put_aside(ending, number if work is None else work)


# What the core executes itself.


def _sync(session: Session, number: int, command: ExecutionSync, sync: bool) -> None:
    state = session._state
    if state.is_behind_all(number):
        _done(session, number, sync=True)
    else:
        state.syncs.append(number)
        _crowd(session, is_call=True)


def _result(session: Session, number: int, command: ExecutionResult, sync: bool) -> None:
    if not outgoing.result(session, command):
        raise exception(
            ILLEGAL_STATE, f"execution.result for command {command.command_id}, which waits for no such result"
        )
    _done(session, number, sync=sync)


def _exception(session: Session, number: int, command: ExecutionException, sync: bool) -> None:
    ending.failed_by_peer(session, command)


def _flow(session: Session, number: int, command: MessageFlow, sync: bool) -> None:
    balance = _balance(session._state, command.destination)
    balance.grant(check_unit(command.unit), command.value)
    _credit_changed(session, number, command.destination, balance, sync)


def _stop(session: Session, number: int, command: MessageStop, sync: bool) -> None:
    balance = _balance(session._state, command.destination)
    balance.zero(number, session._state.under_way(command.destination or ""))
    _credit_changed(session, number, command.destination, balance, sync)


def _flow_mode(session: Session, number: int, command: MessageSetFlowMode, sync: bool) -> None:
    mode = check_flow_mode(command.flow_mode)
    balance = _balance(session._state, command.destination)
    balance.check_mode(mode, command.destination or "")
    balance.flow_mode = mode
    _credit_changed(session, number, command.destination, balance, sync)


def _balance(state: SessionState, destination: str | None) -> Balance:
    balance = state.balances.get(destination or "")
    if balance is None:
        if len(state.balances) >= state.peer_rules.limit:
            raise exception(
                RESOURCE_LIMIT_EXCEEDED, f"{len(state.balances)} destinations, Limits.consumers allows no more"
            )
        balance = state.balances[destination or ""] = Balance(lenient=state.side is Side.CLIENT)
    return balance


def _credit_changed(
    session: Session, number: int, destination: str | None, balance: Balance, sync: bool
) -> None:
    session._connection._events.append(
        CreditChanged(session.channel, destination or "", balance.messages, balance.octets)
    )
    _done(session, number, sync=sync)


_AT_ONCE: Final[Mapping[type[Any], Callable[[Session, int, Any, bool], None]]] = {
    ExecutionSync: _sync,
    ExecutionResult: _result,
    ExecutionException: _exception,
    MessageFlow: _flow,
    MessageStop: _stop,
    MessageSetFlowMode: _flow_mode,
}


# Completion.


def complete(session: Session, command_id: int, result: Struct | None) -> None:
    """The application has executed a command of the peer."""
    state = session._state
    event = state.executing.get(command_id)
    connection = session._connection
    if (
        event.__class__ is MessageReceived
        and result is None
        and not state.syncs
        and session._attachment is _ATTACHED
        and session._report is None
        and connection._state is _OPEN
        and not connection._lost
    ):
        _complete_message(session, state, event)
        return
    session._check()
    if event is None:
        raise LocalProtocolError(f"command {command_id} doesn't wait for its completion")
    arriving = session._arriving
    if arriving is not None and arriving.told and arriving.number == command_id:
        raise LocalProtocolError(f"the message of command {command_id} is still arriving")
    command = command_of(event)
    wanted = command.RESULT
    given = "" if result is None else result.NAME
    if wanted != given:
        raise LocalProtocolError(
            f"{command.NAME} has {wanted or 'no'} result, {given or 'none'} was given",
            rule="0-10/execution.result/always",
        )
    if result is None:
        session._check_backlog(0)
    else:
        outgoing.issue(session, ExecutionResult(command_id, result))
    retire(state, command_id, completed=True)
    _apply(session, command_id, command, result)
    _done(session, command_id, sync=bool(getattr(event, "sync", False)))


def _complete_message(session: Session, state: SessionState, event: Any) -> None:
    """As the general step does it, for what most commands are."""
    number = event.command_id
    tells = event.sync or state.untold + 1 >= state.tell_at
    if tells:
        session._check_backlog(0)
    del state.executing[number]
    state.weight -= len(event.body)
    balance = state.granted.get(event.transfer.destination or "")
    if balance is not None and (balance.flow_mode or balance.stale):
        balance.restore(number, event.size, len(event.body))
    receiving = state.receiving
    done, known = receiving.done.ranges, receiving.known.ranges
    last, span = done[-1] if done else _NO_IDS, known[-1] if known else _NO_IDS
    if (last[1] + 1) & MASK == number and span[0] == last[0] and span[1] != last[1]:
        # The next one of the range that is known, as long as all is completed in order.
        last[1] = number
    elif number in receiving.known:
        receiving.done.add(number)
    state.untold += 1
    if tells:
        session_controls.tell_completed(session)


def complete_transfers(session: Session, ids: Iterable[int]) -> None:
    """Messages that are settled are taken, too."""
    state = session._state
    sync = False
    for number in ids:
        event = state.executing.get(number)
        if isinstance(event, (MessageReceived, MessageBegun)):
            retire(state, number, completed=True)
            state.receiving.complete((number,))
            state.untold += 1
            sync = sync or event.sync
    _tell_if_due(session, sync)


def retire(state: SessionState, number: int, *, completed: bool) -> None:
    """A command of the peer isn't executed any more; a window opens again by a completed message."""
    event = state.executing.pop(number)
    size = state.streamed.pop(number, 0)
    if isinstance(event, (MessageReceived, CommandReceived)):
        state.weight -= len(event.body)
    if isinstance(event, MessageReceived):
        size = event.size
    if completed and isinstance(event, (MessageReceived, MessageBegun)):
        balance = state.granted.get(event.transfer.destination or "")
        if balance is not None:
            balance.restore(number, size, size - len(event.headers.raw))


def unspend(state: SessionState, event: Event, number: int) -> None:
    """A message that was told to begin won't come as a whole: what it took of the credit, it will take again."""
    if isinstance(event, MessageBegun):
        balance = state.granted.get(event.transfer.destination or "")
        if balance is not None:
            balance.unspend(number)


def _done(session: Session, number: int, *, sync: bool) -> None:
    """A command is executed: tell its sender, when it's time."""
    session._state.receiving.complete((number,))
    session._state.untold += 1
    _tell_if_due(session, sync)


def _tell_if_due(session: Session, sync: bool) -> None:
    state = session._state
    while state.syncs and state.is_behind_all(state.syncs[0]):
        state.receiving.complete((state.syncs.pop(0),))
        sync = True
    if (sync or state.untold >= state.tell_at) and session._attachment is _ATTACHED:
        session_controls.tell_completed(session)


def tell_at(state: SessionState) -> int:
    """How many completions are told together: fewer than half of the smallest window that they keep open."""
    least = TELL_EVERY
    for balance in state.granted.values():
        granted = balance.granted
        if granted == 0:
            continue
        if balance.octets is not None:
            return 1
        if granted is not None and granted < 2 * least:
            least = max(1, granted // 2)
    return least


def _apply(session: Session, command_id: int, command: Any, result: Any = None) -> None:
    """What is true of this end's own messages once a command of the peer is executed."""
    kind = command.__class__
    state = session._state
    books = state.outgoing
    state.peer_rules.answered(command, result)
    if kind in _SETTLING:
        outcome: object = _ACCEPTED
        if kind is MessageReject:
            outcome = Rejected(command.code or 0, command.text or "")
        elif kind is MessageRelease:
            outcome = Released(command.set_redelivered)
        if state.side is Side.CLIENT:
            entries = books.move(books.named(command.transfers), _SETTLING[kind][0])
        else:
            entries = books.commit(command_id)
        _settled(session, entries, outcome)
    elif kind is MessageAcquire:
        books.move(books.named(result.transfers), TransferInput.R_ACQUIRE)
    elif kind is MessageFlush:
        balance = _balance(state, command.destination)
        balance.zero(command_id, state.under_way(command.destination or ""))
    elif kind is MessageCancel:
        if (command.destination or "") not in state.peer_rules.subscriptions:
            state.balances.pop(command.destination or "", None)
    elif kind is TxCommit:
        _settled(session, books.commit(("tx", command_id)), _ACCEPTED)


def decide(session: Session, xid: Xid, *, committed: bool) -> None:
    """A distributed transaction has ended."""
    books = session._state.outgoing
    if committed:
        _settled(session, books.commit(xid), _ACCEPTED)
    else:
        books.roll_back(xid)


def _settled(session: Session, entries: list[Any], outcome: object) -> None:
    handles: list[Handle[Any]] = [entry.handle for entry in entries if entry.handle is not None]
    for handle in handles:
        handle._complete(outcome)
    if handles:
        session._connection._events.append(Settled(tuple(handles), outcome))


# Events that stand for commands.


def command_of(event: Event) -> Command[Any]:
    """The command that an event of the application tells of."""
    if isinstance(event, (MessageReceived, MessageBegun)):
        return event.transfer
    assert isinstance(event, CommandReceived)
    return event.command


def on_channel(event: Event, channel: int) -> Event:
    """The same event, of a session that is now attached to another channel."""
    if isinstance(event, MessageReceived):
        return MessageReceived(
            channel, event.command_id, event.transfer, event.headers, event.body, event.sync, event.has_body
        )
    if isinstance(event, MessageBegun):
        return MessageBegun(channel, event.command_id, event.transfer, event.headers, event.sync)
    assert isinstance(event, CommandReceived)
    return CommandReceived(
        channel, event.command_id, event.command, event.sync, event.headers, event.body, event.handles
    )
