"""The server's end of a 1.0 connection: an async iterator over the client's events, and the core's sessions and links
for the answers.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from amqp_sansio.amqp_1_0 import Connection as CoreConnection
from amqp_sansio.amqp_1_0 import LinkRequested, SessionRequested
from amqp_sansio.amqp_1_0.codec.conditions import CONNECTION_FORCED, INTERNAL_ERROR, NOT_FOUND, NOT_IMPLEMENTED
from amqp_sansio.errors import EndpointClosed, LocalProtocolError
from amqp_sansio.events import CloseReport, Event
from amqp_sansio.sasl import Credentials

from ..serving import ServedConnection, ServingDriver

if TYPE_CHECKING:
    from amqp_sansio.amqp_1_0 import Receiver as CoreReceiver
    from amqp_sansio.amqp_1_0 import Sender as CoreSender
    from amqp_sansio.amqp_1_0 import Session as CoreSession
    from amqp_sansio.amqp_1_0.spec import Open

_VHOST: Final = "vhost:"


class ServerDriver(ServingDriver[CoreConnection]):
    """A server connection's driver in 1.0."""

    def close(self, condition: str, description: str, info: Mapping[Any, Any] | None = None) -> None:
        """Close the connection; from now on the driver takes the events."""
        self.core.close(condition, description, info)
        self.now_closing()

    def force_close(self, text: str) -> None:
        self.close(CONNECTION_FORCED, text)

    def fail(self) -> None:
        self.close(INTERNAL_ERROR, "the server failed")

    def refuse_unanswered(self, event: Event) -> str:
        text = "this server has no answer to it"
        try:
            if isinstance(event, SessionRequested):
                self.core.session(event.channel).refuse(NOT_IMPLEMENTED, text)
                return f"the begin on channel {event.channel}"
            if isinstance(event, LinkRequested):
                link = self.core.session(event.channel).link(event.link)
                link.refuse_attach(NOT_IMPLEMENTED, text)
                return f"the attach of link {link.name!r}"
        except (EndpointClosed, LocalProtocolError):
            # It's answered, or the link is gone.
            return ""
        return ""

    def vhost_of(self, asked: str) -> str:
        return asked.removeprefix(_VHOST) if asked.startswith(_VHOST) else "/"

    def refuse_vhost(self, name: str) -> None:
        self.core.refuse_open(NOT_FOUND, f"there is no virtual host {name!r}")


class ServerConnection(ServedConnection[ServerDriver]):
    """A 1.0 client that has logged in and opened its connection, as the server sees it.

    `async for event in connection` takes the client's events one by one: SessionRequested, LinkRequested, Delivery,
    CreditChanged, Settled, LinkClosed and so on, and Closed at the end. Answer on `connection.session(event.channel)`
    and `connection.link(event.channel, event.link)`, with `accept` or `refuse`, `flow`, `send`, `update`; queued octets
    are written when the next event is requested, or by `flush`. A session or link requested that isn't answered by
    then, nor kept by `later`, is refused as not implemented. Events that aren't taken stay unread, up to
    `Limits.unparsed` octets, then in the socket.

    >>> from amqp_sansio.amqp_1_0 import Delivery, LinkRequested, Receiver
    >>> from amqp_sansio.amqp_1_0 import SessionRequested
    >>> async def handle(connection: ServerConnection) -> None:
    ...     async for event in connection:
    ...         if isinstance(event, SessionRequested):
    ...             connection.session(event.channel).accept()
    ...         elif isinstance(event, LinkRequested):
    ...             link = connection.link(event.channel, event.link)
    ...             link.accept_attach()
    ...             if isinstance(link, Receiver):
    ...                 link.flow(100)
    ...         elif isinstance(event, Delivery):
    ...             link = connection.link(event.channel, event.link)
    ...             link.accept(event)
    """

    @property
    def core(self) -> CoreConnection:
        """The connection of the core, with all its commands."""
        return self._driver.core

    @property
    def remote(self) -> Open | None:
        """The client's open: its container-id, properties and capabilities."""
        return self._driver.core.peer_open

    @property
    def hostname(self) -> str:
        """The host that the client asked for; empty if it named none."""
        remote = self.remote
        return "" if remote is None or remote.hostname is None else str(remote.hostname)

    @property
    def vhost(self) -> str:
        """The virtual host in the hostname: NAME for "vhost:NAME", else "/"."""
        return self._driver.vhost_of(self.hostname)

    @property
    def mechanism(self) -> str:
        """The SASL mechanism of the client's login; empty without SASL."""
        return self._driver.core.mechanism

    def session(self, channel: int) -> CoreSession:
        """Return the session that this end sends on `channel`. Raises EndpointClosed if there is none."""
        return self._driver.core.session(channel)

    def link(self, channel: int, handle: int) -> CoreSender | CoreReceiver:
        """Return the link with that handle of this end. Raises EndpointClosed if there is none."""
        return self._driver.core.session(channel).link(handle)

    async def close(
        self,
        condition: str = CONNECTION_FORCED,
        description: str = "closed by the server",
        info: Mapping[Any, Any] | None = None,
    ) -> CloseReport:
        """Close with a handshake of at most `close_timeout` seconds; return how the connection ended."""
        self._driver.close(condition, description, info)
        return await self.wait_closed()

    def __repr__(self) -> str:
        state = "open" if self.is_open else f"closed: {self.report}"
        return f"<ServerConnection of {self.user!r}, host {self.hostname!r}, {state}>"


Handler: TypeAlias = Callable[[ServerConnection], Awaitable[object]]
"""Serves one client of 1.0; the connection is closed when it returns."""
Authenticate: TypeAlias = Callable[[ServerConnection, Credentials], "bool | Awaitable[bool]"]
"""Checks the credentials of a client of 1.0."""


__all__ = ["Authenticate", "Handler", "ServerConnection", "ServerDriver"]
