"""An observer's view of 0-10's commands: their ids, and the properties of their messages (part 1 section 5.9)."""

from __future__ import annotations

from ..._checking import TYPE_CHECKING
from ..._ground.record import record
from ..._watching.observation import Observed
from .record import headers_by_code
from .records import COMMANDS, CONTROLS, STRUCTS, DeliveryProperties, MessageProperties
from .structs import Struct
from .types import Map

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, Final
    from uuid import UUID

    from .values import Struct32


@record
class ObservedCommand(Observed):
    """A command of 0-10. `command_id` is its number, None where that isn't known; `sync` its session.header's bit."""

    command_id: int | None = None
    sync: bool = False


class Headers:
    """The header segment of a message, over its octets: decoded on first access, which raises CodecError for damage.

    `delivery_properties` and `message_properties` are the structs of these names, None without one; `others` are all
    further ones, known or not, in their order. The other attributes are the message's in the words of other versions.
    """

    __slots__ = ("_found", "raw")

    __match_args__ = ("delivery_properties", "message_properties", "others")

    def __init__(self, raw: bytes) -> None:
        self.raw = raw
        # The structs by their codes, once they are read.
        self._found: dict[int, Struct | Struct32] | None = None

    @property
    def structs(self) -> tuple[Struct | Struct32, ...]:
        """All structs, in their order."""
        return tuple((self._found or self._read()).values())

    @property
    def delivery_properties(self) -> DeliveryProperties | None:
        """Of the delivery: routing key, exchange, priority, time to live."""
        found = (self._found or self._read()).get(_DELIVERY)
        return found if isinstance(found, DeliveryProperties) else None

    @property
    def message_properties(self) -> MessageProperties | None:
        """Of the message: its id, content type, application headers."""
        found = (self._found or self._read()).get(_MESSAGE)
        return found if isinstance(found, MessageProperties) else None

    @property
    def others(self) -> tuple[Struct | Struct32, ...]:
        """All other structs."""
        known = (DeliveryProperties, MessageProperties)
        return tuple([struct for struct in self.structs if not isinstance(struct, known)])

    @property
    def message_id(self) -> UUID | None:
        """The message's id."""
        found: UUID | None = self._property("message_id")
        return found

    @property
    def correlation_id(self) -> bytes | None:
        """The id of the message that this one belongs to or answers."""
        found: bytes | None = self._property("correlation_id")
        return found

    @property
    def content_type(self) -> str | None:
        """The MIME type of the body."""
        found: str | None = self._property("content_type")
        return found

    @property
    def headers(self) -> Mapping[str, Any] | None:
        """The application headers."""
        found: Mapping[str, Any] | None = self._property("application_headers")
        return found

    def check(self) -> None:
        """Raise CodecError for octets that can't be read, maps included."""
        for struct in self.structs:
            if isinstance(struct, Struct):
                check_maps(struct)

    def _read(self) -> dict[int, Struct | Struct32]:
        self._found = found = headers_by_code(self.raw, 0, len(self.raw))
        return found

    def _property(self, name: str) -> Any:
        properties = self.message_properties
        if properties is not None:
            return getattr(properties, name)
        for struct in self.others:
            # The file and stream classes have one struct with all of it.
            value = getattr(struct, "headers" if name == "application_headers" else name, None)
            if value is not None:
                return value
        return None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Headers) and self.raw == other.raw

    def __hash__(self) -> int:
        return hash(self.raw)

    def __repr__(self) -> str:
        return f"Headers({self.raw!r})"

    def __reduce__(self) -> tuple[object, ...]:
        return Headers, (self.raw,)


_DELIVERY: Final = DeliveryProperties.CODE
_MESSAGE: Final = MessageProperties.CODE

_MAPS: Final = {
    kind.NAME: names
    for kind in (*CONTROLS.values(), *COMMANDS.values(), *STRUCTS.values())
    if (names := tuple([name for name, of in kind.FIELDS if of == "map"]))
}


def check_maps(record: Struct) -> None:
    """Raise CodecError when a map of a record can't be read: maps are decoded on access."""
    for name in _MAPS.get(record.NAME, ()):
        value = getattr(record, name)
        if isinstance(value, Map):
            len(value)
