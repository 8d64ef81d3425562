"""Runs the command as a user does: a process of its own, with its streams and its exit status."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PATHS = (".", "adapters/asyncio", "adapters/sync", "adapters/spark", "adapters/cli", "adapters/report")

Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="session")
def cli_environment() -> Mapping[str, str]:
    """The environment in which the command finds these packages, installed or not."""
    environment = {**os.environ, "COLUMNS": "120"}
    environment["PYTHONPATH"] = os.pathsep.join(str(ROOT / path) for path in PATHS)
    environment.pop("PYSPARK_PYTHON", None)
    # A command is over before better code is compiled.
    environment["SPARK_SUBMIT_OPTS"] = "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=240m"
    return environment


@pytest.fixture(scope="session")
def cli(cli_environment: Mapping[str, str]) -> Run:
    """Call with the command's arguments; returns the finished process."""

    def run(
        *arguments: str | Path,
        stdin: bytes | None = None,
        env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
    ) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            [sys.executable, "-m", "amqp_sansio_cli", *map(str, arguments)],
            input=stdin,
            stdin=None if stdin is not None else subprocess.DEVNULL,
            capture_output=True,
            env={**cli_environment, **(env or {})},
            cwd=cwd,
            check=False,
            timeout=300,
        )
        out, err = done.stdout.decode(), done.stderr.decode()
        return subprocess.CompletedProcess(done.args, done.returncode, out, err)

    return run
