"""Signals and events that all versions share, the pendings that they complete, and the report of a close."""

from __future__ import annotations

import warnings
from enum import Enum
from typing import TYPE_CHECKING, Any, Final, Generic, Literal, TypeVar, cast

from ._core.close_report import By as By
from ._core.close_report import CloseReport as CloseReport
from ._core.record import record
from .errors import AmqpError, LocalProtocolError, Scope

if TYPE_CHECKING:
    from .sasl._base import Credentials

_T_co = TypeVar("_T_co", covariant=True)


class Signal(Enum):
    """Returned by `next_event` if there is no event."""

    NEED_DATA = "need-data"
    """Write what is queued, then wait for octets, the deadline or a command."""
    PAUSED = "paused"
    """A request is waiting for its answer; parsing continues after it."""


NEED_DATA: Final[Literal[Signal.NEED_DATA]] = Signal.NEED_DATA
PAUSED: Final[Literal[Signal.PAUSED]] = Signal.PAUSED


class Event:
    """The base of everything that `next_event` returns besides a Signal."""

    __slots__ = ()
    __match_args__: tuple[str, ...] = ()


class Pending(Generic[_T_co]):
    """The answer to come of one call; equal to another if their keys are.

    Exactly one event completes it: `Replied`, `Settled`, `Failed` or `Abandoned`. `key` identifies the call: `(channel,
    n)` in 0-8 and 0-9-1. `waiters` is for the caller: what it wakes when the answer is there, None for nothing; it
    isn't pickled. `again` is for a client that recovers: how the call is made again.
    """

    __slots__ = ("_error", "_result", "again", "done", "key", "waiters")

    def __init__(self, key: tuple[object, ...]) -> None:
        self.key = key
        self.done = False
        self.waiters: list[Any] | None = None
        self.again: Any = None
        self._result: object = None
        self._error: AmqpError | None = None

    @property
    def result(self) -> _T_co:
        """The answer. Raises the call's error, or LocalProtocolError while it is pending."""
        if self._error is not None:
            raise self._error
        if not self.done:
            raise LocalProtocolError(f"call {self.key} has no answer yet; take events until its pending is done")
        return cast("_T_co", self._result)

    @property
    def error(self) -> AmqpError | None:
        """The call's error, or None."""
        return self._error

    def complete(self, result: object) -> None:
        """End the call with its answer; for endpoints."""
        self.done = True
        self._result = result

    def fail(self, error: AmqpError) -> None:
        """End the call with an error; for endpoints."""
        self.done = True
        self._error = error

    def reopen(self, mark: object) -> None:
        """Take the end back: the call is made again. For clients that recover; `mark` makes its key another one."""
        self.key = (*self.key, mark)
        self.done = False
        self._error = None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Pending) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)

    def __repr__(self) -> str:
        state = "pending" if not self.done else "failed" if self._error else "done"
        return f"<Pending {self.key} {state}>"

    def __getstate__(self) -> tuple[object, ...]:
        state = self.key, self.done, self._result, self._error
        return state if self.again is None else (*state, self.again)

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        self.key, self.done, self._result, self._error, *again = state
        self.again = again[0] if again else None
        self.waiters = None


def renamed(former: str, name: str) -> Any:
    """Make the property that reads a field by its former name, with a DeprecationWarning."""

    def read(event: Event) -> object:
        warnings.warn(f"{former} is called {name} now", DeprecationWarning, stacklevel=2)
        return getattr(event, name)

    return property(read)


@record
class Opened(Event):
    """A connection (`channel` 0) or channel is open from now on; completes `pending` if a call requested it."""

    scope: Scope
    channel: int = 0
    pending: Pending[object] | None = None
    handle = renamed("handle", "pending")


@record
class Replied(Event):
    """A call has its answer: `pending.result`."""

    pending: Pending[object]
    handle = renamed("handle", "pending")


@record
class Accepted:
    """An outcome: the receiver took responsibility."""


@record
class Rejected:
    """An outcome: the receiver refused the message for good; `reason` says why, if it told."""

    reason: str = ""

    def __repr__(self) -> str:
        return f"Rejected({self.reason!r})" if self.reason else "Rejected()"


@record
class Released:
    """An outcome: the message came back, and may be sent again; `reason` says why, if the peer told."""

    reason: str = ""

    def __repr__(self) -> str:
        return f"Released({self.reason!r})" if self.reason else "Released()"


@record
class Settled(Event):
    """The outcome of one or many deliveries or publishes is known: `state`, the same for all `pendings`."""

    pendings: tuple[Pending[object], ...]
    state: object
    handles = renamed("handles", "pendings")


@record
class Failed(Event):
    """An error ended a channel or the connection, and with it `pendings`, which raise it.

    `by` is the side that found the error: LOCAL if this side noticed that the peer broke a rule (`error` is a
    RemoteProtocolError, and the reply that the specification demands is queued), REMOTE if the peer closed with an
    error code.
    """

    scope: Scope
    channel: int
    error: AmqpError
    by: By
    pendings: tuple[Pending[object], ...] = ()
    handles = renamed("handles", "pendings")


@record
class Abandoned(Event):
    """Calls that will never be answered, because their channel, session or link is gone; `resumable` says whether it
    may come back."""

    pendings: tuple[Pending[object], ...]
    report: CloseReport
    resumable: bool = False
    handles = renamed("handles", "pendings")


@record
class Closed(Event):
    """The last event of a connection (`channel` 0) or channel; there is exactly one for each."""

    scope: Scope
    channel: int
    report: CloseReport


@record
class AuthenticationRequested(Event):
    """Server: the client presents `credentials`; answer with `accept_authentication()` or
    `refuse_authentication(text)`."""

    mechanism: str
    credentials: Credentials


@record
class ScramKeysRequested(Event):
    """Server: SCRAM needs the stored keys of `user`; answer with `provide_scram_keys(keys)` (None: no such user)."""

    mechanism: str
    user: str


@record
class OpenRequested(Event):
    """Server: the client asks for the virtual host `vhost`; answer with `accept_open()` or `refuse_open(code, text)`.

    `insist` (0-8): the client doesn't want to be redirected.
    """

    vhost: str
    insist: bool = False


class DeliveryReceived(Event):
    """The base of every version's delivery event."""

    __slots__ = ()


@record
class SendPaused(Event):
    """The send backlog passed `Limits.backlog_high`; stop until `SendResumed`."""

    backlog: int


@record
class SendResumed(Event):
    """The send backlog fell below `Limits.backlog_low` again."""

    backlog: int


def __getattr__(name: str) -> object:
    if name == "Handle":
        warnings.warn("Handle is called Pending now", DeprecationWarning, stacklevel=2)
        return Pending
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
