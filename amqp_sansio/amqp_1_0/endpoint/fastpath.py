"""The shortcut for what arrives: a whole message in one frame, and messages settled as accepted, become events at once.

It must do the same as the general step with the same octets (`link_state`, `session`, `receiver`); a test takes both
ways. It leaves everything but the common case, errors included, to the general step, with nothing changed.
"""

from __future__ import annotations

from struct import Struct
from typing import TYPE_CHECKING, Any, Final

from ..._core.serial import HALF, MASK
from ...errors import CodecError
from ...events import Settled
from ..codec.frames import PLAIN
from ..codec.octets import ACCEPTED_OCTETS, NEW
from ..codec.performatives import ACCEPTED
from ..model.states import MAPPED, OPEN, SENT, SND_SETTLED, SND_UNSETTLED
from .events import Delivery
from .receiver import IncomingDelivery

if TYPE_CHECKING:
    from collections import deque

    from ..._core.receive_buffer import ReceiveBuffer
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
        self._model = model
        self._side = side
        self._peer = 1 - side
        self._buffer = buffer
        self._events = events
        self._limits = config.limits
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
            if size > left + buffer.held:
                return None
            # A frame that straddles two arrivals is whole now: put it together.
            buffer.want(size)
            data = buffer.data
            pos = buffer.pos
        end = pos + size
        lead = data[pos + 8 : pos + 12]
        try:
            if lead == _TRANSFER:
                return self._transfer(channel, data, pos, end)
            if lead == _DISPOSITION:
                return self._disposition(channel, data, pos, end)
        except (IndexError, KeyError):
            pass
        return None

    def _transfer(self, channel: int, data: bytes, pos: int, end: int) -> Event | None:
        """A delivery in one transfer."""
        start = pos
        pos += 14
        stop = pos + data[pos - 2] - 1
        if stop > end:
            return None
        at = pos + _UINT[data[pos]]
        handle = _number(data[pos + 1 : at], "big")
        pos = at + _UINT[data[at]]
        delivery_id = _number(data[at + 1 : pos], "big")
        at = pos + 2
        pos = at + data[at - 1]
        tag = data[at:pos]
        if data[at - 2] != 0xA0 or len(tag) > 32 or data[pos] != 0x43:
            return None
        pos += 1
        settled = _FLAGS.get(data[pos:stop])
        if settled is None or pos > stop or data[start + 13] != stop - pos + 4:
            return None
        side = self._side
        half = self._model.halves[self._peer]
        session: Any = half.channels.get(channel)
        if session is None or half.state is not OPEN or session.halves[side].state is not MAPPED:
            return None
        own = session.halves[1 - side]
        link: Any = own.handles.get(handle)
        if link is None:
            return None
        quick = link.quick
        if quick is None:
            quick = link.assess()
        number = own.next_outgoing_id
        deliveries = own.deliveries
        unsettled = link.unsettled
        count = link.delivery_count
        credit = link.credit_known
        if (
            not quick
            or link.sender == side
            or link.current is not None
            or link.draining
            or link.unused
            or own.window_known == number
            or credit is None
            or not 0 < (credit - count) & MASK < HALF
            or delivery_id in deliveries
            or tag in unsettled
            or quick[0] == (SND_UNSETTLED if settled else SND_SETTLED)
            or end - stop > quick[1]
            or len(deliveries) >= self._limits.unsettled
        ):
            return None
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
                event.message.check()
            except CodecError:
                return None
        own.next_outgoing_id = number = (number + 1) & MASK
        link.delivery_count = (count + 1) & MASK
        if link.available:
            link.available -= 1
        if not settled:
            delivery: Any = NEW(IncomingDelivery)
            delivery.link = link
            delivery.delivery_id = delivery_id
            delivery.delivery_tag = tag
            delivery.message_format = 0
            delivery.progress = SENT
            delivery.resumed = False
            delivery.rcv_settle_mode = None
            delivery.size = end - stop
            delivery.settled = False
            delivery.states = [None, None]
            delivery.parts = []
            delivery.pending = None
            delivery.skip = 0
            delivery.ignored = False
            deliveries[delivery_id] = delivery
            unsettled[tag] = delivery
        self._buffer.pos = end
        limit = own.window_limit
        if limit is not None:
            left = (limit - number) & MASK
            if left >= HALF or left * 2 <= session.window:
                session.refresh_window()
                events = self._events
                if events:
                    events.append(event)
                    event = events.popleft()
        found: Event = event
        return found

    def _disposition(self, channel: int, data: bytes, pos: int, end: int) -> Event | None:
        """A receiver settles deliveries as accepted."""
        start = pos
        pos += 15
        if data[start + 12] + start + 13 != end or data[start + 14] != 0x41:
            return None
        at = pos + _UINT[data[pos]]
        first = last = _number(data[pos + 1 : at], "big")
        if data[at] == 0x40:
            pos = at + 1
        else:
            pos = at + _UINT[data[at]]
            last = _number(data[at + 1 : pos], "big")
        if _OUTCOMES.get(data[pos:end]) != data[start + 13]:
            return None
        side = self._side
        half = self._model.halves[self._peer]
        session: Any = half.channels.get(channel)
        if session is None or half.state is not OPEN:
            return None
        own = session.halves[side]
        if own.state is not MAPPED:
            return None
        deliveries = own.deliveries
        peer = 1 - side
        if first == last:
            delivery: Any = deliveries.get(first)
            if delivery is None or not _can_settle(delivery, peer):
                return None
            found = [delivery]
        else:
            count = (last - first) & MASK
            if count >= len(deliveries):
                return None
            found = [deliveries.get((first + index) & MASK) for index in range(count + 1)]
            for delivery in found:
                if delivery is None or not _can_settle(delivery, peer):
                    return None
        pendings: list[Pending[Any]] = []
        for delivery in found:
            link = delivery.link
            delivery.states[peer] = ACCEPTED
            delivery.settled = True
            del deliveries[delivery.delivery_id]
            del link.unsettled[delivery.delivery_tag]
            if delivery.message is not None:
                link.kept_octets -= len(delivery.message)
                delivery.message = None
            pending = delivery.pending
            pending.complete(ACCEPTED)
            pendings.append(pending)
        self._buffer.pos = end
        return Settled(tuple(pendings), ACCEPTED)


def _can_settle(delivery: Any, peer: int) -> bool:
    link = delivery.link
    quick = link.quick
    if quick is None:
        quick = link.assess()
    return (
        bool(quick)
        and delivery.progress is SENT
        and delivery.rest is None
        and delivery.states[peer] is None
        and not delivery.rcv_settle_mode
        and not delivery.pending.done
        and link.unsettled.get(delivery.delivery_tag) is delivery
    )
