"""Publishing, confirms and transactions (0-9-1 sections 1.8.3.7 and 1.9; RabbitMQ's publisher confirms)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, cast

from ...._classic.endpoint.events import Published
from ...contents.classic import ClassicContent
from ...model.commands import Begin, Commit, Publish, Rollback
from ...model.delayed import DELAY
from ...model.faults import Postponed
from ...model.options import as_text
from . import direct_reply
from .channel import BASIC, FILE, class_of
from .errors import NAMES, NO_CONSUMERS, NO_ROUTE, NOT_IMPLEMENTED, PRECONDITION_FAILED, Refusal

if TYPE_CHECKING:
    from ...._classic.codec.method import Method
    from ...._classic.codec.properties import Properties
    from ...model.content import Message
    from .channel import ChannelFrontend, ClassicChannel

_REPLY_TO: Final = 0x02
_HEADERS: Final = 0x20
_MOST_COPIES: Final = 1000
"""Routing keys that a message may have in its headers; each is routed at once."""
_KINDS: Final[Mapping[type, str]] = {str: "longstr", bytes: "binary", bool: "bool", int: "signedint", float: "double"}
"""RabbitMQ's names for types of values in tables."""
_DELIVERY_MODE: Final = 0x10
_CHECKED: Final = 0x03
"""Flags of reply-to and expiration, in the first octet of the properties."""
_MODES: Final = (1, 2)
_LONGEST_TTL: Final = (1 << 32) - 1
"""Milliseconds that RabbitMQ takes at most."""
_USER_ID: Final = 0x10
"""The flag of user-id, in the second octet."""


def publish(front: ChannelFrontend, channel: ClassicChannel, event: Published) -> None:
    """Handle a basic message that a client published. Raises Fault, Refusal."""
    raw = event.raw_properties
    content = ClassicContent(front.version, raw, event.tables, event.body)
    if front.is_rabbit and (raw[0] & _CHECKED or raw[1] & _USER_ID):
        content = _checked(front, channel, content)
    if raw[0] & _DELIVERY_MODE and front.is_rabbit and event.properties.delivery_mode not in _MODES:
        text = f"invalid message: {{delivery_mode_unknown,{event.properties.delivery_mode}}}"
        raise Refusal(PRECONDITION_FAILED, text)
    also: tuple[str, ...] = ()
    if raw[0] & _HEADERS and front.is_rabbit and not front.is_old:
        content, also = _copies(content)
        _check_delay(front, channel, event.exchange, content)
    if event.immediate and front.is_rabbit:
        raise Refusal(NOT_IMPLEMENTED, "immediate=true", is_hard=True)
    if not channel.published:
        _first_publish(front, channel)
    transaction = channel.transaction
    number = event.number
    hub = front.hub
    published = hub.model.apply(
        Publish(
            channel.owner,
            event.exchange,
            event.routing_key,
            content,
            event.mandatory,
            event.immediate,
            transaction,
            also=also,
        ),
        hub.now,
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
    front.publishes = True
    channel.published = True
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
    if expiration is not None:
        wrong = _wrong_expiration(expiration)
        if wrong:
            raise Refusal(PRECONDITION_FAILED, f"invalid expiration '{expiration}': {wrong}")
    if content.raw_properties[0] & _REPLY_TO:
        return direct_reply.address(front, channel, content)
    return content


def _copies(content: ClassicContent) -> tuple[ClassicContent, tuple[str, ...]]:
    """Return a message without its header BCC, and the routing keys in CC and BCC. Raises Refusal."""
    headers = content.headers
    keys: list[str] = []
    for name in ("CC", "BCC"):
        value: object = headers.get(name)
        if value is None:
            continue
        if not isinstance(value, (list, tuple)):
            kind = next((word for each, word in _KINDS.items() if type(value) is each), "table")
            text = f'invalid message: {{unacceptable_type_in_header,"{name}",{kind}}}'
            raise Refusal(PRECONDITION_FAILED, text)
        # RabbitMQ takes the texts of the array, and leaves other elements out.
        values = cast("Sequence[object]", value)
        keys += [text for text in map(as_text, values) if text is not None]
    if len(keys) > _MOST_COPIES:
        raise Refusal(PRECONDITION_FAILED, f"{len(keys)} routing keys in CC and BCC, at most {_MOST_COPIES} are taken")
    return (content.with_headers({}, ("BCC",)) if "BCC" in headers else content), tuple(keys)


def _check_delay(front: ChannelFrontend, channel: ClassicChannel, name: str, content: ClassicContent) -> None:
    """Warn of a delay that nothing honours."""
    if DELAY in content.headers:
        exchange = channel.owner.vhost.exchanges.get(name)
        if exchange is not None and not exchange.delays:
            vhost = channel.owner.vhost.name
            text = (
                f"header {DELAY!r} of a message to exchange {name!r} in vhost {vhost!r} delays nothing: "
                f"the exchange is of type {exchange.type or 'direct'!r}, not 'x-delayed-message'"
            )
            front.hub.warn((DELAY, vhost, name), text)


def _wrong_expiration(text: str) -> str:
    """Return what RabbitMQ says of an expiration that it refuses, "" of any other."""
    digits = text[1:] if text[:1] in ("+", "-") else text
    count = len(digits) - len(digits.lstrip("0123456789"))
    if not count:
        return "no_integer"
    if count < len(digits):
        return f'{{leftover_string,"{digits[count:]}"}}'
    number = int(text)
    if number < 0:
        return f"{{value_negative,{number}}}"
    return f"{{value_too_big,{number}}}" if number > _LONGEST_TTL else ""


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
    returned = channel.committed
    channel.committed = None
    if returned is None:
        returned = front.hub.apply(Commit(channel.transaction))
        if front.must_wait:
            channel.committed = returned
            raise Postponed
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
