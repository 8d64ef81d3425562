"""Recovery of 0-10 in a simulated world: the connection is cut at any place, and the pure broker goes on."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

from amqp_sansio import AMQP_0_10, Accepted, ConsumerEnded, EndpointClosed, StaleDelivery
from amqp_sansio.amqp_0_10 import Connection as Core
from amqp_sansio.amqp_0_10 import Message, MessageProperties, SessionState
from amqp_sansio.amqp_0_10 import Session as CoreSession
from amqp_sansio.amqp_0_10.spec import BYTE, CREDIT, MESSAGE, NONE, WINDOW, MessageFlow, MessageSetFlowMode, Xid
from amqp_sansio.broker import Settings
from amqp_sansio.client.amqp_0_10.publishing import rewritten
from amqp_sansio.client.amqp_0_10.session import Session
from amqp_sansio.client.amqp_0_10.subscription import Subscription, inbox_of
from amqp_sansio.client.recovery import RecoveryPolicy
from amqp_sansio.errors import TransactionFailed
from amqp_sansio.testing.simulate import World
from tests.kit.user import PIECES, URL, Call, User, world_of

NONE_KEPT, KEPT = 0, 600


class Recovers(User):
    """A user whose client recovers, and a queue "q"."""

    def __init__(self, policy: RecoveryPolicy | None = None, pieces: str = "whole", world: World | None = None) -> None:
        recover = policy or RecoveryPolicy(jitter=0.0)
        super().__init__(world or world_of(pieces), version=AMQP_0_10, recover=recover)
        self.run(self.session().declare_queue("q", durable=True))

    async def opened(self, name: str | None = None, timeout: int = 0) -> Session:
        session: Session = await self.connection.open_session(name, timeout=timeout)
        return session

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


@pytest.fixture(params=PIECES)
def user(request: pytest.FixtureRequest) -> Recovers:
    return Recovers(pieces=request.param)


@pytest.mark.parametrize("timeout", [NONE_KEPT, KEPT], ids=["replaced", "resumed"])
def test_all_that_was_open_is_opened_again(user: Recovers, timeout: int) -> None:
    session = user.session(timeout)
    user.run(session.declare_exchange("events", "topic"))
    user.run(session.declare_queue("own", exclusive=True))
    user.run(session.bind_queue("own", "events", "a.#"))
    user.run(session.declare_queue("gone"))
    user.run(session.delete_queue("gone"))
    name, subscription = session.name.decode(), user.subscribe(session, "own")
    event = user.back()
    assert event.resumed == ((name,) if timeout else ())
    assert len(event.replaced) == (1 if timeout else 2)
    assert (event.address, event.attempts, event.failed, event.in_doubt) == (URL, 1, (), ())
    assert user.run(session.publish(b"on", "events", "a.b")) == Accepted()
    (received,) = user.take(subscription, 1)
    user.run(received.accept())
    user.turn()
    assert (received.body, session.is_open, session.timeout, session.report) == (b"on", True, timeout, None)
    user.back()
    assert user.run(session.publish(b"more", "events", "a.b")) == Accepted()
    assert user.take(subscription, 1)[0].body == b"more"


@pytest.mark.parametrize("size", range(0, 350, 9))
@pytest.mark.parametrize("timeout", [NONE_KEPT, KEPT], ids=["replaced", "resumed"])
def test_a_publish_in_doubt_is_sent_again_or_resumed(timeout: int, size: int) -> None:
    """The transport is cut after so many octets of the client; with 0 after all of them."""
    user = Recovers()
    session = user.session(timeout)
    sent = [user.start(session.publish(b"%d" % number, "", "q")) for number in range(5)]
    user.send_and_lose(up=size or None)
    event = user.wait_back()
    user.turn()
    assert [task.result for task in sent] == [Accepted()] * 5
    assert event.resent == (0 if timeout else 5)
    found = user.left()
    assert set(found) == {b"0", b"1", b"2", b"3", b"4"}
    assert len(found) == 5 or not timeout
    assert user.client.kept == 0


@pytest.mark.parametrize("timeout", [NONE_KEPT, KEPT], ids=["replaced", "resumed"])
@pytest.mark.parametrize("mode", [CREDIT, WINDOW], ids=["credit", "window"])
def test_a_subscription_keeps_its_flow_mode(timeout: int, mode: int) -> None:
    """Taking a message returns its credit in window mode only, before a loss and after."""
    user = Recovers()
    session = user.session(timeout)
    subscription = user.subscribe(session, credit=0, flow_mode=mode)
    user.run(subscription.grant(2))
    user.back()
    for number in range(4):
        assert user.run(session.publish(b"%d" % number, "", "q")) == Accepted()
    user.turn()
    for received in user.take(subscription, 2):
        user.run(received.accept())
    user.turn()
    rest = [] if mode == CREDIT else [b"2", b"3"]
    assert [each.body for each in inbox_of(subscription).items] == rest


@pytest.mark.parametrize("ends", [False, True], ids=["credit", "closed"])
def test_a_publish_that_is_sent_again_waits_for_credit(monkeypatch: pytest.MonkeyPatch, ends: bool) -> None:
    user, served, accept = Recovers(), list[CoreSession](), Core.accept_session
    session = user.session()
    sent = [user.start(session.publish(b"%d" % number, "", "q")) for number in range(4)]
    user.send_and_lose()

    def accept_without_credit(*given: Any) -> CoreSession:
        served.append(accept(*given))
        served[-1].call(MessageSetFlowMode("", CREDIT))
        served[-1].call(MessageFlow("", BYTE, None))
        return served[-1]

    monkeypatch.setattr(Core, "accept_session", accept_without_credit)
    assert user.wait_back().resent == 0
    sent.append(user.start(session.publish(b"4", "", "q")))
    served[-1].call(MessageFlow("", MESSAGE, 2))
    user.stir()
    assert [task.done for task in sent] == [True, True, False, False, False]
    user.back()
    served[-1].call(MessageFlow("", MESSAGE, 1))
    user.stir()
    assert [task.done for task in sent] == [True, True, True, False, False]
    if ends:
        user.start(session.close())
        user.turn()
        for task in sent[3:]:
            with pytest.raises(EndpointClosed, match="session"):
                _ = task.result
    else:
        served[-1].call(MessageFlow("", MESSAGE, 9))
        user.stir()
        assert [task.result for task in sent] == [Accepted()] * 5
    assert user.left() == [b"0", b"1", b"2", b"3", b"4"][: 3 if ends else 5]
    assert user.client.kept == 0


def test_a_session_that_is_busy_for_a_moment_is_resumed(monkeypatch: pytest.MonkeyPatch) -> None:
    user, busy, accept = Recovers(), [True, True], Core.accept_session
    session = user.session(KEPT)
    sent = user.start(session.publish(b"x", "", "q"))
    user.send_and_lose()

    def accept_later(core: Core, channel: int, state: SessionState | None = None) -> CoreSession:
        if state is not None and busy:
            busy.pop()
            core.refuse_session(channel)
            raise EndpointClosed("another connection has it")
        return accept(core, channel, state)

    monkeypatch.setattr(Core, "accept_session", accept_later)
    event = user.wait_back()
    user.turn()
    assert (event.resumed, event.resent, busy) == ((session.name.decode(),), 0, [])
    assert (sent.result, user.left()) == (Accepted(), [b"x"])


@pytest.mark.parametrize("timeout", [NONE_KEPT, KEPT], ids=["replaced", "resumed"])
def test_a_connection_may_be_lost_again_while_it_is_restored(timeout: int) -> None:
    for size in range(1, 1300, 37):
        user = Recovers()
        session = user.session(timeout)
        user.run(session.declare_queue("own", exclusive=True, auto_delete=True))
        subscription = user.subscribe(session)
        sent = [user.start(session.publish(b"%d" % number, "", "q")) for number in range(3)]
        user.send_and_lose()
        user.reconnect().up.hold(size)
        user.turn()
        user.told()
        user.back()
        user.turn()
        assert [task.result for task in sent] == [Accepted()] * 3
        found: set[bytes] = set()
        while len(found) < 3:
            (received,) = user.take(subscription, 1)
            found.add(received.body)
            user.run(received.accept())
        assert found == {b"0", b"1", b"2"}


@pytest.mark.parametrize("timeout", [NONE_KEPT, KEPT], ids=["replaced", "resumed"])
def test_in_doubt_is_reported_if_the_policy_says_so(timeout: int) -> None:
    user = Recovers(RecoveryPolicy(in_doubt="report"))
    session = user.session(timeout)
    sent = user.start(session.publish(b"x", "", "q"))
    user.send_and_lose()
    if timeout:
        user.replace_broker(Settings(seed=b"another"))  # It knows nothing of the session.
    event = user.wait_back()
    with pytest.raises(EndpointClosed, match="has forgotten session" if timeout else "cable is cut"):
        _ = sent.result
    ((target, body),) = [(each.target, each.body) for each in event.in_doubt]
    assert (target, body, event.resent) == (("", "q"), b"x", 0)
    assert user.left() == []


@pytest.mark.parametrize("timeout", [NONE_KEPT, KEPT], ids=["replaced", "resumed"])
def test_a_message_that_was_taken_goes_on_or_is_stale(user: Recovers, timeout: int) -> None:
    session = user.session(timeout)
    subscription = user.subscribe(session, credit=3)
    for number in range(4):
        user.run(session.publish(b"%d" % number, "", "q"))
    one, two = user.take(subscription, 2)
    user.cut()
    accepting = user.start(one.accept())
    user.wait_back()
    user.turn()
    if timeout:
        assert accepting.result is None
        user.run(session.accept(two))
        again = []
    else:
        for call in (lambda: accepting.result, lambda: user.run(session.accept(two))):
            with pytest.raises(StaleDelivery, match="will come again"):
                call()
        again = [b"0", b"1"]
    found = user.take(subscription, 2 + len(again))
    assert sorted(each.body for each in found) == [*again, b"2", b"3"]
    user.run(session.accept(*found))
    user.run(session.close())
    assert user.left() == []


def test_messages_that_need_no_acceptance_stay(user: Recovers) -> None:
    session = user.session()
    subscription = user.subscribe(session, accept_mode=NONE)
    for number in range(3):
        user.run(session.publish(b"%d" % number, "", "q"))
    user.turn()
    user.back()
    user.run(session.publish(b"3", "", "q"))
    assert [each.body for each in user.take(subscription, 4)] == [b"0", b"1", b"2", b"3"]


@pytest.mark.parametrize("timeout", [NONE_KEPT, KEPT], ids=["replaced", "resumed"])
def test_credit_of_the_user_is_granted_again(user: Recovers, timeout: int) -> None:
    session = user.session(timeout)
    subscription = user.subscribe(session, credit=0, flow_mode=CREDIT)
    waits = user.start(subscription.fetch())
    user.turn()
    user.cut()
    granting = user.start(subscription.grant(1))
    user.wait_back()
    assert granting.done
    for number in range(3):
        user.run(session.publish(b"%d" % number, "", "q"))
    user.turn()
    assert waits.result.body == b"0"
    assert user.take(subscription, 1)[0].body == b"1"


@pytest.mark.parametrize("timeout", [NONE_KEPT, KEPT], ids=["replaced", "resumed"])
def test_calls_that_wait_go_on_waiting(user: Recovers, timeout: int) -> None:
    session = user.session(timeout)
    started = [user.start(user.opened()), user.start(session.declare_queue("r")), user.start(session.sync())]
    user.send_and_lose()
    started += [user.start(session.get("q")), user.start(session.publish(b"x", "", "r")), user.start(user.opened())]
    assert not any(task.done for task in started)
    user.wait_back()
    for _ in range(5):
        user.turn()
    names = ["Session", "QueueQueryResult", "NoneType", "NoneType", "Accepted", "Session"]
    assert [type(task.result).__name__ for task in started] == names
    assert user.run(started[0].result.publish(b"y", "", "r")) == Accepted()


def test_a_publish_fails_at_once_if_the_policy_says_so() -> None:
    user = Recovers(RecoveryPolicy(publish="fail"))
    session = user.session()
    user.cut()
    with pytest.raises(EndpointClosed, match="connection is closed"):
        user.run(session.publish(b"x", "", "q"))
    user.wait_back()
    assert user.run(session.publish(b"x", "", "q")) == Accepted()


@pytest.mark.parametrize("timeout", [NONE_KEPT, KEPT], ids=["replaced", "resumed"])
def test_a_transaction_does_not_survive_its_connection(user: Recovers, timeout: int) -> None:
    session = user.session(timeout)
    one, two = session.transaction(), session.transaction()
    user.run(one.begin())
    user.start(session.publish(b"in it", "", "q"))
    user.turn()
    user.back()
    for call in (session.publish(b"x", "", "q"), one.commit()):
        with pytest.raises(TransactionFailed, match="the connection was lost"):
            user.run(call)
    user.run(two.begin())
    user.start(session.publish(b"after", "", "q"))
    user.run(two.commit())
    branch = user.session(timeout).branch(Xid(1, b"global", b"branch"))
    user.run(branch.start())
    user.back()
    with pytest.raises(TransactionFailed, match="its branch is failed"):
        user.run(branch.end())
    assert user.left() == [b"after"]


@pytest.mark.parametrize("timeout", [NONE_KEPT, KEPT], ids=["replaced", "resumed"])
def test_a_request_under_way_goes_on_with_its_session_or_fails(user: Recovers, timeout: int) -> None:
    session = user.session(timeout)
    asked = user.start(session.request(b"1", "", "q"))
    user.turn()
    user.back()
    if not timeout:
        with pytest.raises(EndpointClosed, match="before the reply came"):
            _ = asked.result
        asked = user.start(session.request(b"2", "", "q"))
    answering = user.session()
    requests = [user.run(answering.get("q")) for _ in range(2 - bool(timeout))]
    assert requests[-1] is not None
    properties = requests[-1].message_properties
    assert properties.reply_to is not None
    reply = rewritten(Message(b"answer"), MessageProperties, correlation_id=properties.correlation_id)
    user.start(answering.publish(reply, "", properties.reply_to.routing_key))
    for _ in range(5):
        user.turn()
    assert asked.result.body == b"answer"


def test_a_subscription_whose_queue_others_deleted_ends_and_the_session_lives(user: Recovers) -> None:
    admin, session = Recovers(world=user.world), user.session()
    theirs = admin.session()
    admin.run(theirs.declare_queue("theirs"))
    subscription = user.subscribe(session, "theirs")
    user.cut()
    admin.run(theirs.delete_queue("theirs"))
    (failed,) = user.wait_back().failed
    assert failed[0] == "subscription subscription-1"
    with pytest.raises(ConsumerEnded, match="refused"):
        user.run(subscription.__anext__())
    assert session.is_open


@pytest.mark.parametrize("what", ["session", "connection"])
@pytest.mark.parametrize("seconds", [0.0, 0.5], ids=["waiting", "open again"])
def test_the_user_may_close_what_is_lost(what: str, seconds: float) -> None:
    user = Recovers()
    session, other = user.session(KEPT), user.session()
    waits = user.start(session.wait_closed())
    sent = user.start(session.publish(b"x", "", "q"))
    user.send_and_lose()
    user.turn(seconds)
    closing: Any = session if what == "session" else user.connection
    user.run(closing.close())
    for _ in range(10):
        user.turn(0.25)
    assert waits.done
    assert sent.done
    assert (session.is_open, other.is_open) == (False, what == "session")


@pytest.mark.parametrize("timeout", [NONE_KEPT, KEPT], ids=["replaced", "resumed"])
def test_it_gives_up_after_the_deadline(timeout: int) -> None:
    user = Recovers(RecoveryPolicy(deadline=4.0))
    session = user.session(timeout)
    subscription = user.subscribe(session)
    waits: list[Call[Any]] = [user.start(session.publish(b"2", "", "q")), user.start(subscription.__anext__())]
    user.refuse()
    user.send_and_lose()
    waits += [user.start(session.sync()), user.start(user.opened())]
    for _ in range(30):
        user.turn(0.25)
    for task in waits:
        with pytest.raises(EndpointClosed, match="given up after"):
            _ = task.result
    assert session.report is not None


@pytest.mark.parametrize("seconds", [0.0, 0.5, 2.0])
def test_a_client_pickles_at_any_time(seconds: float) -> None:
    user = Recovers()
    session = user.session()
    assert user.run(session.publish(b"1", "", "q")) == Accepted()
    user.start(session.publish(b"2", "", "q"))
    user.send_and_lose()
    user.turn(seconds)
    again = pickle.loads(pickle.dumps(user.client))
    assert again.recovery.state is user.client.recovery.state


def test_outcomes_are_asked_for_in_a_session_that_began_anew() -> None:
    """Broker-J completes nothing unasked, and the number of the last question was one of the session that is gone."""
    user = Recovers()
    session = user.session()
    for number in range(5):
        user.run(user.run(session.publish(b"%d" % number, "", "q", wait=False)).result())
    user.back()
    sent = user.start(session.publish(b"x", "", "q", wait=False)).result
    before = len(session.core.pending)
    asking = user.start(sent.result())
    assert len(session.core.pending) == before + 1
    user.turn()
    assert asking.result == Accepted()


def test_what_was_accepted_when_the_connection_failed_is_accepted_in_the_resumed_session() -> None:
    user = Recovers()
    session = user.session(KEPT)
    subscription = user.subscribe(session)
    user.run(session.publish(b"x", "", "q"))
    (received,) = user.take(subscription, 1)
    user.run(received.accept())
    user.client.core.connection_lost("a heartbeat is missing", user.now)
    user.cut()
    user.wait_back()
    user.turn()
    assert session.unsettled == ()
    user.run(session.close())
    assert user.left() == []


def test_what_the_server_ends_by_itself_does_not_come_back(user: Recovers) -> None:
    session = user.session()
    user.run(session.declare_queue("kept"))
    for name in ("a", "b"):
        user.run(session.declare_queue(name, auto_delete=True))
        user.run(session.bind_queue(name, "amq.topic", "#"))
    first, second = user.subscribe(session, "a"), user.subscribe(session, "a")
    kept = user.subscribe(session, "b")
    user.run(first.close())
    user.run(second.close())
    event = user.back()
    assert event.failed == ()
    assert kept.is_open
    with pytest.raises(EndpointClosed, match="404"):
        user.run(session.declare_queue("a", passive=True))


@pytest.mark.parametrize("place", range(4))
@pytest.mark.parametrize("options", [{"auto_delete": True}, {"exclusive": True}, {"arguments": {"x-expires": 60_000}}])
def test_the_book_forgets_first_what_the_server_ends_by_itself(options: dict[str, Any], place: int) -> None:
    """Wherever that stands between other queues and exchanges, some of which end too, but not by themselves."""
    user = Recovers(policy=RecoveryPolicy(declared=5, jitter=0.0))  # It has declared a queue already.
    session = user.session()
    for number in range(4):
        if number == place:
            user.run(session.declare_queue("fleeting", **options))
        elif number % 2:
            user.run(session.declare_exchange(f"exchange-{number}", "topic", auto_delete=True))
        else:
            user.run(session.declare_queue(f"queue-{number}"))
    user.run(session.declare_queue("one-more"))
    user.cut()
    user.replace_broker(Settings(seed=b"another"))
    user.wait_back()
    vhost = user.hub.model.vhosts["/"]
    assert "fleeting" not in vhost.queues
    others = [number for number in range(4) if number != place]
    assert {*vhost.queues} >= {"q", "one-more", *(f"queue-{each}" for each in others if not each % 2)}
    assert {*vhost.exchanges} >= {f"exchange-{each}" for each in others if each % 2}


def test_the_book_forgets_instead_of_failing() -> None:
    user = Recovers(policy=RecoveryPolicy(declared=10))
    session = user.session()
    user.run(session.declare_queue("kept", durable=True))
    for number in range(30):
        user.run(session.declare_queue(f"temporary-{number}", auto_delete=True))
    user.back()
    for name in ("kept", "temporary-29"):
        assert user.run(session.declare_queue(name, passive=True)).queue == name
