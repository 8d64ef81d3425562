"""Wire: one lock around one socket and one engine; waiting threads read, and a keeper does the rest.

Every access to the engine holds `lock`, and nothing blocks while holding it. A waiting thread becomes the reader: it
alone waits for the socket, outside the lock; other waiting threads are its followers, and one of them takes over when
it leaves. The keeper looks every few seconds and at each deadline: if nobody waits it reads the available octets, so
that the peer's silence is judged correctly; then it lets the engine do everything that is due, and writes.

An asynchronous exception, such as KeyboardInterrupt, does no harm in a wait. If it occurs while the engine works, the
engine's state is unknown: `busy` is still set then, and the connection is given up with an error that says so.
"""

from __future__ import annotations

import copy
import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from time import monotonic
from typing import TYPE_CHECKING, Any, Final, Generic, Protocol, TypeVar
from weakref import finalize

from amqp_sansio import AmqpError, CloseHint, CloseReport, Endpoint, EndpointClosed, Event, Signal

from .keeper import Keeper
from .waiting import Waiter, Waiters

if TYPE_CHECKING:
    from .transport import Transport

_T = TypeVar("_T")

CALLER_ERRORS: Final = (AmqpError, TypeError, ValueError, AttributeError)
"""Raised by commands of the engine for wrong arguments or at a wrong time, with nothing changed."""

EVENTS: Final = 256
"""Most events taken before the callers' waits are checked."""
ROUNDS: Final = 64
"""Most reads with the lock held if nobody waits for the octets."""
LOOK: Final = 0.05
"""Seconds after which a call that only sends first checks for octets, such as a close of the server."""
IDLE: Final = 5.0
"""Most seconds between two looks of the keeper."""


BATCH: Final = 65_536
"""Most octets that are held back."""
SOON: Final = 0.002
"""Seconds for which settlements are held back, if the next delivery is already there."""
HURRY: Final = 0.01
"""Seconds between two looks of the keeper while settlements are held back."""


class Timed(Protocol):
    """The fields that every version's configuration has."""

    @property
    def close_timeout(self) -> float: ...


class Engine(Endpoint, Protocol):
    """The interface of every version's client connection."""

    @property
    def config(self) -> Timed: ...
    @property
    def state(self) -> object: ...
    @property
    def is_open(self) -> bool: ...
    @property
    def report(self) -> CloseReport | None: ...
    @property
    def failure(self) -> CloseReport | None: ...


_C = TypeVar("_C", bound=Engine)


class Wire(Generic[_C]):
    """The shared state of all parts of one connection.

    `full` counts the full feeds: the keeper then reads only into the engine's own buffer, until TCP stops the server.
    `chores` are done by the keeper; anybody may append one, also without the lock. `unseen` has the failures that no
    caller has seen, that of the connection at 0. `put_off_at` is the time since when octets are held back, 0 for none.
    `interval` is the longest time between two looks of the keeper in seconds, 0 for any.
    """

    __slots__ = (
        *("__weakref__", "_changed", "_dispatch", "_last_words", "_waiters", "busy", "chores", "core", "ended"),
        *("failure", "full", "hurried", "interval", "keeper", "lock", "look_at", "put_off_at", "transport"),
        *("unseen", "unsent"),
    )

    def __init__(
        self, core: _C, transport: Transport, dispatch: Callable[[Event], None], interval: Callable[[], float]
    ) -> None:
        self.core = core
        self.interval = interval
        self.transport = transport
        self.lock = threading.Lock()
        self.keeper = Keeper()
        self.chores: deque[Callable[[], object]] = deque()
        self.busy = False
        self.ended = False
        self.full = 0
        self.look_at = 0.0
        self.put_off_at = 0.0
        self.hurried = False
        self.unsent: bytes | memoryview = b""
        self.failure: EndpointClosed | None = None
        self.unseen: dict[object, EndpointClosed] = {}
        self._changed = False
        self._dispatch = dispatch
        self._waiters = Waiters()
        self._last_words = finalize(self, _say, core, transport, self.lock)

    # For callers.

    def run(self, command: Callable[[], _T]) -> _T:
        """Carry out one command of the engine and write the queued octets. Raises what the command raises."""
        with self.lock:
            self.claim()
            try:
                self.look(monotonic())
                result = command()
                self.write(monotonic())
            except CALLER_ERRORS as error:
                self.release(error)
                raise
            except BaseException as error:
                self.give_up(error)
                raise
            self.release()
        return result

    def post(self, held: bool, command: Callable[..., _T], *arguments: Any, soon: bool = False) -> _T:
        """Carry out one command of the engine; octets that the socket doesn't take at once are sent later.

        With `held` its octets are held back until BATCH octets have collected, or something else is sent; with `soon`
        at most until the caller's next command after SOON seconds, or the keeper's next look.
        """
        with self.lock:
            self.claim()
            try:
                now = monotonic()
                self.look(now)
                result = command(*arguments)
                if soon and not held:
                    held = self._put_off(now)
                if not held or self.core.send_backlog > BATCH:
                    self.write(now)
            except CALLER_ERRORS as error:
                self.release(error)
                raise
            except BaseException as error:
                self.give_up(error)
                raise
            if self.unsent:
                self.keeper.ring()
            self.release()
            if self.ended:
                raise self.closed()
        return result

    def wait(self, done: Callable[[], bool], timeout: float | None, what: str) -> None:
        """Read, write and dispatch until `done()`, which is called with the lock held.

        Raises TimeoutError after `timeout` seconds, EndpointClosed if the connection has ended without `done()`.
        """
        deadline = None if timeout is None else monotonic() + timeout
        me = Waiter(done)
        reads = tried = False
        with me.gate:
            try:
                while True:
                    with self.lock:
                        self.claim()
                        try:
                            now = monotonic()
                            if reads:
                                self._receive(now)
                                self._fire(now)
                            more = self.turn(now)
                        except BaseException as error:
                            self.give_up(error)
                            raise
                        self.release(None, me)
                        if done():
                            return
                        if self.ended:
                            raise self.closed()
                        if more:
                            continue
                        if tried and deadline is not None and now >= deadline:
                            raise TimeoutError(f"{what}: not within {timeout:g} seconds")
                        tried, reads = True, self._waiters.join(me)
                        room = self.core.receive_budget > 0
                        due = self.core.next_deadline if reads else None
                        ends = [each for each in (due, deadline) if each is not None]
                        pause = max(0.0, min(ends) - now) if ends else None
                    if reads:
                        self.transport.wait(room, pause)
                    else:
                        me.sleep(pause)
            finally:
                self._leave(me)

    wait_until = wait

    def change(self, what: Callable[[], object]) -> None:
        """Change, with the lock held, a condition that others may wait for, and wake them."""
        with self.lock:
            what()
            if self._waiters.wake(None, self.ended, False):
                self.transport.wake()

    def stop(self, reason: str) -> None:
        """End the transport at once, discarding unsent octets, and the keeper."""
        if not self.ended:
            self.run(lambda: self._lose(reason, monotonic()))
        self.keeper.join()

    def closed(self) -> EndpointClosed:
        """Return the error of a call on an ended connection."""
        report, failure = self.core.report, self.failure
        self.seen(report)
        if failure is None:
            return EndpointClosed(f"the connection is closed: {report}", report)
        error = copy.copy(failure)
        error.__cause__ = failure.__cause__
        return error

    def seen(self, report: CloseReport | None) -> None:
        """Note that a caller has seen this failure."""
        for key, error in list(self.unseen.items()):
            if not key or error.report == report:
                self.unseen.pop(key, None)

    # Called with the lock held.

    def claim(self) -> None:
        """Begin work with the engine."""
        if self.busy:
            if self.failure is None:
                self.give_up(None)
            raise self.closed()
        self.busy = True

    def release(self, error: Exception | None = None, me: Waiter | None = None) -> None:
        """End the work with the engine, in a consistent state, and wake waiters that are done."""
        self.busy = False
        if isinstance(error, EndpointClosed):
            self.seen(error.report)
        if not self._changed:
            return
        self._changed = False
        if self._waiters.wake(me, self.ended, self.transport.write_wanted):
            self.transport.wake()

    def give_up(self, error: BaseException | None) -> None:
        """Give up the connection: the engine was interrupted or failed, so its state is unreliable."""
        what = f" by {type(error).__name__}" if error is not None else ""
        text = f"the connection is given up: its engine was interrupted at work{what}"
        self.failure = EndpointClosed(text)
        self.failure.__cause__ = error if isinstance(error, Exception) else None
        self._end()
        self.release()
        self.busy = True

    def look(self, now: float) -> None:
        """Read available octets if the last look was long ago and nobody else reads."""
        if now < self.look_at:
            return
        self.look_at = now + LOOK
        if self._waiters.reader is None and not self.ended:
            self._drain(now)

    def turn(self, now: float) -> bool:
        """Take and dispatch events, then write; return whether there are more events."""
        more = self._take()
        self.write(now)
        hint = self.core.close_hint
        if hint is CloseHint.CLOSE_NOW or (hint is CloseHint.CLOSE_WHEN_SENT and not self.unsent):
            while self._take():
                pass
            self._end()
            return False
        return more

    def write(self, now: float) -> None:
        """Write the engine's octets; `unsent` has those that the socket doesn't take."""
        self.put_off_at = 0.0
        octets = self.unsent
        while octets or (octets := self.core.data_to_send(now)):
            try:
                count = self.transport.write(octets)
            except OSError as error:
                self._lose(str(error) or type(error).__name__, now)
                return
            if count < len(octets):
                self.unsent = memoryview(octets)[count:]
                self.transport.write_wanted = self._changed = True
                return
            if not self.unsent:
                return
            self.unsent = octets = b""
            self._changed = True

    # Internals.

    def _put_off(self, now: float) -> bool:
        """Whether the queued octets may be held back."""
        if not self.put_off_at:
            self.put_off_at = now
            if not self.hurried:
                self.keeper.ring()
            self.hurried = True
            return True
        return now - self.put_off_at < SOON

    def _take(self) -> bool:
        next_event, dispatch = self.core.next_event, self._dispatch
        for _ in range(EVENTS):
            event = next_event()
            if isinstance(event, Signal):
                return False
            self._changed = True
            dispatch(event)
        return True

    def _receive(self, now: float) -> bool:
        """Read once; return whether there were octets."""
        budget = self.core.receive_budget
        if budget <= 0 or self.ended:
            return False
        try:
            octets = self.transport.read(budget)
        except OSError as error:
            self.core.connection_lost(str(error) or type(error).__name__, now)
            return False
        if octets:
            self.core.receive_data(octets, now)
            return True
        if octets is not None:
            self.core.receive_eof(now)
        return False

    def _fire(self, now: float) -> None:
        deadline = self.core.next_deadline
        if deadline is not None and deadline <= now:
            self.core.handle_timeout(now)

    def _lose(self, reason: str, now: float) -> None:
        """Handle the loss of the transport; the peer may have sent the reason before."""
        self.unsent = b""
        for _ in range(ROUNDS):
            if not self._receive(now):
                break
            while self._take():
                pass
        self.core.connection_lost(reason, now)
        while self._take():
            pass
        self._end()

    def _end(self) -> None:
        if self.ended:
            return
        self.ended = self._changed = True
        self._last_words.detach()
        self.unsent = b""
        if self._waiters.reader is None:
            self.transport.close()
        else:
            self.transport.shut()
        self.keeper.ring()

    def _leave(self, me: Waiter) -> None:
        with self.lock:
            self._waiters.leave(me)
            if self._waiters.reader is None:
                if self.ended:
                    self.transport.close()
                elif self.unsent:
                    self.keeper.ring()

    # For the keeper.

    def keep(self) -> float | None:
        """Look once; return the seconds until the next look, None after the end."""
        with self.lock:
            if self.ended:
                return None
            try:
                self.claim()
                now = monotonic()
                chores = bool(self.chores)
                self._do_chores()
                # From now on held-back octets needn't wake this thread: that would happen every few messages.
                self.hurried = self.put_off_at > 0.0
                if chores or self.hurried:
                    self.write(now)
                if self._waiters.reader is None:
                    self._waiters.appoint()
                    self._drain(now)
                    self._fire(now)
                    self._drain(now)
            except BaseException as error:
                if not self.ended:
                    self.give_up(error)
                return None  # every caller gets the error
            self.release()
            if self.ended:
                return None
            stuck = bool(self.unsent) and self._waiters.reader is None
            due = self.core.next_deadline
            pause = IDLE if due is None else max(0.0, due - now)
            pause = min(pause, IDLE, self.interval() or IDLE)
            if self.hurried:
                pause = min(pause, HURRY)
        if stuck:
            # If that fails the connection has ended, and every caller gets the reason.
            with suppress(EndpointClosed):
                self.wait(lambda: not self.unsent, None, "what is left to send")
        return 0.0 if stuck else pause

    def _do_chores(self) -> None:
        while self.chores:
            # Work on a channel, link or connection that is gone needs no doing.
            with suppress(AmqpError):
                self.chores.popleft()()

    def _drain(self, now: float) -> None:
        """Read the available octets while nobody waits for them."""
        for _ in range(ROUNDS):
            read = self._receive(now)
            while not self.full and self.turn(now):
                pass
            if not read:
                break
        self.write(now)


def _say(core: Engine, transport: Transport, lock: threading.Lock) -> None:
    """Send held-back octets of a connection that wasn't closed: dropped, or left at the interpreter's exit."""
    # The keeper may be at work, but not for long.
    if lock.acquire(timeout=1.0):
        try:
            # Nothing may follow octets that the socket took only in part.
            if core.send_backlog and not transport.write_wanted:
                with suppress(OSError):
                    transport.write(core.data_to_send(monotonic()))
        finally:
            lock.release()
