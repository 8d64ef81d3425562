"""Clients of 0-8 and 0-9-1 at a Hub, in memory: real engines whose octets are carried until nobody has any."""

from __future__ import annotations

from typing import Any

from amqp_sansio import AMQP_0_8, AMQP_0_9_1, Closed, CloseHint, Event, Scope, Signal, Version
from amqp_sansio import amqp_0_9_1 as amqp
from amqp_sansio._classic.codec.dialect import get_dialect
from amqp_sansio._classic.endpoint.connection import Connection
from amqp_sansio.broker import Hub, Settings
from amqp_sansio.endpoint import Side
from amqp_sansio.events import CloseReport
from tests.kit.pair import client_config, connection_of, server_config

VERSION_OF = {"0-9-1": AMQP_0_9_1, "0-8": AMQP_0_8}
STEPS = 100_000


def version_of(dialect: str) -> Version:
    return VERSION_OF["-".join(dialect.split("-")[: 3 if dialect.startswith("0-9") else 2])]


class World:
    """A hub and its clients. `dialect` is the one that both sides of every connection speak.

    >>> world = World()
    >>> channel = world.client().channel()
    >>> channel.declare("q")
    'q'
    """

    def __init__(self, dialect: str | None = None, **settings: Any) -> None:
        self.now = 0.0
        self.dialect = dialect
        if dialect is not None:
            config = server_config(dialect=get_dialect(dialect))
            settings["configs"] = {version_of(dialect): config}
        self.hub = Hub(Settings(**settings))
        self.clients: list[User] = []

    def client(self, **config: Any) -> User:
        user = User(self, **config)
        self.pump()
        return user

    def channel(self, **config: Any) -> Talk:
        return self.client(**config).channel()

    def pump(self) -> None:
        """Carry octets until nobody sends any."""
        for _ in range(STEPS):
            moved = False
            for user in self.clients:
                moved |= user.pump()
            if not moved:
                return
        raise AssertionError("they talk without end")

    def advance(self, seconds: float) -> None:
        """Let time pass for the model and for every connection."""
        self.now += seconds
        self.hub.handle_timeout(self.now)
        for user in self.clients:
            user.end.handle_timeout(self.now)
        self.pump()


class User:
    """A client: `core` is its engine, `events` what it was told and nobody took yet."""

    def __init__(self, world: World, version: Version | None = None, **config: Any) -> None:
        self.world = world
        if world.dialect is not None:
            config.setdefault("dialect", get_dialect(world.dialect))
            version = version_of(world.dialect)
        made: amqp.Config = client_config(**config)
        self.core: Connection = connection_of(version or AMQP_0_9_1, Side.CLIENT, made)
        self.end = world.hub.connect()
        self.events: list[Event] = []
        self.applications: list[Any] = []
        self.reads = True
        world.clients.append(self)

    def pump(self) -> bool:
        """Carry what there is both ways; whether there was anything."""
        now = self.world.now
        while not isinstance(event := self.core.next_event(), Signal):
            self.events.append(event)
            for application in self.applications:
                application(event)
        to_broker = self.core.data_to_send(now)
        if to_broker:
            self.end.receive_data(to_broker, now)
        self.end.next_event()
        to_client = self.end.data_to_send(now) if self.reads else b""
        if to_client:
            self.core.receive_data(to_client, now)
        if self.end.close_hint is not CloseHint.KEEP and not to_client:
            self.core.receive_eof(now)
            self.end.connection_lost("closed", now)
            self.end.next_event()
        return bool(to_broker or to_client)

    def lose(self) -> None:
        """The transport is gone."""
        self.end.connection_lost("cut", self.world.now)
        self.core.connection_lost("cut", self.world.now)
        self.world.pump()

    def channel(self, **ticket: Any) -> Talk:
        """A channel that is open; in the dialect of 0-8's specification with a ticket for everything."""
        number = self.core.open_channel().number
        self.world.pump()
        return Talk(self, number)

    def make(self, name: str, /, **fields: Any) -> Any:
        """A method of the client's dialect."""
        return self.core.dialect.named[name](**fields)

    def take(self, kind: type[Any], channel: int | None = None) -> list[Any]:
        """The events of a kind that came since the last time."""
        found = [
            event
            for event in self.events
            if isinstance(event, kind) and (channel is None or getattr(event, "channel", None) == channel)
        ]
        self.events = [event for event in self.events if event not in found]
        return found

    @property
    def report(self) -> CloseReport:
        found = [event for event in self.events if isinstance(event, Closed) and event.scope is Scope.CONNECTION]
        assert found, "the connection is open"
        return found[-1].report


class Talk:
    """A channel of a client, and what tests do with it."""

    def __init__(self, user: User, number: int) -> None:
        self.user = user
        self.world = user.world
        self.number = number
        self.ticket = 0
        self.core: Any = user.core.channel(number)
        if user.core.dialect.name == "0-8":
            self.ticket = self.call(
                "access.request", realm="/data", passive=True, active=True, write=True, read=True
            ).ticket

    def make(self, name: str, /, **fields: Any) -> Any:
        """A method with the channel's ticket."""
        kind = self.user.core.dialect.named[name]
        if self.ticket and "ticket" in kind.__match_args__:
            fields.setdefault("ticket", self.ticket)
        return kind(**fields)

    def call(self, name: str, /, properties: Any = None, body: Any = None, **fields: Any) -> Any:
        """Send a request; its reply, None if there is none (the channel was closed)."""
        handle = self.core.call(self.make(name, **fields), properties, body)
        self.world.pump()
        return handle.result if handle.done and handle.error is None else None

    def send(self, name: str, /, properties: Any = None, body: Any = None, **fields: Any) -> None:
        """Send a method that has no reply."""
        self.core.send(self.make(name, **fields), properties, body)
        self.world.pump()

    def declare(self, queue: str = "", **fields: Any) -> str:
        name: str = self.call("queue.declare", queue=queue, **fields).queue
        return name

    def count(self, queue: str) -> int:
        """How many messages a queue has that are available."""
        count: int = self.call("queue.declare", queue=queue, passive=True).message_count
        return count

    def publish(self, body: bytes, routing_key: str = "", exchange: str = "", **fields: Any) -> Any:
        """Publish a message; its handle in confirm mode."""
        if isinstance(fields.get("properties"), dict):
            fields["properties"] = amqp.BasicProperties(**fields["properties"])
        handle = self.core.publish(body, exchange=exchange, routing_key=routing_key, ticket=self.ticket, **fields)
        self.world.pump()
        return handle

    def consume(self, queue: str, tag: str = "", **fields: Any) -> str:
        tag = self.call("basic.consume", queue=queue, consumer_tag=tag, **fields).consumer_tag
        return tag

    def get(self, queue: str = "", **fields: Any) -> Any:
        """Fetch a message; None when there is none."""
        found = self.call("basic.get", queue=queue, **fields)
        return None if isinstance(found, amqp.BasicGetEmpty) else found

    def deliveries(self) -> list[amqp.Delivery]:
        """What was delivered since the last time."""
        return self.user.take(amqp.Delivery, self.number)

    def bodies(self) -> list[bytes]:
        """The bodies of what was delivered since the last time."""
        return [each.body for each in self.deliveries()]

    def returned(self) -> list[amqp.MessageReturned]:
        """What came back since the last time."""
        return self.user.take(amqp.MessageReturned, self.number)

    def cancelled(self) -> list[str]:
        """The consumers that the broker ended since the last time."""
        return [each.consumer_tag for each in self.user.take(amqp.ConsumerCancelled, self.number)]

    def requests(self) -> list[Any]:
        """What the broker asked since the last time."""
        return [each.method for each in self.user.take(amqp.Request, self.number)]

    def methods(self) -> list[Any]:
        """The methods without reply that came since the last time."""
        return [each.method for each in self.user.take(amqp.MethodReceived, self.number)]

    def contents(self) -> list[amqp.ContentReceived]:
        """What came of other classes than basic since the last time."""
        return self.user.take(amqp.ContentReceived, self.number)

    def accept(self, tag: int, multiple: bool = False) -> None:
        """Acknowledge."""
        self.core.accept(tag, multiple)
        self.world.pump()

    def release(self, tag: int) -> None:
        """Give a message back."""
        self.core.release(tag)
        self.world.pump()

    def reject(self, tag: int) -> None:
        """Refuse a message for good."""
        self.core.reject(tag)
        self.world.pump()

    def close(self) -> None:
        self.core.close()
        self.world.pump()

    @property
    def error(self) -> tuple[str, int, str]:
        """What was closed ("channel" or "connection") with which code and text."""
        for event in self.user.events:
            if isinstance(event, Closed) and event.scope is Scope.CONNECTION:
                return "connection", event.report.code, event.report.text
        for event in self.user.events:
            if isinstance(event, Closed) and event.channel == self.number:
                return "channel", event.report.code, event.report.text
        raise AssertionError("the channel is open")


def refused(
    dialect: str | None, name: str, /, before: tuple[tuple[str, dict[str, Any]], ...] = (), **fields: Any
) -> Any:
    """How a request is refused by a broker that has carried out others before."""
    world = World(dialect)
    channel = world.channel()
    bystander = world.channel()
    for earlier, values in before:
        assert channel.call(earlier, **values) is not None
    if name not in channel.user.core.dialect.named:
        # 0-8 can't ask for that.
        return None
    channel.call(name, **fields)
    # Nobody else notices.
    assert bystander.declare("bystander") == "bystander"
    return channel.error
