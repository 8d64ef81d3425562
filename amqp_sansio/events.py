"""The signals and events that all versions share, the handles they end, and the report of a close."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Final, Generic, Literal, TypeVar, cast

from ._core.record import record
from .errors import AmqpError, LocalProtocolError, Scope
from .printing import printable

if TYPE_CHECKING:
    from .sasl import Credentials

_T_co = TypeVar("_T_co", covariant=True)


class Signal(Enum):
    """What `next_event` returns when there is no event."""

    NEED_DATA = "need-data"
    """Write what is queued, then wait for octets, the deadline or a command."""
    PAUSED = "paused"
    """A request is waiting for its answer; nothing more is parsed before it."""


NEED_DATA: Final[Literal[Signal.NEED_DATA]] = Signal.NEED_DATA
PAUSED: Final[Literal[Signal.PAUSED]] = Signal.PAUSED


class By(Enum):
    """Who ended something."""

    LOCAL = "local"
    REMOTE = "remote"
    TRANSPORT = "transport"


class Event:
    """The base of everything that `next_event` returns besides a Signal."""

    __slots__ = ()
    __match_args__: tuple[str, ...] = ()


@record
class CloseReport:
    """Why a channel or connection ended, and what was open then.

    `code` and `text` are those of the close, as the peer wrote them (`str` of the report is `printing.printable`),
    `class_id`/`method_id` the method that the closing side blames or 0.
    `unsettled` are the delivery tags received (or, on a server, sent) and not yet settled, `unconfirmed` the
    publish numbers without a
    confirm, `hint` a sentence on the likely cause when the pattern is known, else "". 1.0 has `condition`, the error's
    symbol ("amqp:not-found"), instead of codes, and counts in `unsettled` the deliveries by their delivery-id.
    """

    __record_texts__ = ("hint",)

    by: By
    code: int = 0
    text: str = ""
    class_id: int = 0
    method_id: int = 0
    unsettled: tuple[int, ...] = ()
    unconfirmed: tuple[int, ...] = ()
    hint: str = ""
    rule: str | None = None
    condition: str = ""

    def __str__(self) -> str:
        who = {By.LOCAL: "closed by this side", By.REMOTE: "closed by the peer", By.TRANSPORT: "transport lost"}
        parts = [who[self.by]]
        if self.code:
            parts.append(f"{self.code}")
        if self.condition:
            parts.append(self.condition)
        if self.text:
            parts.append(self.text)
        text = f"{parts[0]}: {' '.join(parts[1:])}" if len(parts) > 1 else parts[0]
        return printable(f"{text} ({self.hint})" if self.hint else text)


class Handle(Generic[_T_co]):
    """The pending answer of one call; equal to another handle when their keys are.

    Exactly one event ends it: `Replied`, `Settled`, `Failed` or `Abandoned`. `key` says what it belongs to:
    `(channel, n)` in 0-8 and 0-9-1.
    """

    __slots__ = ("_error", "_result", "done", "key")

    def __init__(self, key: tuple[object, ...]) -> None:
        self.key = key
        self.done = False
        self._result: object = None
        self._error: AmqpError | None = None

    @property
    def result(self) -> _T_co:
        """The answer. Raises the error the call ended in, and LocalProtocolError while it is pending."""
        if self._error is not None:
            raise self._error
        if not self.done:
            raise LocalProtocolError(f"call {self.key} has no answer yet; take events until its handle is done")
        return cast("_T_co", self._result)

    @property
    def error(self) -> AmqpError | None:
        """What the call failed with, or None."""
        return self._error

    def _complete(self, result: object) -> None:
        self.done = True
        self._result = result

    def _fail(self, error: AmqpError) -> None:
        self.done = True
        self._error = error

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Handle) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)

    def __repr__(self) -> str:
        state = "pending" if not self.done else "failed" if self._error else "done"
        return f"<Handle {self.key} {state}>"

    def __getstate__(self) -> tuple[object, ...]:
        return self.key, self.done, self._result, self._error

    def __setstate__(self, state: tuple[tuple[object, ...], bool, object, AmqpError | None]) -> None:
        self.key, self.done, self._result, self._error = state


@record
class Opened(Event):
    """A connection (`channel` 0) or channel can be used from now on; ends `handle` when a call asked for it."""

    scope: Scope
    channel: int = 0
    handle: Handle[object] | None = None


@record
class Replied(Event):
    """A call has its answer: `handle.result`."""

    handle: Handle[object]


@record
class Accepted:
    """An outcome: the other side took responsibility."""


@record
class Rejected:
    """An outcome: the other side refused it for good."""


@record
class Released:
    """An outcome: given back, to be delivered again."""


@record
class Settled(Event):
    """The fate of one or many deliveries or publishes is known: `state`, the same for all `handles`."""

    handles: tuple[Handle[object], ...]
    state: object


@record
class Failed(Event):
    """An error ended a channel or the connection, and with it `handles`, which blame it.

    `by` is who found the error: LOCAL when this side noticed that the peer broke a rule (`error` is a
    RemoteProtocolError and
    the reply the specification demands is queued), REMOTE when the peer closed with an error code.
    """

    scope: Scope
    channel: int
    error: AmqpError
    by: By
    handles: tuple[Handle[object], ...] = ()


@record
class Abandoned(Event):
    """Calls that will never have an answer, because what they were made on is gone; `resumable` says whether
    it may come back."""

    handles: tuple[Handle[object], ...]
    report: CloseReport
    resumable: bool = False


@record
class Closed(Event):
    """The last event of a connection (`channel` 0) or channel; exactly one each."""

    scope: Scope
    channel: int
    report: CloseReport


@record
class AuthenticationRequested(Event):
    """Server: the client offers `credentials`; answer with `accept_authentication()` or
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
