"""Settling: what becomes of messages that somebody has, and of everything when an owner ends."""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import consuming, declaring, publishing, transacting
from .commands import CloseOwner, Outcome
from .entry import Entry, EntryInput, Message, State
from .faults import Fault, FaultKind

if TYPE_CHECKING:
    from . import commands
    from .broker import Broker
    from .queue import Queue


def settle(broker: Broker, command: commands.Settle) -> None:
    """`Settle`."""
    owner = command.owner
    for entry in command.entries:
        if entry.owner is not owner or entry.state is not State.ACQUIRED or entry.transaction is not None:
            text = f"message {entry.position} of queue {entry.queue.name!r} isn't with owner {owner.number}"
            raise Fault(FaultKind.ILLEGAL_STATE, text)
    if command.transaction is not None:
        transacting.add_settle(broker, command.transaction, command)
    else:
        carry_out(broker, command)


def carry_out(broker: Broker, command: commands.Settle) -> None:
    """Settle now."""
    if broker.history is not None:
        for entry in command.entries:
            _note(broker, entry, command)
    if command.outcome is Outcome.ACCEPT:
        for entry in command.entries:
            _accept(broker, entry)
        return
    for entry in command.entries:
        if entry.owner is not None:
            entry.owner.held.pop(entry, None)
        consumer = entry.consumer
        if command.excluded and consumer is not None and command.outcome is Outcome.RELEASE:
            entry.excluded = (*entry.excluded, consumer.place)
        if consumer is not None:
            # As it was delivered, whatever is written on it now.
            consuming.refill(broker, entry, consumer)
        if command.content is not None:
            _replace(broker, entry, command)
        if command.outcome is Outcome.REJECT and not entry.queue.is_deleted:
            publishing.die(broker, entry, "delivery_limit" if command.unsaid else "rejected", EntryInput.REJECT)
            consuming.leave_if_empty(broker, entry.queue)
        else:
            give_back(
                broker,
                entry,
                redelivered=command.redelivered or command.delivery_failed,
                failed=command.delivery_failed,
            )


def _accept(broker: Broker, entry: Entry) -> None:
    """A message is done with."""
    queue = entry.queue
    consumer = entry.consumer
    if entry.owner is not None:
        entry.owner.held.pop(entry, None)
    queue.archive(entry, EntryInput.ACCEPT)
    if entry.group is not None:
        consuming.look_again(broker, queue)
    broker.drop(entry.message)
    if queue.lifetime is not None:
        consuming.leave_if_empty(broker, queue)
    if consumer is not None:
        consuming.refill(broker, entry, consumer)


def give_back(
    broker: Broker, entry: Entry, *, redelivered: bool, failed: bool, late: dict[Queue, None] | None = None
) -> None:
    """A message goes back to its place in its queue; one whose deliveries failed too often, or whose time is over,
    doesn't stay there, and one whose queue is gone goes where the queue's other messages went. Queues with such that
    have expired are noted in `late`, for when all are back."""
    queue = entry.queue
    if queue.is_deleted:
        publishing.die(broker, entry, "orphaned", EntryInput.DROP)
        return
    entry.redelivered = entry.redelivered or redelivered
    if failed:
        entry.delivery_count += 1
        limit = queue.options.delivery_limit
        if limit is not None and entry.delivery_count > limit:
            publishing.die(broker, entry, "delivery_limit", EntryInput.REJECT)
            return
    if queue.is_replaced(entry):
        publishing.drop_replaced(broker, entry)
        consuming.leave_if_empty(broker, queue)
        return
    queue.release(entry)
    if entry.expires is not None:
        if entry.expires <= broker.now:
            if late is None:
                publishing.expire(broker, queue)
            else:
                late[queue] = None
            return
        if queue.expiring and queue.expiring[0][2] is entry:
            broker.watch_for(queue, entry.expires)
    broker.runnable[queue] = None


def close_owner(broker: Broker, command: commands.CloseOwner) -> None:
    """`CloseOwner`."""
    owner = command.owner
    if owner.is_closed:
        return
    owner.is_closed = True
    for child in list(owner.children.values()):
        close_owner(broker, CloseOwner(child, command.redelivered, command.heir))
    left: dict[Queue, None] = {}
    for consumer in list(owner.consumers.values()):
        left[consumer.queue] = None
        consuming.remove_consumer(broker, consumer)
    for transaction in list(owner.transactions.values()):
        transacting.end(broker, transaction)
    late: dict[Queue, None] = {}
    # The oldest goes back last, to the head of its queue; where there is no queue any more it's the first to leave.
    orphans = sorted([each for each in owner.held if each.queue.is_deleted], key=lambda each: each.position)
    for entry in (*orphans, *[each for each in reversed(owner.held) if not each.queue.is_deleted]):
        if entry.transaction is not None:
            # Another owner's transaction has it, and decides.
            entry.owner = command.heir
            if command.heir is not None:
                command.heir.held[entry] = None
        else:
            had = entry.consumer
            note_released(broker, entry)
            give_back(broker, entry, redelivered=command.redelivered, failed=False, late=late)
            if had is not None:
                # Consumers of other owners may share its windows.
                consuming.refill(broker, entry, had)
    owner.held.clear()
    for queue in late:
        publishing.expire(broker, queue)
        if not queue.is_deleted:
            # What had expired may have hidden what expires later.
            broker.watch(queue)
    for name in list(owner.links):
        declaring.unlink(broker, owner, name, owner.links[name])
    for queue in list(owner.exclusive.values()):
        declaring.leave_owner(broker, queue)
    for queue in left:
        declaring.leave_if_unused(broker, queue)
    for queue in list(owner.created.values()):
        queue.creator = None
        declaring.leave_if_unused(broker, queue)
    owner.created.clear()
    if owner.parent is not None:
        owner.parent.children.pop(owner.number, None)
    broker.owners.pop(owner.number, None)


def _replace(broker: Broker, entry: Entry, command: commands.Settle) -> None:
    """The message with what its consumer wrote on it; other queues keep it as it was."""
    assert command.content is not None
    old = entry.message
    new = Message(
        command.content,
        old.exchange,
        old.routing_key,
        old.number,
        old.publisher,
        old.mandatory,
        old.immediate,
    )
    entry.message = new
    broker.hold(new)
    broker.drop(old)


def _note(broker: Broker, entry: Entry, command: commands.Settle) -> None:
    assert broker.history is not None
    kinds = {Outcome.ACCEPT: "accepted", Outcome.REJECT: "rejected", Outcome.RELEASE: "released"}
    broker.history.add(
        kinds[command.outcome],  # type: ignore[arg-type]
        broker.now,
        entry.queue.vhost.name,
        entry.message,
        command.owner,
        queue=entry.queue.name,
        consumer="" if entry.consumer is None else str(entry.consumer.key),
    )


def note_released(broker: Broker, entry: Entry) -> None:
    """A message goes back to its queue, and nobody has settled it."""
    if broker.history is not None:
        broker.history.add(
            "released", broker.now, entry.queue.vhost.name, entry.message, entry.owner, queue=entry.queue.name
        )
