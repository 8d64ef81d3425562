"""Publishing: message.transfer from a client, the answers to unroutable ones, and holding publishers (class 4).

While the broker is full, publishers have no credit for "", which counts for every exchange (rule throttling). A session
has unlimited credit and isn't told so until it is held for the first time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal

from ....amqp_0_10.codec.choices import BYTE, CREDIT, INFINITE, MESSAGE
from ....amqp_0_10.codec.records import FragmentProperties, MessageFlow, MessageSetFlowMode, MessageStop
from ....amqp_0_10.model.execution import NOT_IMPLEMENTED, RESOURCE_LIMIT_EXCEEDED, ExecutionError
from ....errors import EndpointClosed, LimitExceeded
from ...contents.amqp_0_10 import Content_0_10
from ...model.commands import Publish
from ...model.content import Message
from .segments import stamped
from .sessions import Answer

if TYPE_CHECKING:
    from ....amqp_0_10.codec.records import MessageTransfer
    from ....amqp_0_10.endpoint.events import MessageReceived
    from ...model.commands import Published
    from ...model.content import Content
    from ...model.owner import Owner
    from ...model.queue import Queue
    from .sessions import Result, ServedSession, SessionFrontend, Work

UNSPECIFIED: Final = 0
UNROUTABLE: Final = 1
IMMEDIATE: Final = 2
"""Reject codes of message.reject."""
_LONGEST_TEXT: Final = 255
_EVERY_EXCHANGE: Final = ""
_MANY: Final = 0x7FFFFFFF
"""The highest credit for messages, used because Qpid's Java client doesn't understand unlimited credit."""

Fate = Literal["", "unroutable", "immediate"]


def transfer(
    front: SessionFrontend, session: ServedSession, command: MessageTransfer, event: MessageReceived
) -> Result:
    """`message.transfer`. Raises Fault, ExecutionError."""
    headers = event.headers
    message = headers.message_properties
    if message is not None:
        front.check_user(message.user_id)
    for struct in headers.others:
        if isinstance(struct, FragmentProperties) and not (struct.first and struct.last):
            text = "message.transfer of a fragment: messages must be sent whole, in one transfer"
            raise ExecutionError(NOT_IMPLEMENTED, text, rule="0-10/message.fragment-properties/whole")
    if event.accepts and not event.acquired:
        # Only an acquired message can be accepted, and a broker acquires by taking it.
        text = "message.transfer that isn't acquired: send it pre-acquired"
        raise ExecutionError(NOT_IMPLEMENTED, text)
    exchange = command.destination or ""
    properties = headers.delivery_properties
    key = "" if properties is None else properties.routing_key or ""
    discards = properties is not None and properties.discard_unroutable
    immediate = properties is not None and properties.immediate
    explicit = event.accepts
    hub = front.hub
    if hub.is_blocked and not session.is_held:
        hold(front, session)
    stamped_headers = stamped(headers, exchange, calendar(front), arrival=not front.is_qpid)
    content = Content_0_10(stamped_headers, event.body, event.has_body)
    owner = session.owner
    work = current_work(front, session)
    tells = explicit and not discards
    if immediate or (tells and work is not None):
        # In a transaction, route at once if the publisher must be told.
        fate = foresee(owner, exchange, key, content, immediate=immediate)
        if fate and tells:
            return _reject_unroutable(front, session, event.command_id, fate, exchange, key)
        if fate == "immediate":
            if not discards:
                # A message that counts as unroutable goes to the alternate exchange, if there is one.
                transaction = None if work is None else work.transaction
                hub.apply(Publish(owner, exchange, key, content, transaction=transaction, rerouted=True))
            return _taken(session, event.command_id, explicit)
    published: Published | None = hub.apply(
        Publish(
            owner,
            exchange,
            key,
            content,
            transaction=None if work is None else work.transaction,
            alternates=not (explicit or discards),
        )
    )
    if published is not None:
        if not published.routed and tells:
            return _reject_unroutable(front, session, event.command_id, "unroutable", exchange, key)
        if published.refused:
            text = f"a queue that {exchange!r} sends {key!r} to is full"
            if not explicit:
                raise ExecutionError(RESOURCE_LIMIT_EXCEEDED, f"message.transfer: {text}; publish less, or consume")
            return reject(front, session, event.command_id, UNSPECIFIED, text)
    return _taken(session, event.command_id, explicit)


def calendar(front: SessionFrontend) -> float | None:
    """Return the Unix time; None if the broker's clock isn't related to it."""
    epoch = front.hub.model.epoch
    return front.hub.now + epoch if epoch else None


def current_work(front: SessionFrontend, session: ServedSession) -> Work | None:
    """Return the transaction of the session's current work. Raises Fault LIMIT."""
    if session.work is not None:
        return session.work
    book = front.register.books.get(session.owner.vhost.name)
    return None if book is None else book.work(front.hub, session.owner.number)


def known_work(front: SessionFrontend, session: ServedSession) -> Work | None:
    """Return the transaction of the session's current work if something was done in it."""
    if session.work is not None:
        return session.work
    book = front.register.books.get(session.owner.vhost.name)
    xid = None if book is None else book.branches.current(session.owner.number)
    return None if book is None or xid is None else book.works.get(xid)


def foresee(owner: Owner, exchange: str, key: str, content: Content, *, immediate: bool) -> Fate:
    """Return the fate of a publish; "" if queues take it, or its exchange doesn't exist.

    With `immediate`, every queue must have a subscriber ready to receive it (delivery-properties.immediate).
    """
    vhost = owner.vhost
    found = vhost.exchanges.get(exchange)
    if found is None:
        return ""
    queues = vhost.route(found, key, content, alternates=False)
    if not queues:
        return "unroutable"
    if immediate:
        message = Message(content, exchange, key, 0, owner.connection)
        if not all([_is_awaited(queue, message) for queue in queues]):
            return "immediate"
    return ""


def reject(front: SessionFrontend, session: ServedSession, number: int, code: int, text: str) -> Result:
    """Reject a published message, or record that for when the session is resumed."""
    front.accept_of(session)
    core = session.core
    short = text.encode()[:_LONGEST_TEXT].decode(errors="ignore")
    if core is not None:
        try:
            core.reject(number, code=code, text=short)
        except EndpointClosed:
            session.refused[number] = code, short
    return Answer.GIVEN


def _reject_unroutable(
    front: SessionFrontend, session: ServedSession, number: int, fate: Fate, exchange: str, key: str
) -> Result:
    if fate == "immediate":
        text = f"a queue that {exchange!r} sends {key!r} to has no consumer ready for it"
        return reject(front, session, number, IMMEDIATE, text)
    return reject(front, session, number, UNROUTABLE, f"{exchange!r} sends {key!r} to no queue")


def _taken(session: ServedSession, number: int, explicit: bool) -> Result:
    if explicit:
        session.taken.append(number)
    return None


def _is_awaited(queue: Queue, message: Message) -> bool:
    """Whether a subscriber of a queue would receive a message at once."""
    return any(
        [
            each.acquires
            and (queue.active is None or queue.active is each)
            and each.has_room_for(message)
            and (each.filter is None or each.filter.accepts(message))
            and not (each.no_local and message.publisher == each.owner.connection)
            for each in queue.consumers.values()
        ]
    )


# Holding publishers.


def hold(front: SessionFrontend, session: ServedSession) -> None:
    """Take away a session's credit for publishing."""
    core = session.core
    if session.is_held or core is None or not core.is_attached:
        return
    try:
        if not session.was_held:
            # Clients that understand publishers' credit expect credit mode.
            core.call(MessageSetFlowMode(_EVERY_EXCHANGE, CREDIT), sync=False)
            session.was_held = True
        core.call(MessageStop(_EVERY_EXCHANGE))
    except (EndpointClosed, LimitExceeded):
        # Its octets stay unread instead (`Client.receive_budget`).
        return
    session.is_held = True
    front.held[session.owner.number] = session


def let_publish(front: SessionFrontend, session: ServedSession) -> None:
    """Grant credit again once the broker has room and the client has stopped."""
    core = session.core
    if front.hub.is_blocked or not session.is_held or core is None or not core.is_attached:
        return
    if core.is_stopping(_EVERY_EXCHANGE):
        return
    try:
        core.call(MessageFlow(_EVERY_EXCHANGE, BYTE, INFINITE), sync=False)
        core.call(MessageFlow(_EVERY_EXCHANGE, MESSAGE, _MANY), sync=False)
    except (EndpointClosed, LimitExceeded):
        return
    session.is_held = False
    front.held.pop(session.owner.number, None)


def resume(front: SessionFrontend, session: ServedSession) -> None:
    """Hold or release a resumed session according to the broker's state."""
    if session.is_held:
        front.held[session.owner.number] = session
        let_publish(front, session)
    elif front.hub.is_blocked:
        hold(front, session)
