"""Runs the command in this process or, as a user does, in one of its own: with its streams and its exit status."""

import io
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from tempfile import TemporaryFile
from unittest import mock

import pytest

from amqp_sansio_cli.main import main

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
    """Call with the command's arguments; runs it in this process, which saves the start of another."""

    def run(
        *arguments: str | Path, stdin: bytes = b"", env: Mapping[str, str] | None = None, cwd: Path | None = None
    ) -> subprocess.CompletedProcess[str]:
        with (
            pytest.MonkeyPatch.context() as patch,
            TemporaryFile() as given,
            TemporaryFile() as out,
            TemporaryFile() as err,
            mock.patch.dict(os.environ, {**cli_environment, **(env or {})}, clear=True),
        ):
            given.write(stdin)
            given.seek(0)
            for name, file in (("stdin", given), ("stdout", out), ("stderr", err)):
                patch.setattr(sys, name, io.TextIOWrapper(file, write_through=True))
            if cwd is not None:
                patch.chdir(cwd)
            status: object
            try:
                status = main([str(each) for each in arguments])
            except SystemExit as ended:
                status = ended.code
            assert isinstance(status, int)
            texts: list[str] = []
            for file in (out, err):
                file.seek(0)
                texts.append(file.read().decode())
        return subprocess.CompletedProcess(arguments, status, *texts)

    return run


@pytest.fixture(scope="session")
def process(cli_environment: Mapping[str, str]) -> Run:
    """As `cli`, in a process of its own: for what imports Spark, or must not find what the tests have imported."""

    def run(
        *arguments: str | Path, env: Mapping[str, str] | None = None, cwd: Path | None = None
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "amqp_sansio_cli", *map(str, arguments)],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            env={**cli_environment, **(env or {})},
            cwd=cwd,
            check=False,
            timeout=300,
        )

    return run
