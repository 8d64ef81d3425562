"""The same rows on a cluster of processes, with workers and executors that are killed in the middle."""

import importlib.util
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from benchmarks.generate import generate
from tests.kit.captures import named
from tests.kit.later import much_later
from tests.kit.spark_session import SECONDS
from tests.kit.tables import digest, local_rows, segments_of

pytestmark = pytest.mark.spark
NAMES = ("o091_pika_confirms.pcap", "o091_aiopika_channels_interleaved.pcap")
VERSIONS = ("0-8", "0-9-1", "0-10", "1.0")

CLUSTER = """
import json, os, signal, sys
from collections.abc import Iterator
from pathlib import Path
from pyspark.sql import SparkSession

folder, followed, *captures = sys.argv[1:]


def once(marker):
    # Whether this is the first call of all processes.
    try:
        os.close(os.open(marker, os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return False
    return True


spark = (
    SparkSession.builder.master("local-cluster[2,1,1024]")
    .config("spark.driver.host", "127.0.0.1")
    .config("spark.driver.memory", "512m")
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
"""

EXECUTOR = """
def executor():
    # Above a worker are the daemon that forked it, and the JVM.
    pid = os.getpid()
    while Path(f"/proc/{pid}/comm").read_text().strip() != "java":
        pid = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    return pid
"""

BATCH = """
import amqp_sansio_spark.worker as worker
from amqp_sansio_spark import register, replay
from tests.kit.tables import digest, spark_rows


def deadly(task, marker, kill=lambda: os._exit(9)):
    # A copy by value goes to the workers: they can't import this program.
    def run(batches):
        worker.OUT_ROWS = 20
        for number, batch in enumerate(task(batches)):
            if number == 1 and once(marker):
                kill()
            yield batch

    return run


register(spark)
segments = spark.read.format("amqp-capture").option("maxBytesPerBatch", "4k").load(captures)
# Workers die while they read, and a whole executor with its share of the shuffle while they replay.
whole = worker.ReplayTask
worker.ReplayTask = lambda *arguments: deadly(
    whole(*arguments), folder + "/replaying", lambda: os.kill(executor(), signal.SIGKILL)
)
reading = deadly(lambda batches: batches, folder + "/reading")
tables = replay(segments.mapInArrow(reading, segments.schema), 2).cache()
batch = digest(spark_rows(tables))
tables.unpersist()
worker.ReplayTask = whole
"""

STREAM = """
from amqp_sansio.recorded.tables import COLUMNS
from amqp_sansio_spark import register, replay_stream, stream_worker
from tests.kit.tables import collect, digest, normal

provider = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
spark.conf.set("spark.sql.streaming.stateStore.providerClass", provider)
spark.conf.set("spark.sql.shuffle.partitions", "2")
streaming = stream_worker.StreamTask


class Deadly(streaming):
    # Of each batch some flows are done when the worker, or the whole executor, is gone.
    calls = 0

    def handleInputRows(self, key, rows, timerValues):
        Deadly.calls += 1
        if Deadly.calls == 2 and once(folder + "/worker"):
            os._exit(9)
        if Deadly.calls == 5 and once(folder + "/executor"):
            os.kill(executor(), signal.SIGKILL)
        yield from streaming.handleInputRows(self, key, rows, timerValues)


stream_worker.StreamTask = Deadly
register(spark)
segments = spark.readStream.format("amqp-capture").option("maxFilesPerTrigger", 1).load(followed)
stream = replay_stream(segments)
stream.write(folder + "/out", checkpoint=folder + "/state", available_now=True).awaitTermination()
found = {}
for table, columns in COLUMNS.items():
    frame = spark.read.parquet(f"{folder}/out/{table}")
    found[table] = normal(table, collect(frame.select(*[name for name, _ in columns])))
spark.stop()
killed = [name for name in ("reading", "replaying", "worker", "executor") if Path(folder, name).exists()]
print(json.dumps({"batch": batch, "stream": digest(found), "killed": killed}))
"""

PROGRAM = CLUSTER + EXECUTOR + BATCH + STREAM
"""One cluster for both: to start its JVMs is most of the work."""


def run(environment: dict[str, str], folder: Path, followed: Path, captures: list[Path]) -> dict[str, Any]:
    """What the program says when it is done."""
    (folder / "scratch").mkdir()
    # Executors of a local cluster work below Spark's home, wherever else they are told to: that is one of their own.
    home = folder / "home"
    home.mkdir()
    pyspark = importlib.util.find_spec("pyspark")
    assert pyspark is not None and pyspark.origin is not None
    for part in Path(pyspark.origin).parent.iterdir():
        if part.name != "work":
            (home / part.name).symlink_to(part)
    ended = subprocess.run(
        [sys.executable, "-c", PROGRAM, *map(str, (folder / "scratch", followed, *captures))],
        env={**environment, "SPARK_HOME": str(home)},
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr[-4000:]
    said: dict[str, Any] = json.loads(ended.stdout.splitlines()[-1])
    return said


def test_workers_and_executors_that_are_killed_change_no_row(spark_environment: dict[str, str], tmp_path: Path) -> None:
    """Neither of a batch, nor of a stream."""
    made = generate(tmp_path / "made", 200_000, versions=VERSIONS, sizes=(500,), messages=10, files=2, faults=0.5)
    paths = [*(named(name) for name in NAMES), *made]
    folder = tmp_path / "captures"
    files = generate(folder, 200_000, versions=VERSIONS, sizes=(500,), messages=10, files=2, faults=0.5)
    expected = local_rows(segments_of(files))
    last = files[-1].read_bytes()
    for number in (1, 2):
        (folder / f"zz{number}.pcap").write_bytes(much_later(last, number))
    found = run(spark_environment, tmp_path, folder, paths)
    assert found["killed"] == ["reading", "replaying", "worker", "executor"]
    assert found["batch"] == digest(local_rows(segments_of(paths)))
    assert found["stream"] == digest(expected)
