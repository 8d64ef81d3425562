"""azure-servicebus' pyamqp, unmodified (1.0), with the embedded broker, and with nodes on the core and on rhea."""

# pyright: reportUnknownMemberType=false
import time
from collections.abc import Callable
from itertools import count
from typing import Any

import pytest
from azure.servicebus._pyamqp import authentication, error
from azure.servicebus._pyamqp import client as clients
from azure.servicebus._pyamqp import message as messages

from tests.interop.brokers.declaring import declare
from tests.interop.brokers.embedded import Embedded
from tests.kit.node_1_0 import ServerNode

# Its types aren't whole.
SASLPlainAuth: Any = authentication.SASLPlainAuth
SendClient: Any = clients.SendClient
ReceiveClient: Any = clients.ReceiveClient
Message: Any = messages.Message
Properties: Any = messages.Properties
AMQPLinkError: Any = error.AMQPLinkError
MessageSendFailed: Any = error.MessageSendFailed
RetryPolicy: Any = error.RetryPolicy

numbers = count(1)
pytestmark = pytest.mark.usefixtures("sound")


class Azure:
    """Opens clients; `host` is what they take for one. `embedded` is the broker that has to declare queues first."""

    def __init__(self, host: str, embedded: Embedded | None = None) -> None:
        self.host = host
        self.embedded = embedded
        self.options: dict[str, Any] = {
            "auth": SASLPlainAuth("guest", "guest"),
            "use_tls": False,
            # What it does by default, second, it doesn't carry through: it waits for the settlement of its own sends.
            "receive_settle_mode": 0,
            "max_frame_size": 4096,
            "max_message_size": 0,
            "retry_policy": RetryPolicy(retry_total=0),
        }

    def queue(self, **arguments: Any) -> str:
        """An address nobody else uses; a node has a queue for it once it is named."""
        name = f"pyamqp.{next(numbers)}"
        if self.embedded is not None:
            declare(self.embedded, name, arguments=arguments or None)
        return name

    def sender(self, place: str, **options: Any) -> Any:
        return SendClient(self.host, place, **{**self.options, **options})

    def receive(self, place: str, number: int, *outcomes: dict[str, Any]) -> list[Any]:
        """Receive messages, ending each by its outcome, else accepted."""
        got: list[Any] = []
        accepted: dict[str, Any] = {"outcome": "accepted"}
        end = time.monotonic() + 15
        with ReceiveClient(self.host, place, link_credit=2, **self.options) as client:
            while len(got) < number:
                assert time.monotonic() < end, got
                client.do_work()
                while not client._received_messages.empty():
                    frame, message = client._received_messages.get()
                    outcome = outcomes[len(got)] if len(got) < len(outcomes) else accepted
                    got.append(message)
                    client.settle_messages(frame[1], frame[2], **outcome)
        return got


@pytest.fixture
def azure(embedded: Embedded) -> Azure:
    return Azure(f"{embedded.host}:{embedded.port}", embedded)


@pytest.fixture(params=("core", "rhea"))
def on_node(request: pytest.FixtureRequest) -> Azure:
    return Azure(f"127.0.0.1:{request.getfixturevalue(request.param).port}")


@pytest.fixture(params=("embedded", "core", "rhea"))
def anywhere(request: pytest.FixtureRequest) -> Azure:
    node = request.getfixturevalue(request.param)
    return Azure(f"127.0.0.1:{node.port}", node if isinstance(node, Embedded) else None)


def test_sending_and_receiving(anywhere: Azure) -> None:
    place = anywhere.queue()
    with anywhere.sender(place) as client:
        for number in range(5):
            message = Message(
                data=[b"m%d" % number],
                properties=Properties(message_id=f"id{number}"),
                application_properties={"n": number},
            )
            client.send_message(message, timeout=10)
        client.send_message(Message(value={"a": [1, 2.5, None], "b": "text"}), timeout=10)
    got = anywhere.receive(place, 6)
    assert [each.data for each in got[:5]] == [[b"m%d" % number] for number in range(5)]
    assert [each.properties.message_id for each in got[:5]] == [b"id%d" % n for n in range(5)]
    assert [each.application_properties for each in got[:5]] == [{b"n": n} for n in range(5)]
    assert got[5].value == {b"a": [1, 2.5, None], b"b": b"text"}


def test_large_messages(anywhere: Azure) -> None:
    place = anywhere.queue()
    body = bytes(range(256)) * (8192 if anywhere.embedded else 4096)
    with anywhere.sender(place) as client:
        client.send_message(Message(data=[body]), timeout=20)
    assert anywhere.receive(place, 1)[0].data == [body]


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_errors(azure: Azure) -> None:
    full = azure.queue(**{"x-max-length": 1, "x-overflow": "reject-publish"})
    with azure.sender(full) as client:
        client.send_message(Message(data=[b"one"]), timeout=10)
        with pytest.raises(MessageSendFailed):
            client.send_message(Message(data=[b"two"]), timeout=10)
    with azure.sender("absent") as client, pytest.raises(AMQPLinkError, match="absent"):
        client.send_message(Message(data=[b"no"]), timeout=10)
    with (
        pytest.raises(ValueError, match="SASL negotiation failed"),
        azure.sender(full, auth=SASLPlainAuth("guest", "wrong")) as client,
    ):
        client.send_message(Message(data=[b"no"]), timeout=10)


def test_idle_connections(azure: Azure) -> None:
    place = azure.queue()
    with azure.sender(place, idle_timeout=2) as client:
        end = time.monotonic() + 4
        while time.monotonic() < end:
            client.do_work()
        client.send_message(Message(data=[b"still here"]), timeout=10)
    assert azure.receive(place, 1)[0].data == [b"still here"]


# Nodes.


def test_settling_on_a_node(core: ServerNode) -> None:
    azure = Azure(f"127.0.0.1:{core.port}")
    place = azure.queue()
    with azure.sender(place) as client:
        client.send_message(Message(data=[b"again"]), timeout=10)
    modified = {"outcome": "modified", "delivery_failed": True, "message_annotations": {b"x-opt-a": 1}}
    got = azure.receive(place, 3, {"outcome": "released"}, modified, {"outcome": "rejected"})
    assert [each.data for each in got] == [[b"again"]] * 3
    assert [each.header.delivery_count if each.header else None for each in got][2] == 1
    assert azure.receive(f"dead.{place}", 1)[0].data == [b"again"]


# It keeps its sockets when it is refused.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_errors_of_a_node(on_node: Azure) -> None:
    with on_node.sender("rejecting") as client, pytest.raises(MessageSendFailed, match="never here"):
        client.send_message(Message(data=[b"no"]), timeout=10)
    with on_node.sender("absent") as client, pytest.raises(AMQPLinkError, match="no such node"):
        client.send_message(Message(data=[b"no"]), timeout=10)
    with (
        pytest.raises(ValueError, match="SASL negotiation failed"),
        on_node.sender(on_node.queue(), auth=SASLPlainAuth("guest", "wrong")) as client,
    ):
        client.send_message(Message(data=[b"no"]), timeout=10)


# With rhea's node behind it the client now and then loses one of two deliveries that come together.
@pytest.mark.parametrize("on_node", ["core"], indirect=True)
def test_sending_settled(on_node: Azure) -> None:
    place = on_node.queue()
    with on_node.sender(place, send_settle_mode=1) as client:
        _until(client.client_ready)
        for number in range(3):
            # send_message would wait for an answer.
            client._link.send_transfer(Message(data=[b"%d" % number]))
        _until(lambda: not client._link._pending_deliveries)
    assert [each.data for each in on_node.receive(place, 3)] == [[b"0"], [b"1"], [b"2"]]


def _until(done: Callable[[], bool]) -> None:
    """Call until it's true."""
    end = time.monotonic() + 15
    while not done():
        assert time.monotonic() < end
