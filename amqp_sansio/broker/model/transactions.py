"""Transactions: those that are open, and the work that they defer to the commit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .content import MESSAGE_OCTETS
from .faults import Fault, FaultKind
from .owner import Transaction
from .states import TRANSACTION, TransactionInput

if TYPE_CHECKING:
    from . import commands
    from .commands import Publish, Settle
    from .ledger import Ledger


class Transactions:
    """Collects the work of transactions until they are committed."""

    __slots__ = ("_ledger", "octets", "open")

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self.open: dict[int, Transaction] = {}
        """Those not ended, by number."""
        self.octets = 0
        """Of the publishes of all of them; `BrokerLimits` bounds them."""

    def begin(self, command: commands.Begin) -> Transaction:
        """Carry out `Begin`."""
        owner = command.owner
        vhost = self._ledger.vhosts.get(command.vhost) if owner is None else owner.vhost
        if vhost is None:
            raise Fault(FaultKind.NOT_FOUND, f"no vhost {command.vhost!r}", "vhost")
        if len(self.open) >= self._ledger.limits.transactions:
            limit = self._ledger.limits.transactions
            text = f"{limit} transactions are open, BrokerLimits.transactions allows no more"
            raise Fault(FaultKind.LIMIT, text)
        transaction = Transaction(self._ledger.new_number(), vhost, owner)
        self.open[transaction.number] = transaction
        if owner is not None:
            owner.transactions[transaction.number] = transaction
        return transaction

    def add_publish(self, transaction: Transaction, command: Publish) -> None:
        """Defer a publish to the commit."""
        _check(transaction, TransactionInput.WORK)
        more = command.content.octets + MESSAGE_OCTETS
        octets = transaction.octets + more
        if octets > self._ledger.limits.transaction_octets:
            limit = self._ledger.limits.transaction_octets
            number = transaction.number
            text = f"transaction {number} publishes {octets} octets, BrokerLimits.transaction_octets is {limit}"
            raise Fault(FaultKind.LIMIT, text)
        if self.octets + more > self._ledger.limits.memory_high:
            # A publisher that waited for room would keep the octets it has: transactions would wait for one another.
            limit = self._ledger.limits.memory_high
            text = f"all transactions publish {self.octets + more} octets, BrokerLimits.memory_high is {limit}"
            raise Fault(FaultKind.LIMIT, text)
        transaction.octets = octets
        self.octets += more
        transaction.work.append(command)

    def add_settle(self, transaction: Transaction, command: Settle) -> None:
        """Defer a settlement to the commit."""
        _check(transaction, TransactionInput.WORK)
        for entry in command.entries:
            entry.transaction = transaction
        transaction.work.append(command)

    def end(self, transaction: Transaction, on: TransactionInput) -> None:
        """End a transaction by a commit or rollback; the caller carries out its work. Raises Fault ILLEGAL_STATE."""
        _check(transaction, on)
        transaction.state = TRANSACTION[transaction.state][on]
        self.open.pop(transaction.number, None)
        self.octets -= transaction.octets
        if transaction.owner is not None:
            transaction.owner.transactions.pop(transaction.number, None)


def _check(transaction: Transaction, on: TransactionInput) -> None:
    if on not in TRANSACTION[transaction.state]:
        text = f"transaction {transaction.number} is {transaction.state.value}"
        raise Fault(FaultKind.ILLEGAL_STATE, text)
