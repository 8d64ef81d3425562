"""Broker: the AMQP model as a pure value; `apply(command, now)` changes it, `effects` says what follows for others."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from heapq import heapify, heappop, heappush
from typing import TYPE_CHECKING, Any, Final

from ..limits import BrokerLimits
from ..snapshot import Whole
from . import commands, consuming, declaring, publishing, settling, transacting
from .commands import Command
from .effects import Blocked, Effect, Unblocked
from .entry import MESSAGE_OCTETS, PLACE_OCTETS
from .faults import Fault, FaultKind
from .history import History
from .owner import Owner
from .vhost import VirtualHost

if TYPE_CHECKING:
    from .entry import Message
    from .publishing import DeadLetter
    from .queue import Queue
    from .transaction import Transaction

_FEW: Final = 64
"""Deadlines that aren't any more and may be among the others, beside as many as the others are."""


class Broker(Whole):
    """Virtual hosts with exchanges, queues, bindings and messages; who uses them; transactions.

    It knows no wire, no connection and no version. `now` are seconds on a clock that never runs backwards; `epoch` is
    the seconds since 1970 when it showed 0, for the times in dead-letter headers. `seed` goes into the names that it
    makes up. `history` is how many records are kept of what happens, 0: none.

    >>> from amqp_sansio.broker import commands
    >>> broker = Broker()
    >>> owner = broker.apply(commands.OpenOwner("/", "guest"), 0.0)
    >>> broker.apply(commands.DeclareQueue(owner, "jobs"), 0.0)
    <Queue 'jobs', 0 ready, 0 unsettled>
    """

    def __init__(
        self,
        limits: BrokerLimits | None = None,
        vhosts: Iterable[str] = ("/",),
        *,
        history: int = 0,
        seed: bytes = b"",
        epoch: float = 0.0,
    ) -> None:
        self.limits: Final = limits or BrokerLimits()
        self.vhosts: dict[str, VirtualHost] = {name: VirtualHost(name) for name in vhosts}
        self.effects: deque[Effect] = deque()
        self.history = History(history) if history else None
        self.seed: Final = seed
        self.epoch: Final = epoch
        self.now = 0.0
        self.owners: dict[int, Owner] = {}
        self.transactions: dict[int, Transaction] = {}
        self.messages = 0
        """How many were published."""
        self.octets = 0
        """What all messages take that it holds, with `MESSAGE_OCTETS` for each and `PLACE_OCTETS` for each place."""
        self.pending_octets = 0
        """What the publishes take that transactions keep."""
        self.is_blocked = False
        self.held_up = ""
        """Why publishers are held up though there is room; "" when they aren't."""
        self.names = 0
        self.numbers = 0
        self.runnable: dict[Queue, None] = {}
        self.dead: deque[DeadLetter] = deque()
        self._deadlines: list[tuple[float, int, Queue]] = []
        self._watched: dict[Queue, float] = {}
        """The nearest deadline of each queue that has one; others of the list are spurious."""

    def apply(self, command: Command, now: float) -> Any:
        """Carry out a command at `now` (seconds); what it returns says the command. Raises Fault."""
        if now > self.now:
            self.now = now
            if self._deadlines and self._deadlines[0][0] <= now:
                # The timer comes late.
                self.handle_timeout(now)
        result = _HANDLERS[type(command)](self, command)
        if self.dead:
            publishing.bury(self)
        if self.runnable:
            consuming.run_all(self)
        return result

    @property
    def next_deadline(self) -> float | None:
        """When `handle_timeout` is to be called; None: nothing expires."""
        return self._deadlines[0][0] if self._deadlines else None

    def handle_timeout(self, now: float) -> None:
        """Let go messages and queues whose time is over. A spurious call is a no-op."""
        if now > self.now:
            self.now = now
        deadlines = self._deadlines
        due: dict[Queue, None] = {}
        while deadlines and deadlines[0][0] <= now:
            deadline, _, queue = heappop(deadlines)
            if self._watched.get(queue) == deadline:
                del self._watched[queue]
                due[queue] = None
        for queue in due:
            if not queue.is_deleted:
                publishing.expire(self, queue)
                if not queue.is_deleted:
                    self.watch(queue)
        publishing.bury(self)
        consuming.run_all(self)

    def add_vhost(self, name: str) -> VirtualHost:
        """A new virtual host, or the one of that name."""
        found = self.vhosts.get(name)
        if found is None:
            found = self.vhosts[name] = VirtualHost(name)
        return found

    def hold_publishers(self, reason: str) -> None:
        """Hold publishers up as if there were no room, until `reason` is ""."""
        self.held_up = reason
        self._check_room()

    def restart(self, now: float) -> None:
        """What a broker has again after it was stopped and started: durable exchanges, durable queues, bindings between
        them, and the persistent messages of the latter, available and marked as redelivered where they were delivered.
        Every owner is gone, without effects."""
        # What was due before it was stopped happened before.
        self.handle_timeout(now)
        for transaction in list(self.transactions.values()):
            transacting.end(self, transaction)
        for owner in [each for each in self.owners.values() if each.parent is None]:
            settling.close_owner(self, commands.CloseOwner(owner))
        # What died of it goes where it belongs before the rest is lost.
        publishing.bury(self)
        for vhost in self.vhosts.values():
            declaring.keep_durable(self, vhost)
        self.runnable.clear()
        self.effects.clear()

    # What the parts of the model use.

    def count_message(self) -> int:
        """The number of the next message."""
        self.messages += 1
        return self.messages

    def new_number(self) -> int:
        """A number for an owner, consumer or transaction."""
        self.numbers += 1
        return self.numbers

    def hold(self, message: Message) -> None:
        """One more queue has a message."""
        message.copies += 1
        self.octets += PLACE_OCTETS if message.copies > 1 else PLACE_OCTETS + MESSAGE_OCTETS + message.octets
        if self.octets > self.limits.memory_high and not self.is_blocked:
            self._check_room()

    def drop(self, message: Message) -> None:
        """One queue less has a message."""
        message.copies -= 1
        self.octets -= PLACE_OCTETS if message.copies else PLACE_OCTETS + MESSAGE_OCTETS + message.octets
        if self.is_blocked and self.octets <= self.limits.memory_low:
            self._check_room()

    def watch(self, queue: Queue) -> None:
        """See to it that `handle_timeout` is asked for when something of a queue expires."""
        deadline = queue.next_deadline()
        if deadline is not None:
            self.watch_for(queue, deadline)

    def watch_for(self, queue: Queue, deadline: float) -> None:
        """As `watch`, when the time is known."""
        known = self._watched.get(queue)
        if known is None or deadline < known:
            self._watched[queue] = deadline
            heappush(self._deadlines, (deadline, self.new_number(), queue))
            self._thin_out()

    def unwatch(self, queue: Queue) -> None:
        """A queue is gone."""
        if self._watched.pop(queue, None) is not None:
            self._thin_out()

    def _thin_out(self) -> None:
        """Forget deadlines of queues that are gone, and those that a nearer one has replaced."""
        if len(self._deadlines) > 2 * len(self._watched) + _FEW:
            self._deadlines = [each for each in self._deadlines if self._watched.get(each[2]) == each[0]]
            heapify(self._deadlines)

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


def _open_owner(broker: Broker, command: commands.OpenOwner) -> Owner:
    parent = command.parent
    if parent is not None:
        vhost, user = parent.vhost, command.user or parent.user
    else:
        found = broker.vhosts.get(command.vhost)
        if found is None:
            raise Fault(FaultKind.NOT_FOUND, f"no vhost {command.vhost!r}", "vhost")
        vhost, user = found, command.user
    owner = Owner(broker.new_number(), vhost, parent, user)
    if parent is not None:
        parent.children[owner.number] = owner
    broker.owners[owner.number] = owner
    return owner


_HANDLERS: Final[Mapping[type[Command], Callable[[Broker, Any], Any]]] = {
    commands.OpenOwner: _open_owner,
    commands.CloseOwner: settling.close_owner,
    commands.DeclareExchange: declaring.declare_exchange,
    commands.DeleteExchange: declaring.delete_exchange,
    commands.BindExchange: declaring.bind_exchange,
    commands.UnbindExchange: declaring.unbind_exchange,
    commands.DeclareQueue: declaring.declare_queue,
    commands.DeleteQueue: declaring.delete_queue_by_name,
    commands.PurgeQueue: consuming.purge,
    commands.Bind: declaring.bind,
    commands.Unbind: declaring.unbind,
    commands.LinkQueue: declaring.link_queue,
    commands.UnlinkQueue: declaring.unlink_queue,
    commands.Subscribe: consuming.subscribe,
    commands.Cancel: consuming.cancel,
    commands.Grant: consuming.grant,
    commands.SetWindow: consuming.set_window,
    commands.ChangeWindows: consuming.change_windows,
    commands.Get: consuming.get,
    commands.Acquire: consuming.acquire,
    commands.Publish: publishing.publish,
    commands.Settle: settling.settle,
    commands.Begin: transacting.begin,
    commands.Commit: transacting.commit,
    commands.Rollback: transacting.rollback,
}
