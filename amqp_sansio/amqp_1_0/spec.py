"""The specification of AMQP 1.0 as records: performatives, SASL frames, delivery states, termini, types, choices."""

from __future__ import annotations

from .codec import conditions
from .codec import performatives as _performatives
from .codec.conditions import (
    RECEIVER,
    SENDER,
    ReceiverSettleMode,
    SaslCode,
    SenderSettleMode,
    TerminusDurability,
    TerminusExpiryPolicy,
)
from .codec.performatives import *  # noqa: F403
from .codec.values import (
    AmqpMap,
    Array,
    Byte,
    Char,
    Decimal32,
    Decimal64,
    Decimal128,
    Described,
    Float,
    Int,
    Map,
    Opaque,
    Short,
    Symbol,
    Timestamp,
    UByte,
    UInt,
    ULong,
    UShort,
)

__all__ = [
    "RECEIVER",
    "SENDER",
    "AmqpMap",
    "Array",
    "Byte",
    "Char",
    "Decimal32",
    "Decimal64",
    "Decimal128",
    "Described",
    "Float",
    "Int",
    "Map",
    "Opaque",
    "ReceiverSettleMode",
    "SaslCode",
    "SenderSettleMode",
    "Short",
    "Symbol",
    "TerminusDurability",
    "TerminusExpiryPolicy",
    "Timestamp",
    "UByte",
    "UInt",
    "ULong",
    "UShort",
    "conditions",
]
__all__ += [name for name in _performatives.__all__ if name != "decode_frame_body"]
