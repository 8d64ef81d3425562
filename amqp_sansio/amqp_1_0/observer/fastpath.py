"""The observer's shortcut: a whole delivery in one transfer, or the settlement of one, becomes its event at once.

It must do the same as the general step with the same octets; a test feeds both. It leaves everything but the common
case, errors included, to the general step, with nothing changed.
"""

from __future__ import annotations

from struct import Struct
from typing import TYPE_CHECKING, Any, Final

from ..._core.brevity import KEPT, treated
from ..._core.observation import Observed
from ..._core.serial import HALF, MASK
from ..._core.settlements import AT_ONCE, SETTLED
from ..codec.faults import READ_FAULTS
from ..codec.frames import MIN_MAX_FRAME_SIZE, PLAIN
from ..codec.message import Message, check_message
from ..codec.octets import NEW
from ..codec.performatives import Accepted, Disposition, Transfer
from ..model.link_state import ID_SIZE
from ..model.states import OPEN, RCV_SECOND, SENDING, SENT, SND_SETTLED, SND_UNSETTLED
from .outcomes import ObservedDelivery
from .sections import body_of

if TYPE_CHECKING:
    from ..._core.settlements import Settlements
    from .content import Direction

_FRAME: Final = Struct(">IHHI").unpack_from
_TRANSFER: Final = 0x0053_14C0
_DISPOSITION: Final = 0x0053_15C0
"""The numeric descriptor, and a list of at most 255 octets."""


def fast_observed(observer: Any, direction: Direction) -> Observed | None:
    """The unit at the begin of a direction's octets, if it's the common case, else None."""
    buffer = direction.buffer
    data = buffer.data
    pos = buffer.pos
    if len(data) - pos < 16:
        if not buffer.held or not buffer.want(16):
            return None
        data, pos = buffer.data, buffer.pos
    size, plain, channel, body = _FRAME(data, pos)
    end = pos + size
    if plain != PLAIN:
        return None
    if end > len(data):
        # The general way joins what the frame straddles, too.
        if not buffer.held or not buffer.want(size):
            return None
        data, pos = buffer.data, buffer.pos
        end = pos + size
    if body != _TRANSFER and body != _DISPOSITION:
        return None
    model = observer.model
    number = direction.number
    half = model.halves[number]
    other = model.halves[1 - number].open
    if half.state is not OPEN or other is None:
        return None
    session: Any = half.channels.get(channel)
    if session is None or session.assumed or model.blind or observer.faults or direction.contents:
        return None
    if size > other.max_frame_size and size > MIN_MAX_FRAME_SIZE:
        return None
    try:
        if body == _TRANSFER:
            return _transfer(observer, direction, session, channel, data, pos, end)
        return _disposition(observer, direction, session, channel, data, pos, end)
    except READ_FAULTS:
        # CodecError is one of them.
        return None


def _transfer(
    observer: Any, direction: Direction, session: Any, channel: int, data: bytes, pos: int, end: int
) -> Observed | None:
    frame, start = Transfer.fast(data, pos + 11, end, pos + 8)
    number = direction.number
    own = session.halves[number]
    link = own.handles.get(frame.handle)
    if link is None or link.sender != number or link.current is not None or link.origin is None:
        return None
    delivery_id, tag = frame.delivery_id, frame.delivery_tag
    settled = frame.settled
    attach = link.halves[number].attach
    peer = link.halves[1 - number].attach
    if (
        delivery_id is None
        or tag is None
        or frame.more
        or frame.aborted
        or frame.resume
        or frame.message_format != 0
        or frame.state is not None
        or frame.rcv_settle_mode is not None
        or attach is None
        or peer is None
        or len(tag) > ID_SIZE
        or attach.snd_settle_mode == (SND_UNSETTLED if settled else SND_SETTLED)
        or peer.incomplete_unsettled
    ):
        return None
    octets = end - start
    limits = observer.limits
    if octets > limits.message or observer.bodies + octets > limits.bodies:
        return None
    if peer.max_message_size and octets > peer.max_message_size:
        return None
    credit = link.credit_known
    if credit is not None and not 0 < (credit - link.delivery_count) & MASK < HALF:
        return None
    next_id = own.next_outgoing_id
    deliveries = own.deliveries
    if (
        own.window_known == next_id
        or delivery_id in deliveries
        or tag in link.unsettled
        or len(deliveries) >= limits.unsettled
    ):
        return None
    payload = data[start:end]
    at, begin, size = body_of(payload)
    if begin + size != octets:
        return None
    head = payload[:at]
    content: bytes | None = payload[begin:]
    digest = None
    if observer.body == "keep":
        message = Message.from_wire(payload)
    else:
        content, digest = treated(payload[begin:], observer.body)
        message = Message.from_wire(head if content is None else payload)
    if at == begin:
        check_message(payload)
    elif head != direction.good:
        # The same octets needn't be checked again.
        message.check()
        if len(head) <= KEPT:
            direction.good = head
    own.next_outgoing_id = (next_id + 1) & MASK
    link.delivery_count = (link.delivery_count + 1) & MASK
    if link.available:
        link.available -= 1
    records = observer.model.records
    settles: Settlements = AT_ONCE if records else ()
    if not settled:
        settles = ()
        delivery: Any = NEW(ObservedDelivery)
        delivery.link = link
        delivery.delivery_id = delivery_id
        delivery.delivery_tag = tag
        delivery.message_format = 0
        delivery.progress = SENT
        delivery.size = octets
        delivery.states = [None, None]
        delivery.unit = observer.seq if records else None
        delivery.rcv_settle_mode = delivery.before = delivery.transaction = delivery.request = None
        delivery.resumed = delivery.settled = delivery.acquired = delivery.early = False
        deliveries[delivery_id] = link.unsettled[tag] = delivery
    context = (link.origin, delivery_id, None) if records else None
    observed: Observed = observer.take(
        direction, channel, "content", "transfer", frame, message, content, size, digest, end, settles, context
    )
    return observed


def _disposition(
    observer: Any, direction: Direction, session: Any, channel: int, data: bytes, pos: int, end: int
) -> Observed | None:
    frame, start = Disposition.fast(data, pos + 11, end, pos + 8)
    first = frame.first
    state = frame.state
    if (
        start != end
        or not frame.settled
        or (frame.last is not None and frame.last != first)
        or (state is not None and state.__class__ is not Accepted)
    ):
        return None
    number = direction.number
    owner = 1 - number if frame.role else number
    deliveries = session.halves[owner].deliveries
    delivery = deliveries.get(first)
    if delivery is None or delivery.progress is SENDING or delivery.states[number] is not None:
        return None
    link = delivery.link
    other = delivery.states[1 - number]
    if other.__class__ is not Accepted and (other is not None or state is None):
        return None
    if delivery.transaction is not None or delivery.before is not None:
        return None
    if link.origin is None or link.suspended:
        return None
    if frame.role:
        receiver = link.halves[number].attach
        if receiver is None or receiver.rcv_settle_mode == RCV_SECOND:
            return None
        if delivery.rcv_settle_mode == RCV_SECOND:
            return None
    del deliveries[first]
    unsettled = link.unsettled
    if unsettled.get(delivery.delivery_tag) is delivery:
        del unsettled[delivery.delivery_tag]
    settles: Settlements = ()
    if delivery.unit is not None:
        settles = ((delivery.unit, "accepted", SETTLED),)
        delivery.unit = None
    observed: Observed = observer.take(
        direction, channel, "method", "disposition", frame, None, None, 0, None, end, settles, None
    )
    return observed
