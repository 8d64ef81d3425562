"""The shortcut for what arrives: a whole message in one frame, and messages settled as accepted, become events at once.

It must do the same as the general step with the same octets (`link_state`, `session`, `receiver`); a test takes both
ways. It leaves everything but the common case, errors included, to the general step, with nothing changed.
"""

from __future__ import annotations

from struct import Struct
from struct import error as StructError

from ..._checking import TYPE_CHECKING
from ..._ground.serial import HALF, MASK
from ...errors import CodecError
from ...events import Settled
from ..codec.frames import PLAIN
from ..codec.octets import ACCEPTED_OCTETS, NEW, READ_U32
from ..codec.performatives import ACCEPTED
from ..model.states import MAPPED, OPEN, SENT
from .events import Delivery
from .receiver import IncomingDelivery, Receiver
from .sender import OutgoingDelivery
from .session import Session

if TYPE_CHECKING:
    from collections import deque
    from typing import Any, Final

    from ..._ground.receive_buffer import ReceiveBuffer
    from ...events import Event, Pending
    from ..model.connection import ConnectionModel
    from .config import Config

_FRAME: Final = Struct(">IHH").unpack_from
_TRANSFER: Final = b"\x00\x53\x14\xc0"
_DISPOSITION: Final = b"\x00\x53\x15\xc0"
_SHORTEST: Final = 8 + 6
"""The header of a frame, the descriptor, size and count of its list."""


_UINT: Final = {0x43: 1, 0x52: 2, 0x70: 5}
"""The octets of a uint, by its format code."""
_SMALL: Final = 0x52
_LARGE: Final = 0x70
"""The usual ones of a handle, and of a delivery-id."""
_number: Final = int.from_bytes
_FLAGS: Final = {
    b"": False,
    **{
        settled + b"".join(rest[:count]): settled == b"\x41"
        for settled in (b"\x40", b"\x41", b"\x42")
        for more in (b"\x40", b"\x42")
        for resume in (b"\x40", b"\x42")
        for aborted in (b"\x40", b"\x42")
        for batchable in (b"\x40", b"\x41", b"\x42")
        for rest in [(more, b"\x40", b"\x40", resume, aborted, batchable)]
        for count in range(7)
    },
}
"""Octets that may follow the message-format of a plain transfer: whether it is settled, and flags that aren't set."""
_OUTCOMES: Final = {b"\x41" + ACCEPTED_OCTETS + flag: 5 + len(flag) for flag in (b"", b"\x40", b"\x41", b"\x42")}
"""The octets that may follow the deliveries of a disposition: settled as accepted; how many fields it has with that."""


class FastPath:
    """Takes frames from the buffer of a connection that is open."""

    __slots__ = ("_buffer", "_events", "_limits", "_model", "_peer", "_side", "_validate")

    def __init__(
        self, model: ConnectionModel, side: int, buffer: ReceiveBuffer, events: deque[Event], config: Config
    ) -> None:
        # The connection's rules and state, which each step asks.
        self._model = model
        # This end's index into the halves of connection, session and link.
        self._side = side
        # The index of the other one, whose frames these are.
        self._peer = 1 - side
        # What arrived; a step moves its `pos` only when it has taken the whole frame.
        self._buffer = buffer
        # Takes Settled for messages that a disposition settles.
        self._events = events
        # Bounds of unsettled deliveries.
        self._limits = config.limits
        # Whether messages are decoded at once, which the shortcut then leaves to the general way.
        self._validate = side == 1 if config.validate_content is None else config.validate_content

    def event(self, most: int) -> Event | None:
        """The event of the frame at the buffer's begin if it's the common case in at most `most` octets, else None."""
        buffer = self._buffer
        data = buffer.data
        pos = buffer.pos
        left = len(data) - pos
        if left < _SHORTEST:
            if left + buffer.held < _SHORTEST:
                return None
            buffer.want(_SHORTEST)
            data = buffer.data
            pos = buffer.pos
            left = len(data)
        size, plain, channel = _FRAME(data, pos)
        if plain != PLAIN or size > most:
            return None
        if size > left:
            # A frame that straddles two arrivals is put together once it is whole.
            if not buffer.want(size):
                return None
            data = buffer.data
            pos = buffer.pos
        end = pos + size
        lead = data[pos + 8 : pos + 12]
        try:
            if lead == _TRANSFER:
                return self._transfer(channel, data, pos, end)
            if lead == _DISPOSITION:
                return self._disposition(channel, data, pos, end)
        except (IndexError, KeyError, StructError):
            pass
        return None

    def _transfer(self, channel: int, data: bytes, pos: int, end: int) -> Event | None:
        """A delivery in one transfer (part 2 section 2.7.5).

        Behind the frame's header of 8 octets stand the descriptor and the code of a short list, which `event` has
        compared, then the list's size and count, and its fields. The size counts the count's octet.
        """
        start = pos
        pos += 14
        stop = pos + data[pos - 2] - 1
        if stop > end:
            return None
        # The fields in their order: handle and delivery-id, each a uint of 1, 2 or 5 octets; _UINT has no other code,
        # and what isn't there is a KeyError or IndexError, which leaves the frame to the general way.
        if data[pos] == _SMALL:
            handle = data[pos + 1]
            pos += 2
        else:
            at = pos + _UINT[data[pos]]
            handle = _number(data[pos + 1 : at], "big")
            pos = at
        if data[pos] == _LARGE:
            (delivery_id,) = READ_U32(data, pos + 1)
            pos += 5
        else:
            at = pos + _UINT[data[pos]]
            delivery_id = _number(data[pos + 1 : at], "big")
            pos = at
        # The delivery-tag, a binary of at most 32 octets (2.8.7), and a message-format of 0, which is one octet.
        at = pos + 2
        pos = at + data[at - 1]
        tag = data[at:pos]
        if data[at - 2] != 0xA0 or len(tag) > 32 or data[pos] != 0x43:
            return None
        # The rest of the list: flags of a whole message that nothing is said of but whether it is settled. The count is
        # that of the four fields before and of these, of one octet each.
        pos += 1
        settled = _FLAGS.get(data[pos:stop])
        if settled is None or pos > stop or data[start + 13] != stop - pos + 4:
            return None
        half = self._model.halves[self._peer]
        session = half.channels.get(channel)
        if not isinstance(session, Session) or half.state is not OPEN or session.halves[self._side].state is not MAPPED:
            return None
        theirs = session.halves[self._peer]
        link = theirs.handles.get(handle)
        # While a drain goes on, or credit was used without a message, the link has to look at what comes.
        if not isinstance(link, Receiver) or link.draining or link.unused:
            return None
        # The event is made before the model takes the delivery: a message that can't be decoded changes nothing.
        event: Any = NEW(Delivery)
        event.channel = session.channel
        event.link = link.number
        event.delivery_id = delivery_id
        event.delivery_tag = tag
        event.message_format = 0
        event.settled = settled
        event.state = None
        event.payload = data[stop:end]
        event.resumed = False
        if self._validate:
            try:
                event.read_strictly()
            except CodecError:
                return None
        octets = end - stop
        delivery: Any = None
        if not settled:
            # As its constructor does, without three calls.
            delivery = NEW(IncomingDelivery)
            delivery.link = link
            delivery.delivery_id = delivery_id
            delivery.delivery_tag = tag
            delivery.message_format = 0
            delivery.progress = SENT
            delivery.resumed = False
            delivery.rcv_settle_mode = None
            delivery.size = octets
            delivery.settled = False
            delivery.states = [None, None]
            delivery.parts = []
            delivery.pending = None
            delivery.skip = 0
            delivery.ignored = False
            delivery.fault = None
        if not link.take_usual_transfer(delivery_id, tag, octets, self._limits.unsettled, delivery):
            return None
        self._buffer.pos = end
        limit = theirs.window_limit
        if limit is not None:
            left = (limit - theirs.next_outgoing_id) & MASK
            if left >= HALF or left * 2 <= session.window:
                session.refresh_window()
                events = self._events
                if events:
                    events.append(event)
                    event = events.popleft()
        found: Event = event
        return found

    def _disposition(self, channel: int, data: bytes, pos: int, end: int) -> Event | None:
        """A receiver settles deliveries as accepted (part 2 section 2.7.6).

        The list begins with role, true, and first; last may be null; settled is true and the state accepted.
        """
        start = pos
        pos += 15
        if data[start + 12] + start + 13 != end or data[start + 14] != 0x41:
            return None
        if data[pos] == _LARGE:
            (first,) = READ_U32(data, pos + 1)
            at = pos + 5
        else:
            at = pos + _UINT[data[pos]]
            first = _number(data[pos + 1 : at], "big")
        last = first
        if data[at] == 0x40:
            pos = at + 1
        else:
            pos = at + _UINT[data[at]]
            last = _number(data[at + 1 : pos], "big")
        if _OUTCOMES.get(data[pos:end]) != data[start + 13]:
            return None
        peer = self._peer
        half = self._model.halves[peer]
        session = half.channels.get(channel)
        if session is None or half.state is not OPEN or session.halves[self._side].state is not MAPPED:
            return None
        found = session.take_usual_disposition(peer, True, first, last, ACCEPTED)
        if found is None:
            return None
        self._buffer.pos = end
        pendings: list[Pending[object]] = []
        for delivery in found:
            # What this end has sent is of its links' own kind.
            assert isinstance(delivery, OutgoingDelivery)
            if delivery.message is not None:
                delivery.link.forget(delivery)
            delivery.pending.complete(ACCEPTED)
            pendings.append(delivery.pending)
        return Settled(tuple(pendings), ACCEPTED)
