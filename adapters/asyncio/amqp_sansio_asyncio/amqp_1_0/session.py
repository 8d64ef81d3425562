"""Sessions of a 1.0 client, which open links (1.0 part 2 section 2.5)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, TypeVar, overload

from amqp_sansio.amqp_1_0 import LinkRequested, Source, Target
from amqp_sansio.amqp_1_0 import Receiver as CoreReceiver
from amqp_sansio.amqp_1_0 import Sender as CoreSender
from amqp_sansio.errors import AmqpError, EndpointClosed
from amqp_sansio.events import CloseReport, Event

from ..feed import EventStream, Feed, Streams
from ..opening import Opening
from .link import Link
from .receiver import Receiver
from .requester import Requester, open_requester
from .sender import Sender
from .transaction import Coordination, Transaction

if TYPE_CHECKING:
    from amqp_sansio.amqp_1_0 import Coordinator, LinkClosed, LinkState
    from amqp_sansio.amqp_1_0 import Session as CoreSession

    from .driver import OneZeroDriver

_E = TypeVar("_E", bound=Event)
_L = TypeVar("_L", bound="Sender | Receiver")


class Session:
    """One session, returned by `connection.open_session()`. `close` it, or leave its context; its links end with it."""

    def __init__(self, driver: OneZeroDriver, core: CoreSession) -> None:
        self.driver: Final = driver
        self.core: Final = core
        self.links: Final[dict[int, Link[Any]]] = {}
        self.receivers: Final[dict[int, Receiver]] = {}
        self.streams: Final[Streams] = []
        self._coordination = Coordination(self)
        self._failure: AmqpError | None = None

    @property
    def channel(self) -> int:
        """The channel on which this end sends."""
        return self.core.channel

    @property
    def is_open(self) -> bool:
        """Whether links can be opened on it."""
        return self.core.is_open

    @property
    def report(self) -> CloseReport | None:
        """Why it ended, once it has."""
        return self.core.report

    def open_sender(
        self,
        address: str | Target | Coordinator | None = None,
        *,
        name: str | None = None,
        source: Source | str | None = None,
        dynamic: bool = False,
        snd_settle_mode: int | None = None,
        rcv_settle_mode: int | None = None,
        max_message_size: int = 0,
        properties: Mapping[Any, Any] | None = None,
        offered_capabilities: Iterable[str] = (),
        desired_capabilities: Iterable[str] = (),
        state: LinkState | None = None,
    ) -> Opening[Sender]:
        """Open a link to send on: `await` it, or use it as an async context that closes the link.

        `address` is a node's, or a whole `Target`; None is the anonymous terminus, to which each message brings its own
        address, or with `dynamic` a node that the peer creates: see `Sender.address`. The default settle modes are 2
        (mixed) and 0 (first). `state` resumes a link and has all of these: unsettled deliveries continue, see
        `Sender.pending`. Raises LinkEnded with the peer's condition if it refuses.

        >>> async def example(session: Session) -> None:
        ...     async with session.open_sender("jobs") as sender:
        ...         outcome = await sender.send(b"hello")
        """
        target: str | Target | Coordinator | None = address
        if dynamic:
            if address is not None:
                raise ValueError("a dynamic node has no address before it's made: give None")
            target = Target(dynamic=True)
        elif address is None and state is None:
            target = Target()

        modes = _modes(snd_settle_mode, rcv_settle_mode, state)

        def begin() -> CoreSender:
            return self.core.open_sender(
                target,
                name=name,
                source=source,
                snd_settle_mode=modes[0],
                rcv_settle_mode=modes[1],
                max_message_size=max_message_size,
                properties=properties,
                offered_capabilities=offered_capabilities,
                desired_capabilities=desired_capabilities,
                state=state,
            )

        return Opening(lambda: self._open(Sender(self, begin())))

    def open_receiver(
        self,
        address: str | Source | None = None,
        *,
        credit: int = 10,
        name: str | None = None,
        target: Target | str | None = None,
        dynamic: bool = False,
        snd_settle_mode: int | None = None,
        rcv_settle_mode: int | None = None,
        max_message_size: int = 0,
        properties: Mapping[Any, Any] | None = None,
        offered_capabilities: Iterable[str] = (),
        desired_capabilities: Iterable[str] = (),
        state: LinkState | None = None,
    ) -> Opening[Receiver]:
        """Open a link to receive on: `await` it, or use it as an async context that closes the link.

        `address` is a node's, or a whole `Source`, which may have filters; None with `dynamic` is a node that the peer
        creates: see `Receiver.address`. At most `credit` deliveries wait here; with 0 you manage the credit. `state`
        resumes a link, with its address and modes. Raises LinkEnded with the peer's condition if it refuses.

        >>> async def example(session: Session) -> None:
        ...     async with session.open_receiver("jobs", credit=100) as receiver:
        ...         async for delivery in receiver:
        ...             print(delivery.body)
        ...             await delivery.accept()
        """
        if credit < 0:
            raise ValueError(f"credit {credit} is below 0")
        source: str | Source | None = address
        if dynamic:
            if address is not None:
                raise ValueError("a dynamic node has no address before it's made: give None")
            source = Source(dynamic=True)
        elif address is None and state is None:
            raise ValueError("a receiver needs an address, or dynamic=True, or a saved state")

        modes = _modes(snd_settle_mode, rcv_settle_mode, state)

        def begin() -> CoreReceiver:
            return self.core.open_receiver(
                source,
                name=name,
                target=target,
                credit=credit,
                snd_settle_mode=modes[0],
                rcv_settle_mode=modes[1],
                max_message_size=max_message_size,
                properties=properties,
                offered_capabilities=offered_capabilities,
                desired_capabilities=desired_capabilities,
                state=state,
            )

        return Opening(lambda: self._open(Receiver(self, begin(), credit)))

    def open_requester(self, address: str | None, *, credit: int = 100) -> Opening[Requester]:
        """Open a requester for `address`: a sender there and a receiver on a dynamic node for the replies. None: each
        request names its destination in `to`.

        >>> from amqp_sansio.amqp_1_0 import Message
        >>> async def example(session: Session) -> None:
        ...     async with session.open_requester("rpc") as requester:
        ...         reply = await requester.call(Message("ping"))
        """
        return Opening(lambda: open_requester(self, address, credit))

    def transaction(self, *, global_id: bytes | None = None) -> Transaction:
        """Return a transaction, as an async context: declared on entering, committed at its end, rolled back if an
        exception leaves it (1.0 part 4).

        >>> async def example(session: Session, sender: Sender, receiver: Receiver) -> None:
        ...     async with session.transaction() as transaction:
        ...         delivery = await receiver.fetch()
        ...         if delivery is not None:
        ...             await sender.send(delivery.message, transaction=transaction)
        ...             await delivery.accept(transaction=transaction)
        """
        return Transaction(self._coordination, global_id)

    @overload
    def events(self, *, limit: int = 1000) -> EventStream[Event]: ...
    @overload
    def events(self, *kinds: type[_E], limit: int = 1000) -> EventStream[_E]: ...
    def events(self, *kinds: type[Any], limit: int = 1000) -> EventStream[Any]:
        """Return the session's other events: LinkRequested (answer it with `accept_link`), CreditChanged,
        DeliveryUpdated and so on; only `kinds`, if given.
        """
        feed: Feed[Any] = Feed(self.driver, limit, True)
        if self.report is not None:
            feed.end(EndpointClosed(f"session {self.channel}: {self.report}", self.report))
        self.streams.append((kinds or (Event,), feed))
        return EventStream(feed, self.streams)

    def accept_link(self, event: LinkRequested, *, credit: int = 10) -> Sender | Receiver:
        """Accept a link that the peer attaches, on its terms. `credit` is for receivers.

        Without a reader for `events(LinkRequested)`, such links are refused.

        >>> async def example(session: Session) -> None:
        ...     async for event in session.events(LinkRequested):
        ...         link = session.accept_link(event)
        """
        core = self.core.link(event.link)
        core.accept_attach()
        link: Sender | Receiver
        if isinstance(core, CoreReceiver):
            link = Receiver(self, core, credit)
            if credit:
                core.flow(credit)
        else:
            link = Sender(self, core)
        self._register(link)
        self.driver.progress()
        return link

    async def close(self, condition: str = "", description: str = "") -> CloseReport:
        """End the session and wait for the peer's answer; return how it ended. On an ended session this does nothing.
        """
        core, driver = self.core, self.driver
        driver.say_accepted()
        with suppress(EndpointClosed):  # It ends with its connection.
            core.close(condition, description)
        if driver.sessions.get(core.channel) is self:
            driver.schedule_flush()
            await driver.wait_for_end(self)
        report = core.report
        assert report is not None
        return report

    async def __aenter__(self) -> Session:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def __repr__(self) -> str:
        state = "open" if self.is_open else f"closed: {self.report}" if self.report else "opening"
        return f"<Session {self.channel}, {state}>"

    # Called by the driver.

    def link_closed(self, event: LinkClosed, cause: AmqpError | None) -> None:
        """Handle the end of a link."""
        link = self.links.pop(event.link, None)
        self.receivers.pop(event.link, None)
        if link is not None:
            link.end_with(event.report, self._failure or cause)

    def failed(self, report: CloseReport, cause: AmqpError) -> None:
        """Handle an error of the session, whose end follows."""
        self._failure = cause
        for link in list(self.links.values()):
            link.end_with(report, cause)
        error = EndpointClosed(f"session {self.channel}: {report}", report)
        self.driver.end_streams(self.streams, error, cause)

    def closed(self, report: CloseReport, cause: AmqpError | None) -> None:
        """Handle the end of the session and its remaining links."""
        cause = self._failure or cause
        links = list(self.links.values())
        self.links.clear()
        self.receivers.clear()
        for link in links:
            link.end_with(report, cause)
        error = EndpointClosed(f"session {self.channel}: {report}", report)
        self.driver.end_streams(self.streams, error, cause)
        self.driver.ended(self)

    # Internals.

    def _register(self, link: Sender | Receiver) -> None:
        self.links[link.core.handle] = link
        if isinstance(link, Receiver):
            self.receivers[link.core.handle] = link

    async def _open(self, link: _L) -> _L:
        self._register(link)
        opening = link.core.opening
        assert opening is not None
        # A cancelled caller has no link to close.
        await self.driver.wait(opening, lambda _: link.core.close())
        return link


def _modes(
    snd_settle_mode: int | None, rcv_settle_mode: int | None, state: LinkState | None
) -> tuple[int, int]:
    """Return the settle modes given, else those of a resumed link, else mixed and first."""
    before = (2, 0) if state is None else (state.snd_settle_mode, state.rcv_settle_mode)
    return (
        before[0] if snd_settle_mode is None else snd_settle_mode,
        before[1] if rcv_settle_mode is None else rcv_settle_mode,
    )


__all__ = ["Session"]
