"""pika's blocking connection as a client under test, in 0-9-1.

Run `amqp-sansio probe --client 'python -m examples.probe.pika_client'`.
"""

from __future__ import annotations

import time
from importlib import import_module
from typing import Any

from examples.probe.shim import Wanted, closed, published, received, say, wanted

pika: Any = import_module("pika")
exceptions: Any = import_module("pika.exceptions")


def keep_open(told: Wanted, connection: Any) -> None:
    """Keep a connection open until the server ends it, and tell what it says."""

    def blocked(*_: object) -> None:
        say("blocked")

    def unblocked(*_: object) -> None:
        say("unblocked")

    connection.add_on_connection_blocked_callback(blocked)
    connection.add_on_connection_unblocked_callback(unblocked)
    say("opened")
    while connection.is_open:
        connection.process_data_events(time_limit=1)


def publish(told: Wanted, connection: Any) -> None:
    """Publish messages one after another, and tell the outcome of each."""
    channel = connection.channel()
    channel.confirm_delivery()
    for number in range(1, told.messages + 1):
        try:
            channel.basic_publish("", told.queue, told.body(number), mandatory=True)
            published(number, "accepted")
        except exceptions.UnroutableError:
            published(number, "returned")
        except exceptions.NackError:
            published(number, "rejected")
        except exceptions.AMQPError:
            published(number, "unknown")
            raise


def consume(told: Wanted, connection: Any) -> None:
    """Take so many messages, and settle each."""
    channel = connection.channel()
    channel.basic_qos(prefetch_count=100)
    got: list[bytes] = []

    def take(_: Any, method: Any, properties: Any, body: bytes) -> None:
        time.sleep(told.busy)
        received(body, method.redelivered)
        if told.reject:
            channel.basic_reject(method.delivery_tag, requeue=False)
        else:
            channel.basic_ack(method.delivery_tag)
        got.append(body)
        if len(got) == told.messages:
            channel.stop_consuming()

    def cancelled(_: object) -> None:
        say("cancelled")

    channel.add_on_cancel_callback(cancelled)
    channel.basic_consume(told.queue, take)
    channel.start_consuming()


def rpc(told: Wanted, connection: Any) -> None:
    """Send a request, and tell its reply."""
    channel = connection.channel()
    queue = channel.queue_declare("", exclusive=True).method.queue

    def take(_: Any, method: Any, properties: Any, body: bytes) -> None:
        if properties.correlation_id == "1":
            say("reply", body=body.decode())
            channel.stop_consuming()

    channel.basic_consume(queue, take, auto_ack=True)
    about = pika.BasicProperties(reply_to=queue, correlation_id="1")
    channel.basic_publish("", told.queue, b"request", about)
    channel.start_consuming()


def main() -> None:
    """Do what the environment says."""
    told = wanted("0-9-1")
    connection = pika.BlockingConnection(pika.URLParameters(told.url))
    try:
        {"open": keep_open, "publish": publish, "consume": consume, "rpc": rpc}[told.do](told, connection)
        if connection.is_open:
            connection.close()
    except exceptions.ChannelClosed as error:
        closed("channel", error.reply_code, error.reply_text)
        connection.close()
    except exceptions.ConnectionClosed as error:
        closed("connection", error.reply_code, error.reply_text)


if __name__ == "__main__":
    main()
