"""Straight-line code for what most maps hold: short characters, integers and booleans.

The careful code of `types` takes everything out of the ordinary, errors included, and gives the same octets and
values.
"""

from __future__ import annotations

from collections.abc import Mapping
from struct import Struct
from struct import error as StructError

from ..._checking import TYPE_CHECKING

if TYPE_CHECKING:
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
_TRUTH: Final = (False, True)
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
            start = pos + 1
            pos = start + raw[pos]
            key = raw[start:pos].decode()
            code = raw[pos]
            if code == _STR16:
                start = pos + 3
                high = raw[pos + 1]
                pos = start + raw[pos + 2]
                if high:
                    pos += high << 8
                found[key] = raw[start:pos].decode()
            elif code == _INT64:
                found[key] = _READ_I64(raw, pos + 1)[0]
                pos += 9
            elif code == _BOOLEAN:
                found[key] = _TRUTH[raw[pos + 1]]
                pos += 2
            else:
                return None
    except (StructError, IndexError, UnicodeDecodeError):
        return None
    return found if pos == len(raw) and len(found) == count else None
