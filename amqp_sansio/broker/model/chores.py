"""Chores: what a command does to many messages, consumers or bindings, in pieces that fit into turns.

The command decides at once what is affected; everybody sees the queues that it works on as they were before or as they
are afterwards: meanwhile they deliver nothing (`Queue.held`), and a command that reads them waits (`Postponed`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .ledger import Ledger


class Chore(ABC):
    """The rest of a command."""

    __slots__ = ()

    @abstractmethod
    def go_on(self, ledger: Ledger) -> bool:
        """Do what this turn has room for; return whether that was the last of it."""


class Chores:
    """Chores by the actor whose commands left them, each actor's in the order of the commands.

    While an actor has some, the client carries out no other command and is sent nothing (`Ledger.busy`).
    """

    __slots__ = ("_is_working", "_ledger", "by_actor")

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._is_working = False
        """Whether one is being carried out: those that it leaves wait their turn."""
        self.by_actor: dict[int, deque[Chore]] = {}
        """Unfinished ones, the first to be gone on with."""

    def begin(self, chore: Chore) -> None:
        """Begin a chore, and do of it what the turn has room for. One that a chore begins comes after it."""
        ledger = self._ledger
        actor = ledger.actor
        self.by_actor.setdefault(actor, deque()).append(chore)
        ledger.begin_work(actor)
        self._work(actor)

    def go_on(self) -> None:
        """Go on with those of the actor that has waited longest."""
        if self.by_actor:
            actor = next(iter(self.by_actor))
            self._work(actor)
            if actor in self.by_actor:
                self.by_actor[actor] = self.by_actor.pop(actor)

    def finish(self) -> None:
        """Do all of them, between turns."""
        while self.by_actor:
            self.go_on()

    def _work(self, actor: int) -> None:
        if self._is_working:
            return
        self._is_working = True
        ledger = self._ledger
        was, ledger.actor = ledger.actor, actor
        try:
            chores = self.by_actor[actor]
            while chores:
                if not chores[0].go_on(ledger):
                    return
                chores.popleft()
                ledger.end_work(actor)
            del self.by_actor[actor]
        finally:
            ledger.actor = was
            self._is_working = False
