"""ClassContent: a message of the file or stream class of 0-8.

All other parts see it as a basic message, with the properties that both classes have: routing, limits, dead letters and
the conversions to other versions read those.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from ...._classic.codec.methods import BasicProperties
from ...._classic.codec.table import Typed
from ....errors import CodecError
from ...contents.classic import ClassicContent

if TYPE_CHECKING:
    from ...._classic.codec.dialect import Dialect
    from ...._classic.codec.properties import Properties
    from ...._classic.codec.table_rules import TableRules
    from ....versions import Version
    from ...model.content import Death
    from ...model.entry import Entry

_SHARED: Final = (
    "content_type",
    "content_encoding",
    "headers",
    "priority",
    "reply_to",
    "message_id",
    "timestamp",
    "cluster_id",
)
"""Properties that the file class shares with the basic class; the stream class has most of them too."""


_COUNT: Final = "x-delivery-count"


def counted(content: ClassicContent, entry: Entry) -> ClassicContent:
    """Return a message with the number of its failed deliveries, as RabbitMQ's quorum queues deliver it."""
    return content.with_headers({_COUNT: Typed("l", entry.delivery_count)})


class ClassContent(ClassicContent):
    """`class_id` is its class, `own_properties` has its properties in their original octets."""

    __slots__ = ("class_id", "own_properties")

    def __init__(
        self,
        version: Version,
        raw_properties: bytes,
        tables: TableRules,
        body: bytes,
        class_id: int,
        own_properties: bytes,
    ) -> None:
        super().__init__(version, raw_properties, tables, body)
        self.class_id = class_id
        self.own_properties = own_properties

    @property
    def octets(self) -> int:
        """Octets of both kinds of properties and of the body."""
        return super().octets + len(self.own_properties)

    def own(self, dialect: Dialect) -> Properties:
        """Return its properties, decoded for its own class."""
        return dialect.properties[self.class_id].from_wire(self.own_properties, self.tables)

    def with_deaths(self, deaths: tuple[Death, ...]) -> ClassContent:
        """Return the same message with these deaths in its headers; it keeps its class."""
        basic = super().with_deaths(deaths)
        # Both classes have the headers in the same place, as the third property.
        from ...._classic.codec.dialect import get_dialect

        kind: Any = get_dialect("0-8").properties[self.class_id]
        given: dict[str, Any] = {}
        try:
            own = kind.from_wire(self.own_properties, self.tables)
            given = {name: getattr(own, name) for name in kind.__match_args__}
        except CodecError:
            pass
        given["headers"] = basic.properties.headers
        raw = kind(**given).encode(self.tables)
        return ClassContent(self.version, basic.raw_properties, self.tables, self.body, self.class_id, raw)

    def __reduce__(self) -> tuple[Any, ...]:
        return ClassContent, (
            self.version,
            self.raw_properties,
            self.tables,
            self.body,
            self.class_id,
            self.own_properties,
        )


def class_content(version: Version, properties: Properties, tables: TableRules, body: bytes) -> ClassContent:
    """Return the 0-8 message of a class with these properties."""
    own: bytes = properties.encode(tables)
    given: dict[str, Any] = {}
    try:
        names = properties.__match_args__
        given = {name: getattr(properties, name) for name in _SHARED if name in names}
    except CodecError:
        pass
    raw = BasicProperties(**given).encode(tables)
    return ClassContent(version, raw, tables, body, properties.CLASS_ID, own)
