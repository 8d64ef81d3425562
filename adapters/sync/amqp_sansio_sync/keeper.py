"""Keeper: the daemon thread that looks after a connection while nobody waits on it."""

from __future__ import annotations

import threading
import weakref
from typing import Protocol


class Kept(Protocol):
    """What a keeper looks after."""

    def keep(self) -> float | None:
        """Do what is due; the seconds until the next look, None when there is nothing left to look after."""
        ...


class Keeper:
    """Calls `keep` of what it keeps, and again when the time is over or somebody rings.

    It holds no reference between two looks, so a connection that everybody forgot ends its keeper.
    """

    __slots__ = ("_bell", "_thread")

    def __init__(self) -> None:
        self._bell = threading.Lock()
        self._bell.acquire()
        self._thread: threading.Thread | None = None

    def start(self, kept: Kept) -> None:
        """Begin with the first look."""
        bell = self._bell
        forgotten = weakref.ref(kept, lambda _: _ring(bell))
        self._thread = threading.Thread(
            target=_look_after, args=(forgotten, bell), name="amqp-sansio-keeper", daemon=True
        )
        self._thread.start()

    def ring(self) -> None:
        """Make it look at once. Only one thread may ring at a time."""
        _ring(self._bell)

    def join(self) -> None:
        """Wait until the thread has ended, which it does when `keep` says None."""
        if self._thread is not None:
            self._thread.join()


def _look_after(forgotten: weakref.ref[Kept], bell: threading.Lock) -> None:
    while True:
        kept = forgotten()
        pause = kept.keep() if kept is not None else None
        del kept
        if pause is None:
            return
        bell.acquire(timeout=pause)


def _ring(bell: threading.Lock) -> None:
    if bell.locked():
        bell.release()
