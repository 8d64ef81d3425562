"""Handshake: how a connection of 0-8 or 0-9-1 opens and closes (0-9-1 sections 1.4, 2.2.4 and 4.2.2).

Owned here: the dialect, what tune-ok has agreed on, and the questions to the application. The order of the methods is
the model's: what comes out of order never arrives here.

A client goes header, start-ok, secure-ok, tune-ok, open by itself. A server waits for the application twice, for
`accept_authentication` and `accept_open` or their siblings; until then nothing more is parsed. Sizes of frames are
those of the minimum until tune-ok; the heartbeat begins with it.
"""

from __future__ import annotations

from math import ceil

from ... import sasl
from ..._checking import TYPE_CHECKING
from ..._core.connection import ERROR, PRODUCT, header_numbers
from ..._core.sasl_exchange import AUTHENTICATION, SaslExchange, ServerLogin
from ..._core.violation import refuse
from ...endpoint import CloseHint, Role, Side
from ...errors import EndpointClosed, LocalProtocolError, RemoteProtocolError, Scope
from ...events import By, CloseReport, Failed, Info, OpenRequested
from ...versions import AMQP_0_8, AMQP_0_9_1, Version
from ..codec.dialect import get_dialect
from ..codec.frames import HEARTBEAT_FRAME, OVERHEAD
from ..codec.rule_ids import rule_id
from ..codec.table import Table
from ..codec.violation import ACCESS_REFUSED, SILENT, Violation
from ..model import hints
from ..model.connection import CHANNEL_MAX, ConnectionModel
from ..model.opening_rules import check_start_ok, check_tune, check_tune_ok, is_of_qpid
from ..model.states import Connection as State
from .config import CAPABILITIES, Config, announces
from .events import Redirected
from .outgoing import Outgoing, merged_report, method_ids

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any, ClassVar, Final, TypeAlias

    from ..codec import methods_0_8, methods_0_9_1
    from ..codec.dialect import Dialect
    from ..codec.method import Method
    from ..codec.methods import (
        ChannelClose,
        ConnectionSecure,
        ConnectionSecureOk,
        ConnectionStart,
        ConnectionStartOk,
        ConnectionTune,
        ConnectionTuneOk,
    )
    from ..codec.table import FieldValue

    AnyConnectionClose: TypeAlias = methods_0_8.ConnectionClose | methods_0_9_1.ConnectionClose

VHOST: Final = "open"
_CLOSE_ON_REFUSAL: Final = "authentication_failure_close"
"""The capability of a client that takes connection.close for a refused login (RabbitMQ's extension)."""
CLOSABLE: Final = frozenset({State.OPENING, State.OPEN})
"""States in which an error is told with connection.close; before them the socket is just closed (2.2.4)."""


class Handshake(SaslExchange[Config]):
    """The opening and the close of a connection, client and server, and its methods on the way out."""

    _CONFIG = Config
    VERSION: ClassVar[Version] = AMQP_0_9_1
    _NOT_OPEN = "the connection is not open yet, it is {}; wait for Opened"
    _UNANSWERED = "without close-ok"

    __slots__ = (
        "_body_max",
        "_insisted",
        "_model",
        "_offered_start",
        "_offered_tune",
        "_other_max",
        "_outgoing",
        "_started",
        "dialect",
        "peer_properties",
        "vhost",
    )

    def __init__(self, role: Role, config: Config, model: ConnectionModel) -> None:
        super().__init__(role, config)
        # The methods that this connection has; the peer's properties may choose another one (`_use_dialect`).
        self.dialect = model.dialect
        # Rules and state of both ends.
        self._model = model
        tables = self.dialect.tables.limited(config.limits.nesting, config.limits.entries)
        # The way of all methods out, also those of channels.
        self._outgoing = Outgoing(role, model, self._out, self._events, tables)
        # What the peer says of itself in start or start-ok; empty before.
        self.peer_properties = Table.from_wire(b"", self.dialect.tables)
        # A client's comes from its configuration, a server's from the client's open.
        self.vhost = config.vhost if role is Side.CLIENT else ""
        # The largest payload of a body frame that is read, in octets; agreed by tune-ok.
        self._body_max = min(model.frame_max, config.limits.header, config.limits.unparsed - OVERHEAD)
        # The largest payload of another frame, in octets: Qpid sends methods above frame-max.
        self._other_max = self._body_max
        # Whether frames are read: a server has the client's header, a client sees that no header comes.
        self._started = False
        # Whether the client of 0-8 asked not to be redirected (connection.open with insist).
        self._insisted = False
        # The start that this server sent; None once it is answered.
        self._offered_start: ConnectionStart | None = None
        # The tune that this server sent; None once it is answered.
        self._offered_tune: ConnectionTune | None = None
        if role is Side.CLIENT:
            self._out.append(self.dialect.header)
            model.step_header(Side.CLIENT)

    # State.

    @property
    def state(self) -> State:
        """The step of its life-cycle that the connection is at (both ends together)."""
        return self._model.state

    @property
    def frame_max(self) -> int:
        """The agreed largest frame in octets, with its 8 octets of header and end; 0: no limit."""
        return self._outgoing.frame_max

    @property
    def channel_max(self) -> int:
        """The agreed highest channel number."""
        return self._model.channel_max

    @property
    def heartbeat(self) -> float:
        """The agreed heartbeat interval in seconds; 0: none."""
        return self._send_within

    # Commands.

    def close(self, code: int = 200, text: str = "Normal shutdown", cause: Method | None = None) -> None:
        """Close the connection with a handshake; `Closed` is its last event. A second call does nothing.

        `cause` is the method blamed in an error close. Before the connection is open the socket is closed without a
        word (0-9-1 section 2.2.4).
        """
        if self._is_closing:
            return
        report = CloseReport(By.LOCAL, code, text, *method_ids(cause))
        if self._model.state in CLOSABLE:
            self._send_close(report)
        else:
            self._end(report, CloseHint.CLOSE_NOW)

    def accept_authentication(self) -> None:
        """Server: let the client in, answering `AuthenticationRequested`."""
        tune = self.dialect.named["connection.tune"](*_offered(self.config))
        self._decide(AUTHENTICATION, tune)
        self._offered_tune = tune
        self._server_login = None

    def refuse_authentication(self, text: str = "ACCESS_REFUSED") -> None:
        """Server: turn the client away with 403 if it announced that it takes that, else by closing the socket."""
        self._check_decision(AUTHENTICATION)
        self._refuse_login(text)

    def accept_open(self) -> None:
        """Server: let the client into the virtual host, answering `OpenRequested`."""
        open_ok = self.dialect.named["connection.open-ok"]
        old = self.dialect.version is AMQP_0_8
        self._decide(VHOST, open_ok(self.config.known_hosts) if old else open_ok())
        self._become_open()

    def refuse_open(self, code: int = 530, text: str = "NOT_ALLOWED - no such virtual host") -> None:
        """Server: close instead of opening: 530 for an unknown virtual host, 403 for a forbidden one."""
        self._check_decision(VHOST)
        self._send_close(CloseReport(By.LOCAL, code, text, *method_ids(self.dialect.named["connection.open"])))

    def redirect(self, host: str, known_hosts: str = "") -> None:
        """Server, 0-8: answer `OpenRequested` by sending the client to `host` ("name:port")."""
        named = self.dialect.named
        if "connection.redirect" not in named:
            raise LocalProtocolError(f"{self.dialect.name} has no connection.redirect")
        if self._insisted:
            text = "the client insists on this server; let it in, or refuse it"
            raise self._outgoing.misuse(text, "connection.open/insist")
        self._decide(VHOST, named["connection.redirect"](host, known_hosts))
        report = CloseReport(By.LOCAL, 0, f"redirected to {host}")
        self._end(report, CloseHint.CLOSE_WHEN_SENT)

    def _check_decision(self, what: str) -> None:
        if self._waiting_for != what:
            self.check_open()
        super()._check_decision(what)

    def _decide(self, what: str, method: Method) -> None:
        """Answer the question that the application was asked. Raises LocalProtocolError, with it still open."""
        self._check_decision(what)
        self._outgoing.send(0, method)
        self._waiting_for = None

    # Methods on the way out.

    def _keep_alive(self, now: float) -> None:
        self._out.append(HEARTBEAT_FRAME)

    # Headers.

    def _receive_header(self) -> bool:
        """Take the peer's protocol header; False while octets are missing. Raises Violation."""
        buffer = self._buffer
        if not buffer.want(1):
            return False
        if self.role is Side.CLIENT and buffer.data[buffer.pos] != 0x41:
            return self._not_a_header()
        header = self._peek_header()
        if header is None:
            return False
        if self.role is Side.SERVER:
            self._client_header(header)
        else:
            self._server_header(header)
        return True

    def _not_a_header(self) -> bool:
        """A client's peer began with something else than 'A': frames, or no AMQP at all."""
        buffer = self._buffer
        if buffer.data[buffer.pos] == 1:
            self._started = True
            return True
        if not buffer.want(5):
            return False
        hint = hints.of_first_octets(buffer.data[buffer.pos : buffer.pos + 5])
        text = "what the server sent is neither a protocol header nor a frame"
        raise Violation(SILENT, f"{text}; {hint}" if hint else text, rule="wire/header-unsupported")

    def _client_header(self, data: bytes) -> None:
        """A server reads the client's header: start, or answer with a header and close (section 4.2.2)."""
        accepted = self.dialect.headers
        if data not in accepted:
            self._out.append(self.dialect.header)
            hint = hints.of_first_octets(data)
            text = f"protocol header {data!r} where {self.dialect.name} is spoken"
            version = self.dialect.version.label
            error = RemoteProtocolError(text, offset=0, rule=f"{version}/wire/header-unsupported")
            report = CloseReport(By.LOCAL, 0, text, hint=hint, rule=error.rule)
            self._end_with(error, report, CloseHint.CLOSE_WHEN_SENT)
            return
        self._buffer.pos += 8
        self._model.step_header(Side.CLIENT)
        self._started = True
        config = self.config
        start = self.dialect.named["connection.start"](
            self.dialect.version_major,
            self.dialect.version_minor,
            self._own_properties(),
            " ".join(config.mechanisms).encode(),
            config.locale.encode(),
        )
        self._offered_start = start
        self._outgoing.answer(0, start)

    def _server_header(self, data: bytes) -> None:
        """A client reads the server's header, which means: not this version. Raises Violation."""
        if len(data) < 8:
            raise Violation(SILENT, f"the server began with {data!r}", rule="wire/header-unsupported")
        self._model.step_header(Side.SERVER)
        wanted = self.dialect
        text = f"the server refused {wanted.name} ({header_numbers(wanted.header)}) and offers {header_numbers(data)}"
        error = RemoteProtocolError(text, offset=0)
        hint = "connect with the version the server offers"
        self._end_with(error, CloseReport(By.REMOTE, 0, text, hint=hint), CloseHint.CLOSE_NOW)

    def _own_properties(self) -> Table:
        properties: dict[str, FieldValue] = dict(PRODUCT)
        if self.dialect.version is not AMQP_0_8 and not self.dialect.strict:
            properties["capabilities"] = dict(CAPABILITIES)
        properties.update(self.config.properties)
        return Table(properties, rules=self._outgoing.tables)

    # Opening.

    def _receive_own(self, method: Method) -> None:
        """Go on with the opening or the close after a method that belongs to it."""
        try:
            self.OWN_METHODS[method.NAME](self, method)
        except sasl.SaslError as error:
            self._login_failed(error, CloseHint.CLOSE_NOW)

    def _start(self, start: ConnectionStart) -> None:
        self.peer_properties = _received(start.server_properties)
        dialect = self.dialect
        offered = (start.version_major, start.version_minor)
        if offered not in dialect.start_versions:
            text = f"the server starts version {offered[0]}-{offered[1]}, asked for was {dialect.name}"
            raise Violation(SILENT, text, rule="connection.start/client-support")
        response = self._begin_login(start.mechanisms)
        locales = start.locales.decode("utf-8", "replace").split()
        locale = self.config.locale
        if locales and locale not in locales:
            locale = "en_US"
        start_ok = dialect.named["connection.start-ok"](self._own_properties(), self.mechanism, response, locale)
        self._outgoing.answer(0, start_ok)

    def _secure(self, secure: ConnectionSecure) -> None:
        response = self._answer_challenge(secure.challenge)
        self._outgoing.answer(0, self.dialect.named["connection.secure-ok"](response))

    def _tune(self, tune: ConnectionTune) -> None:
        self._complete_login()
        refuse(*check_tune(tune))
        config = self.config
        channel_max, frame_max, heartbeat = _offered(config)
        channel_max = _lower(channel_max, tune.channel_max)
        frame_max = _lower(frame_max, tune.frame_max)
        heartbeat = _lower(heartbeat, tune.heartbeat) if heartbeat else 0
        named = self.dialect.named
        self._outgoing.answer(0, named["connection.tune-ok"](channel_max, frame_max, heartbeat))
        self._agree(channel_max, frame_max, heartbeat)
        open_ = named["connection.open"](virtual_host=config.vhost)
        if config.insist and self.dialect.version is AMQP_0_8:
            open_ = named["connection.open"](virtual_host=config.vhost, insist=True)
        self._outgoing.answer(0, open_)

    def _agree(self, channel_max: int, frame_max: int, heartbeat: int) -> None:
        """Use the agreed limits from now on (connection.tune-ok)."""
        limits = self.config.limits
        self._model.agree(min(channel_max or CHANNEL_MAX, limits.channels), frame_max)
        self._outgoing.frame_max = frame_max
        lenient = self.dialect.lenient_frames
        # AMQPStorm and others fill frames 8 octets over, and RabbitMQ puts no bound on what can't be cut.
        body_max = frame_max if lenient else frame_max - OVERHEAD
        other_max = limits.header if lenient or not frame_max else min(frame_max - OVERHEAD, limits.header)
        self._body_max = min(body_max if frame_max else limits.unparsed, limits.unparsed - OVERHEAD)
        self._other_max = min(other_max, limits.unparsed - OVERHEAD)
        self._limits_changed()
        self._send_within = float(heartbeat)
        self._silence_after = 2 * self._send_within

    def _open_ok(self, open_ok: object) -> None:
        self._become_open()

    def _redirect(self, redirect: methods_0_8.ConnectionRedirect) -> None:
        self._events.append(Redirected(redirect.host, redirect.known_hosts))
        text = f"redirected to {redirect.host}"
        info = Info({"host": redirect.host, "known-hosts": redirect.known_hosts})
        self._end(CloseReport(By.REMOTE, 0, text, info=info), CloseHint.CLOSE_NOW)

    def _start_ok(self, start_ok: ConnectionStartOk) -> None:
        self.peer_properties = _received(start_ok.client_properties)
        if self.config.dialect is None and is_of_qpid(self.peer_properties):
            self._use_dialect(get_dialect(f"{self.VERSION.label}-qpid"))
        assert self._offered_start is not None
        refuse(*check_start_ok(self._offered_start, start_ok))
        self._offered_start = None
        self.mechanism = start_ok.mechanism
        self._start_login(start_ok.mechanism, start_ok.response)

    def _secure_ok(self, secure_ok: ConnectionSecureOk) -> None:
        self._continue_login(secure_ok.response)

    def _send_challenge(self, login: ServerLogin, data: bytes) -> None:
        self._outgoing.answer(0, self.dialect.named["connection.secure"](data))

    def _deny(self, text: str) -> None:
        told = announces(self.peer_properties, _CLOSE_ON_REFUSAL)
        code = ACCESS_REFUSED if told else SILENT
        error = RemoteProtocolError(text, code=code, offset=self._unit_offset)
        self._events.append(Failed(Scope.CONNECTION, 0, error, By.LOCAL))
        self._refuse_login("ACCESS_REFUSED - login was refused")

    def _refuse_login(self, text: str) -> None:
        """Refuse as the client announced that it understands it."""
        self._server_login = None
        if announces(self.peer_properties, _CLOSE_ON_REFUSAL):
            self._send_close(CloseReport(By.LOCAL, ACCESS_REFUSED, text))
        else:
            self._end(CloseReport(By.LOCAL, 0, text), CloseHint.CLOSE_WHEN_SENT)

    def _tune_ok(self, tune_ok: ConnectionTuneOk) -> None:
        assert self._offered_tune is not None
        refuse(*check_tune_ok(self._offered_tune, tune_ok))
        self._offered_tune = None
        self._agree(tune_ok.channel_max, tune_ok.frame_max, tune_ok.heartbeat)

    def _open(self, open_: methods_0_8.ConnectionOpen | methods_0_9_1.ConnectionOpen) -> None:
        self.vhost = open_.virtual_host
        # Only 0-8 has the field.
        self._insisted = bool(getattr(open_, "insist", False))
        self._ask(VHOST, OpenRequested(open_.virtual_host, self._insisted))

    def _use_dialect(self, dialect: Dialect) -> None:
        """Speak another dialect of the version from now on; nothing that depends on it has happened yet."""
        limits = self.config.limits
        self.dialect = dialect
        self._model.speak(dialect)
        self._outgoing.tables = dialect.tables.limited(limits.nesting, limits.entries)
        self._limits_changed()

    def _limits_changed(self) -> None:
        """The agreed limits, or the rules of tables, are others from now on."""

    def _progress(self) -> str:
        return self._model.state.value

    def _cause_of_hangup(self) -> str:
        return hints.of_state(self._model.state)

    def _rule_of_silence(self) -> str | None:
        return rule_id(self.dialect.version, "wire/heartbeat-timeout")

    # Closing.

    def _send_close(self, report: CloseReport, text: str = "") -> None:
        """Queue connection.close; what the peer still sends is dropped until it answers. Raises LocalProtocolError.

        `text` is told to the peer; "" for the report's.
        """
        self._outgoing.close("connection.close", 0, report, text)
        self._await_close(report)

    def _receive_close(self, close: AnyConnectionClose) -> None:
        """The peer closed the connection: answer and end, or wait for its answer to this end's close."""
        self._outgoing.answer_anyway(0, self.dialect.named["connection.close-ok"]())
        self._report_later = merged_report(self._report_later, report_of(close, self.dialect))
        self._receive_close_ok()

    def _receive_close_ok(self, close_ok: object = None) -> None:
        """Unless a close still waits for its answer, tell what the closes end."""
        if self._model.state is not State.END:
            return
        report = self._report_later or CloseReport(By.LOCAL)
        if report.by is By.REMOTE and report.code >= ERROR:
            error = EndpointClosed(f"connection: {report}", report)
            self._end_with(error, report, CloseHint.CLOSE_WHEN_SENT)
        else:
            self._end(report, CloseHint.CLOSE_WHEN_SENT)

    OWN_METHODS: ClassVar[Mapping[str, Callable[[Any, Any], None]]] = {
        "connection.start": _start,
        "connection.start-ok": _start_ok,
        "connection.secure": _secure,
        "connection.secure-ok": _secure_ok,
        "connection.tune": _tune,
        "connection.tune-ok": _tune_ok,
        "connection.open": _open,
        "connection.open-ok": _open_ok,
        "connection.redirect": _redirect,
        "connection.close": _receive_close,
        "connection.close-ok": _receive_close_ok,
    }

    def _forget(self) -> None:
        self._model.end()
        self._outgoing.publishes.clear()
        self._outgoing.delivers.clear()
        self._client_login = None
        self._server_login = None


def report_of(close: AnyConnectionClose | ChannelClose, dialect: Dialect) -> CloseReport:
    """The report of a peer's close, of a channel or of the connection."""
    ids = close.class_id, close.method_id
    hint = hints.for_close(close.reply_code, close.reply_text, *ids)
    blamed = dialect.methods.get(close.class_id << 16 | close.method_id)
    name = "" if blamed is None else blamed.NAME
    return CloseReport(By.REMOTE, close.reply_code, close.reply_text, *ids, hint=hint, method=name)


def _received(properties: Mapping[str, FieldValue]) -> Table:
    """The properties of a method that was received, which are a Table always."""
    assert isinstance(properties, Table)
    return properties


def _lower(ours: int, theirs: int) -> int:
    """The smaller of two limits where 0 means none."""
    return min(ours, theirs) if ours and theirs else ours or theirs


def _offered(config: Config) -> tuple[int, int, int]:
    """Channel-max, frame-max and heartbeat as this end wants them; a frame must fit into what may lie unparsed."""
    room = config.limits.unparsed - OVERHEAD
    channel_max = min(config.channel_max or CHANNEL_MAX, config.limits.channels)
    return channel_max, min(config.frame_max or room, room), ceil(config.heartbeat)
