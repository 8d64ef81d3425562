"""Histories as spans of traces, by OpenTelemetry's conventions for messaging, and as lines of OTLP's JSON.

A history is a trace: the publish is its first span, which ends with its confirm or return; a delivery lasts until it is
settled, or its link, channel or connection ends; a settlement is a span of its own below the delivery; a dead letter is
one below the delivery that was rejected. A publish that forwards a message has a link to the trace of that message.
Identifiers are made of the history's, so that the same capture gives the same traces.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from itertools import islice
from typing import Any, Final, NamedTuple

from .columns import HISTORY_COLUMNS
from .matching import Step

INTERNAL: Final = 1
CLIENT: Final = 3
PRODUCER: Final = 4
CONSUMER: Final = 5
ERROR: Final = 2
"""The code of a status that says that something failed."""
_TOGETHER: Final = 512
"""Spans of a line."""
_PLACES: Final = {name: place for place, (name, _) in enumerate(HISTORY_COLUMNS)}
_DELIVERIES: Final = frozenset({"deliver", "redeliver", "get"})
_ENDS: Final = frozenset({"settle", "end"})
_ANSWERS: Final = ("return", "confirm")
_FAILED: Final = frozenset({"rejected", "returned", "released", "modified"})


class SpanLink(NamedTuple):
    """A span of this or another trace that a span has to do with."""

    trace_id: str
    span_id: str


class Span(NamedTuple):
    """A span. Identifiers are hexadecimal, times nanoseconds since 1970; `kind` is one of the numbers of OTLP."""

    trace_id: str
    span_id: str
    parent_span_id: str
    """Empty for the first of a trace."""
    name: str
    kind: int
    start_ns: int
    end_ns: int
    attributes: Mapping[str, str | int]
    links: tuple[SpanLink, ...] = ()
    error: str | None = None
    """What failed; None if nothing did."""
    connection: str = ""
    """The id of the connection that it was seen on."""


def spans_of(steps: Iterable[Step]) -> Iterator[Span]:
    """Yield the spans of histories, trace by trace, each in the order of time. The steps are held in memory.

    >>> list(spans_of([]))
    []
    """
    traces: dict[str, list[_Row]] = {}
    for step in steps:
        row = _Row(step)
        traces.setdefault(row.text("history"), []).append(row)
    for history, rows in traces.items():
        rows.sort(key=_Row.order)
        yield from _trace(history, rows)


def otlp_lines(spans: Iterable[Span], services: Mapping[str, str] | None = None) -> Iterator[str]:
    """Yield lines of JSON, each a whole `ExportTraceServiceRequest`, as OTLP's file exporter writes them.

    `services` has the name of the service for connections, by their ids; a connection's default is its id.

    >>> next(otlp_lines(spans_of([])), None)
    """
    left = iter(spans)
    names = services or {}
    while some := list(islice(left, _TOGETHER)):
        of: dict[str, list[Span]] = {}
        for span in some:
            of.setdefault(names.get(span.connection) or span.connection, []).append(span)
        resources = [
            {
                "resource": {"attributes": _attributes({"service.name": name})},
                "scopeSpans": [{"scope": {"name": "amqp_sansio"}, "spans": [_span(each) for each in together]}],
            }
            for name, together in of.items()
        ]
        yield json.dumps({"resourceSpans": resources}, separators=(",", ":"))


class _Row:
    """A step, by the names of its columns."""

    __slots__ = ("_step",)

    def __init__(self, step: Step) -> None:
        self._step = step

    def __getitem__(self, name: str) -> Any:
        return self._step[_PLACES[name]]

    def text(self, name: str) -> str:
        """Return the text of a column; an empty one for null."""
        value = self[name]
        return "" if value is None else str(value)

    def order(self) -> tuple[int, int]:
        """Return what steps are sorted by."""
        return self["ts_ns"], self["step"]

    @property
    def message(self) -> tuple[str, int]:
        """The row of `messages` that it belongs to: a delivery's settlement has the delivery's."""
        return self["connection"], self["seq"]


def _trace(history: str, rows: Sequence[_Row]) -> Iterator[Span]:
    """Yield the spans of one history."""
    trace_id = trace_id_of(history)
    ends = {row.message: row for row in rows if row["what"] in _ENDS}
    # A history has one publish. One that is returned is confirmed as well.
    answer = next((row for what in _ANSWERS for row in rows if row["what"] == what), None)
    published = ""
    """The span of the publish."""
    held: dict[tuple[str, int], str] = {}
    """The spans of deliveries, by their rows."""
    last = ""
    """The span of the delivery before."""
    for row in rows:
        what = row["what"]
        span_id = _span_id(history, row)
        if what == "publish":
            follows = row["follows"]
            links = [] if follows is None else [SpanLink(trace_id_of(follows), _first_span_id(follows))]
            yield _made(row, trace_id, _first_span_id(history), "", "publish", "send", PRODUCER, answer, links)
            published = _first_span_id(history)
        elif what in _DELIVERIES:
            links = [SpanLink(trace_id, each) for each in (published, last) if each]
            kind = "receive" if what == "get" else "process"
            yield _made(row, trace_id, span_id, published, what, kind, CONSUMER, ends.get(row.message), links)
            held[row.message] = last = span_id
        elif what == "settle":
            parent = held.get(row.message, published)
            yield _made(row, trace_id, span_id, parent, row.text("outcome") or "settle", "settle", CLIENT, row, [])
        elif what == "dead-letter":
            parent = last or published
            links = [SpanLink(trace_id, parent)] if parent else []
            yield _made(row, trace_id, span_id, parent, "dead-letter", "send", INTERNAL, row, links)


def trace_id_of(history: str) -> str:
    """Return the identifier of a history's trace."""
    return sha256(f"trace {history}".encode()).hexdigest()[:32]


def _first_span_id(history: str) -> str:
    """Return the identifier of the publish, which other traces can name without its row."""
    return sha256(f"span {history}".encode()).hexdigest()[:16]


def _span_id(history: str, row: _Row) -> str:
    return sha256(f"span {history} {row['step']}".encode()).hexdigest()[:16]


def _made(
    row: _Row,
    trace_id: str,
    span_id: str,
    parent: str,
    operation: str,
    kind: str,
    span_kind: int,
    end: _Row | None,
    links: Sequence[SpanLink],
) -> Span:
    where = row.text("queue") or row.text("exchange") or row.text("routing_key")
    outcome = None if end is None else end["outcome"]
    error = None
    if end is not None and (end["what"] == "return" or outcome in _FAILED):
        error = end.text("text") or str(outcome)
    known = {
        "messaging.system": "amqp",
        "messaging.operation.name": operation,
        "messaging.operation.type": kind,
        "messaging.destination.name": where,
        "messaging.message.id": row["message_id"],
        "messaging.message.conversation_id": row["correlation_id"],
        "messaging.message.body.size": row["body_size"],
        "messaging.rabbitmq.destination.routing_key": row["routing_key"],
        "network.protocol.name": "amqp",
        "network.protocol.version": row["protocol"],
        "amqp.connection": row["connection"],
        "amqp.channel": row["channel"],
        "amqp.seq": row["seq"],
        "amqp.vhost": row["vhost"],
        "amqp.outcome": outcome,
        "amqp.certainty": row["certainty"],
        "error.type": None if error is None else str(outcome or (end and end["what"])),
    }
    return Span(
        trace_id,
        span_id,
        parent,
        f"{operation} {where}" if where else operation,
        span_kind,
        row["ts_ns"],
        row["ts_ns"] if end is None else max(end["ts_ns"], row["ts_ns"]),
        {name: value for name, value in known.items() if value is not None},
        tuple(links),
        error,
        row.text("connection"),
    )


def _span(span: Span) -> dict[str, Any]:
    """Return a span in OTLP's JSON: identifiers are hexadecimal, integers of 64 bits are strings."""
    made: dict[str, Any] = {
        "traceId": span.trace_id,
        "spanId": span.span_id,
        "parentSpanId": span.parent_span_id,
        "name": span.name,
        "kind": span.kind,
        "startTimeUnixNano": str(span.start_ns),
        "endTimeUnixNano": str(span.end_ns),
        "attributes": _attributes(span.attributes),
        "links": [{"traceId": each.trace_id, "spanId": each.span_id} for each in span.links],
        "status": {} if span.error is None else {"code": ERROR, "message": span.error},
    }
    return {name: value for name, value in made.items() if value not in ("", [], {})}


def _attributes(values: Mapping[str, str | int]) -> list[dict[str, Any]]:
    return [
        {"key": name, "value": {"intValue": str(value)} if isinstance(value, int) else {"stringValue": value}}
        for name, value in values.items()
    ]


__all__ = ["CLIENT", "CONSUMER", "ERROR", "INTERNAL", "PRODUCER", "Span", "SpanLink", "otlp_lines", "spans_of"]
