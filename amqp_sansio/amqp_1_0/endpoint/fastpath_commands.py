"""The shortcut for commands: send a whole message in one frame, settle one delivery as accepted.

What it does must equal what `sender` and `receiver` do; a test takes both ways. Whatever isn't exactly the common case,
an error included, is left to them, with nothing changed.
"""

# The modules of this package share one engine; its private state is theirs, not the caller's.
# pyright: reportPrivateUsage=false
from __future__ import annotations

from struct import Struct
from typing import TYPE_CHECKING, Any, Final

from ...events import Handle
from ..codec.octets import NEW, PACK_U32, UINTS
from ..codec.performatives import ACCEPTED, Coordinator
from ..model import states
from .outgoing import OutgoingDelivery
from .stages import Stage

if TYPE_CHECKING:
    from .events import Delivery
    from .link import Link
    from .receiver import Receiver
    from .sender import Sender

_HEADER: Final = Struct(">IHH").pack
_PLAIN: Final = 0x0200
"""A body behind eight octets, and the type of AMQP frames."""
_TRANSFER: Final = b"\x00\x53\x14\xc0"

_FRAMES: Final = Stage.FRAMES
_MAPPED: Final = states.Session.MAPPED
_ATTACHED: Final = states.Link.ATTACHED
_SENT: Final = states.Delivery.SENT
_SETTLED: Final = 1
_MASK: Final = 0xFFFF_FFFF
_HALF: Final = 0x8000_0000
_UNLIMITED: Final = 1 << 64

_ACCEPTING: Final = {
    size: bytes((0x00, 0x53, 0x15, 0xC0, size + 8, 5, 0x41)) for size in (1, 2, 5)
}
"""A receiver's disposition with five fields, by the size of the delivery-id that follows."""
_AS_ACCEPTED: Final = b"\x40\x41\x00\x53\x24\x45"
"""One delivery only, settled as accepted."""


def send(sender: Sender, octets: bytes) -> Handle[Any] | None:
    """Send a whole message unsettled in one frame, with a tag of its own; None when that isn't all."""
    session = sender.session
    connection = session.connection
    side = session.side
    own = session.halves[side]
    quick = sender.quick
    if quick is None:
        quick = assess(sender)
    tags = sender._tags
    number = session.next_delivery_id
    window = own.next_outgoing_id
    count = sender.delivery_count
    size = len(octets)
    if (
        not quick
        or quick[0] == _SETTLED
        or size > quick[1]
        or connection._stage is not _FRAMES
        or connection._lost
        or connection._waiting_for is not None
        or own.state is not _MAPPED
        or session.halves[1 - side].state is not _MAPPED
        or session.report is not None
        or sender.waiting is not None
        or sender.current is not None
        or sender.resending
        or tags >= _MASK
    ):
        return None
    limit, window_limit = sender.credit_limit, own.window_limit
    if (
        limit is None
        or window_limit is None
        or not 0 < (limit - count) & _MASK < _HALF
        or not 0 < (window_limit - window) & _MASK < _HALF
    ):
        return None
    tag = tags.to_bytes(4, "big")
    unsettled = sender.unsettled
    deliveries = own.deliveries
    limits = connection.config.limits
    out = connection._out
    total = 64 + size
    if (
        tag in unsettled
        or number in deliveries
        or len(deliveries) >= limits.unsettled
        or sender.kept_octets + size > limits.bodies
        or out.size + total > limits.backlog_hard
        or total > connection._max_frame
        or sender.number > 255
    ):
        return None
    body = (
        UINTS[sender.number]
        + (UINTS[number] if number < 256 else PACK_U32(0x70, number))
        + b"\xa0\x04"
        + tag
        + b"\x43"
    )
    length = len(body)
    total = 14 + length + size
    out.parts.append(
        _HEADER(total, _PLAIN, session._number)
        + _TRANSFER
        + bytes((length + 1, 4))
        + body
        + octets
    )
    out.size += total
    sender._tags = tags + 1
    session.next_delivery_id = (number + 1) & _MASK
    own.next_outgoing_id = (window + 1) & _MASK
    sender.delivery_count = (count + 1) & _MASK
    if sender.available:
        sender.available -= 1
    sender.kept_octets += size
    handle: Any = NEW(Handle)
    handle.key = (sender.name, "out", tag)
    handle.done = False
    handle._result = handle._error = None
    delivery: Any = NEW(OutgoingDelivery)
    delivery.link = sender
    delivery.delivery_id = number
    delivery.delivery_tag = tag
    delivery.message_format = 0
    delivery.progress = _SENT
    delivery.resumed = False
    delivery.rcv_settle_mode = None
    delivery.size = size
    delivery.settled = False
    delivery.states = [None, None]
    delivery.handle = handle
    delivery.message = octets
    delivery.payload = None
    delivery.rest = None
    delivery.last = delivery.whole = True
    delivery.frame = None
    deliveries[number] = delivery
    unsettled[tag] = delivery
    if out.size > connection._backlog_high and not connection._paused_sending:
        connection._pause_sending()
    return handle  # type: ignore[no-any-return]


def accept(receiver: Receiver, which: Delivery | int) -> Handle[Any] | None:
    """Settle one delivery as accepted; None when that isn't all."""
    session = receiver.session
    connection = session.connection
    side = session.side
    number = which if isinstance(which, int) else which.delivery_id
    peer = session.halves[1 - side]
    deliveries = peer.deliveries
    delivery: Any = deliveries.get(number)
    quick = receiver.quick
    if quick is None:
        quick = assess(receiver)
    out = connection._out
    if (
        delivery is None
        or not quick
        or delivery.link is not receiver
        or delivery.progress is not _SENT
        or delivery.handle is not None
        or delivery.states[side] is not None
        or delivery.rcv_settle_mode
        or connection._stage is not _FRAMES
        or connection._lost
        or connection._waiting_for is not None
        or session.halves[side].state is not _MAPPED
        or session.report is not None
        or out.size + 64 > connection.config.limits.backlog_hard
    ):
        return None
    tag = delivery.delivery_tag
    unsettled = receiver.unsettled
    if unsettled.get(tag) is not delivery:
        return None
    octets = UINTS[number] if number < 256 else PACK_U32(0x70, number)
    size = len(octets)
    total = 21 + size
    out.parts.append(
        _HEADER(total, _PLAIN, session._number) + _ACCEPTING[size] + octets + _AS_ACCEPTED
    )
    out.size += total
    delivery.states[side] = ACCEPTED
    delivery.settled = True
    del deliveries[number]
    del unsettled[tag]
    handle: Any = NEW(Handle)
    handle.key = (receiver.name, "in", tag)
    handle.done = True
    handle._result = ACCEPTED
    handle._error = None
    delivery.handle = handle
    if out.size > connection._backlog_high and not connection._paused_sending:
        connection._pause_sending()
    return handle  # type: ignore[no-any-return]


def assess(link: Any) -> tuple[int, ...]:
    """What the shortcut has to know of a link of this end: the sender's settle mode, and how many octets a message may
    have; nothing when the link isn't plain. `link.quick` keeps it until an attach or detach."""
    link.quick = found = _assess(link)
    return found


def _assess(link: Link) -> tuple[int, ...]:
    one, other = link.halves
    attached, answer = one.attach, other.attach
    if one.state is not _ATTACHED or other.state is not _ATTACHED or attached is None or answer is None:
        return ()
    if link.report is not None or link.restored is not None or link.incomplete or link.is_refused:
        return ()
    if attached.incomplete_unsettled or answer.incomplete_unsettled or link.rcv_settle_mode:
        return ()
    if isinstance(attached.target, Coordinator) or isinstance(answer.target, Coordinator):
        return ()
    receiver = link.halves[1 - link.sender].attach
    most = receiver.max_message_size if receiver is not None else None
    return link.snd_settle_mode or 0, most or _UNLIMITED
