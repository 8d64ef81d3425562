"""Session: links in both directions, and transactions over them (1.0 part 2 section 2.5)."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar, overload

from amqp_sansio import AmqpError, CloseReport, EndpointClosed, Event, Failed, Pending, RemoteProtocolError, Scope
from amqp_sansio.amqp_1_0 import Coordinator, Delivery, LinkClosed, LinkRequested, LinkState, Source, Target
from amqp_sansio.amqp_1_0 import Receiver as CoreReceiver
from amqp_sansio.amqp_1_0 import Sender as CoreSender
from amqp_sansio.amqp_1_0 import Session as CoreSession
from amqp_sansio.amqp_1_0.codec.conditions import NOT_IMPLEMENTED
from amqp_sansio.errors import LinkEnded

from ..feed import EventStream, Feed, Streams, publicise
from ..handlers import aside, interrupts_itself
from .link import Attachment
from .receiver import Receiver, ReceiverAttachment
from .requester import ReplyAttachment, Requester
from .sender import Sender, SenderAttachment
from .transaction import Controls, Transaction, control_link

if TYPE_CHECKING:
    from types import TracebackType

    from .connection import OneZeroConnection

_E = TypeVar("_E", bound=Event)
_A = TypeVar("_A", bound=Attachment[Any])


class Session:
    """One session, returned by `connection.open_session()`. Every method may be called from any thread.

    Its links share its window of transfer frames. A wait raises TimeoutError after `timeout` seconds (None: never) and
    can be interrupted: the session stays usable, a late answer is dropped.
    """

    __slots__ = (
        *("_connection", "controls", "core", "ended", "error", "held", "leaving", "links"),
        *("streams", "wire"),
    )

    def __init__(self, connection: OneZeroConnection, core: CoreSession) -> None:
        self._connection = connection
        self.wire = connection.wire
        self.core = core
        self.ended = False
        self.error: EndpointClosed | None = None
        self.links: dict[int, Attachment[Any]] = {}
        self.leaving: list[Attachment[Any]] = []
        self.streams: Streams = []
        self.controls: Controls | None = None
        self.held: list[LinkRequested] | None = None

    @property
    def channel(self) -> int:
        """Its number on the connection."""
        return self.core.channel

    @property
    def is_open(self) -> bool:
        """Whether it is usable, as far as is known."""
        return self.core.is_open

    @property
    def report(self) -> CloseReport | None:
        """Why it ended, once it has."""
        report = self.core.report
        if report is not None:
            self.wire.seen(report)
        return report

    def open_sender(
        self,
        address: str | Target | Coordinator | None = None,
        *,
        name: str | None = None,
        source: Source | None = None,
        dynamic: bool = False,
        snd_settle_mode: int | None = None,
        rcv_settle_mode: int | None = None,
        max_message_size: int = 0,
        properties: Mapping[str, Any] | None = None,
        offered_capabilities: tuple[str, ...] = (),
        desired_capabilities: tuple[str, ...] = (),
        state: LinkState | None = None,
        timeout: float | None = None,
    ) -> Sender:
        """Attach a link that sends to the node `address`.

        Instead of an address it may be a `Target`; None is the peer's anonymous terminus, to which each message brings
        its own address in `properties.to`. With `dynamic` the peer creates a node, whose address is the sender's
        `address`. The default settle modes are 2 (mixed) and 0 (first). `state` attaches a saved link again. Raises
        LinkEnded with the peer's reason if it refuses, TimeoutError after `timeout` seconds.

        >>> def example(session: Session, bodies: list[bytes]) -> int:
        ...     with session.open_sender("jobs") as sender:
        ...         pending = [sender.send(body, wait=False) for body in bodies]
        ...         return sum(each.result() == Accepted() for each in pending)
        """
        target = address
        if address is None and (dynamic or state is None):
            target = Target(dynamic=dynamic)
        elif dynamic:
            raise ValueError("a dynamic node gets its address from the peer; leave it out")

        modes = _modes(snd_settle_mode, rcv_settle_mode, state)

        def begin() -> SenderAttachment:
            core = self.core.open_sender(
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
            return self._attached(core.handle, SenderAttachment(self, core))

        return Sender(self._attach(begin, timeout))

    def open_receiver(
        self,
        address: str | Source | None = None,
        *,
        credit: int = 10,
        name: str | None = None,
        target: Target | None = None,
        dynamic: bool = False,
        snd_settle_mode: int | None = None,
        rcv_settle_mode: int | None = None,
        max_message_size: int = 0,
        properties: Mapping[str, Any] | None = None,
        offered_capabilities: tuple[str, ...] = (),
        desired_capabilities: tuple[str, ...] = (),
        state: LinkState | None = None,
        timeout: float | None = None,
    ) -> Receiver:
        """Attach a link that receives from the node `address`; iterate over it for its deliveries.

        At most `credit` deliveries are in transit or wait here; with 0 nothing comes before `fetch` or `flow` asks for
        it. Instead of an address it may be a `Source`. With `dynamic` the peer creates a node, whose address is the
        receiver's `address`. The default settle modes are 2 (mixed) and 0 (first); with `rcv_settle_mode` 1 (second)
        settling waits for the sender. `state` attaches a saved link again. `timeout` applies to the attach and then to
        each delivery of the iteration.

        >>> def example(session: Session) -> list[bytes]:
        ...     bodies = []
        ...     with session.open_receiver("jobs", credit=100) as receiver:
        ...         while (delivery := receiver.fetch(timeout=0.5)) is not None:
        ...             bodies.append(delivery.body)
        ...             delivery.accept()
        ...     return bodies
        """
        source = address
        if dynamic:
            source = Source(dynamic=True)
            if address is not None:
                raise ValueError("a dynamic node gets its address from the peer; leave it out")

        modes = _modes(snd_settle_mode, rcv_settle_mode, state)

        def begin() -> ReceiverAttachment:
            core = self.core.open_receiver(
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
            return self._attached(core.handle, ReceiverAttachment(self, core, credit))

        return Receiver(self._attach(begin, timeout), timeout)

    def accept_link(
        self,
        request: LinkRequested,
        *,
        credit: int = 10,
        source: Source | None = None,
        target: Target | None = None,
        timeout: float | None = None,
    ) -> Sender | Receiver:
        """Attach a link that the peer requested, from `events(LinkRequested)`.

        A receiver gets `credit` and `timeout`. Termini that aren't given are as the peer requested; a dynamic node of
        this side needs its address.

        >>> def example(session: Session) -> Sender | Receiver:
        ...     with session.events(LinkRequested) as requests:
        ...         return session.accept_link(next(requests))
        """

        def begin() -> SenderAttachment | ReceiverAttachment:
            core = self.core.link(request.link)
            core.accept_attach(source=source, target=target)
            if isinstance(core, CoreSender):
                return self._attached(core.handle, SenderAttachment(self, core))
            if credit:
                core.flow(credit)
            return self._attached(core.handle, ReceiverAttachment(self, core, credit))

        attachment = self.wire.run(begin)
        if isinstance(attachment, SenderAttachment):
            return Sender(attachment)
        return Receiver(attachment, timeout)

    def open_requester(self, address: str | Target, *, credit: int = 100, timeout: float | None = None) -> Requester:
        """Open a sender to `address` and a receiver of a dynamic node for the replies.

        >>> def example(session: Session) -> Message:
        ...     with session.open_requester("service") as requester:
        ...         return requester.call(Message("ping"), timeout=5)
        """
        return Requester(self, address, credit, timeout)

    def transaction(self, *, global_id: bytes | None = None, timeout: float | None = None) -> Transaction:
        """Return a transaction: declared on entering, committed on leaving, rolled back if an exception leaves it.

        `timeout` applies to each step. All transactions of the session share one link to the peer's coordinator.
        `global_id` makes it a part of a distributed one, if the coordinator supports that.

        >>> def example(session: Session, receiver: Receiver, sender: Sender) -> None:
        ...     with session.transaction() as transaction:
        ...         delivery = next(receiver)
        ...         sender.send(delivery.message, transaction=transaction)
        ...         delivery.accept(transaction=transaction)
        """
        return Transaction(self, global_id, timeout)

    @overload
    def events(self, *, limit: int = 1000, timeout: float | None = None) -> EventStream[Event]: ...
    @overload
    def events(self, *kinds: type[_E], limit: int = 1000, timeout: float | None = None) -> EventStream[_E]: ...
    def events(self, *kinds: type[Any], limit: int = 1000, timeout: float | None = None) -> EventStream[Any]:
        """Return the session's other events, such as CreditChanged and DeliveryAborted; only `kinds`, if given.

        >>> def example(session: Session) -> int:
        ...     with session.events(CreditChanged) as events, session.open_sender("jobs"):
        ...         return next(events).credit
        """
        feed: Feed[Any] = Feed(self.wire, limit, True)
        with self.wire.lock:
            if self.ended:
                feed.finish(self.gone())
            self.streams.append((kinds or (Event,), feed))
            if self.held and issubclass(LinkRequested, kinds or Event):
                for request in self.held:
                    feed.put(request)
                self.held.clear()
        return EventStream(feed, self.streams, timeout)

    def close(
        self,
        condition: str = "",
        description: str = "",
        info: Mapping[Any, Any] | None = None,
        *,
        timeout: float | None = None,
    ) -> CloseReport:
        """End the session and wait for the peer's answer; return how it ended. On an ended session this does nothing.

        `condition` is an error's symbol, "" for none. A signal handler that interrupts a call of this package may call
        it, and doesn't wait then.

        >>> def example(session: Session) -> bool:
        ...     return session.close().by is By.LOCAL
        """
        if interrupts_itself():
            return aside("end", lambda: self.close(condition, description, info, timeout=timeout))
        if not self.ended:
            self.wire.run(lambda: self.core.close(condition, description, info))
            self.wire.wait(lambda: self.ended, timeout, "the end of the session")
        report = self.report
        if report is None:
            raise self.wire.closed()
        return report

    def __enter__(self) -> Session:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.ended or self.wire.ended:
            return
        seconds = self.wire.core.config.close_timeout
        if error is None:
            self.close(timeout=seconds)
            return
        # The first error is the better reason.
        with suppress(EndpointClosed, TimeoutError):
            self.close(timeout=seconds)

    def __repr__(self) -> str:
        state = "open" if self.is_open else f"closed: {self.core.report}"
        return f"<Session {self.channel}, {state}>"

    # For the other parts of the adapter.

    def finish(
        self,
        handle: Pending[Any],
        timeout: float | None,
        what: str,
        late: Callable[[Any], object] | None = None,
        link: CoreSender | CoreReceiver | None = None,
    ) -> Any:
        """Wait for a handle and return its result. `late` takes a result after a timeout.

        An error of the link, if given, of the session or the connection tells which of them has ended, and why.
        """
        try:
            return self._connection.finish(handle, timeout, what, late)
        except (EndpointClosed, RemoteProtocolError) as error:
            if link is not None and link.report is not None:
                ended = self.end_of(link.report, link.name)
            elif self.core.report is not None:
                ended = self.end_of(self.core.report, "")
            else:
                raise
            self.wire.seen(ended.report)
            raise ended from error

    def end_of(self, report: CloseReport, link: str) -> EndpointClosed:
        """Return the error for the end of a link: by itself, with the session, or with the connection."""
        if report is self.wire.core.report or report is self.wire.core.failure:
            return EndpointClosed(f"the connection is closed: {report}", report)
        if report is self.core.report:
            return EndpointClosed(f"session {self.channel} is closed: {report}", report)
        return LinkEnded(f"link {link!r} is closed: {report}", report, link)

    def controlled(self, timeout: float | None) -> Controls:
        """Return the link to the coordinator, attaching it if necessary."""
        controls = self.controls
        if controls is None or not controls.sender.is_open:
            controls = self.controls = control_link(self, timeout)
        return controls

    def open_replies(self, credit: int, timeout: float | None) -> tuple[Receiver, ReplyAttachment]:
        """Open a receiver of a dynamic node, for replies."""

        def begin() -> ReplyAttachment:
            core = self.core.open_receiver(Source(dynamic=True), credit=credit)
            return self._attached(core.handle, ReplyAttachment(self, core, credit))

        attachment = self._attach(begin, timeout)
        return Receiver(attachment, None), attachment

    def told(self, handle: Pending[Any]) -> Any:
        """Return the peer's state of an unsettled delivery."""
        return self._connection.told.get(handle)

    def gone(self) -> EndpointClosed:
        """Return the error of a call on an ended session."""
        return self.wire.closed() if self.error is None else copy.copy(self.error)

    # Events; the lock is held.

    def deliver(self, event: Delivery) -> None:
        """Handle a message."""
        attachment = self.links.get(event.link)
        if isinstance(attachment, ReceiverAttachment):
            attachment.deliver(event)

    def take(self, event: Event) -> None:
        """Handle any other event that doesn't end a call."""
        taken = publicise(self.streams, event)
        if isinstance(event, LinkRequested):
            if not taken and self.held is not None:
                self.held.append(event)
            elif not taken:
                # If it has ended meanwhile, there is nothing to refuse.
                with suppress(AmqpError):
                    self.core.link(event.link).refuse_attach(NOT_IMPLEMENTED, "this client takes no links")
            return
        attachment = self.links.get(getattr(event, "link", -1))
        if attachment is not None:
            attachment.take(event)

    def fails(self, event: Failed) -> EndpointClosed | None:
        """Handle an error of the peer found by this end, whose later end or detach changes nothing; return it, None if
        the end was reported before.
        """
        if event.scope is Scope.SESSION:
            if self.core.report is None:
                return None
            error = self.end_of(self.core.report, "")
            for attachment in (*self.leaving, *self.links.values()):
                attachment.no_more(error)
            for _, stream in self.streams:
                stream.finish(copy.copy(error))
            return error
        link = self.links.get(getattr(event, "link", -1))
        if link is None or link.core.report is None:
            return None
        error = self.end_of(link.core.report, link.core.name)
        link.no_more(error)
        return error

    def link_ended(self, event: LinkClosed) -> EndpointClosed:
        """Handle the end of a link; return its error."""
        error = self.end_of(event.report, event.name)
        for attachment in self.leaving:
            if attachment.core.handle == event.link and attachment.core.name == event.name:
                self.leaving.remove(attachment)
                attachment.end(error)
                return error
        ended = self.links.pop(event.link, None)
        if ended is not None:
            ended.end(error)
        return error

    def end(self, error: EndpointClosed) -> None:
        """Handle the end of the session."""
        self.ended = True
        self.error = error
        for attachment in (*self.leaving, *self.links.values()):
            attachment.end(error)
        self.leaving.clear()
        self.links.clear()
        for _, stream in self.streams:
            stream.finish(copy.copy(error))

    # Internals.

    def _attached(self, handle: int, attachment: _A) -> _A:
        before = self.links.get(handle)
        if before is not None:
            # It is detached on this side; the peer's detach is still to come.
            self.leaving.append(before)
        self.links[handle] = attachment
        return attachment

    def _attach(self, begin: Callable[[], _A], timeout: float | None) -> _A:
        attachment = self.wire.run(begin)
        opening = attachment.core.opening
        assert opening is not None
        self.finish(opening, timeout, "the attach", lambda _: attachment.drop(), attachment.core)
        return attachment


def _modes(snd_settle_mode: int | None, rcv_settle_mode: int | None, state: LinkState | None) -> tuple[int, int]:
    """Return the settle modes given, else those of a resumed link, else mixed and first."""
    snd, rcv = (2, 0) if state is None else (state.snd_settle_mode, state.rcv_settle_mode)
    return (snd if snd_settle_mode is None else snd_settle_mode, rcv if rcv_settle_mode is None else rcv_settle_mode)


__all__ = ["Session"]
