"""The asyncio client of this project as a client under test, in 0-8, 0-9-1, 0-10 and 1.0.

Run `amqp-sansio probe --client 'python -m examples.probe.asyncio_client'`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence

from amqp_sansio import AMQP_0_8, AMQP_0_9_1, AMQP_0_10, AMQP_1_0, ConsumerEnded, EndpointClosed
from amqp_sansio.amqp_0_8 import spec
from amqp_sansio.amqp_0_9_1 import Blocked, MessageReturned, Unblocked
from amqp_sansio_asyncio import connect
from amqp_sansio_asyncio.messaging import connect as connect_any
from examples.probe.shim import Wanted, ended, left, outcome_of, published, received, returned, say, wanted


async def keep_open(told: Wanted) -> None:
    """Keep a connection open until the server ends it, and tell what it says."""
    if told.version == "1.0":
        async with connect(told.url, version=AMQP_1_0) as connection:
            say("opened")
            left(await connection.wait_closed())
        return
    if told.version == "0-10":
        async with connect(told.url, version=AMQP_0_10) as other:
            say("opened")
            left(await other.wait_closed())
        return
    async with connect(told.url, version=AMQP_0_8 if told.version == "0-8" else AMQP_0_9_1) as classic:
        say("opened")
        async for event in classic.events(Blocked, Unblocked):
            say("blocked" if isinstance(event, Blocked) else "unblocked")


async def publish(told: Wanted) -> None:
    """Publish all messages, then tell the outcome of each."""
    bodies = [told.body(number) for number in range(1, told.messages + 1)]
    if told.version == "1.0":
        async with connect(told.url, version=AMQP_1_0) as connection, connection.open_session() as session:
            sender = await session.open_sender(told.queue)
            await _tell([(await sender.send(body, wait=False)).result for body in bodies])
            await sender.close()
        return
    if told.version == "0-10":
        async with connect(told.url, version=AMQP_0_10) as other, other.open_session() as exchange:
            put = [await exchange.publish(body, routing_key=told.queue, wait=False) for body in bodies]
            await _tell([each.result for each in put])
        return
    if told.version == "0-8":
        async with connect(told.url, version=AMQP_0_8) as old, old.open_channel() as channel:
            came_back = channel.events(MessageReturned)
            for body in bodies:
                await channel.publish(body, routing_key=told.queue, mandatory=True)
            # There are no confirms. What the server returns comes before the answer to what is asked later.
            await channel.call(spec.BasicQos(0, 1))
            await channel.close()
            returned(bodies, [each.body async for each in came_back])
        return
    async with connect(told.url, version=AMQP_0_9_1) as classic, classic.open_channel(confirm=True) as channel:
        sent = [await channel.publish(each, routing_key=told.queue, mandatory=True, wait=False) for each in bodies]
        await _tell([each.result for each in sent])


async def _tell(results: Sequence[Callable[[], Awaitable[object]]]) -> None:
    for number, result in enumerate(results, 1):
        try:
            published(number, outcome_of(await result()))
        except EndpointClosed:
            published(number, "unknown")
            if number == len(results):
                raise


async def consume(told: Wanted) -> None:
    """Take so many messages, and settle each."""
    if told.version == "1.0":
        async with connect(told.url, version=AMQP_1_0) as connection, connection.open_session() as session:
            receiver = await session.open_receiver(told.queue)
            for _ in range(told.messages):
                message = await anext(receiver)
                await asyncio.sleep(told.busy)
                received(message.body, redelivered=False)
                await (message.reject() if told.reject else message.accept())
            await receiver.close()
        return
    if told.version == "0-10":
        async with connect(told.url, version=AMQP_0_10) as other, other.open_session() as exchange:
            subscription = await exchange.subscribe(told.queue)
            for _ in range(told.messages):
                got = await anext(subscription)
                await asyncio.sleep(told.busy)
                received(got.body, got.redelivered)
                await (got.reject() if told.reject else got.accept())
            await subscription.close()
        return
    version = AMQP_0_8 if told.version == "0-8" else AMQP_0_9_1
    async with connect(told.url, version=version) as classic, classic.open_channel() as channel:
        deliveries = channel.consume(told.queue)
        for _ in range(told.messages):
            delivery = await anext(deliveries)
            await asyncio.sleep(told.busy)
            received(delivery.body, delivery.redelivered)
            await (delivery.reject() if told.reject else delivery.accept())
        await deliveries.close()


async def rpc(told: Wanted) -> None:
    """Send a request, and tell its reply."""
    async with connect_any(told.url, version=told.version) as connection:
        reply = await connection.request(told.queue, b"request")
        say("reply", body=reply.body.decode())


def main() -> None:
    """Do what the environment says."""
    told = wanted("0-8", "0-9-1", "0-10", "1.0")
    try:
        asyncio.run({"open": keep_open, "publish": publish, "consume": consume, "rpc": rpc}[told.do](told))
    except ConsumerEnded:
        say("cancelled")
    except EndpointClosed as error:
        ended(error)


if __name__ == "__main__":
    main()
