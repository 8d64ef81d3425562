"""Publishing: message.transfer from a client, with what is said of one that can't be routed (class 4)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal

from ....amqp_0_10.codec.records import FragmentProperties
from ....amqp_0_10.model.execution import NOT_IMPLEMENTED, RESOURCE_LIMIT_EXCEEDED, ExecutionError
from ....errors import EndpointClosed
from ...contents.amqp_0_10 import ZeroTenContent
from ...model.commands import Publish
from ...model.entry import Message
from ...model.routing import route
from . import throttling
from .answers import Answer
from .segments import stamped

if TYPE_CHECKING:
    from ....amqp_0_10.codec.records import MessageTransfer
    from ....amqp_0_10.model.events import MessageReceived
    from ...model.commands import Published
    from ...model.content import Content
    from ...model.owner import Owner
    from ...model.queue import Queue
    from .answers import Result
    from .frontend import ZeroTenFrontend
    from .sessions import ServedSession
    from .transaction_work import Work

UNSPECIFIED: Final = 0
UNROUTABLE: Final = 1
IMMEDIATE: Final = 2
"""The codes of message.reject."""
_LONGEST_TEXT: Final = 255

Fate = Literal["", "unroutable", "immediate"]


def transfer(
    front: ZeroTenFrontend, session: ServedSession, command: MessageTransfer, event: MessageReceived
) -> Result:
    """`message.transfer`. Raises Fault, ExecutionError."""
    headers = event.headers
    message = headers.message_properties
    if message is not None:
        front.check_user(message.user_id)
    for struct in headers.others:
        if isinstance(struct, FragmentProperties) and not (struct.first and struct.last):
            text = "message.transfer of a fragment: messages are taken as a whole here, send it in one transfer"
            raise ExecutionError(NOT_IMPLEMENTED, text, rule="0-10/message.fragment-properties/whole")
    if event.accepts and not event.acquired:
        # Only what is acquired can be accepted, and a broker acquires by taking.
        text = "message.transfer that isn't acquired: nothing is acquired later here, send it pre-acquired"
        raise ExecutionError(NOT_IMPLEMENTED, text)
    exchange = command.destination or ""
    properties = headers.delivery_properties
    key = "" if properties is None else properties.routing_key or ""
    discards = properties is not None and properties.discard_unroutable
    immediate = properties is not None and properties.immediate
    explicit = event.accepts
    hub = front.hub
    if hub.is_blocked and not session.is_held:
        throttling.hold(front, session)
    content = ZeroTenContent(stamped(headers, exchange, calendar(front)), event.body, event.has_body)
    owner = session.owner
    work = current_work(front, session)
    tells = explicit and not discards
    if immediate or (tells and work is not None):
        # What a transaction publishes is routed when it comes, as far as its publisher is told.
        fate = foresee(owner, exchange, key, content, immediate=immediate)
        if fate and tells:
            return _reject_unroutable(front, session, event.command_id, fate, exchange, key)
        if fate == "immediate":
            if not discards:
                # What counts as unroutable goes to the alternate exchange, if there is one.
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


def calendar(front: ZeroTenFrontend) -> float | None:
    """Seconds since 1970; None where the broker's clock has nothing to do with the calendar."""
    epoch = front.hub.model.epoch
    return front.hub.now + epoch if epoch else None


def current_work(front: ZeroTenFrontend, session: ServedSession) -> Work | None:
    """The transaction that what a session does now belongs to. Raises Fault LIMIT."""
    if session.work is not None:
        return session.work
    book = front.register.books.get(session.owner.vhost.name)
    return None if book is None else book.work(front.hub, session.owner.number)


def foresee(owner: Owner, exchange: str, key: str, content: Content, *, immediate: bool) -> Fate:
    """What would become of a publish; "" for one that goes into queues, or to no exchange at all.

    With `immediate`, every queue has to have a subscriber able to take it (delivery-properties.immediate).
    """
    vhost = owner.vhost
    found = vhost.exchanges.get(exchange)
    if found is None:
        return ""
    queues = route(vhost, found, key, content, alternates=False)
    if not queues:
        return "unroutable"
    if immediate:
        message = Message(content, exchange, key, 0, owner.connection)
        if not all([_is_awaited(queue, message) for queue in queues]):
            return "immediate"
    return ""


def reject(
    front: ZeroTenFrontend, session: ServedSession, number: int, code: int, text: str
) -> Result:
    """Refuse a message that was published; who can't be told any more is when the session goes on."""
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
    front: ZeroTenFrontend, session: ServedSession, number: int, fate: Fate, exchange: str, key: str
) -> Result:
    if fate == "immediate":
        text = f"a queue that {exchange!r} sends {key!r} to has nobody who takes it at once"
        return reject(front, session, number, IMMEDIATE, text)
    return reject(front, session, number, UNROUTABLE, f"{exchange!r} sends {key!r} to no queue")


def _taken(session: ServedSession, number: int, explicit: bool) -> Result:
    if not explicit:
        return None
    session.taken.append(number)
    return Answer.GIVEN


def _is_awaited(queue: Queue, message: Message) -> bool:
    """Whether a subscriber of a queue would get a message at once."""
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
