"""Channels: calls and their errors, publishing and its outcomes, fetching, events, closing."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable

import pytest

from amqp_sansio import AmqpError, By, CloseReport, EndpointClosed, LocalProtocolError
from amqp_sansio.amqp_0_9_1 import (
    BasicConsume,
    BasicGet,
    BasicGetEmpty,
    BasicGetOk,
    BasicNack,
    BasicProperties,
    BasicQos,
    BasicRecover,
    BasicRecoverAsync,
    Blocked,
    ChannelFlow,
    ConfirmSelect,
    ConfirmSelectOk,
    ConnectionBlocked,
    ConnectionUnblocked,
    ConnectionUpdateSecret,
    ConnectionUpdateSecretOk,
    ContentBegun,
    ContentChunk,
    ExchangeDeclare,
    FlowChanged,
    Message,
    MessageReturned,
    MethodReceived,
    Published,
    QueueDeclare,
    QueueDeclareOk,
    QueueDelete,
    QueuePurge,
    QueuePurgeOk,
    Request,
    Returned,
    Unblocked,
)
from amqp_sansio.errors import LimitExceeded
from amqp_sansio.events import Accepted, Closed, Event, Opened, Rejected
from amqp_sansio.limits import Limits
from amqp_sansio_asyncio import PublishOutcome, ServerConnection, connect
from tests.kit.asyncio_broker import asks, broker, channel, client, driver_of, fill, scripted, state_of, until, url_of
from tests.kit.asyncio_loops import run


def test_a_call_returns_its_reply() -> None:
    async def main() -> None:
        async with channel() as ch:
            ok = await ch.call(QueueDeclare(queue="jobs"))
            assert ok == QueueDeclareOk("jobs", 0, 0)
            assert ok.message_count == 0
            named = await ch.call(QueueDeclare())
            assert named.queue.startswith("amq.gen-")
            assert await ch.call(BasicGet("jobs")) == BasicGetEmpty()
            await ch.publish(b"body", routing_key="jobs")
            got = await ch.call(BasicGet("jobs", True))
            assert isinstance(got, Message)
            assert got.body == b"body"
            assert got.method == BasicGetOk(1, False, "", "jobs", 0)

    run(main())


def test_many_calls_at_once_get_their_own_replies() -> None:
    async def main() -> None:
        async with channel() as ch:
            names = [f"q{n}" for n in range(50)]
            replies = await asyncio.gather(*[ch.call(QueueDeclare(queue=name)) for name in names])
            assert [reply.queue for reply in replies] == names

    run(main())


def test_a_refused_call_ends_its_channel_and_no_other() -> None:
    async def main() -> None:
        async with broker() as (server, _), connect(url_of(server)) as connection:
            one = await connection.open_channel()
            two = await connection.open_channel()
            waiting = asyncio.ensure_future(one.call(QueueDeclare(queue="nowhere", passive=True)))
            behind = asyncio.ensure_future(one.call(QueueDeclare(queue="other")))
            with pytest.raises(EndpointClosed, match="404 NOT_FOUND - no queue 'nowhere'") as caught:
                await waiting
            report = caught.value.report
            assert report is not None
            assert (report.by, report.code) == (By.REMOTE, 404)
            assert (report.class_id, report.method_id) == (50, 10)
            assert "does not exist" in report.hint
            with pytest.raises(EndpointClosed, match="404"):
                await behind
            assert not one.is_open
            assert one.report == report
            with pytest.raises(EndpointClosed, match="404"):
                await one.call(QueueDeclare(queue="other"))
            with pytest.raises(EndpointClosed, match="404"):
                await one.publish(b"", routing_key="other")
            assert await one.close() == report
            assert two.is_open
            assert (await two.call(QueueDeclare(queue="other"))).queue == "other"

    run(main())


def test_misuse_is_raised_at_the_call_and_changes_nothing() -> None:
    async def main() -> None:
        async with channel() as ch:
            with pytest.raises(LocalProtocolError):
                await ch.call(QueueDeclareOk("q", 0, 0))
            with pytest.raises(LocalProtocolError):
                await ch.send(QueueDeclare(queue="q"))
            with pytest.raises(LocalProtocolError):
                await ch.call(QueueDeclare(queue="q" * 300))
            assert (await ch.call(QueueDeclare(queue="q"))).queue == "q"

    run(main())


def test_a_call_without_a_reply_to_wait_for() -> None:
    async def main() -> None:
        seen: list[Event] = []
        async with client(scripted(lambda _, event: seen.append(event))) as connection:
            ch = await connection.open_channel()
            assert await ch.call(QueuePurge("q", no_wait=True)) is None
            await until(lambda: len(seen) == 2)
            assert seen[1] == MethodReceived(1, QueuePurge("q", no_wait=True))

    run(main())


def test_publish_without_confirms_returns_none() -> None:
    async def main() -> None:
        async with channel() as ch:
            await ch.call(QueueDeclare(queue="q"))
            properties = BasicProperties(content_type="text/plain", headers={"n": 1})
            assert await ch.publish(b"body", routing_key="q", properties=properties) is None
            delivery = await ch.get("q")
            assert delivery is not None
            assert delivery.body == b"body"
            assert delivery.routing_key == "q"
            assert delivery.exchange == ""
            assert delivery.consumer_tag == ""
            assert delivery.delivery_tag == 1
            assert not delivery.redelivered
            assert delivery.properties.content_type == "text/plain"
            assert delivery.properties.headers == {"n": 1}
            assert "4 octets" in repr(delivery)

    run(main())


@pytest.mark.parametrize("size", [0, 1, 4096, 131_072, 1_000_000])
def test_bodies_of_every_size(size: int) -> None:
    async def main() -> None:
        async with channel(confirm=True) as ch:
            await ch.call(QueueDeclare(queue="q"))
            body = bytes(size)
            assert await ch.publish(body, routing_key="q") == Accepted()
            delivery = await ch.get("q", no_ack=True)
            assert delivery is not None
            assert delivery.body == body

    run(main())


def test_outcomes_in_confirm_mode() -> None:
    async def main() -> None:
        async with channel(confirm=True) as ch:
            await ch.call(QueueDeclare(queue="q"))
            outcomes = await asyncio.gather(
                ch.publish(b"1", routing_key="q", mandatory=True),
                ch.publish(b"2", routing_key="nowhere", mandatory=True),
                ch.publish(b"3", routing_key="nowhere"),
                ch.publish(b"4", routing_key="q", mandatory=True),
            )
            expected = [Accepted(), Returned(312, "NO_ROUTE"), Accepted(), Accepted()]
            assert list(outcomes) == expected

    run(main())


def test_confirm_mode_can_be_selected_by_hand() -> None:
    async def main() -> None:
        async with channel() as ch:
            assert await ch.publish(b"", routing_key="q") is None
            await ch.call(ConfirmSelect())
            outcome: PublishOutcome | None = await ch.publish(b"", routing_key="q")
            assert outcome == Accepted()

    run(main())


def test_confirms_of_many_at_once_and_refusals() -> None:
    def answer(connection: ServerConnection, event: Event) -> None:
        if asks(event, ConfirmSelect):
            connection.channel(1).reply(ConfirmSelectOk())
        elif isinstance(event, Published) and event.number == 3:
            connection.channel(1).confirm(2, multiple=True)
            connection.channel(1).send(BasicNack(3))

    async def main() -> None:
        async with client(scripted(answer)) as connection:
            ch = await connection.open_channel(confirm=True)
            outcomes = await asyncio.gather(*[ch.publish(b"") for _ in range(3)])
            assert outcomes == [Accepted(), Accepted(), Rejected()]

    run(main())


def test_publishes_without_an_answer_fail_with_their_channel() -> None:
    def answer(connection: ServerConnection, event: Event) -> None:
        if asks(event, ConfirmSelect):
            connection.channel(1).reply(ConfirmSelectOk())
        elif isinstance(event, Published) and event.number == 2:
            connection.channel(1).close(404, "NOT_FOUND - no exchange")

    async def main() -> None:
        async with client(scripted(answer)) as connection:
            ch = await connection.open_channel(confirm=True)
            results = await asyncio.gather(*[ch.publish(b"", exchange="x") for _ in range(3)], return_exceptions=True)
            assert len({id(result) for result in results}) == 3
            for result in results:
                assert isinstance(result, EndpointClosed)
                assert "no exchange" in str(result)
                assert result.report is not None
                assert result.report.unconfirmed == (1, 2, 3)

    run(main())


def test_too_many_unconfirmed_publishes() -> None:
    def answer(connection: ServerConnection, event: Event) -> None:
        if asks(event, ConfirmSelect):
            connection.channel(1).reply(ConfirmSelectOk())

    async def main() -> None:
        async with client(scripted(answer), limits=Limits(unconfirmed=2)) as connection:
            ch = await connection.open_channel(confirm=True)
            waiting = [asyncio.ensure_future(ch.publish(b"")) for _ in range(2)]
            await asyncio.sleep(0)
            with pytest.raises(LimitExceeded, match="unconfirmed"):
                await ch.publish(b"")
            for task in waiting:
                task.cancel()
            await asyncio.wait(waiting)

    run(main())


def test_returned_messages_can_be_read() -> None:
    async def main() -> None:
        async with channel() as ch:
            async with ch.events(MessageReturned) as returns:
                await ch.publish(b"lost", routing_key="nowhere", mandatory=True)
                returned = await anext(returns)
                assert (returned.reply_code, returned.body) == (312, b"lost")
                assert returned.routing_key == "nowhere"
            with pytest.raises(StopAsyncIteration):
                await anext(returns)
            # Nobody listens any more, so the log does.
            assert state_of(ch).streams == []

    run(main())


def test_a_return_that_nobody_reads_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    async def main() -> None:
        async with channel() as ch:
            await ch.publish(b"lost", routing_key="nowhere", mandatory=True)
            await ch.call(QueueDeclare(queue="q"))

    with caplog.at_level(logging.WARNING, "amqp_sansio_asyncio"):
        run(main())
    assert "'nowhere' was returned: 312 NO_ROUTE" in caplog.text


def test_events_end_with_their_channel_and_connection() -> None:
    async def main() -> None:
        async with broker() as (server, _), connect(url_of(server)) as connection:
            ch = await connection.open_channel()
            of_channel, of_connection = ch.events(), connection.events()
            await ch.close()
            with pytest.raises(StopAsyncIteration):
                await anext(of_channel)
            with pytest.raises(EndpointClosed, match="channel 1"):
                await anext(ch.events(MessageReturned))
            await connection.close()
            with pytest.raises(StopAsyncIteration):
                await anext(of_connection)
            with pytest.raises(EndpointClosed, match="the connection is closed"):
                await anext(connection.events())

    run(main())


@pytest.mark.parametrize("look", [False, True])
def test_a_failure_that_nobody_has_seen_is_raised_at_the_end(look: bool) -> None:
    async def main() -> None:
        async with broker() as (server, _):

            async def use() -> None:
                async with connect(url_of(server)) as connection, connection.open_channel() as ch:
                    await ch.publish(b"lost", exchange="nowhere")
                    await until(lambda: not ch.is_open)
                    if look:
                        assert ch.report is not None

            if look:
                await use()
            else:
                with pytest.raises(EndpointClosed, match="nowhere"):
                    await use()

    run(main())


def test_big_messages_in_pieces() -> None:
    async def main() -> None:
        async with (
            broker() as (server, _),
            connect(url_of(server), stream_above=1000, frame_max=4096) as connection,
            connection.open_channel() as ch,
        ):
            await ch.call(QueueDeclare(queue="q"))
            await fill(ch, "q", [bytes(100_000)])
            async with ch.events(ContentBegun, ContentChunk, limit=3) as pieces:
                await ch.call(BasicConsume("q", no_ack=True))
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

    run(main())


def test_the_server_blocks_and_unblocks() -> None:
    def answer(connection: ServerConnection, event: Event) -> None:
        if isinstance(event, Published):
            if event.body == b"block":
                connection.send(ConnectionBlocked("low on memory"))
            else:
                connection.send(ConnectionUnblocked())

    async def main() -> None:
        async with client(scripted(answer)) as connection:
            ch = await connection.open_channel()
            async with connection.events(Blocked, Unblocked) as news:
                assert connection.blocked is None
                await ch.publish(b"block")
                assert await anext(news) == Blocked("low on memory")
                assert connection.blocked == "low on memory"
                await ch.publish(b"unblock")
                assert await anext(news) == Unblocked()
                assert connection.blocked is None

    run(main())


def test_publish_waits_while_the_server_stops_the_flow() -> None:
    async def main() -> None:
        seen: list[bytes] = []
        stopped = asyncio.Event()

        def answer(connection: ServerConnection, event: Event) -> Awaitable[None] | None:
            if isinstance(event, Published):
                seen.append(event.body)
            if asks(event, QueuePurge):
                connection.channel(1).reply(QueuePurgeOk(0))
                connection.channel(1).call(ChannelFlow(False))
                return restart(connection)
            return None

        async def restart(connection: ServerConnection) -> None:
            connection.flush()

            async def later() -> None:
                await stopped.wait()
                connection.channel(1).call(ChannelFlow(True))
                connection.flush()

            tasks.append(asyncio.ensure_future(later()))

        tasks: list[asyncio.Future[None]] = []
        async with client(scripted(answer)) as connection:
            ch = await connection.open_channel()
            async with ch.events(FlowChanged) as flow:
                await ch.publish(b"1")
                await ch.call(QueuePurge("q"))
                assert await anext(flow) == FlowChanged(1, False)
                publishing = asyncio.ensure_future(ch.publish(b"2"))
                cancelled = asyncio.ensure_future(ch.publish(b"3"))
                await asyncio.sleep(0.01)
                assert not publishing.done()
                cancelled.cancel()
                stopped.set()
                assert await anext(flow) == FlowChanged(1, True)
                await publishing
            await until(lambda: len(seen) == 2)
            assert seen == [b"1", b"2"]

    run(main())


def test_a_publish_that_waits_for_the_flow_learns_of_the_end() -> None:
    def answer(connection: ServerConnection, event: Event) -> None:
        if isinstance(event, Opened):
            connection.channel(1).call(ChannelFlow(False))

    async def main() -> None:
        async with client(scripted(answer)) as connection:
            ch = await connection.open_channel()
            await until(lambda: ch.core.client_stopped)
            publishing = asyncio.ensure_future(ch.publish(b"1"))
            await asyncio.sleep(0)
            await ch.close()
            with pytest.raises(EndpointClosed):
                await publishing

    run(main())


def test_get_and_settle() -> None:
    async def main() -> None:
        async with channel() as ch:
            await ch.call(QueueDeclare(queue="q"))
            assert await ch.get("q") is None
            await fill(ch, "q", [b"1", b"2", b"3"])
            first, second, third = [await ch.get("q") for _ in range(3)]
            assert first is not None
            assert second is not None
            assert third is not None
            await first.accept()
            await second.release()
            await third.reject()
            again = await ch.get("q")
            assert again is not None
            assert (again.body, again.redelivered) == (b"2", True)
            await again.accept()
            with pytest.raises(LocalProtocolError, match="no delivery with tag"):
                await again.accept()
            assert await ch.get("q") is None

    run(main())


def test_closing_a_channel_with_a_reason() -> None:
    async def main() -> None:
        closed: list[Closed] = []

        def answer(connection: ServerConnection, event: Event) -> None:
            if isinstance(event, Closed):
                closed.append(event)

        async with client(scripted(answer)) as connection:
            ch = await connection.open_channel()
            report = await ch.close(406, "I am done")
            assert report == CloseReport(By.LOCAL, 406, "I am done")
            assert closed[0].report.code == 406
            assert closed[0].report.text == "I am done"
            assert "closed" in repr(ch)

    run(main())


def test_two_tasks_close_at_once() -> None:
    async def main() -> None:
        async with broker() as (server, _), connect(url_of(server)) as connection:
            ch = await connection.open_channel()
            assert len(set(await asyncio.gather(ch.close(), ch.close()))) == 1
            reports = await asyncio.gather(connection.close(), connection.close())
            assert reports[0] == reports[1]

    run(main())


def test_calls_that_wait_end_with_the_connection() -> None:
    async def main() -> None:
        async with client(scripted(lambda connection, event: None)) as connection:
            ch = await connection.open_channel()
            waiting = [
                asyncio.ensure_future(ch.call(QueueDeclare(queue="q"))),
                asyncio.ensure_future(ch.get("q")),
                asyncio.ensure_future(connection.call(ConnectionUpdateSecret(b"new", "expired"))),
            ]
            await asyncio.sleep(0.01)
            await connection.close()
            for task in waiting:
                with pytest.raises(EndpointClosed, match="closed by this side"):
                    await task

    run(main())


def test_a_call_of_the_connection() -> None:
    secrets: list[bytes] = []

    def answer(connection: ServerConnection, event: Event) -> None:
        if isinstance(event, Request) and isinstance(event.method, ConnectionUpdateSecret):
            secrets.append(event.method.new_secret)
            connection.reply(ConnectionUpdateSecretOk())

    async def main() -> None:
        async with client(scripted(answer)) as connection:
            reply = await connection.call(ConnectionUpdateSecret(b"new", "expired"))
            assert reply == ConnectionUpdateSecretOk()
        assert secrets == [b"new"]

    run(main())


def test_a_method_the_broker_does_not_have_closes_the_connection() -> None:
    def answer(connection: ServerConnection, event: Event) -> Awaitable[object] | None:
        if asks(event, ExchangeDeclare):
            return connection.close(540, "NOT_IMPLEMENTED", ExchangeDeclare())
        return None

    async def main() -> None:
        async with client(scripted(answer)) as connection:
            ch = await connection.open_channel()
            with pytest.raises(EndpointClosed, match="540 NOT_IMPLEMENTED"):
                await ch.call(ExchangeDeclare("x"))
            report = await connection.wait_closed()
            assert (report.by, report.code) == (By.REMOTE, 540)
            with pytest.raises(EndpointClosed, match="540 NOT_IMPLEMENTED"):
                await connection.open_channel()

    run(main())


def test_everything_of_a_violation_reaches_the_caller() -> None:
    """A server that breaks a rule: the channel's callers are told what it did."""

    def answer(connection: ServerConnection, event: Event) -> None:
        if asks(event, QueueDelete):
            # A reply to something else: the answer to a request that was never made.
            transport = driver_of(connection).transport
            assert transport is not None
            transport.write(b"\x01\0\x01\0\0\0\x04\0\x3c\0\x0b\xce")

    async def main() -> None:
        async with client(scripted(answer)) as connection:
            ch = await connection.open_channel()
            with pytest.raises(EndpointClosed, match=r"basic\.qos-ok answers no request") as caught:
                await ch.call(QueueDelete("q"))
            assert isinstance(caught.value.__cause__, AmqpError)
            report = await connection.wait_closed()
            assert report.by is By.LOCAL
            assert report.code == 503

    run(main())


def test_methods_without_a_reply_are_sent() -> None:
    async def main() -> None:
        seen: list[Event] = []

        def answer(connection: ServerConnection, event: Event) -> None:
            seen.append(event)

        async with client(scripted(answer)) as connection:
            ch = await connection.open_channel()
            with pytest.raises(LocalProtocolError, match="no delivery"):
                await ch.send(BasicNack(1))
            await ch.send(BasicRecoverAsync(True))
            await until(lambda: len(seen) == 2)
            assert [type(event).__name__ for event in seen] == ["Opened", "MethodReceived"]

    run(main())


def test_unused_names_of_the_protocol_stay_typed() -> None:
    """What `call` returns is known to a type checker; this runs what it checks."""

    async def main() -> None:
        async with channel() as ch:
            ok: QueueDeclareOk = await ch.call(QueueDeclare(queue="q"))
            assert ok.queue == "q"
            await ch.call(BasicQos(0, 10, False))
            with pytest.raises(EndpointClosed, match="540"):
                await ch.call(BasicRecover(True))

    run(main())
