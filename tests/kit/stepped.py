"""A client, the pure broker and coroutines in one thread, without an event loop: `Stepped` moves octets and time."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, TypeVar

from amqp_sansio import CloseHint, Event, Signal
from amqp_sansio.broker import Hub, Settings
from amqp_sansio.client.driving import BaseClient
from amqp_sansio.client.recovery import Recovered, RecoveryPolicy
from tests.kit.by_hand import STEPS, Call, HandDriver

_T = TypeVar("_T")


class Stepped(HandDriver):
    """A driver without an event loop. Octets are handed over in pieces of `size`, one second takes `turn(1.0)`."""

    def __init__(self, client: BaseClient[Any], *, hub: Hub | None = None, size: int = 65_536) -> None:
        super().__init__(client)
        self.hub = hub or Hub(Settings(seed=b"stepped"))
        self.server = self.hub.connect()
        self.size = size
        self.now = 0.0
        self.untaken: list[object] = []
        self.is_cut = self.is_refusing = False
        self.make_core: Callable[[], Any] = Any
        self.tried: list[str] = []
        self.events: Any = None
        self.turn()

    # Driver.

    def pace(self) -> Awaitable[object]:
        sent = self.client.data_to_send(self.now)
        if sent and not self.is_cut:
            self.server.receive_data(sent, self.now)
        return super().pace()

    # For tests.

    def start(self, coroutine: Coroutine[Any, Any, Any]) -> Call[Any]:
        """Begin a coroutine."""
        call = self.call(coroutine)
        call.run()
        return call

    def run(self, coroutine: Coroutine[Any, Any, _T]) -> _T:
        """Carry out a coroutine, and all others meanwhile."""
        task = self.start(coroutine)
        for _ in range(STEPS):
            if task.done:
                result: _T = task.result
                return result
            self.turn()
        raise AssertionError(f"it waits for ever for {task.pause}")

    def turn(self, seconds: float = 0.0) -> None:
        """Move what is queued, route it, and step the coroutines that can go on."""
        self.now += seconds
        self.client.take_dropped()
        if self.is_cut:
            self.reopen()
        for _ in range(1000):
            moved = self.move()
            self.route()
            moved = self.step() or moved
            if not moved:
                break
        else:
            raise AssertionError("it never comes to rest")
        if self.client.close_hint is not CloseHint.KEEP and not self.is_cut:
            self.is_cut = True
            self.client.transport_ended("closed", self.now)
            self.step()

    def cut(self, reason: str = "the cable is cut") -> None:
        """Lose the transport, in both directions."""
        self.is_cut = True
        self.client.connection_lost(reason, self.now)
        self.route()
        self.client.transport_ended(reason, self.now)
        self.server.connection_lost(reason, self.now)
        self.server.next_event()
        self.step()

    def recover(self, make_core: Callable[[], Any], policy: RecoveryPolicy) -> None:
        """Let the client recover; each new connection is one of the hub's, unless `is_refusing`."""
        self.make_core = make_core
        self.client.recover(policy, ("amqp://one", *policy.addresses), 7)

    def told(self) -> list[Event]:
        """Take the events that `events` has."""
        found: list[Event] = []
        while (task := self.start(self.events.__anext__())) and task.done:
            found.append(task.result)
        task.cancel()
        return found

    def back(self) -> Recovered:
        """Cut, wait until all is back, and return the event."""
        self.cut()
        return self.wait_back()

    def wait_back(self) -> Recovered:
        """Let time pass until all is back."""
        for _ in range(200):
            self.turn(0.25)
            for event in self.told():
                if isinstance(event, Recovered):
                    return event
        raise AssertionError("it never comes back")

    def reopen(self) -> bool:
        """Do what recovery asks of a driver; return whether there is a new transport."""
        client, recovery = self.client, self.client.recovery
        if recovery is None:
            return False
        if (client.next_deadline or self.now + 1) <= self.now:
            client.handle_timeout(self.now)
        if (wanted := recovery.take_wanted()) is None:
            return False
        self.tried.append(recovery.addresses[wanted])
        client.reconnect(self.make_core())
        if self.is_refusing:
            client.connection_lost("connection refused", self.now)
            self.route()
            client.transport_ended("connection refused", self.now)
            return self.reopen()
        self.server = self.hub.connect()
        self.is_cut = False
        return True

    def move(self) -> bool:
        """Move what is queued, once in each direction, and route it; return whether there was anything."""
        if self.is_cut:
            return False
        sent = self.client.data_to_send(self.now)
        for place in range(0, len(sent), self.size):
            self.server.receive_data(sent[place : place + self.size], self.now)
            self.server.next_event()
        self.hub.take_dirty()
        self.server.next_event()
        answer = self.server.data_to_send(self.now, self.client.receive_budget or None)
        for place in range(0, len(answer), self.size):
            self.client.receive_data(answer[place : place + self.size], self.now)
            self.route()
        if (self.client.next_deadline or self.now + 1) <= self.now:
            self.client.handle_timeout(self.now)
        return bool(sent or answer)

    def route(self) -> None:
        """Route the client's events."""
        while not isinstance(event := self.client.next_event(), Signal):
            self.untaken.append(event)
