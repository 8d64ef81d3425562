"""The traffic recorded by `amqp-sansio demo`: clients of every version at once, on the embedded broker.

Each publishes in its version to a queue that another version consumes from. The consumers accept most messages, reject
one for good, release one and accept it later, and leave one unsettled. Some errors occur too.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, Protocol

from amqp_sansio.amqp_0_9_1.spec import QueueDeclare
from amqp_sansio.amqp_1_0 import Message as Message_1_0
from amqp_sansio.errors import AmqpError
from amqp_sansio.versions import AMQP_0_8, AMQP_0_9_1, AMQP_0_10, AMQP_1_0, Version
from amqp_sansio_asyncio import connect, serve_broker

if TYPE_CHECKING:
    from amqp_sansio_asyncio import Channel

MESSAGES: Final = 8
_REFUSED, _GIVEN_BACK, _KEPT = 3, 5, 7
"""The messages that a consumer doesn't simply accept."""
_DEAD: Final = "dead-letters"
_TIMEOUT: Final = 30.0


class Route(NamedTuple):
    """The publisher's and the consumer's version of a queue."""

    publisher: Version
    consumer: Version

    @property
    def queue(self) -> str:
        """The queue's name."""
        return f"{self.publisher.label} to {self.consumer.label}"


ROUTES: Final = (
    Route(AMQP_0_9_1, AMQP_1_0),
    Route(AMQP_1_0, AMQP_0_10),
    Route(AMQP_0_10, AMQP_0_8),
    Route(AMQP_0_8, AMQP_0_9_1),
)


class _Delivery(Protocol):
    """The common part of all versions' deliveries."""

    @property
    def body(self) -> Any: ...
    async def accept(self) -> None: ...
    async def reject(self) -> None: ...
    async def release(self) -> None: ...


async def record_traffic(path: Path) -> None:
    """Run all traffic against a new broker, and record it. Raises OSError, AmqpError, TimeoutError."""
    async with serve_broker(record=str(path)) as broker:
        await drive(broker.url)


async def drive(url: str) -> None:
    """Run all traffic against a broker. Raises OSError, AmqpError, TimeoutError."""
    async with asyncio.timeout(_TIMEOUT):
        async with connect(url) as connection, connection.open_channel(confirm=True) as channel:
            await _declare(channel)
            consumers = [_consume(route, url) for route in ROUTES]
            await asyncio.gather(*consumers, *[_publish(route, url) for route in ROUTES])
            letters = aiter(channel.consume(_DEAD, prefetch=len(ROUTES)))
            for _ in ROUTES:
                await (await anext(letters)).accept()
            await channel.publish(b"to nobody", routing_key="nowhere", mandatory=True)
        await _provoke(url)


async def _declare(channel: Channel) -> None:
    await channel.call(QueueDeclare(queue=_DEAD, durable=True))
    arguments = {"x-dead-letter-exchange": "", "x-dead-letter-routing-key": _DEAD}
    for route in ROUTES:
        await channel.call(QueueDeclare(queue=route.queue, durable=True, arguments=arguments))


async def _publish(route: Route, url: str) -> None:
    await _PUBLISHERS[route.publisher](url, route)


async def _consume(route: Route, url: str) -> None:
    await _CONSUMERS[route.consumer](url, route)


def _bodies(route: Route) -> list[bytes]:
    return [f'{{"order": {number}, "by": "{route.publisher.label}"}}'.encode() for number in range(MESSAGES)]


async def _take(route: Route, deliveries: AsyncIterator[_Delivery]) -> None:
    """Settle the deliveries, each according to its number."""
    wanted = _bodies(route)
    left = dict.fromkeys(wanted)
    given_back = False
    async for delivery in deliveries:
        body = bytes(delivery.body)
        number = wanted.index(body)
        if number == _GIVEN_BACK and not given_back:
            given_back = True
            await delivery.release()
            continue
        if number == _REFUSED:
            await delivery.reject()
        elif number != _KEPT:
            await delivery.accept()
        left.pop(body, None)
        if not left:
            return


async def _publish_classic(url: str, route: Route) -> None:
    version = _classic(route.publisher)
    confirm = version is AMQP_0_9_1
    async with connect(url, version=version) as connection, connection.open_channel(confirm=confirm) as channel:
        for body in _bodies(route):
            await channel.publish(body, routing_key=route.queue)


async def _publish_amqp_0_10(url: str, route: Route) -> None:
    async with connect(url, version=AMQP_0_10) as connection, connection.open_session() as session:
        for body in _bodies(route):
            await session.publish(body, routing_key=route.queue)


async def _publish_amqp_1_0(url: str, route: Route) -> None:
    async with (
        connect(url, version=AMQP_1_0) as connection,
        connection.open_session() as session,
        session.open_sender(route.queue) as sender,
    ):
        for body in _bodies(route):
            await sender.send(Message_1_0(body=body))


async def _consume_classic(url: str, route: Route) -> None:
    version = _classic(route.consumer)
    async with connect(url, version=version) as connection, connection.open_channel() as channel:
        await _take(route, channel.consume(route.queue, prefetch=MESSAGES))


async def _consume_amqp_0_10(url: str, route: Route) -> None:
    async with (
        connect(url, version=AMQP_0_10) as connection,
        connection.open_session() as session,
        session.subscribe(route.queue, credit=MESSAGES) as subscription,
    ):
        await _take(route, subscription)


async def _consume_amqp_1_0(url: str, route: Route) -> None:
    async with (
        connect(url, version=AMQP_1_0) as connection,
        connection.open_session() as session,
        session.open_receiver(route.queue, credit=MESSAGES) as receiver,
    ):
        await _take(route, receiver)


def _classic(version: Version) -> Literal[Version.AMQP_0_9_1, Version.AMQP_0_8]:
    return AMQP_0_8 if version is AMQP_0_8 else AMQP_0_9_1


async def _provoke(url: str) -> None:
    """Cause errors of clients: an unknown queue, in two versions."""
    async with connect(url) as connection:
        channel = await connection.open_channel()
        await _refused(channel.call(QueueDeclare(queue="missing", passive=True)))
    async with connect(url, version=AMQP_1_0) as newer, newer.open_session() as session:
        await _refused(_open(session))


async def _open(session: Any) -> None:
    await session.open_receiver("missing")


async def _refused(call: Coroutine[Any, Any, object]) -> None:
    try:
        await call
    except AmqpError:
        return
    raise AssertionError("the broker took what it should have refused")


_Part = Callable[[str, Route], Coroutine[Any, Any, None]]
_PUBLISHERS: Final[dict[Version, _Part]] = {
    AMQP_0_8: _publish_classic,
    AMQP_0_9_1: _publish_classic,
    AMQP_0_10: _publish_amqp_0_10,
    AMQP_1_0: _publish_amqp_1_0,
}
_CONSUMERS: Final[dict[Version, _Part]] = {
    AMQP_0_8: _consume_classic,
    AMQP_0_9_1: _consume_classic,
    AMQP_0_10: _consume_amqp_0_10,
    AMQP_1_0: _consume_amqp_1_0,
}

__all__ = ["MESSAGES", "ROUTES", "Route", "drive", "record_traffic"]
