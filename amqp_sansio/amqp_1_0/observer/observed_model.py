"""ObservedModel: the model of an endpoint, for an observer, who sees both ends and does not stop at a broken rule.

Where something may be missing (after a gap, a late start, or a violation that was reported) it takes what comes as
told, and it forgets the oldest of what is above a limit. `Outcomes` says what that means to messages.
Sections of 1.0 part 2: 2.4.6, 2.5.5, 2.6.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Final

from ..._core.brevity import KEPT, short
from ..._core.serial import add
from ...limits import Limits
from ..codec.composite import Composite
from ..codec.decode import Map
from ..codec.performatives import Attach, Begin, Close, Detach, Disposition, End, Flow, Open, SaslInit, Transfer
from ..codec.violation import Violation
from ..model import states
from ..model.connection import SASL_FRAMES, ConnectionModel
from ..model.link_state import Rules, SessionModel, named
from .outcomes import ObservedDelivery, ObservedLink, Outcomes, Unrecorded

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ..._core.settlements import Settlements
    from ..codec.performatives import Performative, SaslFrame
    from ..model.link_state import LinkModel

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
        "transport/flow/delivery-count-sender",
        "transport/flow/no-handle",
        "transport/open/max-frame-size-min",
        "security/sasl/mechanisms-nonempty",
        "security/sasl/roles",
    }
)
"""Rules that a frame breaks whatever came before it."""

_SASL_AFTER: Final = {given: after for row in states.SASL.values() for given, after in row.items()}
"""Where the SASL exchange must be behind an input, whatever was missed before."""


class ObservedSession(SessionModel):
    """A session; `assumed` says that not all of it was seen. `begun` and `ended` are the units of each side.

    `left` are the links that a side has detached, and the other one, which hasn't them attached, may still speak of.
    """

    __slots__ = ("assumed", "begun", "ended", "left")

    def __init__(self, rules: Rules, initiator: int | None) -> None:
        super().__init__(rules, initiator)
        self.assumed = initiator is None
        self.begun: list[int | None] = [None, None]
        self.ended: list[int | None] = [None, None]
        self.left: dict[tuple[str, int], ObservedLink] = {}

    def new_link(self, name: str, sender: int) -> LinkModel:
        return ObservedLink(self, name, sender)


class ObservedModel(ConnectionModel):
    """Both ends of a connection, as far as they are known. `assumed` says that something was missed for sure, `blind`
    that it's being missed: what one side sends can't be read at the moment. `outcomes` is what becomes of messages,
    where `records` are wanted.
    """

    __slots__ = (
        "assumed", "blind", "bounds", "outcomes", "records", "reported_closed", "sasl_early", "sent", "tolerated",
    )  # fmt: skip

    def __init__(self, limits: Limits, records: bool) -> None:
        # Limits that an endpoint enforces are no rules of the specification; `_bound` limits what is kept.
        unbounded = Limits(channels=_UNBOUNDED, consumers=_UNBOUNDED, unsettled=_UNBOUNDED)
        super().__init__(unbounded)
        self.bounds = limits
        self.records = records
        self.outcomes = Outcomes(limits) if records else Unrecorded()
        self.sent: ObservedDelivery | None = None
        self.assumed = False
        self.blind = False
        self.sasl_early = False
        self.tolerated: list[Violation] = []
        self.reported_closed = [False, False]

    def new_session(self, initiator: int | None) -> SessionModel:
        return ObservedSession(self, initiator)

    def tolerate(self, violation: Violation) -> None:
        self.tolerated.append(violation)

    def lost(self, client: bool) -> Settlements:
        """Octets of a side became no unit: nobody knows how the open transactions end."""
        return self.outcomes.lost()

    def missed(self) -> None:
        """Something that one side sent wasn't seen: what is open now may be another thing, or further on."""
        self.assumed = True
        for half in self.halves:
            half.assumed = True
            for session in half.channels.values():
                _doubt(session)

    def dropped(self, side: int) -> None:
        """Deliveries that one side has under way won't go on."""
        for session in self.halves[side].channels.values():
            for link in session.halves[side].handles.values():
                if link.sender == side:
                    link.current = None

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
                self.sasl = _SASL_AFTER[SASL_FRAMES[type(frame)][1]]
            return None if self.assumed and broken.rule not in _EVER_WRONG else broken
        if self.sasl_early and self.sasl is states.Sasl.OFFERED:
            # The choice came before the offer, which was reported.
            self.sasl = states.Sasl.CHOSEN
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
        half.assumed = doubt
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
            if broken.rule != _TOO_MUCH:
                self._force(side, channel, frame, size, count)
            if doubt and broken.rule not in _EVER_WRONG:
                broken = None
            if broken is not None:
                broken = self._told(side, broken)
        finally:
            if len(half.channels) > self.bounds.channels:
                self.outcomes.session_over(half.channels.pop(next(iter(half.channels))))
                self.missed()
            half.assumed = self.assumed
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
            self.outcomes.stated(self.disposition(side, channel, frame)[1], side, frame.state, frame.settled)
        elif isinstance(frame, Begin):
            found, answers = self.begin(side, channel, frame)
            found.begun[side] = seq
            self.bound(side, found)
            return found.begun[1 - side] if answers else None
        elif isinstance(frame, End):
            found, answers = self.end(side, channel)
            found.ended[side] = seq
            self.ended(found, side)
            return found.ended[1 - side] if answers else None
        elif isinstance(frame, Attach):
            found, answers = self.attach(side, channel, frame)
            found.attached[side] = seq
            self.bound(side, found.session)
            self.outcomes.attached(found, side, answers)
            return found.attached[1 - side] if answers else None
        elif isinstance(frame, Detach):
            found, answers = self.detach(side, channel, frame)
            found.detached[side] = seq
            self.leave(found.session, found)
            self.outcomes.detached(found, side, frame.error is not None)
            return found.detached[1 - side] if answers else None
        else:
            self.step(side, channel, frame)
        return None

    def _force(self, side: int, channel: int, frame: Any, size: int, count: int) -> None:
        """A frame that breaks a rule: the model takes it as told. `count` is the id of a transfer."""
        half = self.halves[side]
        if isinstance(frame, Open):
            if half.state is not states.Connection.CLOSED:
                half.state = states.Connection.OPEN
            half.open = frame
        elif isinstance(frame, Close):
            half.state = states.Connection.CLOSED
        elif isinstance(frame, End):
            session = half.channels.pop(channel, None)
            if session is not None:
                session.halves[side].state = states.Session.ENDED
                self.ended(session, side)
        elif isinstance(frame, Begin):
            half.channels.pop(channel, None)
            if frame.remote_channel is not None:
                waiting = self.halves[1 - side].channels.get(frame.remote_channel)
                if waiting is not None and waiting.halves[side].state is states.Session.UNMAPPED:
                    half.channels[channel] = waiting
            session = self.assume(side, channel)
            session.halves[side].map(channel, frame)
            _doubt(session)
            self.bound(side, session)
        elif isinstance(frame, Transfer):
            self._force_transfer(side, self.assume(side, channel), frame, size, count)
        else:
            self._FORCE[type(frame)](self, side, self.assume(side, channel), frame)

    def _force_attach(self, side: int, session: SessionModel, frame: Attach) -> None:
        key = (frame.name, 1 - side if frame.role else side)
        session.failed.pop(session.failed_key(*key), None)
        link = session.names.get(key)
        if link is None or link.halves[side].state is states.Link.ATTACHED:
            link = session.names[key] = session.new_link(*key)
        half = link.halves[side]
        half.state = states.Link.ATTACHED
        half.handle = frame.handle
        half.attach = frame
        session.halves[side].handles[frame.handle] = link
        if side == link.sender:
            link.delivery_count = frame.initial_delivery_count or 0
        link.credit_limit = link.credit_known = None
        self.bound(side, session)
        if isinstance(link, ObservedLink):
            self.outcomes.attached(link, side, link.is_attached)

    def _force_detach(self, side: int, session: SessionModel, frame: Detach) -> None:
        link = session.halves[side].handles.pop(frame.handle, None)
        if not isinstance(link, ObservedLink):
            return
        half = link.halves[side]
        half.state = states.Link.CLOSED if frame.closed else states.Link.DETACHED
        if link.sender == side:
            link.current = None
        key = (link.name, link.sender)
        if link.halves[1 - side].state is not states.Link.ATTACHED and session.names.get(key) is link:
            del session.names[key]
        self.leave(session, link)
        self.outcomes.detached(link, side, frame.error is not None)

    def _force_flow(self, side: int, session: SessionModel, frame: Flow) -> None:
        own, other = session.halves[side], session.halves[1 - side]
        own.renumber(frame.next_outgoing_id)
        other.window_limit = other.window_known = None
        link = None if frame.handle is None else own.handles.get(frame.handle)
        if link is not None:
            link.credit_limit = link.credit_known = None
            if link.sender == side and frame.delivery_count is not None:
                link.delivery_count = frame.delivery_count

    def _force_transfer(self, side: int, session: SessionModel, frame: Transfer, size: int, count: int) -> None:
        own = session.halves[side]
        own.next_outgoing_id = add(count, 1)
        own.window_limit = own.window_known = None
        link = own.handles.get(frame.handle)
        if link is None:
            link = own.handles[frame.handle] = session.new_link("", side)
            link.halves[side].state = states.Link.ATTACHED
            link.halves[side].handle = frame.handle
        # Nothing more is said about its credit until the receiver gives some.
        link.credit_limit = link.credit_known = None
        booked = link.sender == side
        if not booked:
            # Receivers can't send; what they send belongs to no link that there is.
            link = session.new_link("", side)
        delivery: Any = link.current
        if delivery is None or frame.delivery_id not in (None, delivery.delivery_id):
            delivery = link.new_delivery(frame.delivery_id or 0, short(frame.delivery_tag or b""))
            delivery.resumed = frame.resume
        if frame.state is not None:
            delivery.states[side] = frame.state
        delivery.size += size
        delivery.settled = bool(frame.settled) or delivery.settled or frame.aborted
        link.current = delivery if frame.more and not frame.aborted else None
        delivery.progress = states.Delivery.SENDING if frame.more else states.Delivery.SENT
        if frame.aborted:
            delivery.progress = states.Delivery.ABORTED
        self.sent = delivery
        if booked:
            # A delivery that isn't settled is kept in the place of any that has its id or tag.
            deliveries = own.deliveries
            for other in (deliveries.get(delivery.delivery_id), link.unsettled.get(delivery.delivery_tag)):
                if other is not None:
                    other.forget(deliveries)
                    self.outcomes.end(other)
            if not delivery.settled:
                deliveries[delivery.delivery_id] = link.unsettled[delivery.delivery_tag] = delivery
            self.bound(side, session)

    def _force_disposition(self, side: int, session: SessionModel, frame: Disposition) -> None:
        deliveries = session.halves[1 - side if frame.role else side].deliveries
        found = named(deliveries, frame)
        for delivery in found:
            if frame.state is not None:
                delivery.states[side] = frame.state
            if frame.settled:
                delivery.settled = True
                delivery.forget(deliveries)
        self.outcomes.stated(found, side, frame.state, frame.settled)

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
            half.open = lean(frame)
        elif session is not None and isinstance(frame, Begin):
            session.halves[side].begin = lean(session.halves[side].begin)
        elif session is not None and isinstance(frame, Attach):
            link = session.halves[side].handles.get(frame.handle)
            if link is not None:
                link.halves[side].attach = lean_attach(frame)

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
            half.channels.pop(channel, None)
        elif isinstance(frame, Attach):
            session = half.channels.get(channel)
            if session is not None:
                session.halves[side].handles.pop(frame.handle, None)
                key = session.failed_key(frame.name, 1 - side if frame.role else side)
                session.failed.pop(key, None)

    def bound(self, side: int, session: SessionModel) -> None:
        """Forget the oldest of what is above its limit; not everything is known from then on."""
        bounds = self.bounds
        own = session.halves[side]
        if len(own.handles) > bounds.consumers:
            del own.handles[next(iter(own.handles))]
            self.missed()
        if len(session.names) > 2 * bounds.consumers:
            del session.names[next(iter(session.names))]
            self.missed()
        deliveries = own.deliveries
        if len(deliveries) > bounds.unsettled:
            oldest = next(iter(deliveries.values()))
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
                del session.names[oldest]
                self.missed()

    def ended(self, session: SessionModel, side: int) -> None:
        """A side has left a session; it's over when the other one has too, or wasn't seen to begin it."""
        if session.halves[1 - side].state is not states.Session.MAPPED:
            self.outcomes.session_over(session)

    def assume(self, side: int, channel: int) -> SessionModel:
        """The session on a channel; one whose begin wasn't seen if there's none."""
        half = self.halves[side]
        if half.state is not states.Connection.CLOSED:
            half.state = states.Connection.OPEN
        return half.channels.get(channel) or self._assume_session(side, channel)


def lean(value: Any) -> Any:
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


def _doubt(session: Any) -> None:
    """Not all of a session was seen: nothing can be said about its windows and credit."""
    session.assumed = True
    for half in session.halves:
        half.window_limit = half.window_known = None
        for link in half.handles.values():
            link.credit_limit = link.credit_known = None
