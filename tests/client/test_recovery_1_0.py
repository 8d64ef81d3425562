"""Recovery of 1.0 without an event loop: the connection is cut at any place, and the pure broker goes on."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

from amqp_sansio import EndpointClosed, StaleDelivery
from amqp_sansio.amqp_1_0 import Accepted, Config, Message, Properties, Source, Target
from amqp_sansio.amqp_1_0 import Connection as Core
from amqp_sansio.broker import Hub, Settings
from amqp_sansio.client.amqp_1_0.client import Client
from amqp_sansio.client.amqp_1_0.connection import Connection
from amqp_sansio.client.amqp_1_0.receiver import ReceivedDelivery, Receiver
from amqp_sansio.client.amqp_1_0.sender import Sender
from amqp_sansio.client.amqp_1_0.session import Session
from amqp_sansio.client.recovery import InDoubt, Recovered, Recovering, RecoveryPolicy
from amqp_sansio.errors import LinkEnded, TransactionFailed
from amqp_sansio.sasl import Plain
from amqp_sansio.uri import parse
from tests.kit.by_hand import Call
from tests.kit.stepped import Stepped

NEVER: dict[str, Any] = {"expiry_policy": "never"}
KEPT = {"target": Target("q", **NEVER), "source": Source("q", **NEVER)}
PLAIN = {"target": Target("q"), "source": Source("q")}


class World(Stepped):
    """A client that recovers, with its events. Each of its cores gets another container-id from its configuration."""

    def __init__(self, policy: RecoveryPolicy | None = None, **options: Any) -> None:
        self.cores = 0
        client = Client(self.new_core(), "unique")
        super().__init__(client, hub=Hub(Settings(seed=b"stepped", auto_create=True)), **options)
        self.connection = Connection(client, parse("amqp://"))
        self.recover(self.new_core, policy or RecoveryPolicy(jitter=0.0))
        self.events = self.connection.events(Recovering, Recovered)

    def new_core(self) -> Core:
        self.cores += 1
        return Core.client(Config(container_id=f"c{self.cores}", sasl=Plain("guest", "guest"), idle_time_out=0))

    async def opened(self) -> Session:
        return await self.connection.open_session()

    def session(self) -> Session:
        return self.run(self.opened())

    def sender(self, session: Session, target: Any = "q", **fields: Any) -> Sender:
        async def opening() -> Sender:
            return await session.open_sender(target, **fields)

        return self.run(opening())

    def receiver(self, session: Session, source: Any = "q", **fields: Any) -> Receiver:
        async def opening() -> Receiver:
            return await session.open_receiver(source, **fields)

        return self.run(opening())

    def take(self, receiver: Receiver) -> ReceivedDelivery:
        return self.run(receiver.__anext__())

    def left(self) -> list[object]:
        """Take all messages that the queue has."""
        receiver = self.receiver(self.session(), credit=100)
        found: list[object] = []
        while (delivery := self.run_for(receiver)) is not None:
            found.append(delivery.body)
            self.run(delivery.accept())
        return found

    def run_for(self, receiver: Receiver) -> ReceivedDelivery | None:
        task = self.start(receiver.fetch(0.5))
        for _ in range(20):
            if not task.done:
                self.turn(0.1)
        found: ReceivedDelivery | None = task.result
        return found


@pytest.fixture(params=[1, 65_536], ids="{}-octets".format)
def world(request: pytest.FixtureRequest) -> World:
    return World(size=request.param)


@pytest.mark.parametrize("kind", [PLAIN, KEPT], ids=["replaced", "resumed"])
def test_all_that_was_open_is_opened_again(world: World, kind: dict[str, Any]) -> None:
    session = world.session()
    sender = world.sender(session, kind["target"])
    receiver = world.receiver(session, kind["source"], credit=5)
    event = world.back()
    names = (sender.name, receiver.name)
    assert (event.resumed, event.replaced) == ((names, ()) if kind is KEPT else ((), names))
    assert (event.address, event.attempts, event.failed, event.in_doubt) == ("amqp://one", 1, (), ())
    assert world.run(sender.send(b"on")) == Accepted()
    delivery = world.take(receiver)
    world.run(delivery.accept())
    assert (delivery.body, session.is_open, sender.is_open, world.connection.is_open) == (b"on", True, True, True)
    assert session.report is sender.report is world.connection.report is None


@pytest.mark.parametrize("size", range(0, 300, 7))
@pytest.mark.parametrize(("kind", "mode"), [(PLAIN, 0), (KEPT, 0), (KEPT, 1)])
def test_a_send_in_doubt_is_sent_again_or_resumed(kind: dict[str, Any], mode: int, size: int) -> None:
    """The transport is cut after so many octets of the client; with 0 after the broker has answered."""
    world = World()
    sender = world.sender(world.session(), kind["target"], rcv_settle_mode=mode)
    sent = [world.start(sender.send(Message(number))) for number in range(5)]
    octets = world.client.data_to_send(world.now, size or None)
    world.server.receive_data(octets, world.now)
    world.server.next_event()
    event = world.back()
    assert [task.result for task in sent] == [Accepted()] * 5
    found = world.left()
    assert set(found) == {0, 1, 2, 3, 4}
    assert event.resent == (0 if kind is KEPT else 5)
    assert len(found) == 5 or not mode
    assert world.run(sender.send(b"more")) == Accepted()


def test_a_connection_may_be_lost_again_while_it_is_restored() -> None:
    for size in range(1, 1500, 31):
        world = World()
        session = world.session()
        sender, receiver = world.sender(session, KEPT["target"]), world.receiver(session, KEPT["source"], credit=5)
        sent = [world.start(sender.send(Message(number))) for number in range(3)]
        world.client.data_to_send(world.now)
        world.cut()
        world.now += 0.5
        assert world.reopen()
        for _ in range(size):
            octets = world.client.data_to_send(world.now, 1)
            world.server.receive_data(octets, world.now)
            world.server.next_event()
            world.client.receive_data(world.server.data_to_send(world.now), world.now)
            world.route()
        world.told()
        world.cut()
        world.wait_back()
        world.turn()
        assert [task.result for task in sent] == [Accepted()] * 3
        found = [world.take(receiver) for _ in range(3)]
        assert sorted(each.body for each in found) == [0, 1, 2]
        for each in found:
            world.run(each.accept())
        assert world.left() == []


def test_sends_without_an_outcome_are_never_sent_twice(world: World) -> None:
    sender = world.sender(world.session(), snd_settle_mode=1)
    for number in range(3):
        assert world.run(sender.send(Message(number))) is None
    event = world.back()
    assert (event.resent, event.in_doubt) == (0, ())
    assert set(world.left()) <= {0, 1, 2}


@pytest.mark.parametrize("kind", [PLAIN, KEPT], ids=["replaced", "resumed"])
def test_in_doubt_is_reported_if_the_policy_says_so(kind: dict[str, Any]) -> None:
    world = World(RecoveryPolicy(in_doubt="report"))
    sender = world.sender(world.session(), kind["target"])
    sent = world.start(sender.send(b"x"))
    world.client.data_to_send(world.now)
    world.cut()
    if kind is KEPT:
        assert world.wait_back().in_doubt == ()
        assert sent.result == Accepted()
        return
    with pytest.raises(LinkEnded, match="the cable is cut"):
        _ = sent.result
    (doubt,) = world.wait_back().in_doubt
    assert isinstance(doubt, InDoubt)
    assert isinstance(doubt.body, Message)
    assert (doubt.target, doubt.body.body) == ((sender.name, "q"), b"x")
    assert world.left() == []


def test_a_peer_that_has_forgotten_the_link_gets_in_doubt_reported_too() -> None:
    world = World(RecoveryPolicy(in_doubt="report"))
    sender = world.sender(world.session(), KEPT["target"])
    sent = world.start(sender.send(b"x"))
    world.client.data_to_send(world.now)
    world.cut()
    world.hub = Hub(Settings(seed=b"another", auto_create=True))
    event = world.wait_back()
    with pytest.raises(LinkEnded, match="has forgotten the link"):
        _ = sent.result
    assert (event.replaced, event.resumed, len(event.in_doubt), event.resent) == ((sender.name,), (), 1, 0)
    assert world.left() == []


def test_a_delivery_of_a_link_that_is_not_resumed_is_stale(world: World) -> None:
    session = world.session()
    sender, receiver = world.sender(session), world.receiver(session, credit=2)
    for number in range(3):
        world.run(sender.send(Message(number)))
    one, two = world.take(receiver), world.take(receiver)
    world.cut()
    with pytest.raises(StaleDelivery, match="will come again"):
        world.run(one.accept())
    world.wait_back()
    with pytest.raises(StaleDelivery, match="will come again"):
        world.run(receiver.accept(two))
    again = [world.take(receiver) for _ in range(2)]
    assert [each.body for each in again] == [0, 1]
    world.run(receiver.accept(*again))
    world.run(receiver.close())
    assert world.left() == [2]


@pytest.mark.parametrize("mode", [0, 1], ids=["first", "second"])
def test_a_delivery_goes_on_when_its_link_is_resumed(world: World, mode: int) -> None:
    session = world.session()
    sender = world.sender(session)
    receiver = world.receiver(session, KEPT["source"], credit=3, rcv_settle_mode=mode)
    for number in range(6):
        world.run(sender.send(Message(number)))
    one, two, three = [world.take(receiver) for _ in range(3)]
    world.turn()
    world.run(two.accept())
    world.turn()
    accepting = [world.start(one.accept())]
    world.client.data_to_send(world.now)
    world.cut()
    accepting.append(world.start(three.accept()))
    world.turn()
    assert not accepting[1].done
    event = world.wait_back()
    assert event.resumed == (receiver.name,)
    world.turn()
    assert [each.result for each in accepting] == [None, None]
    found: list[object] = []
    while (delivery := world.run_for(receiver)) is not None:
        found.append(delivery.body)
        world.run(delivery.accept())
    assert found == ([3, 4, 5] if mode else [0, 3, 4, 5])
    world.run(receiver.close())
    assert world.left() == []


def test_credit_of_the_user_is_granted_again(world: World) -> None:
    session = world.session()
    receiver = world.receiver(session, credit=0)
    waits = world.start(receiver.fetch())
    draining = world.start(world.receiver(session, "r", credit=7).drain())
    world.client.data_to_send(world.now)
    world.back()
    assert draining.done
    assert receiver.credit == 1
    world.cut()
    world.run(receiver.flow(3))
    world.wait_back()
    sender = world.sender(session)
    for number in range(4):
        world.run(sender.send(Message(number)))
    world.turn()
    assert waits.result.body == 0
    assert [world.take(receiver).body for _ in range(2)] == [1, 2]


def test_calls_that_wait_go_on_waiting(world: World) -> None:
    session = world.session()

    async def opening(address: str) -> Sender:
        return await session.open_sender(address)

    started = [world.start(world.opened()), world.start(opening("a"))]
    world.client.data_to_send(world.now)
    world.cut()
    sender = world.start(opening("b"))
    started += [sender, world.start(world.opened())]
    assert not any(task.done for task in started)
    world.wait_back()
    world.turn()
    assert [type(task.result) for task in started] == [Session, Sender, Sender, Session]
    world.cut()
    sent = world.start(sender.result.send(b"late"))
    assert not sent.done
    world.wait_back()
    world.turn()
    assert sent.result == Accepted()
    assert world.run(started[1].result.send(b"x")) == Accepted()


def test_a_send_fails_at_once_if_the_policy_says_so() -> None:
    world = World(RecoveryPolicy(publish="fail"))
    sender = world.sender(world.session())
    world.cut()
    with pytest.raises(EndpointClosed, match="cable"):
        world.run(sender.send(b"x"))
    world.wait_back()
    assert world.run(sender.send(b"x")) == Accepted()


def test_a_transaction_does_not_survive_its_connection(world: World) -> None:
    session = world.session()
    sender, receiver = world.sender(session), world.receiver(session, credit=1)
    world.run(sender.send(b"before"))
    taken = world.take(receiver)

    async def begin() -> Any:
        transaction = session.transaction()
        await transaction.declare()
        return transaction

    one = world.run(begin())
    world.run(taken.accept(transaction=one))
    sent = world.start(sender.send(b"in it", transaction=one))
    world.turn()
    world.cut()
    world.wait_back()
    assert sent.done
    for call in (sender.send(b"x", transaction=one), one.commit()):
        with pytest.raises(TransactionFailed, match="has rolled the transaction back"):
            world.run(call)
    two = world.run(begin())
    world.run(sender.send(b"after", transaction=two))
    world.run(two.commit())
    assert world.take(receiver).body == b"before"
    world.run(receiver.close())
    assert world.left() == [b"before", b"after"]


def test_a_request_under_way_fails_and_the_next_one_has_a_new_address(world: World) -> None:
    session = world.session()

    async def opening() -> Any:
        return await session.open_requester("rpc")

    requester = world.run(opening())
    before = requester.address
    lost = world.start(requester.call("1"))
    world.turn()
    event = world.back()
    with pytest.raises(LinkEnded, match="before the reply came"):
        _ = lost.result
    assert event.renamed == ((before, requester.address),)
    assert before != requester.address
    asked = world.start(requester.call("2"))
    receiver = world.receiver(session, "rpc")
    world.turn()
    requests = [world.take(receiver) for _ in range(2)]
    properties = requests[1].message.properties
    assert properties is not None
    reply = world.sender(session, properties.reply_to)
    world.run(reply.send(Message("answer", properties=Properties(correlation_id=properties.correlation_id))))
    world.turn()
    assert asked.result.body == "answer"


def test_links_that_the_peer_refuses_end_and_the_others_live() -> None:
    world = World()
    session = world.session()
    sender, receiver = world.sender(session, "gone"), world.receiver(session, KEPT["source"])
    sent = world.start(sender.send(b"x"))
    world.client.data_to_send(world.now)
    world.cut()
    world.hub = Hub(Settings(seed=b"another", auto_create=False))
    event = world.wait_back()
    assert [what for what, _ in event.failed] == [f"link {sender.name}", f"link {receiver.name}"]
    with pytest.raises(LinkEnded, match="no node"):
        _ = sent.result
    with pytest.raises(LinkEnded, match="no node"):
        world.run(receiver.fetch())
    assert session.is_open
    assert world.connection.is_open


@pytest.mark.parametrize("what", ["link", "session", "connection"])
@pytest.mark.parametrize("seconds", [0.0, 0.5], ids=["waiting", "open again"])
def test_the_user_may_close_what_is_lost(what: str, seconds: float) -> None:
    world = World()
    session, other = world.session(), world.session()
    sender = world.sender(session)
    waits = world.start(sender.wait_closed())
    sent = world.start(sender.send(b"x"))
    world.client.data_to_send(world.now)
    world.cut()
    world.turn(seconds)
    closing: Any = {"link": sender, "session": session, "connection": world.connection}[what]
    world.run(closing.close())
    for _ in range(10):
        world.turn(0.25)
    assert waits.done
    assert sent.done
    assert not sender.is_open
    assert (session.is_open, other.is_open) == (what == "link", what != "connection")


def test_it_gives_up_after_the_deadline() -> None:
    world = World(RecoveryPolicy(deadline=4.0))
    session = world.session()
    sender, receiver = world.sender(session, KEPT["target"]), world.receiver(session, KEPT["source"], credit=1)
    world.run(sender.send(b"1"))
    taken = world.take(receiver)
    waits: list[Call[Any]] = [world.start(sender.send(b"2")), world.start(receiver.fetch())]
    world.client.data_to_send(world.now)
    world.is_refusing = True
    world.cut()
    waits += [world.start(taken.accept()), world.start(sender.send(b"3")), world.start(world.opened())]
    for _ in range(30):
        world.turn(0.25)
    for task in waits:
        with pytest.raises(EndpointClosed, match="given up after"):
            _ = task.result
    assert not session.is_open
    assert session.report is not None


@pytest.mark.parametrize("seconds", [0.0, 0.5, 2.0])
def test_a_client_pickles_at_any_time(seconds: float) -> None:
    world = World()
    session = world.session()
    sender, receiver = world.sender(session, KEPT["target"]), world.receiver(session, KEPT["source"], credit=1)
    world.run(sender.send(b"1"))
    assert world.take(receiver).body == b"1"
    sent = world.start(sender.send(b"2", wait=False))
    world.client.data_to_send(world.now)
    world.cut()
    world.turn(seconds)
    assert sent.done
    again = pickle.loads(pickle.dumps(world.client))
    assert again.recovery.state is world.client.recovery.state
