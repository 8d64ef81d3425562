"""The routes of a client's sessions and links of 1.0: where their events go, and who waits (1.0 part 2 section 2.5).

On a client that recovers they outlive their connection. When it is lost, a link saves its state (`lost`). A link whose
terminus the peer keeps is attached again with its unsettled map, and goes on by the rules of part 2 section 2.6.13;
any other is attached as a new one, on which a sender sends its unsettled messages again. `Restoring` says when.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

from ...amqp_1_0 import (
    Accepted,
    Connection,
    CreditChanged,
    Delivery,
    LinkClosed,
    Message,
    Resumed,
    TerminusExpiryPolicy,
    TransactionalState,
)
from ...amqp_1_0 import Receiver as CoreReceiver
from ...amqp_1_0 import Sender as CoreSender
from ...errors import AmqpError, EndpointClosed, LimitExceeded, LinkEnded, LocalProtocolError, StaleDelivery
from ...events import By, CloseReport, Pending, Signal
from ..driving import BaseClient, end_streams, is_own_close
from ..inbox import Inbox, Streams
from ..recovery import InDoubt

if TYPE_CHECKING:
    from ...amqp_1_0 import DeliveryState, LinkState, SavedDelivery
    from ...amqp_1_0 import Session as CoreSession

CoreT = TypeVar("CoreT", bound="CoreSender | CoreReceiver")

ACCEPTED: Final = Accepted()
_LASTING: Final = frozenset({TerminusExpiryPolicy.CONNECTION_CLOSE, TerminusExpiryPolicy.NEVER})
"""The expiry policies of termini that may outlive their connection."""
WHILE_LOST: Final = CloseReport(By.LOCAL, 200, "closed while the connection was lost")


_SETTLED_KEPT: Final = 64
"""Settled deliveries that `ReceiverState.held` may have beyond as many as are unsettled."""


class Taken:
    """A delivery that a user has taken from a link that may be resumed: its event in the link's latest attachment."""

    __slots__ = ("attachment", "event")

    def __init__(self, event: Delivery, attachment: int) -> None:
        self.event = event
        self.attachment = attachment


class LinkClient(BaseClient[Connection]):
    """A client of 1.0, as its sessions and links see it.

    `prefix` is unique among all programs, and so are the message-ids that begin with it. `told` has the receiver's
    states of unsettled deliveries, by their pendings' keys. `accepting` are the receivers with deliveries to accept
    before the next octets are sent, `draining` the senders that were asked to give back what credit they don't use.

    With recovery, `lost_sessions` are those to begin again. `doubts` are the messages to report as in doubt, and
    `resent` counts those that were sent again.
    """

    def __init__(self, core: Connection, prefix: str) -> None:
        super().__init__(core)
        self.prefix = prefix
        self.requesters = 0
        self.sessions: dict[int, SessionState] = {}
        self.told: dict[object, object] = {}
        self.accepting: list[ReceiverState] = []
        self.draining: list[SenderState] = []
        self.lost_sessions: list[SessionState] = []
        self.doubts: list[InDoubt] = []
        self.resent = 0

    def route_now(self) -> None:
        """Route the events that a command has caused, although no octets came."""
        while not isinstance(self.next_event(), Signal):
            pass
        self.driver.flush_soon()

    def say_accepted(self) -> None:
        """Queue the dispositions for deliveries accepted since the last octets were sent."""
        receivers, self.accepting = self.accepting, []
        for receiver in receivers:
            receiver.say_accepted()

    @property
    def resends(self) -> bool:
        """Whether messages in doubt are sent again, rather than reported."""
        return self.recovery is not None and self.recovery.policy.in_doubt == "resend"


class LinkRoutes(Generic[CoreT]):
    """The routes of one attachment of a link: where its events go, and who waits for them.

    `closed` ends when the attachment has ended, and `error` says why then. `closing` says that this end closes or
    detaches it.

    With recovery it lives on when its connection is lost: `asked` are the arguments to attach it again with (None: it
    isn't), `attachment` counts, `saved` is its state while it `is_lost`, and `waits` are the pendings of its unsettled
    deliveries, by tag. `opening` is the caller who waits for its first attachment. `resumes` says that the peer keeps
    its terminus.
    """

    __slots__ = (
        *("asked", "attachment", "client", "closed", "closing", "core", "error", "is_lost", "name", "opening"),
        *("resumes", "saved", "session", "waits"),
    )

    def __init__(self, session: SessionState, core: CoreT, asked: dict[str, Any] | None = None) -> None:
        self.session = session
        self.client = session.client
        self.core: CoreT = core
        self.name = core.name
        self.closed: Pending[None] = self.client.pending()
        self.closing = False
        self.error: LinkEnded | None = None
        self.asked = asked
        self.attachment = 0
        self.is_lost = self.resumes = False
        self.opening: Pending[None] | None = None
        self.saved: LinkState | None = None
        self.waits: dict[bytes, Pending[Any]] = {}
        session.links[core.handle] = self

    @property
    def report(self) -> CloseReport | None:
        """Why it ended, once it has."""
        return None if self.error is None and self.client.restored is not None else self.core.report

    async def opened(self) -> None:
        """Wait for the peer's attach. Raises LinkEnded if it refuses.

        A caller that is gone has no link to close, so a late one is closed here.
        """
        opening = self.core.opening
        assert opening is not None
        await self.client.result(opening, lambda _: self.start_closing())

    def check_open(self) -> None:
        """Raise the link's error if it has ended."""
        if self.error is not None:
            raise self.client.for_caller(self.error)
        if self.closing:
            report = CloseReport(By.LOCAL)
            raise LinkEnded(f"link {self.name!r} is being closed by this side", report, self.name)

    def start_closing(self, condition: str = "", description: str = "", info: Mapping[Any, Any] | None = None) -> None:
        """Close it, without waiting for the peer's answer."""
        if self.is_dead:
            self.end(WHILE_LOST, None)
        elif not self.closing and self.core.report is None:
            self.closing = True
            self.before_end()
            with suppress(EndpointClosed):  # It ends with its session or connection.
                self.core.close(condition, description, info)
            self.client.driver.flush_soon()

    def start_detaching(self) -> None:
        """Detach it, without waiting for the peer's answer."""
        if self.is_dead:
            self.end(WHILE_LOST, None)
        elif not self.closing and self.core.report is None:
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
            waits = [*self.waits.values(), *([] if self.opening is None else [self.opening])]
            self.waits, self.opening = {}, None
            for pending in waits:
                if not pending.done:
                    self.client.fail(pending, self.error)

    # Recovery.

    @property
    def is_dead(self) -> bool:
        """Whether it waits to be attached again, and nothing can be sent on it."""
        return self.is_lost and self.error is None and self.core.report is not None

    def lost(self) -> bool:
        """Note that the connection is lost, and will be opened again; return whether the link is attached again."""
        core = self.core
        if self.asked is None or self.closing or self.error is not None:
            report = WHILE_LOST if self.closing else core.report
            assert report is not None
            self.end(report, None)
            return False
        self.attachment += 1
        opening = core.opening
        if not self.is_lost:
            if opening is not None and opening.error is not None:
                self.client.reopen(opening)
                self.opening = opening
            self.resumes = core.remote is not None and outlives(self.terminus)
            self.remember()
            self.is_lost = True
        return True

    def attach(self, resume: bool) -> Pending[None]:
        """Attach it again, with `resume` by its unsettled map if the peer keeps its terminus; return the call. Raises
        AmqpError."""
        asked, saved = self.asked, self.saved
        assert asked is not None
        assert saved is not None
        self.resumes = self.resumes and resume
        self.core = self.open_core(asked, saved)
        self.core.go_on_with(self.waits)
        self.session.links[self.core.handle] = self
        opening = self.core.opening
        assert opening is not None
        return opening

    def attached(self) -> None:
        """Go on: the peer has attached it, too."""
        remote = self.core.remote
        # Without a map, not even an empty one, the peer knows nothing of it.
        self.resumes = self.resumes and remote is not None and remote.unsettled is not None
        self.go_on()
        self.is_lost = False
        self.saved = None
        self.waits = {}
        opening, self.opening = self.opening, None
        if opening is not None:
            self.client.answer(opening, None)

    @property
    def terminus(self) -> Any:
        """The terminus at the peer."""
        raise NotImplementedError

    def remember(self) -> None:
        """Save what goes over to the next connection: `saved`, and the pendings in `waits`."""
        raise NotImplementedError

    def open_core(self, asked: dict[str, Any], saved: LinkState) -> CoreT:
        """Send the attach on the session's new core."""
        raise NotImplementedError

    def go_on(self) -> None:
        """Do what follows the peer's attach; `resumes` says whether it has resumed the link."""
        raise NotImplementedError

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

    `waiters` are these, `woken` counts those who have their turn and haven't sent yet. `once`: nothing is sent again,
    because only this connection has the address for replies.
    """

    __slots__ = ("once", "waiters", "woken")

    def __init__(self, session: SessionState, core: CoreSender, asked: dict[str, Any] | None = None) -> None:
        super().__init__(session, core, asked)
        self.waiters: deque[Pending[None]] = deque()
        self.woken = 0
        self.once = False

    async def may_send(self) -> None:
        """Wait while the peer reads too slowly, and for those who came before."""
        self.check_open()
        client = self.client
        while client.driver.congested and self.error is None:
            await client.driver.pace()
        if client.core.send_backlog >= client.flush_octets:
            await client.room()
        while self.core.kept_octets >= client.kept_high and self.error is None:
            await client.wait(next(iter(self.core.pending.values())))
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

    @property
    def terminus(self) -> Any:
        return self.core.target

    def remember(self) -> None:
        core, client = self.core, self.client
        saved, pending, side = core.saved_state(), core.pending, core.session.side
        kept: list[SavedDelivery] = []
        for each in saved.unsettled:
            tag = each.delivery_tag
            delivery, sent = core.unsettled.get(tag), pending.get(tag)
            in_transaction = delivery is not None and isinstance(delivery.states[side], TransactionalState)
            if each.payload is None or in_transaction or self.once:
                continue
            if not (self.resumes or client.resends):
                self._doubt(each)
                continue
            kept.append(each)
            if sent is not None:
                client.told.pop(sent.key, None)
                client.reopen(sent)
                self.waits[tag] = sent
        self.saved = with_unsettled(saved, kept)

    def open_core(self, asked: dict[str, Any], saved: LinkState) -> CoreSender:
        if not self.resumes:
            again: dict[str, Any] = {**asked, "target": asked["target"] or saved.target, "state": None}
            return self.session.core.open_sender(name=self.name, **again)
        again = {**asked, "state": saved}
        return self.session.core.open_sender(**again)

    def go_on(self) -> None:
        core, client, saved = self.core, self.client, self.saved
        asked = self.asked
        assert saved is not None
        assert asked is not None
        if self.resumes:
            return
        if client.resends:
            # Where it was attached with its map, the core has them already.
            client.resent += len(core.resending) or core.send_again(saved)
            return
        error = LinkEnded(f"link {self.name!r}: the peer has forgotten the link", core.report, self.name)
        for each in core.withdraw():
            self._doubt(each)
            pending = self.waits.get(each.delivery_tag)
            if pending is not None and not pending.done:
                client.fail(pending, error)

    def _doubt(self, saved: SavedDelivery) -> None:
        message = Message.from_wire(saved.payload or b"")
        self.client.doubts.append(InDoubt((self.name, self.core.address or ""), message))

    def _wake_one(self) -> None:
        self.woken += 1
        self.client.complete(self.waiters.popleft())


class ReceiverState(LinkRoutes[CoreReceiver]):
    """A receiver's routes: the deliveries that nobody has taken, and what is to be granted and accepted.

    `target` is the credit to keep, 0 if the user manages it; `taken` counts the deliveries taken since it was topped
    up, which happens after `batch` of them. `drains` are those who wait for the end of a drain: their result is True
    if it has come. `cancelled`: nothing more comes. `accepted` has the deliveries to accept before the next octets are
    sent, by delivery-id.

    If its source may outlive the connection, `held` are the deliveries that were taken, by tag, some of them settled.
    After a loss `awaited` are those that go on, until they have come once more, and `owed` those of them to accept
    then. `granted` is the credit of a user who manages it.
    """

    __slots__ = (
        *("accepted", "awaited", "batch", "cancelled", "drains", "granted", "held", "inbox", "owed", "taken", "target"),
    )

    def __init__(
        self,
        session: SessionState,
        core: CoreReceiver,
        credit: int,
        inbox: Inbox[Delivery] | None = None,
        asked: dict[str, Any] | None = None,
    ) -> None:
        super().__init__(session, core, asked)
        self.held: dict[bytes, Taken] | None = None
        if inbox is None:
            local = core.local
            if asked is not None and local is not None and outlives(local.source):
                self.held = {}
                inbox = LastingInbox(self)
            else:
                inbox = Inbox(self.client, 1, False)
        self.inbox: Inbox[Delivery] = inbox
        self.awaited: dict[bytes, Pending[None]] = {}
        self.owed: frozenset[bytes] = frozenset()
        self.granted = 0
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
        if self.is_dead:
            self.granted = credit
            return
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
        client = self.client
        await client.until_restored()
        self.check_open()
        if self.core.credit <= 0:
            return True
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
        pendings = self.core.update(events, state)
        client.driver.flush_soon()
        for pending in pendings:
            if not pending.done:
                await client.result(pending)

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
        self._forget_unsettled()
        self.inbox.end(None if is_own else error)
        self.drained()
        self._go_on_without()

    @property
    def terminus(self) -> Any:
        return self.core.source

    def take(self, event: Delivery) -> Taken | None:
        """Note a delivery that the user takes, on a link that may be resumed."""
        held = self.held
        if held is None:
            return None
        found = held[event.delivery_tag] = Taken(event, self.attachment)
        if len(held) > 2 * len(self.core.unsettled) + _SETTLED_KEPT:
            for tag in [each for each in held if each not in self.core.unsettled]:
                del held[tag]
        return found

    def stale(self) -> StaleDelivery:
        """Return the error for a delivery of an earlier connection that can't be settled any more."""
        text = f"link {self.name!r}: the delivery came on a connection that was lost since; it will come again"
        return StaleDelivery(text, self.core.report)

    async def until_resumed(self, delivery: Taken) -> None:
        """Wait until it is known whether a delivery of an earlier connection goes on. Raises StaleDelivery, LinkEnded
        if it doesn't."""
        self.check_open()
        pending = self.awaited.get(delivery.event.delivery_tag)
        if pending is not None:
            await self.client.wait(pending)
            self.check_open()
        if delivery.attachment != self.attachment:
            raise self.stale()

    def arrived(self, event: Delivery) -> None:
        """Take a delivery that goes on out of the inbox again: the user has it."""
        tag = event.delivery_tag
        pending = self.awaited.pop(tag, None)
        if pending is None or self.held is None or not event.resumed:
            return
        self.inbox.items.pop()
        taken = self.held[tag]
        taken.event, taken.attachment = event, self.attachment
        if tag in self.owed:
            self.accept_later(event)
            self.client.driver.flush_soon()
        self.client.complete(pending)

    def remember(self) -> None:
        core, side = self.core, self.core.session.side
        held = self.held if self.resumes and self.held is not None else {}
        self.owed = frozenset(event.delivery_tag for event in self.accepted.values())
        self.granted = 0 if self.target else core.credit
        undecided: dict[bytes, bytes] = {}
        for tag, delivery in core.unsettled.items():
            if delivery.states[side] is None and tag in held:
                undecided[tag] = held[tag].event.payload
                self.awaited[tag] = self.client.pending()
            elif self.resumes and delivery.pending is not None and is_open_again(delivery.states[side]):
                self.client.reopen(delivery.pending)
                self.waits[tag] = delivery.pending
        self.saved = core.saved_state(undecided)
        self._forget_unsettled()
        self.drained()  # There is no credit any more.

    def open_core(self, asked: dict[str, Any], saved: LinkState) -> CoreReceiver:
        wanted = max(0, self.target - len(self.inbox.items)) if self.target else self.granted
        if not self.resumes:
            again: dict[str, Any] = {**asked, "source": asked["source"] or saved.source, "state": None}
            return self.session.core.open_receiver(name=self.name, credit=wanted, **again)
        # Deliveries that come once more take credit, too.
        credit = wanted + len(saved.unsettled)
        again = {**asked, "state": saved}
        return self.session.core.open_receiver(credit=credit, **again)

    def attach(self, resume: bool) -> Pending[None]:
        opening = super().attach(resume)
        self.session.inboxes[self.core.handle] = self.inbox
        self.taken = 0
        return opening

    def go_on(self) -> None:
        if self.resumes:
            return
        error = StaleDelivery(f"link {self.name!r}: the peer has forgotten the link; the delivery will come again")
        for pending in self.waits.values():
            if not pending.done:
                self.client.fail(pending, error)
        self._go_on_without()

    def resumed(self, event: Resumed) -> None:
        for tag in event.forgotten:
            self._go_on_without(tag)

    def _go_on_without(self, *tags: bytes) -> None:
        """Let those go on who wait for deliveries that don't come once more; without tags for any."""
        for tag in tags or tuple(self.awaited):
            pending = self.awaited.pop(tag, None)
            if pending is not None:
                self.client.complete(pending)

    def _forget_unsettled(self) -> None:
        self.accepted.clear()
        self.inbox.items.extend([event for event in self.inbox.clear() if event.settled])


class LastingInbox(Inbox[Delivery]):
    """The inbox of a receiver that may be resumed: deliveries that its user has taken come once more then."""

    __slots__ = ("link",)

    def __init__(self, link: ReceiverState) -> None:
        super().__init__(link.client, 1, True)
        self.link = link

    def count(self, item: Delivery) -> None:
        self.link.arrived(item)

    def taken(self, item: Delivery) -> None:
        """Nothing: the link's credit bounds it."""


class SessionState:
    """A session's routes: where its events go.

    `links` are its links' by this end's handle, `inboxes` those of its receivers. `coordinator` is the link to the
    peer's transaction coordinator once there is one. `closed` ends when the session has ended, and `error` says why
    then; `failure` is the error that ends it.

    With recovery it lives on when its connection is lost: `asked` are the arguments to begin it again with (None: it
    isn't), `lost_links` the links to attach again then, and `opening` the caller who waits for its first begin.
    """

    __slots__ = (
        *("asked", "client", "closed", "closing", "coordinator", "core", "error", "failure", "inboxes", "is_lost"),
        *("links", "lost_links", "opening", "streams"),
    )

    def __init__(self, client: LinkClient, core: CoreSession, asked: dict[str, Any] | None = None) -> None:
        self.client = client
        self.core = core
        self.links: dict[int, LinkRoutes[Any]] = {}
        self.inboxes: dict[int, Inbox[Delivery]] = {}
        self.streams: Streams = []
        self.coordinator: SenderState | None = None
        self.closed: Pending[None] = client.pending()
        self.failure: AmqpError | None = None
        self.error: EndpointClosed | None = None
        self.asked = asked
        self.closing = self.is_lost = False
        self.lost_links: list[LinkRoutes[Any]] = []
        self.opening: Pending[None] | None = None
        client.sessions[core.channel] = self

    @property
    def report(self) -> CloseReport | None:
        """Why it ended, once it has."""
        return None if self.error is None and self.client.restored is not None else self.core.report

    @property
    def is_over(self) -> bool:
        """Whether the core's session has ended, and its links with it."""
        return self.core.report is not None

    def forget(self, pending: int) -> None:
        """Forget the routes of an attachment that has ended."""
        self.links.pop(pending, None)
        self.inboxes.pop(pending, None)

    def link_closed(self, event: LinkClosed, cause: AmqpError | None) -> None:
        """Handle the end of a link."""
        link = self.links.pop(event.link, None)
        self.inboxes.pop(event.link, None)
        if link is not None:
            link.end(event.report, self.failure or cause)

    def end(self, report: CloseReport, cause: AmqpError | None) -> None:
        """End everything on the session."""
        for link in [*self.links.values(), *self.lost_links]:
            link.end(report, cause)
        if self.error is None:
            error = self.error = EndpointClosed(f"session {self.core.channel}: {report}", report)
            error.__cause__ = cause
            end_streams(self.streams, None if is_own_close(report) and cause is None else error)

    def close(self, report: CloseReport, cause: AmqpError | None) -> None:
        """Handle the end of the session and its remaining links."""
        self.end(report, self.failure or cause)
        self.links.clear()
        self.lost_links.clear()
        self.inboxes.clear()
        self.client.complete(self.closed)
        opening, self.opening = self.opening, None
        if opening is not None and self.error is not None:
            self.client.fail(opening, self.error)

    # Recovery.

    @property
    def is_dead(self) -> bool:
        """Whether it waits to be begun again, and nothing can be sent on it."""
        return self.is_lost and self.error is None and self.core.report is not None

    def lost(self) -> bool:
        """Note that the connection is lost, and will be opened again; return whether the session is begun again."""
        core = self.core
        if self.asked is None or self.closing or self.error is not None:
            report = WHILE_LOST if self.closing else core.report
            assert report is not None
            self.close(report, None)
            return False
        if not self.is_lost and core.opening is not None and core.opening.error is not None:
            self.client.reopen(core.opening)
            self.opening = core.opening
        self.is_lost = True
        links = [*dict.fromkeys([*self.lost_links, *self.links.values()])]
        self.links.clear()
        self.inboxes.clear()
        self.coordinator = None
        self.lost_links = [each for each in links if each.lost()]
        return True

    def begin(self) -> Pending[None]:
        """Begin it again on the new connection; return the call. Raises AmqpError."""
        assert self.asked is not None
        self.core = self.client.core.open_session(**self.asked)
        self.client.sessions[self.core.channel] = self
        self.failure = None
        opening = self.core.opening
        assert opening is not None
        return opening

    def begun(self) -> None:
        """Go on: the peer has begun it, too."""
        opening, self.opening = self.opening, None
        if opening is not None:
            self.client.answer(opening, None)

    def restored(self) -> None:
        """Note that all links are attached again that can be."""
        self.is_lost = False
        self.lost_links.clear()


def outlives(terminus: Any) -> bool:
    """Whether a terminus may be kept when its connection is lost (part 3 section 3.5.6); a dynamic node isn't."""
    if terminus is None or getattr(terminus, "dynamic", False):
        return False
    policy, seconds = getattr(terminus, "expiry_policy", None), getattr(terminus, "timeout", 0)
    return policy == TerminusExpiryPolicy.NEVER or (policy in _LASTING and bool(seconds))


def with_unsettled(state: LinkState, unsettled: Iterable[SavedDelivery]) -> LinkState:
    """Return a link's state with only these deliveries."""
    fields: dict[str, Any] = {name: getattr(state, name) for name in state.__match_args__}
    fields["unsettled"] = tuple(unsettled)
    return type(state)(**fields)


def is_open_again(state: object) -> bool:
    """Whether a receiver's state of a delivery outlives its connection: that of a transaction doesn't."""
    return state is not None and not isinstance(state, TransactionalState)


__all__ = ["ACCEPTED", "WHILE_LOST", "LinkClient", "LinkRoutes", "ReceiverState", "SenderState", "SessionState"]
