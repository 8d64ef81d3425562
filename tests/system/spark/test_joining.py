"""Histories, topology, unacked messages and calls in Spark: the local engine's rows, however they are spread."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest

from amqp_sansio.recorded.histories import HISTORY_COLUMNS, TOPOLOGY_COLUMNS, Happening, fold_topology, picked, steps_of
from amqp_sansio.recorded.tables import COLUMNS, replay_segments
from tests.kit.captures import named
from tests.kit.tables import collect, segments_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from amqp_sansio_spark import Replay

pytestmark = pytest.mark.spark

NAMES = ("o091_pika_nack_reject_requeue", "o091_concurrent_4_clients", "o10_proton_proton_dynamic_rpc")


@pytest.fixture(scope="module")
def tables(spark: SparkSession) -> Replay:
    from amqp_sansio_spark import register, replay

    register(spark)
    paths = [str(named(f"{name}.pcap")) for name in NAMES]
    return replay(spark.read.format("amqp-capture").load(paths), 4).cache()


@pytest.fixture(scope="module")
def local() -> list[Any]:
    return list(replay_segments(segments_of([named(f"{name}.pcap") for name in NAMES])))


def rows(frame: DataFrame) -> list[str]:
    return sorted([repr(row) for row in collect(frame)])


def test_histories_are_the_local_ones_in_any_partitions(tables: Replay, local: list[Any]) -> None:
    from amqp_sansio_spark import histories, replay

    frame = histories(tables.messages, tables.events, partitions=3)
    assert frame.columns == [name for name, _ in HISTORY_COLUMNS]
    expected = sorted([repr(step) for step in steps_of(local)])
    alone = replay(tables.sorted_segments, 2)
    for each in (frame, histories(tables, partitions=1), histories(alone), histories(alone, partitions=2)):
        assert rows(each) == expected


def test_without_events_only_the_evidence_of_bindings_is_missing(tables: Replay) -> None:
    from amqp_sansio_spark import histories

    told = ("history", "step", "what", "outcome")
    plain = histories(tables.messages, partitions=2)
    helped = histories(tables.messages, tables.events, partitions=2)
    assert rows(plain.select(*told)) == rows(helped.select(*told))
    assert plain.where("evidence like '%binding%'").count() == 0
    assert helped.where("evidence like '%binding%'").count() > 0


def test_the_topology_is_the_local_one(tables: Replay, local: list[Any]) -> None:
    from amqp_sansio_spark import replay, topology

    frame = topology(tables.events)
    assert frame.columns == [name for name, _ in TOPOLOGY_COLUMNS]
    index = picked(Happening._fields, COLUMNS["events"])
    events = [Happening(*[values[at] for at in index]) for table, values in local if table == "events"]
    events.sort(key=lambda event: (event.connection, event.seq))
    for each in (frame, topology(tables), topology(replay(tables.sorted_segments, 3))):
        assert rows(each) == sorted([repr(row) for row in fold_topology(events)])


def test_who_holds_what_at_a_time(tables: Replay, local: list[Any]) -> None:
    from amqp_sansio_spark import unacked

    columns = [name for name, _ in COLUMNS["messages"]]
    messages = [dict(zip(columns, values, strict=True)) for table, values in local if table == "messages"]
    taken = [each for each in messages if each["kind"] in ("deliver", "get") and each["settled_ns"] is not None]
    at = sorted([each["ts_ns"] for each in taken])[len(taken) // 2]
    expected = [
        (each["connection"], each["seq"], at - each["ts_ns"])
        for each in taken
        if each["ts_ns"] <= at < each["settled_ns"]
    ]
    assert expected
    found = [(row["connection"], row["seq"], row["held_ns"]) for row in unacked(tables.messages, at).collect()]
    assert sorted(found) == sorted(expected)
    moment = datetime(2027, 1, 1, tzinfo=UTC)
    assert unacked(tables.messages, moment).count() == 0
    with pytest.raises(ValueError, match="no time zone"):
        unacked(tables.messages, datetime(2027, 1, 1))


def test_calls_and_their_replies(tables: Replay) -> None:
    from amqp_sansio_spark import rpc

    calls = rpc(tables.messages).orderBy("request_ns").collect()
    assert [row["correlation_id"] for row in calls] == ["1", "2", "3"]
    assert {row["reply_to"] for row in calls} == {"dyn-0"}
    assert all([row["latency_ns"] == row["reply_ns"] - row["request_ns"] > 0 for row in calls])


def test_calls_over_a_broker(spark: SparkSession) -> None:
    from amqp_sansio_spark import rpc

    columns = "connection string, ts_ns bigint, seq bigint, kind string, exchange string, routing_key string"
    columns += ", address string, reply_to string, correlation_id string, message_id string, body_sha256 string"
    caller, server = "caller", "server"
    ask = ("", "rpc", None, "replies", "7", None)
    answer = ("", "replies", None, None, "7", None)
    messages = spark.createDataFrame(
        [
            (caller, 10, 1, "publish", *ask, "question"),
            (server, 20, 1, "deliver", *ask, "question"),
            (server, 50, 2, "publish", *answer, "answer"),
            (caller, 60, 2, "deliver", *answer, "answer"),
            # The id is used again, and nobody answers.
            (caller, 70, 3, "publish", *ask, "other"),
            ("stranger", 80, 1, "deliver", *answer, "answer"),
        ],
        columns,
    )
    first, second = rpc(messages).orderBy("request_ns").collect()
    assert (first["latency_ns"], first["responder"], first["service_ns"]) == (50, server, 30)
    assert (second["reply_ns"], second["responder"], second["latency_ns"]) == (None, None, None)


@pytest.mark.parametrize("wrong", [{"partitions": 0}, {"skew_ns": -1}])
def test_arguments_out_of_range(tables: Replay, wrong: dict[str, int]) -> None:
    from amqp_sansio_spark import histories

    with pytest.raises(ValueError, match="or more"):
        histories(tables.messages, **wrong)  # type: ignore[arg-type]
