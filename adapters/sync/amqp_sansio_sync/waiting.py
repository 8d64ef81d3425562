"""Waiters: the threads that wait on a connection; one of them reads, and another takes over when it leaves.

An asynchronous exception may keep a thread from leaving in order. Its gate is open then, by a `with` block, so it is
known to be gone: another becomes the reader, at the latest when the keeper looks.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .system import Bell, System


class Waiter:
    """A thread that waits until `done`; it holds `gate` meanwhile."""

    __slots__ = ("_bell", "_system", "done", "gate")

    def __init__(self, system: System, done: Callable[[], bool]) -> None:
        self.done = done
        """Whether what it waits for has come; called with the connection's lock."""
        self.gate = system.lock()
        """Held while it waits: open, the thread is known to be gone."""
        self._system = system
        """Makes its bell."""
        self._bell: Bell | None = None
        """Wakes it while another one reads; made when it is needed."""

    def follow(self) -> None:
        """Become one that sleeps. Most never do, and have no bell."""
        if self._bell is None:
            self._bell = self._system.bell()

    def sleep(self, seconds: float | None) -> None:
        """Sleep until `ring`, or until the time is over (None: never)."""
        assert self._bell is not None
        self._bell.wait(seconds)

    def ring(self) -> None:
        """Wake it."""
        if self._bell is not None:
            self._bell.ring()


class Waiters:
    """All waiters of one connection: the reader and the followers. The connection's lock guards it."""

    __slots__ = ("_followers", "_reader")

    def __init__(self) -> None:
        self._reader: Waiter | None = None
        """The one that waits for the socket; None: nobody does."""
        self._followers: list[Waiter] = []
        """The others, in the order in which they take over."""

    @property
    def reader(self) -> Waiter | None:
        """The reader, or None."""
        if self._reader is not None and not self._reader.gate.locked():
            self._reader = None
        return self._reader

    def join(self, me: Waiter) -> bool:
        """Become the reader if there is none, else a follower; return whether `me` is the reader."""
        reader = self.reader
        if reader is None:
            self._reader = me
            reader = me
            if me in self._followers:
                self._followers.remove(me)
        elif reader is not me and me not in self._followers:
            me.follow()
            self._followers.append(me)
        return reader is me

    def leave(self, me: Waiter) -> None:
        """Leave; without a reader, the follower that has waited longest is asked to read."""
        if self._reader is me:
            self._reader = None
        elif me in self._followers:
            self._followers.remove(me)
        self.appoint()

    def appoint(self) -> None:
        """Appoint a reader, if anybody waits."""
        if self._followers and self.reader is None:
            self._followers = [each for each in self._followers if each.gate.locked()]
            for each in self._followers[:1]:
                each.ring()

    def wake(self, me: Waiter | None, everybody: bool, reader: bool) -> bool:
        """Wake the followers that are done, or everybody, except `me`.

        Return whether the reader must be woken as well: with `reader`, or like the others.
        """
        for each in self._followers:
            if each is not me and (everybody or each.done()):
                each.ring()
        if self._reader is None or self._reader is me:
            return False
        return everybody or reader or self._reader.done()


__all__ = ["Waiter", "Waiters"]
