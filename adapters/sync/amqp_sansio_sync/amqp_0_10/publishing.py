"""Parts of publishing: a message with its routing key, and the pending answer of a publish or another command."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

from amqp_sansio import Accepted, Pending
from amqp_sansio.amqp_0_10 import DeliveryProperties, Headers, Message, Rejected, Released, encode_headers

if TYPE_CHECKING:
    from typing_extensions import Buffer

    from .session import ZeroTenSession

ZeroTenOutcome: TypeAlias = Accepted | Rejected | Released
"""The outcome of a message: `Rejected.code` 1 means that no queue is bound for it (message.reject-code unroutable)."""


class SentMessage:
    """A message in transit, or another command of a resumed session that waits for its answer."""

    __slots__ = ("_handle", "_serial", "_session")

    def __init__(self, session: ZeroTenSession, handle: Pending[Any], serial: int) -> None:
        self._session = session
        self._handle = handle
        self._serial = serial

    @property
    def command_id(self) -> int:
        """Its number in the session."""
        return number_of(self._handle)

    @property
    def done(self) -> bool:
        """Whether `result` returns or raises at once."""
        return self._handle.done

    def result(self, timeout: float | None = None) -> Any:
        """Wait for the answer: of a publish its outcome, None with accept-mode none; of a call its result.

        Raises TimeoutError after `timeout` seconds, SessionEnded if the session has ended before: the server may or may
        not have executed it. A resumed session has it in `pending`.

        >>> def example(session: ZeroTenSession) -> object:
        ...     sent = session.publish(b"hello", routing_key="jobs", wait=False)
        ...     return sent.result(timeout=5)
        """
        return self._session.answer_to(self._handle, self._serial, timeout)

    def __repr__(self) -> str:
        return f"<SentMessage {self.command_id}, {'done' if self.done else 'not done'}>"


def number_of(handle: Pending[Any]) -> int:
    """Return the id of the command of a session's handle."""
    number: Any = handle.key[2]
    return int(number)


def addressed(message: Message | Buffer, routing_key: str | None) -> Message:
    """Return the message with this routing key; the rest of its header stays the same, octet by octet."""
    if not isinstance(message, Message):
        body = message if isinstance(message, bytes) else bytes(memoryview(message))
        return Message(body, routing_key=routing_key)
    if routing_key is None:
        return message
    headers = message.headers
    known = headers.delivery_properties
    if known is None:
        found = (DeliveryProperties(routing_key=routing_key), *headers.structs)
    else:
        values: dict[str, Any] = {name: getattr(known, name) for name in known.__match_args__}
        values["routing_key"] = routing_key
        changed = DeliveryProperties(**values)
        found = tuple([changed if each is known else each for each in headers.structs])
    return Message(message.body, headers=Headers(encode_headers(found)))


__all__ = ["SentMessage", "ZeroTenOutcome", "addressed", "number_of"]
