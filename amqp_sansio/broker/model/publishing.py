"""Publishing: from an exchange into queues and within their limits, dead letters too."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Final

from .chores import Chore
from .commands import Published
from .content import Death, Message
from .delayed import Delayed, Waiting, delay_of
from .delivery import Holding
from .faults import Fault, FaultKind
from .states import EntryInput, State

if TYPE_CHECKING:
    from collections.abc import Sequence

    from . import commands
    from .chores import Chores
    from .content import Content
    from .delivery import Delivery
    from .entry import Entry
    from .exchange import Exchange
    from .ledger import Ledger
    from .owner import Owner
    from .queue import Queue
    from .transactions import Transactions
    from .vhost import VirtualHost

_LETTER_STEPS: Final = 20
"""Steps of a turn for a dead letter, whose deaths are written into its headers."""
_ROUTED: Final = Published(routed=True, consumed=False, refused=False)
_CONSUMED: Final = Published(routed=True, consumed=True, refused=False)
_REFUSED: Final = Published(routed=True, consumed=False, refused=True)
_UNROUTED: Final = Published(routed=False, consumed=False, refused=False)


class Shortening(Chore):
    """The messages of a queue that are above its limit; the oldest are dropped."""

    __slots__ = ("_holding", "_publishing", "_queue")

    def __init__(self, publishing: Publishing, delivery: Delivery, queue: Queue) -> None:
        self._publishing = publishing
        """Drops what is too much."""
        self._queue = queue
        """The one above its limit."""
        self._holding = Holding(delivery, (queue,))
        """It delivers nothing meanwhile."""

    def go_on(self, ledger: Ledger) -> bool:
        if not self._queue.is_deleted and not self._publishing.shorten(self._queue):
            return False
        self._holding.end()
        return True


class Publishing:
    """Carries out publishes, at once or in later turns.

    A publish that doesn't fit into a turn is in `unplaced`, and so are those behind it of the same actor.
    """

    __slots__ = (
        "_chores",
        "_dead",
        "_delivery",
        "_history",
        "_ledger",
        "_runnable",
        "_transactions",
        "delayed",
        "letter",
        "messages",
        "refusing",
        "unplaced",
    )

    def __init__(self, ledger: Ledger, delivery: Delivery, transactions: Transactions, chores: Chores) -> None:
        self._ledger = ledger
        self._chores = chores
        """Takes what doesn't fit into a turn."""
        self._history = ledger.history
        """The ledger's; None: nothing is recorded."""
        self._delivery = delivery
        """The queues, and dead letters."""
        self._runnable = delivery.runnable
        """Its queues that may run, which new messages add to."""
        self._dead = delivery.dead
        """Dead letters that are still to be published."""
        self._transactions = transactions
        """Keeps publishes until the commit."""
        self.messages = 0
        """How many were published so far; the next one's number."""
        self.unplaced: dict[int, deque[Placement]] = {}
        """By actor: messages with the queues that they were routed to and that haven't all got them, in the order of
        their publishes."""
        self.letter: Placement | None = None
        """The dead letter that is being placed; None between two."""
        self.refusing: set[int] = set()
        """Connections whose next publish is refused (`forcing.refuse_next`), for tests."""
        self.delayed = Delayed()
        """Messages that are routed later."""

    def publish(self, command: commands.Publish) -> Published | None:
        """Carry out `Publish`."""
        vhost = command.owner.vhost
        exchange = vhost.exchanges.get(command.exchange)
        if exchange is None:
            text = f"no exchange {command.exchange!r} in vhost {vhost.name!r}"
            raise Fault(FaultKind.NOT_FOUND, text, "exchange")
        if exchange.internal:
            text = f"cannot publish to internal exchange {command.exchange!r} in vhost {vhost.name!r}"
            raise Fault(FaultKind.INTERNAL, text, "exchange")
        if command.transaction is not None:
            self._transactions.add_publish(command.transaction, command)
            return None
        if self.refusing and command.owner.connection in self.refusing:
            self.refusing.discard(command.owner.connection)
            return self._refuse_all(command, exchange)
        return self.place(command, exchange)[0]

    def note_unreadable(self, owner: Owner, exchange: str, routing_key: str, content: Content, reason: str) -> None:
        """Record what a client sent in place of a message, if there is a history."""
        self.messages += 1
        if self._history is not None:
            message = Message(content, exchange, routing_key, self.messages, owner.connection)
            self._history.add("unreadable", self._ledger.now, owner.vhost.name, message, owner, reason=reason)

    def place(self, command: commands.Publish, exchange: Exchange | None) -> tuple[Published, Message]:
        """Put a message into the queues that `exchange`, its own, selects; one that was deleted selects none."""
        owner = command.owner
        content = command.content
        self.messages += 1
        message = Message(
            content,
            command.exchange,
            command.routing_key,
            self.messages,
            owner.connection,
            command.mandatory,
            command.immediate,
        )
        history = self._history
        if history is not None:
            history.add("published", self._ledger.now, owner.vhost.name, message, owner)
        delay = command.delay
        if exchange is not None and exchange.delays:
            delay = max(delay, delay_of(content.headers))
        if delay > 0:
            self.delayed.add(Waiting(self._ledger.now + delay, self.messages, command, message))
            self._ledger.hold(message)
            return _ROUTED, message
        return self._route(command, exchange, message), message

    def route_delayed(self) -> None:
        """Route the messages whose delay is over, as many as the turn permits."""
        ledger = self._ledger
        while not ledger.is_spent and (waiting := self.delayed.take(ledger.now)) is not None:
            command, message = waiting.command, waiting.message
            ledger.room -= 1
            self._route(command, command.owner.vhost.exchanges.get(command.exchange), message)
            ledger.drop(message)

    def keep_persistent(self) -> None:
        """Drop the messages that wait and don't survive a restart."""
        for each in self.delayed.drop_transient():
            self._ledger.drop(each.message)

    def _route(self, command: commands.Publish, exchange: Exchange | None, message: Message) -> Published:
        owner, content = command.owner, message.content
        vhost, history = owner.vhost, self._history
        if exchange is not None and command.rerouted:
            exchange = None if exchange.alternate is None else vhost.exchanges.get(exchange.alternate)
        queues: Sequence[Queue] = ()
        if exchange is not None:
            queues = vhost.route(
                exchange,
                command.routing_key,
                content,
                alternates=command.alternates and not command.rerouted,
                chained=command.chained,
            )
            if command.also:
                queues = self._route_also(command, exchange, queues)
        if not queues:
            self._ledger.room -= 1 if exchange is None else 1 + exchange.tried
            if history is not None:
                history.add("unroutable", self._ledger.now, vhost.name, message, owner)
            return _UNROUTED
        consumed = refused = False
        ledger = self._ledger
        tried = 1 if exchange is None else 1 + exchange.tried
        room = ledger.room - tried - len(queues)
        if (room < 0 or self.unplaced) and not command.immediate:
            ledger.room -= tried
            if self._must_wait(len(queues)):
                return self._place_later(queues, message, promised=command.promised)
            room = ledger.room - len(queues)
        ledger.room = room
        for queue in queues:
            found = self._enqueue(queue, message, promised=command.promised)
            if found is _CONSUMED:
                consumed = True
            elif found is _REFUSED:
                refused = True
        if refused:
            return _REFUSED
        return _CONSUMED if consumed else _ROUTED

    def _route_also(self, command: commands.Publish, exchange: Exchange, found: Sequence[Queue]) -> list[Queue]:
        """Return the queues of all routing keys, each once, those `found` for the first key before others."""
        queues = dict.fromkeys(found)
        for key in command.also:
            more = command.owner.vhost.route(exchange, key, command.content, alternates=command.alternates)
            self._ledger.room -= 1 + exchange.tried
            queues.update(dict.fromkeys(more))
        return list(queues)

    def _refuse_all(self, command: commands.Publish, exchange: Exchange) -> Published:
        """Let every queue refuse a message; one that no queue is to take has its usual end."""
        content = command.content
        queues = command.owner.vhost.route(exchange, command.routing_key, content, alternates=command.alternates)
        if command.also:
            queues = self._route_also(command, exchange, queues)
        if not queues:
            return self.place(command, exchange)[0]
        self.messages += 1
        message = Message(content, command.exchange, command.routing_key, self.messages, command.owner.connection)
        for queue in queues:
            self._refuse(queue, message)
        return _REFUSED

    def _must_wait(self, count: int) -> bool:
        """Whether a message for so many queues waits for a later turn, for its size or its place in the order."""
        ledger = self._ledger
        if self.unplaced and ledger.actor in self.unplaced:
            return True
        if count > ledger.room and not ledger.in_turn:
            ledger.room = ledger.limits.turn + count
        return count > ledger.room

    def _place_later(self, queues: Sequence[Queue], message: Message, *, promised: bool) -> Published:
        """Decide now which queues take a message, and let them take it as turns permit."""
        taking: list[Queue] = []
        for queue in queues:
            if not (queue.is_plain or promised) and queue.refuses(message.content):
                self._refuse(queue, message)
            else:
                taking.append(queue)
        if taking:
            ledger = self._ledger
            self.unplaced.setdefault(ledger.actor, deque()).append(Placement(message, taking, promised=True))
            ledger.begin_work(ledger.actor)
            if ledger.room > 0:
                self._place_some(ledger.actor)
        return _ROUTED if len(taking) == len(queues) else _REFUSED

    def place_more(self) -> None:
        """Go on with the actor that has waited longest."""
        if self.unplaced:
            actor = next(iter(self.unplaced))
            self._place_some(actor)
            if actor in self.unplaced:
                self.unplaced[actor] = self.unplaced.pop(actor)

    def _place_some(self, actor: int) -> None:
        ledger = self._ledger
        placements = self.unplaced[actor]
        while placements:
            if not self._go_on(placements[0]):
                return
            placements.popleft()
            ledger.end_work(actor)
        del self.unplaced[actor]

    def _go_on(self, placement: Placement) -> bool:
        """Put a message into its next queues; return whether it is in all of them."""
        ledger = self._ledger
        queues = placement.queues
        while placement.at < len(queues):
            if ledger.room <= 0 and ledger.is_spent:
                return False
            ledger.room -= 1
            queue = queues[placement.at]
            placement.at += 1
            if not queue.is_deleted:
                self._enqueue(queue, placement.message, promised=placement.promised)
        return True

    def _enqueue(self, queue: Queue, message: Message, *, promised: bool = False) -> Published:
        """Put a message into a queue, or hand it to a waiting consumer."""
        content = message.content
        options = queue.options
        ttl = None if content.is_plain else content.ttl
        if not queue.is_plain:
            if self._delivery.late and queue in self._delivery.late:
                self._delivery.make_way(queue, content)
            if not promised and queue.refuses(content):
                self._refuse(queue, message)
                return _REFUSED
            if options.message_ttl is not None and (ttl is None or options.message_ttl < ttl):
                ttl = options.message_ttl
        expires = None if ttl is None else self._ledger.now + ttl
        entry = queue.new_entry(message, 0 if content.is_plain else content.priority, expires)
        if queue.turns and (message.immediate or not (queue.ready or queue.browsers or queue.held)):
            if queue.ready:
                # Consumers still in the rotation after this want none of the waiting messages.
                self._delivery.run(queue)
            consumer = queue.taker(entry, self._ledger)
            if consumer is not None:
                if self._history is not None:
                    self._ledger.note("routed", queue, message)
                self._ledger.hold(message)
                if not consumer.take(entry):
                    queue.rest(consumer)
                if entry.key is not None:
                    self._replace(queue, entry)
                queue.hand(entry, consumer.owner, consumer)
                self._delivery.hand_over(entry, consumer)
                return _CONSUMED
            queue.is_cut = False
        if message.immediate:
            queue.leave(entry)
            return _ROUTED
        if self._history is not None:
            self._ledger.note("routed", queue, message)
        if entry.key is not None:
            self._replace(queue, entry)
        queue.put(entry)
        self._ledger.hold(message)
        if queue.turns or queue.showing:
            self._runnable[queue] = None
        if not queue.is_plain and (options.max_length is not None or options.max_octets is not None):
            self._delivery.run(queue)
            self.make_room(queue)
        if ttl is not None:
            if ttl <= 0:
                self._delivery.run(queue)
                self._delivery.expire(queue)
            elif queue.expires_at_head:
                self._ledger.watch(queue)
            elif queue.expiring and queue.expiring[0][2] is entry:
                self._ledger.watch_for(queue, queue.expiring[0][0])
        return _ROUTED

    def bury(self) -> None:
        """Publish the dead letters, and those that result from them, one after the other; what is over the turn's
        budget is left."""
        dead = self._dead
        ledger = self._ledger
        delivery = self._delivery
        while self.letter is not None or dead:
            if (ledger.room <= 0 and ledger.is_spent) or (self.letter is not None and not self._go_on(self.letter)):
                delivery.is_behind = True
                return
            self.letter = self._next_letter(*dead.popleft()) if dead else None
        delivery.is_behind = False

    def _next_letter(
        self,
        vhost: VirtualHost,
        name: str,
        routing_key: str,
        deaths: tuple[Death, ...],
        source: Message,
        is_alternate: bool,
    ) -> Placement | None:
        """Route a dead letter: each queue is reached once by what comes from one message, until it is rejected."""
        ledger = self._ledger
        ledger.room -= _LETTER_STEPS
        exchange = vhost.exchanges.get(name)
        if exchange is None:
            return None
        self.messages += 1
        content = source.content if is_alternate else source.content.with_deaths(deaths)
        letter = Message(content, name, routing_key, self.messages, source.publisher)
        if is_alternate:
            # It continues with its original exchange.
            letter.exchange = source.exchange
        # A rerouted message isn't rerouted again (0-10 exchange.declare, rule double-failure).
        queues = vhost.route(exchange, routing_key, content, alternates=not is_alternate)
        ledger.room -= exchange.tried + len(queues)
        if is_alternate:
            return Placement(letter, queues)
        if deaths[0].reason == "rejected":
            letter.walk = {each.name: None for each in queues}
            return Placement(letter, queues)
        walk = source.walk
        letter.walk = walk = {deaths[0].queue: None} if walk is None else walk
        passed = _since_rejection(deaths)
        reached = [each for each in queues if each.name not in walk and each.name not in passed]
        for each in reached:
            walk[each.name] = None
        return Placement(letter, reached)

    def _replace(self, queue: Queue, entry: Entry) -> None:
        """Replace the newest message of a key, which is dropped unless somebody has acquired it."""
        older = queue.newest.get(entry.key)
        queue.newest[entry.key] = entry
        if older is not None and older.state is State.AVAILABLE:
            self._delivery.drop_replaced(older)

    def make_room(self, queue: Queue) -> None:
        """Drop the oldest messages above the limit; in a queue that refuses publishes, all in excess were promised a
        place."""
        if queue.options.overflow == "drop-head" and queue.returning is None and queue.is_above():
            # One publish mostly means one message.
            oldest = queue.oldest()
            if oldest is not None:
                self._delivery.die(oldest, "maxlen", EntryInput.DROP)
            if queue.is_above():
                self._chores.begin(Shortening(self, self._delivery, queue))

    def shorten(self, queue: Queue) -> bool:
        """Drop messages above the limit as the turn permits; return whether that was all."""
        ledger = self._ledger
        while queue.is_above() and (entry := queue.oldest()) is not None:
            if ledger.room <= 0 and ledger.is_spent:
                return False
            ledger.room -= 1
            self._delivery.die(entry, "maxlen", EntryInput.DROP)
        return True

    def _refuse(self, queue: Queue, message: Message) -> None:
        self._ledger.note("refused", queue, message, reason="maxlen")
        if queue.options.overflow == "reject-publish-dlx" and queue.options.dead_letter_exchange is not None:
            self._delivery.dead_letter(queue, message, "maxlen")


class Placement:
    """A message and the queues that take it."""

    __slots__ = ("at", "message", "promised", "queues")

    def __init__(self, message: Message, queues: Sequence[Queue], *, promised: bool = False) -> None:
        self.message = message
        """The one that all of them get."""
        self.queues = queues
        """Those before `at` have it."""
        self.promised = promised
        """That of `commands.Publish`."""
        self.at = 0
        """The place of the next one."""


def _since_rejection(deaths: tuple[Death, ...]) -> set[str]:
    """Return the queues that a message left without any rejection since."""
    left: set[str] = set()
    for each in deaths:
        if each.reason == "rejected":
            break
        left.add(each.queue)
    return left
