"""Charts as PNG, drawn by matplotlib if it is installed: `pip install 'amqp-sansio[plots]'`."""

# matplotlib doesn't type its keyword arguments.
# pyright: reportUnknownMemberType=false

from __future__ import annotations

from io import BytesIO
from math import ceil, log2
from typing import TYPE_CHECKING, Final

from amqp_sansio.recorded.ends import CAUSES

from .causes import cause_title
from .charts import BarChart, Chart, GanttChart, PictureChart, TimeChart, cloud_marks, value_text
from .measures import quarter, quarter_edge
from .scales import DURATION_MARKS, duration, time_marks, value_marks

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_INSTALL: Final = "plots need matplotlib: pip install 'amqp-sansio[plots]'"
_COLOURS: Final = {
    **{"c1": "#2262c6", "c2": "#0b8a7d", "c3": "#7a3fc4", "c4": "#c26a00", "c5": "#c62828", "c6": "#66748a"},
    **{
        "normal": "#8fa0b5",
        "client-error": "#d98200",
        "server-error": "#c62828",
        "refused": "#b8257f",
        "unreached": "#8a5a2b",
        "heartbeat": "#0b6fa4",
    },
    **{"transport": "#7a3fc4", "open": "#2262c6", "other": "#c3cad4", "blocked": "#e0a100"},
}
_WIDTH: Final = 11.0
_ROWS: Final = 60


def plot(chart: Chart) -> bytes:
    """Return the chart as a PNG. Raises ModuleNotFoundError without matplotlib."""
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] != "matplotlib":
            raise
        raise ModuleNotFoundError(_INSTALL, name="matplotlib") from error
    figure = _figure(chart)
    FigureCanvasAgg(figure)
    written = BytesIO()
    # Without the program's name and version the same chart gives the same file.
    figure.savefig(written, format="png", dpi=110, metadata={"Software": None})
    return written.getvalue()


def _figure(chart: Chart) -> Figure:
    from matplotlib.figure import Figure

    panes = len(chart.groups) if isinstance(chart, BarChart) else 1
    height = 3.4
    if isinstance(chart, BarChart):
        height = 1.0 + 1.6 * max(panes, 1)
    elif isinstance(chart, GanttChart):
        height = 1.2 + 0.24 * min(len(chart.rows), _ROWS)
    figure = Figure(figsize=(_WIDTH, height), layout="constrained")
    figure.suptitle(chart.title, fontsize=11)
    if chart.empty:
        figure.text(0.5, 0.5, "nothing to show", ha="center", va="center", color="#66748a")
        return figure
    if isinstance(chart, BarChart):
        for number, group in enumerate(chart.groups):
            axes = figure.add_subplot(panes, 1, number + 1)
            _bars(axes, chart, number)
            axes.set_title(f"{group.name} · {sum(count for _, _, count in group.bars):,}", fontsize=9, loc="left")
        return figure
    axes = figure.add_subplot(1, 1, 1)
    if isinstance(chart, TimeChart):
        _steps(axes, chart)
    elif isinstance(chart, PictureChart):
        _picture(axes, chart)
    else:
        _gantt(axes, chart)
    _time_axis(axes, chart.start_ns, chart.end_ns)
    return figure


def _time_axis(axes: Axes, start: int, end: int) -> None:
    """Format times, which are nanoseconds after the start because of a float's precision."""
    axes.set_xlim(0, end - start)
    marks = time_marks(start, end, 9)
    axes.set_xticks([at - start for at, _ in marks], [label for _, label in marks], fontsize=8)
    axes.tick_params(axis="y", labelsize=8)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)


def _steps(axes: Axes, chart: TimeChart) -> None:
    for line in chart.lines:
        if not line.points:
            continue
        xs = [0.0, *[float(at - chart.start_ns) for at, _ in line.points], float(chart.end_ns - chart.start_ns)]
        ys = [0.0, *[float(value) for _, value in line.points], float(line.points[-1][1])]
        colour = _COLOURS[line.colour]
        axes.step(xs, ys, where="post", color=colour, linewidth=1.2, label=line.name)
        if line.filled:
            axes.fill_between(xs, ys, step="post", color=colour, alpha=0.14)
    marks = value_marks(chart.most)
    axes.set_ylim(0, marks[-1])
    axes.set_yticks(marks, [value_text(mark, chart.unit) for mark in marks])
    axes.grid(axis="y", color="#e6eaf0")
    axes.legend(fontsize=8, frameon=False, loc="upper right")


def _bars(axes: Axes, chart: BarChart, number: int) -> None:
    group = chart.groups[number]
    every = [bar for one in chart.groups for bar in one.bars]
    low = log2(max(min(begin for begin, _, _ in every), 0.5))
    high = log2(max(end for _, end, _ in every))
    lefts = [log2(max(begin, 0.5)) for begin, _, _ in group.bars]
    widths = [log2(end) - left for (_, end, _), left in zip(group.bars, lefts, strict=True)]
    axes.bar(
        lefts,
        [count for _, _, count in group.bars],
        width=widths,
        align="edge",
        color=_COLOURS[group.colour],
        edgecolor="white",
        linewidth=0.6,
    )
    for step, (name, value) in enumerate(group.marks):
        place = log2(max(value, 0.5))
        axes.axvline(place, color="#1a2230", linewidth=0.8, linestyle=":")
        shown = f" {name} {value_text(value, chart.unit)}"
        axes.text(place, 0.95 - 0.16 * step, shown, transform=axes.get_xaxis_transform(), fontsize=8, va="top")
    marks = [mark for mark in chart.marks if low <= log2(max(mark, 0.5)) <= high]
    last = number == len(chart.groups) - 1
    axes.set_xlim(low, high)
    labels = [value_text(mark, chart.unit) if last else "" for mark in marks]
    axes.set_xticks([log2(max(mark, 0.5)) for mark in marks], labels, fontsize=8)
    axes.set_yticks([])
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)


def _picture(axes: Axes, chart: PictureChart) -> None:
    low, high = cloud_marks(chart)
    columns = ceil((chart.end_ns - chart.cells[0][0]) / chart.width_ns) + 1
    first = min(begin for begin, _, _ in chart.cells)
    grid = [[0.0] * columns for _ in range(high - low + 1)]
    for begin, value, count in chart.cells:
        grid[value - low][(begin - first) // chart.width_ns] = log2(count + 1)
    shift = float(first - chart.start_ns)
    box = (shift, shift + columns * chart.width_ns, low, high + 1)
    shown = [[value or float("nan") for value in row] for row in grid]
    axes.imshow(shown, origin="lower", aspect="auto", extent=box, cmap="YlGnBu", vmin=0, interpolation="nearest")
    marks = [mark for mark in DURATION_MARKS if low <= quarter(mark) <= high] or [quarter_edge(low)]
    axes.set_yticks([quarter(mark) for mark in marks], [duration(mark) for mark in marks])


def _gantt(axes: Axes, chart: GanttChart) -> None:
    from matplotlib.patches import Patch

    rows = chart.rows[:_ROWS]
    span = chart.end_ns - chart.start_ns
    for number, row in enumerate(rows):
        begin = row.start_ns - chart.start_ns
        axes.barh(number, max(row.end_ns - row.start_ns, span / 500), left=begin, height=0.6, color=_COLOURS[row.cause])
        for start, end in row.blocked:
            axes.barh(
                number, max(end - start, span / 500), left=start - chart.start_ns, height=0.6, color=_COLOURS["blocked"]
            )
        axes.plot(
            [at - chart.start_ns for at, _ in row.marks],
            [number] * len(row.marks),
            "o",
            color=_COLOURS["c5"],
            markersize=3,
        )
    axes.set_yticks(range(len(rows)), [row.label for row in rows])
    axes.set_ylim(len(rows) - 0.4, -0.6)
    there = {row.cause for row in rows}
    patches = [Patch(color=_COLOURS[cause], label=cause_title(cause)) for cause in CAUSES if cause in there]
    axes.legend(handles=patches, fontsize=7, frameon=False, loc="lower left", bbox_to_anchor=(0, 1), ncols=4)


__all__ = ["plot"]
