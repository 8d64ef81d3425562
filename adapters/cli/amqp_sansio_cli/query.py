"""`amqp-sansio query`: SQL over the tables of captures, in DuckDB."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from datetime import datetime
from itertools import chain
from typing import TYPE_CHECKING, Any, Final

from amqp_sansio.capture import NotACapture
from amqp_sansio.client.settings import nearest
from amqp_sansio.printing import printable

from .errors import CommandError, describe, say
from .inputs import find_inputs
from .output import Heading, align, csv_rows, write_lines

if TYPE_CHECKING:
    import duckdb

_AT_ONCE: Final = 1000
"""Rows that are taken from the result at a time."""
_NO_TABLE: Final = re.compile(r"Catalog Error: Table with name (\S+) does not exist!")
"""DuckDB's sentence, behind which it names the nearest of its own tables."""


def query_command(
    sql: str,
    given: Sequence[str],
    *,
    form: str,
    clock_skew: float = 0.0,
    clock_offset: str = "",
    file: str | None = None,
) -> int:
    """Print the result of a query, or of the worked query of that name; return the exit status. Raises CommandError."""
    if "-" in given:
        raise CommandError("query reads files, not standard input")
    try:
        import duckdb

        from amqp_sansio_arrow.database import VIEWS, database, named_in
        from amqp_sansio_arrow.queries import QUERIES
        from amqp_sansio_arrow.whole import TABLES
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] not in ("duckdb", "pyarrow"):
            raise
        raise CommandError(
            f"query needs {error.name.partition('.')[0]}: pip install 'amqp-sansio[arrow]' duckdb"
        ) from None
    if sql in QUERIES:
        sql = QUERIES[sql].sql
    elif not any(each.isspace() for each in sql.strip()):
        raise CommandError(f"{sql!r} is neither SQL nor a worked query: {', '.join(QUERIES)}")
    paths = [each.path for each in find_inputs(given)]
    names = None if file is not None else named_in(sql)
    try:
        with database(paths, names, file=file, clock_skew=clock_skew, clock_offset=clock_offset) as connection:
            result = connection.execute(sql)
            write_lines(_LINES[form](result), escape=form == "table")
    except duckdb.Error as error:
        missing = _NO_TABLE.match(str(error))
        if missing is not None:
            raise CommandError(f"there is no table {missing[1]!r}{nearest(missing[1], (*TABLES, *VIEWS))}") from None
        raise CommandError(f"DuckDB: {_first_lines(str(error))}") from None
    except (NotACapture, FileExistsError) as error:
        raise CommandError(describe(error)) from None
    if file is not None:
        say(f"the tables are in {file}: duckdb {file}")
    return 0


def _rows(result: duckdb.DuckDBPyConnection) -> Iterator[tuple[Any, ...]]:
    while rows := result.fetchmany(_AT_ONCE):
        yield from rows


def _names(result: duckdb.DuckDBPyConnection) -> list[str]:
    return [str(each[0]) for each in result.description or ()]


def _table(result: duckdb.DuckDBPyConnection) -> Iterator[str]:
    headings = [
        Heading(name, right=str(each[1]) in _NUMBERS, least=12)
        for name, each in zip(_names(result), result.description or (), strict=True)
    ]
    cells = ([printable(_cell(value)) for value in row] for row in _rows(result))
    return align(headings, cells)


def _csv(result: duckdb.DuckDBPyConnection) -> Iterator[str]:
    cells = ([_cell(value) for value in row] for row in _rows(result))
    return csv_rows(chain([_names(result)], cells))


def _jsonl(result: duckdb.DuckDBPyConnection) -> Iterator[str]:
    names = _names(result)
    nested = [str(each[1]) == "JSON" for each in result.description or ()]
    for row in _rows(result):
        values = [json.loads(value) if json_ and value else value for value, json_ in zip(row, nested, strict=True)]
        yield json.dumps(dict(zip(names, values, strict=True)), default=_cell, separators=(",", ":"))


def _cell(value: Any) -> str:
    """Return a value as text: moments as the tables have them, in UTC."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    return value.isoformat().replace("+00:00", "Z") if isinstance(value, datetime) else str(value)


def _first_lines(text: str) -> str:
    """Return the sentences of an error, without the picture of the query."""
    return " ".join(text.partition("\n\nLINE")[0].split())


_NUMBERS: Final = frozenset({"BIGINT", "INTEGER", "DOUBLE", "HUGEINT", "NUMBER"})
_LINES: Final = {"table": _table, "csv": _csv, "jsonl": _jsonl}
