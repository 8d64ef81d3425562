"""ConnectionModel: both halves of a connection and of its sessions, and the rules for what either side sends.

Endpoints step it for what they receive and send, observers for both sides. Each call judges one frame by what its
sender may have known when it sent it: what the other side has said meanwhile can't have been heard yet.
A call raises `Violation` and changes nothing, except that a transfer that breaks a rule of its link still counts in
its session. The rules of links and deliveries are in `link_state`.

This module owns the halves of the connection and which session is on which channel; nothing outside `model` assigns any
of it. The first call for a side is `step_header`, and SASL comes before that; then come `open`, frames of sessions in
the order in which they were sent, and `close` last.

Between two calls, as `check` of each class says, a session is in `channels` of a side from its begin until its end, by
its channel there, and of both sides while both are mapped; one that a side has ended before the other has begun it
stays, since its begin will name that channel; `open` is there in every state from OPEN on, unless it wasn't seen; and
sessions and ended ones that are remembered are few.
"""

from __future__ import annotations

from ..._checking import TYPE_CHECKING
from ..._ground.invariants import ensure
from ..._ground.serial import bound, later
from ..codec import conditions
from ..codec.frames import MIN_MAX_FRAME_SIZE
from ..codec.performatives import (
    Attach,
    Begin,
    Close,
    Detach,
    Disposition,
    End,
    Flow,
    Open,
    SaslChallenge,
    SaslInit,
    SaslMechanisms,
    SaslOutcome,
    SaslResponse,
    Transfer,
)
from ..codec.violation import LateViolation, Violation
from . import states
from .link_state import CLIENT, SERVER, DeliveryModel, LinkModel, SessionHalf, SessionModel
from .states import MAPPED, ConnectionInput

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Final

    from ...limits import Limits
    from ..codec.performatives import Performative, SaslFrame


class Half:
    """The half of a connection that one side has sent."""

    __slots__ = ("assumed", "channels", "ended_on", "open", "state")

    def __init__(self) -> None:
        # A row of the table CONNECTION, moved by the side's header, open, close and whatever is between.
        self.state = states.Connection.START
        # Its open; of a large one an observer keeps what rules ask for. None until it has passed.
        self.open: Open | None = None
        # The sessions that it has begun or answered and not left, by the channel on which it sends.
        self.channels: dict[int, SessionModel] = {}
        # The channels on which it has ended a session and begun none since, the last ones: what it sends there comes
        # late and is discarded.
        self.ended_on: dict[int, None] = {}
        # Whether its stream wasn't seen from the start, so that unknown channels and handles are no fault of it.
        # Observers only, and for each frame anew.
        self.assumed = False

    def assume(self, assumed: bool = True) -> None:
        """Whether something that the side has sent wasn't seen."""
        self.assumed = assumed

    def assume_open(self) -> None:
        """The side has sent its open, unless it has closed, whatever was seen of that."""
        if self.state is not states.Connection.CLOSED:
            self.state = states.Connection.OPEN

    def open_as_told(self, frame: Open) -> None:
        """The side has sent this open, which breaks a rule."""
        self.assume_open()
        self.open = frame

    def close_as_told(self) -> None:
        """The side has sent its close, whatever its state was."""
        self.state = states.Connection.CLOSED

    def put(self, channel: int, session: SessionModel) -> None:
        """The side sends a session on this channel, as far as was seen."""
        self.ended_on.pop(channel, None)
        self.channels[channel] = session

    def drop(self, channel: int) -> SessionModel | None:
        """The side sends no session on this channel any more; the one that it sent."""
        return self.channels.pop(channel, None)

    def leave(self, channel: int) -> None:
        """The side has ended its session on this channel."""
        self.ended_on.pop(channel, None)
        if len(self.ended_on) >= MOST_LEFT:
            del self.ended_on[next(iter(self.ended_on))]
        self.ended_on[channel] = None

    def check(self, side: int, limits: Limits) -> None:
        """Check the module's invariants of the half that `side` has sent. Raises AssertionError."""
        where = f"half of {_SIDES[side]}"
        early = self.state in (states.Connection.START, states.Connection.HEADER)
        ensure(self.assumed or early == (self.open is None), where, "`open` is there from OPEN on", self.state)
        ensure(self.assumed or not (early and self.channels), where, "sessions begin behind the open", self.state)
        ensure(len(self.ended_on) <= MOST_LEFT, where, "few ended sessions are remembered", len(self.ended_on))
        count = len(self.channels)
        ensure(count <= 2 * limits.channels, where, "`Limits.channels` bounds sessions", count)
        for channel, session in self.channels.items():
            own = session.halves[side]
            ensure(own.channel == channel, where, "each session is kept by its channel", channel, own.channel)
            ensure(own.state is not states.UNMAPPED, where, "a session is kept from its begin on", channel)
            # Ended before its begin was answered, it stays for that answer, and then for the end behind it.
            gone = own.state is states.ENDED and session.halves[1 - side].state is states.ENDED
            ensure(not gone, where, "a session that both sides have ended is gone", channel)

    def keep_open(self, frame: Open) -> None:
        """Keep this of the side's open, which is larger than what rules need of it."""
        self.open = frame


class ConnectionModel:
    """One connection; see the module's docstring."""

    __slots__ = ("halves", "limits", "sasl")

    def __init__(self, limits: Limits) -> None:
        # The bounds of what is kept; an observer's are beyond every peer.
        self.limits = limits
        # What each side has sent, by side.
        self.halves = (Half(), Half())
        # A row of the table SASL, of both sides together.
        self.sasl = states.Sasl.START

    def check(self) -> None:
        """Check the module's invariants, and those of the sessions. Raises AssertionError."""
        sessions: dict[SessionModel, None] = {}
        for side, half in enumerate(self.halves):
            half.check(side, self.limits)
            sessions.update(dict.fromkeys(half.channels.values()))
        for session in sessions:
            for side, half in enumerate(self.halves):
                own = session.halves[side]
                here = own.state is not MAPPED or half.channels.get(own.channel) is session
                ensure(here, "connection", "a session that a side has begun is in its channels", side, own.channel)
            session.check()

    def sasl_as_told(self, state: states.Sasl) -> None:
        """The SASL exchange is here, though not all of it was seen or right."""
        self.sasl = state

    def new_session(self, initiator: int | None) -> SessionModel:
        """A session; endpoints have their own kind."""
        return SessionModel(self, initiator)

    def is_assumed(self, side: int) -> bool:
        """Whether the stream of `side` wasn't seen from the start."""
        return self.halves[side].assumed

    def tolerate(self, violation: Violation) -> None:
        """A rule is broken that real peers break, and that does no harm. Endpoints and observers take it."""

    # The connection.

    def step_header(self, side: int) -> None:
        """`side` sends the AMQP header (protocol id 0)."""
        self._step_connection(side, ConnectionInput.HEADER, "the protocol header")

    def step_sasl(self, side: int, frame: SaslFrame) -> None:
        """`side` sends a SASL frame (part 5 section 5.3.2)."""
        sender, given = SASL_FRAMES[type(frame)]
        found = states.SASL[self.sasl].get(given)
        if sender != side or found is None:
            wrong = "the wrong side" if sender != side else self.sasl.value
            rule = "security/sasl/roles" if sender != side else "security/sasl/mechanisms-first"
            raise Violation(conditions.ILLEGAL_STATE, f"{frame.NAME} from {_SIDES[side]}: {wrong}", rule=rule)
        if isinstance(frame, SaslMechanisms) and not frame.sasl_server_mechanisms:
            text = "sasl-mechanisms offers no mechanism"
            raise Violation(conditions.INVALID_FIELD, text, rule="security/sasl/mechanisms-nonempty")
        self.sasl = found

    def step_empty(self, side: int, channel: int = 0) -> None:
        """`side` sends an empty frame (part 2 section 2.4.5)."""
        self._step_connection(side, ConnectionInput.EMPTY, "an empty frame")
        self._check_channel(side, channel, "an empty frame")

    def step(self, side: int, channel: int, performative: Performative) -> None:
        """`side` sends `performative`, any but a transfer, on `channel`."""
        _STEPS[type(performative)](self, side, channel, performative)

    def open(self, side: int, channel: int, frame: Open) -> None:
        """The first frame of a side (part 2 section 2.7.1)."""
        if channel:
            text = f"open on channel {channel}; it goes on channel 0"
            raise Violation(conditions.FRAMING_ERROR, text, rule="transport/connection/open-channel-0")
        if frame.max_frame_size < MIN_MAX_FRAME_SIZE:
            # Broker-J says 0 where it closes at once.
            text = f"max-frame-size {frame.max_frame_size}, at least {MIN_MAX_FRAME_SIZE} is a must"
            self.tolerate(Violation(conditions.INVALID_FIELD, text, rule="transport/open/max-frame-size-min"))
        self._step_connection(side, ConnectionInput.OPEN, "open")
        self.halves[side].open = frame

    def close(self, side: int, channel: int, _: Close | None = None) -> bool:
        """The last frame of a side (part 2 section 2.7.9); whether it answers the other's close."""
        self._check_channel(side, channel, "close")
        self._step_connection(side, ConnectionInput.CLOSE, "close")
        return self.halves[1 - side].state is states.Connection.CLOSED

    def _step_connection(self, side: int, given: ConnectionInput, what: str) -> None:
        half = self.halves[side]
        found = states.CONNECTION[half.state].get(given)
        if found is None:
            closed = half.state is states.Connection.CLOSED
            if half.assumed and given is not ConnectionInput.HEADER and not closed:
                half.state = states.Connection.CLOSED if given is ConnectionInput.CLOSE else states.Connection.OPEN
                return
            rule = "transport/connection/open-first"
            if half.state is states.Connection.CLOSED:
                rule = "transport/close/nothing-after"
            elif half.state is states.Connection.START:
                rule = "transport/version/header-first"
            elif given is ConnectionInput.EMPTY:
                rule = "transport/connection/idle-empty-when"
            text = f"{_SIDES[side]} sends {what}, state of its side: {half.state.value}"
            raise Violation(conditions.ILLEGAL_STATE, text, rule=rule)
        half.state = found

    def _check_channel(self, side: int, channel: int, what: str) -> None:
        """The other side's open says which channels there are; before it only channel 0 is sure."""
        if not channel:
            return
        other = self.halves[1 - side]
        top = 0 if other.open is None else other.open.channel_max
        if channel > top and not other.assumed:
            rule = "transport/open/channel-max"
            if other.open is None:
                rule = "transport/connection/pre-open-limits"
            text = f"{what} on channel {channel}, the channel-max of the other side is {top}"
            raise Violation(conditions.FRAMING_ERROR, text, rule=rule, channel=channel)

    # Sessions.

    def session(self, side: int, channel: int, what: str) -> SessionModel:
        """The session on which `side` sends on `channel`."""
        half = self.halves[side]
        if half.state is not states.Connection.OPEN:
            self._step_connection(side, ConnectionInput.FRAME, what)
        session = half.channels.get(channel)
        if session is not None and session.halves[side].state is MAPPED:
            return session
        self._check_channel(side, channel, what)
        if half.assumed and session is None:
            return self._assume_session(side, channel)
        rule = "transport/session.state/unmapped"
        if channel in half.ended_on:
            text = f"{what} on channel {channel} behind the end of its session"
            raise LateViolation(conditions.NOT_ALLOWED, text, rule=rule, channel=channel)
        text = f"{what} on channel {channel}, where no session has begun"
        raise Violation(conditions.NOT_ALLOWED, text, rule=rule, channel=channel)

    def _assume_session(self, side: int, channel: int) -> SessionModel:
        """A session whose begin wasn't seen, and whose other half may already be known on the same channel."""
        other = self.halves[1 - side]
        session = other.channels.get(channel) if other.assumed else None
        if session is None or session.halves[side].state is not states.Session.UNMAPPED or not self.may_lack(session):
            session = self.new_session(None)
        half = session.halves[side]
        half.state = MAPPED
        half.channel = channel
        for each in session.halves:
            each.unknown_window()
        self.halves[side].channels[channel] = session
        return session

    def may_lack(self, session: SessionModel) -> bool:
        """Whether the begin that answers a session may have passed unseen."""
        return session.initiator is None

    def begin(self, side: int, channel: int, frame: Begin) -> tuple[SessionModel, bool]:
        """A session begins, or its begin is answered (part 2 section 2.5.1)."""
        half = self.halves[side]
        if half.state is not states.Connection.OPEN:
            self._step_connection(side, ConnectionInput.FRAME, "begin")
        self._check_channel(side, channel, "begin")
        if channel in half.channels:
            text = f"begin on channel {channel}, which is in use"
            raise half.channels[channel].error(side, conditions.ILLEGAL_STATE, text, "transport/session.state/mapped")
        remote = frame.remote_channel
        answers = remote is not None
        if remote is not None:
            session = self._answered(side, channel, remote)
        else:
            if len(half.channels) >= self.limits.channels:
                text = f"more than {self.limits.channels} sessions"
                raise Violation(
                    conditions.RESOURCE_LIMIT_EXCEEDED, text, rule="transport/error/resource-limit", channel=channel
                )
            session = self.new_session(side)
        own = session.halves[side]
        own.map(channel, frame)
        other = session.halves[1 - side]
        if other.begin is not None:
            # Both windows are known now; before its peer's begin a side can't send a transfer.
            own.window_limit = bound(own.next_outgoing_id, other.begin.incoming_window)
            own.window_known = own.window_limit
            other.window_limit = bound(other.next_outgoing_id, frame.incoming_window)
            other.window_known = other.window_limit
        elif session.initiator is None:
            own.unknown_window()
        else:
            own.window_limit = own.next_outgoing_id
            own.window_known = own.window_limit
        half.put(channel, session)
        return session, answers

    def _answered(self, side: int, channel: int, remote_channel: int) -> SessionModel:
        session = self.halves[1 - side].channels.get(remote_channel)
        if session is None and self.halves[side].assumed:
            # What it answers wasn't seen, but is told: the other side's frames on that channel are of this session.
            session = self._assume_session(1 - side, remote_channel)
        if session is None or session.halves[side].state is not states.Session.UNMAPPED:
            text = f"begin answers channel {remote_channel}, where no session waits for an answer"
            raise Violation(
                conditions.INVALID_FIELD, text, rule="transport/session/remote-channel-answer", channel=channel
            )
        return session

    def end(self, side: int, channel: int, _: End | None = None) -> tuple[SessionModel, bool]:
        """A side leaves a session (part 2 section 2.5.2); whether the other one already had."""
        session = self.session(side, channel, "end")
        half = session.halves[side]
        half.state = states.SESSION[half.state][states.SessionInput.END]
        self.halves[side].leave(channel)
        other = session.halves[1 - side]
        if other.state is states.Session.UNMAPPED and session.initiator is not None:
            # Its begin is still to come, and will name this channel.
            return session, False
        del self.halves[side].channels[channel]
        if other.state is not states.Session.ENDED:
            return session, False
        channels = self.halves[1 - side].channels
        if channels.get(other.channel) is session:
            del channels[other.channel]
        return session, True

    def flow(self, side: int, channel: int, frame: Flow) -> tuple[SessionModel, LinkModel | None]:
        """The state of a session, and of one link when a handle is named (part 2 sections 2.5.6 and 2.7.4)."""
        session = self.session(side, channel, "flow")
        own, other = session.halves[side], session.halves[1 - side]
        of_link = (frame.delivery_count, frame.link_credit, frame.available) != _NOTHING or frame.drain
        wrong = ""
        if frame.next_incoming_id is None:
            # The side that answers a begin has received it.
            if session.initiator == 1 - side:
                wrong = "next-incoming-id is missing"
        elif other.begin is None and session.initiator is not None:
            wrong = "next-incoming-id before the other side's begin"
        rule = "transport/flow/next-incoming-id"
        if not wrong and frame.handle is None and of_link:
            wrong, rule = "fields of a link without a handle", "transport/flow/no-handle"
        if wrong:
            raise session.error(side, conditions.INVALID_FIELD, f"flow on channel {channel}: {wrong}", rule)
        own.renumber(frame.next_outgoing_id)
        _open_window(other, frame)
        if frame.handle is None:
            return session, None
        return session, session.step_link_flow(side, frame.handle, frame)

    # Links and deliveries; the rules are in link_state.

    def attach(self, side: int, channel: int, frame: Attach) -> tuple[LinkModel, bool]:
        """A side attaches a link; whether the other one already had."""
        return self.session(side, channel, "attach").step_attach(side, frame)

    def detach(self, side: int, channel: int, frame: Detach) -> tuple[LinkModel, bool]:
        """A side detaches a link; whether the other one already had."""
        return self.session(side, channel, "detach").step_detach(side, frame)

    def transfer(self, side: int, channel: int, frame: Transfer, size: int) -> DeliveryModel:
        """A side sends (more of) a delivery with `size` octets of payload."""
        half = self.halves[side]
        session = half.channels.get(channel)
        if session is None or half.state is not states.Connection.OPEN or session.halves[side].state is not MAPPED:
            session = self.session(side, channel, "transfer")
        return session.step_transfer(side, frame, size)

    def try_transfer(self, side: int, channel: int, frame: Transfer, size: int) -> DeliveryModel:
        """As `transfer`, for one that isn't sent when it breaks a rule, so that it doesn't count."""
        return self.session(side, channel, "transfer").try_transfer(side, frame, size)

    def disposition(self, side: int, channel: int, frame: Disposition) -> tuple[SessionModel, list[DeliveryModel]]:
        """A side tells the state of deliveries; those of them that weren't settled."""
        session = self.session(side, channel, "disposition")
        return session, session.step_disposition(side, frame)


MOST_LEFT: Final = 256
"""Channels of a side whose ended sessions are remembered."""
_NOTHING: Final = (None, None, None)
_SIDES: Final = ("the client", "the server")


def _open_window(half: SessionHalf, frame: Flow) -> None:
    """The other side has said how far `half` may send (part 2 section 2.5.6)."""
    start = frame.next_incoming_id
    if start is None:
        start = half.initial_outgoing_id
    limit = bound(start, frame.incoming_window)
    half.window_limit = limit
    half.window_known = limit if half.window_known is None else later(half.window_known, limit)


_STEPS: Final[dict[type[Performative], Callable[..., object]]] = {
    Open: ConnectionModel.open,
    Begin: ConnectionModel.begin,
    Attach: ConnectionModel.attach,
    Flow: ConnectionModel.flow,
    Disposition: ConnectionModel.disposition,
    Detach: ConnectionModel.detach,
    End: ConnectionModel.end,
    Close: ConnectionModel.close,
}
SASL_FRAMES: Final[dict[type[SaslFrame], tuple[int, states.SaslInput]]] = {
    SaslMechanisms: (SERVER, states.SaslInput.MECHANISMS),
    SaslInit: (CLIENT, states.SaslInput.INIT),
    SaslChallenge: (SERVER, states.SaslInput.CHALLENGE),
    SaslResponse: (CLIENT, states.SaslInput.RESPONSE),
    SaslOutcome: (SERVER, states.SaslInput.OUTCOME),
}
"""The only side that may send each SASL frame, and the input that it is (part 5 section 5.3.2)."""
