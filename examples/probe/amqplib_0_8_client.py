"""py-amqplib, the client of AMQP 0-8 that Celery began with, as a client under test.

Run `amqp-sansio probe --client 'python -m examples.probe.amqplib_0_8_client'`.
"""

from __future__ import annotations

import time
from importlib import import_module
from typing import Any
from urllib.parse import urlsplit

from examples.probe.shim import Wanted, closed, received, returned, say, wanted

amqp: Any = import_module("amqplib.client_0_8")


def keep_open(told: Wanted, connection: Any) -> None:
    """Keep a connection open until the server ends it."""
    say("opened")
    while True:
        connection.wait()


def publish(told: Wanted, connection: Any) -> None:
    """Publish all messages, and tell which came back: there are no confirms."""
    channel = connection.channel()
    access(channel)
    bodies = [told.body(number) for number in range(1, told.messages + 1)]
    for body in bodies:
        channel.basic_publish(amqp.Message(body), exchange="", routing_key=told.queue, mandatory=True)
    # What the server returns comes before the answer to what is asked later.
    channel.basic_qos(0, 1, False)
    came_back: list[bytes] = []
    while not channel.returned_messages.empty():
        came_back.append(octets(channel.returned_messages.get_nowait()[-1].body))
    returned(bodies, came_back)
    channel.close()


def octets(body: str | bytes) -> bytes:
    """Return a body as octets: the library makes text of them if it can."""
    return body.encode() if isinstance(body, str) else body


def access(channel: Any) -> None:
    """Ask for a ticket; the library uses it from then on."""
    channel.access_request("/data", active=True, passive=True, read=True, write=True)


def consume(told: Wanted, connection: Any) -> None:
    """Take so many messages, and settle each."""
    channel = connection.channel()
    access(channel)
    got: list[Any] = []

    def take(message: Any) -> None:
        time.sleep(told.busy)
        received(message.body, message.delivery_info["redelivered"])
        if told.reject:
            channel.basic_reject(message.delivery_tag, False)
        else:
            channel.basic_ack(message.delivery_tag)
        got.append(message)

    tag = channel.basic_consume(told.queue, callback=take)
    while len(got) < told.messages:
        channel.wait()
    channel.basic_cancel(tag)
    channel.close()


def rpc(told: Wanted, connection: Any) -> None:
    """Send a request, and tell its reply."""
    channel = connection.channel()
    access(channel)
    queue = channel.queue_declare(exclusive=True)[0]
    got: list[str] = []

    def take(message: Any) -> None:
        if message.properties.get("correlation_id") == "1":
            got.append(octets(message.body).decode())

    channel.basic_consume(queue, callback=take, no_ack=True)
    request = amqp.Message(b"request", reply_to=queue, correlation_id="1")
    channel.basic_publish(request, exchange="", routing_key=told.queue)
    while not got:
        channel.wait()
    say("reply", body=got[0])


def main() -> None:
    """Do what the environment says."""
    told = wanted("0-8")
    place = urlsplit(told.url)
    try:
        connection = amqp.Connection(f"{place.hostname}:{place.port}", userid=place.username, password=place.password)
        try:
            {"open": keep_open, "publish": publish, "consume": consume, "rpc": rpc}[told.do](told, connection)
        except amqp.AMQPChannelException as error:
            closed("channel", error.amqp_reply_code, error.amqp_reply_text)
        connection.close()
    except amqp.AMQPConnectionException as error:
        closed("connection", error.amqp_reply_code, error.amqp_reply_text)


if __name__ == "__main__":
    main()
