"""The blocking client of this project as a client under test, in 0-8, 0-9-1, 0-10 and 1.0.

Run `amqp-sansio probe --client 'python -m examples.probe.sync_client'`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from amqp_sansio import AMQP_0_8, AMQP_0_9_1, AMQP_0_10, AMQP_1_0, ConsumerEnded, EndpointClosed
from amqp_sansio.amqp_0_8 import spec
from amqp_sansio.amqp_0_9_1 import Blocked, MessageReturned, Unblocked
from amqp_sansio_sync import connect
from amqp_sansio_sync.messaging import connect as connect_any
from examples.probe.shim import Wanted, ended, left, outcome_of, published, received, returned, say, wanted


def keep_open(told: Wanted) -> None:
    """Keep a connection open until the server ends it, and tell what it says."""
    if told.version == "1.0":
        with connect(told.url, version=AMQP_1_0) as connection:
            say("opened")
            left(connection.wait_closed())
        return
    if told.version == "0-10":
        with connect(told.url, version=AMQP_0_10) as other:
            say("opened")
            left(other.wait_closed())
        return
    with connect(told.url, version=AMQP_0_8 if told.version == "0-8" else AMQP_0_9_1) as classic:
        say("opened")
        for event in classic.events(Blocked, Unblocked):
            say("blocked" if isinstance(event, Blocked) else "unblocked")


def publish(told: Wanted) -> None:
    """Publish all messages, then tell the outcome of each."""
    bodies = [told.body(number) for number in range(1, told.messages + 1)]
    if told.version == "1.0":
        with connect(told.url, version=AMQP_1_0) as connection, connection.open_session() as session:
            sender = session.open_sender(told.queue)
            _tell([sender.send(body, wait=False).result for body in bodies])
            sender.close()
        return
    if told.version == "0-10":
        with connect(told.url, version=AMQP_0_10) as other, other.open_session() as exchange:
            _tell([exchange.publish(body, routing_key=told.queue, wait=False).result for body in bodies])
        return
    if told.version == "0-8":
        with connect(told.url, version=AMQP_0_8) as old, old.open_channel() as channel:
            came_back = channel.events(MessageReturned)
            for body in bodies:
                channel.publish(body, routing_key=told.queue, mandatory=True)
            # There are no confirms. What the server returns comes before the answer to what is asked later.
            channel.call(spec.BasicQos(0, 1))
            channel.close()
            returned(bodies, [each.body for each in came_back])
        return
    with connect(told.url, version=AMQP_0_9_1) as classic, classic.open_channel(confirm=True) as channel:
        _tell([channel.publish(each, routing_key=told.queue, mandatory=True, wait=False).result for each in bodies])


def _tell(results: Sequence[Callable[[], object]]) -> None:
    for number, result in enumerate(results, 1):
        try:
            published(number, outcome_of(result()))
        except EndpointClosed:
            published(number, "unknown")
            if number == len(results):
                raise


def consume(told: Wanted) -> None:
    """Take so many messages, and settle each."""
    if told.version == "1.0":
        with connect(told.url, version=AMQP_1_0) as connection, connection.open_session() as session:
            receiver = session.open_receiver(told.queue)
            for _ in range(told.messages):
                message = next(receiver)
                time.sleep(told.busy)
                received(message.body, redelivered=False)
                message.reject() if told.reject else message.accept()
            receiver.close()
        return
    if told.version == "0-10":
        with connect(told.url, version=AMQP_0_10) as other, other.open_session() as exchange:
            subscription = exchange.subscribe(told.queue)
            for _ in range(told.messages):
                got = next(subscription)
                time.sleep(told.busy)
                received(got.body, got.redelivered)
                got.reject() if told.reject else got.accept()
            subscription.close()
        return
    classic = connect(told.url, version=AMQP_0_8 if told.version == "0-8" else AMQP_0_9_1)
    with classic, classic.open_channel() as channel:
        deliveries = channel.consume(told.queue)
        for _ in range(told.messages):
            delivery = next(deliveries)
            time.sleep(told.busy)
            received(delivery.body, delivery.redelivered)
            delivery.reject() if told.reject else delivery.accept()
        deliveries.close()


def rpc(told: Wanted) -> None:
    """Send a request, and tell its reply."""
    with connect_any(told.url, version=told.version) as connection:
        say("reply", body=connection.request(told.queue, b"request").body.decode())


def main() -> None:
    """Do what the environment says."""
    told = wanted("0-8", "0-9-1", "0-10", "1.0")
    try:
        {"open": keep_open, "publish": publish, "consume": consume, "rpc": rpc}[told.do](told)
    except ConsumerEnded:
        say("cancelled")
    except EndpointClosed as error:
        ended(error)


if __name__ == "__main__":
    main()
