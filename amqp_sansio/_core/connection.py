"""BaseConnection: octets, time and the transport's end, alike in every version (see `endpoint.Endpoint`)."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, ClassVar, Final, Generic, Protocol, TypeVar

from ..endpoint import CloseHint, Role
from ..errors import LimitExceeded
from ..events import By, SendPaused, SendResumed
from .receive_buffer import ReceiveBuffer
from .send_buffer import SendBuffer
from .timers import Clock, Timers

if TYPE_CHECKING:
    from typing_extensions import Buffer

    from ..events import CloseReport, Event
    from ..limits import Limits

_KEEP: Final = CloseHint.KEEP
_TIMER_ORDER: Final = ("handshake", "close")
_ERROR: Final = 300
"""Reply codes from here on tell of an error."""


class BaseConfig(Protocol):
    """What the edge is told beforehand."""

    @property
    def limits(self) -> Limits: ...


_C = TypeVar("_C", bound=BaseConfig)


class BaseConnection(Generic[_C]):
    """Octets, time and the transport's end on their way in and out of one connection.

    A version's connection parses what is in `_buffer` when an event is taken, queues octets in `_out` and events in
    `_events`, and says with `_send_deadline`, `_silence_deadline` and `_arm_timers` what its deadlines are.
    """

    SCHEMA: ClassVar[int]
    """The layout of a pickled connection; a snapshot of another layout is refused."""

    __slots__ = (
        "_backlog_high",
        "_buffer",
        "_clock",
        "_close_hint",
        "_ending",
        "_events",
        "_last_received",
        "_last_sent",
        "_lost",
        "_out",
        "_paused_sending",
        "_report",
        "_report_later",
        "_timers",
        "_unit_offset",
        "_unparsed",
        "_waiting_for",
        "_was_full",
        "config",
        "role",
    )

    def __init__(self, role: Role, config: _C) -> None:
        self.role = role
        self.config = config
        self._buffer = ReceiveBuffer()
        self._out = SendBuffer()
        self._clock = Clock()
        self._timers = Timers(_TIMER_ORDER)
        self._events: deque[Event] = deque()
        self._ending: tuple[str, str] | None = None
        self._close_hint = CloseHint.KEEP
        self._report: CloseReport | None = None
        self._report_later: CloseReport | None = None
        self._waiting_for: str | None = None
        self._last_received: float | None = None
        self._last_sent: float | None = None
        self._unparsed = config.limits.unparsed
        self._backlog_high = config.limits.backlog_high
        self._unit_offset = 0
        self._paused_sending = self._was_full = self._lost = False

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
                f"receive_data with {len(octets)} octets, receive_budget is {self.receive_budget}; "
                "take events first"
            )
        self._clock.advance(now)
        if ended:
            return
        self._last_received = now
        if octets:
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
        self._out.clear()
        self._close_hint = CloseHint.CLOSE_NOW

    def data_to_send(self, now: float, max_bytes: int | None = None) -> bytes:
        """Octets to write now, in one piece, at most `max_bytes`; what was held back may give a `SendResumed`."""
        self._clock.advance(now)
        if self._was_full:
            self._count_silence_anew(now)
        out = self._out
        if self._close_hint is CloseHint.CLOSE_NOW:
            return b""
        octets = out.take(max_bytes) if out.size else b""
        if octets:
            self._last_sent = now
        self._arm_timers(now)
        if self._paused_sending and out.size <= self.config.limits.backlog_low:
            self._paused_sending = False
            self._events.append(SendResumed(out.size))
        return octets

    @property
    def next_deadline(self) -> float | None:
        """When `handle_timeout` is wanted, in seconds on the caller's clock; None: never."""
        if self.is_ending:
            return None
        deadline = self._timers.next
        for other in (self._send_deadline(), self._silence_deadline()):
            if other is not None and (deadline is None or other < deadline):
                deadline = other
        return deadline

    @property
    def receive_budget(self) -> int:
        """Octets that `receive_data` still takes; 0 means: stop reading."""
        if self.is_ending:
            return 0
        return max(0, self._unparsed - len(self._buffer))

    @property
    def is_ending(self) -> bool:
        """Whether nothing more is read because the connection ends: behind the octets still queued, or already."""
        return self._ending is not None or self._close_hint is not CloseHint.KEEP

    @property
    def close_hint(self) -> CloseHint:
        """What to do with the transport after writing `data_to_send`."""
        return self._close_hint

    @property
    def send_backlog(self) -> int:
        """Octets queued for `data_to_send`."""
        return self._out.size

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
        return later if later.code >= _ERROR or later.condition else None

    def first_octets(self, size: int) -> bytes:
        """Up to `size` octets of what the stream begins with, while nothing of it has been parsed; then none."""
        buffer = self._buffer
        return buffer.data[:size] if self._unit_offset == 0 == buffer.offset else b""

    # What the versions do in their own way.

    def _send_deadline(self) -> float | None:
        """When something has to be sent so that the peer doesn't find this end silent."""
        raise NotImplementedError

    def _silence_deadline(self) -> float | None:
        """When the peer has been silent for too long; None while nothing can be read."""
        raise NotImplementedError

    def _arm_timers(self, now: float) -> None:
        """Time the opening, and a close that waits for its answer."""
        raise NotImplementedError

    # What they share inside.

    def _queue_octets(self, octets: bytes) -> None:
        """Queue octets, and say so when the backlog has become high."""
        self._out.append(octets)
        if self._out.size > self._backlog_high and not self._paused_sending:
            self._pause_sending()

    def _pause_sending(self) -> None:
        self._paused_sending = True
        self._events.append(SendPaused(self._out.size))

    def _count_silence_anew(self, now: float) -> None:
        """While the budget was 0 nobody read, so that the peer's silence said nothing."""
        if self.receive_budget:
            self._was_full = False
            self._last_received = now

    def _end_later(self, now: float, kind: str, reason: str) -> None:
        self._clock.advance(now)
        if self._ending is None and self._report is None:
            self._ending = (kind, reason)

    def _kept(self) -> dict[str, object]:
        """Every slot, by name: what a snapshot holds."""
        return {
            name: getattr(self, name)
            for kind in type(self).__mro__
            for name in kind.__dict__.get("__slots__", ())
        }

    def __getstate__(self) -> tuple[int, dict[str, object]]:
        state = self._kept()
        state["_unit_offset"] = 0
        return self.SCHEMA, state

    def __setstate__(self, state: tuple[int, dict[str, object]]) -> None:
        schema, values = state
        if schema != self.SCHEMA:
            text = f"this snapshot has layout {schema}, this release reads {self.SCHEMA}"
            raise ValueError(f"{text}; replay the recording instead")
        for name, value in values.items():
            setattr(self, name, value)
