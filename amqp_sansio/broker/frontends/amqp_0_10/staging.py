"""The file and stream classes (9 and 10): staging, publishing, consuming, deliveries and their acks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from ....amqp_0_10.codec.message import Headers, Message
from ....amqp_0_10.codec.record import encode_headers
from ....amqp_0_10.codec.records import (
    FileConsumeOk,
    FileDeliver,
    FileOpen,
    FileOpenOk,
    FileProperties,
    FileQosOk,
    FileReturn,
    FileStage,
    StreamConsumeOk,
    StreamDeliver,
    StreamQosOk,
    StreamReturn,
)
from ....amqp_0_10.model.execution import NOT_FOUND, RESOURCE_LIMIT_EXCEEDED, ExecutionError
from ...model.commands import Cancel, Outcome, Publish, Settle, SetWindow, Subscribe
from ...model.consumer import Window
from .content_classes import FileContent, KindFilter, StreamContent, TransferMeasure
from .publishing import current_work, foresee
from .sessions import FILE_OCTETS, Answer, Subscription

if TYPE_CHECKING:
    from ....amqp_0_10.codec.records import (
        FileAck,
        FileCancel,
        FileConsume,
        FilePublish,
        FileQos,
        FileReject,
        StreamCancel,
        StreamConsume,
        StreamPublish,
        StreamQos,
    )
    from ....amqp_0_10.endpoint.events import CommandReceived
    from ...model.commands import Published
    from ...model.entry import Entry
    from .sessions import Result, ServedSession, SessionFrontend

NO_ROUTE: Final = 312
NO_CONSUMERS: Final = 313
"""Return codes of both classes."""


# Publishing.


def open_file(front: SessionFrontend, session: ServedSession, command: FileOpen, event: object) -> Result:
    """`file.open` from the client: it may stage the file from the beginning."""
    assert session.core is not None
    desk = session.desk
    most = front.hub.settings.limits.transaction_octets
    if desk.octets + (len(desk.opened) + 1) * FILE_OCTETS + (command.content_size or 0) > most:
        raise ExecutionError(
            RESOURCE_LIMIT_EXCEEDED,
            f"file.open of {command.content_size} octets: {desk.octets} are staged on this session, "
            f"BrokerLimits.transaction_octets allows {most}; publish what is staged",
        )
    desk.opened.append(command.identifier or "")
    session.core.call(FileOpenOk(0), sync=False)
    return None


def stage(front: SessionFrontend, session: ServedSession, command: FileStage, event: CommandReceived) -> Result:
    """`file.stage`: the file opened first is complete; carry out the publishes that waited for it."""
    desk = session.desk
    identifier = desk.opened.popleft()
    desk.put(identifier, FileContent(_only(event.headers), event.body))
    front.complete(session, event.command_id)
    for publish, number in desk.awaiting.pop(identifier, ()):
        _publish_file(front, session, publish, identifier)
        front.complete(session, number)
    return Answer.GIVEN


def publish_file(
    front: SessionFrontend, session: ServedSession, command: FilePublish, event: CommandReceived
) -> Result:
    """`file.publish`, which may come before its file is staged. Raises Fault, ExecutionError."""
    identifier = command.identifier or ""
    desk = session.desk
    if identifier in desk.opened:
        desk.awaiting.setdefault(identifier, []).append((command, event.command_id))
        return Answer.LATER
    _publish_file(front, session, command, identifier)
    return None


def publish_stream(
    front: SessionFrontend, session: ServedSession, command: StreamPublish, event: CommandReceived
) -> Result:
    """`stream.publish`. Raises Fault."""
    content = StreamContent(_only(event.headers), event.body)
    _publish(front, session, command, content, StreamReturn)
    return None


def _publish_file(front: SessionFrontend, session: ServedSession, command: FilePublish, identifier: str) -> None:
    content = session.desk.drop(identifier)
    if content is None:
        raise ExecutionError(NOT_FOUND, f"file.publish: no file {identifier!r} was staged; open and stage it before")
    _publish(front, session, command, content, FileReturn)


def _publish(
    front: SessionFrontend,
    session: ServedSession,
    command: FilePublish | StreamPublish,
    content: FileContent,
    giving_back: type[FileReturn | StreamReturn],
) -> None:
    """Publish, or return a message that can't be routed, or consumed at once, if that was required."""
    assert session.core is not None
    front.publishes = True
    exchange, key = command.exchange or "", command.routing_key or ""
    code = 0
    if command.mandatory or command.immediate:
        fate = foresee(session.owner, exchange, key, content, immediate=command.immediate)
        if fate == "unroutable" and command.mandatory:
            code = NO_ROUTE
        elif fate and command.immediate:
            code = NO_CONSUMERS
    if not code:
        work = current_work(front, session)
        published: Published | None = front.hub.apply(
            Publish(session.owner, exchange, key, content, transaction=None if work is None else work.transaction)
        )
        if published is None or not published.refused or not command.mandatory:
            return
        code = NO_ROUTE
    text = "no queue takes it" if code == NO_ROUTE else "nobody takes it at once"
    headers = content.header_segment
    returned = giving_back(code, f"{text} from exchange {exchange!r}"[:200], exchange, key)
    session.core.call(returned, Message(content.body, headers=headers), sync=False)


# Consuming.


def qos(front: SessionFrontend, session: ServedSession, command: FileQos, event: object) -> Result:
    """`file.qos`: the prefetch of the session, or with `global` of all sessions on the connection."""
    assert session.core is not None
    for each in list(front.attached.values()) if command.global_ else (session,):
        out = list(each.desk.unacked.values())
        count, size = command.prefetch_count or None, command.prefetch_size or None
        octets = sum([entry.message.content.size for entry in out])
        waiting = len(out) + len(each.desk.sending)
        front.hub.apply(
            SetWindow(
                each.desk.window, None if count is None else count - waiting, None if size is None else size - octets
            )
        )
    session.core.call(FileQosOk(), sync=False)
    return None


def stream_qos(front: SessionFrontend, session: ServedSession, command: StreamQos, event: object) -> Result:
    """`stream.qos`: accepted without effect (rule ignore-prefetch)."""
    assert session.core is not None
    session.core.call(StreamQosOk(), sync=False)
    return None


def consume_files(front: SessionFrontend, session: ServedSession, command: FileConsume, event: object) -> Result:
    """`file.consume`. Raises Fault."""
    window = Window() if command.no_ack else session.desk.window
    _consume(front, session, command, "file", window, FileConsumeOk, accept_mode=int(command.no_ack))
    return None


def consume_stream(front: SessionFrontend, session: ServedSession, command: StreamConsume, event: object) -> Result:
    """`stream.consume`. Raises Fault."""
    _consume(front, session, command, "stream", Window(), StreamConsumeOk, accept_mode=1)
    return None


def _consume(
    front: SessionFrontend,
    session: ServedSession,
    command: FileConsume | StreamConsume,
    kind: str,
    window: Window,
    answering: type[FileConsumeOk | StreamConsumeOk],
    *,
    accept_mode: int,
) -> None:
    assert session.core is not None
    tag = command.consumer_tag or ""
    consumer = front.hub.apply(
        Subscribe(
            session.owner,
            command.queue or "",
            # A rejected file isn't for any consumer of the session (file.reject, requeue).
            f"{kind} consumers of session {session.owner.number}",
            session.windows(window),
            exclusive=command.exclusive,
            filter=KindFilter(kind, session if command.no_local else None),
        )
    )
    session.add(Subscription(kind, tag, consumer, window, TransferMeasure(), accept_mode=accept_mode))
    if not command.nowait:
        session.core.call(answering(tag), sync=False)


def cancel_files(front: SessionFrontend, session: ServedSession, command: FileCancel, event: object) -> Result:
    """`file.cancel`."""
    return _cancel(front, session, "file", command.consumer_tag)


def cancel_stream(front: SessionFrontend, session: ServedSession, command: StreamCancel, event: object) -> Result:
    """`stream.cancel`."""
    return _cancel(front, session, "stream", command.consumer_tag)


def _cancel(front: SessionFrontend, session: ServedSession, kind: str, tag: str | None) -> Result:
    found = session.remove(kind, tag or "")
    if found is not None:
        front.hub.apply(Cancel(found.consumer))
    return None


# Deliveries.


def deliver(front: SessionFrontend, session: ServedSession, subscription: Subscription, entry: Entry) -> None:
    """Send a stream packet; ask the client to accept a file, which is staged before its delivery.

    Raises EndpointClosed, LimitExceeded, LocalProtocolError.
    """
    core = session.core
    assert core is not None
    content = entry.message.content
    assert isinstance(content, FileContent)
    if subscription.kind == "file":
        # A file staged again has the same name.
        identifier = f"{entry.message.number}-{entry.position}"
        core.call(FileOpen(identifier, content.size), sync=False)
        session.desk.sending.append((subscription, entry))
        return
    tag = session.desk.new_tag()
    command = StreamDeliver(subscription.name, tag, entry.message.exchange, entry.queue.name)
    core.call(command, Message(content.body, headers=content.header_segment), sync=False)
    front.hub.apply(Settle(session.owner, (entry,), Outcome.ACCEPT))


def take_open_ok(front: SessionFrontend, session: ServedSession, command: FileOpenOk, event: object) -> Result:
    """`file.open-ok` from the client: send the missing part of the file, and the delivery."""
    core = session.core
    assert core is not None
    subscription, entry = session.desk.sending.popleft()
    message = entry.message
    content = message.content
    assert isinstance(content, FileContent)
    tag = session.desk.new_tag()
    body = content.body[command.staged_size or 0 :]
    core.call(FileStage(), Message(body, headers=content.header_segment), sync=False)
    core.call(
        FileDeliver(
            subscription.name,
            tag,
            entry.redelivered,
            message.exchange,
            message.routing_key,
            f"{message.number}-{entry.position}",
        ),
        sync=False,
    )
    if subscription.accept_mode:
        front.hub.apply(Settle(session.owner, (entry,), Outcome.ACCEPT))
    else:
        session.desk.unacked[tag] = entry
    return None


def ack(front: SessionFrontend, session: ServedSession, command: FileAck, event: object) -> Result:
    """`file.ack`. Raises Fault."""
    unacked = session.desk.unacked
    tag = command.delivery_tag or 0
    tags = [each for each in unacked if not tag or each <= tag] if command.multiple else [tag]
    _settle(front, session, [unacked.pop(each) for each in tags], Outcome.ACCEPT)
    return None


def reject(front: SessionFrontend, session: ServedSession, command: FileReject, event: object) -> Result:
    """`file.reject`: with `requeue` to consumers of other sessions, else to dead letters. Raises Fault."""
    entry = session.desk.unacked.pop(command.delivery_tag or 0)
    if command.requeue:
        _settle(front, session, [entry], Outcome.RELEASE, delivery_failed=True, excluded=True)
    else:
        _settle(front, session, [entry], Outcome.REJECT)
    return None


def _settle(front: SessionFrontend, session: ServedSession, entries: list[Entry], outcome: Outcome, **how: Any) -> None:
    """Settle files, in the session's transaction if there is one (class 9)."""
    if not entries:
        return
    work = current_work(front, session)
    transaction = None
    if work is not None:
        transaction = work.transaction
        work.files += entries
    front.hub.apply(Settle(session.owner, tuple(entries), outcome, transaction=transaction, **how))


def _only(headers: Headers | None) -> Headers:
    """Return the properties of content, or empty ones, since every delivery needs some."""
    if headers is None or not headers.raw:
        return _NO_PROPERTIES
    return headers


_NO_PROPERTIES: Final = Headers(encode_headers((FileProperties(),)))
