"""aio-pika as a client under test, in 0-9-1.

Run `amqp-sansio probe --client 'python -m examples.probe.aio_pika_client'`.
"""

from __future__ import annotations

import asyncio
from importlib import import_module
from typing import Any

from examples.probe.shim import Wanted, closed, published, received, say, wanted

aio_pika: Any = import_module("aio_pika")
exceptions: Any = import_module("aio_pika.exceptions")


async def keep_open(told: Wanted, connection: Any) -> None:
    """Keep a connection open until the server ends it, and tell what it says."""
    ended: asyncio.Future[object] = asyncio.get_running_loop().create_future()

    def end(_: Any, error: object) -> None:
        if not ended.done():
            ended.set_result(error)

    connection.close_callbacks.add(end)
    say("opened")
    error = await ended
    if error is not None:
        closed("connection", "", error)


async def publish(told: Wanted, connection: Any) -> None:
    """Publish all messages at once, and tell the outcome of each."""
    channel = await connection.channel(on_return_raises=True)
    found = await asyncio.gather(*[_publish(told, channel, number) for number in range(1, told.messages + 1)])
    for number, outcome in enumerate(found, 1):
        published(number, outcome)


async def _publish(told: Wanted, channel: Any, number: int) -> str:
    message = aio_pika.Message(told.body(number))
    try:
        await channel.default_exchange.publish(message, told.queue, mandatory=True)
    except exceptions.PublishError:
        return "returned"
    except exceptions.DeliveryError:
        return "rejected"
    except exceptions.ChannelClosed as error:
        closed("channel", "", error)
        return "unknown"
    except (exceptions.AMQPError, ConnectionError):
        return "unknown"
    return "accepted"


async def consume(told: Wanted, connection: Any) -> None:
    """Take so many messages, and settle each."""
    channel = await connection.channel()
    await channel.set_qos(prefetch_count=100)
    queue = await channel.get_queue(told.queue, ensure=False)
    left = told.messages
    async with queue.iterator() as messages:
        async for message in messages:
            await asyncio.sleep(told.busy)
            received(message.body, message.redelivered)
            await (message.reject() if told.reject else message.ack())
            left -= 1
            if not left:
                return
    say("cancelled")


async def rpc(told: Wanted, connection: Any) -> None:
    """Send a request, and tell its reply."""
    channel = await connection.channel()
    queue = await channel.declare_queue(exclusive=True)
    async with queue.iterator(no_ack=True) as messages:
        request = aio_pika.Message(b"request", reply_to=queue.name, correlation_id="1")
        await channel.default_exchange.publish(request, told.queue)
        async for message in messages:
            if message.correlation_id == "1":
                say("reply", body=message.body.decode())
                return


async def run(told: Wanted) -> None:
    """Connect, and do what the environment says."""
    connection = await aio_pika.connect(told.url)
    async with connection:
        await {"open": keep_open, "publish": publish, "consume": consume, "rpc": rpc}[told.do](told, connection)


def main() -> None:
    """Do what the environment says."""
    told = wanted("0-9-1")
    try:
        asyncio.run(run(told))
    except exceptions.ChannelClosed as error:
        closed("channel", "", error)
    except exceptions.ConnectionClosed as error:
        closed("connection", "", error)


if __name__ == "__main__":
    main()
