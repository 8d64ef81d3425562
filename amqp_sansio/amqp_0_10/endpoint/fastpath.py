"""The shortcut for what arrives: a whole message behind the command that was the last one becomes an event at once.

What it does must equal what the general step does with the same octets (`receiving`, `executing`); a test takes both
ways. Whatever isn't exactly the common case, an error included, is left to the general step, with nothing changed.
"""

# The modules of this package share one engine; its private state is theirs, not the caller's.
# pyright: reportPrivateUsage=false
from __future__ import annotations

from struct import Struct
from typing import TYPE_CHECKING, Final

from ..model.events import MessageReceived
from ..model.states import Attachment

if TYPE_CHECKING:
    from ..codec.records import MessageTransfer
    from ..model.command_ids import ReceiveState
    from ..model.session_state import SessionState
    from .connection import Connection
    from .session import Session

    Route = tuple[
        bytes, int, int, Session, SessionState, ReceiveState, MessageTransfer, str, bool, bool
    ]
    """The frame of the last message.transfer, its length, the place of its next frames; its session, and what was in
    it."""

WHOLE_COMMAND: Final = 0x0B
"""The flags of a command's only frame, behind which more segments come."""

_TWO: Final = Struct(">HHII").unpack_from
_HEADER: Final = 0x0302
"""Flags and type of a header's only frame, behind which the body comes."""
_BODY: Final = 0x0703
_TRACK: Final = 0x10000
_FRAME: Final = 12
_MASK: Final = 0xFFFF_FFFF
_ATTACHED: Final = Attachment.ATTACHED
_new = object.__new__


def route_of(lead: bytes, session: Session, transfer: MessageTransfer, sync: bool) -> Route:
    """What the shortcut needs of a transfer that has come, whose command was the frame `lead`."""
    state = session._state
    return (
        lead,
        len(lead),
        _TRACK | session.channel,
        session,
        state,
        state.receiving,
        transfer,
        transfer.destination or "",
        transfer.accept_mode != 1 or bool(transfer.acquire_mode),
        sync,
    )


def fast_event(connection: Connection) -> MessageReceived | None:
    """The message at the buffer's begin, if its command is octet by octet the one of the message before."""
    route = connection._route
    assert route is not None
    lead, length, place, session, state, receiving, transfer, destination, explicit, sync = route
    buffer = connection._buffer
    data = buffer.data
    pos = buffer.pos
    if not data.startswith(lead, pos):
        return None
    at = pos + length
    length = len(data)
    if at + _FRAME > length:
        return None
    kind, size, where, tail = _TWO(data, at)
    # Without a header segment the body's frame is next.
    header = body = at
    if kind == _HEADER:
        header, body = at + _FRAME, at + size
        if where != place or tail or size <= _FRAME or body + _FRAME > length:
            return None
        kind, size, where, tail = _TWO(data, body)
    end = body + size
    most = connection._incoming_max
    if kind != _BODY or where != place or tail or end > length or not _FRAME <= size <= most or body - at > most:
        return None
    number = receiving.point
    if (
        number is None
        or number != receiving.next_id
        or receiving.ahead
        or session._arriving is not None
        or session._attachment is not _ATTACHED
        or session._report is not None
        or connection._validates
        or connection._crowded is not None
        or size > connection._fast_body
    ):
        return None
    balance = state.granted.get(destination)
    if balance is None:
        return None
    incoming = state.incoming
    if len(state.executing) >= incoming.limit:
        return None
    if explicit and len(incoming.unsettled) + incoming.put >= incoming.limit:
        return None
    if balance.messages is not None or balance.octets is not None:
        counted = size - _FRAME
        if not balance.admits(counted):
            return None
        balance.spend(body - header + counted, counted)
    if explicit:
        incoming.transfer(number, transfer.accept_mode, transfer.acquire_mode, None)
    receiving.point = receiving.next_id = (number + 1) & _MASK
    ranges = receiving.known.ranges
    if ranges and (ranges[-1][1] + 1) & _MASK == number:
        ranges[-1][1] = number
    else:
        receiving.known.add(number)
    event = _new(MessageReceived)
    event.channel = session.channel
    event.command_id = number
    event.transfer = transfer
    event._headers = data[header:body]
    octets = event.body = data[body + _FRAME : end]
    event.sync = sync
    event.has_body = True
    buffer.pos = end
    state.executing[number] = event
    state.weight += len(octets)
    return event
