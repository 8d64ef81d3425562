"""What is simulated: for each version and settle mode a publisher, a consumer, and what is promised."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any, Final, NamedTuple

from amqp_sansio import (
    AMQP_0_8,
    AMQP_0_9_1,
    AMQP_0_10,
    AMQP_1_0,
    Accepted,
    EndpointClosed,
    Limits,
    StaleDelivery,
    Version,
)
from amqp_sansio.amqp_0_9_1 import BasicProperties
from amqp_sansio.amqp_1_0 import Accepted as AcceptedIn10
from amqp_sansio.amqp_1_0 import Header, Source, Target
from amqp_sansio.amqp_1_0 import Message as LinkMessage
from amqp_sansio.amqp_1_0.spec import TerminusExpiryPolicy
from amqp_sansio.broker import BrokerLimits, Settings
from amqp_sansio.client.recovery import RecoveryPolicy
from amqp_sansio.errors import TransactionFailed
from amqp_sansio.messaging import Message, Outcome, Sending
from amqp_sansio.testing.simulate import Process, Program, Promise, World

QUEUE: Final = "jobs"
ADDRESS: Final = "/queues/jobs"
BATCH: Final = 50
"""Messages whose outcomes are waited for together."""
CREDIT: Final = 20
URL: Final = "amqp://broker/"
PERSISTENT: Final = BasicProperties(delivery_mode=2)
DURABLE: Final = Header(durable=True)
NEVER: Final = TerminusExpiryPolicy.NEVER
KEPT: Final = 3600
"""Seconds that a session is kept, the most that the broker grants."""

LIMITS: Final = Limits(
    unparsed=262_144,
    message=65_536,
    bodies=65_536,
    header=65_536,
    requests=64,
    calls=1024,
    unsettled=1024,
    unconfirmed=1024,
    consumers=16,
    backlog_high=65_536,
    backlog_low=16_384,
    backlog_hard=262_144,
    replay=1024,
    replay_octets=262_144,
)
"""So low that the world sees it when something is kept for each of many messages."""
SETTINGS: Final = Settings(
    seed=b"broker",
    heartbeat=0,
    auto_create=True,
    connection_limits=LIMITS,
    limits=BrokerLimits(memory_high=33_554_432, memory_low=16_777_216, kept_links=100),
)

AGAIN: Final = RecoveryPolicy(deadline=None)
REPORT: Final = RecoveryPolicy(deadline=None, in_doubt="report")


class Mode(NamedTuple):
    """A version's settle mode: `publisher` publishes bodies, `consumer` works on what comes."""

    promise: Promise
    publisher: Callable[[World, Sequence[bytes]], Program]
    consumer: Callable[[World], Program]


def publishing(
    version: Version, recover: RecoveryPolicy | None = None, *, once: bool = False
) -> Callable[[World, Sequence[bytes]], Program]:
    """A publisher that publishes again whatever it wasn't told to be accepted; with `once` never.

    Without a policy its connection doesn't recover: the program fails, and is started anew.
    """

    def bound(world: World, bodies: Sequence[bytes]) -> Program:
        left = list(bodies)

        async def publisher(process: Process) -> None:
            async with (
                process.messaging(URL, version=version, recover=recover or False, limits=LIMITS) as connection,
                connection.sender(ADDRESS) as sender,
            ):
                while left:
                    batch = left[:BATCH]
                    if once:
                        del left[:BATCH]
                    sent: list[Sending] = []
                    for body in batch:
                        sent.append(await sender.send(Message(body, durable=True), wait=False))
                    for body, sending in zip(batch, sent, strict=True):
                        outcome: Outcome | None = await sending
                        if outcome == Accepted():
                            world.sent(body)
                            if not once:
                                left.remove(body)

        return publisher

    return bound


def transacting(world: World, bodies: Sequence[bytes]) -> Program:
    """A publisher of 0-8, on a connection that recovers: it repeats a transaction that failed."""
    left = list(bodies)

    async def publisher(process: Process) -> None:
        async with process.connect(URL, version=AMQP_0_8, recover=AGAIN, limits=LIMITS) as connection:
            channel = await connection.open_channel()
            while left:
                batch = left[:BATCH]
                try:
                    async with channel.transaction():
                        for body in batch:
                            await channel.publish(body, routing_key=QUEUE, properties=PERSISTENT)
                except (EndpointClosed, TransactionFailed) as error:
                    world.note(f"the transaction is repeated: {error}", process)
                    continue
                del left[:BATCH]
                for body in batch:
                    world.sent(body)

    return publisher


def consuming(version: Version, recover: RecoveryPolicy | None = None) -> Callable[[World], Program]:
    """A consumer that accepts after its work."""

    def bound(world: World) -> Program:
        async def consumer(process: Process) -> None:
            async with (
                process.messaging(URL, version=version, recover=recover or False, limits=LIMITS) as connection,
                connection.receiver(ADDRESS, credit=CREDIT) as receiver,
            ):
                async for delivery in receiver:
                    body = bytes(delivery.message.body)
                    world.worked(body)
                    try:
                        await delivery.accept()
                    except StaleDelivery:
                        world.note(f"{body!r} will come again", process)

        return consumer

    return bound


async def settled(process: Process, version: Version, recover: RecoveryPolicy | bool) -> AsyncIterator[Any]:
    """Connect, and yield deliveries that the broker settles when it sends them."""
    async with process.connect(URL, version=version, recover=recover, limits=LIMITS) as connection:
        if version is AMQP_1_0:
            async with (
                connection.open_session() as session,
                session.open_receiver(QUEUE, credit=CREDIT, snd_settle_mode=1) as receiver,
            ):
                async for delivery in receiver:
                    yield delivery
        elif version is AMQP_0_10:
            async with (
                connection.open_session() as session,
                session.subscribe(QUEUE, credit=CREDIT, accept_mode=1) as subscription,
            ):
                async for delivery in subscription:
                    yield delivery
        else:
            async with connection.open_channel() as channel:
                async for delivery in channel.consume(QUEUE, no_ack=True):
                    yield delivery


def taking(version: Version, recover: RecoveryPolicy | None = None) -> Callable[[World], Program]:
    """A consumer of deliveries that are settled when they come."""

    def bound(world: World) -> Program:
        async def consumer(process: Process) -> None:
            async for delivery in settled(process, version, recover or False):
                world.worked(bytes(delivery.body))

        return consumer

    return bound


def resuming_links(world: World, bodies: Sequence[bytes]) -> Program:
    """A publisher of 1.0 on a link that is resumed, whose receiver settles second: nothing is sent twice."""
    left = list(bodies)

    async def publisher(process: Process) -> None:
        async with (
            process.connect(URL, version=AMQP_1_0, recover=AGAIN, limits=LIMITS) as connection,
            connection.open_session() as session,
            session.open_sender(Target(QUEUE, expiry_policy=NEVER), rcv_settle_mode=1) as sender,
        ):
            while left:
                batch = left[:BATCH]
                sent = [await sender.send(LinkMessage(body, header=DURABLE), wait=False) for body in batch]
                for body, sending in zip(batch, sent, strict=True):
                    outcome = await sending
                    if outcome != AcceptedIn10():
                        raise AssertionError(f"{outcome!r} for {body!r}")
                    world.sent(body)
                del left[:BATCH]

    return publisher


def taking_from_links(world: World) -> Program:
    """A consumer of 1.0 on a link that is resumed, and that settles second: it works once on each message."""

    async def consumer(process: Process) -> None:
        async with (
            process.connect(URL, version=AMQP_1_0, recover=AGAIN, limits=LIMITS) as connection,
            connection.open_session() as session,
            session.open_receiver(Source(QUEUE, expiry_policy=NEVER), credit=CREDIT, rcv_settle_mode=1) as receiver,
        ):
            async for delivery in receiver:
                world.worked(bytes(delivery.body))
                await delivery.accept()

    return consumer


def resuming_sessions(world: World, bodies: Sequence[bytes]) -> Program:
    """A publisher of 0-10 in a session that is resumed: nothing is sent twice."""
    left = list(bodies)

    async def publisher(process: Process) -> None:
        async with (
            process.connect(URL, version=AMQP_0_10, recover=AGAIN, limits=LIMITS) as connection,
            connection.open_session(timeout=KEPT) as session,
        ):
            while left:
                batch = left[:BATCH]
                sent = [await session.publish(body, "", QUEUE, wait=False) for body in batch]
                for body, sending in zip(batch, sent, strict=True):
                    outcome = await sending
                    if outcome != Accepted():
                        raise AssertionError(f"{outcome!r} for {body!r}")
                    world.sent(body)
                del left[:BATCH]

    return publisher


def taking_in_sessions(world: World) -> Program:
    """A consumer of 0-10 in a session that is resumed: it works once on each message."""

    async def consumer(process: Process) -> None:
        async with (
            process.connect(URL, version=AMQP_0_10, recover=AGAIN, limits=LIMITS) as connection,
            connection.open_session(timeout=KEPT) as session,
            session.subscribe(QUEUE, credit=CREDIT) as subscription,
        ):
            async for received in subscription:
                world.worked(received.body)
                await received.accept()

    return consumer


WITH_OUTCOMES: Final = (AMQP_0_9_1, AMQP_0_10, AMQP_1_0)
RECOVERING: Final = (AMQP_0_9_1, AMQP_0_10, AMQP_1_0)
"""The versions whose connections recover, and whose publishes have outcomes."""
_LEAST, _MOST, _ONCE = Promise.AT_LEAST_ONCE, Promise.AT_MOST_ONCE, Promise.EXACTLY_ONCE
MODES: Final[dict[tuple[str, str], Mode]] = {
    ("0-8", "recover"): Mode(_LEAST, transacting, consuming(AMQP_0_8, AGAIN)),
    **{(it.label, "recover"): Mode(_LEAST, publishing(it, AGAIN), consuming(it, AGAIN)) for it in RECOVERING},
    **{(it.label, "report"): Mode(_MOST, publishing(it, REPORT, once=True), taking(it, REPORT)) for it in RECOVERING},
    ("0-10", "exactly"): Mode(_ONCE, resuming_sessions, taking_in_sessions),
    ("1.0", "exactly"): Mode(_ONCE, resuming_links, taking_from_links),
    **{(it.label, "again"): Mode(_LEAST, publishing(it), consuming(it)) for it in WITH_OUTCOMES},
    **{(it.label, "once"): Mode(_MOST, publishing(it, once=True), taking(it)) for it in WITH_OUTCOMES},
}
"""By version and name: "recover" and "report" on connections that recover, "exactly" there on links or in sessions that
are resumed, "again" and "once" with programs that are started anew when their connection is lost."""
