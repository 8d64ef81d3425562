"""Outcomes: what becomes of single acquired messages, by their settlement or the end of their owner."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from .commands import Outcome, Publish, Settle
from .content import Message
from .states import EntryInput

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from . import commands
    from .delivery import Delivery
    from .entry import Entry
    from .history import Kind
    from .ledger import Ledger
    from .owner import Command
    from .publishing import Publishing
    from .queue import Queue

_KINDS: Final[Mapping[Outcome, Kind]] = {
    Outcome.ACCEPT: "accepted",
    Outcome.REJECT: "rejected",
    Outcome.RELEASE: "released",
}


_ACCEPT: Final = Outcome.ACCEPT
_ACCEPTED: Final = EntryInput.ACCEPT


class Outcomes:
    """Settles messages one by one, and returns them to their queues."""

    __slots__ = ("_delivery", "_history", "_ledger", "_publishing", "_runnable")

    def __init__(self, ledger: Ledger, delivery: Delivery, publishing: Publishing) -> None:
        self._ledger = ledger
        self._history = ledger.history
        """The ledger's; None: nothing is recorded."""
        self._delivery = delivery
        """Takes dead letters, and wakes queues."""
        self._runnable = delivery.runnable
        """Its queues that may run, which returned messages add to."""
        self._publishing = publishing
        """Keeps the lengths of queues that messages return to."""

    def carry_out(self, command: commands.Settle) -> None:
        """Settle now, outside of any transaction."""
        if self._history is not None:
            for entry in command.entries:
                consumer = "" if entry.consumer is None else str(entry.consumer.key)
                kind = _KINDS[command.outcome]
                self._ledger.note(kind, entry.queue, entry.message, command.owner, consumer=consumer)
        self._count(command.outcome, len(command.entries))
        if command.outcome is _ACCEPT:
            for entry in command.entries:
                self._accept(entry)
            return
        back: dict[Queue, None] = {}
        for entry in command.entries:
            self._decide_otherwise(entry, command, back)
        self.keep_lengths(back)

    def decide(self, entry: Entry, command: commands.Settle, back: dict[Queue, None]) -> None:
        """Settle one of the messages of a command; its queue is added to `back` if it may have returned there."""
        if self._history is not None:
            consumer = "" if entry.consumer is None else str(entry.consumer.key)
            kind = _KINDS[command.outcome]
            self._ledger.note(kind, entry.queue, entry.message, command.owner, consumer=consumer)
        self._count(command.outcome, 1)
        if command.outcome is _ACCEPT:
            self._accept(entry)
        else:
            self._decide_otherwise(entry, command, back)

    def _count(self, outcome: Outcome, many: int) -> None:
        tally = self._ledger.tally
        if outcome is _ACCEPT:
            tally.accepted += many
        elif outcome is Outcome.REJECT:
            tally.rejected += many
        else:
            tally.released += many

    def _decide_otherwise(self, entry: Entry, command: commands.Settle, back: dict[Queue, None]) -> None:
        """Reject or release a message."""
        back[entry.queue] = None
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
            self.give_back(
                entry, redelivered=command.redelivered or command.delivery_failed, failed=command.delivery_failed
            )

    def keep_lengths(self, queues: Iterable[Queue]) -> None:
        """Queues to which messages have returned drop what is above their limit, before anybody gets it."""
        for queue in queues:
            if not queue.is_plain and not queue.is_deleted:
                self._publishing.make_room(queue)

    def _accept(self, entry: Entry) -> None:
        """Remove an accepted message."""
        queue = entry.queue
        consumer = entry.consumer
        if entry.owner is not None:
            entry.owner.held.pop(entry, None)
        queue.archive(entry, _ACCEPTED)
        if entry.group is not None:
            self._delivery.look_again(queue)
        self._ledger.drop(entry.message)
        if queue.lifetime is not None:
            self._delivery.leave_if_empty(queue)
        if consumer is not None:
            self._delivery.refill(entry, consumer)

    def give_back(
        self, entry: Entry, *, redelivered: bool, failed: bool, late: dict[Queue, None] | None = None
    ) -> None:
        """Return a message to its place in its queue. One with too many failed deliveries, or that has expired, is
        dead-lettered; one whose queue is gone is orphaned. Queues with expired messages are added to `late`, to be
        handled once all messages are back."""
        queue = entry.queue
        if queue.is_deleted:
            self._delivery.die(entry, "orphaned", EntryInput.DROP)
            return
        if queue.returning is not None:
            queue.returning.append((entry, redelivered, failed))
            return
        entry.redelivered = entry.redelivered or redelivered
        if failed:
            entry.delivery_count += 1
            limit = queue.options.delivery_limit
            if limit is not None and 0 <= limit < entry.delivery_count:
                self._delivery.die(entry, "delivery_limit", EntryInput.REJECT)
                return
        if queue.is_replaced(entry):
            self._delivery.drop_replaced(entry)
            self._delivery.leave_if_empty(queue)
            return
        queue.release(entry)
        if entry.expires is not None:
            if queue.expires_at_head:
                self._ledger.watch(queue)
            elif entry.expires <= self._ledger.now:
                if late is None:
                    self._delivery.expire(queue)
                else:
                    late[queue] = None
                return
            elif queue.expiring and queue.expiring[0][2] is entry:
                self._ledger.watch_for(queue, entry.expires)
        self._runnable[queue] = None

    def _replace(self, entry: Entry, command: commands.Settle) -> None:
        """Replace the content by the consumer's version of it; other queues keep the original."""
        assert command.content is not None
        old = entry.message
        new = Message(
            command.content, old.exchange, old.routing_key, old.number, old.publisher, old.mandatory, old.immediate
        )
        new.walk = old.walk
        entry.message = new
        self._ledger.hold(new)
        self._ledger.drop(old)

    def perform(self, work: Command, returned: list[Message]) -> Settle | None:
        """Carry out a part of a committed transaction; or return it, if it is too much for this turn."""
        if isinstance(work, Publish):
            published, message = self._publishing.place(work, work.owner.vhost.exchanges.get(work.exchange))
            if (work.mandatory and not published.routed) or (work.immediate and not published.consumed):
                message.mandatory = work.mandatory and not published.routed
                returned.append(message)
        elif isinstance(work, Settle):
            for entry in work.entries:
                entry.transaction = None
            if len(work.entries) > self._ledger.room and self._ledger.in_turn:
                return work
            self._ledger.room -= len(work.entries)
            self.carry_out(work)
        return None

    def undo(self, entry: Entry, back: dict[Queue, None]) -> None:
        """Return a message that no owner has any more."""
        consumer = entry.consumer
        back[entry.queue] = None
        self._ledger.note("released", entry.queue, entry.message)
        self.give_back(entry, redelivered=True, failed=False)
        if consumer is not None:
            self._delivery.refill(entry, consumer)

    def give_up(
        self, entry: Entry, command: commands.CloseOwner, back: dict[Queue, None], late: dict[Queue, None]
    ) -> None:
        """Return a message of an owner that ends; queues are added to `back`, and to `late` as in `give_back`."""
        if entry.transaction is not None:
            # Another owner's transaction decides about it.
            entry.owner = command.heir
            if command.heir is not None:
                command.heir.held[entry] = None
            return
        had = entry.consumer
        back[entry.queue] = None
        self._ledger.note("released", entry.queue, entry.message, entry.owner)
        self.give_back(entry, redelivered=command.redelivered, failed=False, late=late)
        if had is not None:
            # Consumers of other owners may share its windows.
            self._delivery.refill(entry, had)
