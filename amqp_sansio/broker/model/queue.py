"""Queue: it keeps messages in order, and the rotation of its consumers; it knows no other queue and no exchange.

What refers to queues stands beside it: `entry`, `consumer`, `owner`, `search`, `vhost`.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections import deque
from heapq import heapify, heappop, heappush
from typing import TYPE_CHECKING, Any, Final
from zlib import crc32

from ...errors import CodecError
from .consumer import Consumer
from .entry import FEW, Entry, place_of, position_of
from .exchange import Destination
from .headers import comparable
from .options import Lifetime, as_text
from .owner import Owner
from .returns import Returns
from .search import Search
from .sizes import QUEUE_OCTETS, octets_of
from .states import MESSAGE, EntryInput, State

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator, Mapping

    from .content import Content, Filter, Message
    from .options import QueueOptions
    from .search import Budget
    from .vhost import VirtualHost

_AVAILABLE: Final = State.AVAILABLE
_ACQUIRED: Final = State.ACQUIRED
_ACQUIRE: Final = EntryInput.ACQUIRE
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
            level.insert(bisect_left(level, entry.position, key=position_of), entry)

    def acquire(self, entry: Entry, owner: Owner, consumer: Consumer | None) -> None:
        """Take an available entry out of the others' reach."""
        self.hand(entry, owner, consumer)
        self.ready -= 1
        self.octets -= entry.message.content.size
        if entry.linked:
            self._tidy(entry)
        if len(self.expiring) > 2 * self.ready + FEW:
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
        if len(self.expiring) > 2 * self.ready + FEW:
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
                if len(self.standby) > 2 * len(self.consumers) + FEW:
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
                start = bisect_right(level, at, key=position_of)
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
        blocked = self.blocking.get(place_of(entry))
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
        if not self._watches_no_more(browser) and len(self.showing) > 2 * len(self.browsers) + FEW:
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
        place = place_of(entry)
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
            place = place_of(found[1])
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
        behind = self.blocked_at[bisect_right(self.blocked_at, place_of(entry)) :]
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
        elif len(level) > 2 * self.ready + FEW:
            for each in level:
                each.linked = each.state is _AVAILABLE
            kept = [each for each in level if each.linked]
            level.clear()
            level.extend(kept)

    def __repr__(self) -> str:
        return f"<Queue {self.name!r}, {self.ready} ready, {self.unsettled} unsettled>"


def _header(content: Content, name: str) -> Hashable:
    """Return a comparable key for the value of a header; None if it is absent or damaged."""
    try:
        return comparable(content.headers.get(name))
    except CodecError:
        return None


def _served(consumer: Consumer) -> int:
    return consumer.served
