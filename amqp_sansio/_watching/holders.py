"""Holders: the consumers and links through which a client receives, what each holds, and what it may still get.

An observed model has one account of them, which each of its events steps: a delivery is held from its unit on until a
unit says what becomes of it (`Observed.settles`). A version says which unit opens and closes a consumer, and how much
room its own books leave. Deliveries are named by their units.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, ClassVar, Final, NamedTuple

from .._ground.invariants import ensure
from ..endpoint import Side
from .observation import Observed, Skipped
from .settlements import AT_ONCE, SETTLED, STAGED, TOLD

if TYPE_CHECKING:
    from ..limits import Limits
    from .observation import ObserverEvent

OUTCOMES: Final = ("accepted", "rejected", "released", "modified", "settled")
"""What becomes of a delivery; the last one says that no outcome was needed, or none was stated."""


class Holder(NamedTuple):
    """A consumer or link that is open, through which the client receives.

    `channel` is the one of its channel or session (in 1.0 the client's), `name` its tag, destination or the link's
    name, `handle` the link's (1.0). `queue` is its source, if the connection shows that. Deliveries that it gets need
    no acknowledgement with `no_ack`. `held` are its unsettled deliveries, `most` those that it may hold (its prefetch)
    or the credit when it was granted last (0-10, 1.0), `room` those that may still be sent to it; None: without limit,
    or not known. `opened_ns` is None where its beginning wasn't seen.
    """

    channel: int
    name: str
    handle: int | None
    queue: str | None
    no_ack: bool
    held: int
    most: int | None
    room: int | None
    opened_ns: int | None


class Group:
    """The consumers of one channel or session, and what they may hold together (a prefetch of the whole channel)."""

    __slots__ = ("_shut_ns", "_since_ns", "asked", "consumers", "held", "most", "next_most", "session")

    def __init__(self, session: object = None) -> None:
        # By the key that units name them with; each version has its own.
        self.consumers: dict[object, Consumer] = {}
        # What the model knows the channel by, where a channel number may become another session's.
        self.session = session
        # Deliveries that they hold, of those that have a limit.
        self.held = 0
        # How many that may be; 0: any number.
        self.most = 0
        # The limit that consumers get which are opened from now on (basic.qos without global).
        self.next_most = 0
        # The limits of consumers whose tag only the server's answer names, by the number of the request.
        self.asked: dict[int, int] = {}
        # For how long they have had no room, without the time since `_since_ns`.
        self._shut_ns = 0
        # Since when they have none, in nanoseconds since 1970; None while they have.
        self._since_ns: int | None = None

    def judge(self, now_ns: int) -> None:
        """Note whether the consumers have room together."""
        shut = bool(self.most) and self.held >= self.most
        if shut and self._since_ns is None:
            self._since_ns = now_ns
        elif not shut and self._since_ns is not None:
            self._shut_ns += now_ns - self._since_ns
            self._since_ns = None

    def shut_ns(self, now_ns: int) -> int:
        """For how long they have had no room together."""
        return self._shut_ns if self._since_ns is None else self._shut_ns + now_ns - self._since_ns


class Consumer:
    """A consumer or link, from its beginning to its end. Times are nanoseconds since 1970.

    One that is `stopped` gets nothing more; it ends when, besides, nothing names it and it holds nothing.
    """

    __slots__ = (
        "_full_ns",
        "_mark_ns",
        "_since_ns",
        "channel",
        "closed_ns",
        "deliveries",
        "granted",
        "group",
        "handle",
        "held",
        "limit",
        "longest_ns",
        "name",
        "no_ack",
        "opened_ns",
        "outcomes",
        "peak",
        "places",
        "queue",
        "room",
        "stopped",
        "unsettled",
    )

    def __init__(
        self,
        group: Group,
        channel: int,
        name: str,
        queue: str | None,
        no_ack: bool,
        now_ns: int,
        *,
        limit: int | None = None,
        seen: bool = True,
    ) -> None:
        # The channel's or session's, whose limit counts too.
        self.group = group
        # The number of its channel or session, as the client sends it.
        self.channel = channel
        # Its tag, its destination or the link's name.
        self.name = name
        # The link's, in 1.0.
        self.handle: int | None = None
        # Its source, where the connection shows that.
        self.queue = queue
        # Whether what it gets needs no acknowledgement, so that it holds nothing.
        self.no_ack = no_ack
        # None where its beginning wasn't seen.
        self.opened_ns = now_ns if seen else None
        # None while it is open, and where its end wasn't seen.
        self.closed_ns: int | None = None
        # Whether it gets nothing more; it may still settle.
        self.stopped = False
        # How many it got.
        self.deliveries = 0
        # How many of these had each outcome that was stated.
        self.outcomes: dict[str, int] = dict.fromkeys(OUTCOMES, 0)
        # How many ended without a stated one.
        self.unsettled = 0
        # How many aren't settled now.
        self.held = 0
        # The most that it held at one time.
        self.peak = 0
        # The longest time for which it held one.
        self.longest_ns = 0
        # How many it may hold, where its deliveries count against that; 0: any number, None: they don't count.
        self.limit = limit
        # What its credit leaves, where there is credit; None: not known, or without limit.
        self.room: int | None = None
        # The credit when it was given last (0-10, 1.0).
        self.granted: int | None = None
        # The ways by which units may still name it; each end of one calls `leave`.
        self.places = 1
        # For how long it has had no room, without the time since `_since_ns` and `_mark_ns`.
        self._full_ns = 0
        # Since when it has none by itself; None while it has.
        self._since_ns: int | None = None
        # What `Group.shut_ns` was when it last had room by itself: what that grew since then counts as no room.
        self._mark_ns = self._shared_ns(now_ns)

    @property
    def most(self) -> int | None:
        """What it may hold: its own limit or that of its group, whichever is less."""
        if self.limit is None:
            return self.granted
        shared = self.group.most
        return min(self.limit, shared) if self.limit and shared else self.limit or shared or None

    @property
    def left(self) -> int | None:
        """What may still be sent to it."""
        if self.limit is None:
            return self.room
        rooms = [most - held for most, held in ((self.limit, self.held), (self.group.most, self.group.held)) if most]
        return max(0, min(rooms)) if rooms else None

    def full_ns(self, now_ns: int) -> int:
        """For how long it has had no room, by itself or together with others."""
        if self.stopped:
            return self._full_ns
        if self._since_ns is not None:
            return self._full_ns + now_ns - self._since_ns
        return self._full_ns + self._shared_ns(now_ns) - self._mark_ns

    def judge(self, now_ns: int) -> None:
        """Note whether it has room."""
        if self.stopped:
            return
        shut = self.room == 0 if self.limit is None else bool(self.limit) and self.held >= self.limit
        if shut == (self._since_ns is not None):
            return
        self._full_ns = self.full_ns(now_ns)
        self._since_ns = now_ns if shut else None
        self._mark_ns = self._shared_ns(now_ns)

    def hold(self, now_ns: int, amount: int) -> None:
        """It holds more or less."""
        self.held += amount
        if self.held > self.peak:
            self.peak = self.held
        if self.limit is not None:
            group = self.group
            group.held += amount
            if group.most:
                group.judge(now_ns)
            self.judge(now_ns)

    def close(self, now_ns: int) -> None:
        """It gets nothing more, though it may still settle."""
        if not self.stopped:
            self._full_ns = self.full_ns(now_ns)
            self.stopped = True
            self.closed_ns = now_ns

    def reopen(self, now_ns: int) -> None:
        """It goes on: its link is attached again."""
        self.closed_ns = None
        self.stopped = False
        self._since_ns = None
        self._mark_ns = self._shared_ns(now_ns)

    def count(self, outcome: str | None) -> None:
        """A delivery has this outcome."""
        if outcome is None:
            self.unsettled += 1
        else:
            self.outcomes[outcome] += 1

    def _shared_ns(self, now_ns: int) -> int:
        """For how long its group had no room; without a limit of its own that is no matter."""
        return 0 if self.limit is None else self.group.shut_ns(now_ns)


class _Held:
    """A delivery that isn't settled: who holds it since when, and the outcome that holds if nothing settles it."""

    __slots__ = ("at_ns", "consumer", "told")

    def __init__(self, consumer: Consumer, at_ns: int) -> None:
        # Who holds it.
        self.consumer = consumer
        # Since when, in nanoseconds since 1970.
        self.at_ns = at_ns
        # The outcome that holds if nothing else settles it (1.0's state without settlement); None: none was told.
        self.told: str | None = None


class Holders:
    """The account of one connection, which each of its events steps."""

    __slots__ = ("_held", "done", "groups", "limits", "now_ns")

    def __init__(self, limits: Limits) -> None:
        # Bounds of the groups, consumers and deliveries that are kept.
        self.limits = limits
        # By channel number, the oldest first.
        self.groups: dict[int, Group] = {}
        # Consumers that have ended and that nobody has taken yet; the oldest go first when there are too many.
        self.done: list[Consumer] = []
        # The latest time of an event, in nanoseconds since 1970: packets may come out of order, this doesn't go back.
        self.now_ns = 0
        # Deliveries that aren't settled, by the number of their unit, the oldest first.
        self._held: dict[int, _Held] = {}

    def check(self) -> None:
        """Check that deliveries are counted where they are held, and that all is bounded. Raises AssertionError."""
        limits, where = self.limits, "the account of holders"
        counts: dict[Consumer, int] = dict.fromkeys(self.known(), 0)
        for held in self._held.values():
            counts[held.consumer] = counts.get(held.consumer, 0) + 1
        groups: dict[Group, int] = dict.fromkeys(self.groups.values(), 0)
        for consumer, count in counts.items():
            name = f"consumer {consumer.name!r}"
            ensure(
                consumer.held == count, name, "`held` counts its deliveries that aren't settled", consumer.held, count
            )
            ensure(consumer.peak >= count, name, "`peak` is the most that it held", consumer.peak, count)
            ensure(consumer.places >= 0, name, "`places` counts ways to it", consumer.places)
            if consumer.limit is not None:
                groups[consumer.group] = groups.get(consumer.group, 0) + count
        for group, count in groups.items():
            ensure(group.held == count, where, "`Group.held` counts what has a limit", group.held, count)
            most = len(group.consumers)
            ensure(most <= limits.consumers, where, "`Limits.consumers` bounds the consumers of a channel", most)
        ensure(len(self.groups) <= limits.channels, where, "`Limits.channels` bounds groups", len(self.groups))
        ensure(len(self.done) <= limits.consumers, where, "`Limits.consumers` bounds those that ended", len(self.done))
        most = limits.channels * limits.unsettled
        ensure(len(self._held) <= most, where, "`limits` bounds deliveries", len(self._held))

    def take(self, event: ObserverEvent) -> None:
        """Take the next event of the connection."""
        if isinstance(event, Observed):
            self.clock(event.at_ns)
            self._step(event)
        elif isinstance(event, Skipped) and event.settles:
            self.lose(event)

    def _step(self, event: Observed) -> None:
        """Take a unit; a delivery that settles itself is held before it is settled (`give`)."""
        raise NotImplementedError

    def known(self) -> Iterator[Consumer]:
        """The consumers that units may still name."""
        for group in self.groups.values():
            yield from group.consumers.values()

    def holders(self) -> Iterator[Holder]:
        """The consumers that aren't closed, as they are now."""
        for each in self.known():
            if not each.stopped:
                yield Holder(
                    each.channel,
                    each.name,
                    each.handle,
                    each.queue,
                    each.no_ack,
                    each.held,
                    each.most,
                    each.left,
                    each.opened_ns,
                )

    def take_done(self) -> list[Consumer]:
        """Take the consumers that have ended since the last call."""
        done, self.done = self.done, []
        return done

    def finish(self, end_ns: int, closed: bool) -> list[Consumer]:
        """The connection has ended, or if it isn't `closed`, what is known of it: the consumers that are left."""
        self.now_ns = max(self.now_ns, end_ns)
        for held in self._held.values():
            held.consumer.longest_ns = max(held.consumer.longest_ns, self.now_ns - held.at_ns)
            held.consumer.count(held.told)
        left = {id(each): each for each in self.known()}
        left |= {id(held.consumer): held.consumer for held in self._held.values()}
        for each in left.values():
            if not each.stopped:
                each.close(self.now_ns)
                each.closed_ns = self.now_ns if closed else None
        self._held = {}
        self.groups = {}
        return [*self.take_done(), *left.values()]

    # For versions.

    def clock(self, at_ns: int) -> int:
        """The time of an event, which never goes back."""
        if at_ns > self.now_ns:
            self.now_ns = at_ns
        return self.now_ns

    def group(self, channel: int, session: object = None) -> Group:
        """The consumers of a channel; those of another session that had it are gone."""
        group = self.groups.get(channel)
        if group is not None and group.session is not session:
            self.end_group(channel)
            group = None
        if group is None:
            group = self.groups[channel] = Group(session)
            if len(self.groups) > self.limits.channels:
                self.end_group(next(iter(self.groups)))
        return group

    def end_group(self, channel: int) -> None:
        """A channel is gone, with its consumers."""
        group = self.groups.pop(channel, None)
        if group is not None:
            consumers = [*group.consumers.values()]
            group.consumers.clear()
            for consumer in consumers:
                consumer.close(self.now_ns)
                self.leave(consumer)

    def put(self, key: object, consumer: Consumer) -> None:
        """A consumer is known by a key in its group, in the place of the one before it."""
        consumers = consumer.group.consumers
        self.remove(consumer.group, key)
        consumers[key] = consumer
        if len(consumers) > self.limits.consumers:
            self.remove(consumer.group, next(iter(consumers)))

    def remove(self, group: Group, key: object) -> None:
        """Nothing names a consumer by its key any more."""
        consumer = group.consumers.pop(key, None)
        if consumer is not None:
            consumer.close(self.now_ns)
            self.leave(consumer)

    def leave(self, consumer: Consumer) -> None:
        """One way less leads to a consumer. Without any, it ends when it holds nothing more."""
        consumer.places -= 1
        if not consumer.places and not consumer.held:
            self._end(consumer)

    def give(self, consumer: Consumer, event: Observed) -> None:
        """A unit is a delivery to a consumer."""
        consumer.deliveries += 1
        settles = event.settles
        if settles == AT_ONCE:
            consumer.outcomes["settled"] += 1
            return
        self._held[event.seq] = _Held(consumer, event.at_ns)
        consumer.hold(self.now_ns, 1)
        if settles:
            self.settle(event)
        if len(self._held) > self.limits.channels * self.limits.unsettled:
            self._drop(next(iter(self._held)), None)

    def settle(self, event: Observed) -> None:
        """An event says what becomes of deliveries."""
        held = self._held
        for unit, outcome, how in event.settles:
            number = event.seq if unit is None else unit
            if number not in held or how == STAGED:
                continue
            if how == TOLD:
                held[number].told = outcome
            else:
                self._drop(number, outcome, kept=how != SETTLED)

    def lose(self, event: Skipped) -> None:
        """Octets became no unit, so that the end of some deliveries isn't known."""
        self.clock(event.at_ns)
        for unit, _, _ in event.settles:
            if unit in self._held:
                self._drop(unit, None)

    def _drop(self, unit: int, outcome: str | None, *, kept: bool = True) -> None:
        """A delivery isn't held any more; without an outcome, the one that was told holds if it is `kept`."""
        held = self._held.pop(unit)
        consumer = held.consumer
        if self.now_ns - held.at_ns > consumer.longest_ns:
            consumer.longest_ns = self.now_ns - held.at_ns
        consumer.count(held.told if outcome is None and kept else outcome)
        consumer.hold(self.now_ns, -1)
        if not consumer.places and not consumer.held:
            self._end(consumer)

    def _end(self, consumer: Consumer) -> None:
        self.done.append(consumer)
        if len(self.done) > self.limits.consumers:
            del self.done[: max(1, self.limits.consumers // 64)]


class MethodHolders(Holders):
    """The account of one connection whose deliveries are methods, or commands, with a message."""

    __slots__ = ()

    DELIVERIES: ClassVar[frozenset[str]]
    """The methods that deliver a message."""

    def _step(self, event: Observed) -> None:
        whole = event.unit in ("method", "content") and event.content.__class__ is not bytes
        delivery = event.event in self.DELIVERIES
        given = whole and delivery and event.sender is Side.SERVER
        if event.settles and not given:
            self.settle(event)
        if whole and (given or not delivery):
            self._follow(event)

    def _follow(self, event: Observed) -> None:
        """Take a whole method; of deliveries, those that the server sends."""
        raise NotImplementedError


def all_open(account: Holders | None) -> Iterable[Holder]:
    """The holders of an account, if there is one."""
    return () if account is None else account.holders()


__all__ = ["OUTCOMES", "Consumer", "Group", "Holder", "Holders", "MethodHolders", "all_open"]
