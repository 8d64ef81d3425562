"""Recovery of 0-10 without an event loop: the connection is cut at any place, and the pure broker goes on."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

from amqp_sansio import Accepted, ConsumerEnded, EndpointClosed, StaleDelivery
from amqp_sansio.amqp_0_10 import (
    BYTE,
    CREDIT,
    MESSAGE,
    NONE,
    Config,
    Message,
    MessageFlow,
    MessageProperties,
    MessageSetFlowMode,
    SessionState,
    Xid,
)
from amqp_sansio.amqp_0_10 import Connection as Core
from amqp_sansio.amqp_0_10 import Session as CoreSession
from amqp_sansio.broker import Hub, Settings
from amqp_sansio.client.amqp_0_10.client import Client
from amqp_sansio.client.amqp_0_10.connection import Connection
from amqp_sansio.client.amqp_0_10.publishing import rewritten
from amqp_sansio.client.amqp_0_10.session import Session
from amqp_sansio.client.amqp_0_10.subscription import Subscription
from amqp_sansio.client.recovery import Recovered, Recovering, RecoveryPolicy
from amqp_sansio.errors import TransactionFailed
from amqp_sansio.sasl import Plain
from amqp_sansio.uri import parse
from tests.kit.by_hand import Call
from tests.kit.stepped import Stepped

NONE_KEPT, KEPT = 0, 600


class World(Stepped):
    """A client that recovers, with its events, and a queue "q"."""

    def __init__(self, policy: RecoveryPolicy | None = None, **options: Any) -> None:
        self.cores = 100 if "hub" in options else 0  # Names of sessions differ between the clients of a hub.
        super().__init__(Client(self.new_core()), **options)
        self.connection = Connection(self.client, parse("amqp://"))
        self.recover(self.new_core, policy or RecoveryPolicy(jitter=0.0))
        self.events = self.connection.events(Recovering, Recovered)
        self.run(self.session().declare_queue("q", durable=True))

    def new_core(self) -> Core:
        self.cores += 1
        return Core.client(Config(session_prefix=f"s{self.cores}-", sasl=Plain("guest", "guest")))

    async def opened(self, name: str | None = None, timeout: int = 0) -> Session:
        return await self.connection.open_session(name, timeout=timeout)

    def session(self, timeout: int = 0, name: str | None = None) -> Session:
        return self.run(self.opened(name, timeout))

    def subscribe(self, session: Session, queue: str = "q", **fields: Any) -> Subscription:
        async def opening() -> Subscription:
            return await session.subscribe(queue, **fields)

        return self.run(opening())

    def take(self, subscription: Subscription, count: int) -> list[Any]:
        return [self.run(subscription.__anext__()) for _ in range(count)]

    def left(self) -> list[bytes]:
        """Take all messages that the queue has."""
        session, found = self.session(), list[bytes]()
        while (received := self.run(session.get("q"))) is not None:
            found.append(received.body)
            self.run(received.accept())
            self.turn()
        return found


@pytest.fixture(params=[1, 65_536], ids="{}-octets".format)
def world(request: pytest.FixtureRequest) -> World:
    return World(size=request.param)


@pytest.mark.parametrize("timeout", [NONE_KEPT, KEPT], ids=["replaced", "resumed"])
def test_all_that_was_open_is_opened_again(world: World, timeout: int) -> None:
    session = world.session(timeout)
    world.run(session.declare_exchange("events", "topic"))
    world.run(session.declare_queue("own", exclusive=True))
    world.run(session.bind_queue("own", "events", "a.#"))
    world.run(session.declare_queue("gone"))
    world.run(session.delete_queue("gone"))
    name, subscription = session.name.decode(), world.subscribe(session, "own")
    event = world.back()
    assert event.resumed == ((name,) if timeout else ())
    assert len(event.replaced) == (1 if timeout else 2)
    assert (event.address, event.attempts, event.failed, event.in_doubt) == ("amqp://one", 1, (), ())
    assert world.run(session.publish(b"on", "events", "a.b")) == Accepted()
    (received,) = world.take(subscription, 1)
    world.run(received.accept())
    world.turn()
    assert (received.body, session.is_open, session.timeout, session.report) == (b"on", True, timeout, None)
    world.back()
    assert world.run(session.publish(b"more", "events", "a.b")) == Accepted()
    assert world.take(subscription, 1)[0].body == b"more"


@pytest.mark.parametrize("size", range(0, 350, 9))
@pytest.mark.parametrize("timeout", [NONE_KEPT, KEPT], ids=["replaced", "resumed"])
def test_a_publish_in_doubt_is_sent_again_or_resumed(timeout: int, size: int) -> None:
    """The transport is cut after so many octets of the client; with 0 after all of them."""
    world = World()
    session = world.session(timeout)
    sent = [world.start(session.publish(b"%d" % number, "", "q")) for number in range(5)]
    world.server.receive_data(world.client.data_to_send(world.now, size or None), world.now)
    world.server.next_event()
    event = world.back()
    world.turn()
    assert [task.result for task in sent] == [Accepted()] * 5
    assert event.resent == (0 if timeout else 5)
    found = world.left()
    assert set(found) == {b"0", b"1", b"2", b"3", b"4"}
    assert len(found) == 5 or not timeout
    assert world.client.kept == 0


@pytest.mark.parametrize("ends", [False, True], ids=["credit", "closed"])
def test_a_publish_that_is_sent_again_waits_for_credit(monkeypatch: pytest.MonkeyPatch, ends: bool) -> None:
    world, served, accept = World(), list[CoreSession](), Core.accept_session
    session = world.session()
    sent = [world.start(session.publish(b"%d" % number, "", "q")) for number in range(4)]
    world.client.data_to_send(world.now)

    def accept_without_credit(*given: Any) -> CoreSession:
        served.append(accept(*given))
        served[-1].call(MessageSetFlowMode("", CREDIT))
        served[-1].call(MessageFlow("", BYTE, None))
        return served[-1]

    monkeypatch.setattr(Core, "accept_session", accept_without_credit)
    assert world.back().resent == 0
    sent.append(world.start(session.publish(b"4", "", "q")))
    served[-1].call(MessageFlow("", MESSAGE, 2))
    world.turn()
    assert [task.done for task in sent] == [True, True, False, False, False]
    world.back()
    served[-1].call(MessageFlow("", MESSAGE, 1))
    world.turn()
    assert [task.done for task in sent] == [True, True, True, False, False]
    if ends:
        world.start(session.close())
        world.turn()
        for task in sent[3:]:
            with pytest.raises(EndpointClosed, match="session"):
                _ = task.result
    else:
        served[-1].call(MessageFlow("", MESSAGE, 9))
        world.turn()
        assert [task.result for task in sent] == [Accepted()] * 5
    assert world.left() == [b"0", b"1", b"2", b"3", b"4"][: 3 if ends else 5]
    assert world.client.kept == 0


def test_a_session_that_is_busy_for_a_moment_is_resumed(monkeypatch: pytest.MonkeyPatch) -> None:
    world, busy, accept = World(), [True, True], Core.accept_session
    session = world.session(KEPT)
    sent = world.start(session.publish(b"x", "", "q"))
    world.client.data_to_send(world.now)

    def accept_later(core: Core, channel: int, state: SessionState | None = None) -> CoreSession:
        if state is not None and busy:
            busy.pop()
            core.refuse_session(channel)
            raise EndpointClosed("another connection has it")
        return accept(core, channel, state)

    monkeypatch.setattr(Core, "accept_session", accept_later)
    event = world.back()
    world.turn()
    assert (event.resumed, event.resent, busy) == ((session.name.decode(),), 0, [])
    assert (sent.result, world.left()) == (Accepted(), [b"x"])


@pytest.mark.parametrize("timeout", [NONE_KEPT, KEPT], ids=["replaced", "resumed"])
def test_a_connection_may_be_lost_again_while_it_is_restored(timeout: int) -> None:
    for size in range(1, 1300, 37):
        world = World()
        session = world.session(timeout)
        world.run(session.declare_queue("own", exclusive=True, auto_delete=True))
        subscription = world.subscribe(session)
        sent = [world.start(session.publish(b"%d" % number, "", "q")) for number in range(3)]
        world.client.data_to_send(world.now)
        world.cut()
        world.now += 0.5
        assert world.reopen()
        for _ in range(size):
            world.server.receive_data(world.client.data_to_send(world.now, 1), world.now)
            world.server.next_event()
            world.client.receive_data(world.server.data_to_send(world.now), world.now)
            world.route()
        world.told()
        world.back()
        world.turn()
        assert [task.result for task in sent] == [Accepted()] * 3
        found: set[bytes] = set()
        while len(found) < 3:
            (received,) = world.take(subscription, 1)
            found.add(received.body)
            world.run(received.accept())
        assert found == {b"0", b"1", b"2"}


@pytest.mark.parametrize("timeout", [NONE_KEPT, KEPT], ids=["replaced", "resumed"])
def test_in_doubt_is_reported_if_the_policy_says_so(timeout: int) -> None:
    world = World(RecoveryPolicy(in_doubt="report"))
    session = world.session(timeout)
    sent = world.start(session.publish(b"x", "", "q"))
    world.client.data_to_send(world.now)
    world.cut()
    if timeout:
        world.hub = Hub(Settings(seed=b"another"))  # It knows nothing of the session.
    event = world.wait_back()
    with pytest.raises(EndpointClosed, match="has forgotten session" if timeout else "cable is cut"):
        _ = sent.result
    ((target, body),) = [(each.target, each.body) for each in event.in_doubt]
    assert (target, body, event.resent) == (("", "q"), b"x", 0)
    assert world.left() == []


@pytest.mark.parametrize("timeout", [NONE_KEPT, KEPT], ids=["replaced", "resumed"])
def test_a_message_that_was_taken_goes_on_or_is_stale(world: World, timeout: int) -> None:
    session = world.session(timeout)
    subscription = world.subscribe(session, credit=3)
    for number in range(4):
        world.run(session.publish(b"%d" % number, "", "q"))
    one, two = world.take(subscription, 2)
    world.cut()
    accepting = world.start(one.accept())
    world.wait_back()
    world.turn()
    if timeout:
        assert accepting.result is None
        world.run(session.accept(two))
        again = []
    else:
        for call in (lambda: accepting.result, lambda: world.run(session.accept(two))):
            with pytest.raises(StaleDelivery, match="will come again"):
                call()
        again = [b"0", b"1"]
    found = world.take(subscription, 2 + len(again))
    assert sorted(each.body for each in found) == [*again, b"2", b"3"]
    world.run(session.accept(*found))
    world.run(session.close())
    assert world.left() == []


def test_messages_that_need_no_acceptance_stay(world: World) -> None:
    session = world.session()
    subscription = world.subscribe(session, accept_mode=NONE)
    for number in range(3):
        world.run(session.publish(b"%d" % number, "", "q"))
    world.turn()
    world.back()
    world.run(session.publish(b"3", "", "q"))
    assert [each.body for each in world.take(subscription, 4)] == [b"0", b"1", b"2", b"3"]


@pytest.mark.parametrize("timeout", [NONE_KEPT, KEPT], ids=["replaced", "resumed"])
def test_credit_of_the_user_is_granted_again(world: World, timeout: int) -> None:
    session = world.session(timeout)
    subscription = world.subscribe(session, credit=0, flow_mode=CREDIT)
    waits = world.start(subscription.fetch())
    world.turn()
    world.cut()
    granting = world.start(subscription.grant(1))
    world.wait_back()
    assert granting.done
    for number in range(3):
        world.run(session.publish(b"%d" % number, "", "q"))
    world.turn()
    assert waits.result.body == b"0"
    assert world.take(subscription, 1)[0].body == b"1"


@pytest.mark.parametrize("timeout", [NONE_KEPT, KEPT], ids=["replaced", "resumed"])
def test_calls_that_wait_go_on_waiting(world: World, timeout: int) -> None:
    session = world.session(timeout)
    started = [world.start(world.opened()), world.start(session.declare_queue("r")), world.start(session.sync())]
    world.client.data_to_send(world.now)
    world.cut()
    started += [world.start(session.get("q")), world.start(session.publish(b"x", "", "r")), world.start(world.opened())]
    assert not any(task.done for task in started)
    world.wait_back()
    for _ in range(5):
        world.turn()
    names = ["Session", "QueueQueryResult", "NoneType", "NoneType", "Accepted", "Session"]
    assert [type(task.result).__name__ for task in started] == names
    assert world.run(started[0].result.publish(b"y", "", "r")) == Accepted()


def test_a_publish_fails_at_once_if_the_policy_says_so() -> None:
    world = World(RecoveryPolicy(publish="fail"))
    session = world.session()
    world.cut()
    with pytest.raises(EndpointClosed, match="connection is closed"):
        world.run(session.publish(b"x", "", "q"))
    world.wait_back()
    assert world.run(session.publish(b"x", "", "q")) == Accepted()


@pytest.mark.parametrize("timeout", [NONE_KEPT, KEPT], ids=["replaced", "resumed"])
def test_a_transaction_does_not_survive_its_connection(world: World, timeout: int) -> None:
    session = world.session(timeout)
    one, two = session.transaction(), session.transaction()
    world.run(one.begin())
    world.start(session.publish(b"in it", "", "q"))
    world.turn()
    world.back()
    for call in (session.publish(b"x", "", "q"), one.commit()):
        with pytest.raises(TransactionFailed, match="the connection was lost"):
            world.run(call)
    world.run(two.begin())
    world.start(session.publish(b"after", "", "q"))
    world.run(two.commit())
    branch = world.session(timeout).branch(Xid(1, b"global", b"branch"))
    world.run(branch.start())
    world.back()
    with pytest.raises(TransactionFailed, match="its branch is failed"):
        world.run(branch.end())
    assert world.left() == [b"after"]


@pytest.mark.parametrize("timeout", [NONE_KEPT, KEPT], ids=["replaced", "resumed"])
def test_a_request_under_way_goes_on_with_its_session_or_fails(world: World, timeout: int) -> None:
    session = world.session(timeout)
    asked = world.start(session.request(b"1", "", "q"))
    world.turn()
    world.back()
    if not timeout:
        with pytest.raises(EndpointClosed, match="before the reply came"):
            _ = asked.result
        asked = world.start(session.request(b"2", "", "q"))
    answering = world.session()
    requests = [world.run(answering.get("q")) for _ in range(2 - bool(timeout))]
    assert requests[-1] is not None
    properties = requests[-1].message_properties
    assert properties.reply_to is not None
    reply = rewritten(Message(b"answer"), MessageProperties, correlation_id=properties.correlation_id)
    world.start(answering.publish(reply, "", properties.reply_to.routing_key))
    for _ in range(5):
        world.turn()
    assert asked.result.body == b"answer"


def test_a_subscription_whose_queue_others_deleted_ends_and_the_session_lives(world: World) -> None:
    admin, session = World(hub=world.hub), world.session()
    theirs = admin.session()
    admin.run(theirs.declare_queue("theirs"))
    subscription = world.subscribe(session, "theirs")
    world.cut()
    admin.run(theirs.delete_queue("theirs"))
    (failed,) = world.wait_back().failed
    assert failed[0] == "subscription subscription-1"
    with pytest.raises(ConsumerEnded, match="refused"):
        world.run(subscription.__anext__())
    assert session.is_open


@pytest.mark.parametrize("what", ["session", "connection"])
@pytest.mark.parametrize("seconds", [0.0, 0.5], ids=["waiting", "open again"])
def test_the_user_may_close_what_is_lost(what: str, seconds: float) -> None:
    world = World()
    session, other = world.session(KEPT), world.session()
    waits = world.start(session.wait_closed())
    sent = world.start(session.publish(b"x", "", "q"))
    world.client.data_to_send(world.now)
    world.cut()
    world.turn(seconds)
    closing: Any = session if what == "session" else world.connection
    world.run(closing.close())
    for _ in range(10):
        world.turn(0.25)
    assert waits.done
    assert sent.done
    assert (session.is_open, other.is_open) == (False, what == "session")


@pytest.mark.parametrize("timeout", [NONE_KEPT, KEPT], ids=["replaced", "resumed"])
def test_it_gives_up_after_the_deadline(timeout: int) -> None:
    world = World(RecoveryPolicy(deadline=4.0))
    session = world.session(timeout)
    subscription = world.subscribe(session)
    waits: list[Call[Any]] = [world.start(session.publish(b"2", "", "q")), world.start(subscription.__anext__())]
    world.client.data_to_send(world.now)
    world.is_refusing = True
    world.cut()
    waits += [world.start(session.sync()), world.start(world.opened())]
    for _ in range(30):
        world.turn(0.25)
    for task in waits:
        with pytest.raises(EndpointClosed, match="given up after"):
            _ = task.result
    assert session.report is not None


@pytest.mark.parametrize("seconds", [0.0, 0.5, 2.0])
def test_a_client_pickles_at_any_time(seconds: float) -> None:
    world = World()
    session = world.session()
    assert world.run(session.publish(b"1", "", "q")) == Accepted()
    world.start(session.publish(b"2", "", "q"))
    world.client.data_to_send(world.now)
    world.cut()
    world.turn(seconds)
    again = pickle.loads(pickle.dumps(world.client))
    assert again.recovery.state is world.client.recovery.state


def test_outcomes_are_asked_for_in_a_session_that_began_anew() -> None:
    """Broker-J completes nothing unasked, and the number of the last question was one of the session that is gone."""
    world = World()
    session = world.session()
    for number in range(5):
        world.run(world.run(session.publish(b"%d" % number, "", "q", wait=False)).result())
    world.back()
    sent = world.run(session.publish(b"x", "", "q", wait=False))
    before = len(session.core.pending)
    asking = world.start(sent.result())
    assert len(session.core.pending) == before + 1
    world.turn()
    assert asking.result == Accepted()


def test_what_was_accepted_when_the_connection_failed_is_accepted_in_the_resumed_session() -> None:
    world = World()
    session = world.session(KEPT)
    subscription = world.subscribe(session)
    world.run(session.publish(b"x", "", "q"))
    (received,) = world.take(subscription, 1)
    world.run(received.accept())
    world.client.core.connection_lost("a heartbeat is missing", world.now)
    world.cut()
    world.wait_back()
    world.turn()
    assert session.unsettled == ()
    world.run(session.close())
    assert world.left() == []
