"""Delivery: queues, from their declaration to their deletion, their consumers, and the messages between them."""

from __future__ import annotations

from base64 import urlsafe_b64encode
from collections import deque
from hashlib import sha256
from typing import TYPE_CHECKING, TypeAlias

from .content import Death
from .effects import Cancelled, Deliver, NodeDeleted
from .faults import Fault, FaultKind
from .options import ARGUMENTS, queue_options
from .queue import Consumer, Queue
from .states import EntryInput, State
from .topology import RESERVED, check_name, inequivalent, limit_reached

if TYPE_CHECKING:
    from . import commands
    from .content import Content, Message
    from .ledger import Ledger
    from .options import QueueOptions
    from .queue import Entry, Owner, VirtualHost, Window
    from .topology import Topology

DeadLetter: TypeAlias = "tuple[VirtualHost, str, str, Content, Message, bool]"
"""A virtual host, the exchange, the key, the content, what it was before, and whether it goes to an alternate."""


class Delivery:
    """Carries out the commands for queues and consumers, and delivers.

    `runnable` has the queues that may have something for their consumers, `dead` the messages that are still to be
    published to dead-letter and alternate exchanges. `seed` enters the names that it generates for queues.
    """

    __slots__ = ("_effects", "_history", "_ledger", "_names", "_seed", "_topology", "dead", "runnable")

    def __init__(self, ledger: Ledger, topology: Topology, seed: bytes) -> None:
        self._ledger = ledger
        self._effects = ledger.effects
        self._history = ledger.history
        self._topology = topology
        self._seed = seed
        self._names = 0
        self.runnable: dict[Queue, None] = {}
        self.dead: deque[DeadLetter] = deque()

    # Queues.

    def declare_queue(self, command: commands.DeclareQueue) -> Queue:
        """Carry out `DeclareQueue`."""
        owner = command.owner
        vhost = owner.vhost
        name = command.name
        if command.passive:
            queue = owner.find_queue(name)
            queue.used_at = self._ledger.now
            return queue
        options = queue_options(command.arguments, strict=command.strict)
        found = vhost.queues.get(name) if name else None
        if found is not None:
            owner.check(found)
            _compare_queue(vhost, found, command, options)
            found.used_at = self._ledger.now
            return found
        check_name("queue", name)
        if command.reserved and name.startswith(RESERVED):
            text = f"queue name {name!r} contains reserved prefix 'amq.*'"
            raise Fault(FaultKind.RESERVED_NAME, text, "queue")
        if command.alternate is not None and command.alternate not in vhost.exchanges:
            text = f"no exchange {command.alternate!r} in vhost {vhost.name!r}"
            raise Fault(FaultKind.NOT_FOUND, text, "alternate")
        if len(vhost.queues) >= self._ledger.limits.queues:
            raise limit_reached(vhost, "queues", self._ledger.limits.queues)
        queue = Queue(
            name or self._new_name(vhost),
            vhost,
            options,
            durable=command.durable,
            auto_delete=command.auto_delete,
            exclusive_to=command.exclusive_to,
            alternate=command.alternate,
            arguments=command.arguments,
            lifetime=command.lifetime,
            outlives=command.outlives,
            creator=owner,
            now=self._ledger.now,
        )
        vhost.queues[queue.name] = queue
        if queue.exclusive_to is not None:
            queue.exclusive_to.exclusive[queue.name] = queue
        if queue.lifetime is not None:
            owner.created[queue.name] = queue
        if options.expires is not None:
            self._ledger.watch(queue)
        return queue

    def delete_by_name(self, command: commands.DeleteQueue) -> int:
        """Carry out `DeleteQueue`."""
        queue = command.owner.find_queue(command.name)
        where = f"queue {queue.name!r} in vhost {queue.vhost.name!r}"
        if command.if_unused and queue.consumers:
            raise Fault(FaultKind.IN_USE, f"{where} in use", "queue")
        if command.if_empty and queue.messages:
            raise Fault(FaultKind.NOT_EMPTY, f"{where} not empty", "queue")
        count = queue.ready
        self.delete(queue, "the queue was deleted")
        return count

    def purge(self, command: commands.PurgeQueue) -> int:
        """Carry out `PurgeQueue`."""
        queue = command.owner.find_queue(command.name)
        entries = list(queue.available())
        for entry in entries:
            queue.archive(entry, EntryInput.DROP)
            self._ledger.drop(entry.message)
            self._ledger.note("purged", queue, entry.message, command.owner)
        if entries:
            self.leave_if_empty(queue)
        return len(entries)

    def leave_owner(self, queue: Queue) -> None:
        """Release or delete a queue whose exclusive owner has ended."""
        if queue.outlives and not queue.auto_delete:
            queue.exclusive_to = None
        else:
            self.delete(queue, "its owner is gone")

    def link_queue(self, command: commands.LinkQueue) -> None:
        """Carry out `LinkQueue`."""
        owner = command.owner
        queue = owner.find_queue(command.name)
        queue.links += 1
        owner.links[queue.name] = owner.links.get(queue.name, 0) + 1

    def unlink_queue(self, command: commands.UnlinkQueue) -> None:
        """Carry out `UnlinkQueue`."""
        if command.name in command.owner.links:
            self.unlink(command.owner, command.name, 1)

    def unlink(self, owner: Owner, name: str, times: int) -> None:
        """Remove `times` links of an owner from a queue's users."""
        left = owner.links.pop(name) - times
        if left:
            owner.links[name] = left
        queue = owner.vhost.queues.get(name)
        if queue is not None:
            queue.links -= times
            self.leave_if_unused(queue)

    def leave_if_unused(self, queue: Queue) -> None:
        """Delete a queue without users, if it was declared so."""
        if queue.is_deleted:
            return
        is_bound_to_owner = queue.outlives and queue.exclusive_to is not None
        if queue.auto_delete and queue.had_consumer and not queue.consumers and not is_bound_to_owner:
            self.delete(queue, "its last consumer is gone")
        elif queue.lifetime is not None and queue.is_over:
            self.delete(queue, "its lifetime is over")

    def leave_if_empty(self, queue: Queue) -> None:
        """Delete a dynamic node that is empty, if its lifetime says so."""
        if queue.lifetime is not None and not queue.messages:
            self.leave_if_unused(queue)

    def delete(self, queue: Queue, reason: str) -> None:
        """Delete a queue with its bindings, consumers and messages. Acquired messages stay with their owners until they
        are settled; those not accepted then are orphaned, as all available ones are now."""
        if queue.is_deleted:
            return
        vhost = queue.vhost
        queue.is_deleted = True
        del vhost.queues[queue.name]
        if queue.exclusive_to is not None:
            queue.exclusive_to.exclusive.pop(queue.name, None)
        if queue.creator is not None:
            queue.creator.created.pop(queue.name, None)
            queue.creator = None
        if queue.links:
            # Uses of this queue mustn't count for the next one of that name.
            for owner in self._ledger.owners.values():
                if owner.vhost is vhost:
                    owner.links.pop(queue.name, None)
        for consumer in list(queue.consumers.values()):
            self.remove_consumer(consumer)
            self._effects.append(Cancelled(consumer, reason))
        self._topology.unbind_everywhere(vhost, queue)
        for entry in list(queue.available()):
            self.die(entry, "orphaned", EntryInput.DROP)
        self.runnable.pop(queue, None)
        self._ledger.unwatch(queue)
        self._effects.append(NodeDeleted(vhost.name, "queue", queue.name))

    def keep_durable(self, vhost: VirtualHost) -> None:
        """Drop everything that doesn't survive a restart."""
        for queue in list(vhost.queues.values()):
            for entry in list(queue.available()):
                if not (queue.durable and entry.message.content.persistent):
                    # A lost message is neither dead-lettered nor orphaned.
                    queue.archive(entry, EntryInput.DROP)
                    self._ledger.drop(entry.message)
                    self._ledger.note("dropped", queue, entry.message, reason="restarted")
            if not queue.durable:
                self.delete(queue, "the broker was stopped")
        self._topology.keep_durable(vhost)

    # Consumers.

    def subscribe(self, command: commands.Subscribe) -> Consumer:
        """Carry out `Subscribe`."""
        owner = command.owner
        queue = owner.find_queue(command.queue)
        if queue.exclusive_consumer is not None or (command.exclusive and queue.consumers):
            text = f"queue {queue.name!r} in vhost {owner.vhost.name!r} in exclusive use"
            raise Fault(FaultKind.EXCLUSIVE, text)
        if len(queue.consumers) >= self._ledger.limits.consumers:
            limit = self._ledger.limits.consumers
            text = f"queue {queue.name!r} has {limit} consumers, BrokerLimits.consumers allows no more"
            raise Fault(FaultKind.LIMIT, text)
        consumer = Consumer(
            self._ledger.new_number(),
            owner,
            queue,
            command.key,
            command.windows,
            acquires=command.acquires,
            settles=command.settles,
            exclusive=command.exclusive,
            no_local=command.no_local,
            priority=command.priority,
            filter=command.filter,
            measure=command.measure,
        )
        owner.consumers[consumer.number] = consumer
        for window in consumer.windows:
            window.consumers[consumer.number] = consumer
        queue.add_consumer(consumer)
        if command.cursors and len(command.cursors) == len(consumer.cursors):
            consumer.cursors = list(command.cursors)
        self._wake(consumer)
        return consumer

    def cancel(self, command: commands.Cancel) -> None:
        """Carry out `Cancel`."""
        consumer = command.consumer
        if consumer.is_cancelled:
            return
        self.remove_consumer(consumer)
        self.leave_if_unused(consumer.queue)

    def remove_consumer(self, consumer: Consumer) -> None:
        """Remove a consumer from its queue, which stays."""
        consumer.is_cancelled = True
        consumer.owner.consumers.pop(consumer.number, None)
        for window in consumer.windows:
            window.consumers.pop(consumer.number, None)
        queue = consumer.queue
        queue.remove_consumer(consumer)
        queue.used_at = self._ledger.now
        if queue.options.expires is not None and not queue.consumers:
            self._ledger.watch(queue)
        if queue.active is not None or queue.options.group_key is not None:
            self.runnable[queue] = None

    def grant(self, command: commands.Grant) -> None:
        """Carry out `Grant`."""
        window = command.window
        if window.messages is not None:
            window.messages += command.messages
        if window.octets is not None:
            window.octets += command.octets
        self._wake_all(window)

    def set_window(self, command: commands.SetWindow) -> None:
        """Carry out `SetWindow`."""
        window = command.window
        window.messages = command.messages
        window.octets = command.octets
        self._wake_all(window)

    def change_windows(self, command: commands.ChangeWindows) -> None:
        """Carry out `ChangeWindows`."""
        consumer = command.consumer
        if consumer.is_cancelled:
            return
        for window in consumer.windows:
            window.consumers.pop(consumer.number, None)
        consumer.windows = command.windows
        for window in consumer.windows:
            window.consumers[consumer.number] = consumer
        if not consumer.waiting:
            self._wake(consumer)

    def _wake_all(self, window: Window) -> None:
        """Wake the consumers of a window that has changed."""
        for consumer in window.consumers.values():
            if not consumer.waiting:
                self._wake(consumer)

    def _wake(self, consumer: Consumer) -> None:
        """Return a consumer that has room to its queue's rotation."""
        if consumer.has_room():
            queue = consumer.queue
            if consumer.acquires:
                queue.wake(consumer)
            if queue.ready:
                self.runnable[queue] = None

    def refill(self, entry: Entry, consumer: Consumer) -> None:
        """Restore room in the windows that refill, for a message that has left its consumer."""
        for window in consumer.windows:
            if window.refills:
                if window.messages is not None:
                    window.messages += 1
                if window.octets is not None:
                    window.octets += consumer.octets_of(entry.message)
                if window.messages is not None or window.octets is not None:
                    self._wake_all(window)

    def run_all(self) -> None:
        """Deliver from all runnable queues."""
        runnable = self.runnable
        while runnable:
            queue = next(iter(runnable))
            del runnable[queue]
            if not queue.is_deleted:
                self.run(queue)

    def run(self, queue: Queue) -> None:
        """Deliver a queue's messages to the consumers that have room."""
        if queue.browsers:
            self._show(queue)
        count = queue.ready
        self._serve(queue)
        if queue.browsers and queue.ready < count:
            # A message that had no room in a browser's windows may be gone.
            self._show(queue)

    def _serve(self, queue: Queue) -> None:
        """Deliver to consumers that acquire, in rotation."""
        while queue.turns:
            entry = queue.first()
            if entry is None:
                return
            consumer = queue.taker(entry)
            if consumer is not None:
                self._deliver(entry, consumer)
            elif queue.turns:
                self._offer(queue)
                return

    def _show(self, queue: Queue) -> None:
        """Deliver to browsers."""
        for browser in list(queue.browsers.values()):
            self._browse(queue, browser)

    def _browse(self, queue: Queue, browser: Consumer) -> None:
        """Deliver to a browser the messages it hasn't seen."""
        for entry in queue.unseen(browser.cursors):
            if not browser.wants(entry):
                continue
            if not browser.has_room_for(entry.message):
                browser.waiting = False
                return
            browser.take(entry)
            self._effects.append(Deliver(browser, entry))
            if self._history is not None:
                self._note_delivered(entry, browser)

    def _offer(self, queue: Queue) -> None:
        """Offer the messages behind the first one, which no consumer in the rotation wants."""
        queue.was_scanned = True
        for entry in queue.unseen(queue.offered):
            consumer = queue.taker(entry)
            if consumer is not None:
                self._deliver(entry, consumer)
            elif not queue.turns:
                return

    def _deliver(self, entry: Entry, consumer: Consumer) -> None:
        """Deliver an available message to a consumer that acquires."""
        queue = entry.queue
        consumer.take(entry)
        queue.acquire(entry, consumer.owner, consumer)
        self.hand_over(entry, consumer)

    def hand_over(self, entry: Entry, consumer: Consumer) -> None:
        """Hand an acquired message to its consumer; with `settles`, accept it at once."""
        self._effects.append(Deliver(consumer, entry))
        if self._history is not None:
            self._note_delivered(entry, consumer)
        if consumer.settles:
            self.refill(entry, consumer)
            entry.queue.archive(entry, EntryInput.ACCEPT)
            if entry.group is not None:
                self.look_again(entry.queue)
            self._ledger.drop(entry.message)
            if self._history is not None:
                self._ledger.note("accepted", entry.queue, entry.message, consumer.owner, consumer=str(consumer.key))
            self.leave_if_empty(entry.queue)
        else:
            consumer.owner.held[entry] = None

    def _note_delivered(self, entry: Entry, consumer: Consumer) -> None:
        self._ledger.note(
            "delivered", entry.queue, entry.message, consumer.owner,
            consumer=str(consumer.key), redelivered=entry.redelivered,
        )  # fmt: skip

    def look_again(self, queue: Queue) -> None:
        """Run the queue again after a message left that consumers may have lacked the room for."""
        if queue.ready and (queue.turns or queue.browsers):
            self.runnable[queue] = None

    def get(self, command: commands.Get) -> Entry | None:
        """Carry out `Get`."""
        owner = command.owner
        queue = owner.find_queue(command.queue)
        if queue.exclusive_consumer is not None:
            text = f"queue {queue.name!r} in vhost {owner.vhost.name!r} in exclusive use"
            raise Fault(FaultKind.EXCLUSIVE, text)
        queue.used_at = self._ledger.now
        entry = queue.first_for(owner)
        if entry is None:
            return None
        queue.acquire(entry, owner, None)
        self.look_again(queue)
        self._ledger.note("got", queue, entry.message, owner, redelivered=entry.redelivered)
        if command.settles:
            queue.archive(entry, EntryInput.ACCEPT)
            self._ledger.drop(entry.message)
            self._ledger.note("accepted", queue, entry.message, owner)
            self.leave_if_empty(queue)
        else:
            owner.held[entry] = None
        return entry

    def acquire(self, command: commands.Acquire) -> tuple[Entry, ...]:
        """Carry out `Acquire`."""
        taken: list[Entry] = []
        for entry in command.entries:
            if entry.state is State.AVAILABLE and not entry.queue.is_deleted:
                entry.queue.acquire(entry, command.owner, command.consumer)
                self.look_again(entry.queue)
                command.owner.held[entry] = None
                taken.append(entry)
        return tuple(taken)

    # Messages that leave their queues unsettled.

    def expire(self, queue: Queue) -> None:
        """Expire the messages of a queue that are due, and the queue itself after its time without use."""
        now = self._ledger.now
        while (entry := queue.due(now)) is not None:
            self._ledger.note("expired", queue, entry.message)
            self.die(entry, "expired", EntryInput.EXPIRE)
        self.leave_if_empty(queue)
        idle = queue.options.expires
        if idle is not None and not queue.consumers and queue.used_at + idle <= now:
            self.delete(queue, "it wasn't used for its x-expires")

    def die(self, entry: Entry, reason: str, why: EntryInput) -> None:
        """Remove a message from its queue for good, to the dead-letter or alternate exchange if there is one."""
        queue = entry.queue
        message = entry.message
        queue.archive(entry, why)
        self.look_again(queue)
        options = queue.options
        exchange = options.dead_letter_exchange
        if exchange is not None and reason != "orphaned":
            self.dead_letter(queue, message, reason)
            self._ledger.drop(message)
            return
        if queue.alternate is not None and reason in ("rejected", "orphaned"):
            self._ledger.note("dead-lettered", queue, message, reason=reason)
            self.dead.append((queue.vhost, queue.alternate, message.routing_key, message.content, message, True))
        elif reason != "expired":
            self._ledger.note("dropped", queue, message, reason=reason)
        self._ledger.drop(message)

    def drop_replaced(self, entry: Entry) -> None:
        """Drop a message replaced by a newer one of its key; it isn't dead-lettered."""
        queue = entry.queue
        queue.archive(entry, EntryInput.DROP)
        self.look_again(queue)
        self._ledger.note("dropped", queue, entry.message, reason="replaced")
        self._ledger.drop(entry.message)

    def dead_letter(self, queue: Queue, message: Message, reason: str) -> None:
        """Pass a message on to the dead-letter exchange of its queue, which has one."""
        options = queue.options
        assert options.dead_letter_exchange is not None
        self._ledger.note("dead-lettered", queue, message, reason=reason)
        deaths = self._deaths(queue, message, reason)
        key = options.dead_letter_routing_key
        routing_key = message.routing_key if key is None else key
        content = message.content.with_deaths(deaths)
        self.dead.append((queue.vhost, options.dead_letter_exchange, routing_key, content, message, False))

    def _deaths(self, queue: Queue, message: Message, reason: str) -> tuple[Death, ...]:
        """Return the deaths of a message, beginning with this one."""
        kept: list[Death] = []
        death = Death(
            queue.name, reason, 1, message.exchange, (message.routing_key,), self._ledger.now + self._ledger.epoch
        )
        for each in message.content.deaths:
            if (each.queue, each.reason) == (queue.name, reason):
                death = Death(each.queue, each.reason, each.count + 1, each.exchange, each.routing_keys, each.time)
            else:
                kept.append(each)
        return (death, *kept)

    def _new_name(self, vhost: VirtualHost) -> str:
        while True:
            self._names += 1
            digest = sha256(self._seed + self._names.to_bytes(8, "big")).digest()[:16]
            name = f"amq.gen-{urlsafe_b64encode(digest).decode().rstrip('=')}"
            if name not in vhost.queues:
                return name


def _compare_queue(vhost: VirtualHost, found: Queue, command: commands.DeclareQueue, options: QueueOptions) -> None:
    what = f"queue {found.name!r} in vhost {vhost.name!r}"
    given: dict[str, tuple[object, object]] = {
        "durable": (command.durable, found.durable),
        "exclusive": (command.exclusive_to is not None, found.exclusive_to is not None),
        "auto_delete": (command.auto_delete, found.auto_delete),
        "alternate": (command.alternate, found.alternate),
    }
    for name in command.compare:
        if name in given and given[name][0] != given[name][1]:
            raise inequivalent(what, name, *given[name])
    if "arguments" in command.compare and options != found.options:
        said = [name for name in ARGUMENTS if name in command.arguments or name in found.arguments]
        for name in said:
            if getattr(options, ARGUMENTS[name]) != getattr(found.options, ARGUMENTS[name]):
                raise inequivalent(what, name, command.arguments.get(name), found.arguments.get(name))
