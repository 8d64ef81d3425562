"""Requests and replies over a dynamic node (1.0 part 3 sections 3.2.4 and 3.5.4)."""

from __future__ import annotations

import asyncio
import copy
from typing import TYPE_CHECKING, Any, Final

from amqp_sansio.amqp_1_0 import Accepted, Message, Properties
from amqp_sansio.errors import AmqpError, CodecError, LinkEnded, NotAccepted

from .settings import random_name

if TYPE_CHECKING:
    from .receiver import ReceivedDelivery, Receiver
    from .sender import Sender
    from .session import Session


class Requester:
    """Sends requests and returns the reply to each, returned by `session.open_requester()`. `close` it, or leave its
    context.

    A reply has the request's message-id as its correlation-id. Any number of tasks may call at once.
    """

    def __init__(self, sender: Sender, receiver: Receiver) -> None:
        self._sender: Final = sender
        self._receiver: Final = receiver
        self._waiting: dict[object, asyncio.Future[Message]] = {}
        self._error: AmqpError | None = None
        self._prefix = random_name()
        self._count = 0
        self._reader = asyncio.get_running_loop().create_task(self._read())

    @property
    def address(self) -> str:
        """The address for replies, a node created by the peer."""
        return self._receiver.address

    @property
    def is_open(self) -> bool:
        """Whether it is usable."""
        return self._sender.is_open and self._receiver.is_open

    async def call(self, message: Message | Any) -> Message:
        """Send a request and return its reply. Sets its reply-to, and a missing message-id. Anything but a Message
        becomes the body of one.

        Raises NotAccepted if the request isn't accepted, LinkEnded if a link ends. Limit it with `asyncio.timeout`: a
        reply that comes too late is dropped. Raises ValueError for a message-id already in use.

        >>> async def example(requester: Requester) -> object:
        ...     async with asyncio.timeout(5):
        ...         return (await requester.call("ping")).body
        """
        if self._error is not None:
            raise copy.copy(self._error)
        request, number = self._request(
            message if isinstance(message, Message) else Message(message)
        )
        if number in self._waiting:
            raise ValueError(f"a request with the message-id {number!r} is under way")
        future: asyncio.Future[Message] = self._receiver.driver.loop.create_future()
        self._waiting[number] = future
        try:
            outcome = await self._sender.send(request)
            if outcome is not None and not isinstance(outcome, Accepted):
                raise NotAccepted(f"the request was not accepted: {outcome!r}", outcome)
            return await future
        finally:
            del self._waiting[number]
            if future.done() and not future.cancelled():
                future.exception()  # Prevents asyncio's warning about an exception never retrieved.

    async def close(self) -> None:
        """Close both links; callers waiting for a reply get LinkEnded."""
        try:
            await self._sender.close()
            await self._receiver.close()
        finally:
            await self._stop()

    async def __aenter__(self) -> Requester:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    # Internals.

    def _request(self, message: Message) -> tuple[Message, object]:
        """Return the message with its reply-to and message-id, and the latter."""
        properties = message.properties or Properties()
        number: object = properties.message_id
        if number is None:
            self._count += 1
            number = f"{self._prefix}-{self._count}"
        asked = properties.replace(message_id=number, reply_to=self.address)
        return message.replace(properties=asked), number

    async def _read(self) -> None:
        """Dispatch the replies until the link ends."""
        error: AmqpError = LinkEnded("the requester was closed")
        try:
            async for delivery in self._receiver:
                self._hand_out(delivery)
                if not delivery.settled:
                    await delivery.accept()
        except AmqpError as reason:
            error = reason
        finally:
            self._error = error
            for future in self._waiting.values():
                if not future.done():
                    future.set_exception(copy.copy(error))

    def _hand_out(self, delivery: ReceivedDelivery) -> None:
        try:
            properties = delivery.message.properties
        except CodecError:
            return  # It can't be assigned to a request.
        future = self._waiting.get(properties.correlation_id) if properties is not None else None
        if future is not None and not future.done():
            future.set_result(delivery.message)

    async def _stop(self) -> None:
        self._reader.cancel()
        try:
            await self._reader
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                raise


async def open_requester(session: Session, address: str | None, credit: int) -> Requester:
    """Open both links; if one fails, close the other."""
    receiver = await session.open_receiver(None, dynamic=True, credit=credit)
    try:
        sender = await session.open_sender(address)
    except BaseException:
        await receiver.close()
        raise
    return Requester(sender, receiver)


__all__ = ["Requester", "open_requester"]
