"""A small broker on `serve`: queues in memory, the default exchange, consumers, confirms, returns.

Run it with `python examples/server.py [PORT]` and connect any 0-9-1 client as guest.
"""

from __future__ import annotations

import asyncio
import sys
from collections import deque
from itertools import count

from amqp_sansio import Closed, Scope
from amqp_sansio.amqp_0_9_1 import Channel, MethodReceived, Published, Request
from amqp_sansio.amqp_0_9_1.spec import (
    BasicAck,
    BasicCancel,
    BasicCancelOk,
    BasicConsume,
    BasicConsumeOk,
    BasicGet,
    BasicGetEmpty,
    BasicGetOk,
    BasicNack,
    BasicQos,
    BasicQosOk,
    BasicReject,
    BasicReturn,
    ConfirmSelect,
    ConfirmSelectOk,
    Method,
    QueueDeclare,
    QueueDeclareOk,
    QueueDelete,
    QueueDeleteOk,
    QueuePurge,
    QueuePurgeOk,
)
from amqp_sansio_asyncio import ServerConnection, on_stop, serve


class Queue:
    """Messages in order, and the consumers that share them."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.messages: deque[tuple[Published, bool]] = deque()
        self.subscriptions: list[Subscription] = []

    def put(self, message: Published) -> None:
        """Append a new message."""
        self.messages.append((message, False))
        self.notify()

    def put_back(self, message: Published) -> None:
        """Return a delivered message to its place at the front."""
        self.messages.appendleft((message, True))
        self.notify()

    def notify(self) -> None:
        """Wake the consumers."""
        for subscription in self.subscriptions:
            subscription.changed.set()


class Subscription:
    """One consumer: a task that delivers while there are messages and the prefetch has room."""

    def __init__(self, client: Client, channel: Channel, queue: Queue, consume: BasicConsume) -> None:
        self.client = client
        self.channel = channel
        self.queue = queue
        self.tag = consume.consumer_tag
        self.no_ack = consume.no_ack
        self.prefetch = client.prefetch.get(channel.number, 0)
        self.unsettled = 0
        self.changed = asyncio.Event()
        queue.subscriptions.append(self)
        self.task = asyncio.create_task(self.run())

    async def run(self) -> None:
        """Deliver until the task is cancelled."""
        while True:
            if self.queue.messages and not (self.prefetch and self.unsettled >= self.prefetch):
                self.deliver(*self.queue.messages.popleft())
                await self.client.connection.drain()
                await asyncio.sleep(0)  # Others take their turn.
            else:
                self.changed.clear()
                await self.changed.wait()

    def deliver(self, message: Published, redelivered: bool) -> None:
        """Send one message, and remember it until it is settled."""
        self.channel.deliver(
            message.body,
            consumer_tag=self.tag,
            routing_key=message.routing_key,
            redelivered=redelivered,
            properties=message.properties,
        )
        if not self.no_ack:
            self.unsettled += 1
            delivered = self.client.unsettled.setdefault(self.channel.number, {})
            delivered[self.channel.last_tag] = message, self.queue, self

    def end(self) -> None:
        """Stop delivering."""
        self.task.cancel()
        if self in self.queue.subscriptions:
            self.queue.subscriptions.remove(self)


class Client:
    """One connection: its consumers, and the deliveries it has not settled, by channel and tag."""

    def __init__(self, queues: dict[str, Queue], connection: ServerConnection) -> None:
        self.queues = queues
        self.connection = connection
        self.names = count(1)
        self.prefetch: dict[int, int] = {}
        self.subscriptions: dict[tuple[int, str], Subscription] = {}
        self.unsettled: dict[int, dict[int, tuple[Published, Queue, Subscription | None]]] = {}

    async def run(self) -> None:
        """Answer events until the connection has ended."""
        async for event in self.connection:
            match event:
                case Published():
                    self.publish(event, self.connection.channel(event.channel))
                case Request(channel=number, method=method):
                    self.answer(self.connection.channel(number), method)
                case MethodReceived(channel=number, method=BasicAck() as ack):
                    self.settle(number, ack.delivery_tag, ack.multiple, requeue=False)
                case MethodReceived(channel=number, method=BasicNack() as nack):
                    self.settle(number, nack.delivery_tag, nack.multiple, requeue=nack.requeue)
                case MethodReceived(channel=number, method=BasicReject() as reject):
                    self.settle(number, reject.delivery_tag, False, requeue=reject.requeue)
                case Closed(scope=Scope.CHANNEL, channel=number):
                    self.channel_closed(number)
                case _:
                    pass
            await self.connection.drain()

    def answer(self, channel: Channel, method: Method) -> None:
        """Reply to a request, or close its channel with an error."""
        match method:
            case BasicQos(prefetch_count=limit):
                self.prefetch[channel.number] = limit
                channel.reply(BasicQosOk())
            case ConfirmSelect():
                channel.reply(ConfirmSelectOk())
            case BasicCancel(consumer_tag=tag):
                subscription = self.subscriptions.pop((channel.number, tag), None)
                if subscription is not None:
                    subscription.end()
                channel.reply(BasicCancelOk(tag))
            case QueueDeclare(queue="", passive=False):
                self.declare(channel, f"amq.gen-{next(self.names)}")
            case QueueDeclare(queue=name, passive=passive):
                if passive and name not in self.queues:
                    channel.close(404, f"NOT_FOUND - no queue {name!r}", method)
                else:
                    self.declare(channel, name)
            case QueueDelete() | QueuePurge() | BasicGet() | BasicConsume():
                queue = self.queues.get(method.queue)
                if queue is None:
                    channel.close(404, f"NOT_FOUND - no queue {method.queue!r}", method)
                else:
                    self.use(channel, queue, method)
            case _:
                channel.close(540, f"NOT_IMPLEMENTED - {method.NAME}", method)

    def declare(self, channel: Channel, name: str) -> None:
        """Answer queue.declare."""
        queue = self.queues.setdefault(name, Queue(name))
        channel.reply(QueueDeclareOk(name, len(queue.messages), len(queue.subscriptions)))

    def use(self, channel: Channel, queue: Queue, method: QueueDelete | QueuePurge | BasicGet | BasicConsume) -> None:
        """Carry out a method on a queue."""
        match method:
            case QueueDelete():
                del self.queues[queue.name]
                for subscription in list(queue.subscriptions):
                    subscription.client.cancel(subscription)
                channel.reply(QueueDeleteOk(len(queue.messages)))
            case QueuePurge():
                channel.reply(QueuePurgeOk(len(queue.messages)))
                queue.messages.clear()
            case BasicConsume():
                name = method.consumer_tag or f"amq.ctag-{next(self.names)}"
                channel.reply(BasicConsumeOk(name))
                consume = BasicConsume(queue.name, name, no_ack=method.no_ack)
                self.subscriptions[channel.number, name] = Subscription(self, channel, queue, consume)
            case BasicGet():
                if not queue.messages:
                    channel.reply(BasicGetEmpty())
                    return
                message, redelivered = queue.messages.popleft()
                tag = channel.last_tag + 1
                ok = BasicGetOk(tag, redelivered, "", message.routing_key, len(queue.messages))
                channel.reply(ok, message.properties, message.body)
                if not method.no_ack:
                    self.unsettled.setdefault(channel.number, {})[tag] = message, queue, None

    def cancel(self, subscription: Subscription) -> None:
        """Tell the client that a consumer's queue is gone."""
        subscription.end()
        del self.subscriptions[subscription.channel.number, subscription.tag]
        subscription.channel.call(BasicCancel(subscription.tag, no_wait=True))
        self.connection.flush()

    def publish(self, message: Published, channel: Channel) -> None:
        """Route a message by the default exchange, and confirm it."""
        if message.exchange:
            channel.close(404, f"NOT_FOUND - no exchange {message.exchange!r}")
            return
        queue = self.queues.get(message.routing_key)
        if queue is not None:
            queue.put(message)
        elif message.mandatory:
            returned = BasicReturn(312, "NO_ROUTE", "", message.routing_key)
            channel.send(returned, message.properties, message.body)
        if message.number:
            channel.confirm(message.number)

    def settle(self, number: int, tag: int, multiple: bool, *, requeue: bool) -> None:
        """Settle one delivery, or all up to it."""
        delivered = self.unsettled.get(number, {})
        tags = [each for each in delivered if each == tag or (multiple and (each <= tag or not tag))]
        for each in reversed(tags):
            message, queue, subscription = delivered.pop(each)
            if subscription is not None:
                subscription.unsettled -= 1
            if requeue:
                queue.put_back(message)
            else:
                queue.notify()

    def channel_closed(self, number: int) -> None:
        """End a channel's consumers, and return its unsettled messages."""
        for key in [key for key in self.subscriptions if key[0] == number]:
            self.subscriptions.pop(key).end()
        self.settle(number, 0, True, requeue=True)
        self.prefetch.pop(number, None)


class Broker:
    """The queues shared by all clients; `handle` is the handler for `serve`."""

    def __init__(self) -> None:
        self.queues: dict[str, Queue] = {}

    async def handle(self, connection: ServerConnection) -> None:
        """Serve one client until it is gone."""
        await Client(self.queues, connection).run()


async def main(port: int) -> None:
    """Serve until the program is told to stop."""
    stop = asyncio.Event()
    with on_stop(stop.set):
        async with serve(Broker().handle, port=port) as server:
            print(f"amqp://guest:guest@127.0.0.1:{server.port}/", flush=True)
            await stop.wait()
    print("bye")


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]) if len(sys.argv) > 1 else 0))
