"""Ledger: the state that all parts of the model share, from the clock to the history.

A turn begins with `begin_turn`, and gives out `room` steps; outside of one a command is done as a whole. Between
commands these hold: `octets` counts each stored message once and each place in a queue; publishers are held exactly
while `is_blocked`; `now` never goes back.
"""

from __future__ import annotations

from collections import deque
from heapq import heapify, heappop, heappush
from typing import TYPE_CHECKING, Final

from .content import MESSAGE_OCTETS, PLACE_OCTETS
from .effects import Blocked, Unblocked
from .faults import Fault, FaultKind

if TYPE_CHECKING:
    from ..limits import BrokerLimits
    from .content import Message
    from .effects import Effect
    from .history import History, Kind
    from .owner import Owner
    from .queue import Queue
    from .vhost import VirtualHost

_FEW: Final = 64
"""Stale deadlines that the heap may hold in excess of the live ones."""


class Tally:
    """What has happened to messages so far: how they were settled, and deliveries of queues that are gone since."""

    __slots__ = ("accepted", "delivered", "rejected", "released")

    def __init__(self) -> None:
        self.accepted = 0
        """Messages that were settled as accepted."""
        self.rejected = 0
        """Messages that were settled as rejected."""
        self.released = 0
        """Messages that were given back."""
        self.delivered = 0
        """Deliveries of queues that are gone; the others count their own."""


class Ledger:
    """The state that all parts of the model share. `Broker` creates it; its collections are never replaced."""

    __slots__ = (
        "_deadlines",
        "_high",
        "_numbers",
        "_watched",
        "actor",
        "busy",
        "effects",
        "epoch",
        "held_up",
        "history",
        "in_turn",
        "is_blocked",
        "limits",
        "now",
        "octets",
        "owners",
        "room",
        "tally",
        "topology",
        "vhosts",
    )

    def __init__(
        self, limits: BrokerLimits, vhosts: dict[str, VirtualHost], history: History | None, epoch: float
    ) -> None:
        self.limits: Final = limits
        """The bounds of everything that clients can make grow."""
        self.vhosts: Final = vhosts
        """By name; none is added or removed later."""
        self.history: Final = history
        """The last records of what happened to messages; None: none are kept."""
        self.epoch: Final = epoch
        """The Unix time at which the clock of `now` showed 0."""
        self.effects: Final[deque[Effect]] = deque()
        """What follows from commands, in order; the front ends take them."""
        self.owners: Final[dict[int, Owner]] = {}
        """Those that aren't closed, by number."""
        self.now = 0.0
        """Seconds on the caller's clock, as of the last command; it never goes back."""
        self.octets = 0
        """Those of all stored messages, with `MESSAGE_OCTETS` for each and `PLACE_OCTETS` for each place in a queue."""
        self.topology = 0
        """Octets that exchanges, queues, bindings and consumers count for; they are refused above
        `BrokerLimits.topology`."""
        self._high = limits.memory_high
        """Octets of messages that there is room for."""
        self.is_blocked = False
        """Whether publishers are held: above `memory_high`, until `memory_low` is left, or while `held_up`."""
        self.held_up = ""
        """The reason for holding publishers although there is room; "" when they aren't held for one."""
        self.room = limits.turn
        """Steps that are left in this turn (`BrokerLimits.turn`): whoever works takes away what the work costs, and
        leaves the rest to a later turn once `is_spent`."""
        self.in_turn = False
        """Whether a turn is going on: outside of one, commands are carried out as a whole."""
        self.actor = 0
        """The number of the client in whose turn commands are carried out; 0 for none."""
        self.busy: Final[dict[int, int]] = {}
        """By actor: how much is unfinished of its commands. While there is some, it has no other turn."""
        self.tally: Final = Tally()
        """Counts of settlements, for metrics."""
        self._numbers = 0
        """The last number of an owner, consumer or transaction: they share one row, and none repeats."""
        self._deadlines: list[tuple[float, int, Queue]] = []
        """When queues have something to do: time, number, queue; the earliest first."""
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
                kind,
                self.now,
                queue.vhost.name,
                message,
                owner,
                queue=queue.name,
                consumer=consumer,
                redelivered=redelivered,
                reason=reason,
            )

    # Turns.

    def begin_turn(self, actor: int) -> None:
        """Begin a turn, for the commands of client `actor` or, with 0, for what earlier turns have left."""
        self.in_turn = True
        self.actor = actor
        # Whose last command has left work carries out no other meanwhile.
        self.room = 0 if actor and actor in self.busy else self.limits.turn

    def end_turn(self) -> None:
        """End the turn. Commands that are carried out between turns leave nothing to a later one."""
        self.in_turn = False
        self.actor = 0
        self.room = self.limits.turn

    @property
    def is_spent(self) -> bool:
        """Whether what isn't begun has to wait for a later turn."""
        if self.room > 0:
            return False
        if self.in_turn:
            return True
        self.room = self.limits.turn
        return False

    def begin_work(self, actor: int) -> None:
        """Note that a command of `actor` has left work."""
        self.busy[actor] = self.busy.get(actor, 0) + 1

    def end_work(self, actor: int) -> None:
        """Note that such work is done."""
        self.busy[actor] -= 1
        if not self.busy[actor]:
            del self.busy[actor]

    # Memory.

    def hold(self, message: Message) -> None:
        """Count a message's place in one more queue."""
        message.copies += 1
        self.octets += PLACE_OCTETS if message.copies > 1 else PLACE_OCTETS + MESSAGE_OCTETS + message.octets
        if self.octets > self._high and not self.is_blocked:
            self._check_room()

    def drop(self, message: Message) -> None:
        """Count a message's place in one queue less."""
        message.copies -= 1
        self.octets -= PLACE_OCTETS if message.copies else PLACE_OCTETS + MESSAGE_OCTETS + message.octets
        if self.is_blocked and not self._is_above(self.limits.memory_low):
            self._check_room()

    def count(self, octets: int, what: str) -> None:
        """Count a part of the topology, or uncount a negative number of octets. Raises Fault LIMIT."""
        limit = self.limits.topology
        if self.topology + octets > limit:
            text = (
                f"{what} would take {octets} octets: exchanges, queues, bindings and consumers have {self.topology}, "
                f"BrokerLimits.topology allows {limit}"
            )
            raise Fault(FaultKind.LIMIT, text)
        self.topology += octets
        self._high = self.limits.memory_high - self.topology
        if self.octets and self.is_blocked is not self._is_above(self.limits.memory_high):
            self._check_room()

    def hold_publishers(self, reason: str) -> None:
        """Hold publishers as if memory were full, until called with an empty `reason`."""
        self.held_up = reason
        self._check_room()

    def _check_room(self) -> None:
        limits = self.limits
        full = self._is_above(limits.memory_low if self.is_blocked else limits.memory_high)
        if self.held_up or full:
            if not self.is_blocked:
                self.is_blocked = True
                text = f"the broker holds {self.octets} octets of messages"
                if self.topology > limits.memory_high // 2:
                    text += f" and {self.topology} of topology"
                self.effects.append(
                    Blocked(self.held_up or f"{text}, BrokerLimits.memory_high allows {limits.memory_high}")
                )
        elif self.is_blocked:
            self.is_blocked = False
            self.effects.append(Unblocked())

    def _is_above(self, limit: int) -> bool:
        """Whether messages and topology together exceed a limit; topology alone, which nobody consumes, does not."""
        return self.octets > 0 and self.octets + self.topology > limit

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

    def deadline_of(self, queue: Queue) -> float | None:
        """Return when a queue has something to do, as far as it is watched."""
        return self._watched.get(queue)

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
