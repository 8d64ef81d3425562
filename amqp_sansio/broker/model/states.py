"""State tables of the broker: a message in a queue, and a transaction.

The tables speak of neither client nor version: front ends turn the methods, commands and dispositions of every
version into the same inputs. The names of a message's states are those of 1.0 part 3 section 2.2; the early versions
know them as ready, unacknowledged and gone.

How the tables work together. A message has one `MESSAGE` state in each queue that it was routed to. A delivery
acquires it, unless a browser only looks at it; the client's outcome archives it, or releases it to its old place.
`TRANSACTION` stands above: settlements and publishes of an open transaction are only collected, so a message stays
`ACQUIRED` and a publish reaches no queue until the commit applies the work in order; a rollback drops the work.

Guards that don't fit a table stand elsewhere:

- `settling.py`: only the owner that acquired a message settles it, and only while no open transaction has already
  done so; the count of failed deliveries, dead letters;
- `delivery.py`: the consumer that gets a message next, by its window, priority, filter and exclusiveness;
- `queue.py`: expiry and lengths. An acquired message doesn't expire, and a purge skips it; both become possible again
  when it is released;
- `transactions.py`: the number of open transactions, and the octets that they may hold;
- prepared branches of a distributed transaction (0-10 class 6) are states of the engine's `dtx_states`: the broker's
  transaction stays `ACTIVE` until the branch ends.
"""

from __future__ import annotations

from typing import Final

from ..._ground.state_table import Table, TableEnum


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
