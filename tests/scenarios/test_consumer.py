"""Consumers of 0-9-1: what they give, how it is settled, bounds, and that each iteration ends, with the reason."""

from __future__ import annotations

import copy
import gc
import pickle
from typing import Any

import pytest

from amqp_sansio import By, EndpointClosed, Event, Limits, LocalProtocolError
from amqp_sansio.amqp_0_9_1 import BasicProperties, MethodReceived, Published, Request
from amqp_sansio.amqp_0_9_1.spec import BasicCancel, BasicConsume, BasicConsumeOk, BasicQos, QueueDeclare, QueueDelete
from amqp_sansio.client.classic.consumer import Consumer, Delivery
from amqp_sansio.errors import ConsumerEnded
from tests.kit.scenarios import has_one_thread, only
from tests.kit.scripted import Peer, ScriptedBroker, holding, is_method
from tests.kit.worlds import World

BODIES = [b"%d" % n for n in range(10)]


async def take(consumer: Consumer, count: int) -> list[Delivery]:
    """The next deliveries."""
    return [await anext(consumer) for _ in range(count)]


def settlements(peer: Peer) -> list[str]:
    """The names of the settling methods that came."""
    return [event.method.NAME for event in peer.of(MethodReceived) if event.method.NAME.startswith("basic.")]


async def test_deliveries_come_in_order_and_are_settled(world: World, broker: ScriptedBroker) -> None:
    broker.fill("q", *BODIES)
    async with world.connect(broker.url) as connection, connection.open_channel() as channel:
        properties = BasicProperties(correlation_id="7", headers={"a": [1, True]})
        await channel.publish(b"last", routing_key="q", properties=properties)
        seen: list[bytes] = []
        async for delivery in channel.consume("q", prefetch=3):
            seen.append(delivery.body)
            assert (delivery.exchange, delivery.routing_key, delivery.redelivered) == ("", "q", False)
            assert (delivery.consumer_tag, delivery.delivery_tag) == ("c1.1", len(seen))
            assert delivery.message_count is None
            await delivery.accept()
            with pytest.raises(LocalProtocolError, match="no delivery with tag"):
                await delivery.accept()
            if delivery.body == b"last":
                assert (delivery.properties.correlation_id, delivery.headers) == ("7", {"a": [1, True]})
                assert "channel 1, exchange '', routing key 'q', 4 octets" in repr(delivery)
                break
        assert seen == [*BODIES, b"last"]


async def test_each_settlement_reaches_the_server(world: World, broker: ScriptedBroker) -> None:
    broker.fill("q", *BODIES[:5])
    async with world.connect(broker.url) as connection, connection.open_channel() as channel:
        async with channel.consume("q") as deliveries:
            one, two, three, four, five = await take(deliveries, 5)
            await one.accept()
            await two.reject()
            await four.accept(multiple=True)
            with pytest.raises(LocalProtocolError):
                await three.accept()
            await five.release()
            again = await anext(deliveries)
            assert (again.body, again.redelivered) == (five.body, True)
            await again.accept()
            await channel.call(QueueDeclare("other", durable=True))
            assert settlements(broker.peer) == [f"basic.{name}" for name in ("ack", "reject", "ack", "reject", "ack")]
        assert broker.messages("q") == ()


async def test_the_request_says_what_was_asked_for(world: World, broker: ScriptedBroker) -> None:
    broker.fill("q", *BODIES)
    broker.fill("r", b"r")
    arguments = {"x-priority": 5}
    async with world.connect(broker.url) as connection, connection.open_channel() as channel:
        async with channel.consume(
            "q", consumer_tag="mine", exclusive=True, arguments=arguments, prefetch=7
        ) as consumer:
            assert consumer.consumer_tag == "mine"
        async with channel.consume("q", no_local=True, prefetch=None) as consumer:
            assert [each.body for each in await take(consumer, 7)] == BODIES[:7]
        async with channel.consume("q", no_ack=True, prefetch=50) as consumer, channel.consume("r") as other:
            assert sorted([each.body for each in await take(consumer, 3)]) == BODIES[7:]
            assert (await anext(other)).body == b"r"
        requests = [event.method for event in broker.peer.of(Request)]
        assert requests[:6] == [
            BasicQos(0, 7, False),
            BasicConsume("q", "mine", exclusive=True, arguments=arguments),
            BasicCancel("mine"),
            BasicConsume("q", "c1.1", no_local=True),
            BasicCancel("c1.1"),
            BasicConsume("q", "c1.2", no_ack=True),
        ]


async def test_the_server_may_choose_another_tag(world: World, broker: ScriptedBroker) -> None:
    def script(peer: Peer, event: Event) -> bool:
        if is_method(event, "basic.consume"):
            peer.core.channel(1).reply(BasicConsumeOk("chosen"))
            peer.core.channel(1).deliver(b"x", consumer_tag="chosen")
        return is_method(event, "basic.consume")

    broker.script = script
    async with world.connect(broker.url) as connection, connection.open_channel() as channel:
        consumer = channel.consume("q", consumer_tag="asked", no_ack=True)
        assert (await anext(consumer)).body == b"x"
        assert consumer.consumer_tag == "chosen"


async def test_the_prefetch_bounds_what_waits_here(world: World, broker: ScriptedBroker) -> None:
    broker.fill("q", *BODIES)
    async with (
        world.connect(broker.url) as connection,
        connection.open_channel() as channel,
        channel.consume("q", prefetch=3) as deliveries,
    ):
        taken = await take(deliveries, 3)
        with pytest.raises(TimeoutError):
            await world.within(0.01, anext(deliveries))
        assert broker.queue("q").ready == 7
        await taken[0].accept()
        assert (await anext(deliveries)).body == b"3"
        assert broker.queue("q").ready == 6


async def test_cancel_ends_the_iteration_after_what_has_come(world: World, broker: ScriptedBroker) -> None:
    broker.fill("q", *BODIES)
    async with world.connect(broker.url) as connection, connection.open_channel() as channel:
        consumer = channel.consume("q", prefetch=4)
        seen = [await anext(consumer)]
        await channel.call(QueueDeclare("other", durable=True))
        await consumer.cancel()
        seen += [each async for each in consumer]
        assert [each.body for each in seen] == BODIES[:4]
        with pytest.raises(StopAsyncIteration):
            await anext(consumer)
        await consumer.cancel()
        for each in seen:
            await each.accept()
        assert (await channel.call(QueueDeclare("q", durable=True))).message_count == 6
        # So does a call by hand.
        consumer = channel.consume("q", consumer_tag="mine", prefetch=1)
        await (await anext(consumer)).reject()
        await channel.call(BasicCancel("mine"))
        assert len([each async for each in consumer]) <= 1


async def test_leaving_gives_back_what_was_not_taken(world: World, broker: ScriptedBroker) -> None:
    broker.fill("q", *BODIES)
    async with world.connect(broker.url) as connection, connection.open_channel() as channel:
        async with channel.consume("q", prefetch=5) as deliveries:
            first, second = await take(deliveries, 2)
            await first.accept()
        await world.until(lambda: broker.queue("q").ready == 8)
        await second.accept()
        await channel.call(QueueDeclare("other", durable=True))
        assert [each async for each in deliveries] == []
        assert sorted(broker.bodies("q")) == BODIES[2:]
        await deliveries.close()
        # Breaking out of a loop drops the consumer, which does the same.
        async for delivery in channel.consume("q", prefetch=5):
            await delivery.accept()
            break
        gc.collect()
        await world.until(lambda: not broker.queue("q").consumers and broker.queue("q").ready == 7)
        await channel.call(QueueDeclare("q", durable=True))


async def test_the_server_ends_a_consumer(world: World, broker: ScriptedBroker) -> None:
    broker.fill("q", *BODIES[:3])
    async with world.connect(broker.url) as connection:
        channel, other = await connection.open_channel(), await connection.open_channel()
        consumer = channel.consume("q", prefetch=10)
        taken = [await anext(consumer)]
        await other.call(QueueDelete("q"))
        taken += await take(consumer, 2)
        for each in taken:
            await each.accept()
        with pytest.raises(ConsumerEnded, match="the server cancelled the consumer"):
            await anext(consumer)
        with pytest.raises(ConsumerEnded, match="the server cancelled the consumer") as caught:
            await anext(consumer)
        error = caught.value
        assert error.consumer_tag == consumer.consumer_tag
        assert error.report is not None
        assert error.report.by is By.REMOTE
        for same in (copy.copy(error), pickle.loads(pickle.dumps(error))):
            assert (str(same), same.report) == (str(error), error.report)
        await consumer.close()
        assert channel.is_open


async def test_an_error_on_the_channel_ends_its_consumers(world: World, broker: ScriptedBroker) -> None:
    broker.fill("q", *BODIES)
    async with world.connect(broker.url) as connection, connection.open_channel() as channel:
        consumer = channel.consume("q", prefetch=2)
        taken = await anext(consumer)
        without = channel.consume("q", no_ack=True, consumer_tag="none")
        first = await anext(without)
        with pytest.raises(EndpointClosed, match="404"):
            await channel.call(QueueDeclare("nowhere", passive=True))
        # What can't be acknowledged any more comes back; what needs no acknowledgement is ours.
        with pytest.raises(EndpointClosed, match="404 NOT_FOUND") as caught:
            await anext(consumer)
        assert caught.value.report is not None
        assert caught.value.report.unsettled == (1, 2)
        assert [each.body for each in [first, *await take(without, 7)]] == BODIES[2:]
        with pytest.raises(EndpointClosed, match="404 NOT_FOUND"):
            await anext(without)
        with pytest.raises(EndpointClosed, match="404 NOT_FOUND"):
            await taken.accept()
        await consumer.cancel()
        await consumer.close()


async def test_a_queue_that_is_not_there(world: World, broker: ScriptedBroker) -> None:
    async with world.connect(broker.url) as connection:
        channel = await connection.open_channel()
        for _ in range(2):
            with pytest.raises(EndpointClosed, match="404 NOT_FOUND - no queue 'q'"):
                async with channel.consume("q"):
                    raise AssertionError("it started")
        channel = await connection.open_channel()
        for _ in range(2):
            with pytest.raises(EndpointClosed, match="404 NOT_FOUND - no queue 'q'"):
                await anext(channel.consume("q"))


async def test_closing_ends_iterations_that_wait(world: World, broker: ScriptedBroker) -> None:
    broker.fill("q")
    async with world.connect(broker.url) as connection:
        channels = [await connection.open_channel() for _ in range(2)]
        waiting = [world.start(anext(channel.consume("q"))) for channel in channels]
        await world.until(lambda: broker.queue("q").consumers == 2)
        await channels[1].close()
        with pytest.raises(StopAsyncIteration):
            await waiting[1]
        await connection.close()
        with pytest.raises(StopAsyncIteration):
            await waiting[0]


@pytest.mark.parametrize("reset", [False, True])
async def test_a_lost_connection_ends_iterations_that_wait(world: World, broker: ScriptedBroker, reset: bool) -> None:
    broker.fill("q")
    connection = await world.connect(broker.url)
    channel = await connection.open_channel()
    waiting = world.start(anext(channel.consume("q")))
    await world.until(lambda: broker.queue("q").consumers == 1)
    if reset:
        broker.peer.cut()
    else:
        broker.act(lambda: broker.peer.line.hang_up(broker.peer.line.transport.close))  # type: ignore[union-attr]
    with pytest.raises(EndpointClosed, match=r"transport.* lost") as caught:
        await waiting
    assert caught.value.report is not None
    assert caught.value.report.by is By.TRANSPORT


async def test_several_share_a_consumer(world: World, broker: ScriptedBroker) -> None:
    bodies = [b"%03d" % n for n in range(100)]
    broker.fill("q", *bodies)
    async with world.connect(broker.url) as connection, connection.open_channel() as channel:
        consumer = channel.consume("q", prefetch=7)
        seen: list[bytes] = []

        async def work() -> None:
            async for delivery in consumer:
                seen.append(delivery.body)
                await world.turn()
                await delivery.accept()

        working = [world.start(work()) for _ in range(3)]
        await world.until(lambda: len(seen) == len(bodies))
        await consumer.cancel()
        for each in working:
            await each
        assert sorted(seen) == bodies
        assert (await channel.call(QueueDeclare("q", durable=True))).message_count == 0


async def test_a_wait_that_is_given_up_loses_no_delivery(world: World, broker: ScriptedBroker) -> None:
    broker.fill("q")
    async with world.connect(broker.url) as connection, connection.open_channel() as channel:
        consumer = channel.consume("q", prefetch=10)
        await world.give_up(anext(consumer))
        waiting = world.start(anext(consumer))
        await world.until(lambda: broker.queue("q").consumers == 1)
        await channel.publish(b"only", routing_key="q")
        assert (await waiting).body == b"only"
        with pytest.raises(TimeoutError):
            await world.within(0.01, anext(consumer))
        await channel.publish(b"next", routing_key="q")
        assert (await anext(consumer)).body == b"next"


async def start(consumer: Any) -> None:
    """Wait until a consumer has started."""
    async with consumer:
        raise AssertionError("it started")


async def test_a_consumer_that_starts_too_late_is_cancelled(world: World, broker: ScriptedBroker) -> None:
    broker.fill("q", *BODIES)
    async with world.connect(broker.url) as connection, connection.open_channel() as channel:
        broker.script, held = holding("basic.consume")
        if world.has_threads:
            consume: Any = channel.consume
            with pytest.raises(TimeoutError, match=r"basic\.consume"):
                consume("q", timeout=0.01)
        else:
            await world.give_up(start(channel.consume("q", prefetch=3)), 0.01)
        await world.until(lambda: held)
        held[0]()
        gc.collect()
        await channel.call(QueueDeclare("q", durable=True))
        await world.until(lambda: any(is_method(event, "basic.cancel") for event in broker.peer.events))
        await world.until(lambda: broker.queue("q").ready == 10)


# In the blocking adapter a consumer starts when it is made.
@only(has_one_thread)
async def test_closing_a_consumer_that_never_started(world: World, broker: ScriptedBroker) -> None:
    async with world.connect(broker.url) as connection, connection.open_channel() as channel:
        consumer = channel.consume("q")
        await consumer.close()
        with pytest.raises(StopAsyncIteration):
            await anext(consumer)
        # Nothing is asked of the server: the queue isn't there.
        await channel.call(QueueDeclare("other", durable=True))
        assert channel.is_open


async def test_a_consumer_without_bound_stops_the_reading(world: World, broker: ScriptedBroker) -> None:
    bodies = [b"%04d" % n + bytes(16_000) for n in range(1500)]
    broker.fill("q", *bodies)
    async with world.connect(broker.url) as connection, connection.open_channel() as channel:
        seen = 0
        async for delivery in channel.consume("q", no_ack=True, buffer=50):
            if not seen:
                # More than the kernel and the buffers take.
                await world.until(lambda: broker.peer.core.send_backlog > 0)
            assert delivery.body[:4] == b"%04d" % seen
            seen += 1
            if seen == 1500:
                break
            if seen % 500 == 0:
                # An answer comes behind deliveries that nobody takes meanwhile.
                assert (await channel.call(QueueDeclare("a", durable=True))).queue == "a"


async def test_a_consumer_that_falls_far_behind_is_cancelled_and_loses_nothing(
    world: World, broker: ScriptedBroker
) -> None:
    broker.fill("q", *[b"%03d" % n for n in range(500)])
    async with world.connect(broker.url) as connection, connection.open_channel() as channel:
        async with channel.consume("q", prefetch=0, buffer=10) as consumer:
            while not any(is_method(event, "basic.cancel") for event in broker.peer.events):
                # Somebody always waits for an answer, so the reading never stops.
                await channel.call(QueueDeclare("a", durable=True))
            seen = 0
            with pytest.raises(ConsumerEnded, match="fell behind, 160 deliveries wait"):
                async for delivery in consumer:
                    assert delivery.body == b"%03d" % seen
                    seen += 1
                    await delivery.accept()
            assert seen == 160
        await channel.call(QueueDeclare("a", durable=True))
        await world.until(lambda: broker.queue("q").ready == 340)


SMALL = Limits(unparsed=64 * 1024, backlog_high=128 * 1024, backlog_low=32 * 1024)


async def test_a_publisher_waits_for_a_server_that_does_not_read(world: World, broker: ScriptedBroker) -> None:
    async with world.connect(broker.url, limits=SMALL) as connection, connection.open_channel() as channel:
        broker.peer.hold()
        published = 0

        async def publish() -> None:
            nonlocal published
            for _ in range(300):
                await channel.publish(bytes(100_000), exchange="amq.fanout")
                published += 1

        tasks = [world.start(publish()) for _ in range(2)]
        before = -1
        while published != before:
            before = published
            await world.pause(0.05)
        assert published < 300
        assert connection.core.send_backlog <= SMALL.backlog_high + 2 * 101_000
        broker.peer.hold(False)
        for each in tasks:
            await each
        await channel.call(QueueDeclare("behind", durable=True))
        assert len(broker.peer.of(Published)) == 600


async def test_no_deadlock_with_both_sockets_full(world: World, broker: ScriptedBroker) -> None:
    """The consumer publishes what it gets to a server that reads only what its own writes leave it."""
    broker.fill("q", *[bytes(20_000)] * 400)
    broker.fill("there")
    async with (
        world.connect(broker.url, limits=SMALL) as connection,
        connection.open_channel() as channel,
        channel.consume("q", no_ack=True, buffer=20) as deliveries,
    ):
        for _ in range(400):
            delivery = await anext(deliveries)
            await channel.publish(delivery.body, routing_key="there")
        await world.until(lambda: broker.queue("there").ready == 400)


async def test_settlements_are_sent_although_the_program_stops(world: World, broker: ScriptedBroker) -> None:
    broker.fill("q", *BODIES)
    async with world.connect(broker.url) as connection, connection.open_channel() as channel:
        deliveries = channel.consume("q", prefetch=3)
        one = await anext(deliveries)
        await channel.call(QueueDeclare("other", durable=True))  # Its answer comes behind the deliveries.
        await one.accept()
        await world.until(lambda: settlements(broker.peer) == ["basic.ack"])
        await deliveries.close()


async def test_big_bodies_count_by_their_octets(world: World, broker: ScriptedBroker) -> None:
    broker.fill("q", *[bytes(1_000_000)] * 40)
    async with (
        world.connect(broker.url) as connection,
        connection.open_channel() as channel,
        channel.consume("q", no_ack=True) as deliveries,
    ):
        first = await anext(deliveries)
        await world.pause(0.05)
        assert broker.messages("q")
        assert len(first.body) + sum([len((await anext(deliveries)).body) for _ in range(39)]) == 40_000_000
