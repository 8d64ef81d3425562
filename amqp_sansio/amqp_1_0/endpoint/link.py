"""Link: what both ends of a link share: attaching, answering, detaching, saving (part 2 sections 2.6.3 to 2.6.6).

A link of an endpoint is its model (`LinkModel`) with commands. Two attaches make it: this end's is sent by `attach`, or
by `accept_attach` and `refuse_attach` where the peer asks. Each side detaches once; the handle is free when both have.

Between two calls these hold: the model's halves say who is attached; `report` is set once, before the link's last event
(`tell_end`); and deliveries of an earlier attachment are in `_restored` until both attaches can be compared.
"""

from __future__ import annotations

from ..._checking import TYPE_CHECKING
from ..._watching.ends import failed
from ...errors import EndpointClosed, LimitExceeded, LocalProtocolError, RemoteProtocolError, Scope
from ...events import By, Pending
from ..codec import conditions
from ..codec.conditions import SenderSettleMode
from ..codec.performatives import Attach, Coordinator, Detach, Source, Target
from ..model.link_state import LinkModel
from ..model.resume import LinkState, check_rounds
from ..model.states import ATTACHED, DETACHED, MAPPED, UNMAPPED
from .events import LinkClosed, LinkFailed, LinkOpened, LinkRequested
from .outgoing import make_error, remote_error, report_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import Any, ClassVar, Final

    from ...events import CloseReport, Event
    from ..codec.performatives import DeliveryState, Error
    from ..codec.types import AmqpMap
    from ..codec.violation import Violation
    from ..model.link_state import State
    from ..model.resume import SavedDelivery
    from .outgoing import SessionEnd

_FRAME_HEADER: Final = 8
_SMALL: Final = 256
"""Octets that a flow, and what an answering attach has more than the one it answers, surely have room in."""

More = tuple["AmqpMap | None", "Iterable[str]", "Iterable[str]"]
"""Properties, offered and desired capabilities."""


class Link(LinkModel):
    """One end of a link: a `Sender` or a `Receiver`.

    Commands raise LocalProtocolError for misuse, EndpointClosed when the link, its session or the connection is gone.
    """

    ROLE: ClassVar[bool]

    __slots__ = (
        "_going_on",
        "_incomplete",
        "_restored",
        "_rounds",
        "closing",
        "number",
        "opening",
        "report",
        "requested",
        "told",
    )

    session: SessionEnd

    def __init__(self, session: SessionEnd, name: str, sender: int) -> None:
        LinkModel.__init__(self, session, name, sender)
        # Its handle on this end: in frames that this end sends, and in all events.
        self.number = 0
        # The pending of `open_sender` and `open_receiver`; None for links that the peer asked for.
        self.opening: Pending[None] | None = None
        # Why the link ended, once it has.
        self.report: CloseReport | None = None
        # The peer's attach that the application hasn't answered (`accept_attach`, `refuse_attach`).
        self.requested: Attach | None = None
        # The deliveries of an earlier attachment that this one resumes, by delivery-tag; None for a new link.
        self._restored: dict[bytes, SavedDelivery] | None = None
        # Whether this end's attach couldn't name all its unsettled deliveries (incomplete-unsettled, part 2 section
        # 2.6.13).
        self._incomplete = False
        # Resumptions in a row of which nothing came, and how many deliveries this one began with.
        self._rounds = 0, 0
        # The error that this end leaves with, for the report.
        self.closing: Error | None = None
        # Whether the last event of the link is out: it comes once.
        self.told = False
        # The pendings of an earlier attachment by delivery-tag, which the deliveries that go on take over; None: new
        # ones are made.
        self._going_on: Mapping[bytes, Pending[DeliveryState | None]] | None = None

    # State.

    @property
    def handle(self) -> int:
        """The number that this end has given the link."""
        return self.number

    @property
    def role(self) -> str:
        """ "sender" or "receiver": what this end is."""
        return "receiver" if self.ROLE else "sender"

    @property
    def local(self) -> Attach | None:
        """This end's attach."""
        return self.halves[self.session.side].attach

    @property
    def remote(self) -> Attach | None:
        """The peer's attach."""
        return self.halves[1 - self.session.side].attach

    @property
    def is_open(self) -> bool:
        """Whether both ends are attached, and to a terminus."""
        return self.is_attached and self.report is None and not self.is_refused and self.session.connection.is_open

    @property
    def is_refused(self) -> bool:
        """Whether the peer has attached without the terminus it was asked for (part 2 section 2.6.3)."""
        remote, local = self.remote, self.local
        if remote is None or local is None:
            return False
        wanted, given = (local.source, remote.source) if self.ROLE else (local.target, remote.target)
        return wanted is not None and given is None

    @property
    def address(self) -> str | None:
        """The address of the node at the peer: that of the source for a receiver, of the target for a sender."""
        address = getattr(self.source if self.ROLE else self.target, "address", None)
        return None if address is None else str(address)

    @property
    def max_message_size(self) -> int:
        """The largest message the peer takes, in octets; 0: no limit."""
        remote = self.remote
        return 0 if remote is None else remote.max_message_size or 0

    # Commands.

    def accept_attach(
        self,
        *,
        source: object = None,
        target: object = None,
        snd_settle_mode: int | None = None,
        rcv_settle_mode: int | None = None,
        max_message_size: int = 0,
        properties: AmqpMap | None = None,
        offered_capabilities: Iterable[str] = (),
        desired_capabilities: Iterable[str] = (),
        state: LinkState | None = None,
    ) -> None:
        """Answer `LinkRequested`. Arguments left out are as the peer asked for (part 2 section 2.6.3).

        A dynamic node needs its own side's terminus, with the address that it was given. `state` resumes a
        link that is known here. A receiver gives credit with `flow` next.
        """
        asked = self._check_requested()
        own = self._own("source", Source, asked.source, source), self._own("target", Target, asked.target, target)
        if snd_settle_mode is None and state is not None and state.is_sender and state.unsettled:
            # Deliveries unsettled from before can't go on in a link that sends everything settled.
            snd_settle_mode = state.snd_settle_mode if asked.snd_settle_mode == SenderSettleMode.SETTLED else None
        modes = (
            asked.snd_settle_mode if snd_settle_mode is None else snd_settle_mode,
            asked.rcv_settle_mode if rcv_settle_mode is None else rcv_settle_mode,
            max_message_size,
        )
        before = self._restored, self._incomplete, self._rounds, self._next_tag()
        if state is not None:
            self.restore(state)
        try:
            self._answer(*own, modes, (properties, offered_capabilities, desired_capabilities))
        except BaseException:
            self._restored, self._incomplete, self._rounds, tag = before
            self._number_tags(tag)
            raise
        self._tell_open(None)
        self.compare()

    def refuse_attach(self, condition: str = "", description: str = "", info: AmqpMap | None = None) -> None:
        """Answer `LinkRequested` with an attach that has no terminus here, and a detach."""
        self._check_requested()
        self._refuse(True, make_error(condition, description, info))

    def close(self, condition: str = "", description: str = "", info: AmqpMap | None = None) -> None:
        """Detach for good, with an error where `condition` names one; `LinkClosed` comes with the peer's answer.

        Nothing happens when it is detached already.
        """
        self._leave(True, make_error(condition, description, info))

    def detach(self) -> None:
        """Detach without closing: the link is suspended, and `saved_state()` can be resumed."""
        self._leave(False, None)

    def go_on_with(self, pendings: Mapping[bytes, Pending[DeliveryState | None]]) -> None:
        """Let these pendings of an earlier attachment, by delivery-tag, end with the deliveries that go on in this one.

        To be called before octets come in which the peer may have attached.
        """
        self._going_on = pendings

    def saved_state(self, undecided: Mapping[bytes, bytes] | None = None) -> LinkState:
        """The state that resumes the link, at any time, also after the connection is gone. Picklable.

        A receiver's deliveries without an outcome come again as new ones, but for those that are `undecided`: their
        payloads by delivery-tag. These go on, and come once more with `resumed`.
        """
        source: Any = self.source
        target: Any = self.target
        local = self.local
        unsettled = tuple(self._saved_deliveries(undecided or {}))
        rounds, began = self._rounds
        if local is not None:
            source = local.source if source is None or self.is_refused else source
            target = local.target if target is None or self.is_refused else target
        return LinkState(
            self.name,
            not self.ROLE,
            source,
            target,
            2 if local is None else local.snd_settle_mode,
            0 if local is None else local.rcv_settle_mode,
            self._next_tag(),
            unsettled,
            0 if not unsettled or len(unsettled) < began else rounds,
        )

    # Senders and receivers do these each in its own way.

    def _next_tag(self) -> int:
        """The number of the next generated delivery-tag."""
        return 0

    def _number_tags(self, tag: int) -> None:
        """Set the number that `next_tag` gives next."""

    def _saved_deliveries(self, undecided: Mapping[bytes, bytes]) -> Iterable[SavedDelivery]:
        """The unsettled deliveries; of those `undecided` here the payloads are given."""
        raise NotImplementedError

    def _unsettled_states(self) -> dict[bytes, State | None]:
        """The map of an attach that resumes."""
        raise NotImplementedError

    def compare(self) -> None:
        """Both ends are attached: compare the unsettled maps."""
        raise NotImplementedError

    def ended(self) -> list[Pending[object]]:
        """The link is over: its pendings that nothing will end any more."""
        raise NotImplementedError

    def drop(self) -> None:
        """Let go of what won't be completed."""

    def tell(self, kind: Callable[..., Event], *fields: object) -> None:
        """Give the application an event of this link, with its `fields` behind channel and link."""
        self.session.transport.events.append(kind(self.session.channel, self.number, *fields))

    def pending_of(self, tag: bytes) -> Pending[DeliveryState | None]:
        """The pending of the delivery with this tag: a new one, unless it goes on from an earlier attachment."""
        known = None if self._going_on is None else self._going_on.get(tag)
        if known is not None and not known.done:
            return known
        return Pending((self.name, "in" if self.ROLE else "out", tag))

    # For the session.

    def restore(self, state: LinkState) -> None:
        """Take over what was saved of an earlier attachment."""
        check_rounds(state)
        self._restored = {each.delivery_tag: each for each in state.unsettled}
        self._rounds = state.rounds, len(state.unsettled)

    def _count_round(self, incomplete: bool) -> None:
        """The maps were compared; another resumption follows where they are `_incomplete`."""
        rounds, began = self._rounds
        self._rounds = (rounds + 1, began) if incomplete else (0, 0)

    def _name_later(self, left: dict[bytes, SavedDelivery]) -> dict[bytes, SavedDelivery]:
        """Those of which nothing is proven, in the order for the next map: what the peer named, what this end didn't,
        and last what it named in vain."""
        remote, local = self.remote, self.local
        theirs = (remote and remote.unsettled) or {}
        ours = (local and local.unsettled) or {}
        return dict(sorted(left.items(), key=lambda each: (each[0] not in theirs, each[0] in ours)))

    def attach(self, number: int, source: object, target: object, modes: tuple[int, int, int], more: More) -> None:
        """Send this end's attach; the peer's comes later."""
        self.number = number
        self._send_attach(source, target, modes, more)
        session = self.session
        self.opening = Pending((self.name, "open", session.channel, session.transport.new_serial()))

    def _answer_refusing(self) -> None:
        """Attach what the peer asked for without a terminus at this end."""
        asked = self.requested
        assert asked is not None
        source, target = (asked.source, None) if self.ROLE else (None, asked.target)
        self._answer(source, target, (asked.snd_settle_mode, asked.rcv_settle_mode, 0), (None, (), ()))

    def _answer(self, source: object, target: object, modes: tuple[int, int, int], more: More) -> None:
        self._send_attach(source, target, modes, more)
        self.requested = None
        self.session.asked.pop(self.number, None)
        self.session.free_handles.give_back(self.number)

    def _own(self, name: str, kind: type[Source | Target], asked: Any, given: Any) -> Any:
        """This end's source or target for its attach; the end that a dynamic one belongs to has to name it."""
        found = asked if given is None else terminus(kind, given)
        belongs = (name == "target") == self.ROLE
        if belongs and getattr(found, "dynamic", False) and found.address is None:
            text = f"link {self.name!r} wants a dynamic node; accept it with its {name}, address included"
            raise LocalProtocolError(text, rule=f"1.0/{name}.address/dynamic-{self.role}")
        return found

    def _send_attach(self, source: Any, target: Any, modes: tuple[int, int, int], more: More) -> None:
        snd_settle_mode, rcv_settle_mode, max_message_size = modes
        properties, offered, desired = more
        if self.ROLE:
            limit = self.session.transport.limits.message
            max_message_size = min(max_message_size, limit) if max_message_size else limit
        unsettled = None if self._restored is None else self._unsettled_states()
        sender = 1 - self.session.side if self.ROLE else self.session.side
        failed = self.session.failed.get(self.session.failed_key(self.name, sender))
        if unsettled is None and failed == 1 - self.session.side:
            # The peer's end went with an error: what isn't said to be resumed would be errant (section 2.6.5).
            unsettled = {}
        frame = Attach(
            self.name,
            self.number,
            self.ROLE,
            snd_settle_mode,
            rcv_settle_mode,
            source,
            target,
            unsettled,
            incomplete_unsettled=False,
            initial_delivery_count=None if self.ROLE else 0,
            max_message_size=max_message_size or None,
            offered_capabilities=tuple(offered),
            desired_capabilities=tuple(desired),
            properties=properties,
        )
        self._check_modes(frame)
        if unsettled:
            frame = self._fitting(frame, unsettled)
        # A flow with the first credit follows, and has to fit too.
        self.session.transport.check_frames(frame, spare=_SMALL)
        self.session.send(frame)

    def _check_modes(self, frame: Attach) -> None:
        if frame.snd_settle_mode not in (0, 1, 2) or frame.rcv_settle_mode not in (0, 1):
            raise LocalProtocolError(
                f"settle modes {frame.snd_settle_mode} and {frame.rcv_settle_mode} of link {self.name!r}; "
                "the sender's are 0 to 2, the receiver's 0 and 1"
            )

    def _fitting(self, frame: Attach, unsettled: dict[bytes, State | None]) -> Attach:
        """As much of the unsettled map as fits the peer's frames (part 2 section 2.7.3).

        Deliveries that the peer has named come first: only those in both maps can be settled for sure.
        """
        room = self.session.transport.max_frame - _FRAME_HEADER
        octets = self.session.transport.octets
        self._incomplete = len(octets(frame)) > room
        kept: dict[bytes, State | None] = unsettled
        if self._incomplete and self.requested is not None:
            theirs = self.requested.unsettled or {}
            kept = {**{tag: kept[tag] for tag in theirs if tag in kept}, **kept}
        while len(octets(frame)) > room and kept:
            fewer = min(len(kept) - 1, len(kept) * room // len(octets(frame)))
            kept = {tag: kept[tag] for tag in list(kept)[:fewer]}
            frame = frame.replace(unsettled=kept, incomplete_unsettled=True)
        return frame

    def _leave(self, closed: bool, error: Error | None) -> None:
        session = self.session
        if self.requested is not None:
            session.check_begun()
            self._refuse(closed, error)
            return
        if self.halves[session.side].state is not ATTACHED or self.report is not None:
            return
        session.check_begun()
        self._detach(closed, error)

    def _refuse(self, closed: bool, error: Error | None) -> None:
        """Attach without a terminus and detach, if both can be sent."""
        spare = _SMALL if self.requested is None else len(self.requested.encode()) + _SMALL
        self.session.transport.check_frames(Detach(self.number, closed, error), spare=spare)
        self._answer_refusing()
        self._detach(closed, error)

    def _detach(self, closed: bool, error: Error | None) -> None:
        session = self.session
        session.send(Detach(self.number, closed, error))
        # Nobody takes what still comes of a delivery under way.
        self.drop()
        self.closing = error
        session.leaving[self.number] = self

    # The peer's frames, and the end.

    def peer_attached(self, frame: Attach, answers: bool, fault: Violation | None = None) -> None:
        """The model has the peer's attach: the link is open, or asked for.

        With a `fault` the application isn't asked, and the link ends. Raises Violation.
        """
        session = self.session
        own = self.halves[session.side].state
        # The octets that it came as are of no use any more, and there may be many links.
        frame.wire = None
        if fault is not None:
            if own is DETACHED:
                self._ask(frame, tell=False)
            raise self.error(1 - session.side, fault.condition, str(fault), fault.rule)
        if answers:
            if own is ATTACHED and not self.is_refused:
                assert self.opening is not None
                self.opening.complete(None)
                self._tell_open(self.opening)
                self.compare()
        elif own is DETACHED:
            self._ask(frame)
        # Else this end has closed the link, and the peer attached it to close it too (section 2.6.6).

    def _tell_open(self, pending: Pending[None] | None) -> None:
        session = self.session
        session.transport.events.append(LinkOpened(Scope.LINK, session.channel, pending, self.number, self.name))

    def _ask(self, attach: Attach, *, tell: bool = True) -> None:
        """The peer has attached; a handle is kept for the answer."""
        session = self.session
        try:
            number = session.free_handle(answering=True)
        except LimitExceeded as error:
            # Without a handle there's no way to say no to this link alone.
            raise session.error(
                1 - session.side, conditions.RESOURCE_LIMIT_EXCEEDED, str(error), "transport/session/handle-max"
            ) from None
        self.number = number
        self.requested = attach
        session.asked[number] = self
        if tell:
            self.tell(LinkRequested, attach)

    def steal(self) -> None:
        """Leave the link, whose peer is elsewhere; in a session that has ended there's nothing to say."""
        session = self.session
        if session.own.state is MAPPED and session.report is None:
            self.close(conditions.STOLEN, "the link was attached elsewhere")

    def peer_detached(self, frame: Detach, answers: bool) -> None:
        """Answer the peer's detach, which the model has, and tell of the end."""
        session = self.session
        state = session.own.state
        asked = self.requested
        crossed = frame.closed and self.halves[session.side].state is DETACHED
        if asked is not None and (state is UNMAPPED or (state is MAPPED and _refuses(asked))):
            # It is gone before anything could be answered; or it was the end of an earlier link of that name: an answer
            # would be taken for a new one, and so on for ever.
            self.requested = None
            session.put_name((self.name, self.sender), None)
            answers = answers and state is UNMAPPED
        elif state is MAPPED:
            if asked is not None:
                self._answer_refusing()
            if asked is not None or not answers:
                session.send(Detach(self.number, frame.closed))
            elif crossed and self.local is not None:
                # This end detached while the peer closed: attach once more, to close too (section 2.6.6).
                session.send(self.local)
                session.send(Detach(self.local.handle, True))
            answers = answers and asked is None
        for links in (session.asked, session.leaving):
            if links.get(self.number) is self:
                del links[self.number]
        session.free_handles.give_back(self.number)
        closed = frame.closed or (answers and self.halves[session.side].state is not DETACHED)
        if self.report is None:
            self._end(frame.error, By.LOCAL if answers and frame.error is None else By.REMOTE, not closed)
        if not self.told:
            self.tell_end(self.report, not closed)

    def _end(self, error: Error | None, by: By, resumable: bool) -> None:
        """Both ends are detached, or the session can't answer any more."""
        session = self.session
        report = report_of(by, error if by is By.REMOTE else self.closing)
        refused = by is By.REMOTE and self.opening is not None and not self.opening.done
        pendings = self.finish(report)
        if error is not None:
            self._fail(remote_error(Scope.LINK, session.channel, error), by, pendings)
        elif refused:
            # The peer refused the link without saying why (section 2.6.3).
            what = "source" if self.ROLE else "target"
            text = f"the peer refused link {self.name!r}: it has no such {what}, and gave no error"
            self._fail(RemoteProtocolError(text, scope=Scope.LINK, channel=session.channel), by, pendings)
        else:
            session.transport.abandon(pendings, report, resumable)

    @property
    def has_left(self) -> bool:
        """Whether this end has sent its detach, and the peer hasn't answered."""
        return self.requested is None and self.number in self.session.leaving

    def fail(self, error: RemoteProtocolError, told: Error, report: CloseReport) -> None:
        """The peer broke a rule of the link: detach it, and tell why."""
        session = self.session
        self.drop()
        attached = self.halves[session.side].state is ATTACHED
        if session.own.state is MAPPED and (attached or self.requested is not None):
            if self.requested is not None:
                self._answer_refusing()
            session.send(Detach(self.number, True, told))
            session.leaving[self.number] = self
        if self.report is None:
            self._fail(error, By.LOCAL, self.finish(report))

    def _fail(self, error: RemoteProtocolError, by: By, pendings: list[Pending[object]]) -> None:
        session = self.session
        ended = failed(pendings, error)
        session.transport.events.append(
            LinkFailed(Scope.LINK, session.channel, error, by, ended, self.number, self.name)
        )

    def finish(self, report: CloseReport) -> list[Pending[object]]:
        """Nothing more happens on the link; the pendings that nothing has ended."""
        self.report = report
        pendings = self.ended()
        if self.opening is not None and not self.opening.done:
            pendings.insert(0, self.opening)
        return pendings

    def tell_end(self, report: CloseReport | None, resumable: bool) -> None:
        """Tell the application that the link is over."""
        self.told = True
        assert report is not None
        session = self.session
        session.transport.events.append(
            LinkClosed(Scope.LINK, session.channel, report, self.number, self.name, resumable)
        )

    def find_terms(self) -> tuple[int, ...]:
        """As the base's, of a link to a node whose receiver settles first, and that isn't resumed."""
        one, other = self.halves
        attached, answer = one.attach, other.attach
        if (
            self.is_attached
            and attached is not None
            and answer is not None
            and self.report is None
            and self._restored is None
            and not (self._incomplete or attached.incomplete_unsettled or answer.incomplete_unsettled)
            and not (self.is_refused or self.rcv_settle_mode)
            and not isinstance(attached.target, Coordinator)
            and not isinstance(answer.target, Coordinator)
        ):
            return LinkModel.find_terms(self)
        return ()

    def _check(self) -> None:
        """Raise unless the link is attached by this end."""
        self.session.check_begun()
        if self.halves[self.session.side].state is ATTACHED and self.report is None:
            return
        if self.requested is not None:
            raise LocalProtocolError(
                f"link {self.name!r} is asked for by the peer; use accept_attach or refuse_attach first"
            )
        raise EndpointClosed(f"link {self.name!r} is detached: {self.report or 'by this end'}", self.report)

    def _check_requested(self) -> Attach:
        self.session.check_begun()
        if self.requested is None:
            raise LocalProtocolError(f"link {self.name!r} isn't waiting for an answer")
        return self.requested

    def __repr__(self) -> str:
        state = "open" if self.is_open else f"ended: {self.report}" if self.report else "not open"
        return f"<{type(self).__name__} {self.name!r} to {self.address!r}, {state}>"


def terminus(kind: type[Source | Target], given: object) -> Any:
    """A source or target as given, or the one of an address."""
    return kind(address=given) if isinstance(given, str) else given


def _refuses(attach: Attach) -> bool:
    """Whether an attach has no terminus at its own end, as it's sent by who doesn't want the link (section 2.6.3)."""
    return (attach.target if attach.role else attach.source) is None
