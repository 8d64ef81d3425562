"""The public strategies for AMQP 1.0 as values with short names, and octets that no strategy gives."""

import struct
from typing import Any

from hypothesis import strategies as st

from amqp_sansio.amqp_1_0.codec.values import Int, Symbol, UInt, ULong
from amqp_sansio.testing import amqp_1_0 as public
from amqp_sansio.testing.amqp_1_0 import RECORDS, records

strings = public.strings()
symbols = public.symbols()
scalars = public.scalars()
values = public.values()
maps = public.maps()
plain_values = public.encoded_alike()
messages = public.messages()
any_record = st.sampled_from(RECORDS).flatmap(records)


def widest(value: Any) -> bytes:
    """The octets of a scalar in its widest form, which is never the canonical one."""
    kind = value.__class__
    if value is True or value is False:
        return b"\x56\x01" if value else b"\x56\x00"
    if kind is UInt:
        return struct.pack(">BI", 0x70, value)
    if kind is ULong:
        return struct.pack(">BQ", 0x80, value)
    if kind is Int:
        return struct.pack(">Bi", 0x71, value)
    if kind is int:
        return struct.pack(">Bq", 0x81, value)
    code, octets = {bytes: (0xB0, value), str: (0xB1, value), Symbol: (0xB3, value)}[kind]
    raw: bytes = octets if kind is bytes else octets.encode()
    return struct.pack(">BI", code, len(raw)) + raw
