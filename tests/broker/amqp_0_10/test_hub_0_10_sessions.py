"""Sessions of a hub: attached once, taken with force, kept and resumed, ended (class 2)."""

# What a second attach on one connection is, only its control can say.
# pyright: reportPrivateUsage=false
from collections.abc import Callable
from typing import Any

import pytest

from amqp_sansio import Accepted, RemoteProtocolError
from amqp_sansio import amqp_0_10 as amqp
from amqp_sansio.amqp_0_10 import Session, spec
from amqp_sansio.broker.frontends.amqp_0_10.sessions import register_of
from amqp_sansio.broker.snapshot import dumps, loads
from tests.kit.hub_0_10 import User, World

# Attaching.


@pytest.mark.rule("0-10/session.attach/one-transport")
def test_a_session_that_is_attached_elsewhere_is_busy(world: World) -> None:
    one, two = world.connect(), world.connect()
    session = one.session(b"s", timeout=60)
    with pytest.raises(RemoteProtocolError) as raised:
        two.session(b"s")
    assert raised.value.condition == "session-busy"
    assert one.call(session, spec.QueueQuery("q")).queue is None


@pytest.mark.rule("0-10/session.attach/scoping")
def test_names_are_a_users_own(world: World) -> None:
    one, two = world.connect("guest"), world.connect("other")
    first, second = one.session(b"s"), two.session(b"s")
    one.queue(first, "mine", exclusive=True)
    assert two.refused(second, spec.QueueDelete("mine")) == 405


@pytest.mark.rule("0-10/session.attach/force")
@pytest.mark.parametrize("hangs", [False, True])
def test_force_takes_a_session_from_another_connection(world: World, hangs: bool) -> None:
    one, two = world.connect(), world.connect()
    session = one.session(b"s", timeout=60)
    one.queue(session, "q", exclusive=True)
    one.put(session, "q", b"1", b"2")
    one.subscribe(session, "q", credit=1)
    (got,) = one.got(session)
    state = session.detached_state if hangs else None
    if hangs:
        # Its octets don't arrive any more, nobody knows.
        one.is_cut = True
        one.end.connection_lost("gone", 0.0)
        one.hear()
        assert state is not None
        again = two.resume(state())
        two.result(again.accept(got.command_id, sync=True))
        assert two.bodies(again) == [b"2"]
        return
    other = two.end.open_session(b"s", timeout=60, force=True)
    world.pump()
    closed = [each for each in one.events if isinstance(each, amqp.SessionClosed)]
    assert closed[0].resumable
    assert closed[0].report.code == 1
    # This one isn't it: it was opened as a new one, which the broker knows.
    assert other.report is not None


@pytest.mark.rule("0-10/session.attach/force")
def test_force_moves_a_session_to_another_channel_of_its_connection(peer: User, world: World) -> None:
    session = peer.session(b"s", timeout=60)
    peer.queue(session, "q", exclusive=True)
    peer.end._transport.send(5, spec.SessionAttach(b"s", True))  # pyright: ignore[reportPrivateUsage]
    # The engine of the client knows nothing of it, so that it isn't to hear the answer.
    peer.client.receive_data(peer.end.data_to_send(0.0), 0.0)
    peer.client.next_event()
    front: Any = world.hub.fronts[peer.client.number]
    assert list(front.attached) == [5]
    assert front.connection.sessions == (5,)
    assert "q" in world.hub.model.vhosts["/"].queues
    answer = peer.client.data_to_send(0.0)
    assert answer.count(spec.SessionDetached(b"s", 1).encode()) == 1


@pytest.mark.rule("0-10/session.attach/force")
def test_a_session_that_is_not_kept_begins_anew_with_force(world: World) -> None:
    one, two = world.connect(), world.connect()
    session = one.session(b"s", timeout=0)
    one.queue(session, "q", exclusive=True, auto_delete=True)
    other = two.session(b"s", timeout=0, force=True)
    assert two.depth(other, "q") is None
    assert session.report is not None


# Being kept.


def subscribed(world: World, *bodies: bytes, credit: int = 10) -> tuple[User, Session]:
    """A session that is kept, with an exclusive queue and a subscription."""
    peer = world.connect()
    session = peer.session(b"s", timeout=60)
    peer.queue(session, "q", exclusive=True, auto_delete=True)
    peer.put(session, "q", *bodies)
    peer.subscribe(session, "q", credit=credit)
    return peer, session


@pytest.mark.rule("0-10/session/state-kept")
@pytest.mark.parametrize("how", ["detach", "cut"])
def test_a_session_goes_on_where_it_was(world: World, how: str) -> None:
    peer, session = subscribed(world, b"1", credit=3)
    (first,) = peer.got(session)
    if how == "detach":
        session.detach()
        world.pump()
    else:
        peer.cut()
    state = session.detached_state()
    other = world.connect()
    helper = other.session(b"helper")
    other.put(helper, "q", b"2", b"3", b"4")
    world.advance(59.0)
    assert other.depth(helper, "q") == 3
    again = other.resume(state)
    assert other.bodies(again) == [b"2", b"3"]
    other.result(again.accept(first.command_id, sync=True))
    assert other.bodies(again) == [b"4"]


@pytest.mark.rule("0-10/session/state-kept")
def test_a_session_that_nobody_resumes_ends(world: World) -> None:
    peer, session = subscribed(world, b"1")
    state = session
    peer.cut()
    assert world.hub.next_deadline == 60.0
    world.advance(59.9)
    assert "q" in world.hub.model.vhosts["/"].queues
    world.advance(0.2)
    assert "q" not in world.hub.model.vhosts["/"].queues
    assert world.hub.next_deadline is None
    assert not register_of(world.hub).known
    other = world.connect()
    with pytest.raises(RemoteProtocolError):
        other.resume(state.detached_state())


def test_what_an_expired_session_had_goes_back_as_redelivered(peer: User, world: World) -> None:
    session = peer.session(b"s", timeout=5)
    peer.queue(session, "q")
    peer.put(session, "q", b"1")
    peer.subscribe(session, "q", credit=10)
    assert len(peer.got(session)) == 1
    peer.cut()
    world.advance(6.0)
    other = world.connect()
    second = other.session()
    other.subscribe(second, "q", credit=1)
    (got,) = other.got(second)
    properties = got.headers.delivery_properties
    assert properties is not None
    assert properties.redelivered


@pytest.mark.rule("0-10/session/state-kept")
def test_without_a_timeout_a_session_ends_with_its_attachment(peer: User, world: World) -> None:
    session = peer.session(b"s", timeout=0)
    peer.queue(session, "q", exclusive=True, auto_delete=True)
    session.detach()
    world.pump()
    assert "q" not in world.hub.model.vhosts["/"].queues


def test_a_kept_session_with_a_deleted_queue_ends_when_it_is_resumed(peer: User, world: World) -> None:
    session = peer.session(b"s", timeout=60)
    peer.queue(session, "q")
    peer.subscribe(session, "q", credit=1)
    peer.cut()
    other = world.connect()
    helper = other.session(b"helper")
    other.call(helper, spec.QueueDelete("q"))
    again = other.end.resume_session(session.detached_state())
    world.pump()
    assert again.report is not None
    assert again.report.code == 408


def test_a_session_outlives_a_pickled_hub(world: World) -> None:
    peer, session = subscribed(world, b"1", b"2", credit=1)
    assert len(peer.got(session)) == 1
    peer.cut()
    state = session.detached_state()
    for _ in range(2):
        copy, kept = loads(dumps((world, state)))
        other = copy.connect()
        again = other.resume(kept)
        (got,) = again.unsettled
        other.result(again.accept(got, sync=True))
        assert other.bodies(again) == [b"2"]


# Exactly once.


def cut_at(count: int, *, at_server: bool, act: Callable[[User, Session], None]) -> list[bytes]:
    """What is in the queue when a client acts, its connection is cut so many octets later, and it goes on elsewhere."""
    world = World()
    peer = world.connect()
    session = peer.session(b"s", timeout=60)
    peer.queue(session, "q")
    act(peer, session)
    if at_server:
        octets = peer.end.data_to_send(0.0)[:count]
        peer.client.receive_data(octets, 0.0)
        peer.client.next_event()
    else:
        peer.client.receive_data(peer.end.data_to_send(0.0), 0.0)
        peer.client.next_event()
        octets = peer.client.data_to_send(0.0)[:count]
        peer.end.receive_data(octets, 0.0)
        peer.hear()
    peer.cut()
    other = world.connect()
    again = other.resume(session.detached_state())
    other.result(again.sync())
    return other.drain(again, "q")


def publishes(peer: User, session: Session) -> None:
    for number in range(3):
        session.transfer("", amqp.Message(b"%d" % number, routing_key="q"), accept_mode=number % 2)
    session.sync()


def publishes_in_a_transaction(peer: User, session: Session) -> None:
    session.call(spec.TxSelect())
    publishes(peer, session)
    session.call(spec.TxCommit())


Act = Callable[[User, Session], None]
ACTS = pytest.mark.parametrize("act", [publishes, publishes_in_a_transaction], ids=["plainly", "in tx"])
SIDES = pytest.mark.parametrize("at_server", [True, False], ids=["at the server", "at the client"])


@ACTS
@SIDES
def test_nothing_is_lost_or_done_twice_wherever_the_connection_is_cut(
    act: Act, at_server: bool, step: int = 12
) -> None:
    """After every twelfth octet; tests/system/broker/test_every_cut.py cuts in steps of three."""
    for count in range(0, 420, step):
        assert cut_at(count, at_server=at_server, act=act) == [b"0", b"1", b"2"], count


@pytest.mark.parametrize("rest", range(0, 120, 7))
def test_deliveries_come_once_wherever_the_connection_is_cut(world: World, peer: User, rest: int) -> None:
    session = peer.session(b"s", timeout=60)
    peer.queue(session, "q")
    for number in range(5):
        peer.put(session, "q", b"%d" % number)
    peer.subscribe(session, "q")
    session.top_up("d", 100)
    peer.client.receive_data(peer.end.data_to_send(0.0), 0.0)
    peer.client.next_event()
    peer.end.receive_data(peer.client.data_to_send(0.0)[: rest * 5], 0.0)
    peer.hear()
    got = [each for each in peer.events if isinstance(each, amqp.MessageReceived)]
    peer.cut()
    other = world.connect()
    again = other.resume(session.detached_state())
    got += other.got(again)
    assert sorted([each.body for each in got]) == [b"0", b"1", b"2", b"3", b"4"]
    other.result(again.accept(*[each.command_id for each in got], sync=True))
    assert world.hub.model.vhosts["/"].queues["q"].messages == 0


def test_a_publish_whose_client_is_gone_is_accepted_when_the_session_goes_on(peer: User, world: World) -> None:
    """It was executed when nobody could be told."""
    session = peer.session(b"s", timeout=60)
    peer.queue(session, "q")
    explicit = session.transfer("", amqp.Message(b"1", routing_key="q"))
    refused = session.transfer("", amqp.Message(b"2", routing_key="nowhere"))
    query = session.call(spec.QueueQuery("q"))
    peer.client.receive_data(peer.end.data_to_send(0.0), 0.0)
    peer.cut()
    other = world.connect()
    again = other.resume(session.detached_state())
    other.result(again.sync())
    assert explicit.outcome is not None
    assert refused.outcome is not None
    assert isinstance(explicit.outcome.result, Accepted)
    assert isinstance(refused.outcome.result, amqp.Rejected)
    assert query.result is not None
    assert query.result.message_count == 1
    assert not again.pending
    assert other.depth(again, "q") == 1
    assert isinstance(other.publish(again, "", amqp.Message(b"3", routing_key="q")), Accepted)


def test_an_exception_behind_a_lost_connection_ends_the_session(peer: User, world: World) -> None:
    session = peer.session(b"s", timeout=60)
    session.transfer("nowhere", b"m")
    peer.client.receive_data(peer.end.data_to_send(0.0), 0.0)
    peer.cut()
    assert not register_of(world.hub).known
    other = world.connect()
    with pytest.raises(RemoteProtocolError):
        other.resume(session.detached_state())
