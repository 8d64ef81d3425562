"""Standard and distributed transactions (classes 5 and 6): the commands; `work` carries them out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...model.commands import Begin
from .sessions import Work

if TYPE_CHECKING:
    from ....amqp_0_10.codec.records import TxCommit, TxRollback, TxSelect
    from .sessions import Result, ServedSession, SessionFrontend


def tx_select(front: SessionFrontend, session: ServedSession, command: TxSelect, event: object) -> Result:
    """`tx.select`. Raises Fault LIMIT."""
    _begin(front, session)
    return None


def tx_commit(front: SessionFrontend, session: ServedSession, command: TxCommit, event: object) -> Result:
    """`tx.commit`: commit, and begin a new transaction. Raises Fault LIMIT."""
    work = session.work
    if work is not None:
        work.commit(front.hub)
    _begin(front, session)
    return None


def tx_rollback(front: SessionFrontend, session: ServedSession, command: TxRollback, event: object) -> Result:
    """`tx.rollback`: messages stay acquired; a new transaction begins. Raises Fault LIMIT."""
    work = session.work
    if work is not None:
        work.roll_back(front.hub)
        for _, entries in work.accepted.values():
            session.delivered.put_back(entries)
    _begin(front, session)
    return None


def dtx(front: SessionFrontend, session: ServedSession, command: Any, event: object) -> Result:
    """Execute the commands of class dtx. Raises ExecutionError."""
    book = front.register.book(session.owner.vhost.name)
    result = book.branches.execute(session.owner.number, command, front.hub.now)
    front.register.decide(book)
    return result


def _begin(front: SessionFrontend, session: ServedSession) -> None:
    session.work = Work(front.hub.apply(Begin(session.owner)))
