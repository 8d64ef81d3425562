"""Messages through the broker by 0-8 and 0-9-1: publishing, consuming, fetching, settling."""

from typing import Any

import pytest

from amqp_sansio import Settled
from amqp_sansio.amqp_0_9_1 import BasicProperties, Returned
from amqp_sansio.broker import BrokerLimits
from amqp_sansio.broker.contents.classic import ClassicContent
from amqp_sansio.broker.model import commands
from amqp_sansio.broker.snapshot import dumps, loads
from tests.kit.hub_classic import Talk, World
from tests.kit.octets_classic import frames_of

RABBIT = pytest.mark.parametrize("dialect", ["0-9-1-rabbit", "0-8-rabbit"])
SPEC = pytest.mark.parametrize("dialect", ["0-9-1", "0-8"])
ALL = pytest.mark.parametrize("dialect", ["0-9-1-rabbit", "0-9-1", "0-9-1-qpid", "0-8-rabbit", "0-8", "0-8-qpid"])
BOTH = pytest.mark.parametrize("dialect", ["0-9-1", "0-8"])


@pytest.fixture
def channel(channel: Talk) -> Talk:
    """It has declared the queue "q"."""
    channel.declare("q")
    return channel


def queue(world: World, name: str = "q", **fields: Any) -> Talk:
    """A channel that has declared a queue."""
    channel = world.channel()
    channel.declare(name, **fields)
    return channel


@ALL
@pytest.mark.rule("0-9-1/content/body-untouched", "0-9-1/content/header-add-only")
@pytest.mark.rule("0-8/content/body-untouched", "0-8/content/header-add-only")
@pytest.mark.parametrize("size", [0, 1, 128, 9000, 131_064, 400_000])
def test_a_message_goes_through_octet_by_octet(channel: Talk, dialect: str, size: int) -> None:
    properties = BasicProperties(
        content_type="text/plain",
        headers={"a": "b", "n": 1},
        delivery_mode=2,
        priority=3,
        correlation_id="c",
        message_id="m",
        timestamp=1,
        type="t",
        app_id="a",
    )
    body = bytes(range(256)) * (size // 256) + bytes(size % 256)
    tag = channel.consume("q")
    channel.publish(body, "q", properties=properties)
    (delivery,) = channel.deliveries()
    assert (delivery.consumer_tag, delivery.delivery_tag, delivery.redelivered) == (tag, 1, False)
    assert (delivery.exchange, delivery.routing_key, delivery.body) == ("", "q", body)
    assert delivery.raw_properties == properties.encode(channel.core.connection.dialect.tables)


@ALL
@pytest.mark.rule("0-9-1/content/path-order", "0-9-1/basic/ack-mode", "0-9-1/basic/no-ack-mode", "0-8/basic/ack-modes")
@pytest.mark.parametrize("no_ack", [True, False])
def test_messages_come_in_their_order(world: World, channel: Talk, no_ack: bool) -> None:
    for number in range(20):
        channel.publish(b"%d" % number, "q")
    channel.consume("q", no_ack=no_ack)
    for number in range(20, 30):
        channel.publish(b"%d" % number, "q")
    deliveries = channel.deliveries()
    assert [each.body for each in deliveries] == [b"%d" % number for number in range(30)]
    assert [each.delivery_tag for each in deliveries] == list(range(1, 31))
    held = world.hub.model.vhosts["/"].queues["q"].unsettled
    assert held == (0 if no_ack else 30)
    if not no_ack:
        channel.accept(10, multiple=True)
        channel.accept(12)
        channel.accept(0, multiple=True)
        assert world.hub.model.vhosts["/"].queues["q"].messages == 0


@ALL
@pytest.mark.rule("0-9-1/basic.get-ok/must-ack", "0-8/basic.get-ok/must-ack")
def test_messages_are_fetched(channel: Talk) -> None:
    assert channel.get("q") is None
    for body in (b"1", b"2", b"3"):
        channel.publish(body, "q", properties={"message_id": "m"})
    got = channel.get("q")
    assert (got.body, got.properties.message_id) == (b"1", "m")
    assert (got.method.delivery_tag, got.method.message_count, got.method.redelivered) == (1, 2, False)
    assert channel.get(no_ack=True).body == b"2"
    channel.release(got.method.delivery_tag)
    again = channel.get()
    assert (again.body, again.method.redelivered) == (b"1", True)
    channel.close()
    other = channel.user.channel()
    assert [other.get("q").body, other.get("q").body] == [b"1", b"3"]


@ALL
def test_nothing_is_fetched_beside_an_exclusive_consumer(world: World, channel: Talk) -> None:
    world.channel().consume("q", exclusive=True)
    channel.call("basic.get", queue="q")
    assert channel.error[:2] == ("channel", 403)


@ALL
@pytest.mark.rule("0-9-1/channel/closed-requeue", "0-9-1/domain/redelivered.signal", "0-8/domain/redelivered.signal")
@pytest.mark.parametrize("how", ["channel", "connection", "transport", "error"])
def test_what_was_not_acknowledged_goes_back(world: World, how: str) -> None:
    channel, other = queue(world), world.channel()
    channel.consume("q")
    for body in (b"1", b"2", b"3"):
        channel.publish(body, "q")
    channel.accept(2)
    if how == "channel":
        channel.close()
    elif how == "connection":
        channel.user.end.close()
    elif how == "transport":
        channel.user.cut()
    else:
        channel.call("queue.declare", queue="absent", passive=True)
    world.pump()
    other.consume("q")
    found = [(each.body, each.redelivered) for each in other.deliveries()]
    assert found == [(b"1", True), (b"3", True)]


@RABBIT
@pytest.mark.rule("0-9-1/basic.reject/requeue", "0-9-1/basic.deliver/poison", "0-8/basic.deliver/poison")
def test_refused_messages_are_gone_or_dead(world: World) -> None:
    channel = queue(
        world,
        durable=True,
        arguments={
            "x-dead-letter-exchange": "",
            "x-dead-letter-routing-key": "dead",
            "x-queue-type": "quorum",
            "x-delivery-limit": 2,
        },
    )
    channel.declare("dead")
    channel.consume("q")
    channel.publish(b"poison", "q")
    tags: list[int] = []
    for _ in range(3):
        (delivery,) = channel.deliveries()
        tags.append(delivery.delivery_tag)
        channel.release(delivery.delivery_tag)
    assert channel.deliveries() == []
    assert channel.count("dead") == 1
    channel.publish(b"refused", "q")
    channel.reject(channel.deliveries()[0].delivery_tag)
    assert channel.count("dead") == 2


@SPEC
@pytest.mark.rule(
    "0-9-1/basic.reject/not-same-client", "0-8/basic.reject/not-same-client", "0-9-1/basic.reject/means-unable"
)
@pytest.mark.rule("0-8/basic.reject/means-unable")
def test_the_specifications_give_what_was_rejected_to_somebody_else(world: World, channel: Talk) -> None:
    channel.consume("q", "same")
    channel.publish(b"x", "q")
    channel.release(channel.deliveries()[0].delivery_tag)
    assert channel.deliveries() == []
    other = world.channel()
    other.consume("q", "same")
    assert [each.body for each in other.deliveries()] == [b"x"]


def test_nack_settles_several(world: World, channel: Talk) -> None:
    channel.consume("q")
    for number in range(4):
        channel.publish(b"%d" % number, "q")
    channel.deliveries()
    channel.send("basic.nack", delivery_tag=2, multiple=True, requeue=True)
    assert [(each.body, each.redelivered) for each in channel.deliveries()] == [(b"0", True), (b"1", True)]
    channel.send("basic.nack", delivery_tag=4, requeue=False)
    channel.send("basic.nack", delivery_tag=0, multiple=True, requeue=False)
    assert world.hub.model.vhosts["/"].queues["q"].messages == 0


@pytest.mark.rule("0-9-1/rabbitmq/basic.nack.means-unable")
@pytest.mark.rule("0-9-1/rabbitmq/basic.nack.exists", "0-9-1/basic.ack/unknown-tag")
@pytest.mark.rule("0-9-1/rabbitmq/reject-unknown-tag")
@pytest.mark.parametrize("name", ["basic.ack", "basic.nack", "basic.reject"])
def test_an_unknown_tag_ends_the_channel(channel: Talk, name: str) -> None:
    # The client's engine refuses that; its books are made to allow it.
    channel.core.unsettled[7] = None
    channel.core.last_tag = 7
    channel.send(name, delivery_tag=7)
    assert channel.error[:2] == ("channel", 406)


# Recovering.


@ALL
@pytest.mark.rule("0-9-1/basic.recover/redelivered", "0-8/basic.recover/redelivered")
@pytest.mark.rule("0-9-1/basic.recover/requeue", "0-8/basic.recover/no-reply", "0-9-1/channel/content-sync")
@pytest.mark.parametrize("requeue", [True, False])
def test_recovering_delivers_again(world: World, channel: Talk, dialect: str, requeue: bool) -> None:
    channel.consume("q", "mine")
    for body in (b"1", b"2"):
        channel.publish(body, "q")
    channel.deliveries()
    other = world.channel()
    other.consume("q", "other")
    name = "basic.recover"
    if channel.user.end.dialect.replies[channel.make(name).ID]:
        assert channel.call(name, requeue=requeue) is not None
    else:
        channel.send(name, requeue=requeue)
    mine, others = channel.deliveries(), other.deliveries()
    assert all(each.redelivered for each in (*mine, *others))
    if requeue:
        assert sorted(each.body for each in (*mine, *others)) == [b"1", b"2"]
    else:
        assert ([each.body for each in mine], others) == ([b"1", b"2"], [])
        assert [each.delivery_tag for each in mine] == [3, 4]
        channel.accept(4, multiple=True)
        assert world.hub.model.vhosts["/"].queues["q"].messages == 0


@pytest.mark.rule("0-9-1/basic.recover-async/redelivered")
def test_recovering_without_an_answer(channel: Talk) -> None:
    channel.consume("q")
    channel.publish(b"1", "q")
    channel.deliveries()
    channel.send("basic.recover-async", requeue=True)
    assert [(each.body, each.redelivered) for each in channel.deliveries()] == [(b"1", True)]


def test_recover_sync_of_rabbits_0_8() -> None:
    channel = queue(World("0-8-rabbit"))
    channel.consume("q")
    channel.publish(b"1", "q")
    channel.deliveries()
    assert channel.call("basic.recover-sync", requeue=True).NAME == "basic.recover-sync-ok"
    assert [each.body for each in channel.deliveries()] == [b"1"]


def test_what_was_fetched_or_cancelled_goes_back_to_the_queue(channel: Talk) -> None:
    channel.publish(b"got", "q")
    channel.get("q")
    tag = channel.consume("q")
    channel.publish(b"cancelled", "q")
    channel.call("basic.cancel", consumer_tag=tag)
    channel.deliveries()
    channel.call("basic.recover", requeue=False)
    assert channel.count("q") == 2


# Prefetch.


@pytest.mark.rule("0-9-1/rabbitmq/basic.qos.global")
def test_rabbits_prefetch_is_each_consumers_or_the_channels() -> None:
    channel = World(rabbitmq="4.2").channel()
    channel.declare("q")
    for number in range(20):
        channel.publish(b"%d" % number, "q")
    channel.call("basic.qos", prefetch_count=2)
    channel.consume("q", "a")
    channel.call("basic.qos", prefetch_count=3)
    channel.consume("q", "b")
    tags = [each.consumer_tag for each in channel.deliveries()]
    assert (tags.count("a"), tags.count("b")) == (2, 3)
    channel.call("basic.qos", prefetch_count=6, global_=True)
    channel.consume("q", "c")
    assert [each.consumer_tag for each in channel.deliveries()] == ["c"]
    channel.accept(1)
    assert len(channel.deliveries()) == 1
    channel.call("basic.qos", prefetch_count=0, global_=True)
    assert len(channel.deliveries()) == 2
    # Without acknowledgement nothing holds it up.
    channel.consume("q", "free", no_ack=True)
    assert len(channel.deliveries()) == 20 - 9


@SPEC
@pytest.mark.rule("0-9-1/basic.qos/global", "0-9-1/basic.qos/window-ceiling", "0-8/basic.qos/window-ceiling")
@pytest.mark.rule("0-9-1/basic.qos/no-ack-ignores", "0-8/basic.qos/no-ack-ignores")
def test_the_specifications_prefetch_is_the_channels_or_the_connections(world: World) -> None:
    user = world.client()
    first, second = user.channel(), user.channel()
    first.declare("q")
    for number in range(20):
        first.publish(b"%d" % number, "q")
    first.consume("q", "a")
    assert len(first.deliveries()) == 20
    first.close()
    first = user.channel()
    first.call("basic.qos", prefetch_count=2)
    first.consume("q", "a")
    first.consume("q", "b")
    assert len(first.deliveries()) == 2
    first.call("basic.qos", prefetch_count=3, global_=True)
    second.consume("q", "c")
    assert len(second.deliveries()) == 1
    first.consume("q", "free", no_ack=True)
    assert len(first.deliveries()) == 17


@BOTH
@pytest.mark.rule("0-9-1/basic.qos/size-idle", "0-8/basic.qos/size-idle")
def test_prefetch_may_count_octets(channel: Talk) -> None:
    channel.call("basic.qos", prefetch_size=100)
    channel.consume("q")
    for body in (b"x" * 60, b"y" * 41, b"z" * 200):
        channel.publish(body, "q")
    assert channel.bodies() == [b"x" * 60]
    channel.accept(1)
    assert channel.bodies() == [b"y" * 41]
    channel.accept(2)
    # What is bigger than the window comes when nothing else is out.
    assert channel.bodies() == [b"z" * 200]


# Publishing.


@ALL
@pytest.mark.rule("0-9-1/basic.publish/mandatory", "0-8/basic.publish/mandatory", "0-9-1/basic.return/reason")
@pytest.mark.rule("0-9-1/rabbitmq/return-312", "0-9-1/basic.publish/default-exchange")
@pytest.mark.rule("0-8/basic.publish/blank-default")
def test_what_has_no_queue_comes_back(channel: Talk) -> None:
    channel.publish(b"lost", "absent")
    channel.publish(b"back", "absent", mandatory=True, properties={"message_id": "m"})
    channel.publish(b"kept", "q", mandatory=True)
    (returned,) = channel.returned()
    assert (returned.reply_code, returned.reply_text) == (312, "NO_ROUTE")
    assert (returned.exchange, returned.routing_key, returned.body) == ("", "absent", b"back")
    assert returned.properties.message_id == "m"
    assert channel.count("q") == 1


@pytest.mark.parametrize("dialect", ["0-9-1", "0-9-1-qpid", "0-8", "0-8-qpid"])
@pytest.mark.rule("0-9-1/basic.publish/immediate", "0-8/basic.publish/immediate")
def test_what_nobody_waits_for_comes_back(channel: Talk) -> None:
    channel.publish(b"early", "q", immediate=True)
    (returned,) = channel.returned()
    assert (returned.reply_code, returned.reply_text, returned.body) == (313, "NO_CONSUMERS", b"early")
    assert channel.count("q") == 0
    channel.consume("q")
    channel.publish(b"now", "q", immediate=True)
    assert (channel.bodies(), channel.returned()) == ([b"now"], [])
    channel.call("tx.select")
    channel.publish(b"nowhere", "absent", immediate=True)
    channel.publish(b"then", "q", immediate=True)
    channel.call("tx.commit")
    assert [(each.reply_code, each.body) for each in channel.returned()] == [(313, b"nowhere")]
    assert channel.bodies() == [b"then"]


@pytest.mark.rule("0-9-1/rabbitmq/confirm.all-messages", "0-9-1/rabbitmq/confirm.all-queues")
@pytest.mark.rule("0-9-1/rabbitmq/confirm.return-first", "0-9-1/rabbitmq/basic.ack.server")
def test_publishes_are_confirmed() -> None:
    channel = queue(World(), "q", arguments={"x-max-length": 1, "x-overflow": "reject-publish"})
    channel.declare("both")
    channel.call("queue.bind", queue="q", exchange="amq.fanout")
    channel.call("queue.bind", queue="both", exchange="amq.fanout")
    channel.call("confirm.select")
    handles = [
        channel.publish(b"1", "q"),
        channel.publish(b"2", "absent", mandatory=True),
        channel.publish(b"3", "absent"),
        channel.publish(b"4", exchange="amq.fanout"),
    ]
    outcomes = [type(each.result).__name__ for each in handles]
    assert outcomes == ["Accepted", "Returned", "Accepted", "Rejected"]
    assert handles[1].result == Returned(312, "NO_ROUTE")
    assert len(channel.user.take(Settled)) == 4
    assert channel.core.unconfirmed == {}


def test_a_confirm_is_not_lost_when_the_channel_closes_at_once(channel: Talk) -> None:
    channel.call("confirm.select")
    channel.core.publish(b"x", routing_key="q")
    channel.core.close()
    end = channel.user.client
    end.receive_data(channel.user.end.data_to_send(0.0), 0.0)
    end.next_event()
    assert [each.name for each in frames_of(channel.user.end.dialect, end.data_to_send(0.0))] == [
        "basic.ack",
        "channel.close-ok",
    ]


@ALL
def test_no_local_and_exclusive(world: World) -> None:
    channel, other = queue(world), world.channel()
    channel.consume("q", "own", no_local=True)
    channel.publish(b"mine", "q")
    other.publish(b"theirs", "q")
    assert channel.bodies() == [b"theirs"]


@pytest.mark.rule("0-9-1/basic/priority-2", "0-9-1/basic/priority-order", "0-9-1/content/low-priority-first")
@pytest.mark.rule("0-8/basic/priority-2", "0-8/basic/priority-order")
@ALL
def test_higher_priorities_overtake(channel: Talk) -> None:
    for number, priority in enumerate((0, 4, 9, 5, 4, 9)):
        mode = 1 + number % 2
        channel.publish(b"%d" % number, "q", properties={"priority": priority, "delivery_mode": mode})
    channel.consume("q")
    assert channel.bodies() == [b"2", b"3", b"5", b"0", b"1", b"4"]


@pytest.mark.rule("0-9-1/basic/priority-10")
def test_ten_levels_of_priority() -> None:
    channel = queue(World(), arguments={"x-max-priority": 9})
    for priority in (3, 9, 0, 7):
        channel.publish(b"%d" % priority, "q", properties={"priority": priority})
    channel.consume("q")
    assert channel.bodies() == [b"9", b"7", b"3", b"0"]


def test_consumers_have_priorities(channel: Talk) -> None:
    channel.consume("q", "low")
    channel.consume("q", "high", arguments={"x-priority": 5})
    channel.publish(b"x", "q")
    assert [each.consumer_tag for each in channel.deliveries()] == ["high"]
    channel.call("basic.consume", queue="q", arguments={"x-priority": "much"})
    assert channel.error[:2] == ("channel", 406)


# Transactions.


@ALL
@pytest.mark.rule("0-9-1/tx/scope", "0-9-1/tx.commit/new-tx", "0-9-1/tx.rollback/no-redelivery")
@pytest.mark.rule("0-8/tx.commit/new-tx", "0-8/tx.rollback/scope", "0-8/tx/grammar")
def test_transactions(world: World, channel: Talk) -> None:
    channel.publish(b"0", "q")
    channel.consume("q")
    assert channel.call("tx.select") is not None
    assert channel.call("tx.select") is not None
    channel.accept(1)
    channel.publish(b"1", "other")
    channel.declare("other")
    model = world.hub.model.vhosts["/"]
    assert (model.queues["q"].unsettled, model.queues["other"].ready) == (1, 0)
    assert channel.call("tx.rollback") is not None
    assert channel.bodies() == [b"0"]
    # It may be acknowledged in the next one.
    channel.accept(1)
    channel.publish(b"2", "other")
    assert channel.call("tx.commit") is not None
    assert (model.queues["q"].messages, channel.get("other").body) == (0, b"2")
    channel.publish(b"3", "absent", mandatory=True)
    channel.publish(b"lost", "absent")
    channel.publish(b"kept", "other", mandatory=True)
    assert channel.returned() == []
    channel.call("tx.commit")
    assert [(each.reply_code, each.body) for each in channel.returned()] == [(312, b"3")]
    channel.publish(b"4", "other")
    channel.close()
    assert channel.user.channel().count("other") == 2


@pytest.mark.rule("0-9-1/basic.ack/multiple", "0-8/basic.ack/multiple-zero")
@ALL
def test_acknowledging_all_in_a_transaction(world: World, channel: Talk) -> None:
    channel.consume("q")
    channel.call("tx.select")
    for number in range(4):
        channel.publish(b"%d" % number, "q")
    channel.call("tx.commit")
    channel.accept(2, multiple=True)
    channel.call("tx.rollback")
    channel.accept(3)
    channel.call("tx.rollback")
    channel.accept(0, multiple=True)
    channel.call("tx.commit")
    assert world.hub.model.vhosts["/"].queues["q"].messages == 0


# Bounds and snapshots.


def test_who_does_not_read_holds_up_only_himself() -> None:
    world = World(limits=BrokerLimits(backlog_high=10_000, backlog_low=1000))
    slow, fast = queue(world), world.channel()
    fast.declare("f")
    fast.consume("f")
    slow.consume("q", no_ack=True)
    slow.user.reads = False
    for number in range(200):
        fast.publish(b"x" * 500, "q")
        fast.publish(b"%d" % number, "f")
    assert len(fast.deliveries()) == 200
    assert slow.user.client.send_backlog < 30_000
    assert world.hub.model.vhosts["/"].queues["q"].ready > 150
    slow.user.reads = True
    world.pump()
    assert len(slow.deliveries()) == 200


def test_a_hub_with_clients_pickles(world: World, channel: Talk) -> None:
    channel.call("basic.qos", prefetch_count=1)
    channel.consume("q")
    channel.publish(b"1", "q")
    channel.publish(b"2", "q")
    channel.deliveries()
    copy: World = loads(dumps(world))
    user = copy.users[0]
    again = Talk(user, 1)
    again.accept(1)
    assert again.bodies() == [b"2"]
    assert channel.bodies() == []
    channel.accept(1)
    assert channel.bodies() == [b"2"]


def test_what_went_with_its_queue_may_still_be_acknowledged(channel: Talk) -> None:
    channel.consume("q")
    for body in (b"1", b"2", b"3"):
        channel.publish(body, "q")
    channel.call("queue.delete", queue="q")
    channel.accept(1)
    channel.accept(2, multiple=True)
    channel.release(3)
    channel.declare("q")
    assert channel.count("q") == 0


@RABBIT
@pytest.mark.rule("0-8/basic/overflow", "0-9-1/basic/overflow-discard", "0-8/stream/discard")
def test_what_is_too_much_goes_the_lowest_priority_first(dialect: str) -> None:
    dead = {"x-dead-letter-exchange": "", "x-dead-letter-routing-key": "dead"}
    channel = queue(World(dialect), arguments={"x-max-length": 2, **dead})
    channel.declare("dead")
    for number, priority in enumerate((0, 9, 0, 9)):
        channel.publish(b"%d" % number, "q", properties={"priority": priority})
    assert [channel.get("q").body, channel.get("q").body] == [b"1", b"3"]
    assert [channel.get("dead").body, channel.get("dead").body] == [b"0", b"2"]


def test_a_message_that_this_version_can_not_say_is_dead(world: World) -> None:
    """What came by another version may have names that are too long here; who consumes it isn't harmed."""
    channel = queue(world, arguments={"x-dead-letter-exchange": "", "x-dead-letter-routing-key": "dead"})
    channel.declare("dead")
    channel.call("queue.bind", queue="q", exchange="amq.fanout")
    dialect = channel.user.end.dialect
    model = world.hub.model
    publisher = model.apply(commands.OpenOwner("/"), 0.0)
    content = ClassicContent(dialect.version, b"\0\0", dialect.tables, b"x")

    def publish() -> None:
        model.apply(commands.Publish(publisher, "amq.fanout", "k" * 300, content), 0.0)
        world.hub.settle()
        world.pump()

    channel.consume("q")
    publish()
    assert (channel.bodies(), channel.count("q"), channel.count("dead")) == ([], 0, 1)
    channel.call("basic.cancel", consumer_tag="amq.ctag-2.1")
    publish()
    channel.call("basic.get", queue="q")
    assert channel.error[:2] == ("channel", 406)
    assert model.vhosts["/"].queues["dead"].ready == 2


@pytest.mark.parametrize("dialect", ["0-9-1"])
@pytest.mark.parametrize("no_acks", [(True, False), (False, True)])
def test_consumers_take_turns_when_a_channel_takes_content_again(channel: Talk, no_acks: tuple[bool, bool]) -> None:
    """Whether they acknowledge or not: nobody gets all that has come while the flow was stopped."""
    tags = [channel.consume("q", no_ack=each) for each in no_acks]
    channel.call("channel.flow", active=False)
    for body in (b"1", b"2", b"3", b"4"):
        channel.publish(body, "q")
    assert channel.deliveries() == []
    channel.call("channel.flow", active=True)
    assert sorted(each.consumer_tag for each in channel.deliveries()) == sorted(tags * 2)


# Messages that can't be sent to their consumer.


@pytest.mark.parametrize("no_ack", [False, True])
@BOTH
def test_a_message_above_the_consumers_frames_is_told_and_not_sent(dialect: str, no_ack: bool) -> None:
    """Its header is one frame, which the client's frame-max doesn't allow."""
    world = World(f"{dialect}-rabbit", history=100)
    channel = world.channel()
    small = world.client(frame_max=4096).channel()
    channel.declare("q")
    tag = small.consume("q", no_ack=no_ack)
    for body in (b"big", b"small", b"big"):
        channel.publish(body, "q", properties={"headers": {"h": "v" * 5000 if body == b"big" else ""}})
    assert small.bodies() == [b"small"]
    (warning,) = world.hub.take_warnings()
    assert warning.startswith(f"a message of queue 'q' can't be sent to consumer {tag!r} of user 'guest' and ")
    assert ("is lost" in warning) is no_ack
    assert "4096" in warning
    assert world.hub.take_warnings() == ()
    history = world.hub.model.history
    assert history is not None
    told = [(each.kind, each.consumer) for each in history.records if each.kind in ("dropped", "withheld")]
    assert told == [("dropped" if no_ack else "withheld", tag)] * 2
    # Who takes larger frames gets it.
    channel.consume("q", no_ack=True)
    assert channel.bodies() == ([] if no_ack else [b"big", b"big"])
    # A pickled broker remembers whom it told of.
    again = loads(dumps(world.hub))
    assert again.take_warnings() == ()
