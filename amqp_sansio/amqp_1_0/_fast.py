"""Straight-line code for what most messages consist of; whatever is out of the ordinary is left to the careful code."""

from __future__ import annotations

from collections.abc import Mapping
from struct import Struct
from typing import Any, Final

from ._octets import (
    BINARY,
    BOOLEANS,
    INT,
    JOIN,
    LONGS,
    PACK_F64,
    PACK_I64,
    READ_F64,
    READ_I64,
    READ_TWO_U32,
    READ_U32,
    STRING,
    UINTS,
)
from ._types import Int, Symbol, Timestamp, UInt, ULong

_read_start: Final = Struct(">IB").unpack_from
_ENTRIES: Final = 65_536


def locate(buf: bytes) -> dict[int, Any]:
    """Where each section of a message begins, by its code; all descriptors have three octets, 00 53 and the code.

    A body of several sections is out of the ordinary. Raises one of READ_FAULTS.
    """
    found: dict[int, Any] = {}
    pos = last = 0
    end = len(buf)
    while pos < end:
        word, size = _read_start(buf, pos)
        number = _FORMS[word]
        if number <= last or (number > 0x75 and last > 0x74 and number != 0x78):
            if number > 0:
                raise ValueError
            # Four octets of size.
            number = -number
            if number <= last or (number > 0x75 and last > 0x74 and number != 0x78):
                raise ValueError
            found[number] = pos
            pos += 8 + READ_U32(buf, pos + 4)[0]
        else:
            found[number] = pos
            pos += 5 + size
        last = number
    if pos != end:
        raise ValueError
    return found


_FORMS: Final = {
    0x0053_0000 | number << 8 | code: number if code < 0xD0 and code != 0xB0 else -number
    for codes, numbers in (
        ((0xC0, 0xD0), (0x70, 0x73, 0x76, 0x77)),
        ((0xC1, 0xD1), (0x71, 0x72, 0x74, 0x77, 0x78)),
        ((0xA0, 0xB0), (0x75, 0x77)),
    )
    for number in numbers
    for code in codes
}
"""A section's number by its first four octets, the format code the last; below 0 where the size has four octets."""


def read_map(buf: bytes, pos: int, end: int, keys: int) -> tuple[dict[Any, Any], int]:
    """A map of short strings (`keys` is 0xa1) or symbols (0xa3) to plain values, and where it ends.

    Raises one of READ_FAULTS.
    """
    code = buf[pos]
    if code == 0xC1:
        stop = pos + 2 + buf[pos + 1]
        count = buf[pos + 2]
        pos += 3
    elif code == 0xD1:
        size, count = READ_TWO_U32(buf, pos + 1)
        stop = pos + 5 + size
        pos += 9
    else:
        raise ValueError
    if stop > end or count > _ENTRIES or (keys != 0xA1 and keys != 0xA3):
        raise ValueError
    values: dict[Any, Any] = {}
    symbols = keys == 0xA3
    key: Any
    value: Any
    while pos < stop:
        if buf[pos] != keys:
            raise ValueError
        at = pos + 2
        pos = at + buf[pos + 1]
        key = Symbol(buf[at:pos], "ascii") if symbols else buf[at:pos].decode()
        code = buf[pos]
        if code == 0xA1:
            at = pos + 2
            pos = at + buf[pos + 1]
            value = buf[at:pos].decode()
        elif code == 0x55:
            value = buf[pos + 1]
            if value > 127:
                value -= 256
            pos += 2
        elif code == 0x41:
            value = True
            pos += 1
        elif code == 0x42:
            value = False
            pos += 1
        elif code == 0x81:
            value = READ_I64(buf, pos + 1)[0]
            pos += 9
        elif code == 0x54:
            value = buf[pos + 1]
            value = INT(Int, value - 256 if value > 127 else value)
            pos += 2
        elif code == 0x83:
            value = INT(Timestamp, READ_I64(buf, pos + 1)[0])
            pos += 9
        elif code == 0xA3:
            at = pos + 2
            pos = at + buf[pos + 1]
            value = Symbol(buf[at:pos], "ascii")
        elif code == 0x40:
            value = None
            pos += 1
        elif code == 0x52:
            value = INT(UInt, buf[pos + 1])
            pos += 2
        elif code == 0x53:
            value = INT(ULong, buf[pos + 1])
            pos += 2
        elif code == 0x82:
            value = READ_F64(buf, pos + 1)[0]
            pos += 9
        elif code == 0xA0:
            at = pos + 2
            pos = at + buf[pos + 1]
            value = buf[at:pos]
        else:
            raise ValueError
        values[key] = value
    if pos != stop or 2 * len(values) != count:
        raise ValueError
    return values, stop


def write_properties(values: Mapping[str, Any]) -> bytes:
    """The map of application properties of plain values. Raises one of WRITE_FAULTS."""
    parts: list[bytes] = []
    add = parts.append
    for key, value in values.items():
        if key.__class__ is not str:
            raise TypeError
        raw = key.encode()
        kind = value.__class__
        if kind is str:
            text = value.encode()
            parts += (STRING[len(raw)], raw, STRING[len(text)], text)
        elif kind is int:
            parts += (STRING[len(raw)], raw)
            number: int = value
            add(LONGS[number] if -128 <= number < 128 else PACK_I64(0x81, number))
        elif kind is bool:
            parts += (STRING[len(raw)], raw, BOOLEANS[value])
        elif kind is float:
            parts += (STRING[len(raw)], raw, PACK_F64(0x82, value))
        elif kind is bytes:
            parts += (STRING[len(raw)], raw, BINARY[len(value)], value)
        elif kind is Timestamp:
            parts += (STRING[len(raw)], raw, PACK_I64(0x83, value))
        elif kind is UInt and value < 256:
            parts += (STRING[len(raw)], raw, UINTS[value])
        else:
            raise ValueError
    octets = JOIN(parts)
    return bytes((0xC1, len(octets) + 1, 2 * len(values))) + octets


__all__ = ["locate", "read_map", "write_properties"]
