"""The invariants of a broker between commands, counted again from the messages themselves: `Broker.check`.

It looks at everything there is, so it is for tests, and for whoever changes the model. Each function raises
AssertionError.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from .commands import Publish, Settle
from .content import MESSAGE_OCTETS, PLACE_OCTETS
from .exchange import predeclared
from .queue import Queue
from .states import State

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from .content import Message
    from .exchange import Destination
    from .ledger import Ledger
    from .queue import Consumer, Entry, Owner, Transaction, VirtualHost, Window

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
            assert entry.state is State.ACQUIRED, (owner, entry)
            assert entry.owner is owner, (owner, entry)
        found.update(owner.held)
    for transaction in transactions.values():
        for each in transaction.work:
            if isinstance(each, Settle):
                assert all([entry.transaction is transaction for entry in each.entries])
                found.update(dict.fromkeys(each.entries))
    for entry in found:
        assert entry.state is not State.ARCHIVED, entry
    return found


def check_queue(ledger: Ledger, queue: Queue, alive: Mapping[Entry, None]) -> None:
    """Check a queue's counts and indexes; `alive` are all places of messages."""
    assert not queue.is_deleted, queue
    entries = list(queue.available())
    acquired = [each for each in alive if each.queue is queue and each.state is State.ACQUIRED]
    assert queue.ready == len(entries), queue
    assert queue.unsettled == len(acquired), (queue, acquired)
    assert queue.octets == sum([each.message.content.size for each in entries]), queue
    assert queue.ranked == tuple([queue.levels[each] for each in sorted(queue.levels, reverse=True)]), queue
    for number, level in queue.levels.items():
        places = [each.position for each in level]
        assert places == sorted(set(places)), queue
        assert all([each.linked and each.priority == number and each.queue is queue for each in level])
    for entry in entries:
        assert (entry.owner, entry.consumer, entry.transaction) == (None, None, None), entry
        assert entry.position < queue.next_position
    # Times to live.
    times = {(when, each) for when, _, each in queue.expiring}
    for entry in entries:
        assert entry.expires is None or (entry.expires, entry) in times, entry
    assert len(queue.expiring) <= 2 * queue.ready + _STALE
    deadline = queue.next_deadline()
    if deadline is not None:
        known = ledger.deadline_of(queue)
        assert known is not None, (queue, deadline)
        assert known <= deadline, (queue, deadline, known)
        assert ledger.next_deadline is not None
        assert ledger.next_deadline <= known
    _check_consumers(queue, entries)


def _check_browsers(queue: Queue, entries: list[Entry]) -> None:
    """Each is where it has to be, and none lacks a message that it could be shown."""
    showing = [each for each in queue.showing if not each.is_cancelled]
    assert len(showing) == len(set(showing)), queue
    assert len(queue.showing) <= 2 * len(queue.browsers) + _STALE, queue
    watching = [each for alike in queue.watching.values() for each in alike.values()]
    assert all(queue.watching.values()), queue
    assert {each for each in queue.browsers.values() if each.waiting} == {*showing, *watching}, queue
    for cursors, alike in queue.watching.items():
        for number, each in alike.items():
            assert (each.number, tuple(each.cursors)) == (number, cursors), queue
        assert not [each for each in entries if each.position > cursors[each.priority]], queue
    for each in queue.browsers.values():
        assert each.waiting or not each.has_room() or each.number in queue.cramped, (queue, each)


def _check_consumers(queue: Queue, entries: list[Entry]) -> None:
    owners = {each.owner for each in queue.consumers.values()}
    known = [each for owner in owners for each in owner.consumers.values() if each.queue is queue]
    assert {each.number for each in known} == set(queue.consumers), queue
    browsers = {number for number, each in queue.consumers.items() if not each.acquires}
    assert set(queue.browsers) == browsers, queue
    _check_browsers(queue, entries)
    choosy = [each for each in queue.consumers.values() if each.acquires and each.is_choosy]
    assert queue.choosy == len(choosy), queue
    for each in queue.consumers.values():
        for entry in entries:
            assert not (each.has_declined(entry) and each.wants(entry)), (each, entry)
    taking = [each for turns in queue.turns.values() for each in turns]
    assert len(taking) == len(set(taking)), queue
    assert queue.order == sorted([-each for each in queue.turns]), queue
    for turns in queue.turns.values():
        assert [each.served for each in turns] == sorted({each.served for each in turns}), queue
    for each in taking:
        assert each.acquires
        assert queue.consumers.get(each.number) is each
    for each in queue.consumers.values():
        assert not each.is_cancelled
        assert not each.acquires or each.waiting == (each in taking), each
        assert queue.exclusive_consumer is (each if each.exclusive else None) or not each.exclusive
    for number, (consumer, entry) in queue.cramped.items():
        assert queue.consumers.get(number) is consumer
        assert entry.queue is queue
        assert queue.blocking[-entry.priority, entry.position][number] is consumer
    assert sum(map(len, queue.blocking.values())) == len(queue.cramped), queue
    assert queue.blocked_at == sorted(queue.blocking), queue
    acquiring = [each for each in queue.consumers.values() if each.acquires]
    assert not queue.options.single_active_consumer or (queue.active in acquiring) == bool(acquiring)
    assert queue.active is None or queue.active in acquiring
    for each in acquiring:
        if queue.active in (None, each):
            _check_waiting(each, entries)


def _check_waiting(consumer: Consumer, entries: list[Entry]) -> None:
    """Nobody has to wait for a message that is there: the first one that it wants doesn't fit, if any is wanted."""
    if not consumer.has_room():
        return
    wanted = next((each for each in entries if consumer.wants(each)), None)
    assert wanted is None or not consumer.has_room_for(wanted.message), (consumer, wanted)


def check_owner(ledger: Ledger, transactions: Mapping[int, Transaction], owner: Owner) -> None:
    """Check an owner's place among the others, and what it has."""
    assert not owner.is_closed, owner
    assert ledger.vhosts[owner.vhost.name] is owner.vhost
    parent = owner.parent
    assert parent is None or parent.children.get(owner.number) is owner, owner
    for number, child in owner.children.items():
        assert ledger.owners.get(number) is child, owner
    for number, consumer in owner.consumers.items():
        assert consumer.owner is owner
        assert consumer.queue.consumers.get(number) is consumer, consumer
    queues = owner.vhost.queues
    for name, queue in owner.exclusive.items():
        assert queues.get(name) is queue, queue
        assert queue.exclusive_to is owner, queue
    for name, queue in owner.created.items():
        assert queues.get(name) is queue, queue
        assert queue.creator is owner, queue
    assert all(times > 0 for _, times in owner.links.values()), owner
    for number, transaction in owner.transactions.items():
        assert transactions.get(number) is transaction


def check_transactions(ledger: Ledger, transactions: Mapping[int, Transaction], pending: int) -> None:
    """Check the open transactions; `pending` are the octets of their publishes."""
    total = 0
    for number, transaction in transactions.items():
        assert transaction.number == number
        publishes = [each for each in transaction.work if isinstance(each, Publish)]
        octets = sum([each.content.octets + MESSAGE_OCTETS for each in publishes])
        assert transaction.octets == octets, transaction
        assert octets <= ledger.limits.transaction_octets
        assert transaction.owner is None or transaction.owner.transactions.get(number) is transaction
        total += octets
    assert pending == total
    assert total <= ledger.limits.memory_high
    assert len(transactions) <= ledger.limits.transactions


def check_octets(ledger: Ledger, alive: Mapping[Entry, None]) -> None:
    """Check what the ledger counts; `alive` are all places of messages."""
    copies: Counter[Message] = Counter([each.message for each in alive])
    octets = 0
    for message, count in copies.items():
        assert message.copies == count, (message, message.copies, count)
        octets += message.octets + MESSAGE_OCTETS + PLACE_OCTETS * count
    assert ledger.octets == octets, (ledger.octets, octets)
    topology = sum([_octets_of(vhost) for vhost in ledger.vhosts.values()])
    assert ledger.topology == topology, (ledger.topology, topology)
    limits = ledger.limits
    assert topology <= limits.topology
    assert ledger.is_blocked or ledger.held_up or not octets or octets + topology <= limits.memory_high
    assert not ledger.is_blocked or ledger.held_up or octets + topology > limits.memory_low


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
        assert exchange.name == name
        for binding in exchange.bindings.values():
            total += 1
            destination = binding.destination
            kept = (vhost.queues if isinstance(destination, Queue) else vhost.exchanges).get(destination.name)
            assert kept is destination, binding
            sources.setdefault(destination, Counter())[name] += 1
    assert vhost.bindings == total, vhost
    assert {each: dict(counts) for each, counts in sources.items()} == vhost.sources
    exclusive = [each for each in vhost.queues.values() if each.exclusive_to is not None]
    for queue in exclusive:
        assert queue.exclusive_to is not None
        assert queue.exclusive_to.exclusive.get(queue.name) is queue, queue


def check_windows(owners: Iterable[Owner]) -> None:
    """Check that windows and the consumers that count in them know one another."""
    windows: dict[Window, None] = {}
    for owner in owners:
        for number, consumer in owner.consumers.items():
            for window in consumer.windows:
                assert window.consumers.get(number) is consumer, consumer
                windows[window] = None
    for window in windows:
        for number, consumer in window.consumers.items():
            assert consumer.owner.consumers.get(number) is consumer, consumer


__all__ = [
    "check_bindings",
    "check_octets",
    "check_owner",
    "check_queue",
    "check_transactions",
    "check_windows",
    "entries_of",
]
