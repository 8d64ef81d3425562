"""The opening of a connection, client and server: headers, layers, open (1.0 part 2 sections 2.2 and 2.4.1)."""

# The modules of this package share one engine; its private state is theirs, not the caller's.
# pyright: reportPrivateUsage=false
from __future__ import annotations

from math import ceil
from typing import TYPE_CHECKING, Any, Final

from ..._version import __version__
from ...endpoint import CloseHint, Side
from ...errors import LocalProtocolError, RemoteProtocolError, Scope
from ...events import By, CloseReport, Failed, Opened, OpenRequested
from ..codec.conditions import NOT_ALLOWED, NOT_IMPLEMENTED
from ..codec.frames import (
    AMQP_HEADER,
    HEADER_SIZE,
    MIN_MAX_FRAME_SIZE,
    SASL_HEADER,
    TLS_HEADER,
    amqp_frame,
)
from ..codec.performatives import Error, Open
from ..codec.values import Symbol
from ..codec.violation import Violation, misuse
from ..model import hints
from . import closing, sasl_layer, tls_layer
from .config import own_channel_max, own_max_frame_size
from .stages import Stage

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .config import Config
    from .connection import Connection

OPEN: Final = "open"
DEFAULT_LOCALE: Final = "en-US"


def start(connection: Connection) -> None:
    """A client begins at once (part 2 section 2.2); without TLS and SASL its open goes with the header."""
    if tls_layer.is_wanted(connection):
        connection._out.append(TLS_HEADER)
    elif connection.config.sasl is not None:
        connection._out.append(SASL_HEADER)
    else:
        begin_layer(connection)
        connection._stage = Stage.FIRST


def begin_layer(connection: Connection) -> None:
    """The AMQP layer begins. A client needn't wait for the server's header and open (part 2 section 2.4.2)."""
    connection._stage = Stage.HEADER
    if connection.role is Side.CLIENT:
        _send_header(connection)
        send_open(connection, make_open(connection.config, {}))


def _send_header(connection: Connection) -> None:
    connection._joint.step_header(connection.role)
    connection._out.append(AMQP_HEADER)


def offered_header(config: Config) -> bytes:
    """The protocol header that a server with this configuration offers to who sent an unacceptable one."""
    if config.tls and config.tls_required:
        return TLS_HEADER
    return SASL_HEADER if config.mechanisms else AMQP_HEADER


def receive_header(connection: Connection) -> bool:
    """Take the peer's protocol header; False while octets are missing."""
    buffer = connection._buffer
    if not buffer.want(4):
        return False
    # Who doesn't begin with these four isn't waited for.
    size = HEADER_SIZE if buffer.data.startswith(b"AMQP", buffer.pos) else 4
    if not buffer.want(size):
        return False
    header = buffer.data[buffer.pos : buffer.pos + size]
    if connection.role is Side.SERVER:
        _client_header(connection, header)
    else:
        _server_header(connection, header)
    return True


def _wanted(connection: Connection) -> tuple[bytes, ...]:
    """The headers that are accepted here; the first is the one to offer."""
    if connection._stage in (Stage.HEADER, Stage.CLOSING):
        return (AMQP_HEADER,)
    config = connection.config
    tls = (TLS_HEADER,) if tls_layer.is_wanted(connection) else ()
    if connection.role is Side.CLIENT:
        return tls or ((SASL_HEADER,) if config.sasl is not None else (AMQP_HEADER,))
    if tls and config.tls_required:
        return tls
    if not config.mechanisms:
        return (AMQP_HEADER, SASL_HEADER, *tls)
    return (SASL_HEADER, *tls) if config.sasl_required else (SASL_HEADER, AMQP_HEADER, *tls)


def _client_header(connection: Connection, header: bytes) -> None:
    """A server reads a header: answer with the same, or with one that would do and close (part 2 section 2.2)."""
    wanted = _wanted(connection)
    if header not in wanted:
        # The version is the only one there is; of the protocol ids the one asked for, where it would do.
        same_id = [each for each in wanted if each[:5] == header[:5]]
        connection._out.append(same_id[0] if same_id else wanted[0])
        _differs(connection, header, By.LOCAL)
        return
    connection._buffer.pos += HEADER_SIZE
    if header == TLS_HEADER:
        tls_layer.begin(connection)
        return
    if header == SASL_HEADER:
        connection._out.append(SASL_HEADER)
        connection._stage = Stage.SASL
        sasl_layer.offer(connection)
        return
    connection._joint.step_header(Side.CLIENT)
    _send_header(connection)
    connection._stage = Stage.OPENING


def _server_header(connection: Connection, header: bytes) -> None:
    """A client reads the server's header, which is its own, or means no."""
    if header not in _wanted(connection):
        _differs(connection, header, By.REMOTE)
        return
    connection._buffer.pos += HEADER_SIZE
    if header == TLS_HEADER:
        tls_layer.begin(connection)
        return
    if header == SASL_HEADER:
        connection._stage = Stage.SASL
        return
    connection._joint.step_header(Side.SERVER)
    if connection._stage is not Stage.CLOSING:
        connection._stage = Stage.OPENING


def _differs(connection: Connection, header: bytes, by: By) -> None:
    """The headers differ: this side ends its stream, and its adapter reads on until the peer has."""
    if connection._report_later is not None:
        closing.end_connection(connection, connection._report_later, CloseHint.CLOSE_WHEN_SENT)
        return
    whole = len(header) == HEADER_SIZE
    hint = hints.of_first_octets(header)
    rule = "transport/version/unsupported" if whole else "transport/version/unparsable"
    if whole and header[5:] == AMQP_HEADER[5:]:
        rule = "transport/version/protocol-id"
    if by is By.LOCAL:
        text = f"protocol header {header!r} where {_numbers(_wanted(connection)[0])} is spoken"
        if tls_layer.is_wanted(connection) and connection.config.tls_required:
            hint = "the client began without TLS, which this server requires"
        elif header == AMQP_HEADER:
            hint = "the client began without SASL, which this server requires"
    elif whole:
        asked = _numbers(_wanted(connection)[0])
        text = f"the server {hints.speaks(header)}: it answers {asked} with {_numbers(header)}"
        hint = hints.for_server_header(header)
    else:
        by = By.LOCAL
        text = f"what the server sent is no protocol header: {header!r}"
        text = f"{text}; {hint}" if hint else text
    error = RemoteProtocolError(text, offset=connection._unit_offset, rule=f"1.0/{rule}")
    connection._events.append(Failed(Scope.CONNECTION, 0, error, by))
    report = CloseReport(by, 0, text, hint=hint, rule=error.rule)
    closing.end_connection(connection, report, CloseHint.CLOSE_WHEN_SENT)


def _numbers(header: bytes) -> str:
    return "-".join(str(octet) for octet in header[4:])


# Open.


def make_open(config: Config, changes: Mapping[str, Any]) -> Open:
    """What this end says of itself. Raises TypeError for changes that are no fields of open."""
    values: dict[str, Any] = {
        "container_id": config.container_id,
        "hostname": config.hostname,
        "max_frame_size": own_max_frame_size(config),
        "channel_max": own_channel_max(config),
        # A real threshold is twice what is announced (part 2 section 2.4.5).
        "idle_time_out": ceil(config.idle_time_out * 500) or None,
        "outgoing_locales": _symbols(config.outgoing_locales),
        "incoming_locales": _symbols(config.incoming_locales),
        "offered_capabilities": _symbols(config.offered_capabilities),
        "desired_capabilities": _symbols(config.desired_capabilities),
        "properties": _properties(config),
    }
    values.update(changes)
    return Open(**values)


def _symbols(names: tuple[str, ...]) -> tuple[Symbol, ...]:
    return tuple([Symbol(name) for name in names])


def _properties(config: Config) -> dict[Symbol, Any]:
    properties: dict[Symbol, Any] = {
        Symbol("product"): "amqp_sansio",
        Symbol("version"): __version__,
        Symbol("platform"): "Python",
    }
    for name, value in config.properties.items():
        properties[Symbol(name)] = value
    return properties


def send_open(connection: Connection, open_: Open) -> None:
    """Queue this end's open. Raises LocalProtocolError for one that can't be sent, with nothing changed."""
    octets = amqp_frame(0, open_.encode())
    most = connection._max_frame
    if len(octets) > most:
        unknown = connection.peer_open is None
        rule = "connection/pre-open-limits" if unknown else "open/max-frame-size"
        raise LocalProtocolError(
            f"open takes a frame of {len(octets)} octets, {most} are allowed; "
            "make properties and capabilities shorter",
            rule=f"1.0/transport/{rule}",
        )
    connection._joint.step(connection.role, 0, open_)
    connection.own_open = open_
    connection._queue_octets(octets)


def receive_open(connection: Connection, open_: Open) -> None:
    """The peer's open is there and fits. Raises Violation."""
    connection.peer_open = open_
    connection._max_frame = max(open_.max_frame_size, MIN_MAX_FRAME_SIZE)
    check_peer(connection, open_)
    connection._stage = Stage.FRAMES
    idle = open_.idle_time_out or 0
    connection._send_within = idle / 1000
    if connection.role is Side.SERVER:
        connection._waiting_for = OPEN
        connection._events.append(OpenRequested(open_.hostname or ""))
        return
    connection._timers.clear("handshake")
    connection._events.append(Opened(Scope.CONNECTION))


def check_peer(connection: Connection, open_: Open) -> None:
    """Turn away a peer whose limits or capabilities won't do. Raises Violation."""
    config = connection.config
    idle = open_.idle_time_out or 0
    if 0 < idle < config.least_idle_time_out * 1000:
        raise Violation(
            NOT_ALLOWED,
            f"idle-time-out {idle} ms is too short, {ceil(config.least_idle_time_out * 1000)} ms is the least",
            rule="transport/connection/idle-unsupported",
        )
    offered = open_.offered_capabilities
    missing = [name for name in config.required_capabilities if name not in offered]
    if missing:
        raise Violation(
            NOT_IMPLEMENTED,
            f"the peer doesn't offer {', '.join(missing)}",
            rule="transport/open/offered-missing",
        )


def chosen_locale(wanted: tuple[str, ...], supported: tuple[str, ...]) -> str:
    """The locale of informational text: the first wanted one that is there, else en-US (part 2 section 2.7.1).

    >>> chosen_locale(("de-DE", "fr-FR"), ("en-US", "fr-FR"))
    'fr-FR'
    """
    for name in wanted:
        if name in supported:
            return name
    return DEFAULT_LOCALE


def check_decision(connection: Connection, what: str) -> None:
    """Raises LocalProtocolError when the application isn't asked for this decision, EndpointClosed at the end."""
    if connection._waiting_for != what or connection._lost:
        if connection._lost or connection._stage in (Stage.CLOSING, Stage.ENDED):
            connection._check_open()
        raise LocalProtocolError(f"no {what} is waiting for an answer")


def accept_open(connection: Connection, changes: Mapping[str, Any]) -> None:
    """Send the server's open; the connection is open."""
    check_decision(connection, OPEN)
    open_ = make_open(connection.config, changes)
    if open_.max_frame_size < MIN_MAX_FRAME_SIZE:
        raise LocalProtocolError(
            f"max-frame-size {open_.max_frame_size}, every peer takes {MIN_MAX_FRAME_SIZE}",
            rule="1.0/transport/open/max-frame-size-min",
        )
    if open_.max_frame_size > connection.config.limits.unparsed:
        raise LocalProtocolError(
            f"max-frame-size {open_.max_frame_size}, Limits.unparsed is {connection.config.limits.unparsed}"
        )
    try:
        send_open(connection, open_)
    except Violation as violation:
        raise misuse(violation) from violation
    connection._incoming_max = open_.max_frame_size
    connection._waiting_for = None
    connection._timers.clear("handshake")
    connection._events.append(Opened(Scope.CONNECTION))


def refuse_open(connection: Connection, error: Error) -> None:
    """Send an open, which has to come first, and a close that says why."""
    check_decision(connection, OPEN)
    connection._waiting_for = None
    closing.send_close(
        connection,
        CloseReport(By.LOCAL, 0, error.description or "", condition=str(error.condition)),
        error,
    )
