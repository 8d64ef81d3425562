"""A client of Spark Connect has the rows of the local engine: the source, the replay, the views and the queries."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.kit.captures import named
from tests.kit.spark_session import SECONDS
from tests.kit.tables import digest, local_rows, segments_of

pytestmark = pytest.mark.spark
NAMES = ("o091_concurrent_4_clients.pcap", "o_mixed_4_protocols.pcap")

PROGRAM = """
import json, sys
from pyspark.sql import SparkSession
from amqp_sansio_spark import QUERIES, register, replay
from tests.kit.tables import digest, spark_rows

spark = SparkSession.builder.remote("local[2]").getOrCreate()
spark.conf.set("spark.sql.session.timeZone", "UTC")
register(spark)
tables = replay(spark.read.format("amqp-capture").load(sys.argv[1:]), 2).cache()
found = digest(spark_rows(tables))
register(spark, tables)
stalled = spark.sql(QUERIES["prefetch_starvation"].sql).count()
kind = type(spark).__module__
spark.stop()
print(json.dumps({"digest": found, "stalled": stalled, "kind": kind}))
"""


def test_a_client_of_connect(spark_environment: dict[str, str], tmp_path: Path) -> None:
    pytest.importorskip("grpc", reason="needs pyspark[connect]")
    paths = [named(name) for name in NAMES]
    ended = subprocess.run(
        [sys.executable, "-c", PROGRAM, *map(str, paths)],
        env={**spark_environment, "SPARK_LOCAL_DIRS": str(tmp_path)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr[-4000:]
    said = json.loads(ended.stdout.splitlines()[-1])
    assert said["kind"].startswith("pyspark.sql.connect")
    assert said["digest"] == digest(local_rows(segments_of(paths)))
    assert said["stalled"] == 1
