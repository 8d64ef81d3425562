"""AMQP for asyncio: `connect` to a broker, or `serve` as one, on the machines of amqp_sansio."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from amqp_sansio.errors import ConsumerEnded, LinkEnded, NotAccepted, TransactionFailed

from .channel import Channel, PublishOutcome
from .classic import ConfigOptions
from .client import Connection, connect
from .consumer import Consumer, Delivery
from .establishing import Connector
from .feed import EventStream
from .opening import Opening
from .recording import RecordedConnection, Recorder, RecordTarget
from .server import (
    AnyAuthenticate,
    AnyHandler,
    Authenticate,
    Handler,
    OneZeroAuthenticate,
    OneZeroHandler,
    Server,
    serve,
)
from .server_connection import ServerConnection

if TYPE_CHECKING:
    from .one_zero.connection import OneZeroConnection as OneZeroConnection
    from .one_zero.receiver import ReceivedDelivery as ReceivedDelivery
    from .one_zero.receiver import Receiver as Receiver
    from .one_zero.requester import Requester as Requester
    from .one_zero.sender import Sender as Sender
    from .one_zero.sender import SentDelivery as SentDelivery
    from .one_zero.server import OneZeroServerConnection as OneZeroServerConnection
    from .one_zero.session import Session as Session
    from .one_zero.settings import OneZeroOptions as OneZeroOptions
    from .one_zero.transaction import Transaction as Transaction

_LATER = {
    "OneZeroConnection": "one_zero.connection",
    "OneZeroOptions": "one_zero.settings",
    "OneZeroServerConnection": "one_zero.server",
    "ReceivedDelivery": "one_zero.receiver",
    "Receiver": "one_zero.receiver",
    "Requester": "one_zero.requester",
    "Sender": "one_zero.sender",
    "SentDelivery": "one_zero.sender",
    "Session": "one_zero.session",
    "Transaction": "one_zero.transaction",
}
"""What belongs to 1.0: who speaks another version needn't load that one's machine."""


def __getattr__(name: str) -> object:
    if name in _LATER:
        return getattr(import_module(f".{_LATER[name]}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = [
    "AnyAuthenticate",
    "AnyHandler",
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
    "LinkEnded",
    "NotAccepted",
    "OneZeroAuthenticate",
    "OneZeroConnection",
    "OneZeroHandler",
    "OneZeroOptions",
    "OneZeroServerConnection",
    "Opening",
    "PublishOutcome",
    "ReceivedDelivery",
    "Receiver",
    "RecordTarget",
    "RecordedConnection",
    "Recorder",
    "Requester",
    "Sender",
    "SentDelivery",
    "Server",
    "ServerConnection",
    "Session",
    "Transaction",
    "TransactionFailed",
    "connect",
    "serve",
]
