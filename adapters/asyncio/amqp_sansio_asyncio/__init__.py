"""AMQP for asyncio: `connect` to a broker, or `serve` as one, on the state machines of amqp_sansio."""

from __future__ import annotations

from .channel import Channel, PublishOutcome
from .client import Connection, Connector, connect
from .consumer import Consumer, Delivery
from .errors import ConsumerEnded
from .feed import EventStream
from .opening import Opening
from .recording import RecordedConnection, Recorder, RecordTarget
from .settings import ConfigOptions

__all__ = [
    "Channel",
    "ConfigOptions",
    "Connection",
    "Connector",
    "Consumer",
    "ConsumerEnded",
    "Delivery",
    "EventStream",
    "Opening",
    "PublishOutcome",
    "RecordTarget",
    "RecordedConnection",
    "Recorder",
    "connect",
]
