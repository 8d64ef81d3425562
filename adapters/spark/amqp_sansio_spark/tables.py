"""`replay`: the tables of recorded connections as lazy DataFrames."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Literal, get_args

from amqp_sansio.capture import endpoint
from amqp_sansio.capture.records import ACK, SYN
from amqp_sansio.recorded.tables import COLUMNS, PORTS, skew_of, wanted_columns

from .columns import carried, schema_of, schema_of_all
from .comments import with_comment
from .plans import Setting

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from pyspark.sql import Column, DataFrame

    from .worker import ReplayTask

BodyMode = Literal["none", "size", "base64"]
_INPUT = (
    *("flow", "ts_ns", "file", "packet", "src", "sport", "dst", "dport", "seq", "ack", "flags"),
    *("wire_len", "payload", "point", "damage"),
)
PASSED = "protocol string, connections long"
_ORDER = ("flow", "ts_ns", "file", "packet")
_PARTITIONS_PER_CORE = 4


def replay(
    segments: DataFrame,
    partitions: int | None = None,
    *,
    body: BodyMode = "size",
    clock_skew: float = 0.0,
    ports: Collection[int] = (),
    servers: Collection[str] = (),
) -> Replay:
    """Replay the connections in `segments`, a DataFrame that `amqp-capture` read, or rows of it.

    Segments of one flow go to one task, in the order of their time; `partitions` is the number of tasks (default: four
    for each core). The rows are the same for every number. `body` selects the fields of message bodies in events:
    nothing, the size, or the octets in base64. `clock_skew` is the largest difference between the clocks of captures
    that have different packets of one connection (seconds): missing octets are given up that much later.
    `ports` are ports of servers of AMQP beside 5671 and 5672, `servers` endpoints ("10.0.0.2:5673") that are known to
    be servers: of connections whose SYN isn't in `segments` they tell the client. A task sees its own flows alone;
    `servers_of(segments)` asks all of them.

    Nothing is computed before a table is used. Raises ValueError for a wrong argument or missing columns.
    """
    if partitions is not None and partitions < 1:
        raise ValueError(f"partitions is at least 1, not {partitions}")
    if body not in get_args(BodyMode):
        raise ValueError(f"body is none, size or base64, not {body!r}")
    required(segments)
    setting = setting_of(body, clock_skew, ports, servers)
    return Replay(segments, partitions or default_partitions(segments), setting)


def setting_of(body: str, clock_skew: float, ports: Collection[int] = (), servers: Collection[str] = ()) -> Setting:
    """Return the setting of all tasks. Raises ValueError for a wrong skew or port."""
    wrong = [port for port in ports if not 0 < port < 1 << 16]
    if wrong:
        raise ValueError(f"a port is 1 to 65535, not {wrong[0]}")
    return Setting(body, skew_of(clock_skew), frozenset(servers), frozenset(PORTS) | frozenset(ports))


def servers_of(segments: DataFrame) -> frozenset[str]:
    """Return the endpoints ("10.0.0.2:5673") that a SYN in `segments` shows to be servers. Runs at once.

    With them `replay(segments, servers=...)` knows the roles of connections that were there before their capture, as
    the local engine does by the other connections. It needs flow, src, sport, dst, dport and flags, which the option
    `columns` can choose. All endpoints are in the driver's memory.
    """
    from pyspark.sql import functions as f

    syns = segments.where(f.col("flow").isNotNull() & ((f.col("flags").bitwiseAND(SYN)) != 0))
    answers = f.col("flags").bitwiseAND(ACK) != 0
    ends = syns.select(
        f.when(answers, f.col("src")).otherwise(f.col("dst")).alias("host"),
        f.when(answers, f.col("sport")).otherwise(f.col("dport")).alias("port"),
    )
    return frozenset([endpoint(row["host"], row["port"]) for row in ends.distinct().collect()])


class Tables:
    """Five tables of the same connections, as lazy DataFrames."""

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

    @property
    def consumers(self) -> DataFrame:
        """One row for each consumer or link through which a client received, with what became of its deliveries; of a
        stream, once it has ended."""
        return self._table("consumers")

    def select(self, table: str, *columns: str) -> DataFrame:
        """Return a table with these columns alone, in this order.

        Only they are made: Spark doesn't tell a task in Python which columns a query needs, so `select` of a table's
        DataFrame drops them after they were made. Raises ValueError for a table or column that isn't there.
        """
        wanted_columns({table: columns})
        return self._table(table, columns)

    def _table(self, table: str, names: Sequence[str] = ()) -> DataFrame:
        names = names or [name for name, _ in COLUMNS[table]]
        made = self._rows(table, carried({table: names})[table])
        return made.select(*columns_of(table, "", names))

    def _rows(self, table: str, names: Sequence[str]) -> DataFrame:
        """Return the rows of a table, of the columns that workers make."""
        raise NotImplementedError


class Replay(Tables):
    """Four tables of the same connections. Each is computed by its own pass, until `cache`.

    >>> tables = replay(spark.read.format("amqp-capture").load("captures/"))  # doctest: +SKIP
    >>> tables.messages.where("outcome is null").show()  # doctest: +SKIP
    """

    def __init__(self, segments: DataFrame, partitions: int, setting: Setting) -> None:
        self._sorted = segments.select(*_INPUT).repartition(partitions, "flow").sortWithinPartitions(*_ORDER)
        self.setting = setting
        self._cached: DataFrame | None = None

    def cache(self) -> Replay:
        """Let one pass, made when a table is first used, serve all tables; return itself."""
        if self._cached is None:
            self._cached = self.rows(_task(tuple(COLUMNS)), schema_of_all()).cache()
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
    def skew_ns(self) -> int:
        """The largest difference between the clocks of captures (nanoseconds)."""
        return self.setting.skew_ns

    @property
    def passed(self) -> DataFrame:
        """How many connections aren't AMQP and have no rows, by the name of their protocol: a pass of its own."""
        from .worker import PassedTask

        return self.rows(PassedTask, PASSED).groupBy("protocol").sum("connections").toDF("protocol", "connections")

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

    def rows(self, make: Callable[[Setting], ReplayTask], schema: str) -> DataFrame:
        """Return the rows of tasks that `make` makes for the setting; for this package's own use."""
        return self._sorted.mapInArrow(make(self.setting), schema)

    def _rows(self, table: str, names: Sequence[str]) -> DataFrame:
        if self._cached is None:
            return self.rows(_task({table: names}), schema_of(table, names))
        return self._cached.where(f"{table} is not null").select(*[f"{table}.{name}" for name in names])


def _task(tables: Collection[str] | Mapping[str, Collection[str]]) -> Callable[[Setting], ReplayTask]:
    from .worker import ReplayTask

    return partial(ReplayTask, tables)


def required(segments: DataFrame) -> None:
    """Raise ValueError if a column that a replay needs is missing."""
    missing = [name for name in _INPUT if name not in segments.columns]
    if missing:
        raise ValueError(f"segments have no column {', '.join(missing)}: read amqp-capture")


def columns_of(table: str, prefix: str, names: Sequence[str] | None = None) -> list[Column]:
    """Return the columns for users (None: all): timestamps derived from nanoseconds, the events' fields parsed."""
    from pyspark.sql import functions as f

    columns: list[Column] = []
    kinds = dict(COLUMNS[table])
    for name in names or kinds:
        kind = kinds[name]
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


__all__ = ["BodyMode", "Replay", "Tables", "default_partitions", "replay", "servers_of", "setting_of"]
