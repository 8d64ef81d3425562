"""ObserverFastPath: a whole deliver, publish or single ack, on an open channel, becomes its unit at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from ..._core.brevity import KEPT, treated
from ..._core.observation import Observed
from ..._core.settlements import AT_ONCE, OPEN_FOR_GOOD, SETTLED
from ...errors import CodecError
from ..codec.content_reader import ContentReader
from ..codec.methods import BasicAck, BasicDeliver, BasicPublish
from ..model.states import Channel as ChannelStates
from ..model.states import Connection as State
from ..model.states import Mode

if TYPE_CHECKING:
    from ..._core.settlements import Settlements
    from ..codec.content_reader import Route
    from .content import Direction

_OPEN: Final = ChannelStates.OPEN
_CONNECTION_OPEN: Final = State.OPEN
_NORMAL: Final = Mode.NORMAL
_CONFIRM: Final = Mode.CONFIRM
_TRANSACTED: Final = Mode.TRANSACTED


class ObserverFastPath(ContentReader[Any, Observed]):
    """The shortcuts of an observer, which is given to each as their source; its `current` direction is read."""

    __slots__ = ()

    def delivered(
        self,
        source: Any,
        number: int,
        consumer_tag: str,
        tag: int,
        redelivered: bool,
        exchange: str,
        routing_key: str,
        raw: bytes,
        body: bytes | None,
        size: int,
        end: int,
    ) -> Observed | None:
        """A delivery, whole."""
        direction = source.current
        channel = open_channel(source, direction, number)
        model = source.model
        bounds = model.bounds
        if (
            body is None
            or channel is None
            or direction.client
            or channel.server_content is not None
            or size > bounds.message
        ):
            return None
        no_ack = channel.consumers.get(consumer_tag)
        if no_ack is None:
            return None
        unsettled = channel.unsettled
        if not no_ack and (tag in unsettled or len(unsettled) >= bounds.unsettled):
            return None
        properties = _properties(source, direction, raw)
        if properties is None:
            return None
        settles = AT_ONCE
        if not no_ack:
            unsettled[tag] = None if channel.dead else source.seq
            settles = OPEN_FOR_GOOD if channel.dead else ()
        channel.last_tag = tag
        queue = channel.queues.get(consumer_tag)
        if not model.records:
            settles, queue = (), None
        method = BasicDeliver(consumer_tag, tag, redelivered, exchange, routing_key)
        found, digest = treated(body, source.body)
        observed: Observed = source.take(
            direction, number, "content", "basic.deliver", method, properties, found, size, digest, end, settles, queue
        )
        return observed

    def published(self, source: Any, number: int, route: Route, raw: bytes, body: bytes, end: int) -> Observed | None:
        """A publish, whole."""
        direction = source.current
        channel = open_channel(source, direction, number)
        model = source.model
        bounds = model.bounds
        size = len(body)
        if channel is None or not direction.client or channel.client_content is not None or size > bounds.message:
            return None
        confirming = channel.mode is _CONFIRM
        if confirming and len(channel.unconfirmed) >= bounds.unconfirmed:
            return None
        properties = _properties(source, direction, raw)
        if properties is None:
            return None
        exchange, routing_key, mandatory, immediate = route
        returnable = mandatory or immediate
        settles: Settlements = AT_ONCE
        context: Any = None
        seq = source.seq
        found, digest = treated(body, source.body)
        if confirming:
            context = channel.publish_count = channel.publish_count + 1
        if confirming and channel.sure and not channel.dead and not returnable:
            channel.unconfirmed[context] = seq
            settles = ()
        elif returnable or channel.mode is not _NORMAL or channel.unknown or channel.confirming or channel.dead:
            returned = (exchange, routing_key, size, digest) if returnable else None
            settles = model.published(channel, seq, context, returned)
            if not channel.sure or channel.dead:
                context = None
        if not model.records:
            settles, context = (), None
        method = BasicPublish(exchange, routing_key, mandatory, immediate)
        observed: Observed = source.take(
            direction,
            number,
            "content",
            "basic.publish",
            method,
            properties,
            found,
            size,
            digest,
            end,
            settles,
            context,
        )
        return observed

    def acknowledged(self, source: Any, number: int, tag: int, multiple: bool, end: int) -> Observed | None:
        """basic.ack of one delivery by the client, or of one publish by the server."""
        direction = source.current
        channel = open_channel(source, direction, number)
        if channel is None or multiple or channel.mode is _TRANSACTED:
            return None
        if direction.client:
            if channel.client_content is not None or tag not in channel.unsettled:
                return None
            unit = channel.unsettled.pop(tag)
        else:
            if channel.server_content is not None or tag not in channel.unconfirmed:
                return None
            unit = channel.unconfirmed.pop(tag)
            if channel.keys:
                channel.forget_return(unit)
        settles = () if unit is None or not source.model.records else ((unit, "accepted", SETTLED),)
        observed: Observed = source.take(
            direction, number, "method", "basic.ack", BasicAck(tag, False), None, None, 0, None, end, settles, None
        )
        return observed


def open_channel(observer: Any, direction: Direction, number: int) -> Any:
    """The channel, if it's open, everything about it is known, and nothing else is under way; else None."""
    model = observer.model
    if (
        model.state is not _CONNECTION_OPEN
        or model.settled
        or observer.faults
        or observer.undecided
        or number in direction.contents
        or number in direction.stray
    ):
        return None
    channel = model.channels.get(number)
    return channel if channel is not None and channel.state is _OPEN else None


def _properties(observer: Any, direction: Direction, raw: bytes) -> Any:
    """The properties in `raw`; None when they can't be read."""
    properties = observer.properties.from_wire(raw, observer.tables)
    if raw != direction.good:
        try:
            properties.check()
        except CodecError:
            return None
        if len(raw) <= KEPT:
            direction.good = raw
    return properties
