"""AMQP 1.0 for asyncio: the classes behind `connect(url, version=AMQP_1_0)` and `serve(handler, version=AMQP_1_0)`."""

from __future__ import annotations

from amqp_sansio.client.amqp_1_0.connection import Connection
from amqp_sansio.client.amqp_1_0.receiver import ReceivedDelivery, Receiver
from amqp_sansio.client.amqp_1_0.requester import Requester
from amqp_sansio.client.amqp_1_0.sender import Sender, SentDelivery
from amqp_sansio.client.amqp_1_0.session import Session
from amqp_sansio.client.amqp_1_0.settings import ConfigOptions
from amqp_sansio.client.amqp_1_0.transaction import Transaction

from .server import ServerConnection

__all__ = [
    "ConfigOptions",
    "Connection",
    "ReceivedDelivery",
    "Receiver",
    "Requester",
    "Sender",
    "SentDelivery",
    "ServerConnection",
    "Session",
    "Transaction",
]
