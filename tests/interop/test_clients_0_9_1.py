"""Both adapters' AMQP 0-9-1 and 0-8 against RabbitMQ: the whole tour, its extensions, its errors, TLS."""

import ssl
import threading
import time
from collections.abc import Callable
from itertools import count
from typing import Any

import pytest

import amqp_sansio_sync
from amqp_sansio import AMQP_0_8, Accepted, By, EndpointClosed, Rejected
from amqp_sansio import amqp_0_9_1 as amqp
from amqp_sansio.amqp_0_8.spec import QueueDeclare as QueueDeclare08
from amqp_sansio.amqp_0_9_1 import spec
from amqp_sansio.sasl import AmqPlain
from amqp_sansio_asyncio import ConsumerEnded
from tests.interop.brokers.rabbitmq import RabbitMQ
from tests.kit.worlds import World

WAIT = 30.0
numbers = count(1)
HEADERS = {"n": 1, "text": "x", "list": [1, 2.5, None], "nested": {"deep": [b"x"]}}


class Client:
    """One of the clients at RabbitMQ."""

    def __init__(self, rabbitmq: RabbitMQ, world: World) -> None:
        self.broker = rabbitmq
        self.world = world

    def run(self, scenario: Callable[[Any], Any], seconds: float = 60, **options: Any) -> None:
        """Run a scenario with a connection."""

        async def main() -> None:
            async with self.world.connect(self.broker.url, **options) as connection:
                await scenario(connection)

        self.world.run(main(), seconds)


@pytest.fixture
def client(rabbitmq: RabbitMQ, world: World) -> Client:
    return Client(rabbitmq, world)


async def declared(channel: Any, name: str = "", **options: Any) -> str:
    """A queue that goes with its connection."""
    queue: str = (await channel.call(spec.QueueDeclare(name, exclusive=True, **options))).queue
    return queue


async def ready(channel: Any, queue: str) -> int:
    found: int = (await channel.call(spec.QueueDeclare(queue, passive=True))).message_count
    return found


def test_a_tour(client: Client) -> None:
    async def scenario(connection: Any) -> None:
        assert connection.peer_properties["product"] == "RabbitMQ"
        exchange = f"client.{next(numbers)}"
        channel = await connection.open_channel(confirm=True)
        await channel.call(spec.ExchangeDeclare(exchange, "topic"))
        queue = await declared(channel)
        await channel.call(spec.QueueBind(queue, exchange, "a.#"))
        properties = amqp.BasicProperties(content_type="text/plain", headers=HEADERS)
        sent = [
            await channel.publish(b"%d" % n, exchange=exchange, routing_key="a.b", properties=properties, wait=False)
            for n in range(5000)
        ]
        assert [await each for each in sent] == [Accepted()] * 5000
        seen: list[bytes] = []
        async with channel.consume(queue, prefetch=1000) as deliveries:
            async for delivery in deliveries:
                assert (delivery.properties.content_type, delivery.properties.headers) == ("text/plain", HEADERS)
                seen.append(delivery.body)
                if len(seen) % 500 == 0:
                    await delivery.accept(multiple=True)
                if len(seen) == 5000:
                    break
        assert seen == [b"%d" % n for n in range(5000)]
        assert await ready(channel, queue) == 0
        await channel.call(spec.ExchangeDelete(exchange))

    client.run(scenario, heartbeat=5)


def test_publishes_that_wait_at_once(client: Client) -> None:
    async def scenario(connection: Any) -> None:
        channel = await connection.open_channel(confirm=True)
        queue = await declared(channel)
        outcomes = await client.world.gather(*[channel.publish(b"%d" % n, routing_key=queue) for n in range(200)])
        assert outcomes == [Accepted()] * 200

    client.run(scenario)


@pytest.mark.parametrize("size", [0, 1, 131_064, 131_065, 1_000_000])
def test_bodies(client: Client, size: int) -> None:
    async def scenario(connection: Any) -> None:
        channel = await connection.open_channel(confirm=True)
        queue = await declared(channel)
        assert await channel.publish(bytes(size), routing_key=queue) == Accepted()
        delivery = await channel.get(queue, no_ack=True)
        assert delivery is not None
        assert delivery.body == bytes(size)

    client.run(scenario)


def test_returns_and_refusals(client: Client) -> None:
    async def scenario(connection: Any) -> None:
        channel = await connection.open_channel(confirm=True)
        queue = await declared(channel, arguments={"x-max-length": 1, "x-overflow": "reject-publish"})
        expected = {queue: Accepted(), "nowhere": amqp.Returned(312, "NO_ROUTE")}
        for key, outcome in expected.items():
            assert await channel.publish(b"1", routing_key=key, mandatory=True) == outcome
        assert await channel.publish(b"3", routing_key=queue, mandatory=True) == Rejected()
        plain = await connection.open_channel()
        async with plain.events(amqp.MessageReturned) as returned:
            await plain.publish(b"y", routing_key="nowhere", mandatory=True)
            assert (await anext(returned)).body == b"y"

    client.run(scenario)


def test_requeue_and_dead_letters(client: Client) -> None:
    async def scenario(connection: Any) -> None:
        channel = await connection.open_channel(confirm=True)
        dead = await declared(channel)
        queue = await declared(channel, arguments={"x-dead-letter-exchange": "", "x-dead-letter-routing-key": dead})
        await channel.publish(b"bad", routing_key=queue)
        async with channel.consume(queue, prefetch=1) as deliveries:
            first = await anext(deliveries)
            await first.release()
            again = await anext(deliveries)
            assert again.redelivered
            await again.reject()
        async with channel.consume(dead) as deliveries:
            letter = await anext(deliveries)
            assert letter.body == b"bad"
            assert letter.properties.headers["x-death"][0]["reason"] == "rejected"
            await letter.accept()

    client.run(scenario)


def test_a_deleted_queue_ends_its_consumer(client: Client) -> None:
    async def scenario(connection: Any) -> None:
        one, two = await connection.open_channel(), await connection.open_channel()
        queue = await declared(one)
        async with one.consume(queue) as deliveries:
            await two.call(spec.QueueDelete(queue))
            with pytest.raises(ConsumerEnded, match="the server cancelled the consumer"):
                await anext(deliveries)
        assert one.is_open

    client.run(scenario)


def test_what_was_not_taken_comes_back(client: Client) -> None:
    async def scenario(connection: Any) -> None:
        channel = await connection.open_channel(confirm=True)
        queue = await declared(channel)
        for n in range(20):
            await channel.publish(b"%d" % n, routing_key=queue)
        async with channel.consume(queue, prefetch=10) as deliveries:
            await (await anext(deliveries)).accept()
        while await ready(channel, queue) != 19:
            await client.world.pause(0.01)
        got = await channel.get(queue)
        assert (got.body, got.message_count) == (b"1", 18)
        await got.release()
        async with channel.consume(queue) as deliveries:
            again = await anext(deliveries)
            assert (again.body, again.redelivered) == (b"1", True)
            await again.reject()

    client.run(scenario)


def test_errors_name_the_cause(client: Client) -> None:
    async def scenario(connection: Any) -> None:
        queue = await declared(await connection.open_channel(), f"client.{next(numbers)}")
        for request, text in (
            (spec.QueuePurge("none"), "404 NOT_FOUND - no queue 'none'"),
            (spec.QueueDeclare("none", passive=True), "404 NOT_FOUND - no queue 'none'"),
            (spec.QueueDeclare(queue, exclusive=True, auto_delete=True), "406 PRECONDITION_FAILED - inequivalent arg"),
            (
                spec.QueueDeclare(queue, exclusive=True, arguments={"x-max-length": 1}),
                "406 PRECONDITION_FAILED - inequivalent arg",
            ),
        ):
            channel = await connection.open_channel()
            with pytest.raises(EndpointClosed, match=text) as caught:
                await channel.call(request)
            assert caught.value.report is not None
            assert caught.value.report.by is By.REMOTE
        channel = await connection.open_channel()
        await channel.publish(b"", exchange="none")
        with pytest.raises(EndpointClosed, match="404 NOT_FOUND - no exchange 'none'"):
            await channel.call(spec.QueueDeclare(exclusive=True))
        assert connection.is_open

    client.run(scenario)


@pytest.mark.parametrize(
    ("rest", "text"),
    [
        ("guest:wrong@{where}", "403 ACCESS_REFUSED"),
        ("{where}/nowhere", "530 NOT_ALLOWED - vhost nowhere not found"),
        ("{other}:{other}@{where}", "530 NOT_ALLOWED - access to vhost '/' refused"),
    ],
    ids=["password", "virtual host", "permission"],
)
def test_refused_logins(world: World, rabbitmq: RabbitMQ, rest: str, text: str) -> None:
    async def main() -> None:
        where = f"{rabbitmq.host}:{rabbitmq.port}"
        with pytest.raises(EndpointClosed, match=text) as caught:
            await world.connect("amqp://" + rest.format(where=where, other=rabbitmq.noperm_user))
        assert caught.value.report is not None
        assert caught.value.report.by is By.REMOTE

    world.run(main())


def test_amqplain(client: Client) -> None:
    async def scenario(connection: Any) -> None:
        assert connection.core.mechanism == "AMQPLAIN"

    client.run(scenario, sasl=AmqPlain("guest", "guest"))


def test_tls(world: World, rabbitmq: RabbitMQ) -> None:
    async def main() -> None:
        url = f"amqps://guest:guest@localhost:{rabbitmq.tls_port}"
        with pytest.raises(ssl.SSLCertVerificationError):
            await world.connect(url)
        async with world.connect(f"{url}?cacertfile={rabbitmq.ca_file}") as connection:
            channel = await connection.open_channel(confirm=True)
            assert await channel.publish(bytes(1_000_000), routing_key="none") == Accepted()
        files = rabbitmq.certificates
        external = (
            f"amqps://localhost:{rabbitmq.tls_port}?cacertfile={rabbitmq.ca_file}"
            f"&certfile={files.client}&keyfile={files.client_key}&auth_mechanism=external"
        )
        async with world.connect(external) as connection:
            assert connection.core.mechanism == "EXTERNAL"
        with pytest.raises(EndpointClosed, match="TLS"):
            await world.connect(f"amqp://localhost:{rabbitmq.tls_port}")
        with pytest.raises(ssl.SSLError, match="perhaps the port is one without TLS"):
            await world.connect(f"amqps://localhost:{rabbitmq.port}")

    world.run(main(), 60)


def test_the_broker_closes_the_connection(world: World, rabbitmq: RabbitMQ) -> None:
    async def main() -> None:
        name = f"amqp-sansio-victim-{next(numbers)}"
        async with world.connect(rabbitmq.url, properties={"product": name}) as connection:
            channel = await connection.open_channel()
            async with channel.consume(await declared(channel)) as deliveries:
                waiting = world.start(anext(deliveries))
                listing = ("list_connections", "pid", "client_properties")
                lines = rabbitmq.ctl(*listing).splitlines()
                (pid,) = [line.split("\t")[0] for line in lines if name in line]
                rabbitmq.ctl("close_connection", pid, "for the test")
                with pytest.raises(EndpointClosed, match="320 CONNECTION_FORCED - for the test"):
                    await waiting
            report = await connection.wait_closed()
            assert (report.by, report.code) == (By.REMOTE, 320)

    world.run(main(), 60)


def test_blocked_by_an_alarm(client: Client) -> None:
    async def scenario(connection: Any) -> None:
        channel = await connection.open_channel(confirm=True)
        queue = await declared(channel)
        client.broker.ctl("set_vm_memory_high_watermark", "0")
        try:
            publishing = client.world.start(channel.publish(b"x", routing_key=queue))
            await client.world.until(lambda: connection.blocked is not None)
            assert connection.blocked == "low on memory"
            assert not publishing.done
        finally:
            client.broker.ctl("set_vm_memory_high_watermark", "0.4")
        assert await publishing == Accepted()
        await client.world.until(lambda: connection.blocked is None)

    client.run(scenario, 90)


def test_0_8(client: Client) -> None:
    async def scenario(connection: Any) -> None:
        channel = await connection.open_channel()
        queue = (await channel.call(QueueDeclare08(exclusive=True, auto_delete=True))).queue
        await channel.publish(b"old", routing_key=queue)
        async with channel.consume(queue, prefetch=3) as deliveries:
            delivery = await anext(deliveries)
            assert delivery.body == b"old"
            await delivery.accept()

    try:
        client.run(scenario, version=AMQP_0_8)
    except EndpointClosed as error:
        # Later releases speak 0-9-1 only, and say so.
        assert "0-0-9-1" in str(error)


def test_heartbeats_go_on_while_user_code_works(rabbitmq: RabbitMQ) -> None:
    with amqp_sansio_sync.connect(rabbitmq.url, heartbeat=1) as connection:
        assert connection.core.heartbeat == 1
        channel = connection.open_channel(confirm=True)
        time.sleep(4.5)
        assert channel.publish(b"x", routing_key="none") == Accepted()


def test_threads_share_a_connection(rabbitmq: RabbitMQ) -> None:
    failures: list[BaseException] = []
    with amqp_sansio_sync.connect(rabbitmq.url) as connection:
        channel = connection.open_channel(confirm=True)
        queue = channel.call(spec.QueueDeclare(exclusive=True)).queue

        def publish() -> None:
            try:
                for _ in range(200):
                    assert channel.publish(b"x" * 1000, routing_key=queue, timeout=WAIT) == Accepted()
            except BaseException as error:
                failures.append(error)

        threads = [threading.Thread(target=publish) for _ in range(4)]
        for thread in threads:
            thread.start()
        with connection.open_channel().consume(queue, prefetch=50, timeout=WAIT) as deliveries:
            for _ in range(800):
                next(deliveries).accept()
        for thread in threads:
            thread.join(WAIT)
    assert not failures
