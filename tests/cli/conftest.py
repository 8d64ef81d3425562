"""Runs the command in this process or, as a user does, in one of its own: with its streams and its exit status."""

import io
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
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


class Running:
    """A command that listens."""

    def __init__(self, process: subprocess.Popen[bytes], ready: Path) -> None:
        self.process = process
        self.ready = ready
        deadline = time.monotonic() + 20
        while not ready.exists():
            assert process.poll() is None and time.monotonic() < deadline, process.stderr
            time.sleep(0.02)
        self.address = ready.read_text().strip()
        self.port = int(self.address.rpartition(":")[2])

    def connect(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), timeout=20)

    def url(self, login: str = "guest:guest", vhost: str = "%2F") -> str:
        return f"amqp://{login}@{self.address}/{vhost}"

    def stop(self, number: signal.Signals = signal.SIGTERM) -> str:
        """End it; returns what it said."""
        self.process.send_signal(number)
        _, err = self.process.communicate(timeout=20)
        assert self.process.returncode == 0, err.decode()
        return err.decode()


@pytest.fixture
def start(cli_environment: Mapping[str, str], tmp_path: Path) -> Iterator[Callable[..., Running]]:
    """Starts commands, and kills what a failed test leaves."""
    processes: list[subprocess.Popen[bytes]] = []

    def run(*arguments: str | Path) -> Running:
        ready = tmp_path / f"ready{len(processes)}"
        process = subprocess.Popen(
            [sys.executable, "-m", "amqp_sansio_cli", *map(str, arguments), "--ready-file", str(ready)],
            env=cli_environment,
            stderr=subprocess.PIPE,
        )
        processes.append(process)
        return Running(process, ready)

    yield run
    for process in processes:
        if process.poll() is None:
            process.kill()
        process.communicate()
