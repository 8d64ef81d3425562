"""The observer's shortcut: a whole deliver, publish or single ack, on an open channel, becomes its event at once.

What it does must equal what `observing` does with the same octets; a test feeds both. Whatever isn't exactly the common
case, an error included, is left to the general step, with nothing changed.
"""

from __future__ import annotations

from hashlib import sha256
from struct import Struct
from struct import error as StructError
from typing import TYPE_CHECKING, Any, Final

from ..._core.brevity import KEPT
from ..._core.observation import Observed
from ..._core.outcomes import AT_ONCE, OPEN_FOR_GOOD, SETTLED
from ...errors import CodecError
from ..codec.methods import BasicAck, BasicDeliver, BasicPublish
from ..model.states import Channel as ChannelStates
from ..model.states import Connection as State
from ..model.states import Mode

if TYPE_CHECKING:
    from ..._core.outcomes import Settlements
    from .content import Direction

_METHOD: Final = Struct(">BHII").unpack_from
_TAG: Final = Struct(">QB").unpack_from
_HEADER: Final = Struct(">BBHIHHQ").unpack_from
_BODY: Final = Struct(">BBHI").unpack_from
_ACK: Final = Struct(">QBB").unpack_from

_DELIVER: Final = 60 << 16 | 60
_PUBLISH: Final = 60 << 16 | 40
_ACK_ID: Final = 60 << 16 | 80
_OPEN: Final = ChannelStates.OPEN
_NORMAL: Final = Mode.NORMAL
_CONFIRM: Final = Mode.CONFIRM
_TRANSACTED: Final = Mode.TRANSACTED


def fast_observed(observer: Any, direction: Direction) -> Observed | None:
    """The unit at the begin of a direction's octets, if it's the common case, else None."""
    buffer = direction.buffer
    data = buffer.data
    pos = buffer.pos
    settles: Settlements
    try:
        kind, number, size, method_id = _METHOD(data, pos)
        if kind != 1:
            return None
        model = observer.model
        if model.state is not State.OPEN:
            return None
        channel: Any = model.channels.get(number)
        if channel is None or channel.state is not _OPEN or observer.faults or observer.undecided:
            return None
        client = direction.client
        if method_id == _ACK_ID:
            # Of one delivery by the client, or of one publish by the server.
            tag, multiple, last = _ACK(data, pos + 11)
            if size != 13 or last != 0xCE or multiple or channel.mode is _TRANSACTED:
                return None
            if direction.contents and number in direction.contents:
                return None
            if client:
                if channel.client_content is not None or tag not in channel.unsettled:
                    return None
                unit = channel.unsettled.pop(tag)
            else:
                if channel.server_content is not None or tag not in channel.unconfirmed:
                    return None
                unit = channel.unconfirmed.pop(tag)
                if channel.keys:
                    channel.forget_return(unit)
            settles = () if unit is None else ((unit, "accepted", SETTLED),)
            if model.settled:
                settles = (*model.take_settled(), *settles)
            if direction.stray:
                direction.stray.pop(number, None)
            buffer.pos = pos + 21
            begin = buffer.consumed + pos
            end = begin + 21
            seq = observer.seq
            observer.seq = seq + 1
            return Observed(
                seq, direction.side, number, "method", "basic.ack", BasicAck(tag, False), None, None, 0, None, begin,
                21, direction.at_ns if end <= direction.mark_end else direction.when(end), None, 0, settles,
            )  # fmt: skip
        method: Any
        bits = 0
        if method_id == _DELIVER:
            if client or channel.server_content is not None:
                return None
            end = pos + 7 + size
            stop = pos + 12 + data[pos + 11]
            consumer_tag = data[pos + 12 : stop].decode()
            tag, redelivered = _TAG(data, stop)
            stop += 9
            at = stop + 1 + data[stop]
            exchange = data[stop + 1 : at].decode()
            stop = at + 1 + data[at]
            if stop != end or redelivered > 1 or not tag:
                return None
            no_ack = channel.consumers.get(consumer_tag)
            if no_ack is None:
                return None
            method = BasicDeliver(
                consumer_tag, tag, redelivered == 1, exchange, data[at + 1 : stop].decode()
            )
        elif method_id == _PUBLISH:
            if not client or channel.client_content is not None:
                return None
            end = pos + 7 + size
            at = pos + 14 + data[pos + 13]
            stop = at + 1 + data[at]
            bits = data[stop]
            if stop + 1 != end or bits > 3 or data[pos + 11] or data[pos + 12]:
                return None
            method = BasicPublish(
                data[pos + 14 : at].decode(),
                data[at + 1 : stop].decode(),
                bits & 1 == 1,
                bits & 2 == 2,
            )
            no_ack = tag = 0
            consumer_tag = ""
        else:
            return None
        one, two, channel_2, size_2, class_id, weight, body_size = _HEADER(data, end)
        header_end = end + 8 + size_2
        if (
            one != 0xCE
            or two != 2
            or channel_2 != number
            or class_id != 60
            or weight
            or size_2 < 14
            or size > observer.other_max
            or size_2 > observer.other_max
            or number in direction.contents
        ):
            return None
        body: bytes | None
        if body_size:
            one, three, channel_3, size_3 = _BODY(data, header_end)
            last = header_end + 8 + size_3
            if (
                one != 0xCE
                or three != 3
                or channel_3 != number
                or size_3 != body_size
                or size_3 > observer.body_max
                or data[last] != 0xCE
            ):
                return None
            body = data[header_end + 8 : last]
        elif data[header_end] == 0xCE:
            last = header_end
            body = b""
        else:
            return None
        raw = data[end + 20 : header_end]
        properties = observer.properties.from_wire(raw, observer.tables)
        if raw != direction.good:
            properties.check()
            if len(raw) <= KEPT:
                direction.good = raw
    except (StructError, IndexError, UnicodeDecodeError, CodecError):
        return None
    bounds = model.bounds
    digest = None
    if body_size > bounds.message:
        return None
    if observer.body != "keep":
        if observer.body != "size":
            digest = sha256(body).hexdigest()
        if observer.body != "all":
            body = None
    seq = observer.seq
    context: Any = None
    settles = AT_ONCE
    if client:
        if channel.mode is _CONFIRM:
            if len(channel.unconfirmed) >= bounds.unconfirmed:
                return None
            context = channel.publish_count = channel.publish_count + 1
        if channel.mode is _CONFIRM and channel.sure and not channel.dead and not bits:
            channel.unconfirmed[context] = seq
            settles = ()
        elif (
            bits
            or channel.mode is not _NORMAL
            or channel.unknown
            or channel.confirming
            or channel.dead
        ):
            returned = (method.exchange, method.routing_key, body_size, digest) if bits else None
            settles = model.published(channel, seq, context, returned)
            if not channel.sure or channel.dead:
                context = None
    else:
        if not no_ack:
            unsettled = channel.unsettled
            if tag in unsettled or len(unsettled) >= bounds.unsettled:
                return None
            if channel.dead:
                unsettled[tag] = None
                settles = OPEN_FOR_GOOD
            else:
                unsettled[tag] = seq
                settles = ()
        channel.last_tag = tag
        context = channel.queues.get(consumer_tag)
    if model.settled:
        settles = (*model.take_settled(), *settles)
    if direction.stray:
        direction.stray.pop(number, None)
    buffer.pos = last + 1
    begin = buffer.consumed + pos
    octets = last + 1 - pos
    end = begin + octets
    observer.seq = seq + 1
    return Observed(
        seq,
        direction.side,
        number,
        "content",
        method.NAME,
        method,
        properties,
        body,
        body_size,
        digest,
        begin,
        octets,
        direction.at_ns if end <= direction.mark_end else direction.when(end),
        None,
        0,
        settles,
        context,
    )
