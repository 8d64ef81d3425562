"""Recovery of 0-8 and 0-9-1 without an event loop: the connection is cut at any place, and the pure broker goes on."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

from amqp_sansio import AMQP_0_8, AMQP_0_9_1, Accepted, EndpointClosed, LimitExceeded, Pending, StaleDelivery, Version
from amqp_sansio.amqp_0_9_1 import BasicProperties
from amqp_sansio.client.classic.channel import Channel
from amqp_sansio.client.recovery import InDoubt, Recovered, Recovering, RecoveryPolicy
from amqp_sansio.errors import TransactionFailed
from tests.client.test_classic import World, core_of
from tests.kit.by_hand import Call


class Recovers(World):
    """A client that recovers, with its events."""

    def __init__(self, version: Version = AMQP_0_9_1, policy: RecoveryPolicy | None = None, **options: Any) -> None:
        super().__init__(version, **options)
        self.recover(lambda: core_of(version), policy or RecoveryPolicy(jitter=0.0))
        self.events = self.connection.events(Recovering, Recovered)


@pytest.fixture(params=[1, 65_536], ids="{}-octets".format)
def world(request: pytest.FixtureRequest) -> Recovers:
    return Recovers(size=request.param)


def bodies(world: Recovers, channel: Channel, queue: str) -> list[Any]:
    found: list[Any] = []
    while (delivery := world.run(channel.get(queue, no_ack=True))) is not None:
        found.append(delivery)
    return found


def test_all_that_was_open_is_opened_again(world: Recovers) -> None:
    channel = world.channel(confirm=True)
    world.run(channel.declare_exchange("events", "topic"))
    named = world.run(channel.declare_queue(exclusive=True)).queue
    world.run(channel.bind_queue("", "events", "a.#"))
    world.run(channel.declare_queue("gone"))
    world.run(channel.delete_queue("gone"))
    consumer = channel.consume(named)
    world.run(consumer.start())
    event = world.back()
    ((old, new),) = event.renamed
    assert (old, event.attempts, event.address, event.failed) == (named, 1, "amqp://one", ())
    assert consumer.queue == new != old
    assert world.run(channel.publish(b"on", exchange="events", routing_key="a.b")) == Accepted()
    delivery = world.run(consumer.__anext__())
    world.run(delivery.accept())
    assert (delivery.body, channel.is_open, world.connection.is_open) == (b"on", True, True)
    with pytest.raises(EndpointClosed, match="gone"):
        world.run(channel.declare_queue("gone", passive=True))


@pytest.mark.parametrize("size", range(0, 400, 9))
def test_a_publish_in_doubt_is_sent_again(size: int) -> None:
    """The transport is cut after so many octets of the broker, or of the client."""
    world = Recovers()
    channel = world.channel(confirm=True)
    world.run(channel.declare_queue("jobs", durable=True))
    sent = [world.start(channel.publish(b"%d" % number, routing_key="jobs")) for number in range(5)]
    octets = world.client.data_to_send(world.now, size or None)
    if size:
        world.server.receive_data(octets, world.now)
        world.server.next_event()
    assert world.back().resent == 5
    assert [task.result for task in sent] == [Accepted()] * 5
    found = bodies(world, channel, "jobs")
    assert {each.body for each in found} == {b"0", b"1", b"2", b"3", b"4"}
    assert [each.body for each in found if each.headers == {"x-publish-try": 2}] == [b"0", b"1", b"2", b"3", b"4"]
    assert world.client.kept == 0


def test_a_message_keeps_its_id_and_counts_its_tries(world: Recovers) -> None:
    channel = world.channel(confirm=True)
    world.run(channel.declare_queue("jobs"))
    sent = world.start(channel.publish(b"x", routing_key="jobs", properties=BasicProperties(message_id="m1")))
    world.cut()
    world.now += 0.5
    world.reopen()
    while not world.connection.is_open:
        world.move()
    assert [event.resent for event in world.told() if isinstance(event, Recovered)] == [1]
    world.cut()
    world.wait_back()
    assert sent.result == Accepted()
    (found,) = bodies(world, channel, "jobs")
    assert (found.properties.message_id, found.headers["x-publish-try"]) == ("m1", 3)


def test_a_publish_in_doubt_is_reported_if_the_policy_says_so() -> None:
    world = Recovers(policy=RecoveryPolicy(in_doubt="report"))
    channel = world.channel(confirm=True)
    sent = world.start(channel.publish(b"x", routing_key="jobs"))
    world.cut()
    with pytest.raises(EndpointClosed, match="the cable is cut"):
        _ = sent.result
    assert world.wait_back().in_doubt == (InDoubt(("", "jobs"), b"x"),)
    assert world.client.kept == 0


@pytest.mark.parametrize("version", [AMQP_0_8, AMQP_0_9_1])
def test_messages_without_confirms_are_reported_and_never_sent_again(version: Version) -> None:
    world = Recovers(version, RecoveryPolicy(remembered=2))
    channel = world.channel()
    for body in (b"1", b"2", b"3"):
        world.run(channel.publish(body, routing_key="jobs"))
    event = world.back()
    assert [each.body for each in event.in_doubt] == [b"2", b"3"]
    assert event.resent == 0
    assert world.back().in_doubt == ()


def test_calls_that_wait_go_on_waiting(world: Recovers) -> None:
    channel = world.channel()
    world.run(channel.declare_queue("jobs"))
    started = [
        world.start(channel.get("jobs")), world.start(channel.declare_queue("more")),
        world.start(channel.set_prefetch(3)), world.start(world.channel_opening(confirm=True)),
    ]  # fmt: skip
    world.cut()
    late = [world.start(channel.publish(b"x", routing_key="jobs")), world.start(channel.purge_queue("more"))]
    assert not any(task.done for task in [*started, *late])
    world.wait_back()
    assert [type(task.result).__name__ for task in started] == ["NoneType", "QueueDeclareOk", "NoneType", "Channel"]
    assert late[1].result.message_count == 0
    assert world.run(started[3].result.publish(b"y", routing_key="jobs")) == Accepted()
    assert [each.body for each in bodies(world, channel, "jobs")] == [b"x", b"y"]


def test_a_publish_fails_at_once_if_the_policy_says_so() -> None:
    world = Recovers(policy=RecoveryPolicy(publish="fail"))
    channel = world.channel(confirm=True)
    world.cut()
    with pytest.raises(EndpointClosed, match="cable"):
        world.run(channel.publish(b"x", routing_key="jobs"))
    world.wait_back()
    world.run(channel.declare_queue("jobs"))
    assert world.run(channel.publish(b"x", routing_key="jobs")) == Accepted()


def test_a_delivery_of_an_earlier_connection_is_stale(world: Recovers) -> None:
    channel = world.channel(confirm=True)
    world.run(channel.declare_queue("jobs"))
    world.run(channel.publish(b"x", routing_key="jobs"))
    consumer = channel.consume("jobs")
    delivery = world.run(consumer.__anext__())
    world.cut()
    with pytest.raises(StaleDelivery, match="will come again"):
        world.run(delivery.accept())
    world.wait_back()
    with pytest.raises(StaleDelivery, match="will come again"):
        world.run(delivery.reject())
    again = world.run(consumer.__anext__())
    assert (again.body, again.redelivered) == (b"x", True)
    world.run(again.accept())
    assert world.run(channel.get("jobs")) is None


def test_a_consumer_whose_queue_others_deleted_ends_and_the_channel_lives(world: Recovers) -> None:
    channel = world.channel()
    admin = World(hub=world.hub)
    theirs = admin.channel()
    admin.run(theirs.declare_queue("theirs"))
    consumer = channel.consume("theirs")
    world.run(consumer.start())
    world.cut()
    admin.run(theirs.delete_queue("theirs"))
    event = world.wait_back()
    assert [what for what, _ in event.failed] == ["look c1.1"]
    with pytest.raises(EndpointClosed, match=r"c1\.1"):
        world.run(consumer.__anext__())
    assert channel.is_open


def test_a_transaction_does_not_survive_its_connection(world: Recovers) -> None:
    channel = world.channel()
    world.run(channel.declare_queue("jobs"))

    async def work() -> None:
        async with channel.transaction():
            await channel.publish(b"1", routing_key="jobs")
            await world.client.wait(lost)
            await channel.publish(b"2", routing_key="jobs")

    lost: Pending[None] = world.client.pending()
    task = world.start(work())
    world.turn()
    world.cut()
    world.client.complete(lost)
    world.wait_back()
    with pytest.raises(TransactionFailed, match="rolled it back"):
        _ = task.result
    assert bodies(world, channel, "jobs") == []


def test_a_request_under_way_fails_and_the_next_one_is_answered(world: Recovers) -> None:
    channel = world.channel()
    world.run(channel.declare_queue("rpc"))
    lost = world.start(channel.request(b"1", routing_key="rpc"))
    world.turn()
    world.cut()
    with pytest.raises(EndpointClosed, match="before the reply came"):
        _ = lost.result
    world.wait_back()
    asked = world.start(channel.request(b"2", routing_key="rpc"))
    world.turn()
    found = bodies(world, channel, "rpc")[-1]
    reply = BasicProperties(correlation_id=found.properties.correlation_id)
    world.run(channel.publish(b"answer", routing_key=found.properties.reply_to, properties=reply))
    world.turn()
    assert asked.result.body == b"answer"


def test_it_gives_up_after_the_deadline_with_the_whole_story() -> None:
    world = Recovers(policy=RecoveryPolicy(addresses=("amqp://two",), deadline=4.0, jitter=0.0))
    channel = world.channel(confirm=True)
    waits: list[Call[Any]] = [world.start(channel.publish(b"x", routing_key="jobs"))]
    world.is_refusing = True
    world.cut()
    waits += [world.start(channel.declare_queue("q")), world.start(world.connection.wait_closed())]
    for _ in range(30):
        world.turn(0.25)
    report = world.connection.report
    assert report is not None
    assert world.tried == ["amqp://one", "amqp://two"] * 3
    assert "given up after 6 attempts in 4 s" in str(report)
    assert "amqp://two after 1.5 s: transport lost: connection refused" in str(report)
    for task in waits[:2]:
        with pytest.raises(EndpointClosed, match="given up after 6 attempts"):
            _ = task.result
    assert waits[2].result == report
    assert [type(event).__name__ for event in world_events(world)] == ["Recovering"] * 7


def world_events(world: Recovers) -> list[Any]:
    found: list[Any] = []
    with pytest.raises(EndpointClosed, match="given up"):
        while True:
            found.append(world.run(world.events.__anext__()))
    return found


def test_a_refused_login_is_not_tried_again() -> None:
    world = Recovers()
    channel = world.channel()
    world.make_core = lambda: core_of(AMQP_0_9_1, vhost="/nowhere")
    world.cut()
    waits = world.start(channel.declare_queue("q"))
    for _ in range(10):
        world.turn(0.25)
    with pytest.raises(EndpointClosed, match="closed by the peer"):
        _ = waits.result
    assert len(world.tried) == 1


@pytest.mark.parametrize("seconds", [0.0, 0.5], ids=["waiting", "open again"])
def test_the_user_may_close_a_lost_connection(seconds: float) -> None:
    world = Recovers()
    channel = world.channel()
    world.cut()
    waits = world.start(channel.declare_queue("q"))
    world.turn(seconds)
    world.run(world.connection.close())
    for _ in range(10):
        world.turn(0.25)
    assert waits.done
    assert not world.connection.is_open
    assert len(world.tried) == bool(seconds)


def test_a_channel_closed_meanwhile_stays_closed(world: Recovers) -> None:
    one, two = world.channel(), world.channel()
    world.cut()
    world.run(one.close())
    world.wait_back()
    assert (one.is_open, two.is_open, world.client.core.channels) == (False, True, (2,))


def test_what_is_kept_for_restoring_is_bounded() -> None:
    world = Recovers(policy=RecoveryPolicy(declared=2, in_doubt_octets=3))
    channel = world.channel(confirm=True)
    world.run(channel.declare_queue("a"))
    world.run(channel.declare_queue("b"))
    with pytest.raises(LimitExceeded, match=r"RecoveryPolicy\.declared allows 2"):
        world.run(channel.declare_queue("c"))
    world.is_cut = True
    tasks = [world.start(channel.publish(b"xx", routing_key="a")) for _ in range(4)]
    assert len(world.client.core.channel(1).unconfirmed) == 2
    world.is_cut = False
    world.turn()
    assert [task.result for task in tasks] == [Accepted()] * 4


@pytest.mark.parametrize("seconds", [0.0, 0.5, 2.0])
def test_a_client_pickles_at_any_time(seconds: float) -> None:
    world = Recovers()
    channel = world.channel(confirm=True)
    world.run(channel.declare_queue("jobs"))
    world.run(channel.publish(b"x", routing_key="jobs", wait=False))
    world.cut()
    world.turn(seconds)
    again = pickle.loads(pickle.dumps(world.client))
    assert again.recovery.state is world.client.recovery.state
    assert list(again.topology.queues) == ["jobs"]


def test_a_channel_that_is_being_closed_when_the_connection_is_lost_is_closed() -> None:
    world = Recovers()
    channel = world.channel()
    closing = world.start(channel.close())
    world.client.data_to_send(world.now)
    world.cut()
    world.turn(1.0)
    assert closing.done
    assert not channel.is_open
    assert world.connection.is_open
