"""Connection: a client's connection of 0-10, as its user sees it (0-10 class 1, part 1 section 4)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...events import CloseReport
from ..connection import AnyConnection
from ..opening import Opening
from .client import Client
from .routes import SessionRoutes
from .session import Session

if TYPE_CHECKING:
    from ...amqp_0_10 import Connection as CoreConnection
    from ...amqp_0_10 import Map, SessionState


class Connection(AnyConnection[Client]):
    """A 0-10 connection, returned by `connect(url, version=AMQP_0_10)`. `close` it, or leave its context.

    Leaving the context without an exception raises a failure of the connection or of a session that no call has raised
    and no `report` has shown.

    >>> async def example(connection: Connection) -> None:
    ...     session = await connection.open_session("orders", timeout=300)
    ...     await session.publish(b"hello", routing_key="jobs")
    """

    @property
    def core(self) -> CoreConnection:
        """The connection of the core, for its properties: negotiated limits, state. Don't call its commands."""
        return self._client.core

    @property
    def peer_properties(self) -> Map:
        """The server's properties."""
        properties: Map = self._client.core.peer_properties
        return properties

    @property
    def known_hosts(self) -> tuple[str, ...]:
        """Other addresses of the server, as it named them."""
        return self._client.core.known_hosts

    def open_session(
        self, name: str | bytes | None = None, *, timeout: int | None = 0, force: bool = False
    ) -> Opening[Session]:
        """Attach a new session: `await` it, or use it as an async context that closes the session.

        `name` must be unused by this user; None generates a unique one. `timeout` is the number of seconds for which
        both ends keep the session when it is detached, None: forever, 0: not at all; `session.timeout` is the value
        that the peer grants. `force` takes the name from another connection. Raises LimitExceeded if all channels are
        in use, SessionEnded with the reason if the peer refuses.

        >>> async def example(connection: Connection) -> None:
        ...     async with connection.open_session() as session:
        ...         await session.publish(b"hello", routing_key="jobs")
        """
        return Opening(lambda: self._open_session(name, timeout, force))

    def resume_session(self, state: SessionState, *, force: bool = True) -> Opening[Session]:
        """Attach a session again, on this connection or another: `state` is its `detached_state()`.

        Once it is open, both ends know what the other has received, and everything in doubt is sent again: nothing is
        lost, and nothing executed twice. `session.pending` are the calls and publishes that still wait for an answer,
        `session.subscriptions` the subscriptions, with untaken messages. `force` takes the session from a connection
        that the peer still considers alive. Raises SessionEnded; if it is `resumable`, you may try again.

        >>> async def example(connection: Connection, state: SessionState) -> None:
        ...     session = await connection.resume_session(state)
        ...     for sent in session.pending.values():
        ...         print(await sent)
        """
        return Opening(lambda: self._resume_session(state, force))

    async def close(self, code: int = 200, text: str = "") -> CloseReport:
        """Close with a handshake of at most `close_timeout` seconds; return how the connection ended. Sessions with a
        timeout can be resumed. On a closed connection this does nothing.
        """
        client = self._client
        client.stop_recovery()
        client.before_sending()
        client.core.close(code, text)
        await client.end_connection()
        return await self.wait_closed()

    async def _open_session(self, name: str | bytes | None, timeout: int | None, force: bool) -> Session:
        client = self._client
        await client.until_restored()
        core = client.core.open_session(name, force=force)
        state = client.sessions[core.channel] = SessionRoutes(client, core, None, (name, timeout))
        opening = core.opening
        assert opening is not None
        # A caller that is gone has no session to close.
        await state.result(opening, lambda _: state.leave(), f"session.attach of {core.name!r}")
        session = Session(state)
        if timeout != 0:
            try:
                await session.request_timeout(timeout)
            except BaseException:
                state.leave()
                raise
        return session

    async def _resume_session(self, kept: SessionState, force: bool) -> Session:
        client = self._client
        await client.until_restored()
        core = client.core.resume_session(kept, force=force)
        asked = kept.name, kept.timeout
        state = client.sessions[core.channel] = SessionRoutes(client, core, kept, asked)
        opening = core.opening
        assert opening is not None
        # A caller that is gone still has the kept state, and may try again.
        await state.result(opening, lambda _: state.core.detach(), f"session.attach of {core.name!r}")
        return Session(state)


__all__ = ["Connection"]
