"""End to end on a RabbitMQ started by this run: client CPU of the asyncio adapter against aiormq, and rabbitmq-c."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pika

from benchmarks.asyncio_client import BODY, EXCHANGE, QUEUE
from benchmarks.measure import Case, case_of
from tests.interop.brokers.process import HOST, BrokerError, apt_install
from tests.interop.brokers.rabbitmq import RabbitMQ, install_rabbitmq, run_rabbitmq

ROOT = Path(__file__).resolve().parent.parent
JOBS: tuple[tuple[str, str, dict[str, float]], ...] = (
    ("asyncio publish", "publish", {"aiormq": 8.0, "rabbitmq-c": 1.4}),
    ("asyncio confirm", "confirm", {"aiormq": 7.0, "rabbitmq-c": 0.6}),
    ("asyncio confirm, awaited later,", "later", {"rabbitmq-c": 0.6}),
    ("asyncio consume", "consume", {"aiormq": 6.0, "rabbitmq-c": 0.5}),
    ("asyncio consume+ack", "ack", {"aiormq": 7.0, "rabbitmq-c": 1.1}),
)
"""The begin of a case, its job, and the goal against each peer."""


def run_client(library: str, job: str, url: str, count: int, module: str = "benchmarks.asyncio_client") -> float:
    """Return the CPU seconds of one client process."""
    return _seconds([sys.executable, "-m", module, library, job, url, str(count)])


def build_rabbitmq_c(folder: Path) -> Path | None:
    """Return the program of rabbitmq-c, built in `folder`; None, with a line that says why, where that can't be."""
    program = folder / "rabbitmq_c"
    missing = [] if shutil.which("gcc") else ["gcc", "libc6-dev"]
    missing += [] if Path("/usr/include/amqp.h").exists() else ["librabbitmq-dev"]
    try:
        if missing:
            apt_install(*missing)
        subprocess.run(
            ["gcc", "-O2", "-o", str(program), str(ROOT / "benchmarks" / "rabbitmq_c.c"), "-lrabbitmq"], check=True
        )
    except (BrokerError, OSError, subprocess.CalledProcessError) as error:
        print(f"no cases against rabbitmq-c: {error}", file=sys.stderr)
        return None
    return program


def prepare(broker: RabbitMQ, job: str, count: int) -> None:
    """Declare an exchange without queues, and a queue with `count` messages if the job reads."""
    connection = pika.BlockingConnection(pika.URLParameters(broker.url))
    channel = connection.channel()
    channel.exchange_declare(EXCHANGE, "fanout")
    channel.queue_delete(QUEUE)
    channel.queue_declare(QUEUE, durable=True)
    if job in ("consume", "ack"):
        for _ in range(count):
            channel.basic_publish("", QUEUE, BODY)
    connection.close()


def cases(count: int = 30_000, rounds: int = 3) -> list[Case]:
    """Run the jobs, the libraries in turn, `rounds` times; seconds for 100k messages."""
    install_rabbitmq()
    results: list[Case] = []
    with tempfile.TemporaryDirectory() as name, run_rabbitmq(Path(name)) as broker:
        program = build_rabbitmq_c(Path(name))
        for label, job, goals in JOBS:
            peers = [peer for peer in goals if peer != "rabbitmq-c" or program is not None]
            spent: list[list[float]] = []
            for _ in range(rounds + 1):
                spent.append([])
                for library in ("ours", *peers):
                    prepare(broker, job, count)
                    if library == "rabbitmq-c":
                        its_job = "confirm" if job == "later" else job
                        command = [str(program), its_job, broker.host, str(broker.port), str(count)]
                        spent[-1].append(_seconds(command))
                    else:
                        spent[-1].append(run_client(library, job, broker.url, count))
            for place, peer in enumerate(peers, 1):
                pairs = [(each[0], each[place]) for each in spent[1:]]
                results.append(case_of(f"{label} vs {peer}", pairs, "s CPU/100k", goals[peer], 100_000 / count))
        if program is not None:
            results.append(ready_case(program, count, rounds))
    return results


def ready_case(program: Path, count: int = 30_000, rounds: int = 3) -> Case:
    """Return the case of deliveries that are all sent at once, so that it measures nothing but the clients."""
    command = [sys.executable, "-m", "benchmarks.ready_server", str(count)]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdin is not None and server.stdout is not None
        port = server.stdout.readline().strip()
        pairs = [
            (
                run_client("ours", "consume", f"amqp://guest:guest@{HOST}:{port}/%2F", count),
                _seconds([str(program), "consume", HOST, port, str(count)]),
            )
            for _ in range(rounds + 1)
        ][1:]
        server.stdin.close()
    return case_of("asyncio consume, all of it sent at once, vs rabbitmq-c", pairs, "s CPU/100k", None, 100_000 / count)


def _seconds(command: list[str]) -> float:
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=600, check=True)
    return float(done.stdout.split()[0])
