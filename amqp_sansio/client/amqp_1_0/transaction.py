"""Transactions of 1.0 and the link to the coordinator (1.0 part 4 sections 4.2 to 4.4)."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from ...amqp_1_0 import Accepted, Controller, Error, NoCredit, Rejected, Source
from ...amqp_1_0.codec.conditions import DISTRIBUTED_TRANSACTIONS, LOCAL_TRANSACTIONS
from ...amqp_1_0.codec.performatives import Coordinator, Declared, TransactionalState
from ...errors import EndpointClosed, LocalProtocolError, TransactionFailed
from .links import SenderState

if TYPE_CHECKING:
    from types import TracebackType

    from ...amqp_1_0 import DeliveryState
    from ...events import Pending
    from .links import SessionState

_OUTCOMES: Final = (Accepted.SYMBOL, Rejected.SYMBOL, Declared.SYMBOL)


class Transaction:
    """A transaction, returned by `session.transaction()`: pass it as `transaction` to `send`, `accept` and so on.

    As an async context it is declared on entering, committed at the end, and rolled back if an exception leaves it.
    Raises TransactionFailed if the coordinator refuses to declare or to commit, LinkEnded if the coordinator is gone.

    >>> async def example(session: Session, sender: Sender) -> None:
    ...     transaction = session.transaction()
    ...     await transaction.declare()
    ...     await sender.send(b"hello", transaction=transaction)
    ...     await transaction.commit()
    """

    def __init__(self, session: SessionState, global_id: bytes | None) -> None:
        # The routes of the user's session, whose coordinator it uses.
        self._session = session
        # That of a distributed transaction; None for a local one.
        self._global_id = global_id
        # The control link that it was declared on; None before.
        self._link: SenderState | None = None
        # The coordinator's name for it; None before it is declared.
        self._txn_id: bytes | None = None
        # Whether it was committed or rolled back, or failed.
        self._ended = False

    @property
    def txn_id(self) -> bytes:
        """The coordinator's id for it. Raises LocalProtocolError before it is declared."""
        if self._txn_id is None:
            raise LocalProtocolError("the transaction isn't declared yet: enter its context first")
        return self._txn_id

    @property
    def ended(self) -> bool:
        """Whether it was committed or rolled back, successfully or not."""
        return self._ended

    def state(self, outcome: DeliveryState | None = None) -> TransactionalState:
        """Return the delivery state that puts a message, or an outcome, into the transaction. Raises LocalProtocolError
        if the transaction has ended.
        """
        if self._ended:
            raise LocalProtocolError("the transaction has ended; begin another")
        self._check_survived()
        return TransactionalState(txn_id=self.txn_id, outcome=outcome)

    async def declare(self) -> None:
        """Begin it; entering the context does."""
        if self._txn_id is not None:
            raise LocalProtocolError("the transaction is declared already")
        await self._session.client.until_restored()
        link = await _coordinator(self._session)
        if self._global_id is not None:
            _check_global(link)
        # The coordinator takes part in every transaction, so it owes credit.
        await link.wait_credit(link.client.answer_limit)
        pending: Pending[Any] = Controller(link.core).declare(self._global_id)
        # A transaction declared for a caller that is gone is rolled back.
        state = await link.client.result(pending, lambda late: _undo(link, late), "declare of a transaction")
        if not isinstance(state, Declared) or not isinstance(state.txn_id, bytes):
            raise _failed("the coordinator declared no transaction", state)
        self._link = link
        self._txn_id = state.txn_id

    async def commit(self) -> None:
        """Make everything done in it effective. Raises TransactionFailed if the coordinator can't: then everything is
        undone.
        """
        await self._discharge(fail=False, seconds=self._session.client.answer_limit)

    async def rollback(self) -> None:
        """Undo everything done in it."""
        await self._discharge(fail=True, seconds=self._session.client.answer_limit)

    async def _discharge(self, fail: bool, seconds: float | None) -> None:
        if self._ended:
            raise LocalProtocolError("the transaction has ended already")
        txn_id, link = self.txn_id, self._link
        assert link is not None
        self._ended = True
        self._check_survived()
        await link.wait_credit(seconds)
        discharge = Controller(link.core).discharge(txn_id, fail=fail)
        state = await link.client.result(discharge, None, f"discharge of transaction {txn_id!r}", seconds)
        if isinstance(state, Rejected):
            text = "the transaction could not be committed" if not fail else "no rollback"
            raise _failed(text, state)

    def _check_survived(self) -> None:
        """Raise TransactionFailed if the connection was lost since, and opened again or is about to be."""
        link = self._link
        if link is not None and link.error is not None and link.client.recovery is not None:
            report = link.error.report
            text = "the connection was lost, and the coordinator has rolled the transaction back"
            raise TransactionFailed(f"{text}: {report}") from link.error

    async def __aenter__(self) -> Transaction:
        await self.declare()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._ended:
            return
        client, link = self._session.client, self._link
        assert link is not None  # Entering has declared it.
        if kind is None:
            await client.finish(link, "the transaction could not be committed", self.commit())
            return
        # Without its coordinator the transaction is rolled back too (1.0 part 4 section 4.3); the exception that leaves
        # the context says more.
        with suppress(EndpointClosed, TransactionFailed):
            undone = self._discharge(fail=True, seconds=client.end_limit)
            await client.finish(link, "the transaction could not be rolled back", undone, error)

    def __repr__(self) -> str:
        state = "ended" if self._ended else "new" if self._txn_id is None else "open"
        return f"<Transaction {self._txn_id!r}, {state}>"


async def _coordinator(session: SessionState) -> SenderState:
    """Return the session's link to the peer's coordinator, which the first of its transactions opens for all."""
    link = session.coordinator
    if link is None or link.error is not None or link.closing:
        # Without the outcome rejected the coordinator could refuse only by ending the link (1.0 part 4 section 4.2).
        core = session.core.open_sender(
            Coordinator(capabilities=(LOCAL_TRANSACTIONS,)), source=Source(outcomes=_OUTCOMES)
        )
        link = SenderState(session, core)
        session.coordinator = link
    opening = link.core.opening
    assert opening is not None
    await session.client.result(opening, what="attach of the link to the coordinator")
    return link


def _check_global(link: SenderState) -> None:
    """Raise unless the coordinator takes part in transactions that others coordinate (1.0 part 4 section 4.5.2)."""
    target = None if link.core.remote is None else link.core.remote.target
    offered = target.capabilities if isinstance(target, Coordinator) else ()
    if DISTRIBUTED_TRANSACTIONS not in offered:
        raise LocalProtocolError(
            "the coordinator doesn't offer amqp:distributed-transactions, so no global_id is possible",
            rule="1.0/transactions/declare/global-id",
        )


def _undo(link: SenderState, state: object) -> None:
    """Roll back a transaction whose caller is gone."""
    if isinstance(state, Declared) and isinstance(state.txn_id, bytes) and link.core.is_open:
        try:
            Controller(link.core).discharge(state.txn_id, fail=True)
        except NoCredit:
            link.core.close()  # That rolls back too (1.0 part 4 section 4.3).


def _failed(text: str, state: object) -> TransactionFailed:
    error = state.error if isinstance(state, Rejected) else None
    if not isinstance(error, Error):
        return TransactionFailed(f"{text}: {state!r}")
    return TransactionFailed(f"{text}: {error.condition} {error.description or ''}".rstrip(), error)


__all__ = ["Transaction"]
