"""Runs the command as a user does: in a process of its own, with its streams and its exit status."""

import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import pytest

from tests.cli.conftest import Run
from tests.cli.conftest import cli as cli
from tests.cli.conftest import cli_environment as cli_environment
from tests.cli.conftest import one_line as one_line
from tests.cli.conftest import refuses as refuses
from tests.kit.processes import LIMIT, end, note
from tests.kit.spark_session import SECONDS


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
            timeout=SECONDS,
        )

    return run


class Running:
    """A command that listens."""

    def __init__(self, process: subprocess.Popen[bytes], ready: Path) -> None:
        self.process = process
        self.ready = ready
        deadline = time.monotonic() + LIMIT
        while not ready.exists():
            assert process.poll() is None and time.monotonic() < deadline, process.stderr
            time.sleep(0.02)
        self.addresses = ready.read_text().splitlines()
        self.address = self.addresses[0]
        self.port = int(self.address.rpartition(":")[2])

    def connect(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), timeout=LIMIT)

    def url(self, login: str = "guest:guest", vhost: str = "%2F") -> str:
        return f"amqp://{login}@{self.address}/{vhost}"

    def stop(self, number: signal.Signals = signal.SIGTERM) -> str:
        """End it; returns what it said."""
        self.process.send_signal(number)
        _, err = self.process.communicate(timeout=LIMIT)
        assert self.process.returncode == 0, err.decode()
        return err.decode()


@pytest.fixture
def start(cli_environment: Mapping[str, str], tmp_path: Path) -> Iterator[Callable[..., Running]]:
    """Starts commands, and ends what a failed test leaves."""
    processes: list[subprocess.Popen[bytes]] = []

    def run(*arguments: str | Path, through: Sequence[str] = ()) -> Running:
        ready = tmp_path / f"ready{len(processes)}"
        process = subprocess.Popen(
            [sys.executable, *through, "-m", "amqp_sansio_cli", *map(str, arguments), "--ready-file", str(ready)],
            env=cli_environment,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        note(process.pid, " ".join(map(str, arguments)))
        processes.append(process)
        return Running(process, ready)

    yield run
    for process in processes:
        end(process)
        process.communicate()
