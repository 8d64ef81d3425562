"""Message: one message for all versions, with its text and JSON helpers."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any, TypeAlias, TypedDict
from uuid import UUID

if TYPE_CHECKING:
    from typing_extensions import Buffer, Unpack

Id: TypeAlias = str | bytes | int | UUID
"""A message-id or correlation-id."""


class MessageFields(TypedDict, total=False):
    """The fields of a `Message` besides its body."""

    subject: str | None
    reply_to: str | None
    correlation_id: Id | None
    message_id: Id | None
    durable: bool
    ttl: float | None
    priority: int | None
    content_type: str | None
    content_encoding: str | None
    headers: Mapping[str, Any] | None
    user_id: str | None
    app_id: str | None
    group_id: str | None
    creation_time: datetime | None


class Message:
    """A message of any version. `docs/conversions.md` says where each field is in each version; None: it has none.

    | field | meaning |
    |---|---|
    | `body` | its octets; `text` and `json()` decode them, `from_text` and `from_json` encode |
    | `subject` | its kind; the routing key for an address `/exchanges/E` |
    | `reply_to` | the address for replies |
    | `correlation_id` | the request that it answers: text, octets, a number up to 64 bits, or a UUID |
    | `message_id` | the sender's name for it, of the same types |
    | `durable` | whether it survives a restart of the broker |
    | `ttl` | seconds that it may wait in a queue, with three decimals |
    | `priority` | 0 to 255; the versions' default differs |
    | `content_type`, `content_encoding` | the type of the body |
    | `headers` | the application's own: text, octets, numbers, booleans, None, datetime, UUID, lists and dicts |
    | `user_id` | its sender, checked by the broker |
    | `app_id`, `group_id` | the application, and the group, that it belongs to |
    | `creation_time` | when it was made |

    >>> message = Message(b"hello", subject="greeting", headers={"try": 1})
    >>> message.subject, message.text, message.headers
    ('greeting', 'hello', {'try': 1})
    """

    __slots__ = (
        *("app_id", "body", "content_encoding", "content_type", "correlation_id", "creation_time", "durable"),
        *("group_id", "headers", "message_id", "priority", "reply_to", "subject", "ttl", "user_id"),
    )

    def __init__(
        self,
        body: Buffer = b"",
        *,
        subject: str | None = None,
        reply_to: str | None = None,
        correlation_id: Id | None = None,
        message_id: Id | None = None,
        durable: bool = False,
        ttl: float | None = None,
        priority: int | None = None,
        content_type: str | None = None,
        content_encoding: str | None = None,
        headers: Mapping[str, Any] | None = None,
        user_id: str | None = None,
        app_id: str | None = None,
        group_id: str | None = None,
        creation_time: datetime | None = None,
    ) -> None:
        octets: Any = body
        if not isinstance(body, (bytes, bytearray, memoryview)):
            way = "call Message.from_text(text)" if isinstance(body, str) else "call Message.from_json(value)"
            raise TypeError(f"a body is octets, not {octets.__class__.__name__}: encode it, or {way}")
        if priority is not None and not 0 <= priority <= 255:
            raise ValueError(f"priority {priority} isn't from 0 to 255")
        if ttl is not None and ttl < 0:
            raise ValueError(f"ttl {ttl} is below 0 seconds")
        self.body = bytes(octets)
        self.subject = subject
        self.reply_to = reply_to
        self.correlation_id = correlation_id
        self.message_id = message_id
        self.durable = durable
        self.ttl = ttl
        self.priority = priority
        self.content_type = content_type
        self.content_encoding = content_encoding
        self.headers: dict[str, Any] = dict(headers or {})
        self.user_id = user_id
        self.app_id = app_id
        self.group_id = group_id
        self.creation_time = creation_time

    @classmethod
    def from_text(cls, text: str, **fields: Unpack[MessageFields]) -> Message:
        """Return a message with text in UTF-8, and the content type text/plain unless the fields have one."""
        fields.setdefault("content_type", "text/plain")
        return cls(text.encode(), **fields)

    @classmethod
    def from_json(cls, value: Any, **fields: Unpack[MessageFields]) -> Message:
        """Return a message with a value as JSON, and the content type application/json unless the fields have one.

        Raises TypeError for a value that JSON hasn't.
        """
        fields.setdefault("content_type", "application/json")
        return cls(json.dumps(value).encode(), **fields)

    @property
    def text(self) -> str:
        """The body as text, in UTF-8. Raises UnicodeDecodeError."""
        return self.body.decode()

    def json(self) -> Any:
        """Return the body's JSON value. Raises ValueError if it has none."""
        return json.loads(self.body)

    def reply(self, body: Buffer = b"", **fields: Unpack[MessageFields]) -> Message:
        """Return a reply to this request, to be sent to its `reply_to`: a message with its correlation-id, or else its
        message-id, as the correlation-id.

        >>> Message(b"ping", message_id="a").reply(b"pong").correlation_id
        'a'
        """
        fields.setdefault("correlation_id", self.message_id if self.correlation_id is None else self.correlation_id)
        return Message(body, **fields)

    def replace(self, **changes: Any) -> Message:
        """Return a message with other values in some fields.

        >>> Message(b"hello", durable=True).replace(body=b"bye").durable
        True
        """
        return Message(**{**{name: getattr(self, name) for name in self.__slots__}, **changes})

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Message):
            return NotImplemented
        return all([getattr(self, name) == getattr(other, name) for name in self.__slots__])

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        given = [
            f"{name}={value!r}"
            for name in self.__slots__
            if name != "body" and (value := getattr(self, name)) not in (None, False, {})
        ]
        return f"Message({', '.join([repr(self.body), *given])})"


__all__ = ["Id", "Message", "MessageFields"]
