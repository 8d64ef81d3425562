"""pyamqp, the client within Azure's SDKs, as a client under test, in 1.0. It has no requests, and no plain connection.

Run `amqp-sansio probe --client 'python -m examples.probe.azure_client'`.
"""

from __future__ import annotations

import time
from importlib import import_module
from typing import Any
from urllib.parse import urlsplit

from examples.probe.shim import Wanted, cannot, closed, published, received, say, wanted

_PACKAGE = "azure.servicebus._pyamqp"
client: Any = import_module(f"{_PACKAGE}.client")
authentication: Any = import_module(f"{_PACKAGE}.authentication")
error: Any = import_module(f"{_PACKAGE}.error")
message: Any = import_module(f"{_PACKAGE}.message")


def keep_open(told: Wanted, host: str, options: dict[str, Any]) -> None:
    """Keep a receiver open until the server ends it."""
    with client.ReceiveClient(host, told.queue, **options) as receiver:
        while not receiver.client_ready():
            time.sleep(0.01)
        say("opened")
        while receiver.do_work():
            pass


def publish(told: Wanted, host: str, options: dict[str, Any]) -> None:
    """Publish messages one after another, and tell the outcome of each: accepted, or an error."""
    with client.SendClient(host, told.queue, **options) as sender:
        for number in range(1, told.messages + 1):
            try:
                sender.send_message(message.Message(data=[told.body(number)]))
                published(number, "accepted")
            except error.MessageException:
                published(number, "rejected")
            except error.AMQPException:
                published(number, "unknown")
                raise


def consume(told: Wanted, host: str, options: dict[str, Any]) -> None:
    """Take so many messages, and settle each."""
    got: list[Any] = []
    outcome = "rejected" if told.reject else "accepted"
    with client.ReceiveClient(host, told.queue, **options) as receiver:

        def take(frame: Any, delivered: Any) -> None:
            time.sleep(told.busy)
            body = b"".join(delivered.data or [])
            received(body, redelivered=False)
            receiver.settle_messages(frame[1], frame[2], outcome)
            got.append(body)

        while len(got) < told.messages:
            receiver.do_work()
            while not receiver._received_messages.empty():
                take(*receiver._received_messages.get())


def main() -> None:
    """Do what the environment says."""
    told = wanted("1.0")
    if told.do == "rpc":
        cannot()
    place = urlsplit(told.url)
    options: dict[str, Any] = {
        "auth": authentication.SASLPlainAuth(place.username, place.password),
        "use_tls": False,
        "receive_settle_mode": 0,
        "retry_policy": error.RetryPolicy(retry_total=0),
    }
    try:
        {"open": keep_open, "publish": publish, "consume": consume}[told.do](
            told, f"{place.hostname}:{place.port}", options
        )
    except error.AMQPLinkError as ended:
        closed("link", ended.condition, ended)
    except error.AMQPException as ended:
        closed("connection", getattr(ended, "condition", ""), ended)


if __name__ == "__main__":
    main()
