"""ZeroTenTransaction and Branch: work on a session that happens as a whole or not at all (0-10 classes 5 and 6)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from amqp_sansio import AmqpError, EndpointClosed, LocalProtocolError
from amqp_sansio.amqp_0_10 import (
    Command,
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
    XaResult,
    Xid,
)
from amqp_sansio.errors import TransactionFailed

if TYPE_CHECKING:
    from types import TracebackType

    from .session import ZeroTenSession

_SELECTED: Final = "0-10/tx.select/exactly-once"

_OK: Final = 0
_ROLLED_BACK: Final = (1, 2)
_READ_ONLY: Final = 7
_STATUS: Final = (
    *("xa-ok", "xa-rbrollback", "xa-rbtimeout", "xa-heurhaz"),
    *("xa-heurcom", "xa-heurrb", "xa-heurmix", "xa-rdonly"),
)


class ZeroTenTransaction:
    """A transaction of a session, made by `session.transaction()`.

    As a context it begins on entering, and on leaving is committed, or rolled back when an exception leaves it. All
    that is published and accepted on the session belongs to it.
    """

    __slots__ = ("_begun", "_over", "_session", "timeout")

    def __init__(self, session: ZeroTenSession, timeout: float | None) -> None:
        self._session = session
        self._begun = self._over = False
        self.timeout = timeout

    def commit(self) -> None:
        """Make its work happen (tx.commit).

        Raises SessionEnded when the session has ended, TimeoutError when there was no answer within `timeout`
        seconds: then it isn't known whether it happened. A session that is resumed has the commit in `pending`.

        >>> def example(session: ZeroTenSession) -> None:
        ...     with session.transaction() as transaction:
        ...         session.publish(b"hello", routing_key="jobs")
        ...         transaction.commit()
        """
        self._end(TxCommit())

    def rollback(self) -> None:
        """Have nothing of its work happen: messages published in it are dropped (tx.rollback).

        Deliveries accepted in it are as before: they may be accepted again, or released.

        >>> def example(session: ZeroTenSession) -> None:
        ...     with session.transaction() as transaction:
        ...         session.publish(b"hello", routing_key="jobs")
        ...         transaction.rollback()
        """
        self._end(TxRollback())

    def begin(self) -> None:
        """Begin it (tx.select, the first time); entering the context does it."""
        if self._begun:
            raise LocalProtocolError("a transaction is begun once; make another one")
        self._session.begin_work(self)
        try:
            self._session.call(TxSelect(), timeout=self.timeout)
        except LocalProtocolError as error:
            if error.rule != _SELECTED:
                self._session.end_work(self)
                raise
        except BaseException:
            self._session.end_work(self)
            raise
        self._begun = True

    def __enter__(self) -> ZeroTenTransaction:
        self.begin()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._over:
            return
        if error is None:
            self.commit()
            return
        try:
            self.rollback()
        except EndpointClosed:
            return  # It is rolled back with the session; one that is resumed has it still to end.
        except (AmqpError, TimeoutError) as failure:
            error.add_note(f"the transaction could not be rolled back: {failure}")

    def __repr__(self) -> str:
        state = "over" if self._over else "begun" if self._begun else "not begun"
        return f"<ZeroTenTransaction {state}>"

    # Inside.

    def _end(self, command: TxCommit | TxRollback) -> None:
        if self._over or not self._begun:
            state = "is over" if self._over else "hasn't begun; enter its context first"
            raise LocalProtocolError(f"the transaction {state}")
        self._over = True
        self._session.end_work(self)
        self._session.call(command, timeout=self.timeout)


class Branch:
    """A branch of a distributed transaction, made by `session.branch(xid)`.

    As a context it's started on entering and ended on leaving, as failed when an exception leaves it: then it can only
    be rolled back. What is published and accepted on the session between belongs to it. `prepare`, `commit` and
    `rollback` may be called on any session that has used distributed transactions, without entering.
    """

    __slots__ = ("_begun", "_join", "_over", "_resume", "_session", "timeout", "xid")

    def __init__(
        self, session: ZeroTenSession, xid: Xid, join: bool, resume: bool, timeout: float | None
    ) -> None:
        self._session = session
        self._join = join
        self._resume = resume
        self._begun = self._over = False
        self.xid = xid
        self.timeout = timeout

    def start(self) -> None:
        """Have the session work for the branch (dtx.start); entering the context does it.

        Raises TransactionFailed when the branch can only be rolled back.
        """
        if self._begun:
            raise LocalProtocolError(
                "a branch is started once; make another one, to join or to resume"
            )
        self._session.begin_work(self)
        try:
            if not self._session.selected_dtx:
                self._session.call(DtxSelect(), timeout=self.timeout)
            self._settle(DtxStart(self.xid, self._join, self._resume), (_OK,))
        except BaseException:
            self._session.end_work(self)
            raise
        self._begun = True

    def end(self, *, fail: bool = False, suspend: bool = False) -> None:
        """Have the session work for it no longer (dtx.end); leaving the context does it.

        With `fail` it can only be rolled back, with `suspend` this session goes on with it in the context of
        `branch(xid, resume=True)`.

        >>> def example(session: ZeroTenSession, xid: Xid) -> None:
        ...     with session.branch(xid) as branch:
        ...         branch.end(suspend=True)
        ...     with session.branch(xid, resume=True):
        ...         session.publish(b"hello", routing_key="jobs")
        """
        if self._over or not self._begun:
            state = "is ended" if self._over else "isn't started; enter its context first"
            raise LocalProtocolError(f"the branch {state}")
        self._over = True
        self._session.end_work(self)
        good = (_OK, *_ROLLED_BACK) if fail else (_OK,)
        self._settle(DtxEnd(self.xid, fail, suspend), good)

    def prepare(self) -> bool:
        """Have the branch ready to be committed (dtx.prepare). False: there was nothing in it, and it's over.

        Raises TransactionFailed when it can only be rolled back.

        >>> def example(session: ZeroTenSession, xid: Xid) -> None:
        ...     with session.branch(xid) as branch:
        ...         session.publish(b"hello", routing_key="jobs")
        ...     if branch.prepare():
        ...         branch.commit()
        """
        return self._settle(DtxPrepare(self.xid), (_OK, _READ_ONLY)) == _OK

    def commit(self, *, one_phase: bool = False) -> None:
        """Make its work happen, with `one_phase` without `prepare` (dtx.commit).

        Raises TransactionFailed when it was rolled back, or decided on otherwise; `error` is the result, an XaResult.

        >>> def example(session: ZeroTenSession, xid: Xid) -> None:
        ...     with session.branch(xid) as branch:
        ...         session.publish(b"hello", routing_key="jobs")
        ...     branch.commit(one_phase=True)
        """
        self._settle(DtxCommit(self.xid, one_phase), (_OK,))

    def rollback(self) -> None:
        """Have nothing of its work happen (dtx.rollback). Raises TransactionFailed when it was decided on otherwise.

        >>> def example(session: ZeroTenSession, xid: Xid) -> None:
        ...     with session.branch(xid) as branch:
        ...         session.publish(b"hello", routing_key="jobs")
        ...     branch.rollback()
        """
        self._settle(DtxRollback(self.xid), (_OK, *_ROLLED_BACK))

    def get_timeout(self) -> int:
        """After how many seconds the server rolls it back, unless it's prepared; 0: never (dtx.get-timeout).

        >>> def example(session: ZeroTenSession, xid: Xid) -> int:
        ...     with session.branch(xid) as branch:
        ...         return branch.get_timeout()
        """
        return self._session.call(DtxGetTimeout(self.xid), timeout=self.timeout).timeout or 0

    def set_timeout(self, seconds: int) -> None:
        """Set that time (dtx.set-timeout).

        >>> def example(session: ZeroTenSession, xid: Xid) -> None:
        ...     with session.branch(xid) as branch:
        ...         branch.set_timeout(60)
        """
        self._session.call(DtxSetTimeout(self.xid, seconds), timeout=self.timeout)

    def forget(self) -> None:
        """Have the server forget a branch that was decided on without its transaction manager (dtx.forget).

        >>> def example(session: ZeroTenSession, xid: Xid) -> None:
        ...     session.branch(xid).forget()
        """
        self._session.call(DtxForget(self.xid), timeout=self.timeout)

    def __enter__(self) -> Branch:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._over:
            return
        if error is None:
            self.end()
            return
        try:
            self.end(fail=True)
        except EndpointClosed:
            return  # The end of the session makes it one that can only be rolled back.
        except (AmqpError, TimeoutError) as failure:
            error.add_note(f"the branch could not be ended: {failure}")

    def __repr__(self) -> str:
        return f"<Branch {self.xid!r}>"

    # Inside.

    def _settle(self, command: Command[XaResult], good: tuple[int, ...]) -> int:
        result = self._session.call(command, timeout=self.timeout)
        status = result.status or _OK
        if status not in good:
            name = _STATUS[status] if status < len(_STATUS) else str(status)
            raise TransactionFailed(f"{command.NAME} of {self.xid!r}: {name}", result)
        return status


__all__ = ["Branch", "ZeroTenTransaction"]
