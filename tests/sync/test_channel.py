"""Channels: calls, publishing with and without confirms, returns, fetching, flow, errors, closing."""

from __future__ import annotations

import logging
import threading
from collections import deque
from time import monotonic
from typing import Any, assert_type

import pytest

from amqp_sansio import Accepted, By, EndpointClosed, Event, LimitExceeded, Limits, LocalProtocolError, Rejected
from amqp_sansio.amqp_0_9_1 import (
    BasicAck,
    BasicConsume,
    BasicGet,
    BasicGetEmpty,
    BasicGetOk,
    BasicNack,
    BasicProperties,
    BasicRecover,
    ChannelFlow,
    ConfirmSelect,
    Delivery,
    FlowChanged,
    Message,
    MessageReturned,
    MethodReceived,
    Published,
    QueueDeclare,
    QueueDeclareOk,
    Returned,
    TxCommit,
    TxSelect,
)
from amqp_sansio_sync import Connection, connect
from tests.kit.inside import driver_of
from tests.kit.sync_server import WAIT, Item, Server, Session, is_method, running, wait_until


def test_a_call_returns_its_reply(connection: Connection) -> None:
    channel = connection.open_channel()
    assert channel.number == 1
    ok = channel.call(QueueDeclare("jobs", durable=True))
    assert_type(ok, QueueDeclareOk)
    assert ok == QueueDeclareOk("jobs", 0, 0)
    assert channel.call(QueueDeclare("jobs", no_wait=True)) is None
    assert repr(channel) == "<Channel 1, open>"


def test_a_call_with_content_in_its_reply(connection: Connection) -> None:
    channel = connection.open_channel()
    channel.call(QueueDeclare("jobs"))
    empty = channel.call(BasicGet("jobs"))
    assert_type(empty, Message[BasicGetOk] | BasicGetEmpty)
    assert empty == BasicGetEmpty()
    channel.publish(b"hello", routing_key="jobs", properties=BasicProperties(message_id="7"))
    reply = channel.call(BasicGet("jobs"))
    assert isinstance(reply, Message)
    assert reply.body == b"hello"
    assert reply.method.routing_key == "jobs"


def test_a_refused_call_raises_and_ends_the_channel_only(connection: Connection) -> None:
    channel = connection.open_channel()
    other = connection.open_channel()
    with pytest.raises(EndpointClosed, match="404 NOT_FOUND - no queue 'none'") as caught:
        channel.call(QueueDeclare("none", passive=True))
    report = caught.value.report
    assert report is not None
    assert (report.by, report.code, report.class_id, report.method_id) == (By.REMOTE, 404, 50, 10)
    assert channel.report == report
    assert not channel.is_open
    with pytest.raises(EndpointClosed, match="404"):
        channel.publish(b"x")
    assert other.call(QueueDeclare("jobs")).queue == "jobs"
    again = connection.open_channel()
    assert again.number == channel.number
    assert again.call(QueueDeclare("jobs")).queue == "jobs"
    assert channel.close() == report


def test_misuse_raises_and_changes_nothing(connection: Connection) -> None:
    channel = connection.open_channel()
    with pytest.raises(LocalProtocolError, match="use send"):
        channel.call(BasicAck(1))
    with pytest.raises(LocalProtocolError, match="use call"):
        channel.send(QueueDeclare("jobs"))
    with pytest.raises(LocalProtocolError):
        channel.publish(b"x", routing_key="k" * 256)
    wrong: Any = "text"
    with pytest.raises(TypeError):
        channel.publish(wrong)
    with pytest.raises((LocalProtocolError, TypeError, AttributeError)):
        channel.publish(b"x", properties=wrong)
    with pytest.raises(LocalProtocolError):
        channel.reply(QueueDeclareOk("jobs"))
    assert channel.call(QueueDeclare("jobs")).queue == "jobs"


def test_publish_without_confirms(server: Server, connection: Connection) -> None:
    channel = connection.open_channel()
    channel.call(QueueDeclare("jobs"))
    properties = BasicProperties(content_type="text/plain", headers={"n": 1})
    assert channel.publish(b"hello", routing_key="jobs", properties=properties) is None
    assert channel.publish(bytearray(b"by"), routing_key="jobs") is None
    assert channel.publish(memoryview(b"view"), routing_key="jobs") is None
    assert channel.call(QueueDeclare("jobs", passive=True)).message_count == 3
    published = server.session().of(Published)[0]
    assert published.properties.content_type == "text/plain"
    assert published.properties.headers == {"n": 1}
    assert [item.body for item in server.queues["jobs"]] == [b"hello", b"by", b"view"]


def test_publish_with_confirms_waits_for_the_outcome(server: Server, connection: Connection) -> None:
    channel = connection.open_channel(confirm=True)
    channel.call(QueueDeclare("jobs"))
    assert channel.publish(b"1", routing_key="jobs") == Accepted()
    assert channel.publish(b"2", routing_key="none") == Accepted()
    assert channel.publish(b"3", routing_key="none", mandatory=True) == Returned(312, "NO_ROUTE")
    assert channel.publish(b"4" * 500_000, routing_key="jobs", mandatory=True) == Accepted()
    assert [len(item.body) for item in server.queues["jobs"]] == [1, 500_000]


def test_confirms_can_be_selected_by_call(connection: Connection) -> None:
    channel = connection.open_channel()
    with pytest.raises(LocalProtocolError, match="needs confirm mode"):
        channel.publish(b"1", wait=False)
    channel.call(ConfirmSelect())
    assert channel.publish(b"1") == Accepted()
    assert channel.publish(b"2", wait=False).result() == Accepted()


def test_many_publishes_can_be_under_way(server: Server, connection: Connection) -> None:
    channel = connection.open_channel(confirm=True)
    server.confirming = False
    session = server.session()
    pending = [channel.publish(b"%d" % n, wait=False) for n in range(10)]
    wait_until(lambda: len(session.of(Published)) == 10)
    assert not any(each.done for each in pending)
    session.do(lambda: session.core.channel(1).send(BasicAck(6, True)))
    session.do(lambda: session.core.channel(1).send(BasicNack(8, True)))
    assert [each.result(WAIT) for each in pending[:6]] == [Accepted()] * 6
    assert [each.result(WAIT) for each in pending[6:8]] == [Rejected()] * 2
    with pytest.raises(TimeoutError, match="the confirm"):
        pending[8].result(0.05)
    with pytest.raises(TimeoutError, match="the confirms"):
        channel.wait_for_confirms(0.05)
    session.do(lambda: session.core.channel(1).send(BasicAck(10, True)))
    channel.wait_for_confirms(WAIT)
    assert pending[8].done
    assert pending[9].result() == Accepted()


def test_publishes_without_an_outcome_end_with_their_channel(server: Server, connection: Connection) -> None:
    channel = connection.open_channel(confirm=True)
    server.confirming = False
    pending = channel.publish(b"1", wait=False)
    session = server.session()
    wait_until(lambda: len(session.of(Published)) == 1)
    session.do(lambda: session.core.channel(1).close(541, "INTERNAL_ERROR"))
    with pytest.raises(EndpointClosed, match="541 INTERNAL_ERROR") as caught:
        pending.result(WAIT)
    assert caught.value.report is not None
    assert caught.value.report.unconfirmed == (1,)
    with pytest.raises(EndpointClosed, match="541 INTERNAL_ERROR"):
        channel.wait_for_confirms()


def test_unconfirmed_publishes_are_bounded(server: Server) -> None:
    server.confirming = False
    with connect(server.url, limits=Limits(unconfirmed=3)) as connection:
        channel = connection.open_channel(confirm=True)
        for _ in range(3):
            channel.publish(b"x", wait=False)
        with pytest.raises(LimitExceeded, match=r"Limits\.unconfirmed"):
            channel.publish(b"x", wait=False)


def test_what_comes_back_without_confirms(connection: Connection, caplog: pytest.LogCaptureFixture) -> None:
    channel = connection.open_channel()
    with channel.events(MessageReturned, timeout=WAIT) as returned:
        channel.publish(b"lost", routing_key="none", mandatory=True)
        event = next(returned)
        assert (event.reply_code, event.reply_text, event.body) == (312, "NO_ROUTE", b"lost")
        assert event.routing_key == "none"
    assert not caplog.records
    with caplog.at_level(logging.WARNING):
        channel.publish(b"lost", routing_key="none", mandatory=True)
        channel.call(QueueDeclare("jobs"))
    assert "routing key 'none' was returned: 312 NO_ROUTE" in caplog.text


def test_events_time_out_and_end_with_the_channel(connection: Connection) -> None:
    channel = connection.open_channel()
    events = channel.events(timeout=0.01)
    with pytest.raises(TimeoutError, match="an event"):
        next(events)
    channel.close(200, "done")
    assert list(events) == []
    with pytest.raises(EndpointClosed, match="200 done"):
        next(channel.events())
    closed = connection.open_channel().events()
    closed.close()
    assert list(closed) == []


def test_a_stream_of_events_that_nobody_reads_ends(connection: Connection) -> None:
    channel = connection.open_channel()
    channel.call(QueueDeclare("jobs"))
    events = channel.events(MessageReturned, limit=2)
    for _ in range(100):
        channel.publish(b"x", routing_key="none", mandatory=True)
    channel.call(QueueDeclare("jobs"))
    assert driver_of(connection).client.full == 0
    taken = 0
    with pytest.raises(EndpointClosed, match="events wait to be taken") as caught:
        for _ in events:
            taken += 1
    assert taken == 32
    assert caught.value.report is not None
    assert caught.value.report.by is By.LOCAL


def test_get(server: Server, connection: Connection) -> None:
    channel = connection.open_channel()
    channel.call(QueueDeclare("jobs"))
    assert channel.get("jobs") is None
    for n in range(3):
        channel.publish(b"%d" % n, routing_key="jobs", properties=BasicProperties(priority=n))
    first = channel.get("jobs")
    assert first is not None
    assert (first.body, first.message_count, first.redelivered) == (b"0", 2, False)
    assert first.properties.priority == 0
    assert "tag" not in repr(first)
    first.release()
    again = channel.get("jobs")
    assert again is not None
    assert (again.body, again.redelivered) == (b"0", True)
    again.reject()
    settled = channel.get("jobs", no_ack=True)
    assert settled is not None
    assert settled.body == b"1"
    with pytest.raises(LocalProtocolError, match="no delivery with tag"):
        settled.accept()
    last = channel.get("jobs")
    assert last is not None
    last.accept()
    with pytest.raises(LocalProtocolError, match="no delivery with tag"):
        last.accept()
    assert channel.get("jobs") is None


def test_a_message_for_a_caller_that_gave_up_goes_back(server: Server) -> None:
    held: list[Event] = []

    def hold(session: Session, event: Event) -> bool:
        if is_method(event, "basic.get") and not held:
            held.append(event)
            return True
        return False

    with running(script=hold) as server, connect(server.url) as connection:
        server.queues["jobs"] = deque([Item("", "jobs", b"\0\0", b"precious")])
        channel = connection.open_channel()
        with pytest.raises(TimeoutError, match=r"basic\.get: not within 0\.05 seconds"):
            channel.get("jobs", timeout=0.05)
        session = server.session()
        session.do(lambda: session.handle(held[0]))
        wait_until(lambda: not server.queues["jobs"])
        connection.open_channel()  # reads the late answer
        wait_until(lambda: len(server.queues["jobs"]) == 1)
        got = channel.get("jobs")
        assert got is not None
        assert (got.body, got.redelivered) == (b"precious", True)
        got.accept()


def test_a_late_reply_is_dropped_and_the_channel_goes_on() -> None:
    held: list[Event] = []

    def hold(session: Session, event: Event) -> bool:
        if is_method(event, "queue.declare") and not held:
            held.append(event)
            return True
        return False

    with running(script=hold) as server, connect(server.url) as connection:
        channel = connection.open_channel()
        with pytest.raises(TimeoutError):
            channel.call(QueueDeclare("first"), timeout=0)
        wait_until(lambda: bool(held))
        session = server.session()
        session.do(lambda: session.handle(held[0]))
        assert channel.call(QueueDeclare("second")) == QueueDeclareOk("second", 0, 0)


def test_a_channel_that_opens_too_late_is_closed_again() -> None:
    with running() as server, connect(server.url) as connection:
        session = server.session()
        session.writing = False
        with pytest.raises(TimeoutError, match=r"channel\.open"):
            connection.open_channel(timeout=0.05)
        session.writing = True
        session.do(lambda: None)
        second = connection.open_channel()
        assert second.number == 2
        wait_until(lambda: session.core.channels == (2,))


def test_publishes_wait_while_the_server_has_stopped_the_flow(server: Server, connection: Connection) -> None:
    channel = connection.open_channel()
    channel.call(QueueDeclare("jobs"))
    events = channel.events(FlowChanged, timeout=WAIT)
    session = server.session()
    session.do(lambda: session.core.channel(1).call(ChannelFlow(False)))
    assert next(events) == FlowChanged(1, False)
    with pytest.raises(TimeoutError, match="the publish"):
        channel.publish(b"early", routing_key="jobs", timeout=0.05)
    timer = threading.Timer(0.05, lambda: session.do(lambda: session.core.channel(1).call(ChannelFlow(True))))
    timer.start()
    channel.publish(b"late", routing_key="jobs", timeout=WAIT)
    timer.join()
    assert channel.call(QueueDeclare("jobs")).message_count == 1


def test_a_batch_goes_out_together(server: Server, connection: Connection) -> None:
    channel = connection.open_channel()
    channel.call(QueueDeclare("jobs"))
    session = server.session()
    before = session.received
    with channel.batch():
        for _ in range(100):
            channel.publish(b"x" * 100, routing_key="jobs")
        assert connection.core.send_backlog > 10_000
        other = connection.open_channel()  # a wait sends what was collected
        assert connection.core.send_backlog == 0
        assert session.received > before + 10_000
        for _ in range(1000):
            channel.publish(b"x" * 100, routing_key="jobs")
            assert connection.core.send_backlog < 70_000
        other.close()
    assert connection.core.send_backlog == 0
    assert channel.call(QueueDeclare("jobs")).message_count == 1100


def test_a_batch_is_sent_also_when_its_block_fails(server: Server, connection: Connection) -> None:
    channel = connection.open_channel()
    channel.call(QueueDeclare("jobs"))
    with pytest.raises(RuntimeError, match="mine"), channel.batch():
        channel.publish(b"x", routing_key="jobs")
        raise RuntimeError("mine")
    wait_until(lambda: len(server.queues["jobs"]) == 1)


def test_transactions(connection: Connection) -> None:
    channel = connection.open_channel()
    channel.call(TxSelect())
    channel.publish(b"x")
    channel.call(TxCommit())
    with pytest.raises(LocalProtocolError):
        channel.call(ConfirmSelect())


def test_closing_a_channel(server: Server, connection: Connection) -> None:
    with connection.open_channel() as channel:
        pass
    assert not channel.is_open
    report = channel.report
    assert report is not None
    assert (report.by, report.code) == (By.LOCAL, 200)
    assert channel.close() == report
    assert connection.is_open
    assert "closed: closed by this side: 200" in repr(channel)


def test_all_channels_can_be_in_use(server: Server) -> None:
    with connect(server.url, channel_max=2) as connection:
        first = connection.open_channel()
        connection.open_channel()
        with pytest.raises(LimitExceeded, match="channel-max"):
            connection.open_channel()
        first.close()
        assert connection.open_channel().number == 1


def test_deliveries_of_a_consumer_that_a_call_began_are_events(server: Server, connection: Connection) -> None:
    channel = connection.open_channel()
    channel.call(QueueDeclare("jobs"))
    with channel.events(Delivery, timeout=WAIT) as events:
        tag = channel.call(BasicConsume("jobs")).consumer_tag
        channel.publish(b"x", routing_key="jobs")
        event = next(events)
        assert (event.consumer_tag, event.body) == (tag, b"x")
        channel.send(BasicAck(event.delivery_tag))
        channel.call(BasicRecover(True))
    session = server.session()
    acks = [event.method for event in session.of(MethodReceived) if is_method(event, "basic.ack")]
    assert acks == [BasicAck(1)]


def test_a_close_of_the_server_is_noticed_by_a_publisher_that_never_waits(
    server: Server, connection: Connection
) -> None:
    channel = connection.open_channel()
    deadline = monotonic() + WAIT
    with pytest.raises(EndpointClosed, match="404 NOT_FOUND - no exchange 'missing'"):
        while monotonic() < deadline:
            channel.publish(b"x", exchange="missing")
    assert connection.is_open
