"""One local session for all of Spark's tests."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from tests.kit import spark_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="session")
def spark_environment() -> dict[str, str]:
    """What a process that starts Spark needs in its environment."""
    pytest.importorskip("pyspark", reason="needs the extra `spark`")
    return spark_session.environment()


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """A session on two cores, whose files are below pytest's folder."""
    pytest.importorskip("pyspark", reason="needs the extra `spark`")
    folder = tmp_path_factory.mktemp("spark")
    more = {"spark.sql.execution.arrow.maxRecordsPerBatch": "1000"}
    with spark_session.session(folder, cores=2, partitions=4, memory="1g", more=more) as made:
        yield made
