"""ObserverLane: the usual units of 0-8 and 0-9-1, told without records, while the model stands still.

Delivers, publishes and acks change nothing of the model that says how the octets behind them are cut into units, or
which request a unit answers: they change deliveries, confirms, and what becomes of messages. Who wants to know nothing
of those needn't step the model for them; all other methods do step it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..._compiled import COMPILED
from ..codec.content_reader import ContentReader
from ..model.states import Channel as State
from .fastpath import Source, known_channel, properties_of

if TYPE_CHECKING or COMPILED:
    from ..._compiled import scan_rows

if TYPE_CHECKING:
    from ..._watching.lane import Lane
    from ..codec.content_reader import Route
    from .content import Direction


class ObserverLane(ContentReader[Source, int]):
    """Hands usual units to a lane; each method returns the number of the next unit."""

    __slots__ = ("_lane", "_open")

    def __init__(self, body_max: int, other_max: int, lane: Lane) -> None:
        super().__init__(body_max, other_max)
        self._lane = lane
        # Channels on which nothing but usual units has come since they were found to be open.
        self._open: set[int] = set()

    def _run(self, source: Source, direction: Direction) -> None:
        self._open.clear()
        buffer = direction.buffer
        read = self.read
        while read(buffer, source) is not None:
            pass

    def _run_scanning(self, source: Source, direction: Direction) -> None:
        """As `_run`, in one call of the module in C for the units of one time whose names and channel are known."""
        self._open.clear()
        buffer = direction.buffer
        read, lane = self.read, self._lane
        plan = lane.plans[direction.client]
        if plan is None:
            self._run(source, direction)
            return
        while read(buffer, source) is not None:
            end = -1
            while end:
                buffer.pos, source.seq, end = scan_rows(
                    buffer.data,
                    buffer.pos,
                    self.body_max,
                    self.other_max,
                    source.limits.message,
                    buffer.consumed,
                    direction.mark_end,
                    source.seq,
                    self._open,
                    lane.instant(direction.at_ns),
                    plan,
                    lane.rows,
                )
                if end:
                    direction.when(end)

    run = _run_scanning if COMPILED else _run
    """Hand on all units that come next in a direction, up to one that isn't usual."""

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
    ) -> int | None:
        """A delivery, whole."""
        direction = source.current
        if (
            body is None
            or direction is None
            or direction.client
            or (number not in self._open and not self._opens(source, direction, number))
            or size > source.limits.message
        ):
            return None
        lane = self._lane
        message = lane.texts.get(raw) or self._message(source, direction, raw)
        if message is None:
            return None
        buffer = direction.buffer
        begin = buffer.consumed + buffer.pos
        buffer.pos = end
        end += buffer.consumed
        seq = source.seq
        at_ns = direction.at_ns if end <= direction.mark_end else direction.when(end)
        lane.deliver(
            seq,
            at_ns,
            number,
            end - begin,
            begin,
            consumer_tag,
            tag,
            redelivered,
            exchange,
            routing_key,
            message,
            body,
            size,
        )
        source.seq = seq + 1
        return seq + 1

    def published(self, source: Source, number: int, route: Route, raw: bytes, body: bytes, end: int) -> int | None:
        """A publish, whole."""
        direction = source.current
        size = len(body)
        if (
            direction is None
            or not direction.client
            or (number not in self._open and not self._opens(source, direction, number))
            or size > source.limits.message
        ):
            return None
        lane = self._lane
        message = lane.texts.get(raw) or self._message(source, direction, raw)
        if message is None:
            return None
        buffer = direction.buffer
        begin = buffer.consumed + buffer.pos
        buffer.pos = end
        end += buffer.consumed
        seq = source.seq
        at_ns = direction.at_ns if end <= direction.mark_end else direction.when(end)
        lane.publish(seq, at_ns, number, end - begin, begin, *route, message, body, size)
        source.seq = seq + 1
        return seq + 1

    def acknowledged(self, source: Source, number: int, tag: int, multiple: bool, end: int) -> int | None:
        """basic.ack of either side."""
        direction = source.current
        if direction is None or (number not in self._open and not self._opens(source, direction, number)):
            return None
        buffer = direction.buffer
        begin = buffer.consumed + buffer.pos
        buffer.pos = end
        end += buffer.consumed
        seq = source.seq
        at_ns = direction.at_ns if end <= direction.mark_end else direction.when(end)
        self._lane.ack(seq, at_ns, number, end - begin, begin, direction.client, tag, multiple)
        source.seq = seq + 1
        return seq + 1

    def _opens(self, source: Source, direction: Direction, number: int) -> bool:
        """Whether a channel is open, and nothing else is under way on it; then only unusual units change that."""
        channel = known_channel(source, direction, number)
        if channel is None or channel.state is not State.OPEN:
            return False
        self._open.add(number)
        return True

    def _message(self, source: Source, direction: Direction, raw: bytes) -> str | None:
        properties = properties_of(source, direction, raw)
        return None if properties is None else self._lane.message(raw, properties)
