"""The common part of 1.0's senders and receivers (1.0 part 2 section 2.6)."""

from __future__ import annotations

import copy
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar, cast

from amqp_sansio.errors import AmqpError, EndpointClosed, LinkEnded
from amqp_sansio.events import By, CloseReport

if TYPE_CHECKING:
    from collections.abc import Mapping

    from amqp_sansio.amqp_1_0 import (
        Attach,
        Coordinator,
        CreditChanged,
        LinkState,
        Resumed,
        Source,
        Target,
    )
    from amqp_sansio.amqp_1_0 import Receiver as CoreReceiver
    from amqp_sansio.amqp_1_0 import Sender as CoreSender

    from .driver import OneZeroDriver
    from .session import Session

CoreT = TypeVar("CoreT", bound="CoreSender | CoreReceiver")


class Link(Generic[CoreT]):
    """One attachment of a link, as a sender or a receiver."""

    def __init__(self, session: Session, core: CoreT) -> None:
        self.session: Final = session
        self.driver: Final[OneZeroDriver] = session.driver
        self.core: Final[CoreT] = core
        self._name = core.name
        self._error: LinkEnded | None = None
        self._closing = False

    @property
    def name(self) -> str:
        """Its name between the two containers."""
        return self._name

    @property
    def source(self) -> Source | None:
        """The negotiated source of its messages."""
        return cast("Source | None", self.core.source)

    @property
    def target(self) -> Target | Coordinator | None:
        """The negotiated target of its messages."""
        return cast("Target | Coordinator | None", self.core.target)

    @property
    def address(self) -> str:
        """The address at the peer: a sender's target, a receiver's source; the peer chose it for a dynamic node. Empty
        for the anonymous terminus.
        """
        return self.core.address or ""

    @property
    def remote(self) -> Attach | None:
        """The peer's attach: its properties and capabilities."""
        return self.core.remote

    @property
    def credit(self) -> int:
        """Deliveries that may still be sent on it."""
        return self.core.credit

    @property
    def max_message_size(self) -> int:
        """The largest message that the receiving end accepts, in octets; 0: any."""
        return self.core.max_message_size

    @property
    def is_open(self) -> bool:
        """Whether it is usable."""
        return self.core.is_open

    @property
    def report(self) -> CloseReport | None:
        """Why it ended, once it has."""
        return self.core.report

    def saved_state(self) -> LinkState:
        """Return the state for a new attachment to continue with: its terminus and its unsettled deliveries. It
        pickles; give it to `open_sender` or `open_receiver` as `state`, on any session and connection.

        >>> async def example(session: Session, sender: Sender) -> None:
        ...     sent = await sender.send(b"hello", wait=False)
        ...     await session.close()
        ...     state = sender.saved_state()
        ...     assert len(state.unsettled) <= 1
        """
        return self.core.saved_state()

    async def close(
        self, condition: str = "", description: str = "", info: Mapping[Any, Any] | None = None
    ) -> CloseReport:
        """Close the link for good, with an error if `condition` names one, and wait for the peer's answer; return how
        it ended. On an ended link this does nothing.
        """
        self.start_closing(condition, description, info)
        return await self._wait_ended()

    async def detach(self) -> LinkState:
        """Detach without closing, so that both ends keep unsettled deliveries, and return the state to continue with:
        `session.open_sender(state=state)`, or `open_receiver`.

        >>> async def example(session: Session, sender: Sender) -> None:
        ...     state = await sender.detach()
        ...     async with session.open_sender(state=state) as again:
        ...         for sent in again.pending.values():
        ...             await sent
        """
        if not self._closing and self.report is None:
            self._closing = True
            self.before_end()
            with suppress(EndpointClosed):
                self.core.detach()
        await self._wait_ended()
        return self.saved_state()

    async def wait_closed(self) -> CloseReport:
        """Wait until the link has ended, by either side."""
        return await self._wait_ended()

    def start_closing(
        self, condition: str = "", description: str = "", info: Mapping[Any, Any] | None = None
    ) -> None:
        """Do the part of `close` before the wait."""
        if not self._closing and self.report is None:
            self._closing = True
            self.before_end()
            with suppress(EndpointClosed):  # It ends with its session or connection.
                self.core.close(condition, description, info)
            self.flush()

    # Called by the driver and the session.

    def before_end(self) -> None:
        """Called before this end closes or detaches it."""

    def credit_changed(self, event: CreditChanged) -> None:
        """Called when the receiver changes the credit."""

    def drained(self) -> None:
        """Called when the sender has used or given up its credit."""

    def resumed(self, event: Resumed) -> None:
        """Called when both unsettled maps have been compared."""

    def end_with(self, report: CloseReport, cause: AmqpError | None) -> None:
        """End the link and fail everybody who waits."""
        if self._error is None:
            self._error = self.error_of(report)
            self._error.__cause__ = cause
            self.on_ended(self._error)
            self.driver.ended(self)

    def on_ended(self, error: LinkEnded) -> None:
        """Wake waiting callers; `error` is for them."""

    def error_of(self, report: CloseReport) -> LinkEnded:
        """Return the exception for using the link after its end."""
        return LinkEnded(f"link {self._name!r}: {report}", report, self._name)

    def check_open(self) -> None:
        """Raise the link's error if it has ended."""
        if self._error is not None:
            error = copy.copy(self._error)
            error.__cause__ = self._error.__cause__
            raise error
        if self._closing:
            report = CloseReport(By.LOCAL)
            raise LinkEnded(f"link {self._name!r} is being closed by this side", report, self._name)

    def flush(self) -> None:
        """Write queued octets at the end of this turn of the event loop."""
        if not self.driver.flush_scheduled:
            self.driver.schedule_flush()

    async def _wait_ended(self) -> CloseReport:
        self.flush()
        if self._error is None:
            await self.driver.wait_for_end(self)
        assert self._error is not None
        report = self._error.report
        assert report is not None
        return report

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def __repr__(self) -> str:
        state = "open" if self.is_open else f"closed: {self.report}" if self.report else "opening"
        return f"<{type(self).__name__} {self._name!r}, address {self.address!r}, {state}>"


__all__ = ["CoreT", "Link"]
