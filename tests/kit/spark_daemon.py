"""Spark's daemon that forks Python workers, with the modules imported once that else each of them imports.

Spark's own imports nothing of them, because some start threads; here none has one when the daemon forks.
"""

from __future__ import annotations

import gc
import importlib
import sys
import threading

MODULES = (
    "pandas",
    "pyarrow",
    "pyarrow.compute",
    "pyspark.worker",
    "amqp_sansio_spark.hot_worker",
    "amqp_sansio_spark.join_worker",
    "amqp_sansio_spark.source",
    "amqp_sansio_spark.stream_source",
    "amqp_sansio_spark.stream_worker",
    "amqp_sansio_spark.worker",
    "pyspark_amqp_capture",
)


def main() -> None:
    """Import what a task needs, then fork for whoever asks; the argument is the module that a worker runs."""
    from pyspark.daemon import manager

    # There is a daemon for each module of Spark that a worker runs: one plans a read in a single worker, for example.
    if sys.argv[1] == "pyspark.worker":
        for name in MODULES:
            importlib.import_module(name)
    if threading.active_count() != 1:
        raise RuntimeError(f"the daemon has threads, which no fork takes along: {threading.enumerate()}")
    gc.freeze()
    manager()


if __name__ == "__main__":
    main()
