"""Checks whether Spark's workers run a Python that can import these packages, before a query fails with forty lines."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import warnings
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_SECONDS = 60


def check_workers(spark: SparkSession) -> None:
    """Warn if workers on this machine run a Python other than this one that can't import this package.

    Workers on other machines, and packages shipped by Spark itself, can't be checked: then there is no warning.
    """
    from pyspark.sql.utils import is_remote

    if is_remote():
        return
    context = spark.sparkContext
    given: str = context.pythonExec
    if not (context.master or "").startswith("local") or context.getConf().get("spark.submit.pyFiles", ""):
        return
    found = shutil.which(given)
    if found is None or _same_place(found) or _can_import(found):
        return
    warnings.warn(
        f"Spark's workers run {given} ({found}), which can't import amqp_sansio_spark; activate the environment, "
        f"or set PYSPARK_PYTHON={sys.executable} before the session starts",
        RuntimeWarning,
        stacklevel=3,
    )


def _same_place(found: str) -> bool:
    """Whether a program is in this environment: several environments may link to one interpreter."""
    return os.path.dirname(os.path.abspath(found)) == os.path.dirname(os.path.abspath(sys.executable))


def _can_import(program: str) -> bool:
    ended = subprocess.run(
        [program, "-c", "import amqp_sansio_spark"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=_SECONDS,
        check=False,
    )
    return ended.returncode == 0


__all__ = ["check_workers"]
