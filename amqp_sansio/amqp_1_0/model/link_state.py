"""The state and the rules of sessions, links and deliveries: what both halves have said, whoever keeps it.

Endpoints and observers keep the same state, and each `step_...` judges one frame of a side (part 2 sections 2.5 to 2.7,
part 3 section 3.4). It raises `Violation` and changes nothing, except that a transfer that breaks a rule of its link
still counts in its session. Sides are numbers here: CLIENT and SERVER index every pair. Sequence numbers are those of
RFC 1982 (part 2 section 2.8.10).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Protocol

from ..._core.brevity import short, trim
from ..._core.serial import MASK, add, bound, distance
from ...endpoint import Side
from ...errors import Scope
from ..codec import conditions
from ..codec.composite import DeliveryState
from ..codec.performatives import Received, TransactionalState
from ..codec.violation import Violation
from . import states
from .states import ATTACHED, NOT_SENT, RCV_FIRST, RCV_SECOND, SENDING, SND_SETTLED, SND_UNSETTLED

if TYPE_CHECKING:
    from typing import TypeGuard

    from ...limits import Limits
    from ..codec.performatives import Attach, Begin, Detach, Disposition, Flow, Transfer
    from ..codec.values import Described

    State = DeliveryState | Described
    """A delivery state; of a type that nobody here knows where it's described."""

CLIENT: Final = 0
SERVER: Final = 1
ID_SIZE: Final = 32
"""The most octets of a delivery-tag, and of a transaction-id."""
FREE: Final = 256
"""Steps that one disposition may take over deliveries that stay unsettled, or aren't there, at no charge."""
EACH: Final = 8
"""Steps more that each transfer pays for."""

_MORE: Final = states.DeliveryInput.MORE
_LAST: Final = states.DeliveryInput.LAST
_ABORT: Final = states.DeliveryInput.ABORT
_CROSSED: Final = {states.Link.CLOSED, states.Link.DETACHED}
"""One half closed while the other detached: that one attaches once more, to close too (part 2 section 2.6.6)."""
_FAILED_KEPT: Final = 1024
"""So many links that ended in an error are remembered in a session."""
_CROSSED_KEPT: Final = 64
"""So many links that one side closed and the other only detached are kept in a session."""


def number_of(side: Side) -> int:
    """The side as an index into a pair."""
    return CLIENT if side is Side.CLIENT else SERVER


def named(deliveries: dict[int, DeliveryModel], frame: Disposition) -> list[DeliveryModel]:
    """The deliveries that a disposition is about (part 2 section 2.7.6)."""
    first = frame.first
    count = 0 if frame.last is None else distance(first, frame.last)
    if not count:
        one = deliveries.get(first)
        return [] if one is None else [one]
    if count < len(deliveries):
        return [deliveries[each] for index in range(count + 1) if (each := add(first, index)) in deliveries]
    return [each for number, each in deliveries.items() if 0 <= distance(first, number) <= count]


def is_outcome(state: State | None) -> TypeGuard[DeliveryState]:
    """Whether the state is terminal (part 3 section 3.4)."""
    return isinstance(state, DeliveryState) and state.OUTCOME


class Rules(Protocol):
    """A connection, as far as the rules of its sessions depend on it."""

    @property
    def limits(self) -> Limits: ...

    def is_assumed(self, side: int) -> bool:
        """Whether the stream of `side` wasn't seen from the start, so that unknown handles are no fault of it."""
        ...

    def tolerate(self, violation: Violation) -> None:
        """Take note of a rule that real peers break without doing harm."""


class SessionViolation(Violation):
    """A violation that ends a session, or one link of it."""

    def __init__(
        self, condition: str, text: str, rule: str, channel: int, session: SessionModel, link: LinkModel | None = None
    ) -> None:
        scope = Scope.SESSION if link is None else Scope.LINK
        super().__init__(condition, text, rule=rule, scope=scope, channel=channel)
        self.session = session
        self.link = link


class SessionHalf:
    """The half of a session that one side has sent, and how much the other lets it send.

    `next_outgoing_id` is the id of the next transfer frame of this side. `window_limit` is the id of the first one that
    the other side doesn't take, by its last word; `window_known` the farthest such limit there was, which an
    older flow may have told. None: not known, because the begin wasn't seen. `deliveries` are this side's,
    by delivery-id, until they are settled. `handles` are the links this side has attached. `allowance` are the steps
    that dispositions may still take over deliveries that stay, of the transfers up to `counted`.
    """

    __slots__ = (
        "allowance", "begin", "channel", "counted", "deliveries", "handles", "initial_outgoing_id", "next_outgoing_id",
        "state", "window_known", "window_limit",
    )  # fmt: skip

    def __init__(self) -> None:
        self.state = states.Session.UNMAPPED
        self.channel = 0
        self.begin: Begin | None = None
        self.initial_outgoing_id = 0
        self.next_outgoing_id = 0
        self.allowance = 0
        self.counted = 0
        self.window_limit: int | None = 0
        self.window_known: int | None = 0
        self.deliveries: dict[int, DeliveryModel] = {}
        self.handles: dict[int, LinkModel] = {}

    def map(self, channel: int, frame: Begin) -> None:
        """The side begins the session, or answers its begin."""
        self.state = states.Session.MAPPED
        self.channel = channel
        self.begin = frame
        self.renumber(frame.next_outgoing_id)
        self.initial_outgoing_id = frame.next_outgoing_id

    def renumber(self, next_outgoing_id: int) -> None:
        """The side says which id its next transfer has; what it skips is no transfer."""
        self.counted += next_outgoing_id - self.next_outgoing_id
        self.next_outgoing_id = next_outgoing_id


class SessionModel:
    """One session: its two halves, and its links by name and sending side (`names`), attached or not.

    `initiator` is the side that began it, None when that wasn't seen. `failed` are the links that ended in an error
    and may only be resumed (part 2 section 2.6.5), `crossed` the names of those that one side closed and the other
    only detached, the latest ones.
    """

    __slots__ = ("crossed", "failed", "halves", "initiator", "names", "rules")

    def __init__(self, rules: Rules, initiator: int | None) -> None:
        self.rules = rules
        self.initiator = initiator
        self.halves = (SessionHalf(), SessionHalf())
        self.names: dict[tuple[str, int], LinkModel] = {}
        self.failed: dict[tuple[str, int], int] = {}
        self.crossed: dict[tuple[str, int], LinkModel] = {}

    @staticmethod
    def failed_key(name: str, sender: int) -> tuple[str, int]:
        """How `failed` names a link: it outlives the link, so long names are too much."""
        return short(name), sender

    def new_link(self, name: str, sender: int) -> LinkModel:
        """A link of this session; endpoints have their own kind."""
        return LinkModel(self, name, sender)

    def error(self, side: int, condition: str, text: str, rule: str) -> SessionViolation:
        """A fault of `side` that ends the session."""
        return SessionViolation(condition, text, rule, self.halves[side].channel, self)

    def step_attach(self, side: int, frame: Attach) -> tuple[LinkModel, bool]:
        """A side attaches its end of a link (part 2 section 2.6.3); whether the other end was attached."""
        own, other = self.halves[side], self.halves[1 - side]
        handle_max = 0xFFFF_FFFF if other.begin is None else other.begin.handle_max
        if frame.handle > handle_max:
            text = f"attach of {frame.name!r} with handle {frame.handle}, the handle-max is {handle_max}"
            raise Violation(conditions.FRAMING_ERROR, text, rule="transport/session/handle-max", channel=own.channel)
        if frame.handle in own.handles:
            text = f"attach of {frame.name!r} with handle {frame.handle}, which {own.handles[frame.handle].name!r} has"
            raise self.error(side, conditions.HANDLE_IN_USE, text, "transport/link/handle-in-use")
        # role is True for a receiver (part 2 section 2.8.1).
        sender = 1 - side if frame.role else side
        if not frame.role and frame.initial_delivery_count is None:
            text = f"attach of the sender {frame.name!r} without initial-delivery-count"
            raise self.error(side, conditions.INVALID_FIELD, text, "transport/attach/initial-delivery-count")
        for tag in frame.unsettled or ():
            if not isinstance(tag, bytes):
                text = f"attach of {frame.name!r}: a key of the unsettled map is {tag!r}, no delivery-tag"
                raise self.error(side, conditions.INVALID_FIELD, text, "transport/attach/unsettled-keys")
        key = (frame.name, sender)
        failed = self.failed_key(frame.name, sender)
        if self.failed.get(failed) == 1 - side:
            if frame.unsettled is None:
                text = f"attach of {frame.name!r}, which ended in an error and may only be resumed"
                raise self.error(side, conditions.ERRANT_LINK, text, "transport/link/errant-link")
            del self.failed[failed]
        link = self.names.get(key)
        # Answers aren't counted: what they answer is.
        answering = link is not None and link.halves[1 - side].attaches > link.halves[side].attaches
        most = self.rules.limits.consumers
        if not answering and len(own.handles) >= most:
            text = f"more than {most} links in a session"
            raise self.error(side, conditions.RESOURCE_LIMIT_EXCEEDED, text, "transport/error/resource-limit")
        given = states.LinkInput.ATTACH if frame.unsettled is None else states.LinkInput.RESUME
        if link is None or given not in states.LINK[link.halves[side].state]:
            # The same name once more while it is attached: the link is stolen (part 2 section 2.6.1).
            link = self.new_link(frame.name, sender)
            self.names[key] = link
        own.handles[frame.handle] = link
        return link, link.attached_by(side, frame, given)

    def step_detach(self, side: int, frame: Detach) -> tuple[LinkModel, bool]:
        """A side detaches its end (part 2 sections 2.6.4 to 2.6.6); whether the other end was detached."""
        own = self.halves[side]
        link = own.handles.get(frame.handle)
        if link is None:
            link = self._unknown(side, frame.handle, "detach")
        half = link.halves[side]
        if frame.closed:
            given = states.LinkInput.CLOSE
        else:
            given = states.LinkInput.DETACH if frame.error is None else states.LinkInput.FAIL
        half.state = states.LINK[half.state][given]
        link.quick = None
        own.handles.pop(frame.handle, None)
        key = (link.name, link.sender)
        if half.state is states.Link.FAILED:
            self.failed[self.failed_key(*key)] = side
            trim(self.failed, _FAILED_KEPT)
        if link.sender == side:
            # A delivery under way ends with its sender's end of the link.
            link.current = None
        peer = link.halves[1 - side].state
        if peer is ATTACHED:
            return link, False
        ends = {half.state, peer}
        waits = half.attaches != link.halves[1 - side].attaches and ends != {states.Link.CLOSED}
        if self.names.get(key) is link and not waits:
            if ends == _CROSSED:
                self._keep_crossed(key, link)
            else:
                del self.names[key]
                self.crossed.pop(key, None)
        gone = states.Link.CLOSED in ends or states.Link.FAILED in ends
        deliveries = self.halves[link.sender].deliveries
        for delivery in link.unsettled.values():
            # Else its deliveries are still known by their ids (part 2 section 2.6.4), but those that were cut.
            if gone or delivery.progress is SENDING:
                deliveries.pop(delivery.delivery_id, None)
        return link, True

    def _keep_crossed(self, key: tuple[str, int], link: LinkModel) -> None:
        """Wait for the attach that will close the link at its other end too; it may never come, as from RabbitMQ 3."""
        self.crossed.pop(key, None)
        self.crossed[key] = link
        if len(self.crossed) > _CROSSED_KEPT:
            oldest = next(iter(self.crossed))
            old = self.crossed.pop(oldest)
            if self.names.get(oldest) is old and all([half.state in _CROSSED for half in old.halves]):
                del self.names[oldest]

    def step_link_flow(self, side: int, handle: int, frame: Flow) -> LinkModel | None:
        """The flow state of a link (part 2 section 2.6.7)."""
        link = self.halves[side].handles.get(handle)
        if link is None:
            if self.rules.is_assumed(side):
                return None
            raise self._unattached(side, handle, "flow")
        if side == link.sender:
            if frame.delivery_count is None:
                text = f"flow of the sender {link.name!r} without delivery-count"
                raise link.error(side, conditions.INVALID_FIELD, text, "transport/flow/delivery-count-sender")
            link.delivery_count = frame.delivery_count
            if frame.available is not None:
                link.available = frame.available
            return link
        if frame.delivery_count is None and link.answered == side:
            # It had seen the sender's attach when it answered it. RabbitMQ 3 leaves the count out all the same.
            text = f"flow of the receiver {link.name!r} without delivery-count after the sender's attach"
            rule = "transport/flow/delivery-count-receiver"
            self.rules.tolerate(link.error(side, conditions.INVALID_FIELD, text, rule))
        if frame.link_credit is not None:
            count = frame.delivery_count
            if count is None:
                sender = link.halves[link.sender].attach
                count = 0 if sender is None else sender.initial_delivery_count or 0
            limit = bound(count, frame.link_credit)
            link.credit_limit = limit
            link.granted = frame.link_credit
            known = link.credit_known
            here = link.delivery_count
            # A receiver may name a count that the sender is far from: farthest is as the sender sees it.
            if known is None or distance(here, limit) > distance(here, known):
                link.credit_known = limit
        link.drain_wanted = frame.drain
        return link

    def step_transfer(self, side: int, frame: Transfer, size: int) -> DeliveryModel:
        """A transfer frame with `size` octets of payload (part 2 section 2.7.5). It counts in the session even when its
        link is in error."""
        own = self.halves[side]
        link = own.handles.get(frame.handle)
        if link is None:
            link = self._unknown(side, frame.handle, "transfer")
        window = own.window_known
        if window is not None and window == own.next_outgoing_id:
            text = f"transfer {own.next_outgoing_id} of link {link.name!r} is beyond the session's incoming window"
            raise self.error(side, conditions.WINDOW_VIOLATION, text, "transport/session.window/violation")
        own.next_outgoing_id = (own.next_outgoing_id + 1) & MASK
        if link.sender != side:
            text = f"transfer from the receiver of link {link.name!r}"
            raise link.error(side, conditions.NOT_ALLOWED, text, "transport/transfer/delivery-id")
        return link.sent(frame, size)

    def step_disposition(self, side: int, frame: Disposition) -> list[DeliveryModel]:
        """A disposition (part 2 section 2.7.6): the deliveries it is about that weren't settled before.

        A delivery that it settles is paid for by its transfer. Looking at the others costs the allowance of their side,
        or a frame of 58 octets could cost a step for each delivery, again and again.
        """
        # role names the issuer's end: a receiver speaks of what the other side sent.
        half = self.halves[1 - side if frame.role else side]
        deliveries = half.deliveries
        first = frame.first
        state, settled = frame.state, frame.settled
        says = settled or state is not None
        count = 0 if frame.last is None else distance(first, frame.last)
        if count < 0:
            text = f"disposition of deliveries {first} to {frame.last}"
            raise self.error(side, conditions.INVALID_FIELD, text, "transport/disposition/range")
        if not says:
            return []
        steps = min(count + 1, len(deliveries))
        if steps > FREE:
            self._check_allowance(side, half, steps, settled)
        found = named(deliveries, frame)
        if steps > FREE:
            steps -= len([each for each in found if each.progress is not SENDING]) if settled else 0
            half.allowance -= steps if steps > FREE else 0
        for delivery in found:
            if settled and frame.role:
                delivery.check_second()
            if state is not None:
                delivery.check_told(side, state)
        for delivery in found:
            if state is not None:
                delivery.states[side] = state
            if settled:
                delivery.settled = True
                if delivery.progress is not SENDING:
                    delivery.forget(deliveries)
        return found

    def _check_allowance(self, side: int, half: SessionHalf, steps: int, settled: bool) -> None:
        """Raise Violation when nothing is left that pays for looking at deliveries.

        A disposition that settles pays afterwards, for what it looked at in vain.
        """
        earned = (half.next_outgoing_id - half.counted) & MASK
        half.counted = half.next_outgoing_id
        # The deliveries that stay never need more, so no more is saved for later.
        half.allowance = min(half.allowance + EACH * earned, EACH * len(half.deliveries))
        if half.allowance < (0 if settled else steps):
            text = (
                f"a disposition is about {steps} deliveries, and the ones before have looked at so many without "
                f"settling them that no transfer pays for more; say at most {EACH} times what becomes of a delivery, "
                f"or name at most {FREE} at a time"
            )
            raise self.error(side, conditions.RESOURCE_LIMIT_EXCEEDED, text, "transport/error/resource-limit")

    def _unknown(self, side: int, handle: int, what: str) -> LinkModel:
        """A link whose attach wasn't seen, where that is no wonder."""
        if not self.rules.is_assumed(side):
            raise self._unattached(side, handle, what)
        link = self.new_link("", side)
        link.halves[side].state = ATTACHED
        link.halves[side].handle = handle
        link.credit_limit = link.credit_known = None
        self.halves[side].handles[handle] = link
        return link

    def _unattached(self, side: int, handle: int, what: str) -> SessionViolation:
        text = f"{what} on channel {self.halves[side].channel} with handle {handle}, which no link has"
        return self.error(side, conditions.UNATTACHED_HANDLE, text, "transport/link/unattached-handle")


class LinkHalf:
    """The half of a link that one side has sent. `attaches` counts its attaches under this name."""

    __slots__ = ("attach", "attaches", "handle", "state")

    def __init__(self) -> None:
        self.attaches = 0
        self.state = states.Link.DETACHED
        self.handle = 0
        self.attach: Attach | None = None


class LinkModel:
    """One link: its two halves and the state of its flow.

    `sender` is the side that sends. `delivery_count` is the sender's; `credit_limit` the count at which its credit
    ends by the receiver's last word, `credit_known` the farthest such limit (both None: not known), `granted` the
    credit of its last flow. `current` is the delivery whose transfers have begun and not ended; `unsettled` are the
    deliveries by tag. `answered` is the side whose attach answered the other's, `quick` what a shortcut knows of it.
    """

    __slots__ = (
        "answered", "available", "credit_known", "credit_limit", "current", "delivery_count", "drain_wanted", "granted",
        "halves", "name", "quick", "sender", "session", "unsettled",
    )  # fmt: skip

    def __init__(self, session: SessionModel, name: str, sender: int) -> None:
        self.session = session
        self.name = name
        self.sender = sender
        self.halves = (LinkHalf(), LinkHalf())
        self.answered: int | None = None
        self.delivery_count = 0
        self.credit_limit: int | None = 0
        self.credit_known: int | None = 0
        self.drain_wanted = False
        self.granted = 0
        self.available = 0
        # Deliveries of the link's own kind.
        self.current: Any = None
        self.unsettled: dict[bytes, Any] = {}
        self.quick: tuple[int, ...] | None = None

    @property
    def source(self) -> object:
        """The source as the sender says, or None while it hasn't (part 2 section 2.6.3)."""
        attach = self.halves[self.sender].attach
        return None if attach is None else attach.source

    @property
    def target(self) -> object:
        """The target as the receiver says, or None while it hasn't."""
        attach = self.halves[1 - self.sender].attach
        return None if attach is None else attach.target

    @property
    def snd_settle_mode(self) -> int | None:
        """How the sender settles, by its own word; None while it hasn't attached."""
        attach = self.halves[self.sender].attach
        return None if attach is None else attach.snd_settle_mode

    @property
    def rcv_settle_mode(self) -> int | None:
        """How the receiver settles, by its own word; None while it hasn't attached."""
        attach = self.halves[1 - self.sender].attach
        return None if attach is None else attach.rcv_settle_mode

    @property
    def is_attached(self) -> bool:
        """Whether both sides have attached it."""
        one, other = self.halves
        return one.state is ATTACHED and other.state is ATTACHED

    def new_delivery(self, delivery_id: int, delivery_tag: bytes) -> DeliveryModel:
        """A delivery of this link; endpoints have their own kind."""
        return DeliveryModel(self, delivery_id, delivery_tag)

    def error(self, side: int, condition: str, text: str, rule: str) -> SessionViolation:
        """A fault of `side` that ends the link."""
        session = self.session
        return SessionViolation(condition, text, rule, session.halves[side].channel, session, self)

    def is_left(self, side: int) -> bool:
        """Whether `side` has closed the link, so that its name is free, and the other side has detached too, if only
        without closing, as RabbitMQ answers."""
        own, other = self.halves[side], self.halves[1 - side]
        closed = own.state is states.Link.CLOSED and other.state is not ATTACHED
        return closed and own.attaches == other.attaches

    def attached_by(self, side: int, frame: Attach, given: states.LinkInput) -> bool:
        """A side has attached its end; whether the other end was attached."""
        half, other = self.halves[side], self.halves[1 - side]
        half.state = states.LINK[half.state][given]
        half.attaches += 1
        # Detaches in between don't matter: the side that has attached less often answers the other.
        answers = other.attaches >= half.attaches
        if answers:
            self.answered = side
            first = other.attach
            if frame.unsettled is not None or (first is not None and first.unsettled is not None):
                self._forget_before()
        half.handle = frame.handle
        half.attach = frame
        self.quick = None
        if side == self.sender:
            count = frame.initial_delivery_count or 0
            # Flows of the receiver that came before this attach meant this count (part 2 section 2.6.7).
            limit, known = self.credit_limit, self.credit_known
            before = self.delivery_count
            self.credit_limit = count if limit is None else add(count, max(0, distance(before, limit)))
            self.credit_known = count if known is None else add(count, max(0, distance(before, known)))
            self.delivery_count = count
        return answers

    def _forget_before(self) -> None:
        """Drop deliveries from before a detach: they are resumed under new delivery-ids, or were settled meanwhile."""
        deliveries = self.session.halves[self.sender].deliveries
        old = [number for number, each in deliveries.items() if each.link is not self and each.link.name == self.name]
        for number in old:
            del deliveries[number]

    def sent(self, frame: Transfer, size: int) -> DeliveryModel:
        """The sender's transfer belongs to this link: step its delivery."""
        side = self.sender
        delivery: DeliveryModel | None = self.current
        if delivery is None:
            delivery = self._begin_delivery(frame)
        else:
            delivery.check_continuation(frame)
        if frame.settled and not delivery.settled:
            if self.snd_settle_mode == SND_UNSETTLED and not frame.aborted:
                text = f"settled delivery {delivery.delivery_id} on link {self.name!r}, whose sender never settles"
                raise self.error(side, conditions.NOT_ALLOWED, text, "transport/transfer/settled-mode-unsettled")
            delivery.settled = True
        if frame.state is not None:
            delivery.check_told(side, frame.state, first=delivery.progress is NOT_SENT)
            delivery.states[side] = frame.state
        delivery.size += size
        receiver = self.halves[1 - side].attach
        limit = 0 if receiver is None else receiver.max_message_size or 0
        if limit and delivery.size > limit and not frame.aborted:
            text = f"delivery {delivery.delivery_id} of link {self.name!r} has more than {limit} octets"
            raise self.error(side, conditions.MESSAGE_SIZE_EXCEEDED, text, "transport/attach/max-message-size")
        given = _ABORT if frame.aborted else _MORE if frame.more else _LAST
        if given is _LAST and self.snd_settle_mode == SND_SETTLED and not delivery.settled:
            text = f"delivery {delivery.delivery_id} of link {self.name!r} ends unsettled, whose sender settles all"
            raise self.error(side, conditions.NOT_ALLOWED, text, "transport/transfer/settled-mode-settled")
        delivery.progress = states.DELIVERY[delivery.progress][given]
        deliveries = self.session.halves[side].deliveries
        if given is _MORE:
            self.current = delivery
            if not delivery.settled and delivery.delivery_id not in deliveries:
                deliveries[delivery.delivery_id] = delivery
                self.unsettled[delivery.delivery_tag] = delivery
            return delivery
        self.current = None
        if given is _ABORT or delivery.settled:
            # An aborted delivery is settled too (part 2 section 2.7.5).
            delivery.settled = True
            delivery.forget(deliveries)
        else:
            deliveries[delivery.delivery_id] = delivery
            self.unsettled[delivery.delivery_tag] = delivery
        return delivery

    def _begin_delivery(self, frame: Transfer) -> DeliveryModel:
        """The first transfer of a delivery."""
        side = self.sender
        session = self.session
        rules = session.rules
        delivery_id, tag = frame.delivery_id, frame.delivery_tag
        if delivery_id is None or tag is None:
            if not rules.is_assumed(side):
                name = "delivery-id" if delivery_id is None else "delivery-tag"
                text = f"the first transfer of a delivery on link {self.name!r} has no {name}"
                raise self.error(side, conditions.INVALID_FIELD, text, f"transport/transfer/{name}")
            delivery_id, tag = delivery_id or 0, tag or b""
        if frame.message_format is None and not rules.is_assumed(side):
            # Clients leave it out that post to a coordinator; 0 is the format of all that this library reads.
            first = f"the first transfer of delivery {delivery_id} on link {self.name!r}"
            text = f"{first} has no message-format; 0 is meant"
            rules.tolerate(self.error(side, conditions.INVALID_FIELD, text, "transport/transfer/message-format"))
        if len(tag) > ID_SIZE:
            text = f"a delivery-tag of {len(tag)} octets on link {self.name!r}, 32 is the most"
            raise self.error(side, conditions.INVALID_FIELD, text, "transport/delivery/tag-size")
        deliveries = session.halves[side].deliveries
        if delivery_id in deliveries or tag in self.unsettled:
            what = "delivery-id" if delivery_id in deliveries else "delivery-tag"
            text = f"the {what} of delivery {delivery_id} on link {self.name!r} belongs to one that isn't settled"
            raise self.error(side, conditions.NOT_ALLOWED, text, "transport/delivery/tag-unique")
        credit = self.credit_known
        if credit is not None and distance(self.delivery_count, credit) <= 0:
            text = f"delivery {delivery_id} on link {self.name!r} is beyond its credit"
            excess = self.error(side, conditions.TRANSFER_LIMIT_EXCEEDED, text, "transport/error/transfer-limit")
            # RabbitMQ 3 counts a flow that crosses its transfers as credit in addition; so much more is taken.
            if distance(credit, self.delivery_count) >= self.granted:
                raise excess
            rules.tolerate(excess)
        if len(deliveries) >= rules.limits.unsettled:
            text = f"{len(deliveries)} deliveries aren't settled, Limits.unsettled allows no more"
            raise self.error(side, conditions.RESOURCE_LIMIT_EXCEEDED, text, "transport/error/resource-limit")
        self._check_resumption(frame, delivery_id, tag)
        if frame.rcv_settle_mode == RCV_SECOND and self.rcv_settle_mode == RCV_FIRST and not frame.settled:
            text = f"delivery {delivery_id} wants rcv-settle-mode second on link {self.name!r}, which has first"
            raise self.error(side, conditions.INVALID_FIELD, text, "transport/transfer/rcv-illegal")
        self.delivery_count = (self.delivery_count + 1) & MASK
        if self.available:
            self.available -= 1
        delivery = self.new_delivery(delivery_id, tag)
        delivery.message_format = frame.message_format or 0
        delivery.rcv_settle_mode = frame.rcv_settle_mode
        delivery.resumed = frame.resume
        return delivery

    def _check_resumption(self, frame: Transfer, delivery_id: int, tag: bytes) -> None:
        """Only what the sender's own map has may be resumed (part 2 section 2.7.5).

        An incomplete one has more than it says: the sender resumes or settles whatever the receiver's map names (part 2
        section 2.6.13).
        """
        side = self.sender
        own, other = self.halves[side].attach, self.halves[1 - side].attach
        if frame.resume:
            if own is not None and not own.incomplete_unsettled and tag not in (own.unsettled or {}):
                text = f"resumed delivery-tag {tag!r} on link {self.name!r} isn't in the sender's unsettled map"
                raise self.error(side, conditions.NOT_ALLOWED, text, "transport/transfer/resume-own-map")
        elif other is not None and other.incomplete_unsettled:
            text = f"a new delivery on link {self.name!r} while the receiver's unsettled map is incomplete"
            raise self.error(side, conditions.NOT_ALLOWED, text, "transport/attach/incomplete-no-new")
        elif frame.aborted:
            text = f"delivery {delivery_id} on link {self.name!r} is aborted before it began"
            raise self.error(side, conditions.ILLEGAL_STATE, text, "transport/transfer/aborted")

    def __getstate__(self) -> object:
        # The shortcut finds its facts again; commands that raise leave everything else as it was.
        state: Any = object.__getstate__(self)
        return None, {**state[1], "quick": None}


class DeliveryModel:
    """One delivery. `states` and `settled` are what each side said of it; `size` the payload so far, in octets."""

    __slots__ = (
        "delivery_id", "delivery_tag", "link", "message_format", "progress", "rcv_settle_mode", "resumed", "settled",
        "size", "states",
    )  # fmt: skip

    def __init__(self, link: LinkModel, delivery_id: int, delivery_tag: bytes) -> None:
        self.link = link
        self.delivery_id = delivery_id
        self.delivery_tag = delivery_tag
        self.message_format = 0
        self.progress = states.Delivery.NOT_SENT
        self.resumed = False
        self.rcv_settle_mode: int | None = None
        self.size = 0
        self.settled = False
        self.states: list[State | None] = [None, None]

    def check_told(self, side: int, state: State, *, first: bool = False) -> None:
        """Raise Violation where a side mustn't say that the delivery has a state: an outcome is its last word (part 3
        section 3.4)."""
        said = self.states[side]
        link = self.link
        if is_outcome(said) and said != state:
            text = f"delivery {self.delivery_id} of link {link.name!r} was {said!r}, now {state!r}"
            raise link.error(side, conditions.ILLEGAL_STATE, text, "delivery-state/terminal-final")
        if isinstance(state, Received) and side == link.sender and not (first and self.resumed):
            text = f"the sender of link {link.name!r} says received of delivery {self.delivery_id}"
            raise link.error(side, conditions.INVALID_FIELD, text, "received/sender-only-first-resume")

    @property
    def may_settle(self) -> bool:
        """Whether the receiver may settle: in mode second not before the sender (part 2 section 2.7.5)."""
        link = self.link
        mode = link.rcv_settle_mode if self.rcv_settle_mode is None else self.rcv_settle_mode
        return mode != RCV_SECOND or is_outcome(self.states[link.sender])

    def check_second(self) -> None:
        """Raise Violation where the receiver settles first in mode second (part 2 section 2.7.5, rcv-settle-mode)."""
        link = self.link
        if not self.settled and not self.may_settle:
            text = f"the receiver of link {link.name!r} settles delivery {self.delivery_id} before the sender"
            raise link.error(1 - link.sender, conditions.NOT_ALLOWED, text, "transport/transfer/rcv-second")

    def check_continuation(self, frame: Transfer) -> None:
        """Raise Violation where a further transfer changes what the first one said; repeating it is fine."""
        link = self.link
        wrong: tuple[str, str, str] | None = None
        if frame.delivery_id is not None and frame.delivery_id != self.delivery_id:
            text = f"delivery-id {frame.delivery_id} within delivery {self.delivery_id} of link {link.name!r}"
            wrong = conditions.INVALID_FIELD, text, "transport/transfer/delivery-id"
        elif frame.delivery_tag is not None and frame.delivery_tag != self.delivery_tag:
            text = f"another delivery-tag within delivery {self.delivery_id} of link {link.name!r}"
            wrong = conditions.INVALID_FIELD, text, "transport/transfer/no-interleave"
        elif frame.message_format is not None and frame.message_format != self.message_format:
            text = (
                f"message-format {frame.message_format} within delivery {self.delivery_id} of link {link.name!r}, "
                f"whose first transfer says {self.message_format}"
            )
            wrong = conditions.INVALID_FIELD, text, "transport/transfer/message-format"
        elif isinstance(frame.state, TransactionalState):
            first = self.states[link.sender]
            if not isinstance(first, TransactionalState) or first.txn_id != frame.state.txn_id:
                text = (
                    f"a further transfer of delivery {self.delivery_id} on link {link.name!r} names another transaction"
                )
                wrong = conditions.ILLEGAL_STATE, text, "transactions/posting/all-frames"
        if wrong is not None:
            raise link.error(link.sender, *wrong)

    def forget(self, deliveries: dict[int, DeliveryModel]) -> None:
        """The delivery is settled: it isn't kept."""
        deliveries.pop(self.delivery_id, None)
        unsettled = self.link.unsettled
        if unsettled.get(self.delivery_tag) is self:
            del unsettled[self.delivery_tag]
