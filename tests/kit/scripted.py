"""The product's broker with a script: it sees every event of every client first, and does what a broker never does."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Self, TypeVar

from amqp_sansio import Event, Signal
from amqp_sansio.amqp_0_9_1 import BasicProperties, get_dialect
from amqp_sansio.amqp_0_9_1.spec import Method
from amqp_sansio.amqp_0_10 import CommandReceived
from amqp_sansio.broker import commands
from amqp_sansio.broker.contents.classic import ClassicContent
from amqp_sansio.versions import AMQP_0_9_1
from amqp_sansio_asyncio.broker_driver import BrokerDriver
from amqp_sansio_pytest import EmbeddedBroker

_T = TypeVar("_T")
_E = TypeVar("_E")


class Peer:
    """The broker's end of one client: `core` is its engine, `events` are all that came, `front` the broker's part."""

    def __init__(self, broker: ScriptedBroker, front: Any) -> None:
        self.broker = broker
        self.front = front
        self.core = front.connection
        self.number: int = front.number
        self.events: list[Event] = []
        self._passed: list[Event] = []
        front.connection = _Filter(self.core, self.next_event)

    # For scripts, in the broker's thread.

    @property
    def line(self) -> BrokerDriver:
        """The transport."""
        return self.broker.service.server.line(self.number)

    def pass_on(self, event: Event) -> None:
        """Let the broker take an event that the script had kept from it."""
        self._passed.append(event)

    # For scenarios, in any thread.

    def of(self, kind: type[_E]) -> list[_E]:
        """The events of a kind so far."""
        return [event for event in list(self.events) if isinstance(event, kind)]

    def do(self, act: Callable[[], _T]) -> _T:
        """Do something in the broker's thread, and send what it queued."""
        return self.broker.act(act)

    def put(self, octets: bytes) -> None:
        """Send octets ahead of everything queued."""
        self.broker.act(lambda: self.line.put(octets))

    def cut(self) -> None:
        """End the transport with a RST, if it is there still."""

        def cut() -> None:
            if self.number in self.broker.service.hub.clients:
                self.line.cut()

        self.broker.act(cut)

    def hold(self, held: bool = True) -> None:
        """Read nothing while `held`."""
        self.broker.act(lambda: self.line.hold(held))

    def next_event(self) -> Event | Signal:
        """The next event for the broker."""
        while True:
            if self._passed:
                return self._passed.pop(0)
            event: Event | Signal = self.core.next_event()
            if isinstance(event, Signal):
                return event
            self.events.append(event)
            script = self.broker.script
            if script is None or not script(self, event):
                return event


class _Filter:
    """A server's connection whose events a script takes first."""

    def __init__(self, core: Any, next_event: Callable[[], Event | Signal]) -> None:
        self._core = core
        self.next_event = next_event

    def next_acks(self, channel: int, most: int) -> list[int]:
        """None: a script sees each in an event of its own."""
        return []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._core, name)


class _Fronts(dict[int, Any]):
    def __init__(self, met: Callable[[Any], None]) -> None:
        super().__init__()
        self._met = met

    def __setitem__(self, number: int, front: Any) -> None:
        self._met(front)
        super().__setitem__(number, front)


Script = Callable[[Peer, Event], bool]
"""Called in the broker's thread; true: the broker doesn't take the event."""


class ScriptedBroker(EmbeddedBroker):
    """A broker whose `script` may be set at any time; `peers` are its clients in the order they came."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.script: Script | None = None
        self.peers: list[Peer] = []

    def start(self) -> Self:
        super().start()
        self.service.hub.fronts = _Fronts(lambda front: self.peers.append(Peer(self, front)))
        return self

    def __enter__(self) -> Self:
        return self.start()

    @property
    def peer(self) -> Peer:
        """The newest client."""
        return self.peers[-1]

    def act(self, act: Callable[[], _T]) -> _T:
        """Do something in the broker's thread, and send all clients what it queued."""

        def acting() -> _T:
            hub = self.service.hub
            try:
                return act()
            finally:
                for number in list(hub.clients):
                    hub.touch(number)
                self.service.settle()

        return self.call(acting)

    def fill(self, queue: str, *bodies: bytes) -> None:
        """Put messages into a queue, which is declared."""
        self.preload({"queues": [queue]})
        tables = get_dialect("0-9-1-rabbit").tables
        properties = BasicProperties().encode(tables)

        def publish() -> None:
            service = self.service
            owner = service.owner("/")
            for body in bodies:
                service.apply(commands.Publish(owner, "", queue, ClassicContent(AMQP_0_9_1, properties, tables, body)))

        self.act(publish)

    def bodies(self, queue: str) -> list[bytes]:
        """The messages that are in a queue."""
        return [message.body for message in self.messages(queue)]


def is_method(event: object, name: str) -> bool:
    """Whether an event carries the method of that name."""
    method = getattr(event, "method", None)
    return isinstance(method, Method) and name == method.NAME


def is_command(event: object, name: str) -> bool:
    """Whether an event of 0-10 carries the command of that name."""
    return isinstance(event, CommandReceived) and name == event.command.NAME


def holding(name: str, count: int = 1) -> tuple[Script, list[Callable[[], None]]]:
    """A script that keeps the first requests of a name from the broker, and the list of how to pass each on."""
    held: list[Callable[[], None]] = []

    def script(peer: Peer, event: Event) -> bool:
        if not is_method(event, name) or len(held) == count:
            return False
        held.append(partial(peer.do, partial(peer.pass_on, event)))
        return True

    return script, held


__all__ = ["Peer", "Script", "ScriptedBroker", "holding", "is_command", "is_method"]
