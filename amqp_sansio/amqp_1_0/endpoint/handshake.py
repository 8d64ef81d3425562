"""Handshake: how a connection of AMQP 1.0 opens and closes: headers, TLS, SASL, open, idle time-outs, close (1.0 part 2
sections 2.2 and 2.4, part 5).

Owned here: the layers, one behind the other, and what both opens say. `_stage` is what is read next: each layer begins
with a header, TLS hands the stream to the caller and begins anew, SASL ends with its outcome. What may come in a layer
is the model's.

Between two calls these hold: no frame above `_incoming_max` is taken and none above `_max_frame` sent; sessions and
links get frames from FRAMES on, when both opens are known; while the application is asked something nothing is parsed.
"""

from __future__ import annotations

from math import ceil

from ... import sasl
from ..._checking import TYPE_CHECKING
from ..._core.connection import DEAD_PEER, PRODUCT, header_numbers
from ..._core.sasl_exchange import AUTHENTICATION, SaslExchange, ServerLogin
from ..._ground.state_table import TableEnum
from ...endpoint import CloseHint, Role, Side
from ...errors import CodecError, LimitExceeded, LocalProtocolError, RemoteProtocolError, Scope
from ...events import By, CloseReport, Failed, Info, OpenRequested
from ..codec import conditions
from ..codec.composite import encode_whole, with_rest
from ..codec.conditions import SaslCode
from ..codec.frames import (
    AMQP,
    AMQP_HEADER,
    EMPTY_FRAME,
    HEADER_SIZE,
    MIN_MAX_FRAME_SIZE,
    SASL,
    SASL_HEADER,
    TLS_HEADER,
    amqp_frame,
    next_frame,
    sasl_frame,
)
from ..codec.odd import OddRecord
from ..codec.performatives import (
    Close,
    Error,
    Open,
    SaslChallenge,
    SaslFrame,
    SaslInit,
    SaslMechanisms,
    SaslOutcome,
    SaslResponse,
    decode_frame_body,
)
from ..codec.values import Symbol
from ..codec.violation import LateViolation, Violation, misuse
from ..model import hints, states
from ..model.harm import decoded
from ..model.link_state import SessionViolation, number_of
from .config import Config, offered_mechanisms, own_channel_max, own_max_frame_size, writes_whole_lists
from .events import TlsStarted
from .outgoing import make_error, shorten

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any, ClassVar, Final

    from ...sasl import ScramKeys
    from ..codec.composite import Composite
    from ..codec.performatives import Performative
    from ..codec.types import AmqpMap
    from ..model.connection import ConnectionModel, Half

OPEN: Final = "open"
TLS: Final = "TLS"
DEFAULT_LOCALE: Final = "en-US"

_PRODUCT: Final[Mapping[str, str]] = {name: PRODUCT[name] for name in ("product", "version", "platform")}
_BEARER: Final = ("OAUTHBEARER", "XOAUTH2")

_PERFORMATIVE: Final = "transport/frame/performative"
_TOO_LONG: Final = ("1.0/transport/open/max-frame-size", "1.0/transport/error/frame-size-too-small")
"""The rules by which what this end has to say needs longer frames than the peer takes."""


class Stage(TableEnum):
    """The part of the stream that an endpoint reads next; the rules of what may come are the tables' in `states`."""

    FIRST = "the peer's first header"
    SASL = "SASL frames"
    HEADER = "the header behind the SASL layer"
    OPENING = "the peer's open"
    FRAMES = "frames"
    CLOSING = "the peer's close"
    ENDED = "nothing"


class Handshake(SaslExchange[Config]):
    """The opening and the close of a connection, client and server, with its layers and its idle time-outs."""

    _CONFIG = Config

    __slots__ = (
        "_half",
        "_incoming_max",
        "_max_frame",
        "_model",
        "_sasl_hostname",
        "_side",
        "_stage",
        "_tls",
        "own_open",
        "peer_close",
        "peer_open",
    )

    def __init__(self, role: Role, config: Config) -> None:
        super().__init__(role, config)
        # The open that this end has sent; None before.
        self.own_open: Open | None = None
        # The peer's: what it takes (frame size, channels, idle time-out) and is.
        self.peer_open: Open | None = None
        # The peer's close, whose error the report has.
        self.peer_close: Close | None = None
        # This end's index into the model's halves.
        self._side = number_of(role)
        # Rules and state of both ends.
        self._model = self._new_model()
        # This end's half of the connection (part 2 section 2.4.6).
        self._half: Half = self._model.halves[self._side]
        # Which octets are read next; the model has the rules of what may come.
        self._stage = Stage.FIRST
        # The host that the client names in sasl-init, which stands for that of its open until that comes.
        self._sasl_hostname: str | None = None
        # The largest frame that the peer takes, in octets with its header: 512 until its open says more (part 2 section
        # 2.4.1).
        self._max_frame = config.initial_frame_size
        # The largest that this end takes: what it said in its own open, and before that what is allowed to come first.
        self._incoming_max = config.initial_frame_size
        # Seconds of silence after which the peer is given up: this end's idle-time-out (part 2 section 2.4.5).
        self._silence_after = config.idle_time_out
        # Whether the layer of TLS is in place, as far as this end was told.
        self._tls = False
        if role is Side.CLIENT:
            self._incoming_max = own_max_frame_size(config)

    def _new_model(self) -> ConnectionModel:
        """Make the model of the connection."""
        raise NotImplementedError

    # State.

    @property
    def state(self) -> str:
        """The connection's state by its name in 1.0 part 2 section 2.4.6, such as "OPENED"."""
        if self._stage is Stage.ENDED:
            return "END"
        name = states.connection_state(self._half.state, self._model.halves[1 - self._side].state)
        later = self._report_later
        failed = later is not None and later.by is By.LOCAL and later.condition
        return "DISCARDING" if name == "CLOSE_SENT" and failed else name

    @property
    def hostname(self) -> str | None:
        """The host, or virtual host, that the client wants: as its open says, before that as its sasl-init does."""
        if self.role is Side.CLIENT:
            return self.config.hostname
        return self._sasl_hostname if self.peer_open is None else self.peer_open.hostname

    @property
    def max_frame_size(self) -> int:
        """The largest frame in octets that the peer takes."""
        return self._max_frame

    @property
    def channel_max(self) -> int:
        """The highest channel number that this end may use: the peer's word, within `Limits.channels`."""
        peer = 0 if self.peer_open is None else self.peer_open.channel_max
        return min(peer, own_channel_max(self.config))

    @property
    def outgoing_locale(self) -> str:
        """The locale in which the peer wants this end's texts, of those configured (1.0 part 2 section 2.7.1)."""
        wanted = () if self.peer_open is None else self.peer_open.incoming_locales
        return chosen_locale(wanted, self.config.outgoing_locales)

    @property
    def incoming_locale(self) -> str:
        """The locale of the texts that the peer sends."""
        supported = () if self.peer_open is None else self.peer_open.outgoing_locales
        return chosen_locale(self.config.incoming_locales, supported)

    # Commands.

    def close(self, condition: str = "", description: str = "", info: AmqpMap | None = None) -> None:
        """Close the connection with a handshake; `Closed` is its last event. A second call does nothing.

        `condition` is an error condition ("amqp:connection:forced") or "" for a normal close. Before the headers are
        exchanged the socket is closed without a word.
        """
        if self._is_closing:
            return
        error = make_error(condition, description, info)
        report = CloseReport(
            By.LOCAL, 0, description, condition=condition, info=Info() if error is None else hints.info_of(error)
        )
        if self._may_close:
            self._send_close(report, error)
        else:
            self._end(report, CloseHint.CLOSE_NOW)

    def tls_octets(self) -> bytes:
        """Return, once, the octets behind the TLS header, after `TlsStarted`: the beginning of the TLS records.

        Raises LocalProtocolError when no TLS layer is waiting.
        """
        self._check_tls()
        return self._buffer.take_all()

    def tls_established(self) -> None:
        """The TLS handshake that `TlsStarted` asked for is over. Raises LocalProtocolError."""
        self._check_tls()
        if len(self._buffer):
            raise LocalProtocolError(
                f"{len(self._buffer)} octets came behind the TLS header and aren't AMQP; "
                "take them with tls_octets() and give them to TLS",
                rule="1.0/security/tls/inner-header",
            )
        # Both peers begin anew with headers, now in the tunnel.
        self._tls = True
        self._waiting_for = None
        self._stage = Stage.FIRST
        if self.role is Side.CLIENT:
            self._begin()

    def accept_authentication(self) -> None:
        """Server: let the client in, answering `AuthenticationRequested`."""
        self._check_decision(AUTHENTICATION)
        assert self._server_login is not None
        try:
            self._send_sasl(SaslOutcome(SaslCode.OK, self._server_login.additional or None))
        except Violation as violation:
            raise misuse(violation) from violation
        self._waiting_for = None
        self._server_login = None
        self._begin_layer()

    def refuse_authentication(self, text: str = "", code: int = SaslCode.AUTH) -> None:
        """Server: turn the client away, answering `AuthenticationRequested`.

        `code` is that of sasl-outcome: 1 for the credentials, 2 to 4 for a failure of the server (1.0 part 5 section
        5.3.3.6). `text` is only for the report: the client doesn't get it.
        """
        self._check_decision(AUTHENTICATION)
        if code not in hints.OUTCOMES:
            raise LocalProtocolError(
                f"{code} isn't a code of sasl-outcome that refuses: {', '.join(map(str, hints.OUTCOMES))}",
                rule="1.0/security/sasl/outcome-codes",
            )
        self._refuse_login(text or "the login was refused", code)

    def provide_scram_keys(self, keys: ScramKeys | None) -> None:
        """Server: answer `ScramKeysRequested`; None refuses the user, without telling it from a wrong password."""
        try:
            super().provide_scram_keys(keys)
        except Violation as violation:
            self._fail(violation)

    def accept_open(self, **changes: object) -> None:
        """Server: answer `OpenRequested` with this end's open; `changes` are fields of it, as `properties`.

        Raises LocalProtocolError, CodecError, TypeError, with the question still open.
        """
        self._check_decision(OPEN)
        open_ = make_open(self.config, changes)
        if open_.max_frame_size < MIN_MAX_FRAME_SIZE:
            text = f"max-frame-size {open_.max_frame_size}, every peer takes {MIN_MAX_FRAME_SIZE}"
            raise LocalProtocolError(text, rule="1.0/transport/open/max-frame-size-min")
        if open_.max_frame_size > self.config.limits.unparsed:
            raise LocalProtocolError(
                f"max-frame-size {open_.max_frame_size}, Limits.unparsed is {self.config.limits.unparsed}"
            )
        try:
            self._send_open(open_)
        except Violation as violation:
            raise misuse(violation) from violation
        self._incoming_max = open_.max_frame_size
        self._waiting_for = None
        self._become_open()

    def refuse_open(self, condition: str = "amqp:not-allowed", text: str = "", info: AmqpMap | None = None) -> None:
        """Server: answer `OpenRequested` with a close: "amqp:not-found" for an unknown host,
        "amqp:connection:redirect" with an `info` that names another one (1.0 part 2 section 2.8.16)."""
        error = make_error(condition, text, info)
        if error is None:
            raise LocalProtocolError("refuse_open needs an error condition")
        self._check_decision(OPEN)
        self._waiting_for = None
        condition, said = str(error.condition), hints.info_of(error)
        self._send_close(CloseReport(By.LOCAL, 0, error.description or "", condition=condition, info=said), error)

    # Headers.

    def _begin(self) -> None:
        """A client begins at once (part 2 section 2.2); without TLS and SASL its open goes with the header."""
        if self._may_want_tls:
            self._out.append(TLS_HEADER)
        elif self.config.sasl is not None:
            self._out.append(SASL_HEADER)
        else:
            self._begin_layer()
            self._stage = Stage.FIRST

    def _begin_layer(self) -> None:
        """The AMQP layer begins. A client needn't wait for the server's header and open (part 2 section 2.4.2)."""
        self._stage = Stage.HEADER
        if self.role is Side.CLIENT:
            self._send_header()
            self._send_open(make_open(self.config, {}))

    def _send_header(self) -> None:
        self._model.step_header(self._side)
        self._out.append(AMQP_HEADER)

    def _receive_header(self) -> bool:
        """Take the peer's protocol header; False while octets are missing.

        A server answers with the same, or with one that would do, and closes (part 2 section 2.2); a client reads its
        own, or a no.
        """
        header = self._peek_header()
        if header is None:
            return False
        server = self.role is Side.SERVER
        wanted = self._wanted()
        if header not in wanted:
            if server:
                # The version is the only one there is; of the protocol ids the one asked for, where it would do.
                same_id = [each for each in wanted if each[:5] == header[:5]]
                self._out.append(same_id[0] if same_id else wanted[0])
            self._differs(header, By.LOCAL if server else By.REMOTE)
            return True
        self._buffer.pos += HEADER_SIZE
        if header == TLS_HEADER:
            # From here on the octets are the adapter's.
            if server:
                self._out.append(TLS_HEADER)
            self._ask(TLS, TlsStarted())
        elif header == SASL_HEADER:
            self._stage = Stage.SASL
            if server:
                self._out.append(SASL_HEADER)
                self._send_sasl(SaslMechanisms(offered_mechanisms(self.config)))
        else:
            self._model.step_header(1 - self._side)
            if server:
                self._send_header()
            if self._stage is not Stage.CLOSING:
                self._stage = Stage.OPENING
        return True

    @property
    def _may_want_tls(self) -> bool:
        """Whether TLS is still to come before any other layer, or may come."""
        return self.config.tls and not self._tls

    def _wanted(self) -> tuple[bytes, ...]:
        """The headers that are accepted here; the first is the one to offer."""
        if self._stage in (Stage.HEADER, Stage.CLOSING):
            return (AMQP_HEADER,)
        if self.role is Side.SERVER:
            return accepted_headers(self.config, self._may_want_tls)
        if self._may_want_tls:
            return (TLS_HEADER,)
        return (AMQP_HEADER,) if self.config.sasl is None else (SASL_HEADER,)

    def _differs(self, header: bytes, by: By) -> None:
        """The headers differ: this side ends its stream, and its adapter reads on until the peer has."""
        if self._report_later is not None:
            self._end(self._report_later, CloseHint.CLOSE_WHEN_SENT)
            return
        whole = len(header) == HEADER_SIZE
        hint = hints.of_first_octets(header)
        rule = "transport/version/unsupported" if whole else "transport/version/unparsable"
        if whole and header[5:] == AMQP_HEADER[5:]:
            rule = "transport/version/protocol-id"
        if by is By.LOCAL:
            text = f"protocol header {header!r} where {header_numbers(self._wanted()[0])} is spoken"
            if self._may_want_tls and self.config.tls_required:
                hint = "the client began without TLS, which this server requires"
            elif header == AMQP_HEADER:
                hint = "the client began without SASL, which this server requires"
        elif whole:
            asked = header_numbers(self._wanted()[0])
            text = f"the server {hints.speaks(header)}: it answers {asked} with {header_numbers(header)}"
            hint = hints.for_server_header(header)
        else:
            by = By.LOCAL
            text = f"what the server sent is no protocol header: {header!r}"
            text = f"{text}; {hint}" if hint else text
        error = RemoteProtocolError(text, offset=self._unit_offset, rule=f"1.0/{rule}")
        self._end_with(error, CloseReport(by, 0, text, hint=hint, rule=error.rule), CloseHint.CLOSE_WHEN_SENT)

    # TLS (part 5 section 5.2).

    def _check_tls(self) -> None:
        if self._waiting_for != TLS or self._lost:
            raise LocalProtocolError("no TLS layer is waiting to be established; TlsStarted says when one is")

    # Open.

    def _octets(self, body: Composite) -> bytes:
        """The body of a frame, as this end writes them. Raises CodecError."""
        whole = writes_whole_lists(self.config, server=self.role is Side.SERVER)
        return encode_whole(body) if whole else body.encode()

    def _send_open(self, open_: Open) -> None:
        """Queue this end's open. Raises LocalProtocolError for one that can't be sent, with nothing changed."""
        octets = amqp_frame(0, self._octets(open_))
        most = self._max_frame
        if len(octets) > most:
            rule = "connection/pre-open-limits" if self.peer_open is None else "open/max-frame-size"
            raise LocalProtocolError(
                f"open takes a frame of {len(octets)} octets, {most} are allowed; "
                "make properties and capabilities shorter",
                rule=f"1.0/transport/{rule}",
            )
        self._model.step(self._side, 0, open_)
        self.own_open = open_
        self._out.queue(octets)

    def _take_frames_of(self, size: int) -> None:
        """The peer takes frames of `size` octets from now on."""
        self._max_frame = size

    def _receive_open(self, open_: Open) -> None:
        """The peer's open is there and fits. Raises Violation."""
        self.peer_open = open_
        self._take_frames_of(max(open_.max_frame_size, MIN_MAX_FRAME_SIZE))
        self._check_peer(open_)
        self._stage = Stage.FRAMES
        self._send_within = (open_.idle_time_out or 0) / 1000
        if self.role is Side.SERVER:
            self._ask(OPEN, OpenRequested(open_.hostname or ""))
        else:
            self._become_open()

    def _check_peer(self, open_: Open) -> None:
        """Turn away a peer whose limits or capabilities won't do. Raises Violation."""
        config = self.config
        idle = open_.idle_time_out or 0
        if 0 < idle < config.least_idle_time_out * 1000:
            text = f"idle-time-out {idle} ms is too short, {ceil(config.least_idle_time_out * 1000)} ms is the least"
            raise Violation(conditions.NOT_ALLOWED, text, rule="transport/connection/idle-unsupported")
        missing = [name for name in config.required_capabilities if name not in open_.offered_capabilities]
        if missing:
            text = f"the peer doesn't offer {', '.join(missing)}"
            raise Violation(conditions.NOT_IMPLEMENTED, text, rule="transport/open/offered-missing")

    # The SASL layer (part 5 section 5.3).

    def _receive_sasl(self) -> bool:
        """Take one SASL frame; False while octets are missing. Raises Violation, CodecError."""
        frame = next_frame(self._buffer, SASL, self.config.initial_frame_size)
        if frame is None:
            return False
        _, data, start, end = frame
        if start == end:
            raise Violation(conditions.FRAMING_ERROR, "an empty SASL frame", rule="security/sasl/frame-empty")
        body: Any
        try:
            body, at = decode_frame_body(data, start, end)
        except OddRecord as odd:
            body, at = decoded(odd, strict=self.config.strict)
        if not isinstance(body, SaslFrame) or at != end:
            text = f"a SASL frame holds one SASL value, this one {with_rest(body, end - at)}"
            raise Violation(conditions.DECODE_ERROR, text, rule="security/sasl/frame-one")
        self._model.step_sasl(1 - self._side, body)
        try:
            self._STEPS[type(body)](self, body)
        except sasl.SaslError as error:
            # Nothing in this layer says so to the server but the closed stream.
            self._login_failed(error, CloseHint.CLOSE_WHEN_SENT)
        return True

    def _send_sasl(self, body: SaslFrame) -> None:
        """Raises Violation for what the peer need not take."""
        octets = self._octets(body)
        most = self.config.initial_frame_size
        if len(octets) + HEADER_SIZE > most:
            text = (
                f"{body.NAME} takes a frame of {len(octets) + HEADER_SIZE} octets, {most} are allowed; "
                "Config.initial_frame_size is for peers that take more"
            )
            raise Violation(conditions.RESOURCE_LIMIT_EXCEEDED, text, rule="security/sasl/frame-max")
        self._model.step_sasl(self._side, body)
        self._out.queue(sasl_frame(octets))

    def _mechanisms(self, offered: SaslMechanisms) -> None:
        response = self._begin_login(offered.sasl_server_mechanisms)
        self._send_sasl(SaslInit(Symbol(self.mechanism), response, self.config.hostname))

    def _challenge(self, challenge: SaslChallenge) -> None:
        self._send_sasl(SaslResponse(self._answer_challenge(challenge.challenge)))

    def _too_many_challenges(self, text: str) -> Exception:
        return Violation(conditions.RESOURCE_LIMIT_EXCEEDED, text, rule="security/sasl/steps")

    def _outcome(self, outcome: SaslOutcome) -> None:
        if outcome.code != SaslCode.OK:
            self._refused(outcome.code)
            return
        self._complete_login(outcome.additional_data or b"")
        self._begin_layer()

    def _refused(self, code: int) -> None:
        """The server says no; a bearer mechanism may have heard why before."""
        reason = ""
        try:
            self._complete_login()
        except sasl.SaslError as heard:
            if self.mechanism in _BEARER:
                reason = f"; {heard}"
        said = hints.OUTCOMES.get(code, "a code the specification lacks")
        text = f"the server refused the login, sasl-outcome {code} ({said}){reason}"
        denied = code == SaslCode.AUTH
        condition = conditions.UNAUTHORIZED_ACCESS if denied else conditions.INTERNAL_ERROR
        hint = "wrong user, password or token, or the mechanism isn't allowed to this user" if denied else ""
        report = CloseReport(By.REMOTE, code, text, hint=hint, condition=condition)
        self._end_with(RemoteProtocolError(text, condition=condition), report, CloseHint.CLOSE_WHEN_SENT)

    def _init(self, init: SaslInit) -> None:
        name = str(init.mechanism)
        self.mechanism = name
        self._sasl_hostname = init.hostname
        offered = offered_mechanisms(self.config)
        if name not in offered:
            # The close code that the specification names here is defined nowhere; the outcome says it.
            text = f"mechanism {name!r} was not offered ({', '.join(offered)})"
            self._deny(text, "security/sasl/mechanism-unsupported")
            return
        self._start_login(name, init.initial_response, success_data=True)

    def _response(self, response: SaslResponse) -> None:
        self._continue_login(response.response)

    def _send_challenge(self, login: ServerLogin, data: bytes) -> None:
        if login.rounds >= self.config.limits.sasl_rounds:
            self._deny(f"{login.rounds} challenges, Limits.sasl_rounds allows no more")
        else:
            self._send_sasl(SaslChallenge(data))

    def _deny(self, text: str, rule: str | None = None) -> None:
        """The core itself refuses the client."""
        error = RemoteProtocolError(
            text,
            offset=self._unit_offset,
            rule=f"1.0/{rule}" if rule else None,
            condition=conditions.UNAUTHORIZED_ACCESS,
        )
        self._events.append(Failed(Scope.CONNECTION, 0, error, By.LOCAL))
        self._refuse_login(text, SaslCode.AUTH)

    def _refuse_login(self, text: str, code: int) -> None:
        """Send the outcome, then close: a layer that ends takes the transport with it (part 5 section 5.1)."""
        self._waiting_for = None
        self._send_sasl(SaslOutcome(code))
        condition = conditions.UNAUTHORIZED_ACCESS if code == SaslCode.AUTH else conditions.INTERNAL_ERROR
        self._end(CloseReport(By.LOCAL, code, text, condition=condition), CloseHint.CLOSE_WHEN_SENT)

    _STEPS: ClassVar[Mapping[type[SaslFrame], Callable[..., None]]] = {
        SaslMechanisms: _mechanisms,
        SaslInit: _init,
        SaslChallenge: _challenge,
        SaslResponse: _response,
        SaslOutcome: _outcome,
    }

    # Idle time-outs (part 2 section 2.4.5).

    def _progress(self) -> str:
        return self.state

    def _next_step(self) -> str:
        wanted = self._stage.value if self._waiting_for is None else f"an answer: {self._waiting_for}"
        return f"next should come {wanted}"

    def _cause_of_hangup(self) -> str:
        return hints.of_stage(self._stage.name, self.mechanism)

    def _send_deadline(self) -> float | None:
        return super()._send_deadline() if self._half.state is states.Connection.OPEN else None

    def _silence_deadline(self) -> float | None:
        return super()._silence_deadline() if self.is_open else None

    def _keep_alive(self, now: float) -> None:
        """Send an empty frame, or close when it comes too late: the peer bears twice what it announced."""
        late = 2 * self._send_within
        silent = now - (self._last_sent or 0.0)
        if silent > late:
            text = f"this end sent nothing for {silent:g} seconds, the peer bears {late:g}"
            report = CloseReport(By.LOCAL, 0, text, condition=conditions.RESOURCE_LIMIT_EXCEEDED)
            self._send_close(report, make_error(conditions.RESOURCE_LIMIT_EXCEEDED, text))
            self._end_parts(report)
            return
        self._model.step_empty(self._side)
        self._out.append(EMPTY_FRAME)

    def _give_up_on_silence(self, now: float) -> None:
        """Close with an error, and wait as long again for the peer's close."""
        text = f"nothing arrived for {self._silence_after:g} seconds"
        rule = "transport/connection/idle-close"
        self._fail_connection(Violation(conditions.RESOURCE_LIMIT_EXCEEDED, text, rule=rule), DEAD_PEER)
        self._timers.set("close", now + self._silence_after)

    # Closing.

    def _fail_part(self, violation: SessionViolation) -> None:
        """The peer broke a rule of a link or session: end that one, and tell it why. Raises LocalProtocolError when
        this doesn't fit."""
        raise NotImplementedError

    def _forget(self) -> None:
        self._stage = Stage.ENDED
        self._client_login = None
        self._server_login = None

    @property
    def _may_close(self) -> bool:
        """Whether this side's header is out, so that a close can follow it."""
        return self._half.state is not states.Connection.START

    def _send_close(self, report: CloseReport, error: Error | None) -> None:
        """Queue close, behind an open when there was none; what the peer still sends is dropped until its close."""
        close = Close(error)
        octets = self._octets(close)
        if self._half.state is states.Connection.HEADER:
            self._send_own_open()
        if len(octets) + 8 > self._max_frame and error is not None:
            close = Close(Error(error.condition, shorten(error.description or "")))
            octets = self._octets(close)
        self._model.step(self._side, 0, close)
        self._out.queue(amqp_frame(0, octets))
        self._stage = Stage.CLOSING
        self._await_close(report)

    def _send_own_open(self) -> None:
        """An open has to come before a close, the shortest one where the configured one doesn't fit."""
        try:
            self._send_open(make_open(self.config, {}))
        except LocalProtocolError:
            self._send_open(Open(shorten(self.config.container_id)))

    def _receive_closing(self) -> bool:
        """Behind this side's close: take a frame of which only open and close still count; False while octets are
        missing. Raises Violation."""
        half = self._model.halves[1 - self._side]
        if half.state is states.Connection.START:
            return self._receive_header()
        frame = next_frame(self._buffer, AMQP, self._incoming_max)
        if frame is None:
            return False
        channel, data, start, end = frame
        if start == end:
            return True
        body: object
        try:
            body, _ = decode_frame_body(data, start, end)
        except OddRecord as odd:
            body = odd.record
        if isinstance(body, Close):
            # A close counts on any channel, and even if the open before it was refused: no better one comes.
            self._peer_closes(body)
        elif isinstance(body, Open):
            self._model.step(1 - self._side, channel, body)
            self.peer_open = body
        return True

    def _peer_closes(self, close: Close) -> None:
        """The peer closed: answer if this side hasn't closed too, and tell what that ends."""
        self.peer_close = close
        own = self._report_later
        report = _merged(own, close.error)
        if own is None:
            self._send_close(report, None)
        if report.by is By.REMOTE and report.condition:
            error = RemoteProtocolError(str(report), condition=report.condition, info=report.info)
            self._end_with(error, report, CloseHint.CLOSE_WHEN_SENT)
        else:
            self._end(report, CloseHint.CLOSE_WHEN_SENT)

    def _fail(self, error: Violation | CodecError | LocalProtocolError) -> None:
        """The peer broke a rule, or stopped the reading of a frame in another way: queue the reply that the
        specification demands and the event that says so."""
        if isinstance(error, LateViolation):
            # Section 2.5.5 has no answer to it: its session is gone, and the others have nothing to do with it.
            return
        violation = _violation_of(error)
        if not isinstance(violation, SessionViolation) or self._stage is Stage.CLOSING:
            self._fail_connection(violation)
            return
        try:
            self._fail_part(violation)
        except LocalProtocolError as misfit:
            # The answer doesn't fit; without it the peer would go on with what has ended here.
            self._fail_connection(_violation_of(misfit))

    def _fail_connection(self, violation: Violation, hint: str = "") -> None:
        if self._stage is Stage.CLOSING:
            # It is closing anyway; the frame at fault is out of the way, so the peer's close may still be found.
            return
        closable = self._may_close
        text = str(violation)
        error = violation.error(self._unit_offset)
        error.condition = violation.condition if closable else ""
        hint = hint or hints.of_first_octets(self.first_octets(hints.LOOKED_AT))
        report = CloseReport(By.LOCAL, 0, text, hint=hint, rule=error.rule, condition=error.condition)
        self._events.append(Failed(Scope.CONNECTION, 0, error, By.LOCAL))
        if closable:
            self._send_close(report, make_error(violation.condition, shorten(text)))
            # The peer's close is waited for; nothing that it says changes the report, or answers a call.
            self._end_parts(report)
            return
        if self.role is Side.SERVER and self._stage is Stage.FIRST:
            self._out.append(AMQP_HEADER)
        self._end(report, CloseHint.CLOSE_WHEN_SENT)


def _merged(own: CloseReport | None, error: Error | None) -> CloseReport:
    """The report of a peer's close, or when both sides closed, the one that tells of an error."""
    if own is not None and (own.condition or error is None):
        return own
    if error is None:
        return CloseReport(By.REMOTE)
    condition, info = str(error.condition), hints.info_of(error)
    hint = hints.for_close(condition, info)
    return CloseReport(By.REMOTE, 0, error.description or "", hint=hint, condition=condition, info=info)


def _violation_of(error: Violation | CodecError | LocalProtocolError) -> Violation:
    """The violation behind whatever stopped the reading of a frame."""
    if isinstance(error, Violation):
        return error
    if isinstance(error, CodecError):
        # Octets that can't be decoded.
        rule = (error.rule or _PERFORMATIVE).removeprefix("1.0/")
        return Violation(error.condition or conditions.DECODE_ERROR, str(error), rule=rule)
    # This end's own answer doesn't fit: its peer doesn't read, or takes too small frames.
    rule = (error.rule or "transport/error/internal").removeprefix("1.0/")
    condition = conditions.FRAME_SIZE_TOO_SMALL if error.rule in _TOO_LONG else conditions.INTERNAL_ERROR
    if isinstance(error, LimitExceeded):
        condition = conditions.RESOURCE_LIMIT_EXCEEDED
    return Violation(condition, str(error), rule=rule)


def misplaced(body: Performative | SaslFrame, octets: int) -> Violation:
    """A frame's body that isn't one: only performatives are, and only a transfer has a payload."""
    text = with_rest(body, octets) if octets else f"{body.NAME} in an AMQP frame"
    return Violation(conditions.FRAMING_ERROR, text, rule=_PERFORMATIVE)


def accepted_headers(config: Config, tls: bool) -> tuple[bytes, ...]:
    """The protocol headers that a server takes, the first one it offers; `tls`: that of TLS may still come."""
    also = (TLS_HEADER,) if tls else ()
    if tls and config.tls_required:
        return also
    if not config.mechanisms:
        return (AMQP_HEADER, SASL_HEADER, *also)
    return (SASL_HEADER, *also) if config.sasl_required else (SASL_HEADER, AMQP_HEADER, *also)


def make_open(config: Config, changes: Mapping[str, Any]) -> Open:
    """The open of this end. Raises TypeError for changes that are no fields of open."""
    values: dict[str, Any] = {
        "container_id": config.container_id,
        "hostname": config.hostname,
        "max_frame_size": own_max_frame_size(config),
        "channel_max": own_channel_max(config),
        # A real threshold is twice what is announced (part 2 section 2.4.5).
        "idle_time_out": ceil(config.idle_time_out * 500) or None,
        "outgoing_locales": config.outgoing_locales,
        "incoming_locales": config.incoming_locales,
        "offered_capabilities": config.offered_capabilities,
        "desired_capabilities": config.desired_capabilities,
        "properties": {Symbol(name): value for name, value in {**_PRODUCT, **config.properties}.items()},
    }
    values.update(changes)
    return Open(**values)


def chosen_locale(wanted: tuple[str, ...], supported: tuple[str, ...]) -> str:
    """The locale of informational text: the first wanted one that is there, else en-US (part 2 section 2.7.1).

    >>> chosen_locale(("de-DE", "fr-FR"), ("en-US", "fr-FR"))
    'fr-FR'
    """
    return next((name for name in wanted if name in supported), DEFAULT_LOCALE)
