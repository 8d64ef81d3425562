"""Subscriptions, the deliveries to them within their credit, and client commands about received messages (class 4)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final

from ....amqp_0_10.codec.message import Message
from ....amqp_0_10.codec.records import Acquired, MessageResumeResult
from ....amqp_0_10.codec.sequence_set import SequenceSet
from ....amqp_0_10.model.execution import NOT_FOUND, RESOURCE_DELETED, ExecutionError
from ....errors import EndpointClosed, LimitExceeded, LocalProtocolError
from ...model.commands import Acquire, Cancel, Grant, Outcome, Settle, SetWindow, Subscribe
from ...model.consumer import Window
from ...model.content import FRAMES_OCTETS
from ...model.faults import Postponed
from ...model.options import NO_LOCAL
from . import staging
from .content_classes import MESSAGES, TransferMeasure
from .publishing import current_work, known_work
from .sessions import Answer, Subscription

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
    from ....amqp_0_10.endpoint.events import CommandReceived
    from ....amqp_0_10.model.open_ids import OpenIds
    from ...model.consumer import Consumer
    from ...model.effects import Cancelled
    from ...model.entry import Entry
    from .sessions import Result, ServedSession, SessionFrontend

_PRIORITY: Final = "x-priority"


def subscribe(front: SessionFrontend, session: ServedSession, command: MessageSubscribe, event: object) -> Result:
    """`message.subscribe`: initially without credit. Raises Fault."""
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
    # Only an acquiring consumer may discard messages by acquiring them.
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


def cancel(front: SessionFrontend, session: ServedSession, command: MessageCancel, event: object) -> Result:
    """`message.cancel`: transferred messages stay with the session."""
    found = session.remove("message", command.destination or "")
    if found is not None:
        front.hub.apply(Cancel(found.consumer))
    return None


def flush(front: SessionFrontend, session: ServedSession, command: MessageFlush, event: CommandReceived) -> Result:
    """`message.flush`: complete once everything possible has been sent, unless the client has much to read first."""
    destination = command.destination or ""
    if is_drained(session, destination):
        return None
    session.flushing[event.command_id] = destination
    return Answer.LATER


def accept(front: SessionFrontend, session: ServedSession, command: MessageAccept, event: object) -> Result:
    """`message.accept`; in a transaction it takes effect at the commit."""
    _forget_seen(session, command.transfers)
    entries = _taken_out(session, command.transfers)
    work = current_work(front, session) if entries else None
    if work is None:
        _settle(front, session, entries.values(), Outcome.ACCEPT)
    else:
        work.accept(session, entries)
        front.hub.apply(Settle(session.owner, tuple(entries.values()), Outcome.ACCEPT, transaction=work.transaction))
    return None


def reject(front: SessionFrontend, session: ServedSession, command: MessageReject, event: object) -> Result:
    """`message.reject`: to the queue's alternate exchange, if there is one; messages not acquired are unaffected."""
    _settle(front, session, _taken_out(session, command.transfers).values(), Outcome.REJECT)
    _defer(front, session, command.transfers, Outcome.REJECT)
    return None


def release(front: SessionFrontend, session: ServedSession, command: MessageRelease, event: object) -> Result:
    """`message.release`: return messages to their places."""
    _forget_seen(session, command.transfers)
    entries = _taken_out(session, command.transfers)
    redelivered = bool(command.set_redelivered)
    _settle(front, session, entries.values(), Outcome.RELEASE, redelivered=redelivered)
    _defer(front, session, command.transfers, Outcome.RELEASE, redelivered=redelivered)
    return None


def acquire(front: SessionFrontend, session: ServedSession, command: MessageAcquire, event: object) -> Result:
    """`message.acquire`: acquire those still available."""
    if session.acquiring is None:
        wanted: dict[Entry, int] = {}
        for number in _named(session.seen, command.transfers):
            wanted.setdefault(session.seen[number], number)
        session.acquiring = [*wanted.items()][::-1], []
    wait, numbers = session.acquiring
    ledger = front.ledger
    while wait:
        if ledger.room <= 0 and ledger.is_spent:
            raise Postponed
        piece = dict([wait.pop() for _ in range(min(len(wait), max(1, ledger.room)))])
        found: tuple[Entry, ...] = front.hub.apply(Acquire(session.owner, tuple(piece)))
        taken = [piece[entry] for entry in found]
        session.delivered.put_back({number: session.seen.pop(number) for number in taken})
        numbers += taken
    session.acquiring = None
    return Acquired(SequenceSet.of(*numbers))


def resume(front: SessionFrontend, session: ServedSession, command: MessageResume, event: object) -> Result:
    """`message.resume`: partially received messages aren't kept. Raises ExecutionError."""
    destination = command.destination or ""
    if destination not in session.owner.vhost.exchanges:
        raise ExecutionError(
            NOT_FOUND, f"message.resume: there is no exchange {destination!r}", rule="0-10/message.resume/destination"
        )
    return MessageResumeResult(0)


def _named(books: OpenIds[Entry], ids: SequenceSet | None) -> list[int]:
    """Return the ids of a set that are in `books`."""
    return books.named(ids) if ids else []


def _taken_out(session: ServedSession, ids: SequenceSet | None) -> dict[int, Entry]:
    return {number: session.delivered.pop(number) for number in _named(session.delivered, ids)}


def _forget_seen(session: ServedSession, ids: SequenceSet | None) -> None:
    for number in _named(session.seen, ids):
        del session.seen[number]


def _defer(
    front: SessionFrontend,
    session: ServedSession,
    ids: SequenceSet | None,
    outcome: Outcome,
    *,
    redelivered: bool = False,
) -> None:
    """Keep the settlement of what the transaction has accepted for its rollback."""
    work = known_work(front, session) if ids else None
    if work is not None and ids:
        work.defer(session, ids, outcome, redelivered=redelivered)


def _settle(
    front: SessionFrontend,
    session: ServedSession,
    entries: Iterable[Entry],
    outcome: Outcome,
    *,
    redelivered: bool = False,
) -> None:
    kept = tuple(entries)
    if kept:
        front.hub.apply(Settle(session.owner, kept, outcome, redelivered=redelivered))


# Deliveries.


def deliver(front: SessionFrontend, session: ServedSession, consumer: Consumer, entry: Entry) -> None:
    """Send a message, which the session then holds unless its subscription browses.

    A message that can't be sent now returns as if it had never been delivered, and the session gets no more until its
    client completes something.
    """
    subscription = session.users.get(consumer.number)
    if subscription is None:
        # The subscription has ended meanwhile.
        _put_back(front, consumer, entry)
        return
    if not subscription.keeps_local and session.is_local(entry.message.publisher):
        front.hub.apply(Settle(session.owner, (entry,), Outcome.ACCEPT))
        credit_changed(front, session, subscription.name)
        return
    try:
        if subscription.kind == "message":
            _transfer(front, session, subscription, entry)
        else:
            staging.deliver(front, session, subscription, entry)
    except (EndpointClosed, LimitExceeded, LocalProtocolError):
        front.hub.apply(SetWindow(session.gate, 0))
        front.full[session.owner.number] = session
        _put_back(front, consumer, entry)
        # The client doesn't have to read it.
        front.hub.apply(Grant(front.gate, octets=entry.message.octets + FRAMES_OCTETS))
        ask(session)


def ask(session: ServedSession) -> None:
    """Ask the client for its completions, which make room again."""
    core = session.core
    if core is None:
        return
    try:
        core.flush(completed=True)
    except (EndpointClosed, LimitExceeded):
        # The session is detached, or its client has much to read: the next command asks again.
        return


def credit_changed(front: SessionFrontend, session: ServedSession, destination: str) -> None:
    """Set the model's window to the engine's credit."""
    subscription = session.subscriptions.get(("message", destination))
    if subscription is not None and session.core is not None:
        messages, octets = session.core.credit(destination)
        front.hub.apply(SetWindow(subscription.window, messages, octets))


def reopen(front: SessionFrontend, session: ServedSession) -> None:
    """Continue deliveries."""
    front.full.pop(session.owner.number, None)
    core = session.core
    if core is None or not core.is_attached:
        return
    for kind, name in session.subscriptions:
        if kind == "message":
            credit_changed(front, session, name)
    front.hub.apply(SetWindow(session.gate, None))


def is_drained(session: ServedSession, destination: str) -> bool:
    """Whether a subscription received everything that its queue has for it now, or that its credit allows."""
    subscription = session.subscriptions.get(("message", destination))
    if subscription is None:
        return True
    consumer = subscription.consumer
    if not consumer.queue.ready or not _has_room(subscription.window):
        return True
    # With every window open, it has received all it can.
    return all([_has_room(each) for each in consumer.windows])


def end_flushes(front: SessionFrontend, session: ServedSession) -> None:
    """Complete the message.flush commands that waited for the client to read."""
    for number, destination in list(session.flushing.items()):
        if session.is_over or session.core is None:
            return
        if is_drained(session, destination):
            del session.flushing[number]
            front.complete(session, number)
            credit_changed(front, session, destination)


def cancelled(front: SessionFrontend, session: ServedSession, effect: Cancelled) -> None:
    """End a session whose subscription has lost its queue (message.subscribe, queue-deleted)."""
    subscription = session.users.get(effect.consumer.number)
    if subscription is None:
        return
    if subscription.kind == "message":
        queue_gone(front, session, f"queue {effect.consumer.queue.name!r}: {effect.reason}")
    else:
        session.remove(subscription.kind, subscription.name)


def queue_gone(front: SessionFrontend, session: ServedSession, text: str) -> None:
    """End a session because the queue of a subscription is gone."""
    error = ExecutionError(
        RESOURCE_DELETED,
        f"message.subscribe: a subscribed queue was deleted ({text}); attach a new session",
        rule="0-10/message.subscribe/queue-deleted",
    )
    front.fail(session, error)


def _transfer(front: SessionFrontend, session: ServedSession, subscription: Subscription, entry: Entry) -> None:
    core = session.core
    assert core is not None
    message = entry.message
    measure = subscription.measure
    headers = measure.headers(message, entry.redelivered)
    content = measure.content(message)
    body = content.body
    accept_mode, acquire_mode = subscription.accept_mode, subscription.acquire_mode
    sent = core.transfer(
        subscription.name,
        Message(body, headers=headers, has_body=content.has_body),
        accept_mode=accept_mode,
        acquire_mode=acquire_mode,
        # A sent message is kept for replay until completed; request that for each large one.
        sync=len(headers.raw) + len(body) > front.large,
    )
    if acquire_mode:
        if not accept_mode:
            session.see(sent.command_id, entry)
    elif accept_mode:
        front.hub.apply(Settle(session.owner, (entry,), Outcome.ACCEPT))
    else:
        session.delivered[sent.command_id] = entry


def _has_room(window: Window) -> bool:
    return (window.messages is None or window.messages > 0) and (window.octets is None or window.octets > 0)


def _put_back(front: SessionFrontend, consumer: Consumer, entry: Entry) -> None:
    if not consumer.acquires:
        consumer.queue.show_again(consumer, entry)
    elif entry.owner is consumer.owner:
        front.hub.apply(Settle(consumer.owner, (entry,), Outcome.RELEASE))
