"""Transactions of 1.0 and the link to the coordinator (1.0 part 4 sections 4.2 to 4.4)."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from amqp_sansio.amqp_1_0 import (
    Controller,
    Coordinator,
    Declared,
    Error,
    NoCredit,
    Rejected,
    TransactionalState,
)
from amqp_sansio.errors import EndpointClosed, LocalProtocolError, TransactionFailed

if TYPE_CHECKING:
    from amqp_sansio.amqp_1_0 import DeliveryState
    from amqp_sansio.events import Handle

    from .sender import Sender
    from .session import Session


class Coordination:
    """A session's link to the peer's transaction coordinator, opened on first use."""

    def __init__(self, session: Session) -> None:
        self._session: Final = session
        self._sender: Sender | None = None
        self._opening = asyncio.Lock()

    async def declare(self, global_id: bytes | None) -> tuple[Sender, bytes]:
        """Begin a transaction; return its link and id."""
        sender = await self._link()
        await sender.wait_credit()
        handle: Handle[Any] = Controller(sender.core).declare(global_id)
        # A transaction declared for a cancelled caller is rolled back.
        state = await self._session.driver.wait(handle, lambda late: _undo(sender, late))
        if not isinstance(state, Declared) or not isinstance(state.txn_id, bytes):
            raise _failed("the coordinator declared no transaction", state)
        return sender, state.txn_id

    async def discharge(self, sender: Sender, txn_id: bytes, fail: bool) -> None:
        """End a transaction; with `fail` by a rollback."""
        await sender.wait_credit()
        handle = Controller(sender.core).discharge(txn_id, fail=fail)
        state = await self._session.driver.wait(handle)
        if isinstance(state, Rejected):
            text = "the transaction could not be committed" if not fail else "no rollback"
            raise _failed(text, state)

    async def _link(self) -> Sender:
        async with self._opening:
            if self._sender is None or not self._sender.is_open:
                self._sender = await self._session.open_sender(Coordinator())
            return self._sender


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

    def __init__(self, coordination: Coordination, global_id: bytes | None) -> None:
        self._coordination = coordination
        self._global_id = global_id
        self._sender: Sender | None = None
        self._txn_id: bytes | None = None
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
        return TransactionalState(txn_id=self.txn_id, outcome=outcome)

    async def declare(self) -> None:
        """Begin it; entering the context does."""
        if self._txn_id is not None:
            raise LocalProtocolError("the transaction is declared already")
        self._sender, self._txn_id = await self._coordination.declare(self._global_id)

    async def commit(self) -> None:
        """Make everything done in it effective. Raises TransactionFailed if the coordinator can't: then everything is
        undone.
        """
        await self._discharge(fail=False)

    async def rollback(self) -> None:
        """Undo everything done in it."""
        await self._discharge(fail=True)

    async def _discharge(self, fail: bool) -> None:
        if self._ended:
            raise LocalProtocolError("the transaction has ended already")
        txn_id = self.txn_id
        assert self._sender is not None
        self._ended = True
        await self._coordination.discharge(self._sender, txn_id, fail)

    async def __aenter__(self) -> Transaction:
        await self.declare()
        return self

    async def __aexit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if self._ended:
            return
        if kind is None:
            await self.commit()
            return
        # Without its coordinator the transaction is rolled back too (1.0 part 4 section 4.3); the exception that leaves
        # the context says more.
        with suppress(EndpointClosed, TransactionFailed):
            await self.rollback()

    def __repr__(self) -> str:
        state = "ended" if self._ended else "new" if self._txn_id is None else "open"
        return f"<Transaction {self._txn_id!r}, {state}>"


def _undo(sender: Sender, state: object) -> None:
    """Roll back a transaction whose caller was cancelled."""
    if isinstance(state, Declared) and isinstance(state.txn_id, bytes) and sender.is_open:
        try:
            Controller(sender.core).discharge(state.txn_id, fail=True)
        except NoCredit:
            sender.core.close()  # That rolls back too (1.0 part 4 section 4.3).


def _failed(text: str, state: object) -> TransactionFailed:
    error = state.error if isinstance(state, Rejected) else None
    if not isinstance(error, Error):
        return TransactionFailed(f"{text}: {state!r}")
    return TransactionFailed(f"{text}: {error.condition} {error.description or ''}".rstrip(), error)


__all__ = ["Coordination", "Transaction"]
