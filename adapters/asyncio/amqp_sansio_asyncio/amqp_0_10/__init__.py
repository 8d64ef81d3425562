"""AMQP 0-10 for asyncio: the classes behind `connect(url, version=AMQP_0_10)` and `serve(handler, version=AMQP_0_10)`.
"""

from __future__ import annotations

from amqp_sansio.errors import SessionEnded

from .connection import ZeroTenConnection
from .keeping import SessionKeeper
from .kept import KeptSessions
from .publishing import SentMessage
from .server import ZeroTenServerConnection
from .session import ZeroTenSession
from .settings import ZeroTenOptions
from .subscription import ReceivedMessage, Subscription
from .transaction import Branch, ZeroTenTransaction

__all__ = [
    "Branch",
    "KeptSessions",
    "ReceivedMessage",
    "SentMessage",
    "SessionEnded",
    "SessionKeeper",
    "Subscription",
    "ZeroTenConnection",
    "ZeroTenOptions",
    "ZeroTenServerConnection",
    "ZeroTenSession",
    "ZeroTenTransaction",
]
