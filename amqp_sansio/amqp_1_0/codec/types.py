"""The Python types of AMQP 1.0's primitive types that Python has none for (1.0 part 1 section 1.6)."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from operator import itemgetter

from ..._checking import TYPE_CHECKING, Any, cast, overload
from ..._ground.record import record

if TYPE_CHECKING:
    from datetime import datetime as _datetime
    from typing import ClassVar, Self, SupportsIndex, TypeAlias

AmqpMap: TypeAlias = Mapping[Any, Any]
"""A map of AMQP values, as fields, annotations and filters are. What its keys and values may be says who made the map;
whoever reads one compares and checks them without a cast."""


class Integer(int):
    """An int that remembers its AMQP type. Making one out of the type's range raises ValueError."""

    __slots__ = ()

    LOW: ClassVar[int] = 0
    HIGH: ClassVar[int] = 0

    def __new__(cls, value: SupportsIndex | str | float = 0) -> Self:
        number = int.__new__(cls, value)
        if not cls.LOW <= number <= cls.HIGH:
            raise ValueError(f"{cls.__name__} is from {cls.LOW} to {cls.HIGH}, not {int(number)}")
        return number

    def __repr__(self) -> str:
        return f"{self.__class__.__name__}({int.__repr__(self)})"

    __str__ = int.__repr__


class UByte(Integer):
    """ubyte: an integer from 0 to 255.

    >>> UByte(7)
    UByte(7)
    """

    __slots__ = ()
    HIGH = 0xFF


class UShort(Integer):
    """ushort: an integer from 0 to 65,535.

    >>> UShort(7) + 1
    8
    """

    __slots__ = ()
    HIGH = 0xFFFF


class UInt(Integer):
    """uint: an integer of 32 bits without sign.

    >>> UInt(7) == 7
    True
    """

    __slots__ = ()
    HIGH = 0xFFFF_FFFF


class ULong(Integer):
    """ulong: an integer of 64 bits without sign.

    >>> ULong(2**64 - 1)
    ULong(18446744073709551615)
    """

    __slots__ = ()
    HIGH = 0xFFFF_FFFF_FFFF_FFFF


class Byte(Integer):
    """byte: an integer from -128 to 127.

    >>> Byte(-1)
    Byte(-1)
    """

    __slots__ = ()
    LOW, HIGH = -0x80, 0x7F


class Short(Integer):
    """short: an integer from -32,768 to 32,767.

    >>> Short(-1)
    Short(-1)
    """

    __slots__ = ()
    LOW, HIGH = -0x8000, 0x7FFF


class Int(Integer):
    """int: an integer of 32 bits with sign. (A plain Python int is a long, of 64 bits.)

    >>> Int(-1)
    Int(-1)
    """

    __slots__ = ()
    LOW, HIGH = -0x8000_0000, 0x7FFF_FFFF


class Timestamp(Integer):
    """timestamp: milliseconds since 1970 UTC, 64 bits with sign.

    >>> Timestamp(1311704463521).datetime.isoformat()
    '2011-07-26T18:21:03.521000+00:00'
    """

    __slots__ = ()
    LOW, HIGH = -0x8000_0000_0000_0000, 0x7FFF_FFFF_FFFF_FFFF

    @property
    def datetime(self) -> _datetime:
        """The same moment with its time zone, UTC. Raises OverflowError outside of the years 1 to 9999."""
        from datetime import UTC, datetime, timedelta

        return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=int(self))

    @classmethod
    def from_datetime(cls, moment: _datetime) -> Self:
        """The timestamp of a datetime, cut to milliseconds; one without a time zone is taken as UTC."""
        from datetime import UTC, datetime, timedelta

        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=UTC)
        return cls((moment - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(milliseconds=1))


class Float(float):
    """float: a number of IEEE 754 binary32. (A plain Python float is a double, binary64.)

    >>> Float(1.5)
    Float(1.5)
    """

    __slots__ = ()

    def __repr__(self) -> str:
        return f"Float({float.__repr__(self)})"

    __str__ = float.__repr__


class Symbol(str):
    """symbol: a name of 7-bit ASCII characters. Equal to a str of the same characters.

    >>> Symbol("amqp:accepted:list")
    Symbol('amqp:accepted:list')
    """

    __slots__ = ()

    def __repr__(self) -> str:
        return f"Symbol({str.__repr__(self)})"


class Char(str):
    """char: one Unicode character. Making one of more or fewer characters raises ValueError.

    >>> Char("x")
    Char('x')
    """

    __slots__ = ()

    def __new__(cls, value: str) -> Self:
        if len(value) != 1:
            raise ValueError(f"Char is one character, not {len(value)}")
        return str.__new__(cls, value)

    def __repr__(self) -> str:
        return f"Char({str.__repr__(self)})"


@record
class Described:
    """A value with a descriptor that names a type of its own (1.0 part 1 section 1.2).

    `descriptor` is a Symbol or ULong; other types are reserved, but well-formed.

    >>> Described(Symbol("example:url"), "http://example.org/")
    Described(Symbol('example:url'), 'http://example.org/')
    """

    descriptor: Any
    value: Any

    def __hash__(self) -> int:
        return hash(token(self))

    def __repr__(self) -> str:
        return f"Described({self.descriptor!r}, {self.value!r})"


@record
class Opaque:
    """A value whose format code the specification doesn't assign, kept as it came (1.0 part 1 section 1.2).

    Its width class tells where it ends. `octets` is the whole value, with its format code.

    >>> Opaque(b"\\x5a\\x01")
    Opaque(b'Z\\x01')
    """

    octets: bytes

    def __repr__(self) -> str:
        return f"Opaque({self.octets!r})"


class Same(Sequence[Any]):
    """One value, `count` times over, without the memory: what an array of elements without octets holds."""

    __slots__ = ("_count", "_value")

    def __init__(self, value: object, count: int) -> None:
        self._value = value
        self._count = count

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, index: int) -> Any: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Any]: ...
    def __getitem__(self, index: int | slice) -> object:
        found = range(self._count)[index]
        return self._value if isinstance(found, int) else Same(self._value, len(found))

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Same):
            return self._count == other._count and bool(not self._count or self._value == other._value)
        return NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"[{self._value!r}] * {self._count}"

    def __reduce__(self) -> tuple[object, ...]:
        return Same, (self._value, self._count)


class Array(Sequence[Any]):
    """array: values of one type, a read-only sequence (1.0 part 1 section 1.6.24).

    `Array(items)` takes the type of its first item, which every item must have; `element` names it
    otherwise: one of the classes of this module, or int, str, bytes, float, bool, list, dict,
    uuid.UUID, as `encode` maps them, or type(None). `descriptors` are those that all elements have in
    common, the outermost first. An Array equals another one with equal items, element and descriptors,
    and a tuple or list of equal items.

    >>> Array([Symbol("en"), Symbol("de")])
    Array([Symbol('en'), Symbol('de')])
    >>> list(Array([], element=Symbol))
    []
    """

    __slots__ = ("_items", "descriptors", "element", "wire")

    def __init__(
        self, items: Iterable[object] = (), element: type | None = None, descriptors: tuple[object, ...] = ()
    ) -> None:
        values = tuple(items)
        if element is None:
            if not values:
                raise ValueError("an Array without items needs its element")
            element = values[0].__class__
        self._items: Sequence[object] = values
        self.element: type = element
        self.descriptors = descriptors
        self.wire: bytes | None = None

    @staticmethod
    def from_wire(items: Sequence[object], element: type, descriptors: tuple[object, ...], wire: bytes | None) -> Array:
        """An array of what was decoded, with its octets, which it then encodes to."""
        array = object.__new__(Array)
        array._items = items
        array.element = element
        array.descriptors = descriptors
        array.wire = wire
        return array

    def __len__(self) -> int:
        return len(self._items)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._items)

    @overload
    def __getitem__(self, index: int) -> Any: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Any]: ...
    def __getitem__(self, index: int | slice) -> object:
        return self._items[index]

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Array):
            if self.element is not other.element or self.descriptors != other.descriptors:
                return False
            if self.wire is not None and self.wire == other.wire:
                return True
            mine, others = self._items, other._items
            if isinstance(mine, Same) and isinstance(others, Same):
                return mine == others
            return len(mine) == len(others) and tuple(mine) == tuple(others)
        if isinstance(other, (tuple, list)):
            items = cast("Sequence[object]", other)
            return len(self._items) == len(items) and tuple(self) == tuple(items)
        return NotImplemented

    def __hash__(self) -> int:
        return hash(token(self))

    def __repr__(self) -> str:
        items = self._items
        text = f"Array({items if isinstance(items, Same) else list(items)!r}"
        if not self._items or self._items[0].__class__ is not self.element:
            text += f", element={self.element.__name__}"
        if self.descriptors:
            text += f", descriptors={self.descriptors!r}"
        return text + ")"

    def __reduce__(self) -> tuple[object, ...]:
        return Array.from_wire, (self._items, self.element, self.descriptors, self.wire)

    @property
    def repeats(self) -> int:
        """How many elements there are that have no octets of their own; a few octets say any number of them."""
        items = self._items
        return len(items) if isinstance(items, Same) else 0

    def runs(self) -> Iterator[tuple[object, int]]:
        """The items in their order, each with how many times it comes; one of no octets comes once for all."""
        items = self._items
        if isinstance(items, Same):
            return iter([(items[0], len(items))] if items else ())
        return iter([(item, 1) for item in items])


def token(value: object) -> Hashable:
    """Return a hashable token for a decoded value: equal for values that Python calls equal.

    It is made of text and octets only, whose hashes nobody can foresee. Those of numbers, and of what numbers
    make up, are the same in every process: a peer can send any amount of values that have one hash.
    """
    if isinstance(value, str):
        return value
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes(value)  # pyright: ignore[reportUnknownArgumentType]
    if value is None:
        return ()
    if isinstance(value, float):
        if not value.is_integer():
            return ("number", float.__repr__(value))
        value = int(value)
    if isinstance(value, int):
        return ("number", int.__repr__(value))
    if isinstance(value, Mapping):
        pairs = cast("Mapping[object, object]", value)
        return ("map", frozenset([(token(key), token(each)) for key, each in pairs.items()]))
    if isinstance(value, (Array, list, tuple)):
        items = cast("Sequence[object]", value)
        runs = items.runs() if isinstance(items, Array) else [(item, 1) for item in items]
        same = groupby([(token(item), count) for item, count in runs], itemgetter(0))
        return ("items", *[(key, str(sum([count for _, count in run]))) for key, run in same])
    names: tuple[str, ...] | None = getattr(value, "__match_args__", None)
    if names is not None:
        return (value.__class__.__name__, *[token(getattr(value, name)) for name in names])
    octets: object = getattr(value, "bytes", None)
    return value if octets is None else ("uuid", octets)
