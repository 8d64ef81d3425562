"""The common part of 1.0's senders and receivers (1.0 part 2 section 2.6)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

from .links import ReceiverState, SenderState

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping
    from types import TracebackType

    from ...amqp_1_0 import LinkState, Source, Target
    from ...amqp_1_0 import Receiver as CoreReceiver
    from ...amqp_1_0 import Sender as CoreSender
    from ...amqp_1_0.codec.performatives import Attach, Coordinator
    from ...events import CloseReport

StateT = TypeVar("StateT", bound="SenderState | ReceiverState")


class Link(Generic[StateT]):
    """One attachment of a link, as a sender or a receiver. Dropping the last reference to it closes the link."""

    def __init__(self, state: StateT) -> None:
        self._state = state

    @property
    def core(self) -> CoreSender | CoreReceiver:
        """The link of the core, for its properties. Don't call its commands."""
        return self._state.core

    @property
    def name(self) -> str:
        """Its name between the two containers."""
        return self._state.name

    @property
    def source(self) -> Source | None:
        """The negotiated source of its messages."""
        return cast("Source | None", self._state.core.source)

    @property
    def target(self) -> Target | Coordinator | None:
        """The negotiated target of its messages."""
        return cast("Target | Coordinator | None", self._state.core.target)

    @property
    def address(self) -> str:
        """The address at the peer: a sender's target, a receiver's source; the peer chose it for a dynamic node. Empty
        for the anonymous terminus.
        """
        return self._state.core.address or ""

    @property
    def remote(self) -> Attach | None:
        """The peer's attach: its properties and capabilities."""
        return self._state.core.remote

    @property
    def credit(self) -> int:
        """Deliveries that may still be sent on it."""
        return self._state.core.credit

    @property
    def max_message_size(self) -> int:
        """The largest message that the receiving end accepts, in octets; 0: any."""
        return self._state.core.max_message_size

    @property
    def is_open(self) -> bool:
        """Whether it is usable, as far as is known."""
        return self._state.core.is_open

    @property
    def report(self) -> CloseReport | None:
        """Why it ended, once it has."""
        report = self._state.report
        self._state.client.seen(report)
        return report

    def saved_state(self) -> LinkState:
        """Return the state for a new attachment to continue with: its terminus and its unsettled deliveries. It
        pickles; give it to `open_sender` or `open_receiver` as `state`, on any session and connection.

        >>> async def example(session: Session, sender: Sender) -> None:
        ...     sent = await sender.send(b"hello", wait=False)
        ...     await session.close()
        ...     state = sender.saved_state()
        ...     assert len(state.unsettled) <= 1
        """
        return self._state.core.saved_state()

    async def close(
        self, condition: str = "", description: str = "", info: Mapping[Any, Any] | None = None
    ) -> CloseReport:
        """Close the link for good, with an error if `condition` names one, and wait for the peer's answer; return how
        it ended. On an ended link this does nothing. Raises AnswerTimeout after `close_timeout` seconds: the link is
        given up.
        """
        await self._leave(lambda: self._close(condition, description, info))
        return await self.wait_closed()

    async def detach(self) -> LinkState:
        """Detach without closing, so that both ends keep unsettled deliveries, and return the state to continue with:
        `session.open_sender(state=state)`, or `open_receiver`. Raises AnswerTimeout after `close_timeout` seconds: the
        link is given up, and `saved_state` has its state.

        >>> async def example(session: Session, sender: Sender) -> None:
        ...     state = await sender.detach()
        ...     async with session.open_sender(state=state) as again:
        ...         for sent in again.pending.values():
        ...             await sent
        """
        await self._leave(self._detach)
        return self.saved_state()

    async def wait_closed(self) -> CloseReport:
        """Wait until the link has ended, by either side; return how it ended."""
        report = await self._state.wait_ended()
        self._state.client.seen(report)
        return report

    async def _close(self, condition: str, description: str, info: Mapping[Any, Any] | None) -> None:
        """Do the part of `close` before the wait for the peer's answer."""
        self._state.start_closing(condition, description, info)

    async def _detach(self) -> None:
        self._state.start_detaching()

    async def _leave(self, begin: Callable[[], Awaitable[None]], error: BaseException | None = None) -> None:
        """Close or detach it, and wait for the peer's answer, within the time that there is for it."""
        state = self._state

        async def end() -> None:
            await begin()
            await state.wait_ended()

        await state.client.leave(state, f"detach of link {self.name!r}", end, error)

    async def _end(self) -> None:
        await self._close("", "", None)
        await self._state.wait_ended()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # A caller that only leaves the context hasn't seen why the link had ended before.
        await self._leave(lambda: self._close("", "", None), error)

    def __del__(self) -> None:
        state = getattr(self, "_state", None)
        if state is not None and not (state.closing or state.error):
            state.client.drop_later(state.start_closing)

    def __repr__(self) -> str:
        report = self._state.report
        state = "open" if self.is_open else f"closed: {report}" if report else "opening"
        return f"<{type(self).__name__} {self.name!r}, address {self.address!r}, {state}>"


def ended_by(link: Link[Any]) -> tuple[Any, Callable[[], Awaitable[None]]]:
    """Return a link's state, and what closes it and waits for that without a bound, for those who bring one."""
    return link._state, link._end  # pyright: ignore[reportPrivateUsage]


__all__ = ["Link", "StateT", "ended_by"]
