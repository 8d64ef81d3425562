"""Logging in, opening a virtual host, and the ends of connections (class 1)."""

import pytest

from amqp_sansio import Accepted
from amqp_sansio.amqp_0_10 import Config, Message, Session
from amqp_sansio.broker import Settings
from amqp_sansio.broker import User as Login
from amqp_sansio.sasl import Anonymous, ClientMechanism, External, Plain, ScramSha256
from tests.kit.hub_0_10 import User, World

USERS: dict[str, str | Login] = {"guest": "guest", "other": Login("secret", vhosts=("test",))}


def test_who_is_let_in() -> None:
    world = World(Settings(users=USERS, vhosts=("/", "test")))
    world.connect("guest")
    world.connect(sasl=Plain("other", "secret"), vhost="test")
    world.connect(sasl=ScramSha256("other", "secret", nonce="n"), vhost="test")
    assert sorted([front.describe() for front in world.hub.fronts.values()]) == [
        ("guest", "/"),
        ("other", "test"),
        ("other", "test"),
    ]


@pytest.mark.parametrize(
    ("sasl", "vhost", "code"),
    [
        (Plain("guest", "wrong"), "/", 320),
        (Plain("nobody", "guest"), "/", 320),
        (ScramSha256("guest", "wrong", nonce="n"), "/", 320),
        (Plain("guest", "guest"), "nowhere", 402),
        (Plain("other", "secret"), "/", 320),
    ],
    ids=["password", "user", "proof", "vhost", "access"],
)
def test_who_is_turned_away(sasl: ClientMechanism, vhost: str, code: int) -> None:
    world = World(Settings(users=USERS, vhosts=("/", "test")))
    peer = world.attempt(config=Config(sasl=sasl, vhost=vhost))
    assert not peer.end.is_open
    assert peer.closed is not None
    assert peer.closed.report.code == code


def test_no_virtual_host_is_the_first_one(world: World) -> None:
    world.connect(vhost="")
    assert [front.describe() for front in world.hub.fronts.values()] == [("guest", "/")]


def test_a_certificate_and_nobody() -> None:
    settings = Settings(users={"me": ""}, mechanisms=("EXTERNAL", "PLAIN"), anonymous=True)
    world = World(settings)
    world.connect(sasl=External(), is_secure=True, peer_name="me")
    world.connect(sasl=Anonymous())
    assert [front.describe()[0] for front in world.hub.fronts.values()] == ["me", "anonymous"]


def test_virtual_hosts_have_nothing_in_common() -> None:
    world = World(Settings(users={"guest": "guest"}, vhosts=("/", "test")))
    one, two = world.connect(), world.connect(vhost="test")
    first, second = one.session(b"s"), two.session(b"s")
    one.queue(first, "q")
    assert two.depth(second, "q") is None
    two.queue(second, "q")
    one.put(first, "q", b"m")
    assert two.depth(second, "q") == 0


def test_the_broker_ends(world: World, peer: User) -> None:
    session = peer.session(timeout=60)
    peer.queue(session, "q")
    world.hub.shut_down("good night")
    world.pump()
    assert peer.closed is not None
    assert (peer.closed.report.code, "good night" in str(peer.closed.report)) == (320, True)
    late = world.attempt()
    assert not late.end.is_open


def test_a_closed_connection_leaves_nothing(world: World, peer: User, session: Session) -> None:
    peer.queue(session, "q", exclusive=True, auto_delete=True)
    peer.end.close()
    world.pump()
    peer.cut()
    assert not world.hub.fronts
    assert not world.hub.clients
    assert not world.hub.model.owners
    assert not world.hub.model.vhosts["/"].queues


def test_who_publishes_and_hangs_up_is_heard(world: World, peer: User, session: Session) -> None:
    """The octets that came before the end of the transport count."""
    peer.queue(session, "q")
    session.transfer("", Message(b"last words", routing_key="q"), accept_mode=1)
    peer.client.receive_data(peer.end.data_to_send(0.0), 0.0)
    peer.cut()
    other = world.connect()
    assert other.drain(other.session(), "q") == [b"last words"]


def test_the_world_pickles_at_any_step(world: World, peer: User) -> None:
    session = peer.session(timeout=60)
    peer.queue(session, "q")
    session.transfer("", Message(b"1", routing_key="q"))
    octets = peer.end.data_to_send(0.0)
    bodies: list[bytes] = []
    for cut in range(len(octets) + 1):
        copy = world.copied()
        again = copy.users[0]
        again.client.receive_data(octets[:cut], 0.0)
        again.client.next_event()
        copy = copy.copied()
        again = copy.users[0]
        again.client.receive_data(octets[cut:], 0.0)
        copy.pump()
        there = again.end.session(0)
        assert isinstance(again.publish(there, "", Message(b"2", routing_key="q")), Accepted)
        bodies += again.drain(there, "q")
    assert bodies == [b"1", b"2"] * (len(octets) + 1)
