"""Dialect: what one implementation of 0-8 or 0-9-1 puts on the wire, as data."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from struct import Struct

from ..._checking import TYPE_CHECKING
from ...errors import CodecError
from ...versions import AMQP_0_8, Version
from .violation import COMMAND_INVALID

if TYPE_CHECKING:
    from typing import Any, Final

    from ...endpoint import Side
    from .method import Method
    from .properties import Properties
    from .table import TableRules

_HEADERS_0_8: Final = (b"AMQP\x01\x01\x08\x00", b"AMQP\x01\x01\x09\x01")
_HEADERS_0_9_1: Final = (b"AMQP\x00\x00\x09\x01", b"AMQP\x01\x01\x00\x09")
_STARTS_0_8: Final = ((8, 0),)
_STARTS_0_9_1: Final = ((0, 9), (0, 91))

_METHOD_ID: Final = Struct(">I").unpack_from


class Dialect:
    """One dialect of 0-8 or 0-9-1.

    | attribute | meaning |
    |---|---|
    | `name` | its name, such as "0-9-1-rabbit" |
    | `version`, `header` | the protocol version, and the 8 octets a client opens with |
    | `version_major`, `version_minor` | as connection.start says them |
    | `headers` | the protocol headers a server of this dialect takes |
    | `start_versions` | the version numbers in connection.start that a client takes |
    | `is_rabbit` | RabbitMQ's |
    | `lenient_frames` | frames slightly above frame-max are taken, as RabbitMQ's peers need |
    | `counts_channels` | channel-max bounds how many channels there are, not their numbers, as RabbitMQ has it |
    | `exact_tags` | basic.ack and nack of several up to a tag need one that is open itself, as RabbitMQ has it |
    | `strict` | the specification's own: also binds what its implementations disregard |
    | `methods` | the record of each method, by its `ID` |
    | `named` | the record of each method, by its name |
    | `senders` | who may send a method, by its `ID` |
    | `replies` | what may answer a method, by its `ID` |
    | `properties` | the properties of each class that carries content, by its number |
    | `tables` | the rules of its field tables |
    | `codes` | reply codes: name, and whether it ends the connection (hard) or the channel (soft) |

    Pickles by name; the same name is the same object.
    """

    __slots__ = (
        "_find",
        "codes",
        "counts_channels",
        "exact_tags",
        "header",
        "headers",
        "is_rabbit",
        "lenient_frames",
        "methods",
        "name",
        "named",
        "properties",
        "replies",
        "senders",
        "start_versions",
        "strict",
        "tables",
        "version",
        "version_major",
        "version_minor",
    )

    def __init__(
        self,
        name: str,
        version: Version,
        methods: tuple[type[Method], ...],
        properties: tuple[type[Properties], ...],
        tables: TableRules,
        codes: Mapping[int, tuple[str, bool]],
        senders: Mapping[int, tuple[Side, ...]],
        replies: Mapping[int, tuple[type[Method], ...]],
        find: Callable[[str], Dialect],
    ) -> None:
        self.name: Final = name
        self._find: Final = find
        self.version: Final = version
        self.header: Final = version.header
        self.version_major: Final = 8 if version is AMQP_0_8 else 0
        self.version_minor: Final = 0 if version is AMQP_0_8 else 9
        self.headers: Final = _HEADERS_0_8 if version is AMQP_0_8 else _HEADERS_0_9_1
        self.start_versions: Final = _STARTS_0_8 if version is AMQP_0_8 else _STARTS_0_9_1
        self.lenient_frames: Final = name.endswith("-rabbit")
        self.counts_channels: Final = name.endswith("-rabbit")
        self.exact_tags: Final = name.endswith("-rabbit")
        self.strict: Final = name == version.label
        self.is_rabbit: Final = name.endswith("-rabbit")
        self.methods: Final[Mapping[int, type[Method]]] = {kind.ID: kind for kind in methods}
        self.named: Final[Mapping[str, type[Any]]] = {kind.NAME: kind for kind in methods}
        self.properties: Final[Mapping[int, type[Properties]]] = {kind.CLASS_ID: kind for kind in properties}
        self.senders: Final[Mapping[int, tuple[Side, ...]]] = {
            kind.ID: senders.get(kind.ID, kind.SENT_BY) for kind in methods
        }
        self.replies: Final[Mapping[int, tuple[type[Method], ...]]] = {
            kind.ID: replies.get(kind.ID, kind.REPLIES) for kind in methods
        }
        self.tables: Final = tables
        self.codes: Final = codes

    def is_hard(self, code: int) -> bool:
        """Whether a reply code ends the connection; one that the dialect doesn't have is hard."""
        return self.codes.get(code, ("", True))[1]

    def decode_method(self, payload: bytes) -> Method:
        """The method in the payload of one method frame.

        Raises CodecError: code 503 for a method that the dialect doesn't have, else 502.
        """
        if len(payload) < 4:
            raise CodecError("a method frame of less than four octets", offset=0, code=502)
        (number,) = _METHOD_ID(payload, 0)
        kind = self.methods.get(number)
        if kind is None:
            text = f"the dialect {self.name} has no method {number & 0xFFFF} in class {number >> 16}"
            raise CodecError(text, offset=0, code=COMMAND_INVALID)
        return kind.decode(payload, 4, len(payload), self.tables)

    def __repr__(self) -> str:
        return f"<Dialect {self.name}>"

    def __reduce__(self) -> tuple[object, ...]:
        return self._find, (self.name,)
