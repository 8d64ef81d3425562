"""The common part of senders and receivers: the attachment of a link to its session, and its end."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from amqp_sansio import CloseReport, EndpointClosed, Event, Pending
from amqp_sansio.amqp_1_0 import Attach, Coordinator, DeliveryState, LinkState, Source, Target, TransactionalState
from amqp_sansio.amqp_1_0 import Receiver as CoreReceiver
from amqp_sansio.amqp_1_0 import Sender as CoreSender

from ..handlers import aside, interrupts_itself

if TYPE_CHECKING:
    from types import TracebackType
    from typing import Self

    from amqp_sansio.amqp_1_0 import Connection as CoreConnection

    from ..wire import Wire
    from .session import Session
    from .transaction import Transaction

_L = TypeVar("_L", CoreSender, CoreReceiver)
_T = TypeVar("_T")


class Attachment(ABC, Generic[_L]):
    """One attached link of a session; guarded by the lock.

    It outlives the Sender or Receiver that the application holds: if that is dropped, the keeper closes the link.
    """

    __slots__ = ("core", "dropped", "ended", "error", "session", "wire")

    def __init__(self, session: Session, core: _L) -> None:
        self.session: Session = session
        self.wire: Wire[CoreConnection] = session.wire
        self.core: _L = core
        self.ended = False
        self.dropped = False
        self.error: EndpointClosed | None = None

    @abstractmethod
    def take(self, event: Event) -> None:
        """Handle an event of the link other than a delivery or the end of a call."""

    def end(self, error: EndpointClosed) -> None:
        """Handle the end of the attachment."""
        self.ended = True
        self.no_more(error)

    def no_more(self, error: EndpointClosed) -> None:
        """End all events of the link."""
        self.error = error

    def drop(self) -> None:
        """Close the link, because nobody holds it any more."""
        self.dropped = True
        if self.core.is_open:
            self.core.close()


class Link(Generic[_L]):
    """One end of a link, created by a session. Every method may be called from any thread.

    A refusal by the peer and the end of the link raise LinkEnded with the peer's reason, and `report` keeps it; the end
    of the session or connection raises EndpointClosed. A wait raises TimeoutError after `timeout` seconds (None: never)
    and can be interrupted: the link stays usable. Leaving its context closes it, and waits `close_timeout` seconds for
    the answer.
    """

    __slots__ = ("__weakref__", "_attachment", "core", "wire")

    def __init__(self, attachment: Attachment[_L]) -> None:
        self._attachment: Attachment[_L] = attachment
        self.core: _L = attachment.core
        self.wire: Wire[CoreConnection] = attachment.wire

    @property
    def session(self) -> Session:
        """The session it's on."""
        return self._attachment.session

    @property
    def name(self) -> str:
        """Its name, the same on both ends; with the direction it identifies the link after a re-attachment."""
        return self.core.name

    @property
    def source(self) -> Source | None:
        """The negotiated source of the messages."""
        source: Any = self.core.source
        return source  # type: ignore[no-any-return]

    @property
    def target(self) -> Target | Coordinator | None:
        """The negotiated target of the messages."""
        target: Any = self.core.target
        return target  # type: ignore[no-any-return]

    @property
    def address(self) -> str:
        """The address of the node at the peer; the peer chose it for a dynamic node."""
        return self.core.address or ""

    @property
    def remote(self) -> Attach | None:
        """The peer's attach."""
        return self.core.remote

    @property
    def is_open(self) -> bool:
        """Whether it is usable, as far as is known."""
        return self.core.is_open

    @property
    def report(self) -> CloseReport | None:
        """Why it ended, once it has."""
        report = self.core.report
        if report is not None:
            self.wire.seen(report)
        return report

    def saved_state(self) -> LinkState:
        """Return the state for attaching the link again, with `state=`; picklable. The link may have ended already.

        >>> def example(sender: Sender, new: Session) -> list[object]:
        ...     again = new.open_sender(state=sender.saved_state())
        ...     return [each.result() for each in again.pending.values()]
        """
        with self.wire.lock:
            return self.core.saved_state()

    def detach(self, *, timeout: float | None = None) -> LinkState:
        """Detach without closing: the peer keeps the link and its unsettled deliveries; the result attaches it again.

        >>> def example(sender: Sender) -> Sender:
        ...     state = sender.detach()
        ...     return sender.session.open_sender(state=state)
        """
        self._leave(lambda: self.core.detach(), timeout)
        return self.saved_state()

    def close(
        self,
        condition: str = "",
        description: str = "",
        info: Mapping[Any, Any] | None = None,
        *,
        timeout: float | None = None,
    ) -> CloseReport | None:
        """Close the link and wait for the peer's answer; return how it ended. On a closed link this does nothing.

        `condition` is an error's symbol, such as "amqp:link:detach-forced", "" for none. A signal handler that
        interrupts a call of this package, such as the iteration of a receiver, may call it, and doesn't wait then.

        >>> def example(receiver: Receiver) -> CloseReport | None:
        ...     return receiver.close("amqp:link:detach-forced", "going home")
        """
        if interrupts_itself():
            return aside("detach", lambda: self.close(condition, description, info, timeout=timeout))
        self._leave(lambda: self.core.close(condition, description, info), timeout)
        return self.report

    def wait_closed(self, timeout: float | None = None) -> CloseReport | None:
        """Wait until the link has ended, by either side; return how.

        >>> def example(sender: Sender) -> CloseReport | None:
        ...     return sender.wait_closed()
        """
        attachment = self._attachment
        self.wire.wait(lambda: attachment.ended, timeout, "the end of the link")
        return self.report

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._attachment.ended or self.wire.ended:
            return
        seconds = self.wire.core.config.close_timeout
        if error is None:
            self.close(timeout=seconds)
            return
        # The first error is the better reason.
        with suppress(EndpointClosed, TimeoutError):
            self.close(timeout=seconds)

    def __del__(self) -> None:
        self.abandon()

    def __repr__(self) -> str:
        state = "open" if self.is_open else f"closed: {self.core.report}"
        return f"<{type(self).__name__} {self.address!r}, link {self.name!r}, {state}>"

    # For the other parts of the adapter.

    def abandon(self) -> None:
        """Close a link that nobody holds any more, without waiting."""
        attachment = self._attachment
        if not (attachment.ended or attachment.dropped):
            wire = attachment.wire
            wire.chores.append(attachment.drop)
            wire.keeper.ring()

    def finish(
        self, handle: Pending[Any], timeout: float | None, what: str, late: Callable[[Any], object] | None = None
    ) -> Any:
        """Wait for a handle of the link and return its result. `late` takes a result after a timeout."""
        return self.session.finish(handle, timeout, what, late, self.core)

    def post(self, command: Callable[..., _T], *arguments: Any) -> _T:
        """Carry out one command of the engine; octets that the socket doesn't take at once are sent later."""
        try:
            return self.wire.post(False, command, *arguments)
        except EndpointClosed as error:
            if self._attachment.error is None and self.core.report is None:
                raise  # The session or connection is closing: the engine's error has the details.
            raise self.gone() from error

    def gone(self) -> EndpointClosed:
        """Return the error of a call on an ended link."""
        error = self._attachment.error
        if error is None:
            report = self.core.report
            if report is None:
                return self.wire.closed()
            error = self.session.end_of(report, self.name)
        self.wire.seen(error.report)
        return copy.copy(error)

    # Internals.

    def _leave(self, command: Callable[[], object], timeout: float | None) -> None:
        attachment = self._attachment
        if attachment.ended:
            return
        self.wire.run(command)
        self.wire.wait(lambda: attachment.ended, timeout, "the detach")


def in_transaction(transaction: Transaction | None, outcome: DeliveryState | None) -> DeliveryState | None:
    """Return the state of a delivery in a transaction (1.0 part 4 section 4.5.8)."""
    if transaction is None:
        return outcome
    return TransactionalState(transaction.txn_id, outcome)


def outcome_of(state: Any) -> DeliveryState | None:
    """Return the outcome in a state, also within a transactional one; an unknown type is a Described."""
    outcome: Any = state.outcome if isinstance(state, TransactionalState) else state
    return outcome  # type: ignore[no-any-return]


__all__ = ["Attachment", "Link", "in_transaction", "outcome_of"]
