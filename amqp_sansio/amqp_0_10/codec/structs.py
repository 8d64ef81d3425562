"""Structs: composites of named fields, and how octets become them (0-10 part 1 section 5.3)."""

from __future__ import annotations

from struct import Struct as _Form
from struct import error as StructError

from ..._checking import TYPE_CHECKING
from ...errors import CodecError
from .values import Struct32, fault

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, ClassVar, Final, Self

UNWRITABLE: Final = (StructError, TypeError, AttributeError, OverflowError, ValueError)
"""Raised by `pack_fields` for a value that its field can't hold."""


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
            return self.pack_fields()
        except UNWRITABLE as error:
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
            raise CodecError(f"no type of 0-10 holds {type(self).__name__}, which has no code: {self!r}")
        octets = self.wire
        if octets is None:
            octets = self.encode()
        return SIZE_AND_CODE(2 + len(octets), self.CODE) + octets

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
            found, stop = cls.unpack_fields(wire, 0, size)
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

    def pack_fields(self) -> bytes:
        return b"\x00" * self.PACK

    @classmethod
    def unpack_fields(cls, data: bytes, pos: int, end: int) -> tuple[Self, int]:
        raise NotImplementedError

    def _culprit(self) -> str:
        """Name the field that can't be written, as far as its type shows."""
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


def decode_struct(data: bytes, pos: int, end: int) -> Struct | Struct32:
    """The content of a struct32: a record, or a Struct32 for a code nobody knows. Raises CodecError."""
    if end - pos < 2:
        raise fault("a struct32 without a code", pos)
    code = data[pos] << 8 | data[pos + 1]
    kind = STRUCTS.get(code)
    if kind is None:
        return Struct32(code, data[pos + 2 : end])
    return kind.decode(data, pos + 2, end)


STRUCTS: Final[dict[int, type[Struct]]] = {}
"""The coded structs by their codes; the generated module adds all of them when it's imported."""

SIZE_AND_CODE: Final = _Form(">IH").pack


def _rebuild(kind: type[Struct], values: tuple[object, ...], wire: bytes | None) -> Struct:
    found = kind(*values)
    found.wire = wire
    return found


def _hashable(value: object) -> object:
    listed: Any = value
    return tuple(listed) if isinstance(value, list) else value


_KINDS: Final[Mapping[str, type | tuple[type, ...]]] = {
    "str8": str,
    "str16": str,
    "vbin8": (bytes, bytearray),
    "vbin16": (bytes, bytearray),
    "vbin32": (bytes, bytearray),
    **dict.fromkeys(["uint8", "uint16", "uint32", "uint64", "sequence-no", "datetime"], int),
}
