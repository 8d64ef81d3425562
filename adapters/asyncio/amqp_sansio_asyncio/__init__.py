"""AMQP for asyncio: `connect` to a broker, or `serve` as one, on the machines of amqp_sansio."""

from __future__ import annotations

from amqp_sansio.errors import ConsumerEnded

from .channel import Channel, PublishOutcome
from .client import Connection, Connector, connect
from .consumer import Consumer, Delivery
from .feed import EventStream
from .opening import Opening
from .recording import RecordedConnection, Recorder, RecordTarget
from .server import Authenticate, Handler, Server, serve
from .server_connection import ServerConnection
from .settings import ConfigOptions

__all__ = [
    "Authenticate",
    "Channel",
    "ConfigOptions",
    "Connection",
    "Connector",
    "Consumer",
    "ConsumerEnded",
    "Delivery",
    "EventStream",
    "Handler",
    "Opening",
    "PublishOutcome",
    "RecordTarget",
    "RecordedConnection",
    "Recorder",
    "Server",
    "ServerConnection",
    "connect",
    "serve",
]
