"""One self-contained page of HTML about one or several runs: a matrix of rules, and each case with its diagrams."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from amqp_sansio.capture import Segment, read_segments, sort_key
from amqp_sansio_report import Bounds, Diagram, diagrams, document
from amqp_sansio_report.markup import Markup, element, join
from amqp_sansio_report.page import asset, ladder, section

from .recording import recording_of
from .records import Record
from .reports import MARKS, badge
from .running import Connection
from .verdicts import Verdict

BOUNDS: Final = Bounds(frames=40, octets=96)
"""Units of a diagram, and octets of a frame: a page has hundreds of diagrams."""
DIAGRAM: Final = 30_000
"""Characters of a diagram's data."""
DIAGRAMS: Final = 6_000_000
"""Characters of all diagrams' data; with more of them each has less."""
OCTETS: Final = 256
"""Octets of one piece that stand in the text."""
PIECES: Final = 24
"""Pieces of one connection that stand in the text."""
UNITS: Final = 40
"""Names of units of one side that stand in the text."""

_STYLE: Final = """
table.matrix { border-collapse: collapse; font-size: .87rem; width: auto; min-width: 60%; }
.matrix th, .matrix td { text-align: left; padding: .2rem .7rem; vertical-align: top; }
.matrix th, .matrix td { border-bottom: 1px solid var(--rule); }
.matrix tbody th { font-weight: 400; overflow-wrap: anywhere; }
.matrix tr.part th { font-weight: 600; padding-top: 1rem; }
.matrix td.count { text-align: right; font-variant-numeric: tabular-nums; }
.v { display: inline-block; border-radius: 4px; padding: 0 .45rem; color: var(--dim); }
a.v { color: inherit; }
.v.conforms, .v.other-code { background: color-mix(in srgb, var(--c2) 16%, transparent); }
.v.informational, .v.not-run, .v.inconclusive { background: var(--panel); }
.v.non-strict, .v.documented { background: var(--warn-bg); }
.v.unclean, .v.unstable { background: var(--warn-bg); font-weight: 600; }
.v.breaks, .v.harmed { background: var(--bad-bg); color: var(--c5); font-weight: 600; }
details.case { border-bottom: 1px solid var(--rule); padding: .25rem 0; }
details.case > summary { cursor: pointer; overflow-wrap: anywhere; }
details.case .body { overflow-wrap: anywhere; padding: .2rem 0 1rem 1.1rem; scroll-margin-top: 5rem; }
details.case h4 { margin: .9rem 0 .2rem; }
details.case pre { white-space: pre-wrap; overflow-wrap: anywhere; }
details.case pre { background: var(--panel); padding: .5rem; font-size: .78rem; }
"""


class Run(NamedTuple):
    """One column of the matrix: who was tested, and what came of it. `about` says where and how, for people.

    `ended` says why the run couldn't begin, or didn't get to its end; "" if it did.
    """

    peer: str
    records: Sequence[Record]
    about: str = ""
    ended: str = ""


class _Cell(NamedTuple):
    record: Record
    names: tuple[str, ...]
    """The ids of its diagrams."""
    told: Markup


def runs_of(files: Iterable[tuple[str, Sequence[Record]]]) -> list[Run]:
    """Return a column for each peer of each file; peers of one name are told apart by the names of the files."""
    found: list[tuple[str, str, list[Record]]] = []
    for name, records in files:
        peers: dict[str, list[Record]] = {}
        for each in records:
            peers.setdefault(each.peer, []).append(each)
        found += [(peer, name, some) for peer, some in peers.items()]
    counts = Counter([peer for peer, _, _ in found])
    return [Run(peer if counts[peer] == 1 else f"{peer} ({name})", some, f"From {name}") for peer, name, some in found]


def matrix_page(runs: Sequence[Run]) -> str:
    """Return the page of these runs side by side. It loads nothing; all text of peers is escaped."""
    cases = _cases(runs)
    by_run = [{each.case: each for each in run.records} for run in runs]
    all_connections = sum(len(each.connections) for run in runs for each in run.records)
    budget = min(DIAGRAM, DIAGRAMS // max(all_connections, 1))
    drawn: list[dict[str, object]] = []
    cells: dict[tuple[str, int], _Cell] = {}
    for place, case in enumerate(cases):
        for number, known in enumerate(by_run):
            if (record := known.get(case)) is not None:
                cells[case, number] = _cell(record, runs[number].peer, f"{place}-{number}", budget, drawn)
    names = {case: f"case-{place}" for place, case in enumerate(cases)}
    parts = [
        element("header", element("h1", "AMQP probe"), *_badges(runs)),
        section("counts", "Verdicts", _counts(runs)),
        section("matrix", "Rules", element("p", _EXPLAINED, class_="note"), _matrix(runs, names, cells)),
        section("cases", "Cases", *[_case(case, names[case], runs, cells) for case in cases]),
    ]
    links = [("counts", "Verdicts"), ("matrix", "Rules"), ("cases", "Cases")]
    if drawn:
        links.append(("sequence", "Diagrams"))
        words = "Who sent what when, in each case. Choose a line to see its fields and octets."
        parts.append(section("sequence", "Sequence diagrams", *ladder(words, drawn)))
    title = f"AMQP probe: {', '.join([run.peer for run in runs]) or 'nobody'}"
    return document(title, links, parts, asset("report.js"), style=_STYLE)


_EXPLAINED: Final = (
    "A verdict leads to its case: the rule, what was sent, what came, and the sequence diagram. "
    "Without a verdict the case wasn't chosen in that run, or the run ended before it."
)


def _cases(runs: Sequence[Run]) -> list[str]:
    """Return the names of all cases, those of a part together, in the order in which they first come."""
    names = list(dict.fromkeys([each.case for run in runs for each in run.records]))
    parts: dict[str, list[str]] = {}
    for name in names:
        parts.setdefault(_part(name), []).append(name)
    return [name for part in parts.values() for name in part]


def _part(case: str) -> str:
    return " ".join(case.split("/")[:2])


def _badges(runs: Sequence[Run]) -> list[Markup]:
    lines: list[Markup] = []
    for run in runs:
        lines.append(element("p", element("b", badge(run.peer, run.records))))
        if run.ended:
            lines.append(element("p", element("span", run.ended, class_="v harmed")))
        if run.about:
            lines.append(element("p", run.about, class_="when"))
    return lines


def _counts(runs: Sequence[Run]) -> Markup:
    head = element("tr", element("th", "Verdict"), *[element("th", run.peer) for run in runs])
    rows: list[Markup] = []
    for verdict in Verdict:
        numbers = [sum(each.verdict is verdict for each in run.records) for run in runs]
        if any(numbers):
            counts = [element("td", str(number) if number else "", class_="count") for number in numbers]
            rows.append(element("tr", element("th", _verdict(verdict, verdict.value)), *counts))
    return _table(head, rows)


def _matrix(runs: Sequence[Run], names: Mapping[str, str], cells: Mapping[tuple[str, int], _Cell]) -> Markup:
    head = element("tr", element("th", "Rule"), element("th", "Level"), *[element("th", run.peer) for run in runs])
    rows: list[Markup] = []
    part = ""
    for case, name in names.items():
        if _part(case) != part:
            part = _part(case)
            rows.append(element("tr", element("th", part, colspan=str(len(runs) + 2)), class_="part"))
        told = [cells.get((case, number)) for number in range(len(runs))]
        level = next(each.record.level for each in told if each is not None)
        row = [
            element(
                "td", None if each is None else _verdict(each.record.verdict, MARKS[each.record.verdict], f"#{name}")
            )
            for each in told
        ]
        rows.append(element("tr", element("th", case.split("/", 2)[-1]), element("td", level), *row))
    return _table(head, rows)


def _table(head: Markup, rows: Sequence[Markup]) -> Markup:
    table = element("table", element("thead", head), element("tbody", *rows), class_="matrix")
    return element("div", table, class_="table")


def _verdict(verdict: Verdict, text: str, link: str | None = None) -> Markup:
    kind = f"v {verdict.name.lower().replace('_', '-')}"
    return element("span" if link is None else "a", text, class_=kind, href=link)


def _case(case: str, name: str, runs: Sequence[Run], cells: Mapping[tuple[str, int], _Cell]) -> Markup:
    told = [(run.peer, cells[case, number]) for number, run in enumerate(runs) if (case, number) in cells]
    record = told[0][1].record
    verdicts = join([_verdict(cell.record.verdict, MARKS[cell.record.verdict]) for _, cell in told], " ")
    return element(
        "details",
        element("summary", case, " ", verdicts),
        element(
            "div",
            element("p", f"Rule ({record.level}): {record.clause}"),
            element("p", f"Expected: {record.expected}"),
            *[part for peer, cell in told for part in _told(peer, cell)],
            class_="body",
            id=name,
        ),
        class_="case",
    )


def _told(peer: str, cell: _Cell) -> list[Markup]:
    record = cell.record
    parts = [
        element("h4", peer, ": ", _verdict(record.verdict, record.verdict.value)),
        element("p", f"Seen: {record.seen}"),
    ]
    if record.note:
        parts.append(element("p", record.note))
    if record.strict is not record.verdict:
        parts.append(element("p", f"Without the profile: {record.strict.value}."))
    links = [
        element(
            "a", "sequence diagram" if len(cell.names) == 1 else f"diagram of connection {number}", href=f"#seq-{name}"
        )
        for number, name in enumerate(cell.names, 1)
    ]
    if record.recording:
        links.append(element("span", "recording, for Wireshark: ", element("code", record.recording)))
    if links:
        parts.append(element("p", join(links, " · ")))
    return [*parts, cell.told]


def _cell(record: Record, peer: str, place: str, budget: int, drawn: list[dict[str, object]]) -> _Cell:
    names: list[str] = []
    told: list[Markup] = []
    for number, connection in enumerate(record.connections):
        if not connection.pieces:
            continue
        name = f"{place}-{number}"
        diagram = diagram_of(connection)
        if diagram is not None:
            diagram.connection = name
            diagram.name = f"{record.case} · {peer}"
            drawn.append(diagram.data(budget))
            names.append(name)
        told.append(_said(number + 1, connection, diagram))
    return _Cell(record, tuple(names), join(told))


def diagram_of(connection: Connection) -> Diagram | None:
    """Return the sequence diagram of a connection; None if its octets begin no connection of AMQP."""
    segments = [each for each in read_segments(recording_of([connection])) if isinstance(each, Segment)]
    segments.sort(key=sort_key)
    return next(iter(diagrams(segments, None, BOUNDS)), None)


def _said(number: int, connection: Connection, diagram: Diagram | None) -> Markup:
    """Return what both sides sent: by the names of the units, and the first octets."""
    lines: list[Markup] = []
    if diagram is not None:
        for sender, words in (("client", "The client sent"), ("server", "The server sent")):
            units = [each.event for each in diagram.units if each.sender == sender]
            names = [*units[:UNITS], "..."] if len(units) > UNITS else units
            if odd := _unread(connection, diagram, sender):
                names = [*names, f"{odd:,} octets that form no unit"]
            lines.append(element("p", f"{words}: {', '.join(names) or 'nothing'}."))
    pieces = [f"{each.sender:<6}  {_octets(each.octets)}" for each in connection.pieces[:PIECES]]
    if len(connection.pieces) > PIECES:
        pieces.append(f"... {len(connection.pieces) - PIECES:,} more")
    if connection.how_it_ended:
        pieces.append(f"the connection is {connection.how_it_ended}")
    heading = element("summary", f"Octets of connection {number}, {connection.local} to {connection.remote}")
    lines.append(element("details", heading, element("pre", "\n".join(pieces))))
    return join(lines)


def _unread(connection: Connection, diagram: Diagram, sender: str) -> int:
    """Return the octets of a side that aren't in its units; 0 where units are left out of the diagram."""
    if len(diagram.units) < diagram.total:
        return 0
    sent = sum(len(each.octets) for each in connection.pieces if each.sender == sender)
    return max(sent - sum(each.size for each in diagram.units if each.sender == sender), 0)


def _octets(octets: bytes) -> str:
    more = f" ... {len(octets):,} octets" if len(octets) > OCTETS else ""
    return octets[:OCTETS].hex(" ", 4) + more


__all__ = ["Run", "diagram_of", "matrix_page", "runs_of"]
