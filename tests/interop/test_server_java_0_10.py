"""What Apache Qpid's JMS client says to a server of 0-10, and what it does when the server treats it badly."""

import json
import os
import re
import signal
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from amqp_sansio import AMQP_0_10, By, Closed, Event, Failed, LocalProtocolError, OpenRequested, Scope
from amqp_sansio import amqp_0_10 as amqp
from amqp_sansio.amqp_0_9_1 import BasicProperties
from amqp_sansio.amqp_0_10 import spec
from amqp_sansio.broker import Settings
from tests.interop.brokers.jms_client import JmsClient, install_jms_client
from tests.kit.scripted import Peer, Script, ScriptedBroker
from tests.kit.sync_user import wait_until

BACK = "there and back"


@pytest.fixture(scope="module")
def client() -> JmsClient:
    """The JMS client, compiled once."""
    return install_jms_client()


@contextmanager
def serving(script: Script | None = None, **changes: Any) -> Generator[ScriptedBroker]:
    """A broker that a test bends; the client names no virtual host, or "/"."""
    # The client takes an absent maximum of heartbeats for zero, and has none then.
    configs = {AMQP_0_10: amqp.Config(mechanisms=("PLAIN",), **changes)} if changes else {}
    settings = Settings(configs=configs)
    with ScriptedBroker(clock="real", settings=settings) as broker:
        broker.script = script
        yield broker
        assert broker.errors == []


def commands(broker: ScriptedBroker, name: str = "") -> list[Any]:
    """The commands of a name, of a class with ".", or all."""
    found = [event.command for peer in broker.peers for event in peer.of(amqp.CommandReceived)]
    return [each for each in found if name in ("", each.NAME) or (name[-1] == "." and each.NAME.startswith(name))]


def messages(broker: ScriptedBroker) -> list[amqp.MessageReceived]:
    """The messages that came."""
    return [event for peer in broker.peers for event in peer.of(amqp.MessageReceived)]


def closing(peer: Peer) -> Closed:
    """The end of the connection itself, once it has ended."""
    wait_until(lambda: any(each.scope is Scope.CONNECTION for each in peer.of(Closed)))
    (closed,) = [each for each in peer.of(Closed) if each.scope is Scope.CONNECTION]
    return closed


def _says_basic(broker: ScriptedBroker) -> None:
    headers = [each.message.message_properties.application_headers for each in messages(broker)]
    assert headers == [{"n": n, "even": n % 2 == 0} for n in range(50)]
    assert [each.transfer.accept_mode for each in messages(broker)] == [spec.NONE] * 50


def _says_client(broker: ScriptedBroker) -> None:
    assert broker.messages("client") == ()


def _says_transactions(broker: ScriptedBroker) -> None:
    assert [each.body for each in messages(broker)] == [b"kept", b"kept too", b"gone"]
    assert len(commands(broker, "tx.select")) == 1
    assert len(commands(broker, "tx.commit")) >= 3
    assert len(commands(broker, "tx.rollback")) == 2


def _says_branches(broker: ScriptedBroker) -> None:
    names = [each.NAME for each in commands(broker, "dtx.")]
    branch = ["dtx.start", "dtx.end"]
    expected = ["dtx.select", *branch, "dtx.prepare", "dtx.recover", "dtx.commit"]
    assert names[:12] == [*expected, *branch, "dtx.rollback", *branch, "dtx.commit"]
    xids = [(each.xid.format, each.xid.global_id, each.xid.branch_id) for each in commands(broker, "dtx.start")]
    assert xids == [(5, b"g\x01", b"b\x01"), (5, b"g\x02", b"b\x02"), (5, b"g\x03", b"b\x03")]


def _says_browser(broker: ScriptedBroker) -> None:
    modes = [each.acquire_mode for each in commands(broker, "message.subscribe")]
    assert modes == [spec.NOT_ACQUIRED, spec.NOT_ACQUIRED, 0]


def _says_acquire(broker: ScriptedBroker) -> None:
    assert len(commands(broker, "message.acquire")) == 3


def _says_sessions(broker: ScriptedBroker) -> None:
    asked = broker.peer.of(amqp.SessionRequested)
    assert sorted(each.channel for each in asked) == list(range(10))
    ends = broker.peer.of(amqp.SessionClosed)
    assert [(each.report.by, each.resumable) for each in ends[:1]] == [(By.REMOTE, False)]


def _says_topic(broker: ScriptedBroker) -> None:
    bound = [(each.exchange, each.binding_key) for each in commands(broker, "exchange.bind")]
    assert bound == [("amq.topic", "news")] * 3 + [("amq.topic", "sports")]


def _says_temporary(broker: ScriptedBroker) -> None:
    declared = [each for each in commands(broker, "queue.declare") if each.exclusive]
    assert declared != []
    assert all(each.auto_delete for each in declared)
    replies = [each.message.message_properties.reply_to for each in messages(broker)]
    assert declared[0].queue in str(replies)


@pytest.mark.parametrize(
    ("scenario", "says"),
    [
        ("basic", _says_basic),
        ("client", _says_client),
        ("transacted", _says_transactions),
        ("branches", _says_branches),
        ("browser", _says_browser),
        ("acquire", _says_acquire),
        ("sessions", _says_sessions),
        ("topic", _says_topic),
        ("temporary", _says_temporary),
    ],
)
def test_what_the_client_says(client: JmsClient, scenario: str, says: Callable[[ScriptedBroker], None]) -> None:
    with serving() as broker:
        client.run(broker.port, scenario)
        says(broker)
        for peer in broker.peers:
            assert peer.of(Failed) == []
            assert (closing(peer).report.by, closing(peer).report.code) == (By.REMOTE, 200)


@pytest.mark.parametrize(("scenario", "window"), [("prefetch", 5), ("single", 1)])
def test_the_credit_that_the_client_gives(client: JmsClient, scenario: str, window: int) -> None:
    with serving() as broker:
        broker.fill("prefetch")
        for n in range(20):
            properties = BasicProperties(content_type="text/plain")
            broker.publish(b"%d" % n, routing_key="prefetch", properties=properties)
        client.run(broker.port, scenario)
        grants = [each for each in broker.peer.of(amqp.CreditChanged) if each.messages]
        assert max(each.messages or 0 for each in grants) == window
        # Octets are without limit always.
        assert {each.octets for each in grants} == {None}


def test_a_browser_and_a_strict_server(client: JmsClient) -> None:
    with serving(lenient_accepts=False) as broker:
        # Which of its calls is the first to notice is the client's affair, and so is whether it tells the reason.
        with pytest.raises(AssertionError, match="browser ended with 1"):
            client.run(broker.port, "browser")
        (failed,) = broker.peer.of(Failed)
        assert re.search(r"message\.accept of transfer \d+, which is not acquired", str(failed.error))
        assert getattr(failed.error, "rule", None) == "0-10/message.accept/acquisition"


def test_a_message_that_fails_in_a_transaction(client: JmsClient) -> None:
    def script(peer: Peer, event: Event) -> bool:
        if not isinstance(event, amqp.MessageReceived) or event.body != b"never":
            return False
        session = peer.core.session(event.channel)
        session.fail(amqp.ExecutionError(506, "there is no room"), event.command_id)
        return True

    with serving(script) as broker:
        told = client.run(broker.port, "refusing")
        assert told["told"]["code"] == "506"
        assert "there is no room" in told["told"]["text"]
        assert told["refused"]["kind"] == "IllegalStateException"
        assert told["goesOn"] == BACK


def test_the_server_closes_the_connection(client: JmsClient) -> None:
    def script(peer: Peer, event: Event) -> bool:
        if not isinstance(event, amqp.MessageReceived) or event.body != b"close":
            return False
        peer.core.close(320, "closed by intent")
        return True

    with serving(script) as broker:
        told = client.run(broker.port, "closing")
        assert told["told"] == {"kind": "JMSException", "code": "CONNECTION_FORCED", "text": "closed by intent"}
        assert told["closed"]
        assert told["after"]["kind"] == told["received"]["kind"] == "IllegalStateException"
        assert (closing(broker.peer).report.by, closing(broker.peer).report.code) == (By.LOCAL, 320)
        assert broker.peer.of(Failed) == []


def test_the_client_insists_on_its_server(client: JmsClient) -> None:
    refusals: list[str] = []

    def script(peer: Peer, event: Event) -> bool:
        if isinstance(event, OpenRequested):
            assert event.insist
            with pytest.raises(LocalProtocolError) as caught:
                peer.core.redirect("127.0.0.1:5672")
            refusals.append(str(caught.value))
        return False

    with serving(script) as broker:
        assert len(client.run(broker.port, "basic")["received"]) == 50
    assert refusals == ["the client insists on this server: refuse it instead"]


def test_a_dropped_connection_is_replaced(client: JmsClient) -> None:
    """The client attaches the session by its name, goes on counting commands, and sends what was in doubt again.

    It doesn't want the session to be kept: it asks for no timeout, so to the server the session is a new one, and what
    it had got of the message before may be there twice. The message says so itself: redelivered.
    """
    dropped = threading.Event()

    def script(peer: Peer, event: Event) -> bool:
        if not isinstance(event, amqp.MessageReceived) or event.body != b"in doubt" or dropped.is_set():
            return False
        dropped.set()
        peer.line.cut()
        return True

    with serving(script) as broker:
        told = client.run(broker.port, "failover")
        assert told["before"] == ["before", False]
        assert told["events"] == ["preFailover", "failoverComplete"]
        assert told["found"] == [["in doubt", True], ["after", False]]
        assert told["left"] is None
        first, second = broker.peers
        (old,) = first.of(amqp.SessionRequested)
        (new,) = second.of(amqp.SessionRequested)
        assert old.name == new.name
        assert not new.force
        (lost,) = first.of(amqp.SessionClosed)
        assert (lost.report.by, lost.resumable) == (By.TRANSPORT, False)
        # The ids go on where they were, and none comes twice on the new session.
        doubtful = [each.command_id for each in second.of(amqp.MessageReceived) if each.body == b"in doubt"]
        assert doubtful == [each.command_id for each in first.of(amqp.MessageReceived)][-1:]
        assert second.of(Failed) == []


def test_the_client_hears_of_a_silent_server(client: JmsClient) -> None:
    with serving(heartbeat_max=60) as broker:

        def script(peer: Peer, event: Event) -> bool:
            if isinstance(event, amqp.MessageReceived):
                # From another thread: this one would wait for itself.
                threading.Thread(target=broker.faults.stall, args=("to_client",)).start()
            return False

        broker.script = script
        told = client.run(broker.port, "waiting")
        assert (told["kind"], told["text"]) == ("JMSException", "connection aborted")


def test_the_server_hears_of_a_client_that_stands_still(client: JmsClient, tmp_path: Path) -> None:
    with serving(heartbeat_max=60) as broker:
        program = client.start(broker.port, "waiting", tmp_path)
        try:
            wait_until(lambda: messages(broker))
            assert broker.peer.core.heartbeat == 1
            os.kill(program.pid, signal.SIGSTOP)
            assert closing(broker.peer).report.by is By.TRANSPORT
            assert closing(broker.peer).report.text == "nothing arrived for 2 seconds, twice the heartbeat"
            os.kill(program.pid, signal.SIGCONT)
            wait_until(lambda: "kind" in program.log.read_text())
            assert json.loads(program.log.read_text().splitlines()[-1])["kind"] == "JMSException"
        finally:
            program.stop()
