"""The file class of 0-8: messages that are staged before they are published or delivered; and its stream class.

A client opens a file, learns how much of it is here already, sends the rest, and publishes it by its identifier. The
broker does the same towards a consumer, one file after the other, in the order of the
queue. Messages of a stream are delivered once and never acknowledged.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

from ...._classic.endpoint.events import Message
from ...contents.classic import ClassicContent
from ...model.commands import Outcome, Settle
from ...model.states import State
from . import basic, publishing
from .channel import FILE, STREAM, Files
from .contents import class_content
from .errors import NOT_FOUND, RESOURCE_ERROR, Refusal

if TYPE_CHECKING:
    from ....events import Pending
    from ...model.entry import Entry
    from .channel import ChannelFrontend, ClassicChannel, ClassicConsumer

_STAGED: Final = 64
"""Most files that a channel may stage without publishing them; the oldest are dropped."""
_STAGED_OCTETS: Final = 256 * 1024 * 1024


def deliver(front: ChannelFrontend, consumer: ClassicConsumer, entry: Entry) -> None:
    """Stage a file at a consumer, after those in progress, and then deliver it."""
    files = _files_of(consumer.channel)
    files.names += 1
    files.leaving.append((consumer, entry, f"{consumer.channel.owner.number}-{files.names}"))
    if files.call is None:
        _stage_next(front, consumer.channel, files)


def replied(front: ChannelFrontend, channel: ClassicChannel, pending: Pending[Any]) -> None:
    """Handle a client's reply: it takes a file, or has sent one. Raises Refusal."""
    files = channel.files
    if files is None:
        return
    identifier = files.arriving.pop(pending, None)
    if identifier is not None:
        _keep(files, identifier, pending.result)
    elif pending == files.call:
        _staging(front, channel, files, pending.result.staged_size)


def _stage_next(front: ChannelFrontend, channel: ClassicChannel, files: Files) -> None:
    """Ask the client to take the next file."""
    files.call = None
    if files.leaving:
        _, entry, identifier = files.leaving[0]
        opening = front.named["file.open"](identifier, entry.message.content.size)
        files.call = channel.engine.call(opening)


def _staging(front: ChannelFrontend, channel: ClassicChannel, files: Files, staged_size: int) -> None:
    """Send a file from the offset that the client names, and then its delivery."""
    consumer, entry, identifier = files.leaving.popleft()
    content: Any = entry.message.content
    engine = channel.engine
    engine.reply(front.named["file.stage"](), content.own(front.dialect), content.body[staged_size:])
    if channel.own_consumers.get(consumer.tag) is consumer:
        tag = engine.last_tag + 1
        message = entry.message
        engine.send(
            front.named["file.deliver"](
                consumer.tag, tag, entry.redelivered, message.exchange, message.routing_key, identifier
            )
        )
        if not consumer.settles:
            channel.entries[tag] = entry
        elif entry.state is State.ACQUIRED:
            front.hub.apply(Settle(channel.owner, (entry,), Outcome.ACCEPT))
    elif entry.state is State.ACQUIRED:
        # The consumer was cancelled while its file was being sent.
        front.hub.apply(Settle(channel.owner, (entry,), Outcome.RELEASE))
    _stage_next(front, channel, files)


def _keep(files: Files, identifier: str, message: Message[Any]) -> None:
    """Store a staged file."""
    old = files.staged.pop(identifier, None)
    if old is not None:
        files.octets -= len(old[1])
    files.staged[identifier] = message.properties, message.body
    files.octets += len(message.body)
    while len(files.staged) > _STAGED or files.octets > _STAGED_OCTETS:
        oldest = next(iter(files.staged))
        files.octets -= len(files.staged.pop(oldest)[1])


def _files_of(channel: ClassicChannel) -> Files:
    if channel.files is None:
        channel.files = Files()
    return channel.files


def _open(front: ChannelFrontend, channel: ClassicChannel, method: Any) -> None:
    """file.open: incomplete files aren't kept, so all of it must be sent."""
    limit = front.connection.config.limits.message
    if method.content_size > limit:
        text = f"a file of {method.content_size} octets, Limits.message allows {limit}"
        raise Refusal(RESOURCE_ERROR, text)
    files = _files_of(channel)
    pending = channel.engine.call(front.named["file.open-ok"](0))
    files.arriving[pending] = method.identifier


def _publish(front: ChannelFrontend, channel: ClassicChannel, method: Any) -> None:
    files = _files_of(channel)
    found = files.staged.pop(method.identifier, None)
    if found is None:
        raise Refusal(NOT_FOUND, f"no file '{method.identifier}' is staged on channel {channel.number}")
    properties, body = found
    files.octets -= len(body)
    content: ClassicContent = class_content(front.version, properties, front.tables, body)
    publishing.publish_class(front, channel, method, content, properties)


def _consume(front: ChannelFrontend, channel: ClassicChannel, method: Any) -> Any:
    return basic.consume(front, channel, method, FILE)


# The stream class.


def send(front: ChannelFrontend, consumer: ClassicConsumer, entry: Entry) -> None:
    """Send a message to a stream consumer."""
    channel = consumer.channel
    message = entry.message
    content: Any = message.content
    engine = channel.engine
    method = front.named["stream.deliver"](consumer.tag, engine.last_tag + 1, message.exchange, entry.queue.name)
    engine.send(method, content.own(front.dialect), content.body)


def _stream_qos(front: ChannelFrontend, channel: ClassicChannel, method: Any) -> Any:
    # Without acknowledgement there is no window, and the rate may be ignored (stream.qos).
    return front.named["stream.qos-ok"]()


def _consume_stream(front: ChannelFrontend, channel: ClassicChannel, method: Any) -> Any:
    return basic.consume(front, channel, method, STREAM)


def _publish_stream(front: ChannelFrontend, channel: ClassicChannel, method: Any, properties: Any, body: bytes) -> None:
    content: ClassicContent = class_content(front.version, properties, front.tables, body)
    publishing.publish_class(front, channel, method, content, properties)


METHODS: Final[Mapping[str, Callable[..., Any]]] = {
    "file.qos": basic.qos,
    "file.consume": _consume,
    "file.cancel": basic.cancel,
    "file.open": _open,
    "file.publish": _publish,
    "file.ack": basic.ack,
    "file.reject": basic.reject,
    "stream.qos": _stream_qos,
    "stream.consume": _consume_stream,
    "stream.cancel": basic.cancel,
    "stream.publish": _publish_stream,
}
