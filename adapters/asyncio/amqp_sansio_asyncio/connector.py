"""Establishes a client's transport and connection, in every version."""

from __future__ import annotations

import asyncio
import ssl as ssl_module
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, TypeAlias

from amqp_sansio.errors import EndpointClosed

from .client_driver import ClientDriver
from .recording import Recorder, RecordTarget, recorder_for
from .tls import tls_for

if TYPE_CHECKING:
    from amqp_sansio.client.driving import BaseClient
    from amqp_sansio.uri import AmqpUri

Connector: TypeAlias = Callable[[Callable[[], asyncio.Protocol]], Awaitable[object]]
"""Creates a transport: takes a protocol factory like `loop.create_connection`, and returns when the transport is
connected.
"""


async def establish(
    uri: AmqpUri,
    client: BaseClient[Any],
    ssl: ssl_module.SSLContext | None,
    record: tuple[RecordTarget | None, bool],
    connector: Connector | None,
) -> ClientDriver:
    """Connect a driver of `client`, wait until the connection is open. Raises as `connect` does, after cleaning up."""
    context, server_name = tls_for(uri, ssl)
    if connector is not None and uri.tls:
        raise ValueError("a connector brings its own TLS; write amqp://")
    recorder, ours = recorder_for(*record)
    driver = ClientDriver(asyncio.get_running_loop(), client, recorder)
    if ours and recorder is not None:
        driver.lost.add_done_callback(lambda _: recorder.close())
    try:
        await _open_transport(driver, uri, context, server_name, connector)
        await driver.opened
    except BaseException as error:
        await _abandon(driver, recorder if ours else None)
        if isinstance(error, EndpointClosed):
            text = f"no connection to {uri}: {error.report}"
            raise EndpointClosed(text, error.report) from error.__cause__
        raise
    return driver


async def _open_transport(
    driver: ClientDriver,
    uri: AmqpUri,
    context: ssl_module.SSLContext | None,
    server_name: str | None,
    connector: Connector | None,
) -> None:
    config = driver.core.config
    seconds = uri.connection_timeout or config.handshake_timeout
    try:
        async with asyncio.timeout(seconds):
            if connector is not None:
                await connector(lambda: driver)
                return
            await driver.loop.create_connection(
                lambda: driver,
                uri.host,
                uri.port,
                ssl=context,
                server_hostname=server_name,
                ssl_shutdown_timeout=config.close_timeout if context is not None else None,
            )
    except TimeoutError as error:
        if error.errno is not None:
            raise
        raise TimeoutError(f"no connection to {uri} within {seconds:g} seconds") from None
    except ssl_module.SSLCertVerificationError:
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


__all__ = ["Connector", "establish"]
