"""The specification of AMQP 0-10 as records: one for each control, command and struct, their bases, and its choices."""

from __future__ import annotations

from .codec import records as _records
from .codec.choices import (
    BYTE,
    CREDIT,
    EXPLICIT,
    INFINITE,
    MESSAGE,
    NONE,
    NOT_ACQUIRED,
    PRE_ACQUIRED,
    WINDOW,
    XA_HEURCOM,
    XA_HEURHAZ,
    XA_HEURMIX,
    XA_HEURRB,
    XA_OK,
    XA_RBROLLBACK,
    XA_RBTIMEOUT,
    XA_RDONLY,
)
from .codec.record import Command, Control
from .codec.records import *  # noqa: F403
from .codec.sequence_set import ByteRanges
from .codec.structs import Struct
from .codec.values import Datetime, Struct32, Typed
from .codec.violation import DetachCode

__all__ = [
    "BYTE",
    "CREDIT",
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
    "ByteRanges",
    "Command",
    "Control",
    "Datetime",
    "DetachCode",
    "Struct",
    "Struct32",
    "Typed",
]
__all__ += _records.__all__
