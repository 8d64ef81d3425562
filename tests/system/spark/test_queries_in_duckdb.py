"""The worked queries and the views give the same rows in Spark and in DuckDB, over every capture of the repository."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from amqp_sansio.capture import Segment, sort_key
from amqp_sansio.recorded.tables import replay_flows, servers_of
from amqp_sansio_arrow.database import PREFIX, VIEWS, database
from amqp_sansio_arrow.queries import QUERIES
from amqp_sansio_arrow.whole import TABLES
from tests.kit.captures import CARRIED
from tests.kit.tables import segments_of

if TYPE_CHECKING:
    import duckdb
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def engines(spark: SparkSession) -> Iterator[tuple[SparkSession, duckdb.DuckDBPyConnection]]:
    """Both engines, with the views of all captures."""
    from amqp_sansio_spark import register, replay

    register(spark)
    paths = [str(path) for path in alike(sorted([path for path in CARRIED.iterdir() if ".pcap" in path.name]))]
    assert len(paths) > 90
    tables = replay(spark.read.format("amqp-capture").load(paths), 2).cache()
    register(spark, tables)
    with database(paths) as connection:
        yield spark, connection
    tables.unpersist()


def alike(paths: Sequence[Path]) -> list[Path]:
    """The captures without those that others tell the servers of, which Spark doesn't know."""
    segments = [each for each in segments_of(paths) if isinstance(each, Segment)]
    servers = servers_of(segments)
    flows: dict[str, list[Segment]] = {}
    for each in sorted(segments, key=sort_key):
        flows.setdefault(each.flow, []).append(each)
    told = [
        found
        for flow, found in flows.items()
        if list(replay_flows([(flow, found)], servers=servers)) != list(replay_flows([(flow, found)]))
    ]
    names = {each.file for found in told for each in found}
    return [path for path in paths if path.name not in names]


@pytest.mark.parametrize("name", QUERIES)
def test_worked_queries_agree(engines: tuple[SparkSession, duckdb.DuckDBPyConnection], name: str) -> None:
    assert len(agree(engines, QUERIES[name].sql)) >= (name != "unacked")


@pytest.mark.parametrize("name", [*TABLES, *VIEWS])
def test_views_agree(engines: tuple[SparkSession, duckdb.DuckDBPyConnection], name: str) -> None:
    assert len(agree(engines, f"select * from {PREFIX}{name}")) >= (name != "unacked")


def agree(engines: tuple[SparkSession, duckdb.DuckDBPyConnection], sql: str) -> list[list[object]]:
    spark, connection = engines
    frame = spark.sql(sql)
    result = connection.execute(sql)
    names = [each[0] for each in result.description]
    assert frame.columns == names
    ours = sorted([[plain(value) for value in row] for row in result.fetchall()], key=text)
    collected: list[Any] = frame.collect()
    theirs = sorted([[plain(value) for value in row] for row in collected], key=text)
    assert len(ours) == len(theirs)
    for our, their in zip(ours, theirs, strict=True):
        # The engines round a half of a thousandth up or down.
        assert [value for value in our if not isinstance(value, float)] == [
            value for value in their if not isinstance(value, float)
        ]
        numbers = [value for value in our if isinstance(value, float)]
        assert numbers == pytest.approx([value for value in their if isinstance(value, float)], abs=0.0015, rel=0)
    return ours


def text(row: list[object]) -> str:
    """What rows are sorted by: numbers to a tenth."""
    return json.dumps([round(value, 1) if isinstance(value, float) else value for value in row], sort_keys=True)


def plain(value: Any) -> object:
    """A value as both engines have it: a VARIANT's JSON and JSON's text parsed, moments in UTC, decimals as floats."""
    if isinstance(value, datetime):
        moment = value if value.tzinfo else value.astimezone(UTC)
        return moment.astimezone(UTC).isoformat()
    if type(value).__name__ == "VariantVal":
        return json.loads(value.toJson())
    if isinstance(value, str) and value.startswith(("{", '["')):
        return json.loads(value)
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else value
