"""Recovery of 1.0 in a simulated world: the connection is cut at any place, and the pure broker goes on."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

from amqp_sansio import AMQP_1_0, EndpointClosed, StaleDelivery
from amqp_sansio.amqp_1_0 import Accepted, LinkRequested, Message, Properties, Source, Target
from amqp_sansio.broker import Settings
from amqp_sansio.client.amqp_1_0.receiver import ReceivedDelivery, Receiver
from amqp_sansio.client.amqp_1_0.sender import Sender
from amqp_sansio.client.amqp_1_0.session import Session
from amqp_sansio.client.recovery import InDoubt, RecoveryPolicy
from amqp_sansio.errors import LinkEnded, TransactionFailed
from tests.kit.user import PIECES, URL, Call, User, world_of

NEVER: dict[str, Any] = {"expiry_policy": "never"}
KEPT = {"target": Target("q", **NEVER), "source": Source("q", **NEVER)}
PLAIN = {"target": Target("q"), "source": Source("q")}


class Recovers(User):
    """A user whose client recovers."""

    def __init__(self, policy: RecoveryPolicy | None = None, pieces: str = "whole") -> None:
        user = world_of(pieces, Settings(seed=b"user", heartbeat=0, auto_create=True))
        super().__init__(user, version=AMQP_1_0, recover=policy or RecoveryPolicy(jitter=0.0))

    async def opened(self) -> Session:
        session: Session = await self.connection.open_session()
        return session

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


@pytest.fixture(params=PIECES)
def user(request: pytest.FixtureRequest) -> Recovers:
    return Recovers(pieces=request.param)


@pytest.mark.parametrize("kind", [PLAIN, KEPT], ids=["replaced", "resumed"])
def test_all_that_was_open_is_opened_again(user: Recovers, kind: dict[str, Any]) -> None:
    session = user.session()
    sender = user.sender(session, kind["target"])
    receiver = user.receiver(session, kind["source"], credit=5)
    event = user.back()
    names = (sender.name, receiver.name)
    assert (event.resumed, event.replaced) == ((names, ()) if kind is KEPT else ((), names))
    assert (event.address, event.attempts, event.failed, event.in_doubt) == (URL, 1, (), ())
    assert user.run(sender.send(b"on")) == Accepted()
    delivery = user.take(receiver)
    user.run(delivery.accept())
    assert (delivery.body, session.is_open, sender.is_open, user.connection.is_open) == (b"on", True, True, True)
    assert session.report is sender.report is user.connection.report is None


@pytest.mark.parametrize("size", range(0, 300, 7))
@pytest.mark.parametrize(("kind", "mode"), [(PLAIN, 0), (KEPT, 0), (KEPT, 1)])
def test_a_send_in_doubt_is_sent_again_or_resumed(kind: dict[str, Any], mode: int, size: int) -> None:
    """The transport is cut after so many octets of the client; with 0 after the broker has answered."""
    user = Recovers()
    sender = user.sender(user.session(), kind["target"], rcv_settle_mode=mode)
    sent = [user.start(sender.send(Message(number))) for number in range(5)]
    user.send_and_lose(up=size or None)
    event = user.wait_back()
    assert [task.result for task in sent] == [Accepted()] * 5
    found = user.left()
    assert set(found) == {0, 1, 2, 3, 4}
    assert event.resent == (0 if kind is KEPT else 5)
    assert len(found) == 5 or not mode
    assert user.run(sender.send(b"more")) == Accepted()


def test_a_connection_may_be_lost_again_while_it_is_restored() -> None:
    for size in range(1, 1500, 45):
        user = Recovers()
        session = user.session()
        sender, receiver = user.sender(session, KEPT["target"]), user.receiver(session, KEPT["source"], credit=5)
        sent = [user.start(sender.send(Message(number))) for number in range(3)]
        user.send_and_lose()
        user.reconnect().up.hold(size)
        user.turn()
        user.told()
        user.cut()
        user.wait_back()
        user.turn()
        assert [task.result for task in sent] == [Accepted()] * 3
        found = [user.take(receiver) for _ in range(3)]
        assert sorted(each.body for each in found) == [0, 1, 2]
        for each in found:
            user.run(each.accept())
        assert user.left() == []


def test_sends_without_an_outcome_are_never_sent_twice(user: Recovers) -> None:
    sender = user.sender(user.session(), snd_settle_mode=1)
    for number in range(3):
        assert user.run(sender.send(Message(number))) is None
    event = user.back()
    assert (event.resent, event.in_doubt) == (0, ())
    assert set(user.left()) <= {0, 1, 2}


@pytest.mark.parametrize("kind", [PLAIN, KEPT], ids=["replaced", "resumed"])
def test_in_doubt_is_reported_if_the_policy_says_so(kind: dict[str, Any]) -> None:
    user = Recovers(RecoveryPolicy(in_doubt="report"))
    sender = user.sender(user.session(), kind["target"])
    sent = user.start(sender.send(b"x"))
    user.send_and_lose()
    if kind is KEPT:
        assert user.wait_back().in_doubt == ()
        assert sent.result == Accepted()
        return
    with pytest.raises(LinkEnded, match="the cable is cut"):
        _ = sent.result
    (doubt,) = user.wait_back().in_doubt
    assert isinstance(doubt, InDoubt)
    assert isinstance(doubt.body, Message)
    assert (doubt.target, doubt.body.body) == ((sender.name, "q"), b"x")
    assert user.left() == []


def test_a_peer_that_has_forgotten_the_link_gets_in_doubt_reported_too() -> None:
    user = Recovers(RecoveryPolicy(in_doubt="report"))
    sender = user.sender(user.session(), KEPT["target"])
    sent = user.start(sender.send(b"x"))
    user.send_and_lose()
    user.replace_broker(Settings(seed=b"another", auto_create=True))
    event = user.wait_back()
    with pytest.raises(LinkEnded, match="has forgotten the link"):
        _ = sent.result
    assert (event.replaced, event.resumed, len(event.in_doubt), event.resent) == ((sender.name,), (), 1, 0)
    assert user.left() == []


def test_a_delivery_of_a_link_that_is_not_resumed_is_stale(user: Recovers) -> None:
    session = user.session()
    sender, receiver = user.sender(session), user.receiver(session, credit=2)
    for number in range(3):
        user.run(sender.send(Message(number)))
    one, two = user.take(receiver), user.take(receiver)
    user.cut()
    with pytest.raises(StaleDelivery, match="will come again"):
        user.run(one.accept())
    user.wait_back()
    with pytest.raises(StaleDelivery, match="will come again"):
        user.run(receiver.accept(two))
    again = [user.take(receiver) for _ in range(2)]
    assert [each.body for each in again] == [0, 1]
    user.run(receiver.accept(*again))
    user.run(receiver.close())
    assert user.left() == [2]


@pytest.mark.parametrize("mode", [0, 1], ids=["first", "second"])
def test_a_delivery_goes_on_when_its_link_is_resumed(user: Recovers, mode: int) -> None:
    session = user.session()
    sender = user.sender(session)
    receiver = user.receiver(session, KEPT["source"], credit=3, rcv_settle_mode=mode)
    for number in range(6):
        user.run(sender.send(Message(number)))
    one, two, three = [user.take(receiver) for _ in range(3)]
    user.turn()
    user.run(two.accept())
    user.turn()
    accepting = [user.start(one.accept())]
    user.send_and_lose()
    accepting.append(user.start(three.accept()))
    user.turn()
    assert not accepting[1].done
    event = user.wait_back()
    assert event.resumed == (receiver.name,)
    user.turn()
    assert [each.result for each in accepting] == [None, None]
    found: list[object] = []
    while (delivery := user.run_for(receiver)) is not None:
        found.append(delivery.body)
        user.run(delivery.accept())
    assert found == ([3, 4, 5] if mode else [0, 3, 4, 5])
    user.run(receiver.close())
    assert user.left() == []


def test_credit_of_the_user_is_granted_again(user: Recovers) -> None:
    session = user.session()
    receiver = user.receiver(session, credit=0)
    waits = user.start(receiver.fetch())
    draining = user.start(user.receiver(session, "r", credit=7).drain())
    user.send_and_lose()
    user.wait_back()
    assert draining.done
    assert receiver.credit == 1
    user.cut()
    user.run(receiver.flow(3))
    user.wait_back()
    sender = user.sender(session)
    for number in range(4):
        user.run(sender.send(Message(number)))
    user.turn()
    assert waits.result.body == 0
    assert [user.take(receiver).body for _ in range(2)] == [1, 2]


def test_calls_that_wait_go_on_waiting(user: Recovers) -> None:
    session = user.session()

    async def opening(address: str) -> Sender:
        return await session.open_sender(address)

    started = [user.start(user.opened()), user.start(opening("a"))]
    user.send_and_lose()
    sender = user.start(opening("b"))
    started += [sender, user.start(user.opened())]
    assert not any(task.done for task in started)
    user.wait_back()
    user.turn()
    assert [type(task.result) for task in started] == [Session, Sender, Sender, Session]
    user.cut()
    sent = user.start(sender.result.send(b"late"))
    assert not sent.done
    user.wait_back()
    user.turn()
    assert sent.result == Accepted()
    assert user.run(started[1].result.send(b"x")) == Accepted()


def test_a_send_fails_at_once_if_the_policy_says_so() -> None:
    user = Recovers(RecoveryPolicy(publish="fail"))
    sender = user.sender(user.session())
    user.cut()
    with pytest.raises(EndpointClosed, match="cable"):
        user.run(sender.send(b"x"))
    user.wait_back()
    assert user.run(sender.send(b"x")) == Accepted()


def test_a_transaction_does_not_survive_its_connection(user: Recovers) -> None:
    session = user.session()
    sender, receiver = user.sender(session), user.receiver(session, credit=1)
    user.run(sender.send(b"before"))
    taken = user.take(receiver)

    async def begin() -> Any:
        transaction = session.transaction()
        await transaction.declare()
        return transaction

    one = user.run(begin())
    user.run(taken.accept(transaction=one))
    sent = user.start(sender.send(b"in it", transaction=one))
    user.turn()
    user.cut()
    user.wait_back()
    assert sent.done
    for call in (sender.send(b"x", transaction=one), one.commit()):
        with pytest.raises(TransactionFailed, match="has rolled the transaction back"):
            user.run(call)
    two = user.run(begin())
    user.run(sender.send(b"after", transaction=two))
    user.run(two.commit())
    assert user.take(receiver).body == b"before"
    user.run(receiver.close())
    assert user.left() == [b"before", b"after"]


def test_a_request_under_way_fails_and_the_next_one_has_a_new_address(user: Recovers) -> None:
    session = user.session()

    async def opening() -> Any:
        return await session.open_requester("rpc")

    requester = user.run(opening())
    before = requester.address
    lost = user.start(requester.call("1"))
    user.turn()
    event = user.back()
    with pytest.raises(LinkEnded, match="before the reply came"):
        _ = lost.result
    assert event.renamed == ((before, requester.address),)
    assert before != requester.address
    asked = user.start(requester.call("2"))
    receiver = user.receiver(session, "rpc")
    user.turn()
    requests = [user.take(receiver) for _ in range(2)]
    properties = requests[1].message.properties
    assert properties is not None
    reply = user.sender(session, properties.reply_to)
    user.run(reply.send(Message("answer", properties=Properties(correlation_id=properties.correlation_id))))
    user.turn()
    assert asked.result.body == "answer"


def test_links_that_the_peer_refuses_end_and_the_others_live() -> None:
    user = Recovers()
    session = user.session()
    sender, receiver = user.sender(session, "gone"), user.receiver(session, KEPT["source"])
    sent = user.start(sender.send(b"x"))
    user.send_and_lose()
    user.replace_broker(Settings(seed=b"another", auto_create=False))
    event = user.wait_back()
    assert [what for what, _ in event.failed] == [f"link {sender.name}", f"link {receiver.name}"]
    with pytest.raises(LinkEnded, match="no node"):
        _ = sent.result
    with pytest.raises(LinkEnded, match="no node"):
        user.run(receiver.fetch())
    assert session.is_open
    assert user.connection.is_open


@pytest.mark.parametrize("what", ["link", "session", "connection"])
@pytest.mark.parametrize("seconds", [0.0, 0.5], ids=["waiting", "open again"])
def test_the_user_may_close_what_is_lost(what: str, seconds: float) -> None:
    user = Recovers()
    session, other = user.session(), user.session()
    sender = user.sender(session)
    waits = user.start(sender.wait_closed())
    sent = user.start(sender.send(b"x"))
    user.send_and_lose()
    user.turn(seconds)
    closing: Any = {"link": sender, "session": session, "connection": user.connection}[what]
    user.run(closing.close())
    for _ in range(10):
        user.turn(0.25)
    assert waits.done
    assert sent.done
    assert not sender.is_open
    assert (session.is_open, other.is_open) == (what == "link", what != "connection")


def test_it_gives_up_after_the_deadline() -> None:
    user = Recovers(RecoveryPolicy(deadline=4.0))
    session = user.session()
    sender, receiver = user.sender(session, KEPT["target"]), user.receiver(session, KEPT["source"], credit=1)
    user.run(sender.send(b"1"))
    taken = user.take(receiver)
    waits: list[Call[Any]] = [user.start(sender.send(b"2")), user.start(receiver.fetch())]
    user.refuse()
    user.send_and_lose()
    waits += [user.start(taken.accept()), user.start(sender.send(b"3")), user.start(user.opened())]
    for _ in range(30):
        user.turn(0.25)
    for task in waits:
        with pytest.raises(EndpointClosed, match="given up after"):
            _ = task.result
    assert not session.is_open
    assert session.report is not None


@pytest.mark.parametrize("seconds", [0.0, 0.5, 2.0])
def test_a_client_pickles_at_any_time(seconds: float) -> None:
    user = Recovers()
    session = user.session()
    sender, receiver = user.sender(session, KEPT["target"]), user.receiver(session, KEPT["source"], credit=1)
    user.run(sender.send(b"1"))
    assert user.take(receiver).body == b"1"
    sent = user.start(sender.send(b"2", wait=False))
    user.send_and_lose()
    user.turn(seconds)
    assert sent.done
    again = pickle.loads(pickle.dumps(user.client))
    assert again.recovery.state is user.client.recovery.state


class Refusing:
    """A server's connection whose session ends with each of the first attaches, as one does that has their links."""

    def __init__(self, core: Any, left: list[str]) -> None:
        self._core = core
        self._next_event = core.next_event
        self._left = left

    def __getattr__(self, name: str) -> Any:
        return getattr(self._core, name)

    def next_event(self) -> Any:
        event = self._next_event()
        while isinstance(event, LinkRequested) and self._left:
            condition = self._left.pop()
            session = self._core.session(event.channel)
            if "session" in condition:
                session.close(condition, "the link isn't attached yet")
            else:
                session.link(event.link).refuse_attach(condition, "somebody holds it")
            event = self._next_event()
        return event


class Fronts(dict[int, Any]):
    """The clients of a hub, each of which is refused so."""

    def __init__(self, left: list[str]) -> None:
        super().__init__()
        self._left = left

    def __setitem__(self, number: int, front: Any) -> None:
        front.connection = Refusing(front.connection, self._left)
        super().__setitem__(number, front)


@pytest.mark.parametrize("condition", ["amqp:session:unattached-handle", "amqp:resource-locked"])
@pytest.mark.parametrize(("count", "lives"), [(4, True), (100, False)])
def test_a_link_that_the_lost_connection_still_holds_is_attached_later(condition: str, count: int, lives: bool) -> None:
    """Everybody waits for it as long as `patience` says, then it is tried alone, until the deadline."""
    user = Recovers(RecoveryPolicy(jitter=0.0, deadline=40.0))
    receiver = user.receiver(user.session(), "q")
    left = [condition] * count
    user.cut()
    user.hub.fronts = Fronts(left)
    event = user.wait_back()
    assert (event.failed == ()) is lives
    assert receiver.report is None
    assert event.attempts == 1
    for _ in range(100):
        user.turn(1.0)
    assert (receiver.report is None) is lives
    assert receiver.is_open is lives
