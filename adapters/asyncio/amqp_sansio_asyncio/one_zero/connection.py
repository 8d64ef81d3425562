"""1.0 connections of a client (1.0 part 2 section 2.4)."""

from __future__ import annotations

import ssl as ssl_module
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final, TypeVar, overload

from amqp_sansio.amqp_1_0 import Connection as CoreConnection
from amqp_sansio.errors import EndpointClosed
from amqp_sansio.events import CloseReport, Event
from amqp_sansio.uri import AmqpUri, parse

from ..establishing import Connector, establish
from ..feed import EventStream, Feed
from ..opening import Opening
from ..recording import RecordTarget
from .driver import OneZeroDriver
from .session import Session
from .settings import OneZeroOptions, client_config

if TYPE_CHECKING:
    from amqp_sansio.amqp_1_0 import Open, SessionRequested

_E = TypeVar("_E", bound=Event)


class OneZeroConnection:
    """A 1.0 connection, made by `connect(url, version=AMQP_1_0)`. `close` it, or leave its
    context.

    >>> from amqp_sansio import AMQP_1_0
    >>> from amqp_sansio_asyncio import connect
    >>> async def example(url: str) -> None:
    ...     async with connect(url, version=AMQP_1_0, idle_time_out=30.0) as connection:
    ...         session = await connection.open_session()
    ...         async with session.open_sender("jobs") as sender:
    ...             await sender.send(b"hello")
    """

    def __init__(self, driver: OneZeroDriver, uri: AmqpUri) -> None:
        self._driver: Final = driver
        self.uri: Final = uri

    @property
    def core(self) -> CoreConnection:
        """The connection of the core, for what it knows: agreed limits, state. Its commands aren't
        for use here.
        """
        return self._driver.core

    @property
    def is_open(self) -> bool:
        """Whether it can be used."""
        return self._driver.core.is_open

    @property
    def report(self) -> CloseReport | None:
        """Why it ended, once it has."""
        return self._driver.core.report

    @property
    def remote(self) -> Open:
        """What the peer said when it opened: its container-id, properties and capabilities."""
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

        Raises LimitExceeded when the agreed channel-max is reached, EndpointClosed with the reason
        when the peer refuses.

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
        """Take a session that the peer begins. While nobody reads `events(SessionRequested)`, such
        sessions are refused.

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

    @overload
    def events(self, *, limit: int = 1000) -> EventStream[Event]: ...
    @overload
    def events(self, *kinds: type[_E], limit: int = 1000) -> EventStream[_E]: ...
    def events(self, *kinds: type[Any], limit: int = 1000) -> EventStream[Any]:
        """What happens to the connection as a whole: SessionRequested (answer it with
        `accept_session`); only `kinds`, when given.
        """
        feed: Feed[Any] = Feed(self._driver, limit, True)
        report = self.report
        if report is not None:
            feed.end(EndpointClosed(f"the connection is closed: {report}", report))
        self._driver.streams.append((kinds or (Event,), feed))
        return EventStream(feed, self._driver.streams)

    async def close(
        self, condition: str = "", description: str = "", info: Mapping[Any, Any] | None = None
    ) -> CloseReport:
        """Close, with an error where `condition` names one, in `close_timeout` seconds at most;
        says how the connection ended. It may be closed already.
        """
        driver = self._driver
        driver.say_accepted()
        driver.core.close(condition, description, info)
        driver.start_closing()
        return await self.wait_closed()

    async def wait_closed(self) -> CloseReport:
        """Wait until the connection has ended, by whom ever, and its transport is closed."""
        await self._driver.wait_lost()
        report = self._driver.core.report
        assert report is not None
        return report

    async def __aenter__(self) -> OneZeroConnection:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def __repr__(self) -> str:
        state = "open" if self.is_open else f"closed: {self.report}" if self.report else "closing"
        return f"<OneZeroConnection to {self.uri}, {state}>"

    async def _open_session(self, fields: dict[str, Any]) -> Session:
        driver = self._driver
        core = driver.core.open_session(**fields)
        session = driver.sessions[core.channel] = Session(driver, core)
        opening = core.opening
        assert opening is not None
        # Who was cancelled has no session to close.
        await driver.wait(opening, lambda _: core.close())
        return session


async def connect_one_zero(
    url: str | AmqpUri,
    ssl: ssl_module.SSLContext | None,
    record: tuple[RecordTarget | None, bool],
    connector: Connector | None,
    options: OneZeroOptions,
) -> OneZeroConnection:
    """What `connect` does for 1.0."""
    uri = parse(url) if isinstance(url, str) else url
    core = CoreConnection.client(client_config(uri, options))
    driver = await establish(uri, core, OneZeroDriver, ssl, record, connector)
    return OneZeroConnection(driver, uri)


__all__ = ["OneZeroConnection", "connect_one_zero"]
