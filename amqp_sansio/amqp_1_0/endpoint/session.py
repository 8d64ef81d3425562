"""Sessions: the commands of one, and `EndpointModel`, which takes the peer's frames for all (part 2 section 2.5)."""

from __future__ import annotations

from ..._checking import TYPE_CHECKING
from ..._ground.free_numbers import FreeNumbers
from ..._ground.invariants import ensure
from ..._watching.ends import failed
from ...errors import EndpointClosed, LimitExceeded, LocalProtocolError, RemoteProtocolError, Scope
from ...events import By, Closed, CloseReport, Failed, Opened, Pending
from ..codec import conditions
from ..codec.performatives import (
    Attach,
    Begin,
    Coordinator,
    Detach,
    Disposition,
    End,
    Error,
    Flow,
    Modified,
    Rejected,
    Source,
    Target,
    Transfer,
)
from ..codec.values import Symbol
from ..codec.violation import Violation
from ..model.connection import ConnectionModel
from ..model.harm import Harm
from ..model.link_state import LinkModel, SessionModel, SessionViolation, is_outcome
from ..model.states import ATTACHED, ENDED, MAPPED, UNMAPPED
from .events import DeliveryUpdated, SessionRequested, Updated
from .link import Link, More, terminus
from .outgoing import SessionEnd, Transport, remote_error, report_of, shorten
from .receiver import IncomingDelivery, Receiver, check_credit
from .sender import OutgoingDelivery, Sender

if TYPE_CHECKING:
    from collections import deque
    from collections.abc import Callable, Iterable, Mapping
    from typing import ClassVar

    from ..._core.send_buffer import SendBuffer
    from ...events import Event
    from ..codec.performatives import Performative
    from ..codec.types import AmqpMap
    from ..model.link_state import DeliveryModel, State
    from ..model.resume import LinkState
    from .outgoing import Owner


class Session(SessionEnd):
    """One session of an endpoint. Commands either happen as a whole or raise and change nothing.

    They raise LocalProtocolError for misuse, LimitExceeded at a bound, EndpointClosed when the session or its
    connection is gone. `opening` is the pending of `open_session`, `report` says why it ended, once it has.
    """

    __slots__ = ()

    def new_link(self, name: str, sender: int) -> Sender | Receiver:
        """Make a Sender when this end sends on the link, else a Receiver."""
        return Sender(self, name) if sender == self.side else Receiver(self, name)

    # State.

    @property
    def links(self) -> tuple[Link, ...]:
        """The links that this end has attached, in the order of their handles."""
        return tuple([self.link(number) for number in sorted(self.own.handles)])

    def link(self, handle: int) -> Sender | Receiver:
        """The link with the handle that this end has given it. Raises EndpointClosed when there is none."""
        found = self.own.handles.get(handle) or self.asked.get(handle) or self.leaving.get(handle)
        if isinstance(found, (Sender, Receiver)):
            return found
        raise EndpointClosed(f"session {self.channel} has no link with handle {handle}", self.report)

    # Commands.

    def open_sender(
        self,
        target: str | Target | Coordinator | None,
        *,
        name: str | None = None,
        source: Source | str | None = None,
        snd_settle_mode: int | None = None,
        rcv_settle_mode: int | None = None,
        max_message_size: int = 0,
        properties: AmqpMap | None = None,
        offered_capabilities: Iterable[str] = (),
        desired_capabilities: Iterable[str] = (),
        state: LinkState | None = None,
        auto_settle: bool = True,
    ) -> Sender:
        """Attach a link on which this end sends; usable at `LinkOpened`, which ends its `opening` pending.

        `target` is an address, or a whole terminus; None recovers the link's own (part 2 section 2.6.3), and with
        `Target(address=None)` is an anonymous one. `name` is made of the container-id and a count when there is
        none given. `snd_settle_mode` is 0 (unsettled), 1 (settled) or 2 (mixed, the default), `rcv_settle_mode` 0
        (first, the default) or 1 (second). `state` resumes a link, with its settle modes. With `auto_settle` what the
        receiver brings to a terminal state is settled at once.
        """
        _check_dynamic(target, "1.0/target.address/dynamic-sender")
        link = self._new_link(name, self.side, state)
        assert isinstance(link, Sender)
        link.auto_settle = auto_settle
        modes = (snd_settle_mode, rcv_settle_mode, max_message_size)
        self._attach(link, source, target, state, modes, (properties, offered_capabilities, desired_capabilities))
        return link

    def open_receiver(
        self,
        source: str | Source | None,
        *,
        name: str | None = None,
        target: Target | str | None = None,
        credit: int = 0,
        snd_settle_mode: int | None = None,
        rcv_settle_mode: int | None = None,
        max_message_size: int = 0,
        properties: AmqpMap | None = None,
        offered_capabilities: Iterable[str] = (),
        desired_capabilities: Iterable[str] = (),
        state: LinkState | None = None,
    ) -> Receiver:
        """Attach a link on which this end receives, with `credit` for so many deliveries; else as `open_sender`."""
        check_credit(credit)
        _check_dynamic(source, "1.0/source.address/dynamic-receiver")
        link = self._new_link(name, 1 - self.side, state)
        assert isinstance(link, Receiver)
        modes = (snd_settle_mode, rcv_settle_mode, max_message_size)
        self._attach(link, source, target, state, modes, (properties, offered_capabilities, desired_capabilities))
        if credit:
            link.flow(credit)
        return link

    def _new_link(self, name: str | None, sender: int, state: LinkState | None) -> Sender | Receiver:
        self.check_begun()
        if state is not None:
            if name is not None and name != state.name:
                text = f"the state is that of link {state.name!r}, a resumed link can't be called {name!r}"
                raise LocalProtocolError(text, rule="1.0/transport/link/name-unique")
            if state.is_sender != (sender == self.side):
                raise LocalProtocolError(
                    f"the state of link {state.name!r} is that of a "
                    f"{'sender' if state.is_sender else 'receiver'}, resume it as one"
                )
            name = state.name
        if name is None:
            name = f"{self.transport.config.container_id}-{self.transport.serial + 1}"
        key = (name, sender)
        for session in self.transport.sessions.values():
            known = session.names.get(key)
            if known is not None and not known.is_left(self.side):
                raise LocalProtocolError(
                    f"a link called {name!r} lives on session {session.halves[self.side].channel}; "
                    "wait for its LinkClosed, or answer its LinkRequested",
                    rule="1.0/transport/link/name-unique",
                )
        return self.new_link(name, sender)

    def _attach(
        self,
        link: Link,
        source: object,
        target: object,
        state: LinkState | None,
        modes: tuple[int | None, int | None, int],
        more: More,
    ) -> None:
        """Attach a link; what isn't given is as saved, and this end's address its container's name."""
        snd, rcv, size = modes
        if state is not None:
            link.restore(state)
            source = state.source if source is None else source
            target = state.target if target is None else target
            snd = state.snd_settle_mode if snd is None else snd
            rcv = state.rcv_settle_mode if rcv is None else rcv
        container = self.transport.config.container_id
        if link.ROLE:
            target = container if target is None else target
        else:
            source = container if source is None else source
        source, target = terminus(Source, source), terminus(Target, target)
        key = (link.name, link.sender)
        before = self.names.get(key)
        self.put_name(key, link)
        try:
            link.attach(self.free_handle(), source, target, (2 if snd is None else snd, rcv or 0, size), more)
        except BaseException:
            self.put_name(key, before)
            raise

    # The peer's frames, and the end.

    def receiver_said(self, known: list[DeliveryModel], frame: Disposition) -> None:
        """The peer received what this end sent (part 2 section 2.7.6)."""
        state = frame.state
        deliveries: list[OutgoingDelivery] = []
        for delivery in known:
            assert isinstance(delivery, OutgoingDelivery)
            deliveries.append(delivery)
            if delivery.pending.done and delivery.link.report is not None:
                # The end of the link has ended it, but what is said of a delivery counts all the same while the link
                # isn't closed (part 2 section 2.7.6). A caller that looks it up by its tag hears of it.
                delivery.pending = Pending(delivery.pending.key)
        if frame.settled:
            self._settle(deliveries, state)
            return
        if state is None:
            return
        settling: list[OutgoingDelivery] = []
        told: list[OutgoingDelivery] = []
        can = self.own.state is MAPPED and is_outcome(state)
        for delivery in deliveries:
            said = delivery.states[self.side]
            if not can or not delivery.link.auto_settle or delivery.rest is not None:
                told.append(delivery)
            elif is_outcome(said) and said != state:
                # The outcome that this end has told before stays (part 3 section 3.4).
                self.disposition(False, [delivery.delivery_id], said, True)
                self._settle([delivery], said)
            else:
                settling.append(delivery)
        if told:
            self.transport.events.append(Updated(tuple([each.pending for each in told]), state))
        if settling:
            self.disposition(False, [each.delivery_id for each in settling], state, True)
            self._settle(settling, state)

    def sender_said(self, deliveries: list[DeliveryModel], frame: Disposition) -> None:
        """The peer sent what this end received."""
        ended: list[tuple[Pending[object], State | None]] = []
        others: list[int] = []
        for delivery in deliveries:
            assert isinstance(delivery, IncomingDelivery)
            pending = delivery.pending
            if frame.settled and pending is not None and not pending.done:
                ended.append((pending, frame.state or delivery.states[self.side]))
            else:
                others.append(delivery.delivery_id)
        self.complete(ended)
        if others:
            self.transport.events.append(DeliveryUpdated(self.channel, tuple(others), frame.state, frame.settled))

    def _settle(self, deliveries: list[OutgoingDelivery], state: State | None) -> None:
        """Deliveries of this end are settled, with the state told now or before."""
        ended: list[tuple[Pending[object], State | None]] = []
        for delivery in deliveries:
            delivery.link.forget(delivery)
            if not delivery.pending.done:
                ended.append((delivery.pending, delivery.states[1 - self.side] if state is None else state))
        self.complete(ended)

    def window_came(self, before: int, named: LinkModel | None) -> None:
        """The window was `before`: send what waits for it, and tell the links but the one the flow names."""
        stalled, self.stalled = self.stalled, []
        for sender in stalled:
            sender.window_came()
        if not before and self.outgoing_window:
            for each in [*self.own.handles.values()]:
                if (
                    isinstance(each, Sender)
                    and each is not named
                    and each not in stalled
                    and (each.credit or each.resending)
                ):
                    each.credit_came(each.drain_wanted, None)

    def peer_ended(self, frame: End, answers: bool) -> None:
        """Answer the peer's end, which the model has, and tell of it."""
        if not answers:
            if self.own.state is UNMAPPED:
                self.send_begin()
            self.send(End())
        report = self.report
        error: RemoteProtocolError | None = None
        if report is None:
            by = By.REMOTE if frame.error is not None or not answers else By.LOCAL
            report = report_of(by, frame.error)
            if frame.error is not None:
                error = remote_error(Scope.SESSION, self.channel, frame.error)
            elif by is By.REMOTE and self.opening is not None and not self.opening.done:
                text = "the peer ended the session at once, without an error"
                error = RemoteProtocolError(text, scope=Scope.SESSION, channel=self.channel)
        pendings = self.finish(report)
        if error is not None:
            self._fail(error, report.by, pendings)
        else:
            self.transport.abandon(pendings, report)
        self.tell_end(report)

    def fail(self, error: RemoteProtocolError, told: Error, report: CloseReport) -> None:
        """The peer broke a rule of the session: end it, and tell why."""
        if self.own.state is UNMAPPED:
            self.send_begin()
        if self.own.state is MAPPED:
            self.send(End(told))
        if self.report is None:
            self._fail(error, By.LOCAL, self.finish(report))

    def _fail(self, error: RemoteProtocolError, by: By, pendings: list[Pending[object]]) -> None:
        self.transport.events.append(Failed(Scope.SESSION, self.channel, error, by, failed(pendings, error)))

    def finish(self, report: CloseReport) -> list[Pending[object]]:
        """Nothing more happens on the session; the pendings that nothing has ended."""
        pendings: list[Pending[object]] = []
        if self.report is None:
            self.report = report
            if self.opening is not None and not self.opening.done:
                pendings.append(self.opening)
        for link in self._untold_links():
            if link.report is None:
                pendings += link.finish(report)
        return pendings

    def tell_end(self, report: CloseReport) -> None:
        """Tell the application that the session is over, its links before it."""
        for link in self._untold_links():
            if not link.told:
                link.tell_end(link.report or report, True)
        self.transport.events.append(Closed(Scope.SESSION, self.channel, self.report or report))

    def _untold_links(self) -> list[Link]:
        """Every link of which an application may know, and whose end it hasn't been told."""
        found: dict[int, Link] = {}
        known: tuple[LinkModel, ...] = (
            *self.own.handles.values(),
            *self.asked.values(),
            *self.leaving.values(),
            *self.names.values(),
        )
        for each in known:
            assert isinstance(each, Link)
            if each.number not in found or each.halves[self.side].state is ATTACHED:
                found[each.number] = each
        return list(found.values())


def _in_part(session: SessionModel) -> int:
    """The octets of a session's messages that have come in part and are kept, counted from the deliveries."""
    links: dict[LinkModel, None] = dict.fromkeys(session.names.values())
    deliveries: dict[DeliveryModel, None] = {}
    for half in session.halves:
        links.update(dict.fromkeys(half.handles.values()))
        deliveries.update(dict.fromkeys(half.deliveries.values()))
    if isinstance(session, SessionEnd):
        links.update(dict.fromkeys([*session.asked.values(), *session.leaving.values()]))
    deliveries.update(dict.fromkeys([link.current for link in links if link.current is not None]))
    coming = [each for each in deliveries if isinstance(each, IncomingDelivery) and not each.ignored]
    return sum([len(part) for each in coming for part in each.parts])


class EndpointModel(ConnectionModel):
    """The model of a connection whose sessions and links are this end's objects: it keeps them by channel, takes the
    peer's frames for them, and ends them."""

    __slots__ = ("_beginning", "_free", "_sessions", "_side", "transport")

    def __init__(
        self, connection: Owner, side: int, events: deque[Event], out: SendBuffer, check_open: Callable[[], None]
    ) -> None:
        ConnectionModel.__init__(self, connection.config.limits)
        # This end's index into the halves.
        self._side = side
        # Those of this end, by its channel, until both sides have ended them.
        self._sessions: dict[int, Session] = {}
        # Numbers of channels for new ones, the lowest first.
        self._free = FreeNumbers()
        # The session that this end is just beginning.
        self._beginning: Session | None = None
        # What sessions and links share of the connection.
        self.transport = Transport(self, connection, side, events, out, self._sessions, check_open)

    def new_session(self, initiator: int | None) -> Session:
        return Session(self.transport, initiator) if self._beginning is None else self._beginning

    def check(self) -> None:
        """As the model's, and of what this end keeps beside it: all of it is bounded, and its octets are counted.
        Raises AssertionError."""
        super().check()
        limits, transport, where = self.limits, self.transport, repr(self.transport.connection)
        sessions: dict[SessionModel, None] = dict.fromkeys(self._sessions.values())
        for half in self.halves:
            sessions.update(dict.fromkeys(half.channels.values()))
        for each in self._sessions.values():
            each.check()
        ensure(len(self._sessions) <= 2 * limits.channels, where, "this end has few sessions", len(self._sessions))
        wrong = [number for number, each in self._sessions.items() if each.channel != number]
        ensure(not wrong, where, "each session of this end is kept by its channel", wrong)
        octets = sum(map(_in_part, sessions))
        ensure(transport.bodies == octets, where, "`bodies` counts what has come in part", transport.bodies, octets)
        ensure(octets <= limits.bodies + limits.message, where, "`Limits.bodies` bounds what has come in part", octets)

    # Commands of the connection.

    @property
    def channels(self) -> tuple[int, ...]:
        """The channels of this end's sessions."""
        return tuple(self._sessions)

    def find(self, channel: int, report: CloseReport | None) -> Session:
        """The session that this end sends on `channel`. Raises EndpointClosed, with the connection's `report`."""
        session = self._sessions.get(channel)
        if session is None:
            raise EndpointClosed(f"no session on channel {channel}", report)
        return session

    def open_session(
        self, channel_max: int, properties: AmqpMap | None, offered: Iterable[str], desired: Iterable[str]
    ) -> Session:
        """Begin a session on the lowest free channel (part 2 section 2.5.1)."""
        transport = self.transport
        transport.check_open()
        number = self._free_channel()
        if number > channel_max:
            text = f"{number} sessions are open, the peer's channel-max and Limits.channels allow no more"
            raise LimitExceeded(text, rule="1.0/transport/open/channel-max")
        session = Session(transport, self._side)
        session.channel = number
        session.opening = Pending((number, "session", transport.serial + 1))
        self._beginning = session
        try:
            session.send_begin(properties, offered, desired)
        finally:
            self._beginning = None
        transport.new_serial()
        self._sessions[number] = session
        return session

    def _free_channel(self) -> int:
        return self._free.lowest(self._sessions.__contains__)

    # The peer's frames.

    def has_ended(self, channel: int) -> bool:
        """Whether either end has ended the session of the peer's channel: what can't be read there goes by."""
        peer = self.halves[1 - self._side]
        session = peer.channels.get(channel)
        return channel in peer.ended_on or (session is not None and session.halves[self._side].state is ENDED)

    def receive(self, channel: int, performative: Performative, payload: bytes) -> None:
        """Take a frame from begin to end. Raises Violation; those of links and sessions go to `fail`."""
        session = self.halves[1 - self._side].channels.get(channel)
        ended = isinstance(session, Session) and session.report is not None and session.own.state is ENDED
        if ended and not isinstance(performative, (Begin, End)):
            # The session ended here with an error: then all but the peer's end is dropped (section 2.5.4).
            return
        if isinstance(performative, Transfer):
            self._receive_transfer(channel, performative, payload)
        else:
            self._RECEIVE[performative.__class__](self, channel, performative)

    def receive_odd(
        self, channel: int, performative: Performative, payload: bytes, harm: Harm, fault: Violation
    ) -> None:
        """Take a frame from begin to end that has fields which can't be read, and placeholders in their place.

        `fault` says which, `harm` how much ends. Raises Violation for what ends, but for a message.
        """
        peer = 1 - self._side
        session = self.halves[peer].channels.get(channel)
        ended = isinstance(session, Session) and session.report is not None and session.own.state is ENDED
        if ended and not isinstance(performative, Begin):
            return
        if harm is Harm.MESSAGE and isinstance(performative, Transfer):
            self._receive_transfer(channel, performative, payload, fault)
        elif harm is Harm.MESSAGE and isinstance(performative, Disposition):
            self._receive_disposition(channel, performative, fault)
        elif isinstance(performative, Begin):
            self._receive_begin(channel, performative, fault)
        elif harm is Harm.LINK and isinstance(performative, Attach):
            if not performative.role and performative.initial_delivery_count is None:
                performative = performative.replace(initial_delivery_count=0)
            self._receive_attach(channel, performative, fault)
        elif harm is Harm.LINK and isinstance(performative, (Flow, Transfer, Detach)):
            self._receive_odd_link(channel, performative, fault)
        else:
            session = self.session(peer, channel, performative.NAME)
            raise session.error(peer, fault.condition, str(fault), fault.rule)

    def _receive_odd_link(self, channel: int, frame: Flow | Transfer | Detach, fault: Violation) -> None:
        """Take a frame of a link that ends by it. Raises Violation."""
        peer = 1 - self._side
        session = self.session(peer, channel, frame.NAME)
        handle = frame.handle
        link = None if handle is None else session.halves[peer].handles.get(handle)
        if isinstance(frame, Flow):
            # Its session's fields count.
            only = {"delivery_count": None, "link_credit": None, "available": None, "drain": False, "echo": False}
            self._receive_flow(channel, frame.replace(handle=None, **only))
        elif isinstance(link, Link):
            session.halves[peer].skip_transfer()
            link.drop()
        if link is not None:
            raise link.error(peer, fault.condition, str(fault), fault.rule)
        raise session.unattached(peer, handle, frame.NAME)

    def _receive_begin(self, channel: int, frame: Begin, fault: Violation | None = None) -> None:
        session, answers = self.begin(1 - self._side, channel, frame)
        assert isinstance(session, Session)
        if fault is not None:
            raise session.error(1 - self._side, fault.condition, str(fault), fault.rule)
        if answers:
            pending = session.opening
            if session.own.state is MAPPED:
                if pending is not None and not pending.done:
                    pending.complete(None)
                self.transport.events.append(Opened(Scope.SESSION, session.channel, pending))
            return
        number = self._free_channel()
        peer = self.halves[1 - self._side].open
        if peer is not None and number > peer.channel_max:
            text = f"{number} sessions are open, and no channel is left to answer another one"
            raise Violation(
                conditions.RESOURCE_LIMIT_EXCEEDED, text, rule="transport/open/channel-max", channel=channel
            )
        if len(self._sessions) >= self.limits.channels:
            text = f"{len(self._sessions)} sessions, Limits.channels allows no more"
            raise session.error(
                1 - self._side, conditions.RESOURCE_LIMIT_EXCEEDED, text, "transport/error/resource-limit"
            )
        self._ask(session, number, frame)
        self.transport.events.append(SessionRequested(number, frame))

    def _ask(self, session: Session, number: int, begin: Begin | None) -> None:
        """The peer has begun a session; a channel is kept for the answer."""
        session.channel = number
        session.requested = begin
        self._sessions[number] = session

    def _receive_end(self, channel: int, frame: End) -> None:
        session, answers = self.end(1 - self._side, channel)
        assert isinstance(session, Session)
        session.peer_ended(frame, answers)
        self._sessions.pop(session.channel, None)
        self._free.give_back(session.channel)

    def _receive_attach(self, channel: int, frame: Attach, fault: Violation | None = None) -> None:
        side = self._side
        # The links of that name and direction that the peer has attached already (section 2.6.1).
        key = frame.name, side if frame.role else 1 - side
        known = [each.names.get(key) for each in self._sessions.values()]
        olds = [each for each in known if isinstance(each, Link) and each.halves[1 - side].state is ATTACHED]
        for old in olds:
            # The name is the new link's afterwards, so that one that waits for an answer has to be refused before.
            if old.requested is None:
                continue
            if old.session.own.state is UNMAPPED and old.session.peer.channel == channel:
                text = f"attach of {frame.name!r}, which is attached in the same session, unanswered"
                raise old.session.error(1 - side, conditions.NOT_ALLOWED, text, "transport/link/name-unique")
            old.steal()
        link, answers = self.attach(1 - side, channel, frame)
        assert isinstance(link, Link)
        for old in olds:
            old.steal()
        session = link.session
        if session.own.state is not ENDED:
            link.peer_attached(frame, answers, fault)
            return
        # Nobody will answer it; the peer knows it by its handle, until its end.
        if not link.halves[side].attaches:
            link.report, link.told = CloseReport(By.LOCAL), True
        session.put_name((link.name, link.sender), None)

    def _receive_detach(self, channel: int, frame: Detach) -> None:
        peer = 1 - self._side
        session = self.halves[peer].channels.get(channel)
        before = None if session is None else session.halves[peer].handles.get(frame.handle)
        if isinstance(before, Link):
            # Octets of a delivery under way stop counting when its link is detached.
            before.drop()
        link, answers = self.detach(peer, channel, frame)
        assert isinstance(link, Link)
        link.peer_detached(frame, answers)

    def _receive_flow(self, channel: int, frame: Flow) -> None:
        side = self._side
        known = self.halves[1 - side].channels.get(channel)
        before = known.outgoing_window if isinstance(known, Session) else 0
        named = None if known is None or frame.handle is None else known.halves[1 - side].handles.get(frame.handle)
        credit = named.credit if isinstance(named, Receiver) else 0
        try:
            session, link = self.flow(1 - side, channel, frame)
        except SessionViolation as violation:
            if violation.link is not None and isinstance(known, Session) and known.own.state is MAPPED:
                # The frame's session fields count, and the other links go on.
                known.window_came(before, violation.link)
            raise
        assert isinstance(session, Session)
        if session.own.state is not MAPPED:
            return
        session.window_came(before, link)
        if isinstance(link, Sender):
            if link.halves[side].state is ATTACHED:
                link.credit_came(frame.drain, frame.properties)
                if frame.echo:
                    link.send_flow()
        elif isinstance(link, Receiver):
            if link.halves[side].state is ATTACHED:
                link.sender_flow(frame, credit)
        elif frame.echo:
            session.send_flow()

    def _receive_transfer(self, channel: int, frame: Transfer, payload: bytes, fault: Violation | None = None) -> None:
        delivery = self.transfer(1 - self._side, channel, frame, len(payload))
        assert isinstance(delivery, IncomingDelivery)
        link = delivery.link
        session = link.session
        side = session.side
        if session.halves[side].state is not MAPPED or link.halves[side].state is not ATTACHED:
            # It was on its way while this end detached; nobody takes it any more.
            if not frame.more:
                delivery.parts = []
            return
        session.refresh_window()
        if fault is not None:
            delivery.fault = fault
        link.receive(delivery, frame, payload)

    def _receive_disposition(self, channel: int, frame: Disposition, fault: Violation | None = None) -> None:
        if fault is not None and frame.role:
            # Nobody knows what became of the messages: a client is told so, a broker delivers them once more.
            error = Error(Symbol(fault.condition), shorten(str(fault)))
            frame = frame.replace(state=Modified(delivery_failed=True) if self._side else Rejected(error))
        session, deliveries = self.disposition(1 - self._side, channel, frame)
        assert isinstance(session, Session)
        if deliveries:
            (session.receiver_said if frame.role else session.sender_said)(deliveries, frame)

    _RECEIVE: ClassVar[Mapping[type[Performative], Callable[..., None]]] = {
        Begin: _receive_begin,
        Attach: _receive_attach,
        Flow: _receive_flow,
        Disposition: _receive_disposition,
        Detach: _receive_detach,
        End: _receive_end,
    }

    # Ends.

    def fail(self, violation: SessionViolation, offset: int) -> None:
        """The peer broke a rule of a link or session with the frame at `offset`: end that one, and tell it why."""
        session, link = violation.session, violation.link
        assert isinstance(session, Session)
        assert link is None or isinstance(link, Link)
        if session.own.state is ENDED or (link is not None and link.has_left):
            # This end has said its last word there: faults of what was on the way go by.
            return
        error = violation.error(offset)
        error.channel = session.channel
        text = str(violation)
        report = CloseReport(By.LOCAL, 0, text, condition=violation.condition, rule=error.rule)
        told = Error(Symbol(violation.condition), shorten(text))
        if link is not None:
            link.fail(error, told, report)
            return
        if session.own.state is UNMAPPED and session.requested is None:
            # It has no channel to be refused on.
            self._ask(session, self._free_channel(), session.peer.begin)
        session.fail(error, told, report)

    def connection_ended(self, report: CloseReport) -> None:
        """The connection is over: end what is open, links and sessions before the connection."""
        pendings: list[Pending[object]] = []
        for session in self._sessions.values():
            pendings += session.finish(report)
        self.transport.abandon(pendings, report)
        for session in self._sessions.values():
            session.tell_end(report)
        self._sessions.clear()


def _check_dynamic(terminus: object, rule: str) -> None:
    """Refuse an address beside `dynamic`: the peer names a dynamic node (part 3 section 3.5.3)."""
    if getattr(terminus, "dynamic", False) and getattr(terminus, "address", None) is not None:
        raise LocalProtocolError("a dynamic node gets its address from the peer; leave the address out", rule=rule)
