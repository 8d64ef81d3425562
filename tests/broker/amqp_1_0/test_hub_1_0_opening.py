"""1.0 on the broker: who is let in, into which virtual host, and how it ends."""

from typing import Any

import pytest

from amqp_sansio import Scope
from amqp_sansio.amqp_1_0 import CreditChanged
from amqp_sansio.broker.settings import Settings
from amqp_sansio.broker.users import User as Known
from amqp_sansio.events import Closed
from amqp_sansio.sasl import Anonymous, External, Plain, ScramSha256
from tests.kit.hub_1_0 import User, World

MECHANISMS = ("SCRAM-SHA-256", "EXTERNAL", "PLAIN", "ANONYMOUS")


def condition(world: World, **changes: Any) -> str:
    """The condition with which a client is turned away."""
    user = world.user(**changes)
    world.pump()
    assert not user.end.is_open
    closed = [each for each in user.of(Closed) if each.scope is Scope.CONNECTION]
    return closed[-1].report.condition or "no word"


@pytest.mark.parametrize(
    ("sasl", "name"),
    [
        (Plain("guest", "guest"), "guest"),
        (ScramSha256("guest", "guest", nonce="abc"), "guest"),
        (Anonymous(), "anonymous"),
        (None, "anonymous"),
    ],
    ids=["plain", "scram", "anonymous", "none"],
)
def test_who_is_let_in(sasl: Any, name: str) -> None:
    world = World(anonymous=True, mechanisms=MECHANISMS)
    user = world.connect(sasl=sasl)
    assert user.client.front is not None
    assert user.client.front.describe() == (name, "/")


def test_a_certificate_says_who_it_is() -> None:
    world = World(mechanisms=MECHANISMS)
    user = world.connect(sasl=External(), is_secure=True, peer_name="guest")
    assert user.client.front is not None
    assert user.client.front.describe() == ("guest", "/")


@pytest.mark.parametrize(
    "sasl",
    [Plain("guest", "wrong"), ScramSha256("guest", "wrong", nonce="abc"), Anonymous(), None],
    ids=["plain", "scram", "anonymous", "none"],
)
def test_who_is_turned_away(world: World, sasl: Any) -> None:
    other = world.connect()
    user = world.user(sasl=sasl)
    world.pump()
    assert not user.end.is_open
    assert other.end.is_open


@pytest.mark.rule("1.0/transport/error/not-found", "1.0/transport/error/unauthorized-access")
def test_the_hostname_names_the_virtual_host() -> None:
    users = {"guest": Known("guest", vhosts=("/", "test"))}
    world = World(vhosts=("/", "test", "secret"), users=users)
    user = world.connect(hostname="vhost:test")
    assert user.client.front is not None
    assert user.client.front.describe() == ("guest", "test")
    assert condition(world, hostname="vhost:nowhere") == "amqp:not-found"
    assert condition(world, hostname="vhost:secret") == "amqp:unauthorized-access"
    user = world.connect(hostname="broker.example.org")
    assert user.client.front is not None
    assert user.client.front.describe() == ("guest", "/")


@pytest.mark.rule("1.0/filters/legacy/capability")
def test_the_open_tells_what_the_broker_has() -> None:
    world = World(product="RabbitMQ", product_version="4.1.0")
    peer: Any = world.connect().end.peer_open
    assert (peer.properties["product"], peer.properties["version"]) == ("RabbitMQ", "4.1.0")
    assert peer.container_id == Settings().name
    assert {"ANONYMOUS-RELAY", "LINK_PAIR_V1_0", "APACHE.ORG:SELECTOR"} <= set(peer.offered_capabilities)
    assert {"APACHE.ORG:NO_LOCAL", "APACHE.ORG:LEGACY_AMQP_EXCHANGE_FILTERS"} <= set(peer.offered_capabilities)


@pytest.mark.rule("1.0/transport/error/connection-forced")
def test_a_broker_that_ends_closes_connections(world: World, user: User) -> None:
    world.queue("jobs")
    user.receiver("jobs", credit=10)
    world.hub.shut_down("enough for today")
    world.pump()
    closed = [each for each in user.of(Closed) if each.scope is Scope.CONNECTION]
    assert closed[-1].report.condition == "amqp:connection:forced"
    assert closed[-1].report.text == "enough for today"
    assert not world.hub.clients
    assert world.hub.model.owners == {world.owner.number: world.owner}


def test_a_connection_that_is_lost_leaves_nothing(world: World) -> None:
    world.queue("jobs")
    user, other = world.connect(), world.connect()
    user.receiver("jobs", credit=10)
    user.sender("jobs")
    user.receiver("/exchanges/amq.topic/a", credit=10)
    world.put("jobs", b"one")
    user.cut()
    assert world.state("jobs") == (1, 0)
    assert list(world.hub.model.vhosts["/"].queues) == ["jobs"]
    assert len(world.hub.clients) == 1
    assert other.bodies(other.receiver("jobs", credit=1)) == [b"one"]
    assert not other.of(CreditChanged)


def test_sessions_come_and_go(world: World, user: User) -> None:
    world.queue("jobs")
    first, second = user.session(), user.session()
    world.put("jobs", b"one", b"two")
    one, two = user.receiver("jobs", first, credit=1), user.receiver("jobs", second, credit=1)
    assert user.bodies(one) == [b"one"]
    assert user.bodies(two) == [b"two"]
    first.close()
    world.pump()
    assert world.ready("jobs") == [b"one"]
    assert world.state("jobs") == (1, 1)


def test_what_can_not_be_parsed_hurts_nobody_else(world: World) -> None:
    world.queue("jobs")
    user, other = world.connect(), world.connect()
    receiver = other.receiver("jobs", credit=1)
    user.client.receive_data(b"\x00\x00\x00\x09\x02\x00\x00\x00\xff" * 10, world.now)
    world.pump()
    assert not user.end.is_open
    world.put("jobs", b"one")
    assert other.bodies(receiver) == [b"one"]
