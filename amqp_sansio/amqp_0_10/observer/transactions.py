"""Which rules commands of 0-10's tx and dtx classes break, by what their sender did on the session (5 and 6)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from .observed_model import ObservedModel
    from .session_state import ObservedSide, Xid
    from .transfers import Judge, Sizes

_OK: Final = 0


# Standard transactions.


def _select(joint: ObservedModel, books: ObservedSide, command: Any, number: int, sizes: Sizes) -> None:
    if books.transacted:
        joint.blame("tx.select/exactly-once", "tx.select on a session that has it already")
    elif books.distributed:
        joint.blame("tx.select/no-dtx", "tx.select on a session with distributed transactions")
    for name, destination in (books.destinations or {}).items():
        if destination.live and not destination.explicit and not books.transacted:
            text = f"tx.select on a session where {name!r} is subscribed with accept-mode none"
            joint.blame("tx.select/explicit-accepts", text)
            break
    books.transacted = True


def _end(joint: ObservedModel, books: ObservedSide, command: Any, number: int, sizes: Sizes) -> None:
    if not books.transacted:
        joint.blame(f"{command.NAME}/select-required", f"{command.NAME} without tx.select")
        books.transacted = True
    if command.NAME == "tx.rollback" and books.peer is not None:
        books.peer.reopen(books.accepted)
    books.accepted = {}


# Distributed ones.


def _select_dtx(
    joint: ObservedModel, books: ObservedSide, command: Any, number: int, sizes: Sizes
) -> None:
    """At least once: doing so again means nothing."""
    books.distributed = True


def _need_select(joint: ObservedModel, books: ObservedSide, command: Any) -> None:
    if not books.distributed:
        joint.blame("dtx.select/required", f"{command.NAME} without dtx.select")
        books.distributed = True


def _start(joint: ObservedModel, books: ObservedSide, command: Any, number: int, sizes: Sizes) -> None:
    _need_select(joint, books, command)
    again = command.join or command.resume
    xid = _xid(command)
    if command.join and command.resume:
        joint.blame("dtx.start/join-and-resume", "dtx.start with join and resume")
    elif books.branch is not None and (again or books.branch != xid):
        text = "dtx.start on a session that is associated with a branch"
        joint.blame("dtx.start/illegal-state", text)
    elif books.branch is not None:
        text = "dtx.start of the branch that the session is associated with"
        joint.blame("dtx.start/already-known", text)
    elif books.branches and xid in books.branches and books.branches[xid] and not command.resume:
        text = "dtx.start without resume of a branch that was suspended"
        joint.blame("dtx.end/suspend", text)
    if xid is None:
        return
    books.branch = xid
    books.prepared.pop(xid, None)
    if books.branches is None:
        return
    books.branches[xid] = False
    books.starting[number] = xid
    if len(books.starting) > books.most:
        del books.starting[next(iter(books.starting))]
    if len(books.branches) > books.most:
        books.branches = None


def _stop(joint: ObservedModel, books: ObservedSide, command: Any, number: int, sizes: Sizes) -> None:
    """dtx.end."""
    _need_select(joint, books, command)
    xid = _xid(command)
    if command.suspend and command.fail:
        joint.blame("dtx.end/suspend-and-fail", "dtx.end with suspend and fail")
    if books.branches is not None and xid is not None:
        if xid not in books.branches:
            text = "dtx.end of a branch that the session isn't associated with"
            joint.blame("dtx.end/not-associated", text)
        elif command.suspend:
            books.branches[xid] = True
        else:
            del books.branches[xid]
    if books.branch == xid:
        books.branch = None


def _outcome(joint: ObservedModel, books: ObservedSide, command: Any, number: int, sizes: Sizes) -> None:
    """dtx.prepare, commit, rollback and forget."""
    xid = _xid(command)
    if xid is None:
        return
    if books.branch == xid:
        text = f"{command.NAME} of a branch that the session is still associated with"
        joint.blame(f"{command.NAME}/not-disassociated", text)
    if command.NAME == "dtx.prepare":
        books.prepared[xid] = None
        if len(books.prepared) > books.most:
            del books.prepared[next(iter(books.prepared))]
        return
    if command.NAME == "dtx.commit" and command.one_phase and xid in books.prepared:
        text = "dtx.commit with one-phase of a branch that was prepared"
        joint.blame("dtx.commit/two-phase", text)
    books.prepared.pop(xid, None)


def _result(joint: ObservedModel, books: ObservedSide, command: Any, number: int, sizes: Sizes) -> None:
    """A dtx.start that didn't go well may leave the session without a branch; to end it is right all the same."""
    peer = books.peer
    if peer is None or command.command_id is None:
        return
    xid = peer.starting.pop(command.command_id, None)
    status = getattr(command.value, "status", None)
    if xid is None or status == _OK:
        return
    if peer.branch == xid:
        peer.branch = None


def _xid(command: Any) -> Xid | None:
    xid = command.xid
    return None if xid is None else (xid.format, xid.global_id, xid.branch_id)


TRANSACTION_JUDGES: Final[dict[str, Judge]] = {
    "tx.select": _select,
    "tx.commit": _end,
    "tx.rollback": _end,
    "dtx.select": _select_dtx,
    "dtx.start": _start,
    "dtx.end": _stop,
    "dtx.prepare": _outcome,
    "dtx.commit": _outcome,
    "dtx.rollback": _outcome,
    "dtx.forget": _outcome,
    "execution.result": _result,
}
"""Who judges a command, by its name."""
