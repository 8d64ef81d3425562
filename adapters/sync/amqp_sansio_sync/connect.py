"""connect: from an AMQP URI to an open connection, by version.

0-9-1 section 2.2.4, 0-10 part 1 section 4.3, 1.0 part 2 section 2.4.1.
"""

from __future__ import annotations

import secrets
import ssl as ssl_module
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal, overload

from amqp_sansio import AMQP_0_9_1, AMQP_0_10, AMQP_1_0, Version
from amqp_sansio.client.connecting import ConfigOptions, new_connection
from amqp_sansio.client.recovery import RecoveryPolicy, policy_of
from amqp_sansio.client.settings import version_named
from amqp_sansio.errors import EndpointClosed
from amqp_sansio.uri import AmqpUri, parse

from .classic import Connection
from .driver import Driver
from .opening import open_connection, open_transport
from .recording import RecordTarget
from .tls import tls_for

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from amqp_sansio.client.amqp_0_10.settings import ConfigOptions as Options_0_10
    from amqp_sansio.client.amqp_1_0.settings import ConfigOptions as Options_1_0

    from .amqp_0_10 import Connection as Connection_0_10
    from .amqp_1_0 import Connection as Connection_1_0
    from .transport import Transport


@overload
def connect(
    url: str | AmqpUri | Sequence[str | AmqpUri],
    *,
    version: Literal[Version.AMQP_0_9_1, Version.AMQP_0_8, "0-9-1", "0-8"] = AMQP_0_9_1,
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
    version: Literal[Version.AMQP_1_0, "1.0"],
    ssl: ssl_module.SSLContext | None = None,
    timeout: float | None = None,
    record: RecordTarget | None = None,
    record_secrets: bool = False,
    recover: bool | RecoveryPolicy = False,
    **options: Unpack[Options_1_0],
) -> Connection_1_0: ...
@overload
def connect(
    url: str | AmqpUri | Sequence[str | AmqpUri],
    *,
    version: Literal[Version.AMQP_0_10, "0-10"],
    ssl: ssl_module.SSLContext | None = None,
    timeout: float | None = None,
    record: RecordTarget | None = None,
    record_secrets: bool = False,
    recover: bool | RecoveryPolicy = False,
    **options: Unpack[Options_0_10],
) -> Connection_0_10: ...
@overload
def connect(
    url: str | AmqpUri | Sequence[str | AmqpUri],
    *,
    version: Version | str,
    ssl: ssl_module.SSLContext | None = None,
    timeout: float | None = None,
    record: RecordTarget | None = None,
    record_secrets: bool = False,
    recover: bool | RecoveryPolicy = False,
    **options: Any,
) -> Connection | Connection_1_0 | Connection_0_10: ...
def connect(
    url: str | AmqpUri | Sequence[str | AmqpUri],
    *,
    version: Version | str = AMQP_0_9_1,
    ssl: ssl_module.SSLContext | None = None,
    timeout: float | None = None,
    record: RecordTarget | None = None,
    record_secrets: bool = False,
    recover: bool | RecoveryPolicy = False,
    **options: Any,
) -> Connection | Connection_1_0 | Connection_0_10:
    """Connect to a broker: `with connect(url) as connection`, or call it and close the connection later.

    `url` is an amqp or amqps URL (see `amqp_sansio.uri`), `version` AMQP_0_9_1, AMQP_0_8, AMQP_0_10 or AMQP_1_0. amqps
    verifies the certificate and the host name unless the URL says otherwise; `ssl` replaces the context. `timeout`
    limits the whole call, in seconds (None: the URL's connection_timeout, else `handshake_timeout`). `record` writes
    the connection to a pcapng file, with SASL responses blanked unless `record_secrets`. With `recover`, True or a
    `RecoveryPolicy`, a connection that is lost later is opened again, with all that was open on it, and `url` may be
    several to try in turn. `options` are fields of the version's `Config`, see the version's
    `ConfigOptions`, and override the URL.

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
    given = version_named(version)
    policy = policy_of(recover)
    urls = [url] if isinstance(url, (str, AmqpUri)) else [*url]
    uris = [parse(each) if isinstance(each, str) else each for each in (*urls, *(policy.addresses if policy else ()))]
    kind: Any = Connection
    # Programs load the versions that they use.
    if given is AMQP_0_10:
        from .amqp_0_10 import Connection as Connection_0_10

        kind = Connection_0_10
    if given is AMQP_1_0:
        from .amqp_1_0 import Connection as Connection_1_0

        kind = Connection_1_0
    # All are made first: a wrong argument for one of them is an error now, not when it is needed.
    made = [(each, *new_connection(given, each, options, secrets.token_urlsafe)) for each in uris]
    for place, (uri, client, inner) in enumerate(made):
        try:
            driver = open_connection(client, uri, tls_for(uri, ssl), timeout, record, record_secrets)
        except (OSError, EndpointClosed):
            if place == len(uris) - 1:
                raise
            continue
        if policy is not None:
            _recover(
                driver,
                policy,
                [*uris[place:], *uris[:place]],
                lambda uri: new_connection(given, uri, options, secrets.token_urlsafe)[0].core,
                ssl,
            )
        connection: Connection | Connection_0_10 | Connection_1_0 = kind(driver, inner)
        return connection
    raise ValueError("connect needs at least one URL")


def _recover(
    driver: Driver,
    policy: RecoveryPolicy,
    uris: Sequence[AmqpUri],
    new_core: Callable[[AmqpUri], Any],
    ssl: ssl_module.SSLContext | None,
) -> None:
    """Let a connection recover."""
    seconds = driver.client.config.handshake_timeout

    def reopen(place: int) -> tuple[Any, Callable[[], Transport]]:
        uri = uris[place]
        return new_core(uri), lambda: open_transport(uri, tls_for(uri, ssl), seconds, driver.recorder)

    driver.recover(policy, tuple(map(str, uris)), reopen)


__all__ = ["ConfigOptions", "connect"]
