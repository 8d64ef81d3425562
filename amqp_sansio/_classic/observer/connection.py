"""ClassicObserver: observes 0-8 and 0-9-1, both directions of one connection, stepping the model of both ends.

A frame becomes a unit, or a part of one; a broken rule becomes a violation and the observation goes on. Damage within a
direction ends what was under way in it, and the next proven frame begins anew (0-9-1 sections 4.2.2, 4.2.3, 4.2.6).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from ..._ground.brevity import KEPT, treated, trim
from ..._watching.observation import Identified, Observed
from ..._watching.stream import AT_HEADER, IN_DAMAGE, IN_FRAMES
from ...endpoint import Side
from ...errors import CodecError
from ...versions import AMQP_0_8, HEADER_SIZE
from ..codec.dialect import default_dialect, get_dialect
from ..codec.frames import (
    BODY,
    CONTENT_HEADER,
    END,
    FRAME,
    HEADER,
    KNOWN,
    METHOD,
    METHOD_ID,
    OVERHEAD,
    RARE,
    check_plain,
)
from ..codec.methods import (
    BasicDeliver,
    BasicPublish,
    ConnectionStart,
    ConnectionStartOk,
    ConnectionTune,
    ConnectionTuneOk,
)
from ..codec.rule_ids import rule_id
from ..codec.table import check_tables
from ..codec.violation import FRAME_ERROR, Violation
from ..model.connection import CHANNEL_MAX
from ..model.opening_rules import check_start_ok, check_tune, check_tune_ok, dialect_of
from ..model.states import Channel as State
from .content import AT_START, Content, Direction
from .dialect import ObservedDialect, observed_dialect
from .fastpath import ObserverFastPath, Source, known_channel
from .lane import ObserverLane
from .observed_model import MESSAGES, RETURNS, ObservedModel
from .resync import LIKELY_MAX, Reader

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ..._watching.observation import Setting
    from ..codec.dialect import Dialect
    from ..codec.method import Method

_HEADER_BEGIN: Final = 0x41
_WITH_CONTENT: Final = (BasicPublish.ID, BasicDeliver.ID)
_WAITED_FOR: Final = 16_384
"""Octets of the largest method with its content whose end is waited for."""
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


class ClassicObserver(Source):
    """Observes 0-8 and 0-9-1. `undecided` says that frames alone must tell which of the two it is.

    `waiting` is the direction whose next unit is a publish or delivery without its end, which the fast path takes when
    it's all there. If anything else comes before that, its frames are read first, so nothing can be seen of this.
    """

    __slots__ = ("asked", "dialect", "frame_max", "lane", "reader", "start", "tune", "waiting")

    frame_header = 7

    def __init__(self, setting: Setting) -> None:
        assert setting.version is not None
        self.undecided = not setting.from_start
        self.dialect: ObservedDialect = observed_dialect(default_dialect(setting.version).name)
        self.tables = self.dialect.tables
        self.properties: Any = self.dialect.properties[60]
        model = ObservedModel(self.dialect, setting.limits, setting.records, setting.holders)
        if setting.from_start:
            server, client = AT_START, AT_HEADER
        else:
            server = client = IN_DAMAGE
            model.assume_open()
            model.missed(True)
        super().__init__(setting, model, Direction(Side.SERVER, server), Direction(Side.CLIENT, client))
        self.asked: dict[tuple[int, str, bool], int] = {}
        self.frame_max = -1
        self.reader = ObserverFastPath(1 << 32, 1 << 32)
        self.lane = None if setting.lane is None else ObserverLane(1 << 32, 1 << 32, setting.lane)
        self.start: ConnectionStart | None = None
        self.tune: ConnectionTune | None = None
        self.waiting: Direction | None = None
        self._identify(setting.at_ns)

    def fastpath(self, direction: Direction, /) -> Observed | None:
        """The unit that comes next, where it's a common one that is all there."""
        buffer = direction.buffer
        if buffer.held and not buffer.want(buffer.need):
            return None
        if self.lane is not None:
            self.lane.run(self, direction)
            return None
        return self.reader.read(buffer, self)

    def receive(self, client: bool, pieces: Sequence[bytes], times: Sequence[int]) -> bool:
        if self.waiting is not None and self.waiting.client is not client:
            self._wait_no_longer()
        return super().receive(client, pieces, times)

    def receive_piece(self, client: bool, octets: bytes, at_ns: int) -> bool:
        if self.waiting is not None and self.waiting.client is not client:
            self._wait_no_longer()
        return super().receive_piece(client, octets, at_ns)

    def gap(self, client: bool, octets: int, at_ns: int) -> None:
        self._wait_no_longer()
        super().gap(client, octets, at_ns)

    def look(self, direction: Direction, last: bool) -> bool:
        if not super().look(direction, last):
            return False
        self.model.seen_again(direction.client)
        return True

    def caught_up(self, direction: Direction) -> None:
        super().caught_up(direction)
        self.model.seen_again(True)
        self.model.seen_again(False)

    def unit(self, direction: Direction, last: bool) -> bool:
        return self.frame(direction, True) if last and direction.mode == IN_FRAMES else super().unit(direction, last)

    def rule(self, name: str) -> str:
        """The full id of a rule, in the version that is spoken."""
        return rule_id(self.dialect.version, name)

    @property
    def most_under_way(self) -> int:
        """The most messages of one side that may be under way."""
        return self.limits.channels

    def missed(self, direction: Direction) -> None:
        """Tell the model that something of a direction wasn't seen."""
        self.model.missed(direction.client)

    def recognizer(self, direction: Direction) -> Reader:
        """Tells the frames of a direction from other octets."""
        dialects: tuple[Dialect, ...] = (self.dialect,)
        if self.undecided:
            dialects = (get_dialect("0-9-1-rabbit"), get_dialect("0-8-rabbit"))
        agreed = self.frame_max
        largest = min(agreed, self.limits.unparsed) if agreed > 0 else LIKELY_MAX
        return Reader(dialects, direction.side, largest)

    # Octets.

    def begin(self, direction: Direction) -> bool:
        """Read a protocol header, or find that frames come first; False when octets are missing."""
        buffer = direction.buffer
        if direction.mode == AT_START:
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
            self.damage(direction, "wire/frame-type-unknown", text)
            return True
        buffer.pos += HEADER_SIZE
        direction.mode = IN_FRAMES
        try:
            self.model.step_header(direction.side)
        except Violation as broken:
            self._fault(broken, offset)
        self.observe(
            direction, 0, "header", "protocol-header", header, offset, HEADER_SIZE, direction.when(offset + HEADER_SIZE)
        )
        return True

    def frame(self, direction: Direction, last: bool = False) -> bool:
        """Read one frame; False when octets are missing. With `last` no content is waited for."""
        buffer = direction.buffer
        if not buffer.want(7):
            return False
        kind, number, size = FRAME.unpack_from(buffer.data, buffer.pos)
        rare = kind in RARE and self.dialect.version is AMQP_0_8
        if kind not in KNOWN and not rare:
            self.damage(direction, "wire/frame-type-unknown", f"frame of unknown type {kind}")
            return True
        most = self.reader.body_max if kind == BODY else self.reader.other_max
        offset = buffer.offset
        too_large = size > self._largest(kind)
        if too_large or (size > most and direction.told < offset):
            agreed = f"{self.frame_max} are agreed" if self.frame_max > 0 else "which no peer can mean"
            fault = ("wire/frame-oversize-send", f"frame of {size + OVERHEAD} octets, {agreed}", offset, "error")
            if too_large:
                self.damage(direction, *fault[:2])
            else:
                direction.told = offset
                self.report(direction, fault, direction.when(offset + 7), None, number)
            return True
        if not buffer.want(size + OVERHEAD):
            return False
        if kind == METHOD and not (last or direction.held_to) and self.lacks_content(direction, number, size):
            self.waiting = direction
            return False
        data = buffer.data
        start = buffer.pos + 7
        end = start + size
        if data[end] != END:
            text = f"frame ends with octet 0x{data[end]:02x}, not 0xce"
            self.damage(direction, "wire/frame-end-check", text, size + OVERHEAD, size + OVERHEAD)
            return True
        buffer.pos = end + 1
        at_ns = direction.when(offset + size + OVERHEAD)
        payload = data[start:end]
        if kind == METHOD:
            self._method(direction, number, payload, offset, at_ns)
        elif kind == BODY:
            self._content_body(direction, number, payload, size, offset, at_ns)
        elif kind == HEADER:
            self._content_header(direction, number, payload, offset, at_ns)
        else:
            try:
                check_plain(kind, number, size)
            except Violation as broken:
                self._fault(broken, offset)
            event = RARE.get(kind, "heartbeat")
            unit, content = ("frame", payload) if rare else (event, None)
            self.observe(direction, number, unit, event, content, offset, size + OVERHEAD, at_ns)
        return True

    def lacks_content(self, direction: Direction, number: int, size: int) -> bool | None:
        """Whether a method with a payload of `size` octets begins what the fast path can take but for its end."""
        buffer = direction.buffer
        end = size + OVERHEAD
        if (
            size < 4
            or direction.contents
            or METHOD_ID.unpack_from(buffer.data, buffer.pos + 7)[0] not in _WITH_CONTENT
            or buffer.data[buffer.pos + end - 1] != END
            or (known := known_channel(self, direction, number)) is None
            or known.state is not State.OPEN
        ):
            return None
        whole = end + 7
        if buffer.want(whole):
            kind, channel, size = FRAME.unpack_from(buffer.data, buffer.pos + end)
            if kind != HEADER or channel != number or size < 14:
                return None
            whole = end + 19
            if buffer.want(whole):
                _, _, body = CONTENT_HEADER.unpack_from(buffer.data, buffer.pos + end + 7)
                end += size + OVERHEAD
                whole = end + 7 if body else end
                if body and buffer.want(whole):
                    if FRAME.unpack_from(buffer.data, buffer.pos + end) != (BODY, number, body):
                        return None
                    whole = end + body + OVERHEAD
        return (whole <= min(_WAITED_FOR, self.limits.unparsed) and not buffer.want(whole)) or None

    def _wait_no_longer(self) -> None:
        """Take the frames that are there, since something else comes before the next one."""
        direction, self.waiting = self.waiting, None
        while direction is not None and self.unit(direction, direction.mode == IN_FRAMES):
            pass

    def _largest(self, kind: int) -> int:
        """The largest payload that is waited for."""
        limits = self.limits
        if kind != BODY:
            return limits.header
        return max(limits.message, limits.unparsed) if self.frame_max == 0 else limits.unparsed

    # Methods.

    def _method(self, direction: Direction, number: int, payload: bytes, offset: int, at_ns: int) -> None:
        if self.undecided:
            self._decide(payload, direction.side, at_ns)
        size = len(payload) + OVERHEAD
        direction.stray.pop(number, None)
        kind = None
        if len(payload) < 4:
            text = "a method frame of less than four octets"
            self.blame("wire/method-payload", text, offset)
        else:
            (method_id,) = METHOD_ID.unpack_from(payload, 0)
            kind = self.dialect.methods.get(method_id)
            if method_id not in self.dialect.own.methods:
                what = f"method {method_id & 0xFFFF} in class {method_id >> 16}"
                text = f"{self.dialect.name} has no {what if kind is None else kind.NAME}"
                self.blame("wire/method-payload", text, offset)
        if kind is None:
            self._interrupt(direction, number)
            self.observe(direction, number, "unknown", "unknown", payload, offset, size, at_ns)
            return
        try:
            method = kind.decode(payload, 4, len(payload), self.tables)
            check_tables(method, self.tables)
        except CodecError as error:
            rule = error.rule or "wire/method-payload"
            self.blame(rule, f"{kind.NAME} can't be read: {error}", offset)
            self._interrupt(direction, number)
            if kind.HAS_CONTENT:
                self._begin_content(
                    direction, number, Content(payload, kind.NAME, kind.CLASS_ID, False), offset, size, at_ns
                )
            else:
                self.observe(direction, number, "method", kind.NAME, payload, offset, size, at_ns)
            return
        answers, known = self._step(direction, number, method, offset)
        if kind.HAS_CONTENT:
            content = Content(method, kind.NAME, kind.CLASS_ID, known)
            content.answers = answers
            content.booked = self.model.booked(number, method, self.seq)
            self._begin_content(direction, number, content, offset, size, at_ns)
            return
        if kind.NAME in _ASK:
            self.asked[number, kind.NAME, direction.client] = self.seq
            trim(self.asked, self.limits.calls)
        booked = self.model.booked(number, method, self.seq) if kind.NAME in MESSAGES else None
        self.observe(
            direction,
            number,
            "method",
            kind.NAME,
            method,
            offset,
            size,
            at_ns,
            answers=answers,
            known=known,
            booked=booked,
        )
        if kind.CLASS_ID == 10:
            self._opening(direction, method, offset, at_ns)

    def _step(self, direction: Direction, number: int, method: Method, offset: int) -> tuple[int | None, bool]:
        """Step the model; which unit the method answers, and whether the model follows its content."""
        model = self.model
        side = direction.side
        content: Content | None = direction.contents.get(number)
        # The unit of a message is known when it's whole.
        token = None if method.HAS_CONTENT else self.seq if content is None else self.seq + 1
        known = True
        try:
            step = model.step(side, number, method, token, False)
        except Violation as broken:
            if content is not None and broken.rule == "wire/content-incomplete":
                # The content ends here; the method may be right without it.
                content.blame(broken, offset)
                self.drop_content(direction, number)
                return self._step(direction, number, method, offset)
            if not model.is_race(side, number, method, broken):
                self._fault(broken, offset)
            step = model.step_anyway(side, number, method, token)
            known = step is not None
        if model.tolerated:
            for each in model.tolerated:
                self.blame(each.rule or "", each.text, offset, "warning")
            model.tolerated = []
        self._interrupt(direction, number)
        if step is not None and step.answered is not None:
            return step.answered.token, known
        asked = _ASKED_BY.get(method.NAME)
        if asked is not None:
            return self.asked.pop((number, asked, not direction.client), None), known
        return (model.answer_anyway(side, number, method) if step is None else None), known

    def _opening(self, direction: Direction, method: Method, offset: int, at_ns: int) -> None:
        """Follow the dialect and the agreed limits through connection methods, and judge the opening."""
        if isinstance(method, ConnectionStart):
            # Of one whose lists are too long nothing is held against the client.
            lists = method.mechanisms, method.locales
            fits = sum([len(each) for each in lists]) <= KEPT
            self.start = ConnectionStart(method.version_major, method.version_minor, {}, *lists) if fits else None
            dialect = dialect_of(method, self.dialect)
            self.undecided = False
            if dialect is not self.dialect.own:
                self._use(dialect, at_ns)
        elif isinstance(method, ConnectionStartOk):
            if self.start is not None:
                self._check(direction, check_start_ok(self.start, method), offset, at_ns)
        elif isinstance(method, ConnectionTune):
            self.tune = method
            self._check(direction, check_tune(method), offset, at_ns)
        elif isinstance(method, ConnectionTuneOk):
            if self.tune is not None:
                self._check(direction, check_tune_ok(self.tune, method), offset, at_ns)
            self.model.agree(method.channel_max or CHANNEL_MAX, method.frame_max)
            self.frame_max = method.frame_max
            if self.frame_max:
                lenient = self.dialect.lenient_frames
                agreed = self.frame_max - OVERHEAD
                largest = self.frame_max if lenient else agreed, self.limits.header if lenient else agreed
                self.reader.agree(*largest)
                if self.lane is not None:
                    self.lane.agree(*largest)

    def _check(self, direction: Direction, broken: list[Violation], offset: int, at_ns: int) -> None:
        for violation in broken:
            fault = (violation.rule or "", violation.text, offset, "error")
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
        self.dialect = observed_dialect(dialect.name)
        self.model.speak(self.dialect)
        self.tables = dialect.tables
        self.properties = dialect.properties[60]
        for direction in self.directions:
            direction.sound = None
        self._identify(at_ns)

    def _identify(self, at_ns: int) -> None:
        setting = self.setting
        self.events.append(
            Identified(self.dialect.version, self.dialect.name, setting.client, setting.server, setting.by, at_ns)
        )

    def _interrupt(self, direction: Direction, number: int) -> None:
        """A method ends the message that its channel has under way."""
        content: Content | None = direction.contents.get(number)
        if content is not None:
            self.drop_content(direction, number)

    # Messages: a method with content, its header and its bodies become one unit (section 4.2.6).

    def _begin_content(
        self, direction: Direction, number: int, content: Content, offset: int, size: int, at_ns: int
    ) -> None:
        """A method with content has come; it takes over the faults found so far."""
        content.offset = offset
        content.size = size
        content.at_ns = at_ns
        content.faults = self.faults
        self.faults = []
        direction.contents[number] = content
        if isinstance(content.method, bytes):
            self._hold(direction, content, len(content.method))
        if len(direction.contents) > self.limits.channels:
            # More messages are under way than channels are needed.
            self._end_oldest(direction)

    def _hold(self, direction: Direction, content: Content, octets: int) -> None:
        """Count octets that are kept for a message; where they are too many, the oldest other messages end here."""
        content.held += octets
        self.bodies += octets
        while self.bodies > self.limits.bodies and len(direction.contents) > 1:
            self._end_oldest(direction, content)

    def _end_oldest(self, direction: Direction, present: Content | None = None) -> None:
        contents = direction.contents.items()
        self.drop_content(direction, next(number for number, content in contents if content is not present))

    def _content_header(self, direction: Direction, number: int, payload: bytes, offset: int, at_ns: int) -> None:
        """A content header."""
        content: Content | None = direction.contents.get(number)
        if content is None or content.announced is not None or len(payload) < 14:
            self._stray(direction, number, "content-header", payload, offset, at_ns)
            return
        class_id, weight, size = CONTENT_HEADER.unpack_from(payload, 0)
        self._follow(direction, number, content, offset, self.model.header, class_id, weight, size)
        content.announced = size
        dialect = self.dialect
        kind = dialect.properties.get(class_id) or dialect.properties[content.class_id]
        content.properties = kind.from_wire(payload[12:], self.tables)
        try:
            content.properties.check()
        except CodecError as error:
            text = f"the properties of {content.name} can't be read: {error}"
            content.faults.append((error.rule or "wire/content-incomplete", text, offset, "error"))
        if self.body == "size" or size > self.limits.message:
            content.parts = None
        self._hold(direction, content, len(payload))
        self._count(content, len(payload), at_ns)
        if not size:
            self.drop_content(direction, number)

    def _content_body(
        self, direction: Direction, number: int, payload: bytes, length: int, offset: int, at_ns: int
    ) -> None:
        """A piece of a body of `length` octets; `payload` is shorter where the capture cut it."""
        content: Content | None = direction.contents.get(number)
        if content is None or content.announced is None or content.received + length > content.announced:
            self._stray(direction, number, "content-body", payload, offset, at_ns)
            return
        self._follow(direction, number, content, offset, self.model.body, length)
        if content.parts is not None and length:
            if content.cut or self.bodies + length > self.limits.bodies:
                self._hold(direction, content, -content.received)
                content.parts = None
            else:
                self._hold(direction, content, length)
                content.parts.append(payload)
        content.received += length
        self._count(content, length, at_ns)
        if content.received == content.announced:
            self.drop_content(direction, number)

    def drop_content(self, direction: Direction, key: int) -> None:
        """The message is whole, or nothing more of it comes: make the unit of it."""
        content = direction.contents.pop(key)
        self.bodies -= content.held
        announced = content.announced
        whole = content.received == announced
        missing = None if announced is None else announced - content.received + content.cut
        if not whole and content.known:
            self.model.drop_content(direction.client, key)
        body = digest = None
        if content.parts is not None and missing == 0:
            body, digest = treated(b"".join(content.parts), self.body)
        method = content.method
        if not isinstance(method, bytes) and self.dialect.replies[method.ID]:
            # Only now is it known which unit a reply to this request will answer.
            channel = self.model.channels.get(key)
            calls = channel.calls(direction.client) if channel is not None else None
            if calls:
                calls.name_newest(self.seq)
        faults, self.faults = self.faults, content.faults
        self.observe(
            direction,
            key,
            "content" if whole else "partial",
            content.name,
            method,
            content.offset,
            content.size,
            content.at_ns,
            content.properties,
            body,
            announced or 0,
            digest,
            content.answers,
            missing,
            content.known,
            content.booked,
        )
        self.faults = faults

    def _count(self, content: Content, length: int, at_ns: int) -> None:
        content.size += length + OVERHEAD
        content.at_ns = at_ns
        if self.faults:
            content.faults += self.faults
            self.faults = []

    def _follow(
        self, direction: Direction, number: int, content: Content, offset: int, step: Callable[..., object], *said: int
    ) -> None:
        """Step the model with a content frame. One that breaks a rule can be read, but the model need not follow it."""
        if content.known:
            try:
                step(direction.side, number, *said)
            except Violation as broken:
                content.blame(broken, offset)
                content.known = False
                self.model.drop_content(direction.client, number)

    def _stray(self, direction: Direction, number: int, event: str, payload: bytes, offset: int, at_ns: int) -> None:
        """A content frame that belongs to no message: one violation for all that follow each other."""
        model = self.model
        content: Content | None = direction.contents.get(number)
        if content is None:
            channel = model.channels.get(number)
            assumed = model.assumed if channel is None else channel.assumed
            # An empty body behind an empty message is tolerated, as brokers do.
            if number not in direction.stray and not assumed and payload:
                broken = self._provoke(direction, number, event, payload)
                self.blame(broken.rule or "wire/content-incomplete", broken.text, offset)
        else:
            if content.known:
                broken = self._provoke(direction, number, event, payload)
                content.blame(broken, offset)
            self.drop_content(direction, number)
        direction.stray[number] = True
        is_body = event == "content-body"
        self.observe(
            direction,
            number,
            "frame",
            event,
            None if is_body else payload,
            offset,
            len(payload) + OVERHEAD,
            at_ns,
            None,
            payload if is_body and self.body in ("keep", "all") else None,
            len(payload) if is_body else 0,
        )

    def _provoke(self, direction: Direction, number: int, event: str, payload: bytes) -> Violation:
        """Ask the model which rule a content frame breaks that is out of place."""
        model = self.model
        try:
            if event == "content-body":
                model.body(direction.side, number, len(payload))
            elif len(payload) >= 14:
                model.header(direction.side, number, *CONTENT_HEADER.unpack_from(payload, 0))
        except Violation as broken:
            return broken
        text = f"content header with {len(payload)} octets, 14 are the least"
        return Violation(FRAME_ERROR, text, rule="wire/content-incomplete")

    # Gaps and damage.

    def cut(self, direction: Direction, octets: int) -> bool:
        """Go on with a message whose body frame is cut, when the hole has its rest."""
        buffer = direction.buffer
        held = len(buffer)
        if direction.mode != IN_FRAMES or not buffer.want(7):
            return False
        kind, number, size = FRAME.unpack_from(buffer.data, buffer.pos)
        content: Content | None = direction.contents.get(number)
        if (
            kind != BODY
            or content is None
            or content.announced is None
            or not held < size + OVERHEAD <= held + octets
            or content.received + size > content.announced
        ):
            return False
        buffer.want(held)
        offset = buffer.offset
        payload = buffer.data[buffer.pos + 7 : buffer.pos + 7 + size]
        buffer.clear()
        content.size += held - size - OVERHEAD
        content.cut += size - len(payload)
        self._content_body(direction, number, payload, size, offset, direction.when(direction.end))
        # The octets behind it needn't be the next frame.
        return False

    def abandon(self, direction: Direction) -> None:
        """No message that is under way can be trusted to go on; frames of these channels may belong to it."""
        direction.stray.update(dict.fromkeys(direction.contents, True))
        super().abandon(direction)

    # Events.

    def _fault(self, broken: Violation, offset: int) -> None:
        self.blame(broken.rule or "connection/error-scope", broken.text, offset)

    def observe(
        self,
        direction: Direction,
        number: int,
        unit: str,
        event: str,
        content: object,
        offset: int,
        size: int,
        at_ns: int,
        properties: object = None,
        body: bytes | None = None,
        body_size: int = 0,
        digest: str | None = None,
        answers: int | None = None,
        missing: int | None = 0,
        known: bool = True,
        booked: int | None = None,
    ) -> None:
        """Give out a unit."""
        model = self.model
        context = None
        if event in MESSAGES and unit != "partial" and content.__class__ is not bytes:
            context = model.message(
                direction.side, number, self.seq, content, (properties, body_size, digest), answers, known, booked
            )
            if missing and context is None and event in RETURNS:
                model.returned_in_part(number)
        settles = model.take_settled()
        if not model.records:
            context = None
        told = Observed(
            self.seq,
            direction.side,
            number,
            unit,
            event,
            content,
            properties,
            body,
            body_size,
            digest,
            offset,
            size,
            at_ns,
            answers,
            missing,
            settles,
            context,
        )
        self.tell(direction, told)
