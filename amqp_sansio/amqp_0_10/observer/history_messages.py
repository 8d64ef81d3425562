"""What units mean to the messages of a session of 0-10: transfers, and what settles them (part 1 sections 3 and 10).

Commands of the file and stream classes are completed, and fail, as those of the message class do.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from ..._core.outcomes import MessageRecord
from ...endpoint import Side
from ...errors import CodecError
from ..model.open_ids import covered
from .history_state import NONE, SessionHistory, put
from .history_transactions import bound_branches, end_transaction

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..._core.observation import Observed
    ZeroTenHistory = Any

    Messages = Sequence[MessageRecord]

_ACCEPT_NONE: Final = 1


def _transfer(history: ZeroTenHistory, event: Observed, command: Any) -> Messages:
    books = history.session(event.channel)
    if event.sender is Side.CLIENT:
        return _publish(history, event, command, books)
    return _deliver(history, event, command, books)


def _publish(
    history: ZeroTenHistory, event: Observed, command: Any, books: SessionHistory
) -> Messages:
    number: int | None = getattr(event, "command_id", None)
    label = books.label

    def fill(message: MessageRecord, event: Observed, command: Any) -> None:
        key = getattr(_delivery_properties(event), "routing_key", None)
        message.fill(
            "publish", exchange=command.destination, routing_key=key, tag=number, link=label
        )

    return hold_publish(history, books, MessageRecord(event, history.version, fill), number)


def hold_publish(
    history: ZeroTenHistory,
    books: SessionHistory,
    message: MessageRecord,
    number: int | None,
    *,
    always: bool = False,
) -> Messages:
    """A message of the client waits for its completion, or, unless `always`, for the end of its transaction."""
    current = None if always else books.current
    if number is None or (books.unsure and not always):
        return (message,)
    done: list[MessageRecord] = []
    waiting = books.publishes if current is None else current.published
    put(waiting, number, message, history.limits.unconfirmed, done)
    if current is not None and not books.transacted:
        done += bound_branches(history, 1)
    return done


def _deliver(
    history: ZeroTenHistory, event: Observed, command: Any, books: SessionHistory
) -> Messages:
    number: int | None = getattr(event, "command_id", None)
    destination = command.destination
    queue, mode = books.subscriptions.get(destination or "", (None, 0))
    if command.accept_mode is not None:
        mode = command.accept_mode
    label = books.label

    def fill(message: MessageRecord, event: Observed, command: Any) -> None:
        delivery = _delivery_properties(event)
        message.fill(
            "deliver",
            exchange=getattr(delivery, "exchange", None),
            routing_key=getattr(delivery, "routing_key", None),
            address=queue,
            tag=number,
            redelivered=bool(getattr(delivery, "redelivered", False)),
            queue=queue,
            consumer_tag=destination,
            link=label,
        )

    message = MessageRecord(event, history.version, fill)
    if number is None:
        if mode == _ACCEPT_NONE:
            message.settle("settled")
        return (message,)
    done: list[MessageRecord] = []
    waiting = books.given if mode == _ACCEPT_NONE else books.deliveries
    put(waiting, number, message, history.limits.unsettled, done)
    return done


def _delivery_properties(event: Observed) -> Any:
    """The struct of that name; None without one, or when the header segment can't be read."""
    try:
        return getattr(event.properties, "delivery_properties", None)
    except CodecError:
        return None


def _subscribe(history: ZeroTenHistory, event: Observed, command: Any) -> Messages:
    subscriptions = history.session(event.channel).subscriptions
    subscriptions[command.destination or ""] = (command.queue, command.accept_mode or 0)
    if len(subscriptions) > history.limits.consumers:
        del subscriptions[next(iter(subscriptions))]
    return NONE


def _unsubscribe(history: ZeroTenHistory, event: Observed, command: Any) -> Messages:
    history.session(event.channel).subscriptions.pop(command.destination or "", None)
    return NONE


# Settlement.


def _take(
    history: ZeroTenHistory, event: Observed, command: Any
) -> list[tuple[int, MessageRecord]]:
    """The open messages of the other side that a command names; they aren't open any more."""
    books = history.session(event.channel)
    taken: list[tuple[int, MessageRecord]] = []
    if command.transfers:
        client = event.sender is Side.CLIENT
        for waiting in [books.deliveries] if client else books.published():
            found = covered(waiting, command.transfers)
            taken += [(number, waiting.pop(number)) for number in found]
    return taken


def _accept(history: ZeroTenHistory, event: Observed, command: Any) -> Messages:
    books = history.session(event.channel)
    if event.sender is Side.SERVER:
        # What becomes of messages in a transaction is known when it ends.
        found = covered(books.publishes, command.transfers) if command.transfers else []
        return _settled([(each, books.publishes.pop(each)) for each in found], "accepted", event)
    taken = _take(history, event, command)
    current = books.current
    if books.unsure:
        return [message for _, message in taken]
    if current is None:
        return _settled(taken, "accepted", event)
    done: list[MessageRecord] = []
    for number, message in taken:
        put(current.accepted, number, message, history.limits.unsettled, done)
    if not books.transacted:
        done += bound_branches(history, len(taken))
    return done


def _release(history: ZeroTenHistory, event: Observed, command: Any) -> Messages:
    return _settled(_take(history, event, command), "released", event)


def _reject(history: ZeroTenHistory, event: Observed, command: Any) -> Messages:
    taken = _take(history, event, command)
    for _, message in taken:
        message.explain(command.code, command.text)
    return _settled(taken, "rejected", event)


def _settled(taken: list[tuple[int, MessageRecord]], outcome: str, event: Observed) -> Messages:
    for _, message in taken:
        message.settle(outcome, event)
    return [message for _, message in taken]


def _exception(history: ZeroTenHistory, event: Observed, command: Any) -> Messages:
    """A command has failed: when it's a message's, that's its end (part 1 section 3.4.1.3)."""
    books = history.session(event.channel)
    if event.sender is Side.CLIENT or command.command_id is None:
        return NONE
    for waiting in books.published():
        message = waiting.pop(command.command_id, None)
        if message is not None:
            message.explain(command.error_code, command.description)
            message.settle("rejected", event)
            return (message,)
    return NONE


def _completed(history: ZeroTenHistory, event: Observed, control: Any) -> Messages:
    """The commands of the other side that are done (part 1 section 3.2.3)."""
    books = history.session(event.channel)
    commands = control.commands
    if not commands:
        return NONE
    done: list[MessageRecord] = []
    if event.sender is Side.CLIENT:
        for number in covered(books.given, commands):
            message = books.given.pop(number)
            message.settle("settled", event)
            done.append(message)
        return done
    for number in covered(books.publishes, commands):
        message = books.publishes.pop(number)
        message.settle("accepted", event)
        done.append(message)
    for number in covered(books.ending, commands):
        committed, transaction = books.ending.pop(number)
        done += end_transaction(books, transaction, committed, event)
    return done


MESSAGE_HANDLERS: Final[dict[str, Callable[[ZeroTenHistory, Observed, Any], Messages]]] = {
    "message.transfer": _transfer,
    "message.subscribe": _subscribe,
    "message.cancel": _unsubscribe,
    "message.accept": _accept,
    "message.release": _release,
    "message.reject": _reject,
    "execution.exception": _exception,
    "session.completed": _completed,
}
"""What a unit means to messages, by its name."""
