"""Straight-line code for what most maps hold: short characters, integers and booleans.

The careful code of `types` takes everything out of the ordinary, errors included, and gives the same octets and
values.
"""

from __future__ import annotations

from collections.abc import Mapping
from struct import Struct
from struct import error as StructError
from typing import Any, Final

_STR16: Final = 0x95
_INT64: Final = 0x31
_BOOLEAN: Final = 0x08
_ENTRIES: Final = 65_536
_WIDE: Final = 1 << 63
_COUNT: Final = Struct(">I").pack
_TAGGED: Final = Struct(">Bq").pack
_READ_U32: Final = Struct(">I").unpack_from
_READ_I64: Final = Struct(">q").unpack_from
_BOOLEANS: Final = (b"\x08\x00", b"\x08\x01")
_OCTETS: Final = tuple([bytes((size,)) for size in range(256)])
_TEXT_SIZES: Final = tuple([bytes((_STR16, 0, size)) for size in range(256)])
"""Code and size of short characters."""


def encode_plain(entries: Mapping[str, Any]) -> bytes:
    """Count and entries of a map. Raises LookupError, ValueError, AttributeError for what is out of the ordinary."""
    parts = [_COUNT(len(entries))]
    for key, value in entries.items():
        octets = key.encode()
        kind = value.__class__
        if kind is str:
            content = value.encode()
            parts += (_OCTETS[len(octets)], octets, _TEXT_SIZES[len(content)], content)
        elif kind is bool:
            parts += (_OCTETS[len(octets)], octets, _BOOLEANS[value])
        elif kind is int and -_WIDE <= value < _WIDE:
            parts += (_OCTETS[len(octets)], octets, _TAGGED(_INT64, value))
        else:
            raise LookupError
    return b"".join(parts)


def decode_plain(raw: bytes) -> dict[str, object] | None:
    """The entries of a map; None for what is out of the ordinary."""
    try:
        count = _READ_U32(raw, 0)[0]
        if count > _ENTRIES:
            return None
        found: dict[str, object] = {}
        pos = 4
        for _ in range(count):
            stop = pos + 1 + raw[pos]
            key = raw[pos + 1 : stop].decode()
            code = raw[stop]
            pos = stop + 1
            if code == _STR16:
                stop = pos + 2 + (raw[pos] << 8 | raw[pos + 1])
                found[key] = raw[pos + 2 : stop].decode()
                pos = stop
            elif code == _INT64:
                found[key] = _READ_I64(raw, pos)[0]
                pos += 8
            elif code == _BOOLEAN and raw[pos] < 2:
                found[key] = raw[pos] == 1
                pos += 1
            else:
                return None
    except (StructError, IndexError, UnicodeDecodeError):
        return None
    return found if pos == len(raw) and len(found) == count else None
