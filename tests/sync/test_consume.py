"""Consumers: deliveries and what becomes of them, bounds, and how an iteration ends."""

from __future__ import annotations

import copy
import gc
import itertools
import os
import pickle
import subprocess
import sys
import threading
from collections import deque
from pathlib import Path
from time import sleep

import pytest

from amqp_sansio import By, EndpointClosed, Event
from amqp_sansio.amqp_0_9_1 import BasicCancel, BasicProperties, BasicQos, MethodReceived, QueueDeclare, Request
from amqp_sansio.client import inbox
from amqp_sansio_sync import Channel, Connection, ConsumerEnded, connect
from amqp_sansio_sync.transport import Transport
from tests.kit.inside import driver_of
from tests.kit.sync_server import WAIT, Item, Server, Session, is_method, running, wait_until

ROOT = Path(__file__).resolve().parents[2]


def fill(server: Server, count: int, size: int = 1) -> None:
    """Put messages into the queue "jobs"."""
    server.queues["jobs"] = deque([Item("", "jobs", b"\0\0", (b"%d" % n).ljust(size)) for n in range(count)])


def settlements(server: Server) -> list[str]:
    """The names of the settling methods that came."""
    methods = [event.method for event in server.session().of(MethodReceived)]
    return [method.NAME for method in methods if method.NAME.startswith("basic.")]


@pytest.fixture
def channel(connection: Connection) -> Channel:
    """A channel of `connection`."""
    return connection.open_channel()


def test_a_consumer_iterates_over_its_deliveries(server: Server, channel: Channel) -> None:
    channel.call(QueueDeclare("jobs"))
    properties = BasicProperties(correlation_id="7", headers={"a": [1, True]})
    channel.publish(b"first", routing_key="jobs", properties=properties)
    channel.publish(b"second", routing_key="jobs")
    with channel.consume("jobs", timeout=WAIT) as deliveries:
        delivery = next(deliveries)
        assert delivery.body == b"first"
        assert delivery.properties.correlation_id == "7"
        assert delivery.properties.headers == {"a": [1, True]}
        assert (delivery.exchange, delivery.routing_key) == ("", "jobs")
        assert not delivery.redelivered
        assert delivery.consumer_tag == deliveries.consumer_tag
        assert delivery.message_count is None
        assert "channel 1, exchange '', routing key 'jobs', 5 octets" in repr(delivery)
        delivery.accept()
        assert iter(deliveries) is deliveries
        assert next(deliveries).body == b"second"


def test_each_settlement_reaches_the_server(server: Server, channel: Channel) -> None:
    fill(server, 5)
    with channel.consume("jobs", timeout=WAIT) as deliveries:
        one, two, three, four, five = (next(deliveries) for _ in range(5))
        one.accept()
        two.reject()
        four.accept(multiple=True)
        five.release()
        again = next(deliveries)
        assert (again.body, again.redelivered) == (five.body, True)
        again.accept()
        wait_until(lambda: len(settlements(server)) == 5)
    assert three.body == b"2"
    names = ["basic.ack", "basic.reject", "basic.ack", "basic.reject", "basic.ack"]
    assert settlements(server) == names


def test_settlements_go_together_while_more_deliveries_wait(
    server: Server, channel: Channel, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One write for each would be most of what a consumer costs."""
    fill(server, 500)
    writes: list[int] = []
    whole = Transport.write

    def counting(transport: Transport, octets: bytes | memoryview) -> int:
        writes.append(len(octets))
        return whole(transport, octets)

    with channel.consume("jobs", prefetch=500, timeout=WAIT) as deliveries:
        taken = [next(deliveries)]
        channel.call(QueueDeclare("other"))  # its answer comes behind the deliveries
        assert len(deliveries._items) == 499  # pyright: ignore[reportPrivateUsage]
        monkeypatch.setattr(Transport, "write", counting)
        for delivery in itertools.islice(deliveries, 499):
            taken[-1].accept()
            taken.append(delivery)
        taken[-1].accept()
        wait_until(lambda: len(settlements(server)) == 500)
    assert len(writes) < 250


@pytest.mark.parametrize("another_waits", [False, True])
def test_a_settlement_is_told_though_the_application_stops(
    server: Server, channel: Channel, another_waits: bool
) -> None:
    fill(server, 3)
    server.queues["nothing"] = deque()
    other = channel.consume("nothing", timeout=None)
    waiting = threading.Thread(target=lambda: next(other, None), daemon=True)
    if another_waits:
        waiting.start()
    deliveries = channel.consume("jobs", prefetch=3, timeout=WAIT)
    one = next(deliveries)
    channel.call(QueueDeclare("other"))  # its answer comes behind the deliveries
    assert len(deliveries._items) == 2  # pyright: ignore[reportPrivateUsage]
    one.accept()
    # Two are there already, and nobody calls anything any more.
    wait_until(lambda: settlements(server) == ["basic.ack"])
    # The keeper's haste is over soon.
    wait_until(lambda: not driver_of(channel)._hurried)
    deliveries.close()
    other.close()
    if another_waits:
        waiting.join(WAIT)
        assert not waiting.is_alive()


FORGETFUL = """
import sys
from amqp_sansio.amqp_0_9_1 import QueueDeclare
from amqp_sansio_sync import connect, keeper, wire

wire.SOON = 60.0                            # nothing but the end tells it
channel = connect(sys.argv[1]).open_channel()
deliveries = channel.consume("jobs", prefetch=5)
one = next(deliveries)
channel.call(QueueDeclare("other"))         # its answer comes behind the deliveries
keeper.Keeper.ring = lambda self: None
one.accept()
"""


def test_a_program_that_closes_nothing_tells_what_was_put_off(server: Server) -> None:
    fill(server, 5)
    folders = [ROOT, ROOT / "adapters" / "sync"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(folder) for folder in folders])}
    subprocess.run([sys.executable, "-c", FORGETFUL, server.url], env=environment, timeout=60, check=True)
    wait_until(lambda: settlements(server) == ["basic.ack"])


def test_the_prefetch_bounds_what_is_under_way(server: Server, channel: Channel) -> None:
    fill(server, 10)
    with channel.consume("jobs", prefetch=3, timeout=WAIT) as deliveries:
        taken = [next(deliveries) for _ in range(3)]
        deliveries.timeout = 0.05
        with pytest.raises(TimeoutError, match="a delivery from 'jobs': not within"):
            next(deliveries)
        assert len(server.queues["jobs"]) == 7
        deliveries.timeout = WAIT
        taken[0].accept()
        assert next(deliveries).body == b"3"
    requests = [event.method for event in server.session().of(Request)]
    assert BasicQos(0, 3, False) in requests


def test_without_a_prefetch_none_is_asked_for(server: Server, channel: Channel) -> None:
    fill(server, 10)
    with channel.consume("jobs", prefetch=None, timeout=WAIT) as deliveries:
        assert [next(deliveries).body for _ in range(10)] == [b"%d" % n for n in range(10)]
    assert not any(is_method(event, "basic.qos") for event in server.session().events)


def test_leaving_gives_back_what_was_not_taken(server: Server, channel: Channel) -> None:
    fill(server, 10)
    with channel.consume("jobs", prefetch=5, timeout=WAIT) as deliveries:
        next(deliveries).accept()
    wait_until(lambda: len(server.queues["jobs"]) == 9)
    assert list(deliveries) == []
    bodies = [item.body for item in server.queues["jobs"]]
    assert sorted(bodies) == [b"%d" % n for n in range(1, 10)]
    deliveries.close()


def test_dropping_a_consumer_cancels_it_and_gives_back(server: Server, channel: Channel) -> None:
    fill(server, 10)
    for delivery in channel.consume("jobs", prefetch=5, timeout=WAIT):
        delivery.accept()
        break
    gc.collect()
    wait_until(lambda: any(is_method(event, "basic.cancel") for event in server.session().events))
    channel.call(QueueDeclare("jobs"))
    wait_until(lambda: len(server.queues["jobs"]) == 9)


def test_cancel_keeps_what_has_come(server: Server, channel: Channel) -> None:
    fill(server, 3)
    deliveries = channel.consume("jobs", timeout=WAIT)
    next(deliveries).accept()
    deliveries.cancel()
    rest = list(deliveries)
    assert [each.body for each in rest] == [b"1", b"2"]
    for each in rest:
        each.accept()
    assert list(deliveries) == []


def test_cancelling_by_a_call_ends_the_iteration(server: Server, channel: Channel) -> None:
    fill(server, 1)
    deliveries = channel.consume("jobs", consumer_tag="mine", timeout=WAIT)
    assert next(deliveries).consumer_tag == "mine"
    channel.call(BasicCancel("mine"))
    assert list(deliveries) == []


def test_without_acknowledgement_what_has_come_outlives_the_consumer(server: Server, channel: Channel) -> None:
    fill(server, 3)
    deliveries = channel.consume("jobs", no_ack=True, timeout=WAIT)
    assert next(deliveries).body == b"0"
    deliveries.cancel()
    assert [each.body for each in deliveries] == [b"1", b"2"]
    assert not any(is_method(event, "basic.qos") for event in server.session().events)


def test_a_consumer_of_a_missing_queue_is_refused(channel: Channel) -> None:
    with pytest.raises(EndpointClosed, match="404 NOT_FOUND - no queue 'none'"):
        channel.consume("none")


def test_a_consumer_that_starts_too_late_is_cancelled() -> None:
    held: list[Event] = []

    def hold(session: Session, event: Event) -> bool:
        if is_method(event, "basic.consume") and not held:
            held.append(event)
            return True
        return False

    with running(script=hold) as server, connect(server.url) as connection:
        fill(server, 3)
        channel = connection.open_channel()
        with pytest.raises(TimeoutError, match=r"basic\.consume"):
            channel.consume("jobs", timeout=0.05)
        session = server.session()
        session.do(lambda: session.handle(held[0]))
        channel.call(QueueDeclare("jobs"))
        wait_until(lambda: any(is_method(event, "basic.cancel") for event in session.events))
        wait_until(lambda: [item.redelivered for item in server.queues["jobs"]] == [True] * 3)


def test_the_server_cancels(server: Server, channel: Channel) -> None:
    fill(server, 2)
    deliveries = channel.consume("jobs", timeout=WAIT)
    session = server.session()
    next(deliveries).accept()
    cancel = BasicCancel(deliveries.consumer_tag, no_wait=True)
    session.do(lambda: session.core.channel(1).call(cancel))
    next(deliveries).accept()
    with pytest.raises(ConsumerEnded, match="the server cancelled the consumer") as caught:
        next(deliveries)
    with pytest.raises(ConsumerEnded, match="the server cancelled the consumer"):
        next(deliveries)
    assert caught.value.consumer_tag == deliveries.consumer_tag
    assert caught.value.report is not None
    assert caught.value.report.by is By.REMOTE
    assert channel.is_open
    deliveries.close()
    for error in (copy.copy(caught.value), pickle.loads(pickle.dumps(caught.value))):
        assert (str(error), error.report) == (str(caught.value), caught.value.report)


def test_an_iteration_ends_with_the_reason_of_its_channel(server: Server, channel: Channel) -> None:
    fill(server, 3)
    deliveries = channel.consume("jobs", timeout=WAIT)
    session = server.session()
    taken = next(deliveries)
    session.do(lambda: session.core.channel(1).close(406, "PRECONDITION_FAILED - timeout"))
    with pytest.raises(EndpointClosed, match="406 PRECONDITION_FAILED - timeout") as caught:
        for _ in deliveries:
            sleep(0.06)
    assert caught.value.report is not None
    assert taken.delivery_tag in caught.value.report.unsettled
    with pytest.raises(EndpointClosed, match="406"):
        taken.accept()


def test_an_iteration_ends_with_the_connection(server: Server, channel: Channel) -> None:
    fill(server, 0)
    deliveries = channel.consume("jobs", timeout=WAIT)
    timer = threading.Timer(0.05, server.session().drop)
    timer.start()
    with pytest.raises(EndpointClosed) as caught:
        next(deliveries)
    timer.join()
    assert caught.value.report is not None
    assert caught.value.report.by is By.TRANSPORT
    assert "reset by peer" in str(caught.value)


def test_an_iteration_in_another_thread_ends_when_the_connection_is_closed(
    server: Server, connection: Connection
) -> None:
    fill(server, 0)
    channel = connection.open_channel()
    deliveries = channel.consume("jobs")
    reasons: list[BaseException] = []

    def consume() -> None:
        try:
            next(deliveries)
        except StopIteration as end:
            reasons.append(end)

    thread = threading.Thread(target=consume)
    thread.start()
    sleep(0.05)
    connection.close()
    thread.join(WAIT)
    assert not thread.is_alive()
    assert len(reasons) == 1


def test_two_threads_share_a_consumer(server: Server, channel: Channel) -> None:
    fill(server, 200)
    deliveries = channel.consume("jobs", prefetch=7, timeout=0.5)
    bodies: list[bytes] = []

    def consume() -> None:
        try:
            for delivery in deliveries:
                bodies.append(delivery.body)
                delivery.accept()
        except TimeoutError:
            return

    threads = [threading.Thread(target=consume) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(WAIT)
    assert sorted(bodies) == sorted(b"%d" % n for n in range(200))
    deliveries.close()


def test_two_consumers_on_one_channel(server: Server, channel: Channel) -> None:
    fill(server, 4)
    server.queues["more"] = deque([Item("", "more", b"\0\0", b"m")])
    with channel.consume("jobs", timeout=WAIT) as jobs, channel.consume("more", timeout=WAIT) as more:
        assert next(more).body == b"m"
        assert [next(jobs).body for _ in range(4)] == [b"0", b"1", b"2", b"3"]
    assert jobs.consumer_tag != more.consumer_tag


def test_a_consumer_without_a_bound_that_falls_behind_is_ended(
    server: Server, channel: Channel, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(server, 500)
    deliveries = channel.consume("jobs", prefetch=0, buffer=10, timeout=WAIT)
    for _ in range(20):  # the replies are behind the deliveries
        channel.call(QueueDeclare("jobs"))
    taken: list[bytes] = []
    with pytest.raises(ConsumerEnded, match="fell behind, 160 deliveries wait"):
        for delivery in deliveries:
            taken.append(delivery.body)
            delivery.accept()
    assert len(taken) == 160
    channel.call(QueueDeclare("jobs"))
    wait_until(lambda: len(server.queues["jobs"]) == 340)


def test_big_messages_fill_a_feed_by_their_octets(server: Server, channel: Channel) -> None:
    count = inbox.FULL_OCTETS // 1_000_000 + 2
    fill(server, count, 1_000_000)
    deliveries = channel.consume("jobs", no_ack=True, timeout=WAIT)
    driver = driver_of(channel)
    channel.call(QueueDeclare("jobs"))
    wait_until(lambda: _look(channel) and driver.client.full == 1)
    assert sum(len(next(deliveries).body) for _ in range(count)) == count * 1_000_000
    assert driver.client.full == 0
    deliveries.close()


def _look(channel: Channel) -> bool:
    sleep(0.06)
    channel.call(QueueDeclare("jobs"))
    return True
