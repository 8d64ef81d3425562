"""The snippet of the documentation, run as it stands against a broker, and the examples of docstrings."""

from __future__ import annotations

import ast
import asyncio
import doctest
import inspect
import types

import pytest

from amqp_sansio_asyncio import client, connect
from tests.kit.asyncio_broker import broker, url_of
from tests.kit.asyncio_loops import run

SNIPPET = """
from amqp_sansio.amqp_0_9_1 import QueueDeclare
from amqp_sansio_asyncio import connect

async with connect("amqp://guest:guest@localhost/") as connection:
    channel = await connection.open_channel()
    ok = await channel.call(QueueDeclare(queue="jobs", durable=True))
    outcome = await channel.publish(b"hello", routing_key="jobs", mandatory=True)
    async for delivery in channel.consume("jobs", prefetch=100):
        print(delivery.body, delivery.properties.headers)
        await delivery.accept()
"""


def test_the_snippet_runs_as_it_stands(capsys: pytest.CaptureFixture[str]) -> None:
    async def main() -> None:
        async with broker() as (server, made):
            source = SNIPPET.replace("amqp://guest:guest@localhost/", url_of(server))
            code = compile(source, "snippet", "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
            ran = types.FunctionType(code, {})()
            assert inspect.iscoroutine(ran)
            task = asyncio.ensure_future(ran)
            async with asyncio.timeout(10):
                while "hello" not in capsys.readouterr().out:
                    await asyncio.sleep(0.01)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert not made.queues["jobs"].messages

    run(main())


def test_examples_of_docstrings() -> None:
    results = doctest.testmod(client)
    assert results.attempted > 0
    assert results.failed == 0

    async def main() -> None:
        async with broker() as (server, _), connect(url_of(server), heartbeat=30) as connection:
            assert (await connection.open_channel()).number == 1

    run(main())
