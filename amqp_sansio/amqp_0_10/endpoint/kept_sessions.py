"""KeptSessions: the attached sessions of a server, and the states of detached ones (0-10 class 2, rules of
session.attach and session.request-timeout).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..._ground.deadlines import Deadlines
from ...errors import LocalProtocolError

if TYPE_CHECKING:
    from collections.abc import Hashable

    from .session_state import SessionState


class KeptSessions:
    """The sessions of a server, by user and name: different users may use the same name.

    Attached ones have an owner, any value that identifies their attachment. Detached ones are kept for their `timeout`
    in seconds (None: forever). Times are those of the caller's clock, which never runs backwards. It pickles.

    >>> sessions = KeptSessions()
    >>> sessions.attach("guest", b"orders", "connection 1") is None
    True
    >>> sessions.owner("guest", b"orders"), sessions.owner("somebody", b"orders")
    ('connection 1', None)
    """

    def __init__(self, *, limit: int = 10_000) -> None:
        # Most detached ones; above it the one that would expire first is dropped.
        self.limit = limit
        # Who has each attached one.
        self._owners: dict[tuple[str, bytes], Hashable] = {}
        # What each detached one remembers, the one that was detached first before the others.
        self._kept: dict[tuple[str, bytes], SessionState] = {}
        # When those expire that have a timeout.
        self._deadlines: Deadlines[tuple[str, bytes]] = Deadlines()

    def __len__(self) -> int:
        """Number of detached sessions."""
        return len(self._kept)

    def owner(self, user: str, name: bytes) -> Hashable | None:
        """Return the owner of an attached session; None if it isn't attached."""
        return self._owners.get((user, name))

    def attach(self, user: str, name: bytes, owner: Hashable) -> SessionState | None:
        """Give the session to `owner`; return its kept state, None for a new one.

        Raises LocalProtocolError if it has an owner (rule one-transport).
        """
        key = user, name
        if key in self._owners:
            raise LocalProtocolError(
                f"session {name!r} of {user!r} is attached", rule="0-10/session.attach/one-transport"
            )
        self._owners[key] = owner
        self._deadlines.clear(key)
        return self._kept.pop(key, None)

    def detach(self, user: str, name: bytes, state: SessionState | None, now: float) -> list[tuple[str, SessionState]]:
        """Detach the session and keep `state`; None ends the session. Return the sessions dropped because there are too
        many, with their users.
        """
        key = user, name
        self._owners.pop(key, None)
        if state is None or state.timeout == 0:
            return []
        self._kept[key] = state
        self._deadlines.clear(key)
        if state.timeout is not None:
            self._deadlines.set(key, now + state.timeout)
        return [self._forget_one()] if len(self._kept) > self.limit else []

    @property
    def next_deadline(self) -> float | None:
        """When to call `expire`; None: never."""
        return self._deadlines.next

    def expire(self, now: float) -> list[tuple[str, SessionState]]:
        """Drop the sessions that are due; return their users and states."""
        found: list[tuple[str, SessionState]] = []
        while (key := self._deadlines.pop_due(now)) is not None:
            found.append((key[0], self._kept.pop(key)))
        return found

    def _forget_one(self) -> tuple[str, SessionState]:
        """Drop the session that would expire first; of those kept forever, the oldest."""
        key = self._deadlines.first or next(iter(self._kept))
        self._deadlines.clear(key)
        return key[0], self._kept.pop(key)
