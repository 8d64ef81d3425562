"""OneZeroConnection: one blocking connection of 1.0 and its sessions; dispatches the engine's events."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from amqp_sansio import (
    Abandoned,
    AmqpError,
    By,
    Closed,
    CloseReport,
    EndpointClosed,
    Event,
    Failed,
    Opened,
    Pending,
    Replied,
    Scope,
    SendPaused,
    SendResumed,
    Settled,
)
from amqp_sansio.amqp_1_0 import Connection as CoreConnection
from amqp_sansio.amqp_1_0 import Delivery, LinkClosed, LinkRequested, Open, SessionRequested, Updated
from amqp_sansio.amqp_1_0.codec.conditions import NOT_IMPLEMENTED

from ..base import BaseConnection
from ..feed import publicise
from .session import Session

if TYPE_CHECKING:
    from amqp_sansio.uri import AmqpUri

    from ..transport import Transport

_WRITING: Final = frozenset({SendPaused, SendResumed})
"""Events that matter only to writes, which check for them."""


class OneZeroConnection(BaseConnection[CoreConnection]):
    """A connection to a 1.0 peer, returned by `connect`. Every method may be called from any thread.

    While no thread waits on it, a daemon thread sends the empty frames that keep it alive and checks the peer's.
    `close` it, or leave its context, which also raises a failure of the connection, a session or a link that no call
    has raised and no `report` has shown.
    """

    __slots__ = ("_early", "_failed", "sessions", "told")

    def __init__(self, core: CoreConnection, transport: Transport, uri: AmqpUri) -> None:
        super().__init__(core, transport, uri)
        self.sessions: dict[int, Session] = {}
        self.told: dict[Pending[Any], object] = {}
        self._early: dict[int, list[LinkRequested]] = {}
        self._failed: set[tuple[Scope, int, int]] = set()

    @property
    def remote(self) -> Open:
        """The peer's open: container, limits, capabilities, properties."""
        remote = self.wire.core.peer_open
        assert remote is not None  # `connect` waits for it
        return remote

    def open_session(
        self,
        *,
        properties: Mapping[Any, Any] | None = None,
        offered_capabilities: Iterable[str] = (),
        desired_capabilities: Iterable[str] = (),
        timeout: float | None = None,
    ) -> Session:
        """Open a session. Raises LimitExceeded if all channels are in use, TimeoutError after `timeout` seconds.

        >>> def example(connection: OneZeroConnection) -> int:
        ...     with connection.open_session() as session:
        ...         return session.channel
        """

        def begin() -> Session:
            core = self.wire.core.open_session(
                properties=properties,
                offered_capabilities=offered_capabilities,
                desired_capabilities=desired_capabilities,
            )
            session = self.sessions[core.channel] = Session(self, core)
            return session

        session = self.wire.run(begin)
        opening = session.core.opening
        assert opening is not None
        session.finish(opening, timeout, "the begin", lambda _: session.core.close())
        return session

    def accept_session(self, request: SessionRequested) -> Session:
        """Accept a session that the peer began, from `events(SessionRequested)`.

        Links that the peer attaches on it wait for a reader of the session's `events(LinkRequested)`.

        >>> def example(connection: OneZeroConnection) -> Session:
        ...     with connection.events(SessionRequested) as requests:
        ...         return connection.accept_session(next(requests))
        """

        def accept() -> Session:
            core = self.wire.core.session(request.channel)
            core.accept()
            session = self.sessions[core.channel] = Session(self, core)
            session.held = self._early.pop(core.channel, [])
            return session

        return self.wire.run(accept)

    def close(
        self,
        condition: str = "",
        description: str = "",
        info: Mapping[Any, Any] | None = None,
        *,
        timeout: float | None = None,
    ) -> CloseReport:
        """Close with a handshake of at most `timeout` seconds (None: `close_timeout`); return how it ended.

        `condition` is an error's symbol, such as "amqp:connection:forced", "" for none. A closed connection stays
        closed.

        >>> def example(connection: OneZeroConnection) -> CloseReport:
        ...     return connection.close("amqp:connection:forced", "maintenance")
        """
        return self._close(lambda: self.wire.core.close(condition, description, info), "the close", timeout)

    def wait_closed(self, timeout: float | None = None) -> CloseReport:
        """Wait until the connection has ended, by either side; return how.

        >>> def example(connection: OneZeroConnection) -> str:
        ...     return str(connection.wait_closed())
        """
        wire = self.wire
        wire.wait(lambda: wire.ended, timeout, "the end of the connection")
        return self.report or CloseReport(By.LOCAL, 0, str(wire.closed()))

    # Internals.

    def _interval(self) -> float:
        remote = self.wire.core.peer_open
        return 0.0 if remote is None else (remote.idle_time_out or 0) / 4000

    def _dispatch(self, event: Event) -> None:
        if type(event) is Delivery:
            session = self.sessions.get(event.channel)
            if session is not None and not self._closing:
                session.deliver(event)
        elif type(event) is Settled:
            if self.hooks or self.told:
                self._settled(event)
        elif type(event) in _WRITING:
            return
        elif type(event) is Updated:
            for handle in event.handles:
                self.told[handle] = event.state
        elif isinstance(event, (Failed, Abandoned)):
            self._unanswered(event)
            for handle in event.handles:
                self.told.pop(handle, None)
            if isinstance(event, Failed) and not self._gives_up(event):
                self._fails(event)
        elif isinstance(event, (Replied, Opened)):
            self._answered(event)
        elif isinstance(event, Closed):
            self._ended(event)
        else:
            self._other(event)

    def _other(self, event: Event) -> None:
        session = self.sessions.get(getattr(event, "channel", -1))
        if session is not None:
            session.take(event)
        elif isinstance(event, LinkRequested) and event.channel in self._early:
            self._early[event.channel].append(event)
        elif publicise(self.streams, event):
            if isinstance(event, SessionRequested):
                # Links may be requested before it is accepted.
                self._early[event.channel] = []
        elif isinstance(event, SessionRequested):
            # If it has ended meanwhile, there is nothing to refuse.
            with suppress(AmqpError):
                core = self.wire.core.session(event.channel)
                core.refuse(NOT_IMPLEMENTED, "this client takes no sessions")

    def _settled(self, event: Settled) -> None:
        for handle in event.handles:
            self.told.pop(handle, None)
            hook = self.hooks.pop(handle, None)
            if hook is not None:
                # If the link is gone, or takes no more, its end has done this already.
                with suppress(AmqpError):
                    hook(handle.result)

    def _fails(self, event: Failed) -> None:
        """Record a failure, for a caller or for leaving the connection's context."""
        session = self.sessions.get(event.channel)
        error = None if session is None or event.by is not By.LOCAL else session.fails(event)
        if error is None:
            self._failed.add(_key(event))
        else:
            self.wire.unseen[_key(event)] = error

    def _ended(self, event: Closed) -> None:
        report = event.report
        key = _key(event)
        session = self.sessions.get(event.channel)
        error: EndpointClosed | None = None
        if isinstance(event, LinkClosed):
            if session is not None:
                error = session.link_ended(event)
        elif event.scope is Scope.SESSION:
            self._early.pop(event.channel, None)
            error = EndpointClosed(f"session {event.channel} is closed: {report}", report)
            if session is not None:
                del self.sessions[event.channel]
                session.end(error)
        else:
            error = self._all_over(report)
        if key in self._failed:
            self._failed.discard(key)
            if error is not None:
                self.wire.unseen[0 if event.scope is Scope.CONNECTION else key] = error


def _key(event: Failed | Closed) -> tuple[Scope, int, int]:
    return event.scope, event.channel, getattr(event, "link", -1)


__all__ = ["OneZeroConnection"]
