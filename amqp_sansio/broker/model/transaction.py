"""Transaction: what was published and settled in one, until it ends. One mechanism for tx, dtx and 1.0."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..._core.state_table import Table, TableEnum

if TYPE_CHECKING:
    from .commands import Publish, Settle
    from .owner import Owner
    from .vhost import VirtualHost


class State(TableEnum):
    """Where a transaction is."""

    ACTIVE = "active"
    COMMITTED = "committed"
    ROLLED_BACK = "rolled back"


class TransactionInput(TableEnum):
    """What happens to a transaction."""

    WORK = "work"
    COMMIT = "commit"
    ROLLBACK = "rollback"


TRANSACTION: Table[State, TransactionInput] = {
    State.ACTIVE: {
        TransactionInput.WORK: State.ACTIVE,
        TransactionInput.COMMIT: State.COMMITTED,
        TransactionInput.ROLLBACK: State.ROLLED_BACK,
    },
    State.COMMITTED: {},
    State.ROLLED_BACK: {},
}


class Transaction:
    """`number` is its own in the broker; `work` are its commands in order; `owner` ends it, None: nobody does."""

    __slots__ = ("number", "octets", "owner", "state", "vhost", "work")

    def __init__(self, number: int, vhost: VirtualHost, owner: Owner | None) -> None:
        self.number = number
        self.vhost = vhost
        self.owner = owner
        self.state = State.ACTIVE
        self.work: list[Publish | Settle] = []
        self.octets = 0
        """What the contents of its publishes take."""

    def __repr__(self) -> str:
        return f"<Transaction {self.number}, {self.state.value}>"
