"""Work: what a session does in a transaction; Book: the transaction branches of a virtual host (classes 5 and 6)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...model.commands import Begin, Commit, Outcome, Rollback, Settle

if TYPE_CHECKING:
    from ....amqp_0_10.codec.records import Xid
    from ....amqp_0_10.model.dtx import Branches
    from ...hub import Hub
    from ...model.entry import Entry
    from ...model.transaction import Transaction
    from .sessions import ServedSession


class Work:
    """A transaction with what sessions took in it, which they have again if it's rolled back.

    `accepted` are the sessions by the numbers of their owners, with the command ids of the transfers that they
    accepted; `files` the files acknowledged or rejected: their tags are used up, so that a rollback gives them back to
    their queues.
    """

    __slots__ = ("accepted", "files", "transaction")

    def __init__(self, transaction: Transaction) -> None:
        self.transaction = transaction
        self.accepted: dict[int, tuple[ServedSession, list[int]]] = {}
        self.files: list[Entry] = []

    def accept(self, session: ServedSession, number: int) -> None:
        """A transfer was accepted."""
        self.accepted.setdefault(session.owner.number, (session, []))[1].append(number)

    def commit(self, hub: Hub) -> None:
        """Do it."""
        hub.apply(Commit(self.transaction))

    def roll_back(self, hub: Hub) -> None:
        """Undo it."""
        hub.apply(Rollback(self.transaction))
        for entry in self.files:
            if entry.owner is not None:
                hub.apply(Settle(entry.owner, (entry,), Outcome.RELEASE, redelivered=True))


class Book:
    """The transaction branches of a virtual host, and the work that was done for each."""

    __slots__ = ("branches", "vhost", "works")

    def __init__(self, vhost: str, branches: Branches) -> None:
        self.vhost = vhost
        self.branches = branches
        self.works: dict[Xid, Work] = {}

    def work(self, hub: Hub, owner: int) -> Work | None:
        """The work that what a session does now belongs to; None: it isn't transactional."""
        xid = self.branches.current(owner)
        if xid is None:
            return None
        found = self.works.get(xid)
        if found is None:
            # It outlives the sessions that work for it.
            found = self.works[xid] = Work(hub.apply(Begin(None, self.vhost)))
        self.branches.mark_work(owner)
        return found

    def decide(self, hub: Hub) -> list[tuple[Xid, bool, list[ServedSession]]]:
        """Commit and roll back what has been decided; the branches, whether each was committed, and whose work it was.

        What a rolled-back branch consumed goes back to its queues (class 6, dtx.rollback).
        """
        found: list[tuple[Xid, bool, list[ServedSession]]] = []
        for xid, outcome in self.branches.take_outcomes():
            work = self.works.pop(xid, None)
            if work is None:
                continue
            committed = outcome == "committed"
            if committed:
                work.commit(hub)
            else:
                work.roll_back(hub)
            sessions: list[ServedSession] = []
            for session, ids in work.accepted.values():
                if session.is_over:
                    continue
                sessions.append(session)
                for number in ids:
                    entry = session.delivered.pop(number, None)
                    if entry is not None and not committed and entry.owner is session.owner:
                        hub.apply(Settle(session.owner, (entry,), Outcome.RELEASE, redelivered=True))
            found.append((xid, committed, sessions))
        return found
