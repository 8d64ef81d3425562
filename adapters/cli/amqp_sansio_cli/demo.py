"""`amqp-sansio demo`: records clients of every version on the embedded broker, replays that in Spark, queries it."""

from __future__ import annotations

import asyncio
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from amqp_sansio.errors import AmqpError
from amqp_sansio.printing import printable
from amqp_sansio.recorded.tables import COLUMNS

from .demo_traffic import MESSAGES, ROUTES, record_traffic
from .errors import CommandError
from .output import Heading, align, table_lines, write_lines
from .spark import local_session

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from amqp_sansio_spark import Replay

_EVENTS = 12
# So little data is processed before better code is compiled; without the second option there is little room for that.
_SETTINGS = {"spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=128m"}
_OF_EACH_KIND = 2


class Question(NamedTuple):
    """A question about recorded traffic, and the query that answers it."""

    text: str
    sql: str


QUESTIONS = (
    Question(
        "What happened to every message, across connections and versions?",
        """with published as (
             select body_sha256, min(ts_ns) as ts_ns, min_by(protocol, ts_ns) as protocol,
                    min_by(routing_key, ts_ns) as routing_key, min_by(address, ts_ns) as address,
                    min_by(coalesce(outcome, ''), ts_ns) as outcome
             from messages where kind = 'publish' group by body_sha256),
           delivered as (
             select body_sha256, max(settled_ns) as settled_ns,
                    array_join(transform(array_sort(collect_list(struct(ts_ns, protocol, outcome))),
                      each -> concat(each.protocol, ' ', coalesce(each.outcome, 'unsettled'))), ', ') as deliveries
             from messages where kind in ('deliver', 'get') group by body_sha256)
           select coalesce(nullif(p.routing_key, ''), p.address) as queue, p.protocol as published, p.outcome,
                  coalesce(d.deliveries, 'nobody') as delivered,
                  cast((d.settled_ns - p.ts_ns) / 1e6 as decimal(9, 1)) as ms
           from published p left join delivered d using (body_sha256) order by queue, p.ts_ns""",
    ),
    Question(
        "Who still holds deliveries that were never settled?",
        """select c.client, c.protocol, coalesce(c.client_product, '') as product,
                  count(*) as deliveries, sum(m.body_size) as octets
           from messages m join connections c using (connection)
           where m.kind in ('deliver', 'get') and m.outcome is null
           group by all order by c.protocol limit 5""",
    ),
    Question(
        "How long from publish to confirm, and from delivery to acknowledgement?",
        """select kind, protocol, outcome, count(*) as messages,
                  cast(percentile(latency_ns, 0.5) / 1e6 as decimal(9, 3)) as p50_ms,
                  cast(percentile(latency_ns, 0.95) / 1e6 as decimal(9, 3)) as p95_ms,
                  cast(max(latency_ns) / 1e6 as decimal(9, 3)) as max_ms
           from messages where latency_ns is not null
           group by all order by kind, protocol, messages desc""",
    ),
    Question(
        "Why did channels and links end with an error?",
        """select event, protocol,
                  coalesce(fields:reply_code::string, fields:error.condition::string) as code,
                  min(substr(coalesce(fields:reply_text::string, fields:error.description::string), 1, 60))
                    as for_example
           from events
           where (event = 'channel.close' and fields:reply_code::int <> 200)
              or (event = 'detach' and fields:error is not null)
           group by all order by event""",
    ),
)


def demo_command() -> int:
    """Record traffic, show its tables and some answers; return the exit status. Raises CommandError."""
    with tempfile.TemporaryDirectory(prefix="amqp-sansio-demo-") as folder:
        recording = Path(folder, "demo.pcapng")
        with local_session("demo", _SETTINGS) as spark:
            try:
                asyncio.run(record_traffic(recording))
            except (OSError, AmqpError, TimeoutError) as error:
                raise CommandError(f"the traffic for the demo can't be made: {error}") from error
            write_lines(_introduction(spark, recording))
            _show(spark, recording)
        write_lines(_AFTERWARDS)
    return 0


def _introduction(spark: SparkSession, recording: Path) -> list[str]:
    cores = spark.sparkContext.defaultParallelism
    size = os.path.getsize(recording)
    return [
        "The embedded broker served clients of four versions at once, each publishing to the next:",
        "",
        *(f"  {route.publisher.label:<6} to {route.consumer.label:<6} {MESSAGES} messages" for route in ROUTES),
        "",
        f"Its recording, {size:,} octets of pcapng, replayed by Spark {spark.version}"
        f" on {cores} core{'' if cores == 1 else 's'}:",
    ]


def _show(spark: SparkSession, recording: Path) -> None:
    from amqp_sansio_spark import register, replay

    register(spark)
    segments = spark.read.format("amqp-capture").load(str(recording))
    tables = replay(segments, spark.sparkContext.defaultParallelism).cache()
    for table in COLUMNS:
        getattr(tables, table).createOrReplaceTempView(table)
    sums = ", ".join(f"(select count(*) from {table}) as {table}" for table in COLUMNS)
    counts = spark.sql(f"select {sums}").collect()[0].asDict()
    for table in COLUMNS:
        count = counts[table]
        title = f"== {table}: {count:,} row{'' if count == 1 else 's'}"
        frame = _in_order(tables, table)
        if table == "events":
            title += f", the first {_EVENTS}"
            frame = frame.limit(_EVENTS)
        elif table == "messages":
            title += f", {_OF_EACH_KIND} of each kind and outcome"
            frame = _some_of_each_kind(frame)
        rows: list[tuple[object, ...]] = [tuple(row) for row in frame.collect()]
        write_lines(["", title, *table_lines(table, rows)])
    for question in QUESTIONS:
        write_lines(["", f"== {question.text}", *_answer(spark, question.sql)])


def _in_order(tables: Replay, table: str) -> DataFrame:
    """Return the rows by time, with fields as JSON, as in the local engine."""
    from pyspark.sql import functions as f

    frame: DataFrame = getattr(tables, table)
    if table == "events":
        frame = frame.withColumn("fields", f.to_json("fields"))
    if table == "connections":
        return frame.orderBy("opened_ns", "connection")
    if table == "consumers":
        return frame.orderBy("opened_ns", "connection", "channel", "consumer")
    return frame.orderBy("ts_ns", "connection", "seq")


def _some_of_each_kind(messages: DataFrame) -> DataFrame:
    from pyspark.sql import Window
    from pyspark.sql import functions as f

    each = Window.partitionBy("kind", "outcome").orderBy("ts_ns", "connection", "seq")
    return (
        messages.withColumn("number", f.row_number().over(each))
        .where(f.col("number") <= _OF_EACH_KIND)
        .drop("number")
        .orderBy("ts_ns", "connection", "seq")
    )


def _answer(spark: SparkSession, sql: str) -> Iterator[str]:
    frame = spark.sql(sql)
    found: list[tuple[object, ...]] = [tuple(row) for row in frame.collect()]
    rows = [["" if value is None else printable(str(value)) for value in row] for row in found]
    if not rows:
        return iter(["nothing"])
    headings = [
        Heading(name.replace("_", " "), right=kind != "string", least=12 * (kind == "string"))
        for name, kind in frame.dtypes
    ]
    return align(headings, rows)


_AFTERWARDS = (
    "",
    "== The same with your captures",
    "  amqp-sansio replay FILE... --table messages --format table",
    "  amqp-sansio lint FILE...",
    "  amqp-sansio broker --record FILE.pcapng",
    "  amqp-sansio record --listen 127.0.0.1:5673 --upstream 127.0.0.1:5672 --output FILE.pcapng",
    "or in Python:",
    "  from amqp_sansio_spark import register, replay",
    "  register(spark)",
    '  tables = replay(spark.read.format("amqp-capture").load("captures/*.pcapng"))',
    """  tables.messages.where("kind = 'deliver' and outcome is null").show()""",
)
