"""Broker: the AMQP model as a pure value; `apply(command, now)` changes it, `effects` lists what follows."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Final

from ..._ground.invariants import ensure
from ..limits import BrokerLimits
from ..snapshot import Whole
from . import checks, commands
from .chores import Chores
from .delivery import Delivery
from .history import History
from .ledger import Ledger
from .owner import Command
from .publishing import Publishing
from .settling import Settling
from .topology import Topology
from .transactions import Transactions
from .vhost import VirtualHost

if TYPE_CHECKING:
    from .entry import Entry

_SLICE: Final = 250
"""Steps for one kind of work until the next kind has its turn."""


class Broker(Whole):
    """Virtual hosts with exchanges, queues, bindings and messages; owners; transactions.

    It knows no wire, no connection and no version. `now` is in seconds, on a clock that never runs backwards; `epoch`
    is the Unix time at which that clock showed 0, for the times in dead-letter headers. `seed` enters the names that
    the broker generates. `history` is the number of records kept of what happens to messages; 0 keeps none;
    `history_octets` is the most that their contents may have.

    Its parts, each above those it knows: `Ledger`, `Chores`, `Topology`, `Delivery`, `Transactions`, `Publishing`,
    `Outcomes`, `Settling`.

    >>> from amqp_sansio.broker import commands
    >>> broker = Broker()
    >>> owner = broker.apply(commands.OpenOwner("/", "guest"), 0.0)
    >>> broker.apply(commands.DeclareQueue(owner, "jobs"), 0.0)
    <Queue 'jobs', 0 ready, 0 unsettled>
    """

    def __init__(
        self,
        limits: BrokerLimits | None = None,
        vhosts: Iterable[str] = ("/",),
        *,
        history: int = 0,
        history_octets: int | None = None,
        seed: bytes = b"",
        epoch: float = 0.0,
    ) -> None:
        hosts = {name: VirtualHost(name) for name in vhosts}
        ledger = Ledger(limits or BrokerLimits(), hosts, History(history, history_octets) if history else None, epoch)
        self.ledger: Final = ledger
        self.limits: Final = ledger.limits
        """The bounds of everything that clients can make grow."""
        self.vhosts: Final = ledger.vhosts
        """By name; none is added or removed later."""
        self.effects: Final = ledger.effects
        """What follows from commands: deliveries, confirms, ends. The front ends take them."""
        self.history: Final = ledger.history
        """The last records of what happened to messages; None: none are kept."""
        self.epoch: Final = epoch
        """The Unix time at which the clock of `now` showed 0."""
        self.owners: Final = ledger.owners
        """Those that aren't closed, by number."""
        chores = Chores(ledger)
        self._chores = chores
        """Unfinished parts of commands, done in later turns."""
        topology = Topology(ledger, chores)
        delivery = Delivery(ledger, topology, chores, seed)
        self._delivery = delivery
        """Queues and consumers."""
        self._transactions = Transactions(ledger)
        """The work that waits for commits."""
        self.transactions: Final = self._transactions.open
        """The open ones, by number."""
        publishing = Publishing(ledger, delivery, self._transactions, chores)
        self.publishing = publishing
        """The way of messages into queues; forcing a refusal for tests asks it."""
        settling = Settling(ledger, delivery, self._transactions, publishing, chores)
        self._settling = settling
        self.runnable: Final = delivery.runnable
        """Queues that may have something for their consumers; a dict for its order."""
        self.dead: Final = delivery.dead
        """Messages that are still to be published to dead-letter and alternate exchanges."""
        self._handlers: dict[type[Command], Callable[[Any], Any]] = {
            commands.OpenOwner: settling.open_owner,
            commands.CloseOwner: settling.close_owner,
            commands.DeclareExchange: topology.declare_exchange,
            commands.DeleteExchange: topology.delete_exchange,
            commands.BindExchange: topology.bind_exchange,
            commands.UnbindExchange: topology.unbind_exchange,
            commands.DeclareQueue: delivery.declare_queue,
            commands.DeleteQueue: delivery.delete_by_name,
            commands.PurgeQueue: settling.purge,
            commands.Bind: topology.bind,
            commands.Unbind: topology.unbind,
            commands.LinkQueue: delivery.link_queue,
            commands.UnlinkQueue: delivery.unlink_queue,
            commands.Subscribe: delivery.subscribe,
            commands.Cancel: delivery.cancel,
            commands.Grant: delivery.grant,
            commands.SetWindow: delivery.set_window,
            commands.ChangeWindows: delivery.change_windows,
            commands.Get: delivery.get,
            commands.Acquire: delivery.acquire,
            commands.Publish: publishing.publish,
            commands.Settle: settling.settle,
            commands.Begin: self._transactions.begin,
            commands.Commit: settling.commit,
            commands.Rollback: settling.rollback,
        }
        """The part that carries out each kind of command."""

    def apply(self, command: Command, now: float) -> Any:
        """Carry out a command at `now` (seconds). Its class documents the result. Raises Fault."""
        ledger = self.ledger
        if now > ledger.now:
            ledger.now = now
            if (deadline := self.next_deadline) is not None and deadline <= now:
                # The caller's timer is late.
                self.handle_timeout(now)
        result = self._handlers[type(command)](command)
        if self.dead and not self._delivery.is_behind:
            self.publishing.bury()
        if self.runnable:
            self._delivery.run_all()
        return result

    # Turns.

    @property
    def has_work(self) -> bool:
        """Whether a turn has left work for the next one (`BrokerLimits.turn`)."""
        delivery, publishing = self._delivery, self.publishing
        if delivery.waiting or self.dead or delivery.late or self._chores.by_actor:
            return True
        if publishing.letter is not None or publishing.unplaced:
            return True
        due = publishing.delayed.next_deadline
        return due is not None and due <= self.ledger.now

    def work(self) -> None:
        """Go on with what earlier turns have left, within this turn's budget: every kind of work in its turn, each a
        slice at a time, so that none waits for the end of another."""
        ledger, delivery = self.ledger, self._delivery
        while self.has_work and not ledger.is_spent:
            for kind in (
                self.publishing.place_more,
                self.publishing.route_delayed,
                delivery.expire_more,
                self._chores.go_on,
                self.publishing.bury,
            ):
                self._slice(kind)
            if delivery.waiting:
                self._slice(delivery.run_next)
            if self.runnable:
                self._slice(delivery.run_all)

    def _slice(self, work: Callable[[], None]) -> None:
        """Give a kind of work a part of what is left of the turn."""
        ledger = self.ledger
        if ledger.room > _SLICE and ledger.in_turn:
            rest = ledger.room - _SLICE
            ledger.room = _SLICE
            work()
            ledger.room += rest
        elif not ledger.is_spent:
            work()

    @property
    def next_deadline(self) -> float | None:
        """When to call `handle_timeout`; None: nothing expires."""
        deadline, due = self.ledger.next_deadline, self.publishing.delayed.next_deadline
        if deadline is None or due is None:
            return due if deadline is None else deadline
        return min(deadline, due)

    def handle_timeout(self, now: float) -> None:
        """Expire messages and queues that are due, route delayed messages. A spurious call is a no-op."""
        delivery = self._delivery
        for queue in self.ledger.due(now):
            if not queue.is_deleted:
                delivery.late[queue] = None
        delivery.expire_more()
        self.publishing.route_delayed()
        if not delivery.is_behind:
            self.publishing.bury()
        delivery.run_all()

    def add_vhost(self, name: str) -> VirtualHost:
        """Return the virtual host of that name, creating it if necessary."""
        return self.vhosts.get(name) or self.vhosts.setdefault(name, VirtualHost(name))

    def hold_publishers(self, reason: str) -> None:
        """Hold publishers as if memory were full, until called with an empty `reason`."""
        self.ledger.hold_publishers(reason)

    @property
    def pending_octets(self) -> int:
        """Octets held by publishes in open transactions."""
        return self._transactions.octets

    def entries(self) -> tuple[Entry, ...]:
        """Return every message's place that somebody can still find: in queues, with owners, in transactions."""
        return tuple(checks.entries_of(self.ledger, self.transactions))

    def check(self) -> None:
        """Count all that it counts again, while nothing is on its way: no effects to take, no work of a turn. For
        tests, since it looks at everything. Raises AssertionError where two of its books contradict each other."""
        ledger = self.ledger
        nothing = not (self.effects or self.runnable or self.dead)
        ensure(nothing, "broker", "nothing is on its way", len(self.effects), len(self.runnable), len(self.dead))
        alive = checks.entries_of(ledger, self.transactions)
        for vhost in self.vhosts.values():
            checks.check_bindings(vhost)
            checks.check_bounds(ledger, vhost)
            for name, queue in vhost.queues.items():
                ensure((queue.name, queue.vhost) == (name, vhost), queue, "each queue is kept by its name", name)
                checks.check_queue(ledger, queue, alive)
        for number, owner in self.owners.items():
            ensure(owner.number == number, owner, "each owner is kept by its number", number)
            checks.check_owner(ledger, self.transactions, owner)
        checks.check_transactions(ledger, self.transactions, self.pending_octets)
        checks.check_octets(ledger, alive)
        checks.check_windows(self.owners.values())

    def restart(self, now: float) -> None:
        """Reduce the broker to what survives a restart: durable exchanges, durable queues, the bindings between them,
        and the persistent messages of those queues, available, and marked as redelivered if they had been delivered.
        Every owner is removed, without effects."""
        # Handle first everything that was due before the stop.
        self.handle_timeout(now)
        self.work()
        for transaction in list(self.transactions.values()):
            self._settling.end(transaction)
        for owner in [each for each in self.owners.values() if each.parent is None]:
            self._settling.close_owner(commands.CloseOwner(owner))
        # Route dead letters before non-durable queues are lost.
        self.publishing.bury()
        self.work()
        self.publishing.keep_persistent()
        for vhost in self.vhosts.values():
            self._delivery.keep_durable(vhost)
        self.work()
        self.runnable.clear()
        self.effects.clear()
