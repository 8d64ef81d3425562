"""0-10: subscriptions, their credit, and what is done with the messages that come."""

from __future__ import annotations

import threading
from time import monotonic, sleep
from typing import Any

import pytest

from amqp_sansio import AMQP_0_10, EndpointClosed
from amqp_sansio.amqp_0_10 import CREDIT, NONE, NOT_ACQUIRED, WINDOW, CreditChanged, MessageSubscribe, SequenceSet
from amqp_sansio.errors import LocalProtocolError
from amqp_sansio_sync import ReceivedMessage, SessionEnded, connect
from amqp_sansio_sync.amqp_0_10 import Connection, Session
from tests.kit.sync_0_10 import WAIT, Server, running, wait_until


def bodies(server: Server, queue: str, count: int) -> bool:
    """Whether so many messages wait in a queue."""
    return len(server.bodies(queue)) == count


@pytest.mark.parametrize("flow_mode", [WINDOW, CREDIT])
@pytest.mark.parametrize("octets", [None, 4000])
def test_credit_is_kept_up_as_deliveries_are_taken(
    server: Server, session: Session, flow_mode: int, octets: int | None
) -> None:
    server.fill("jobs", *[b"%d" % n for n in range(300)])
    with session.subscribe("jobs", credit=10, octets=octets, flow_mode=flow_mode, timeout=WAIT) as subscription:
        wait_until(lambda: len(server.bodies("jobs")) <= 290)
        sleep(0.05)
        assert bodies(server, "jobs", 290)
        found: list[bytes] = []
        for delivery in subscription:
            found.append(delivery.body)
            delivery.accept()
            if len(found) == 300:
                break
        assert found == [b"%d" % n for n in range(300)]
        messages, left = subscription.granted
        assert messages is not None
        assert 5 <= messages <= 10
        assert (left is None) is (octets is None)
    session.sync(WAIT)
    assert server.accepted == found
    assert not session.unsettled


def test_octets_bound_what_is_under_way(server: Server, session: Session) -> None:
    server.fill("jobs", *[bytes(1000)] * 20)
    with session.subscribe("jobs", octets=5000, timeout=WAIT) as subscription:
        wait_until(lambda: len(server.bodies("jobs")) < 20)
        sleep(0.05)
        assert bodies(server, "jobs", 16)
        for _ in range(20):
            next(subscription).accept()


def test_nothing_comes_that_nobody_granted(server: Server, session: Session) -> None:
    server.fill("jobs", *[b"%d" % n for n in range(6)])
    with session.subscribe("jobs", credit=0, timeout=WAIT) as subscription:
        assert subscription.granted == (0, 0)
        subscription.timeout = 0.05
        with pytest.raises(TimeoutError, match=r"a message of 'subscription-1': not within 0\.05 seconds"):
            next(subscription)
        assert bodies(server, "jobs", 6)
        subscription.timeout = WAIT
        subscription.grant(2)
        # With a window what is taken gives its credit back.
        found = [next(subscription).body for _ in range(4)]
        assert found == [b"0", b"1", b"2", b"3"]
    session.release(*session.unsettled)
    session.sync(WAIT)
    assert server.bodies("jobs") == [b"%d" % n for n in range(6)]
    with session.subscribe("jobs", credit=0, flow_mode=CREDIT, timeout=0.05) as subscription:
        subscription.grant(2, 1000)
        taken = [next(subscription) for _ in range(2)]
        assert subscription.granted[0] == 0
        with pytest.raises(TimeoutError):
            next(subscription)
        subscription.grant(1, 0)
        taken.append(next(subscription))
        assert [each.body for each in taken] == [b"0", b"1", b"2"]
        assert bodies(server, "jobs", 3)
        subscription.grant(None)
        wait_until(lambda: bodies(server, "jobs", 0))
        assert subscription.granted == (None, None)
        assert [next(subscription).body for _ in range(3)] == [b"3", b"4", b"5"]


def test_what_was_granted_without_limit_is_stopped_when_it_is_not_taken(server: Server, connection: Connection) -> None:
    session = connection.open_session()
    with session.subscribe("jobs", credit=0, timeout=WAIT) as subscription:
        subscription.grant(None)
        server.fill("jobs", *[bytes(10)] * 12_000)
        wait_until(lambda: bool(connection._driver.client.full))  # pyright: ignore[reportPrivateUsage]
        other = connection.open_session()
        with pytest.raises(EndpointClosed, match="it fell behind"):
            while True:
                other.sync(WAIT)
                server.fill("jobs", *[bytes(100)] * 1000)
                sleep(0.01)
                if not subscription.is_open:
                    for delivery in subscription:
                        delivery.accept()


def test_fetch_with_and_without_credit_of_its_own(server: Server, session: Session) -> None:
    with session.subscribe("jobs", credit=5) as subscription:
        assert subscription.fetch(timeout=0) is None
        assert subscription.fetch(timeout=0.02) is None
        server.fill("jobs", b"1")
        delivery = subscription.fetch(timeout=WAIT)
        assert delivery is not None
        assert delivery.body == b"1"
        delivery.accept()
    for flow_mode in (CREDIT, WINDOW):
        with session.subscribe("jobs", credit=0, flow_mode=flow_mode) as subscription:
            assert subscription.fetch(timeout=0) is None
            assert subscription.fetch(timeout=0.02) is None
            assert subscription.granted[0] == 0
            server.fill("jobs", b"2", b"3", b"4")
            delivery = subscription.fetch(timeout=0)
            assert delivery is not None
            assert delivery.body == b"2"
            if flow_mode == CREDIT:
                assert bodies(server, "jobs", 2)
            delivery.accept()
            rest = [subscription.fetch(timeout=WAIT) for _ in range(2)]
            assert [each.body for each in rest if each is not None] == [b"3", b"4"]
    with pytest.raises(SessionEnded, match="is closed"):
        subscription.fetch(timeout=0.1)


@pytest.mark.parametrize("how", ["fetch", "grant"])
def test_a_window_that_a_fetch_left_open_is_closed_before_the_next_credit(how: str) -> None:
    """The server learns of the completion and of the stop in one go: nothing comes that the completion had room for."""
    stopped: list[CreditChanged] = []

    def hold(served: Any, event: object) -> bool:
        if isinstance(event, CreditChanged) and event.messages == 1 and not stopped:
            stopped.append(event)
            served.reading = False
        return False

    with (
        running(script=hold) as server,
        connect(server.url, version=AMQP_0_10) as connection,
        connection.open_session() as session,
        session.subscribe("jobs", credit=0, flow_mode=WINDOW) as subscription,
    ):
        server.fill("jobs", b"1")
        first = subscription.fetch(timeout=WAIT)
        assert first is not None
        server.session().reading = True
        server.session().do(lambda: None)
        server.fill("jobs", b"2")
        if how == "grant":
            # Also while the stop is on its way, whatever has come before it.
            subscription.grant(1)
            assert next(subscription).body == b"2"
            return
        for timeout in (WAIT / 4, 0):
            server.fill("jobs", b"3")
            delivery = subscription.fetch(timeout=timeout)
            assert delivery is not None
        session.sync(WAIT)
        assert subscription.granted[0] == 0


def test_what_is_done_with_deliveries(server: Server, session: Session) -> None:
    server.fill("jobs", b"0", b"1", b"2", b"3")
    with session.subscribe("jobs", timeout=WAIT) as subscription:
        first, second, third, fourth = [next(subscription) for _ in range(4)]
        assert (first.destination, first.accepts, first.acquired) == ("subscription-1", True, True)
        assert not first.redelivered
        assert len(first.message.body) == len(first.body) == 1
        assert session.unsettled == tuple([each.command_id for each in (first, second, third, fourth)])
        assert repr(first) == f"<ReceivedMessage {first.command_id}, 1 octets>"
        first.accept()
        second.reject(1, "no")
        third.release(set_redelivered=True)
        session.sync(WAIT)
        assert server.accepted == [b"0"]
        assert [item.message.body for item in server.dead] == [b"1"]
        again = next(subscription)
        assert (again.body, again.redelivered) == (b"2", True)
        again.release()
        assert next(subscription).redelivered
        with pytest.raises(LocalProtocolError, match="no transfers of these ids"):
            first.accept()
        session.accept(fourth, session.unsettled[-1])
        session.sync(WAIT)
        assert sorted(server.accepted) == [b"0", b"2", b"3"]
        server.fill("jobs", b"4", b"5")
        session.reject(*[next(subscription) for _ in range(2)], text="too old")
        session.sync(WAIT)
        assert len(server.dead) == 3


def test_nothing_is_accepted_with_the_accept_mode_none(server: Server, session: Session) -> None:
    server.fill("jobs", *[b"%d" % n for n in range(40)])
    with session.subscribe("jobs", accept_mode=NONE, credit=4, timeout=WAIT) as subscription:
        deliveries = [next(subscription) for _ in range(40)]
        assert not deliveries[0].accepts
        with pytest.raises(LocalProtocolError):
            deliveries[0].accept()
    assert not session.unsettled
    assert [each.body for each in deliveries] == [b"%d" % n for n in range(40)]


def test_browsing_and_acquiring(server: Server, session: Session) -> None:
    server.fill("jobs", b"0", b"1", b"2")
    with session.subscribe("jobs", acquire_mode=NOT_ACQUIRED, timeout=WAIT) as subscription:
        first, second, third = [next(subscription) for _ in range(3)]
        assert not first.acquired
        assert bodies(server, "jobs", 3)
        with pytest.raises(LocalProtocolError, match="not acquired"):
            first.accept()
        assert first.acquire(WAIT)
        first.accept()
        with server.lock:
            server.queues["jobs"].popleft()
        assert not second.acquire(WAIT)
        assert session.acquire(second, third) == SequenceSet.of(third.command_id)
        third.accept()
        second.release()
    session.sync(WAIT)
    assert server.accepted == [b"0", b"2"]
    assert not session.unsettled


def test_leaving_cancels_and_releases_what_was_not_taken(server: Server, session: Session) -> None:
    server.fill("jobs", *[b"%d" % n for n in range(5)])
    with session.subscribe("jobs", destination="mine", timeout=WAIT) as subscription:
        assert subscription.destination == "mine"
        taken = next(subscription)
        wait_until(lambda: bodies(server, "jobs", 0))
    session.sync(WAIT)
    assert server.bodies("jobs") == [b"1", b"2", b"3", b"4"]
    assert not server.attached(session.name).subscriptions
    # Earlier transfers can still be settled (rule post-cancel).
    taken.accept()
    session.sync(WAIT)
    assert server.accepted == [b"0"]
    with pytest.raises(StopIteration):
        next(subscription)
    subscription.close()
    with session.subscribe("jobs", destination="mine", accept_mode=NONE, timeout=WAIT):
        wait_until(lambda: bodies(server, "jobs", 0))
    assert not session.core.incomplete


def test_a_missing_queue_and_a_taken_destination(server: Server, connection: Connection) -> None:
    session = connection.open_session()
    with session.subscribe("jobs", destination="d"):
        with pytest.raises(LocalProtocolError, match="in use"):
            session.subscribe("jobs", destination="d")
        with pytest.raises(ValueError, match="flow mode 7"):
            session.subscribe("jobs", flow_mode=7)
        with pytest.raises(ValueError, match="credit -1"):
            session.subscribe("jobs", credit=-1)
        with pytest.raises(SessionEnded, match="no queue 'nope'") as caught:
            session.subscribe("nope")
    assert caught.value.code == 404


def test_a_subscription_that_is_granted_too_late_is_cancelled(server: Server) -> None:
    held: list[object] = []

    def hold(session: object, event: object) -> bool:
        if isinstance(getattr(event, "command", None), MessageSubscribe) and not held:
            held.append(event)
            return True
        return False

    server.script = hold
    with connect(server.url, version=AMQP_0_10) as connection, connection.open_session() as session:
        with pytest.raises(TimeoutError, match=r"message\.subscribe"):
            session.subscribe("jobs", timeout=0.05)
        served = server.session()
        served.do(lambda: served.handle(held[0]))  # type: ignore[arg-type]
        session.sync(WAIT)
        wait_until(lambda: not server.attached(session.name).subscriptions)


def test_the_end_of_the_session_is_raised_behind_what_may_still_be_taken(
    server: Server, connection: Connection
) -> None:
    server.fill("jobs", b"0", b"1")
    session = connection.open_session()
    served = server.session()
    explicit = session.subscribe("jobs", credit=1, timeout=WAIT)
    wait_until(lambda: bodies(server, "jobs", 1))
    none = session.subscribe("jobs", accept_mode=NONE, timeout=WAIT)
    wait_until(lambda: bodies(server, "jobs", 0))
    core = server.attached(session.name).core
    session.sync(WAIT)
    served.do(core.detach)
    session.wait_closed(WAIT)
    with pytest.raises(SessionEnded, match="closed by the peer"):
        next(explicit)
    with pytest.raises(SessionEnded, match="closed by the peer"):
        explicit.fetch(0.1)
    # Nothing is to be said of it, so it's still here.
    assert next(none).body == b"1"
    with pytest.raises(SessionEnded):
        next(none)
    with pytest.raises(SessionEnded):
        none.grant(1)
    none.close()


def test_threads_take_from_one_subscription(server: Server, session: Session) -> None:
    count = 400
    server.fill("jobs", *[b"%d" % n for n in range(count)])
    found: list[ReceivedMessage] = []
    with session.subscribe("jobs", credit=20) as subscription:

        def take() -> None:
            while (delivery := subscription.fetch(timeout=0.3)) is not None:
                found.append(delivery)
                delivery.accept()

        threads = [threading.Thread(target=take) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(WAIT)
    session.sync(WAIT)
    assert sorted(int(each.body) for each in found) == list(range(count))
    assert len(server.accepted) == count


def test_a_wait_for_a_delivery_ends_with_the_subscription(session: Session) -> None:
    subscription = session.subscribe("jobs")
    timer = threading.Timer(0.05, subscription.close)
    timer.start()
    begun = monotonic()
    assert list(subscription) == []
    assert monotonic() - begun < WAIT
    timer.join()


def test_a_server_on_its_own_is_closed() -> None:
    with running() as server, connect(server.url, version=AMQP_0_10) as connection:
        subscription = connection.open_session().subscribe("jobs", timeout=WAIT)
        served = server.session()
        timer = threading.Timer(0.05, lambda: served.do(lambda: served.core.close(320, "enough")))
        timer.start()
        with pytest.raises(SessionEnded, match="320 enough") as caught:
            next(subscription)
        timer.join()
        assert not caught.value.resumable
        assert connection.report is not None
