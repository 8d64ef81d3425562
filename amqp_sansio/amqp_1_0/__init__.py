"""AMQP 1.0: connection, configuration, sessions, links, events, records of its composite types, values, messages."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Final

from .codec import conditions, performatives, values
from .codec.composite import Composite, DeliveryState, Performative, SaslFrame, decode_frame_body
from .codec.conditions import (
    RECEIVER,
    SENDER,
    ReceiverSettleMode,
    SaslCode,
    SenderSettleMode,
    TerminusDurability,
    TerminusExpiryPolicy,
)
from .codec.message import AmqpSequence, AmqpValue, Data, Message, check_message
from .codec.performatives import *  # noqa: F403
from .codec.sections import position_octets, section_position
from .codec.values import *  # noqa: F403

if TYPE_CHECKING:
    from .endpoint.config import Config
    from .endpoint.connection import Connection
    from .endpoint.events import (
        AvailableChanged,
        CreditChanged,
        Delivery,
        DeliveryAborted,
        DeliveryRefused,
        DeliveryUpdated,
        Drained,
        LinkClosed,
        LinkFailed,
        LinkOpened,
        LinkRequested,
        Resumed,
        SessionRequested,
        TlsStarted,
        TransactionRequested,
        Updated,
    )
    from .endpoint.receiver import Receiver
    from .endpoint.sender import NoCredit, Sender
    from .endpoint.session import Session
    from .endpoint.transactions import Controller, Resource, Transaction
    from .model.resume import LinkState, Resend, ResumeAction, SavedDelivery, resume_action

_LATER: Final = {
    "AvailableChanged": "endpoint.events",
    "Config": "endpoint.config",
    "Connection": "endpoint.connection",
    "Controller": "endpoint.transactions",
    "CreditChanged": "endpoint.events",
    "Delivery": "endpoint.events",
    "DeliveryAborted": "endpoint.events",
    "DeliveryRefused": "endpoint.events",
    "DeliveryUpdated": "endpoint.events",
    "Drained": "endpoint.events",
    "LinkClosed": "endpoint.events",
    "LinkFailed": "endpoint.events",
    "LinkOpened": "endpoint.events",
    "LinkRequested": "endpoint.events",
    "LinkState": "model.resume",
    "NoCredit": "endpoint.sender",
    "Receiver": "endpoint.receiver",
    "Resend": "model.resume",
    "Resource": "endpoint.transactions",
    "ResumeAction": "model.resume",
    "Resumed": "endpoint.events",
    "SavedDelivery": "model.resume",
    "Sender": "endpoint.sender",
    "Session": "endpoint.session",
    "SessionRequested": "endpoint.events",
    "TlsStarted": "endpoint.events",
    "Transaction": "endpoint.transactions",
    "TransactionRequested": "endpoint.events",
    "Updated": "endpoint.events",
    "resume_action": "model.resume",
}
"""Names of what only an endpoint needs, with their modules: who only observes, or reads octets, doesn't load them."""


def __getattr__(name: str) -> object:
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    # From now on it is there as an imported name is.
    found = globals()[name] = getattr(import_module(f".{_LATER[name]}", __name__), name)
    return found


__all__ = [
    "RECEIVER",
    "SENDER",
    "AmqpSequence",
    "AmqpValue",
    "AvailableChanged",
    "Composite",
    "Config",
    "Connection",
    "Controller",
    "CreditChanged",
    "Data",
    "Delivery",
    "DeliveryAborted",
    "DeliveryRefused",
    "DeliveryState",
    "DeliveryUpdated",
    "Drained",
    "LinkClosed",
    "LinkFailed",
    "LinkOpened",
    "LinkRequested",
    "LinkState",
    "Message",
    "NoCredit",
    "Performative",
    "Receiver",
    "ReceiverSettleMode",
    "Resend",
    "Resource",
    "ResumeAction",
    "Resumed",
    "SaslCode",
    "SaslFrame",
    "SavedDelivery",
    "Sender",
    "SenderSettleMode",
    "Session",
    "SessionRequested",
    "TerminusDurability",
    "TerminusExpiryPolicy",
    "TlsStarted",
    "Transaction",
    "TransactionRequested",
    "Updated",
    "check_message",
    "conditions",
    "decode_frame_body",
    "position_octets",
    "resume_action",
    "section_position",
]
__all__ += performatives.__all__
__all__ += values.__all__
