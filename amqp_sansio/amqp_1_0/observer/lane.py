"""ObserverLane: the usual units of 1.0, told without records, while the model stands still.

Transfers and dispositions on what is open change deliveries, windows and credit, and nothing of the model that says
which unit another one answers. Who wants to know nothing of deliveries needn't step the model for them; all other
performatives do step it.

A sender writes nearly the same performative each time, but for a number or two and a tag: its other octets are compared
with those of one that was read before.
"""

from __future__ import annotations

from struct import Struct
from typing import TYPE_CHECKING, Final, NamedTuple

from ..._compiled import COMPILED
from ..._ground.brevity import KEPT
from ..codec.faults import READ_FAULTS
from ..codec.frames import MIN_MAX_FRAME_SIZE, PLAIN
from ..codec.message import Message, check_message
from ..codec.octets import READ_U32
from ..codec.performatives import Disposition, Transfer
from ..codec.sections import DATA
from ..model.states import OPEN
from .connection import Observer
from .content import is_request
from .sections import body_of

if TYPE_CHECKING or COMPILED:
    from ..._compiled import scan_frames

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..._ground.receive_buffer import ReceiveBuffer
    from ..._watching.lane import Lane, Plan, Unpacked
    from ..._watching.observation import Observed, Setting
    from .content import Direction

_FRAME: Final = Struct(">IHHIBB").unpack_from
_TRANSFER: Final = 0x0053_14C0
_DISPOSITION: Final = 0x0053_15C0
"""The numeric descriptor, and a list of at most 255 octets, whose size and count follow."""
_BEGIN: Final = 8
"""Where the performative begins in a frame."""
_KNOWN_BY: Final = 16
"""Where the octets end that say which layout a frame may have."""
_FIELDS: Final = 14
"""Where the fields of the performative begin."""
_WIDTHS: Final = {0x43: 0, 0x52: 1, 0x70: 4}
"""Octets of a number, by its format code."""
_NUMBERS: Final = {1: "B", 4: "I"}
_VBIN8: Final = 0xA0
_VBIN32: Final = 0xB0
_IN_DATA: Final = bytes((0, 0x53, DATA))
_MOST: Final = 256
"""Most layouts that are kept."""
_NUMBERED: Final = ("delivery_id", "delivery_tag")
_NAMED: Final = ("first", "last")


class Layout(NamedTuple):
    """A performative that was read: how to unpack one like it, and what is the same in both."""

    unpack: Callable[[bytes, int], Unpacked]
    """Gives the frame's size, what it is, its channel, then the octets around the numbers and tag, and these."""
    head: bytes
    """From the performative's begin to its first number."""
    between: bytes
    """What stands behind that number: the begin of a tag, or of another number."""
    tail: bytes
    """What stands behind that."""
    handle: int
    """Of a transfer; -1 for a disposition."""
    start: int
    """Where the payload begins in the frame."""
    before: str
    """The text of the fields in front of the numbers."""
    after: str
    """The text of those behind them."""


class ObserverLane:
    """Hands usual units to a lane; `transferred` and `disposed` return the number of the next unit."""

    __slots__ = ("_channel", "_handle", "_head", "_lane", "_layouts", "_message", "_opened")

    def __init__(self, lane: Lane) -> None:
        self._lane = lane
        # By the octets from `_BEGIN` to `_KNOWN_BY`. What is known is no part of the state.
        self._layouts: dict[bytes, Layout] = {}
        # The sections before the last body, and what they say.
        self._head = b""
        self._message: str | None = None
        # The session and link of the last unit, if it's known that nothing but usual units has come since on both.
        self._channel = -1
        self._handle = -1
        # All of those, for the module in C; with -1 for a handle those whose session is open.
        self._opened: set[tuple[int, int]] = set()

    def __reduce__(self) -> tuple[type[ObserverLane], tuple[Lane]]:
        return ObserverLane, (self._lane,)

    def run(self, source: Observer, direction: Direction) -> None:
        """Hand on all units that come next in a direction, up to one that isn't usual."""
        model = source.model
        other = model.halves[1 - direction.number].open
        limits = source.limits
        if model.halves[direction.number].state is not OPEN or source.faults:
            return
        if other is not None:
            most = max(other.max_frame_size, MIN_MAX_FRAME_SIZE)
            most = min(most, max(limits.unparsed, min(other.max_frame_size, limits.message)))
        elif model.assumed:
            most = limits.unparsed
        else:
            return
        self._channel = self._handle = -1
        self._opened.clear()
        buffer = direction.buffer
        layouts = self._layouts
        plan = self._lane.plans[direction.client]
        while True:
            data = buffer.data
            pos = buffer.pos
            layout = layouts.get(data[pos + _BEGIN : pos + _KNOWN_BY]) or self._learn(data, pos)
            try:
                if layout is None:
                    raise IndexError(pos)
                found = layout.unpack(data, pos)
                if found[3] != layout.head or found[5] != layout.between or found[-1] != layout.tail:
                    layout = self._learn(data, pos)
                    if layout is None:
                        raise IndexError(pos)
                    found = layout.unpack(data, pos)
                end = pos + found[0]
                if end > len(data):
                    raise IndexError(end)
                if found[1] != PLAIN or found[0] > most:
                    return
                take = self.disposed if layout.handle < 0 else self.transferred
                if take(source, direction, layout, found, end) is None:
                    return
                if plan is not None:
                    self._scan(source, direction, most, plan)
            except READ_FAULTS:
                # Perhaps not all of it is in one piece.
                if not _joins(buffer, most):
                    return

    def _scan(self, source: Observer, direction: Direction, most: int, plan: Plan) -> None:
        """Hand on what comes next and is like what has been read, in one call of the module in C for each time."""
        buffer = direction.buffer
        lane = self._lane
        limits = source.limits
        room = min(limits.message, limits.bodies - source.bodies)
        end = -1
        while end:
            buffer.pos, source.seq, end = scan_frames(
                buffer.data,
                buffer.pos,
                most,
                room,
                self._layouts,
                buffer.consumed,
                direction.mark_end,
                source.seq,
                self._opened,
                lane.instant(direction.at_ns),
                plan,
                lane.rows,
            )
            if end:
                direction.when(end)

    def transferred(
        self, source: Observer, direction: Direction, layout: Layout, found: Unpacked, end: int
    ) -> int | None:
        """A whole delivery in one transfer. Raises one of READ_FAULTS where its message is unusual."""
        size, _, channel, _, delivery_id, _, tag, _ = found
        handle = layout.handle
        if (channel != self._channel or handle != self._handle) and not self._opens(source, direction, channel, handle):
            return None
        buffer = direction.buffer
        data = buffer.data
        pos = buffer.pos
        start = pos + layout.start
        octets = end - start
        limits = source.limits
        if octets > limits.message or source.bodies + octets > limits.bodies:
            return None
        head = self._head
        at = start + len(head)
        body_size = -1
        message = self._message
        if message is not None and data.startswith(head, start) and data[at : at + 3] == _IN_DATA:
            code = data[at + 3]
            if code == _VBIN8:
                body_size = data[at + 4]
                at += 5
            elif code == _VBIN32:
                body_size = READ_U32(data, at + 4)[0]
                at += 8
        if message is None or body_size < 0 or at + body_size != end:
            message, body_size = self._read(direction, data[start:end])
            if message is None:
                return None
        seq = source.seq
        begin = buffer.consumed + pos
        stop = begin + size
        self._lane.transfer(
            seq,
            direction.at_ns if stop <= direction.mark_end else direction.when(stop),
            channel,
            size,
            begin,
            direction.client,
            layout.before,
            delivery_id,
            tag,
            layout.after,
            message,
            b"",
            body_size,
        )
        buffer.pos = end
        source.seq = seq + 1
        return seq + 1

    def disposed(self, source: Observer, direction: Direction, layout: Layout, found: Unpacked, end: int) -> int | None:
        """A disposition of one delivery, or of a range."""
        size, _, channel, _, first, _, *last, _ = found
        if size != layout.start or (channel != self._channel and not self._opens(source, direction, channel, -1)):
            return None
        buffer = direction.buffer
        seq = source.seq
        begin = buffer.consumed + buffer.pos
        stop = begin + size
        self._lane.disposition(
            seq,
            direction.at_ns if stop <= direction.mark_end else direction.when(stop),
            channel,
            size,
            begin,
            direction.client,
            layout.before,
            first,
            last[0] if last else None,
            layout.after,
        )
        buffer.pos = end
        source.seq = seq + 1
        return seq + 1

    def _opens(self, source: Observer, direction: Direction, channel: int, handle: int) -> bool:
        """Whether the session is open, and with a handle of 0 or more a link that sends, with no delivery under way.

        Only unusual units change that.
        """
        key = (channel, handle)
        surely = direction.surely
        if handle >= 0 and (key in direction.contents or (surely is not None and key not in surely)):
            return False
        if not source.model.pass_usual(direction.number, channel, handle):
            return False
        self._channel, self._handle = key
        self._opened.update((key, (channel, -1)))
        return True

    def _read(self, direction: Direction, payload: bytes) -> tuple[str | None, int]:
        """What the sections before a body say, and the body's size; nothing for a message that isn't usual.

        Raises one of READ_FAULTS where it can't be read.
        """
        at, begin, size = body_of(payload)
        if begin + size != len(payload):
            return None, 0
        head = payload[:at]
        if at == begin:
            if is_request(payload[at:]):
                return None, 0
            check_message(payload)
        lane = self._lane
        text = lane.texts.get(head)
        if text is None:
            message = Message.from_wire(head)
            if at != begin and head != direction.good:
                message.check()
                if len(head) <= KEPT:
                    direction.good = head
            text = lane.message(head, message)
        if len(head) <= KEPT:
            self._head = head
            self._message = text
        return text, size

    def _learn(self, data: bytes, pos: int) -> Layout | None:
        """Keep what a frame's octets tell of others like it; None if they aren't all there, or it isn't usual."""
        try:
            _, plain, _, kind, length, count = _FRAME(data, pos)
            start = _FIELDS - 1 + length
            if plain != PLAIN or pos + start > len(data):
                return None
            if kind == _TRANSFER:
                layout = self._learn_transfer(data, pos, start, count)
            elif kind == _DISPOSITION:
                layout = self._learn_disposition(data, pos, start, count)
            else:
                return None
        except READ_FAULTS:
            return None
        if layout is not None:
            if len(self._layouts) >= _MOST:
                self._layouts.clear()
            self._layouts[data[pos + _BEGIN : pos + _KNOWN_BY]] = layout
        return layout

    def _learn_transfer(self, data: bytes, pos: int, start: int, count: int) -> Layout | None:
        frame = Transfer.fast_fields(data, pos + _FIELDS, pos + start, count, pos + _BEGIN)
        if (
            frame.delivery_id is None
            or frame.delivery_tag is None
            or frame.message_format
            or frame.more
            or frame.aborted
            or frame.resume
        ):
            return None
        code = _FIELDS + 1 + _WIDTHS[data[pos + _FIELDS]]
        width = _WIDTHS[data[pos + code]]
        at = code + 1 + width
        rest = at + 2 + len(frame.delivery_tag)
        if not width or data[pos + at] != _VBIN8:
            return None
        form = f">IHH{code + 1 - _BEGIN}s{_NUMBERS[width]}2s{len(frame.delivery_tag)}s{start - rest}s"
        return Layout(
            Struct(form).unpack_from,
            data[pos + _BEGIN : pos + code + 1],
            data[pos + at : pos + at + 2],
            data[pos + rest : pos + start],
            frame.handle,
            start,
            *self._lane.around(frame, _NUMBERED),
        )

    def _learn_disposition(self, data: bytes, pos: int, start: int, count: int) -> Layout | None:
        frame = Disposition.fast_fields(data, pos + _FIELDS, pos + start, count, pos + _BEGIN)
        # The role may take two octets; usually it takes one.
        code = _FIELDS + 1
        width = _WIDTHS[data[pos + code]]
        at = code + 1 + width
        if not width or frame.last == 0:
            return None
        last = _WIDTHS[data[pos + at]] if frame.last else 0
        between = 1 if at < start else 0
        rest = at + between + last
        form = f">IHH{code + 1 - _BEGIN}s{_NUMBERS[width]}{between}s{_NUMBERS.get(last, '')}{start - rest}s"
        return Layout(
            Struct(form).unpack_from,
            data[pos + _BEGIN : pos + code + 1],
            data[pos + at : pos + at + between],
            data[pos + rest : pos + start],
            -1,
            start,
            *self._lane.around(frame, _NAMED),
        )


class LaneObserver(Observer):
    """An observer that hands usual units to a lane instead of making events of them. Bodies are only counted."""

    __slots__ = ("lane",)

    def __init__(self, setting: Setting) -> None:
        super().__init__(setting)
        assert setting.lane is not None
        self.lane = ObserverLane(setting.lane)

    def fastpath(self, direction: Direction, /) -> Observed | None:
        """Hand on all usual units; there's no event of any."""
        self.lane.run(self, direction)
        return None


def _joins(buffer: ReceiveBuffer, most: int) -> bool:
    """Whether a frame that straddles arrivals is there now, in one piece."""
    if not buffer.held:
        return False
    held = len(buffer.data) - buffer.pos
    if held < _KNOWN_BY:
        return buffer.want(_KNOWN_BY)
    size = READ_U32(buffer.data, buffer.pos)[0]
    return held < size <= most and buffer.want(size)
