"""Tables: segments of captured connections in, rows of events, messages, consumers, connections and violations out.

The local replay and Spark share this code. Rows are a pure function of the segments of a flow, in the order of
`capture.sort_key`; the distribution of flows over processes makes no difference.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias, cast

from .._core.hints import NOTHING_SAID, of_foreign
from .._core.snapshot import Laid
from .._ground.layouts import REPLAY
from .._watching.end import Transport
from ..capture import (
    CaptureDamage,
    ConnectionEnd,
    ConnectionStart,
    Item,
    Reassembler,
    Segment,
    StreamDamage,
    StreamData,
    StreamGap,
    endpoint,
)
from ..capture.others import FIRST, name_of
from ..capture.records import ACK, SYN
from ..capture.tcp import DEFAULT_GRACE_NS
from ..errors import LocalProtocolError
from ..events import NEED_DATA
from ..limits import Limits
from ..observer import Identified, Observed, Observer, Skipped
from ..observer import Violation as Broken
from ..versions import AMQP_0_10
from . import _json
from ._columns import BODIES, COLUMNS, STATE_COLUMNS
from ._lane import EventLane
from ._plain import plain
from ._row_types import ConnectionsRow, ConsumersRow, ViolationsRow
from ._rows import NAMES, ROWS, MessageRows, Values, chosen, event_row
from .json_lines import EventLines

if TYPE_CHECKING:
    from ..observer import Consumer
    from ..versions import Version
    from .lifecycle import Lifecycle, MessageRecord

_YEAR: Final = 366 * 86_400
PORTS: Final = (5671, 5672)
"""The ports of AMQP's servers, registered at IANA: of a connection whose SYN wasn't captured they tell the client."""
_ROLES_BY: Final = {"told": "syn", "header": "header", "frame": "frame"}
"""How the roles are known, by how the observer knows them."""
_OF_SIDES: Final = (
    *("client_product", "client_version", "container", "connection_name", "mechanism", "user", "vhost"),
    *("server_product", "server_version", "server_container", "closed_by", "client_timeout", "server_timeout"),
)
"""What a connection's record says of one side."""
_MOST_ASIDE: Final = 64
"""Most rows of violations that wait for a connection to turn out to be AMQP's."""
_NEVER: Final = 1 << 66
_TOGETHER: Final = 1000
"""Segments of a flow that are taken at a time."""
_LOOKED_AT: Final = 8
"""First octets that tell what a stream is."""
_TIME: Final = attrgetter("ts_ns", "file", "packet")
"""The order of a flow's segments: that of `capture.sort_key`."""

Row: TypeAlias = tuple[str, Values]
"""The name of a table, and one value for each of its columns, or of those that were chosen.

With all columns the values are the table's NamedTuple of `ROWS`.
"""


class FlowReplay(Laid):
    """Rows from the segments of one flow (all connections of one 4-tuple, in sequence).

    Push the flow's segments in the order of `capture.sort_key`, then call `finish`. `tables` names the requested tables
    (None: all); rows of others aren't made, and cost next to nothing. A mapping also names the columns of each table,
    in the order of a row's values; others aren't computed. `events` are the names of the events whose rows are wanted
    (None: all). `body` selects the fields of message bodies in events: "none", their "size", or also their octets
    ("base64"). With `secrets` the fields show the responses of the login; otherwise only their size. `skew_ns` is the
    largest difference between the clocks of files that have different packets of one connection (nanoseconds): missing
    octets are given up that much later. `servers` are endpoints ("10.0.0.2:5673") that are known to be servers, for
    connections whose SYN wasn't captured; the `ports` of servers tell too. A connection that isn't AMQP, and whose
    server has none of these ports, has no rows: `passed` counts those by the name of their protocol. With `lines` a row
    of events has a single value, its line as `json_lines` writes it: that takes half of the time. Picklable at any
    point.

    >>> from amqp_sansio.capture import Segment
    >>> syn = Segment(1_000, "a.pcap", 0, "10.0.0.1", 40000, "10.0.0.2", 5672, 100, 0, 2, 0, b"")
    >>> replay = FlowReplay(syn.flow)
    >>> rows = replay.push(syn) + replay.finish()
    >>> [(name, len(values) == len(COLUMNS[name])) for name, values in rows]
    [('connections', True)]
    """

    _LAYOUT = REPLAY
    _WHAT = "a replay"

    __slots__ = ("_connections", "_options", "_ports", "_reassembler", "flow", "passed")

    def __init__(
        self,
        flow: str,
        *,
        tables: Collection[str] | Mapping[str, Collection[str]] | None = None,
        events: Collection[str] | None = None,
        body: str = "size",
        secrets: bool = False,
        limits: Limits | None = None,
        skew_ns: int = 0,
        lines: bool = False,
        servers: Collection[str] = (),
        ports: Collection[int] = PORTS,
    ) -> None:
        if skew_ns < 0:
            raise ValueError(f"skew_ns is at least 0, not {skew_ns}")
        if body not in BODIES:
            raise ValueError(f"body must be one of {', '.join(BODIES)}, not {body!r}")
        self.flow = flow
        wanted = frozenset(events) if events is not None else None
        self._options = _Options(
            wanted_columns(tables),
            wanted,
            body,
            secrets,
            limits or Limits(),
            lines,
            frozenset(servers),
            frozenset(ports),
        )
        self._ports: tuple[str, int, str, int, str] | None = None
        self._reassembler = Reassembler(grace_ns=DEFAULT_GRACE_NS + skew_ns)
        self._connections: dict[str, _Connection] = {}
        self.passed: dict[str, int] = {}

    def push(self, segment: Segment) -> list[Row]:
        """Take the next segment; return the rows complete now. Raises LocalProtocolError for one of another flow."""
        ports = (segment.src, segment.sport, segment.dst, segment.dport, segment.point)
        if ports != self._ports:
            if segment.flow != self.flow:
                raise LocalProtocolError(f"a segment of {segment.flow} in the replay of {self.flow}")
            self._ports = ports
        return self._take((segment,), 0)[0]

    def push_all(self, segments: Sequence[Segment]) -> Iterator[list[Row]]:
        """Take the next segments, all of this flow, and yield the rows that `push` returns of them, in less time."""
        at = 0
        while at < len(segments):
            rows, taken = self._take(segments, at)
            yield rows
            at += taken

    def advance(self, ts_ns: int) -> list[Row]:
        """Note that the capture has reached `ts_ns` (nanoseconds) without segments of this flow; return rows."""
        return self._fold(self._reassembler.advance(ts_ns))

    @property
    def due_ns(self) -> int | None:
        """The capture time at which `advance` has rows to return (nanoseconds); None: never."""
        return self._reassembler.due_ns

    def finish(self) -> list[Row]:
        """Note the end of the capture; return the remaining rows."""
        return self._fold(self._reassembler.finish())

    def _take(self, segments: Sequence[Segment], at: int) -> tuple[list[Row], int]:
        """Take at least one segment; return the rows complete then, and how many were taken."""
        taken = self._reassembler.run(segments, at)
        if isinstance(taken, list):
            return self._fold(taken), 1
        connection, sender, pieces, times = taken
        rows: list[Row] = []
        self._connections[connection].data(pieces, times, sender, rows)
        return rows, len(pieces)

    def _fold(self, items: list[Item]) -> list[Row]:
        rows: list[Row] = []
        for item in items:
            if isinstance(item, StreamData):
                self._connections[item.connection].data((item.data,), (item.ts_ns,), item.sender, rows)
                continue
            if isinstance(item, ConnectionStart):
                self._connections[item.connection] = _Connection(item, self._options)
                continue
            connection = self._connections[item.connection]
            if isinstance(item, StreamGap):
                connection.gap(item, rows)
            elif isinstance(item, StreamDamage):
                connection.damage(item, rows)
            else:
                name = connection.end(item, rows)
                if name is not None:
                    self.passed[name] = self.passed.get(name, 0) + 1
                del self._connections[item.connection]
        return rows


class LiveReplay:
    """Rows of the connections in a capture that is being made, as soon as they are known, in bounded memory.

    Push the segments in the order of the capture. The rows are those of `replay_segments`, except that a flow ends as
    at the end of a capture when it is silent for `idle_ns` of the capture's time (nanoseconds), or when there are more
    than `flows` of them and it is silent for longest, and that no SYN tells which ends are servers. The other options
    are as for `FlowReplay`. Picklable at any point.

    >>> live = LiveReplay(tables=("events",))
    >>> live.finish()
    []
    """

    __slots__ = ("_due", "_flows", "_idle_ns", "_most", "_next_due", "_now", "_options", "_seen", "passed")

    def __init__(
        self,
        *,
        tables: Collection[str] | None = None,
        body: str = "size",
        secrets: bool = False,
        limits: Limits | None = None,
        skew_ns: int = 0,
        lines: bool = False,
        servers: Collection[str] = (),
        ports: Collection[int] = PORTS,
        flows: int = 10_000,
        idle_ns: int = 3600 * 1_000_000_000,
    ) -> None:
        self._options: dict[str, Any] = {
            "tables": tables,
            "body": body,
            "secrets": secrets,
            "limits": limits or Limits(),
            "skew_ns": skew_ns,
            "lines": lines,
            "servers": servers,
            "ports": ports,
        }
        self._most = flows
        self._idle_ns = idle_ns
        self._now = 0
        # By name, the flow that is silent for longest first.
        self._flows: dict[str, FlowReplay] = {}
        self._seen: dict[str, int] = {}
        self._due: dict[str, int] = {}
        self._next_due = _NEVER
        self.passed: dict[str, int] = {}

    def push(self, segment: Segment) -> list[tuple[str, list[Row]]]:
        """Take the next segment; return the names of flows, with the rows of each that are complete now."""
        name = segment.flow
        if segment.ts_ns > self._now:
            self._now = segment.ts_ns
        replay = self._flows.pop(name, None) or FlowReplay(name, **self._options)
        self._flows[name] = replay
        self._seen[name] = self._now
        rows = [(name, replay.push(segment))]
        self._note_due(name, replay)
        if self._now >= self._next_due:
            for other, due_ns in list(self._due.items()):
                if due_ns <= self._now:
                    rows.append((other, self._flows[other].advance(self._now)))
                    self._note_due(other, self._flows[other])
            self._next_due = min(self._due.values(), default=_NEVER)
        while True:
            oldest = next(iter(self._flows))
            if len(self._flows) <= self._most and self._now - self._seen[oldest] < self._idle_ns:
                return rows
            rows.append((oldest, self._end(oldest)))

    def finish(self) -> list[tuple[str, list[Row]]]:
        """Note the end of the capture; return the remaining rows of each flow."""
        return [(name, self._end(name)) for name in list(self._flows)]

    def _note_due(self, name: str, replay: FlowReplay) -> None:
        due_ns = replay.due_ns
        if due_ns is None:
            self._due.pop(name, None)
        else:
            self._due[name] = due_ns
            self._next_due = min(self._next_due, due_ns)

    def _end(self, name: str) -> list[Row]:
        del self._seen[name]
        self._due.pop(name, None)
        replay = self._flows.pop(name)
        rows = replay.finish()
        for protocol, count in replay.passed.items():
            self.passed[protocol] = self.passed.get(protocol, 0) + count
        return rows


def replay_segments(
    segments: Iterable[Segment | CaptureDamage],
    *,
    tables: Collection[str] | None = None,
    body: str = "size",
    secrets: bool = False,
    limits: Limits | None = None,
    skew_ns: int = 0,
    lines: bool = False,
    servers: Collection[str] | None = None,
    ports: Collection[int] = PORTS,
    passed: dict[str, int] | None = None,
) -> Iterator[Row]:
    """Yield the rows of whole captures: segments of any number of flows and files, in any order.

    All segments are held in memory and sorted. Options as for `FlowReplay`; `servers` (None: those that any SYN shows).
    `passed` takes the number of connections that aren't AMQP, by their protocols.

    >>> list(replay_segments([]))
    []
    """
    flows: dict[str, list[Segment]] = {}
    ways: dict[tuple[str, int, str, int, str], list[Segment]] = {}
    begins: list[Segment] = []
    for segment in segments:
        if isinstance(segment, CaptureDamage):
            if tables is None or "violations" in tables:
                yield damage_row(segment)
            continue
        way = (segment.src, segment.sport, segment.dst, segment.dport, segment.point)
        same = ways.get(way)
        if same is None:
            # A flow is named once for each direction, not for each of its segments.
            same = ways[way] = flows.setdefault(segment.flow, [])
        same.append(segment)
        if segment.flags & SYN:
            begins.append(segment)
    ordered = ((flow, sorted(flows[flow], key=_TIME)) for flow in sorted(flows))
    yield from replay_flows(
        ordered,
        tables=tables,
        body=body,
        secrets=secrets,
        limits=limits,
        skew_ns=skew_ns,
        lines=lines,
        servers=servers_of(begins) if servers is None else servers,
        ports=ports,
        passed=passed,
    )


def replay_flows(
    flows: Iterable[tuple[str, Iterable[Segment]]],
    *,
    tables: Collection[str] | Mapping[str, Collection[str]] | None = None,
    body: str = "size",
    secrets: bool = False,
    limits: Limits | None = None,
    skew_ns: int = 0,
    lines: bool = False,
    servers: Collection[str] = (),
    ports: Collection[int] = PORTS,
    passed: dict[str, int] | None = None,
) -> Iterator[Row]:
    """Yield the rows of flows, each given by its name and its segments in the order of `capture.sort_key`.

    One flow is replayed after the other, and a thousand segments are taken at a time, so that memory is bounded if the
    caller's is. Options as for `FlowReplay`; `passed` takes the number of connections that aren't AMQP, by their
    protocols.

    >>> list(replay_flows([]))
    []
    """
    for flow, segments in flows:
        replay = FlowReplay(
            flow,
            tables=tables,
            body=body,
            secrets=secrets,
            limits=limits,
            skew_ns=skew_ns,
            lines=lines,
            servers=servers,
            ports=ports,
        )
        left = iter(segments)
        while some := list(islice(left, _TOGETHER)):
            for rows in replay.push_all(some):
                yield from rows
        yield from replay.finish()
        if passed is not None:
            for name, count in replay.passed.items():
                passed[name] = passed.get(name, 0) + count


def wanted_columns(tables: Collection[str] | Mapping[str, Collection[str]] | None) -> dict[str, tuple[str, ...]]:
    """Return the columns of each requested table, as `FlowReplay` takes them. Raises ValueError for one that isn't
    there.

    >>> wanted_columns({"events": ["seq", "event"]})
    {'events': ('seq', 'event')}
    """
    found: dict[str, tuple[str, ...]] = {}
    names: Mapping[str, Collection[str]] = {}
    if isinstance(tables, Mapping):
        names = cast("Mapping[str, Collection[str]]", tables)
    for table in COLUMNS if tables is None else tables:
        if table not in COLUMNS:
            raise ValueError(f"no table is called {table!r}; there are {', '.join(COLUMNS)}")
        every = NAMES[table]
        found[table] = tuple(names.get(table, every))
        for name in found[table] or ("",):
            if name not in every:
                raise ValueError(f"{table} has no column {name!r}; there are {', '.join(every)}")
    return found


def damage_row(damage: CaptureDamage, names: Sequence[str] | None = None) -> Row:
    """Return the row of `violations` for an unreadable part of a capture file; it belongs to no connection.

    `names` are the columns that are wanted (None: all).
    """
    text = f"{damage.file}: {damage.text} (packet {damage.packet})"
    row = ViolationsRow(
        connection=None,
        seq=None,
        ts_ns=damage.ts_ns,
        sender=None,
        rule=f"capture/{damage.kind}",
        severity="warning",
        text=plain(text),
        offset=damage.offset,
        channel=None,
    )
    return "violations", row if names is None else chosen(names, row)


class _Options(NamedTuple):
    """The options of a replay that its connections need; `tables` are the columns of each table."""

    tables: dict[str, tuple[str, ...]]
    events: frozenset[str] | None
    body: str
    secrets: bool
    limits: Limits
    lines: bool
    servers: frozenset[str]
    ports: frozenset[int]


class _Connection:
    """One connection's observer, lifecycle and counts."""

    __slots__ = (
        "aside",
        "beginning",
        "complete",
        "consumers",
        "counts",
        "event_names",
        "events",
        "expected",
        "fields",
        "first",
        "gaps",
        "heard",
        "heard_then",
        "held",
        "holes",
        "label",
        "lane",
        "lifecycle",
        "likely_by",
        "lines",
        "message_rows",
        "observer",
        "protocol",
        "roles_by",
        "sides",
        "start",
        "tables",
        "version",
        "violations",
        "with_connections",
    )

    def __init__(self, start: ConnectionStart, options: _Options) -> None:
        tables = options.tables
        self.start = start
        self.event_names = options.events
        self.tables = tables
        self.with_connections = "connections" in tables
        self.fields = _json.FieldWriter(options.body, options.secrets)
        self.lines = None
        self.message_rows = None
        if "events" in tables and options.lines:
            self.lines = EventLines(start.connection, self.fields)
        self.lane = None
        if list(tables) == ["events"]:
            # Nothing of what its columns tell needs a model of deliveries.
            self.lane = EventLane(start.connection, self.fields, tables["events"], options.lines, options.events)
        messages = tables.get("messages")
        self.consumers = tables.get("consumers")
        if messages is not None:
            self.message_rows = MessageRows(messages, options.secrets)
        likely, self.likely_by = (None, "") if start.client else likely_client(start, options.servers, options.ports)
        self.roles_by = "syn" if start.client else None
        self.observer = Observer(
            client=start.client,
            from_start=start.syn_seen,
            body="all" if options.body == "base64" else "hash" if messages and "body_sha256" in messages else "size",
            limits=options.limits,
            records=messages is not None or self.with_connections,
            likely=likely,
            accounts=self.consumers is not None,
            lane=self.lane,
        )
        self.lifecycle: Lifecycle | None = None
        if messages is not None or self.with_connections:
            from .lifecycle import Lifecycle

            self.lifecycle = Lifecycle(options.limits, messages=messages is not None)
        self.version: Version | None = None
        self.protocol: str | None = None
        self.label = start.connection
        self.sides: dict[str, str] = {}
        self.held: list[tuple[str, tuple[Any, ...]]] = []
        self.counts = {start.a: 0, start.b: 0}
        self.heard = {start.a: start.ts_ns, start.b: start.ts_ns}
        self.first: dict[str, bytes] = {}
        """The first octets of each side."""
        self.heard_then: dict[str, int] | None = None
        """The same when the connection was closed."""
        self.holes: set[str] = set()
        """The senders of which octets are missing."""
        self.gaps = 0
        self.events = 0
        self.violations = 0
        self.complete = True
        # AMQP is expected at its ports; elsewhere it shows itself, or the connection is passed over.
        server = start.server or (None if likely is None else start.b if likely == start.a else start.a)
        ends = (start.a, start.b) if server is None else (server,)
        self.expected = any([int(end.rpartition(":")[2]) in options.ports for end in ends])
        self.beginning = b""
        self.aside: list[Row] = []

    def data(self, pieces: Sequence[bytes], times: Sequence[int], sender: str, rows: list[Row]) -> None:
        self.counts[sender] += sum(map(len, pieces))
        if not self.beginning:
            self.beginning = pieces[0][:FIRST]
        self.heard[sender] = times[-1]
        if sender not in self.first:
            self.first[sender] = pieces[0][:_LOOKED_AT]
        if self.observer.receive_pieces(pieces, times, sender):
            self.take(rows)
            if self.heard_then is None and self.lifecycle is not None and self.lifecycle.is_closed:
                self.heard_then = dict(self.heard)

    def gap(self, item: StreamGap, rows: list[Row]) -> None:
        self.gaps += 1
        self.holes.add(item.sender)
        self.complete = False
        self.observer.receive_gap(item.sender, item.octets, item.ts_ns)
        text = f"{item.octets} octets are missing ({item.reason})"
        self.held.append((item.sender, ("capture/gap", text, item.ts_ns, item.offset)))
        self.take(rows)

    def damage(self, item: StreamDamage, rows: list[Row]) -> None:
        self.complete = False
        self.held.append((item.sender, (f"capture/{item.kind}", item.text, item.ts_ns, None)))
        self.take(rows)

    def end(self, item: ConnectionEnd, rows: list[Row]) -> str | None:
        """Give the last rows; return the name of another protocol, if the connection is passed over."""
        self.observer.finish(item.ts_ns)
        self.take(rows)
        self.report_held(rows)
        if self.beginning and not self.expected and self.version is None:
            return name_of(self.beginning)
        self.expect(rows)
        self.close(item, rows)
        return None

    def expect(self, rows: list[Row]) -> None:
        """The connection is AMQP's: nothing of it is passed over."""
        self.expected = True
        rows += self.aside
        self.aside = []

    def close(self, item: ConnectionEnd, rows: list[Row]) -> None:
        """Give the rows of messages that are open, and the connection's own."""
        lifecycle = self.lifecycle
        if self.consumers is not None:
            for consumer in self.observer.last_consumers(item.ts_ns, item.how != "end-of-capture"):
                rows.append(self.consumer(consumer))
        if lifecycle is None:
            return
        left = lifecycle.finish(self.transport(item))
        # A close ends a connection, also where the end of TCP wasn't captured.
        closed_ns = lifecycle.end.at_ns
        if item.how in ("fin", "rst", "reuse", "refused"):
            closed_ns = item.ts_ns
        for message in left:
            if closed_ns is None:
                if message.outcome == "settled" and message.settled_ns is None:
                    message.outcome = None  # It may come back yet.
            elif message.outcome is None:
                message.ended_ns = closed_ns
            rows.append(self.message(message, lifecycle))
        if self.with_connections:
            rows.append(self.row(item, lifecycle, closed_ns))

    def transport(self, item: ConnectionEnd) -> Transport:
        """Return how TCP ended, by the names of the sides."""
        heard = dict(self.heard if self.heard_then is None else self.heard_then)
        if self.heard_then is None and item.by is not None:
            silent = self.start.b if item.by == self.start.a else self.start.a
            heard[silent] = self.start.ts_ns if item.heard_ns is None else item.heard_ns
        known = {side: heard[label] for label, side in self.sides.items() if label not in self.holes}
        by = None if item.by is None else self.sides.get(item.by)
        sides = self.sides or {self.start.client or "": "client", self.start.server or "": "server"}
        begun = {side: of_foreign(self.first.get(label, b"")) for label, side in sides.items()}
        if item.by is not None and not self.first:
            begun["client"] = NOTHING_SAID
        return Transport(item.how, by, item.ts_ns, item.by_ns, known, begun)

    def take(self, rows: list[Row]) -> None:
        """Turn the observer's events into rows."""
        next_event, lifecycle, lines, wanted = self.observer.next_event, self.lifecycle, self.lines, self.event_names
        take_consumers = None if self.consumers is None else self.observer.take_consumers
        names = self.tables.get("events")
        make = None if names is None else event_row(names, bool(self.sides))
        if self.lane is not None:
            self.lane.rows = rows
        while (event := next_event()) is not NEED_DATA:
            if isinstance(event, Observed):
                self.events += 1
                if not self.expected:
                    self.expect(rows)
                if make is not None and (wanted is None or event.event in wanted):
                    row = (lines.write(event),) if lines else make(event, self.label, self.protocol, self.fields.write)
                    rows.append(("events", row))
                if event.missing != 0 and event.unit == "partial":
                    self.partial(event, rows)
            elif isinstance(event, Identified):
                self.identified(event)
                make = None if names is None else event_row(names, bool(self.sides))
            elif isinstance(event, Skipped):
                self.skipped(event, rows)
            elif isinstance(event, Broken):
                if event.severity == "warning" and self.version is not None and not self.sides:
                    continue  # What one side does and the other puts up with says nothing of two unknown ones.
                self.violate(
                    event.seq,
                    event.at_ns,
                    event.sender.value if self.sides else None,
                    event.rule,
                    event.severity,
                    event.text,
                    event.offset,
                    event.channel,
                    rows,
                )
            if lifecycle is not None:
                for message in lifecycle.observe(event):  # type: ignore[arg-type]
                    rows.append(self.message(message, lifecycle))
            if take_consumers is not None:
                for consumer in take_consumers():
                    rows.append(self.consumer(consumer))
        if self.lane is not None:
            self.lane.rows = []
        if self.held and self.sides:
            self.report_held(rows)

    def identified(self, event: Identified) -> None:
        self.version = event.version
        self.protocol = None if event.version is None else event.version.label
        self.fields.forget()
        if event.by != "guess":
            a, b = self.start.a, self.start.b
            client = event.client
            if client is None and event.server is not None:
                client = b if event.server == a else a
            if client is not None:
                self.sides = {client: "client", b if client == a else a: "server"}
                self.roles_by = _ROLES_BY.get(event.by, self.likely_by)
        if self.message_rows is not None:
            self.message_rows = self.message_rows.identified(bool(self.sides))
        if self.lines is not None:
            self.lines.identify(self.protocol, bool(self.sides))
        if self.lane is not None:
            self.lane.identify(event.version, bool(self.sides))

    def report_held(self, rows: list[Row]) -> None:
        """Report damage in the capture once the sender's side is known, or never will be."""
        for sender, (rule, text, ts_ns, offset) in self.held:
            self.violate(None, ts_ns, self.sides.get(sender), rule, "warning", text, offset, None, rows)
        self.held = []

    def skipped(self, event: Skipped, rows: list[Row]) -> None:
        if event.reason == "gap":
            return
        texts = {
            "resync": "{} octets are no frames",
            "incomplete": "{} octets of a frame that isn't all there",
            "undecoded": f"{{}} octets of {self.protocol}, which this release doesn't decode",
            "unrecognised": "{} octets of no protocol that is known",
        }
        if event.reason != "undecoded":
            self.complete = False
        text = texts[event.reason].format(event.octets)
        sender = event.sender.value if self.sides else None
        rule = f"capture/{event.reason}"
        self.violate(None, event.at_ns, sender, rule, "warning", text, event.offset, None, rows)

    def partial(self, event: Observed, rows: list[Row]) -> None:
        if getattr(event.content, "aborted", False):
            return  # by its sender: nothing of it is missing in the capture
        if event.event == "transfer":
            much = "the end" if event.missing is None else f"at least {event.missing} octets"
            text = f"{much} of the message of transfer {'is' if event.missing is None else 'are'} missing"
        elif event.missing is None:
            text = f"the message of {event.event} has no header"
            if self.protocol == AMQP_0_10.label:
                text = f"the end of {event.event} is missing"
        else:
            text = f"{event.missing} of the {event.body_size} octets of the body of {event.event} are missing"
        self.violate(
            event.seq,
            event.at_ns,
            event.sender.value if self.sides else None,
            "capture/partial-message",
            "warning",
            text,
            event.offset,
            event.channel,
            rows,
        )

    def violate(
        self,
        seq: int | None,
        ts_ns: int,
        sender: str | None,
        rule: str,
        severity: str,
        text: str,
        offset: int | None,
        channel: int | None,
        rows: list[Row],
    ) -> None:
        self.violations += 1
        names = self.tables.get("violations")
        if names is not None:
            row = ViolationsRow(
                connection=self.label,
                seq=seq,
                ts_ns=ts_ns,
                sender=sender,
                rule=rule,
                severity=severity,
                text=plain(text),
                offset=offset,
                channel=channel,
            )
            into = rows if self.expected or self.version is not None else self.aside
            if into is rows or len(into) < _MOST_ASIDE:
                into.append(("violations", chosen(names, row)))

    def message(self, message: MessageRecord, lifecycle: Lifecycle) -> Row:
        assert self.message_rows is not None
        vhost = plain(lifecycle.vhost) if self.sides else None
        values = self.message_rows.write(message, self.label, self.version, self.protocol, vhost)
        return "messages", values

    def consumer(self, consumer: Consumer) -> Row:
        """Return the row of a consumer that has ended."""
        assert self.consumers is not None
        outcomes = consumer.outcomes
        row = ConsumersRow(
            connection=self.label,
            channel=consumer.channel,
            consumer=plain(consumer.name),
            handle=consumer.handle,
            queue=plain(consumer.queue),
            no_ack=consumer.no_ack,
            most=consumer.most,
            opened_ns=consumer.opened_ns,
            closed_ns=consumer.closed_ns,
            deliveries=consumer.deliveries,
            accepted=outcomes["accepted"],
            rejected=outcomes["rejected"],
            released=outcomes["released"],
            modified=outcomes["modified"],
            settled=outcomes["settled"],
            unsettled=consumer.unsettled,
            most_held=consumer.peak,
            no_room_ns=consumer.full_ns(0),
            longest_hold_ns=consumer.longest_ns,
        )
        return "consumers", chosen(self.consumers, row)

    def row(self, item: ConnectionEnd, lifecycle: Lifecycle, closed_ns: int | None) -> Row:
        """Return the connection's own row, at its end."""
        from .lifecycle import ConnectionRecord

        known = lifecycle.connection
        if not self.sides and self.protocol is not None:
            told = {name: getattr(known, name) for name in known.__match_args__ if name not in _OF_SIDES}
            known = ConnectionRecord(**told)
        start = self.start
        names = {side: label for label, side in self.sides.items()}
        client = names.get("client", start.client)
        server = names.get("server", start.server)
        end = lifecycle.end
        closed_by = known.closed_by
        if closed_by is None and closed_ns is not None and not lifecycle.connection.closed_by:
            closed_by = "transport"
        ended_by = item.how if item.by is None else f"{item.how} of the {self.sides.get(item.by, item.by)}"
        row = ConnectionsRow(
            connection=self.label,
            client=client,
            server=server,
            protocol=self.protocol,
            opened_ns=start.ts_ns,
            closed_ns=closed_ns,
            closed_by=closed_by,
            close_code=known.close_code,
            close_text=plain(known.close_text),
            client_product=plain(known.client_product),
            client_version=plain(known.client_version),
            mechanism=plain(known.mechanism),
            user=plain(known.user),
            vhost=plain(known.vhost),
            container=plain(known.container),
            bytes_client=None if client is None else self.counts[client],
            bytes_server=None if server is None else self.counts[server],
            gaps=self.gaps,
            complete=self.complete and item.complete,
            server_product=plain(known.server_product),
            server_version=plain(known.server_version),
            dialect=known.dialect or None,
            channel_max=known.channel_max,
            frame_max=known.frame_max,
            heartbeat=known.heartbeat,
            events=self.events,
            messages=lifecycle.counted,
            violations=self.violations,
            ended_by=ended_by,
            hint=plain(end.hint) or None,
            close_condition=plain(known.close_condition),
            server_container=plain(known.server_container),
            connection_name=plain(known.connection_name),
            cause=end.cause,
            roles_by=None if client is None else self.roles_by,
        )
        return "connections", chosen(self.tables["connections"], row)


def likely_client(start: ConnectionStart, servers: Collection[str], ports: Collection[int]) -> tuple[str | None, str]:
    """Return the end of a connection that is its client by what is known of the ends, and by what; None: nothing is.

    >>> start = ConnectionStart("id", None, None, "10.0.0.1:40000", "10.0.0.2:5672", 0, False)
    >>> likely_client(start, (), PORTS), likely_client(start, ["10.0.0.1:40000"], ()), likely_client(start, (), ())
    (('10.0.0.1:40000', 'port'), ('10.0.0.2:5672', 'capture'), (None, ''))
    """
    a, b = start.a, start.b
    for by, is_server in (
        ("capture", [end in servers for end in (a, b)]),
        ("port", [int(end.rpartition(":")[2]) in ports for end in (a, b)]),
    ):
        if is_server[0] is not is_server[1]:
            return (b if is_server[0] else a), by
    return None, ""


def servers_of(segments: Iterable[Segment | CaptureDamage]) -> frozenset[str]:
    """Return the endpoints that a SYN shows to be servers: those that it goes to, or that answer one.

    >>> servers_of([Segment(1_000, "a.pcap", 0, "10.0.0.1", 40000, "10.0.0.2", 5673, 100, 0, 2, 0, b"")])
    frozenset({'10.0.0.2:5673'})
    """
    found: set[tuple[str, int]] = set()
    for each in segments:
        if isinstance(each, Segment) and each.flags & SYN:
            found.add((each.src, each.sport) if each.flags & ACK else (each.dst, each.dport))
    return frozenset([endpoint(*each) for each in found])


def skew_of(seconds: float) -> int:
    """Return the `skew_ns` for a number of seconds. Raises ValueError if it is negative or more than a year.

    >>> skew_of(0.25)
    250000000
    """
    if not 0 <= seconds <= _YEAR:
        raise ValueError(f"clock_skew is from 0 to {_YEAR} seconds, not {seconds}")
    return round(seconds * 1e9)


__all__ = [
    "BODIES",
    "COLUMNS",
    "PORTS",
    "ROWS",
    "STATE_COLUMNS",
    "FlowReplay",
    "LiveReplay",
    "Row",
    "damage_row",
    "plain",
    "replay_flows",
    "replay_segments",
    "servers_of",
    "skew_of",
    "wanted_columns",
]
