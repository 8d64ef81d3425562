"""AMQP 1.0 with blocking calls: sessions, senders, receivers, transactions, requests."""

from __future__ import annotations

from .connection import OneZeroConnection
from .opening import OneZeroOptions
from .receiver import ReceivedDelivery, Receiver
from .requester import Requester
from .sender import Sender, SentDelivery
from .session import Session
from .transaction import Transaction

__all__ = [
    "OneZeroConnection",
    "OneZeroOptions",
    "ReceivedDelivery",
    "Receiver",
    "Requester",
    "Sender",
    "SentDelivery",
    "Session",
    "Transaction",
]
