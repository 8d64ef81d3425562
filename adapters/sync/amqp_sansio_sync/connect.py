"""connect: from an AMQP URI to an open connection, by version.

0-9-1 section 2.2.4, 0-10 part 1 section 4.3, 1.0 part 2 section 2.4.1.
"""

from __future__ import annotations

import ssl as ssl_module
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypedDict, cast, overload

from amqp_sansio import AMQP_0_8, AMQP_0_9_1, AMQP_0_10, AMQP_1_0, Limits, Version
from amqp_sansio.amqp_0_9_1 import Config, Dialect
from amqp_sansio.amqp_0_9_1 import Connection as CoreConnection
from amqp_sansio.client.classic.client import ClassicClient
from amqp_sansio.client.classic.connection import Connection as AsyncConnection
from amqp_sansio.client.recovery import RecoveryPolicy, policy_of
from amqp_sansio.errors import EndpointClosed
from amqp_sansio.sasl import ClientMechanism
from amqp_sansio.uri import AmqpUri, parse

from .classic import Connection
from .driver import Driver
from .opening import DEFAULT_MECHANISMS, Prepared, mechanisms, open_connection, open_transport, tls
from .recording import RecordTarget

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from amqp_sansio.client.classic.client import Core
    from amqp_sansio.client.driving import BaseClient

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
    url: str | AmqpUri | Sequence[str | AmqpUri],
    *,
    version: Literal[Version.AMQP_0_9_1, Version.AMQP_0_8] = AMQP_0_9_1,
    ssl: ssl_module.SSLContext | None = None,
    timeout: float | None = None,
    record: RecordTarget | None = None,
    record_secrets: bool = False,
    recover: bool | RecoveryPolicy = False,
    **options: Unpack[ConfigOptions],
) -> Connection: ...
@overload
def connect(
    url: str | AmqpUri | Sequence[str | AmqpUri],
    *,
    version: Literal[Version.AMQP_1_0],
    ssl: ssl_module.SSLContext | None = None,
    timeout: float | None = None,
    record: RecordTarget | None = None,
    record_secrets: bool = False,
    recover: bool | RecoveryPolicy = False,
    **options: Unpack[OneZeroOptions],
) -> OneZeroConnection: ...
@overload
def connect(
    url: str | AmqpUri | Sequence[str | AmqpUri],
    *,
    version: Literal[Version.AMQP_0_10],
    ssl: ssl_module.SSLContext | None = None,
    timeout: float | None = None,
    record: RecordTarget | None = None,
    record_secrets: bool = False,
    recover: bool | RecoveryPolicy = False,
    **options: Unpack[ZeroTenOptions],
) -> ZeroTenConnection: ...
@overload
def connect(
    url: str | AmqpUri | Sequence[str | AmqpUri],
    *,
    version: Version,
    ssl: ssl_module.SSLContext | None = None,
    timeout: float | None = None,
    record: RecordTarget | None = None,
    record_secrets: bool = False,
    recover: bool | RecoveryPolicy = False,
    **options: Any,
) -> Connection | OneZeroConnection | ZeroTenConnection: ...
def connect(
    url: str | AmqpUri | Sequence[str | AmqpUri],
    *,
    version: Version = AMQP_0_9_1,
    ssl: ssl_module.SSLContext | None = None,
    timeout: float | None = None,
    record: RecordTarget | None = None,
    record_secrets: bool = False,
    recover: bool | RecoveryPolicy = False,
    **options: Any,
) -> Connection | OneZeroConnection | ZeroTenConnection:
    """Connect to a broker: `with connect(url) as connection`, or call it and close the connection later.

    `url` is an amqp or amqps URL (see `amqp_sansio.uri`), `version` AMQP_0_9_1, AMQP_0_8, AMQP_0_10 or AMQP_1_0. amqps
    verifies the certificate and the host name unless the URL says otherwise; `ssl` replaces the context. `timeout`
    limits the whole call, in seconds (None: the URL's connection_timeout, else `handshake_timeout`). `record` writes
    the connection to a pcapng file, with SASL responses blanked unless `record_secrets`. With `recover`, True or a
    `RecoveryPolicy`, a connection of 0-8 or 0-9-1 that is lost later is opened again, with all that was open on it, and
    `url` may be several to try in turn. `options` are fields of the
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
    policy = policy_of(recover)
    urls = [url] if isinstance(url, (str, AmqpUri)) else [*url]
    uris = [parse(each) if isinstance(each, str) else each for each in (*urls, *(policy.addresses if policy else ()))]
    uri = uris[0]
    if version is AMQP_1_0:
        from .amqp_1_0.opening import prepare

        one_zero = prepare(uri, cast("OneZeroOptions", options))
        return open_connection(one_zero, uri, tls(uri, ssl), timeout, record, record_secrets)
    if version is AMQP_0_10:
        from .amqp_0_10.opening import prepare as prepare_zero_ten

        zero_ten = prepare_zero_ten(uri, cast("ZeroTenOptions", options))
        return open_connection(zero_ten, uri, tls(uri, ssl), timeout, record, record_secrets)
    classic = cast("ConfigOptions", options)
    drivers: list[Driver] = []

    def prepared(uri: AmqpUri) -> Prepared[Connection]:
        client = _client(uri, version, classic)

        def make(transport: Transport) -> tuple[Driver, Connection]:
            driver = Driver(client, transport, lambda: client.core.heartbeat / 2)
            drivers.append(driver)
            return driver, Connection(driver, AsyncConnection(client, uri))

        return Prepared(client.config.handshake_timeout, make)

    for place, uri in enumerate(uris):
        try:
            connection = open_connection(prepared(uri), uri, tls(uri, ssl), timeout, record, record_secrets)
        except (OSError, EndpointClosed):
            if place == len(uris) - 1:
                raise
            continue
        if policy is not None:
            _recover(
                drivers[-1], policy, [*uris[place:], *uris[:place]], lambda uri: _client(uri, version, classic), ssl
            )
        return connection
    raise ValueError("connect needs at least one URL")


def _recover(
    driver: Driver,
    policy: RecoveryPolicy,
    uris: Sequence[AmqpUri],
    make: Callable[[AmqpUri], BaseClient[Any]],
    ssl: ssl_module.SSLContext | None,
) -> None:
    """Let a connection recover; later transports aren't recorded."""
    seconds = driver.client.config.handshake_timeout

    def reopen(place: int) -> tuple[Any, Callable[[], Transport]]:
        uri = uris[place]
        return make(uri).core, lambda: open_transport(uri, tls(uri, ssl), seconds)

    driver.recover(policy, tuple(map(str, uris)), reopen)


def _client(uri: AmqpUri, version: Version, options: ConfigOptions) -> ClassicClient:
    return ClassicClient(_core(version, _config(uri, options)))


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
