"""`connect`: a client connection to a broker (0-9-1 section 2.2.4)."""

from __future__ import annotations

import ssl as ssl_module
from typing import TYPE_CHECKING, Any, Literal, TypeVar, cast, overload

from amqp_sansio.amqp_0_9_1 import Method, Table
from amqp_sansio.errors import LocalProtocolError
from amqp_sansio.events import CloseReport, Event
from amqp_sansio.uri import AmqpUri, parse
from amqp_sansio.versions import AMQP_0_9_1, AMQP_0_10, AMQP_1_0, Version

from .base import BaseConnection
from .channel import Channel
from .classic import ClassicCore, ConfigOptions, client_config, client_core
from .client_driver import ClientDriver
from .establishing import Connector, establish
from .opening import Opening
from .recording import RecordTarget

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from amqp_sansio.amqp_0_9_1 import RequestMethod

    from .amqp_0_10.connection import ZeroTenConnection
    from .amqp_0_10.settings import ZeroTenOptions
    from .amqp_1_0.connection import OneZeroConnection
    from .amqp_1_0.settings import OneZeroOptions

_R = TypeVar("_R", bound=Method)
_E = TypeVar("_E", bound=Event)


@overload
def connect(
    url: str | AmqpUri,
    *,
    version: Literal[Version.AMQP_1_0],
    ssl: ssl_module.SSLContext | None = None,
    record: RecordTarget | None = None,
    record_secrets: bool = False,
    connector: Connector | None = None,
    **options: Unpack[OneZeroOptions],
) -> Opening[OneZeroConnection]: ...
@overload
def connect(
    url: str | AmqpUri,
    *,
    version: Literal[Version.AMQP_0_10],
    ssl: ssl_module.SSLContext | None = None,
    record: RecordTarget | None = None,
    record_secrets: bool = False,
    connector: Connector | None = None,
    **options: Unpack[ZeroTenOptions],
) -> Opening[ZeroTenConnection]: ...
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
    `ZeroTenConnection`, or AMQP_1_0, which returns a `OneZeroConnection`. amqps verifies the certificate and the host
    name unless the URL says otherwise; `ssl` replaces the context. `record` writes the connection to a pcapng file,
    with SASL responses blanked unless `record_secrets`. `connector` supplies a transport other than TCP. `options` are
    fields of the version's `Config` (see `ConfigOptions`, `ZeroTenOptions`, `OneZeroOptions`) and override the URL.

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
        from .amqp_1_0.connection import connect_one_zero

        newer = cast("OneZeroOptions", options)
        return Opening(lambda: connect_one_zero(url, ssl, recording, connector, newer))
    if version is AMQP_0_10:
        from .amqp_0_10.connection import connect_zero_ten

        ten = cast("ZeroTenOptions", options)
        return Opening(lambda: connect_zero_ten(url, ssl, recording, connector, ten))
    classic = cast("ConfigOptions", options)
    return Opening(lambda: _connect(url, version, ssl, recording, connector, classic))


class Connection(BaseConnection[ClientDriver, ClassicCore]):
    """A connection to a broker. `close` it, or leave its context."""

    @property
    def peer_properties(self) -> Table:
        """The server's properties: product, version, capabilities."""
        return self._driver.core.peer_properties

    @property
    def blocked(self) -> str | None:
        """Why the server accepts no publishes at the moment (RabbitMQ's connection.blocked), or None if it does."""
        return self._driver.blocked

    def open_channel(self, *, confirm: bool = False) -> Opening[Channel]:
        """Open a channel: `await` it, or use it as an async context that closes the channel. With `confirm` each
        publish is confirmed.

        Raises LimitExceeded at the negotiated channel-max, LocalProtocolError if the version has no confirms.
        """
        return Opening(lambda: self._open_channel(confirm))

    @overload
    async def call(self, method: RequestMethod[_R]) -> _R: ...
    @overload
    async def call(self, method: Method) -> Any: ...
    async def call(self, method: Method) -> Any:
        """Send a request of the connection class, such as ConnectionUpdateSecret, and return its reply."""
        return await self._driver.wait(self._driver.core.call(method))

    async def close(self, code: int = 200, text: str = "Normal shutdown") -> CloseReport:
        """Close with a handshake of at most `close_timeout` seconds; return how the connection ended. On a closed
        connection this does nothing.
        """
        driver = self._driver
        driver.core.close(code, text)
        driver.start_closing()
        return await self.wait_closed()

    async def _open_channel(self, confirm: bool) -> Channel:
        driver = self._driver
        if confirm and "confirm.select" not in driver.core.dialect.named:
            raise LocalProtocolError(f"{driver.core.dialect.name} has no confirms")
        core = driver.core.open_channel()
        channel = driver.channels[core.number] = Channel(driver, core)
        opening = core.opening
        assert opening is not None
        selecting = core.call(driver.core.dialect.named["confirm.select"]()) if confirm else opening
        # A cancelled caller has no channel to close.
        await driver.wait(selecting, lambda _: core.close())
        return channel


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
    driver = await establish(uri, core, ClientDriver, ssl, record, connector)
    return Connection(driver, uri)


__all__ = ["Connection", "Connector", "connect"]
