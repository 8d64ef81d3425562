"""Transactions: work is kept until the commit, and then done in its order."""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import consuming, publishing, settling
from .commands import Publish
from .entry import MESSAGE_OCTETS, Message
from .faults import Fault, FaultKind
from .transaction import TRANSACTION, Transaction, TransactionInput

if TYPE_CHECKING:
    from . import commands
    from .broker import Broker
    from .commands import Settle


def begin(broker: Broker, command: commands.Begin) -> Transaction:
    """`Begin`."""
    owner = command.owner
    vhost = broker.vhosts.get(command.vhost) if owner is None else owner.vhost
    if vhost is None:
        raise Fault(FaultKind.NOT_FOUND, f"no vhost {command.vhost!r}", "vhost")
    if len(broker.transactions) >= broker.limits.transactions:
        limit = broker.limits.transactions
        text = f"{limit} transactions are open, BrokerLimits.transactions allows no more"
        raise Fault(FaultKind.LIMIT, text)
    transaction = Transaction(broker.new_number(), vhost, owner)
    broker.transactions[transaction.number] = transaction
    if owner is not None:
        owner.transactions[transaction.number] = transaction
    return transaction


def commit(broker: Broker, command: commands.Commit) -> tuple[Message, ...]:
    """`Commit`."""
    transaction = command.transaction
    _step(transaction, TransactionInput.COMMIT)
    _forget(broker, transaction)
    returned: list[Message] = []
    for each in transaction.work:
        if isinstance(each, Publish):
            published, message = publishing.place(broker, each)
            if (each.mandatory and not published.routed) or (each.immediate and not published.consumed):
                message.mandatory = each.mandatory and not published.routed
                returned.append(message)
        else:
            for entry in each.entries:
                entry.transaction = None
            settling.carry_out(broker, each)
    transaction.work.clear()
    return tuple(returned)


def rollback(broker: Broker, command: commands.Rollback) -> None:
    """`Rollback`."""
    _check(command.transaction, TransactionInput.ROLLBACK)
    end(broker, command.transaction)


def end(broker: Broker, transaction: Transaction) -> None:
    """Roll back. What was settled by an owner that is gone meanwhile goes back to its queue."""
    _step(transaction, TransactionInput.ROLLBACK)
    _forget(broker, transaction)
    for each in transaction.work:
        if isinstance(each, Publish):
            continue
        for entry in each.entries:
            entry.transaction = None
            if entry.owner is None:
                consumer = entry.consumer
                settling.note_released(broker, entry)
                settling.give_back(broker, entry, redelivered=True, failed=False)
                if consumer is not None:
                    consuming.refill(broker, entry, consumer)
    transaction.work.clear()


def add_publish(broker: Broker, transaction: Transaction, command: Publish) -> None:
    """A message is to be published at the commit."""
    _check(transaction, TransactionInput.WORK)
    more = command.content.octets + MESSAGE_OCTETS
    octets = transaction.octets + more
    if octets > broker.limits.transaction_octets:
        limit = broker.limits.transaction_octets
        text = f"transaction {transaction.number} publishes {octets} octets, BrokerLimits.transaction_octets is {limit}"
        raise Fault(FaultKind.LIMIT, text)
    if broker.pending_octets + more > broker.limits.memory_high:
        # Who waited for room would keep what it has: transactions would wait for one another.
        limit = broker.limits.memory_high
        text = f"all transactions publish {broker.pending_octets + more} octets, BrokerLimits.memory_high is {limit}"
        raise Fault(FaultKind.LIMIT, text)
    transaction.octets = octets
    broker.pending_octets += more
    transaction.work.append(command)


def add_settle(broker: Broker, transaction: Transaction, command: Settle) -> None:
    """Messages are to be settled at the commit."""
    _check(transaction, TransactionInput.WORK)
    for entry in command.entries:
        entry.transaction = transaction
    transaction.work.append(command)


def _check(transaction: Transaction, on: TransactionInput) -> None:
    if on not in TRANSACTION[transaction.state]:
        text = f"transaction {transaction.number} is {transaction.state.value}"
        raise Fault(FaultKind.ILLEGAL_STATE, text)


def _step(transaction: Transaction, on: TransactionInput) -> None:
    _check(transaction, on)
    transaction.state = TRANSACTION[transaction.state][on]


def _forget(broker: Broker, transaction: Transaction) -> None:
    broker.transactions.pop(transaction.number, None)
    broker.pending_octets -= transaction.octets
    if transaction.owner is not None:
        transaction.owner.transactions.pop(transaction.number, None)
