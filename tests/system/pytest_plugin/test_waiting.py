"""Waiting for a broker in coroutines, and brokers that several tests share, as a user has them."""

import asyncio

import pytest
import trio

from amqp_sansio_asyncio import connect
from amqp_sansio_pytest import EmbeddedBroker, NotAsExpected
from tests.kit.rule_runs import ALONE

pytest_plugins = ["pytester"]


def test_a_coroutine_waits_for_what_its_own_loop_does(amqp_broker: EmbeddedBroker) -> None:
    async def main() -> None:
        async with connect(amqp_broker.url) as connection, connection.open_channel() as channel:
            await channel.declare_queue("w", durable=True)
            began = asyncio.Event()

            async def later() -> None:
                await began.wait()
                await channel.publish(b"x", routing_key="w")

            task = asyncio.create_task(later())
            asyncio.get_running_loop().call_later(0.01, began.set)
            assert await amqp_broker.wait_until(lambda broker: broker.queue("w").ready) == 1
            assert (await amqp_broker.history.wait_until("routed", queue="w")).bodies == [b"x"]
            assert len(await amqp_broker.history.wait_until(lambda history: history.published(body="x"))) == 2
            await task

    asyncio.run(main())


def test_waiting_in_a_coroutine_ends_after_its_time(amqp_broker: EmbeddedBroker) -> None:
    async def main() -> None:
        with pytest.raises(AssertionError, match=r"hasn't come true within 0.01 s; it gives \(\)"):
            await amqp_broker.wait_until(lambda broker: broker.connections, timeout=0.01)
        with pytest.raises(NotAsExpected, match=r"within 0.01 s: 1 accepted expected"):
            await amqp_broker.history.wait_until("accepted", timeout=0.01)

    asyncio.run(main())


def test_trio_waits_too(amqp_broker: EmbeddedBroker) -> None:
    amqp_broker.preload({"queues": ["w"]})

    async def publish() -> None:
        await trio.sleep(0.01)
        amqp_broker.publish(b"x", routing_key="w")

    async def main() -> None:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(publish)
            assert await amqp_broker.wait_until(lambda broker: broker.queue("w").ready) == 1
            with pytest.raises(RuntimeError, match="wait_until"):
                amqp_broker.wait_for(lambda _: True)

    trio.run(main)


def test_what_would_hold_up_the_loop_is_refused(amqp_broker: EmbeddedBroker) -> None:
    async def main() -> None:
        with pytest.raises(RuntimeError, match=r"await broker.wait_until"):
            amqp_broker.wait_for(lambda _: True)
        with pytest.raises(RuntimeError, match=r"await broker.history.wait_until"):
            amqp_broker.history.wait_for("accepted")
        with amqp_broker.faults.stall() as fault, pytest.raises(RuntimeError, match="wait_until"):
            fault.wait_hit()
        # A thread of its own may block.
        assert await asyncio.to_thread(amqp_broker.wait_for, lambda _: 7) == 7

    asyncio.run(main())


def test_without_a_loop_there_is_nothing_to_go_on(amqp_broker: EmbeddedBroker) -> None:
    waiting = amqp_broker.wait_until(lambda _: True)
    with pytest.raises(RuntimeError, match="wait_for"):
        waiting.send(None)


def test_a_broker_of_a_wider_scope(pytester: pytest.Pytester) -> None:
    pytester.makeconftest(
        """
        from amqp_sansio_pytest import broker_fixture

        session_broker = broker_fixture("session", definitions={"queues": ["jobs"]})
        """
    )
    body = """
        from amqp_sansio_pytest import broker_fixture

        amqp_broker = broker_fixture("module", users={"me": "s3cret"})

        def test_it_is_shared(session_broker, amqp_broker, amqp_broker_url):
            session_broker.publish(b"x", routing_key="jobs")
            assert amqp_broker_url == amqp_broker.url and "me:s3cret" in amqp_broker_url
            amqp_broker.preload({"queues": ["left"]})

        def test_it_is_still_there(session_broker, amqp_broker):
            assert session_broker.queue("jobs").ready == NUMBER
            assert amqp_broker.queues == ("left",)
    """
    pytester.makepyfile(test_a=body.replace("NUMBER", "1"), test_b=body.replace("NUMBER", "2"))
    pytester.runpytest_inprocess(*ALONE).assert_outcomes(passed=4)


def test_a_failed_test_shows_the_broker_that_it_shares(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        from amqp_sansio_pytest import broker_fixture

        orders = broker_fixture("module", definitions={"queues": ["jobs"]})

        def test_it(orders):
            orders.publish(b"hello", routing_key="jobs")
            assert False
        """
    )
    result = pytester.runpytest_inprocess(*ALONE)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*AMQP broker on port *", "queue 'jobs': 1 ready, 0 unsettled, 0 consumers"])
