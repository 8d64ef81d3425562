"""A server that makes all deliveries before it sends the first: `python -m benchmarks.ready_server COUNT` prints its
port, and ends with its standard input.

What a client of a broker costs depends on the broker's pace: whether a read finds one delivery or hundreds. From this
server a read finds as many as it takes, so that nothing but the client is measured.
"""

from __future__ import annotations

import asyncio
import sys

from amqp_sansio import Limits
from amqp_sansio.amqp_0_9_1 import Config, Request
from amqp_sansio.amqp_0_9_1.spec import BasicCancel, BasicCancelOk, BasicConsume, BasicConsumeOk
from amqp_sansio_asyncio import ServerConnection, serve
from benchmarks.asyncio_client import BODY, QUEUE

OCTETS = 512
"""For each delivery of BODY: more than it takes."""


async def main(count: int) -> None:
    """Serve until the standard input ends."""

    async def handle(connection: ServerConnection) -> None:
        async for event in connection:
            if not isinstance(event, Request):
                continue
            channel = connection.channel(event.channel)
            match event.method:
                case BasicConsume(consumer_tag=tag):
                    channel.reply(BasicConsumeOk(tag or "made"))
                    for _ in range(count):
                        channel.deliver(BODY, consumer_tag=tag or "made", routing_key=QUEUE)
                case BasicCancel(consumer_tag=tag):
                    channel.reply(BasicCancelOk(tag))
                case method:
                    raise AssertionError(method)
            connection.flush()

    limits = Limits(backlog_hard=OCTETS * count, backlog_high=OCTETS * count)
    async with serve(handle, config=Config(limits=limits)) as server:
        print(server.port, flush=True)
        await asyncio.to_thread(sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1])))
