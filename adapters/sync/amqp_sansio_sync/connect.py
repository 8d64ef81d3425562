"""connect: from an AMQP URI to an open connection, by version.

0-9-1 section 2.2.4, 0-10 part 1 section 4.3, 1.0 part 2 section 2.4.1.
"""

from __future__ import annotations

import ssl as ssl_module
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, TypedDict, cast, overload

from amqp_sansio import AMQP_0_8, AMQP_0_9_1, AMQP_0_10, AMQP_1_0, Limits, Version
from amqp_sansio.amqp_0_9_1 import Config, Dialect
from amqp_sansio.amqp_0_9_1 import Connection as CoreConnection
from amqp_sansio.client.classic.client import ClassicClient
from amqp_sansio.client.classic.connection import Connection as AsyncConnection
from amqp_sansio.sasl import ClientMechanism
from amqp_sansio.uri import AmqpUri, parse

from .classic import Connection
from .driver import Driver
from .opening import DEFAULT_MECHANISMS, Prepared, mechanisms, open_connection, tls
from .recording import RecordTarget

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from amqp_sansio.client.classic.client import Core

    from .amqp_0_10 import ZeroTenConnection, ZeroTenOptions
    from .amqp_1_0 import OneZeroConnection, OneZeroOptions
    from .transport import Transport


class ConfigOptions(TypedDict, total=False):
    """The fields of `Config` that `connect` takes by keyword; they override the URL."""

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


@overload
def connect(
    url: str | AmqpUri,
    *,
    version: Literal[Version.AMQP_0_9_1, Version.AMQP_0_8] = AMQP_0_9_1,
    ssl: ssl_module.SSLContext | None = None,
    timeout: float | None = None,
    record: RecordTarget | None = None,
    record_secrets: bool = False,
    **options: Unpack[ConfigOptions],
) -> Connection: ...
@overload
def connect(
    url: str | AmqpUri,
    *,
    version: Literal[Version.AMQP_1_0],
    ssl: ssl_module.SSLContext | None = None,
    timeout: float | None = None,
    record: RecordTarget | None = None,
    record_secrets: bool = False,
    **options: Unpack[OneZeroOptions],
) -> OneZeroConnection: ...
@overload
def connect(
    url: str | AmqpUri,
    *,
    version: Literal[Version.AMQP_0_10],
    ssl: ssl_module.SSLContext | None = None,
    timeout: float | None = None,
    record: RecordTarget | None = None,
    record_secrets: bool = False,
    **options: Unpack[ZeroTenOptions],
) -> ZeroTenConnection: ...
@overload
def connect(
    url: str | AmqpUri,
    *,
    version: Version,
    ssl: ssl_module.SSLContext | None = None,
    timeout: float | None = None,
    record: RecordTarget | None = None,
    record_secrets: bool = False,
    **options: Any,
) -> Connection | OneZeroConnection | ZeroTenConnection: ...
def connect(
    url: str | AmqpUri,
    *,
    version: Version = AMQP_0_9_1,
    ssl: ssl_module.SSLContext | None = None,
    timeout: float | None = None,
    record: RecordTarget | None = None,
    record_secrets: bool = False,
    **options: Any,
) -> Connection | OneZeroConnection | ZeroTenConnection:
    """Connect to a broker: `with connect(url) as connection`, or call it and close the connection later.

    `url` is an amqp or amqps URL (see `amqp_sansio.uri`), `version` AMQP_0_9_1, AMQP_0_8, AMQP_0_10 or AMQP_1_0. amqps
    verifies the certificate and the host name unless the URL says otherwise; `ssl` replaces the context. `timeout`
    limits the whole call, in seconds (None: the URL's connection_timeout, else `handshake_timeout`). `record` writes
    the connection to a pcapng file, with SASL responses blanked unless `record_secrets`. `options` are fields of the
    version's `Config` and override the URL: see `ConfigOptions`, in 0-10 `ZeroTenOptions`, in 1.0 `OneZeroOptions`.

    Raises OSError (TimeoutError, ssl.SSLError) if there is no transport or no answer in time, EndpointClosed with the
    reason if the server refuses, UriError and ValueError for invalid arguments.

    >>> def example(url: str) -> int:
    ...     with connect(url, heartbeat=30) as connection:
    ...         channel = connection.open_channel()
    ...         return channel.number
    >>> def example_1_0(url: str) -> object:
    ...     with connect(url, version=AMQP_1_0) as connection:
    ...         session = connection.open_session()
    ...         with session.open_sender("jobs") as sender:
    ...             return sender.send(b"hello")
    """
    uri = parse(url) if isinstance(url, str) else url
    if version is AMQP_1_0:
        from .amqp_1_0.opening import prepare

        one_zero = prepare(uri, cast("OneZeroOptions", options))
        return open_connection(one_zero, uri, tls(uri, ssl), timeout, record, record_secrets)
    if version is AMQP_0_10:
        from .amqp_0_10.opening import prepare as prepare_zero_ten

        zero_ten = prepare_zero_ten(uri, cast("ZeroTenOptions", options))
        return open_connection(zero_ten, uri, tls(uri, ssl), timeout, record, record_secrets)
    classic = _prepare(uri, version, cast("ConfigOptions", options))
    return open_connection(classic, uri, tls(uri, ssl), timeout, record, record_secrets)


def _prepare(uri: AmqpUri, version: Version, options: ConfigOptions) -> Prepared[Connection]:
    config = _config(uri, options)
    core = _core(version, config)
    return Prepared(config.handshake_timeout, lambda transport: _connection(core, transport, uri))


def _connection(core: Core, transport: Transport, uri: AmqpUri) -> tuple[Driver, Connection]:
    client = ClassicClient(core)
    driver = Driver(client, transport, lambda: core.heartbeat / 2)
    return driver, Connection(driver, AsyncConnection(client, uri))


def _config(uri: AmqpUri, options: ConfigOptions) -> Config:
    """The configuration for one connection."""
    unknown = options.keys() - ConfigOptions.__optional_keys__
    if unknown:
        raise TypeError(f"connect takes no {', '.join(sorted(unknown))}")
    fields: dict[str, Any] = {"vhost": uri.vhost}
    for name in ("heartbeat", "channel_max", "frame_max"):
        value = getattr(uri, name)
        if value is not None:
            fields[name] = value
    fields.update(options)
    fields["sasl"] = mechanisms(uri, fields.get("sasl"))
    return Config(**fields)


def _core(version: Version, config: Config) -> Core:
    if version is AMQP_0_8:
        from amqp_sansio.amqp_0_8 import Connection as CoreConnection08

        return CoreConnection08.client(config)
    return CoreConnection.client(config)


__all__ = ["DEFAULT_MECHANISMS", "ConfigOptions", "connect"]
