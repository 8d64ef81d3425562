"""End to end on a RabbitMQ started by this run: client CPU of the asyncio adapter against aiormq."""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import pika

from benchmarks.asyncio_client import BODY, EXCHANGE, QUEUE
from benchmarks.measure import Case
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
            ours: list[float] = []
            peer: list[float] = []
            for _ in range(rounds + 1):
                for library, spent in (("ours", ours), ("aiormq", peer)):
                    prepare(broker, job, count)
                    spent.append(run_client(library, job, broker.url, count))
            per = 100_000 / count
            ratios = [theirs / our for theirs, our in zip(peer[1:], ours[1:], strict=True)]
            results.append(
                {
                    "case": label,
                    "ours": round(statistics.median(ours[1:]) * per, 3),
                    "peer": round(statistics.median(peer[1:]) * per, 3),
                    "unit": "s CPU/100k",
                    "ratio": round(statistics.median(ratios), 2),
                    "goal": goal,
                }
            )
    return results
