"""Reads as functions: captures on every file system that Spark knows, and their unreadable parts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from amqp_sansio_arrow.files import local_path

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

PROBLEMS_VIEW: Final = "amqp_capture_problems"
"""The default name of the temporary view that `problems` creates."""


def segments_of(spark: SparkSession, path: str | Sequence[str], **options: str | int | bool) -> DataFrame:
    """Read captures like `spark.read.format("amqp-capture").options(**options).load(path)`, from anywhere.

    Paths are Spark's: any configured file system (hdfs:, s3a:, abfss:, gs:, file: ...), files, folders and patterns.
    Workers open local files themselves; large ones are walked by a first stage of tasks, one for each file, not by the
    driver. Other files come through Spark's `binaryFile`, whole: one of more than 1 GiB is a problem of the kind
    `too-large`. Filters of a query don't reach the reader; `port`, `host`, `from` and `to` do.

    Raises FileNotFoundError if nothing is found, ValueError for an invalid option.
    """
    from .options import parse_options
    from .stages import read_anywhere

    checked = parse_options({name: str(value) for name, value in options.items()})
    return read_anywhere(spark, _paths(path), checked)


def problems(
    spark: SparkSession, path: str | Sequence[str], *, view: str = PROBLEMS_VIEW, **options: str | int | bool
) -> DataFrame:
    """Return the unreadable parts of captures as rows: `file`, `offset`, `packet`, `ts_ns`, `kind` and `reason`.

    `options` are those of the format. The frame is also the temporary view `view`. It reads the captures without making
    rows of segments, in about half of the time. The kinds for whole files are `not-a-capture`, `empty-file`,
    `unreadable` and `changed-file` (another file than when the read was planned), and `too-large` (see `segments_of`);
    those of damage inside of a capture are in `amqp_sansio.capture.CaptureDamage`. A file that is still being written
    usually ends inside of a record: `truncated-file`.
    """
    given = _paths(path)
    every = {**options, "table": "problems"}
    try:
        for each in given:
            local_path(each)
    except ValueError:
        frame = segments_of(spark, given, **every)
    else:
        texts = {name: str(value) for name, value in every.items()}
        frame = spark.read.format("amqp-capture").options(**texts).load(given)
    frame.createOrReplaceTempView(view)
    return frame


def _paths(path: str | Sequence[str]) -> list[str]:
    return [path] if isinstance(path, str) else [str(each) for each in path]
