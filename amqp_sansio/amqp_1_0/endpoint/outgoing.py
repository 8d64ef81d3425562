"""This end's sending: the frames of a connection (`Transport`), and those of one of its sessions (`SessionEnd`)."""

from __future__ import annotations

from ..._checking import TYPE_CHECKING, Protocol
from ..._ground.free_numbers import FreeNumbers
from ..._ground.invariants import ensure
from ..._ground.serial import distance
from ..._watching.ends import tell_abandoned
from ...errors import EndpointClosed, LimitExceeded, LocalProtocolError, RemoteProtocolError, Scope
from ...events import By, CloseReport, Opened, Settled
from ..codec.composite import encode_whole
from ..codec.frames import AMQP, FRAME, HEADER_SIZE
from ..codec.performatives import Begin, Disposition, End, Error, Flow
from ..codec.values import Symbol
from ..codec.violation import Violation, misuse
from ..model import hints
from ..model.link_state import SERVER, LinkModel, SessionHalf, SessionModel
from ..model.states import ENDED, MAPPED
from .config import writes_whole_lists

if TYPE_CHECKING:
    from collections import deque
    from collections.abc import Callable, Iterable, Mapping
    from typing import Any, Final

    from ..._core.send_buffer import SendBuffer
    from ...endpoint import Role
    from ...events import Event, Pending
    from ..codec.performatives import Performative
    from ..codec.types import AmqpMap
    from ..model.connection import ConnectionModel
    from ..model.link_state import State
    from .config import Config

_OUTGOING_WINDOW: Final = 0x7FFF_FFFF
"""Nothing but the peer's window holds transfers back."""
_HANDLES: Final = 0xFFFF_FFFF
_LONGEST_TEXT: Final = 255
"""Octets of a description that fits, whatever frames the peer takes."""
_SMALL: Final = 256
"""Octets that a begin or flow without properties surely has room in."""
_pack: Final = FRAME.pack


class Owner(Protocol):
    """A connection, as its sessions and links see it."""

    @property
    def config(self) -> Config: ...
    @property
    def role(self) -> Role: ...
    @property
    def is_open(self) -> bool: ...


class Waiting(Protocol):
    """A sender that waits for the session's window."""

    def window_came(self) -> None:
        """The window has room: send."""
        ...


class Transport:
    """The part of a connection that its sessions and links share: frames out, events, numbers, room for messages."""

    __slots__ = (
        "bodies",
        "check_open",
        "config",
        "connection",
        "events",
        "half",
        "limits",
        "max_frame",
        "model",
        "out",
        "serial",
        "sessions",
        "side",
        "whole",
    )

    def __init__(
        self,
        model: ConnectionModel,
        connection: Owner,
        side: int,
        events: deque[Event],
        out: SendBuffer,
        sessions: Mapping[int, SessionModel],
        check_open: Callable[[], None],
    ) -> None:
        # The connection's, which refuses what may not be sent now.
        self.model = model
        # What this end has sent on the connection.
        self.half = model.halves[side]
        # The connection itself: whether it is open, and its configuration.
        self.connection = connection
        # As it was given to the connection.
        self.config = connection.config
        # The configuration's bounds.
        self.limits = connection.config.limits
        # This end's index into the halves of sessions and links.
        self.side = side
        # The connection's, which sessions and links add theirs to.
        self.events = events
        # Takes the frames; it refuses what doesn't fit (`Limits.backlog_hard`).
        self.out = out
        # Those of this end, by its channel.
        self.sessions = sessions
        # Raises when the connection isn't open; commands call it first.
        self.check_open = check_open
        # The largest frame that the peer takes, in octets with its header.
        self.max_frame = self.config.initial_frame_size
        # Whether lists are written with all their fields, those that are null too: some peers can't read shorter ones.
        self.whole = writes_whole_lists(self.config, server=side == SERVER)
        # Octets of messages that have come in part and are kept; `Limits.bodies` bounds them.
        self.bodies = 0
        # The last number given to a pending or a name of a link.
        self.serial = 0

    def send(self, channel: int, performative: Performative) -> None:
        """Step the model for this end's own frame, and queue it. Raises LocalProtocolError, LimitExceeded, CodecError,
        with nothing changed."""
        body = self.octets(performative)
        size = HEADER_SIZE + len(body)
        self._check_size(performative, size)
        self.check_backlog(size)
        try:
            self.model.step(self.side, channel, performative)
        except Violation as violation:
            raise misuse(violation) from None
        self.queue(channel, body)

    def octets(self, performative: Performative) -> bytes:
        """The body of a frame, as this end writes them. Raises CodecError."""
        return encode_whole(performative) if self.whole else performative.encode()

    def queue(self, channel: int, body: bytes, payload: bytes = b"") -> None:
        """Queue a frame that the model has seen and the peer takes."""
        size = HEADER_SIZE + len(body) + len(payload)
        out = self.out
        out.parts.append(_pack(size, 2, AMQP, channel) + body + payload)
        out.size += size
        if out.size > out.high:
            out.pause()

    def check_frames(self, *frames: Performative, spare: int = 0) -> None:
        """Check what is sent together before any of it: each fits a frame, and all, with `spare` octets, the backlog.

        Raises LocalProtocolError, LimitExceeded, CodecError.
        """
        total = spare
        for each in frames:
            size = HEADER_SIZE + len(self.octets(each))
            total += size
            self._check_size(each, size)
        self.check_backlog(total)

    def _check_size(self, performative: Performative, size: int) -> None:
        if size > self.max_frame:
            raise LocalProtocolError(
                f"{performative.NAME} takes a frame of {size} octets, the peer takes {self.max_frame} "
                "(amqp:frame-size-too-small)",
                rule="1.0/transport/open/max-frame-size",
            )

    def check_backlog(self, octets: int) -> None:
        """Raises LimitExceeded when so many octets more are more than `Limits.backlog_hard`."""
        self.out.check_room(octets, "1.0/transport/error/resource-limit")

    def new_serial(self) -> int:
        """A number that this connection hasn't used, for keys and names."""
        self.serial += 1
        return self.serial

    def let_go(self, parts: list[bytes]) -> None:
        """Count the parts of a message off."""
        self.bodies -= sum(map(len, parts))

    def abandon(self, pendings: list[Pending[object]], report: CloseReport, resumable: bool = True) -> None:
        """No answer will come to these pendings, if there are any."""
        error = EndpointClosed(f"no answer will come: {report}", report)
        tell_abandoned(self.events, pendings, error, report, resumable)


class SessionEnd(SessionModel):
    """This end of a session: what it has sent, and what it sends in its own name and that of its links."""

    __slots__ = (
        "asked",
        "channel",
        "free_handles",
        "leaving",
        "next_delivery_id",
        "opening",
        "report",
        "requested",
        "side",
        "stalled",
        "transport",
        "window",
    )

    def __init__(self, transport: Transport, initiator: int | None) -> None:
        SessionModel.__init__(self, transport.model, initiator)
        # What all sessions share of the connection.
        self.transport = transport
        # This end's index into `halves`.
        self.side = transport.side
        # The one on which it sends.
        self.channel = 0
        # The pending of `open_session`; None for sessions that the peer asked for.
        self.opening: Pending[None] | None = None
        # Why it ended, once it has.
        self.report: CloseReport | None = None
        # The peer's begin that the application hasn't answered.
        self.requested: Begin | None = None
        # Links that the peer wants and nobody has answered, by the handle that they will have here.
        self.asked: dict[int, LinkModel] = {}
        # Links that this end has detached and the peer not yet, by handle: the handle isn't free.
        self.leaving: dict[int, LinkModel] = {}
        # Numbers for new links, the lowest first.
        self.free_handles = FreeNumbers()
        # The id of the next delivery, a serial number of 32 bits for all links of the session (part 2 section 2.8.8).
        self.next_delivery_id = 0
        # Transfers that this end takes before it says anew how many (incoming-window).
        self.window = transport.config.incoming_window
        # Senders that wait for the peer's window, in the order in which they go on.
        self.stalled: list[Waiting] = []

    # State.

    @property
    def connection(self) -> Owner:
        """The connection that the session belongs to."""
        return self.transport.connection

    @property
    def own(self) -> SessionHalf:
        """The half that this end has sent."""
        return self.halves[self.side]

    @property
    def peer(self) -> SessionHalf:
        """The half that the peer has sent."""
        return self.halves[1 - self.side]

    @property
    def is_open(self) -> bool:
        """Whether both ends have begun it and neither has ended it."""
        return self.own.state is MAPPED and self.peer.state is MAPPED and self.connection.is_open

    @property
    def outgoing_window(self) -> int:
        """Transfer frames that may be sent now (part 2 section 2.5.6, remote-incoming-window)."""
        own = self.own
        if own.window_limit is None:
            return 0
        return max(0, distance(own.next_outgoing_id, own.window_limit))

    # Commands.

    def accept(
        self,
        *,
        properties: AmqpMap | None = None,
        offered_capabilities: Iterable[str] = (),
        desired_capabilities: Iterable[str] = (),
    ) -> None:
        """Answer `SessionRequested`: the session is open."""
        self._check_requested()
        self.send_begin(properties, offered_capabilities, desired_capabilities)
        self.transport.events.append(Opened(Scope.SESSION, self.channel))

    def refuse(self, condition: str, description: str = "") -> None:
        """Answer `SessionRequested` with an end (part 2 section 2.5.1: a begin has to come before it)."""
        self._check_requested()
        end = End(make_error(condition, description))
        self.transport.check_frames(end, spare=_SMALL)
        self.send_begin()
        self.send(end)

    def close(self, condition: str = "", description: str = "", info: AmqpMap | None = None) -> None:
        """End the session, with an error where `condition` names one; `Closed` comes with the peer's answer.

        The links' unsettled deliveries stay unsettled: `saved_state()` of each tells them. Nothing happens when
        it has ended.
        """
        if self.own.state is ENDED or self.report is not None:
            return
        self.check_begun()
        self.send(End(make_error(condition, description, info)))
        handles: Any = self.own.handles
        for link in handles.values():
            link.drop()

    def flow(self, *, echo: bool = False, properties: AmqpMap | None = None) -> None:
        """Tell the peer the state of this end, and with `echo` ask for the peer's (part 2 section 2.7.4)."""
        self.check_begun()
        self.send_flow(echo=echo, properties=properties)

    def _check_requested(self) -> None:
        self.transport.check_open()
        if self.requested is None:
            raise LocalProtocolError(f"session {self.channel} isn't waiting for an answer")

    # For links and the connection.

    def check_begun(self) -> None:
        """Raise unless this end has begun the session: EndpointClosed, LocalProtocolError."""
        self.transport.check_open()
        if self.own.state is MAPPED and self.report is None:
            return
        if self.requested is not None:
            raise LocalProtocolError(f"session {self.channel} is asked for by the peer; accept or refuse it first")
        raise EndpointClosed(f"session {self.channel} has ended: {self.report or 'by this end'}", self.report)

    def check(self) -> None:
        """Check that all that this end keeps is bounded, then as the model does. Raises AssertionError."""
        limits, where = self.transport.limits, f"session {self.channel}"
        counts = len(self.asked), len(self.leaving), len(self.stalled)
        ensure(counts[0] <= limits.consumers, where, "`Limits.consumers` bounds links that are asked for", counts[0])
        ensure(counts[1] <= 2 * limits.consumers, where, "`Limits.consumers` bounds links that leave", counts[1])
        ensure(counts[2] <= 2 * limits.consumers, where, "`Limits.consumers` bounds senders that wait", counts[2])
        most = 4 * limits.consumers + 64
        ensure(len(self.names) <= most, where, "`Limits.consumers` bounds names", len(self.names))
        super().check()

    def send(self, performative: Performative) -> None:
        """Send a frame. Raises LocalProtocolError, LimitExceeded, CodecError, with nothing changed."""
        self.transport.send(self.channel, performative)

    def send_begin(
        self, properties: AmqpMap | None = None, offered: Iterable[str] = (), desired: Iterable[str] = ()
    ) -> None:
        """Begin the session, or answer the peer's begin; without arguments to end it at once."""
        transport = self.transport
        self.send(
            Begin(
                remote_channel=self.peer.channel if self.requested is not None else None,
                next_outgoing_id=0,
                incoming_window=self.window,
                outgoing_window=_OUTGOING_WINDOW,
                handle_max=transport.limits.consumers - 1,
                offered_capabilities=tuple(offered),
                desired_capabilities=tuple(desired),
                properties=properties,
            )
        )
        self.requested = None

    def send_flow(
        self,
        link: LinkModel | None = None,
        *,
        credit: int = 0,
        drain: bool = False,
        echo: bool = False,
        properties: AmqpMap | None = None,
    ) -> None:
        """Tell the state of this end of the session, and that of one link (part 2 section 2.7.4)."""
        own, peer, side = self.own, self.peer, self.side
        handle = count = link_credit = available = None
        if link is not None:
            handle, link_credit = link.halves[side].handle, credit
            if link.sender == side:
                count, available = link.delivery_count, link.available
            elif link.halves[link.sender].attach is not None:
                # Only the sender's attach says where its count begins.
                count = link.delivery_count
        self.send(
            Flow(
                next_incoming_id=None if peer.begin is None else peer.next_outgoing_id,
                incoming_window=self.window,
                next_outgoing_id=own.next_outgoing_id,
                outgoing_window=_OUTGOING_WINDOW,
                handle=handle,
                delivery_count=count,
                link_credit=link_credit,
                available=available,
                drain=drain,
                echo=echo,
                properties=properties,
            )
        )

    def refresh_window(self) -> None:
        """Let the peer send on when half of what it was told is used up."""
        peer = self.peer
        limit = peer.window_limit
        used = limit is not None and distance(peer.next_outgoing_id, limit) * 2 <= self.window
        if used and self.own.state is MAPPED:
            self.send_flow()

    def disposition(self, role: bool, delivery_ids: Iterable[int], state: State | None, settled: bool) -> None:
        """Tell the state of deliveries, those with consecutive ids together (part 2 section 2.7.6)."""
        runs: list[tuple[int, int]] = []
        for number in delivery_ids:
            if runs and number == (runs[-1][1] + 1) & 0xFFFF_FFFF:
                runs[-1] = runs[-1][0], number
            else:
                runs.append((number, number))
        for first, last in runs:
            self.send(Disposition(role, first, None if last == first else last, settled=settled, state=state))

    def complete(self, ended: list[tuple[Pending[object], State | None]]) -> None:
        """Deliveries are settled: one event for each run of pendings that end with the same state."""
        groups: list[tuple[State | None, list[Pending[object]]]] = []
        for pending, final in ended:
            pending.complete(final)
            if groups and groups[-1][0] == final:
                groups[-1][1].append(pending)
            else:
                groups.append((final, [pending]))
        for final, pendings in groups:
            self.transport.events.append(Settled(tuple(pendings), final))

    def free_handle(self, *, answering: bool = False) -> int:
        """The lowest handle that this end hasn't in use (part 2 section 2.7.3). Raises LimitExceeded.

        The handle-max that the peer was told bounds its attaches; the links that this end opened don't count.
        """
        taken = self.own.handles
        # The handle of a link whose end the application hasn't heard of would be taken for that one.
        number = self.free_handles.lowest(lambda each: each in taken or each in self.asked or each in self.leaving)
        begin = self.peer.begin
        top = _HANDLES if answering else self.transport.limits.consumers - 1
        if begin is not None:
            top = min(top, begin.handle_max)
        if number > top:
            raise LimitExceeded(
                f"session {self.channel} has {number} links, the peer's handle-max and Limits.consumers allow no more",
                rule="1.0/transport/session/handle-max",
            )
        return number

    def __repr__(self) -> str:
        state = "open" if self.is_open else f"ended: {self.report}" if self.report else "not open"
        return f"<{type(self).__name__} {self.channel}, {state}>"


def make_error(condition: str, description: str, info: AmqpMap | None = None) -> Error | None:
    """The error record of a close, end or detach; None without a condition (part 2 section 2.8.14)."""
    if not condition:
        if description or info:
            raise LocalProtocolError(
                f"an error needs a condition; {description!r} alone can't be sent", rule="1.0/transport/error/condition"
            )
        return None
    return Error(Symbol(condition), description or None, info)


def shorten(text: str) -> str:
    """Cut a description to what any frame is sure to hold."""
    octets = text.encode("utf-8", "backslashreplace")
    short = octets if len(octets) <= _LONGEST_TEXT else octets[: _LONGEST_TEXT - 3] + b"..."
    return short.decode("utf-8", "ignore")


def report_of(by: By, error: Error | None) -> CloseReport:
    """The report of an end, with the error it came with."""
    if error is None:
        return CloseReport(by)
    condition = str(error.condition)
    info = hints.info_of(error)
    hint = hints.for_redirect(condition, info)
    return CloseReport(by, 0, error.description or "", hint=hint, condition=condition, info=info)


def remote_error(scope: Scope, channel: int, error: Error) -> RemoteProtocolError:
    """An error that the peer told."""
    text = f"{error.condition}: {error.description}" if error.description else str(error.condition)
    condition = str(error.condition)
    return RemoteProtocolError(text, scope=scope, channel=channel, condition=condition, info=hints.info_of(error))
