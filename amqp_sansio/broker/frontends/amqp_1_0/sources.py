"""OutgoingLink: a link on which the broker sends: a consumer of a queue, browser, or subscriber of an exchange.

Part 2 section 2.6, part 3 sections 3.3 to 3.5.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any, Final

from ...._ground.invariants import ensure
from ....amqp_1_0 import Accepted, LinkState, Modified, Rejected, Released, Source
from ....amqp_1_0.codec.conditions import SenderSettleMode
from ....amqp_1_0.codec.performatives import TransactionalState
from ...model.commands import Cancel as CancelConsumer
from ...model.commands import Grant, Outcome, Settle, SetWindow, Subscribe, UnlinkQueue
from ...model.consumer import Window
from .links import NodeLink
from .rendering import annotated, payload_of, rejected
from .termini import receiving_mode

if TYPE_CHECKING:
    from ....amqp_1_0 import CreditChanged, DeliveryState, Sender
    from ...addresses import Node
    from ...model.consumer import Consumer
    from ...model.content import Filter
    from ...model.entry import Entry
    from ...model.owner import Owner
    from .links import LinkFrontend
    from .termini import Expiry

SETTLED: Final = SenderSettleMode.SETTLED

Binding = tuple[str, dict[str, Any]]
"""The key and arguments of a binding."""


class OutgoingLink(NodeLink):
    """One source of the broker.

    `held` are sent, unsettled messages by delivery-tag; `outbox` are messages from the model that can't be sent yet,
    because the session's window or the client's reading is behind. `txn` is the transaction of current deliveries (part
    4 section 4.4.3). `seen` is the position of a suspended browser. `rcv_settle_mode` is that of each delivery if it
    differs from the link's. `binding` is the binding of a private queue to its exchange.
    """

    __slots__ = (
        "acquires",
        "binding",
        "consumer",
        "default_outcome",
        "draining",
        "filter",
        "held",
        "outbox",
        "priority",
        "queue",
        "rcv_settle_mode",
        "seen",
        "settles",
        "source",
        "txn",
        "window",
    )

    link: Sender

    def __init__(
        self,
        front: LinkFrontend,
        link: Sender,
        owner: Owner,
        node: Node,
        expiry: Expiry,
        queue: str,
        source: Source,
        *,
        acquires: bool,
        filter: Filter | None,
        default_outcome: DeliveryState,
        priority: int,
    ) -> None:
        NodeLink.__init__(self, front, link, owner, node, expiry)
        self.queue = queue
        self.source = source
        self.acquires = acquires
        self.filter = filter
        self.default_outcome = default_outcome
        self.priority = priority
        self.binding: Binding | None = None
        self.settles = False
        self.rcv_settle_mode: int | None = None
        self.window = Window(0)
        self.consumer: Consumer | None = None
        self.held: dict[bytes, Entry] = {}
        self.outbox: deque[Entry] = deque()
        self.draining = False
        self.txn: bytes | None = None
        self.seen: tuple[int, ...] = ()

    def check(self) -> None:
        """As every terminus's; and while it is attached, that what its owner holds is known, and that the model has the
        client's credit."""
        super().check()
        if not self.is_attached:
            return
        where, link, front = f"terminus {self.link_key}", self.link, self.front
        stands = link.is_attached or link.closing is not None
        ensure(stands, where, "its link is attached, or about to end")
        mine = [each for each in self.outbox if each.owner is not self.owner] if self.acquires else []
        ensure(not mine, where, "what waits to be sent is the owner's", mine)
        taken = front.taken()
        strange = set(self.owner.held) - {*self.held.values(), *self.outbox, *taken}
        ensure(not strange, where, "what the owner holds was sent, or is about to be", strange)
        consumer = self.consumer
        if consumer is None:
            return
        ensure(front.consumers.get(consumer.number) is self, where, "its consumer is known by its connection")
        ensure(consumer.owner is self.owner, where, "its consumer is its owner's")
        sending = link.waiting is not None or link.current is not None or link.resending
        blocked = not self.outbox and (sending or not link.session.outgoing_window)
        if link.closing is None and not blocked:
            # Else it was stolen by another one and waits for its client's detach, or for the session's window.
            left = 0 if self.outbox else self.credit
            ensure(self.window.messages == left, where, "its window has its credit", self.window.messages, left)

    # Attaching and detaching.

    def subscribe(self) -> None:
        """Become a consumer, at first without credit. Raises Fault."""
        front = self.front
        self.window = Window(0)
        consumer: Consumer = self.hub.apply(
            Subscribe(
                self.owner,
                self.queue,
                self.key,
                (self.window, front.gate),
                acquires=self.acquires,
                priority=self.priority,
                filter=self.filter,
                cursors=self.seen,
            )
        )
        self.consumer = consumer
        front.consumers[consumer.number] = self

    def answered(self) -> None:
        """Adopt the negotiated settle modes after the attach."""
        link = self.link
        self.settles = link.snd_settle_mode == SETTLED
        asked = link.rcv_settle_mode or 0
        mode = receiving_mode(asked, self.source, self.expiry)
        self.rcv_settle_mode = None if mode == asked else mode

    def stop(self) -> None:
        """Stop deliveries and return unsent messages as if never delivered."""
        consumer, self.consumer = self.consumer, None
        if consumer is not None:
            self.front.consumers.pop(consumer.number, None)
            self.seen = tuple(consumer.cursors)
            self.hub.apply(CancelConsumer(consumer))
            # Messages that the model delivered meanwhile return too.
            self.hub.settle()
        self.txn = None
        self.draining = False
        if self.acquires:
            unsent = tuple([each for each in self.outbox if each.owner is self.owner])
            self.outbox.clear()
            if unsent:
                self.hub.apply(Settle(self.owner, unsent, Outcome.RELEASE))

    def end(self) -> None:
        """End the source: apply the default outcome to unsettled messages (part 3 section 3.5.3)."""
        self.stop()
        self.outbox.clear()
        entries = [each for each in self.held.values() if each.transaction is None]
        self.held.clear()
        for each in entries:
            self.decide((each,), self.default_outcome)
        self.hub.apply(UnlinkQueue(self.owner, self.queue))

    # Sending.

    @property
    def credit(self) -> int:
        """Messages that may be sent now; none until the client has sent its whole unsettled map (part 2 section 2.7.3,
        incomplete-unsettled)."""
        remote = self.link.remote
        return 0 if remote is not None and remote.incomplete_unsettled else self.link.credit

    def deliver(self, entry: Entry) -> None:
        """Take a message from the model."""
        self.outbox.append(entry)
        self.flush()

    def credit_changed(self, event: CreditChanged) -> None:
        """Continue after a change of credit, or room in the session's window."""
        if event.drain:
            self.draining = True
        self.go_on()

    def go_on(self) -> None:
        """Send as much as possible, and drain if requested."""
        hub = self.hub
        self.flush()
        # The window counts messages on the way to `deliver`; the credit doesn't.
        hub.settle()
        if self.consumer is not None and not self.outbox and self.window.messages != self.credit:
            hub.apply(SetWindow(self.window, self.credit))
            hub.settle()
        self.end_drain()

    def flush(self) -> None:
        """Send waiting messages as far as possible; close the model's window while some still wait."""
        outbox = self.outbox
        while outbox and self._can_send(outbox[0]):
            self._send(outbox.popleft())
        if outbox and self.window.messages:
            self.hub.apply(SetWindow(self.window, 0))

    def end_drain(self) -> None:
        """Use up the remaining credit when there is nothing left to send (part 2 section 2.6.7)."""
        link = self.link
        if not self.draining or self.outbox or link.current is not None or not link.is_open:
            return
        gate = self.front.gate.octets
        if link.credit and gate is not None and gate <= 0:
            return
        self.draining = False
        if link.drain_wanted:
            link.drained()
            # Later messages aren't for this link.
            if self.window.messages != self.credit:
                self.hub.apply(SetWindow(self.window, self.credit))

    def _can_send(self, entry: Entry) -> bool:
        link = self.link
        if not self.credit:
            return False
        if self.settles:
            return True
        limits = link.session.connection.config.limits
        return len(link.session.own.deliveries) < limits.unsettled and (
            not link.kept_octets or link.kept_octets + entry.message.content.octets < limits.bodies
        )

    def _send(self, entry: Entry) -> None:
        front, link = self.front, self.link
        if self.acquires and entry.owner is not self.owner:
            self.hub.apply(Grant(self.window, 1))
            return
        payload, form = payload_of(entry, self.hub.now, says_where=front.is_rabbitmq)
        limit = link.max_message_size
        if (limit and len(payload) > limit) or len(payload) > link.session.connection.config.limits.bodies:
            # Other consumers may be able to take it.
            if self.consumer is not None:
                self.hub.not_sent(
                    self.consumer, entry, f"it has {len(payload)} octets, the link takes {limit or 'fewer'}"
                )
            if self.acquires:
                self.hub.apply(Settle(self.owner, (entry,), Outcome.RELEASE, excluded=True))
            self.hub.apply(Grant(self.window, 1))
            return
        if self.txn is None and not form and self.rcv_settle_mode is None:
            pending = link.send(payload)
        else:
            state = None if self.txn is None else TransactionalState(self.txn)
            mode = self.rcv_settle_mode
            pending = link.send(payload, state=state, message_format=form, rcv_settle_mode=mode)
        if not self.acquires:
            return
        tag: Any = pending.key[2]
        if self.txn is not None:
            front.acquired(self, tag, entry)
        if not self.settles:
            self.held[tag] = entry
        elif self.txn is None:
            self.hub.apply(Settle(self.owner, (entry,), Outcome.ACCEPT))

    # Settling.

    def settled(self, tags: list[bytes], state: object) -> None:
        """Handle settled deliveries, all with the same state."""
        held = self.held
        entries = [held.pop(tag) for tag in tags if tag in held]
        if self.state is not None:
            self.state = without(self.state, *tags)
        if entries:
            self.decide(tuple(entries), state)
            if self.outbox and self.is_attached:
                self.go_on()

    def decide(
        self, entries: tuple[Entry, ...], state: object, transaction: Any = None, owner: Owner | None = None
    ) -> None:
        """Apply an outcome at the node; any other state counts as the default outcome. `owner` holds the messages if
        the link doesn't. Raises Fault."""
        owner = owner or self.owner
        entries = tuple([each for each in entries if each.owner is owner])
        if not entries:
            return
        apply = self.hub.apply
        if not isinstance(state, Accepted | Rejected | Released | Modified):
            state = self.default_outcome
        if isinstance(state, Accepted):
            apply(Settle(owner, entries, Outcome.ACCEPT, transaction=transaction))
        elif isinstance(state, Rejected):
            for each in entries:
                content = rejected(each, state.error)
                apply(Settle(owner, (each,), Outcome.REJECT, content=content, transaction=transaction))
        elif isinstance(state, Modified):
            for each in entries:
                annotations = state.message_annotations
                content = annotated(each, annotations) if annotations else None
                apply(
                    Settle(
                        owner,
                        (each,),
                        Outcome.RELEASE,
                        redelivered=True,
                        delivery_failed=bool(state.delivery_failed),
                        excluded=bool(state.undeliverable_here),
                        content=content,
                        transaction=transaction,
                    )
                )
        else:
            # Each returns to its place; the oldest last, to the head of the queue.
            apply(Settle(owner, entries[::-1], Outcome.RELEASE, redelivered=True, transaction=transaction))

    def later(self, tag: bytes, state: Any) -> None:
        """Settle a delivery here with its outcome: one sent in part once it is complete; one waiting to be sent again
        isn't sent any more."""
        if self.state is not None:
            self.state = without(self.state, tag)
            return
        link = self.link
        delivery = link.unsettled.get(tag)
        if not link.is_attached:
            return
        if delivery is None:
            if tag in link.pending:
                link.settle(tag, state)
        elif delivery is link.current or delivery.rest is not None:
            self.front.unfinished[self, tag] = state
        else:
            link.settle(tag, state)


def without(state: LinkState, *tags: bytes) -> LinkState:
    """Return the state to save of a link, without some deliveries."""
    gone = frozenset(tags)
    kept = tuple([each for each in state.unsettled if each.delivery_tag not in gone])
    return LinkState(
        state.name,
        state.is_sender,
        state.source,
        state.target,
        state.snd_settle_mode,
        state.rcv_settle_mode,
        state.next_tag,
        kept,
        state.rounds,
    )
