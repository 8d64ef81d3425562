"""What units mean to the transactions of a session of 0-10: standard ones (class 5) and branches of distributed ones.

A branch (class 6) may have parts in several sessions of the connection; it ends where its dtx.commit or dtx.rollback
has a result, on whichever of them that is.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from ...endpoint import Side
from .history_state import NONE, SessionHistory, Transaction, Xid

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..._core.observation import Observed
    from ..._core.outcomes import MessageRecord
    ZeroTenHistory = Any

    Messages = Sequence[MessageRecord]

_OK: Final = 0
_HEURISTIC_COMMIT: Final = 4
_READ_ONLY: Final = 7
_ROLLED_BACK: Final = (1, 2, 5)
"""xa-rbrollback, xa-rbtimeout and xa-heurrb."""


def end_transaction(
    books: SessionHistory, transaction: Transaction, committed: bool, event: Observed
) -> list[MessageRecord]:
    """A standard transaction is over; after a rollback its deliveries are open again (class 5, tx.rollback)."""
    done = list(transaction.published.values())
    for message in done:
        message.settle("accepted" if committed else "released", event)
    if committed:
        for message in (*transaction.accepted.values(), *transaction.acked.values()):
            message.settle("accepted", event)
            done.append(message)
    else:
        books.reopen(transaction)
    return done


def xid_of(xid: Any) -> Xid | None:
    """A branch's id as a key; None without one."""
    return None if xid is None else (xid.format, xid.global_id, xid.branch_id)


def bound_branches(history: ZeroTenHistory, more: int) -> list[MessageRecord]:
    """`more` messages have come into branches, which hold no more together than one session may; those that go."""
    history.branched += more
    most = history.limits.unconfirmed
    if history.branched <= most:
        return []
    # What has left its branch since isn't counted down.
    parts = [
        books.parts[xid]
        for xid, sessions in history.branches.items()
        for books in sessions
        if xid in books.parts
    ]
    history.branched = sum([len(part) for part in parts])
    done: list[MessageRecord] = []
    while history.branched - len(done) > most:
        done += drop_branch(history, next(iter(history.branches)))
    history.branched -= len(done)
    return done


def drop_branch(history: ZeroTenHistory, xid: Xid) -> list[MessageRecord]:
    """Nobody will say how a branch ends; its messages."""
    done: list[MessageRecord] = []
    for books in history.branches.pop(xid, ()):
        part = books.parts.get(xid)
        if part is None:
            continue
        done += part.open_messages()
        if books.branch == xid:
            # Its work goes on, and the oldest of it is forgotten.
            books.parts[xid] = Transaction()
            history.branches.setdefault(xid, []).append(books)
        else:
            del books.parts[xid]
    return done


def _select(history: ZeroTenHistory, event: Observed, command: Any) -> Messages:
    history.session(event.channel).transacted = True
    return NONE


def _tx_end(history: ZeroTenHistory, event: Observed, command: Any) -> Messages:
    """Commit or rollback is asked for; what follows belongs to the next transaction."""
    books: SessionHistory = history.session(event.channel)
    books.transacted = True
    number: int | None = getattr(event, "command_id", None)
    if number is None:
        return books.end_transactions()
    books.ending[number] = (event.event == "tx.commit", books.transaction)
    books.transaction = Transaction()
    if len(books.ending) > history.limits.calls:
        _, oldest = books.ending.pop(next(iter(books.ending)))
        return oldest.open_messages()
    return NONE


def _select_dtx(history: ZeroTenHistory, event: Observed, command: Any) -> Messages:
    history.session(event.channel).distributed = True
    return NONE


def _start(history: ZeroTenHistory, event: Observed, command: Any) -> Messages:
    """From now on the session works for a branch."""
    xid = xid_of(command.xid)
    books = history.session(event.channel)
    if event.sender is not Side.CLIENT or xid is None:
        return NONE
    books.unsure = False
    books.distributed = True
    books.branch = xid
    if xid in books.parts:
        return NONE
    books.parts[xid] = Transaction()
    history.branches.setdefault(xid, []).append(books)
    if len(history.branches) > history.limits.calls:
        return drop_branch(history, next(iter(history.branches)))
    return NONE


def _stop(history: ZeroTenHistory, event: Observed, command: Any) -> Messages:
    """dtx.end: what follows belongs to no branch."""
    books = history.session(event.channel)
    if event.sender is Side.CLIENT:
        books.unsure = False
        books.branch = None
    return NONE


def _outcome(history: ZeroTenHistory, event: Observed, command: Any) -> Messages:
    """The end of a branch is asked for; the result says whether it's so."""
    xid = xid_of(command.xid)
    if event.sender is Side.CLIENT and xid in history.branches:
        history.resolving[event.seq] = (event.event, xid)
        if len(history.resolving) > history.limits.calls:
            del history.resolving[next(iter(history.resolving))]
    return NONE


def _result(history: ZeroTenHistory, event: Observed, command: Any) -> Messages:
    asked = history.resolving.pop(event.answers, None) if event.answers is not None else None
    status = getattr(command.value, "status", None)
    if asked is None or status is None:
        return NONE
    name, xid = asked
    if name == "dtx.prepare" and status == _OK:
        return NONE
    if status in _ROLLED_BACK:
        return _end_branch(history, xid, "released", event)
    if status == _OK:
        outcome = "released" if name == "dtx.rollback" else "accepted"
        return _end_branch(history, xid, outcome, event)
    if status in (_HEURISTIC_COMMIT, _READ_ONLY):
        return _end_branch(history, xid, "accepted", event)
    return _end_branch(history, xid, None, event)


def _end_branch(
    history: ZeroTenHistory, xid: Xid, outcome: str | None, event: Observed
) -> list[MessageRecord]:
    """A branch is over: rolled back, what it consumed goes to its queues again (class 6, dtx.rollback)."""
    done: list[MessageRecord] = []
    for books in history.branches.pop(xid, ()):
        part = books.parts.pop(xid, None)
        if part is not None:
            done += part.open_messages()
    done.sort(key=lambda message: message.seq)
    if outcome is not None:
        for message in done:
            message.settle(outcome, event)
    return done


def _forget(history: ZeroTenHistory, event: Observed, command: Any) -> Messages:
    xid = xid_of(command.xid)
    if event.sender is Side.CLIENT and xid is not None:
        return _end_branch(history, xid, None, event)
    return NONE


TRANSACTION_HANDLERS: Final[dict[str, Callable[[ZeroTenHistory, Observed, Any], Messages]]] = {
    "tx.select": _select,
    "tx.commit": _tx_end,
    "tx.rollback": _tx_end,
    "dtx.select": _select_dtx,
    "dtx.start": _start,
    "dtx.end": _stop,
    "dtx.prepare": _outcome,
    "dtx.commit": _outcome,
    "dtx.rollback": _outcome,
    "dtx.forget": _forget,
    "execution.result": _result,
}
"""What a unit means to transactions, by its name."""
