"""Pair of 0-8 or 0-9-1: with channels."""

from typing import Any, Final

from amqp_sansio import AMQP_0_9_1, Accepted, Event, Settled, Side, Version
from amqp_sansio._classic.endpoint.connection import Connection
from amqp_sansio.amqp_0_9_1 import Config, Delivery, MethodReceived
from amqp_sansio.amqp_0_9_1.spec import BasicAck
from tests.kit import pair
from tests.kit.applications import Server
from tests.kit.versions import CLASSIC, KIT_0_9_1

client_config: Final = KIT_0_9_1.client_config
server_config: Final = KIT_0_9_1.server_config
MOST_ACKS: Final = 3
"""Acknowledgements that `in_runs` asks an end for at once."""


def connection_of(version: Version, side: Side, config: Config | None = None) -> Connection:
    """A fresh endpoint."""
    return CLASSIC[version].end(side, config)


class Pair(pair.Pair[Connection]):
    """Endpoints of 0-8 or 0-9-1."""

    def __init__(self, version: Version = AMQP_0_9_1, **options: Any) -> None:
        """As any pair; `options` are those of the base."""
        super().__init__(CLASSIC[version], **options)
        self.version = version

    def method(self, name: str, **fields: Any) -> Any:
        """The method record `name` of this version."""
        return self.client.dialect.named[name](**fields)

    def has(self, name: str) -> bool:
        """Whether this version has the method `name`."""
        return name in self.client.dialect.named

    def channel(self) -> Any:
        """A new client channel, open at both ends. Its methods are those of `Channel`."""
        channel = self.client.open_channel()
        self.pump()
        assert channel.is_open, self.events
        return channel

    def peer(self, channel: Any) -> Any:
        """The server's end of a client's channel."""
        return self.server.channel(channel.number)


def asked(version: Version, **changes: Any) -> tuple[Pair, Any, Any]:
    """A pair whose server answers nothing by itself, and both ends of a channel."""
    pair = Pair(version, applications={Side.SERVER: Server(reply=False, confirm=False)}, **changes)
    channel = pair.open().channel()
    return pair, channel, pair.peer(channel)


def in_runs(end: Connection, event: Event) -> list[Event]:
    """An event, and those behind it that an end gives together, as it would give them one by one."""
    if isinstance(event, Delivery):
        return [event, *end.next_deliveries(event)]
    if isinstance(event, Settled) and isinstance(event.state, Accepted):
        return [event, *[Settled((pending,), event.state) for pending in end.next_confirms()]]
    if isinstance(event, MethodReceived) and isinstance(event.method, BasicAck):
        tags = end.next_acks(event.channel, MOST_ACKS)
        assert len(tags) <= MOST_ACKS
        return [event, *[MethodReceived(event.channel, BasicAck(tag, False)) for tag in tags]]
    return [event]


def held_octets(connection: Connection) -> int:
    """Octets that an endpoint keeps: unparsed, of bodies under way, waiting to be sent, in events not yet taken."""
    # The gauge of the memory bounds reads what no application needs to see.
    inside: Any = connection
    total: int = len(inside._buffer) + inside._out.size
    for channel in inside._channels.values():
        for content in (channel.client_content, channel.server_content):
            if content is not None:
                total += sum([len(part) for part in content.parts]) + len(content.properties)
    for event in inside._events:
        total += len(getattr(event, "body", b"")) + len(getattr(event, "data", b""))
    return total
