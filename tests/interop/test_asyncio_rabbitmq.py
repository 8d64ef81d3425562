"""The asyncio client against RabbitMQ: the whole tour, its extensions, its errors, TLS."""

import asyncio
import ssl

import pytest

from amqp_sansio import AMQP_0_8, By, EndpointClosed
from amqp_sansio import amqp_0_9_1 as amqp
from amqp_sansio.events import Accepted, Rejected
from amqp_sansio.sasl import AmqPlain
from amqp_sansio_asyncio import ConsumerEnded, connect
from tests.interop.brokers.rabbitmq import RabbitMQ
from tests.kit.asyncio_broker import until
from tests.kit.asyncio_loops import run


def test_a_tour(rabbitmq: RabbitMQ) -> None:
    async def main() -> None:
        async with connect(rabbitmq.url, heartbeat=5) as connection:
            assert connection.peer_properties["product"] == "RabbitMQ"
            ch = await connection.open_channel(confirm=True)
            await ch.call(amqp.ExchangeDeclare("aio", "topic"))
            queue = (await ch.call(amqp.QueueDeclare(exclusive=True))).queue
            await ch.call(amqp.QueueBind(queue, "aio", "a.#"))
            headers = {"n": 1, "text": "x", "list": [1, 2.5, None], "nested": {"deep": True}}
            properties = amqp.BasicProperties(content_type="text/plain", headers=headers)
            outcomes = await asyncio.gather(
                *[ch.publish(b"%d" % n, exchange="aio", routing_key="a.b", properties=properties) for n in range(500)]
            )
            assert outcomes == [Accepted()] * 500
            seen: list[bytes] = []
            async with ch.consume(queue, prefetch=20) as deliveries:
                async for delivery in deliveries:
                    assert delivery.properties.headers == headers
                    seen.append(delivery.body)
                    await delivery.accept()
                    if len(seen) == 500:
                        break
            assert seen == [b"%d" % n for n in range(500)]
            await ch.call(amqp.ExchangeDelete("aio"))

    run(main())


@pytest.mark.parametrize("size", [0, 1, 131_064, 131_065, 1_000_000])
def test_bodies(rabbitmq: RabbitMQ, size: int) -> None:
    async def main() -> None:
        async with connect(rabbitmq.url) as connection:
            ch = await connection.open_channel(confirm=True)
            queue = (await ch.call(amqp.QueueDeclare(exclusive=True))).queue
            assert await ch.publish(bytes(size), routing_key=queue) == Accepted()
            delivery = await ch.get(queue, no_ack=True)
            assert delivery is not None
            assert len(delivery.body) == size

    run(main())


def test_returns_and_refusals(rabbitmq: RabbitMQ) -> None:
    async def main() -> None:
        async with connect(rabbitmq.url) as connection:
            ch = await connection.open_channel(confirm=True)
            arguments = {"x-max-length": 1, "x-overflow": "reject-publish"}
            queue = (await ch.call(amqp.QueueDeclare(exclusive=True, arguments=arguments))).queue
            first = await ch.publish(b"1", routing_key=queue, mandatory=True)
            lost = await ch.publish(b"2", routing_key="nowhere", mandatory=True)
            second = await ch.publish(b"3", routing_key=queue, mandatory=True)
            assert first == Accepted()
            assert lost == amqp.Returned(312, "NO_ROUTE")
            assert second == Rejected()

    run(main())


def test_requeue_and_dead_letters(rabbitmq: RabbitMQ) -> None:
    async def main() -> None:
        async with connect(rabbitmq.url) as connection:
            ch = await connection.open_channel(confirm=True)
            dead = (await ch.call(amqp.QueueDeclare(exclusive=True))).queue
            arguments = {"x-dead-letter-exchange": "", "x-dead-letter-routing-key": dead}
            queue = (await ch.call(amqp.QueueDeclare(exclusive=True, arguments=arguments))).queue
            await ch.publish(b"bad", routing_key=queue)
            async with ch.consume(queue, prefetch=1) as deliveries:
                first = await anext(deliveries)
                await first.release()
                again = await anext(deliveries)
                assert again.redelivered
                await again.reject()
            async with ch.consume(dead) as deliveries:
                letter = await anext(deliveries)
                assert letter.body == b"bad"
                assert letter.properties.headers is not None
                assert letter.properties.headers["x-death"][0]["reason"] == "rejected"
                await letter.accept()

    run(main())


def test_a_deleted_queue_ends_its_consumer(rabbitmq: RabbitMQ) -> None:
    async def main() -> None:
        async with connect(rabbitmq.url) as connection:
            one, two = await connection.open_channel(), await connection.open_channel()
            queue = (await one.call(amqp.QueueDeclare(queue="aio-deleted", exclusive=True))).queue
            consumer = one.consume(queue)
            await consumer.start()
            await two.call(amqp.QueueDelete(queue))
            with pytest.raises(ConsumerEnded):
                await anext(consumer)
            assert one.is_open

    run(main())


def test_what_a_dropped_consumer_had_comes_back(rabbitmq: RabbitMQ) -> None:
    async def main() -> None:
        async with connect(rabbitmq.url) as connection:
            ch = await connection.open_channel(confirm=True)
            queue = (await ch.call(amqp.QueueDeclare(exclusive=True))).queue
            for n in range(10):
                await ch.publish(b"%d" % n, routing_key=queue)
            async for delivery in ch.consume(queue, prefetch=5):
                await delivery.accept()
                break

            async def ready() -> int:
                return (await ch.call(amqp.QueueDeclare(queue, passive=True))).message_count

            async with asyncio.timeout(10):
                while await ready() != 9:
                    await asyncio.sleep(0.01)
            bodies = [await ch.get(queue, no_ack=True) for _ in range(9)]
            assert [each.body for each in bodies if each] == [b"%d" % n for n in range(1, 10)]

    run(main())


def test_errors_name_the_cause(rabbitmq: RabbitMQ) -> None:
    async def main() -> None:
        async with connect(rabbitmq.url) as connection:
            ch = await connection.open_channel()
            with pytest.raises(EndpointClosed, match="404 NOT_FOUND - no queue 'aio-none'"):
                await ch.call(amqp.QueuePurge("aio-none"))
            ch = await connection.open_channel()
            await ch.publish(b"", exchange="aio-none")
            with pytest.raises(EndpointClosed, match="404 NOT_FOUND - no exchange 'aio-none'"):
                await ch.call(amqp.QueueDeclare(exclusive=True))
            ch = await connection.open_channel()
            queue = (await ch.call(amqp.QueueDeclare("aio-inequivalent", exclusive=True))).queue
            with pytest.raises(EndpointClosed, match="406 PRECONDITION_FAILED - inequivalent arg"):
                await ch.call(amqp.QueueDeclare(queue, exclusive=True, arguments={"x-max-length": 1}))
            assert connection.is_open

    run(main())


def test_refused_logins(rabbitmq: RabbitMQ) -> None:
    async def main() -> None:
        where = f"{rabbitmq.host}:{rabbitmq.port}"
        with pytest.raises(EndpointClosed, match="403 ACCESS_REFUSED") as caught:
            await connect(f"amqp://guest:wrong@{where}")
        assert caught.value.report is not None
        assert caught.value.report.by is By.REMOTE
        with pytest.raises(EndpointClosed, match="530 NOT_ALLOWED - vhost nowhere not found"):
            await connect(f"amqp://{where}/nowhere")
        user = rabbitmq.noperm_user
        with pytest.raises(EndpointClosed, match="530 NOT_ALLOWED - access to vhost '/' refused"):
            await connect(f"amqp://{user}:{user}@{where}")
        async with connect(rabbitmq.url, sasl=AmqPlain("guest", "guest")) as connection:
            assert connection.core.mechanism == "AMQPLAIN"

    run(main())


def test_tls(rabbitmq: RabbitMQ) -> None:
    async def main() -> None:
        url = f"amqps://guest:guest@localhost:{rabbitmq.tls_port}"
        with pytest.raises(ssl.SSLCertVerificationError):
            await connect(url)
        async with connect(f"{url}?cacertfile={rabbitmq.ca_file}") as connection:
            ch = await connection.open_channel()
            assert (await ch.call(amqp.QueueDeclare(exclusive=True))).queue
        files = rabbitmq.certificates
        external = (
            f"amqps://localhost:{rabbitmq.tls_port}?cacertfile={rabbitmq.ca_file}"
            f"&certfile={files.client}&keyfile={files.client_key}&auth_mechanism=external"
        )
        async with connect(external) as connection:
            assert connection.core.mechanism == "EXTERNAL"
        with pytest.raises(EndpointClosed, match="TLS"):
            await connect(f"amqp://localhost:{rabbitmq.tls_port}")
        with pytest.raises(ssl.SSLError, match="perhaps the port is one without TLS"):
            await connect(f"amqps://localhost:{rabbitmq.port}")

    run(main())


def test_transactions(rabbitmq: RabbitMQ) -> None:
    async def main() -> None:
        async with connect(rabbitmq.url) as connection:
            ch = await connection.open_channel()
            queue = (await ch.call(amqp.QueueDeclare(exclusive=True))).queue
            await ch.call(amqp.TxSelect())
            await ch.publish(b"later", routing_key=queue)
            assert await ch.get(queue) is None
            await ch.call(amqp.TxCommit())
            delivery = await ch.get(queue)
            assert delivery is not None
            await delivery.accept()
            await ch.call(amqp.TxCommit())

    run(main())


def test_the_broker_closes_the_connection(rabbitmq: RabbitMQ) -> None:
    async def main() -> None:
        name = "amqp-sansio-asyncio-victim"
        async with connect(rabbitmq.url, properties={"product": name}) as connection:
            ch = await connection.open_channel()
            queue = (await ch.call(amqp.QueueDeclare(exclusive=True))).queue
            waiting = asyncio.ensure_future(anext(ch.consume(queue)))
            await asyncio.sleep(0.05)
            listing = ("list_connections", "pid", "client_properties")
            lines = (await asyncio.to_thread(rabbitmq.ctl, *listing)).splitlines()
            (pid,) = [line.split("\t")[0] for line in lines if name in line]
            close = ("close_connection", pid, "for the test")
            await asyncio.to_thread(rabbitmq.ctl, *close)
            with pytest.raises(EndpointClosed, match="320 CONNECTION_FORCED - for the test"):
                await waiting
            assert (await connection.wait_closed()).code == 320

    run(main(), 60)


def test_blocked_by_an_alarm(rabbitmq: RabbitMQ) -> None:
    async def main() -> None:
        async with connect(rabbitmq.url) as connection:
            ch = await connection.open_channel(confirm=True)
            queue = (await ch.call(amqp.QueueDeclare(exclusive=True))).queue
            await asyncio.to_thread(rabbitmq.ctl, "set_vm_memory_high_watermark", "0")
            try:
                publishing = asyncio.ensure_future(ch.publish(b"x", routing_key=queue))
                await until(lambda: connection.blocked is not None, 30)
                assert connection.blocked == "low on memory"
                assert not publishing.done()
            finally:
                await asyncio.to_thread(rabbitmq.ctl, "set_vm_memory_high_watermark", "0.4")
            assert await publishing == Accepted()
            await until(lambda: connection.blocked is None, 30)

    run(main(), 90)


def test_0_8(rabbitmq: RabbitMQ) -> None:
    async def main() -> None:
        try:
            connection = await connect(rabbitmq.url, version=AMQP_0_8)
        except EndpointClosed as error:
            # Later releases speak 0-9-1 only, and say so.
            assert "0-0-9-1" in str(error)
            return
        async with connection:
            ch = await connection.open_channel()
            queue = (await ch.call(amqp.QueueDeclare(exclusive=True))).queue
            await ch.publish(b"old", routing_key=queue)
            async with ch.consume(queue, prefetch=3) as deliveries:
                delivery = await anext(deliveries)
                assert delivery.body == b"old"
                await delivery.accept()

    run(main())
