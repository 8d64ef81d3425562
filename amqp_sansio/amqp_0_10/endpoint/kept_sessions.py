"""KeptSessions: the attached sessions of a server, and the states of detached ones (0-10 class 2, rules of
session.attach and session.request-timeout).
"""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from typing import TYPE_CHECKING, Final

from ...errors import LocalProtocolError

if TYPE_CHECKING:
    from collections.abc import Hashable

    from ..model.session_state import SessionState

_SPARE: Final = 64


class KeptSessions:
    """The sessions of a server, by user and name: different users may use the same name.

    Attached ones have an owner, any value that identifies their attachment. Detached ones are kept for their `timeout`
    in seconds (None: forever), at most `limit` of them: above it, the one that would expire first is dropped. Times are
    those of the caller's clock, which never runs backwards. It pickles.

    >>> sessions = KeptSessions()
    >>> sessions.attach("guest", b"orders", "connection 1") is None
    True
    >>> sessions.owner("guest", b"orders"), sessions.owner("somebody", b"orders")
    ('connection 1', None)
    """

    def __init__(self, *, limit: int = 10_000) -> None:
        self.limit = limit
        self._owners: dict[tuple[str, bytes], Hashable] = {}
        self._kept: dict[tuple[str, bytes], tuple[SessionState, int]] = {}
        self._times: list[tuple[float, int, tuple[str, bytes]]] = []
        self._serial = 0

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
        kept = self._kept.pop(key, None)
        return None if kept is None else kept[0]

    def detach(self, user: str, name: bytes, state: SessionState | None, now: float) -> list[tuple[str, SessionState]]:
        """Detach the session and keep `state`; None ends the session. Return the sessions dropped because there are too
        many, with their users.
        """
        key = user, name
        self._owners.pop(key, None)
        if state is None or state.timeout == 0:
            return []
        self._serial += 1
        self._kept[key] = state, self._serial
        if state.timeout is not None:
            heappush(self._times, (now + state.timeout, self._serial, key))
        if len(self._times) > 2 * len(self._kept) + _SPARE:
            self._times = [each for each in self._times if self._runs(each)]
            heapify(self._times)
        return [self._forget_one()] if len(self._kept) > self.limit else []

    @property
    def next_deadline(self) -> float | None:
        """When to call `expire`; None: never."""
        times = self._times
        while times and not self._runs(times[0]):
            heappop(times)
        return times[0][0] if times else None

    def expire(self, now: float) -> list[tuple[str, SessionState]]:
        """Drop the sessions that are due; return their users and states."""
        found: list[tuple[str, SessionState]] = []
        while (deadline := self.next_deadline) is not None and deadline <= now:
            key = heappop(self._times)[2]
            found.append((key[0], self._kept.pop(key)[0]))
        return found

    def _forget_one(self) -> tuple[str, SessionState]:
        """Drop the session that would expire first; of those kept forever, the oldest."""
        key = self._times[0][2] if self.next_deadline is not None else next(iter(self._kept))
        return key[0], self._kept.pop(key)[0]

    def _runs(self, time: tuple[float, int, tuple[str, bytes]]) -> bool:
        """Whether a deadline still belongs to a kept session."""
        kept = self._kept.get(time[2])
        return kept is not None and kept[1] == time[1]
