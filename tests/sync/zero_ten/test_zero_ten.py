"""0-10: connections and their configuration, sessions, calls, publishing and what becomes of messages."""

from __future__ import annotations

import threading
from typing import Any, assert_type

import pytest

from amqp_sansio import AMQP_0_10, Accepted, By, EndpointClosed, LimitExceeded, Limits
from amqp_sansio.amqp_0_10 import (
    MESSAGE,
    NONE,
    Command,
    CommandReceived,
    Config,
    CreditChanged,
    DeliveryProperties,
    ExchangeBind,
    ExecutionError,
    Message,
    MessageFlow,
    MessageProperties,
    QueueDeclare,
    QueueQuery,
    QueueQueryResult,
    Rejected,
    Released,
    SessionState,
    StreamDeliver,
)
from amqp_sansio.errors import LocalProtocolError
from amqp_sansio_sync import ReceivedMessage, SentMessage, SessionEnded, Subscription, connect
from amqp_sansio_sync.amqp_0_10 import Connection, Session
from tests.kit.sync_0_10 import WAIT, Server, running, wait_until


def test_from_one_end_to_the_other(server: Server) -> None:
    received: list[ReceivedMessage] = []
    with connect(server.url, version=AMQP_0_10) as connection, connection.open_session() as session:
        session.call(QueueDeclare(queue="orders", durable=True))
        result = session.call(QueueQuery(queue="orders"))
        outcome = session.publish(b"hello", routing_key="orders")
        with session.subscribe("orders") as subscription:
            for delivery in subscription:
                delivery.accept()
                received.append(delivery)
                break
    assert_type(connection, Connection)
    assert_type(session, Session)
    assert_type(subscription, Subscription)
    assert_type(result, QueueQueryResult)
    assert (result.queue, result.message_count) == ("orders", 0)
    assert outcome == Accepted()
    assert [(each.body, each.routing_key) for each in received] == [(b"hello", "orders")]
    assert server.bodies("orders") == []
    assert server.accepted == [b"hello"]
    assert not server.known


def test_a_connection_tells_of_itself_and_of_its_peer() -> None:
    config = Config(known_hosts=("amqp:tcp:other:5672",))
    with running(config=config) as server:
        connection = connect(server.url, version=AMQP_0_10)
        assert connection.is_open
        assert connection.report is None
        assert connection.peer_properties["product"] == "amqp_sansio"
        assert connection.known_hosts == ("amqp:tcp:other:5672",)
        report = connection.close(320, "going home")
        assert (report.by, report.code, report.text) == (By.LOCAL, 320, "going home")
        assert connection.close() == report
        assert connection.wait_closed(WAIT) == report
        assert not connection.is_open
        with pytest.raises(EndpointClosed, match="going home"):
            connection.open_session()
        assert server.session().ended.wait(WAIT)


def test_the_url_and_the_options_configure(server: Server) -> None:
    url = server.url + "?heartbeat=30&frame_max=4096&channel_max=7"
    with connect(url, version=AMQP_0_10) as connection:
        core = connection.core
        assert (core.heartbeat, core.max_frame_size, core.channel_max) == (30, 4096, 7)
        assert core.config.vhost == "/"
        assert core.mechanism == "SCRAM-SHA-256"
    with connect(server.url, version=AMQP_0_10, heartbeat=0, session_prefix="mine-") as connection:
        assert connection.core.heartbeat == 0
        with connection.open_session() as session:
            assert session.name == b"mine-1"


def test_sessions_without_a_name_have_names_of_their_own(server: Server) -> None:
    names: set[bytes] = set()
    for _ in range(2):
        with connect(server.url, version=AMQP_0_10) as connection:
            names |= {connection.open_session().name for _ in range(2)}
    assert len(names) == 4


def test_what_is_no_option_is_refused(server: Server) -> None:
    options: dict[str, Any] = {"hartbeat": 10}
    with pytest.raises(TypeError, match="connect takes no 'hartbeat' in AMQP 0-10"):
        connect(server.url, version=AMQP_0_10, **options)


def test_the_server_refuses_the_host_or_the_password(server: Server) -> None:
    with pytest.raises(EndpointClosed, match="no such virtual host") as caught:
        connect(server.url + "nowhere", version=AMQP_0_10)
    assert caught.value.report is not None
    assert caught.value.report.code == 402
    with pytest.raises(EndpointClosed, match="the login was refused"):
        connect(server.url.replace("guest:guest", "guest:wrong"), version=AMQP_0_10)


def test_a_redirection_is_told() -> None:
    from amqp_sansio import Event, OpenRequested

    def redirect(session: Any, event: Event) -> bool:
        if isinstance(event, OpenRequested):
            session.core.redirect("amqp:tcp:elsewhere:5672")
            return True
        return False

    with (
        running(script=redirect) as server,
        pytest.raises(EndpointClosed, match="redirected to amqp:tcp:elsewhere:5672"),
    ):
        connect(server.url, version=AMQP_0_10)


def test_a_session_tells_of_itself(server: Server, connection: Connection) -> None:
    with connection.open_session("mine", timeout=300) as session:
        assert session.request_timeout(200, timeout=WAIT) == 200
        assert (session.name, session.channel, session.timeout) == (b"mine", 0, 200)
        assert session.is_open
        assert session.report is None
        assert repr(session) == "<Session 'mine' on channel 0, open>"
        with pytest.raises(LocalProtocolError, match="attached on this connection"):
            connection.open_session("mine")
        with pytest.raises(LocalProtocolError, match="is attached"):
            session.detached_state()
    assert not session.is_open
    report = session.close()
    assert report.by is By.LOCAL
    assert session.wait_closed() == report == session.report
    assert "closed: closed by this side" in repr(session)
    with pytest.raises(SessionEnded, match="session 'mine': closed by this side"):
        session.sync()


def test_a_name_that_is_attached_elsewhere_is_taken_with_force_only(server: Server) -> None:
    with connect(server.url, version=AMQP_0_10) as first:
        session = first.open_session("mine")
        with connect(server.url, version=AMQP_0_10) as second:
            with pytest.raises(SessionEnded, match="session-busy") as caught:
                second.open_session("mine")
            assert caught.value.code == 1
            assert caught.value.condition == "session-busy"
            assert not caught.value.resumable
            with second.open_session("mine", force=True, open_timeout=WAIT) as taken:
                assert taken.publish(b"x", routing_key="jobs") == Accepted()
        with pytest.raises(EndpointClosed):
            session.sync(WAIT)
        assert first.report is not None


def test_what_the_server_refuses_ends_the_session_with_its_reason(server: Server, connection: Connection) -> None:
    session = connection.open_session("s")
    with pytest.raises(SessionEnded, match="404 not-found no queue 'nope'") as caught:
        session.call(QueueDeclare(queue="nope", passive=True), timeout=WAIT)
    error = caught.value
    assert (error.code, error.condition, error.session) == (404, "not-found", b"s")
    assert error.report is not None
    assert (error.report.text, error.report.class_id, error.report.method_id) == (
        "no queue 'nope'",
        QueueDeclare.CODE >> 8,
        QueueDeclare.CODE & 0xFF,
    )
    with pytest.raises(SessionEnded, match="no queue 'nope'"):
        session.sync()
    assert session.wait_closed(WAIT) == error.report
    with pytest.raises(EndpointClosed):
        session.detached_state()
    with connection.open_session("s") as again:
        assert again.publish(b"x", routing_key="jobs") == Accepted()


def test_a_failure_that_nobody_has_seen_is_raised_on_leaving(server: Server) -> None:
    with (
        pytest.raises(SessionEnded, match="404 not-found no exchange 'nope'"),
        connect(server.url, version=AMQP_0_10) as connection,
        connection.open_session() as session,
    ):
        session.publish(b"x", "nope", "k", wait=False)
    with connect(server.url, version=AMQP_0_10) as connection:
        session = connection.open_session()
        sent = session.publish(b"x", "nope", "k", wait=False)
        with pytest.raises(SessionEnded, match="no exchange 'nope'"):
            sent.result(WAIT)


def test_an_illegal_call_changes_nothing(session: Session) -> None:
    from amqp_sansio.amqp_0_10 import MessageCancel, MessageTransfer

    with pytest.raises(LocalProtocolError):
        session.call(MessageTransfer("x"))
    with pytest.raises(LocalProtocolError):
        session.call(MessageCancel("nobody"))
    assert session.publish(b"x", routing_key="jobs") == Accepted()


@pytest.mark.parametrize("accepting", [False, True])
def test_publish_returns_each_outcome(server: Server, session: Session, accepting: bool) -> None:
    server.accepting = accepting
    server.outcomes.update(jobs="accept", bad="reject", full="release")
    server.fill("bad")
    server.fill("full")
    assert session.publish(b"x", routing_key="jobs") == Accepted()
    assert session.publish(b"x", routing_key="bad") == Rejected(0, "not here")
    assert session.publish(b"x", routing_key="full") == Released()
    assert session.publish(b"x", routing_key="nobody") == Rejected(1, "not here")
    assert session.publish(b"x", routing_key="jobs", accept_mode=NONE) is None
    dropped = Message(b"x", delivery_properties=DeliveryProperties(discard_unroutable=True))
    assert session.publish(dropped, routing_key="nobody") == Accepted()
    assert not session.pending
    assert server.bodies("jobs") == [b"x", b"x"]
    assert all(each.sync for each in server.received)


def test_a_message_keeps_its_header_but_for_the_routing_key(server: Server, session: Session) -> None:
    session.call(ExchangeBind(queue="jobs", exchange="amq.direct", binding_key="k"))
    properties = MessageProperties(content_type="text/plain", correlation_id=b"7")
    message = Message(
        b"x", delivery_properties=DeliveryProperties(priority=7, routing_key="nobody"), message_properties=properties
    )
    assert session.publish(message, "amq.direct", "k") == Accepted()
    assert session.publish(Message(b"y", message_properties=properties), "amq.direct", "k") == Accepted()
    assert session.publish(Message(b"z", routing_key="k"), "amq.direct") == Accepted()
    assert session.publish(b"octets", "amq.direct", "k") == Accepted()
    found = [each.headers for each in server.received]
    assert found[0].delivery_properties == DeliveryProperties(priority=7, routing_key="k")
    assert found[1].delivery_properties == DeliveryProperties(routing_key="k")
    assert found[0].message_properties == found[1].message_properties == properties
    assert server.bodies("jobs") == [b"x", b"y", b"z", b"octets"]
    # What came goes on octet by octet.
    with session.subscribe("jobs", timeout=WAIT) as subscription:
        delivery = next(subscription)
        assert delivery.message_properties == properties
        assert session.publish(delivery.message) == Rejected(1, "not here")
        assert server.received[-1].headers.raw == delivery.headers.raw


def test_many_messages_under_way(server: Server, session: Session) -> None:
    sent = [session.publish(b"%d" % n, routing_key="jobs", wait=False) for n in range(600)]
    assert_type(sent, list[SentMessage])
    assert len({each.command_id for each in sent}) == 600
    assert [each.result(WAIT) for each in sent] == [Accepted()] * 600
    assert all(each.done for each in sent)
    assert repr(sent[0]) == f"<SentMessage {sent[0].command_id}, done>"
    assert sent[0].result() == Accepted()
    assert server.bodies("jobs") == [b"%d" % n for n in range(600)]
    assert not session.pending


def test_a_large_message_goes_in_many_frames(server: Server, session: Session) -> None:
    body = bytes(range(256)) * 8000
    assert session.publish(body, routing_key="jobs") == Accepted()
    with session.subscribe("jobs", timeout=WAIT) as subscription:
        assert next(subscription).body == body


def test_without_an_outcome_publish_times_out_and_the_session_stays_usable(server: Server, session: Session) -> None:
    server.holding.add("jobs")
    with pytest.raises(TimeoutError, match="the outcome: not within"):
        session.publish(b"1", routing_key="jobs", timeout=0.05)
    ((number, held),) = session.pending.items()
    assert (held.command_id, held.done) == (number, False)
    assert repr(held) == f"<SentMessage {number}, pending>"
    with pytest.raises(TimeoutError):
        held.result(0.02)
    server.holding.clear()
    assert session.publish(b"2", routing_key="jobs", timeout=WAIT) == Accepted()
    served = server.session()
    served.do(lambda: served.handle(server.received[0]))
    assert held.result(WAIT) == Accepted()
    assert not session.pending
    assert server.bodies("jobs") == [b"2", b"1"]


def test_a_call_that_is_late_is_dropped() -> None:
    held: list[CommandReceived] = []

    def hold(session: Any, event: object) -> bool:
        if isinstance(event, CommandReceived) and isinstance(event.command, QueueQuery):
            held.append(event)
            return True
        return False

    with (
        running(script=hold) as server,
        connect(server.url, version=AMQP_0_10) as connection,
        connection.open_session() as session,
    ):
        with pytest.raises(TimeoutError, match=r"queue\.query: not within"):
            session.call(QueueQuery(queue="jobs"), timeout=0.05)
        (late,) = session.pending.values()
        server.session().do(lambda: server.session().handle(held[0]))
        session.sync(WAIT)
        assert late.result(WAIT).queue == "jobs"


def test_publishing_waits_for_the_credit_that_a_server_gives(server: Server, session: Session) -> None:
    served = server.session()
    core = server.attached(session.name).core

    def flow(messages: int) -> None:
        served.do(lambda: core.call(MessageFlow("", MESSAGE, messages)))
        served.do(lambda: core.call(MessageFlow("", 1, 100)))

    with session.events(CreditChanged, timeout=WAIT) as events:
        flow(1)
        assert (next(events).messages, next(events).octets) == (1, 100)
        assert session.publish(b"1", routing_key="jobs", timeout=WAIT) == Accepted()
        # A window gives back what is completed; with the mode credit it's used up.
        for _ in range(2):
            assert session.publish(b"2", routing_key="jobs", timeout=WAIT) == Accepted()
        with pytest.raises(TimeoutError, match="the outcome: not within"):
            session.publish(bytes(200), routing_key="jobs", timeout=0.05)
        timer = threading.Timer(0.05, lambda: served.do(lambda: core.call(MessageFlow("", 1, 300))))
        timer.start()
        assert session.publish(bytes(200), routing_key="jobs", timeout=WAIT) == Accepted()
        timer.join()


def test_what_the_server_has_to_confirm_first_is_waited_for() -> None:
    limits = Limits(replay=50, replay_octets=20_000)
    with (
        running() as server,
        connect(server.url, version=AMQP_0_10, limits=limits) as connection,
        connection.open_session() as session,
    ):
        server.holding.add("held")
        server.fill("held")
        sent = [session.publish(b"x", routing_key="held", wait=False) for _ in range(12)]
        with pytest.raises(TimeoutError, match="the outcome: not within"):
            session.publish(b"x", routing_key="held", wait=False, timeout=0.05)
        with pytest.raises(TimeoutError, match="the outcome: not within"):
            sent[0].result(0.05)
        served = server.session()
        wait_until(lambda: len(server.received) == 12)
        server.holding.clear()
        timer = threading.Timer(0.05, lambda: served.handle_all(server.received[:12]))
        timer.start()
        sent.append(session.publish(b"y", routing_key="held", wait=False, timeout=WAIT))
        assert [each.result(WAIT) for each in sent] == [Accepted()] * len(sent)
        timer.join()
        for _ in range(12):
            sent.append(session.publish(bytes(6000), routing_key="held", wait=False, timeout=WAIT))
        with pytest.raises(LimitExceeded, match="replay_octets"):
            session.publish(bytes(20_000), routing_key="held", timeout=WAIT)
        assert [each.result(WAIT) for each in sent] == [Accepted()] * len(sent)


def test_commands_of_the_server_are_answered(server: Server, connection: Connection) -> None:
    session = connection.open_session()
    served = server.session()
    core = server.attached(session.name).core
    with session.events(CommandReceived, timeout=WAIT) as commands:
        deliver = StreamDeliver("tag", 1, "amq.direct", "jobs")
        handle = served.do(lambda: core.call(deliver, Message(b"streamed")))
        event = next(commands)
        assert (event.command, event.body) == (deliver, b"streamed")
        session.complete(event.command_id)
        session.sync(WAIT)
        wait_until(lambda: bool(handle.done))
        refused = served.do(lambda: core.call(deliver, Message(b"refused")))
        event = next(commands)
        session.fail(ExecutionError(403, "not for me"), event.command_id)
        assert session.wait_closed(WAIT).text == "not for me"
    wait_until(lambda: bool(refused.done))
    assert "not for me" in str(refused.error)


def test_a_command_that_nobody_takes_is_refused(server: Server, connection: Connection) -> None:
    session = connection.open_session()
    served = server.session()
    core = server.attached(session.name).core
    command: Command[Any] = StreamDeliver("tag", 1, "amq.direct", "jobs")
    served.do(lambda: core.call(command, Message(b"x")))
    report = session.wait_closed(WAIT)
    assert (report.code, report.text) == (540, "nobody here takes commands of the server")


def test_states_are_of_the_right_kind(connection: Connection) -> None:
    session = connection.open_session("keep", timeout=60)
    assert_type(session.detach(timeout=WAIT), SessionState)
    unkept = connection.open_session()
    with pytest.raises(LocalProtocolError, match="timeout 0"):
        unkept.detach()
    assert unkept.is_open
