"""Consumers: subscribing, windows, taking turns, fetching, acquiring, purging."""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import declaring
from .consumer import Consumer
from .effects import Deliver
from .entry import EntryInput, State
from .faults import Fault, FaultKind

if TYPE_CHECKING:
    from . import commands
    from .broker import Broker
    from .consumer import Window
    from .entry import Entry
    from .queue import Queue


def subscribe(broker: Broker, command: commands.Subscribe) -> Consumer:
    """`Subscribe`."""
    owner = command.owner
    queue = declaring.find_queue(owner, command.queue)
    if queue.exclusive_consumer is not None or (command.exclusive and queue.consumers):
        text = f"queue {queue.name!r} in vhost {owner.vhost.name!r} in exclusive use"
        raise Fault(FaultKind.EXCLUSIVE, text)
    if len(queue.consumers) >= broker.limits.consumers:
        text = f"queue {queue.name!r} has {broker.limits.consumers} consumers, BrokerLimits.consumers allows no more"
        raise Fault(FaultKind.LIMIT, text)
    consumer = Consumer(
        broker.new_number(),
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
    wake(broker, consumer)
    return consumer


def cancel(broker: Broker, command: commands.Cancel) -> None:
    """`Cancel`."""
    consumer = command.consumer
    if consumer.is_cancelled:
        return
    remove_consumer(broker, consumer)
    declaring.leave_if_unused(broker, consumer.queue)


def remove_consumer(broker: Broker, consumer: Consumer) -> None:
    """A consumer ends; its queue stays."""
    consumer.is_cancelled = True
    consumer.owner.consumers.pop(consumer.number, None)
    for window in consumer.windows:
        window.consumers.pop(consumer.number, None)
    queue = consumer.queue
    queue.remove_consumer(consumer)
    queue.used_at = broker.now
    if queue.options.expires is not None and not queue.consumers:
        broker.watch(queue)
    if queue.active is not None or queue.options.group_key is not None:
        broker.runnable[queue] = None


def grant(broker: Broker, command: commands.Grant) -> None:
    """`Grant`."""
    window = command.window
    if window.messages is not None:
        window.messages += command.messages
    if window.octets is not None:
        window.octets += command.octets
    wake_all(broker, window)


def set_window(broker: Broker, command: commands.SetWindow) -> None:
    """`SetWindow`."""
    window = command.window
    window.messages = command.messages
    window.octets = command.octets
    wake_all(broker, window)


def change_windows(broker: Broker, command: commands.ChangeWindows) -> None:
    """`ChangeWindows`."""
    consumer = command.consumer
    if consumer.is_cancelled:
        return
    for window in consumer.windows:
        window.consumers.pop(consumer.number, None)
    consumer.windows = command.windows
    for window in consumer.windows:
        window.consumers[consumer.number] = consumer
    if not consumer.waiting:
        wake(broker, consumer)


def wake_all(broker: Broker, window: Window) -> None:
    """A window has changed."""
    for consumer in window.consumers.values():
        if not consumer.waiting:
            wake(broker, consumer)


def wake(broker: Broker, consumer: Consumer) -> None:
    """If a consumer that doesn't take turns has room, it does again."""
    if consumer.has_room():
        queue = consumer.queue
        if consumer.acquires:
            queue.wake(consumer)
        if queue.ready:
            broker.runnable[queue] = None


def refill(broker: Broker, entry: Entry, consumer: Consumer) -> None:
    """A message that isn't with a consumer any more counts no longer in the windows that refill."""
    for window in consumer.windows:
        if window.refills:
            if window.messages is not None:
                window.messages += 1
            if window.octets is not None:
                window.octets += consumer.octets_of(entry.message)
            if window.messages is not None or window.octets is not None:
                wake_all(broker, window)


def run_all(broker: Broker) -> None:
    """Deliver what can be delivered."""
    runnable = broker.runnable
    while runnable:
        queue = next(iter(runnable))
        del runnable[queue]
        if not queue.is_deleted:
            run(broker, queue)


def run(broker: Broker, queue: Queue) -> None:
    """Deliver what a queue has to those who have room for it."""
    if queue.browsers:
        _show(broker, queue)
    count = queue.ready
    _serve(broker, queue)
    if queue.browsers and queue.ready < count:
        # What a browser had no room for may be gone.
        _show(broker, queue)


def deliver(broker: Broker, entry: Entry, consumer: Consumer) -> None:
    """An available message goes to a consumer that acquires."""
    queue = entry.queue
    consumer.take(entry)
    queue.acquire(entry, consumer.owner, consumer)
    hand_over(broker, entry, consumer)


def hand_over(broker: Broker, entry: Entry, consumer: Consumer) -> None:
    """An acquired message is the consumer's; with `settles` it is done with at once."""
    broker.effects.append(Deliver(consumer, entry))
    if broker.history is not None:
        _note(broker, entry, consumer)
    if consumer.settles:
        refill(broker, entry, consumer)
        entry.queue.archive(entry, EntryInput.ACCEPT)
        if entry.group is not None:
            look_again(broker, entry.queue)
        broker.drop(entry.message)
        if broker.history is not None:
            broker.history.add(
                "accepted", broker.now, entry.queue.vhost.name, entry.message, consumer.owner,
                queue=entry.queue.name, consumer=str(consumer.key),
            )  # fmt: skip
        leave_if_empty(broker, entry.queue)
    else:
        consumer.owner.held[entry] = None


def get(broker: Broker, command: commands.Get) -> Entry | None:
    """`Get`."""
    owner = command.owner
    queue = declaring.find_queue(owner, command.queue)
    if queue.exclusive_consumer is not None:
        text = f"queue {queue.name!r} in vhost {owner.vhost.name!r} in exclusive use"
        raise Fault(FaultKind.EXCLUSIVE, text)
    queue.used_at = broker.now
    entry = queue.first_for(owner)
    if entry is None:
        return None
    queue.acquire(entry, owner, None)
    look_again(broker, queue)
    if broker.history is not None:
        broker.history.add(
            "got", broker.now, queue.vhost.name, entry.message, owner, queue=queue.name, redelivered=entry.redelivered
        )
    if command.settles:
        queue.archive(entry, EntryInput.ACCEPT)
        broker.drop(entry.message)
        if broker.history is not None:
            broker.history.add("accepted", broker.now, queue.vhost.name, entry.message, owner, queue=queue.name)
        leave_if_empty(broker, queue)
    else:
        owner.held[entry] = None
    return entry


def acquire(broker: Broker, command: commands.Acquire) -> tuple[Entry, ...]:
    """`Acquire`."""
    taken: list[Entry] = []
    for entry in command.entries:
        if entry.state is State.AVAILABLE and not entry.queue.is_deleted:
            entry.queue.acquire(entry, command.owner, command.consumer)
            look_again(broker, entry.queue)
            command.owner.held[entry] = None
            taken.append(entry)
    return tuple(taken)


def purge(broker: Broker, command: commands.PurgeQueue) -> int:
    """`PurgeQueue`."""
    queue = declaring.find_queue(command.owner, command.name)
    entries = list(queue.available())
    for entry in entries:
        queue.archive(entry, EntryInput.DROP)
        broker.drop(entry.message)
        if broker.history is not None:
            broker.history.add(
                "purged", broker.now, queue.vhost.name, entry.message, command.owner, queue=queue.name
            )
    if entries:
        leave_if_empty(broker, queue)
    return len(entries)


def leave_if_empty(broker: Broker, queue: Queue) -> None:
    """A dynamic node goes with its last message, if that is its lifetime."""
    if queue.lifetime is not None and not queue.messages:
        declaring.leave_if_unused(broker, queue)


def look_again(broker: Broker, queue: Queue) -> None:
    """A message has gone that some may have had no room for: they get what comes behind it."""
    if queue.ready and (queue.turns or queue.browsers):
        broker.runnable[queue] = None


def _serve(broker: Broker, queue: Queue) -> None:
    """Deliver to those who acquire, in turns."""
    while queue.turns:
        entry = queue.first()
        if entry is None:
            return
        consumer = queue.taker(entry)
        if consumer is not None:
            deliver(broker, entry, consumer)
        elif queue.turns:
            _offer(broker, queue)
            return


def _show(broker: Broker, queue: Queue) -> None:
    """Deliver to those who browse."""
    for browser in list(queue.browsers.values()):
        _browse(broker, queue, browser)


def _browse(broker: Broker, queue: Queue, browser: Consumer) -> None:
    """Show a browser what it hasn't seen."""
    for entry in queue.unseen(browser.cursors):
        if not browser.wants(entry):
            continue
        if not browser.has_room_for(entry.message):
            browser.waiting = False
            return
        browser.take(entry)
        broker.effects.append(Deliver(browser, entry))
        if broker.history is not None:
            _note(broker, entry, browser)


def _offer(broker: Broker, queue: Queue) -> None:
    """Nobody who takes turns wants the first message: offer the others."""
    queue.was_scanned = True
    for entry in queue.unseen(queue.offered):
        consumer = queue.taker(entry)
        if consumer is not None:
            deliver(broker, entry, consumer)
        elif not queue.turns:
            return


def _note(broker: Broker, entry: Entry, consumer: Consumer) -> None:
    assert broker.history is not None
    broker.history.add(
        "delivered",
        broker.now,
        entry.queue.vhost.name,
        entry.message,
        consumer.owner,
        queue=entry.queue.name,
        consumer=str(consumer.key),
        redelivered=entry.redelivered,
    )
