"""A client of each version from a URL, typed, and what the examples of event loops do with one of 0-9-1."""

from __future__ import annotations

import secrets
from typing import Any, TypeVar

from amqp_sansio import AMQP_0_8, AMQP_0_9_1, AMQP_0_10, AMQP_1_0, Version
from amqp_sansio.client.amqp_0_10.connection import Connection as Connection_0_10
from amqp_sansio.client.amqp_1_0.connection import Connection as Connection_1_0
from amqp_sansio.client.classic.connection import Connection
from amqp_sansio.client.connecting import new_connection
from amqp_sansio.client.driving import BaseClient
from amqp_sansio.uri import AmqpUri

_C = TypeVar("_C")


def classic(uri: AmqpUri, **options: Any) -> tuple[BaseClient[Any], Connection]:
    """A client of 0-9-1; `options` are fields of its `Config`, and override the URL."""
    return _new(AMQP_0_9_1, Connection, uri, options)


def version_0_8(uri: AmqpUri, **options: Any) -> tuple[BaseClient[Any], Connection]:
    """A client of 0-8."""
    return _new(AMQP_0_8, Connection, uri, options)


def version_0_10(uri: AmqpUri, **options: Any) -> tuple[BaseClient[Any], Connection_0_10]:
    """A client of 0-10."""
    return _new(AMQP_0_10, Connection_0_10, uri, options)


def version_1_0(uri: AmqpUri, **options: Any) -> tuple[BaseClient[Any], Connection_1_0]:
    """A client of 1.0."""
    return _new(AMQP_1_0, Connection_1_0, uri, options)


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


def _new(version: Version, kind: type[_C], uri: AmqpUri, options: dict[str, Any]) -> tuple[BaseClient[Any], _C]:
    client, connection = new_connection(version, uri, options, secrets.token_urlsafe)
    assert isinstance(connection, kind)
    return client, connection
