"""Files of tables: Parquet, Arrow, JSON lines and CSV, by the endings of their names, each whole or not there."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from itertools import islice
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final, NamedTuple, Protocol, TypeVar, cast

from amqp_sansio.recorded.tables import COLUMNS
from amqp_sansio_arrow.replacing import whole_file

from .errors import CommandError
from .files import check_not_read
from .inputs import STDIN

if TYPE_CHECKING:
    from io import IOBase

    from .output import Row

FORMS: Final = ("parquet", "arrow", "jsonl", "csv")
"""The formats of files."""
_PACKED: Final = (".gz", ".zst")
"""The endings of text that is compressed."""
_AT_ONCE: Final = 256
"""Lines that are written together."""
_T = TypeVar("_T")
_NO_PYARROW: Final = "needs pyarrow: pip install 'amqp-sansio[arrow]'"


class Target(NamedTuple):
    """A file for a table."""

    path: Path
    form: str
    packed: str
    """".gz", ".zst", or empty."""


class Writer(Protocol):
    """Takes the rows of a table."""

    def write_rows(self, rows: Sequence[tuple[Any, ...]], /) -> None:
        """Take rows of all columns. Raises OSError."""
        ...

    def close(self) -> None:
        """Write what is left. Raises OSError."""
        ...

    def abandon(self) -> None:
        """Leave the file as it is."""
        ...


def targets(output: str, tables: Sequence[str], form: str | None) -> dict[str, Target]:
    """Return the file for each table: `output` itself for one, or files in the folder `output`.

    A name that ends in a slash, or that a folder has, means a folder; its files have the format `form`, Parquet if it
    is None. Without `tables` it gets those of `COLUMNS`, and a file the events. The ending of a file says its format.
    Raises CommandError for a name without a known ending, and for several tables in one file.
    """
    if form == "table":
        raise CommandError("--format table is for people, not for --output")
    if output.endswith(("/", os.sep)) or os.path.isdir(output):
        kind = form or "parquet"
        return {table: Target(Path(output, f"{table}.{kind}"), kind, "") for table in tables or COLUMNS}
    tables = tables or ("events",)
    path = Path(output)
    packed = path.suffix if path.suffix in _PACKED else ""
    kind = path.with_suffix("").suffix if packed else path.suffix
    if kind[1:] not in FORMS or (packed and kind[1:] not in ("jsonl", "csv")):
        raise CommandError(
            f"{output}: a file ends in .parquet, .arrow, .jsonl or .csv, the last two also in .gz or .zst behind it; "
            "the name of a folder ends in /"
        )
    if form is not None and form != kind[1:]:
        raise CommandError(f"{output}: its ending says the format; leave --format {form} out")
    if len(tables) != 1:
        raise CommandError(f"{output}: is one file; several tables want a folder, whose name ends in /")
    return {tables[0]: Target(path, kind[1:], packed)}


@contextmanager
def table_files(files: Mapping[str, Target]) -> Generator[Mapping[str, Writer]]:
    """Open a file for each table, as `open_file` does.

    Raises OSError, and CommandError for a format whose package isn't there.
    """
    with ExitStack() as opened, ExitStack() as abandon:
        writers: dict[str, Writer] = {}
        for table, target in files.items():
            target.path.parent.mkdir(parents=True, exist_ok=True)
            writers[table] = _writer(table, target, opened.enter_context(open_file(target)))
            abandon.callback(writers[table].abandon)
        yield writers
        for writer in writers.values():
            writer.close()
        abandon.pop_all()


@contextmanager
def open_file(target: Target) -> Generator[IO[bytes]]:
    """Open a file to write, as `whole_file` does, and compress what is written if its name says so."""
    with whole_file(target.path) as file, _pack(file, target.packed) as packed:
        yield packed


def write_tables(
    files: Mapping[str, Target], rows: Iterable[tuple[str, tuple[Any, ...]]], inputs: Iterable[str]
) -> dict[str, int]:
    """Write rows to their tables' files; return how many each has. Raises OSError, and CommandError for an input."""
    paths = [*inputs]
    for target in files.values():
        check_not_read(target.path, paths, stdin=STDIN.path in paths)
    with table_files(files) as writers:
        return write_rows(rows, writers)


def write_rows(rows: Iterable[tuple[str, tuple[Any, ...]]], writers: Mapping[str, Writer]) -> dict[str, int]:
    """Write rows, each with its table's name, to the table's writer; return how many each table has."""
    counts = dict.fromkeys(writers, 0)
    held: dict[str, list[tuple[Any, ...]]] = {table: [] for table in writers}
    for some in many(rows, _AT_ONCE):
        for table, values in some:
            held[table].append(values)
        for table, together in held.items():
            if together:
                writers[table].write_rows(together)
                counts[table] += len(together)
                together.clear()
    return counts


def many(items: Iterable[_T], most: int) -> Iterator[list[_T]]:
    """Yield the items in lists of at most so many."""
    left = iter(items)
    while some := list(islice(left, most)):
        yield some


def _writer(table: str, target: Target, file: IO[bytes]) -> Writer:
    if target.form in ("jsonl", "csv"):
        return _Lines(file, table, target.form)
    try:
        from amqp_sansio_arrow.builders import arrow_schema
        from amqp_sansio_arrow.writing import TableWriter
    except ModuleNotFoundError as error:
        raise _missing(error, f".{target.form}") from None
    return TableWriter(file, arrow_schema(table), target.form)


class _Lines:
    """Writes rows as lines of text."""

    def __init__(self, file: IO[bytes], table: str, form: str) -> None:
        from .output import csv_lines, json_lines

        self._file = file
        """Takes the octets of lines; it is opened and closed outside, after compression where that is wanted."""
        self._lines: Callable[[str, Iterable[Row]], Iterator[str]] = csv_lines if form == "csv" else json_lines
        """Makes the lines of a table's rows, in the form that was asked for."""
        self._table = table
        """Its name, which says what the columns are called."""
        self._has_header = form == "csv"
        """Whether the lines begin with the names of columns."""
        self._begun = False
        """Whether the names were written."""

    def write_rows(self, rows: Sequence[tuple[Any, ...]]) -> None:
        lines = self._lines(self._table, rows)
        if self._has_header and self._begun:
            next(lines)
        self._begun = True
        self._file.write("".join([f"{line}\n" for line in lines]).encode())

    def close(self) -> None:
        if not self._begun:
            self.write_rows(())

    def abandon(self) -> None:
        pass


@contextmanager
def _pack(file: IO[bytes], packed: str) -> Generator[IO[bytes]]:
    """Compress what is written."""
    if not packed:
        yield file
    elif packed == ".gz":
        import gzip

        # Without a time, the same rows are the same octets.
        with gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=0) as zipped:
            yield cast("IO[bytes]", zipped)
    else:
        try:
            from pyarrow import CompressedOutputStream
        except ModuleNotFoundError as error:
            raise _missing(error, ".zst") from None
        with CompressedOutputStream(cast("IOBase", file), "zstd") as stream:
            yield cast("IO[bytes]", stream)


def _missing(error: ModuleNotFoundError, what: str) -> Exception:
    """Return the sentence about pyarrow; the error itself if another module is missing."""
    if error.name is None or error.name.partition(".")[0] != "pyarrow":
        return error
    return CommandError(f"{what} {_NO_PYARROW}")
