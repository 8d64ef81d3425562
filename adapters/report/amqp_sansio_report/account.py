"""The facts about one connection that depend on the order of its rows, available at its end."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

from .holding import Holding
from .services import Services
from .troubles import Troubles

if TYPE_CHECKING:
    from .measures import Series
    from .records import Connection, Holder

_ASKED: Final = 512
"""Most requests remembered until their answer comes."""
_EMPTYING: Final = frozenset({"queue.purge", "queue.delete"})
_CONSUMERS: Final = 1024
"""Most consumers of a connection whose queues are remembered."""
_MARKS: Final = 12
"""Most times of blocking, and of problems, kept of a connection."""

OPENS: Final = frozenset({"channel.open", "begin", "session.attach"})
ENDS: Final = frozenset({"channel.close-ok", "end", "session.detached"})


class Account:
    """Derives facts from the units of one connection, in order.

    `deliveries`, `publishes` and `channels` are series to which its open items are added.
    """

    __slots__ = (
        "_announced",
        "_asked",
        "_blocked_at",
        "_channels",
        "_consumed",
        "_emptying",
        "_publishes",
        "_series_of_channels",
        "blocked",
        "blocked_ns",
        "cancelled",
        "closed",
        "deleted",
        "errors",
        "first_ns",
        "holding",
        "last",
        "last_ns",
        "marks",
        "opened_channels",
        "problems",
        "queues",
        "redelivered",
        "services",
        "silence",
        "troubles",
        "unconfirmed",
        "unsettled",
    )

    def __init__(self, deliveries: Series, publishes: Series, channels: Series) -> None:
        self.holding = Holding(deliveries)
        """What its consumers and links held."""
        self.troubles = Troubles()
        """What no error tells of."""
        self.services = Services()
        """What is said at the nodes of services, such as $cbs and $management."""
        self.queues: dict[tuple[int, str], str] = {}
        """The queues of consumers, by channel and tag."""
        self.deleted: set[str] = set()
        """Queues that this connection has deleted."""
        self.cancelled: set[tuple[int, str]] = set()
        """Consumers that their client has cancelled."""
        self._consumed: dict[int, str] = {}
        """By channel: the queue of a consume whose tag only the answer names."""
        self._publishes = publishes
        """The report's series of unconfirmed publishes, which open ones are added to."""
        self._series_of_channels = channels
        """The report's series of open channels."""
        self._asked: dict[int, tuple[int, str]] = {}
        """Requests without an answer, by their unit: when, and which."""
        self._announced: dict[str, int] = {}
        """By side: the silence that it announced, in nanoseconds."""
        self._emptying: dict[int, str] = {}
        """Purges and deletes without an answer, by their unit: the queue."""
        self._blocked_at: int | None = None
        """Since when the server takes no publishes; None: it does."""
        self._channels: set[int] = set()
        """Open ones, by number."""
        self.first_ns: int | None = None
        """The time of its first unit."""
        self.last_ns = 0
        """The time of its latest unit."""
        self.last: dict[str, int] = {}
        """By side: when it last sent something."""
        self.silence: dict[str, tuple[int, int]] = {}
        """The longest time in which a side sent nothing, and its beginning."""
        self.blocked: list[tuple[int, int]] = []
        """Times in which the server took no publishes, the first ones: begin and end."""
        self.blocked_ns = 0
        """Their sum, those that aren't listed included."""
        self.errors = 0
        """Rules that were broken."""
        self.problems = 0
        """Errors, closes with an error, refusals."""
        self.marks: list[tuple[int, str]] = []
        """The first of these for its diagram: when, and in words."""
        self.redelivered = 0
        """Deliveries that weren't the first of their message."""
        self.unsettled = 0
        """Deliveries without an outcome."""
        self.unconfirmed = 0
        """Publishes in confirm mode without one."""
        self.opened_channels = 0
        """Counts each opening, also of the same number."""
        self.closed = False
        """Whether its end was seen."""

    def unit(self, seq: int, ts_ns: int, sender: str, channel: int, event: str) -> None:
        """Take any unit: its time, and facts that its name alone provides."""
        if self.first_ns is None:
            self.first_ns = ts_ns
        before = self.last.get(sender)
        if before is not None:
            quiet = ts_ns - before
            longest = self.silence.get(sender)
            if longest is None or quiet > longest[0]:
                self.silence[sender] = (quiet, before)
        self.last[sender] = ts_ns
        self.last_ns = max(self.last_ns, ts_ns)
        self.troubles.unit(seq, ts_ns, sender, channel, event)
        if sender == "client":
            self._asked[seq] = (ts_ns, event)
            if len(self._asked) > _ASKED:
                del self._asked[next(iter(self._asked))]
        if event in OPENS:
            if sender == "client" and channel not in self._channels:
                self._channels.add(channel)
                self.opened_channels += 1
                self._series_of_channels.add(ts_ns)
        elif event in ENDS:
            self._end_channel(channel, ts_ns)
        elif event == "connection.blocked":
            if self._blocked_at is None:
                self._blocked_at = ts_ns
        elif event == "connection.unblocked":
            self._unblock(ts_ns)

    def answered(self, seq: int) -> tuple[int, str] | None:
        """Return when the client sent the unit of that number, and its name; None: not remembered."""
        return self._asked.pop(seq, None)

    def emptied(
        self, seq: int, event: str, answers: int | None, queue: object, amount: object
    ) -> tuple[str, int] | None:
        """Take a purge or delete of a queue, or its answer; return the queue, and how many messages that removed.

        Only answers of 0-8 and 0-9-1 say how many they were. One without a name means the queue declared last, and is
        passed over.
        """
        if event in _EMPTYING:
            if isinstance(queue, str) and queue:
                self._emptying[seq] = queue
                if len(self._emptying) > _ASKED:
                    del self._emptying[next(iter(self._emptying))]
            return None
        name = None if answers is None else self._emptying.pop(answers, None)
        return None if name is None or not isinstance(amount, int) else (name, amount)

    def queue_of(self, event: str, channel: int, fields: Mapping[str, Any]) -> None:
        """Take basic.consume and its answer: the queue of a consumer."""
        if event == "basic.consume":
            self.cancelled.discard((channel, str(fields.get("consumer_tag", ""))))
            self._consumed[channel] = str(fields.get("queue", ""))
        if len(self.queues) < _CONSUMERS:
            self.queues[channel, str(fields.get("consumer_tag", ""))] = self._consumed.get(channel, "")

    def cancel(self, channel: int, tag: object) -> None:
        """Note that the client cancels a consumer."""
        if len(self.cancelled) < _CONSUMERS:
            self.cancelled.add((channel, str(tag)))

    def announce(self, sender: str, milliseconds: object) -> None:
        """Record the idle time-out in a side's open of 1.0 (part 2 section 2.4.5)."""
        if isinstance(milliseconds, int):
            self._announced[sender] = milliseconds * 1_000_000

    def idle_limit(self, side: str, protocol: str | None, heartbeat: int | None) -> int | None:
        """Return how long that side may send nothing, in nanoseconds; None: without limit.

        In 1.0 it is the time announced by the other side, else the negotiated heartbeat.
        """
        if protocol == "1.0":
            return self._announced.get("server" if side == "client" else "client") or None
        return heartbeat * 1_000_000_000 if heartbeat else None

    def problem(self, ts_ns: int, text: str) -> None:
        """Record a problem on the connection."""
        self.problems += 1
        if len(self.marks) < _MARKS:
            self.marks.append((ts_ns, text))

    def publish(self, ts_ns: int, outcome: str | None, settled_ns: int | None, ended_ns: int | None) -> bool:
        """Count a publish of the client; return whether its confirm never came."""
        if settled_ns is None and outcome in ("settled", "returned"):
            return False
        self._publishes.add(ts_ns)
        until = ended_ns if settled_ns is None else settled_ns
        if until is not None:
            self._publishes.add(until, -1)
        if settled_ns is not None:
            return False
        self.unconfirmed += 1
        return True

    def finish(self, end_ns: int, closed: bool) -> None:
        """Take the connection's row: it ended at `end_ns`, or the capture did."""
        self.closed = closed
        for channel in list(self._channels):
            if closed:
                self._series_of_channels.add(end_ns, -1)
            self._channels.discard(channel)
        if self._blocked_at is not None:
            self._unblock(max(end_ns, self._blocked_at))
        for sender, ts_ns in self.last.items():
            longest = self.silence.get(sender)
            if longest is None or end_ns - ts_ns > longest[0]:
                self.silence[sender] = (max(0, end_ns - ts_ns), ts_ns)

    def tell(self, connection: Connection) -> None:
        """Complete the connection's record."""
        connection.errors = self.errors
        connection.channels = self.opened_channels
        connection.problems = self.problems
        connection.redelivered = self.redelivered
        connection.unsettled = self.unsettled
        connection.unconfirmed = self.unconfirmed
        connection.blocked = self.blocked
        connection.blocked_ns = self.blocked_ns
        connection.marks = self.marks

    def holders(self, connection: Connection) -> Iterator[Holder]:
        """Yield the consumers and links of the connection."""
        who = f"{connection.label} · {connection.product}" if connection.product else connection.label
        return self.holding.finish(connection.connection, who, connection.protocol)

    def _end_channel(self, channel: int, ts_ns: int) -> None:
        if channel in self._channels:
            self._channels.discard(channel)
            self._series_of_channels.add(ts_ns, -1)

    def _unblock(self, ts_ns: int) -> None:
        if self._blocked_at is None:
            return
        self.blocked_ns += ts_ns - self._blocked_at
        if len(self.blocked) < _MARKS:
            self.blocked.append((self._blocked_at, ts_ns))
        self._blocked_at = None


__all__ = ["ENDS", "OPENS", "Account"]
