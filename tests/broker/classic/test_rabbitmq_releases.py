"""The broker as a RabbitMQ of a release: what it refuses with which code and text, and what it does to messages."""

from __future__ import annotations

from typing import Any

import pytest

from amqp_sansio import Closed
from amqp_sansio._classic.codec.dialect import get_dialect
from amqp_sansio.amqp_0_9_1 import BasicProperties
from amqp_sansio.broker import Hub, Settings
from amqp_sansio.broker.frontends.classic.timeouts import Timeouts
from amqp_sansio.broker.rabbitmq import RELEASES
from amqp_sansio.broker.settings import DialectName
from tests.kit.hub_classic import Talk, World

QUORUM = {"x-queue-type": "quorum"}
EVERY_RELEASE = pytest.mark.parametrize("release", RELEASES)
BEFORE_4_3 = pytest.mark.parametrize("release", [name for name in RELEASES if name != "4.3"])


def channel_of(release: str, **settings: Any) -> Talk:
    return World(rabbitmq=release, **settings).channel()


def headers_of(channel: Talk, queue: str) -> dict[str, Any]:
    found = channel.get(queue, no_ack=True)
    return dict(found.properties.headers or {})


def test_a_release_that_nobody_knows_is_refused() -> None:
    with pytest.raises(ValueError, match=r"Settings.rabbitmq: '2.0' is none of 3.13, 4.0, 4.1, 4.2, 4.3"):
        Settings(rabbitmq="2.0")
    with pytest.raises(ValueError, match=r"Settings.consumer_timeout: 0 isn't above 0"):
        Settings(consumer_timeout=0)


def test_a_broker_is_the_newest_release() -> None:
    newest = max(RELEASES, key=lambda name: tuple(int(part) for part in name.split(".")))
    assert Settings().rabbitmq == newest
    by_default, named = (World(**settings).channel() for settings in ({}, {"rabbitmq": newest}))
    for channel in (by_default, named):
        channel.call("queue.declare", queue="jobs")
    assert by_default.error == named.error


# Queues.


def test_transient_queues_for_several_connections_are_refused_from_4_3_on() -> None:
    channel = channel_of("4.3")
    channel.call("queue.declare", queue="jobs")
    scope, code, text = channel.error
    assert (scope, code) == ("connection", 541)
    assert text.startswith(
        "INTERNAL_ERROR - Feature `transient_nonexcl_queues` is deprecated.\n"
        "By default, this feature is not permitted anymore.\n"
        "The feature will be removed from a future major RabbitMQ version, regardless of the configuration; "
        "actual version to be determined.\nTo"
    )
    assert len(text) == 255
    assert text.endswith("...")


@pytest.mark.parametrize(
    ("fields", "code"),
    [({"queue": "amq.mine"}, 403), ({"queue": "q", "arguments": {"x-message-ttl": -1}}, 406)],
    ids=["name", "argument"],
)
def test_a_wrong_name_or_argument_is_told_before_that(fields: dict[str, Any], code: int) -> None:
    channel = channel_of("4.3")
    channel.call("queue.declare", **fields)
    assert channel.error[:2] == ("channel", code)


@pytest.mark.parametrize(
    ("name", "fields", "what"),
    [
        (
            "queue.declare",
            {"queue": "jobs"},
            "queue 'jobs' in vhost '/', which is neither durable nor exclusive: declare it durable",
        ),
        (
            "queue.declare",
            {"queue": "jobs", "durable": True, "arguments": {"x-queue-mode": "lazy"}},
            "x-queue-mode of queue 'jobs' in vhost '/': leave it out",
        ),
        (
            "basic.qos",
            {"prefetch_count": 1, "global_": True},
            "basic.qos with global of channel 1: limit each consumer (global=False)",
        ),
    ],
    ids=["transient", "storage", "qos"],
)
def test_the_brokers_side_is_told_once_what_helps(name: str, fields: dict[str, Any], what: str) -> None:
    world = World(rabbitmq="4.3")
    for _ in range(2):
        world.channel().call(name, **fields)
    text = f"RabbitMQ 4.3 refuses {what}, or let the broker be an earlier one (Settings.rabbitmq, --rabbitmq)"
    assert world.hub.take_warnings() == (text,)


def test_4_3_takes_durable_queues_and_exclusive_ones() -> None:
    channel = channel_of("4.3")
    assert channel.declare("jobs", durable=True) == "jobs"
    assert channel.declare(exclusive=True)
    assert channel.declare("mine", exclusive=True, auto_delete=True) == "mine"
    assert channel.call("queue.declare", queue="jobs", passive=True).queue == "jobs"


@BEFORE_4_3
def test_earlier_releases_take_transient_queues_and_a_global_prefetch(release: str) -> None:
    channel = channel_of(release)
    arguments = {"x-queue-mode": "lazy", "x-queue-version": 1}
    assert channel.declare("jobs", durable=False, arguments=arguments) == "jobs"
    assert channel.call("basic.qos", prefetch_count=1, global_=True) is not None


def test_a_global_prefetch_is_refused_from_4_3_on() -> None:
    channel = channel_of("4.3")
    assert channel.call("basic.qos", prefetch_count=1) is not None
    channel.call("basic.qos", prefetch_count=1, global_=True)
    scope, code, text = channel.error
    assert (scope, code) == ("connection", 540)
    assert text.startswith("NOT_IMPLEMENTED - Feature `global_qos` is deprecated.\n")


@pytest.mark.parametrize("arguments", [{"x-queue-mode": "lazy"}, {"x-queue-mode": "default"}, {"x-queue-version": 1}])
def test_4_3_has_one_storage_for_classic_queues(arguments: dict[str, Any]) -> None:
    channel = channel_of("4.3")
    assert channel.declare("new", durable=True, arguments={"x-queue-version": 2}) == "new"
    channel.call("queue.declare", queue="jobs", durable=True, arguments=arguments)
    assert channel.error[:2] == ("channel", 406)


@EVERY_RELEASE
@pytest.mark.parametrize(
    ("fields", "arguments", "text"),
    [
        ({"durable": True, "exclusive": True}, {}, "invalid property 'exclusive-owner' for queue 'q' in vhost '/'"),
        ({"durable": True, "auto_delete": True}, {}, "invalid property 'auto-delete' for queue 'q' in vhost '/'"),
        ({}, {}, "invalid property 'non-durable' for queue 'q' in vhost '/'"),
        ({"durable": True, "queue": ""}, {}, "Cannot declare a server-named queue for type rabbit_quorum_queue"),
        (
            {"durable": True},
            {"x-max-priority": 3},
            "invalid arg 'x-max-priority' for queue 'q' in vhost '/' of queue type rabbit_quorum_queue",
        ),
        (
            {"durable": True},
            {"x-queue-mode": "lazy"},
            "invalid arg 'x-queue-mode' for queue 'q' in vhost '/' of queue type rabbit_quorum_queue",
        ),
    ],
    ids=["exclusive", "auto-delete", "transient", "server-named", "priorities", "lazy"],
)
def test_what_quorum_queues_refuse(release: str, fields: dict[str, Any], arguments: dict[str, Any], text: str) -> None:
    channel = channel_of(release)
    channel.call("queue.declare", **{"queue": "q", **fields}, arguments={**QUORUM, **arguments})
    assert channel.error == ("channel", 406, f"PRECONDITION_FAILED - {text}")


@BEFORE_4_3
def test_quorum_queues_refuse_a_global_prefetch(release: str) -> None:
    channel = channel_of(release)
    channel.declare("q", durable=True, arguments=QUORUM)
    channel.call("basic.qos", prefetch_count=1, global_=True)
    channel.call("basic.consume", queue="q")
    text = "NOT_IMPLEMENTED - queue 'q' in vhost '/' does not support global qos"
    assert channel.error == ("connection", 540, text)


@pytest.mark.parametrize("dialect", ["0-9-1", "0-9-1-qpid", "0-8", "0-8-rabbit"])
def test_other_dialects_are_no_rabbitmq(dialect: str) -> None:
    channel = World(dialect, rabbitmq="4.3").channel()
    assert channel.declare("q", durable=False) == "q"
    assert channel.call("basic.qos", prefetch_count=1, global_=True) is not None


@pytest.mark.parametrize(("dialect", "name"), [("specification", "0-9-1"), ("qpid", "0-9-1-qpid")])
def test_who_wants_no_rabbitmq_takes_another_dialect(dialect: DialectName, name: str) -> None:
    world = World()
    world.hub = Hub(Settings(dialect=dialect, rabbitmq="4.3"))
    channel = world.channel(dialect=get_dialect(name))
    assert channel.declare("q", durable=False) == "q"


# Failed deliveries.


@EVERY_RELEASE
def test_a_quorum_queue_counts_failed_deliveries(release: str) -> None:
    channel = channel_of(release)
    channel.declare("q", durable=True, arguments={**QUORUM, "x-delivery-limit": 2})
    channel.publish(b"x", "q", properties={"headers": {"own": "kept"}})
    seen: list[Any] = []
    channel.consume("q")
    while found := channel.deliveries():
        (delivery,) = found
        seen.append(dict(delivery.properties.headers or {}))
        channel.release(delivery.delivery_tag)
    assert seen == [{"own": "kept"}, {"own": "kept", "x-delivery-count": 1}, {"own": "kept", "x-delivery-count": 2}]
    assert channel.count("q") == 0


def test_what_is_fetched_is_counted_too() -> None:
    channel = channel_of("4.3")
    channel.declare("q", durable=True, arguments=QUORUM)
    channel.publish(b"x", "q")
    channel.release(channel.get("q").method.delivery_tag)
    assert headers_of(channel, "q") == {"x-delivery-count": 1}


@pytest.mark.parametrize(
    ("release", "arguments", "deliveries"),
    [("3.13", {}, 50), ("4.0", {}, 21), ("4.3", {}, 21), ("4.3", {"x-delivery-limit": -1}, 50)],
)
def test_from_4_0_on_a_quorum_queue_has_a_limit(release: str, arguments: dict[str, Any], deliveries: int) -> None:
    channel = channel_of(release)
    channel.declare("q", durable=True, arguments={**QUORUM, **arguments})
    channel.publish(b"x", "q")
    count = 0
    while count < 50 and (found := channel.get("q")) is not None:
        count += 1
        channel.release(found.method.delivery_tag)
    assert count == deliveries


def test_a_classic_queue_neither_counts_nor_ends_deliveries() -> None:
    channel = channel_of("4.3")
    channel.declare("q", durable=True)
    channel.publish(b"x", "q")
    for _ in range(30):
        channel.release(channel.get("q").method.delivery_tag)
    assert headers_of(channel, "q") == {}


# Expiry.


@EVERY_RELEASE
@pytest.mark.parametrize("arguments", [{}, QUORUM], ids=["classic", "quorum"])
def test_messages_expire_at_the_head_only(release: str, arguments: dict[str, Any]) -> None:
    channel = channel_of(release)
    world = channel.world
    channel.declare("dead", durable=True)
    dying = {**arguments, "x-dead-letter-exchange": "", "x-dead-letter-routing-key": "dead"}
    channel.declare("q", durable=True, arguments=dying)
    for body, milliseconds in ((b"long", "2000"), (b"short", "100"), (b"none", None), (b"last", "100")):
        channel.publish(body, "q", properties={"expiration": milliseconds})
    world.advance(0.8)
    assert (channel.count("q"), channel.count("dead")) == (4, 0)
    world.advance(1.2)
    # The last one waits behind one without an end.
    assert (channel.count("q"), channel.count("dead")) == (2, 2)
    assert [channel.get("dead", no_ack=True).body for _ in range(2)] == [b"long", b"short"]
    assert channel.get("q").body == b"none"
    world.advance(0)
    assert (channel.count("q"), channel.count("dead")) == (0, 1)


def test_what_has_expired_behind_others_is_not_delivered() -> None:
    channel = channel_of("4.3")
    channel.declare("q", durable=True)
    for body, milliseconds in ((b"a", None), (b"short", "100"), (b"b", None)):
        channel.publish(body, "q", properties={"expiration": milliseconds})
    channel.world.advance(1)
    channel.consume("q", no_ack=True)
    assert channel.bodies() == [b"a", b"b"]


def test_what_comes_back_to_the_head_expires_there() -> None:
    channel = channel_of("4.3")
    channel.declare("q", durable=True)
    channel.publish(b"short", "q", properties={"expiration": "100"})
    found = channel.get("q")
    channel.world.advance(1)
    channel.release(found.method.delivery_tag)
    channel.world.advance(0)
    assert channel.count("q") == 0


# Deliveries that take too long.


@EVERY_RELEASE
@pytest.mark.parametrize("fetched", [False, True])
def test_a_delivery_unsettled_for_half_an_hour_closes_its_channel(release: str, fetched: bool) -> None:
    channel = channel_of(release)
    world = channel.world
    bystander = channel.user.channel()
    channel.declare("q", durable=True)
    channel.publish(b"x", "q")
    if fetched:
        assert channel.get("q") is not None
    else:
        channel.consume("q")
    world.advance(1799)
    assert bystander.count("q") == 0
    world.advance(2)
    assert channel.error == (
        "channel",
        406,
        "PRECONDITION_FAILED - delivery acknowledgement on channel 1 timed out. Timeout value used: 1800000 ms. "
        "This timeout value can be configured, see consumers doc guide to learn more",
    )
    assert bystander.get("q").method.redelivered


def test_who_settles_in_time_is_left_alone() -> None:
    channel = channel_of("4.3")
    channel.declare("q", durable=True)
    channel.consume("q")
    for _ in range(4):
        channel.publish(b"x", "q")
        channel.world.advance(1000)
        for delivery in channel.deliveries():
            channel.accept(delivery.delivery_tag)
    channel.world.advance(10_000)
    assert channel.count("q") == 0
    assert channel.world.hub.next_deadline is None


def test_channels_that_are_gone_leave_nothing() -> None:
    keeper = channel_of("4.3")
    keeper.declare("q", durable=True)
    keeper.publish(b"x", "q")
    for _ in range(300):
        channel = keeper.user.channel()
        assert channel.get("q") is not None
        channel.close()
    (timeouts,) = [each for each in keeper.world.hub.shared.values() if isinstance(each, Timeouts)]
    assert len(timeouts) < 150


def test_the_oldest_delivery_counts() -> None:
    channel = channel_of("4.3")
    channel.declare("q", durable=True)
    channel.consume("q")
    for _ in range(2):
        channel.publish(b"x", "q")
        channel.world.advance(700)
    first, _ = channel.deliveries()
    channel.accept(first.delivery_tag)
    # The second one was delivered at 700.
    channel.world.advance(1099)
    channel.declare("there", durable=True)
    channel.world.advance(2)
    assert channel.error[:2] == ("channel", 406)


def test_a_queue_has_a_time_of_its_own() -> None:
    channel = channel_of("4.3")
    world = channel.world
    channel.declare("slow", durable=True)
    channel.declare("quick", durable=True, arguments={"x-consumer-timeout": 60_000})
    channel.consume("slow")
    channel.consume("quick")
    channel.publish(b"1", "slow")
    world.advance(10)
    channel.publish(b"2", "quick")
    world.advance(59)
    assert len(channel.deliveries()) == 2
    world.advance(2)
    assert "Timeout value used: 60000 ms" in channel.error[2]


def test_no_time_is_set_for_who_has_no_time() -> None:
    channel = channel_of("4.3", consumer_timeout=None)
    channel.declare("q", durable=True)
    channel.consume("q")
    channel.publish(b"x", "q")
    assert channel.world.hub.next_deadline is None


# Copies.


@EVERY_RELEASE
def test_copies_are_routed_and_blind_ones_are_not_told(release: str) -> None:
    channel = channel_of(release)
    for name in ("a", "b", "c"):
        channel.declare(name, durable=True)
    channel.publish(b"x", "a", properties={"headers": {"CC": ["b", "a"], "BCC": ["c"], "n": 1}})
    for name in ("a", "b", "c"):
        assert headers_of(channel, name) == {"CC": ["b", "a"], "n": 1}
        assert channel.count(name) == 0


def test_copies_alone_are_a_route() -> None:
    channel = channel_of("4.3")
    channel.declare("b", durable=True)
    channel.publish(b"x", "nowhere", properties={"headers": {"BCC": ["b"]}}, mandatory=True)
    assert not channel.returned()
    assert headers_of(channel, "b") == {}


def test_copies_are_routed_when_a_transaction_commits() -> None:
    channel = channel_of("4.3")
    for name in ("a", "b"):
        channel.declare(name, durable=True)
    channel.call("tx.select")
    channel.publish(b"x", "a", properties={"headers": {"CC": ["b"]}})
    channel.call("tx.commit")
    assert (channel.count("a"), channel.count("b")) == (1, 1)


@pytest.mark.parametrize("name", ["CC", "BCC"])
def test_copies_are_an_array(name: str) -> None:
    channel = channel_of("4.3")
    channel.declare("q", durable=True)
    channel.publish(b"x", "q", properties=BasicProperties(headers={name: "k"}))
    text = f'invalid message: {{unacceptable_type_in_header,"{name}",longstr}}'
    assert channel.error == ("channel", 406, f"PRECONDITION_FAILED - {text}")


def test_copies_have_a_bound() -> None:
    channel = channel_of("4.3")
    channel.declare("q", durable=True)
    channel.publish(b"x", "q", properties={"headers": {"CC": ["k"] * 1001}})
    assert channel.error[:2] == ("channel", 406)


def test_a_broker_that_waits_for_a_settlement_goes_on_from_its_octets() -> None:
    channel = channel_of("4.3")
    channel.declare("q", durable=True)
    channel.consume("q")
    channel.publish(b"x", "q")
    copy = channel.world.copied()
    copy.advance(1801)
    assert [each.report.code for each in copy.users[0].of(Closed)] == [406]
