"""`Report`: the page and the plots; and how to make them from segments in one process."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from copy import deepcopy
from functools import cached_property
from itertools import groupby
from typing import Any, Final

from amqp_sansio.capture import CaptureDamage, Segment, sort_key
from amqp_sansio.recorded.histories import EVENTS, steps_of
from amqp_sansio.recorded.tables import COLUMNS, PORTS, FlowReplay, LiveReplay, Row, damage_row, servers_of

from .charts import charts
from .gather import Gather
from .page import page
from .plots import plot
from .records import Bounds, Connection
from .sequence import Diagram, diagrams
from .text import Form, as_text

_SEGMENT: Final = 512
"""Approximate octets of a segment besides its payload."""
_GONE: Final = 100_000
_EVENT: Final = [name for name, _ in COLUMNS["events"]].index("event")


class Report:
    """A report as a page (`html`) and as single plots (`plot`). Notebooks display it."""

    def __init__(self, gather: Gather, diagrams: Sequence[Diagram] = ()) -> None:
        self.gather = gather
        """The facts, from which every page is drawn."""
        self.diagrams = tuple(diagrams)
        """Of the connections that are shown one by one."""

    @cached_property
    def html(self) -> str:
        """The page: an HTML document that loads nothing."""
        return page(self.gather, self.diagrams)

    def text(self, form: Form = "text") -> str:
        """Return the findings and tables of the page as Markdown ("md") or plain text, without charts and diagrams."""
        return as_text(self.html, form)

    @property
    def plots(self) -> list[str]:
        """The names of the plots with something to show."""
        return [name for name, chart in charts(self.gather).items() if not chart.empty]

    def plot(self, name: str) -> bytes:
        """Return a plot as PNG, by one of the names in `plots`.

        Raises ImportError without matplotlib, KeyError for an unknown name.
        """
        return plot(charts(self.gather)[name])

    def _repr_html_(self) -> str:
        """Return the page in an iframe, so that its styles and the notebook's don't interfere."""
        from .markup import element

        frame = element(
            "iframe",
            srcdoc=self.html,
            sandbox="allow-scripts",
            style="width:100%;height:900px;border:0",
            title="AMQP report",
        )
        return str(frame)

    def __repr__(self) -> str:
        gather = self.gather
        return f"<Report of {gather.connections:,} connections, {gather.events:,} events, {gather.messages:,} messages>"


def gather_segments(
    segments: Iterable[Segment | CaptureDamage],
    bounds: Bounds | None = None,
    *,
    wanted: Sequence[str] = (),
    skew_ns: int = 0,
    ports: Collection[int] = PORTS,
) -> Gather:
    """Collect a report's facts from segments of any number of flows and files, in any order; all are in memory at once.

    `skew_ns` is as for `amqp_sansio.recorded.tables.FlowReplay`.
    """
    gather = Gather(bounds, wanted=wanted)
    sortable: list[Segment] = []
    for segment in segments:
        if isinstance(segment, CaptureDamage):
            gather.add(*damage_row(segment))
        else:
            sortable.append(segment)
    sortable.sort(key=sort_key)
    joins = Joins(gather.bounds.joined)
    gather_flows(sortable, gather, joins, skew_ns=skew_ns, servers=servers_of(sortable), ports=ports)
    joins.finish(gather, skew_ns)
    return gather


def gather_flows(
    segments: Iterable[Segment],
    gather: Gather,
    joins: Joins | None = None,
    *,
    skew_ns: int = 0,
    servers: Collection[str] = (),
    ports: Collection[int] = PORTS,
) -> None:
    """Add segments in the order of `capture.sort_key`; their rows also go to `joins`."""
    for flow, some in groupby(segments, key=_flow):
        replay = FlowReplay(flow, skew_ns=skew_ns, servers=servers, ports=ports)
        in_flow = list(some)
        for segment in in_flow:
            gather.segment(segment)
        for rows in replay.push_all(in_flow):
            _add(rows, flow, gather, joins)
        _add(replay.finish(), flow, gather, joins)
        gather.pass_over(replay.passed)
    gather.clocks.finish()


class Joins:
    """The input of message histories, as long as there aren't too many messages."""

    def __init__(self, most: int) -> None:
        self._left = most
        """How many more messages there may be; below 0 there are too many."""
        self._rows: list[Row] = []
        """Of the messages, until then."""

    def add(self, table: str, row: tuple[Any, ...]) -> None:
        """Take a row of any table."""
        if table == "messages":
            self._left -= 1
            if self._left < 0:
                self._rows = []
        if self._left >= 0 and (table == "messages" or (table == "events" and row[_EVENT] in EVENTS)):
            self._rows.append((table, row))

    def finish(self, gather: Gather, skew_ns: int = 0) -> None:
        """Add the histories, or note that there are too many messages for them."""
        if self._left < 0:
            gather.unjoined = True
            return
        for step in steps_of(self._rows, skew_ns=skew_ns):
            gather.add("histories", step)


def _add(rows: Iterable[Row], flow: str, gather: Gather, joins: Joins | None) -> None:
    for table, row in rows:
        gather.add(table, row, flow)
        if joins is not None:
            joins.add(table, row)


def choose(gather: Gather) -> tuple[list[str], set[str]]:
    """Return the connections with sequence diagrams, and their flows: those requested, else the most interesting ones.

    A word means a connection by `records.is_meant`. Raises ValueError if one means none, or begins several ids.
    """
    details = list(gather.details)
    if gather.wanted:
        chosen = [one for word in gather.wanted for one in _those(word, details)]
    else:
        chosen = [one for one in details if one.protocol is not None][: gather.bounds.diagrams]
    ids = list(dict.fromkeys(one.connection for one in chosen))
    return ids, {one.flow for one in chosen}


def report_segments(
    segments: Iterable[Segment | CaptureDamage],
    bounds: Bounds | None = None,
    *,
    wanted: Sequence[str] = (),
    skew_ns: int = 0,
    ports: Collection[int] = PORTS,
) -> Report:
    """Make the report of segments of any number of flows and files, in any order; all are in memory at once.

    `wanted` are words for the connections to draw, such as the begin of an id, or a name; `skew_ns` is as for
    `amqp_sansio.recorded.tables.FlowReplay`. Raises ValueError as `choose` does.
    """
    held = list(segments)
    gather = gather_segments(held, bounds, wanted=wanted, skew_ns=skew_ns, ports=ports)
    chosen, flows = choose(gather)
    some = sorted((one for one in held if isinstance(one, Segment) and one.flow in flows), key=sort_key)
    servers = servers_of(held)
    return Report(gather, diagrams(some, chosen, gather.bounds, skew_ns=skew_ns, servers=servers, ports=ports))


class LiveReport:
    """The report of a capture that is being made; its segments come in the order of the capture.

    Memory doesn't grow with the capture: of the segments at most `octets` octets are kept for sequence diagrams, and
    the largest flows go first. The other arguments are as for `report_segments`.
    """

    def __init__(
        self,
        bounds: Bounds | None = None,
        *,
        wanted: Sequence[str] = (),
        skew_ns: int = 0,
        octets: int = 256 << 20,
        ports: Collection[int] = PORTS,
    ) -> None:
        gather = Gather(bounds, wanted=wanted)
        self._state = gather, Joins(gather.bounds.joined), LiveReplay(skew_ns=skew_ns, ports=ports)
        self._kept = _Kept(octets)
        self._skew_ns = skew_ns
        self._ports = ports

    def add(self, item: Segment | CaptureDamage) -> None:
        """Take the next of the capture."""
        gather, joins, live = self._state
        if isinstance(item, CaptureDamage):
            gather.add(*damage_row(item))
            return
        gather.segment(item)
        self._kept.add(item)
        for flow, rows in live.push(item):
            _add(rows, flow, gather, joins)

    def report(self) -> Report:
        """Make the report as if the capture ended here; more can follow. Raises ValueError as `choose` does."""
        gather, joins, live = deepcopy(self._state)
        for flow, rows in live.finish():
            _add(rows, flow, gather, joins)
        gather.pass_over(live.passed)
        gather.clocks.finish()
        joins.finish(gather, self._skew_ns)
        chosen, flows = choose(gather)
        some = sorted([one for flow in flows for one in self._kept.of(flow)], key=sort_key)
        return Report(gather, diagrams(some, chosen, gather.bounds, skew_ns=self._skew_ns, ports=self._ports))


class _Kept:
    """The segments of flows, within a number of octets."""

    def __init__(self, octets: int) -> None:
        self._octets = octets
        self._left = octets
        self._flows: dict[str, list[Segment]] = {}
        self._sizes: dict[str, int] = {}
        self._gone: set[str] = set()

    def add(self, segment: Segment) -> None:
        """Keep a segment, unless its flow has gone."""
        flow = segment.flow
        if flow in self._gone or len(self._gone) >= _GONE:
            return
        size = len(segment.payload) + _SEGMENT
        self._flows.setdefault(flow, []).append(segment)
        self._sizes[flow] = self._sizes.get(flow, 0) + size
        self._left -= size
        if self._left < 0:
            for largest in sorted(self._sizes, key=self._sizes.__getitem__, reverse=True):
                self._left += self._sizes.pop(largest)
                del self._flows[largest]
                self._gone.add(largest)
                if self._left >= self._octets // 8:
                    break

    def of(self, flow: str) -> list[Segment]:
        """Return the segments of a flow, all or none."""
        return self._flows.get(flow, [])


def _those(word: str, details: Sequence[Connection]) -> list[Connection]:
    found = [one for one in details if one.connection.startswith(word)]
    if len(found) == 1:
        return found
    if not found:
        found = [one for one in details if one.is_meant(word)]
        if found:
            return found
        raise ValueError(f"no connection has an id that begins with {word!r}, that address, name or product")
    names = ", ".join(one.connection for one in found[:4])
    raise ValueError(f"{word!r} begins the ids of several connections: {names}{', ...' if len(found) > 4 else ''}")


def _flow(segment: Segment) -> str:
    return segment.flow


__all__ = ["Joins", "LiveReport", "Report", "choose", "gather_flows", "gather_segments", "report_segments"]
