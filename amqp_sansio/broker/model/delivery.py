"""Delivery: queues, from their declaration to their deletion, their consumers, and the messages between them."""

from __future__ import annotations

from base64 import urlsafe_b64encode
from collections import deque
from hashlib import sha256
from typing import TYPE_CHECKING, Any, TypeAlias

from .chores import Chore
from .consumer import Consumer
from .content import Death
from .effects import Cancelled, Deliver, NodeDeleted
from .faults import Fault, FaultKind, Postponed
from .options import ARGUMENTS, QueueOptions, as_text, queue_options
from .queue import Queue
from .states import EntryInput, State
from .topology import check_queue_name, inequivalent, limit_reached

if TYPE_CHECKING:
    from collections.abc import Iterable

    from . import commands
    from .chores import Chores
    from .consumer import Window
    from .content import Content, Message
    from .entry import Entry
    from .ledger import Ledger
    from .owner import Owner
    from .topology import Topology, Unbinding
    from .vhost import VirtualHost

DeadLetter: TypeAlias = "tuple[VirtualHost, str, str, tuple[Death, ...], Message, bool]"
"""A virtual host, the exchange, the key, the deaths, what it was before, and whether it goes to an alternate."""


class Holding:
    """Queues that deliver nothing until a chore is done."""

    __slots__ = ("_delivery", "_queues")

    def __init__(self, delivery: Delivery, queues: Iterable[Queue]) -> None:
        self._delivery = delivery
        """Makes the queues run again at the end."""
        self._queues = tuple(queues)
        """Those that are held, each once."""
        for queue in self._queues:
            queue.held += 1

    def end(self) -> None:
        """Let them go."""
        for queue in self._queues:
            queue.held -= 1
            if queue.was_passed and not queue.held:
                queue.was_passed = False
                if not queue.is_deleted:
                    self._delivery.look_again(queue)


class Removing(Chore):
    """The end of a deleted queue: its consumers, its bindings, and its available messages, which are orphaned."""

    __slots__ = ("_consumers", "_delivery", "_queue", "_reason", "_unbinding")

    def __init__(self, delivery: Delivery, queue: Queue, reason: str, unbinding: Unbinding) -> None:
        self._delivery = delivery
        """Carries out what is left."""
        self._queue = queue
        """The deleted one; nobody finds it by its name any more."""
        self._reason = reason
        """Why it is gone, for its consumers."""
        self._consumers = list(queue.consumers.values())
        """Those that aren't told yet, the first one last."""
        self._consumers.reverse()
        self._unbinding: Unbinding | None = unbinding
        """The end of its bindings; None once that is done."""

    def go_on(self, ledger: Ledger) -> bool:
        consumers = self._consumers
        while consumers:
            if ledger.room <= 0 and ledger.is_spent:
                return False
            ledger.room -= 1
            consumer = consumers.pop()
            if not consumer.is_cancelled:
                self._delivery.remove_consumer(consumer)
                ledger.effects.append(Cancelled(consumer, self._reason))
        if self._unbinding is not None:
            if not self._unbinding.go_on(ledger):
                return False
            self._unbinding = None
        while (entry := self._queue.first()) is not None:
            if ledger.room <= 0 and ledger.is_spent:
                return False
            ledger.room -= 1
            self._delivery.die(entry, "orphaned", EntryInput.DROP)
        return True


class Waking(Chore):
    """The consumers of a window that has changed."""

    __slots__ = ("_consumers", "_delivery")

    def __init__(self, delivery: Delivery, window: Window) -> None:
        self._delivery = delivery
        """Knows which queues may run."""
        self._consumers = [*window.consumers.values()][::-1]
        """Those that aren't looked at yet, the first one last."""

    def go_on(self, ledger: Ledger) -> bool:
        while self._consumers:
            if ledger.room <= 0 and ledger.is_spent:
                return False
            ledger.room -= 1
            self._delivery.wake(self._consumers.pop())
        return True


class Delivery:
    """Carries out the commands for queues and consumers, and delivers.

    What a turn leaves to the next ones is in `waiting`, `late` and, with `is_behind`, in `dead`. `Chores` have the rest
    of single commands.
    """

    __slots__ = (
        "_chores",
        "_effects",
        "_history",
        "_ledger",
        "_names",
        "_seed",
        "_topology",
        "dead",
        "is_behind",
        "late",
        "runnable",
        "waiting",
    )

    def __init__(self, ledger: Ledger, topology: Topology, chores: Chores, seed: bytes) -> None:
        self._ledger = ledger
        self._chores = chores
        """Takes what doesn't fit into a turn."""
        self._effects = ledger.effects
        """The ledger's, for deliveries and ends of consumers."""
        self._history = ledger.history
        """The ledger's; None: nothing is recorded."""
        self._topology = topology
        """Exchanges and bindings, which go with their queues."""
        self._seed = seed
        """Enters the names that it generates, so that those of two brokers differ."""
        self._names = 0
        """How many names it has generated."""
        self.runnable: dict[Queue, None] = {}
        """Queues that may have something for their consumers; a dict for its order."""
        self.dead: deque[DeadLetter] = deque()
        """Messages that are still to be published to dead-letter and alternate exchanges."""
        self.is_behind = False
        """Whether a turn has left some of `dead` to the next one."""
        self.waiting: dict[Queue, None] = {}
        """Runnable queues that a turn has left to the next one."""
        self.late: dict[Queue, None] = {}
        """Queues with expired messages that a turn has left: they get no deliveries until those are gone."""

    # Queues.

    def declare_queue(self, command: commands.DeclareQueue) -> Queue:
        """Carry out `DeclareQueue`."""
        owner = command.owner
        vhost = owner.vhost
        name = command.name
        if command.passive:
            queue = owner.find_queue(name)
            self.catch_up(queue)
            queue.used_at = self._ledger.now
            return queue
        options = _options_of(command)
        found = vhost.queues.get(name) if name else None
        if found is not None:
            owner.check(found)
            _compare_queue(vhost, found, command, options)
            self.catch_up(found)
            if command.outlives and command.exclusive_to is not None and found.exclusive_to is None:
                self._give_to(found, command.exclusive_to)
            found.used_at = self._ledger.now
            return found
        check_queue_name(name, reserved=command.reserved)
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
            expires_at_head=command.expires_at_head,
            creator=owner,
            now=self._ledger.now,
        )
        self._ledger.count(queue.kept, f"queue {queue.name!r}")
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
        self.catch_up(queue)
        if command.if_empty and queue.messages:
            raise Fault(FaultKind.NOT_EMPTY, f"{where} not empty", "queue")
        count = queue.ready
        self.delete(queue, "the queue was deleted")
        return count

    def _give_to(self, queue: Queue, owner: Owner) -> None:
        """Make an existing queue exclusive to an owner. Raises Fault LOCKED if others consume from it."""
        if any([not each.owner.is_within(owner) for each in queue.consumers.values()]):
            text = f"queue {queue.name!r} in vhost {queue.vhost.name!r} has consumers of others and can't be exclusive"
            raise Fault(FaultKind.LOCKED, text, "queue")
        queue.exclusive_to = owner
        queue.outlives = True
        owner.exclusive[queue.name] = queue

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
        used, times = owner.links.get(queue.name, (queue, 0))
        # Uses of a deleted queue don't count for the next one of that name.
        owner.links[queue.name] = queue, (times + 1 if used is queue else 1)

    def unlink_queue(self, command: commands.UnlinkQueue) -> None:
        """Carry out `UnlinkQueue`."""
        if command.name in command.owner.links:
            self.unlink(command.owner, command.name, 1)

    def unlink(self, owner: Owner, name: str, times: int) -> None:
        """Remove `times` links of an owner from a queue's users."""
        queue, had = owner.links.pop(name)
        if queue.is_deleted:
            return
        if had > times:
            owner.links[name] = queue, had - times
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
        self._ledger.room -= 1
        del vhost.queues[queue.name]
        self._ledger.count(-queue.kept, "")
        self._ledger.tally.delivered += queue.delivered
        if queue.exclusive_to is not None:
            queue.exclusive_to.exclusive.pop(queue.name, None)
        if queue.creator is not None:
            queue.creator.created.pop(queue.name, None)
            queue.creator = None
        self.runnable.pop(queue, None)
        self.waiting.pop(queue, None)
        self.late.pop(queue, None)
        self._ledger.unwatch(queue)
        self._effects.append(NodeDeleted(vhost.name, "queue", queue.name))
        self._chores.begin(Removing(self, queue, reason, self._topology.unbinding(vhost, queue)))

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
        alone = queue.consumers or queue.options.single_active_consumer
        if queue.exclusive_consumer is not None or (command.exclusive and alone):
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
        self._ledger.count(consumer.kept, f"a consumer of queue {queue.name!r}")
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
        self._ledger.count(-consumer.kept, "")
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
        self._wake_in_turns(window)

    def set_window(self, command: commands.SetWindow) -> None:
        """Carry out `SetWindow`."""
        window = command.window
        window.messages = command.messages
        window.octets = command.octets
        self._wake_in_turns(window)

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

    def _wake_in_turns(self, window: Window) -> None:
        """Do the same as `_wake_all`, in pieces if the window has many consumers."""
        if len(window.consumers) > self._ledger.room and self._ledger.in_turn:
            self._chores.begin(Waking(self, window))
        else:
            self._wake_all(window)

    def _wake_all(self, window: Window) -> None:
        """Wake the consumers of a window that has changed."""
        if len(window.consumers) > 1:
            self._ledger.room -= len(window.consumers)
        for consumer in window.consumers.values():
            self.wake(consumer)

    def wake(self, consumer: Consumer) -> None:
        """Wake a consumer that may have room now."""
        if consumer.is_cancelled:
            return
        if not consumer.waiting:
            self._wake(consumer)
        elif not consumer.acquires:
            # It may have been given something to see again.
            self.look_again(consumer.queue)

    def _wake(self, consumer: Consumer) -> None:
        """Return a consumer that has room to its queue's rotation."""
        if consumer.has_room():
            queue = consumer.queue
            queue.wake(consumer)
            if queue.ready:
                self.runnable[queue] = None

    def refill(self, entry: Entry, consumer: Consumer) -> None:
        """Restore room in the windows that refill, for a message that has left its consumer."""
        for window in consumer.windows:
            if window.refills:
                messages, octets = window.messages, window.octets
                if messages is not None:
                    window.messages = messages + 1
                elif octets is None:
                    continue
                if octets is not None:
                    window.octets = octets + consumer.octets_of(entry.message)
                self._wake_all(window)

    def run_all(self) -> None:
        """Deliver from all runnable queues."""
        runnable = self.runnable
        ledger = self._ledger
        while runnable:
            if ledger.room <= 0 and ledger.is_spent:
                self.waiting.update(runnable)
                runnable.clear()
                return
            queue = next(iter(runnable))
            del runnable[queue]
            if not queue.is_deleted:
                self.run(queue)

    def _is_fresh(self, queue: Queue) -> bool:
        """Whether the next message of a queue whose messages expire at its head may be delivered, after those that
        expire now that they are the next."""
        if not queue.expiring:
            return True
        self.expire(queue)
        return not queue.is_deleted and queue not in self.late

    def run(self, queue: Queue) -> None:
        """Deliver a queue's messages to the consumers that have room: those that acquire in rotation."""
        if self.late and queue in self.late:
            return
        if queue.held:
            queue.was_passed = True
            return
        ledger = self._ledger
        if queue.showing:
            self._show(queue)
        expires = queue.expires_at_head
        while queue.turns and (not expires or self._is_fresh(queue)) and (entry := queue.first()) is not None:
            if ledger.room <= 0 and ledger.is_spent:
                self.waiting[queue] = None
                return
            ledger.room -= 1
            consumer = queue.taker(entry, ledger)
            if consumer is not None:
                self._deliver(entry, consumer)
            elif queue.is_cut:
                queue.is_cut = False
                self.waiting[queue] = None
                return
            elif queue.turns:
                self._offer(queue)
                break
        if expires and not queue.is_deleted:
            self._watch_head(queue)
        if queue.showing:
            # A message that had no room in a browser's windows is gone.
            self._show(queue)

    def run_next(self) -> None:
        """Deliver from the queue that has waited longest."""
        queue = next(iter(self.waiting))
        del self.waiting[queue]
        if not queue.is_deleted:
            self.run(queue)

    def _show(self, queue: Queue) -> None:
        """Deliver to the browsers that may have something to see."""
        ledger = self._ledger
        showing = queue.showing
        while showing:
            if ledger.room <= 0 and ledger.is_spent:
                self.waiting[queue] = None
                return
            room, browser = ledger.room, showing[0]
            if not browser.is_cancelled and not self._browse(queue, browser):
                return
            showing.popleft()
            if ledger.room == room:
                # One that has nothing to see costs a step too.
                ledger.room -= 1

    def _browse(self, queue: Queue, browser: Consumer) -> bool:
        """Deliver to a browser the messages it hasn't seen; return whether the turn's budget was enough."""
        ledger = self._ledger
        for entry in queue.unseen(browser.cursors):
            if ledger.room <= 0 and ledger.is_spent:
                self.waiting[queue] = None
                return False
            ledger.room -= browser.cost
            if not browser.wants(entry):
                continue
            if not browser.has_room_for(entry.message):
                queue.leave_to(browser, entry)
                return True
            browser.take(entry)
            self._effects.append(Deliver(browser, entry))
            if self._history is not None:
                self._note_delivered(entry, browser)
        queue.let_rest(browser)
        return True

    def _offer(self, queue: Queue) -> None:
        """Offer the messages behind the first one, which no consumer in the rotation wants."""
        queue.was_scanned = True
        ledger = self._ledger
        offered = queue.offered
        if not offered:
            offered = queue.offered = [-1] * (queue.levels_high + 1)
        level = floor = -1
        for entry in queue.unseen(offered):
            if ledger.room <= 0 and ledger.is_spent:
                self.waiting[queue] = None
                return
            ledger.room -= 1
            if entry.priority != level:
                level = entry.priority
                floor = offered[level]
            consumer = queue.taker(entry, ledger, floor)
            if consumer is not None:
                self._deliver(entry, consumer)
            elif queue.is_cut:
                queue.is_cut = False
                self.waiting[queue] = None
                return
            elif not queue.turns:
                return
            else:
                floor = entry.position

    def _deliver(self, entry: Entry, consumer: Consumer) -> None:
        """Deliver an available message to a consumer that acquires."""
        queue = entry.queue
        if not consumer.take(entry):
            queue.rest(consumer)
        queue.acquire(entry, consumer.owner, consumer)
        self.hand_over(entry, consumer)

    def hand_over(self, entry: Entry, consumer: Consumer) -> None:
        """Hand an acquired message to its consumer; with `settles`, accept it at once."""
        self._effects.append(Deliver(consumer, entry))
        if self._history is not None:
            self._note_delivered(entry, consumer)
        if consumer.settles:
            self.refill(entry, consumer)
            # Nobody has passed a message for its group meanwhile: the group was as free before.
            entry.queue.archive(entry, EntryInput.ACCEPT)
            self._ledger.drop(entry.message)
            if self._history is not None:
                self._ledger.note("accepted", entry.queue, entry.message, consumer.owner, consumer=str(consumer.key))
            self.leave_if_empty(entry.queue)
        else:
            consumer.owner.held[entry] = None

    def _note_delivered(self, entry: Entry, consumer: Consumer) -> None:
        self._ledger.note(
            "delivered",
            entry.queue,
            entry.message,
            consumer.owner,
            consumer=str(consumer.key),
            redelivered=entry.redelivered,
        )

    def look_again(self, queue: Queue) -> None:
        """Run the queue again after a message left that consumers may have lacked the room for."""
        if queue.ready and (queue.turns or queue.showing):
            self.runnable[queue] = None

    def get(self, command: commands.Get) -> Entry | None:
        """Carry out `Get`."""
        owner = command.owner
        queue = owner.find_queue(command.queue)
        if queue.exclusive_consumer is not None:
            text = f"queue {queue.name!r} in vhost {owner.vhost.name!r} in exclusive use"
            raise Fault(FaultKind.EXCLUSIVE, text)
        queue.used_at = self._ledger.now
        self.catch_up(queue)
        entry = queue.first_for(owner, self._ledger, command.filter)
        if entry is None:
            return None
        queue.acquire(entry, owner, None)
        self._watch_head(queue)
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
        self._ledger.room -= len(command.entries)
        for entry in command.entries:
            if entry.state is State.AVAILABLE and not entry.queue.is_deleted:
                entry.queue.acquire(entry, command.owner, command.consumer)
                self._watch_head(entry.queue)
                self.look_again(entry.queue)
                command.owner.held[entry] = None
                taken.append(entry)
        return tuple(taken)

    # Messages that leave their queues unsettled.

    def expire(self, queue: Queue) -> None:
        """Expire the messages of a queue that are due, and the queue itself after its time without use. What is over
        the turn's budget waits in `late`."""
        ledger = self._ledger
        now = ledger.now
        if queue.returning is not None:
            self.late[queue] = None
            return
        while (entry := queue.due(now)) is not None:
            if ledger.room <= 0 and ledger.is_spent:
                self.late[queue] = None
                return
            ledger.room -= 1
            ledger.note("expired", queue, entry.message)
            self.die(entry, "expired", EntryInput.EXPIRE)
        was_late = self.late and queue in self.late
        if was_late:
            del self.late[queue]
            self.look_again(queue)
        self.leave_if_empty(queue)
        idle = queue.options.expires
        if idle is not None and not queue.consumers and queue.used_at + idle <= now:
            self.delete(queue, "it wasn't used for its x-expires")
        if was_late and not queue.is_deleted:
            # A queue that is gone has no deadline any more.
            ledger.watch(queue)

    def expire_more(self) -> None:
        """Go on with the queues whose messages have expired."""
        ledger = self._ledger
        while self.late:
            if ledger.room <= 0 and ledger.is_spent:
                return
            queue = next(iter(self.late))
            self.expire(queue)
            if queue in self.late:
                # The next one has its turn.
                self.late[queue] = self.late.pop(queue)
                return

    def catch_up(self, queue: Queue) -> None:
        """Do what earlier turns have left in a queue, before a client asks what it has. Raises Postponed."""
        ledger = self._ledger
        if queue.held:
            if ledger.in_turn:
                raise Postponed
            self._chores.finish()
        if (self.late and queue in self.late) or (queue.expires_at_head and queue.expiring):
            self.expire(queue)
            if queue in self.late:
                raise Postponed

    def make_way(self, queue: Queue, content: Content) -> None:
        """Expire as many messages as a new one needs the room of, in a queue where some still wait for that."""
        now = self._ledger.now
        while queue.is_full_for(content) and (entry := queue.due(now)) is not None:
            self._ledger.room -= 1
            self._ledger.note("expired", queue, entry.message)
            self.die(entry, "expired", EntryInput.EXPIRE)

    def _watch_head(self, queue: Queue) -> None:
        """Schedule the expiry of the message that has become a queue's next one."""
        if queue.expires_at_head and queue.expiring:
            self._ledger.watch(queue)

    def watch(self, queue: Queue) -> None:
        """Schedule the next expiry in a queue."""
        self._ledger.watch(queue)

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
            self.dead.append((queue.vhost, queue.alternate, message.routing_key, (), message, True))
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
        self.dead.append((queue.vhost, options.dead_letter_exchange, routing_key, deaths, message, False))

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


def _options_of(command: commands.DeclareQueue) -> QueueOptions:
    options = queue_options(command.arguments, strict=command.strict)
    limit = command.delivery_limit
    if limit is None or options.delivery_limit is not None:
        return options
    if as_text(command.arguments.get("x-queue-type")) != "quorum":
        return options
    given: dict[str, Any] = {name: getattr(options, name) for name in options.__match_args__}
    given["delivery_limit"] = limit
    return QueueOptions(**given)


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
