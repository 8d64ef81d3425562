"""Direct reply-to (RabbitMQ): answers come to the channel that asked, without a queue that anybody declares.

Who consumes `amq.rabbitmq.reply-to` without acknowledgement gets what is published to the address that stands in the
reply-to of its own requests. In the model that is a queue with a name that nobody else has, exclusive to the channel.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from ...contents.classic import ClassicContent
from ...model.commands import DeclareQueue
from ...model.faults import Fault, FaultKind
from .errors import PRECONDITION_FAILED, Refusal

if TYPE_CHECKING:
    from .channel import ClassicChannel
    from .frontend import ClassicFrontend

PSEUDO_QUEUE: Final = "amq.rabbitmq.reply-to"


def begin(front: ClassicFrontend, channel: ClassicChannel, no_ack: bool) -> str:
    """The queue to consume instead of the pseudo queue. Raises Refusal, Fault."""
    if not no_ack:
        raise Refusal(PRECONDITION_FAILED, "reply consumer cannot acknowledge")
    if channel.replies:
        raise Refusal(PRECONDITION_FAILED, "reply consumer already set")
    address = f"{PSEUDO_QUEUE}.{front.hub.settings.text('reply-to', str(channel.owner.number))}"
    front.hub.apply(
        DeclareQueue(
            channel.owner, address, auto_delete=True, exclusive_to=channel.owner, reserved=False
        )
    )
    channel.replies = address
    return address


def look(channel: ClassicChannel, name: str) -> tuple[int, int]:
    """Messages and consumers of the pseudo queue, or of an address: whether somebody is there for an answer."""
    vhost = channel.owner.vhost
    if name != PSEUDO_QUEUE and name not in vhost.queues:
        raise Fault(FaultKind.NOT_FOUND, f"no queue '{name}' in vhost '{vhost.name}'", "queue")
    return 0, 1


def address(front: ClassicFrontend, channel: ClassicChannel, content: ClassicContent) -> ClassicContent:
    """A request whose reply-to is the pseudo queue, with the channel's own address there. Raises Refusal."""
    properties = content.properties
    if properties.reply_to != PSEUDO_QUEUE:
        return content
    if not channel.replies:
        raise Refusal(PRECONDITION_FAILED, "fast reply consumer does not exist")
    given: dict[str, Any] = {name: getattr(properties, name) for name in properties.__match_args__}
    given["reply_to"] = channel.replies
    raw = type(properties)(**given).encode(content.tables)
    return ClassicContent(content.version, raw, content.tables, content.body)
