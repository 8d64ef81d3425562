"""Rows of the local engine, without other traffic if there is no AMQP."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence, Set
from typing import Any

from amqp_sansio.capture import CaptureDamage, Segment, clock_differences, sort_key
from amqp_sansio.tables import COLUMNS, LiveReplay, Row, damage_row, replay_segments, skew_of
from amqp_sansio_spark.clocks import parse_offsets

from .errors import CommandError
from .inputs import Encrypted, find_inputs, read_inputs, read_pipe
from .progress import Progress

_CONNECTION = 0
_NAMES = [name for name, _ in COLUMNS["connections"]]
_PROOFS = frozenset({"events", "messages"})
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


class LocalRows:
    """The rows of captures, as (table, values); rows of connections come with violations.

    All segments are in memory at once: that takes about the size of the captures and half a kilobyte for each packet.
    Connections other than AMQP's have rows only beside AMQP: captures without any have only rows about damage to the
    files. `connections` are words for the only ones wanted (`amqp_sansio_report.records.is_meant`). With `lines` a row
    of events is its JSON line. Raises CommandError if a file is unreadable, or a word means no connection, before the
    first row.
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
    ) -> None:
        self.found = False
        self.encrypted = Encrypted()
        self._segments: list[Segment | CaptureDamage] = []
        self._proves_itself = not _PROOFS.isdisjoint(tables)
        self._tables = {*tables} if self._proves_itself else {*tables, "connections"}
        self._files = find_inputs(given)
        self._body = body
        self._lines = lines
        self._clocks = parse_offsets(clock_offset)
        self._skew_ns = skew_of(clock_skew)
        self._wanted = connections
        self._held: list[Row] = []

    def __iter__(self) -> Iterator[Row]:
        self._segments = list(self.encrypted.watch(read_inputs(self._files, Progress(), self._clocks)))
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
        return replay_segments(self._segments, tables=tables, body=self._body, skew_ns=self._skew_ns, lines=self._lines)

    def advice(self) -> list[str]:
        """Return sentences for rows about segments that came too late: the clocks that differ."""
        from amqp_sansio_report.findings import apart, remedy, worst

        segments = sorted([each for each in self._segments if isinstance(each, Segment)], key=sort_key)
        differences = [each for each in clock_differences(segments) if each.skew_ns > self._skew_ns]
        return [f"{apart(each)}: {remedy(each)}" for each in worst(differences)]


class LiveRows(LocalRows):
    """The rows of the capture that comes through standard input, each as soon as it is known, in bounded memory."""

    def __iter__(self) -> Iterator[Row]:
        # Rows on a terminal are progress enough.
        progress = Progress(shown=not sys.stdout.isatty())
        # Wherever there is AMQP there are events, but not always messages.
        tables = self._tables if "events" in self._tables else {*self._tables, "connections"}
        live = LiveReplay(tables=tables, body=self._body, skew_ns=self._skew_ns, lines=self._lines)
        for item in self.encrypted.watch(read_pipe(progress, self._clocks)):
            if isinstance(item, Segment):
                for _, rows in live.push(item):
                    yield from self._with_amqp(rows)
                del self._held[:-_MOST_HELD]
            elif "violations" in self._tables:
                yield damage_row(item)
        for _, rows in live.finish():
            yield from self._with_amqp(rows)
