"""Settling: the outcomes of acquired messages, the ends of transactions and of owners."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from .commands import CloseOwner, Outcome, Publish, Settle
from .content import Message
from .faults import Fault, FaultKind
from .queue import Owner
from .states import EntryInput, State, TransactionInput

if TYPE_CHECKING:
    from collections.abc import Mapping

    from . import commands
    from .delivery import Delivery
    from .history import Kind
    from .ledger import Ledger
    from .publishing import Publishing
    from .queue import Entry, Queue, Transaction
    from .transactions import Transactions

_KINDS: Final[Mapping[Outcome, Kind]] = {
    Outcome.ACCEPT: "accepted", Outcome.REJECT: "rejected", Outcome.RELEASE: "released"
}  # fmt: skip


class Settling:
    """Carries out settlements, commits and rollbacks; opens and closes owners."""

    __slots__ = ("_delivery", "_history", "_ledger", "_publishing", "_runnable", "_transactions")

    def __init__(self, ledger: Ledger, delivery: Delivery, transactions: Transactions, publishing: Publishing) -> None:
        self._ledger = ledger
        self._history = ledger.history
        self._delivery = delivery
        self._runnable = delivery.runnable
        self._transactions = transactions
        self._publishing = publishing

    def settle(self, command: commands.Settle) -> None:
        """Carry out `Settle`."""
        owner = command.owner
        for entry in command.entries:
            if entry.owner is not owner or entry.state is not State.ACQUIRED or entry.transaction is not None:
                text = f"message {entry.position} of queue {entry.queue.name!r} isn't with owner {owner.number}"
                raise Fault(FaultKind.ILLEGAL_STATE, text)
        if command.transaction is not None:
            self._transactions.add_settle(command.transaction, command)
        else:
            self._carry_out(command)

    def _carry_out(self, command: commands.Settle) -> None:
        """Settle now, outside of any transaction."""
        if self._history is not None:
            for entry in command.entries:
                consumer = "" if entry.consumer is None else str(entry.consumer.key)
                kind = _KINDS[command.outcome]
                self._ledger.note(kind, entry.queue, entry.message, command.owner, consumer=consumer)
        if command.outcome is Outcome.ACCEPT:
            for entry in command.entries:
                self._accept(entry)
            return
        for entry in command.entries:
            if entry.owner is not None:
                entry.owner.held.pop(entry, None)
            had = entry.consumer
            if command.excluded and had is not None and command.outcome is Outcome.RELEASE:
                entry.excluded = (*entry.excluded, had.place)
            if had is not None:
                # Refill by the content as delivered, before a change to it.
                self._delivery.refill(entry, had)
            if command.content is not None:
                self._replace(entry, command)
            if command.outcome is Outcome.REJECT and not entry.queue.is_deleted:
                self._delivery.die(entry, "delivery_limit" if command.unsaid else "rejected", EntryInput.REJECT)
                self._delivery.leave_if_empty(entry.queue)
            else:
                self._give_back(
                    entry, redelivered=command.redelivered or command.delivery_failed, failed=command.delivery_failed
                )

    def _accept(self, entry: Entry) -> None:
        """Remove an accepted message."""
        queue = entry.queue
        consumer = entry.consumer
        if entry.owner is not None:
            entry.owner.held.pop(entry, None)
        queue.archive(entry, EntryInput.ACCEPT)
        if entry.group is not None:
            self._delivery.look_again(queue)
        self._ledger.drop(entry.message)
        if queue.lifetime is not None:
            self._delivery.leave_if_empty(queue)
        if consumer is not None:
            self._delivery.refill(entry, consumer)

    def _give_back(
        self, entry: Entry, *, redelivered: bool, failed: bool, late: dict[Queue, None] | None = None
    ) -> None:
        """Return a message to its place in its queue. One with too many failed deliveries, or that has expired, is
        dead-lettered; one whose queue is gone is orphaned. Queues with expired messages are added to `late`, to be
        handled once all messages are back."""
        queue = entry.queue
        if queue.is_deleted:
            self._delivery.die(entry, "orphaned", EntryInput.DROP)
            return
        entry.redelivered = entry.redelivered or redelivered
        if failed:
            entry.delivery_count += 1
            limit = queue.options.delivery_limit
            if limit is not None and entry.delivery_count > limit:
                self._delivery.die(entry, "delivery_limit", EntryInput.REJECT)
                return
        if queue.is_replaced(entry):
            self._delivery.drop_replaced(entry)
            self._delivery.leave_if_empty(queue)
            return
        queue.release(entry)
        if entry.expires is not None:
            if entry.expires <= self._ledger.now:
                if late is None:
                    self._delivery.expire(queue)
                else:
                    late[queue] = None
                return
            if queue.expiring and queue.expiring[0][2] is entry:
                self._ledger.watch_for(queue, entry.expires)
        self._runnable[queue] = None

    def _replace(self, entry: Entry, command: commands.Settle) -> None:
        """Replace the content by the consumer's version of it; other queues keep the original."""
        assert command.content is not None
        old = entry.message
        new = Message(
            command.content, old.exchange, old.routing_key, old.number, old.publisher, old.mandatory, old.immediate
        )
        entry.message = new
        self._ledger.hold(new)
        self._ledger.drop(old)

    def commit(self, command: commands.Commit) -> tuple[Message, ...]:
        """Carry out `Commit`."""
        transaction = command.transaction
        self._transactions.end(transaction, TransactionInput.COMMIT)
        returned: list[Message] = []
        for each in transaction.work:
            if isinstance(each, Publish):
                published, message = self._publishing.place(each)
                if (each.mandatory and not published.routed) or (each.immediate and not published.consumed):
                    message.mandatory = each.mandatory and not published.routed
                    returned.append(message)
            elif isinstance(each, Settle):
                for entry in each.entries:
                    entry.transaction = None
                self._carry_out(each)
        transaction.work.clear()
        return tuple(returned)

    def rollback(self, command: commands.Rollback) -> None:
        """Carry out `Rollback`."""
        self.end(command.transaction)

    def end(self, transaction: Transaction) -> None:
        """Roll back. Messages settled by an owner that has ended meanwhile return to their queues."""
        self._transactions.end(transaction, TransactionInput.ROLLBACK)
        for each in transaction.work:
            if isinstance(each, Settle):
                for entry in each.entries:
                    entry.transaction = None
                    if entry.owner is None:
                        consumer = entry.consumer
                        self._ledger.note("released", entry.queue, entry.message)
                        self._give_back(entry, redelivered=True, failed=False)
                        if consumer is not None:
                            self._delivery.refill(entry, consumer)
        transaction.work.clear()

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
        owner.is_closed = True
        for child in list(owner.children.values()):
            self.close_owner(CloseOwner(child, command.redelivered, command.heir))
        left: dict[Queue, None] = {}
        for consumer in list(owner.consumers.values()):
            left[consumer.queue] = None
            self._delivery.remove_consumer(consumer)
        for transaction in list(owner.transactions.values()):
            self.end(transaction)
        late: dict[Queue, None] = {}
        # The oldest returns last, to the head of its queue; if the queue is gone, the oldest leaves first.
        orphans = sorted([each for each in owner.held if each.queue.is_deleted], key=lambda each: each.position)
        for entry in (*orphans, *[each for each in reversed(owner.held) if not each.queue.is_deleted]):
            if entry.transaction is not None:
                # Another owner's transaction decides about it.
                entry.owner = command.heir
                if command.heir is not None:
                    command.heir.held[entry] = None
            else:
                had = entry.consumer
                self._ledger.note("released", entry.queue, entry.message, entry.owner)
                self._give_back(entry, redelivered=command.redelivered, failed=False, late=late)
                if had is not None:
                    # Consumers of other owners may share its windows.
                    self._delivery.refill(entry, had)
        owner.held.clear()
        for queue in late:
            self._delivery.expire(queue)
            if not queue.is_deleted:
                # Expired messages may have hidden later deadlines.
                self._ledger.watch(queue)
        for name in list(owner.links):
            self._delivery.unlink(owner, name, owner.links[name])
        for queue in list(owner.exclusive.values()):
            self._delivery.leave_owner(queue)
        for queue in left:
            self._delivery.leave_if_unused(queue)
        for queue in list(owner.created.values()):
            queue.creator = None
            self._delivery.leave_if_unused(queue)
        owner.created.clear()
        if owner.parent is not None:
            owner.parent.children.pop(owner.number, None)
        self._ledger.owners.pop(owner.number, None)
