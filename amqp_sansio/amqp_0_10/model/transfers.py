"""Transfers: the messages of one direction of a session that aren't settled yet (class 4, transfer states).

The sender of the messages keeps them with the pendings of their outcomes, their recipient without; both step the same
table. A transaction puts the transfers it accepts aside until it ends: a rollback brings them back (class 5). One that
is then released or rejected in the same transaction has that outcome after a rollback: clients release what they have
before they roll back, whatever they have accepted.

This module owns what is unsettled; nothing outside `model` assigns any of it. `transfer` comes once for each message,
then moves in any order, each checked before (`check`, `check_paid`). Between two calls an id is in `unsettled`, in one
of `aside`, or in none, and `put` is the number of those in `aside` and `deferred`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from ..._checking import TYPE_CHECKING
from ..._ground.brevity import trim
from ..._ground.serial import add, distance, later
from ..codec import records
from ..codec.sequence_set import SequenceSet
from ..codec.violation import Violation, exception
from .execution import INVALID_ARGUMENT, RESOURCE_LIMIT_EXCEEDED
from .open_ids import OpenIds
from .states import TRANSFER, Transfer, TransferInput

if TYPE_CHECKING:
    from typing import Final, TypeAlias

    from ...events import Pending

Settling: TypeAlias = "records.MessageAccept | records.MessageReject | records.MessageRelease"
"""The commands that settle transfers."""
Moving: TypeAlias = "Settling | records.MessageAcquire"
"""These, and the one that acquires them."""

SETTLING: Final[Mapping[type, tuple[TransferInput, str]]] = {
    records.MessageAccept: (TransferInput.R_ACCEPT, "message.accept/acquisition"),
    records.MessageReject: (TransferInput.R_REJECT, "message.reject/acquisition"),
    records.MessageRelease: (TransferInput.R_RELEASE, "message.release/states"),
}
"""The input that each command of a recipient means, and the rule that it breaks where it isn't legal."""
MOVES: Final[Mapping[type, tuple[TransferInput, str]]] = {
    **SETTLING,
    records.MessageAcquire: (TransferInput.R_ACQUIRE, "message.acquire/one-to-one"),
}
"""The same, with the one that settles nothing."""
WORK: Final = "tx"
"""The name of a session's standard transaction; that of a branch is its xid."""
ENDING: Final = frozenset({records.TxCommit, records.TxRollback, records.DtxCommit, records.DtxRollback})
"""The commands that end a transaction."""

FREE: Final = 256
"""Transfers that one command may name without settling them, whatever commands before have named."""
EACH: Final = 8
"""Commands that each transfer pays for which name it without settling it."""


def ended_by(command: object) -> object:
    """The name of the transaction that a command ends."""
    return getattr(command, "xid", WORK)


class Entry:
    """One message that was transferred."""

    __slots__ = ("named", "pending", "state")

    def __init__(self, state: Transfer, pending: Pending[object] | None) -> None:
        # A row of the table TRANSFER, never START or END.
        self.state = state
        # The pending of its outcome, at its sender's end; None where nobody waits.
        self.pending = pending
        # The commands of many ids that named it without settling it (`Transfers.check_paid`).
        self.named = 0


class Transfers:
    """The transfers of one direction that aren't settled."""

    __slots__ = ("aside", "deferred", "limit", "put", "unsettled")

    def __init__(self, limit: int) -> None:
        # The most that are kept; a session that goes on takes over its connection's.
        self.limit = limit
        # Those that nothing was said of that ends them, by command id.
        self.unsettled: OpenIds[Entry] = OpenIds()
        # Those that wait for the end of a transaction, by its name (WORK or its xid; with the id of the command that
        # ends it, once that is sent), or for the command that settles them, by its id.
        self.aside: dict[object, OpenIds[Entry]] = {}
        # Of those, the ones that have another outcome after a rollback, with that. None until there are some: most
        # sessions never have any.
        self.deferred: dict[object, list[tuple[Entry, object]]] | None = None
        # How many are in `aside` and `deferred`.
        self.put = 0

    def check_room(self) -> None:
        """Raises Violation when no more transfers are kept."""
        if len(self.unsettled) + self.put >= self.limit:
            raise self._no_room()

    def _no_room(self) -> Violation:
        text = f"{self.limit} transfers aren't accepted, rejected or released; Limits.unsettled allows no more"
        return exception(RESOURCE_LIMIT_EXCEEDED, text)

    def transfer(self, number: int, command: records.MessageTransfer, pending: Pending[object] | None = None) -> None:
        """A message is transferred; with accept-mode none and acquired there's nothing more to come of it.

        Another one is kept, for a word of its recipient. Raises Violation when no more are, with nothing changed.
        """
        move = TransferInput.S_TRANSFER_PRE_ACQUIRED
        if command.acquire_mode:
            move = TransferInput.S_TRANSFER_NOT_ACQUIRED
        elif command.accept_mode:
            move = TransferInput.S_TRANSFER_NONE
        state = TRANSFER[Transfer.START][move]
        if state is not Transfer.END:
            if len(self.unsettled) + self.put >= self.limit:
                raise self._no_room()
            self.unsettled[number] = Entry(state, pending)

    def take(self, number: int) -> Entry | None:
        """Take out an unsettled one, which nothing more is said of."""
        return self.unsettled.pop(number, None)

    def named(self, ids: SequenceSet | None) -> list[int]:
        """The ids of a set that are unsettled."""
        return self.unsettled.named(ids) if ids else []

    def check(self, command: Moving) -> list[int]:
        """The unsettled ones that a command names, when it's legal for each. Raises Violation."""
        move, rule = MOVES[command.__class__]
        numbers = self.named(command.transfers)
        for number in numbers:
            if move not in TRANSFER[self.unsettled[number].state]:
                raise self._illegal(command.NAME, number, rule)
        return numbers

    def check_paid(self, name: str, numbers: Collection[int]) -> None:
        """A command of the recipient leaves these unsettled. Raises Violation when too many of them were named before.

        A peer that acquires, rejects in vain, or accepts and rolls back, may do so for the octets of one frame with all
        unsettled transfers, again and again. Transfers that a command settles have paid for it themselves.
        """
        if len(numbers) <= FREE:
            return
        unpaid = 0
        for number in numbers:
            entry = self.unsettled[number]
            entry.named += 1
            unpaid += entry.named > EACH
        if unpaid > FREE:
            text = f"{name} of {len(numbers)} transfers, which it doesn't settle, and {unpaid} of them were named "
            text += f"{EACH} times before; settle them, or name at most {FREE} at a time"
            raise exception(RESOURCE_LIMIT_EXCEEDED, text)

    def _illegal(self, name: str, number: int, rule: str) -> Violation:
        text = f"{name} of transfer {number}, which is {self.unsettled[number].state.value}"
        return exception(INVALID_ARGUMENT, text, rule)

    def move(self, numbers: Iterable[int], move: TransferInput) -> list[Entry]:
        """Step transfers; those that are at their end are returned, and gone."""
        ended: list[Entry] = []
        for number in numbers:
            entry = self.unsettled.get(number)
            if entry is None:
                continue
            entry.state = TRANSFER[entry.state][move]
            if entry.state is Transfer.END:
                ended.append(self.unsettled.pop(number))
        return ended

    def is_acquired(self, number: int) -> bool:
        """Whether the recipient has acquired an unsettled transfer."""
        return self.unsettled[number].state is Transfer.ACQUIRED

    def ends_with(self, number: int, move: TransferInput) -> bool:
        """Whether `move` is the last one of an unsettled transfer."""
        return TRANSFER[self.unsettled[number].state][move] is Transfer.END

    def put_aside(self, numbers: Collection[int], work: object) -> None:
        """A transaction accepts transfers, or a command is to settle them: they're settled when that is done."""
        if not numbers:
            return
        aside = self.aside.setdefault(work, OpenIds())
        for number in numbers:
            entry = self.unsettled.pop(number, None)
            if entry is not None:
                aside.add(number, entry)
                self.put += 1

    def accepted_in(self, work: object, ids: SequenceSet | None) -> list[int]:
        """Those of some ids that a transaction has accepted, and that have no other outcome after its rollback."""
        aside = self.aside.get(work)
        return [] if aside is None or not ids else aside.named(ids)

    def defer(self, numbers: Collection[int], work: object, outcome: object) -> None:
        """Give transfers that a transaction has accepted another outcome after its rollback."""
        if numbers:
            aside = self.aside[work]
            if self.deferred is None:
                self.deferred = {}
            self.deferred.setdefault(work, []).extend([(aside.pop(number), outcome) for number in numbers])

    def close_work(self, work: object, number: int) -> None:
        """The command `number` ends a transaction: what is accepted behind it belongs to the next one."""
        if work in self.aside:
            self.aside[work, number] = self.aside.pop(work)
        if self.deferred and work in self.deferred:
            self.deferred[work, number] = self.deferred.pop(work)

    def in_work(self, work: object) -> tuple[Pending[object], ...]:
        """The pendings of what a transaction has accepted."""
        aside = self.aside.get(work)
        entries = [] if aside is None else list(aside.values())
        return pendings_of([*entries, *[each for each, _ in (self.deferred or {}).get(work, ())]])

    def commit(self, work: object) -> list[Entry]:
        """Settle and forget the transfers that the transaction accepted."""
        found, deferred = self._take_aside(work)
        return [*found.values(), *[entry for entry, _ in deferred]]

    def roll_back(self, work: object) -> list[tuple[Entry, object]]:
        """Make the transfers that the transaction accepted acquired again; those settled by it, with their outcomes."""
        found, deferred = self._take_aside(work)
        self.unsettled.put_back(found)
        return deferred

    def _take_aside(self, work: object) -> tuple[Mapping[int, Entry], list[tuple[Entry, object]]]:
        found: Mapping[int, Entry] = self.aside.pop(work, {})
        deferred = self.deferred.pop(work, []) if self.deferred else []
        self.put -= len(found) + len(deferred)
        return found, deferred

    def pendings(self) -> tuple[Pending[object], ...]:
        """The pendings of all that isn't settled."""
        aside = [each for work in self.aside.values() for each in work.values()]
        deferred = [each for work in (self.deferred or {}).values() for each, _ in work]
        return pendings_of([*self.unsettled.values(), *aside, *deferred])


def pendings_of(entries: Iterable[Entry]) -> tuple[Pending[object], ...]:
    """The pendings of some messages; the recipient's have none."""
    return tuple([entry.pending for entry in entries if entry.pending is not None])


class SeenTransfers(Transfers):
    """The same as seen from both sides: beyond `limit` the oldest are forgotten, and held against nobody."""

    __slots__ = ("floor", "lost")

    def __init__(self, limit: int) -> None:
        super().__init__(limit)
        # Of those below this id nothing is known.
        self.floor = 0
        # Whether a transaction has accepted more than is kept.
        self.lost = False

    def transfer(self, number: int, command: records.MessageTransfer, pending: Pending[object] | None = None) -> None:
        """A message is transferred; some recipients accept what wants no word."""
        state = Transfer.NOT_ACQUIRED if command.acquire_mode else Transfer.ACQUIRED
        unsettled = self.unsettled
        unsettled[number] = Entry(state, pending)
        if len(unsettled) > self.limit:
            for oldest in trim(unsettled, self.limit):
                self.floor = later(self.floor, add(oldest, 1))

    def settle(self, command: Settling, next_id: int, *, aside: bool) -> Violation | None:
        """The recipient settles messages, each of them once; the rule that this breaks.

        `aside`: it accepts them in a standard transaction. `next_id` is that of the next transfer.
        """
        name: str = command.NAME
        ids = command.transfers or SequenceSet()
        move = SETTLING[command.__class__][0]
        rule = "message.reject/acquisition" if move is TransferInput.R_REJECT else "message.accept/acquisition"
        broken: Violation | None = None
        ended: list[int] = []
        numbers = self.named(ids)
        deferred = [] if move is TransferInput.R_ACCEPT else self.accepted_in(WORK, ids)
        self.defer(deferred, WORK, None)
        wrong = self._not_open(ids, [*numbers, *deferred])
        for number in numbers:
            after = TRANSFER[self.unsettled[number].state].get(move)
            if after is None or after is Transfer.END:
                # A peer that settles a transfer it can't settle takes it for settled.
                ended.append(number)
            if after is None:
                broken = broken or self._illegal(name, number, rule)
            elif after is not Transfer.END and broken is None:
                text = f"{name} of the message {number}, which isn't acquired"
                broken = exception(INVALID_ARGUMENT, text, rule, harmless=True)
        if wrong is not None:
            sent = distance(wrong, next_id) > 0
            why = "is settled, or no message" if sent else "hasn't come"
            broken = exception(INVALID_ARGUMENT, f"{name} of the command {wrong}, which {why}", rule)
        if aside:
            self._count(name, ended, next_id)
            self.put_aside(ended, WORK)
            if self.put > self.limit:
                self.commit(WORK)
                self.lost = True
            return broken
        for number in ended:
            del self.unsettled[number]
        if len(ended) < len(numbers):
            self._count(name, [number for number in numbers if number in self.unsettled], next_id)
        return broken

    def acquire(self, command: records.MessageAcquire, next_id: int) -> None:
        """The recipient acquires messages. The result says which; until then it may be all."""
        numbers = self.named(command.transfers)
        self.move(numbers, TransferInput.R_ACQUIRE)
        self._count(command.NAME, numbers, next_id)

    def _count(self, name: str, numbers: Collection[int], next_id: int) -> None:
        """A command leaves these unsettled; beyond measure, nothing is known any more."""
        try:
            self.check_paid(name, numbers)
        except Violation:
            self._forget(next_id)

    def _forget(self, next_id: int) -> None:
        self.unsettled.clear()
        self.floor = next_id

    def _not_open(self, ids: SequenceSet, numbers: list[int]) -> int | None:
        """The first of some ids that is known to be no open message; None when there's none. `numbers` are open."""
        if len(ids) == len(numbers):
            return None
        floor = self.floor
        above = [(later(lower, floor), upper) for lower, upper in ids.ranges if distance(floor, upper) >= 0]
        wrong = SequenceSet(above) - SequenceSet.of(*numbers)
        return wrong.ranges[0][0] if wrong else None

    def end_work(self, next_id: int, *, committed: bool) -> None:
        """The standard transaction ends; of more than is kept nothing is known after a rollback."""
        if committed:
            self.commit(WORK)
        elif self.lost or len(self.unsettled) + self.put > self.limit:
            self.commit(WORK)
            self._forget(next_id)
        else:
            self.roll_back(WORK)
        self.lost = False
