"""1.0 addresses as users of RabbitMQ 4, RabbitMQ 3 and Qpid write them, and the anonymous terminus."""

from typing import Any

import pytest

from amqp_sansio import amqp_1_0 as amqp
from amqp_sansio.broker.addresses import BadAddress, decoded, encoded, parse
from tests.kit.hub_1_0 import User, World

INVALID = "amqp:invalid-field"


@pytest.fixture
def world() -> World:
    """Queues and exchanges with names of all kinds."""
    world = World()
    for name in ("q", "a/b", "né", "bound"):
        world.queue(name)
    world.exchange("ex", "direct")
    world.exchange("x/y", "direct")
    world.bind("bound", "ex", "k/1")
    world.bind("bound", "x/y", "k")
    world.bind("bound", "ex", "")
    world.bind("bound", "amq.topic", "news.#")
    return world


@pytest.mark.parametrize(
    ("address", "queue"),
    [
        *[("q", "q"), ("a/b", "a/b"), ("/queues/q", "q"), ("/queues/a%2Fb", "a/b"), ("/queues/n%C3%A9", "né")],
        *[("/queue/q", "q"), ("/queue/a%2Fb", "a/b"), ("/amq/queue/q", "q")],
        *[("/exchanges/ex/k%2F1", "bound"), ("/exchanges/x%2Fy/k", "bound"), ("/exchanges/ex", "bound")],
        *[("/exchange/ex/k%2F1", "bound"), ("/topic/news.today", "bound"), ("ex/k/1", "bound")],
        *[("amq.topic/news", "bound"), ("/exchanges/amq.topic/news.x", "bound")],
        # URIs, whose path is the address.
        *[("amqps://host:5671/q", "q"), ("AMQP://host/a/b", "a/b"), ("sb://ns.example//queues/a%2Fb", "a/b")],
        ("amqps://host//exchanges/ex/k%2F1", "bound"),
    ],
)
def test_a_target_is_found(world: World, user: User, address: str, queue: str) -> None:
    assert user.send(user.sender(address), b"it") == [amqp.Accepted()]
    assert world.ready(queue) == [b"it"]


@pytest.mark.parametrize("address", ["ex", "/exchange/ex", "/exchange/amq.topic"])
def test_an_exchange_without_a_key_takes_the_subject(world: World, user: User, address: str) -> None:
    subject = "news.x" if address.endswith("topic") else "k/1"
    sender = user.sender(address)
    assert user.send(sender, amqp.Message(b"it", properties=amqp.Properties(subject=subject))) == [amqp.Accepted()]
    assert world.ready("bound") == [b"it"]
    assert user.send(sender, amqp.Message(b"it", properties=amqp.Properties(subject="other"))) == [amqp.Released()]


@pytest.mark.rule("1.0/transport/error/not-found", "1.0/transport/link/terminus-refused")
@pytest.mark.parametrize(
    ("addresses", "condition"),
    [
        (["none", "/queues/none", "/exchanges/none/k", "/exchange/none", "/amq/queue/none"], "amqp:not-found"),
        (["/queues/", "/queues/%zz", "/queues/%C3", "/nothing/x", "/queues/a/b", "/exchanges//k"], INVALID),
    ],
    ids=["no such node", "no address"],
)
def test_an_address_without_a_node_refuses_both_kinds_of_links(
    user: User, addresses: list[str], condition: str
) -> None:
    session = user.session()
    for address in addresses:
        assert user.refused(session.open_sender(address)) == condition
        assert user.refused(session.open_receiver(address)) == condition
    assert user.end.is_open


def test_rabbitmq_3_makes_the_queue_of_an_address(world: World, user: User) -> None:
    assert user.send(user.sender("/queue/new"), b"it") == [amqp.Accepted()]
    assert user.bodies(user.receiver("/queue/new2", credit=1)) == []
    queues = world.hub.model.vhosts["/"].queues
    assert queues["new"].durable
    assert queues["new2"].durable


def test_plain_names_are_made_where_the_settings_say_so() -> None:
    world = World(auto_create=True)
    user = world.connect()
    receiver = user.receiver("new", credit=1)
    assert user.send(user.sender("new"), b"it") == [amqp.Accepted()]
    assert user.bodies(receiver) == [b"it"]
    assert user.refused(user.session().open_sender("/queues/none")) == "amqp:not-found"


@pytest.mark.parametrize("address", ["$cbs", "$management", "q/$management", "q/$DeadLetterQueue", "/queue/%24cbs"])
def test_an_address_of_a_service_never_becomes_a_queue(address: str) -> None:
    world = World(auto_create=True)
    user = world.connect()
    assert user.refused(user.session().open_sender(address)) == "amqp:not-found"
    assert user.refused(user.session().open_receiver(address)) == "amqp:not-found"
    anywhere = user.sender(amqp.Target(address=None))
    (outcome,) = user.send(anywhere, amqp.Message(b"token", properties=amqp.Properties(to=address)))
    assert outcome.error.condition == "amqp:not-found"
    assert not any("$" in name for name in world.hub.model.vhosts["/"].queues)


def test_a_name_with_a_dollar_inside_is_a_name_as_others() -> None:
    world = World(auto_create=True)
    assert world.connect().sender("us$").is_open


def test_a_name_that_other_versions_could_not_say_makes_no_queue() -> None:
    world = World(auto_create=True)
    user = world.connect()
    assert user.sender("n" * 255).is_open
    assert user.refused(user.session().open_sender("ü" * 128)) == "amqp:invalid-field"


def test_the_anonymous_terminus_asks_each_message(world: World, user: User) -> None:
    sender = user.sender(amqp.Target(address=None))
    messages = [
        amqp.Message(each, properties=amqp.Properties(to=each))
        for each in ("q", "/queues/a%2Fb", "/exchanges/ex/k%2F1")
    ]
    assert user.send(sender, *messages) == [amqp.Accepted()] * 3
    assert [world.ready(each) for each in ("q", "a/b", "bound")] == [
        *(["q"], ["/queues/a%2Fb"], ["/exchanges/ex/k%2F1"])
    ]
    none, nowhere, bad, unbound = user.send(
        sender,
        b"without",
        amqp.Message(b"x", properties=amqp.Properties(to="/queues/none")),
        amqp.Message(b"x", properties=amqp.Properties(to="/queues/%zz")),
        amqp.Message(b"x", properties=amqp.Properties(to="/exchanges/ex/none")),
    )
    assert [str(each.error.condition) for each in (none, nowhere, bad)] == [
        *("amqp:precondition-failed", "amqp:not-found", "amqp:invalid-field")
    ]
    assert unbound == amqp.Released()
    assert sender.is_open


def test_the_anonymous_terminus_ends_a_link_that_would_not_hear(user: User) -> None:
    sender = user.sender(amqp.Target(address=None), snd_settle_mode=1)
    user.send(sender, amqp.Message(b"x", properties=amqp.Properties(to="/queues/none")))
    assert user.refused(sender) == "amqp:not-found"
    picky = user.sender(amqp.Target(address=None), source=amqp.Source(outcomes=(amqp.Symbol("amqp:accepted:list"),)))
    handle = picky.send(amqp.Message(b"x", properties=amqp.Properties(to="/queues/none")))
    assert user.refused(picky) == "amqp:not-found"
    assert handle.error is not None


def test_what_no_queue_takes_is_not_accepted_of_the_anonymous_terminus(user: User) -> None:
    """A client that knows no outcome but accepted hears it by the end of its link."""
    unbound = amqp.Message(b"x", properties=amqp.Properties(to="/exchanges/ex/none"))
    picky = user.sender(amqp.Target(address=None), source=amqp.Source(outcomes=(amqp.Symbol("amqp:accepted:list"),)))
    picky.send(unbound)
    assert user.refused(picky) == "amqp:not-found"
    modest = user.sender(amqp.Target(address=None), source=amqp.Source(outcomes=(amqp.Symbol("amqp:released:list"),)))
    assert user.send(modest, unbound) == [amqp.Released()]
    assert modest.is_open


def test_an_internal_exchange_takes_nothing(world: World, user: User) -> None:
    world.exchange("inside", "fanout", internal=True)
    assert user.refused(user.session().open_sender("/exchanges/inside")) == "amqp:not-allowed"
    sender = user.sender(amqp.Target(address=None))
    (outcome,) = user.send(sender, amqp.Message(b"x", properties=amqp.Properties(to="/exchanges/inside")))
    assert isinstance(outcome, amqp.Rejected)


@pytest.mark.parametrize(
    ("address", "key", "other"),
    [
        ("/exchanges/ex/k%2F1", "k/1", "k"),
        ("ex/k", "k", "other"),
        ("/topic/a.*", "a.b", "b.a"),
        ("amq.topic", "a.b", None),
        ("/exchange/amq.fanout", "any", None),
        ("/exchanges/amq.headers", "any", None),
    ],
)
def test_a_receiver_of_an_exchange_has_its_own_subscription(
    world: World, user: User, address: str, key: str, other: str | None
) -> None:
    one, two = user.receiver(address, credit=10), user.receiver(address, credit=10)
    exchange = {"/topic/a.*": "amq.topic"}.get(address, address.removeprefix("/exchanges/").removeprefix("/exchange/"))
    exchange = exchange.split("/")[0]
    user.send(user.sender(f"/exchanges/{exchange}/{encoded(key)}"), b"it")
    if other is not None:
        user.send(user.sender(f"/exchanges/{exchange}/{encoded(other)}"), b"not this")
    assert user.bodies(one) == [b"it"]
    assert user.bodies(two) == [b"it"]
    one.close()
    two.close()
    world.pump()
    assert not [each for each in world.hub.model.vhosts["/"].queues if each.startswith("amq.gen")]


@pytest.mark.parametrize("text", ["", "a", "a/b", "100%", "né", "a b?&;=", "~-._"])
def test_a_name_is_encoded_and_decoded(text: str) -> None:
    assert decoded(encoded(text)) == text


@pytest.mark.parametrize("wrong", ["%", "%1", "%g0", "%+1", "%ff", "%C3x"])
def test_what_encodes_no_name_is_a_bad_address(wrong: str) -> None:
    with pytest.raises(BadAddress):
        decoded(wrong)


def test_a_plain_name_is_no_address_of_parts() -> None:
    assert parse("plain") is None


def test_an_exchange_without_a_key() -> None:
    found: Any = parse("/exchange/e")
    assert found.name == "e"
    assert found.key is None


@pytest.mark.parametrize("address", ["amqps://host/none", "amqps://host", "http://host/q", "amqps://host/"])
def test_a_uri_of_no_node_is_refused(user: User, address: str) -> None:
    assert user.refused(user.session().open_sender(address)) == "amqp:not-found"
    assert user.refused(user.session().open_receiver(address)) == "amqp:not-found"


def test_a_uri_makes_the_queue_of_its_path() -> None:
    world = World(auto_create=True)
    user = world.connect()
    assert user.sender("amqps://host/new").is_open
    assert "new" in world.hub.model.vhosts["/"].queues
    assert user.refused(user.session().open_sender("amqps://host/$cbs")) == "amqp:not-found"


def test_a_queue_with_the_name_of_a_uri_is_found_by_it(world: World, user: User) -> None:
    world.queue("amqps://host/q")
    assert user.send(user.sender("amqps://host/q"), b"it") == [amqp.Accepted()]
    assert world.ready("amqps://host/q") == [b"it"]
    assert world.ready("q") == []
