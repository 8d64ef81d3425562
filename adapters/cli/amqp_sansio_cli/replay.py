"""`amqp-sansio replay`: the tables of captures, as rows on standard output or as Parquet."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from amqp_sansio.tables import replay_segments

from .errors import CommandError
from .inputs import check_captures, find_inputs, read_inputs
from .output import json_lines, table_lines, write_lines
from .progress import Progress


def replay_command(
    given: Sequence[str],
    *,
    table: str | None,
    form: str | None,
    body: str,
    engine: str,
    output: Path | None,
) -> int:
    """Replay the captures; returns the exit status. Raises CommandError."""
    if engine == "spark":
        if output is None:
            raise CommandError("--engine spark wants --output DIR")
        if form is not None:
            raise CommandError("--format is for rows; --engine spark writes Parquet")
        if "-" in given:
            raise CommandError("--engine spark reads files, not standard input")
        return _replay_in_spark(given, table=table, body=body, output=output)
    if output is not None:
        raise CommandError("--output wants --engine spark")
    rows = _Rows(given, table or "events", body)
    make = table_lines if form == "table" else json_lines
    write_lines(make(rows.table, rows))
    if not rows.connections:
        print(f"amqp-sansio: no AMQP in {', '.join(given)}", file=sys.stderr)
    return 0


class _Rows:
    """The rows of one table, which also counts connections: without any, there is no AMQP in the files.

    All segments are in memory at once, and are let go connection by connection: it takes about the
    size of the captures and 500 octets for each packet. `--engine spark` has no such bound.
    """

    def __init__(self, given: Sequence[str], table: str, body: str) -> None:
        self.table = table
        self.connections = 0
        self._files = find_inputs(given)
        self._body = body

    def __iter__(self) -> Iterator[tuple[object, ...]]:
        segments = read_inputs(self._files, Progress())
        tables = {self.table, "connections"}
        for table, row in replay_segments(segments, tables, body=self._body):
            if table == "connections":
                self.connections += 1
            if table == self.table:
                yield row


def _replay_in_spark(given: Sequence[str], *, table: str | None, body: str, output: Path) -> int:
    files = find_inputs(given)
    check_captures(files)
    if output.exists() and (not output.is_dir() or any(output.iterdir())):
        raise CommandError(f"{output}: exists and isn't an empty folder")
    from .spark import write_tables

    counts = write_tables([file.path for file in files], table, body, output)
    for name, count in counts.items():
        print(f"amqp-sansio: {count:,} rows in {output / name}", file=sys.stderr)
    if not counts.get("connections", 1):
        print(f"amqp-sansio: no AMQP in {', '.join(given)}", file=sys.stderr)
    return 0
