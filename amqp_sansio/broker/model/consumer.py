"""Consumer: who gets messages of a queue, and Window: how much room is left for them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from .content import FRAMES_OCTETS
from .entry import FEW
from .sizes import CONSUMER_OCTETS, octets_of
from .states import State

if TYPE_CHECKING:
    from collections.abc import Hashable

    from .content import Filter, Measure, Message
    from .entry import Entry
    from .owner import Owner
    from .queue import Queue
    from .returns import Returns

_AVAILABLE: Final = State.AVAILABLE
_CURSOR: Final = 40
"""Octets of a browser's place in one level."""


class Consumer:
    """A subscription to one queue. `Subscribe` creates it; `Cancel` or the end of its owner or queue ends it."""

    __slots__ = (
        "acquires",
        "cost",
        "cursors",
        "declined",
        "exclusive",
        "filter",
        "is_cancelled",
        "kept",
        "key",
        "learned",
        "measure",
        "no_local",
        "number",
        "owner",
        "passed",
        "priority",
        "queue",
        "served",
        "settles",
        "waiting",
        "windows",
    )

    def __init__(
        self,
        number: int,
        owner: Owner,
        queue: Queue,
        key: Hashable,
        windows: tuple[Window, ...],
        *,
        acquires: bool = True,
        settles: bool = False,
        exclusive: bool = False,
        no_local: bool = False,
        priority: int = 0,
        filter: Filter | None = None,
        measure: Measure | None = None,
    ) -> None:
        self.number = number
        """Unique in the broker; new ones are served behind older ones."""
        self.owner = owner
        """The channel, session or link that it ends with."""
        self.queue = queue
        """The one that it takes messages from."""
        self.key = key
        """The front end's name for it."""
        self.windows = windows
        """Deliveries need room in each of them."""
        self.acquires = acquires
        """Whether it takes messages away from others; otherwise it browses, and sees each message once."""
        self.settles = settles
        """Whether every delivery is settled at once."""
        self.exclusive = exclusive
        """Whether it is the only one that the queue may have."""
        self.no_local = no_local
        """Whether it gets nothing that its own connection has published."""
        self.priority = priority
        """The highest with room is served first."""
        self.filter = filter
        """The messages that it accepts; None: all."""
        self.measure = measure
        """The octets of a message as its windows count them; None: `Content.size`."""
        self.cost = 1 if filter is None else 1 + filter.cost
        """Steps that it takes to judge a message."""
        self.passed: dict[int, int] = {}
        """By priority level, the position up to which it has declined every available message for good."""
        self.kept = CONSUMER_OCTETS + octets_of(key) + (0 if filter is None else filter.octets)
        """Its share of `Ledger.topology`, in octets."""
        if not acquires:
            self.kept += _CURSOR * (queue.levels_high + 1)
        self.learned = 0
        """The number in `Queue.comebacks` up to which it has declined, below `passed`, all that came back."""
        self.declined: dict[Entry, int] = {}
        """Messages that came back after that and were declined again, with the number of that return."""
        self.cursors: list[int] = []
        """For browsers: by priority level, the position up to which they have seen the queue."""
        self.waiting = False
        """Whether it is in the queue's rotation of consumers; a browser: whether the queue will show it what comes."""
        self.served = 0
        """The number of the queue's last delivery to it; for a new consumer, of the last delivery before it came."""
        self.is_cancelled = False
        """Set once; what it holds can still be settled."""

    @property
    def is_choosy(self) -> bool:
        """Whether it leaves unwanted messages to others."""
        return self.no_local or self.filter is not None

    @property
    def place(self) -> tuple[int, str]:
        """Its identity, which survives a cancel and a new subscription: its owner's number and its key there."""
        return self.owner.number, str(self.key)

    def wants(self, entry: Entry) -> bool:
        """Whether a message suits it, regardless of room."""
        if entry.group is not None and self.acquires and not entry.queue.may_take(entry, self):
            return False
        if self.no_local and entry.message.publisher == self.owner.connection:
            return False
        if entry.excluded and self.place in entry.excluded:
            return False
        return self.filter is None or self.filter.accepts(entry.message)

    def has_declined(self, entry: Entry) -> bool:
        """Whether it has judged a message before, and doesn't want it."""
        passed = self.passed.get(entry.priority)
        if passed is None or entry.position > passed:
            return False
        returns = self.queue.comebacks
        if returns is None:
            return True
        number = returns.number_of(entry)
        return number <= self.learned or self.declined.get(entry) == number

    def decline(self, entry: Entry, floor: int) -> None:
        """Remember that it doesn't want a message. `floor` is the position in the level up to which the available ones
        before this were declined by the whole rotation: what is behind a gap would be forgotten."""
        if entry.group is not None:
            # It may want the message as soon as nobody else has others of the group.
            return
        returns = self.queue.number_returns()
        passed = self.passed.get(entry.priority, -1)
        if floor <= passed < entry.position:
            self.passed[entry.priority] = entry.position
        elif entry.position > passed:
            return
        number = returns.number_of(entry)
        if number > self.learned:
            self.declined[entry] = number
            self.learn(returns)

    def learn(self, returns: Returns[Entry]) -> None:
        """Bring `learned` as far as it goes."""
        self.learned = returns.learn(self.learned, self.passed, self.declined)
        if len(self.declined) > 2 * self.queue.ready + FEW:
            self.declined = {each: number for each, number in self.declined.items() if each.state is _AVAILABLE}

    def starts_at(self, level: int) -> int:
        """Return a position in a level up to which it has declined all messages."""
        start = self.passed.get(level, -1)
        returns = self.queue.comebacks
        if returns is None or returns.last == self.learned:
            return start
        self.learn(returns)
        low = returns.lowest(level, self.learned)
        return start if low is None else min(start, low - 1)

    @property
    def is_alone(self) -> bool:
        """Whether nothing comes of settlements of its messages but that it gets the next ones: many at once are the
        same then as each after the other."""
        queue = self.queue
        if (queue.ready and queue.turns) or queue.showing or queue.expiring or queue.is_keyed or not queue.is_plain:
            return False
        return all([len(each.consumers) == 1 and each.octets is None for each in self.windows if each.refills])

    def octets_of(self, message: Message) -> int:
        """Return the octets by which a message counts in windows."""
        return message.content.size if self.measure is None else self.measure.octets_of(message)

    def has_room(self) -> bool:
        """Whether an empty message could be delivered."""
        for window in self.windows:
            if (window.messages is not None and window.messages <= 0) or (
                window.octets is not None and window.octets <= 0
            ):
                return False
        return True

    def has_room_for(self, message: Message) -> bool:
        """Whether `message` could be delivered now."""
        for window in self.windows:
            if window.messages is not None and window.messages <= 0:
                return False
            if window.octets is not None:
                if window.overdraws:
                    if window.octets <= 0:
                        return False
                elif self.octets_of(message) > window.octets and window.octets != window.idle_octets:
                    return False
        return True

    def take(self, entry: Entry) -> bool:
        """Count a delivery; return whether there is room for more."""
        has_room = True
        for window in self.windows:
            messages, octets = window.messages, window.octets
            if messages is not None:
                window.messages = messages - 1
                has_room = has_room and messages > 1
            if octets is not None:
                message = entry.message
                octets -= message.octets + FRAMES_OCTETS if window.overdraws else self.octets_of(message)
                window.octets = octets
                has_room = has_room and octets > 0
            if len(window.consumers) > 1:
                # The consumer served last is woken last when the window has room again.
                window.consumers[self.number] = window.consumers.pop(self.number)
        return has_room

    def __repr__(self) -> str:
        return f"<Consumer {self.key!r} of {self.queue.name!r}>"


class Window:
    """Remaining room for deliveries: one consumer's credit, the prefetch shared by a channel's consumers, or a gate
    that holds a whole connection.

    A message counts with `Content.size` octets, or as `Consumer.octets_of` says.
    """

    __slots__ = ("consumers", "idle_octets", "messages", "octets", "overdraws", "refills")

    def __init__(
        self, messages: int | None = None, octets: int | None = None, *, refills: bool = False, overdraws: bool = False
    ) -> None:
        self.messages = messages
        """The messages that are left; None: any number. Negative after a limit was lowered below what is
        outstanding."""
        self.octets = octets
        """The same in octets."""
        self.refills = refills
        """Whether settling a message restores its room (prefetch); otherwise only `Grant` adds some."""
        self.overdraws = overdraws
        """Whether a message passes while `octets` is positive, whatever its size, and counts with all its stored
        octets and its frames: a gate."""
        self.idle_octets: int | None = None
        """The value of `octets` when nothing is outstanding: in that state a message larger than the window passes too
        (0-8 and 0-9-1 basic.qos); None: it doesn't."""
        self.consumers: dict[int, Consumer] = {}
        """Consumers that count their deliveries here, by number; maintained by the model."""
