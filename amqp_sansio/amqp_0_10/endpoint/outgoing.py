"""Outgoing: the commands that this end sends, checked, kept for a replay, written, and completed by the peer.

Part 1 section 3.2.
"""

from __future__ import annotations

from itertools import islice
from struct import Struct

from ..._checking import TYPE_CHECKING, TypeVar
from ..._ground.record import record
from ..._watching.ends import tell_abandoned
from ...endpoint import Side
from ...errors import EndpointClosed, LimitExceeded, LocalProtocolError
from ...events import Accepted, By, CloseReport, Pending, Replied, Settled
from ..codec import records
from ..codec.choices import XA_HEURRB, XA_RBROLLBACK, XA_RBTIMEOUT
from ..codec.dialect import adapt
from ..codec.frames import BODY, BODY_FRAME, COMMAND, FIRST_ALONE, FRAME, FRAME_HEADER_SIZE, HEADER, HEADER_FRAME, PLACE
from ..codec.sequence_set import SequenceSet
from ..codec.violation import Violation, exception, misuse
from ..model.credit import Balance, check_flow_mode, check_unit
from ..model.execution import ILLEGAL_STATE, NOT_ALLOWED
from ..model.session_model import OF_DESTINATION
from ..model.states import Attachment, TransferInput
from ..model.transfers import ENDING, MOVES, SETTLING, ended_by
from .events import Completed, CreditChanged
from .session_state import Call

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any, Final

    from ..codec.message import Message
    from ..codec.record import Command
    from .channel import Channel
    from .session_state import Segments, SessionState

_R = TypeVar("_R")

_COMPLETED: Final = Completed()
_ROLLED_BACK: Final = (XA_RBROLLBACK, XA_RBTIMEOUT, XA_HEURRB)
_ACCEPTED: Final = Accepted()
_HALF: Final = 2
_pack_two: Final = Struct(">HHII").pack
_ATTACHED: Final = Attachment.ATTACHED
_CREDIT: Final = frozenset((records.MessageSubscribe, *OF_DESTINATION))
"""The commands that change what the peer may send."""


class NoCredit(LocalProtocolError):
    """The recipient takes nothing at the moment; `CreditChanged` says when it does again."""


@record
class Transferred:
    """A message that this end has sent: `completion` ends when the peer has executed the transfer, `outcome` when it's
    accepted, rejected or released; None with accept-mode none.

    A server that executes a transfer has taken it: on a client, completion without another word settles `outcome` as
    accepted.
    """

    command_id: int
    completion: Pending[None]
    outcome: Pending[object] | None = None


class Outgoing:
    """Sends the commands of one end of a session through its channel, and ends their pendings."""

    __slots__ = ("_channel", "_lead", "_state", "_transport")

    def __init__(self, channel: Channel, state: SessionState) -> None:
        # Where commands go out once it is `ready`; before, they are kept for that moment.
        self._channel = channel
        # Gives ids, and keeps each command until the peer says that it's completed, for a replay.
        self._state = state
        # The connection's, for limits and the octets that wait.
        self._transport = channel.transport
        self._lead: tuple[tuple[str, int, int, bool], records.MessageTransfer, bytes, bytes] | None = None
        """The arguments of the last transfer, and its command, segment and frame."""

    # Sending.

    def call(self, command: Command[_R], message: Message | None, sync: bool) -> Pending[_R]:
        """Send any command but a transfer. Raises LocalProtocolError, LimitExceeded, CodecError, EndpointClosed."""
        self._channel.check()
        kind = command.__class__
        if kind is records.ExecutionResult or kind is records.ExecutionException:
            raise LocalProtocolError(f"{command.NAME} is sent by Session.complete and Session.fail")
        state = self._state
        peer = state.side.other.value
        if peer not in command.HANDLERS:
            raise LocalProtocolError(f"{command.NAME} isn't for a {peer}")
        missing = command.missing()
        if missing:
            raise LocalProtocolError(f"{command.NAME} needs {missing}", rule="0-10/wire/struct-required")
        if message is not None and not (command.HEADERS or command.HAS_BODY):
            raise LocalProtocolError(f"{command.NAME} carries no message")
        segments, size = self._segments(command, message, sync)
        numbers: list[int] = []
        try:
            if kind in MOVES:
                numbers = self._to_settle(command)
            if kind in _CREDIT:
                self._check_credit(command)
            state.step(state.side, command, 0 if message is None else len(message.body))
        except Violation as violation:
            raise misuse(str(violation), violation.rule) from None
        pending: Pending[_R] = Pending((state.name, state.side_name, state.sending.next_id))
        number = self._send(Call(command, pending, size, None, 0), segments)
        if kind in _CREDIT or kind in ENDING:
            self._take_effect(command, number)
        elif kind is records.MessageAccept and state.own.work is not None:
            state.incoming.put_aside(numbers, state.own.work)
        elif kind in SETTLING:
            state.incoming.move(numbers, MOVES[kind][0])
            state.incoming.defer(self._accepted(command), state.own.work, None)
        return pending

    def transfer(
        self, destination: str, message: Message, accept_mode: int, acquire_mode: int, sync: bool
    ) -> Transferred:
        """Send a message. Raises NoCredit, and as `call`."""
        channel, transport, state = self._channel, self._transport, self._state
        if not channel.ready or channel.state is not _ATTACHED or channel.report is not None or not transport.is_open:
            channel.check()
        header, body = message.headers.raw, message.body
        size = len(header) + len(body)
        throttled = destination
        balance = state.balances.get(destination)
        if balance is None:
            if state.side is Side.SERVER:
                raise LocalProtocolError(f"{destination!r} is no subscription of session {state.name!r}")
            # Brokers mean all that a session publishes when they throttle the default exchange.
            throttled = ""
            balance = state.balances.get("")
        if balance is not None and not balance.holds(size):
            text = f"destination {throttled!r} takes {_shown(balance.messages)} messages and {_shown(balance.octets)} "
            text += f"octets, this one has {size}; wait for CreditChanged"
            raise NoCredit(text, rule="0-10/message.set-flow-mode/no-partial")
        wanted = (destination, accept_mode, acquire_mode, sync)
        found = self._lead
        if found is None or found[0] != wanted:
            # Most transfers are octet by octet the one before.
            command = records.MessageTransfer(destination, accept_mode, acquire_mode)
            octets = command.encode_segment(sync=sync)
            found = (wanted, command, octets, self._frame(octets))
        _, command, octets, lead = found
        whole = size + len(octets)
        sending = state.sending
        limits = self._transport.limits
        crowded = (
            len(sending.replay) * _HALF >= limits.replay
            or len(state.calls) * _HALF >= limits.calls
            or (state.octets + whole) * _HALF >= limits.replay_octets
            or (transport.out.size + whole) * _HALF > transport.out.hard
        )
        if crowded:
            self.check_room(whole)
        explicit = not accept_mode or acquire_mode
        if explicit:
            try:
                state.outgoing.check_room()
            except Violation as violation:
                raise misuse(str(violation), violation.rule) from None
        self._lead = found
        number = sending.next_id
        key = (state.name, state.side_name, number)
        completion: Pending[None] = Pending(key)
        outcome: Pending[object] | None = Pending((*key, "outcome")) if explicit else None
        call = Call(command, completion, whole, throttled, size)
        content: Segments = ((HEADER, header), (BODY, body)) if header else ((BODY, body),)
        segments = ((COMMAND, octets), *content)
        if crowded or not message.has_body or self._send_whole(call, segments, lead, header, body) is None:
            self._send(call, segments if message.has_body else segments[:-1])
        if balance is not None:
            balance.spend(size)
        if explicit:
            state.outgoing.transfer(number, command, outcome)
        return Transferred(number, completion, outcome)

    def issue(self, command: Command[object]) -> None:
        """Send a command of the core itself, such as a result. Raises LimitExceeded, CodecError."""
        segments, size = self._segments(command, None, sync=False)
        self._send(Call(command, None, size, None, 0), segments)

    def issue_last(self, command: records.ExecutionException) -> None:
        """Send the exception that ends a session, which isn't kept. Raises LimitExceeded, CodecError."""
        channel, sending = self._channel, self._state.sending
        octets = adapt(command, self._transport.config.dialect).encode_segment()
        self.check_backlog(len(octets))
        if not channel.ready:
            channel.send(records.SessionCommandPoint(sending.next_id, 0))
            channel.ready = True
        sending.skip()
        channel.write(((COMMAND, octets),))

    def check_room(self, octets: int, commands: int = 1) -> None:
        """Raise LimitExceeded when a command of so many octets can't be kept or queued."""
        limits, state = self._transport.limits, self._state
        if len(state.calls) + commands > limits.calls:
            raise LimitExceeded(
                f"{len(state.calls)} commands aren't answered, Limits.calls allows {limits.calls}; wait for sync()"
            )
        if len(state.sending.replay) + commands > limits.replay or state.octets + octets > limits.replay_octets:
            text = f"{len(state.sending.replay)} commands of {state.octets} octets wait to be confirmed, "
            text += f"Limits.replay allows {limits.replay}, Limits.replay_octets {limits.replay_octets}; "
            text += "wait for sync()"
            raise LimitExceeded(text)
        self.check_backlog(octets)

    def check_backlog(self, octets: int) -> None:
        """Raise LimitExceeded when commands of so many octets, and what goes with them, can't be queued."""
        self._channel.check_backlog(octets, len(self._state.receiving.done.ranges))

    def _frame(self, octets: bytes) -> bytes:
        """The only frame of a command's segment; b"" when it takes several."""
        size = len(octets) + FRAME_HEADER_SIZE
        if size > self._channel.max_frame:
            return b""
        return FRAME.pack(FIRST_ALONE, COMMAND, size, 0, 1, self._channel.number, 0) + octets

    def _segments(self, command: Command[object], message: Message | None, sync: bool) -> tuple[Segments, int]:
        """The segments of a command, and their octets together. Raises CodecError, LimitExceeded."""
        octets = adapt(command, self._transport.config.dialect).encode_segment(sync=sync)
        found = [(COMMAND, octets)]
        if message is not None:
            if message.headers.raw:
                found.append((HEADER, message.headers.raw))
            if message.has_body:
                found.append((BODY, message.body))
        size = sum([len(each) for _, each in found])
        self.check_room(size)
        return tuple(found), size

    def _send_whole(self, call: Call, segments: Segments, lead: bytes, header: bytes, body: bytes) -> int | None:
        """Send a transfer whose segments take one frame each, as `_send` does; None when they take more."""
        channel, state = self._channel, self._state
        most = channel.max_frame - FRAME_HEADER_SIZE
        if not channel.ready or len(header) > most or len(body) > most or not lead:
            return None
        number = state.send(call, segments)
        place = PLACE | channel.number
        if header:
            lead += _pack_two(HEADER_FRAME, len(header) + FRAME_HEADER_SIZE, place, 0) + header
        body_frame = _pack_two(BODY_FRAME, len(body) + FRAME_HEADER_SIZE, place, 0)
        self._transport.queue(b"".join((lead, body_frame, body)))
        return number

    def _send(self, call: Call, segments: Segments) -> int:
        state, limits = self._state, self._transport.limits
        number = state.send(call, segments)
        if self._channel.ready:
            self._channel.write(segments)
            if not state.asked and (
                len(state.sending.replay) * _HALF >= limits.replay or state.octets * _HALF >= limits.replay_octets
            ):
                # The peer is asked for what is completed before nothing more can be kept.
                state.ask_completed()
                self._channel.send(records.SessionFlush(completed=True))
        return number

    # The peer's answers.

    def give_up(self, command_ids: Iterable[int]) -> None:
        """Forget commands that won't be sent again (session.gap). Raises LocalProtocolError."""
        state = self._state
        ids = dict.fromkeys(command_ids)
        for number in ids:
            if number not in state.sending.replay:
                raise LocalProtocolError(f"command {number} doesn't wait to be confirmed")
        report = CloseReport(By.LOCAL, 0, "given up with session.gap")
        error = EndpointClosed("the command was given up", report)
        pendings: list[Pending[object]] = []
        for number in ids:
            found = state.give_up(number)
            entry = state.outgoing.take(number)
            pendings += [each.pending for each in (found, entry) if each is not None and each.pending is not None]
        tell_abandoned(self._transport.events, pendings, error, report)

    def completed(self, ids: SequenceSet) -> None:
        """The peer has executed commands: end their pendings (session.completed)."""
        state = self._state
        events = self._transport.events
        done: list[Pending[object]] = []
        accepted: list[Pending[object]] = []
        changed: dict[str, Balance] = {}
        for number in state.calls.named(ids):
            found = state.answered(number)
            if found.destination is not None:
                balance = state.balances.get(found.destination)
                if balance is not None and balance.restore(number, found.size):
                    changed[found.destination] = balance
                if state.side is Side.CLIENT:
                    # A server that has executed a transfer without another word has taken the message.
                    entry = state.outgoing.take(number)
                    if entry is not None and entry.pending is not None:
                        entry.pending.complete(_ACCEPTED)
                        accepted.append(entry.pending)
            self._executed(found, number)
            if found.result:
                continue
            state.forget_call(number)
            pending = found.pending
            if pending is None:
                continue
            if found.command.RESULT:
                pending.complete(found.value)
                events.append(Replied(pending))
            else:
                pending.complete(None)
                done.append(pending)
        if done:
            events.append(Settled(tuple(done), _COMPLETED))
        if accepted:
            events.append(Settled(tuple(accepted), _ACCEPTED))
        for destination, balance in changed.items():
            events.append(CreditChanged(self._channel.number, destination, balance.messages, balance.octets))

    def result(self, command: records.ExecutionResult) -> bool:
        """Take the result of an own call; whether there is such a call."""
        state = self._state
        found = state.calls.get(command.command_id or 0)
        if found is None or not found.result:
            return False
        name = getattr(command.value, "NAME", None)
        if name is not None and name != found.result:
            return False
        if isinstance(found.command, records.MessageAcquire) and command.value is not None:
            acquired = state.incoming.named(command.value.transfers)
            state.incoming.move(acquired, TransferInput.R_ACQUIRE)
        state.own.answered(found.command, command.value)
        found.take_result(command.value)
        if found.completed:
            state.forget_call(command.command_id or 0)
            if found.pending is not None:
                found.pending.complete(found.value)
                self._transport.events.append(Replied(found.pending))
        return True

    def _executed(self, found: Call, number: int) -> None:
        """Change credit and transactions as a command does, now that the peer has executed it."""
        command, state = found.command, self._state
        kind = command.__class__
        if isinstance(command, (records.MessageStop, records.MessageFlush)):
            balance = state.granted.get(command.destination or "")
            if balance is not None:
                balance.zero(number, state.arrived(command.destination or ""))
                state.pace(command.destination or "")
        elif isinstance(command, records.MessageCancel):
            destination = command.destination or ""
            if destination not in state.own.subscriptions:
                state.cancels(destination)
                state.pace(destination)
        elif kind in ENDING:
            status = getattr(found.value, "status", None)
            rolled_back = kind in (records.TxRollback, records.DtxRollback) or status in _ROLLED_BACK
            end = state.incoming.roll_back if rolled_back else state.incoming.commit
            end((ended_by(command), number))

    # Effects of commands on this end's own state when they're sent.

    def _to_settle(self, command: Any) -> list[int]:
        """The transfers that a command names. Raises Violation when one doesn't wait for it."""
        books = self._state.incoming
        ids = command.transfers or SequenceSet()
        numbers = books.check(command)
        accepted = self._accepted(command)
        if len(numbers) + len(accepted) != len(ids | SequenceSet()):
            open_ = {*accepted} if accepted else ()
            gone = list(islice((each for each in ids if each not in books.unsettled and each not in open_), 5))
            text = f"{command.NAME} of {gone}: no transfers of these ids wait for it "
            text += "(already settled, or accept-mode none)"
            raise misuse(text)
        return numbers

    def _accepted(self, command: Command[object]) -> list[int]:
        """The transfers that a release or reject names, and that the session's open transaction has accepted."""
        work = self._state.own.work
        if work is None or not isinstance(command, (records.MessageRelease, records.MessageReject)):
            return []
        return self._state.incoming.accepted_in(work, command.transfers)

    def _check_credit(self, command: Any) -> None:
        """Raise Violation for a command about credit that can't be sent now."""
        kind, destination = command.__class__, command.destination or ""
        balance = self._state.granted.get(destination)
        if kind is records.MessageSetFlowMode:
            mode = check_flow_mode(command.flow_mode)
            if balance is not None:
                balance.check_mode(mode, destination)
        elif kind is records.MessageFlow:
            check_unit(command.unit)
            if balance is not None and balance.taking:
                # Nobody could tell how much the peer has left.
                text = f"message.flow for {command.destination!r}, whose message.stop or flush isn't completed; "
                raise exception(ILLEGAL_STATE, text + "wait for its pending", "message.stop/zero")
        elif kind is records.MessageSubscribe and balance and destination not in self._state.own.subscriptions:
            # Transfers on their way to it would count for the new subscription.
            text = f"message.subscribe with the destination {destination!r}, whose message.cancel isn't completed; "
            raise exception(NOT_ALLOWED, text + "wait for its pending", "message.subscribe/unique-destination")

    def _take_effect(self, command: Any, number: int) -> None:
        """The command `number` about credit is sent, or one that ends a transaction."""
        kind, state = command.__class__, self._state
        if kind in ENDING:
            # Later accepts belong to the next transaction, or to no branch.
            state.incoming.close_work(ended_by(command), number)
            return
        destination = command.destination or ""
        if kind is records.MessageSubscribe:
            state.subscribes(destination)
            state.pace(destination)
            return
        balance = state.grant_to(destination)
        if kind is records.MessageSetFlowMode:
            balance.set_mode(check_flow_mode(command.flow_mode))
        elif kind is records.MessageFlow:
            balance.grant(check_unit(command.unit), command.value)
        else:
            balance.take(number)
        state.pace(destination)


def _shown(credit: int | None) -> str:
    return "any number of" if credit is None else str(credit)
