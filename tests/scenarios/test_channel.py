"""Channels of 0-9-1: calls and their errors, publishing and its outcomes, fetching, events, flow, closing."""

import logging
from typing import Any

import pytest

from amqp_sansio import (
    Accepted,
    AmqpError,
    By,
    CloseReport,
    EndpointClosed,
    Event,
    LimitExceeded,
    Limits,
    LocalProtocolError,
    Rejected,
)
from amqp_sansio.amqp_0_9_1 import (
    BasicProperties,
    Blocked,
    ContentBegun,
    ContentChunk,
    Delivery,
    FlowChanged,
    Message,
    MessageReturned,
    MethodReceived,
    Published,
    Request,
    Returned,
    Unblocked,
)
from amqp_sansio.amqp_0_9_1.spec import (
    BasicAck,
    BasicConsume,
    BasicGet,
    BasicGetEmpty,
    BasicGetOk,
    BasicNack,
    BasicQos,
    BasicRecoverAsync,
    ChannelFlow,
    ConfirmSelect,
    ConnectionUpdateSecret,
    ConnectionUpdateSecretOk,
    QueueDeclare,
    QueueDeclareOk,
    QueueDelete,
    QueuePurge,
    TxCommit,
    TxSelect,
)
from amqp_sansio.client.classic.channel import Channel
from amqp_sansio.events import Closed
from tests.kit.scenarios import has_one_thread, only
from tests.kit.scripted import Peer, ScriptedBroker, holding, is_method
from tests.kit.worlds import World


async def test_a_call_returns_its_reply(world: World, broker: ScriptedBroker) -> None:
    async with world.connect(broker.url) as connection, connection.open_channel() as channel:
        assert channel.number == 1
        ok: QueueDeclareOk = await channel.call(QueueDeclare("jobs", durable=True))
        assert ok == QueueDeclareOk("jobs", 0, 0)
        assert (await channel.call(QueueDeclare(durable=True))).queue.startswith("amq.gen")
        assert await channel.call(QueuePurge("jobs", no_wait=True)) is None
        assert await channel.call(BasicGet("jobs")) == BasicGetEmpty()
        await channel.publish(b"body", routing_key="jobs", properties=BasicProperties(message_id="7"))
        got = await channel.call(BasicGet("jobs", no_ack=True))
        assert isinstance(got, Message)
        assert (got.body, got.method) == (b"body", BasicGetOk(1, False, "", "jobs", 0))
        replies = await world.gather(*[channel.call(QueueDeclare(f"q{n}", durable=True)) for n in range(20)])
        assert [reply.queue for reply in replies] == [f"q{n}" for n in range(20)]
        assert repr(channel) == "<Channel 1, open>"
        purge = MethodReceived(1, QueuePurge("jobs", no_wait=True))
        assert purge in broker.peer.events


async def test_a_refused_call_ends_its_channel_and_no_other(world: World, broker: ScriptedBroker) -> None:
    async with world.connect(broker.url) as connection:
        one, two = await connection.open_channel(), await connection.open_channel()
        with pytest.raises(EndpointClosed, match="404 NOT_FOUND - no queue 'nowhere'") as caught:
            await one.call(QueueDeclare("nowhere", passive=True))
        report = caught.value.report
        assert report is not None
        assert (report.by, report.code, report.class_id, report.method_id) == (By.REMOTE, 404, 50, 10)
        assert "does not exist" in report.hint
        assert not one.is_open
        assert one.report == report
        for refused in (
            one.call(QueueDeclare("other", durable=True)),
            one.publish(b"", routing_key="other"),
            one.get("other"),
        ):
            with pytest.raises(EndpointClosed, match="404"):
                await refused
        assert await one.close() == report
        assert (await two.call(QueueDeclare("other", durable=True))).queue == "other"
        again = await connection.open_channel()
        assert again.number == one.number
        # One that waits behind it ends with it.
        script, held = holding("queue.declare", 2)
        broker.script = script
        waiting = [world.start(again.call(QueueDeclare("nowhere", passive=True)))]
        await world.until(lambda: len(held) == 1)
        waiting.append(world.start(again.call(QueueDeclare("more", durable=True))))
        await world.until(lambda: len(held) == 2)
        held[0]()
        for each in waiting:
            with pytest.raises(EndpointClosed, match="404"):
                await each


async def test_misuse_is_raised_at_the_call_and_changes_nothing(world: World, broker: ScriptedBroker) -> None:
    wrong: Any = "text"
    async with world.connect(broker.url) as connection, connection.open_channel() as channel:
        for misuse, error, words in (
            (channel.call(QueueDeclareOk("q", 0, 0)), LocalProtocolError, None),
            (channel.call(BasicAck(1)), LocalProtocolError, "use send"),
            (channel.send(QueueDeclare("q", durable=True)), LocalProtocolError, "use call"),
            (channel.send(BasicNack(1)), LocalProtocolError, "no delivery"),
            (channel.call(QueueDeclare("q" * 300, durable=True)), LocalProtocolError, None),
            (channel.publish(b"x", routing_key="k" * 256), LocalProtocolError, None),
            (channel.publish(wrong), TypeError, "octets"),
            (channel.publish(b"x", properties=wrong), TypeError, "properties"),
            (channel.reply(QueueDeclareOk("jobs")), LocalProtocolError, None),
            (channel.publish(b"1", wait=False), LocalProtocolError, "needs confirm mode"),
        ):
            with pytest.raises(error, match=words):
                await misuse
        assert (await channel.call(QueueDeclare("q", durable=True))).queue == "q"
        await channel.call(TxSelect())
        await channel.publish(b"x")
        await channel.call(TxCommit())
        with pytest.raises(LocalProtocolError):
            await channel.call(ConfirmSelect())
        assert not broker.peer.of(Closed)


async def test_methods_without_a_reply_are_sent(world: World, broker: ScriptedBroker) -> None:
    async with world.connect(broker.url) as connection, connection.open_channel() as channel:
        await channel.call(BasicQos(0, 10, False))
        await channel.send(BasicRecoverAsync(True))
        await world.until(lambda: any(is_method(event, "basic.recover-async") for event in broker.peer.events))


async def test_publish_without_confirms_returns_none(world: World, broker: ScriptedBroker) -> None:
    async with world.connect(broker.url) as connection, connection.open_channel() as channel:
        await channel.call(QueueDeclare("q", durable=True))
        properties = BasicProperties(content_type="text/plain", headers={"n": 1})
        assert await channel.publish(b"body", routing_key="q", properties=properties) is None
        assert await channel.publish(bytearray(b"by"), routing_key="q") is None
        assert await channel.publish(memoryview(b"view"), routing_key="q") is None
        delivery = await channel.get("q")
        assert delivery is not None
        assert (delivery.body, delivery.exchange, delivery.routing_key) == (b"body", "", "q")
        assert (delivery.consumer_tag, delivery.delivery_tag, delivery.redelivered) == ("", 1, False)
        assert delivery.message_count == 2
        assert (delivery.properties.content_type, delivery.headers) == ("text/plain", {"n": 1})
        assert "4 octets" in repr(delivery)
        assert "tag" not in repr(delivery)
        assert [(await channel.get("q", no_ack=True)).body for _ in range(2)] == [b"by", b"view"]  # type: ignore[union-attr]


async def test_bodies_of_every_size_and_outcomes_in_confirm_mode(world: World, broker: ScriptedBroker) -> None:
    async with world.connect(broker.url) as connection, connection.open_channel() as channel:
        assert await channel.publish(b"", routing_key="q") is None
        await channel.call(ConfirmSelect())
        await channel.call(QueueDeclare("q", durable=True))
        for size in (0, 1, 4096, 131_072, 1_000_000):
            assert await channel.publish(bytes(size), routing_key="q") == Accepted()
            delivery = await channel.get("q", no_ack=True)
            assert delivery is not None
            assert delivery.body == bytes(size)
        assert await channel.publish(b"2", routing_key="nowhere", mandatory=True) == Returned(312, "NO_ROUTE")
        assert await channel.publish(b"3", routing_key="nowhere") == Accepted()
        assert await channel.publish(b"4", routing_key="q", mandatory=True) == Accepted()
        later = await channel.publish(b"5", routing_key="q", wait=False)
        assert await later == Accepted()
        assert later.done


async def unconfirmed(world: World, broker: ScriptedBroker, channel: Channel, count: int) -> list[Any]:
    """Publishes whose outcome is not told."""
    broker.script = lambda peer, event: isinstance(event, Published)
    pending = [await channel.publish(b"%d" % n, exchange="amq.fanout", wait=False) for n in range(count)]
    await world.until(lambda: len(broker.peer.of(Published)) == count)
    return pending


async def test_confirms_of_many_at_once_and_refusals(world: World, broker: ScriptedBroker) -> None:
    async with world.connect(broker.url) as connection, connection.open_channel(confirm=True) as channel:
        pending = await unconfirmed(world, broker, channel, 10)
        assert not any(each.done for each in pending)
        peer = broker.peer
        peer.do(lambda: peer.core.channel(1).send(BasicAck(6, True)))
        peer.do(lambda: peer.core.channel(1).send(BasicNack(8, True)))
        assert [await each for each in pending[:8]] == [Accepted()] * 6 + [Rejected()] * 2
        with pytest.raises(TimeoutError):
            await world.within(0.02, pending[8].result())
        with pytest.raises(TimeoutError):
            await world.within(0.02, channel.wait_for_confirms())
        waiting = world.start(channel.publish(b"11", exchange="amq.fanout"))
        await world.until(lambda: len(peer.of(Published)) == 11)
        peer.do(lambda: peer.core.channel(1).send(BasicAck(11, True)))
        await channel.wait_for_confirms()
        assert pending[8].done
        assert await waiting == Accepted() == await pending[9]


async def test_publishes_without_an_outcome_end_with_their_channel(world: World, broker: ScriptedBroker) -> None:
    async with world.connect(broker.url) as connection, connection.open_channel(confirm=True) as channel:
        pending = await unconfirmed(world, broker, channel, 3)
        peer = broker.peer
        peer.do(lambda: peer.core.channel(1).close(541, "INTERNAL_ERROR - no exchange"))
        errors: list[EndpointClosed] = []
        for each in pending:
            with pytest.raises(EndpointClosed, match="541 INTERNAL_ERROR - no exchange") as caught:
                await each
            errors.append(caught.value)
            assert caught.value.report is not None
            assert caught.value.report.unconfirmed == (1, 2, 3)
        assert len({id(each) for each in errors}) == 3
        with pytest.raises(EndpointClosed, match="541 INTERNAL_ERROR"):
            await channel.wait_for_confirms()


async def test_unconfirmed_publishes_are_bounded(world: World, broker: ScriptedBroker) -> None:
    limits = Limits(unconfirmed=2)
    async with world.connect(broker.url, limits=limits) as connection, connection.open_channel(confirm=True) as channel:
        await unconfirmed(world, broker, channel, 2)
        with pytest.raises(LimitExceeded, match=r"Limits\.unconfirmed"):
            await channel.publish(b"", wait=False)


async def test_returned_messages_are_read_or_logged(
    world: World, broker: ScriptedBroker, caplog: pytest.LogCaptureFixture
) -> None:
    async with world.connect(broker.url) as connection, connection.open_channel() as channel:
        async with channel.events(MessageReturned) as returns:
            await channel.publish(b"lost", routing_key="nowhere", mandatory=True)
            returned = await anext(returns)
            assert (returned.reply_code, returned.reply_text, returned.body) == (312, "NO_ROUTE", b"lost")
            assert returned.routing_key == "nowhere"
        with pytest.raises(StopAsyncIteration):
            await anext(returns)
        assert not caplog.records
        with caplog.at_level(logging.WARNING):
            await channel.publish(b"lost", routing_key="nowhere", mandatory=True)
            await channel.call(QueueDeclare("q", durable=True))
        assert "'nowhere' was returned: 312 NO_ROUTE" in caplog.text


async def test_events_end_with_their_channel_and_connection(world: World, broker: ScriptedBroker) -> None:
    async with world.connect(broker.url) as connection:
        channel = await connection.open_channel()
        of_channel, of_connection = channel.events(), connection.events()
        with pytest.raises(TimeoutError):
            await world.within(0.01, anext(of_channel))
        await channel.close(200, "done")
        with pytest.raises(StopAsyncIteration):
            await anext(of_channel)
        with pytest.raises(EndpointClosed, match=r"channel 1 .*200 done"):
            await anext(channel.events(MessageReturned))
        closed = (await connection.open_channel()).events()
        closed.close()
        with pytest.raises(StopAsyncIteration):
            await anext(closed)
        await connection.close()
        with pytest.raises(StopAsyncIteration):
            await anext(of_connection)
        with pytest.raises(EndpointClosed, match="the connection is closed"):
            await anext(connection.events())


async def test_a_stream_of_events_that_nobody_reads_ends(world: World, broker: ScriptedBroker) -> None:
    async with world.connect(broker.url) as connection, connection.open_channel() as channel:
        events = channel.events(MessageReturned, limit=2)
        for _ in range(100):
            await channel.publish(b"x", routing_key="none", mandatory=True)
        # Somebody waits for an answer, so the reading goes on.
        await channel.call(QueueDeclare("jobs", durable=True))
        taken = 0
        with pytest.raises(EndpointClosed, match="events wait to be taken") as caught:
            async for _ in events:
                taken += 1
        assert taken == 32
        assert caught.value.report is not None
        assert caught.value.report.by is By.LOCAL


@pytest.mark.parametrize("look", [False, True])
async def test_a_failure_that_nobody_has_seen_is_raised_at_the_end(
    world: World, broker: ScriptedBroker, look: bool
) -> None:
    async def use() -> None:
        async with world.connect(broker.url) as connection:
            channel = await connection.open_channel()
            await channel.publish(b"lost", exchange="missing")
            await (await connection.open_channel()).close()
            assert not channel.is_open
            if look:
                report = channel.report
                assert report is not None
                assert report.code == 404

    if look:
        await use()
    else:
        with pytest.raises(EndpointClosed, match="404 NOT_FOUND - no exchange 'missing'"):
            await use()
        with pytest.raises(RuntimeError, match="mine"):
            async with world.connect(broker.url) as connection:
                await (await connection.open_channel()).publish(b"lost", exchange="missing")
                await connection.open_channel()
                raise RuntimeError("mine")
        await world.until(lambda: not broker.connections)


# The blocking adapter hands out whole messages only.
@only(has_one_thread)
async def test_big_messages_in_pieces(world: World, broker: ScriptedBroker) -> None:
    broker.fill("q", bytes(100_000))
    async with (
        world.connect(broker.url, stream_above=1000, frame_max=4096) as connection,
        connection.open_channel() as channel,
        channel.events(ContentBegun, ContentChunk, limit=3) as pieces,
    ):
        await channel.call(BasicConsume("q", no_ack=True))
        begun = await anext(pieces)
        assert isinstance(begun, ContentBegun)
        assert begun.size == 100_000
        received = 0
        async for piece in pieces:
            assert isinstance(piece, ContentChunk)
            received += len(piece.data)
            if piece.last:
                break
        assert received == 100_000


async def test_the_server_blocks_and_unblocks(world: World, broker: ScriptedBroker) -> None:
    async with world.connect(broker.url) as connection, connection.events(Blocked, Unblocked) as news:
        assert connection.blocked is None
        broker.faults.block("low on memory")
        assert await anext(news) == Blocked("low on memory")
        assert connection.blocked == "low on memory"
        broker.faults.unblock()
        assert await anext(news) == Unblocked()
        assert connection.blocked is None


async def test_publish_waits_while_the_server_stops_the_flow(world: World, broker: ScriptedBroker) -> None:
    async with world.connect(broker.url) as connection:
        channel = await connection.open_channel()
        peer = broker.peer
        async with channel.events(FlowChanged) as flow:
            await channel.publish(b"1")
            peer.do(lambda: peer.core.channel(1).call(ChannelFlow(False)))
            assert await anext(flow) == FlowChanged(1, False)
            await world.give_up(channel.publish(b"2"), 0.02)
            publishing = world.start(channel.publish(b"3"))
            await world.pause(0.01)
            assert not publishing.done
            peer.do(lambda: peer.core.channel(1).call(ChannelFlow(True)))
            assert await anext(flow) == FlowChanged(1, True)
            await publishing
            await world.until(lambda: [event.body for event in peer.of(Published)] == [b"1", b"3"])
            peer.do(lambda: peer.core.channel(1).call(ChannelFlow(False)))
            assert await anext(flow) == FlowChanged(1, False)
        publishing = world.start(channel.publish(b"4"))
        await world.turn()
        await channel.close()
        with pytest.raises(EndpointClosed):
            await publishing


async def test_get_and_settle(world: World, broker: ScriptedBroker) -> None:
    async with world.connect(broker.url) as connection, connection.open_channel() as channel:
        await channel.call(QueueDeclare("q", durable=True))
        assert await channel.get("q") is None
        broker.fill("q", b"1", b"2", b"3", b"4")
        fourth = None
        first, second, third, fourth = [await channel.get("q") for _ in range(4)]
        assert first and second and third and fourth
        await first.accept()
        await second.release()
        await third.reject()
        again = await channel.get("q")
        assert again is not None
        assert (again.body, again.redelivered) == (b"2", True)
        await fourth.accept(multiple=True)
        settled = await channel.publish(b"5", routing_key="q") or await channel.get("q", no_ack=True)
        for twice in (first, settled):
            with pytest.raises(LocalProtocolError, match="no delivery with tag"):
                await twice.accept()  # type: ignore[union-attr]
        await again.accept()
        assert await channel.get("q") is None


async def test_closing_a_channel(world: World, broker: ScriptedBroker) -> None:
    async with world.connect(broker.url, channel_max=2) as connection:
        async with connection.open_channel() as channel:
            pass
        assert channel.report == CloseReport(By.LOCAL, 200, "Normal shutdown")
        assert "closed: closed by this side: 200" in repr(channel)
        channel = await connection.open_channel()
        await connection.open_channel()
        with pytest.raises(LimitExceeded, match="channel-max"):
            await connection.open_channel()
        reports = await world.gather(channel.close(406, "I am done"), channel.close(406, "I am done"))
        assert reports == [CloseReport(By.LOCAL, 406, "I am done")] * 2
        told = broker.peer.of(Closed)[-1].report
        assert (told.code, told.text) == (406, "I am done")
        assert connection.is_open
        assert (await connection.open_channel()).number == channel.number


async def test_calls_that_wait_end_with_the_connection(world: World, broker: ScriptedBroker) -> None:
    def silent(peer: Peer, event: Event) -> bool:
        return isinstance(event, Request)

    async with world.connect(broker.url) as connection:
        channel = await connection.open_channel()
        broker.script = silent
        waiting = [
            world.start(each)
            for each in (
                channel.call(QueueDeclare("q", durable=True)),
                channel.get("q"),
                connection.call(ConnectionUpdateSecret(b"new", "expired")),
            )
        ]
        await world.until(lambda: len(broker.peer.of(Request)) == 3)
        await connection.close()
        for each in waiting:
            with pytest.raises(EndpointClosed, match="closed by this side"):
                await each


async def test_a_call_of_the_connection(world: World, broker: ScriptedBroker) -> None:
    def answer(peer: Peer, event: Event) -> bool:
        if is_method(event, "connection.update-secret"):
            peer.core.reply(ConnectionUpdateSecretOk())
            return True
        if is_method(event, "queue.delete"):
            peer.core.close(540, "NOT_IMPLEMENTED", cause=QueueDelete())
            return True
        return False

    broker.script = answer
    async with world.connect(broker.url) as connection:
        secret = ConnectionUpdateSecret(b"new", "expired")
        assert await connection.call(secret) == ConnectionUpdateSecretOk()
        assert Request(0, secret) in broker.peer.events
        channel = await connection.open_channel()
        # A method that the broker hasn't got ends the connection.
        with pytest.raises(EndpointClosed, match="540 NOT_IMPLEMENTED"):
            await channel.call(QueueDelete("x"))
        report = await connection.wait_closed()
        assert (report.by, report.code) == (By.REMOTE, 540)
        with pytest.raises(EndpointClosed, match="540 NOT_IMPLEMENTED"):
            await connection.open_channel()


async def test_everything_of_a_violation_reaches_the_caller(world: World, broker: ScriptedBroker) -> None:
    async with world.connect(broker.url) as connection:
        channel = await connection.open_channel()
        broker.script, _ = holding("queue.delete")
        waiting = world.start(channel.call(QueueDelete("q")))
        await world.until(lambda: any(is_method(event, "queue.delete") for event in broker.peer.events))
        # The answer to a request that was never made.
        broker.peer.put(b"\x01\0\x01\0\0\0\x04\0\x3c\0\x0b\xce")
        with pytest.raises(EndpointClosed, match=r"basic\.qos-ok answers no request") as caught:
            await waiting
        assert isinstance(caught.value.__cause__, AmqpError)
        report = await connection.wait_closed()
        assert (report.by, report.code) == (By.LOCAL, 503)


async def test_deliveries_of_a_consumer_that_a_call_began_are_events(world: World, broker: ScriptedBroker) -> None:
    broker.fill("q", b"one")
    async with (
        world.connect(broker.url) as connection,
        connection.open_channel() as channel,
        channel.events(Delivery) as events,
    ):
        tag = (await channel.call(BasicConsume("q"))).consumer_tag
        event = await anext(events)
        assert (event.consumer_tag, event.body) == (tag, b"one")
        await channel.send(BasicAck(event.delivery_tag))
        await channel.call(QueueDeclare("q", durable=True))
        assert MethodReceived(1, BasicAck(1)) in broker.peer.events
        assert broker.messages("q") == ()


async def test_an_answer_for_a_caller_that_gave_up_is_dealt_with(world: World, broker: ScriptedBroker) -> None:
    broker.fill("jobs", b"precious")
    async with world.connect(broker.url) as connection:
        channel = await connection.open_channel()
        broker.script, held = holding("queue.declare")
        await world.give_up(channel.call(QueueDeclare("first", durable=True)), 0.01)
        held[0]()
        assert (await channel.call(QueueDeclare("second", durable=True))).queue == "second"
        # A message goes back.
        broker.script, held = holding("basic.get")
        await world.give_up(channel.get("jobs"), 0.01)
        held[0]()
        await channel.call(QueueDeclare("jobs", durable=True))
        await world.until(lambda: broker.queue("jobs").ready == 1)
        got = await channel.get("jobs")
        assert got is not None
        assert (got.body, got.redelivered) == (b"precious", True)
        await got.accept()
        # A channel is closed again.
        with broker.faults.stall("to_client"):
            await world.give_up(connection.open_channel(), 0.01)
        second = await connection.open_channel()
        # Its number is free as soon as it is closed.
        assert second.number in (2, 3)
        await world.until(lambda: broker.peer.core.channels == (1, second.number))
        # A request is waited for no more.
        await world.give_up(channel.request(b"nobody answers", routing_key="jobs"), 0.02)
        assert (await channel.call(QueueDeclare("jobs", durable=True))).message_count == 1


async def test_a_batch_goes_out_together(world: World, broker: ScriptedBroker) -> None:
    async with world.connect(broker.url) as connection, connection.open_channel() as channel:
        await channel.call(QueueDeclare("jobs", durable=True))
        async with channel.batch():
            for _ in range(1000):
                await channel.publish(b"x" * 100, routing_key="jobs")
                assert connection.core.send_backlog < 140_000
        await world.until(lambda: connection.core.send_backlog == 0)
        assert (await channel.call(QueueDeclare("jobs", durable=True))).message_count == 1000
        with pytest.raises(RuntimeError, match="mine"):
            async with channel.batch():
                await channel.publish(b"x", routing_key="jobs")
                raise RuntimeError("mine")
        await world.until(lambda: broker.queue("jobs").ready == 1001)


async def test_a_close_of_the_server_is_noticed_by_a_publisher_that_never_waits(
    world: World, broker: ScriptedBroker
) -> None:
    async with world.connect(broker.url) as connection:
        channel = await connection.open_channel()
        with pytest.raises(EndpointClosed, match="404 NOT_FOUND - no exchange 'missing'"):
            while True:
                await channel.publish(b"x", exchange="missing")
                await world.turn()
        assert connection.is_open
