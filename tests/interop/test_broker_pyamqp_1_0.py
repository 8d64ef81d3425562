"""The embedded broker with azure-servicebus' pyamqp, unmodified (1.0)."""

# pyright: reportUnknownMemberType=false
from __future__ import annotations

import time
from itertools import count
from typing import Any

import pytest
from azure.servicebus._pyamqp import authentication, error
from azure.servicebus._pyamqp import client as clients
from azure.servicebus._pyamqp import message as messages

from tests.interop.brokers.declaring import dead_lettering, declare
from tests.interop.brokers.embedded import Embedded

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


class Azure:
    """Opens clients; `host` is what they take for one."""

    def __init__(self, embedded: Embedded) -> None:
        self.embedded = embedded
        self.options: dict[str, Any] = {
            "auth": SASLPlainAuth(embedded.user, embedded.password),
            "use_tls": False,
            # What it does by default, second, it doesn't carry through: it waits for the settlement of its own sends.
            "receive_settle_mode": 0,
            "max_frame_size": 4096,
            "max_message_size": 0,
            "retry_policy": RetryPolicy(retry_total=0),
        }
        self.host = f"{embedded.host}:{embedded.port}"

    def queue(self, **arguments: Any) -> str:
        name = f"pyamqp.{next(numbers)}"
        declare(self.embedded, name, arguments=arguments or None)
        return name

    def sender(self, place: str, **options: Any) -> Any:
        return SendClient(self.host, place, **{**self.options, **options})

    def receive(self, place: str, number: int, *outcomes: str) -> list[Any]:
        """Receive messages, ending each by its outcome, else accepted."""
        got: list[Any] = []
        end = time.monotonic() + 15
        with ReceiveClient(self.host, place, link_credit=2, **self.options) as client:
            while len(got) < number:
                assert time.monotonic() < end, got
                client.do_work()
                while not client._received_messages.empty():
                    frame, message = client._received_messages.get()
                    outcome = outcomes[len(got)] if len(got) < len(outcomes) else "accepted"
                    got.append(message)
                    client.settle_messages(frame[1], frame[2], outcome=outcome)
        return got


@pytest.fixture
def azure(embedded: Embedded) -> Azure:
    return Azure(embedded)


def test_sending_and_receiving(azure: Azure) -> None:
    place = azure.queue()
    with azure.sender(place) as client:
        for number in range(5):
            message = Message(
                data=[b"m%d" % number],
                properties=Properties(message_id=f"id{number}"),
                application_properties={"n": number},
            )
            client.send_message(message, timeout=10)
        client.send_message(Message(value={"a": [1, 2.5, None], "b": "text"}), timeout=10)
    got = azure.receive(place, 6)
    assert [each.data for each in got[:5]] == [[b"m%d" % number] for number in range(5)]
    assert [each.properties.message_id for each in got[:5]] == [b"id%d" % n for n in range(5)]
    assert [each.application_properties for each in got[:5]] == [{b"n": n} for n in range(5)]
    assert got[5].value == {b"a": [1, 2.5, None], b"b": b"text"}


def test_large_messages(azure: Azure) -> None:
    place = azure.queue()
    body = bytes(range(256)) * 8192
    with azure.sender(place) as client:
        client.send_message(Message(data=[body]), timeout=20)
    assert azure.receive(place, 1)[0].data == [body]


def test_settling(azure: Azure) -> None:
    dead = azure.queue()
    place = azure.queue(**dead_lettering(dead))
    with azure.sender(place) as client:
        client.send_message(Message(data=[b"again"]), timeout=10)
    got = azure.receive(place, 3, "released", "modified", "rejected")
    assert [each.data for each in got] == [[b"again"]] * 3
    assert azure.receive(dead, 1)[0].data == [b"again"]


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


def test_several_links(azure: Azure) -> None:
    places = [azure.queue() for _ in range(5)]
    for place in places:
        with azure.sender(place) as client:
            client.send_message(Message(data=[place.encode()]), timeout=10)
    assert [azure.receive(place, 1)[0].data for place in places] == [[place.encode()] for place in places]


def test_idle_connections(azure: Azure) -> None:
    place = azure.queue()
    with azure.sender(place, idle_timeout=2) as client:
        end = time.monotonic() + 4
        while time.monotonic() < end:
            client.do_work()
        client.send_message(Message(data=[b"still here"]), timeout=10)
    assert azure.receive(place, 1)[0].data == [b"still here"]
