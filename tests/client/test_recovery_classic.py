"""Recovery of 0-8 and 0-9-1 in a simulated world: the connection is cut at any place, and the pure broker goes on."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

from amqp_sansio import AMQP_0_8, AMQP_0_9_1, Accepted, EndpointClosed, Pending, StaleDelivery, Version
from amqp_sansio.amqp_0_9_1 import BasicProperties
from amqp_sansio.broker import Settings
from amqp_sansio.client.classic.channel import Channel
from amqp_sansio.client.classic.consumer import inbox_of
from amqp_sansio.client.recovery import InDoubt, Recovered, RecoveryPolicy
from amqp_sansio.errors import TransactionFailed
from tests.kit.user import PIECES, URL, Call, ClassicUser, world_of


class Recovers(ClassicUser):
    """A user whose client recovers."""

    def __init__(
        self, version: Version = AMQP_0_9_1, policy: RecoveryPolicy | None = None, pieces: str = "whole"
    ) -> None:
        super().__init__(version, world_of(pieces), recover=policy or RecoveryPolicy(jitter=0.0))


@pytest.fixture(params=PIECES)
def user(request: pytest.FixtureRequest) -> Recovers:
    return Recovers(pieces=request.param)


def bodies(user: Recovers, channel: Channel, queue: str) -> list[Any]:
    found: list[Any] = []
    while (delivery := user.run(channel.get(queue, no_ack=True))) is not None:
        found.append(delivery)
    return found


def test_all_that_was_open_is_opened_again(user: Recovers) -> None:
    channel = user.channel(confirm=True)
    user.run(channel.declare_exchange("events", "topic"))
    named = user.run(channel.declare_queue(exclusive=True)).queue
    user.run(channel.bind_queue("", "events", "a.#"))
    user.run(channel.declare_queue("gone", durable=True))
    user.run(channel.delete_queue("gone"))
    consumer = channel.consume(named)
    user.run(consumer.start())
    event = user.back()
    ((old, new),) = event.renamed
    assert (old, event.attempts, event.address, event.failed) == (named, 1, URL, ())
    assert consumer.queue == new != old
    assert user.run(channel.publish(b"on", exchange="events", routing_key="a.b")) == Accepted()
    delivery = user.run(consumer.__anext__())
    user.run(delivery.accept())
    assert (delivery.body, channel.is_open, user.connection.is_open) == (b"on", True, True)
    with pytest.raises(EndpointClosed, match="gone"):
        user.run(channel.declare_queue("gone", passive=True))


@pytest.mark.parametrize("size", range(0, 400, 9))
def test_a_publish_in_doubt_is_sent_again(size: int) -> None:
    """The transport is cut after so many octets of the broker, or of the client."""
    user = Recovers()
    channel = user.channel(confirm=True)
    user.run(channel.declare_queue("jobs", durable=True))
    sent = [user.start(channel.publish(b"%d" % number, routing_key="jobs")) for number in range(5)]
    user.send_and_lose(up=size)
    assert user.wait_back().resent == 5
    assert [task.result for task in sent] == [Accepted()] * 5
    found = bodies(user, channel, "jobs")
    assert {each.body for each in found} == {b"0", b"1", b"2", b"3", b"4"}
    assert [each.body for each in found if each.headers == {"x-publish-try": 2}] == [b"0", b"1", b"2", b"3", b"4"]
    assert user.client.kept == 0


def test_a_message_keeps_its_id_and_counts_its_tries(user: Recovers) -> None:
    channel = user.channel(confirm=True)
    user.run(channel.declare_queue("jobs", durable=True))
    sent = user.start(channel.publish(b"x", routing_key="jobs", properties=BasicProperties(message_id="m1")))
    user.cut()
    user.reconnect()
    user.world.run(lambda: user.connection.is_open)
    assert [event.resent for event in user.told() if isinstance(event, Recovered)] == [1]
    user.cut()
    user.wait_back()
    assert sent.result == Accepted()
    (found,) = bodies(user, channel, "jobs")
    assert (found.properties.message_id, found.headers["x-publish-try"]) == ("m1", 3)


def test_a_publish_in_doubt_is_reported_if_the_policy_says_so() -> None:
    user = Recovers(policy=RecoveryPolicy(in_doubt="report"))
    channel = user.channel(confirm=True)
    sent = user.start(channel.publish(b"x", routing_key="jobs"))
    user.cut()
    with pytest.raises(EndpointClosed, match="the cable is cut"):
        _ = sent.result
    assert user.wait_back().in_doubt == (InDoubt(("", "jobs"), b"x"),)
    assert user.client.kept == 0


@pytest.mark.parametrize("version", [AMQP_0_8, AMQP_0_9_1])
def test_messages_without_confirms_are_reported_and_never_sent_again(version: Version) -> None:
    user = Recovers(version, RecoveryPolicy(remembered=2))
    channel = user.channel()
    for body in (b"1", b"2", b"3"):
        user.run(channel.publish(body, routing_key="jobs"))
    event = user.back()
    assert [each.body for each in event.in_doubt] == [b"2", b"3"]
    assert event.resent == 0
    assert user.back().in_doubt == ()


@pytest.mark.parametrize("version", [AMQP_0_8, AMQP_0_9_1])
@pytest.mark.parametrize(("allowed", "kept"), [(0, 0), (1, 0), (2, 1), (5, 2), (6, 3), (100, 4)])
def test_the_octets_of_messages_without_confirms_are_bounded(version: Version, allowed: int, kept: int) -> None:
    """The latest stay, as many as there is room for; after a loss all the room is there again."""
    user = Recovers(version, RecoveryPolicy(in_doubt_octets=allowed))
    channel = user.channel()
    sent = [b"11", b"22", b"33", b"44"]
    for _ in range(2):
        for body in sent:
            user.run(channel.publish(body, routing_key="jobs"))
        assert [each.body for each in user.back().in_doubt] == sent[len(sent) - kept :]


def test_calls_that_wait_go_on_waiting(user: Recovers) -> None:
    channel = user.channel()
    user.run(channel.declare_queue("jobs", durable=True))
    started = [
        user.start(channel.get("jobs")),
        user.start(channel.declare_queue("more", durable=True)),
        user.start(channel.set_prefetch(3)),
        user.start(user.channel_opening(confirm=True)),
    ]
    user.cut()
    late = [user.start(channel.publish(b"x", routing_key="jobs")), user.start(channel.purge_queue("more"))]
    assert not any(task.done for task in [*started, *late])
    user.wait_back()
    assert [type(task.result).__name__ for task in started] == ["NoneType", "QueueDeclareOk", "NoneType", "Channel"]
    assert late[1].result.message_count == 0
    assert user.run(started[3].result.publish(b"y", routing_key="jobs")) == Accepted()
    assert [each.body for each in bodies(user, channel, "jobs")] == [b"x", b"y"]


def test_a_publish_fails_at_once_if_the_policy_says_so() -> None:
    user = Recovers(policy=RecoveryPolicy(publish="fail"))
    channel = user.channel(confirm=True)
    user.cut()
    with pytest.raises(EndpointClosed, match="cable"):
        user.run(channel.publish(b"x", routing_key="jobs"))
    user.wait_back()
    user.run(channel.declare_queue("jobs", durable=True))
    assert user.run(channel.publish(b"x", routing_key="jobs")) == Accepted()


def test_a_delivery_of_an_earlier_connection_is_stale(user: Recovers) -> None:
    channel = user.channel(confirm=True)
    user.run(channel.declare_queue("jobs", durable=True))
    user.run(channel.publish(b"x", routing_key="jobs"))
    consumer = channel.consume("jobs")
    delivery = user.run(consumer.__anext__())
    user.cut()
    with pytest.raises(StaleDelivery, match="will come again"):
        user.run(delivery.accept())
    user.wait_back()
    with pytest.raises(StaleDelivery, match="will come again"):
        user.run(delivery.reject())
    again = user.run(consumer.__anext__())
    assert (again.body, again.redelivered) == (b"x", True)
    user.run(again.accept())
    assert user.run(channel.get("jobs")) is None


def test_a_consumer_whose_queue_others_deleted_ends_and_the_channel_lives(user: Recovers) -> None:
    channel = user.channel()
    admin = ClassicUser(world=user.world)
    theirs = admin.channel()
    admin.run(theirs.declare_queue("theirs", durable=True))
    consumer = channel.consume("theirs")
    user.run(consumer.start())
    user.cut()
    admin.run(theirs.delete_queue("theirs"))
    event = user.wait_back()
    assert [what for what, _ in event.failed] == ["look c1.1"]
    with pytest.raises(EndpointClosed, match=r"c1\.1"):
        user.run(consumer.__anext__())
    assert channel.is_open


def test_a_transaction_does_not_survive_its_connection(user: Recovers) -> None:
    channel = user.channel()
    user.run(channel.declare_queue("jobs", durable=True))

    async def work() -> None:
        async with channel.transaction():
            await channel.publish(b"1", routing_key="jobs")
            await user.client.wait(lost)
            await channel.publish(b"2", routing_key="jobs")

    lost: Pending[None] = user.client.pending()
    task = user.start(work())
    user.turn()
    user.cut()
    user.client.complete(lost)
    user.wait_back()
    with pytest.raises(TransactionFailed, match="rolled it back"):
        _ = task.result
    assert bodies(user, channel, "jobs") == []


def test_a_request_under_way_fails_and_the_next_one_is_answered(user: Recovers) -> None:
    channel = user.channel()
    user.run(channel.declare_queue("rpc", durable=True))
    lost = user.start(channel.request(b"1", routing_key="rpc"))
    user.turn()
    user.cut()
    with pytest.raises(EndpointClosed, match="before the reply came"):
        _ = lost.result
    user.wait_back()
    asked = user.start(channel.request(b"2", routing_key="rpc"))
    user.turn()
    found = bodies(user, channel, "rpc")[-1]
    reply = BasicProperties(correlation_id=found.properties.correlation_id)
    user.run(channel.publish(b"answer", routing_key=found.properties.reply_to, properties=reply))
    user.turn()
    assert asked.result.body == b"answer"


def test_it_gives_up_after_the_deadline_with_the_whole_story() -> None:
    user = Recovers(policy=RecoveryPolicy(addresses=("amqp://two",), deadline=4.0, jitter=0.0))
    user.world.add_broker("two")
    channel = user.channel(confirm=True)
    waits: list[Call[Any]] = [user.start(channel.publish(b"x", routing_key="jobs"))]
    user.refuse()
    user.cut()
    waits += [user.start(channel.declare_queue("q", durable=True)), user.start(user.connection.wait_closed())]
    for _ in range(30):
        user.turn(0.25)
    report = user.connection.report
    assert report is not None
    assert "given up after 6 attempts in 4 s" in str(report)
    assert "amqp://two/%2F after 1.5 s: transport lost: broker 'two' is down" in str(report)
    for task in waits[:2]:
        with pytest.raises(EndpointClosed, match="given up after 6 attempts"):
            _ = task.result
    assert waits[2].result == report
    assert [type(event).__name__ for event in events_to_the_end(user)] == ["Recovering"] * 7


def events_to_the_end(user: Recovers) -> list[Any]:
    found: list[Any] = []
    with pytest.raises(EndpointClosed, match="given up"):
        while True:
            found.append(user.run(user.events.__anext__()))
    return found


def test_a_refused_login_is_not_tried_again() -> None:
    user = Recovers()
    channel = user.channel()
    user.cut()
    user.replace_broker(Settings(seed=b"another", vhosts=("/elsewhere",)))
    waits = user.start(channel.declare_queue("q", durable=True))
    for _ in range(10):
        user.turn(0.25)
    with pytest.raises(EndpointClosed, match="closed by the peer"):
        _ = waits.result
    assert len(user.world.lines) == 2


@pytest.mark.parametrize("seconds", [0.0, 0.5], ids=["waiting", "open again"])
def test_the_user_may_close_a_lost_connection(seconds: float) -> None:
    user = Recovers()
    channel = user.channel()
    user.cut()
    waits = user.start(channel.declare_queue("q", durable=True))
    user.turn(seconds)
    user.run(user.connection.close())
    for _ in range(10):
        user.turn(0.25)
    assert waits.done
    assert not user.connection.is_open
    assert len(user.world.lines) == 1 + bool(seconds)


def test_a_channel_closed_meanwhile_stays_closed(user: Recovers) -> None:
    one, two = user.channel(), user.channel()
    user.cut()
    user.run(one.close())
    user.wait_back()
    assert (one.is_open, two.is_open, user.client.core.channels) == (False, True, (2,))


def test_what_is_kept_for_restoring_is_bounded() -> None:
    user = Recovers(policy=RecoveryPolicy(declared=2, in_doubt_octets=3))
    channel = user.channel(confirm=True)
    user.run(channel.declare_queue("a", durable=True))
    user.run(channel.declare_queue("b", durable=True))
    user.run(channel.declare_queue("c", durable=True))
    assert list(user.client.topology.queues) == ["b", "c"]
    assert [each.text for each in user.client.notes if each.warns and "forgotten" in each.text] != []
    user.hold()
    tasks = [user.start(channel.publish(b"xx", routing_key="a")) for _ in range(4)]
    assert len(user.client.core.channel(1).unconfirmed) == 2
    user.release()
    assert [task.result for task in tasks] == [Accepted()] * 4


@pytest.mark.parametrize("seconds", [0.0, 0.5, 2.0])
def test_a_client_pickles_at_any_time(seconds: float) -> None:
    user = Recovers()
    channel = user.channel(confirm=True)
    user.run(channel.declare_queue("jobs", durable=True))
    user.run(channel.publish(b"x", routing_key="jobs", wait=False))
    user.cut()
    user.turn(seconds)
    again = pickle.loads(pickle.dumps(user.client))
    assert again.recovery.state is user.client.recovery.state
    assert list(again.topology.queues) == ["jobs"]


def test_a_channel_that_is_being_closed_when_the_connection_is_lost_is_closed() -> None:
    user = Recovers()
    channel = user.channel()
    closing = user.start(channel.close())
    user.send_and_lose()
    user.turn(1.0)
    assert closing.done
    assert not channel.is_open
    assert user.connection.is_open


def test_a_message_that_was_fetched_before_a_loss_is_bound_to_where_it_came_from(user: Recovers) -> None:
    """Its caller goes on only when the connection is back, where another message has its tag."""
    channel = user.channel(confirm=True)
    user.run(channel.declare_queue("jobs", durable=True))
    for body in (b"1", b"2"):
        user.run(channel.publish(body, routing_key="jobs"))
    fetched: Call[Any] = user.start(channel.get("jobs"), last=1)
    pickle.loads(pickle.dumps(user.client))
    user.turn()
    assert not fetched.done
    user.back()
    other: Any = user.run(channel.get("jobs"))
    fetched.go_on()
    user.turn()
    assert (fetched.result.delivery_tag, other.delivery_tag) == (1, 1)
    with pytest.raises(StaleDelivery):
        user.run(fetched.result.accept())
    user.run(other.accept())


def test_what_a_consumer_holds_is_bound_to_where_it_came_from(user: Recovers) -> None:
    """A thread that reads `held` without the lock finds nothing of the next connection in it."""
    channel = user.channel(confirm=True)
    user.run(channel.declare_queue("jobs", durable=True))
    user.run(channel.publish(b"1", routing_key="jobs"))
    consumer = channel.consume("jobs")
    user.run(consumer.start())
    user.turn()
    inbox = inbox_of(consumer)
    core, items = inbox.held
    assert len(items) == 1
    user.back()
    user.turn()
    assert (list(items), len(inbox.items), inbox.held) == ([], 1, (channel.core, inbox.items))
    assert core is not channel.core


def test_what_the_server_ends_by_itself_does_not_come_back(user: Recovers) -> None:
    channel = user.channel()
    user.run(channel.declare_queue("kept", durable=True))
    temporary, consumer = "", channel.consume("kept")
    for number in range(3):
        user.run(channel.declare_exchange("fleeting", "fanout", auto_delete=True))
        temporary = user.run(channel.declare_queue(auto_delete=True, durable=True)).queue
        user.run(channel.bind_queue(temporary, "fleeting", str(number)))
        consumer = channel.consume(temporary)
        user.run(consumer.start())
        if number == 0:
            user.run(consumer.cancel())
        elif number == 1:
            user.run(consumer.close())
    other = user.channel()
    second = other.consume(temporary)
    user.run(second.start())
    topology = user.client.topology
    assert sorted(topology.queues) == sorted(["kept", temporary])
    user.run(consumer.cancel())
    assert len(topology.bindings) == 1
    user.run(other.close())
    assert (list(topology.queues), topology.bindings, topology.exchanges) == (["kept"], {}, {})
    event = user.back()
    assert (event.renamed, event.failed) == ((), ())
    with pytest.raises(EndpointClosed, match="404"):
        user.run(channel.declare_queue(temporary, passive=True))


def test_a_queue_that_others_delete_leaves_the_book(user: Recovers) -> None:
    channel = user.channel()
    user.run(channel.declare_queue("jobs", durable=True))
    consumer = channel.consume("jobs")
    user.run(consumer.start())
    admin = ClassicUser(world=user.world)
    admin.run(admin.channel().delete_queue("jobs"))
    with pytest.raises(EndpointClosed):
        user.run(consumer.__anext__())
    assert user.client.topology.queues == {}


def test_ten_thousand_temporary_queues_are_declared_with_a_book_of_fifty(user: Recovers) -> None:
    user = Recovers(policy=RecoveryPolicy(declared=50))
    channel = user.channel()
    user.run(channel.declare_queue("kept", durable=True))
    for _ in range(200):
        user.run(channel.declare_queue(arguments={"x-expires": 100}, durable=True))
    topology = user.client.topology
    assert len(topology.queues) == 50
    assert "kept" in topology.queues


def taken_by_another(user: ClassicUser, queue: str) -> ClassicUser:
    """Another client that has the queue for itself, since the connection was lost."""
    other = ClassicUser(world=user.world)
    other.run(other.channel().declare_queue(queue, exclusive=True))
    return other


def test_a_queue_that_another_has_taken_stops_nothing_else(user: Recovers) -> None:
    channel = user.channel(confirm=True)
    user.run(channel.declare_queue("mine", exclusive=True))
    user.run(channel.bind_queue("mine", "amq.fanout"))
    user.run(channel.declare_queue("jobs", durable=True))
    mine, jobs = channel.consume("mine"), channel.consume("jobs")
    user.run(mine.start())
    user.run(jobs.start())
    user.cut()
    taken_by_another(user, "mine")
    event = user.wait_back()
    ((what, why),) = event.failed
    assert what == "queue mine"
    assert "405" in why
    assert "tried again" in why
    assert user.run(channel.publish(b"x", routing_key="jobs")) == Accepted()
    assert user.run(jobs.__anext__()).body == b"x"
    for _ in range(700):
        user.turn(1.0)
    with pytest.raises(EndpointClosed):
        user.run(mine.__anext__())
    assert channel.is_open
    assert list(user.client.topology.queues) == ["jobs"]
    assert user.client.restoring is None
    assert any("queue mine isn't restored" in each.text for each in user.client.notes)


@pytest.mark.parametrize("seconds", [2.0, 60.0])
def test_a_queue_that_is_free_again_is_restored_late(seconds: float) -> None:
    user = Recovers()
    channel = user.channel(confirm=True)
    user.run(channel.declare_queue("mine", exclusive=True))
    user.run(channel.bind_queue("mine", "amq.fanout"))
    consumer = channel.consume("mine")
    user.run(consumer.start())
    user.cut()
    other = taken_by_another(user, "mine")
    for _ in range(int(seconds)):
        user.turn(1.0)
    other.run(other.connection.close())
    for _ in range(100):
        user.turn(1.0)
    user.run(channel.publish(b"x", exchange="amq.fanout"))
    assert user.run(consumer.__anext__()).body == b"x"
    assert user.client.restoring is None


@pytest.mark.parametrize("seconds", [2.0, 60.0])
def test_an_exclusive_consumer_waits_for_the_end_of_the_one_before(seconds: float) -> None:
    user = Recovers()
    channel = user.channel(confirm=True)
    user.run(channel.declare_queue("jobs", durable=True))
    user.run(channel.declare_queue("other", durable=True))
    consumer, beside = channel.consume("jobs", exclusive=True), channel.consume("other")
    user.run(consumer.start())
    user.run(beside.start())
    user.cut()
    old = ClassicUser(world=user.world)
    theirs = old.channel().consume("jobs", exclusive=True)
    old.run(theirs.start())
    for _ in range(int(seconds)):
        user.turn(1.0)
    old.run(old.connection.close())
    for _ in range(100):
        user.turn(1.0)
    for queue, each in (("other", beside), ("jobs", consumer)):
        user.run(channel.publish(b"x", routing_key=queue))
        delivery = user.run(each.__anext__())
        user.run(delivery.accept())
    assert channel.is_open


def test_a_connection_may_be_closed_while_something_is_still_held(user: Recovers) -> None:
    channel = user.channel(confirm=True)
    user.run(channel.declare_queue("mine", exclusive=True))
    user.cut()
    taken_by_another(user, "mine")
    user.wait_back()
    user.run(user.connection.close())
    assert user.client.restoring is None
    for _ in range(100):
        user.turn(1.0)


@pytest.mark.parametrize("steps", range(16))
def test_a_consumer_that_is_lost_while_it_starts_can_settle(steps: int) -> None:
    user = Recovers()
    channel = user.channel(confirm=True)
    user.run(channel.declare_queue("jobs", durable=True))
    user.run(channel.publish(b"x", routing_key="jobs"))
    unused = channel.consume("jobs")
    starting = user.start(channel.consume("jobs").__anext__())
    pickle.loads(pickle.dumps(user.client))
    for _ in range(steps):
        user.world.step()
    user.back()
    user.turn()
    delivery = starting.result
    try:
        user.run(delivery.accept())
    except StaleDelivery:
        user.run(unused.__anext__())
        return
    user.run(channel.publish(b"y", routing_key="jobs"))
    found = user.run(unused.__anext__())
    user.run(found.accept())
    assert found.body == b"y"
