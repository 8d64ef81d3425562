"""connect: from an AMQP URI to an open connection: socket, TLS, login (0-9-1 section 2.2.4)."""

from __future__ import annotations

import secrets
import socket
import ssl as ssl_module
from collections.abc import Mapping
from time import monotonic
from typing import TYPE_CHECKING, Any, Final, TypedDict

from amqp_sansio import AMQP_0_8, AMQP_0_9_1, EndpointClosed, Limits, Version
from amqp_sansio.amqp_0_9_1 import Config, Dialect
from amqp_sansio.amqp_0_9_1 import Connection as CoreConnection
from amqp_sansio.sasl import ClientMechanism, client_mechanisms, with_nonce
from amqp_sansio.uri import AmqpUri, parse

from .connection import Connection
from .recording import Recorder, RecordTarget
from .transport import Transport

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from .link import Core

DEFAULT_MECHANISMS: Final = ("SCRAM-SHA-256", "PLAIN", "AMQPLAIN")


class ConfigOptions(TypedDict, total=False):
    """The fields of `Config` that `connect` takes by keyword; they win over the URL."""

    sasl: ClientMechanism | tuple[ClientMechanism, ...]
    vhost: str
    heartbeat: float
    channel_max: int
    frame_max: int
    locale: str
    properties: Mapping[str, Any]
    limits: Limits
    dialect: Dialect
    validate_content: bool
    handshake_timeout: float
    close_timeout: float


def connect(
    url: str | AmqpUri,
    *,
    version: Version = AMQP_0_9_1,
    ssl: ssl_module.SSLContext | None = None,
    timeout: float | None = None,
    record: RecordTarget | None = None,
    record_secrets: bool = False,
    **options: Unpack[ConfigOptions],
) -> Connection:
    """Connect to a broker: `with connect(url) as connection`, or call it and close the connection later.

    `url` is an amqp or amqps URL (see `amqp_sansio.uri`), `version` AMQP_0_9_1 or AMQP_0_8. amqps verifies the
    certificate and the host name unless the URL says otherwise; `ssl` replaces the context. `timeout` is how
    many seconds all of it may take (None: the URL's connection_timeout, else `handshake_timeout`). `record`
    writes the connection to a pcapng file, SASL responses blanked unless `record_secrets`. `options` are fields
    of `Config` and win over the URL.

    Raises OSError (TimeoutError, ssl.SSLError) when there is no transport or no answer in time, EndpointClosed
    with the reason when the server refuses, UriError and ValueError for what can't be meant.

    >>> def example(url: str) -> int:
    ...     with connect(url, heartbeat=30) as connection:
    ...         channel = connection.open_channel()
    ...         return channel.number
    """
    uri = parse(url) if isinstance(url, str) else url
    config = _config(uri, options)
    context, server_name = _tls(uri, ssl)
    core = _core(version, config)
    seconds = timeout if timeout is not None else uri.connection_timeout or config.handshake_timeout
    deadline = monotonic() + seconds
    ours = (
        None
        if record is None or isinstance(record, Recorder)
        else Recorder(record, record_secrets=record_secrets)
    )
    recorder = record if isinstance(record, Recorder) else ours
    try:
        connected = _open_socket(uri, context, server_name, deadline)
        recording = None
        if recorder is not None:
            recording = recorder.open(
                connected.getsockname(), connected.getpeername(), ours is not None
            )
        connection = Connection(core, Transport(connected, recording), uri)
    except BaseException:
        if ours is not None:
            ours.close()
        raise
    try:
        _open(connection, deadline, seconds)
    except BaseException:
        connection.link.stop("the opening was given up")
        raise
    connection.link.keeper.start(connection.link)
    return connection


def _config(uri: AmqpUri, options: ConfigOptions) -> Config:
    """The configuration for one connection, with fresh randomness for SCRAM."""
    unknown = options.keys() - ConfigOptions.__optional_keys__
    if unknown:
        raise TypeError(f"connect takes no {', '.join(sorted(unknown))}")
    fields: dict[str, Any] = {"vhost": uri.vhost}
    for name in ("heartbeat", "channel_max", "frame_max"):
        value = getattr(uri, name)
        if value is not None:
            fields[name] = value
    fields.update(options)
    given: ClientMechanism | tuple[ClientMechanism, ...] | None = fields.get("sasl")
    if given is None:
        user = "guest" if uri.user is None else uri.user
        password = "guest" if uri.user is None and uri.password is None else uri.password or ""
        given = client_mechanisms(uri.auth_mechanism or DEFAULT_MECHANISMS, user, password)
    mechanisms = given if isinstance(given, tuple) else (given,)
    # 24 octets of randomness are 192 bits; RFC 5802 wants a nonce that nobody can guess.
    fields["sasl"] = tuple([with_nonce(each, secrets.token_urlsafe(24)) for each in mechanisms])
    return Config(**fields)


def _core(version: Version, config: Config) -> Core:
    if version is AMQP_0_9_1:
        return CoreConnection.client(config)
    if version is AMQP_0_8:
        from amqp_sansio.amqp_0_8 import Connection as CoreConnection08

        return CoreConnection08.client(config)
    raise ValueError(f"AMQP {version.label} can't be spoken here; 0-8 and 0-9-1 can")


def _tls(
    uri: AmqpUri, given: ssl_module.SSLContext | None
) -> tuple[ssl_module.SSLContext | None, str | None]:
    """The context and the server name for TLS; None and None for amqp URLs."""
    if not uri.tls:
        if given is not None:
            raise ValueError("an ssl context was given for an amqp:// URL; write amqps://")
        return None, None
    if given is not None:
        if any(
            each is not None for each in (uri.cacertfile, uri.certfile, uri.keyfile, uri.verify)
        ):
            raise ValueError("TLS is set up by the URL and by an ssl context; use one of them")
        context = given
    else:
        context = ssl_module.create_default_context(cafile=uri.cacertfile)
        if uri.verify == "verify_none":
            context.check_hostname = False
            context.verify_mode = ssl_module.CERT_NONE
        if uri.certfile is not None:
            context.load_cert_chain(uri.certfile, uri.keyfile)
        elif uri.keyfile is not None:
            raise ValueError("the URL has a keyfile but no certfile")
    name = uri.server_name_indication or uri.host
    if name == "disable":
        if context.check_hostname:
            raise ValueError(
                "server_name_indication=disable leaves no name to check the certificate against; "
                "it needs verify=verify_none"
            )
        return context, None
    return context, name


def _open_socket(
    uri: AmqpUri, context: ssl_module.SSLContext | None, server_name: str | None, deadline: float
) -> socket.socket:
    try:
        connected = socket.create_connection((uri.host, uri.port), _left(deadline))
    except TimeoutError as error:
        raise TimeoutError(f"no connection to {uri}: nothing answers in time") from error
    except OSError as error:
        error.strerror = f"no connection to {uri}: {error.strerror or error}"
        raise
    try:
        # A frame is whole when it is written; to wait for more would only delay it.
        connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if context is None:
            return connected
        connected.settimeout(_left(deadline))
        return context.wrap_socket(connected, server_hostname=server_name)
    except ssl_module.SSLCertVerificationError:
        connected.close()
        raise
    except ssl_module.SSLError as error:
        connected.close()
        text = f"no TLS with {uri.host}:{uri.port}, perhaps the port is one without TLS: {error}"
        raise ssl_module.SSLError(error.errno, text) from error
    except TimeoutError as error:
        connected.close()
        raise TimeoutError(f"no TLS with {uri.host}:{uri.port}: no answer in time") from error
    except BaseException:
        connected.close()
        raise


def _open(connection: Connection, deadline: float, seconds: float) -> None:
    link = connection.link
    try:
        link.wait(lambda: link.core.is_open, max(0.0, deadline - monotonic()), "the opening")
    except TimeoutError:
        text = f"no connection to {connection.uri} within {seconds:g} seconds, it is {link.core.state.value}"
        raise TimeoutError(text) from None
    except EndpointClosed as error:
        text = f"no connection to {connection.uri}: {error.report or error}"
        raise EndpointClosed(text, error.report) from error.__cause__


def _left(deadline: float) -> float:
    return max(0.001, deadline - monotonic())


__all__ = ["DEFAULT_MECHANISMS", "ConfigOptions", "connect"]
