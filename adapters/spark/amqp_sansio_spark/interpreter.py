"""Prepares the Python of Spark's workers, before a query fails with forty lines, and makes errors of a read short."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import warnings
from collections.abc import Generator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

_SECONDS: Final = 60
_CHOSEN: Final = ("spark.pyspark.python", "spark.pyspark.driver.python")
_HIDE: Final = "SPARK_HIDE_TRACEBACK"
"""With it in its environment, a worker reports an exception without the traceback."""


def prepare_workers(spark: SparkSession) -> None:
    """Let workers on this machine import these packages.

    If they can't, and nobody has chosen their Python (PYSPARK_PYTHON, spark.pyspark.python), they run this interpreter,
    with the folders that these packages were imported from. If somebody has, a warning says in one line what to set.
    Workers on other machines, and packages shipped by Spark itself, can't be checked.
    """
    context = _context(spark)
    if context is None or not (context.master or "").startswith("local"):
        return
    if context.getConf().get("spark.submit.pyFiles", ""):
        return
    given: str = context.pythonExec
    found = shutil.which(given)
    if found is None or _can_import(found, _path(context)):
        return
    chosen = "PYSPARK_PYTHON" in os.environ or any(context.getConf().contains(name) for name in _CHOSEN)
    if chosen and not _same_place(found):
        warnings.warn(
            f"Spark's workers run {given} ({found}), which can't import amqp_sansio_spark; activate the environment, "
            f"or set PYSPARK_PYTHON={sys.executable} before the session starts",
            RuntimeWarning,
            stacklevel=3,
        )
        return
    context.pythonExec = sys.executable
    if not _can_import(sys.executable, _path(context)):
        context.environment["PYTHONPATH"] = os.pathsep.join([*_folders(), _path(context)]).rstrip(os.pathsep)


@contextmanager
def short_errors(spark: SparkSession) -> Generator[None]:
    """Within it, functions and sources that are given to Spark report their exceptions in one line."""
    context = _context(spark)
    if context is None or _HIDE in context.environment:
        yield
        return
    context.environment[_HIDE] = "1"
    try:
        yield
    finally:
        del context.environment[_HIDE]


def _context(spark: SparkSession) -> SparkContext | None:
    """Return the session's context; a session of Spark Connect has none."""
    from pyspark.sql.utils import is_remote

    return None if is_remote() else spark.sparkContext


def _path(context: SparkContext) -> str:
    """Return the PYTHONPATH of workers."""
    path: str = context.environment.get("PYTHONPATH", os.environ.get("PYTHONPATH", ""))
    return path


def _same_place(found: str) -> bool:
    """Whether a program is in this environment: several environments may link to one interpreter."""
    return os.path.dirname(os.path.abspath(found)) == os.path.dirname(os.path.abspath(sys.executable))


@cache
def _can_import(program: str, path: str) -> bool:
    """Whether an interpreter finds these packages, with `path` as its PYTHONPATH."""
    ended = subprocess.run(
        [program, "-c", "import amqp_sansio_spark.worker"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        env={**os.environ, "PYTHONPATH": path},
        timeout=_SECONDS,
        check=False,
    )
    return ended.returncode == 0


def _folders() -> list[str]:
    """Return the folders of the packages that tasks import."""
    import amqp_sansio
    import amqp_sansio_arrow
    import amqp_sansio_report

    files = [__file__, amqp_sansio.__file__, amqp_sansio_arrow.__file__, amqp_sansio_report.__file__]
    return list(dict.fromkeys([str(Path(file or "").resolve().parents[1]) for file in files]))


__all__ = ["prepare_workers", "short_errors"]
