"""The management node: HTTP over AMQP 1.0, as RabbitMQ 4 provides it at the address /management.

A client attaches a pair of links of one name, one in each direction, and sends a message for each request: `subject` is
the method, `to` the path, `reply-to` "$me", the body an amqp-value. The response comes on the other link of the pair:
`subject` is the status code, `correlation-id` the request's message-id.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any, Final

from ....amqp_1_0 import AmqpValue, Message, Properties, Rejected, Source, Target
from ....amqp_1_0.codec.conditions import INVALID_FIELD, MESSAGE_SIZE_EXCEEDED, NOT_ALLOWED, ReceiverSettleMode
from ....amqp_1_0.codec.message import LenientMessage
from ....amqp_1_0.codec.values import skip
from ....errors import CodecError
from ...addresses import MANAGEMENT
from .errors import Refusal, short
from .management_requests import Requests

if TYPE_CHECKING:
    from ....amqp_1_0 import CreditChanged, Delivery, LinkClosed, Receiver, Sender
    from ....amqp_1_0.codec.performatives import Attach
    from .links import LinkFrontend

_CREDIT: Final = 100
_FIRST: Final = ReceiverSettleMode.FIRST
_ME: Final = "$me"
_VERSION: Final = {"http:response": "1.1"}
_SECTION: Final = b"\0\x53"


class Management:
    """The management links of one connection, and the responses that wait for credit, by link name."""

    __slots__ = ("_server", "requests", "responses", "waiting")

    def __init__(self, front: LinkFrontend) -> None:
        self._server = Requests(front)
        self.requests: dict[tuple[int, int], Receiver] = {}
        self.responses: dict[str, Sender] = {}
        self.waiting: dict[str, deque[bytes]] = {}

    @staticmethod
    def takes(attach: Attach) -> bool:
        """Whether a link is for the management node."""
        terminus = attach.source if attach.role else attach.target
        return isinstance(terminus, Source | Target) and terminus.address == MANAGEMENT

    def attach(self, link: Any, attach: Attach) -> None:
        """Answer an attach. Raises Refusal for a link without a pair."""
        if not (attach.properties or {}).get("paired"):
            raise Refusal(
                NOT_ALLOWED,
                f"links to {MANAGEMENT} come in pairs: two of one name, each with the property paired = true",
            )
        link.accept_attach(properties=attach.properties, rcv_settle_mode=_FIRST)
        if link.ROLE:
            self.requests[(link.session.channel, link.handle)] = link
            self._give_credit(link)
        else:
            self.responses[link.name] = link

    def receive(self, event: Delivery) -> None:
        """Handle a request."""
        link = self.requests.get((event.channel, event.link))
        if link is None:
            return
        try:
            self._respond(link.name, LenientMessage.from_wire(in_order(event.payload)))
        except (Refusal, CodecError) as error:
            refusal = error if isinstance(error, Refusal) else Refusal(INVALID_FIELD, str(error))
            if event.settled:
                link.close(refusal.condition, refusal.error.description or "")
                return
            link.update([event], Rejected(refusal.error))
        else:
            if not event.settled:
                link.accept(event)
        self._give_credit(link)

    def credit_changed(self, event: CreditChanged) -> None:
        """Send waiting responses when the client grants credit."""
        for name, link in self.responses.items():
            if (link.session.channel, link.handle) == (event.channel, event.link):
                self._send(name)
                if event.drain and not self.waiting.get(name):
                    link.drained()
        for each in self.requests.values():
            self._give_credit(each)

    def link_closed(self, event: LinkClosed) -> None:
        """Handle the end of a link of a pair."""
        asking = self.requests.pop((event.channel, event.link), None)
        if asking is not None and asking.name not in self.responses:
            self.waiting.pop(asking.name, None)
        for name, link in list(self.responses.items()):
            if link.report is not None:
                del self.responses[name]
                self.waiting.pop(name, None)

    # Internals.

    def _respond(self, name: str, message: Message) -> None:
        properties = message.properties
        if properties is None or properties.message_id is None:
            raise Refusal(INVALID_FIELD, "a request needs a message-id, which its response correlates with")
        if properties.reply_to != _ME:
            raise Refusal(INVALID_FIELD, f"reply-to {properties.reply_to!r}: responses go to {_ME!r}, the link's pair")
        if not isinstance(properties.to, str) or not properties.subject:
            raise Refusal(INVALID_FIELD, "a request needs its method in subject and its path in to")
        found = self._server.respond(properties.subject, properties.to, message.body)
        response = Message(
            AmqpValue(found.body),
            properties=Properties(to=_ME, subject=str(found.status), correlation_id=properties.message_id),
            application_properties=_VERSION,
        )
        self.waiting.setdefault(name, deque()).append(response.encode())
        self._send(name)

    def _send(self, name: str) -> None:
        waiting = self.waiting.get(name)
        link = self.responses.get(name)
        while waiting and link is not None and link.credit and not _is_incomplete(link):
            response = waiting.popleft()
            limit = link.max_message_size
            if limit and len(response) > limit:
                waiting.clear()
                text = f"a response has {len(response)} octets, link {name!r} takes {limit}"
                link.close(MESSAGE_SIZE_EXCEEDED, short(text))
                return
            # If the link's mode is second, it is first for each response.
            link.send(response, rcv_settle_mode=_FIRST if link.rcv_settle_mode else None)

    def _give_credit(self, link: Receiver) -> None:
        """Grant credit for requests unless too many responses wait."""
        if link.is_open and len(self.waiting.get(link.name, ())) < _CREDIT:
            link.top_up(_CREDIT)


def _is_incomplete(link: Sender) -> bool:
    """Whether the client hasn't sent its whole unsettled map, and takes nothing new (part 2 section 2.7.3)."""
    remote = link.remote
    return remote is not None and remote.incomplete_unsettled


def in_order(payload: bytes) -> bytes:
    """Return a message with its sections in order: RabbitMQ's client for Python puts an empty body before the rest of a
    message without body. Raises CodecError.

    >>> in_order(b"\\x00Sw@\\x00SpE")
    b'\\x00SpE\\x00Sw@'
    """
    sections: list[bytes] = []
    pos = 0
    while pos < len(payload):
        stop = skip(payload, pos, len(payload))
        sections.append(payload[pos:stop])
        pos = stop
    # All of the usual form: a one-octet descriptor, in numeric order.
    if all([each[:2] == _SECTION for each in sections]):
        sections.sort(key=_number)
    return b"".join(sections)


def _number(section: bytes) -> int:
    return section[2]
