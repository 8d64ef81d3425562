"""Handshake: how a connection of AMQP 0-10 opens and closes: headers, start, secure, tune, open, close (class 1,
part 1 section 4.3).

Owned here: the state of the connection, what tune-ok has agreed on, and the questions to the application. Both sides'
controls step one table, CONNECTION, so what comes out of order is refused before it is read.

A server waits for the application twice, for the login and for the virtual host; until then nothing more is parsed.
Frames have at most 4096 octets until tune-ok agrees on more.
"""

from __future__ import annotations

from ... import sasl
from ..._checking import TYPE_CHECKING
from ..._core.connection import PRODUCT, header_numbers
from ..._core.sasl_exchange import AUTHENTICATION, SaslExchange, ServerLogin
from ..._core.violation import refuse
from ...endpoint import CloseHint, Role, Side
from ...errors import CodecError, LimitExceeded, LocalProtocolError, RemoteProtocolError, Scope
from ...events import By, CloseReport, Failed, Info, OpenRequested
from ..codec import frames, records
from ..codec.dialect import missing
from ..codec.types import Map
from ..codec.values import Typed
from ..codec.violation import CLOSE_CODES, CONNECTION_FORCED, FRAMING_ERROR, INVALID_PATH, NORMAL, SILENT, Violation
from ..model import hints
from ..model.opening_rules import check_mechanism, check_redirect, check_tune, check_tune_ok
from ..model.states import CONNECTION, ConnectionInput
from ..model.states import Connection as State
from .config import DEFAULT_LOCALE, Config, own_channel_max
from .events import Redirected

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import Any, ClassVar, Final

    from ...sasl import ServerStep
    from ..codec.record import Control

VHOST: Final = "open"
CLOSING: Final = frozenset({State.CLIENT_CLOSING, State.SERVER_CLOSING, State.BOTH_CLOSING, State.END})
"""States in which no new work is accepted."""
_TOO_EARLY: Final = frozenset({State.START, State.HEADER_SENT, State.HEADERS})
"""Before connection.start nothing can be said: the socket is just closed."""
_BEATING: Final = (State.TUNED, State.OPENING, State.OPEN)
_LONGEST_TEXT: Final = 200
INPUTS: Final = {
    (Side.CLIENT if each.value[0] == "C" else Side.SERVER, each.value[2:]): each for each in ConnectionInput
}
"""The inputs of the connection's table by who sends what."""


def name_in_class(control: Control) -> str:
    """The name of a control without that of its class."""
    return control.NAME.partition(".")[2]


class Handshake(SaslExchange[Config]):
    """The opening and the close of a connection, client and server, and its controls on the way out."""

    _CONFIG = Config
    _UNANSWERED = "without the peer's close-ok"

    __slots__ = (
        "_insists",
        "_max_frame",
        "_state",
        "capabilities",
        "channel_max",
        "known_hosts",
        "locale",
        "peer_properties",
        "user",
        "vhost",
    )

    def __init__(self, role: Role, config: Config) -> None:
        super().__init__(role, config)
        # A server's: who has logged in, as the mechanism says; "" before, and for ANONYMOUS.
        self.user = ""
        # The agreed language of texts; the client chooses among the server's.
        self.locale = ""
        # A client's comes from its configuration, a server's from the client's open.
        self.vhost = config.vhost if role is Side.CLIENT else ""
        # A server's: what the client's open asks for.
        self.capabilities: tuple[str, ...] = ()
        # A client's: other hosts of the cluster, as open-ok names them.
        self.known_hosts: tuple[str, ...] = ()
        # What the peer says of itself in start or start-ok, decoded when it is read; None before.
        self.peer_properties: Any = None
        # How many channels there may be; tune-ok may lower it.
        self.channel_max = own_channel_max(config)
        # A row of the table CONNECTION, moved by the controls of both sides.
        self._state = State.START
        # The largest frame that is sent, in octets with its header: 4096 until tune-ok agrees on more (part 1 section
        # 4.3).
        self._max_frame = frames.MIN_MAX_FRAME_SIZE
        # Whether the client asked not to be redirected (connection.open with insist).
        self._insists = False
        if role is Side.CLIENT:
            self._step(role, "header")
            self._out.append(frames.PROTOCOL_HEADER)

    # State.

    @property
    def state(self) -> str:
        """The connection's state, such as "open"; the tables of `states` have them all."""
        return self._state.value

    @property
    def max_frame_size(self) -> int:
        """The agreed largest frame in octets, with its header of 12."""
        return self._max_frame

    @property
    def heartbeat(self) -> float:
        """The agreed heartbeat in seconds; 0: none."""
        return self._send_within

    # Commands.

    def close(self, code: int = NORMAL, text: str = "") -> None:
        """Close the connection with a handshake; `Closed` is its last event. A second call does nothing.

        `code` is 200, 320 (forced by an operator), 402 or 501. Sessions with a timeout can be resumed on another
        connection.
        """
        if self._is_closing:
            return
        report = CloseReport(By.LOCAL, code, text)
        if self._state in _TOO_EARLY:
            self._end(report, CloseHint.CLOSE_NOW)
        else:
            self._send_close(report)

    def accept_authentication(self) -> None:
        """Server: let the client in, answering `AuthenticationRequested`."""
        self._check_decision(AUTHENTICATION)
        self._send_step(_offer(self.config))
        self._waiting_for = None
        self._server_login = None

    def refuse_authentication(self, text: str = "the login was refused") -> None:
        """Server: turn the client away, answering `AuthenticationRequested`, with a close (320)."""
        self._check_decision(AUTHENTICATION)
        self._refuse_login(text)

    def accept_open(self) -> None:
        """Server: let the client into the virtual host, answering `OpenRequested`."""
        self._check_decision(VHOST)
        self._send_step(records.ConnectionOpenOk(_strings(self.config.known_hosts)))
        self._waiting_for = None
        self._become_open()

    def refuse_open(self, code: int = INVALID_PATH, text: str = "there is no such virtual host") -> None:
        """Server: close the connection instead of opening it: 402 for an unknown virtual host, 320 for a forbidden
        one."""
        self._check_decision(VHOST)
        self._send_close(CloseReport(By.LOCAL, code, text))

    def redirect(self, host: str, known_hosts: tuple[str, ...] = ()) -> None:
        """Server: answer `OpenRequested` by sending the client to `host` ("amqp:tcp:name:port").

        Raises LocalProtocolError when the client insists on this server.
        """
        self._check_decision(VHOST)
        if self._insists:
            raise LocalProtocolError(
                "the client insists on this server: refuse it instead", rule="0-10/connection.open/insist"
            )
        self._send_step(records.ConnectionRedirect(host, _strings(known_hosts)))
        report = CloseReport(By.LOCAL, 0, f"redirected to {host}")
        self._end(report, CloseHint.CLOSE_WHEN_SENT)

    # Controls on the way out.

    def _step(self, by: Side, name: str) -> None:
        self._state = CONNECTION[self._state][INPUTS[by, name]]

    def _send_control(self, control: Control) -> None:
        segments = [(frames.CONTROL, control.encode_assembly())]
        self._out.queue(frames.encode_assembly(0, segments, self._max_frame))

    def _send_step(self, control: Control) -> None:
        self._send_control(control)
        self._step(self.role, name_in_class(control))

    def _keep_alive(self, now: float) -> None:
        self._send_control(records.ConnectionHeartbeat())

    def _send_deadline(self) -> float | None:
        return super()._send_deadline() if self._state in _BEATING else None

    # Headers.

    def _receive_header(self) -> bool:
        """Take the peer's protocol header; False while octets are missing."""
        header = self._peek_header()
        if header is None:
            return False
        if header != frames.PROTOCOL_HEADER:
            self._differs(header)
            return True
        self._buffer.pos += frames.PROTOCOL_HEADER_SIZE
        self._step(self.role.other, "header")
        if self.role is Side.CLIENT:
            return True
        self._out.append(frames.PROTOCOL_HEADER)
        self._step(Side.SERVER, "header")
        config = self.config
        self._send_step(
            records.ConnectionStart(self._own_properties(), _strings(config.mechanisms), _strings(config.locales))
        )
        return True

    def _differs(self, header: bytes) -> None:
        """Another version, or no AMQP: a server answers with its own header, and both close (section 4.3)."""
        hint = hints.of_first_octets(header)
        if self.role is Side.SERVER:
            self._out.append(frames.PROTOCOL_HEADER)
            by, close = By.LOCAL, CloseHint.CLOSE_WHEN_SENT
            text = f"protocol header {header!r} where 0-10 is spoken"
            rule = "0-10/wire/header-unsupported"
        elif len(header) == frames.PROTOCOL_HEADER_SIZE:
            by, close = By.REMOTE, CloseHint.CLOSE_NOW
            text = f"the server refused 0-10 (1-1-0-10) and offers {header_numbers(header)}"
            rule, hint = "0-10/connection.start/client-support", hints.OTHER_VERSION
        else:
            by, close = By.LOCAL, CloseHint.CLOSE_NOW
            text = f"what the server sent is no protocol header: {header!r}"
            text = f"{text}; {hint}" if hint else text
            rule = "0-10/wire/header-each-peer"
        error = RemoteProtocolError(text, offset=self._unit_offset, rule=rule)
        self._end_with(error, CloseReport(by, 0, text, hint=hint, rule=rule), close)

    def _own_properties(self) -> Map:
        return Map({**PRODUCT, **self.config.properties})

    # Opening.

    def _receive_opening(self, control: Any) -> None:
        """Go on with the opening after a control that belongs to it. Raises Violation."""
        name = missing(control, self.config.dialect)
        if name:
            raise Violation(SILENT, f"{control.NAME} without {name}", rule="wire/struct-required")
        try:
            self._STEPS[control.__class__](self, control)
        except sasl.SaslError as error:
            self._login_failed(error, CloseHint.CLOSE_NOW)

    def _start(self, start: records.ConnectionStart) -> None:
        self.peer_properties = Map(start.server_properties)
        response = self._begin_login([str(name) for name in start.mechanisms or ()])
        locales = [str(name) for name in start.locales or ()]
        liked = [name for name in self.config.locales if name in locales]
        self.locale = liked[0] if liked else DEFAULT_LOCALE
        start_ok = records.ConnectionStartOk(self._own_properties(), self.mechanism, response or b"", self.locale)
        self._send_step(start_ok)

    def _secure(self, secure: records.ConnectionSecure) -> None:
        self._send_step(records.ConnectionSecureOk(self._answer_challenge(secure.challenge or b"")))

    def _tune(self, tune: records.ConnectionTune) -> None:
        self._complete_login()
        refuse(check_tune(tune))
        config = self.config
        channels = own_channel_max(config)
        if tune.channel_max is not None:
            # Servers write 0 for no limit too.
            channels = min(channels, tune.channel_max or channels)
        frame = min(config.max_frame_size, tune.max_frame_size or frames.LARGEST_FRAME)
        beat = _heartbeat(config.heartbeat, tune.heartbeat_min, tune.heartbeat_max)
        self._send_step(records.ConnectionTuneOk(channels, frame, beat))
        self._agree(channels, frame, beat)
        capabilities = _strings(config.capabilities) or None
        self._send_step(records.ConnectionOpen(config.vhost, capabilities, config.insist))

    def _agree(self, channels: int, frame: int, heartbeat: int | None) -> None:
        """Use the agreed limits from now on (connection.tune-ok)."""
        self.channel_max = channels
        self._max_frame = frame
        self._send_within = float(heartbeat or 0)
        self._silence_after = 2 * self._send_within

    def _open_ok(self, open_ok: records.ConnectionOpenOk) -> None:
        self.known_hosts = tuple([str(host) for host in open_ok.known_hosts or ()])
        self._become_open()

    def _redirect(self, redirect: records.ConnectionRedirect) -> None:
        refuse(check_redirect(self.config.insist))
        hosts = tuple([str(host) for host in redirect.known_hosts or ()])
        self._events.append(Redirected(redirect.host or "", hosts))
        text = f"redirected to {redirect.host}"
        info = Info({"host": redirect.host or "", "known-hosts": list(hosts)})
        self._end(CloseReport(By.REMOTE, 0, text, info=info), CloseHint.CLOSE_NOW)

    def _start_ok(self, start_ok: records.ConnectionStartOk) -> None:
        self.peer_properties = Map(start_ok.client_properties)
        config = self.config
        refuse(check_mechanism(start_ok, config.mechanisms))
        self.mechanism = start_ok.mechanism or ""
        locale = start_ok.locale or DEFAULT_LOCALE
        self.locale = locale if locale in config.locales else DEFAULT_LOCALE
        self._start_login(self.mechanism, start_ok.response or b"")

    def _secure_ok(self, secure_ok: records.ConnectionSecureOk) -> None:
        self._continue_login(secure_ok.response)

    def _take_step(self, step: ServerStep) -> None:
        if isinstance(step, (sasl.Credentials, sasl.Verified)):
            self.user = step.user
        super()._take_step(step)

    def _send_challenge(self, login: ServerLogin, data: bytes) -> None:
        self._send_step(records.ConnectionSecure(data))

    def _deny(self, text: str) -> None:
        error = RemoteProtocolError(text, code=INVALID_PATH, offset=self._unit_offset)
        self._events.append(Failed(Scope.CONNECTION, 0, error, By.LOCAL))
        self._refuse_login("the login was refused")

    def _refuse_login(self, text: str) -> None:
        """The grammar has no refusal: the connection is closed, as Qpid does it, with connection-forced."""
        self._server_login = None
        self._send_close(CloseReport(By.LOCAL, CONNECTION_FORCED, text))

    def _tune_ok(self, tune_ok: records.ConnectionTuneOk) -> None:
        """Too much asked is answered by closing the socket (rules of connection.tune-ok)."""
        config = self.config
        refuse(*check_tune_ok(tune_ok, _offer(config)))
        channels, size, beat = tune_ok.channel_max, tune_ok.max_frame_size, tune_ok.heartbeat
        self._agree(channels or own_channel_max(config), size or config.max_frame_size, beat)

    def _open(self, open_: records.ConnectionOpen) -> None:
        self.vhost = open_.virtual_host or ""
        self.capabilities = tuple([str(name) for name in open_.capabilities or ()])
        self._insists = open_.insist
        self._ask(VHOST, OpenRequested(self.vhost, open_.insist))

    _STEPS: ClassVar[Mapping[type[Control], Callable[[Any, Any], None]]] = {
        records.ConnectionStart: _start,
        records.ConnectionStartOk: _start_ok,
        records.ConnectionSecure: _secure,
        records.ConnectionSecureOk: _secure_ok,
        records.ConnectionTune: _tune,
        records.ConnectionTuneOk: _tune_ok,
        records.ConnectionOpen: _open,
        records.ConnectionOpenOk: _open_ok,
        records.ConnectionRedirect: _redirect,
    }

    def _progress(self) -> str:
        return self._state.value

    def _cause_of_hangup(self) -> str:
        return hints.of_state(self._state, hints.HUNG_UP)

    # Closing.

    def _send_close(self, report: CloseReport) -> None:
        """Queue connection.close; what the peer still sends is dropped until it answers."""
        text = report.text.encode("utf-8", "backslashreplace")[:_LONGEST_TEXT].decode("utf-8", "ignore")
        self._send_step(records.ConnectionClose(report.code or NORMAL, text or None))
        self._await_close(report)

    def _receive_close(self, close: records.ConnectionClose) -> None:
        """The peer closes: answer, and tell what that ends."""
        own = self._report_later
        code = close.reply_code or NORMAL
        text = close.reply_text or ""
        report = CloseReport(By.REMOTE, code, text, hint=hints.for_close(code))
        self._step(self.role.other, "close")
        self._send_step(records.ConnectionCloseOk())
        if own is not None and (own.code not in (0, NORMAL) or code == NORMAL):
            report = own
        if report.by is By.REMOTE and code != NORMAL:
            name = CLOSE_CODES.get(code, str(code))
            error = RemoteProtocolError(f"{code} {text}".strip(), code=code, condition=name)
            self._end_with(error, report, CloseHint.CLOSE_WHEN_SENT)
        else:
            self._end(report, CloseHint.CLOSE_WHEN_SENT)

    def _receive_close_ok(self) -> None:
        """The peer has answered this end's close."""
        report = self._report_later
        assert report is not None
        self._step(self.role.other, "close-ok")
        self._end(report, CloseHint.CLOSE_WHEN_SENT)

    def _close_unanswered(self, kind: str, text: str) -> str:
        return f"{self._UNANSWERED}: {text}"

    def _fail(self, error: Violation | CodecError | LocalProtocolError) -> None:
        """The peer broke a rule, or stopped the reading of a frame in another way: queue the reply that the
        specification demands and the event that says so."""
        if self._report is not None or self._report_later is not None:
            return
        violation = _violation_of(error)
        silent = violation.code == SILENT or self._state in _TOO_EARLY
        code = 0 if silent else violation.code
        text = str(violation)
        rule = f"0-10/{violation.rule}" if violation.rule else None
        name = CLOSE_CODES.get(code, "")
        failure = RemoteProtocolError(text, code=code, offset=self._unit_offset, rule=rule, condition=name)
        hint = hints.of_first_octets(self.first_octets(hints.LOOKED_AT))
        report = CloseReport(By.LOCAL, code, text, hint=hint, rule=rule, condition=name)
        if silent:
            self._end_with(failure, report, CloseHint.CLOSE_WHEN_SENT)
            return
        self._events.append(Failed(Scope.CONNECTION, 0, failure, By.LOCAL))
        self._send_close(report)
        # The peer's answer is waited for; nothing that it says changes the report, or answers a call.
        self._end_parts(report)

    def _forget(self) -> None:
        self._state = State.END
        self._client_login = None
        self._server_login = None


def _violation_of(error: Violation | CodecError | LocalProtocolError) -> Violation:
    """The violation behind whatever stopped the reading of a frame."""
    if isinstance(error, Violation):
        return error
    if isinstance(error, CodecError):
        rule = None if error.rule is None else error.rule.removeprefix("0-10/")
        return Violation(FRAMING_ERROR, str(error), rule=rule)
    # This end's own answer doesn't fit: its peer doesn't read.
    return Violation(CONNECTION_FORCED if isinstance(error, LimitExceeded) else FRAMING_ERROR, str(error))


def _strings(names: Iterable[str]) -> list[Typed]:
    return [Typed("str16", name) for name in names]


def _heartbeat(wanted: int, least: int | None, most: int | None) -> int | None:
    """The wanted heartbeat, within the bounds of the server; None without a least one (rule no-heartbeat-min)."""
    if least is None or not wanted:
        return None
    wanted = max(wanted, least)
    return wanted if most is None else min(wanted, most)


def _offer(config: Config) -> records.ConnectionTune:
    channels, least, longest = own_channel_max(config), config.heartbeat_min, config.heartbeat_max
    return records.ConnectionTune(channels, config.max_frame_size, least, longest)
