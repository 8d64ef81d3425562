"""Charts as HTML: SVG shapes that stretch to any width, beside texts that don't."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import log2
from typing import Final

from amqp_sansio.recorded.ends import CAUSES

from .causes import cause_title
from .charts import BarChart, BarGroup, Chart, GanttChart, GanttRow, PictureChart, TimeChart, cloud_marks, value_text
from .markup import Markup, data, element, join, number
from .measures import quarter, quarter_edge
from .scales import DURATION_MARKS, clock, count, duration, share, time_marks, value_marks

WIDTH: Final = 1000
HEIGHT: Final = 200
_EDGE: Final = 0.13
"""The part of a plot's width that half a label takes on a phone."""
_ROWS: Final = 30
"""Rows of a Gantt chart before the rest is folded."""


def render(chart: Chart, name: str) -> Markup:
    """Return the chart as a figure with the id `chart-NAME`; empty if there is nothing to draw."""
    if chart.empty:
        return Markup("")
    if isinstance(chart, TimeChart):
        return _time_chart(chart, name)
    if isinstance(chart, BarChart):
        return _bar_chart(chart, name)
    if isinstance(chart, PictureChart):
        return _picture(chart, name)
    return _gantt(chart, name)


def _figure(name: str, title: str, legend: Iterable[tuple[str, str]], body: Markup, note: str, **more: str) -> Markup:
    entries = join(
        element("span", element("i", class_=f"key {colour}"), text_, class_="entry") for colour, text_ in legend
    )
    caption = element("figcaption", element("b", title), element("span", entries, class_="legend"))
    notes = element("p", note, class_="note") if note else None
    return element("figure", caption, body, notes, class_="chart", id=f"chart-{name}", **more)


def _svg(*shapes: Markup) -> Markup:
    return element("svg", *shapes, viewBox=f"0 0 {WIDTH} {HEIGHT}", preserveAspectRatio="none", aria_hidden="true")


def _time_chart(chart: TimeChart, name: str) -> Markup:
    start, span = chart.start_ns, chart.end_ns - chart.start_ns
    marks = value_marks(chart.most)
    top = marks[-1]
    shapes: list[Markup] = _grid([value / top for value in marks])
    series: list[list[object]] = []
    for line in chart.lines:
        if not line.points:
            continue
        points = [(_within((at - start) * WIDTH / span), value) for at, value in line.points]
        path = _steps(points, top)
        if line.filled:
            shapes.append(element("path", class_=f"area {line.colour}", d=f"{path}V{HEIGHT}H0Z"))
        shapes.append(element("path", class_=f"line {line.colour}", d=path))
        series.append([line.name, line.colour, [[round(x, 2), value] for x, value in points]])
    labels = [
        element("span", value_text(value, chart.unit), class_="y", style=f"bottom:{number(value * 100 / top)}%")
        for value in marks[1:]
    ]
    plot = element("div", _svg(*shapes), *labels, class_="plot")
    told = {"t0": [start // 1_000_000_000, start % 1_000_000_000], "span": span, "unit": chart.unit, "lines": series}
    legend = [(line.colour, line.name) for line in chart.lines if line.points]
    body = join([plot, _time_axis(start, chart.end_ns)])
    return _figure(
        name, chart.title, legend, body, chart.note, data_lines=data(told), role="img", aria_label=chart.title
    )


def _within(x: float) -> float:
    return min(max(x, 0.0), float(WIDTH))


def _steps(points: Sequence[tuple[float, float]], top: float) -> str:
    """Return a path of steps from the left edge to the right one."""
    parts = [f"M0,{HEIGHT}"]
    for x, value in points:
        parts.append(f"H{number(x)}V{number(HEIGHT - value * HEIGHT / top)}")
    parts.append(f"H{WIDTH}")
    return "".join(parts)


def _grid(shares: Iterable[float]) -> list[Markup]:
    return [
        element("line", class_="grid", x1=0, x2=WIDTH, y1=HEIGHT * (1 - share_), y2=HEIGHT * (1 - share_))
        for share_ in shares
    ]


def _time_axis(start: int, end: int) -> Markup:
    marks = time_marks(start, end)
    return _axis([((at - start) / (end - start), label) for at, label in marks])


def _axis(marks: Sequence[tuple[float, str]]) -> Markup:
    """Return labels below a plot; every other one is hidden on narrow pages."""
    return element(
        "div",
        *[
            element(
                "span", label, class_=_edge(place, "minor" if number_ % 2 else ""), style=f"left:{number(place * 100)}%"
            )
            for number_, (place, label) in enumerate(marks)
        ],
        class_="axis",
    )


def _edge(place: float, name: str) -> str | None:
    """Return the alignment of labels at the edges, inwards."""
    edge = "first" if place < _EDGE else "last" if place > 1 - _EDGE else ""
    return " ".join(part for part in (name, edge) if part) or None


def _log_place(value: float, low: float, high: float) -> float:
    return (log2(max(value, 0.5)) - low) / (high - low)


def _bar_chart(chart: BarChart, name: str) -> Markup:
    bars = [bar for group in chart.groups for bar in group.bars]
    low = log2(max(min(begin for begin, _, _ in bars), 0.5))
    high = log2(max(end for _, end, _ in bars))
    plots = [_bar_plot(group, low, high, chart.unit) for group in chart.groups if group.bars]
    marks = [mark for mark in chart.marks if low <= log2(max(mark, 0.5)) <= high]
    while len(marks) > 8:
        marks = marks[::2]
    axis = _axis([(_log_place(mark, low, high), value_text(mark, chart.unit)) for mark in marks])
    legend = [(group.colour, group.name) for group in chart.groups]
    return _figure(name, chart.title, legend, join([*plots, axis]), chart.note)


def _bar_plot(group: BarGroup, low: float, high: float, unit: str) -> Markup:
    most = max(amount for _, _, amount in group.bars)
    whole = sum(amount for _, _, amount in group.bars)
    shapes: list[Markup] = _grid([0])
    for begin, end, amount in group.bars:
        left = _log_place(begin, low, high) * WIDTH
        right = _log_place(end, low, high) * WIDTH
        height = max(amount * (HEIGHT - 20) / most, 2)
        values = "0" if end == 1 else f"{value_text(begin, unit)} to {value_text(end, unit)}"
        tip = f"{group.name}\n{values}\n{count(amount)} of {count(whole)} ({share(amount, whole)})"
        shapes.append(
            element(
                "rect",
                class_=f"bar {group.colour}",
                x=left,
                y=HEIGHT - height,
                width=right - left,
                height=height,
                data_tip=tip,
            )
        )
    words = [f"{group.name} · {count(whole)}"]
    for text, value in group.marks:
        place = min(max(_log_place(value, low, high), 0), 1)
        words.append(f"{text} {value_text(value, unit)}")
        shapes.append(
            element("line", class_="quantile", x1=place * WIDTH, x2=place * WIDTH, y1=0, y2=HEIGHT, data_tip=words[-1])
        )
    # The quantiles stand above the plot, where no bar is behind them.
    title = element("div", *[element("span", each) for each in words], class_="title")
    return join([title, element("div", _svg(*shapes), class_="plot bars")])


def _picture(chart: PictureChart, name: str) -> Markup:
    start, span = chart.start_ns, chart.end_ns - chart.start_ns
    low, high = cloud_marks(chart)
    most = max(amount for _, _, amount in chart.cells)
    rows = high - low + 1
    shapes: list[Markup] = []
    for begin, value, amount in chart.cells:
        left = _within((begin - start) * WIDTH / span)
        right = _within((begin + chart.width_ns - start) * WIDTH / span)
        shade = 0.18 + 0.82 * log2(amount + 1) / log2(most + 1)
        shapes.append(
            element(
                "rect",
                class_="cell",
                x=left,
                y=HEIGHT * (high - value) / rows,
                width=max(right - left, 3),
                height=HEIGHT / rows,
                fill_opacity=round(shade, 2),
                data_n=amount,
                data_q=value,
            )
        )
    marks = [mark for mark in DURATION_MARKS if low <= quarter(mark) <= high]
    labels = [
        element("span", duration(mark), class_="y", style=f"bottom:{number((quarter(mark) - low) * 100 / rows)}%")
        for mark in marks
    ]
    if not labels:
        labels = [element("span", duration(quarter_edge(low)), class_="y", style="bottom:0")]
    plot = element("div", _svg(*shapes), *labels, class_="plot")
    told = {"t0": [start // 1_000_000_000, start % 1_000_000_000], "span": span}
    body = join([plot, _time_axis(start, chart.end_ns)])
    return _figure(name, chart.title, [("c2", "darker: more often")], body, chart.note, data_cloud=data(told))


def _gantt(chart: GanttChart, name: str) -> Markup:
    rows = [_gantt_row(row, chart.start_ns, chart.end_ns) for row in chart.rows]
    body = join(rows[:_ROWS])
    if len(rows) > _ROWS:
        rest = element("summary", f"{len(rows) - _ROWS:,} more")
        body = join([body, element("details", rest, *rows[_ROWS:])])
    there = {row.cause for row in chart.rows}
    legend = [(f"cause-{cause}", cause_title(cause)) for cause in CAUSES if cause in there]
    if any(row.blocked for row in chart.rows):
        legend.append(("blocked", "blocked by the server"))
    if any(row.marks for row in chart.rows):
        legend.append(("mark", "a problem"))
    axis = element("div", _time_axis(chart.start_ns, chart.end_ns), class_="gantt-axis")
    return _figure(name, chart.title, legend, element("div", axis, body, class_="gantt"), chart.note)


def _gantt_row(row: GanttRow, start: int, end: int) -> Markup:
    span = end - start

    def place(begin: int, stop: int) -> str:
        left = _within((begin - start) * WIDTH / span) / 10
        right = _within((stop - start) * WIDTH / span) / 10
        return f"left:{number(left)}%;width:{number(right - left)}%"

    tip = (
        f"{row.label} → {row.server}\n{row.about}\n{clock(row.start_ns)} to {clock(row.end_ns)} UTC, "
        f"{duration(row.end_ns - row.start_ns)}\n{row.ending}"
    )
    marks: list[Markup] = [
        element("i", class_=f"life cause-{row.cause}", style=place(row.start_ns, row.end_ns), data_tip=tip)
    ]
    for begin, stop in row.blocked:
        tip = f"blocked by the server for {duration(stop - begin)}"
        marks.append(element("i", class_="blocked", style=place(begin, stop), data_tip=tip))
    for at, problem in row.marks:
        marks.append(element("i", class_="mark", style=place(at, at), data_tip=f"{clock(at)} {problem}"))
    bad = row.cause not in ("normal", "open", "other")
    return element(
        "div",
        element(
            "div", element("span", row.label, class_="ends"), element("span", row.about, class_="about"), class_="label"
        ),
        element(
            "div",
            element("div", *marks, class_="track"),
            element("div", row.ending, class_="ending") if bad else None,
            class_="time",
        ),
        class_="row",
        data_connection=row.connection,
    )


__all__ = ["render"]
