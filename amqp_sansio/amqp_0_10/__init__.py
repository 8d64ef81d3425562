"""AMQP 0-10: connections and sessions as client and server, and the values and records of the wire."""

from __future__ import annotations

from .codec import records
from .codec.dialect import Dialect
from .codec.message import Headers, Message
from .codec.message_fields import ObservedCommand
from .codec.record import Command, Control, decode_command, decode_control, decode_headers, encode_headers
from .codec.records import *  # noqa: F403
from .codec.sequence_set import ByteRanges, SequenceSet
from .codec.structs import Struct, decode_struct
from .codec.types import Map, decode_value, encode_value
from .codec.values import Datetime, Struct32, Typed
from .codec.violation import DetachCode
from .endpoint.config import Config
from .endpoint.connection import Connection
from .endpoint.kept_sessions import KeptSessions
from .endpoint.outgoing import NoCredit, Transferred
from .endpoint.session import EXPLICIT, NONE, NOT_ACQUIRED, PRE_ACQUIRED, Session
from .model.credit import BYTE, CREDIT, INFINITE, MESSAGE, WINDOW
from .model.dtx import Branches
from .model.dtx_states import (
    XA_HEURCOM,
    XA_HEURHAZ,
    XA_HEURMIX,
    XA_HEURRB,
    XA_OK,
    XA_RBROLLBACK,
    XA_RBTIMEOUT,
    XA_RDONLY,
)
from .model.events import (
    BodyAborted,
    BodyReceived,
    CommandReceived,
    Completed,
    CreditChanged,
    MessageBegun,
    MessageReceived,
    Redirected,
    Rejected,
    Released,
    Resumed,
    SessionClosed,
    SessionRequested,
)
from .model.execution import ERROR_CODES, ExecutionError
from .model.session_state import SessionState

__all__ = [
    "BYTE",
    "CREDIT",
    "ERROR_CODES",
    "EXPLICIT",
    "INFINITE",
    "MESSAGE",
    "NONE",
    "NOT_ACQUIRED",
    "PRE_ACQUIRED",
    "WINDOW",
    "XA_HEURCOM",
    "XA_HEURHAZ",
    "XA_HEURMIX",
    "XA_HEURRB",
    "XA_OK",
    "XA_RBROLLBACK",
    "XA_RBTIMEOUT",
    "XA_RDONLY",
    "BodyAborted",
    "BodyReceived",
    "Branches",
    "ByteRanges",
    "Command",
    "CommandReceived",
    "Completed",
    "Config",
    "Connection",
    "Control",
    "CreditChanged",
    "Datetime",
    "DetachCode",
    "Dialect",
    "ExecutionError",
    "Headers",
    "KeptSessions",
    "Map",
    "Message",
    "MessageBegun",
    "MessageReceived",
    "NoCredit",
    "ObservedCommand",
    "Redirected",
    "Rejected",
    "Released",
    "Resumed",
    "SequenceSet",
    "Session",
    "SessionClosed",
    "SessionRequested",
    "SessionState",
    "Struct",
    "Struct32",
    "Transferred",
    "Typed",
    "decode_command",
    "decode_control",
    "decode_headers",
    
    "decode_struct", "decode_value",
    "encode_headers",
    "encode_value",
]  # fmt: skip
__all__ += records.__all__
