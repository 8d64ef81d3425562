"""Queues and what refers to them: entries, consumers with their windows, owners, transactions, virtual hosts.

`Queue` keeps messages in order, and the rotation of its consumers; it knows no other queue and no exchange.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from heapq import heapify, heappop, heappush
from typing import TYPE_CHECKING, Any, Final
from zlib import crc32

from ...errors import CodecError
from .content import FRAMES_OCTETS
from .exchange import Destination, Exchange, predeclared
from .faults import Fault, FaultKind
from .headers import comparable
from .options import Lifetime
from .states import MESSAGE, EntryInput, State, TransactionState

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator, Mapping

    from .content import Content, Filter, Measure, Message
    from .options import QueueOptions

_AVAILABLE: Final = State.AVAILABLE
_ACQUIRED: Final = State.ACQUIRED
_FEW: Final = 64
"""Stale entries that may remain in excess of the live ones."""
_FOLDED: Final = 2
"""Default number of priority levels: 0 to 4, and 5 and above (0-9-1, basic class)."""
_MIDDLE: Final = 5
"""The priority around which levels are spread."""
_GROUPS: Final = 255
"""Most groups distinguished when groups belong to consumers; more share buckets, as in Broker-J."""
_NO_GROUP: Final = "qpid.no-group"
"""The group of messages without one, with shared groups (the C++ broker's default)."""


class Command:
    """The base of all commands."""

    __slots__ = ()
    __match_args__: tuple[str, ...] = ()


class Entry:
    """A message in a queue, with its state there.

    `redelivered`: it may have been delivered before. `delivery_count` is the number of failed deliveries. `owner` and
    `consumer` hold it while it is acquired (`consumer` is None after a get or an acquire by name). `transaction` is the
    open transaction that settles it. `expires` is when it expires, in seconds; None: never. `key` is its value in a
    last-value queue, `group` its message group, `hold` the group's holder while that has the message.
    """

    __slots__ = (
        "consumer", "delivery_count", "excluded", "expires", "group", "hold", "key", "linked", "message", "owner",
        "position", "priority", "queue", "redelivered", "state", "transaction",
    )  # fmt: skip

    def __init__(self, message: Message, queue: Queue, position: int, priority: int, expires: float | None) -> None:
        self.message = message
        self.queue = queue
        self.position = position
        self.priority = priority
        self.expires = expires
        self.state = _AVAILABLE
        self.redelivered = False
        self.delivery_count = 0
        self.linked = True
        self.owner: Owner | None = None
        self.consumer: Consumer | None = None
        self.transaction: Transaction | None = None
        self.excluded: tuple[tuple[int, str], ...] = ()
        """The `Consumer.place` of each consumer that may not receive it again (1.0 undeliverable-here)."""
        self.key: Hashable = None
        self.group: Hashable = None
        self.hold: Hold | None = None

    def __repr__(self) -> str:
        return f"<Entry {self.position} of {self.queue.name!r}, {self.state.value}>"


class Window:
    """Remaining room for deliveries: one consumer's credit, the prefetch shared by a channel's consumers, or a gate
    that holds a whole connection.

    `messages` and `octets` are the remaining amounts, None for unlimited; they are negative after a limit was lowered
    below the amount outstanding. A message counts with `Content.size` octets, or as `Consumer.octets_of` says. With
    `refills`, settling a message restores its room (prefetch); otherwise only `Grant` adds some. With `overdraws` (a
    gate), a message passes while `octets` is positive, whatever its size, and counts with all its stored octets and its
    frames. `idle_octets` is the value of `octets` when nothing is outstanding: in that state a message larger than the
    window passes too (0-8 and 0-9-1 basic.qos); None: it doesn't.
    """

    __slots__ = ("consumers", "idle_octets", "messages", "octets", "overdraws", "refills")

    def __init__(
        self, messages: int | None = None, octets: int | None = None, *, refills: bool = False, overdraws: bool = False
    ) -> None:
        self.messages = messages
        self.octets = octets
        self.refills = refills
        self.overdraws = overdraws
        self.idle_octets: int | None = None
        self.consumers: dict[int, Consumer] = {}
        """Consumers that count their deliveries here, by number; maintained by the model."""


class Consumer:
    """A subscription to one queue. `Subscribe` creates it; `Cancel` or the end of its owner or queue ends it.

    `key` is the front end's name for it. With `acquires` it takes messages away from others; otherwise it browses and
    sees each message once. `settles` settles every delivery at once. Deliveries need room in each of `windows`.
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
        """For browsers: by priority level, the position up to which they have seen the queue."""
        self.waiting = False
        """Whether it is in the queue's rotation of consumers."""
        self.served = 0
        """The number of the queue's last delivery to it; for a new consumer, of the last delivery before it came."""
        self.is_cancelled = False

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
        if self.no_local and entry.message.publisher == self.owner.connection:
            return False
        if entry.excluded and self.place in entry.excluded:
            return False
        if entry.group is not None and self.acquires and not entry.queue.may_take(entry, self):
            return False
        return self.filter is None or self.filter.accepts(entry.message)

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
                # The consumer served last is woken last when the window has room again.
                window.consumers[self.number] = window.consumers.pop(self.number)

    def __repr__(self) -> str:
        return f"<Consumer {self.key!r} of {self.queue.name!r}>"


class Owner:
    """A node in the tree of what a client has opened. `OpenOwner` creates it, `CloseOwner` ends it with its children.

    At its end, in this order: its consumers are cancelled, its transactions rolled back, its messages returned to their
    places in their queues, marked as redelivered, and its exclusive queues deleted.
    """

    __slots__ = (
        "children", "connection", "consumers", "created", "exclusive", "held", "is_closed", "links", "number", "parent",
        "transactions", "user", "vhost",
    )  # fmt: skip

    def __init__(self, number: int, vhost: VirtualHost, parent: Owner | None, user: str) -> None:
        self.number = number
        self.vhost = vhost
        self.parent = parent
        self.connection: int = number if parent is None else parent.connection
        """The number of the topmost owner."""
        self.is_closed = False
        self.links: dict[str, int] = {}
        """The queues that its 1.0 links use, with the number of links (`LinkQueue`)."""
        self.user = user
        self.children: dict[int, Owner] = {}
        self.consumers: dict[int, Consumer] = {}
        self.held: dict[Entry, None] = {}
        self.created: dict[str, Queue] = {}
        """The dynamic nodes that it created as their link."""
        self.exclusive: dict[str, Queue] = {}
        self.transactions: dict[int, Transaction] = {}

    def is_within(self, other: Owner) -> bool:
        """Whether it is `other` or below it."""
        each: Owner | None = self
        while each is not None:
            if each is other:
                return True
            each = each.parent
        return False

    def find_queue(self, name: str) -> Queue:
        """Return the queue of that name if it may use it. Raises Fault: NAME_MISSING, NOT_FOUND, LOCKED."""
        if not name:
            raise Fault(FaultKind.NAME_MISSING, "a queue's name is needed here", "queue")
        queue = self.vhost.queues.get(name)
        if queue is None:
            raise Fault(FaultKind.NOT_FOUND, f"no queue {name!r} in vhost {self.vhost.name!r}", "queue")
        if queue.exclusive_to is not None:
            self.check(queue)
        return queue

    def check(self, queue: Queue) -> None:
        """Refuse a queue that is exclusive to another owner. Raises Fault LOCKED."""
        if queue.exclusive_to is not None and not self.is_within(queue.exclusive_to):
            text = (
                f"cannot obtain exclusive access to locked queue {queue.name!r} in vhost {queue.vhost.name!r}. "
                "It could be originally declared on another connection or the exclusive property value does not "
                "match that of the original declaration."
            )
            raise Fault(FaultKind.LOCKED, text, "queue")

    @property
    def root(self) -> Owner:
        """The topmost owner above it, or itself."""
        each = self
        while each.parent is not None:
            each = each.parent
        return each

    def __repr__(self) -> str:
        return f"<Owner {self.number} of {self.user!r} in {self.vhost.name!r}>"


class Transaction:
    """`number` is unique in the broker; `work` its commands in order; the end of `owner`, if any, ends it."""

    __slots__ = ("number", "octets", "owner", "state", "vhost", "work")

    def __init__(self, number: int, vhost: VirtualHost, owner: Owner | None) -> None:
        self.number = number
        self.vhost = vhost
        self.owner = owner
        self.state = TransactionState.ACTIVE
        self.work: list[Command] = []
        self.octets = 0
        """Octets of the contents of its publishes."""

    def __repr__(self) -> str:
        return f"<Transaction {self.number}, {self.state.value}>"


class Hold:
    """The holder of a message group, a consumer or fetching owner, and the number of messages that it has of it."""

    __slots__ = ("count", "who")

    def __init__(self, who: Consumer | Owner) -> None:
        self.who = who
        self.count = 0


class Queue(Destination):
    """A queue. The model changes it; everybody may read.

    `ready` and `unsettled` count the available and the acquired messages, `octets` the bodies of the available ones.
    `next_position` counts the messages that have entered it, `delivered` how often one was acquired.
    `used_at` is the time of its last use, for `QueueOptions.expires`. `links` counts the 1.0 links that use it.
    `newest` has the newest message of each key (last-value queues); `groups` has the holder of each group.
    """

    __slots__ = (
        "active", "alternate", "arguments", "auto_delete", "browsers", "choosy", "consumers", "cramped", "creator",
        "delivered", "deliveries", "durable", "exclusive_consumer", "exclusive_to", "expiring", "groups",
        "had_consumer", "is_deleted", "is_keyed", "is_plain", "levels", "lifetime", "links", "lowest", "name", "newest",
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
        # Priorities up to here share the lowest level (0-10 message.transfer, rule priority-level-implementation).
        self.lowest = max(0, _MIDDLE - (count + 1) // 2)
        if options.levels is None and options.max_priority is not None:
            count, self.lowest = options.max_priority + 1, 0
        self.levels: tuple[deque[Entry], ...] = tuple([deque() for _ in range(count)])
        self.ready = self.unsettled = self.octets = 0
        self.next_position = 0
        self.delivered = 0
        self.expiring: list[tuple[float, int, Entry]] = []
        self.consumers: dict[int, Consumer] = {}
        self.turns: dict[int, deque[Consumer]] = {}
        """The rotation: consumers with room, by priority; the one served last is at the end."""
        self.deliveries = 0
        """Number of deliveries; `Consumer.served` is its value at the consumer's last one."""
        self.browsers: dict[int, Consumer] = {}
        self.choosy = 0
        """Number of acquiring consumers that may leave messages to others."""
        self.offered = [-1] * count
        """By level, the position up to which the whole rotation has declined the available messages."""
        self.was_scanned = False
        self.cramped: dict[int, tuple[Consumer, Entry]] = {}
        """Consumers with some room, but too little for their next message, by number, with that message."""
        self.active: Consumer | None = None
        self.exclusive_consumer: Consumer | None = None
        self.had_consumer = self.is_deleted = False
        self.is_plain = options.message_ttl is options.max_length is options.max_octets is None
        """Whether messages neither expire nor hit a length limit."""
        self.is_keyed = options.last_value_key is not None or options.group_key is not None
        """Whether headers affect the handling of its messages."""
        self.newest: dict[Hashable, Entry] = {}
        self.groups: dict[Hashable, Hold] = {}
        self.links = 0
        self.used_at = now

    @property
    def is_private(self) -> bool:
        """Whether only one owner may use it."""
        return self.exclusive_to is not None

    @property
    def is_over(self) -> bool:
        """Whether a dynamic node's lifetime has ended (1.0 part 3 section 5)."""
        lifetime = self.lifetime
        linked = self.links and lifetime in (Lifetime.ON_NO_LINKS, Lifetime.ON_NO_LINKS_OR_MESSAGES)
        filled = self.messages and lifetime in (Lifetime.ON_NO_MESSAGES, Lifetime.ON_NO_LINKS_OR_MESSAGES)
        return self.creator is None and not linked and not filled

    @property
    def messages(self) -> int:
        """Number of messages, available and acquired."""
        return self.ready + self.unsettled

    def refuses(self, content: Content) -> bool:
        """Whether it is full and refuses a message like this one (x-overflow)."""
        options = self.options
        if options.overflow == "drop-head" or not (
            (options.max_length is not None and self.ready >= options.max_length)
            or (options.max_octets is not None and self.octets + content.size > options.max_octets)
        ):
            return False
        older = self.newest.get(self.key_of(content)) if self.newest else None
        # The message would make room for itself.
        return older is None or older.state is not _AVAILABLE

    def available(self) -> Iterator[Entry]:
        """Yield the available messages in the order of delivery."""
        for level in reversed(self.levels):
            for entry in level:
                if entry.state is _AVAILABLE:
                    yield entry

    # Messages.

    def new_entry(self, message: Message, priority: int, expires: float | None) -> Entry:
        """Create a message's place behind all others of its priority; it isn't available yet."""
        level = min(max(priority - self.lowest, 0), len(self.levels) - 1)
        entry = Entry(message, self, self.next_position, level, expires)
        entry.linked = False
        if self.is_keyed:
            entry.key = self.key_of(message.content)
            entry.group = self._group_of(message.content)
        self.next_position += 1
        return entry

    def put(self, entry: Entry) -> None:
        """Make an entry available, in its place."""
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
        """Give a new entry to a consumer at once."""
        entry.state = _ACQUIRED
        self._hand(entry, consumer.owner, consumer)

    def release(self, entry: Entry) -> None:
        """Make an acquired entry available again, in its place."""
        entry.state = MESSAGE[entry.state][EntryInput.RELEASE]
        self.unsettled -= 1
        entry.owner = entry.consumer = entry.transaction = None
        self._let_go(entry)
        if self.was_scanned:
            level = entry.priority
            self.offered[level] = min(self.offered[level], entry.position - 1)
        self.put(entry)

    def archive(self, entry: Entry, why: EntryInput) -> None:
        """Remove an entry from the queue for good."""
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
        """Return the next available message."""
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
        """Return the next available message for an owner that fetches."""
        if not self.groups:
            return self.first()
        return next((each for each in self.available() if self.may_take(each, owner)), None)

    def oldest(self) -> Entry | None:
        """Return the message that a length limit drops first: the oldest one of the lowest priority."""
        for level in self.levels:
            for entry in level:
                if entry.state is _AVAILABLE:
                    return entry
        return None

    def due(self, now: float) -> Entry | None:
        """Return an available message that has expired."""
        expiring = self.expiring
        while expiring:
            when, _, entry = expiring[0]
            if entry.state is _AVAILABLE and entry.expires == when:
                return entry if when <= now else None
            heappop(expiring)
        return None

    def next_deadline(self) -> float | None:
        """Return when the next message, or the queue, expires."""
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
        """Return the key of a message in a last-value queue; None: it has none."""
        name = self.options.last_value_key
        return None if name is None else _header(content, name)

    def is_replaced(self, entry: Entry) -> bool:
        """Whether a newer message of its key has arrived."""
        return entry.key is not None and self.newest.get(entry.key) is not entry

    def may_take(self, entry: Entry, who: Consumer | Owner) -> bool:
        """Whether nobody else holds the group of a message."""
        hold = None if entry.group is None else self.groups.get(entry.group)
        return hold is None or hold.who is who

    # Consumers.

    def add_consumer(self, consumer: Consumer) -> None:
        """Add a consumer to the rotation, behind the others of its priority."""
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
        """Remove a consumer; if it was the single active one, another takes its place."""
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
        """Return an acquiring consumer with room to the rotation, unless another one is the single active consumer."""
        if self.active is not None and consumer is not self.active:
            return
        consumer.waiting = True
        self.cramped.pop(consumer.number, None)
        if self.was_scanned:
            self._look_again()
        turns = self.turns.get(consumer.priority)
        if turns is None:
            # Keep higher priorities first.
            self.turns[consumer.priority] = deque((consumer,))
            self.turns = {each: self.turns[each] for each in sorted(self.turns, reverse=True)}
        elif turns[-1].served < consumer.served:
            turns.append(consumer)
        else:
            turns.insert(bisect_left(turns, consumer.served, key=_served), consumer)

    def taker(self, entry: Entry) -> Consumer | None:
        """Return the consumer whose turn it is to get `entry`; those without room leave the rotation meanwhile."""
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
                        # Consumers that declined it are still next in turn.
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
        """Yield the available messages behind a browser's `cursors`, or behind `offered`, in the order of delivery; the
        cursors advance when the next one is requested."""
        for number in range(len(self.levels) - 1, -1, -1):
            fresh: list[Entry] = []
            for entry in reversed(self.levels[number]):
                if entry.position <= cursors[number]:
                    break
                fresh.append(entry)
            for entry in reversed(fresh):
                # An unavailable message hasn't been seen: it may return.
                if entry.state is _AVAILABLE:
                    yield entry
                    cursors[number] = max(cursors[number], entry.position)

    def leave(self, entry: Entry) -> None:
        """Return the consumers that had no room for this message to the rotation, now that it is unavailable."""
        if not self.cramped:
            return
        for consumer, blocking in list(self.cramped.values()):
            if blocking is entry:
                self.wake(consumer)

    # Internals.

    def _group_of(self, content: Content) -> Hashable:
        options = self.options
        if options.group_key is None:
            return None
        group = _header(content, options.group_key)
        if options.shared_groups:
            return _NO_GROUP if group is None else group
        # A group stays with its consumer as long as that lives, so the number of groups must be bounded.
        return None if group is None else crc32(repr(group).encode("utf-8", "surrogatepass")) % _GROUPS

    def _hand(self, entry: Entry, owner: Owner, consumer: Consumer | None) -> None:
        self.unsettled += 1
        self.delivered += 1
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
        """Release a message; the last one that leaves its holder frees a shared group."""
        hold, entry.hold = entry.hold, None
        if hold is not None:
            hold.count -= 1
            if not hold.count:
                del self.groups[entry.group]
                self._look_again()

    def _look_again(self) -> None:
        """Offer declined messages again."""
        self.offered = [-1] * len(self.levels)

    def _thin_out(self) -> None:
        """Remove the expiry times of entries that are gone, which may lie far in the future."""
        kept = {each[1]: each for each in self.expiring if each[2].state is _AVAILABLE}
        self.expiring = list(kept.values())
        heapify(self.expiring)

    def _loosen(self, entry: Entry) -> None:
        """Return consumers to the rotation that had no room for a message behind `entry`, which now precedes it."""
        for consumer, blocking in list(self.cramped.values()):
            if (-entry.priority, entry.position) < (-blocking.priority, blocking.position):
                self.wake(consumer)

    def _tidy(self, entry: Entry) -> None:
        """Remove unavailable entries from the head of a level; occasionally also from its middle."""
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


class VirtualHost:
    """The contents of one virtual host; created with the exchanges that every virtual host has.

    `services` maps the names that a system exchange serves to queues. `sources` maps every bound queue and exchange to
    the exchanges it is bound to, each with the number of bindings.
    """

    __slots__ = ("bindings", "exchanges", "name", "queues", "services", "sources")

    def __init__(self, name: str) -> None:
        self.name = name
        self.exchanges: dict[str, Exchange] = {each.name: each for each in predeclared()}
        self.queues: dict[str, Queue] = {}
        self.services: dict[str, str] = {}
        self.sources: dict[Destination, dict[str, int]] = {}
        self.bindings = 0

    def find_exchange(self, name: str) -> Exchange:
        """Return the exchange of that name. Raises Fault NOT_FOUND."""
        exchange = self.exchanges.get(name)
        if exchange is None:
            raise Fault(FaultKind.NOT_FOUND, f"no exchange {name!r} in vhost {self.name!r}", "exchange")
        return exchange

    def bindable(self, name: str) -> Exchange:
        """Do the same as `find_exchange`, but refuse the default exchange. Raises Fault."""
        if not name:
            text = f"operation not permitted on the default exchange of vhost {self.name!r}"
            raise Fault(FaultKind.DEFAULT_EXCHANGE, text, "exchange")
        return self.find_exchange(name)

    def is_alternate(self, name: str) -> bool:
        """Whether an exchange or queue has the exchange of that name as its alternate."""
        return any(each.alternate == name for each in self.exchanges.values()) or any(
            each.alternate == name for each in self.queues.values()
        )

    def count_binding(self, source: Exchange, destination: Destination) -> None:
        """Count a new binding."""
        self.bindings += 1
        sources = self.sources.setdefault(destination, {})
        sources[source.name] = sources.get(source.name, 0) + 1

    def uncount_binding(self, source: Exchange, destination: Destination) -> None:
        """Count a binding that was removed."""
        self.bindings -= 1
        sources = self.sources.get(destination)
        if sources is not None:
            sources[source.name] -= 1
            if not sources[source.name]:
                del sources[source.name]
            if not sources:
                del self.sources[destination]

    def route(
        self, exchange: Exchange, routing_key: str, content: Content, *, alternates: bool = True, chained: bool = False
    ) -> list[Queue]:
        """Return the queues for a message published to `exchange`: each once, always in the same order.

        Exchanges bound in a circle route each message once. An exchange without a matching binding passes it to its
        alternate, if `alternates` is set (0-10 unsets it if the publisher is told instead). The alternate's own
        alternate isn't used (0-10 exchange.declare, rule double-failure), unless `chained` (RabbitMQ).
        """
        found = exchange.targets(self, routing_key, content)
        if not found:
            if exchange.alternate is None or not alternates:
                return []
        elif not exchange.forwards:
            # Without bindings to exchanges, all are queues.
            return [each for each in found if isinstance(each, Queue)]
        return self._route_on(exchange, routing_key, content, alternates, chained)

    def _route_on(
        self, exchange: Exchange, routing_key: str, content: Content, alternates: bool, chained: bool
    ) -> list[Queue]:
        queues: dict[Queue, None] = {}
        seen: dict[Exchange, None] = {exchange: None}
        reached = [exchange]
        while reached:
            unmatched: list[Exchange] = []
            # The list grows during the loop.
            for each in reached:
                targets = each.targets(self, routing_key, content)
                if not targets:
                    unmatched.append(each)
                for target in targets:
                    if isinstance(target, Queue):
                        queues[target] = None
                    elif isinstance(target, Exchange) and target not in seen:
                        seen[target] = None
                        reached.append(target)
            if not alternates:
                break
            following: list[Exchange] = []
            for each in unmatched:
                alternate = None if each.alternate is None else self.exchanges.get(each.alternate)
                if alternate is not None and alternate not in seen:
                    seen[alternate] = None
                    following.append(alternate)
            reached = following
            alternates = chained
        return list(queues)

    def __repr__(self) -> str:
        return f"<VirtualHost {self.name!r}>"


def _header(content: Content, name: str) -> Hashable:
    """Return a comparable key for the value of a header; None if it is absent or damaged."""
    try:
        return comparable(content.headers.get(name))
    except CodecError:
        return None


def _position(entry: Entry) -> int:
    return entry.position


def _served(consumer: Consumer) -> int:
    return consumer.served
