"""1.0: what is refused, and how links and sessions end."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from amqp_sansio import AMQP_1_0, By, EndpointClosed, Event
from amqp_sansio.amqp_1_0 import Accepted, LinkRequested
from amqp_sansio_sync import LinkEnded, Receiver, Session, connect
from amqp_sansio_sync.amqp_1_0 import Connection
from tests.kit.server_1_0 import WAIT, Server, running, wait_until
from tests.kit.sync_1_0 import look, turn


def test_a_missing_node_is_told(server: Server, session: Session) -> None:
    server.refused.add("missing")
    for attach in (session.open_sender, session.open_receiver):
        with pytest.raises(LinkEnded, match="no node 'missing'") as caught:
            attach("missing")
        assert caught.value.condition == "amqp:not-found"
        assert caught.value.link
    assert session.is_open
    with session.open_sender("there") as sender:
        assert sender.send(b"x") == Accepted()


def test_an_attach_that_is_answered_too_late_is_closed() -> None:
    held: list[Event] = []

    def hold(session: Any, event: Event) -> bool:
        if isinstance(event, LinkRequested) and not held:
            held.append(event)
            return True
        return False

    with (
        running(script=hold) as server,
        connect(server.url, version=AMQP_1_0) as connection,
        connection.open_session() as session,
    ):
        server.fill("jobs", b"1")
        with pytest.raises(TimeoutError, match="the attach"):
            session.open_receiver("jobs", timeout=0.05)
        served = server.session()
        served.do(lambda: served.handle(held[0]))
        wait_until(lambda: not served.links)
        assert server.bodies("jobs") == [b"1"]
        with session.open_receiver("jobs", timeout=WAIT) as receiver:
            assert next(receiver).body == b"1"


def test_a_session_that_begins_too_late_is_ended(server: Server) -> None:
    with connect(server.url, version=AMQP_1_0) as connection:
        served = server.session()
        served.writing = False
        with pytest.raises(TimeoutError, match="the begin"):
            connection.open_session(timeout=0.05)
        served.writing = True
        served.do(lambda: None)
        wait_until(lambda: turn(connection) and not connection.core.sessions)


def test_the_peer_ends_a_link(server: Server, session: Session) -> None:
    server.fill("jobs", b"0")
    receiver = session.open_receiver("jobs", timeout=WAIT)
    taken = next(receiver)
    served = server.session()
    link = next(iter(served.links.values()))
    served.do(lambda: link.close("amqp:resource-deleted", "the queue is gone"))
    with pytest.raises(LinkEnded, match="amqp:resource-deleted the queue is gone") as caught:
        next(receiver)
    assert caught.value.condition == "amqp:resource-deleted"
    assert caught.value.link == receiver.name
    with pytest.raises(EndpointClosed):
        taken.accept()
    with pytest.raises(EndpointClosed):
        receiver.drain()
    assert receiver.report is not None
    assert receiver.report.by is By.REMOTE
    assert session.is_open
    receiver.close()


def test_the_peer_ends_a_link_in_the_middle_of_a_send(server: Server, session: Session) -> None:
    server.holding.add("jobs")
    sender = session.open_sender("jobs")
    served = server.session()
    link = next(iter(served.links.values()))
    timer = threading.Timer(0.05, lambda: served.do(lambda: link.close("amqp:link:detach-forced", "away")))
    timer.start()
    with pytest.raises(EndpointClosed, match="amqp:link:detach-forced away"):
        sender.send(b"x", timeout=WAIT)
    timer.join()
    with pytest.raises(EndpointClosed):
        sender.send(b"y")
    with pytest.raises(EndpointClosed):
        sender.wait_credit()


def test_the_peer_ends_a_session(server: Server, connection: Connection) -> None:
    session, other = connection.open_session(), connection.open_session()
    receiver = session.open_receiver("jobs", timeout=WAIT)
    served = server.session()
    served.do(lambda: served.core.session(served.core.sessions[0]).close("amqp:not-allowed", "no"))
    with pytest.raises(EndpointClosed, match="amqp:not-allowed no"):
        next(receiver)
    with pytest.raises(EndpointClosed, match="amqp:not-allowed no"):
        session.open_sender("jobs")
    assert session.report is not None
    assert session.close() == session.report
    assert not session.is_open
    with other.open_sender("jobs") as sender:
        assert sender.send(b"x") == Accepted()


def test_leaving_the_context_raises_what_no_call_has_raised(server: Server) -> None:
    with (
        pytest.raises(LinkEnded, match="amqp:resource-deleted gone"),
        connect(server.url, version=AMQP_1_0) as connection,
    ):
        session = connection.open_session()
        receiver = session.open_receiver("jobs")
        served = server.session()
        link = next(iter(served.links.values()))
        served.do(lambda: link.close("amqp:resource-deleted", "gone"))
        wait_until(lambda: turn(connection) and not receiver.is_open)


def test_leaving_contexts_does_not_wait_for_ever(server: Server) -> None:
    connection = connect(server.url, version=AMQP_1_0, close_timeout=0.1)
    served = server.session()
    receivers: list[Receiver] = []
    with pytest.raises(TimeoutError, match="the outcome"), connection.open_session() as session:
        sender = session.open_sender("jobs")
        receivers.append(session.open_receiver("empty"))
        server.holding.add("jobs")
        with sender, receivers[0]:
            served.writing = False
            sender.send(b"x", timeout=0.05)
    assert not receivers[0].is_open
    served.writing = True
    served.do(lambda: None)
    other = connection.open_session(timeout=WAIT)
    served.writing = False
    with pytest.raises(TimeoutError, match="the end of the session"), other:
        pass
    served.writing = True
    connection.close()


def test_waiting_for_an_end(server: Server, connection: Connection) -> None:
    session = connection.open_session(properties={"a": 1})
    sender = session.open_sender("jobs")
    with pytest.raises(TimeoutError, match="the end of the link"):
        sender.wait_closed(0.02)
    with pytest.raises(TimeoutError, match="the end of the connection"):
        connection.wait_closed(0.02)
    served = server.session()
    timer = threading.Timer(0.05, lambda: served.do(lambda: served.core.close("amqp:connection:forced", "night")))
    timer.start()
    report = sender.wait_closed(WAIT)
    timer.join()
    assert report is not None
    assert (report.condition, report.text) == ("amqp:connection:forced", "night")
    assert connection.wait_closed(WAIT) == report
    with pytest.raises(LinkEnded, match="amqp:connection:forced night"):
        sender.send(b"x")


def test_events_tell_the_rest(server: Server, session: Session) -> None:
    with session.events(timeout=WAIT) as events, session.open_sender("jobs") as sender:
        served = server.session()
        link = next(iter(served.links.values()))
        assert next(events).__class__.__name__ == "CreditChanged"
        served.do(lambda: link.flow(7))
        assert getattr(next(events), "credit", None) == 7
        assert sender.credit == 7
    session.close()
    with pytest.raises(EndpointClosed):
        next(session.events())


def test_a_link_that_nobody_asked_for_is_refused(server: Server, session: Session) -> None:
    served = server.session()
    session.open_sender("jobs").close()
    opened: list[Any] = []
    served.do(lambda: opened.append(served.core.session(served.core.sessions[0]).open_receiver("here", credit=1)))
    wait_until(lambda: look(session) and opened[0].report is not None)
    assert opened[0].report.condition == "amqp:not-implemented"


def test_a_session_that_nobody_asked_for_is_refused(server: Server, connection: Connection) -> None:
    served = server.session()
    opened: list[Any] = []
    served.do(lambda: opened.append(served.core.open_session()))
    wait_until(lambda: turn(connection) and opened[0].report is not None)
    assert opened[0].report.condition == "amqp:not-implemented"


def test_a_session_in_a_context_is_ended(server: Server, connection: Connection) -> None:
    with connection.open_session() as session:
        assert repr(session) == f"<Session {session.channel}, open>"
        with session.open_sender("jobs"):
            pass
    assert not session.is_open
    assert session.report is not None
    assert session.report.by is By.LOCAL
    wait_until(lambda: not server.session().links)
