"""Audit: everything that a hub counts, counted again from the messages themselves; and a ledger of its history."""

# pyright: reportPrivateUsage=false
from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from amqp_sansio.amqp_0_10.model.states import Attachment
from amqp_sansio.broker import Hub
from amqp_sansio.broker.frontends.amqp_0_10.frontend import Frontend_0_10
from amqp_sansio.broker.frontends.amqp_0_10.sessions import Register, ServedSession
from amqp_sansio.broker.frontends.amqp_1_0.frontend import Frontend_1_0
from amqp_sansio.broker.frontends.amqp_1_0.links import NodeLink, Termini
from amqp_sansio.broker.frontends.amqp_1_0.sources import OutgoingLink
from amqp_sansio.broker.frontends.classic.frontend import ClassicFrontend
from amqp_sansio.broker.model.queue import Entry, Owner, Queue, Window
from amqp_sansio.broker.model.states import State

if TYPE_CHECKING:
    from collections.abc import Iterable

    from amqp_sansio.broker.model.history import Happened

_TOKEN = re.compile(rb"<[^<>]+>")


def audit(hub: Hub) -> None:
    """Whether all that a hub knows fits together, while nothing is on its way. Raises AssertionError."""
    hub.model.check()
    _audit_windows(hub)
    _audit_hub(hub)


def _audit_windows(hub: Hub) -> None:
    """A gate counts the consumers that there are."""
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
    front.connection.check()
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
    front.connection.check()
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
        found = {(each.queue.vhost.name, each.queue.name, each.message.number) for each in broker.entries()}
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
