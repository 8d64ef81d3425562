"""The routes of a client's sessions and links of 1.0: where their events go, and who waits (1.0 part 2 section 2.5)."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

from ...amqp_1_0 import Accepted, Connection, CreditChanged, Delivery, LinkClosed, Resumed
from ...amqp_1_0 import Receiver as CoreReceiver
from ...amqp_1_0 import Sender as CoreSender
from ...errors import AmqpError, EndpointClosed, LimitExceeded, LinkEnded, LocalProtocolError
from ...events import By, CloseReport, Pending
from ..driving import BaseClient, end_streams, is_own_close
from ..inbox import Inbox, Streams

if TYPE_CHECKING:
    from ...amqp_1_0 import DeliveryState
    from ...amqp_1_0 import Session as CoreSession

CoreT = TypeVar("CoreT", bound="CoreSender | CoreReceiver")

ACCEPTED: Final = Accepted()


class LinkClient(BaseClient[Connection]):
    """A client of 1.0, as its sessions and links see it.

    `prefix` is unique among all programs, and so are the message-ids that begin with it. `told` has the receiver's
    states of unsettled deliveries, by the key of their handles. `accepting` are the receivers with deliveries to accept
    before the next octets are sent, `draining` the senders that were asked to give back what credit they don't use.
    """

    def __init__(self, core: Connection, prefix: str) -> None:
        super().__init__(core)
        self.prefix = prefix
        self.requesters = 0
        self.sessions: dict[int, SessionState] = {}
        self.told: dict[object, object] = {}
        self.accepting: list[ReceiverState] = []
        self.draining: list[SenderState] = []


class LinkRoutes(Generic[CoreT]):
    """The routes of one attachment of a link: where its events go, and who waits for them.

    `closed` ends when the attachment has ended, and `error` says why then. `closing` says that this end closes or
    detaches it.
    """

    __slots__ = ("client", "closed", "closing", "core", "error", "name", "session")

    def __init__(self, session: SessionState, core: CoreT) -> None:
        self.session = session
        self.client = session.client
        self.core: CoreT = core
        self.name = core.name
        self.closed: Pending[None] = self.client.pending()
        self.closing = False
        self.error: LinkEnded | None = None
        session.links[core.handle] = self

    async def opened(self) -> None:
        """Wait for the peer's attach. Raises LinkEnded if it refuses.

        A caller that is gone has no link to close, so a late one is closed here.
        """
        opening = self.core.opening
        assert opening is not None
        await self.client.result(opening, lambda _: self.core.close())

    def check_open(self) -> None:
        """Raise the link's error if it has ended."""
        if self.error is not None:
            raise self.client.for_caller(self.error)
        if self.closing:
            report = CloseReport(By.LOCAL)
            raise LinkEnded(f"link {self.name!r} is being closed by this side", report, self.name)

    def start_closing(self, condition: str = "", description: str = "", info: Mapping[Any, Any] | None = None) -> None:
        """Close it, without waiting for the peer's answer."""
        if not self.closing and self.core.report is None:
            self.closing = True
            self.before_end()
            with suppress(EndpointClosed):  # It ends with its session or connection.
                self.core.close(condition, description, info)
            self.client.driver.flush_soon()

    def start_detaching(self) -> None:
        """Detach it, without waiting for the peer's answer."""
        if not self.closing and self.core.report is None:
            self.closing = True
            self.before_end()
            with suppress(EndpointClosed):
                self.core.detach()

    async def wait_ended(self) -> CloseReport:
        """Wait until it has ended; return how."""
        self.client.driver.flush_soon()
        if not self.closed.done:
            await self.client.wait(self.closed)
        assert self.error is not None
        report = self.error.report
        assert report is not None
        return report

    def end(self, report: CloseReport, cause: AmqpError | None) -> None:
        """End it and everybody who waits for it."""
        if self.error is None:
            self.error = LinkEnded(f"link {self.name!r}: {report}", report, self.name)
            self.error.__cause__ = cause
            is_own = is_own_close(report) or (self.closing and report.by is By.LOCAL)
            self.on_ended(self.error, is_own and cause is None)
            self.client.complete(self.closed)

    # Hooks of senders and receivers.

    def before_end(self) -> None:
        """Do what has to be done before this end closes or detaches it."""

    def on_ended(self, error: LinkEnded, is_own: bool) -> None:
        """Wake waiting callers; `error` is for them. `is_own` says that this end's user has asked for the end."""

    def credit_changed(self, event: CreditChanged) -> None:
        """Handle new credit, or room in the session's window."""

    def drained(self) -> None:
        """Handle the end of a drain: the sender has used or given up its credit."""

    def resumed(self, event: Resumed) -> None:
        """Handle the end of a comparison of both unsettled maps."""


class SenderState(LinkRoutes[CoreSender]):
    """A sender's routes: who waits for credit, in turn.

    `waiters` are these, `woken` counts those who have their turn and haven't sent yet.
    """

    __slots__ = ("waiters", "woken")

    def __init__(self, session: SessionState, core: CoreSender) -> None:
        super().__init__(session, core)
        self.waiters: deque[Pending[None]] = deque()
        self.woken = 0

    async def may_send(self) -> None:
        """Wait while the peer reads too slowly, and for those who came before."""
        self.check_open()
        client = self.client
        while client.driver.congested and self.error is None:
            await client.driver.pace()
        if client.core.send_backlog >= client.flush_octets:
            await client.room()
        if self.waiters:
            await self.turn(first=False)

    async def wait_credit(self) -> int:
        """Wait until the peer accepts a message; return how many. Raises LinkEnded."""
        self.check_open()
        while self.core.credit <= 0:
            await self.turn(first=False)
        self.wake()
        return self.core.credit

    async def turn(self, first: bool) -> None:
        """Wait for a turn to try; raise the link's error if it has ended."""
        self.check_open()
        client = self.client
        pending: Pending[None] = client.pending()
        if first:
            self.waiters.appendleft(pending)
        else:
            self.waiters.append(pending)
        try:
            # Credit is an answer: the connection must be read while somebody waits for it.
            await client.wait(pending)
        except BaseException:
            if pending in self.waiters:
                self.waiters.remove(pending)
                client.complete(pending)
            else:
                self.woken -= 1
                self.wake()
                client.nudge()
            raise
        self.woken -= 1
        self.check_open()

    def wake(self) -> None:
        """Let as many callers try as there is credit that nobody is about to use."""
        waiters = self.waiters
        credit = self.core.credit - self.woken if waiters else 0
        if credit > 0:
            while waiters and credit > 0:
                self._wake_one()
                credit -= 1
            self.client.nudge()

    def answer_drain(self) -> bool:
        """Give the credit back if nobody here has more to send; return whether that is decided."""
        if not self.core.is_open or self.error is not None:
            return True
        if self.woken:
            return False
        if not self.waiters:
            try:
                self.core.drained()
            except LocalProtocolError:
                return False  # A delivery is resumed, or there is no room for a frame: later.
        return True

    def credit_changed(self, event: CreditChanged) -> None:
        self.wake()
        if event.drain and self not in self.client.draining:
            # Woken callers send first.
            self.client.draining.append(self)
            self.client.nudge()

    def resumed(self, event: Resumed) -> None:
        self.wake()

    def on_ended(self, error: LinkEnded, is_own: bool) -> None:
        while self.waiters:
            self._wake_one()

    def _wake_one(self) -> None:
        self.woken += 1
        self.client.complete(self.waiters.popleft())


class ReceiverState(LinkRoutes[CoreReceiver]):
    """A receiver's routes: the deliveries that nobody has taken, and what is to be granted and accepted.

    `target` is the credit to keep, 0 if the user manages it; `taken` counts the deliveries taken since it was topped
    up, which happens after `batch` of them. `drains` are those who wait for the end of a drain: their result is True
    if it has come. `cancelled`: nothing more comes. `accepted` has the deliveries to accept before the next octets are
    sent, by delivery-id.
    """

    __slots__ = ("accepted", "batch", "cancelled", "drains", "inbox", "taken", "target")

    def __init__(
        self, session: SessionState, core: CoreReceiver, credit: int, inbox: Inbox[Delivery] | None = None
    ) -> None:
        super().__init__(session, core)
        self.inbox: Inbox[Delivery] = Inbox(self.client, 1, False) if inbox is None else inbox
        self.target = credit
        self.batch = (credit + 1) // 2
        self.taken = 0
        self.cancelled = False
        self.drains: list[Pending[Any]] = []
        self.accepted: dict[int, Delivery] = {}
        session.inboxes[core.handle] = self.inbox

    def flow(self, credit: int) -> None:
        """Let the sender send `credit` more deliveries, in place of its remaining credit. Raises LinkEnded."""
        self.check_takes()
        self.core.flow(credit)
        self.client.driver.flush_soon()

    def top_up(self) -> None:
        """Grant credit for the deliveries that were taken."""
        self.taken = 0
        core = self.core
        if core.is_open and not self.closing and core.top_up(self.target - len(self.inbox.items)):
            self.client.driver.flush_soon()

    async def drain(self, timer: Pending[None] | None = None) -> bool:
        """Wait until the credit is used or given up, or `timer` is done; return whether it is. Raises LinkEnded."""
        self.check_open()
        if self.core.credit <= 0:
            return True
        client = self.client
        self.core.drain()
        client.driver.flush_soon()
        pending: Pending[Any] = client.pending()
        self.drains.append(pending)
        try:
            if timer is not None:
                client.bound(timer, pending)
            if not pending.done:
                await client.wait(pending)
        finally:
            client.complete(pending)
            self.drains.remove(pending)
            while self.inbox.sleepers:
                self.inbox.wake()
            client.nudge()
        self.check_open()
        return pending.result is True

    async def cancel(self) -> None:
        """Take the credit back for good; the inbox ends behind what came before."""
        self.target = 0
        if not (self.cancelled or self.inbox.ended or self.closing):
            with suppress(LinkEnded):  # The inbox has ended with its link.
                await self.drain()
                self.cancelled = True
                self.inbox.end(None)

    def check_takes(self) -> None:
        """Raise the link's error if it has ended, LocalProtocolError if it is cancelled."""
        self.check_open()
        if self.cancelled:
            raise LocalProtocolError("the receiver is cancelled, nothing more comes; open another one")

    async def take_back(self, seconds: float) -> None:
        """Drain; if the sender doesn't answer within so many seconds, take its credit away."""
        client = self.client
        timer = client.after(seconds)
        try:
            if not await self.drain(timer):
                self.flow(0)
        finally:
            client.stop(timer)

    async def settle(self, events: Iterable[Delivery], state: DeliveryState) -> None:
        """Give deliveries an outcome; where the receiver settles second, wait until the sender has settled too."""
        if self.error is not None:
            self.check_open()
        if self.accepted:
            self.say_accepted()
        client = self.client
        handles = self.core.update(events, state)
        client.driver.flush_soon()
        for handle in handles:
            if not handle.done:
                await client.result(handle)

    def accept_later(self, event: Delivery) -> bool:
        """Accept a delivery together with others, before the next octets are sent: one frame for all with consecutive
        ids. Return False if that is impossible.
        """
        core = self.core
        if event.delivery_tag not in core.unsettled or core.rcv_settle_mode or self.error is not None:
            return False
        accepted = self.accepted
        if event.delivery_id in accepted:
            return False
        if not accepted:
            self.client.accepting.append(self)
        accepted[event.delivery_id] = event
        return True

    def say_accepted(self) -> None:
        """Queue the acceptances collected by `accept_later`."""
        unsettled = self.core.unsettled
        events = [each for each in self.accepted.values() if each.delivery_tag in unsettled]
        if events and self.core.is_open:
            try:
                self.core.update(events, ACCEPTED)
            except LimitExceeded:
                self.client.accepting.append(self)  # There is no room for them at the moment.
                return
        self.accepted.clear()

    def before_end(self) -> None:
        """Return untaken deliveries to the sender, and iterate no more."""
        self.say_accepted()
        unsettled = self.core.unsettled
        items = [event for event in self.inbox.items if event.delivery_tag in unsettled]
        if items and self.core.is_open:
            self.core.release(*items)
        self.inbox.clear()

    def drained(self) -> None:
        for pending in self.drains:
            self.client.complete(pending, True)

    def on_ended(self, error: LinkEnded, is_own: bool) -> None:
        """Forget unsettled deliveries: the sender will deliver them again."""
        self.accepted.clear()
        self.inbox.items.extend([event for event in self.inbox.clear() if event.settled])
        self.inbox.end(None if is_own else error)
        self.drained()


class SessionState:
    """A session's routes: where its events go.

    `links` are its links' by this end's handle, `inboxes` those of its receivers. `coordinator` is the link to the
    peer's transaction coordinator once there is one. `closed` ends when the session has ended, and `error` says why
    then; `failure` is the error that ends it.
    """

    __slots__ = (*("client", "closed", "coordinator", "core", "error", "failure", "inboxes", "links", "streams"),)

    def __init__(self, client: LinkClient, core: CoreSession) -> None:
        self.client = client
        self.core = core
        self.links: dict[int, LinkRoutes[Any]] = {}
        self.inboxes: dict[int, Inbox[Delivery]] = {}
        self.streams: Streams = []
        self.coordinator: SenderState | None = None
        self.closed: Pending[None] = client.pending()
        self.failure: AmqpError | None = None
        self.error: EndpointClosed | None = None
        client.sessions[core.channel] = self

    def link_closed(self, event: LinkClosed, cause: AmqpError | None) -> None:
        """Handle the end of a link."""
        link = self.links.pop(event.link, None)
        self.inboxes.pop(event.link, None)
        if link is not None:
            link.end(event.report, self.failure or cause)

    def end(self, report: CloseReport, cause: AmqpError | None) -> None:
        """End everything on the session."""
        for link in list(self.links.values()):
            link.end(report, cause)
        if self.error is None:
            error = self.error = EndpointClosed(f"session {self.core.channel}: {report}", report)
            error.__cause__ = cause
            end_streams(self.streams, None if is_own_close(report) and cause is None else error)

    def close(self, report: CloseReport, cause: AmqpError | None) -> None:
        """Handle the end of the session and its remaining links."""
        self.end(report, self.failure or cause)
        self.links.clear()
        self.inboxes.clear()
        self.client.complete(self.closed)


__all__ = ["ACCEPTED", "LinkClient", "LinkRoutes", "ReceiverState", "SenderState", "SessionState"]
