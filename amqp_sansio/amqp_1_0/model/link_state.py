"""The state and the rules of sessions, links and deliveries: what both halves have said, whoever keeps it.

Endpoints and observers keep the same state, and each `step_...` judges one frame of a side (part 2 sections 2.5 to 2.7,
part 3 section 3.4). It raises `Violation` and changes nothing, except that a transfer that breaks a rule of its link
still counts in its session. Sides are numbers here: CLIENT and SERVER index every pair. Sequence numbers are those of
RFC 1982 (part 2 section 2.8.10).

This module owns what a session and its links remember; nothing outside `model` assigns any of it. A session is stepped
between its begin and its end (`ConnectionModel.session` sees to that), a link from its first attach on. The methods
`take_usual_...` are the same rules for what a busy link has nearly nothing but: a delivery in one transfer, and the
settlement of whole deliveries. They may be called instead of `step_...` while both halves of the session are mapped.
Either they do what that does, or they change nothing and say so; then the caller goes by `step_...`, which alone says
what is wrong. What an observer has to take as told although it breaks a rule, it says by methods of its own kind
(`as_told`, `unknown_...`), after which the rules that can't be judged any more are silent.

Between two calls:

- `deliveries` of the sender's half of a session, and `unsettled` of the link, both have each delivery of an attached
  link that isn't settled and whose first transfer has passed; of a detached link only `unsettled` surely has it;
- `current` of a link is the delivery whose progress is SENDING, and None when there is none;
- `window_limit` isn't beyond `window_known`, nor `credit_limit` beyond `credit_known`; None in a pair is None in both;
- `handles` of a half has exactly the links that this side has attached, each by its handle;
- `names` has each link by its name and sending side, and no more than `_FAILED_KEPT` and `_CROSSED_KEPT` are remembered
  of those that are gone;
- nothing that is kept is settled, but what goes on being sent.

`check` of each class says whether they hold.
"""

from __future__ import annotations

from ..._checking import TYPE_CHECKING, Protocol
from ..._ground.brevity import short, trim
from ..._ground.invariants import ensure
from ..._ground.serial import HALF, MASK, add, bound, distance
from ...endpoint import Side
from ...errors import Scope
from ..codec import conditions
from ..codec.composite import DeliveryState
from ..codec.performatives import Received, TransactionalState
from ..codec.violation import Violation
from . import states
from .states import ATTACHED, NOT_SENT, RCV_FIRST, RCV_SECOND, SENDING, SENT, SND_SETTLED, SND_UNSETTLED

if TYPE_CHECKING:
    from typing import Any, ClassVar, Final, TypeGuard

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
_UNLIMITED: Final = 1 << 64
"""More octets than any message has: a receiver says nothing of how many it takes, or 0."""


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
        # The one that ends, or on which the link does.
        self.session = session
        # The one that ends; None: the session does.
        self.link = link


class SessionHalf:
    """The half of a session that one side has sent, and how much the other lets it send (part 2 section 2.5.6)."""

    __slots__ = (
        "allowance",
        "begin",
        "channel",
        "counted",
        "deliveries",
        "handles",
        "initial_outgoing_id",
        "next_outgoing_id",
        "state",
        "window_known",
        "window_limit",
    )

    def __init__(self) -> None:
        # A row of the table SESSION, moved by this side's begin and end.
        self.state = states.Session.UNMAPPED
        # The channel on which this side sends the session's frames, from its begin on.
        self.channel = 0
        # Its begin; of a large one an observer keeps what rules ask for. None until it has passed.
        self.begin: Begin | None = None
        # The transfer-id of its first transfer, as its begin says: what a flow means that names no next-incoming-id.
        self.initial_outgoing_id = 0
        # The transfer-id of its next transfer frame. Each transfer counts, also one that breaks a rule of its link.
        self.next_outgoing_id = 0
        # Steps that dispositions may still take over this side's deliveries without settling them
        # (`SessionModel._check_allowance`); what the transfers from `counted` on have earned is still to be added.
        self.allowance = 0
        self.counted = 0
        # The transfer-id of the first frame that the other side doesn't take, by its last word. None: not known,
        # because its begin wasn't seen.
        self.window_limit: int | None = 0
        # The farthest such limit there was: an older flow may have told it, and this side may not know the last word.
        self.window_known: int | None = 0
        # This side's deliveries that aren't settled, by delivery-id, in the order of their first transfers.
        self.deliveries: dict[int, DeliveryModel] = {}
        # The links that this side has attached, by its handle.
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

    def skip_transfer(self) -> None:
        """The side sends a transfer; it counts whether anybody can read it or not (part 2 section 2.5.6)."""
        self.next_outgoing_id = (self.next_outgoing_id + 1) & MASK

    def count_transfer_as_told(self, number: int) -> None:
        """Transfer `number` has passed although it breaks a rule: nobody knows what the side may send."""
        self.next_outgoing_id = (number + 1) & MASK
        self.unknown_window()

    def end_as_told(self) -> None:
        """The side has left the session, whatever its state was."""
        self.state = states.Session.ENDED

    def unknown_window(self) -> None:
        """Nobody knows how far the side may send, until the other says it again."""
        self.window_limit = None
        self.window_known = None

    def put_link(self, handle: int, link: LinkModel) -> None:
        """The side has attached a link, as far as was seen."""
        self.handles[handle] = link

    def drop_link(self, handle: int) -> LinkModel | None:
        """The side hasn't a link attached any more under this handle; the one that it had."""
        return self.handles.pop(handle, None)

    def check(self, where: str, side: int, limits: Limits) -> None:
        """Check the module's invariants of the half of `side`, whose session `where` names. Raises AssertionError."""
        where = f"{where}, half of the {'client' if side == CLIENT else 'server'}"
        unknown = (self.window_limit is None) == (self.window_known is None)
        ensure(unknown, where, "both limits of the window are known, or none", self.window_limit, self.window_known)
        if self.window_limit is not None and self.window_known is not None:
            within = distance(self.window_limit, self.window_known) >= 0
            ensure(within, where, "`window_limit` isn't beyond `window_known`", self.window_limit, self.window_known)
        ensure(self.allowance >= 0, where, "no look at deliveries is taken that isn't paid", self.allowance)
        kept = len(self.deliveries)
        ensure(kept <= limits.unsettled, where, "`Limits.unsettled` bounds deliveries", kept)
        attached = len(self.handles)
        ensure(attached <= 2 * limits.consumers, where, "`Limits.consumers` bounds links", attached)
        for number, delivery in self.deliveries.items():
            ensure(delivery.delivery_id == number, where, "each delivery is kept by its id", number)
            ensure(delivery.link.sender == side, where, "each delivery is kept in the half of its sender", number)
            delivery.check(where)
        for handle, link in self.handles.items():
            half = link.halves[side]
            ensure(half.state is ATTACHED, where, "`handles` has links that this side has attached", handle)
            ensure(half.handle == handle, where, "each link is kept by its handle", handle, half.handle)

    def keep_begin(self, begin: Begin | None) -> None:
        """Keep this of the side's begin, which is larger than what rules need of it."""
        self.begin = begin


class SessionModel:
    """One session: its two halves, and its links."""

    __slots__ = ("crossed", "failed", "halves", "initiator", "names", "rules")

    def __init__(self, rules: Rules, initiator: int | None) -> None:
        # The connection, which says what is bounded and what can't be judged.
        self.rules = rules
        # The side that began it; None when that wasn't seen.
        self.initiator = initiator
        # What each side has sent, by side.
        self.halves = (SessionHalf(), SessionHalf())
        # The links by name and sending side, attached or not, from their first attach until both sides have left them.
        self.names: dict[tuple[str, int], LinkModel] = {}
        # The side whose detach named an error, by the link's `failed_key`: the other may only resume the link (part 2
        # section 2.6.5). The latest `_FAILED_KEPT`.
        self.failed: dict[tuple[str, int], int] = {}
        # The links that one side closed and the other only detached (part 2 section 2.6.6), the latest
        # `_CROSSED_KEPT`.
        self.crossed: dict[tuple[str, int], LinkModel] = {}

    @staticmethod
    def failed_key(name: str, sender: int) -> tuple[str, int]:
        """How `failed` names a link: it outlives the link, so long names are too much."""
        return short(name), sender

    def check(self) -> None:
        """Check the module's invariants, and those of halves, links and deliveries. Raises AssertionError."""
        limits = self.rules.limits
        where = f"session on channels {self.halves[CLIENT].channel} and {self.halves[SERVER].channel}"
        ensure(len(self.failed) <= _FAILED_KEPT, where, "few links that failed are remembered", len(self.failed))
        ensure(len(self.crossed) <= _CROSSED_KEPT, where, "few links that crossed are remembered", len(self.crossed))
        links: dict[LinkModel, None] = {}
        for key, link in self.names.items():
            ensure(key == (link.name, link.sender), where, "each link is kept by its name and sender", key)
            links[link] = None
        for side, half in enumerate(self.halves):
            half.check(where, side, limits)
            links.update(dict.fromkeys(half.handles.values()))
            for link in self.names.values():
                here = link.halves[side].state is not ATTACHED or half.handles.get(link.halves[side].handle) is link
                ensure(here, where, "a link that a side has attached has a handle there", link.name)
        for link in links:
            ensure(link.session is self, where, "each link is of this session", link.name)
            link.check()

    def put_name(self, key: tuple[str, int], link: LinkModel | None) -> None:
        """A name belongs to this link, or to none."""
        if link is None:
            self.names.pop(key, None)
        else:
            self.names[key] = link

    def forgive(self, name: str, sender: int) -> None:
        """A link that ended in an error may be attached anew, for all that is known."""
        self.failed.pop(self.failed_key(name, sender), None)

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
        link.terms = None
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
            raise self.unattached(side, handle, "flow")
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
        own.skip_transfer()
        if link.sender != side:
            text = f"transfer from the receiver of link {link.name!r}"
            raise link.error(side, conditions.NOT_ALLOWED, text, "transport/transfer/delivery-id")
        return link.sent(frame, size)

    def try_transfer(self, side: int, frame: Transfer, size: int) -> DeliveryModel:
        """As `step_transfer`, for a transfer that isn't sent when it breaks a rule: then it doesn't count either."""
        own = self.halves[side]
        link = own.handles.get(frame.handle)
        before = own.next_outgoing_id
        known = None if link is None else (link.delivery_count, link.available)
        current: DeliveryModel | None = None if link is None else link.current
        kept = None if current is None else (current.settled, current.size, [*current.states])
        try:
            return self.step_transfer(side, frame, size)
        except Violation:
            own.next_outgoing_id = before
            if link is not None and known is not None:
                link.delivery_count, link.available = known
            if current is not None and kept is not None:
                current.settled, current.size, current.states = kept
            raise

    def take_usual_disposition(
        self, side: int, role: bool, first: int, last: int, state: State | None
    ) -> list[DeliveryModel] | None:
        """A disposition that settles whole deliveries, all of them known and nothing said of them by `side` before, as
        `step_disposition`: the deliveries, or None when it isn't taken. `role` is True of a receiver.

        Links are left to `step_disposition` whose receivers don't settle first.
        """
        deliveries = self.halves[1 - side if role else side].deliveries
        if first != last:
            return self._take_usual_range(side, deliveries, first, last, state)
        delivery = deliveries.get(first)
        if delivery is None or not delivery.take_usual_settlement(side, deliveries, state):
            return None
        return [delivery]

    def _take_usual_range(
        self, side: int, deliveries: dict[int, DeliveryModel], first: int, last: int, state: State | None
    ) -> list[DeliveryModel] | None:
        """As `take_usual_disposition` of several: all of them, or nothing changes."""
        count = (last - first) & MASK
        if count >= len(deliveries):
            return None
        found: list[DeliveryModel] = []
        for index in range(count + 1):
            delivery = deliveries.get((first + index) & MASK)
            if delivery is None or not delivery.is_usual(side):
                return None
            found.append(delivery)
        for delivery in found:
            delivery.say(side, state, True)
            delivery.forget(deliveries)
        return found

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
            delivery.say(side, state, settled)
            if settled and delivery.progress is not SENDING:
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
            raise self.unattached(side, handle, what)
        link = self.new_link("", side)
        link.assume_attached(side, handle)
        self.halves[side].handles[handle] = link
        return link

    def unattached(self, side: int, handle: int | None, what: str) -> SessionViolation:
        """A frame of `side` names a handle that no link has."""
        text = f"{what} on channel {self.halves[side].channel} with handle {handle}, which no link has"
        return self.error(side, conditions.UNATTACHED_HANDLE, text, "transport/link/unattached-handle")


class DeliveryModel:
    """One delivery, from its first transfer until it is settled (part 2 section 2.6.12)."""

    __slots__ = (
        "delivery_id",
        "delivery_tag",
        "link",
        "message_format",
        "progress",
        "rcv_settle_mode",
        "resumed",
        "settled",
        "size",
        "states",
    )

    def __init__(self, link: LinkModel, delivery_id: int, delivery_tag: bytes) -> None:
        # The link on which it was sent.
        self.link = link
        # Its number in the session, until a side detaches the link and attaches it again.
        self.delivery_id = delivery_id
        # Its name on the link, of 1 to 32 octets, which resumptions know it by.
        self.delivery_tag = delivery_tag
        # That of its first transfer.
        self.message_format = 0
        # A row of the table DELIVERY, moved by its transfers.
        self.progress = states.Delivery.NOT_SENT
        # Whether its first transfer resumes what was sent before (part 2 section 2.7.5).
        self.resumed = False
        # Who settles first, where its first transfer says so; else the link's mode counts.
        self.rcv_settle_mode: int | None = None
        # Octets of its payload that have passed.
        self.size = 0
        # Whether a side has said that it is settled.
        self.settled = False
        # The last state that each side has told of it, by side.
        self.states: list[State | None] = [None, None]

    def is_usual(self, side: int) -> bool:
        """Whether `side` has said nothing of it and may settle it without another word: it is all sent, and its
        receiver settles first."""
        link = self.link
        terms = link.terms
        if terms is None:
            terms = link.terms = link.find_terms()
        if not terms or terms[2]:
            return False
        return (
            self.progress is SENT
            and self.states[side] is None
            and not self.rcv_settle_mode
            and link.unsettled.get(self.delivery_tag) is self
        )

    def take_usual_settlement(self, side: int, deliveries: dict[int, DeliveryModel], state: State | None) -> bool:
        """`side` settles it, as `SessionModel.take_usual_disposition` of this delivery alone; `deliveries` are those of
        its sender."""
        if not self.is_usual(side):
            return False
        if state is not None:
            self.states[side] = state
        self.settled = True
        del deliveries[self.delivery_id]
        del self.link.unsettled[self.delivery_tag]
        return True

    def say(self, side: int, state: State | None, settled: bool | None) -> None:
        """A side tells a state, or none, and whether the delivery is settled, which can't be taken back."""
        if state is not None:
            self.states[side] = state
        if settled:
            self.settled = True

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

    def unsay(self, side: int) -> None:
        """What a side has told of it doesn't count any more."""
        self.states[side] = None

    def keep(self, deliveries: dict[int, DeliveryModel]) -> None:
        """The delivery isn't settled: it is kept by its id and its tag."""
        deliveries[self.delivery_id] = self
        self.link.unsettled[self.delivery_tag] = self

    def check(self, where: str) -> None:
        """Check the module's invariants of a delivery that is kept at `where`. Raises AssertionError."""
        where = f"{where}, delivery {self.delivery_id}"
        link = self.link
        open_now = not self.settled or self.progress is SENDING
        ensure(open_now, where, "nothing that is kept is settled, but what goes on being sent", self.progress)
        ensure(self.progress is not NOT_SENT, where, "a delivery is kept from its first transfer on", self.progress)
        if link.is_attached:
            known = link.unsettled.get(self.delivery_tag) is self
            ensure(known, where, "what a session has of an attached link the link has too", self.delivery_tag)

    def forget(self, deliveries: dict[int, DeliveryModel]) -> None:
        """The delivery is settled: it isn't kept."""
        deliveries.pop(self.delivery_id, None)
        unsettled = self.link.unsettled
        if unsettled.get(self.delivery_tag) is self:
            del unsettled[self.delivery_tag]


class LinkHalf:
    """The half of a link that one side has sent."""

    __slots__ = ("attach", "attaches", "handle", "state")

    def __init__(self) -> None:
        # How often the side has attached the link under this name; the side that has done so less often answers.
        self.attaches = 0
        # A row of the table LINK, moved by the side's attaches and detaches.
        self.state = states.Link.DETACHED
        # The handle of its latest attach.
        self.handle = 0
        # Its latest attach; of a large one an observer keeps what rules ask for. None before the first.
        self.attach: Attach | None = None

    def keep_attach(self, attach: Attach) -> None:
        """Keep this of the side's attach, which is larger than what rules need of it."""
        self.attach = attach


class LinkModel:
    """One link: its two halves and the state of its flow (part 2 section 2.6.7)."""

    DELIVERY: ClassVar[type[DeliveryModel]] = DeliveryModel
    """The class of its deliveries: those who hold links have their own kind."""

    __slots__ = (
        "answered",
        "available",
        "credit_known",
        "credit_limit",
        "current",
        "delivery_count",
        "drain_wanted",
        "granted",
        "halves",
        "name",
        "sender",
        "sending",
        "session",
        "terms",
        "unsettled",
    )

    def __init__(self, session: SessionModel, name: str, sender: int) -> None:
        # The session that it is attached in.
        self.session = session
        # With `sender` its key in `SessionModel.names`; "" for a link whose attach wasn't seen.
        self.name = name
        # The side that sends on it.
        self.sender = sender
        # The sender's half of the session, which has the link's deliveries.
        self.sending = session.halves[sender]
        # What each side has sent, by side.
        self.halves = (LinkHalf(), LinkHalf())
        # The side whose latest attach answered the other's; None until then.
        self.answered: int | None = None
        # The sender's delivery-count: it goes up with each delivery, and where the sender gives up credit.
        self.delivery_count = 0
        # The delivery-count at which the sender's credit ends, by the receiver's last word. None: not known.
        self.credit_limit: int | None = 0
        # The farthest such limit there was, as `SessionHalf.window_known`.
        self.credit_known: int | None = 0
        # Whether the receiver's last flow asks for the credit to be used or given up.
        self.drain_wanted = False
        # The link-credit of the receiver's last flow.
        self.granted = 0
        # How many messages wait at the sender, by its last word, less those that were sent since.
        self.available = 0
        # The delivery, of the link's own kind, whose transfers have begun and not ended.
        self.current: Any = None
        # The deliveries that aren't settled, of the link's own kind, by delivery-tag.
        self.unsettled: dict[bytes, Any] = {}
        # What `find_terms` has found since the latest attach or detach, None before it was asked.
        self.terms: tuple[int, ...] | None = None

    # The usual delivery.

    def find_terms(self) -> tuple[int, ...]:
        """The sender's settle mode and the most octets of a message; nothing where the usual ways can't be taken.

        Both attaches say it. Subclasses leave out links that need more than that.
        """
        sender, receiver = self.halves[self.sender].attach, self.halves[1 - self.sender].attach
        terms: tuple[int, ...] = ()
        if sender is not None and receiver is not None and not receiver.incomplete_unsettled:
            second = receiver.rcv_settle_mode or 0
            terms = sender.snd_settle_mode or 0, receiver.max_message_size or _UNLIMITED, second
        return terms

    def take_usual_transfer(
        self, delivery_id: int, tag: bytes, size: int, most: int, delivery: DeliveryModel | None
    ) -> bool:
        """A new delivery of `size` octets in one transfer of message-format 0, as `SessionModel.step_transfer`.

        `delivery` is kept when it's taken: all sent, with nothing said of it; None for one that is settled. At most
        `most` deliveries of the session may be unsettled.
        """
        terms = self.terms
        if terms is None:
            terms = self.terms = self.find_terms()
        own = self.sending
        number = own.next_outgoing_id
        deliveries = own.deliveries
        unsettled = self.unsettled
        count = self.delivery_count
        credit = self.credit_known
        if (
            not terms
            or self.current is not None
            or own.window_known == number
            or (credit is not None and not 0 < (credit - count) & MASK < HALF)
            or delivery_id in deliveries
            or tag in unsettled
            or len(tag) > ID_SIZE
            or terms[0] == (SND_UNSETTLED if delivery is None else SND_SETTLED)
            or size > terms[1]
            or len(deliveries) >= most
        ):
            return False
        own.next_outgoing_id = (number + 1) & MASK
        self.delivery_count = (count + 1) & MASK
        if self.available:
            self.available -= 1
        if delivery is not None:
            deliveries[delivery_id] = delivery
            unsettled[tag] = delivery
        return True

    # What those who hold a link do to it.

    def offer(self, count: int) -> None:
        """So many messages wait at the sender."""
        self.available = count

    def advance(self, delivery_count: int) -> None:
        """The sender's delivery-count is this: it gives up credit, or takes that back when it couldn't say so."""
        self.delivery_count = delivery_count

    def cut(self) -> None:
        """The delivery under way doesn't go on."""
        self.current = None

    def unknown_credit(self) -> None:
        """Nobody knows how much credit the sender has, until the receiver says it again."""
        self.credit_limit = None
        self.credit_known = None

    def assume_attached(self, side: int, handle: int) -> None:
        """A side has attached its end, which wasn't seen."""
        half = self.halves[side]
        half.state = ATTACHED
        half.handle = handle
        self.terms = None
        self.unknown_credit()

    def attach_as_told(self, side: int, frame: Attach) -> None:
        """A side has attached its end by a frame that breaks a rule."""
        self.assume_attached(side, frame.handle)
        self.halves[side].attach = frame
        if side == self.sender:
            self.delivery_count = frame.initial_delivery_count or 0

    def detach_as_told(self, side: int, closed: bool) -> None:
        """A side has detached its end by a frame that breaks a rule."""
        self.halves[side].state = states.Link.CLOSED if closed else states.Link.DETACHED
        self.terms = None
        if self.sender == side:
            self.current = None

    def transfer_as_told(self, frame: Transfer, size: int, tag: bytes, side: int) -> DeliveryModel:
        """A transfer of `side` that breaks a rule: its delivery, which goes on or is a new one with that tag."""
        delivery: DeliveryModel | None = self.current
        if delivery is None or frame.delivery_id not in (None, delivery.delivery_id):
            delivery = self.DELIVERY(self, frame.delivery_id or 0, tag)
            delivery.resumed = frame.resume
        delivery.say(side, frame.state, bool(frame.settled) or frame.aborted)
        delivery.size += size
        self.current = delivery if frame.more and not frame.aborted else None
        delivery.progress = SENDING if frame.more else SENT
        if frame.aborted:
            delivery.progress = states.Delivery.ABORTED
        return delivery

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

    def check(self) -> None:
        """Check the module's invariants. Raises AssertionError."""
        where = f"link {self.name!r}"
        limits = self.session.rules.limits
        unknown = (self.credit_limit is None) == (self.credit_known is None)
        ensure(unknown, where, "both limits of the credit are known, or none", self.credit_limit, self.credit_known)
        if self.credit_limit is not None and self.credit_known is not None:
            here = self.delivery_count
            within = distance(here, self.credit_limit) <= distance(here, self.credit_known)
            ensure(within, where, "`credit_limit` isn't beyond `credit_known`", self.credit_limit, self.credit_known)
        ensure(self.available >= 0, where, "no less than nothing is available", self.available)
        current: DeliveryModel | None = self.current
        going_on = current is None or current.progress is SENDING
        ensure(going_on, where, "`current` is the delivery that goes on being sent", current and current.progress)
        ensure(
            len(self.unsettled) <= limits.unsettled, where, "`Limits.unsettled` bounds what waits", len(self.unsettled)
        )
        deliveries = self.sending.deliveries
        for tag, delivery in self.unsettled.items():
            ensure(delivery.delivery_tag == tag, where, "each delivery is kept by its tag", tag)
            if self.is_attached and delivery.progress is not NOT_SENT:
                known = deliveries.get(delivery.delivery_id) is delivery
                ensure(known, where, "what an attached link has its session has too", delivery.delivery_id)

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
        self.terms = None
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
                delivery.keep(deliveries)
            return delivery
        self.current = None
        if given is _ABORT or delivery.settled:
            # An aborted delivery is settled too (part 2 section 2.7.5).
            delivery.settled = True
            delivery.forget(deliveries)
        else:
            delivery.keep(deliveries)
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
        delivery = self.DELIVERY(self, delivery_id, tag)
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
        # They are found again; commands that raise leave everything else as it was.
        state: Any = object.__getstate__(self)
        return None, {**state[1], "terms": None}
