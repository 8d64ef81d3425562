"""Ledger: the state that all parts of the model share, from the clock to the history."""

from __future__ import annotations

from collections import deque
from heapq import heapify, heappop, heappush
from typing import TYPE_CHECKING, Final

from .content import MESSAGE_OCTETS, PLACE_OCTETS
from .effects import Blocked, Unblocked

if TYPE_CHECKING:
    from ..limits import BrokerLimits
    from .content import Message
    from .effects import Effect
    from .history import History, Kind
    from .queue import Owner, Queue, VirtualHost

_FEW: Final = 64
"""Stale deadlines that the heap may hold in excess of the live ones."""


class Ledger:
    """The state that all parts of the model share. `Broker` creates it; its collections are never replaced.

    `octets` are those of all stored messages, plus `MESSAGE_OCTETS` for each and `PLACE_OCTETS` for each place in a
    queue. `held_up` is the reason for holding publishers although there is room; "" when they aren't held.
    """

    __slots__ = (
        "_deadlines", "_numbers", "_watched", "effects", "epoch", "held_up", "history", "is_blocked", "limits", "now",
        "octets", "owners", "vhosts",
    )  # fmt: skip

    def __init__(
        self, limits: BrokerLimits, vhosts: dict[str, VirtualHost], history: History | None, epoch: float
    ) -> None:
        self.limits: Final = limits
        self.vhosts: Final = vhosts
        self.history: Final = history
        self.epoch: Final = epoch
        self.effects: Final[deque[Effect]] = deque()
        self.owners: Final[dict[int, Owner]] = {}
        self.now = 0.0
        self.octets = 0
        self.is_blocked = False
        self.held_up = ""
        self._numbers = 0
        self._deadlines: list[tuple[float, int, Queue]] = []
        self._watched: dict[Queue, float] = {}
        """The nearest deadline of each queue that has one; any other deadline in the heap is stale."""

    def new_number(self) -> int:
        """Return a number for an owner, consumer or transaction."""
        self._numbers += 1
        return self._numbers

    def note(
        self,
        kind: Kind,
        queue: Queue,
        message: Message,
        owner: Owner | None = None,
        *,
        consumer: str = "",
        redelivered: bool = False,
        reason: str = "",
    ) -> None:
        """Record what happened to a message in a queue, if there is a history."""
        if self.history is not None:
            self.history.add(
                kind, self.now, queue.vhost.name, message, owner,
                queue=queue.name, consumer=consumer, redelivered=redelivered, reason=reason,
            )  # fmt: skip

    # Memory.

    def hold(self, message: Message) -> None:
        """Count a message's place in one more queue."""
        message.copies += 1
        self.octets += PLACE_OCTETS if message.copies > 1 else PLACE_OCTETS + MESSAGE_OCTETS + message.octets
        if self.octets > self.limits.memory_high and not self.is_blocked:
            self._check_room()

    def drop(self, message: Message) -> None:
        """Count a message's place in one queue less."""
        message.copies -= 1
        self.octets -= PLACE_OCTETS if message.copies else PLACE_OCTETS + MESSAGE_OCTETS + message.octets
        if self.is_blocked and self.octets <= self.limits.memory_low:
            self._check_room()

    def hold_publishers(self, reason: str) -> None:
        """Hold publishers as if memory were full, until called with an empty `reason`."""
        self.held_up = reason
        self._check_room()

    def _check_room(self) -> None:
        limits = self.limits
        full = self.octets > (limits.memory_low if self.is_blocked else limits.memory_high)
        if self.held_up or full:
            if not self.is_blocked:
                self.is_blocked = True
                text = f"the broker holds {self.octets} octets of messages, BrokerLimits.memory_high allows "
                self.effects.append(Blocked(self.held_up or f"{text}{limits.memory_high}"))
        elif self.is_blocked:
            self.is_blocked = False
            self.effects.append(Unblocked())

    # Deadlines.

    @property
    def next_deadline(self) -> float | None:
        """The nearest deadline of a queue; None: there is none."""
        return self._deadlines[0][0] if self._deadlines else None

    def watch(self, queue: Queue) -> None:
        """Schedule `due` for the next expiry in a queue."""
        deadline = queue.next_deadline()
        if deadline is not None:
            self.watch_for(queue, deadline)

    def watch_for(self, queue: Queue, deadline: float) -> None:
        """Do the same as `watch` for a known deadline."""
        known = self._watched.get(queue)
        if known is None or deadline < known:
            self._watched[queue] = deadline
            heappush(self._deadlines, (deadline, self.new_number(), queue))
            self._thin_out()

    def unwatch(self, queue: Queue) -> None:
        """Forget the deadline of a deleted queue."""
        if self._watched.pop(queue, None) is not None:
            self._thin_out()

    def due(self, now: float) -> list[Queue]:
        """Return the queues whose deadline has come at `now`, and forget these deadlines."""
        self.now = max(now, self.now)
        deadlines = self._deadlines
        due: dict[Queue, None] = {}
        while deadlines and deadlines[0][0] <= now:
            deadline, _, queue = heappop(deadlines)
            if self._watched.get(queue) == deadline:
                del self._watched[queue]
                due[queue] = None
        return list(due)

    def _thin_out(self) -> None:
        """Remove stale deadlines: of deleted queues, and those replaced by a nearer one."""
        if len(self._deadlines) > 2 * len(self._watched) + _FEW:
            self._deadlines = [each for each in self._deadlines if self._watched.get(each[2]) == each[0]]
            heapify(self._deadlines)
