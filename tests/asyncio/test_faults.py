"""What ends at once when the server breaks a rule: every wait on what is broken off, whatever the server says then."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

import pytest

from amqp_sansio import AMQP_0_8, AMQP_0_10, AMQP_1_0, By, Closed, EndpointClosed, Version
from amqp_sansio.amqp_0_9_1 import QueueDeclare
from amqp_sansio.amqp_0_10 import QueueQuery
from amqp_sansio_asyncio import connect
from tests.kit.asyncio_broker import driver_of
from tests.kit.asyncio_loops import run
from tests.kit.faulty_servers import CASES, FAULTS, LATE, LIMITS, SOON, FaultyServer, faulty
from tests.kit.sync_server import wait_until

Wait = Coroutine[Any, Any, object]


async def next_of(iterator: Any) -> object:
    """The next of what is iterated over."""
    item: object = await anext(iterator)
    return item


async def waits_of(connection: Any, server: FaultyServer, scope: str) -> list[Wait]:
    """What may wait on a connection, when the server answers nothing."""
    if server.version is AMQP_1_0:
        session = await connection.open_session()
        receiver = await session.open_receiver("jobs", credit=3, max_message_size=8)
        sender = await session.open_sender("jobs")
        server.hold()
        if scope == "link":
            return [next_of(receiver), receiver.fetch(), receiver.drain()]
        waits: list[Wait] = [
            next_of(receiver), sender.send(b"x"), open_it(session.open_sender("other")), next_of(session.events()),
        ]  # fmt: skip
    elif server.version is AMQP_0_10:
        session = await connection.open_session()
        subscription = await open_it(session.subscribe("jobs"))
        server.hold()
        waits = [
            next_of(subscription), session.publish(b"x", routing_key="jobs"), session.call(QueueQuery(queue="jobs")),
            next_of(session.events()),
        ]  # fmt: skip
    else:
        new = server.version is not AMQP_0_8
        channel = await connection.open_channel(confirm=new)
        consumer = channel.consume("jobs", consumer_tag="c")
        await consumer.start()
        server.hold()
        declare = QueueDeclare if new else connection.core.dialect.named["queue.declare"]
        waits = [all_of(consumer), channel.call(declare(queue="jobs")), next_of(channel.events())]
        if new:
            waits.append(channel.publish(b"x"))
    if scope == "connection":
        waits.append(next_of(connection.events()))
    return waits


async def open_it(opening: Any) -> Any:
    """What is being opened."""
    return await opening


async def all_of(iterator: Any) -> None:
    """Iterate to the end."""
    async for _ in iterator:
        continue


@pytest.mark.parametrize(("version", "scope"), CASES, ids=lambda value: getattr(value, "label", value))
def test_what_waits_ends_at_once_with_the_fault(version: Version, scope: str) -> None:
    fault = FAULTS[version][scope]

    async def main(server: FaultyServer) -> None:
        connection: Any = await connect(server.url, version=version, close_timeout=LATE, limits=LIMITS)
        tasks = [asyncio.create_task(each) for each in await waits_of(connection, server, scope)]
        await asyncio.sleep(0.05)
        assert not [task for task in tasks if task.done()]
        await asyncio.to_thread(server.break_rule, fault.octets)
        done, waiting = await asyncio.wait(tasks, timeout=SOON)
        assert not waiting
        for task in done:
            with pytest.raises(EndpointClosed, match=fault.words):
                task.result()
        assert connection.report is None
        driver_of(connection).transport.abort()  # type: ignore[union-attr]
        await connection.wait_closed()

    with faulty(version) as server:
        run(main(server))


@pytest.mark.parametrize("version", FAULTS, ids=lambda version: version.label)
def test_an_opening_ends_at_once_with_the_fault(version: Version) -> None:
    fault = FAULTS[version]["connection"]

    async def main(url: str) -> None:
        with pytest.raises(EndpointClosed, match=f"no connection to .*{fault.words}") as caught:
            await connect(url, version=version, handshake_timeout=LATE, close_timeout=LATE)
        assert caught.value.report is not None
        assert caught.value.report.by is By.LOCAL

    with faulty(version, fault.octets) as server:
        run(main(server.url), SOON)
        session = server.server.session()
        session.reading = True
        session.do(lambda: None)
        wait_until(lambda: bool(session.of(Closed)))
        # The server was told why.
        assert session.of(Closed)[-1].report.by is By.REMOTE
