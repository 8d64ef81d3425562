"""`replay_stream`: the tables of connections that are still being captured, as streaming DataFrames."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, get_args

from amqp_sansio.recorded.tables import COLUMNS

from .columns import carried, schema_of, schema_of_all
from .requirement import STREAMS, check_spark
from .tables import BodyMode, Tables, columns_of, required, setting_of

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

    from .plans import Setting

_ROCKSDB: Final = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
_PROVIDER: Final = "spark.sql.streaming.stateStore.providerClass"


def replay_stream(
    segments: DataFrame,
    *,
    idle_seconds: int = 3600,
    body: BodyMode = "size",
    clock_skew: float = 0.0,
    ports: Collection[int] = (),
    servers: Collection[str] = (),
) -> StreamReplay:
    """Replay the connections in a stream of segments from `readStream.format("amqp-capture")`.

    The state of each flow (all connections of one 4-tuple) is in the state store, which must be RocksDB:
    `spark.sql.streaming.stateStore.providerClass`. The rows are those of `replay` on the same captures, independent of
    the batches, and after restarts and kills, as long as segments come in the order of their time from one batch to the
    next. A segment that comes after one of its flow with a later time is a row of `violations`, `capture/late-segment`,
    and is used as far as possible.

    A flow without segments for `idle_seconds` of the captures' own time is given up: its open messages come out, as at
    the end of a capture, and its state is dropped. Segments that are that late are skipped; Spark counts them
    (`numRowsDroppedByWatermark`). `body`, `clock_skew`, `ports` and `servers` are as for `replay`; a flow keeps its
    first values as long as its state exists.

    Raises ValueError for a wrong argument, for missing columns, for segments that are no stream, and for another state
    store; ImportError before Spark 4.2.
    """
    check_spark(STREAMS, "replay_stream")
    if not segments.isStreaming:
        raise ValueError("segments are no stream: read them with spark.readStream, or call replay(segments)")
    if idle_seconds < 1:
        raise ValueError(f"idle_seconds is at least 1, not {idle_seconds}")
    if body not in get_args(BodyMode):
        raise ValueError(f"body is none, size or base64, not {body!r}")
    required(segments)
    provider = segments.sparkSession.conf.get(_PROVIDER, "")
    if provider != _ROCKSDB:
        raise ValueError(f"set {_PROVIDER} to {_ROCKSDB}: the state of connections needs it")
    return StreamReplay(segments, idle_seconds, setting_of(body, clock_skew, ports, servers))


def unfinished(spark: SparkSession, checkpoint: str) -> Tables:
    """Return the tables of the connections that a stream has open, as if its captures ended now.

    `checkpoint` is that of `StreamReplay.write`, while its query runs or after it. With these rows the tables of the
    stream are those of `replay` on the same captures: connections that nobody has closed yet, and messages that are
    open. The query isn't disturbed, and goes on as if nobody had looked.
    """
    states = spark.read.format("statestore").option("stateVarName", "replay").load(checkpoint)
    return _Unfinished(states.select("key.flow", "value.schema", "value.replay"))


class _Unfinished(Tables):
    """The tables of states."""

    def __init__(self, states: DataFrame) -> None:
        self._states = states

    def _rows(self, table: str, names: Sequence[str]) -> DataFrame:
        from .stream_worker import FinishTask

        whole = carried((table,))[table]
        return self._states.mapInArrow(FinishTask(table), schema_of(table, whole)).select(*names)


class StreamReplay(Tables):
    """Five tables of the same connections, each a streaming DataFrame with its own state.

    To write several of them at the cost of one, start `write(...)`, which has one state for all.

    >>> segments = spark.readStream.format("amqp-capture").load("captures/")  # doctest: +SKIP
    >>> query = replay_stream(segments).write("tables/", checkpoint="state/")  # doctest: +SKIP
    """

    def __init__(self, segments: DataFrame, idle_seconds: int, setting: Setting) -> None:
        self._segments = segments
        self._idle_seconds = idle_seconds
        self._setting = setting

    def write(self, path: str, *, checkpoint: str, available_now: bool = False) -> StreamingQuery:
        """Start to write the five tables as Parquet below `path`, from one state; return the running query.

        Each batch is a folder `batch=N` in each table's folder, rewritten if the batch is repeated, so a kill at any
        moment neither duplicates nor loses a row. `available_now`: take everything available and end; `unfinished` has
        the rows of connections that are open then.
        """
        rows = self._run(tuple(COLUMNS), schema_of_all())
        writer = rows.writeStream.foreachBatch(_batch_writer(path)).option("checkpointLocation", checkpoint)
        return (writer.trigger(availableNow=True) if available_now else writer).start()

    def _repr_html_(self) -> str:
        """Show what it is and how to use it, in a notebook; this starts nothing."""
        tables = ", ".join([f"<code>.{name}</code>" for name in COLUMNS])
        return (
            "<p><b>A replay of connections that are still being captured</b>, not started. Streaming DataFrames, "
            f"each with a state of its own: {tables}.<br>All five at the cost of one: "
            "<code>.write(path, checkpoint=...)</code>. A flow that is silent for "
            f"{self._idle_seconds:,} seconds of the captures' time is given up.</p>"
        )

    def _rows(self, table: str, names: Sequence[str]) -> DataFrame:
        return self._run((table,), schema_of(table, carried((table,))[table])).select(*names)

    def _run(self, tables: tuple[str, ...], schema: str) -> DataFrame:
        from pyspark.sql import functions as f

        from .stream_worker import INPUT, StreamTask

        rows = (
            self._segments.withColumn("at", f.expr("timestamp_micros(ts_ns div 1000)"))
            .withColumn("damage", f.to_json("damage"))
            .withWatermark("at", f"{self._idle_seconds} seconds")
            .select(*INPUT, "at")
        )
        task = StreamTask(tables, self._setting, self._idle_seconds)
        return rows.groupBy("flow").transformWithState(
            statefulProcessor=task, outputStructType=schema, outputMode="append", timeMode="EventTime"
        )


def _batch_writer(path: str) -> Callable[[DataFrame, int], None]:
    def write(rows: DataFrame, batch: int) -> None:
        # A property of the batch's session: readers can't merge shredded columns.
        rows.sparkSession.conf.set("spark.sql.variant.inferShreddingSchema", "false")
        rows = rows.persist()
        try:
            for table in COLUMNS:
                of_table = rows.where(f"{table} is not null").select(*columns_of(table, f"{table}."))
                of_table.write.mode("overwrite").parquet(f"{path.rstrip('/')}/{table}/batch={batch}")
        finally:
            rows.unpersist()

    return write


__all__ = ["StreamReplay", "replay_stream", "unfinished"]
