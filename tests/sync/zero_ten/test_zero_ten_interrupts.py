"""0-10: exceptions that come from outside, at any time: a usable connection is left, or a clear error."""

from __future__ import annotations

from time import monotonic

import pytest

from amqp_sansio import AMQP_0_10, EndpointClosed
from amqp_sansio.amqp_0_10 import QueueQuery
from amqp_sansio_sync import Subscription, connect
from amqp_sansio_sync.amqp_0_10 import Connection, Session
from tests.kit.sync_0_10 import WAIT, Server, running
from tests.sync.test_threads import Interrupted, interrupts


def opened(server: Server) -> tuple[Connection, Session, Subscription]:
    """A connection, a session and a subscription."""
    connection = connect(server.url, version=AMQP_0_10, timeout=WAIT)
    session = connection.open_session(open_timeout=WAIT)
    return connection, session, session.subscribe("jobs", credit=5, timeout=WAIT)


def test_an_interrupt_in_every_kind_of_wait(server: Server) -> None:
    connection, session, subscription = opened(server)
    served = server.session()
    served.writing = False
    with interrupts(0.03), pytest.raises(Interrupted):
        session.publish(b"1", routing_key="jobs")
    with interrupts(0.03), pytest.raises(Interrupted):
        connection.open_session()
    with interrupts(0.03), pytest.raises(Interrupted):
        session.call(QueueQuery(queue="jobs"))
    with interrupts(0.03), pytest.raises(Interrupted):
        session.subscribe("jobs")
    with interrupts(0.03), pytest.raises(Interrupted):
        subscription.fetch()
    with interrupts(0.03), pytest.raises(Interrupted):
        subscription.stop()
    with interrupts(0.03), pytest.raises(Interrupted), session.transaction():
        pytest.fail("it hasn't begun")
    served.writing = True
    served.do(lambda: None)
    with session.transaction(timeout=WAIT):
        session.publish(b"2", routing_key="jobs", timeout=WAIT)
    subscription.grant(5)
    bodies: set[bytes] = set()
    while len(bodies) < 2:
        delivery = subscription.fetch(timeout=WAIT)
        assert delivery is not None
        bodies.add(delivery.body)
        delivery.accept()
    assert bodies == {b"1", b"2"}
    connection.close()


# An exception that hits a weak reference's callback or a destructor is swallowed by the interpreter.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_interrupts_at_any_time_leave_a_usable_connection_or_a_clear_error() -> None:
    given_up = interrupted = 0
    with running() as server:
        connection, session, subscription = opened(server)
        end = monotonic() + 2.5
        step = 0
        while monotonic() < end:
            step += 1
            try:
                with interrupts(0.0002 + 0.0001 * (step % 37)):
                    until = monotonic() + 0.5
                    while monotonic() < until:
                        session.publish(b"x", routing_key="jobs", timeout=WAIT)
                        delivery = subscription.fetch(timeout=WAIT)
                        if delivery is not None:
                            delivery.accept()
            except Interrupted:
                interrupted += 1
            except EndpointClosed as error:
                assert "interrupted at work" in str(error)
            try:
                session.publish(b"y", routing_key="jobs", timeout=WAIT)
                delivery = subscription.fetch(timeout=WAIT)
                assert delivery is not None
                delivery.accept()
            except EndpointClosed as error:
                assert "interrupted at work" in str(error)
                with pytest.raises(EndpointClosed, match="interrupted at work"):
                    session.detached_state()
                given_up += 1
                connection.close()
                connection, session, subscription = opened(server)
        connection.close()
    assert interrupted > 20
    assert 0 < given_up < interrupted
