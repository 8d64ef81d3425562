"""AMQP 1.0: connection, configuration, sessions, links, events, records of its composite types, values, messages."""

from __future__ import annotations

from . import _performatives, conditions, values
from ._performatives import *  # noqa: F403
from .conditions import (
    RECEIVER,
    SENDER,
    ReceiverSettleMode,
    SaslCode,
    SenderSettleMode,
    TerminusDurability,
    TerminusExpiryPolicy,
)
from .config import Config
from .connection import Connection
from .events import (
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
from .message import (
    AmqpSequence,
    AmqpValue,
    Data,
    Message,
    check_message,
    position_octets,
    section_position,
)
from .performative import Composite, DeliveryState, Performative, SaslFrame, decode_frame_body
from .receiver import Receiver
from .resource import Resource, Transaction
from .resume import LinkState, Resend, ResumeAction, SavedDelivery, resume_action
from .sender import NoCredit, Sender
from .session import Session
from .transactions import Controller
from .values import *  # noqa: F403

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
__all__ += _performatives.__all__
__all__ += values.__all__
