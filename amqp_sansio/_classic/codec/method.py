"""The base of the method records, and the careful way to read and write them (section 4.2.4)."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from struct import Struct
from struct import error as StructError

from ..._checking import TYPE_CHECKING, TypeVar, cast
from ...endpoint import Side
from ...errors import CodecError
from .table import EMPTY, Table, encode_table
from .table_encode import OCTET as OCTET
from .table_rules import syntax_error

if TYPE_CHECKING:
    from typing import Any, ClassVar, Final, Generic

    from .table import FieldValue, TableRules

M = TypeVar("M", bound="Method")

CLIENT: Final = (Side.CLIENT,)
SERVER: Final = (Side.SERVER,)
BOTH: Final = (Side.CLIENT, Side.SERVER)

READ_FAULTS: Final = (IndexError, StructError, UnicodeDecodeError)
"""Exceptions that straight-line decoding raises for octets that aren't as expected."""
WRITE_FAULTS: Final = AttributeError, CodecError, IndexError, StructError, TypeError, UnicodeEncodeError
"""Exceptions that straight-line encoding raises for values that aren't as expected."""
BITS: Final = tuple(product((False, True), repeat=8))
"""The bits of each octet, the highest first."""


class Method:
    """One method of one protocol version, sent or received: an immutable record of its arguments.

    `ID` is the class number times 65,536 plus the method number, `NAME` the specification's name ("basic.deliver").
    `SENT_BY` names the sides that may send it in some dialect, `REPLIES` what may answer it (`Dialect.senders` and
    `Dialect.replies`: in one dialect). `FIELDS` pairs each constructor argument with its wire type: octet, short,
    long, longlong (unsigned, 1 to 8 octets), bit, shortstr (str of at most 255 octets), longstr (bytes), timestamp
    (POSIX seconds), table (any mapping; a Table when received). `WIRE` is the same in the order of the wire, with ""
    for what the version reserves. `RESERVED` names the fields that only 0-8 gives a meaning, `SECRETS` those that
    `repr` doesn't show.

    `spare` holds the octets of the arguments as they came, when the fields alone wouldn't encode
    to the same ones (spare bits that are set, reserved fields that aren't empty), else None.

    Two methods are equal when class, fields and `spare` are. Records are hashable and pickle.
    """

    __slots__ = ("spare",)

    ID: ClassVar[int]
    NAME: ClassVar[str]
    CLASS_ID: ClassVar[int]
    METHOD_ID: ClassVar[int]
    SENT_BY: ClassVar[tuple[Side, ...]]
    SYNCHRONOUS: ClassVar[bool] = False
    REPLIES: ClassVar[tuple[type[Method], ...]] = ()
    HAS_CONTENT: ClassVar[bool] = False
    IS_REPLY: ClassVar[bool] = False
    HAS_NO_WAIT: ClassVar[bool] = False
    FIELDS: ClassVar[tuple[tuple[str, str], ...]] = ()
    WIRE: ClassVar[tuple[tuple[str, str], ...]] = ()
    RESERVED: ClassVar[tuple[str, ...]] = ()
    SECRETS: ClassVar[tuple[str, ...]] = ()
    __match_args__: ClassVar[tuple[str, ...]] = ()

    spare: bytes | None

    def __init__(self) -> None:
        self.spare = None

    def encode(self, tables: TableRules) -> bytes:
        """The payload of its frame: class number, method number, arguments.

        Raises CodecError for a value that its wire type can't hold.
        """
        raise NotImplementedError

    @staticmethod
    def decode(buf: bytes, pos: int, end: int, tables: TableRules) -> Method:
        """Read the arguments in `buf`, from `pos` behind the method number to the payload's `end`.

        Tables are read when they are asked for. Raises CodecError (code 502) unless the arguments end exactly there.
        """
        raise NotImplementedError

    def __eq__(self, other: object) -> bool:
        if other.__class__ is not self.__class__:
            return NotImplemented
        return (
            isinstance(other, Method)
            and self.spare == other.spare
            and all([getattr(self, name) == getattr(other, name) for name in self.__match_args__])
        )

    def __hash__(self) -> int:
        return hash((self.ID, *[hashable(getattr(self, name)) for name in self.__match_args__]))

    def __repr__(self) -> str:
        shown: list[str] = []
        for name in self.__match_args__:
            value = getattr(self, name)
            if name in self.SECRETS:
                shown.append(f"{name}=<{len(value)} octets>")
            elif value or name not in self.RESERVED:
                shown.append(f"{name}={value!r}")
        if self.spare is not None:
            shown.append(f"spare={self.spare!r}")
        return f"{type(self).__name__}({', '.join(shown)})"

    def __reduce__(self) -> tuple[object, ...]:
        arguments = tuple([getattr(self, name) for name in self.__match_args__])
        if self.spare is None:
            return type(self), arguments
        return _rebuild, (type(self), arguments, self.spare)


R_co = TypeVar("R_co", bound=Method, covariant=True)

if TYPE_CHECKING:

    class Request(Method, Generic[R_co]):
        """A method that is answered; `R_co` is its answer, for static checkers only."""

else:

    class Request(Method):
        """A method that is answered; its parameter is its answer, for static checkers only."""

        __slots__ = ()

        def __class_getitem__(cls, _: object) -> type[Request]:
            return cls


def _rebuild(cls: type[M], arguments: tuple[object, ...], spare: bytes) -> M:
    method = cls(*arguments)
    method.spare = spare
    return method


def hashable(value: object) -> object:
    """`value`, or for a mapping that has no hash what a Table's hash is made of."""
    return frozenset(cast("Mapping[str, FieldValue]", value)) if isinstance(value, Mapping) else value


INTEGERS: Final = {
    "octet": Struct(">B"),
    "short": Struct(">H"),
    "long": Struct(">I"),
    "longlong": Struct(">Q"),
    "timestamp": Struct(">Q"),
}


def decode_slowly(cls: type[M], buf: bytes, pos: int, end: int, tables: TableRules) -> M:
    """Read arguments one by one, keeping octets that aren't canonical in `spare`.

    Raises CodecError (code 502) with the offset and the name of the field at fault.
    """
    values: dict[str, object] = {}
    start = pos
    odd = False
    bits = index = 0
    for name, kind in cls.WIRE:
        what = f"{cls.NAME}: {name or 'a reserved argument'}"
        if kind == "bit":
            if not index:
                bits, pos = read_field(what, "octet", buf, pos, end, tables)
            if name:
                values[name] = bits & 1 == 1
            elif bits & 1:
                odd = True
            bits >>= 1
            index = (index + 1) % 8
            continue
        if index:
            odd = odd or bits != 0
            index = 0
        if kind == "optional-table":
            # A table for a dialect that has none, and none for one that has, are kept as they came.
            odd = odd or (pos == end) is tables.consume_arguments
            if pos == end:
                continue
        value, pos = read_field(what, kind, buf, pos, end, tables)
        if name:
            values[name] = value
        elif value:
            odd = True
    if pos != end:
        raise syntax_error(f"{cls.NAME}: {end - pos} octets are left behind the last argument", pos)
    method = cls(**values)
    if odd or (index and bits):
        method.spare = buf[start:end]
    return method


def read_field(what: str, kind: str, buf: bytes, pos: int, end: int, tables: TableRules) -> tuple[Any, int]:
    """The field at `pos` and the offset behind it. Raises CodecError, which calls it `what`, when `end` cuts it."""
    layout = INTEGERS.get(kind) or INTEGERS["octet" if kind == "shortstr" else "long"]
    at = pos + layout.size
    if at > end:
        raise syntax_error(f"{what} goes beyond the frame", pos)
    (value,) = layout.unpack_from(buf, pos)
    if kind in INTEGERS:
        return value, at
    stop = at + value
    if stop > end:
        raise syntax_error(f"{what} goes beyond the frame", at)
    data = buf[at:stop]
    if kind == "shortstr":
        return data.decode("utf-8", "surrogateescape"), stop
    if kind == "longstr":
        return data, stop
    return (Table.from_wire(data, tables) if data else EMPTY), stop


def encode_slowly(method: Method, tables: TableRules) -> bytes:
    """Write arguments one by one. Raises CodecError that names the argument at fault."""
    parts = [INTEGERS["long"].pack(method.ID)]
    bits: list[bool] = []
    for name, kind in method.WIRE:
        value = getattr(method, name) if name else None
        if kind == "bit":
            if len(bits) == 8:
                parts.append(_packed(bits))
                bits = []
            bits.append(bool(value))
            continue
        if bits:
            parts.append(_packed(bits))
            bits = []
        if kind == "optional-table":
            if value is None:
                parts.append(_NOTHING["table"] if tables.consume_arguments else b"")
                continue
            if not tables.consume_arguments:
                raise syntax_error(f"{method.NAME}: only the dialect 0-8-qpid has {name}; leave them out")
            kind = "table"
        if name:
            parts.append(write_field(method.NAME, name, kind, value, tables))
        else:
            parts.append(_NOTHING[kind])
    if bits:
        parts.append(_packed(bits))
    return b"".join(parts)


def write_field(owner: str, name: str, kind: str, value: Any, tables: TableRules) -> bytes:
    """The octets of one field. Raises CodecError that names the owner and the field."""
    layout = INTEGERS.get(kind)
    data: bytes
    try:
        if layout is not None:
            return layout.pack(value)
        if kind == "shortstr":
            data = value.encode("utf-8", "surrogateescape")
            return OCTET[len(data)] + data
        if kind == "longstr":
            data = b"" + value
            return INTEGERS["long"].pack(len(data)) + data
        if isinstance(value, Mapping):
            return encode_table(cast("Mapping[str, FieldValue]", value), tables)
    except CodecError as error:
        raise CodecError(f"{owner}: {name}: {error}", code=error.code, rule=error.rule) from None
    except IndexError:
        raise syntax_error(f"{owner}: {name} is above 255 octets: {value!r:.60}...") from None
    except (AttributeError, StructError, TypeError, UnicodeEncodeError):
        pass
    raise syntax_error(f"{owner}: {name} can't be {value!r:.60}; it's {_KINDS[kind]}")


_NOTHING: Final = {
    **{kind: bytes(layout.size) for kind, layout in INTEGERS.items()},
    **{"shortstr": bytes(1), "longstr": bytes(4), "table": bytes(4)},
}
"""The octets of a reserved field, by its type."""

_KINDS: Final = {
    "octet": "an int from 0 to 255",
    "short": "an int from 0 to 65535",
    "long": "an int of 32 bits without sign",
    "longlong": "an int of 64 bits without sign",
    "timestamp": "an int of 64 bits without sign, POSIX seconds",
    "shortstr": "a str of at most 255 octets",
    "longstr": "bytes",
    "table": "a mapping",
}


def _packed(bits: list[bool]) -> bytes:
    return OCTET[sum([1 << index for index, bit in enumerate(bits) if bit])]
