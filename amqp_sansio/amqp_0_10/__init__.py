"""AMQP 0-10: connections and sessions as client and server, and the values and records of the wire."""

from __future__ import annotations

from . import _records
from ._records import *  # noqa: F403
from ._types import decode_value, encode_value
from .config import Config
from .connection import Connection
from .credit import BYTE, CREDIT, INFINITE, MESSAGE, WINDOW
from .dialect import Dialect
from .dtx import Branches
from .dtx_states import (
    XA_HEURCOM,
    XA_HEURHAZ,
    XA_HEURMIX,
    XA_HEURRB,
    XA_OK,
    XA_RBROLLBACK,
    XA_RBTIMEOUT,
    XA_RDONLY,
)
from .events import (
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
from .execution import ERROR_CODES, ExecutionError
from .knowledge import SessionState
from .message import Headers, Message
from .observing_message import ObservedCommand
from .own_commands import NoCredit
from .records import (
    Command,
    Control,
    Struct,
    decode_command,
    decode_control,
    decode_headers,
    decode_struct,
    encode_headers,
)
from .sequence_set import ByteRanges, SequenceSet
from .session import EXPLICIT, NONE, NOT_ACQUIRED, PRE_ACQUIRED, Session, Transferred
from .values import Datetime, Map, Struct32, Typed
from .violation import DetachCode

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
    "decode_struct",
    "decode_value",
    "encode_headers",
    "encode_value",
]
__all__ += _records.__all__
