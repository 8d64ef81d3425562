"""The worked queries answer their questions, on recorded traffic and on small tables whose answer is plain."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

from amqp_sansio.capture import Segment
from amqp_sansio.recorded.instants import states
from tests.kit.captures import named
from tests.kit.tables import segments_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

NAMES = (
    "o091_pika_nack_reject_requeue",
    "o091_pika_channel_errors",
    "o091_pyamqp_mandatory_return",
    "o091_concurrent_4_clients",
    "o10_proton_proton_dynamic_rpc",
    "o091_pika_blocked",
)
SECOND = 1_000_000_000


@pytest.fixture(scope="module")
def recorded(spark: SparkSession) -> Iterator[None]:
    """Views of captures."""
    from amqp_sansio_spark import register, replay

    register(spark)
    paths = [str(named(f"{name}.pcap")) for name in NAMES]
    tables = replay(spark.read.format("amqp-capture").load(paths), 4).cache()
    register(spark, tables)
    yield
    tables.unpersist()


def ask(spark: SparkSession, name: str) -> list[dict[str, Any]]:
    from amqp_sansio_spark import QUERIES

    return [row.asDict() for row in spark.sql(QUERIES[name].sql).collect()]


def test_a_prefix_that_is_no_name(spark: SparkSession, recorded: None) -> None:
    from amqp_sansio_spark import register, replay

    tables = replay(spark.read.format("amqp-capture").load(str(named("o091_pika_channel_errors.pcap"))))
    with pytest.raises(ValueError, match="can't begin with"):
        register(spark, tables, prefix="my-")
    register(spark, tables, prefix="mine_")
    assert spark.sql("select count(*) as n from mine_connections").first()["n"] == 2  # type: ignore[index]


def test_sql_shows_the_meaning_of_every_column(spark: SparkSession, recorded: None) -> None:
    from amqp_sansio_spark.comments import COMMENTS
    from amqp_sansio_spark.views import VIEWS

    for view in VIEWS:
        shown = {row["col_name"]: row["comment"] for row in spark.sql(f"describe amqp_{view}").collect()}
        assert shown == COMMENTS["messages" if view == "unacked" else view]


def test_channel_closes(spark: SparkSession, recorded: None) -> None:
    found = {row["code"]: row["closes"] for row in ask(spark, "channel_closes")}
    assert found == {403: 2, 404: 2, 405: 1, 406: 2}


def test_slowest_consumers(spark: SparkSession, recorded: None) -> None:
    found = ask(spark, "slowest_consumers")
    assert found == sorted(found, key=lambda row: (-row["p99_ms"], -row["settled"]))
    assert {"rabbitmq-c", "py-amqp", "Pika Python Client Library"} <= {row["client_product"] for row in found}
    assert all([0 < row["p50_ms"] <= row["p99_ms"] <= row["max_ms"] for row in found])


def test_unroutable(spark: SparkSession, recorded: None) -> None:
    found = [(row["routing_key"], row["text"], row["publishes"]) for row in ask(spark, "unroutable")]
    assert found == [("nowhere.1", "NO_ROUTE", 1), ("nowhere.2", "NO_ROUTE", 1)]


def test_prefetch_starvation(spark: SparkSession, recorded: None) -> None:
    [row] = ask(spark, "prefetch_starvation")
    assert (row["client_product"], row["prefetch"], row["most_held"]) == ("rabbitmq-c", 2, 2)
    assert row["full_ms"] > 0


def test_redelivery_storms(spark: SparkSession, recorded: None) -> None:
    assert [row["redeliveries"] for row in ask(spark, "redelivery_storms")] == [2, 1]


def test_what_was_open_at_an_instant(spark: SparkSession, recorded: None) -> None:
    """The query's own instant is of the blocked connection; the view agrees with the observers at others."""
    assert [row["kind"] for row in ask(spark, "open_at")] == ["connection", "blocked"]
    wanted = {(row.connection, row.consumer) for row in spark.table("amqp_consumers").collect()}
    opened = spark.sql("select connection, name from amqp_open where kind = 'consumer'").collect()
    assert opened and {tuple(row) for row in opened} <= wanted
    for name in ("o091_concurrent_4_clients", "o091_pika_nack_reject_requeue"):
        found = [each for each in segments_of([named(f"{name}.pcap")]) if isinstance(each, Segment)]
        times = sorted({each.ts_ns for each in found})
        instants = times[10 :: len(times) // 4]
        for at_ns, rows in zip(instants, states(found, instants), strict=True):
            names = "','".join({row.connection for row in rows})
            sql = f"select connection, seq from amqp_open where kind in ('delivery', 'publish') and from_ns <= {at_ns}"
            query = f"{sql} and until_ns > {at_ns} and connection in ('{names}')"
            wanted = {(row.connection, row.seq) for row in rows if row.kind in ("delivery", "publish")}
            assert {tuple(row) for row in spark.sql(query).collect()} == wanted


def test_churn(spark: SparkSession, recorded: None) -> None:
    first = ask(spark, "churn")[0]
    assert (first["host"], first["client_product"], first["connections"]) == ("127.0.0.1", "rabbitmq-c", 7)
    assert first["channels_each"] == 1.0


def test_never_delivered(spark: SparkSession, recorded: None) -> None:
    found = {row["routing_key"]: row["answer"] for row in ask(spark, "never_delivered") if row["exchange"] is not None}
    assert found.items() >= {"nowhere.1": "returned", "nowhere.2": "returned", "k": None}.items()


def test_credit_stalls(spark: SparkSession, recorded: None) -> None:
    # The client grants one at a time: after each of the three replies it gives credit again at once.
    [row] = [row for row in ask(spark, "credit_stalls") if row["never_granted"] == 0]
    assert row["stalls"] == 3
    assert row["waited_ms"] > 0


def test_unacked(spark: SparkSession) -> None:
    # Its views are no other test's.
    spark = spark.newSession()
    spark.sql(
        "select * from values ('c', 'host:1', 'pika', 'guest') as t(connection, client, client_product, user)"
    ).createOrReplaceTempView("amqp_connections")
    spark.sql(
        "select * from values ('c', 'jobs', 'tag', 2000000L), ('c', 'jobs', 'tag', 1000000L) as "
        "t(connection, queue, consumer_tag, ts_ns)"
    ).createOrReplaceTempView("amqp_unacked")
    [row] = ask(spark, "unacked")
    assert (row["client"], row["queue"], row["held"]) == ("host:1", "jobs", 2)
    assert row["oldest"].microsecond == 1000


def test_heartbeat_gaps(spark: SparkSession) -> None:
    spark = spark.newSession()
    spark.sql(
        "select * from values ('c', 'host:1', 'pika', 2L, 'transport', 'reset') as "
        "t(connection, client, client_product, heartbeat, closed_by, ended_by)"
    ).createOrReplaceTempView("amqp_connections")
    times = [0, 1, 2, 7, 8]
    rows = ", ".join([f"('c', 'client', {seq}, {at * SECOND}L)" for seq, at in enumerate(times)])
    events = spark.sql(f"select * from values {rows} as t(connection, sender, seq, ts_ns)")
    events.createOrReplaceTempView("amqp_events")
    [row] = ask(spark, "heartbeat_gaps")
    assert (row["sender"], row["heartbeat_s"], float(row["longest_s"])) == ("client", 2, 5.0)
