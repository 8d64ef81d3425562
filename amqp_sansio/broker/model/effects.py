"""Consequences of commands for other clients: `Broker.effects`, in order."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..._ground.record import record

if TYPE_CHECKING:
    from .consumer import Consumer
    from .entry import Entry


class Effect:
    """The base of all effects."""

    __slots__ = ()
    __match_args__: tuple[str, ...] = ()


@record
class Deliver(Effect):
    """Send a message to a consumer. Unless the consumer browses, its owner holds the acquired entry until it is
    settled; with `Consumer.settles` it is settled already."""

    consumer: Consumer
    entry: Entry


@record
class Cancelled(Effect):
    """A consumer has ended because its queue is gone; `reason` is for people."""

    consumer: Consumer
    reason: str


@record
class NodeDeleted(Effect):
    """A queue or exchange is gone, and with it the links of 1.0 to it (amqp:resource-deleted)."""

    vhost: str
    kind: str
    """"queue" or "exchange"."""
    name: str


@record
class Blocked(Effect):
    """The broker's memory is full: hold publishers."""

    reason: str


@record
class Unblocked(Effect):
    """The broker has room again: release publishers."""
