"""One API for all versions: neutral messages, senders and receivers by address.

`connect` of the adapters, `amqp_sansio_asyncio.messaging` and `amqp_sansio_sync.messaging`, returns a `Connection`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..errors import NotAccepted, TransactionFailed, Unsupported, VersionRefused
from ..events import Accepted, Rejected, Released
from ..versions import AMQP_0_10, AMQP_1_0
from .addresses import Addresses, quoted
from .connection import Bounded, Connection, Delivery, Outcome, Receiver, Sender, Sending, Transaction
from .message import Id, Message, MessageFields
from .negotiation import Offer

if TYPE_CHECKING:
    from ..client.connection import AnyConnection
    from ..versions import Version


def neutral(native: AnyConnection[Any], version: Version, addresses: Addresses | None, bounded: Bounded) -> Connection:
    """Return the neutral client over a version's own connection; for adapters. A version is loaded on first use."""
    found: Any = native
    if version is AMQP_1_0:
        from .amqp_1_0 import Messaging_1_0

        return Messaging_1_0(found, bounded, addresses)
    if version is AMQP_0_10:
        from .amqp_0_10 import Messaging_0_10

        return Messaging_0_10(found, bounded)
    from .classic import ClassicMessaging

    return ClassicMessaging(found, bounded)


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
    "neutral",
    "quoted",
]
