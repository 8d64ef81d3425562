"""Keeper: the daemon thread that serves a connection while nobody waits on it."""

from __future__ import annotations

import queue
import threading
import weakref
from typing import Protocol


class Kept(Protocol):
    """The target of a keeper."""

    def keep(self) -> float | None:
        """Do everything that is due; return the seconds until the next look, None if there is nothing left to do."""
        ...


class Keeper:
    """Runs `kept.keep()` when its interval elapses or `ring()` is called.

    It holds no reference between two looks, so the end of a forgotten connection ends its keeper.
    """

    __slots__ = ("_bell", "_thread")

    def __init__(self) -> None:
        # This queue may be used where a lock may not: in a destructor, which runs anywhere.
        self._bell: queue.SimpleQueue[None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None

    def start(self, kept: Kept) -> None:
        """Start with the first look."""
        bell = self._bell
        forgotten = weakref.ref(kept, lambda _: bell.put(None))
        self._thread = threading.Thread(
            target=_look_after, args=(forgotten, bell), name="amqp-sansio-keeper", daemon=True
        )
        self._thread.start()

    def ring(self) -> None:
        """Wake the thread at once."""
        if self._bell.empty():
            self._bell.put(None)

    def join(self) -> None:
        """Wait for the end of the thread, after `keep` returned None."""
        if self._thread is not None:
            self._thread.join()


def _look_after(forgotten: weakref.ref[Kept], bell: queue.SimpleQueue[None]) -> None:
    while True:
        kept = forgotten()
        pause = kept.keep() if kept is not None else None
        del kept
        if pause is None:
            return
        try:
            bell.get(timeout=pause)
        except queue.Empty:
            continue  # the interval has elapsed


__all__ = ["Keeper", "Kept"]
