"""Incoming: the commands that the peer sends, put together, checked, told or executed at once, and completed.

Part 1 sections 3.2.3 and 4.4.
"""

from __future__ import annotations

from struct import Struct as Layout

from ..._checking import TYPE_CHECKING
from ..._ground.invariants import ensure
from ..._ground.serial import distance
from ...endpoint import Side
from ...errors import CodecError, LocalProtocolError
from ...events import Accepted, Settled
from ..codec import records
from ..codec.assembly import Assembly, joined, keep
from ..codec.dialect import missing, understood
from ..codec.frames import (
    BEGINS,
    BODY,
    BODY_FRAME,
    COMMAND,
    FIRST_ALONE,
    FRAME_HEADER_SIZE,
    HEADER_FRAME,
    PLACE,
    SEGMENTS,
)
from ..codec.message import Headers
from ..codec.record import decode_command
from ..codec.sequence_set import SequenceSet
from ..codec.violation import Violation, exception, framing_error
from ..model import execution
from ..model.credit import check_flow_mode, check_unit, no_subscription
from ..model.states import Attachment, TransferInput
from ..model.transfers import ENDING, MOVES, SETTLING, WORK, ended_by, pendings_of
from .events import (
    BodyAborted,
    BodyReceived,
    CommandReceived,
    CreditChanged,
    MessageBegun,
    MessageReceived,
    Rejected,
    Released,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Mapping
    from typing import Any, ClassVar, Final

    from ...events import Event, Pending
    from ..codec.record import Command
    from ..codec.structs import Struct
    from ..model.transfers import Entry, Settling
    from .channel import Channel
    from .outgoing import Outgoing
    from .session_state import SessionState

_ATTACHED: Final = Attachment.ATTACHED
_ACCEPTED: Final = Accepted()
_two: Final = Layout(">HHII").unpack_from
_NO_IDS: Final = [-1, -1]
"""A range that no id is next to: both ends of none."""
_FLAGS: Final = "wire/frame-flags"
_MANY: Final = 65_536
"""So many ids may be completed and not known to be before the peer is asked to say that it knows."""


class Arriving:
    """A command whose frames haven't all come."""

    __slots__ = (
        "assembly",
        "body",
        "body_size",
        "command",
        "decoded",
        "header",
        "held",
        "lead",
        "new",
        "number",
        "octets",
        "parts",
        "sync",
        "told",
    )

    def __init__(self, number: int, new: bool) -> None:
        # Which segment and frame must come next (part 1 section 4.4).
        self.assembly = Assembly()
        # The id that it has or will have.
        self.number = number
        # Whether it wasn't executed before: of another that a replay sends again nothing is wanted.
        self.new = new
        # Its command segment, once that has ended.
        self.command = b""
        # Its header segment, once that has ended.
        self.header = b""
        # Its body segment, once that has ended, without what was told of it.
        self.body = b""
        # The pieces of the segment that hasn't ended, without what was told of a body.
        self.parts: list[bytes | bytearray] = []
        # The number of octets that have come, those that aren't kept included.
        self.octets = 0
        # How many of them are kept here: `Transport.bodies` counts them.
        self.held = 0
        # Octets of the body so far, kept or told; `Limits.message` bounds them.
        self.body_size = 0
        # Whether its message is told in pieces: MessageBegun is out, and BodyReceived follows.
        self.told = False
        # The octets of its command frame, if that is one frame: the shortcut knows the next message by them.
        self.lead = b""
        # Its command, once somebody has asked for it.
        self.decoded: Command[object] | None = None
        # Whether the sender wants to hear of its execution at once (session.header).
        self.sync = False


class Incoming:
    """Takes the commands of one session's peer, in the order of their ids."""

    __slots__ = ("_arriving", "_channel", "_fail", "_failed_by_peer", "_outgoing", "_state", "_transport")

    def __init__(
        self,
        channel: Channel,
        state: SessionState,
        outgoing: Outgoing,
        fail: Callable[[Violation, int | None, Command[object] | None], None],
        failed_by_peer: Callable[[records.ExecutionException], None],
    ) -> None:
        # Where the session is attached; events name its number.
        self._channel = channel
        # The session's, which knows what was received, executed and told.
        self._state = state
        # The other direction: results are commands of this end.
        self._outgoing = outgoing
        # The connection's, for limits and events.
        self._transport = channel.transport
        # Ends the session for a broken rule; it's given the id and record of the command that breaks it.
        self._fail = fail
        # Ends the session for the peer's execution.exception.
        self._failed_by_peer = failed_by_peer
        # The command that has come in part; a session has one at most, for segments don't interleave.
        self._arriving: Arriving | None = None

    # Frames.

    def receive(self, flags: int, kind: int, data: bytes, start: int, end: int) -> None:
        """Take the frame of a command, whose payload is `data[start:end]`. Raises Violation for the connection."""
        channel = self._channel
        if channel.report is not None or channel.goes_by:
            # The session has ended here; what was under way to it goes by.
            return
        arriving = self._arriving
        try:
            if arriving is None:
                arriving = self._begin(flags, kind)
            wrong = arriving.assembly.step(flags, kind)
            if wrong:
                raise framing_error(wrong, _FLAGS)
            if flags == FIRST_ALONE and kind == COMMAND:
                arriving.lead = data[start - FRAME_HEADER_SIZE : end]
            self._add(arriving, kind, data[start:end])
            if arriving.assembly.whole:
                self._arriving = None
                self._transport.bodies -= arriving.held
                self._take(arriving)
            else:
                self._arriving = arriving
        except Violation as violation:
            self._fail(violation, None if arriving is None else arriving.number, None)

    def _begin(self, flags: int, kind: int) -> Arriving:
        receiving = self._state.receiving
        if receiving.point is None:
            raise receiving.unknown_ids(self._state.name)
        if flags & BEGINS != BEGINS:
            text = f"a frame of a {SEGMENTS[kind]} segment, where no command has begun"
            raise framing_error(text, "session.command-point/zero-offset")
        if kind != COMMAND:
            raise framing_error(f"a {SEGMENTS[kind]} segment is the first one", _FLAGS)
        return Arriving(*receiving.arrive())

    def _add(self, arriving: Arriving, kind: int, octets: bytes) -> None:
        """Keep a piece of a command, within the limits, or tell one of a large body. Raises Violation."""
        size = len(octets)
        arriving.octets += size
        if not arriving.new:
            return
        transport = self._transport
        limits = transport.limits
        if kind == BODY:
            arriving.body_size += size
            if arriving.body_size > limits.message:
                raise self._too_large(arriving, f"of body, Limits.message allows {limits.message}")
            above = transport.config.stream_above
            streams = above is not None and arriving.body_size > above and self._streams(arriving)
            if streams and not arriving.assembly.whole:
                self._tell_piece(arriving, octets)
                return
        elif arriving.held + size > limits.header:
            raise self._too_large(arriving, f"before its body, Limits.header allows {limits.header}")
        arriving.held += size
        transport.bodies += size
        if transport.bodies > limits.bodies:
            raise self._too_large(arriving, f"beside others that arrive, Limits.bodies allows {limits.bodies}")
        parts = arriving.parts
        if parts or not arriving.assembly.ended:
            keep(parts, octets)
            if not arriving.assembly.ended:
                return
            octets = joined(parts)
            arriving.parts = []
        if kind == COMMAND:
            arriving.command = octets
        elif kind == BODY:
            arriving.body = octets
        else:
            arriving.header = octets

    def _tell_piece(self, arriving: Arriving, octets: bytes) -> None:
        """More of a body that is told in pieces: what is kept of it goes with it."""
        body = b"".join((*arriving.parts, octets))
        self._transport.events.append(BodyReceived(self._channel.number, arriving.number, body))
        kept = len(body) - len(octets)
        arriving.held -= kept
        self._transport.bodies -= kept
        arriving.parts = []

    def _streams(self, arriving: Arriving) -> bool:
        """Whether a message is told in pieces; it's told to begin once its body is too large. Raises Violation."""
        if not arriving.told:
            command = self._decode(arriving)
            if not isinstance(command, records.MessageTransfer):
                return False
            headers = Headers(arriving.header)
            self._check(command, headers, b"")
            self._take_transfer(arriving.number, command, headers, 0, 0)
            event = MessageBegun(self._channel.number, arriving.number, command, headers, arriving.sync)
            self._tell(arriving.number, event, 0)
            arriving.told = True
        return True

    def _too_large(self, arriving: Arriving, what: str) -> Violation:
        self._arriving = arriving
        self.abort()
        text = f"command {arriving.number} has {arriving.octets} octets {what}"
        return exception(execution.RESOURCE_LIMIT_EXCEEDED, text)

    def _decode(self, arriving: Arriving) -> Command[object]:
        """The command of the first segment, read once. Raises Violation: command-invalid."""
        command = arriving.decoded
        if command is not None:
            return command
        try:
            command, arriving.sync = decode_command(arriving.command, 0, len(arriving.command))
        except CodecError as error:
            raise _invalid(error) from error
        if self._state.side is Side.SERVER:
            command = understood(command, self._transport.config.dialect)
        arriving.decoded = command
        return command

    def _take(self, arriving: Arriving) -> None:
        """A command has come as a whole: execute it, unless it was before (the idempotence barrier)."""
        if not arriving.new:
            return
        number = arriving.number
        try:
            command = self._decode(arriving)
            body = arriving.body
            if arriving.told:
                self._end_message(arriving, body)
                return
            headers = Headers(arriving.header)
            self._check(command, headers, body)
            if isinstance(command, records.MessageTransfer):
                self._take_transfer(number, command, headers, len(headers.raw) + len(body), len(body))
                has_body = arriving.assembly.kind == BODY
                event = MessageReceived(self._channel.number, number, command, headers, body, arriving.sync, has_body)
                self._tell(number, event, len(body))
                lead = arriving.lead
                if lead:
                    self._transport.route = (self, lead, len(lead), command, arriving.sync)
            else:
                self._execute(arriving, command, headers, body)
        except Violation as violation:
            self._fail(violation, number, arriving.decoded)
        except CodecError as error:
            self._fail(_invalid(error), number, arriving.decoded)

    @property
    def arriving(self) -> int | None:
        """The id of the command whose frames haven't all come."""
        return None if self._arriving is None else self._arriving.number

    def check(self) -> int:
        """Check that what is kept of a command is what has come of it; how many octets that are. For tests; raises
        AssertionError."""
        arriving = self._arriving
        if arriving is None:
            return 0
        where = f"command {arriving.number} of session {self._state.name!r}"
        parts = arriving.parts
        kept = sum(map(len, (arriving.command, arriving.header, arriving.body, *parts)))
        ensure(kept == arriving.held, where, "`held` counts the octets that are kept", arriving.held, kept)
        ensure(all(parts), where, "no piece is empty", len(parts))
        ensure(not (parts and arriving.assembly.ended), where, "pieces are those of a segment under way", len(parts))
        ensure(kept <= arriving.octets, where, "no more is kept than has come", kept, arriving.octets)
        return kept

    def abort(self) -> None:
        """Drop what has come of a command so far: it will come again, or never."""
        arriving, self._arriving = self._arriving, None
        if arriving is None:
            return
        state, number = self._state, arriving.number
        if arriving.new:
            state.receiving.forget(number)
        if arriving.told:
            state.retire(number, completed=False)
            state.incoming.take(number)
            self._transport.events.append(BodyAborted(self._channel.number, number))
        self._transport.bodies -= arriving.held

    def goes_on(self, number: int, offset: int) -> bool:
        """Whether a command-point says just where the command that is arriving has got to."""
        arriving = self._arriving
        return arriving is not None and arriving.number == number and 0 < offset == arriving.octets

    def check_whole(self, command_ids: Container[int]) -> None:
        """Raise LocalProtocolError when a message that was told to begin and is still arriving is among some."""
        arriving = self._arriving
        if arriving is not None and arriving.told and arriving.number in command_ids:
            raise LocalProtocolError(f"the message of command {arriving.number} is still arriving")

    def fast_event(self) -> MessageReceived | None:
        """The message at the buffer's begin, if its command is octet by octet the one before: see `fast_paths`."""
        transport, channel = self._transport, self._channel
        route = transport.route
        assert route is not None
        _, lead, length, transfer, sync = route
        place = PLACE | channel.number
        buffer = transport.buffer
        data = buffer.data
        pos = buffer.pos
        if not data.startswith(lead, pos):
            return None
        at = pos + length
        length = len(data)
        if at + FRAME_HEADER_SIZE > length:
            return None
        kind, size, where, tail = _two(data, at)
        # Without a header segment the body's frame is next.
        header = body = at
        if kind == HEADER_FRAME:
            header, body = at + FRAME_HEADER_SIZE, at + size
            if where != place or tail or size <= FRAME_HEADER_SIZE or body + FRAME_HEADER_SIZE > length:
                return None
            kind, size, where, tail = _two(data, body)
        end = body + size
        most = channel.max_frame
        if (
            kind != BODY_FRAME
            or where != place
            or tail
            or end > length
            or not FRAME_HEADER_SIZE <= size <= most
            or body - at > most
        ):
            return None
        state = self._state
        number = state.receiving.point
        if (
            number is None
            or self._arriving is not None
            or channel.state is not _ATTACHED
            or channel.report is not None
            or transport.validates
            or transport.crowded is not None
            or size > transport.fast_body
        ):
            return None
        octets = data[body + FRAME_HEADER_SIZE : end]
        event = MessageReceived(channel.number, number, transfer, data[header:body], octets, sync, True)
        if not state.take_usual_transfer(event, body - header + len(octets), len(octets)):
            return None
        buffer.pos = end
        return event

    # Commands that have come.

    def _execute(self, arriving: Arriving, command: Any, headers: Headers, body: bytes) -> None:
        """Do the commands that the core can do itself, report the others. Raises Violation."""
        state, channel = self._state, self._channel
        number, sync = arriving.number, arriving.sync
        kind = command.__class__
        state.step(state.side.other, command, len(body))
        at_once = self._AT_ONCE.get(kind)
        if at_once is not None:
            at_once(self, number, command, sync)
            return
        if kind is records.MessageSubscribe:
            state.peer_subscribes(command.destination or "")
        elif kind is records.MessageFlush:
            state.credit_of(command.destination or "").take(number)
        elif (
            kind is records.MessageResume
            and state.side is Side.CLIENT
            and (command.destination or "") not in state.granted
        ):
            text = f"message.resume to {command.destination!r}, which is no subscription of this session"
            raise exception(execution.NOT_FOUND, text, "message.resume/destination")
        if kind is records.MessageAccept and state.side is Side.SERVER and self._transport.config.lenient_accepts:
            # A message that is accepted and not acquired was only looked at: nobody has taken it.
            transfers = state.outgoing
            seen = [each for each in transfers.named(command.transfers) if not transfers.is_acquired(each)]
            self._settle(transfers.move(seen, TransferInput.R_RELEASE), Released(False))
        pendings = self._concerned(command)
        if kind in SETTLING and state.side is Side.CLIENT:
            # A server's word on what this client has published: there's nothing to be executed.
            self._apply(number, command)
            self._done(number, sync=sync)
            return
        self._put_aside(number, command)
        called = CommandReceived(channel.number, number, command, sync, headers, body, pendings)
        self._tell(number, called, len(body))

    def _end_message(self, arriving: Arriving, octets: bytes) -> None:
        """The last piece of a message that was told to begin has come. Raises Violation."""
        state, number = self._state, arriving.number
        size = arriving.body_size + len(arriving.header)
        event = state.executing.get(number)
        if isinstance(event, MessageBegun):
            destination = event.transfer.destination or ""
            balance = state.granted.get(destination)
            if balance is not None:
                body = size - len(event.headers.raw)
                if balance.bodies is not None and balance.bodies < body:
                    raise balance.overrun(destination, size)
                balance.spend(size, body, messages=0)
        state.came_in_parts(number, size)
        self._transport.events.append(BodyReceived(self._channel.number, number, octets, last=True))

    def _check(self, command: Command[object], headers: Headers, body: bytes) -> None:
        """Whether such a command may come at all, and whether what must be there is. Raises Violation."""
        role = self._state.side.value
        if role not in command.HANDLERS:
            raise exception(execution.NOT_ALLOWED, f"{command.NAME} isn't for a {role}")
        if command.MANDATORY and (name := missing(command, self._transport.config.dialect)):
            text = f"{command.NAME} without {name.replace('_', '-')}"
            raise exception(execution.COMMAND_INVALID, text, "wire/struct-required")
        if (headers.raw and not command.HEADERS) or (body and not command.HAS_BODY):
            raise exception(execution.COMMAND_INVALID, f"{command.NAME} with a header or body segment")
        if headers.raw and self._transport.validates:
            headers.check()

    def _tell(self, number: int, event: Event, octets: int) -> None:
        self._state.execute(number, event, octets)
        self._transport.events.append(event)
        self._crowd(isinstance(event, CommandReceived))

    @property
    def is_crowded(self) -> bool:
        """Whether so much waits for the application that a server takes no more."""
        state, limits = self._state, self._transport.limits
        return self._channel.report is None and (state.waiting >= limits.requests or state.weight > limits.bodies)

    def _crowd(self, is_call: bool) -> None:
        """A server takes no more while so much waits; for a client it's too much. Raises Violation."""
        state, limits = self._state, self._transport.limits
        if state.side is Side.SERVER:
            if self.is_crowded:
                self._transport.crowded = self
        elif state.waiting > limits.unsettled or (is_call and state.weight > limits.bodies):
            text = f"{state.waiting} commands of {state.weight} octets wait for their completion, "
            text += f"Limits.unsettled allows {limits.unsettled}, Limits.bodies {limits.bodies}"
            raise exception(execution.RESOURCE_LIMIT_EXCEEDED, text)

    def _take_transfer(
        self, number: int, command: records.MessageTransfer, headers: Headers, size: int, body: int
    ) -> None:
        state = self._state
        destination = command.destination or ""
        balance = state.granted.get(destination)
        if state.side is Side.CLIENT and balance is None:
            raise no_subscription(destination)
        if balance is not None and not balance.admits(body):
            raise balance.overrun(destination, size)
        if state.side is Side.SERVER:
            self._check_user(headers)
        state.incoming.transfer(number, command)
        if balance is not None:
            balance.spend(size, body)

    def _check_user(self, headers: Headers) -> None:
        """A user-id is that of who is logged in (rule message-properties.user-id.authentication)."""
        if not self._transport.validates or not headers.raw:
            return
        owner = self._transport.owner
        if not owner.user and owner.mechanism != "ANONYMOUS":
            # Only the application knows the user: a certificate or a token names it.
            return
        properties = headers.message_properties
        user_id = None if properties is None else properties.user_id
        if user_id is not None and user_id != owner.user.encode():
            text = f"message.transfer with the user-id {user_id!r}, logged in is {owner.user!r}"
            raise exception(execution.UNAUTHORIZED_ACCESS, text, "message.message-properties/user-id")

    # Own messages, and their credit.

    def _concerned(self, command: Any) -> tuple[Pending[object], ...]:
        """The pendings of own transfers that a command is about. Raises Violation when it can't be about one."""
        state = self._state
        kind = command.__class__
        books = state.outgoing
        if kind in ENDING:
            return books.in_work(ended_by(command))
        if kind not in MOVES:
            return ()
        ids: SequenceSet = command.transfers or SequenceSet()
        for _, upper in ids.ranges:
            if distance(upper, state.sending.next_id) <= 0:
                raise exception(execution.INVALID_ARGUMENT, f"{command.NAME} of {upper}, which was never transferred")
        move, _ = MOVES[kind]
        numbers = books.check(command)
        if kind is records.MessageAcquire or (kind is records.MessageAccept and state.peer.work is not None):
            books.check_paid(command.NAME, numbers)
        elif kind is records.MessageReject:
            # That of a message that isn't acquired is ignored (rule message.reject.acquisition).
            ignored = [number for number in numbers if not books.ends_with(number, move)]
            books.check_paid(command.NAME, ignored)
            numbers = [number for number in numbers if books.ends_with(number, move)]
        return pendings_of([books.unsettled[number] for number in numbers])

    def _put_aside(self, number: int, command: Any) -> None:
        """Fix the messages that a command settles by its place among the others: it may be completed much later."""
        kind = command.__class__
        state = self._state
        books = state.outgoing
        if kind is records.TxCommit:
            books.close_work(WORK, number)
        elif kind is records.TxRollback:
            self._settle_each(books.roll_back(WORK))
        elif kind in SETTLING:
            move = SETTLING[kind][0]
            if kind is not records.MessageAccept and state.peer.work is not None:
                accepted = books.accepted_in(state.peer.work, command.transfers)
                books.defer(accepted, state.peer.work, _outcome_of(command))
            ending = [each for each in books.named(command.transfers) if books.ends_with(each, move)]
            work = state.peer.work if kind is records.MessageAccept else None
            books.put_aside(ending, number if work is None else work)

    # Commands that the core executes itself.

    def _sync(self, number: int, command: records.ExecutionSync, sync: bool) -> None:
        state = self._state
        if state.is_behind_all(number):
            self._done(number, sync=True)
        else:
            state.wait_for_all(number)
            self._crowd(is_call=True)

    def _result(self, number: int, command: records.ExecutionResult, sync: bool) -> None:
        if not self._outgoing.result(command):
            text = f"execution.result for command {command.command_id}, which waits for no such result"
            raise exception(execution.ILLEGAL_STATE, text)
        self._done(number, sync=sync)

    def _exception(self, number: int, command: records.ExecutionException, sync: bool) -> None:
        self._failed_by_peer(command)

    def _credit(self, number: int, command: Any, sync: bool) -> None:
        """message.flow, stop and set-flow-mode: the peer gives credit or takes it."""
        kind, destination = command.__class__, command.destination or ""
        balance = self._state.credit_of(destination)
        if kind is records.MessageFlow:
            balance.grant(check_unit(command.unit), command.value)
        elif kind is records.MessageStop:
            balance.zero(number, self._state.under_way(destination))
        else:
            mode = check_flow_mode(command.flow_mode)
            balance.check_mode(mode, destination)
            balance.set_mode(mode)
        self._transport.events.append(
            CreditChanged(self._channel.number, destination, balance.messages, balance.octets)
        )
        self._done(number, sync=sync)

    _AT_ONCE: ClassVar[Mapping[type, Callable[..., None]]] = {
        records.ExecutionSync: _sync,
        records.ExecutionResult: _result,
        records.ExecutionException: _exception,
        **dict.fromkeys((records.MessageFlow, records.MessageStop, records.MessageSetFlowMode), _credit),
    }

    # Completion.

    def complete(self, command_id: int, result: Struct | None) -> None:
        """The application has executed a command of the peer."""
        state, channel = self._state, self._channel
        event = state.executing.get(command_id)
        if (
            isinstance(event, MessageReceived)
            and result is None
            and not state.syncs
            and channel.state is _ATTACHED
            and channel.report is None
            and self._transport.is_open
        ):
            tells = event.sync or state.untold + 1 >= state.tell_at
            if tells:
                self._outgoing.check_backlog(0)
            state.complete_message(command_id, event)
            if tells:
                self.tell_completed()
            return
        self._complete(command_id, result)

    def _complete(self, command_id: int, result: Struct | None) -> None:
        state = self._state
        self._channel.check()
        event = state.executing.get(command_id)
        if event is None:
            raise LocalProtocolError(f"command {command_id} doesn't wait for its completion")
        self.check_whole((command_id,))
        command = command_of(event)
        wanted = command.RESULT
        given = "" if result is None else result.NAME
        if wanted != given:
            text = f"{command.NAME} has {wanted or 'no'} result, {given or 'none'} was given"
            raise LocalProtocolError(text, rule="0-10/execution.result/always")
        if result is None:
            self._outgoing.check_backlog(0)
        else:
            self._outgoing.issue(records.ExecutionResult(command_id, result))
        state.retire(command_id, completed=True)
        self._apply(command_id, command, result)
        self._done(command_id, sync=bool(getattr(event, "sync", False)))

    def complete_transfers(self, ids: Iterable[int]) -> None:
        """Complete the messages that are settled, too."""
        state = self._state
        sync = False
        for number in ids:
            event = state.executing.get(number)
            if isinstance(event, (MessageReceived, MessageBegun)):
                state.retire(number, completed=True)
                state.executed(number)
                sync = sync or event.sync
        self._tell_if_due(sync)

    def _done(self, number: int, *, sync: bool) -> None:
        """A command is executed: tell its sender, when it's time."""
        self._state.executed(number)
        self._tell_if_due(sync)

    def _tell_if_due(self, sync: bool) -> None:
        state = self._state
        sync = state.end_syncs() or sync
        if (sync or state.untold >= state.tell_at) and self._channel.state is _ATTACHED:
            self.tell_completed()

    def tell_completed(self, *, timely: bool = False) -> None:
        """Send the full set of what this end has executed and the peer may not know.

        On a session that is resumed not before what was in doubt is sent again: the result of a command, and the
        outcome of a message, come before the completion.
        """
        state, channel = self._state, self._channel
        doubtful = channel.resuming and state.sending.replay
        if doubtful or channel.state is not _ATTACHED:
            return
        completed = state.take_completed()
        timely = timely or len(completed) > _MANY
        for part in completed.parts():
            channel.send(records.SessionCompleted(part, timely or part is not completed))

    def _apply(self, command_id: int, command: Any, result: Any = None) -> None:
        """Change this end's own messages as a command of the peer says, once it is executed."""
        kind = command.__class__
        state = self._state
        transfers = state.outgoing
        state.peer.answered(command, result)
        if kind in SETTLING:
            outcome = _outcome_of(command)
            if state.side is Side.CLIENT:
                named = transfers.named(command.transfers)
                entries = transfers.move(named, SETTLING[kind][0])
            else:
                entries = transfers.commit(command_id)
            self._settle(entries, outcome)
        elif kind is records.MessageAcquire:
            transfers.move(transfers.named(result.transfers), TransferInput.R_ACQUIRE)
        elif kind is records.MessageFlush:
            balance = state.credit_of(command.destination or "")
            balance.zero(command_id, state.under_way(command.destination or ""))
        elif kind is records.MessageCancel:
            if (command.destination or "") not in state.peer.subscriptions:
                state.peer_cancels(command.destination or "")
        elif kind is records.TxCommit:
            self._settle(transfers.commit((WORK, command_id)), _ACCEPTED)

    def decide(self, xid: records.Xid, *, committed: bool) -> None:
        """A distributed transaction has ended."""
        if committed:
            self._settle(self._state.outgoing.commit(xid), _ACCEPTED)
        else:
            self._settle_each(self._state.outgoing.roll_back(xid))

    def _settle_each(self, entries: Iterable[tuple[Entry, object]]) -> None:
        """Messages that a transaction accepted before they were settled otherwise are settled by its rollback."""
        for entry, outcome in entries:
            self._settle([entry], outcome)

    def _settle(self, entries: list[Entry], outcome: object) -> None:
        pendings = pendings_of(entries)
        for pending in pendings:
            pending.complete(outcome)
        if pendings:
            self._transport.events.append(Settled(pendings, outcome))


def _outcome_of(command: Settling) -> object:
    """The outcome that a command of a recipient gives."""
    if isinstance(command, records.MessageReject):
        return Rejected(command.code or 0, command.text or "")
    return Released(command.set_redelivered) if isinstance(command, records.MessageRelease) else _ACCEPTED


def _invalid(error: CodecError) -> Violation:
    rule = None if error.rule is None else error.rule.removeprefix("0-10/")
    return exception(execution.COMMAND_INVALID, str(error), rule)


# Events that stand for commands.


def command_of(event: Event) -> Command[object]:
    """The command that an event of the application tells of."""
    if isinstance(event, (MessageReceived, MessageBegun)):
        return event.transfer
    assert isinstance(event, CommandReceived)
    return event.command


def on_channel(event: Event, channel: int) -> Event:
    """The same event, of a session that is now attached to another channel."""
    values = [getattr(event, name) for name in event.__match_args__]
    kind: Any = event.__class__
    moved: Event = kind(channel, *values[1:])
    return moved
