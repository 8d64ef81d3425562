"""IncomingLink: a link on which the broker receives and publishes messages (part 2 section 2.6, part 3 section 3.5)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from ....amqp_1_0 import Accepted, Error, Modified, Rejected, Released, Symbol
from ....amqp_1_0.codec.conditions import (
    DECODE_ERROR,
    INVALID_FIELD,
    NOT_FOUND,
    PRECONDITION_FAILED,
    RESOURCE_LIMIT_EXCEEDED,
)
from ....amqp_1_0.codec.performatives import TransactionalState
from ....amqp_1_0.endpoint.receiver import outcome_in
from ... import addresses
from ...addresses import BadAddress, NodeKind
from ...contents.amqp_1_0 import Content_1_0
from ...model.commands import Publish, UnlinkQueue
from ...model.faults import Fault
from ...model.options import is_whole
from .errors import Refusal, refusal_of, short
from .links import NodeLink
from .rendering import without_delivery_annotations
from .termini import sending_outcomes

if TYPE_CHECKING:
    from ....amqp_1_0 import Delivery, DeliveryState, Receiver
    from ...addresses import Node
    from ...model.commands import Published
    from ...model.owner import Owner, Transaction
    from ...model.queue import Queue
    from .links import LinkFrontend
    from .termini import Expiry

CREDIT: Final = 100
"""Initial credit of a client, renewed when half of it is used."""

_ACCEPTED: Final = Accepted()
_RELEASED: Final = Released()
_FULL: Final = "a queue is full (x-max-length or x-max-length-bytes) and takes no more (x-overflow)"
_DELAYS: Final = b"x-opt-delivery-"
_DELAY: Final = Symbol("x-opt-delivery-delay")
_MOMENT: Final = Symbol("x-opt-delivery-time")
"""Annotations: milliseconds to wait, and the Unix time in milliseconds at which to deliver."""
_REJECTED_SYMBOL: Final = Rejected.SYMBOL


class IncomingLink(NodeLink):
    """A target of the broker. `queue` is its queue, "" for another node; `outcomes` are those the client knows."""

    __slots__ = ("outcomes", "queue", "target")

    link: Receiver

    def __init__(
        self, front: LinkFrontend, link: Receiver, owner: Owner, node: Node, expiry: Expiry, target: Any, source: object
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
        """Grant credit unless the broker is full."""
        if self.link.is_open and not self.hub.is_blocked:
            self.link.top_up(CREDIT)

    def receive(self, event: Delivery) -> None:
        """Publish a received message and answer with its outcome."""
        front = self.front
        front.publishes = True
        if not event.message_format and front.connection.config.validate_content is False:
            fault = event.fault()
            if fault is not None:
                self._unreadable(event, Error(Symbol(fault.condition or DECODE_ERROR), short(str(fault))))
                self.give_credit()
                return
        state = event.state
        if isinstance(state, TransactionalState):
            front.post(self, event, state)
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
        """Publish in a transaction; return the future outcome, and the command for its end (part 4 section 4.4.1).

        Raises Refusal.
        """
        command = self._command(event, transaction)
        queues = takers(command)
        if not queues:
            return self._supported(_RELEASED, "no queue takes it"), None
        if any([queue.refuses(command.content) for queue in queues]):
            raise Refusal(RESOURCE_LIMIT_EXCEEDED, _FULL)
        try:
            self.hub.apply(command)
        except Fault as fault:
            raise refusal_of(fault) from None
        return _ACCEPTED, command

    def outcome_of(self, refusal: Refusal) -> DeliveryState | None:
        """Return the outcome for a refused message; None if the client understands none."""
        if _REJECTED_SYMBOL not in self.outcomes:
            return None
        # Clients read all three fields (azure-servicebus' pyamqp waits forever if the last one is missing).
        error = refusal.error
        return Rejected(Error(error.condition, error.description, {}))

    # Internals.

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
        content = Content_1_0(
            event.payload if event.message_format else without_delivery_annotations(event.payload), event.message_format
        )
        owner, later = self.front.connection_owner, transaction is not None
        delay = self._delay_of(event) if _DELAYS in event.payload else 0.0
        return Publish(
            owner, exchange, key, content, mandatory=later, transaction=transaction, promised=later, delay=delay
        )

    def _delay_of(self, event: Delivery) -> float:
        """Return the seconds for which a message waits by its annotations. Raises Refusal for what is no time."""
        annotations: Mapping[Any, Any] = {} if event.message_format else event.message.message_annotations
        delay = annotations.get(_DELAY)
        moment = annotations.get(_MOMENT)
        for name, value in ((_DELAY, delay), (_MOMENT, moment)):
            if value is not None and (not is_whole(value) or value < 0):
                raise Refusal(INVALID_FIELD, f"annotation {name}: {value!r} is no number of milliseconds")
        if delay is not None:
            return float(delay / 1000)
        hub = self.hub
        return 0.0 if moment is None else max(0.0, moment / 1000 - hub.settings.epoch - hub.now)

    def _node_of(self, event: Delivery) -> Node:
        """Return the node that a message itself names (`properties.to`)."""
        to = None if event.message_format else event.message.to
        if not isinstance(to, str) or not to:
            text = "a message to the anonymous terminus needs the node's address in its properties' field `to`"
            raise Refusal(PRECONDITION_FAILED, text)
        front = self.front
        try:
            node = addresses.find(front.connection_owner.vhost, to, auto_create=front.auto_create)
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
        """Return Released, or the nearest outcome that the client understands. Raises Refusal for a message to the
        anonymous terminus if it understands none: the link ends then."""
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

    def _unreadable(self, event: Delivery, error: Error) -> None:
        """End what isn't a message as a message is ended, by its outcome, and the link goes on; a strict broker ends
        the link.
        """
        node = self.node
        exchange, key = ("", node.name) if node.kind is NodeKind.QUEUE else (node.name, node.key or "")
        content = Content_1_0(event.payload, event.message_format)
        why = error.description or str(error.condition)
        self.hub.not_read(self.owner, exchange, key, content, why)
        if self.hub.settings.strict:
            self.end_with(event, Refusal(str(error.condition), why))
        elif not event.settled:
            self.link.update([event], outcome_in(event.state, Rejected(error)))

    def _refuse(self, event: Delivery, refusal: Refusal) -> None:
        """Reject a message, or end the link if only that tells the client; a settled message may be lost for lack of
        room.
        """
        if event.settled and refusal.condition == RESOURCE_LIMIT_EXCEEDED:
            return
        outcome = None if event.settled else self.outcome_of(refusal)
        if outcome is not None:
            self.link.update([event], outcome)
            return
        self.end_with(event, refusal)

    def end_with(self, event: Delivery, refusal: Refusal) -> None:
        """End the link, which is the only way to tell the client that a message was refused."""
        info: Mapping[Any, Any] = {Symbol("delivery-tag"): event.delivery_tag}
        self.link.close(refusal.condition, refusal.error.description or "", info)


def takers(command: Publish) -> list[Queue]:
    """Return the queues that would receive the message now."""
    vhost = command.owner.vhost
    exchange = vhost.exchanges.get(command.exchange)
    return [] if exchange is None else vhost.route(exchange, command.routing_key, command.content)


def _subject_of(event: Delivery) -> str | None:
    return None if event.message_format else event.message.subject
