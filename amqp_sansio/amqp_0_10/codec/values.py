"""Values of 0-10: the 45 types of the specification, as Python values and as octets (part 1 section 2.2).

| wire | Python |
|---|---|
| void | None |
| bit, boolean | bool |
| int8 to uint64, sequence-no | int |
| float, double | float |
| char, char-utf32, str8, str16 and their Latin-1 and UTF-16 kinds | str |
| bin8 to bin1024, bin40, bin72, vbin8, vbin16, vbin32 | bytes |
| dec32, dec64 | Decimal |
| datetime | Datetime: seconds since 1970, UTC |
| uuid | uuid.UUID |
| map | Map |
| list, array | list |
| struct32 | a record, or `Struct32` with the code and octets of one that isn't known |

A plain Python value is written as: bool boolean, int int64 (uint64 above it), float double, str str16, bytes vbin32,
None void, UUID uuid, Datetime datetime, Decimal dec64, a mapping map, a list or tuple list, a record struct32.
`Typed` names another type.
"""

from __future__ import annotations

from ..._checking import TYPE_CHECKING
from ..._ground.record import record
from ...errors import CodecError

if TYPE_CHECKING:
    from datetime import datetime
    from typing import Any, Final


class Datetime(int):
    """Seconds since 1970, UTC, 64 bits.

    >>> Datetime(0).datetime.isoformat()
    '1970-01-01T00:00:00+00:00'
    """

    __slots__ = ()

    @property
    def datetime(self) -> datetime:
        """As an aware datetime. Raises OverflowError for years that Python doesn't have."""
        from datetime import UTC, datetime, timedelta

        return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=int(self))

    def __repr__(self) -> str:
        return f"Datetime({int(self)})"


@record
class Typed:
    """A value that is to be written as the type `name` ("uint8", "str8-latin", "bin40"...).

    >>> from amqp_sansio.amqp_0_10.codec.types import encode_value
    >>> encode_value(Typed("uint8", 7)).hex()
    '0207'
    """

    name: str
    value: Any

    def __repr__(self) -> str:
        return f"Typed({self.name!r}, {self.value!r})"


@record
class Struct32:
    """A coded struct of a type that isn't known: its code, and all octets behind it, to be passed on as they are."""

    code: int
    octets: bytes

    def __repr__(self) -> str:
        return f"Struct32(0x{self.code:04x}, {self.octets!r})"


CODES: Final[dict[str, int]] = {
    "bin8": 0x00,
    "int8": 0x01,
    "uint8": 0x02,
    "char": 0x04,
    "boolean": 0x08,
    "bin16": 0x10,
    "int16": 0x11,
    "uint16": 0x12,
    "bin32": 0x20,
    "int32": 0x21,
    "uint32": 0x22,
    "float": 0x23,
    "char-utf32": 0x27,
    "bin64": 0x30,
    "int64": 0x31,
    "uint64": 0x32,
    "double": 0x33,
    "datetime": 0x38,
    "bin128": 0x40,
    "uuid": 0x48,
    "bin256": 0x50,
    "bin512": 0x60,
    "bin1024": 0x70,
    "vbin8": 0x80,
    "str8-latin": 0x84,
    "str8": 0x85,
    "str8-utf16": 0x86,
    "vbin16": 0x90,
    "str16-latin": 0x94,
    "str16": 0x95,
    "str16-utf16": 0x96,
    "vbin32": 0xA0,
    "map": 0xA8,
    "list": 0xA9,
    "array": 0xAA,
    "struct32": 0xAB,
    "bin40": 0xC0,
    "dec32": 0xC8,
    "bin72": 0xD0,
    "dec64": 0xD8,
    "void": 0xF0,
    "bit": 0xF1,
}
"""The code of every type that has one."""

NAMES: Final[dict[int, str]] = {code: name for name, code in CODES.items()}


def fault(description: str, offset: int) -> CodecError:
    """Octets that can't be read (framing-error, 501)."""
    return CodecError(description, offset=offset, code=501)
