"""Octets of values: any type by its code, maps, lists, arrays (0-10 part 1 section 2.2).

Lists and arrays are decoded at once, maps when they are looked at. These bounds hold: a value is nested at most
`NESTING` deep, and a struct within one that holds values itself comes as Struct32, so that none nests deeper that way;
a list, an array or a map has at most `ENTRIES` elements. Elements without octets (void, bit) would cost a peer
nothing: of those an array that is within another value has at most `EMPTY_ENTRIES`.
"""

from __future__ import annotations

from collections.abc import Callable, ItemsView, Iterable, Iterator, Mapping
from struct import Struct as _Form
from struct import error as StructError

from ..._checking import TYPE_CHECKING, Any, cast
from ...errors import CodecError
from .plain_maps import decode_plain, encode_plain
from .structs import SIZE_AND_CODE, STRUCTS, Struct, decode_struct
from .values import CODES, NAMES, Datetime, Struct32, Typed, fault

if TYPE_CHECKING:
    from decimal import Decimal
    from typing import Final, TypeAlias

NESTING: Final = 32
ENTRIES: Final = 65_536
EMPTY_ENTRIES: Final = 256
"""Bounds of one value; see the module's docstring."""

_U32: Final = _Form(">I")
_FIXED: Final[dict[int, _Form]] = {
    CODES[name]: _Form(f">{form}")
    for name, form in {
        "int8": "b",
        "int16": "h",
        "int32": "i",
        "int64": "q",
        "float": "f",
        "uint8": "B",
        "uint16": "H",
        "uint32": "I",
        "uint64": "Q",
        "double": "d",
    }.items()
}
_TEXTS: Final[dict[int, str]] = {
    **dict.fromkeys((CODES["char"], CODES["str8-latin"], CODES["str16-latin"]), "latin-1"),
    **dict.fromkeys((CODES["str8"], CODES["str16"]), "utf-8"),
    **dict.fromkeys((CODES["str8-utf16"], CODES["str16-utf16"]), "utf-16-be"),
    CODES["char-utf32"]: "utf-32-be",
}
_INT64: Final = CODES["int64"]
_UINT64: Final = CODES["uint64"]
_STR16: Final = CODES["str16"]
_MAP: Final = CODES["map"]
_LIST: Final = CODES["list"]
_ARRAY: Final = CODES["array"]
_STRUCT32: Final = CODES["struct32"]
_DIGITS: Final = 19
_COMPOUND: Final = frozenset({_MAP, _LIST, _ARRAY, _STRUCT32})


Entries: TypeAlias = list[tuple[str, int, Any]]
"""The key, type code and value of each entry of a map; a value may be of any type."""

_new = object.__new__


class Map(Mapping[str, Any]):
    """A map over its octets: decoded on first access, order and wire types kept, written again octet by octet.

    `raw` are the octets behind the size: the count and the entries. Keys are str8. Reading raises CodecError for
    damaged octets. It equals any mapping with the same entries.

    >>> Map({"a": 1}).raw.hex()
    '000000010161310000000000000001'
    """

    __slots__ = ("_found", "raw")

    raw: bytes

    def __init__(self, entries: Mapping[str, object] | None = None) -> None:
        self.raw = encode_entries(entries or {})
        self._found: dict[str, object] | None = None

    @classmethod
    def from_wire(cls, raw: bytes) -> Map:
        """The map whose octets behind the size are `raw`."""
        found = _new(cls)
        found.raw = raw
        found._found = None
        return found

    def entries(self) -> Entries:
        """Key, type code and value of every entry, in order."""
        return decode_entries(self.raw, 0, len(self.raw))

    def _read(self) -> dict[str, object]:
        found = self._found
        if found is not None:
            return found
        found = decode_plain(self.raw)
        if found is None:
            found = {}
            for key, _, value in self.entries():
                if key in found:
                    raise CodecError(f"a map has the key {key!r} twice", code=501, rule="0-10/wire/map-distinct")
                found[key] = value
        self._found = found
        return found

    def items(self) -> ItemsView[str, Any]:
        """The keys with their values, in the order of the wire. Raises CodecError."""
        return self._read().items()

    def __getitem__(self, key: str) -> Any:
        return self._read()[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._read())

    def __len__(self) -> int:
        return len(self._read())

    def __hash__(self) -> int:
        return hash(frozenset(self._read()))

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Map) and other.raw == self.raw:
            return True
        if not isinstance(other, Mapping):
            return NotImplemented
        theirs = cast("Mapping[str, object]", other)
        return self._read() == dict(theirs)

    def __repr__(self) -> str:
        try:
            return f"Map({self._read()!r})"
        except CodecError:
            return f"<Map of {len(self.raw)} damaged octets>"

    def __reduce__(self) -> tuple[object, ...]:
        return Map.from_wire, (self.raw,)


def decode_value(data: bytes, pos: int = 0, end: int | None = None) -> tuple[Any, int]:
    """The value whose type code is at `pos`, and where the next octet is. Raises CodecError.

    >>> decode_value(bytes.fromhex("950002c3a9"))
    ('é', 5)
    """
    end = len(data) if end is None else end
    if pos >= end:
        raise fault("a value is missing", pos)
    return decode_typed(data[pos], data, pos + 1, end, NESTING)


def encode_value(value: object) -> bytes:
    """A value with its type code. Raises CodecError for what no type holds.

    >>> encode_value("é").hex()
    '950002c3a9'
    """
    code, octets = encode_untyped(value, NESTING)
    return bytes((code,)) + octets


def width_of(code: int, data: bytes, pos: int, end: int) -> tuple[int, int]:
    """Where the content of a value of type `code` begins, and its size: the code's range says it, known or not."""
    group = code >> 4
    if group <= 0x7:
        return pos, 1 << group
    if group in (0x8, 0x9, 0xA):
        wide = 1 << (group - 8)
        if pos + wide > end:
            raise fault("the size of a value is cut off", pos)
        return pos + wide, int.from_bytes(data[pos : pos + wide], "big")
    if group == 0xC:
        return pos, 5
    if group == 0xD:
        return pos, 9
    if group == 0xF:
        return pos, 0
    raise fault(f"type code 0x{code:02x} is reserved", pos)


def decode_typed(code: int, data: bytes, pos: int, end: int, depth: int) -> tuple[Any, int]:
    """The value of type `code` at `pos`, without its code; what isn't known comes as its octets."""
    start, size = width_of(code, data, pos, end)
    stop = start + size
    if stop > end:
        raise fault(f"a {NAMES.get(code, 'value')} of {size} octets is cut off", pos)
    fixed = _FIXED.get(code)
    if fixed is not None:
        return fixed.unpack_from(data, start)[0], stop
    charset = _TEXTS.get(code)
    if charset is not None:
        return text(data[start:stop], charset, start), stop
    if code in _COMPOUND:
        if depth <= 0:
            raise fault(f"values are nested deeper than {NESTING}", pos)
        return _DECODE[code](data, start, stop, depth - 1), stop
    if code == 0x08:
        return data[start] != 0, stop
    if code == 0xF0:
        return None, stop
    if code == 0xF1:
        return True, stop
    if code == 0x38:
        return Datetime(int.from_bytes(data[start:stop], "big", signed=True)), stop
    if code == 0x48:
        import uuid

        return uuid.UUID(bytes=data[start:stop]), stop
    if code in (0xC8, 0xD8):
        return _decimal(data[start], data[start + 1 : stop]), stop
    if code in NAMES:
        return data[start:stop], stop
    return Typed(f"0x{code:02x}", data[start:stop]), stop


def text(octets: bytes, charset: str, offset: int) -> str:
    """Characters; octets that aren't UTF-8 survive as surrogates, so that they are written again as they came."""
    if charset == "utf-8":
        return octets.decode("utf-8", "surrogateescape")
    try:
        return octets.decode(charset)
    except UnicodeDecodeError as error:
        raise fault(f"{len(octets)} octets aren't {charset}", offset) from error


def _decimal(exponent: int, octets: bytes) -> Decimal:
    from decimal import Decimal

    number = int.from_bytes(octets, "big", signed=True)
    digits = tuple(map(int, str(abs(number))))
    return Decimal((int(number < 0), digits, -exponent))


def _decode_map(data: bytes, pos: int, end: int, depth: int) -> Map:
    if depth < NESTING - 1:
        # Within another value it's looked through at once, for how deep it is: each map that is read alone later
        # begins to count anew.
        decode_entries(data, pos, end, depth + 1)
    return Map.from_wire(data[pos:end])


def decode_entries(data: bytes, pos: int, end: int, depth: int = NESTING) -> Entries:
    """The entries of a map: key, type code, value."""
    count, pos = _count(data, pos, end)
    found: Entries = []
    for _ in range(count):
        if pos >= end or pos + 2 + data[pos] > end:
            raise fault("the entries of a map are cut off", pos)
        size = data[pos]
        key = text(data[pos + 1 : pos + 1 + size], "utf-8", pos + 1)
        pos += 1 + size
        code = data[pos]
        value, pos = decode_typed(code, data, pos + 1, end, depth - 1)
        found.append((key, code, value))
    if pos != end:
        raise fault(f"{end - pos} octets behind the entries of a map", pos)
    return found


def _count(data: bytes, pos: int, end: int) -> tuple[int, int]:
    if end - pos < 4:
        if end == pos:
            return 0, pos
        raise fault("the count is cut off", pos)
    count: int = _U32.unpack_from(data, pos)[0]
    if count > ENTRIES:
        raise fault(f"{count} elements, {ENTRIES} are allowed", pos)
    return count, pos + 4


def _decode_list(data: bytes, pos: int, end: int, depth: int) -> list[object]:
    count, pos = _count(data, pos, end)
    return _elements(None, count, data, pos, end, depth)


def decode_array(data: bytes, pos: int, end: int, depth: int = NESTING - 1) -> list[object]:
    """The elements of an array whose octets behind the size are `data[pos:end]`."""
    if end - pos < 5:
        if end == pos or (end - pos == 4 and not any(data[pos:end])):
            # Some senders leave out the type, or all, of an empty array.
            return []
        raise fault("an array without type and count", pos)
    code = data[pos]
    count, pos = _count(data, pos + 1, end)
    if code >> 4 == 0xF and depth < NESTING - 1 and count > EMPTY_ENTRIES:
        raise fault(f"an array of {count} elements without octets, {EMPTY_ENTRIES} are allowed", pos - 4)
    return _elements(code, count, data, pos, end, depth)


def _elements(code: int | None, count: int, data: bytes, pos: int, end: int, depth: int) -> list[object]:
    """The elements of an array, which all have the type `code`, or of a list, each of which begins with its own."""
    found: list[object] = []
    for _ in range(count):
        if code is not None:
            value, pos = decode_typed(code, data, pos, end, depth)
        elif pos < end:
            value, pos = decode_typed(data[pos], data, pos + 1, end, depth)
        else:
            raise fault("the elements of a list are cut off", pos)
        found.append(value)
    if pos != end:
        raise fault(f"{end - pos} octets behind the elements of {'a list' if code is None else 'an array'}", pos)
    return found


def _decode_struct32(data: bytes, pos: int, end: int, depth: int) -> Struct | Struct32:
    if depth < NESTING - 1 and end - pos >= 2:
        code = data[pos] << 8 | data[pos + 1]
        kind = STRUCTS.get(code)
        if kind is None or any([name in ("map", "array", "struct32") for _, name in kind.FIELDS]):
            return Struct32(code, data[pos + 2 : end])
    return decode_struct(data, pos, end)


_DECODE: Final[dict[int, Callable[[bytes, int, int, int], object]]] = {
    _MAP: _decode_map,
    _LIST: _decode_list,
    _ARRAY: decode_array,
    _STRUCT32: _decode_struct32,
}


def encode_untyped(value: object, depth: int) -> tuple[int, bytes]:
    """The type code that a Python value gets, and its octets without it."""
    code = _EXACT.get(value.__class__)
    if code is None:
        code = _code_of(value)
        if isinstance(value, Typed):
            value = value.value
    elif code == _INT64 and isinstance(value, int) and value >= 1 << 63:
        code = _UINT64
    return code, encode_as(code, value, depth)


_EXACT: Final[dict[type, int]] = {
    type(None): 0xF0,
    bool: CODES["boolean"],
    Datetime: CODES["datetime"],
    int: _INT64,
    str: _STR16,
    float: CODES["double"],
    bytes: CODES["vbin32"],
    bytearray: CODES["vbin32"],
    memoryview: CODES["vbin32"],
    dict: _MAP,
    Map: _MAP,
    list: _LIST,
    tuple: _LIST,
    Struct32: _STRUCT32,
}
_KINDS: Final[tuple[tuple[type, int], ...]] = (*_EXACT.items(), (Mapping, _MAP))


def _code_of(value: object) -> int:
    if isinstance(value, Typed):
        return _named(value.name)
    if isinstance(value, int) and not isinstance(value, bool | Datetime):
        return _INT64 if value < 1 << 63 else _UINT64
    for kind, code in _KINDS:
        if isinstance(value, kind):
            return code
    from decimal import Decimal
    from uuid import UUID

    if isinstance(value, UUID):
        return CODES["uuid"]
    if isinstance(value, Decimal):
        return CODES["dec64"]
    if isinstance(value, Struct):
        return _STRUCT32
    raise CodecError(f"no type of 0-10 holds {type(value).__name__}: {value!r}; name one with Typed")


def _named(name: str) -> int:
    """The code of a type that `Typed` names, also of one that isn't known ("0x8f")."""
    code = CODES.get(name)
    if code is None:
        digits = name.removeprefix("0x")
        if digits == name or len(digits) != 2 or set(digits) - set("0123456789abcdef"):
            raise CodecError(f"no type of 0-10 is called {name!r}")
        code = int(digits, 16)
        if code >> 4 in (0xB, 0xE):
            raise CodecError(f"type code {name} is reserved")
    return code


def encode_as(code: int, value: object, depth: int) -> bytes:
    """A value as the type `code`, without the code. Raises CodecError when that can't hold it."""
    if depth <= 0 and code in _COMPOUND:
        raise CodecError(f"values are nested deeper than {NESTING}")
    try:
        return _encode_as(code, value, depth)
    except CodecError:
        raise
    except (StructError, OverflowError, TypeError, ValueError, AttributeError) as error:
        raise CodecError(f"{value!r} can't be written as {_name(code)}: {error}") from error


def _encode_as(code: int, value: Any, depth: int) -> bytes:
    if code == _STR16:
        return _sized(code, value.encode("utf-8", "surrogateescape"))
    fixed = _FIXED.get(code)
    if fixed is not None:
        packed: bytes = fixed.pack(value)
        return packed
    charset = _TEXTS.get(code)
    if charset is not None:
        octets = value.encode(charset, "surrogateescape" if charset == "utf-8" else "strict")
        return _sized(code, octets)
    if code == _MAP:
        raw = value.raw if isinstance(value, Map) else encode_entries(value, depth)
        return _U32.pack(len(raw)) + raw
    if code == _LIST:
        parts = [encode_untyped(each, depth - 1) for each in value]
        body = b"".join([bytes((each,)) + octets for each, octets in parts])
        return _U32.pack(4 + len(body)) + _U32.pack(len(parts)) + body
    if code == _ARRAY:
        return encode_array(value, depth)
    if code == _STRUCT32:
        encoded: bytes = encode_struct32(value) if isinstance(value, Struct32) else value.encode_struct32()
        return encoded
    if code == 0x08:
        return bytes((bool(value),))
    if code in (0xF0, 0xF1):
        if value is not (None if code == 0xF0 else True):
            raise CodecError(f"{value!r} can't be written as {NAMES[code]}, which has no octets")
        return b""
    if code == 0x38:
        return int(value).to_bytes(8, "big", signed=True)
    if code == 0x48:
        uuid: bytes = value.bytes
        return uuid
    if code in (0xC8, 0xD8):
        return _encode_decimal(value, 4 if code == 0xC8 else 8)
    return _sized(code, bytes(memoryview(value)))


def encode_struct32(value: Struct32) -> bytes:
    """A struct that isn't known, behind four octets of size. Raises CodecError."""
    try:
        return SIZE_AND_CODE(2 + len(value.octets), value.code) + value.octets
    except (StructError, TypeError, AttributeError) as error:
        raise CodecError(f"{value!r} can't be written as struct32: {error}") from error


def _encode_decimal(value: Decimal, width: int) -> bytes:
    sign, digits, exponent = value.as_tuple()
    if not isinstance(exponent, int) or exponent > _DIGITS:
        raise CodecError(f"{value} is no number that dec32 and dec64 hold")
    number = int("".join(map(str, digits)) or "0") * 10 ** max(exponent, 0)
    signed: int = -number if sign else number
    return bytes((max(-exponent, 0),)) + signed.to_bytes(width, "big", signed=True)


def _sized(code: int, octets: bytes) -> bytes:
    """Octets of a fixed width, or behind their size."""
    group = code >> 4
    if group in (0x8, 0x9, 0xA):
        size = len(octets)
        wide = 1 << (group - 8)
        if size >> (8 * wide):
            raise CodecError(f"{size} octets don't fit into {_name(code)}")
        return size.to_bytes(wide, "big") + octets
    wanted = {0xC: 5, 0xD: 9, 0xF: 0}.get(group, 1 << group)
    if len(octets) != wanted:
        raise CodecError(f"{_name(code)} has {wanted} octets, not {len(octets)}")
    return octets


def _name(code: int) -> str:
    return NAMES.get(code, f"0x{code:02x}")


def encode_entries(entries: Mapping[str, object], depth: int = NESTING) -> bytes:
    """Count and entries of a map."""
    if depth:
        try:
            return encode_plain(entries)
        except (ValueError, LookupError, AttributeError):
            pass  # something out of the ordinary: the careful code writes it, or says what's wrong
    parts = [_U32.pack(len(entries))]
    for key, value in entries.items():
        try:
            octets = key.encode("utf-8", "surrogateescape")
        except (AttributeError, UnicodeEncodeError) as error:
            raise CodecError(f"{key!r} can't be a map's key: {error}") from error
        if len(octets) > 255:
            raise CodecError(f"the map's key {key[:20]!r}... has {len(octets)} octets, 255 are allowed")
        code, content = encode_untyped(value, depth - 1)
        parts += (bytes((len(octets),)), octets, bytes((code,)), content)
    return b"".join(parts)


def encode_array(values: Iterable[object], depth: int = NESTING) -> bytes:
    """An array: all elements get the type of the first."""
    values = list(values)
    if not values:
        return b"\x00\x00\x00\x05\xf0\x00\x00\x00\x00"
    code = _code_of(values[0])
    plain = [each.value if isinstance(each, Typed) else each for each in values]
    body = b"".join([encode_as(code, each, depth - 1) for each in plain])
    return _U32.pack(5 + len(body)) + bytes((code,)) + _U32.pack(len(values)) + body
