"""Consuming and acknowledging: the methods of class basic except publish (0-9-1 section 1.8)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final

from ....errors import LimitExceeded, LocalProtocolError
from ...model.commands import NO_ARGUMENTS, Cancel, Get, Outcome, Settle, Subscribe
from ...model.consumer import Window
from ...model.options import is_whole
from ...model.states import State
from ...rabbitmq import advice, deprecated
from . import direct_reply, timeouts
from .channel import BASIC, FILE, STREAM, ClassFilter, ClassicConsumer
from .contents import counted
from .errors import NOT_IMPLEMENTED, PRECONDITION_FAILED, Refusal
from .topology import queue_name

if TYPE_CHECKING:
    from ...model.consumer import Consumer
    from ...model.entry import Entry
    from .channel import ChannelFrontend, ClassicChannel

_ACQUIRED: Final = State.ACQUIRED
_ACCEPT: Final = Outcome.ACCEPT
_PRIORITY: Final = "x-priority"
_OF_BASIC: Final = ClassFilter(BASIC)


# Prefetch.


def qos(front: ChannelFrontend, channel: ClassicChannel, method: Any) -> Any:
    """basic.qos and file.qos.

    The specifications: for the channel, or with global for the connection. RabbitMQ in 0-9-1: for each consumer that
    starts later, or with global for the channel.
    """
    limit = method.prefetch_count, method.prefetch_size
    per_consumer = front.is_rabbit and not front.is_old
    if per_consumer and method.global_ and not front.release.global_qos:
        what = f"basic.qos with global of channel {channel.number}"
        text = advice(front.release.name, what, "limit each consumer (global=False)")
        front.hub.warn(("release", "global_qos"), text)
        raise Refusal(NOT_IMPLEMENTED, deprecated("global_qos"), is_hard=True)
    if per_consumer and not method.global_:
        channel.prefetch = limit
    elif per_consumer or not method.global_:
        channel.shared = limit
        front.set_window(channel)
    else:
        front.whole = limit
        front.set_whole_window()
    return front.named[f"{method.NAME}-ok"]()


# Consumers.


def _consume(front: ChannelFrontend, channel: ClassicChannel, method: Any) -> Any:
    # In 0-8 only one dialect has them, and a client may omit them there.
    arguments: Mapping[str, Any] = getattr(method, "arguments", None) or NO_ARGUMENTS
    priority: Any = arguments.get(_PRIORITY)
    if priority is not None and not is_whole(priority):
        raise Refusal(PRECONDITION_FAILED, f"invalid arg '{_PRIORITY}': {priority!r} is no whole number")
    return consume(front, channel, method, BASIC, priority=priority or 0)


def consume(front: ChannelFrontend, channel: ClassicChannel, method: Any, class_id: int, *, priority: int = 0) -> Any:
    """basic.consume, file.consume and stream.consume. Raises Fault, Refusal."""
    queue = queue_name(channel, method.queue)
    tag = method.consumer_tag or channel.new_tag()
    if not method.consumer_tag and method.no_wait:
        channel.engine.name_consumer(tag)
    # Stream messages are never acknowledged.
    settles = class_id == STREAM or method.no_ack
    if queue == direct_reply.PSEUDO_QUEUE and front.is_rabbit:
        queue = direct_reply.begin(front, channel, settles)
    _check_global(front, channel, queue)
    consumer = ClassicConsumer(channel, tag, class_id, settles)
    model = front.hub.apply(
        Subscribe(
            channel.owner,
            queue,
            tag if front.is_rabbit else f"{channel.owner.number}/{tag}",
            _windows(front, channel, settles),
            # The broker holds a file until its client has taken it.
            settles=settles and class_id != FILE,
            exclusive=method.exclusive,
            no_local=method.no_local,
            priority=priority,
            filter=ClassFilter(class_id) if front.is_old else None,
        )
    )
    front.add_consumer(consumer, model)
    return front.named[f"{method.NAME}-ok"](tag)


def _check_global(front: ChannelFrontend, channel: ClassicChannel, name: str) -> None:
    """Refuse a quorum queue's consumer beside a prefetch that the channel's consumers share, as RabbitMQ does."""
    queue = channel.owner.vhost.queues.get(name)
    if queue is not None and queue.is_quorum and channel.shared[0] and front.is_rabbit and not front.is_old:
        text = f"queue '{name}' in vhost '{channel.owner.vhost.name}' does not support global qos"
        raise Refusal(NOT_IMPLEMENTED, text, is_hard=True)


def _windows(front: ChannelFrontend, channel: ClassicChannel, settles: bool) -> tuple[Window, ...]:
    """Return the windows of a new consumer."""
    if settles:
        return front.gate, channel.flow
    if not front.is_rabbit or front.is_old:
        return front.gate, channel.flow, channel.window, front.window
    messages, octets = channel.prefetch
    if not messages and not octets:
        return front.gate, channel.flow, channel.window
    own = Window(messages or None, octets or None, refills=True)
    own.idle_octets = octets or None
    return front.gate, channel.flow, channel.window, own


def cancel(front: ChannelFrontend, channel: ClassicChannel, method: Any) -> Any:
    """basic.cancel, file.cancel and stream.cancel; an unknown tag is no error."""
    consumer = channel.own_consumers.get(method.consumer_tag)
    if consumer is not None and consumer.model is not None:
        front.remove_consumer(consumer)
        is_reply = consumer.model.queue.name == channel.replies
        front.hub.apply(Cancel(consumer.model))
        if is_reply:
            channel.replies = ""
    return front.named[f"{method.NAME}-ok"](method.consumer_tag)


# Fetching.


def _get(front: ChannelFrontend, channel: ClassicChannel, method: Any) -> Any:
    name = queue_name(channel, method.queue)
    entry = _first(front, channel, name, method.no_ack)
    if entry is None:
        return front.named["basic.get-empty"]()
    message = entry.message
    content = front.content_of(message)
    if entry.delivery_count and entry.queue.is_quorum:
        content = counted(content, entry)
    engine = channel.engine
    tag = engine.last_tag + 1
    reply = front.named["basic.get-ok"](
        tag, entry.redelivered, message.exchange, message.routing_key, entry.queue.ready
    )
    try:
        engine.reply(reply, content.properties, content.body)
    except LimitExceeded:
        raise
    except LocalProtocolError as error:
        # No client of this version can receive it: dead-letter it.
        if not method.no_ack:
            front.hub.apply(Settle(channel.owner, (entry,), Outcome.REJECT))
        raise Refusal(PRECONDITION_FAILED, f"the message can't be sent: {error}") from error
    if not method.no_ack:
        channel.entries[tag] = entry
        if front.is_rabbit and not front.is_old:
            timeouts.note(front, channel, tag)
    return None


def _first(front: ChannelFrontend, channel: ClassicChannel, name: str, settles: bool) -> Entry | None:
    """Return the first message of a queue; in 0-8 the first one of the basic class."""
    found: Entry | None = front.hub.apply(Get(channel.owner, name, settles, _OF_BASIC if front.is_old else None))
    return found


# Settling.


def ack(front: ChannelFrontend, channel: ClassicChannel, method: Any) -> None:
    """basic.ack and file.ack."""
    tag = method.delivery_tag
    taken = channel.take_up_to(tag) if method.multiple else channel.take((tag,))
    settle(front, channel, taken, _ACCEPT)


def ack_all(front: ChannelFrontend, channel: ClassicChannel, tags: Iterable[int]) -> None:
    """basic.ack for each of these deliveries, with the effects of each after the other."""
    hub = front.hub
    model = hub.model
    together = model.history is None and not model.ledger.is_blocked
    for consumer, group in groupby(channel.take(tags), _consumer_of):
        taken = list(group)
        hub.settle()
        if together and consumer is not None and consumer.is_alone:
            settle(front, channel, taken, _ACCEPT)
            continue
        for each in taken:
            settle(front, channel, [each], _ACCEPT)
            hub.settle()


def _consumer_of(taken: tuple[int, Entry]) -> Consumer | None:
    return taken[1].consumer


def reject(front: ChannelFrontend, channel: ClassicChannel, method: Any) -> None:
    """basic.reject and file.reject."""
    entry = channel.entries.pop(method.delivery_tag, None)
    if entry is not None:
        taken = [(method.delivery_tag, entry)]
        settle(front, channel, taken, Outcome.RELEASE if method.requeue else Outcome.REJECT)


def _nack(front: ChannelFrontend, channel: ClassicChannel, method: Any) -> None:
    if not method.multiple:
        reject(front, channel, method)
        return
    taken = channel.take_up_to(method.delivery_tag)
    settle(front, channel, taken, Outcome.RELEASE if method.requeue else Outcome.REJECT)


def settle(front: ChannelFrontend, channel: ClassicChannel, taken: list[tuple[int, Entry]], outcome: Outcome) -> None:
    """Settle deliveries that were removed from the channel; if their queue is gone they are settled already."""
    taken = [each for each in taken if each[1].state is _ACQUIRED]
    if not taken:
        return
    if channel.transaction is not None:
        channel.undecided.update(taken)
    release = outcome is Outcome.RELEASE
    front.hub.apply(
        Settle(
            channel.owner,
            tuple([entry for _, entry in taken]),
            outcome,
            delivery_failed=release,
            # The specifications: not to the same client again; RabbitMQ does it if there is no other.
            excluded=release and not front.is_rabbit,
            transaction=channel.transaction,
        )
    )


def _recover(front: ChannelFrontend, channel: ClassicChannel, method: Any) -> None:
    """basic.recover, with or without reply: redeliver everything unsettled.

    Without requeue, messages go to their previous consumers under new tags; those whose consumer is gone return to
    their queue.
    """
    taken = channel.take_up_to(0)
    again: list[tuple[ClassicConsumer, Entry]] = []
    back: list[Entry] = []
    for _, entry in taken:
        consumer = None if entry.consumer is None else front.consumers.get(entry.consumer.number)
        if entry.state is not _ACQUIRED:
            continue
        if method.requeue or consumer is None or channel.flow_stopped:
            back.append(entry)
        else:
            again.append((consumer, entry))
    # No redelivery may precede the reply.
    reply = front.named.get(f"{method.NAME}-ok")
    if reply is not None and front.dialect.replies[method.ID]:
        channel.engine.reply(reply())
    for consumer, entry in again:
        front.deliver(consumer, entry, redelivered=True)
    if back:
        front.hub.apply(Settle(channel.owner, tuple(back), Outcome.RELEASE, redelivered=True))


METHODS: Final[Mapping[str, Callable[[ChannelFrontend, ClassicChannel, Any], Any]]] = {
    "basic.qos": qos,
    "basic.consume": _consume,
    "basic.cancel": cancel,
    "basic.get": _get,
    "basic.ack": ack,
    "basic.reject": reject,
    "basic.nack": _nack,
    "basic.recover": _recover,
    "basic.recover-async": _recover,
    "basic.recover-sync": _recover,
}
