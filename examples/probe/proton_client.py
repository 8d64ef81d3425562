"""qpid-proton's blocking connection as a client under test, in 1.0.

Run `amqp-sansio probe --client 'python -m examples.probe.proton_client'`.
"""

from __future__ import annotations

import time
from importlib import import_module
from typing import Any

from examples.probe.shim import Wanted, closed, published, received, say, wanted

proton: Any = import_module("proton")
utils: Any = import_module("proton.utils")


def keep_open(told: Wanted, connection: Any) -> None:
    """Keep a connection open until the server ends it."""
    say("opened")
    connection.wait(lambda: False, timeout=3600)


def publish(told: Wanted, connection: Any) -> None:
    """Publish messages one after another, and tell the outcome of each."""
    names = {
        proton.Delivery.ACCEPTED: "accepted",
        proton.Delivery.REJECTED: "rejected",
        proton.Delivery.RELEASED: "released",
        proton.Delivery.MODIFIED: "modified",
    }
    sender = connection.create_sender(told.queue)
    for number in range(1, told.messages + 1):
        try:
            delivery = sender.send(proton.Message(body=told.body(number)))
            published(number, names[delivery.remote_state])
        except utils.SendException as error:
            published(number, names[error.state])
        except proton.ProtonException:
            published(number, "unknown")
            raise


def consume(told: Wanted, connection: Any) -> None:
    """Take so many messages, and settle each."""
    receiver = connection.create_receiver(told.queue, credit=10)
    for _ in range(told.messages):
        message = receiver.receive(timeout=3600)
        time.sleep(told.busy)
        received(bytes(message.body), redelivered=False)
        if told.reject:
            receiver.reject()
        else:
            receiver.accept()


def rpc(told: Wanted, connection: Any) -> None:
    """Send a request, and tell its reply."""
    reply = utils.SyncRequestResponse(connection, told.queue).call(proton.Message(body=b"request"))
    say("reply", body=bytes(reply.body).decode())


def main() -> None:
    """Do what the environment says."""
    told = wanted("1.0")
    connection = utils.BlockingConnection(told.url, timeout=30)
    try:
        {"open": keep_open, "publish": publish, "consume": consume, "rpc": rpc}[told.do](told, connection)
        connection.close()
    except utils.LinkDetached as error:
        closed("link", error.condition, error)
        connection.close()
    except utils.ConnectionClosed as error:
        closed("connection", error.condition, error)
        # The answer to the server's close goes out with the next turn.
        connection.close()


if __name__ == "__main__":
    main()
