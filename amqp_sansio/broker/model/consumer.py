"""Consumer and Window: who gets a queue's messages, and how many of them at the moment."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable
from typing import TYPE_CHECKING

from .entry import FRAMES_OCTETS

if TYPE_CHECKING:
    from .entry import Entry, Message
    from .owner import Owner
    from .queue import Queue


class Filter(ABC):
    """Which messages a consumer wants; a value that pickles."""

    __slots__ = ()

    @abstractmethod
    def accepts(self, message: Message) -> bool:
        """Whether the consumer wants it."""


class Measure(ABC):
    """How many octets messages take of windows, where that isn't `Content.size`; a value that pickles."""

    __slots__ = ()

    @abstractmethod
    def octets_of(self, message: Message) -> int:
        """What a message takes."""


class Window:
    """How many messages and octets more may be delivered through it: one consumer's credit, the prefetch that a
    channel's consumers share, or a gate that holds a whole connection up.

    `messages` and `octets` are what is left, None without limit; they can be negative, when a limit was made smaller
    than what is out. What a message counts in octets is `Content.size`, or what `Consumer.octets_of` says.
    With `refills`, what was delivered counts again when it is settled (prefetch); else only `Grant` gives more.
    With `overdraws` (a gate) a message goes through while anything is left of `octets`, however big it is, and counts
    with all that is kept of it, and its frames. `idle_octets` is what is left of `octets` when nothing is out: then a
    message that is bigger than all of that goes through too (0-8 and 0-9-1 basic.qos); None: it doesn't.
    """

    __slots__ = ("consumers", "idle_octets", "messages", "octets", "overdraws", "refills")

    def __init__(
        self,
        messages: int | None = None,
        octets: int | None = None,
        *,
        refills: bool = False,
        overdraws: bool = False,
    ) -> None:
        self.messages = messages
        self.octets = octets
        self.refills = refills
        self.overdraws = overdraws
        self.idle_octets: int | None = None
        self.consumers: dict[int, Consumer] = {}
        """Those that it counts for, by their numbers; kept by the model."""


class Consumer:
    """A subscription to one queue. `Subscribe` makes one, `Cancel`, the end of its owner or of its queue end it.

    `key` is the front end's name for it. `acquires`: a message is its alone; else it browses, and gets each message
    once. `settles`: what is delivered is settled at once. It may get messages while each of `windows` has room.
    """

    __slots__ = (
        "acquires", "cursors", "exclusive", "filter", "is_cancelled", "key", "measure", "no_local", "number",
        "owner", "priority", "queue", "served", "settles", "waiting", "windows",
    )  # fmt: skip

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
        self.owner = owner
        self.queue = queue
        self.key = key
        self.windows = windows
        self.acquires = acquires
        self.settles = settles
        self.exclusive = exclusive
        self.no_local = no_local
        self.priority = priority
        self.filter = filter
        self.measure = measure
        self.cursors: list[int] = []
        """Of browsers: by level of priority, the position up to which they have seen the queue."""
        self.waiting = False
        """Whether the queue counts on it: it is among those that take turns."""
        self.served = 0
        """Which of the queue's deliveries was its last one; of a new one, before which it came."""
        self.is_cancelled = False

    @property
    def is_choosy(self) -> bool:
        """Whether it leaves messages that it doesn't want to others."""
        return self.no_local or self.filter is not None

    @property
    def place(self) -> tuple[int, str]:
        """Who it is, also when it ends and goes on: its owner and its name there."""
        return self.owner.number, str(self.key)

    def wants(self, entry: Entry) -> bool:
        """Whether a message is for it at all."""
        if self.no_local and entry.message.publisher == self.owner.connection:
            return False
        if entry.excluded and self.place in entry.excluded:
            return False
        if entry.group is not None and self.acquires and not entry.queue.may_take(entry, self):
            return False
        return self.filter is None or self.filter.accepts(entry.message)

    def octets_of(self, message: Message) -> int:
        """What a message takes of windows that count octets."""
        return message.content.size if self.measure is None else self.measure.octets_of(message)

    def has_room(self) -> bool:
        """Whether a message of no octets could be delivered."""
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

    def take(self, entry: Entry) -> None:
        """Count a delivery."""
        for window in self.windows:
            if window.messages is not None:
                window.messages -= 1
            if window.octets is not None:
                if window.overdraws:
                    window.octets -= entry.message.octets + FRAMES_OCTETS
                else:
                    window.octets -= self.octets_of(entry.message)
            if len(window.consumers) > 1:
                # Who was served last is the last to be woken when there's room again, should there be a limit then.
                window.consumers[self.number] = window.consumers.pop(self.number)

    def __repr__(self) -> str:
        return f"<Consumer {self.key!r} of {self.queue.name!r}>"
