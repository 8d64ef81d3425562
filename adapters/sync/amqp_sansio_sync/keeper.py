"""Keeper: the daemon thread that serves a connection while nobody waits on it."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from .system import Bell, System, Thread


class Kept(Protocol):
    """The target of a keeper."""

    def keep(self) -> float | None:
        """Do everything that is due; return the seconds until the next look, None if there is nothing left to do."""
        ...


class Keeper:
    """Runs `kept.keep()` when its interval elapses or `ring()` is called.

    It holds no reference between two looks, so the end of a forgotten connection ends its keeper.
    """

    __slots__ = ("_bell", "_system", "_thread")

    def __init__(self, system: System) -> None:
        self._system = system
        """Makes its thread and bell."""
        self._bell = system.bell()
        """Wakes it before its interval is over."""
        self._thread: Thread | None = None
        """None before it is needed."""

    def start(self, kept: Kept) -> None:
        """Start with the first look."""
        bell = self._bell
        forgotten = weakref.ref(kept, lambda _: bell.ring())
        self._thread = self._system.start(lambda: _look_after(forgotten, bell), "amqp-sansio-keeper")

    def ring(self) -> None:
        """Wake the thread at once."""
        self._bell.ring()

    def join(self) -> None:
        """Wait for the end of the thread, after `keep` returned None."""
        if self._thread is not None:
            self._thread.join()


def _look_after(forgotten: weakref.ref[Kept], bell: Bell) -> None:
    while True:
        kept = forgotten()
        pause = kept.keep() if kept is not None else None
        del kept
        if pause is None:
            return
        bell.wait(pause)


__all__ = ["Keeper", "Kept"]
