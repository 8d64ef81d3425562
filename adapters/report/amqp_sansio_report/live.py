"""The live page of a broker: `look` takes its state at a time, `LivePage` shows it, with rates since the time before.

Pure: the caller tells the time. A snapshot doesn't change, so another thread may draw it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from heapq import nlargest
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from amqp_sansio.broker.contents.bodies import body_of
from amqp_sansio.versions import AMQP_0_10, AMQP_1_0

from .cells import table
from .charts import Line, TimeChart
from .findings import plural
from .markup import Content as Cell
from .markup import Markup, element, join
from .page import asset, document, ladder, section, tiles
from .scales import clock, count, day, octets
from .svg import render
from .traffic import Kept, TrafficView

if TYPE_CHECKING:
    from amqp_sansio.broker import Client, Content, Happened, Hub, Queue
    from amqp_sansio.broker.model.consumer import Consumer

_SECOND: Final = 1_000_000_000
_STALE: Final = 10 * _SECOND
"""Rates are of at most this time: nobody looked for longer."""
_NEW: Final = (0, 0, 0)
"""The counters of a new queue."""
_SPAN: Final = 300 * _SECOND
"""The time that a chart shows."""
_RECORDS: Final = 1000
"""Most records of the history among which the last messages are looked for."""
_DIAGRAM: Final = 400_000
"""Characters of a sequence diagram."""
SECTIONS: Final = (
    ("queues", "Queues"),
    ("connections", "Connections"),
    ("consumers", "Consumers"),
    ("messages", "Last messages"),
)


@dataclass(frozen=True)
class LiveBounds:
    """Bounds of the page, which counts the rows that it leaves out.

    | field | maximum of |
    |---|---|
    | `queues`, `connections`, `consumers`, `messages` | rows of each table |
    | `text` | characters of a name |
    | `preview` | octets shown of a body |
    | `points` | points of a line over time |
    | `units` | units of a sequence diagram |
    """

    queues: int = 50
    connections: int = 50
    consumers: int = 50
    messages: int = 25
    text: int = 120
    preview: int = 80
    points: int = 300
    units: int = 200


@dataclass(frozen=True)
class QueueRow:
    """A queue: messages now, and how many have entered it, were delivered, and have left it for good."""

    vhost: str
    name: str
    traits: str
    ready: int
    unsettled: int
    consumers: int
    octets: int
    entered: int
    delivered: int
    gone: int


@dataclass(frozen=True)
class ClientRow:
    """A client's connection. `spans` are its channels or sessions, `backlog` the octets that wait for it."""

    number: int
    address: str
    name: str
    product: str
    version: str
    user: str
    vhost: str
    spans: str
    consumers: int
    unsettled: int
    backlog: int
    state: str


@dataclass(frozen=True)
class ConsumerRow:
    """A consumer; `room` is for how many messages it has room, `unsettled` what its channel, session or link holds."""

    vhost: str
    queue: str
    name: str
    client: int
    room: str
    unsettled: int
    traits: str


@dataclass(frozen=True)
class Snapshot:
    """A broker's state at a time (nanoseconds since 1970). `counters` has entered, delivered and gone of each queue."""

    at_ns: int
    epoch: float
    queues: tuple[QueueRow, ...]
    clients: tuple[ClientRow, ...]
    consumers: tuple[ConsumerRow, ...]
    records: tuple[Happened, ...]
    totals: Mapping[str, int]
    counters: Mapping[tuple[str, str], tuple[int, int, int]]
    blocked: str


def look(
    hub: Hub, at_ns: int, addresses: Mapping[int, str] | None = None, bounds: LiveBounds | None = None
) -> Snapshot:
    """Return the state of a broker at `at_ns`; `addresses` are those of its clients, by number.

    Of more queues, clients and consumers than the bounds allow, the largest, the busiest and the fullest are taken.
    """
    bounds = bounds or LiveBounds()
    queues = [queue for vhost in hub.model.vhosts.values() for queue in vhost.queues.values()]
    held: dict[int, tuple[int, int]] = {}
    consumers: list[tuple[int, Consumer]] = []
    for owner, number in hub.owners_of_clients():
        some, unsettled = held.get(number, (0, 0))
        held[number] = some + len(owner.consumers), unsettled + len(owner.held)
        consumers += [(number, each) for each in owner.consumers.values()]
    clients = nlargest(bounds.connections, hub.clients.values(), key=lambda each: held.get(each.number, (0, 0))[::-1])
    busy = nlargest(bounds.queues, queues, key=lambda each: (each.messages, each.next_position))
    full = nlargest(bounds.consumers, consumers, key=lambda each: len(each[1].owner.held))
    history = hub.model.history
    return Snapshot(
        at_ns,
        hub.model.epoch,
        tuple([_queue(each) for each in sorted(busy, key=lambda each: (each.vhost.name, each.name))]),
        tuple(
            [
                _client(each, (addresses or {}).get(each.number, ""), *held.get(each.number, (0, 0)))
                for each in sorted(clients, key=lambda each: each.number)
            ]
        ),
        tuple([_consumer(number, each) for number, each in sorted(full, key=lambda each: each[1].number)]),
        () if history is None else tuple(islice(reversed(history.records), _RECORDS)),
        {
            "queues": len(queues),
            "connections": len(hub.clients),
            "consumers": len(consumers),
            "ready": sum([each.ready for each in queues]),
            "unsettled": sum([each.unsettled for each in queues]),
            "octets": hub.model.ledger.octets,
        },
        {
            (each.vhost.name, each.name): (each.next_position, each.delivered, each.next_position - each.messages)
            for each in queues
        },
        hub.is_blocked,
    )


class LivePage:
    """The page of one broker, as its snapshots come. `title` says where the broker listens.

    >>> from amqp_sansio.broker import Hub, Settings
    >>> hub, page = Hub(Settings()), LivePage("127.0.0.1:5672")
    >>> page.take(look(hub, 1_700_000_000_000_000_000))
    >>> page.html(TrafficView()).startswith("<!DOCTYPE html>")
    True
    """

    def __init__(self, title: str, bounds: LiveBounds | None = None) -> None:
        self._title = title
        """Where the broker listens."""
        self._bounds: Final = bounds or LiveBounds()
        """Most rows of each table, and points of each chart."""
        self._now: Snapshot | None = None
        """The latest snapshot; None before the first."""
        self._rates: dict[tuple[str, str], tuple[float, float, float]] = {}
        """Of queues and exchanges: entered, delivered and gone in a second."""
        self._points: deque[tuple[int, tuple[float, ...]]] = deque(maxlen=self._bounds.points)
        """Time, and the rates and levels of all queues together, for the charts."""
        self._labels: dict[str, str] = {}
        """What each recorded connection is called, by its id."""

    def take(self, snapshot: Snapshot) -> None:
        """Take the next state. Rates are those since the one before, if that wasn't more than ten seconds ago."""
        before, self._now = self._now, snapshot
        self._rates.clear()
        if before is None or not 0 < snapshot.at_ns - before.at_ns <= _STALE:
            self._points.clear()
            return
        seconds = (snapshot.at_ns - before.at_ns) / _SECOND
        shown = {(each.vhost, each.name) for each in snapshot.queues}
        totals = [0, 0, 0]
        for key, now in snapshot.counters.items():
            was = before.counters.get(key, _NEW)
            if was == now:
                if key in shown:
                    self._rates[key] = 0.0, 0.0, 0.0
                continue
            if was[0] > now[0] or was[1] > now[1] or was[2] > now[2]:
                was = _NEW  # It was deleted and declared again.
            changes = [now[0] - was[0], now[1] - was[1], now[2] - was[2]]
            totals = [total + change for total, change in zip(totals, changes, strict=True)]
            if key in shown:
                self._rates[key] = changes[0] / seconds, changes[1] / seconds, changes[2] / seconds
        levels = snapshot.totals["ready"], snapshot.totals["unsettled"]
        self._points.append((snapshot.at_ns, (*[total / seconds for total in totals], *levels)))

    def html(self, traffic: TrafficView) -> str:
        """Return the whole page, after the first snapshot. It loads nothing, and asks its server for `told`."""
        parts = self._parts(traffic)
        words = "Who sent what when, while it happens. Choose a line to see its fields and octets."
        pause = element("button", "pause", type="button", id="live-pause", hidden=True)
        state = element("p", element("span", self._when(), id="live-state"), " ", pause, class_="when")
        body = [
            element("header", element("h1", f"Broker at {self._title}"), state),
            element("div", parts["figures"], id="live-figures"),
            *[section(name, title, element("div", parts[name], id=f"live-{name}")) for name, title in SECTIONS],
            section("sequence", "Sequence diagrams", *ladder(words, self._diagrams(traffic, -1))),
            element("footer", element("p", _FOOT, class_="note")),
        ]
        script = asset("live.js") + asset("report.js")
        links = [*SECTIONS, ("sequence", "Diagrams")]
        return document(f"Broker at {self._title}", links, body, script, seconds=5)

    def told(self, traffic: TrafficView, changes: int = -1) -> dict[str, object]:
        """Return what has changed on the page, for its script, as JSON can carry it: `parts` is HTML by its place.

        `changes` is what the script has of the chosen connection (`Kept.changes`): without more of them the diagram is
        left out.
        """
        parts = {f"live-{name}": str(part) for name, part in self._parts(traffic).items()}
        return {"parts": parts, "state": self._when(), "diagrams": self._diagrams(traffic, changes)}

    def _when(self) -> str:
        now = self._looked()
        return f"{day(now.at_ns)} {clock(now.at_ns, _SECOND)} UTC"

    def _looked(self) -> Snapshot:
        assert self._now is not None, "the page shows a snapshot"
        return self._now

    def _parts(self, traffic: TrafficView) -> dict[str, Markup]:
        now = self._looked()
        return {
            "figures": self._figures(now),
            "queues": self._queues(now),
            "connections": self._clients(now, traffic),
            "consumers": self._consumers(now),
            "messages": self._messages(now),
        }

    def _figures(self, now: Snapshot) -> Markup:
        totals = now.totals
        entered, delivered, gone = self._points[-1][1][:3] if self._points else (None, None, None)
        figures = [
            ("connections", count(totals["connections"]), ""),
            ("queues", count(totals["queues"]), ""),
            ("consumers", count(totals["consumers"]), ""),
            ("ready", count(totals["ready"]), ""),
            ("unsettled", count(totals["unsettled"]), "warn" if totals["unsettled"] else ""),
            ("in memory", octets(totals["octets"]), "bad" if now.blocked else ""),
            ("in per s", _rate(entered), ""),
            ("delivered per s", _rate(delivered), ""),
            ("gone per s", _rate(gone), ""),
        ]
        held = element("p", f"Publishers are held: {self._cut(now.blocked)}", class_="note") if now.blocked else None
        return join([tiles(figures), held, *self._charts()])

    def _charts(self) -> list[Markup]:
        if len(self._points) < 2:
            return []
        end = self._points[-1][0]
        start = end - _SPAN
        names = (("in", "c1"), ("delivered", "c2"), ("gone", "c3"), ("ready", "c1"), ("unsettled", "c4"))
        lines = [
            Line(name, colour, [(at, values[index]) for at, values in self._points if at > start])
            for index, (name, colour) in enumerate(names)
        ]
        charts = (
            TimeChart("Messages per second", start, end, lines[:3]),
            TimeChart("Messages in queues", start, end, lines[3:]),
        )
        drawn = [
            element("div", render(chart, name), class_="cell")
            for chart, name in zip(charts, ("rates", "ready"), strict=True)
        ]
        return [element("div", *drawn, class_="small")]

    def _queues(self, now: Snapshot) -> Markup:
        rows: list[tuple[Cell, ...]] = []
        for each in now.queues:
            rates = self._rates.get((each.vhost, each.name), (None, None, None))
            rows.append(
                (
                    self._node(each.vhost, each.name),
                    each.traits,
                    count(each.ready),
                    count(each.unsettled),
                    count(each.consumers),
                    octets(each.octets),
                    *[_rate(rate) for rate in rates],
                    count(each.entered),
                    count(each.delivered),
                    count(each.gone),
                )
            )
        headings = (
            *("queue", "traits", "ready", "unsettled", "consumers", "octets ready", "in per s", "delivered per s"),
            *("gone per s", "in", "delivered", "gone"),
        )
        note = "gone: settled for good, expired, dropped or purged."
        title = _of(len(rows), now.totals["queues"], "queue", "those with the most messages")
        return table(headings, rows, title=title, right=range(2, 12), wide={0}, note=note) or _nothing("no queue")

    def _clients(self, now: Snapshot, traffic: TrafficView) -> Markup:
        kept = {each.client: each for each in traffic.connections if not each.is_over}
        rows: list[tuple[Cell, ...]] = []
        for each in now.clients:
            recorded = kept.get(each.address)
            label: Cell = each.address or f"#{each.number}"
            if recorded is not None:
                words = " · ".join(part for part in (each.name, each.product, each.version) if part)
                self._labels[recorded.id] = self._cut(words)
                label = element("a", label, class_="conn peer", href=f"#seq-{recorded.id}")
            rows.append(
                (
                    label,
                    self._cut(each.name),
                    self._cut(each.product),
                    each.version,
                    self._cut(each.user),
                    self._cut(each.vhost),
                    each.spans,
                    count(each.consumers),
                    count(each.unsettled),
                    "" if recorded is None else octets(recorded.octets.get(recorded.client, 0)),
                    "" if recorded is None else octets(recorded.octets.get(recorded.server, 0)),
                    octets(each.backlog),
                    each.state,
                )
            )
        self._labels = {each.id: self._labels.get(each.id, "") for each in traffic.connections}
        headings = (
            *("client", "name", "product", "version", "user", "virtual host", "channels", "consumers", "unsettled"),
            *("received", "sent", "not read", "state"),
        )
        title = _of(len(rows), now.totals["connections"], "connection", "those that hold the most messages")
        note = "A client's address leads to its sequence diagram. Not read: octets that wait for the client."
        return table(headings, rows, title=title, right=range(7, 12), wide={1}, note=note) or _nothing(
            "no client is connected"
        )

    def _consumers(self, now: Snapshot) -> Markup:
        clients = {each.number: each.address for each in now.clients}
        rows = [
            (
                self._node(each.vhost, each.queue),
                self._cut(each.name),
                clients.get(each.client) or f"#{each.client}",
                each.room,
                count(each.unsettled),
                each.traits,
            )
            for each in now.consumers
        ]
        headings = ("queue", "consumer", "client", "room", "unsettled", "traits")
        note = "Room: for how many more messages. Unsettled: what its channel (1.0: link, 0-10: session) holds."
        title = _of(len(rows), now.totals["consumers"], "consumer", "those whose channel holds the most")
        return table(headings, rows, title=title, right={3, 4}, wide={0, 1}, note=note) or _nothing("no consumer")

    def _messages(self, now: Snapshot) -> Markup:
        last: dict[int, list[Happened]] = {}
        for record in now.records:
            if record.number in last or len(last) < self._bounds.messages:
                last.setdefault(record.number, []).append(record)
        rows: list[tuple[Cell, ...]] = []
        for number, records in last.items():
            latest = records[0]
            states: dict[str, str] = {}
            for record in records:
                if record.queue or record.kind != "published":
                    words = f"{record.kind} ({record.reason})" if record.reason else record.kind
                    states.setdefault(record.queue, words)
            told = "; ".join(f"{self._cut(queue)}: {words}" if queue else words for queue, words in states.items())
            at_ns = round((now.epoch + latest.at) * 1e9)
            place = " → ".join(self._cut(part) for part in (latest.exchange, latest.routing_key) if part)
            rows.append(
                (
                    element("span", clock(at_ns), class_="at"),
                    f"#{number}",
                    place,
                    told,
                    octets(latest.content.size),
                    _preview(latest.content, self._bounds.preview),
                )
            )
        headings = ("latest (UTC)", "number", "published to", "what became of it", "size", "body")
        found = table(headings, rows, title="The latest first", right={1, 4}, wide={2, 3}, text={5})
        return found or _nothing("no message yet")

    def _diagrams(self, traffic: TrafficView, changes: int) -> list[Mapping[str, object]]:
        """Return the chosen connection's diagram, and of the others only who they are."""
        told: list[Mapping[str, object]] = []
        for each in traffic.connections:
            chosen = traffic.chosen if traffic.chosen is not None and traffic.chosen.id == each.id else None
            told.append({**self._diagram(each, chosen, changes), "label": self._label(each), "changes": each.changes})
        return told

    def _diagram(self, each: Kept, chosen: Kept | None, changes: int) -> Mapping[str, object]:
        diagram = None if chosen is None or chosen.changes == changes else chosen.diagram(self._bounds.units)
        if diagram is None:
            return {"id": each.id, "client": each.client, "server": each.server, "lazy": True}
        return diagram.data(_DIAGRAM)

    def _label(self, each: Kept) -> str:
        words = f"{each.client} · {self._labels.get(each.id, '')}".rstrip(" ·")
        return f"{words} · ended" if each.is_over else words

    def _node(self, vhost: str, name: str) -> str:
        return self._cut(name) if vhost == "/" else f"{self._cut(name)} in {self._cut(vhost)}"

    def _cut(self, text: str) -> str:
        most = self._bounds.text
        return text if len(text) <= most else f"{text[: most - 1]}…"


_FOOT: Final = (
    "Read only. The broker keeps everything in memory. Times are UTC. Responses of logins are shown as asterisks; of a "
    "connection the beginning and the latest octets are kept."
)


def _queue(queue: Queue) -> QueueRow:
    traits = (
        ("durable", queue.durable),
        ("exclusive", queue.is_private),
        ("auto-delete", queue.auto_delete),
        ("dynamic", queue.lifetime is not None),
    )
    return QueueRow(
        queue.vhost.name,
        queue.name,
        ", ".join(name for name, is_so in traits if is_so),
        queue.ready,
        queue.unsettled,
        len(queue.consumers),
        queue.octets,
        queue.next_position,
        queue.delivered,
        queue.next_position - queue.messages,
    )


def _client(client: Client, address: str, consumers: int, unsettled: int) -> ClientRow:
    front = client.front
    if front is None or client.version is None:
        return ClientRow(client.number, address, "", "", "", "", "", "", 0, 0, client.send_backlog, "no version yet")
    connection = front.connection
    name: object
    properties: Mapping[Any, Any]
    if client.version is AMQP_1_0:
        peer = connection.peer_open
        name, properties = ("", {}) if peer is None else (peer.container_id, peer.properties or {})
        spans = plural(len(connection.sessions), "session")
    else:
        properties = connection.peer_properties or {}
        name = properties.get("connection_name") or properties.get("qpid.client_process")
        is_0_10 = client.version is AMQP_0_10
        spans = plural(len(connection.sessions), "session") if is_0_10 else plural(len(connection.channels), "channel")
    product = " ".join(_text(properties.get(key)) for key in ("product", "version")).strip()
    state = "open" if client.is_open else "closing" if connection.is_ending else "logging in"
    user, vhost = front.describe()
    return ClientRow(
        client.number,
        address,
        _text(name),
        product,
        client.version.label,
        user,
        vhost,
        spans,
        consumers,
        unsettled,
        client.send_backlog,
        state,
    )


def _text(value: object) -> str:
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return "" if value is None else str(value)


def _consumer(number: int, consumer: Consumer) -> ConsumerRow:
    room = [window.messages for window in consumer.windows if window.messages is not None]
    traits = (
        ("browses", not consumer.acquires),
        ("settles at once", consumer.settles),
        ("exclusive", consumer.exclusive),
        (f"priority {consumer.priority}", bool(consumer.priority)),
    )
    return ConsumerRow(
        consumer.queue.vhost.name,
        consumer.queue.name,
        _text(consumer.key),
        number,
        count(max(min(room), 0)) if room else "any",
        len(consumer.owner.held),
        ", ".join(name for name, is_so in traits if is_so),
    )


def _preview(content: Content, most: int) -> str:
    """Return the beginning of a body: as text if it is one, else its octets."""
    body = body_of(content)
    cut = body[:most]
    # The last character may be cut.
    text = cut.decode("utf-8", "ignore")
    if len(text.encode()) < len(cut) - 3 or not text.replace("\n", " ").isprintable():
        text = cut[: most // 3].hex(" ")
        return f"{text} …" if len(body) > most // 3 else text
    return f"{text}…" if len(body) > most else text


def _rate(rate: float | None) -> str:
    if rate is None:
        return "-"
    return count(round(rate)) if rate >= 10 or not rate else f"{rate:.1f}"


def _of(shown: int, there: int, what: str, which: str) -> str:
    return plural(there, what) if shown == there else f"{shown:,} of {plural(there, what)}: {which}"


def _nothing(words: str) -> Markup:
    return element("p", words, class_="note")


__all__ = ["LiveBounds", "LivePage", "Snapshot", "look"]
