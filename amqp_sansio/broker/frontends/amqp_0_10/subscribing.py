"""Subscriptions, and what clients say of messages that they got (class 4)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final

from ....amqp_0_10.codec.records import Acquired, MessageResumeResult
from ....amqp_0_10.codec.sequence_set import SequenceSet
from ....amqp_0_10.model.execution import NOT_FOUND, ExecutionError
from ...model.commands import Acquire, Cancel, Outcome, Settle, Subscribe
from ...model.consumer import Window
from ...model.options import NO_LOCAL
from .answers import Answer
from .content_classes import MESSAGES, TransferMeasure
from .delivering import is_drained
from .publishing import current_work
from .sessions import Subscription

if TYPE_CHECKING:
    from ....amqp_0_10.codec.records import (
        MessageAccept,
        MessageAcquire,
        MessageCancel,
        MessageFlush,
        MessageReject,
        MessageRelease,
        MessageResume,
        MessageSubscribe,
    )
    from ....amqp_0_10.model.events import CommandReceived
    from ...model.entry import Entry
    from .answers import Result
    from .frontend import ZeroTenFrontend
    from .sessions import ServedSession

_PRIORITY: Final = "x-priority"


def subscribe(
    front: ZeroTenFrontend, session: ServedSession, command: MessageSubscribe, event: object
) -> Result:
    """`message.subscribe`: without credit in the beginning. Raises Fault."""
    resume: dict[str, Any] = {}
    if command.resume_id is not None:
        resume["resume_id"] = command.resume_id
        if command.resume_ttl is not None:
            resume["resume_ttl"] = command.resume_ttl
    name = command.destination or ""
    measure = TransferMeasure(resume)
    window = Window(0, 0)
    arguments = command.arguments or {}
    priority = arguments.get(_PRIORITY)
    consumer = front.hub.apply(
        Subscribe(
            session.owner,
            command.queue or "",
            name,
            session.windows(window),
            acquires=not command.acquire_mode,
            exclusive=command.exclusive,
            priority=priority if isinstance(priority, int) else 0,
            filter=MESSAGES,
            measure=measure,
        )
    )
    # Acquiring and throwing away is for who acquires anyway.
    no_local = bool(consumer.queue.arguments.get(NO_LOCAL)) and consumer.acquires
    session.add(
        Subscription(
            "message",
            name,
            consumer,
            window,
            measure,
            accept_mode=command.accept_mode or 0,
            acquire_mode=command.acquire_mode or 0,
            keeps_local=not no_local,
        )
    )
    return None


def cancel(
    front: ZeroTenFrontend, session: ServedSession, command: MessageCancel, event: object
) -> Result:
    """`message.cancel`: what was transferred stays with the session."""
    found = session.remove("message", command.destination or "")
    if found is not None:
        front.hub.apply(Cancel(found.consumer))
    return None


def flush(
    front: ZeroTenFrontend, session: ServedSession, command: MessageFlush, event: CommandReceived
) -> Result:
    """`message.flush`: what could be sent has been, unless the client has a lot to read first."""
    destination = command.destination or ""
    if is_drained(session, destination):
        return None
    session.flushing[event.command_id] = destination
    return Answer.LATER


def accept(
    front: ZeroTenFrontend, session: ServedSession, command: MessageAccept, event: object
) -> Result:
    """`message.accept`; in a transaction it counts from the commit on."""
    _forget_seen(session, command.transfers)
    numbers = _named(session.delivered, command.transfers)
    work = current_work(front, session) if numbers else None
    if work is None:
        _settle(front, session, [session.delivered.pop(number) for number in numbers], Outcome.ACCEPT)
        return None
    entries: list[Entry] = []
    for number in numbers:
        entry = session.delivered[number]
        if entry.transaction is None:
            entries.append(entry)
            work.accept(session, number)
    if entries:
        front.hub.apply(
            Settle(session.owner, tuple(entries), Outcome.ACCEPT, transaction=work.transaction)
        )
    return None


def reject(
    front: ZeroTenFrontend, session: ServedSession, command: MessageReject, event: object
) -> Result:
    """`message.reject`: to the queue's alternate exchange, if it has one; what isn't acquired stays as it is."""
    _settle(front, session, _taken_out(session, command.transfers), Outcome.REJECT)
    return None


def release(
    front: ZeroTenFrontend, session: ServedSession, command: MessageRelease, event: object
) -> Result:
    """`message.release`: back to their places."""
    _forget_seen(session, command.transfers)
    entries = _taken_out(session, command.transfers)
    _settle(front, session, entries, Outcome.RELEASE, redelivered=bool(command.set_redelivered))
    return None


def acquire(
    front: ZeroTenFrontend, session: ServedSession, command: MessageAcquire, event: object
) -> Result:
    """`message.acquire`: those that were still there."""
    wanted: dict[Entry, int] = {}
    for number in _named(session.seen, command.transfers):
        wanted.setdefault(session.seen[number], number)
    found: tuple[Entry, ...] = front.hub.apply(Acquire(session.owner, tuple(wanted)))
    numbers = [wanted[entry] for entry in found]
    for number in numbers:
        session.delivered[number] = session.seen.pop(number)
    return Acquired(SequenceSet.of(*numbers))


def resume(
    front: ZeroTenFrontend, session: ServedSession, command: MessageResume, event: object
) -> Result:
    """`message.resume`: nothing is kept of messages that didn't come as a whole. Raises ExecutionError."""
    destination = command.destination or ""
    if destination not in session.owner.vhost.exchanges:
        raise ExecutionError(
            NOT_FOUND,
            f"message.resume: there is no exchange {destination!r}",
            rule="0-10/message.resume/destination",
        )
    return MessageResumeResult(0)


def _named(books: dict[int, Entry], ids: SequenceSet | None) -> list[int]:
    """The ids of a set that are in the books."""
    return ids.among(books) if ids else []


def _taken_out(session: ServedSession, ids: SequenceSet | None) -> list[Entry]:
    return [session.delivered.pop(number) for number in _named(session.delivered, ids)]


def _forget_seen(session: ServedSession, ids: SequenceSet | None) -> None:
    for number in _named(session.seen, ids):
        del session.seen[number]


def _settle(
    front: ZeroTenFrontend,
    session: ServedSession,
    entries: Iterable[Entry],
    outcome: Outcome,
    *,
    redelivered: bool = False,
) -> None:
    kept = tuple(entries)
    if kept:
        front.hub.apply(Settle(session.owner, kept, outcome, redelivered=redelivered))
