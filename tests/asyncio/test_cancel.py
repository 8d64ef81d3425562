"""Cancellation at every single await: nothing leaks, nothing is lost, the connection stays usable."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Generator
from typing import Any, Final

import pytest

from amqp_sansio import AMQP_0_9_1, AMQP_0_10, AMQP_1_0, Version
from amqp_sansio.amqp_0_9_1.spec import BasicQos
from amqp_sansio.amqp_0_10 import MessageReceived
from amqp_sansio.amqp_0_10.spec import CREDIT, NOT_ACQUIRED, QueueQuery, Xid
from amqp_sansio.amqp_1_0 import Accepted as Accepted10
from amqp_sansio.amqp_1_0 import Delivery, Message
from amqp_sansio.events import Accepted
from amqp_sansio_asyncio import Connection, connect
from amqp_sansio_asyncio.amqp_0_10 import Connection as Connection010
from amqp_sansio_asyncio.amqp_1_0 import Connection as Connection10
from tests.kit.asyncio_broker import driver_of, state_of, until
from tests.kit.asyncio_loops import Problems, run
from tests.kit.asyncio_stepping import Suspend, at_once, cancelled_at, with_the_answer
from tests.kit.sync_user import VERSIONS, each_version
from tests.kit.world_broker import WorldBroker

PARTS: Final = 3
"""So many cases share the steps of a version's work: it is done again for each step."""


@pytest.fixture
def broker() -> Generator[WorldBroker]:
    """A broker with queues."""
    with WorldBroker() as broker:
        for name in ("q", "empty", "rpc", "check"):
            broker.fill(name)
        yield broker


async def classic_work(connection: Connection, number: int) -> None:
    """Something of everything, on a channel of its own."""
    async with connection.open_channel(confirm=True) as ch:
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


async def work_1_0(connection: Connection10, number: int) -> None:
    """Something of everything, on a session of its own."""
    async with connection.open_session() as session:
        async with session.open_sender("q") as sender:
            assert await sender.send(b"one") == Accepted10()
            sent = await sender.send(b"two", wait=False)
            assert await sent == Accepted10()
            await sender.wait_credit()
            async with session.transaction() as transaction:
                await sender.send(b"three", transaction=transaction)
        async with session.open_receiver("q", credit=2) as receiver:
            async for delivery in receiver:
                await delivery.release()
                break
        async with session.open_receiver("q", credit=0, rcv_settle_mode=1) as receiver:
            await receiver.flow(1)
            taken = await receiver.fetch(5)
            assert taken is not None
            await taken.release()
            await receiver.flow(1000)
            await receiver.drain()
            receiver = await session.open_receiver("empty", credit=0)
            assert await receiver.fetch(0.001) is None
        async with session.open_requester("rpc") as requester:
            try:
                async with asyncio.timeout(0.001):
                    await requester.call(b"nobody answers")
            except TimeoutError:
                pass


async def work_0_10(connection: Connection010, number: int) -> None:
    """Something of everything, on a session of its own."""
    async with connection.open_session() as session:
        assert await session.publish(b"one", "", "q") == Accepted()
        sent = await session.publish(b"two", "", "q", wait=False)
        assert await sent == Accepted()
        assert (await session.call(QueueQuery("q"))).queue == "q"
        await session.sync()
        async with session.subscribe("q", credit=2) as subscription:
            async for received in subscription:
                await received.release()
                break
        async with session.subscribe("q", credit=0, flow_mode=CREDIT) as subscription:
            taken = await subscription.fetch(5)
            assert taken is not None
            await taken.release()
            await subscription.grant(1000)
            await subscription.flush()
        async with session.subscribe("empty", credit=0, flow_mode=CREDIT) as subscription:
            assert await subscription.fetch(0.001) is None
        async with session.subscribe("q", acquire_mode=NOT_ACQUIRED, credit=1) as subscription:
            looked = await subscription.fetch(5)
            assert looked is not None
            await looked.acquire()
        async with session.transaction():
            await session.publish(b"three", "", "q")
    async with connection.open_session() as session:
        branch = session.branch(Xid(1, b"%d" % number, b""))
        async with branch:
            await session.publish(b"four", "", "q")
        await branch.commit(one_phase=True)
    other = await connection.open_session(timeout=100)
    try:
        state = await other.detach()
    except BaseException:
        await other.close()
        raise
    async with connection.resume_session(state) as again:
        assert again.is_open


WORK: dict[Version, tuple[Callable[[Any, int], Coroutine[Any, Any, None]], int, int]] = {
    AMQP_0_9_1: (classic_work, 10, 1),
    AMQP_1_0: (work_1_0, 20, 3),
    AMQP_0_10: (work_0_10, 30, 4),
}
"""The work of each version, how often it waits at least, and how many messages it leaves at most."""


async def check(connection: Any, broker: WorldBroker, version: Version, before: int) -> None:
    """The connection works, no channel, link or consumer is left, and every message is in the queue."""
    client = driver_of(connection).core
    own = "channels" if version is AMQP_0_9_1 else "sessions"
    await until(lambda: not getattr(connection.core, own) and not getattr(broker.peer.core, own))
    q = broker.queue("q")
    await until(lambda: not q.consumers and not q.unsettled and before <= q.ready <= before + WORK[version][2])
    broker.queue("rpc").purge()
    if version is AMQP_0_9_1:
        assert not client.channels
        async with connection.open_channel(confirm=True) as ch:
            assert await ch.publish(b"check", routing_key="check") == Accepted()
    elif version is AMQP_0_10:
        async with connection.open_session() as session:
            assert await session.publish(b"check", "", "check") == Accepted()
    else:
        async with connection.open_session() as session, session.open_sender("check") as sender:
            assert await sender.send(Message(1)) == Accepted10()
    # Nothing is kept of calls that were given up.
    deadlines = [each for each in client._deadlines if not each[2].done] if version is not AMQP_0_9_1 else []
    assert [*client._waiting, *client._late, *deadlines] == []


@pytest.mark.parametrize("part", range(1, PARTS + 1))
@pytest.mark.parametrize("cancel", [at_once, with_the_answer])
@each_version
def test_cancelled_at_every_step(broker: WorldBroker, version: Version, cancel: Suspend, part: int) -> None:
    """One step in `PARTS` in each case, which together have them all."""
    work, least, _ = WORK[version]

    async def main() -> None:
        problems = Problems()
        problems.watch()
        broker.publish(b"first", routing_key="q")
        async with connect(broker.url, version=version) as connection:
            number, finished = part - PARTS, False
            while not finished:
                number += PARTS
                before = broker.queue("q").ready
                task = asyncio.ensure_future(cancelled_at(work(connection, number), number, cancel))
                await asyncio.wait([task])
                finished = not task.cancelled() and task.result() < number
                await check(connection, broker, version, before)
            assert number > least
        assert problems.contexts == []

    run(main(), world=broker.world)


@each_version
def test_connecting_is_cancelled_at_every_step(broker: WorldBroker, version: Version) -> None:
    async def main() -> None:
        problems = Problems()
        problems.watch()

        async def connecting() -> None:
            async with connect(broker.url, version=version):
                pass

        number, finished = 0, False
        while not finished:
            number += 1
            task = asyncio.ensure_future(cancelled_at(connecting(), number, at_once))
            await asyncio.wait([task])
            finished = not task.cancelled() and task.result() < number
            await until(lambda: not broker.connections)
        assert number > 2
        assert problems.contexts == []

    run(main(), world=broker.world)


def test_a_cancelled_request_is_waited_for_no_more(broker: WorldBroker) -> None:
    async def main() -> None:
        async with connect(broker.url) as connection:
            ch = await connection.open_channel()
            client: Any = state_of(ch).client
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.05):
                    await ch.request(b"nobody answers", routing_key="q")
            assert client._waiting == {}

    run(main(), world=broker.world)


@pytest.mark.parametrize("version", VERSIONS[1:], ids=lambda each: each.label)
def test_a_message_of_a_cancelled_sender_is_awaited_by_others(broker: WorldBroker, version: Version) -> None:
    kind = Delivery if version is AMQP_1_0 else MessageReceived
    accepted: object = Accepted10() if version is AMQP_1_0 else Accepted()
    held: list[Any] = []

    def hold(peer: Any, event: Any) -> bool:
        if isinstance(event, kind) and not held:
            held.append(event)
            return True
        return False

    async def main() -> None:
        broker.script = hold
        async with connect(broker.url, version=version) as connection:
            session: Any = await connection.open_session()
            pends = await session.open_sender("q") if version is AMQP_1_0 else session
            call = pends.send(b"x") if version is AMQP_1_0 else session.publish(b"x", "", "q")
            sending = asyncio.ensure_future(call)
            await until(lambda: held)

            async def wait() -> object:
                return await next(iter(pends.pending.values()))

            tasks = [asyncio.ensure_future(wait()) for _ in range(3)]
            await asyncio.sleep(0)
            sending.cancel()
            tasks[0].cancel()
            await asyncio.sleep(0.01)
            assert not any(each.done() for each in tasks[1:])
            broker.peer.do(lambda: broker.peer.pass_on(held[0]))
            assert [await each for each in tasks[1:]] == [accepted] * 2

    run(main(), world=broker.world)


@pytest.mark.parametrize("version", VERSIONS[1:], ids=lambda each: each.label)
def test_work_cancelled_in_a_transaction_is_rolled_back(broker: WorldBroker, version: Version) -> None:
    async def main() -> None:
        async with connect(broker.url, version=version) as connection, connection.open_session() as session:
            one: Any = session
            sender = await one.open_sender("q") if version is AMQP_1_0 else None

            async def work(seconds: float) -> None:
                async with one.transaction() as transaction:
                    if sender is None:
                        await one.publish(b"x", "", "q")
                    else:
                        await sender.send(b"x", transaction=transaction)
                    await asyncio.sleep(seconds)

            task = asyncio.ensure_future(work(60))
            await until(lambda: broker.peer.of(Delivery if version is AMQP_1_0 else MessageReceived))
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert broker.bodies("q") == []
            await work(0)
            assert broker.bodies("q") == [b"x"]
            if version is AMQP_0_10:
                # A branch that was cancelled while it started is left, and can be started again.
                other: Any = await connection.open_session()
                for first in (Xid(1, b"first", b""), Xid(1, b"second", b"")):
                    starting = asyncio.ensure_future(other.branch(first).start())
                    await asyncio.sleep(0)
                    await asyncio.sleep(0)
                    starting.cancel()
                    await asyncio.wait([starting])
                    await other.sync()
                async with other.branch(Xid(1, b"third", b"")) as branch:
                    await other.publish(b"y", "", "q")
                await branch.commit(one_phase=True)
                assert broker.bodies("q") == [b"x", b"y"]

    run(main(), world=broker.world)
