"""AMQP 1.0: connection, configuration, sessions, links, events, records of its composite types, values, messages."""

from __future__ import annotations

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
from .endpoint.config import Config
from .endpoint.connection import Connection
from .endpoint.events import (
    AvailableChanged,
    CreditChanged,
    Delivery,
    DeliveryAborted,
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
