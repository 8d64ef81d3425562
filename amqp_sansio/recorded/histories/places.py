"""Destinations and sources of messages, in terms common to all versions.

0-8, 0-9-1 and 0-10 name exchange, routing key and queue; 1.0 has addresses, which each broker interprets.
"""

from __future__ import annotations

from typing import NamedTuple

from ...broker.addresses import BadAddress, NodeKind, parse
from .columns import Message

AMQP_1_0 = "1.0"


class Route(NamedTuple):
    """The destination of a publish; None for unknown parts.

    `queue` is the only queue that it may have reached: the default exchange's, or one addressed by its name. `loose`:
    the address may name a queue or an exchange.
    """

    exchange: str | None
    routing_key: str | None
    queue: str | None
    loose: bool = False


def route_of(message: Message) -> Route:
    """Return the destination of a publish.

    >>> blank = dict.fromkeys(Message._fields)
    >>> route_of(Message(**{**blank, "protocol": "1.0", "address": "/exchanges/logs/info"}))
    Route(exchange='logs', routing_key='info', queue=None, loose=False)
    """
    if message.protocol != AMQP_1_0:
        key = message.routing_key
        return Route(message.exchange, key, key if message.exchange == "" else None)
    address = message.address
    if not address:
        return Route(None, message.routing_key, None)
    try:
        node = parse(address)
    except BadAddress:
        node = None
    if node is not None and node.kind is NodeKind.QUEUE:
        return Route("", node.name, node.name)
    if node is not None and node.kind is NodeKind.EXCHANGE:
        return Route(node.name, message.routing_key if node.key is None else node.key, None)
    exchange, slash, key = address.partition("/")
    if slash and exchange:
        return Route(exchange, key, None, loose=True)
    # A plain name is a queue in RabbitMQ, in Qpid a queue or an exchange whose key is the subject.
    return Route(None, message.routing_key, address, loose=True)


def queue_of(message: Message) -> str | None:
    """Return the queue of a delivery, or the name of its source; None if unknown.

    >>> blank = dict.fromkeys(Message._fields)
    >>> queue_of(Message(**{**blank, "protocol": "1.0", "address": "/queues/a%2Fb"}))
    'a/b'
    """
    if message.protocol != AMQP_1_0:
        return message.queue
    return queue_at(message.address) if message.address else None


def queue_at(address: str) -> str:
    """Return the queue that an address of 1.0 names, else the address itself.

    >>> queue_at("/queues/a%2Fb"), queue_at("jobs")
    ('a/b', 'jobs')
    """
    try:
        node = parse(address)
    except BadAddress:
        return address
    return node.name if node is not None and node.kind is NodeKind.QUEUE else address


__all__ = ["Route", "queue_at", "queue_of", "route_of"]
