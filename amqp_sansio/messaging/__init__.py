"""One API for all versions: neutral messages, senders and receivers by address.

`connect` of the adapters, `amqp_sansio_asyncio.messaging` and `amqp_sansio_sync.messaging`, returns a `Connection`.
"""

from __future__ import annotations

from ..errors import NotAccepted, TransactionFailed, Unsupported, VersionRefused
from ..events import Accepted, Rejected, Released
from .addresses import Addresses, quoted
from .connection import Connection, Delivery, Outcome, Receiver, Sender, Sending, Transaction
from .message import Id, Message, MessageFields
from .negotiation import Offer

__all__ = [
    "Accepted",
    "Addresses",
    "Connection",
    "Delivery",
    "Id",
    "Message",
    "MessageFields",
    "NotAccepted",
    "Offer",
    "Outcome",
    "Receiver",
    "Rejected",
    "Released",
    "Sender",
    "Sending",
    "Transaction",
    "TransactionFailed",
    "Unsupported",
    "VersionRefused",
    "quoted",
]
