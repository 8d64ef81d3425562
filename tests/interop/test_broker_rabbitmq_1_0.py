"""The embedded broker with RabbitMQ's Python client for AMQP 1.0, unmodified: it insists on RabbitMQ 4."""

# pyright: reportUnknownMemberType=false, reportMissingTypeStubs=false
from collections.abc import Iterator
from itertools import count
from typing import Any

import pytest
import rabbitmq_amqp_python_client as rabbit
from rabbitmq_amqp_python_client.qpid.proton._utils import SendException

from tests.interop.brokers.embedded import Embedded

api: Any = rabbit
numbers = count(1)


def named(what: str) -> str:
    return f"rabbit.{what}.{next(numbers)}"


@pytest.fixture
def connection(embedded: Embedded) -> Iterator[Any]:
    environment = api.Environment(uri=f"amqp://{embedded.user}:{embedded.password}@{embedded.host}:{embedded.port}/")
    connection = environment.connection()
    connection.dial()
    yield connection
    environment.close()


@pytest.fixture
def management(connection: Any) -> Iterator[Any]:
    management = connection.management()
    yield management
    management.close()


def publish(connection: Any, address: str, *bodies: str, **changes: Any) -> list[Any]:
    publisher = connection.publisher(address)
    sent = [
        publisher.publish(api.Message(body=api.Converter.string_to_bytes(body), **changes)).remote_state
        for body in bodies
    ]
    publisher.close()
    return sent


class Enough(Exception):
    """Ends a consumer: it runs until its handler raises."""


class Taker(api.AMQPMessagingHandler):  # type: ignore[misc]
    """Takes messages, and settles each as it is told."""

    def __init__(self, count: int, settle: str) -> None:
        super().__init__()
        self.count = count
        self.settle = settle
        self.bodies: list[str] = []

    def on_amqp_message(self, event: Any) -> None:
        if len(self.bodies) == self.count:
            raise Enough
        self.bodies.append(api.Converter.bytes_to_string(event.message.body))
        getattr(self.delivery_context, self.settle)(event)
        if len(self.bodies) == self.count:
            raise Enough


def take(connection: Any, address: str, count: int, settle: str = "accept") -> list[str]:
    taker = Taker(count, settle)
    consumer = connection.consumer(address, message_handler=taker)
    with pytest.raises(Enough):
        consumer.run()
    consumer.close()
    return taker.bodies


def test_declaring_publishing_consuming(connection: Any, management: Any) -> None:
    exchange, queue = named("exchange"), named("queue")
    management.declare_exchange(api.ExchangeSpecification(name=exchange, exchange_type=api.ExchangeType.topic))
    management.declare_queue(api.QuorumQueueSpecification(name=queue))
    binding = api.ExchangeToQueueBindingSpecification(
        source_exchange=exchange, destination_queue=queue, binding_key="a.*"
    )
    path = management.bind(binding)
    address = api.AddressHelper.exchange_address(exchange, "a.b")
    accepted = api.OutcomeState.ACCEPTED
    assert publish(connection, address, *[f"m{n}" for n in range(20)]) == [accepted] * 20
    with pytest.raises(SendException):
        publish(connection, api.AddressHelper.exchange_address(exchange, "elsewhere"), "lost")
    info = management.queue_info(queue)
    assert (info.name, info.message_count, info.is_durable) == (queue, 20, True)
    found = take(connection, api.AddressHelper.queue_address(queue), 20)
    assert found == [f"m{n}" for n in range(20)]
    management.unbind(path)
    management.delete_queue(queue)
    management.delete_exchange(exchange)


def test_settling(connection: Any, management: Any) -> None:
    queue, dead = named("settling"), named("dead")
    management.declare_queue(api.ClassicQueueSpecification(name=dead))
    management.declare_queue(
        api.QuorumQueueSpecification(name=queue, dead_letter_exchange="", dead_letter_routing_key=dead)
    )
    address = api.AddressHelper.queue_address(queue)
    publish(connection, address, "one")
    assert take(connection, address, 1, "requeue") == ["one"]
    assert take(connection, address, 1, "discard") == ["one"]
    assert take(connection, api.AddressHelper.queue_address(dead), 1) == ["one"]
    publish(connection, address, "two", "three")
    assert management.purge_queue(queue) == 2


def test_names_that_want_encoding(connection: Any, management: Any) -> None:
    queue = named("with /, % and ä")
    management.declare_queue(api.ClassicQueueSpecification(name=queue))
    address = api.AddressHelper.queue_address(queue)
    publish(connection, address, "m")
    assert take(connection, address, 1) == ["m"]
    management.delete_queue(queue)


def test_a_publisher_without_address(connection: Any, management: Any) -> None:
    queue = named("relay")
    management.declare_queue(api.ClassicQueueSpecification(name=queue))
    publisher = connection.publisher()
    message = api.AddressHelper.message_to_address_helper(
        api.Message(body=api.Converter.string_to_bytes("to")), api.AddressHelper.queue_address(queue)
    )
    assert publisher.publish(message).remote_state == api.OutcomeState.ACCEPTED
    assert take(connection, api.AddressHelper.queue_address(queue), 1) == ["to"]


def test_large_messages(connection: Any, management: Any) -> None:
    queue = named("large")
    management.declare_queue(api.QuorumQueueSpecification(name=queue))
    address = api.AddressHelper.queue_address(queue)
    publish(connection, address, "x" * 2_000_000)
    assert take(connection, address, 1) == ["x" * 2_000_000]


def test_errors(connection: Any, management: Any) -> None:
    queue = named("errors")
    management.declare_queue(api.QuorumQueueSpecification(name=queue))
    with pytest.raises(api.ValidationCodeException):
        management.declare_queue(api.QuorumQueueSpecification(name=queue, max_len=5))
    with pytest.raises(api.ValidationCodeException):
        management.queue_info(named("absent"))
    with pytest.raises(Exception, match=r"not.found|no queue|not exist"):
        connection.publisher(api.AddressHelper.queue_address(named("absent")))
    management.delete_queue(queue)
