"""The clients of `broker_bench`, each in its own process: `python -m benchmarks.broker_clients JOB URL COUNT`.

A job prints "ready" when it has begun, and "done" at its end.

| job | does |
|---|---|
| `pika-publish`, `asyncio-publish` | publishes COUNT messages of 128 octets |
| `pika-consume`, `asyncio-consume` | consumes them with a prefetch of 500, and acknowledges each |
| `idle` | opens COUNT connections, and holds them until its standard input ends |
"""

from __future__ import annotations

import asyncio
import resource
import socket
import sys
from typing import Any

BODY = bytes(128)
QUEUE = "benchmark"
PREFETCH = 500


def say(word: str) -> None:
    """Tell the benchmark."""
    print(word, flush=True)


def pika_publish(url: str, count: int) -> None:
    import pika

    connection = pika.BlockingConnection(pika.URLParameters(url))
    channel = connection.channel()
    channel.queue_declare(QUEUE, durable=True)
    say("ready")
    for _ in range(count):
        channel.basic_publish("", QUEUE, BODY)
    connection.close()


def pika_consume(url: str, count: int) -> None:
    import pika

    connection = pika.BlockingConnection(pika.URLParameters(url))
    channel = connection.channel()
    channel.queue_declare(QUEUE, durable=True)
    channel.basic_qos(prefetch_count=PREFETCH)
    left = count

    def take(ch: Any, method: Any, _: object, __: object) -> None:
        nonlocal left
        ch.basic_ack(method.delivery_tag)
        left -= 1
        if not left:
            ch.stop_consuming()

    channel.basic_consume(QUEUE, take)
    say("ready")
    channel.start_consuming()
    connection.close()


async def asyncio_publish(url: str, count: int) -> None:
    from amqp_sansio.amqp_0_9_1.spec import QueueDeclare
    from amqp_sansio_asyncio import connect

    async with connect(url) as connection:
        channel = await connection.open_channel()
        await channel.call(QueueDeclare(queue=QUEUE, durable=True))
        say("ready")
        for _ in range(count):
            await channel.publish(BODY, routing_key=QUEUE)


async def asyncio_consume(url: str, count: int) -> None:
    from amqp_sansio.amqp_0_9_1.spec import QueueDeclare
    from amqp_sansio_asyncio import connect

    async with connect(url) as connection:
        channel = await connection.open_channel()
        await channel.call(QueueDeclare(queue=QUEUE, durable=True))
        left = count
        async with channel.consume(QUEUE, prefetch=PREFETCH) as deliveries:
            say("ready")
            async for delivery in deliveries:
                await delivery.accept()
                left -= 1
                if not left:
                    break


def idle(url: str, count: int) -> None:
    """Open connections without heartbeats, one after the other, by blocking sockets."""
    from amqp_sansio import NEED_DATA
    from amqp_sansio.amqp_0_9_1 import Config, Connection
    from amqp_sansio.events import Opened
    from amqp_sansio.sasl import Plain
    from amqp_sansio.uri import parse

    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    uri = parse(url)
    held: list[socket.socket] = []
    config = Config(sasl=Plain("guest", "guest"), heartbeat=0)
    for _ in range(count):
        connection = Connection.client(config)
        sock = socket.create_connection((uri.host, uri.port))
        while True:
            event = connection.next_event()
            if isinstance(event, Opened):
                break
            if event is NEED_DATA:
                sock.sendall(connection.data_to_send(0.0))
                connection.receive_data(sock.recv(65_536), 0.0)
        held.append(sock)
    say("ready")
    sys.stdin.read()


def main(job: str, url: str, count: int) -> None:
    """Do one job."""
    if job == "idle":
        idle(url, count)
    elif job == "pika-publish":
        pika_publish(url, count)
    elif job == "pika-consume":
        pika_consume(url, count)
    elif job == "asyncio-publish":
        asyncio.run(asyncio_publish(url, count))
    else:
        asyncio.run(asyncio_consume(url, count))
    if job != "idle":
        say("done")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
