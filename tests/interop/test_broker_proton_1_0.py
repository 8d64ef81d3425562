"""The embedded broker with python-qpid-proton, unmodified (1.0)."""

# pyright: reportUnknownMemberType=false
from collections.abc import Iterator
from itertools import count
from typing import Any

import proton
import pytest
from proton.handlers import MessagingHandler, TransactionHandler
from proton.reactor import AtMostOnce, Container, Copy, Selector
from proton.utils import BlockingConnection, LinkDetached, SendException

from tests.interop.brokers.declaring import declare
from tests.interop.brokers.embedded import Embedded

numbers = count(1)


def url_of(embedded: Embedded) -> str:
    return f"amqp://{embedded.user}:{embedded.password}@{embedded.host}:{embedded.port}"


@pytest.fixture
def blocking(embedded: Embedded) -> Iterator[BlockingConnection]:
    connection = BlockingConnection(url_of(embedded), timeout=10)
    yield connection
    connection.close()


@pytest.fixture
def queue(embedded: Embedded) -> str:
    name = f"proton.{next(numbers)}"
    declare(embedded, name)
    return name


def test_addresses(blocking: BlockingConnection, queue: str) -> None:
    receiver = blocking.create_receiver("/exchanges/amq.topic/news.%23", credit=5)
    blocking.create_sender("/exchanges/amq.topic/news.sports").send(proton.Message(body="by topic"))
    assert receiver.receive(timeout=10).body == "by topic"
    blocking.create_sender(f"/queues/{queue}").send(proton.Message(body="by queue"))
    receiver = blocking.create_receiver(queue, credit=2)
    assert receiver.receive(timeout=10).body == "by queue"
    relay = blocking.create_sender(None)
    relay.send(proton.Message(address=f"/queues/{queue}", body="by relay"))
    assert receiver.receive(timeout=10).body == "by relay"


def test_settled_and_browsed(blocking: BlockingConnection, queue: str) -> None:
    sender = blocking.create_sender(queue, options=AtMostOnce())
    for number in range(3):
        sender.send(proton.Message(body=proton.int32(number)))
    browser = blocking.create_receiver(queue, credit=3, name="browser", options=Copy())
    assert [browser.receive(timeout=10).body for _ in range(3)] == [0, 1, 2]
    receiver = blocking.create_receiver(queue, credit=3, options=AtMostOnce())
    assert [receiver.receive(timeout=10).body for _ in range(3)] == [0, 1, 2]


def test_selectors(blocking: BlockingConnection, queue: str) -> None:
    sender = blocking.create_sender(queue)
    for number in range(4):
        sender.send(proton.Message(body=number, properties={"colour": "red" if number % 2 else "green"}))
    receiver = blocking.create_receiver(queue, credit=4, options=Selector("colour = 'red'"))
    assert [receiver.receive(timeout=10).body for _ in range(2)] == [1, 3]


def test_errors(blocking: BlockingConnection, queue: str, embedded: Embedded) -> None:
    for make in (blocking.create_sender, blocking.create_receiver):
        with pytest.raises(LinkDetached) as detached:
            make("absent")
        assert detached.value.condition == "amqp:not-found"
    full = f"proton.{next(numbers)}"
    declare(embedded, full, arguments={"x-max-length": 1, "x-overflow": "reject-publish"})
    sender = blocking.create_sender(full)
    sender.send(proton.Message(body=1))
    with pytest.raises(SendException):
        sender.send(proton.Message(body=2))
    assert blocking.create_sender(queue).send(proton.Message(body=1)).remote_state == proton.Delivery.ACCEPTED


class Transacted(MessagingHandler, TransactionHandler):
    """Sends in one transaction that it aborts and one that it commits."""

    def __init__(self, url: str, queue: str) -> None:
        super().__init__()
        self.url = url
        self.queue = queue
        self.happened: list[str] = []
        self.batch = ["aborted", "committed"]
        self.sender: Any = None
        self.container: Any = None
        self.connection: Any = None

    def on_start(self, event: Any) -> None:
        self.container = event.container
        self.connection = event.container.connect(self.url, reconnect=False)
        self.sender = event.container.create_sender(self.connection, self.queue)
        self.container.declare_transaction(self.connection, handler=self)

    def on_transaction_declared(self, event: Any) -> None:
        word = self.batch.pop(0)
        event.transaction.send(self.sender, proton.Message(body=word))
        if word == "aborted":
            event.transaction.abort()
        else:
            event.transaction.commit()

    def on_transaction_aborted(self, event: Any) -> None:
        self.happened.append("aborted")
        self.container.declare_transaction(self.connection, handler=self)

    def on_transaction_committed(self, event: Any) -> None:
        self.happened.append("committed")
        self.connection.close()

    def on_transport_error(self, event: Any) -> None:
        self.happened.append(str(event.transport.condition))


def test_transactions(blocking: BlockingConnection, queue: str, embedded: Embedded) -> None:
    handler = Transacted(url_of(embedded), queue)
    Container(handler).run()
    assert handler.happened == ["aborted", "committed"]
    receiver = blocking.create_receiver(queue, credit=5)
    assert receiver.receive(timeout=10).body == "committed"
    with pytest.raises(proton.Timeout):
        receiver.receive(timeout=0.3)
