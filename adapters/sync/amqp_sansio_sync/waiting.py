"""Waiters: who waits on a connection, which of them reads, and who takes over."""

from __future__ import annotations

import threading
from collections.abc import Callable


class Waiter:
    """A thread that waits until `done`."""

    __slots__ = ("_bell", "done")

    def __init__(self, done: Callable[[], bool]) -> None:
        self.done = done
        self._bell = threading.Lock()
        self._bell.acquire()

    def sleep(self, seconds: float | None) -> None:
        """Until `ring`, or the time is over (None: never)."""
        self._bell.acquire(timeout=-1 if seconds is None else min(seconds, threading.TIMEOUT_MAX))

    def ring(self) -> None:
        """Wake it. Only one thread may ring at a time."""
        if self._bell.locked():
            self._bell.release()


class Waiters:
    """All waiters of one connection: the one that reads, and the followers. The connection's lock guards it."""

    __slots__ = ("followers", "reader")

    def __init__(self) -> None:
        self.reader: Waiter | None = None
        self.followers: list[Waiter] = []

    def join(self, me: Waiter) -> bool:
        """Become the reader if there is none, else a follower; whether `me` is the reader."""
        if self.reader is None:
            self.reader = me
            if me in self.followers:
                self.followers.remove(me)
        elif self.reader is not me and me not in self.followers:
            self.followers.append(me)
        return self.reader is me

    def leave(self, me: Waiter) -> None:
        """Go; when nobody reads any more, the follower that has waited longest is asked to."""
        if self.reader is me:
            self.reader = None
        elif me in self.followers:
            self.followers.remove(me)
        if self.reader is None and self.followers:
            self.followers[0].ring()

    def wake(self, me: Waiter | None, everybody: bool, reader: bool) -> bool:
        """Wake the followers that are done, or everybody, but `me`.

        The result is whether the reader has to be woken as well: with `reader`, or as the others.
        """
        for each in self.followers:
            if each is not me and (everybody or each.done()):
                each.ring()
        if self.reader is None or self.reader is me:
            return False
        return everybody or reader or self.reader.done()
