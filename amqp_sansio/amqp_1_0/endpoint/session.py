"""Session: what an application does on one session, and how far the peer is let to send in it (part 2 section 2.5)."""

# The modules of this package share one engine; its private state is theirs, not the caller's.
# pyright: reportPrivateUsage=false
from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from ..._core.serial import distance
from ...errors import EndpointClosed, LimitExceeded, LocalProtocolError, Scope
from ...events import Handle, Opened
from ..codec.performatives import Begin, Coordinator, Disposition, End, Error, Flow, Source, Target
from ..codec.values import Symbol
from ..model import states
from ..model.link_state import LinkModel, SessionHalf, SessionModel

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ...events import CloseReport
    from ..model.link_state import State
    from ..model.resume import LinkState
    from .connection import Connection
    from .link import Link
    from .receiver import Receiver
    from .sender import Sender

_MAPPED: Final = states.Session.MAPPED
_OUTGOING_WINDOW: Final = 0x7FFF_FFFF
"""Nothing but the peer's window holds transfers back."""
_HANDLES: Final = 0xFFFF_FFFF
_SMALL: Final = 256
"""Octets that a begin or flow without properties surely has room in."""


class Session(SessionModel):
    """One session of an endpoint. Commands either happen as a whole or raise and change nothing.

    They raise LocalProtocolError for misuse, LimitExceeded at a bound, EndpointClosed when the session or its
    connection is gone. `opening` is the handle of `open_session`, `report` says why it ended, once it has.
    """

    __slots__ = (
        "_number",
        "asked",
        "connection",
        "leaving",
        "next_delivery_id",
        "opening",
        "report",
        "requested",
        "side",
        "stalled",
        "window",
    )

    def __init__(self, connection: Connection, side: int, initiator: int | None) -> None:
        SessionModel.__init__(self, initiator)
        self.connection = connection
        self.side = side
        self.opening: Handle[None] | None = None
        self.report: CloseReport | None = None
        self.requested: Begin | None = None
        self.asked: dict[int, Link] = {}
        self.leaving: dict[int, Link] = {}
        self.next_delivery_id = 0
        self.window = connection.config.incoming_window
        self.stalled: list[Sender] = []
        self._number = 0

    def new_link(self, name: str, sender: int) -> LinkModel:
        """Which kind of link it is follows from who sends."""
        if sender == self.side:
            from .sender import Sender

            return Sender(self, name)
        from .receiver import Receiver

        return Receiver(self, name)

    # State.

    @property
    def own(self) -> SessionHalf:
        """What this end has sent."""
        return self.halves[self.side]

    @property
    def peer(self) -> SessionHalf:
        """What the peer has sent."""
        return self.halves[1 - self.side]

    @property
    def channel(self) -> int:
        """The channel on which this end sends."""
        return self._number

    @property
    def is_open(self) -> bool:
        """Whether both ends have begun it and neither has ended it."""
        return self.own.state is _MAPPED and self.peer.state is _MAPPED and self.connection.is_open

    @property
    def outgoing_window(self) -> int:
        """Transfer frames that may be sent now (part 2 section 2.5.6, remote-incoming-window)."""
        own = self.own
        if own.window_limit is None:
            return 0
        return max(0, distance(own.next_outgoing_id, own.window_limit))

    @property
    def links(self) -> tuple[Link, ...]:
        """The links that this end has attached, in the order of their handles."""
        handles: Any = self.own.handles
        return tuple([handles[number] for number in sorted(handles)])

    def link(self, handle: int) -> Sender | Receiver:
        """The link with the handle that this end has given it. Raises EndpointClosed when there is none."""
        found: Any = self.own.handles.get(handle) or self.asked.get(handle) or self.leaving.get(handle)
        if found is None:
            raise EndpointClosed(
                f"session {self.channel} has no link with handle {handle}", self.report
            )
        return found  # type: ignore[no-any-return]

    # Commands.

    def accept(
        self,
        *,
        properties: Mapping[Any, Any] | None = None,
        offered_capabilities: Iterable[str] = (),
        desired_capabilities: Iterable[str] = (),
    ) -> None:
        """Answer `SessionRequested`: the session is open."""
        self._check_requested()
        self._begin(properties, offered_capabilities, desired_capabilities)
        self.connection._events.append(Opened(Scope.SESSION, self.channel))

    def refuse(self, condition: str, description: str = "") -> None:
        """Answer `SessionRequested` with an end (part 2 section 2.5.1: a begin has to come before it)."""
        self._check_requested()
        end = End(make_error(condition, description))
        self.connection._check_frames(end, spare=_SMALL)
        self._begin(None, (), ())
        self.connection._send(self._number, end)

    def close(
        self, condition: str = "", description: str = "", info: Mapping[Any, Any] | None = None
    ) -> None:
        """End the session, with an error where `condition` names one; `Closed` comes with the peer's answer.

        What the links have unsettled stays unsettled: `saved_state()` of each tells it. Nothing happens when
        it has ended.
        """
        if self.own.state is states.Session.ENDED or self.report is not None:
            return
        self._check()
        self.connection._send(self._number, End(make_error(condition, description, info)))
        for link in self.links:
            link.drop()

    def open_sender(
        self,
        target: str | Target | Coordinator | None,
        *,
        name: str | None = None,
        source: Source | str | None = None,
        snd_settle_mode: int | None = None,
        rcv_settle_mode: int | None = None,
        max_message_size: int = 0,
        properties: Mapping[Any, Any] | None = None,
        offered_capabilities: Iterable[str] = (),
        desired_capabilities: Iterable[str] = (),
        state: LinkState | None = None,
        auto_settle: bool = True,
    ) -> Sender:
        """Attach a link on which this end sends; usable at `LinkOpened`, which ends its `opening` handle.

        `target` is an address, or a whole terminus; None recovers the link's own (part 2 section 2.6.3), and with
        `Target(address=None)` is an anonymous one. `name` is made of the container-id and a count when there is
        none given. `snd_settle_mode` is 0 (unsettled), 1 (settled) or 2 (mixed, the default), `rcv_settle_mode` 0
        (first, the default) or 1 (second). `state` resumes a link, with its settle modes. With `auto_settle` what the
        receiver brings to a terminal state is settled at once.
        """
        from .sender import Sender

        link = self._new_link(name, self.side, state)
        assert isinstance(link, Sender)
        link.auto_settle = auto_settle
        if state is not None:
            link.restore(state)
            target = state.target if target is None else target
            source = state.source if source is None else source
        _check_dynamic(target, "1.0/target.address/dynamic-sender")
        self._attach(
            link,
            Source(address=self.connection.config.container_id) if source is None else _source(source),
            _target(target),
            (*_modes(snd_settle_mode, rcv_settle_mode, state), max_message_size),
            (properties, offered_capabilities, desired_capabilities),
        )
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
        properties: Mapping[Any, Any] | None = None,
        offered_capabilities: Iterable[str] = (),
        desired_capabilities: Iterable[str] = (),
        state: LinkState | None = None,
    ) -> Receiver:
        """Attach a link on which this end receives, with `credit` for so many deliveries; else as `open_sender`."""
        from .receiver import Receiver

        check_credit(credit)
        link = self._new_link(name, 1 - self.side, state)
        assert isinstance(link, Receiver)
        _check_dynamic(source, "1.0/source.address/dynamic-receiver")
        own: Any = target
        if state is not None:
            link.restore(state)
            own = state.target if target is None else target
            source = state.source if source is None else source
        self._attach(
            link,
            _source(source),
            Target(address=self.connection.config.container_id) if own is None else _target(own),
            (*_modes(snd_settle_mode, rcv_settle_mode, state), max_message_size),
            (properties, offered_capabilities, desired_capabilities),
        )
        if credit:
            link.flow(credit)
        return link

    def flow(self, *, echo: bool = False, properties: Mapping[Any, Any] | None = None) -> None:
        """Tell the peer the state of this end, and with `echo` ask for the peer's (part 2 section 2.7.4)."""
        self._check()
        self._send_flow(echo=echo, properties=properties)

    # For the engine.

    def links_sending(self) -> list[Sender]:
        """The senders among the attached links."""
        handles: Any = self.own.handles
        return [each for each in handles.values() if each.sender == self.side]

    def begin(
        self,
        number: int,
        handle: Handle[None] | None,
        properties: Mapping[Any, Any] | None,
        offered: Iterable[str],
        desired: Iterable[str],
    ) -> None:
        """Begin the session on channel `number`."""
        self._number = number
        self.opening = handle
        self._begin(properties, offered, desired)

    def ask(self, number: int, begin: Begin) -> None:
        """The peer has begun it; channel `number` is kept for the answer."""
        self._number = number
        self.requested = begin

    def answer_begin(self) -> None:
        """Begin what the peer asked for without letting it in, so that it can be ended."""
        self._begin(None, (), ())

    def _begin(
        self,
        properties: Mapping[Any, Any] | None,
        offered: Iterable[str],
        desired: Iterable[str],
    ) -> None:
        remote = self.peer.channel if self.requested is not None else None
        self.connection._send(
            self._number,
            Begin(
                remote_channel=remote,
                next_outgoing_id=0,
                incoming_window=self.window,
                outgoing_window=_OUTGOING_WINDOW,
                handle_max=self.connection.config.limits.consumers - 1,
                offered_capabilities=symbols(offered),
                desired_capabilities=symbols(desired),
                properties=properties,
            ),
        )
        self.requested = None

    def _check(self) -> None:
        self.connection._check_open()
        if self.own.state is _MAPPED and self.report is None:
            return
        if self.requested is not None:
            raise LocalProtocolError(
                f"session {self.channel} is asked for by the peer; accept or refuse it first"
            )
        raise EndpointClosed(f"session {self.channel} has ended: {self.report or 'by this end'}", self.report)

    def _check_requested(self) -> None:
        self.connection._check_open()
        if self.requested is None:
            raise LocalProtocolError(f"session {self.channel} isn't waiting for an answer")

    def _new_link(self, name: str | None, sender: int, state: LinkState | None) -> LinkModel:
        self._check()
        if state is not None:
            if name is not None and name != state.name:
                raise LocalProtocolError(
                    f"the state is that of link {state.name!r}, a resumed link can't be called {name!r}",
                    rule="1.0/transport/link/name-unique",
                )
            if state.is_sender != (sender == self.side):
                raise LocalProtocolError(
                    f"the state of link {state.name!r} is that of a "
                    f"{'sender' if state.is_sender else 'receiver'}, resume it as one"
                )
            name = state.name
        if name is None:
            name = f"{self.connection.config.container_id}-{self.connection._serial + 1}"
        key = (name, sender)
        for session in self.connection._sessions.values():
            known = session.names.get(key)
            if known is not None and not _name_is_free(known, self.side):
                raise LocalProtocolError(
                    f"a link called {name!r} lives on session {session.channel}; "
                    "wait for its LinkClosed, or answer its LinkRequested",
                    rule="1.0/transport/link/name-unique",
                )
        return self.new_link(name, sender)

    def _attach(
        self,
        link: LinkModel,
        source: Any,
        target: Any,
        modes: tuple[int, int, int],
        more: tuple[Mapping[Any, Any] | None, Iterable[str], Iterable[str]],
    ) -> None:
        key = (link.name, link.sender)
        before = self.names.get(key)
        self.names[key] = link
        try:
            link.attach(  # type: ignore[attr-defined]
                self.free_handle(), source, target, modes, more
            )
        except BaseException:
            if before is None:
                del self.names[key]
            else:
                self.names[key] = before
            raise

    def free_handle(self, *, answering: bool = False) -> int:
        """The lowest handle that this end hasn't in use (part 2 section 2.7.3). Raises LimitExceeded.

        What the peer attaches is bounded by the handle-max that it was told, not by the links that this end opened.
        """
        taken = self.own.handles
        number = 0
        # The handle of a link whose end the application hasn't heard of would be taken for that one.
        while number in taken or number in self.asked or number in self.leaving:
            number += 1
        begin = self.peer.begin
        top = _HANDLES if answering else self.connection.config.limits.consumers - 1
        if begin is not None:
            top = min(top, begin.handle_max)
        if number > top:
            raise LimitExceeded(
                f"session {self.channel} has {number} links, the peer's handle-max and "
                f"Limits.consumers allow no more",
                rule="1.0/transport/session/handle-max",
            )
        return number

    def _send_flow(
        self,
        link: LinkModel | None = None,
        *,
        credit: int = 0,
        drain: bool = False,
        echo: bool = False,
        properties: Mapping[Any, Any] | None = None,
    ) -> None:
        """The state of this end of the session, and that of one link."""
        own, peer = self.own, self.peer
        known = peer.begin is not None
        flow = Flow(
            next_incoming_id=peer.next_outgoing_id if known else None,
            incoming_window=self.window,
            next_outgoing_id=own.next_outgoing_id,
            outgoing_window=_OUTGOING_WINDOW,
            handle=None if link is None else link.halves[self.side].handle,
            delivery_count=None if link is None or not _knows_count(link, self.side) else link.delivery_count,
            link_credit=None if link is None else credit,
            available=None if link is None or link.sender != self.side else link.available,
            drain=drain,
            echo=echo,
            properties=properties,
        )
        self.connection._send(self._number, flow)

    def refresh_window(self) -> None:
        """Let the peer send on when half of what it was told is used up."""
        peer = self.peer
        limit = peer.window_limit
        used = limit is not None and distance(peer.next_outgoing_id, limit) * 2 <= self.window
        if used and self.own.state is _MAPPED:
            self._send_flow()

    def disposition(
        self,
        role: bool,
        delivery_ids: Iterable[int],
        state: State | None,
        settled: bool,
    ) -> None:
        """Tell the state of deliveries, those with consecutive ids together (part 2 section 2.7.6)."""
        first = last = None
        for number in delivery_ids:
            if last is not None and number == (last + 1) & 0xFFFF_FFFF:
                last = number
                continue
            if first is not None:
                self._dispose(role, first, last, state, settled)
            first = last = number
        if first is not None:
            self._dispose(role, first, last, state, settled)

    def _dispose(
        self, role: bool, first: int, last: int | None, state: State | None, settled: bool
    ) -> None:
        frame = Disposition(
            role, first, None if last == first else last, settled=settled, state=state
        )
        self.connection._send(self._number, frame)

    def __repr__(self) -> str:
        state = "open" if self.is_open else f"ended: {self.report}" if self.report else "not open"
        return f"<Session {self.channel}, {state}>"


def make_error(
    condition: str, description: str, info: Mapping[Any, Any] | None = None
) -> Error | None:
    """The error record of a close, end or detach; None without a condition (part 2 section 2.8.14)."""
    if not condition:
        if description or info:
            raise LocalProtocolError(
                f"an error needs a condition; {description!r} alone can't be sent",
                rule="1.0/transport/error/condition",
            )
        return None
    return Error(Symbol(condition), description or None, info)


def symbols(texts: Iterable[str]) -> tuple[Symbol, ...]:
    """Texts as symbols."""
    return tuple([Symbol(each) for each in texts])


def _modes(snd: int | None, rcv: int | None, state: LinkState | None) -> tuple[int, int]:
    """The settle modes as given, as saved, or mixed and first."""
    saved = (2, 0) if state is None else (state.snd_settle_mode, state.rcv_settle_mode)
    return saved[0] if snd is None else snd, saved[1] if rcv is None else rcv


def _check_dynamic(terminus: object, rule: str) -> None:
    """Who asks for a dynamic node doesn't know its address (part 3 section 3.5.3)."""
    if getattr(terminus, "dynamic", False) and getattr(terminus, "address", None) is not None:
        raise LocalProtocolError(
            "a dynamic node gets its address from the peer; leave the address out", rule=rule
        )


def _source(source: str | Source | None) -> Source | None:
    return Source(address=source) if isinstance(source, str) else source


def _target(target: str | Target | Coordinator | None) -> Target | Coordinator | None:
    return Target(address=target) if isinstance(target, str) else target


def _name_is_free(link: LinkModel, side: int) -> bool:
    """Whether this end closed the link and the peer has detached too, if only without closing, as RabbitMQ answers."""
    own, peer = link.halves[side], link.halves[1 - side]
    closed = own.state is states.Link.CLOSED and peer.state is not states.Link.ATTACHED
    return closed and own.attaches == peer.attaches


def _knows_count(link: LinkModel, side: int) -> bool:
    """Whether the sender's delivery-count is known to this side (part 2 section 2.7.4)."""
    return link.sender == side or link.halves[link.sender].attach is not None


def check_credit(credit: int) -> None:
    """Raise for a credit beyond what serial numbers can tell (part 2 section 2.6.7)."""
    if not 0 <= credit <= 0x7FFF_FFFF:
        raise LocalProtocolError(f"credit {credit} is outside 0 to 2147483647")
