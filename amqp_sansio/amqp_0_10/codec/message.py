"""Message: the properties and body of a transferred message of 0-10, as one value (class 4, message.transfer)."""

from __future__ import annotations

from ..._checking import TYPE_CHECKING, TypeVar
from .message_fields import Headers
from .record import encode_headers
from .records import DeliveryProperties, MessageProperties

if TYPE_CHECKING:
    from typing import Any

    from .structs import Struct
    from .values import Struct32

_S = TypeVar("_S", DeliveryProperties, MessageProperties)


class Message:
    """A body, and the structs of its header segment.

    `routing_key`, `content_type` and `application_headers` are short for fields of `delivery_properties` and
    `message_properties`; `others` are further structs of the header segment. The properties may also be the `headers`
    of a message that was received: they are passed on octet by octet. `has_body`: an empty body is sent as a body
    segment without octets, and not left out; a body that isn't empty is one anyway.

    >>> message = Message(b"hello", routing_key="jobs")
    >>> message.headers.delivery_properties
    DeliveryProperties(routing_key='jobs')
    """

    __slots__ = ("body", "has_body", "headers")

    def __init__(
        self,
        body: bytes = b"",
        *,
        delivery_properties: DeliveryProperties | None = None,
        message_properties: MessageProperties | None = None,
        others: tuple[Struct | Struct32, ...] = (),
        routing_key: str | None = None,
        content_type: str | None = None,
        application_headers: object = None,
        headers: Headers | None = None,
        has_body: bool = False,
    ) -> None:
        """Raises CodecError for properties that can't be written, TypeError for both kinds at once, or for text."""
        self.body = body if body.__class__ is bytes else _octets(body)
        self.has_body = has_body or bool(body)
        if headers is not None:
            self.headers = headers
            given = (delivery_properties, message_properties, routing_key, content_type, application_headers)
            if others or any([each is not None for each in given]):
                raise TypeError("give headers, or properties, not both")
            return
        if routing_key is not None:
            delivery_properties = _changed(delivery_properties or DeliveryProperties(), routing_key=routing_key)
        if content_type is not None:
            message_properties = _changed(message_properties or MessageProperties(), content_type=content_type)
        if application_headers is not None:
            message_properties = _changed(
                message_properties or MessageProperties(), application_headers=application_headers
            )
        if delivery_properties is not None:
            found: tuple[Struct | Struct32, ...] = (delivery_properties,)
            if message_properties is not None:
                found = (delivery_properties, message_properties)
        else:
            found = () if message_properties is None else (message_properties,)
        self.headers = Headers(encode_headers(found + others if others else found))

    @property
    def delivery_properties(self) -> DeliveryProperties:
        """Of the delivery: routing key, exchange, priority, time to live; empty when there are none."""
        return self.headers.delivery_properties or DeliveryProperties()

    @property
    def message_properties(self) -> MessageProperties:
        """Of the message: its id, content type, application headers; empty when there are none."""
        return self.headers.message_properties or MessageProperties()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Message):
            return NotImplemented
        mine = (self.headers, self.body, self.has_body)
        return mine == (other.headers, other.body, other.has_body)

    def __hash__(self) -> int:
        return hash(self.body)

    def __repr__(self) -> str:
        return f"<Message of {len(self.body)} octets>"

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuild, (self.body, self.headers, self.has_body)


def _octets(body: Any) -> bytes:
    if issubclass(type(body), (bytes, bytearray, memoryview)):
        return bytes(body)
    text = "pass text.encode()" if isinstance(body, str) else "encode it"
    raise TypeError(f"a body is octets, not {type(body).__name__}: {text}")


def _changed(struct: _S, **values: Any) -> _S:
    return type(struct)(**{name: values.get(name, getattr(struct, name)) for name in struct.__match_args__})


def _rebuild(body: bytes, headers: Headers, has_body: bool) -> Message:
    return Message(body, headers=headers, has_body=has_body)


__all__ = ["Headers", "Message"]
