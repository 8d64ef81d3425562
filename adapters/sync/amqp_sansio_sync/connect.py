"""connect: from an AMQP URI to an open connection, by version.

0-9-1 section 2.2.4, 0-10 part 1 section 4.3, 1.0 part 2 section 2.4.1.
"""

from __future__ import annotations

import ssl as ssl_module
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, overload

from amqp_sansio import AMQP_0_9_1, AMQP_0_10, AMQP_1_0, Version
from amqp_sansio.client.classic.settings import ConfigOptions
from amqp_sansio.client.connecting import new_connection
from amqp_sansio.client.reaching import Route
from amqp_sansio.client.recovery import RecoveryPolicy, policy_of
from amqp_sansio.client.settings import version_named
from amqp_sansio.errors import EndpointClosed
from amqp_sansio.uri import AmqpUri

from .classic import Connection
from .machine import Behind
from .opening import open_connection
from .recording import RecordTarget
from .system import MACHINE, current
from .tls import tls_for

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from amqp_sansio.client.amqp_0_10.settings import ConfigOptions as Options_0_10
    from amqp_sansio.client.amqp_1_0.settings import ConfigOptions as Options_1_0
    from amqp_sansio.client.driving import BaseClient
    from amqp_sansio.client.reaching import Reopening

    from .amqp_0_10 import Connection as Connection_0_10
    from .amqp_1_0 import Connection as Connection_1_0
    from .machine import Connector
    from .reconnecting import OpenTransport
    from .recording import Recorder
    from .system import System
    from .transport import Transport


@overload
def connect(
    url: str | AmqpUri | Sequence[str | AmqpUri],
    *,
    version: Literal[Version.AMQP_0_9_1, Version.AMQP_0_8, "0-9-1", "0-8"] = AMQP_0_9_1,
    ssl: ssl_module.SSLContext | None = None,
    connector: Connector | None = None,
    timeout: float | None = None,
    record: RecordTarget | None = None,
    record_secrets: bool = False,
    recover: bool | RecoveryPolicy = False,
    wait: float = 0.0,
    **options: Unpack[ConfigOptions],
) -> Connection: ...
@overload
def connect(
    url: str | AmqpUri | Sequence[str | AmqpUri],
    *,
    version: Literal[Version.AMQP_1_0, "1.0"],
    ssl: ssl_module.SSLContext | None = None,
    connector: Connector | None = None,
    timeout: float | None = None,
    record: RecordTarget | None = None,
    record_secrets: bool = False,
    recover: bool | RecoveryPolicy = False,
    wait: float = 0.0,
    **options: Unpack[Options_1_0],
) -> Connection_1_0: ...
@overload
def connect(
    url: str | AmqpUri | Sequence[str | AmqpUri],
    *,
    version: Literal[Version.AMQP_0_10, "0-10"],
    ssl: ssl_module.SSLContext | None = None,
    connector: Connector | None = None,
    timeout: float | None = None,
    record: RecordTarget | None = None,
    record_secrets: bool = False,
    recover: bool | RecoveryPolicy = False,
    wait: float = 0.0,
    **options: Unpack[Options_0_10],
) -> Connection_0_10: ...
@overload
def connect(
    url: str | AmqpUri | Sequence[str | AmqpUri],
    *,
    version: Version | str,
    ssl: ssl_module.SSLContext | None = None,
    connector: Connector | None = None,
    timeout: float | None = None,
    record: RecordTarget | None = None,
    record_secrets: bool = False,
    recover: bool | RecoveryPolicy = False,
    wait: float = 0.0,
    **options: Any,
) -> Connection | Connection_1_0 | Connection_0_10: ...
def connect(
    url: str | AmqpUri | Sequence[str | AmqpUri],
    *,
    version: Version | str = AMQP_0_9_1,
    ssl: ssl_module.SSLContext | None = None,
    connector: Connector | None = None,
    timeout: float | None = None,
    record: RecordTarget | None = None,
    record_secrets: bool = False,
    recover: bool | RecoveryPolicy = False,
    wait: float = 0.0,
    **options: Any,
) -> Connection | Connection_1_0 | Connection_0_10:
    """Connect to a broker: `with connect(url) as connection`, or call it and close the connection later.

    `url` is an amqp or amqps URL (see `amqp_sansio.uri`), `version` AMQP_0_9_1, AMQP_0_8, AMQP_0_10 or AMQP_1_0. amqps
    verifies the certificate and the host name unless the URL says otherwise; `ssl` replaces the context. `connector` is
    called with the URL and the seconds that are left, and returns a connected socket, such as one through a proxy, on
    which the TLS and the WebSocket of the URL then begin. `timeout` limits the whole call, in seconds (None: the URL's
    connection_timeout, else `handshake_timeout`). `record` writes the connection to a pcapng file, with SASL responses
    blanked unless `record_secrets`. With `recover`, True or a `RecoveryPolicy`, a connection that is lost later is
    opened again, with all that was open on it, and `url` may be several to try in turn. With `wait` the first
    connection, too, is tried again for so many seconds while it can't be opened. `options` are fields of the version's
    `Config`, see the version's `ConfigOptions`, and override the URL.

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
    system = _system_for(connector)
    given = version_named(version)
    policy = policy_of(recover)
    kind: Any = Connection
    # Programs load the versions that they use.
    if given is AMQP_0_10:
        from .amqp_0_10 import Connection as Connection_0_10

        kind = Connection_0_10
    if given is AMQP_1_0:
        from .amqp_1_0 import Connection as Connection_1_0

        kind = Connection_1_0
    route = Route(url, policy, lambda uri: new_connection(given, uri, options, system.draw), wait)
    route.begin(system.now())

    def reopen(client: BaseClient[Any], recorder: Recorder | None, place: int) -> tuple[Reopening, OpenTransport]:
        begun = system.now()
        found = route.again(client, place)

        def opened() -> Transport:
            uri = found.uri
            return system.open_transport(uri, *tls_for(uri, ssl), begun + found.seconds, recorder)

        return found, opened

    while True:
        uri, client, inner = route.next(system.seed)
        try:
            security = tls_for(uri, ssl)
            driver = open_connection(system, client, uri, security, timeout, record, record_secrets, reopen)
        except (OSError, EndpointClosed) as error:
            delay = route.failed(error, system.now(), system.seed)
            if delay:
                system.sleep(delay)
        else:
            connection: Connection | Connection_0_10 | Connection_1_0 = kind(driver, inner)
            return connection


def _system_for(connector: Connector | None) -> System:
    """Return the current system, whose servers the connector reaches."""
    system = current()
    if connector is None:
        return system
    if system is not MACHINE:
        raise ValueError("a connector opens sockets of the machine, which a simulated world hasn't")
    return Behind(connector)


__all__ = ["ConfigOptions", "connect"]
