"""Observer: observes 0-10, both directions of one connection, stepping the model of both ends.

Each control and each command with its message becomes a unit; a broken rule becomes a violation and the observation
goes on. Damage within a direction ends what was under way in it, and the next proven frame begins anew (0-10 part 1
sections 3, 4.3 and 4.4).
"""

from __future__ import annotations

from struct import Struct as Layout
from struct import error as StructError
from typing import TYPE_CHECKING, Final, NamedTuple

from ..._ground.brevity import treated
from ..._watching.observation import BaseObserver, Identified, Observed
from ..._watching.stream import AT_HEADER, IN_DAMAGE
from ...endpoint import Side
from ...versions import AMQP_0_10, HEADER_BEGIN
from ..codec import frames
from ..codec.assembly import begins, joined
from ..codec.message_fields import ObservedCommand
from .content import Content, Direction, announced, name_of
from .observed_model import ObservedModel
from .resync import Reader

if TYPE_CHECKING:
    from ..._watching.observation import Setting
    from ..codec.message_fields import Headers
    from .content import First


_FAULTS: Final = 32
"""Broken rules of one message's frames that are told; a message may have any number of frames."""
_frame: Final = Layout(">HHII").unpack_from
"""Flags and segment type, size, track and channel behind the reserved octet, four reserved octets."""
_FRAME_HEADER: Final = frames.FRAME_HEADER_SIZE
_BODY: Final = frames.BODY_FRAME
_LAST: Final = frames.LAST_SEGMENT << 8
_TRACKS: Final = {
    frames.WHOLE << 8 | frames.CONTROL: frames.CONTROL_TRACK,
    frames.WHOLE << 8 | frames.COMMAND: frames.COMMAND_TRACK,
    frames.FIRST_ALONE << 8 | frames.COMMAND: frames.COMMAND_TRACK,
}
"""The track of a first segment in one frame, by flags and type."""
_HEADER: Final = frames.HEADER_FRAME | _LAST
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

    frame_header = frames.FRAME_HEADER_SIZE
    header_rule = "wire/header-each-peer"

    def __init__(self, setting: Setting) -> None:
        model = ObservedModel(setting.limits, setting.from_start, setting.records, setting.holders)
        mode = AT_HEADER if setting.from_start else IN_DAMAGE
        super().__init__(setting, model, Direction(Side.SERVER, mode), Direction(Side.CLIENT, mode))
        self.events.append(Identified(AMQP_0_10, "", setting.client, setting.server, setting.by, setting.at_ns))

    @property
    def most_under_way(self) -> int:
        """The most messages of one side that may be under way."""
        return 2 * self.limits.channels

    def missed(self, direction: Direction) -> None:
        """Tell the model that something of a direction wasn't seen."""
        self.model.missed(direction.number)
        direction.doubted = True
        direction.begun.clear()

    def damage(self, direction: Direction, rule: str, text: str, size: int = 0, looked: int = 0) -> None:
        """A frame can't be read: end what is under way, say so, and look for the next."""
        direction.when(direction.buffer.offset + (looked or self.frame_header))
        self.abandon(direction)
        super().damage(direction, rule, text, size, looked)

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

    def fastpath(self, direction: Direction, /) -> Observed | None:
        """The unit of a control, or of a command with its message, each of whose segments is one frame."""
        buffer = direction.buffer
        if len(buffer.data) - buffer.pos < _FRAME_HEADER and not buffer.want(_FRAME_HEADER):
            return None
        data, begin = buffer.data, buffer.pos
        length = len(data)
        limits, model = self.limits, self.model
        most = model.frame_max or frames.MIN_MAX_FRAME_SIZE
        first, header, body = b"", None, None
        at, segment, place = begin, 0, 0
        while not segment & _LAST:
            try:
                segment, size, where, tail = _frame(data, at)
            except StructError:
                # The next frame isn't there yet.
                return None
            stop = at + size
            if tail or size > most or stop > length or size < _FRAME_HEADER:
                return None
            payload = data[at + _FRAME_HEADER : stop]
            if at == begin:
                if _TRACKS.get(segment) != where >> 16:
                    return None
                first, place = payload, where
            elif where != place:
                return None
            elif segment == _BODY:
                body = payload
            elif segment | _LAST == _HEADER and header is None:
                header = payload
            else:
                return None
            at = stop
        track, channel = place >> 16, place & 0xFFFF
        octets = 0 if body is None else len(body)
        size = at - begin
        contents = direction.contents
        if (
            self.faults
            or (contents and (channel, track) in contents)
            or len(contents) >= 2 * limits.channels
            or (track and model.is_pointed(direction.number, channel))
            or (size > limits.header and max(len(first), len(header or b"")) > limits.header)
            or octets > limits.message
            or self.bodies + size > limits.bodies
        ):
            return None
        if direction.doubted:
            direction.begun.add((channel, track))
        offset = buffer.consumed + begin
        end = offset + size
        buffer.pos = at
        read = direction.first_of(track, first, offset, self.faults)
        digest = None
        headers = None if header is None else direction.headers_of(header, read[1], offset, self.faults)
        begun = header is not None or body is not None
        if begun:
            body, digest = treated(body or b"", self.body)
        event = self._whole(
            direction,
            channel,
            track,
            read,
            begun,
            headers,
            body,
            octets,
            digest,
            offset,
            size,
            0,
            direction.at_ns if end <= direction.mark_end else direction.when(end),
        )
        if self.faults or model.faults:
            self._tell(direction, event, offset)
            self.events.popleft()
        else:
            self.seq = event.seq + 1
        return event

    def frame(self, direction: Direction) -> bool:
        """Read one frame, or a header between frames; False when octets are missing."""
        buffer = direction.buffer
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
        content: Content | None = direction.contents.get(key)
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
        self._add_frame(direction, content, frame)
        while self.bodies > self.limits.bodies and len(direction.contents) > 1:
            self.drop_content(direction, next(each for each in direction.contents if each != key))
        if content.assembly.whole:
            del direction.contents[key]
            headers, body, digest = self._end_content(direction, content)
            event = self._whole(
                direction,
                channel,
                track,
                content.read,
                content.begun,
                headers,
                body,
                content.octets,
                digest,
                content.offset,
                content.size,
                content.cut,
                at_ns,
            )
            self._tell(direction, event, content.offset)

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

    def _whole(
        self,
        direction: Direction,
        channel: int,
        track: int,
        read: First,
        begun: bool,
        headers: Headers | None,
        body: bytes | None,
        octets: int,
        digest: str | None,
        offset: int,
        size: int,
        missing: int,
        at_ns: int,
    ) -> Observed:
        """Step the model for an assembly that is all there: its unit."""
        command, name, sync = read
        model, side = self.model, direction.number
        unit = "content" if begun else "method"
        if track == frames.CONTROL_TRACK:
            answers = None
            if command.__class__ is bytes:
                unit = unit if name else "unknown"
            else:
                answers = model.take_control(side, channel, command, self.seq)
                if name == _HEARTBEAT:
                    name = unit = "heartbeat"
            return Observed(
                self.seq,
                direction.side,
                channel,
                unit,
                name or "unknown",
                command,
                headers,
                body,
                octets,
                digest,
                offset,
                size,
                at_ns,
                answers,
                missing,
                model.messages.take_settled(),
            )
        message = headers, octets, digest
        number, answers, context = model.take_command(side, channel, command, self.seq, message)
        return ObservedCommand(
            self.seq,
            direction.side,
            channel,
            unit if name else "unknown",
            name or "unknown",
            command,
            headers,
            body,
            octets,
            digest,
            offset,
            size,
            at_ns,
            answers,
            missing,
            model.messages.take_settled(),
            context,
            number,
            sync,
        )

    # Assemblies: the frames of a control, or of a command with its message.

    def _add_frame(self, direction: Direction, content: Content, frame: _Frame) -> None:
        """Take a frame whose flags the assembly has taken."""
        payload = frame.payload
        if frame.kind == frames.BODY:
            content.begun = True
            self._add_body(content, payload, frame.lost)
        elif frame.kind == frames.HEADER:
            content.begun = True
            headers = content.headers
            if headers is None:
                headers = bytearray()
                content.headers = headers
            if len(headers) + len(payload) <= self.limits.header:
                headers += payload
                self._hold(content, len(payload))
        else:
            self._add_first(direction, content, payload)

    def _add_first(self, direction: Direction, content: Content, payload: bytes) -> None:
        first = content.first
        if first is not None:
            if len(first) + len(payload) > self.limits.header:
                content.first = None
                content.read = b"", name_of(content.track, bytes(first) + payload), False
            else:
                first += payload
                self._hold(content, len(payload))
        if content.assembly.ended and content.first is not None:
            octets, content.first = bytes(content.first), bytearray()
            content.read = direction.first_of(content.track, octets, content.offset, content.faults)

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

    def _end_content(self, direction: Direction, content: Content) -> tuple[Headers | None, bytes | None, str | None]:
        """The assembly has ended: the properties of its message, its body and the digest; note its faults."""
        self.bodies -= content.held
        headers = body = digest = None
        if content.headers is not None:
            headers = direction.headers_of(bytes(content.headers), content.read[1], content.offset, content.faults)
        if content.parts is not None and content.begun:
            body, digest = treated(joined(content.parts), self.body)
        self.faults += content.faults
        return headers, body, digest

    def drop_content(self, direction: Direction, key: tuple[int, int]) -> None:
        """Nothing more of an assembly comes, or what comes can't be trusted to belong to it: it's a partial unit."""
        content = direction.contents.pop(key)
        command, name, sync = content.read
        if content.first:
            command = bytes(content.first)
            name = name_of(content.track, command)
        # Body and digest are those of whole messages.
        headers, _, _ = self._end_content(direction, content)
        size, missing = content.octets, None
        whole = announced(headers, size)
        if whole is not None:
            missing = whole - size + content.cut
            size = whole
        values = (
            self.seq,
            direction.side,
            key[0],
            "partial",
            name or "unknown",
            command,
            headers,
            None,
            size,
            None,
            content.offset,
            content.size,
            direction.at_ns,
            None,
            missing,
            self.model.messages.take_settled(),
            None,
        )
        event = Observed(*values) if key[1] == frames.CONTROL_TRACK else ObservedCommand(*values, None, sync)
        self._tell(direction, event, content.offset)

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

    def observe(
        self,
        direction: Direction,
        channel: int,
        unit: str,
        event: str,
        content: object,
        offset: int,
        size: int,
        at_ns: int,
        body_size: int = 0,
    ) -> None:
        """A unit that is no assembly."""
        told = Observed(
            self.seq, direction.side, channel, unit, event, content, None, None, body_size, None, offset, size, at_ns
        )
        self._tell(direction, told, offset)

    def _tell(self, direction: Direction, event: Observed, offset: int) -> None:
        """A unit, and behind it the rules that it broke."""
        model = self.model
        if model.faults:
            self.faults += [(rule, text, offset, severity) for rule, text, severity in model.faults]
            model.faults = []
        self.tell(direction, event)
