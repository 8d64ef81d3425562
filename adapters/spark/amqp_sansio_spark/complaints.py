"""Unreadable parts of captures, as a table and as the error that stops a read."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final, NoReturn

import numpy as np
import pyarrow as pa

from amqp_sansio.capture import CaptureDamage, Segment

from .arrow import only
from .selection import Selection

if TYPE_CHECKING:
    from .chain import Run
    from .headers import Segments
    from .rows import Made

PROBLEMS_SCHEMA: Final = "file string, offset bigint, packet bigint, ts_ns bigint, kind string, reason string"
"""The columns of the table of problems, as Spark writes a schema."""

_COLUMNS: Final[list[tuple[str, pa.DataType]]] = [
    ("file", pa.string()),
    ("offset", pa.int64()),
    ("packet", pa.int64()),
    ("ts_ns", pa.int64()),
    ("kind", pa.string()),
    ("reason", pa.string()),
]
PROBLEMS_ARROW: Final = pa.schema(_COLUMNS)
_LOGGER: Final = logging.getLogger("amqp_sansio_spark")


class CaptureProblem(Exception):
    """A part of a capture is unreadable, and the read must stop at the first one."""


def stop(damage: CaptureDamage) -> NoReturn:
    """Stop the read, with one line that says why; it is logged too, before Spark reports it in its own way."""
    text = damage.text.removeprefix(f"{damage.file}: ")
    line = f"{damage.file}, offset {damage.offset}: {damage.kind}: {text}"
    _LOGGER.error("amqp-capture: %s", line)
    raise CaptureProblem(line)


def plainly(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield the same batches; a `CaptureProblem` loses its traceback, which doesn't help its reader."""
    try:
        yield from batches
    except CaptureProblem as problem:
        raise problem.with_traceback(None) from None


class ProblemMaker:
    """Makes rows of the table of problems."""

    segments = False

    def __init__(self, names: Sequence[str], selection: Selection) -> None:
        self.schema = only(PROBLEMS_ARROW, names)
        self.selection = selection

    def bulk(self, buf: bytearray, run: Run, segments: Segments, packet: int) -> Made | None:
        """Return nothing."""
        return None

    def single(self, rows: Sequence[tuple[int, Segment | CaptureDamage]]) -> list[Made]:
        """Return rows of the damages."""
        damages = [row for _, row in rows if isinstance(row, CaptureDamage) and self.selection.takes(row)]
        if not damages:
            return []
        columns: dict[str, list[object]] = {
            "file": [row.file for row in damages],
            "offset": [row.offset for row in damages],
            "packet": [row.packet for row in damages],
            "ts_ns": [row.ts_ns for row in damages],
            "kind": [row.kind for row in damages],
            "reason": [row.text.removeprefix(f"{row.file}: ") for row in damages],
        }
        batch = pa.RecordBatch.from_pydict({name: columns[name] for name in self.schema.names}, schema=self.schema)
        return [(np.arange(len(damages)), batch)]

    def batches(self, made: list[Made]) -> Iterator[pa.RecordBatch]:
        """Yield the batch of the damages."""
        return iter([batch for _, batch in made])
