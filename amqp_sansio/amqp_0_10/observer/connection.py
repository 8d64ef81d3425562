"""Observer: observes 0-10, both directions of one connection, stepping the model of both ends.

Each control and each command with its message becomes a unit; a broken rule becomes a violation and the observation
goes on. Damage within a direction ends what was under way in it, and the next proven frame begins anew (0-10 part 1
sections 3, 4.3 and 4.4).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from ..._core.brevity import treated
from ..._core.observation import BaseObserver, Identified, Observed
from ..._core.stream import AT_HEADER, IN_DAMAGE
from ...endpoint import Side
from ...errors import CodecError
from ...versions import AMQP_0_10, HEADER_BEGIN
from ..codec import frames
from ..codec.assembly import begins, joined
from ..codec.message_fields import Headers, ObservedCommand
from .content import Content, Direction, announced, blame, decode_first, name_of
from .observed_model import ObservedModel
from .resync import Reader

if TYPE_CHECKING:
    from ..._core.observation import Setting
    from .open_messages import Context


_FAULTS: Final = 32
"""Broken rules of one message's frames that are told; a message may have any number of frames."""
_FLAGS: Final = "wire/frame-flags"
_HEARTBEAT: Final = "connection.heartbeat"


class _Frame(NamedTuple):
    """A frame as it came. `size` octets of it were captured, `lost` ones of its payload were not."""

    flags: int
    kind: int
    track: int
    channel: int
    payload: bytes
    offset: int
    size: int
    at_ns: int
    lost: int = 0


class Observer(BaseObserver[Direction, ObservedModel]):
    """Observes 0-10."""

    __slots__ = ()

    smallest = frames.FRAME_HEADER_SIZE
    header_rule = "wire/header-each-peer"

    def __init__(self, setting: Setting) -> None:
        model = ObservedModel(setting.limits, setting.from_start, setting.records)
        mode = AT_HEADER if setting.from_start else IN_DAMAGE
        super().__init__(setting, model, Direction(Side.SERVER, mode), Direction(Side.CLIENT, mode))
        self.events.append(Identified(AMQP_0_10, "", setting.client, setting.server, setting.by, setting.at_ns))

    def missed(self, direction: Direction) -> None:
        """Tell the model that something of a direction wasn't seen."""
        self.model.missed(direction.number)
        direction.doubted = True
        direction.begun.clear()

    def damage(self, direction: Direction, rule: str, text: str, size: int = 0) -> None:
        """A frame can't be read: end what is under way, say so, and look for the next."""
        direction.when(min(direction.buffer.offset + max(size, self.smallest), direction.end))
        self.abandon(direction)
        super().damage(direction, rule, text, size)

    def recognizer(self, direction: Direction) -> Reader:
        """Tells the frames of a direction from other octets."""
        return Reader(direction.side)

    # Octets.

    def _header(self, direction: Direction) -> None:
        """A protocol header, of this version or another (part 1 section 4.3)."""
        buffer = direction.buffer
        offset = buffer.offset
        header = buffer.data[buffer.pos : buffer.pos + frames.PROTOCOL_HEADER_SIZE]
        buffer.pos += frames.PROTOCOL_HEADER_SIZE
        if direction.headers:
            self.blame("wire/header-each-peer", f"another protocol header, {header!r}", offset)
        direction.headers = 1
        at_ns = direction.when(offset + frames.PROTOCOL_HEADER_SIZE)
        self.observe(direction, 0, "header", "protocol-header", header, offset, frames.PROTOCOL_HEADER_SIZE, at_ns)

    def whole_assembly(self, direction: Direction) -> bool:
        """Read a control or a command with its message, each of whose segments is one frame that is here; else False.

        Frame by frame they give the same. With False nothing has changed.
        """
        buffer = direction.buffer
        data, begin = buffer.data, buffer.pos
        limits = self.limits
        most = self.model.frame_max or frames.MIN_MAX_FRAME_SIZE
        length = len(data)
        first = header = body = None
        track = channel = 0
        kind, at, flags = -1, begin, 0
        while not flags & frames.LAST_SEGMENT:
            before, on, of = kind, track, channel
            if at + frames.FRAME_HEADER_SIZE > length:
                return False
            flags, kind, size, spare, track, channel, tail = frames.FRAME.unpack_from(data, at)
            stop = at + size
            if spare or tail or not frames.FRAME_HEADER_SIZE <= size <= most or stop > length:
                return False
            payload = data[at + frames.FRAME_HEADER_SIZE : stop]
            if first is None:
                if flags & ~frames.LAST_SEGMENT != frames.FIRST_ALONE or kind != track or kind > frames.COMMAND:
                    return False
                first = payload
            elif flags & ~frames.LAST_SEGMENT != frames.ALONE or kind <= before or (track, channel) != (on, of):
                return False
            elif kind == frames.HEADER:
                header = payload
            elif kind == frames.BODY:
                body = payload
            else:
                return False
            at = stop
        octets = 0 if body is None else len(body)
        if (
            first is None
            or self.faults
            or (channel, track) in direction.contents
            or len(direction.contents) >= 2 * limits.channels
            or (track == frames.COMMAND_TRACK and self.model.is_pointed(direction.number, channel))
            or len(first) > limits.header
            or (header is not None and len(header) > limits.header)
            or octets > limits.message
            or self.bodies + at - begin > limits.bodies
        ):
            return False
        if direction.doubted:
            direction.begun.add((channel, track))
        content = Content(track, buffer.offset)
        content.size = at - begin
        content.first = bytearray(first)
        decode_first(content)
        content.begun = header is not None or body is not None
        content.headers = None if header is None else bytearray(header)
        content.octets = octets
        if body is not None:
            content.parts = None if self.body == "size" else [body] if body else []
        buffer.pos = at
        self._whole(direction, channel, content, direction.when(buffer.offset))
        return True

    def frame(self, direction: Direction) -> bool:
        """Read one frame, or a header between frames; False when octets are missing."""
        buffer = direction.buffer
        if buffer.want(frames.FRAME_HEADER_SIZE) and self.whole_assembly(direction):
            return True
        if not buffer.want(frames.PROTOCOL_HEADER_SIZE):
            return False
        if buffer.data.startswith(HEADER_BEGIN, buffer.pos):
            self._header(direction)
            return True
        if not buffer.want(frames.FRAME_HEADER_SIZE):
            return False
        size: int
        flags, kind, size, spare, track, channel, tail = frames.FRAME.unpack_from(buffer.data, buffer.pos)
        wrong = frames.malformed(flags, kind, size, spare, track, tail)
        if wrong is not None:
            self.damage(direction, *wrong, size if size >= frames.FRAME_HEADER_SIZE else 0)
            return True
        if not buffer.want(size):
            return False
        offset = buffer.offset
        payload = buffer.data[buffer.pos + frames.FRAME_HEADER_SIZE : buffer.pos + size]
        buffer.pos += size
        at_ns = direction.when(offset + size)
        most = self.model.frame_max
        if most is not None and size > most and size > frames.MIN_MAX_FRAME_SIZE:
            text = f"frame of {size} octets, {most} were agreed"
            self.blame("connection.tune-ok/max-frame-size", text, offset)
        self._take_frame(direction, _Frame(flags, kind, track, channel, payload, offset, size, at_ns))
        return True

    # Frames.

    def _take_frame(self, direction: Direction, frame: _Frame) -> None:
        """Add a frame to the assembly that it belongs to, or begin one with it."""
        flags, kind, track, channel, _, offset, _, at_ns, _ = frame
        wrong = frames.misplaced(kind, track)
        if wrong is not None:
            self.blame(*wrong, offset)
            self._stray(direction, frame)
            return
        key = (channel, track)
        content = direction.contents.get(key)
        if content is not None:
            wrong_flags = ""
            if track == frames.COMMAND_TRACK and self.model.is_pointed(direction.number, channel):
                self.drop_content(direction, key)
                content = None
            else:
                wrong_flags = content.assembly.step(flags, kind)
            if wrong_flags:
                self.drop_content(direction, key)
                self.blame(_FLAGS, wrong_flags, offset)
                content = None
                if track == frames.COMMAND_TRACK:
                    self.model.lost_command(direction.number, channel)
        if content is None:
            content = self._begin(direction, frame)
            if content is None:
                return
        content.size += frame.size
        if self.faults:
            content.faults += self.faults[: max(0, _FAULTS - len(content.faults))]
            self.faults = []
        self._add_frame(content, frame)
        while self.bodies > self.limits.bodies and len(direction.contents) > 1:
            self.drop_content(direction, next(each for each in direction.contents if each != key))
        if content.assembly.whole:
            del direction.contents[key]
            self._whole(direction, channel, content, at_ns)

    def _begin(self, direction: Direction, frame: _Frame) -> Content | None:
        """A frame where no assembly is under way; None when it begins none."""
        flags, kind, track, channel, _, offset, _, _, _ = frame
        key = (channel, track)
        first = begins(flags)
        explained = bool(self.faults) or (direction.doubted and key not in direction.begun)
        if track == frames.COMMAND_TRACK and self.model.take_first(direction.number, channel, first):
            explained = True
        if first and kind <= frames.COMMAND:
            if direction.doubted:
                direction.begun.add(key)
            content = direction.contents[key] = Content(track, offset)
            content.assembly.step(flags, kind)
            if len(direction.contents) > 2 * self.limits.channels:
                faults, self.faults = self.faults, []
                self.drop_content(direction, next(iter(direction.contents)))
                self.faults = faults
            return content
        if first:
            self.blame(_FLAGS, f"a {frames.SEGMENTS[kind]} segment is the first one", offset)
        elif not explained:
            self.blame(_FLAGS, f"a frame of a {frames.SEGMENTS[kind]} segment, where no assembly has begun", offset)
        if track == frames.COMMAND_TRACK and flags & frames.ENDS == frames.ENDS:
            self.model.skip_command(direction.number, channel)
        self._stray(direction, frame)
        return None

    def _stray(self, direction: Direction, frame: _Frame) -> None:
        """A frame that belongs to nothing."""
        _, kind, _, channel, payload, offset, size, at_ns, _ = frame
        content, octets = (None, len(payload)) if kind == frames.BODY else (payload, 0)
        event = f"{frames.SEGMENTS[kind]}-frame"
        self.observe(direction, channel, "frame", event, content, offset, size, at_ns, octets)

    def _whole(self, direction: Direction, channel: int, content: Content, at_ns: int) -> None:
        """An assembly is all there."""
        self._end_content(content)
        side = direction.number
        command = content.command
        answers = number = context = None
        unit = "content" if content.begun else "method"
        if content.track == frames.CONTROL_TRACK:
            if isinstance(command, bytes):
                unit = unit if content.name else "unknown"
            elif command is not None:
                answers = self.model.take_control(side, channel, command, self.seq)
                if command.NAME == _HEARTBEAT:
                    unit = "heartbeat"
        else:
            message = (content.properties, content.octets, content.digest)
            number, answers, context = self.model.take_command(side, channel, command, self.seq, message)
            if not content.name:
                unit = "unknown"
        self.observe_assembly(
            direction, channel, unit, content, content.octets, content.cut, at_ns, answers, number, context
        )

    # Assemblies: the frames of a control, or of a command with its message.

    def _add_frame(self, content: Content, frame: _Frame) -> None:
        """Take a frame whose flags the assembly has taken."""
        payload = frame.payload
        if frame.kind == frames.BODY:
            content.begun = True
            self._add_body(content, payload, frame.lost)
        elif frame.kind == frames.HEADER:
            content.begun = True
            headers = content.headers
            if headers is None:
                headers = content.headers = bytearray()
            if len(headers) + len(payload) <= self.limits.header:
                headers += payload
                self._hold(content, len(payload))
        else:
            self._add_first(content, payload)

    def _add_first(self, content: Content, payload: bytes) -> None:
        first = content.first
        if first is not None:
            if len(first) + len(payload) > self.limits.header:
                content.first = None
                content.name = content.name or name_of(content.track, bytes(first) + payload)
            else:
                first += payload
                self._hold(content, len(payload))
        if content.assembly.ended:
            decode_first(content)

    def _hold(self, content: Content, octets: int) -> None:
        content.held += octets
        self.bodies += octets

    def _add_body(self, content: Content, payload: bytes, lost: int) -> None:
        """More of the body; it's kept as long as all of it is there and within the limits."""
        octets = len(payload)
        limits = self.limits
        content.octets += octets + lost
        content.cut += lost
        parts = content.parts
        if parts is None:
            return
        above = content.octets > limits.message or self.bodies + octets > limits.bodies
        if self.body == "size" or lost or above:
            kept = sum([len(part) for part in parts])
            content.parts = None
            self._hold(content, -kept)
        elif octets:
            parts.append(payload)
            self._hold(content, octets)

    def _end_content(self, content: Content) -> None:
        """The assembly has ended: note the properties of its message, its body and the digest, and its faults."""
        self.bodies -= content.held
        content.held = 0
        if content.headers is not None:
            properties = content.properties = Headers(bytes(content.headers))
            try:
                properties.check()
            except CodecError as error:
                blame(content, error, f"the header segment of {content.name} can't be read", known=True)
        if content.parts is not None and content.begun:
            content.body, content.digest = treated(joined(content.parts), self.body)
        self.faults += content.faults

    def drop_content(self, direction: Direction, key: tuple[int, int]) -> None:
        """Nothing more of an assembly comes, or what comes can't be trusted to belong to it: it's a partial unit."""
        content = direction.contents.pop(key)
        if content.command is None:
            first = bytes(content.first or b"")
            content.name = content.name or name_of(content.track, first)
            content.command = first
        self._end_content(content)
        # Body and digest are those of whole messages.
        content.body = content.digest = missing = None
        size, whole = content.octets, announced(content)
        if whole is not None:
            missing = whole - size + content.cut
            size = whole
        self.observe_assembly(direction, key[0], "partial", content, size, missing, direction.at_ns)

    # Gaps and damage.

    def cut(self, direction: Direction, octets: int) -> bool:
        """Go on with a message whose body frame is cut, when the hole has its rest."""
        buffer = direction.buffer
        held = len(buffer)
        if not direction.frame_end():
            return False
        size: int
        flags, kind, size, _, track, channel, _ = frames.FRAME.unpack_from(buffer.data, buffer.pos)
        content = direction.contents.get((channel, track))
        if kind != frames.BODY or track != frames.COMMAND_TRACK or content is None or not held < size <= held + octets:
            return False
        buffer.want(held)
        offset = buffer.offset
        payload = buffer.data[buffer.pos + frames.FRAME_HEADER_SIZE : buffer.pos + held]
        buffer.clear()
        lost = size - held
        frame = _Frame(flags, kind, track, channel, payload, offset, held, direction.when(direction.end), lost)
        self._take_frame(direction, frame)
        return lost == octets

    # Events.

    def observe_assembly(
        self, direction: Direction, channel: int, unit: str, content: Content, body_size: int, missing: int | None,
        at_ns: int, answers: int | None = None, number: int | None = None, context: Context | None = None,
    ) -> None:  # fmt: skip
        """The unit of an assembly."""
        event = "heartbeat" if unit == "heartbeat" else content.name or "unknown"
        values = (
            self.seq, direction.side, channel, unit, event, content.command, content.properties, content.body,
            body_size, content.digest, content.offset, content.size, at_ns, answers, missing,
            self.model.messages.take_settled(), context,
        )  # fmt: skip
        if content.track == frames.CONTROL_TRACK:
            self._tell(direction, Observed(*values), content.offset)
        else:
            self._tell(direction, ObservedCommand(*values, number, content.sync), content.offset)

    def observe(
        self, direction: Direction, channel: int, unit: str, event: str, content: Any, offset: int, size: int,
        at_ns: int, body_size: int = 0,
    ) -> None:  # fmt: skip
        """A unit that is no assembly."""
        told = Observed(
            self.seq, direction.side, channel, unit, event, content, None, None, body_size, None, offset, size, at_ns,
        )  # fmt: skip
        self._tell(direction, told, offset)

    def _tell(self, direction: Direction, event: Observed, offset: int) -> None:
        """A unit, and behind it the rules that it broke."""
        model = self.model
        if model.faults:
            self.faults += [(rule, text, offset, severity) for rule, text, severity in model.faults]
            model.faults = []
        self.tell(direction, event)
