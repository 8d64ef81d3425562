"""AMQP for asyncio: `connect` to a broker, or `serve` as one, on the cores of amqp_sansio."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from amqp_sansio.client.classic.channel import Channel, PublishOutcome
from amqp_sansio.client.classic.consumer import Consumer, Delivery
from amqp_sansio.client.inbox import EventStream
from amqp_sansio.client.opening import Opening
from amqp_sansio.errors import ConsumerEnded, LinkEnded, NotAccepted, SessionEnded, TransactionFailed

from .classic import ConfigOptions
from .client import Connection, connect
from .establishing import Connector
from .recording import RecordedConnection, Recorder, RecordTarget
from .server import (
    AnyAuthenticate,
    AnyHandler,
    Authenticate,
    Handler,
    OneZeroAuthenticate,
    OneZeroHandler,
    Server,
    ZeroTenAuthenticate,
    ZeroTenHandler,
    serve,
)
from .server_connection import ServerConnection

if TYPE_CHECKING:
    from amqp_sansio.client.amqp_0_10.connection import Connection as ZeroTenConnection
    from amqp_sansio.client.amqp_0_10.publishing import SentMessage as SentMessage
    from amqp_sansio.client.amqp_0_10.session import Session as ZeroTenSession
    from amqp_sansio.client.amqp_0_10.subscription import ReceivedMessage as ReceivedMessage
    from amqp_sansio.client.amqp_0_10.subscription import Subscription as Subscription
    from amqp_sansio.client.amqp_0_10.transaction import Branch as Branch
    from amqp_sansio.client.amqp_0_10.transaction import Transaction as ZeroTenTransaction
    from amqp_sansio.client.amqp_1_0.connection import Connection as OneZeroConnection
    from amqp_sansio.client.amqp_1_0.receiver import ReceivedDelivery as ReceivedDelivery
    from amqp_sansio.client.amqp_1_0.receiver import Receiver as Receiver
    from amqp_sansio.client.amqp_1_0.requester import Requester as Requester
    from amqp_sansio.client.amqp_1_0.sender import Sender as Sender
    from amqp_sansio.client.amqp_1_0.sender import SentDelivery as SentDelivery
    from amqp_sansio.client.amqp_1_0.session import Session as Session
    from amqp_sansio.client.amqp_1_0.transaction import Transaction as Transaction

    from .amqp_0_10.keeping import SessionKeeper as SessionKeeper
    from .amqp_0_10.server import ZeroTenServerConnection as ZeroTenServerConnection
    from .amqp_0_10.settings import ZeroTenOptions as ZeroTenOptions
    from .amqp_1_0.server import OneZeroServerConnection as OneZeroServerConnection
    from .amqp_1_0.settings import OneZeroOptions as OneZeroOptions
    from .broker import BrokerServer as BrokerServer
    from .broker import serve_broker as serve_broker
    from .clock import Clock as Clock
    from .clock import VirtualClock as VirtualClock
    from .faults import Faults as Faults
    from .faults import Line as Line

_LATER = {
    "Branch": "amqp_0_10",
    "BrokerServer": "broker",
    "Clock": "clock",
    "Faults": "faults",
    "Line": "faults",
    "OneZeroConnection": "amqp_1_0",
    "OneZeroOptions": "amqp_1_0.settings",
    "OneZeroServerConnection": "amqp_1_0.server",
    "ReceivedDelivery": "amqp_1_0",
    "ReceivedMessage": "amqp_0_10",
    "Receiver": "amqp_1_0",
    "Requester": "amqp_1_0",
    "Sender": "amqp_1_0",
    "SentDelivery": "amqp_1_0",
    "SentMessage": "amqp_0_10",
    "Session": "amqp_1_0",
    "SessionKeeper": "amqp_0_10.keeping",
    "Subscription": "amqp_0_10",
    "Transaction": "amqp_1_0",
    "ZeroTenConnection": "amqp_0_10",
    "ZeroTenOptions": "amqp_0_10.settings",
    "ZeroTenServerConnection": "amqp_0_10.server",
    "ZeroTenSession": "amqp_0_10",
    "ZeroTenTransaction": "amqp_0_10",
    "VirtualClock": "clock",
    "serve_broker": "broker",
}
"""Names of 0-10, 1.0 and the broker; programs that don't use them don't load their engines."""


def __getattr__(name: str) -> object:
    if name in _LATER:
        return getattr(import_module(f".{_LATER[name]}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = [
    "AnyAuthenticate",
    "AnyHandler",
    "Authenticate",
    "Branch",
    "BrokerServer",
    "Channel",
    "Clock",
    "ConfigOptions",
    "Connection",
    "Connector",
    "Consumer",
    "ConsumerEnded",
    "Delivery",
    "EventStream",
    "Faults",
    "Handler",
    "Line",
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
    "ReceivedMessage",
    "Receiver",
    "RecordTarget",
    "RecordedConnection",
    "Recorder",
    "Requester",
    "Sender",
    "SentDelivery",
    "SentMessage",
    "Server",
    "ServerConnection",
    "Session",
    "SessionEnded",
    "SessionKeeper",
    "Subscription",
    "Transaction",
    "TransactionFailed",
    "VirtualClock",
    "ZeroTenAuthenticate",
    "ZeroTenConnection",
    "ZeroTenHandler",
    "ZeroTenOptions",
    "ZeroTenServerConnection",
    "ZeroTenSession",
    "ZeroTenTransaction",
    "connect",
    "serve",
    "serve_broker",
]
