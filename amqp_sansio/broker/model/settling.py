"""Settling: the outcomes of acquired messages, the ends of transactions and of owners.

What concerns many messages is a `Chore`, which goes on in later turns. A chore holds the queues that it works on, so
that everybody sees them as they were before it or as they are after it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Final

from .chores import Chore
from .commands import Outcome, Settle
from .content import Message
from .delivery import Holding
from .faults import Fault, FaultKind
from .outcomes import Outcomes
from .owner import Owner
from .states import EntryInput, State, TransactionInput

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from . import commands
    from .chores import Chores
    from .commands import CloseOwner, Commit
    from .consumer import Consumer
    from .delivery import Delivery
    from .entry import Entry
    from .ledger import Ledger
    from .owner import Transaction
    from .publishing import Publishing
    from .queue import Queue
    from .transactions import Transactions

_ACQUIRED: Final = State.ACQUIRED
_OWNER_STEPS: Final = 2
"""Steps of a turn for an owner that ends, beside what it has."""


class Purging(Chore):
    """The available messages that a queue had when it was purged, but not those that come back meanwhile.

    What comes back waits in `Queue.returning`.
    """

    __slots__ = ("_before", "_delivery", "_holding", "_outcomes", "_owner", "_queue")

    def __init__(self, outcomes: Outcomes, delivery: Delivery, queue: Queue, owner: Owner) -> None:
        self._outcomes = outcomes
        """Gives back what came back meanwhile."""
        self._delivery = delivery
        """Deletes the queue if its end waited for its last message."""
        self._queue = queue
        """The one that is emptied."""
        self._owner = owner
        """Who purged it, for the history."""
        self._before = queue.next_position
        """The position that the next message had then: what came later stays."""
        self._holding = Holding(delivery, (queue,))
        """It delivers nothing meanwhile."""
        queue.returning = []

    def go_on(self, ledger: Ledger) -> bool:
        queue = self._queue
        while not queue.is_deleted and (entry := queue.first_before(self._before)) is not None:
            if ledger.room <= 0 and ledger.is_spent:
                return False
            ledger.room -= 1
            queue.archive(entry, EntryInput.DROP)
            ledger.drop(entry.message)
            ledger.note("purged", queue, entry.message, self._owner)
        returning, queue.returning = queue.returning, None
        self._holding.end()
        for come_back, redelivered, failed in returning or ():
            self._outcomes.give_back(come_back, redelivered=redelivered, failed=failed)
        self._outcomes.keep_lengths((queue,))
        self._delivery.leave_if_empty(queue)
        return True


class Deciding(Chore):
    """The outcome of many messages."""

    __slots__ = ("_at", "_back", "_command", "_holding", "_outcomes")

    def __init__(self, outcomes: Outcomes, delivery: Delivery, command: Settle) -> None:
        self._outcomes = outcomes
        """Settles one message."""
        self._command = command
        """The settlement, with its entries and what becomes of them."""
        self._at = 0
        """The place of the next entry."""
        self._back: dict[Queue, None] = {}
        """Queues that messages have returned to, whose lengths are kept at the end."""
        comes_back = command.outcome is not Outcome.ACCEPT
        self._holding = Holding(delivery, {each.queue: None for each in command.entries} if comes_back else {})
        """The queues that messages return to deliver nothing meanwhile, so that their order is right."""

    def go_on(self, ledger: Ledger) -> bool:
        command = self._command
        entries, owner = command.entries, command.owner
        while self._at < len(entries):
            if ledger.room <= 0 and ledger.is_spent:
                return False
            ledger.room -= 1
            entry = entries[self._at]
            self._at += 1
            if entry.state is State.ACQUIRED and entry.owner is owner and entry.transaction is None:
                self._outcomes.decide(entry, command, self._back)
        self._outcomes.keep_lengths(self._back)
        self._holding.end()
        return True


class Committing(Chore):
    """The work of a transaction that was committed. `returned` are the messages that go back to their publishers."""

    __slots__ = ("_at", "_command", "_deciding", "_delivery", "_outcomes", "returned")

    def __init__(self, outcomes: Outcomes, delivery: Delivery, command: Commit) -> None:
        self._outcomes = outcomes
        """Performs one command."""
        self._delivery = delivery
        """For the settlements among them."""
        self._command = command
        """Names the transaction, whose work is done in order."""
        self._at = 0
        """The place of the next command."""
        self._deciding: Deciding | None = None
        """The settlement under way; None between two."""
        self.returned: list[Message] = []
        """Publishes that no queue took, for the answer."""

    def go_on(self, ledger: Ledger) -> bool:
        work = self._command.transaction.work
        while self._at < len(work):
            if self._deciding is not None:
                if not self._deciding.go_on(ledger):
                    return False
                self._deciding = None
                self._at += 1
                continue
            if ledger.room <= 0 and ledger.is_spent:
                return False
            ledger.room -= 1
            settle = self._outcomes.perform(work[self._at], self.returned)
            if settle is None:
                self._at += 1
            else:
                self._deciding = Deciding(self._outcomes, self._delivery, settle)
        work.clear()
        return True


class RollingBack(Chore):
    """Messages that were settled in a transaction that was rolled back, and that no owner has any more, return."""

    __slots__ = ("_at", "_back", "_entries", "_holding", "_outcomes")

    def __init__(self, outcomes: Outcomes, delivery: Delivery, entries: list[Entry]) -> None:
        self._outcomes = outcomes
        """Undoes one settlement."""
        self._entries = entries
        """Messages that no owner has any more."""
        self._at = 0
        """The place of the next one."""
        self._back: dict[Queue, None] = {}
        """Queues that messages have returned to."""
        self._holding = Holding(delivery, {entry.queue: None for entry in entries})
        """These deliver nothing meanwhile."""

    def go_on(self, ledger: Ledger) -> bool:
        while self._at < len(self._entries):
            if ledger.room <= 0 and ledger.is_spent:
                return False
            ledger.room -= 1
            self._outcomes.undo(self._entries[self._at], self._back)
            self._at += 1
        self._outcomes.keep_lengths(self._back)
        self._holding.end()
        return True


class Settling:
    """Carries out settlements, commits and rollbacks; opens and closes owners."""

    __slots__ = ("_chores", "_delivery", "_ledger", "_transactions", "outcomes")

    def __init__(
        self, ledger: Ledger, delivery: Delivery, transactions: Transactions, publishing: Publishing, chores: Chores
    ) -> None:
        self._ledger = ledger
        """Owners, and the room of this turn."""
        self._chores = chores
        """Takes what doesn't fit into a turn."""
        self._delivery = delivery
        """Queues and consumers, which go with their owners."""
        self._transactions = transactions
        """Keeps settlements until the commit."""
        self.outcomes = Outcomes(ledger, delivery, publishing)
        """What becomes of single messages."""

    def settle(self, command: commands.Settle) -> None:
        """Carry out `Settle`."""
        owner = command.owner
        for entry in command.entries:
            if entry.owner is not owner or entry.state is not _ACQUIRED or entry.transaction is not None:
                text = f"message {entry.position} of queue {entry.queue.name!r} isn't with owner {owner.number}"
                raise Fault(FaultKind.ILLEGAL_STATE, text)
        if command.transaction is not None:
            self._transactions.add_settle(command.transaction, command)
        elif len(command.entries) > self._ledger.room and self._ledger.in_turn:
            self._chores.begin(Deciding(self.outcomes, self._delivery, command))
        else:
            self._ledger.room -= len(command.entries)
            self.outcomes.carry_out(command)

    def purge(self, command: commands.PurgeQueue) -> int:
        """Carry out `PurgeQueue`."""
        queue = command.owner.find_queue(command.name)
        self._delivery.catch_up(queue)
        count = queue.ready
        if count:
            self._chores.begin(Purging(self.outcomes, self._delivery, queue, command.owner))
        return count

    def commit(self, command: commands.Commit) -> Sequence[Message]:
        """Carry out `Commit`."""
        self._transactions.end(command.transaction, TransactionInput.COMMIT)
        chore = Committing(self.outcomes, self._delivery, command)
        self._chores.begin(chore)
        return chore.returned

    def rollback(self, command: commands.Rollback) -> None:
        """Carry out `Rollback`."""
        self.end(command.transaction)

    def end(self, transaction: Transaction) -> None:
        """Roll back. Messages settled by an owner that has ended meanwhile return to their queues."""
        self._chores.begin(self.rolling_back(transaction))

    def rolling_back(self, transaction: Transaction) -> RollingBack:
        """End a transaction; return the chore that rolls it back."""
        self._transactions.end(transaction, TransactionInput.ROLLBACK)
        entries = [entry for each in transaction.work if isinstance(each, Settle) for entry in each.entries]
        for entry in entries:
            entry.transaction = None
        return RollingBack(self.outcomes, self._delivery, [entry for entry in entries if entry.owner is None])

    def open_owner(self, command: commands.OpenOwner) -> Owner:
        """Carry out `OpenOwner`."""
        parent = command.parent
        if parent is not None:
            vhost, user = parent.vhost, command.user or parent.user
        else:
            found = self._ledger.vhosts.get(command.vhost)
            if found is None:
                raise Fault(FaultKind.NOT_FOUND, f"no vhost {command.vhost!r}", "vhost")
            vhost, user = found, command.user
        owner = Owner(self._ledger.new_number(), vhost, parent, user)
        if parent is not None:
            parent.children[owner.number] = owner
        self._ledger.owners[owner.number] = owner
        return owner

    def close_owner(self, command: commands.CloseOwner) -> None:
        """Carry out `CloseOwner`."""
        owner = command.owner
        if owner.is_closed:
            return
        owners: list[Owner] = []
        found = [owner]
        while found:
            each = found.pop()
            owners.append(each)
            each.is_closed = True
            # Those already closed are the concern of an earlier command.
            found += [child for child in each.children.values() if not child.is_closed]
        self._chores.begin(Closing(self, self._delivery, command, owners))

    def forget_owner(self, owner: Owner) -> None:
        """Remove an owner that has ended."""
        if owner.parent is not None:
            owner.parent.children.pop(owner.number, None)
        self._ledger.owners.pop(owner.number, None)


class Closing(Chore):
    """The end of an owner and of those below it, each after its own: consumers, transactions, messages, queues."""

    __slots__ = (
        "_back",
        "_command",
        "_delivery",
        "_holding",
        "_late",
        "_left",
        "_owners",
        "_part",
        "_rolling_back",
        "_settling",
        "_todo",
    )

    def __init__(self, settling: Settling, delivery: Delivery, command: CloseOwner, owners: list[Owner]) -> None:
        """`owners` are in the reverse order of their ends."""
        self._settling = settling
        """Forgets an owner when nothing of it is left."""
        self._delivery = delivery
        """Ends consumers and queues."""
        self._command = command
        """Says how messages return: as redelivered, as failed."""
        queues = {entry.queue: None for owner in owners for entry in owner.held}
        queues.update({each.queue: None for owner in owners for each in owner.consumers.values()})
        self._holding = Holding(delivery, queues)
        """The queues concerned deliver nothing until all have ended."""
        self._owners = owners
        """Those that are left; the last one ends next."""
        self._part = 0
        """The place in `_PARTS` of what is being ended of that owner."""
        self._todo: list[Any] | None = None
        """What is left of that part, the first one last; None: it hasn't begun."""
        self._rolling_back: RollingBack | None = None
        """The transaction under way; None between two."""
        self._left: dict[Queue, None] = {}
        """Queues that have lost a consumer, and may be unused now."""
        self._late: dict[Queue, None] = {}
        """Queues to which messages returned whose time was over."""
        self._back: dict[Queue, None] = {}
        """Queues that messages have returned to, whose lengths are kept."""

    def go_on(self, ledger: Ledger) -> bool:
        while self._owners:
            if not self._close(self._owners[-1], ledger):
                return False
            self._settling.forget_owner(self._owners.pop())
        self._holding.end()
        return True

    def _close(self, owner: Owner, ledger: Ledger) -> bool:
        if self._rolling_back is not None:
            if not self._rolling_back.go_on(ledger):
                return False
            self._rolling_back = None
        while self._part < len(_PARTS):
            if self._part == 0 and self._todo is None:
                if ledger.room <= 0 and ledger.is_spent:
                    return False
                ledger.room -= _OWNER_STEPS
            of, do = _PARTS[self._part]
            if self._todo is None:
                self._todo = of(self, owner)
                self._todo.reverse()
            while self._todo:
                if ledger.room <= 0 and ledger.is_spent:
                    return False
                ledger.room -= 1
                do(self, owner, self._todo.pop())
                if self._rolling_back is not None and not self._rolling_back.go_on(ledger):
                    return False
                self._rolling_back = None
            self._todo = None
            self._part += 1
        self._part = 0
        return True

    # The parts, in order: what there is of it, and what is done with each.

    def _consumers(self, owner: Owner) -> list[Consumer]:
        self._left.clear()
        self._late.clear()
        self._back.clear()
        return [*owner.consumers.values()]

    def _end_consumer(self, owner: Owner, consumer: Consumer) -> None:
        self._left[consumer.queue] = None
        self._delivery.remove_consumer(consumer)

    def _transactions(self, owner: Owner) -> list[Transaction]:
        return [*owner.transactions.values()]

    def _roll_back(self, owner: Owner, transaction: Transaction) -> None:
        self._rolling_back = self._settling.rolling_back(transaction)

    def _messages(self, owner: Owner) -> list[Entry]:
        # The oldest returns last, to the head of its queue; if the queue is gone, the oldest leaves first.
        orphans = sorted([each for each in owner.held if each.queue.is_deleted], key=lambda each: each.position)
        held = [*orphans, *[each for each in reversed(owner.held) if not each.queue.is_deleted]]
        owner.held.clear()
        return held

    def _return(self, owner: Owner, entry: Entry) -> None:
        self._settling.outcomes.give_up(entry, self._command, self._back, self._late)

    def _late_queues(self, owner: Owner) -> list[Queue]:
        return [*self._late]

    def _expire(self, owner: Owner, queue: Queue) -> None:
        self._delivery.expire(queue)
        if not queue.is_deleted:
            # Expired messages may have hidden later deadlines.
            self._delivery.watch(queue)

    def _full_queues(self, owner: Owner) -> list[Queue]:
        return [*self._back]

    def _shorten(self, owner: Owner, queue: Queue) -> None:
        self._settling.outcomes.keep_lengths((queue,))

    def _links(self, owner: Owner) -> list[str]:
        return [*owner.links]

    def _unlink(self, owner: Owner, name: str) -> None:
        self._delivery.unlink(owner, name, owner.links[name][1])

    def _exclusive(self, owner: Owner) -> list[Queue]:
        return [*owner.exclusive.values()]

    def _leave(self, owner: Owner, queue: Queue) -> None:
        self._delivery.leave_owner(queue)

    def _left_queues(self, owner: Owner) -> list[Queue]:
        return [*self._left]

    def _leave_unused(self, owner: Owner, queue: Queue) -> None:
        self._delivery.leave_if_unused(queue)

    def _created(self, owner: Owner) -> list[Queue]:
        created = [*owner.created.values()]
        owner.created.clear()
        return created

    def _leave_created(self, owner: Owner, queue: Queue) -> None:
        queue.creator = None
        self._delivery.leave_if_unused(queue)

    PARTS: ClassVar[tuple[tuple[Callable[..., list[Any]], Callable[..., None]], ...]] = (
        (_consumers, _end_consumer),
        (_transactions, _roll_back),
        (_messages, _return),
        (_late_queues, _expire),
        (_full_queues, _shorten),
        (_links, _unlink),
        (_exclusive, _leave),
        (_left_queues, _leave_unused),
        (_created, _leave_created),
    )


_PARTS: Final = Closing.PARTS
