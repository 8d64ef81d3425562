"""Coordination: the transactions of one connection, between the engine's record of them and the model (part 4)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from ...._ground.invariants import ensure
from ....amqp_1_0 import Rejected, Released, Resource, Symbol
from ....amqp_1_0.codec.conditions import (
    LOCAL_TRANSACTIONS,
    MULTI_SSNS_PER_TXN,
    MULTI_TXNS_PER_SSN,
    NOT_IMPLEMENTED,
    TRANSACTION_ROLLBACK,
)
from ....amqp_1_0.codec.performatives import Declare, Discharge, TransactionalState
from ...addresses import NodeKind
from ...model.commands import Begin, Commit, Outcome, Rollback, Settle
from ...model.faults import Fault
from .errors import Refusal, refusal_of, short
from .own_nodes import rejected
from .sources import OutgoingLink
from .targets import CREDIT, takers

if TYPE_CHECKING:
    from ....amqp_1_0 import CreditChanged, Delivery, DeliveryState, Receiver, TransactionRequested
    from ....amqp_1_0 import Transaction as Booked
    from ....events import Pending
    from ...model.commands import Publish
    from ...model.entry import Entry
    from ...model.owner import Transaction
    from ...nodes import Attachment, Step
    from .links import LinkFrontend
    from .own_nodes import OwnNodes
    from .targets import IncomingLink

CAPABILITIES: Final = (LOCAL_TRANSACTIONS, MULTI_TXNS_PER_SSN, MULTI_SSNS_PER_TXN)


class Work:
    """The model's side of a transaction.

    `failed` is the reason it can't be committed any more. `promised` are publishes whose outcome was announced. By link
    and delivery-tag, `retired` are messages that the controller settled in it, `acquired` those sent in it, and `bound`
    deliveries with an outcome that the controller announced without settling, with that and the message; it has no
    effect for a browser. `unsettled` are deliveries posted in it that their sender settles first, with their future
    outcomes. `steps` are what nodes of the namespace do when it ends, `told` the outcomes of deliveries of theirs.
    """

    __slots__ = ("acquired", "bound", "failed", "promised", "retired", "steps", "told", "transaction", "unsettled")

    def __init__(self, transaction: Transaction) -> None:
        self.transaction = transaction
        self.failed = ""
        self.promised: list[Publish] = []
        self.retired: dict[tuple[OutgoingLink, bytes], Entry] = {}
        self.acquired: dict[tuple[OutgoingLink, bytes], Entry] = {}
        self.bound: dict[tuple[OutgoingLink, bytes], tuple[DeliveryState | None, Entry | None]] = {}
        self.unsettled: list[tuple[Delivery, DeliveryState]] = []
        self.steps: list[Step] = []
        self.told: list[tuple[Attachment, tuple[bytes, ...], DeliveryState | None]] = []


class Coordination:
    """The coordinator of one connection. `work` has each transaction's work, by txn-id."""

    __slots__ = ("front", "own_nodes", "resource", "work")

    def __init__(self, front: LinkFrontend, own_nodes: OwnNodes) -> None:
        self.front = front
        self.own_nodes = own_nodes
        self.resource = Resource(front.connection, acquisition=True)
        self.work: dict[bytes, Work] = {}

    def check(self) -> None:
        """Check that each transaction's work is known here, in the engine and in the model. For tests; raises
        AssertionError."""
        known = set(self.resource.transactions)
        ensure(set(self.work) == known, self.front, "`work` has each transaction", set(self.work), known)
        open_now = self.front.hub.model.transactions
        gone = [each for each, work in self.work.items() if work.transaction.number not in open_now]
        ensure(not gone, self.front, "each transaction is open in the model", gone)

    # Declaring and discharging.

    def request(self, event: TransactionRequested) -> None:
        """Handle a declare or discharge."""
        if isinstance(event.request, Declare):
            self._declare(event)
        else:
            self._discharge(event, event.request)
        link: Any = self.front.link(event.channel, event.link)
        if link is not None and link.is_open:
            link.top_up(CREDIT)

    def _declare(self, event: TransactionRequested) -> None:
        assert isinstance(event.request, Declare)
        if event.request.global_id is not None:
            text = "there are local transactions only, without a global-id"
            self.resource.refuse(event, NOT_IMPLEMENTED, text)
            return
        try:
            transaction = self.front.hub.apply(Begin(self.front.connection_owner))
        except Fault as fault:
            refusal = refusal_of(fault)
            self.resource.refuse(event, refusal.condition, short(refusal.text))
            return
        self.work[self.resource.declare(event).txn_id] = Work(transaction)

    def _discharge(self, event: TransactionRequested, request: Discharge) -> None:
        booked = self.resource.discharge(event)
        if booked is None:
            self._sweep()
            return
        work = self._take(booked)
        if request.fail:
            self._rollback(work, booked)
            self.resource.complete(event)
            return
        problem = self._commit(work)
        if problem:
            self._rollback(work, booked)
            self.resource.refuse(event, TRANSACTION_ROLLBACK, short(problem))
        else:
            self._tell(work)
            self.resource.complete(event)

    @property
    def places(self) -> list[tuple[int, int]]:
        """The control links with open transactions, by channel and handle."""
        return [(each.channel, each.link) for each in self.resource.transactions.values()]

    def control_link_closed(self, channel: int, link: int) -> None:
        """Roll back everything declared on a closed control link (part 4 section 4.1)."""
        for booked in self.resource.control_link_closed(channel, link):
            self._rollback(self._take(booked), booked)

    def _sweep(self) -> None:
        """Roll back transactions of control links that were closed because of the controller's error."""
        for booked in list(self.resource.transactions.values()):
            link = self.front.link(booked.channel, booked.link)
            if link is None or link.closing is not None:
                self.control_link_closed(booked.channel, booked.link)

    # Work.

    def post(self, link: IncomingLink, event: Delivery, state: TransactionalState) -> None:
        """Publish a message once the transaction succeeds (part 4 section 4.4.1)."""
        work = self.work.get(_key(state.txn_id))
        if work is None:
            self.resource.post(event, Released())
            return
        try:
            outcome, command = link.post(event, work.transaction)
        except Refusal as refusal:
            told = None if event.settled else link.outcome_of(refusal)
            if told is None:
                # The controller doesn't learn of this, so the transaction must not appear to succeed.
                work.failed = work.failed or f"a message can't be published: {refusal.text}"
                if link.node.kind is NodeKind.ANONYMOUS:
                    link.end_with(event, refusal)
                    return
                outcome = Rejected(refusal.error)
            else:
                outcome = told
            command = None
        if command is not None:
            work.promised.append(command)
        elif event.settled:
            work.failed = work.failed or "no queue takes a message"
        settles = self._settles(link.link, event)
        if not settles and not event.settled:
            work.unsettled.append((event, outcome))
        self.resource.post(event, outcome, settled=settles)

    def retire(self, link: OutgoingLink, pendings: tuple[Pending[Any], ...], state: TransactionalState) -> None:
        """Apply outcomes in a transaction (part 4 section 4.4.2)."""
        settled: list[Any] = [each.key[2] for each in pendings if each.done]
        booked = self.resource.retire(link.link, pendings, state)
        if booked is None:
            self._sweep()
            for each in settled:
                entry = link.held.pop(each, None)
                if entry is not None:
                    link.decide((entry,), None)
            return
        work = self.work[booked.txn_id]
        outcome: Any = state.outcome
        for pending in pendings:
            tag: Any = pending.key[2]
            work.bound.pop((link, tag), None)
            if not pending.done:
                work.bound[(link, tag)] = outcome, link.held.get(tag)
                continue
            entry = link.held.pop(tag, None)
            if entry is None:
                continue
            if link.state is not None:
                link.later(tag, outcome)
            work.retired[(link, tag)] = entry
            try:
                # The controller can't change it any more, and the link may go.
                link.decide((entry,), outcome, work.transaction)
            except Fault as fault:
                work.failed = work.failed or fault.text

    def post_to_node(self, found: Attachment, event: Delivery, state: TransactionalState) -> None:
        """Give a message to a node of the namespace, to be visible once the transaction succeeds."""
        work = self.work.get(_key(state.txn_id))
        outcome: DeliveryState = Released()
        if work is not None:
            try:
                outcome, step = self.own_nodes.post(found, event)
            except Refusal as refusal:
                outcome = rejected(refusal, found)
                if event.settled:
                    work.failed = work.failed or refusal.text
            else:
                if step is not None:
                    work.steps.append(step)
        self.resource.post(event, outcome, settled=found.link.rcv_settle_mode == 0)
        found.give_credit()

    def retire_at_node(self, found: Attachment, pendings: tuple[Any, ...], state: TransactionalState) -> None:
        """Have a node of the namespace carry out an outcome once the transaction succeeds (part 4 section 4.4.2).

        A delivery that the controller doesn't settle is settled with the transaction, or at once if the node wants it.
        """
        sender: Any = found.link
        # Deliveries that were settled here, or retired with a settlement, are decided.
        pendings = tuple([each for each in pendings if each.key[2] in found.undecided])
        if not pendings:
            return
        booked = self.resource.retire(sender, pendings, state)
        if booked is None:
            self._sweep()
            return
        work = self.work[booked.txn_id]
        try:
            step = self.own_nodes.retire(found, pendings, state)
        except Refusal as refusal:
            work.failed = work.failed or refusal.text
            return
        if step is not None:
            work.steps.append(step)
        for each in pendings:
            if each.done:
                found.undecided.pop(each.key[2], None)
        tags: tuple[bytes, ...] = tuple([each.key[2] for each in pendings if not each.done])
        if not tags:
            return
        if found.node is not None and found.node.settles_retired:
            found.settle(tags, state)
            return
        outcome: Any = state.outcome
        work.told.append((found, tags, outcome))

    def acquire(self, link: OutgoingLink, event: CreditChanged) -> bool:
        """Apply the transaction that a flow may name to subsequent deliveries (part 4 section 4.4.3); return False if
        that failed."""
        if event.properties is None or event.properties.get(Symbol("txn-id")) is None:
            return True
        booked = self.resource.acquire(link.link, event)
        if booked is not None:
            link.txn = booked.txn_id
        return booked is not None

    def acquired(self, link: OutgoingLink, tag: bytes, entry: Entry) -> None:
        """Record a message sent in the transaction of its link."""
        assert link.txn is not None
        work = self.work[link.txn]
        work.acquired[(link, tag)] = entry
        if link.settles:
            # No outcome can follow, and the link may go.
            self.front.hub.apply(Settle(link.owner, (entry,), Outcome.ACCEPT, transaction=work.transaction))

    # Internals.

    def _take(self, booked: Booked) -> Work:
        """Remove and return the work of a transaction that ends; its links' later deliveries don't belong to it."""
        for link in self.front.links.values():
            if isinstance(link, OutgoingLink) and link.txn == booked.txn_id:
                link.txn = None
        return self.work.pop(booked.txn_id)

    def _settles(self, link: Receiver, event: Delivery) -> bool:
        """Whether a posted delivery is settled with its provisional outcome; false if the sender settles first."""
        delivery = link.unsettled.get(event.delivery_tag)
        mode = None if delivery is None else delivery.rcv_settle_mode
        return not (link.rcv_settle_mode if mode is None else mode)

    def _commit(self, work: Work) -> str:
        """Commit in the model; return why that failed, "" if it succeeded."""
        if work.failed:
            return work.failed
        for command in work.promised:
            if not takers(command):
                return f"no queue takes a message to {command.exchange!r} with {command.routing_key!r} any more"
        problem = next(filter(None, [step.problem() for step in work.steps]), "")
        if problem:
            return problem
        try:
            self._retire(work)
            self.front.hub.apply(Commit(work.transaction))
        except Fault as fault:
            return fault.text
        except Refusal as refusal:
            return refusal.text
        for step in work.steps:
            step.commit()
        return ""

    def _retire(self, work: Work) -> None:
        """Apply the outcomes of unsettled retired messages in the model's transaction. Raises Refusal, Fault."""
        for (link, tag), (outcome, entry) in work.bound.items():
            if not link.acquires:
                continue
            if entry is None or link.held.get(tag) is not entry:
                text = f"the message of delivery {tag!r} isn't with link {link.link_key[2]!r} any more"
                raise Refusal(TRANSACTION_ROLLBACK, text)
            link.decide((entry,), outcome, work.transaction)

    def _tell(self, work: Work) -> None:
        """Settle the deliveries decided by the transaction that are still unsettled, with the outcome applied."""
        for (link, tag), (outcome, _) in work.bound.items():
            link.held.pop(tag, None)
            link.later(tag, outcome)
        for delivery, told in work.unsettled:
            self._update(delivery, told)
        for found, tags, outcome in work.told:
            found.settle(tags, outcome)
            found.go_on()

    def _update(self, delivery: Delivery, state: DeliveryState | None) -> None:
        """Send the outcome of a posted delivery, if its sender hasn't settled it yet."""
        link = self.front.link(delivery.channel, delivery.link)
        if link is not None and link.is_attached and delivery.delivery_tag in link.unsettled:
            link.update([delivery], state, settled=False)

    def _rollback(self, work: Work, booked: Booked) -> None:
        """Undo posts; return retired messages to their previous state, or apply the default outcome to those settled by
        the controller; make acquired messages available again (part 4 section 4.4.4)."""
        hub = self.front.hub
        self.resource.undo(booked)
        for step in work.steps:
            step.roll_back()
        if work.transaction.number in hub.model.transactions:
            hub.apply(Rollback(work.transaction))
        for (link, tag), entry in work.acquired.items():
            was_retired = work.retired.pop((link, tag), None) is not None
            if link.held.pop(tag, None) is not None or was_retired or link.settles:
                # Otherwise the link is gone, and its messages have their default outcome.
                link.decide((entry,), Released(), owner=entry.owner)
            link.later(tag, Released())
        for (link, _), entry in work.retired.items():
            # The link may be gone, with its messages left to the connection.
            link.decide((entry,), None, owner=entry.owner)
        for delivery, _ in work.unsettled:
            self._update(delivery, None)


def _key(txn_id: object) -> bytes:
    return txn_id if isinstance(txn_id, bytes) else b""
