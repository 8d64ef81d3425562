"""AMQP 0-10 for asyncio: the classes behind `connect` and `serve` with `version=AMQP_0_10`."""

from __future__ import annotations

from amqp_sansio.client.amqp_0_10.connection import Connection as ZeroTenConnection
from amqp_sansio.client.amqp_0_10.publishing import SentMessage
from amqp_sansio.client.amqp_0_10.session import Session as ZeroTenSession
from amqp_sansio.client.amqp_0_10.subscription import ReceivedMessage, Subscription
from amqp_sansio.client.amqp_0_10.transaction import Branch
from amqp_sansio.client.amqp_0_10.transaction import Transaction as ZeroTenTransaction
from amqp_sansio.errors import SessionEnded

from .keeping import SessionKeeper
from .kept import KeptSessions
from .server import ZeroTenServerConnection
from .settings import ZeroTenOptions

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
