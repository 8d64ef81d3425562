"""Values from octets, and maps over their octets (1.0 part 1 sections 1.2 and 1.6)."""

from __future__ import annotations

from collections.abc import Hashable, ItemsView, Iterator, KeysView, Mapping, Sequence, ValuesView

from ..._checking import TYPE_CHECKING, Any, Protocol, cast
from ...errors import CodecError
from .decimals import Decimal32, Decimal64, Decimal128
from .encode import encode, encode_pairs
from .fastpath import read_properties, read_symbols
from .faults import READ_FAULTS, fault
from .octets import INT, NEW, READ_F32, READ_F64, READ_I8, READ_I16, READ_I32, READ_I64, READ_U16, READ_U32, READ_U64
from .types import (
    AmqpMap,
    Array,
    Byte,
    Char,
    Described,
    Float,
    Int,
    Opaque,
    Same,
    Short,
    Symbol,
    Timestamp,
    UByte,
    UInt,
    ULong,
    UShort,
    token,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Final, TypeAlias
    from uuid import UUID

Pairs: TypeAlias = list[tuple[Any, Any]]
"""The pairs of a map, which may have keys that are equal in Python; as AmqpMap, of any type."""

NESTING: Final = 32
"""How deep values may be nested, unless `Limits.nesting` says so."""
ENTRIES: Final = 65_536
"""How many entries a list, map or array may have, unless `Limits.entries` says so."""


class Listed(Protocol):
    """A composite type, as far as this module reads it; `Composite` is the base of all."""

    @classmethod
    def read(cls, buf: bytes, pos: int, end: int, depth: int, entries: int, start: int) -> tuple[object, int]:
        """Read the list at `pos`, behind the descriptor; `start` is where the constructor begins."""
        ...

    @classmethod
    def read_data(
        cls, buf: bytes, pos: int, end: int, code: int, depth: int, entries: int, start: int
    ) -> tuple[object, int]:
        """Read the data at `pos` of a list with this format code; a `start` of -1: it has no octets of its own."""
        ...


COMPOSITES: Final[dict[int | str, type[Listed]]] = {}
"""The composite types by numeric and by symbolic descriptor; the generated module fills it in once."""


def _boolean(buf: bytes, pos: int) -> bool:
    octet = buf[pos]
    if octet > 1:
        raise fault(f"a boolean is 0 or 1, not {octet}", pos, "types/boolean")
    return octet == 1


def _char(buf: bytes, pos: int) -> Char:
    point = READ_U32(buf, pos)[0]
    if point > 0x10FFFF or 0xD800 <= point <= 0xDFFF:
        raise fault(f"0x{point:x} is no Unicode character", pos, "types/char")
    return str.__new__(Char, chr(point))


def read_uuid(buf: bytes, pos: int) -> UUID:
    """The UUID whose 16 octets are at `pos`."""
    from uuid import UUID

    return UUID(bytes=buf[pos : pos + 16])


# Format code -> octets of data, Python type, reader.
FIXED: Final[dict[int, tuple[int, type | str, Callable[[bytes, int], object]]]] = {
    0x40: (0, type(None), lambda buf, pos: None),
    0x41: (0, bool, lambda buf, pos: True),
    0x42: (0, bool, lambda buf, pos: False),
    0x43: (0, UInt, lambda buf, pos: INT(UInt, 0)),
    0x44: (0, ULong, lambda buf, pos: INT(ULong, 0)),
    0x45: (0, list, lambda buf, pos: []),
    0x50: (1, UByte, lambda buf, pos: INT(UByte, buf[pos])),
    0x51: (1, Byte, lambda buf, pos: INT(Byte, READ_I8(buf, pos)[0])),
    0x52: (1, UInt, lambda buf, pos: INT(UInt, buf[pos])),
    0x53: (1, ULong, lambda buf, pos: INT(ULong, buf[pos])),
    0x54: (1, Int, lambda buf, pos: INT(Int, READ_I8(buf, pos)[0])),
    0x55: (1, int, lambda buf, pos: READ_I8(buf, pos)[0]),
    0x56: (1, bool, _boolean),
    0x60: (2, UShort, lambda buf, pos: INT(UShort, READ_U16(buf, pos)[0])),
    0x61: (2, Short, lambda buf, pos: INT(Short, READ_I16(buf, pos)[0])),
    0x70: (4, UInt, lambda buf, pos: INT(UInt, READ_U32(buf, pos)[0])),
    0x71: (4, Int, lambda buf, pos: INT(Int, READ_I32(buf, pos)[0])),
    0x72: (4, Float, lambda buf, pos: float.__new__(Float, READ_F32(buf, pos)[0])),
    0x73: (4, Char, _char),
    0x74: (4, Decimal32, lambda buf, pos: Decimal32(buf[pos : pos + 4])),
    0x80: (8, ULong, lambda buf, pos: INT(ULong, READ_U64(buf, pos)[0])),
    0x81: (8, int, lambda buf, pos: READ_I64(buf, pos)[0]),
    0x82: (8, float, lambda buf, pos: READ_F64(buf, pos)[0]),
    0x83: (8, Timestamp, lambda buf, pos: INT(Timestamp, READ_I64(buf, pos)[0])),
    0x84: (8, Decimal64, lambda buf, pos: Decimal64(buf[pos : pos + 8])),
    0x94: (16, Decimal128, lambda buf, pos: Decimal128(buf[pos : pos + 16])),
    0x98: (16, "UUID", read_uuid),
}
WIDTHS: Final = {4: 0, 5: 1, 6: 2, 7: 4, 8: 8, 9: 16}
"""Octets of data by the upper four bits of a fixed width code."""

VARIABLE: Final[dict[int, type[bytes | str]]] = {
    0xA0: bytes,
    0xB0: bytes,
    0xA1: str,
    0xB1: str,
    0xA3: Symbol,
    0xB3: Symbol,
}
COMPOUND: Final[dict[int, type]] = {0xC0: list, 0xD0: list, 0xC1: dict, 0xD1: dict}


def decode(
    data: bytes | bytearray | memoryview,
    pos: int = 0,
    end: int | None = None,
    *,
    nesting: int = NESTING,
    entries: int = ENTRIES,
) -> tuple[Any, int]:
    """The value at `pos`, and where the octets behind it begin.

    Nothing is read at or behind `end`. Raises CodecError, with the offset in `data` and the rule, for
    octets that are no value, and for values nested deeper than `nesting` or with more than `entries`
    entries in one list, map or array.

    >>> decode(b"\\xa1\\x02hi")
    ('hi', 4)
    """
    buf = data if isinstance(data, bytes) else bytes(data)
    size = len(buf)
    return read_value(buf, pos, size if end is None else min(end, size), nesting, entries)


def read_value(buf: bytes, pos: int, end: int, depth: int, entries: int) -> tuple[object, int]:
    """The value at `pos` and where it ends; `depth` levels of nesting are left."""
    if pos + 1 < end:
        # The frequent ones at once; whatever is wrong with them is told below.
        code = buf[pos]
        if 0xA0 <= code <= 0xA3:
            at = pos + 2
            stop = at + buf[pos + 1]
            if stop <= end:
                octets = buf[at:stop]
                if code == 0xA0:
                    return octets, stop
                if octets.isascii():
                    if code == 0xA1:
                        return octets.decode(), stop
                    if code == 0xA3:
                        return Symbol(octets, "ascii"), stop
        elif code == 0x55:
            value = buf[pos + 1]
            return (value if value < 128 else value - 256), pos + 2
        else:
            fixed = FIXED.get(code)
            if fixed is not None:
                stop = pos + 1 + fixed[0]
                if stop <= end:
                    return fixed[2](buf, pos + 1), stop
    start = pos
    code, pos = read_code(buf, pos, end)
    if code:
        return read_data(buf, pos, end, code, depth, entries, start)
    return _read_described(buf, pos, end, depth, entries, start)


def read_code(buf: bytes, pos: int, end: int) -> tuple[int, int]:
    """The format code at `pos` and where its data begins.

    One with an extension octet is 0x10000 plus that octet times 256 more.
    """
    if pos >= end:
        raise fault("the octets end where a value begins", pos, "types/constructor")
    code = buf[pos]
    if code & 15 == 15 and code > 0x3F:
        if pos + 1 >= end:
            raise fault("the octets end within a format code", pos, "types/ext-octet")
        return 0x10000 | buf[pos + 1] << 8 | code, pos + 2
    return code, pos + 1


def _read_described(buf: bytes, pos: int, end: int, depth: int, entries: int, start: int) -> tuple[object, int]:
    check_depth(pos, depth)
    descriptor, pos = read_value(buf, pos, end, depth - 1, entries)
    kind = COMPOSITES.get(descriptor) if isinstance(descriptor, (ULong, Symbol)) else None
    if kind is not None:
        return kind.read(buf, pos, end, depth - 1, entries, start)
    value, pos = read_value(buf, pos, end, depth - 1, entries)
    return Described(descriptor, value), pos


def read_data(buf: bytes, pos: int, end: int, code: int, depth: int, entries: int, start: int) -> tuple[object, int]:
    """The value of this format code whose data is at `pos`; `start` is where its constructor is, or -1."""
    fixed = FIXED.get(code)
    if fixed is not None:
        stop = pos + fixed[0]
        if stop > end:
            raise fault("the octets end within a fixed width value", pos, "types/fixed-width")
        return fixed[2](buf, pos), stop
    group = code >> 4 & 15
    if code in VARIABLE:
        at, stop = read_size(buf, pos, end, group)
        return _text(buf, at, stop, VARIABLE[code]), stop
    if code in COMPOUND:
        check_depth(pos, depth)
        at, stop, count = read_counted(buf, pos, end, group, entries)
        if COMPOUND[code] is list:
            return read_list(buf, at, stop, count, depth - 1, entries), stop
        raw = buf[start:stop] if start >= 0 else bytes((code,)) + buf[pos:stop]
        value = Map.from_wire(raw)
        value.take(read_pairs(buf, at, stop, count, depth - 1, entries))
        return value, stop
    if code == 0xE0 or code == 0xF0:
        check_depth(pos, depth)
        at, stop, count = read_counted(buf, pos, end, group, entries)
        return read_array(buf, at, stop, count, depth - 1, entries, None if start < 0 else buf[start:stop]), stop
    stop = skip_data(buf, pos, end, code)
    lead = bytes((code,)) if code < 256 else bytes((code & 255, code >> 8 & 255))
    return Opaque(lead + buf[pos:stop]), stop


def read_size(buf: bytes, pos: int, end: int, group: int) -> tuple[int, int]:
    """Where the octets of a variable width value begin and end."""
    at = pos + (1 if group & 1 == 0 else 4)
    if at > end:
        raise fault("the octets end within a size", pos, "types/variable-width")
    stop = at + (buf[pos] if group & 1 == 0 else READ_U32(buf, pos)[0])
    if stop > end:
        raise fault("the octets end within a variable width value", pos, "types/variable-width")
    return at, stop


def read_counted(buf: bytes, pos: int, end: int, group: int, entries: int) -> tuple[int, int, int]:
    """Where the items of a list, map or array begin and end, and how many there are.

    `group` is the upper half of the format code: c and e have one octet each for size and count, d and f four.
    """
    rule = "types/array-layout" if group > 0xD else "types/compound-layout"
    width = 1 if group & 1 == 0 else 4
    at = pos + 2 * width
    if at > end:
        raise fault("the octets end within a size or count", pos, rule)
    if width == 1:
        stop = pos + 1 + buf[pos]
        count = buf[pos + 1]
    else:
        stop = pos + 4 + READ_U32(buf, pos)[0]
        count = READ_U32(buf, pos + 4)[0]
    if stop > end:
        raise fault("the octets end within a list, map or array", pos, rule)
    if stop < at:
        raise fault("a size doesn't even hold its count", pos, rule)
    if count > entries:
        raise fault(f"{count} entries are more than the {entries} allowed", pos, rule)
    return at, stop, count


def check_depth(pos: int, depth: int) -> None:
    """Raise CodecError when no level of nesting is left."""
    if depth <= 0:
        raise fault("values are nested too deep", pos, "types/constructor")


def _text(buf: bytes, at: int, stop: int, kind: type[bytes | str]) -> bytes | str:
    octets = buf[at:stop]
    if kind is bytes:
        return octets
    if kind is Symbol:
        if not octets.isascii():
            raise fault("a symbol has octets above 127", at, "types/symbol")
        return str.__new__(Symbol, octets.decode("ascii"))
    try:
        return octets.decode()
    except UnicodeDecodeError as error:
        raise fault("a string isn't UTF-8", at + error.start, "types/string") from None


def read_list(buf: bytes, pos: int, stop: int, count: int, depth: int, entries: int) -> list[object]:
    """`count` values that fill the octets from `pos` to `stop`."""
    items: list[object] = []
    for _ in range(count):
        value, pos = read_value(buf, pos, stop, depth, entries)
        items.append(value)
    if pos != stop:
        raise fault("octets are left behind the last entry", pos, "types/compound-layout")
    return items


def read_pairs(buf: bytes, pos: int, stop: int, count: int, depth: int, entries: int) -> Pairs:
    """The pairs of a map, in the order of the wire."""
    if count & 1:
        raise fault("a map has an odd number of entries", pos, "types/map-even")
    start = pos
    pairs: Pairs = []
    for _ in range(count >> 1):
        key, pos = read_value(buf, pos, stop, depth, entries)
        value, pos = read_value(buf, pos, stop, depth, entries)
        pairs.append((_frozen(cast("list[object]", key)) if key.__class__ is list else key, value))
    if pos != stop:
        raise fault("octets are left behind the last entry", pos, "types/compound-layout")
    _check_unique(pairs, start)
    return pairs


_TEXTS: Final = frozenset({str, bytes, Symbol, Char})
"""The types of keys whose hashes a peer can't foresee; of one type, they are equal when their octets are."""


def _check_unique(pairs: Pairs, start: int) -> None:
    """Raise CodecError for two keys with the same octets, each in the one form that `encode` gives it."""
    keys = [key for key, _ in pairs]
    kinds = {key.__class__ for key in keys}
    if len(kinds) == 1 and kinds <= _TEXTS and len(set(keys)) == len(keys):
        return
    seen: set[bytes] = set()
    for key in keys:
        octets = encode(key)
        if octets in seen:
            raise fault(f"a map has the key {key!r:.60} twice", start, "types/map-unique")
        seen.add(octets)


def _frozen(items: list[object]) -> tuple[object, ...]:
    """A key with tuples for lists, so that it has a hash."""
    return tuple([_frozen(cast("list[object]", item)) if item.__class__ is list else item for item in items])


def read_array(buf: bytes, pos: int, stop: int, count: int, depth: int, entries: int, wire: bytes | None) -> Array:
    """An array whose element constructor is at `pos`; its elements fill the octets up to `stop`."""
    descriptors: list[object] = []
    code, pos = read_code(buf, pos, stop)
    while not code:
        check_depth(pos, depth)
        depth -= 1
        descriptor, pos = read_value(buf, pos, stop, depth, entries)
        descriptors.append(descriptor)
        code, pos = read_code(buf, pos, stop)
    fixed = FIXED.get(code)
    last = descriptors[-1] if descriptors else None
    kind = COMPOSITES.get(last) if isinstance(last, (ULong, Symbol)) else None
    read: Callable[[bytes, int, int, int, int, int, int], tuple[object, int]] = read_data
    if kind is not None:
        read = kind.read_data
        descriptors.pop()
    items: Sequence[object]
    if (fixed is not None and not fixed[0]) or code >> 4 & 15 == 4:
        # Elements without octets: their count says nothing about the memory that they may take.
        items = Same(_wrap(read(buf, pos, stop, code, depth, entries, -1)[0], descriptors), count)
    else:
        found: list[object] = []
        for _ in range(count):
            value, pos = read(buf, pos, stop, code, depth, entries, -1)
            found.append(_wrap(value, descriptors))
        items = tuple(found)
    if pos != stop:
        raise fault("octets are left behind the last element", pos, "types/array-layout")
    return Array.from_wire(items, kind or _element_type(code), tuple(descriptors), wire)


def _element_type(code: int) -> type:
    fixed = FIXED.get(code)
    if fixed is None:
        return VARIABLE.get(code) or COMPOUND.get(code) or (Array if code in (0xE0, 0xF0) else Opaque)
    if isinstance(fixed[1], str):
        from uuid import UUID

        return UUID
    return fixed[1]


def _wrap(value: object, descriptors: list[object]) -> object:
    for descriptor in reversed(descriptors):
        value = Described(descriptor, value)
    return value


def skip_data(buf: bytes, pos: int, end: int, code: int) -> int:
    """Where the data at `pos` of a value with this format code ends: its width class alone tells."""
    group = code >> 4 & 15
    width = WIDTHS.get(group)
    if width is not None:
        stop = pos + width
        if stop > end:
            raise fault("the octets end within a fixed width value", pos, "types/fixed-width")
        return stop
    if group < 4:
        raise fault(f"no type has the format code 0x{code:02x}", pos, "types/format-code")
    return read_size(buf, pos, end, group)[1]


def skip(buf: bytes, pos: int, end: int, levels: int = NESTING) -> int:
    """Where the value at `pos` ends, without reading what is in it.

    >>> skip(b"\\xa1\\x02hi\\x40", 0, 5)
    4
    """
    code, pos = read_code(buf, pos, end)
    while not code:
        check_depth(pos, levels)
        levels -= 1
        pos = skip(buf, pos, end, levels)
        code, pos = read_code(buf, pos, end)
    return skip_data(buf, pos, end, code)


class Keyed(Mapping[Any, Any]):
    """Pairs by keys of any type, the first of those that are equal in Python; no hash but of text is taken."""

    __slots__ = ("_found",)

    def __init__(self, pairs: Pairs) -> None:
        self._found: dict[Hashable, tuple[object, object]] = {}
        for pair in pairs:
            self._found.setdefault(token(pair[0]), pair)

    def __getitem__(self, key: object) -> Any:
        pair = self._found.get(token(key))
        if pair is None:
            raise KeyError(key)
        return pair[1]

    def __iter__(self) -> Iterator[Any]:
        return iter([key for key, _ in self._found.values()])

    def __len__(self) -> int:
        return len(self._found)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Mapping):
            return NotImplemented
        others = cast("Mapping[object, object]", other)
        mine = self._found
        if len(others) != len(mine):
            return False
        pairs = [(mine.get(token(key)), value) for key, value in others.items()]
        return all([pair is not None and pair[1] == value for pair, value in pairs])

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"{{{', '.join([f'{key!r}: {value!r}' for key, value in self._found.values()])}}}"


class Map(Mapping[Any, Any]):
    """map: a read-only mapping over its own octets, in the order of the wire (1.0 part 1 section 1.6.23).

    `Map({...})` encodes at once; it takes any mapping, or a sequence of pairs. Nothing is decoded
    before it's asked for, so that any access to a map of a message may raise CodecError; `check_message`
    tells beforehand. `raw` are its octets with the format code, `pairs()` every pair, also where keys of
    different types are equal in Python (1 and True); as a mapping the first of them counts.

    Two Maps are equal when their pairs are, in the same order; a Map equals any other mapping with the
    same items. It is hashable, and pickles as its octets.

    >>> headers = Map({"x": 1, "y": UByte(2)})
    >>> headers["y"], headers.raw
    (UByte(2), b'\\xc1\\x0b\\x04\\xa1\\x01xU\\x01\\xa1\\x01yP\\x02')
    """

    __slots__ = ("_raw", "_values")

    _raw: bytes
    _values: AmqpMap | None

    def __init__(self, values: AmqpMap | Sequence[tuple[object, object]] = ()) -> None:
        if isinstance(values, Map):
            self._raw = values._raw
        else:
            self._raw = encode_pairs(values.items() if isinstance(values, Mapping) else values)
        self._values = None

    @staticmethod
    def from_wire(raw: bytes, values: AmqpMap | None = None) -> Map:
        """A map over its octets, which begin with the format code, and what they were decoded to, where that is known.
        Checks nothing yet."""
        found: Map = NEW(Map)
        found._raw = raw
        found._values = values
        return found

    def take(self, pairs: Pairs) -> AmqpMap:
        """Give a map from the wire what its octets were decoded to, and return that."""
        if {key.__class__ for key, _ in pairs} <= _TEXTS:
            plain: dict[object, object] = {}
            for key, value in pairs:
                plain.setdefault(key, value)
            values: AmqpMap = plain
        else:
            values = Keyed(pairs)
        self._values = values
        return values

    @property
    def raw(self) -> bytes:
        """The octets of the map, with the format code."""
        return self._raw

    def pairs(self) -> Pairs:
        """Every pair, in the order of the wire."""
        raw = self._raw
        code, pos = read_code(raw, 0, len(raw))
        at, stop, count = read_counted(raw, pos, len(raw), code >> 4, ENTRIES)
        values = self._loaded()
        if 2 * len(values) == count:
            return list(values.items())
        # Some keys are equal in Python that aren't in AMQP.
        return read_pairs(raw, at, stop, count, NESTING - 1, ENTRIES)

    def to_dict(self) -> dict[Any, Any]:
        """A plain dict, with plain dicts and lists within.

        Python's hash of a number, and of what holds numbers, is no secret: of a peer that isn't trusted, take `pairs()`
        where keys are neither text nor octets.
        """
        return {key: _plain(value) for key, value in self._loaded().items()}

    def _load(self) -> AmqpMap:
        raw = self._raw
        end = len(raw)
        try:
            read = read_properties if raw[3 if raw[0] == 0xC1 else 9] == 0xA1 else read_symbols
            values, stop = read(raw, 0, end)
            if stop == end:
                self._values = values
                return values
        except READ_FAULTS:
            pass
        code, pos = read_code(raw, 0, end)
        if code not in (0xC1, 0xD1):
            raise fault(f"the format code 0x{code:02x} is no map's", 0, "types/constructor")
        at, stop, count = read_counted(raw, pos, end, code >> 4, ENTRIES)
        if stop != end:
            raise fault("octets are left behind a map", stop, "types/compound-layout")
        return self.take(read_pairs(raw, at, stop, count, NESTING - 1, ENTRIES))

    def _loaded(self) -> AmqpMap:
        values = self._values
        return self._load() if values is None else values

    def __getitem__(self, key: object) -> Any:
        values = self._values
        if values is None:
            values = self._load()
        return values[key]

    def get(self, key: object, default: object = None) -> Any:
        """The value of `key`, or `default` when there is none."""
        return self._loaded().get(key, default)

    def __contains__(self, key: object) -> bool:
        return key in self._loaded()

    def __iter__(self) -> Iterator[Any]:
        return iter(self._loaded())

    def __len__(self) -> int:
        return len(self._loaded())

    def keys(self) -> KeysView[Any]:
        """The keys, in the order of the wire."""
        return self._loaded().keys()

    def values(self) -> ValuesView[Any]:
        """The values, in the order of the wire."""
        return self._loaded().values()

    def items(self) -> ItemsView[Any, Any]:
        """The keys with their values, in the order of the wire."""
        values = self._values
        return (self._load() if values is None else values).items()

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Map):
            return self._raw == other._raw or self.pairs() == other.pairs()
        if isinstance(other, Mapping):
            return self._loaded() == other
        return NotImplemented

    def __hash__(self) -> int:
        return hash(token(self))

    def __repr__(self) -> str:
        try:
            return f"Map({self._loaded()!r})"
        except CodecError:
            return f"<Map of {len(self._raw)} damaged octets>"

    def __reduce__(self) -> tuple[object, ...]:
        return Map.from_wire, (self._raw,)


def _plain(value: object) -> object:
    if isinstance(value, Map):
        return value.to_dict()
    if isinstance(value, list):
        return [_plain(item) for item in cast("list[object]", value)]
    return value
