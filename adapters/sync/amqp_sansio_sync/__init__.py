"""AMQP with blocking calls: `connect` to a broker; a thread sends heartbeats while your code works."""

from __future__ import annotations

import warnings
from importlib import import_module
from typing import TYPE_CHECKING

from amqp_sansio.client.classic.channel import PublishOutcome
from amqp_sansio.client.recovery import Recovered, Recovering, RecoveryPolicy
from amqp_sansio.errors import ConsumerEnded, LinkEnded, NotAccepted, SessionEnded, TransactionFailed

from .blocking import EventStream
from .classic import Channel, Connection
from .connect import ConfigOptions, connect
from .messages import Confirmation, Consumer, Delivery
from .recording import Recorder, RecordTarget

if TYPE_CHECKING:
    from .amqp_0_10 import Branch, ReceivedMessage, SentMessage, Subscription
    from .amqp_1_0 import ReceivedDelivery, Receiver, Requester, Sender, SentDelivery, Session, Transaction

_LATER = dict.fromkeys(["Branch", "ReceivedMessage", "SentMessage", "Subscription"], "amqp_0_10") | dict.fromkeys(
    ["ReceivedDelivery", "Receiver", "Requester", "Sender", "SentDelivery", "Session", "Transaction"], "amqp_1_0"
)
"""Names of 0-10 and 1.0; programs load the versions that they use."""
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
    "Branch",
    "Channel",
    "ConfigOptions",
    "Confirmation",
    "Connection",
    "Consumer",
    "ConsumerEnded",
    "Delivery",
    "EventStream",
    "LinkEnded",
    "NotAccepted",
    "PublishOutcome",
    "ReceivedDelivery",
    "ReceivedMessage",
    "Receiver",
    "RecordTarget",
    "Recorder",
    "Recovered",
    "Recovering",
    "RecoveryPolicy",
    "Requester",
    "Sender",
    "SentDelivery",
    "SentMessage",
    "Session",
    "SessionEnded",
    "Subscription",
    "Transaction",
    "TransactionFailed",
    "connect",
]
