"""One client process for the end-to-end benchmark: prints its CPU seconds for one job of `count` messages of 128
octets.

Both libraries do the same job: `publish` to a fanout exchange that has no queue, `confirm` the same in confirm mode
with a window of 1000 awaited together, `later` the same with `wait=False` and each outcome awaited afterwards (ours
only), `consume` a full queue without acknowledgement, `ack` the same with one acknowledgement each and prefetch 1000.
The work is the same: octets, properties, prefetch, the confirms that are outstanding, and one basic.ack for each
delivery. The system calls aren't: rabbitmq-c makes one for each frame of a publish and for each acknowledgement, and
asyncio's clients write many together. In `confirm` asyncio.gather makes a task of each publish, which alone takes
twice what rabbitmq-c takes for a confirmed publish; `later` has none.
Ours can be `recorded`, `logged` (each frame, to a file), and run by `uvloop`.
"""

from __future__ import annotations

import asyncio
import logging
import resource
import sys
import time
from tempfile import TemporaryDirectory
from typing import Any

BODY = b"x" * 128
EXCHANGE = "bench.void"
QUEUE = "bench.full"
WINDOW = 1000


def cpu() -> float:
    """Return user and system CPU seconds of this process."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


async def ours(url: str, job: str, count: int, **options: Any) -> tuple[float, float]:
    """Do the job with amqp_sansio_asyncio; `options` are those of `connect`."""
    from amqp_sansio.amqp_0_9_1 import BasicProperties
    from amqp_sansio_asyncio import connect

    async with connect(url, **options) as connection:
        channel = await connection.open_channel(confirm=job in ("confirm", "later"))
        properties = BasicProperties(content_type="text/plain", delivery_mode=1)
        start, wall = cpu(), time.perf_counter()
        if job == "publish":
            for _ in range(count):
                await channel.publish(BODY, exchange=EXCHANGE, routing_key="key", properties=properties)
        elif job == "confirm":
            for _ in range(count // WINDOW):
                await asyncio.gather(
                    *[
                        channel.publish(BODY, exchange=EXCHANGE, routing_key="key", properties=properties)
                        for _ in range(WINDOW)
                    ]
                )
        elif job == "later":
            for _ in range(count // WINDOW):
                sent = [
                    await channel.publish(BODY, exchange=EXCHANGE, routing_key="key", properties=properties, wait=False)
                    for _ in range(WINDOW)
                ]
                for each in sent:
                    await each
        elif job == "consume":
            seen = 0
            async with channel.consume(QUEUE, no_ack=True) as consumer:
                async for delivery in consumer:
                    seen += len(delivery.body) == 128
                    if seen == count:
                        break
        else:
            seen = 0
            async with channel.consume(QUEUE, prefetch=WINDOW) as consumer:
                async for delivery in consumer:
                    await delivery.accept()
                    seen += 1
                    if seen == count:
                        break
        return cpu() - start, time.perf_counter() - wall


async def with_aiormq(url: str, job: str, count: int) -> tuple[float, float]:
    """Do the job with aiormq."""
    import aiormq

    connection = await aiormq.connect(url)
    channel = await connection.channel(publisher_confirms=job == "confirm")
    properties = aiormq.spec.Basic.Properties(content_type="text/plain", delivery_mode=1)
    if job == "ack":
        await channel.basic_qos(prefetch_count=WINDOW)
    start, wall = cpu(), time.perf_counter()
    if job == "publish":
        for _ in range(count):
            await channel.basic_publish(BODY, exchange=EXCHANGE, routing_key="key", properties=properties)
    elif job == "confirm":
        for _ in range(count // WINDOW):
            await asyncio.gather(
                *[
                    channel.basic_publish(BODY, exchange=EXCHANGE, routing_key="key", properties=properties)
                    for _ in range(WINDOW)
                ]
            )
    else:
        seen = 0
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()

        async def receive(message: aiormq.abc.DeliveredMessage) -> None:
            nonlocal seen
            if job == "ack":
                assert isinstance(message.delivery, aiormq.spec.Basic.Deliver)
                await channel.basic_ack(message.delivery.delivery_tag or 0, wait=False)
            seen += 1
            if seen == count and not done.done():
                done.set_result(None)

        await channel.basic_consume(QUEUE, receive, no_ack=job == "consume")
        await done
    spent = cpu() - start, time.perf_counter() - wall
    await connection.close()
    return spent


def main() -> None:
    """Arguments: library, job, url, count."""
    library, job, url, count = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])
    with TemporaryDirectory() as folder:
        options: dict[str, Any] = {}
        if library == "recorded":
            options["record"] = f"{folder}/recorded.pcapng"
        elif library == "logged":
            logging.basicConfig(level=logging.DEBUG, filename=f"{folder}/frames.log")
        if library == "uvloop":
            import uvloop

            spent, wall = uvloop.run(ours(url, job, count))
        elif library == "aiormq":
            spent, wall = asyncio.run(with_aiormq(url, job, count))
        else:
            spent, wall = asyncio.run(ours(url, job, count, **options))
    print(f"{spent:.4f} {wall:.4f}")


if __name__ == "__main__":
    main()
