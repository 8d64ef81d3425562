"""1.0: exceptions that come from outside, at any time: a usable connection is left, or a clear error."""

from __future__ import annotations

from time import monotonic

import pytest

from amqp_sansio import AMQP_1_0, EndpointClosed
from amqp_sansio_sync import Receiver, Sender, Session, connect
from amqp_sansio_sync.amqp_1_0 import Connection
from tests.kit.server_1_0 import WAIT, Server, running
from tests.sync.test_threads import Interrupted, interrupts


def opened(server: Server) -> tuple[Connection, Session, Sender, Receiver]:
    """A connection, and on it a session, a sender and a receiver."""
    connection = connect(server.url, version=AMQP_1_0, timeout=WAIT)
    session = connection.open_session(timeout=WAIT)
    sender = session.open_sender("jobs", timeout=WAIT)
    return connection, session, sender, session.open_receiver("jobs", credit=5, timeout=WAIT)


def test_an_interrupt_in_every_kind_of_wait(server: Server) -> None:
    connection, session, sender, receiver = opened(server)
    served = server.session()
    served.writing = False
    with interrupts(0.03), pytest.raises(Interrupted):
        sender.send(b"1")
    with interrupts(0.03), pytest.raises(Interrupted):
        connection.open_session()
    with interrupts(0.03), pytest.raises(Interrupted):
        session.open_receiver("jobs")
    with interrupts(0.03), pytest.raises(Interrupted):
        receiver.fetch()
    with interrupts(0.03), pytest.raises(Interrupted):
        receiver.drain()
    with interrupts(0.03), pytest.raises(Interrupted), session.transaction():
        pytest.fail("it isn't declared")
    with interrupts(0.03), pytest.raises(Interrupted):
        sender.detach()
    served.writing = True
    served.do(lambda: None)
    bodies: set[bytes] = set()
    with session.open_sender("jobs", timeout=WAIT) as again:
        again.send(b"2", timeout=WAIT)
    while len(bodies) < 2:
        delivery = receiver.fetch(timeout=WAIT)
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
        connection, _, sender, receiver = opened(server)
        end = monotonic() + 2.5
        step = 0
        while monotonic() < end:
            step += 1
            try:
                with interrupts(0.0002 + 0.0001 * (step % 37)):
                    until = monotonic() + 0.5
                    while monotonic() < until:
                        sender.send(b"x", timeout=WAIT)
                        delivery = receiver.fetch(timeout=WAIT)
                        if delivery is not None:
                            delivery.accept()
            except Interrupted:
                interrupted += 1
            except EndpointClosed as error:
                assert "interrupted at work" in str(error)
            try:
                sender.send(b"y", timeout=WAIT)
                delivery = receiver.fetch(timeout=WAIT)
                assert delivery is not None
                delivery.accept()
            except EndpointClosed as error:
                assert "interrupted at work" in str(error)
                given_up += 1
                connection.close()
                connection, _, sender, receiver = opened(server)
        connection.close()
    assert interrupted > 20
    assert 0 < given_up < interrupted
