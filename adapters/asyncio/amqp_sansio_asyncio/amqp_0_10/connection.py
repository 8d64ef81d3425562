"""0-10 connections of a client (0-10 class 1, part 1 section 4)."""

from __future__ import annotations

import ssl as ssl_module
from typing import TYPE_CHECKING, TypeVar

from amqp_sansio.amqp_0_10 import Connection as CoreConnection
from amqp_sansio.events import CloseReport, Event
from amqp_sansio.uri import AmqpUri, parse

from ..base import BaseConnection
from ..establishing import Connector, establish
from ..opening import Opening
from ..recording import RecordTarget
from .driver import ZeroTenDriver
from .session import ZeroTenSession
from .settings import ZeroTenOptions, client_config

if TYPE_CHECKING:
    from amqp_sansio.amqp_0_10 import Map, SessionState

_E = TypeVar("_E", bound=Event)


class ZeroTenConnection(BaseConnection[ZeroTenDriver, CoreConnection]):
    """A 0-10 connection, returned by `connect(url, version=AMQP_0_10)`. `close` it, or leave its context.

    >>> from amqp_sansio import AMQP_0_10
    >>> from amqp_sansio_asyncio import connect
    >>> async def example(url: str) -> None:
    ...     async with connect(url, version=AMQP_0_10, heartbeat=30) as connection:
    ...         session = await connection.open_session("orders", timeout=300)
    ...         await session.publish(b"hello", routing_key="jobs")
    """

    @property
    def peer_properties(self) -> Map:
        """The server's properties."""
        properties: Map = self._driver.core.peer_properties
        return properties

    def open_session(
        self, name: str | bytes | None = None, *, timeout: int | None = 0, force: bool = False
    ) -> Opening[ZeroTenSession]:
        """Attach a new session: `await` it, or use it as an async context that closes the session.

        `name` must be unused by this user; None generates a unique one. `timeout` is the number of seconds for which
        both ends keep the session when it is detached, None: forever, 0: not at all; `session.timeout` is the value
        that the peer grants. `force` takes the name from another connection. Raises LimitExceeded if all channels are
        in use, SessionEnded with the reason if the peer refuses.

        >>> async def example(connection: ZeroTenConnection) -> None:
        ...     async with connection.open_session() as session:
        ...         await session.publish(b"hello", routing_key="jobs")
        """
        return Opening(lambda: self._open_session(name, timeout, force))

    def resume_session(self, state: SessionState, *, force: bool = True) -> Opening[ZeroTenSession]:
        """Attach a session again, on this connection or another: `state` is its `detached_state()`.

        Once it is open, both ends know what the other has received, and everything in doubt is sent again: nothing is
        lost, and nothing executed twice. `session.pending` are the calls and publishes that still wait for an answer,
        `session.subscriptions` the subscriptions, with untaken messages. `force` takes the session from a connection
        that the peer still considers alive. Raises SessionEnded; if it is `resumable`, you may try again.

        >>> async def example(connection: ZeroTenConnection, state: SessionState) -> None:
        ...     session = await connection.resume_session(state)
        ...     for sent in session.pending.values():
        ...         print(await sent)
        """
        return Opening(lambda: self._resume_session(state, force))

    async def close(self, code: int = 200, text: str = "") -> CloseReport:
        """Close with a handshake of at most `close_timeout` seconds; return how the connection ended. Sessions with a
        timeout can be resumed. On a closed connection this does nothing.
        """
        driver = self._driver
        driver.say_accepted()
        driver.core.close(code, text)
        driver.start_closing()
        return await self.wait_closed()

    async def _open_session(
        self, name: str | bytes | None, timeout: int | None, force: bool
    ) -> ZeroTenSession:
        driver = self._driver
        core = driver.core.open_session(name, force=force)
        session = driver.sessions[core.channel] = ZeroTenSession(driver, core)
        opening = core.opening
        assert opening is not None
        # A cancelled caller has no session to close.
        await driver.wait(opening, lambda _: core.close())
        if timeout != 0:
            try:
                await session.request_timeout(timeout)
            except BaseException:
                session.start_closing()
                raise
        return session

    async def _resume_session(self, state: SessionState, force: bool) -> ZeroTenSession:
        driver = self._driver
        core = driver.core.resume_session(state, force=force)
        session = driver.sessions[core.channel] = ZeroTenSession(driver, core, state)
        opening = core.opening
        assert opening is not None
        # A cancelled caller still has the state, and may try again.
        await driver.wait(opening, lambda _: core.detach())
        return session


async def connect_zero_ten(
    url: str | AmqpUri,
    ssl: ssl_module.SSLContext | None,
    record: tuple[RecordTarget | None, bool],
    connector: Connector | None,
    options: ZeroTenOptions,
) -> ZeroTenConnection:
    """Connect for `connect` in 0-10."""
    uri = parse(url) if isinstance(url, str) else url
    core = CoreConnection.client(client_config(uri, options))
    driver = await establish(uri, core, ZeroTenDriver, ssl, record, connector)
    return ZeroTenConnection(driver, uri)


__all__ = ["ZeroTenConnection", "connect_zero_ten"]
