"""What one side of an observed session has begun with its commands, when all of them were seen (classes 4 to 10).

Books are kept from a session's first command on: where it was attached before, or something is missing, there are none.
Everything in them is bounded; what was forgotten is held against nobody.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any, Final

from ..._core.serial import MASK, add, distance, later
from ..model.open_ids import covered

if TYPE_CHECKING:
    from ..codec.sequence_set import SequenceSet

INFINITE: Final = 0xFFFF_FFFF

_MOST_CREDITS: Final = 16

Xid = tuple[Any, ...]
"""Format, global-id and branch-id of a branch."""


class Credit:
    """What the server may send for a destination, at most: `messages` and `octets`, None without limit.

    It begins with the command `number`, which zeroes the credit before it; `name` is that command's. `window` says that
    completions give credit back, `granted` that message.flow gave any.
    """

    __slots__ = ("granted", "messages", "name", "number", "octets", "window")

    def __init__(self, name: str, number: int | None, window: bool) -> None:
        self.name = name
        self.number = number
        self.window = window
        self.granted = False
        self.messages: int | None = 0
        self.octets: int | None = 0

    def add(self, messages: int | None, octets: int | None) -> None:
        """More credit, None without limit."""
        self.messages = _sum(self.messages, messages)
        self.octets = _sum(self.octets, octets)

    def holds(self, octets: int) -> bool:
        """Whether a message of so many octets may be sent."""
        return self.messages != 0 and (self.octets is None or self.octets >= octets)

    def spend(self, octets: int) -> None:
        """Such a message was sent."""
        if self.messages is not None:
            self.messages -= 1
        if self.octets is not None:
            self.octets -= octets


class Destination:
    """A subscription, or what is left of one. `live` says that it isn't cancelled, `explicit` that it's accepted.

    `credits` are those that the server may still have, oldest first: of all but the last it isn't known to have
    executed what zeroes them.
    """

    __slots__ = ("credits", "explicit", "live")

    def __init__(self) -> None:
        self.live = False
        self.explicit = True
        self.credits: list[Credit] = []

    def zero(self, name: str, number: int | None) -> None:
        """A command is sent that zeroes the credit when the server executes it."""
        self.credits.append(Credit(name, number, not self.credits or self.credits[-1].window))
        if len(self.credits) > _MOST_CREDITS:
            oldest, second = self.credits[:2]
            second.add(oldest.messages, oldest.octets)
            second.granted = second.granted or oldest.granted
            second.window = second.window or oldest.window
            del self.credits[0]

    def zeroed(self, number: int) -> None:
        """The server has executed such a command: what it had before is gone."""
        for place, credit in enumerate(self.credits):
            if credit.number == number:
                del self.credits[:place]
                break

    def spend(self, octets: int) -> Credit | None:
        """The server sends a message; None where no credit of any age allows it."""
        for credit in self.credits:
            if credit.holds(octets):
                credit.spend(octets)
                return credit
        return None

    def restore(self, octets: int) -> None:
        """The client has completed a message."""
        if any([credit.window for credit in self.credits]):
            self.credits[-1].add(1, octets)


class Tags:
    """The delivery tags that were used: a run of consecutive ones, and at most `most` others, else it isn't `sure`."""

    __slots__ = ("first", "last", "most", "others", "sure")

    def __init__(self, most: int) -> None:
        self.most = most
        self.first = 0
        self.last = -1
        self.others: set[int] = set()
        self.sure = True

    def add(self, tag: int) -> None:
        """A tag is used."""
        if self.last < self.first:
            self.first = self.last = tag
        elif tag == self.last + 1:
            self.last = tag
        elif not self.first <= tag <= self.last:
            self.others.add(tag)
            if len(self.others) > self.most:
                self.others = set()
                self.sure = False

    def has(self, tag: int) -> bool:
        """Whether a tag may have been used."""
        return not self.sure or self.first <= tag <= self.last or tag in self.others


class ObservedSide:
    """What one side, the client or the server, has begun on a session. `peer` are the other side's (None: not known).

    `next_id` is that of the next command. `open` are the messages it transferred that nobody has settled, by their
    command ids, and whether they are acquired, from `floor` on; `transit` are destination and octets of those that the
    other side hasn't completed. `destinations` are its subscriptions (None: not all are known), `zeroing` the commands
    that zero the credit of one. `consumers` are class and tag of what it consumes, `tags` the delivery tags it used;
    `opens` and `ready` the sizes of the content to stage, before and behind file.open-ok (None: not known).

    `transacted` and `distributed` say that tx.select and dtx.select came, `accepted` are the ids of the other side's
    messages that its transaction accepts (None: too many). `branch` is the one it's associated with, `branches` says of
    each that it has begun and not ended whether it's suspended (None: not all are known); `starting` are those of
    dtx.start without a result, `prepared` those it has prepared.
    """

    __slots__ = (
        "accepted", "branch", "branches", "client", "consumers", "destinations", "distributed", "floor", "most",
        "next_id", "open", "opens", "peer", "prepared", "ready", "starting", "tags", "transacted", "transit", "zeroing",
    )  # fmt: skip

    def __init__(self, client: bool, most: int) -> None:
        self.client = client
        self.most = most
        self.peer: ObservedSide | None = None
        self.next_id = 0
        self.open: dict[int, bool] = {}
        self.floor = 0
        self.transit: dict[int, tuple[str, int]] = {}
        self.destinations: dict[str, Destination] | None = {}
        self.zeroing: dict[int, str] = {}
        self.consumers: set[tuple[str, str]] = set()
        self.tags = Tags(most)
        self.opens: deque[int | None] | None = deque()
        self.ready: deque[int | None] = deque()
        self.transacted = False
        self.accepted: dict[int, None] | None = {}
        self.distributed = False
        self.branch: Xid | None = None
        self.branches: dict[Xid, bool] | None = {}
        self.starting: dict[int, Xid] = {}
        self.prepared: dict[Xid, None] = {}

    def transferred(self, number: int, acquired: bool) -> None:
        """A message goes to the other side."""
        self.open[number] = acquired
        if len(self.open) > self.most:
            oldest = next(iter(self.open))
            del self.open[oldest]
            self.floor = later(self.floor, add(oldest, 1))

    def not_open(self, commands: SequenceSet) -> int | None:
        """The first of some ids that is known to be no open message of this side; None when there's none."""
        for lower, upper in commands.ranges:
            number = later(lower, self.floor)
            while distance(number, upper) >= 0:
                if number not in self.open:
                    return number
                number = add(number, 1)
        return None

    def settled(self, commands: SequenceSet) -> list[int]:
        """Some messages are settled; those of them that were open."""
        found = covered(self.open, commands)
        for number in found:
            del self.open[number]
        return found

    def reopen(self, numbers: dict[int, None] | None) -> None:
        """These messages, all of which are acquired, are open again; None: of what was sent so far nothing is known."""
        if numbers is None or len(self.open) + len(numbers) > self.most:
            self.open = {}
            self.floor = self.next_id
        elif numbers:
            self.open.update(dict.fromkeys(numbers, True))
            ordered = sorted(self.open.items(), key=lambda item: (item[0] - self.floor) & MASK)
            self.open = dict(ordered)


def _sum(one: int | None, other: int | None) -> int | None:
    return None if one is None or other is None else one + other
