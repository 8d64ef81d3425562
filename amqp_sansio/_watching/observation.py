"""Events that observers of every version give out, and the base of the observers of one version each.

`amqp_sansio.observer` has the public names; they are made here, below the versions.
"""

from __future__ import annotations

from collections import deque

from .._checking import TYPE_CHECKING, Generic, Protocol, TypeVar
from .._compiled import COMPILED
from .._ground.invariants import ensure
from .._ground.record import record
from ..events import Event
from ..versions import HEADER_BEGIN, HEADER_SIZE
from .stream import IN_DAMAGE, IN_FRAMES, OPAQUE, Direction

if TYPE_CHECKING or COMPILED:
    from .._compiled import maker

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, ClassVar, Final, TypeAlias

    from ..endpoint import Side
    from ..limits import Limits
    from ..versions import Version
    from .lane import Lane
    from .settlements import Settlements
    from .stream import FrameRecognizer

_new: Final = object.__new__


@record
class Observed(Event):
    """One protocol unit on the wire; a method with content is one unit with its whole message.

    `seq` counts the units of the connection from 0. `event` is the specification's name ("basic.publish",
    "protocol-header", "heartbeat"). `unit` is one of these:

    | unit | meaning |
    |---|---|
    | "method" | a method without content; in 0-10 a control or command, in 1.0 a performative |
    | "header", "heartbeat" | a protocol header, a heartbeat |
    | "content" | a method with its message, seen completely; in 1.0 the transfer that completes a delivery |
    | "part" | a transfer of 1.0 that doesn't complete its delivery |
    | "partial" | a method whose message ended early: aborted, or cut off by damage or the end |
    | "frame" | a content frame whose method wasn't seen, or a frame without meaning |
    | "unknown" | a method that the protocol doesn't have |

    `content` is the method's record, or octets: the protocol header, or a payload that can't be decoded. `properties`
    and `body` are those of the message; `body` is None if the observer doesn't keep it or the message isn't whole,
    `body_size` is the size that its header announces, in octets, in 1.0 None where the capture cut what tells it,
    `body_sha256` its digest in hexadecimal if the observer computes one. `missing` is the number of octets of the body
    that weren't captured (0: the body is complete; None: even its header is missing). Units of messages whose
    properties have the same octets may share them.

    In 0-10 `properties` are its header segment (`amqp_0_10.Headers`), and a command also has its `command_id` and
    `sync` bit (`amqp_0_10.ObservedCommand`); the missing octets of a cut-off message are known only if its properties
    have its length.

    In 1.0 `properties` is the message (`amqp_1_0.Message`, without its body if that isn't kept), None if the payload
    isn't one; `body` is the content of its data sections, or the encoded sections of another kind of body.

    `offset` is the start of the unit in its sender's stream, `size` the octets of all its frames; frames of other
    channels may lie between. `at_ns` is when its last octet arrived, in nanoseconds. `answers` is the `seq` of the
    request that it answers.

    `settles` says what becomes of messages with it. `context` is what earlier units say of its message, for the tables
    of this library; None: nothing. In 0-8 and 0-9-1 it is a publish's number, the queue of a delivery, and in the file
    class the content that was staged, or both; in 0-10 `open_messages.Context`; in 1.0 `outcomes.Context` of a
    transfer, and of other units the errors of deliveries by their unit.
    """

    seq: int
    sender: Side
    channel: int
    unit: str
    event: str
    content: Any
    properties: Any
    body: bytes | None
    body_size: int | None
    body_sha256: str | None
    offset: int
    size: int
    at_ns: int
    answers: int | None = None
    missing: int | None = 0
    settles: Settlements = ()
    context: Any = None


if TYPE_CHECKING or COMPILED:
    _LAST = "answers", "missing"
    OBSERVED: Final = maker(
        Observed, (*[name for name in Observed.__match_args__ if name not in _LAST], *_LAST), (None, 0)
    )
    """Makes units of all fields but `answers` and `missing`, in their order."""


@record
class Violation(Event):
    """A broken rule. `rule` is its full id ("0-9-1/wire/frame-end-check"), `severity` "error" or "warning".

    `offset` is the start of the faulty frame in the sender's stream, `seq` its unit; None if the octets form no unit.
    """

    __record_texts__ = ("text",)

    sender: Side
    rule: str
    severity: str
    text: str
    offset: int
    at_ns: int
    seq: int | None = None
    channel: int = 0


@record
class Skipped(Event):
    """`octets` octets at `offset` of the sender's stream that form no unit.

    The reasons: "gap" (not captured), "resync" (damage: frames must be found again), "incomplete" (the stream ended, or
    a gap began, within a frame), "undecoded" (encrypted by TLS), "unrecognised" (no AMQP, or an unknown version).
    """

    sender: Side
    offset: int
    octets: int
    at_ns: int
    reason: str
    settles: Settlements = ()


@record
class Identified(Event):
    """The version and the two sides; the first event, and repeated when more becomes known.

    `version` is None if it wasn't recognised; `dialect` is its dialect's name, or "". `client` and `server` are senders
    as `receive_data` names them, None for one that was silent until then. `by` says how the sides were identified:
    "told", "header" (the first protocol header is the client's), "frame" (a unit that only one side may send), "likely"
    (what the caller took for likely) or "guess" (no evidence).
    """

    version: Version | None
    dialect: str
    client: str | None
    server: str | None
    by: str
    at_ns: int


ObserverEvent: TypeAlias = Observed | Violation | Skipped | Identified
"""Everything that `Observer.next_event` returns besides NEED_DATA."""


@record
class Setting:
    """Arguments of a version's observer; `from_start`: its first octets are the connection's.

    Without `records` units don't say what they settle, and have no context. With `holders` the model has an account of
    who holds the messages. A `lane` is given usual units instead of events of them.
    """

    version: Version | None
    from_start: bool
    body: str
    limits: Limits
    client: str | None
    server: str | None
    by: str
    at_ns: int
    records: bool = True
    holders: bool = False
    lane: Lane | None = None


Fault: TypeAlias = tuple[str, str, int, str]
"""Rule without its version, text, offset, severity."""
_D = TypeVar("_D", bound="Direction[Any, Any]")


class ObservedConnection(Protocol):
    """The model of both ends, as far as observers of every version use it.

    `blind` says that something is being missed: what one side sends can't be read at the moment, so nobody knows what
    the other side is told.
    """

    blind: bool

    def lost(self, client: bool) -> Settlements:
        """Octets of a side became no unit: the messages whose end can't be told any more."""
        ...

    def check(self) -> None:
        """Check what is kept, but no rule of the protocol. For tests; raises AssertionError."""
        ...


_M = TypeVar("_M", bound=ObservedConnection)


class BaseObserver(Generic[_D, _M]):
    """Reads the two directions of a connection, frame by frame, and goes on behind gaps and damage.

    A version reads its frames in `unit`, steps the model with them, and says what gaps and damage mean to it.
    """

    __slots__ = ("bodies", "body", "current", "directions", "events", "faults", "limits", "model", "seq", "setting")

    frame_header: ClassVar[int] = 8
    """Octets of a frame's header."""
    header_rule: ClassVar[str]
    """The rule that other octets break where a protocol header comes first."""

    def __init__(self, setting: Setting, model: _M, server: _D, client: _D) -> None:
        # How to observe, and what the detection of the version has found.
        self.setting = setting
        # Bounds of what is kept (`Setting.limits`).
        self.limits = setting.limits
        # Whether units have the octets of bodies, or their size alone.
        self.body = setting.body
        # The version's rules and state of both ends, stepped by what both sides send.
        self.model = model
        # The server's, then the client's: `directions[client]` is the one of a side.
        self.directions = (server, client)
        # The direction that octets arrived in last and that may have more units; None once it has none.
        self.current: _D | None = None
        # Events that aren't taken yet: a unit, and what it breaks.
        self.events: deque[ObserverEvent] = deque()
        # The broken rules of the unit at hand, told behind it and then forgotten.
        self.faults: list[Fault] = []
        # The number of the next unit; units of both sides are counted together.
        self.seq = 0
        # Octets of messages under way, which `held` counts.
        self.bodies: int = 0
        model.blind = not setting.from_start

    def receive(self, client: bool, pieces: Sequence[bytes], times: Sequence[int]) -> bool:
        """Queue octets with their times, and return whether `next` has anything to do: not before a frame that has
        begun is there.
        """
        direction = self.directions[client]
        direction.receive(pieces, times)
        if direction.mode != IN_FRAMES or direction.buffer.is_due:
            self.current = direction
            return True
        return bool(self.events)

    def receive_piece(self, client: bool, octets: bytes, at_ns: int) -> bool:
        """As `receive`, of one piece."""
        direction = self.directions[client]
        if direction.receive_piece(octets, at_ns) or direction.mode != IN_FRAMES or direction.buffer.is_due:
            self.current = direction
            return True
        return bool(self.events)

    def gap(self, client: bool, octets: int, at_ns: int) -> None:
        """Octets are missing: end what was under way, and look for a frame behind the hole."""
        direction = self.directions[client]
        frame_end = direction.frame_end()
        whole = self.cut(direction, octets)
        if not whole:
            self.end_octets(direction)
        lost = self.model.lost(direction.client)
        self.events.append(Skipped(direction.side, direction.end, octets, at_ns, "gap", lost))
        direction.buffer.consumed += octets
        direction.end += octets
        direction.skip_from = direction.end
        if whole or direction.mode == OPAQUE:
            return
        self.doubt(direction)
        # Behind the hole the frame it began in goes on, whose octets may look like frames themselves.
        prefer = frame_end if frame_end > direction.end else 0
        self.search(direction, direction.end, direction.end, prefer)

    def finish(self, at_ns: int) -> None:
        """End both directions."""
        for direction in reversed(self.directions):
            self.end_octets(direction)

    @property
    def held(self) -> int:
        """Octets held: unparsed ones, and messages under way."""
        return sum([direction.held for direction in self.directions]) + self.bodies

    def check(self) -> None:
        """Check that what is kept is bounded, counted right and fits together. For tests; raises AssertionError."""
        where = f"an observer of {self.setting.version}"
        held = sum([direction.check(self.most_under_way) for direction in self.directions])
        ensure(self.bodies == held, where, "`bodies` counts the octets of messages under way", self.bodies, held)
        most = self.limits.bodies + self.limits.header
        ensure(held <= most, where, "`limits` bounds the octets of messages under way", held, most)
        ensure(not self.faults, where, "broken rules are told with their unit", self.faults)
        ensure(self.current in (None, *self.directions), where, "what is read next is one of both sides'")
        self.model.check()

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
                # A fast path may read more than what was held.
                if not (direction.held_to and self.is_held(direction)):
                    event = self.fastpath(direction)
                    if event is not None:
                        return event
                more = self.frame(direction)
            else:
                more = self.unit(direction, False)
            if not more:
                self.current = None
                return events.popleft() if events else None
            if events:
                return events.popleft()

    # Each version has its own.

    @property
    def most_under_way(self) -> int:
        """The most messages of one side that may be under way."""
        raise NotImplementedError

    def fastpath(self, direction: _D, /) -> Observed | None:
        """The event of the unit that comes next, where it's a common one that is all there."""
        return None

    def frame(self, direction: _D) -> bool:
        """Read one frame, or a header between frames; False when octets are missing."""
        raise NotImplementedError

    def cut(self, direction: _D, octets: int) -> bool:
        """`octets` octets are missing next: make a unit of a frame that is cut, where its begin says enough.

        So it is where a snap length cuts packets. Returns whether the hole is just the rest of the frame, so that
        nothing else is missing.
        """
        raise NotImplementedError

    def drop_content(self, direction: _D, key: Any) -> None:
        """Nothing more of a message comes, or what comes can't be trusted to belong to it."""
        raise NotImplementedError

    def missed(self, direction: _D) -> None:
        """Tell the model that something of a direction wasn't seen."""
        raise NotImplementedError

    def recognizer(self, direction: _D) -> FrameRecognizer:
        """Tells the frames of a direction from other octets."""
        raise NotImplementedError

    def rule(self, name: str) -> str:
        """The full id of a rule."""
        assert self.setting.version is not None
        return f"{self.setting.version.value}/{name}"

    # Octets.

    def unit(self, direction: _D, last: bool) -> bool:
        """Read one frame or header; False when octets are missing. With `last` no more will come."""
        mode = direction.mode
        if mode == IN_FRAMES:
            return self.frame(direction)
        if mode == IN_DAMAGE:
            return self.look(direction, last)
        if mode == OPAQUE:
            direction.buffer.clear()
            direction.when(direction.end)
            return False
        return self.begin(direction)

    def begin(self, direction: _D) -> bool:
        """Read what comes first, a protocol header; False when octets are missing."""
        buffer = direction.buffer
        if not buffer.want(HEADER_SIZE):
            return False
        if buffer.data.startswith(HEADER_BEGIN, buffer.pos):
            direction.mode = IN_FRAMES
        else:
            head = buffer.data[buffer.pos : buffer.pos + HEADER_SIZE]
            self.damage(
                direction, self.header_rule, f"no protocol header comes first, but {head!r}", looked=HEADER_SIZE
            )
        return True

    # Gaps and damage.

    def abandon(self, direction: _D) -> None:
        """End what is under way in a direction; it can't be trusted to go on."""
        for key in list(direction.contents):
            self.drop_content(direction, key)

    def doubt(self, direction: _D) -> None:
        """End what is under way in a direction; hardly anything is sure from now on."""
        self.abandon(direction)
        self.missed(direction)

    def search(self, direction: _D, skip_from: int, scan: int, prefer: int = 0) -> None:
        """From now on look for the next proven frame."""
        direction.search(skip_from, scan, prefer)
        self.model.blind = True

    def damage(self, direction: _D, rule: str, text: str, size: int = 0, looked: int = 0) -> None:
        """A frame can't be read: say so, and look for the next. `size` is what it takes, where that may be believed.

        `looked` are the octets that show it, and give its time (0: a frame's header).
        """
        offset = direction.buffer.offset
        at_ns = direction.when(offset + (looked or self.frame_header))
        self.report(direction, (rule, text, offset, "error"), at_ns, None, 0)
        self.doubt(direction)
        self.search(direction, offset, offset + 1, offset + size if size else 0)

    def look(self, direction: _D, last: bool) -> bool:
        """Look for the next frame that can be proven; False when octets are missing."""
        if not direction.look(self.recognizer(direction), last):
            return False
        self.skip(direction, direction.buffer.offset, "resync")
        if not 0 < direction.frame_end() <= direction.held_to:
            # Else it was held while the other side's octets were read.
            direction.held_to = 0
            self.model.blind = any([each.mode == IN_DAMAGE for each in self.directions])
        return True

    def is_held(self, direction: _D) -> bool:
        """Whether the next frame was held until a frame before it was proven. With the first that wasn't, it's over."""
        if 0 < direction.frame_end() <= direction.held_to:
            return True
        self.caught_up(direction)
        return False

    def caught_up(self, direction: _D) -> None:
        """What was held until a frame was proven has been read: what comes now is read when it comes."""
        direction.held_to = 0
        self.model.blind = any([each.mode == IN_DAMAGE for each in self.directions])

    def end_octets(self, direction: _D) -> None:
        """Nothing follows the octets that are held: judge them, and end what is under way."""
        while True:
            if direction.held_to:
                self.is_held(direction)
            if not self.unit(direction, True):
                break
        buffer = direction.buffer
        if direction.mode == IN_DAMAGE:
            reason = "resync"
        elif direction.mode == OPAQUE:
            reason = "undecoded"
        else:
            reason = "incomplete"
            self.cut(direction, 0)
            direction.skip_from = buffer.offset
        buffer.clear()
        self.abandon(direction)
        self.skip(direction, direction.end, reason)
        direction.skip_from = direction.end

    def skip(self, direction: _D, end: int, reason: str) -> None:
        """The octets up to the offset `end` that aren't accounted for, if there are any, became nothing."""
        begin = direction.skip_from
        if end > begin:
            lost = self.model.lost(direction.client)
            self.events.append(Skipped(direction.side, begin, end - begin, direction.when(end), reason, lost))

    # Events.

    def take(
        self,
        direction: _D,
        channel: int,
        unit: str,
        event: str,
        content: object,
        properties: object,
        body: bytes | None,
        body_size: int | None,
        digest: str | None,
        end: int,
        settles: Settlements,
        context: object,
    ) -> Observed:
        """Take a unit, whose octets go up to `end` in the direction's buffer, for a fast path."""
        buffer = direction.buffer
        begin, consumed = buffer.pos, buffer.consumed
        buffer.pos = end
        seq = self.seq
        self.seq = seq + 1
        # Its own class would take half as long again.
        told: Any = _new(Observed)
        told.seq = seq
        told.sender = direction.side
        told.channel = channel
        told.unit = unit
        told.event = event
        told.content = content
        told.properties = properties
        told.body = body
        told.body_size = body_size
        told.body_sha256 = digest
        told.offset = consumed + begin
        told.size = end - begin
        end += consumed
        told.at_ns = direction.at_ns if end <= direction.mark_end else direction.when(end)
        told.answers = None
        told.missing = 0
        told.settles = settles
        told.context = context
        made: Observed = told
        return made

    def blame(self, rule: str, text: str, offset: int, severity: str = "error") -> None:
        """The unit at hand breaks a rule."""
        self.faults.append((rule, text, offset, severity))

    def tell(self, direction: _D, event: Observed) -> None:
        """Give out a unit, and behind it the rules that it broke."""
        self.seq = event.seq + 1
        self.events.append(event)
        if self.faults:
            for fault in self.faults:
                self.report(direction, fault, event.at_ns, event.seq, event.channel)
            self.faults = []

    def report(self, direction: _D, fault: Fault, at_ns: int, seq: int | None, channel: int) -> None:
        """Give out a broken rule."""
        rule, text, offset, severity = fault
        self.events.append(Violation(direction.side, self.rule(rule), severity, text, offset, at_ns, seq, channel))
