"""Senders of 1.0 and their deliveries (1.0 part 2 sections 2.6.7 and 2.6.12)."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from typing import TYPE_CHECKING, Any, Literal, cast, overload

from ...amqp_1_0 import Message, NoCredit, Properties
from ...amqp_1_0.codec.performatives import TransactionalState
from ...errors import EndpointClosed, LocalProtocolError
from ..bodies import JSON, TEXT, json_octets
from .link import Link
from .links import SenderState

if TYPE_CHECKING:
    from ...amqp_1_0 import DeliveryState
    from ...amqp_1_0 import Sender as CoreSender
    from ...events import Pending
    from .transaction import Transaction


class SentDelivery:
    """A message in transit: `await` it for its outcome, any number of times.

    Cancelling the wait doesn't take the message back.
    """

    __slots__ = ("_link", "_pending")

    def __init__(self, link: SenderState, pending: Pending[DeliveryState | None]) -> None:
        # The routes of its sender.
        self._link = link
        # Of its `send`; the outcome ends it.
        self._pending = pending

    @property
    def delivery_tag(self) -> bytes:
        """Its name on the link."""
        tag = self._pending.key[2]
        assert isinstance(tag, bytes)
        return tag

    @property
    def done(self) -> bool:
        """Whether it is settled, or never will be."""
        return self._pending.done

    @property
    def state(self) -> DeliveryState | None:
        """The receiver's latest state, such as Received; its outcome once it is settled."""
        pending = self._pending
        if not pending.done:
            return cast("DeliveryState | None", self._link.client.told.get(pending.key))
        return None if pending.error is not None else outcome_of(pending.result)

    async def result(self) -> DeliveryState | None:
        """Wait for the outcome: Accepted, Rejected, Released or Modified. Raises LinkEnded if the link ends before."""
        pending = self._pending
        if pending.error is not None:
            self._link.check_open()
        link = self._link
        return outcome_of(await link.client.outcome(pending, outcome_on(link)))

    def __await__(self) -> Generator[Any, None, DeliveryState | None]:
        return self.result().__await__()

    def __repr__(self) -> str:
        state = "pending" if not self.done else "failed" if self._pending.error else "done"
        return f"<SentDelivery {self.delivery_tag!r}, {state}>"


class Sender(Link[SenderState]):
    """A link on which messages are sent, returned by `session.open_sender()`. `close` it, or leave its context.

    Any number of tasks may send at once. Every wait can be cancelled: the link stays usable. When the link ends,
    waiting callers get LinkEnded, with the peer's reason. The waits for credit and for an outcome raise AnswerTimeout
    after `outcome_timeout` seconds.
    """

    @property
    def core(self) -> CoreSender:
        """The sender of the core, for its properties. Don't call its commands."""
        return self._state.core

    @property
    def pending(self) -> Mapping[bytes, SentDelivery]:
        """Unsettled deliveries, by tag; after `open_sender(state=...)` including those of the earlier attachment."""
        return {tag: SentDelivery(self._state, pending) for tag, pending in self._state.core.pending.items()}

    @overload
    async def send(
        self,
        message: Message | bytes,
        *,
        wait: Literal[True] = True,
        settled: bool | None = None,
        transaction: Transaction | None = None,
        delivery_tag: bytes | None = None,
        message_format: int = 0,
    ) -> DeliveryState | None: ...
    @overload
    async def send(
        self,
        message: Message | bytes,
        *,
        wait: Literal[False],
        settled: bool | None = None,
        transaction: Transaction | None = None,
        delivery_tag: bytes | None = None,
        message_format: int = 0,
    ) -> SentDelivery: ...
    @overload
    async def send(
        self,
        message: Message | bytes,
        *,
        wait: bool,
        settled: bool | None = None,
        transaction: Transaction | None = None,
        delivery_tag: bytes | None = None,
        message_format: int = 0,
    ) -> DeliveryState | SentDelivery | None: ...
    async def send(
        self,
        message: Message | bytes,
        *,
        wait: bool = True,
        settled: bool | None = None,
        transaction: Transaction | None = None,
        delivery_tag: bytes | None = None,
        message_format: int = 0,
    ) -> DeliveryState | SentDelivery | None:
        """Send one message and return its outcome: Accepted, Rejected, Released or Modified; None if it was sent
        settled. `bytes` are the body of a message with one data section.

        It waits for credit, while the peer reads too slowly, and then for the settlement; with `wait=False` not for the
        latter: the result is a `SentDelivery` to await later. `settled` None: the link's default. A cancelled send may
        have been sent. Raises LinkEnded if the link, session or connection ends, LocalProtocolError for a message that
        can't be sent.

        >>> async def example(sender: Sender) -> None:
        ...     outcome = await sender.send(b"hello")
        ...     later = [await sender.send(Message(n), wait=False) for n in range(100)]
        ...     outcomes = [await sent for sent in later]
        """
        whole = message if isinstance(message, Message) else Message(message)
        state = transaction.state() if transaction is not None else None
        link = self._state
        client = link.client
        if client.hooks is not None:
            added = client.hooks.published(self.address, "", whole.application_properties, 0)
            if added is not None:
                whole = whole.replace(application_properties=added)
        woken = False
        if (
            link.waiters
            or client.driver.congested
            or client.core.send_backlog >= client.flush_octets
            or link.core.kept_octets >= client.kept_high
        ):
            await link.may_send()
            woken = True
        while True:
            try:
                pending = link.core.send(
                    whole, delivery_tag=delivery_tag, settled=settled, state=state, message_format=message_format
                )
                break
            except NoCredit:
                await link.turn(first=woken)
                woken = True
            except LocalProtocolError:
                link.wake()  # Pass the turn on.
                raise
            except EndpointClosed:
                link.check_open()
                if not (client.waits_to_publish and (client.restored is not None or link.is_lost)):
                    raise
                await link.until_back()
        client.metrics.sent += 1
        if link.waiters:
            link.wake()
        if not wait:
            client.driver.flush_later()
            return SentDelivery(link, pending)
        client.driver.flush_soon()
        if not pending.done:
            await client.decided(pending, outcome_on(link))
        if pending.error is not None:
            raise client.error_of(pending)
        return outcome_of(pending.result)

    async def send_text(
        self,
        text: str,
        *,
        properties: Properties | None = None,
        application_properties: Mapping[str, Any] | None = None,
    ) -> DeliveryState | None:
        """Send text in UTF-8 as a data section, with the content type text/plain unless the properties have one; see
        `send`.
        """
        return await self._send_typed(text.encode(), TEXT, properties, application_properties)

    async def send_json(
        self,
        value: Any,
        *,
        properties: Properties | None = None,
        application_properties: Mapping[str, Any] | None = None,
    ) -> DeliveryState | None:
        """Send a value as JSON, with the content type application/json unless the properties have one; see `send`.

        Raises TypeError for a value that JSON hasn't.
        """
        return await self._send_typed(json_octets(value), JSON, properties, application_properties)

    async def wait_credit(self) -> int:
        """Wait until the peer accepts a message; return how many. Raises LinkEnded.

        >>> async def example(sender: Sender) -> None:
        ...     for number in range(await sender.wait_credit()):
        ...         await sender.send(Message(number), wait=False)
        """
        return await self._state.wait_credit()

    async def __aenter__(self) -> Sender:
        return self

    async def _send_typed(
        self, body: bytes, content_type: str, properties: Properties | None, application: Mapping[str, Any] | None
    ) -> DeliveryState | None:
        given = properties or Properties()
        if given.content_type is None:
            given = given.replace(content_type=content_type)
        return await self.send(Message(body, properties=given, application_properties=application))


def outcome_on(link: SenderState) -> str:
    """Return what a sender waits for, for the error of one that has waited too long."""
    return f"outcome of a message on link {link.name!r}"


def outcome_of(state: Any) -> DeliveryState | None:
    """Return a delivery's outcome, also from within a transactional state (1.0 part 4 section 4.5.8)."""
    outcome: DeliveryState | None = state
    if isinstance(state, TransactionalState):
        outcome = cast("DeliveryState | None", state.outcome)
    return outcome


__all__ = ["Sender", "SentDelivery", "outcome_of"]
