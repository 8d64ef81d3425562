"""Transactions of 0-10: those of one session, and branches of distributed ones (classes tx and dtx)."""

from __future__ import annotations

from contextlib import suppress
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Protocol

from ...amqp_0_10.codec.choices import (
    XA_HEURCOM,
    XA_HEURHAZ,
    XA_HEURMIX,
    XA_HEURRB,
    XA_OK,
    XA_RBROLLBACK,
    XA_RBTIMEOUT,
    XA_RDONLY,
)
from ...amqp_0_10.codec.records import (
    DtxCommit,
    DtxEnd,
    DtxForget,
    DtxGetTimeout,
    DtxPrepare,
    DtxRollback,
    DtxSelect,
    DtxSetTimeout,
    DtxStart,
    TxCommit,
    TxRollback,
    TxSelect,
)
from ...errors import EndpointClosed, LocalProtocolError, TransactionFailed

if TYPE_CHECKING:
    from ...amqp_0_10.codec.records import XaResult, Xid
    from .routes import SessionRoutes

_STATUSES: Final = {
    XA_RBROLLBACK: "xa-rbrollback",
    XA_RBTIMEOUT: "xa-rbtimeout",
    XA_HEURHAZ: "xa-heurhaz",
    XA_HEURCOM: "xa-heurcom",
    XA_HEURRB: "xa-heurrb",
    XA_HEURMIX: "xa-heurmix",
    XA_RDONLY: "xa-rdonly",
}
"""The names of results other than success (dtx.xa-status)."""


class Calling(Protocol):
    """The session of a transaction: it sends its commands."""

    async def call(self, command: Any) -> Any: ...


class Transaction:
    """A transaction of one session, returned by `session.transaction()`.

    As an async context it commits at the end, and rolls back if an exception leaves it. After a rollback the messages
    it accepted are unsettled again (tx.rollback). Raises LocalProtocolError while another one of the session is open,
    SessionEnded if the session ends: then everything uncommitted is rolled back. On a connection that recovers, it
    raises TransactionFailed if the connection was lost since it began.
    """

    __slots__ = ("_begun", "_ended", "_session", "_state")

    def __init__(self, session: Calling, state: SessionRoutes) -> None:
        # The user's session, which sends its commands.
        self._session = session
        # The routes, which know whether another one is open.
        self._state = state
        # Whether it was entered.
        self._begun = False
        # Whether it was committed or rolled back.
        self._ended = False

    @property
    def ended(self) -> bool:
        """Whether it was committed or rolled back, successfully or not."""
        return self._ended

    async def begin(self) -> None:
        """Begin it; entering the context does."""
        state = self._state
        if self._begun:
            raise LocalProtocolError("the transaction has begun already")
        await state.client.until_restored()
        if state.transaction_open:
            raise LocalProtocolError("the session has a transaction that is open; end it first")
        state.transaction_open = True
        self._begun = True
        try:
            await state.select(TxSelect())
        except BaseException:
            self._end()
            raise

    async def commit(self) -> None:
        """Make everything done in it effective (tx.commit)."""
        self._end()
        if self._is_lost():
            raise TransactionFailed("the connection was lost, and the transaction with it: it is rolled back")
        await self._session.call(TxCommit())

    async def rollback(self) -> None:
        """Undo everything done in it (tx.rollback)."""
        self._end()
        if self._is_lost():
            return
        await self._session.call(TxRollback())

    def _is_lost(self) -> bool:
        """Whether it was lost with its connection; the next one may begin."""
        state = self._state
        broken, state.broken = state.broken, False
        return broken

    def _end(self) -> None:
        if not self._begun or self._ended:
            raise LocalProtocolError("the transaction has ended" if self._ended else "the transaction hasn't begun yet")
        self._ended = True
        self._state.transaction_open = False

    async def __aenter__(self) -> Transaction:
        await self.begin()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._ended:
            return
        state = self._state
        client = state.client
        if kind is None:
            await client.finish(state, "the transaction could not be committed", self.commit())
            return
        self._end()
        if self._is_lost():
            return
        # Without its session the transaction is rolled back too; the exception that leaves the context says more.
        with suppress(EndpointClosed):
            await client.until_restored()
            answer = state.result(state.send(TxRollback()), None, "tx.rollback", client.end_limit)
            await client.finish(state, "the transaction could not be rolled back", answer, error)

    def __repr__(self) -> str:
        state = "ended" if self._ended else "open" if self._begun else "new"
        return f"<Transaction of {self._session!r}, {state}>"


class Branch:
    """A branch of a distributed transaction, returned by `session.branch(xid)`.

    As an async context the session works for it from `start` to `end`, which fails it if an exception leaves the
    context. Afterwards `prepare`, `commit` and `rollback` settle it, also on a `branch` of the same xid of another
    session. Raises TransactionFailed, whose `error` is the XaResult, if the server has rolled it back, or decided on it
    itself; SessionEnded for an illegal command, such as with an unknown xid.
    """

    __slots__ = ("_join", "_resume", "_started", "_state", "session", "xid")
    xid: Xid
    """The name of the distributed transaction's branch."""

    def __init__(
        self, session: Calling, state: SessionRoutes, xid: Xid, *, join: bool = False, resume: bool = False
    ) -> None:
        # The user's session, which works for it.
        self.session = session
        self.xid = xid
        # The routes, which count started branches.
        self._state = state
        # Whether `start` joins what another session has started (dtx.start).
        self._join = join
        # Whether it takes a suspended one up again.
        self._resume = resume
        # Whether the session works for it now.
        self._started = False

    async def start(self) -> None:
        """Let the session work for the branch (dtx.start): a new one, with `join` one that another session has started,
        with `resume` one that this session has suspended.
        """
        state = self._state
        await state.client.until_restored()
        await state.select(DtxSelect())
        starting = state.send(DtxStart(self.xid, join=self._join, resume=self._resume))
        result = await state.result(starting, self._undo, "dtx.start")
        self._check("start", result)
        self._started = True
        state.branches += 1

    async def end(self, *, fail: bool = False, suspend: bool = False) -> None:
        """End the session's work for the branch (dtx.end): with `fail` it can only be rolled back, with `suspend` the
        same session will resume it.
        """
        await self._end(fail, suspend, None)

    async def _end(self, fail: bool, suspend: bool, seconds: float | None) -> None:
        state = self._state
        if self._started:
            state.branches -= 1
        self._started = False
        if state.broken:
            state.broken = state.branches > 0
            raise TransactionFailed(f"the connection was lost during {self.xid}, and its branch is failed")
        await state.client.until_restored()
        ending = state.send(DtxEnd(self.xid, fail=fail, suspend=suspend))
        result = await state.result(ending, None, "dtx.end", seconds)
        if not (fail and result.status in (XA_RBROLLBACK, XA_RBTIMEOUT)):
            self._check("end", result)

    async def prepare(self) -> bool:
        """Make sure that it can be committed (dtx.prepare); False if it did nothing, and needs no commit."""
        result = await self.session.call(DtxPrepare(self.xid))
        if result.status == XA_RDONLY:
            return False
        self._check("prepare", result)
        return True

    async def commit(self, *, one_phase: bool = False) -> None:
        """Make its work effective (dtx.commit); with `one_phase` without `prepare` before."""
        self._check("commit", await self.session.call(DtxCommit(self.xid, one_phase)))

    async def rollback(self) -> None:
        """Undo its work (dtx.rollback)."""
        result = await self.session.call(DtxRollback(self.xid))
        if result.status not in (XA_RBROLLBACK, XA_RBTIMEOUT):
            self._check("rollback", result)

    async def forget(self) -> None:
        """Let the server forget a branch that it decided on its own (dtx.forget)."""
        await self.session.call(DtxForget(self.xid))

    async def get_timeout(self) -> int:
        """Return the seconds until the server rolls it back, unless it is prepared (dtx.get-timeout)."""
        return (await self.session.call(DtxGetTimeout(self.xid))).timeout or 0

    async def set_timeout(self, seconds: int) -> None:
        """Set that time (dtx.set-timeout)."""
        await self.session.call(DtxSetTimeout(self.xid, seconds))

    def _check(self, what: str, result: XaResult) -> None:
        status = result.status or XA_OK
        if status != XA_OK:
            name = _STATUSES.get(status, str(status))
            raise TransactionFailed(f"dtx.{what} of {self.xid}: {name}", result)

    def _undo(self, result: XaResult) -> None:
        """Fail a branch that was started for a caller that is gone."""
        if result.status == XA_OK:
            with suppress(EndpointClosed):  # Without its session the branch is failed too.
                self._state.send(DtxEnd(self.xid, fail=True))

    async def __aenter__(self) -> Branch:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if not self._started:
            return
        client = self._state.client
        if kind is None:
            await client.finish(self._state, "the branch could not be ended", self.end())
            return
        # Without its session the branch is failed too; the exception that leaves the context says more.
        with suppress(EndpointClosed, TransactionFailed):
            ending = self._end(True, False, client.end_limit)
            await client.finish(self._state, "the branch could not be ended", ending, error)

    def __repr__(self) -> str:
        return f"<Branch {self.xid}, {'started' if self._started else 'not started'}>"


__all__ = ["Branch", "Transaction"]
