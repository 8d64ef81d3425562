"""AMQP with blocking calls: `connect` to a broker; heartbeats go on while your code works."""

from __future__ import annotations

from .channel import Channel, Confirmation, PublishOutcome
from .connect import ConfigOptions, connect
from .connection import Connection
from .consumer import Consumer, Delivery
from .errors import ConsumerEnded
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
