"""Recorded AMQP traffic in Spark: captures as TCP segments, segments as tables.

Needs the extra: `pip install amqp-sansio[spark]`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from .hot import replay_files, replay_hot
from .joining import histories, rpc, topology, unacked
from .progress import progress
from .queries import QUERIES, Query
from .reading import problems, segments_of
from .streaming import StreamReplay, replay_stream
from .tables import Replay, replay
from .views import PREFIX, create_views

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from amqp_sansio_report import Bounds

    from .reporting import Report


def register(spark: SparkSession, tables: Replay | None = None, *, prefix: str = PREFIX) -> None:
    """Make the format `amqp-capture` known to a session; with `tables`, also views of them, for SQL.

    The views are `amqp_connections`, `amqp_events`, `amqp_messages`, `amqp_violations`, `amqp_histories`,
    `amqp_topology`, `amqp_rpc` and `amqp_unacked`, or begin with another `prefix`; they replace those of these names.
    docs/queries.md has what people ask of them. They are lazy: call `tables.cache()` first if there will be several
    queries. Raises ValueError for a prefix that can't begin a name; warns where workers on this machine run a Python
    that doesn't have these packages.
    """
    from .interpreter import check_workers
    from .source import CaptureSource

    check_workers(spark)

    spark.dataSource.register(CaptureSource)
    if tables is not None:
        create_views(spark, tables, prefix)


def report(
    of: Replay | DataFrame,
    *,
    connections: Sequence[str] = (),
    bounds: Bounds | None = None,
    join: bool = True,
) -> Report:
    """A page about a replay, or about segments, for a person to look at; see `reporting.report`. Runs at once."""
    from . import reporting

    return reporting.report(of, connections=connections, bounds=bounds, join=join)


__all__ = [
    "QUERIES",
    "Query",
    "Replay",
    "StreamReplay",
    "histories",
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
]
