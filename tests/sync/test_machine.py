"""The blocking adapter on the machine, in small: a socket and a signal. The rest is in tests/system/sync."""

from __future__ import annotations

import signal
import socket
import threading
from types import FrameType

import pytest

from amqp_sansio import AMQP_1_0
from amqp_sansio_sync.system import MACHINE, current
from tests.kit.inside import driver_of
from tests.kit.scripted import ScriptedBroker
from tests.kit.sync_user import WAIT, SyncUser


class Interrupted(BaseException):
    """What the signal handler raises."""


@pytest.mark.rule("1.0/transport/connection/tcp-keepalive")
@pytest.mark.real("a socket and a keeper's thread")
def test_a_connection_over_a_socket() -> None:
    assert current() is MACHINE
    with ScriptedBroker() as broker:
        broker.fill("jobs")
        with SyncUser(broker, AMQP_1_0) as user:
            raw = driver_of(user.connection).transport.socket
            assert raw.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)
            consumer = user.consume(timeout=WAIT)
            assert user.publish(b"x") == user.accepted
            assert next(consumer).body == b"x"


@pytest.mark.skipif(not hasattr(signal, "pthread_kill"), reason="Windows has no signal that ends a wait")
@pytest.mark.real("a socket, and a signal in a wait")
def test_a_connection_outlives_a_signal_in_its_wait() -> None:
    def fail(number: int, frame: FrameType | None) -> None:
        raise Interrupted

    before = signal.signal(signal.SIGUSR1, fail)
    try:
        with ScriptedBroker() as broker:
            broker.fill("jobs")
            with SyncUser(broker, AMQP_1_0) as user:
                consumer = user.consume(timeout=WAIT)
                timer = threading.Timer(0.05, signal.pthread_kill, (threading.get_ident(), signal.SIGUSR1))
                timer.start()
                with pytest.raises(Interrupted):
                    next(consumer)
                timer.join()
                assert user.publish(b"x") == user.accepted
                assert next(consumer).body == b"x"
    finally:
        signal.signal(signal.SIGUSR1, before)
