"""ClassicObserver: observes 0-8 and 0-9-1, both directions of one connection, stepping the joint of both ends.

A frame becomes a unit, or a part of one; a broken rule becomes a violation and the observation goes on. Damage within a
direction ends what was under way in it, and the next proven frame begins anew (0-9-1 sections 4.2.2, 4.2.3, 4.2.6).
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any, Final

from ..._core.stream import AT_HEADER, IN_DAMAGE, IN_FRAMES
from ...endpoint import Side
from ...errors import CodecError
from ...negotiation import HEADER_SIZE
from ...observer import Identified, Observed, Skipped
from ...observer import Violation as Reported
from ...versions import AMQP_0_8
from ..codec.dialect import default_dialect, get_dialect
from ..codec.frames import (
    BODY,
    END,
    FRAME,
    HEADER,
    HEARTBEAT,
    METHOD,
    METHOD_ID,
    OOB_BODY,
    OOB_HEADER,
    OOB_METHOD,
    OVERHEAD,
    TRACE,
    check_heartbeat,
)
from ..codec.rule_ids import rule_id
from ..codec.table import check_tables
from ..codec.violation import FRAME_ERROR, Violation
from ..model.opening_rules import check_start_ok, check_tune, check_tune_ok, dialect_of
from ..model.states import Connection as State
from .content import Content, Fault, begin_content, end_content, receive_body, receive_header
from .damage import AT_START, Direction, cut_body, damage, end_octets, look
from .dialect import ObservedDialect, observed_dialect
from .fastpath import fast_observed
from .observed_model import ObservedModel
from .resync import Reader

if TYPE_CHECKING:
    from ...observer import ObserverEvent, Setting
    from ..codec.dialect import Dialect
    from ..codec.method import Method

_HEADER_BEGIN: Final = 0x41
_FRAMES: Final = (METHOD, BODY, HEADER, HEARTBEAT)
_RARE_FRAMES: Final = {
    OOB_METHOD: "oob-method",
    OOB_HEADER: "oob-header",
    OOB_BODY: "oob-body",
    TRACE: "trace",
}
_ASKED_BY: Final = {
    "connection.start-ok": "connection.start",
    "connection.secure-ok": "connection.secure",
    "connection.tune-ok": "connection.tune",
    "connection.open-ok": "connection.open",
    "connection.redirect": "connection.open",
    "connection.close-ok": "connection.close",
    "channel.open-ok": "channel.open",
    "channel.close-ok": "channel.close",
}
"""The replies that the state tables know instead of the books, and what each answers."""
_ASK: Final = frozenset(_ASKED_BY.values())


class ClassicObserver:
    """The machine for 0-8 and 0-9-1. `undecided` says that frames alone must tell which of the two it is."""

    __slots__ = (
        "asked", "bodies", "body", "body_max", "current", "dialect", "directions", "events", "faults", "frame_max",
        "joint", "limits", "other_max", "properties", "seq", "setting", "start", "tables", "tune", "undecided",
    )  # fmt: skip

    def __init__(self, setting: Setting) -> None:
        assert setting.version is not None
        self.setting = setting
        self.limits = setting.limits
        self.body = setting.body
        self.undecided = not setting.from_start
        self.dialect: ObservedDialect = observed_dialect(default_dialect(setting.version).name)
        self.tables = self.dialect.tables
        self.properties: Any = self.dialect.properties[60]
        self.joint = ObservedModel(self.dialect, setting.limits)
        if setting.from_start:
            modes = (AT_START, AT_HEADER)
        else:
            modes = (IN_DAMAGE, IN_DAMAGE)
            self.joint.state = State.OPEN
            self.joint.missed(True)
        self.directions = (Direction(Side.SERVER, modes[0]), Direction(Side.CLIENT, modes[1]))
        self.current: Direction | None = None
        self.events: deque[ObserverEvent] = deque()
        self.faults: list[Fault] = []
        self.seq = 0
        self.bodies = 0
        self.asked: dict[tuple[int, str, bool], int] = {}
        self.frame_max = -1
        self.body_max = self.other_max = 1 << 32
        self.start: Any = None
        self.tune: Any = None
        self._identify(setting.at_ns)

    def receive(self, client: bool, octets: bytes, at_ns: int) -> None:
        """Queue octets; `next` parses them."""
        direction = self.current = self.directions[client]
        direction.receive(octets, at_ns)

    def gap(self, client: bool, octets: int, at_ns: int) -> None:
        """Octets are missing: end what was under way, and look for a frame behind the hole."""
        direction = self.directions[client]
        frame_end = direction.frame_end()
        cut_body(self, direction, octets)
        end_octets(self, direction, at_ns)
        self.joint.missed(client)
        self.events.append(Skipped(direction.side, direction.end, octets, at_ns, "gap"))
        direction.buffer.consumed += octets
        direction.end += octets
        # Behind the hole the frame it began in goes on, whose octets may look like frames themselves.
        prefer = frame_end if frame_end > direction.end else 0
        direction.search(direction.end, direction.end, prefer)

    def finish(self, at_ns: int) -> None:
        """End both directions."""
        for direction in reversed(self.directions):
            end_octets(self, direction, at_ns)

    @property
    def held(self) -> int:
        """Octets held: unparsed ones, and bodies under way."""
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
                self.current = None
                return events.popleft() if events else None
            if events:
                return events.popleft()

    # Octets.

    def unit(self, direction: Direction, last: bool) -> bool:
        """Read one frame or header; False when octets are missing."""
        mode = direction.mode
        if mode == IN_FRAMES:
            return self._frame(direction)
        if mode == IN_DAMAGE:
            return look(self, direction, last)
        buffer = direction.buffer
        if mode == AT_START:
            if not buffer.want(1):
                return False
            if buffer.data[buffer.pos] != _HEADER_BEGIN:
                direction.mode = IN_FRAMES
                return True
        if not buffer.want(HEADER_SIZE):
            return False
        offset = buffer.offset
        header = buffer.data[buffer.pos : buffer.pos + HEADER_SIZE]
        if not header.startswith(b"AMQP"):
            text = f"neither a protocol header nor a frame, but {header!r}"
            damage(self, direction, "wire/frame-type-unknown", text)
            return True
        buffer.pos += HEADER_SIZE
        direction.mode = IN_FRAMES
        try:
            self.joint.step_header(direction.side)
        except Violation as broken:
            self._fault(broken, offset)
        self.observe(
            direction, 0, "header", "protocol-header", header, offset, HEADER_SIZE,
            direction.when(offset + HEADER_SIZE),
        )  # fmt: skip
        return True

    def _frame(self, direction: Direction) -> bool:
        buffer = direction.buffer
        if not buffer.want(7):
            return False
        kind, number, size = FRAME.unpack_from(buffer.data, buffer.pos)
        rare = kind in _RARE_FRAMES and self.dialect.version is AMQP_0_8
        if kind not in _FRAMES and not rare:
            damage(self, direction, "wire/frame-type-unknown", f"frame of unknown type {kind}")
            return True
        most = self.body_max if kind == BODY else self.other_max
        if size > self._largest(kind):
            text = f"frame of {size + OVERHEAD} octets, {self._agreed()}"
            damage(self, direction, "wire/frame-oversize-send", text)
            return True
        if size > most and direction.told < buffer.offset:
            direction.told = offset = buffer.offset
            text = f"frame of {size + OVERHEAD} octets, {self._agreed()}"
            fault = ("wire/frame-oversize-send", text, offset)
            self.report(direction, fault, direction.when(offset + 7), None, number)
            return True
        if not buffer.want(size + OVERHEAD):
            return False
        data = buffer.data
        start = buffer.pos + 7
        end = start + size
        offset = buffer.offset
        if data[end] != END:
            text = f"frame ends with octet 0x{data[end]:02x}, not 0xce"
            damage(self, direction, "wire/frame-end-check", text, size + OVERHEAD)
            return True
        buffer.pos = end + 1
        at_ns = direction.when(offset + size + OVERHEAD)
        payload = data[start:end]
        if kind == METHOD:
            self._method(direction, number, payload, offset, at_ns)
        elif kind == BODY:
            receive_body(self, direction, number, payload, size, offset, at_ns)
        elif kind == HEADER:
            receive_header(self, direction, number, payload, offset, at_ns)
        else:
            try:
                if kind == HEARTBEAT:
                    check_heartbeat(number, size)
                elif kind == TRACE and number:
                    raise Violation(
                        FRAME_ERROR, f"trace frame on channel {number}", rule="wire/trace-channel"
                    )
            except Violation as broken:
                self._fault(broken, offset)
            event = _RARE_FRAMES.get(kind)
            if event is None:
                self.observe(
                    direction,
                    number,
                    "heartbeat",
                    "heartbeat",
                    None,
                    offset,
                    size + OVERHEAD,
                    at_ns,
                )
            else:
                self.observe(
                    direction, number, "frame", event, payload, offset, size + OVERHEAD, at_ns
                )
        return True

    def _agreed(self) -> str:
        return f"{self.frame_max} are agreed" if self.frame_max > 0 else "which no peer can mean"

    def _largest(self, kind: int) -> int:
        """The largest payload that is waited for."""
        limits = self.limits
        if kind != BODY:
            return limits.header
        return max(limits.message, limits.unparsed) if self.frame_max == 0 else limits.unparsed

    # Methods.

    def _method(
        self, direction: Direction, number: int, payload: bytes, offset: int, at_ns: int
    ) -> None:
        if self.undecided:
            self._decide(payload, direction.side, at_ns)
        size = len(payload) + OVERHEAD
        direction.stray.pop(number, None)
        kind = None
        if len(payload) < 4:
            self.faults.append(
                ("wire/method-payload", "a method frame of less than four octets", offset)
            )
        else:
            (method_id,) = METHOD_ID.unpack_from(payload, 0)
            kind = self.dialect.methods.get(method_id)
            if method_id not in self.dialect.own.methods:
                what = f"method {method_id & 0xFFFF} in class {method_id >> 16}"
                text = f"{self.dialect.name} has no {what if kind is None else kind.NAME}"
                self.faults.append(("wire/method-payload", text, offset))
        if kind is None:
            self._interrupt(direction, number)
            self.observe(direction, number, "unknown", "unknown", payload, offset, size, at_ns)
            return
        try:
            method = kind.decode(payload, 4, len(payload), self.tables)
            check_tables(method, self.tables)
        except CodecError as error:
            rule = error.rule or "wire/method-payload"
            self.faults.append((rule, f"{kind.NAME} can't be read: {error}", offset))
            self._interrupt(direction, number)
            if kind.HAS_CONTENT:
                begin_content(
                    self,
                    direction,
                    number,
                    Content(payload, kind.NAME, kind.CLASS_ID, False),
                    offset,
                    size,
                    at_ns,
                )
            else:
                self.observe(direction, number, "method", kind.NAME, payload, offset, size, at_ns)
            return
        answers, known = self._step(direction, number, method, offset)
        if kind.HAS_CONTENT:
            content = Content(method, kind.NAME, kind.CLASS_ID, known)
            content.answers = answers
            begin_content(self, direction, number, content, offset, size, at_ns)
            return
        if kind.NAME in _ASK:
            self.asked[number, kind.NAME, direction.client] = self.seq
            if len(self.asked) > self.limits.calls:
                del self.asked[next(iter(self.asked))]
        self.observe(
            direction, number, "method", kind.NAME, method, offset, size, at_ns, answers=answers
        )
        if kind.CLASS_ID == 10:
            self._opening(direction, method, offset, at_ns)

    def _step(
        self, direction: Direction, number: int, method: Method, offset: int
    ) -> tuple[int | None, bool]:
        """Step the joint; which unit the method answers, and whether the joint follows its content."""
        joint = self.joint
        side = direction.side
        content = direction.contents.get(number)
        token = self.seq if content is None else self.seq + 1
        step = None
        known = True
        try:
            step = joint.step(side, number, method, token, False)
        except Violation as violation:
            broken: Violation | None = violation
            if content is not None and violation.rule == "wire/content-incomplete":
                content.faults.append((violation.rule, violation.text, offset))
                end_content(self, direction, number, content)
                content = None
                try:
                    step = joint.step(side, number, method, token, False)
                    broken = None
                except Violation as second:
                    broken = second
            if broken is not None:
                if not joint.is_race(side, number, method, broken):
                    self._fault(broken, offset)
                step = joint.step_anyway(side, number, method, token)
                known = step is not None
        if content is not None:
            end_content(self, direction, number, content)
        if step is not None and step.answered is not None:
            return step.answered.token, known
        asked = _ASKED_BY.get(method.NAME)
        if asked is not None:
            return self.asked.pop((number, asked, not direction.client), None), known
        return None, known

    def _opening(self, direction: Direction, method: Any, offset: int, at_ns: int) -> None:
        """What connection methods change: the dialect and the agreed limits; and the rules of the opening."""
        name = method.NAME
        if name == "connection.start":
            self.start = method
            dialect = dialect_of(method, self.dialect)
            self.undecided = False
            if dialect is not self.dialect.own:
                self._use(dialect, at_ns)
        elif name == "connection.start-ok" and self.start is not None:
            self._check(direction, check_start_ok(self.start, method), offset, at_ns)
        elif name == "connection.tune":
            self.tune = method
            self._check(direction, check_tune(method), offset, at_ns)
        elif name == "connection.tune-ok":
            if self.tune is not None:
                self._check(direction, check_tune_ok(self.tune, method), offset, at_ns)
            self.joint.channel_max = method.channel_max or 65535
            self.frame_max = method.frame_max
            if self.frame_max:
                lenient = self.dialect.lenient_frames
                self.body_max = self.frame_max if lenient else self.frame_max - OVERHEAD
                self.other_max = self.limits.header if lenient else self.frame_max - OVERHEAD

    def _check(
        self, direction: Direction, broken: list[Violation], offset: int, at_ns: int
    ) -> None:
        for violation in broken:
            fault = (violation.rule or "", violation.text, offset)
            self.report(direction, fault, at_ns, self.seq - 1, 0)

    def _decide(self, payload: bytes, side: Side, at_ns: int) -> None:
        """Find out whether a method can only be 0-9-1's or only 0-8's."""
        later, earlier = get_dialect("0-9-1-rabbit"), get_dialect("0-8-rabbit")
        is_later = bool(Reader((later,), side).methods(payload))
        is_earlier = bool(Reader((earlier,), side).methods(payload))
        if is_later != is_earlier:
            self.undecided = False
            if is_earlier:
                self._use(earlier, at_ns)

    def _use(self, dialect: Dialect, at_ns: int) -> None:
        self.dialect = self.joint.dialect = observed_dialect(dialect.name)
        self.tables = dialect.tables
        self.properties = dialect.properties[60]
        for direction in self.directions:
            direction.good = b"\x00\x00"
        self._identify(at_ns)

    def _identify(self, at_ns: int) -> None:
        setting = self.setting
        self.events.append(
            Identified(
                self.dialect.version,
                self.dialect.name,
                setting.client,
                setting.server,
                setting.by,
                at_ns,
            )
        )

    def _interrupt(self, direction: Direction, number: int) -> None:
        """A method that can't be stepped ends what its channel has under way."""
        content = direction.contents.get(number)
        if content is not None:
            end_content(self, direction, number, content)

    # Events.

    def _fault(self, broken: Violation, offset: int) -> None:
        self.faults.append((broken.rule or "connection/error-scope", broken.text, offset))

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
        rule, text, offset = fault
        self.events.append(
            Reported(
                direction.side,
                rule_id(self.dialect.version, rule),
                "error",
                text,
                offset,
                at_ns,
                seq,
                number,
            )
        )
