"""AMQP with blocking calls: `connect` to a broker; heartbeats go on while your code works."""

from __future__ import annotations

from amqp_sansio.errors import ConsumerEnded

from .channel import Channel, Confirmation, PublishOutcome
from .connect import ConfigOptions, connect
from .connection import Connection
from .consumer import Consumer, Delivery
from .feed import EventStream
from .recording import Recorder, RecordTarget

__all__ = [
    "Channel",
    "ConfigOptions",
    "Confirmation",
    "Connection",
    "Consumer",
    "ConsumerEnded",
    "Delivery",
    "EventStream",
    "PublishOutcome",
    "RecordTarget",
    "Recorder",
    "connect",
]
