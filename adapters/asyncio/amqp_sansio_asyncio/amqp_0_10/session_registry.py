"""SessionKeeper: keeps the sessions of a 0-10 server beyond their connections (0-10 class 2)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Final, cast

from amqp_sansio.amqp_0_10 import KeptSessions
from amqp_sansio.errors import EndpointClosed
from amqp_sansio.events import By, CloseReport

if TYPE_CHECKING:
    from amqp_sansio.amqp_0_10 import Connection, SessionState

    from ..serving import ServingDriver

Expired = Callable[[str, "SessionState"], object]
"""Called with the user and state of a session that wasn't resumed in time."""

_PATIENCE: Final = 1.0
"""Seconds that a client has to leave a session that another connection takes with force."""


class SessionKeeper:
    """Keeps the attached sessions of a server, and the detached ones for their timeout, by user and name. `serve(...,
    sessions=...)` takes one; otherwise it creates its own.

    `expired(user, state)` is called for sessions that weren't resumed in time, before their pendings end:
    messages sent on them, `state.pending`, may then go to others.

    >>> def expired(user: str, state: SessionState) -> None:
    ...     print(state.name, "of", user, "is over,", len(state.pending), "messages are free")
    >>> keeper = SessionKeeper(expired=expired)
    """

    def __init__(self, *, limit: int = 10_000, expired: Expired | None = None) -> None:
        self.sessions: Final = KeptSessions(limit=limit)
        """Attached and detached ones, by user and name."""
        self._expired = expired
        """Called for sessions that weren't resumed in time."""
        self._timer: asyncio.TimerHandle | None = None
        """For the next one that expires."""
        self._leaving: dict[tuple[str, bytes], asyncio.Event] = {}
        """Set when the attachment before has ended, for those who want to attach the session."""

    async def attach(
        self, driver: ServingDriver[Connection], channel: int, name: bytes, force: bool
    ) -> tuple[bool, SessionState | None]:
        """Return whether `driver` may have the session, and its kept state. With `force`, the session's owner on
        another connection must leave.
        """
        sessions, user = self.sessions, driver.core.user
        owner = sessions.owner(user, name)
        if owner is not None and force:
            await self._take(owner, driver, user, name)
        if sessions.owner(user, name) is not None:
            return False, None
        return True, sessions.attach(user, name, (driver, channel))

    def detached(self, driver: ServingDriver[Connection], name: bytes, state: SessionState | None) -> None:
        """Record that the session is detached and the application knows it; with `state` None, nothing is kept."""
        user, loop = driver.core.user, driver.loop
        self._over(self.sessions.detach(user, name, state, loop.time()))
        leaving = self._leaving.get((user, name))
        if leaving is not None:
            leaving.set()
        self._arm(loop)

    def close(self) -> None:
        """Stop the clock, because the server is closed."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    # Internals.

    async def _take(self, owner: object, driver: ServingDriver[Connection], user: str, name: bytes) -> None:
        """Make the owner leave: by a detach, or if it doesn't answer, by dropping its transport."""
        other, channel = cast("tuple[ServingDriver[Connection], int]", owner)
        if other is driver:
            return  # It attaches twice to itself, and can't answer meanwhile.
        leaving = self._leaving.setdefault((user, name), asyncio.Event())
        try:
            with suppress(EndpointClosed):
                other.core.session(channel).detach()
                other.schedule_flush()
            with suppress(TimeoutError):
                await asyncio.wait_for(leaving.wait(), _PATIENCE)
            if not leaving.is_set() and other.transport is not None:
                other.transport.abort()
                with suppress(TimeoutError):
                    await asyncio.wait_for(leaving.wait(), _PATIENCE)
        finally:
            if self._leaving.get((user, name)) is leaving:
                del self._leaving[user, name]

    def _arm(self, loop: asyncio.AbstractEventLoop) -> None:
        deadline = self.sessions.next_deadline
        timer = self._timer
        if deadline is not None and (timer is None or deadline < timer.when()):
            if timer is not None:
                timer.cancel()
            self._timer = loop.call_at(deadline, self._on_timer, loop)

    def _on_timer(self, loop: asyncio.AbstractEventLoop) -> None:
        self._timer = None
        try:
            self._over(self.sessions.expire(loop.time()))
        finally:
            self._arm(loop)

    def _over(self, sessions: list[tuple[str, SessionState]]) -> None:
        for user, state in sessions:
            if self._expired is not None:
                self._expired(user, state)
            state.abandon(CloseReport(By.LOCAL, 0, "nobody has resumed the session in time"))


__all__ = ["Expired", "SessionKeeper"]
