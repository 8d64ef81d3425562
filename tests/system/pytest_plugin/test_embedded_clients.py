"""Clients of every version at the embedded broker: blocking, asyncio, and of other libraries."""

import asyncio
import subprocess
import sys
from typing import Any

import pytest

import amqp_sansio_asyncio as aio
from amqp_sansio import AMQP_0_8, AMQP_0_9_1, AMQP_0_10, AMQP_1_0, Accepted, Version
from amqp_sansio.amqp_0_8.spec import QueueDeclare as OldQueueDeclare
from amqp_sansio.amqp_0_9_1 import BasicProperties
from amqp_sansio.amqp_0_9_1.spec import QueueDeclare
from amqp_sansio.amqp_0_10 import Message as ZeroTenMessage
from amqp_sansio.amqp_0_10 import MessageProperties
from amqp_sansio.amqp_1_0 import Accepted as Outcome
from amqp_sansio.amqp_1_0 import Header, Message
from amqp_sansio_pytest import EmbeddedBroker
from amqp_sansio_sync import connect

JOBS = {"queues": ["jobs"]}
VERSIONS = (AMQP_0_8, AMQP_0_9_1, AMQP_0_10, AMQP_1_0)


def send(url: str, version: Version, body: bytes, headers: dict[str, Any]) -> None:
    """Send a message to the queue "jobs" by a blocking client of a version."""
    opened: Any = connect(url, version=version)
    with opened as connection:
        if version is AMQP_1_0:
            message = Message(body=body, application_properties=headers, header=Header(durable=True))
            with connection.open_session() as session, session.open_sender("jobs") as sender:
                assert isinstance(sender.send(message), Outcome)
        elif version is AMQP_0_10:
            properties = MessageProperties(application_headers=headers)
            session = connection.open_session()
            outcome = session.publish(ZeroTenMessage(body, message_properties=properties, routing_key="jobs"))
            assert outcome == Accepted()
        else:
            channel = connection.open_channel()
            channel.publish(body, routing_key="jobs", properties=BasicProperties(headers=headers))


def take(url: str, version: Version) -> bytes:
    """Take a message from the queue "jobs" and accept it, by a blocking client of a version."""
    opened: Any = connect(url, version=version)
    with opened as connection:
        if version is AMQP_1_0:
            with connection.open_session() as session, session.open_receiver("jobs", credit=1) as receiver:
                delivery = next(receiver)
                body: bytes = delivery.message.body
                delivery.accept()
            return body
        if version is AMQP_0_10:
            session = connection.open_session()
            with session.subscribe("jobs") as subscription:
                message = next(subscription)
                message.accept()
                octets: bytes = message.body
            return octets
        channel = connection.open_channel()
        with channel.consume("jobs", prefetch=1) as consumer:
            found = next(consumer)
            found.accept()
            data: bytes = found.body
        return data


@pytest.mark.parametrize("consumed", VERSIONS, ids=lambda version: version.label)
@pytest.mark.parametrize("published", VERSIONS, ids=lambda version: version.label)
@pytest.mark.amqp_broker(definitions=JOBS)
def test_every_version_in_and_out(amqp_broker: EmbeddedBroker, published: Version, consumed: Version) -> None:
    send(amqp_broker.url, published, b"hello", {"kind": "greeting"})
    (stored,) = amqp_broker.messages("jobs")
    assert (stored.body, stored.headers, stored.state) == (b"hello", {"kind": "greeting"}, "available")
    assert stored.content.version is published
    assert take(amqp_broker.url, consumed) == b"hello"
    amqp_broker.wait_for(lambda broker: not broker.messages("jobs"))
    history = amqp_broker.history
    history.assert_published(queue="jobs", body="hello", headers={"kind": "greeting"}, user="guest", count=1)
    history.assert_accepted(queue="jobs", count=1)


def test_clients_in_an_event_loop(amqp_broker: EmbeddedBroker) -> None:
    async def run() -> list[bytes]:
        async with aio.connect(amqp_broker.url) as connection:
            channel = await connection.open_channel()
            await channel.call(QueueDeclare("jobs", durable=True))
            for number in range(3):
                await channel.publish(str(number).encode(), routing_key="jobs", mandatory=True)
            await asyncio.to_thread(amqp_broker.history.wait_for, "routed", count=3)
            # Between two awaits the broker may be asked: it runs in its own thread.
            assert amqp_broker.queue("jobs").ready == 3
            bodies: list[bytes] = []
            async for delivery in channel.consume("jobs", prefetch=1):
                bodies.append(delivery.body)
                await delivery.accept()
                if len(bodies) == 3:
                    break
            await asyncio.to_thread(amqp_broker.history.wait_for, "accepted", count=3)
            return bodies

    assert asyncio.run(run()) == [b"0", b"1", b"2"]


def test_a_client_of_1_0_in_an_event_loop(amqp_broker: EmbeddedBroker) -> None:
    async def run() -> object:
        async with aio.connect(amqp_broker.url, version=AMQP_1_0) as connection:
            session = await connection.open_session()
            async with session.open_sender("jobs") as sender:
                await sender.send(Message(body="a text"))
            async with session.open_receiver("jobs", credit=1) as receiver:
                async for delivery in receiver:
                    await delivery.accept()
                    return delivery.message.body
        return None

    amqp_broker.preload(JOBS)
    assert asyncio.run(run()) == "a text"
    # The body of a value is its text.
    amqp_broker.history.assert_accepted(body="a text", count=1)


def test_a_client_in_another_process(amqp_broker: EmbeddedBroker) -> None:
    program = """
import sys
from amqp_sansio.amqp_0_9_1.spec import QueueDeclare
from amqp_sansio_sync import connect

with connect(sys.argv[1]) as connection:
    channel = connection.open_channel()
    channel.call(QueueDeclare("jobs", durable=True))
    channel.publish(b"from afar", routing_key="jobs", mandatory=True)
"""
    subprocess.run([sys.executable, "-c", program, amqp_broker.url], check=True, timeout=60)
    assert [each.body for each in amqp_broker.messages("jobs")] == [b"from afar"]


def test_old_clients_see_old_words(amqp_broker: EmbeddedBroker) -> None:
    with connect(amqp_broker.url, version=AMQP_0_8) as connection:
        channel = connection.open_channel()
        assert channel.call(OldQueueDeclare(queue="jobs", durable=True)).message_count == 0
        assert amqp_broker.connections[0].version is AMQP_0_8


def test_pika(amqp_broker: EmbeddedBroker) -> None:
    pika: Any = pytest.importorskip("pika")
    connection = pika.BlockingConnection(pika.URLParameters(amqp_broker.url))
    channel = connection.channel()
    channel.queue_declare("jobs", arguments={"x-message-ttl": 60_000}, durable=True)
    channel.confirm_delivery()
    channel.basic_publish("", "jobs", b"hello")
    got, _, body = channel.basic_get("jobs")
    assert body == b"hello"
    assert amqp_broker.queue("jobs").unsettled == 1
    channel.basic_nack(got.delivery_tag, requeue=True)
    # What was sent before is dealt with before the clock moves.
    amqp_broker.clock.advance(30)
    assert amqp_broker.queue("jobs").ready == 1
    assert amqp_broker.messages("jobs")[0].redelivered
    amqp_broker.clock.advance(30)
    assert amqp_broker.queue("jobs").ready == 0
    amqp_broker.history.assert_expired(body="hello")
    connection.close()
