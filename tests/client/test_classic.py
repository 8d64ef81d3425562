"""The client of 0-8 and 0-9-1 in a simulated world: its coroutines, its inboxes, its ends, over the pure broker."""

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
from amqp_sansio.amqp_0_9_1 import BasicProperties
from tests.kit.user import PIECES, ClassicUser, world_of


@pytest.fixture(params=PIECES)
def user(request: pytest.FixtureRequest) -> ClassicUser:
    return ClassicUser(world=world_of(request.param))


def test_a_message_there_and_back(user: ClassicUser) -> None:
    channel = user.channel(confirm=True)
    queue = user.run(channel.declare_queue("jobs", durable=True, arguments={"x-max-length": 3}))
    assert (queue.queue, queue.message_count) == ("jobs", 0)
    properties = BasicProperties(headers={"try": 1, "deep": {"a": [1]}})
    assert user.run(channel.publish(b"hello", routing_key="jobs", properties=properties)) == Accepted()

    async def consume() -> list[Any]:
        async with channel.consume("jobs") as consumer:
            async for delivery in consumer:
                await delivery.accept()
                return [delivery.body, delivery.text, delivery.headers, delivery.consumer_tag]
        raise AssertionError

    assert user.run(consume()) == [b"hello", "hello", {"try": 1, "deep": {"a": [1]}}, "c1.1"]
    assert user.run(channel.get("jobs")) is None
    assert user.run(user.connection.close()).by is By.LOCAL
    assert not user.connection.is_open


def test_text_and_json_say_their_content_type(user: ClassicUser) -> None:
    channel = user.channel()
    user.run(channel.declare_queue("jobs", durable=True))
    user.run(channel.publish_text("grün", routing_key="jobs"))
    user.run(channel.publish_json({"n": 1}, routing_key="jobs", properties=BasicProperties(content_type="x/y")))
    one, two = user.run(channel.get("jobs")), user.run(channel.get("jobs"))
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
    user = ClassicUser()
    with pytest.raises(TypeError, match=text):
        user.run(user.channel().publish(body, properties=properties))


def test_exchanges_queues_and_bindings(user: ClassicUser) -> None:
    channel = user.channel()

    async def declare() -> int:
        await channel.declare_exchange("in", "topic")
        await channel.declare_exchange("out", "fanout", auto_delete=True)
        await channel.bind_exchange("out", "in", "a.#")
        await channel.declare_queue("q", durable=True)
        await channel.bind_queue("q", "out")
        await channel.publish(b"1", exchange="in", routing_key="a.b")
        await channel.publish(b"2", exchange="in", routing_key="b")
        found = (await channel.purge_queue("q")).message_count
        await channel.unbind_queue("q", "out")
        await channel.delete_exchange("in")
        await channel.delete_queue("q", if_empty=True)
        return found

    assert user.run(declare()) == 1
    with pytest.raises(EndpointClosed, match="404"):
        user.run(channel.declare_queue("q", passive=True))


def test_0_8_has_neither_confirms_nor_unbind() -> None:
    user = ClassicUser(AMQP_0_8)
    channel = user.channel()
    assert user.run(channel.declare_queue("q", exclusive=True)).queue == "q"
    with pytest.raises(LocalProtocolError, match="no confirms"):
        user.channel(confirm=True)
    with pytest.raises(LocalProtocolError, match="0-8"):
        user.run(channel.bind_exchange("a", "b"))


@pytest.mark.parametrize("confirm", [False, True])
def test_requests_and_their_replies(user: ClassicUser, confirm: bool) -> None:
    channel, serving = user.channel(confirm=confirm), user.channel()
    user.run(channel.declare_queue("rpc", durable=True))

    async def serve() -> None:
        async for request in serving.consume("rpc", no_ack=True):
            asked = request.properties
            answer = BasicProperties(correlation_id=asked.correlation_id)
            await serving.publish(request.body[::-1], routing_key=asked.reply_to or "", properties=answer)

    server = user.start(serve())
    one, two = [user.start(channel.request(body, routing_key="rpc")) for body in (b"abc", b"xyz")]
    user.turn()
    assert (one.result.body, two.result.body) == (b"cba", b"zyx")
    with pytest.raises(NotAccepted, match="NO_ROUTE"):
        user.run(channel.request(b"", routing_key="nobody"))
    late = user.start(channel.request(b"", routing_key="rpc", properties=BasicProperties(correlation_id="mine")))
    with pytest.raises(ValueError, match="'mine' is under way"):
        user.run(channel.request(b"", routing_key="rpc", properties=BasicProperties(correlation_id="mine")))
    user.turn()
    assert late.result.properties.correlation_id == "mine"
    user.run(serving.close())
    assert server.result is None


def test_a_transaction_happens_as_a_whole_or_not_at_all(user: ClassicUser) -> None:
    channel = user.channel()
    user.run(channel.declare_queue("jobs", durable=True))

    async def work(fails: bool) -> None:
        async with channel.transaction():
            await channel.publish(b"x", routing_key="jobs")
            if fails:
                raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        user.run(work(True))
    user.run(work(False))
    assert user.run(channel.declare_queue("jobs", durable=True)).message_count == 1


@pytest.mark.parametrize("version", [AMQP_0_8, AMQP_0_9_1], ids=lambda version: version.label)
@pytest.mark.parametrize("no_ack", [False, True])
@pytest.mark.parametrize("count", [1, 2, 20])
def test_what_comes_for_a_consumer_that_was_left_is_given_back_at_once(
    version: Version, count: int, no_ack: bool
) -> None:
    """Not only once the server has answered, however many deliveries come together."""
    user = ClassicUser(version)
    channel, other = user.channel(), user.channel()
    user.run(channel.declare_queue("jobs", durable=True))
    consumer = channel.consume("jobs", no_ack=no_ack)
    user.run(consumer.__aenter__())
    (inbox,) = channel._state.inboxes.values()  # pyright: ignore[reportPrivateUsage]
    for number in range(count):
        user.start(other.publish(b"%d" % number, routing_key="jobs"))
    user.line.down.hold()
    user.turn()
    user.line.up.hold()
    leaving = user.begin(consumer.close())
    user.line.down.release()
    user.turn()
    assert not channel.core.unsettled
    assert not inbox.items
    user.release()
    assert leaving.done
    assert (user.run(channel.declare_queue("jobs", passive=True)).message_count) == (0 if no_ack else count)


@pytest.mark.parametrize("no_ack", [False, True])
def test_consumers_that_come_and_go_leave_nothing_behind(no_ack: bool) -> None:
    user = ClassicUser()
    channel = user.channel()
    user.run(channel.declare_queue("jobs", durable=True))
    consumers = [channel.consume("jobs", no_ack=no_ack) for _ in range(3)]
    for count, consumer in enumerate(consumers, 1):
        user.run(consumer.start())
        assert len(channel._state.inboxes) == count  # pyright: ignore[reportPrivateUsage]
    for left, consumer in enumerate(reversed(consumers), 1):
        user.run(consumer.close())
        assert len(channel._state.inboxes) == 3 - left  # pyright: ignore[reportPrivateUsage]


@pytest.mark.parametrize("count", [0, 1, 3])
@pytest.mark.parametrize("octets", [None, 0, 25])
def test_a_prefetch_bounds_what_it_names(count: int, octets: int | None) -> None:
    """Octets are bounded only if they are named; RabbitMQ doesn't bound them."""
    user = ClassicUser(AMQP_0_8)
    channel = user.channel()
    user.run(channel.declare_queue("jobs", durable=True))
    for _ in range(5):
        user.run(channel.publish(b"ten octets", routing_key="jobs"))
    if octets is None:
        user.run(channel.set_prefetch(count))
    else:
        user.run(channel.set_prefetch(count, octets=octets))
    consumer = channel.consume("jobs", prefetch=None)
    user.run(consumer.start())
    user.turn()
    (inbox,) = channel._state.inboxes.values()  # pyright: ignore[reportPrivateUsage]
    assert len(inbox.items) == min(count or 5, 2 if octets else 5)


def test_publishes_of_many_tasks_keep_their_order() -> None:
    user = ClassicUser()
    channel = user.channel(confirm=True)
    user.run(channel.declare_queue("jobs", durable=True))
    bodies = [b"%d" % n + bytes(1000) for n in range(200)]
    assert sum(map(len, bodies)) > 2 * user.client.flush_octets
    tasks = [user.start(channel.publish(body, routing_key="jobs")) for body in bodies]
    user.turn()
    assert [task.result for task in tasks] == [Accepted()] * 200
    got = [user.run(channel.get("jobs", no_ack=True)) for _ in bodies]
    assert [each and each.body for each in got] == bodies


def test_a_failure_that_a_caller_saw_is_raised_once() -> None:
    user = ClassicUser(limits=Limits(message=1000))

    async def work() -> None:
        async with user.connection:
            channel = await user.connection.open_channel()
            await channel.declare_queue("jobs", durable=True)
            await channel.publish(bytes(2000), routing_key="jobs")
            with pytest.raises(EndpointClosed, match="311"):
                await channel.get("jobs")

    user.run(work())


def test_a_client_pickles_between_two_octets() -> None:
    user = ClassicUser()
    channel = user.channel()
    user.run(channel.declare_queue("jobs", durable=True))
    copy = pickle.loads(pickle.dumps(user.client))
    assert copy.is_open
    assert copy.channels[1].core.number == 1
    assert copy.data_to_send(user.now) == user.client.data_to_send(user.now)


def test_an_error_of_a_channel_names_the_call_the_connection_and_the_client() -> None:
    user = ClassicUser(properties={"connection_name": "worker"})
    channel = user.channel()
    with pytest.raises(EndpointClosed) as caught:
        user.run(channel.declare_queue("none", passive=True))
    report = caught.value.report
    assert report is not None
    assert (report.code, report.method, report.class_id, report.method_id) == (404, "queue.declare", 50, 10)
    assert "in answer to queue.declare" in str(caught.value)
    assert str(caught.value).endswith("(connection 'worker' to broker:5672)")
    assert "worker" not in str(report)
    with pytest.raises(EndpointClosed, match=r"channel 1 is closed: .* in answer to queue\.declare"):
        user.run(channel.declare_queue("other", durable=True))
