"""AMQP for asyncio: `connect` to a broker, or `serve` as one, on the cores of amqp_sansio."""

from __future__ import annotations

import warnings
from importlib import import_module
from typing import TYPE_CHECKING

from amqp_sansio.client.classic.channel import Channel, PublishOutcome
from amqp_sansio.client.classic.consumer import Consumer, Delivery
from amqp_sansio.client.classic.settings import ConfigOptions
from amqp_sansio.client.hooks import Hooks
from amqp_sansio.client.inbox import EventStream
from amqp_sansio.client.opening import Opening
from amqp_sansio.client.recovery import Recovered, Recovering, RecoveryPolicy
from amqp_sansio.errors import ConsumerEnded, LinkEnded, NotAccepted, SessionEnded, TransactionFailed

from .client import Connection, connect
from .connector import Connector
from .recording import RecordedConnection, Recorder, RecordTarget
from .server import AnyAuthenticate, AnyHandler, Authenticate, Handler, Server, serve
from .server_connection import ServerConnection

if TYPE_CHECKING:
    from amqp_sansio.client.amqp_0_10.publishing import SentMessage as SentMessage
    from amqp_sansio.client.amqp_0_10.subscription import ReceivedMessage as ReceivedMessage
    from amqp_sansio.client.amqp_0_10.subscription import Subscription as Subscription
    from amqp_sansio.client.amqp_0_10.transaction import Branch as Branch
    from amqp_sansio.client.amqp_1_0.receiver import ReceivedDelivery as ReceivedDelivery
    from amqp_sansio.client.amqp_1_0.receiver import Receiver as Receiver
    from amqp_sansio.client.amqp_1_0.requester import Requester as Requester
    from amqp_sansio.client.amqp_1_0.sender import Sender as Sender
    from amqp_sansio.client.amqp_1_0.sender import SentDelivery as SentDelivery
    from amqp_sansio.client.amqp_1_0.session import Session as Session
    from amqp_sansio.client.amqp_1_0.transaction import Transaction as Transaction

    from .amqp_0_10.session_registry import SessionKeeper as SessionKeeper
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
    "ReceivedDelivery": "amqp_1_0",
    "ReceivedMessage": "amqp_0_10",
    "Receiver": "amqp_1_0",
    "Requester": "amqp_1_0",
    "Sender": "amqp_1_0",
    "SentDelivery": "amqp_1_0",
    "SentMessage": "amqp_0_10",
    "Session": "amqp_1_0",
    "SessionKeeper": "amqp_0_10.session_registry",
    "Subscription": "amqp_0_10",
    "Transaction": "amqp_1_0",
    "VirtualClock": "clock",
    "serve_broker": "broker",
}
"""Names of 0-10, 1.0 and the broker; programs that don't use them don't load their engines."""


_RENAMED = {"OneZero": "amqp_1_0", "ZeroTen": "amqp_0_10"}


def __getattr__(name: str) -> object:
    if name in _LATER:
        return getattr(import_module(f".{_LATER[name]}", __name__), name)
    package, new = _RENAMED.get(name[:7], ""), name[7:].replace("Options", "ConfigOptions")
    if package and new in (found := import_module(f".{package}", __name__)).__all__:
        warnings.warn(f"{name} is called {package}.{new} now", DeprecationWarning, stacklevel=2)
        return getattr(found, new)
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
    "Hooks",
    "Line",
    "LinkEnded",
    "NotAccepted",
    "Opening",
    "PublishOutcome",
    "ReceivedDelivery",
    "ReceivedMessage",
    "Receiver",
    "RecordTarget",
    "RecordedConnection",
    "Recorder",
    "Recovered",
    "Recovering",
    "RecoveryPolicy",
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
    "connect",
    "serve",
    "serve_broker",
]
