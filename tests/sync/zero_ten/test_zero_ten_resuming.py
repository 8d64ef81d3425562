"""0-10: sessions that outlive their connection: nothing is lost, and nothing happens twice."""

from __future__ import annotations

import pickle
import random
import threading
from collections.abc import Callable
from time import sleep
from typing import Any

import pytest

from amqp_sansio import AMQP_0_10, Accepted, EndpointClosed
from amqp_sansio.amqp_0_10 import CommandReceived, Config, QueueQuery, SessionState
from amqp_sansio_sync import ReceivedMessage, SentMessage, SessionEnded, connect
from amqp_sansio_sync.amqp_0_10 import Session
from tests.kit.sync_0_10 import WAIT, Server, running, wait_until


@pytest.mark.rule("0-10/session/exactly-once")
@pytest.mark.parametrize("pickled", [False, True])
def test_publishing_goes_on_after_a_lost_connection(server: Server, pickled: bool) -> None:
    server.holding.add("held")
    server.fill("held")
    first = connect(server.url, version=AMQP_0_10)
    session = first.open_session("orders", timeout=60)
    assert session.publish(b"0", routing_key="jobs") == Accepted()
    sent = [session.publish(b"%d" % n, routing_key="held", wait=False) for n in range(1, 4)]
    wait_until(lambda: len(server.received) == 4)
    # What can't reach the server any more is in doubt too.
    served = server.session()
    served.reading = False
    served.do(lambda: None)
    sent += [session.publish(b"%d" % n, routing_key="jobs", wait=False) for n in range(4, 7)]
    served.drop()
    for each in sent:
        with pytest.raises(SessionEnded, match="can be resumed"):
            each.result(WAIT)
    first.close()
    state: SessionState = session.detached_state()
    if pickled:
        state = pickle.loads(pickle.dumps(state))
    with connect(server.url, version=AMQP_0_10) as second, second.resume_session(state, open_timeout=WAIT) as again:
        assert again.name == b"orders"
        assert set(again.pending) >= {each.command_id for each in sent}
        pending = again.pending
        held = [each for each in server.received if each.body in (b"1", b"2", b"3")]
        server.holding.clear()
        server.session().handle_all(held)
        assert [pending[each.command_id].result(WAIT) for each in sent] == [Accepted()] * 6
        if not pickled:
            assert [each.result() for each in sent] == [Accepted()] * 6
        assert again.publish(b"7", routing_key="jobs") == Accepted()
        assert not again.pending
    assert server.bodies("held") == [b"1", b"2", b"3"]
    assert server.bodies("jobs") == [b"0", b"4", b"5", b"6", b"7"]
    # The three that were held are handled twice.
    assert len(server.received) == 8 + 3


def test_a_call_with_a_result_is_answered_after_a_lost_connection() -> None:
    held: list[CommandReceived] = []

    def hold(session: Any, event: object) -> bool:
        if isinstance(event, CommandReceived) and isinstance(event.command, QueueQuery):
            held.append(event)
            return True
        return False

    with running(script=hold) as server:
        first = connect(server.url, version=AMQP_0_10)
        session = first.open_session(timeout=60)
        timer = threading.Timer(0.1, lambda: server.session().drop())
        timer.start()
        with pytest.raises(SessionEnded, match="can be resumed"):
            session.call(QueueQuery(queue="jobs"), timeout=WAIT)
        timer.join()
        first.close()
        with connect(server.url, version=AMQP_0_10) as second, second.resume_session(session.detached_state()) as again:
            (late,) = again.pending.values()
            server.session().handle_all(held)
            assert late.result(WAIT).queue == "jobs"


@pytest.mark.parametrize("flow_mode", [0, 1])
def test_a_subscription_goes_on_after_a_lost_connection(server: Server, flow_mode: int) -> None:
    server.fill("jobs", *[b"%d" % n for n in range(12)])
    first = connect(server.url, version=AMQP_0_10)
    session = first.open_session("mine", timeout=60)
    subscription = session.subscribe("jobs", credit=5, flow_mode=flow_mode, timeout=WAIT)
    taken = [next(subscription) for _ in range(3)]
    taken[0].accept()
    session.sync(WAIT)
    wait_until(lambda: len(server.bodies("jobs")) <= 6)
    server.session().drop()
    with pytest.raises(SessionEnded, match="can be resumed"):
        for delivery in subscription:
            taken.append(delivery)  # before the loss is noticed
    with pytest.raises(SessionEnded, match="can be resumed"):
        taken[1].accept()
    subscription.close()
    first.close()
    state = pickle.loads(pickle.dumps(session.detached_state()))
    with (
        connect(server.url, version=AMQP_0_10) as second,
        second.resume_session(state) as again,
        again.subscriptions["subscription-1"] as rest,
    ):
        rest.timeout = WAIT
        rest.grant(5)
        assert {each.command_id for each in taken[1:]} <= set(again.unsettled)
        # Deliveries of the old session are settled on the new one.
        again.accept(taken[1], *taken[3:])
        again.release(taken[2].command_id)
        found: list[bytes] = []
        while len(found) + len(taken) < 12 + 1:
            delivery = next(rest)
            found.append(delivery.body)
            delivery.accept()
        again.sync(WAIT)
        found += [each.body for each in taken[3:]]
        assert sorted(found, key=int) == [b"%d" % n for n in range(2, 12)]
        assert not again.unsettled
        with again.subscribe("jobs") as another:
            assert another.destination != "subscription-1"
    assert sorted(server.accepted, key=int) == [b"%d" % n for n in range(12)]


def test_a_transaction_goes_on_after_a_lost_connection(server: Server) -> None:
    first = connect(server.url, version=AMQP_0_10)
    session = first.open_session("mine", timeout=60)
    with pytest.raises(SessionEnded, match="can be resumed"), session.transaction():
        session.publish(b"1", routing_key="jobs")
        server.session().drop()
        session.publish(b"2", routing_key="jobs")
    first.close()
    with connect(server.url, version=AMQP_0_10) as second, second.resume_session(session.detached_state()) as again:
        with again.transaction() as transaction:
            again.publish(b"3", routing_key="jobs")
            transaction.rollback()
        with again.transaction():
            again.publish(b"4", routing_key="jobs")
        assert server.bodies("jobs") == [b"4"]


def test_a_session_is_detached_and_resumed(server: Server) -> None:
    server.fill("jobs", b"1", b"2")
    with connect(server.url, version=AMQP_0_10) as connection:
        session = connection.open_session("mine", timeout=60)
        with session.subscribe("jobs", credit=2, timeout=WAIT) as subscription:
            first = next(subscription)
            state = session.detach(timeout=WAIT)
            with pytest.raises(SessionEnded, match="closed by this side") as caught:
                next(subscription)
            assert caught.value.resumable
        assert server.known[b"mine"].peer is None
        again = connection.resume_session(state)
        again.accept(first)
        with again.subscriptions["subscription-1"] as subscription:
            subscription.timeout = WAIT
            subscription.grant(1)
            next(subscription).accept()
        again.close(timeout=WAIT)
        assert server.accepted == [b"1", b"2"]
        assert not server.known


def test_a_session_that_the_server_forgot_cannot_be_resumed(server: Server) -> None:
    server.keeping = False
    with connect(server.url, version=AMQP_0_10) as connection:
        session = connection.open_session("mine", timeout=60)
        server.holding.add("jobs")
        sent = session.publish(b"x", routing_key="jobs", wait=False)
        state = session.detach(timeout=WAIT)
        with pytest.raises(SessionEnded, match="has forgotten session") as caught:
            connection.resume_session(state)
        assert not caught.value.resumable
        with pytest.raises(SessionEnded):
            sent.result(WAIT)


def test_what_the_server_grants_is_the_timeout() -> None:
    with (
        running(config=Config(session_timeout_max=30)) as server,
        connect(server.url, version=AMQP_0_10) as connection,
        connection.open_session(timeout=300) as session,
    ):
        session.sync(WAIT)
        assert session.timeout == 30
        assert session.request_timeout(None, timeout=WAIT) == 30
        assert session.request_timeout(0, timeout=WAIT) == 0


@pytest.mark.rule("0-10/session/exactly-once")
@pytest.mark.parametrize("seed", range(3))
def test_nothing_is_lost_or_twice_however_often_the_connection_is_lost(server: Server, seed: int) -> None:
    """One session publishes, one consumes; their connection is cut at random in the middle of both."""
    count = 1000
    taken: list[ReceivedMessage] = []
    outcomes: list[object] = []
    failures: list[BaseException] = []
    cuts = 0
    ready = threading.Barrier(3)

    def resuming(name: str, work: Callable[[Session], bool]) -> None:
        try:
            connection = connect(server.url, version=AMQP_0_10, timeout=WAIT)
            session = connection.open_session(name, timeout=60)
            session.sync(WAIT)
            ready.wait(WAIT)
            while True:
                try:
                    if work(session):
                        session.close(timeout=WAIT)
                        connection.close()
                        return
                except EndpointClosed:
                    if session.report is None:
                        raise
                connection.close()
                state = session.detached_state()
                while True:
                    try:
                        connection = connect(server.url, version=AMQP_0_10, timeout=WAIT)
                        session = connection.resume_session(state, open_timeout=WAIT)
                        break
                    except (EndpointClosed, ConnectionError):
                        # The server may reset it before it's opened, or even before it's connected.
                        connection.close()
        except BaseException as error:
            failures.append(error)

    sent: list[SentMessage] = []

    def publish(session: Session) -> bool:
        for each in session.pending.values():
            outcomes.append(each.result(WAIT))
        while len(sent) < count:
            # Under way from here on: after a loss it's sent again by the session, not by this loop.
            sent.append(session.publish(b"%d" % len(sent), routing_key="jobs", wait=False))
            if len(sent) % 5 == 0:
                outcomes.append(sent[-1].result(WAIT))
        session.sync(WAIT)
        return True

    def consume(session: Session) -> bool:
        for subscription in session.subscriptions.values():
            subscription.close(WAIT)
        subscription = session.subscribe("jobs", credit=10)
        # What was taken before the loss and not accepted.
        session.accept(*[each for each in taken[-1:] if each.command_id in session.unsettled])
        while len(taken) < count:
            delivery = subscription.fetch(timeout=WAIT)
            assert delivery is not None
            taken.append(delivery)
            delivery.accept()
        session.sync(WAIT)
        return True

    threads = [
        threading.Thread(target=resuming, args=("out", publish)),
        threading.Thread(target=resuming, args=("in", consume)),
    ]
    for thread in threads:
        thread.start()
    chance = random.Random(seed)
    ready.wait(WAIT)
    while any(thread.is_alive() for thread in threads):
        sleep(chance.random() * 0.01)
        open_ones = [each for each in server.sessions if not each.ended.is_set()]
        if open_ones and cuts < 25:
            cuts += 1
            try:
                chance.choice(open_ones).drop(reset=chance.random() < 0.5)
            except OSError:
                continue  # it has ended by itself
    for thread in threads:
        thread.join(WAIT)
    assert not failures
    assert cuts > 5
    assert sorted([int(each.body) for each in taken]) == list(range(count))
    assert len(server.received) == count
    assert sorted(map(int, server.accepted)) == list(range(count))
    assert set(outcomes) <= {Accepted(), None}
    assert {each.result() for each in sent} == {Accepted()}
