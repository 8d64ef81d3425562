"""BaseClient: one connection of a client, as a pure machine that a driver moves octets and time for.

A `Driver` is the part that isn't pure: a transport, a clock, and how one waits. It treats a client like any other
`Endpoint`: it hands over octets, calls `next_event` until `Signal.NEED_DATA`, wakes whoever waits for one of
`completed()`, writes `data_to_send`, and looks at `close_hint` and `next_deadline`. The methods that users await are
coroutines of this package; each wait in them is a `Pending` that the driver was asked to wait for.
"""

from __future__ import annotations

import copy
import sys
from collections import deque
from collections.abc import Awaitable, Callable
from contextlib import suppress
from heapq import heapify, heappop, heappush
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from ..endpoint import CloseHint, Endpoint, Role
from ..errors import AmqpError, EndpointClosed, Scope, VersionRefused
from ..events import By, Closed, CloseReport, Event, Failed, Opened, Pending, Signal
from ..versions import HEADER_BEGIN, HEADER_SIZE, Version, version_of
from .inbox import Inbox, Streams
from .recovery import Again, Recovered, Recovery, RecoveryPolicy, State

if TYPE_CHECKING:
    from typing_extensions import Buffer

    from ..limits import Limits
    from .hooks import Hooks

ERROR = 300
"""Reply codes from here on tell of an error."""
FLUSH_OCTETS = 64 * 1024
"""Octets above which a caller that publishes gives way to the driver's writing."""
NOTES = 1000
"""Lines for a log that are kept for the driver; the oldest go first."""
STOPPED_TIMERS = 32
"""Timers that nobody waits for any more, of which so many may stay behind others that haven't ended."""


class Config(Protocol):
    """The fields that every version's configuration has."""

    @property
    def close_timeout(self) -> float: ...
    @property
    def handshake_timeout(self) -> float: ...
    @property
    def limits(self) -> Limits: ...


class Core(Endpoint, Protocol):
    """A client's connection of any version."""

    @property
    def config(self) -> Config: ...
    @property
    def report(self) -> CloseReport | None: ...
    @property
    def failure(self) -> CloseReport | None: ...
    @property
    def is_open(self) -> bool: ...


class Driver(Protocol):
    """The impure part below a client: its transport, its clock, and how a caller waits."""

    @property
    def congested(self) -> bool:
        """Whether a caller that publishes must `pace` first, because the transport takes nothing at the moment."""
        ...

    def wait(self, pending: Pending[Any]) -> Awaitable[object]:
        """Return an awaitable that ends when `pending` is done.

        It adds to `pending.waiters` what it has to wake when `completed()` returns the pending.
        """
        ...

    def flush_soon(self) -> None:
        """Write what is queued, at the latest before anything is read."""
        ...

    def flush_later(self) -> None:
        """Do the same, but more is likely to follow at once that can be written together with it."""
        ...

    def pace(self) -> Awaitable[object]:
        """Return an awaitable that ends when the transport has taken what is queued, or can take no more at once."""
        ...

    def close_soon(self) -> None:
        """Write what is queued even if the transport's buffer is full: a close's deadline starts when it is written."""
        ...

    def reading_changed(self) -> None:
        """Read, or don't: whether `receive_budget` is 0 may have changed."""
        ...

    def ring(self) -> None:
        """Call `take_dropped` soon. Unlike the others this may be called in any thread, and by a destructor."""
        ...


CoreT = TypeVar("CoreT", bound=Core)
_R = TypeVar("_R")
_Error = TypeVar("_Error", bound=AmqpError)


class BaseClient(Generic[CoreT]):
    """The state of one client connection that every version has; a subclass routes the version's events.

    `streams` take events of the connection as a whole. `opened` ends when the connection is open, or can't be; `lost`
    when its transport is gone. `full` counts full inboxes: nothing is read while there are any, unless somebody waits
    for an answer, which may come behind what fills them. `hold` counts open batches: what is queued then may be written
    together at their end. `first_octets` are the peer's first 8: its protocol header, if it sends one. `unseen` are the
    failures that no caller has been told. `notes` are lines for the driver's log: what was opened, and what was closed
    and why.

    With `recovery` a lost connection is opened again. From the loss until then `restored` is pending, and `redo` are
    the calls to make again. `kept` counts the octets of messages that might have to be sent again; publishers wait
    while it is above `kept_high`.
    """

    def __init__(self, core: CoreT) -> None:
        self._serial = 0
        self.core = core
        self.streams: Streams = []
        self.full = 0
        self.hold = 0
        self.first_octets = b""
        self.unseen: dict[object, EndpointClosed] = {}
        self.opened: Pending[None] = self.pending()
        self.lost: Pending[None] = self.pending()
        self.backlog_high = core.config.limits.backlog_high
        self.hooks: Hooks | None = None
        self.notes: deque[str] = deque(maxlen=NOTES)
        self.flush_octets = min(FLUSH_OCTETS, self.backlog_high)
        self._driver: Driver | None = None
        self._completed: list[Pending[Any]] = []
        self._waiting: dict[int, Pending[Any]] = {}
        self._late: dict[Pending[Any], Callable[[Any], object]] = {}
        self._failures: dict[object, AmqpError] = {}
        self._dropped: deque[Callable[[], object]] = deque()
        self._starting: list[tuple[float, Pending[None]]] = []
        self._deadlines: list[tuple[float, int, Pending[None]]] = []
        self._bounded: dict[Pending[None], Pending[Any]] = {}
        self._stopped = 0
        self._gate: list[Pending[None]] = []
        self.recovery: Recovery | None = None
        self.restored: Pending[None] | None = None
        self.redo: deque[Again] = deque()
        self.kept: int = 0
        self.kept_high = sys.maxsize
        self._is_detached = False

    # Endpoint.

    @property
    def role(self) -> Role:
        return self.core.role

    def receive_data(self, data: Buffer, now: float) -> None:
        """Queue octets that arrived at `now`, in seconds. Raises LimitExceeded above `receive_budget`."""
        if len(self.first_octets) < HEADER_SIZE:
            self.first_octets = (self.first_octets + bytes(data))[:HEADER_SIZE]
        self.core.receive_data(data, now)

    def receive_eof(self, now: float) -> None:
        """Note that the peer has ended its stream."""
        self.core.receive_eof(now)

    def connection_lost(self, reason: str, now: float) -> None:
        """Note that the transport is gone; the events that follow end everything that waits."""
        self.core.connection_lost(reason, now)

    def next_event(self) -> Event | Signal:
        """Route events until one is left that nobody asked for, or there are no more."""
        raise NotImplementedError

    def data_to_send(self, now: float, max_bytes: int | None = None) -> bytes:
        """Return octets to write now, at most `max_bytes`."""
        if self._starting:
            self.start_timers(now)
        self.before_sending()
        octets = self.core.data_to_send(now, max_bytes)
        if self._gate and self.core.send_backlog <= self.core.config.limits.backlog_low:
            self._open_gate()
        return octets

    def handle_timeout(self, now: float) -> None:
        """Do everything that is due at `now`."""
        if self.full and not self._waiting and self.core.receive_budget:
            # Nobody reads because inboxes are full, so the peer's silence isn't its own.
            self.core.receive_data(b"", now)
        if not self._is_detached:
            self.core.handle_timeout(now)
        if self.recovery is not None and self.recovery.handle_timeout(now):
            self._give_up()
        while self._deadlines and self._deadlines[0][0] <= now:
            timer = heappop(self._deadlines)[2]
            self.complete(timer)
            bounded = self._bounded.pop(timer, None)
            if bounded is not None:
                self.complete(bounded)

    @property
    def next_deadline(self) -> float | None:
        """When to call `handle_timeout`, in seconds; None: never."""
        deadline = None if self._is_detached else self.core.next_deadline
        if self.restored is not None and self.recovery is not None:
            due = self.recovery.next_deadline
            deadline = due if deadline is None or (due is not None and due < deadline) else deadline
        timers = self._deadlines
        while timers and timers[0][2].done:
            heappop(timers)
        if timers and (deadline is None or timers[0][0] < deadline):
            return timers[0][0]
        return deadline

    @property
    def receive_budget(self) -> int:
        """Octets that `receive_data` accepts now; 0 means stop reading."""
        if self.full and not self._waiting:
            return 0
        return self.core.receive_budget

    @property
    def close_hint(self) -> CloseHint:
        """How to treat the transport once `data_to_send` is written."""
        recovery = self.recovery
        if recovery is not None:
            if self._is_detached:
                return CloseHint.KEEP  # There is no transport.
            if recovery.state is State.ENDED and self.core.close_hint is CloseHint.KEEP:
                return CloseHint.CLOSE_NOW  # It was given up while it was being restored.
        return self.core.close_hint

    @property
    def send_backlog(self) -> int:
        """Octets queued and not yet taken."""
        return self.core.send_backlog

    # For drivers.

    @property
    def config(self) -> Config:
        """The configuration of the core's connection."""
        return self.core.config

    @property
    def report(self) -> CloseReport | None:
        """Why the connection ended, once it has; a lost one that is opened again has not."""
        if self.restored is not None:
            return None
        recovery = self.recovery
        return self.core.report if recovery is None or recovery.report is None else recovery.report

    @property
    def failure(self) -> CloseReport | None:
        """Why the connection can't be used any more, from the first moment on."""
        return None if self.restored is not None else self.core.failure

    @property
    def is_open(self) -> bool:
        """Whether the connection is usable."""
        return self.restored is None and self.core.is_open

    def recover(self, policy: RecoveryPolicy, addresses: tuple[str, ...], seed: int) -> None:
        """Open the connection again whenever it is lost from now on; see `Recovery`."""
        self.recovery = Recovery(policy, addresses, seed)
        self.kept_high = policy.in_doubt_octets

    def reconnect(self, core: CoreT) -> None:
        """Go on with a new core: the driver is about to open a transport to `recovery.take_wanted()`."""
        self.core = core
        self.first_octets = b""
        self._failures.clear()
        self._is_detached = False

    def stop_recovery(self) -> None:
        """Give a lost connection up because its user closes it."""
        if self.restored is not None and self.recovery is not None:
            self.recovery.stop(CloseReport(By.LOCAL, 200, "closed while the connection was lost"))
            self._give_up()

    @property
    def version(self) -> Version:
        """The version that it speaks."""
        raise NotImplementedError

    def not_opened(self, where: object, report: CloseReport | None) -> EndpointClosed:
        """Return the error of a connection that couldn't be opened: VersionRefused if the server offers another."""
        text = f"no connection to {where}: {report}"
        header = self.first_octets
        if len(header) < HEADER_SIZE or not header.startswith(HEADER_BEGIN) or version_of(header) is self.version:
            return EndpointClosed(text, report)
        return VersionRefused(text, report, header)

    def start_timers(self, now: float) -> None:
        """Start what `after` asked for; `data_to_send` does it too. For drivers that can't write at the moment."""
        for seconds, timer in self._starting:
            if not timer.done:
                self._serial += 1
                heappush(self._deadlines, (now + seconds, self._serial, timer))
        self._starting.clear()

    def attach(self, driver: Driver) -> None:
        """Let `driver` move this client's octets and time."""
        self._driver = driver

    def completed(self) -> list[Pending[Any]]:
        """Take the pendings that are done since the last call, and that somebody waits for."""
        completed = self._completed
        if completed:
            self._completed = []
        return completed

    def take_notes(self) -> list[str]:
        """Take the lines for a log of what happened since the last call."""
        notes = list(self.notes)
        self.notes.clear()
        return notes

    def untaken(self, event: Event) -> str:
        """Return a line for a log if an event that nobody asked for means that something was lost, else ""."""
        return ""

    def take_dropped(self) -> None:
        """Do what objects left to be done that users dropped without closing them."""
        while self._dropped:
            self._dropped.popleft()()

    def transport_ended(self, reason: str, now: float | None = None) -> None:
        """Note at `now` that the transport is closed, and everything of it taken: nobody waits any more, or, of a
        connection that recovers, for the next transport.

        `reason` is for those who still do, because the core has failed. Only a client that recovers needs `now`.
        """
        if self.restored is not None and self.recovery is not None:
            if now is None:
                raise ValueError("a client that recovers needs the time at which its transport ended")
            self._is_detached = True
            event = self.recovery.wait(now) if self.recovery.state is State.WAITING else None
            if event is None:
                self._give_up()
            else:
                text = (
                    f"lost: {event.report}; attempt {event.attempt} at {event.address} in {event.seconds:.3g} seconds"
                )
                self.notes.append(text)
                offer(self.streams, event)
            return
        if self._waiting or not self.core.report:
            report = CloseReport(By.TRANSPORT, 0, reason)
            error = EndpointClosed(f"the transport was lost: {reason}", report)
            self.end_parts(report)
            for pending in [each for each in self._waiting.values() if each is not self.lost]:
                pending.fail(error)
                self.done(pending)
        self._open_gate()
        self.complete(self.lost)

    # For the parts of the client.

    @property
    def driver(self) -> Driver:
        """The driver. Raises RuntimeError before `attach`."""
        if self._driver is None:
            raise RuntimeError("this client has no driver yet: call attach(driver)")
        return self._driver

    def pending(self) -> Pending[Any]:
        """Return a pending of this client's own, to be ended by `complete`."""
        self._serial += 1
        return Pending(("client", self._serial))

    def after(self, seconds: float) -> Pending[None]:
        """Return a pending that is done `seconds` after the next octets are written; `stop` it if it comes too late."""
        pending: Pending[None] = self.pending()
        self._starting.append((seconds, pending))
        self.driver.flush_soon()
        return pending

    def bound(self, timer: Pending[None], pending: Pending[Any]) -> None:
        """End a pending of this client's own, with the result None, when a timer from `after` is done.

        A timer bounds one pending at a time, the last.
        """
        if timer.done:
            self.complete(pending)
        else:
            self._bounded[timer] = pending

    def stop(self, timer: Pending[None]) -> None:
        """Let nothing happen any more when the time of a timer is over."""
        self._bounded.pop(timer, None)
        if not timer.done:
            self.complete(timer)
            self._stopped += 1
            if self._stopped > STOPPED_TIMERS and self._stopped > len(self._deadlines) // 2:
                self._deadlines = [each for each in self._deadlines if not each[2].done]
                heapify(self._deadlines)
                self._stopped = 0

    def complete(self, pending: Pending[Any], result: object = None) -> None:
        """End a pending, and wake who waits for it; a second time does nothing."""
        if not pending.done:
            pending.complete(result)
            if pending.again is not None:
                self.take_again(pending).answered(pending)
            self.done(pending)

    def done(self, pending: Pending[Any]) -> None:
        """Have those woken that `wait` for a pending, which is done."""
        if pending.waiters is not None:
            self._completed.append(pending)
            self._waiting.pop(id(pending), None)

    def wake(self, pending: Pending[Any]) -> None:
        """End a pending, and wake who `sleep`s until then."""
        pending.complete(None)
        self._completed.append(pending)

    def wait(self, pending: Pending[Any]) -> Awaitable[object]:
        """Return an awaitable that ends when a pending is done, which is read for meanwhile."""
        self.watch(pending)
        return self.driver.wait(pending)

    def watch(self, pending: Pending[Any]) -> None:
        """Have a pending returned by `completed` when it is done, and octets read for it meanwhile."""
        if pending.waiters is None:
            pending.waiters = []
            self._waiting[id(pending)] = pending
            if self.full:
                self.driver.reading_changed()

    def reading_changed(self) -> None:
        """Have the driver look whether to read."""
        if self._driver is not None:
            self._driver.reading_changed()

    def nudge(self) -> None:
        """Have the driver look at `completed()` soon: something ended although no octets came."""
        if self._driver is not None:
            self._driver.flush_soon()

    def sleep(self, pending: Pending[Any]) -> Awaitable[object]:
        """Do the same for a pending that isn't an answer of the peer: full inboxes stop the reading meanwhile."""
        pending.waiters = []
        return self.driver.wait(pending)

    async def result(self, pending: Pending[_R], late: Callable[[_R], object] | None = None) -> _R:
        """Wait for an answer and return it. `late` gets it if the caller is interrupted before.

        Raises the call's error.
        """
        self.driver.flush_soon()
        if not pending.done:
            try:
                await self.wait(pending)
            except BaseException:
                if late is not None:
                    self.abandon(pending, late)
                raise
        if pending.error is not None:
            raise self.error_of(pending)
        return pending.result

    def abandon(self, pending: Pending[_R], late: Callable[[_R], object]) -> None:
        """Call `late` with the answer of a call whose caller is gone, when it comes and isn't an error."""
        if not pending.done:
            self._late[pending] = late
        elif pending.error is None:
            # On a connection that is being closed nothing is left to give back.
            with suppress(EndpointClosed):
                late(pending.result)
            self.driver.flush_soon()

    def expect(self, pending: Pending[_R], hook: Callable[[_R], object]) -> None:
        """Call `hook` with the answer of a call before the next event is taken."""
        self._late[pending] = hook
        self.driver.flush_soon()

    def error_of(self, pending: Pending[Any]) -> AmqpError:
        """Return the error that a caller gets for a call that failed."""
        error = pending.error
        assert error is not None
        return self.for_caller(error)

    def for_caller(self, error: _Error) -> _Error:
        """Return an error for one more caller, with its cause, and note that a caller has been told.

        It is a copy: each raising adds to an exception's traceback.
        """
        found = copy.copy(error)
        found.__cause__ = error.__cause__
        self.seen(getattr(error, "report", None))
        return found

    def seen(self, report: CloseReport | None) -> None:
        """Note that a caller has been told of a failure."""
        for key, error in list(self.unseen.items()):
            if key == 0 or error.report == report:
                del self.unseen[key]

    def take_unseen(self, before: dict[object, EndpointClosed]) -> EndpointClosed | None:
        """Take the failures that no caller has been told; return the first.

        `before` is a copy of `unseen` before the close of somebody who doesn't show its report to anybody.
        """
        unseen = before | self.unseen
        self.unseen.clear()
        return next(iter(unseen.values()), None)

    def closed_error(self) -> EndpointClosed:
        """Return the error of a call on a connection that has ended."""
        report = self.report or self.core.failure
        self.seen(report)
        error = EndpointClosed(f"the connection is closed: {report}", report)
        error.__cause__ = self._failures.get(0)
        return error

    async def room(self) -> None:
        """Give way to the writing, and wait while the peer reads too slowly."""
        await self.driver.pace()
        while self.core.send_backlog >= self.core.config.limits.backlog_high and not self.lost.done:
            pending: Pending[None] = self.pending()
            self._gate.append(pending)
            await self.wait(pending)

    def drop_later(self, work: Callable[[], object]) -> None:
        """Do some work at the driver's next turn. This may be called in any thread, and by a destructor."""
        self._dropped.append(work)
        if self._driver is not None:
            self._driver.ring()

    # Recovery.

    @property
    def waits_to_publish(self) -> bool:
        """Whether a publish waits while the connection is lost."""
        return self.recovery is not None and self.recovery.policy.publish == "wait"

    async def until_restored(self) -> None:
        """Wait while a lost connection is opened again. Raises EndpointClosed if it is given up."""
        while self.restored is not None:
            await self.wait(self.restored)
            if self.recovery is not None and self.recovery.state is State.ENDED:
                raise self.closed_error()

    def keeps(self) -> bool:
        """Whether the connection has ended, and what is open on it lives on: it is opened again."""
        recovery = self.recovery
        if recovery is None or not self.opened.done:
            return False
        report, before = self.core.failure or self.core.report, recovery.state
        if report is None or not recovery.keeps(report):
            return False
        if recovery.state is not before:
            self.restored = self.restored or self.pending()
            self.on_lost()
        return True

    def reopen(self, pending: Pending[Any]) -> None:
        """Let a call that has failed go on waiting: it will be made again."""
        hook = self._late.pop(pending, None)
        self._serial += 1
        pending.reopen(self._serial)  # Calls of the new connection may have the keys of the old one's.
        if hook is not None:
            self._late[pending] = hook

    def answer(self, pending: Pending[Any], result: object) -> None:
        """End a call that was made again."""
        pending.complete(result)
        self._answered(pending)

    def fail(self, pending: Pending[Any], error: AmqpError) -> None:
        """End a call that was made again with an error."""
        self._late.pop(pending, None)
        pending.fail(error)
        self.done(pending)

    def redo_calls(self) -> Pending[None] | None:
        """Make the calls again that were under way; return a pending to wait for before the rest."""
        while self.redo:
            if self.core.send_backlog >= self.backlog_high:
                pending: Pending[None] = self.pending()
                self._gate.append(pending)
                return pending
            self.redo_call(self.redo.popleft())
        return None

    def redo_call(self, again: Again) -> None:
        """Make a call again, or tell its caller why that is impossible."""
        try:
            again.redo()
        except AmqpError as error:
            report = error.report if isinstance(error, EndpointClosed) else None
            again.give_up(EndpointClosed(f"the call could not be made again: {error}", report))

    def restoring_done(self, event: Callable[[str, int], Recovered]) -> None:
        """Let everybody go on who waited for the connection; `event` makes the event of address and attempts."""
        recovery, restored = self.recovery, self.restored
        if recovery is None or restored is None:
            return
        told = event(*recovery.done())
        self.restored = None
        self.complete(restored)
        doubt = f", {len(told.in_doubt)} messages in doubt" if told.in_doubt else ""
        self.notes.append(f"open again after {told.attempts} attempts, at {told.address}{doubt}")
        offer(self.streams, told)
        self.nudge()

    def _give_up(self) -> None:
        """End everything of a connection that is not opened again."""
        recovery, restored = self.recovery, self.restored
        if recovery is None or restored is None:
            return
        report = recovery.report
        assert report is not None
        self.restored = None
        self._over(report, None)
        self.end_parts(report)
        error = EndpointClosed(f"the connection is closed: {report}", report)
        redo, self.redo = self.redo, deque()
        for again in redo:
            again.give_up(error)
        self.complete(restored)
        for pending in [each for each in self._waiting.values() if each is not self.lost]:
            pending.fail(error)
            self.done(pending)
        self._open_gate()
        self.complete(self.lost)
        self.nudge()

    # Hooks of a version.

    def on_lost(self) -> None:
        """Note that the connection is lost, and will be opened again."""

    def end_parts(self, report: CloseReport) -> None:
        """End every part of the connection that hasn't ended."""
        raise NotImplementedError

    def before_sending(self) -> None:
        """Queue what was collected since octets were sent the last time."""

    # Routing, alike in every version.

    def _answered(self, pending: Pending[Any]) -> None:
        if pending.again is not None:
            self.take_again(pending).answered(pending)
        if self._late:
            hook = self._late.pop(pending, None)
            if hook is not None and pending.error is None:
                hook(pending.result)
        self.done(pending)

    def take_again(self, pending: Pending[Any]) -> Again:
        """Take how a call that has ended would be made again."""
        again: Again = pending.again
        pending.again = None
        return again

    def _failed_all(self, pendings: tuple[Pending[Any], ...], cause: AmqpError | None) -> None:
        """Wake callers whose calls have failed; `cause` is the cause of each error.

        Those wait on whose calls were reopened, because they are made again.
        """
        for pending in pendings:
            if not pending.done:
                continue
            if pending.again is not None:
                again = self.take_again(pending)
                if self.keeps() and again.lost(pending):
                    continue
                again.failed(pending)
            self._late.pop(pending, None)
            error = pending.error
            if error is not None and error is not cause:
                error.__cause__ = cause
            self.done(pending)

    def _note(self, event: Opened | Closed) -> None:
        """Keep a line for the log about something that is open or closed."""
        what = "" if event.scope is Scope.CONNECTION else f"{event.scope.value} {event.channel} "
        if event.scope is Scope.LINK:
            what = f"session {event.channel} link {getattr(event, 'name', '')!r} "
        self.notes.append(f"{what}open" if isinstance(event, Opened) else f"{what}closed: {event.report}")

    def _over(self, report: CloseReport, cause: AmqpError | None) -> None:
        """Note that the connection has ended, or is given up: its streams end, and nobody waits for room any more.

        A connection that is opened again hasn't ended.
        """
        if self.keeps():
            self._open_gate()
            return
        error = EndpointClosed(f"the connection is closed: {report}", report)
        error.__cause__ = cause
        is_own = is_own_close(report)
        if report.by is By.TRANSPORT or cause is not None or (report.by is By.LOCAL and not is_own):
            self.unseen[0] = error
        end_streams(self.streams, None if is_own else error)
        if not self.opened.done:
            self.opened.fail(error)
            self.done(self.opened)
        self._open_gate()

    def _gives_up(self, event: Failed) -> bool:
        """Whether the connection as a whole has failed, and everything on it."""
        report = self.core.failure
        self._failures.setdefault(event.channel, event.error)
        self._failed_all(event.pendings, event.error)
        if report is None:
            return False
        self._over(report, event.error)
        return True

    def _open_gate(self) -> None:
        waiting, self._gate = self._gate, []
        for pending in waiting:
            self.complete(pending)

    def __getstate__(self) -> dict[str, object]:
        state = dict(self.__dict__)
        state.update(hooks=None, _driver=None, _waiting={}, _completed=[])
        return state


def offer(streams: Streams, event: Event) -> bool:
    """Give an event to the streams that want it; return whether any did."""
    taken = False
    for kinds, inbox in streams:
        if isinstance(event, kinds):
            inbox.put(event)
            taken = True
    return taken


def is_own_close(report: CloseReport) -> bool:
    """Whether this end closed because its user asked for it, so that iterations end without an error."""
    return report.by is By.LOCAL and report.code < ERROR and report.rule is None and not report.condition


def end_streams(streams: Streams, error: AmqpError | None) -> None:
    """End all of these streams."""
    for _, inbox in streams:
        inbox.end(error)


__all__ = ["BaseClient", "Config", "Core", "CoreT", "Driver", "Inbox", "end_streams", "offer"]
