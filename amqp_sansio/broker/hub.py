"""Hub: the model with all its clients, as one pure value; adapters move octets and time in and out.

Between turns, while no work is left: each client is here by its number, with its front end; each owner in the model is
that of one connection, or of a session or link that a version keeps (`Lasting`), and effects on it go to the front end
that has it; `is_blocked` is what the model says.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable
from typing import TYPE_CHECKING, Any, Final

from .._ground.brevity import trim
from .._ground.invariants import ensure
from .client import Client
from .counting import Counts, samples_of
from .frontends.frontend import Lasting
from .model.broker import Broker
from .model.effects import Blocked, Cancelled, Deliver, NodeDeleted, Unblocked
from .snapshot import Whole

if TYPE_CHECKING:
    from ..metrics import Sample
    from .frontends.frontend import Alarm, Frontend, Unfinished
    from .model.commands import Command
    from .model.consumer import Consumer
    from .model.content import Content
    from .model.entry import Entry
    from .model.history import Kind
    from .model.owner import Owner
    from .nodes import Namespace
    from .settings import Settings


_OF_CONSUMERS: Final = (Deliver, Cancelled)
_WARNINGS: Final = 64
_WARNED: Final = 1024
"""Consumers that a warning was about and that are remembered."""


class Hub(Whole):
    """A broker for clients of every version. It does no I/O and reads no clock.

    `connect()` returns the broker's end of a new connection. After input from one client, others may have something to
    send: `take_dirty()` returns them. `handle_timeout(now)` at `next_deadline` handles everything that expires.

    Work comes in turns of bounded length (`BrokerLimits.turn`): a client's `next_event()`, `take_dirty()` and
    `handle_timeout()` are a turn each. What a turn leaves is done in the next ones, in order. While there is some,
    `is_dirty` is true: call `take_dirty()` again soon, and let others go first.

    `namespace` has nodes of one's own for clients of 1.0 (`amqp_sansio.broker.nodes`), beside the broker's.
    """

    def __init__(self, settings: Settings, namespace: Namespace | None = None) -> None:
        self.settings = settings
        self.namespace = namespace
        self.model = Broker(
            settings.limits,
            settings.vhosts,
            history=settings.history,
            history_octets=settings.history_octets,
            seed=settings.octets("names"),
            epoch=settings.epoch,
        )
        self.now = 0.0
        self.clients: dict[int, Client] = {}
        self.fronts: dict[int, Frontend] = {}
        self.is_blocked = ""
        self.is_closing = False
        self.shared: dict[str, Any] = {}
        """State that the front ends of one version share between connections (detached sessions and links), by version
        label; each front end package knows the type of its own."""
        self._alarms: dict[Hashable, tuple[float, Alarm]] = {}
        self._owners: dict[int, Frontend] = {}
        self._dirty: dict[int, Client] = {}
        self._unfinished: dict[int, Unfinished] = {}
        """Clients whose events wait for a turn, some without a transport."""
        self._numbers = 0
        self._warnings: deque[str] = deque(maxlen=_WARNINGS)
        self._warned: dict[int, None] = {}
        """Numbers of the consumers that a warning was about."""
        self.counts = Counts()
        self._told: dict[Hashable, None] = {}
        """Keys of other warnings."""
        if namespace is not None:
            namespace.begin(self)

    # For adapters.

    def connect(self, *, is_secure: bool = False, peer_name: str = "") -> Client:
        """Return a new client's end. `is_secure`: behind TLS; `peer_name`: the certificate's subject, for EXTERNAL."""
        self._numbers += 1
        client = Client(self, self._numbers, is_secure=is_secure, peer_name=peer_name)
        self.clients[client.number] = client
        self.counts.connections += 1
        return client

    def take_dirty(self) -> tuple[Client, ...]:
        """Go on for one turn with the work that earlier turns have left; return the clients that may have new octets to
        send, events to take or a new deadline since the last call."""
        if self._unfinished or self.model.has_work:
            self._go_on()
        if not self._dirty:
            return ()
        dirty = tuple(self._dirty.values())
        self._dirty.clear()
        return dirty

    def metrics(self) -> list[Sample]:
        """Return the broker's counters and gauges; counters only rise, also when queues are deleted.

        >>> from amqp_sansio.broker import Settings
        >>> from amqp_sansio.metrics import snapshot
        >>> snapshot(Hub(Settings()).metrics())["amqp_broker_published_total"]
        0
        """
        opened = sum([client.is_open for client in self.clients.values()])
        return samples_of(self.model, self.counts, opened, bool(self.is_blocked))

    def take_warnings(self) -> tuple[str, ...]:
        """Return what the broker's operator should know, one line each, since the last call; at most the last 64."""
        if not self._warnings:
            return ()
        warnings = tuple(self._warnings)
        self._warnings.clear()
        return warnings

    @property
    def is_dirty(self) -> bool:
        """Whether `take_dirty` would return any client, or go on with work."""
        return bool(self._dirty or self._unfinished) or self.model.has_work

    @property
    def next_deadline(self) -> float | None:
        """When to call `handle_timeout`, for expiry and alarms; None: never."""
        deadline = self.model.next_deadline
        if self.namespace is not None:
            own = self.namespace.next_deadline
            deadline = own if deadline is None else deadline if own is None else min(own, deadline)
        if self._alarms:
            first = min([each[0] for each in self._alarms.values()])
            return first if deadline is None else min(first, deadline)
        return deadline

    def handle_timeout(self, now: float) -> None:
        """Handle everything that is due: expiry and alarms. A spurious call is a no-op."""
        self.now = max(now, self.now)
        ledger = self.model.ledger
        ledger.begin_turn(0)
        try:
            self.model.handle_timeout(self.now)
            if self.namespace is not None:
                self.namespace.handle_timeout(self.now)
            if self._alarms:
                due = [key for key, each in self._alarms.items() if each[0] <= self.now]
                for key in sorted(due, key=lambda each: self._alarms[each][0]):
                    found = self._alarms.pop(key, None)
                    if found is not None:
                        found[1].ring(self)
            self.settle()
        finally:
            ledger.end_turn()

    def owners_of_clients(self) -> list[tuple[Owner, int]]:
        """Return what the clients have open in the model, each with the number of its client: connections with their
        channels, sessions, or links."""
        owners = self.model.owners
        return [(owners[number], front.number) for number, front in self._owners.items() if number in owners]

    def change_urls(self, urls: tuple[str, ...]) -> None:
        """Change the broker's addresses (`Settings.urls`), and tell queues bound to a failover exchange."""
        from .frontends.amqp_0_10.failover import tell_all

        self.settings = self.settings.but(urls=urls)
        tell_all(self)
        self.settle()

    def shut_down(self, text: str = "the broker is shutting down") -> None:
        """Close every connection with the code of its version, and accept no more."""
        self.is_closing = True
        for client in list(self.clients.values()):
            client.shut_down(text)
        self.settle()

    def restart(self, now: float) -> None:
        """Reduce the broker to what survives a restart (`Broker.restart`), after the transports of all clients are
        gone: sessions and links that were kept for them are forgotten, and their messages available."""
        self.now = max(now, self.now)
        self.model.restart(self.now)
        self.shared.clear()
        self._alarms.clear()
        self._owners.clear()
        self._unfinished.clear()
        if self.namespace is not None:
            self.namespace.restart(self.now)

    def add_vhost(self, name: str) -> None:
        """Add a virtual host, open to every user who isn't restricted to certain ones."""
        if name not in self.settings.vhosts:
            self.settings = self.settings.but(vhosts=(*self.settings.vhosts, name))
        self.model.add_vhost(name)

    def check(self) -> None:
        """Check that all that the broker knows fits together, its clients' connections included.

        It looks at everything there is, so it is for tests, while no work is left: neither `is_dirty` nor octets that
        a client hasn't taken events of. Raises AssertionError, which names the object and the invariant.
        """
        broker, where = self.model, "hub"
        broker.check()
        for number, client in self.clients.items():
            ensure(client.number == number, where, "each client is kept by its number", number, client.number)
            ensure(self.fronts.get(number) is client.front, where, "each client's front end is kept with it", number)
            # A last answer, the close, and what the gate lets through go beyond.
            limits = self.settings.connection_limits
            most = limits.backlog_hard + 2 * limits.message
            ensure(client.send_backlog <= most, where, "`Limits.backlog_hard` bounds answers", client.send_backlog)
        strange = set(self.fronts) - set(self.clients)
        ensure(not strange, where, "each front end is that of a client", strange)
        dirty = set(self._dirty) - set(self.clients)
        ensure(not dirty, where, "those that may have something to send are clients", dirty)
        blocked = bool(self.is_blocked) == broker.ledger.is_blocked
        ensure(blocked, where, "clients are told that memory is full while it is", self.is_blocked)
        for number, front in self._owners.items():
            ensure(number in broker.owners, where, "effects go to owners of the model", number)
            ensure(self.fronts.get(front.number) is front, where, "effects go to front ends of clients", number)
        known: dict[Owner, None] = {}
        for front in self.fronts.values():
            front.check()
            for owner in front.owners():
                here = self._owners.get(owner.number) is front
                ensure(here, where, "effects on an owner go to its front end", owner, front)
                known[owner] = None
        for each in self.shared.values():
            if isinstance(each, Lasting):
                each.check()
                known.update(dict.fromkeys(each.owners()))
        lost = set(broker.owners.values()) - set(known)
        ensure(not lost, where, "each owner is somebody's", lost)
        closed = set(known) - set(broker.owners.values())
        ensure(not closed, where, "each connection, channel, session and link has an owner", closed)

    # For front ends.

    def apply(self, command: Command) -> Any:
        """Carry out a command now; see `commands` for results. Raises Fault."""
        return self.model.apply(command, self.now)

    def own(self, owner: Owner, front: Frontend | None) -> None:
        """Send effects on `owner`'s consumers and entries to `front`; None: to nobody (their windows are closed)."""
        if front is None:
            self._owners.pop(owner.number, None)
        else:
            self._owners[owner.number] = front

    def disown(self, owner: Owner) -> None:
        """Forget an owner that has ended."""
        self._owners.pop(owner.number, None)

    def set_alarm(self, key: Hashable, deadline: float, alarm: Alarm) -> None:
        """Set `alarm` for `deadline` (seconds of the hub's clock), replacing an earlier one with the same `key`."""
        self._alarms[key] = (deadline, alarm)

    def clear_alarm(self, key: Hashable) -> None:
        """Remove the alarm of `key`."""
        self._alarms.pop(key, None)

    def touch(self, number: int) -> None:
        """Note that the client `number` may have something to send."""
        client = self.clients.get(number)
        if client is not None:
            self._dirty[number] = client

    def put_off(self, client: Unfinished) -> None:
        """Note that a client has events left for a later turn."""
        self._unfinished[client.number] = client

    def settle(self) -> None:
        """Carry out all effects, including those that result from them."""
        effects = self.model.effects
        while effects:
            effect = effects.popleft()
            if not isinstance(effect, _OF_CONSUMERS):
                self._broadcast(effect)
                continue
            front = self._owners.get(effect.consumer.owner.number)
            if front is not None:
                front.perform(effect)
                if front.number not in self._dirty:
                    self.touch(front.number)

    def forget(self, number: int) -> None:
        """Remove a client."""
        self.clients.pop(number, None)
        self.fronts.pop(number, None)
        self._dirty.pop(number, None)

    def not_sent(self, consumer: Consumer, entry: Entry, why: str) -> None:
        """Tell that a message can't be sent to a consumer: each time in the history, once for each consumer as a
        warning. Without acknowledgement the message is lost; else it waits for other consumers or is dead-lettered."""
        queue, owner = entry.queue, consumer.owner
        kind: Kind = "dropped" if consumer.settles else "withheld"
        history = self.model.history
        if history is not None:
            where = queue.vhost.name
            history.add(
                kind, self.now, where, entry.message, owner, queue=queue.name, consumer=str(consumer.key), reason=why
            )
        if consumer.number in self._warned:
            return
        self._warned[consumer.number] = None
        trim(self._warned, _WARNED)
        fate = "is lost" if consumer.settles else "stays for other consumers, or for dead letters"
        self._warnings.append(
            f"a message of queue {queue.name!r} can't be sent to consumer {str(consumer.key)!r} of user "
            f"{owner.user!r} and {fate}: {why}; no more is said of this consumer"
        )

    def warn(self, key: Hashable, text: str) -> None:
        """Tell the broker's operator something, once for each `key`."""
        if key not in self._told:
            self._told[key] = None
            trim(self._told, _WARNED)
            self._warnings.append(text)

    def not_read(self, owner: Owner, exchange: str, routing_key: str, content: Content, why: str) -> None:
        """Tell that what a client sent can't be read as a message: each time in the history, once for each `owner`
        as a warning."""
        self.model.publishing.note_unreadable(owner, exchange, routing_key, content, why)
        key = -1 - owner.number  # Consumers have numbers from 0 on.
        if key in self._warned:
            return
        self._warned[key] = None
        trim(self._warned, _WARNED)
        self._warnings.append(
            f"a message of user {owner.user!r} to exchange {exchange!r} with routing key {routing_key!r} can't be read "
            f"and is in no queue: {why}; no more is said of this sender"
        )

    # Internals.

    def _go_on(self) -> None:
        ledger = self.model.ledger
        ledger.begin_turn(0)
        try:
            self.model.work()
            self.settle()
        finally:
            ledger.end_turn()
        for number, client in list(self._unfinished.items()):
            if number in ledger.busy:
                continue
            del self._unfinished[number]
            if number in self.clients:
                self.touch(number)
            else:
                # Its transport is gone, and what it has sent before counts.
                client.next_event()

    def _broadcast(self, effect: object) -> None:
        if isinstance(effect, Blocked):
            self.is_blocked = effect.reason
        elif isinstance(effect, Unblocked):
            self.is_blocked = ""
        for number, front in list(self.fronts.items()):
            if isinstance(effect, NodeDeleted):
                if front.describe()[1] == effect.vhost:
                    front.node_deleted(effect.kind, effect.name)
            elif isinstance(effect, Blocked):
                front.block(effect.reason)
            elif isinstance(effect, Unblocked):
                front.unblock()
            self.touch(number)


__all__ = ["Hub"]
