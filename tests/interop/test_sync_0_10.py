"""The blocking adapter's AMQP 0-10 against Broker-J."""

from __future__ import annotations

import threading
import time
from collections.abc import Generator
from contextlib import contextmanager
from itertools import count
from typing import Any

import pytest

from amqp_sansio import AMQP_0_10, Accepted, EndpointClosed
from amqp_sansio.amqp_0_10 import (
    CREDIT,
    NONE,
    NOT_ACQUIRED,
    ExchangeBind,
    Message,
    QueueDeclare,
    QueueDelete,
    QueueQuery,
    Rejected,
    Xid,
)
from amqp_sansio.sasl import Anonymous, ScramSha256
from amqp_sansio_sync import SessionEnded, ZeroTenConnection, ZeroTenSession, connect
from tests.interop.brokers.brokerj import BrokerJ
from tests.interop.brokers.facing_0_10 import NONCE

WAIT = 20.0
numbers = count(1)


@contextmanager
def attached(broker: BrokerJ, **options: Any) -> Generator[tuple[ZeroTenConnection, ZeroTenSession, str]]:
    """A connection, a session, and a queue that is deleted in the end."""
    connection = connect(broker.url, version=AMQP_0_10, **options)
    assert isinstance(connection, ZeroTenConnection)
    with connection:
        session = connection.open_session()
        queue = f"sync.0-10.{next(numbers)}"
        session.call(QueueDeclare(queue))
        yield connection, session, queue
        connection.open_session().call(QueueDelete(queue))


def left(session: ZeroTenSession, queue: str) -> int | None:
    return session.call(QueueQuery(queue)).message_count


def test_publishing_and_consuming(brokerj: BrokerJ) -> None:
    with attached(brokerj) as (_, session, queue):
        session.call(ExchangeBind(queue, "amq.direct", "key"))
        message = Message(b"hello", content_type="text/plain", application_headers={"n": 1})
        assert session.publish(message, "amq.direct", "key") == Accepted()
        assert session.publish(b"", "amq.direct", "absent") == Rejected(1, "Unroutable")
        assert session.publish(b"none", "", queue, accept_mode=NONE) is None
        with session.subscribe(queue) as subscription:
            first = subscription.fetch(timeout=WAIT)
            second = subscription.fetch(timeout=WAIT)
            assert first is not None
            assert second is not None
            assert (first.body, second.body) == (b"hello", b"none")
            assert first.message_properties.content_type == "text/plain"
            assert dict(first.message_properties.application_headers or {}) == {"n": 1}
            first.accept()
            second.release(set_redelivered=True)
            again = subscription.fetch(timeout=WAIT)
            assert again is not None
            assert again.redelivered
            again.reject()
            session.sync()
            assert subscription.fetch(timeout=0.2) is None
        assert left(session, queue) == 0


@pytest.mark.parametrize("options", [{}, {"flow_mode": CREDIT}, {"octets": 5000}])
def test_many_messages(brokerj: BrokerJ, options: dict[str, Any]) -> None:
    total = 500
    bodies = [str(number).encode().ljust(100) for number in range(total)]
    with attached(brokerj) as (connection, session, queue):
        consuming = connection.open_session()
        found: list[bytes] = []

        def consume() -> None:
            with consuming.subscribe(queue, credit=20, **options) as subscription:
                for received in subscription:
                    found.append(received.body)
                    received.accept()
                    if len(found) == total:
                        consuming.sync()
                        return

        thread = threading.Thread(target=consume)
        thread.start()
        sent = [session.publish(body, "", queue, wait=False) for body in bodies]
        assert [each.result(WAIT) for each in sent] == [Accepted()] * total
        thread.join(WAIT)
        assert not thread.is_alive()
        assert found == bodies
        assert left(session, queue) == 0


def test_a_large_message(brokerj: BrokerJ) -> None:
    with attached(brokerj, max_frame_size=4096) as (_, session, queue):
        body = bytes(range(256)) * 4096
        assert session.publish(body, "", queue) == Accepted()
        with session.subscribe(queue) as subscription:
            received = subscription.fetch(timeout=WAIT)
            assert received is not None
            assert received.body == body
            received.accept()


def test_browsing_and_acquiring(brokerj: BrokerJ) -> None:
    with attached(brokerj) as (_, session, queue):
        for body in (b"one", b"two"):
            session.publish(body, "", queue)
        with session.subscribe(queue, acquire_mode=NOT_ACQUIRED) as subscription:
            first = subscription.fetch(timeout=WAIT)
            second = subscription.fetch(timeout=WAIT)
            assert first is not None
            assert second is not None
            assert second.acquire()
            second.accept()
            session.sync()
        assert left(session, queue) == 1


def test_transactions(brokerj: BrokerJ) -> None:
    with attached(brokerj) as (connection, plain, queue):
        session = connection.open_session()
        with session.transaction():
            session.publish(b"kept", "", queue, wait=False)
            assert left(plain, queue) == 0
        assert left(plain, queue) == 1
        with pytest.raises(ValueError, match="mine"), session.transaction():
            session.publish(b"dropped", "", queue, wait=False)
            raise ValueError("mine")
        assert left(plain, queue) == 1
        other = connection.open_session()
        xid = Xid(7, b"sync-%d" % next(numbers), b"branch")
        with other.branch(xid) as branch:
            other.publish(b"distributed", "", queue, wait=False)
        branch.prepare()
        assert xid in other.recover()
        assert left(plain, queue) == 1
        branch.commit()
        assert left(plain, queue) == 2


def test_what_ends_a_session(brokerj: BrokerJ) -> None:
    with attached(brokerj) as (connection, session, queue):
        failing = connection.open_session()
        with pytest.raises(SessionEnded) as caught:
            failing.subscribe("absent")
        assert (caught.value.code, caught.value.condition) == (404, "not-found")
        failing = connection.open_session()
        with session.subscribe(queue):
            with pytest.raises(SessionEnded) as caught:
                failing.subscribe(queue, exclusive=True)
            assert (caught.value.code, caught.value.condition) == (405, "resource-locked")
        # Broker-J keeps no sessions.
        kept = connection.open_session(timeout=60)
        assert kept.request_timeout(60) == 0


@pytest.mark.parametrize("exchange", ["", "amq.direct"])
def test_a_full_queue(brokerj: BrokerJ, exchange: str) -> None:
    """Broker-J stops the session; who publishes waits, and goes on when there's room."""
    with attached(brokerj) as (connection, session, _):
        queue = f"sync.0-10.{next(numbers)}"
        limits = {"x-qpid-capacity": 1000, "x-qpid-flow-resume-capacity": 500}
        session.call(QueueDeclare(queue, arguments=limits))
        session.call(ExchangeBind(queue, "amq.direct", queue))
        publishing = connection.open_session()
        outcomes: list[Any] = []

        def publish() -> None:
            for _ in range(20):
                outcomes.append(publishing.publish(bytes(400), exchange, queue))
                time.sleep(0.01)

        thread = threading.Thread(target=publish)
        thread.start()
        thread.join(1)
        assert thread.is_alive()
        assert len(outcomes) < 20
        with session.subscribe(queue) as subscription:
            for _ in range(20):
                received = subscription.fetch(timeout=WAIT)
                assert received is not None
                received.accept()
            thread.join(WAIT)
            session.sync()
        assert outcomes == [Accepted()] * 20
        session.call(QueueDelete(queue))


def test_heartbeats(brokerj: BrokerJ) -> None:
    with attached(brokerj, heartbeat=1) as (connection, session, _):
        time.sleep(3.2)
        assert connection.is_open
        session.sync()


def test_logging_in(brokerj: BrokerJ) -> None:
    scram = ScramSha256(brokerj.user, brokerj.password, NONCE)
    with connect(brokerj.scram_url, version=AMQP_0_10, sasl=scram) as connection:
        connection.open_session().sync()
    with connect(brokerj.anonymous_url, version=AMQP_0_10, sasl=Anonymous()) as connection:
        assert connection.is_open


@pytest.mark.parametrize(
    ("url", "code"),
    [("{user}:wrong@{host}:{port}/default", 320), ("{user}:{password}@{host}:{port}/absent", 402)],
)
def test_who_is_not_let_in(brokerj: BrokerJ, url: str, code: int) -> None:
    fields = {name: getattr(brokerj, name) for name in ("user", "password", "host", "port")}
    with pytest.raises(EndpointClosed) as caught:
        connect("amqp://" + url.format(**fields), version=AMQP_0_10)
    assert caught.value.report is not None
    assert caught.value.report.code == code
