"""What units mean to the messages of a channel: publishes, deliveries, and what settles them.

0-9-1 sections 1.8 (basic) and 1.9 (tx), RabbitMQ's publisher confirms, and the file and stream classes of 0-8.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

from ...endpoint import Side
from ...lifecycle import MessageRecord
from ...versions import AMQP_0_8
from .history_state import (
    CONFIRM,
    TRANSACTED,
    UNKNOWN,
    ChannelHistory,
    Transaction,
    forget_return,
    return_key,
)

if TYPE_CHECKING:
    from ...observer import Observed
    from .history import ClassicHistory

Messages = Sequence[MessageRecord]
_NONE: Final[Messages] = ()


def _confirm_select(history: ClassicHistory, event: Observed, method: Any) -> Messages:
    channel = history.channel(event.channel)
    if channel.mode != CONFIRM:
        channel.mode = CONFIRM
        channel.count = 0
        channel.sure = True
    return _NONE


def _tx_select(history: ClassicHistory, event: Observed, method: Any) -> Messages:
    history.channel(event.channel).mode = TRANSACTED
    return _NONE


def _tx_end(history: ClassicHistory, event: Observed, method: Any) -> Messages:
    """Commit or rollback is asked for; what follows belongs to the next transaction."""
    channel = history.channel(event.channel)
    if channel.mode == UNKNOWN:
        channel.mode = TRANSACTED
        channel.transaction.publishes = list(channel.held.values())
        channel.held = {}
    channel.ending.append((event.event == "tx.commit", channel.transaction))
    channel.transaction = Transaction()
    return _NONE


def _tx_end_ok(history: ClassicHistory, event: Observed, method: Any) -> Messages:
    channel = history.channel(event.channel)
    committed = event.event == "tx.commit-ok"
    if not channel.ending or channel.ending[0][0] != committed:
        return _NONE
    _, transaction = channel.ending.popleft()
    done: list[MessageRecord] = []
    for message in transaction.publishes:
        if message.outcome is None:
            forget_return(channel, message)
            message.settle("accepted" if committed else "released", event)
            done.append(message)
    for message, outcome, _ in transaction.settled:
        if committed:
            message.settle(outcome, event)
            done.append(message)
        elif message.tag is not None:
            channel.deliveries[message.tag] = message
    if not committed and transaction.settled:
        channel.deliveries = dict(sorted(channel.deliveries.items()))
    return done


# Messages of the client.


def _publish(history: ClassicHistory, event: Observed, method: Any) -> Messages:
    number = event.channel
    channel = history.channels.get(number) or history.channel(number)
    mandatory = method.mandatory or method.immediate
    message = MessageRecord(
        event,
        history.version,
        "publish",
        exchange=method.exchange,
        routing_key=method.routing_key,
        mandatory=mandatory,
    )
    done: list[MessageRecord] = []
    mode = channel.mode
    if channel.dead:
        return (message,)
    if mode == CONFIRM:
        if not channel.sure:
            return (message,)
        channel.count += 1
        message.tag = channel.count
        channel.publishes[channel.count] = message
        if len(channel.publishes) > history.limits.unconfirmed:
            done.append(channel.publishes.pop(next(iter(channel.publishes))))
    elif mode == TRANSACTED:
        channel.transaction.publishes.append(message)
        if len(channel.transaction.publishes) > history.limits.unconfirmed:
            done.append(channel.transaction.publishes.pop(0))
    elif mandatory or mode == UNKNOWN:
        channel.held[message.seq] = message
        if len(channel.held) > history.limits.unconfirmed:
            oldest = channel.held.pop(next(iter(channel.held)))
            oldest.settle("settled")
            done.append(oldest)
    else:
        message.settle("settled")
        return (message,)
    if mandatory:
        key = return_key(message)
        waiting = channel.returnable.get(key)
        if waiting is None:
            waiting = channel.returnable[key] = deque()
        waiting.append(message)
    for message in done:
        forget_return(channel, message)
    return done


def _return(history: ClassicHistory, event: Observed, method: Any) -> Messages:
    """A message comes back: it belongs to the oldest publish like it, which servers return in order."""
    channel = history.channel(event.channel)
    returned = MessageRecord(
        event,
        history.version,
        "return",
        exchange=method.exchange,
        routing_key=method.routing_key,
        code=method.reply_code,
        text=method.reply_text,
    )
    returned.settle("settled")
    waiting = channel.returnable.get(return_key(returned))
    if not waiting:
        return (returned,)
    message = waiting[0]
    forget_return(channel, message)
    message.settle("returned", event)
    message.code = method.reply_code
    message.text = method.reply_text
    channel.held.pop(message.seq, None)
    if message.tag is not None:
        channel.publishes.pop(message.tag, None)
    return message, returned


def _stream_publish(history: ClassicHistory, event: Observed, method: Any) -> Messages:
    message = MessageRecord(
        event, history.version, "publish", exchange=method.exchange, routing_key=method.routing_key
    )
    message.settle("settled")
    return (message,)


# Messages of the server.


def _consume(history: ClassicHistory, event: Observed, method: Any) -> Messages:
    channel = history.channel(event.channel)
    source = (method.queue or channel.queue, bool(getattr(method, "no_ack", True)))
    if method.no_wait:
        channel.consumers[method.consumer_tag] = source
    else:
        channel.consumes[event.seq] = source
        if len(channel.consumes) > history.limits.calls:
            del channel.consumes[next(iter(channel.consumes))]
    if len(channel.consumers) > history.limits.consumers:
        del channel.consumers[next(iter(channel.consumers))]
    return _NONE


def _consume_ok(history: ClassicHistory, event: Observed, method: Any) -> Messages:
    channel = history.channel(event.channel)
    source = channel.consumes.pop(event.answers, None) if event.answers is not None else None
    if source is not None:
        channel.consumers[method.consumer_tag] = source
    return _NONE


def _cancelled(history: ClassicHistory, event: Observed, method: Any) -> Messages:
    if event.sender is Side.SERVER:
        history.channel(event.channel).consumers.pop(method.consumer_tag, None)
    return _NONE


def _deliver(history: ClassicHistory, event: Observed, method: Any) -> Messages:
    number = event.channel
    channel = history.channels.get(number) or history.channel(number)
    queue, no_ack = channel.consumers.get(method.consumer_tag) or (None, False)
    message = MessageRecord(
        event,
        history.version,
        "deliver",
        exchange=method.exchange,
        routing_key=getattr(method, "routing_key", None),
        tag=method.delivery_tag,
        redelivered=getattr(method, "redelivered", None),
        queue=queue or getattr(method, "queue", None),
        consumer_tag=method.consumer_tag,
    )
    return _given(history, channel, message, no_ack)


def _get(history: ClassicHistory, event: Observed, method: Any) -> Messages:
    channel = history.channel(event.channel)
    channel.gets[event.seq] = (method.queue or channel.queue, method.no_ack)
    if len(channel.gets) > history.limits.calls:
        del channel.gets[next(iter(channel.gets))]
    return _NONE


def _get_ok(history: ClassicHistory, event: Observed, method: Any) -> Messages:
    channel = history.channel(event.channel)
    source = channel.gets.pop(event.answers, None) if event.answers is not None else None
    queue, no_ack = source or (None, False)
    message = MessageRecord(
        event,
        history.version,
        "get",
        exchange=method.exchange,
        routing_key=method.routing_key,
        tag=method.delivery_tag,
        redelivered=method.redelivered,
        queue=queue,
    )
    return _given(history, channel, message, no_ack)


def _get_empty(history: ClassicHistory, event: Observed, method: Any) -> Messages:
    if event.answers is not None:
        history.channel(event.channel).gets.pop(event.answers, None)
    return _NONE


def _given(
    history: ClassicHistory, channel: ChannelHistory, message: MessageRecord, no_ack: bool
) -> Messages:
    """The client has got a message, and settles it later unless it said that it won't."""
    if no_ack:
        message.settle("settled")
        return (message,)
    if channel.dead or message.tag is None:
        return (message,)
    done: list[MessageRecord] = []
    before = channel.deliveries.pop(message.tag, None)
    if before is not None:
        done.append(before)
    channel.ordered = channel.ordered and message.tag > channel.last_tag
    channel.last_tag = message.tag
    channel.deliveries[message.tag] = message
    if len(channel.deliveries) > history.limits.unsettled:
        done.append(channel.deliveries.pop(next(iter(channel.deliveries))))
    return done


# Settlement.


def _ack(history: ClassicHistory, event: Observed, method: Any) -> Messages:
    return _settle(history, event, method.delivery_tag, method.multiple, "accepted")


def _nack(history: ClassicHistory, event: Observed, method: Any) -> Messages:
    released = method.requeue and event.sender is Side.CLIENT
    outcome = "released" if released else "rejected"
    return _settle(history, event, method.delivery_tag, method.multiple, outcome)


def _reject(history: ClassicHistory, event: Observed, method: Any) -> Messages:
    outcome = "released" if method.requeue else "rejected"
    return _settle(history, event, method.delivery_tag, False, outcome)


def _settle(
    history: ClassicHistory, event: Observed, tag: int, multiple: bool, outcome: str
) -> Messages:
    number = event.channel
    channel = history.channels.get(number) or history.channel(number)
    client = event.sender is Side.CLIENT
    if not client and channel.mode == UNKNOWN:
        # So the channel confirms, but nobody knows from which publish on it counts.
        channel.mode = CONFIRM
        channel.sure = False
        done = list(channel.held.values())
        channel.held = {}
        return done
    waiting = channel.deliveries if client else channel.publishes
    messages: list[MessageRecord] = []
    if multiple:
        for each, message in waiting.items():
            if tag and each > tag:
                if not client or channel.ordered:
                    break
                continue
            messages.append(message)
    elif tag in waiting:
        messages.append(waiting[tag])
    for message in messages:
        assert message.tag is not None
        del waiting[message.tag]
    if client and channel.mode == TRANSACTED:
        channel.transaction.settled += [(message, outcome, None) for message in messages]
        return _NONE
    for message in messages:
        if not client:
            forget_return(channel, message)
        message.settle(outcome, event)
    return messages


def _recover(history: ClassicHistory, event: Observed, method: Any) -> Messages:
    """All unsettled deliveries are given back: at once where there's no reply, else when it comes."""
    if event.event == "basic.recover" and history.version is not AMQP_0_8:
        return _NONE
    channel = history.channel(event.channel)
    done = list(channel.deliveries.values())
    channel.deliveries = {}
    for message in done:
        message.settle("released", event)
    return done


# 0-8's file class: content is staged first, then published or delivered by its identifier.


def _file_open(history: ClassicHistory, event: Observed, method: Any) -> Messages:
    channel = history.channel(event.channel)
    channel.staging[event.sender is Side.CLIENT] = method.identifier
    return _NONE


def _file_stage(history: ClassicHistory, event: Observed, method: Any) -> Messages:
    channel = history.channel(event.channel)
    client = event.sender is Side.CLIENT
    channel.staged[client, channel.staging.get(client, "")] = event
    if len(channel.staged) > history.limits.calls:
        del channel.staged[next(iter(channel.staged))]
    return _NONE


def _file_publish(history: ClassicHistory, event: Observed, method: Any) -> Messages:
    message = MessageRecord(
        event, history.version, "publish", exchange=method.exchange, routing_key=method.routing_key
    )
    _take_staged(history.channel(event.channel), message, True, method.identifier)
    message.settle("settled")
    return (message,)


def _file_deliver(history: ClassicHistory, event: Observed, method: Any) -> Messages:
    channel = history.channel(event.channel)
    queue, no_ack = channel.consumers.get(method.consumer_tag) or (None, False)
    message = MessageRecord(
        event,
        history.version,
        "deliver",
        exchange=method.exchange,
        routing_key=method.routing_key,
        tag=method.delivery_tag,
        redelivered=method.redelivered,
        queue=queue,
        consumer_tag=method.consumer_tag,
    )
    _take_staged(channel, message, False, method.identifier)
    return _given(history, channel, message, no_ack)


def _take_staged(
    channel: ChannelHistory, message: MessageRecord, client: bool, identifier: str
) -> None:
    staged = channel.staged.pop((client, identifier), None)
    if staged is not None:
        message.properties = staged.properties
        message.body_size = staged.body_size
        message.body_sha256 = staged.body_sha256


MESSAGE_HANDLERS: Final[dict[str, Callable[[ClassicHistory, Observed, Any], Messages]]] = {
    "confirm.select": _confirm_select,
    "tx.select": _tx_select,
    "tx.commit": _tx_end,
    "tx.rollback": _tx_end,
    "tx.commit-ok": _tx_end_ok,
    "tx.rollback-ok": _tx_end_ok,
    "basic.publish": _publish,
    "basic.return": _return,
    "basic.consume": _consume,
    "basic.consume-ok": _consume_ok,
    "basic.cancel": _cancelled,
    "basic.cancel-ok": _cancelled,
    "basic.deliver": _deliver,
    "basic.get": _get,
    "basic.get-ok": _get_ok,
    "basic.get-empty": _get_empty,
    "basic.ack": _ack,
    "basic.nack": _nack,
    "basic.reject": _reject,
    "basic.recover": _recover,
    "basic.recover-ok": _recover,
    "basic.recover-async": _recover,
    "basic.recover-sync-ok": _recover,
    "stream.publish": _stream_publish,
    "stream.consume": _consume,
    "stream.consume-ok": _consume_ok,
    "stream.cancel-ok": _cancelled,
    "stream.deliver": _deliver,
    "stream.return": _return,
    "file.open": _file_open,
    "file.stage": _file_stage,
    "file.publish": _file_publish,
    "file.consume": _consume,
    "file.consume-ok": _consume_ok,
    "file.cancel-ok": _cancelled,
    "file.deliver": _file_deliver,
    "file.return": _return,
    "file.ack": _ack,
    "file.reject": _reject,
}
"""What a unit means to messages, by its name."""
