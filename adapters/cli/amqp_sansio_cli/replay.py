"""`amqp-sansio replay`: the tables of captures, as rows on standard output or in files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from amqp_sansio.recorded.tables import COLUMNS, Row, skew_of

from .errors import CommandError, say
from .inputs import check_captures, find_inputs
from .output import csv_lines, json_lines, table_lines, write_lines
from .rows import LiveRows, LocalRows, notes

if TYPE_CHECKING:
    from collections.abc import Mapping

    from amqp_sansio_arrow.whole import WholeTables
    from amqp_sansio_spark.tables import BodyMode

    from .writing import Target


def replay_command(
    given: Sequence[str],
    *,
    tables: Sequence[str],
    form: str | None,
    body: BodyMode,
    engine: str,
    output: str | None,
    clock_skew: float = 0.0,
    connections: Sequence[str] = (),
    ports: Sequence[int] = (),
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
            given,
            tables=tables,
            body=body,
            output=output,
            clock_skew=clock_skew,
            clock_offset=clock_offset,
            ports=ports,
        )
    files: Mapping[str, Target] = {}
    if output is not None:
        from .writing import targets

        files = targets(output, tables, form)
    elif len(tables) > 1:
        raise CommandError(f"{', '.join(tables)}: several tables want --output with a folder, whose name ends in /")
    elif form in ("parquet", "arrow"):
        raise CommandError(f"--format {form} wants --output")
    chosen = tuple(files) or tables or ("events",)
    straight = [table for table in chosen if table in COLUMNS]
    whole = None
    if len(straight) < len(chosen):
        from amqp_sansio_arrow.whole import WholeTables

        whole = WholeTables([table for table in chosen if table not in COLUMNS], skew_of(clock_skew))
    live = list(given) == ["-"] and whole is None and not connections
    # Events are many, so their lines are written straight; a row's connection is needed to choose some.
    lines = output is None and chosen == ("events",) and form in (None, "jsonl") and not connections
    rows = (LiveRows if live else LocalRows)(
        given, [*straight, *(whole.needs if whole else ())], body, clock_skew, clock_offset, connections, lines, ports
    )
    if files:
        from .writing import write_tables

        counts = write_tables(files, _wanted(rows, straight, whole), [file.path for file in rows.files])
        for table, count in counts.items():
            say(f"{count:,} rows in {files[table].path}")
    elif lines:
        # There are no rows of other tables.
        write_lines((line for _, (line,) in rows), escape=False, live=live)
    else:
        (table,) = chosen
        wanted = (values for _, values in _wanted(rows, straight, whole))
        if form == "table":
            write_lines(table_lines(table, wanted, sample=0) if live else table_lines(table, wanted), live=live)
        else:
            # CSV may have line ends in its values; JSON has no control characters.
            write_lines((csv_lines if form == "csv" else json_lines)(table, wanted), escape=False, live=live)
    for sentence in notes(rows.passed, rows.encrypted):
        say(sentence)
    if not rows.found:
        say(rows.encrypted.nothing(given))
    return 0


def _wanted(rows: Iterable[Row], straight: Sequence[str], whole: WholeTables | None) -> Iterator[Row]:
    """Yield the rows of the chosen tables, those of whole captures last."""
    if whole is None:
        # The rows of connections come with those of violations.
        yield from (row for row in rows if row[0] in straight)
        return
    for table, values in rows:
        if table in whole.needs:
            whole.add(table, values)
        if table in straight:
            yield table, values
    yield from whole.rows()


def _replay_in_spark(
    given: Sequence[str],
    *,
    tables: Sequence[str],
    body: BodyMode,
    output: str,
    clock_skew: float,
    clock_offset: str,
    ports: Sequence[int],
) -> int:
    from pathlib import Path

    files = find_inputs(given)
    check_captures(files)
    folder = Path(output)
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise CommandError(f"{folder}: exists and isn't an empty folder")
    is_new = not folder.exists()
    folder.mkdir(parents=True, exist_ok=True)
    from .spark import write_tables

    paths = [file.path for file in files]
    try:
        counts, found = write_tables(
            paths, tables, body, folder, clock_skew=clock_skew, clock_offset=clock_offset, ports=ports
        )
    except CommandError:
        if is_new:
            with suppress(OSError):  # Spark may have begun to write.
                folder.rmdir()
        raise
    for name, count in counts.items():
        say(f"{count:,} rows in {folder / name}")
    if not found:
        say(f"no AMQP in {', '.join(given)}")
    return 0
