"""Each dialect's rules for field tables: the type of each tag, the tags that may be sent, and the bounds.

The tags are those of 0-8 and 0-9-1 section 4.2.5.5 and of the 0-9-1 grammar (section 4.2.1); where
those two and the implementations disagree, the rules of each dialect say whom it follows.
"""

from __future__ import annotations

from struct import Struct

from ..._checking import TYPE_CHECKING, Any
from ..._ground.record import record
from ...errors import CodecError
from .violation import SYNTAX_ERROR

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime
    from decimal import Decimal
    from typing import Final, TypeAlias

FieldValue: TypeAlias = Any
"""A decoded value: bool, int, float, str, bytes, Decimal, Timestamp, None, Table, or a list."""


def syntax_error(text: str, offset: int | None = None, rule: str | None = None) -> CodecError:
    """The error for octets, or a value, that break the syntax of a field."""
    return CodecError(text, offset=offset, code=SYNTAX_ERROR, rule=rule)


MAX_DEPTH: Final = 128
"""The deepest nesting that rules may allow, well within the interpreter's bound on recursion."""


class Timestamp(int):
    """A moment in POSIX seconds, an unsigned 64-bit number on the wire (tag `T`; section 4.2.5.4).

    It's an int, so that it carries values that no datetime can: `Timestamp(1700000000).as_datetime()`.
    """

    __slots__ = ()

    def as_datetime(self) -> datetime:
        """The same moment as a datetime in UTC. Raises OverflowError beyond the year 9999."""
        from datetime import UTC, datetime, timedelta

        return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=int(self))

    def __repr__(self) -> str:
        return f"Timestamp({int(self)})"


@record
class Typed:
    """A value with its wire type, one letter: `Typed("b", -1)` is a signed octet."""

    tag: str
    value: FieldValue


Reader: TypeAlias = "Callable[[bytes, int], tuple[FieldValue, int]]"
"""Reads a value at an offset; gives it and the offset behind. Raises struct.error or IndexError."""


def _fixed(form: str) -> Reader:
    layout = Struct(form)
    unpack = layout.unpack_from
    size = layout.size

    def read(buf: bytes, pos: int) -> tuple[FieldValue, int]:
        return unpack(buf, pos)[0], pos + size

    return read


def _short_string(buf: bytes, pos: int) -> tuple[FieldValue, int]:
    stop = pos + 1 + buf[pos]
    return buf[pos + 1 : stop].decode("utf-8", "surrogateescape"), stop


def _decimal(buf: bytes, pos: int) -> tuple[FieldValue, int]:
    from decimal import Decimal

    scale, value = _SCALE_AND_VALUE(buf, pos)
    digits = tuple([int(digit) for digit in str(abs(value))])
    return Decimal((1 if value < 0 else 0, digits, -scale)), pos + 5


_SCALE_AND_VALUE: Final = Struct(">Bi").unpack_from

INTEGERS: Final = {"b": ">b", "B": ">B", "s": ">h", "U": ">h", "u": ">H", "I": ">i", "i": ">I", "l": ">q", "L": ">q"}
"""The integer tags as RabbitMQ and Qpid read them (errata page of RabbitMQ, section 3)."""

_SIZES: Final = {
    "t": 1,
    "b": 1,
    "B": 1,
    "s": 2,
    "U": 2,
    "u": 2,
    "I": 4,
    "i": 4,
    "l": 8,
    "L": 8,
    "f": 4,
    "d": 8,
    "D": 5,
    "T": 8,
    "V": 0,
}


class TableRules:
    """The rules of one dialect for field tables.

    `name` says whose they are; tables whose rules have one name exchange octets unread. `writes` are the tags that may
    be sent. `wide` is the tag of a 64-bit integer, "" for none. `s_is_string`: `s` is a short string, not a 16-bit
    integer. `l_is_unsigned`: the tag `l` is unsigned. `first_wins`: of entries with one name the first counts (0-8
    section 4.2.5.5), else the last. `consume_arguments`: 0-8's basic.consume ends with a table. `strict_names`: names
    that break the specifications (`name_fault`) aren't sent, and `check_table` refuses them. `depth` is how deep
    tables and arrays may nest (a table in a method or header is 1), `entries` how many entries one may have.

    Every dialect reads every tag, whether it may send it or not. Raises ValueError for a depth that
    isn't from 1 to 128.
    """

    __slots__ = (
        "consume_arguments",
        "depth",
        "entries",
        "first_wins",
        "has_bool",
        "integers",
        "l_is_unsigned",
        "name",
        "read_l",
        "readers",
        "s_is_string",
        "sizes",
        "strict_names",
        "wide",
        "writes",
    )

    def __init__(
        self,
        name: str,
        writes: str,
        wide: str = "",
        s_is_string: bool = False,
        l_is_unsigned: bool = False,
        first_wins: bool = False,
        consume_arguments: bool = False,
        strict_names: bool = False,
        depth: int = 32,
        entries: int = 65_536,
    ) -> None:
        if not 1 <= depth <= MAX_DEPTH:
            raise ValueError(f"depth must be from 1 to {MAX_DEPTH}, not {depth}")
        self.name: Final = name
        self.writes: Final = writes
        self.wide: Final = wide
        self.s_is_string: Final = s_is_string
        self.l_is_unsigned: Final = l_is_unsigned
        self.first_wins: Final = first_wins
        self.consume_arguments: Final = consume_arguments
        self.strict_names: Final = strict_names
        self.depth: Final = depth
        self.entries: Final = entries
        integers = dict(INTEGERS)
        sizes = {ord(tag): size for tag, size in _SIZES.items()}
        if s_is_string:
            del integers["s"], sizes[115]
        if l_is_unsigned:
            integers["l"] = ">Q"
        readers = {ord(tag): _fixed(form) for tag, form in integers.items()}
        readers[102] = _fixed(">f")
        readers[68] = _decimal
        if s_is_string:
            readers[115] = _short_string
        self.has_bool: Final = "t" in writes
        self.integers: Final = integers
        self.readers: Final = readers
        self.sizes: Final = sizes
        self.read_l: Final = Struct(integers["l"]).unpack_from

    def limited(self, depth: int, entries: int) -> TableRules:
        """The same rules with other bounds; itself when they are the same.

        Raises ValueError for a depth that isn't from 1 to 128.
        """
        if depth == self.depth and entries == self.entries:
            return self
        return TableRules(*self._arguments()[:8], depth, entries)

    def with_any_names(self) -> TableRules:
        """The same rules without `strict_names`; itself when they are the same."""
        if not self.strict_names:
            return self
        return TableRules(*self._arguments()[:7], False, self.depth, self.entries)

    def _arguments(self) -> tuple[str, str, str, bool, bool, bool, bool, bool, int, int]:
        return (
            self.name,
            self.writes,
            self.wide,
            self.s_is_string,
            self.l_is_unsigned,
            self.first_wins,
            self.consume_arguments,
            self.strict_names,
            self.depth,
            self.entries,
        )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TableRules):
            return NotImplemented
        return self._arguments() == other._arguments()

    def __hash__(self) -> int:
        return hash(self._arguments())

    def __repr__(self) -> str:
        return f"TableRules({', '.join(map(repr, self._arguments()))})"

    def __reduce__(self) -> str | tuple[object, ...]:
        if _CONSTANTS.get(self.name) is self:
            return _rules, (self.name,)
        return TableRules, self._arguments()


RABBIT: Final = TableRules("rabbit", "SIltdFATVxDbBsuif", "l")
"""RabbitMQ: `s` a 16-bit and `l` a signed 64-bit integer; it reads `L`, and refuses `U`."""
RABBIT_0_8: Final = TableRules("rabbit-0-8", "SIltdFATVxDbBsuif", "l", first_wins=True)
"""RabbitMQ in 0-8, where the first of entries with one name counts."""
SPEC_0_9_1: Final = TableRules(
    "0-9-1", "tbBUuIiLlfdDsSATFV", "L", s_is_string=True, l_is_unsigned=True, strict_names=True
)
"""The grammar of 0-9-1: `s` a short string, `L` signed and `l` unsigned, and no byte array."""
SPEC_0_8: Final = TableRules("0-8", "SIDTF", first_wins=True, strict_names=True)
"""The text of 0-8: five types; what else arrives is read as RabbitMQ reads it."""
QPID: Final = TableRules("qpid", "SIltdFATVxDbBsuif", "l")
"""Qpid: the tags of RabbitMQ."""
QPID_0_8: Final = TableRules("qpid-0-8", "SIltdFATVxDbBsuif", "l", first_wins=True, consume_arguments=True)
"""Qpid in 0-8, where basic.consume has a table of arguments."""

_CONSTANTS: Final = {rules.name: rules for rules in (RABBIT, RABBIT_0_8, SPEC_0_9_1, SPEC_0_8, QPID, QPID_0_8)}


def _rules(name: str) -> TableRules:
    return _CONSTANTS[name]


class TableOctets:
    """A Table as the encoder sees it: octets and their rules."""

    __slots__ = ("_raw", "_rules")

    _raw: bytes
    _rules: TableRules

    @property
    def raw(self) -> bytes:
        """The table's octets, without the 4-octet length in front of it."""
        return self._raw

    @property
    def rules(self) -> TableRules:
        """The rules it's read by."""
        return self._rules

    def entries(self) -> list[tuple[str, str, FieldValue]]:
        """Every entry as (name, tag, value) in the order of the wire."""
        raise NotImplementedError


def name_fault(name: str) -> str | None:
    """Say which rule of the specifications a field's name breaks, or None (section 4.2.5.5).

    It begins with a letter, $ or #, goes on with those, digits and underscores, and is at most 128
    characters long. "x-match", which the specifications themselves ask for, is right all the same.
    """
    if name == "x-match":
        return None
    if len(name) > 128:
        return "is longer than 128 characters"
    if not name or not (name[0].isalpha() or name[0] in "$#"):
        return "doesn't begin with a letter, $ or #"
    if not all([character.isalnum() or character in "$#_" for character in name]):
        return "has more than letters, digits, $, # and _"
    return None


def write_decimal(value: Decimal) -> bytes:
    """The tag and octets of a Decimal.

    Raises CodecError when it has no form in 255 places and a signed 32-bit number.
    """
    sign, digits, exponent = value.as_tuple()
    if isinstance(exponent, int) and -255 <= exponent <= 10:
        number = int("".join(map(str, digits)) or "0") * (-1 if sign else 1)
        scale = -exponent
        if exponent > 0:
            number *= 10**exponent
            scale = 0
        if -0x8000_0000 <= number <= 0x7FFF_FFFF:
            return b"D" + Struct(">Bi").pack(scale, number)
    raise syntax_error(f"{value} doesn't fit the table type 'D': at most 255 places and a signed 32-bit number")
