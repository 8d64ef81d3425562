"""SendState and ReceiveState: what each end of a session knows of the commands of one direction.

Part 1 sections 3.2 and 3.5. Command ids are never on the wire: both ends count from the last command-point. The sender
keeps each command until it's confirmed or completed; the receiver keeps the ids it has received until it knows that
the sender knows (the idempotence barrier), so that a replay executes nothing twice. Detached, both are values that
pickle; re-attached, the receiver says what it expects and the sender goes on from there.

This module owns these ids; nothing outside `model` assigns any of them. A command-point sets a direction out on each
attachment, then `send` and `arrive` count, each once for a command; the controls of part 1 section 3.5 may come at any
time between. What holds between two calls is said of each class.
"""

from __future__ import annotations

from bisect import bisect_right

from ..._checking import Generic, TypeVar
from ..._ground.invariants import ensure
from ..._ground.serial import MASK, add, distance
from ...errors import LimitExceeded, Scope
from ..codec.sequence_set import SequenceSet
from ..codec.violation import DetachCode, Violation, exception
from .execution import ILLEGAL_STATE
from .open_ids import OpenIds

_C = TypeVar("_C")

_NOTHING = SequenceSet()


def never_sent(ids: SequenceSet, next_id: int) -> Violation | None:
    """The rule that is broken when a peer tells of ids that weren't sent: each command is executed exactly once."""
    for lower, upper in ids.ranges:
        if distance(upper, next_id) <= 0 or distance(lower, next_id) <= 0:
            text = f"the peer tells of command {upper}, the next one to be sent is {next_id}"
            return exception(ILLEGAL_STATE, text, "session/exactly-once")
    return None


class SendState(Generic[_C]):
    """The commands that one end sends.

    Invariant: every id in `replay` lies before `next_id`, none of them is completed.
    """

    __slots__ = ("completed", "limit", "next_id", "replay")

    def __init__(self, *, next_id: int = 0, limit: int = 65_536) -> None:
        # The id of the next new command.
        self.next_id = next_id
        # The most commands that are kept; a session that goes on takes over its connection's.
        self.limit = limit
        # Every command that may have to be sent again, by id: neither confirmed, completed nor given up.
        self.replay: OpenIds[_C] = OpenIds()
        # The ids that the peer told completed, in its last word.
        self.completed = _NOTHING

    def send(self, command: _C) -> int:
        """Number a new command and keep it. Raises LimitExceeded when as many wait for a confirmation as are kept."""
        if len(self.replay) >= self.limit:
            text = f"{len(self.replay)} commands wait for their confirmation, the session keeps no more; "
            text += "ask for it with flush, and wait"
            raise LimitExceeded(text)
        number = self.next_id
        self.replay[number] = command
        self.next_id = add(number, 1)
        return number

    def skip(self) -> None:
        """A command that isn't kept takes the next id: the session ends with it."""
        self.next_id = add(self.next_id, 1)

    def confirmed(self, ids: SequenceSet) -> None:
        """The peer won't lose these commands (session.confirmed): they needn't be sent again."""
        for number in self.replay.named(ids):
            del self.replay[number]

    def told_completed(self, ids: SequenceSet) -> SequenceSet:
        """The peer has executed these commands (session.completed, always the full set); those that are news."""
        sent = SequenceSet([each for each in ids.ranges if distance(each[1], self.next_id) > 0])
        news = sent - self.completed
        # Completed implies confirmed (rule session.completed/implies-confirmed).
        self.confirmed(news)
        self.completed = sent
        return news

    def to_replay(self, expected: SequenceSet) -> list[tuple[int, _C]]:
        """After a re-attachment: the commands to send again, from the first that the peer may not have.

        `expected` is the peer's session.expected; empty, the peer has no state, so it has executed nothing that it
        remembers. They are replayed from the first on, without a hole, so that counting from one command-point is
        enough; what the peer has had is behind its barrier.
        """
        kept = list(self.replay.items())
        for place, (number, _) in enumerate(kept):
            # The last id that the peer expects stands for all behind it.
            if not expected or number in expected or distance(expected.ranges[-1][1], number) >= 0:
                return kept[place:]
        return []

    def check(self) -> None:
        """Check the invariant. For tests; raises AssertionError."""
        where, next_id = "sent commands", self.next_id
        early = [each for each in self.replay if distance(each, next_id) <= 0]
        ensure(not early, where, "those in `replay` lie before `next_id`", next_id, early)
        done = [each for each in self.replay if each in self.completed]
        ensure(not done, where, "none in `replay` is completed", done)


class Runs:
    """Ids as ranges that grow at their end: what a receiver keeps of commands, at a small price for each.

    >>> runs = Runs()
    >>> for number in (4294967295, 0, 1, 5):
    ...     runs.add(number)
    >>> 0 in runs, 4 in runs, runs.set.ranges
    (True, False, ((4294967295, 1), (5, 5)))
    """

    __slots__ = ("ranges",)

    def __init__(self, ids: SequenceSet = _NOTHING) -> None:
        # First and last id of each range, in their order on the circle of ids.
        self.ranges: list[list[int]] = [list(each) for each in ids.ranges]

    @property
    def set(self) -> SequenceSet:
        """The ids as a value."""
        return SequenceSet([(lower, upper) for lower, upper in self.ranges])

    def add(self, number: int) -> None:
        """One more id; at the end of the last range it costs least."""
        ranges = self.ranges
        if ranges and (ranges[-1][1] + 1) & MASK == number:
            ranges[-1][1] = number
        elif not ranges:
            ranges.append([number, number])
        elif number not in self:
            self._insert(self._place(number), number)

    def _place(self, number: int) -> int:
        """How many ranges begin at `number` or before it, counted on from the first one's begin."""
        first = self.ranges[0][0]
        return bisect_right(self.ranges, (number - first) & MASK, key=lambda each: (each[0] - first) & MASK)

    def _insert(self, place: int, number: int) -> None:
        """An id that none of the ranges holds, behind the first `place` of them."""
        ranges = self.ranges
        before, behind = ranges[place - 1], ranges[place % len(ranges)]
        joins = (number + 1) & MASK == behind[0]
        if (before[1] + 1) & MASK != number:
            if joins:
                behind[0] = number
            else:
                # The first range is the one behind the widest gap.
                nearer = (behind[0] - number) & MASK < (number - before[1]) & MASK
                first = place == len(ranges) and nearer
                ranges.insert(0 if first else place, [number, number])
        elif joins and before is not behind:
            behind[0] = before[0]
            del ranges[place - 1]
        else:
            before[1] = number

    def remove(self, ids: SequenceSet) -> None:
        """Without these ids."""
        if ids and self.ranges:
            self.ranges = [list(each) for each in (self.set - ids).ranges]

    def unite(self, ids: SequenceSet) -> None:
        """With these ids."""
        self.ranges = [list(each) for each in (self.set | ids).ranges]

    def __contains__(self, number: int) -> bool:
        if not self.ranges:
            return False
        lower, upper = self.ranges[-1]
        if (number - lower) & MASK <= (upper - lower) & MASK:
            return True
        lower, upper = self.ranges[self._place(number) - 1]
        return (number - lower) & MASK <= (upper - lower) & MASK


class ReceiveState:
    """The commands that one end receives.

    Invariant: `done` is a part of `known`, all of which lie before `next_id`; `point` isn't behind `next_id`.
    """

    __slots__ = ("ahead", "done", "known", "next_id", "point")

    def __init__(self) -> None:
        # The id of the first command that was never received; None before the first command-point.
        self.next_id: int | None = None
        # The id of the next command to come: before `next_id` while the peer replays. None without a command-point on
        # this attachment.
        self.point: int | None = None
        # The ids whose execution has begun and that the sender may still replay: the idempotence barrier.
        self.known = Runs()
        # Those of them that are executed.
        self.done = Runs()
        # Ids behind `next_id` that will never come (session.gap).
        self.ahead = _NOTHING

    @property
    def completed(self) -> SequenceSet:
        """The ids of `done`."""
        return self.done.set

    def command_point(self, number: int) -> bool:
        """The id of the next command (session.command-point); whether it's one that can come.

        It may be any on a new session; on an old one none that leaves out commands that never came.
        """
        if self.next_id is None:
            self.next_id = number
        elif distance(number, self.next_id) < 0:
            return False
        self.point = number
        self._skip()
        return True

    @staticmethod
    def unknown_ids(name: bytes) -> Violation:
        """A command of the session `name` came before the first command-point (rule newly-attached-transports)."""
        text = f"command data on session {name!r} before session.command-point"
        rule = "session.command-point/newly-attached"
        return Violation(0, text, rule=rule, scope=Scope.SESSION, detach=DetachCode.UNKNOWN_IDS)

    def arrive(self) -> tuple[int, bool]:
        """A command has begun to arrive: its id, and whether it's a new one that is to be executed.

        A replayed one that is behind the barrier isn't. To be called only after a command-point.
        """
        point, next_id = self.point, self.next_id
        assert point is not None
        assert next_id is not None
        self.point = (point + 1) & MASK
        if point != next_id and distance(point, next_id) > 0:
            return point, False
        self.next_id = self.point
        self.known.add(point)
        if self.ahead.ranges:
            self._skip()
        return point, True

    def take_next(self, number: int) -> bool:
        """The next command has arrived, as `arrive`; it isn't taken unless it's a new one with no gap ahead."""
        if number != self.point or number != self.next_id or self.ahead.ranges:
            return False
        following = (number + 1) & MASK
        self.next_id = following
        self.point = following
        ranges = self.known.ranges
        if ranges and (ranges[-1][1] + 1) & MASK == number:
            ranges[-1][1] = number
        else:
            self.known.add(number)
        return True

    def forget(self, number: int) -> None:
        """The transport was lost within the command `number`: it never arrived, and will be sent again."""
        self.known.remove(SequenceSet(((number, number),)))
        self.next_id = number
        self.point = number

    def complete(self, number: int) -> None:
        """The command is executed."""
        done, known = self.done.ranges, self.known.ranges
        if done and known:
            last, span = done[-1], known[-1]
            if (last[1] + 1) & MASK == number and span[0] == last[0] and span[1] != last[1]:
                # The next one of the range that is known, as long as all is completed in order.
                last[1] = number
                return
        if number in self.known:
            self.done.add(number)

    def known_completed(self, ids: SequenceSet) -> None:
        """The sender knows these to be completed (session.known-completed): it won't replay them."""
        self.known.remove(ids)
        self.done.remove(ids)

    def gap(self, ids: SequenceSet) -> None:
        """The sender will never send these (session.gap): they count as received and completed, what is done stays."""
        self.ahead = self.ahead | ids
        self._skip()

    def _skip(self) -> None:
        """Ids that a gap gave up count as received once every earlier id has been received."""
        next_id = self.next_id
        if next_id is None or not self.ahead:
            return
        past: list[tuple[int, int]] = []
        rest: list[tuple[int, int]] = []
        for lower, upper in (self.ahead | _NOTHING).ranges:
            if distance(next_id, upper) < 0 < distance(next_id, lower):
                # In so wide a range it isn't defined which ids lie behind.
                continue
            if distance(next_id, upper) < 0:
                past.append((lower, upper))
            elif distance(next_id, lower) <= 0:
                past.append((lower, upper))
                if self.point == next_id:
                    self.point = add(upper, 1)
                next_id = add(upper, 1)
            else:
                rest.append((lower, upper))
        self.next_id = next_id
        self.ahead = SequenceSet(rest)
        if past:
            self.known.unite(SequenceSet(past))
            self.done.unite(SequenceSet(past))

    def detached(self) -> None:
        """The transport is gone; the next attachment begins with a command-point."""
        self.point = None

    @property
    def expected(self) -> SequenceSet:
        """Return the ids for session.expected: the next one, none when there is no state."""
        if self.next_id is None:
            return _NOTHING
        return SequenceSet(((self.next_id, self.next_id),))

    def check(self) -> None:
        """Check the invariant. For tests; raises AssertionError."""
        where, next_id, point = "received commands", self.next_id, self.point
        unknown = self.completed - self.known.set
        ensure(not unknown, where, "`done` is a part of `known`", unknown)
        early = [each for each in self.known.set if next_id is None or distance(each, next_id) <= 0]
        ensure(not early, where, "those in `known` lie before `next_id`", next_id, early)
        behind = point is not None and (next_id is None or distance(point, next_id) < 0)
        ensure(not behind, where, "`point` isn't behind `next_id`", point, next_id)
