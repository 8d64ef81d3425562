"""Both adapters' AMQP 0-10 against Broker-J and the embedded broker."""

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from itertools import count
from typing import Any

import pytest

from amqp_sansio import Accepted, EndpointClosed
from amqp_sansio import amqp_0_10 as amqp
from amqp_sansio.amqp_0_10 import spec
from amqp_sansio.sasl import Anonymous, ScramSha256
from amqp_sansio_asyncio import SessionEnded
from tests.interop.brokers.brokerj import BrokerJ
from tests.interop.brokers.embedded import Embedded
from tests.interop.brokers.facing_0_10 import NONCE
from tests.kit.worlds import World

WAIT = 20
Broker = BrokerJ | Embedded
Scenario = Callable[[Any, Any, str], Any]
numbers = count(1)


@pytest.fixture(params=("brokerj", "embedded"), name="broker")
def either_broker(request: pytest.FixtureRequest) -> Broker:
    broker: Broker = request.getfixturevalue(request.param)
    return broker


@asynccontextmanager
async def attached(world: World, broker: Broker, **options: Any) -> AsyncGenerator[tuple[Any, Any, str]]:
    """A connection, a session, and a queue that is deleted in the end."""
    async with world.connect_0_10(broker.url, **options) as connection:
        session = await connection.open_session()
        queue = f"client.0-10.{next(numbers)}"
        await session.call(spec.QueueDeclare(queue))
        yield connection, session, queue
        deleting = await connection.open_session()
        await deleting.call(spec.QueueDelete(queue))


async def left(session: Any, queue: str) -> int:
    found: int = (await session.call(spec.QueueQuery(queue))).message_count
    return found


async def fetched(subscription: Any) -> Any:
    """The next message, which has to come."""
    received = await subscription.fetch(timeout=WAIT)
    assert received is not None
    return received


def with_queue(world: World, broker: Broker, scenario: Scenario, **options: Any) -> None:
    """Run a scenario with a connection, a session and a queue."""

    async def main() -> None:
        async with attached(world, broker, **options) as (connection, session, queue):
            await scenario(connection, session, queue)

    world.run(main(), 60)


def test_publishing_and_consuming(world: World, broker: Broker) -> None:
    async def scenario(connection: Any, session: Any, queue: str) -> None:
        exchange = f"x.{queue}"
        await session.call(spec.ExchangeDeclare(exchange, type="topic"))
        await session.call(spec.ExchangeBind(queue, exchange, "a.#"))
        message = amqp.Message(b"hello", content_type="text/plain", application_headers={"n": 1})
        assert await session.publish(message, exchange, "a.b") == Accepted()
        refused = await session.publish(b"", "amq.direct", "absent")
        assert (
            refused == amqp.Rejected(1, "Unroutable")
            if isinstance(broker, BrokerJ)
            else isinstance(refused, amqp.Rejected)
        )
        assert await session.publish(b"none", "", queue, accept_mode=amqp.spec.NONE) is None
        async with session.subscribe(queue) as subscription:
            first, second = await fetched(subscription), await fetched(subscription)
            assert (first.body, second.body) == (b"hello", b"none")
            assert first.message_properties.content_type == "text/plain"
            assert dict(first.message_properties.application_headers or {}) == {"n": 1}
            await first.accept()
            await second.release(set_redelivered=True)
            again = await fetched(subscription)
            assert again.redelivered
            await again.reject()
            await session.sync()
            assert await subscription.fetch(timeout=0.2) is None
        assert await left(session, queue) == 0
        await session.call(spec.ExchangeDelete(exchange))

    with_queue(world, broker, scenario)


@pytest.mark.parametrize("options", [{}, {"flow_mode": amqp.spec.CREDIT}, {"octets": 5000}])
def test_many_messages(world: World, broker: Broker, options: dict[str, Any]) -> None:
    total = 500
    bodies = [str(number).encode().ljust(100) for number in range(total)]

    async def scenario(connection: Any, session: Any, queue: str) -> None:
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

        task = world.start(consume())
        sent = [await session.publish(body, "", queue, wait=False) for body in bodies]
        assert [await each for each in sent] == [Accepted()] * total
        await task
        assert found == bodies
        assert await left(session, queue) == 0

    with_queue(world, broker, scenario)


def test_a_large_message(world: World, broker: Broker) -> None:
    async def scenario(connection: Any, session: Any, queue: str) -> None:
        body = bytes(range(256)) * 8192
        assert await session.publish(body, "", queue) == Accepted()
        async with session.subscribe(queue) as subscription:
            received = await fetched(subscription)
            assert received.body == body
            await received.accept()

    with_queue(world, broker, scenario, max_frame_size=4096)


def test_browsing_and_acquiring(world: World, broker: Broker) -> None:
    async def scenario(connection: Any, session: Any, queue: str) -> None:
        for body in (b"one", b"two"):
            await session.publish(body, "", queue)
        async with session.subscribe(queue, acquire_mode=amqp.spec.NOT_ACQUIRED) as subscription:
            await fetched(subscription)
            second = await fetched(subscription)
            assert await second.acquire()
            await second.accept()
            await session.sync()
        assert await left(session, queue) == 1

    with_queue(world, broker, scenario)


def test_transactions(world: World, broker: Broker) -> None:
    async def scenario(connection: Any, plain: Any, queue: str) -> None:
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
        xid = spec.Xid(7, b"client-%d" % next(numbers), b"branch")
        async with other.branch(xid) as branch:
            await other.publish(b"distributed", "", queue, wait=False)
        await branch.prepare()
        assert xid in await other.recover()
        assert await left(plain, queue) == 1
        await branch.commit()
        assert await left(plain, queue) == 2

    with_queue(world, broker, scenario)


def test_what_ends_a_session(world: World, broker: Broker) -> None:
    async def scenario(connection: Any, session: Any, queue: str) -> None:
        failing = await connection.open_session()
        with pytest.raises(SessionEnded) as caught:
            await failing.subscribe("absent")
        assert (caught.value.code, caught.value.condition) == (404, "not-found")
        failing = await connection.open_session()
        async with session.subscribe(queue):
            with pytest.raises(SessionEnded) as caught:
                await failing.subscribe(queue, exclusive=True)
        if not isinstance(broker, BrokerJ):
            assert caught.value.code in (403, 405)
            return
        assert (caught.value.code, caught.value.condition) == (405, "resource-locked")
        # Broker-J keeps no sessions.
        kept = await connection.open_session(timeout=60)
        assert await kept.request_timeout(60) == 0

    with_queue(world, broker, scenario)


@pytest.mark.parametrize("exchange", ["", "amq.direct"])
def test_a_full_queue(world: World, brokerj: BrokerJ, exchange: str) -> None:
    """Broker-J stops the session; who publishes waits, and goes on when there's room."""

    async def scenario(connection: Any, session: Any, unused: str) -> None:
        queue = f"full.0-10.{next(numbers)}"
        limits = {"x-qpid-capacity": 1000, "x-qpid-flow-resume-capacity": 500}
        await session.call(spec.QueueDeclare(queue, arguments=limits))
        await session.call(spec.ExchangeBind(queue, "amq.direct", queue))
        publishing = await connection.open_session()

        async def publish() -> None:
            for _ in range(20):
                assert await publishing.publish(bytes(400), exchange, queue) == Accepted()
                await world.pause(0.01)

        task = world.start(publish())
        await world.pause(1)
        assert not task.done
        async with session.subscribe(queue) as subscription:
            for _ in range(20):
                await (await fetched(subscription)).accept()
            await task
            await session.sync()
        await session.call(spec.QueueDelete(queue))

    with_queue(world, brokerj, scenario)


def test_heartbeats(world: World, broker: Broker) -> None:
    async def scenario(connection: Any, session: Any, queue: str) -> None:
        await world.pause(3.2)
        assert connection.is_open
        await session.sync()

    with_queue(world, broker, scenario, heartbeat=1)


def test_logging_in(world: World, broker: Broker) -> None:
    async def main() -> None:
        scram = ScramSha256(broker.user, broker.password, NONCE)
        url = broker.scram_url if isinstance(broker, BrokerJ) else broker.url
        async with world.connect_0_10(url, sasl=scram) as connection:
            await (await connection.open_session()).sync()
        if isinstance(broker, BrokerJ):
            async with world.connect_0_10(broker.anonymous_url, sasl=Anonymous()) as one:
                assert one.is_open

    world.run(main())


@pytest.mark.parametrize(
    ("url", "code"),
    [("{user}:wrong@{host}:{port}/{vhost}", 320), ("{user}:{password}@{host}:{port}/absent", 402)],
    ids=["password", "virtual host"],
)
def test_who_is_not_let_in(world: World, broker: Broker, url: str, code: int) -> None:
    async def main() -> None:
        fields = {name: getattr(broker, name) for name in ("user", "password", "host", "port")}
        vhost = "default" if isinstance(broker, BrokerJ) else ""
        with pytest.raises(EndpointClosed) as caught:
            await world.connect_0_10("amqp://" + url.format(**fields, vhost=vhost))
        assert caught.value.report is not None
        assert caught.value.report.code == code

    world.run(main())
