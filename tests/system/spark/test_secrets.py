"""The tables of a replay in Spark show no secret, wherever it stands."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from amqp_sansio.capture import Segment
from amqp_sansio.recorded.tables import COLUMNS
from tests.kit.tables import collect
from tests.tables.test_secrets import PLACES, shows
from tests.tables.test_tables import packets

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


def test_no_table_shows_a_secret(spark: SparkSession) -> None:
    """One capture of all conversations, each of them a flow."""
    from amqp_sansio_spark import replay
    from amqp_sansio_spark.segments import SEGMENTS_SCHEMA

    rows: list[tuple[object, ...]] = []
    for number, make in enumerate(PLACES.values()):
        for each in packets(make()):
            values: dict[str, Any] = {name: getattr(each, name) for name in Segment.__match_args__}
            values["point"] = str(number)
            rows.append((Segment(**values).flow, *values.values(), None))
    tables = replay(spark.createDataFrame(rows, SEGMENTS_SCHEMA), 2, body="base64")
    found = {table: collect(getattr(tables, table)) for table in COLUMNS}
    assert len(found["connections"]) == len(PLACES)
    assert found["events"] and found["messages"]
    assert [table for table, made in found.items() if shows(repr(made))] == []
