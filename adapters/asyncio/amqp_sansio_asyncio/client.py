"""`connect`: a client connection to a broker (0-9-1 section 2.2.4)."""

from __future__ import annotations

import asyncio
import ssl as ssl_module
from collections.abc import Coroutine, Sequence
from typing import TYPE_CHECKING, Any, Literal, overload

from amqp_sansio.client.connecting import new_connection
from amqp_sansio.client.connection import AnyConnection
from amqp_sansio.client.opening import Opening
from amqp_sansio.client.reaching import Route
from amqp_sansio.client.recovery import RecoveryPolicy, policy_of
from amqp_sansio.client.settings import version_named
from amqp_sansio.uri import AmqpUri
from amqp_sansio.versions import AMQP_0_9_1, Version

from .connector import Connector, Establisher, draw_of
from .recording import RecordTarget

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from amqp_sansio.client.amqp_0_10.connection import Connection as Connection_0_10
    from amqp_sansio.client.amqp_0_10.settings import ConfigOptions as Options_0_10
    from amqp_sansio.client.amqp_1_0.connection import Connection as Connection_1_0
    from amqp_sansio.client.amqp_1_0.settings import ConfigOptions as Options_1_0
    from amqp_sansio.client.classic.connection import Connection
    from amqp_sansio.client.classic.settings import ConfigOptions


@overload
def connect(
    url: str | AmqpUri | Sequence[str | AmqpUri],
    *,
    version: Literal[Version.AMQP_1_0, "1.0"],
    ssl: ssl_module.SSLContext | None = None,
    record: RecordTarget | None = None,
    record_secrets: bool = False,
    connector: Connector | None = None,
    recover: bool | RecoveryPolicy = False,
    wait: float = 0.0,
    **options: Unpack[Options_1_0],
) -> Opening[Connection_1_0]: ...
@overload
def connect(
    url: str | AmqpUri | Sequence[str | AmqpUri],
    *,
    version: Literal[Version.AMQP_0_10, "0-10"],
    ssl: ssl_module.SSLContext | None = None,
    record: RecordTarget | None = None,
    record_secrets: bool = False,
    connector: Connector | None = None,
    recover: bool | RecoveryPolicy = False,
    wait: float = 0.0,
    **options: Unpack[Options_0_10],
) -> Opening[Connection_0_10]: ...
@overload
def connect(
    url: str | AmqpUri | Sequence[str | AmqpUri],
    *,
    version: Literal[Version.AMQP_0_9_1, Version.AMQP_0_8, "0-9-1", "0-8"] = AMQP_0_9_1,
    ssl: ssl_module.SSLContext | None = None,
    record: RecordTarget | None = None,
    record_secrets: bool = False,
    connector: Connector | None = None,
    recover: bool | RecoveryPolicy = False,
    wait: float = 0.0,
    **options: Unpack[ConfigOptions],
) -> Opening[Connection]: ...
@overload
def connect(
    url: str | AmqpUri | Sequence[str | AmqpUri],
    *,
    version: Version | str,
    ssl: ssl_module.SSLContext | None = None,
    record: RecordTarget | None = None,
    record_secrets: bool = False,
    connector: Connector | None = None,
    recover: bool | RecoveryPolicy = False,
    wait: float = 0.0,
    **options: Any,
) -> Opening[Any]: ...
def connect(
    url: str | AmqpUri | Sequence[str | AmqpUri],
    *,
    version: Version | str = AMQP_0_9_1,
    ssl: ssl_module.SSLContext | None = None,
    record: RecordTarget | None = None,
    record_secrets: bool = False,
    connector: Connector | None = None,
    recover: bool | RecoveryPolicy = False,
    wait: float = 0.0,
    **options: Any,
) -> Opening[Any]:
    """Connect to a broker: `async with connect(url) as connection`, or `connection = await connect(url)` and close it
    later.

    `url` is an amqp or amqps URL (see `amqp_sansio.uri`), or several to try in turn, `version` AMQP_0_9_1, AMQP_0_8,
    AMQP_0_10, which returns a connection of `amqp_sansio_asyncio.amqp_0_10`, or AMQP_1_0, which returns one of
    `.amqp_1_0`. amqps verifies the certificate and the host name unless the URL says otherwise; `ssl` replaces the
    context. `record` writes the connection to a pcapng file, with SASL responses blanked unless `record_secrets`.
    `connector` supplies a transport other than TCP. With `recover`, True or a `RecoveryPolicy`, a connection that is
    lost later is opened again, with all that was open on it. With `wait` the first connection, too, is tried again for
    so many seconds while it can't be opened. `options` are fields of the version's `Config`, see the version's
    `ConfigOptions`, and override the URL.

    Raises OSError (TimeoutError after the URL's connection_timeout or `handshake_timeout` seconds, ssl.SSLError) if
    there is no transport, EndpointClosed with the reason if the server refuses, UriError and ValueError for invalid
    arguments.

    >>> async def example(url: str) -> int:
    ...     async with connect(url, heartbeat=30) as connection:
    ...         channel = await connection.open_channel()
    ...         return channel.number
    """
    given = version_named(version)
    policy = policy_of(recover)

    def begin() -> Coroutine[Any, Any, AnyConnection[Any]]:
        draw = draw_of(asyncio.get_running_loop())
        route = Route(url, policy, lambda uri: new_connection(given, uri, options, draw), wait)
        return Establisher(route, ssl, (record, record_secrets), connector).connect()

    return Opening(begin)


__all__ = ["Connector", "connect"]
