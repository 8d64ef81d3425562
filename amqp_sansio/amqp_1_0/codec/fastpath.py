"""Straight-line code for what most messages consist of; whatever is out of the ordinary is left to the careful code."""

from __future__ import annotations

from collections.abc import Mapping
from struct import Struct

from ..._checking import TYPE_CHECKING, Any
from ..._compiled import COMPILED
from .octets import (
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
    VALUES,
)
from .types import Int, Symbol, Timestamp, UInt, ULong

if TYPE_CHECKING:
    from typing import Final, TypeAlias

if TYPE_CHECKING or COMPILED:
    from ..._compiled import scan_map

read_start: Final = Struct(">IB").unpack_from
"""A section's first four octets - 00 53, its code, its value's format code - and the octet behind them."""
_ENTRIES: Final = 65_536
_Values: TypeAlias = dict[str, Any]
"""Of a map whose keys are str or symbols."""


def locate(buf: bytes) -> dict[int, Any]:
    """Where each section of a message begins, by its code; all descriptors have three octets, 00 53 and the code.

    A body of several sections is out of the ordinary. Raises one of READ_FAULTS.
    """
    found: dict[int, Any] = {}
    pos = 0
    end = len(buf)
    after = _FIRST
    while pos < end:
        word, size = read_start(buf, pos)
        number, short, after = after[word]
        found[number] = pos
        if short:
            pos += 5 + size
        else:
            pos += 8 + READ_U32(buf, pos + 4)[0]
    if pos != end:
        raise ValueError
    return found


def pass_annotations(buf: bytes, pos: int) -> int:
    """Where the sections behind the annotations at `pos` begin. Raises one of READ_FAULTS."""
    last = 0x5370FF
    while True:
        word, size = read_start(buf, pos)
        if word >= 0x537300:
            return pos
        if word <= last:
            raise ValueError
        last = word | 0xFF
        code = word & 0xFF
        if code == 0xC1:
            pos += 5 + size
        elif code == 0xD1:
            pos += 8 + READ_U32(buf, pos + 4)[0]
        else:
            raise ValueError


_Following: TypeAlias = dict[int, tuple[int, bool, "_Following"]]
"""The sections that may come next, by their first four octets: number, whether the size has one octet, and the sections
that may follow."""


def _following() -> _Following:
    forms = {
        **dict.fromkeys((0x70, 0x73, 0x76), (0xC0, 0xD0)),
        **dict.fromkeys((0x71, 0x72, 0x74, 0x78), (0xC1, 0xD1)),
        0x75: (0xA0, 0xB0),
        0x77: [word & 0xFF for word in VALUES],
    }
    after: dict[int, _Following] = {}
    for last in (*range(0x78, 0x6F, -1), 0):
        # Only a footer comes behind a body.
        numbers = [number for number in forms if number > last and (last < 0x75 or number == 0x78)]
        after[last] = {
            0x0053_0000 | number << 8 | code: (number, code & 0x10 == 0, after[number])
            for number in numbers
            for code in forms[number]
        }
    return after[0]


_FIRST: Final = _following()


def _read_properties(buf: bytes, pos: int, end: int) -> tuple[_Values, int]:
    if buf[pos] == 0xD1:
        size, count = READ_TWO_U32(buf, pos + 1)
        stop = pos + 5 + size
        pos += 9
    elif buf[pos] == 0xC1:
        stop = pos + 2 + buf[pos + 1]
        count = buf[pos + 2]
        pos += 3
    else:
        raise ValueError
    if stop > end or count > _ENTRIES:
        raise ValueError
    values: _Values = {}
    while pos < stop:
        if buf[pos] != 0xA1:
            raise ValueError
        at = pos + 2
        pos = at + buf[pos + 1]
        key = buf[at:pos].decode()
        code = buf[pos]
        if code == 0xA1:
            at = pos + 2
            pos = at + buf[pos + 1]
            values[key] = buf[at:pos].decode()
        elif code == 0x55:
            value = buf[pos + 1]
            values[key] = value if value < 128 else value - 256
            pos += 2
        elif code == 0x41:
            values[key] = True
            pos += 1
        else:
            values[key], pos = _plain(buf, pos, code)
    if pos != stop or 2 * len(values) != count:
        raise ValueError
    return values, stop


def _read_symbols(buf: bytes, pos: int, end: int) -> tuple[_Values, int]:
    if buf[pos] == 0xC1:
        stop = pos + 2 + buf[pos + 1]
        count = buf[pos + 2]
        pos += 3
    elif buf[pos] == 0xD1:
        size, count = READ_TWO_U32(buf, pos + 1)
        stop = pos + 5 + size
        pos += 9
    else:
        raise ValueError
    if stop > end or count > _ENTRIES:
        raise ValueError
    values: _Values = {}
    while pos < stop:
        if buf[pos] != 0xA3:
            raise ValueError
        at = pos + 2
        pos = at + buf[pos + 1]
        key = Symbol(buf[at:pos], "ascii")
        values[key], pos = _plain(buf, pos, buf[pos])
    if pos != stop or 2 * len(values) != count:
        raise ValueError
    return values, stop


def _plain(buf: bytes, pos: int, code: int) -> tuple[object, int]:
    if code == 0xA1:
        at = pos + 2
        pos = at + buf[pos + 1]
        return buf[at:pos].decode(), pos
    if code == 0x55:
        value = buf[pos + 1]
        return (value if value < 128 else value - 256), pos + 2
    if code == 0x41:
        return True, pos + 1
    if code == 0x42:
        return False, pos + 1
    if code == 0x81:
        return READ_I64(buf, pos + 1)[0], pos + 9
    if code == 0x54:
        value = buf[pos + 1]
        return INT(Int, value if value < 128 else value - 256), pos + 2
    if code == 0x83:
        return INT(Timestamp, READ_I64(buf, pos + 1)[0]), pos + 9
    if code == 0xA3:
        at = pos + 2
        pos = at + buf[pos + 1]
        return Symbol(buf[at:pos], "ascii"), pos
    if code == 0x40:
        return None, pos + 1
    if code == 0x52:
        return INT(UInt, buf[pos + 1]), pos + 2
    if code == 0x53:
        return INT(ULong, buf[pos + 1]), pos + 2
    if code == 0x82:
        return READ_F64(buf, pos + 1)[0], pos + 9
    if code == 0xA0:
        at = pos + 2
        pos = at + buf[pos + 1]
        return buf[at:pos], pos
    raise ValueError


_MAKERS: Final = (Symbol, Timestamp, Int, UInt, ULong)


def _scan_properties(buf: bytes, pos: int, end: int) -> tuple[_Values, int]:
    return scan_map(buf, pos, end, 0xA1, _MAKERS) or _read_properties(buf, pos, end)


def _scan_symbols(buf: bytes, pos: int, end: int) -> tuple[_Values, int]:
    return scan_map(buf, pos, end, 0xA3, _MAKERS) or _read_symbols(buf, pos, end)


read_properties: Final = _scan_properties if COMPILED else _read_properties
"""A map of short strings to plain values, and where it ends. Raises one of READ_FAULTS."""
read_symbols: Final = _scan_symbols if COMPILED else _read_symbols
"""A map of short symbols to plain values, and where it ends. Raises one of READ_FAULTS."""


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
