"""Values to octets, each in its smallest form (1.0 part 1 section 1.6)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from struct import Struct

from ..._checking import TYPE_CHECKING, cast
from .decimals import Decimal32, Decimal64, Decimal128
from .faults import fault
from .octets import BOOLEANS, PACK_F64, PACK_I64, PACK_U32
from .types import (
    Array,
    Byte,
    Char,
    Described,
    Float,
    Int,
    Integer,
    Opaque,
    Short,
    Symbol,
    Timestamp,
    UByte,
    UInt,
    ULong,
    UShort,
)

if TYPE_CHECKING:
    from typing import Any, Final

_pack_code: Final = Struct(">B").pack
_pack_i8: Final = Struct(">Bb").pack
_pack_u16: Final = Struct(">BH").pack
_pack_i16: Final = Struct(">Bh").pack
_pack_i32: Final = Struct(">Bi").pack
_pack_u64: Final = Struct(">BQ").pack
_pack_f32: Final = Struct(">Bf").pack
_pack_sizes: Final = Struct(">BII").pack

NESTING: Final = 256
"""How deep a value to encode may be nested: it's the caller's own, so this only catches what holds itself."""


def encode(value: object) -> bytes:
    """The octets of `value`, in the smallest form of its type; what was decoded gives its own octets again.

    Python's None, bool, int (a long), float (a double), str, bytes, list or tuple, mapping, UUID, datetime
    (a timestamp) and Decimal (a decimal128) are encoded as they are; every class of
    `amqp_sansio.amqp_1_0.codec.values`, records and messages' sections too. Raises CodecError for anything else.

    >>> encode([1, "a", UInt(0)])
    b'\\xc0\\x07\\x03U\\x01\\xa1\\x01aC'
    """
    return encode_value(value, NESTING)


def encode_value(value: object, depth: int) -> bytes:
    """As `encode`, with `depth` levels of nesting left."""
    encoder = ENCODERS.get(value.__class__)
    if encoder is not None:
        return encoder(value)
    if depth <= 0:
        raise fault("a value is nested too deep, or holds itself", None, "types/constructor")
    octets = getattr(value, "encode_as_value", None)
    if octets is not None:
        return cast("Callable[[], bytes]", octets)()
    if isinstance(value, Described):
        return b"\0" + encode_value(value.descriptor, depth - 1) + encode_value(value.value, depth - 1)
    if isinstance(value, Array):
        return encode_array(value, depth - 1)
    if isinstance(value, Mapping):
        values = cast("Mapping[object, object]", value)
        raw: object = getattr(values, "raw", None)
        if isinstance(raw, bytes):
            return raw
        return encode_pairs(values.items(), depth - 1)
    if isinstance(value, (list, tuple)):
        items = cast("Sequence[object]", value)
        return encode_items(0xC0, len(items), b"".join([encode_value(item, depth - 1) for item in items]))
    for kind, encoder in ENCODERS.items():
        if isinstance(value, kind):
            return encoder(value)
    return _encode_rare(value)


def _encode_rare(value: object) -> bytes:
    from datetime import datetime
    from decimal import Decimal
    from uuid import UUID

    try:
        if isinstance(value, UUID):
            return b"\x98" + value.bytes
        if isinstance(value, datetime):
            return encode_timestamp(Timestamp.from_datetime(value))
        if isinstance(value, Decimal):
            return b"\x94" + Decimal128.from_decimal(value).bits
    except ValueError as error:
        raise fault(str(error), None, "types/decimal") from None
    raise fault(f"AMQP has no type for {value!r:.60}", None, "types/constructor")


def encode_pairs(pairs: Iterable[tuple[object, object]], depth: int = NESTING) -> bytes:
    """A map's octets, with the format code. Raises CodecError for two equal keys of one type."""
    seen: set[bytes] = set()
    items: list[bytes] = []
    for key, value in pairs:
        octets = encode_value(key, depth)
        if octets in seen:
            raise fault(f"a map has the key {key!r} twice", None, "types/map-unique")
        seen.add(octets)
        items += (octets, encode_value(value, depth))
    return encode_items(0xC1, len(items), b"".join(items))


def encode_items(code: int, count: int, octets: bytes) -> bytes:
    """A list (code 0xc0), map (0xc1) or array (0xe0) of this many entries, in the form that fits."""
    size = len(octets)
    if size < 255 and count < 256:
        if not count and code == 0xC0:
            return b"\x45"
        return bytes((code, size + 1, count)) + octets
    if size + 4 > 0xFFFF_FFFF or count > 0xFFFF_FFFF:
        raise fault("a list, map or array is too large", None, "types/compound-layout")
    return _pack_sizes(code + 16, size + 4, count) + octets


def encode_sized(code: int, octets: bytes) -> bytes:
    """A variable width value (code 0xa0, 0xa1 or 0xa3), in the form that fits."""
    size = len(octets)
    if size < 256:
        return bytes((code, size)) + octets
    if size > 0xFFFF_FFFF:
        raise fault("a variable width value is too large", None, "types/variable-width")
    return PACK_U32(code + 16, size) + octets


def encode_string(value: str) -> bytes:
    """A string."""
    try:
        return encode_sized(0xA1, value.encode())
    except UnicodeEncodeError:
        raise fault(f"a string can't be UTF-8: {value!r:.60}", None, "types/string") from None


def encode_symbol(value: str) -> bytes:
    """A symbol, also of a plain str."""
    try:
        return encode_sized(0xA3, value.encode("ascii"))
    except UnicodeEncodeError:
        raise fault(f"a symbol can't be ASCII: {value!r:.60}", None, "types/symbol") from None


def encode_binary(value: bytes | bytearray | memoryview) -> bytes:
    """A binary."""
    return encode_sized(0xA0, bytes(value))


def encode_uint(value: int) -> bytes:
    """A uint, also of a plain int."""
    if 0 <= value < 256:
        return bytes((0x52, value)) if value else b"\x43"
    _check(value, UInt)
    return PACK_U32(0x70, value)


def encode_ulong(value: int) -> bytes:
    """A ulong, also of a plain int."""
    if 0 <= value < 256:
        return bytes((0x53, value)) if value else b"\x44"
    _check(value, ULong)
    return _pack_u64(0x80, value)


def encode_int(value: int) -> bytes:
    """An int, also of a plain int."""
    if -128 <= value < 128:
        return _pack_i8(0x54, value)
    _check(value, Int)
    return _pack_i32(0x71, value)


def encode_long(value: int) -> bytes:
    """A long."""
    if -128 <= value < 128:
        return _pack_i8(0x55, value)
    if not -(2**63) <= value < 2**63:
        raise fault(f"a long has 64 bits: {value!r:.60}", None, "types/fixed-width")
    return PACK_I64(0x81, value)


def encode_timestamp(value: int) -> bytes:
    """A timestamp, also of a plain int of milliseconds."""
    _check(value, Timestamp)
    return PACK_I64(0x83, value)


def encode_ubyte(value: int) -> bytes:
    """A ubyte, also of a plain int."""
    _check(value, UByte)
    return bytes((0x50, value))


def encode_ushort(value: int) -> bytes:
    """A ushort, also of a plain int."""
    _check(value, UShort)
    return _pack_u16(0x60, value)


def _check(value: int, kind: type[Integer]) -> None:
    if not kind.LOW <= value <= kind.HIGH:
        raise fault(f"{kind.__name__} is from {kind.LOW} to {kind.HIGH}, not {int(value)}", None, "types/fixed-width")


def _encode_float(value: float) -> bytes:
    try:
        return _pack_f32(0x72, value)
    except OverflowError:
        raise fault(f"a float has 32 bits: {value!r}", None, "types/fixed-width") from None


def _encode_char(value: str) -> bytes:
    point = ord(value)
    if 0xD800 <= point <= 0xDFFF:
        raise fault(f"0x{point:x} is no Unicode character", None, "types/char")
    return PACK_U32(0x73, point)


# Subclasses first: the first class that fits is taken for one that isn't here itself.
ENCODERS: Final[dict[type[Any], Callable[[Any], bytes]]] = {
    type(None): lambda value: b"\x40",
    bool: BOOLEANS.__getitem__,
    UByte: encode_ubyte,
    UShort: encode_ushort,
    UInt: encode_uint,
    ULong: encode_ulong,
    Byte: lambda value: _pack_i8(0x51, value),
    Short: lambda value: _pack_i16(0x61, value),
    Int: encode_int,
    Timestamp: encode_timestamp,
    int: encode_long,
    Float: _encode_float,
    float: lambda value: PACK_F64(0x82, value),
    Symbol: encode_symbol,
    Char: _encode_char,
    str: encode_string,
    bytes: encode_binary,
    bytearray: encode_binary,
    memoryview: encode_binary,
    Decimal32: lambda value: b"\x74" + value.bits,
    Decimal64: lambda value: b"\x84" + value.bits,
    Decimal128: lambda value: b"\x94" + value.bits,
    Opaque: lambda value: value.octets,
}


def encode_array(array: Array, depth: int) -> bytes:
    """An array's octets: those it came with, or the smallest form that fits all its elements."""
    if array.wire is not None:
        return array.wire
    descriptors = list(array.descriptors)
    count = len(array)
    values: list[Any] = list(array[:1] if array.repeats else array)
    for descriptor in descriptors:
        if any(getattr(value, "descriptor", values) != descriptor for value in values):
            raise fault("an array has elements of several types", None, "types/array-layout")
        values = [value.value for value in values]
    lead = b"".join([b"\0" + encode_value(item, depth) for item in descriptors])
    kind = array.element
    if hasattr(kind, "encode_list"):
        if any(value.__class__ is not kind for value in values):
            raise fault("an array has elements of several types", None, "types/array-layout")
        lead += b"\0" + encode_ulong(cast("Any", kind).CODE)
        encoded = [value.encode_list() for value in values]
        allowed: tuple[int, ...] = _FORMS["list"]
    else:
        encoded = [encode_value(value, depth) for value in values]
        allowed = _FORMS.get(kind.__name__, ())
    codes = {octets[0] for octets in encoded}
    if not codes <= set(allowed) or not allowed:
        raise fault("an array has elements of several types", None, "types/array-layout")
    code = encoded[0][0] if len(codes) == 1 else allowed[-1]
    octets = b"".join([_widened(item, code)[1:] for item in encoded])
    return encode_items(0xE0, count, lead + bytes((code,)) + octets)


_FORMS: Final = {
    "NoneType": (0x40,),
    "bool": (0x41, 0x42, 0x56),
    "UByte": (0x50,),
    "UShort": (0x60,),
    "UInt": (0x43, 0x52, 0x70),
    "ULong": (0x44, 0x53, 0x80),
    "Byte": (0x51,),
    "Short": (0x61,),
    "Int": (0x54, 0x71),
    "int": (0x55, 0x81),
    "Float": (0x72,),
    "float": (0x82,),
    "Char": (0x73,),
    "Decimal32": (0x74,),
    "Decimal64": (0x84,),
    **dict.fromkeys(("Decimal128", "Decimal"), (0x94,)),
    "UUID": (0x98,),
    **dict.fromkeys(("Timestamp", "datetime"), (0x83,)),
    "bytes": (0xA0, 0xB0),
    "str": (0xA1, 0xB1),
    "Symbol": (0xA3, 0xB3),
    **dict.fromkeys(("list", "tuple"), (0x45, 0xC0, 0xD0)),
    **dict.fromkeys(("dict", "Map"), (0xC1, 0xD1)),
    "Array": (0xE0, 0xF0),
}
"""The forms of each type of elements, by the name of its class, the widest last."""


def _widened(octets: bytes, code: int) -> bytes:
    have = octets[0]
    if have == code:
        return octets
    lead = _pack_code(code)
    if have in (0x43, 0x44, 0x52, 0x53):
        return lead + octets[1:].rjust(4 if code == 0x70 else 8, b"\0")
    if have in (0x54, 0x55):
        sign = b"\xff" if octets[1] > 127 else b"\0"
        return lead + octets[1:].rjust(4 if code == 0x71 else 8, sign)
    if have in (0x41, 0x42):
        return lead + (b"\x01" if have == 0x41 else b"\0")
    if have == 0x45:
        return lead + b"\0\0\0\x04\0\0\0\0"
    if have < 0xC0:
        return lead + PACK_U32(0, octets[1])[1:] + octets[2:]
    return _pack_sizes(code, octets[1] + 3, octets[2]) + octets[3:]
