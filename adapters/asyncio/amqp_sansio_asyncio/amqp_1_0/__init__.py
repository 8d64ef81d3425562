"""AMQP 1.0 for asyncio: the classes behind `connect(url, version=AMQP_1_0)` and `serve(handler, version=AMQP_1_0)`."""

from __future__ import annotations

from amqp_sansio.client.amqp_1_0.connection import Connection as OneZeroConnection
from amqp_sansio.client.amqp_1_0.receiver import ReceivedDelivery, Receiver
from amqp_sansio.client.amqp_1_0.requester import Requester
from amqp_sansio.client.amqp_1_0.sender import Sender, SentDelivery
from amqp_sansio.client.amqp_1_0.session import Session
from amqp_sansio.client.amqp_1_0.transaction import Transaction

from .server import OneZeroServerConnection
from .settings import OneZeroOptions

__all__ = [
    "OneZeroConnection",
    "OneZeroOptions",
    "OneZeroServerConnection",
    "ReceivedDelivery",
    "Receiver",
    "Requester",
    "Sender",
    "SentDelivery",
    "Session",
    "Transaction",
]
