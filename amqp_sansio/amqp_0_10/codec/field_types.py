"""Octets of the fields of records, by their types; what is cut off is found by where the last field ends."""

from __future__ import annotations

import uuid
from itertools import product
from struct import Struct as _Struct

from ..._checking import TYPE_CHECKING, TypeVar
from ...errors import CodecError
from .sequence_set import ByteRanges, SequenceSet
from .structs import Struct, decode_struct
from .types import Map, decode_array, encode_array, encode_as, encode_entries
from .values import CODES, fault

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, Final
    from uuid import UUID

_S = TypeVar("_S", bound=Struct)

_pack_B = _Struct(">B").pack
_pack_H = _Struct(">H").pack
_pack_I = _Struct(">I").pack
_read_H = _Struct(">H").unpack_from
_read_I = _Struct(">I").unpack_from
_STRUCT32 = CODES["struct32"]


def read_uuid(data: bytes, pos: int) -> tuple[UUID, int]:
    """Sixteen octets."""
    octets = data[pos : pos + 16]
    if len(octets) != 16:
        raise fault("a uuid is cut off", pos)
    # As UUID(bytes=octets), which takes four times as long to find out that there are sixteen.
    found = _new(_UUID)
    _set_int(found, _from_bytes(octets, "big"))
    _set_is_safe(found, _UNKNOWN)
    return found, pos + 16


_UUID: Final = uuid.UUID
_UNKNOWN: Final = uuid.SafeUUID.unknown
_new = object.__new__
_from_bytes = int.from_bytes
# A UUID refuses assignment; its slots don't.
_set_int: Final = vars(_UUID)["int"].__set__
_set_is_safe: Final = vars(_UUID)["is_safe"].__set__


def read_array(data: bytes, pos: int) -> tuple[list[object], int]:
    """An array behind four octets of size."""
    end = pos + 4 + _read_I(data, pos)[0]
    if end > len(data):
        raise fault("an array is cut off", pos)
    return decode_array(data, pos + 4, end), end


def read_sequence_set(data: bytes, pos: int) -> tuple[SequenceSet, int]:
    """Ranges behind two octets of size."""
    end = pos + 2 + _read_H(data, pos)[0]
    if end > len(data):
        raise fault("a sequence-set is cut off", pos)
    return SequenceSet.decode(data[pos + 2 : end]), end


def read_byte_ranges(data: bytes, pos: int) -> tuple[ByteRanges, int]:
    """Ranges behind two octets of size."""
    end = pos + 2 + _read_H(data, pos)[0]
    if end > len(data):
        raise fault("byte-ranges are cut off", pos)
    return ByteRanges.decode(data[pos + 2 : end]), end


def read_struct32(data: bytes, pos: int) -> tuple[object, int]:
    """A coded struct behind four octets of size."""
    end = pos + 4 + _read_I(data, pos)[0]
    if end > len(data):
        raise fault("a struct32 is cut off", pos)
    return decode_struct(data, pos + 4, end), end


def read_struct(kind: type[_S], data: bytes, pos: int, end: int) -> tuple[_S, int]:
    """A struct of a known type: its size and code as the type says."""
    size = kind.SIZE
    start = pos + size
    stop = start + int.from_bytes(data[pos:start], "big") if size else end
    if stop > end:
        raise fault(f"{kind.NAME} is cut off", pos)
    if kind.CODE:
        code = int.from_bytes(data[start : start + 2], "big")
        if code != kind.CODE:
            raise fault(f"struct {code >> 8}.{code & 255} where {kind.NAME} belongs", start)
        start += 2
    return kind.decode(data, start, stop), stop


def read_xid(data: bytes, pos: int, end: int) -> tuple[Any, int]:
    """An Xid or a PlainXid, by its form: with a code behind four octets of size, or without one behind two."""
    # No xid fills 65,536 octets, so the larger size begins with two zeros. The smaller one counts the packing flags.
    coded = data[pos : pos + 2] == b"\x00\x00"
    return read_struct(XID_FORMS[coded], data, pos, end)


XID_FORMS: Final[dict[bool, type[Struct]]] = {}
"""Xid, which has a code (True), and PlainXid, which has none; `dialect` adds both when it's imported."""


def pack_str8(value: str) -> bytes:
    """Characters behind one octet of size. Raises CodecError above 255 octets."""
    octets = value.encode("utf-8", "surrogateescape")
    if len(octets) > 255:
        raise CodecError(f"{value[:20]!r}... has {len(octets)} octets, a str8 has at most 255")
    return OCTETS[len(octets)] + octets


OCTETS: Final = tuple([bytes((size,)) for size in range(256)])
"""The octet of each size."""

BITS: Final = tuple([octet[::-1] for octet in product((False, True), repeat=8)])
"""For each octet of packing flags: whether each of its eight fields is there, in their order."""


def pack_str16(value: str) -> bytes:
    """Characters behind two octets of size. Raises CodecError above 65,535 octets."""
    octets = value.encode("utf-8", "surrogateescape")
    if len(octets) > 65_535:
        raise CodecError(f"{value[:20]!r}... has {len(octets)} octets, a str16 has at most 65535")
    return _pack_H(len(octets)) + octets


def pack_vbin8(value: bytes) -> bytes:
    """Octets behind one octet of size. Raises CodecError."""
    if len(value) > 255:
        raise CodecError(f"{len(value)} octets, a vbin8 has at most 255")
    return _pack_B(len(value)) + value


def pack_vbin16(value: bytes) -> bytes:
    """Octets behind two octets of size. Raises CodecError."""
    if len(value) > 65_535:
        raise CodecError(f"{len(value)} octets, a vbin16 has at most 65535")
    return _pack_H(len(value)) + value


def pack_vbin32(value: bytes) -> bytes:
    """Octets behind four octets of size."""
    return _pack_I(len(value)) + value


def pack_map(value: Mapping[str, object]) -> bytes:
    """A map behind four octets of size. Raises CodecError."""
    # `isinstance` with an abstract class is slow for what is no instance.
    octets = value.raw if value.__class__ is not dict and isinstance(value, Map) else encode_entries(value)
    return _pack_I(len(octets)) + octets


pack_array: Final = encode_array


def pack_sequence_set(value: SequenceSet | ByteRanges) -> bytes:
    """Ranges behind two octets of size. Raises CodecError."""
    return pack_vbin16(value.encode())


pack_byte_ranges: Final = pack_sequence_set


def pack_struct32(value: object) -> bytes:
    """A coded struct behind four octets of size. Raises CodecError."""
    return encode_as(_STRUCT32, value, 1)
