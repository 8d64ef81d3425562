"""Conversations that an observer watches: what each side sends, written as records, and what comes of it."""

from __future__ import annotations

import pickle
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Self

from amqp_sansio import AMQP_0_8, AMQP_0_9_1, NEED_DATA, Limits, Side, Version
from amqp_sansio.amqp_0_8.spec import RABBIT as RABBIT_0_8
from amqp_sansio.amqp_0_9_1 import BasicProperties
from amqp_sansio.amqp_0_9_1.spec import RABBIT, Method
from amqp_sansio.capture import (
    ConnectionEnd,
    ConnectionStart,
    Segment,
    StreamData,
    StreamGap,
    read_segments,
    reassemble,
    sort_key,
)
from amqp_sansio.observer import Identified, Observed, Observer, ObserverEvent, Skipped, Violation
from amqp_sansio.recorded.ends import Transport
from amqp_sansio.recorded.lifecycle import Lifecycle, MessageRecord
from tests.kit.driving import Operation
from tests.kit.driving_classic import Driver
from tests.kit.pair import Observing

CLIENT, SERVER = "client", "server"
SECOND = 1_000_000_000

Arrival = tuple[str, bytes | int]
"""A sender, and octets that it sent or how many are missing."""


class Conversation(ABC):
    """A conversation under observation, the base of every version's. Each `client` or `server` call is one arrival, one
    second after the last.

    `late` tells the observer nothing beforehand. `events` are all events so far, `messages` the records of those
    messages whose outcome is known, in the order in which they came out. With `twice` an observer beside it, of which
    no records are wanted, must see the same; where costs are counted there is one.
    """

    def __init__(
        self, *, late: bool = False, body: str = "keep", limits: Limits | None = None, twice: bool = True
    ) -> None:
        self.late = late
        client = None if late else CLIENT
        self.observer = Observer(client=client, body=body, limits=limits, accounts=True)
        self._beside = Observer(client=client, body=body, limits=limits, records=False) if twice else None
        self.lifecycle = Lifecycle(limits)
        self.events: list[ObserverEvent] = []
        self.messages: list[MessageRecord] = []
        self.arrivals: list[Arrival] = []
        self.now = 0

    @abstractmethod
    def octets(self, what: Any, channel: int = 0) -> bytes:
        """The frame of a record, or the octets themselves."""

    def client(self, *what: Any, channel: int = 0) -> Self:
        """The client sends records on a channel, or octets."""
        return self.send(CLIENT, b"".join([self.octets(each, channel) for each in what]))

    def server(self, *what: Any, channel: int = 0) -> Self:
        """The server sends records on a channel, or octets."""
        return self.send(SERVER, b"".join([self.octets(each, channel) for each in what]))

    def send(self, sender: str, octets: bytes) -> Self:
        """Octets arrive."""
        self.arrivals.append((sender, octets))
        self.now += SECOND
        self.observer.receive_data(octets, sender, self.now)
        if self._beside is not None:
            self._beside.receive_data(octets, sender, self.now)
        return self._take()

    def gap(self, sender: str, octets: int) -> Self:
        """Octets are missing."""
        self.arrivals.append((sender, octets))
        self.now += SECOND
        self.observer.receive_gap(sender, octets, self.now)
        if self._beside is not None:
            self._beside.receive_gap(sender, octets, self.now)
        return self._take()

    def finish(self, by: str | None = "server") -> Self:
        """Nothing more comes: that side ended the transport, None: nobody knows who did."""
        self.now += SECOND
        self.observer.check()
        self.observer.finish(self.now)
        if self._beside is not None:
            self._beside.finish(self.now)
        self._take()
        how = "end-of-capture" if by is None else "fin"
        self.messages += self.lifecycle.finish(Transport(how, by, self.now, None if by is None else self.now))
        self._compare_consumers()
        self.observer.check()
        return self

    def _compare_consumers(self) -> None:
        """What the account of holders counts of deliveries is what their records say."""
        counts: Counter[str] = Counter()
        for each in [*self.observer.take_consumers(), *self.observer.last_consumers(self.now, closed=True)]:
            counts.update({name: count for name, count in each.outcomes.items() if count})
            counts["open"] += each.unsettled
        told = Counter(
            [
                each.outcome or "open"
                for each in self.messages
                # A client that delivers breaks a rule, and has no consumer.
                if each.kind == "deliver" and each.sender is Side.SERVER
            ]
        )
        assert +counts == told, f"{+counts} of consumers, {told} of messages"

    @property
    def observed(self) -> list[Observed]:
        return [event for event in self.events if isinstance(event, Observed)]

    @property
    def violations(self) -> list[Violation]:
        """The broken rules."""
        return [event for event in self.events if isinstance(event, Violation)]

    @property
    def rules(self) -> list[str]:
        """The ids of the broken rules."""
        return [violation.rule for violation in self.violations]

    def outcomes(self) -> list[tuple[str, int | None, str | None]]:
        """Kind, tag and outcome of each message that is done, in the order of their units."""
        done = sorted(self.messages, key=lambda message: message.seq)
        return [(message.kind, message.tag, message.outcome) for message in done]

    def relived(self, limits: Limits | None = None) -> tuple[Lifecycle, list[MessageRecord]]:
        """A lifecycle that was pickled and restored before each of the events, at its end, and its messages."""
        lifecycle = Lifecycle(limits)
        messages: list[MessageRecord] = []
        for event in self.events:
            lifecycle = pickle.loads(pickle.dumps(lifecycle))
            messages += lifecycle.observe(event)
        return lifecycle, messages + list(lifecycle.finish())

    def _take(self) -> Self:
        events = take(self.observer)
        if self._beside is not None:
            assert take(self._beside) == [unrecorded(event) for event in events]
        for event in events:
            self.events.append(event)
            self.messages += self.lifecycle.observe(event)
        return self


class Talk(Conversation):
    """A conversation of 0-8 or 0-9-1, written as methods."""

    def __init__(self, version: Version = AMQP_0_9_1, **options: Any) -> None:
        self.version = version
        self.dialect = RABBIT_0_8 if version is AMQP_0_8 else RABBIT
        super().__init__(**options)

    def octets(self, what: Method | bytes, channel: int = 0) -> bytes:
        """The frame of a method, or the octets themselves."""
        return what if isinstance(what, bytes) else frame(1, channel, what.encode(self.dialect.tables))

    def named(self, name: str, *arguments: Any, **fields: Any) -> Any:
        """The method `name` of this version."""
        return self.dialect.named[name](*arguments, **fields)

    def header(self) -> Talk:
        """The client's protocol header."""
        return self.client(self.version.header)

    def login(self, frame_max: int = 131_072, channel_max: int = 2047) -> Talk:
        """Everything up to connection.open-ok."""
        named = self.named
        major, minor = self.dialect.version_major, self.dialect.version_minor
        self.header()
        self.server(named("connection.start", major, minor, {"product": "X"}, b"PLAIN", b"en_US"))
        self.client(named("connection.start-ok", {"product": "Y"}, "PLAIN", b"\0ann\0pw", "en_US"))
        self.server(named("connection.tune", channel_max, frame_max, 60))
        self.client(named("connection.tune-ok", channel_max, frame_max, 60))
        self.client(named("connection.open", "/"))
        return self.server(named("connection.open-ok"))

    def channel(self, number: int = 1) -> Talk:
        """channel.open and its answer."""
        self.client(self.named("channel.open"), channel=number)
        return self.server(self.named("channel.open-ok"), channel=number)

    def consumer(self, number: int = 1, *, no_ack: bool = False) -> Talk:
        """A consumer with tag "ct" of the queue "q"."""
        consume = self.named("basic.consume", queue="q", consumer_tag="ct", no_ack=no_ack)
        self.client(consume, channel=number)
        return self.server(self.named("basic.consume-ok", "ct"), channel=number)

    def message(self, method: Method, body: bytes = b"", number: int = 1, **properties: Any) -> bytes:
        raw = BasicProperties(**properties).encode(self.dialect.tables)
        return self.octets(method, number) + content(number, body, raw)

    def publish(self, body: bytes = b"", number: int = 1, **fields: Any) -> bytes:
        return self.message(self.named("basic.publish", **fields), body, number)

    def deliver(self, tag: int, body: bytes = b"", number: int = 1) -> bytes:
        """The frames of a delivery to the consumer "ct"."""
        method = self.named("basic.deliver", "ct", tag, False, "ex", "key")
        return self.message(method, body, number)

    @property
    def skipped(self) -> list[Skipped]:
        """What became no unit."""
        return [event for event in self.events if isinstance(event, Skipped)]

    @property
    def last(self) -> Observed:
        return self.observed[-1]


def frame(kind: int, channel: int, payload: bytes) -> bytes:
    head = kind.to_bytes(1, "big") + channel.to_bytes(2, "big") + len(payload).to_bytes(4, "big")
    return head + payload + b"\xce"


def header(channel: int, size: int, raw: bytes = b"\0\0", class_id: int = 60, weight: int = 0) -> bytes:
    """A content header frame."""
    numbers = class_id.to_bytes(2, "big") + weight.to_bytes(2, "big") + size.to_bytes(8, "big")
    return frame(2, channel, numbers + raw)


def content(channel: int, body: bytes, raw: bytes = b"\0\0") -> bytes:
    """A content header and at most one body frame."""
    return header(channel, len(body), raw) + (frame(3, channel, body) if body else b"")


def take(observer: Observer) -> list[ObserverEvent]:
    events: list[ObserverEvent] = []
    while (event := observer.next_event()) is not NEED_DATA:
        assert isinstance(event, Observed | Violation | Skipped | Identified)
        events.append(event)
    return events


def unrecorded(event: ObserverEvent) -> ObserverEvent:
    """An event as an observer gives it of which no records are wanted."""
    blank: dict[str, Any] = {"settles": (), "context": None}
    names: tuple[str, ...] = event.__match_args__
    return type(event)(*[blank.get(name, getattr(event, name)) for name in names])


def arrive(observer: Observer, sender: str, what: bytes | int, at_ns: int) -> None:
    """Octets arrive, or are missing."""
    if isinstance(what, int):
        observer.receive_gap(sender, what, at_ns)
    else:
        observer.receive_data(what, sender, at_ns)


def watch(observer: Observer, arrivals: Iterable[tuple[str, bytes | int, int]]) -> list[ObserverEvent]:
    """All events of arrivals (sender, octets or the size of a gap, time), to the end."""
    events: list[ObserverEvent] = []
    at_ns = 0
    for sender, what, at_ns in arrivals:
        arrive(observer, sender, what, at_ns)
        events += take(observer)
    observer.check()
    observer.finish(at_ns)
    events += take(observer)
    observer.check()
    return events


def driven(version: Version, operations: Iterable[Operation], observer: Observing) -> Driver:
    """Two endpoints that did the operations and came to an end, watched from the first octet."""
    driver = Driver(version, observer=observer)
    for operation in operations:
        driver.apply(operation)
    driver.finish()
    return driver


class Recorder:
    """Keeps what a Pair exchanges."""

    def __init__(self) -> None:
        self.arrivals: list[tuple[str, bytes | int, int]] = []

    def receive_data(self, data: bytes, sender: str, at_ns: int) -> None:
        """Octets that were sent."""
        self.arrivals.append((sender, data, at_ns))


class Recorded:
    """One connection of a capture: who is who, and what arrived."""

    def __init__(self, start: ConnectionStart) -> None:
        self.start = start
        self.arrivals: list[tuple[str, bytes | int, int]] = []
        self.end: ConnectionEnd | None = None

    def observer(self, **options: Any) -> Observer:
        """An observer that is told what the capture knows."""
        start = self.start
        return Observer(client=start.client, from_start=start.syn_seen, **options)

    def watch(self, **options: Any) -> list[ObserverEvent]:
        return watch(self.observer(**options), self.arrivals)


def recorded(path: Path) -> list[Recorded]:
    """The connections of a capture file."""
    rows = read_segments(path.read_bytes(), file=path.name)
    segments = sorted([row for row in rows if isinstance(row, Segment)], key=sort_key)
    connections: dict[str, Recorded] = {}
    for item in reassemble(segments):
        if isinstance(item, ConnectionStart):
            connections[item.connection] = Recorded(item)
        elif isinstance(item, StreamData):
            connections[item.connection].arrivals.append((item.sender, item.data, item.ts_ns))
        elif isinstance(item, StreamGap):
            connections[item.connection].arrivals.append((item.sender, item.octets, item.ts_ns))
        elif isinstance(item, ConnectionEnd):
            connections[item.connection].end = item
    return list(connections.values())


def accounted(events: Sequence[ObserverEvent], side: Side) -> int:
    """How many octets of one side became units or were skipped."""
    units = sum([event.size for event in events if isinstance(event, Observed) and event.sender is side])
    gone = [event.octets for event in events if isinstance(event, Skipped) and event.sender is side]
    return units + sum(gone)
