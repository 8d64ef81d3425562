"""Signals and events that all versions share, the pendings that they complete, and the report of a close."""

from __future__ import annotations

from enum import Enum

from ._checking import TYPE_CHECKING, Generic, Protocol, TypeVar, cast
from ._ground.close_report import NO_INFO
from ._ground.close_report import By as By
from ._ground.close_report import CloseReport as CloseReport
from ._ground.close_report import Info as Info
from ._ground.record import record
from .errors import AmqpError, EndpointClosed, LocalProtocolError, Scope

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, Final, Literal

    from .sasl import Credentials

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


class Again(Protocol):
    """How a client that recovers makes a call again: `pending.again`, which it takes when the pending ends."""

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


class Pending(Generic[_T_co]):
    """The answer to come of one call; equal to another if their keys are.

    Exactly one event completes it: `Replied`, `Settled`, `Failed` or `Abandoned`.
    """

    __slots__ = ("_error", "_result", "again", "done", "key", "waiters")

    def __init__(self, key: tuple[object, ...]) -> None:
        # Identifies the call: `(channel, n)` in 0-8 and 0-9-1, a command-id or a delivery-tag with its place in others.
        self.key = key
        # Whether it has its answer or its error.
        self.done = False
        # For the caller: what it wakes when the answer is there, None for nothing. It isn't pickled.
        self.waiters: list[Any] | None = None
        # For a client that recovers: how the call is made again, or the arguments of a publish, which stand for that
        # until it is needed: an object for each publish costs more than all else of it.
        self.again: Again | tuple[Any, ...] | None = None
        # The answer, once it is done without an error.
        self._result: object = None
        # Why there is no answer.
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


@record
class Opened(Event):
    """A connection (`channel` 0) or channel is open from now on; completes `pending` if a call requested it."""

    scope: Scope
    channel: int = 0
    pending: Pending[object] | None = None


@record
class Replied(Event):
    """A call has its answer: `pending.result`."""

    pending: Pending[object]


@record
class Accepted:
    """An outcome: the receiver took responsibility."""


@record
class Rejected:
    """An outcome: the receiver refused the message for good; `reason` says why, if it told.

    `info` is what else it said: in 1.0 the error's info.
    """

    reason: str = ""
    info: Mapping[str, Any] = NO_INFO

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


@record
class Abandoned(Event):
    """Calls that will never be answered, because their channel, session or link is gone; `resumable` says whether it
    may come back."""

    pendings: tuple[Pending[object], ...]
    report: CloseReport
    resumable: bool = False


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


__all__ = [
    "NEED_DATA",
    "PAUSED",
    "Abandoned",
    "Accepted",
    "AuthenticationRequested",
    "By",
    "CloseReport",
    "Closed",
    "DeliveryReceived",
    "Event",
    "Failed",
    "OpenRequested",
    "Opened",
    "Pending",
    "Rejected",
    "Released",
    "Replied",
    "ScramKeysRequested",
    "SendPaused",
    "SendResumed",
    "Settled",
    "Signal",
]
