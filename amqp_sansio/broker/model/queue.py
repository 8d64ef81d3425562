"""Queues and what refers to them: entries, consumers with their windows, owners, transactions, virtual hosts.

`Queue` keeps messages in order, and the rotation of its consumers; it knows no other queue and no exchange.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections import deque
from heapq import heapify, heappop, heappush
from typing import TYPE_CHECKING, Any, Final, Protocol
from zlib import crc32

from ...errors import CodecError
from .content import FRAMES_OCTETS
from .exchange import Destination, Exchange, predeclared
from .faults import Fault, FaultKind, Postponed
from .headers import comparable
from .options import Lifetime, as_text
from .returns import Returns
from .sizes import CONSUMER_OCTETS, QUEUE_OCTETS, octets_of
from .states import MESSAGE, EntryInput, State, TransactionState

if TYPE_CHECKING:
    from collections.abc import Collection, Hashable, Iterator, Mapping

    from .content import Content, Filter, Measure, Message
    from .options import QueueOptions

_AVAILABLE: Final = State.AVAILABLE
_ACQUIRED: Final = State.ACQUIRED
_ACQUIRE: Final = EntryInput.ACQUIRE
_CURSOR: Final = 40
"""Octets of a browser's place in one level."""
_FEW: Final = 64
"""Stale entries that may remain in excess of the live ones."""
_CHUNK: Final = 64
"""Entries that are taken from a level at once to be looked at."""
_KEPT: Final = 4
"""Empty levels of priority that a queue keeps."""
_FOLDED: Final = 2
"""Default number of priority levels: 0 to 4, and 5 and above (0-9-1, basic class)."""
_MIDDLE: Final = 5
"""The priority around which levels are spread."""
_GROUPS: Final = 255
"""Most groups distinguished when groups belong to consumers; more share buckets, as in Broker-J."""
_NO_GROUP: Final = "qpid.no-group"
"""The group of messages without one, with shared groups (the C++ broker's default)."""


class Budget(Protocol):
    """The part of `Ledger` that counts the work of a turn."""

    room: int

    @property
    def is_spent(self) -> bool: ...


class Command:
    """The base of all commands."""

    __slots__ = ()
    __match_args__: tuple[str, ...] = ()


class Entry:
    """A message in a queue, with its state there."""

    __slots__ = (
        "consumer",
        "delivery_count",
        "excluded",
        "expires",
        "group",
        "hold",
        "key",
        "linked",
        "message",
        "owner",
        "position",
        "priority",
        "queue",
        "redelivered",
        "state",
        "transaction",
    )

    def __init__(self, message: Message, queue: Queue, position: int, priority: int, expires: float | None) -> None:
        self.message = message
        """Shared with the other queues that hold it."""
        self.queue = queue
        """Where it is; an entry never moves to another."""
        self.position = position
        """The order in which messages entered the queue; one that returns keeps it."""
        self.priority = priority
        """The level that it waits in."""
        self.expires = expires
        """When it expires, in seconds; None: never."""
        self.state = _AVAILABLE
        """A row of the table MESSAGE."""
        self.redelivered = False
        """Whether it may have been delivered before."""
        self.delivery_count = 0
        """How many deliveries have failed."""
        self.linked = True
        """Whether it stands in its level, where an acquired one may stay for the case that it comes back."""
        self.owner: Owner | None = None
        """Who holds it while it is acquired."""
        self.consumer: Consumer | None = None
        """The one of that owner that it was delivered to; None after a get or an acquire by name."""
        self.transaction: Transaction | None = None
        """The open one that settles it."""
        self.excluded: tuple[tuple[int, str], ...] = ()
        """The `Consumer.place` of each consumer that may not receive it again (1.0 undeliverable-here)."""
        self.key: Hashable = None
        """Its value in a last-value queue."""
        self.group: Hashable = None
        """Its message group."""
        self.hold: Hold | None = None
        """The group's holder while that has the message."""

    def __repr__(self) -> str:
        return f"<Entry {self.position} of {self.queue.name!r}, {self.state.value}>"


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
        """What it accepts; None: everything."""
        self.measure = measure
        """How its windows count the octets of a message; None: by `Content.size`."""
        self.cost = 1 if filter is None else 1 + filter.cost
        """Steps that it takes to judge a message."""
        self.passed: dict[int, int] = {}
        """By priority level, the position up to which it has declined every available message for good."""
        self.kept = CONSUMER_OCTETS + octets_of(key) + (0 if filter is None else filter.octets)
        """What it counts for, in `Ledger.topology`."""
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
        if len(self.declined) > 2 * self.queue.ready + _FEW:
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


class Owner:
    """A node in the tree of what a client has opened. `OpenOwner` creates it, `CloseOwner` ends it with its children.

    At its end, in this order: its consumers are cancelled, its transactions rolled back, its messages returned to their
    places in their queues, marked as redelivered, and its exclusive queues deleted.
    """

    __slots__ = (
        "children",
        "connection",
        "consumers",
        "created",
        "exclusive",
        "held",
        "is_closed",
        "links",
        "number",
        "parent",
        "searched",
        "transactions",
        "user",
        "vhost",
    )

    def __init__(self, number: int, vhost: VirtualHost, parent: Owner | None, user: str) -> None:
        self.number = number
        """Unique in the broker."""
        self.vhost = vhost
        """Whose names it uses."""
        self.parent = parent
        """The one that it ends with; None: it stands for a connection."""
        self.connection: int = number if parent is None else parent.connection
        """The number of the topmost owner."""
        self.is_closed = False
        """Set once, when its end begins, which may take several turns."""
        self.searched: Search | None = None
        """How far it has looked for a message in the queue that it fetched from last."""
        self.links: dict[str, tuple[Queue, int]] = {}
        """The queues that its 1.0 links use, with the number of links (`LinkQueue`); deleted ones too, until the links
        end."""
        self.user = user
        """Who has logged in, for texts."""
        self.children: dict[int, Owner] = {}
        """Those that end with it, by number."""
        self.consumers: dict[int, Consumer] = {}
        """Those that end with it, by number."""
        self.held: dict[Entry, None] = {}
        """Messages that it has acquired, in that order."""
        self.created: dict[str, Queue] = {}
        """The dynamic nodes that it created as their link."""
        self.exclusive: dict[str, Queue] = {}
        """Queues that only it, and those below it, may use, by name."""
        self.transactions: dict[int, Transaction] = {}
        """Open ones that end with it, by number."""

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
    """The commands that wait for a commit; the end of its owner, if it has one, ends it."""

    __slots__ = ("number", "octets", "owner", "state", "vhost", "work")

    def __init__(self, number: int, vhost: VirtualHost, owner: Owner | None) -> None:
        self.number = number
        """Unique in the broker."""
        self.vhost = vhost
        """Where its commands are carried out."""
        self.owner = owner
        """The one that it ends with; None: it outlives connections (0-10 dtx)."""
        self.state = TransactionState.ACTIVE
        """Set to COMMITTED or ROLLED_BACK once, by the table."""
        self.work: list[Command] = []
        """Its publishes and settlements, in order."""
        self.octets = 0
        """Octets of the contents of its publishes."""

    def __repr__(self) -> str:
        return f"<Transaction {self.number}, {self.state.value}>"


class Hold:
    """The holder of a message group, a consumer or fetching owner, and the number of messages that it has of it."""

    __slots__ = ("count", "who")

    def __init__(self, who: Consumer | Owner) -> None:
        self.who = who
        """The one that gets all messages of the group."""
        self.count = 0
        """How many of them it has; at 0 a shared group is free again."""


class Queue(Destination):
    """A queue. The model changes it; everybody may read.

    Between commands these hold: `ready` and `unsettled` are the numbers of its available and acquired entries; an
    acquiring consumer that has room is in the rotation (`turns`) or in `cramped`, unless another is the single active
    one; what all of these have declined lies below `offered`. A browser that has room is in `showing`, `watching` or
    `cramped`.
    """

    __slots__ = (
        "active",
        "alternate",
        "arguments",
        "auto_delete",
        "blocked_at",
        "blocking",
        "browsers",
        "choosy",
        "comebacks",
        "consumers",
        "cramped",
        "creator",
        "delivered",
        "deliveries",
        "durable",
        "exclusive_consumer",
        "exclusive_to",
        "expires_at_head",
        "expiring",
        "groups",
        "had_consumer",
        "held",
        "is_cut",
        "is_deleted",
        "is_keyed",
        "is_plain",
        "is_quorum",
        "kept",
        "levels",
        "levels_high",
        "lifetime",
        "links",
        "lowest",
        "name",
        "newest",
        "next_position",
        "octets",
        "offered",
        "options",
        "order",
        "outlives",
        "ranked",
        "ready",
        "regrouped",
        "returning",
        "searched",
        "showing",
        "standby",
        "turns",
        "unsettled",
        "used_at",
        "vhost",
        "was_passed",
        "was_scanned",
        "watching",
    )

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
        expires_at_head: bool = False,
    ) -> None:
        self.name = name
        """Unique in its virtual host."""
        self.vhost = vhost
        """Where it is found by its name, and its bindings are."""
        self.options = options
        """Its limits, time-outs and order, as its arguments say."""
        self.durable = durable
        """Whether it survives `Broker.restart`."""
        self.auto_delete = auto_delete
        """Whether it goes with its last consumer, once it had one."""
        self.exclusive_to = exclusive_to
        """Only this owner, and those below it, may use it; None: everybody."""
        self.alternate = alternate
        """The name of the exchange that takes what it rejects or leaves behind."""
        self.arguments = arguments
        """As it was declared; a second declaration must have equal ones."""
        self.kept = QUEUE_OCTETS + 2 * len(name) + octets_of(arguments)
        """What it counts for, in `Ledger.topology`."""
        self.expires_at_head = expires_at_head
        """Whether a message expires only when it is the next one of its priority."""
        self.is_quorum = as_text(arguments.get("x-queue-type")) == "quorum"
        """Whether it was declared as a quorum queue, whose deliveries are counted."""
        self.lifetime = lifetime
        """When a dynamic node goes (1.0 part 3 section 3.5.10); None: it is none."""
        self.creator: Owner | None = creator if lifetime is not None else None
        """The owner of the link that created that node, until it ends."""
        self.outlives = outlives
        """Whether an exclusive queue stays when its owner ends."""
        count = options.levels or _FOLDED
        # Priorities up to here share the lowest level (0-10 message.transfer, rule priority-level-implementation).
        self.lowest = max(0, _MIDDLE - (count + 1) // 2)
        if options.levels is None and options.max_priority is not None:
            count, self.lowest = options.max_priority + 1, 0
        self.levels_high = count - 1
        """The highest level of priority."""
        self.levels: dict[int, deque[Entry]] = {}
        """The levels that are in use."""
        self.ranked: tuple[deque[Entry], ...] = ()
        """The same, the highest first."""
        self.ready = 0
        """How many messages are available."""
        self.unsettled = 0
        """How many are acquired and not settled."""
        self.octets = 0
        """Of the bodies of the available ones."""
        self.next_position = 0
        """How many messages have entered it."""
        self.delivered = 0
        """How often a message was acquired."""
        self.expiring: list[tuple[float, int, Entry]] = []
        """Entries that expire: time, position, entry; the first one first. Some may have left."""
        self.consumers: dict[int, Consumer] = {}
        """All of them, by number."""
        self.turns: dict[int, deque[Consumer]] = {}
        """The rotation: consumers with room, by priority; the one served last is at the end."""
        self.order: list[int] = []
        """The priorities in the rotation, each negative, so that the highest comes first."""
        self.is_cut = False
        """Whether `taker` stopped because the turn's budget is spent."""
        self.deliveries = 0
        """Number of deliveries; `Consumer.served` is its value at the consumer's last one."""
        self.browsers: dict[int, Consumer] = {}
        """Those that don't acquire, by number."""
        self.showing: deque[Consumer] = deque()
        """The browsers that may have something to see, and have room; some may be cancelled."""
        self.watching: dict[tuple[int, ...], dict[int, Consumer]] = {}
        """Those that have seen everything and have room, by `Consumer.cursors`: most have the same."""
        self.choosy = 0
        """Number of acquiring consumers that may leave messages to others."""
        self.comebacks: Returns[Entry] | None = None
        """The messages that came back since consumers remember what they have declined; None: none does."""
        self.offered: list[int] = []
        """By level, the position up to which the whole rotation has declined the available messages."""
        self.was_scanned = False
        """Whether messages were looked at one by one for consumers that may decline them, so that `offered` counts."""
        self.cramped: dict[int, tuple[Consumer, Entry]] = {}
        """Consumers with some room, but too little for their next message, by number, with that message."""
        self.blocking: dict[tuple[int, int], dict[int, Consumer]] = {}
        """The same consumers, by the place of that message in the order of delivery."""
        self.blocked_at: list[tuple[int, int]] = []
        """These places, in order."""
        self.active: Consumer | None = None
        """The single active consumer, where the queue allows one only."""
        self.standby: list[tuple[int, int, Consumer]] = []
        """Those that wait to be the single active consumer, as a heap; some may be cancelled."""
        self.exclusive_consumer: Consumer | None = None
        """The one that lets no other in."""
        self.had_consumer = False
        """Whether it ever had one; only then is it deleted automatically."""
        self.is_deleted = False
        """Set once; its end may take several turns."""
        self.is_plain = options.message_ttl is options.max_length is options.max_octets is None
        """Whether messages neither expire nor hit a length limit."""
        self.is_keyed = options.last_value_key is not None or options.group_key is not None
        """Whether headers affect the handling of its messages."""
        self.newest: dict[Hashable, Entry] = {}
        """Of a last-value queue: the newest message of each key."""
        self.groups: dict[Hashable, Hold] = {}
        """The holder of each message group that has one."""
        self.regrouped = 0
        """Number of changes after which messages may be taken that were looked at before: a group is free, or one of
        its messages has come back."""
        self.searched: Search | None = None
        """How far it was searched for a message that a filter accepts, for the last such filter, by whoever fetched."""
        self.links = 0
        """How many 1.0 links use it."""
        self.used_at = now
        """When it was last used, in seconds, for `QueueOptions.expires`."""
        self.held = 0
        """Number of chores for whose end its deliveries wait."""
        self.was_passed = False
        """Whether it had something to deliver meanwhile."""
        self.returning: list[tuple[Entry, bool, bool]] | None = None
        """While it is purged: what comes back, with the flags of `Settling.give_back`."""

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
        if self.options.overflow == "drop-head" or not self.is_full_for(content):
            return False
        older = self.newest.get(self.key_of(content)) if self.newest else None
        # The message would make room for itself.
        return older is None or older.state is not _AVAILABLE

    def is_full_for(self, content: Content) -> bool:
        """Whether one more message like this would be above its limits."""
        options = self.options
        return (options.max_length is not None and self.ready >= options.max_length) or (
            options.max_octets is not None and self.octets + content.size > options.max_octets
        )

    def is_above(self) -> bool:
        """Whether its messages are above its limits."""
        options = self.options
        return (options.max_length is not None and self.ready > options.max_length) or (
            options.max_octets is not None and self.octets > options.max_octets
        )

    def available(self) -> Iterator[Entry]:
        """Yield the available messages in the order of delivery."""
        for level in self.ranked:
            for entry in level:
                if entry.state is _AVAILABLE:
                    yield entry

    # Messages.

    def new_entry(self, message: Message, priority: int, expires: float | None) -> Entry:
        """Create a message's place behind all others of its priority; it isn't available yet."""
        level = 0 if priority <= self.lowest else min(priority - self.lowest, self.levels_high)
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
        if self.searched is not None:
            self.searched.is_passed_by(entry)
        if self.watching:
            self._show(entry)
        if entry.linked:
            return
        if self.groups and entry.position < self.next_position - 1:
            self.regrouped += 1
        entry.linked = True
        level = self.levels.get(entry.priority)
        if level is None:
            level = self._add_level(entry.priority)
        if not level or level[-1].position < entry.position:
            level.append(entry)
        elif entry.position < level[0].position:
            level.appendleft(entry)
        else:
            level.insert(bisect_left(level, entry.position, key=_position), entry)

    def acquire(self, entry: Entry, owner: Owner, consumer: Consumer | None) -> None:
        """Take an available entry out of the others' reach."""
        self.hand(entry, owner, consumer)
        self.ready -= 1
        self.octets -= entry.message.content.size
        if entry.linked:
            self._tidy(entry)
        if len(self.expiring) > 2 * self.ready + _FEW:
            self._thin_out()

    def hand(self, entry: Entry, owner: Owner, consumer: Consumer | None) -> None:
        """Give an entry away that isn't counted among the available ones, as a new one."""
        entry.state = MESSAGE[entry.state][_ACQUIRE]
        self.unsettled += 1
        self.delivered += 1
        entry.owner = owner
        entry.consumer = consumer
        if entry.group is not None:
            self._hold(entry, owner if consumer is None else consumer)
        if self.cramped:
            self.leave(entry)

    def release(self, entry: Entry) -> None:
        """Make an acquired entry available again, in its place."""
        entry.state = MESSAGE[entry.state][EntryInput.RELEASE]
        self.unsettled -= 1
        entry.owner = None
        entry.consumer = None
        entry.transaction = None
        if entry.hold is not None:
            self._let_go(entry, entry.hold)
        self.regrouped += 1
        if self.was_scanned:
            level = entry.priority
            self.offered[level] = min(self.offered[level], entry.position - 1)
        if self.comebacks is not None:
            self.comebacks.add(entry, self.ready)
        self.put(entry)

    def archive(self, entry: Entry, why: EntryInput) -> None:
        """Remove an entry from the queue for good."""
        if entry.state is _ACQUIRED:
            self.unsettled -= 1
        else:
            self.ready -= 1
            self.octets -= entry.message.content.size
        entry.state = MESSAGE[entry.state][why]
        entry.owner = None
        entry.consumer = None
        entry.transaction = None
        if entry.hold is not None:
            self._let_go(entry, entry.hold)
        if entry.key is not None and self.newest.get(entry.key) is entry:
            del self.newest[entry.key]
        if self.cramped:
            self.leave(entry)
        if entry.linked:
            self._tidy(entry)
        if len(self.expiring) > 2 * self.ready + _FEW:
            self._thin_out()

    def first(self) -> Entry | None:
        """Return the next available message."""
        if not self.ready:
            return None
        for level in self.ranked:
            while level:
                entry = level[0]
                if entry.state is _AVAILABLE:
                    return entry
                level.popleft()
                entry.linked = False
        return None

    def first_before(self, position: int) -> Entry | None:
        """Return the next available message among those that entered it before the one with that position."""
        for level in self.ranked:
            while level and level[0].state is not _AVAILABLE:
                level.popleft().linked = False
            if level and level[0].position < position:
                return level[0]
        return None

    def first_for(self, owner: Owner, ledger: Budget, filter: Filter | None = None) -> Entry | None:
        """Return the next available message for an owner that fetches, of those that a filter accepts.

        Messages whose groups others hold cost a step each, once for each owner and filter until a group is free, or one
        of them comes back; those that the filter declines once for all owners. Raises Postponed where the turn's budget
        is spent.
        """
        if not self.groups:
            first = self.first()
            if filter is None or first is None or filter.accepts(first.message):
                return first
            if self.searched is None or self.searched.filter != filter:
                self.searched = Search(self, filter)
            return self.searched.first(ledger)
        found = owner.searched
        if found is None or found.queue is not self or found.filter != filter or found.regrouped != self.regrouped:
            found = owner.searched = Search(self, filter)
        for entry in self.unseen(found.cursors):
            if self.may_take(entry, owner) and (filter is None or filter.accepts(entry.message)):
                return entry
            found.pay(ledger, entry)
        return None

    def oldest(self) -> Entry | None:
        """Return the message that a length limit drops first: the oldest one of the lowest priority."""
        for level in reversed(self.ranked):
            for entry in level:
                if entry.state is _AVAILABLE:
                    return entry
        return None

    def due(self, now: float) -> Entry | None:
        """Return an available message that has expired."""
        if self.expires_at_head:
            heads = [each for each in self._heads() if each.expires is not None and each.expires <= now]
            return heads[0] if heads else None
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
        if self.expires_at_head:
            deadline = min([each.expires for each in self._heads() if each.expires is not None], default=None)
        else:
            while expiring and expiring[0][2].state is not _AVAILABLE:
                heappop(expiring)
            deadline = expiring[0][0] if expiring else None
        if self.options.expires is not None and not self.consumers:
            idle = self.used_at + self.options.expires
            deadline = idle if deadline is None else min(deadline, idle)
        return deadline

    def _heads(self) -> Iterator[Entry]:
        """Yield the first available message of each level."""
        for level in self.ranked:
            for entry in level:
                if entry.state is _AVAILABLE:
                    yield entry
                    break

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
        if self.comebacks is not None:
            consumer.learned = self.comebacks.last
        if not consumer.acquires:
            self.browsers[consumer.number] = consumer
            consumer.cursors = [-1] * (self.levels_high + 1)
        elif consumer.is_choosy:
            self.choosy += 1
        if consumer.exclusive:
            self.exclusive_consumer = consumer
        if self.options.single_active_consumer and consumer.acquires:
            if self.active is None:
                self.active = consumer
            else:
                if len(self.standby) > 2 * len(self.consumers) + _FEW:
                    self.standby = [each for each in self.standby if not each[2].is_cancelled]
                    heapify(self.standby)
                heappush(self.standby, (-consumer.priority, consumer.number, consumer))

    def remove_consumer(self, consumer: Consumer) -> None:
        """Remove a consumer; if it was the single active one, another takes its place."""
        del self.consumers[consumer.number]
        self._uncramp(consumer)
        if not consumer.acquires:
            del self.browsers[consumer.number]
            self._forget_browser(consumer)
        elif consumer.is_choosy:
            self.choosy -= 1
        if not self.consumers:
            self.comebacks = None
        if self.groups and not self.options.shared_groups:
            self.groups = {group: hold for group, hold in self.groups.items() if hold.who is not consumer}
            self.regrouped += 1
            self._look_again()
        if consumer.waiting and consumer.acquires:
            self.rest(consumer)
        if self.exclusive_consumer is consumer:
            self.exclusive_consumer = None
        if self.active is consumer:
            standby = self.standby
            while standby and standby[0][2].is_cancelled:
                heappop(standby)
            self.active = heappop(standby)[2] if standby else None
            if self.active is not None and self.active.has_room():
                self.wake(self.active)

    def wake(self, consumer: Consumer) -> None:
        """Return an acquiring consumer with room to the rotation, unless another one is the single active consumer; a
        browser to those that are shown messages."""
        if not consumer.acquires:
            consumer.waiting = True
            self._uncramp(consumer)
            self.showing.append(consumer)
            return
        if self.active is not None and consumer is not self.active:
            return
        consumer.waiting = True
        if self.cramped:
            self._uncramp(consumer)
        if self.was_scanned:
            self._look_again(None if self.options.group_key is not None else consumer)
        turns = self.turns.get(consumer.priority)
        if turns is None:
            self.turns[consumer.priority] = deque((consumer,))
            if self.order:
                insort(self.order, -consumer.priority)
            else:
                self.order.append(-consumer.priority)
        elif turns[-1].served < consumer.served:
            turns.append(consumer)
        else:
            turns.insert(bisect_left(turns, consumer.served, key=_served), consumer)

    def number_returns(self) -> Returns[Entry]:
        """Return the numbers of the messages that come back, from now on if they weren't numbered."""
        if self.comebacks is None:
            self.comebacks = Returns()
        return self.comebacks

    def rest(self, consumer: Consumer) -> None:
        """Remove a consumer from the rotation, until it is woken."""
        consumer.waiting = False
        turns = self.turns[consumer.priority]
        if turns[-1] is consumer:
            turns.pop()
        else:
            del turns[bisect_left(turns, consumer.served, key=_served)]
        if turns:
            return
        if len(self.order) > 1:
            self._end_turns(consumer.priority)
        else:
            # The only priority, as a rule: the last consumer with room has just been given what it had room for.
            self.turns.clear()
            self.order.clear()

    def taker(self, entry: Entry, ledger: Budget, floor: int = -1) -> Consumer | None:
        """Return the consumer whose turn it is to get `entry`; those without room leave the rotation meanwhile.

        Each look at one costs a step, judging the message its `Consumer.cost`; `is_cut` is set where the turn's budget
        leaves no room for that. `floor` is that of `Consumer.decline`.
        """
        choosy = self.choosy or entry.excluded or entry.group is not None
        order = self.order
        if not choosy and len(order) == 1:
            # The usual case: all are alike, and the first has room.
            turns = self.turns[-order[0]]
            consumer = turns[0]
            if consumer.has_room_for(entry.message):
                self.deliveries += 1
                consumer.served = self.deliveries
                turns.rotate(-1)
                return consumer
        at = 0
        while at < len(order):
            priority = -order[at]
            turns = self.turns[priority]
            passed = 0
            for _ in range(len(turns)):
                consumer = turns[0]
                if not choosy:
                    wants = True
                elif consumer.has_declined(entry):
                    ledger.room -= 1
                    wants = False
                else:
                    # One is judged in any case, so that a turn brings it further.
                    if ledger.room < 0 and entry.group is None and ledger.is_spent:
                        turns.rotate(passed)
                        self.is_cut = True
                        return None
                    ledger.room -= consumer.cost
                    wants = consumer.wants(entry)
                    if not wants:
                        consumer.decline(entry, floor)
                if not (consumer.has_room_for(entry.message) if wants else consumer.has_room()):
                    turns.popleft()
                    consumer.waiting = False
                    if consumer.has_room():
                        self._cramp(consumer, entry)
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
                self._end_turns(priority)
            else:
                at += 1
        return None

    def unseen(self, cursors: list[int]) -> Iterator[Entry]:
        """Yield the available messages behind a browser's `cursors`, or behind `offered`, in the order of delivery; the
        cursors advance when the next one is requested. None is yielded that has come meanwhile."""
        last = self.next_position
        for number in sorted(self.levels, reverse=True):
            at = cursors[number]
            while (level := self.levels.get(number)) is not None:
                start = bisect_right(level, at, key=_position)
                chunk = [level[each] for each in range(start, min(start + _CHUNK, len(level)))]
                if not chunk or chunk[0].position >= last:
                    break
                at = chunk[-1].position
                for entry in chunk:
                    # An unavailable message hasn't been seen: it may return.
                    if entry.state is _AVAILABLE:
                        yield entry
                        cursors[number] = max(cursors[number], entry.position)

    def let_rest(self, browser: Consumer) -> None:
        """Keep a browser that has seen everything until something comes that is behind its cursors."""
        self.watching.setdefault(tuple(browser.cursors), {})[browser.number] = browser

    def show_again(self, browser: Consumer, entry: Entry) -> None:
        """Take back that a browser was shown a message."""
        was_watching = self._watches_no_more(browser)
        cursors = browser.cursors
        cursors[entry.priority] = min(cursors[entry.priority], entry.position - 1)
        if was_watching:
            self.showing.append(browser)

    def leave_to(self, browser: Consumer, entry: Entry) -> None:
        """Leave a browser alone that has no room for a message, until it has, or until the message is gone."""
        browser.waiting = False
        if browser.has_room():
            self._cramp(browser, entry)

    def leave(self, entry: Entry) -> None:
        """Return the consumers that had no room for this message to the rotation, now that it is unavailable."""
        blocked = self.blocking.get(_order(entry))
        if blocked is not None:
            for consumer in list(blocked.values()):
                self.wake(consumer)

    # Internals.

    def _show(self, entry: Entry) -> None:
        """Show a message that has become available to the browsers that haven't seen it."""
        level, position = entry.priority, entry.position
        for cursors in [each for each in self.watching if each[level] < position]:
            self.showing.extend(self.watching.pop(cursors).values())

    def _forget_browser(self, browser: Consumer) -> None:
        """A browser is cancelled."""
        if not self._watches_no_more(browser) and len(self.showing) > 2 * len(self.browsers) + _FEW:
            self.showing = deque([each for each in self.showing if not each.is_cancelled])

    def _watches_no_more(self, browser: Consumer) -> bool:
        """Take a browser out of those that have seen everything; return whether it was one."""
        place = tuple(browser.cursors)
        alike = self.watching.get(place)
        if alike is None or alike.pop(browser.number, None) is None:
            return False
        if not alike:
            del self.watching[place]
        return True

    def _cramp(self, consumer: Consumer, entry: Entry) -> None:
        """Note that a consumer has some room, but too little for a message."""
        place = _order(entry)
        blocked = self.blocking.get(place)
        if blocked is None:
            blocked = self.blocking[place] = {}
            insort(self.blocked_at, place)
        blocked[consumer.number] = consumer
        self.cramped[consumer.number] = consumer, entry

    def _uncramp(self, consumer: Consumer) -> None:
        """Forget what a consumer has no room for."""
        found = self.cramped.pop(consumer.number, None)
        if found is not None:
            place = _order(found[1])
            blocked = self.blocking[place]
            del blocked[consumer.number]
            if not blocked:
                del self.blocking[place]
                del self.blocked_at[bisect_left(self.blocked_at, place)]

    def _group_of(self, content: Content) -> Hashable:
        options = self.options
        if options.group_key is None:
            return None
        group = _header(content, options.group_key)
        if options.shared_groups:
            return _NO_GROUP if group is None else group
        # A group stays with its consumer as long as that lives, so the number of groups must be bounded.
        return None if group is None else crc32(repr(group).encode("utf-8", "surrogatepass")) % _GROUPS

    def _hold(self, entry: Entry, who: Consumer | Owner) -> None:
        if self.options.shared_groups:
            entry.hold = self.groups.setdefault(entry.group, Hold(who))
            entry.hold.count += 1
        elif entry.consumer is not None and not entry.consumer.is_cancelled:
            self.groups.setdefault(entry.group, Hold(who))

    def _let_go(self, entry: Entry, hold: Hold) -> None:
        """Release a message from its holder; the last one that leaves it frees a shared group."""
        entry.hold = None
        hold.count -= 1
        if not hold.count:
            del self.groups[entry.group]
            self.regrouped += 1
            self._look_again()

    def _look_again(self, consumer: Consumer | None = None) -> None:
        """Offer declined messages again, with a consumer that has come only those that it hasn't declined before."""
        if consumer is None or not (consumer.passed and self.offered):
            self.offered = [-1] * (self.levels_high + 1)
        else:
            # A new list: a scan that goes on with the old one doesn't count for the consumer.
            self.offered = [min(each, consumer.starts_at(level)) for level, each in enumerate(self.offered)]

    def _end_turns(self, priority: int) -> None:
        """Remove a priority without consumers from the rotation."""
        del self.turns[priority]
        del self.order[bisect_left(self.order, -priority)]

    def _add_level(self, number: int) -> deque[Entry]:
        level: deque[Entry] = deque()
        self.levels[number] = level
        self._rank()
        return level

    def _rank(self) -> None:
        self.ranked = tuple([self.levels[each] for each in sorted(self.levels, reverse=True)])

    def _thin_out(self) -> None:
        """Remove the expiry times of entries that are gone, which may lie far in the future."""
        kept = {each[1]: each for each in self.expiring if each[2].state is _AVAILABLE}
        self.expiring = list(kept.values())
        heapify(self.expiring)

    def _loosen(self, entry: Entry) -> None:
        """Return consumers to the rotation that had no room for a message behind `entry`, which now precedes it."""
        behind = self.blocked_at[bisect_right(self.blocked_at, _order(entry)) :]
        for consumer in [each for place in behind for each in self.blocking[place].values()]:
            self.wake(consumer)

    def _tidy(self, entry: Entry) -> None:
        """Remove unavailable entries from the head of a level; occasionally also from its middle."""
        level = self.levels[entry.priority]
        while level and level[0].state is not _AVAILABLE:
            level.popleft().linked = False
        if not level and len(self.levels) > _KEPT:
            del self.levels[entry.priority]
            self._rank()
        elif len(level) > 2 * self.ready + _FEW:
            for each in level:
                each.linked = each.state is _AVAILABLE
            kept = [each for each in level if each.linked]
            level.clear()
            level.extend(kept)

    def __repr__(self) -> str:
        return f"<Queue {self.name!r}, {self.ready} ready, {self.unsettled} unsettled>"


class Search:
    """How far a queue's messages were looked at, by level, for one that can be fetched.

    An owner's, where others hold groups, counts while `regrouped` is that of the queue. A queue's own, for a filter,
    goes on for good: it learns of each message that comes back.
    """

    __slots__ = ("_again", "_places", "cursors", "filter", "queue", "regrouped")

    def __init__(self, queue: Queue, filter: Filter | None) -> None:
        self.queue = queue
        """The one that was looked at."""
        self.filter = filter
        """What accepts the messages that were looked for; None: all are."""
        self.regrouped = queue.regrouped
        """What `Queue.regrouped` was then: with another value an owner's look begins anew."""
        self.cursors = [-1] * (queue.levels_high + 1)
        """By level of priority, the position up to which nothing can be taken."""
        self._again: dict[tuple[int, int], Entry] = {}
        """Messages up to there that have come back since, by their place; some may be gone again."""
        self._places: list[tuple[int, int]] = []
        """These places, as a heap."""

    def is_passed_by(self, entry: Entry) -> None:
        """Look again at a message that has come back."""
        place = _order(entry)
        if entry.position <= self.cursors[entry.priority] and place not in self._again:
            self._again[place] = entry
            heappush(self._places, place)
            if len(self._again) > 2 * self.queue.ready + _FEW:
                self._again = {place: each for place, each in self._again.items() if each.state is _AVAILABLE}
                self._places = list(self._again)
                heapify(self._places)

    def first(self, ledger: Budget) -> Entry | None:
        """Return the first available message that the filter accepts. Raises Postponed where the turn's budget is
        spent: the next call goes on from there."""
        back = self._first_back()
        for entry in self.queue.unseen(self.cursors):
            if back is not None and _order(back) < _order(entry):
                return back
            if self.filter is None or self.filter.accepts(entry.message):
                return entry
            self.pay(ledger, entry)
        return back

    def pay(self, ledger: Budget, entry: Entry) -> None:
        """Count the look at a message that can't be taken. Raises Postponed."""
        ledger.room -= 1 if self.filter is None else self.filter.cost
        if ledger.room <= 0 and ledger.is_spent:
            self.cursors[entry.priority] = entry.position
            raise Postponed

    def _first_back(self) -> Entry | None:
        """The first of those that have come back."""
        places = self._places
        while places:
            entry = self._again[places[0]]
            if entry.state is _AVAILABLE and (self.filter is None or self.filter.accepts(entry.message)):
                return entry
            del self._again[heappop(places)]
        return None


class VirtualHost:
    """The contents of one virtual host; created with the exchanges that every virtual host has."""

    __slots__ = ("bindings", "exchanges", "leaving", "name", "queues", "services", "sources")

    def __init__(self, name: str) -> None:
        self.name = name
        """Unique in the broker."""
        self.exchanges: dict[str, Exchange] = {each.name: each for each in predeclared()}
        """Those that aren't deleted, by name."""
        self.queues: dict[str, Queue] = {}
        """Those that aren't deleted, by name."""
        self.services: dict[str, str] = {}
        """The names that a system exchange serves, with the queue of each."""
        self.sources: dict[Destination, dict[str, int]] = {}
        """Every bound queue and exchange, with the names of the exchanges it is bound to and the number of bindings of
        each."""
        self.bindings = 0
        """How many there are; `BrokerLimits` bounds them."""
        self.leaving = 0
        """Number of deleted queues and exchanges of which there are still bindings."""

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
        if sources is not None and source.name in sources:
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
        if self.leaving:
            return self._route_on(exchange, routing_key, content, alternates, chained)
        found = exchange.targets(self, routing_key, content)
        if not found:
            if exchange.alternate is None or not alternates:
                return []
        elif not exchange.forwards:
            # Without bindings to exchanges, all are queues.
            queues: Collection[Any] = found
            return list(queues)
        return self._route_on(exchange, routing_key, content, alternates, chained)

    def _route_on(
        self, exchange: Exchange, routing_key: str, content: Content, alternates: bool, chained: bool
    ) -> list[Queue]:
        queues: dict[Queue, None] = {}
        tried = 0
        seen: dict[Exchange, None] = {exchange: None}
        reached = [exchange]
        while reached:
            unmatched: list[Exchange] = []
            # The list grows during the loop.
            for each in reached:
                targets = each.targets(self, routing_key, content)
                tried += 1 + each.tried + len(targets)
                if self.leaving:
                    targets = [target for target in targets if not target.is_deleted]
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
        exchange.tried = tried
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


def _order(entry: Entry) -> tuple[int, int]:
    """The place of a message in the order of delivery."""
    return -entry.priority, entry.position


def _served(consumer: Consumer) -> int:
    return consumer.served
