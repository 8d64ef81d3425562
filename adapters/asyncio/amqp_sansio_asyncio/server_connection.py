"""The server's end of one connection: an async iterator over the client's requests, and the core's channels for the
answers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from amqp_sansio.amqp_0_9_1 import Channel as CoreChannel
from amqp_sansio.amqp_0_9_1 import Request, Table
from amqp_sansio.amqp_0_9_1.spec import Method
from amqp_sansio.events import CloseReport, Event

from .serving import ServedConnection, ServingDriver

if TYPE_CHECKING:
    from amqp_sansio.client.classic.client import Core as ClassicCore


class ServerDriver(ServingDriver["ClassicCore"]):
    """A server connection's driver in 0-8 and 0-9-1."""

    def close(self, code: int, text: str, cause: Method | None = None) -> None:
        """Close the connection; from now on the driver takes the events."""
        self.core.close(code, text, cause)
        self.now_closing()

    def force_close(self, text: str) -> None:
        self.close(320, f"CONNECTION_FORCED - {text}")

    def fail(self) -> None:
        self.close(541, "INTERNAL_ERROR - the server failed")

    def refuse_unanswered(self, event: Event) -> str:
        if not isinstance(event, Request) or not self.core.is_waiting(event):
            return ""
        # A hard code (0-9-1 section 1.2): nothing else could be told about the request.
        method = event.method
        self.close(540, f"NOT_IMPLEMENTED - this server has no answer to {method.NAME}", method)
        return f"{method.NAME} on channel {event.channel}"

    def refuse_vhost(self, name: str) -> None:
        self.core.refuse_open(530, f"NOT_ALLOWED - there is no virtual host {name!r}")


class ServerConnection(ServedConnection[ServerDriver]):
    """A client that has logged in and opened its virtual host, as the server sees it.

    `async for event in connection` takes the client's events one by one: Opened (a channel), Request, Published,
    MethodReceived, Settled, FlowChanged and so on, and Closed at the end. Answer on
    `connection.channel(event.channel)`, with `reply`, `deliver`, `confirm` or `close`; queued octets are written when
    the next event is requested, or by `flush`. A Request that isn't answered by then, nor kept by `later`, ends the
    connection with 540 (not implemented). Events that aren't taken stay unread, up to `Limits.unparsed` octets,
    then in the socket.
    """

    @property
    def core(self) -> ClassicCore:
        """The connection of the core, with all its commands."""
        return self._driver.core

    @property
    def vhost(self) -> str:
        """The client's virtual host."""
        return self._driver.core.vhost

    @property
    def mechanism(self) -> str:
        """The SASL mechanism of the client's login."""
        return self._driver.core.mechanism

    @property
    def peer_properties(self) -> Table:
        """The client's properties."""
        return self._driver.core.peer_properties

    def channel(self, number: int) -> CoreChannel:
        """Return the client's channel `number`. Raises EndpointClosed if it isn't open."""
        return self._driver.core.channel(number)

    def send(self, method: Method) -> None:
        """Send a connection method that has no reply, such as ConnectionBlocked."""
        self._driver.core.send(method)
        self._driver.schedule_flush()

    def reply(self, method: Method) -> None:
        """Answer a request of the connection class."""
        self._driver.core.reply(method)
        self._driver.schedule_flush()

    async def close(
        self, code: int = 320, text: str = "CONNECTION_FORCED - closed by the server", cause: Method | None = None
    ) -> CloseReport:
        """Close with a handshake of at most `close_timeout` seconds; return how the connection ended."""
        self._driver.close(code, text, cause)
        return await self.wait_closed()

    def __repr__(self) -> str:
        state = "open" if self.is_open else f"closed: {self.report}"
        return f"<ServerConnection of {self.user!r} on {self.vhost!r}, {state}>"


__all__ = ["ServerConnection", "ServerDriver"]
