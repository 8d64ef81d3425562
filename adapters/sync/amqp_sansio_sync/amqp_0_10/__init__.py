"""AMQP 0-10 with blocking calls: sessions that outlive their connection, subscriptions, transactions."""

from __future__ import annotations

from amqp_sansio.errors import SessionEnded

from .connection import ZeroTenConnection
from .opening import ZeroTenOptions
from .publishing import SentMessage, ZeroTenOutcome
from .received import ReceivedMessage
from .session import ZeroTenSession
from .subscription import Subscription
from .transaction import Branch, ZeroTenTransaction

__all__ = [
    "Branch",
    "ReceivedMessage",
    "SentMessage",
    "SessionEnded",
    "Subscription",
    "ZeroTenConnection",
    "ZeroTenOptions",
    "ZeroTenOutcome",
    "ZeroTenSession",
    "ZeroTenTransaction",
]
