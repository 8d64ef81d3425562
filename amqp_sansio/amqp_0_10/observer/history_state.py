"""The books of an observed session of 0-10: its open messages, and what will settle them (part 1 sections 3 and 10)."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from ..._core.serial import MASK

if TYPE_CHECKING:
    from ..._core.outcomes import MessageRecord

    Messages = Sequence[MessageRecord]

Xid = tuple[Any, ...]
"""Format, global-id and branch-id of a branch."""

NONE: Final[tuple[MessageRecord, ...]] = ()


class Transaction:
    """What one transaction holds back, or one session's part of a branch.

    `published` are the client's messages and `accepted` the deliveries of message.transfer that it accepts, by their
    command ids; `acked` are those of file.deliver that it acknowledges, by their delivery tags.
    """

    __slots__ = ("accepted", "acked", "published")

    def __init__(self) -> None:
        self.published: dict[int, MessageRecord] = {}
        self.accepted: dict[int, MessageRecord] = {}
        self.acked: dict[int, MessageRecord] = {}

    def __len__(self) -> int:
        return len(self.published) + len(self.accepted) + len(self.acked)

    def open_messages(self) -> list[MessageRecord]:
        """All its messages."""
        return [*self.published.values(), *self.accepted.values(), *self.acked.values()]


class Staging:
    """The content of the file class that one session stages, before and behind the commands that name it.

    `opened` are side and identifier of each file.open and file.open-ok that waits for its file.stage, by their units;
    `staged` what was staged, `wanted` the command id or delivery tag of the message whose content is still to come,
    both by side (True: the client) and identifier.
    """

    __slots__ = ("opened", "staged", "wanted")

    def __init__(self) -> None:
        self.opened: dict[int, tuple[bool, str]] = {}
        self.staged: dict[tuple[bool, str], tuple[Any, int, str | None]] = {}
        self.wanted: dict[tuple[bool, str], int] = {}


class SessionHistory:
    """The open messages of one session, all but `files` by their command ids.

    `publishes` are the client's that aren't completed and in no transaction, `deliveries` the server's that wait for a
    message.accept, `given` those that wait for nothing; `files` are those that wait for a file.ack, by their delivery
    tags, which grow as long as `ordered`. `subscriptions` are queue and accept-mode by destination, `consumers` queue
    and no-ack by class and consumer tag. `returnable` are the publishes that may be returned, oldest first, by what a
    return says of them.

    `transacted` says that tx.select came; `ending` are the transactions whose tx.commit (True) or tx.rollback isn't
    completed. `distributed` says that dtx.select came, `parts` are the session's parts of branches, `branch` the one
    that it's associated with; `unsure` says that it may be associated with another one.
    """

    __slots__ = (
        "branch", "consumers", "deliveries", "distributed", "ending", "files", "given", "last_tag", "name", "ordered",
        "parts", "publishes", "returnable", "staging", "subscriptions", "transacted", "transaction", "unsure",
    )  # fmt: skip

    def __init__(self, name: bytes | None) -> None:
        self.name = name
        self.publishes: dict[int, MessageRecord] = {}
        self.deliveries: dict[int, MessageRecord] = {}
        self.given: dict[int, MessageRecord] = {}
        self.files: dict[int, MessageRecord] = {}
        self.ordered = True
        self.last_tag = 0
        self.subscriptions: dict[str, tuple[str | None, int]] = {}
        self.consumers: dict[tuple[str, str], tuple[str | None, bool]] = {}
        self.returnable: dict[tuple[object, ...], deque[int]] = {}
        self.staging = Staging()
        self.transacted = False
        self.transaction = Transaction()
        self.ending: dict[int, tuple[bool, Transaction]] = {}
        self.distributed = False
        self.parts: dict[Xid, Transaction] = {}
        self.branch: Xid | None = None
        self.unsure = False

    @property
    def label(self) -> str | None:
        """The session's name as text."""
        return None if self.name is None else self.name.decode("utf-8", "surrogateescape")

    @property
    def current(self) -> Transaction | None:
        """The transaction, or the part of a branch, that the client's messages and acceptances belong to now."""
        if self.transacted:
            return self.transaction
        return None if self.branch is None else self.parts.get(self.branch)

    def end_transactions(self) -> list[MessageRecord]:
        """Nobody will say how the transactions end; their messages."""
        done = self.transaction.open_messages()
        for _, transaction in self.ending.values():
            done += transaction.open_messages()
        self.transaction = Transaction()
        self.ending = {}
        return done

    def published(self) -> list[dict[int, MessageRecord]]:
        """The client's open messages, wherever they wait."""
        ending = [transaction.published for _, transaction in self.ending.values()]
        parts = [part.published for part in self.parts.values()]
        return [self.publishes, *ending, self.transaction.published, *parts]

    def reopen(self, transaction: Transaction) -> None:
        """The deliveries that a transaction held back are open again, in the order in which they came."""
        if transaction.accepted:
            self.deliveries.update(transaction.accepted)
            first = min(self.deliveries.values(), key=_order).tag or 0
            ordered = sorted(self.deliveries.items(), key=lambda item: (item[0] - first) & MASK)
            self.deliveries = dict(ordered)
        if transaction.acked:
            self.files.update(transaction.acked)
            self.files = dict(sorted(self.files.items()))

    def flush(self) -> list[MessageRecord]:
        """Nothing settles the session's messages any more, but those of branches that may still be committed."""
        done = self.end_transactions()
        for message in self.given.values():
            message.settle("settled")
        for waiting in (self.publishes, self.deliveries, self.given, self.files):
            done += waiting.values()
            waiting.clear()
        self.subscriptions, self.consumers, self.returnable = {}, {}, {}
        self.staging = Staging()
        self.branch = None
        done.sort(key=_order)
        return done


def put(
    waiting: dict[int, MessageRecord],
    number: int,
    message: MessageRecord,
    most: int,
    done: list[MessageRecord],
) -> None:
    """A message is open; at most `most` are."""
    before = waiting.pop(number, None)
    if before is not None:
        done.append(before)
    waiting[number] = message
    if len(waiting) > most:
        done.append(waiting.pop(next(iter(waiting))))


def _order(message: MessageRecord) -> int:
    return message.seq
