"""The client of 0-8 and 0-9-1 without an event loop: its coroutines, its inboxes, its ends, over the pure broker."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

from amqp_sansio import (
    AMQP_0_8,
    AMQP_0_9_1,
    Accepted,
    By,
    EndpointClosed,
    Limits,
    LocalProtocolError,
    NotAccepted,
    Version,
)
from amqp_sansio.amqp_0_8 import Connection as Connection08
from amqp_sansio.amqp_0_9_1 import BasicProperties, Config
from amqp_sansio.amqp_0_9_1 import Connection as Connection091
from amqp_sansio.client.classic.channel import Channel
from amqp_sansio.client.classic.client import ClassicClient
from amqp_sansio.client.classic.connection import Connection
from amqp_sansio.sasl import Plain
from amqp_sansio.uri import parse
from tests.kit.stepped import Stepped


def core_of(version: Version, **fields: Any) -> Connection091 | Connection08:
    """Return a client's core."""
    config = Config(sasl=Plain("guest", "guest"), **fields)
    return (Connection08 if version is AMQP_0_8 else Connection091).client(config)


class World(Stepped):
    """A client of a version, connected."""

    def __init__(self, version: Version = AMQP_0_9_1, limits: Limits | None = None, **options: Any) -> None:
        client = ClassicClient(core_of(version, limits=limits or Limits()))
        super().__init__(client, **options)
        self.connection = Connection(client, parse("amqp://"))

    def channel(self, *, confirm: bool = False) -> Channel:
        """Open a channel."""
        return self.run(self.channel_opening(confirm))

    async def channel_opening(self, confirm: bool) -> Channel:
        """Return a new channel."""
        return await self.connection.open_channel(confirm=confirm)


@pytest.fixture(params=[1, 7, 65_536], ids="{}-octets".format)
def world(request: pytest.FixtureRequest) -> World:
    return World(size=request.param)


def test_a_message_there_and_back(world: World) -> None:
    channel = world.channel(confirm=True)
    queue = world.run(channel.declare_queue("jobs", durable=True, arguments={"x-max-length": 3}))
    assert (queue.queue, queue.message_count) == ("jobs", 0)
    properties = BasicProperties(headers={"try": 1, "deep": {"a": [1]}})
    assert world.run(channel.publish(b"hello", routing_key="jobs", properties=properties)) == Accepted()

    async def consume() -> list[Any]:
        async with channel.consume("jobs") as consumer:
            async for delivery in consumer:
                await delivery.accept()
                return [delivery.body, delivery.text, delivery.headers, delivery.consumer_tag]
        raise AssertionError

    assert world.run(consume()) == [b"hello", "hello", {"try": 1, "deep": {"a": [1]}}, "c1.1"]
    assert world.run(channel.get("jobs")) is None
    assert world.run(world.connection.close()).by is By.LOCAL
    assert not world.connection.is_open


def test_text_and_json_say_their_content_type(world: World) -> None:
    channel = world.channel()
    world.run(channel.declare_queue("jobs"))
    world.run(channel.publish_text("grün", routing_key="jobs"))
    world.run(channel.publish_json({"n": 1}, routing_key="jobs", properties=BasicProperties(content_type="x/y")))
    one, two = world.run(channel.get("jobs")), world.run(channel.get("jobs"))
    assert one is not None
    assert two is not None
    assert (one.text, one.properties.content_type, one.message_count) == ("grün", "text/plain", 1)
    assert (two.json(), two.properties.content_type) == ({"n": 1}, "x/y")


@pytest.mark.parametrize(
    ("body", "properties", "text"),
    [
        ("text", None, "publish_text"),
        ({"a": 1}, None, "publish_json"),
        (b"x", {"content_type": "a/b"}, "BasicProperties"),
    ],
    ids=["str", "dict", "dict as properties"],
)
def test_an_argument_of_the_wrong_type_says_what_to_pass(body: Any, properties: Any, text: str) -> None:
    world = World()
    with pytest.raises(TypeError, match=text):
        world.run(world.channel().publish(body, properties=properties))


def test_exchanges_queues_and_bindings(world: World) -> None:
    channel = world.channel()

    async def declare() -> int:
        await channel.declare_exchange("in", "topic")
        await channel.declare_exchange("out", "fanout", auto_delete=True)
        await channel.bind_exchange("out", "in", "a.#")
        await channel.declare_queue("q")
        await channel.bind_queue("q", "out")
        await channel.publish(b"1", exchange="in", routing_key="a.b")
        await channel.publish(b"2", exchange="in", routing_key="b")
        found = (await channel.purge_queue("q")).message_count
        await channel.unbind_queue("q", "out")
        await channel.delete_exchange("in")
        await channel.delete_queue("q", if_empty=True)
        return found

    assert world.run(declare()) == 1
    with pytest.raises(EndpointClosed, match="404"):
        world.run(channel.declare_queue("q", passive=True))


def test_0_8_has_neither_confirms_nor_unbind() -> None:
    world = World(AMQP_0_8)
    channel = world.channel()
    assert world.run(channel.declare_queue("q", exclusive=True)).queue == "q"
    with pytest.raises(LocalProtocolError, match="no confirms"):
        world.channel(confirm=True)
    with pytest.raises(LocalProtocolError, match="0-8"):
        world.run(channel.bind_exchange("a", "b"))


@pytest.mark.parametrize("confirm", [False, True])
def test_requests_and_their_replies(world: World, confirm: bool) -> None:
    channel, serving = world.channel(confirm=confirm), world.channel()
    world.run(channel.declare_queue("rpc"))

    async def serve() -> None:
        async for request in serving.consume("rpc", no_ack=True):
            asked = request.properties
            answer = BasicProperties(correlation_id=asked.correlation_id)
            await serving.publish(request.body[::-1], routing_key=asked.reply_to or "", properties=answer)

    server = world.start(serve())
    one, two = [world.start(channel.request(body, routing_key="rpc")) for body in (b"abc", b"xyz")]
    world.turn()
    assert (one.result.body, two.result.body) == (b"cba", b"zyx")
    with pytest.raises(NotAccepted, match="NO_ROUTE"):
        world.run(channel.request(b"", routing_key="nobody"))
    late = world.start(channel.request(b"", routing_key="rpc", properties=BasicProperties(correlation_id="mine")))
    with pytest.raises(ValueError, match="'mine' is under way"):
        world.run(channel.request(b"", routing_key="rpc", properties=BasicProperties(correlation_id="mine")))
    world.turn()
    assert late.result.properties.correlation_id == "mine"
    world.run(serving.close())
    assert server.result is None


def test_a_transaction_happens_as_a_whole_or_not_at_all(world: World) -> None:
    channel = world.channel()
    world.run(channel.declare_queue("jobs"))

    async def work(fails: bool) -> None:
        async with channel.transaction():
            await channel.publish(b"x", routing_key="jobs")
            if fails:
                raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        world.run(work(True))
    world.run(work(False))
    assert world.run(channel.declare_queue("jobs")).message_count == 1


def test_publishes_of_many_tasks_keep_their_order() -> None:
    world = World()
    channel = world.channel(confirm=True)
    world.run(channel.declare_queue("jobs"))
    bodies = [b"%d" % n + bytes(1000) for n in range(200)]
    assert sum(map(len, bodies)) > 2 * world.client.flush_octets
    tasks = [world.start(channel.publish(body, routing_key="jobs")) for body in bodies]
    world.turn()
    assert [task.result for task in tasks] == [Accepted()] * 200
    got = [world.run(channel.get("jobs", no_ack=True)) for _ in bodies]
    assert [each and each.body for each in got] == bodies


def test_a_failure_that_a_caller_saw_is_raised_once() -> None:
    world = World(limits=Limits(message=1000))

    async def work() -> None:
        async with world.connection:
            channel = await world.connection.open_channel()
            await channel.declare_queue("jobs")
            await channel.publish(bytes(2000), routing_key="jobs")
            with pytest.raises(EndpointClosed, match="311"):
                await channel.get("jobs")

    world.run(work())


def test_a_client_pickles_between_two_octets() -> None:
    world = World()
    channel = world.channel()
    world.run(channel.declare_queue("jobs"))
    copy = pickle.loads(pickle.dumps(world.client))
    assert copy.is_open
    assert copy.channels[1].core.number == 1
    assert copy.data_to_send(world.now) == world.client.data_to_send(world.now)
