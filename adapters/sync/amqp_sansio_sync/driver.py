"""Driver: one lock around one socket and one client; waiting threads read, and a daemon thread does the rest.

Every access to the client holds the lock, and nothing blocks while holding it. Users' calls are coroutines of
`amqp_sansio.client`: `run` steps one, with the lock, up to its next wait, and waits there without it. A waiting thread
becomes the reader: it alone waits for the socket; other waiting threads are its followers, and one of them takes over
when it leaves. The heartbeat thread looks every few seconds and at each deadline: if nobody waits it reads the
available octets, so that the peer's silence is judged correctly; then it lets the client do everything that is due.

An asynchronous exception, such as KeyboardInterrupt, does no harm in a wait. If it occurs while the client works, its
state is unknown: `_busy` is still set then, and the connection is given up with an error that says so.
"""

from __future__ import annotations

import copy
import logging
import types
from collections.abc import Awaitable, Callable, Coroutine, Generator
from contextlib import suppress
from math import inf
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeVar, cast
from weakref import finalize

from amqp_sansio import AmqpError, CloseHint, EndpointClosed, Pending, Signal
from amqp_sansio.client.recovery import in_doubt
from amqp_sansio.client.waits import ROOM

from .handlers import aside, interrupts_itself
from .keeper import Keeper
from .reconnecting import Attempt, close_all
from .waiting import Waiter, Waiters

if TYPE_CHECKING:
    from amqp_sansio.client.driving import BaseClient, Core
    from amqp_sansio.client.reaching import Reopening

    from .reconnecting import Reopen
    from .recording import Recorder
    from .system import Lock, System
    from .transport import Transport

_R = TypeVar("_R")

CALLER_ERRORS: Final = (AmqpError, TypeError, ValueError, AttributeError, StopAsyncIteration)
"""Raised by the client's methods for wrong arguments, at a wrong time, or as the result of a call."""

EVENTS_FIRST: Final = 64
"""Most reads with the lock held if nobody waits for the octets."""
LOOK: Final = 0.05
"""Seconds after which a call that only sends first checks for octets, such as a close of the server."""
IDLE: Final = 5.0
"""Most seconds between two looks of the heartbeat thread."""
AWAITING: Final = 0.1
"""The same while parts are opened again in a connection that lives."""
BATCH: Final = 65_536
"""Most octets that are held back."""
SOON: Final = 0.002
"""Seconds for which settlements are held back if the next delivery is there, and publishes that nobody waits for."""
HURRY: Final = 0.01
"""Seconds between two looks of the heartbeat thread while octets are held back."""

_logger = logging.getLogger("amqp_sansio_sync")


Waited: TypeAlias = "Pending[Any] | Written | Attempt | Asked"
"""Something that is waited for until it is `done`."""


@types.coroutine
def _wait(waited: Waited) -> Generator[Waited, None, None]:
    yield waited


class Asked:
    """The result of a user's function, which is called without the lock, since it may take its time."""

    __slots__ = ("_function", "done", "result")

    def __init__(self, function: Callable[[], object]) -> None:
        self._function = function
        """What the user gave, which may call the connection again: so it is called by the thread that waits, without
        the lock."""
        self.result: object = None
        """What that has returned, or its coroutine, once it is `done`."""
        self.done = False
        """Set once it has returned; where it has raised, nobody asks."""

    def carry_out(self) -> None:
        """Call it. Raises what it raises, RuntimeError for a coroutine that waits."""
        found = self._function()
        if isinstance(found, Coroutine):
            work = cast("Coroutine[Any, Any, object]", found)
            try:
                work.send(None)
            except StopIteration as end:
                found = end.value
            else:
                work.close()
                raise RuntimeError("a blocking connection can't wait for a coroutine: give it a plain function")
        self.result = found
        self.done = True


class Written:
    """Done when the socket has taken what was queued, or never will."""

    __slots__ = ("_driver",)

    def __init__(self, driver: Driver) -> None:
        self._driver = driver
        """Whose socket is to take it."""

    @property
    def done(self) -> bool:
        return self._driver.has_written


class Driver:
    """The shared state of all parts of one blocking connection.

    The lock guards all of it; `system`, `lock` and `keeper` never change.
    """

    __slots__ = (
        *("__weakref__", "_busy", "_changed", "_failure", "_flush", "_hurried", "_last_words", "_look_at", "_now"),
        *("_old", "_ours", "_put_off_at", "_read_until", "_unsent", "_waiters", "_written", "_wrote_at", "client"),
        *("ended", "keeper", "lock", "recorder", "reopen", "system", "transport"),
    )

    def __init__(
        self,
        system: System,
        client: BaseClient[Any],
        transport: Transport,
        recorder: Recorder | None,
        ours: bool,
        reopen: Reopen | None = None,
    ) -> None:
        self.system = system
        """The clock, locks and threads that this connection uses."""
        self._now = system.now
        """Its clock, in seconds."""
        self.client = client
        """The machine; a core of its own each time that it recovers."""
        self.transport = transport
        """The socket of this moment, or one that leads nowhere while there is none."""
        self.reopen = reopen
        """Opens the next transport of a client that recovers; None: it doesn't."""
        self.recorder = recorder
        """Of all its transports; None: nothing is recorded."""
        self._ours = ours
        """Whether the recording was opened here, and is closed with the connection."""
        self._old: list[Transport] = []
        """Transports that were replaced while a thread may still wait on them."""
        self.lock = system.lock()
        """Held for each access to the client, and never while something blocks."""
        self.keeper = Keeper(system)
        """The thread that serves the connection while nobody waits."""
        self.ended = False
        """Whether the connection is over for good."""
        self._busy = False
        """Whether the client works: still set at the next access, an exception has interrupted it."""
        self._changed = False
        """Whether followers have to look whether what they wait for is done."""
        self._failure: EndpointClosed | None = None
        """Why the connection was given up after such an interruption."""
        self._flush = ""
        """When what is queued is to be written: "" for not at all, "soon", or "later" with what comes then."""
        self._hurried = False
        """Whether the keeper looks again soon, because a write may be put off."""
        self._look_at = 0.0
        """When a thread that uses the connection next looks whether somebody still reads, in seconds."""
        self._put_off_at = 0.0
        """Since when a write is put off; 0: none is."""
        self._read_until = 0.0
        """Until when the reader waits for the socket, in seconds: who sets an earlier timer wakes it."""
        self._wrote_at = 0.0
        """When octets were last written: the next ones may wait a little then."""
        self._unsent: bytes | memoryview = b""
        """Octets that the socket hadn't room for."""
        self._waiters = Waiters()
        """The reader and its followers."""
        self._written = Written(self)
        """One of these, since it has no state."""
        self._last_words = finalize(self, _say, client.core, transport, self.lock, system.now)
        """Says a last word to the server when the connection was forgotten."""
        client.attach(self)

    # For users' objects.

    def run(
        self,
        operation: Coroutine[Any, Any, _R],
        timeout: float | None = None,
        what: str = "the answer",
        sent: bool = False,
    ) -> _R:
        """Carry out an operation of the client, and wait where it waits; return its result. With `sent` wait also
        until the socket has taken what was queued; otherwise the heartbeat thread sees to that.

        Raises what it raises, and TimeoutError after `timeout` seconds.
        """
        error: BaseException | None = None
        deadline: float | None = None
        while True:
            try:
                waited = self._step(operation, error, timeout)
            except StopIteration as end:
                result: _R = end.value
                break
            except BaseException:
                operation.close()  # An interrupt may have come before its first step.
                raise
            if deadline is None and timeout is not None:
                deadline = self._now() + timeout
            error = None
            try:
                if isinstance(waited, Asked):
                    waited.carry_out()
                elif waited is self._written:
                    self._wait_written(timeout, deadline, what)
                else:
                    self._wait(waited, timeout, deadline, what)
            except BaseException as interruption:
                error = interruption
        if self._unsent and not self.ended:
            if sent:
                until = self._now() + timeout if deadline is None and timeout is not None else deadline
                self._wait_written(timeout, until, what)
            else:
                self.keeper.ring()
        return result

    def do(self, command: Callable[..., _R], /, *arguments: Any, **named: Any) -> _R:
        """Carry out one command that waits for nothing, and return its result."""
        return self.post(False, command, *arguments, **named)

    def post(self, later: bool, command: Callable[..., _R], /, *arguments: Any, **named: Any) -> _R:
        """Do the same; with `later` its octets may follow with those of the next."""
        with self.lock:
            self._claim()
            self._flush = "later" if later else "soon"
            try:
                now = self._now()
                self._look(now)
                result = command(*arguments, **named)
                self._write_after(now)
            except CALLER_ERRORS as error:
                self._release(error)
                raise
            except BaseException as error:
                self._give_up(error)
                raise
            if self._unsent:
                self.keeper.ring()
            self._release()
        return result

    def read(self, state: Callable[[], _R]) -> _R:
        """Return what is read in several steps, while nothing else happens. Raises EndpointClosed after giving up."""
        with self.lock:
            if self._failure is not None:
                raise self.closed()
            return state()

    def result(self, pending: Pending[_R], timeout: float | None, what: str) -> _R:
        """Wait for a call's answer and return it. Raises its error, and TimeoutError after `timeout` seconds."""
        if not pending.done:
            self._wait(pending, timeout, None if timeout is None else self._now() + timeout, what)
        if pending.error is not None:
            raise self.client.error_of(pending)
        return pending.result

    def outcome(self, pending: Pending[_R], timeout: float | None, name: str) -> _R:
        """Wait for what becomes of a message, which an error calls `name`, and return it.

        Raises TimeoutError after `timeout` seconds; without one AnswerTimeout after `outcome_timeout`, which begins
        anew with each connection.
        """
        client = self.client
        limit = client.outcome_timeout
        if timeout is not None or limit is None:
            return self.result(pending, timeout, "the confirm")
        while not pending.done:
            core = client.core
            try:
                self._wait(pending, limit, self._now() + limit, name)
            except TimeoutError:
                with self.lock:
                    if not pending.done and client.restored is None and client.core is core:
                        raise in_doubt(pending, client.unanswered(name, limit)) from None
        return self.result(pending, None, name)

    def end(self, operation: Callable[[], Coroutine[Any, Any, _R]], timeout: float | None, what: str) -> _R:
        """Do what `run` does with an operation that ends something.

        A signal handler that interrupts a call of this package may do so, and doesn't wait then: the interrupted call
        learns of the end, and the result is a report that says so.
        """
        if interrupts_itself():
            report: Any = aside(self.system, what, lambda: self.end(operation, timeout, what))
            return report  # type: ignore[no-any-return]
        return self.run(operation(), timeout, what)

    def closed(self) -> EndpointClosed:
        """Return the error of a call on an ended connection."""
        if self._failure is None:
            return self.client.closed_error()
        error = copy.copy(self._failure)
        error.__cause__ = self._failure.__cause__
        return error

    def stop(self, reason: str) -> None:
        """End the transport at once, discarding unsent octets, and the heartbeat thread."""
        with self.lock:
            if not self.ended:
                self._claim()
                try:
                    self.client.forgo_recovery()
                    self._lose(reason, self._now())
                except BaseException as error:
                    self._give_up(error)
                    raise
                self._release()
        self.keeper.join()

    async def written(self) -> None:
        """Wait until the socket has taken what was queued."""
        await _wait(self._written)

    @property
    def has_written(self) -> bool:
        """Whether the socket has taken what was queued, or never will."""
        return self.ended or not self._unsent

    # For the client; the lock is held.

    @property
    def congested(self) -> bool:
        return bool(self._unsent)

    def wait(self, pending: Pending[Any]) -> Awaitable[object]:
        return _wait(pending)

    def flush_soon(self) -> None:
        self._flush = "soon"

    def flush_later(self) -> None:
        self._flush = self._flush or "later"

    def pace(self) -> Awaitable[object]:
        return _wait(self._written)

    def close_soon(self) -> None:
        self._flush = "soon"

    def reading_changed(self) -> None:
        self._changed = True

    def ring(self) -> None:
        self.keeper.ring()

    def start(self, work: Coroutine[Any, Any, object], /) -> None:
        self.system.start(lambda: self._carry_out(work), "amqp-sansio-work")

    async def ask(self, function: Callable[[], object], seconds: float | None, /) -> object:
        asked = Asked(function)
        await _wait(asked)
        return asked.result

    def time_of_day(self) -> float:
        return self.system.time_ns() / 1e9

    def _carry_out(self, work: Coroutine[Any, Any, object]) -> None:
        try:
            self.run(work)
        except EndpointClosed:
            return  # Who uses the connection is told.
        except Exception:
            _logger.exception("%s an operation of the client failed", self.transport.label)

    # Steps.

    def _step(self, operation: Coroutine[Any, Any, Any], error: BaseException | None, timeout: float | None) -> Waited:
        """Let an operation go on to its next wait, and write what it queued. `error` ended its last wait; `timeout` is
        the time that its caller gives it.
        """
        with self.lock:
            try:
                self._claim()
            except BaseException as closed:
                operation.close()
                raise closed from error
            self._flush = ""
            self.client.caller_timeout = timeout
            now = self._now()
            try:
                self._look(now)
                waited: Waited = operation.send(None) if error is None else operation.throw(error)
                self._write_after(now)
            except StopIteration:
                self._write_after(now)
                self._release()
                raise
            except CALLER_ERRORS as failure:
                if not self.ended:
                    self._write_after(now)
                self._release(failure)
                raise
            except BaseException as failure:
                if failure is error:
                    self._release()
                else:
                    self._give_up(failure)
                raise
            self._release()
        return waited

    def _write_after(self, now: float) -> None:
        """Write what a step queued, unless it said that more follows."""
        if self.client.hold and self._held_back(now, False):
            return
        if not (self._flush == "later" and self._held_back(now, True)):
            self._write(now)

    def _wait_written(self, timeout: float | None, deadline: float | None, what: str) -> None:
        """Wait until the socket has taken what was queued; without a time of the caller's for `outcome_timeout`."""
        limit = self.client.outcome_timeout
        if timeout is not None or limit is None:
            self._wait(self._written, timeout, deadline, what)
            return
        try:
            self._wait(self._written, limit, self._now() + limit, what)
        except TimeoutError:
            raise self.client.unanswered(ROOM, limit) from None

    def _wait(self, waited: Waited, timeout: float | None, deadline: float | None, what: str) -> None:
        """Read, write and route until something is done.

        Raises TimeoutError at the `deadline`, EndpointClosed if the connection has ended without it.
        """
        me = Waiter(self.system, lambda: waited.done)
        reads = tried = False
        with me.gate:
            try:
                while True:
                    with self.lock:
                        self._claim()
                        if not tried and isinstance(waited, Pending):
                            self.client.watch(waited)
                        if reads and self._old and self._waiters.reader is me:
                            close_all(self._old)  # Only a reader waits on a transport, and this one has left these.
                        try:
                            now = self._now()
                            if reads:
                                self._receive(now)
                                self._fire(now)
                            self._turn(now)
                        except BaseException as error:
                            self._give_up(error)
                            raise
                        self._release(None, me)
                        if waited.done:
                            return
                        if self.ended:
                            raise self.closed()
                        if tried and deadline is not None and now >= deadline:
                            raise TimeoutError(f"{what}: not within {timeout:g} seconds")
                        tried, reads = True, self._waiters.join(me)
                        room = self.client.receive_budget > 0
                        due = self.client.next_deadline
                        if reads:
                            self._read_until = due or inf
                        elif due is not None and due < self._read_until:
                            self.transport.wake()  # The reader knows of later timers only.
                        ends = [each for each in (due if reads else None, deadline) if each is not None]
                        pause = max(0.0, min(ends) - now) if ends else None
                        transport = self.transport
                    if reads:
                        transport.wait(room, pause)
                    else:
                        me.sleep(pause)
            finally:
                self._leave(me)

    # The lock is held.

    def _claim(self) -> None:
        """Begin work with the client."""
        if self._busy:
            if self._failure is None:
                self._give_up(None)
            raise self.closed()
        self._busy = True

    def _release(self, error: BaseException | None = None, me: Waiter | None = None) -> None:
        """End the work with the client, in a consistent state, and wake waiters that are done."""
        self._busy = False
        if isinstance(error, EndpointClosed):
            self.client.seen(error.report)
        if self.client.completed():
            self._changed = True
        if self._changed:
            self._changed = False
            if self._waiters.wake(me, self.ended, self.transport.write_wanted):
                self.transport.wake()

    def _give_up(self, error: BaseException | None) -> None:
        """Give up the connection: the client was interrupted or failed, so its state is unreliable."""
        what = f" by {type(error).__name__}" if error is not None else ""
        self._failure = EndpointClosed(f"the connection is given up: its engine was interrupted at work{what}")
        self._failure.__cause__ = error if isinstance(error, Exception) else None
        self._end()
        self._release()
        self._busy = True

    def _look(self, now: float) -> None:
        """Read available octets if the last look was long ago and nobody else reads."""
        if now < self._look_at:
            return
        self._look_at = now + LOOK
        if self._waiters.reader is None and not self.ended:
            self._drain(now)

    def _turn(self, now: float) -> None:
        """Route events, then write, then follow the close hint."""
        self._route()
        self._write(now)
        if self.client.lost.done and not self.ended:
            self._finish()  # Recovery was given up.
            return
        hint = self.client.close_hint
        if hint is CloseHint.CLOSE_NOW or (hint is CloseHint.CLOSE_WHEN_SENT and not self._unsent):
            self._route()
            self._end()

    def _route(self) -> None:
        next_event = self.client.next_event
        while True:
            event = next_event()
            if isinstance(event, Signal):
                if self.client.notes:
                    for text, warns in self.client.take_notes():
                        self.transport.log(text, logging.WARNING if warns else logging.INFO)
                return
            lost = self.client.untaken(event)
            if lost:
                _logger.warning("%s %s", self.transport.label, lost)

    def _write(self, now: float) -> None:
        """Write the client's octets; `_unsent` has those that the socket doesn't take."""
        self._put_off_at = 0.0
        octets = self._unsent
        while octets or (octets := self.client.data_to_send(now)):
            self._wrote_at = now
            try:
                count = self.transport.write(octets)
            except OSError as error:
                self._lose(str(error) or type(error).__name__, now)
                return
            if count < len(octets):
                self._unsent = memoryview(octets)[count:]
                self.transport.write_wanted = True
                self._changed = True
                # A caller's time begins although nothing more can be written.
                self.client.start_timers(now)
                return
            if not self._unsent:
                return
            self._unsent = b""
            octets = b""
            self._changed = True

    def _held_back(self, now: float, later: bool) -> bool:
        """Whether the queued octets may wait for more."""
        if self.client.send_backlog > BATCH:
            return False
        if self.client.hold:
            return True
        if not later:
            return False
        if not self._put_off_at:
            if now - self._wrote_at > SOON:
                return False  # It may be alone.
            self._put_off_at = now
            if not self._hurried:
                self.keeper.ring()
            self._hurried = True
            return True
        return now - self._put_off_at < SOON

    def _receive(self, now: float) -> bool:
        """Read once; return whether there were octets."""
        budget = self.client.receive_budget
        if budget <= 0 or self.ended:
            return False
        try:
            octets = self.transport.read(budget)
        except OSError as error:
            self.client.connection_lost(str(error) or type(error).__name__, now)
            return False
        if octets:
            self.client.receive_data(octets, now)
            return True
        if octets is not None:
            self.client.receive_eof(now)
        return False

    def _fire(self, now: float) -> None:
        deadline = self.client.next_deadline
        if deadline is not None and deadline <= now:
            self.client.handle_timeout(now)
            if self.client.recovery is not None and self.client.recovery.wanted is not None:
                self._changed = True  # The keeper may wait for the attempt before.
                self.keeper.ring()

    def _lose(self, reason: str, now: float) -> None:
        """Handle the loss of the transport; the peer may have sent the reason before."""
        self._unsent = b""
        for _ in range(EVENTS_FIRST):
            if not self._receive(now):
                break
            self._route()
        self.client.connection_lost(reason, now)
        self._route()
        self._end()

    def _end(self) -> None:
        """Close the transport; that is the end, unless the client recovers."""
        if self.ended:
            return
        self._unsent = b""
        self._changed = True
        if self._failure is not None:
            self.client.broken_off(str(self._failure), self._now())
            self._finish()
            return
        self.client.transport_ended("it was closed", self._now())
        if self.client.restored is None:
            self._finish()
        else:
            label = self.transport.label
            self._replace(self.system.nowhere())
            self.transport.label = label
            self.keeper.ring()

    def _finish(self) -> None:
        self.ended = True
        self._changed = True
        self._last_words.detach()
        self._unsent = b""
        if self._waiters.reader is None:
            self._close()
            close_all(self._old)
        else:
            self.transport.shut()
        self.keeper.ring()

    def _close(self) -> None:
        self.transport.close()
        if self._ours and self.recorder is not None:
            self.recorder.close()

    def _replace(self, transport: Transport) -> None:
        """Go on with another transport. A thread that waits on the old one leaves it."""
        old, self.transport = self.transport, transport
        self._last_words.detach()
        self._last_words = finalize(self, _say, self.client.core, transport, self.lock, self._now)
        self._unsent = b""
        self._changed = True
        if self._waiters.reader is None:
            old.close()
        else:
            old.shut()
            old.wake()
            self._old.append(old)

    def _leave(self, me: Waiter) -> None:
        with self.lock:
            self._waiters.leave(me)
            if self._waiters.reader is None:
                close_all(self._old)
                if self.ended:
                    self._close()
                elif self._unsent:
                    self.keeper.ring()

    def _drain(self, now: float) -> None:
        """Read the available octets while nobody waits for them."""
        for _ in range(EVENTS_FIRST):
            read = self._receive(now)
            self._turn(now)
            if not read:
                break

    # For the heartbeat thread.

    def _reconnect(self, reopen: Reopen, place: int) -> None:
        """Open another transport, without the lock, and serve it until all is restored or the attempt has failed."""
        reopening, opened = reopen(self.client, self.recorder, place)
        transport, reason = None, ""
        try:
            transport = opened()
        except Exception as error:
            reason = str(error) or type(error).__name__
        with self.lock:
            try:
                if self.ended:
                    return
                self._claim()
                # It may be over before this thread waits for it, and another one under way.
                attempt = Attempt(self.client)
                self._go_on(reopening, transport, reason)
            finally:
                if transport is not None and transport is not self.transport:
                    transport.close()
            self._release()
        self._wait(attempt, None, None, "recovery")

    def _go_on(self, reopening: Reopening, transport: Transport | None, reason: str) -> None:
        """Let the client go on with the transport of an attempt, or note why there is none."""
        try:
            if transport is None:
                self._unreachable(reason)
            else:
                self.client.reconnect(reopening.core, reopening.seconds)
                self._replace(transport)
                self._turn(self._now())
        except BaseException as error:
            self._give_up(error)
            raise

    def _unreachable(self, reason: str) -> None:
        """Note that an attempt has found no transport."""
        self.client.not_connected(reason, self._now())
        self._route()
        self._changed = True
        if self.client.lost.done:
            self._finish()
        else:
            self.transport.wake()  # Whoever waits there knows of an earlier deadline only.

    def keep(self) -> float | None:
        """Look once; return the seconds until the next look, None after the end."""
        with self.lock:
            if self.ended:
                return None
            try:
                self._claim()
                now = self._now()
                with suppress(AmqpError):  # Work on a part that is gone needs no doing.
                    self.client.take_dropped()
                # From now on held-back octets needn't wake this thread: that would happen every few messages.
                self._hurried = self._put_off_at > 0.0
                self._write(now)
                if self._waiters.reader is None:
                    self._waiters.appoint()
                    self._drain(now)
                    self._fire(now)
                    self._drain(now)
            except BaseException as error:
                if not self.ended:
                    self._give_up(error)
                return None  # every caller gets the error
            self._release()
            if self.ended:
                return None
            recovery = self.client.recovery
            place = recovery.take_wanted() if recovery is not None and self.reopen is not None else None
            stuck = bool(self._unsent) and self._waiters.reader is None
            due = self.client.next_deadline
            pause = IDLE if due is None else max(0.0, due - now)
            pause = min(pause, AWAITING if self.client.reopening else IDLE)
            if self._hurried:
                pause = min(pause, HURRY)
        if place is not None and self.reopen is not None:
            # As below: if it is given up, every caller learns of it.
            with suppress(EndpointClosed):
                self._reconnect(self.reopen, place)
            return 0.0
        if stuck:
            # If that fails the connection has ended, and every caller gets the reason.
            with suppress(EndpointClosed):
                self._wait(self._written, None, None, "what is left to send")
        return 0.0 if stuck else pause


def _say(client: Core, transport: Transport, lock: Lock, now: Callable[[], float]) -> None:
    """Send held-back octets of a connection that wasn't closed: dropped, or left at the interpreter's exit."""
    # The heartbeat thread may be at work, but not for long.
    if lock.acquire(timeout=1.0):
        try:
            # Nothing may follow octets that the socket took only in part.
            if client.send_backlog and not transport.write_wanted:
                with suppress(OSError):
                    transport.write(client.data_to_send(now()))
        finally:
            lock.release()


__all__ = ["Driver", "Waited"]
