"""Publishing: from an exchange into queues and within their limits, dead letters too."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from .commands import Published
from .content import Death, Message
from .faults import Fault, FaultKind
from .states import EntryInput, State

if TYPE_CHECKING:
    from collections.abc import Sequence

    from . import commands
    from .delivery import Delivery
    from .ledger import Ledger
    from .queue import Entry, Queue
    from .transactions import Transactions

_ROUTED: Final = Published(routed=True, consumed=False, refused=False)
_CONSUMED: Final = Published(routed=True, consumed=True, refused=False)
_REFUSED: Final = Published(routed=True, consumed=False, refused=True)
_UNROUTED: Final = Published(routed=False, consumed=False, refused=False)


class Publishing:
    """Carries out publishes. `messages` is the number of messages published so far."""

    __slots__ = ("_dead", "_delivery", "_history", "_ledger", "_runnable", "_transactions", "messages")

    def __init__(self, ledger: Ledger, delivery: Delivery, transactions: Transactions) -> None:
        self._ledger = ledger
        self._history = ledger.history
        self._delivery = delivery
        self._runnable = delivery.runnable
        self._dead = delivery.dead
        self._transactions = transactions
        self.messages = 0

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
        return self.place(command)[0]

    def place(self, command: commands.Publish) -> tuple[Published, Message]:
        """Put a message into the queues that its exchange selects; a deleted exchange selects none."""
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
        vhost = owner.vhost
        history = self._history
        if history is not None:
            history.add("published", self._ledger.now, vhost.name, message, owner)
        exchange = vhost.exchanges.get(command.exchange)
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
        if not queues:
            if history is not None:
                history.add("unroutable", self._ledger.now, vhost.name, message, owner)
            return _UNROUTED, message
        consumed = refused = False
        for queue in queues:
            found = self._enqueue(queue, message, promised=command.promised)
            if found is _CONSUMED:
                consumed = True
            elif found is _REFUSED:
                refused = True
        if refused:
            return _REFUSED, message
        return (_CONSUMED if consumed else _ROUTED), message

    def _enqueue(self, queue: Queue, message: Message, *, promised: bool = False) -> Published:
        """Put a message into a queue, or hand it to a waiting consumer."""
        content = message.content
        options = queue.options
        ttl = None if content.is_plain else content.ttl
        if not queue.is_plain:
            if not promised and queue.refuses(content):
                self._refuse(queue, message)
                return _REFUSED
            if options.message_ttl is not None and (ttl is None or options.message_ttl < ttl):
                ttl = options.message_ttl
        expires = None if ttl is None else self._ledger.now + ttl
        entry = queue.new_entry(message, 0 if content.is_plain else content.priority, expires)
        if queue.turns and (message.immediate or not (queue.ready or queue.browsers)):
            if queue.ready:
                # Consumers still in the rotation after this want none of the waiting messages.
                self._delivery.run(queue)
            consumer = queue.taker(entry)
            if consumer is not None:
                if self._history is not None:
                    self._ledger.note("routed", queue, message)
                self._ledger.hold(message)
                consumer.take(entry)
                if entry.key is not None:
                    self._replace(queue, entry)
                queue.hand(entry, consumer)
                self._delivery.hand_over(entry, consumer)
                return _CONSUMED
        if message.immediate:
            queue.leave(entry)
            return _ROUTED
        self._ledger.note("routed", queue, message)
        if entry.key is not None:
            self._replace(queue, entry)
        queue.put(entry)
        self._ledger.hold(message)
        if queue.turns or queue.browsers:
            self._runnable[queue] = None
        if not queue.is_plain and (options.max_length is not None or options.max_octets is not None):
            self._delivery.run(queue)
            self._make_room(queue)
        if ttl is not None:
            if ttl <= 0:
                self._delivery.run(queue)
                self._delivery.expire(queue)
            elif queue.expiring and queue.expiring[0][2] is entry:
                self._ledger.watch_for(queue, queue.expiring[0][0])
        return _ROUTED

    def bury(self) -> None:
        """Publish the dead letters, and those that result from them."""
        dead = self._dead
        while dead:
            vhost, name, routing_key, content, source, is_alternate = dead.popleft()
            exchange = vhost.exchanges.get(name)
            if exchange is None:
                continue
            self.messages += 1
            letter = Message(content, name, routing_key, self.messages, source.publisher)
            if is_alternate:
                # It continues with its original exchange.
                letter.exchange = source.exchange
            # A rerouted message isn't rerouted again (0-10 exchange.declare, rule double-failure).
            queues = vhost.route(exchange, routing_key, content, alternates=not is_alternate)
            for queue in queues:
                if is_alternate or not _is_cycle(queue, content.deaths):
                    self._enqueue(queue, letter)

    def _replace(self, queue: Queue, entry: Entry) -> None:
        """Replace the newest message of a key, which is dropped unless somebody has acquired it."""
        older = queue.newest.get(entry.key)
        queue.newest[entry.key] = entry
        if older is not None and older.state is State.AVAILABLE:
            self._delivery.drop_replaced(older)

    def _make_room(self, queue: Queue) -> None:
        """Drop the oldest messages above the limit; in a queue that refuses publishes, all in excess were promised a
        place."""
        options = queue.options
        if options.overflow != "drop-head":
            return
        while (options.max_length is not None and queue.ready > options.max_length) or (
            options.max_octets is not None and queue.octets > options.max_octets
        ):
            entry = queue.oldest()
            if entry is None:
                return
            self._delivery.die(entry, "maxlen", EntryInput.DROP)

    def _refuse(self, queue: Queue, message: Message) -> None:
        self._ledger.note("refused", queue, message, reason="maxlen")
        if queue.options.overflow == "reject-publish-dlx" and queue.options.dead_letter_exchange is not None:
            self._delivery.dead_letter(queue, message, "maxlen")


def _is_cycle(queue: Queue, deaths: tuple[Death, ...]) -> bool:
    """Whether a message would return to a queue that it left before without any rejection since."""
    for each in deaths:
        if each.reason == "rejected":
            return False
        if each.queue == queue.name:
            return True
    return False
