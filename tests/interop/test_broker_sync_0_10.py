"""The embedded broker with our own blocking client of 0-10."""

from __future__ import annotations

import time
from collections.abc import Generator
from contextlib import contextmanager
from itertools import count
from typing import Any

import pytest

from amqp_sansio import AMQP_0_10, Accepted, EndpointClosed
from amqp_sansio.amqp_0_10 import (
    NONE,
    NOT_ACQUIRED,
    ExchangeBind,
    ExchangeDeclare,
    Message,
    QueueDeclare,
    QueueDelete,
    QueueQuery,
    Rejected,
    Xid,
)
from amqp_sansio.sasl import ScramSha256
from amqp_sansio_sync import SessionEnded, ZeroTenConnection, ZeroTenSession, connect
from tests.interop.brokers.embedded import Embedded

WAIT = 20.0
numbers = count(1)


@contextmanager
def attached(embedded: Embedded, **options: Any) -> Generator[tuple[ZeroTenConnection, ZeroTenSession, str]]:
    """A connection, a session, and a queue that is deleted in the end."""
    connection = connect(embedded.url, version=AMQP_0_10, **options)
    assert isinstance(connection, ZeroTenConnection)
    with connection:
        session = connection.open_session()
        queue = f"sync.0-10.{next(numbers)}"
        session.call(QueueDeclare(queue))
        yield connection, session, queue
        connection.open_session().call(QueueDelete(queue))


def left(session: ZeroTenSession, queue: str) -> int | None:
    return session.call(QueueQuery(queue)).message_count


def test_publishing_and_consuming(embedded: Embedded) -> None:
    with attached(embedded) as (_, session, queue):
        session.call(ExchangeDeclare(f"x.{queue}", type="topic"))
        session.call(ExchangeBind(queue, f"x.{queue}", "a.#"))
        message = Message(b"hello", content_type="text/plain", application_headers={"n": 1})
        assert session.publish(message, f"x.{queue}", "a.b") == Accepted()
        assert isinstance(session.publish(b"", "amq.direct", "absent"), Rejected)
        assert session.publish(b"none", "", queue, accept_mode=NONE) is None
        with session.subscribe(queue) as subscription:
            first = subscription.fetch(timeout=WAIT)
            second = subscription.fetch(timeout=WAIT)
            assert first is not None
            assert second is not None
            assert (first.body, second.body) == (b"hello", b"none")
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


def test_a_large_message(embedded: Embedded) -> None:
    with attached(embedded, max_frame_size=4096) as (_, session, queue):
        body = bytes(range(256)) * 8192
        assert session.publish(body, "", queue) == Accepted()
        with session.subscribe(queue) as subscription:
            received = subscription.fetch(timeout=WAIT)
            assert received is not None
            assert received.body == body
            received.accept()


def test_browsing_and_acquiring(embedded: Embedded) -> None:
    with attached(embedded) as (_, session, queue):
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


def test_transactions(embedded: Embedded) -> None:
    with attached(embedded) as (connection, plain, queue):
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
        xid = Xid(7, b"embedded-%d" % next(numbers), b"branch")
        with other.branch(xid) as branch:
            other.publish(b"distributed", "", queue, wait=False)
        branch.prepare()
        assert xid in other.recover()
        assert left(plain, queue) == 1
        branch.commit()
        assert left(plain, queue) == 2


def test_what_ends_a_session(embedded: Embedded) -> None:
    with attached(embedded) as (connection, session, queue):
        failing = connection.open_session()
        with pytest.raises(SessionEnded) as caught:
            failing.subscribe("absent")
        assert (caught.value.code, caught.value.condition) == (404, "not-found")
        failing = connection.open_session()
        with session.subscribe(queue):
            with pytest.raises(SessionEnded) as caught:
                failing.subscribe(queue, exclusive=True)
            assert caught.value.code in (403, 405)


def test_heartbeats(embedded: Embedded) -> None:
    with attached(embedded, heartbeat=1) as (connection, session, _):
        time.sleep(3)
        assert connection.is_open
        session.sync()


def test_who_is_let_in(embedded: Embedded) -> None:
    scram = ScramSha256(embedded.user, embedded.password, "fyko+d2lbbFgONRv9qkxdawL")
    with connect(embedded.url, version=AMQP_0_10, sasl=scram) as connection:
        assert isinstance(connection, ZeroTenConnection)
        connection.open_session().sync()
    for url in (f"guest:wrong@{embedded.host}:{embedded.port}/", f"guest:guest@{embedded.host}:{embedded.port}/absent"):
        with pytest.raises(EndpointClosed) as caught:
            connect(f"amqp://{url}", version=AMQP_0_10)
        assert caught.value.report is not None
        assert caught.value.report.code in (320, 402)
