"""1.0: connections and their configuration, senders and what becomes of messages."""

from __future__ import annotations

import threading
from time import sleep
from typing import Any, assert_type

import pytest

from amqp_sansio import AMQP_1_0, By, EndpointClosed
from amqp_sansio.amqp_1_0 import (
    Accepted,
    AmqpValue,
    Delivery,
    DeliveryState,
    Error,
    Message,
    Modified,
    Open,
    Properties,
    Received,
    Rejected,
    Released,
    Symbol,
)
from amqp_sansio_sync import ReceivedDelivery, Receiver, Sender, SentDelivery, Session, connect
from amqp_sansio_sync.amqp_1_0 import Connection
from tests.kit.server_1_0 import WAIT, Server, running, wait_until
from tests.kit.sync_1_0 import turn


def test_from_one_end_to_the_other(server: Server) -> None:
    received: list[ReceivedDelivery] = []
    with connect(server.url, version=AMQP_1_0) as connection:
        session = connection.open_session()
        with session.open_sender("jobs") as sender:
            outcome = sender.send(Message(body=b"hello"))
        with session.open_receiver("jobs", credit=10) as receiver:
            for delivery in receiver:
                delivery.accept()
                received.append(delivery)
                break
    assert_type(connection, Connection)
    assert_type(session, Session)
    assert_type(sender, Sender)
    assert_type(receiver, Receiver)
    assert_type(outcome, DeliveryState | None)
    assert outcome == Accepted()
    assert [each.body for each in received] == [b"hello"]
    assert server.bodies("jobs") == []


def test_a_connection_tells_of_itself_and_of_its_peer(server: Server) -> None:
    connection = connect(server.url, version=AMQP_1_0, container_id="me")
    assert connection.is_open
    assert connection.report is None
    assert_type(connection.remote, Open)
    assert connection.remote.container_id == "test-server"
    assert connection.core.config.container_id == "me"
    report = connection.close("amqp:connection:forced", "going home")
    assert (report.by, report.condition, report.text) == (By.LOCAL, "amqp:connection:forced", "going home")
    assert connection.close() == report
    assert connection.report == report
    assert not connection.is_open
    with pytest.raises(EndpointClosed, match="going home"):
        connection.open_session()
    assert server.session().ended.wait(WAIT)


def test_two_connections_have_different_names(server: Server) -> None:
    names: set[str] = set()
    for _ in range(2):
        with connect(server.url, version=AMQP_1_0) as connection:
            names.add(connection.core.config.container_id)
    assert len(names) == 2


def test_the_url_and_the_options_configure(server: Server) -> None:
    url = server.url + "?heartbeat=30&frame_max=4096&channel_max=7"
    with connect(url, version=AMQP_1_0) as connection:
        config = connection.core.config
        assert (config.idle_time_out, config.max_frame_size, config.channel_max) == (60.0, 4096, 7)
        assert config.hostname == "127.0.0.1"
    with connect(server.url + "eu", version=AMQP_1_0, idle_time_out=5) as connection:
        assert connection.core.config.idle_time_out == 5
        assert connection.core.config.hostname == "vhost:eu"
    with connect(server.url + "?heartbeat=0", version=AMQP_1_0, hostname="h") as connection:
        assert connection.core.config.idle_time_out == 0
        assert connection.core.config.hostname == "h"


def test_what_is_no_option_is_refused(server: Server) -> None:
    options: dict[str, Any] = {"vhost": "/"}
    with pytest.raises(TypeError, match=r"connect takes no 'vhost' in AMQP 1\.0"):
        connect(server.url, version=AMQP_1_0, **options)


def test_the_server_refuses_the_host(server: Server) -> None:
    server.unknown_hosts.add("vhost:nowhere")
    with pytest.raises(EndpointClosed, match="amqp:not-found no host") as caught:
        connect(server.url + "nowhere", version=AMQP_1_0)
    assert caught.value.report is not None
    assert caught.value.report.condition == "amqp:not-found"


def test_a_wrong_password_is_told(server: Server) -> None:
    with pytest.raises(EndpointClosed) as caught:
        connect(server.url.replace("guest:guest", "guest:wrong"), version=AMQP_1_0)
    assert "password" in str(caught.value)


@pytest.mark.parametrize(
    "outcome",
    [Accepted(), Released(), Rejected(Error(Symbol("amqp:invalid-field"), "no")), Modified(delivery_failed=True)],
)
def test_send_returns_each_outcome(server: Server, session: Session, outcome: DeliveryState) -> None:
    server.outcomes["jobs"] = outcome
    with session.open_sender("jobs") as sender:
        assert sender.send(b"x") == outcome
        assert not sender.pending


def test_octets_are_one_data_section_and_values_go_as_such(server: Server, session: Session) -> None:
    with session.open_sender("jobs") as sender:
        sender.send(b"octets")
        sender.send(Message({"a": [1, True]}, properties=Properties(subject="s")))
        sender.send(Message(AmqpValue("text")))
    assert server.bodies("jobs") == [b"octets", {"a": [1, True]}, "text"]


def test_a_message_sent_settled_has_no_outcome(server: Server, session: Session) -> None:
    with session.open_sender("jobs") as sender:
        assert sender.send(b"x", settled=True) is None
        sent = sender.send(b"y", settled=True, wait=False)
        assert sent.done
        assert sent.result() is None
        wait_until(lambda: len(server.received) == 2)
    assert all(each.settled for each in server.received)


def test_many_messages_under_way(server: Server, session: Session) -> None:
    with session.open_sender("jobs") as sender:
        pending = [sender.send(b"%d" % n, wait=False) for n in range(250)]
        assert_type(pending, list[SentDelivery])
        assert len({each.delivery_tag for each in pending}) == 250
        assert [each.result(WAIT) for each in pending] == [Accepted()] * 250
        assert pending[0].state == Accepted()
        assert "done" in repr(pending[0])
    assert server.bodies("jobs") == [b"%d" % n for n in range(250)]


def test_a_large_message_goes_in_many_frames(server: Server, session: Session) -> None:
    body = bytes(range(256)) * 8000
    with session.open_sender("jobs") as sender:
        assert sender.send(body) == Accepted()
    with session.open_receiver("jobs", timeout=WAIT) as receiver:
        assert next(receiver).body == body


def test_without_an_outcome_send_times_out_and_the_link_stays_usable(server: Server, session: Session) -> None:
    server.holding.add("jobs")
    with session.open_sender("jobs") as sender:
        with pytest.raises(TimeoutError, match=r"the outcome: not within 0\.05 seconds"):
            sender.send(b"1", timeout=0.05, delivery_tag=b"first")
        (tag,) = sender.pending
        assert tag == b"first"
        held = sender.pending[tag]
        assert not held.done
        assert held.state is None
        with pytest.raises(TimeoutError):
            held.result(0.02)
        server.holding.clear()
        assert sender.send(b"2", timeout=WAIT) == Accepted()
        served = server.session()
        link = next(iter(served.links.values()))
        served.do(lambda: link.update([server.received[0]], Received(1, 2), settled=False))
        wait_until(lambda: held.state is not None)
        assert held.state == Received(1, 2)
        served.do(lambda: link.reject(server.received[0]))
        assert held.result(WAIT) == Rejected()
        assert not sender.pending


def test_a_sender_waits_for_credit() -> None:
    with running(credit=0) as server, connect(server.url, version=AMQP_1_0) as connection:
        session = connection.open_session()
        with session.open_sender("jobs") as sender:
            assert sender.credit == 0
            with pytest.raises(TimeoutError, match=r"the outcome: not within 0\.05 seconds"):
                sender.send(b"x", timeout=0.05)
            with pytest.raises(TimeoutError):
                sender.wait_credit(0.02)
            served = server.session()
            link = next(iter(served.links.values()))
            timer = threading.Timer(0.05, lambda: served.do(lambda: link.flow(2)))
            timer.start()
            assert sender.send(b"1", timeout=WAIT) == Accepted()
            timer.join()
            assert sender.wait_credit() == 1
            assert sender.send(b"2", timeout=WAIT) == Accepted()
            assert sender.credit == 0


@pytest.mark.rule("1.0/transport/flow/drain")
def test_a_drain_is_answered_unless_somebody_waits_for_credit() -> None:
    with running(credit=0) as server, connect(server.url, version=AMQP_1_0) as connection:
        session = connection.open_session()
        with session.open_sender("jobs") as sender:
            served = server.session()
            link = next(iter(served.links.values()))
            served.do(lambda: link.flow(5, drain=True))
            wait_until(lambda: turn(connection) and not link.credit)
            sent: list[object] = []
            thread = threading.Thread(target=lambda: sent.append(sender.send(b"x", timeout=WAIT)))
            thread.start()
            sleep(0.05)
            served.do(lambda: link.flow(3, drain=True))
            thread.join(WAIT)
            assert sent == [Accepted()]
            wait_until(lambda: not link.credit)
    assert server.bodies("jobs") == [b"x"]


def test_the_anonymous_terminus_routes_by_the_message(server: Server, session: Session) -> None:
    with session.open_sender() as sender:
        sender.send(Message(b"1", properties=Properties(to="one")))
        sender.send(Message(b"2", properties=Properties(to="two")))
    assert (server.bodies("one"), server.bodies("two")) == ([b"1"], [b"2"])


def test_deliveries_are_told_apart_by_their_tags(server: Server, session: Session) -> None:
    with session.open_sender("jobs") as sender:
        sender.send(b"x", delivery_tag=b"mine", message_format=0)
    wait_until(lambda: bool(server.received))
    assert isinstance(server.received[0], Delivery)
    assert server.received[0].delivery_tag == b"mine"
