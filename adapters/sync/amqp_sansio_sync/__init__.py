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
    from .amqp_0_10 import (
        Branch,
        ReceivedMessage,
        SentMessage,
        Subscription,
        ZeroTenConnection,
        ZeroTenOptions,
        ZeroTenOutcome,
        ZeroTenSession,
        ZeroTenTransaction,
    )
    from .amqp_1_0 import ReceivedDelivery, Receiver, Requester, Sender, SentDelivery, Session, Transaction

_ONE_ZERO = {"ReceivedDelivery", "Receiver", "Requester", "Sender", "SentDelivery", "Session", "Transaction"}
_OLD_NAMES = {"OneZeroConnection": "amqp_1_0.Connection", "OneZeroOptions": "amqp_1_0.ConfigOptions"}
_ZERO_TEN = {
    *("Branch", "ReceivedMessage", "SentMessage", "Subscription"),
    *("ZeroTenConnection", "ZeroTenOptions", "ZeroTenOutcome", "ZeroTenSession"),
    "ZeroTenTransaction",
}


def __getattr__(name: str) -> object:
    # Programs load the versions that they use.
    if name in _OLD_NAMES:
        module, _, new = _OLD_NAMES[name].partition(".")
        warnings.warn(f"{name} is {__name__}.{_OLD_NAMES[name]} now", DeprecationWarning, stacklevel=2)
        return getattr(import_module(f".{module}", __name__), new)
    if name in _ONE_ZERO:
        from . import amqp_1_0

        return getattr(amqp_1_0, name)
    if name in _ZERO_TEN:
        from . import amqp_0_10

        return getattr(amqp_0_10, name)
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
    "ZeroTenConnection",
    "ZeroTenOptions",
    "ZeroTenOutcome",
    "ZeroTenSession",
    "ZeroTenTransaction",
    "connect",
]
