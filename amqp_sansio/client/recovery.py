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
from math import inf
from typing import Any, Final, Generic, Literal, Protocol, TypeVar

from .._ground.record import record
from .._ground.state_table import Table, TableEnum
from ..errors import AmqpError, AnswerTimeout, EndpointClosed, LocalProtocolError
from ..events import Again, By, CloseReport, Event, Pending
from ..uri import AmqpUri, UriError, parse

REDIRECT: Final = "amqp:connection:redirect"
_HIGHEST_PORT: Final = 65_535
TRIES: Final = "x-publish-try"
"""The header of a message that was sent again: 2 for the second time."""
_STORY: Final = 100
"""Attempts that a story keeps: the first and the latest."""


def is_temporary(report: CloseReport) -> bool:
    """Return whether another attempt may succeed, as `RecoveryPolicy.retry` decides without a choice of one's own.

    Not so after a refused login (access-refused, unauthorized-access), or a refused virtual host (not-allowed,
    invalid-path). A limit of connections passes, because the lost connection may still count. It isn't asked after an
    end that this program has asked for.
    """
    if (report.code == _NOT_ALLOWED or report.condition == "amqp:not-allowed") and "limit" in report.text:
        return True
    return report.by is By.LOCAL or (report.code not in _REFUSALS and report.condition not in _REFUSED_CONDITIONS)


_NOT_ALLOWED: Final = 530
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
    by number). A connection that is lost before it has lived `steady` seconds counts as one more attempt.

    `in_doubt` says what becomes of publishes whose outcome was under way: "resend" sends them again, "report" ends
    their calls with the error, and reports them in `Recovered.in_doubt`. A message that was lost with as many
    connections as `tries` is reported too: it may be why they end. `publish` says whether a publish waits for
    the connection, or fails at once. Publishes wait while the messages that might have to be sent again have
    `in_doubt_octets`. Of messages without confirms the latest `remembered` are reported. Of exchanges, queues
    and bindings `declared` are kept to be declared again; beyond that, temporary ones and the oldest are forgotten.
    What somebody else holds, perhaps the lost connection, is tried again; after `patience` seconds the rest goes on
    without it.

    So many `redirects` in a row are followed, when a server of 1.0 sends its client elsewhere
    (amqp:connection:redirect), at the first connection too. The user's credentials go there, so none by default. As
    many are followed when it sends one link to another address (amqp:link:redirect).
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
    steady: float = 10.0
    tries: int = 10
    patience: float = 5.0
    redirects: int = 0

    def __repr__(self) -> str:
        values: dict[str, Any] = {name: getattr(self, name) for name in self.__match_args__}
        values["addresses"] = tuple(map(_without_secrets, self.addresses))
        return f"RecoveryPolicy({', '.join([f'{name}={value!r}' for name, value in values.items()])})"

    def sends_again(self, tries: int) -> bool:
        """Return whether a message is sent once more whose outcome was lost with so many connections."""
        return self.in_doubt == "resend" and tries < self.tries


def _without_secrets(address: str) -> str:
    """An address as it may be shown; of one that is no URL nobody knows where a password stands in it."""
    try:
        return str(parse(address))
    except UriError:
        return "<no URL>"


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


class Told(list[Any]):
    """The waiters of a message whose caller was told that its outcome hadn't come in time, and waits no more."""


def is_told(pending: Pending[Any]) -> bool:
    """Whether the caller of a message was told that it is in doubt, and hasn't asked for its outcome since."""
    return type(pending.waiters) is Told


def in_doubt(pending: Pending[Any], error: AnswerTimeout) -> AnswerTimeout:
    """Note that the caller of a message is told that it is in doubt; return the error that says so."""
    pending.waiters = Told(pending.waiters or ())
    return AnswerTimeout(f"{error}; the message is in doubt, the server may have it or not")


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
        # The channel, session or link that the call is made on, which outlives its connection too.
        self.state = state
        # The caller's pending, once the call has to be made again; None while its own is that.
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

    def is_doubtful(self, policy: RecoveryPolicy, pending: Pending[Any], tries: int) -> bool:
        """Whether a message that was sent so often is reported as in doubt, rather than sent again."""
        waited = pending if self.original is None else self.original
        return is_told(waited) or not policy.sends_again(tries)


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
    """The recovery of one client: where it stands in the table RECOVERY, and the time and place of its attempts."""

    def __init__(self, policy: RecoveryPolicy, addresses: tuple[str, ...], seed: int = 0) -> None:
        if not addresses:
            raise ValueError("recovery needs an address to connect to")
        # The user's, never changed.
        self.policy = policy
        # URLs as texts; the first one is that of the first connection.
        self.addresses = addresses
        # A row of the table RECOVERY.
        self.state = State.CONNECTED
        # The failures since the loss, for the report; of very many the middle is left out.
        self.attempts: list[Attempt] = []
        # How many have failed since the loss, without those that a server sent elsewhere: it chooses the address and
        # the delay.
        self.count = 0
        # Why the connection is given up, once it is.
        self.report: CloseReport | None = None
        # The place in `addresses` of the transport that the driver is to open now; None: none.
        self.wanted: int | None = None
        # That of the attempt begun last, of all since the first connection: who waits for an attempt waits for its end,
        # not for a state.
        self.number = 0
        # When that one began, in seconds.
        self._begun: float | None = None
        # A number of 64 bits, of which jitter and order are made, and its own successor.
        self._random = seed
        # The places in `addresses` in the order in which they are tried; the policy may shuffle it after each loss.
        self._order = list(range(len(addresses)))
        # Why the connection was lost, or why the last attempt failed, until it is open and restored again.
        self.lost: CloseReport | None = None
        # The close by which a server sent the client elsewhere: the next attempt goes there.
        self._moved: CloseReport | None = None
        # How often in a row servers did that; the policy bounds it.
        self._hops = 0
        # The address that the attempt begun last went to.
        self._at = ""
        # Whether it has been restored since the last loss: one that stays open for `policy.steady` seconds begins the
        # count anew.
        self._is_open = True
        # When the first loss of this row of attempts was, in seconds: the policy's deadline counts from it.
        self._since: float | None = None
        # In WAITING: when the next attempt begins, in seconds.
        self._until: float | None = None
        # While it connects: when the attempt has taken its time.
        self._limit: float | None = None
        self.late = ""
        """Why the attempt under way is to be ended, where that isn't the time to its opening."""

    @property
    def is_under_way(self) -> bool:
        """Whether the connection is lost and not given up."""
        return self.state in _UNDER_WAY

    def tries(self, number: int) -> bool:
        """Return whether the attempt of this number is under way."""
        return number == self.number and self.state in (State.CONNECTING, State.RESTORING)

    @property
    def address(self) -> str:
        """The address of the attempt under way, or else of the next one."""
        own = self.addresses[self._order[self.count % len(self._order)]]
        return own if self._moved is None else str(self.target(parse(own)))

    @property
    def progress(self) -> str:
        """The attempt under way, or the next one, and why the connection was lost or the last attempt failed."""
        what = _DOING.get(self.state, self.state.value)
        return f"{what} attempt {self.count + 1} at {self.address}: {self.lost}"

    def target(self, uri: AmqpUri) -> AmqpUri:
        """Return where the attempt under way goes: to its own address, or where the server has sent the client."""
        return uri if self._moved is None else elsewhere(uri, self._moved) or uri

    @property
    def next_deadline(self) -> float | None:
        """When to call `handle_timeout`, in seconds; None: never."""
        if self.state is State.WAITING:
            return self._until
        limit = self.policy.deadline
        if not self.is_under_way or limit is None or self._since is None:
            return self._limit
        over = self._since + limit
        return over if self._limit is None else min(over, self._limit)

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
        self._note_redirect(report)
        self.lost = report
        self._until = None
        self._limit = None
        self.late = ""
        return True

    def wait(self, now: float) -> Recovering | None:
        """Note at `now` that the transport is gone, or couldn't be opened; return the event that says what comes.

        None: it is given up, see `report`.
        """
        assert self.lost is not None
        policy, count = self.policy, len(self.addresses)
        if self._begun is not None and self._is_open and now - self._begun >= policy.steady:
            self._since = None
            self.attempts = []
            self.count = 0
        self._is_open = False
        if self._since is None:
            self._since = now
            if policy.shuffle:
                self._shuffle()
        else:
            self._note(now)
            self.count += self._moved is None
        over = policy.deadline is not None and now - self._since >= policy.deadline
        if over or (policy.attempts is not None and self.count >= policy.attempts):
            self._give_up(now)
            return None
        turn, place = divmod(self.count, count)
        first = place == 0 and self._moved is None
        delay = min(policy.first_delay * policy.factor**turn, policy.ceiling) if first else 0.0
        delay *= 1 - policy.jitter * self._draw()
        self._until = now + delay
        if policy.deadline is not None:
            self._until = min(self._until, self._since + policy.deadline)
        return Recovering(self.lost, self.count + 1, self.address, self._until - now)

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
        if self.state is not State.WAITING:
            return False  # Its own time is over, see `is_late`.
        self._step(Input.TIMEOUT)
        self._until = None
        self._begun = now
        self.number += 1
        self._limit = None
        self.wanted = self._order[self.count % len(self._order)]
        self._at = self.address
        return False

    def may_take(self, seconds: float) -> None:
        """Bound the attempt under way, from its beginning until the connection is open."""
        if self._begun is not None and self.state is State.CONNECTING:
            self._limit = self._begun + seconds

    def is_late(self, now: float) -> bool:
        """Return whether the attempt under way has taken its time, and is to be ended."""
        return self._limit is not None and now >= self._limit

    def fail_attempt(self, reason: str) -> None:
        """Let the attempt under way end: the connection is open, but can't be used."""
        self._limit = -inf
        self.late = reason

    def take_wanted(self) -> int | None:
        """Take the place in `addresses` of the transport to open now; None: none."""
        wanted, self.wanted = self.wanted, None
        return wanted

    def opened(self) -> None:
        """Note that the new connection is open."""
        self._step(Input.OPENED)
        self._limit = None

    def done(self) -> tuple[str, int]:
        """Note that all is restored; return the address, and the number of attempts."""
        found = self.address, self.count + 1
        self._step(Input.DONE)
        self._moved = None
        self.lost = None
        self._is_open = True
        return found

    def stop(self, report: CloseReport) -> None:
        """End it, because the user closes the connection, or nobody drives it any more."""
        if self.state is not State.ENDED:
            self._end(report)

    # Internals.

    def _step(self, given: Input) -> None:
        row = RECOVERY[self.state]
        if given not in row:
            raise LocalProtocolError(f"recovery is {self.state.value}: {given.value} can't happen now")
        self.state = row[given]

    def _note_redirect(self, report: CloseReport) -> None:
        """Let the next attempt go where the server has sent the client, if it has, and not too often in a row."""
        self._moved = None
        if report.condition != REDIRECT:
            self._hops = 0
        elif self._hops < self.policy.redirects and report.info.get("network-host"):
            self._hops += 1
            self._moved = report

    def _end(self, report: CloseReport) -> None:
        self._step(Input.END)
        self.report = report
        self.wanted = None
        self._until = None
        self._limit = None

    def _note(self, now: float) -> None:
        """Add the attempt under way to the story."""
        since, lost = self._since, self.lost
        assert since is not None
        reason = str(lost) if self.state is State.WAITING else f"not done, it was {self.state.value}"
        self.attempts.append(Attempt(self._at or self.address, round(now - since, 3), reason))
        if len(self.attempts) > _STORY:
            del self.attempts[_STORY // 2]

    def _give_up(self, now: float) -> None:
        assert self._since is not None
        story = "; ".join(f"{each.address} after {each.seconds:g} s: {each.reason}" for each in self.attempts)
        told = f"lost, and given up after {len(self.attempts)} attempts in {now - self._since:g} s"
        self._end(CloseReport(By.TRANSPORT, 0, told, hint=story or f"no attempt was made: {self.lost}"))

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
_DOING: Final = {State.WAITING: "waiting for", State.CONNECTING: "in", State.RESTORING: "restoring what was open in"}
_UNDER_WAY: Final = frozenset({State.WAITING, State.CONNECTING, State.RESTORING})


def _is_own(report: CloseReport) -> bool:
    """Whether the user of this end has asked for the end."""
    return report.by is By.LOCAL and report.code < 300 and report.rule is None and not report.condition


def elsewhere(uri: AmqpUri, report: CloseReport) -> AmqpUri | None:
    """Return the address that a redirect leads to (1.0 part 2 section 2.8.16); None for a report that is none.

    Its host and port are the error's, and with TLS the name that the certificate is for; user, virtual host and options
    stay.
    """
    host, port, name = [report.info.get(each) for each in ("network-host", "port", "hostname")]
    if report.by is not By.REMOTE or report.condition != REDIRECT or not isinstance(host, str) or not host:
        return None
    fields: dict[str, Any] = {each: getattr(uri, each) for each in uri.__match_args__}
    fields["host"] = host
    if isinstance(port, int) and 0 < port <= _HIGHEST_PORT:
        fields["port"] = port
    if uri.tls:
        fields["server_name_indication"] = name if isinstance(name, str) and name else None
    return AmqpUri(**fields)


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
    "elsewhere",
    "in_doubt",
    "is_temporary",
    "is_told",
    "policy_of",
]
