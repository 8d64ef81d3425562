"""ReceivedMessage: a received message and its settlement (0-10 class 4, transfer states)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from amqp_sansio.amqp_0_10 import DeliveryProperties, Headers, Message, MessageProperties, MessageReceived

if TYPE_CHECKING:
    from .session import ZeroTenSession


class ReceivedMessage:
    """A message taken from a subscription. Accept, reject or release it once, in any thread, unless the subscription's
    accept-mode is none.

    These don't wait for the server: `session.sync()` does. They raise LocalProtocolError for a settled message,
    SessionEnded if the session is gone. If that was resumed, `session.accept(delivery)` of the new one takes deliveries
    of the old one.
    """

    __slots__ = ("session", "source")

    def __init__(self, session: ZeroTenSession, source: MessageReceived) -> None:
        self.session = session
        self.source = source

    @property
    def body(self) -> bytes:
        """The message's body."""
        return self.source.body

    @property
    def message(self) -> Message:
        """The message as a value that can be published again, with the octets of its header unchanged."""
        return self.source.message

    @property
    def headers(self) -> Headers:
        """The structs of its header segment, decoded on access, which raises CodecError for damaged ones."""
        return self.source.headers

    @property
    def delivery_properties(self) -> DeliveryProperties:
        """Routing key, exchange, priority, redelivered; empty if there are none."""
        return self.source.headers.delivery_properties or DeliveryProperties()

    @property
    def message_properties(self) -> MessageProperties:
        """Message id, content type, application headers; empty if there are none."""
        return self.source.headers.message_properties or MessageProperties()

    @property
    def command_id(self) -> int:
        """The number of its transfer in the session; `session.unsettled` has the unsettled ones."""
        return self.source.command_id

    @property
    def destination(self) -> str:
        """The name of its subscription."""
        return self.source.destination

    @property
    def routing_key(self) -> str:
        """Its routing key."""
        return self.delivery_properties.routing_key or ""

    @property
    def redelivered(self) -> bool:
        """Whether it may have been delivered before."""
        return self.delivery_properties.redelivered

    @property
    def accepts(self) -> bool:
        """Whether it has to be accepted, rejected or released (accept-mode explicit)."""
        return self.source.accepts

    @property
    def acquired(self) -> bool:
        """Whether it came acquired; if not, `acquire` it before accepting it."""
        return self.source.acquired

    def accept(self) -> None:
        """Accept it (message.accept). In a transaction, that takes effect at the commit.

        >>> def example(subscription: Subscription) -> None:
        ...     next(subscription).accept()
        """
        self.session.accept(self)

    def reject(self, code: int = 0, text: str = "") -> None:
        """Reject it for good: its queue's alternate exchange gets it, if there is one (message.reject).

        >>> def example(subscription: Subscription) -> None:
        ...     next(subscription).reject(text="not the JSON that was agreed on")
        """
        self.session.reject(self, code=code, text=text)

    def release(self, *, set_redelivered: bool = False) -> None:
        """Return it to its queue, to be delivered again (message.release).

        >>> def example(subscription: Subscription) -> None:
        ...     next(subscription).release(set_redelivered=True)
        """
        self.session.release(self, set_redelivered=set_redelivered)

    def acquire(self, timeout: float | None = None) -> bool:
        """Acquire a message with acquire-mode not-acquired; return whether it was still available (message.acquire).

        >>> def example(session: ZeroTenSession) -> bool:
        ...     with session.subscribe("jobs", acquire_mode=NOT_ACQUIRED) as subscription:
        ...         return next(subscription).acquire()
        """
        return self.source.command_id in self.session.acquire(self, timeout=timeout)

    def __repr__(self) -> str:
        return (
            f"<ReceivedMessage {self.source.command_id} for {self.source.destination!r}, "
            f"{len(self.source.body)} octets>"
        )


__all__ = ["ReceivedMessage"]
