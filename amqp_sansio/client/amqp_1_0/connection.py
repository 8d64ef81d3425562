"""Connection: a client's connection of 1.0, as its user sees it (1.0 part 2 section 2.4)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from ...errors import LocalProtocolError
from ...events import CloseReport
from ..connection import AnyConnection
from ..opening import Opening
from .client import Client
from .links import SessionState
from .session import Session

if TYPE_CHECKING:
    from ...amqp_1_0 import SessionRequested
    from ...amqp_1_0.codec.performatives import Open


class Connection(AnyConnection[Client]):
    """A 1.0 connection, returned by `connect(url, version=AMQP_1_0)`. `close` it, or leave its context.

    Leaving the context without an exception raises a failure of the connection, of a session or of a link that no call
    has raised and no `report` has shown.

    >>> async def example(connection: Connection) -> None:
    ...     session = await connection.open_session()
    ...     async with session.open_sender("jobs") as sender:
    ...         await sender.send(b"hello")
    """

    @property
    def remote(self) -> Open:
        """The peer's open: its container-id, properties and capabilities."""
        remote = self._client.core.peer_open
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

        >>> async def example(connection: Connection) -> None:
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
        >>> async def example(connection: Connection) -> None:
        ...     async for event in connection.events(SessionRequested):
        ...         session = connection.accept_session(event)
        """
        client = self._client
        core = client.core.session(event.channel)
        core.accept()
        session = Session(SessionState(client, core))
        client.route_now()
        return session

    async def put_token(self, entity: str) -> None:
        """Put a token for an entity now, and keep it good as long as the connection lives: for links whose address
        doesn't name the entity that they need.

        The option `cbs` of `connect` says where tokens come from; without it this raises LocalProtocolError. Raises
        TokenRefused with the peer's description, and what the provider raises.
        """
        client = self._client
        await client.until_restored()
        if client.claims is None:
            raise LocalProtocolError("this connection has no token provider: give connect the option cbs")
        await client.claims.put(entity)

    async def close(
        self, condition: str = "", description: str = "", info: Mapping[Any, Any] | None = None
    ) -> CloseReport:
        """Close within `close_timeout` seconds, with an error if `condition` names one; return how the connection
        ended. On a closed connection this does nothing.
        """
        client = self._client
        client.stop_recovery()
        client.say_accepted()
        client.core.close(condition, description, info)
        await client.end_connection()
        return await self.wait_closed()

    async def _open_session(self, fields: dict[str, Any]) -> Session:
        client = self._client
        await client.until_restored()
        core = client.core.open_session(**fields)
        state = SessionState(client, core, None if client.recovery is None else fields)
        opening = core.opening
        assert opening is not None
        # A caller that is gone has no session to close.
        await client.result(opening, lambda _: state.core.close(), f"begin of session {core.channel}")
        return Session(state)


__all__ = ["Connection"]
