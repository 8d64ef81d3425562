"""Waiters: the threads that wait on a connection; one of them reads, and another takes over when it leaves.

An asynchronous exception may keep a thread from leaving in order. Its gate is open then, by a `with` block, so it is
known to be gone: another becomes the reader, at the latest when the keeper looks.
"""

from __future__ import annotations

import threading
from collections.abc import Callable


class Waiter:
    """A thread that waits until `done`; it holds `gate` meanwhile."""

    __slots__ = ("_bell", "done", "gate")

    def __init__(self, done: Callable[[], bool]) -> None:
        self.done = done
        self.gate = threading.Lock()
        self._bell = threading.Lock()
        self._bell.acquire()

    def sleep(self, seconds: float | None) -> None:
        """Sleep until `ring`, or until the time is over (None: never)."""
        self._bell.acquire(timeout=-1 if seconds is None else min(seconds, threading.TIMEOUT_MAX))

    def ring(self) -> None:
        """Wake it. Only one thread may ring at a time."""
        if self._bell.locked():
            self._bell.release()


class Waiters:
    """All waiters of one connection: the reader and the followers. The connection's lock guards it."""

    __slots__ = ("_followers", "_reader")

    def __init__(self) -> None:
        self._reader: Waiter | None = None
        self._followers: list[Waiter] = []

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
            self._reader = reader = me
            if me in self._followers:
                self._followers.remove(me)
        elif reader is not me and me not in self._followers:
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
