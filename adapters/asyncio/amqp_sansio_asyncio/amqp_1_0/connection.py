"""1.0 connections of a client (1.0 part 2 section 2.4)."""

from __future__ import annotations

import ssl as ssl_module
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from amqp_sansio.amqp_1_0 import Connection as CoreConnection
from amqp_sansio.events import CloseReport, Event
from amqp_sansio.uri import AmqpUri, parse

from ..base import BaseConnection
from ..establishing import Connector, establish
from ..opening import Opening
from ..recording import RecordTarget
from .driver import OneZeroDriver
from .session import Session
from .settings import OneZeroOptions, client_config

if TYPE_CHECKING:
    from amqp_sansio.amqp_1_0 import Open, SessionRequested

_E = TypeVar("_E", bound=Event)


class OneZeroConnection(BaseConnection[OneZeroDriver, CoreConnection]):
    """A 1.0 connection, returned by `connect(url, version=AMQP_1_0)`. `close` it, or leave its context.

    >>> from amqp_sansio import AMQP_1_0
    >>> from amqp_sansio_asyncio import connect
    >>> async def example(url: str) -> None:
    ...     async with connect(url, version=AMQP_1_0, idle_time_out=30.0) as connection:
    ...         session = await connection.open_session()
    ...         async with session.open_sender("jobs") as sender:
    ...             await sender.send(b"hello")
    """

    @property
    def remote(self) -> Open:
        """The peer's open: its container-id, properties and capabilities."""
        remote = self._driver.core.peer_open
        assert remote is not None  # `connect` has waited for it.
        return remote

    def open_session(
        self,
        *,
        properties: Mapping[Any, Any] | None = None,
        offered_capabilities: Iterable[str] = (),
        desired_capabilities: Iterable[str] = (),
    ) -> Opening[Session]:
        """Open a session: `await` it, or use it as an async context that closes the session.

        Raises LimitExceeded at the negotiated channel-max, EndpointClosed with the reason if the peer refuses.

        >>> async def example(connection: OneZeroConnection) -> None:
        ...     async with connection.open_session() as session:
        ...         sender = await session.open_sender("jobs")
        """
        return Opening(
            lambda: self._open_session(
                {
                    "properties": properties,
                    "offered_capabilities": offered_capabilities,
                    "desired_capabilities": desired_capabilities,
                }
            )
        )

    def accept_session(self, event: SessionRequested) -> Session:
        """Accept a session that the peer begins. Without a reader for `events(SessionRequested)`, such sessions are
        refused.

        >>> from amqp_sansio.amqp_1_0 import SessionRequested
        >>> async def example(connection: OneZeroConnection) -> None:
        ...     async for event in connection.events(SessionRequested):
        ...         session = connection.accept_session(event)
        """
        driver = self._driver
        core = driver.core.session(event.channel)
        core.accept()
        session = driver.sessions[core.channel] = Session(driver, core)
        driver.progress()
        return session

    async def close(
        self, condition: str = "", description: str = "", info: Mapping[Any, Any] | None = None
    ) -> CloseReport:
        """Close within `close_timeout` seconds, with an error if `condition` names one; return how the connection
        ended. On a closed connection this does nothing.
        """
        driver = self._driver
        driver.say_accepted()
        driver.core.close(condition, description, info)
        driver.start_closing()
        return await self.wait_closed()

    async def _open_session(self, fields: dict[str, Any]) -> Session:
        driver = self._driver
        core = driver.core.open_session(**fields)
        session = driver.sessions[core.channel] = Session(driver, core)
        opening = core.opening
        assert opening is not None
        # A cancelled caller has no session to close.
        await driver.wait(opening, lambda _: core.close())
        return session


async def connect_one_zero(
    url: str | AmqpUri,
    ssl: ssl_module.SSLContext | None,
    record: tuple[RecordTarget | None, bool],
    connector: Connector | None,
    options: OneZeroOptions,
) -> OneZeroConnection:
    """Connect for `connect` in 1.0."""
    uri = parse(url) if isinstance(url, str) else url
    core = CoreConnection.client(client_config(uri, options))
    driver = await establish(uri, core, OneZeroDriver, ssl, record, connector)
    return OneZeroConnection(driver, uri)


__all__ = ["OneZeroConnection", "connect_one_zero"]
