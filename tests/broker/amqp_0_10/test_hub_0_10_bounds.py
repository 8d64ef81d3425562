"""What bounds a session's deliveries beside its credit, and messages that came by other versions."""

import pytest

from amqp_sansio import Limits
from amqp_sansio import amqp_0_10 as amqp
from amqp_sansio.amqp_0_10 import Session, spec
from amqp_sansio.amqp_1_0 import Message as Message_1_0
from amqp_sansio.broker import BrokerLimits, Settings
from amqp_sansio.broker.contents.amqp_1_0 import Content_1_0
from amqp_sansio.broker.model import commands
from amqp_sansio.broker.model.owner import Owner
from tests.kit.hub_0_10 import User, World


@pytest.mark.parametrize(
    "limits",
    [Limits(replay=10), Limits(calls=10), Limits(unsettled=10), Limits(replay_octets=8000)],
    ids=["replay", "calls", "unsettled", "replay_octets"],
)
@pytest.mark.parametrize("accept_mode", [amqp.spec.EXPLICIT, amqp.spec.NONE])
def test_what_the_engine_keeps_bounds_what_is_delivered(limits: Limits, accept_mode: int) -> None:
    """Nothing is lost, nothing is marked, and the order stays."""
    world = World(Settings(connection_limits=limits))
    peer = world.connect()
    session = peer.session()
    peer.queue(session, "q")
    for number in range(30):
        session.transfer("", amqp.Message(b"%02d" % number + b"x" * 500, routing_key="q"))
        peer.result(session.sync())
    peer.subscribe(session, "q", credit=100, accept_mode=accept_mode)
    found: list[bytes] = []
    for _ in range(30):
        got = peer.got(session)
        if not got:
            break
        assert len(got) <= (20 if limits.unsettled > 10 or accept_mode == amqp.spec.EXPLICIT else 30)
        for each in got:
            properties = each.headers.delivery_properties
            assert properties is not None
            assert not properties.redelivered
            found.append(each.body[:2])
        if accept_mode == amqp.spec.EXPLICIT:
            peer.result(session.accept(*[each.command_id for each in got], sync=True))
        else:
            for each in got:
                session.complete(each.command_id)
            peer.result(session.sync())
    assert found == [b"%02d" % number for number in range(30)]
    assert world.hub.model.vhosts["/"].queues["q"].messages == 0


def test_a_flush_with_nothing_to_read_is_done_at_once(peer: User, session: Session) -> None:
    peer.queue(session, "q")
    peer.subscribe(session, "q", credit=5)
    peer.call(session, spec.MessageFlush("d"))
    assert session.granted("d") == (0, 0)


def from_elsewhere(world: World, queue: str, *bodies: bytes) -> None:
    """Put messages of 1.0 into a queue."""
    owner: Owner = world.hub.apply(commands.OpenOwner("/", "guest"))
    for body in bodies:
        content = Content_1_0(Message_1_0(body=body).encode())
        world.hub.apply(commands.Publish(owner, "", queue, content))
    world.hub.settle()
    world.hub.apply(commands.CloseOwner(owner))
    world.pump()


@pytest.mark.parametrize("left", [-1, 0])
def test_byte_credit_counts_converted_messages_as_they_are_sent(
    world: World, peer: User, session: Session, left: int
) -> None:
    peer.queue(session, "q")
    from_elsewhere(world, "q", b"one", b"two")
    peer.subscribe(session, "q", "seen", acquire_mode=amqp.spec.NOT_ACQUIRED, credit=5)
    seen = peer.got(session, "seen")
    assert [each.body for each in seen] == [b"one", b"two"]
    octets = sum([each.size for each in seen])
    peer.call(session, spec.MessageSubscribe("q", "d", 0, 0))
    peer.call(session, spec.MessageSetFlowMode("d", amqp.spec.CREDIT))
    peer.call(session, spec.MessageFlow("d", amqp.spec.MESSAGE, 10))
    peer.call(session, spec.MessageFlow("d", amqp.spec.BYTE, octets + left))
    assert len(peer.got(session)) == 2 + left


@pytest.mark.parametrize(
    "limits",
    [BrokerLimits(queues=1), BrokerLimits(consumers=1), BrokerLimits(bindings=1)],
    ids=["queues", "consumers", "bindings"],
)
def test_bounds_of_the_model_are_resource_limits(limits: BrokerLimits) -> None:
    world = World(Settings(limits=limits))
    peer = world.connect()
    session = peer.session()
    peer.queue(session, "q", ("amq.fanout", "1"))
    peer.subscribe(session, "q")
    if limits.queues == 1:
        session.call(spec.QueueDeclare("another"))
    elif limits.consumers == 1:
        session.call(spec.MessageSubscribe("q", "e", 0, 0))
    else:
        session.call(spec.ExchangeBind("q", "amq.fanout", "2"))
    assert peer.code_of(session) == 506


def test_a_client_that_asks_and_never_reads_is_dropped() -> None:
    world = World(Settings(connection_limits=Limits(backlog_hard=200_000, backlog_high=100_000)))
    peer, other = world.connect(), world.connect()
    session = peer.session()
    peer.queue(session, "q")
    peer.reads = False
    for _ in range(100):
        for _ in range(100):
            session.call(spec.QueueQuery("q"))
        world.pump()
        if peer.is_cut:
            break
    assert peer.client.number not in world.hub.clients
    assert other.end.is_open
