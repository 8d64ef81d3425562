"""Hub: the model with all its clients, as one pure value; adapters move octets and time in and out."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING, Any

from .client import Client
from .model.broker import Broker
from .model.effects import Blocked, Cancelled, Deliver, NodeDeleted, Unblocked
from .snapshot import Whole

if TYPE_CHECKING:
    from .frontends.frontend import Alarm, Frontend
    from .model.commands import Command
    from .model.queue import Owner
    from .settings import Settings


class Hub(Whole):
    """A broker for clients of every version. It does no I/O and reads no clock.

    `connect()` returns the broker's end of a new connection. After input from one client, others may have something to
    send: `take_dirty()` returns them. `handle_timeout(now)` at `next_deadline` handles everything that expires.
    """

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
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
        self._numbers = 0

    # For adapters.

    def connect(self, *, is_secure: bool = False, peer_name: str = "") -> Client:
        """Return a new client's end. `is_secure`: behind TLS; `peer_name`: the certificate's subject, for EXTERNAL."""
        self._numbers += 1
        client = Client(self, self._numbers, is_secure=is_secure, peer_name=peer_name)
        self.clients[client.number] = client
        return client

    def take_dirty(self) -> tuple[Client, ...]:
        """Return the clients that may have new octets to send or a new deadline since the last call."""
        if not self._dirty:
            return ()
        dirty = tuple(self._dirty.values())
        self._dirty.clear()
        return dirty

    @property
    def is_dirty(self) -> bool:
        """Whether `take_dirty` would return any client."""
        return bool(self._dirty)

    @property
    def next_deadline(self) -> float | None:
        """When to call `handle_timeout`, for expiry and alarms; None: never."""
        deadline = self.model.next_deadline
        if self._alarms:
            first = min([each[0] for each in self._alarms.values()])
            return first if deadline is None else min(first, deadline)
        return deadline

    def handle_timeout(self, now: float) -> None:
        """Handle everything that is due: expiry and alarms. A spurious call is a no-op."""
        self.now = max(now, self.now)
        self.model.handle_timeout(self.now)
        if self._alarms:
            due = [key for key, each in self._alarms.items() if each[0] <= self.now]
            for key in sorted(due, key=lambda each: self._alarms[each][0]):
                found = self._alarms.pop(key, None)
                if found is not None:
                    found[1].ring(self)
        self.settle()

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

    def add_vhost(self, name: str) -> None:
        """Add a virtual host, open to every user who isn't restricted to certain ones."""
        if name not in self.settings.vhosts:
            self.settings = self.settings.but(vhosts=(*self.settings.vhosts, name))
        self.model.add_vhost(name)

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

    def settle(self) -> None:
        """Carry out all effects, including those that result from them."""
        effects = self.model.effects
        while effects:
            effect = effects.popleft()
            kind = type(effect)
            if kind is Deliver:
                assert isinstance(effect, Deliver)
                front = self._owners.get(effect.consumer.owner.number)
            elif kind is Cancelled:
                assert isinstance(effect, Cancelled)
                front = self._owners.get(effect.consumer.owner.number)
            else:
                self._broadcast(effect)
                continue
            if front is not None:
                front.perform(effect)
                self.touch(front.number)

    def forget(self, number: int) -> None:
        """Remove a client."""
        self.clients.pop(number, None)
        self.fronts.pop(number, None)
        self._dirty.pop(number, None)

    # Internals.

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
