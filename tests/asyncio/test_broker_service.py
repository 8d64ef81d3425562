"""`serve_broker`: where it listens, who comes in, how it ends."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import pytest

from amqp_sansio import AMQP_0_8, AMQP_0_9_1, AMQP_0_10, AMQP_1_0, EndpointClosed, Version
from amqp_sansio.amqp_0_9_1 import BasicProperties
from amqp_sansio.amqp_0_9_1.spec import QueueDeclare
from amqp_sansio.amqp_0_10.spec import QueueDeclare as QueueDeclare010
from amqp_sansio.amqp_1_0 import Message
from amqp_sansio.broker import Client, Settings, User
from amqp_sansio.uri import parse
from amqp_sansio_asyncio import BrokerServer, connect, serve_broker
from amqp_sansio_asyncio.clock import VirtualClock
from tests.kit.asyncio_broker import driver_of, until
from tests.kit.asyncio_loops import Problems, run

VERSIONS = (AMQP_0_8, AMQP_0_9_1, AMQP_0_10, AMQP_1_0)


async def pass_a_message(url: str, version: Version, name: str = "jobs") -> None:
    """Publish one message and take it, as each version does."""
    if version is AMQP_1_0:
        async with connect(url, version=AMQP_1_0) as newer, newer.open_session() as session:
            async with session.open_sender(f"/queues/{name}") as sender:
                await sender.send(Message(body=b"hello"))
            async with session.open_receiver(f"/queues/{name}", credit=1) as receiver:
                received = await receiver.fetch(5)
                assert received is not None and received.body == b"hello"
                await received.accept()
    elif version is AMQP_0_10:
        async with connect(url, version=AMQP_0_10) as ten, ten.open_session() as work:
            await work.call(QueueDeclare010(queue=name))
            await work.publish(b"hello", routing_key=name)
            async with work.subscribe(name) as subscription:
                message = await subscription.fetch(5)
                assert message is not None and message.body == b"hello"
                await message.accept()
    else:
        older: Any = connect(url, version=version)
        async with older as connection, connection.open_channel() as channel:
            await channel.call(declare(version, name))
            await channel.publish(b"hello", routing_key=name, mandatory=True)
            delivery = await channel.get(name)
            assert delivery is not None and delivery.body == b"hello"
            await delivery.accept()


def declare(version: Version, name: str) -> Any:
    """A queue of 0-8 or 0-9-1; 1.0 sends to one that is there."""
    if version is AMQP_0_8:
        from amqp_sansio.amqp_0_8.spec import QueueDeclare as QueueDeclare08

        return QueueDeclare08(queue=name, durable=True)
    return QueueDeclare(queue=name, durable=True)


async def make_queue(broker: BrokerServer, name: str = "jobs") -> None:
    """Have a queue, and no connection."""
    async with connect(broker.url) as connection, connection.open_channel() as channel:
        await channel.call(QueueDeclare(queue=name, durable=True))
    await until(lambda: not broker.connections)


@pytest.mark.parametrize("version", VERSIONS)
def test_one_port_for_every_version(version: Version) -> None:
    async def main() -> None:
        problems = Problems()
        problems.watch()
        async with serve_broker() as broker:
            await make_queue(broker)
            await pass_a_message(broker.url, version)
            await until(lambda: not broker.connections)
            assert not broker.hub.clients and not broker.hub.fronts
        assert not problems.contexts

    run(main())


def test_where_it_listens() -> None:
    async def main() -> None:
        opening = serve_broker(Settings(users={"me": User("a:b/c")}, vhosts=("a b", "/")))
        async with opening as broker:
            assert broker.host == "127.0.0.1" and broker.port > 0
            uri = parse(broker.url)
            assert (uri.scheme, uri.host, uri.port) == ("amqp", "127.0.0.1", broker.port)
            assert (uri.user, uri.password, uri.vhost) == ("me", "a:b/c", "a b")
            assert broker.settings.urls == (f"amqp:tcp:127.0.0.1:{broker.port}",)
            assert len(broker.settings.seed) == 32 and broker.settings.epoch > 1e9
            await pass_a_message(broker.url, AMQP_0_9_1)
        assert broker.sockets == ()
        async with serve_broker(host="::1") as newer:
            assert newer.url == f"amqp://guest:guest@[::1]:{newer.port}/%2F"
            assert newer.settings.urls == (f"amqp:tcp:[::1]:{newer.port}",)
            await pass_a_message(newer.url, AMQP_0_9_1)
        async with serve_broker(host="localhost") as local:
            await pass_a_message(local.url, AMQP_0_9_1)

    run(main())


def test_settings_that_say_more_are_left_as_they_are() -> None:
    async def main() -> None:
        settings = Settings(seed=b"seed", urls=("amqp:tcp:example.org:5672",), epoch=5.0)
        async with serve_broker(settings) as broker:
            assert broker.settings == settings

    run(main())


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "", "192.0.2.1"])
def test_what_others_reach_is_refused(host: str) -> None:
    async def main() -> None:
        with pytest.raises(ValueError, match="reached from other machines"):
            await serve_broker(host=host)

    run(main())


def test_unless_it_is_allowed() -> None:
    async def main() -> None:
        async with serve_broker(host="0.0.0.0", allow_remote=True) as broker:
            assert parse(broker.url).host == "127.0.0.1"
            await pass_a_message(broker.url, AMQP_0_9_1)

    run(main())


def test_a_port_in_use() -> None:
    async def main() -> None:
        async with serve_broker() as taken:
            with pytest.raises(OSError, match="in use"):
                await serve_broker(port=taken.port)

    run(main())


@pytest.mark.parametrize("version", VERSIONS)
def test_closing_says_goodbye(version: Version) -> None:
    """320 (connection-forced); amqp:connection:forced in 1.0."""

    async def main() -> None:
        broker = await serve_broker()
        connections: list[Any] = [await connect(broker.url, version=version) for _ in range(3)]
        # A client that never spoke ends too.
        reader, writer = await asyncio.open_connection("127.0.0.1", broker.port)
        await until(lambda: broker.connections == 4)
        await broker.close()
        assert await reader.read() == b""
        writer.close()
        for connection in connections:
            report = await connection.wait_closed()
            if version is AMQP_1_0:
                assert report.condition == "amqp:connection:forced"
            else:
                assert report.code == 320
            assert "shutting down" in report.text
        assert not broker.connections
        await broker.close()
        with pytest.raises(ConnectionRefusedError):
            await asyncio.open_connection("127.0.0.1", broker.port)

    run(main())


def test_who_doesnt_answer_the_goodbye_is_cut_off() -> None:
    async def main() -> None:
        broker = await serve_broker()
        connection, deaf = await connect(broker.url), await connect(broker.url)
        transport = driver_of(deaf).transport
        assert transport is not None
        transport.pause_reading()
        await broker.close(timeout=0.1)
        assert not broker.connections
        assert (await connection.wait_closed()).code == 320
        transport.resume_reading()
        await deaf.wait_closed()

    run(main())


def test_who_says_nothing_is_dropped_in_time() -> None:
    async def main() -> None:
        clock = VirtualClock()
        async with serve_broker(clock=clock) as broker:
            reader, writer = await asyncio.open_connection("127.0.0.1", broker.port)
            await until(lambda: broker.connections)
            clock.advance(29.9)
            assert broker.connections == 1
            clock.advance(0.2)
            assert await reader.read() == b""
            await until(lambda: not broker.connections and not broker.hub.clients)
            writer.close()

    run(main())


@pytest.mark.parametrize(
    ("octets", "answer"),
    [
        (b"GET / HTTP/1.1\r\n\r\n", AMQP_0_9_1.header),
        (b"AMQP\x00\x00\x09\x02", AMQP_0_9_1.header),
        (b"AMQP\x01\x01\x00\x09", b"\x01\x00\x00"),
    ],
    ids=["http", "other-0-9", "0-9"],
)
def test_other_headers_are_answered(octets: bytes, answer: bytes) -> None:
    async def main() -> None:
        async with serve_broker() as broker:
            reader, writer = await asyncio.open_connection("127.0.0.1", broker.port)
            writer.write(octets)
            assert (await reader.readexactly(len(answer))) == answer
            writer.close()
            await until(lambda: not broker.hub.clients)

    run(main())


def test_what_a_client_leaves_goes_to_another() -> None:
    """A message that was delivered and not accepted, when its client vanishes."""

    async def main() -> None:
        async with serve_broker() as broker:
            await make_queue(broker)
            one, other = await connect(broker.url), await connect(broker.url)
            ours, theirs = await one.open_channel(), await other.open_channel()
            await ours.publish(b"hello", routing_key="jobs")
            async with ours.consume("jobs", prefetch=1) as consumer:
                assert not (await anext(consumer)).redelivered
                waiting = theirs.consume("jobs", prefetch=1)
                await waiting.start()
                broker.line(next(iter(broker.hub.clients))).cut()
                delivery = await anext(waiting)
                assert delivery.redelivered and delivery.body == b"hello"
            await other.close()

    run(main())


def test_a_client_that_breaks_the_broker_is_cut_off_alone(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def main() -> None:
        async with serve_broker() as broker:
            await make_queue(broker)
            one, other = await connect(broker.url), await connect(broker.url)
            consumer = (await one.open_channel()).consume("jobs")
            await consumer.start()
            channel = await other.open_channel(confirm=True)
            first = broker.hub.clients[min(broker.hub.clients)]
            monkeypatch.setattr(Client, "data_to_send", _fail_for(first))
            await channel.publish(b"hello", routing_key="jobs")
            assert (await one.wait_closed()).code == 0
            monkeypatch.undo()
            delivery = await channel.get("jobs")
            assert delivery is not None and delivery.body == b"hello"
            await other.close()

    with caplog.at_level(logging.ERROR, "amqp_sansio_asyncio"):
        run(main())
    assert "serving it failed" in caplog.text


def _fail_for(client: Client) -> Any:
    original = Client.data_to_send

    def fail(self: Client, *arguments: Any) -> bytes:
        if self is client:
            raise ZeroDivisionError("a bug")
        return original(self, *arguments)

    return fail


def test_a_message_expires_when_the_clock_says_so() -> None:
    async def main() -> None:
        clock = VirtualClock()
        async with serve_broker(clock=clock) as broker, connect(broker.url) as connection:
            channel = await connection.open_channel(confirm=True)
            await channel.call(QueueDeclare(queue="jobs", arguments={"x-message-ttl": 60_000}, durable=True))
            await channel.publish(b"hello", routing_key="jobs")
            queue = broker.hub.model.vhosts["/"].queues["jobs"]
            clock.advance(59.9)
            assert queue.ready == 1
            clock.advance(0.2)
            assert queue.ready == 0
            assert await channel.get("jobs") is None

    run(main())


def test_a_silent_client_is_given_up_when_the_clock_says_so() -> None:
    async def main() -> None:
        clock = VirtualClock()
        async with serve_broker(clock=clock) as broker:
            connection = await connect(broker.url + "?heartbeat=10")
            clock.advance(25)
            with pytest.raises(EndpointClosed):
                await connection.open_channel()
            await until(lambda: not broker.connections)

    run(main())


def test_a_message_that_can_not_be_sent_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    async def main() -> None:
        async with serve_broker() as server:
            url = f"amqp://guest:guest@127.0.0.1:{server.port}/"
            async with connect(url) as sending, connect(url, frame_max=4096) as taking:
                channel, other = await sending.open_channel(confirm=True), await taking.open_channel()
                await channel.declare_queue("q", durable=True)
                consumer = other.consume("q")
                for size in (5000, 5000, 1):
                    await channel.publish(
                        b"x" * size, routing_key="q", properties=BasicProperties(headers={"h": "v" * size})
                    )
                assert (await anext(consumer)).body == b"x"

    with caplog.at_level(logging.WARNING):
        run(main())
    assert caplog.text.count("can't be sent to consumer") == 1
