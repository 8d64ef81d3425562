"""AMQP 0-10: connections and sessions as client and server, messages and values; `spec` has the records of the wire."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Final

from . import spec
from .codec.dialect import Dialect
from .codec.message import Headers, Message
from .codec.message_fields import ObservedCommand
from .codec.record import decode_command, decode_control, decode_headers, encode_headers
from .codec.records import DeliveryProperties, MessageProperties
from .codec.sequence_set import ByteRanges, SequenceSet
from .codec.structs import decode_struct
from .codec.types import Map, decode_value, encode_value
from .codec.values import Datetime, Struct32, Typed

if TYPE_CHECKING:
    from .endpoint.config import Config
    from .endpoint.connection import Connection
    from .endpoint.events import (
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
    from .endpoint.kept_sessions import KeptSessions
    from .endpoint.outgoing import NoCredit, Transferred
    from .endpoint.session import EXPLICIT, NONE, NOT_ACQUIRED, PRE_ACQUIRED, Session
    from .endpoint.session_state import SessionState
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
    from .model.execution import ERROR_CODES, ExecutionError

_LATER: Final = {
    "BYTE": "model.credit",
    "BodyAborted": "endpoint.events",
    "BodyReceived": "endpoint.events",
    "Branches": "model.dtx",
    "CREDIT": "model.credit",
    "CommandReceived": "endpoint.events",
    "Completed": "endpoint.events",
    "Config": "endpoint.config",
    "Connection": "endpoint.connection",
    "CreditChanged": "endpoint.events",
    "ERROR_CODES": "model.execution",
    "EXPLICIT": "endpoint.session",
    "ExecutionError": "model.execution",
    "INFINITE": "model.credit",
    "KeptSessions": "endpoint.kept_sessions",
    "MESSAGE": "model.credit",
    "MessageBegun": "endpoint.events",
    "MessageReceived": "endpoint.events",
    "NONE": "endpoint.session",
    "NOT_ACQUIRED": "endpoint.session",
    "NoCredit": "endpoint.outgoing",
    "PRE_ACQUIRED": "endpoint.session",
    "Redirected": "endpoint.events",
    "Rejected": "endpoint.events",
    "Released": "endpoint.events",
    "Resumed": "endpoint.events",
    "Session": "endpoint.session",
    "SessionClosed": "endpoint.events",
    "SessionRequested": "endpoint.events",
    "SessionState": "endpoint.session_state",
    "Transferred": "endpoint.outgoing",
    "WINDOW": "model.credit",
    "XA_HEURCOM": "model.dtx_states",
    "XA_HEURHAZ": "model.dtx_states",
    "XA_HEURMIX": "model.dtx_states",
    "XA_HEURRB": "model.dtx_states",
    "XA_OK": "model.dtx_states",
    "XA_RBROLLBACK": "model.dtx_states",
    "XA_RBTIMEOUT": "model.dtx_states",
    "XA_RDONLY": "model.dtx_states",
}
"""Names of what only an endpoint needs, with their modules: who only observes, or reads octets, doesn't load them."""


def __getattr__(name: str) -> object:
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    # From now on it is there as an imported name is.
    found = globals()[name] = getattr(import_module(f".{_LATER[name]}", __name__), name)
    return found


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
    "CommandReceived",
    "Completed",
    "Config",
    "Connection",
    "CreditChanged",
    "Datetime",
    "DeliveryProperties",
    "Dialect",
    "ExecutionError",
    "Headers",
    "KeptSessions",
    "Map",
    "Message",
    "MessageBegun",
    "MessageProperties",
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
    "spec",
]
