"""Consumers: what they give, how they are settled, and that each iteration ends, with the reason."""

from __future__ import annotations

import asyncio
import gc
from typing import Any

import pytest

from amqp_sansio import By, EndpointClosed, LocalProtocolError
from amqp_sansio.amqp_0_9_1 import (
    BasicCancel,
    BasicCancelOk,
    BasicConsume,
    BasicConsumeOk,
    BasicProperties,
    BasicQos,
    BasicQosOk,
    MethodReceived,
    QueueDeclare,
    QueueDelete,
    Request,
)
from amqp_sansio.amqp_0_9_1 import Delivery as Delivered
from amqp_sansio.events import Event
from amqp_sansio_asyncio import Channel, Consumer, ConsumerEnded, Delivery, ServerConnection, connect
from tests.kit.asyncio_broker import broker, channel, client, fill, scripted, state_of, until, url_of
from tests.kit.asyncio_loops import run


async def take(consumer: Consumer, count: int) -> list[Delivery]:
    """The next deliveries."""
    return [await anext(consumer) for _ in range(count)]


async def ready(target: Channel, queue: str) -> int:
    """How many messages wait in a queue."""
    return (await target.call(QueueDeclare(queue=queue))).message_count


BODIES = [b"%d" % n for n in range(10)]


def test_deliveries_come_in_order_and_are_settled() -> None:
    async def main() -> None:
        async with channel() as ch:
            await ch.call(QueueDeclare(queue="q"))
            properties = BasicProperties(message_id="m")
            for body in BODIES:
                await ch.publish(body, routing_key="q", properties=properties)
            seen: list[bytes] = []
            last: list[Delivery] = []
            async for delivery in ch.consume("q", prefetch=3):
                seen.append(delivery.body)
                last = [delivery]
                assert delivery.properties.message_id == "m"
                assert delivery.consumer_tag == "c1.1"
                assert delivery.delivery_tag == len(seen)
                await delivery.accept()
                if len(seen) == len(BODIES):
                    break
            assert seen == BODIES
            with pytest.raises(LocalProtocolError, match="no delivery with tag"):
                await last[0].accept()

    run(main())


def test_reject_and_release() -> None:
    async def main() -> None:
        async with channel() as ch:
            await ch.call(QueueDeclare(queue="q"))
            await fill(ch, "q", [b"bad", b"later", b"good"])
            async with ch.consume("q", prefetch=1) as deliveries:
                (bad,) = await take(deliveries, 1)
                await bad.reject()
                (later,) = await take(deliveries, 1)
                assert not later.redelivered
                await later.release()
                (again,) = await take(deliveries, 1)
                assert (again.body, again.redelivered) == (b"later", True)
                await again.accept()
                (good,) = await take(deliveries, 1)
                assert good.body == b"good"
                await good.accept()
            assert await ready(ch, "q") == 0

    run(main())


def test_accept_multiple() -> None:
    async def main() -> None:
        async with channel() as ch:
            await ch.call(QueueDeclare(queue="q"))
            await fill(ch, "q", BODIES)
            async with ch.consume("q") as deliveries:
                taken = await take(deliveries, 10)
                await taken[8].accept(multiple=True)
                with pytest.raises(LocalProtocolError):
                    await taken[0].accept()
                await taken[9].release()
            assert await ready(ch, "q") == 1

    run(main())


def test_without_acknowledgement() -> None:
    async def main() -> None:
        async with channel() as ch:
            await ch.call(QueueDeclare(queue="q"))
            await fill(ch, "q", BODIES)
            async with ch.consume("q", no_ack=True, consumer_tag="mine") as deliveries:
                assert deliveries.consumer_tag == "mine"
                assert [each.body for each in await take(deliveries, 10)] == BODIES
            assert await ready(ch, "q") == 0

    run(main())


def test_the_request_says_what_was_asked_for() -> None:
    requests: list[object] = []

    def answer(connection: ServerConnection, event: Event) -> None:
        if isinstance(event, Request):
            requests.append(event.method)
            if isinstance(event.method, BasicQos):
                connection.channel(1).reply(BasicQosOk())
            elif isinstance(event.method, BasicConsume):
                connection.channel(1).reply(BasicConsumeOk("c"))
            elif isinstance(event.method, BasicCancel):
                connection.channel(1).reply(BasicCancelOk("c"))

    async def main() -> None:
        async with client(scripted(answer)) as connection:
            ch = await connection.open_channel()
            arguments = {"x-priority": 5}
            async with ch.consume(
                "q", consumer_tag="asked", exclusive=True, arguments=arguments, prefetch=7
            ) as consumer:
                assert consumer.consumer_tag == "c"
            async with ch.consume("q", no_local=True, prefetch=None):
                pass
            async with ch.consume("q", no_ack=True, prefetch=50):
                pass
        assert requests == [
            BasicQos(0, 7, False),
            BasicConsume("q", "asked", exclusive=True, arguments=arguments),
            BasicCancel("c"),
            BasicConsume("q", "c1.1", no_local=True),
            BasicCancel("c"),
            BasicConsume("q", "c1.2", no_ack=True),
            BasicCancel("c"),
        ]

    run(main())


def test_the_prefetch_bounds_what_waits_here() -> None:
    async def main() -> None:
        async with broker() as (server, made), connect(url_of(server)) as connection:
            ch = await connection.open_channel()
            await ch.call(QueueDeclare(queue="q"))
            await fill(ch, "q", BODIES)
            async with ch.consume("q", prefetch=3) as deliveries:
                await until(lambda: len(made.queues["q"].messages) == 7)
                (first,) = await take(deliveries, 1)
                await asyncio.sleep(0.01)
                assert len(made.queues["q"].messages) == 7
                await first.accept()
                await until(lambda: len(made.queues["q"].messages) == 6)

    run(main())


def test_cancel_ends_the_iteration_after_what_has_come() -> None:
    async def main() -> None:
        async with channel() as ch:
            await ch.call(QueueDeclare(queue="q"))
            await fill(ch, "q", BODIES)
            consumer = ch.consume("q", prefetch=4)
            await consumer.start()
            await ch.call(QueueDeclare(queue="q"))
            seen = [(await anext(consumer))]
            await consumer.cancel()
            seen += [each async for each in consumer]
            assert [each.body for each in seen] == BODIES[:4]
            with pytest.raises(StopAsyncIteration):
                await anext(consumer)
            await consumer.cancel()
            for each in seen:
                await each.accept()
            assert await ready(ch, "q") == 6

    run(main())


def test_leaving_the_context_gives_back_what_was_not_taken() -> None:
    async def main() -> None:
        async with broker() as (server, made), connect(url_of(server)) as connection:
            ch = await connection.open_channel()
            await ch.call(QueueDeclare(queue="q"))
            await fill(ch, "q", BODIES)
            async with ch.consume("q", prefetch=5) as deliveries:
                first, second = await take(deliveries, 2)
                await first.accept()
            await until(lambda: len(made.queues["q"].messages) == 8)
            await second.accept()
            assert [(await ch.get("q", no_ack=True)) is not None for _ in range(8)] == [True] * 8
            assert state_of(ch).inboxes == {}

    run(main())


def test_breaking_out_of_the_loop_cancels_and_gives_back() -> None:
    async def main() -> None:
        async with broker() as (server, made), connect(url_of(server)) as connection:
            ch = await connection.open_channel()
            await ch.call(QueueDeclare(queue="q"))
            await fill(ch, "q", BODIES)
            async for delivery in ch.consume("q", prefetch=5):
                await delivery.accept()
                break
            gc.collect()
            await until(lambda: not made.queues["q"].subscriptions)
            await until(lambda: len(made.queues["q"].messages) == 9)
            assert state_of(ch).inboxes == {}

    run(main())


def test_the_server_ends_a_consumer() -> None:
    async def main() -> None:
        async with broker() as (server, _), connect(url_of(server)) as connection:
            ch = await connection.open_channel()
            other = await connection.open_channel()
            await ch.call(QueueDeclare(queue="q"))
            await fill(ch, "q", BODIES[:3])
            consumer = ch.consume("q", prefetch=10)
            await consumer.start()
            await until(lambda: len(state_of(ch).inboxes[consumer.consumer_tag].items) == 3)
            await other.call(QueueDelete("q"))
            taken = await take(consumer, 3)
            for each in taken:
                await each.accept()
            for _ in range(2):
                with pytest.raises(ConsumerEnded, match="the server cancelled") as caught:
                    await anext(consumer)
                assert caught.value.consumer_tag == consumer.consumer_tag
                assert caught.value.report is not None
                assert caught.value.report.by is By.REMOTE
            await consumer.close()
            assert ch.is_open

    run(main())


def test_an_error_on_the_channel_ends_its_consumers() -> None:
    async def main() -> None:
        async with broker() as (server, made), connect(url_of(server)) as connection:
            ch = await connection.open_channel()
            await ch.call(QueueDeclare(queue="q"))
            await fill(ch, "q", BODIES)
            consumer = ch.consume("q", prefetch=2)
            without = ch.consume("q", no_ack=True, consumer_tag="none")
            (taken,) = await take(consumer, 1)
            await without.start()
            await until(lambda: not made.queues["q"].messages)
            with pytest.raises(EndpointClosed):
                await ch.call(QueueDeclare(queue="nowhere", passive=True))
            # What could be acknowledged no more comes back; what needs no acknowledgement is ours.
            with pytest.raises(EndpointClosed, match="404 NOT_FOUND") as caught:
                await anext(consumer)
            assert caught.value.report is not None
            assert caught.value.report.unsettled == (1, 2)
            assert len([None for _ in await take(without, 8)]) == 8
            with pytest.raises(EndpointClosed, match="404 NOT_FOUND"):
                await anext(without)
            with pytest.raises(EndpointClosed, match="404 NOT_FOUND"):
                await taken.accept()
            await consumer.cancel()
            await consumer.close()

    run(main())


def test_a_queue_that_is_not_there() -> None:
    async def main() -> None:
        async with broker() as (server, _), connect(url_of(server)) as connection:
            ch = await connection.open_channel()
            with pytest.raises(EndpointClosed, match="404 NOT_FOUND - no queue 'q'"):
                async with ch.consume("q"):
                    raise AssertionError("it started")
            ch = await connection.open_channel()
            consumer = ch.consume("q")
            for _ in range(2):
                with pytest.raises(EndpointClosed, match="404 NOT_FOUND - no queue 'q'"):
                    await anext(consumer)
            late = ch.consume("q")
            for _ in range(2):
                with pytest.raises(EndpointClosed, match="404"):
                    await anext(late)

    run(main())


def test_closing_ends_iterations_that_wait() -> None:
    async def main() -> None:
        async with broker() as (server, _), connect(url_of(server)) as connection:
            one, two = await connection.open_channel(), await connection.open_channel()
            await one.call(QueueDeclare(queue="q"))
            of_one = asyncio.ensure_future(anext(one.consume("q")))
            of_two = asyncio.ensure_future(anext(two.consume("q")))
            await asyncio.sleep(0.01)
            await one.close()
            with pytest.raises(StopAsyncIteration):
                await of_one
            await connection.close()
            with pytest.raises(StopAsyncIteration):
                await of_two

    run(main())


def test_two_tasks_share_a_consumer() -> None:
    async def main() -> None:
        async with channel() as ch:
            await ch.call(QueueDeclare(queue="q"))
            consumer = ch.consume("q", prefetch=10)
            seen: list[bytes] = []

            async def work() -> None:
                async for delivery in consumer:
                    seen.append(delivery.body)
                    await asyncio.sleep(0)
                    await delivery.accept()

            tasks = [asyncio.ensure_future(work()) for _ in range(3)]
            await asyncio.sleep(0.01)
            await fill(ch, "q", BODIES)
            await until(lambda: len(seen) == len(BODIES))
            await consumer.cancel()
            await asyncio.gather(*tasks)
            assert sorted(seen) == BODIES
            assert await ready(ch, "q") == 0

    run(main())


def test_a_cancelled_wait_loses_no_delivery() -> None:
    async def main() -> None:
        async with channel() as ch:
            await ch.call(QueueDeclare(queue="q"))
            consumer = ch.consume("q", prefetch=10)
            await consumer.start()
            one, two = (asyncio.ensure_future(anext(consumer)), asyncio.ensure_future(anext(consumer)))
            await asyncio.sleep(0)
            feed = state_of(ch).inboxes[consumer.consumer_tag]
            tables = state_of(ch).client.core.dialect.tables
            # The first is woken and cancelled in the same turn: the second has to take over.
            feed.put(Delivered(1, "", 1, False, "", "q", b"only", b"\0\0", tables))
            driver: Any = state_of(ch).client.driver
            driver.take_events()
            one.cancel()
            assert (await two).body == b"only"
            with pytest.raises(asyncio.CancelledError):
                await one
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(anext(consumer), 0.01)
            await fill(ch, "q", [b"next"])
            assert (await anext(consumer)).body == b"next"

    run(main())


def test_a_wait_with_a_timeout_while_it_starts() -> None:
    async def main() -> None:
        async with channel() as ch:
            await ch.call(QueueDeclare(queue="q"))
            await fill(ch, "q", [b"one"])
            consumer = ch.consume("q")
            waiting = asyncio.ensure_future(anext(consumer))
            await asyncio.sleep(0)
            waiting.cancel()
            delivery = await anext(consumer)
            assert delivery.body == b"one"
            await consumer.close()
            await delivery.accept()

    run(main())


def test_a_consumer_that_is_dropped_while_it_starts() -> None:
    async def main() -> None:
        async with broker() as (server, made), connect(url_of(server)) as connection:
            ch = await connection.open_channel()
            await ch.call(QueueDeclare(queue="q"))
            await fill(ch, "q", BODIES)
            consumer = ch.consume("q", prefetch=3)
            starting = asyncio.ensure_future(consumer.start())
            await asyncio.sleep(0)
            starting.cancel()
            await asyncio.wait([starting])
            del consumer, starting
            gc.collect()
            await ch.call(QueueDeclare(queue="q"))
            await until(lambda: not made.queues["q"].subscriptions)
            await until(lambda: len(made.queues["q"].messages) == len(BODIES))

    run(main())


def test_closing_a_consumer_that_never_started() -> None:
    async def main() -> None:
        async with channel() as ch:
            consumer = ch.consume("q")
            await consumer.close()
            with pytest.raises(StopAsyncIteration):
                await anext(consumer)
            # Nothing is asked of the server: the queue isn't there.
            await ch.call(QueueDeclare(queue="other"))
            assert ch.is_open

    run(main())


def test_a_consumer_may_outlive_its_loop() -> None:
    kept: list[Consumer] = []

    async def main() -> None:
        async with channel() as ch:
            await ch.call(QueueDeclare(queue="q"))
            kept.append(ch.consume("q"))
            await kept[0].start()

    run(main())
    kept.clear()
    gc.collect()


def test_deliveries_of_a_consumer_that_was_made_by_hand() -> None:
    async def main() -> None:
        async with channel() as ch:
            await ch.call(QueueDeclare(queue="q"))
            async with ch.events(Delivered) as events:
                await ch.call(BasicConsume("q", "mine", no_ack=True))
                await fill(ch, "q", [b"one"])
                delivered = await anext(events)
                assert (delivered.consumer_tag, delivered.body) == ("mine", b"one")

    run(main())


def test_acknowledgements_of_one_turn_are_written_at_once() -> None:
    async def main() -> None:
        seen: list[int] = []

        def answer(connection: ServerConnection, event: Event) -> None:
            if isinstance(event, Request) and isinstance(event.method, BasicConsume):
                core = connection.channel(1)
                core.reply(BasicConsumeOk("c"))
                for _ in range(100):
                    core.deliver(b"x", consumer_tag="c")
            if isinstance(event, MethodReceived):
                seen.append(1)

        async with client(scripted(answer)) as connection:
            ch = await connection.open_channel()
            consumer = ch.consume("q", prefetch=None)
            deliveries = [await anext(consumer)]
            driver: Any = state_of(ch).client.driver
            transport = driver.transport
            assert transport is not None
            writes: list[int] = []
            write = transport.write

            def counted(data: bytes | bytearray | memoryview) -> None:
                writes.append(len(data))
                write(data)

            transport.write = counted
            deliveries += await take(consumer, 99)
            for delivery in deliveries:
                await delivery.accept()
            await until(lambda: len(seen) == 100)
            assert writes == [2100]
            del transport.write

    run(main())
