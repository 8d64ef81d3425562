"""AMQP 0-10 for asyncio: the classes behind `connect` and `serve` with `version=AMQP_0_10`."""

from __future__ import annotations

from amqp_sansio.amqp_0_10 import KeptSessions
from amqp_sansio.client.amqp_0_10.connection import Connection
from amqp_sansio.client.amqp_0_10.publishing import SentMessage
from amqp_sansio.client.amqp_0_10.session import Session
from amqp_sansio.client.amqp_0_10.settings import ConfigOptions
from amqp_sansio.client.amqp_0_10.subscription import ReceivedMessage, Subscription
from amqp_sansio.client.amqp_0_10.transaction import Branch, Transaction
from amqp_sansio.errors import SessionEnded

from .server import ServerConnection
from .session_registry import SessionKeeper

__all__ = [
    "Branch",
    "ConfigOptions",
    "Connection",
    "KeptSessions",
    "ReceivedMessage",
    "SentMessage",
    "ServerConnection",
    "Session",
    "SessionEnded",
    "SessionKeeper",
    "Subscription",
    "Transaction",
]
