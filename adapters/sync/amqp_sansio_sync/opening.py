"""From an AMQP URI to an open connection of any version: socket, TLS, recording, and the wait for the engine."""

from __future__ import annotations

import socket
import ssl as ssl_module
from time import monotonic
from typing import TYPE_CHECKING, Any

from amqp_sansio import EndpointClosed
from amqp_sansio.client.tls import unverified

from .driver import Driver
from .recording import Recorder, RecordTarget
from .transport import Transport

if TYPE_CHECKING:
    from amqp_sansio.client.driving import BaseClient
    from amqp_sansio.uri import AmqpUri


def open_connection(
    client: BaseClient[Any],
    uri: AmqpUri,
    security: tuple[ssl_module.SSLContext | None, str | None],
    timeout: float | None,
    record: RecordTarget | None,
    record_secrets: bool,
) -> Driver:
    """Connect the socket, put a client on it, and wait until that is open; `security` is the result of `tls`."""
    seconds = timeout
    if seconds is None:
        seconds = uri.connection_timeout or client.config.handshake_timeout
    deadline = monotonic() + seconds
    ours = None if record is None or isinstance(record, Recorder) else Recorder(record, record_secrets=record_secrets)
    recorder = record if isinstance(record, Recorder) else ours
    try:
        connected = _open_socket(uri, *security, deadline)
        driver = Driver(client, _recorded(connected, recorder), recorder, ours is not None)
    except BaseException:
        if ours is not None:
            ours.close()
        raise
    try:
        _open(driver, uri, deadline, seconds)
    except BaseException:
        driver.stop("the opening was given up")
        raise
    driver.keeper.start(driver)
    return driver


def open_transport(
    uri: AmqpUri, security: tuple[ssl_module.SSLContext | None, str | None], seconds: float, recorder: Recorder | None
) -> Transport:
    """Open another transport for a connection that recovers. Raises OSError."""
    return _recorded(_open_socket(uri, *security, monotonic() + (uri.connection_timeout or seconds)), recorder)


def _recorded(connected: socket.socket, recorder: Recorder | None) -> Transport:
    return Transport(connected, recorder.open(connected.getsockname(), connected.getpeername()) if recorder else None)


def _open_socket(
    uri: AmqpUri, context: ssl_module.SSLContext | None, server_name: str | None, deadline: float
) -> socket.socket:
    try:
        connected = socket.create_connection((uri.host, uri.port), _left(deadline))
    except TimeoutError as error:
        raise TimeoutError(f"no connection to {uri}: nothing answers in time") from error
    except OSError as error:
        error.strerror = f"no connection to {uri}: {error.strerror or error}"
        raise
    try:
        # Frames are complete when written; waiting for more would only delay them.
        connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        # For connections without heartbeats; 1.0 part 2 section 2.4.5 recommends it beside its own.
        connected.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        if context is None:
            return connected
        connected.settimeout(_left(deadline))
        return context.wrap_socket(connected, server_hostname=server_name)
    except BaseException as error:
        connected.close()
        if isinstance(error, ssl_module.SSLCertVerificationError):
            error.strerror = unverified(uri, error.verify_message)
        elif isinstance(error, ssl_module.SSLError):
            text = f"no TLS with {uri.host}:{uri.port}, perhaps the port is one without TLS: {error}"
            raise ssl_module.SSLError(error.errno, text) from error
        elif isinstance(error, TimeoutError):
            raise TimeoutError(f"no TLS with {uri.host}:{uri.port}: no answer in time") from error
        raise


def _open(driver: Driver, uri: AmqpUri, deadline: float, seconds: float) -> None:
    core = driver.client.core
    try:
        driver.result(driver.client.opened, max(0.0, deadline - monotonic()), "the opening")
    except TimeoutError:
        state = getattr(core.state, "value", core.state)
        text = f"no connection to {uri} within {seconds:g} seconds, it is {state}"
        raise TimeoutError(text) from None
    except EndpointClosed as error:
        raise driver.client.not_opened(uri, error.report) from error.__cause__


def _left(deadline: float) -> float:
    return max(0.001, deadline - monotonic())


__all__ = ["open_connection", "open_transport"]
