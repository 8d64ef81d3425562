"""Queue: messages in their order and the consumers that take turns; it knows of no other queue or exchange."""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from heapq import heapify, heappop, heappush
from typing import TYPE_CHECKING, Any, Final
from zlib import crc32

from ...errors import CodecError
from .entry import MESSAGE, Entry, EntryInput, State
from .headers import comparable

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator, Mapping

    from .commands import Lifetime
    from .consumer import Consumer
    from .content import Content
    from .entry import Message
    from .options import QueueOptions
    from .owner import Owner
    from .vhost import VirtualHost

_AVAILABLE: Final = State.AVAILABLE
_ACQUIRED: Final = State.ACQUIRED
_FEW: Final = 64
"""Entries that aren't there any more and may lie among the others, beside as many as the others are."""
_FOLDED: Final = 2
"""Levels of priority of a queue that wasn't told how many: 0 to 4, and 5 and above (0-9-1, basic class)."""
_MIDDLE: Final = 5
"""The priority around which levels are spread."""
_GROUPS: Final = 255
"""Groups that are told apart where they stay with their consumers; more share places, as Broker-J does it."""
_NO_GROUP: Final = "qpid.no-group"
"""The group of messages without one, where a group is shared (the C++ broker's default)."""


class Hold:
    """Who has a message group, a consumer or whoever fetched of it, and how many of its messages are with it."""

    __slots__ = ("count", "who")

    def __init__(self, who: Consumer | Owner) -> None:
        self.who = who
        self.count = 0


class Queue:
    """A queue. The model changes it; everybody may read.

    `ready` and `unsettled` count the messages that are available and acquired, `octets` the bodies of the available.
    `used_at` is when it was last used, for `QueueOptions.expires`. `links` counts those of 1.0 that use it. In a queue
    of last values `newest` has the newest message of each key that there is; `groups` says who has which group.
    """

    __slots__ = (
        "active", "alternate", "arguments", "auto_delete", "browsers", "choosy", "consumers", "cramped", "creator",
        "deliveries", "durable", "exclusive_consumer", "exclusive_to", "expiring", "groups", "had_consumer",
        "is_deleted", "is_keyed", "is_plain", "levels", "lifetime", "links", "lowest", "name", "newest",
        "next_position", "octets", "offered", "options", "outlives", "ready", "turns", "unsettled", "used_at",
        "vhost", "was_scanned",
    )  # fmt: skip

    def __init__(
        self,
        name: str,
        vhost: VirtualHost,
        options: QueueOptions,
        *,
        durable: bool,
        auto_delete: bool,
        exclusive_to: Owner | None,
        alternate: str | None,
        arguments: Mapping[str, Any],
        lifetime: Lifetime | None,
        creator: Owner,
        now: float,
        outlives: bool = False,
    ) -> None:
        self.name = name
        self.vhost = vhost
        self.options = options
        self.durable = durable
        self.auto_delete = auto_delete
        self.exclusive_to = exclusive_to
        self.alternate = alternate
        self.arguments = arguments
        self.lifetime = lifetime
        self.creator: Owner | None = creator if lifetime is not None else None
        self.outlives = outlives
        count = options.levels or _FOLDED
        # Priorities up to here are the lowest level (0-10 message.transfer, rule priority-level-implementation).
        self.lowest = max(0, _MIDDLE - (count + 1) // 2)
        if options.levels is None and options.max_priority is not None:
            count, self.lowest = options.max_priority + 1, 0
        self.levels: tuple[deque[Entry], ...] = tuple([deque() for _ in range(count)])
        self.ready = self.unsettled = self.octets = 0
        self.next_position = 0
        self.expiring: list[tuple[float, int, Entry]] = []
        self.consumers: dict[int, Consumer] = {}
        self.turns: dict[int, deque[Consumer]] = {}
        """Those that have room, by priority; the one that was served last is the last."""
        self.deliveries = 0
        """Counts who is served, and who comes: `Consumer.served` is the number of the last time."""
        self.browsers: dict[int, Consumer] = {}
        self.choosy = 0
        """How many of the others may leave messages to others."""
        self.offered = [-1] * count
        """By level, the position up to which all who take turns were offered what is available, and wanted none."""
        self.was_scanned = False
        self.cramped: dict[int, tuple[Consumer, Entry]] = {}
        """Those that have room, by their numbers, but not for the message that is theirs next, with that message."""
        self.active: Consumer | None = None
        self.exclusive_consumer: Consumer | None = None
        self.had_consumer = self.is_deleted = False
        self.is_plain = options.message_ttl is options.max_length is options.max_octets is None
        """Whether it takes any number of messages and keeps them for any time."""
        self.is_keyed = options.last_value_key is not None or options.group_key is not None
        """Whether headers say what becomes of its messages."""
        self.newest: dict[Hashable, Entry] = {}
        self.groups: dict[Hashable, Hold] = {}
        self.links = 0
        self.used_at = now

    @property
    def messages(self) -> int:
        """How many messages it has, in whatever state."""
        return self.ready + self.unsettled

    def available(self) -> Iterator[Entry]:
        """The available messages, in the order in which they would be delivered."""
        for level in reversed(self.levels):
            for entry in level:
                if entry.state is _AVAILABLE:
                    yield entry

    # Messages.

    def new_entry(self, message: Message, priority: int, expires: float | None) -> Entry:
        """A message's place behind all others of its priority; not yet among the available ones."""
        level = min(max(priority - self.lowest, 0), len(self.levels) - 1)
        entry = Entry(message, self, self.next_position, level, expires)
        entry.linked = False
        if self.is_keyed:
            entry.key = self.key_of(message.content)
            entry.group = self._group_of(message.content)
        self.next_position += 1
        return entry

    def put(self, entry: Entry) -> None:
        """Let an entry be available, in its place."""
        entry.state = _AVAILABLE
        self.ready += 1
        self.octets += entry.message.content.size
        if entry.expires is not None:
            heappush(self.expiring, (entry.expires, entry.position, entry))
        if self.cramped:
            self._loosen(entry)
        if entry.linked:
            return
        entry.linked = True
        level = self.levels[entry.priority]
        if not level or level[-1].position < entry.position:
            level.append(entry)
        elif entry.position < level[0].position:
            level.appendleft(entry)
        else:
            level.insert(bisect_left(level, entry.position, key=_position), entry)

    def acquire(self, entry: Entry, owner: Owner, consumer: Consumer | None) -> None:
        """Take an available entry out of the others' reach."""
        entry.state = MESSAGE[entry.state][EntryInput.ACQUIRE]
        self.ready -= 1
        self.octets -= entry.message.content.size
        self._hand(entry, owner, consumer)
        if entry.linked:
            self._tidy(entry)
        if len(self.expiring) > 2 * self.ready + _FEW:
            self._thin_out()

    def hand(self, entry: Entry, consumer: Consumer) -> None:
        """A new entry is a consumer's at once."""
        entry.state = _ACQUIRED
        self._hand(entry, consumer.owner, consumer)

    def release(self, entry: Entry) -> None:
        """Let an acquired entry be available again, in its place."""
        entry.state = MESSAGE[entry.state][EntryInput.RELEASE]
        self.unsettled -= 1
        entry.owner = entry.consumer = entry.transaction = None
        self._let_go(entry)
        if self.was_scanned:
            level = entry.priority
            self.offered[level] = min(self.offered[level], entry.position - 1)
        self.put(entry)

    def archive(self, entry: Entry, why: EntryInput) -> None:
        """An entry leaves the queue for good."""
        if entry.state is _ACQUIRED:
            self.unsettled -= 1
        else:
            self.ready -= 1
            self.octets -= entry.message.content.size
        entry.state = MESSAGE[entry.state][why]
        entry.owner = entry.consumer = entry.transaction = None
        self._let_go(entry)
        if entry.key is not None and self.newest.get(entry.key) is entry:
            del self.newest[entry.key]
        self.leave(entry)
        if entry.linked:
            self._tidy(entry)
        if len(self.expiring) > 2 * self.ready + _FEW:
            self._thin_out()

    def first(self) -> Entry | None:
        """The available message that is next."""
        if not self.ready:
            return None
        for level in reversed(self.levels):
            while level:
                entry = level[0]
                if entry.state is _AVAILABLE:
                    return entry
                level.popleft()
                entry.linked = False
        return None

    def first_for(self, owner: Owner) -> Entry | None:
        """The available message that is next for somebody who fetches."""
        if not self.groups:
            return self.first()
        return next((each for each in self.available() if self.may_take(each, owner)), None)

    def oldest(self) -> Entry | None:
        """The available message that goes first where there are too many: of the lowest priority, the oldest."""
        for level in self.levels:
            for entry in level:
                if entry.state is _AVAILABLE:
                    return entry
        return None

    def due(self, now: float) -> Entry | None:
        """An available message whose time is over."""
        expiring = self.expiring
        while expiring:
            when, _, entry = expiring[0]
            if entry.state is _AVAILABLE and entry.expires == when:
                return entry if when <= now else None
            heappop(expiring)
        return None

    def next_deadline(self) -> float | None:
        """When the next message's time is over, or the queue's."""
        expiring = self.expiring
        while expiring and expiring[0][2].state is not _AVAILABLE:
            heappop(expiring)
        deadline = expiring[0][0] if expiring else None
        if self.options.expires is not None and not self.consumers:
            idle = self.used_at + self.options.expires
            deadline = idle if deadline is None else min(deadline, idle)
        return deadline

    # Keys and groups.

    def key_of(self, content: Content) -> Hashable:
        """What a message is the newest value of; None: of nothing."""
        name = self.options.last_value_key
        return None if name is None else _header(content, name)

    def is_replaced(self, entry: Entry) -> bool:
        """Whether a newer message of its key has come."""
        return entry.key is not None and self.newest.get(entry.key) is not entry

    def may_take(self, entry: Entry, who: Consumer | Owner) -> bool:
        """Whether the group of a message is nobody else's."""
        hold = None if entry.group is None else self.groups.get(entry.group)
        return hold is None or hold.who is who

    # Consumers.

    def add_consumer(self, consumer: Consumer) -> None:
        """A consumer takes its place behind those of its priority."""
        self.consumers[consumer.number] = consumer
        self.had_consumer = True
        self.deliveries += 1
        consumer.served = self.deliveries
        if not consumer.acquires:
            self.browsers[consumer.number] = consumer
            consumer.cursors = [-1] * len(self.levels)
        elif consumer.is_choosy:
            self.choosy += 1
        if consumer.exclusive:
            self.exclusive_consumer = consumer
        if self.active is None and self.options.single_active_consumer and consumer.acquires:
            self.active = consumer

    def remove_consumer(self, consumer: Consumer) -> None:
        """A consumer is gone; another becomes the single active one."""
        del self.consumers[consumer.number]
        self.cramped.pop(consumer.number, None)
        if not consumer.acquires:
            del self.browsers[consumer.number]
        elif consumer.is_choosy:
            self.choosy -= 1
        if self.groups and not self.options.shared_groups:
            self.groups = {group: hold for group, hold in self.groups.items() if hold.who is not consumer}
            self._look_again()
        if consumer.waiting:
            consumer.waiting = False
            turns = self.turns[consumer.priority]
            turns.remove(consumer)
            if not turns:
                del self.turns[consumer.priority]
        if self.exclusive_consumer is consumer:
            self.exclusive_consumer = None
        if self.active is consumer:
            waiting = [each for each in self.consumers.values() if each.acquires]
            waiting.sort(key=lambda each: (-each.priority, each.number))
            self.active = waiting[0] if waiting else None
            if self.active is not None and self.active.has_room():
                self.wake(self.active)

    def wake(self, consumer: Consumer) -> None:
        """A consumer that acquires has room: it takes turns again, where it isn't another one's turn all the time."""
        if self.active is not None and consumer is not self.active:
            return
        consumer.waiting = True
        self.cramped.pop(consumer.number, None)
        if self.was_scanned:
            self._look_again()
        turns = self.turns.get(consumer.priority)
        if turns is None:
            # Higher priorities are asked first.
            self.turns[consumer.priority] = deque((consumer,))
            self.turns = {each: self.turns[each] for each in sorted(self.turns, reverse=True)}
        elif turns[-1].served < consumer.served:
            turns.append(consumer)
        else:
            turns.insert(bisect_left(turns, consumer.served, key=_served), consumer)

    def taker(self, entry: Entry) -> Consumer | None:
        """The consumer whose turn it is to get `entry`; those without room lose their turns until they have some."""
        choosy = self.choosy or entry.excluded or entry.group is not None
        for priority in list(self.turns) if len(self.turns) > 1 else self.turns:
            turns = self.turns[priority]
            passed = 0
            for _ in range(len(turns)):
                consumer = turns[0]
                wants = not choosy or consumer.wants(entry)
                if not (consumer.has_room_for(entry.message) if wants else consumer.has_room()):
                    turns.popleft()
                    consumer.waiting = False
                    if consumer.has_room():
                        self.cramped[consumer.number] = consumer, entry
                    continue
                if wants:
                    self.deliveries += 1
                    consumer.served = self.deliveries
                    if passed:
                        # Who left it to others is still to be served before them.
                        turns.popleft()
                        turns.rotate(passed)
                        turns.append(consumer)
                    else:
                        turns.rotate(-1)
                    return consumer
                turns.rotate(-1)
                passed += 1
            if not turns:
                del self.turns[priority]
                return self.taker(entry) if self.turns else None
        return None

    def unseen(self, cursors: list[int]) -> Iterator[Entry]:
        """The available messages behind a browser's `cursors`, or behind `offered`, in the order of delivery; the
        cursors move when the next one is asked for."""
        for number in range(len(self.levels) - 1, -1, -1):
            fresh: list[Entry] = []
            for entry in reversed(self.levels[number]):
                if entry.position <= cursors[number]:
                    break
                fresh.append(entry)
            for entry in reversed(fresh):
                # What isn't available hasn't been seen: it may come back.
                if entry.state is _AVAILABLE:
                    yield entry
                    cursors[number] = max(cursors[number], entry.position)

    def leave(self, entry: Entry) -> None:
        """A message isn't available any more: who had no room for it takes turns again."""
        if not self.cramped:
            return
        for consumer, blocking in list(self.cramped.values()):
            if blocking is entry:
                self.wake(consumer)

    # Inside.

    def _group_of(self, content: Content) -> Hashable:
        options = self.options
        if options.group_key is None:
            return None
        group = _header(content, options.group_key)
        if options.shared_groups:
            return _NO_GROUP if group is None else group
        # A consumer's stay with it as long as it lives: there must not be any number of them.
        return None if group is None else crc32(repr(group).encode("utf-8", "surrogatepass")) % _GROUPS

    def _hand(self, entry: Entry, owner: Owner, consumer: Consumer | None) -> None:
        self.unsettled += 1
        entry.owner = owner
        entry.consumer = consumer
        if entry.group is not None:
            self._hold(entry, owner if consumer is None else consumer)
        self.leave(entry)

    def _hold(self, entry: Entry, who: Consumer | Owner) -> None:
        if self.options.shared_groups:
            entry.hold = self.groups.setdefault(entry.group, Hold(who))
            entry.hold.count += 1
        elif entry.consumer is not None and not entry.consumer.is_cancelled:
            self.groups.setdefault(entry.group, Hold(who))

    def _let_go(self, entry: Entry) -> None:
        """A message isn't with somebody any more: with the last one its shared group is free."""
        hold, entry.hold = entry.hold, None
        if hold is not None:
            hold.count -= 1
            if not hold.count:
                del self.groups[entry.group]
                self._look_again()

    def _look_again(self) -> None:
        """What was offered in vain isn't any more."""
        self.offered = [-1] * len(self.levels)

    def _thin_out(self) -> None:
        """Forget the times of messages that aren't there any more: theirs may be far away."""
        kept = {each[1]: each for each in self.expiring if each[2].state is _AVAILABLE}
        self.expiring = list(kept.values())
        heapify(self.expiring)

    def _loosen(self, entry: Entry) -> None:
        """A message comes in front of others: who had no room for one of those takes turns again."""
        for consumer, blocking in list(self.cramped.values()):
            if (-entry.priority, entry.position) < (-blocking.priority, blocking.position):
                self.wake(consumer)

    def _tidy(self, entry: Entry) -> None:
        """Forget what lies at the head and isn't available; now and then what lies in between."""
        level = self.levels[entry.priority]
        while level and level[0].state is not _AVAILABLE:
            level.popleft().linked = False
        if len(level) > 2 * self.ready + _FEW:
            for each in level:
                each.linked = each.state is _AVAILABLE
            kept = [each for each in level if each.linked]
            level.clear()
            level.extend(kept)

    def __repr__(self) -> str:
        return f"<Queue {self.name!r}, {self.ready} ready, {self.unsettled} unsettled>"


def _header(content: Content, name: str) -> Hashable:
    """What stands for the value of a header; None for one that isn't there, or is damaged."""
    try:
        return comparable(content.headers.get(name))
    except CodecError:
        return None


def _position(entry: Entry) -> int:
    return entry.position


def _served(consumer: Consumer) -> int:
    return consumer.served
