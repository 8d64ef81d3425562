"""`replay`: the tables of recorded connections as lazy DataFrames."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, get_args

from amqp_sansio.tables import COLUMNS, skew_of

from .comments import with_comment

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

BodyMode = Literal["none", "size", "base64"]
_SPARK_TYPES = {"string": "string", "json": "string", "int64": "bigint", "bool": "boolean"}
_INPUT = (
    *("flow", "ts_ns", "file", "packet", "src", "sport", "dst", "dport", "seq", "ack", "flags"),
    *("wire_len", "payload", "point", "damage"),
)
_ORDER = ("flow", "ts_ns", "file", "packet")
_PARTITIONS_PER_CORE = 4


def replay(
    segments: DataFrame, partitions: int | None = None, *, body: BodyMode = "size", clock_skew: float = 0.0
) -> Replay:
    """Replay the connections in `segments`, a DataFrame that `amqp-capture` read, or rows of it.

    Segments of one flow go to one task, in the order of their time; `partitions` is the number of tasks (default: four
    for each core). The rows are the same for every number. `body` selects the fields of message bodies in events:
    nothing, the size, or the octets in base64. `clock_skew` is the largest difference between the clocks of captures
    that have different packets of one connection (seconds): missing octets are given up that much later.

    Nothing is computed before a table is used. Raises ValueError for a wrong argument or missing columns.
    """
    if partitions is not None and partitions < 1:
        raise ValueError(f"partitions is at least 1, not {partitions}")
    if body not in get_args(BodyMode):
        raise ValueError(f"body is none, size or base64, not {body!r}")
    required(segments)
    return Replay(segments, partitions or default_partitions(segments), body, skew_of(clock_skew))


class Tables:
    """Four tables of the same connections, as lazy DataFrames."""

    @property
    def connections(self) -> DataFrame:
        """One row for each TCP connection; of a stream, each that has ended or was given up."""
        return self._table("connections")

    @property
    def events(self) -> DataFrame:
        """One row for each protocol unit on the wire; `fields` is a VARIANT."""
        return self._table("events")

    @property
    def messages(self) -> DataFrame:
        """One row for each message on a connection, with its outcome; of a stream, once that is known."""
        return self._table("messages")

    @property
    def violations(self) -> DataFrame:
        """One row for each broken rule and for each damage of a capture."""
        return self._table("violations")

    def _table(self, table: str) -> DataFrame:
        return self._run((table,)).select(*columns_of(table, ""))

    def _run(self, tables: tuple[str, ...]) -> DataFrame:
        """Return the rows of one table, or a struct for each of several."""
        raise NotImplementedError


class Replay(Tables):
    """Four tables of the same connections. Each is computed by its own pass, until `cache`.

    >>> tables = replay(spark.read.format("amqp-capture").load("captures/"))  # doctest: +SKIP
    >>> tables.messages.where("outcome is null").show()  # doctest: +SKIP
    """

    def __init__(self, segments: DataFrame, partitions: int, body: str, skew_ns: int = 0) -> None:
        self._sorted = segments.select(*_INPUT).repartition(partitions, "flow").sortWithinPartitions(*_ORDER)
        self._body = body
        self.skew_ns = skew_ns
        self._cached: DataFrame | None = None

    def cache(self) -> Replay:
        """Let one pass, made when a table is first used, serve all tables; return itself."""
        if self._cached is None:
            self._cached = self._run(tuple(COLUMNS)).cache()
        return self

    def unpersist(self) -> Replay:
        """Release the rows held by `cache`; return itself."""
        if self._cached is not None:
            self._cached.unpersist()
            self._cached = None
        return self

    @property
    def is_cached(self) -> bool:
        """Whether one pass serves all tables."""
        return self._cached is not None

    @property
    def sorted_segments(self) -> DataFrame:
        """The segments to replay: each flow in one task, in the order of its time."""
        return self._sorted

    def _repr_html_(self) -> str:
        """Show what it is and how to use it, in a notebook; this computes nothing."""
        kept = "one pass serves all" if self._cached is not None else "each is a pass of its own; cache() makes it one"
        tables = ", ".join(f"<code>.{name}</code>" for name in COLUMNS)
        return (
            f"<p><b>A replay of recorded AMQP connections</b>, not computed yet. Tables: {tables} ({kept}); "
            "look at one with <code>.show()</code>.<br>The whole as a page: "
            "<code>amqp_sansio_spark.report(replay)</code>, which runs it.</p>"
        )

    def _table(self, table: str) -> DataFrame:
        if self._cached is None:
            return super()._table(table)
        rows = self._cached.where(f"{table} is not null")
        return rows.select(*columns_of(table, f"{table}."))

    def _run(self, tables: tuple[str, ...]) -> DataFrame:
        from .worker import ReplayTask

        return self._sorted.mapInArrow(ReplayTask(tables, self._body, self.skew_ns), tables_schema(tables))


def spark_schema(columns: tuple[tuple[str, str], ...], separator: str = " ") -> str:
    """Return the core's columns as a Spark schema, without timestamps, which Spark derives from nanoseconds."""
    return ", ".join(f"{name}{separator}{_SPARK_TYPES[kind]}" for name, kind in columns if kind in _SPARK_TYPES)


def tables_schema(tables: tuple[str, ...]) -> str:
    """Return the schema of a replay: one table's columns, or a struct for each of several tables."""
    if len(tables) == 1:
        return spark_schema(COLUMNS[tables[0]])
    return ", ".join(f"{table} struct<{spark_schema(COLUMNS[table], ': ')}>" for table in tables)


def required(segments: DataFrame) -> None:
    """Raise ValueError if a column that a replay needs is missing."""
    missing = [name for name in _INPUT if name not in segments.columns]
    if missing:
        raise ValueError(f"segments have no column {', '.join(missing)}: read amqp-capture")


def columns_of(table: str, prefix: str) -> list[Column]:
    """Return the columns for users: timestamps derived from nanoseconds, the events' fields parsed."""
    from pyspark.sql import functions as f

    columns: list[Column] = []
    for name, kind in COLUMNS[table]:
        if kind == "timestamp":
            column = f.expr(f"timestamp_micros({prefix}{name}_ns div 1000)")
        elif kind == "json" and name == "fields":
            column = f.parse_json(f.col(prefix + name))
        else:
            column = f.col(prefix + name)
        columns.append(with_comment(column, table, name))
    return columns


def default_partitions(segments: DataFrame) -> int:
    """Return the tasks of a shuffle: four for each core."""
    from pyspark.sql.utils import is_remote

    session = segments.sparkSession
    if is_remote():
        return int(session.conf.get("spark.sql.shuffle.partitions") or 200)
    return _PARTITIONS_PER_CORE * session.sparkContext.defaultParallelism


__all__ = ["BodyMode", "Replay", "Tables", "default_partitions", "replay", "spark_schema"]
