"""Transactions: `Controller` asks a coordinator for them, `Resource` is the coordinator's end (part 4).

A resource's application applies the work: what is posted becomes visible, what is retired gets its outcome, when a
discharge succeeds. `Resource` keeps account of it, answers what has one answer, and finds the controller's faults.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, cast

from ...errors import LocalProtocolError
from ..codec import conditions
from ..codec.message import AmqpValue, Message
from ..codec.performatives import (
    Accepted,
    Coordinator,
    Declare,
    Declared,
    Discharge,
    Error,
    Rejected,
    Source,
    TransactionalState,
)
from ..codec.values import Symbol
from ..model.link_state import ID_SIZE, number_of

if TYPE_CHECKING:
    from ...events import Pending
    from ..codec.performatives import DeliveryState
    from .connection import Connection
    from .events import CreditChanged, Delivery, TransactionRequested
    from .receiver import Receiver
    from .sender import Sender

_DISTRIBUTED: Final = "amqp:distributed-transactions"
_REJECTED: Final = Symbol("amqp:rejected:list")


class Controller:
    """Declares and discharges transactions over a sender whose target is a coordinator.

    Transactional work names the txn-id that `declare` brought: `sender.send(..., state=TransactionalState(txn_id))`,
    `receiver.update(deliveries, TransactionalState(txn_id, Accepted()))`, `receiver.flow(..., properties={"txn-id":
    txn_id})`. None of it may be done on the control link itself (part 4 section 4.1).
    """

    __slots__ = ("sender",)

    def __init__(self, sender: Sender) -> None:
        local = sender.local
        if local is None or not isinstance(local.target, Coordinator):
            raise LocalProtocolError(
                f"link {sender.name!r} has no coordinator for its target; "
                "open it with session.open_sender(Coordinator(...))"
            )
        # The control link: its target is the coordinator.
        self.sender = sender

    def declare(self, global_id: object = None) -> Pending[Declared]:
        """Begin a transaction. The pending ends with Declared, whose `txn_id` names it, or Rejected with the error.

        Raises as `Sender.send`: a coordinator gives credit like any receiver.
        """
        target = self.sender.target
        offered = target.capabilities if isinstance(target, Coordinator) else ()
        if global_id is not None and _DISTRIBUTED not in offered:
            text = "a global-id is for coordinators with amqp:distributed-transactions, this one hasn't it"
            raise LocalProtocolError(text, rule="1.0/transactions/declare/global-id")
        return cast("Pending[Declared]", self.sender.send(Message(body=AmqpValue(Declare(global_id)))))

    def discharge(self, txn_id: bytes, *, fail: bool = False) -> Pending[object]:
        """Commit a transaction, or with `fail` roll it back. The pending ends with Accepted or Rejected."""
        if len(txn_id) > ID_SIZE:
            raise LocalProtocolError(
                f"a txn-id of {len(txn_id)} octets, 32 is the most", rule="1.0/transactions/txn-id-size"
            )
        return self.sender.send(Message(body=AmqpValue(Discharge(txn_id, fail))))


class Transaction:
    """An open transaction and its work, in the order it came."""

    __slots__ = ("_retired", "channel", "link", "posted", "txn_id")

    def __init__(self, txn_id: bytes, channel: int, link: int) -> None:
        # The name that the declare was answered with.
        self.txn_id = txn_id
        # The session's, of the control link that declared it.
        self.channel = channel
        # The handle of that control link: when it ends, its transactions are undone.
        self.link = link
        # Deliveries to make visible when it succeeds, with the outcome that the controller was told.
        self.posted: list[tuple[Delivery, DeliveryState]] = []
        # Deliveries of this end whose outcome holds when it succeeds, by their pendings, with the sender that settles
        # them (None: the application does).
        self._retired: dict[Pending[object], tuple[Sender | None, DeliveryState | None]] = {}

    @property
    def retired(self) -> list[tuple[Pending[object], DeliveryState | None]]:
        """Deliveries of this end, with the outcome that the controller wants for them."""
        return [(pending, outcome) for pending, (_, outcome) in self._retired.items()]

    def retire(self, pending: Pending[object], sender: Sender | None, outcome: DeliveryState | None) -> None:
        """The controller wants `outcome` for a delivery of `sender`, which is None where its link is detached."""
        self._retired.pop(pending, None)
        self._retired[pending] = sender, outcome

    def undo(self, peer: int) -> None:
        """Forget what side `peer` said of the deliveries that it retired here and that aren't settled."""
        for pending, (sender, _) in self._retired.items():
            tag = pending.key[2]
            delivery = sender.unsettled.get(tag) if sender is not None and isinstance(tag, bytes) else None
            if delivery is None or delivery.pending != pending:
                continue
            state = delivery.states[peer]
            if isinstance(state, TransactionalState) and state.txn_id == self.txn_id:
                delivery.unsay(peer)


class Resource:
    """The coordinator's end of the transactions of one connection."""

    __slots__ = ("_bound", "_next", "acquisition", "connection", "transactions")

    def __init__(self, connection: Connection, *, acquisition: bool = False) -> None:
        # Whose links do the work.
        self.connection = connection
        # Whether flows may bind what links acquire (part 4 section 4.4.3); without it such a link is detached.
        self.acquisition = acquisition
        # The open ones, by txn-id, the oldest first.
        self.transactions: dict[bytes, Transaction] = {}
        # The transactions in which deliveries were retired, until these end.
        self._bound: dict[Pending[object], Transaction] = {}
        # The number that the next txn-id is made of; it starts at 0 and never repeats on the connection.
        self._next = 0

    def declare(self, request: TransactionRequested) -> Transaction:
        """Answer a declare with a new transaction (part 4 section 4.2). Raises LocalProtocolError for a discharge."""
        if not isinstance(request.request, Declare):
            raise LocalProtocolError("a discharge can't be answered with a transaction")
        txn_id = self._next.to_bytes(4, "big")
        self._next += 1
        transaction = Transaction(txn_id, request.channel, request.link)
        self._control(request).update([request.delivery], Declared(txn_id), settled=True)
        self.transactions[txn_id] = transaction
        return transaction

    def discharge(self, request: TransactionRequested) -> Transaction | None:
        """The work of the transaction that is to be discharged: apply it, or undo it where `request.request.fail` says
        so, then `complete` or, for a commit, `refuse`.

        None when there is nothing to do, because the controller made a fault that it is told: a txn-id that isn't open
        is rejected, a delivery that is posted only in part ends the control link (part 4 section 4.4.1).
        Raises LocalProtocolError for a declare, and while a posted delivery hasn't been given its outcome.
        """
        asked = request.request
        if not isinstance(asked, Discharge):
            raise LocalProtocolError("a declare has no work")
        transaction = self._named(asked.txn_id, None)
        if transaction is None:
            self.refuse(request, conditions.TRANSACTION_UNKNOWN_ID, f"no transaction {asked.txn_id!r} is open")
            return None
        if self._partial(transaction):
            self._end(transaction, f"transaction {transaction.txn_id!r} is discharged with a delivery half sent")
            return None
        self._forget(transaction)
        return transaction

    def complete(self, request: TransactionRequested) -> None:
        """Say that the discharge is done."""
        self._control(request).update([request.delivery], Accepted(), settled=True)

    def refuse(self, request: TransactionRequested, condition: str, description: str = "") -> None:
        """Say that a declare or commit can't be done: by the outcome rejected where the control link takes it, else
        by detaching that with the error (part 4 sections 4.2 and 4.3).

        Raises LocalProtocolError for a rollback, which can always be done.
        """
        asked = request.request
        if isinstance(asked, Discharge) and asked.fail and condition != conditions.TRANSACTION_UNKNOWN_ID:
            raise LocalProtocolError("a rollback can't fail", rule="1.0/transactions/discharge/rollback-always")
        control = self._control(request)
        source = control.source
        outcomes = source.outcomes if isinstance(source, Source) else ()
        if not outcomes or _REJECTED in outcomes:
            control.update([request.delivery], Rejected(Error(Symbol(condition), description or None)), settled=True)
        else:
            control.close(condition, description)

    def post(self, delivery: Delivery, outcome: DeliveryState, *, settled: bool = False) -> Transaction | None:
        """Take note of a delivery whose state names a transaction, and tell the controller the outcome that it will
        have when the transaction succeeds (part 4 section 4.4.1).

        None when the transaction isn't open: then the link is detached with the error.
        """
        state = delivery.state
        if not isinstance(state, TransactionalState):
            raise LocalProtocolError(f"delivery {delivery.delivery_id} names no transaction")
        receiver: Any = self.connection.session(delivery.channel).link(delivery.link)
        transaction = self._named(state.txn_id, receiver)
        if transaction is None:
            return None
        transaction.posted.append((delivery, outcome))
        if not delivery.settled:
            receiver.update([delivery], TransactionalState(state.txn_id, outcome), settled=settled)
        return transaction

    def retire(
        self, sender: Sender | None, pendings: tuple[Pending[object], ...], state: TransactionalState
    ) -> Transaction | None:
        """The controller bound the outcome of deliveries of `sender` to a transaction (part 4 section 4.4.2).

        The sender is None where the link is detached and not closed.

        None when the transaction isn't open: the link is detached with the error; or when one of the deliveries
        belongs to another open transaction: that one's control link is ended.
        """
        transaction = self._named(state.txn_id, sender)
        if transaction is None:
            return None
        for pending in pendings:
            other = self._bound.get(pending, transaction)
            if other is not transaction:
                self._end(other, "a delivery's outcome is bound to two transactions")
                return None
        outcome: Any = state.outcome
        for pending in pendings:
            self._bound[pending] = transaction
            transaction.retire(pending, sender, outcome)
        return transaction

    def acquire(self, sender: Sender, event: CreditChanged) -> Transaction | None:
        """A flow for `sender` names the transaction of what it will acquire (part 4 section 4.4.3).

        None when it names none, or where that isn't supported or the transaction isn't open: then the link is detached.
        """
        found = None if event.properties is None else event.properties.get("txn-id")
        if found is None:
            return None
        if not self.acquisition:
            sender.close(conditions.NOT_IMPLEMENTED, "this link doesn't acquire transactionally")
            return None
        return self._named(found, sender)

    def undo(self, transaction: Transaction) -> None:
        """A transaction that was discharged or lost isn't committed: what its controller said of deliveries that aren't
        settled is as if it had never been said (part 4 section 4.4.4)."""
        transaction.undo(1 - number_of(self.connection.role))

    def control_link_closed(self, channel: int, link: int) -> tuple[Transaction, ...]:
        """The transactions that ended with their control link, to be rolled back (part 4 section 4.1)."""
        lost = [each for each in self.transactions.values() if (each.channel, each.link) == (channel, link)]
        for each in lost:
            self._forget(each)
        return tuple(lost)

    def _named(self, txn_id: object, link: Sender | Receiver | None) -> Transaction | None:
        """The open transaction of that id; without one a link that names it is detached with the error."""
        found = self.transactions.get(txn_id) if isinstance(txn_id, bytes) else None
        if found is None and link is not None:
            link.close(conditions.TRANSACTION_UNKNOWN_ID, f"no transaction {txn_id!r} is open")
        return found

    def _forget(self, transaction: Transaction) -> None:
        del self.transactions[transaction.txn_id]
        for pending, _ in transaction.retired:
            del self._bound[pending]

    def _control(self, request: TransactionRequested) -> Receiver:
        link: Any = self.connection.session(request.channel).link(request.link)
        receiver: Receiver = link
        return receiver

    def _partial(self, transaction: Transaction) -> bool:
        """Whether a posting under way names the transaction; of what is acquired, the discharge decides (4.4.3)."""
        for channel in self.connection.sessions:
            for link in self.connection.session(channel).links:
                current = link.current if link.ROLE else None
                state = None if current is None else current.states[link.sender]
                if isinstance(state, TransactionalState) and state.txn_id == transaction.txn_id:
                    return True
        return False

    def _end(self, transaction: Transaction, why: str) -> None:
        """A fault of the controller ends its control link."""
        link = self.connection.session(transaction.channel).link(transaction.link)
        link.close(conditions.TRANSACTION_ROLLBACK, why)
