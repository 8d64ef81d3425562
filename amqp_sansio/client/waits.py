"""Waiting: how the callers of a client wait for pendings and for timers, and what bounds each wait.

A pending ends by `complete` or by the core; who waits for it is woken by the driver, which takes `completed()` after
each turn. A timer is a pending too: `after` makes it, it starts when octets are written next, and `handle_timeout` ends
it. `within` joins the two: it waits for a pending of its own, which the other one or its timer ends.

Between two calls these hold: a pending that is done isn't in `_waiting`; what is in `_limited` is ended with its
pending, or by its wait; and no wait leaves anything behind, however it ends.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from heapq import heapify, heappush
from typing import TYPE_CHECKING, Any, TypeVar

from ..errors import AmqpError, AnswerTimeout, EndpointClosed
from ..events import Again, Pending
from .driver import CoreT, Driver, NoDriver
from .notes import Noting
from .recovery import in_doubt, is_told
from .settings import ANSWER_TIMEOUT, OUTCOME_TIMEOUT

if TYPE_CHECKING:
    from .driver import Config

ROOM = "room for octets, which the server doesn't read"
"""What a caller waits for who has more to send than the transport takes."""
STOPPED_TIMERS = 32
"""Timers that nobody waits for any more, of which so many may stay behind others that haven't ended."""

_R = TypeVar("_R")


class Term:
    """A time that several waits have in common, since they began between two writes: one timer bounds them all."""

    __slots__ = ("seconds", "timer", "waits")

    def __init__(self, seconds: float, timer: Pending[None]) -> None:
        self.seconds = seconds
        # Done when the time is over, or when nobody waits any more.
        self.timer = timer
        # The pendings that somebody waits for, by their identity.
        self.waits: dict[int, Pending[Any]] = {}


class Waiting(Noting[CoreT]):
    """The waits of a client; see `BaseClient`."""

    def __init__(self, core: CoreT) -> None:
        super().__init__(core)
        # The last number of a pending or a timer of this client's own.
        self._serial = 0
        # Inboxes that are full: nothing is read while there are any, unless somebody waits for an answer, which may
        # come behind what fills them.
        self.full = 0
        # The part that isn't pure: it wakes callers, writes and reads. An adapter sets it before it does anything else.
        self.driver: Driver = NoDriver()
        # Seconds that each answer which the peer owes may take; None: no bound.
        self.answer_timeout: float | None = ANSWER_TIMEOUT
        # Seconds that may pass until it is known what becomes of a message; None: no bound.
        self.outcome_timeout: float | None = OUTCOME_TIMEOUT
        # Set by a driver whose callers bring a time of their own, while such a call goes on: it replaces all others.
        self.caller_timeout: float | None = None
        # Ends when the transport is gone for good.
        self.lost: Pending[None] = self.pending()
        # Pending from a loss until the connection is restored or given up; None while nothing is lost.
        self.restored: Pending[None] | None = None
        # Pendings that are done, and whose waiters the driver hasn't woken yet.
        self._completed: list[Pending[Any]] = []
        # By id: pendings of the peer's answers that somebody waits for. While there are any, full inboxes don't stop
        # the reading.
        self._waiting: dict[int, Pending[Any]] = {}
        # What to do with the answer of a call whose caller is gone, or that nobody waits for.
        self._late: dict[Pending[Any], Callable[[Any], object]] = {}
        # Timers that start with the next writing, and their seconds.
        self._starting: list[tuple[float, Pending[None]]] = []
        # Timers that run: when each ends, in seconds, a number that orders equal ones, and its pending; the earliest
        # first. Some may have ended before.
        self._deadlines: list[tuple[float, int, Pending[None]]] = []
        # What ends with a timer, as `bound` says.
        self._bounded: dict[Pending[None], Pending[Any]] = {}
        # By the id of a pending: the waits with a bound that end with it.
        self._limited: dict[int, list[Pending[None]]] = {}
        # Timers in `_deadlines` that have ended before their time; many are swept out.
        self._stopped = 0
        # For the driver: what its `wait` returns also ends when `completed` returns a pending that isn't done.
        self.shares_timers = False
        # Those whose timers run, by these, and the one that the next wait joins.
        self._terms: dict[Pending[None], Term] = {}
        self._term: Term | None = None
        # Callers that wait until the backlog of octets is small again.
        self._gate: list[Pending[None]] = []

    @property
    def config(self) -> Config:
        """The configuration of the core's connection."""
        return self.core.config

    @property
    def is_overdue(self) -> bool:
        """Whether an end of a part was given up, and the peer still owes the answer."""
        raise NotImplementedError

    def start_timers(self, now: float) -> None:
        """Start what `after` asked for; `data_to_send` does it too. For drivers that can't write at the moment."""
        self._term = None
        for seconds, timer in self._starting:
            if not timer.done:
                self._serial += 1
                heappush(self._deadlines, (now + seconds, self._serial, timer))
        self._starting.clear()

    def completed(self) -> list[Pending[Any]]:
        """Take the pendings that are done since the last call, and that somebody waits for."""
        completed = self._completed
        if completed:
            self._completed = []
        return completed

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
            self._count_stopped()

    def _count_stopped(self) -> None:
        """Note that a timer has ended before its time; few of these stay."""
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
            if self._limited:
                for each in self._limited.pop(id(pending), ()):
                    self.complete(each)

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
        if pending.waiters is None or is_told(pending):
            pending.waiters = []
            self._waiting[id(pending)] = pending
            if self.full:
                self.driver.reading_changed()

    def reading_changed(self) -> None:
        """Have the driver look whether to read."""
        self.driver.reading_changed()

    def nudge(self) -> None:
        """Have the driver look at `completed()` soon: something ended although no octets came."""
        self.driver.flush_soon()

    def sleep(self, pending: Pending[Any]) -> Awaitable[object]:
        """Do the same for a pending that isn't an answer of the peer: full inboxes stop the reading meanwhile."""
        pending.waiters = []
        return self.driver.wait(pending)

    async def result(
        self,
        pending: Pending[_R],
        late: Callable[[_R], object] | None = None,
        what: str = "the call",
        seconds: float | None = None,
    ) -> _R:
        """Wait for an answer and return it. `late` gets it if the caller is interrupted before.

        Raises the call's error, and AnswerTimeout after `seconds`, or else `answer_timeout`, which says `what` wasn't
        answered.
        """
        self.driver.flush_soon()
        if not pending.done:
            try:
                await self.within(self.answer_limit if seconds is None else seconds, pending, what)
            except BaseException:
                if late is not None:
                    self.abandon(pending, late)
                raise
        if pending.error is not None:
            raise self.error_of(pending)
        return pending.result

    async def outcome(self, pending: Pending[_R], what: str) -> _R:
        """Wait for what becomes of a message, for `outcome_timeout` seconds at most, and return it."""
        self.driver.flush_soon()
        if not pending.done:
            await self.decided(pending, what)
        if pending.error is not None:
            raise self.error_of(pending)
        return pending.result

    async def within(self, seconds: float | None, pending: Pending[Any], what: str, *, strict: bool = False) -> None:
        """Wait until a pending is done, for `seconds` at most; None: without a bound.

        The time begins anew with each connection of a client that recovers, when it is restored; with `strict` while it
        is being restored, too. Raises AnswerTimeout, which says `what`
        wasn't answered; then, or when it is interrupted, nothing of the wait is left.
        """
        while not pending.done:
            core = self.core
            # It ends with the wait: when the time is over, and when the call is answered.
            mine: Pending[None] = self.pending()
            self.watch(pending)
            self._limited.setdefault(id(pending), []).append(mine)
            if seconds is not None:
                self._starting.append((seconds, mine))
                self.driver.flush_soon()
            try:
                await self.sleep(mine)
            finally:
                mine.done = True
                if seconds is not None:
                    self._count_stopped()
                self._forget_wait(pending, mine)
            is_settled = strict or self.restored is None
            if seconds is not None and not pending.done and is_settled and self.core is core:
                raise self.unanswered(what, seconds)

    async def decided(self, pending: Pending[Any], what: str) -> None:
        """Wait until it is known what becomes of a message that was sent, for `outcome_timeout` seconds at most.

        Raises AnswerTimeout. The message is in doubt then: it isn't sent again if its connection is lost later, because
        its caller may have sent another copy.
        """
        limit = self.outcome_limit
        if limit is None:
            # Without a bound the driver waits for the answer itself, which costs less for each message.
            while not pending.done:
                await self.wait(pending)
            return
        term = self.join(pending)
        if term is None:
            try:
                await self.within(limit, pending, what)
            except AnswerTimeout as error:
                raise in_doubt(pending, error) from None
            return
        core = self.core
        mine = self.driver.wait(pending)
        try:
            await mine
        finally:
            self.parted(term, pending, mine)
        if not pending.done:
            await self.undecided(term, core, pending, what)

    def join(self, pending: Pending[Any]) -> Term | None:
        """Begin to wait for a message as `decided` does, with the timer of all who begin now; None, with nothing done,
        where the wait has a timer of its own or none.

        Whoever gets a term awaits what the driver's `wait` returns, calls `parted` however that ends, and `undecided`
        unless the pending is done.
        """
        seconds = self.outcome_limit
        if seconds is None or pending.waiters is not None or not self.shares_timers:
            return None
        term = self._term
        if term is None or term.seconds != seconds:
            term = self._term = Term(seconds, self.pending())
            self._terms[term.timer] = term
            self._starting.append((seconds, term.timer))
            self.driver.flush_soon()
        key = id(pending)
        term.waits[key] = pending
        # As `watch` does for a pending that nobody waits for yet.
        pending.waiters = []
        self._waiting[key] = pending
        if self.full:
            self.driver.reading_changed()
        return term

    def parted(self, term: Term, pending: Pending[Any], mine: object) -> None:
        """End a wait that `join` has begun: `mine` is what was awaited."""
        waits = term.waits
        del waits[id(pending)]
        if not waits:
            self._end_term(term)
        if not pending.done:
            self._not_awaited(pending, mine)

    async def undecided(self, term: Term, core: object, pending: Pending[Any], what: str) -> None:
        """Raise AnswerTimeout for a wait whose time is over, as `decided` does; with another connection than `core`,
        the one that it began with, or while there is none, the time begins anew.
        """
        try:
            if self.restored is None and self.core is core:
                raise self.unanswered(what, term.seconds)
            await self.within(term.seconds, pending, what)
        except AnswerTimeout as error:
            raise in_doubt(pending, error) from None

    def _end_term(self, term: Term) -> None:
        """Nobody waits any more."""
        self._terms.pop(term.timer, None)
        if self._term is term:
            self._term = None
        if not term.timer.done:
            term.timer.done = True
            self._count_stopped()

    def time_over(self, timer: Pending[None]) -> None:
        """Wake those who have waited as long as they may, and let nothing else join them."""
        term = self._terms.pop(timer, None)
        if term is not None:
            self._completed += term.waits.values()

    def _not_awaited(self, pending: Pending[Any], mine: object) -> None:
        """Somebody waits no longer for a pending that isn't done: if nobody does, nothing is read for it."""
        waiters = pending.waiters or []
        if mine in waiters:
            waiters.remove(mine)
        if not waiters and id(pending) not in self._limited:
            pending.waiters = None
            self._waiting.pop(id(pending), None)
            if self.full:
                self.driver.reading_changed()

    async def until(self, pending: Pending[Any]) -> None:
        """Wait until a pending is done; nothing of the wait is left when it is interrupted."""
        await self.within(None, pending, "")

    @property
    def answer_limit(self) -> float | None:
        """The seconds that an answer may take, unless the caller has said how long the call may take."""
        return self.answer_timeout if self.caller_timeout is None else None

    @property
    def outcome_limit(self) -> float | None:
        """The same for the outcome of a message."""
        return self.outcome_timeout if self.caller_timeout is None else None

    @property
    def end_limit(self) -> float:
        """The seconds that an end may take: none if the peer owes the answer to an earlier one that was given up."""
        if self.is_overdue:
            return 0.0
        return self.config.close_timeout if self.caller_timeout is None else self.caller_timeout

    def unanswered(self, what: str, seconds: float) -> AnswerTimeout:
        """Return the error of a wait that has taken `seconds`."""
        return AnswerTimeout(f"{what}: no answer within {seconds:g} seconds{self.why_unanswered()}")

    def why_unanswered(self) -> str:
        """Return what the peer has said that explains its silence, to be added to an error; "" if nothing."""
        return ""

    def _forget_wait(self, pending: Pending[Any], mine: Pending[None]) -> None:
        """Forget one wait with a bound; nothing is read for an answer that nobody waits for."""
        others = self._limited.get(id(pending))
        if others is None:
            return
        others.remove(mine)
        if not others:
            del self._limited[id(pending)]
            if not (pending.done or pending.waiters):
                pending.waiters = None
                self._waiting.pop(id(pending), None)
                if self.full:
                    self.driver.reading_changed()

    def take_again(self, pending: Pending[Any]) -> Again:
        """Take how a call that has ended would be made again."""
        again = pending.again
        pending.again = None
        assert again is not None
        return self._republish(again) if isinstance(again, tuple) else again

    def _republish(self, published: tuple[Any, ...]) -> Again:
        """Return how a publish is made again whose arguments stand for that as `pending.again`."""
        raise NotImplementedError

    def abandon(self, pending: Pending[_R], late: Callable[[_R], object]) -> None:
        """Call `late` with the answer of a call whose caller is gone, when it comes and isn't an error."""
        if not pending.done:
            self._late[pending] = partial(_give_back, late)
        elif pending.error is None:
            _give_back(late, pending.result)
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

    async def room(self) -> None:
        """Give way to the writing, and wait while the peer reads too slowly."""
        await self.driver.pace()
        while self.core.send_backlog >= self.core.config.limits.backlog_high and not self.lost.done:
            pending: Pending[None] = self.pending()
            self._gate.append(pending)
            try:
                await self.within(self.outcome_limit, pending, ROOM)
            finally:
                if not pending.done:
                    self._gate.remove(pending)
                    self.complete(pending)

    def _open_gate(self) -> None:
        waiting, self._gate = self._gate, []
        for pending in waiting:
            self.complete(pending)


def _give_back(late: Callable[[_R], object], answer: _R) -> None:
    """Hand over an answer whose caller is gone; where what it is for has ended since, nothing is left to give back."""
    with suppress(EndpointClosed):
        late(answer)


__all__ = ["ROOM", "Waiting"]
