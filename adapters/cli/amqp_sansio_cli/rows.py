"""Rows of the local engine, without other traffic if there is no AMQP."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from itertools import chain
from typing import Any

from amqp_sansio.capture import CaptureDamage, Segment
from amqp_sansio.capture.clocks import Clocks
from amqp_sansio.recorded.tables import COLUMNS, PORTS, LiveReplay, Row, damage_row, replay_flows, skew_of
from amqp_sansio_arrow.clocks import parse_offsets
from amqp_sansio_arrow.sorting import SortedSegments

from .errors import CommandError
from .inputs import Encrypted, find_inputs, read_inputs, read_pipe
from .progress import Progress

_CONNECTION = 0
_NAMES = [name for name, _ in COLUMNS["connections"]]
_PROOFS = frozenset({"events", "messages", "consumers"})
"""Tables whose rows come of AMQP only; without any, the connections tell whether there is AMQP."""
_PROTOCOL = _NAMES.index("protocol")
_MOST_HELD = 10_000
"""Rows that wait in a live capture for the first AMQP; the oldest go first."""


def choose_connections(
    words: Sequence[str], rows: Iterable[tuple[str, tuple[object, ...]]]
) -> dict[str, dict[str, Any]]:
    """Return the rows of the connections that the words mean, by their ids. Raises CommandError if one means none."""
    from amqp_sansio_report.records import is_meant

    known: list[dict[str, Any]] = [dict(zip(_NAMES, row, strict=True)) for table, row in rows if table == "connections"]
    chosen: dict[str, dict[str, Any]] = {}
    for word in words:
        columns = ("connection", "client", "connection_name", "client_product")
        found = [row for row in known if is_meant(word, *[row[name] for name in columns])]
        if not found:
            raise CommandError(f"no connection has an id that begins with {word!r}, that address, name or product")
        chosen.update({row["connection"]: row for row in found})
    return chosen


def passed_over(passed: Mapping[str, int]) -> list[str]:
    """Return the sentence about connections that aren't AMQP, if there are any."""
    if not passed:
        return []
    number = sum(passed.values())
    kinds = ", ".join(f"{count:,} {name}" for name, count in sorted(passed.items(), key=lambda one: (-one[1], one[0])))
    what = "1 connection that isn't AMQP" if number == 1 else f"{number:,} connections that aren't AMQP"
    return [f"passed over {what} ({kinds}); --port names a port of AMQP"]


def notes(passed: Mapping[str, int], encrypted: Encrypted) -> list[str]:
    """Return the sentences about the captures themselves: what was passed over, and what is there twice."""
    return [*passed_over(passed), *encrypted.twice()]


class LocalRows:
    """The rows of captures, as (table, values); rows of connections come with violations.

    Segments are sorted in bounded memory: what is too much waits in a temporary file.
    Connections other than AMQP's have rows only beside AMQP: captures without any have only rows about damage to the
    files. `passed` counts the connections that have no rows since they aren't AMQP, by their protocols; servers on the
    `ports` are AMQP's. `connections` are words for the only ones wanted (`amqp_sansio_report.records.is_meant`). With
    `lines` a row of events is its JSON line. Raises CommandError if a file is unreadable, or a word means no
    connection, before the first row.
    """

    def __init__(
        self,
        given: Sequence[str],
        tables: Sequence[str],
        body: str = "size",
        clock_skew: float = 0.0,
        clock_offset: str = "",
        connections: Sequence[str] = (),
        lines: bool = False,
        ports: Sequence[int] = (),
    ) -> None:
        self.found = False
        """Whether there was a connection of AMQP."""
        self.passed: dict[str, int] = {}
        """Connections that have no rows since they aren't AMQP, by their protocols."""
        self._ports = frozenset((*PORTS, *ports))
        """Of servers that speak AMQP."""
        self.encrypted = Encrypted()
        """Connections of TLS, and those that are there twice."""
        self._segments = SortedSegments()
        """In the order of flow and time, in bounded memory."""
        self._damages: list[CaptureDamage] = []
        """Of the files, which come as rows too."""
        self._proves_itself = not _PROOFS.isdisjoint(tables)
        """Whether the wanted tables show that a connection is AMQP."""
        self._tables = {*tables} if self._proves_itself else {*tables, "connections"}
        """Those that are made."""
        self.files = find_inputs(given)
        """What the arguments name."""
        self._body = body
        """How much of bodies is shown."""
        self._lines = lines
        """Whether a row of events is its JSON line."""
        self._clocks = parse_offsets(clock_offset)
        """By file, how wrong its clock is."""
        self._skew_ns = skew_of(clock_skew)
        """How much the clocks of files differ."""
        self._wanted = connections
        """Words for the only connections that are wanted."""
        self._held: list[Row] = []
        """Rows of connections that wait until there is AMQP."""

    def __iter__(self) -> Iterator[Row]:
        for item in self.encrypted.watch(read_inputs(self.files, Progress(), self._clocks)):
            if isinstance(item, Segment):
                self._segments.add(item)
            else:
                self._damages.append(item)
        chosen = choose_connections(self._wanted, self._replay({"connections"})) if self._wanted else None
        rows = self._replay(self._tables)
        yield from self._with_amqp(rows if chosen is None else (row for row in rows if row[1][_CONNECTION] in chosen))
        if self._proves_itself and not self.found:
            connections = self._replay({"connections"})
            self.found = any(row[_PROTOCOL] is not None for _, row in connections)

    def _with_amqp(self, rows: Iterable[Row]) -> Iterator[Row]:
        """Yield rows; those of connections, and of violations in them, wait until there is AMQP."""
        rows = iter(rows)
        for table, row in rows:
            if not self.found:
                if table in ("connections", "violations") and row[_CONNECTION] is not None:
                    self._held.append((table, row))
                    if table != "connections" or row[_PROTOCOL] is None:
                        continue
                    self.found = True
                elif table in _PROOFS:
                    self.found = True
                if self.found:
                    yield from self._held
                    self._held = []
                    if table == "connections":
                        continue
            yield table, row
            if self.found:
                yield from rows

    def _replay(self, tables: Set[str]) -> Iterator[Row]:
        self.passed = {}
        if "violations" in tables:
            yield from map(damage_row, self._damages)
        yield from replay_flows(
            self._segments.flows(),
            tables=tables,
            body=self._body,
            skew_ns=self._skew_ns,
            lines=self._lines,
            servers=self._segments.servers,
            ports=self._ports,
            passed=self.passed,
        )

    def refusals(self) -> Iterator[dict[str, object]]:
        """Yield, as rows of violations, the first requests to nodes of services (`$cbs`, `$management`) that were
        refused; the rule is the answer that says so. Reads the captures again.
        """
        from amqp_sansio_report.gather import ANSWER, Gather
        from amqp_sansio_report.report import gather_flows

        gather = Gather()
        segments = chain.from_iterable(flow for _, flow in self._segments.flows())
        servers, ports = self._segments.servers, self._ports
        gather_flows(segments, gather, skew_ns=self._skew_ns, servers=servers, ports=ports)
        for each in gather.problems.items():
            if each.what.startswith(ANSWER):
                yield {
                    "connection": each.connection,
                    "ts_ns": each.ts_ns,
                    "sender": "server",
                    "rule": each.what,
                    "severity": "warning",
                    "text": f"{each.text}: {each.hint}" if each.hint else each.text,
                    "offset": None,
                }

    def advice(self) -> list[str]:
        """Return sentences for rows about segments that came too late, or never: the clocks that differ."""
        from amqp_sansio_report.findings import apart, remedy, worst

        clocks, sides = Clocks(), Clocks()
        for _, segments in self._segments.flows():
            for segment in segments:
                clocks.segment(segment)
                # A file may be merged of what both ends captured: then the packets of each have another clock.
                sides.segment(_of_sender(segment))
        differences = [each for each in clocks.differences() if each.skew_ns > self._skew_ns]
        if differences:
            return [f"{apart(each)}: {remedy(each)}" for each in worst(differences)]
        skews = [each.skew_ns for each in sides.differences() if each.skew_ns > self._skew_ns]
        if not skews:
            return []
        seconds = f"{-(-max(skews) // 1_000_000) / 1000:g}"
        return [
            f"the packets of the two sides of a connection have clocks that differ by {seconds} s: "
            f"use --clock-skew {seconds}"
        ]


def _of_sender(segment: Segment) -> Segment:
    """Return the segment as one of a capture of its sender's own."""
    file = f"{segment.file} {segment.src} {segment.sport}"
    values = (segment.ts_ns, file, segment.packet, segment.src, segment.sport, segment.dst, segment.dport)
    rest = (segment.seq, segment.ack, segment.flags, segment.wire_len, b"", segment.point)
    return Segment(*values, *rest)


class LiveRows(LocalRows):
    """The rows of the capture that comes through standard input, each as soon as it is known, in bounded memory."""

    def __iter__(self) -> Iterator[Row]:
        # Rows on a terminal are progress enough.
        progress = Progress(shown=not sys.stdout.isatty())
        # Wherever there is AMQP there are events, but not always messages.
        tables = self._tables if "events" in self._tables else {*self._tables, "connections"}
        live = LiveReplay(tables=tables, body=self._body, skew_ns=self._skew_ns, lines=self._lines, ports=self._ports)
        for item in self.encrypted.watch(read_pipe(progress, self._clocks)):
            if isinstance(item, Segment):
                for _, rows in live.push(item):
                    yield from self._with_amqp(rows)
                del self._held[:-_MOST_HELD]
            elif "violations" in self._tables:
                yield damage_row(item)
        for _, rows in live.finish():
            yield from self._with_amqp(rows)
        self.passed = live.passed
