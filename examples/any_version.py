"""A client of each version from a URL, and what the examples of event loops do with one of 0-9-1."""

from __future__ import annotations

import secrets
from typing import Any

from amqp_sansio import amqp_0_8, amqp_0_9_1, amqp_0_10, amqp_1_0
from amqp_sansio.client.amqp_0_10.client import Client as Client010
from amqp_sansio.client.amqp_0_10.connection import Connection as Connection010
from amqp_sansio.client.amqp_1_0.client import Client as Client10
from amqp_sansio.client.amqp_1_0.connection import Connection as Connection10
from amqp_sansio.client.classic.client import ClassicClient
from amqp_sansio.client.classic.connection import Connection
from amqp_sansio.sasl import Plain
from amqp_sansio.uri import AmqpUri


def classic(uri: AmqpUri, **options: Any) -> tuple[ClassicClient, Connection]:
    """A client of 0-9-1; `options` are fields of its `Config`."""
    fields: dict[str, Any] = {"vhost": uri.vhost, "sasl": _login(uri), **options}
    client = ClassicClient(amqp_0_9_1.Connection.client(amqp_0_9_1.Config(**fields)))
    return client, Connection(client, uri)


def version_0_8(uri: AmqpUri, **options: Any) -> tuple[ClassicClient, Connection]:
    """A client of 0-8."""
    fields: dict[str, Any] = {"vhost": uri.vhost, "sasl": _login(uri), **options}
    client = ClassicClient(amqp_0_8.Connection.client(amqp_0_8.Config(**fields)))
    return client, Connection(client, uri)


def version_0_10(uri: AmqpUri, **options: Any) -> tuple[Client010, Connection010]:
    """A client of 0-10."""
    fields: dict[str, Any] = {"vhost": uri.vhost, "sasl": _login(uri), "session_prefix": _name(), **options}
    client = Client010(amqp_0_10.Connection.client(amqp_0_10.Config(**fields)))
    return client, Connection010(client, uri)


def version_1_0(uri: AmqpUri, **options: Any) -> tuple[Client10, Connection10]:
    """A client of 1.0."""
    fields: dict[str, Any] = {"container_id": _name(), "hostname": uri.host, "sasl": _login(uri), **options}
    client = Client10(amqp_1_0.Connection.client(amqp_1_0.Config(**fields)), _name())
    return client, Connection10(client, uri)


async def use(connection: Connection) -> None:
    """Send three messages and receive them."""
    channel = await connection.open_channel(confirm=True)
    queue = (await channel.declare_queue(exclusive=True)).queue
    for number in range(3):
        print("sent:", await channel.publish_text(f"message {number}", routing_key=queue))
    async with channel.consume(queue) as deliveries:
        for _ in range(3):
            delivery = await anext(deliveries)
            print("received:", delivery.text)
            await delivery.accept()


def _login(uri: AmqpUri) -> Plain:
    return Plain(uri.user or "guest", uri.password or "guest")


def _name() -> str:
    return f"example-{secrets.token_hex(8)}"
