"""Observer: watches both directions of a connection and reports the units sent, their answers, and broken rules.

It isn't an endpoint: it sends nothing, has no clock, and accepts any octets. Each version has its own observer. The
version and the client's side follow from the protocol header (0-9-1 section 4.2.2, 1.0 part 2 section 2.2), or from the
frames.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

from ._core.snapshot import Laid
from ._ground.invariants import ensure
from ._ground.layouts import OBSERVER
from ._watching.holders import Consumer, Holder
from ._watching.observation import Identified, Observed, ObserverEvent, Setting, Skipped, Violation
from .endpoint import Side
from .errors import LocalProtocolError
from .events import NEED_DATA, Signal
from .limits import Limits
from .versions import AMQP_0_8, AMQP_0_9_1, AMQP_0_10, AMQP_1_0, HEADER_BEGIN, HEADER_SIZE, Version, version_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from typing_extensions import Buffer

    from ._versions import Scouts
    from ._watching.holders import Holders
    from ._watching.lane import Lane
    from ._watching.observation import BaseObserver
    from ._watching.opaque import OpaqueObserver

    VersionObserver: TypeAlias = BaseObserver[Any, Any] | OpaqueObserver

_FRAME_BEGIN: Final = b"\x01"
_ARRIVAL: Final = 256
"""Most octets counted for each further arrival beside its own, while it waits for the version to be recognised."""


def _classic(setting: Setting) -> VersionObserver:
    from ._classic.observer.connection import ClassicObserver

    return ClassicObserver(setting)


def _amqp_0_10(setting: Setting) -> VersionObserver:
    from .amqp_0_10.observer import connection

    return connection.Observer(setting)


def _amqp_1_0(setting: Setting) -> VersionObserver:
    if setting.lane is not None and setting.body == "size":
        from .amqp_1_0.observer.lane import LaneObserver

        return LaneObserver(setting)
    from .amqp_1_0.observer.connection import Observer

    return Observer(setting)


def _undecoded(setting: Setting) -> VersionObserver:
    from ._watching.opaque import OpaqueObserver

    return OpaqueObserver(setting)


_MACHINES: Final[Mapping[Version, Callable[[Setting], VersionObserver]]] = {
    AMQP_0_8: _classic,
    AMQP_0_9_1: _classic,
    AMQP_0_10: _amqp_0_10,
    AMQP_1_0: _amqp_1_0,
}
"""The observer of each version."""
_BOTH_BEGIN: Final = (AMQP_0_10, AMQP_1_0)
"""In these versions both sides send a protocol header, so a single one doesn't identify its side."""

BODIES: Final = ("keep", "hash", "all", "size")
"""Options for the bodies of messages."""


class Observer(Laid):
    """Observes one connection of any version: octets of both sides in, events out.

    The senders have any two labels ("10.0.0.1:40000"). `client` is the client's label, if known; `from_start` whether
    the first octets are the connection's (None: they are if `client` is given, as a captured TCP handshake provides
    both). `likely` is the label that is taken for the client where the octets don't tell, from what the caller knows of
    the connection's ends. `body` is the treatment of message bodies: "keep" them, "hash" them (SHA-256, not kept), do
    both ("all"), or just count their "size". Bodies above `limits.message` are only counted. Without `records`, a
    `Lifecycle` can make no records of the events, and observing takes less time. With `accounts` there are `holders`.
    A `lane` is for `tables`: it takes usual units, of which there are no events then, and no rule of them is judged.

    Octets are parsed in order, over both directions, and only when an event is taken. The caller must provide them in
    causal order: `capture.Reassembler` does so. Times are nanoseconds. Picklable at any point.

    >>> from amqp_sansio import NEED_DATA
    >>> observer = Observer(client="c")
    >>> observer.receive_data(b"AMQP\\x00\\x00\\x09\\x01", "c", 1_000)
    True
    >>> while (event := observer.next_event()) is not NEED_DATA:
    ...     print(type(event).__name__, *([event.event] if isinstance(event, Observed) else []))
    Identified
    Observed protocol-header
    """

    _LAYOUT = OBSERVER
    _WHAT = "an observer"

    __slots__ = (
        "_account",
        "_arrivals",
        "_by",
        "_client",
        "_finished",
        "_from_start",
        "_heads",
        "_held",
        "_held_size",
        "_idle",
        "_labels",
        "_lane",
        "_likely",
        "_machine",
        "_scouts",
        "_server",
        "accounts",
        "body",
        "limits",
        "records",
    )

    def __init__(
        self,
        *,
        client: str | None = None,
        from_start: bool | None = None,
        body: str = "keep",
        limits: Limits | None = None,
        records: bool = True,
        likely: str | None = None,
        accounts: bool = False,
        lane: Lane | None = None,
    ) -> None:
        if body not in BODIES:
            raise ValueError(f"body must be one of {', '.join(BODIES)}, not {body!r}")
        self.body = body
        self.limits = limits or Limits()
        self.records = records or accounts
        self.accounts = accounts
        self._account: Holders | None = None
        self._client = client
        self._server: str | None = None
        self._labels: tuple[str, ...] = () if client is None else (client,)
        self._by = "told" if client is not None else ""
        self._lane = lane
        self._likely = likely
        self._from_start = client is not None if from_start is None else from_start
        self._arrivals: deque[_Arrival] = deque()
        self._heads: dict[str, bytes] = {}
        self._scouts: dict[str, Scouts] = {}
        self._held: list[_Arrival] = []
        self._held_size = 0
        self._machine: VersionObserver | None = None
        self._finished = False
        # The version's observer has nothing to read: what arrives next needn't wait for an event to be taken.
        self._idle = False

    def receive_data(self, data: Buffer, sender: str, at_ns: int) -> bool:
        """Queue octets that `sender` sent, captured at `at_ns` (nanoseconds); return whether an event may be there.

        Raises LocalProtocolError after `finish`, and for a third sender.
        """
        octets = data if type(data) is bytes else bytes(data)
        if self._finished or sender not in self._labels:
            self._check(sender)
        if octets:
            machine = self._machine
            if self._idle and machine is not None:
                client = sender != self._server if self._client is None else sender == self._client
                due = machine.receive_piece(client, octets, at_ns)
                self._idle = not due
                return due
            self._arrivals.append((sender, octets, 0, at_ns))
        return True

    def receive_pieces(self, pieces: Sequence[bytes], times: Sequence[int], sender: str) -> bool:
        """Queue what `sender` sent in several pieces, none of them empty, each with its time, as `receive_data` does.

        The events are the same, and take less time. Raises as `receive_data` does.
        """
        if self._finished or sender not in self._labels:
            self._check(sender)
        machine = self._machine
        if self._idle and pieces and machine is not None:
            client = sender != self._server if self._client is None else sender == self._client
            self._idle = not machine.receive(client, pieces, times)
            return not self._idle
        self._arrivals.extend([(sender, octets, 0, at_ns) for octets, at_ns in zip(pieces, times, strict=True)])
        return True

    def receive_gap(self, sender: str, octets: int, at_ns: int) -> None:
        """Queue a gap: `octets` octets of `sender` that were never captured.

        Raises LocalProtocolError after `finish`, and for a third sender.
        """
        self._check(sender)
        if octets > 0:
            self._idle = False
            self._arrivals.append((sender, b"", octets, at_ns))

    def finish(self, at_ns: int) -> None:
        """End the input: take events until NEED_DATA for everything still held. A second call is a no-op."""
        if not self._finished:
            self._finished = True
            self._idle = False
            self._arrivals.append(("", b"", 0, at_ns))

    def next_event(self) -> ObserverEvent | Signal:
        """Return the next event, or NEED_DATA. Never raises for observed octets."""
        machine = self._machine
        if machine is not None:
            event = machine.next()
            if event is not None:
                if self._account is not None:
                    self._account.take(event)
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
                machine.receive_piece(client, octets, at_ns)
            event = machine.next()
            if event is not None:
                if self._account is not None:
                    self._account.take(event)
                return event
        self._idle = machine is not None
        return NEED_DATA

    @property
    def model(self) -> object | None:
        """The version's own model of both ends, stepped up to the last event; None if no version was recognised.

        `amqp_sansio.recorded.instants` reads it.
        """
        return getattr(self._machine, "model", None)

    def holders(self) -> list[Holder]:
        """The consumers and links that are open, through which the client receives, as of the last event.

        The list is empty without `accounts`.
        """
        return [] if self._account is None else [*self._account.holders()]

    def take_consumers(self) -> list[Consumer]:
        """The consumers and links that have ended since the last call, with all that became of their deliveries.

        One whose deliveries are still open is given out when they aren't. At most `limits.consumers` are kept.
        """
        return [] if self._account is None else self._account.take_done()

    def last_consumers(self, end_ns: int, closed: bool) -> list[Consumer]:
        """As `take_consumers`, with those that are left when the connection ends; call it once, after `finish`.

        `end_ns` is the end (nanoseconds), `closed` whether it's the connection's, or only that of what is known.
        """
        return [] if self._account is None else self._account.finish(end_ns, closed)

    @property
    def held(self) -> int:
        """Octets held: those waiting to be recognised or parsed, and messages under way with their properties.

        Octets that wait count with an overhead for each further arrival. After all events were taken, the total is at
        most what `limits` allows for unparsed octets of each side, for bodies and for one header. Channels, sessions,
        links, consumers, requests and deliveries aren't counted here. `limits` bounds their number, and of each of
        them only some hundred octets are kept, however large the frames are: long names by their digests, and no maps.
        """
        arrivals = self._arrivals
        held = self._held_size + sum([len(each[1]) for each in arrivals])
        held += _ARRIVAL * max(0, len(arrivals) - 1)
        return held + (self._machine.held if self._machine is not None else 0)

    def check(self) -> None:
        """Check that what the observer keeps is within `limits`, is counted right and fits together.

        What it was told may break any rule of the protocol: it says nothing of that. It looks at everything that is
        kept, so it is for tests, when all events were taken. Raises AssertionError, which names the object, the
        invariant, and what is there instead.
        """
        where = "an observer"
        labels, held, machine = self._labels, self._held, self._machine
        ensure(len(labels) <= 2, where, "there are two senders at most", labels)
        strange = [label for label in (*self._heads, *self._scouts) if label not in labels]
        ensure(not strange, where, "what is known of senders is of these two", strange)
        times = sum([not _joins(one, other) for one, other in pairwise(held)])
        octets = sum([len(each[1]) for each in held]) + _ARRIVAL * times
        ensure(
            self._held_size == octets, where, "`_held_size` counts the arrivals that are held", self._held_size, octets
        )
        ensure(octets <= self.limits.unparsed, where, "`Limits.unparsed` bounds the arrivals that are held", octets)
        ensure(machine is None or not held, where, "arrivals are held until the version is known", len(held))
        idle = machine is not None and not self._arrivals
        ensure(idle or not self._idle, where, "it's idle when the version's observer has all arrivals")
        if machine is not None:
            machine.check()

    def _check(self, sender: str) -> None:
        if self._finished:
            raise LocalProtocolError("the observer has finished; make a new one for another connection")
        if sender not in self._labels:
            if not sender or len(self._labels) == 2:
                known = " and ".join(map(repr, self._labels))
                raise LocalProtocolError(f"a connection has two senders, {known}; not {sender!r}")
            self._labels = (*self._labels, sender)

    # Recognition: arrivals are held until version and sides are known, then given to the version's observer.

    def _sniff(self, arrival: _Arrival) -> None:
        """Take an arrival while version or sides aren't known.

        It is held until they are: from the start the protocol header tells both; from the middle a frame that is proven
        does (`_sniff_middle`). Above `Limits.unparsed` octets the likeliest is taken (`_guess`).
        """
        sender, octets, gap, at_ns = arrival
        held = self._held
        # Octets that arrive at the same time count as one arrival, however they are cut. Small pieces are joined into
        # larger ones; since sizes double, each octet is copied only a few times.
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
        """Take octets of a connection that is seen from its start: who sends "AMQP" first is the client.

        The version is that of its header; where nobody knows that one, what the server answers tells.
        """
        client = self._client
        heads = self._heads
        if gap and len(heads[sender]) < HEADER_SIZE:
            if sender == client:
                # Without its header, the connection counts as observed from the middle.
                self._restart(False)
            return
        heads[sender] = (heads[sender] + octets[:HEADER_SIZE])[:HEADER_SIZE]
        if client is None:
            if heads[sender][:1] != HEADER_BEGIN[:1]:
                self._restart(False)
                return
            client = sender
            self._client = sender
            self._by = "header"
        first = heads.get(client, b"")
        if not HEADER_BEGIN.startswith(first[:4]):
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
        """Look at everything again, with another assumption about where it begins."""
        self._from_start = from_start
        self._heads = {}
        self._arrivals.extendleft(reversed(self._held))
        self._held = []
        self._held_size = 0

    def _sniff_middle(self, sender: str, octets: bytes, gap: int, at_ns: int) -> None:
        before = self._heads[sender]
        scouts = self._scouts.get(sender)
        if scouts is None and not gap and HEADER_BEGIN.startswith((before + octets)[:4]):
            head = self._heads[sender] = (before + octets)[:HEADER_SIZE]
            if len(head) < HEADER_SIZE:
                return
            other = self._with_header(sender) if self._client is None else None
            if other is not None:
                self._begin_with_header(other)
                return
            if self._client == sender:
                self._begin_with_header(sender)
                return
            if version_of(head) not in _BOTH_BEGIN and len(before) < HEADER_SIZE and len(octets) <= HEADER_SIZE:
                # A server that refuses what the client asked for sends such a header too: the other side tells.
                return
        elif scouts is None and self._client is None and self._first_header(sender) is not None:
            other = self._first_header(sender)
            if gap or other is None:
                self._begin_with_header(other)
                return
            version = version_of(self._heads[other])
            if version not in _BOTH_BEGIN:
                # It has answered with a frame.
                self._begin_with_header(other)
                return
            # A sender whose octets follow the other's header, without its own, began before the capture.
            self._begin_as(sender, version, False, at_ns)
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
            if not self._is_lone_header(sender):
                self._begin(version, False, at_ns)
        elif scouts.side is not None:
            if scouts.side is Side.CLIENT and len(self._heads) == 1 and len(self._heads[sender]) == HEADER_SIZE:
                self._begin_with_header(sender)
                return
            if scouts.side is Side.CLIENT:
                self._client = sender
            else:
                self._server = sender
                self._client = next((label for label in self._heads if label != sender), None)
            self._by = "frame"
            self._begin(version, False, at_ns)
        elif self._likely is not None or (
            len(self._scouts) == 2 and all([each.is_equal for each in self._scouts.values()])
        ):
            self._begin_with_first(version, at_ns)

    def _first_header(self, sender: str) -> str | None:
        """Return the other sender, if a whole header of its came first."""
        first = next(iter(self._heads))
        return first if first != sender and self._heads[first].startswith(HEADER_BEGIN) else None

    def _is_lone_header(self, sender: str) -> bool:
        """Return whether a protocol header is all that a sender, who needn't be the client, has sent.

        It says nothing of the version: a server that refuses one sends another one's.
        """
        if sender == self._client or not self._heads[sender].startswith(HEADER_BEGIN):
            return False
        return sum([len(octets) for label, octets, _, _ in self._held if label == sender]) == HEADER_SIZE

    def _with_header(self, sender: str) -> str | None:
        """Return the other sender, if its header came first in a version in which both sides send one."""
        first = next(iter(self._heads))
        return first if first != sender and version_of(self._heads[first]) in _BOTH_BEGIN else None

    def _begin_with_header(self, client: str | None) -> None:
        """Start with the first header as the client's."""
        if self._client is None:
            self._client = client
            self._by = "header"
        self._restart(True)

    def _guess(self, at_ns: int) -> None:
        """Guess, since the octets don't decide."""
        version: Version | None = None
        for scouts in self._scouts.values():
            scouts.finish()
            version = version or scouts.version
        self._begin_with_first(version, at_ns)

    def _begin_with_first(self, version: Version | None, at_ns: int) -> None:
        """Treat the likely client, or else the first sender, as the client, if nothing else identifies it."""
        if self._client is not None:
            heard = [label for label, head in self._heads.items() if head]
            lone = len(heard) == 1 and self._is_lone_header(heard[0])
            self._begin(None if lone else version, False, at_ns)
            return
        first = next(iter(self._heads), None)
        head = b"" if first is None else self._heads[first]
        if len(head) == HEADER_SIZE and head.startswith(HEADER_BEGIN):
            if first is not None and self._is_lone_header(first):
                self._begin_as(first, None, False, at_ns)
                return
            version = version_of(head) or version
            self._begin_as(first, version, self._likely in (None, first), at_ns)
        else:
            self._begin_as(first, version, False, at_ns)

    def _begin_as(self, client: str | None, version: Version | None, from_start: bool, at_ns: int) -> None:
        """Start with this client, for want of evidence, unless another one is likely."""
        self._client, self._by = (client, "guess") if self._likely is None else (self._likely, "likely")
        self._begin(version, from_start, at_ns)

    def _begin(self, version: Version | None, from_start: bool, at_ns: int) -> None:
        client = self._client
        server = next((label for label in self._heads if label != client), None)
        setting = Setting(
            version,
            from_start,
            self.body,
            self.limits,
            client,
            server,
            self._by,
            at_ns,
            self.records,
            self.accounts,
            self._lane,
        )
        build = _undecoded if version is None else _MACHINES.get(version, _undecoded)
        self._machine = build(setting)
        self._account = getattr(self.model, "account", None)
        self._arrivals.extendleft(reversed(self._held))
        self._held = []
        self._held_size = 0
        self._scouts = {}


class FrameHead(NamedTuple):
    """A frame's name, its whole size in octets, and its place: frames of one unit have the same one."""

    name: str
    size: int
    place: tuple[int, ...]


def frame_head(octets: bytes, version: Version) -> FrameHead | None:
    """Return the head of the frame, or of the protocol header, that begins with `octets`; twelve of them are enough.

    None: they are none of this version, or more are needed.

    >>> frame_head(bytes.fromhex("01000100000004"), AMQP_0_9_1) is None
    True
    >>> frame_head(bytes.fromhex("0100010000000400"), AMQP_0_9_1)
    FrameHead(name='method', size=12, place=(1,))
    """
    if octets.startswith(HEADER_BEGIN):
        return FrameHead("protocol header", HEADER_SIZE, ())
    if version is AMQP_1_0:
        from .amqp_1_0.codec.frames import head
    elif version is AMQP_0_10:
        from .amqp_0_10.codec.frames import head
    else:
        from ._classic.codec.frames import head
    found = head(octets)
    return FrameHead(*found) if found else None


def _joins(one: _Arrival, other: _Arrival) -> bool:
    """Whether two arrivals are octets of the same sender at the same time."""
    return bool(one[1] and other[1]) and (one[0], one[3]) == (other[0], other[3])


_Arrival: TypeAlias = tuple[str, bytes, int, int]
"""Sender, octets, size of a gap, time; no sender: the end."""

__all__ = [
    "Consumer",
    "FrameHead",
    "Holder",
    "Identified",
    "Observed",
    "Observer",
    "ObserverEvent",
    "Skipped",
    "Violation",
    "frame_head",
]
