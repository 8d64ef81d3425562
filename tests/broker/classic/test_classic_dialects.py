"""The dialect of a client of 0-8 or 0-9-1: by the broker's settings, else by what the client says of itself."""

import pickle
from typing import Any

import pytest

from amqp_sansio import AMQP_0_8, AMQP_0_9_1, Version
from amqp_sansio._classic.codec.dialect import get_dialect
from amqp_sansio.broker import Hub, Settings
from amqp_sansio.broker.frontends.classic.frontend import ClassicFrontend
from tests.kit.hub_classic import World
from tests.kit.observing import frame
from tests.kit.pair_classic import Pair, client_config, server_config

VERSIONS = pytest.mark.parametrize("version", [AMQP_0_9_1, AMQP_0_8], ids=lambda each: each.label)
NAMES = {"rabbitmq": "-rabbit", "specification": "", "qpid": "-qpid"}


def _set_to(dialect: Any) -> World:
    """A world whose broker was told the dialect."""
    world = World()
    world.hub = Hub(Settings(dialect=dialect))
    return world


def _front(world: World) -> ClassicFrontend:
    (front,) = [each for each in world.hub.fronts.values() if isinstance(each, ClassicFrontend)]
    return front


@VERSIONS
@pytest.mark.parametrize(
    ("properties", "kind"),
    [
        ({}, "-rabbit"),
        ({"product": "pika", "capabilities": {"publisher_confirms": True}}, "-rabbit"),
        ({"product": "Apache Qpid JMS AMQP 0-x Client"}, "-qpid"),
        ({"product": "QpidJMS"}, "-qpid"),
        ({"product": "x", "qpid.client_pid": 4711}, "-qpid"),
        ({"product": 5}, "-rabbit"),
    ],
)
def test_a_client_is_spoken_to_as_what_it_says_it_is(
    world: World, version: Version, properties: dict[str, Any], kind: str
) -> None:
    dialect = get_dialect(f"{version.label}{kind}")
    user = world.client(version=version, dialect=dialect, properties=properties)
    front = _front(world)
    assert front.connection.dialect is front.dialect is dialect
    assert front.named is dialect.named
    assert front.tables.name == dialect.tables.name
    talk = user.channel()
    talk.declare("q")
    talk.publish(b"x", "q", properties={"headers": {"a": 1}})
    assert talk.get("q").body == b"x"


@VERSIONS
@pytest.mark.parametrize("name", NAMES)
def test_settings_name_the_dialect_whatever_clients_say(version: Version, name: Any) -> None:
    world = _set_to(name)
    dialect = get_dialect(f"{version.label}{NAMES[name]}")
    world.client(version=version, dialect=dialect, properties={"product": "qpid"})
    assert _front(world).dialect is dialect


@VERSIONS
@pytest.mark.parametrize("name", NAMES)
def test_clients_made_for_rabbitmq_get_in_whatever_the_dialect(version: Version, name: Any) -> None:
    """Their properties have names that the specification forbids."""
    capabilities = {"capabilities": {"basic.nack": True, "x-y": True}}
    user = _set_to(name).client(version=version, properties=capabilities)
    assert user.end.is_open


def test_only_those_dialects_can_be_set() -> None:
    wrong: Any = "qpidd"
    with pytest.raises(ValueError, match=r"Settings\.dialect: 'qpidd' is none of rabbitmq, specification, qpid"):
        Settings(dialect=wrong)


def test_what_a_dialect_lacks_is_not_announced() -> None:
    announced: dict[str, set[str]] = {}
    for name in ("", *NAMES):
        properties = _set_to(name).client().end.peer_properties
        announced[name] = set(dict(properties.get("capabilities", {})))
    assert announced[""] == announced["rabbitmq"] > announced["qpid"]
    assert "publisher_confirms" in announced["qpid"]
    assert "exchange_exchange_bindings" not in announced["qpid"]
    assert announced["specification"] == set()


def test_qpids_clients_of_0_8_may_consume_with_arguments_and_get_its_answers(world: World) -> None:
    dialect = get_dialect("0-8-qpid")
    talk = world.client(version=AMQP_0_8, dialect=dialect, properties={"product": "qpid"}).channel()
    talk.declare("q")
    assert talk.call("exchange.bound", exchange="amq.direct", routing_key="", queue="q").reply_code != 0
    assert talk.call("basic.recover", requeue=True) is not None


@VERSIONS
def test_a_server_of_a_dialect_that_was_told_keeps_it(version: Version) -> None:
    told = get_dialect(f"{version.label}-rabbit")
    pair = Pair(
        client=client_config(properties={"product": "qpid"}), server=server_config(dialect=told), version=version
    )
    pair.open()
    assert pair.server.dialect is told


def test_a_connection_is_pickled_with_the_dialect_that_it_found(world: World) -> None:
    world.client(dialect=get_dialect("0-9-1-qpid"), properties={"product": "qpid"})
    front = _front(world)
    again = pickle.loads(pickle.dumps(front.connection))
    assert again.dialect is front.connection.dialect is get_dialect("0-9-1-qpid")


# What RabbitMQ does otherwise.


@pytest.mark.parametrize("dialect", ["0-9-1-rabbit", "0-8-rabbit"])
@pytest.mark.parametrize("mandatory", [True, False])
def test_rabbitmq_has_no_immediate(world: World, mandatory: bool) -> None:
    talk, other = world.channel(), world.channel()
    other.declare("q")
    other.consume("q")
    talk.publish(b"now", "q", immediate=True, mandatory=mandatory)
    assert talk.error == ("connection", 540, "NOT_IMPLEMENTED - immediate=true")
    assert (other.bodies(), talk.returned()) == ([], [])


@pytest.mark.rule("0-9-1/connection.tune/channel-max-highest", "0-8/connection/limits-exceeded")
@pytest.mark.parametrize(
    ("dialect", "code"), [("0-9-1-rabbit", 530), ("0-8-rabbit", 530), ("0-9-1", 504), ("0-8", 504), ("0-9-1-qpid", 504)]
)
def test_a_channel_more_than_agreed(world: World, dialect: str, code: int) -> None:
    user = world.client(channel_max=3)
    for _ in range(3):
        user.channel()
    opening = user.make("channel.open").encode(user.end.dialect.tables)
    user.client.receive_data(frame(1, 4, opening), world.now)
    world.pump()
    assert user.report.code == code


@pytest.mark.parametrize("dialect", ["0-9-1-rabbit", "0-8-rabbit"])
def test_rabbitmq_counts_channels_whatever_their_numbers(world: World, dialect: str) -> None:
    user = world.client(channel_max=3)
    opening = user.make("channel.open").encode(user.end.dialect.tables)
    user.client.receive_data(frame(1, 65535, opening), world.now)
    user.client.next_event()
    assert frame(1, 65535, user.make("channel.open-ok").encode(user.end.dialect.tables)) in user.client.data_to_send(
        world.now
    )


@pytest.mark.parametrize(("dialect", "stays"), [("0-8-rabbit", True), ("0-8-qpid", True), ("0-8", False)])
def test_an_exclusive_queue_of_0_8_goes_after_its_last_use_by_the_letter_alone(dialect: str, stays: bool) -> None:
    """In Qpid's brokers, as in RabbitMQ, it goes with its connection."""
    world = World(dialect)
    channel = world.channel()
    channel.declare("mine", exclusive=True)
    tag = channel.consume("mine")
    channel.call("basic.cancel", consumer_tag=tag)
    assert ("mine" in world.hub.model.vhosts["/"].queues) is stays
