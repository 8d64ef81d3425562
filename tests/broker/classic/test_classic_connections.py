"""Connections of 0-8 and 0-9-1 to the broker: login, virtual hosts, flow, what the broker tells by itself, its end."""

from typing import Any

import pytest

from amqp_sansio import AMQP_0_8, AMQP_0_9_1, Opened, Version
from amqp_sansio.amqp_0_9_1 import Blocked, FlowChanged, Unblocked
from amqp_sansio.broker import BrokerLimits, User
from amqp_sansio.sasl import AmqPlain, Plain, ScramSha256
from tests.kit.hub_classic import Talk, World

ALL = pytest.mark.parametrize("dialect", ["0-9-1-rabbit", "0-9-1", "0-8-rabbit", "0-8"])
VERSIONS = pytest.mark.parametrize("version", [AMQP_0_9_1, AMQP_0_8], ids=lambda each: each.label)

USERS = {"guest": "guest", "me": User("s3cret", vhosts=("/mine",))}
TEST = ("/", "/mine")


def scram(user: str, password: str) -> ScramSha256:
    return ScramSha256(user, password, nonce="n")


@VERSIONS
@pytest.mark.parametrize("mechanism", [Plain, AmqPlain, scram], ids=lambda each: each.__name__)
def test_who_says_the_password_is_let_in(version: Version, mechanism: Any) -> None:
    world = World(users=USERS, vhosts=TEST)
    user = world.client(version=version, sasl=mechanism("me", "s3cret"), vhost="/mine")
    assert user.take(Opened)
    assert user.client.front is not None
    assert user.client.front.describe() == ("me", "/mine")
    wrong = world.client(version=version, sasl=mechanism("me", "guess"), vhost="/mine")
    report = wrong.report
    if version is AMQP_0_9_1:
        assert report.code == 403
        assert report.text.startswith("ACCESS_REFUSED - ")
    else:
        # 0-8 has no word for it: the socket is closed.
        assert report.code == 0


@ALL
@pytest.mark.rule("0-9-1/connection.open/vhost-permission", "0-8/connection.open/vhost-permission")
@pytest.mark.parametrize(("vhost", "unknown"), [("/", False), ("/absent", True)])
def test_a_virtual_host_that_is_not_for_somebody(dialect: str, vhost: str, unknown: bool) -> None:
    world = World(dialect, users=USERS, vhosts=TEST)
    user = world.client(sasl=Plain("me", "s3cret"), vhost=vhost)
    code = 530 if dialect.endswith("rabbit") else 402 if unknown else 403
    assert user.report.code == code
    text = f"vhost {vhost} not found" if unknown else f"access to vhost '{vhost}' refused for user 'me'"
    names = {530: "NOT_ALLOWED", 402: "INVALID_PATH", 403: "ACCESS_REFUSED"}
    assert user.report.text == f"{names[code]} - {text}"


@pytest.mark.parametrize(
    "name", ["publisher_confirms", "basic.nack", "consumer_cancel_notify", "direct_reply_to", "connection.blocked"]
)
def test_the_broker_announces_what_it_has_of_rabbits_extensions(name: str) -> None:
    capabilities: Any = World().client().end.peer_properties["capabilities"]
    assert capabilities[name] is True


@pytest.mark.rule("0-9-1/rabbitmq/no-host-property")
def test_the_broker_does_not_announce_its_host() -> None:
    assert "host" not in World().client().end.peer_properties


@ALL
@pytest.mark.rule("0-9-1/channel.flow/throttle", "0-8/channel.flow/throttle", "0-9-1/channel.flow/initially-active")
@pytest.mark.rule("0-8/channel.flow/start-paused", "0-9-1/channel.flow/react", "0-8/channel.flow/react")
@pytest.mark.parametrize("no_ack", [True, False])
def test_a_client_stops_its_deliveries(channel: Talk, no_ack: bool) -> None:
    channel.declare("q")
    channel.call("basic.qos", prefetch_count=3)
    assert channel.call("channel.flow", active=False).active is False
    channel.consume("q", no_ack=no_ack)
    for number in range(6):
        channel.publish(b"%d" % number, "q")
    assert channel.bodies() == []
    # Fetching isn't stopped by it.
    assert channel.get("q").body == b"0"
    channel.publish(b"x", "absent", mandatory=True)
    channel.call("channel.flow", active=True)
    expected = 5 if no_ack else 3
    assert len(channel.bodies()) == expected
    channel.call("channel.flow", active=False)
    if not no_ack:
        channel.accept(0, multiple=True)
        assert channel.bodies() == []
        channel.call("channel.flow", active=True)
        assert len(channel.bodies()) == 2
    assert channel.returned() == []


def test_a_return_that_can_not_be_sent_is_a_nack(channel: Talk) -> None:
    channel.call("confirm.select")
    channel.call("channel.flow", active=False)
    assert type(channel.publish(b"x", "absent", mandatory=True).result).__name__ == "Rejected"


@pytest.mark.rule("0-9-1/rabbitmq/connection.blocked", "0-9-1/basic/flow-publisher")
def test_publishers_are_told_when_the_broker_is_full() -> None:
    world = World(limits=BrokerLimits(memory_high=1000, memory_low=500))
    channel, late = world.channel(), world.channel()
    quiet = world.channel(properties={"capabilities": {}})
    channel.declare("q")
    channel.publish(b"x" * 2000, "q")
    assert channel.user.take(Blocked)
    assert channel.user.client.receive_budget == 0
    assert not quiet.user.take(Blocked)
    assert world.client().take(Blocked)
    late.user.take(Blocked)
    late.get("q", no_ack=True)
    assert channel.user.take(Unblocked)
    assert channel.user.client.receive_budget > 0
    channel.publish(b"y", "q")
    assert late.get("q").body == b"y"


@pytest.mark.parametrize("dialect", ["0-8", "0-8-rabbit", "0-9-1"])
@pytest.mark.rule("0-8/file/no-discard", "0-8/basic/persistent-no-discard", "0-9-1/basic/persistent-no-discard")
def test_who_knows_no_blocked_is_held_up_by_flow(dialect: str) -> None:
    world = World(dialect, limits=BrokerLimits(memory_high=1000, memory_low=500))
    channel, reader = world.channel(), world.channel()
    channel.declare("q")
    channel.publish(b"x" * 2000, "q")
    assert [each.active for each in channel.user.take(FlowChanged)] == [False]
    assert channel.core.client_stopped
    reader.get("q", no_ack=True)
    assert [each.active for each in channel.user.take(FlowChanged)] == [True]
    channel.publish(b"y", "q")
    assert reader.get("q").body == b"y"


@ALL
def test_a_broker_that_ends_says_so(world: World, channel: Talk) -> None:
    world.hub.shut_down()
    world.pump()
    assert channel.error == ("connection", 320, "CONNECTION_FORCED - the broker is shutting down")
    assert world.client().report.code in (0, 320)


def test_a_secret_is_renewed() -> None:
    user = World().client()
    handle = user.end.call(user.make("connection.update-secret", new_secret=b"x", reason="old"))
    user.world.pump()
    assert handle.result.NAME == "connection.update-secret-ok"


@pytest.mark.rule("0-9-1/rabbitmq/basic.cancel.notify", "0-9-1/rabbitmq/basic.cancel.capability")
@pytest.mark.parametrize("announced", [True, False])
def test_only_who_announced_it_is_told_of_a_consumers_end(world: World, announced: bool) -> None:
    properties: dict[str, Any] = {} if announced else {"properties": {"capabilities": {}}}
    channel, other = world.channel(**properties), world.channel()
    channel.declare("q")
    tag = channel.consume("q")
    other.call("queue.delete", queue="q")
    assert channel.cancelled() == ([tag] if announced else [])


def test_the_user_in_a_message_is_the_one_who_logged_in(channel: Talk) -> None:
    channel.declare("q")
    channel.publish(b"x", "q", properties={"user_id": "guest"})
    assert channel.get("q").properties.user_id == "guest"
    channel.publish(b"x", "q", properties={"user_id": "other"})
    text = "PRECONDITION_FAILED - user_id property set to 'other' but authenticated user was 'guest'"
    assert channel.error == ("channel", 406, text)


def test_an_expiration_that_is_no_number_is_refused(channel: Talk) -> None:
    channel.publish(b"x", "q", properties={"expiration": "soon"})
    assert channel.error[:2] == ("channel", 406)


def test_messages_and_queues_expire(world: World, channel: Talk) -> None:
    channel.declare("q")
    dead_letters = {"x-dead-letter-exchange": "", "x-dead-letter-routing-key": "d"}
    channel.declare("t", arguments={"x-message-ttl": 1000, **dead_letters})
    channel.declare("d")
    channel.publish(b"x", "q", properties={"expiration": "2000"})
    channel.publish(b"y", "t")
    world.advance(1.5)
    assert (channel.count("q"), channel.count("t"), channel.count("d")) == (1, 0, 1)
    world.advance(1.0)
    assert channel.count("q") == 0
    dead = channel.get("d")
    deaths: Any = dead.properties.headers["x-death"]
    assert (deaths[0]["queue"], deaths[0]["reason"], deaths[0]["count"]) == ("t", "expired", 1)


def test_a_limit_of_the_engine_ends_one_channel_alone() -> None:
    from amqp_sansio import Limits

    world = World(connection_limits=Limits(unsettled=5))
    user = world.client()
    channel, sibling = user.channel(), user.channel()
    channel.declare("q")
    for number in range(8):
        channel.publish(b"%d" % number, "q")
    channel.consume("q")
    assert channel.error[:2] == ("channel", 506)
    assert sibling.count("q") == 8


# Direct reply-to.


def test_answers_come_directly(world: World) -> None:
    asking, answering = world.channel(), world.channel()
    answering.declare("rpc")
    answering.consume("rpc", no_ack=True)
    pseudo = "amq.rabbitmq.reply-to"
    tag = asking.consume(pseudo, no_ack=True)
    assert asking.call("queue.declare", queue=pseudo, passive=True).queue == pseudo
    asking.publish(b"question", "rpc", properties={"reply_to": pseudo, "correlation_id": "7"})
    (question,) = answering.deliveries()
    address = question.properties.reply_to
    assert question.properties.correlation_id == "7"
    assert address is not None
    assert address.startswith(f"{pseudo}.")
    assert answering.call("queue.declare", queue=address, passive=True).consumer_count == 1
    answering.publish(b"answer", address, properties={"correlation_id": "7"})
    (answer,) = asking.deliveries()
    assert (answer.consumer_tag, answer.body, answer.exchange, answer.routing_key) == (tag, b"answer", "", address)
    asking.call("basic.cancel", consumer_tag=tag)
    answering.publish(b"late", address, mandatory=True)
    assert [each.body for each in answering.returned()] == [b"late"]
    answering.call("queue.declare", queue=address, passive=True)
    assert answering.error[:2] == ("channel", 404)


@pytest.mark.parametrize("what", ["ack", "twice", "nobody"])
def test_what_direct_replies_do_not_allow(channel: Talk, what: str) -> None:
    pseudo = "amq.rabbitmq.reply-to"
    if what == "ack":
        channel.call("basic.consume", queue=pseudo)
        text = "reply consumer cannot acknowledge"
    elif what == "twice":
        channel.consume(pseudo, no_ack=True)
        channel.call("basic.consume", queue=pseudo, no_ack=True)
        text = "reply consumer already set"
    else:
        channel.publish(b"x", "q", properties={"reply_to": pseudo})
        text = "fast reply consumer does not exist"
    assert channel.error == ("channel", 406, f"PRECONDITION_FAILED - {text}")


def test_an_answer_goes_to_nobody_when_the_asking_channel_is_gone(world: World) -> None:
    asking, answering = world.channel(), world.channel()
    asking.consume("amq.rabbitmq.reply-to", no_ack=True)
    answering.declare("rpc")
    asking.publish(b"question", "rpc", properties={"reply_to": "amq.rabbitmq.reply-to"})
    address = answering.get("rpc").properties.reply_to
    asking.user.cut()
    answering.publish(b"answer", address, mandatory=True)
    assert len(answering.returned()) == 1
    assert list(world.hub.model.vhosts["/"].queues) == ["rpc"]


def test_what_the_broker_does_not_do_ends_the_connection(channel: Talk) -> None:
    channel.call("basic.credit", consumer_tag="c", credit=1)
    assert channel.error[:2] == ("connection", 540)
