"""Publishing: from an exchange into queues, past their limits, and from there to the exchanges for dead letters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from . import consuming, declaring, transacting
from .commands import Published
from .death import Death
from .entry import Entry, EntryInput, Message, State
from .faults import Fault, FaultKind
from .routing import route

if TYPE_CHECKING:
    from collections.abc import Sequence

    from . import commands
    from .broker import Broker
    from .content import Content
    from .queue import Queue
    from .vhost import VirtualHost

_ROUTED: Final = Published(routed=True, consumed=False, refused=False)
_CONSUMED: Final = Published(routed=True, consumed=True, refused=False)
_REFUSED: Final = Published(routed=True, consumed=False, refused=True)
_UNROUTED: Final = Published(routed=False, consumed=False, refused=False)


def publish(broker: Broker, command: commands.Publish) -> Published | None:
    """`Publish`."""
    vhost = command.owner.vhost
    exchange = vhost.exchanges.get(command.exchange)
    if exchange is None:
        text = f"no exchange {command.exchange!r} in vhost {vhost.name!r}"
        raise Fault(FaultKind.NOT_FOUND, text, "exchange")
    if exchange.internal:
        text = f"cannot publish to internal exchange {command.exchange!r} in vhost {vhost.name!r}"
        raise Fault(FaultKind.INTERNAL, text, "exchange")
    if command.transaction is not None:
        transacting.add_publish(broker, command.transaction, command)
        return None
    return place(broker, command)[0]


def place(broker: Broker, command: commands.Publish) -> tuple[Published, Message]:
    """Put a message into the queues that its exchange names; an exchange that is gone names none."""
    owner = command.owner
    content = command.content
    broker.messages += 1
    message = Message(
        content,
        command.exchange,
        command.routing_key,
        broker.messages,
        owner.connection,
        command.mandatory,
        command.immediate,
    )
    vhost = owner.vhost
    history = broker.history
    if history is not None:
        history.add("published", broker.now, vhost.name, message, owner)
    exchange = vhost.exchanges.get(command.exchange)
    if exchange is not None and command.rerouted:
        exchange = None if exchange.alternate is None else vhost.exchanges.get(exchange.alternate)
    queues: Sequence[Queue] = ()
    if exchange is not None:
        queues = route(
            vhost,
            exchange,
            command.routing_key,
            content,
            alternates=command.alternates and not command.rerouted,
            chained=command.chained,
        )
    if not queues:
        if history is not None:
            history.add("unroutable", broker.now, vhost.name, message, owner)
        return _UNROUTED, message
    consumed = refused = False
    for queue in queues:
        found = enqueue(broker, queue, message, promised=command.promised)
        if found is _CONSUMED:
            consumed = True
        elif found is _REFUSED:
            refused = True
    if refused:
        return _REFUSED, message
    return (_CONSUMED if consumed else _ROUTED), message


def refuses(queue: Queue, content: Content) -> bool:
    """Whether a queue is full and takes no message like this one (x-overflow)."""
    if queue.options.overflow == "drop-head" or not _is_full(queue, content):
        return False
    older = queue.newest.get(queue.key_of(content)) if queue.newest else None
    # It would make room for itself.
    return older is None or older.state is not State.AVAILABLE


def enqueue(broker: Broker, queue: Queue, message: Message, *, promised: bool = False) -> Published:
    """Put a message into a queue, or hand it to a consumer that waits for it."""
    content = message.content
    options = queue.options
    ttl = None if content.is_plain else content.ttl
    if not queue.is_plain:
        if not promised and refuses(queue, content):
            _refuse(broker, queue, message)
            return _REFUSED
        if options.message_ttl is not None and (ttl is None or options.message_ttl < ttl):
            ttl = options.message_ttl
    expires = None if ttl is None else broker.now + ttl
    entry = queue.new_entry(message, 0 if content.is_plain else content.priority, expires)
    if queue.turns and (message.immediate or not (queue.ready or queue.browsers)):
        if queue.ready:
            # Those who have their turns still after this want none of the messages that wait.
            consuming.run(broker, queue)
        consumer = queue.taker(entry)
        if consumer is not None:
            if broker.history is not None:
                _note_routed(broker, queue, message)
            broker.hold(message)
            consumer.take(entry)
            if entry.key is not None:
                _replace(broker, queue, entry)
            queue.hand(entry, consumer)
            consuming.hand_over(broker, entry, consumer)
            return _CONSUMED
    if message.immediate:
        queue.leave(entry)
        return _ROUTED
    _note_routed(broker, queue, message)
    if entry.key is not None:
        _replace(broker, queue, entry)
    queue.put(entry)
    broker.hold(message)
    if queue.turns or queue.browsers:
        broker.runnable[queue] = None
    if not queue.is_plain and (options.max_length is not None or options.max_octets is not None):
        consuming.run(broker, queue)
        _make_room(broker, queue)
    if ttl is not None:
        if ttl <= 0:
            consuming.run(broker, queue)
            expire(broker, queue)
        elif queue.expiring and queue.expiring[0][2] is entry:
            broker.watch_for(queue, queue.expiring[0][0])
    return _ROUTED


def drop_replaced(broker: Broker, entry: Entry) -> None:
    """A message goes because a newer one of its key has come; it is no dead letter."""
    queue = entry.queue
    queue.archive(entry, EntryInput.DROP)
    consuming.look_again(broker, queue)
    _note(broker, queue, entry.message, "dropped", "replaced")
    broker.drop(entry.message)


def _replace(broker: Broker, queue: Queue, entry: Entry) -> None:
    """A message takes the place of the one that was the newest of its key, which goes unless somebody has it."""
    older = queue.newest.get(entry.key)
    queue.newest[entry.key] = entry
    if older is not None and older.state is State.AVAILABLE:
        drop_replaced(broker, older)


def expire(broker: Broker, queue: Queue) -> None:
    """Let go the messages of a queue whose time is over, and the queue itself if nobody has used it long enough."""
    now = broker.now
    while (entry := queue.due(now)) is not None:
        if broker.history is not None:
            broker.history.add("expired", now, queue.vhost.name, entry.message, queue=queue.name)
        die(broker, entry, "expired", EntryInput.EXPIRE)
    consuming.leave_if_empty(broker, queue)
    idle = queue.options.expires
    if idle is not None and not queue.consumers and queue.used_at + idle <= now:
        declaring.delete_queue(broker, queue, "it wasn't used for its x-expires")


def die(broker: Broker, entry: Entry, reason: str, why: EntryInput) -> None:
    """A message leaves a queue for good; where the queue has a place for those, it goes on to there."""
    queue = entry.queue
    message = entry.message
    queue.archive(entry, why)
    consuming.look_again(broker, queue)
    options = queue.options
    exchange = options.dead_letter_exchange
    if exchange is not None and reason != "orphaned":
        _bury(broker, queue, message, reason)
        broker.drop(message)
        return
    if queue.alternate is not None and reason in ("rejected", "orphaned"):
        _note(broker, queue, message, "dead-lettered", reason)
        broker.dead.append((queue.vhost, queue.alternate, message.routing_key, message.content, message, True))
    elif reason != "expired":
        _note(broker, queue, message, "dropped", reason)
    broker.drop(message)


def bury(broker: Broker) -> None:
    """Publish the dead letters, and those that die of it."""
    dead = broker.dead
    while dead:
        vhost, name, routing_key, content, source, is_alternate = dead.popleft()
        exchange = vhost.exchanges.get(name)
        if exchange is None:
            continue
        letter = Message(content, name, routing_key, broker.count_message(), source.publisher)
        if is_alternate:
            # It goes on as it was published.
            letter.exchange = source.exchange
        # What is rerouted already isn't once more (0-10 exchange.declare, rule double-failure).
        queues = route(vhost, exchange, routing_key, content, alternates=not is_alternate)
        for queue in queues:
            if is_alternate or not _is_cycle(queue, content.deaths):
                enqueue(broker, queue, letter)


def _bury(broker: Broker, queue: Queue, message: Message, reason: str) -> None:
    options = queue.options
    assert options.dead_letter_exchange is not None
    _note(broker, queue, message, "dead-lettered", reason)
    deaths = _one_more(broker, queue, message, reason)
    key = options.dead_letter_routing_key
    routing_key = message.routing_key if key is None else key
    content = message.content.with_deaths(deaths)
    broker.dead.append((queue.vhost, options.dead_letter_exchange, routing_key, content, message, False))


def _one_more(broker: Broker, queue: Queue, message: Message, reason: str) -> tuple[Death, ...]:
    """The deaths of a message with this one, which comes first."""
    kept: list[Death] = []
    death = Death(
        queue.name, reason, 1, message.exchange, (message.routing_key,), broker.now + broker.epoch
    )
    for each in message.content.deaths:
        if (each.queue, each.reason) == (queue.name, reason):
            death = Death(
                each.queue, each.reason, each.count + 1, each.exchange, each.routing_keys, each.time
            )
        else:
            kept.append(each)
    return (death, *kept)


def _is_cycle(queue: Queue, deaths: tuple[Death, ...]) -> bool:
    """Whether a message would come back to a queue without anybody having rejected it since it was there."""
    for each in deaths:
        if each.reason == "rejected":
            return False
        if each.queue == queue.name:
            return True
    return False


def _is_full(queue: Queue, content: Content) -> bool:
    options = queue.options
    return (options.max_length is not None and queue.ready >= options.max_length) or (
        options.max_octets is not None and queue.octets + content.size > options.max_octets
    )


def _make_room(broker: Broker, queue: Queue) -> None:
    """Drop what is too much, the oldest first; in a queue that refuses what is too much all of it was promised a place.
    """
    options = queue.options
    if options.overflow != "drop-head":
        return
    while (options.max_length is not None and queue.ready > options.max_length) or (
        options.max_octets is not None and queue.octets > options.max_octets
    ):
        entry = queue.oldest()
        if entry is None:
            return
        die(broker, entry, "maxlen", EntryInput.DROP)


def _refuse(broker: Broker, queue: Queue, message: Message) -> None:
    _note(broker, queue, message, "refused", "maxlen")
    if queue.options.overflow == "reject-publish-dlx" and queue.options.dead_letter_exchange is not None:
        _bury(broker, queue, message, "maxlen")


def _note_routed(broker: Broker, queue: Queue, message: Message) -> None:
    if broker.history is not None:
        broker.history.add("routed", broker.now, queue.vhost.name, message, queue=queue.name)


def _note(broker: Broker, queue: Queue, message: Message, kind: Noted, reason: str) -> None:
    if broker.history is not None:
        broker.history.add(kind, broker.now, queue.vhost.name, message, queue=queue.name, reason=reason)


if TYPE_CHECKING:
    from typing import Literal, TypeAlias

    Noted: TypeAlias = Literal["dead-lettered", "dropped", "refused"]
    DeadLetter: TypeAlias = tuple[VirtualHost, str, str, Content, Message, bool]
    """A virtual host, the exchange, the key, the content, what it was before, and whether it goes to an alternate."""
