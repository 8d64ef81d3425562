"""The charts of a report as values, independent of how they are drawn.

All times are nanoseconds since 1970.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from amqp_sansio.recorded.histories.places import queue_at

from .causes import cause_title
from .measures import Histogram, Series, edges, rates, width_for
from .scales import DURATION_MARKS, OCTET_MARKS, count, duration, octets

if TYPE_CHECKING:
    from .backlog import Backlog
    from .gather import Gather
    from .records import Connection, Holder

BINS: Final = 300
"""Most steps of a chart of rates."""
_POINTS: Final = 600
_QUEUES: Final = 3
"""Most queues whose backlog is drawn."""
_PICTURE: Final = 260
QUANTILES: Final = ((0.5, "p50"), (0.95, "p95"), (0.99, "p99"))


@dataclass
class Line:
    """Values that hold from their time until the next one's."""

    name: str
    colour: str
    points: list[tuple[int, float]]
    filled: bool = False


@dataclass
class TimeChart:
    """Steps over time. `unit` is "count", "octets" or "duration"."""

    title: str
    start_ns: int
    end_ns: int
    lines: list[Line]
    unit: str = "count"
    note: str = ""

    @property
    def most(self) -> float:
        """The largest value."""
        return max([value for line in self.lines for _, value in line.points], default=0)

    @property
    def empty(self) -> bool:
        """Whether there is nothing to draw."""
        return not any(value for line in self.lines for _, value in line.points)


@dataclass
class BarGroup:
    """One histogram of several in a chart."""

    name: str
    colour: str
    bars: list[tuple[int, int, int]]
    """Begin and end of a bucket, and its count."""
    marks: list[tuple[str, int]] = field(default_factory=list[tuple[str, int]])


@dataclass
class BarChart:
    """Histograms over a logarithmic scale. `unit` is that of the scale."""

    title: str
    groups: list[BarGroup]
    unit: str
    marks: Sequence[int]
    note: str = ""

    @property
    def empty(self) -> bool:
        """Whether there is nothing to draw."""
        return not any(group.bars for group in self.groups)


@dataclass
class PictureChart:
    """A heat map: counts in cells of time and value, darker for higher counts."""

    title: str
    start_ns: int
    end_ns: int
    width_ns: int
    cells: list[tuple[int, int, int]]
    """Begin of the step, number of the bucket (`measures.quarter`), count."""
    unit: str = "duration"
    note: str = ""

    @property
    def empty(self) -> bool:
        """Whether there is nothing to draw."""
        return not self.cells


@dataclass
class GanttRow:
    """The lifetime of a connection."""

    connection: str
    label: str
    about: str
    server: str
    start_ns: int
    end_ns: int
    cause: str
    ending: str
    blocked: list[tuple[int, int]]
    marks: list[tuple[int, str]]


@dataclass
class GanttChart:
    """Connections from their beginning to their end."""

    title: str
    start_ns: int
    end_ns: int
    rows: list[GanttRow]
    note: str = ""

    @property
    def empty(self) -> bool:
        """Whether there is nothing to draw."""
        return not self.rows


Chart = TimeChart | BarChart | PictureChart | GanttChart

KIND_COLOURS: Final[Mapping[str, str]] = {"publish": "c1", "deliver": "c2", "get": "c3", "return": "c4"}
LATENCY_TITLES: Final[Mapping[str, str]] = {
    "publish": "publish → confirm",
    "deliver": "deliver → settle",
    "path": "publish → deliver",
    "call": "request → answer",
}


def charts(gather: Gather) -> dict[str, Chart]:
    """Return all charts by name, including those with nothing to draw."""
    start, end = span(gather)
    found: dict[str, Chart] = {
        "connections": _gantt(gather, start, end),
        "open": TimeChart(
            "Open connections and channels",
            start,
            end,
            [
                _level("connections", "c1", gather.open_connections, filled=True),
                _level("channels or sessions", "c2", gather.open_channels),
            ],
        ),
        "messages": _rates(
            gather,
            "Messages",
            {kind: (KIND_COLOURS[kind], series) for kind, series in gather.messages_over_time.items()},
        ),
        "octets": _rates(
            gather,
            "AMQP octets",
            {
                "from clients": ("c1", gather.octets_over_time["client"]),
                "from servers": ("c2", gather.octets_over_time["server"]),
            },
            unit="octets",
        ),
        "unsettled": TimeChart(
            "Unsettled",
            start,
            end,
            [
                _level("deliveries not settled", "c2", gather.unsettled_deliveries, filled=True),
                _level("publishes not confirmed", "c1", gather.unconfirmed_publishes),
            ],
        ),
        "redeliveries": _rates(gather, "Redeliveries", {"redelivered": ("c4", gather.redelivered_over_time)}),
        "problems": _rates(gather, "Problems", {"errors, violations, bad ends": ("c5", gather.problems_over_time)}),
        "churn": _rates(
            gather, "Connections opened and lost", {"opened": ("c1", gather.opened), "ended badly": ("c5", gather.lost)}
        ),
        "blocked": TimeChart(
            "Connections blocked by the server",
            start,
            end,
            [_level("blocked", "c4", gather.blocked_connections, filled=True)],
        ),
        "latency": BarChart(
            "Latencies",
            [
                _bars(LATENCY_TITLES[name], colour, gather.latencies[name])
                for name, colour in (("publish", "c1"), ("deliver", "c2"), ("path", "c3"), ("call", "c6"))
                if gather.latencies[name].count
            ],
            "duration",
            DURATION_MARKS,
        ),
        "sizes": BarChart(
            "Message sizes",
            [
                _bars(kind, KIND_COLOURS[kind], gather.sizes[kind], fine=False)
                for kind in ("publish", "deliver", "get")
                if gather.sizes[kind].count
            ],
            "octets",
            (0, *OCTET_MARKS),
        ),
    }
    for name, title in LATENCY_TITLES.items():
        found[f"latency-{name}"] = _picture(gather, name, f"{title} over time", start, end)
    for number, (queue, backlog) in enumerate(slow_queues(gather)):
        found[f"backlog-{number + 1}"] = TimeChart(
            f"Queue {queue}",
            start,
            end,
            [
                _line("ready, at least", "c4", backlog.levels(), filled=True),
                _level("published", "c1", backlog.published),
                _level("delivered", "c2", backlog.delivered),
            ],
        )
    for number, holder in enumerate(gather.holders):
        found[f"holder-{number + 1}"] = holder_chart(holder, start, end)
    return found


def slow_queues(gather: Gather) -> list[tuple[str, Backlog]]:
    """Return the queues of the consumers that were without room for longest, with their backlogs if these are known."""
    names = dict.fromkeys(queue_at(holder.source) for holder in gather.slow if holder.source)
    known = [(name, gather.backlogs.get(name)) for name in names]
    return [(name, backlog) for name, backlog in known if backlog is not None][:_QUEUES]


def span(gather: Gather) -> tuple[int, int]:
    """Return the time span of charts: that of the capture, at least a microsecond."""
    start = gather.first_ns or 0
    return start, max(start + 1000, gather.last_ns or 0)


def holder_chart(holder: Holder, start_ns: int, end_ns: int) -> TimeChart:
    """Return the chart of a consumer's held and possible deliveries."""
    lines = [_level("held", "c2", holder.held, filled=True)]
    if holder.limit:
        lines.append(_level(holder.limit, "c4", holder.window))
    return TimeChart(f"{holder.source} — {holder.name} · {holder.client}", start_ns, end_ns, lines)


def connection_words(connection: Connection) -> str:
    """Return a text on how a connection ended."""
    parts = [cause_title(connection.cause)]
    if connection.bad or connection.cause == "other":
        if connection.code is not None:
            parts.append(str(connection.code))
        if connection.text:
            parts.append(connection.text)
        elif connection.cause == "transport":
            parts.append(connection.ended_by)
    return " · ".join(parts)


def value_text(value: float, unit: str) -> str:
    """A value in its unit."""
    if unit == "octets":
        return octets(value)
    return duration(value) if unit == "duration" else count(value)


def _level(name: str, colour: str, series: Series, *, filled: bool = False) -> Line:
    return _line(name, colour, series.levels(), filled=filled)


def _line(name: str, colour: str, points: list[tuple[int, int]], *, filled: bool = False) -> Line:
    if len(points) > _POINTS:
        points = _thin(points, -(-len(points) // (_POINTS // 2)))
    return Line(name, colour, list(points), filled)


def _thin(points: list[tuple[int, int]], size: int) -> list[tuple[int, int]]:
    """Return, for every group of neighbouring points, the largest and the last one."""
    kept: list[tuple[int, int]] = []
    for begin in range(0, len(points), size):
        some = points[begin : begin + size]
        largest = max(some, key=lambda point: point[1])
        kept += [largest, some[-1]] if largest is not some[-1] else [largest]
    return kept


def _rates(gather: Gather, title: str, series: Mapping[str, tuple[str, Series]], *, unit: str = "count") -> TimeChart:
    start, end = span(gather)
    shown = {name: (colour, one) for name, (colour, one) in series.items() if one.cells}
    width = width_for(end - start, BINS, [one for _, one in shown.values()])
    lines: list[Line] = []
    for name, (colour, one) in shown.items():
        steps = rates(one, width)
        points: list[tuple[int, float]] = []
        for index in sorted(steps):
            if points and points[-1][0] < index * width:
                points.append((points[-1][0], 0))
            points += [(index * width, steps[index]), ((index + 1) * width, 0)]
        lines.append(Line(name, colour, _steps(points), filled=True))
    return TimeChart(f"{title} per {duration(width)}", start, end, lines, unit)


def _steps(points: list[tuple[int, float]]) -> list[tuple[int, float]]:
    """Return one value for each time: the last one."""
    return list(dict(points).items())


def _bars(name: str, colour: str, histogram: Histogram, *, fine: bool = True) -> BarGroup:
    """Return buckets of half a power of two, or of a power of two; the first one is 0 alone."""
    counts: dict[tuple[int, int], int] = {}
    for index, amount in histogram.counts.items():
        low, _ = edges(index)
        if low == 0:
            place = (0, 1)
        else:
            shift = low.bit_length() - 1
            half = low >= 3 << shift >> 1
            if not fine or shift == 0:
                place = (1 << shift, 2 << shift)
            else:
                place = (3 << shift >> 1, 2 << shift) if half else (1 << shift, 3 << shift >> 1)
        counts[place] = counts.get(place, 0) + amount
    marks: list[tuple[str, int]] = []
    for part, text in QUANTILES:
        value = histogram.quantile(part)
        if value is not None:
            marks.append((text, value))
    return BarGroup(name, colour, [(*place, counts[place]) for place in sorted(counts)], marks)


def _picture(gather: Gather, name: str, title: str, start: int, end: int) -> PictureChart:
    cloud = gather.latencies_over_time[name]
    width = width_for(end - start, _PICTURE, [cloud])
    ratio = width // cloud.width
    cells: dict[tuple[int, int], int] = {}
    for (index, value), amount in cloud.cells.items():
        key = (index // ratio, value)
        cells[key] = cells.get(key, 0) + amount
    found = [(index * width, value, cells[index, value]) for index, value in sorted(cells)]
    return PictureChart(title, start, end, width, found)


def _gantt(gather: Gather, start: int, end: int) -> GanttChart:
    rows = [
        GanttRow(
            one.connection,
            one.label,
            " · ".join(part for part in (one.protocol or "not AMQP", one.product, one.user, one.vhost) if part),
            one.server,
            one.opened_ns,
            max(one.ended_ns, one.opened_ns),
            one.cause,
            connection_words(one),
            one.blocked,
            one.marks,
        )
        for one in sorted(gather.details, key=lambda one: (one.opened_ns, one.connection))
    ]
    note = ""
    if gather.details.cut:
        note = f"{len(rows):,} of {gather.details.count:,} connections: those with the most to tell."
    return GanttChart("Connections", start, end, rows, note)


def cloud_marks(chart: PictureChart) -> tuple[int, int]:
    """Return the first and the last bucket of a picture."""
    values = [value for _, value, _ in chart.cells]
    return min(values), max(values)


__all__ = [
    "BINS",
    "KIND_COLOURS",
    "LATENCY_TITLES",
    "QUANTILES",
    "BarChart",
    "BarGroup",
    "Chart",
    "GanttChart",
    "GanttRow",
    "Line",
    "PictureChart",
    "TimeChart",
    "charts",
    "cloud_marks",
    "connection_words",
    "holder_chart",
    "span",
    "value_text",
]
