"""The cost of a gigabyte of captures in Spark, by the shape of its messages and the job: for docs/sizing.md.

    python benchmarks/sizing.py [--size 256m]

CPU is that of the whole process tree, JVM and Python workers, on all cores of this machine.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROOT = Path(__file__).resolve().parent.parent
SHAPES = (("0-9-1", 128), ("0-9-1", 4096), ("1.0", 128), ("1.0", 4096))


class Cost(NamedTuple):
    """The cost of one job on one shape."""

    cpu: float
    """Seconds, of all processes."""
    wall: float
    """Seconds."""


def main() -> int:
    """Measure, and print a table for each shape."""
    sys.path[:0] = [str(ROOT), str(ROOT / "adapters" / "spark")]
    from benchmarks.generate import generate, octets_of
    from benchmarks.spark_bench import GB, cpu_of_tree, jobs, session

    parser = argparse.ArgumentParser(description="Measures what captures cost in Spark.")
    parser.add_argument("--size", type=octets_of, default=256 << 20, help="of each shape; k, m, g (default 256m)")
    size: int = parser.parse_args().size

    with tempfile.TemporaryDirectory() as folder:
        spark = session(folder, 2)
        work = jobs(spark, folder)
        for version, octets in SHAPES:
            warm = generate(Path(folder) / "warm", 8 << 20, versions=(version,), sizes=(octets,), files=2)[0].parent
            traffic = generate(Path(folder) / "traffic", size, versions=(version,), sizes=(octets,), files=4)[0].parent
            total = sum(path.stat().st_size for path in traffic.iterdir())
            rows = counts(spark, traffic)
            amounts = [f"{amount / total * GB:,.0f} {what}/GB" for what, amount in rows.items()]
            print(f"\n{version}, {octets} octets: {', '.join(amounts)}")
            for name, job in work.items():
                job(warm)
                cost = measured(partial(job, traffic), cpu_of_tree)
                scale = GB / total
                print(f"  {name:24} {cost.cpu * scale:7.1f} CPU s/GB {cost.wall * scale:7.1f} s/GB", flush=True)
            written = sum(path.stat().st_size for path in (Path(folder) / "out").rglob("*.parquet"))
            print(f"  Parquet {written / total:.3f} of the captures' octets", flush=True)
            shutil.rmtree(warm)
            shutil.rmtree(traffic)
        spark.stop()
    return 0


def counts(spark: SparkSession, traffic: Path) -> dict[str, int]:
    """Return the numbers of a capture's rows."""
    from amqp_sansio_spark import replay
    from benchmarks.spark_bench import PARTITIONS, read

    replayed = replay(read(spark, traffic), PARTITIONS)
    return {
        "segments": read(spark, traffic).count(),
        "events": replayed.events.count(),
        "messages": replayed.messages.count(),
        "connections": replayed.connections.count(),
    }


def measured(job: Callable[[], None], cpu_of_tree: Callable[[Callable[[], None]], float]) -> Cost:
    """Return the cheaper of two runs."""
    found: list[Cost] = []
    for _ in range(2):
        began = time.perf_counter()
        cpu = cpu_of_tree(job)
        found.append(Cost(cpu, time.perf_counter() - began))
    return min(found)


if __name__ == "__main__":
    sys.exit(main())
