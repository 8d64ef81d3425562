"""ObserverFastPath: a whole deliver, publish or single ack, on an open channel, becomes its unit at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ..._compiled import COMPILED
from ..._ground.brevity import KEPT, treated
from ..._watching.observation import BaseObserver, Observed
from ..._watching.settlements import AT_ONCE, SETTLED
from ...errors import CodecError
from ..codec.content_reader import RECORDED_DELIVER, RECORDED_PUBLISH, ContentReader
from ..codec.methods import BasicAck, BasicDeliver, BasicPublish
from ..model.channel_state import UNUSUAL
from ..model.states import Connection as State
from ..model.states import Mode
from .content import Direction
from .observed_model import ObservedModel

if TYPE_CHECKING or COMPILED:
    from ..._compiled import scan_content
    from ..._watching.observation import OBSERVED
    from ..codec.makers import ACKS, DELIVERS, PUBLISHES, UNREAD

    MAKERS: Final = UNREAD, DELIVERS, None, PUBLISHES

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..._ground.receive_buffer import ReceiveBuffer
    from ..._watching.settlements import Settlements
    from ..codec.content_reader import Route
    from ..codec.methods import BasicProperties
    from ..codec.table_rules import TableRules
    from .observed_model import ObservedChannel

_CONNECTION_OPEN: Final = State.OPEN
_NORMAL: Final = Mode.NORMAL
_ack: Final[Callable[[int, bool], BasicAck]] = ACKS if COMPILED else BasicAck


class Source(BaseObserver[Direction, ObservedModel]):
    """What the fast paths need of an observer. `undecided`: frames alone must tell which version is spoken."""

    __slots__ = ("properties", "tables", "undecided")

    properties: type[BasicProperties]
    tables: TableRules
    undecided: bool


class ObserverFastPath(ContentReader[Source, Observed]):
    """The shortcuts of an observer, which is given to each as their source; its `current` direction is read."""

    __slots__ = ()

    def delivered(
        self,
        source: Source,
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
        if body is None or direction is None or direction.client:
            return None
        channel = known_channel(source, direction, number)
        model = source.model
        bounds = model.bounds
        if channel is None or size > bounds.message:
            return None
        properties = properties_of(source, direction, raw)
        if properties is None or not channel.take_usual_delivery(
            tag, consumer_tag, None if channel.dead else source.seq, bounds.unsettled
        ):
            return None
        settles: Settlements = ()
        queue = None
        if model.records:
            settles = channel.settlement_of_usual(consumer_tag)
            queue = channel.queues.get(consumer_tag)
        method = BasicDeliver(consumer_tag, tag, redelivered, exchange, routing_key)
        found, digest = treated(body, source.body)
        return source.take(
            direction, number, "content", "basic.deliver", method, properties, found, size, digest, end, settles, queue
        )

    def _scan(self, buffer: ReceiveBuffer, source: Source) -> Observed | None:
        """As `_read`, with the module in C, which makes the records; a deliver goes on as in `delivered`."""
        unit = scan_content(buffer.data, buffer.pos, self.body_max, self.other_max, self._names, source.tables, MAKERS)
        if unit is None:
            return None
        if unit[0] == RECORDED_PUBLISH:
            _, number, route, raw, body, end, publish, properties = unit
            self._names = route
            return self.published(source, number, route, raw, body, end, publish, properties)
        if unit[0] != RECORDED_DELIVER:
            return self._hand_on(unit, source)
        _, names, tag, size, end, method, properties, raw, body = unit
        self._names = names
        number, consumer_tag, _, _ = names
        direction = source.current
        if direction is None or direction.client:
            return None
        channel = known_channel(source, direction, number)
        model = source.model
        bounds = model.bounds
        if channel is None or size > bounds.message or (raw != direction.good and not _is_good(direction, properties)):
            return None
        seq = source.seq
        if not channel.take_usual_delivery(tag, consumer_tag, None if channel.dead else seq, bounds.unsettled):
            return None
        settles: Settlements = ()
        queue = None
        if model.records:
            settles = channel.settlement_of_usual(consumer_tag)
            queue = channel.queues.get(consumer_tag)
        found, digest = (body, None) if source.body == "keep" else treated(body, source.body)
        # As `take`, without a call that passes twelve arguments.
        begin, consumed = buffer.pos, buffer.consumed
        buffer.pos = end
        source.seq = seq + 1
        stop = consumed + end
        return OBSERVED(
            seq,
            direction.side,
            number,
            "content",
            "basic.deliver",
            method,
            properties,
            found,
            size,
            digest,
            consumed + begin,
            end - begin,
            direction.at_ns if stop <= direction.mark_end else direction.when(stop),
            settles,
            queue,
        )

    if COMPILED:
        read = _scan

    def published(
        self,
        source: Source,
        number: int,
        route: Route,
        raw: bytes,
        body: bytes,
        end: int,
        method: BasicPublish | None = None,
        properties: BasicProperties | None = None,
    ) -> Observed | None:
        """A publish, whole; its records may be there."""
        direction = source.current
        if direction is None or not direction.client:
            return None
        channel = known_channel(source, direction, number)
        model = source.model
        bounds = model.bounds
        size = len(body)
        if channel is None or size > bounds.message or route[3]:
            # Immediate publishes, which RabbitMQ refuses, go the general way, which says so.
            return None
        if properties is None:
            properties = properties_of(source, direction, raw)
            if properties is None:
                return None
        elif raw != direction.good and not _is_good(direction, properties):
            return None
        seq = source.seq
        counted = channel.sure and not channel.dead
        context = channel.take_usual_publish(seq if counted else None, bounds.unconfirmed)
        if context is None:
            return None
        exchange, routing_key, mandatory, immediate = route
        returnable = mandatory or immediate
        found, digest = treated(body, source.body)
        settles: Settlements = AT_ONCE
        known = context if context and counted else None
        if known and not returnable:
            settles = ()
        elif (
            returnable
            or channel.mode is not _NORMAL
            or channel.unknown
            or channel.confirming
            or channel.dead
            or model.blind
        ):
            returned = (exchange, routing_key, size, digest) if returnable else None
            settles = model.published(channel, seq, context or None, returned)
        if model.blind:
            known = None
        if not model.records:
            settles, known = (), None
        if method is None:
            method = BasicPublish(exchange, routing_key, mandatory, immediate)
        return source.take(
            direction, number, "content", "basic.publish", method, properties, found, size, digest, end, settles, known
        )

    def acknowledged(self, source: Source, number: int, tag: int, multiple: bool, end: int) -> Observed | None:
        """basic.ack of one delivery by the client, or of one publish by the server."""
        direction = source.current
        if multiple or direction is None:
            return None
        channel = known_channel(source, direction, number)
        if channel is None:
            return None
        if direction.client:
            unit = channel.take_usual_ack(tag)
        else:
            unit = channel.take_usual_confirm(tag)
            if channel.returnable and unit is not UNUSUAL:
                channel.forget_return(unit)
        if unit is UNUSUAL:
            return None
        settles = () if unit is None or not source.model.records else ((unit, "accepted", SETTLED),)
        return source.take(
            direction, number, "method", "basic.ack", _ack(tag, False), None, None, 0, None, end, settles, None
        )


def known_channel(observer: Source, direction: Direction, number: int) -> ObservedChannel | None:
    """The channel, if everything about it is known, and nothing else is under way; else None."""
    model = observer.model
    if (
        model.state is not _CONNECTION_OPEN
        or model.settled
        or observer.faults
        or observer.undecided
        or (direction.contents and number in direction.contents)
        or (direction.stray and number in direction.stray)
    ):
        return None
    return model.observed.get(number)


def properties_of(observer: Source, direction: Direction, raw: bytes) -> BasicProperties | None:
    """The properties in `raw`; None when they can't be read."""
    properties = direction.sound
    if properties is not None and raw == direction.good:
        return properties
    properties = observer.properties.from_wire(raw, observer.tables)
    return properties if _is_good(direction, properties) else None


def _is_good(direction: Direction, properties: BasicProperties) -> bool:
    """Whether properties can be read, which the next ones with the same octets needn't tell again."""
    try:
        properties.check()
    except CodecError:
        return False
    raw = properties.raw
    if raw is not None and len(raw) <= KEPT:
        direction.good = raw
        direction.sound = properties
    return True
