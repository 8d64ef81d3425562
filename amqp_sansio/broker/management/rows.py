"""Rows: what the management API tells of queues, exchanges, bindings, connections, channels and consumers.

Names and types are RabbitMQ's. The figures are those of this moment; RabbitMQ's are as old as its last collection.
"""

from __future__ import annotations

from base64 import b64encode, urlsafe_b64encode
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol, cast
from zlib import crc32

from ...errors import CodecError
from ...versions import AMQP_0_8, AMQP_0_9_1, AMQP_0_10, AMQP_1_0
from ..model.exchange import ALTERNATE, Exchange
from ..model.options import as_text
from .requests import quoted

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..client import Client
    from ..hub import Hub
    from ..model.consumer import Consumer
    from ..model.exchange import Binding, Destination
    from ..model.owner import Owner
    from ..model.queue import Queue
    from ..model.vhost import VirtualHost
    from .listing import Row

_PROTOCOLS: Final = {AMQP_0_8: "AMQP 0-8", AMQP_0_9_1: "AMQP 0-9-1", AMQP_0_10: "AMQP 0-10", AMQP_1_0: "AMQP 1-0"}
_DEEPEST: Final = 50
DEFAULT_EXCHANGE: Final = "amq.default"
"""The name of the nameless exchange in paths."""


class Line(NamedTuple):
    """Where a client's transport goes: the broker's end and the client's, each a host and a port."""

    host: str
    port: int
    peer_host: str
    peer_port: int

    @property
    def name(self) -> str:
        """RabbitMQ's name for the connection."""
        return f"{_endpoint(self.peer_host, self.peer_port)} -> {_endpoint(self.host, self.port)}"


class _Channel(Protocol):
    """The part of a channel of 0-8 or 0-9-1 that is told."""

    number: int
    owner: Owner
    prefetch: tuple[int, int]
    shared: tuple[int, int]
    own_consumers: dict[str, Any]
    entries: dict[int, Any]
    transaction: Any
    engine: Any


class Told(NamedTuple):
    """A consumer with what it belongs to: its client, and the number of its channel, 0 for none."""

    consumer: Consumer
    client: Client
    channel: int


class Rows:
    """Makes the rows of a hub's parts; `line` returns where a client's transport goes."""

    def __init__(self, hub: Hub, line: Callable[[int], Line]) -> None:
        self._hub = hub
        """The broker that is told of."""
        self._line = line
        """By a client's number."""

    @property
    def node(self) -> str:
        """The name of the only node."""
        return f"rabbit@{self._hub.settings.name}"

    # Queues, exchanges and bindings.

    def queue(self, queue: Queue) -> Row:
        """Return a queue's row."""
        active = queue.active
        exclusive = queue.exclusive_consumer
        return {
            "arguments": plain(queue.arguments),
            "auto_delete": queue.auto_delete,
            "consumers": len(queue.consumers),
            "durable": queue.durable,
            "effective_policy_definition": {},
            "exclusive": queue.exclusive_to is not None,
            "exclusive_consumer_tag": None if exclusive is None else str(exclusive.key),
            "message_bytes_ready": queue.octets,
            "messages": queue.messages,
            "messages_ready": queue.ready,
            "messages_unacknowledged": queue.unsettled,
            "name": queue.name,
            "node": self.node,
            "operator_policy": None,
            "policy": None,
            "single_active_consumer_tag": None if active is None else str(active.key),
            "state": "running",
            "type": as_text(queue.arguments.get("x-queue-type")) or "classic",
            "vhost": queue.vhost.name,
        }

    def whole_queue(self, queue: Queue) -> Row:
        """Return the row of a queue that is asked for by its name."""
        consumers = [self.consumer(each) for each in self.told_of([queue])]
        return {"consumer_details": consumers, **self.queue(queue)}

    def exchange(self, exchange: Exchange, vhost: VirtualHost) -> Row:
        """Return an exchange's row."""
        arguments = dict(exchange.arguments)
        if exchange.alternate is not None:
            arguments.setdefault(ALTERNATE, exchange.alternate)
        return {
            "arguments": plain(arguments),
            "auto_delete": exchange.auto_delete,
            "durable": exchange.durable,
            "internal": exchange.internal,
            "name": exchange.name,
            "type": exchange.type,
            "vhost": vhost.name,
        }

    # Connections.

    def connection(self, client: Client) -> Row:
        """Return the row of a client whose connection is open."""
        line = self._line(client.number)
        front: Any = client.front
        end = front.connection
        user, vhost = front.describe()
        properties = _properties_of(client)
        blocked = bool(self._hub.is_blocked)
        given = properties.get("connection_name", properties.get("qpid.client_process"))
        return {
            "auth_mechanism": str(end.mechanism),
            "channel_max": int(end.channel_max),
            "channels": _channel_count(client),
            "client_properties": properties,
            "frame_max": _frame_max(client),
            "host": line.host,
            "name": line.name,
            "node": self.node,
            "peer_host": line.peer_host,
            "peer_port": line.peer_port,
            "port": line.port,
            "protocol": _PROTOCOLS[client.version] if client.version is not None else "",
            "ssl": client.is_secure,
            "state": ("blocked" if front.publishes else "blocking") if blocked else "running",
            "timeout": self._heartbeat(client),
            "type": "network",
            "user": user,
            "user_provided_name": given,
            "user_who_performed_action": user,
            "vhost": vhost,
        }

    def name_of(self, client: Client) -> str:
        """Return the name of a client's connection."""
        return self._line(client.number).name

    def _heartbeat(self, client: Client) -> int:
        """Return the seconds that were agreed on; 1.0 agrees on none, and has the broker's."""
        front: Any = client.front
        return int(self._hub.settings.heartbeat if client.version is AMQP_1_0 else front.connection.heartbeat)

    # Channels and consumers.

    def channel(self, client: Client, channel: _Channel) -> Row:
        """Return the row of a channel of 0-8 or 0-9-1."""
        line = self._line(client.number)
        front: Any = client.front
        user, vhost = front.describe()
        mode = str(channel.engine.mode.value)
        return {
            "acks_uncommitted": 0,
            "confirm": mode == "confirm",
            "connection_details": {"name": line.name, "peer_host": line.peer_host, "peer_port": line.peer_port},
            "consumer_count": len(channel.own_consumers),
            "global_prefetch_count": channel.shared[0],
            "messages_unacknowledged": len(channel.entries),
            "name": f"{line.name} ({channel.number})",
            "node": self.node,
            "number": channel.number,
            "prefetch_count": channel.prefetch[0],
            "state": "running",
            "transactional": mode == "transacted",
            "user": user,
            "user_who_performed_action": user,
            "vhost": vhost,
        }

    def consumer(self, told: Told) -> Row:
        """Return a consumer's row."""
        consumer, client, number = told
        line = self._line(client.number)
        front: Any = client.front
        queue = consumer.queue
        classic = _classic_channels(client).get(number)
        name = f"{line.name} ({number})"
        active = queue.active is None or queue.active is consumer
        return {
            "ack_required": not consumer.settles,
            "active": active,
            "activity_status": "up" if active else "single_active",
            "arguments": {},
            "channel_details": {
                "connection_name": line.name,
                "name": name,
                "node": self.node,
                "number": number,
                "peer_host": line.peer_host,
                "peer_port": line.peer_port,
                "user": front.describe()[0],
            },
            "consumer_tag": str(consumer.key),
            "exclusive": consumer.exclusive,
            "prefetch_count": 0 if classic is None or consumer.settles else classic.prefetch[0],
            "queue": {"name": queue.name, "vhost": queue.vhost.name},
        }

    def told_of(self, queues: Sequence[Queue]) -> Iterator[Told]:
        """Yield the consumers of queues whose clients are connected."""
        if not any([queue.consumers for queue in queues]):
            return
        clients = {owner.number: number for owner, number in self._hub.owners_of_clients()}
        channels: dict[int, int] = {}
        for queue in queues:
            for consumer in queue.consumers.values():
                number = clients.get(consumer.owner.number)
                client = None if number is None else self._hub.clients.get(number)
                if client is None or client.front is None:
                    continue
                if consumer.owner.number not in channels:
                    for each in _classic_channels(client).values():
                        channels[each.owner.number] = each.number
                yield Told(consumer, client, channels.get(consumer.owner.number, 0))


class Route(NamedTuple):
    """A binding with its ends; `binding` None is that which a queue has to the nameless exchange by its own name."""

    vhost: VirtualHost
    exchange: Exchange
    destination: Destination
    binding: Binding | None

    @property
    def key(self) -> str:
        """The part of its name that is between the names of its ends."""
        if self.binding is None:
            return properties_key(self.destination.name, {})
        return properties_key(self.binding.routing_key, plain(self.binding.arguments))


def routes_from(vhost: VirtualHost, exchange: Exchange) -> Iterator[Route]:
    """Yield an exchange's bindings. The nameless one has those that every queue has by its own name."""
    if not exchange.name:
        for queue in vhost.queues.values():
            yield Route(vhost, exchange, queue, None)
    for binding in exchange.bindings.values():
        yield Route(vhost, exchange, binding.destination, binding)


def routes_to(vhost: VirtualHost, destination: Destination) -> Iterator[Route]:
    """Yield the bindings to a queue or exchange."""
    if not isinstance(destination, Exchange):
        yield Route(vhost, vhost.exchanges[""], destination, None)
    for name in list(vhost.sources.get(destination, ())):
        source = vhost.exchanges.get(name)
        if source is not None:
            for binding in source.bindings_to(destination):
                yield Route(vhost, source, destination, binding)


def route_row(route: Route) -> Row:
    """Return a binding's row."""
    key = route.destination.name if route.binding is None else route.binding.routing_key
    return {
        "source": route.exchange.name,
        "vhost": route.vhost.name,
        "destination": route.destination.name,
        "destination_type": "exchange" if isinstance(route.destination, Exchange) else "queue",
        "routing_key": key,
        "arguments": {} if route.binding is None else plain(route.binding.arguments),
        "properties_key": route.key,
    }


def properties_key(routing_key: str, arguments: Mapping[str, Any]) -> str:
    """Return what names a binding between two ends: its key, and a digest of its arguments.

    RabbitMQ's digest is a hash of its runtime's, which is another one.
    """
    if not arguments:
        return quoted(routing_key) or "~"
    digest = crc32(repr(sorted(arguments.items())).encode("utf-8", "surrogatepass")).to_bytes(4, "big")
    return f"{quoted(routing_key)}~{urlsafe_b64encode(digest).decode().rstrip('=')}"


def plain(value: object, depth: int = 0) -> Any:
    """Return a decoded value as JSON has it: octets that aren't text in base64, times as seconds."""
    if value is None or isinstance(value, (bool, int, float)):
        return value
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if depth > _DEEPEST:
        return None
    try:
        if isinstance(value, Mapping):
            items = cast("Mapping[object, object]", value).items()
            return {str(key): plain(each, depth + 1) for key, each in items}
        if isinstance(value, (bytes, bytearray)):
            return b64encode(value).decode()
        if isinstance(value, (list, tuple)):
            return [plain(each, depth + 1) for each in cast("Sequence[object]", value)]
        if isinstance(value, datetime):
            return int(value.timestamp())
    except CodecError:
        # A client's own table may be damaged.
        return None
    return str(value)


def channels_of(client: Client) -> list[Any]:
    """Return a client's channels of 0-8 and 0-9-1."""
    return list(_classic_channels(client).values())


def _classic_channels(client: Client) -> Mapping[int, Any]:
    if client.version is not AMQP_0_9_1 and client.version is not AMQP_0_8:
        return {}
    front: Any = client.front
    found: Mapping[int, Any] = front.channels
    return found


def _channel_count(client: Client) -> int:
    front: Any = client.front
    if client.version is AMQP_1_0:
        return len(front.connection.sessions)
    return len(front.attached if client.version is AMQP_0_10 else front.channels)


def _properties_of(client: Client) -> dict[str, Any]:
    front: Any = client.front
    end = front.connection
    found = end.peer_open.properties if client.version is AMQP_1_0 else end.peer_properties
    told = plain(found or {})
    return cast("dict[str, Any]", told) if isinstance(told, dict) else {}


def _frame_max(client: Client) -> int:
    end: Any = client.front.connection if client.front is not None else None
    if client.version is AMQP_1_0:
        return int(end.max_frame_size)
    return int(end.frame_max if client.version is not AMQP_0_10 else end.max_frame_size)


def _endpoint(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


__all__ = [
    "DEFAULT_EXCHANGE",
    "Line",
    "Route",
    "Rows",
    "Told",
    "channels_of",
    "plain",
    "properties_key",
    "route_row",
    "routes_from",
    "routes_to",
]
