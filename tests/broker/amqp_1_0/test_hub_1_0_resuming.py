"""1.0 links that survive on the broker: detached and attached again, expiry, stealing, unsettled deliveries."""

from typing import Any

import pytest

from amqp_sansio import amqp_1_0 as amqp
from amqp_sansio.amqp_1_0 import spec
from amqp_sansio.broker.frontends.amqp_1_0.links import Termini
from amqp_sansio.broker.limits import BrokerLimits
from amqp_sansio.broker.model.commands import DeleteExchange, DeleteQueue
from tests.kit.hub_1_0 import User, World, browsing
from tests.kit.octets_1_0 import octets_of, parse

NEVER = spec.TerminusExpiryPolicy.NEVER


@pytest.fixture
def world() -> World:
    """It has a queue called jobs."""
    world = World()
    world.queue("jobs")
    return world


def lasting(address: str | None = "jobs", policy: str = NEVER, timeout: int = 0, **fields: Any) -> amqp.Source:
    """A source that survives."""
    return amqp.Source(address, durable=2, expiry_policy=amqp.Symbol(policy), timeout=timeout, **fields)


def kept(world: World) -> int:
    """How many termini are kept without a link."""
    return len(Termini.of(world.hub).kept)


def again(world: World, name: str = "me") -> User:
    """Another connection of the same container."""
    return world.connect(container_id=name)


@pytest.fixture
def user(world: World) -> User:
    return again(world)


@pytest.mark.rule("1.0/terminus/durability", "1.0/transport/link/unsettled-on-attach")
def test_a_receiver_resumes_after_a_cut_with_what_it_had_not_settled(world: World, user: User) -> None:
    world.put("jobs", b"one", b"two", b"three")
    receiver = user.receiver(lasting(), name="mine", credit=2)
    one, _ = user.take(receiver)
    receiver.accept(one)
    user.cut()
    assert world.state("jobs") == (1, 2)
    state = receiver.saved_state()
    user = again(world)
    receiver = user.receiver(None, state=state, credit=10)
    (resumed,) = user.of(amqp.Resumed)
    assert not resumed.incomplete
    found = user.take(receiver)
    assert [each.body for each in found] == [b"one", b"two", b"three"]
    receiver.accept(*found)
    world.pump()
    assert world.state("jobs") == (0, 0)


def test_an_outcome_that_was_on_its_way_counts_after_the_resumption(world: World, user: User) -> None:
    world.put("jobs", b"one", b"two")
    receiver = user.receiver(lasting(), name="mine", rcv_settle_mode=1, credit=2)
    one, two = user.take(receiver)
    receiver.accept(one)
    receiver.update([two], amqp.Modified(delivery_failed=True))
    user.cut()
    assert world.state("jobs") == (0, 2)
    user = again(world)
    receiver = user.receiver(None, state=receiver.saved_state(), credit=10)
    (it,) = user.take(receiver)
    assert (it.body, it.message.delivery_count) == (b"two", 1)
    assert world.state("jobs") == (0, 1)


def test_a_client_that_forgot_gets_what_it_had_again(world: World, user: User) -> None:
    world.put("jobs", b"one", b"two")
    receiver = user.receiver(lasting(), name="mine", credit=1)
    assert user.bodies(receiver) == [b"one"]
    receiver.detach()
    world.pump()
    assert world.state("jobs") == (1, 1)
    receiver = user.receiver(lasting(), name="mine", credit=10)
    assert user.bodies(receiver) == [b"one", b"two"]
    assert world.state("jobs") == (0, 2)


@pytest.mark.rule("1.0/transport/link/recover")
def test_a_link_without_a_terminus_recovers_the_brokers(world: World, user: User) -> None:
    receiver = user.receiver(lasting(), name="mine")
    sender = user.sender(amqp.Target("jobs", expiry_policy=NEVER), name="yours")
    receiver.detach()
    sender.detach()
    world.pump()
    assert kept(world) == 2
    receiver = user.receiver(None, name="mine", credit=10)
    assert receiver.address == "jobs"
    sender = user.sender(None, name="yours")
    assert sender.address == "jobs"
    user.send(sender, b"one")
    assert user.bodies(receiver) == [b"one"]
    session = user.session()
    assert user.refused(session.open_receiver(None, name="unknown")) == "amqp:not-found"
    assert user.refused(session.open_sender(None, name="unknown")) == "amqp:not-found"


@pytest.mark.rule("1.0/terminus/expiry-policy")
@pytest.mark.parametrize("timeout", [0, 30])
@pytest.mark.parametrize("policy", ["link-detach", "session-end", "connection-close", "never"])
def test_a_terminus_expires_as_its_policy_says(world: World, user: User, policy: str, timeout: int) -> None:
    session = user.session()
    receiver = user.receiver(lasting(policy=policy, timeout=timeout), session, name="mine", credit=1)
    world.put("jobs", b"one")
    assert user.bodies(receiver) == [b"one"]
    steps = [("link-detach", receiver.detach), ("session-end", session.close), ("connection-close", user.end.close)]
    for name, step in steps:
        step()
        world.pump()
        if name == policy:
            break
        assert kept(world) == 1
        world.advance(1000)
        assert kept(world) == 1
    if policy == "never":
        assert world.state("jobs") == (0, 1)
        return
    if timeout:
        world.advance(timeout - 1)
        assert kept(world) == 1
        assert world.state("jobs") == (0, 1)
        world.advance(2)
    assert kept(world) == 0
    assert world.state("jobs") == (1, 0)
    assert world.hub.next_deadline is None


@pytest.mark.rule("1.0/terminus/expiry-policy")
def test_an_attach_stops_the_time_and_it_begins_anew(world: World, user: User) -> None:
    session = user.session()
    source = lasting(policy="link-detach", timeout=30)
    for _ in range(3):
        receiver = user.receiver(source, session, name="mine")
        receiver.detach()
        world.pump()
        world.advance(20)
        assert kept(world) == 1
    world.advance(20)
    assert kept(world) == 0


def test_a_subscription_of_an_exchange_collects_while_nobody_is_there(world: World) -> None:
    user, other = again(world), world.connect()
    sender = other.sender("/topic/news")
    receiver = user.receiver(lasting("/topic/news"), name="mine", credit=10)
    user.cut()
    assert other.send(sender, b"one", b"two") == [amqp.Accepted(), amqp.Accepted()]
    user = again(world)
    receiver = user.receiver(lasting("/topic/news"), name="mine", credit=10)
    assert user.bodies(receiver) == [b"one", b"two"]
    receiver.close()
    world.pump()
    assert list(world.hub.model.vhosts["/"].queues) == ["jobs"]
    assert kept(world) == 0


@pytest.mark.rule("1.0/source/no-resend-accepted", "1.0/source/copy")
def test_a_browser_goes_on_where_it_was(world: World, user: User) -> None:
    world.put("jobs", b"one", b"two", b"three")
    source = browsing("jobs", expiry_policy=NEVER)
    receiver = user.receiver(source, name="mine", credit=2)
    one, two = user.take(receiver)
    receiver.accept(one, two)
    world.pump()
    receiver.detach()
    world.pump()
    user.cut()
    user = again(world)
    receiver = user.receiver(source, name="mine", credit=10)
    assert user.bodies(receiver) == [b"three"]
    assert world.state("jobs") == (3, 0)


@pytest.mark.rule("1.0/transport/link/steal")
def test_a_link_attached_on_another_connection_is_stolen(world: World, user: User) -> None:
    receiver = user.receiver(lasting(), name="mine", credit=1)
    world.put("jobs", b"one", b"two")
    assert user.bodies(receiver) == [b"one"]
    thief = again(world)
    stolen = thief.receiver(lasting(), name="mine", credit=10)
    assert user.refused(receiver) == "amqp:link:stolen"
    assert thief.bodies(stolen) == [b"one", b"two"]
    user.cut()
    assert world.state("jobs") == (0, 2)
    stolen.close()
    world.pump()
    for each in thief.take():
        raise AssertionError(each)
    receiver = thief.receiver("jobs", credit=2)
    receiver.accept(*thief.take(receiver))
    receiver.close()


def test_a_link_that_can_not_outlive_its_connection_is_a_new_one_on_another(world: World) -> None:
    user, thief = again(world), again(world)
    receiver = user.receiver("jobs", name="brief", credit=1)
    world.put("jobs", b"three")
    assert user.bodies(receiver) == [b"three"]
    thief.receiver("jobs", name="brief", credit=10)
    assert user.refused(receiver) == "amqp:link:stolen"
    assert thief.bodies() == [b"three"]


@pytest.mark.rule("1.0/transport/link/steal")
def test_a_link_attached_in_another_session_takes_over_what_is_unsettled(world: World, user: User) -> None:
    receiver = user.receiver("jobs", name="mine", credit=1)
    world.put("jobs", b"one")
    assert user.bodies(receiver) == [b"one"]
    session = user.session()
    attach = spec.Attach("mine", 5, True, 2, 0, amqp.Source("jobs"), amqp.Target("here"), unsettled={})
    flow = spec.Flow(0, 100, 0, 100, 5, 0, 10)
    octets = octets_of(attach, session.channel) + octets_of(flow, session.channel)
    user.client.receive_data(octets, world.now)
    user.client.next_event()
    names = [(each.name, each.body) for each in parse(user.client.data_to_send(world.now))]
    assert [name for name, _ in names] == ["detach", "attach", "transfer"]
    (detach, answer, transfer) = [body for _, body in names]
    assert detach.error.condition == "amqp:link:stolen"
    assert list(answer.unsettled) == [b"\x00\x00\x00\x00"]
    assert transfer.delivery_tag == b"\x00\x00\x00\x00"
    assert world.state("jobs") == (0, 1)
    assert len(world.hub.model.vhosts["/"].queues["jobs"].consumers) == 1


def test_containers_do_not_share_links(world: World) -> None:
    one, two = again(world, "a"), again(world, "b")
    first, second = one.receiver(lasting(), name="mine"), two.receiver(lasting(), name="mine")
    sender = one.sender("jobs", name="mine")
    assert first.is_open
    assert second.is_open
    assert sender.is_open


def test_a_kept_link_to_another_node_is_a_new_one(world: World) -> None:
    world.queue("other")
    user = again(world)
    receiver = user.receiver(lasting(), name="mine", credit=1)
    world.put("jobs", b"one")
    assert user.bodies(receiver) == [b"one"]
    receiver.detach()
    world.pump()
    other = user.receiver(lasting("other"), name="mine", credit=1)
    assert world.state("jobs") == (1, 0)
    other.detach()
    world.pump()
    world.hub.apply(DeleteQueue(world.owner, "other"))
    world.hub.settle()
    assert user.refused(user.session().open_receiver(lasting("other"), name="mine")) == "amqp:not-found"
    assert kept(world) == 0


@pytest.mark.rule("1.0/transport/link/verify")
def test_a_kept_link_is_over_when_its_node_is(world: World) -> None:
    world.exchange("ex", "fanout")
    user = again(world)
    sender = user.sender("jobs", name="mine")
    other, receiver = user.sender("/exchanges/ex", name="yours"), user.receiver("/exchanges/ex", name="theirs")
    for each in (sender, other, receiver):
        each.detach()
    world.pump()
    world.hub.apply(DeleteQueue(world.owner, "jobs"))
    world.hub.apply(DeleteExchange(world.owner, "ex"))
    world.hub.settle()
    session = user.session()
    assert user.refused(session.open_sender("jobs", name="mine")) == "amqp:not-found"
    assert user.refused(session.open_sender("/exchanges/ex", name="yours")) == "amqp:not-found"
    assert user.refused(session.open_receiver("/exchanges/ex", name="theirs")) == "amqp:not-found"
    assert kept(world) == 0
    assert not world.hub.model.vhosts["/"].queues


@pytest.mark.rule("1.0/transport/link/verify")
def test_a_node_of_the_same_name_is_another_node(world: World) -> None:
    world.exchange("ex", "fanout")
    user = again(world)
    receiver = user.receiver("/exchanges/ex", name="mine")
    receiver.detach()
    world.pump()
    world.hub.apply(DeleteExchange(world.owner, "ex"))
    world.hub.settle()
    world.exchange("ex", "fanout")
    receiver = user.receiver("/exchanges/ex", name="mine", credit=1)
    assert user.send(user.sender("/exchanges/ex"), b"one") == [amqp.Accepted()]
    assert user.bodies(receiver) == [b"one"]


def test_a_dynamic_node_is_another_than_the_anonymous_terminus(world: World, user: User) -> None:
    sender = user.sender(amqp.Target(address=None), name="mine")
    sender.detach()
    world.pump()
    sender = user.sender(amqp.Target(dynamic=True), name="mine")
    address = sender.address
    assert address is not None
    assert user.send(sender, b"one") == [amqp.Accepted()]
    sender.detach()
    world.pump()
    sender = user.sender(amqp.Target(address=None), name="mine")
    assert sender.address is None
    assert address not in world.hub.model.vhosts["/"].queues


def test_a_link_to_another_node_may_make_one_with_the_name_of_its_own(world: World, user: User) -> None:
    receiver = user.receiver(amqp.Source(dynamic=True), name="mine")
    address = receiver.address
    receiver.detach()
    world.pump()
    receiver = user.receiver(f"/queue/{address}", name="mine", credit=1)
    assert user.send(user.sender(address), b"one") == [amqp.Accepted()]
    assert user.bodies(receiver) == [b"one"]


@pytest.mark.rule("1.0/terminus/expiry-policy")
@pytest.mark.parametrize("sends", [False, True], ids=["source", "target"])
def test_a_link_that_is_kept_for_its_connection_is_a_new_one_on_another(world: World, sends: bool) -> None:
    user, other = again(world), again(world)
    world.put("jobs", b"one")
    receiver, sender = user.receiver("jobs", name="mine", credit=1), user.sender("jobs", name="mine")
    user.take()
    (sender if sends else receiver).detach()
    world.pump()
    taken = other.sender("jobs", name="mine") if sends else other.receiver("jobs", name="mine", credit=1)
    assert kept(world) == 0
    assert world.state("jobs") == (0, 1)
    user.cut()
    if isinstance(taken, amqp.Sender):
        assert other.send(taken, b"two") == [amqp.Accepted()]
    else:
        taken.accept(*other.take())
        taken.flow(1)
        world.put("jobs", b"two")
        assert other.bodies() == [b"two"]


def test_a_sender_resumes_what_the_broker_knows_of(world: World, user: User) -> None:
    target = amqp.Target("jobs", durable=2, expiry_policy=NEVER)
    sender = user.sender(target, name="mine", rcv_settle_mode=1, auto_settle=False)
    handle = sender.send(amqp.Message(b"one"))
    world.pump()
    assert not handle.done
    user.cut()
    state: amqp.LinkState = sender.saved_state()
    assert world.state("jobs") == (1, 0)
    user = again(world)
    sender = user.sender(None, state=state)
    world.pump()
    assert world.state("jobs") == (1, 0)
    assert not sender.pending
    assert user.send(sender, b"two") == [amqp.Accepted()]


def test_dynamic_nodes_survive_with_their_link(world: World) -> None:
    user, other = again(world), world.connect()
    receiver = user.receiver(
        amqp.Source(dynamic=True, expiry_policy=amqp.Symbol("connection-close"), timeout=60), name="mine", credit=10
    )
    state = receiver.saved_state()
    address = receiver.address
    assert address is not None
    user.cut()
    assert other.send(other.sender(address), b"one") == [amqp.Accepted()]
    user = again(world)
    source = amqp.Source(address, expiry_policy=amqp.Symbol("connection-close"), timeout=60)
    receiver = user.receiver(source, name="mine", credit=10)
    assert user.bodies(receiver) == [b"one"]
    assert state.source is not None
    user.cut()
    world.advance(61)
    assert list(world.hub.model.vhosts["/"].queues) == ["jobs"]


@pytest.mark.rule("1.0/transport/error/resource-limit")
def test_links_that_last_are_bounded() -> None:
    world = World(limits=BrokerLimits(kept_links=2))
    world.queue("jobs")
    user = again(world)
    session = user.session()
    user.receiver(lasting(), session, name="one").detach()
    user.sender(amqp.Target("jobs", timeout=10), session, name="two")
    world.pump()
    assert user.refused(session.open_receiver(lasting(), name="three")) == "amqp:resource-limit-exceeded"
    assert user.receiver("jobs", session, name="four").is_open
    assert user.receiver(lasting(), session, name="one").is_open
    assert len(world.hub.model.owners) == 5


def test_kept_links_pickle(world: World, user: User) -> None:
    receiver = user.receiver(lasting(timeout=10, policy="link-detach"), name="mine", credit=1)
    world.put("jobs", b"one")
    assert user.bodies(receiver) == [b"one"]
    state = receiver.saved_state()
    user.cut()
    world.refork()
    assert world.state("jobs") == (0, 1)
    user = again(world)
    receiver = user.receiver(None, state=state, credit=10)
    assert user.bodies(receiver) == [b"one"]
    user.cut()
    world.advance(11)
    assert world.state("jobs") == (1, 0)


@pytest.mark.rule("1.0/transport/disposition/detached-links")
@pytest.mark.parametrize("settled", [False, True])
def test_what_is_said_of_deliveries_after_a_detach_counts(world: World, user: User, settled: bool) -> None:
    world.put("jobs", b"one", b"two", b"three")
    session = user.session()
    receiver = user.receiver(lasting(), session, name="mine", credit=3)
    found = user.take(receiver)
    receiver.detach()
    world.pump()
    assert world.state("jobs") == (0, 3)
    session.disposition(True, [each.delivery_id for each in found[:2]], amqp.Accepted(), settled)
    world.pump()
    assert world.state("jobs") == (0, 1)
    receiver = user.receiver(None, state=receiver.saved_state(), credit=10)
    assert user.bodies(receiver) == [b"three"]


@pytest.mark.rule("1.0/transport/disposition/detached-links")
def test_what_is_said_of_deliveries_after_a_close_is_too_late(world: World, user: User) -> None:
    world.put("jobs", b"one")
    session = user.session()
    receiver = user.receiver(lasting(), session, name="mine", credit=3)
    (it,) = user.take(receiver)
    receiver.close()
    world.pump()
    session.disposition(True, [it.delivery_id], amqp.Accepted(), True)
    world.pump()
    assert world.state("jobs") == (1, 0)
    assert session.is_open
