"""The invariants of a broker between commands, counted again from the messages themselves: `Broker.check`.

It looks at everything there is, so it is for tests, and for whoever changes the model. Each function raises
AssertionError.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from ..._ground.invariants import ensure
from .commands import Publish, Settle
from .content import MESSAGE_OCTETS, PLACE_OCTETS
from .exchange import predeclared
from .queue import Queue
from .states import State

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from .consumer import Consumer, Window
    from .content import Message
    from .entry import Entry
    from .exchange import Destination
    from .ledger import Ledger
    from .owner import Owner, Transaction
    from .vhost import VirtualHost

_STALE: Final = 66
"""Most places that a queue keeps in excess of twice the live ones."""


def entries_of(ledger: Ledger, transactions: Mapping[int, Transaction]) -> dict[Entry, None]:
    """Return every message's place that somebody can still find: in queues, with owners, in transactions."""
    found: dict[Entry, None] = {}
    for vhost in ledger.vhosts.values():
        for queue in vhost.queues.values():
            found.update(dict.fromkeys(queue.available()))
    for owner in ledger.owners.values():
        for entry in owner.held:
            ensure(entry.state is State.ACQUIRED, owner, "what an owner holds is acquired", entry)
            ensure(entry.owner is owner, owner, "what an owner holds has that owner", entry)
        found.update(owner.held)
    for transaction in transactions.values():
        for each in transaction.work:
            if isinstance(each, Settle):
                mine = all([entry.transaction is transaction for entry in each.entries])
                ensure(mine, transaction, "what a transaction settles is in that transaction")
                found.update(dict.fromkeys(each.entries))
    for entry in found:
        ensure(entry.state is not State.ARCHIVED, entry, "nothing that is done with is kept")
    return found


def check_queue(ledger: Ledger, queue: Queue, alive: Mapping[Entry, None]) -> None:
    """Check a queue's counts and indexes; `alive` are all places of messages."""
    ensure(not queue.is_deleted, queue, "a queue of a virtual host isn't deleted")
    entries = list(queue.available())
    acquired = [each for each in alive if each.queue is queue and each.state is State.ACQUIRED]
    ensure(queue.ready == len(entries), queue, "`ready` counts the messages that are available", len(entries))
    ensure(queue.unsettled == len(acquired), queue, "`unsettled` counts the acquired messages", acquired)
    octets = sum([each.message.content.size for each in entries])
    ensure(queue.octets == octets, queue, "`octets` counts those of available messages", queue.octets, octets)
    ranked = tuple([queue.levels[each] for each in sorted(queue.levels, reverse=True)])
    ensure(queue.ranked == ranked, queue, "`ranked` has the levels, the highest first")
    for number, level in queue.levels.items():
        places = [each.position for each in level]
        ensure(places == sorted(set(places)), queue, "a level is in the order of positions", places)
        linked = all([each.linked and each.priority == number and each.queue is queue for each in level])
        ensure(linked, queue, "an entry in a level is linked there", number)
    for entry in entries:
        free = (entry.owner, entry.consumer, entry.transaction) == (None, None, None)
        ensure(free, entry, "an available message is nobody's")
        ensure(entry.position < queue.next_position, entry, "`next_position` is behind all", queue.next_position)
    # Times to live.
    times = {(when, each) for when, _, each in queue.expiring}
    for entry in entries:
        timed = entry.expires is None or (entry.expires, entry) in times
        ensure(timed, entry, "a message with a time to live is in `expiring`", entry.expires)
    ensure(len(queue.expiring) <= 2 * queue.ready + _STALE, queue, "`expiring` has few that are gone", queue.ready)
    deadline = queue.next_deadline()
    if deadline is not None:
        known = ledger.deadline_of(queue)
        timed = known is not None and known <= deadline
        ensure(timed, queue, "the ledger knows when a queue is due", deadline, known)
        first = ledger.next_deadline
        ensure(first is not None and known is not None and first <= known, queue, "the first deadline is known", first)
    _check_consumers(queue, entries)


def _check_browsers(queue: Queue, entries: list[Entry]) -> None:
    """Each is where it has to be, and none lacks a message that it could be shown."""
    showing = [each for each in queue.showing if not each.is_cancelled]
    ensure(len(showing) == len(set(showing)), queue, "a browser is shown to once")
    ensure(len(queue.showing) <= 2 * len(queue.browsers) + _STALE, queue, "`showing` has few that are gone")
    watching = [each for alike in queue.watching.values() for each in alike.values()]
    ensure(all(queue.watching.values()), queue, "no place is watched by nobody")
    waiting = {each for each in queue.browsers.values() if each.waiting}
    ensure(waiting == {*showing, *watching}, queue, "a browser that waits is shown to, or watches", waiting)
    for cursors, alike in queue.watching.items():
        for number, each in alike.items():
            ensure((each.number, tuple(each.cursors)) == (number, cursors), queue, "a browser watches its place", each)
        unseen = [each for each in entries if each.position > cursors[each.priority]]
        ensure(not unseen, queue, "browsers that watch have seen all", unseen)
    for each in queue.browsers.values():
        idle = each.waiting or not each.has_room() or each.number in queue.cramped
        ensure(idle, queue, "a browser with room waits", each)


def _check_consumers(queue: Queue, entries: list[Entry]) -> None:
    owners = {each.owner for each in queue.consumers.values()}
    known = [each for owner in owners for each in owner.consumers.values() if each.queue is queue]
    numbers = {each.number for each in known}
    ensure(numbers == set(queue.consumers), queue, "queue and owners know the same consumers", numbers)
    browsers = {number for number, each in queue.consumers.items() if not each.acquires}
    ensure(set(queue.browsers) == browsers, queue, "`browsers` are the consumers that don't acquire", browsers)
    _check_browsers(queue, entries)
    choosy = [each for each in queue.consumers.values() if each.acquires and each.is_choosy]
    ensure(queue.choosy == len(choosy), queue, "`choosy` counts the consumers that choose", queue.choosy)
    for each in queue.consumers.values():
        for entry in entries:
            missed = each.has_declined(entry) and each.wants(entry)
            ensure(not missed, queue, "nobody has declined what it wants", each, entry)
    taking = [each for turns in queue.turns.values() for each in turns]
    ensure(len(taking) == len(set(taking)), queue, "a consumer has one place in the rotation")
    order = sorted([-each for each in queue.turns])
    ensure(queue.order == order, queue, "`order` has the priorities in turn", queue.order, order)
    for turns in queue.turns.values():
        served = [each.served for each in turns]
        ensure(served == sorted(set(served)), queue, "who was served first is served first", served)
    for each in taking:
        known_here = each.acquires and queue.consumers.get(each.number) is each
        ensure(known_here, queue, "who takes turns is a consumer that acquires", each)
    for each in queue.consumers.values():
        ensure(not each.is_cancelled, queue, "no consumer is cancelled", each)
        ensure(not each.acquires or each.waiting == (each in taking), queue, "who waits takes turns", each)
        ensure(queue.exclusive_consumer is each or not each.exclusive, queue, "an exclusive consumer is known", each)
    for number, (consumer, entry) in queue.cramped.items():
        here = queue.consumers.get(number) is consumer and entry.queue is queue
        ensure(here, queue, "who lacks room for a message is a consumer here", consumer, entry)
        behind = queue.blocking.get((-entry.priority, entry.position), {})
        ensure(behind.get(number) is consumer, queue, "who lacks room is known at the message", consumer, entry)
    count = sum(map(len, queue.blocking.values()))
    ensure(count == len(queue.cramped), queue, "`blocking` has those in `cramped`", count, len(queue.cramped))
    ensure(queue.blocked_at == sorted(queue.blocking), queue, "`blocked_at` has the places in order")
    acquiring = [each for each in queue.consumers.values() if each.acquires]
    single = not queue.options.single_active_consumer or (queue.active in acquiring) == bool(acquiring)
    ensure(single, queue, "one consumer is active where only one may be", queue.active)
    ensure(queue.active is None or queue.active in acquiring, queue, "the active consumer acquires", queue.active)
    for each in acquiring:
        if queue.active in (None, each):
            _check_waiting(each, entries)


def _check_waiting(consumer: Consumer, entries: list[Entry]) -> None:
    """Nobody has to wait for a message that is there: the first one that it wants doesn't fit, if any is wanted."""
    if not consumer.has_room():
        return
    wanted = next((each for each in entries if consumer.wants(each)), None)
    fits = wanted is not None and consumer.has_room_for(wanted.message)
    ensure(not fits, consumer, "nobody waits for a message that is there", wanted)


def check_owner(ledger: Ledger, transactions: Mapping[int, Transaction], owner: Owner) -> None:
    """Check an owner's place among the others, and what it has."""
    ensure(not owner.is_closed, owner, "an owner of the ledger isn't closed")
    ensure(ledger.vhosts[owner.vhost.name] is owner.vhost, owner, "its virtual host is the broker's")
    parent = owner.parent
    ensure(parent is None or parent.children.get(owner.number) is owner, owner, "its parent knows it")
    for number, child in owner.children.items():
        ensure(ledger.owners.get(number) is child, owner, "its children are owners", child)
    for number, consumer in owner.consumers.items():
        ensure(consumer.owner is owner, owner, "its consumers have it as their owner", consumer)
        here = consumer.queue.consumers.get(number) is consumer
        ensure(here, owner, "its consumers are their queues'", consumer)
    queues = owner.vhost.queues
    for name, queue in owner.exclusive.items():
        mine = queues.get(name) is queue and queue.exclusive_to is owner
        ensure(mine, owner, "what is exclusive to it is a queue that says so", queue)
    for name, queue in owner.created.items():
        mine = queues.get(name) is queue and queue.creator is owner
        ensure(mine, owner, "what it has created is a queue that says so", queue)
    ensure(all([times > 0 for _, times in owner.links.values()]), owner, "each link of it is used")
    for number, transaction in owner.transactions.items():
        ensure(transactions.get(number) is transaction, owner, "its transactions are open", transaction)


def check_transactions(ledger: Ledger, transactions: Mapping[int, Transaction], pending: int) -> None:
    """Check the open transactions; `pending` are the octets of their publishes."""
    total = 0
    for number, transaction in transactions.items():
        ensure(transaction.number == number, transaction, "each transaction is kept by its number", number)
        publishes = [each for each in transaction.work if isinstance(each, Publish)]
        octets = sum([each.content.octets + MESSAGE_OCTETS for each in publishes])
        ensure(transaction.octets == octets, transaction, "`octets` counts its publishes", transaction.octets, octets)
        most = ledger.limits.transaction_octets
        ensure(octets <= most, transaction, "`transaction_octets` bounds it", octets)
        owner = transaction.owner
        ensure(owner is None or owner.transactions.get(number) is transaction, transaction, "its owner knows it")
        total += octets
    ensure(pending == total, "transactions", "`pending_octets` counts all publishes", pending, total)
    ensure(total <= ledger.limits.memory_high, "transactions", "`memory_high` bounds publishes", total)
    count = len(transactions)
    ensure(count <= ledger.limits.transactions, "transactions", "`BrokerLimits.transactions` bounds them", count)


def check_octets(ledger: Ledger, alive: Mapping[Entry, None]) -> None:
    """Check what the ledger counts; `alive` are all places of messages."""
    copies: Counter[Message] = Counter([each.message for each in alive])
    octets = 0
    for message, count in copies.items():
        ensure(message.copies == count, message, "`copies` counts the queues that have it", message.copies, count)
        octets += message.octets + MESSAGE_OCTETS + PLACE_OCTETS * count
    ensure(ledger.octets == octets, "ledger", "`octets` counts the messages", ledger.octets, octets)
    topology = sum([_octets_of(vhost) for vhost in ledger.vhosts.values()])
    ensure(ledger.topology == topology, "ledger", "`topology` counts what is declared", ledger.topology, topology)
    limits = ledger.limits
    ensure(topology <= limits.topology, "ledger", "`BrokerLimits.topology` bounds what is declared", topology)
    total = octets + topology
    full = not ledger.is_blocked and not ledger.held_up and octets and total > limits.memory_high
    ensure(not full, "ledger", "publishers wait above `memory_high`", total)
    free = ledger.is_blocked and not ledger.held_up and total <= limits.memory_low
    ensure(not free, "ledger", "publishers don't wait below `memory_low`", total)


def _octets_of(vhost: VirtualHost) -> int:
    """Return the octets of exchanges, queues, bindings and consumers, without the exchanges that are always there."""
    octets = sum([each.octets for each in vhost.exchanges.values()]) - sum([each.octets for each in predeclared()])
    for queue in vhost.queues.values():
        octets += queue.kept + sum([each.kept for each in queue.consumers.values()])
    return octets


def check_bindings(vhost: VirtualHost) -> None:
    """Check that bindings, their sources and their destinations know one another."""
    sources: dict[Destination, Counter[str]] = {}
    total = 0
    for name, exchange in vhost.exchanges.items():
        ensure(exchange.name == name, vhost, "each exchange is kept by its name", name)
        for binding in exchange.bindings.values():
            total += 1
            destination = binding.destination
            kept = (vhost.queues if isinstance(destination, Queue) else vhost.exchanges).get(destination.name)
            ensure(kept is destination, vhost, "a binding leads to what there is", binding)
            sources.setdefault(destination, Counter())[name] += 1
    ensure(vhost.bindings == total, vhost, "`bindings` counts them", vhost.bindings, total)
    counted = {each: dict(counts) for each, counts in sources.items()}
    ensure(counted == vhost.sources, vhost, "`sources` counts the bindings to each", vhost.sources, counted)
    exclusive = [each for each in vhost.queues.values() if each.exclusive_to is not None]
    for queue in exclusive:
        owner = queue.exclusive_to
        known = owner is not None and owner.exclusive.get(queue.name) is queue
        ensure(known, queue, "who has it for itself knows it", owner)


def check_bounds(ledger: Ledger, vhost: VirtualHost) -> None:
    """Check that what clients declare is within `BrokerLimits`."""
    limits = ledger.limits
    ensure(len(vhost.queues) <= limits.queues, vhost, "`BrokerLimits.queues` bounds queues", len(vhost.queues))
    count = len(vhost.exchanges)
    ensure(count <= limits.exchanges, vhost, "`BrokerLimits.exchanges` bounds exchanges", count)
    ensure(vhost.bindings <= limits.bindings, vhost, "`BrokerLimits.bindings` bounds bindings", vhost.bindings)
    for queue in vhost.queues.values():
        count = len(queue.consumers)
        ensure(count <= limits.consumers, queue, "`BrokerLimits.consumers` bounds consumers", count)


def check_windows(owners: Iterable[Owner]) -> None:
    """Check that windows and the consumers that count in them know one another."""
    windows: dict[Window, None] = {}
    for owner in owners:
        for number, consumer in owner.consumers.items():
            for window in consumer.windows:
                ensure(window.consumers.get(number) is consumer, consumer, "its windows know it")
                windows[window] = None
    for window in windows:
        for number, consumer in window.consumers.items():
            ensure(consumer.owner.consumers.get(number) is consumer, consumer, "a window's consumers are their owners'")


__all__ = [
    "check_bindings",
    "check_bounds",
    "check_octets",
    "check_owner",
    "check_queue",
    "check_transactions",
    "check_windows",
    "entries_of",
]
