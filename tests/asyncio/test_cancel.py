"""Cancellation at every single await of a session: nothing leaks, nothing is lost, the connection stays usable."""

from __future__ import annotations

import asyncio
import types
from collections.abc import Callable, Coroutine, Generator
from typing import Any

import pytest

from amqp_sansio.amqp_0_9_1 import BasicQos, QueueDeclare
from amqp_sansio.events import Accepted
from amqp_sansio_asyncio import Connection, connect
from amqp_sansio_asyncio.client_driver import ClientDriver
from examples.server import Broker
from tests.support.asyncio_broker import broker, driver_of, until, url_of
from tests.support.asyncio_loops import Problems, run

Suspend = Callable[["asyncio.Future[Any]", "asyncio.Task[Any]"], None]


def at_once(future: asyncio.Future[Any], task: asyncio.Task[Any]) -> None:
    """Cancel before anything else happens."""
    task.cancel()


def with_the_answer(future: asyncio.Future[Any], task: asyncio.Task[Any]) -> None:
    """Cancel in the same turn as the answer comes, before the task could see it."""
    future.add_done_callback(lambda _: task.cancel())


@types.coroutine
def stepping(
    main: Coroutine[Any, Any, None], number: int, cancel: Suspend
) -> Generator[Any, Any, int]:
    """Run `main` and cancel it at its suspension `number`; how often it was suspended."""
    task = asyncio.current_task()
    assert task is not None
    count = 0
    error: BaseException | None = None
    while True:
        try:
            suspended = main.send(None) if error is None else main.throw(error)
        except StopIteration:
            return count
        count += 1
        if count == number and suspended is not None:
            cancel(suspended, task)
        error = None
        try:
            yield suspended
        except BaseException as thrown:
            error = thrown


async def session(connection: Connection) -> None:
    """Something of everything, on a channel of its own."""
    async with connection.open_channel(confirm=True) as ch:
        await ch.call(QueueDeclare(queue="q"))
        await ch.call(BasicQos(0, 3, False))
        assert await ch.publish(b"published", routing_key="q", mandatory=True) == Accepted()
        await ch.publish(b"lost", routing_key="nowhere", mandatory=True)
        fetched = await ch.get("q")
        assert fetched is not None
        await fetched.release()
        async with ch.consume("q", prefetch=2) as deliveries:
            for _ in range(2):
                delivery = await anext(deliveries)
                await delivery.release()
        consumer = ch.consume("q", prefetch=2)
        async for delivery in consumer:
            await delivery.release()
            await consumer.cancel()
            break


async def check(connection: Connection, made: Broker, published: int) -> None:
    """The connection works, no channel or consumer is left, and every message is in the queue."""
    await until(lambda: not connection.core.channels)
    queue = made.queues["q"]
    await until(lambda: not queue.subscriptions)
    await until(lambda: len(queue.messages) in (published, published + 1))
    driver = driver_of(connection)
    assert isinstance(driver, ClientDriver)
    assert not driver.channels
    async with connection.open_channel(confirm=True) as ch:
        assert (await ch.call(QueueDeclare(queue="q"))).message_count == len(queue.messages)
        assert await ch.publish(b"check", routing_key="check") == Accepted()


@pytest.mark.parametrize("cancel", [at_once, with_the_answer])
def test_cancelled_at_every_step(cancel: Suspend) -> None:
    async def main() -> None:
        problems = Problems()
        problems.watch()
        async with broker() as (server, made), connect(url_of(server)) as connection:
            async with connection.open_channel() as ch:
                await ch.call(QueueDeclare(queue="q"))
                await ch.publish(b"first", routing_key="q")
            number, finished = 0, False
            while not finished:
                number += 1
                before = len(made.queues["q"].messages)
                task = asyncio.ensure_future(_as_coroutine(session(connection), number, cancel))
                await asyncio.wait([task])
                finished = not task.cancelled() and task.result() < number
                await check(connection, made, before)
            assert number > 10
            driver = ch.driver
            assert driver.waiting == {}
            assert driver.hooks == {}
        assert problems.contexts == []

    run(main())


async def _as_coroutine(main: Coroutine[Any, Any, None], number: int, cancel: Suspend) -> int:
    return await stepping(main, number, cancel)


def test_late_answers_are_taken_and_dropped() -> None:
    async def main() -> None:
        async with broker() as (server, _), connect(url_of(server)) as connection:
            ch = await connection.open_channel()
            calls = [asyncio.ensure_future(ch.call(QueueDeclare(queue=f"{n}"))) for n in range(9)]
            await asyncio.sleep(0)
            for call in calls[::2]:
                call.cancel()
            results = await asyncio.gather(*calls, return_exceptions=True)
            assert [isinstance(each, asyncio.CancelledError) for each in results] == [
                n % 2 == 0 for n in range(9)
            ]
            assert (await ch.call(QueueDeclare(queue="last"))).queue == "last"

    run(main())


def test_a_cancelled_close_goes_on() -> None:
    async def main() -> None:
        async with broker() as (server, _):
            connection = await connect(url_of(server))
            closing = asyncio.ensure_future(connection.close())
            await asyncio.sleep(0)
            closing.cancel()
            report = await connection.wait_closed()
            assert report.code == 200

    run(main())
