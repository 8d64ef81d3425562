"""OneZeroObserver: observes 1.0, both directions of one connection, stepping the joint of both ends.

Each frame becomes a unit, a delivery is put together over its transfers; a broken rule becomes a violation and the
observation goes on. Damage within a direction ends what was under way in it, and the next proven frame begins
anew (1.0 part 2 sections 2.2 to 2.7, part 5 section 5.3).
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any, Final

from ..._core.stream import AT_HEADER, IN_DAMAGE, IN_FRAMES, PROVEN, REFUTED
from ...endpoint import Side
from ...errors import CodecError
from ...observer import Identified, Observed, Skipped
from ...observer import Violation as Reported
from ...versions import AMQP_1_0
from ..codec.composite import Performative, SaslFrame, decode_frame_body
from ..codec.frames import (
    AMQP,
    AMQP_HEADER,
    FRAME,
    HEADER_SIZE,
    MIN_MAX_FRAME_SIZE,
    OVERSIZE,
    SASL,
    SASL_HEADER,
    TLS_HEADER,
)
from ..codec.performatives import (
    Attach,
    Begin,
    Close,
    Detach,
    End,
    Flow,
    Open,
    SaslInit,
    SaslMechanisms,
    SaslOutcome,
    Transfer,
)
from ..model import states
from .content import drop_content, receive_transfer
from .damage import IN_TLS, Direction, cut_transfer, damage, doubt, end_octets, look, search
from .fastpath import fast_observed
from .observed_model import NOTHING_AFTER, ObservedModel
from .resync import HEADER_BEGIN, HEADERS, LIKELY_MAX, NAMES, descriptor

if TYPE_CHECKING:
    from ...observer import ObserverEvent, Setting
    from ..codec.violation import Violation

Fault = tuple[str, str, int, str]
"""Rule without its version, text, offset, severity."""

_EARLY: Final = "transport/connection/pre-open-limits"
_AFTER_CLOSE: Final = (Flow, Close)
"""What RabbitMQ 3 sends behind its close, and every peer must put up with."""
_CLOSES: Final = (Detach, End, Close, Begin, Attach)
"""What ends deliveries that are under way on a handle, a channel or everywhere."""


class OneZeroObserver:
    """The machine for 1.0.

    `faults` are the broken rules of the unit at hand, `offered` the mechanisms of the server, `outcome` how the login
    ended. `sasl`, `opened` and `closed` are the last units of each side that may be answered.
    """

    __slots__ = (
        "bodies", "body", "closed", "current", "directions", "events", "faults", "joint", "limits", "offered",
        "opened", "outcome", "sasl", "seq", "setting",
    )  # fmt: skip

    def __init__(self, setting: Setting) -> None:
        self.setting = setting
        self.limits = setting.limits
        self.body = setting.body
        self.joint = ObservedModel(setting.limits)
        mode = AT_HEADER if setting.from_start else IN_DAMAGE
        self.directions = (Direction(Side.SERVER, mode), Direction(Side.CLIENT, mode))
        if not setting.from_start:
            self.joint.missed()
            self.joint.blind = True
        self.current: Direction | None = None
        self.events: deque[ObserverEvent] = deque()
        self.faults: list[Fault] = []
        self.seq = 0
        self.bodies = 0
        self.sasl: list[int | None] = [None, None]
        self.opened: list[int | None] = [None, None]
        self.closed: list[int | None] = [None, None]
        self.offered: tuple[str, ...] = ()
        self.outcome: int | None = None
        self.events.append(
            Identified(AMQP_1_0, "", setting.client, setting.server, setting.by, setting.at_ns)
        )

    def receive(self, client: bool, octets: bytes, at_ns: int) -> None:
        """Queue octets; `next` parses them."""
        direction = self.current = self.directions[client]
        direction.receive(octets, at_ns)

    def gap(self, client: bool, octets: int, at_ns: int) -> None:
        """Octets are missing: end what was under way, and look for a frame behind the hole."""
        direction = self.directions[client]
        frame_end = direction.frame_end()
        whole = cut_transfer(self, direction, octets)
        if not whole:
            end_octets(self, direction, at_ns)
        self.events.append(Skipped(direction.side, direction.end, octets, at_ns, "gap"))
        direction.buffer.consumed += octets
        direction.end += octets
        direction.skip_from = direction.end
        if whole or direction.mode == IN_TLS:
            return
        doubt(self, direction)
        # Behind the hole the frame it began in goes on, whose octets may look like frames themselves.
        prefer = frame_end if frame_end > direction.end else 0
        search(self, direction, direction.end, direction.end, prefer)

    def finish(self, at_ns: int) -> None:
        """End both directions."""
        for direction in reversed(self.directions):
            end_octets(self, direction, at_ns)
            doubt(self, direction)

    @property
    def held(self) -> int:
        """Octets held: unparsed ones, and payloads under way."""
        return sum([len(direction.buffer) for direction in self.directions]) + self.bodies

    def next(self) -> ObserverEvent | None:
        """The next event of what has come so far."""
        events = self.events
        if events:
            return events.popleft()
        direction = self.current
        if direction is None:
            return None
        while True:
            if direction.mode == IN_FRAMES:
                event = fast_observed(self, direction)
                if event is not None:
                    return event
            if not self.unit(direction, False):
                break
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
        if mode == IN_TLS:
            buffer.clear()
            direction.when(direction.end)
            return False
        if not buffer.want(HEADER_SIZE):
            return False
        if buffer.data.startswith(HEADER_BEGIN, buffer.pos):
            direction.mode = IN_FRAMES
        else:
            head = buffer.data[buffer.pos : buffer.pos + HEADER_SIZE]
            text = f"no protocol header comes first, but {head!r}"
            damage(self, direction, "transport/version/header-first", text)
        return True

    def _header(self, direction: Direction) -> None:
        """A protocol header, of this version or another (part 2 section 2.2, part 5 section 5.1)."""
        buffer = direction.buffer
        offset = buffer.offset
        header = buffer.data[buffer.pos : buffer.pos + HEADER_SIZE]
        buffer.pos += HEADER_SIZE
        headers = direction.headers
        if header == AMQP_HEADER:
            self._check_sasl_end(direction, offset)
            broken = self.joint.take_header(direction.number)
            if broken is not None:
                self._fault(broken, offset)
            direction.layer = AMQP
        elif header not in HEADERS:
            # A server may answer with what it speaks instead; then the connection ends.
            if direction.client or headers:
                text = f"protocol header {header!r} on a connection of 1.0"
                self.blame("transport/version/data-match", text, offset)
        elif AMQP_HEADER in headers or header in headers:
            text = f"protocol header {header!r} behind {headers[-1]!r}"
            self.blame("transport/version/data-match", text, offset)
        elif header == SASL_HEADER:
            direction.layer = SASL
        if header == TLS_HEADER:
            direction.mode = IN_TLS
            direction.skip_from = buffer.offset
        if len(headers) < len(HEADERS):
            headers.append(header)
        at_ns = direction.when(offset + HEADER_SIZE)
        self.observe(direction, 0, "header", "protocol-header", header, offset, HEADER_SIZE, at_ns)

    def _check_sasl_end(self, direction: Direction, offset: int) -> None:
        """The server goes on behind the SASL layer when the login has succeeded, not before."""
        joint = self.joint
        if direction.client or SASL_HEADER not in direction.headers or joint.assumed:
            return
        if joint.sasl is not states.Sasl.DONE or self.outcome:
            text = f"the server goes on after SASL, whose state is: {joint.sasl.value}"
            if self.outcome:
                text = f"the server goes on after sasl-outcome {self.outcome}"
            self.blame("security/sasl/outcome", text, offset)

    def _frame(self, direction: Direction) -> bool:
        buffer = direction.buffer
        if not buffer.want(HEADER_SIZE):
            return False
        pos = buffer.pos
        if buffer.data.startswith(HEADER_BEGIN, pos):
            self._header(direction)
            return True
        size: int
        doff: int
        size, doff, kind, number = FRAME.unpack_from(buffer.data, pos)
        if size < HEADER_SIZE:
            text = f"frame with a size of {size}, its header alone takes 8"
            damage(self, direction, "transport/frame/size", text)
            return True
        if size > self._largest(direction):
            text = f"frame of {size} octets, more than is looked at"
            damage(self, direction, OVERSIZE, text)
            return True
        if kind > SASL:
            damage(self, direction, "transport/frame/type", f"frame of unknown type {kind}", size)
            return True
        if doff < 2 or 4 * doff > size:
            text = f"frame of {size} octets whose body begins at octet {4 * doff}"
            damage(self, direction, "transport/frame/doff", text, size)
            return True
        if not buffer.want(size):
            return False
        data = buffer.data
        pos = buffer.pos
        offset = buffer.offset
        buffer.pos = end = pos + size
        at_ns = direction.when(offset + size)
        self._check_frame(direction, kind, number, size, offset)
        begin = pos + 4 * doff
        if begin == end:
            self._empty(direction, kind, number, offset, size, at_ns)
            return True
        try:
            frame, start = decode_frame_body(data, begin, end)
        except CodecError as error:
            self._unreadable(direction, number, data[begin:end], error, offset, size, at_ns)
            return True
        if kind == SASL:
            self._sasl_frame(direction, frame, end - start, offset, size, at_ns)
        elif isinstance(frame, Transfer):
            self.transfer(direction, number, frame, data[start:end], offset, size, at_ns)
        else:
            self._method(direction, number, frame, end - start, offset, size, at_ns)
        return True

    def _check_frame(
        self, direction: Direction, kind: int, number: int, size: int, offset: int
    ) -> None:
        """What is wrong with a frame before its body is looked at."""
        if kind == SASL:
            if size > MIN_MAX_FRAME_SIZE:
                text = f"SASL frame of {size} octets, {MIN_MAX_FRAME_SIZE} are the most"
                self.blame("security/sasl/frame-max", text, offset)
            if direction.layer == AMQP:
                text = "a SASL frame where an AMQP frame belongs"
                self.blame("transport/frame/type", text, offset)
            return
        agreed = self.joint.halves[1 - direction.number].open
        if agreed is None:
            # Whether this fits, the other side's open will tell; the sender may know it already.
            for index, value in enumerate((size, number)):
                if value > direction.early[index][0]:
                    direction.early[index] = (value, offset, self.seq)
        elif size > agreed.max_frame_size and size > MIN_MAX_FRAME_SIZE:
            text = f"frame of {size} octets, the other side takes {agreed.max_frame_size}"
            self.blame(OVERSIZE, text, offset)

    def _check_early(self, direction: Direction, opened: Open, at_ns: int) -> None:
        """What was sent before the other side's open, which is here now, had to fit it (part 2 section 2.4.4)."""
        if self.joint.assumed:
            return
        (size, size_at, size_seq), (channel, at, seq) = direction.early
        if size > max(opened.max_frame_size, MIN_MAX_FRAME_SIZE):
            text = f"frame of {size} octets before the other side's open, which takes {opened.max_frame_size}"
            self.report(direction, (_EARLY, text, size_at, "error"), at_ns, size_seq, 0)
        if channel > opened.channel_max:
            text = f"channel {channel} before the other side's open, whose channel-max is {opened.channel_max}"
            self.report(direction, (_EARLY, text, at, "error"), at_ns, seq, channel)

    def _largest(self, direction: Direction) -> int:
        """The largest frame that is waited for: where the other side takes any, as large as a message may be."""
        limits = self.limits
        agreed = self.joint.halves[1 - direction.number].open
        if agreed is None or agreed.max_frame_size <= limits.unparsed:
            return limits.unparsed
        return max(limits.unparsed, min(agreed.max_frame_size, limits.message))

    def likely(self, direction: Direction) -> int:
        """The largest frame that is looked for in damage."""
        agreed = self.joint.halves[1 - direction.number].open
        if agreed is None:
            return min(LIKELY_MAX, self.limits.unparsed)
        return min(max(agreed.max_frame_size, MIN_MAX_FRAME_SIZE), self.limits.unparsed)

    # Frames.

    def _empty(
        self, direction: Direction, kind: int, number: int, offset: int, size: int, at_ns: int
    ) -> None:
        if kind == SASL:
            self.blame("security/sasl/frame-empty", "an empty SASL frame", offset)
            self.observe(direction, 0, "frame", "sasl-frame", b"", offset, size, at_ns)
            return
        broken = self.joint.take_empty(direction.number, number)
        if broken is not None:
            self._fault(broken, offset)
        self.observe(direction, number, "heartbeat", "heartbeat", None, offset, size, at_ns)

    def _unreadable(
        self,
        direction: Direction,
        number: int,
        body: bytes,
        error: CodecError,
        offset: int,
        size: int,
        at_ns: int,
    ) -> None:
        """A frame whose body can't be read: nothing is known of what it did."""
        code, _ = descriptor(body, 0, len(body))
        name = NAMES.get(code, "unknown") if code not in (PROVEN, REFUTED) else "unknown"
        rule = (error.rule or "transport/frame/performative").removeprefix("1.0/")
        self.blame(rule, f"{name} can't be read: {error}", offset)
        unit = {"transfer": "partial", "unknown": "unknown"}.get(name, "method")
        missing = None if unit == "partial" else 0
        layer = direction.layer
        doubt(self, direction)
        direction.layer = layer
        self.observe(direction, number, unit, name, body, offset, size, at_ns, missing=missing)

    def _sasl_frame(
        self,
        direction: Direction,
        frame: Performative | SaslFrame,
        rest: int,
        offset: int,
        size: int,
        at_ns: int,
    ) -> None:
        answers = None
        number = direction.number
        if not isinstance(frame, SaslFrame) or rest:
            what = f"{frame.NAME} with {rest} octets behind it" if rest else frame.NAME
            text = f"a SASL frame holds one SASL value, this one {what}"
            self.blame("security/sasl/frame-one", text, offset)
        if isinstance(frame, SaslFrame):
            if direction.layer != AMQP:
                broken = self.joint.take_sasl(number, frame)
                if broken is not None:
                    self._fault(broken, offset)
                direction.layer = SASL
            if isinstance(frame, SaslMechanisms):
                self.offered = frame.sasl_server_mechanisms
            else:
                answers, self.sasl[1 - number] = self.sasl[1 - number], None
            if isinstance(frame, SaslInit) and self.offered and frame.mechanism not in self.offered:
                text = f"sasl-init chooses {frame.mechanism}, which the server hasn't offered"
                self.blame("security/sasl/mechanisms-first", text, offset)
            if isinstance(frame, SaslOutcome):
                self.outcome = frame.code
            else:
                self.sasl[number] = self.seq
        self.observe(
            direction, 0, "method", frame.NAME, frame, offset, size, at_ns, answers=answers
        )

    def transfer(
        self,
        direction: Direction,
        number: int,
        frame: Transfer,
        payload: bytes,
        offset: int,
        size: int,
        at_ns: int,
        lost: int = 0,
    ) -> None:
        """A transfer; `lost` octets of its payload were not captured, -1: it isn't known how many."""
        octets = len(payload) + max(lost, 0)
        _, broken = self.joint.take(direction.number, number, frame, octets, self.seq)
        if broken is not None:
            self._fault(broken, offset, frame)
        if self.joint.tolerated:
            self._take_tolerated(offset)
        receive_transfer(self, direction, number, frame, payload, offset, size, at_ns, lost)

    def _method(
        self,
        direction: Direction,
        number: int,
        frame: Performative | SaslFrame,
        rest: int,
        offset: int,
        size: int,
        at_ns: int,
    ) -> None:
        answers = None
        side = direction.number
        if isinstance(frame, SaslFrame) or rest:
            what = f"{frame.NAME} with {rest} octets behind it" if rest else frame.NAME
            text = f"an AMQP frame with {what}"
            self.blame("transport/frame/performative", text, offset)
        if not isinstance(frame, SaslFrame):
            direction.layer = AMQP
            answers, broken = self.joint.take(side, number, frame, 0, self.seq)
            if broken is not None:
                self._fault(broken, offset, frame)
            if self.joint.tolerated:
                self._take_tolerated(offset)
            if isinstance(frame, Open):
                self.opened[side], answers = self.seq, self.opened[1 - side]
            elif isinstance(frame, Close):
                self.closed[side], answers = self.seq, self.closed[1 - side]
            if direction.contents and isinstance(frame, _CLOSES):
                self._drop(direction, number, frame)
        self.observe(
            direction, number, "method", frame.NAME, frame, offset, size, at_ns, answers=answers
        )
        if isinstance(frame, Open):
            self._check_early(self.directions[not direction.client], frame, at_ns)

    def _drop(self, direction: Direction, number: int, frame: Any) -> None:
        """Deliveries under way end with their link, session or connection."""
        handle = frame.handle if isinstance(frame, (Attach, Detach)) else None
        for key in list(direction.contents):
            if isinstance(frame, Close) or (key[0] == number and handle in (None, key[1])):
                drop_content(self, direction, key)

    # Events.

    def blame(self, rule: str, text: str, offset: int, severity: str = "error") -> None:
        """A rule that the unit at hand breaks."""
        self.faults.append((rule, text, offset, severity))

    def _fault(self, broken: Violation, offset: int, frame: object = None) -> None:
        late = broken.rule == NOTHING_AFTER and isinstance(frame, _AFTER_CLOSE)
        self.blame(broken.rule, str(broken), offset, "warning" if late else "error")

    def _take_tolerated(self, offset: int) -> None:
        for broken in self.joint.tolerated:
            self.blame(broken.rule, str(broken), offset, "warning")
        self.joint.tolerated = []

    def observe(
        self,
        direction: Direction,
        number: int,
        unit: str,
        event: str,
        content: Any,
        offset: int,
        size: int,
        at_ns: int,
        properties: Any = None,
        body: bytes | None = None,
        body_size: int = 0,
        digest: str | None = None,
        answers: int | None = None,
        missing: int | None = 0,
    ) -> None:
        """A unit, and behind it the rules that it broke."""
        seq = self.seq
        self.seq = seq + 1
        self.events.append(
            Observed(
                seq, direction.side, number, unit, event, content, properties, body, body_size, digest, offset,
                size, at_ns, answers, missing,
            )
        )  # fmt: skip
        if self.faults:
            for fault in self.faults:
                self.report(direction, fault, at_ns, seq, number)
            self.faults = []

    def report(
        self, direction: Direction, fault: Fault, at_ns: int, seq: int | None, number: int
    ) -> None:
        """A broken rule."""
        rule, text, offset, severity = fault
        self.events.append(
            Reported(direction.side, f"1.0/{rule}", severity, text, offset, at_ns, seq, number)
        )
