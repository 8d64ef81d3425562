"""Transaction: atomic work on any links of a session (1.0 part 4)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from amqp_sansio import AmqpError, EndpointClosed, LocalProtocolError, Pending
from amqp_sansio.amqp_1_0 import Accepted, Controller, Coordinator, Declared, DeliveryState, Rejected, Source
from amqp_sansio.amqp_1_0.codec.conditions import DISTRIBUTED_TRANSACTIONS, LOCAL_TRANSACTIONS
from amqp_sansio.errors import TransactionFailed

from .sender import Sender

if TYPE_CHECKING:
    from types import TracebackType

    from .session import Session


class Controls:
    """The link of one session to the peer's coordinator; all its transactions share it."""

    __slots__ = ("controller", "sender")

    def __init__(self, sender: Sender) -> None:
        self.sender = sender
        self.controller = Controller(sender.core)

    def check_global(self) -> None:
        """Raise unless the coordinator supports global transactions (1.0 part 4 section 4.5.2)."""
        remote = self.sender.remote
        target = None if remote is None else remote.target
        offered = target.capabilities if isinstance(target, Coordinator) else ()
        if DISTRIBUTED_TRANSACTIONS not in offered:
            raise LocalProtocolError(
                "the coordinator doesn't offer amqp:distributed-transactions, so no global_id is possible",
                rule="1.0/transactions/declare/global-id",
            )

    def answer(
        self, handle: Pending[Any], timeout: float | None, what: str, late: Callable[[Any], object] | None = None
    ) -> DeliveryState | None:
        """Return the outcome of a request to the coordinator."""
        state: DeliveryState | None = self.sender.finish(handle, timeout, what, late)
        return state


class Transaction:
    """A transaction of a session, returned by `session.transaction()`.

    As a context it is declared on entering, and on leaving committed, or rolled back if an exception leaves it. Pass it
    as `transaction` when sending messages and settling deliveries, on any link of the session.
    """

    __slots__ = ("_controls", "_global_id", "_over", "_session", "_txn_id", "timeout")

    def __init__(self, session: Session, global_id: bytes | None, timeout: float | None) -> None:
        self._session = session
        self._global_id = global_id
        self._controls: Controls | None = None
        self._txn_id: Any = None
        self._over = False
        self.timeout = timeout

    @property
    def txn_id(self) -> bytes:
        """The coordinator's identifier for it. Raises LocalProtocolError before the declaration, and after the end."""
        if self._controls is None or self._over:
            state = "is over" if self._over else "isn't declared; enter its context first"
            raise LocalProtocolError(f"the transaction {state}")
        found: bytes = self._txn_id
        return found

    def commit(self) -> None:
        """Make its work effective. Raises TransactionFailed if the coordinator refuses: then nothing happened.

        Raises EndpointClosed if the link to the coordinator ended before its answer, TimeoutError if there was none
        within `timeout` seconds: then the result is unknown.

        >>> def example(session: Session, sender: Sender) -> None:
        ...     with session.transaction() as transaction:
        ...         sender.send(b"hello", transaction=transaction)
        ...         transaction.commit()
        """
        self._discharge(fail=False)

    def rollback(self) -> None:
        """Undo its work: messages sent in it are dropped, deliveries settled in it come again.

        >>> def example(session: Session, sender: Sender) -> None:
        ...     with session.transaction() as transaction:
        ...         sender.send(b"hello", transaction=transaction)
        ...         transaction.rollback()
        """
        self._discharge(fail=True)

    def __enter__(self) -> Transaction:
        if self._controls is not None:
            raise LocalProtocolError("a transaction is declared once; make another one")
        controls = self._session.controlled(self.timeout)
        if self._global_id is not None:
            controls.check_global()

        def roll_back(state: Any) -> None:
            """Roll back, because nobody waits for it any more."""
            if isinstance(state, Declared):
                txn_id: Any = state.txn_id
                controls.controller.discharge(txn_id, fail=True)

        what = "the declaration of the transaction"
        handle = controls.sender.ask(lambda: controls.controller.declare(self._global_id), self.timeout)
        state = controls.answer(handle, self.timeout, what, roll_back)
        if not isinstance(state, Declared):
            raise _failed("the coordinator refused to declare a transaction", state)
        self._txn_id = state.txn_id
        self._controls = controls
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._over:
            return
        if error is None:
            self.commit()
            return
        try:
            self.rollback()
        except EndpointClosed:
            return  # It is rolled back with the link to the coordinator.
        except (AmqpError, TimeoutError) as failure:
            error.add_note(f"the transaction could not be rolled back: {failure}")

    def __repr__(self) -> str:
        state = "over" if self._over else "not declared" if self._controls is None else "declared"
        return f"<Transaction {state}>"

    # Internals.

    def _discharge(self, *, fail: bool) -> None:
        txn_id, controls = self.txn_id, self._controls
        assert controls is not None
        handle = controls.sender.ask(lambda: controls.controller.discharge(txn_id, fail=fail), self.timeout)
        self._over = True
        state = controls.answer(handle, self.timeout, "the rollback" if fail else "the commit")
        if isinstance(state, Rejected):
            raise _failed("the coordinator refused to discharge the transaction", state)


def control_link(session: Session, timeout: float | None) -> Controls:
    """Attach a link to the coordinator, which may reject requests."""
    outcomes = (Accepted.SYMBOL, Rejected.SYMBOL, Declared.SYMBOL)
    target = Coordinator(capabilities=(LOCAL_TRANSACTIONS,))
    return Controls(session.open_sender(target, source=Source(outcomes=outcomes), timeout=timeout))


def _failed(text: str, state: DeliveryState | None) -> TransactionFailed:
    error = state.error if isinstance(state, Rejected) else None
    if error is not None:
        text = f"{text}: {error.condition} {error.description or ''}".rstrip()
    return TransactionFailed(text, error)


__all__ = ["Controls", "Transaction", "control_link"]
