"""One broker, one port, clients of four versions at the same time: what one publishes the others get."""

# pyright: reportUnknownMemberType=false, reportMissingTypeStubs=false
from collections.abc import Iterator
from itertools import count
from typing import Any

import pika
import proton
import pytest
from proton.utils import BlockingConnection

from amqp_sansio import AMQP_0_8, AMQP_0_10
from amqp_sansio.amqp_0_8 import BasicProperties
from amqp_sansio.amqp_0_10 import Message
from amqp_sansio_sync import Connection, amqp_0_10, connect
from tests.interop.brokers.declaring import declare
from tests.interop.brokers.embedded import Embedded

BODY = b"from one to all"
VERSIONS = ("0-8", "0-9-1", "0-10", "1.0")
WAIT = 10.0
numbers = count(1)


class Clients:
    """A connection of each version: our own for 0-8 and 0-10, pika and proton for the others."""

    def __init__(self, embedded: Embedded) -> None:
        old = connect(embedded.url, version=AMQP_0_8)
        assert isinstance(old, Connection)
        self.old = old
        self.channel_0_8 = old.open_channel()
        self.pika: Any = pika.BlockingConnection(pika.ConnectionParameters(embedded.host, embedded.port))
        self.channel_0_9_1 = self.pika.channel()
        new = connect(embedded.url, version=AMQP_0_10)
        assert isinstance(new, amqp_0_10.Connection)
        self.new = new
        self.session = new.open_session()
        address = f"{embedded.user}:{embedded.password}@{embedded.host}:{embedded.port}"
        self.proton: Any = BlockingConnection(f"amqp://{address}", timeout=WAIT)

    def close(self) -> None:
        for each in (self.old, self.pika, self.new, self.proton):
            each.close()

    def send(self, version: str, queue: str, number: int) -> None:
        """Publish the body with a number in its headers; when it returns the broker has it."""
        if version == "0-8":
            properties = BasicProperties(content_type="text/plain", headers={"n": number})
            self.channel_0_8.publish(BODY, routing_key=queue, properties=properties)
            # 0-8 has no confirms: an answer comes after what was sent before.
            assert self.channel_0_8.get(queue + ".none") is None
        elif version == "0-9-1":
            given = pika.BasicProperties(content_type="text/plain", headers={"n": number})
            self.channel_0_9_1.basic_publish("", queue, BODY, given)
            self.channel_0_9_1.queue_declare(queue, passive=True)
        elif version == "0-10":
            message = Message(BODY, content_type="text/plain", application_headers={"n": number})
            self.session.publish(message, "", queue)
        else:
            described = proton.Message(body=BODY, inferred=True, content_type="text/plain", properties={"n": number})
            sender = self.proton.create_sender(queue)
            sender.send(described)
            sender.close()

    def take(self, version: str, queue: str) -> tuple[bytes, Any, Any]:
        """A message of a queue: body, content type, number."""
        headers: Any
        if version == "0-8":
            delivery = self.channel_0_8.get(queue)
            assert delivery is not None
            headers = delivery.properties.headers or {}
            delivery.accept()
            return delivery.body, delivery.properties.content_type, headers["n"]
        if version == "0-9-1":
            method, properties, body = self.channel_0_9_1.basic_get(queue)
            self.channel_0_9_1.basic_ack(method.delivery_tag)
            return body, properties.content_type, properties.headers["n"]
        if version == "0-10":
            with self.session.subscribe(queue) as subscription:
                received = subscription.fetch(timeout=WAIT)
                assert received is not None
                headers = received.message_properties.application_headers or {}
                received.accept()
                self.session.sync()
            return received.body, received.message_properties.content_type, headers["n"]
        receiver = self.proton.create_receiver(queue, credit=1)
        message: Any = receiver.receive(timeout=WAIT)
        receiver.accept()
        receiver.close()
        return bytes(message.body), message.content_type, message.properties["n"]


@pytest.fixture(scope="module")
def clients(embedded: Embedded) -> Iterator[Clients]:
    clients = Clients(embedded)
    yield clients
    clients.close()


@pytest.mark.parametrize("receiving", VERSIONS)
@pytest.mark.parametrize("sending", VERSIONS)
def test_any_version_to_any(clients: Clients, embedded: Embedded, sending: str, receiving: str) -> None:
    number = next(numbers)
    queue = f"versions.{number}"
    declare(embedded, queue, f"{queue}.none")
    clients.send(sending, queue, number)
    assert clients.take(receiving, queue) == (BODY, "text/plain", number)
