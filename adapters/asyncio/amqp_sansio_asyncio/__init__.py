"""AMQP for asyncio: `connect` to a broker, or `serve` as one, on the machines of amqp_sansio."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from amqp_sansio.errors import (
    ConsumerEnded,
    LinkEnded,
    NotAccepted,
    SessionEnded,
    TransactionFailed,
)

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
    ZeroTenAuthenticate,
    ZeroTenHandler,
    serve,
)
from .server_connection import ServerConnection

if TYPE_CHECKING:
    from .broker import BrokerServer as BrokerServer
    from .broker import serve_broker as serve_broker
    from .clock import Clock as Clock
    from .clock import VirtualClock as VirtualClock
    from .faults import Faults as Faults
    from .faults import Line as Line
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
    from .zero_ten.connection import ZeroTenConnection as ZeroTenConnection
    from .zero_ten.keeping import SessionKeeper as SessionKeeper
    from .zero_ten.publishing import SentMessage as SentMessage
    from .zero_ten.server import ZeroTenServerConnection as ZeroTenServerConnection
    from .zero_ten.session import ZeroTenSession as ZeroTenSession
    from .zero_ten.settings import ZeroTenOptions as ZeroTenOptions
    from .zero_ten.subscription import ReceivedMessage as ReceivedMessage
    from .zero_ten.subscription import Subscription as Subscription
    from .zero_ten.transaction import Branch as Branch
    from .zero_ten.transaction import ZeroTenTransaction as ZeroTenTransaction

_LATER = {
    "Branch": "zero_ten.transaction",
    "BrokerServer": "broker",
    "Clock": "clock",
    "Faults": "faults",
    "Line": "faults",
    "OneZeroConnection": "one_zero.connection",
    "OneZeroOptions": "one_zero.settings",
    "OneZeroServerConnection": "one_zero.server",
    "ReceivedDelivery": "one_zero.receiver",
    "ReceivedMessage": "zero_ten.subscription",
    "Receiver": "one_zero.receiver",
    "Requester": "one_zero.requester",
    "Sender": "one_zero.sender",
    "SentDelivery": "one_zero.sender",
    "SentMessage": "zero_ten.publishing",
    "Session": "one_zero.session",
    "SessionKeeper": "zero_ten.keeping",
    "Subscription": "zero_ten.subscription",
    "Transaction": "one_zero.transaction",
    "ZeroTenConnection": "zero_ten.connection",
    "ZeroTenOptions": "zero_ten.settings",
    "ZeroTenServerConnection": "zero_ten.server",
    "ZeroTenSession": "zero_ten.session",
    "VirtualClock": "clock",
    "ZeroTenTransaction": "zero_ten.transaction",
    "serve_broker": "broker",
}
"""What belongs to 0-10, 1.0 or the broker: who does without needn't load that machine."""


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
