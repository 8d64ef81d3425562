"""ZeroTenConnection: one blocking connection of 0-10 and its sessions; dispatches the engine's events."""

from __future__ import annotations

import copy
from collections import deque
from collections.abc import Callable
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
    RemoteProtocolError,
    Replied,
    Scope,
    SendPaused,
    SendResumed,
    Settled,
)
from amqp_sansio.amqp_0_10 import Connection as CoreConnection
from amqp_sansio.amqp_0_10 import MessageReceived, Resumed, SessionClosed, SessionState
from amqp_sansio.amqp_0_10 import Session as CoreSession

from ..base import BaseConnection
from ..feed import publicise
from .attachment import Attachment
from .session import ZeroTenSession

if TYPE_CHECKING:
    from collections.abc import Mapping

    from amqp_sansio.uri import AmqpUri

    from ..transport import Transport

_WRITING: Final = frozenset({SendPaused, SendResumed})
"""Events that matter only to writes, which check for them."""


class ZeroTenConnection(BaseConnection[CoreConnection]):
    """A connection to a 0-10 peer, returned by `connect`. Every method may be called from any thread.

    While no thread waits on it, a daemon thread sends heartbeats and checks the server's. `close` it, or leave its
    context, which also raises a failure of the connection or a session that no call has raised and no `report` has
    shown.
    """

    __slots__ = ("_failed", "_sessions")

    def __init__(self, core: CoreConnection, transport: Transport, uri: AmqpUri) -> None:
        super().__init__(core, transport, uri)
        self._sessions: dict[int, deque[ZeroTenSession]] = {}
        self._failed = False

    @property
    def peer_properties(self) -> Mapping[str, Any]:
        """The server's properties: product, version, platform."""
        found: Mapping[str, Any] | None = self.wire.core.peer_properties
        return {} if found is None else found

    @property
    def known_hosts(self) -> tuple[str, ...]:
        """Equivalent servers, according to this one ("amqp:tcp:host:port")."""
        return self.wire.core.known_hosts

    def open_session(
        self,
        name: str | bytes | None = None,
        *,
        timeout: int | None = 0,
        force: bool = False,
        open_timeout: float | None = None,
    ) -> ZeroTenSession:
        """Open a new session. `name` must be unused by this user; None generates one.

        `timeout` is the number of seconds for which both ends keep the session when it is detached, so that
        `resume_session` can continue it on this connection or another: 0: not at all, None: forever; the server may
        grant less, see the session's `timeout`. `force` takes the name from another connection. Raises SessionEnded if
        the server refuses, or knows a session of that name already, LimitExceeded if all channels are in use,
        TimeoutError after `open_timeout` seconds (0-10 class 2, session.attach and request-timeout).

        >>> def example(connection: ZeroTenConnection) -> bytes:
        ...     with connection.open_session("orders", timeout=300) as session:
        ...         return session.name
        """
        session, opening = self._attach(lambda: self.wire.core.open_session(name, timeout=timeout, force=force))
        self.answer(session, opening, open_timeout, "the attach", lambda _: session.core.close())
        return session

    def resume_session(
        self, state: SessionState, *, force: bool = True, open_timeout: float | None = None
    ) -> ZeroTenSession:
        """Continue a session that was detached, or whose connection was lost; `state` is its `detached_state()`.

        Everything in doubt is sent again, and nothing is executed twice. `pending` of the result has the calls and
        publishes without an answer; `subscription(destination)` continues a subscription. `force`: even if the server
        hasn't noticed yet that the other connection is gone. Raises SessionEnded if the server doesn't know the session
        any more, which leaves everything in doubt; TimeoutError after `open_timeout` seconds (part 1 section 3.6).

        >>> def example(session: ZeroTenSession, other: ZeroTenConnection) -> list[object]:
        ...     again = other.resume_session(session.detach())
        ...     return [each.result() for each in again.pending.values()]
        """
        session, opening = self._attach(lambda: self.wire.core.resume_session(state, force=force))
        self.answer(session, opening, open_timeout, "the attach", lambda _: session.core.detach())
        return session

    def close(self, code: int = 200, text: str = "", *, timeout: float | None = None) -> CloseReport:
        """Close with a handshake of at most `timeout` seconds (None: `close_timeout`); return how it ended.

        `code` is 200, 320, 402 or 501 (class 1, close-code). Sessions with a timeout can be resumed on another
        connection. On a closed connection this does nothing.

        >>> def example(connection: ZeroTenConnection) -> CloseReport:
        ...     return connection.close(320, "maintenance")
        """
        return self._close(lambda: self.wire.core.close(code, text), "connection.close", timeout)

    def wait_closed(self, timeout: float | None = None) -> CloseReport:
        """Wait until the connection has ended, by either side; return how.

        >>> def example(connection: ZeroTenConnection) -> str:
        ...     return str(connection.wait_closed())
        """
        wire = self.wire
        wire.wait(lambda: wire.ended, timeout, "the end of the connection")
        return self.report or CloseReport(By.LOCAL, 0, str(wire.closed()))

    # For its sessions.

    def answer(
        self,
        session: Attachment,
        handle: Pending[Any],
        timeout: float | None,
        what: str,
        late: Callable[[Any], object] | None = None,
    ) -> Any:
        """Wait for a handle of a session and return its result. `late` takes a result after a timeout.

        The end of the session ends the wait too: a call of a resumable one is answered after it was resumed.
        """
        if not handle.done:
            try:
                self.wire.wait(lambda: handle.done or session.ended, timeout, what)
            except BaseException:
                if late is not None and not self.wire.ended:
                    self.wire.run(lambda: self._when_late(handle, late))
                raise
        error = handle.error
        if error is None and handle.done:
            return handle.result
        if error is None or (
            isinstance(error, (EndpointClosed, RemoteProtocolError)) and session.core.report is not None
        ):
            raise session.gone() from error
        raise copy.copy(error)

    # Internals.

    def _attach(self, command: Callable[[], CoreSession]) -> tuple[ZeroTenSession, Pending[Any]]:
        def begin() -> tuple[ZeroTenSession, Pending[Any]]:
            core = command()
            opening = core.opening
            assert opening is not None
            session = ZeroTenSession(self, core)
            self._sessions.setdefault(core.channel, deque()).append(session)
            return session, opening

        return self.wire.run(begin)

    def _interval(self) -> float:
        return self.wire.core.heartbeat / 2

    def _at(self, channel: int) -> ZeroTenSession | None:
        """Return the session of an event on `channel`: of two, the one whose end is still to come."""
        found = self._sessions.get(channel)
        return found[0] if found else None

    def _dispatch(self, event: Event) -> None:
        if type(event) is MessageReceived:
            session = self._at(event.channel)
            if session is not None and not self._closing:
                session.deliver(event)
        elif type(event) is Settled:
            if self.hooks:
                self._settled(event)
        elif type(event) in _WRITING:
            return
        elif isinstance(event, (Failed, Abandoned)):
            self._unanswered(event)
            if isinstance(event, Failed) and not self._gives_up(event):
                self._note_failure(event)
        elif isinstance(event, (Replied, Opened)):
            session = self._at(event.channel) if isinstance(event, Resumed) else None
            if session is not None and isinstance(event, Resumed):
                session.resumed(event.incomplete)
            self._answered(event)
        elif isinstance(event, Closed):
            self._ended(event)
        else:
            session = self._at(getattr(event, "channel", -1))
            if session is not None:
                session.take(event)
            else:
                publicise(self.streams, event)

    def _settled(self, event: Settled) -> None:
        for handle in event.handles:
            hook = self.hooks.pop(handle, None)
            if hook is not None:
                # If the session is gone, its end has done this already.
                with suppress(AmqpError):
                    hook(handle.result)

    def _note_failure(self, event: Failed) -> None:
        """Record a failure, for a caller or for leaving the connection's context."""
        if event.scope is not Scope.SESSION:
            self._failed = True
            return
        session = self._at(event.channel)
        if session is not None and session.core.report is not None:
            self.wire.unseen[session] = error = session.closed(session.core.report)
            core = self.wire.core
            if event.channel in core.sessions and core.session(event.channel) is session.core:
                # Only its detach can still come, which changes nothing.
                session.no_more(error)

    def _ended(self, event: Closed) -> None:
        if isinstance(event, SessionClosed):
            found = self._sessions.get(event.channel)
            if found:
                session = found.popleft()
                if not found:
                    del self._sessions[event.channel]
                session.end(event)
            return
        error = self._all_over(event.report)
        if self._failed:
            self.wire.unseen[0] = error


__all__ = ["ZeroTenConnection"]
