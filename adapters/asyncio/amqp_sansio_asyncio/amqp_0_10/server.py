"""The server's end of a 0-10 connection: an async iterator over the client's events, and the core's sessions for the
answers.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Final, TypeAlias

from amqp_sansio.amqp_0_10 import CommandReceived, ExecutionError, MessageReceived, SessionClosed, SessionRequested
from amqp_sansio.amqp_0_10 import Connection as CoreConnection
from amqp_sansio.amqp_0_10.spec import DetachCode
from amqp_sansio.errors import EndpointClosed, LocalProtocolError
from amqp_sansio.events import CloseReport, Event
from amqp_sansio.sasl import Credentials

from ..serving import ServedConnection, ServingDriver

if TYPE_CHECKING:
    import asyncio

    from amqp_sansio.amqp_0_10 import Map
    from amqp_sansio.amqp_0_10 import Session as CoreSession

    from ..recording import RecordedConnection
    from .session_registry import SessionKeeper

_CONNECTION_FORCED: Final = 320


class ServerDriver(ServingDriver[CoreConnection]):
    """A server connection's driver in 0-10.

    Commands received but not taken when their session is detached come again when it is resumed, so they are dropped
    here: whoever takes an event executes it.
    """

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        core: CoreConnection,
        tap: RecordedConnection | None,
        keeper: SessionKeeper,
    ) -> None:
        super().__init__(loop, core, tap)
        self.keeper: Final = keeper
        """Of the server's sessions, which outlive this connection."""
        self.attached: dict[int, CoreSession] = {}
        """The sessions of this connection, by channel."""
        self._heard: list[SessionClosed] = []
        """Ends of sessions that the application has been told: from its next event on others may have these."""

    def take(self) -> Event | None:
        event = super().take()
        if isinstance(event, SessionClosed) and event.resumable:
            kept = [each for each in self.backlog if not _belongs(each, event.channel)]
            self.backlog.clear()
            self.backlog.extend(kept)
        return event

    async def next(self) -> Event | None:
        # The next request for an event means that the previous one was handled.
        self._let_go()
        event = await super().next()
        if isinstance(event, SessionClosed):
            self._heard.append(event)
        return event

    def handler_ended(self) -> None:
        self._heard += [each for each in self.backlog if isinstance(each, SessionClosed)]
        self.backlog.clear()
        self._let_go()

    def close(self, code: int, text: str) -> None:
        """Close the connection; from now on the driver takes the events."""
        self.core.close(code, text)
        self.now_closing()

    def force_close(self, text: str) -> None:
        self.close(_CONNECTION_FORCED, text)

    def fail(self) -> None:
        self.close(_CONNECTION_FORCED, "the server failed")

    def refuse_unanswered(self, event: Event) -> str:
        if isinstance(event, SessionRequested):
            try:
                self.core.refuse_session(event.channel)
            except (EndpointClosed, LocalProtocolError):
                return ""
            return f"session.attach of {event.name!r}"
        if not isinstance(event, CommandReceived):
            return ""
        try:
            session = self.core.session(event.channel)
            if not session.is_incomplete(event.command_id):
                return ""
            name = event.command.NAME
            session.fail(ExecutionError(540, f"this server has no answer to {name}"), event.command_id)
        except EndpointClosed:
            return ""
        return f"{name}, command {event.command_id} on channel {event.channel}"

    def refuse_vhost(self, name: str) -> None:
        self.core.refuse_open(text=f"there is no virtual host {name!r}")

    def _let_go(self) -> None:
        """Make sessions available to others once the application knows their end."""
        heard, self._heard = self._heard, []
        for event in heard:
            session = self.attached.pop(event.channel, None)
            if session is not None:
                state = session.detached_state() if event.resumable else None
                self.keeper.detached(self, event.name, state)


class ServerConnection(ServedConnection[ServerDriver]):
    """A 0-10 client that has logged in and opened its virtual host, as the server sees it.

    `async for event in connection` takes the client's events one by one: SessionRequested (answer it with
    `accept_session`), Opened or Resumed for a session, CommandReceived, MessageReceived, CreditChanged, Settled,
    SessionClosed and so on, and Closed at the end. Answer on `connection.session(event.channel)`, with `complete` or
    `fail`, `transfer`, `accept`; queued octets are written when the next event is requested, or by `flush`. A
    CommandReceived that is neither completed nor failed by then, nor kept by `later`, ends its session with 540 (not
    implemented); a SessionRequested without an answer is refused. Events that aren't taken stay unread, up to
    `Limits.unparsed` octets, then in the socket.

    A session with a timeout continues on the next connection with this one's state: `Resumed` has the commands that
    were taken here and not completed.

    >>> from amqp_sansio.amqp_0_10 import MessageReceived, SessionRequested
    >>> async def handle(connection: ServerConnection) -> None:
    ...     async for event in connection:
    ...         if isinstance(event, SessionRequested):
    ...             await connection.accept_session(event)
    ...         elif isinstance(event, MessageReceived):
    ...             session = connection.session(event.channel)
    ...             if event.accepts:
    ...                 session.accept(event.command_id)
    ...             else:
    ...                 session.complete(event.command_id)
    """

    @property
    def core(self) -> CoreConnection:
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
    def peer_properties(self) -> Map:
        """The client's properties."""
        properties: Map = self._driver.core.peer_properties
        return properties

    def session(self, channel: int) -> CoreSession:
        """Return the session on `channel`. Raises EndpointClosed if there is none."""
        return self._driver.core.session(channel)

    async def accept_session(self, event: SessionRequested) -> CoreSession | None:
        """Attach a session that the client requests: a new one, or one of this user that continues.

        None: another connection has it, and the client was told that it is busy. With `event.force`, it is taken from
        there, within two seconds. Raises EndpointClosed if the client is gone meanwhile.
        """
        driver, keeper = self._driver, self._driver.keeper
        free, state = await keeper.attach(driver, event.channel, event.name, event.force)
        if not free:
            driver.core.refuse_session(event.channel, DetachCode.SESSION_BUSY)
            driver.schedule_flush()
            return None
        try:
            session = driver.core.accept_session(event.channel, state)
        except BaseException:
            keeper.detached(driver, event.name, state)
            raise
        driver.attached[event.channel] = session
        driver.schedule_flush()
        return session

    def refuse_session(self, event: SessionRequested) -> None:
        """Tell the client that the session is busy."""
        self._driver.core.refuse_session(event.channel, DetachCode.SESSION_BUSY)
        self._driver.schedule_flush()

    async def close(self, code: int = _CONNECTION_FORCED, text: str = "closed by the server") -> CloseReport:
        """Close with a handshake of at most `close_timeout` seconds; return how the connection ended. `code` is 200,
        320, 402 or 501.
        """
        self._driver.close(code, text)
        return await self.wait_closed()

    def __repr__(self) -> str:
        state = "open" if self.is_open else f"closed: {self.report}"
        return f"<ServerConnection of {self.user!r} on {self.vhost!r}, {state}>"


def _belongs(event: Event, channel: int) -> bool:
    """Whether an event requests the execution of a command on this channel."""
    return isinstance(event, (CommandReceived, MessageReceived)) and event.channel == channel


Handler: TypeAlias = Callable[[ServerConnection], Awaitable[object]]
"""Serves one client of 0-10; the connection is closed when it returns."""
Authenticate: TypeAlias = Callable[[ServerConnection, Credentials], "bool | Awaitable[bool]"]
"""Checks the credentials of a client of 0-10."""


__all__ = ["Authenticate", "Handler", "ServerConnection", "ServerDriver"]
