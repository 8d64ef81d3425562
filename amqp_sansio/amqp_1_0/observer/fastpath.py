"""The observer's shortcut: a whole delivery in one transfer, or the settlement of one, becomes its event at once.

It must do the same as the general step with the same octets; a test feeds both. It leaves everything but the common
case, errors included, to the general step, with nothing changed.
"""

from __future__ import annotations

from struct import Struct
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from ..._ground.brevity import KEPT, treated
from ..._watching.observation import BaseObserver, Observed
from ..._watching.settlements import AT_ONCE, SETTLED
from ..codec.faults import READ_FAULTS
from ..codec.frames import MIN_MAX_FRAME_SIZE, PLAIN
from ..codec.message import Message, check_message
from ..codec.octets import NEW
from ..codec.performatives import Accepted, Disposition, Transfer
from ..model.states import OPEN, SENT
from .content import Direction
from .observed_model import ObservedModel, ObservedSession
from .outcomes import ObservedDelivery, ObservedLink
from .sections import body_of

if TYPE_CHECKING:
    from ..._watching.settlements import Settlements

Source: TypeAlias = "BaseObserver[Direction, ObservedModel]"
_FRAME: Final = Struct(">IHHIBB").unpack_from
_TRANSFER: Final = 0x0053_14C0
_DISPOSITION: Final = 0x0053_15C0
"""The numeric descriptor, and a list of at most 255 octets, whose size and count follow."""


def fast_observed(observer: Source, direction: Direction) -> Observed | None:
    """The unit at the begin of a direction's octets, if it's the common case, else None."""
    buffer = direction.buffer
    data = buffer.data
    pos = buffer.pos
    if len(data) - pos < 16:
        if not buffer.held or not buffer.want(16):
            return None
        data, pos = buffer.data, buffer.pos
    size, plain, channel, body, length, count = _FRAME(data, pos)
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
    session = half.channels.get(channel)
    # An assumed session, an observer in damage, a fault that isn't told, or a message under way: the general way knows
    # what then may not be judged.
    if (
        not isinstance(session, ObservedSession)
        or session.assumed
        or model.blind
        or observer.faults
        or direction.contents
    ):
        return None
    # A peer may send 512 octets whatever the other side says (part 2 section 2.4.1).
    if size > other.max_frame_size and size > MIN_MAX_FRAME_SIZE:
        return None
    start = pos + 13 + length
    try:
        if body == _TRANSFER and start <= end:
            transfer = Transfer.fast_fields(data, pos + 14, start, count, pos + 8)
            return _transfer(observer, direction, session, channel, transfer, data, start, end)
        if body == _DISPOSITION and start == end:
            disposition = Disposition.fast_fields(data, pos + 14, start, count, pos + 8)
            return _disposition(observer, direction, session, channel, disposition, end)
    except READ_FAULTS:
        # CodecError is one of them.
        return None
    return None


def _transfer(
    observer: Source,
    direction: Direction,
    session: ObservedSession,
    channel: int,
    frame: Transfer,
    data: bytes,
    start: int,
    end: int,
) -> Observed | None:
    """A whole message in one transfer, on a link that was seen from its attach on."""
    number = direction.number
    link = session.halves[number].handles.get(frame.handle)
    delivery_id, tag = frame.delivery_id, frame.delivery_tag
    if (
        not isinstance(link, ObservedLink)
        or link.sender != number
        or link.origin is None
        or delivery_id is None
        or tag is None
        or frame.more
        or frame.aborted
        or frame.resume
        or frame.message_format != 0
        or frame.state is not None
        or frame.rcv_settle_mode is not None
    ):
        return None
    octets = end - start
    limits = observer.limits
    if octets > limits.message or observer.bodies + octets > limits.bodies:
        return None
    # The sections before the body, and where its octets begin: one data section that ends the message.
    payload = data[start:end]
    good = direction.good
    known = len(good) if payload.startswith(good) else 0
    at, begin, size = body_of(payload, known)
    if begin + size != octets:
        return None
    head = payload[:at]
    content = digest = None
    if observer.body != "size":
        content, digest = treated(payload[begin:], observer.body)
    message = Message.from_wire(head if content is None else payload)
    if at == begin:
        check_message(payload)
    elif at != known:
        # The same octets needn't be checked again.
        message.check()
        if len(head) <= KEPT:
            direction.good = head
    records = observer.model.records
    delivery: Any = None
    settles: Settlements = ()
    if not frame.settled:
        # As its constructor does, without two calls.
        delivery = NEW(ObservedDelivery)
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
        delivery.unit = observer.seq if records else None
        delivery.before = None
        delivery.transaction = None
        delivery.request = None
        delivery.acquired = False
        delivery.early = False
    elif records:
        settles = AT_ONCE
    if not link.take_usual_transfer(delivery_id, tag, octets, limits.unsettled, delivery):
        return None
    context = (link.origin, delivery_id, None) if records else None
    return observer.take(
        direction, channel, "content", "transfer", frame, message, content, size, digest, end, settles, context
    )


def _disposition(
    observer: Source, direction: Direction, session: ObservedSession, channel: int, frame: Disposition, end: int
) -> Observed | None:
    first = frame.first
    state = frame.state
    if (
        not frame.settled
        or (frame.last is not None and frame.last != first)
        or (state is not None and state.__class__ is not Accepted)
    ):
        return None
    number = direction.number
    owner = 1 - number if frame.role else number
    deliveries = session.halves[owner].deliveries
    delivery = deliveries.get(first)
    if not isinstance(delivery, ObservedDelivery):
        return None
    link = delivery.link
    other = delivery.states[1 - number]
    if other.__class__ is not Accepted and (other is not None or state is None):
        return None
    if delivery.transaction is not None or delivery.before is not None:
        return None
    if not isinstance(link, ObservedLink) or link.origin is None or link.suspended:
        return None
    if not delivery.take_usual_settlement(number, deliveries, state):
        return None
    settles: Settlements = ()
    if delivery.unit is not None:
        settles = ((delivery.unit, "accepted", SETTLED),)
        delivery.unit = None
    return observer.take(direction, channel, "method", "disposition", frame, None, None, 0, None, end, settles, None)
