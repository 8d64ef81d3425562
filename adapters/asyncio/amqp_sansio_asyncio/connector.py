"""Establishes a client's transport and connection, in every version."""

from __future__ import annotations

import asyncio
import secrets
import ssl as ssl_module
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from amqp_sansio.client.tls import unverified
from amqp_sansio.errors import EndpointClosed

from .client_driver import ClientDriver
from .recording import Recorder, RecordTarget, recorder_for
from .tls import tls_for

if TYPE_CHECKING:
    from amqp_sansio.client.connection import AnyConnection
    from amqp_sansio.client.driving import BaseClient
    from amqp_sansio.client.recovery import RecoveryPolicy
    from amqp_sansio.uri import AmqpUri

Connector: TypeAlias = Callable[[Callable[[], asyncio.Protocol]], Awaitable[object]]
"""Creates a transport: takes a protocol factory like `loop.create_connection`, and returns when the transport is
connected.
"""


class Establisher:
    """Establishes the transports of one client, the first and those that recovery asks for.

    `uris` are tried in this order; `make` makes a client for one of them, and what its user sees. Attempts after the
    first connection take only its core.
    """

    def __init__(
        self,
        uris: Sequence[AmqpUri],
        make: Callable[[AmqpUri], tuple[BaseClient[Any], AnyConnection[Any]]],
        ssl: ssl_module.SSLContext | None,
        record: tuple[RecordTarget | None, bool],
        connector: Connector | None,
    ) -> None:
        self._uris, self._make, self._ssl = uris, make, ssl
        self._record, self._connector = record, connector
        self._recorder: Recorder | None = None
        self._is_ours = False
        self._attempt: asyncio.Task[None] | None = None

    async def connect(self, policy: RecoveryPolicy | None) -> AnyConnection[Any]:
        """Connect a new client, and wait until its connection is open; with a policy it recovers from then on.

        Raises as `connect` does for the last URL, after cleaning up.
        """
        # All are made first: a wrong argument for one of them is an error now.
        for place, (uri, (client, connection)) in enumerate([(uri, self._make(uri)) for uri in self._uris]):
            try:
                await self._establish(client, uri)
            except (OSError, EndpointClosed):
                if place == len(self._uris) - 1:
                    raise
                continue
            if policy is not None:
                self._uris = [*self._uris[place:], *self._uris[:place]]
                client.recover(policy, tuple(map(str, self._uris)), secrets.randbits(64))
            return connection
        raise ValueError("connect needs at least one URL")

    def reconnect(self, client: BaseClient[Any], place: int) -> None:
        """Begin an attempt of recovery, in a task."""
        self._attempt = asyncio.ensure_future(self._reopen(client, self._uris[place]))

    async def _reopen(self, client: BaseClient[Any], uri: AmqpUri) -> None:
        client.reconnect(self._make(uri)[0].core)
        driver = self._driver(client)
        try:
            await self._open_transport(driver, uri, *tls_for(uri, self._ssl))
        except (OSError, ValueError) as error:
            driver.connection_lost(error)

    async def _establish(self, client: BaseClient[Any], uri: AmqpUri) -> None:
        context, server_name = tls_for(uri, self._ssl)
        if self._connector is not None and uri.tls:
            raise ValueError("a connector brings its own TLS; write amqp://")
        recorder, ours = recorder_for(*self._record)
        self._recorder, self._is_ours = recorder, ours
        driver = self._driver(client)
        try:
            await self._open_transport(driver, uri, context, server_name)
            await driver.opened
        except BaseException as error:
            await _abandon(driver, recorder if ours else None)
            if isinstance(error, EndpointClosed):
                raise client.not_opened(uri, error.report) from error.__cause__
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
        seconds = uri.connection_timeout or config.handshake_timeout
        try:
            async with asyncio.timeout(seconds):
                if self._connector is not None:
                    await self._connector(lambda: driver)
                    return
                await driver.loop.create_connection(
                    lambda: driver,
                    uri.host,
                    uri.port,
                    ssl=context,
                    # Without a name asyncio would take the host; the empty one sends none.
                    server_hostname=None if context is None else server_name or "",
                    ssl_shutdown_timeout=config.close_timeout if context is not None else None,
                )
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


__all__ = ["Connector", "Establisher"]
