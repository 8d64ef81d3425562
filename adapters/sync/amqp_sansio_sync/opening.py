"""From an AMQP URI to an open connection of any version: transport, recording, and the wait for the engine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from amqp_sansio import EndpointClosed
from amqp_sansio.client.reaching import opening_limit

from .driver import Driver
from .recording import Recorder, RecordTarget

if TYPE_CHECKING:
    import ssl as ssl_module

    from amqp_sansio.client.driving import BaseClient
    from amqp_sansio.uri import AmqpUri

    from .reconnecting import Reopen
    from .system import System


def open_connection(
    system: System,
    client: BaseClient[Any],
    uri: AmqpUri,
    security: tuple[ssl_module.SSLContext | None, str | None],
    timeout: float | None,
    record: RecordTarget | None,
    record_secrets: bool,
    reopen: Reopen | None = None,
) -> Driver:
    """Connect a transport, put a client on it, and wait until that is open; `security` is the result of `tls`.

    `reopen` opens another transport for a client that recovers.
    """
    seconds = timeout
    if seconds is None:
        seconds = opening_limit(uri, client.config)
    deadline = system.now() + seconds
    ours = None if record is None or isinstance(record, Recorder) else Recorder(record, record_secrets=record_secrets)
    recorder = record if isinstance(record, Recorder) else ours
    try:
        transport = system.open_transport(uri, *security, deadline, recorder)
        driver = Driver(system, client, transport, recorder, ours is not None, reopen)
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


def _open(driver: Driver, uri: AmqpUri, deadline: float, seconds: float) -> None:
    try:
        driver.result(driver.client.opened, max(0.0, deadline - driver.system.now()), "the opening")
    except TimeoutError:
        raise driver.client.not_in_time(uri, seconds) from None
    except EndpointClosed as error:
        raise driver.client.not_opened(uri, error.report) from error.__cause__


__all__ = ["open_connection"]
