"""ObservedModel: the model of an endpoint, for an observer, who sees both ends and does not stop at a broken rule.

Where something may be missing (after a gap, a late start, or a violation that was reported) it takes what comes as
told, and it forgets the oldest of what is above a limit. `Outcomes` says what that means to messages.
Sections of 1.0 part 2: 2.4.6, 2.5.5, 2.6.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any, ClassVar, Final

from ..._ground.brevity import KEPT, short, trim
from ..._ground.invariants import ensure
from ..._watching.holders import all_open
from ...limits import Limits
from ..codec.composite import Composite
from ..codec.decode import Map
from ..codec.performatives import Attach, Begin, Close, Detach, Disposition, End, Flow, Open, SaslInit, Transfer
from ..codec.violation import LateViolation, Violation
from ..model import states
from ..model.connection import SASL_FRAMES, ConnectionModel
from ..model.link_state import Rules, SessionModel, named
from .holders import Holders
from .outcomes import ObservedDelivery, ObservedLink, Outcomes, Unrecorded

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from ..._watching.holders import Holder
    from ..._watching.settlements import Settlements
    from ..codec.performatives import Performative, SaslFrame
    from ..model.link_state import DeliveryModel, LinkModel

_UNBOUNDED: Final = 1 << 62

NOTHING_AFTER: Final = "transport/close/nothing-after"
"""The rule that a frame behind its sender's close breaks."""
_TOO_MUCH: Final = "transport/error/resource-limit"
"""The rule that a disposition breaks that costs too much to look at."""
_EVER_WRONG: Final = frozenset(
    {
        "received/mandatory-fields",
        "transport/attach/initial-delivery-count",
        "transport/attach/unsettled-keys",
        NOTHING_AFTER,
        "transport/connection/open-channel-0",
        "transport/delivery/tag-size",
        "transport/disposition/range",
        "transport/flow/no-handle",
        "transport/open/max-frame-size-min",
        "security/sasl/mechanisms-nonempty",
        "security/sasl/roles",
    }
)
"""Rules that a frame breaks whatever came before it."""

_SASL_AFTER: Final = {given: after for row in states.SASL.values() for given, after in row.items()}
"""Where the SASL exchange must be behind an input, whatever was missed before."""


_FEW: Final = 4
"""Channels or handles that may be noted as used in excess of those that there are."""


class ObservedSession(SessionModel):
    """A session; `assumed` says that not all of it was seen. `begun` and `ended` are the units of each side.

    `left` are the links that a side has detached, and the other one, which hasn't them attached, may still speak of.
    `used` are the links that frames were about since the last gap, by side and handle; None: all, as there was no gap.
    """

    __slots__ = ("assumed", "begun", "ended", "heard", "left", "used")

    def __init__(self, rules: Rules, initiator: int | None) -> None:
        super().__init__(rules, initiator)
        self.assumed = initiator is None
        self.begun: list[int | None] = [None, None]
        self.ended: list[int | None] = [None, None]
        self.left: dict[tuple[str, int], ObservedLink] = {}
        self.heard = [0, 0]
        """How many gaps each side had when its last frame on the session came."""
        self.used: dict[tuple[int, int], None] | None = None

    def doubt(self) -> None:
        """Not all of it was seen: nothing can be said about its windows and credit. Of links that no frame was about
        since that was so before, nothing has been said."""
        self.assumed = True
        for half in self.halves:
            half.unknown_window()
        if self.used is None:
            links = [link for half in self.halves for link in half.handles.values()]
        else:
            found = [self.halves[side].handles.get(handle) for side, handle in self.used]
            links = [link for link in found if link is not None]
        for link in links:
            link.unknown_credit()
        self.used = {}

    def use(self, side: int, handle: int | None, gaps: int) -> None:
        """A frame of a side, which has had so many gaps, is about a link."""
        if handle is None:
            return
        halves = self.halves
        link = halves[side].handles.get(handle)
        if isinstance(link, ObservedLink):
            link.heard[side] = gaps
        used = self.used
        if used is None:
            return
        used[(side, handle)] = None
        if len(used) > 2 * (len(halves[0].handles) + len(halves[1].handles)) + _FEW:
            self.used = {key: None for key in used if key[1] in halves[key[0]].handles}

    def new_link(self, name: str, sender: int) -> LinkModel:
        return ObservedLink(self, name, sender)

    def lost_link(self) -> None:
        """A link was forgotten: what is said of it later is said of one that isn't known."""
        self.assumed = True


class ObservedModel(ConnectionModel):
    """Both ends of a connection, as far as they are known. `assumed` says that something was missed for sure, `blind`
    that it's being missed: what one side sends can't be read at the moment. `outcomes` is what becomes of messages,
    where `records` are wanted, `account` says who holds them where there are `accounts`.
    """

    __slots__ = (
        "account",
        "assumed",
        "blind",
        "bounds",
        "gaps",
        "most_under_way",
        "outcomes",
        "records",
        "reported_closed",
        "sasl_early",
        "sent",
        "tolerated",
        "under_way",
        "used",
    )

    def __init__(self, limits: Limits, records: bool, accounts: bool = False) -> None:
        # Limits that an endpoint enforces are no rules of the specification; `_bound` limits what is kept.
        unbounded = Limits(channels=_UNBOUNDED, consumers=_UNBOUNDED, unsettled=_UNBOUNDED)
        super().__init__(unbounded)
        self.bounds = limits
        self.records = records
        self.outcomes = Outcomes(limits) if records else Unrecorded()
        self.sent: ObservedDelivery | None = None
        self.assumed = False
        self.blind = False
        self.gaps = [0, 0]
        """How often something that a side sent wasn't seen; of a session or a link that it was heard on since, its end
        wasn't among that."""
        self.sasl_early = False
        self.tolerated: list[Violation] = []
        self.reported_closed = [False, False]
        self.under_way: tuple[dict[tuple[int, int], None], dict[tuple[int, int], None]] = ({}, {})
        """For each side the channels and handles on which a delivery has begun that goes on."""
        self.most_under_way = 64
        """With more of them, those are forgotten whose session or link has ended."""
        self.used: dict[tuple[int, int], None] = {}
        """Channels, by side, that were used since the last gap: of the sessions of others nothing is believed."""
        self.account = Holders(self, limits) if accounts else None

    def holders(self) -> Iterable[Holder]:
        """The links that are open on which the server sends, if there are `accounts`; each event steps them."""
        return all_open(self.account)

    def check(self) -> None:
        """Check what is kept of messages, but no rule of the protocol. Raises AssertionError."""
        ensure(not self.tolerated, "the observed connection", "broken rules are told with their unit", self.tolerated)
        self.outcomes.check()
        if self.account is not None:
            self.account.check()

    def link_at(self, side: int, channel: int, handle: int) -> ObservedLink | None:
        """The link that a side has attached with a handle on a channel."""
        session = self.halves[side].channels.get(channel)
        link = None if session is None else session.halves[side].handles.get(handle)
        return link if isinstance(link, ObservedLink) else None

    def new_session(self, initiator: int | None) -> SessionModel:
        return ObservedSession(self, initiator)

    def may_lack(self, session: SessionModel) -> bool:
        return self._own(session).assumed

    def tolerate(self, violation: Violation) -> None:
        self.tolerated.append(violation)

    def lost(self, client: bool) -> Settlements:
        """Octets of a side became no unit: nobody knows how the open transactions end."""
        return self.outcomes.lost()

    def missed(self, side: int) -> None:
        """Something that a side sent wasn't seen: what is open now may be another thing, or further on."""
        self.assumed = True
        self.gaps[side] += 1
        for half in self.halves:
            half.assume()
        for side, channel in self.used:
            session = self.halves[side].channels.get(channel)
            if session is not None:
                self._own(session).doubt()
        self.used.clear()

    def _forgot(self, session: ObservedSession | None) -> None:
        """A session, or a link of one, was forgotten because there are too many; nothing of the others was missed."""
        self.assumed = True
        if session is not None:
            session.lost_link()

    @staticmethod
    def _own(session: SessionModel) -> ObservedSession:
        """The session as what `new_session` made."""
        assert isinstance(session, ObservedSession)
        return session

    def pass_usual(self, side: int, channel: int, handle: int) -> bool:
        """A side sends a disposition, or with a handle of 0 or more a transfer, of which nobody wants to know what it
        does to deliveries, windows and credit; whether that is all that it does, as far as units are concerned.

        That holds for all that follow until another performative comes: a transfer that isn't the only one of its
        delivery is another one, too.
        """
        session = self.halves[side].channels.get(channel)
        if not isinstance(session, ObservedSession):
            return False
        if handle >= 0:
            link = session.halves[side].handles.get(handle)
            if link is None or link.sender != side or link.current is not None:
                return False
            session.use(side, handle, self.gaps[side])
        session.heard[side] = self.gaps[side]
        self.used[(side, channel)] = None
        return True

    def _use(self, side: int, channel: int, frame: Performative) -> None:
        """A frame is about a session, and perhaps a link of it."""
        halves, used = self.halves, self.used
        session = halves[side].channels.get(channel)
        if session is None:
            return
        own, gaps = self._own(session), self.gaps[side]
        own.heard[side] = gaps
        used[(side, channel)] = None
        if len(used) > 2 * (len(halves[0].channels) + len(halves[1].channels)) + _FEW:
            self.used = {key: None for key in used if key[1] in halves[key[0]].channels}
        if isinstance(frame, (Attach, Flow, Transfer)):
            own.use(side, frame.handle, gaps)
        if isinstance(frame, Transfer):
            key, under_way = (channel, frame.handle), self.under_way[side]
            if frame.more and not frame.aborted:
                under_way[key] = None
                if len(under_way) > self.most_under_way:
                    for each in [each for each in under_way if not self._is_under_way(side, *each)]:
                        del under_way[each]
                    self.most_under_way = max(self.most_under_way, 2 * len(under_way))
            else:
                under_way.pop(key, None)

    def _is_under_way(self, side: int, channel: int, handle: int) -> bool:
        session = self.halves[side].channels.get(channel)
        link = None if session is None else session.halves[side].handles.get(handle)
        return link is not None and link.current is not None

    def dropped(self, side: int) -> None:
        """Deliveries that one side has under way won't go on."""
        for channel, handle in self.under_way[side]:
            session = self.halves[side].channels.get(channel)
            link = None if session is None else session.halves[side].handles.get(handle)
            if link is not None and link.sender == side:
                link.cut()
        self.under_way[side].clear()

    def take_header(self, side: int) -> Violation | None:
        """Step a protocol header; the violation that is to be reported."""
        try:
            self.step_header(side)
        except Violation as broken:
            return None if self.assumed else broken
        return None

    def take_sasl(self, side: int, frame: SaslFrame) -> Violation | None:
        """Step the SASL exchange; the violation that is to be reported."""
        try:
            self.step_sasl(side, frame)
        except Violation as broken:
            early = self.sasl is states.Sasl.START and isinstance(frame, SaslInit)
            self.sasl_early = self.sasl_early or early
            if not early:
                self.sasl_as_told(_SASL_AFTER[SASL_FRAMES[type(frame)][1]])
            return None if self.assumed and broken.rule not in _EVER_WRONG else broken
        if self.sasl_early and self.sasl is states.Sasl.OFFERED:
            # The choice came before the offer, which was reported.
            self.sasl_as_told(states.Sasl.CHOSEN)
            self.sasl_early = False
        return None

    def take_empty(self, side: int, channel: int) -> Violation | None:
        """Step an empty frame; the violation that is to be reported."""
        try:
            self.step_empty(side, channel)
        except Violation as broken:
            return self._told(side, broken)
        return None

    def take(
        self, side: int, channel: int, frame: Performative, size: int, seq: int, octets: int
    ) -> tuple[int | None, Violation | None]:
        """Step a frame of `octets` octets and a payload of `size`, which will be the unit `seq`.

        Says which unit it answers, and the violation that is to be reported; the books go on all the same.
        """
        if octets > KEPT:
            frame = shorten(frame)
        half = self.halves[side]
        known: Any = half.channels.get(channel)
        doubt = self.assumed and (self.blind or known is None or known.assumed)
        half.assume(doubt)
        if isinstance(frame, Begin):
            self._begin_anew(side, known, frame)
        if doubt:
            self._make_way(side, channel, frame)
        count = 0 if known is None else known.halves[side].next_outgoing_id
        broken: Violation | None = None
        answers: int | None = None
        try:
            answers = self._step(side, channel, frame, size, seq)
        except Violation as violation:
            broken = violation
            if broken.rule != _TOO_MUCH and not isinstance(broken, LateViolation):
                self._force(side, channel, frame, size, count)
            if doubt and broken.rule not in _EVER_WRONG:
                broken = None
            if broken is not None:
                broken = self._told(side, broken)
        finally:
            if len(half.channels) > self.bounds.channels:
                for forgotten in trim(half.channels, self.bounds.channels).values():
                    self.outcomes.session_over(forgotten)
                self._forgot(None)
            half.assume(self.assumed)
            self._use(side, channel, frame)
            if octets > KEPT:
                self._lighten(side, channel, frame)
            if doubt and self.tolerated:
                self.tolerated = [each for each in self.tolerated if each.rule in _EVER_WRONG]
        return answers, broken

    def _step(self, side: int, channel: int, frame: Any, size: int, seq: int) -> int | None:
        """A frame that follows the rules; the unit that it answers."""
        found: Any
        if isinstance(frame, Transfer):
            found = self.transfer(side, channel, frame, size)
            self.sent = found
            self.bound(side, found.link.session)
        elif isinstance(frame, Disposition):
            self._stated(self.disposition(side, channel, frame)[1], side, frame)
        elif isinstance(frame, Begin):
            found, answers = self.begin(side, channel, frame)
            found.begun[side] = seq
            if self.blind:
                self._own(found).doubt()
            self.bound(side, found)
            return found.begun[1 - side] if answers else None
        elif isinstance(frame, End):
            found, answers = self.end(side, channel)
            found.ended[side] = seq
            self.ended(found, side)
            self._end_unseen(1 - side, found)
            return found.ended[1 - side] if answers else None
        elif isinstance(frame, Attach):
            found, answers = self.attach(side, channel, frame)
            found.attached[side] = seq
            if self.blind:
                self._own(found.session).doubt()
            self.bound(side, found.session)
            self.outcomes.attached(found, side, answers)
            return found.attached[1 - side] if answers else None
        elif isinstance(frame, Detach):
            found, answers = self.detach(side, channel, frame)
            found.detached[side] = seq
            self.leave(found.session, found)
            self.outcomes.detached(found, side, frame.error is not None)
            self._detach_unseen(1 - side, found, frame)
            return found.detached[1 - side] if answers else None
        else:
            self.step(side, channel, frame)
        return None

    def _end_unseen(self, side: int, session: SessionModel) -> None:
        """The other side has left a session. A side that wasn't heard on it since its octets were lost may have left it
        too: what it sends on that channel from now on may be of another session."""
        half = session.halves[side]
        if half.state is states.Session.MAPPED and self._own(session).heard[side] < self.gaps[side]:
            self._force(side, half.channel, End(), 0, 0)

    def _detach_unseen(self, side: int, link: LinkModel, frame: Detach) -> None:
        """The other side has detached a link: as `_end_unseen`, for what comes on that handle."""
        session, half = self._own(link.session), link.halves[side]
        unheard = isinstance(link, ObservedLink) and link.heard[side] < self.gaps[side]
        is_its = session.halves[side].handles.get(half.handle) is link
        if half.state is states.Link.ATTACHED and unheard and is_its:
            self._force_detach(side, session, Detach(half.handle, frame.closed))

    def _force(self, side: int, channel: int, frame: object, size: int, count: int) -> None:
        """A frame that breaks a rule: the model takes it as told. `count` is the id of a transfer."""
        half = self.halves[side]
        if isinstance(frame, Open):
            half.open_as_told(frame)
        elif isinstance(frame, Close):
            half.close_as_told()
        elif isinstance(frame, End):
            session = half.drop(channel)
            if session is not None:
                session.halves[side].end_as_told()
                half.leave(channel)
                self.ended(session, side)
        elif isinstance(frame, Begin):
            half.drop(channel)
            if frame.remote_channel is not None:
                waiting = self.halves[1 - side].channels.get(frame.remote_channel)
                if waiting is not None and waiting.halves[side].state is states.Session.UNMAPPED:
                    half.put(channel, waiting)
            session = self.assume(side, channel)
            session.halves[side].map(channel, frame)
            session.doubt()
            self.bound(side, session)
        elif isinstance(frame, Transfer):
            self._force_transfer(side, self.assume(side, channel), frame, size, count)
        else:
            self._FORCE[type(frame)](self, side, self.assume(side, channel), frame)

    def _force_attach(self, side: int, session: SessionModel, frame: Attach) -> None:
        key = (frame.name, 1 - side if frame.role else side)
        session.forgive(*key)
        link = session.names.get(key)
        if link is None or link.halves[side].state is states.Link.ATTACHED:
            link = session.new_link(*key)
            session.put_name(key, link)
        link.attach_as_told(side, frame)
        session.halves[side].put_link(frame.handle, link)
        self.bound(side, session)
        if isinstance(link, ObservedLink):
            self.outcomes.attached(link, side, link.is_attached)

    def _force_detach(self, side: int, session: SessionModel, frame: Detach) -> None:
        link = session.halves[side].drop_link(frame.handle)
        if not isinstance(link, ObservedLink):
            return
        link.detach_as_told(side, frame.closed)
        key = (link.name, link.sender)
        if link.halves[1 - side].state is not states.Link.ATTACHED and session.names.get(key) is link:
            session.put_name(key, None)
        self.leave(session, link)
        self.outcomes.detached(link, side, frame.error is not None)

    def _force_flow(self, side: int, session: SessionModel, frame: Flow) -> None:
        own, other = session.halves[side], session.halves[1 - side]
        own.renumber(frame.next_outgoing_id)
        other.unknown_window()
        link = None if frame.handle is None else own.handles.get(frame.handle)
        if link is not None:
            link.unknown_credit()
            if link.sender == side and frame.delivery_count is not None:
                link.advance(frame.delivery_count)

    def _force_transfer(self, side: int, session: SessionModel, frame: Transfer, size: int, count: int) -> None:
        own = session.halves[side]
        own.count_transfer_as_told(count)
        link = own.handles.get(frame.handle)
        if link is None:
            link = session.new_link("", side)
            own.put_link(frame.handle, link)
            link.assume_attached(side, frame.handle)
        # Nothing more is said about its credit until the receiver gives some.
        link.unknown_credit()
        booked = link.sender == side
        if not booked:
            # Receivers can't send; what they send belongs to no link that there is.
            link = session.new_link("", side)
        delivery: Any = link.transfer_as_told(frame, size, short(frame.delivery_tag or b""), side)
        self.sent = delivery
        if booked:
            # A delivery that isn't settled is kept in the place of any that has its id or tag.
            deliveries = own.deliveries
            for other in (deliveries.get(delivery.delivery_id), link.unsettled.get(delivery.delivery_tag)):
                if other is not None:
                    other.forget(deliveries)
                    self.outcomes.end(other)
            if not delivery.settled:
                delivery.keep(deliveries)
            self.bound(side, session)

    def _force_disposition(self, side: int, session: SessionModel, frame: Disposition) -> None:
        deliveries = session.halves[1 - side if frame.role else side].deliveries
        found = named(deliveries, frame)
        for delivery in found:
            delivery.say(side, frame.state, frame.settled)
            if frame.settled:
                delivery.forget(deliveries)
        self._stated(found, side, frame)

    def _stated(self, deliveries: list[DeliveryModel], side: int, frame: Disposition) -> None:
        """A side has spoken of deliveries. Where the receiver's word may not have been seen, the sender's isn't all."""
        known = deliveries
        if not frame.role and self.assumed:
            known = [each for each in deliveries if each.states[1 - side] is not None or not self._unheard(each)]
            for each in deliveries:
                if each not in known:
                    self.outcomes.end(each)
        self.outcomes.stated(known, side, frame.state, frame.settled)

    def _unheard(self, delivery: DeliveryModel) -> bool:
        return self.blind or self._own(delivery.link.session).assumed

    _FORCE: ClassVar[Mapping[type[Any], Callable[..., None]]] = {
        Attach: _force_attach,
        Flow: _force_flow,
        Disposition: _force_disposition,
        Detach: _force_detach,
    }

    def _lighten(self, side: int, channel: int, frame: Performative) -> None:
        """Of a large frame that opens something, keep only what later rules ask for."""
        half = self.halves[side]
        session = half.channels.get(channel)
        if half.open is frame:
            half.keep_open(lean(frame))
        elif session is not None and isinstance(frame, Begin):
            session.halves[side].keep_begin(lean(session.halves[side].begin))
        elif session is not None and isinstance(frame, Attach):
            link = session.halves[side].handles.get(frame.handle)
            if link is not None:
                link.halves[side].keep_attach(lean_attach(frame))

    def take_sent(self) -> ObservedDelivery | None:
        """The delivery of the transfer that was stepped last."""
        sent, self.sent = self.sent, None
        return sent

    def _check_channel(self, side: int, channel: int, what: str) -> None:
        # Before the other side's open a sender may know what it takes (part 2 section 2.4.4); the observer looks later.
        if self.halves[1 - side].open is not None:
            super()._check_channel(side, channel, what)

    def _told(self, side: int, broken: Violation) -> Violation | None:
        """The violation, unless one like it has been reported: what follows a close is wrong only once."""
        if broken.rule != NOTHING_AFTER:
            return broken
        if self.reported_closed[side]:
            return None
        self.reported_closed[side] = True
        return broken

    def _begin_anew(self, side: int, known: SessionModel | None, frame: Begin) -> None:
        """End the session that had the channel, and one that had an answer already: their ends weren't seen."""
        if known is not None:
            self.outcomes.session_over(known)
        if frame.remote_channel is not None:
            answered = self.halves[1 - side].channels.get(frame.remote_channel)
            if answered is not None and answered.halves[side].state is not states.Session.UNMAPPED:
                self.outcomes.session_over(answered)

    def _make_way(self, side: int, channel: int, frame: Performative) -> None:
        """Forget the session or link that had the channel or handle: it must have ended unseen."""
        half = self.halves[side]
        if isinstance(frame, Begin):
            half.drop(channel)
        elif isinstance(frame, Attach):
            session = half.channels.get(channel)
            if session is not None:
                session.halves[side].drop_link(frame.handle)
                session.forgive(frame.name, 1 - side if frame.role else side)

    def bound(self, side: int, session: SessionModel) -> None:
        """Forget the oldest of what is above its limit; not everything is known from then on."""
        bounds = self.bounds
        own = session.halves[side]
        forgotten = len(trim(own.handles, bounds.consumers)) + len(trim(session.names, 2 * bounds.consumers))
        if forgotten:
            self._forgot(self._own(session))
        deliveries = own.deliveries
        if len(deliveries) > bounds.unsettled:
            for oldest in [*islice(deliveries.values(), max(1, bounds.unsettled // 64))]:
                oldest.forget(deliveries)
                self.outcomes.end(oldest)

    def leave(self, session: Any, link: ObservedLink) -> None:
        """A side has detached its end of a link. Where the other direction isn't captured, no answer ever comes."""
        key = (link.name, link.sender)
        left: dict[tuple[str, int], ObservedLink] = session.left
        left.pop(key, None)
        if session.names.get(key) is not link or link.half_attached:
            return
        left[key] = link
        if len(left) > self.bounds.requests:
            oldest = next(iter(left))
            forgotten = left.pop(oldest)
            if session.names.get(oldest) is forgotten and not forgotten.half_attached:
                session.put_name(oldest, None)
                self._forgot(session)

    def ended(self, session: SessionModel, side: int) -> None:
        """A side has left a session; it's over when the other one has too, or wasn't seen to begin it."""
        if session.halves[1 - side].state is not states.Session.MAPPED:
            self.outcomes.session_over(session)

    def assume(self, side: int, channel: int) -> ObservedSession:
        """The session on a channel; one whose begin wasn't seen if there's none."""
        half = self.halves[side]
        half.assume_open()
        return self._own(half.channels.get(channel) or self._assume_session(side, channel))


def lean(value: object) -> Any:
    """A value whose texts are short, and which has no maps and lists."""
    if isinstance(value, Composite):
        return type(value)(*[lean(getattr(value, name)) for name in value.__match_args__])
    if isinstance(value, str):
        return short(value)
    if isinstance(value, bytes):
        return short(value)
    return value if isinstance(value, int) else None


def lean_attach(attach: Attach) -> Attach:
    """A large attach, as far as rules ask for it: nothing is said of what its unsettled map has (2.6.13)."""
    kept: Attach = lean(attach)
    if attach.unsettled is None:
        return kept
    return kept.replace(unsettled=Map(), incomplete_unsettled=attach.incomplete_unsettled or not attach.role)


def shorten(frame: Performative) -> Performative:
    """A large frame with a short name and state, by which links, outcomes and transactions are compared."""
    if isinstance(frame, Attach):
        return frame.replace(name=short(frame.name))
    if isinstance(frame, (Transfer, Disposition)):
        return frame.replace(state=lean(frame.state))
    return frame
