"""AMQP 1.0 for asyncio: the classes behind `connect(url, version=AMQP_1_0)` and `serve(handler, version=AMQP_1_0)`."""

from __future__ import annotations

from .connection import OneZeroConnection
from .receiver import ReceivedDelivery, Receiver
from .requester import Requester
from .sender import Sender, SentDelivery
from .server import OneZeroServerConnection
from .session import Session
from .settings import OneZeroOptions
from .transaction import Transaction

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
