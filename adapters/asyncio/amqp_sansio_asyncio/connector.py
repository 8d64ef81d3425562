"""Establishes a client's transport and connection, in every version."""

from __future__ import annotations

import asyncio
import secrets
import ssl as ssl_module
from collections.abc import Awaitable, Callable
from socket import gaierror
from typing import TYPE_CHECKING, Any, TypeAlias

from amqp_sansio.client.reaching import opening_limit, unresolved
from amqp_sansio.client.tls import unverified
from amqp_sansio.errors import EndpointClosed

from .client_driver import ClientDriver
from .recording import Recorder, RecordTarget, recorder_for
from .tls import tls_for
from .websocket import connect_inside

if TYPE_CHECKING:
    from amqp_sansio.client.connection import AnyConnection
    from amqp_sansio.client.driving import BaseClient
    from amqp_sansio.client.reaching import Reopening, Route
    from amqp_sansio.client.settings import Draw
    from amqp_sansio.uri import AmqpUri

    from .driver import CoreConfig

Connector: TypeAlias = Callable[[Callable[[], asyncio.Protocol]], Awaitable[object]]
"""Creates a transport: takes a protocol factory like `loop.create_connection`, and returns when the transport is
connected.
"""


class Establisher:
    """Establishes the transports of one client, the first and those that recovery asks for, as its `route` says."""

    def __init__(
        self,
        route: Route,
        ssl: ssl_module.SSLContext | None,
        record: tuple[RecordTarget | None, bool],
        connector: Connector | None,
    ) -> None:
        self._route = route
        """Which address comes next."""
        self._ssl = ssl
        """The caller's, for TLS; None: the default one."""
        self._record = record
        """Where to record, and whether with secrets."""
        self._connector = connector
        """The caller's way to a transport, in place of the event loop's."""
        self._recorder: Recorder | None = None
        """Of all transports of this client."""
        self._is_ours = False
        """Whether the recording was opened here, and ends with the connection."""
        self._attempt: asyncio.Task[None] | None = None
        """The task of recovery under way, kept so that it isn't collected."""

    async def connect(self) -> AnyConnection[Any]:
        """Connect a new client, and wait until its connection is open; with a policy it recovers from then on.

        Raises as `connect` does for the last URL, after cleaning up.
        """
        loop = asyncio.get_running_loop()
        self._route.begin(loop.time())
        while True:
            uri, client, connection = self._route.next(lambda: seed_of(loop))
            try:
                await self._establish(client, uri)
            except (OSError, EndpointClosed) as error:
                delay = self._route.failed(error, loop.time(), lambda: seed_of(loop))
                if delay:
                    await asyncio.sleep(delay)
            else:
                return connection

    def reconnect(self, client: BaseClient[Any], place: int) -> None:
        """Begin an attempt of recovery, in a task."""
        self._attempt = asyncio.ensure_future(self._reopen(client, self._route.again(client, place)))

    async def _reopen(self, client: BaseClient[Any], reopening: Reopening) -> None:
        uri = reopening.uri
        driver = self._driver(client)
        driver.label = f"{uri.host}:{uri.port}"
        driver.reopening = reopening
        try:
            await self._open_transport(driver, uri, *tls_for(uri, self._ssl))
        except Exception as error:  # A connector of the user's raises anything.
            driver.not_connected(error)

    async def _establish(self, client: BaseClient[Any], uri: AmqpUri) -> None:
        context, server_name = tls_for(uri, self._ssl)
        if self._connector is not None and uri.tls:
            plain = "ws" if uri.scheme == "wss" else uri.scheme.replace("amqps", "amqp")
            raise ValueError(f"a connector brings its own TLS; write {plain}://")
        recorder, ours = recorder_for(*self._record)
        self._recorder = recorder
        self._is_ours = ours
        driver = self._driver(client)
        limit = asyncio.timeout(uri.connection_timeout)
        try:
            async with limit:
                await self._open_transport(driver, uri, context, server_name)
                await driver.opened
        except BaseException as error:
            client.forgo_recovery()
            await _abandon(driver, recorder if ours else None)
            if isinstance(error, EndpointClosed):
                raise client.not_opened(uri, error.report) from error.__cause__
            if limit.expired():
                raise client.not_in_time(uri, uri.connection_timeout or 0.0) from None
            raise

    def _driver(self, client: BaseClient[Any]) -> ClientDriver:
        """Return a driver for the next transport; after the last one a recording of this connection's own ends."""
        driver = ClientDriver(asyncio.get_running_loop(), client, self._recorder, self.reconnect)
        recorder = self._recorder if self._is_ours else None
        if recorder is not None:
            driver.lost.add_done_callback(lambda _: recorder.close() if client.lost.done else None)
        return driver

    async def _open_transport(
        self, driver: ClientDriver, uri: AmqpUri, context: ssl_module.SSLContext | None, server_name: str | None
    ) -> None:
        config = driver.core.config
        seconds = opening_limit(uri, config)
        try:
            async with asyncio.timeout(seconds):
                if uri.websocket:
                    await connect_inside(
                        uri,
                        driver,
                        config.close_timeout,
                        lambda make: self._reach(make, uri, config, context, server_name),
                    )
                else:
                    await self._reach(lambda: driver, uri, config, context, server_name)
        except gaierror as error:
            error.strerror = unresolved(uri, error)
            raise
        except TimeoutError as error:
            if error.errno is not None:
                raise
            raise TimeoutError(f"no connection to {uri} within {seconds:g} seconds") from None
        except ssl_module.SSLCertVerificationError as error:
            error.strerror = unverified(uri, error.verify_message)
            raise
        except ssl_module.SSLError as error:
            text = f"no TLS with {uri.host}:{uri.port}, perhaps the port is one without TLS: {error}"
            raise ssl_module.SSLError(error.errno, text) from error

    async def _reach(
        self,
        make: Callable[[], asyncio.Protocol],
        uri: AmqpUri,
        config: CoreConfig,
        context: ssl_module.SSLContext | None,
        server_name: str | None,
    ) -> None:
        """Connect a transport, by the user's connector or the system's network."""
        if self._connector is not None:
            await self._connector(make)
            return
        await asyncio.get_running_loop().create_connection(
            make,
            uri.host,
            uri.port,
            ssl=context,
            # Without a name asyncio would take the host; the empty one sends none.
            server_hostname=None if context is None else server_name or "",
            ssl_shutdown_timeout=config.close_timeout if context is not None else None,
        )


def draw_of(loop: asyncio.AbstractEventLoop) -> Draw:
    """Return where a loop's programs take random names from: a simulated loop has its world's."""
    draw: Draw = getattr(loop, "draw_name", secrets.token_urlsafe)
    return draw


def seed_of(loop: asyncio.AbstractEventLoop) -> int:
    """Return a random number of 64 bits: that of a simulated loop is its world's."""
    draw: Callable[[int], int] = getattr(loop, "draw_bits", secrets.randbits)
    return draw(64)


async def _abandon(driver: ClientDriver, recorder: Recorder | None) -> None:
    """Clean up after a connection that couldn't be opened."""
    if not driver.opened.cancel() and not driver.opened.cancelled():
        driver.opened.exception()  # Prevents asyncio's warning about an exception never retrieved.
    if driver.transport is not None:
        # Tell the peer its error without waiting for the answer.
        driver.write()
        driver.transport.abort()
        await driver.wait_lost()
    elif recorder is not None:
        recorder.close()


__all__ = ["Connector", "Establisher", "draw_of", "seed_of"]
