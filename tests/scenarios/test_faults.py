"""What ends at once when the server breaks a rule: every wait on what is broken off, whatever the server says then."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Any, Final, NamedTuple

import pytest

from amqp_sansio import AMQP_0_8, AMQP_0_9_1, AMQP_0_10, AMQP_1_0, By, Closed, EndpointClosed, Event, Limits, Version
from amqp_sansio._classic.codec.table import RABBIT
from amqp_sansio.amqp_0_9_1.spec import BasicDeliver
from amqp_sansio.amqp_0_10.spec import QueueQuery
from amqp_sansio.amqp_1_0.spec import Transfer
from amqp_sansio.events import OpenRequested
from tests.kit import octets_0_10, octets_1_0, octets_classic
from tests.kit.scripted import Peer, ScriptedBroker
from tests.kit.worlds import World

LIMITS: Final = Limits(unsettled=1)
"""With these a client finds a second delivery that it hasn't settled at fault."""
LATE: Final = 600.0
"""Seconds that a client of these servers would wait for the answer to its close."""


class Fault(NamedTuple):
    """Octets that break a rule, and the words of the error that a client makes of them."""

    octets: bytes
    words: str


def _delivered(tag: int) -> bytes:
    method = BasicDeliver(consumer_tag="c", delivery_tag=tag)
    started = octets_classic.frame(octets_classic.METHOD, 1, method.encode(RABBIT))
    return started + octets_classic.header(1, 60, 1) + octets_classic.body(1, b"x")


_CLASSIC: Final = {
    "connection": Fault(octets_classic.frame(octets_classic.METHOD, 0, b"\0\x63\0\1"), "503 class 99 has no method"),
    "channel": Fault(_delivered(1) + _delivered(2), "506.*unsettled"),
}
FAULTS: Final[dict[Version, dict[str, Fault]]] = {
    AMQP_0_8: _CLASSIC,
    AMQP_0_9_1: _CLASSIC,
    AMQP_0_10: {
        "connection": Fault(octets_0_10.frame(b"\xff\xff"), "501"),
        "channel": Fault(octets_0_10.completed(99), "99"),
    },
    AMQP_1_0: {
        "connection": Fault(octets_1_0.octets_of(b"\x45"), "amqp:decode-error"),
        "channel": Fault(octets_1_0.octets_of(Transfer(handle=9), 0, b"x"), "amqp:session:unattached-handle"),
        "link": Fault(
            octets_1_0.octets_of(Transfer(0, 0, b"1", 0), 0, b"\0Sw\xa1\x09too large"),
            "amqp:link:message-size-exceeded",
        ),
    },
}
"""What breaks a rule, by version and by what ends with it."""
CASES: Final = [(version, scope) for version, faults in FAULTS.items() for scope in faults]


async def waits_of(connection: Any, broker: ScriptedBroker, version: Version, scope: str) -> list[Awaitable[object]]:
    """What may wait on a connection, when the server answers nothing from now on."""
    waits: list[Awaitable[object]]
    if version is AMQP_1_0:
        session = await connection.open_session()
        receiver = await session.open_receiver("jobs", credit=3, max_message_size=8)
        sender = await session.open_sender("jobs")
        broker.faults.stall("to_client")
        if scope == "link":
            return [anext(receiver), receiver.fetch(), receiver.drain()]
        waits = [anext(receiver), sender.send(b"x"), session.open_sender("other"), anext(session.events())]
    elif version is AMQP_0_10:
        session = await connection.open_session()
        subscription = await session.subscribe("jobs")
        broker.faults.stall("to_client")
        waits = [
            anext(subscription),
            session.publish(b"x", routing_key="jobs"),
            session.call(QueueQuery(queue="jobs")),
            anext(session.events()),
        ]
    else:
        new = version is not AMQP_0_8
        channel = await connection.open_channel(confirm=new)
        consumer = await channel.consume("jobs", consumer_tag="c").__aenter__()
        broker.faults.stall("to_client")
        declare = connection.core.dialect.named["queue.declare"]
        waits = [anext(consumer), channel.call(declare(queue="jobs")), anext(channel.events())]
        if new:
            await channel.publish(b"y", wait=False)
            waits += [channel.publish(b"x"), channel.wait_for_confirms()]
    if scope == "connection":
        waits.append(anext(connection.events()))
    return waits


@pytest.mark.parametrize(("version", "scope"), CASES, ids=lambda value: getattr(value, "label", value))
async def test_what_waits_ends_at_once_with_the_fault(
    world: World, broker: ScriptedBroker, version: Version, scope: str
) -> None:
    fault = FAULTS[version][scope]
    broker.fill("jobs")
    broker.fill("other")
    async with world.connect(broker.url, version, close_timeout=LATE, limits=LIMITS) as connection:
        waiting = [world.start(each) for each in await waits_of(connection, broker, version, scope)]
        await world.pause(0.05)
        assert not any(each.done for each in waiting)
        # It reads nothing more.
        broker.peer.hold()
        broker.peer.put(fault.octets)
        for each in waiting:
            with pytest.raises(EndpointClosed, match=fault.words):
                await each
        assert connection.report is None
        broker.peer.cut()
        # They were raised, so leaving raises none of them again.
        await connection.wait_closed()


@pytest.mark.parametrize("version", FAULTS, ids=lambda version: version.label)
async def test_an_opening_ends_at_once_with_the_fault(world: World, broker: ScriptedBroker, version: Version) -> None:
    fault = FAULTS[version]["connection"]
    header = octets_1_0.AMQP_HEADER if version is AMQP_1_0 else b""

    held: list[Event] = []

    def script(peer: Peer, event: Event) -> bool:
        if isinstance(event, OpenRequested):
            peer.line.put(header + fault.octets)
            peer.line.hold(True)
            held.append(event)
        return isinstance(event, OpenRequested)

    broker.script = script
    with pytest.raises(EndpointClosed, match=fault.words) as caught:
        await world.connect(broker.url, version, handshake_timeout=LATE, close_timeout=LATE)
    assert caught.value.report is not None
    assert caught.value.report.by is By.LOCAL
    if world.name not in ("asyncio", "sync"):
        return  # The drivers of the examples say nothing more.
    # The server was told why.
    broker.faults.stall("to_client")
    broker.peer.do(lambda: broker.peer.pass_on(held[0]))
    broker.peer.hold(False)
    await world.until(lambda: broker.peer.of(Closed))
    assert broker.peer.of(Closed)[-1].report.by is By.REMOTE
