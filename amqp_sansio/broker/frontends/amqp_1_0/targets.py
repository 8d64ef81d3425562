"""IncomingLink: a link on which the broker receives: what comes is published (part 2 section 2.6, part 3 section 3.5).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from ....amqp_1_0 import Accepted, Error, Modified, Rejected, Released, Symbol, TransactionalState
from ....amqp_1_0.codec.conditions import (
    DECODE_ERROR,
    INVALID_FIELD,
    NOT_FOUND,
    PRECONDITION_FAILED,
    RESOURCE_LIMIT_EXCEEDED,
)
from ....errors import CodecError
from ...contents.amqp_1_0 import OneZeroContent
from ...model.commands import Publish, UnlinkQueue
from ...model.faults import Fault
from ...model.publishing import refuses
from ...model.routing import route
from . import addresses
from .addresses import BadAddress, NodeKind
from .errors import Refusal, refusal_of, short
from .links import NodeLink
from .rendering import without_delivery_annotations
from .termini import sending_outcomes

if TYPE_CHECKING:
    from ....amqp_1_0 import Delivery, DeliveryState, Receiver
    from ...model.commands import Published
    from ...model.owner import Owner
    from ...model.queue import Queue
    from ...model.transaction import Transaction
    from .addresses import Node
    from .frontend import OneZeroFrontend
    from .termini import Expiry

CREDIT: Final = 100
"""Messages that a client may send before the broker has said more; renewed at half."""

_ACCEPTED: Final = Accepted()
_RELEASED: Final = Released()
_FULL: Final = "a queue is full (x-max-length or x-max-length-bytes) and takes no more (x-overflow)"
_REJECTED_SYMBOL: Final = Rejected.SYMBOL


class IncomingLink(NodeLink):
    """One target of the broker. `queue` is the queue that it is, "" for another node; `outcomes` those that the client
    understands."""

    __slots__ = ("outcomes", "queue", "target")

    link: Receiver

    def __init__(
        self,
        front: OneZeroFrontend,
        link: Receiver,
        owner: Owner,
        node: Node,
        expiry: Expiry,
        target: Any,
        source: object,
    ) -> None:
        NodeLink.__init__(self, front, link, owner, node, expiry)
        self.queue = node.name if node.kind is NodeKind.QUEUE else ""
        self.target = target
        self.outcomes = sending_outcomes(source)

    def stop(self) -> None:
        pass

    def end(self) -> None:
        if self.queue:
            self.hub.apply(UnlinkQueue(self.owner, self.queue))

    def give_credit(self) -> None:
        """Let the client send, unless the broker is full."""
        if self.link.is_open and not self.hub.is_blocked:
            self.link.top_up(CREDIT)

    def receive(self, event: Delivery) -> None:
        """A message has come: publish it and say what became of it."""
        front = self.front
        front.publishes = True
        if not event.message_format and front.connection.config.validate_content is False:
            try:
                event.message.check()
            except CodecError as error:
                self.link.close(error.condition or DECODE_ERROR, short(str(error)))
                return
        state = event.state
        if isinstance(state, TransactionalState):
            front.coordination.post(self, event, state)
        else:
            try:
                outcome = self._outcome_of(self._publish(event))
            except Refusal as refusal:
                self._refuse(event, refusal)
            else:
                if not event.settled:
                    if outcome is _ACCEPTED:
                        self.link.accept(event)
                    else:
                        self.link.update([event], outcome)
        self.give_credit()

    def post(self, event: Delivery, transaction: Transaction) -> tuple[DeliveryState, Publish | None]:
        """Publish in a transaction: the outcome that it will have, and what is to be done then (part 4 section 4.4.1).

        Raises Refusal.
        """
        command = self._command(event, transaction)
        queues = takers(command)
        if not queues:
            return self._supported(_RELEASED, "no queue takes it"), None
        if any([refuses(queue, command.content) for queue in queues]):
            raise Refusal(RESOURCE_LIMIT_EXCEEDED, _FULL)
        try:
            self.hub.apply(command)
        except Fault as fault:
            raise refusal_of(fault) from None
        return _ACCEPTED, command

    def outcome_of(self, refusal: Refusal) -> DeliveryState | None:
        """The outcome for a message that can't be taken; None where the client knows none for that."""
        if _REJECTED_SYMBOL not in self.outcomes:
            return None
        # Clients read all three fields (azure-servicebus' pyamqp waits for ever when the last isn't there).
        error = refusal.error
        return Rejected(Error(error.condition, error.description, {}))

    # Inside.

    def _publish(self, event: Delivery) -> Published:
        command = self._command(event, None)
        try:
            found: Published = self.hub.apply(command)
        except Fault as fault:
            raise refusal_of(fault) from None
        return found

    def _command(self, event: Delivery, transaction: Transaction | None) -> Publish:
        node = self.node
        if node.kind is NodeKind.ANONYMOUS:
            node = self._node_of(event)
        if node.kind is NodeKind.QUEUE:
            exchange, key = "", node.name
            if node.creates:
                self.front.make_queue(node.name)
        else:
            exchange = node.name
            key = node.key if node.key is not None else (_subject_of(event) or "")
        content = OneZeroContent(
            event.payload if event.message_format else without_delivery_annotations(event.payload),
            event.message_format,
        )
        owner, later = self.front.connection_owner, transaction is not None
        return Publish(owner, exchange, key, content, mandatory=later, transaction=transaction, promised=later)

    def _node_of(self, event: Delivery) -> Node:
        """Where a message goes that says so itself (`properties.to`)."""
        to = None if event.message_format else event.message.to
        if not isinstance(to, str) or not to:
            text = "a message to the anonymous terminus needs the node's address in its properties' field `to`"
            raise Refusal(PRECONDITION_FAILED, text)
        front = self.front
        try:
            node = addresses.find(front.owner.vhost, to, auto_create=front.auto_create)
        except BadAddress as error:
            raise Refusal(INVALID_FIELD, str(error)) from None
        if node is None or node.kind not in (NodeKind.QUEUE, NodeKind.EXCHANGE):
            raise Refusal(NOT_FOUND, f"there is no node {to!r} in virtual host {front.vhost!r}")
        return node

    def _outcome_of(self, published: Published) -> DeliveryState:
        if published.refused:
            raise Refusal(RESOURCE_LIMIT_EXCEEDED, _FULL)
        if published.routed:
            return _ACCEPTED
        return self._supported(_RELEASED, "no queue takes it")

    def _supported(self, outcome: DeliveryState, why: str) -> DeliveryState:
        """Released, or what the client knows of what is nearest. Raises Refusal for a message to the anonymous terminus
        when the client knows nothing of the kind: the link ends then."""
        if outcome.SYMBOL in self.outcomes:
            return outcome
        if Modified.SYMBOL in self.outcomes:
            return Modified()
        refusal = Refusal(NOT_FOUND, why)
        if _REJECTED_SYMBOL in self.outcomes:
            return Rejected(refusal.error)
        if self.node.kind is NodeKind.ANONYMOUS:
            raise refusal
        return _ACCEPTED

    def _refuse(self, event: Delivery, refusal: Refusal) -> None:
        """Reject, or where nobody would hear that, end the link; what is sent settled may be lost for want of room."""
        if event.settled and refusal.condition == RESOURCE_LIMIT_EXCEEDED:
            return
        outcome = None if event.settled else self.outcome_of(refusal)
        if outcome is not None:
            self.link.update([event], outcome)
            return
        self.end_with(event, refusal)

    def end_with(self, event: Delivery, refusal: Refusal) -> None:
        """Detach, because nothing else tells the client that a message isn't taken."""
        info: Mapping[Any, Any] = {Symbol("delivery-tag"): event.delivery_tag}
        self.link.close(refusal.condition, refusal.error.description or "", info)


def takers(command: Publish) -> list[Queue]:
    """The queues to which the message would go now."""
    vhost = command.owner.vhost
    exchange = vhost.exchanges.get(command.exchange)
    return [] if exchange is None else route(vhost, exchange, command.routing_key, command.content)


def _subject_of(event: Delivery) -> str | None:
    return None if event.message_format else event.message.subject
