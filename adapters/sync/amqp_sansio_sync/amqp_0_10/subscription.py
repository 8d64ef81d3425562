"""Subscription: the messages of one queue, and their credit (0-10 class 4, message.subscribe)."""

from __future__ import annotations

import copy
from contextlib import suppress
from time import monotonic
from typing import TYPE_CHECKING, Any

from amqp_sansio import EndpointClosed, LocalProtocolError, Pending
from amqp_sansio.amqp_0_10 import BYTE, INFINITE, MESSAGE, MessageFlow, MessageFlush, MessageReceived, MessageStop

from ..handlers import aside, interrupts_itself
from .feed import SubscriptionFeed
from .received import ReceivedMessage

if TYPE_CHECKING:
    from types import TracebackType

    from .session import ZeroTenSession


class Subscription:
    """A subscription of a session, returned by `session.subscribe`: an iterator over its deliveries.

    `next` raises TimeoutError if nothing came for `timeout` seconds; you may continue afterwards. The iteration ends
    after `close`, and raises EndpointClosed when the session ends. Taking a delivery completes its transfer, which in
    window mode returns its credit; in credit mode credit is granted again when half of it is used. Leaving the context,
    or dropping the last reference, cancels the subscription and releases untaken deliveries. Every method may be called
    from any thread.
    """

    __slots__ = ("_feed", "session", "timeout")

    def __init__(self, session: ZeroTenSession, feed: SubscriptionFeed, timeout: float | None) -> None:
        self.session = session
        self._feed = feed
        self.timeout = timeout

    @property
    def destination(self) -> str:
        """Its name in the session."""
        return self._feed.destination

    @property
    def granted(self) -> tuple[int | None, int | None]:
        """The messages and octets that the server may still send; None without limit."""
        return self.session.core.granted(self._feed.destination)

    def __iter__(self) -> Subscription:
        return self

    def __next__(self) -> ReceivedMessage:
        return self._take(self.timeout, ask=bool(self._feed.credit))

    def fetch(self, timeout: float | None = None) -> ReceivedMessage | None:
        """Return the next delivery, or None if none came for `timeout` seconds (None: wait without limit).

        With `credit=0`, credit for one message is granted, and taken back after `timeout` by message.flush. With
        flow_mode CREDIT nothing comes unrequested; a window reopens when the delivery is completed, before message.stop
        closes it.

        >>> def example(session: ZeroTenSession) -> ReceivedMessage | None:
        ...     with session.subscribe("jobs", credit=0, flow_mode=CREDIT) as subscription:
        ...         return subscription.fetch(timeout=0.5)
        """
        feed = self._feed
        began = monotonic()
        if not feed.items:
            self._wait_closed_window(timeout)
        left = None if timeout is None else max(0.0, timeout - (monotonic() - began))
        asked = not feed.credit and self.granted[0] == 0
        try:
            delivery = self._take(left, ask=asked or (bool(feed.credit) and timeout != 0))
        except TimeoutError:
            return self._fetch_now() if asked else None
        except StopIteration:
            raise self._over() from None
        if asked and self.granted[0] != 0:
            with suppress(EndpointClosed):  # Nothing comes any more.
                self.session.post(self._stop)
        return delivery

    def grant(self, messages: int | None, octets: int | None = None) -> None:
        """Let the server send that many more messages and octets (message.flow); None: without limit.

        For subscriptions with `credit=0`, whose iteration grants none. With a window, taking a delivery returns its
        credit.

        >>> def example(session: ZeroTenSession) -> list[bytes]:
        ...     with session.subscribe("jobs", credit=0, flow_mode=CREDIT) as subscription:
        ...         subscription.grant(2)
        ...         return [next(subscription).body for _ in range(2)]
        """
        feed = self._feed
        core = self.session.core
        self._wait_closed_window(0)

        def grant() -> None:
            feed.held = False
            for unit, value in ((MESSAGE, messages), (BYTE, octets)):
                if value is not None or core.granted(feed.destination)[unit] is not None:
                    given = INFINITE if value is None else value
                    core.call(MessageFlow(feed.destination, unit, given), sync=False)
            if messages is None:
                feed.bound_by_octets()

        self.session.post(grant)

    def flush(self, timeout: float | None = None) -> None:
        """Let the server send its available messages within the credit, and discard the rest; return when that is done.

        Received messages are still iterated. Credit is granted again when an iteration finds nothing, or by `grant`
        (message.flush).

        >>> def example(subscription: Subscription) -> tuple[int | None, int | None]:
        ...     subscription.flush(timeout=5)
        ...     return subscription.granted
        """
        self._hold(MessageFlush(self._feed.destination), timeout)

    def stop(self, timeout: float | None = None) -> None:
        """Stop the server from sending, and wait for its answer. Otherwise like `flush` (message.stop).

        >>> def example(subscription: Subscription) -> None:
        ...     subscription.stop()
        """
        self._hold(MessageStop(self._feed.destination), timeout)

    def close(self, timeout: float | None = None) -> None:
        """Cancel it, release untaken messages, and wait for the server's answer (message.cancel).

        On an ended subscription this does nothing. A signal handler that interrupts the iteration, or any other call of
        this package, may call it, and doesn't wait then: the iteration ends with the answer.

        >>> def example(session: ZeroTenSession) -> None:
        ...     session.subscribe("jobs").close()
        """
        feed = self._feed
        if feed.over:
            return
        if interrupts_itself():
            aside("message.cancel", lambda: self.close(timeout))
            return
        self.session.post(feed.drop)
        cancelling = feed.cancelling
        if cancelling is not None:
            self.session.finish(cancelling, timeout, "message.cancel")

    def __enter__(self) -> Subscription:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        seconds = self.session.wire.core.config.close_timeout
        # A caller that reads on gets the reason from the iterator; leaving the context needs no more.
        with suppress(EndpointClosed):
            if error is None:
                self.close(seconds)
                return
            with suppress(TimeoutError):  # The first error is the better reason.
                self.close(seconds)

    def __del__(self) -> None:
        feed = self._feed
        if not (feed.over or feed.dropped):
            wire = feed.wire
            wire.chores.append(feed.drop)
            wire.keeper.ring()

    def __repr__(self) -> str:
        return f"<Subscription {self.destination!r} of {self.session!r}>"

    # Internals.

    def _take(self, timeout: float | None, *, ask: bool) -> ReceivedMessage:
        feed = self._feed
        deadline = None if timeout is None else monotonic() + timeout
        if ask and not feed.items and self.granted[0] == 0:
            with suppress(EndpointClosed):  # The feed raises the reason, after its messages.
                self.session.post(feed.ask)
        while True:
            found = self._pop()
            if found is not None:
                return ReceivedMessage(self.session, found)
            if feed.over:
                if feed.error is None:
                    raise StopIteration
                feed.wire.seen(feed.error.report)
                raise copy.copy(feed.error)
            left = None if deadline is None else max(0.0, deadline - monotonic())
            try:
                feed.wire.wait(lambda: bool(feed.items) or feed.over, left, f"a delivery for {feed.destination!r}")
            except TimeoutError:
                text = f"a delivery for {feed.destination!r}: not within {timeout:g} seconds"
                raise TimeoutError(text) from None

    def _pop(self) -> MessageReceived | None:
        feed = self._feed
        if self.session.error is not None:
            with feed.wire.lock:
                return feed.pop()
        if not feed.items:
            return None
        # The caller gets a taken message even if the connection is lost at that moment: it is completed.
        taken: list[MessageReceived] = []

        def pop() -> None:
            found = feed.pop()
            if found is not None:
                taken.append(found)

        try:
            self.session.post(pop)
        except EndpointClosed:
            if not taken and not self.session.ended:
                raise
        return taken[0] if taken else None

    def _fetch_now(self) -> ReceivedMessage | None:
        """Take a message that the server has now, and leave no credit outstanding."""
        seconds = self.session.wire.core.config.close_timeout
        with suppress(EndpointClosed, TimeoutError):
            self.flush(seconds)
        try:
            return self._take(0, ask=False)
        except TimeoutError:
            return None
        except StopIteration:
            raise self._over() from None

    def _hold(self, command: MessageFlush | MessageStop, timeout: float | None) -> None:
        def begin() -> Pending[Any]:
            self._feed.held = True
            handle: Pending[Any] = self.session.core.call(command)
            return handle

        self.session.finish(self.session.post(begin), timeout, command.NAME)
        if self._feed.asked:
            # Another thread needed credit meanwhile.
            with suppress(EndpointClosed):
                self.session.post(self._feed.ask)

    def _stop(self) -> None:
        feed = self._feed
        feed.stopping = self.session.core.call(MessageStop(feed.destination))
        self.session.expect_stop(feed.stopping, feed)

    def _wait_closed_window(self, timeout: float | None) -> None:
        """Wait until the server has executed the stop of a window that a delivery reopened: credit can't be granted
        before."""
        feed = self._feed
        stopping = feed.stopping
        if stopping is None:
            return
        least = self.session.wire.core.config.close_timeout
        with suppress(EndpointClosed, TimeoutError):
            self.session.finish(stopping, None if timeout is None else max(timeout, least), "message.stop")

    def _over(self) -> Exception:
        if self.session.ended:
            return self.session.gone()
        return LocalProtocolError(f"subscription {self.destination!r} is closed")


__all__ = ["Subscription"]
