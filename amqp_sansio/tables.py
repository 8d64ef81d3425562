"""Tables: segments of captured connections in, rows of events, messages, connections and violations out.

The local replay and Spark share this code. Rows are a pure function of the segments of a flow, in the order of
`capture.sort_key`; the distribution of flows over processes makes no difference.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from . import _json
from ._columns import BODIES, COLUMNS, STATE_COLUMNS
from .capture import (
    CaptureDamage,
    ConnectionEnd,
    ConnectionStart,
    Item,
    Reassembler,
    Segment,
    StreamDamage,
    StreamData,
    StreamGap,
)
from .capture.tcp import DEFAULT_GRACE_NS
from .endpoint import Side
from .errors import LocalProtocolError
from .events import NEED_DATA
from .json_lines import EventLines
from .lifecycle import Lifecycle
from .limits import Limits
from .observer import Identified, Observed, Observer, Skipped
from .observer import Violation as Broken
from .versions import AMQP_0_10

if TYPE_CHECKING:
    from .lifecycle import ConnectionRecord, MessageRecord
    from .versions import Version

_SCHEMA: Final = 4
_INT64_MAX: Final = (1 << 63) - 1
_YEAR: Final = 366 * 86_400
SILENCE: Final = "heartbeat timeout"
"""The begin of the hint of a connection that ended since a side was silent."""
_NEVER: Final = 1 << 66
_TIME: Final = attrgetter("ts_ns", "file", "packet")
"""The order of a flow's segments: that of `capture.sort_key`."""

Row: TypeAlias = tuple[str, tuple[Any, ...]]
"""The name of a table, and one value for each of its columns."""


class FlowReplay:
    """Rows from the segments of one flow (all connections of one 4-tuple, in sequence).

    Push the flow's segments in the order of `capture.sort_key`, then call `finish`. `tables` names the requested tables
    (None: all); rows of others aren't made, and cost next to nothing. `body` selects the fields of message bodies in
    events: "none", their "size", or also their octets ("base64"). With `secrets` the fields show the responses of the
    login; otherwise only their size. `skew_ns` is the largest difference between the clocks of files that have
    different packets of one connection (nanoseconds): missing octets are given up that much later. With `lines` a row
    of events has a single value, its line as `json_lines` writes it: that takes half of the time. Picklable at any
    point.

    >>> from amqp_sansio.capture import Segment
    >>> syn = Segment(1_000, "a.pcap", 0, "10.0.0.1", 40000, "10.0.0.2", 5672, 100, 0, 2, 0, b"")
    >>> replay = FlowReplay(syn.flow)
    >>> rows = replay.push(syn) + replay.finish()
    >>> [(name, len(values) == len(COLUMNS[name])) for name, values in rows]
    [('connections', True)]
    """

    __slots__ = ("_body", "_connections", "_limits", "_lines", "_ports", "_reassembler", "_secrets", "_tables", "flow")

    def __init__(
        self,
        flow: str,
        *,
        tables: Collection[str] | None = None,
        body: str = "size",
        secrets: bool = False,
        limits: Limits | None = None,
        skew_ns: int = 0,
        lines: bool = False,
    ) -> None:
        if skew_ns < 0:
            raise ValueError(f"skew_ns is at least 0, not {skew_ns}")
        if body not in BODIES:
            raise ValueError(f"body must be one of {', '.join(BODIES)}, not {body!r}")
        for name in tables or ():
            if name not in COLUMNS:
                raise ValueError(f"no table is called {name!r}; there are {', '.join(COLUMNS)}")
        self.flow = flow
        self._tables = tuple(COLUMNS) if tables is None else tuple(tables)
        self._ports: tuple[str, int, str, int, str] | None = None
        self._body = body
        self._secrets = secrets
        self._lines = lines
        self._limits = limits or Limits()
        self._reassembler = Reassembler(grace_ns=DEFAULT_GRACE_NS + skew_ns)
        self._connections: dict[str, _Connection] = {}

    def push(self, segment: Segment) -> list[Row]:
        """Take the next segment; return the rows complete now. Raises LocalProtocolError for one of another flow."""
        ports = (segment.src, segment.sport, segment.dst, segment.dport, segment.point)
        if ports != self._ports:
            if segment.flow != self.flow:
                raise LocalProtocolError(f"a segment of {segment.flow} in the replay of {self.flow}")
            self._ports = ports
        return self._fold(self._reassembler.push(segment))

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

    def _fold(self, items: list[Item]) -> list[Row]:
        rows: list[Row] = []
        for item in items:
            if isinstance(item, ConnectionStart):
                self._connections[item.connection] = _Connection(
                    item, self._tables, self._body, self._secrets, self._limits, self._lines
                )
                continue
            connection = self._connections[item.connection]
            if isinstance(item, StreamData):
                connection.data(item, rows)
            elif isinstance(item, StreamGap):
                connection.gap(item, rows)
            elif isinstance(item, StreamDamage):
                connection.damage(item, rows)
            else:
                connection.end(item, rows)
                del self._connections[item.connection]
        return rows

    def __getstate__(self) -> tuple[object, ...]:
        return (_SCHEMA, *[getattr(self, name) for name in self.__slots__])

    def __setstate__(self, state: tuple[object, ...]) -> None:
        if state[0] != _SCHEMA:
            raise LocalProtocolError(f"the state of a replay has schema {state[0]}, this release reads {_SCHEMA}")
        for name, value in zip(self.__slots__, state[1:], strict=True):
            setattr(self, name, value)


class LiveReplay:
    """Rows of the connections in a capture that is being made, as soon as they are known, in bounded memory.

    Push the segments in the order of the capture. The rows are those of `replay_segments`, except that a flow ends as
    at the end of a capture when it is silent for `idle_ns` of the capture's time (nanoseconds), or when there are more
    than `flows` of them and it is silent for longest. The other options are as for `FlowReplay`. Picklable at any
    point.

    >>> live = LiveReplay(tables=("events",))
    >>> live.finish()
    []
    """

    __slots__ = ("_due", "_flows", "_idle_ns", "_most", "_next_due", "_now", "_options", "_seen")

    def __init__(
        self,
        *,
        tables: Collection[str] | None = None,
        body: str = "size",
        secrets: bool = False,
        limits: Limits | None = None,
        skew_ns: int = 0,
        lines: bool = False,
        flows: int = 10_000,
        idle_ns: int = 3600 * 1_000_000_000,
    ) -> None:
        self._options: dict[str, Any] = {
            "tables": tables, "body": body, "secrets": secrets, "limits": limits, "skew_ns": skew_ns, "lines": lines
        }  # fmt: skip
        self._most = flows
        self._idle_ns = idle_ns
        self._now = 0
        # By name, the flow that is silent for longest first.
        self._flows: dict[str, FlowReplay] = {}
        self._seen: dict[str, int] = {}
        self._due: dict[str, int] = {}
        self._next_due = _NEVER

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
        return self._flows.pop(name).finish()


def replay_segments(
    segments: Iterable[Segment | CaptureDamage],
    *,
    tables: Collection[str] | None = None,
    body: str = "size",
    secrets: bool = False,
    limits: Limits | None = None,
    skew_ns: int = 0,
    lines: bool = False,
) -> Iterator[Row]:
    """Yield the rows of whole captures: segments of any number of flows and files, in any order.

    All segments are held in memory and sorted. Options as for `FlowReplay`.

    >>> list(replay_segments([]))
    []
    """
    flows: dict[str, list[Segment]] = {}
    ways: dict[tuple[str, int, str, int, str], list[Segment]] = {}
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
    for flow in sorted(flows):
        replay = FlowReplay(
            flow, tables=tables, body=body, secrets=secrets, limits=limits, skew_ns=skew_ns, lines=lines
        )
        for segment in sorted(flows[flow], key=_TIME):
            yield from replay.push(segment)
        yield from replay.finish()


def damage_row(damage: CaptureDamage) -> Row:
    """Return the row of `violations` for an unreadable part of a capture file; it belongs to no connection."""
    text = f"{damage.file}: {damage.text} (packet {damage.packet})"
    values = (None, None, damage.ts_ns, None, f"capture/{damage.kind}", "warning", plain(text))
    return "violations", (*values, damage.offset, None)


def plain(text: str | None) -> str | None:
    """Return text in a form that every consumer can take: surrogates for octets that aren't UTF-8 become `\\xNN`."""
    if text is None or text.isascii():
        return text
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


class _Connection:
    """One connection's observer, lifecycle and counts."""

    __slots__ = (
        "complete", "counts", "events", "fields", "gaps", "heard", "held", "label", "lifecycle", "lines", "observer",
        "protocol", "sides", "start", "violations", "with_connections", "with_events", "with_messages",
        "with_violations",
    )  # fmt: skip

    def __init__(
        self, start: ConnectionStart, tables: tuple[str, ...], body: str, secrets: bool, limits: Limits, lines: bool
    ) -> None:
        self.start = start
        self.with_events = "events" in tables
        self.with_messages = "messages" in tables
        self.with_violations = "violations" in tables
        self.with_connections = "connections" in tables
        self.fields = _json.FieldWriter(body, secrets)
        self.lines = EventLines(start.connection, self.fields) if lines else None
        self.observer = Observer(
            client=start.client,
            from_start=start.syn_seen,
            body="all" if body == "base64" else "hash" if self.with_messages else "size",
            limits=limits,
            records=self.with_messages or self.with_connections,
        )
        self.lifecycle: Lifecycle | None = None
        if self.with_messages or self.with_connections:
            self.lifecycle = Lifecycle(limits, messages=self.with_messages)
        self.protocol: str | None = None
        self.label = start.connection
        self.sides: dict[str, str] = {}
        self.held: list[tuple[str, tuple[Any, ...]]] = []
        self.counts = {start.a: 0, start.b: 0}
        self.heard = {start.a: start.ts_ns, start.b: start.ts_ns}
        self.gaps = 0
        self.events = 0
        self.violations = 0
        self.complete = True

    def data(self, item: StreamData, rows: list[Row]) -> None:
        self.counts[item.sender] += len(item.data)
        self.heard[item.sender] = item.ts_ns
        self.observer.receive_data(item.data, item.sender, item.ts_ns)
        self.take(rows)

    def gap(self, item: StreamGap, rows: list[Row]) -> None:
        self.gaps += 1
        self.complete = False
        self.observer.receive_gap(item.sender, item.octets, item.ts_ns)
        text = f"{item.octets} octets are missing ({item.reason})"
        self.held.append((item.sender, ("capture/gap", text, item.ts_ns, item.offset)))
        self.take(rows)

    def damage(self, item: StreamDamage, rows: list[Row]) -> None:
        self.complete = False
        self.held.append((item.sender, (f"capture/{item.kind}", item.text, item.ts_ns, None)))
        self.take(rows)

    def end(self, item: ConnectionEnd, rows: list[Row]) -> None:
        self.observer.finish(item.ts_ns)
        self.take(rows)
        self.report_held(rows)
        lifecycle = self.lifecycle
        if lifecycle is None:
            return
        for message in lifecycle.finish():
            if item.how != "end-of-capture" and message.outcome is None:
                message.ended_ns = item.ts_ns
            rows.append(self.message(message, lifecycle))
        if self.with_connections:
            rows.append(self.row(item, lifecycle))

    def take(self, rows: list[Row]) -> None:
        """Turn the observer's events into rows."""
        next_event, lifecycle, lines = self.observer.next_event, self.lifecycle, self.lines
        while (event := next_event()) is not NEED_DATA:
            if isinstance(event, Observed):
                self.events += 1
                if self.with_events:
                    rows.append(("events", self.event(event) if lines is None else (lines.write(event),)))
                if event.missing != 0 and event.unit == "partial":
                    self.partial(event, rows)
            elif isinstance(event, Identified):
                self.identified(event)
            elif isinstance(event, Skipped):
                self.skipped(event, rows)
            elif isinstance(event, Broken):
                self.violate(
                    event.seq, event.at_ns, event.sender.value, event.rule, event.severity, event.text,
                    event.offset, event.channel, rows,
                )  # fmt: skip
            if lifecycle is not None:
                for message in lifecycle.observe(event):  # type: ignore[arg-type]
                    rows.append(self.message(message, lifecycle))
        if self.held and self.sides:
            self.report_held(rows)

    def identified(self, event: Identified) -> None:
        self.protocol = _label(event.version)
        self.fields.forget()
        if self.lines is not None:
            self.lines.identify(self.protocol)
        if event.by != "guess":
            a, b = self.start.a, self.start.b
            client = event.client
            if client is None and event.server is not None:
                client = b if event.server == a else a
            if client is not None:
                self.sides = {client: "client", b if client == a else a: "server"}

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
            event.seq, event.at_ns, event.sender.value, "capture/partial-message", "warning", text,
            event.offset, event.channel, rows,
        )  # fmt: skip

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
        if not self.with_violations:
            return
        rows.append(("violations", (self.label, seq, ts_ns, sender, rule, severity, plain(text), offset, channel)))

    def event(self, event: Observed) -> tuple[Any, ...]:
        at_ns = event.at_ns
        return (
            self.label,
            event.seq,
            at_ns // 1000,
            at_ns,
            "client" if event.sender is Side.CLIENT else "server",
            self.protocol,
            event.channel,
            event.event,
            event.size,
            event.offset,
            self.fields.write(event),
            event.answers,
            event.unit,
        )

    def message(self, message: MessageRecord, lifecycle: Lifecycle) -> Row:
        headers = message.headers
        tag = message.tag
        return "messages", (
            self.label,
            message.ts_ns,
            _label(message.version),
            message.channel,
            message.kind,
            plain(message.exchange),
            plain(message.routing_key),
            plain(message.address),
            tag if tag is None or tag <= _INT64_MAX else None,
            plain(message.message_id),
            plain(message.correlation_id),
            plain(message.content_type),
            message.redelivered,
            min(message.body_size, _INT64_MAX),
            message.body_sha256,
            None if headers is None else _json.encode(headers),
            message.outcome,
            message.settled_ns,
            message.latency_ns,
            message.seq,
            message.settled_seq,
            message.sender.value,
            plain(message.queue),
            plain(message.consumer_tag),
            message.mandatory,
            message.code,
            plain(message.text),
            plain(message.link),
            plain(message.reply_to),
            message.ended_ns,
            plain(lifecycle.vhost),
        )

    def row(self, item: ConnectionEnd, lifecycle: Lifecycle) -> Row:
        """Return the connection's own row, at its end."""
        known = lifecycle.connection
        start = self.start
        names = {side: label for label, side in self.sides.items()}
        client = names.get("client", start.client)
        server = names.get("server", start.server)
        ended = item.how != "end-of-capture"
        closed_by = known.closed_by or ("transport" if ended else None)
        silent = self.silent(item, known)
        hint = silent or (known.hint if ended or known.closed_by else "")
        ended_by = item.how if item.by is None else f"{item.how} of the {self.sides.get(item.by, item.by)}"
        return "connections", (
            self.label,
            client,
            server,
            self.protocol,
            start.ts_ns,
            item.ts_ns if ended else None,
            closed_by,
            known.close_code,
            plain(known.close_text),
            plain(known.client_product),
            plain(known.client_version),
            plain(known.mechanism),
            plain(known.user),
            plain(known.vhost),
            plain(known.container),
            self.counts.get(client or start.a, 0),
            self.counts.get(server or start.b, 0),
            self.gaps,
            self.complete and item.complete,
            plain(known.server_product),
            plain(known.server_version),
            known.dialect or None,
            known.channel_max,
            known.frame_max,
            known.heartbeat,
            self.events,
            lifecycle.counted,
            self.violations,
            ended_by,
            plain(hint) or None,
            plain(known.close_condition),
            plain(known.server_container),
            plain(known.connection_name),
        )

    def silent(self, item: ConnectionEnd, known: ConnectionRecord) -> str:
        """Say that one side ended the connection since the other was silent for longer than agreed; "" if it didn't.

        Any octets are a sign of life (0-9-1 section 4.2.7, 0-10 part 1 section 9, 1.0 part 2 section 2.4.5).
        """
        by = known.closed_by or (None if item.by is None else self.sides.get(item.by))
        if by is None or (known.closed_by and known.close_code in (None, 0, 200) and not known.close_condition):
            return ""
        side, limit = ("client", known.client_timeout) if by == "server" else ("server", known.server_timeout)
        label = next((label for label, each in self.sides.items() if each == side), None)
        if limit is None or label is None:
            return ""
        quiet = (item.ts_ns if item.by_ns is None else item.by_ns) - self.heard[label]
        if quiet < limit * 1e9:
            return ""
        how = "its close" if known.closed_by else "a reset" if item.how == "rst" else "a FIN"
        return (
            f"{SILENCE}: the {side} sent nothing for {quiet / 1e9:.1f} s, {limit:g} s were agreed, and the {by} ended "
            f"the connection by {how}; usually a call blocks the thread or loop that sends the {side}'s heartbeats, or "
            "the network is gone"
        )


def skew_of(seconds: float) -> int:
    """Return the `skew_ns` for a number of seconds. Raises ValueError if it is negative or more than a year.

    >>> skew_of(0.25)
    250000000
    """
    if not 0 <= seconds <= _YEAR:
        raise ValueError(f"clock_skew is from 0 to {_YEAR} seconds, not {seconds}")
    return round(seconds * 1e9)


def _label(version: Version | None) -> str | None:
    return None if version is None else version.label


__all__ = [
    "BODIES",
    "COLUMNS",
    "SILENCE",
    "STATE_COLUMNS",
    "FlowReplay",
    "LiveReplay",
    "Row",
    "damage_row",
    "plain",
    "replay_segments",
    "skew_of",
]
