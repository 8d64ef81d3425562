"""Declares queues on the embedded broker with pika, for clients of versions that have no word for it."""

# pyright: reportUnknownMemberType=false, reportMissingTypeStubs=false
from typing import Any

import pika

from tests.interop.brokers.embedded import Embedded


def declare(embedded: Embedded, *queues: str, arguments: dict[str, Any] | None = None) -> None:
    """Make queues, all with the same arguments."""
    connection: Any = pika.BlockingConnection(pika.ConnectionParameters(embedded.host, embedded.port))
    channel = connection.channel()
    for queue in queues:
        channel.queue_declare(queue, durable=True, arguments=arguments)
    connection.close()


def dead_lettering(queue: str) -> dict[str, Any]:
    """The arguments of a queue whose dead letters go to another."""
    return {"x-dead-letter-exchange": "", "x-dead-letter-routing-key": queue}
