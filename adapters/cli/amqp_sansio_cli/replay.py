"""`amqp-sansio replay`: the tables of captures, as rows on standard output or as Parquet."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from amqp_sansio.tables import skew_of

from .errors import CommandError, say
from .inputs import check_captures, find_inputs
from .output import csv_lines, json_lines, table_lines, write_lines
from .rows import LiveRows, LocalRows

if TYPE_CHECKING:
    from amqp_sansio_spark.tables import BodyMode


def replay_command(
    given: Sequence[str],
    *,
    table: str | None,
    form: str | None,
    body: BodyMode,
    engine: str,
    output: Path | None,
    clock_skew: float = 0.0,
    connections: Sequence[str] = (),
    clock_offset: str = "",
) -> int:
    """Replay the captures; return the exit status. Raises CommandError."""
    if engine == "spark":
        if output is None:
            raise CommandError("--engine spark wants --output DIR")
        if form is not None:
            raise CommandError("--format is for rows; --engine spark writes Parquet")
        if connections:
            raise CommandError("--connection is for rows; in Spark a query chooses them")
        if "-" in given:
            raise CommandError("--engine spark reads files, not standard input")
        return _replay_in_spark(
            given, table=table, body=body, output=output, clock_skew=clock_skew, clock_offset=clock_offset
        )
    if output is not None:
        raise CommandError("--output wants --engine spark")
    table = table or "events"
    live = list(given) == ["-"] and table != "histories" and not connections
    tables = ("messages", "events") if table == "histories" else (table,)
    # Events are many, so their lines are written straight; a row's connection is needed to choose some.
    lines = table == "events" and form in (None, "jsonl") and not connections
    rows = (LiveRows if live else LocalRows)(given, tables, body, clock_skew, clock_offset, connections, lines)
    wanted: Iterable[tuple[object, ...]]
    if table == "histories":
        from amqp_sansio.histories import steps_of

        wanted = steps_of(rows, skew_ns=skew_of(clock_skew))
    else:
        wanted = (row for name, row in rows if name == table)
    if lines:
        write_lines((str(line) for (line,) in wanted), escape=False, live=live)
    elif form == "table":
        write_lines(table_lines(table, wanted, sample=0) if live else table_lines(table, wanted), live=live)
    else:
        # CSV may have line ends in its values; JSON has no control characters.
        write_lines((csv_lines if form == "csv" else json_lines)(table, wanted), escape=False, live=live)
    if not rows.found:
        say(rows.encrypted.nothing(given))
    return 0


def _replay_in_spark(
    given: Sequence[str], *, table: str | None, body: BodyMode, output: Path, clock_skew: float, clock_offset: str
) -> int:
    files = find_inputs(given)
    check_captures(files)
    if output.exists() and (not output.is_dir() or any(output.iterdir())):
        raise CommandError(f"{output}: exists and isn't an empty folder")
    output.mkdir(parents=True, exist_ok=True)
    from .spark import write_tables

    paths = [file.path for file in files]
    counts, found = write_tables(paths, table, body, output, clock_skew=clock_skew, clock_offset=clock_offset)
    for name, count in counts.items():
        say(f"{count:,} rows in {output / name}")
    if not found:
        say(f"no AMQP in {', '.join(given)}")
    return 0
