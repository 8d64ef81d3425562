"""BaseClient: one connection of a client, as a pure machine that a driver moves octets and time for.

A `Driver` is the part that isn't pure: a transport, a clock, and how one waits. It treats a client like any other
`Endpoint`: it hands over octets, calls `next_event` until `Signal.NEED_DATA`, wakes whoever waits for one of
`completed()`, writes `data_to_send`, and looks at `close_hint` and `next_deadline`. The methods that users await are
coroutines of this package; each wait in them is a `Pending` that the driver was asked to wait for.
"""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Awaitable, Callable
from functools import partial
from heapq import heappop
from typing import TYPE_CHECKING, Any

from ..endpoint import CloseHint, Role
from ..errors import AmqpError, AnswerTimeout, EndpointClosed, Scope, VersionRefused
from ..events import Again, By, Closed, CloseReport, Event, Failed, Opened, Pending, Signal
from ..versions import HEADER_BEGIN, HEADER_SIZE, Version, version_of
from .driver import Config, Core, CoreT, Driver, NoDriver
from .inbox import Inbox, Streams
from .leaving import Late, Part
from .metrics import Metrics
from .notes import Note
from .recovery import Recovered, Recovery, RecoveryPolicy, State
from .waits import Waiting

if TYPE_CHECKING:
    from typing_extensions import Buffer

    from .hooks import Hooks
    from .metrics import OnMetrics

ERROR = 300
"""Reply codes from here on tell of an error."""
FLUSH_OCTETS = 64 * 1024
"""Octets above which a caller that publishes gives way to the driver's writing."""


class BaseClient(Waiting[CoreT]):
    """The state of one client connection that every version has; a subclass routes the version's events.

    It lives longer than its core: with `recovery` a lost connection is opened again with a new one. From the loss until
    that is open and restored, `restored` is pending, and calls that can be made again wait in `redo`.

    `close_timeout` of the configuration bounds each end; `Waiting` has what bounds the other waits.
    """

    def __init__(self, core: CoreT) -> None:
        super().__init__(core)
        # The inboxes of users that read events of the connection as a whole.
        self.streams: Streams = []
        # Open batches: while there are any, what is queued may wait to be written together at their end.
        self.hold = 0
        # Parts that are opened again while the connection lives: their answers are read soon, although nobody may wait
        # for them.
        self.reopening = 0
        # The peer's first 8: its protocol header, if it sends one. A new core begins them anew.
        self.first_octets = b""
        # Ends when the first connection is open, or can't be; those of recovery change nothing of it.
        self.opened: Pending[None] = self.pending()
        # Octets that wait to be sent above which publishers give way to the writing.
        self.backlog_high = core.config.limits.backlog_high
        # The application's functions for each message; None: no message costs a call.
        self.hooks: Hooks | None = None
        # Counters that go on through recovery.
        self.metrics = Metrics(self)
        # Called with the metrics when the connection opens, is lost, restored, blocked or ends.
        self.on_metrics: OnMetrics | None = None
        # Since when the server takes no publishes, in seconds, as far as it is counted; None while it does.
        self._blocked_since: float | None = None
        # Octets that wait to be sent above which a publish asks the driver to write at once.
        self.flush_octets = min(FLUSH_OCTETS, self.backlog_high)
        # The first error of the connection (0) and of each of its parts by number, for the cause of what callers get.
        self._failures: dict[object, AmqpError] = {}
        # Work of objects that users dropped, for the driver's next turn; destructors of any thread add to it.
        self._dropped: deque[Callable[[], object]] = deque()
        # Whether the transport is to be closed without the peer's answer, at the next `handle_timeout`.
        self._is_cut = False
        # Parts that were given up before the peer answered their end: while it owes one of these, no other end waits.
        self._owing: list[Part] = []
        # Whether and when to connect again; None: a lost connection stays lost.
        self.recovery: Recovery | None = None
        # Calls of the lost connection, to be made again in this order once the new one is restored.
        self.redo: deque[Again] = deque()
        # Octets of messages that may have to be sent again.
        self.kept: int = 0
        # Publishers wait while `kept` is at this or above (`RecoveryPolicy.in_doubt_octets`).
        self.kept_high = sys.maxsize
        # Whether there is no transport now: the last one is gone, and the next one isn't there yet.
        self._is_detached = False
        # What the attempt under way may take until the core is open.
        self._opening_seconds = 0.0
        # When octets last came, in seconds.
        self._arrived = 0.0

    # Endpoint.

    @property
    def role(self) -> Role:
        return self.core.role

    def receive_data(self, data: Buffer, now: float) -> None:
        """Queue octets that arrived at `now`, in seconds. Raises LimitExceeded above `receive_budget`."""
        if len(self.first_octets) < HEADER_SIZE:
            self.first_octets = (self.first_octets + bytes(data))[:HEADER_SIZE]
        self.metrics.octets_in += len(data) if isinstance(data, bytes) else memoryview(data).nbytes
        if self._blocked_since is not None:
            self._count_blocked(now)
        self._arrived = now
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
        self.metrics.octets_out += len(octets)
        if self._gate and self.core.send_backlog <= self.core.config.limits.backlog_low:
            self._open_gate()
        return octets

    def handle_timeout(self, now: float) -> None:
        """Do everything that is due at `now`."""
        if self.full and not self._waiting and self.core.receive_budget:
            # Nobody reads because inboxes are full, so the peer's silence isn't its own.
            self.core.receive_data(b"", now)
        if self._blocked_since is not None:
            self._count_blocked(now)
        if not self._is_detached:
            if self._is_cut:
                self.core.connection_lost("the end of a part of it wasn't answered, or the wait was interrupted", now)
            if self.recovery is not None and self.recovery.is_late(now):
                late = self.recovery.late or f"it wasn't open within {self._opening_seconds:g} seconds"
                self.core.connection_lost(late, now)
            self.core.handle_timeout(now)
        if self.recovery is not None and self.recovery.handle_timeout(now):
            self._give_up()
        while self._deadlines and self._deadlines[0][0] <= now:
            timer = heappop(self._deadlines)[2]
            self.complete(timer)
            self.time_over(timer)
            bounded = self._bounded.pop(timer, None)
            if bounded is not None:
                self.complete(bounded)

    @property
    def next_deadline(self) -> float | None:
        """When to call `handle_timeout`, in seconds; None: never."""
        if self._is_cut and self.core.report is None:
            return 0.0
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

    def reconnect(self, core: CoreT, seconds: float | None = None) -> None:
        """Go on with a new core: the driver has a transport to `recovery.take_wanted()`.

        The attempt may take `seconds` from its beginning until the core is open; None: as long as the core's own
        `handshake_timeout` says.
        """
        if self.recovery is not None and seconds is not None:
            self.recovery.may_take(seconds)
            self._opening_seconds = seconds
        self.core = core
        self.first_octets = b""
        self._failures.clear()
        self._is_detached = False

    def not_connected(self, reason: str, now: float) -> None:
        """Note at `now` that the attempt under way has found no transport, and why."""
        recovery = self.recovery
        if recovery is not None and recovery.is_under_way:
            # The new connection has no story: its report would tell of a server that hung up.
            recovery.keeps(CloseReport(By.TRANSPORT, 0, reason))
            self.transport_ended(reason, now)

    def forgo_recovery(self) -> None:
        """Open nothing again from now on: nobody has got the connection, because its opening was given up."""
        self.stop_recovery()
        if self.restored is None:
            self.recovery = None

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

    def not_in_time(self, where: object, seconds: float) -> TimeoutError:
        """Return the error of a connection that wasn't open within so many seconds."""
        core: Any = self.core
        state = getattr(core.state, "value", core.state)
        return TimeoutError(f"no connection to {where} within {seconds:g} seconds, it is {state}")

    def attach(self, driver: Driver) -> None:
        """Let `driver` move this client's octets and time."""
        self.driver = driver

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
                tried = self.recovery.attempts
                what = f"attempt {event.attempt - 1} at {tried[-1].address} failed" if tried else "lost"
                self.metrics.failed_attempts += bool(tried)
                then = f"attempt {event.attempt} at {event.address} in {event.seconds:.3g} seconds"
                self.note(f"{what}: {event.report}; {then}", warns=True)
                offer(self.streams, event)
            return
        if self._waiting or not self.core.report:
            report = CloseReport(By.TRANSPORT, 0, reason)
            error = EndpointClosed(f"the transport was lost: {reason}", report)
            self.end_parts(report)
            self._fail_waits(error)
        self._open_gate()
        self.complete(self.lost)

    def broken_off(self, reason: str, now: float) -> None:
        """Note at `now` that nobody drives this client any more, because of `reason`: nothing is opened again."""
        if self.restored is not None and self.recovery is not None:
            self.recovery.stop(CloseReport(By.TRANSPORT, 0, reason))
        self.transport_ended(reason, now)

    # For the parts of the client.

    # Ends.

    async def leave(
        self, part: Part, what: str, end: Callable[[], Awaitable[object]], error: BaseException | None = None
    ) -> None:
        """Let `end` end a part and wait for the peer's answer, for `close_timeout` seconds at most.

        If that takes longer, or is interrupted, the part is given up: it is over for this side, which ignores what
        still comes for it. As long as the peer owes the answer, no other end waits for one. Raises AnswerTimeout then,
        which says `what` wasn't answered; but `error`, which leaves a context, goes on with a note.
        """
        is_known, seconds = self.is_overdue, self.end_limit
        text = f"no answer within {seconds:g} seconds"
        if is_known:
            text = "not waited for, since the peer owes the answer to an earlier end"
        late = Late(partial(self._give_up_part, part, f"{what}: {text}"))
        timer = self.after(seconds)
        timer.again = late
        try:
            await end()
        except BaseException as failure:
            self._interrupted(part, what, failure)
            raise
        finally:
            timer.again = None
            self.stop(timer)
        if late.has_come and not is_known:
            unanswered = self.unanswered(what, seconds)
            if error is None:
                raise unanswered
            error.add_note(str(unanswered))

    async def finish(self, part: Part, what: str, work: Awaitable[object], error: BaseException | None = None) -> None:
        """Do the last work of a context, which bounds its waits; the part that can't go on without its answer is given
        up if that doesn't come in time, or the work is interrupted.

        Raises AnswerTimeout then; but `error`, which leaves the context, goes on with a note that begins with `what`.
        """
        try:
            await work
        except AnswerTimeout as failure:
            self._give_up_part(part, str(failure))
            if error is None:
                raise
            error.add_note(f"{what}: {failure}")
        except BaseException as failure:
            self._interrupted(part, what, failure)
            raise

    def _interrupted(self, part: Part, what: str, failure: BaseException) -> None:
        """Give up a part whose end has failed, unless the library says why it did."""
        if not isinstance(failure, AmqpError):
            self._give_up_part(part, f"{what}: the wait for the answer was interrupted")

    def _give_up_part(self, part: Part, text: str) -> bool:
        """Take a part as over, unless it is; return whether it wasn't."""
        if part.closed.done:
            return False
        part.give_up(CloseReport(By.LOCAL, 0, text))
        self._owing.append(part)
        self.nudge()
        return True

    @property
    def is_overdue(self) -> bool:
        """Whether an end of a part was given up, and the peer still owes the answer."""
        while self._owing and not self._owing[-1].is_overdue:
            self._owing.pop()
        return bool(self._owing)

    async def end_connection(self) -> None:
        """Wait until the connection, which is being closed, has ended: at once if the peer owes the answer to an
        earlier end. An interruption cuts the transport.
        """
        if self.is_overdue:
            self.cut()
        self.driver.close_soon()
        if not self.lost.done:
            try:
                await self.until(self.lost)
            except BaseException:
                self.cut()
                raise

    def cut(self) -> None:
        """Have the transport closed once what is queued is written, whatever the peer still owes: at the next
        `handle_timeout`, which is due.
        """
        self._is_cut = True
        self.driver.close_soon()

    def closed_error(self) -> EndpointClosed:
        """Return the error of a call on a connection that has ended."""
        report = self.report or self.core.failure
        self.seen(report)
        error = EndpointClosed(f"the connection is closed: {report}", report)
        error.__cause__ = self._failures.get(0)
        return error

    def drop_later(self, work: Callable[[], object]) -> None:
        """Do some work at the driver's next turn. This may be called in any thread, and by a destructor."""
        self._dropped.append(work)
        self.driver.ring()

    # Recovery.

    @property
    def waits_to_publish(self) -> bool:
        """Whether a publish waits while the connection is lost."""
        return self.recovery is not None and self.recovery.policy.publish == "wait"

    async def until_restored(self) -> None:
        """Wait while a lost connection is opened again. Raises EndpointClosed if it is given up."""
        while self.restored is not None:
            await self.until(self.restored)
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
            is_first = self.restored is None
            self.restored = self.restored or self.pending()
            self.on_lost()
            if is_first:
                self.metrics.lost += 1
                self.state_changed()
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
        self.metrics.recovered += 1
        self.metrics.in_doubt += len(told.in_doubt)
        self.complete(restored)
        doubt = f", {len(told.in_doubt)} messages in doubt" if told.in_doubt else ""
        self.note(f"open again after {told.attempts} attempts, at {told.address}{doubt}")
        offer(self.streams, told)
        self.nudge()
        self.state_changed()

    def _give_up(self) -> None:
        """End everything of a connection that is not opened again."""
        recovery, restored = self.recovery, self.restored
        if recovery is None or restored is None:
            return
        report = recovery.report
        assert report is not None
        self.note(f"closed: {report}", warns=not is_own_close(report))
        self.restored = None
        self._over(report, None)
        self.end_parts(report)
        error = EndpointClosed(f"the connection is closed: {report}", report)
        redo, self.redo = self.redo, deque()
        for again in redo:
            again.give_up(error)
        self.complete(restored)
        self._fail_waits(error)
        self._open_gate()
        self.complete(self.lost)
        self.nudge()

    def _fail_waits(self, error: EndpointClosed) -> None:
        """Wake everybody who still waits for an answer, with an error; who waits for the end is told later."""
        for pending in [each for each in self._waiting.values() if each is not self.lost]:
            pending.fail(error)
            self.done(pending)

    # Metrics.

    @property
    def published_count(self) -> int:
        """Messages published on channels that are open, which `metrics.sent` doesn't have yet."""
        return 0

    @property
    def accepted_count(self) -> int:
        """Messages accepted on channels that are open, which `metrics.taken` doesn't have yet."""
        return 0

    @property
    def channel_count(self) -> int:
        """Channels that are open, in 0-10 and 1.0 sessions."""
        raise NotImplementedError

    @property
    def is_blocked(self) -> bool:
        """Whether the server takes no publishes at the moment."""
        return self._blocked_since is not None

    @property
    def recovering(self) -> str:
        """What a lost connection that is opened again is doing, and why it was lost; "" for others."""
        recovery = self.recovery
        if self.restored is None or recovery is None:
            return ""
        return f"recovering, {recovery.progress}"

    @property
    def loss(self) -> CloseReport | None:
        """Why the connection was lost that is being opened again; its hint says what recovery does."""
        recovery = self.recovery
        if self.restored is None or recovery is None or recovery.lost is None:
            return None
        return recovery.lost.but(hint=self.recovering)

    @property
    def is_recovering(self) -> bool:
        """Whether the connection is lost, and is being opened again."""
        return self.restored is not None

    def blocked_changed(self, is_blocked: bool) -> None:
        """Note that the server takes no publishes, or does again, as of the last octets that came."""
        if is_blocked != self.is_blocked:
            if not is_blocked:
                self._count_blocked(self._arrived)
            self._blocked_since = self._arrived if is_blocked else None
            self.state_changed()

    def state_changed(self) -> None:
        """Tell the application that the metrics have changed by more than messages."""
        if self.on_metrics is not None:
            try:
                self.on_metrics(self.metrics)
            except Exception as error:  # It is the application's, and the connection goes on.
                self.note(f"on_metrics has failed: {error!r}", warns=True)

    def _count_blocked(self, now: float) -> None:
        since = self._blocked_since
        if since is not None and now > since:
            self.metrics.blocked_seconds += now - since
            self._blocked_since = now

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
        if isinstance(event, Opened):
            self.note(f"{what}open")
            if event.scope is Scope.CONNECTION:
                self.metrics.opened += 1
                if self.restored is None:
                    self.state_changed()
        elif event.scope is not Scope.CONNECTION:
            self.note(f"{what}closed: {event.report}")
        elif not self.keeps():
            self.note(f"closed: {event.report}", warns=self.opened.done and event.report.by is By.TRANSPORT)

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
        self.state_changed()
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

    def __getstate__(self) -> dict[str, object]:
        state = dict(self.__dict__)
        state.update(hooks=None, on_metrics=None, driver=NoDriver(), _waiting={}, _completed=[])
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


__all__ = ["BaseClient", "Config", "Core", "Driver", "Inbox", "Note", "offer"]
