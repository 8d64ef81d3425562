"""The stream class of 0-8: messages that are delivered once and never acknowledged."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

from ...contents.classic import ClassicContent
from . import basic, publishing
from .channel import STREAM
from .contents import class_content

if TYPE_CHECKING:
    from ...model.entry import Entry
    from .channel import ClassicChannel, ClassicConsumer
    from .frontend import ClassicFrontend


def deliver(front: ClassicFrontend, consumer: ClassicConsumer, entry: Entry) -> None:
    """Send a message to a stream consumer."""
    channel = consumer.channel
    message = entry.message
    content: Any = message.content
    engine = channel.engine
    method = front.named["stream.deliver"](
        consumer.tag, engine.last_tag + 1, message.exchange, entry.queue.name
    )
    engine.send(method, content.own(front.dialect), content.body)


def _qos(front: ClassicFrontend, channel: ClassicChannel, method: Any) -> Any:
    # What is never acknowledged has no window, and the rate may be ignored (stream.qos).
    return front.named["stream.qos-ok"]()


def _consume(front: ClassicFrontend, channel: ClassicChannel, method: Any) -> Any:
    return basic.consume(front, channel, method, STREAM)


def _publish(front: ClassicFrontend, channel: ClassicChannel, method: Any, properties: Any, body: bytes) -> None:
    content: ClassicContent = class_content(front.version, properties, front.tables, body)
    publishing.publish_class(front, channel, method, content, properties)


METHODS: Final[Mapping[str, Callable[..., Any]]] = {
    "stream.qos": _qos,
    "stream.consume": _consume,
    "stream.cancel": basic.cancel,
    "stream.publish": _publish,
}
