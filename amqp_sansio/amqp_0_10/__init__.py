"""AMQP 0-10: the values, structs, controls and commands of the wire."""

from __future__ import annotations

from . import _records
from ._records import *  # noqa: F403
from ._types import decode_value, encode_value
from .observing_message import Headers, ObservedCommand
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
from .values import Datetime, Map, Struct32, Typed

__all__ = [
    "ByteRanges",
    "Command",
    "Control",
    "Datetime",
    "Headers",
    "Map",
    "ObservedCommand",
    "SequenceSet",
    "Struct",
    "Struct32",
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
