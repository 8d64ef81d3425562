"""The opening of a connection, client and server: headers, start, secure, tune, open (class 1, part 1 section 4.3)."""

# The modules of this package share one engine; its private state is theirs, not the caller's.
# pyright: reportPrivateUsage=false
from __future__ import annotations

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
from ..codec.dialect import missing
from ..codec.frames import LARGEST_FRAME, MIN_MAX_FRAME_SIZE, PROTOCOL_HEADER, PROTOCOL_HEADER_SIZE
from ..codec.records import (
    ConnectionOpen,
    ConnectionOpenOk,
    ConnectionRedirect,
    ConnectionSecure,
    ConnectionSecureOk,
    ConnectionStart,
    ConnectionStartOk,
    ConnectionTune,
    ConnectionTuneOk,
)
from ..codec.values import Map, Typed
from ..codec.violation import INVALID_PATH, SILENT, Violation
from ..model import hints
from ..model.events import Redirected
from ..model.states import ConnectionInput
from . import closing
from .config import DEFAULT_LOCALE, client_mechanisms, own_channel_max

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from ..codec.record import Control
    from .connection import Connection

AUTHENTICATION: Final = "authentication"
SCRAM_KEYS: Final = "scram keys"
VHOST: Final = "open"


def receive_header(connection: Connection) -> bool:
    """Take the peer's protocol header; False while octets are missing."""
    buffer = connection._buffer
    if not buffer.want(4):
        return False
    # Who doesn't begin with these four isn't waited for.
    size = PROTOCOL_HEADER_SIZE if buffer.data.startswith(b"AMQP", buffer.pos) else 4
    if not buffer.want(size):
        return False
    header = buffer.data[buffer.pos : buffer.pos + size]
    if header != PROTOCOL_HEADER:
        _differs(connection, header)
        return True
    buffer.pos += PROTOCOL_HEADER_SIZE
    if connection.role is Side.SERVER:
        connection._step(ConnectionInput.C_HEADER)
        connection._out.append(PROTOCOL_HEADER)
        connection._step(ConnectionInput.S_HEADER)
        _start_client(connection)
    else:
        connection._step(ConnectionInput.S_HEADER)
    return True


def _differs(connection: Connection, header: bytes) -> None:
    """Another version, or no AMQP: a server answers with the header that it speaks, and both close (section 4.3)."""
    hint = hints.of_first_octets(header)
    if connection.role is Side.SERVER:
        connection._out.append(PROTOCOL_HEADER)
        by, close = By.LOCAL, CloseHint.CLOSE_WHEN_SENT
        text = f"protocol header {header!r} where 0-10 is spoken"
        rule = "0-10/wire/header-unsupported"
    elif len(header) == PROTOCOL_HEADER_SIZE:
        by, close = By.REMOTE, CloseHint.CLOSE_NOW
        text = f"the server refused 0-10 (1-1-0-10) and offers {'-'.join(map(str, header[4:]))}"
        rule, hint = "0-10/connection.start/client-support", hints.OTHER_VERSION
    else:
        by, close = By.LOCAL, CloseHint.CLOSE_NOW
        text = f"what the server sent is no protocol header: {header!r}"
        text = f"{text}; {hint}" if hint else text
        rule = "0-10/wire/header-each-peer"
    error = RemoteProtocolError(text, offset=connection._unit_offset, rule=rule)
    connection._events.append(Failed(Scope.CONNECTION, 0, error, by))
    report = CloseReport(by, 0, text, hint=hint, rule=rule)
    closing.end_connection(connection, report, close)


def receive(connection: Connection, control: Any) -> None:
    """Go on with the opening after a control that belongs to it. Raises Violation."""
    name = missing(control, connection.config.dialect)
    if name:
        raise Violation(SILENT, f"{control.NAME} without {name}", rule="wire/struct-required")
    _STEPS[control.__class__](connection, control)


def peer_properties(connection: Connection) -> Map:
    """What this end says of itself in start or start-ok."""
    properties: dict[str, Any] = {
        "product": "amqp_sansio",
        "version": __version__,
        "platform": "Python",
        "copyright": "MIT licence",
        "information": "a sans-I/O AMQP core",
    }
    properties.update(connection.config.properties)
    return Map(properties)


def _strings(names: Iterable[str]) -> list[Any]:
    return [Typed("str16", name) for name in names]


def _send(connection: Connection, control: Control, step: ConnectionInput) -> None:
    connection._send_control(0, control)
    connection._step(step)


# Client.


def _start(connection: Connection, start: ConnectionStart) -> None:
    connection.peer_properties = Map() if start.server_properties is None else Map(start.server_properties)
    offered = [str(name) for name in start.mechanisms or ()]
    try:
        mechanism = sasl.choose(client_mechanisms(connection.config), offered)
        state, response = mechanism.initial()
    except sasl.SaslError as error:
        _login_failed(connection, str(error))
        return
    connection.mechanism = mechanism.name
    connection._sasl = (mechanism, state, 0)
    locales = [str(name) for name in start.locales or ()]
    liked = [name for name in connection.config.locales if name in locales]
    connection.locale = liked[0] if liked else DEFAULT_LOCALE
    start_ok = ConnectionStartOk(
        peer_properties(connection), mechanism.name, response or b"", connection.locale
    )
    _send(connection, start_ok, ConnectionInput.C_START_OK)


def _login_failed(connection: Connection, text: str) -> None:
    """The client can't or won't go on: it closes the socket without a word."""
    error = RemoteProtocolError(text, offset=connection._unit_offset)
    connection._events.append(Failed(Scope.CONNECTION, 0, error, By.LOCAL))
    closing.end_connection(connection, CloseReport(By.LOCAL, 0, text), CloseHint.CLOSE_NOW)


def _secure(connection: Connection, secure: ConnectionSecure) -> None:
    mechanism, state, rounds = connection._sasl
    if rounds >= connection.config.limits.sasl_rounds:
        raise Violation(SILENT, f"{rounds} challenges, Limits.sasl_rounds allows no more")
    try:
        state, response = mechanism.step(state, secure.challenge or b"")
    except sasl.SaslError as error:
        _login_failed(connection, str(error))
        return
    connection._sasl = (mechanism, state, rounds + 1)
    _send(connection, ConnectionSecureOk(response), ConnectionInput.C_SECURE_OK)


def _tune(connection: Connection, tune: ConnectionTune) -> None:
    mechanism, state, _ = connection._sasl
    try:
        mechanism.complete(state)
    except sasl.SaslError as error:
        _login_failed(connection, str(error))
        return
    connection._sasl = None
    size = tune.max_frame_size
    if size is not None and size < MIN_MAX_FRAME_SIZE:
        raise Violation(
            SILENT,
            f"the server offers max-frame-size {size}, below {MIN_MAX_FRAME_SIZE}",
            rule="connection.tune/minimum",
        )
    config = connection.config
    channels = own_channel_max(config)
    if tune.channel_max is not None:
        # Servers write 0 for no limit too.
        channels = min(channels, tune.channel_max or channels)
    frame = min(config.max_frame_size, size or LARGEST_FRAME)
    beat = _heartbeat(config.heartbeat, tune.heartbeat_min, tune.heartbeat_max)
    _send(connection, ConnectionTuneOk(channels, frame, beat), ConnectionInput.C_TUNE_OK)
    agree(connection, channels, frame, beat)
    capabilities = _strings(config.capabilities) or None
    _send(connection, ConnectionOpen(config.vhost, capabilities, config.insist), ConnectionInput.C_OPEN)


def _heartbeat(wanted: int, least: int | None, most: int | None) -> int | None:
    """What is wanted, within what the server bears; None without a least one (rule no-heartbeat-min)."""
    if least is None or not wanted:
        return None
    wanted = max(wanted, least)
    return wanted if most is None else min(wanted, most)


def agree(connection: Connection, channels: int, frame: int, heartbeat: int | None) -> None:
    """Use the agreed limits from now on (connection.tune-ok)."""
    connection.channel_max = channels
    connection._max_frame = frame
    connection._incoming_max = frame
    connection._heartbeat = float(heartbeat or 0)


def _open_ok(connection: Connection, open_ok: ConnectionOpenOk) -> None:
    connection.known_hosts = tuple([str(host) for host in open_ok.known_hosts or ()])
    connection._timers.clear("handshake")
    connection._events.append(Opened(Scope.CONNECTION))


def _redirect(connection: Connection, redirect: ConnectionRedirect) -> None:
    if connection.config.insist:
        raise Violation(
            SILENT, "connection.redirect to a client that insists", rule="connection.open/insist"
        )
    hosts = tuple([str(host) for host in redirect.known_hosts or ()])
    connection._events.append(Redirected(redirect.host or "", hosts))
    text = f"redirected to {redirect.host}"
    closing.end_connection(connection, CloseReport(By.REMOTE, 0, text), CloseHint.CLOSE_NOW)


# Server.


def _start_client(connection: Connection) -> None:
    config = connection.config
    start = ConnectionStart(
        peer_properties(connection), _strings(config.mechanisms), _strings(config.locales)
    )
    _send(connection, start, ConnectionInput.S_START)


def _start_ok(connection: Connection, start_ok: ConnectionStartOk) -> None:
    properties = start_ok.client_properties
    connection.peer_properties = Map() if properties is None else Map(properties)
    name = start_ok.mechanism or ""
    config = connection.config
    if name not in config.mechanisms:
        raise Violation(
            SILENT,
            f"mechanism {name!r} was not offered ({' '.join(config.mechanisms)})",
            rule="connection.start-ok/validity",
        )
    connection.mechanism = name
    locale = start_ok.locale or DEFAULT_LOCALE
    connection.locale = locale if locale in config.locales else DEFAULT_LOCALE
    try:
        mechanism = sasl.server_mechanism(name, nonce=config.nonce)
    except sasl.SaslError as error:
        raise Violation(SILENT, str(error)) from error
    _server_step(connection, mechanism, *mechanism.start(start_ok.response or b""))


def _secure_ok(connection: Connection, secure_ok: ConnectionSecureOk) -> None:
    mechanism, state = connection._sasl
    _server_step(connection, mechanism, *mechanism.step(state, secure_ok.response or b""))


def _server_step(connection: Connection, mechanism: Any, state: Any, step: sasl.ServerStep) -> None:
    connection._sasl = (mechanism, state)
    if isinstance(step, sasl.Challenge):
        _send(connection, ConnectionSecure(step.data), ConnectionInput.S_SECURE)
    elif isinstance(step, sasl.NeedScramKeys):
        connection._waiting_for = SCRAM_KEYS
        connection._events.append(ScramKeysRequested(connection.mechanism, step.user))
    elif isinstance(step, (sasl.Credentials, sasl.Verified)):
        connection._waiting_for = AUTHENTICATION
        connection.user = step.user
        credentials = (
            sasl.Credentials(connection.mechanism, step.user, authzid=step.authzid)
            if isinstance(step, sasl.Verified)
            else step
        )
        connection._events.append(AuthenticationRequested(connection.mechanism, credentials))
    else:
        text = f"login refused: {step.text}"
        error = RemoteProtocolError(text, code=INVALID_PATH, offset=connection._unit_offset)
        connection._events.append(Failed(Scope.CONNECTION, 0, error, By.LOCAL))
        _refuse(connection, "the login was refused")


def check_decision(connection: Connection, what: str) -> None:
    """Raises LocalProtocolError when the application isn't asked for this decision, EndpointClosed at the end."""
    if connection._waiting_for != what or connection._lost:
        if connection._lost or connection._report is not None or connection._report_later is not None:
            connection._check_open()
        raise LocalProtocolError(f"no {what} is waiting for an answer")


def accept_authentication(connection: Connection) -> None:
    """Tune, now that the user is known."""
    check_decision(connection, AUTHENTICATION)
    config = connection.config
    tune = ConnectionTune(
        own_channel_max(config), config.max_frame_size, config.heartbeat_min, config.heartbeat_max
    )
    _send(connection, tune, ConnectionInput.S_TUNE)
    connection._waiting_for = connection._sasl = None


def refuse_authentication(connection: Connection, text: str) -> None:
    """Turn the client away."""
    check_decision(connection, AUTHENTICATION)
    _refuse(connection, text)


def _refuse(connection: Connection, text: str) -> None:
    """The grammar has no refusal: the connection is closed, as Qpid does it, with connection-forced."""
    connection._sasl = None
    closing.send_close(connection, CloseReport(By.LOCAL, closing.CONNECTION_FORCED, text))


def provide_scram_keys(connection: Connection, keys: sasl.ScramKeys | None) -> None:
    """Go on with SCRAM."""
    check_decision(connection, SCRAM_KEYS)
    mechanism, state = connection._sasl
    try:
        after = mechanism.keys(state, keys)
    except sasl.SaslError as error:
        raise LocalProtocolError(str(error)) from error
    connection._waiting_for = None
    _server_step(connection, mechanism, *after)


def _tune_ok(connection: Connection, tune_ok: ConnectionTuneOk) -> None:
    """Too much asked is answered by closing the socket (rules of connection.tune-ok)."""
    config = connection.config
    offered = own_channel_max(config)
    channels, size, beat = tune_ok.channel_max or 0, tune_ok.max_frame_size, tune_ok.heartbeat
    if channels > offered:
        raise Violation(
            SILENT, f"channel-max {channels}, offered was {offered}", rule="connection.tune-ok/channel-upper-limit"
        )
    if size is not None and size > config.max_frame_size:
        raise Violation(
            SILENT,
            f"max-frame-size {size}, offered was {config.max_frame_size}",
            rule="connection.tune-ok/frame-upper-limit",
        )
    if size is not None and size < MIN_MAX_FRAME_SIZE:
        raise Violation(
            SILENT, f"max-frame-size {size}, below {MIN_MAX_FRAME_SIZE}", rule="connection.tune-ok/minimum"
        )
    if beat:
        _check_heartbeat(beat, config.heartbeat_min, config.heartbeat_max)
    agree(connection, channels or offered, size or config.max_frame_size, beat)


def _check_heartbeat(beat: int, least: int | None, most: int | None) -> None:
    if least is None:
        raise Violation(
            SILENT, f"heartbeat {beat}, none was offered", rule="connection.tune-ok/no-heartbeat-min"
        )
    if beat < least or (most is not None and beat > most):
        raise Violation(
            SILENT, f"heartbeat {beat}, offered were {least} to {most}", rule="connection.tune-ok/heartbeat-range"
        )


def _open(connection: Connection, open_: ConnectionOpen) -> None:
    connection.vhost = open_.virtual_host or ""
    connection.capabilities = tuple([str(name) for name in open_.capabilities or ()])
    connection._insists = open_.insist
    connection._waiting_for = VHOST
    connection._events.append(OpenRequested(connection.vhost, open_.insist))


def accept_open(connection: Connection) -> None:
    """Let the client into the virtual host."""
    check_decision(connection, VHOST)
    hosts = _strings(connection.config.known_hosts)
    _send(connection, ConnectionOpenOk(hosts), ConnectionInput.S_OPEN_OK)
    connection._waiting_for = None
    connection._timers.clear("handshake")
    connection._events.append(Opened(Scope.CONNECTION))


def refuse_open(connection: Connection, code: int, text: str) -> None:
    """Close the connection instead of opening it."""
    check_decision(connection, VHOST)
    closing.send_close(connection, CloseReport(By.LOCAL, code, text))


def redirect(connection: Connection, host: str, known_hosts: tuple[str, ...]) -> None:
    """Send the client elsewhere. Raises LocalProtocolError when it insists on this server."""
    check_decision(connection, VHOST)
    if connection._insists:
        raise LocalProtocolError(
            "the client insists on this server: refuse it instead", rule="0-10/connection.open/insist"
        )
    _send(connection, ConnectionRedirect(host, _strings(known_hosts)), ConnectionInput.S_REDIRECT)
    connection._waiting_for = None
    report = CloseReport(By.LOCAL, 0, f"redirected to {host}")
    closing.end_connection(connection, report, CloseHint.CLOSE_WHEN_SENT)


_STEPS: Final[Mapping[type[Control], Callable[[Connection, Any], None]]] = {
    ConnectionStart: _start,
    ConnectionStartOk: _start_ok,
    ConnectionSecure: _secure,
    ConnectionSecureOk: _secure_ok,
    ConnectionTune: _tune,
    ConnectionTuneOk: _tune_ok,
    ConnectionOpen: _open,
    ConnectionOpenOk: _open_ok,
    ConnectionRedirect: _redirect,
}
