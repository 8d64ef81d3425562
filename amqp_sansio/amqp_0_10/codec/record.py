"""The bases of the generated records: structs, controls and commands of 0-10, and how octets become them.

Part 1 sections 5.3 (structs), 5.7 (controls), 5.8 (commands) and 5.9 (segments).
"""

from __future__ import annotations

from struct import Struct as _Form
from struct import error as StructError

from ..._checking import TYPE_CHECKING, Generic, TypeVar
from ...errors import CodecError
from .structs import SIZE_AND_CODE, STRUCTS, UNWRITABLE, Struct
from .types import encode_struct32
from .values import Struct32, fault

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import ClassVar, Final

_R_co = TypeVar("_R_co", covariant=True)

FRAMING_ERROR: Final = 501
COMMAND_INVALID: Final = 503


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


def decode_command(data: bytes, pos: int, end: int) -> tuple[Command[object], bool]:
    """The command whose code is at `pos`, and the sync bit of its session.header.

    Raises CodecError: command-invalid for a code nobody knows, framing-error for octets that can't be read.
    """
    if end - pos < 4:
        raise fault("a command without code and session.header", pos)
    kind = COMMANDS.get(data[pos] << 8 | data[pos + 1])
    if kind is None:
        raise CodecError(f"unknown command {data[pos]}.{data[pos + 1]}", offset=pos, code=COMMAND_INVALID)
    size = data[pos + 2]
    start = pos + 3 + size
    if size < 1 or start > end:
        raise fault("the session.header of a command is cut off", pos + 2)
    # Of the packing flags' octet the first bit is sync.
    return kind.decode(data, start, end), data[pos + 3] & 1 != 0


def decode_headers(data: bytes, pos: int, end: int) -> tuple[Struct | Struct32, ...]:
    """The structs of a header segment, in their order. Raises CodecError: a type comes at most once."""
    return tuple(headers_by_code(data, pos, end).values())


def headers_by_code(data: bytes, pos: int, end: int) -> dict[int, Struct | Struct32]:
    """As `decode_headers`, by their codes."""
    found: dict[int, Struct | Struct32] = {}
    while pos < end:
        begin = pos + 6
        if begin > end:
            raise fault("a header struct is cut off", pos)
        size, code = _READ_SIZE_AND_CODE(data, pos)
        stop = pos + 4 + size
        if not begin <= stop <= end:
            raise fault("a header struct is cut off", pos)
        if code in found:
            text = f"the struct {code >> 8}.{code & 255} comes twice in a header segment"
            raise CodecError(text, offset=pos, code=FRAMING_ERROR, rule="0-10/wire/header-any-order")
        unpack = UNPACKERS.get(code)
        if unpack is None:
            found[code] = Struct32(code, data[begin:stop])
            pos = stop
            continue
        try:
            struct, pos = unpack(data, begin, stop)
        except (StructError, IndexError, CodecError):
            struct = STRUCTS[code].decode(data, begin, stop)  # says what's wrong
            pos = stop
        if pos != stop:
            struct = STRUCTS[code].decode(data, begin, stop)
            pos = stop
        struct.wire = data[begin:stop]
        found[code] = struct
    return found


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
                    octets = each.pack_fields()
                except UNWRITABLE:
                    octets = each.encode()  # says what's wrong
            parts += (SIZE_AND_CODE(2 + len(octets), each.CODE), octets)
        else:
            parts.append(each.encode_struct32())
    return b"".join(parts)


CONTROLS: Final[dict[int, type[Control]]] = {}
COMMANDS: Final[dict[int, type[Command[object]]]] = {}
"""The records by their codes; the generated module, which needs the bases here, adds all of them when it's imported."""

UNPACKERS: Final[dict[int, Callable[[bytes, int, int], tuple[Struct, int]]]] = {}
"""The straight-line code that reads a struct, by code: bound once, not for every message."""


_READ_SIZE_AND_CODE: Final = _Form(">IH").unpack_from
_CODE_AND_HEADER: Final = _Form(">HH").pack
