"""Clients of 0-8 and 0-9-1 at a Hub, with what tests do on their channels."""

from __future__ import annotations

from typing import Any

from amqp_sansio import AMQP_0_8, AMQP_0_9_1, Closed, Scope, Version
from amqp_sansio import amqp_0_9_1 as amqp
from amqp_sansio._classic.codec.dialect import get_dialect
from amqp_sansio._classic.endpoint.connection import Connection
from amqp_sansio.amqp_0_9_1 import spec
from amqp_sansio.broker import Settings
from amqp_sansio.endpoint import Side
from amqp_sansio.events import CloseReport
from tests.kit import hub
from tests.kit.pair_classic import server_config
from tests.kit.versions import CLASSIC

VERSION_OF = {"0-9-1": AMQP_0_9_1, "0-8": AMQP_0_8}


def version_of(dialect: str) -> Version:
    return VERSION_OF["-".join(dialect.split("-")[: 3 if dialect.startswith("0-9") else 2])]


class World(hub.World["User"]):
    """A hub and its clients. `dialect` is the one that both sides of every connection speak.

    >>> world = World()
    >>> channel = world.client().channel()
    >>> channel.declare("q")
    'q'
    """

    def __init__(self, dialect: str | None = None, **settings: Any) -> None:
        self.dialect = dialect
        if dialect is not None:
            config = server_config(dialect=get_dialect(dialect))
            settings["configs"] = {version_of(dialect): config}
        super().__init__(Settings(**settings))

    def client(self, version: Version = AMQP_0_9_1, **config: Any) -> User:
        if self.dialect is not None:
            config.setdefault("dialect", get_dialect(self.dialect))
            version = version_of(self.dialect)
        user = User(self, version, **config)
        self.pump()
        return user

    def channel(self, **config: Any) -> Talk:
        return self.client(**config).channel()


class User(hub.User[Connection]):
    """A client of 0-8 or 0-9-1."""

    world: World

    def __init__(self, world: hub.World[Any], version: Version, **config: Any) -> None:
        kit = CLASSIC[version]
        super().__init__(world, kit.end(Side.CLIENT, kit.client_config(**config)))

    def channel(self, **ticket: Any) -> Talk:
        """A channel that is open; in the dialect of 0-8's specification with a ticket for everything."""
        number = self.end.open_channel().number
        self.world.pump()
        return Talk(self, number)

    def make(self, name: str, /, **fields: Any) -> Any:
        """A method of the client's dialect."""
        return self.end.dialect.named[name](**fields)

    def take(self, kind: type[Any], channel: int | None = None) -> list[Any]:
        """The events of a kind that came since the last time, of a channel or of all."""
        return self.pick(kind, lambda event: channel is None or getattr(event, "channel", None) == channel)

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
        self.core: Any = user.end.channel(number)
        if user.end.dialect.name == "0-8":
            self.ticket = self.call(
                "access.request", realm="/data", passive=True, active=True, write=True, read=True
            ).ticket

    def make(self, name: str, /, **fields: Any) -> Any:
        """A method with the channel's ticket."""
        kind = self.user.end.dialect.named[name]
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
        """Declare a queue, durable unless it is exclusive: one that is neither isn't taken by every RabbitMQ."""
        fields.setdefault("durable", not fields.get("exclusive", False))
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
        return None if isinstance(found, spec.BasicGetEmpty) else found

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
    if name not in channel.user.end.dialect.named:
        # 0-8 can't ask for that.
        return None
    channel.call(name, **fields)
    # Nobody else notices.
    assert bystander.declare("bystander") == "bystander"
    return channel.error
