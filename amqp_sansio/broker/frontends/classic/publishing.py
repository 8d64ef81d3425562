"""Publishing, confirms and transactions (0-9-1 sections 1.8.3.7 and 1.9; RabbitMQ's publisher confirms)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

from ...._classic.endpoint.events import Published
from ...contents.classic import ClassicContent, read_expiration
from ...model.commands import Begin, Commit, Publish, Rollback
from . import direct_reply
from .channel import BASIC, FILE, class_of
from .errors import NAMES, NO_CONSUMERS, NO_ROUTE, NOT_IMPLEMENTED, PRECONDITION_FAILED, Refusal

if TYPE_CHECKING:
    from ...._classic.codec.method import Method
    from ...._classic.codec.properties import Properties
    from ...model.content import Message
    from .channel import ChannelFrontend, ClassicChannel

_REPLY_TO: Final = 0x02
_CHECKED: Final = 0x03
"""Flags of reply-to and expiration, in the first octet of the properties."""
_USER_ID: Final = 0x10
"""The flag of user-id, in the second octet."""


def publish(front: ChannelFrontend, channel: ClassicChannel, event: Published) -> None:
    """Handle a basic message that a client published. Raises Fault, Refusal."""
    raw = event.raw_properties
    content = ClassicContent(front.version, raw, event.tables, event.body)
    if front.is_rabbit and (raw[0] & _CHECKED or raw[1] & _USER_ID):
        content = _checked(front, channel, content)
    if event.immediate and front.is_rabbit:
        raise Refusal(NOT_IMPLEMENTED, "immediate=true", is_hard=True)
    if not channel.published:
        _first_publish(front, channel)
    transaction = channel.transaction
    number = event.number
    published = front.hub.apply(
        Publish(
            channel.owner, event.exchange, event.routing_key, content, event.mandatory, event.immediate, transaction
        )
    )
    if published is None:
        return
    accepted = not published.refused
    if (event.mandatory and not published.routed) or (event.immediate and not published.consumed):
        code = NO_ROUTE if event.mandatory and not published.routed else NO_CONSUMERS
        told = _return(front, channel, code, event.exchange, event.routing_key, event.properties, event.body)
        accepted = accepted and told
    if number:
        channel.engine.confirm(number, False, accepted)


def method_of(front: ChannelFrontend, event: Published) -> Method:
    """Return the publish method of an event, for a close that blames it."""
    method: Method = front.named["basic.publish"](event.exchange, event.routing_key)
    return method


def publish_class(
    front: ChannelFrontend, channel: ClassicChannel, method: Any, content: ClassicContent, properties: Properties
) -> None:
    """Handle a file or stream message that a client published. Raises Fault."""
    if not channel.published:
        _first_publish(front, channel)
    published = front.hub.apply(
        Publish(
            channel.owner,
            method.exchange,
            method.routing_key,
            content,
            method.mandatory,
            method.immediate,
            channel.transaction if method.CLASS_ID == FILE else None,
        )
    )
    if published is None:
        return
    if (method.mandatory and not published.routed) or (method.immediate and not published.consumed):
        code = NO_ROUTE if method.mandatory and not published.routed else NO_CONSUMERS
        _return(front, channel, code, method.exchange, method.routing_key, properties, content.body, method.CLASS_ID)


# Internals.


def _first_publish(front: ChannelFrontend, channel: ClassicChannel) -> None:
    front.publishes = channel.published = True
    if front.hub.is_blocked:
        front.block(front.hub.is_blocked)


def _checked(front: ChannelFrontend, channel: ClassicChannel, content: ClassicContent) -> ClassicContent:
    """Return the content after RabbitMQ's checks. Raises Refusal."""
    properties = content.properties
    user = properties.user_id
    if user is not None and user != front.user:
        text = f"user_id property set to '{user}' but authenticated user was '{front.user}'"
        raise Refusal(PRECONDITION_FAILED, text)
    expiration = properties.expiration
    if expiration is not None and read_expiration(expiration) is None:
        text = f"invalid expiration '{expiration}': it has to be a number of milliseconds in decimal digits"
        raise Refusal(PRECONDITION_FAILED, text)
    if content.raw_properties[0] & _REPLY_TO:
        return direct_reply.address(front, channel, content)
    return content


def _return(
    front: ChannelFrontend,
    channel: ClassicChannel,
    code: int,
    exchange: str,
    routing_key: str,
    properties: Properties,
    body: bytes,
    class_id: int = BASIC,
) -> bool:
    """Return a message; False if the client takes no content at the moment (channel.flow), so that it is lost."""
    if channel.flow_stopped:
        return False
    name = "basic.return" if class_id == BASIC else "file.return" if class_id == FILE else "stream.return"
    method = front.named[name](code, NAMES[code], exchange, routing_key)
    channel.engine.send(method, properties, body)
    return True


def _return_message(front: ChannelFrontend, channel: ClassicChannel, message: Message) -> None:
    """Return a message that a commit couldn't route."""
    content: Any = message.content
    class_id = class_of(message)
    properties = content.properties if class_id == BASIC else content.own(front.dialect)
    code = NO_ROUTE if message.mandatory else NO_CONSUMERS
    _return(front, channel, code, message.exchange, message.routing_key, properties, content.body, class_id)


def _confirm_select(front: ChannelFrontend, channel: ClassicChannel, method: Any) -> Any:
    return front.named["confirm.select-ok"]()


def _tx_select(front: ChannelFrontend, channel: ClassicChannel, method: Any) -> Any:
    if channel.transaction is None:
        channel.transaction = front.hub.apply(Begin(channel.owner))
    return front.named["tx.select-ok"]()


def _tx_commit(front: ChannelFrontend, channel: ClassicChannel, method: Any) -> Any:
    assert channel.transaction is not None
    returned = front.hub.apply(Commit(channel.transaction))
    channel.undecided.clear()
    channel.transaction = front.hub.apply(Begin(channel.owner))
    for message in returned:
        _return_message(front, channel, message)
    return front.named["tx.commit-ok"]()


def _tx_rollback(front: ChannelFrontend, channel: ClassicChannel, method: Any) -> Any:
    assert channel.transaction is not None
    front.hub.apply(Rollback(channel.transaction))
    if channel.undecided:
        channel.entries.update(channel.undecided)
        channel.settled_to = min(channel.settled_to, min(channel.undecided) - 1)
        channel.undecided.clear()
    channel.transaction = front.hub.apply(Begin(channel.owner))
    return front.named["tx.rollback-ok"]()


METHODS: Final[Mapping[str, Callable[[ChannelFrontend, ClassicChannel, Any], Any]]] = {
    "confirm.select": _confirm_select,
    "tx.select": _tx_select,
    "tx.commit": _tx_commit,
    "tx.rollback": _tx_rollback,
}
