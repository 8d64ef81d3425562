"""`amqp-sansio demo`: captures that come with the package, replayed through Spark, and questions to the tables."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.resources import as_file, files
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from amqp_sansio.tables import COLUMNS

from .output import Heading, align, printable, table_lines, write_lines
from .spark import local_session

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from amqp_sansio_spark import Replay

CAPTURES = {
    "confirms.pcap": "pika publishes with confirms; a full queue refuses some",
    "nack-and-requeue.pcap": "pika acknowledges, rejects and requeues deliveries",
    "returns.pcap": "py-amqp publishes what no queue takes",
    "consumer-cancelled.pcap": "a queue is deleted under pika's consumer",
    "channel-errors.pcap": "pika provokes errors that close the channel",
    "version-0-8.pcap": "amqplib speaks AMQP 0-8",
    "outcomes-1.0.pcap": "proton settles deliveries in every way of AMQP 1.0",
    "refused-links-1.0.pcap": "proton attaches links to nodes that aren't there",
    "lost-packet.pcap": "a capture in which one packet is missing",
}
_EVENTS = 12
# So little data is over before better code is compiled.
_SETTINGS = {"spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1"}
_OF_EACH_KIND = 2


class Question(NamedTuple):
    """What somebody asks of recorded traffic, and how the tables answer."""

    text: str
    sql: str


QUESTIONS = (
    Question(
        "Who still holds deliveries that were never settled?",
        """select c.client, coalesce(c.client_product, '') as product, m.routing_key,
                  count(*) as deliveries, sum(m.body_size) as octets
           from messages m join connections c using (connection)
           where m.kind in ('deliver', 'get') and m.outcome is null
           group by all order by deliveries desc, client, routing_key limit 5""",
    ),
    Question(
        "How long from publish to confirm, and from delivery to acknowledgement?",
        """select kind, outcome, count(*) as messages,
                  cast(percentile(latency_ns, 0.5) / 1e6 as decimal(9, 3)) as p50_ms,
                  cast(percentile(latency_ns, 0.95) / 1e6 as decimal(9, 3)) as p95_ms,
                  cast(max(latency_ns) / 1e6 as decimal(9, 3)) as max_ms
           from messages where latency_ns is not null
           group by all order by kind, messages desc""",
    ),
    Question(
        "What was published that no queue took?",
        """select c.client, m.exchange, m.routing_key, count(*) as messages
           from messages m join connections c using (connection)
           where m.kind = 'publish' and m.outcome = 'returned'
           group by all order by client, routing_key limit 5""",
    ),
    Question(
        "Why were channels closed?",
        """select sender, fields:reply_code::int as code, count(*) as times,
                  min(fields:reply_text::string) as for_example
           from events where event = 'channel.close'
           group by all order by times desc, code limit 8""",
    ),
    Question(
        "Which links of AMQP 1.0 ended with an error?",
        """select sender, fields:error.condition::string as condition, count(*) as times,
                  min(substr(fields:error.description::string, 1, 60)) as for_example
           from events where event = 'detach' and fields:error is not null
           group by all order by times desc, condition limit 8""",
    ),
)


def demo_command() -> int:
    """Show the tables and some answers; returns the exit status. Raises CommandError."""
    captures = files("amqp_sansio_cli") / "captures"
    with as_file(captures) as folder, local_session("demo", _SETTINGS) as spark:
        write_lines(_introduction(spark))
        _show(spark, folder)
        write_lines(_AFTERWARDS)
    return 0


def _introduction(spark: SparkSession) -> list[str]:
    cores = spark.sparkContext.defaultParallelism
    return [
        f"{len(CAPTURES)} captures of real traffic, replayed by Spark {spark.version}"
        f" on {cores} core{'' if cores == 1 else 's'}",
        "",
        *(f"  {name:<23} {what}" for name, what in CAPTURES.items()),
    ]


def _show(spark: SparkSession, folder: Path) -> None:
    from amqp_sansio_spark import register, replay

    register(spark)
    paths = [str(folder / name) for name in CAPTURES]
    segments = spark.read.format("amqp-capture").load(paths)
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
    """The rows by time, with fields as JSON, as the local engine has them."""
    from pyspark.sql import functions as f

    frame: DataFrame = getattr(tables, table)
    if table == "events":
        frame = frame.withColumn("fields", f.to_json("fields"))
    if table == "connections":
        return frame.orderBy("opened_ns", "connection")
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
    "  amqp-sansio record --listen 127.0.0.1:5673 --upstream 127.0.0.1:5672 --output FILE.pcapng",
    "or in Python:",
    "  from amqp_sansio_spark import register, replay",
    "  register(spark)",
    '  tables = replay(spark.read.format("amqp-capture").load("captures/*.pcapng"))',
    """  tables.messages.where("kind = 'deliver' and outcome is null").show()""",
)
