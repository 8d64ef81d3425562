"""ZeroTenTransaction and Branch: atomic work on a session (0-10 classes 5 and 6)."""

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
    """A transaction of a session, returned by `session.transaction()`.

    As a context it begins on entering, and on leaving is committed, or rolled back if an exception leaves it.
    Everything published and accepted on the session belongs to it.
    """

    __slots__ = ("_begun", "_over", "_session", "timeout")

    def __init__(self, session: ZeroTenSession, timeout: float | None) -> None:
        self._session = session
        self._begun = self._over = False
        self.timeout = timeout

    def commit(self) -> None:
        """Make its work effective (tx.commit).

        Raises SessionEnded if the session has ended, TimeoutError if there was no answer within `timeout` seconds: then
        the result is unknown. A resumed session has the commit in `pending`.

        >>> def example(session: ZeroTenSession) -> None:
        ...     with session.transaction() as transaction:
        ...         session.publish(b"hello", routing_key="jobs")
        ...         transaction.commit()
        """
        self._end(TxCommit())

    def rollback(self) -> None:
        """Undo its work: messages published in it are dropped (tx.rollback).

        Deliveries accepted in it are unsettled again: they may be accepted or released.

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
            return  # It is rolled back with the session; a resumed one must still end it.
        except (AmqpError, TimeoutError) as failure:
            error.add_note(f"the transaction could not be rolled back: {failure}")

    def __repr__(self) -> str:
        state = "over" if self._over else "begun" if self._begun else "not begun"
        return f"<ZeroTenTransaction {state}>"

    # Internals.

    def _end(self, command: TxCommit | TxRollback) -> None:
        if self._over or not self._begun:
            state = "is over" if self._over else "hasn't begun; enter its context first"
            raise LocalProtocolError(f"the transaction {state}")
        self._over = True
        self._session.end_work(self)
        self._session.call(command, timeout=self.timeout)


class Branch:
    """A branch of a distributed transaction, returned by `session.branch(xid)`.

    As a context it is started on entering and ended on leaving, as failed if an exception leaves it: then it can only
    be rolled back. Everything published and accepted on the session in between belongs to it. `prepare`, `commit` and
    `rollback` may be called on any session that has used distributed transactions, without entering.
    """

    __slots__ = ("_begun", "_join", "_over", "_resume", "_session", "timeout", "xid")

    def __init__(self, session: ZeroTenSession, xid: Xid, join: bool, resume: bool, timeout: float | None) -> None:
        self._session = session
        self._join = join
        self._resume = resume
        self._begun = self._over = False
        self.xid = xid
        self.timeout = timeout

    def start(self) -> None:
        """Let the session work for the branch (dtx.start); entering the context does it.

        Raises TransactionFailed if the branch can only be rolled back.
        """
        if self._begun:
            raise LocalProtocolError("a branch is started once; make another one, to join or to resume")
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
        """End the session's work for the branch (dtx.end); leaving the context does it.

        With `fail` it can only be rolled back, with `suspend` this session continues it in the context of `branch(xid,
        resume=True)`.

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
        """Prepare the branch for a commit (dtx.prepare). False: it did nothing, and has ended.

        Raises TransactionFailed if it can only be rolled back.

        >>> def example(session: ZeroTenSession, xid: Xid) -> None:
        ...     with session.branch(xid) as branch:
        ...         session.publish(b"hello", routing_key="jobs")
        ...     if branch.prepare():
        ...         branch.commit()
        """
        return self._settle(DtxPrepare(self.xid), (_OK, _READ_ONLY)) == _OK

    def commit(self, *, one_phase: bool = False) -> None:
        """Make its work effective, with `one_phase` without `prepare` (dtx.commit).

        Raises TransactionFailed if it was rolled back, or decided otherwise; `error` is the result, an XaResult.

        >>> def example(session: ZeroTenSession, xid: Xid) -> None:
        ...     with session.branch(xid) as branch:
        ...         session.publish(b"hello", routing_key="jobs")
        ...     branch.commit(one_phase=True)
        """
        self._settle(DtxCommit(self.xid, one_phase), (_OK,))

    def rollback(self) -> None:
        """Undo its work (dtx.rollback). Raises TransactionFailed if it was decided otherwise.

        >>> def example(session: ZeroTenSession, xid: Xid) -> None:
        ...     with session.branch(xid) as branch:
        ...         session.publish(b"hello", routing_key="jobs")
        ...     branch.rollback()
        """
        self._settle(DtxRollback(self.xid), (_OK, *_ROLLED_BACK))

    def get_timeout(self) -> int:
        """Return the seconds until the server rolls it back, unless it is prepared; 0: never (dtx.get-timeout).

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
        """Let the server forget a branch that was decided without its transaction manager (dtx.forget).

        >>> def example(session: ZeroTenSession, xid: Xid) -> None:
        ...     session.branch(xid).forget()
        """
        self._session.call(DtxForget(self.xid), timeout=self.timeout)

    def __enter__(self) -> Branch:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._over:
            return
        if error is None:
            self.end()
            return
        try:
            self.end(fail=True)
        except EndpointClosed:
            return  # The end of the session leaves it only a rollback.
        except (AmqpError, TimeoutError) as failure:
            error.add_note(f"the branch could not be ended: {failure}")

    def __repr__(self) -> str:
        return f"<Branch {self.xid!r}>"

    # Internals.

    def _settle(self, command: Command[XaResult], good: tuple[int, ...]) -> int:
        result = self._session.call(command, timeout=self.timeout)
        status = result.status or _OK
        if status not in good:
            name = _STATUS[status] if status < len(_STATUS) else str(status)
            raise TransactionFailed(f"{command.NAME} of {self.xid!r}: {name}", result)
        return status


__all__ = ["Branch", "ZeroTenTransaction"]
