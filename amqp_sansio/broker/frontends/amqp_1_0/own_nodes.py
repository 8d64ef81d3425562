"""OwnNodes: the links of one connection to nodes of the hub's `Namespace`, between the engine's events and them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from ....amqp_1_0 import Error, Rejected, Symbol
from ....amqp_1_0.codec.conditions import DECODE_ERROR
from ....amqp_1_0.codec.performatives import TransactionalState
from .errors import Refusal, fitting, short

if TYPE_CHECKING:
    from ....amqp_1_0 import CreditChanged, Delivery, DeliveryState, Receiver, Sender
    from ....amqp_1_0.codec.performatives import Attach
    from ...nodes import Attachment, Node, Peer, Step
    from .links import LinkFrontend

_NO_INFO: Final[dict[Any, Any]] = {}


class OwnNodes:
    """The attachments of one connection, by channel and handle; those on which the broker sends also by name."""

    __slots__ = ("_front", "_senders", "peer")

    def __init__(self, front: LinkFrontend) -> None:
        self._front = front
        self.peer: Peer | None = None
        self._senders: dict[str, Attachment] = {}

    # The connection.

    def opened(self) -> None:
        """The connection is open."""
        namespace = self._front.hub.namespace
        if namespace is not None:
            from ...nodes import Peer

            self.peer = Peer(self._front)
            namespace.opened(self.peer)

    def is_over(self, channel: int | None = None) -> None:
        """End the links of a session, or all and the connection."""
        peer = self.peer
        if peer is None:
            return
        for place in list(peer.attachments):
            if channel in (None, place[0]):
                self.link_closed(*place)
        namespace = self._front.hub.namespace
        if channel is None and namespace is not None:
            self.peer = None
            namespace.closed(peer)

    # Links.

    def find(self, attach: Attach) -> Node | None:
        """Return the node that an attach is for, None if it isn't one of the namespace. Raises Refusal."""
        namespace = self._front.hub.namespace
        peer = self.peer
        return None if namespace is None or peer is None else namespace.find(peer, attach)

    def attach(self, node: Node, link: Sender | Receiver, attach: Attach) -> None:
        """Answer an attach. Raises Refusal."""
        from ...nodes import Attachment

        peer = self.peer
        assert peer is not None
        made = Attachment(peer, link, attach)
        made.node = node
        peer.attachments[made.place] = made
        if made.is_sender:
            self._senders[made.name] = made
        try:
            node.attach(made)
        except BaseException:
            self._remove(made)
            raise

    def link_closed(self, channel: int, handle: int) -> bool:
        """Tell the node of a link that it has ended; return whether the link was one of these."""
        peer = self.peer
        found = None if peer is None else peer.attachments.get((channel, handle))
        if found is None:
            return False
        self._remove(found)
        if found.node is not None:
            found.node.closed(found)
        return True

    def at(self, channel: int, handle: int) -> Attachment | None:
        """Return the attachment of a link."""
        return None if self.peer is None else self.peer.attachments.get((channel, handle))

    def sender(self, name: str) -> Attachment | None:
        """Return the attachment on which the broker sends, by its name."""
        return self._senders.get(name)

    def _remove(self, made: Attachment) -> None:
        made.peer.attachments.pop(made.place, None)
        if self._senders.get(made.name) is made:
            del self._senders[made.name]

    # Messages from the client.

    def receive(self, found: Attachment, event: Delivery) -> None:
        """Give a message to its node, and answer with the outcome."""
        self._front.publishes = True
        if not self._is_readable(found, event):
            found.give_credit()
            return
        assert found.node is not None
        try:
            outcome = found.node.receive(found, event)
        except Refusal as refusal:
            self.refuse(found, event, refusal)
        else:
            if outcome is not None:
                found.answer(event, outcome)
        found.give_credit()

    def _is_readable(self, found: Attachment, event: Delivery) -> bool:
        if event.message_format or self._front.connection.config.validate_content is not False:
            return True
        fault = event.fault()
        if fault is None:
            return True
        found.answer(event, Rejected(Error(Symbol(fault.condition or DECODE_ERROR), short(str(fault)), _NO_INFO)))
        return False

    @staticmethod
    def refuse(found: Attachment, event: Delivery, refusal: Refusal) -> None:
        """Reject a message; one that was sent settled ends its link, which is the only way to tell the client."""
        if event.settled:
            found.detach(refusal.condition, refusal.text, {Symbol("delivery-tag"): event.delivery_tag})
        else:
            found.answer(event, rejected(refusal, found))

    # Messages to the client.

    def credit_changed(self, found: Attachment, event: CreditChanged) -> None:
        """Let the node send."""
        if event.drain:
            found.is_draining = True
        found.go_on()

    def caught_up(self) -> None:
        """The client has read: go on with its links."""
        if self.peer is not None:
            for each in list(self.peer.attachments.values()):
                if each.is_sender:
                    each.go_on()

    @staticmethod
    def decide(found: Attachment, pendings: tuple[Any, ...], state: Any, *, settled: bool) -> None:
        """Carry out the client's outcome of deliveries, and settle them if the client waits for that."""
        # What the node has settled itself is reported as settled, too.
        tags: tuple[bytes, ...] = tuple([each.key[2] for each in pendings if each.key[2] in found.undecided])
        outcome: DeliveryState | None = state if getattr(state, "OUTCOME", False) else None
        if not tags or (outcome is None and not settled):
            return
        assert found.node is not None
        try:
            holds = found.node.decide(found, tags, outcome)
        except Refusal as refusal:
            holds = rejected(refusal, found)
        if settled:
            for tag in tags:
                found.undecided.pop(tag, None)
        else:
            found.settle(tags, holds)
        found.go_on()

    # Transactions.

    @staticmethod
    def post(found: Attachment, event: Delivery) -> tuple[DeliveryState, Step | None]:
        """Give a message of a transaction to its node; return the outcome to come. Raises Refusal."""
        assert found.node is not None
        return found.node.post(found, event)

    @staticmethod
    def retire(found: Attachment, pendings: tuple[Any, ...], state: TransactionalState) -> Step | None:
        """Return what the node has to do when the transaction ends. Raises Refusal."""
        assert found.node is not None
        outcome: Any = state.outcome
        return found.node.retire(found, tuple([each.key[2] for each in pendings]), outcome)


def rejected(refusal: Refusal, found: Attachment) -> Rejected:
    """Return the outcome of a refused message. Clients read all three fields of its error."""
    return Rejected(Error(Symbol(refusal.condition), fitting(refusal.text, found.peer.connection), _NO_INFO))
