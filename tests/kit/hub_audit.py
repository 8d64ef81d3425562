"""Audit: everything that a hub counts, counted again from the messages themselves; and a ledger of its history."""

# pyright: reportPrivateUsage=false
from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Any

from amqp_sansio.amqp_0_10.model.states import Attachment
from amqp_sansio.broker import Hub
from amqp_sansio.broker.frontends.amqp_0_10.frontend import Frontend_0_10
from amqp_sansio.broker.frontends.amqp_0_10.sessions import Register, ServedSession
from amqp_sansio.broker.frontends.amqp_1_0.frontend import Frontend_1_0
from amqp_sansio.broker.frontends.amqp_1_0.links import NodeLink, Termini
from amqp_sansio.broker.frontends.amqp_1_0.sources import OutgoingLink
from amqp_sansio.broker.frontends.classic.frontend import ClassicFrontend
from amqp_sansio.broker.model.broker import Broker
from amqp_sansio.broker.model.commands import Publish, Settle
from amqp_sansio.broker.model.content import MESSAGE_OCTETS, PLACE_OCTETS, Message
from amqp_sansio.broker.model.exchange import predeclared
from amqp_sansio.broker.model.queue import Consumer, Entry, Owner, Queue, Window
from amqp_sansio.broker.model.states import State
from tests.kit import using_0_10, using_1_0

if TYPE_CHECKING:
    from collections.abc import Iterable

    from amqp_sansio.broker.model.exchange import Destination, predeclared
    from amqp_sansio.broker.model.history import Happened
    from amqp_sansio.broker.model.queue import VirtualHost

_TOKEN = re.compile(rb"<[^<>]+>")


def audit(hub: Hub) -> None:
    """Whether all that a hub knows fits together, while nothing is on its way. Raises AssertionError."""
    broker = hub.model
    assert not broker.effects
    assert not broker.runnable
    assert not broker.dead
    alive = entries_of(broker)
    for vhost in broker.vhosts.values():
        _audit_bindings(vhost)
        for name, queue in vhost.queues.items():
            assert (queue.name, queue.vhost) == (name, vhost)
            _audit_queue(broker, queue, alive)
    for number, owner in broker.owners.items():
        assert owner.number == number
        _audit_owner(broker, owner)
    _audit_transactions(broker)
    _audit_octets(broker, alive)
    _audit_windows(hub)
    _audit_hub(hub)


def entries_of(broker: Broker) -> dict[Entry, None]:
    """Every message's place that somebody can still find: in queues, with owners, in transactions."""
    found: dict[Entry, None] = {}
    for vhost in broker.vhosts.values():
        for queue in vhost.queues.values():
            found.update(dict.fromkeys(queue.available()))
    for owner in broker.owners.values():
        for entry in owner.held:
            assert entry.state is State.ACQUIRED, (owner, entry)
            assert entry.owner is owner, (owner, entry)
        found.update(owner.held)
    for transaction in broker.transactions.values():
        for each in transaction.work:
            if isinstance(each, Settle):
                assert all([entry.transaction is transaction for entry in each.entries])
                found.update(dict.fromkeys(each.entries))
    for entry in found:
        assert entry.state is not State.ARCHIVED, entry
    return found


# The model.


def _audit_queue(broker: Broker, queue: Queue, alive: dict[Entry, None]) -> None:
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
    # What expires.
    times = {(when, each) for when, _, each in queue.expiring}
    for entry in entries:
        assert entry.expires is None or (entry.expires, entry) in times, entry
    assert len(queue.expiring) <= 2 * queue.ready + 66
    deadline = queue.next_deadline()
    if deadline is not None:
        known = broker.ledger._watched.get(queue)
        assert known is not None, (queue, deadline)
        assert known <= deadline, (queue, deadline, known)
        assert broker.next_deadline is not None
        assert broker.next_deadline <= known
    _audit_consumers(queue, entries)


def _audit_browsers(queue: Queue, entries: list[Entry]) -> None:
    """Each is where it has to be, and none lacks a message that it could be shown."""
    showing = [each for each in queue.showing if not each.is_cancelled]
    assert len(showing) == len(set(showing)), queue
    assert len(queue.showing) <= 2 * len(queue.browsers) + 65, queue
    watching = [each for alike in queue.watching.values() for each in alike.values()]
    assert all(queue.watching.values()), queue
    assert {each for each in queue.browsers.values() if each.waiting} == {*showing, *watching}, queue
    for cursors, alike in queue.watching.items():
        for number, each in alike.items():
            assert (each.number, tuple(each.cursors)) == (number, cursors), queue
        assert not [each for each in entries if each.position > cursors[each.priority]], queue
    for each in queue.browsers.values():
        assert each.waiting or not each.has_room() or each.number in queue.cramped, (queue, each)


def _audit_consumers(queue: Queue, entries: list[Entry]) -> None:
    owners = {each.owner for each in queue.consumers.values()}
    known = [each for owner in owners for each in owner.consumers.values() if each.queue is queue]
    assert {each.number for each in known} == set(queue.consumers), queue
    browsers = {number for number, each in queue.consumers.items() if not each.acquires}
    assert set(queue.browsers) == browsers, queue
    _audit_browsers(queue, entries)
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
            _audit_waiting(each, entries)


def _audit_waiting(consumer: Consumer, entries: list[Entry]) -> None:
    """Nobody has to wait for a message that is there: the first one that it wants doesn't fit, if any is wanted."""
    if not consumer.has_room():
        return
    wanted = next((each for each in entries if consumer.wants(each)), None)
    assert wanted is None or not consumer.has_room_for(wanted.message), (consumer, wanted)


def _audit_owner(broker: Broker, owner: Owner) -> None:
    assert not owner.is_closed, owner
    assert broker.vhosts[owner.vhost.name] is owner.vhost
    parent = owner.parent
    assert parent is None or parent.children.get(owner.number) is owner, owner
    for number, child in owner.children.items():
        assert broker.owners.get(number) is child, owner
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
        assert broker.transactions.get(number) is transaction


def _audit_transactions(broker: Broker) -> None:
    total = 0
    for number, transaction in broker.transactions.items():
        assert transaction.number == number
        publishes = [each for each in transaction.work if isinstance(each, Publish)]
        octets = sum([each.content.octets + MESSAGE_OCTETS for each in publishes])
        assert transaction.octets == octets, transaction
        assert octets <= broker.limits.transaction_octets
        assert transaction.owner is None or transaction.owner.transactions.get(number) is transaction
        total += octets
    assert broker.pending_octets == total
    assert total <= broker.limits.memory_high
    assert len(broker.transactions) <= broker.limits.transactions


def _audit_octets(broker: Broker, alive: dict[Entry, None]) -> None:
    copies: Counter[Message] = Counter([each.message for each in alive])
    octets = 0
    for message, count in copies.items():
        assert message.copies == count, (message, message.copies, count)
        octets += message.octets + MESSAGE_OCTETS + PLACE_OCTETS * count
    assert broker.ledger.octets == octets, (broker.ledger.octets, octets)
    topology = sum([_octets_of(vhost) for vhost in broker.vhosts.values()])
    assert broker.ledger.topology == topology, (broker.ledger.topology, topology)
    limits = broker.limits
    assert topology <= limits.topology
    assert broker.ledger.is_blocked or broker.ledger.held_up or not octets or octets + topology <= limits.memory_high
    assert not broker.ledger.is_blocked or broker.ledger.held_up or octets + topology > limits.memory_low


def _octets_of(vhost: VirtualHost) -> int:
    """What exchanges, queues, bindings and consumers count for; not the exchanges that are always there."""
    octets = sum([each.octets for each in vhost.exchanges.values()]) - sum([each.octets for each in predeclared()])
    for queue in vhost.queues.values():
        octets += queue.kept + sum([each.kept for each in queue.consumers.values()])
    return octets


def _audit_bindings(vhost: VirtualHost) -> None:
    sources: dict[Destination, Counter[str]] = {}
    total = 0
    for name, exchange in vhost.exchanges.items():
        assert exchange.name == name
        for binding in exchange.bindings.values():
            total += 1
            destination = binding.destination
            kept: Any = vhost.queues if isinstance(destination, Queue) else vhost.exchanges
            assert kept.get(destination.name) is destination, binding
            sources.setdefault(destination, Counter())[name] += 1
    assert vhost.bindings == total, vhost
    assert {each: dict(counts) for each, counts in sources.items()} == vhost.sources
    exclusive = [each for each in vhost.queues.values() if each.exclusive_to is not None]
    for queue in exclusive:
        assert queue.exclusive_to is not None
        assert queue.exclusive_to.exclusive.get(queue.name) is queue, queue


def _audit_windows(hub: Hub) -> None:
    """Windows and consumers know one another, and those that a channel has count what is out."""
    windows: dict[Window, None] = {}
    for owner in hub.model.owners.values():
        for number, consumer in owner.consumers.items():
            for window in consumer.windows:
                assert window.consumers.get(number) is consumer, consumer
                windows[window] = None
    for window in windows:
        for number, consumer in window.consumers.items():
            assert consumer.owner.consumers.get(number) is consumer, consumer
    for front in hub.fronts.values():
        for number, consumer in front.gate.consumers.items():
            assert consumer.owner.consumers.get(number) is consumer, consumer


# The front ends.


def _audit_hub(hub: Hub) -> None:
    broker = hub.model
    for number, client in hub.clients.items():
        assert client.number == number
        assert hub.fronts.get(number) is client.front
    assert set(hub.fronts) <= set(hub.clients)
    assert set(hub._dirty) <= set(hub.clients)
    for number, front in hub._owners.items():
        assert number in broker.owners, number
        assert hub.fronts.get(front.number) is front, number
    assert bool(hub.is_blocked) == broker.ledger.is_blocked
    known: dict[Owner, None] = {}
    for front in hub.fronts.values():
        if isinstance(front, ClassicFrontend):
            _audit_classic(front, known)
        elif isinstance(front, Frontend_1_0):
            _audit_1_0(front, known)
    register: Register | None = hub.shared.get("0-10")
    if register is not None:
        for session in register.known.values():
            _audit_session(register, session)
            known[session.owner] = None
    for front in hub.fronts.values():
        if isinstance(front, Frontend_0_10):
            _audit_0_10(front)
    termini: Termini | None = hub.shared.get("1.0")
    if termini is not None:
        _audit_termini(termini)
        known.update(dict.fromkeys([each.owner for each in (*termini.attached.values(), *termini.kept.values())]))
    assert set(broker.owners.values()) == set(known), "owners that nobody has"


def _audit_classic(front: ClassicFrontend, known: dict[Owner, None]) -> None:
    if front.owner is None or front.owner.is_closed:
        assert not front.channels
        assert not front.consumers
        return
    known[front.owner] = None
    connection = front.connection
    for number, channel in front.channels.items():
        known[channel.owner] = None
        engine = channel.engine
        hub: Any = front.hub
        assert hub._owners.get(channel.owner.number) is front
        if engine.is_open:
            assert connection._channels.get(number) is engine
            acquired = {tag for tag, each in channel.entries.items() if each.state is State.ACQUIRED}
            assert acquired <= set(engine.unsettled), (acquired, engine.unsettled)
            assert len(channel.entries) <= connection.config.limits.unsettled
            tags = {tag for tag, each in channel.own_consumers.items() if each.model is not None}
            assert tags <= set(engine.consumers), (tags, engine.consumers)
        leaving = [] if channel.files is None else [each[1] for each in channel.files.leaving]
        mine = {*channel.entries.values(), *channel.undecided.values(), *leaving}
        assert set(channel.owner.held) <= mine, (channel.owner, mine)
        limit = channel.shared[0]
        if limit and not channel.flow_stopped:
            used = _used(channel.window, channel.owner.held)
            assert channel.window.messages == limit - used, (channel.window.messages, limit, used)
        for tag, consumer in channel.own_consumers.items():
            assert consumer.tag == tag
            assert consumer.model is not None
            assert front.consumers.get(consumer.model.number) is consumer
            assert channel.owner.consumers.get(consumer.model.number) is consumer.model
    assert len(front.consumers) == sum([len(each.own_consumers) for each in front.channels.values()])
    if front.whole[0]:
        held = [each for channel in front.channels.values() for each in channel.owner.held]
        assert front.window.messages == front.whole[0] - _used(front.window, held)


def _used(window: Window, held: Iterable[Entry]) -> int:
    """How many of the messages that somebody has came through a window."""
    return sum([each.consumer is not None and window in each.consumer.windows for each in held])


def _audit_session(register: Register, session: ServedSession) -> None:
    assert not session.is_over
    assert register.known.get(session.key) is session
    front, core = session.front, session.core
    assert (front is None) == (core is None)
    if front is None or core is None:
        assert session.key in register._deadlines
        assert session.gate.messages == 0
    else:
        assert front.attached.get(core.channel) is session
        assert front.owned.get(session.owner.number) is session
        using_0_10.check_state(core._state, core._channel.transport.config.limits)
    numbers = {each.consumer.number for each in session.subscriptions.values()}
    assert set(session.users) == numbers
    assert set(session.owner.consumers) <= numbers
    desk = session.desk
    decided: list[Entry] = []
    for work in (session.work, *[each for book in register.books.values() for each in book.works.values()]):
        decided += [] if work is None else work.files
    mine = {*session.delivered.values(), *desk.unacked.values(), *[each for _, each in desk.sending], *decided}
    assert set(session.owner.held) <= mine, (session, session.owner.held, mine)
    assert len(session.seen) <= session.most_seen
    staged = sum([each.octets + 512 for each in desk.staged.values()])
    assert desk.octets == staged, session


def _audit_0_10(front: Frontend_0_10) -> None:
    using_0_10.check_books(front.connection)
    for channel, session in front.attached.items():
        core = session.core
        assert core is not None
        assert session.front is front
        assert core.channel == channel
        assert front.register.known.get(session.key) is session
        if core._channel.state is not Attachment.ATTACHED or session.owner.number in front.full:
            continue
        for (kind, name), each in session.subscriptions.items():
            if kind == "message" and core.is_attached:
                told = core.credit(name)
                assert (each.window.messages, each.window.octets) == told, (session, name, told, each.window.messages)
    for books in (front.owned, front.full, front.held):
        assert all([front.attached.get(each.core.channel) is each for each in books.values() if each.core])
        assert all([each.core is not None for each in books.values()])


def _audit_1_0(front: Frontend_1_0, known: dict[Owner, None]) -> None:
    using_1_0.check_books(front.connection)
    owner = front._connection_owner
    if owner is None or owner.is_closed:
        assert not front.consumers
        return
    known[owner] = None
    coordination = front.coordination
    assert set(coordination.work) == set(coordination.resource.transactions)
    for work in coordination.work.values():
        assert work.transaction.number in front.hub.model.transactions
    for (channel, handle), node in front.links.items():
        assert node.front is front
        assert (node.link.session.channel, node.link.handle) == (channel, handle)
        assert node.state is None
    for link in front.outgoing:
        _audit_outgoing(front, link)
    assert set(front.consumers) == {each.consumer.number for each in front.outgoing if each.consumer is not None}
    assert len(front.management.waiting) <= len(front.management.requests) + len(front.management.responses)


def _audit_outgoing(front: Frontend_1_0, link: OutgoingLink) -> None:
    assert link.link.is_attached or link.link.closing is not None, link.link_key
    if link.acquires:
        assert all([each.owner is link.owner for each in link.outbox])
    taken = {each for work in front.coordination.work.values() for each in work.acquired.values()}
    taken |= {each for work in front.coordination.work.values() for each in work.retired.values()}
    mine = {*link.held.values(), *link.outbox, *taken}
    assert set(link.owner.held) <= mine, (link.link_key, link.owner.held, mine)
    if link.consumer is None:
        return
    assert front.consumers.get(link.consumer.number) is link
    assert link.consumer.owner is link.owner
    engine = link.link
    if engine.closing is not None:
        # It was stolen by another one, and waits for its client's detach.
        return
    stands = engine.waiting is not None or engine.current is not None or engine.resending
    if not link.outbox and (stands or not engine.session.outgoing_window):
        # The next message waits in the outbox till the session's window is open.
        return
    expected = 0 if link.outbox else link.credit
    assert link.window.messages == expected, (link.link_key, link.window.messages, expected)


def _audit_termini(termini: Termini) -> None:
    for key, node in termini.attached.items():
        assert node.link_key == key
        assert node.front.links.get((node.link.session.channel, node.link.handle)) is node, key
        _audit_terminus(node)
    for key, node in termini.kept.items():
        assert node.link_key == key
        assert node.state is not None
        _audit_terminus(node)
    assert not set(termini.attached) & set(termini.kept)


def _audit_terminus(node: NodeLink) -> None:
    assert not node.owner.is_closed, node.link_key
    assert node.hub.model.owners.get(node.owner.number) is node.owner


# The ledger.


class Ledger:
    """What became of every message in every queue, by the broker's history alone.

    `update` reads what was added since the last time and compares: what came into a queue and was neither accepted,
    rejected, expired, dropped nor purged is still there, and nothing else is. Only who had got a message decides of it.
    """

    def __init__(self) -> None:
        self.read = 0
        self.alive: dict[tuple[str, str, int], None] = {}
        self.had: dict[tuple[str, str, int], set[int]] = {}
        self.known: dict[tuple[str, str], Queue] = {}
        self.orphans: dict[tuple[str, str, int], None] = {}
        """Those whose queue was deleted when somebody had them."""
        self.routed: dict[int, list[str]] = {}
        self.ended: dict[tuple[str, str, int], str] = {}
        self.numbers: dict[bytes, int] = {}
        """The number of each message that a witness published, by the name that it gave it."""
        self.refused: set[int] = set()
        """Those that a full queue didn't take."""

    def update(self, hub: Hub) -> None:
        """Go on to now, and compare with what there is."""
        broker = hub.model
        history = broker.history
        assert history is not None
        assert not history.dropped, "the history is too short"
        for number in range(self.read, len(history.records)):
            self._take(history.records[number])
        self.read = len(history.records)
        found = {(each.queue.vhost.name, each.queue.name, each.message.number) for each in entries_of(broker)}
        queues = {(each.name, name): queue for each in broker.vhosts.values() for name, queue in each.queues.items()}
        gone = {key for key, queue in self.known.items() if queues.get(key) is not queue}
        # They went with their queue, or somebody has them and can't give them back any more.
        self.orphans.update(dict.fromkeys([each for each in self.alive if each[:2] in gone]))
        missing = set(self.alive) - found
        for key in [each for each in missing if each in self.orphans or self.known.get(each[:2]) is None]:
            missing.discard(key)
            del self.alive[key]
        assert not missing, f"lost without a word: {sorted(missing)}"
        assert found <= set(self.alive), f"nobody knows from where: {sorted(found - set(self.alive))}"
        self.known = queues

    def _take(self, each: Happened) -> None:
        key = each.vhost, each.queue, each.number
        match each.kind:
            case "published":
                octets: Any = getattr(each.content, "body", None) or getattr(each.content, "payload", b"")
                found = _TOKEN.search(octets)
                if found is not None:
                    self.numbers.setdefault(found.group(), each.number)
            case "routed":
                assert key not in self.alive, each
                self.alive[key] = None
                self.routed.setdefault(each.number, []).append(each.queue)
            case "refused":
                self.refused.add(each.number)
            case "delivered" | "got":
                self.had.setdefault(key, set()).add(each.connection)
            case "accepted" | "rejected" | "released":
                assert each.connection in self.had.get(key, ()), each
                if each.kind != "released":
                    self._end(key, each.kind)
            case "expired" | "dead-lettered" | "dropped" | "purged":
                self._end(key, each.kind)
            case _:
                pass

    def _end(self, key: tuple[str, str, int], kind: str) -> None:
        self.alive.pop(key, None)
        self.ended[key] = kind
