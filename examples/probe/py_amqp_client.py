"""py-amqp, the client of Celery and kombu, as a client under test, in 0-9-1.

Run `amqp-sansio probe --client 'python -m examples.probe.py_amqp_client'`.
"""

from __future__ import annotations

import socket
import time
from contextlib import suppress
from functools import partial
from importlib import import_module
from typing import Any
from urllib.parse import urlsplit

from examples.probe.shim import Wanted, closed, published, received, say, wanted

amqp: Any = import_module("amqp")
exceptions: Any = import_module("amqp.exceptions")


def keep_open(told: Wanted, connection: Any) -> None:
    """Keep a connection open until the server ends it, and tell what it says."""
    say("opened")
    while True:
        with suppress(socket.timeout):
            connection.drain_events(timeout=1)


def publish(told: Wanted, connection: Any) -> None:
    """Publish messages one after another, and tell the outcome of each."""
    channel = connection.channel()
    returned: list[object] = []

    def come_back(*about: object) -> None:
        returned.append(about)

    channel.events["basic_return"].add(come_back)
    for number in range(1, told.messages + 1):
        returned.clear()
        message = amqp.Message(told.body(number))
        try:
            channel.basic_publish(message, exchange="", routing_key=told.queue, mandatory=True)
            published(number, "returned" if returned else "accepted")
        except exceptions.MessageNacked:
            published(number, "rejected")
        except (exceptions.AMQPError, OSError):
            published(number, "unknown")
            raise


def consume(told: Wanted, connection: Any) -> None:
    """Take so many messages, and settle each."""
    channel = connection.channel()
    channel.basic_qos(0, 100, False)
    got: list[Any] = []

    def take(message: Any) -> None:
        time.sleep(told.busy)
        received(message.body, message.delivery_info["redelivered"])
        if told.reject:
            channel.basic_reject(message.delivery_tag, requeue=False)
        else:
            channel.basic_ack(message.delivery_tag)
        got.append(message)

    tag = channel.basic_consume(told.queue, callback=take)
    try:
        while len(got) < told.messages:
            connection.drain_events()
    except exceptions.ConsumerCancelled:
        say("cancelled")
        return
    channel.basic_cancel(tag)


def rpc(told: Wanted, connection: Any) -> None:
    """Send a request, and tell its reply."""
    channel = connection.channel()
    queue = channel.queue_declare(exclusive=True).queue
    got: list[str] = []

    def take(message: Any) -> None:
        if message.properties.get("correlation_id") == "1":
            got.append(message.body if isinstance(message.body, str) else message.body.decode())

    channel.basic_consume(queue, callback=take, no_ack=True)
    request = amqp.Message(b"request", reply_to=queue, correlation_id="1")
    channel.basic_publish(request, exchange="", routing_key=told.queue)
    while not got:
        connection.drain_events()
    say("reply", body=got[0])


def _tell(event: str, *_: object) -> None:
    say(event)


def main() -> None:
    """Do what the environment says."""
    told = wanted("0-9-1")
    place = urlsplit(told.url)
    connection = amqp.Connection(
        f"{place.hostname}:{place.port}",
        userid=place.username,
        password=place.password,
        confirm_publish=told.do == "publish",
        on_blocked=partial(_tell, "blocked"),
        on_unblocked=partial(_tell, "unblocked"),
    )
    try:
        connection.connect()
        {"open": keep_open, "publish": publish, "consume": consume, "rpc": rpc}[told.do](told, connection)
    except exceptions.AMQPError as error:
        closed("", error.reply_code, error.reply_text)
    if connection.connected:
        connection.close()


if __name__ == "__main__":
    main()
