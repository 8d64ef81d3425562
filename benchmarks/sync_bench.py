"""End to end on a RabbitMQ started by this run: client CPU of the blocking adapter and of pika's BlockingConnection."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import pika

from benchmarks.asyncio_bench import prepare, run_client
from benchmarks.asyncio_client import BODY, EXCHANGE, QUEUE, WINDOW, cpu
from benchmarks.measure import Case, case_of
from tests.interop.brokers.rabbitmq import install_rabbitmq, run_rabbitmq

JOBS = (("sync publish vs pika-blocking", "publish", 4.0), ("sync consume+ack vs pika-blocking", "ack", 4.0))


def ours(url: str, job: str, count: int) -> float:
    """Return the CPU seconds of the job with amqp_sansio_sync."""
    from amqp_sansio.amqp_0_9_1 import BasicProperties
    from amqp_sansio_sync import connect

    with connect(url) as connection:
        channel = connection.open_channel()
        properties = BasicProperties(content_type="text/plain", delivery_mode=1)
        start = cpu()
        if job == "publish":
            for _ in range(count):
                channel.publish(BODY, exchange=EXCHANGE, routing_key="key", properties=properties)
        else:
            for seen, delivery in enumerate(channel.consume(QUEUE, prefetch=WINDOW), 1):
                delivery.accept()
                if seen == count:
                    break
        return cpu() - start


def blocking(url: str, job: str, count: int) -> float:
    """Return the CPU seconds of the job with pika."""
    connection = pika.BlockingConnection(pika.URLParameters(url))
    channel = connection.channel()
    properties = pika.BasicProperties(content_type="text/plain", delivery_mode=1)
    start = cpu()
    if job == "publish":
        for _ in range(count):
            channel.basic_publish(EXCHANGE, "key", BODY, properties)
    else:
        channel.basic_qos(prefetch_count=WINDOW)
        for seen, (method, _, _) in enumerate(channel.consume(QUEUE), 1):
            assert method is not None
            channel.basic_ack(method.delivery_tag or 0)
            if seen == count:
                break
    spent = cpu() - start
    connection.close()
    return spent


def cases(count: int = 20_000, rounds: int = 3) -> list[Case]:
    """Run both jobs, the libraries in turn, `rounds` times; seconds for 100k messages."""
    install_rabbitmq()
    results: list[Case] = []
    with tempfile.TemporaryDirectory() as folder, run_rabbitmq(Path(folder)) as broker:
        for label, job, goal in JOBS:
            pairs: list[list[float]] = []
            for _ in range(rounds + 1):
                pairs.append([])
                for library in ("ours", "pika"):
                    prepare(broker, job, count)
                    pairs[-1].append(run_client(library, job, broker.url, count, "benchmarks.sync_bench"))
            results.append(case_of(label, pairs[1:], "s CPU/100k", goal, 100_000 / count))
    return results


def main() -> None:
    """Arguments: library, job, url, count."""
    library, job, url, count = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])
    print(f"{(ours if library == 'ours' else blocking)(url, job, count):.4f}")


if __name__ == "__main__":
    main()
