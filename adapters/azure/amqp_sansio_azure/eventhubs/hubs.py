"""EventHub: partitions, the choice among them, and who reads them in which consumer group."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from amqp_sansio.amqp_1_0.codec.conditions import RESOURCE_LIMIT_EXCEEDED, STOLEN
from amqp_sansio.broker.nodes import Refusal

from .partition_keys import partition_of
from .partitions import Partition, Retention

if TYPE_CHECKING:
    from collections.abc import Iterable

    from amqp_sansio.broker.nodes import Attachment

    from .events import Arrival, Event

DEFAULT_GROUP: Final = "$Default"
MOST_PARTITIONS: Final = 1024
"""Partitions of an event hub: those of the largest tier."""
MOST_READERS: Final = 5
"""Receivers without an epoch of one partition in one consumer group."""
_LONGEST: Final = 256
"""Characters of a name."""


class Reader:
    """A receiver of a partition in a consumer group; `epoch` is None without one."""

    __slots__ = ("epoch", "group", "link", "name", "next", "partition", "wants_metrics")

    def __init__(
        self,
        link: Attachment,
        group: ConsumerGroup,
        partition: Partition,
        next: int,
        *,
        name: str = "",
        epoch: int | None = None,
        wants_metrics: bool = False,
    ) -> None:
        self.link = link
        self.group = group
        self.partition = partition
        self.next = next
        """The sequence number of the next event to send, or an older one if that is gone."""
        self.name = name or "nil"
        """What the service calls it in its errors."""
        self.epoch = epoch
        self.wants_metrics = wants_metrics

    def take(self) -> Event | None:
        """Return the next event, None if there is none yet. `advance` goes on to the one after it."""
        return self.partition.at(self.next)

    def advance(self, event: Event) -> None:
        """Note that an event was sent."""
        self.next = event.sequence + 1


class ConsumerGroup:
    """A consumer group: who reads which partition in it."""

    __slots__ = ("_readers", "name")

    def __init__(self, name: str) -> None:
        self.name = name
        self._readers: dict[str, list[Reader]] = {}

    def readers(self, partition: Partition) -> list[Reader]:
        """Return those who read a partition."""
        return list(self._readers.get(partition.id, ()))

    def admit(self, reader: Reader) -> list[Reader]:
        """Add a reader; return those that it displaces, which are out of the group. Raises Refusal.

        One with an epoch displaces all but those with a higher one, which have it refused, and is then the only one.
        Without an epoch there is room for five, beside none with an epoch.
        """
        there = self._readers.get(reader.partition.id, [])
        epochs = [each.epoch for each in there if each.epoch is not None]
        if reader.epoch is None:
            if epochs:
                raise Refusal(
                    STOLEN,
                    f"At least one receiver for the endpoint is created with epoch of '{max(epochs)}', and so "
                    "non-epoch receiver is not allowed. Either reconnect with a higher epoch, or make sure all epoch "
                    "receivers are closed or disconnected.",
                )
            if len(there) >= MOST_READERS:
                names = ", ".join([each.name[:40] for each in there])
                raise Refusal(
                    RESOURCE_LIMIT_EXCEEDED,
                    "Exceeded the maximum number of allowed receivers per partition in a consumer group which is "
                    f"{MOST_READERS}. List of connected receivers - {names}.",
                )
            self._readers[reader.partition.id] = [*there, reader]
            return []
        if epochs and max(epochs) > reader.epoch:
            name = reader.name[:64]
            raise Refusal(
                STOLEN,
                f"Receiver '{name}' with a higher epoch '{max(epochs)}' already exists. Receiver "
                f"'{name}' with epoch {reader.epoch} cannot be created. Make sure you are creating receiver "
                "with increasing epoch value to ensure connectivity, or ensure all old epoch receivers are closed or "
                "disconnected.",
            )
        self._readers[reader.partition.id] = [reader]
        return there

    def leave(self, reader: Reader) -> None:
        """Remove a reader, if it is still there."""
        there = self._readers.get(reader.partition.id, [])
        if reader in there:
            there.remove(reader)
        if not there:
            self._readers.pop(reader.partition.id, None)

    def clear(self) -> None:
        """Forget every reader: their connections are gone."""
        self._readers.clear()


class EventHub:
    """An event hub. `created` is in milliseconds of Unix time. Raises ValueError for a bad name or number."""

    def __init__(
        self,
        name: str,
        partitions: int = 1,
        *,
        consumer_groups: Iterable[str] = (),
        retention: Retention | None = None,
        created: int = 0,
    ) -> None:
        if not 1 <= partitions <= MOST_PARTITIONS:
            raise ValueError(f"an event hub has from 1 to {MOST_PARTITIONS} partitions, not {partitions}")
        self.name = _checked(name, "an event hub")
        self.created = created
        self.retention = retention or Retention()
        self.partitions = tuple([Partition(str(number), self.retention) for number in range(partitions)])
        self.groups: dict[str, ConsumerGroup] = {}
        """Consumer groups by their names in lower case."""
        self._turn = 0
        for each in (DEFAULT_GROUP, *consumer_groups):
            self.add_consumer_group(each)

    def add_consumer_group(self, name: str) -> ConsumerGroup:
        """Add a consumer group, unless there is one of that name. Raises ValueError."""
        return self.groups.setdefault(_checked(name, "a consumer group").lower(), ConsumerGroup(name))

    def partition(self, id: str) -> Partition | None:
        """Return a partition by its id."""
        return self.partitions[int(id)] if id.isascii() and id.isdecimal() and self._has(id) else None

    def choose(self, key: str) -> Partition:
        """Return the partition of a key; without one it is each partition's turn."""
        if key:
            return self.partitions[partition_of(key, len(self.partitions))]
        found = self.partitions[self._turn]
        self._turn = (self._turn + 1) % len(self.partitions)
        return found

    def publish(self, arrivals: Iterable[Arrival], now: int, partition: Partition, publisher: str = "") -> list[Reader]:
        """Add events to a partition; return its readers, who have something to read then."""
        for each in arrivals:
            partition.append(each, now, each.key or publisher, publisher)
        return [reader for group in self.groups.values() for reader in group.readers(partition)]

    def trim(self, now: int) -> None:
        """Remove events whose time is over."""
        for each in self.partitions:
            each.trim(now)

    @property
    def next_trim(self) -> int | None:
        """When the oldest event's time is over, in milliseconds of Unix time; None without events."""
        oldest = [event.enqueued for each in self.partitions if (event := each.at(0)) is not None]
        return min(oldest) + int(self.retention.seconds * 1000) if oldest else None

    def _has(self, id: str) -> bool:
        return len(id) <= 4 and int(id) < len(self.partitions) and str(int(id)) == id

    def __repr__(self) -> str:
        return f"<EventHub {self.name}: {len(self.partitions)} partitions>"


def _checked(name: str, kind: str) -> str:
    if not 1 <= len(name) <= _LONGEST or "/" in name or name.strip() != name:
        raise ValueError(f"{name[:_LONGEST]!r} is no name of {kind}: 1 to {_LONGEST} characters without a slash")
    return name


__all__ = ["DEFAULT_GROUP", "MOST_PARTITIONS", "MOST_READERS", "ConsumerGroup", "EventHub", "Reader"]
