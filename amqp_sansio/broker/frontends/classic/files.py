"""The file class of 0-8: messages that are staged before they are published or delivered.

A client opens a file, is told how much of it is here already, sends the rest, and publishes it by its identifier. To a
consumer the broker does the same, one file after the other, so that they come in the order of the queue.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

from ...._classic.endpoint.events import Message
from ...contents.classic import ClassicContent
from ...model.commands import Outcome, Settle
from ...model.entry import State
from . import basic, publishing
from .channel import FILE
from .contents import class_content
from .errors import NOT_FOUND, RESOURCE_ERROR, Refusal

if TYPE_CHECKING:
    from ....events import Handle
    from ...model.entry import Entry
    from .channel import ClassicChannel, ClassicConsumer
    from .frontend import ClassicFrontend

_STAGED: Final = 64
"""Files that a channel may have staged and not published; the oldest go."""
_STAGED_OCTETS: Final = 256 * 1024 * 1024


class Files:
    """What is staged on a channel: `arriving` is what the client sends, by the call that waits for it; `staged` is
    there and not published yet; `leaving` are the deliveries that wait, the first is under way with `call`."""

    __slots__ = ("arriving", "call", "leaving", "names", "octets", "staged")

    def __init__(self) -> None:
        self.arriving: dict[Handle[Any], str] = {}
        self.staged: dict[str, tuple[Any, bytes]] = {}
        self.octets = 0
        self.leaving: deque[tuple[ClassicConsumer, Entry, str]] = deque()
        self.call: Handle[Any] | None = None
        self.names = 0


def deliver(front: ClassicFrontend, consumer: ClassicConsumer, entry: Entry) -> None:
    """Stage a file at a consumer, behind those that are under way, and then deliver it."""
    files = _files_of(consumer.channel)
    files.names += 1
    files.leaving.append((consumer, entry, f"{consumer.channel.owner.number}-{files.names}"))
    if files.call is None:
        _stage_next(front, consumer.channel, files)


def replied(front: ClassicFrontend, channel: ClassicChannel, handle: Handle[Any]) -> None:
    """The client answered: it takes a file, or sent one. Raises Refusal."""
    files = channel.files
    if files is None:
        return
    identifier = files.arriving.pop(handle, None)
    if identifier is not None:
        _keep(files, identifier, handle.result)
    elif handle == files.call:
        _staging(front, channel, files, handle.result.staged_size)


def _stage_next(front: ClassicFrontend, channel: ClassicChannel, files: Files) -> None:
    """Ask the client to take the next file."""
    files.call = None
    if files.leaving:
        _, entry, identifier = files.leaving[0]
        opening = front.named["file.open"](identifier, entry.message.content.size)
        files.call = channel.engine.call(opening)


def _staging(front: ClassicFrontend, channel: ClassicChannel, files: Files, staged_size: int) -> None:
    """The client takes a file from an octet on: send it, and what it was sent for."""
    consumer, entry, identifier = files.leaving.popleft()
    content: Any = entry.message.content
    engine = channel.engine
    engine.reply(
        front.named["file.stage"](), content.own(front.dialect), content.body[staged_size:]
    )
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
        # The consumer was cancelled while its file was on its way.
        front.hub.apply(Settle(channel.owner, (entry,), Outcome.RELEASE))
    _stage_next(front, channel, files)


def _keep(files: Files, identifier: str, message: Message[Any]) -> None:
    """A file is staged."""
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


def _open(front: ClassicFrontend, channel: ClassicChannel, method: Any) -> None:
    """file.open: nothing of a file that isn't whole is kept, so all of it is to come."""
    limit = front.connection.config.limits.message
    if method.content_size > limit:
        text = f"a file of {method.content_size} octets, Limits.message allows {limit}"
        raise Refusal(RESOURCE_ERROR, text)
    files = _files_of(channel)
    handle = channel.engine.call(front.named["file.open-ok"](0))
    files.arriving[handle] = method.identifier


def _publish(front: ClassicFrontend, channel: ClassicChannel, method: Any) -> None:
    files = _files_of(channel)
    found = files.staged.pop(method.identifier, None)
    if found is None:
        raise Refusal(NOT_FOUND, f"no file '{method.identifier}' is staged on channel {channel.number}")
    properties, body = found
    files.octets -= len(body)
    content: ClassicContent = class_content(front.version, properties, front.tables, body)
    publishing.publish_class(front, channel, method, content, properties)


def _consume(front: ClassicFrontend, channel: ClassicChannel, method: Any) -> Any:
    return basic.consume(front, channel, method, FILE)


METHODS: Final[Mapping[str, Callable[..., Any]]] = {
    "file.qos": basic.qos,
    "file.consume": _consume,
    "file.cancel": basic.cancel,
    "file.open": _open,
    "file.publish": _publish,
    "file.ack": basic.ack,
    "file.reject": basic.reject,
}
