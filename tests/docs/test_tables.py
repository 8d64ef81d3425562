"""The pages about tables, and the comments of Spark's schemas, name every column, in its order."""

from __future__ import annotations

import pytest

from amqp_sansio.recorded.histories import HISTORY_COLUMNS, TOPOLOGY_COLUMNS
from amqp_sansio.recorded.tables import COLUMNS
from amqp_sansio_spark.comments import COMMENTS
from tools.docs import events, performance, reference, tables


def test_every_column_has_its_comment_and_its_line() -> None:
    every = {**COLUMNS, "histories": HISTORY_COLUMNS, "topology": TOPOLOGY_COLUMNS}
    assert {name: list(COMMENTS[name]) for name in every} == {
        name: [column for column, _ in columns] for name, columns in every.items()
    }
    assert tables.main(["--check"]) == events.main(["--check"]) == performance.main(["--check"]) == 0


def test_the_reference_is_what_the_code_says() -> None:
    pytest.importorskip("pyspark", reason="the Spark adapter's modules need pyspark")
    assert reference.main(["--check"]) == 0
