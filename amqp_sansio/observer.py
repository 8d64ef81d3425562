"""Observer: watches both directions of a connection and says what was sent, what it answers and which rules it breaks.

It isn't an endpoint: it sends nothing, has no clock, and never refuses to observe. Versions plug in as machines.
Which version and which side is the client come from the protocol header (0-9-1 section 4.2.2, 1.0 part 2 section 2.2),
or from the frames.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeAlias

from ._core.record import record
from .endpoint import Side
from .errors import LocalProtocolError
from .events import NEED_DATA, Event, Signal
from .limits import Limits
from .negotiation import HEADER_SIZE, version_of
from .versions import AMQP_0_8, AMQP_0_9_1, AMQP_0_10, AMQP_1_0, Version

if TYPE_CHECKING:
    from collections.abc import Callable

    from typing_extensions import Buffer

    from ._versions import Scouts

_SCHEMA: Final = 1
_HEADER_BEGIN: Final = b"AMQP"
_FRAME_BEGIN: Final = b"\x01"
_ARRIVAL: Final = 256
"""Octets that each further arrival takes besides its own, at most, wherever it is kept until it's recognised."""


@record
class Observed(Event):
    """One protocol unit on the wire; a method with content is one unit with its whole message.

    `seq` counts the units of the connection from 0. `event` is the specification's name ("basic.publish",
    "protocol-header", "heartbeat"). `unit` is one of these:

    | unit | what it is |
    |---|---|
    | "method" | a method without content; in 0-10 a control or command, in 1.0 a performative |
    | "header", "heartbeat" | a protocol header, a heartbeat |
    | "content" | a method with its message, all frames of which passed; in 1.0 the transfer that completes a delivery |
    | "part" | a transfer of 1.0 behind which more of its delivery is to come |
    | "partial" | a method whose message ended early: aborted, or cut off by damage or the end |
    | "frame" | a content frame whose method wasn't seen, or a frame that means nothing |
    | "unknown" | a method that the protocol doesn't have |

    `content` is the method's record, or octets: the protocol header, or a payload that can't be decoded.
    `properties` and `body` are those of the message; `body` is None when the observer doesn't keep it,
    `body_size` is what its header announces, in octets, `body_sha256` its digest in hexadecimal where the
    observer makes one. `missing` says how many octets of the body were not captured (0: the body is whole; None: not
    even its header came).

    In 0-10 `properties` are its header segment (`amqp_0_10.Headers`), and a command also has its `command_id` and
    `sync` bit (`amqp_0_10.ObservedCommand`); what a cut-off message lacks is known only where its properties tell how
    long it is.

    In 1.0 `properties` is the message (`amqp_1_0.Message`, without its body where that isn't kept), None where the
    payload isn't one; `body` is what its data sections hold, or the encoded sections of another kind of body.

    `offset` is where the unit begins in its sender's stream, `size` the octets of all its frames; frames of other
    channels may lie between. `at_ns` is when its last octet arrived, in nanoseconds. `answers` is the `seq` of the
    request that it answers.
    """

    seq: int
    sender: Side
    channel: int
    unit: str
    event: str
    content: Any
    properties: Any
    body: bytes | None
    body_size: int
    body_sha256: str | None
    offset: int
    size: int
    at_ns: int
    answers: int | None = None
    missing: int | None = 0


@record
class Violation(Event):
    """A broken rule. `rule` is its full id ("0-9-1/wire/frame-end-check"), `severity` "error" or "warning".

    `offset` is where the faulty frame begins in the sender's stream, `seq` the unit it belongs to; None when no unit
    could be made of the octets.
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
    """`octets` octets at `offset` of the sender's stream that became no unit.

    The reasons: "gap" (they never came), "resync" (damage: what follows is proven again), "incomplete" (the
    stream ended, or a gap began, within a frame), "undecoded" (what TLS hides), "unrecognised" (no AMQP, or a version
    that nobody knows).
    """

    sender: Side
    offset: int
    octets: int
    at_ns: int
    reason: str


@record
class Identified(Event):
    """What is spoken, and who is who; the first event, and again when more becomes known.

    `version` is None when it wasn't recognised; `dialect` is its dialect's name, or "". `client` and `server` are
    senders as `receive_data` names them, None while that one was silent. `by` says how the sides were told apart:
    "told", "header" (the first protocol header is the client's), "frame" (a unit that only one side may send) or
    "guess" (nothing said it).
    """

    version: Version | None
    dialect: str
    client: str | None
    server: str | None
    by: str
    at_ns: int


ObserverEvent: TypeAlias = Observed | Violation | Skipped | Identified
"""What `Observer.next_event` returns besides NEED_DATA."""


class VersionObserver(Protocol):
    """What watches one version. The observer gives it octets and gaps in order, and takes events after each."""

    def receive(self, client: bool, octets: bytes, at_ns: int) -> None:
        """Octets of the client, or of the server."""
        ...

    def gap(self, client: bool, octets: int, at_ns: int) -> None:
        """Octets of the client, or of the server, are missing."""
        ...

    def finish(self, at_ns: int) -> None:
        """Nothing more comes."""
        ...

    def next(self) -> ObserverEvent | None:
        """Take one step through what came; None when more is needed."""
        ...

    @property
    def held(self) -> int:
        """Octets that are held."""
        ...


@record
class Setting:
    """What a machine is told: `from_start` says that its first octets are the connection's."""

    version: Version | None
    from_start: bool
    body: str
    limits: Limits
    client: str | None
    server: str | None
    by: str
    at_ns: int


def _classic(setting: Setting) -> VersionObserver:
    from ._classic.observer.connection import ClassicObserver

    return ClassicObserver(setting)


def _zero_ten(setting: Setting) -> VersionObserver:
    from .amqp_0_10.observer.connection import ZeroTenObserver

    return ZeroTenObserver(setting)


def _one_zero(setting: Setting) -> VersionObserver:
    from .amqp_1_0.observer.connection import OneZeroObserver

    return OneZeroObserver(setting)


def _undecoded(setting: Setting) -> VersionObserver:
    from ._core.opaque import OpaqueObserver

    return OpaqueObserver(setting)


_MACHINES: Final[Mapping[Version, Callable[[Setting], VersionObserver]]] = {
    AMQP_0_8: _classic,
    AMQP_0_9_1: _classic,
    AMQP_0_10: _zero_ten,
    AMQP_1_0: _one_zero,
}
"""The machine of each version that is decoded."""
_BOTH_BEGIN: Final = (AMQP_0_10, AMQP_1_0)
"""In these both sides begin with a protocol header, so that one alone doesn't tell who is who."""

BODIES: Final = ("keep", "hash", "all", "size")
"""What an observer can do with the bodies of messages."""


class Observer:
    """Observes one connection of any version: octets of both sides in, events out.

    The senders are named by any two labels ("10.0.0.1:40000"). `client` tells which of them is the client, where it's
    known; `from_start` whether the first octets are the connection's (None: they are when `client` is told, as a seen
    TCP handshake tells both). `body` is what happens to message bodies: "keep" them, "hash" them (SHA-256, not kept),
    do both ("all"), or just count their "size". Bodies above `limits.message` are only counted.

    What arrives is parsed in order, over both directions, and only when an event is taken. Causally ordered input is
    the caller's part: `capture.Reassembler` does it. Times are nanoseconds. Picklable at any point.

    >>> from amqp_sansio import NEED_DATA
    >>> observer = Observer(client="c")
    >>> observer.receive_data(b"AMQP\\x00\\x00\\x09\\x01", "c", 1_000)
    >>> while (event := observer.next_event()) is not NEED_DATA:
    ...     print(type(event).__name__, *([event.event] if isinstance(event, Observed) else []))
    Identified
    Observed protocol-header
    """

    __slots__ = (
        "_arrivals",
        "_by",
        "_client",
        "_finished",
        "_from_start",
        "_heads",
        "_held",
        "_held_size",
        "_labels",
        "_machine",
        "_scouts",
        "_server",
        "body",
        "limits",
    )

    def __init__(
        self,
        *,
        client: str | None = None,
        from_start: bool | None = None,
        body: str = "keep",
        limits: Limits | None = None,
    ) -> None:
        if body not in BODIES:
            raise ValueError(f"body must be one of {', '.join(BODIES)}, not {body!r}")
        self.body = body
        self.limits = limits or Limits()
        self._client = client
        self._server: str | None = None
        self._labels: tuple[str, ...] = () if client is None else (client,)
        self._by = "told" if client is not None else ""
        self._from_start = client is not None if from_start is None else from_start
        self._arrivals: deque[_Arrival] = deque()
        self._heads: dict[str, bytes] = {}
        self._scouts: dict[str, Scouts] = {}
        self._held: list[_Arrival] = []
        self._held_size = 0
        self._machine: VersionObserver | None = None
        self._finished = False

    def receive_data(self, data: Buffer, sender: str, at_ns: int) -> None:
        """Queue octets that `sender` sent, captured at `at_ns` (nanoseconds).

        Raises LocalProtocolError after `finish`, and for a third sender.
        """
        self._check(sender)
        octets = data if type(data) is bytes else bytes(data)
        if octets:
            self._arrivals.append((sender, octets, 0, at_ns))

    def receive_gap(self, sender: str, octets: int, at_ns: int) -> None:
        """Queue a hole: `octets` octets of `sender` that were never captured.

        Raises LocalProtocolError after `finish`, and for a third sender.
        """
        self._check(sender)
        if octets > 0:
            self._arrivals.append((sender, b"", octets, at_ns))

    def finish(self, at_ns: int) -> None:
        """Nothing more comes: take events until NEED_DATA to have what is still held. A second call does nothing."""
        if not self._finished:
            self._finished = True
            self._arrivals.append(("", b"", 0, at_ns))

    def next_event(self) -> ObserverEvent | Signal:
        """The next event, or NEED_DATA. Never raises for what was observed."""
        machine = self._machine
        if machine is not None:
            event = machine.next()
            if event is not None:
                return event
        arrivals = self._arrivals
        while arrivals:
            arrival = arrivals.popleft()
            machine = self._machine
            if machine is None:
                self._sniff(arrival)
                continue
            sender, octets, gap, at_ns = arrival
            client = sender != self._server if self._client is None else sender == self._client
            if not sender:
                machine.finish(at_ns)
            elif gap:
                machine.gap(client, gap, at_ns)
            else:
                machine.receive(client, octets, at_ns)
            event = machine.next()
            if event is not None:
                return event
        return NEED_DATA

    @property
    def held(self) -> int:
        """Octets that are held: waiting to be recognised or parsed, and bodies under way.

        What waits to be recognised is counted with what each further arrival takes. When all events were taken, at
        most what `limits` allows for unparsed octets of each side and for bodies. Of channels, sessions, links,
        consumers, requests and deliveries at most as many are kept as `limits` says; they aren't counted here.
        """
        arrivals = self._arrivals
        held = self._held_size + sum([len(each[1]) for each in arrivals])
        held += _ARRIVAL * max(0, len(arrivals) - 1)
        return held + (self._machine.held if self._machine is not None else 0)

    def _check(self, sender: str) -> None:
        if self._finished:
            raise LocalProtocolError(
                "the observer has finished; make a new one for another connection"
            )
        if sender not in self._labels:
            if not sender or len(self._labels) == 2:
                known = " and ".join(map(repr, self._labels))
                raise LocalProtocolError(f"a connection has two senders, {known}; not {sender!r}")
            self._labels = (*self._labels, sender)

    # Recognising: what arrives is held until version and sides are known, then goes to the machine from the start.

    def _sniff(self, arrival: _Arrival) -> None:
        sender, octets, gap, at_ns = arrival
        held = self._held
        # However octets that come at the same time are cut, they count as one arrival. Small pieces are joined into
        # larger ones, each octet as often as sizes double.
        another = bool(held) and not _joins(held[-1], arrival)
        self._held_size += len(octets) + (_ARRIVAL if another else 0)
        while held and len(held[-1][1]) <= len(arrival[1]) and _joins(held[-1], arrival):
            arrival = (sender, held.pop()[1] + arrival[1], 0, at_ns)
        held.append(arrival)
        if sender:
            self._heads.setdefault(sender, b"")
        if not sender or self._held_size > self.limits.unparsed:
            self._guess(at_ns)
            return
        if self._from_start:
            self._sniff_start(sender, octets, gap, at_ns)
        else:
            self._sniff_middle(sender, octets, gap, at_ns)

    def _sniff_start(self, sender: str, octets: bytes, gap: int, at_ns: int) -> None:
        client = self._client
        heads = self._heads
        if gap and len(heads[sender]) < HEADER_SIZE:
            if sender == client:
                # The header is lost, so it is as if the observation began late.
                self._restart(False)
            return
        heads[sender] = (heads[sender] + octets[:HEADER_SIZE])[:HEADER_SIZE]
        if client is None:
            if heads[sender][:1] != _HEADER_BEGIN[:1]:
                self._restart(False)
                return
            client = self._client = sender
            self._by = "header"
        first = heads.get(client, b"")
        if not _HEADER_BEGIN.startswith(first[:4]):
            self._begin(None, True, at_ns)
        elif len(first) == HEADER_SIZE:
            version = version_of(first)
            if version is not None:
                self._begin(version, True, at_ns)
                return
            answer = b"".join([head for label, head in heads.items() if label != client])
            if answer:
                self._begin(AMQP_0_9_1 if answer[:1] == _FRAME_BEGIN else None, True, at_ns)

    def _restart(self, from_start: bool) -> None:
        """Look at everything once more, with another idea of where it begins."""
        self._from_start = from_start
        self._heads = {}
        self._arrivals.extendleft(reversed(self._held))
        self._held = []
        self._held_size = 0

    def _sniff_middle(self, sender: str, octets: bytes, gap: int, at_ns: int) -> None:
        before = self._heads[sender]
        scouts = self._scouts.get(sender)
        if scouts is None and not gap and _HEADER_BEGIN.startswith((before + octets)[:4]):
            head = self._heads[sender] = (before + octets)[:HEADER_SIZE]
            if len(head) < HEADER_SIZE:
                return
            other = self._with_header(sender) if self._client is None else None
            if other is not None:
                self._begin_with_header(other)
                return
            if version_of(head) not in _BOTH_BEGIN or self._client == sender:
                if self._client in (None, sender):
                    self._begin_with_header(sender)
                return
        elif scouts is None and self._client is None and self._with_header(sender) is not None:
            # Who speaks without a header, behind the other's, began unseen.
            other = self._with_header(sender)
            if gap or other is None:
                self._begin_with_header(other)
            else:
                self._client, self._by = sender, "guess"
                self._begin(version_of(self._heads[other]), False, at_ns)
            return
        if scouts is None:
            from ._versions import Scouts

            scouts = self._scouts[sender] = Scouts()
            scouts.receive(before)
        if gap:
            scouts.gap()
        else:
            scouts.receive(octets)
        version = scouts.version
        if version is None:
            return
        if self._client is not None:
            self._begin(version, False, at_ns)
        elif scouts.side is not None:
            if (
                scouts.side is Side.CLIENT
                and len(self._heads) == 1
                and len(self._heads[sender]) == HEADER_SIZE
            ):
                self._begin_with_header(sender)
                return
            if scouts.side is Side.CLIENT:
                self._client = sender
            else:
                self._server = sender
                self._client = next((label for label in self._heads if label != sender), None)
            self._by = "frame"
            self._begin(version, False, at_ns)
        elif len(self._scouts) == 2 and all([each.is_equal for each in self._scouts.values()]):
            self._begin_with_first(version, at_ns)

    def _with_header(self, sender: str) -> str | None:
        """The other sender, if the first that was seen of the connection is its header, with which both begin."""
        first = next(iter(self._heads))
        return first if first != sender and version_of(self._heads[first]) in _BOTH_BEGIN else None

    def _begin_with_header(self, client: str | None) -> None:
        """The first header is the client's."""
        if self._client is None:
            self._client, self._by = client, "header"
        self._restart(True)

    def _guess(self, at_ns: int) -> None:
        """Nothing decided it."""
        version: Version | None = None
        for scouts in self._scouts.values():
            scouts.finish()
            version = version or scouts.version
        self._begin_with_first(version, at_ns)

    def _begin_with_first(self, version: Version | None, at_ns: int) -> None:
        """Take the first sender for the client, if nothing said who it is."""
        from_start = False
        if self._client is None:
            self._client = next(iter(self._heads), None)
            self._by = "guess"
            if self._client is not None and version_of(self._heads[self._client]) in _BOTH_BEGIN:
                self._by, from_start = "header", True
        self._begin(version, from_start, at_ns)

    def _begin(self, version: Version | None, from_start: bool, at_ns: int) -> None:
        client = self._client
        server = next((label for label in self._heads if label != client), None)
        setting = Setting(
            version, from_start, self.body, self.limits, client, server, self._by, at_ns
        )
        build = _undecoded if version is None else _MACHINES.get(version, _undecoded)
        self._machine = build(setting)
        self._arrivals.extendleft(reversed(self._held))
        self._held = []
        self._held_size = 0
        self._scouts = {}

    def __getstate__(self) -> tuple[object, ...]:
        return (_SCHEMA, *[getattr(self, name) for name in self.__slots__])

    def __setstate__(self, state: tuple[object, ...]) -> None:
        if state[0] != _SCHEMA:
            raise LocalProtocolError(
                f"the state of an observer has schema {state[0]}, this release reads {_SCHEMA}"
            )
        for name, value in zip(self.__slots__, state[1:], strict=True):
            setattr(self, name, value)


def _joins(one: _Arrival, other: _Arrival) -> bool:
    """Whether two arrivals are octets of the same sender at the same time."""
    return bool(one[1] and other[1]) and (one[0], one[3]) == (other[0], other[3])


_Arrival: TypeAlias = tuple[str, bytes, int, int]
"""Sender, octets, size of a gap, time; no sender: nothing more comes."""

__all__ = ["Identified", "Observed", "Observer", "ObserverEvent", "Skipped", "Violation"]
