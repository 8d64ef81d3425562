"""The base of the content properties, which are decoded when one is asked for (section 4.2.6.1)."""

from __future__ import annotations

from struct import Struct

from ..._checking import TYPE_CHECKING, TypeVar, cast
from ...errors import CodecError
from .method import hashable, read_field, write_field
from .table import check_tables
from .table_rules import syntax_error

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, ClassVar, Final, Self

    from .table import TableRules

P = TypeVar("P", bound="Properties")

_FLAGS: Final = Struct(">H")
_MORE: Final = 1


class Properties:
    """The properties of one content class: a property that is absent is None.

    Built by keywords (`BasicProperties(content_type="text/plain")`) or over octets (`from_wire`). Octets are decoded
    all at once when a property is asked for, and any access may then raise CodecError (`check` tells beforehand);
    until then the object is of a subclass of its class. `FIELDS` pairs each property with its wire type, in the order
    of their flags. Equal when all properties are; hashable; pickling keeps octets.

    Those that arrived aren't to be changed, for messages with the same octets may share them, nor those that were sent,
    but for their table: their octets may be sent again. `replace` gives others.
    """

    __slots__ = ()

    CLASS_ID: ClassVar[int]
    FIELDS: ClassVar[tuple[tuple[str, str], ...]] = ()
    __match_args__: ClassVar[tuple[str, ...]] = ()

    _raw: bytes | None
    _rules: TableRules

    @staticmethod
    def from_wire(raw: bytes, tables: TableRules) -> Properties:
        """Properties over `raw`, the flags and the property list. Checks nothing yet."""
        raise NotImplementedError

    def encode(self, tables: TableRules) -> bytes:
        """Flags and property list: those it was built from, if its tables have the same rules.

        Raises CodecError for a value that its wire type can't hold.
        """
        raw = self._raw
        return b"\0\0" if raw is None else raw

    def check(self) -> None:
        """Read everything and skim the structure of tables. Raises CodecError (code 502)."""
        raw = self._raw
        if raw is not None:
            self._load()
            check_tables(self, self._rules)

    @property
    def raw(self) -> bytes | None:
        """The octets it was built from, or None when it was built by keywords."""
        return self._raw

    def replace(self, **changes: object) -> Self:
        """Return the properties with other values for some fields; the fields that stay are decoded for it."""
        fields = dict(zip(self.__match_args__, self._values(), strict=True))
        unknown = changes.keys() - fields.keys()
        if unknown:
            raise TypeError(f"{type(self).__name__} has no field {', '.join(sorted(unknown))}")
        # Properties that were read are of their own class, others of one for unread octets.
        return type(self)(**(fields | changes))

    def _as_is(self, tables: TableRules) -> bool:
        # Octets may go out under other rules only when no table is among them.
        if self._rules.name == tables.name:
            return True
        return all([kind != "table" or getattr(self, name) is None for name, kind in self.FIELDS])

    def _load(self) -> None:
        load_slowly(self, self._raw or b"", self._rules, type(self))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Properties) or other.CLASS_ID != self.CLASS_ID:
            return NotImplemented
        if self._raw is not None and self._raw == other._raw and self._rules == other._rules:
            return True
        return self._values() == other._values()

    def __hash__(self) -> int:
        return hash((self.CLASS_ID, *[hashable(value) for value in self._values()]))

    def __repr__(self) -> str:
        try:
            values = self._values()
        except CodecError:
            return f"<{type(self).__name__.removeprefix('Unread')} of {len(self._raw or b'')} damaged octets>"
        shown = [
            f"{name}={value!r}" for name, value in zip(self.__match_args__, values, strict=True) if value is not None
        ]
        return f"{type(self).__name__}({', '.join(shown)})"

    def __reduce__(self) -> tuple[object, ...]:
        if self._raw is None:
            return type(self), tuple(self._values())
        return type(self).from_wire, (self._raw, self._rules)

    def _values(self) -> list[object]:
        return [getattr(self, name) for name in self.__match_args__]


def lazily(cls: type[P], *readers: Callable[[Any], object]) -> type[P]:
    """The class of properties that weren't read yet; `_load` then gives them `cls`.

    `readers` load the properties and return one of them, each in its turn. It is called without arguments, and sets
    nothing: that takes less time than `object.__new__`.
    """
    body: dict[str, object] = {"__slots__": (), "__init__": object.__init__}
    body.update(zip(cls.__match_args__, map(property, readers), strict=True))
    unread: Any = type(f"Unread{cls.__name__}", (cls,), body)
    return cast("type[P]", unread)


def load_slowly(properties: Properties, raw: bytes, tables: TableRules, cls: type[Properties]) -> None:
    """Read the properties one by one and make the object one of `cls`.

    Raises CodecError (code 502) that names the property at fault; the object is then as it was.
    """
    owner = cls.__name__
    flags, pos = _flags(owner, raw)
    if flags & 0xFFFE >> len(cls.FIELDS) & 0xFFFE:
        raise syntax_error(f"{owner}: flags 0x{flags:04x} name properties that the class doesn't have", 0)
    values: list[object] = []
    for place, (name, kind) in enumerate(cls.FIELDS):
        value = None
        if flags & 0x8000 >> place:
            value, pos = read_field(f"{owner}: {name}", kind, raw, pos, len(raw), tables)
        values.append(value)
    if pos != len(raw):
        raise syntax_error(f"{owner}: {len(raw) - pos} octets are left behind the last property", pos)
    properties.__class__ = cls
    for name, value in zip(cls.__match_args__, values, strict=True):
        setattr(properties, name, value)


def _flags(owner: str, raw: bytes) -> tuple[int, int]:
    # Words of flags follow each other while their last bit is set; no class needs a second one.
    pos = flags = 0
    more = _MORE
    while more:
        if pos + 2 > len(raw):
            raise syntax_error(f"{owner}: the flags go beyond the frame", pos)
        (word,) = _FLAGS.unpack_from(raw, pos)
        more = word & _MORE
        word -= more
        if not pos:
            flags = word
        elif word:
            raise syntax_error(f"{owner}: flags of properties that the class doesn't have", pos)
        pos += 2
    return flags, pos


def encode_slowly(properties: Properties, tables: TableRules) -> bytes:
    """Write the properties one by one. Raises CodecError that names the one at fault."""
    flags = 0
    parts: list[bytes] = []
    for place, (name, kind) in enumerate(properties.FIELDS):
        value = getattr(properties, name)
        if value is not None:
            flags |= 0x8000 >> place
            parts.append(write_field(type(properties).__name__, name, kind, value, tables))
    return _FLAGS.pack(flags) + b"".join(parts)
