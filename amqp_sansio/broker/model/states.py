"""The states of a message in a queue and of a transaction, with the inputs that change them."""

from __future__ import annotations

from typing import Final

from ..._core.state_table import Table, TableEnum


class State(TableEnum):
    """The state of a message in a queue, as 1.0 part 3 section 2.2 names it; the older versions mean the same."""

    AVAILABLE = "available"
    ACQUIRED = "acquired"
    ARCHIVED = "archived"


class EntryInput(TableEnum):
    """Inputs to the state of a message in a queue."""

    ACQUIRE = "acquire"
    ACCEPT = "accept"
    REJECT = "reject"
    RELEASE = "release"
    EXPIRE = "expire"
    DROP = "drop"
    """Purged, pushed out by a length limit, or gone with its queue."""


_AVAILABLE, _ACQUIRED, _ARCHIVED = State

MESSAGE: Final[Table[State, EntryInput]] = {
    _AVAILABLE: {EntryInput.ACQUIRE: _ACQUIRED, EntryInput.EXPIRE: _ARCHIVED, EntryInput.DROP: _ARCHIVED},
    _ACQUIRED: {
        EntryInput.ACCEPT: _ARCHIVED,
        EntryInput.REJECT: _ARCHIVED,
        EntryInput.RELEASE: _AVAILABLE,
        EntryInput.DROP: _ARCHIVED,
    },
    _ARCHIVED: {},
}
"""The life of a message in one queue. An acquired message doesn't expire; a purge skips it."""


class TransactionState(TableEnum):
    """The state of a transaction."""

    ACTIVE = "active"
    COMMITTED = "committed"
    ROLLED_BACK = "rolled back"


class TransactionInput(TableEnum):
    """Inputs to the state of a transaction."""

    WORK = "work"
    COMMIT = "commit"
    ROLLBACK = "rollback"


TRANSACTION: Final[Table[TransactionState, TransactionInput]] = {
    TransactionState.ACTIVE: {
        TransactionInput.WORK: TransactionState.ACTIVE,
        TransactionInput.COMMIT: TransactionState.COMMITTED,
        TransactionInput.ROLLBACK: TransactionState.ROLLED_BACK,
    },
    TransactionState.COMMITTED: {},
    TransactionState.ROLLED_BACK: {},
}
