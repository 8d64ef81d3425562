"""1.0 nodes on the broker: dynamic ones, their lifetimes and modes, and the errors that concern nodes."""

from collections.abc import Callable
from typing import Any

import pytest

from amqp_sansio import amqp_1_0 as amqp
from amqp_sansio.amqp_1_0 import spec
from amqp_sansio.broker.limits import BrokerLimits
from amqp_sansio.broker.model.commands import DeclareQueue, DeleteExchange, DeleteQueue, OpenOwner, Subscribe
from tests.kit.hub_1_0 import User, World

LIFETIME = amqp.Symbol("lifetime-policy")
MODES = amqp.Symbol("supported-dist-modes")


def names(world: World) -> list[str]:
    return list(world.hub.model.vhosts["/"].queues)


def dynamic(user: User, policy: Any, *, sends: bool = False) -> tuple[Any, str]:
    """A link with a dynamic node of its own, and the node's address."""
    properties = None if policy is None else {LIFETIME: policy}
    if sends:
        link: Any = user.sender(amqp.Target(dynamic=True, dynamic_node_properties=properties))
    else:
        link = user.receiver(amqp.Source(dynamic=True, dynamic_node_properties=properties), credit=10)
    assert link.address is not None
    return link, link.address


@pytest.mark.rule("1.0/source.address/dynamic-sender", "1.0/source.address/dynamic-name")
@pytest.mark.rule("1.0/target.address/dynamic-receiver")
@pytest.mark.parametrize("sends", [False, True], ids=["source", "target"])
def test_a_dynamic_node_has_an_address_that_others_use(world: World, sends: bool) -> None:
    user, other = world.connect(), world.connect()
    link, address = dynamic(user, None, sends=sends)
    assert user.end.config.container_id in address
    assert link.name in address
    terminus: Any = link.target if sends else link.source
    assert terminus.dynamic
    assert terminus.dynamic_node_properties[LIFETIME] == spec.DeleteOnClose()
    if sends:
        receiver = other.receiver(address, credit=1)
        assert user.send(link, b"it") == [amqp.Accepted()]
        assert other.bodies(receiver) == [b"it"]
    else:
        assert other.send(other.sender(address), b"it") == [amqp.Accepted()]
        assert user.bodies(link) == [b"it"]


def test_a_dynamic_node_has_a_name_that_every_version_can_say(world: World) -> None:
    user = world.connect(container_id="ü" * 100)
    addresses: list[str] = []
    for number in range(2):
        link = user.receiver(amqp.Source(dynamic=True), name=f"{number}" * 300)
        assert link.address is not None
        addresses.append(link.address)
    assert [len(each.encode()) <= 255 for each in addresses] == [True, True]
    assert addresses[0] != addresses[1]


@pytest.mark.rule("1.0/lifetime/delete-on-close", "1.0/transport/error/resource-deleted")
@pytest.mark.parametrize("policy", [None, spec.DeleteOnClose()], ids=["default", "said"])
def test_delete_on_close_goes_with_the_creating_link(world: World, policy: Any) -> None:
    user, other = world.connect(), world.connect()
    link, address = dynamic(user, policy)
    sender = other.sender(address)
    other.send(sender, b"it")
    link.close()
    world.pump()
    assert names(world) == []
    assert other.refused(sender) == "amqp:resource-deleted"


@pytest.mark.rule("1.0/lifetime/delete-on-no-links", "1.0/node-properties/lifetime")
def test_delete_on_no_links_goes_with_the_last_link(world: World) -> None:
    user, other = world.connect(), world.connect()
    link, address = dynamic(user, spec.DeleteOnNoLinks())
    sender = other.sender(address)
    link.close()
    world.pump()
    assert names(world) == [address]
    assert other.send(sender, b"it") == [amqp.Accepted()]
    sender.close()
    world.pump()
    assert names(world) == []


@pytest.mark.rule("1.0/lifetime/delete-on-no-messages")
def test_delete_on_no_messages_goes_when_it_is_empty(world: World) -> None:
    user, other = world.connect(), world.connect()
    link, address = dynamic(user, spec.DeleteOnNoMessages(), sends=True)
    user.send(link, b"it")
    link.close()
    world.pump()
    assert names(world) == [address]
    receiver = other.receiver(address, credit=1)
    (it,) = other.take(receiver)
    assert names(world) == [address]
    receiver.accept(it)
    world.pump()
    assert names(world) == []


@pytest.mark.rule("1.0/lifetime/delete-on-no-links-or-messages")
def test_delete_on_no_links_or_messages_waits_for_both(world: World) -> None:
    user, other = world.connect(), world.connect()
    link, address = dynamic(user, spec.DeleteOnNoLinksOrMessages(), sends=True)
    user.send(link, b"it")
    link.close()
    world.pump()
    receiver = other.receiver(address, credit=1)
    (it,) = other.take(receiver)
    receiver.accept(it)
    world.pump()
    assert names(world) == [address]
    receiver.close()
    world.pump()
    assert names(world) == []


@pytest.mark.rule("1.0/node-properties/supported-dist-modes", "1.0/source.distribution-mode/sender-sets")
@pytest.mark.rule("1.0/transport/link/adjust-report")
@pytest.mark.parametrize(
    "modes",
    [amqp.Symbol("copy"), spec.Array([amqp.Symbol("copy")]), [amqp.Symbol("copy")]],
    ids=["symbol", "array", "list"],
)
def test_a_dynamic_node_has_the_modes_that_were_asked_for(user: User, modes: Any) -> None:
    properties = {MODES: modes}
    link = user.receiver(amqp.Source(dynamic=True, dynamic_node_properties=properties), credit=10)
    source: Any = link.source
    # One symbol, or an array of them; a list is no field of the type symbol.
    assert source.dynamic_node_properties[MODES] == amqp.Symbol("copy")
    both: Any = user.receiver(amqp.Source(dynamic=True)).source
    assert both.dynamic_node_properties[MODES] == spec.Array([amqp.Symbol("move"), amqp.Symbol("copy")])
    assert source.distribution_mode == "copy"
    assert link.address is not None
    moving = user.receiver(amqp.Source(link.address, distribution_mode=amqp.Symbol("move")), credit=10)
    asked: Any = moving.source
    assert asked.distribution_mode == "copy"
    user.send(user.sender(link.address), b"it")
    assert user.bodies(link) == [b"it"]
    assert user.bodies(moving) == [b"it"]


@pytest.mark.parametrize(
    "properties",
    [{LIFETIME: 7}, {MODES: [amqp.Symbol("share")]}, {MODES: []}, {MODES: spec.Array([], element=amqp.Symbol)}],
    ids=["lifetime", "mode", "no mode", "no mode of an array"],
)
def test_wrong_node_properties_are_refused(world: World, user: User, properties: Any) -> None:
    source = amqp.Source(dynamic=True, dynamic_node_properties=properties)
    assert user.refused(user.session().open_receiver(source)) == "amqp:invalid-field"
    assert names(world) == []
    assert user.end.is_open


@pytest.mark.parametrize(
    "source",
    [
        amqp.Source("q", outcomes=(amqp.Symbol("made:up:list"),)),
        amqp.Source(
            "q",
            filter={amqp.Symbol("f"): amqp.Described(amqp.Symbol("f"), 1)},
            distribution_mode=amqp.Symbol("teleport"),
        ),
    ],
    ids=["outcomes", "mode"],
)
def test_what_nobody_knows_is_left_out_or_refused(world: World, user: User, source: amqp.Source) -> None:
    world.queue("q")
    link = user.session().open_receiver(source)
    world.pump()
    if source.distribution_mode:
        found: Any = link.source
        assert found.distribution_mode == "move"
        assert not found.filter
    else:
        assert user.refused(link) == "amqp:invalid-field"


@pytest.mark.rule("1.0/transport/error/resource-deleted")
def test_links_end_with_their_node(world: World, user: User) -> None:
    world.queue("jobs")
    world.exchange("ex", "fanout")
    world.put("jobs", b"one", b"two")
    sender, receiver = user.sender("jobs"), user.receiver("jobs", credit=1)
    to_exchange, of_exchange = user.sender("/exchanges/ex"), user.receiver("/exchanges/ex", credit=1)
    (one,) = user.take(receiver)
    world.hub.apply(DeleteQueue(world.owner, "jobs"))
    world.hub.settle()
    for link in (sender, receiver):
        assert user.refused(link) == "amqp:resource-deleted"
    assert to_exchange.is_open
    world.hub.apply(DeleteExchange(world.owner, "ex"))
    world.hub.settle()
    for each in (to_exchange, of_exchange):
        assert user.refused(each) == "amqp:resource-deleted"
    assert one.body == b"one"
    assert names(world) == []


@pytest.mark.rule("1.0/transport/error/resource-locked")
def test_a_queue_that_is_anothers_is_locked(world: World, user: User) -> None:
    other = world.hub.apply(OpenOwner("/", "other"))
    world.hub.apply(DeclareQueue(other, "mine", exclusive_to=other))
    world.queue("shared")
    world.hub.apply(Subscribe(other, "shared", "only", exclusive=True))
    session = user.session()
    assert user.refused(session.open_receiver("mine")) == "amqp:resource-locked"
    assert user.refused(session.open_receiver("shared")) == "amqp:resource-locked"
    assert user.send(user.sender("mine"), b"it") == [amqp.Accepted()]


@pytest.mark.rule("1.0/transport/error/resource-limit")
def test_a_bound_of_the_broker_refuses_a_node() -> None:
    world = World(limits=BrokerLimits(queues=1, consumers=1))
    user = world.connect()
    dynamic(user, None)
    session = user.session()
    assert user.refused(session.open_receiver(amqp.Source(dynamic=True))) == "amqp:resource-limit-exceeded"
    address = names(world)[0]
    assert user.refused(session.open_receiver(address)) == "amqp:resource-limit-exceeded"
    assert len(world.hub.model.owners) == 3


def test_consumers_have_priorities(world: World, user: User) -> None:
    world.queue("jobs")
    low = user.receiver("jobs", credit=10)
    high = user.receiver("jobs", credit=2, properties={amqp.Symbol("rabbitmq:priority"): 5})
    world.put("jobs", b"1", b"2", b"3")
    assert user.bodies(high) == [b"1", b"2"]
    assert user.bodies(low) == [b"3"]


@pytest.mark.parametrize("how", ["end", "close", "lose"])
def test_what_an_inactive_consumer_waited_for_is_not_delivered_to_it_when_all_are_gone_at_once(how: str) -> None:
    world = World()
    world.queue("two", arguments={"x-single-active-consumer": True})
    user, other = world.connect(), world.connect()
    session = user.session()
    user.receiver("two", session, name="active")
    user.receiver("two", session, name="next", credit=10)
    other.send(other.sender("two"), b"m")
    ends: dict[str, Callable[[], object]] = {"end": session.close, "close": user.end.close, "lose": user.cut}
    ends[how]()
    world.pump()
    assert world.state("two") == (1, 0)
