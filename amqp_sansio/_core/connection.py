"""BaseConnection: octets, time, what is open, and how it ends, alike in every version (see `endpoint.Endpoint`).

Owned here: the octets that arrived and those to send, the clock and the timers, and the one end that a connection has.
A version owns its model and its handshakes, and parses when an event is taken.

Every call of the edge is allowed at any time, in any order. Once the connection is ending, what arrives is dropped, and
with CLOSE_WHEN_SENT what is queued is still given out.

Between two calls these hold:

- `now` never goes back, and nothing here reads a clock: what is due is told by `next_deadline`.
- An end takes effect behind the octets that arrived before it: it waits in `_ending` until they are parsed.
- `_report` is set once, by `_end`, together with the last event, Closed; a close that isn't answered yet is in
  `_report_later`.
- No more than `Limits.unparsed` octets wait to be parsed.
- A connection is open with its transport only, and one that has a report tells what to do with it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping

from .._checking import TYPE_CHECKING, Generic, Protocol, TypeVar
from .._ground.invariants import ensure
from .._ground.receive_buffer import ReceiveBuffer
from .._ground.timers import Clock, Timers
from .._version import __version__
from ..endpoint import CloseHint, Role, Side
from ..errors import AmqpError, EndpointClosed, LimitExceeded, LocalProtocolError, Scope
from ..events import By, Closed, CloseReport, Failed, Opened
from .hints import header_numbers as header_numbers
from .send_buffer import SendBuffer

if TYPE_CHECKING:
    from typing import Any, ClassVar, Final, Self

    from typing_extensions import Buffer

    from ..events import Event, Signal
    from ..limits import Limits
    from ..versions import Version

_KEEP: Final = CloseHint.KEEP
_CLOSE_NOW: Final = CloseHint.CLOSE_NOW
_TIMER_ORDER: Final = ("handshake", "close")
_TRANSPORT_ENDS: Final = ("eof", "lost")
UNREADABLE: Final = 1.0
"""Seconds that the peer has to read a close whose answer can't be read any more."""
DEAD_PEER: Final = "the peer or the network is dead, or its process is stopped"
ERROR: Final = 300
"""Reply codes from here on tell of an error."""
PRODUCT: Final[Mapping[str, str]] = {
    "product": "amqp_sansio",
    "version": __version__,
    "platform": "Python",
    "copyright": "MIT licence",
    "information": "a sans-I/O AMQP core",
}
"""The properties that this end states of itself."""


class BaseConfig(Protocol):
    """The part of a configuration that every version has."""

    @property
    def limits(self) -> Limits: ...
    @property
    def handshake_timeout(self) -> float: ...
    @property
    def close_timeout(self) -> float: ...


_C = TypeVar("_C", bound=BaseConfig)


class BaseConnection(Generic[_C]):
    """One connection in and out: octets, time, the opening, the close and the end of the transport.

    A version's connection parses what is in `_buffer` when an event is taken, queues octets in `_out` and events in
    `_events`. It calls `_become_open`, `_await_close` and `_end` as its handshakes go on, and fills the hooks below.
    """

    VERSION: ClassVar[Version]
    _CONFIG: ClassVar[type[Any]]
    """The class of configurations; its defaults are for who gives none."""
    LAYOUT: ClassVar[int]
    """The layout of a pickled connection; a snapshot of another layout is refused."""
    _NOT_OPEN: ClassVar[str] = "the connection is not open yet ({}); wait for Opened"
    _UNANSWERED: ClassVar[str] = "without the peer's close"

    __slots__ = (
        "_buffer",
        "_clock",
        "_close_hint",
        "_ending",
        "_events",
        "_last_received",
        "_last_sent",
        "_lost",
        "_opened",
        "_out",
        "_read_until",
        "_report",
        "_report_later",
        "_send_within",
        "_silence_after",
        "_timers",
        "_unit_offset",
        "_unparsed",
        "_waiting_for",
        "_was_full",
        "config",
        "role",
    )

    def __init__(self, role: Role, config: _C) -> None:
        # The side that this end is: Side.CLIENT or Side.SERVER.
        self.role = role
        # As it was given; nothing here changes it.
        self.config = config
        # Octets that arrived and aren't parsed yet.
        self._buffer = ReceiveBuffer()
        # The `now` of the last call, in seconds, which no later one may undercut.
        self._clock = Clock()
        # Deadlines of the opening ("handshake") and of the answer to a close ("close").
        self._timers = Timers(_TIMER_ORDER)
        # What `next_event` gives out next; the model's steps put several here at a time.
        self._events: deque[Event] = deque()
        # Octets for `data_to_send`; it adds SendPaused and SendResumed to the events.
        self._out = SendBuffer(self._events, config.limits)
        # Why it ends once the octets before that are parsed: a kind ("eof", "lost", "close-timeout" and so on) and a
        # sentence for people. None while it goes on; the first reason stays.
        self._ending: tuple[str, str] | None = None
        # What the caller does with the transport; it leaves KEEP once, and only CLOSE_WHEN_SENT still becomes
        # CLOSE_NOW.
        self._close_hint = _KEEP
        # Why it ended, from its last event on.
        self._report: CloseReport | None = None
        # Why this end closes it, from the close that it sends until the peer has answered.
        self._report_later: CloseReport | None = None
        # The decision that the application was asked for, as `_ask` names it; nothing is parsed before its answer.
        self._waiting_for: str | None = None
        # When octets last arrived, or when reading began again after a pause, in seconds: silence counts from here.
        self._last_received: float | None = None
        # When octets were last taken to be sent, in seconds: the next heartbeat counts from here.
        self._last_sent: float | None = None
        # Most octets that may wait to be parsed (`Limits.unparsed`).
        self._unparsed = config.limits.unparsed
        # The offset in the stream up to which this end reads while it waits for the answer to its close.
        self._read_until = 0
        # Where the unit that is being parsed begins in the stream, for errors; a snapshot has 0.
        self._unit_offset = 0
        # The longest pause between octets that the peer bears, in seconds; 0: any. Set when the opening has agreed on
        # it.
        self._send_within = 0.0
        # Seconds without octets after which the peer counts as dead; 0: never. Set with the one before.
        self._silence_after = 0.0
        # Whether commands may be given: from Opened until a close, by either end, or the loss.
        self._opened = False
        # Whether the budget reached 0 since octets last arrived: then the silence is no fault of the peer's.
        self._was_full = False
        # Whether the transport is gone, which is known before the octets that came before that are parsed.
        self._lost = False

    @classmethod
    def client(cls, config: _C | None = None) -> Self:
        """A client's end; what it begins with is queued at once. Raises ValueError for a configuration that can't
        work, LocalProtocolError for one whose first frames don't fit."""
        return cls(Side.CLIENT, cls._CONFIG() if config is None else config)

    @classmethod
    def server(cls, config: _C | None = None) -> Self:
        """A server's end; it waits for the client's protocol header. Raises ValueError."""
        return cls(Side.SERVER, cls._CONFIG() if config is None else config)

    def __repr__(self) -> str:
        return f"<AMQP {self.VERSION.label} {self.role.value} connection, {self._progress()}>"

    def receive_data(self, data: Buffer, now: float) -> None:
        """Queue octets that arrived at `now` (seconds). Raises LimitExceeded above `receive_budget`.

        No octets at all are fine: an adapter that stopped reading by itself says so that the peer's silence
        counts anew.
        """
        octets = data if type(data) is bytes else bytes(data)
        buffer = self._buffer
        after = len(buffer.data) - buffer.pos + buffer.held + len(octets)
        ended = self._close_hint is not _KEEP or self._ending is not None
        if after > self._unparsed and not ended and octets:
            raise LimitExceeded(
                f"receive_data with {len(octets)} octets, receive_budget is {self.receive_budget}; take events first"
            )
        self._clock.advance(now)
        if ended:
            return
        self._last_received = now
        if octets:
            if self._report_later is not None:
                octets = self._before_close(octets)
            buffer.append(octets)
            if after == self._unparsed:
                self._was_full = True

    def receive_eof(self, now: float) -> None:
        """The peer ended its stream; takes effect behind the octets still queued."""
        self._end_later(now, "eof", "the peer ended the stream")

    def connection_lost(self, reason: str, now: float) -> None:
        """The transport is gone; takes effect behind the octets still queued."""
        self._end_later(now, "lost", reason)
        self._lost = True
        self._opened = False
        self._out.close()
        self._close_hint = CloseHint.CLOSE_NOW

    def data_to_send(self, now: float, max_bytes: int | None = None) -> bytes:
        """Octets to write now, in one piece, at most `max_bytes`; what was held back may give a `SendResumed`."""
        self._clock.advance(now)
        if self._was_full:
            self._count_silence_anew(now)
        out = self._out
        if self._close_hint is _CLOSE_NOW:
            return b""
        octets = out.take(max_bytes) if out.size else b""
        if octets:
            self._last_sent = now
        if not self._opened:
            self._arm_timers(now)
        if out.paused:
            out.resume()
        return octets

    def handle_timeout(self, now: float) -> None:
        """Send what keeps the connection alive if it is due, or give up on a peer that is silent, stuck in the
        opening, doesn't answer a close, or doesn't read this end's last octets."""
        self._clock.advance(now)
        if self.is_ending:
            if self._close_hint is CloseHint.CLOSE_WHEN_SENT and self._timers.due(now):
                self._close_hint = CloseHint.CLOSE_NOW
                self._out.clear()
            return
        for name in self._timers.due(now):
            if name == "close":
                self._ending = ("close-timeout", "the peer did not answer the close")
            else:
                self._ending = ("handshake-timeout", f"the opening did not finish, {self._next_step()}")
        due = self._send_deadline()
        if due is not None and due <= now:
            self._keep_alive(now)
        if self._was_full:
            self._count_silence_anew(now)
        due = self._silence_deadline()
        if due is not None and due <= now:
            self._give_up_on_silence(now)

    @property
    def next_deadline(self) -> float | None:
        """When `handle_timeout` is wanted, in seconds on the caller's clock; None: never."""
        if self._ending is not None or self._close_hint is not _KEEP:
            return self._timers.next if self._close_hint is CloseHint.CLOSE_WHEN_SENT else None
        deadline = self._timers.next
        for other in (self._send_deadline(), self._silence_deadline()):
            if other is not None and (deadline is None or other < deadline):
                deadline = other
        return deadline

    @property
    def receive_budget(self) -> int:
        """Octets that `receive_data` still takes; 0 means: stop reading."""
        if self._ending is not None or self._close_hint is not _KEEP:
            return 0
        buffer = self._buffer
        return max(0, self._unparsed - len(buffer.data) + buffer.pos - buffer.held)

    @property
    def is_ending(self) -> bool:
        """Whether nothing more is read because the connection ends: behind the octets still queued, or already."""
        return self._ending is not None or self._close_hint is not _KEEP

    @property
    def close_hint(self) -> CloseHint:
        """The next thing to do with the transport, after writing `data_to_send`."""
        return self._close_hint

    @property
    def send_backlog(self) -> int:
        """Octets queued for `data_to_send`."""
        return self._out.size

    @property
    def send_buffer(self) -> SendBuffer:
        """Where the octets wait; its `size` is `send_backlog`, for callers that look often."""
        return self._out

    @property
    def report(self) -> CloseReport | None:
        """Why the connection ended, once it has."""
        return self._report

    @property
    def failure(self) -> CloseReport | None:
        """Why this end closes the connection with an error, from then on: the peer's answer, which is waited for,
        changes nothing of it. None for other ends.
        """
        later = self._report_later
        if later is None or later.by is not By.LOCAL:
            return None
        return later if later.code >= ERROR or later.condition else None

    @property
    def is_open(self) -> bool:
        """Whether the connection can be used: from `Opened` until either end closes it."""
        return self._opened and self._close_hint is _KEEP

    def first_octets(self, size: int) -> bytes:
        """Up to `size` octets of what the stream begins with, while nothing of it has been parsed; then none."""
        buffer = self._buffer
        return buffer.data[:size] if self._unit_offset == 0 == buffer.offset else b""

    def check(self) -> None:
        """Check that what the connection keeps is within `Limits`, is counted right and fits together.

        It looks at everything that is kept, so it is for tests, between any two calls. Raises AssertionError, which
        names the object, the invariant, and what is there instead.
        """
        self._out.check()
        where = repr(self)
        buffer = self._buffer
        buffer.check(where)
        held = len(buffer)
        ensure(held <= self._unparsed, where, "`Limits.unparsed` bounds the octets that wait to be parsed", held)
        ensure(not (self._opened and self._lost), where, "no connection is open without its transport")
        told = self._report is None or self._close_hint is not _KEEP
        ensure(told, where, "a connection with a report has ended", self._close_hint)

    # Hooks, which the versions fill.

    def _progress(self) -> str:
        """The state of the opening, in a few words."""
        raise NotImplementedError

    def _next_step(self) -> str:
        """The step at which the opening stopped, as the end of a sentence."""
        return f"it is {self._progress()}"

    def _keep_alive(self, now: float) -> None:
        """Send octets, so that the peer doesn't find this end silent."""
        raise NotImplementedError

    def _give_up_on_silence(self, now: float) -> None:
        """Give up on a peer that has been silent for too long."""
        self._ending = ("silent", f"nothing arrived for {self._silence_after:g} seconds, twice the heartbeat")

    def _cause_of_hangup(self) -> str:
        """The usual cause of a server that hangs up at this point; "" when none is known."""
        raise NotImplementedError

    def _rule_of_silence(self) -> str | None:
        """The rule by which a silent peer is given up."""
        return None

    def _close_unanswered(self, kind: str, text: str) -> str:
        """The hint of a close that the peer doesn't answer, because of `text`."""
        return text if kind not in _TRANSPORT_ENDS else f"{self._UNANSWERED}: {text}"

    def _end_parts(self, report: CloseReport) -> None:
        """Queue the last events of every channel, session and link, and of the calls on the connection itself."""
        raise NotImplementedError

    def _forget(self) -> None:
        """Let go of what no ended connection needs."""
        raise NotImplementedError

    # The opening.

    def _peek_header(self) -> bytes | None:
        """The protocol header at the beginning of the buffer, where it stays; None while octets are missing.

        Of a stream that begins in another way these are its first 4 octets: nothing says that 8 will come.
        """
        buffer = self._buffer
        if not buffer.want(4):
            return None
        size = 8 if buffer.data.startswith(b"AMQP", buffer.pos) else 4
        return buffer.data[buffer.pos : buffer.pos + size] if buffer.want(size) else None

    def _ask(self, what: str, event: Event) -> None:
        """Ask the application for a decision; nothing more is parsed before it."""
        self._waiting_for = what
        self._events.append(event)

    def _check_decision(self, what: str) -> None:
        """Raises LocalProtocolError when the application isn't asked for this decision, EndpointClosed at the end."""
        if self._waiting_for != what or self._lost:
            if self._is_closing:
                self.check_open()
            raise LocalProtocolError(f"no {what} is waiting for an answer")

    def _become_open(self) -> None:
        # The last octets of a transport that is gone may open the connection: nobody can use it.
        self._opened = not self._lost
        self._timers.clear("handshake")
        self._events.append(Opened(Scope.CONNECTION))

    def check_open(self) -> None:
        """Raises EndpointClosed, and LocalProtocolError before the connection is open."""
        if self._opened:
            return
        report = self._report or self._report_later
        if report is None and self._lost and self._ending is not None:
            report = CloseReport(By.TRANSPORT, 0, self._ending[1])
        if report is not None:
            what = "closing" if self._report is None and not self._lost else "closed"
            raise EndpointClosed(f"the connection is {what}: {report}", report)
        raise LocalProtocolError(self._NOT_OPEN.format(self._progress()))

    # The end.

    @property
    def _is_closing(self) -> bool:
        """Whether the connection is closing, closed or lost."""
        return self._report_later is not None or self._report is not None or self._lost

    def _await_close(self, report: CloseReport) -> None:
        """This end's close is queued; `report` says why, and is told when the peer has answered."""
        self._opened = False
        self._waiting_for = None
        self._timers.clear("handshake")
        self._report_later = report
        self._read_until = self._buffer.offset + self.config.limits.message

    def _before_close(self, octets: bytes) -> bytes:
        """The octets that are still read while the peer's close is awaited; a peer that sends more is given up.

        The bound is a place in the stream, so it doesn't matter how the octets are cut.
        """
        room = self._read_until - self._buffer.offset - len(self._buffer)
        if len(octets) > room:
            most = self.config.limits.message
            text = f"the peer sent more than {most} octets and didn't answer the close"
            self._ending = ("close-flood", text)
        return octets[:room]

    def _end_with(self, error: AmqpError, report: CloseReport, hint: CloseHint) -> None:
        """Tell of the error that ends the connection, and end it."""
        self._events.append(Failed(Scope.CONNECTION, 0, error, report.by))
        self._end(report, hint)

    def _end(self, report: CloseReport, hint: CloseHint) -> None:
        """Queue the last events of every part and of the connection; nothing is parsed any more."""
        if self._report is not None:
            return
        self._report = report
        self._end_parts(report)
        self._forget()
        self._opened = False
        self._out.paused = False
        self._waiting_for = None
        self._timers.clear_all()
        self._buffer.clear()
        if self._close_hint is _KEEP:
            self._close_hint = hint
        if hint is CloseHint.CLOSE_NOW:
            self._out.clear()
        elif self._clock.now is not None:
            self._timers.set("close", self._clock.now + self.config.close_timeout)
        self._events.append(Closed(Scope.CONNECTION, 0, report))

    def _end_of_octets(self, signal: Signal) -> Event | Signal:
        """Everything queued is parsed: end as the transport or a timer wants it, else hand on `signal`."""
        if self._ending is not None:
            self._finish(*self._ending)
            if self._events:
                return self._events.popleft()
        return signal

    def _finish(self, kind: str, text: str) -> None:
        later = self._report_later
        if later is not None:
            report = later.but(hint=later.hint or self._close_unanswered(kind, text))
        elif kind == "silent":
            report = CloseReport(By.TRANSPORT, 0, text, hint=DEAD_PEER, rule=self._rule_of_silence())
        elif kind in _TRANSPORT_ENDS:
            hint = "" if self.role is Side.SERVER else self._cause_of_hangup()
            report = CloseReport(By.TRANSPORT, 0, text, hint=hint)
        else:
            report = CloseReport(By.LOCAL, 0, text)
        # A peer that ended its stream may read on; one that is silent or gone doesn't.
        self._end(report, CloseHint.CLOSE_WHEN_SENT if kind == "eof" else CloseHint.CLOSE_NOW)

    def _end_later(self, now: float, kind: str, reason: str) -> None:
        self._clock.advance(now)
        if self._ending is None and self._report is None:
            self._ending = (kind, reason)

    # Deadlines.

    def _arm_timers(self, now: float) -> None:
        """Time the opening from the first turn of the loop on, and a close from when it has left."""
        timers = self._timers
        if self._report is not None:
            return
        if self._report_later is not None:
            if self._out.size or "close" not in timers.deadlines:
                patience = self.config.close_timeout
                timers.set("close", now + (min(patience, UNREADABLE) if self._buffer.is_lost else patience))
        elif "handshake" not in timers.deadlines:
            timers.set("handshake", now + self.config.handshake_timeout)

    def _send_deadline(self) -> float | None:
        """When something has to be sent: half of what the peer bears after the last octets."""
        if not self._send_within or self._out.size or self._last_sent is None:
            return None
        return self._last_sent + self._send_within / 2

    def _silence_deadline(self) -> float | None:
        """When the peer has been silent for too long; None while nothing can be read."""
        if not self._silence_after or self._last_received is None or not self.receive_budget:
            return None
        return self._last_received + self._silence_after

    def _count_silence_anew(self, now: float) -> None:
        """While the budget was 0 nobody read, so that the peer's silence said nothing."""
        if self.receive_budget:
            self._was_full = False
            self._last_received = now

    # Snapshots.

    def _kept(self) -> dict[str, object]:
        """Every slot, by name: what a snapshot holds."""
        return {name: getattr(self, name) for kind in type(self).__mro__ for name in kind.__dict__.get("__slots__", ())}

    def __reduce__(self) -> tuple[object, ...]:
        state = self._kept()
        state["_unit_offset"] = 0
        return _restored, (type(self), self.LAYOUT), state

    def __setstate__(self, state: dict[str, object]) -> None:
        for name, value in state.items():
            setattr(self, name, value)


_OTHER_LAYOUT: Final = "this snapshot has layout {}, this release reads {}; replay the recording instead"


def _restored(kind: type[BaseConnection[_C]], schema: int) -> BaseConnection[_C]:
    """Make the connection of a snapshot, still empty. Raises ValueError for another layout, before its content
    is read."""
    if schema != kind.LAYOUT:
        raise ValueError(_OTHER_LAYOUT.format(schema, kind.LAYOUT))
    return object.__new__(kind)
