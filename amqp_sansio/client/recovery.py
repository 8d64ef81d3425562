"""Recovery: whether, when and where to connect again after a connection was lost, as a state machine.

A client that recovers has one `Recovery`. It tells the driver what to do and when, and never does it:

```
CONNECTED --lost--> WAITING --timeout--> CONNECTING --opened--> RESTORING --done--> CONNECTED
                      ^-------- lost ---------'  <----- lost -----'
ENDED: the policy says no, deadline, attempts, or the user's own close
```

How the parts work together. `BaseClient` asks `keeps` when its core has ended: while that is true, calls and objects of
the user live on. `transport_ended` starts the wait; `next_deadline` and `handle_timeout` pass its time. Then
`wanted` is the address that the driver opens a transport to, with a new core that it gives to `reconnect`. The client
of the version restores what was open, and calls `done`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any, Final, Generic, Literal, Protocol, TypeVar

from .._core.record import record
from .._core.state_table import Table, TableEnum
from ..errors import AmqpError, EndpointClosed, LocalProtocolError
from ..events import By, CloseReport, Event, Pending

TRIES: Final = "x-publish-try"
"""The header of a message that was sent again: 2 for the second time."""
_STORY: Final = 100
"""Attempts that a story keeps: the first and the latest."""


def is_temporary(report: CloseReport) -> bool:
    """Return whether another attempt may succeed, as `RecoveryPolicy.retry` decides without a choice of one's own.

    Not so after a refused login (access-refused, unauthorized-access), or a refused virtual host (not-allowed,
    invalid-path). It isn't asked after an end that this program has asked for.
    """
    return report.by is By.LOCAL or (report.code not in _REFUSALS and report.condition not in _REFUSED_CONDITIONS)


_REFUSALS: Final = frozenset({402, 403, 530})
"""invalid-path, access-refused and not-allowed of 0-8 and 0-9-1, and invalid-path of 0-10."""
_REFUSED_CONDITIONS: Final = frozenset(
    {"amqp:unauthorized-access", "amqp:not-allowed", "amqp:not-found", "invalid-path", "auth", "sasl:auth"}
)


@record
class RecoveryPolicy:
    """Whether, when and where a client connects again; `recover=True` is this policy without arguments.

    `addresses` are URLs to try after the one that was connected to, in this order or, with `shuffle`, in an order of
    each loss. The first attempt comes `first_delay` seconds after the loss, the next rounds through the addresses
    `factor` times later each, at most `ceiling` seconds; each delay is up to the part `jitter` shorter. It gives up
    `deadline` seconds after the loss, after `attempts`, or when `retry(report)` returns False (None: never by time, or
    by number).

    `in_doubt` says what becomes of publishes whose outcome was under way: "resend" sends them again, "report" ends
    their calls with the error, and reports them in `Recovered.in_doubt`. `publish` says whether a publish waits for
    the connection, or fails at once. Publishes wait while the messages that might have to be sent again have
    `in_doubt_octets`. Of messages without confirms the latest `remembered` are reported. More than `declared`
    exchanges, queues and bindings raise LimitExceeded.
    """

    addresses: tuple[str, ...] = ()
    shuffle: bool = False
    first_delay: float = 0.5
    factor: float = 2.0
    ceiling: float = 30.0
    jitter: float = 0.2
    deadline: float | None = 600.0
    attempts: int | None = None
    retry: Callable[[CloseReport], bool] = is_temporary
    in_doubt: Literal["resend", "report"] = "resend"
    publish: Literal["wait", "fail"] = "wait"
    in_doubt_octets: int = 64 * 1024 * 1024
    remembered: int = 1000
    declared: int = 10_000


@record
class Attempt:
    """An attempt that failed: the address, the seconds since the connection was lost, and the reason."""

    address: str
    seconds: float
    reason: str


@record
class InDoubt:
    """A message that was published before the connection was lost: the broker may have it or not.

    `target` says where to: `(exchange, routing_key)`, in 1.0 the link's name and address.
    """

    target: tuple[str, ...]
    body: object
    properties: object = None


@record
class Recovering(Event):
    """The connection is lost, or an attempt has failed: `report` says why. The next attempt, number `attempt`, goes to
    `address` in `seconds`."""

    report: CloseReport
    attempt: int
    address: str
    seconds: float


@record
class Recovered(Event):
    """The connection is open again, and what was open on it, after `attempts` attempts, the last to `address`.

    `in_doubt` are messages that were not sent again, `resent` counts those that were. `renamed` has the old and the new
    name of each queue that the server named. `failed` says what could not be restored, and why. `resumed` are the
    sessions (0-10) or links (1.0) that continue where they were, `replaced` those whose state the peer has lost, so
    that their messages were handled as in 0-9-1.
    """

    address: str
    attempts: int
    in_doubt: tuple[InDoubt, ...] = ()
    resent: int = 0
    renamed: tuple[tuple[str, str], ...] = ()
    failed: tuple[tuple[str, str], ...] = ()
    resumed: tuple[str, ...] = ()
    replaced: tuple[str, ...] = ()


class Again(Protocol):
    """How a call is made again on a new connection: `pending.again` of its pending, taken when that ends."""

    def answered(self, pending: Pending[Any]) -> None:
        """Note the call's answer."""
        ...

    def failed(self, pending: Pending[Any]) -> None:
        """Note the call's error."""
        ...

    def lost(self, pending: Pending[Any]) -> bool:
        """Note that the connection is lost, and will be opened again; return whether the call goes on waiting."""
        ...

    def redo(self) -> None:
        """Make the call again. Raises AmqpError."""
        ...

    def give_up(self, error: EndpointClosed) -> None:
        """End the call that can't be made again."""
        ...


class Repeats(Protocol):
    """A client that makes calls again."""

    redo: deque[Again]

    def answer(self, pending: Pending[Any], result: object) -> None: ...
    def fail(self, pending: Pending[Any], error: AmqpError) -> None: ...
    def reopen(self, pending: Pending[Any]) -> None: ...


class OfClient(Protocol):
    """A channel or session."""

    @property
    def client(self) -> Repeats: ...


_S = TypeVar("_S", bound=OfClient)


class Repeated(Generic[_S]):
    """A call that outlives its connection; `original` is the caller's pending, once the call has to be made again."""

    __slots__ = ("original", "state")

    def __init__(self, state: _S) -> None:
        self.state = state
        self.original: Pending[Any] | None = None

    def failed(self, pending: Pending[Any]) -> None:
        """Tell the caller of the error."""
        if pending.error is not None:
            self.give_up(pending.error)

    def give_up(self, error: AmqpError) -> None:
        """Tell the caller that it can't be made, or that its fate is unknown."""
        self.release()
        if self.original is not None:
            self.state.client.fail(self.original, error)

    def complete(self, result: object) -> None:
        """Give the caller the result."""
        self.release()
        if self.original is not None:
            self.state.client.answer(self.original, result)

    def adopt(self, pending: Pending[Any]) -> None:
        """Keep the caller waiting, whose call ended with the connection."""
        if self.original is None:
            self.original = pending
            self.state.client.reopen(pending)

    def release(self) -> None:
        """Let go of what is kept until the call has ended."""


class Steps:
    """The calls of restoring itself: the next connection begins all of it anew."""

    def failed(self, pending: Pending[Any]) -> None:
        """Nothing: the end of the part that refused follows."""

    def lost(self, pending: Pending[Any]) -> bool:
        """Begin anew with the next connection."""
        return True

    def redo(self) -> None:
        """Nothing: restoring begins anew."""

    def give_up(self, error: EndpointClosed) -> None:
        """Nothing: nobody waits for it."""


class State(TableEnum):
    """The states of recovery."""

    CONNECTED = "connected"
    WAITING = "waiting"
    CONNECTING = "connecting"
    RESTORING = "restoring"
    ENDED = "ended"


class Input(TableEnum):
    """Inputs of recovery."""

    LOST = "lost"
    TIMEOUT = "timeout"
    OPENED = "opened"
    DONE = "done"
    END = "given up, or closed by the user"


RECOVERY: Final[Table[State, Input]] = {
    State.CONNECTED: {Input.LOST: State.WAITING, Input.END: State.ENDED},
    State.WAITING: {Input.TIMEOUT: State.CONNECTING, Input.END: State.ENDED},
    State.CONNECTING: {Input.OPENED: State.RESTORING, Input.LOST: State.WAITING, Input.END: State.ENDED},
    State.RESTORING: {Input.DONE: State.CONNECTED, Input.LOST: State.WAITING, Input.END: State.ENDED},
    State.ENDED: {},
}


class Recovery:
    """The recovery of one client. `addresses` are the URLs as texts, the first one that of the first connection.

    `seed` is a number of the adapter's, from which jitter and order are made. `attempts` are the failures since the
    loss; `report` says why the connection is given up, once it is.
    """

    def __init__(self, policy: RecoveryPolicy, addresses: tuple[str, ...], seed: int = 0) -> None:
        if not addresses:
            raise ValueError("recovery needs an address to connect to")
        self.policy = policy
        self.addresses = addresses
        self.state = State.CONNECTED
        self.attempts: list[Attempt] = []
        self.count = 0
        self.report: CloseReport | None = None
        self.wanted: int | None = None
        self._random = seed
        self._order = list(range(len(addresses)))
        self._lost: CloseReport | None = None
        self._since: float | None = None
        self._until: float | None = None

    @property
    def is_connected(self) -> bool:
        """Whether there is nothing to recover, or not any more."""
        return self.state is State.CONNECTED

    @property
    def is_under_way(self) -> bool:
        """Whether the connection is lost and not given up."""
        return self.state in _UNDER_WAY

    @property
    def address(self) -> str:
        """The address of the attempt under way, or else of the next one."""
        return self.addresses[self._order[self.count % len(self._order)]]

    @property
    def next_deadline(self) -> float | None:
        """When to call `handle_timeout`, in seconds; None: never."""
        if self.state is State.WAITING:
            return self._until
        limit = self.policy.deadline
        if self.is_under_way and limit is not None and self._since is not None:
            return self._since + limit
        return None

    def keeps(self, report: CloseReport) -> bool:
        """Note that the connection has ended; return whether what is open on it lives on.

        It is asked with each event of the end, and answers as the first time.
        """
        if self.state is State.ENDED:
            return False
        if self.state is State.WAITING:
            return True
        # While it connects, the user's close doesn't come from the core: see `stop`.
        is_own = self.state is not State.CONNECTING and _is_own(report)
        if is_own or not self.policy.retry(report):
            self._end(report)
            return False
        self._step(Input.LOST)
        self._lost = report
        self._until = None
        return True

    def wait(self, now: float) -> Recovering | None:
        """Note at `now` that the transport is gone, or couldn't be opened; return the event that says what comes.

        None: it is given up, see `report`.
        """
        assert self._lost is not None
        policy, count = self.policy, len(self.addresses)
        if self._since is None:
            self._since = now
            if policy.shuffle:
                self._shuffle()
        else:
            self._note(now)
            self.count += 1
        over = policy.deadline is not None and now - self._since >= policy.deadline
        if over or (policy.attempts is not None and self.count >= policy.attempts):
            self._give_up(now)
            return None
        turn, place = divmod(self.count, count)
        delay = min(policy.first_delay * policy.factor**turn, policy.ceiling) if place == 0 else 0.0
        delay *= 1 - policy.jitter * self._draw()
        self._until = now + delay
        if policy.deadline is not None:
            self._until = min(self._until, self._since + policy.deadline)
        return Recovering(self._lost, self.count + 1, self.address, self._until - now)

    def handle_timeout(self, now: float) -> bool:
        """Do what is due at `now`; return whether it is given up by that."""
        deadline = self.next_deadline
        if deadline is None or now < deadline:
            return False
        limit = self.policy.deadline
        if limit is not None and self._since is not None and now - self._since >= limit:
            if self.state is not State.WAITING:
                self._note(now)
            self._give_up(now)
            return True
        self._step(Input.TIMEOUT)
        self._until = None
        self.wanted = self._order[self.count % len(self._order)]
        return False

    def take_wanted(self) -> int | None:
        """Take the place in `addresses` of the transport to open now; None: none."""
        wanted, self.wanted = self.wanted, None
        return wanted

    def opened(self) -> None:
        """Note that the new connection is open."""
        self._step(Input.OPENED)

    def done(self) -> tuple[str, int]:
        """Note that all is restored; return the address, and the number of attempts."""
        found = self.address, self.count + 1
        self._step(Input.DONE)
        self.attempts = []
        self.count = 0
        self._since = self._lost = None
        return found

    def stop(self, report: CloseReport) -> None:
        """End it, because the user closes the connection."""
        if self.state is not State.ENDED:
            self._end(report)

    # Internals.

    def _step(self, given: Input) -> None:
        row = RECOVERY[self.state]
        if given not in row:
            raise LocalProtocolError(f"recovery is {self.state.value}: {given.value} can't happen now")
        self.state = row[given]

    def _end(self, report: CloseReport) -> None:
        self._step(Input.END)
        self.report = report
        self.wanted = self._until = None

    def _note(self, now: float) -> None:
        """Add the attempt under way to the story."""
        since, lost = self._since, self._lost
        assert since is not None
        reason = str(lost) if self.state is State.WAITING else f"not done, it was {self.state.value}"
        self.attempts.append(Attempt(self.address, round(now - since, 3), reason))
        if len(self.attempts) > _STORY:
            del self.attempts[_STORY // 2]

    def _give_up(self, now: float) -> None:
        assert self._since is not None
        story = "; ".join(f"{each.address} after {each.seconds:g} s: {each.reason}" for each in self.attempts)
        told = f"lost, and given up after {len(self.attempts)} attempts in {now - self._since:g} s"
        self._end(CloseReport(By.TRANSPORT, 0, told, hint=story or f"no attempt was made: {self._lost}"))

    def _draw(self) -> float:
        """Return the next number from 0 to 1 (SplitMix64)."""
        self._random = (self._random + 0x9E3779B97F4A7C15) & _64_BITS
        mixed = self._random
        mixed = ((mixed ^ mixed >> 30) * 0xBF58476D1CE4E5B9) & _64_BITS
        mixed = ((mixed ^ mixed >> 27) * 0x94D049BB133111EB) & _64_BITS
        return (mixed ^ mixed >> 31) / 2**64

    def _shuffle(self) -> None:
        for last in range(len(self._order) - 1, 0, -1):
            other = int(self._draw() * (last + 1))
            self._order[last], self._order[other] = self._order[other], self._order[last]


_64_BITS: Final = 2**64 - 1
_UNDER_WAY: Final = frozenset({State.WAITING, State.CONNECTING, State.RESTORING})


def _is_own(report: CloseReport) -> bool:
    """Whether the user of this end has asked for the end."""
    return report.by is By.LOCAL and report.code < 300 and report.rule is None and not report.condition


def policy_of(given: Any) -> RecoveryPolicy | None:
    """Return the policy that the argument `recover` of `connect` stands for. Raises TypeError."""
    if given is None or given is False:
        return None
    if given is True:
        return RecoveryPolicy()
    if isinstance(given, RecoveryPolicy):
        return given
    raise TypeError(f"recover is True, False or a RecoveryPolicy, not {type(given).__name__}")


__all__ = [
    "RECOVERY",
    "TRIES",
    "Again",
    "Attempt",
    "InDoubt",
    "Input",
    "Recovered",
    "Recovering",
    "Recovery",
    "RecoveryPolicy",
    "State",
    "is_temporary",
    "policy_of",
]
