"""Recorded AMQP traffic in Spark: captures as TCP segments, segments as tables.

Needs the extra: `pip install amqp-sansio[spark]`.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING

from .progress import progress
from .requirement import check_spark

check_spark()

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from amqp_sansio_arrow.queries import QUERIES, Query
    from amqp_sansio_report import Bounds

    from .hot import replay_files, replay_hot
    from .joining import histories, rpc, topology, unacked
    from .reading import problems, segments_of
    from .reporting import Report
    from .streaming import StreamReplay, replay_stream, unfinished
    from .tables import Replay, Tables, replay, servers_of
    from .writing import write

PREFIX = "amqp_"
# The command's local engine uses some modules of this package, and its start shouldn't wait for all of them.
_PLACES = {
    **dict.fromkeys(("replay_files", "replay_hot"), "hot"),
    **dict.fromkeys(("histories", "open_times", "rpc", "topology", "unacked"), "joining"),
    **dict.fromkeys(("QUERIES", "Query"), "amqp_sansio_arrow.queries"),
    **dict.fromkeys(("problems", "segments_of"), "reading"),
    **dict.fromkeys(("StreamReplay", "replay_stream", "unfinished"), "streaming"),
    **dict.fromkeys(("Replay", "Tables", "replay", "servers_of"), "tables"),
    "write": "writing",
}


def __getattr__(name: str) -> object:
    place = _PLACES.get(name)
    if place is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(place if "." in place else f".{place}", __name__), name)


def register(spark: SparkSession, tables: Replay | None = None, *, prefix: str = PREFIX) -> None:
    """Register the format `amqp-capture` in a session; with `tables`, also create views of them, for SQL.

    The views are `amqp_connections`, `amqp_events`, `amqp_messages`, `amqp_violations`, `amqp_consumers`,
    `amqp_histories`, `amqp_topology`, `amqp_rpc`, `amqp_unacked` and `amqp_open`, or begin with another `prefix`;
    they replace views of the same names. docs/queries.md has worked queries. Views are lazy: call `tables.cache()`
    before several queries.
    Workers on this machine get this interpreter, and find these packages where it has found them. If PYSPARK_PYTHON
    chose another one that can't import them, a warning says what to set. Raises ValueError for an invalid prefix.
    """
    from .interpreter import prepare_workers, short_errors
    from .source import CaptureSource
    from .views import create_views

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
    "PREFIX",
    "QUERIES",
    "Query",
    "Replay",
    "StreamReplay",
    "Tables",
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
    "servers_of",
    "topology",
    "unacked",
    "unfinished",
    "write",
]
