"""The three kinds of bodies that a message can have (1.0 part 3 sections 3.2.6 to 3.2.8)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Literal

from .encode import encode, encode_binary
from .faults import INVALID, fault

BodyKind = Literal["data", "sequence", "value", "none"]


class Data:
    """A body of one or more data sections, octets each (1.0 part 3 section 3.2.6).

    >>> Data(b"ab", b"c").encode()
    b'\\x00Su\\xa0\\x02ab\\x00Su\\xa0\\x01c'
    """

    __slots__ = ("parts",)
    __match_args__ = ("parts",)

    KIND: ClassVar[BodyKind] = "data"

    def __init__(self, *parts: bytes | bytearray | memoryview) -> None:
        self.parts: tuple[bytes, ...] = tuple([bytes(part) for part in parts])

    @property
    def content(self) -> bytes:
        """The octets of all sections joined."""
        return self.parts[0] if len(self.parts) == 1 else b"".join(self.parts)

    def encode(self) -> bytes:
        """The octets of the sections."""
        return b"".join([b"\0\x53\x75" + encode_binary(part) for part in self.parts])

    def __eq__(self, other: object) -> bool:
        return self.parts == other.parts if isinstance(other, Data) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.parts)

    def __repr__(self) -> str:
        return f"Data({', '.join(map(repr, self.parts))})"

    def __reduce__(self) -> tuple[Any, ...]:
        return Data, self.parts


class AmqpSequence:
    """A body of one or more amqp-sequence sections, lists each (1.0 part 3 section 3.2.7).

    >>> AmqpSequence([1, 2], ["a"]).content
    [1, 2, 'a']
    """

    __slots__ = ("parts",)
    __match_args__ = ("parts",)

    KIND: ClassVar[BodyKind] = "sequence"

    def __init__(self, *parts: Sequence[Any]) -> None:
        self.parts: tuple[list[Any], ...] = tuple([list(part) for part in parts])

    @property
    def content(self) -> list[Any]:
        """The values of all sections in one list."""
        return [value for part in self.parts for value in part]

    def encode(self) -> bytes:
        """The octets of the sections."""
        return b"".join([b"\0\x53\x76" + encode(part) for part in self.parts])

    def __eq__(self, other: object) -> bool:
        return self.parts == other.parts if isinstance(other, AmqpSequence) else NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"AmqpSequence({', '.join(map(repr, self.parts))})"

    def __reduce__(self) -> tuple[Any, ...]:
        return AmqpSequence, self.parts


class AmqpValue:
    """A body of one amqp-value section, a value of any type (1.0 part 3 section 3.2.8).

    >>> AmqpValue("hi").encode()
    b'\\x00Sw\\xa1\\x02hi'
    """

    __slots__ = ("value",)
    __match_args__ = ("value",)

    KIND: ClassVar[BodyKind] = "value"

    def __init__(self, value: Any) -> None:
        self.value: Any = value

    @property
    def content(self) -> Any:
        """The value."""
        return self.value

    def encode(self) -> bytes:
        """The octets of the section."""
        return b"\0\x53\x77" + encode(self.value)

    def __eq__(self, other: object) -> bool:
        return bool(self.value == other.value) if isinstance(other, AmqpValue) else NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"AmqpValue({self.value!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        return AmqpValue, (self.value,)


Body = Data | AmqpSequence | AmqpValue


def check_encoding(name: str, body: Body | None) -> None:
    """Raise CodecError for a content-encoding that a message with this body can't have."""
    if not isinstance(body, Data):
        rule = "properties.content-encoding/non-data"
        raise fault("content-encoding is for bodies of data sections", None, rule, INVALID)
    if name == "identity":
        rule = "properties.content-encoding/identity"
        raise fault("the content-encoding identity is never named", None, rule, INVALID)
