"""The events of 0-8 and 0-9-1 beside the shared ones, and the message that a reply may carry."""

from __future__ import annotations

from ..._checking import TYPE_CHECKING, Generic, TypeVar
from ..._ground.record import record
from ...events import DeliveryReceived, Event
from ..codec.method import Method
from ..codec.methods import BasicProperties

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, ClassVar

    from ...events import Pending
    from ..codec.properties import Properties
    from ..codec.table import TableRules

_M_co = TypeVar("_M_co", bound=Method, covariant=True)


def _unread(event: LazyProperties) -> BasicProperties:
    return BasicProperties.from_wire(event.raw_properties, event.tables)


class LazyProperties:
    """Basic content properties, kept as octets until they are read (0-9-1 section 4.2.6.1)."""

    __slots__ = ("properties",)
    __record_later__: ClassVar[dict[str, Callable[[Any], object]]] = {"properties": _unread}
    __record_hidden__: ClassVar[frozenset[str]] = frozenset({"raw_properties", "tables"})

    raw_properties: bytes
    tables: TableRules

    # A plain slot, set from the start: a property's call costs more than the object.
    properties: BasicProperties
    """The message's properties; a field that the sender left out is None.

    They are decoded when their first field is read, which raises CodecError for damaged octets.
    """


@record
class Delivery(LazyProperties, DeliveryReceived):
    """A message for a consumer (basic.deliver). Settle it with `channel.accept(delivery_tag)` or its siblings."""

    channel: int
    consumer_tag: str
    delivery_tag: int
    redelivered: bool
    exchange: str
    routing_key: str
    body: bytes
    raw_properties: bytes
    tables: TableRules


@record
class Published(LazyProperties, Event):
    """Server: a client published a message (basic.publish); `number` counts since confirm.select, 0 without it."""

    channel: int
    exchange: str
    routing_key: str
    mandatory: bool
    immediate: bool
    body: bytes
    raw_properties: bytes
    tables: TableRules
    number: int = 0


@record
class MessageReturned(LazyProperties, Event):
    """The server could not route or deliver a publish (basic.return); `pending` is that publish's when confirms are on.

    The pending itself is settled by the confirm that follows, with a `Returned` outcome.
    """

    channel: int
    reply_code: int
    reply_text: str
    exchange: str
    routing_key: str
    body: bytes
    raw_properties: bytes
    tables: TableRules
    pending: Pending[object] | None = None


@record
class Returned:
    """The outcome of a publish that the server confirmed but gave back: nobody got it."""

    reply_code: int
    reply_text: str


@record
class Message(Generic[_M_co]):
    """A method with its content: the result of a call like `BasicGet`."""

    method: _M_co
    properties: Properties
    body: bytes


@record
class ContentReceived(Event):
    """Any other method with content: of the file, stream, tunnel and test classes."""

    channel: int
    method: Method
    properties: Properties
    body: bytes


@record
class ContentBegun(Event):
    """Streaming mode: a message of `size` octets begins.

    `ContentChunk`s follow on the channel, or a `ContentAborted`. `number` is that of a publish when the client has
    selected confirms, as in `Published`. The pending of a reply ends after its last chunk, with a bodiless `Message`.
    """

    channel: int
    method: Method
    properties: Properties
    size: int
    number: int = 0


@record
class ContentChunk(Event):
    """Streaming mode: a piece of the body; `last` marks the end of the message (an empty body is one empty piece)."""

    channel: int
    data: bytes
    last: bool


@record
class ContentAborted(Event):
    """Streaming mode: the channel or connection ended before the message did."""

    channel: int


@record
class Request(Event):
    """The peer asks for something: answer with `channel.reply(...)` in the order of arrival, or close with a code."""

    channel: int
    method: Method


@record
class MethodReceived(Event):
    """A method that wants no answer, for instance an acknowledgement (on a server) or basic.qos with no-wait."""

    channel: int
    method: Method


@record
class ConsumerCancelled(Event):
    """The server ended a consumer by itself, for instance because its queue was deleted (RabbitMQ's cancel notify)."""

    channel: int
    consumer_tag: str


@record
class FlowChanged(Event):
    """The peer stopped (`active` false) or restarted content on a channel; the core has answered with flow-ok."""

    channel: int
    active: bool


@record
class Blocked(Event):
    """The server stops taking publishes (RabbitMQ's connection.blocked); they stay unread until `Unblocked`."""

    reason: str


@record
class Unblocked(Event):
    """The server takes publishes again."""


@record
class Redirected(Event):
    """0-8: the server sends the client elsewhere; the connection ends."""

    host: str
    known_hosts: str


@record
class HeartbeatReceived(Event):
    """A heartbeat frame; only with `Config(report_heartbeats=True)`."""
