"""Frames as they come: pieces of controls, commands, put together by channel and track (part 1 sections 4.3, 4.4)."""

# The modules of this package share one engine; its private state is theirs, not the caller's.
# pyright: reportPrivateUsage=false
from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from ...endpoint import Side
from ...errors import CodecError
from ..codec.assembly import Assembly, begins
from ..codec.dialect import understood
from ..codec.frames import (
    BODY,
    COMMAND,
    CONTROL,
    FRAME,
    FRAME_HEADER_SIZE,
    SEGMENTS,
    WHOLE,
    misplaced,
    reserved,
)
from ..codec.message import Headers
from ..codec.record import decode_command, decode_control
from ..codec.records import MessageTransfer
from ..codec.violation import Violation, exception, framing_error
from ..model.events import BodyReceived
from ..model.execution import COMMAND_INVALID, RESOURCE_LIMIT_EXCEEDED
from ..model.states import Connection as State
from . import incoming, session_controls, session_end
from .closing import CLOSING
from .fastpath import WHOLE_COMMAND, route_of

if TYPE_CHECKING:
    from ..codec.record import Command, Control
    from .connection import Connection
    from .session import Session

_frame: Final = FRAME.unpack_from
_FLAGS: Final = "wire/frame-flags"
_SMALL: Final = 512
_ALL: Final = 1 << 62
"""More octets than any stream has."""


class Partial:
    """A control whose frames haven't all come."""

    __slots__ = ("assembly", "parts", "size")

    def __init__(self) -> None:
        self.assembly = Assembly()
        self.parts: list[bytes | bytearray] = []
        self.size = 0


class Arriving:
    """A command whose frames haven't all come.

    `octets` of it have come, `held` are kept here. `told`: its message is told in pieces. `skipped`: nothing of it is
    wanted, because it was executed before, or the session has ended.
    """

    __slots__ = (
        "assembly", "body", "command", "decoded", "header", "held", "lead", "new", "number", "octets", "pieces", "sync",
        "told",
    )  # fmt: skip

    def __init__(self, number: int, new: bool) -> None:
        self.assembly = Assembly()
        self.number = number
        self.new = new
        self.command: list[bytes | bytearray] = []
        self.header: list[bytes | bytearray] = []
        self.body: list[bytes | bytearray] = []
        self.octets = self.held = self.pieces = 0
        self.told = False
        self.lead = b""
        self.decoded: Command[Any] | None = None
        self.sync = False


def receive_frame(connection: Connection) -> bool:
    """Take one frame; False while octets are missing. Raises Violation, CodecError."""
    buffer = connection._buffer
    if not buffer.want(FRAME_HEADER_SIZE):
        return False
    pos = buffer.pos
    flags, kind, size, spare, track, channel, tail = _frame(buffer.data, pos)
    if size < FRAME_HEADER_SIZE:
        # Where the next frame begins can't be known.
        buffer.skip(_ALL)
        raise framing_error(
            f"frame with a size of {size}, its header alone takes {FRAME_HEADER_SIZE}",
            "wire/frame-size<12 malformed",
        )
    if size > connection._incoming_max:
        buffer.skip(size)
        raise framing_error(
            f"frame of {size} octets, {connection._incoming_max} were agreed",
            "connection.tune-ok/max-frame-size",
        )
    wrong = reserved(flags, spare, track, tail)
    if wrong or kind > BODY:
        buffer.skip(size)
        raise framing_error(
            wrong or f"a segment of type {kind}, which isn't defined", "wire/frame-reserved-zero"
        )
    place = misplaced(kind, track)
    if place is not None:
        buffer.skip(size)
        raise framing_error(place[1], place[0])
    if not buffer.want(size):
        return False
    pos = buffer.pos
    buffer.pos = pos + size
    start = pos + FRAME_HEADER_SIZE
    if kind == CONTROL:
        _control_frame(connection, channel, flags, buffer.data, start, pos + size)
    elif connection._state is not State.OPEN:
        if connection._state not in CLOSING:
            raise framing_error(f"a command while the connection is {connection._state.value}")
    else:
        if channel >= connection.channel_max:
            raise framing_error(
                f"a command on channel {channel}, {connection.channel_max} channels were agreed",
                "connection.tune-ok/available-channels",
            )
        _command_frame(connection, channel, flags, kind, buffer.data, start, pos + size)
    return True


# Controls.


def _control_frame(
    connection: Connection, channel: int, flags: int, data: bytes, start: int, end: int
) -> None:
    partials = connection._partials
    partial = partials.get(channel)
    if partial is None:
        if flags == WHOLE:
            connection._take_control(channel, decode_control(data, start, end))
            return
        partial = Partial()
    wrong = partial.assembly.step(flags, CONTROL)
    if wrong:
        partials.pop(channel, None)
        raise framing_error(wrong, _FLAGS)
    partial.size += end - start
    partials[channel] = partial
    if sum([each.size for each in partials.values()]) > connection.config.limits.bodies:
        raise framing_error("controls in pieces that are too large together")
    if partial.size > connection.config.limits.header:
        raise framing_error(f"a control of more than {connection.config.limits.header} octets")
    keep(partial.parts, data[start:end])
    if not partial.assembly.whole:
        if len(partials) > connection.config.limits.channels:
            raise framing_error("controls on more channels than there are")
        return
    partials.pop(channel, None)
    octets = b"".join(partial.parts)
    connection._take_control(channel, decode_control(octets, 0, len(octets)))


def control_name(control: Control) -> str:
    """The control's name without its class."""
    return control.NAME.partition(".")[2]


# Commands.


def _command_frame(
    connection: Connection, channel: int, flags: int, kind: int, data: bytes, start: int, end: int
) -> None:
    session = connection._sessions.get(channel)
    if session is None:
        if begins(flags):
            session_controls.unattached_command(connection, channel)
        return
    if session._report is not None:
        # It has ended here; what was under way to it goes by.
        return
    arriving = session._arriving
    try:
        if arriving is None:
            arriving = _begin(session, flags, kind)
        wrong = arriving.assembly.step(flags, kind)
        if wrong:
            raise framing_error(wrong, _FLAGS)
        if flags == WHOLE_COMMAND and kind == COMMAND:
            arriving.lead = data[start - FRAME_HEADER_SIZE : end]
        _add(session, arriving, kind, data[start:end])
        if arriving.assembly.whole:
            session._arriving = None
            connection._bodies -= arriving.held
            _whole(session, arriving)
        else:
            session._arriving = arriving
    except Violation as violation:
        if violation.scope is not violation.scope.SESSION:
            raise
        session_end.fail(session, violation, None if arriving is None else arriving.number, None)


def _begin(session: Session, flags: int, kind: int) -> Arriving:
    receiving = session._state.receiving
    if receiving.point is None:
        raise session_controls.unknown_ids(session)
    if not begins(flags):
        raise framing_error(
            f"a frame of a {SEGMENTS[kind]} segment, where no command has begun",
            "session.command-point/zero-offset",
        )
    if kind != COMMAND:
        raise framing_error(f"a {SEGMENTS[kind]} segment is the first one", _FLAGS)
    return Arriving(*receiving.arrive())


def _add(session: Session, arriving: Arriving, kind: int, octets: bytes) -> None:
    """Keep a piece of a command, within the limits. Raises Violation."""
    arriving.octets += len(octets)
    if not arriving.new:
        return
    if kind == BODY:
        _add_body(session, arriving, octets)
        return
    limits = session._connection.config.limits
    arriving.held += len(octets)
    session._connection._bodies += len(octets)
    if arriving.held > limits.header:
        raise _too_large(session, arriving, f"before its body, Limits.header allows {limits.header}")
    keep(arriving.command if kind == COMMAND else arriving.header, octets)
    _check_bodies(session, arriving)


def _add_body(session: Session, arriving: Arriving, octets: bytes) -> None:
    connection = session._connection
    limits = connection.config.limits
    size = arriving.pieces + len(octets)
    if size > limits.message:
        raise _too_large(session, arriving, f"of body, Limits.message allows {limits.message}")
    arriving.pieces = size
    above = connection.config.stream_above
    if above is not None and size > above and _streams(session, arriving):
        last = arriving.assembly.whole
        if not last:
            connection._events.append(
                BodyReceived(session.channel, arriving.number, b"".join((*arriving.body, octets)))
            )
            _drop_body(session, arriving)
            return
    arriving.held += len(octets)
    connection._bodies += len(octets)
    keep(arriving.body, octets)
    _check_bodies(session, arriving)


def _check_bodies(session: Session, arriving: Arriving) -> None:
    most = session._connection.config.limits.bodies
    if session._connection._bodies > most:
        raise _too_large(session, arriving, f"beside others that arrive, Limits.bodies allows {most}")


def keep(parts: list[bytes | bytearray], octets: bytes) -> None:
    """Keep a piece; small ones share an object, each would cost more than what is in it."""
    if not octets:
        return
    if parts and len(octets) < _SMALL:
        last = parts[-1]
        if isinstance(last, bytearray):
            last += octets
            return
        if len(last) < _SMALL:
            parts[-1] = bytearray(last) + octets
            return
    parts.append(octets)


def joined(parts: list[bytes | bytearray]) -> bytes:
    """The octets of all pieces."""
    only = parts[0] if len(parts) == 1 else None
    return only if isinstance(only, bytes) else b"".join(parts)


def _drop_body(session: Session, arriving: Arriving) -> None:
    held = sum([len(each) for each in arriving.body])
    arriving.body = []
    arriving.held -= held
    session._connection._bodies -= held


def _streams(session: Session, arriving: Arriving) -> bool:
    """Whether a message is told in pieces; it's told to begin when its body has become too large. Raises Violation."""
    if not arriving.told:
        _decode(session, arriving)
        command = arriving.decoded
        assert command is not None
        if command.NAME != "message.transfer":
            return False
        headers = Headers(b"".join(arriving.header))
        incoming.begin_message(session, arriving.number, command, arriving.sync, headers)
        arriving.told = True
    return True


def _too_large(session: Session, arriving: Arriving, what: str) -> Violation:
    session._arriving = arriving
    session_controls.abort_arriving(session)
    return exception(
        RESOURCE_LIMIT_EXCEEDED, f"command {arriving.number} has {arriving.octets} octets {what}"
    )


def _decode(session: Session, arriving: Arriving) -> None:
    """Decode the command's segment. Raises Violation: command-invalid."""
    octets = joined(arriving.command)
    connection = session._connection
    try:
        command, arriving.sync = decode_command(octets, 0, len(octets))
        if connection.role is Side.SERVER:
            command = understood(command, connection.config.dialect)
        arriving.decoded = command
    except CodecError as error:
        raise exception(COMMAND_INVALID, str(error), _rule(error)) from error


def _rule(error: CodecError) -> str | None:
    return None if error.rule is None else error.rule.removeprefix("0-10/")


def _whole(session: Session, arriving: Arriving) -> None:
    """A command has come as a whole: execute it, unless it was before (the idempotence barrier)."""
    number = arriving.number
    if not arriving.new:
        return
    command = None
    try:
        if arriving.decoded is None:
            _decode(session, arriving)
        command = arriving.decoded
        body = joined(arriving.body)
        if arriving.told:
            incoming.end_message(
                session, number, body, arriving.pieces + sum([len(each) for each in arriving.header])
            )
            return
        header = joined(arriving.header)
        has_body = arriving.assembly.kind == BODY
        incoming.execute(session, number, command, arriving.sync, Headers(header), body, has_body)
        if arriving.lead and isinstance(command, MessageTransfer):
            session._connection._route = route_of(arriving.lead, session, command, arriving.sync)
    except Violation as violation:
        if violation.scope is not violation.scope.SESSION:
            raise
        session_end.fail(session, violation, number, command)
    except CodecError as error:
        session_end.fail(session, exception(COMMAND_INVALID, str(error), _rule(error)), number, command)
