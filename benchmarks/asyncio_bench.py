"""End to end on a RabbitMQ started by this run: client CPU of the asyncio adapter against aiormq."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import pika

from benchmarks.asyncio_client import BODY, EXCHANGE, QUEUE
from benchmarks.measure import Case, case_of
from tests.interop.brokers.rabbitmq import RabbitMQ, install_rabbitmq, run_rabbitmq

ROOT = Path(__file__).resolve().parent.parent
JOBS = (
    ("asyncio publish vs aiormq", "publish", 8.0),
    ("asyncio confirm vs aiormq", "confirm", 7.0),
    ("asyncio consume vs aiormq", "consume", 6.0),
    ("asyncio consume+ack vs aiormq", "ack", 7.0),
)


def run_client(library: str, job: str, url: str, count: int, module: str = "benchmarks.asyncio_client") -> float:
    """Return the CPU seconds of one client process."""
    command = [sys.executable, "-m", module, library, job, url, str(count)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=600, check=True)
    return float(done.stdout.split()[0])


def prepare(broker: RabbitMQ, job: str, count: int) -> None:
    """Declare an exchange without queues, and a queue with `count` messages if the job reads."""
    connection = pika.BlockingConnection(pika.URLParameters(broker.url))
    channel = connection.channel()
    channel.exchange_declare(EXCHANGE, "fanout")
    channel.queue_delete(QUEUE)
    channel.queue_declare(QUEUE)
    if job in ("consume", "ack"):
        for _ in range(count):
            channel.basic_publish("", QUEUE, BODY)
    connection.close()


def cases(count: int = 30_000, rounds: int = 3) -> list[Case]:
    """Run the four jobs, the libraries in turn, `rounds` times; seconds for 100k messages."""
    install_rabbitmq()
    results: list[Case] = []
    with tempfile.TemporaryDirectory() as folder, run_rabbitmq(Path(folder)) as broker:
        for label, job, goal in JOBS:
            pairs: list[list[float]] = []
            for _ in range(rounds + 1):
                pairs.append([])
                for library in ("ours", "aiormq"):
                    prepare(broker, job, count)
                    pairs[-1].append(run_client(library, job, broker.url, count))
            results.append(case_of(label, pairs[1:], "s CPU/100k", goal, 100_000 / count))
    return results
