"""The opening of a connection, client and server: header, start, secure, tune, open (0-9-1 sections 1.4 and 2.2.4)."""

# The modules of this package share one engine; its private state is theirs, not the caller's.
# pyright: reportPrivateUsage=false
from __future__ import annotations

from math import ceil
from typing import TYPE_CHECKING, Any, Final

from ... import sasl
from ..._version import __version__
from ...endpoint import CloseHint, Side
from ...errors import LocalProtocolError, RemoteProtocolError, Scope
from ...events import (
    AuthenticationRequested,
    By,
    CloseReport,
    Failed,
    Opened,
    OpenRequested,
    ScramKeysRequested,
)
from ...versions import AMQP_0_8
from ..codec.dialect import get_dialect
from ..codec.frames import OVERHEAD
from ..codec.table import Table
from ..codec.violation import ACCESS_REFUSED, SILENT, Violation, misuse
from ..model import hints
from ..model.connection import CHANNEL_MAX, MIN_FRAME_MAX
from ..model.opening_rules import is_of_qpid
from ..model.states import Connection as State
from . import closing
from .config import CAPABILITIES, announces
from .events import Redirected
from .sending import send_frames

if TYPE_CHECKING:
    from ..codec.method import Method
    from .config import Config
    from .connection import Connection

AUTHENTICATION: Final = "authentication"
SCRAM_KEYS: Final = "scram keys"
VHOST: Final = "open"
_CLOSE_ON_REFUSAL: Final = "authentication_failure_close"
"""What a client announces that takes connection.close for a refused login (RabbitMQ's extension)."""


def receive_header(connection: Connection) -> bool:
    """Take the peer's protocol header; False while octets are missing. Raises Violation."""
    buffer = connection._buffer
    if not buffer.want(1):
        return False
    if connection.role is Side.CLIENT and buffer.data[buffer.pos] != 0x41:
        return _not_a_header(connection)
    if not buffer.want(4):
        return False
    # Who doesn't begin with these four isn't waited for (section 4.2.2).
    size = 8 if buffer.data.startswith(b"AMQP", buffer.pos) else 4
    if not buffer.want(size):
        return False
    data = buffer.data[buffer.pos : buffer.pos + size]
    if connection.role is Side.SERVER:
        _client_header(connection, data)
    else:
        _server_header(connection, data)
    return True


def receive_method(connection: Connection, method: Any) -> None:
    """Go on with the opening after a connection method that belongs to it."""
    _STEPS[method.NAME](connection, method)


def _not_a_header(connection: Connection) -> bool:
    """A client's peer began with something else than 'A': frames, or no AMQP at all."""
    buffer = connection._buffer
    if buffer.data[buffer.pos] == 1:
        connection._started = True
        return True
    if not buffer.want(5):
        return False
    hint = hints.of_first_octets(buffer.data[buffer.pos : buffer.pos + 5])
    text = "what the server sent is neither a protocol header nor a frame"
    raise Violation(SILENT, f"{text}; {hint}" if hint else text, rule="wire/header-unsupported")


def _client_header(connection: Connection, data: bytes) -> None:
    """A server reads the client's header: start, or answer with a header and close (section 4.2.2)."""
    accepted = connection.dialect.headers
    if data not in accepted:
        connection._out.append(connection.dialect.header)
        hint = hints.of_first_octets(data)
        text = f"protocol header {data!r} where {connection.dialect.name} is spoken"
        version = connection.dialect.version.label
        error = RemoteProtocolError(text, offset=0, rule=f"{version}/wire/header-unsupported")
        connection._events.append(Failed(Scope.CONNECTION, 0, error, By.LOCAL))
        report = CloseReport(By.LOCAL, 0, text, hint=hint, rule=error.rule)
        closing.end_connection(connection, report, CloseHint.CLOSE_WHEN_SENT)
        return
    connection._buffer.pos += 8
    connection._joint.step_header(Side.CLIENT)
    connection._started = True
    config = connection.config
    start = connection.dialect.named["connection.start"](
        connection.dialect.version_major,
        connection.dialect.version_minor,
        peer_properties(connection),
        " ".join(config.mechanisms).encode(),
        config.locale.encode(),
    )
    _send(connection, start)


def _server_header(connection: Connection, data: bytes) -> None:
    """A client reads the server's header, which means: not this version. Raises Violation."""
    if len(data) < 8:
        raise Violation(SILENT, f"the server began with {data!r}", rule="wire/header-unsupported")
    connection._joint.step_header(Side.SERVER)
    wanted = connection.dialect
    text = f"the server refused {wanted.name} ({_numbers(wanted.header)}) and offers {_numbers(data)}"
    error = RemoteProtocolError(text, offset=0)
    connection._events.append(Failed(Scope.CONNECTION, 0, error, By.REMOTE))
    hint = "connect with the version the server offers"
    closing.end_connection(connection, CloseReport(By.REMOTE, 0, text, hint=hint), CloseHint.CLOSE_NOW)


def _numbers(header: bytes) -> str:
    return "-".join(str(octet) for octet in header[4:])


def peer_properties(connection: Connection) -> Table:
    """What this end says of itself in start or start-ok."""
    properties: dict[str, Any] = {
        "product": "amqp_sansio",
        "version": __version__,
        "platform": "Python",
        "copyright": "MIT licence",
        "information": "a sans-I/O AMQP core",
    }
    if connection.dialect.version is not AMQP_0_8 and not connection.dialect.strict:
        properties["capabilities"] = dict(CAPABILITIES)
    properties.update(connection.config.properties)
    return Table(properties, rules=connection._tables)


def _send(connection: Connection, method: Method) -> None:
    closing.answer(connection, 0, method)


# Client.


def _start(connection: Connection, start: Any) -> None:
    connection.peer_properties = start.server_properties
    dialect = connection.dialect
    offered = (start.version_major, start.version_minor)
    if offered not in dialect.start_versions:
        raise Violation(
            SILENT,
            f"the server starts version {offered[0]}-{offered[1]}, asked for was {dialect.name}",
            rule="connection.start/client-support",
        )
    configured = connection.config.sasl
    mechanisms = configured if isinstance(configured, tuple) else (configured,)
    try:
        mechanism = sasl.choose([each for each in mechanisms if each is not None], start.mechanisms)
        state, response = mechanism.initial()
    except sasl.SaslError as error:
        _login_failed(connection, str(error))
        return
    connection.mechanism = mechanism.name
    connection._sasl = (mechanism, state, 0)
    locales = start.locales.decode("utf-8", "replace").split()
    locale = connection.config.locale
    if locales and locale not in locales:
        locale = "en_US"
    start_ok = dialect.named["connection.start-ok"](
        peer_properties(connection), mechanism.name, response, locale
    )
    _send(connection, start_ok)


def _login_failed(connection: Connection, text: str) -> None:
    """The client can't or won't go on: it closes the socket without a word."""
    error = RemoteProtocolError(text, offset=connection._unit_offset)
    connection._events.append(Failed(Scope.CONNECTION, 0, error, By.LOCAL))
    closing.end_connection(connection, CloseReport(By.LOCAL, 0, text), CloseHint.CLOSE_NOW)


def _secure(connection: Connection, secure: Any) -> None:
    mechanism, state, rounds = connection._sasl
    if rounds >= connection.config.limits.sasl_rounds:
        raise Violation(SILENT, f"{rounds} challenges, Limits.sasl_rounds allows no more")
    try:
        state, response = mechanism.step(state, secure.challenge)
    except sasl.SaslError as error:
        _login_failed(connection, str(error))
        return
    connection._sasl = (mechanism, state, rounds + 1)
    _send(connection, connection.dialect.named["connection.secure-ok"](response))


def _tune(connection: Connection, tune: Any) -> None:
    mechanism, state, _ = connection._sasl
    try:
        mechanism.complete(state)
    except sasl.SaslError as error:
        _login_failed(connection, str(error))
        return
    connection._sasl = None
    if 0 < tune.frame_max < MIN_FRAME_MAX:
        raise Violation(
            SILENT, f"the server offers frame-max {tune.frame_max}, below 4096", rule="connection.tune/frame-min"
        )
    config = connection.config
    channel_max = _lower(_channel_max(config), tune.channel_max)
    frame_max = _lower(_frame_max(config), tune.frame_max)
    heartbeat = _lower(ceil(config.heartbeat), tune.heartbeat) if config.heartbeat else 0
    named = connection.dialect.named
    _send(connection, named["connection.tune-ok"](channel_max, frame_max, heartbeat))
    agree(connection, channel_max, frame_max, heartbeat)
    open_ = named["connection.open"](virtual_host=config.vhost)
    if config.insist and connection.dialect.version is AMQP_0_8:
        open_ = named["connection.open"](virtual_host=config.vhost, insist=True)
    _send(connection, open_)


def agree(connection: Connection, channel_max: int, frame_max: int, heartbeat: int) -> None:
    """Use the agreed limits from now on (connection.tune-ok)."""
    limits = connection.config.limits
    connection._joint.channel_max = min(channel_max or CHANNEL_MAX, limits.channels)
    connection._joint.frame_max = connection._frame_max = frame_max
    lenient = connection.dialect.lenient_frames
    # AMQPStorm and others fill frames 8 octets over, and RabbitMQ puts no bound on what can't be cut.
    body_max = frame_max if lenient else frame_max - OVERHEAD
    other_max = limits.header if lenient or not frame_max else min(frame_max - OVERHEAD, limits.header)
    connection._body_max = min(body_max if frame_max else limits.unparsed, limits.unparsed - OVERHEAD)
    connection._other_max = min(other_max, limits.unparsed - OVERHEAD)
    connection._heartbeat = float(heartbeat)


def _lower(ours: int, theirs: int) -> int:
    """The smaller of two limits where 0 means none."""
    return min(ours, theirs) if ours and theirs else ours or theirs


def _channel_max(config: Config) -> int:
    return min(config.channel_max or CHANNEL_MAX, config.limits.channels)


def _frame_max(config: Config) -> int:
    """A frame must fit into what may lie unparsed."""
    room = config.limits.unparsed - OVERHEAD
    return min(config.frame_max or room, room)


def _open_ok(connection: Connection, open_ok: Any) -> None:
    connection._timers.clear("handshake")
    connection._events.append(Opened(Scope.CONNECTION))


def _redirect(connection: Connection, redirect: Any) -> None:
    connection._events.append(Redirected(redirect.host, redirect.known_hosts))
    text = f"redirected to {redirect.host}"
    closing.end_connection(connection, CloseReport(By.REMOTE, 0, text), CloseHint.CLOSE_NOW)


# Server.


def _start_ok(connection: Connection, start_ok: Any) -> None:
    connection.peer_properties = start_ok.client_properties
    if connection.config.dialect is None and is_of_qpid(start_ok.client_properties):
        connection._use_dialect(get_dialect(f"{connection.VERSION.label}-qpid"))
    name = start_ok.mechanism
    if name not in connection.config.mechanisms:
        raise Violation(
            SILENT,
            f"mechanism {name!r} was not offered ({' '.join(connection.config.mechanisms)})",
            rule="connection.start-ok/mechanism-not-offered",
        )
    connection.mechanism = name
    try:
        mechanism = sasl.server_mechanism(name, nonce=connection.config.nonce)
    except sasl.SaslError as error:
        raise Violation(SILENT, str(error)) from error
    _server_step(connection, mechanism, *mechanism.start(start_ok.response))


def _secure_ok(connection: Connection, secure_ok: Any) -> None:
    mechanism, state = connection._sasl
    _server_step(connection, mechanism, *mechanism.step(state, secure_ok.response))


def _server_step(connection: Connection, mechanism: Any, state: Any, step: sasl.ServerStep) -> None:
    connection._sasl = (mechanism, state)
    if isinstance(step, sasl.Challenge):
        _send(connection, connection.dialect.named["connection.secure"](step.data))
    elif isinstance(step, sasl.NeedScramKeys):
        connection._waiting_for = SCRAM_KEYS
        connection._events.append(ScramKeysRequested(connection.mechanism, step.user))
    elif isinstance(step, sasl.Credentials):
        connection._waiting_for = AUTHENTICATION
        connection._events.append(AuthenticationRequested(connection.mechanism, step))
    elif isinstance(step, sasl.Verified):
        connection._waiting_for = AUTHENTICATION
        credentials = sasl.Credentials(connection.mechanism, step.user, authzid=step.authzid)
        connection._events.append(AuthenticationRequested(connection.mechanism, credentials))
    else:
        told = announces(connection.peer_properties, _CLOSE_ON_REFUSAL)
        error = RemoteProtocolError(
            f"login refused: {step.text}",
            code=ACCESS_REFUSED if told else SILENT,
            offset=connection._unit_offset,
        )
        connection._events.append(Failed(Scope.CONNECTION, 0, error, By.LOCAL))
        _refuse(connection, "ACCESS_REFUSED - login was refused")


def _check_decision(connection: Connection, what: str) -> None:
    if connection._waiting_for != what or connection._lost:
        connection._check_open()
        raise LocalProtocolError(f"no {what} is waiting for an answer")


def _decide(connection: Connection, what: str, method: Method) -> None:
    """Answer what the application was asked. Raises LocalProtocolError, with the question still open."""
    _check_decision(connection, what)
    send_frames(connection, 0, method, None, None)
    connection._waiting_for = None


def accept_authentication(connection: Connection) -> None:
    """Tune, now that the user is known."""
    config = connection.config
    offered = _channel_max(config), _frame_max(config)
    tune = connection.dialect.named["connection.tune"](*offered, ceil(config.heartbeat))
    _decide(connection, AUTHENTICATION, tune)
    connection._offered = offered
    connection._sasl = None


def refuse_authentication(connection: Connection, text: str) -> None:
    """Refuse as the client announced it understands it."""
    _check_decision(connection, AUTHENTICATION)
    _refuse(connection, text)


def _refuse(connection: Connection, text: str) -> None:
    connection._sasl = None
    if announces(connection.peer_properties, _CLOSE_ON_REFUSAL):
        closing.send_close(connection, CloseReport(By.LOCAL, ACCESS_REFUSED, text))
        return
    report = CloseReport(By.LOCAL, 0, text)
    closing.end_connection(connection, report, CloseHint.CLOSE_WHEN_SENT)


def provide_scram_keys(connection: Connection, keys: sasl.ScramKeys | None) -> None:
    """Go on with SCRAM."""
    _check_decision(connection, SCRAM_KEYS)
    mechanism, state = connection._sasl
    try:
        after = mechanism.keys(state, keys)
    except sasl.SaslError as error:
        raise LocalProtocolError(str(error)) from error
    connection._waiting_for = None
    _server_step(connection, mechanism, *after)


def _tune_ok(connection: Connection, tune_ok: Any) -> None:
    channel_max, frame_max = connection._offered
    if tune_ok.channel_max > channel_max or (not tune_ok.channel_max and channel_max < CHANNEL_MAX):
        raise Violation(
            SILENT,
            f"channel-max {tune_ok.channel_max or 'without limit'}, offered was {channel_max}",
            rule="connection.tune-ok/channel-max-limit",
        )
    if frame_max and (tune_ok.frame_max > frame_max or not tune_ok.frame_max):
        raise Violation(
            SILENT,
            f"frame-max {tune_ok.frame_max or 'without limit'}, offered was {frame_max}",
            rule="connection.tune-ok/frame-max-limit",
        )
    if 0 < tune_ok.frame_max < MIN_FRAME_MAX:
        raise Violation(
            SILENT, f"frame-max {tune_ok.frame_max}, below 4096", rule="connection.tune-ok/frame-min"
        )
    agree(connection, tune_ok.channel_max, tune_ok.frame_max, tune_ok.heartbeat)


def _open(connection: Connection, open_: Any) -> None:
    connection.vhost = open_.virtual_host
    connection._waiting_for = VHOST
    connection._insisted = connection.dialect.version is AMQP_0_8 and open_.insist
    connection._events.append(OpenRequested(open_.virtual_host, connection._insisted))


def accept_open(connection: Connection) -> None:
    """Send open-ok; the connection is open."""
    open_ok = connection.dialect.named["connection.open-ok"]
    known_hosts = connection.config.known_hosts
    answer = open_ok(known_hosts) if connection.dialect.version is AMQP_0_8 else open_ok()
    _decide(connection, VHOST, answer)
    connection._timers.clear("handshake")
    connection._events.append(Opened(Scope.CONNECTION))


def refuse_open(connection: Connection, code: int, text: str) -> None:
    """Close instead of open-ok."""
    _check_decision(connection, VHOST)
    open_ = connection.dialect.named["connection.open"]
    closing.send_close(
        connection, CloseReport(By.LOCAL, code, text, open_.CLASS_ID, open_.METHOD_ID)
    )


def redirect(connection: Connection, host: str, known_hosts: str) -> None:
    """Send connection.redirect (0-8)."""
    named = connection.dialect.named
    if "connection.redirect" not in named:
        raise LocalProtocolError(f"{connection.dialect.name} has no connection.redirect")
    if connection._insisted:
        raise misuse(
            connection.dialect.version,
            "the client insists on this server; let it in, or refuse it",
            "connection.open/insist",
        )
    _decide(connection, VHOST, named["connection.redirect"](host, known_hosts))
    report = CloseReport(By.LOCAL, 0, f"redirected to {host}")
    closing.end_connection(connection, report, CloseHint.CLOSE_WHEN_SENT)


_STEPS: Final = {
    "connection.start": _start,
    "connection.start-ok": _start_ok,
    "connection.secure": _secure,
    "connection.secure-ok": _secure_ok,
    "connection.tune": _tune,
    "connection.tune-ok": _tune_ok,
    "connection.open": _open,
    "connection.open-ok": _open_ok,
    "connection.redirect": _redirect,
}

OPENING_METHODS: Final = frozenset(_STEPS)
"""The methods that `receive_method` takes."""

__all__ = ["OPENING_METHODS", "State", "receive_header", "receive_method"]
