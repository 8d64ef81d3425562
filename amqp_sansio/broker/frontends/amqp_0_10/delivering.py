"""Deliveries: messages to subscriptions, as far as their credit goes (class 4)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ....amqp_0_10.codec.message import Message
from ....amqp_0_10.model.execution import RESOURCE_DELETED, ExecutionError
from ....errors import EndpointClosed, LimitExceeded, LocalProtocolError
from ...model.commands import Grant, Outcome, Settle, SetWindow
from ...model.entry import FRAMES_OCTETS
from . import staging

if TYPE_CHECKING:
    from ...model.consumer import Consumer, Window
    from ...model.effects import Cancelled
    from ...model.entry import Entry
    from .frontend import ZeroTenFrontend
    from .sessions import ServedSession, Subscription


def deliver(front: ZeroTenFrontend, session: ServedSession, consumer: Consumer, entry: Entry) -> None:
    """Send a message, which the session has unless its subscription browses.

    What can't be sent now goes back as if it had never been delivered, and the session gets no more before its client
    has completed something.
    """
    subscription = session.users.get(consumer.number)
    if subscription is None:
        # It has ended meanwhile.
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
        # It isn't among what the client has to read.
        front.hub.apply(Grant(front.gate, octets=entry.message.octets + FRAMES_OCTETS))
        ask(session)


def ask(session: ServedSession) -> None:
    """Have the client say what it has completed, so that there's room again."""
    core = session.core
    if core is None:
        return
    try:
        core.flush(completed=True)
    except (EndpointClosed, LimitExceeded):
        # Nobody is there to say so, or has yet to read a lot: the next command asks again.
        return


def credit_changed(front: ZeroTenFrontend, session: ServedSession, destination: str) -> None:
    """The model is to send as much as the engine may."""
    subscription = session.subscriptions.get(("message", destination))
    if subscription is not None and session.core is not None:
        messages, octets = session.core.credit(destination)
        front.hub.apply(SetWindow(subscription.window, messages, octets))


def reopen(front: ZeroTenFrontend, session: ServedSession) -> None:
    """Deliveries may go on."""
    front.full.pop(session.owner.number, None)
    core = session.core
    if core is None or not core.is_attached:
        return
    for kind, name in session.subscriptions:
        if kind == "message":
            credit_changed(front, session, name)
    front.hub.apply(SetWindow(session.gate, None))


def is_drained(session: ServedSession, destination: str) -> bool:
    """Whether a subscription got all that its queue has for it now, or all that it has credit for."""
    subscription = session.subscriptions.get(("message", destination))
    if subscription is None:
        return True
    consumer = subscription.consumer
    if not consumer.queue.ready or not _has_room(subscription.window):
        return True
    # What it gets with every gate open, it has got.
    return all([_has_room(each) for each in consumer.windows])


def end_flushes(front: ZeroTenFrontend, session: ServedSession) -> None:
    """Complete the message.flush commands that waited for the client to read."""
    for number, destination in list(session.flushing.items()):
        if session.is_over or session.core is None:
            return
        if is_drained(session, destination):
            del session.flushing[number]
            front.complete(session, number)
            credit_changed(front, session, destination)


def cancelled(front: ZeroTenFrontend, session: ServedSession, effect: Cancelled) -> None:
    """A consumer's queue is gone: a subscribing session is over (message.subscribe, queue-deleted)."""
    subscription = session.users.get(effect.consumer.number)
    if subscription is None:
        return
    if subscription.kind == "message":
        queue_gone(front, session, f"queue {effect.consumer.queue.name!r}: {effect.reason}")
    else:
        session.remove(subscription.kind, subscription.name)


def queue_gone(front: ZeroTenFrontend, session: ServedSession, text: str) -> None:
    """End a session one of whose subscriptions has lost its queue."""
    error = ExecutionError(
        RESOURCE_DELETED,
        f"message.subscribe: a subscribed queue was deleted ({text}); attach a new session",
        rule="0-10/message.subscribe/queue-deleted",
    )
    front.fail(session, error)


def _transfer(front: ZeroTenFrontend, session: ServedSession, subscription: Subscription, entry: Entry) -> None:
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
        # It's kept for a replay until it is known to be completed: of large ones that is to be told one by one.
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


def _put_back(front: ZeroTenFrontend, consumer: Consumer, entry: Entry) -> None:
    if not consumer.acquires:
        # It's shown again.
        cursors = consumer.cursors
        cursors[entry.priority] = min(cursors[entry.priority], entry.position - 1)
    elif entry.owner is consumer.owner:
        front.hub.apply(Settle(consumer.owner, (entry,), Outcome.RELEASE))
