"""The routes of a client's sessions and links of 1.0: where their events go, and who waits (1.0 part 2 section 2.5).

On a client that recovers they outlive their connection. When it is lost, a link saves its state (`lost`). A link whose
terminus the peer keeps is attached again with its unsettled map, and goes on by the rules of part 2 section 2.6.13;
any other is attached as a new one, on which a sender sends its unsettled messages again. `Restoring` says when.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, ClassVar, Final, Generic, Protocol, TypeVar

from ...amqp_1_0 import Accepted, Connection, CreditChanged, Delivery, LinkClosed, Message, Resumed
from ...amqp_1_0 import Receiver as CoreReceiver
from ...amqp_1_0 import Sender as CoreSender
from ...amqp_1_0.codec.conditions import TerminusExpiryPolicy
from ...amqp_1_0.codec.performatives import TransactionalState
from ...errors import AmqpError, EndpointClosed, LimitExceeded, LinkEnded, LocalProtocolError, StaleDelivery
from ...events import By, CloseReport, Pending, Signal
from ..driving import BaseClient, end_streams, is_own_close
from ..inbox import Inbox, Streams
from ..recovery import InDoubt, is_told

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
        # As it came last: a resumed link has another delivery-id for it.
        self.event = event
        # The number of the attachment that it came on, counted by its link.
        self.attachment = attachment


class Returns:
    """How often a link or session has come back in a row in a connection that lives, for how long it was waited for
    that, and how often a link was sent to another address.
    """

    __slots__ = ("count", "hops", "waited")

    def __init__(self) -> None:
        self.begin_anew()

    def begin_anew(self) -> None:
        """Forget what has been."""
        self.count = 0
        self.hops = 0
        self.waited = 0.0


class Return(Protocol):
    """The return of a session, or of one `link` of it, in a connection that lives; `back` ends with it."""

    @property
    def link(self) -> LinkRoutes[Any] | None: ...
    @property
    def back(self) -> Pending[None]: ...
    def is_at(self, link: LinkRoutes[Any] | None) -> bool: ...
    def refused(self, report: CloseReport) -> None: ...
    def cancel(self) -> None: ...
    def leave(self) -> None: ...


class Tokens(Protocol):
    """The tokens of a connection, for the entities of its links."""

    async def admit(self, address: object) -> str:
        """Put a token for the entity of an address, unless there is a good one; return the entity."""
        ...

    async def put(self, entity: str) -> None:
        """Put a token for an entity now, and keep it good."""
        ...

    def lost(self) -> None:
        """Note that the connection is lost."""
        ...

    def restore(self, then: Callable[[], object]) -> None:
        """Put all tokens again, then go on."""
        ...


class LinkClient(BaseClient[Connection]):
    """A client of 1.0, as its sessions and links see it."""

    def __init__(self, core: Connection, prefix: str) -> None:
        super().__init__(core)
        # Unique among all programs, and so are the message-ids that begin with it.
        self.prefix = prefix
        # How many were opened: each adds its number to `prefix`.
        self.requesters = 0
        # By this end's channel: those that are begun, or being begun.
        self.sessions: dict[int, SessionState] = {}
        # The receiver's states of deliveries that this end sent and that aren't settled, by the keys of their pendings.
        self.told: dict[object, object] = {}
        # Receivers with deliveries to accept before octets are sent.
        self.accepting: list[ReceiverState] = []
        # Senders that were asked to give back what credit they don't use.
        self.draining: list[SenderState] = []
        # Those of the lost connection, to begin again.
        self.lost_sessions: list[SessionState] = []
        # Messages to be reported as in doubt once all is restored.
        self.doubts: list[InDoubt] = []
        # How many messages were sent again.
        self.resent = 0
        # The tokens of a connection that has to put some.
        self.claims: Tokens | None = None

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

    def forget_lost(self, session: SessionState) -> None:
        """Note that a session is there again, or is over."""
        self.lost_sessions = [each for each in self.lost_sessions if each is not session]

    @property
    def most_tries(self) -> int:
        """The connections with which a message may be lost until it is reported."""
        return 0 if self.recovery is None else self.recovery.policy.tries


class LinkRoutes(Generic[CoreT]):
    """The routes of a link: where its events go, and who waits for them.

    With recovery it lives on when its connection is lost, with another link of the core for each attachment.
    """

    __slots__ = (
        *("asked", "attachment", "client", "closed", "closing", "core", "entity", "error", "given_up", "is_lost"),
        "name",
        *("opening", "resumes", "returns", "saved", "session", "waits"),
    )

    receives: ClassVar[bool]

    def __init__(self, session: SessionState, core: CoreT, asked: dict[str, Any] | None = None) -> None:
        # The routes of the session that it is on.
        self.session = session
        # Whose link it is.
        self.client = session.client
        # The link of this attachment; recovery puts another in its place.
        self.core: CoreT = core
        # The one that both sides know the link by; it stays the same through recovery.
        self.name = core.name
        # Ends when the link has ended for good.
        self.closed: Pending[None] = self.client.pending()
        # Whether this end closes or detaches it.
        self.closing = False
        # Whether this end took it as over before the peer had answered that.
        self.given_up = False
        # Whose token it needs; "" without `claims`.
        self.entity = ""
        # Why it ended, once it has.
        self.error: LinkEnded | None = None
        # The arguments to attach it again with; None: it isn't.
        self.asked = asked
        # Counts how often it was lost: what came on an earlier attachment is stale unless it was resumed.
        self.attachment = 0
        # Whether its connection or session is gone, and it isn't attached again.
        self.is_lost = False
        # Whether the peer keeps its terminus, so that unsettled deliveries go on (part 2 section 2.6.13).
        self.resumes = False
        # The caller who waits for its first attachment, through a loss.
        self.opening: Pending[None] | None = None
        # What resumes it, while it `is_lost`.
        self.saved: LinkState | None = None
        # The pendings of its unsettled deliveries by tag, while it `is_lost`.
        self.waits: dict[bytes, Pending[Any]] = {}
        # How often in a row it came back by itself, for the delays.
        self.returns = Returns()

    @property
    def report(self) -> CloseReport | None:
        """Why it ended, once it has."""
        if self.error is not None:
            return self.error.report
        return None if self.client.restored is not None or self.is_lost else self.core.report

    async def until_back(self) -> None:
        """Wait while the connection, the session or the link is opened again. Raises its error if it isn't."""
        await self.client.until_restored()
        await self.session.until_back(self)
        self.check_open()

    @property
    def is_overdue(self) -> bool:
        """Whether it was given up, and the peer still owes its detach."""
        return self.given_up and self.session.links.get(self.core.handle) is self

    def give_up(self, report: CloseReport) -> None:
        """Take it as over although the peer hasn't answered."""
        self.start_closing()
        self.given_up = True
        self.end(report, None)

    async def opened(self) -> None:
        """Wait for the peer's attach. Raises LinkEnded if it refuses.

        A caller that is gone has no link to close, so a late one is closed here.
        """
        opening = self.core.opening
        assert opening is not None
        await self.client.result(opening, lambda _: self.start_closing(), f"attach of link {self.name!r}")

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
            await self.client.until(self.closed)
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
            self.opening = None
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
    """A sender's routes: who waits for credit, in turn."""

    __slots__ = ("once", "tries", "waiters", "woken")

    receives = False

    def __init__(self, session: SessionState, core: CoreSender, asked: dict[str, Any] | None = None) -> None:
        super().__init__(session, core, asked)
        # Those who wait, the first one first.
        self.waiters: deque[Pending[None]] = deque()
        # How many have their turn and haven't sent yet: their credit isn't free.
        self.woken = 0
        # Whether nothing is sent again, because only this connection has the address for replies.
        self.once = False
        # By tag: the connections that unsettled messages were lost with.
        self.tries: dict[bytes, int] = {}
        session.links[core.handle] = self

    async def may_send(self) -> None:
        """Wait while the peer reads too slowly, and for those who came before."""
        self.check_open()
        client = self.client
        while client.driver.congested and self.error is None:
            await client.driver.pace()
        if client.core.send_backlog >= client.flush_octets:
            await client.room()
        while self.core.kept_octets >= client.kept_high and self.error is None:
            oldest = next(iter(self.core.pending.values()))
            await client.within(client.outcome_limit, oldest, f"outcome of a message on link {self.name!r}")
        if self.waiters:
            await self.turn(first=False)

    async def wait_credit(self, seconds: float | None = None, *, strict: bool = False) -> int:
        """Wait until the peer accepts a message, for `seconds` or `outcome_timeout` at most; return how many. Raises
        LinkEnded. `strict` is that of `within`.
        """
        self.check_open()
        while self.core.credit <= 0:
            await self.turn(first=False, seconds=seconds, strict=strict)
        self.wake()
        return self.core.credit

    async def turn(self, first: bool, seconds: float | None = None, *, strict: bool = False) -> None:
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
            limit = client.outcome_limit if seconds is None else seconds
            await client.within(limit, pending, f"credit for link {self.name!r}", strict=strict)
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
        tries: dict[bytes, int] = {}
        for each in saved.unsettled:
            tag = each.delivery_tag
            delivery, sent = core.unsettled.get(tag), pending.get(tag)
            in_transaction = delivery is not None and isinstance(delivery.states[side], TransactionalState)
            if each.payload is None or in_transaction or self.once:
                continue
            # What only waits for credit wasn't lost with this connection.
            count = self.tries.get(tag, 0) + (delivery is not None)
            goes_on = self.resumes or (client.resends and not (sent is not None and is_told(sent)))
            if not goes_on or count >= client.most_tries:
                self._doubt(each)
                continue
            tries[tag] = count
            kept.append(each)
            if sent is not None:
                client.told.pop(sent.key, None)
                client.reopen(sent)
                self.waits[tag] = sent
        self.saved = with_unsettled(saved, kept)
        self.tries = tries

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
        told = [tag for tag, pending in self.waits.items() if is_told(pending)]
        if client.resends and not told:
            # Where it was attached with its map, the core has them already.
            client.resent += len(core.resending) or core.send_again(saved)
            return
        taken = core.withdraw() if core.resending or not client.resends else saved.unsettled
        left = set(told) if client.resends else {each.delivery_tag for each in taken}
        error = LinkEnded(f"link {self.name!r}: the peer has forgotten the link", core.report, self.name)
        for each in [each for each in taken if each.delivery_tag in left]:
            self._doubt(each)
            pending = self.waits.get(each.delivery_tag)
            if pending is not None and not pending.done:
                client.fail(pending, error)
        if client.resends:
            rest = [each for each in taken if each.delivery_tag not in left]
            client.resent += core.send_again(with_unsettled(saved, rest))

    def _doubt(self, saved: SavedDelivery) -> None:
        message = Message.from_wire(saved.payload or b"")
        self.client.doubts.append(InDoubt((self.name, self.core.address or ""), message))

    def _wake_one(self) -> None:
        self.woken += 1
        self.client.complete(self.waiters.popleft())


class ReceiverState(LinkRoutes[CoreReceiver]):
    """A receiver's routes: the deliveries that nobody has taken, and what is to be granted and accepted.

    A delivery of a link that may be resumed comes once more on the next attachment (part 2 section 2.6.13); `held`,
    `awaited` and `owed` see to it that its user notices nothing.
    """

    __slots__ = (
        *("accepted", "awaited", "batch", "cancelled", "drains", "granted", "held", "inbox", "owed", "taken", "target"),
    )

    receives = True

    def __init__(
        self,
        session: SessionState,
        core: CoreReceiver,
        credit: int,
        inbox: Inbox[Delivery] | None = None,
        asked: dict[str, Any] | None = None,
    ) -> None:
        super().__init__(session, core, asked)
        # Deliveries that were taken, by tag, some of them settled; None: its source doesn't outlive the connection.
        self.held: dict[bytes, Taken] | None = None
        if inbox is None:
            local = core.local
            if asked is not None and local is not None and outlives(local.source):
                self.held = {}
                inbox = LastingInbox(self)
            else:
                inbox = Inbox(self.client, 1, False)
        # Those that nobody has taken.
        self.inbox: Inbox[Delivery] = inbox
        # After a loss: deliveries that go on, until they have come once more, by tag.
        self.awaited: dict[bytes, Pending[None]] = {}
        # The tags of those among them that are to be accepted then.
        self.owed: frozenset[bytes] = frozenset()
        # The credit that was left at the loss, of a user who manages it.
        self.granted = 0
        # The credit to keep; 0: the user manages it.
        self.target = credit
        # Credit is given anew when so many were taken.
        self.batch = (credit + 1) // 2
        # Deliveries that were taken since then.
        self.taken = 0
        # Whether the user wants nothing more.
        self.cancelled = False
        # Those who wait for the end of a drain; their result is True if it has come.
        self.drains: list[Pending[Any]] = []
        # Deliveries to accept before the next octets are sent, by delivery-id.
        self.accepted: dict[int, Delivery] = {}
        session.inboxes[core.handle] = self.inbox
        session.links[core.handle] = self

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
            if timer is None:
                await client.within(client.answer_limit, pending, f"drain of link {self.name!r}")
            else:
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
                await client.result(pending, what=f"settlement on link {self.name!r}")

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
            text = f"resumption of a delivery on link {self.name!r}"
            await self.client.within(self.client.answer_limit, pending, text)
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
        taken.event = event
        taken.attachment = self.attachment
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
        # Asked first for each delivery: one that was taken already isn't given to the user again.
        self.link = link

    def count(self, item: Delivery) -> None:
        self.link.arrived(item)

    def taken(self, item: Delivery) -> None:
        """Nothing: the link's credit bounds it."""


class SessionState:
    """A session's routes: where its events go.

    With recovery it lives on when its connection is lost, with another session of the core.
    """

    __slots__ = (
        *("asked", "client", "closed", "closing", "coordinator", "core", "error", "failure", "given_up", "inboxes"),
        *("is_lost", "is_own", "links", "lost_links", "opening", "returning", "returns", "streams"),
    )

    def __init__(self, client: LinkClient, core: CoreSession, asked: dict[str, Any] | None = None) -> None:
        # Whose session it is.
        self.client = client
        # The session of this connection; recovery puts another in its place.
        self.core = core
        # By this end's handle: those that are attached, or being attached.
        self.links: dict[int, LinkRoutes[Any]] = {}
        # Of its receivers, by handle: deliveries go straight there.
        self.inboxes: dict[int, Inbox[Delivery]] = {}
        # The inboxes of users that read its events.
        self.streams: Streams = []
        # The link to the peer's transaction coordinator, once a transaction needed it.
        self.coordinator: SenderState | None = None
        # Ends when the session has ended for good.
        self.closed: Pending[None] = client.pending()
        # The error that ends it, which comes before its end.
        self.failure: AmqpError | None = None
        # Whether the client has it for itself, so that its users aren't told how it ends.
        self.is_own = False
        # Why it ended, once it has.
        self.error: EndpointClosed | None = None
        # The arguments to begin it again with; None: it isn't.
        self.asked = asked
        # Whether this end ends it.
        self.closing = False
        # Whether this end took it as over before the peer had answered its end.
        self.given_up = False
        # Whether it isn't begun on the connection of this moment.
        self.is_lost = False
        # Links to attach when it is begun again.
        self.lost_links: list[LinkRoutes[Any]] = []
        # The caller who waits for its first begin, through a loss.
        self.opening: Pending[None] | None = None
        # Returns under way in a connection that lives, of the session or of its links.
        self.returning: set[Return] = set()
        # How often in a row it came back by itself, for the delays.
        self.returns = Returns()
        client.sessions[core.channel] = self

    @property
    def report(self) -> CloseReport | None:
        """Why it ended, once it has."""
        if self.error is not None:
            return self.error.report
        return None if self.client.restored is not None or self.is_lost else self.core.report

    def returning_of(self, link: LinkRoutes[Any] | None) -> Return | None:
        """Return the return that opens a link again, or with None the session."""
        return next((each for each in self.returning if each.link in (None, link)), None)

    async def until_back(self, link: LinkRoutes[Any] | None = None) -> None:
        """Wait while the session or the link is opened again in a connection that lives. Raises the session's error if
        it isn't.
        """
        while (returning := self.returning_of(link)) is not None:
            await self.client.until(returning.back)
        if self.error is not None:
            raise self.client.for_caller(self.error)

    @property
    def is_overdue(self) -> bool:
        """Whether it was given up, and the peer still owes its end."""
        return self.given_up and self.client.sessions.get(self.core.channel) is self

    def give_up(self, report: CloseReport) -> None:
        """Take it as over, with its links, although the peer hasn't answered its end."""
        self.given_up = True
        self.end(report, None)
        self.client.complete(self.closed)

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
            error = EndpointClosed(f"session {self.core.channel}: {report}", report)
            self.error = error
            error.__cause__ = cause
            end_streams(self.streams, None if is_own_close(report) and cause is None else error)

    def close(self, report: CloseReport, cause: AmqpError | None) -> None:
        """Handle the end of the session and its remaining links."""
        for each in list(self.returning):
            each.leave()
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


__all__ = [
    "ACCEPTED",
    "WHILE_LOST",
    "LinkClient",
    "LinkRoutes",
    "ReceiverState",
    "Return",
    "Returns",
    "SenderState",
    "SessionState",
    "Tokens",
]
