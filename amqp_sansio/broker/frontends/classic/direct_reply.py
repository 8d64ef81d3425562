"""Direct reply-to (RabbitMQ): replies go to the requesting channel, without a declared queue.

A channel that consumes `amq.rabbitmq.reply-to` without acknowledgement receives messages published to the address in
the reply-to of its own requests. In the model that is a queue with a unique name, exclusive to the channel.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from ...contents.classic import ClassicContent
from ...model.commands import DeclareQueue
from ...model.faults import Fault, FaultKind
from .errors import PRECONDITION_FAILED, Refusal

if TYPE_CHECKING:
    from .channel import ChannelFrontend, ClassicChannel

PSEUDO_QUEUE: Final = "amq.rabbitmq.reply-to"


def begin(front: ChannelFrontend, channel: ClassicChannel, no_ack: bool) -> str:
    """Return the queue to consume in place of the pseudo queue. Raises Refusal, Fault."""
    if not no_ack:
        raise Refusal(PRECONDITION_FAILED, "reply consumer cannot acknowledge")
    if channel.replies:
        raise Refusal(PRECONDITION_FAILED, "reply consumer already set")
    address = f"{PSEUDO_QUEUE}.{front.hub.settings.text('reply-to', str(channel.owner.number))}"
    front.hub.apply(DeclareQueue(channel.owner, address, auto_delete=True, exclusive_to=channel.owner, reserved=False))
    channel.replies = address
    return address


def look(channel: ClassicChannel, name: str) -> tuple[int, int]:
    """Return the messages and consumers of the pseudo queue or an address: whether somebody expects a reply."""
    vhost = channel.owner.vhost
    if name != PSEUDO_QUEUE and name not in vhost.queues:
        raise Fault(FaultKind.NOT_FOUND, f"no queue '{name}' in vhost '{vhost.name}'", "queue")
    return 0, 1


def address(front: ChannelFrontend, channel: ClassicChannel, content: ClassicContent) -> ClassicContent:
    """Return a request with the channel's address in place of the pseudo queue in reply-to. Raises Refusal."""
    properties = content.properties
    if properties.reply_to != PSEUDO_QUEUE:
        return content
    if not channel.replies:
        raise Refusal(PRECONDITION_FAILED, "fast reply consumer does not exist")
    given: dict[str, Any] = {name: getattr(properties, name) for name in properties.__match_args__}
    given["reply_to"] = channel.replies
    raw = type(properties)(**given).encode(content.tables)
    return ClassicContent(content.version, raw, content.tables, content.body)
