"""Views of the broker for tests: queues, exchanges, messages, connections."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from amqp_sansio.broker.contents.bodies import body_of
from amqp_sansio.broker.model import commands

if TYPE_CHECKING:
    from amqp_sansio.broker import Content, Exchange, Queue
    from amqp_sansio.broker.model.entry import Entry
    from amqp_sansio.versions import Version

    from .served import ServedBroker


class NoSuchNode(LookupError):
    """A queue or exchange doesn't exist; the text lists those that do."""


class Connection:
    """A snapshot of a client's connection.

    `number` counts a broker's connections. `version` is None until its first octets have arrived, `user` and `vhost`
    are "" until it is open. Connections with the same number are equal.
    """

    __slots__ = ("number", "user", "version", "vhost")

    def __init__(self, number: int, version: Version | None, user: str, vhost: str) -> None:
        self.number = number
        self.version = version
        self.user = user
        self.vhost = vhost

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Connection) and self.number == other.number

    def __hash__(self) -> int:
        return hash(self.number)

    def __repr__(self) -> str:
        spoken = "no version yet" if self.version is None else f"AMQP {self.version.label}"
        return f"<Connection {self.number}, {spoken}, user {self.user!r} in {self.vhost!r}>"


class BindingView(NamedTuple):
    """A binding of an exchange."""

    destination: str
    destination_type: Literal["queue", "exchange"]
    routing_key: str
    arguments: Mapping[str, Any]


class StoredMessage:
    """A snapshot of a message in a queue, or taken out of one.

    | attribute | meaning |
    |---|---|
    | `body` | its octets; for a 1.0 value or sequence the octets of a text, else of the encoded value |
    | `exchange`, `routing_key` | where it was published to |
    | `headers` | its headers, application headers or application properties, as a dict |
    | `priority`, `persistent`, `ttl` | as read by the broker; `ttl` in seconds, None for no limit |
    | `content` | the broker's whole content: its properties in the form of its own version |
    | `redelivered`, `delivery_count` | whether it was delivered before; number of failed deliveries |
    | `state` | "available", "acquired" (a consumer holds it, unsettled) or "archived" (it left the queue) |
    | `expires_at` | when it expires, in seconds of the broker's clock; None: never |
    """

    __slots__ = (
        "body",
        "content",
        "delivery_count",
        "exchange",
        "expires_at",
        "headers",
        "persistent",
        "priority",
        "redelivered",
        "routing_key",
        "state",
        "ttl",
    )

    def __init__(self, entry: Entry) -> None:
        message = entry.message
        self.content: Content = message.content
        self.body = body_of(message.content)
        self.exchange = message.exchange
        self.routing_key = message.routing_key
        self.headers: dict[str, Any] = dict(message.content.headers)
        self.priority = message.content.priority
        self.persistent = message.content.persistent
        self.ttl = message.content.ttl
        self.redelivered = entry.redelivered
        self.delivery_count = entry.delivery_count
        self.state = entry.state.value
        self.expires_at = entry.expires

    def __repr__(self) -> str:
        return f"<StoredMessage {shown(self.body)} with {self.routing_key!r}, {self.state}>"


class QueueView:
    """A queue of the broker; every attribute has the current value. Raises `NoSuchNode` if it doesn't exist.

    >>> broker.queue("jobs").ready
    0
    """

    def __init__(self, broker: ServedBroker, name: str, vhost: str) -> None:
        self._broker = broker
        """Asked for each attribute."""
        self.name = name
        self.vhost = vhost

    @property
    def exists(self) -> bool:
        """Whether it exists."""
        return self._broker.call(lambda: self.name in self._broker.service.vhost(self.vhost).queues)

    @property
    def ready(self) -> int:
        """Number of available messages."""
        return self._broker.call(lambda: self._found().ready)

    @property
    def unsettled(self) -> int:
        """Number of messages that consumers hold unsettled."""
        return self._broker.call(lambda: self._found().unsettled)

    @property
    def consumers(self) -> int:
        """Number of consumers."""
        return self._broker.call(lambda: len(self._found().consumers))

    @property
    def durable(self) -> bool:
        """Whether it was declared durable."""
        return self._broker.call(lambda: self._found().durable)

    @property
    def auto_delete(self) -> bool:
        """Whether it is deleted with its last consumer."""
        return self._broker.call(lambda: self._found().auto_delete)

    @property
    def exclusive(self) -> bool:
        """Whether it belongs to one connection."""
        return self._broker.call(lambda: self._found().exclusive_to is not None)

    @property
    def arguments(self) -> dict[str, Any]:
        """The arguments of its declaration."""
        return self._broker.call(lambda: dict(self._found().arguments))

    @property
    def messages(self) -> tuple[StoredMessage, ...]:
        """Its available messages, in the order of delivery, followed by the acquired ones; changes nothing."""
        return self._broker.call(lambda: self._messages())

    def purge(self) -> int:
        """Drop the available messages, and return how many there were."""
        service = self._broker.service

        def purge() -> int:
            self._found()
            dropped: int = service.apply(commands.PurgeQueue(service.owner(self.vhost), self.name))
            return dropped

        return self._broker.call(purge)

    def delete(self) -> None:
        """Delete it: consumers are told, if their version can express that."""
        service = self._broker.service

        def delete() -> None:
            self._found()
            service.apply(commands.DeleteQueue(service.owner(self.vhost), self.name))

        self._broker.call(delete)

    def _messages(self) -> tuple[StoredMessage, ...]:
        queue = self._found()
        owners = self._broker.service.hub.model.owners.values()
        held = [entry for owner in owners for entry in owner.held if entry.queue is queue]
        held.sort(key=lambda entry: entry.position)
        return tuple([StoredMessage(entry) for entry in [*queue.available(), *held]])

    def _found(self) -> Queue:
        queues = self._broker.service.vhost(self.vhost).queues
        found = queues.get(self.name)
        if found is None:
            raise NoSuchNode(_nothing("queue", self.name, self.vhost, list(queues)))
        return found

    def __repr__(self) -> str:
        return f"<QueueView {self.name!r} in {self.vhost!r}>"


class ExchangeView:
    """An exchange of the broker; every attribute has the current value. Raises `NoSuchNode` if it doesn't exist."""

    def __init__(self, broker: ServedBroker, name: str, vhost: str) -> None:
        self._broker = broker
        """Asked for each attribute."""
        self.name = name
        self.vhost = vhost

    @property
    def exists(self) -> bool:
        """Whether it exists."""
        return self._broker.call(lambda: self.name in self._broker.service.vhost(self.vhost).exchanges)

    @property
    def type(self) -> str:
        """Its type: "direct", "topic" and so on."""
        return self._broker.call(lambda: self._found().type)

    @property
    def durable(self) -> bool:
        """Whether it was declared durable."""
        return self._broker.call(lambda: self._found().durable)

    @property
    def internal(self) -> bool:
        """Whether clients can't publish to it."""
        return self._broker.call(lambda: self._found().internal)

    @property
    def bindings(self) -> tuple[BindingView, ...]:
        """Its bindings, in order."""
        return self._broker.call(lambda: _bindings(self._found()))

    def _found(self) -> Exchange:
        exchanges = self._broker.service.vhost(self.vhost).exchanges
        found = exchanges.get(self.name)
        if found is None:
            raise NoSuchNode(_nothing("exchange", self.name, self.vhost, list(exchanges)))
        return found

    def __repr__(self) -> str:
        return f"<ExchangeView {self.name!r} in {self.vhost!r}>"


def shown(body: bytes) -> str:
    """Return the beginning of a body, for people."""
    return repr(body) if len(body) <= 40 else f"{body[:37]!r}... ({len(body)} octets)"


def _bindings(exchange: Exchange) -> tuple[BindingView, ...]:
    found: list[BindingView] = []
    for binding in exchange.bindings.values():
        kind: Literal["queue", "exchange"] = "queue" if binding.key[0] == "queue" else "exchange"
        found.append(BindingView(binding.destination.name, kind, binding.routing_key, dict(binding.arguments)))
    return tuple(found)


def _nothing(kind: str, name: str, vhost: str, there: list[str]) -> str:
    names = ", ".join([repr(each) for each in there if each][:20]) or "none"
    return f"there is no {kind} {name!r} in virtual host {vhost!r}; there are: {names}"


__all__ = ["BindingView", "Connection", "ExchangeView", "NoSuchNode", "QueueView", "StoredMessage", "shown"]
