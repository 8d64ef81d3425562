"""Recorded AMQP traffic in Spark: captures as TCP segments, segments as tables.

Needs the extra: `pip install amqp-sansio[spark]`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from .hot import replay_files, replay_hot
from .joining import histories, open_times, rpc, topology, unacked
from .progress import progress
from .queries import QUERIES, Query
from .reading import problems, segments_of
from .requirement import check_spark
from .streaming import StreamReplay, replay_stream, unfinished
from .tables import Replay, Tables, replay
from .views import PREFIX, create_views
from .writing import write

check_spark()

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from amqp_sansio_report import Bounds

    from .reporting import Report


def register(spark: SparkSession, tables: Replay | None = None, *, prefix: str = PREFIX) -> None:
    """Register the format `amqp-capture` in a session; with `tables`, also create views of them, for SQL.

    The views are `amqp_connections`, `amqp_events`, `amqp_messages`, `amqp_violations`, `amqp_histories`,
    `amqp_topology`, `amqp_rpc`, `amqp_unacked` and `amqp_open`, or begin with another `prefix`; they replace views of
    the same names. docs/queries.md has worked queries. Views are lazy: call `tables.cache()` before several queries.
    Workers on this machine get this interpreter, and find these packages where it has found them. If PYSPARK_PYTHON
    chose another one that can't import them, a warning says what to set. Raises ValueError for an invalid prefix.
    """
    from .interpreter import prepare_workers, short_errors
    from .source import CaptureSource

    prepare_workers(spark)
    with short_errors(spark):
        spark.dataSource.register(CaptureSource)
    if tables is not None:
        create_views(spark, tables, prefix)


def report(
    of: Replay | DataFrame, *, connections: Sequence[str] = (), bounds: Bounds | None = None, join: bool = True
) -> Report:
    """Make a page for people about a replay, or about segments; see `reporting.report`. Runs at once."""
    from . import reporting

    return reporting.report(of, connections=connections, bounds=bounds, join=join)


__all__ = [
    "QUERIES",
    "Query",
    "Replay",
    "StreamReplay",
    "Tables",
    "histories",
    "open_times",
    "problems",
    "progress",
    "register",
    "replay",
    "replay_files",
    "replay_hot",
    "replay_stream",
    "report",
    "rpc",
    "segments_of",
    "topology",
    "unacked",
    "unfinished",
    "write",
]
