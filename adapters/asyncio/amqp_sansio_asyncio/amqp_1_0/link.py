"""What senders and receivers of 1.0 have in common (1.0 part 2 section 2.6)."""

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
        """Where its messages come from, as both ends agreed."""
        return cast("Source | None", self.core.source)

    @property
    def target(self) -> Target | Coordinator | None:
        """Where its messages go, as both ends agreed."""
        return cast("Target | Coordinator | None", self.core.target)

    @property
    def address(self) -> str:
        """The address at the peer: a sender's target, a receiver's source; the peer chose it for a
        dynamic node. Empty for the anonymous terminus.
        """
        return self.core.address or ""

    @property
    def remote(self) -> Attach | None:
        """What the peer said when it attached: its properties and capabilities."""
        return self.core.remote

    @property
    def credit(self) -> int:
        """Deliveries that may still be sent on it."""
        return self.core.credit

    @property
    def max_message_size(self) -> int:
        """The largest message that the receiving end takes, in octets; 0: any."""
        return self.core.max_message_size

    @property
    def is_open(self) -> bool:
        """Whether it can be used."""
        return self.core.is_open

    @property
    def report(self) -> CloseReport | None:
        """Why it ended, once it has."""
        return self.core.report

    def saved_state(self) -> LinkState:
        """What a new attachment needs to go on where this one ended: its terminus and its unsettled
        deliveries. It pickles; give it to `open_sender` or `open_receiver` as `state`, on whichever
        session and connection.

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
        """Close the link for good, with an error where `condition` names one, and wait for the
        peer's answer; says how it ended. On a link that has ended it does nothing.
        """
        self.start_closing(condition, description, info)
        return await self._wait_ended()

    async def detach(self) -> LinkState:
        """Detach without closing, so that both ends keep what is unsettled, and return the state to
        go on with: `session.open_sender(state=state)`, or `open_receiver`.

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
        """Wait until the link has ended, by whom ever."""
        return await self._wait_ended()

    def start_closing(
        self, condition: str = "", description: str = "", info: Mapping[Any, Any] | None = None
    ) -> None:
        """What `close` does before it waits."""
        if not self._closing and self.report is None:
            self._closing = True
            self.before_end()
            with suppress(EndpointClosed):  # Then it ends with its session or connection.
                self.core.close(condition, description, info)
            self.flush()

    # What the driver and the session tell.

    def before_end(self) -> None:
        """This end is going to close or detach it."""

    def credit_changed(self, event: CreditChanged) -> None:
        """The receiver has said how much it takes."""

    def drained(self) -> None:
        """The sender has used or given up its credit."""

    def resumed(self, event: Resumed) -> None:
        """Both unsettled maps have been compared."""

    def end_with(self, report: CloseReport, cause: AmqpError | None) -> None:
        """The link has ended, so nobody waits any longer."""
        if self._error is None:
            self._error = self.error_of(report)
            self._error.__cause__ = cause
            self.on_ended(self._error)
            self.driver.ended(self)

    def on_ended(self, error: LinkEnded) -> None:
        """Wake who waits; `error` is for them."""

    def error_of(self, report: CloseReport) -> LinkEnded:
        """The exception for who uses the link after its end."""
        return LinkEnded(f"link {self._name!r}: {report}", report, self._name)

    def check_open(self) -> None:
        """Raise what the link ended with."""
        if self._error is not None:
            error = copy.copy(self._error)
            error.__cause__ = self._error.__cause__
            raise error
        if self._closing:
            report = CloseReport(By.LOCAL)
            raise LinkEnded(f"link {self._name!r} is being closed by this side", report, self._name)

    def flush(self) -> None:
        """Write what was queued when this turn of the event loop is over."""
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
