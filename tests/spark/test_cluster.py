"""The same rows on a cluster of processes, with workers that are killed in the middle."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.captures import named
from tests.support.tables import digest, local_rows, segments_of

pytestmark = [pytest.mark.spark, pytest.mark.slow]
NAMES = ("o091_pika_confirms.pcap", "o091_aiopika_channels_interleaved.pcap")

PROGRAM = """
import json, os, shutil, sys
from collections.abc import Iterator
from pathlib import Path
import pyspark
from pyspark.sql import SparkSession
import amqp_sansio_spark.worker as worker
from amqp_sansio_spark import register, replay
from tests.support.tables import digest, spark_rows

folder, *captures = sys.argv[1:]


def deadly(task, marker):
    # A copy by value goes to the workers: they can't import this program.
    def run(batches):
        for number, batch in enumerate(task(batches)):
            if number == 1:
                try:
                    os.close(os.open(marker, os.O_CREAT | os.O_EXCL))
                except FileExistsError:
                    pass
                else:
                    os._exit(9)
            yield batch

    return run


spark = (
    SparkSession.builder.master("local-cluster[2,1,1024]")
    .config("spark.driver.host", "127.0.0.1")
    .config("spark.driver.memory", "512m")
    .config("spark.driver.extraJavaOptions", "-XX:TieredStopAtLevel=1")
    .config("spark.executor.extraJavaOptions", "-XX:TieredStopAtLevel=1")
    .config("spark.executor.memory", "512m")
    .config("spark.local.dir", folder)
    .config("spark.sql.warehouse.dir", folder + "/warehouse")
    .config("spark.ui.enabled", "false")
    .config("spark.ui.showConsoleProgress", "false")
    .config("spark.log.level", "OFF")
    .config("spark.sql.session.timeZone", "UTC")
    .config("spark.sql.execution.arrow.maxRecordsPerBatch", "20")
    .getOrCreate()
)
register(spark)
segments = spark.read.format("amqp-capture").option("maxBytesPerBatch", "4k").load(captures)
# Workers die while they read, and while they replay.
whole = worker.ReplayTask
worker.OUT_ROWS = 20
worker.ReplayTask = lambda tables, body: deadly(whole(tables, body), folder + "/replaying")
reading = deadly(lambda batches: batches, folder + "/reading")
tables = replay(segments.mapInArrow(reading, segments.schema), 2).cache()
found = digest(spark_rows(tables))
home = Path(pyspark.__file__).parent / "work" / spark.sparkContext.applicationId
spark.stop()
# Executors of a local cluster work below Spark's own folder, wherever else they are told to.
shutil.rmtree(home, ignore_errors=True)
if home.parent.is_dir() and not any(home.parent.iterdir()):
    home.parent.rmdir()
print(json.dumps({"digest": found, "killed": sorted(p.name for p in Path(folder).glob("re*ing"))}))
"""


def test_workers_that_are_killed_change_no_row(
    spark_environment: dict[str, str], tmp_path: Path
) -> None:
    paths = [named(name) for name in NAMES]
    run = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(tmp_path), *map(str, paths)],
        env=spark_environment,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert run.returncode == 0, run.stderr[-4000:]
    found = json.loads(run.stdout.splitlines()[-1])
    assert found["killed"] == ["reading", "replaying"]
    assert found["digest"] == digest(local_rows(segments_of(paths)))
