"""ZeroTenObserver: observes 0-10, both directions of one connection, stepping the joint of both ends.

Each control and each command with its message becomes a unit; a broken rule becomes a violation and the observation
goes on. Damage within a direction ends what was under way in it, and the next proven frame begins anew (0-10 part 1
sections 3, 4.3 and 4.4).
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any, Final

from ..._core.stream import AT_HEADER, IN_DAMAGE, IN_FRAMES
from ...endpoint import Side
from ...observer import Identified, Observed, Skipped
from ...observer import Violation as Reported
from ...versions import AMQP_0_10
from ..codec.assembly import begins
from ..codec.frames import (
    BODY,
    COMMAND,
    COMMAND_TRACK,
    CONTROL_TRACK,
    ENDS,
    FRAME,
    FRAME_HEADER_SIZE,
    HEADER_BEGIN,
    MIN_MAX_FRAME_SIZE,
    PROTOCOL_HEADER_SIZE,
    SEGMENTS,
    misplaced,
    reserved,
)
from ..codec.message_fields import ObservedCommand
from .content import Content, add_frame, drop_content, end_content
from .damage import Direction, cut_body, damage, doubt, end_octets, look
from .observed_model import ObservedModel

if TYPE_CHECKING:
    from ...observer import ObserverEvent, Setting
    from ..codec.message_fields import Headers

Fault = tuple[str, str, int, str]
"""Rule without its version, text, offset, severity."""

_FLAGS: Final = "wire/frame-flags"
_RESERVED: Final = "wire/frame-reserved-zero"
_HEARTBEAT: Final = "connection.heartbeat"


class ZeroTenObserver:
    """The machine for 0-10. `faults` are the broken rules of the unit at hand, `bodies` the octets of assemblies."""

    __slots__ = (
        "bodies", "body", "current", "directions", "events", "faults", "joint", "limits", "seq", "setting",
    )  # fmt: skip

    def __init__(self, setting: Setting) -> None:
        self.setting = setting
        self.limits = setting.limits
        self.body = setting.body
        self.joint = ObservedModel(setting.limits, setting.from_start)
        mode = AT_HEADER if setting.from_start else IN_DAMAGE
        self.directions = (Direction(Side.SERVER, mode), Direction(Side.CLIENT, mode))
        self.current: Direction | None = None
        self.events: deque[ObserverEvent] = deque()
        self.faults: list[Fault] = []
        self.seq = 0
        self.bodies = 0
        self.events.append(
            Identified(AMQP_0_10, "", setting.client, setting.server, setting.by, setting.at_ns)
        )

    def receive(self, client: bool, octets: bytes, at_ns: int) -> None:
        """Queue octets; `next` parses them."""
        direction = self.current = self.directions[client]
        direction.receive(octets, at_ns)

    def gap(self, client: bool, octets: int, at_ns: int) -> None:
        """Octets are missing: end what was under way, and look for a frame behind the hole."""
        direction = self.directions[client]
        frame_end = direction.frame_end()
        whole = cut_body(self, direction, octets)
        if not whole:
            end_octets(self, direction)
        self.events.append(Skipped(direction.side, direction.end, octets, at_ns, "gap"))
        direction.buffer.consumed += octets
        direction.end += octets
        direction.skip_from = direction.end
        if whole:
            return
        doubt(self, direction)
        # Behind the hole the frame it began in goes on, whose octets may look like frames themselves.
        prefer = frame_end if frame_end > direction.end else 0
        direction.search(direction.end, direction.end, prefer)

    def finish(self, at_ns: int) -> None:
        """End both directions."""
        for direction in reversed(self.directions):
            end_octets(self, direction)

    @property
    def held(self) -> int:
        """Octets held: unparsed ones, and those of assemblies under way."""
        return sum([len(direction.buffer) for direction in self.directions]) + self.bodies

    def next(self) -> ObserverEvent | None:
        """The next event of what has come so far."""
        events = self.events
        if events:
            return events.popleft()
        direction = self.current
        if direction is None:
            return None
        while self.unit(direction, False):
            if events:
                return events.popleft()
        self.current = None
        return events.popleft() if events else None

    # Octets.

    def unit(self, direction: Direction, last: bool) -> bool:
        """Read one frame or header; False when octets are missing."""
        mode = direction.mode
        if mode == IN_FRAMES:
            return self._frame(direction)
        if mode == IN_DAMAGE:
            return look(self, direction, last)
        buffer = direction.buffer
        if not buffer.want(PROTOCOL_HEADER_SIZE):
            return False
        if buffer.data.startswith(HEADER_BEGIN, buffer.pos):
            direction.mode = IN_FRAMES
        else:
            head = buffer.data[buffer.pos : buffer.pos + PROTOCOL_HEADER_SIZE]
            text = f"no protocol header comes first, but {head!r}"
            damage(self, direction, "wire/header-each-peer", text)
        return True

    def _header(self, direction: Direction) -> None:
        """A protocol header, of this version or another (part 1 section 4.3)."""
        buffer = direction.buffer
        offset = buffer.offset
        header = buffer.data[buffer.pos : buffer.pos + PROTOCOL_HEADER_SIZE]
        buffer.pos += PROTOCOL_HEADER_SIZE
        if direction.headers:
            self.blame("wire/header-each-peer", f"another protocol header, {header!r}", offset)
        direction.headers = 1
        at_ns = direction.when(offset + PROTOCOL_HEADER_SIZE)
        self.observe(
            direction, 0, "header", "protocol-header", header, offset, PROTOCOL_HEADER_SIZE, at_ns
        )

    def _frame(self, direction: Direction) -> bool:
        buffer = direction.buffer
        if not buffer.want(PROTOCOL_HEADER_SIZE):
            return False
        if buffer.data.startswith(HEADER_BEGIN, buffer.pos):
            self._header(direction)
            return True
        if not buffer.want(FRAME_HEADER_SIZE):
            return False
        flags: int
        kind: int
        size: int
        flags, kind, size, spare, track, channel, tail = FRAME.unpack_from(buffer.data, buffer.pos)
        if size < FRAME_HEADER_SIZE:
            text = f"frame with a size of {size}, its header alone takes {FRAME_HEADER_SIZE}"
            damage(self, direction, "wire/frame-size<12 malformed", text)
            return True
        wrong = reserved(flags, spare, track, tail)
        if not wrong and kind > BODY:
            wrong = f"a segment of type {kind}, which isn't defined"
        if wrong:
            damage(self, direction, _RESERVED, wrong, size)
            return True
        if not buffer.want(size):
            return False
        offset = buffer.offset
        payload = buffer.data[buffer.pos + FRAME_HEADER_SIZE : buffer.pos + size]
        buffer.pos += size
        at_ns = direction.when(offset + size)
        most = self.joint.frame_max
        if most is not None and size > most and size > MIN_MAX_FRAME_SIZE:
            text = f"frame of {size} octets, {most} were agreed"
            self.blame("connection.tune-ok/max-frame-size", text, offset)
        self.frame(direction, flags, kind, track, channel, payload, offset, size, at_ns)
        return True

    # Frames.

    def frame(
        self,
        direction: Direction,
        flags: int,
        kind: int,
        track: int,
        channel: int,
        payload: bytes,
        offset: int,
        size: int,
        at_ns: int,
        lost: int = 0,
    ) -> None:
        """A frame of `size` octets; `lost` octets of its payload were not captured."""
        wrong = misplaced(kind, track)
        if wrong is not None:
            self.blame(*wrong, offset)
            self._stray(direction, channel, kind, payload, offset, size, at_ns)
            return
        key = (channel, track)
        content = direction.contents.get(key)
        if content is not None:
            wrong_flags = ""
            if track == COMMAND_TRACK and self.joint.is_pointed(direction.number, channel):
                drop_content(self, direction, key)
                content = None
            else:
                wrong_flags = content.assembly.step(flags, kind)
            if wrong_flags:
                drop_content(self, direction, key)
                self.blame(_FLAGS, wrong_flags, offset)
                content = None
                if track == COMMAND_TRACK:
                    self.joint.lost_command(direction.number, channel)
        if content is None:
            content = self._begin(direction, flags, kind, key, payload, offset, size, at_ns)
            if content is None:
                return
        content.size += size
        if self.faults:
            content.faults += self.faults
            self.faults = []
        add_frame(self, content, kind, payload, lost)
        if content.assembly.whole:
            del direction.contents[key]
            self._whole(direction, channel, content, at_ns)

    def _begin(
        self,
        direction: Direction,
        flags: int,
        kind: int,
        key: tuple[int, int],
        payload: bytes,
        offset: int,
        size: int,
        at_ns: int,
    ) -> Content | None:
        """A frame where no assembly is under way; None when it begins none."""
        channel, track = key
        first = begins(flags)
        explained = bool(self.faults) or (direction.doubted and key not in direction.begun)
        if track == COMMAND_TRACK and self.joint.take_first(direction.number, channel, first):
            explained = True
        if first and kind <= COMMAND:
            if direction.doubted:
                direction.begun.add(key)
            content = direction.contents[key] = Content(track, offset)
            content.assembly.step(flags, kind)
            if len(direction.contents) > 2 * self.limits.channels:
                faults, self.faults = self.faults, []
                drop_content(self, direction, next(iter(direction.contents)))
                self.faults = faults
            return content
        if first:
            self.blame(_FLAGS, f"a {SEGMENTS[kind]} segment is the first one", offset)
        elif not explained:
            text = f"a frame of a {SEGMENTS[kind]} segment, where no assembly has begun"
            self.blame(_FLAGS, text, offset)
        if track == COMMAND_TRACK and flags & ENDS == ENDS:
            self.joint.skip_command(direction.number, channel)
        self._stray(direction, channel, kind, payload, offset, size, at_ns)
        return None

    def _stray(
        self,
        direction: Direction,
        channel: int,
        kind: int,
        payload: bytes,
        offset: int,
        size: int,
        at_ns: int,
    ) -> None:
        """A frame that belongs to nothing."""
        is_body = kind == BODY
        self.observe(
            direction, channel, "frame", f"{SEGMENTS[kind]}-frame", None if is_body else payload, offset, size,
            at_ns, body_size=len(payload) if is_body else 0,
        )  # fmt: skip

    def _whole(self, direction: Direction, channel: int, content: Content, at_ns: int) -> None:
        """An assembly is all there."""
        properties, body, body_size, digest = end_content(self, content)
        side = direction.number
        command = content.command
        answers = number = None
        unit = "content" if content.begun else "method"
        self.faults += content.faults
        if content.track == CONTROL_TRACK:
            if isinstance(command, bytes):
                unit = unit if content.name else "unknown"
            elif command is not None:
                answers = self.joint.take_control(side, channel, command, self.seq)
                if command.NAME == _HEARTBEAT:
                    unit = "heartbeat"
        else:
            header = 0 if properties is None else len(properties.raw)
            sizes = (header, content.octets)
            number, answers = self.joint.take_command(side, channel, command, self.seq, sizes)
            if not content.name:
                unit = "unknown"
        self.observe_assembly(
            direction, channel, unit, content, properties, body, body_size, digest, content.cut, at_ns,
            answers, number,
        )  # fmt: skip

    # Events.

    def blame(self, rule: str, text: str, offset: int, severity: str = "error") -> None:
        """A rule that the unit at hand breaks."""
        self.faults.append((rule, text, offset, severity))

    def observe_assembly(
        self,
        direction: Direction,
        channel: int,
        unit: str,
        content: Content,
        properties: Headers | None,
        body: bytes | None,
        body_size: int,
        digest: str | None,
        missing: int | None,
        at_ns: int,
        answers: int | None = None,
        number: int | None = None,
    ) -> None:
        """The unit of an assembly."""
        event = "heartbeat" if unit == "heartbeat" else content.name or "unknown"
        values = (
            self.seq, direction.side, channel, unit, event, content.command, properties, body, body_size, digest,
            content.offset, content.size, at_ns, answers, missing,
        )  # fmt: skip
        if content.track == CONTROL_TRACK:
            self._tell(direction, Observed(*values), content.offset)
        else:
            self._tell(direction, ObservedCommand(*values, number, content.sync), content.offset)

    def observe(
        self,
        direction: Direction,
        channel: int,
        unit: str,
        event: str,
        content: Any,
        offset: int,
        size: int,
        at_ns: int,
        body_size: int = 0,
    ) -> None:
        """A unit that is no assembly."""
        told = Observed(
            self.seq, direction.side, channel, unit, event, content, None, None, body_size, None, offset, size, at_ns,
        )  # fmt: skip
        self._tell(direction, told, offset)

    def _tell(self, direction: Direction, event: Observed, offset: int) -> None:
        """A unit, and behind it the rules that it broke."""
        self.seq = event.seq + 1
        self.events.append(event)
        joint = self.joint
        if joint.faults:
            self.faults += [(rule, text, offset, severity) for rule, text, severity in joint.faults]
            joint.faults = []
        if self.faults:
            for fault in self.faults:
                self.report(direction, fault, event.at_ns, event.seq, event.channel)
            self.faults = []

    def report(
        self, direction: Direction, fault: Fault, at_ns: int, seq: int | None, channel: int
    ) -> None:
        """A broken rule."""
        rule, text, offset, severity = fault
        self.events.append(
            Reported(direction.side, f"0-10/{rule}", severity, text, offset, at_ns, seq, channel)
        )
