"""The broker of this project as a program, for clients of other projects: one process and one port for all versions."""

import sys
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.interop.brokers.process import Program


@dataclass(frozen=True)
class Embedded:
    """A running `amqp-sansio broker`. It says of itself what RabbitMQ's client for 1.0 insists on."""

    host: str
    port: int
    pid: int
    user: str = "guest"
    password: str = "guest"

    @property
    def url(self) -> str:
        """Where it listens, for every version."""
        return f"amqp://{self.user}:{self.password}@{self.host}:{self.port}/%2F"

    def describe(self) -> str:
        """One line for people."""
        return f"amqp-sansio broker: {self.host}:{self.port}, pid {self.pid}"


@contextmanager
def run_embedded(folder: Path, *options: str) -> Generator[Embedded]:
    """A broker in a process of its own, with `options` of the command besides; what it says is in `folder`."""
    ready = folder / "ready"
    arguments = ["--listen", "127.0.0.1:0", "--ready-file", str(ready), "--product", "RabbitMQ/4.3.0", *options]
    program = Program("amqp-sansio", [sys.executable, "-m", "amqp_sansio_cli", "broker", *arguments], folder)
    try:
        program.wait_until(lambda: ready.exists() and bool(ready.read_text()), 30)
        host, _, port = ready.read_text().strip().rpartition(":")
        yield Embedded(host, int(port), program.pid)
    finally:
        program.stop()
