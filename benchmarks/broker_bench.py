"""The broker: its process's CPU against RabbitMQ's, memory for idle connections, routing by many bindings."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.measure import Case, case_of, cpu_seconds

ROOT = Path(__file__).resolve().parent.parent
IDLE = 10_000
IDLE_GOAL = 200.0
"""Megabytes."""
BINDINGS = 100_000
SLOWER = 3.0
"""The factor by which a message may take longer through that many bindings than through a thousandth of them."""


def cpu_of_session(number: int) -> float:
    """Return the CPU seconds of all processes of a session; a node of RabbitMQ has several."""
    ticks = 0
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue  # It has ended.
        if int(fields[3]) == number:
            ticks += sum(int(field) for field in fields[11:15])
    return ticks / os.sysconf("SC_CLK_TCK")


def megabytes_of(pid: int) -> float:
    """Return the resident set of a process."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) * 1024 / 1e6
    raise RuntimeError(f"process {pid} has no resident set")


@contextmanager
def run_broker(folder: Path) -> Generator[tuple[int, str]]:
    """Run `amqp-sansio broker` in its own session; yield its process id and its URL."""
    ready = folder / "ready"
    command = [sys.executable, "-m", "amqp_sansio_cli", "broker", "--listen", "127.0.0.1:0"]
    process = subprocess.Popen(
        [*command, "--ready-file", str(ready)],
        cwd=ROOT,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        preexec_fn=_many_files,
    )
    try:
        deadline = time.monotonic() + 30
        while not ready.exists():
            if process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError("the broker didn't start")
            time.sleep(0.02)
        yield process.pid, f"amqp://guest:guest@{ready.read_text().strip()}/%2F"
    finally:
        process.terminate()
        process.wait(60)


def _many_files() -> None:
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


@contextmanager
def client(job: str, url: str, count: int) -> Generator[subprocess.Popen[str]]:
    """Run a client process; yield it once it has begun."""
    command = [sys.executable, "-m", "benchmarks.broker_clients", job, url, str(count)]
    process = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        _expect(process, "ready")
        yield process
    finally:
        assert process.stdin is not None and process.stdout is not None
        process.stdin.close()
        process.stdout.close()
        process.wait(60)


def _expect(process: subprocess.Popen[str], word: str) -> None:
    assert process.stdout is not None
    said = process.stdout.readline().strip()
    if said != word:
        raise RuntimeError(f"{word!r} was expected of a client, it said {said!r}")


def messages_through(library: str, session: int, url: str, count: int) -> float:
    """Return the broker's CPU seconds for `count` messages that one client publishes and another consumes."""
    with client(f"{library}-consume", url, count) as consumer:
        before = cpu_of_session(session)
        with client(f"{library}-publish", url, count) as publisher:
            _expect(publisher, "done")
        _expect(consumer, "done")
        return cpu_of_session(session) - before


def rabbitmq_cases(count: int = 50_000, rounds: int = 3) -> list[Case]:
    """Publish and consume through each broker in turn; seconds for 100k messages."""
    from tests.interop.brokers.rabbitmq import install_rabbitmq, run_rabbitmq

    install_rabbitmq()
    results: list[Case] = []
    with (
        tempfile.TemporaryDirectory() as one,
        tempfile.TemporaryDirectory() as other,
        run_broker(Path(one)) as (pid, url),
        run_rabbitmq(Path(other)) as rabbitmq,
    ):
        for library, label in (
            ("pika", "broker 0-9-1 publish+consume vs RabbitMQ"),
            ("asyncio", "broker 0-9-1 publish+consume (asyncio) vs RabbitMQ"),
        ):
            pairs = [
                (
                    messages_through(library, pid, url, count),
                    messages_through(library, rabbitmq.pid, rabbitmq.url, count),
                )
                for _ in range(rounds + 1)
            ]
            results.append(case_of(label, pairs[1:], "s CPU/100k", 1.0, 100_000 / count))
    return results


def idle_case(count: int = IDLE) -> Case:
    """Return the megabytes of the broker's process with that many idle connections."""
    with tempfile.TemporaryDirectory() as folder, run_broker(Path(folder)) as (pid, url), client("idle", url, count):
        used = megabytes_of(pid)
    return case_of(f"broker with {count:,} idle connections", [(used, IDLE_GOAL)], "MB (goal)", 1.0)


def routing_case(rounds: int = 5, count: int = 2_000) -> Case:
    """Return the microseconds to route a message by a topic exchange with many bindings, against three times few."""
    many, few = _publisher(BINDINGS, count), _publisher(BINDINGS // 1000, count)
    pairs = [(cpu_seconds(many), SLOWER * cpu_seconds(few)) for _ in range(rounds + 1)][1:]
    return case_of(
        f"broker topic routing, {BINDINGS:,} vs {BINDINGS // 1000} bindings", pairs, "us CPU (3x)", 1.0, 1e6 / count
    )


def _publisher(bindings: int, count: int) -> Callable[[], object]:
    """Return a function that publishes messages, each of which matches two of the bindings."""
    from amqp_sansio import AMQP_0_9_1
    from amqp_sansio.amqp_0_9_1 import get_dialect
    from amqp_sansio.broker import Broker
    from amqp_sansio.broker.contents.classic import ClassicContent
    from amqp_sansio.broker.model import commands

    broker = Broker()
    owner = broker.apply(commands.OpenOwner("/", "guest"), 0.0)
    broker.apply(commands.DeclareQueue(owner, "q", arguments={"x-max-length": 1}), 0.0)
    for number in range(bindings - 1):
        key = f"{number % 100}.{number // 100 % 100}.{number // 10_000}.*"
        broker.apply(commands.Bind(owner, "q", "amq.topic", key), 0.0)
    broker.apply(commands.Bind(owner, "q", "amq.topic", "#.last"), 0.0)
    content = ClassicContent(AMQP_0_9_1, bytes(2), get_dialect("0-9-1-rabbit").tables, bytes(128))

    def publish() -> None:
        for _ in range(count):
            broker.apply(commands.Publish(owner, "amq.topic", "50.0.0.last", content), 0.0)
            broker.effects.clear()

    return publish


def cases() -> list[Case]:
    """Return all cases."""
    return [*rabbitmq_cases(), idle_case(), routing_case()]
