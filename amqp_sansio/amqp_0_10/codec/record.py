"""The bases of the generated records: structs, controls and commands of 0-10, and how octets become them.

Part 1 sections 5.3 (structs), 5.7 (controls), 5.8 (commands) and 5.9 (segments).
"""

# Structs are packed here, too, one behind the other.
# pyright: reportPrivateUsage=false
from __future__ import annotations

from struct import Struct as _Form
from struct import error as StructError
from typing import TYPE_CHECKING, Any, ClassVar, Final, Generic, TypeVar

from ...errors import CodecError
from .types import encode_struct32, fault
from .values import Struct32

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Self

_R_co = TypeVar("_R_co", covariant=True)

_UNWRITABLE: Final = (StructError, TypeError, AttributeError, OverflowError, ValueError)
FRAMING_ERROR: Final = 501
COMMAND_INVALID: Final = 503


class Struct:
    """A composite of named fields, packed behind flags that say which of them are there.

    `NAME` is the specification's name, `CODE` the class and struct code (0: it has none), `SIZE` and `PACK` the octets
    of its size and of its flags, `FIELDS` name and type of each field. `REQUIRED` are the fields that the specification
    wants to be there, `MANDATORY` those of them that can be missed: no bits, and none that senders leave out and
    that have a plain meaning then. A field that isn't there is None, a bit False.

    `wire` holds the octets from the flags on that a record was decoded from, which `encode` gives again; it's None for
    others, and not compared. Records are hashable and pickle.
    """

    __slots__ = ("wire",)

    NAME: ClassVar[str]
    CODE: ClassVar[int] = 0
    SIZE: ClassVar[int] = 0
    PACK: ClassVar[int] = 2
    FIELDS: ClassVar[tuple[tuple[str, str], ...]] = ()
    REQUIRED: ClassVar[tuple[str, ...]] = ()
    MANDATORY: ClassVar[tuple[str, ...]] = ()
    SECRETS: ClassVar[tuple[str, ...]] = ()
    RESERVED: ClassVar[tuple[str, ...]] = ()
    __match_args__: ClassVar[tuple[str, ...]] = ()

    wire: bytes | None

    def __init__(self) -> None:
        self.wire = None

    def encode(self) -> bytes:
        """Packing flags and fields; of a decoded record the octets it came in. Raises CodecError."""
        if self.wire is not None:
            return self.wire
        try:
            return self._pack()
        except _UNWRITABLE as error:
            text = f"{self.NAME} can't be written: {self._culprit()}{error}"
            rule = error.rule if isinstance(error, CodecError) else None
            raise CodecError(text, rule=rule) from error

    def encode_sized(self) -> bytes:
        """Size, code and `encode`, as in a field of this type. Raises CodecError."""
        octets = self.encode()
        if self.CODE:
            octets = self.CODE.to_bytes(2, "big") + octets
        return len(octets).to_bytes(self.SIZE, "big") + octets if self.SIZE else octets

    def encode_struct32(self) -> bytes:
        """Four octets of size, code and `encode`, as in a header segment and in values.

        Raises CodecError for what can't be written, and for a struct without a code.
        """
        if not self.CODE:
            raise CodecError(
                f"no type of 0-10 holds {type(self).__name__}, which has no code: {self!r}"
            )
        octets = self.wire
        if octets is None:
            octets = self.encode()
        return _SIZE_AND_CODE(2 + len(octets), self.CODE) + octets

    def missing(self) -> str:
        """The name of the first field of `MANDATORY` that isn't there, "" when all are.

        A struct that lacks one is malformed (part 1 section 5.3).
        """
        for name in self.MANDATORY:
            if getattr(self, name) is None:
                return name
        return ""

    @classmethod
    def decode(cls, data: bytes, pos: int = 0, end: int | None = None) -> Self:
        """The record whose packing flags are at `pos` and whose fields end at `end`. Raises CodecError."""
        # Its own octets alone: what is said of a damaged record doesn't depend on what came with it.
        wire = data[pos:] if end is None else data[pos:end]
        size = len(wire)
        try:
            found, stop = cls._unpack(wire, 0, size)
        except (StructError, IndexError) as error:
            raise fault(f"{cls.NAME} is cut off", pos) from error
        except CodecError as error:
            raise CodecError(
                f"{cls.NAME}: {error}", offset=pos + (error.offset or 0), code=error.code, rule=error.rule
            ) from error
        if stop != size:
            what = "is cut off" if stop > size else f"has {size - stop} octets too many"
            raise fault(f"{cls.NAME} {what}", pos)
        found.wire = wire
        return found

    def _pack(self) -> bytes:
        return b"\x00" * self.PACK

    @classmethod
    def _unpack(cls, data: bytes, pos: int, end: int) -> tuple[Self, int]:
        raise NotImplementedError

    def _culprit(self) -> str:
        """Which field can't be written, as far as one can see."""
        for name, kind in self.FIELDS:
            value = getattr(self, name)
            wanted = _KINDS.get(kind)
            if value is not None and wanted is not None and not isinstance(value, wanted):
                return f"{name} is {value!r}, {kind} is wanted: "
        return ""

    def __eq__(self, other: object) -> bool:
        if other.__class__ is not self.__class__:
            return NotImplemented
        return all([getattr(self, name) == getattr(other, name) for name in self.__match_args__])

    def __hash__(self) -> int:
        return hash((self.NAME, *[_hashable(getattr(self, name)) for name in self.__match_args__]))

    def __repr__(self) -> str:
        shown: list[str] = []
        for name in self.__match_args__:
            value = getattr(self, name)
            if value is None or value is False:
                continue
            shown.append(f"{name}=..." if name in self.SECRETS else f"{name}={value!r}")
        return f"{type(self).__name__}({', '.join(shown)})"

    def __reduce__(self) -> tuple[object, ...]:
        values = tuple([getattr(self, name) for name in self.__match_args__])
        return _rebuild, (self.__class__, values, self.wire)


class Control(Struct):
    """A control: on track 0, not numbered, not repeated (part 1 section 3.4.2).

    `HANDLERS` are the roles that handle it, "client" and "server": who has no such role doesn't get it. `RESPONSES` may
    answer it.
    """

    __slots__ = ()

    HANDLERS: ClassVar[tuple[str, ...]] = ("client", "server")
    RESPONSES: ClassVar[tuple[str, ...]] = ()

    def encode_assembly(self) -> bytes:
        """The octets of its only segment: code, packing flags, fields."""
        return self.CODE.to_bytes(2, "big") + self.encode()


class Command(Struct, Generic[_R_co]):
    """A command: on track 1, numbered, executed exactly once (part 1 section 3.4.1).

    It's generic in its result. `HANDLERS` are the roles that handle it, "client" and "server". `RESULT` is the name of
    the struct that its result is, "" when it has none; `HEADERS` the structs of its header segment, `HAS_BODY` whether
    it has a body segment.
    """

    __slots__ = ()

    HANDLERS: ClassVar[tuple[str, ...]] = ("client", "server")
    RESULT: ClassVar[str] = ""
    HEADERS: ClassVar[tuple[str, ...]] = ()
    HAS_BODY: ClassVar[bool] = False

    def encode_segment(self, *, sync: bool = False) -> bytes:
        """The octets of its command segment: code, session.header, packing flags, fields."""
        # The size of session.header is 1, sync the first bit of its flags.
        return _CODE_AND_HEADER(self.CODE, 0x0101 if sync else 0x0100) + self.encode()


def decode_control(data: bytes, pos: int, end: int) -> Control:
    """The control whose code is at `pos`. Raises CodecError: framing-error, also for a code nobody knows."""
    if end - pos < 2:
        raise fault("a control without a code", pos)
    kind = CONTROLS.get(data[pos] << 8 | data[pos + 1])
    if kind is None:
        raise fault(f"unknown control {data[pos]}.{data[pos + 1]}", pos)
    return kind.decode(data, pos + 2, end)


def decode_command(data: bytes, pos: int, end: int) -> tuple[Command[Any], bool]:
    """The command whose code is at `pos`, and the sync bit of its session.header.

    Raises CodecError: command-invalid for a code nobody knows, framing-error for octets that can't be read.
    """
    if end - pos < 4:
        raise fault("a command without code and session.header", pos)
    kind = COMMANDS.get(data[pos] << 8 | data[pos + 1])
    if kind is None:
        raise CodecError(
            f"unknown command {data[pos]}.{data[pos + 1]}", offset=pos, code=COMMAND_INVALID
        )
    size = data[pos + 2]
    start = pos + 3 + size
    if size < 1 or start > end:
        raise fault("the session.header of a command is cut off", pos + 2)
    # Of the packing flags' octet the first bit is sync.
    return kind.decode(data, start, end), data[pos + 3] & 1 != 0


def decode_struct(data: bytes, pos: int, end: int) -> Struct | Struct32:
    """The content of a struct32: a record, or a Struct32 for a code nobody knows. Raises CodecError."""
    if end - pos < 2:
        raise fault("a struct32 without a code", pos)
    code = data[pos] << 8 | data[pos + 1]
    kind = STRUCTS.get(code)
    if kind is None:
        return Struct32(code, data[pos + 2 : end])
    return kind.decode(data, pos + 2, end)


def decode_headers(data: bytes, pos: int, end: int) -> tuple[Struct | Struct32, ...]:
    """The structs of a header segment, in their order. Raises CodecError: a type comes at most once."""
    found: list[Struct | Struct32] = []
    codes: set[int] = set()
    while pos < end:
        if end - pos < 6:
            raise fault("a header struct is cut off", pos)
        size, code = _READ_SIZE_AND_CODE(data, pos)
        stop = pos + 4 + size
        if size < 2 or stop > end:
            raise fault("a header struct is cut off", pos)
        if code in codes:
            raise CodecError(
                f"the struct {code >> 8}.{code & 255} comes twice in a header segment",
                offset=pos,
                code=FRAMING_ERROR,
                rule="0-10/wire/header-any-order",
            )
        codes.add(code)
        known = UNPACKERS.get(code)
        pos += 6
        if known is None:
            found.append(Struct32(code, data[pos:stop]))
        else:
            unpack, kind = known
            try:
                struct, at = unpack(data, pos, stop)
            except (StructError, IndexError, CodecError):
                struct, at = kind.decode(data, pos, stop), stop  # says what's wrong
            if at != stop:
                struct = kind.decode(data, pos, stop)
            struct.wire = data[pos:stop]
            found.append(struct)
        pos = stop
    return tuple(found)


def encode_headers(structs: tuple[Struct | Struct32, ...]) -> bytes:
    """A header segment. Raises CodecError."""
    parts: list[bytes] = []
    for each in structs:
        if not isinstance(each, Struct):
            parts.append(encode_struct32(each))
        elif each.CODE:
            octets = each.wire
            if octets is None:
                try:
                    octets = each._pack()
                except _UNWRITABLE:
                    octets = each.encode()  # says what's wrong
            parts += (_SIZE_AND_CODE(2 + len(octets), each.CODE), octets)
        else:
            parts.append(each.encode_struct32())
    return b"".join(parts)


STRUCTS: Final[dict[int, type[Struct]]] = {}
CONTROLS: Final[dict[int, type[Control]]] = {}
COMMANDS: Final[dict[int, type[Command[Any]]]] = {}
"""The records by their codes; the generated module, which needs the bases here, adds all of them when it's imported."""

UNPACKERS: Final[dict[int, tuple[Callable[[bytes, int, int], tuple[Struct, int]], type[Struct]]]] = {}
"""The straight-line code that reads a struct, by code: bound once, not for every message."""


def _rebuild(kind: type[Struct], values: tuple[Any, ...], wire: bytes | None) -> Struct:
    found = kind(*values)
    found.wire = wire
    return found


def _hashable(value: Any) -> Any:
    listed: Any = value
    return tuple(listed) if isinstance(value, list) else value


_SIZE_AND_CODE: Final = _Form(">IH").pack
_READ_SIZE_AND_CODE: Final = _Form(">IH").unpack_from
_CODE_AND_HEADER: Final = _Form(">HH").pack
_KINDS: Final[Mapping[str, type | tuple[type, ...]]] = {
    "str8": str,
    "str16": str,
    "vbin8": (bytes, bytearray),
    "vbin16": (bytes, bytearray),
    "vbin32": (bytes, bytearray),
    **dict.fromkeys(["uint8", "uint16", "uint32", "uint64", "sequence-no", "datetime"], int),
}
