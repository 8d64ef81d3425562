"""Connections live while user code is busy, and the death of one is noticed: heartbeats, silence, back-pressure."""

from __future__ import annotations

import gc
import warnings
from typing import Any

import pytest

from amqp_sansio import AMQP_0_9_1, AMQP_0_10, AMQP_1_0, By, EndpointClosed, Limits, Version
from amqp_sansio.amqp_0_9_1 import Published
from amqp_sansio.amqp_0_9_1.spec import QueueDeclare
from amqp_sansio.client import inbox
from amqp_sansio_sync import driver
from amqp_sansio_sync.keeper import Keeper
from amqp_sansio_sync.system import current
from tests.kit.inside import driver_of, state_of
from tests.kit.scripted import ScriptedBroker
from tests.kit.sync_user import WAIT, Made, SyncUser, brisk, each_version, finished, keepers, started, wait_until


def busy(version: Version) -> dict[str, Any]:
    """Options of a client that is silent for no more than a second, and takes two of the broker's for its death."""
    return {"idle_time_out": 2.0} if version is AMQP_1_0 else {"heartbeat": 1}


def sleep(seconds: float) -> None:
    """User code that waits for something else."""
    current().sleep(seconds)


@pytest.mark.rule("0-9-1/wire/heartbeat-interval", "0-9-1/wire/heartbeat-start-client")
@pytest.mark.rule("1.0/transport/connection/idle-empty-frame")
@each_version
def test_heartbeats_go_on_while_user_code_is_busy(made: Made, version: Version) -> None:
    with brisk(made) as broker, SyncUser(broker, version, **busy(version)) as user:
        sleep(3.2)  # The broker would have ended it after two seconds of silence.
        assert user.connection.is_open
        assert user.publish(b"x") == user.accepted
        if version is AMQP_0_9_1:
            with user.channel.batch():
                user.publish(b"collected", wait=False)
                sleep(3.2)
            assert user.connection.is_open


@each_version
def test_heartbeats_go_on_while_a_thread_waits(made: Made, version: Version) -> None:
    with brisk(made) as broker, SyncUser(broker, version, **busy(version)) as user:
        with pytest.raises(TimeoutError):
            next(user.consume(timeout=3.2))
        assert user.publish(b"x") == user.accepted


@pytest.mark.rule("0-9-1/wire/heartbeat-timeout", "0-10/connection.heartbeat/2x")
@pytest.mark.rule("1.0/transport/connection/idle-close")
@each_version
def test_a_silent_broker_is_noticed_with_and_without_a_waiting_thread(made: Made, version: Version) -> None:
    with brisk(made) as broker:
        waiting, idle = SyncUser(broker, version, **busy(version)), SyncUser(broker, version, **busy(version))
        consumer = waiting.consume()
        with broker.faults.stall("to_client"):
            begun = current().now()
            with pytest.raises(EndpointClosed, match="nothing arrived for 2 seconds") as caught:
                next(consumer)
            assert 0.5 < current().now() - begun < 10
            assert caught.value.report is not None
            assert "dead" in caught.value.report.hint
            wait_until(lambda: not idle.connection.is_open)
            with pytest.raises(EndpointClosed, match="nothing arrived for 2 seconds"):
                idle.open()
            by = By.LOCAL if version is AMQP_1_0 else By.TRANSPORT
            assert [user.close().by for user in (waiting, idle)] == [by] * 2


def test_a_close_of_the_server_is_answered_by_itself(broker: ScriptedBroker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(driver, "IDLE", 0.05)
    connection = SyncUser(broker, AMQP_0_9_1).connection
    broker.faults.close_connections(320, "CONNECTION_FORCED - maintenance")
    wait_until(lambda: not broker.connections and not connection.is_open)
    assert connection.report.code == 320
    connection.close()


def test_what_the_server_said_last_is_read_when_nothing_can_be_sent_any_more(broker: ScriptedBroker) -> None:
    user = SyncUser(broker, AMQP_0_9_1)
    driver_of(user.connection)._look_at = current().now() + WAIT  # no look before the write that fails
    peer = broker.peer
    peer.hold()
    broker.act(lambda: peer.core.close(320, "CONNECTION_FORCED - now"))
    broker.act(lambda: peer.line.transport.abort())  # type: ignore[union-attr]
    with pytest.raises(EndpointClosed, match="320 CONNECTION_FORCED - now"):
        for _ in range(100):
            user.publish(b"x", wait=False)
            sleep(0.001)


@pytest.mark.rule("0-9-1/wire/heartbeat-any-octet")
def test_a_full_consumer_holds_the_server_back_and_the_connection_lives(
    made: Made, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inbox, "FULL_OCTETS", 1 << 20)
    monkeypatch.setattr(inbox, "OVERRUN", 10_000)
    size, count = 50_000, 800
    limits = Limits(unparsed=1 << 18)
    with brisk(made) as broker:
        broker.fill("jobs", *[b"%06d" % n + bytes(size) for n in range(count)])
        with SyncUser(broker, AMQP_0_9_1, limits=limits) as user:
            deliveries = user.consume(no_ack=True)
            assert next(deliveries).body[:6] == b"000000"
            client = driver_of(user.connection).client
            wait_until(lambda: client.full == 1)
            sleep(3.2)  # more than twice the heartbeat, with octets that nobody reads
            assert client.receive_budget == 0
            (held,) = state_of(user.channel).inboxes.values()
            assert held.octets < (1 << 20) + (1 << 18) + 2 * size
            assert broker.queue("jobs").ready > 0
            bodies = [next(deliveries).body[:6] for _ in range(count - 1)]
            assert bodies == [b"%06d" % n for n in range(1, count)]
            assert client.full == 0
            assert user.channel.call(QueueDeclare("jobs", durable=True)).message_count == 0


def test_two_full_socket_buffers_do_not_stop_a_publisher(broker: ScriptedBroker) -> None:
    body = bytes(1_000_000)
    broker.fill("jobs", *[b"%02d" % n + body for n in range(40)])
    with SyncUser(broker, AMQP_0_9_1) as user:
        channel, peer = user.connection.open_channel(), broker.peer
        deliveries = channel.consume("jobs", prefetch=50, timeout=WAIT)
        peer.hold()

        def release() -> None:
            wait_until(lambda: broker.queue("jobs").ready == 0 and not peer.core.send_backlog)
            peer.hold(False)

        # The broker takes none of it before it has got rid of its own.
        releasing = started(release)
        for _ in range(40):
            channel.publish(body, routing_key="none", timeout=WAIT)
        assert [next(deliveries).body[:2] for _ in range(40)] == [b"%02d" % n for n in range(40)]
        wait_until(lambda: len(peer.of(Published)) == 40)
        finished(releasing)


@each_version
def test_what_could_not_be_sent_goes_out_without_a_caller(broker: ScriptedBroker, version: Version) -> None:
    broker.fill("jobs", b"0", b"1")
    broker.fill("big")
    with SyncUser(broker, version) as user:
        consumer = user.consume()
        first, second = next(consumer), next(consumer)
        user.publish(b"", "big")
        broker.peer.hold()
        body = bytes(30_000_000)
        for text, seconds in ((body, 0.1), (b"refused", 0.05)):
            with pytest.raises(TimeoutError, match="not within"):
                user.publish(text, "big", timeout=seconds)
        first.accept()  # Neither of them waits.
        second.accept()
        broker.peer.hold(False)
        wait_until(lambda: broker.queue("big").ready == 2)
        assert user.publish(b"next", "big") == user.accepted
        wait_until(lambda: broker.queue("jobs").unsettled == 0)
        assert [len(each) for each in broker.bodies("big")] == [0, len(body), 4]
        assert broker.messages("jobs") == ()


@pytest.mark.parametrize("version", [AMQP_0_9_1, AMQP_0_10, AMQP_1_0])
def test_later_publishes_go_together(broker: ScriptedBroker, version: Version, monkeypatch: pytest.MonkeyPatch) -> None:
    broker.fill("jobs")
    with SyncUser(broker, version) as user:
        monkeypatch.setattr(driver, "SOON", 60.0)
        monkeypatch.setattr(Keeper, "ring", bool)  # does nothing
        sent = [user.publish(b"", wait=False) for _ in range(3)]
        assert driver_of(user.connection).client.send_backlog > 0
        assert [each.result(WAIT) for each in sent] == [user.accepted] * 3
        monkeypatch.undo()


@each_version
def test_no_thread_is_left_of_a_closed_or_forgotten_connection(broker: ScriptedBroker, version: Version) -> None:
    assert keepers() == 0
    with SyncUser(broker, version):
        assert keepers() == 1
    assert keepers() == 0
    user: SyncUser | None = SyncUser(broker, version)
    wait_until(lambda: keepers() == 1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        del user
        wait_until(lambda: gc.collect() >= 0 and keepers() == 0)
    wait_until(lambda: not broker.connections)


def test_links_that_nobody_holds_are_closed_whether_a_thread_waits_or_not(broker: ScriptedBroker) -> None:
    broker.fill("idle")
    with SyncUser(broker, AMQP_1_0, idle_time_out=0) as user:
        core = broker.peer.core

        def links() -> int:
            return len(core.session(0).links)

        for _ in range(3):
            assert user.channel.open_sender("jobs").send(b"x") == user.accepted
        gc.collect()
        wait_until(lambda: not links())
        ends: list[object] = []
        waiting = user.consume("idle", timeout=None)
        dropped = user.channel.open_receiver("jobs")
        # Its own side closes the connection, which ends the iteration quietly.
        thread = started(lambda: ends.append(next(waiting, "the end")))
        sleep(0.05)
        assert links() == 2
        del dropped
        wait_until(lambda: links() == 1)
    finished(thread)
    assert ends == ["the end"]
