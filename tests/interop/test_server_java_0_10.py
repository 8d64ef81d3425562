"""The core as an AMQP 0-10 server: Apache Qpid's JMS client uses a broker on it."""

import json
import os
import re
import signal
import threading
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from amqp_sansio import By, Closed, Event, Failed, LocalProtocolError, OpenRequested, Scope
from amqp_sansio import amqp_0_10 as amqp
from tests.interop.brokers.jms_client import BACK, JmsClient, install_jms_client
from tests.kit.java_server_0_10 import Server, running
from tests.kit.sync_0_10 import Session, wait_until

MEGABYTE = bytes(n % 251 for n in range(1_000_000))


@pytest.fixture(scope="module")
def client() -> JmsClient:
    """The JMS client, compiled once."""
    return install_jms_client()


@contextmanager
def serving(script: Any = None, **changes: Any) -> Generator[Server]:
    """A server that a test bends."""
    # The client takes an absent maximum for zero, and has no heartbeats then.
    values: dict[str, Any] = {"heartbeat_max": 60, "lenient_accepts": True, **changes}
    with running(config=amqp.Config(**values), script=script) as server:
        yield server


@pytest.fixture
def server() -> Iterator[Server]:
    """A server on which no session and no connection fails."""
    with serving() as server:
        yield server
        assert [event for each in server.sessions for event in each.of(Failed)] == []
        for connection in server.sessions:
            (closed,) = closings(connection)
            assert (closed.report.by, closed.report.code) == (By.REMOTE, 200)
            assert connection.attached == {}
        assert server.known == {}


def closings(connection: Session) -> list[Closed]:
    """The ends of the connection itself, once it has ended."""
    wait_until(connection.ended.is_set)
    connection.thread.join(20)
    return [each for each in connection.of(Closed) if each.scope is Scope.CONNECTION]


def keys(message: amqp.Message) -> dict[str, Any]:
    """The application headers."""
    return dict(message.message_properties.application_headers or {})


def test_basic(client: JmsClient, server: Server) -> None:
    client.check(server.port, "basic")
    published = server.published("basic")
    assert [each.body for each in published] == [b"m%d" % n for n in range(50)]
    assert [keys(each) for each in published] == [{"n": n, "even": n % 2 == 0} for n in range(50)]
    assert [each.accept_mode for each in server.transfers("basic")] == [amqp.NONE] * 50
    assert server.accepted == [b"m%d" % n for n in range(50)]
    assert server.vhosts == ["/"]
    assert server.bodies("basic") == []


def test_logins(client: JmsClient) -> None:
    with serving() as server:
        told = client.run(server.port, "password")
        assert told["text"] == "Error creating connection: the login was refused"
        assert server.vhosts == []
        (closed,) = closings(server.session())
        assert (closed.report.by, closed.report.code) == (By.LOCAL, 320)
    with serving(mechanisms=("SCRAM-SHA-256",), nonce="fixed") as server:
        client.check(server.port, "scram")
        assert server.session().core.mechanism == "SCRAM-SHA-256"


def test_a_virtual_host_that_is_not_there(client: JmsClient) -> None:
    with serving() as server:
        told = client.run(server.port, "vhost")
        assert told["text"] == "Error creating connection: there is no virtual host 'elsewhere'"
        assert server.vhosts == ["elsewhere"]


# What becomes of messages.


def test_auto_acknowledge(client: JmsClient, server: Server) -> None:
    server.fill_with("auto", *[text(f"m{n}") for n in range(3)])
    client.check(server.port, "auto")
    assert server.accepted == [b"m0", b"m1", b"m2"]
    assert server.bodies("auto") == []


def test_client_acknowledge(client: JmsClient, server: Server) -> None:
    client.check(server.port, "client")
    # The acknowledgement of the third counts for those before it.
    assert server.accepted == [b"one", b"two", b"three", b"four"]
    assert [len(each.transfers) for each in server.commands("message.accept")] == [3, 1]


def test_dups_ok_acknowledge(client: JmsClient, server: Server) -> None:
    client.check(server.port, "dupsOk")
    assert server.accepted == [b"%d" % n for n in range(10)]
    assert len(server.commands("message.accept")) < 10


def test_transactions(client: JmsClient, server: Server) -> None:
    client.check(server.port, "transacted")
    assert [each.body for each in server.published("transacted")] == [b"kept", b"kept too", b"gone"]
    assert len(server.commands("tx.select")) == 1
    assert len(server.commands("tx.commit")) >= 3
    assert len(server.commands("tx.rollback")) == 2
    assert server.bodies("transacted") == []


def test_branches_of_distributed_transactions(client: JmsClient, server: Server) -> None:
    client.check(server.port, "branches")
    names = [each.NAME for each in server.executed if each.NAME.startswith("dtx.")]
    branch = ["dtx.start", "dtx.end"]
    expected = ["dtx.select", *branch, "dtx.prepare", "dtx.recover", "dtx.commit"]
    assert names[:12] == [*expected, *branch, "dtx.rollback", *branch, "dtx.commit"]
    xids = [(each.xid.format, each.xid.global_id, each.xid.branch_id) for each in server.commands("dtx.start")]
    assert xids == [(5, b"g\x01", b"b\x01"), (5, b"g\x02", b"b\x02"), (5, b"g\x03", b"b\x03")]
    assert server.bodies("branches") == [b"two phases", b"one phase"]


def test_recover(client: JmsClient, server: Server) -> None:
    client.check(server.port, "recover")
    assert {each.set_redelivered for each in server.commands("message.release")} == {True, False}
    assert server.accepted == [b"one", b"two", b"three"]


def test_a_browser(client: JmsClient, server: Server) -> None:
    client.check(server.port, "browser")
    modes = [each.acquire_mode for each in server.commands("message.subscribe")]
    assert modes == [amqp.NOT_ACQUIRED, amqp.NOT_ACQUIRED, 0]
    assert server.bodies("browser") == []


def test_a_browser_and_a_strict_server(client: JmsClient) -> None:
    with serving(lenient_accepts=False) as server:
        # Which of its calls is the first to notice is the client's affair, and so is whether it tells the reason.
        with pytest.raises(AssertionError, match="browser ended with 1"):
            client.run(server.port, "browser")
        (failed,) = server.session().of(Failed)
        assert re.search(r"message\.accept of transfer \d+, which is not acquired", str(failed.error))
        assert getattr(failed.error, "rule", None) == "0-10/message.accept/acquisition"


def test_what_a_selector_wants_is_acquired(client: JmsClient, server: Server) -> None:
    client.check(server.port, "acquire")
    assert len(server.commands("message.acquire")) == 3
    assert server.accepted == [b"m1", b"m3", b"m5", b"m0", b"m2", b"m4"]


# What is in messages.


def text(body: str, **headers: Any) -> amqp.Message:
    """A message that is a TextMessage there."""
    return amqp.Message(body.encode(), content_type="text/plain", application_headers=headers or None)


def test_kinds_of_messages_and_properties(client: JmsClient, server: Server) -> None:
    told = client.run(server.port, "types")
    published = server.published("types")
    headers = {
        "yes": True,
        "byte": -5,
        "short": -500,
        "int": -70_000,
        "long": 1 << 40,
        "float": 1.5,
        "double": -2.25,
        "string": "ä",
    }
    first = published[0]
    assert first.body == "äöü€".encode()
    assert keys(first) == {**headers, "x-jms-type": "kind"}
    delivery, properties = first.delivery_properties, first.message_properties
    assert (delivery.priority, delivery.delivery_mode, delivery.ttl) == (7, 1, 60_000)
    assert delivery.expiration is not None
    assert properties.content_type == "text/plain"
    assert properties.correlation_id == b"correlation"
    assert isinstance(properties.message_id, UUID)
    assert properties.reply_to is not None
    assert properties.reply_to.routing_key == "replies"
    contents = [each.message_properties.content_type for each in published[1:]]
    assert contents[:2] == ["application/octet-stream", "amqp/map"]
    assert published[1].body == b"\x00\xff\x01"
    entries, _ = amqp.decode_value(b"\xa8" + published[2].body)
    assert dict(entries) == {"int": 7, "string": "seven", "bytes": b"\x07", "double": 7.5, "long": -7, "yes": True}

    kinds = {"int": "Integer", "yes": "Boolean"}
    assert told[0]["properties"] == {
        **{name: [kinds.get(name, name.capitalize()), value] for name, value in headers.items()},
        "x-jms-type": ["String", "kind"],
    }
    assert (told[0]["body"], told[0]["correlation"], told[0]["type"]) == ("äöü€", "correlation", "kind")
    assert (told[0]["priority"], told[0]["persistent"], told[0]["lives"]) == (7, False, 60_000)
    assert "replies" in told[0]["replyTo"]
    assert told[1]["body"] == "00ff01"
    assert told[2]["body"] == {"bytes": "07", "double": 7.5, "int": 7, "long": -7, "string": "seven", "yes": True}
    assert told[3]["body"] == ["first", 2]
    assert told[5] == {"id is sent": True}


def test_messages_of_another_client(client: JmsClient, server: Server) -> None:
    typed = {
        "small": amqp.Typed("int8", -1),
        "short": amqp.Typed("int16", -2),
        "word": amqp.Typed("int32", -3),
        "ratio": amqp.Typed("float", 0.5),
        "long": 1 << 40,
        "name": "né",
        "yes": True,
    }
    entries = amqp.encode_value(amqp.Map({"number": amqp.Typed("int32", 3), "text": "three"}))[1:]
    server.fill_with(
        "foreign",
        amqp.Message(
            "gruß".encode(),
            routing_key="foreign",
            message_properties=amqp.MessageProperties(
                content_type="text/plain", message_id=UUID(int=5), correlation_id=b"c", application_headers=typed
            ),
        ),
        amqp.Message(entries, content_type="amqp/map"),
        amqp.Message(b"\x00\x01", content_type="application/octet-stream"),
    )
    told = client.run(server.port, "foreign")
    assert told[0]["body"] == "gruß"
    assert told[0]["correlation"] == "c"
    assert told[0]["properties"] == {
        "small": ["Byte", -1],
        "short": ["Short", -2],
        "word": ["Integer", -3],
        "ratio": ["Float", 0.5],
        "long": ["Long", 1 << 40],
        "name": ["String", "né"],
        "yes": ["Boolean", True],
    }
    assert told[1]["body"] == {"number": 3, "text": "three"}
    assert told[2]["body"] == "0001"
    assert len(server.accepted) == 3


def test_a_megabyte(client: JmsClient, server: Server) -> None:
    client.check(server.port, "large")
    assert [each.body == MEGABYTE for each in server.published("large")] == [True] * 3
    assert [each == MEGABYTE for each in server.accepted] == [True] * 3


# Sessions, subscriptions, queues.


def test_ten_sessions_with_two_consumers_each(client: JmsClient, server: Server) -> None:
    client.check(server.port, "sessions")
    assert len(server.session().of(amqp.SessionRequested)) == 10
    assert {each.channel for each in server.session().of(amqp.SessionRequested)} == set(range(10))
    ends = server.session().of(amqp.SessionClosed)
    assert [(each.report.by, each.resumable) for each in ends[:1]] == [(By.REMOTE, False)]
    assert len(server.accepted) == 20


@pytest.mark.parametrize(("scenario", "window"), [("prefetch", 5), ("single", 1)])
def test_no_more_is_sent_than_there_is_credit(client: JmsClient, scenario: str, window: int) -> None:
    most = 0

    def script(session: Any, event: Event) -> bool:
        nonlocal most
        for attached in session.attached.values():
            most = max(most, len(attached.unsettled))
        return False

    with serving(script) as server:
        server.fill_with("prefetch", *[text(str(n)) for n in range(20)])
        client.check(server.port, scenario)
        # A completion opens the window, and is sent before the accept.
        assert window <= most <= window + (scenario == "prefetch")
        grants = [each for each in server.session().of(amqp.CreditChanged) if each.messages]
        assert max(each.messages or 0 for each in grants) == window
        # Octets are without limit always.
        assert {each.octets for each in grants} == {None}
        assert server.accepted == [b"%d" % n for n in range(20)]


def test_a_listener_and_a_stopped_connection(client: JmsClient, server: Server) -> None:
    client.check(server.port, "listener")
    assert server.accepted == [b"one", b"two", b"three", b"stopped"]


def test_a_temporary_queue_for_replies(client: JmsClient, server: Server) -> None:
    told = client.run(server.port, "temporary")
    assert (told["answer"], told["same"]) == ("re: question", True)
    (request,) = server.published("requests")
    assert request.message_properties.reply_to is not None
    assert told["name"] in str(request.message_properties.reply_to)
    assert told["name"] not in server.queues
    declared = [each for each in server.commands("queue.declare") if each.queue == told["name"]]
    assert [(each.exclusive, each.auto_delete) for each in declared] == [(True, True)] * len(declared)
    assert declared != []


def test_a_topic(client: JmsClient, server: Server) -> None:
    client.check(server.port, "topic")
    bound = [(each.exchange, each.binding_key) for each in server.commands("exchange.bind")]
    assert bound == [("amq.topic", "news")] * 3 + [("amq.topic", "sports")]
    # The queues were exclusive, and ended with their session.
    assert list(server.queues) == ["jobs"]


def test_a_client_id_is_the_name_of_a_session(client: JmsClient) -> None:
    with serving() as server:
        told = client.run(server.port, "clientId")
        assert told["id"] == "id"
        assert told["refused"]["text"] == "Error creating connection: ClientID must be unique"
        assert told["found"] == BACK
        names = [[each.name for each in one.of(amqp.SessionRequested)][:1] for one in server.sessions]
        assert names == [[b"id"]] * 3


# Ends.


def test_a_command_that_fails(client: JmsClient) -> None:
    with serving() as server:
        told = client.run(server.port, "absent")
        # The client asks whether there is such a queue before it subscribes.
        assert "doesn't resolve to an exchange or a queue" in told["subscribed"]["text"]
        assert (told["deleted"]["kind"], told["deleted"]["code"]) == ("JMSException", "404")
        assert "description=no queue 'absent'" in told["deleted"]["text"]
        assert (told["told"]["kind"], told["told"]["code"]) == ("JMSException", "404")
        assert told["after"]["kind"] == "IllegalStateException"
        assert told["goesOn"] == BACK
        ended, good = server.session().of(amqp.SessionClosed)
        assert (ended.report.by, ended.report.code) == (By.LOCAL, 404)
        assert good.report.by is By.REMOTE


def test_a_message_that_fails_in_a_transaction(client: JmsClient) -> None:
    def script(session: Any, event: Event) -> bool:
        if not isinstance(event, amqp.MessageReceived) or event.body != b"never":
            return False
        core = session.attached[event.channel].core
        core.fail(amqp.ExecutionError(506, "there is no room"), event.command_id)
        return True

    with serving(script) as server:
        told = client.run(server.port, "refusing")
        assert told["told"]["code"] == "506"
        assert "there is no room" in told["told"]["text"]
        assert told["refused"]["kind"] == "IllegalStateException"
        assert told["goesOn"] == BACK
        assert server.bodies("refusing") == []


def test_the_server_closes_the_connection(client: JmsClient) -> None:
    def script(session: Any, event: Event) -> bool:
        if not isinstance(event, amqp.MessageReceived) or event.body != b"close":
            return False
        session.core.close(320, "closed by intent")
        return True

    with serving(script) as server:
        told = client.run(server.port, "closing")
        assert told["told"] == {"kind": "JMSException", "code": "CONNECTION_FORCED", "text": "closed by intent"}
        assert told["closed"]
        assert told["after"]["kind"] == told["received"]["kind"] == "IllegalStateException"
        connection = server.session()
        (closed,) = closings(connection)
        assert (closed.report.by, closed.report.code) == (By.LOCAL, 320)
        assert connection.of(Failed) == []


def test_the_client_insists_on_its_server(client: JmsClient) -> None:
    refusals: list[str] = []

    def script(session: Any, event: Event) -> bool:
        if isinstance(event, OpenRequested):
            assert event.insist
            with pytest.raises(LocalProtocolError) as caught:
                session.core.redirect("127.0.0.1:5672")
            refusals.append(str(caught.value))
        return False

    with serving(script) as server:
        assert len(client.run(server.port, "basic")["received"]) == 50
    assert refusals == ["the client insists on this server: refuse it instead"]


def test_a_dropped_connection_is_replaced(client: JmsClient) -> None:
    """The client attaches the session by its name, goes on counting commands, and sends what was in doubt again.

    It doesn't want the session to be kept: it asks for no timeout, so to the server the session is a new one, and what
    it had got of the message before may be there twice. The message says so itself: redelivered.
    """
    dropped = threading.Event()

    def script(session: Any, event: Event) -> bool:
        if not isinstance(event, amqp.MessageReceived) or event.body != b"in doubt" or dropped.is_set():
            return False
        dropped.set()
        session._stop()
        return True

    with serving(script) as server:
        told = client.run(server.port, "failover")
        assert told["before"] == ["before", False]
        assert told["events"] == ["preFailover", "failoverComplete"]
        assert told["found"] == [["in doubt", True], ["after", False]]
        assert told["left"] is None
        first, second = server.sessions
        (old,) = first.of(amqp.SessionRequested)
        (new,) = second.of(amqp.SessionRequested)
        assert old.name == new.name
        assert not new.force
        (lost,) = first.of(amqp.SessionClosed)
        assert (lost.report.by, lost.resumable) == (By.TRANSPORT, False)
        # The ids go on where they were, and none comes twice on the new session.
        doubtful = [each.command_id for each in second.of(amqp.MessageReceived) if each.body == b"in doubt"]
        assert doubtful == [each.command_id for each in first.of(amqp.MessageReceived)][-1:]
        assert server.accepted == [b"before", b"in doubt", b"after"]
        assert second.of(Failed) == []


# Heartbeats.


def test_heartbeats_keep_an_idle_connection(client: JmsClient) -> None:
    with serving() as server:
        client.check(server.port, "heartbeat")
        connection = server.session()
        assert connection.core.heartbeat == 1
        assert 0.5 < connection.longest_silence < 2.0
        (closed,) = closings(connection)
        assert closed.report.code == 200


def test_the_client_hears_of_a_silent_server(client: JmsClient) -> None:
    def script(session: Any, event: Event) -> bool:
        if isinstance(event, amqp.MessageReceived):
            session.writing = False
        return False

    with serving(script) as server:
        told = client.run(server.port, "waiting")
        assert (told["kind"], told["text"]) == ("JMSException", "connection aborted")


def test_the_server_hears_of_a_client_that_stands_still(client: JmsClient, tmp_path: Path) -> None:
    with serving() as server:
        program = client.start(server.port, "waiting", tmp_path)
        try:
            wait_until(lambda: bool(server.received))
            os.kill(program.pid, signal.SIGSTOP)
            connection = server.session()
            (closed,) = closings(connection)
            assert closed.report.by is By.TRANSPORT
            assert closed.report.text == "nothing arrived for 2 seconds, twice the heartbeat"
            os.kill(program.pid, signal.SIGCONT)
            wait_until(lambda: "kind" in program.log.read_text())
            assert json.loads(program.log.read_text().splitlines()[-1])["kind"] == "JMSException"
        finally:
            program.stop()
