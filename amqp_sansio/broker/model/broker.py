"""Broker: the AMQP model as a pure value; `apply(command, now)` changes it, `effects` lists what follows."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final

from ..limits import BrokerLimits
from ..snapshot import Whole
from . import commands
from .delivery import Delivery
from .history import History
from .ledger import Ledger
from .publishing import Publishing
from .queue import Command, VirtualHost
from .settling import Settling
from .topology import Topology
from .transactions import Transactions


class Broker(Whole):
    """Virtual hosts with exchanges, queues, bindings and messages; owners; transactions.

    It knows no wire, no connection and no version. `now` is in seconds, on a clock that never runs backwards; `epoch`
    is the Unix time at which that clock showed 0, for the times in dead-letter headers. `seed` enters the names that
    the broker generates. `history` is the number of records kept of what happens to messages; 0 keeps none;
    `history_octets` is the most that their contents may have.

    Its parts, each above those it knows: `Ledger`, `Topology`, `Delivery`, `Transactions`, `Publishing`, `Settling`.

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
        self.vhosts: Final = ledger.vhosts
        self.effects: Final = ledger.effects
        self.history: Final = ledger.history
        self.epoch: Final = epoch
        self.owners: Final = ledger.owners
        topology = Topology(ledger)
        self._delivery = delivery = Delivery(ledger, topology, seed)
        self._transactions = Transactions(ledger)
        self.transactions: Final = self._transactions.open
        self.publishing = publishing = Publishing(ledger, delivery, self._transactions)
        self._settling = settling = Settling(ledger, delivery, self._transactions, publishing)
        self.runnable: Final = delivery.runnable
        self.dead: Final = delivery.dead
        self._handlers: dict[type[Command], Callable[[Any], Any]] = {
            commands.OpenOwner: settling.open_owner,
            commands.CloseOwner: settling.close_owner,
            commands.DeclareExchange: topology.declare_exchange,
            commands.DeleteExchange: topology.delete_exchange,
            commands.BindExchange: topology.bind_exchange,
            commands.UnbindExchange: topology.unbind_exchange,
            commands.DeclareQueue: delivery.declare_queue,
            commands.DeleteQueue: delivery.delete_by_name,
            commands.PurgeQueue: delivery.purge,
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

    def apply(self, command: Command, now: float) -> Any:
        """Carry out a command at `now` (seconds). Its class documents the result. Raises Fault."""
        ledger = self.ledger
        if now > ledger.now:
            ledger.now = now
            if (deadline := ledger.next_deadline) is not None and deadline <= now:
                # The caller's timer is late.
                self.handle_timeout(now)
        result = self._handlers[type(command)](command)
        if self.dead:
            self.publishing.bury()
        if self.runnable:
            self._delivery.run_all()
        return result

    @property
    def next_deadline(self) -> float | None:
        """When to call `handle_timeout`; None: nothing expires."""
        return self.ledger.next_deadline

    def handle_timeout(self, now: float) -> None:
        """Expire messages and queues that are due. A spurious call is a no-op."""
        ledger = self.ledger
        for queue in ledger.due(now):
            if not queue.is_deleted:
                self._delivery.expire(queue)
                if not queue.is_deleted:
                    ledger.watch(queue)
        self.publishing.bury()
        self._delivery.run_all()

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

    def restart(self, now: float) -> None:
        """Reduce the broker to what survives a restart: durable exchanges, durable queues, the bindings between them,
        and the persistent messages of those queues, available, and marked as redelivered if they had been delivered.
        Every owner is removed, without effects."""
        # Handle first everything that was due before the stop.
        self.handle_timeout(now)
        for transaction in list(self.transactions.values()):
            self._settling.end(transaction)
        for owner in [each for each in self.owners.values() if each.parent is None]:
            self._settling.close_owner(commands.CloseOwner(owner))
        # Route dead letters before non-durable queues are lost.
        self.publishing.bury()
        for vhost in self.vhosts.values():
            self._delivery.keep_durable(vhost)
        self.runnable.clear()
        self.effects.clear()
