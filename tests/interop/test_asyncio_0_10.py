"""The asyncio adapter's AMQP 0-10 against Broker-J."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from itertools import count
from typing import Any

import pytest

from amqp_sansio import AMQP_0_10, Accepted, EndpointClosed
from amqp_sansio.amqp_0_10 import (
    CREDIT,
    NONE,
    NOT_ACQUIRED,
    ExchangeBind,
    Message,
    QueueDeclare,
    QueueDelete,
    QueueQuery,
    Rejected,
    Xid,
)
from amqp_sansio.sasl import Anonymous, ScramSha256
from amqp_sansio_asyncio import Opening, SessionEnded, ZeroTenConnection, ZeroTenSession, connect
from tests.interop.brokers.brokerj import BrokerJ
from tests.interop.brokers.facing_0_10 import NONCE
from tests.kit.asyncio_loops import run

numbers = count(1)


@asynccontextmanager
async def attached(broker: BrokerJ, **options: Any) -> AsyncGenerator[tuple[ZeroTenConnection, ZeroTenSession, str]]:
    """A connection, a session, and a queue that is deleted in the end."""
    opening: Opening[ZeroTenConnection] = connect(broker.url, version=AMQP_0_10, **options)
    async with opening as connection:
        session = await connection.open_session()
        queue = f"async.0-10.{next(numbers)}"
        await session.call(QueueDeclare(queue))
        yield connection, session, queue
        deleting = await connection.open_session()
        await deleting.call(QueueDelete(queue))


async def left(session: ZeroTenSession, queue: str) -> int | None:
    return (await session.call(QueueQuery(queue))).message_count


def test_publishing_and_consuming(brokerj: BrokerJ) -> None:
    async def main() -> None:
        async with attached(brokerj) as (_, session, queue):
            await session.call(ExchangeBind(queue, "amq.direct", "key"))
            message = Message(b"hello", content_type="text/plain", application_headers={"n": 1})
            assert await session.publish(message, "amq.direct", "key") == Accepted()
            assert await session.publish(b"", "amq.direct", "absent") == Rejected(1, "Unroutable")
            assert await session.publish(b"none", "", queue, accept_mode=NONE) is None
            async with session.subscribe(queue) as subscription:
                first = await subscription.fetch(timeout=10)
                second = await subscription.fetch(timeout=10)
                assert first is not None
                assert second is not None
                assert (first.body, second.body) == (b"hello", b"none")
                assert first.message_properties.content_type == "text/plain"
                assert dict(first.message_properties.application_headers or {}) == {"n": 1}
                await first.accept()
                await second.release(set_redelivered=True)
                again = await subscription.fetch(timeout=10)
                assert again is not None
                assert again.redelivered
                await again.reject()
                await session.sync()
                assert await subscription.fetch(timeout=0.2) is None
            assert await left(session, queue) == 0

    run(main())


@pytest.mark.parametrize("options", [{}, {"flow_mode": CREDIT}, {"octets": 5000}])
def test_many_messages(brokerj: BrokerJ, options: dict[str, Any]) -> None:
    async def main() -> None:
        total = 500
        bodies = [str(number).encode().ljust(100) for number in range(total)]
        async with attached(brokerj) as (connection, session, queue):
            consuming = await connection.open_session()
            found: list[bytes] = []

            async def consume() -> None:
                async with consuming.subscribe(queue, credit=20, **options) as subscription:
                    async for received in subscription:
                        found.append(received.body)
                        await received.accept()
                        if len(found) == total:
                            await consuming.sync()
                            return

            task = asyncio.create_task(consume())
            sent = [await session.publish(body, "", queue, wait=False) for body in bodies]
            assert [await each for each in sent] == [Accepted()] * total
            await asyncio.wait_for(task, 60)
            assert found == bodies
            assert await left(session, queue) == 0

    run(main())


def test_a_large_message(brokerj: BrokerJ) -> None:
    async def main() -> None:
        async with attached(brokerj, max_frame_size=4096) as (_, session, queue):
            body = bytes(range(256)) * 4096
            assert await session.publish(body, "", queue) == Accepted()
            async with session.subscribe(queue) as subscription:
                received = await subscription.fetch(timeout=20)
                assert received is not None
                assert received.body == body
                await received.accept()

    run(main())


def test_browsing_and_acquiring(brokerj: BrokerJ) -> None:
    async def main() -> None:
        async with attached(brokerj) as (_, session, queue):
            for body in (b"one", b"two"):
                await session.publish(body, "", queue)
            async with session.subscribe(queue, acquire_mode=NOT_ACQUIRED) as subscription:
                first = await subscription.fetch(timeout=10)
                second = await subscription.fetch(timeout=10)
                assert first is not None
                assert second is not None
                assert await second.acquire()
                await second.accept()
                await session.sync()
            assert await left(session, queue) == 1

    run(main())


def test_transactions(brokerj: BrokerJ) -> None:
    async def main() -> None:
        async with attached(brokerj) as (connection, plain, queue):
            session = await connection.open_session()
            async with session.transaction():
                await session.publish(b"kept", "", queue, wait=False)
                assert await left(plain, queue) == 0
            assert await left(plain, queue) == 1
            with pytest.raises(ValueError, match="mine"):
                async with session.transaction():
                    await session.publish(b"dropped", "", queue, wait=False)
                    raise ValueError("mine")
            assert await left(plain, queue) == 1
            other = await connection.open_session()
            xid = Xid(7, b"async-%d" % next(numbers), b"branch")
            async with other.branch(xid) as branch:
                await other.publish(b"distributed", "", queue, wait=False)
            await branch.prepare()
            assert xid in await other.recover()
            assert await left(plain, queue) == 1
            await branch.commit()
            assert await left(plain, queue) == 2

    run(main())


def test_what_ends_a_session(brokerj: BrokerJ) -> None:
    async def main() -> None:
        async with attached(brokerj) as (connection, session, queue):
            failing = await connection.open_session()
            with pytest.raises(SessionEnded) as caught:
                await failing.subscribe("absent")
            assert (caught.value.code, caught.value.condition) == (404, "not-found")
            failing = await connection.open_session()
            async with session.subscribe(queue):
                with pytest.raises(SessionEnded) as caught:
                    await failing.subscribe(queue, exclusive=True)
                assert (caught.value.code, caught.value.condition) == (405, "resource-locked")
            # Broker-J keeps no sessions.
            kept = await connection.open_session(timeout=60)
            assert await kept.request_timeout(60) == 0

    run(main())


@pytest.mark.parametrize("exchange", ["", "amq.direct"])
def test_a_full_queue(brokerj: BrokerJ, exchange: str) -> None:
    """Broker-J stops the session; who publishes waits, and goes on when there's room."""

    async def main() -> None:
        async with attached(brokerj) as (connection, session, _):
            queue = f"async.0-10.{next(numbers)}"
            limits = {"x-qpid-capacity": 1000, "x-qpid-flow-resume-capacity": 500}
            await session.call(QueueDeclare(queue, arguments=limits))
            await session.call(ExchangeBind(queue, "amq.direct", queue))
            publishing = await connection.open_session()

            async def publish() -> None:
                for _ in range(20):
                    assert await publishing.publish(bytes(400), exchange, queue) == Accepted()
                    await asyncio.sleep(0.01)

            task = asyncio.create_task(publish())
            await asyncio.sleep(1)
            assert not task.done()
            async with session.subscribe(queue) as subscription:
                for _ in range(20):
                    received = await subscription.fetch(timeout=10)
                    assert received is not None
                    await received.accept()
                await asyncio.wait_for(task, 10)
                await session.sync()
            await session.call(QueueDelete(queue))

    run(main())


def test_heartbeats(brokerj: BrokerJ) -> None:
    async def main() -> None:
        async with attached(brokerj, heartbeat=1) as (connection, session, _):
            await asyncio.sleep(3.2)
            assert connection.is_open
            await session.sync()

    run(main())


def test_logging_in(brokerj: BrokerJ) -> None:
    async def main() -> None:
        scram = ScramSha256(brokerj.user, brokerj.password, NONCE)
        async with connect(brokerj.scram_url, version=AMQP_0_10, sasl=scram) as connection:
            await (await connection.open_session()).sync()
        async with connect(brokerj.anonymous_url, version=AMQP_0_10, sasl=Anonymous()) as one:
            assert one.is_open

    run(main())


@pytest.mark.parametrize(
    ("url", "code"),
    [("{user}:wrong@{host}:{port}/default", 320), ("{user}:{password}@{host}:{port}/absent", 402)],
)
def test_who_is_not_let_in(brokerj: BrokerJ, url: str, code: int) -> None:
    async def main() -> None:
        fields = {name: getattr(brokerj, name) for name in ("user", "password", "host", "port")}
        with pytest.raises(EndpointClosed) as caught:
            await connect("amqp://" + url.format(**fields), version=AMQP_0_10)
        assert caught.value.report is not None
        assert caught.value.report.code == code

    run(main())
