"""What units mean to the messages of 0-10's file and stream classes (classes 9 and 10).

A file is staged first, or while the command that publishes or delivers it is on its way: both name it by an identifier.
The client settles it by its delivery tag. Nothing settles what a stream delivers.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from ..._core.outcomes import MessageRecord
from ...endpoint import Side
from .history_messages import hold_publish
from .history_state import NONE, SessionHistory, put
from .history_transactions import bound_branches

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..._core.observation import Observed
    ZeroTenHistory = Any

    Messages = Sequence[MessageRecord]


# Staging.


def _open(history: ZeroTenHistory, event: Observed, command: Any) -> Messages:
    staging = history.session(event.channel).staging
    key = (event.sender is Side.CLIENT, command.identifier or "")
    staging.opened[event.seq] = key
    _bound(staging.opened, history.limits.calls)
    # What waits for such a content now was named before, and isn't what comes.
    staging.wanted.pop(key, None)
    return NONE


def _open_ok(history: ZeroTenHistory, event: Observed, command: Any) -> Messages:
    opened = history.session(event.channel).staging.opened
    key = opened.pop(event.answers, None) if event.answers is not None else None
    if key is not None:
        opened[event.seq] = key
    return NONE


def _stage(history: ZeroTenHistory, event: Observed, command: Any) -> Messages:
    books = history.session(event.channel)
    staging = books.staging
    key = staging.opened.pop(event.answers, None) if event.answers is not None else None
    if key is None:
        return NONE
    content = (event.properties, event.body_size, event.body_sha256)
    number = staging.wanted.pop(key, None)
    if number is None:
        staging.staged.pop(key, None)
        staging.staged[key] = content
        _bound(staging.staged, history.limits.calls)
        return NONE
    places = books.published() if key[0] else [books.files, books.given]
    for waiting in places:
        message = waiting.get(number)
        if message is not None:
            message.properties, message.body_size, message.body_sha256 = content
            break
    return NONE


def _take_staged(
    history: ZeroTenHistory,
    books: SessionHistory,
    message: MessageRecord,
    command: Any,
    number: int | None,
) -> bool:
    """Give a message the staged content that it names, and say so; else `number` waits for it."""
    key = (message.sender is Side.CLIENT, command.identifier or "")
    content = books.staging.staged.pop(key, None)
    if content is not None:
        message.properties, message.body_size, message.body_sha256 = content
        return True
    if number is not None:
        books.staging.wanted[key] = number
        _bound(books.staging.wanted, history.limits.calls)
    return False


def _bound(entries: dict[Any, Any], most: int) -> None:
    if len(entries) > most:
        del entries[next(iter(entries))]


# Messages of the client.


def _file_publish(history: ZeroTenHistory, event: Observed, command: Any) -> Messages:
    books = history.session(event.channel)
    message = _published(history, event, command, books)
    staged = _take_staged(history, books, message, command, message.tag)
    done = hold_publish(history, books, message, message.tag)
    _may_return(history, books, message, staged)
    return done


def _stream_publish(history: ZeroTenHistory, event: Observed, command: Any) -> Messages:
    books = history.session(event.channel)
    message = _published(history, event, command, books)
    done = hold_publish(history, books, message, message.tag, always=True)
    _may_return(history, books, message, True)
    return done


def _published(
    history: ZeroTenHistory, event: Observed, command: Any, books: SessionHistory
) -> MessageRecord:
    return MessageRecord.known(
        event,
        history.version,
        "publish",
        exchange=command.exchange,
        routing_key=command.routing_key,
        tag=getattr(event, "command_id", None),
        mandatory=command.mandatory or command.immediate,
        link=books.label,
    )


def _return_key(message: MessageRecord, staged: bool) -> tuple[object, ...]:
    """What a return says of its message: the content too, where that was known."""
    key = (message.exchange or "", message.routing_key or "")
    return (*key, message.body_size, message.body_sha256) if staged else key


def _may_return(
    history: ZeroTenHistory, books: SessionHistory, message: MessageRecord, staged: bool
) -> None:
    """Remember a publish that asks to be returned, for as long as it's open."""
    if not message.mandatory or message.tag is None:
        return
    numbers = books.returnable.setdefault(_return_key(message, staged), deque())
    places = books.published()
    while numbers and not any([numbers[0] in waiting for waiting in places]):
        numbers.popleft()
    numbers.append(message.tag)
    _bound(books.returnable, history.limits.calls)


def _take_returned(books: SessionHistory, key: tuple[object, ...]) -> MessageRecord | None:
    """The oldest open publish that fits a return."""
    numbers = books.returnable.get(key, deque())
    places = books.published()
    while numbers:
        number = numbers.popleft()
        for waiting in places:
            if number in waiting:
                return waiting.pop(number)
    books.returnable.pop(key, None)
    return None


def _return(history: ZeroTenHistory, event: Observed, command: Any) -> Messages:
    """A message comes back: it belongs to the oldest open publish like it."""
    books = history.session(event.channel)
    returned = MessageRecord.known(
        event,
        history.version,
        "return",
        exchange=command.exchange,
        routing_key=command.routing_key,
        code=command.reply_code,
        text=command.reply_text,
        link=books.label,
    )
    returned.settle("settled")
    message = _take_returned(books, _return_key(returned, True))
    if message is None:
        message = _take_returned(books, _return_key(returned, False))
    if message is None:
        return (returned,)
    message.settle("returned", event)
    message.explain(command.reply_code, command.reply_text)
    return message, returned


# Messages of the server.


def _consume(history: ZeroTenHistory, event: Observed, command: Any) -> Messages:
    """Cancelled, a consumer stays known: messages may be on their way."""
    consumers = history.session(event.channel).consumers
    key = (command.NAME.partition(".")[0], command.consumer_tag or "")
    consumers.pop(key, None)
    consumers[key] = (command.queue, bool(getattr(command, "no_ack", True)))
    _bound(consumers, history.limits.consumers)
    return NONE


def _file_deliver(history: ZeroTenHistory, event: Observed, command: Any) -> Messages:
    books = history.session(event.channel)
    queue, no_ack = books.consumers.get(("file", command.consumer_tag or ""), (None, False))
    message = _delivered(history, event, command, books, queue)
    message.redelivered = command.redelivered
    tag = message.tag
    if no_ack:
        number: int | None = getattr(event, "command_id", None)
        _take_staged(history, books, message, command, number)
        return _give(history, books, message, number)
    _take_staged(history, books, message, command, tag)
    if tag is None:
        return (message,)
    done: list[MessageRecord] = []
    books.ordered = books.ordered and tag > books.last_tag
    books.last_tag = tag
    put(books.files, tag, message, history.limits.unsettled, done)
    return done


def _stream_deliver(history: ZeroTenHistory, event: Observed, command: Any) -> Messages:
    books = history.session(event.channel)
    queue, _ = books.consumers.get(("stream", command.consumer_tag or ""), (None, True))
    message = _delivered(history, event, command, books, queue or command.queue)
    return _give(history, books, message, getattr(event, "command_id", None))


def _delivered(
    history: ZeroTenHistory, event: Observed, command: Any, books: SessionHistory, queue: str | None
) -> MessageRecord:
    return MessageRecord.known(
        event,
        history.version,
        "deliver",
        exchange=command.exchange,
        routing_key=getattr(command, "routing_key", None),
        address=queue,
        tag=command.delivery_tag,
        queue=queue,
        consumer_tag=command.consumer_tag,
        link=books.label,
    )


def _give(
    history: ZeroTenHistory, books: SessionHistory, message: MessageRecord, number: int | None
) -> Messages:
    """A delivery that waits for nothing but its completion."""
    if number is None:
        message.settle("settled")
        return (message,)
    done: list[MessageRecord] = []
    put(books.given, number, message, history.limits.unsettled, done)
    for before in done:
        before.settle("settled")
    return done


# Settlement.


def _take(books: SessionHistory, tag: int | None, multiple: bool) -> list[MessageRecord]:
    """The open files that a tag names, with `multiple` all up to it; 0 is all (class 9, file.ack)."""
    files = books.files
    if not multiple:
        message = files.pop(tag, None) if tag is not None else None
        return [] if message is None else [message]
    found: list[int] = []
    for each in files:
        if tag and each > tag:
            if books.ordered:
                break
            continue
        found.append(each)
    return [files.pop(each) for each in found]


def _ack(history: ZeroTenHistory, event: Observed, command: Any) -> Messages:
    books = history.session(event.channel)
    if event.sender is Side.SERVER:
        return NONE
    messages = _take(books, command.delivery_tag, command.multiple)
    current = books.current
    if books.unsure:
        return messages
    if current is None:
        for message in messages:
            message.settle("accepted", event)
        return messages
    done: list[MessageRecord] = []
    for message in messages:
        put(current.acked, message.tag or 0, message, history.limits.unsettled, done)
    if not books.transacted:
        done += bound_branches(history, len(messages))
    return done


def _reject(history: ZeroTenHistory, event: Observed, command: Any) -> Messages:
    books = history.session(event.channel)
    if event.sender is Side.SERVER:
        return NONE
    messages = _take(books, command.delivery_tag, multiple=False)
    for message in messages:
        message.settle("released" if command.requeue else "rejected", event)
    return messages


CLASS_HANDLERS: Final[dict[str, Callable[[ZeroTenHistory, Observed, Any], Messages]]] = {
    "file.open": _open,
    "file.open-ok": _open_ok,
    "file.stage": _stage,
    "file.publish": _file_publish,
    "file.consume": _consume,
    "file.deliver": _file_deliver,
    "file.return": _return,
    "file.ack": _ack,
    "file.reject": _reject,
    "stream.publish": _stream_publish,
    "stream.consume": _consume,
    "stream.deliver": _stream_deliver,
    "stream.return": _return,
}
"""What a unit means to messages of these classes, by its name."""
