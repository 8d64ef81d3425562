"""Observer: observes 1.0, both directions of one connection, stepping the model of both ends.

Each frame becomes a unit, a delivery is put together over its transfers; a broken rule becomes a violation and the
observation goes on. Damage within a direction ends what was under way in it, and the next proven frame begins
anew (1.0 part 2 sections 2.2 to 2.7, part 5 section 5.3).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast

from ..._ground.brevity import KEPT, treated
from ..._watching.observation import BaseObserver, Identified, Observed
from ..._watching.stream import AT_HEADER, IN_DAMAGE, IN_FRAMES, OPAQUE, PROVEN, REFUTED
from ...endpoint import Side
from ...errors import CodecError
from ...versions import AMQP_1_0, HEADER_BEGIN
from ..codec.composite import Performative, SaslFrame, decode_frame_body, with_rest
from ..codec.faults import READ_FAULTS
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
from ..codec.message import LenientMessage, Message, check_message, odd_fields
from ..codec.odd import OddRecord
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
from ..codec.violation import LateViolation
from ..model import states
from ..model.harm import Harm, harm_of, worst
from .content import Content, Direction, follow, is_request, missing
from .fastpath import fast_observed
from .observed_model import NOTHING_AFTER, ObservedModel
from .resync import HEADERS, LIKELY_MAX, NAMES, Reader, descriptor
from .sections import Sections, body_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..._watching.observation import Setting
    from ..codec.odd import Odd
    from ..codec.violation import Violation
    from .outcomes import Context


_EARLY: Final = "transport/connection/pre-open-limits"
_AFTER_CLOSE: Final = (Flow, Close)
"""Performatives that RabbitMQ 3 sends behind its close, and every peer must put up with."""
_CLOSES: Final = (Detach, End, Close, Begin, Attach)
"""Performatives that end deliveries under way on a handle, a channel or everywhere."""


def _is_lost(error: OddRecord) -> bool:
    """Whether nothing is known of what a frame did, for what is odd in it."""
    harm, _ = worst(error.odds)
    if isinstance(error.record, Open):
        return False
    return harm is Harm.CONNECTION or (harm is Harm.SESSION and not isinstance(error.record, Begin))


Contents = tuple["Message | None", "bytes | None", "int | None", "str | None"]
"""Of a delivery that is whole: its message without a body that isn't kept, the body, the body's size and digest."""
_NO_CONTENTS: Final[Contents] = (None, None, 0, None)


class Observer(BaseObserver[Direction, ObservedModel]):
    """Observes 1.0.

    `offered` are the mechanisms of the server, `outcome` how the login ended. `sasl`, `opened` and `closed` are the
    last units of each side that may be answered. The unit at hand begins at `offset`, has `size` octets and was there
    at `at_ns`.
    """

    __slots__ = ("at_ns", "closed", "offered", "offset", "opened", "outcome", "sasl", "size")

    fastpath = fast_observed
    header_rule = "transport/version/header-first"

    def __init__(self, setting: Setting) -> None:
        model = ObservedModel(setting.limits, setting.records, setting.holders)
        mode = AT_HEADER if setting.from_start else IN_DAMAGE
        super().__init__(setting, model, Direction(Side.SERVER, mode), Direction(Side.CLIENT, mode))
        if not setting.from_start:
            for direction in self.directions:
                model.missed(direction.number)
                direction.tear()
        self.sasl: list[int | None] = [None, None]
        self.opened: list[int | None] = [None, None]
        self.closed: list[int | None] = [None, None]
        self.offered: tuple[str, ...] = ()
        self.outcome: int | None = None
        self.offset = 0
        self.size = 0
        self.at_ns = 0
        self.events.append(Identified(AMQP_1_0, "", setting.client, setting.server, setting.by, setting.at_ns))

    def finish(self, at_ns: int) -> None:
        for direction in reversed(self.directions):
            self.end_octets(direction)
            self.doubt(direction)

    def abandon(self, direction: Direction) -> None:
        direction.tear()
        super().abandon(direction)

    @property
    def most_under_way(self) -> int:
        """The most messages of one side that may be under way."""
        return self.limits.consumers

    def missed(self, direction: Direction) -> None:
        self.model.missed(direction.number)
        self.model.dropped(direction.number)
        direction.layer = None

    def look(self, direction: Direction, last: bool) -> bool:
        if not super().look(direction, last):
            return False
        self.model.missed(direction.number)
        return True

    def recognizer(self, direction: Direction) -> Reader:
        agreed = self.model.halves[1 - direction.number].open
        largest = LIKELY_MAX if agreed is None else max(agreed.max_frame_size, MIN_MAX_FRAME_SIZE)
        return Reader(direction.side, min(largest, self.limits.unparsed), self.limits.header)

    # Octets.

    def _header(self, direction: Direction) -> None:
        """A protocol header, of this version or another (part 2 section 2.2, part 5 section 5.1)."""
        buffer = direction.buffer
        self._begin_unit(direction, HEADER_SIZE)
        header = buffer.data[buffer.pos : buffer.pos + HEADER_SIZE]
        buffer.pos += HEADER_SIZE
        headers = direction.headers
        if header == AMQP_HEADER:
            self._check_sasl_end(direction)
            self._fault(self.model.take_header(direction.number))
            direction.layer = AMQP
        elif header not in HEADERS:
            # A server may answer with what it speaks instead; then the connection ends.
            if direction.client or headers:
                text = f"protocol header {header!r} on a connection of 1.0"
                self.blame("transport/version/data-match", text, self.offset)
        elif AMQP_HEADER in headers or header in headers:
            text = f"protocol header {header!r} behind {headers[-1]!r}"
            self.blame("transport/version/data-match", text, self.offset)
        elif header == SASL_HEADER:
            direction.layer = SASL
        if header == TLS_HEADER:
            direction.mode = OPAQUE
            direction.skip_from = buffer.offset
        if len(headers) < len(HEADERS):
            headers.append(header)
        self.observe(direction, 0, "header", "protocol-header", header)

    def _check_sasl_end(self, direction: Direction) -> None:
        """The server goes on behind the SASL layer when the login has succeeded, not before."""
        model = self.model
        if direction.client or SASL_HEADER not in direction.headers or model.assumed:
            return
        if model.sasl is not states.Sasl.DONE or self.outcome:
            text = f"the server goes on after SASL, whose state is: {model.sasl.value}"
            if self.outcome:
                text = f"the server goes on after sasl-outcome {self.outcome}"
            self.blame("security/sasl/outcome", text, self.offset)

    def frame(self, direction: Direction) -> bool:
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
            self.damage(direction, "transport/frame/size", text)
            return True
        if size > self._largest(direction):
            text = f"frame of {size} octets, more than is looked at"
            self.damage(direction, OVERSIZE, text)
            return True
        if kind > SASL:
            self.damage(direction, "transport/frame/type", f"frame of unknown type {kind}", size)
            return True
        if doff < 2 or 4 * doff > size:
            text = f"frame of {size} octets whose body begins at octet {4 * doff}"
            self.damage(direction, "transport/frame/doff", text, size)
            return True
        if not buffer.want(size):
            return False
        self._begin_unit(direction, size)
        data = buffer.data
        pos = buffer.pos
        end = pos + size
        buffer.pos = end
        self._check_frame(direction, kind, number, size)
        begin = pos + 4 * doff
        if begin == end:
            self._empty(direction, kind, number)
            return True
        odds: tuple[Odd, ...] = ()
        try:
            frame, start = decode_frame_body(data, begin, end)
        except OddRecord as error:
            if _is_lost(error):
                self._unreadable(direction, number, data[begin:end], error)
                return True
            odds = error.odds
            frame, start = cast("Performative | SaslFrame", error.record), error.stop
        except CodecError as error:
            self._unreadable(direction, number, data[begin:end], error)
            return True
        if odds:
            self._blame_odd(odds)
        if kind == SASL:
            self._sasl_frame(direction, frame, end - start)
        elif isinstance(frame, Transfer):
            self.transfer(direction, number, frame, data[start:end])
        else:
            self._method(direction, number, frame, end - start)
        return True

    def _blame_odd(self, odds: Iterable[Odd]) -> None:
        """Report odd fields: those that do no harm are warned of."""
        for each in odds:
            rule = (each.error.rule or "transport/error/decode-error").removeprefix("1.0/")
            severity = "warning" if harm_of(each) is Harm.NONE else "error"
            self.blame(rule, str(each.error), self.offset, severity)

    def _begin_unit(self, direction: Direction, size: int) -> None:
        """The next `size` octets are the unit at hand."""
        offset = direction.buffer.offset
        self.offset = offset
        self.size = size
        self.at_ns = direction.when(offset + size)

    def _check_frame(self, direction: Direction, kind: int, number: int, size: int) -> None:
        """Report the rules that a frame breaks before its body is looked at."""
        if kind == SASL:
            if size > MIN_MAX_FRAME_SIZE:
                text = f"SASL frame of {size} octets, {MIN_MAX_FRAME_SIZE} are the most"
                self.blame("security/sasl/frame-max", text, self.offset)
            if direction.layer == AMQP:
                text = "a SASL frame where an AMQP frame belongs"
                self.blame("transport/frame/type", text, self.offset)
            return
        agreed = self.model.halves[1 - direction.number].open
        if agreed is None:
            # Whether this fits, the other side's open will tell; the sender may know it already.
            for index, value in enumerate((size, number)):
                if value > direction.early[index][0]:
                    direction.early[index] = (value, self.offset, self.seq)
        elif size > agreed.max_frame_size and size > MIN_MAX_FRAME_SIZE:
            text = f"frame of {size} octets, the other side takes {agreed.max_frame_size}"
            self.blame(OVERSIZE, text, self.offset)

    def _check_early(self, direction: Direction, opened: Open) -> None:
        """Judge the frames sent before the other side's open, now that it is here (part 2 section 2.4.4)."""
        if self.model.assumed:
            return
        (size, size_at, size_seq), (channel, at, seq) = direction.early
        if size > max(opened.max_frame_size, MIN_MAX_FRAME_SIZE):
            text = f"frame of {size} octets before the other side's open, which takes {opened.max_frame_size}"
            self.report(direction, (_EARLY, text, size_at, "error"), self.at_ns, size_seq, 0)
        if channel > opened.channel_max:
            text = f"channel {channel} before the other side's open, whose channel-max is {opened.channel_max}"
            self.report(direction, (_EARLY, text, at, "error"), self.at_ns, seq, channel)

    def _largest(self, direction: Direction) -> int:
        """The largest frame that is waited for: where the other side takes any, as large as a message may be."""
        limits = self.limits
        agreed = self.model.halves[1 - direction.number].open
        if agreed is None or agreed.max_frame_size <= limits.unparsed:
            return limits.unparsed
        return max(limits.unparsed, min(agreed.max_frame_size, limits.message))

    # Frames.

    def _empty(self, direction: Direction, kind: int, number: int) -> None:
        if kind == SASL:
            self.blame("security/sasl/frame-empty", "an empty SASL frame", self.offset)
            self.observe(direction, 0, "frame", "sasl-frame", b"")
            return
        self._fault(self.model.take_empty(direction.number, number))
        self.observe(direction, number, "heartbeat", "heartbeat", None)

    def _unreadable(self, direction: Direction, number: int, body: bytes, error: CodecError) -> None:
        """A frame whose body can't be read: nothing is known of what it did."""
        code, _ = descriptor(body, 0, len(body))
        name = NAMES.get(code, "unknown") if code not in (PROVEN, REFUTED) else "unknown"
        rule = (error.rule or "transport/frame/performative").removeprefix("1.0/")
        self.blame(rule, f"{name} can't be read: {error}", self.offset)
        unit = {"transfer": "partial", "unknown": "unknown"}.get(name, "method")
        layer = direction.layer
        self.doubt(direction)
        direction.layer = layer
        self.observe(direction, number, unit, name, body, missing=None if unit == "partial" else 0)

    def _sasl_frame(self, direction: Direction, frame: Performative | SaslFrame, rest: int) -> None:
        answers = None
        number = direction.number
        if not isinstance(frame, SaslFrame) or rest:
            text = f"a SASL frame holds one SASL value, this one {with_rest(frame, rest)}"
            self.blame("security/sasl/frame-one", text, self.offset)
        if isinstance(frame, SaslFrame):
            if direction.layer != AMQP:
                self._fault(self.model.take_sasl(number, frame))
                direction.layer = SASL
            if isinstance(frame, SaslMechanisms):
                # Of a longer list than may be sent, nothing is held against the client.
                self.offered = frame.sasl_server_mechanisms if self.size <= KEPT else ()
            else:
                answers, self.sasl[1 - number] = self.sasl[1 - number], None
            if isinstance(frame, SaslInit) and self.offered and frame.mechanism not in self.offered:
                text = f"sasl-init chooses {frame.mechanism}, which the server hasn't offered"
                self.blame("security/sasl/mechanisms-first", text, self.offset)
            if isinstance(frame, SaslOutcome):
                self.outcome = frame.code
            else:
                self.sasl[number] = self.seq
        self.observe(direction, 0, "method", frame.NAME, frame, answers=answers)

    def _method(self, direction: Direction, number: int, frame: Performative | SaslFrame, rest: int) -> None:
        answers = None
        side = direction.number
        if isinstance(frame, SaslFrame) or rest:
            self.blame("transport/frame/performative", f"an AMQP frame with {with_rest(frame, rest)}", self.offset)
        if not isinstance(frame, SaslFrame):
            direction.layer = AMQP
            answers = self._take(direction, number, frame, 0, self.size)
            if isinstance(frame, Open):
                self.opened[side], answers = self.seq, self.opened[1 - side]
            elif isinstance(frame, Close):
                self.closed[side], answers = self.seq, self.closed[1 - side]
            if direction.contents and isinstance(frame, _CLOSES):
                self._drop(direction, number, frame)
            if direction.surely is not None and isinstance(frame, Attach):
                direction.surely.add((number, frame.handle))
        self.observe(direction, number, "method", frame.NAME, frame, answers=answers)
        if isinstance(frame, Open):
            self._check_early(self.directions[not direction.client], frame)

    def _take(self, direction: Direction, number: int, frame: Performative, octets: int, size: int) -> int | None:
        """Step the model for a frame with `octets` octets of payload and `size` others; the unit that it answers."""
        model = self.model
        answers, broken = model.take(direction.number, number, frame, octets, self.seq, size)
        self._fault(broken, frame)
        if model.tolerated:
            for each in model.tolerated:
                self.blame(each.rule, str(each), self.offset, "warning")
            model.tolerated = []
        return answers

    def _drop(self, direction: Direction, number: int, frame: object) -> None:
        """Deliveries under way end with their link, session or connection."""
        handle = frame.handle if isinstance(frame, (Attach, Detach)) else None
        ended = list(direction.contents) if isinstance(frame, Close) else direction.ended_by(number, handle)
        for key in ended:
            self.drop_content(direction, key)

    # Deliveries: the last of their transfers carries the message, those before it are units of their own (2.6.14).

    def transfer(self, direction: Direction, number: int, frame: Transfer, payload: bytes, lost: int = 0) -> None:
        """A transfer; `lost` octets of its payload were not captured, -1: it isn't known how many."""
        self._take(direction, number, frame, len(payload) + max(lost, 0), self.size - len(payload))
        delivery = self.model.take_sent()
        key = (number, frame.handle)
        content = direction.contents.get(key)
        if content is not None and frame.delivery_id not in (None, content.delivery_id):
            self.drop_content(direction, key)
            content = None
        if content is None:
            content = Content(frame)
            surely = direction.surely
            if surely is not None and key not in surely:
                if content.begun and not content.opaque and not lost and direction.continues(key, frame, payload):
                    content.begun = False
                    content.opaque = True
                if len(surely) < self.limits.consumers:
                    surely.add(key)
        else:
            direction.release(key)
        if not frame.aborted:
            self._add(content, payload, lost, frame.more)
        if lost < 0 or frame.aborted or (not content.begun and not frame.more):
            self._hold(content, 0)
            if frame.aborted and delivery is not None:
                self.model.outcomes.aborted(delivery)
            self.observe(direction, number, "partial", "transfer", frame, missing=missing(content))
        elif frame.more:
            direction.hold(key, content)
            if len(direction.contents) > self.limits.consumers:
                self.drop_content(direction, next(iter(direction.contents)))
            self.observe(direction, number, "part", "transfer", frame)
        else:
            message = self._message(content)
            context = None
            if delivery is not None and self.model.records:
                properties, _, body_size, _ = message
                octets = body_size or (0 if properties is None else len(properties.encode()))
                delivery.observed_link.reveal(properties)
                context = self.model.outcomes.message(delivery, self.seq, content.delivery_id, properties, octets)
            lacks = None if content.opaque and not frame.message_format else content.cut
            self.observe(direction, number, "content", "transfer", frame, message, missing=lacks, context=context)

    def drop_content(self, direction: Direction, key: tuple[int, int]) -> None:
        self._hold(direction.release(key), 0)

    def _hold(self, content: Content, octets: int) -> None:
        """So many octets of a delivery are kept now."""
        self.bodies += octets - content.held
        content.held = octets

    def _add(self, content: Content, payload: bytes, lost: int, more: bool) -> None:
        """More of the payload; it's kept as long as all of it is there and within the limits."""
        limits = self.limits
        octets = len(payload)
        if content.parts is not None:
            total = content.octets + octets
            counted = self.body == "size" and more
            if counted or lost or total > limits.message or self.bodies + octets > limits.bodies:
                content.sections = follow(content, limits.header)
                content.parts = None
            elif octets:
                self._hold(content, total)
                content.parts.append(payload)
        content.octets += octets + max(lost, 0)
        sections = content.sections
        if sections is not None:
            sections.feed(payload)
            if lost > 0:
                content.cut += lost
                sections.skip(lost)
            self._hold(content, len(sections.head or b""))
            if self.bodies > limits.bodies:
                sections.head = None
                self._hold(content, 0)

    def _message(self, content: Content) -> Contents:
        """The message of a delivery that is whole: its properties, body, the body's size and digest."""
        self._hold(content, 0)
        if content.parts is None:
            sections = content.sections
            if content.opaque or sections is None:
                return None, None, content.octets, None
            head = sections.head
            # Behind a hole in the sections before the body nobody knows how large that is.
            size = None if content.cut and sections.broken else sections.size
            return None if head is None else LenientMessage.from_wire(bytes(head)), None, size, None
        parts = content.parts
        payload = parts[0] if len(parts) == 1 else b"".join(parts)
        if content.opaque:
            return (None, *self._treat(payload))
        return self._read_message(payload)

    def _read_message(self, payload: bytes) -> Contents:
        """Read a whole payload, as much as the observer is told to keep. Without octets there's no message."""
        if not payload:
            return (None, *self._treat(payload))
        at = begin = 0
        size = -1
        try:
            check_message(payload)
            at, begin, size = body_of(payload)
        except CodecError as error:
            self._blame_message(payload, error)
        except READ_FAULTS:
            # It's a message of a rarer kind, which the general way reads.
            size = -1
        if size >= 0 and begin + size == len(payload):
            head, body, request = payload[:at], payload[begin:], False
        else:
            pieces: list[bytes] = []
            sections = Sections(len(payload))
            sections.feed(payload, pieces)
            body = pieces[0] if len(pieces) == 1 else b"".join(pieces)
            head = bytes(sections.head or b"")
            request = sections.kind == "value" and is_request(body)
        kept, size, digest = self._treat(body)
        # A declare or a discharge is no application's: it's always kept (part 4 section 4.2).
        whole = kept is not None or request
        return LenientMessage.from_wire(payload if whole else head), kept, size, digest

    def _blame_message(self, payload: bytes, error: CodecError) -> None:
        """Report what is wrong with a message."""
        try:
            odds = odd_fields(payload)
        except CodecError:
            odds = ()
        if odds and all([harm_of(each) is Harm.NONE for each in odds]):
            self._blame_odd(odds)
            return
        rule = (error.rule or "message/section-order").removeprefix("1.0/")
        self.blame(rule, f"the message can't be read: {error}", self.offset)

    def _treat(self, body: bytes) -> tuple[bytes | None, int, str | None]:
        """The body if it's kept, its size, its digest if it's wanted."""
        kept, digest = treated(body, self.body)
        return kept, len(body), digest

    # Gaps and damage.

    def cut(self, direction: Direction, octets: int) -> bool:
        """Make a unit of a transfer that is cut, when its performative is there."""
        buffer = direction.buffer
        held = len(buffer)
        if direction.mode != IN_FRAMES or not buffer.want(HEADER_SIZE):
            return False
        size: int
        size, doff, kind, number = FRAME.unpack_from(buffer.data, buffer.pos)
        if kind != AMQP or doff < 2 or not 4 * doff < held < size:
            return False
        buffer.want(held)
        data = buffer.data
        begin, end = buffer.pos + 4 * doff, buffer.pos + held
        code, _ = descriptor(data, begin, end)
        if code != Transfer.CODE:
            return False
        try:
            frame, start = decode_frame_body(data, begin, end)
        except OddRecord as odd:
            frame, start = cast("Transfer", odd.record), odd.stop
        except CodecError:
            return False
        assert isinstance(frame, Transfer)
        self._begin_unit(direction, held)
        payload = data[start:end]
        buffer.clear()
        lost = size - held if size <= held + octets else -1
        self.transfer(direction, number, frame, payload, lost)
        return lost == octets

    # Events.

    def _fault(self, broken: Violation | None, frame: object = None) -> None:
        if broken is not None:
            # A late frame does no harm, and real peers send some.
            late = broken.rule == NOTHING_AFTER and isinstance(frame, _AFTER_CLOSE)
            late = late or isinstance(broken, LateViolation)
            self.blame(broken.rule, str(broken), self.offset, "warning" if late else "error")

    def observe(
        self,
        direction: Direction,
        number: int,
        unit: str,
        event: str,
        content: object,
        contents: Contents = _NO_CONTENTS,
        answers: int | None = None,
        missing: int | None = 0,
        context: Context | None = None,
    ) -> None:
        """The unit at hand, and behind it the rules that it broke."""
        settles, errors = self.model.outcomes.take_settled()
        told = Observed(
            self.seq,
            direction.side,
            number,
            unit,
            event,
            content,
            *contents,
            self.offset,
            self.size,
            self.at_ns,
            answers,
            missing,
            settles,
            context if event == "transfer" else errors,
        )
        self.tell(direction, told)
