"""SubscriptionFeed: the waiting messages of a subscription, and its credit (0-10 class 4, message.flow)."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from amqp_sansio import AmqpError, EndpointClosed, LocalProtocolError, Pending
from amqp_sansio.amqp_0_10 import MessageCancel, MessageReceived

from ..feed import Feed

if TYPE_CHECKING:
    from .attachment import Attachment

_BUFFER: Final = 1000
"""Deliveries that may wait here before reading pauses, if nothing else bounds their number."""


class SubscriptionFeed(Feed[MessageReceived]):
    """The waiting messages of one subscription, and its remaining credit.

    It outlives the Subscription that the application holds: if that is dropped, the keeper cancels at the server and
    returns untaken messages.
    """

    __slots__ = (
        "asked", "cancelling", "credit", "destination", "dropped", "held", "session", "stopping", "window",
    )  # fmt: skip

    def __init__(self, session: Attachment, destination: str) -> None:
        super().__init__(session.wire, _BUFFER, False)
        self.session = session
        self.destination = destination
        self.credit = 0
        self.window: int | None = None
        self.held = self.asked = self.dropped = False
        self.cancelling: Pending[None] | None = None
        self.stopping: Pending[None] | None = None
        """The pending stop of a window that a delivery has reopened, until it is executed."""

    def put(self, item: MessageReceived) -> None:
        if self.dropped:
            self._give_back((item,))
        else:
            super().put(item)

    def pop(self) -> MessageReceived | None:
        """Take the next message, which completes its transfer; None if there is none."""
        core = self.session.core
        while self.items:
            event = self.items[0]
            if self.session.error is None:
                try:
                    core.complete(event.command_id)
                except LocalProtocolError:
                    # It was settled by its id before it was taken.
                    self._leave_out()
                    continue
            self._leave_out()
            with suppress(AmqpError):  # The next completion includes it; the message is taken.
                self.top_up()
            return event
        return None

    def bound_by_octets(self) -> None:
        """Count waiting messages from now on, because the server may send any number."""
        if not self.counted:
            self.counted = True
            self.octets = sum([len(each.body) for each in self.items])

    def top_up(self) -> None:
        """Grant credit again when half of it is used; waiting messages count as unused."""
        core = self.session.core
        messages, octets = core.granted(self.destination)
        if not self.credit or self.held or self.over or self.cancelling is not None:
            return
        if core.is_stopping(self.destination):
            return
        few = messages is not None and 2 * (messages + len(self.items)) <= self.credit
        if self.window is not None and octets is not None:
            waiting = sum([len(each.headers.raw) + len(each.body) for each in self.items])
            if few or 2 * (octets + waiting) <= self.window:
                self._grant_up_to(self.credit, self.window - waiting)
        elif few:
            self._grant_up_to(self.credit, None)

    def ask(self) -> None:
        """Grant credit if no message is here or can come: all of it, or for one message."""
        core = self.session.core
        messages, _ = core.granted(self.destination)
        if core.is_stopping(self.destination):
            self.asked = True
            return
        self.asked = False
        if messages == 0 and not self.items and not self.over and self.cancelling is None:
            self.held = False
            core.top_up(self.destination, self.credit or 1, self.window)

    def stopped(self, handle: Pending[None]) -> None:
        """Grant credit requested while a reopened window was being closed."""
        if self.stopping is handle:
            self.stopping = None
        if self.asked:
            self.ask()

    def cancel(self) -> None:
        """Tell the server to send no more; its answer ends the feed."""
        core = self.session.core
        if self.cancelling is None and core.report is None:
            self.cancelling = core.call(MessageCancel(self.destination))
            self.session.expect_cancel(self.cancelling, self.destination)

    def drop(self) -> None:
        """Cancel, and return waiting and coming messages, because nobody takes them any more."""
        self.dropped = True
        # Cancel first: otherwise the server would send returned messages again.
        with suppress(AmqpError):
            self.cancel()
        self._give_back(self.clear())

    def overrun(self) -> None:
        super().overrun()
        with suppress(AmqpError):  # The session has ended, so nothing comes any more.
            self.cancel()

    def session_ended(self, error: EndpointClosed, resumable: bool) -> None:
        """End the feed. Untaken messages come again when the session is resumed, or go to another client."""
        kept = [each for each in self.clear() if not resumable and not each.accepts and each.acquired]
        self.items.extend(kept)
        self.finish(None if self.dropped else error)
        self.counted = False

    def _leave_out(self) -> None:
        event = self.items.popleft()
        if self.counted:
            self._note(event, -1)

    def _grant_up_to(self, messages: int, octets: int | None) -> None:
        room = max(0, messages - len(self.items))
        self.session.core.top_up(self.destination, room, None if octets is None else max(0, octets))

    def _give_back(self, events: Iterable[MessageReceived]) -> None:
        core = self.session.core
        # If that can't be sent any more, the end of the session returns them.
        with suppress(AmqpError):
            unsettled, incomplete = set(core.unsettled), set(core.incomplete)
            ids = [each.command_id for each in events]
            for number in ids:
                if number in incomplete and number not in unsettled:
                    core.complete(number)
            waiting = [number for number in ids if number in unsettled]
            if waiting:
                core.release(*waiting)


__all__ = ["SubscriptionFeed"]
