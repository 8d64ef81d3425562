"""`connect`: a client connection to a broker (0-9-1 section 2.2.4)."""

from __future__ import annotations

import ssl as ssl_module
from typing import TYPE_CHECKING, Any, Literal, cast, overload

from amqp_sansio.client.classic.client import ClassicClient
from amqp_sansio.client.classic.connection import Connection
from amqp_sansio.client.opening import Opening
from amqp_sansio.uri import AmqpUri, parse
from amqp_sansio.versions import AMQP_0_9_1, AMQP_0_10, AMQP_1_0, Version

from .classic import ConfigOptions, client_config, client_core
from .client_driver import ClientDriver
from .connector import Connector, establish
from .recording import RecordTarget

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from amqp_sansio.client.amqp_0_10.connection import Connection as Connection_0_10
    from amqp_sansio.client.amqp_1_0.connection import Connection as Connection_1_0

    from .amqp_0_10.settings import ConfigOptions as Options_0_10
    from .amqp_1_0.settings import ConfigOptions as Options_1_0


@overload
def connect(
    url: str | AmqpUri,
    *,
    version: Literal[Version.AMQP_1_0],
    ssl: ssl_module.SSLContext | None = None,
    record: RecordTarget | None = None,
    record_secrets: bool = False,
    connector: Connector | None = None,
    **options: Unpack[Options_1_0],
) -> Opening[Connection_1_0]: ...
@overload
def connect(
    url: str | AmqpUri,
    *,
    version: Literal[Version.AMQP_0_10],
    ssl: ssl_module.SSLContext | None = None,
    record: RecordTarget | None = None,
    record_secrets: bool = False,
    connector: Connector | None = None,
    **options: Unpack[Options_0_10],
) -> Opening[Connection_0_10]: ...
@overload
def connect(
    url: str | AmqpUri,
    *,
    version: Literal[Version.AMQP_0_9_1, Version.AMQP_0_8] = AMQP_0_9_1,
    ssl: ssl_module.SSLContext | None = None,
    record: RecordTarget | None = None,
    record_secrets: bool = False,
    connector: Connector | None = None,
    **options: Unpack[ConfigOptions],
) -> Opening[Connection]: ...
@overload
def connect(
    url: str | AmqpUri,
    *,
    version: Version,
    ssl: ssl_module.SSLContext | None = None,
    record: RecordTarget | None = None,
    record_secrets: bool = False,
    connector: Connector | None = None,
    **options: Any,
) -> Opening[Any]: ...
def connect(
    url: str | AmqpUri,
    *,
    version: Version = AMQP_0_9_1,
    ssl: ssl_module.SSLContext | None = None,
    record: RecordTarget | None = None,
    record_secrets: bool = False,
    connector: Connector | None = None,
    **options: Any,
) -> Opening[Any]:
    """Connect to a broker: `async with connect(url) as connection`, or `connection = await connect(url)` and close it
    later.

    `url` is an amqp or amqps URL (see `amqp_sansio.uri`), `version` AMQP_0_9_1, AMQP_0_8, AMQP_0_10, which returns a
    connection of `amqp_sansio_asyncio.amqp_0_10`, or AMQP_1_0, which returns one of `.amqp_1_0`. amqps verifies the
    certificate and the host name unless the URL says otherwise; `ssl` replaces the context. `record` writes the
    connection to a pcapng file, with SASL responses blanked unless `record_secrets`. `connector` supplies a transport
    other than TCP. `options` are fields of the version's `Config`, see the version's `ConfigOptions`, and override the
    URL.

    Raises OSError (TimeoutError after the URL's connection_timeout or `handshake_timeout` seconds, ssl.SSLError) if
    there is no transport, EndpointClosed with the reason if the server refuses, UriError and ValueError for invalid
    arguments.

    >>> async def example(url: str) -> int:
    ...     async with connect(url, heartbeat=30) as connection:
    ...         channel = await connection.open_channel()
    ...         return channel.number
    """
    recording = record, record_secrets
    if version is AMQP_1_0:
        from .amqp_1_0.connection import connect_amqp_1_0

        newer = cast("Options_1_0", options)
        return Opening(lambda: connect_amqp_1_0(url, ssl, recording, connector, newer))
    if version is AMQP_0_10:
        ten = cast("Options_0_10", options)
        return Opening(lambda: _connect_0_10(url, ssl, recording, connector, ten))
    classic = cast("ConfigOptions", options)
    return Opening(lambda: _connect(url, version, ssl, recording, connector, classic))


async def _connect(
    url: str | AmqpUri,
    version: Version,
    ssl: ssl_module.SSLContext | None,
    record: tuple[RecordTarget | None, bool],
    connector: Connector | None,
    options: ConfigOptions,
) -> Connection:
    uri = parse(url) if isinstance(url, str) else url
    core = client_core(version, client_config(uri, options))
    client = ClassicClient(core)
    await establish(uri, client, ClientDriver, ssl, record, connector)
    return Connection(client, uri)


async def _connect_0_10(
    url: str | AmqpUri,
    ssl: ssl_module.SSLContext | None,
    record: tuple[RecordTarget | None, bool],
    connector: Connector | None,
    options: Options_0_10,
) -> Connection_0_10:
    # Programs without 0-10 don't load its engine.
    from amqp_sansio.amqp_0_10 import Connection as Core
    from amqp_sansio.client.amqp_0_10.client import Client
    from amqp_sansio.client.amqp_0_10.connection import Connection as Connection_0_10

    from .amqp_0_10.settings import client_config as config_0_10

    uri = parse(url) if isinstance(url, str) else url
    client = Client(Core.client(config_0_10(uri, options)))
    await establish(uri, client, ClientDriver, ssl, record, connector)
    return Connection_0_10(client, uri)


__all__ = ["Connection", "Connector", "connect"]
