"""RequestNode: a node that answers requests, such as `$cbs` and `ENTITY/$management`.

A client attaches a pair of links. A request comes on the one; the reply goes to the receiver whose target's address is
the request's reply-to, and without a reply-to to the newest receiver that the connection has at this node.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, Protocol, cast

from amqp_sansio.amqp_1_0 import AmqpValue, Message, Properties, Symbol
from amqp_sansio.amqp_1_0.codec.conditions import INTERNAL_ERROR, RESOURCE_LIMIT_EXCEEDED
from amqp_sansio.amqp_1_0.spec import Int, ReceiverSettleMode
from amqp_sansio.broker.nodes import ACCEPTED, Attachment, Node, Refusal
from amqp_sansio.errors import CodecError

from .conditions import status_of

if TYPE_CHECKING:
    from amqp_sansio.amqp_1_0 import Delivery, DeliveryState

_WAITING: Final = "waiting"
_MOST: Final = 1000
"""Replies that wait for a client's credit; a request beyond them is rejected."""
HYPHENS: Final = "status-code", "status-description"
"""The names of a reply's properties at `$cbs` and in Event Hubs."""
CAMEL_CASE: Final = "statusCode", "statusDescription"
"""The names of a reply's properties in Service Bus's management."""


class Host(Protocol):
    """The part of a namespace that its nodes tell of their links."""

    def joined(self, link: Attachment, path: str) -> None: ...

    def used(self, link: Attachment) -> None: ...

    def left(self, link: Attachment) -> None: ...


class Request:
    """A request: its `operation`, application `properties` and `body`; `link` is the one that it came on."""

    __slots__ = ("body", "link", "operation", "properties", "state")

    def __init__(self, link: Attachment, delivery: Delivery) -> None:
        message = delivery.message
        self.link = link
        self.properties: dict[str, Any] = {str(key): value for key, value in message.application_properties.items()}
        self.operation = str(self.properties.get("operation", ""))
        self.body: Any = message.body
        state: Any = delivery.state
        self.state: DeliveryState | None = state

    def of(self, name: str, kind: type[Any] | tuple[type[Any], ...], default: Any = None) -> Any:
        """Return a value of the body, a map with string keys; `default` where it is missing or of another type."""
        found: Any = map_of(self.body).get(name)
        return found if isinstance(found, kind) and not isinstance(found, bool) else default


def map_of(value: object) -> Mapping[str, Any]:
    """Return a value that is a map, else an empty one."""
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else {}


class Reply:
    """A reply: its status, and the body, which becomes an amqp-value. `condition` names the error."""

    __slots__ = ("body", "condition", "description", "status")

    def __init__(self, status: int = 200, description: str = "OK", body: Any = None, condition: str = "") -> None:
        self.status = status
        self.description = description
        self.body = body
        self.condition = condition


class RequestNode(Node, ABC):
    """A node that answers requests; `answer` is the work."""

    names = CAMEL_CASE
    """The names of a reply's status and description."""

    def __init__(self, host: Host, path: str) -> None:
        self.host = host
        self.path = path

    @abstractmethod
    def answer(self, request: Request) -> Reply:
        """Return the reply. May raise Refusal, whose condition tells the status."""

    # As a node.

    def attach(self, link: Attachment) -> None:
        link.accept(rcv_settle_mode=ReceiverSettleMode.FIRST)
        self.host.joined(link, self.path)

    def closed(self, link: Attachment) -> None:
        self.host.left(link)

    def receive(self, link: Attachment, delivery: Delivery) -> DeliveryState | None:
        where = self.reply_to(link, delivery, self.answer)
        link.answer(delivery, ACCEPTED)
        self.send(where)
        return None

    def reply_to(self, link: Attachment, delivery: Delivery, answer: Callable[[Request], Reply]) -> Attachment:
        """Have a request answered; return the link on which the reply waits to be sent. Raises Refusal."""
        try:
            properties = delivery.message.properties
            request = Request(link, delivery)
        except CodecError as error:
            raise Refusal(INTERNAL_ERROR, str(error)) from None
        self.host.used(link)
        where = self._replies_to(link, None if properties is None else properties.reply_to)
        if where is None:
            # Nobody would hear of it, and the client waits.
            raise Refusal(INTERNAL_ERROR, f"no link receives replies of {self.path!r} on this connection")
        waiting: deque[bytes] = where.notes.setdefault(_WAITING, deque())
        if len(waiting) >= _MOST:
            raise Refusal(RESOURCE_LIMIT_EXCEEDED, f"{_MOST} replies of {self.path!r} wait for credit")
        try:
            reply = answer(request)
        except Refusal as refusal:
            reply = Reply(status_of(refusal.condition), refusal.text, None, refusal.condition)
        told: dict[str, Any] = {self.names[0]: Int(reply.status), self.names[1]: reply.description}
        if reply.condition:
            told["errorCondition"] = Symbol(reply.condition)
        message_id = None if properties is None else properties.message_id
        message = Message(
            AmqpValue(reply.body), properties=Properties(correlation_id=message_id), application_properties=told
        )
        waiting.append(message.encode())
        return where

    def send(self, link: Attachment) -> None:
        waiting: deque[bytes] = link.notes.setdefault(_WAITING, deque())
        while waiting and link.credit:
            octets = waiting[0] if len(waiting[0]) <= link.largest else self._too_large(waiting[0])
            if link.send(octets, settled=True if link.link.snd_settle_mode else None) is None:
                return
            waiting.popleft()

    # Internals.

    def _replies_to(self, link: Attachment, reply_to: object) -> Attachment | None:
        """Return the link for a reply: that of the same session, if there is one, else the newest."""
        there = [each for each in link.peer.attachments.values() if each.is_sender and self._is_here(each)]
        if reply_to is not None:
            named = [each for each in there if _target_of(each) == str(reply_to)]
            there = named or there
        near = [each for each in there if each.place[0] == link.place[0]]
        found = near or there
        return found[-1] if found else None

    def _is_here(self, link: Attachment) -> bool:
        node = link.node
        return node is self or (isinstance(node, RequestNode) and node.path == self.path)

    def _too_large(self, octets: bytes) -> bytes:
        """Return what is said in place of a reply that is larger than the client takes."""
        was = Message.from_wire(octets)
        text = f"a reply of {len(octets)} octets is larger than the link takes"
        told: dict[str, Any] = {self.names[0]: Int(500), self.names[1]: text, "errorCondition": INTERNAL_ERROR}
        return Message(AmqpValue(None), properties=was.properties, application_properties=told).encode()


def _target_of(link: Attachment) -> str:
    return str(getattr(link.attach.target, "address", None) or "")


__all__ = ["CAMEL_CASE", "HYPHENS", "Host", "Reply", "Request", "RequestNode", "map_of"]
