"""Sequence diagrams: the units of a connection with their fields and octets, as far as the page has room."""

from __future__ import annotations

import json
from base64 import b64encode
from collections import deque
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Any, Final, NamedTuple, cast

from amqp_sansio import NEED_DATA
from amqp_sansio.capture import ConnectionEnd, ConnectionStart, Item, Reassembler, Segment, StreamData, StreamGap
from amqp_sansio.capture.records import FIN, RST, ZERO_WINDOW, endpoint
from amqp_sansio.capture.tcp import DEFAULT_GRACE_NS
from amqp_sansio.observer import Identified, Observer
from amqp_sansio.recorded.tables import COLUMNS, PORTS, FlowReplay

from .causes import FAULTS, fault
from .octets import Frame, Stream, frames
from .records import Bounds
from .scales import duration

_FLAGS: Final = {FIN: "FIN: it sends nothing more", RST: "RST: the connection is gone"}
_SIGNALS: Final = 64
"""Most signals of a connection that are drawn."""
_SPANS: Final = 300
"""Most messages of a connection that are kept for the state at an instant: those that were open for longest."""
_FRAMES: Final = 6
"""Most frames shown of a unit."""
_LINES: Final = 80
_VALUE: Final = 200
_SUMMARY: Final = 110
_SECRETS: Final = frozenset(
    {"connection.start-ok", "connection.secure-ok", "connection.update-secret", "sasl-init", "sasl-response"}
)
_REDACTED: Final = '"redacted":'
"""A row shows it in place of a secret."""
_TOKENS: Final = (b"put-token", b"security_token")
"""Words behind which a text is a token (1.0)."""
_PUT: Final = '"put-token"'
"""The operation of a request whose body is a token."""
_LONGEST_WORD: Final = max(map(len, _TOKENS))

_names = {name: index for index, (name, _) in enumerate(COLUMNS["events"])}
_EVENT: Final = itemgetter(
    *[
        _names[name]
        for name in (
            "connection",
            "seq",
            "ts_ns",
            "sender",
            "channel",
            "event",
            "size",
            "offset",
            "fields",
            "answers",
            "protocol",
        )
    ]
)
_places = {name: index for index, (name, _) in enumerate(COLUMNS["violations"])}
_VIOLATION: Final = itemgetter(*[_places[name] for name in ("connection", "seq", "rule", "severity", "text")])

_MESSAGE: Final = itemgetter(
    *[
        [name for name, _ in COLUMNS["messages"]].index(name)
        for name in (
            *("ts_ns", "channel", "kind", "tag", "body_size", "outcome", "settled_ns", "ended_ns", "seq", "queue"),
            *("address", "consumer_tag", "link", "routing_key"),
        )
    ]
)


@dataclass
class Unit:
    """One unit of a diagram."""

    seq: int
    ts_ns: int
    sender: str
    channel: int
    event: str
    size: int
    kind: str
    """Its category, for its colour; see `kind_of`."""
    summary: str
    answers: int | None
    lines: list[tuple[int, str, str]]
    """Its fields: nesting level, name, value."""
    frames: list[Frame]
    hidden: str = ""
    """Why there are no octets."""
    violations: list[tuple[str, str, str]] = field(default_factory=list[tuple[str, str, str]])

    @property
    def notable(self) -> bool:
        """Whether to show it even if many are left out."""
        return bool(self.violations) or self.kind == "error"

    def data(self, start_ns: int) -> list[object]:
        """Return the unit in the form for the page's script."""
        return [
            self.seq,
            self.ts_ns - start_ns,
            int(self.sender == "server"),
            self.channel,
            self.event,
            self.size,
            self.kind,
            self.summary,
            self.answers,
            [list(line) for line in self.lines],
            [list(violation) for violation in self.violations],
            [[one.name, one.offset, one.size, b64encode(one.octets).decode()] for one in self.frames],
            self.hidden,
        ]


class Span(NamedTuple):
    """A message that waited: a delivery until it was settled, or a publish until it was confirmed."""

    from_ns: int
    until_ns: int | None
    """None: it was open at the end."""
    seq: int
    channel: int
    text: str

    @property
    def rank(self) -> tuple[bool, int, int]:
        """Those that were open at the end come first, then the longest."""
        return self.until_ns is not None, self.from_ns - (self.until_ns or 0), self.seq


@dataclass
class Signal:
    """The message of a segment without octets of AMQP: an end, a reset, or that its sender takes nothing."""

    ts_ns: int
    sender: str
    """Its address and port."""
    text: str


@dataclass
class Diagram:
    """The units of a connection; some in the middle may be left out."""

    connection: str
    client: str = ""
    server: str = ""
    protocol: str | None = None
    start_ns: int = 0
    total: int = 0
    units: list[Unit] = field(default_factory=list[Unit])
    name: str = ""
    """The connection's name and the client's product."""
    tcp: list[Signal] = field(default_factory=list["Signal"])
    spans: list[Span] = field(default_factory=list["Span"])

    def data(self, budget: int) -> dict[str, object]:
        """Return the diagram in the form for the page's script, in about `budget` characters of JSON."""
        start = self.start_ns
        written = [unit.data(start) for unit in self.units]
        sizes = [len(json.dumps(one)) for one in written]
        if sum(sizes) > budget:
            kept = _from_both_ends(sizes, budget)
            written = [one for index, one in enumerate(written) if index in kept]
        return {
            "id": self.connection,
            "client": self.client,
            "server": self.server,
            "protocol": self.protocol or "",
            "name": self.name,
            "spans": [
                [one.from_ns - start, None if one.until_ns is None else one.until_ns - start, *one[2:]]
                for one in self.spans
            ],
            "tcp": [[one.ts_ns - self.start_ns, int(one.sender == self.server), one.text] for one in self.tcp],
            "t0": [self.start_ns // 1_000_000_000, self.start_ns % 1_000_000_000],
            "total": self.total,
            "units": written,
        }


_TABLES: Final = ("events", "messages", "violations", "connections")


def diagrams(
    segments: Iterable[Segment],
    connections: Sequence[str] | None,
    bounds: Bounds,
    *,
    skew_ns: int = 0,
    servers: Collection[str] = (),
    ports: Collection[int] = PORTS,
) -> list[Diagram]:
    """Return diagrams of connections; `segments` are those of their flows, in the order of `capture.sort_key`.

    `connections` are ids; None: all, as they end. `skew_ns`, `servers` and `ports` are as for
    `amqp_sansio.recorded.tables.FlowReplay`.
    """
    wanted = None if connections is None else set(connections)
    found: dict[str, Diagram] = {}
    flow: _Flow | None = None
    for segment in segments:
        if flow is None or flow.name != segment.flow:
            if flow is not None:
                flow.finish()
            replay = FlowReplay(segment.flow, tables=_TABLES, skew_ns=skew_ns, servers=servers, ports=ports)
            flow = _Flow(replay, wanted, bounds, found, skew_ns)
        flow.push(segment)
    if flow is not None:
        flow.finish()
    return [found[connection] for connection in (found if connections is None else connections) if connection in found]


def kind_of(event: str, sender: str) -> str:
    """Return the category of a unit: "connection", "channel", "publish", "deliver", "settle", "flow", "topology",
    "heartbeat" or "other".

    >>> kind_of("basic.publish", "client"), kind_of("transfer", "server"), kind_of("queue.declare", "client")
    ('publish', 'deliver', 'topology')
    """
    if event == "heartbeat" or event == "connection.heartbeat":
        return "heartbeat"
    if event in _KINDS:
        return _KINDS[event]
    if event in ("transfer", "message.transfer"):
        return "publish" if sender == "client" else "deliver"
    group = event.partition(".")[0]
    if group == "connection" or event.startswith("sasl-"):
        return "connection"
    return _GROUPS.get(group, "other")


_KINDS: Final[Mapping[str, str]] = {
    **dict.fromkeys(("protocol-header", "open", "close"), "connection"),
    **dict.fromkeys(("begin", "end", "attach", "detach"), "channel"),
    **dict.fromkeys(("basic.publish", "file.publish", "stream.publish"), "publish"),
    **dict.fromkeys(("basic.deliver", "basic.get-ok", "basic.return", "file.deliver", "stream.deliver"), "deliver"),
    **dict.fromkeys(("basic.ack", "basic.nack", "basic.reject", "basic.recover", "disposition"), "settle"),
    **dict.fromkeys(("message.accept", "message.reject", "message.release", "session.completed"), "settle"),
    **dict.fromkeys(("basic.qos", "basic.qos-ok", "flow", "message.flow", "message.stop", "channel.flow"), "flow"),
    **dict.fromkeys(("message.set-flow-mode", "session.flush", "message.flush"), "flow"),
    **dict.fromkeys(("basic.consume", "basic.consume-ok", "basic.cancel", "basic.cancel-ok"), "topology"),
    **dict.fromkeys(("message.subscribe", "message.cancel"), "topology"),
}
_GROUPS: Final[Mapping[str, str]] = {
    **dict.fromkeys(("channel", "session", "confirm", "access"), "channel"),
    **dict.fromkeys(("queue", "exchange"), "topology"),
    **dict.fromkeys(("tx", "dtx", "execution"), "settle"),
}
_TOLD: Final = (
    *("reply_code", "reply_text", "error_code", "description", "reason"),
    *("exchange", "routing_key", "queue", "destination", "address", "name", "consumer_tag"),
    *(
        "delivery_tag",
        "delivery_id",
        "multiple",
        "requeue",
        "prefetch_count",
        "first",
        "last",
        "settled",
        "handle",
        "role",
    ),
    *("link_credit", "delivery_count", "drain", "value", "commands", "transfers", "mechanism", "virtual_host"),
    *(
        "hostname",
        "container_id",
        "channel_max",
        "frame_max",
        "max_frame_size",
        "heartbeat",
        "idle_time_out",
        "version",
    ),
    *("message_count", "body_size", "code"),
)
"""The most important fields, in the order of a summary."""


def summary(fields: Mapping[str, Any]) -> str:
    """Return the most important fields of a unit, in one line.

    >>> summary({"ticket": 0, "exchange": "", "routing_key": "jobs", "mandatory": False, "body_size": 5})
    'exchange="" routing_key=jobs body_size=5'
    """
    parts: list[str] = []
    for name in _TOLD:
        value = fields.get(name)
        if value is None or (value is False and name != "settled") or (value == "" and name != "exchange"):
            continue
        parts.append(f"{name}={_short(value)}")
    for name in ("source", "target", "state", "error"):
        value = fields.get(name)
        if isinstance(value, Mapping):
            told: Mapping[str, Any] = cast("Mapping[str, Any]", value)
            word = told.get("address") or told.get("condition") or told.get("type")
            parts.append(f"{name}={_short(word)}")
    line = " ".join(parts)
    return line if len(line) <= _SUMMARY else f"{line[: _SUMMARY - 1]}…"


def field_lines(fields: Mapping[str, Any]) -> list[tuple[int, str, str]]:
    """Return the fields one by one: level, name and value; objects have their own line, followed by their fields.

    >>> field_lines({"a": {"b": 1}, "c": [1, 2]})
    [(0, 'a', ''), (1, 'b', '1'), (0, 'c', '[1,2]')]
    """
    lines: list[tuple[int, str, str]] = []
    _add_lines(fields, 0, lines)
    if len(lines) > _LINES:
        more = len(lines) - _LINES
        lines = [*lines[:_LINES], (0, "…", f"{more:,} more lines")]
    return lines


def _add_lines(fields: Mapping[str, Any], depth: int, lines: list[tuple[int, str, str]]) -> None:
    for name, value in fields.items():
        if len(lines) > 20 * _LINES:
            return
        if isinstance(value, Mapping) and value and depth < 8:
            told = cast("Mapping[str, Any]", value)
            if set(told) == {"base64"}:
                lines.append((depth, name, f"base64 {_cut(told['base64'])}"))
            elif set(told) == {"redacted"}:
                lines.append((depth, name, f"({told['redacted']} octets, not shown)"))
            else:
                lines.append((depth, name, ""))
                _add_lines(told, depth + 1, lines)
        else:
            lines.append((depth, name, _cut(_written(cast("object", value)))))


def _written(value: object) -> str:
    return value if isinstance(value, str) and value else json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _short(value: object) -> str:
    text = _written(value)
    return text if len(text) <= 48 else f"{text[:47]}…"


def _cut(value: object) -> str:
    text = str(value)
    return text if len(text) <= _VALUE else f"{text[: _VALUE - 1]}… ({len(text):,} characters)"


def _from_both_ends(sizes: Sequence[int], budget: int) -> set[int]:
    """Return the units that fit if those in the middle are left out."""
    kept: set[int] = set()
    low, high, used = 0, len(sizes) - 1, 0
    while low <= high:
        at = low if len(kept) % 2 == 0 else high
        used += sizes[at]
        if used > budget:
            break
        kept.add(at)
        if at == low:
            low += 1
        else:
            high -= 1
    return kept


class _Flow:
    """Replays the segments of one flow, and keeps the units and octets of some of its connections."""

    def __init__(
        self, replay: FlowReplay, wanted: set[str] | None, bounds: Bounds, found: dict[str, Diagram], skew_ns: int
    ) -> None:
        self.name = replay.flow
        """The two addresses of the flow."""
        self._wanted = wanted
        """The connections that get a diagram."""
        self._bounds = bounds
        """Most units and octets of one."""
        self._found = found
        """Where finished diagrams go."""
        self._replay = replay
        """Makes rows of the segments, for what the units mean."""
        self._reassembler = Reassembler(grace_ns=DEFAULT_GRACE_NS + skew_ns)
        """Makes streams of them, for the octets."""
        self._open: dict[str, _Watched] = {}
        """Connections whose end hasn't come."""

    def push(self, segment: Segment) -> None:
        """Take the next segment."""
        self._items(self._reassembler.push(segment))
        for watched in self._open.values():
            watched.signal(segment)
        self._rows(self._replay.push(segment))

    def finish(self) -> None:
        """Note the end of the segments."""
        self._items(self._reassembler.finish())
        self._rows(self._replay.finish())

    def _items(self, items: Sequence[Item]) -> None:
        for item in items:
            if isinstance(item, ConnectionStart):
                if self._wanted is None or item.connection in self._wanted:
                    self._open[item.connection] = _Watched(item, self._bounds)
            elif item.connection in self._open:
                self._open[item.connection].item(item)

    def _rows(self, rows: Sequence[tuple[str, tuple[Any, ...]]]) -> None:
        for table, row in rows:
            if table == "connections":
                values = {name: value for (name, _), value in zip(COLUMNS[table], row, strict=True)}
                watched = self._open.pop(values["connection"], None)
                if watched is not None:
                    self._found[watched.start.connection] = watched.diagram(values)
            elif table == "events":
                watched = self._open.get(row[_names["connection"]])
                if watched is not None:
                    watched.unit(row)
            elif table == "messages":
                watched = self._open.get(row[0])
                if watched is not None:
                    watched.message(row)
            else:
                watched = self._open.get(row[_places["connection"]] or "")
                if watched is not None:
                    watched.violation(row)


class _Watched:
    """One connection of a diagram, during the replay."""

    def __init__(self, start: ConnectionStart, bounds: Bounds) -> None:
        self.start = start
        """Its addresses and first segment."""
        self._bounds = bounds
        """Most units and octets."""
        self._streams = {start.a: Stream(), start.b: Stream()}
        """The octets of each side, by its address."""
        self._observer: Observer | None = Observer(client=start.client, from_start=start.syn_seen, body="size")
        """Says which side is the client; None once the sides don't change any more."""
        self._client = start.client
        """The client's address; None: nobody knows yet."""
        self._total = 0
        """Units so far, those that aren't kept included."""
        most = max(bounds.frames, 4)
        self._most_head = most // 2
        """How many of the first units are kept."""
        self._head: list[Unit] = []
        """These."""
        self._tail: deque[Unit] = deque()
        """The last units."""
        self._most_tail = most - most // 2
        """How many of these are kept."""
        self._notable: list[Unit] = []
        """Units between these two that a reader looks for."""
        self._parts: dict[tuple[str, int, int | None], bytes | None] = {}
        """The last octets of the messages of 1.0 that go on, by sender, channel and handle; None: they have a token."""
        self._late: dict[int, list[tuple[str, str, str]]] = {}
        """Broken rules of units that haven't come yet."""
        self._signals: list[Signal] = []
        """What TCP itself says: resets, ends, closed windows."""
        self._shut: dict[str, int] = {}
        """Since when a side's window is closed."""
        self._spans: list[Span] = []
        """The longest times between a message and its outcome."""

    def message(self, row: Sequence[Any]) -> None:
        """Take a row of the table of messages."""
        ts_ns, channel, kind, tag, size, outcome, settled_ns, ended_ns, seq, queue, address, consumer, link, key = (
            _MESSAGE(row)
        )
        if kind == "return" or (settled_ns is None and outcome is not None):
            return
        verb = "without a confirm" if kind == "publish" else "held by the client"
        place = " ".join(part for part in (queue or address or key, consumer or link) if part)
        name = "publish" if kind == "publish" else "delivery"
        octets = "? octets" if size is None else f"{size:,} octets"
        text = f"{name} {'' if tag is None else tag} {place} ({octets}), {verb}"
        until_ns = ended_ns if settled_ns is None else settled_ns
        self._spans.append(Span(ts_ns, until_ns, seq, channel, _cut(" ".join(text.split()))))
        if len(self._spans) > 2 * _SPANS:
            self._cut_spans()

    def _cut_spans(self) -> None:
        self._spans = sorted(self._spans, key=lambda one: one.rank)[:_SPANS]

    def signal(self, segment: Segment) -> None:
        """Take a segment: its flags, and whether its sender has begun or ended to take nothing."""
        sender = endpoint(segment.src, segment.sport)
        flags, ts_ns = segment.flags, segment.ts_ns
        texts = [text for flag, text in _FLAGS.items() if flags & flag]
        if flags & ZERO_WINDOW and sender not in self._shut:
            self._shut[sender] = ts_ns
            texts.append("zero window: it takes nothing more")
        elif not flags & (ZERO_WINDOW | RST) and sender in self._shut:
            texts.append(f"the window is open again after {duration(ts_ns - self._shut.pop(sender))}")
        for text in texts:
            told = Signal(ts_ns, sender, text)
            if len(self._signals) < _SIGNALS and not any(
                [one.sender == sender and one.text == text == _FLAGS[FIN] for one in self._signals]
            ):
                self._signals.append(told)

    def item(self, item: Item) -> None:
        """Take octets, or a gap."""
        observer = self._observer
        if isinstance(item, StreamData):
            self._streams[item.sender].add(item.offset, item.data)
            if observer is not None:
                observer.receive_data(item.data, item.sender, item.ts_ns)
        elif isinstance(item, StreamGap) and observer is not None:
            observer.receive_gap(item.sender, item.octets, item.ts_ns)
        elif isinstance(item, ConnectionEnd) and observer is not None:
            observer.finish(item.ts_ns)
        while observer is not None and (event := observer.next_event()) is not NEED_DATA:
            if isinstance(event, Identified):
                a, b = self.start.a, self.start.b
                other = None if event.server is None else (b if event.server == a else a)
                self._client = event.client or other
                if event.by != "guess":
                    observer = None
                    self._observer = None  # the sides don't change any more

    def unit(self, row: Sequence[Any]) -> None:
        """Take a row of the table of events."""
        _, seq, ts_ns, sender, channel, event, size, offset, text, answers, protocol = _EVENT(row)
        self._total += 1
        fields: dict[str, Any] = json.loads(text)
        kind = kind_of(event, sender)
        if event in FAULTS and fault(event, sender, fields) is not None:
            kind = "error"
        unit = Unit(
            seq,
            ts_ns,
            sender,
            channel,
            event,
            size,
            kind,
            summary(fields),
            answers,
            field_lines(fields),
            [],
            violations=self._late.pop(seq, []),
        )
        stream = self._streams[self._client] if sender == "client" and self._client else self._server()
        if stream is None:
            unit.hidden = "it isn't known who is who"
        elif self._shows_secret(stream, text, row):
            unit.hidden = "they may show a secret"
        else:
            most = self._bounds.octets
            unit.frames = frames(stream, sender == "client", protocol, offset, size, most=_FRAMES, octets=most)
            if not unit.frames:
                unit.hidden = "they are not all in the capture"
        self._keep(unit)

    def _shows_secret(self, stream: Stream, text: str, row: Sequence[Any]) -> bool:
        """Whether a unit's octets may show a secret: one that its row doesn't show, or the rest of one.

        A token comes behind the words that say that it is one, in the same part of a message or in a later one.
        """
        _, _, _, sender, channel, event, size, offset, _, _, _ = _EVENT(row)
        if event in _SECRETS:
            return not stream.whole
        if event != "transfer":
            return _REDACTED in text
        fields: dict[str, Any] = json.loads(text)
        link = sender, channel, fields.get("handle")
        before = self._parts.pop(link, b"")
        if before is None or _REDACTED in text or _PUT in text:
            found = True
        else:
            octets = before + stream.read(offset, size, False) if before or fields.get("more") else b""
            found = any([word in octets for word in _TOKENS])
            before = octets[-_LONGEST_WORD:]
        if fields.get("more"):
            if len(self._parts) >= _LINES:
                del self._parts[next(iter(self._parts))]
            self._parts[link] = None if found else before
        return found

    def violation(self, row: Sequence[Any]) -> None:
        """Take a row of the table of violations."""
        _, seq, rule, severity, text = _VIOLATION(row)
        if seq is None:
            return
        told = (rule, severity, _cut(text))
        for unit in (*reversed(self._tail), *reversed(self._head)):
            if unit.seq == seq:
                unit.violations.append(told)
                return
            if unit.seq < seq:
                break
        if len(self._late) < 1000:
            self._late.setdefault(seq, []).append(told)

    def diagram(self, row: Mapping[str, Any]) -> Diagram:
        """Return the diagram, at the connection's end."""
        self._cut_spans()
        units = [*self._head, *sorted([*self._notable, *self._tail], key=lambda unit: unit.seq)]
        return Diagram(
            self.start.connection,
            row["client"] or "client",
            row["server"] or "server",
            row["protocol"],
            row["opened_ns"],
            self._total,
            units,
            " · ".join(part for part in (row["connection_name"], row["client_product"]) if part),
            self._signals,
            sorted(self._spans, key=lambda one: (one.from_ns, one.seq)),
        )

    def _server(self) -> Stream | None:
        if self._client is None:
            return None
        a, b = self.start.a, self.start.b
        return self._streams[b if self._client == a else a]

    def _keep(self, unit: Unit) -> None:
        if len(self._head) < self._most_head:
            self._head.append(unit)
            return
        self._tail.append(unit)
        if len(self._tail) > self._most_tail:
            old = self._tail.popleft()
            if old.notable and len(self._notable) < self._bounds.frames // 4:
                self._notable.append(old)


__all__ = ["Diagram", "Signal", "Span", "Unit", "diagrams", "field_lines", "kind_of", "summary"]
