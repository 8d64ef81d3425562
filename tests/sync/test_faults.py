"""What ends at once when the server breaks a rule: every wait on what is broken off, whatever the server says then."""

from __future__ import annotations

import threading
from collections.abc import Callable
from time import monotonic
from typing import Any

import pytest

from amqp_sansio import AMQP_0_8, AMQP_0_10, AMQP_1_0, By, Closed, EndpointClosed, Version
from amqp_sansio.amqp_0_9_1 import QueueDeclare
from amqp_sansio.amqp_0_10 import QueueQuery
from amqp_sansio_sync import connect
from tests.kit.faulty_servers import CASES, FAULTS, LATE, LIMITS, SOON, FaultyServer, faulty
from tests.kit.inside import driver_of, unseen_of
from tests.kit.sync_server import wait_until

Wait = Callable[[], object]


def opened(server: FaultyServer, **options: Any) -> Any:
    """A connection that would wait long for the answer to its close."""
    return connect(server.url, version=server.version, timeout=SOON, close_timeout=LATE, limits=LIMITS, **options)


def waits_of(connection: Any, server: FaultyServer, scope: str) -> list[Wait]:
    """What may wait on a connection, when the server answers nothing."""
    if server.version is AMQP_1_0:
        session = connection.open_session(timeout=SOON)
        receiver: Any = session.open_receiver("jobs", credit=3, max_message_size=8)
        sender = session.open_sender("jobs", timeout=SOON)
        server.hold()
        if scope == "link":
            return [lambda: next(receiver), receiver.fetch, receiver.drain]
        waits: list[Wait] = [
            lambda: next(receiver),
            lambda: sender.send(b"x"),
            lambda: session.open_sender("other"),
            lambda: next(session.events()),
        ]
    elif server.version is AMQP_0_10:
        session = connection.open_session(open_timeout=SOON)
        subscription = session.subscribe("jobs", timeout=SOON)
        server.hold()
        waits = [
            lambda: next(subscription),
            lambda: session.publish(b"x", routing_key="jobs"),
            lambda: session.call(QueueQuery(queue="jobs")),
            lambda: next(session.events()),
        ]
    else:
        new = server.version is not AMQP_0_8
        channel = connection.open_channel(confirm=new, timeout=SOON)
        consumer = channel.consume("jobs", consumer_tag="c", timeout=SOON)
        consumer.timeout = None
        server.hold()
        waits = [
            lambda: [*consumer],
            lambda: channel.call(QueueDeclare("jobs") if new else connection.core.dialect.named["queue.declare"]()),
            lambda: next(channel.events()),
        ]
        if new:
            channel.publish(b"y", wait=False)
            waits += [lambda: channel.publish(b"x"), channel.wait_for_confirms]
    if scope == "connection":
        waits.append(lambda: next(connection.events()))
    return waits


@pytest.mark.parametrize(("version", "scope"), CASES, ids=lambda value: getattr(value, "label", value))
def test_what_waits_ends_at_once_with_the_fault(version: Version, scope: str) -> None:
    fault = FAULTS[version][scope]
    with faulty(version) as server:
        connection = opened(server)
        errors: list[BaseException] = []

        def guarded(wait: Wait) -> None:
            try:
                wait()
            except BaseException as error:
                errors.append(error)

        waits = waits_of(connection, server, scope)
        threads = [threading.Thread(target=guarded, args=(wait,)) for wait in waits]
        for thread in threads:
            thread.start()
        waiters = driver_of(connection)._waiters
        wait_until(lambda: len(waiters._followers) + (waiters.reader is not None) == len(waits))
        server.break_rule(fault.octets)
        for thread in threads:
            thread.join(SOON)
        assert len(errors) == len(waits)
        for error in errors:
            with pytest.raises(EndpointClosed, match=fault.words):
                raise error
        assert unseen_of(connection) == {}  # They were raised, so no context raises them again.
        connection.close(timeout=0.0)


@pytest.mark.parametrize("version", FAULTS, ids=lambda version: version.label)
def test_an_opening_ends_at_once_with_the_fault(version: Version) -> None:
    fault = FAULTS[version]["connection"]
    with faulty(version, fault.octets) as server:
        begun = monotonic()
        with pytest.raises(EndpointClosed, match=f"no connection to .*{fault.words}") as caught:
            connect(server.url, version=version, timeout=LATE, close_timeout=LATE)
        assert monotonic() - begun < SOON
        assert caught.value.report is not None
        assert caught.value.report.by is By.LOCAL
        session = server.server.session()
        session.reading = True
        session.do(lambda: None)
        wait_until(lambda: bool(session.of(Closed)))
        # The server was told why.
        assert session.of(Closed)[-1].report.by is By.REMOTE
