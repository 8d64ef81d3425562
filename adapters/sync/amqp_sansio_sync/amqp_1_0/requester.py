"""Requester: requests to a node, with replies on a dynamic node (1.0 part 3 section 3.2.4)."""

from __future__ import annotations

import logging
import secrets
from contextlib import suppress
from itertools import count
from time import monotonic
from typing import TYPE_CHECKING, Any, Final

from amqp_sansio import AmqpError, CodecError, EndpointClosed
from amqp_sansio.amqp_1_0 import Accepted, Delivery, Message, Properties, Target
from amqp_sansio.errors import NotAccepted

from .receiver import ReceiverAttachment

if TYPE_CHECKING:
    from types import TracebackType

    from amqp_sansio.amqp_1_0 import Receiver as CoreReceiver

    from .session import Session

_logger: Final = logging.getLogger("amqp_sansio_sync")


class ReplyAttachment(ReceiverAttachment):
    """The link of the replies: dispatches each to its call by correlation-id; guarded by the lock."""

    __slots__ = ("calls",)

    def __init__(self, session: Session, core: CoreReceiver, credit: int) -> None:
        super().__init__(session, core, credit)
        self.calls: dict[object, Message | None] = {}

    def deliver(self, event: Delivery) -> None:
        # If nothing can be sent any more, the end of the link follows.
        with suppress(AmqpError):
            if not event.settled:
                self.core.accept(event)
            self.top_up()
        try:
            properties = event.message.properties
            key = None if properties is None else properties.correlation_id
        except CodecError as error:
            _logger.warning("a reply can't be read: %s", error)
        else:
            if self.calls.get(key, event) is None:
                self.calls[key] = event.message
            else:
                _logger.warning("a reply matches no waiting call, its correlation-id is %r", key)


class Requester:
    """Sends requests to one node and returns their replies, from any number of threads; see `session.open_requester`.

    The peer creates a node for the replies that lives as long as the requester.
    """

    __slots__ = ("_names", "_numbers", "_receiver", "_replies", "_sender")

    def __init__(self, session: Session, address: str | Target, credit: int, timeout: float | None) -> None:
        deadline = None if timeout is None else monotonic() + timeout
        self._receiver, self._replies = session.open_replies(credit, timeout)
        left = None if deadline is None else max(0.0, deadline - monotonic())
        try:
            self._sender = session.open_sender(address, timeout=left)
        except BaseException:
            self._receiver.abandon()
            raise
        self._names = secrets.token_hex(4)
        self._numbers = count(1)

    @property
    def address(self) -> str:
        """The address of the replies' node."""
        return self._receiver.address

    @property
    def is_open(self) -> bool:
        """Whether it is usable, as far as is known."""
        return self._sender.is_open and self._receiver.is_open

    def call(self, message: Message | Any, *, timeout: float | None = None) -> Message:
        """Send a request and return its reply: the message whose correlation-id is the request's message-id.

        Sets `reply_to`, and a missing `message_id`. Anything but a Message becomes the body of one. Raises NotAccepted
        if the node doesn't accept the request, TimeoutError if there is no reply after `timeout` seconds; a late one is
        dropped.

        >>> def example(requester: Requester) -> object:
        ...     return requester.call("ping", timeout=5).body
        """
        deadline = None if timeout is None else monotonic() + timeout
        made = message if isinstance(message, Message) else Message(message)
        properties = made.properties or Properties()
        key = properties.message_id
        if key is None:
            key = f"{self._names}-{next(self._numbers)}"
        asked = made.replace(properties=properties.replace(message_id=key, reply_to=self.address))
        replies = self._replies
        wire = replies.wire
        with wire.lock:
            if key in replies.calls:
                raise ValueError(f"a call with the message-id {key!r} is already waiting")
            replies.calls[key] = None
        try:
            outcome = self._sender.send(asked, timeout=timeout)
            if not isinstance(outcome, Accepted):
                raise NotAccepted(f"the request wasn't accepted: {outcome!r}", outcome)
            left = None if deadline is None else max(0.0, deadline - monotonic())
            try:
                wire.wait(lambda: replies.calls[key] is not None or replies.error is not None, left, "the reply")
            except TimeoutError:
                raise TimeoutError(f"the reply: not within {timeout:g} seconds") from None
        finally:
            with wire.lock:
                reply = replies.calls.pop(key)
        if reply is None:
            raise self._receiver.gone()
        return reply

    def close(self, *, timeout: float | None = None) -> None:
        """Close both links, which ends the node of the replies."""
        self._sender.close(timeout=timeout)
        self._receiver.close(timeout=timeout)

    def __enter__(self) -> Requester:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        seconds = self._replies.wire.core.config.close_timeout
        try:
            self.close(timeout=seconds)
        except EndpointClosed:
            return  # The links are gone anyway.
        except TimeoutError:
            if error is None:
                raise

    def __repr__(self) -> str:
        return f"<Requester {self._sender.address!r}, replies to {self.address!r}>"


__all__ = ["ReplyAttachment", "Requester"]
