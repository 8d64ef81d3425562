"""The messages of each queue over time: published, delivered, and ready in it, as far as the traffic shows them."""

from __future__ import annotations

from collections.abc import Iterator

from .measures import Series

_STEPS = 128


class Backlog:
    """The messages of one queue over time."""

    __slots__ = ("again", "delivered", "published", "ready")

    def __init__(self) -> None:
        self.published = Series(_STEPS)
        """Those that entered it."""
        self.delivered = Series(_STEPS)
        """Those that left it for the first time."""
        self.ready = Series(_STEPS)
        """Those that wait in it, above an unknown number at the beginning."""
        self.again = 0
        """How many left it once more."""

    def merge(self, other: Backlog) -> None:
        """Merge more messages of the same queue."""
        self.published.merge(other.published)
        self.delivered.merge(other.delivered)
        self.ready.merge(other.ready)
        self.again += other.again

    def levels(self) -> list[tuple[int, int]]:
        """Return the messages ready in the queue over time, at least: it is taken to have been empty once."""
        levels = self.ready.levels()
        least = min([0, *[level for _, level in levels]])
        return [(ts_ns, level - least) for ts_ns, level in levels]


class Backlogs:
    """The backlogs of at most `most` queues; with more queues there are none, and `cut` says so."""

    __slots__ = ("_queues", "cut", "most")

    def __init__(self, most: int) -> None:
        self.most = most
        """Above so many queues there are none."""
        self.cut = False
        """Whether there were more."""
        self._queues: dict[str, Backlog] = {}
        """By name, as the traffic shows it."""

    def publish(self, queue: str, ts_ns: int) -> None:
        """A message entered the queue."""
        backlog = self._backlog(queue)
        if backlog is not None:
            backlog.published.add(ts_ns)
            backlog.ready.add(ts_ns)

    def deliver(self, queue: str, ts_ns: int, *, again: bool, back_ns: int | None) -> None:
        """A message left the queue, `again` if it had been delivered before; at `back_ns` it went back."""
        backlog = self._backlog(queue)
        if backlog is None:
            return
        backlog.ready.add(ts_ns, -1)
        if again:
            backlog.again += 1
        else:
            backlog.delivered.add(ts_ns)
        if back_ns is not None:
            backlog.ready.add(back_ns)

    def remove(self, queue: str, ts_ns: int, amount: int) -> None:
        """Messages were removed from the queue, by a purge or with it."""
        backlog = self._backlog(queue)
        if backlog is not None and amount:
            backlog.ready.add(ts_ns, -amount)

    def get(self, queue: str) -> Backlog | None:
        """Return the backlog of a queue whose publishes were seen too."""
        backlog = self._queues.get(queue)
        return backlog if backlog is not None and backlog.published.cells else None

    def merge(self, other: Backlogs) -> None:
        """Merge `other`, which has the same bound."""
        for queue, backlog in other._queues.items():
            mine = self._backlog(queue)
            if mine is not None:
                mine.merge(backlog)
        if other.cut:
            self._cut()

    def _backlog(self, queue: str) -> Backlog | None:
        if self.cut or not queue:
            return None
        backlog = self._queues.get(queue)
        if backlog is None:
            backlog = self._queues[queue] = Backlog()
            if len(self._queues) > self.most:
                self._cut()
                return None
        return backlog

    def _cut(self) -> None:
        self.cut = True
        self._queues = {}

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(self._queues))

    def __len__(self) -> int:
        return len(self._queues)


__all__ = ["Backlog", "Backlogs"]
