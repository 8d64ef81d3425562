"""Histories across connections, topology, unacked messages and calls: DataFrames from the tables of a replay."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Final

from amqp_sansio.recorded.histories import EVENTS, HISTORY_COLUMNS, TOPOLOGY_COLUMNS, Happening, Message

from .columns import schema_of, spark_schema
from .comments import commented, ddl, with_comment
from .tables import Replay, default_partitions

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_NANOSECONDS = 1_000_000_000


def topology(events: DataFrame | Replay) -> DataFrame:
    """Return what clients declared at brokers: a row for each declare, delete, bind and unbind of exchanges, queues and
    bindings, with its result. `events` is that of a replay, or the replay, which then makes no other events. Lazy.
    docs/histories.md has the columns.
    """
    from pyspark.sql import functions as f

    from .join_worker import EventsTask, TopologyTask

    if isinstance(events, Replay) and not events.is_cached:
        wanted = events.rows(partial(EventsTask, {"events": Happening._fields}), schema_of("events", Happening._fields))
    else:
        events = events.events if isinstance(events, Replay) else events
        fields = f.col("fields").cast("string") if dict(events.dtypes)["fields"] == "string" else f.to_json("fields")
        wanted = events.where(f.col("event").isin(*sorted(EVENTS))).withColumn("fields", fields)
    ordered = wanted.select(*Happening._fields).repartition("connection").sortWithinPartitions("connection", "seq")
    return ordered.mapInArrow(TopologyTask(), ddl("topology", spark_schema(TOPOLOGY_COLUMNS)))


def histories(
    messages: DataFrame | Replay,
    events: DataFrame | None = None,
    *,
    skew_ns: int | None = None,
    partitions: int | None = None,
) -> DataFrame:
    """Return the history of each message on all connections that it moved on: a row for each step.

    `messages` is that of a replay, and so is `events`, if the topology in the trace is to help; or it is the replay
    itself, of which one pass then makes just what is needed. `skew_ns` is the largest difference between the clocks of
    the captures (default: that of the replay, or 0). Messages are joined body by body, in `partitions` tasks
    (default: four for each core), each with its copy of the topology: memory depends on the number of messages that
    share a body, not on the total, and the rows on neither. Lazy. docs/histories.md has the columns, the rules and the
    meaning of `evidence` and `certainty`.

    Raises ValueError for arguments out of range.
    """
    from pyspark.sql import functions as f

    from .join_worker import HistoryTask

    if skew_ns is None:
        skew_ns = messages.skew_ns if isinstance(messages, Replay) else 0
    if skew_ns < 0 or (partitions is not None and partitions < 1):
        raise ValueError(f"skew_ns is 0 or more and partitions 1 or more, not {skew_ns} and {partitions}")
    rows = _steps(messages, events)
    buckets = partitions or default_partitions(rows)
    body = f.concat_ws("/", f.coalesce("body_sha256", f.lit("")), "body_size")
    bucket = f.array(f.pmod(f.hash(body), f.lit(buckets)))
    all_buckets = f.sequence(f.lit(0), f.lit(buckets - 1))
    # By differing clocks a publish may be that much late, and still precede its deliveries.
    moved = f.col("ts_ns") - f.when(f.col("kind") == "publish", f.lit(skew_ns)).otherwise(f.lit(0))
    rank = f.when(f.col("kind") == "publish", 0).when(f.col("kind") == "return", 1).otherwise(2)
    placed = rows.select("*", f.explode(f.when(f.col("act").isNull(), bucket).otherwise(all_buckets)).alias("bucket"))
    # The topology comes first, having no body. Spark compares the first octets of the first key, and hardly ever more.
    ordered = placed.repartitionById(buckets, placed["bucket"]).sortWithinPartitions(
        f.when(f.col("act").isNull(), body).asc_nulls_first(), moved, rank, "connection", "seq"
    )
    ordered = ordered.select(*Message._fields, "act")
    return ordered.mapInArrow(HistoryTask(), ddl("histories", spark_schema(HISTORY_COLUMNS)))


def _steps(messages: DataFrame | Replay, events: DataFrame | None) -> DataFrame:
    """Return the messages, and with null in their columns the acts of the topology as JSON."""
    from pyspark.sql import functions as f

    from .join_worker import StepsTask

    if isinstance(messages, Replay):
        if not messages.is_cached:
            return messages.rows(StepsTask, f"{schema_of('messages', Message._fields)}, act string")
        events, messages = messages.events, messages.messages
    rows = messages.select(*Message._fields, f.lit(None).cast("string").alias("act"))
    if events is None:
        return rows
    nothing = [f.lit(None).cast(kind).alias(name) for name, kind in rows.dtypes if name != "act"]
    act = f.to_json(f.struct(*[name for name, _ in TOPOLOGY_COLUMNS]))
    return rows.unionByName(topology(events).select(*nothing, act.alias("act")))


def unacked(messages: DataFrame, at: int | datetime | Column) -> DataFrame:
    """Return the deliveries that clients held at a time, the oldest first, with `held_ns`: for how long by then.

    `at` is nanoseconds since 1970, a datetime with a time zone, or a column. A delivery is held from its arrival until
    it is settled, or its channel, session, link or connection ends. Raises ValueError for a datetime without a time
    zone.
    """
    from pyspark.sql import Column
    from pyspark.sql import functions as f

    moment = at if isinstance(at, Column) else f.lit(at if isinstance(at, int) else _nanoseconds(at))
    over = f.coalesce("settled_ns", "ended_ns")
    held = messages.where(
        f.col("kind").isin("deliver", "get")
        & (f.col("ts_ns") <= moment)
        & (over.isNull() | (over > moment))
        & ((f.col("outcome") != "settled") | f.col("outcome").isNull() | f.col("settled_ns").isNotNull())
    )
    held_ns = with_comment(moment - f.col("ts_ns"), "messages", "held_ns")
    return held.select("*", held_ns).orderBy("ts_ns", "connection", "seq")


OPEN_EVENTS: Final = ("connection", "seq", "ts_ns", "sender", "channel", "event", "answers")
OPEN_MESSAGES: Final = (
    *("connection", "ts_ns", "channel", "kind", "routing_key", "address", "tag", "outcome", "settled_ns", "seq"),
    *("queue", "consumer_tag", "link", "ended_ns"),
)
OPEN_CONSUMERS: Final = ("connection", "channel", "consumer", "queue", "opened_ns", "closed_ns")
"""The columns that `open_times` needs."""


def open_times(connections: DataFrame, events: DataFrame, messages: DataFrame, consumers: DataFrame) -> DataFrame:
    """Return from when to when something was open: what was open at an instant are the rows with `from_ns <= instant`
    and `until_ns` null or `> instant`.

    `kind` is "connection", "consumer" (or a link; those whose beginning was seen), "delivery" (held by the client),
    "publish" (without a confirm), "call" (of the client, until its answer) or "blocked" (by the server). Columns:
    `connection`, `kind`, `channel`, `seq`, `name`, `queue`, `from_ns`, `until_ns` (null: open at the end of the
    capture).
    """
    from pyspark.sql import functions as f

    none = f.lit(None)
    ends = connections.select("connection", f.col("closed_ns").alias("end_ns"))
    whole = connections.select(
        "connection",
        f.lit("connection").alias("kind"),
        none.cast("long").alias("channel"),
        none.cast("long").alias("seq"),
        f.col("connection_name").alias("name"),
        none.cast("string").alias("queue"),
        f.col("opened_ns").alias("from_ns"),
        f.col("closed_ns").alias("until_ns"),
    )
    waits = f.col("outcome").isNull() | f.col("settled_ns").isNotNull()
    held = messages.where((f.col("kind") != "return") & waits).select(
        "connection",
        f.when(f.col("kind") == "publish", "publish").otherwise("delivery").alias("kind"),
        "channel",
        "seq",
        f.coalesce("consumer_tag", "link", f.col("tag").cast("string")).alias("name"),
        f.coalesce("queue", "address", "routing_key").alias("queue"),
        f.col("ts_ns").alias("from_ns"),
        f.coalesce("settled_ns", "ended_ns").alias("until_ns"),
    )
    asked = events.where("sender = 'client'").select("connection", "channel", "seq", "event", "ts_ns")
    answers = events.where("sender = 'server' and answers is not null").select(
        "connection", f.col("answers").alias("seq"), f.col("ts_ns").alias("answer_ns")
    )
    calls = asked.join(answers, ["connection", "seq"]).select(
        "connection",
        f.lit("call").alias("kind"),
        "channel",
        "seq",
        f.col("event").alias("name"),
        none.cast("string").alias("queue"),
        f.col("ts_ns").alias("from_ns"),
        f.col("answer_ns").alias("until_ns"),
    )
    receives = consumers.where("opened_ns is not null").select(
        "connection",
        f.lit("consumer").alias("kind"),
        "channel",
        none.cast("long").alias("seq"),
        f.col("consumer").alias("name"),
        "queue",
        f.col("opened_ns").alias("from_ns"),
        f.col("closed_ns").alias("until_ns"),
    )
    freed = (
        events.where("event = 'connection.unblocked'")
        .groupBy("connection")
        .agg(f.array_sort(f.collect_list("ts_ns")).alias("freed"))
    )
    blocked = events.where("event = 'connection.blocked'").join(freed, "connection", "left").join(ends, "connection")
    later = f.filter("freed", lambda each: each >= f.col("ts_ns"))
    blocked = blocked.select(
        "connection",
        f.lit("blocked").alias("kind"),
        none.cast("long").alias("channel"),
        "seq",
        f.col("event").alias("name"),
        none.cast("string").alias("queue"),
        f.col("ts_ns").alias("from_ns"),
        f.coalesce(f.try_element_at(later, f.lit(1)), "end_ns").alias("until_ns"),
    )
    every = whole.unionByName(receives).unionByName(held).unionByName(calls).unionByName(blocked)
    return commented(every, "open")


RPC_MESSAGES: Final = (
    *("connection", "ts_ns", "kind", "exchange", "routing_key", "address", "message_id", "correlation_id"),
    *("body_sha256", "seq", "reply_to"),
)
"""The columns that `rpc` needs."""


def rpc(messages: DataFrame) -> DataFrame:
    """Return calls by request and reply: a row for each request with a reply address.

    A reply is the first later message to the requester's connection whose correlation-id is the request's
    correlation-id, or if there is none, its message-id. Columns: `requester`, `request_ns`, `request_seq`, `exchange`,
    `routing_key`, `address`, `reply_to`, `correlation_id`, `reply_ns`, `reply_seq`, `latency_ns` (all three null if no
    reply was seen), and of the responder: `responder`, `taken_ns`, `answered_ns`, `service_ns`.
    """
    from pyspark.sql import Window
    from pyspark.sql import functions as f

    key = f.coalesce("correlation_id", "message_id")
    received = f.col("kind").isin("deliver", "get")
    asked = messages.where((f.col("kind") == "publish") & f.col("reply_to").isNotNull() & key.isNotNull()).select(
        f.col("connection").alias("requester"),
        f.col("ts_ns").alias("request_ns"),
        f.col("seq").alias("request_seq"),
        *("exchange", "routing_key", "address", "reply_to", "body_sha256"),
        key.alias("correlation_id"),
    )
    came = messages.where(received & f.col("correlation_id").isNotNull()).select(
        f.col("connection").alias("c"),
        f.col("correlation_id").alias("k"),
        f.col("ts_ns").alias("reply_ns"),
        f.col("seq").alias("reply_seq"),
    )
    # Ids are reused: the n-th request with one has the n-th reply with it.
    turn = Window.partitionBy("requester", "correlation_id").orderBy("request_ns", "request_seq")
    answer = Window.partitionBy("c", "k").orderBy("reply_ns", "reply_seq")
    asked = asked.withColumn("turn", f.row_number().over(turn))
    came = came.withColumn("answer", f.row_number().over(answer))
    calls = asked.join(
        came,
        (f.col("requester") == f.col("c"))
        & (f.col("correlation_id") == f.col("k"))
        & (f.col("turn") == f.col("answer"))
        & (f.col("reply_ns") >= f.col("request_ns")),
        "left",
    )
    taken = messages.where(received & f.col("reply_to").isNotNull()).select(
        f.col("connection").alias("responder"),
        f.col("ts_ns").alias("taken_ns"),
        key.alias("tk"),
        f.col("reply_to").alias("tr"),
        f.col("body_sha256").alias("tb"),
    )
    answered = messages.where((f.col("kind") == "publish") & f.col("correlation_id").isNotNull()).select(
        f.col("connection").alias("ac"), f.col("correlation_id").alias("ak"), f.col("ts_ns").alias("answered_ns")
    )
    first = Window.partitionBy("requester", "request_seq").orderBy("taken_ns", "answered_ns", "responder")
    served = (
        calls.join(
            taken,
            (f.col("tk") == f.col("correlation_id"))
            & f.col("tb").eqNullSafe(f.col("body_sha256"))
            & (f.col("taken_ns") >= f.col("request_ns"))
            & (f.col("reply_ns").isNull() | (f.col("taken_ns") <= f.col("reply_ns"))),
            "left",
        )
        .join(
            answered,
            (f.col("ac") == f.col("responder"))
            & (f.col("ak") == f.col("correlation_id"))
            & (f.col("answered_ns") >= f.col("taken_ns")),
            "left",
        )
        .withColumn("nearest", f.row_number().over(first))
        .where("nearest = 1")
    )
    calls = served.select(
        *("requester", "request_ns", "request_seq", "exchange", "routing_key", "address", "reply_to"),
        *("correlation_id", "reply_ns", "reply_seq"),
        (f.col("reply_ns") - f.col("request_ns")).alias("latency_ns"),
        *("responder", "taken_ns", "answered_ns"),
        (f.col("answered_ns") - f.col("taken_ns")).alias("service_ns"),
    )
    return commented(calls, "rpc")


def _nanoseconds(at: datetime) -> int:
    if at.tzinfo is None:
        raise ValueError(f"{at!r} has no time zone: write datetime(..., tzinfo=timezone.utc)")
    since = at - _EPOCH
    return (since.days * 86_400 + since.seconds) * _NANOSECONDS + since.microseconds * 1000


__all__ = ["histories", "rpc", "topology", "unacked"]
