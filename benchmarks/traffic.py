"""Real traffic of every version as templates: each side's octets, their times, and the places of the messages' numbers.

A template is recorded once from clients on the embedded broker and then written any number of times, each time with
other numbers in its bodies, so that no two messages of a capture are alike.
"""

from __future__ import annotations

import asyncio
import re
import tempfile
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import NamedTuple, Protocol

from amqp_sansio import AMQP_0_8, AMQP_0_9_1, AMQP_0_10, AMQP_1_0, Version
from amqp_sansio.amqp_0_9_1.spec import QueueDeclare
from amqp_sansio.amqp_1_0 import Message
from amqp_sansio.capture import ConnectionStart, Segment, StreamData, read_segments, reassemble, sort_key
from amqp_sansio_asyncio import connect, serve_broker

VERSIONS: dict[str, Version] = {each.label: each for each in (AMQP_0_8, AMQP_0_9_1, AMQP_0_10, AMQP_1_0)}
MARK = b"message "
DIGITS = 12
"""Digits of the number after the mark in each body: six of the copy, six of the message."""
CREDIT = 200


class Chunk(NamedTuple):
    """Octets that one side sent at a time: nanoseconds since the recording began."""

    from_client: bool
    start: int
    stop: int
    at_ns: int


class Template:
    """The octets of both sides of a connection, the places of the messages' numbers, and their order.

    `begin_ns` is when it began, in nanoseconds since its recording did.
    """

    def __init__(self, items: list[StreamData], recorded_ns: int, began_ns: int, client: str) -> None:
        self.begin_ns = began_ns - recorded_ns
        sides = {True: bytearray(), False: bytearray()}
        self.chunks: list[Chunk] = []
        for item in items:
            from_client = item.sender == client
            octets = sides[from_client]
            start = len(octets)
            octets += item.data
            self.chunks.append(Chunk(from_client, start, len(octets), item.ts_ns - recorded_ns))
        self.sides = {side: bytes(octets) for side, octets in sides.items()}
        pattern = re.compile(re.escape(MARK) + rb"(\d{6})\d{6}")
        self.places = {side: [found.start(1) for found in pattern.finditer(self.sides[side])] for side in sides}
        self.length_ns = self.chunks[-1].at_ns

    @property
    def octets(self) -> int:
        """Octets of both sides together."""
        return sum([len(octets) for octets in self.sides.values()])

    def copy(self, number: int) -> dict[bool, bytearray]:
        """Return the octets of both sides with the copy's number (below a million) in every message."""
        text = b"%06d" % number
        made = {side: bytearray(octets) for side, octets in self.sides.items()}
        for side, places in self.places.items():
            octets = made[side]
            for place in places:
                octets[place : place + 6] = text
        return made


def record(version: str, octets: int, count: int) -> tuple[Template, Template]:
    """Record a publisher and a consumer of a version, with `count` messages of `octets` octets (at least 20)."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "recorded.pcapng"
        asyncio.run(_drive(VERSIONS[version], _bodies(octets, count), path))
        found = templates_in(path)
    publisher = next(each for each in found if each.places[True])
    consumer = next(each for each in found if each.places[False])
    return publisher, consumer


def templates_in(path: Path) -> list[Template]:
    """Return the connections of a capture, in the order of their starts."""
    began: dict[str, ConnectionStart] = {}
    data: dict[str, list[StreamData]] = {}
    rows = read_segments(path.read_bytes(), file=path.name)
    for item in reassemble(sorted([row for row in rows if isinstance(row, Segment)], key=sort_key)):
        if isinstance(item, ConnectionStart):
            began[item.connection] = item
        elif isinstance(item, StreamData):
            data.setdefault(item.connection, []).append(item)
    found = sorted(data, key=lambda name: began[name].ts_ns)
    first_ns = began[found[0]].ts_ns
    return [Template(data[name], first_ns, began[name].ts_ns, began[name].client or began[name].a) for name in found]


def _bodies(octets: int, count: int) -> Iterator[bytes]:
    filler = bytes([65 + place % 26 for place in range(max(0, octets - len(MARK) - DIGITS))])
    for number in range(count):
        yield b"%b%012d" % (MARK, number) + filler


async def _drive(version: Version, bodies: Iterator[bytes], path: Path) -> None:
    wanted = list(bodies)
    async with serve_broker(record=str(path)) as broker, connect(broker.url) as first, first.open_channel() as channel:
        await channel.call(QueueDeclare(queue="jobs", durable=True))
        publishing = asyncio.create_task(_publish(version, broker.url, wanted))
        async with _deliveries(version, broker.url) as deliveries:
            left = len(wanted)
            async for delivery in deliveries:
                await delivery.accept()
                left -= 1
                if not left:
                    break
        await publishing


async def _publish(version: Version, url: str, bodies: list[bytes]) -> None:
    if version is AMQP_1_0:
        async with (
            connect(url, version=AMQP_1_0) as one,
            one.open_session() as opened,
            opened.open_sender("jobs") as sender,
        ):
            for group in _groups(bodies):
                await asyncio.gather(*[sender.send(Message(body=body)) for body in group])
    elif version is AMQP_0_10:
        async with connect(url, version=AMQP_0_10) as ten, ten.open_session() as session:
            for group in _groups(bodies):
                await asyncio.gather(*[session.publish(body, routing_key="jobs") for body in group])
    elif version is AMQP_0_8:
        async with connect(url, version=AMQP_0_8) as eight, eight.open_channel() as plain:
            for body in bodies:
                await plain.publish(body, routing_key="jobs")
    else:
        async with connect(url, version=AMQP_0_9_1) as nine, nine.open_channel(confirm=True) as channel:
            for group in _groups(bodies):
                await asyncio.gather(*[channel.publish(body, routing_key="jobs") for body in group])


def _groups(bodies: list[bytes]) -> Iterator[list[bytes]]:
    for start in range(0, len(bodies), CREDIT):
        yield bodies[start : start + CREDIT]


class _Delivery(Protocol):
    """The common part of all versions' deliveries."""

    async def accept(self) -> None: ...


@asynccontextmanager
async def _deliveries(version: Version, url: str) -> AsyncGenerator[AsyncIterator[_Delivery]]:
    if version is AMQP_1_0:
        async with (
            connect(url, version=AMQP_1_0) as one,
            one.open_session() as opened,
            opened.open_receiver("jobs", credit=CREDIT) as receiver,
        ):
            yield aiter(receiver)
    elif version is AMQP_0_10:
        async with (
            connect(url, version=AMQP_0_10) as ten,
            ten.open_session() as session,
            session.subscribe("jobs", credit=CREDIT) as subscription,
        ):
            yield aiter(subscription)
    elif version is AMQP_0_8:
        async with connect(url, version=AMQP_0_8) as eight, eight.open_channel() as plain:
            yield aiter(plain.consume("jobs", prefetch=CREDIT))
    else:
        async with connect(url) as nine, nine.open_channel() as channel:
            yield aiter(channel.consume("jobs", prefetch=CREDIT))
