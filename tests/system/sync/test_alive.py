"""Connections that live while user code is busy, over sockets and by the machine's clock."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable
from time import monotonic

import pytest

from amqp_sansio import Version
from amqp_sansio_sync.transport import NowhereSocket, SocketTransport, ready_by_poll, ready_by_select
from tests.kit.inside import driver_of
from tests.kit.sync_user import WAIT, Made, SyncUser, brisk, each_version
from tests.sync.test_alive import (
    busy,
    test_a_close_of_the_server_is_answered_by_itself,
    test_a_full_consumer_holds_the_server_back_and_the_connection_lives,
    test_a_silent_broker_is_noticed_with_and_without_a_waiting_thread,
    test_heartbeats_go_on_while_a_thread_waits,
    test_heartbeats_go_on_while_user_code_is_busy,
    test_later_publishes_go_together,
    test_links_that_nobody_holds_are_closed_whether_a_thread_waits_or_not,
    test_no_thread_is_left_of_a_closed_or_forgotten_connection,
    test_two_full_socket_buffers_do_not_stop_a_publisher,
    test_what_could_not_be_sent_goes_out_without_a_caller,
    test_what_the_server_said_last_is_read_when_nothing_can_be_sent_any_more,
)


def compute(seconds: float) -> None:
    """User code that doesn't let go of the interpreter."""
    end = monotonic() + seconds
    while monotonic() < end:
        sum(range(1000))


@pytest.mark.rule("1.0/transport/connection/tcp-keepalive")
@each_version
def test_heartbeats_go_on_while_user_code_keeps_the_interpreter(made: Made, version: Version) -> None:
    with brisk(made) as broker, SyncUser(broker, version, **busy(version)) as user:
        raw = driver_of(user.connection).transport.socket
        assert raw.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)
        compute(3.2)  # The broker would have ended it after two seconds of silence.
        assert user.connection.is_open
        assert user.publish(b"x") == user.accepted


@pytest.mark.parametrize("ready", [ready_by_poll, ready_by_select])
def test_waiting_for_a_socket(ready: Callable[..., bool]) -> None:
    ours, theirs = socket.socketpair()
    wakes, waker = socket.socketpair()
    with ours, theirs, wakes, waker:
        begun = monotonic()
        assert not ready(ours, wakes, True, False, 0.05)
        assert monotonic() - begun >= 0.04
        assert not ready(ours, wakes, True, True, None)  # it can be written
        theirs.send(b"x")
        assert not ready(ours, wakes, True, False, None)
        assert not ready(ours, wakes, False, False, 0)
        waker.send(b"x")
        assert ready(ours, wakes, False, False, None)
        assert ready(ours, wakes, True, True, 7200)


def test_a_transport_counts_wakes_once() -> None:
    ours, theirs = socket.socketpair()
    with theirs:
        transport = SocketTransport(ours, ("ours", "theirs"), None)
        for _ in range(100_000):
            transport.wake()
        transport.wait(True, WAIT)
        begun = monotonic()
        transport.wait(True, 0.02)
        assert monotonic() - begun >= 0.01
        transport.shut()
        transport.wait(True, WAIT)
        assert transport.read(10) == b""
        transport.shut()
        transport.close()


__all__ = [
    "test_a_close_of_the_server_is_answered_by_itself",
    "test_a_full_consumer_holds_the_server_back_and_the_connection_lives",
    "test_a_silent_broker_is_noticed_with_and_without_a_waiting_thread",
    "test_a_transport_counts_wakes_once",
    "test_heartbeats_go_on_while_a_thread_waits",
    "test_heartbeats_go_on_while_user_code_is_busy",
    "test_heartbeats_go_on_while_user_code_keeps_the_interpreter",
    "test_later_publishes_go_together",
    "test_links_that_nobody_holds_are_closed_whether_a_thread_waits_or_not",
    "test_no_thread_is_left_of_a_closed_or_forgotten_connection",
    "test_two_full_socket_buffers_do_not_stop_a_publisher",
    "test_waiting_for_a_socket",
    "test_what_could_not_be_sent_goes_out_without_a_caller",
    "test_what_the_server_said_last_is_read_when_nothing_can_be_sent_any_more",
]


@pytest.mark.parametrize("write", [False, True], ids=["", "write"])
@pytest.mark.parametrize("read", [False, True], ids=["", "read"])
@pytest.mark.parametrize("kind", ["somewhere", "nowhere"])
def test_shutting_a_transport_ends_each_wait(kind: str, read: bool, write: bool) -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        transport = NowhereSocket() if kind == "nowhere" else SocketTransport(ours, ("ours", "theirs"), None)
        waits = threading.Thread(target=transport.wait, args=(read, None))
        transport.write_wanted = write
        waits.start()
        transport.shut()
        waits.join(WAIT)
        ended = not waits.is_alive()
        transport.wake()
        waits.join(WAIT)
        transport.close()
        assert ended
