"""Calls that are made while the connection is lost: they go on with the next one, or end with the reason."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Final, NamedTuple

import pytest

from amqp_sansio import AMQP_0_8, AMQP_0_9_1, AMQP_0_10, AMQP_1_0, EndpointClosed, Version
from amqp_sansio.amqp_0_9_1 import BasicProperties
from amqp_sansio.amqp_0_10 import Message, MessageProperties
from amqp_sansio.amqp_0_10.spec import CREDIT, Xid
from amqp_sansio.amqp_1_0 import Message as NewMessage
from amqp_sansio.amqp_1_0 import Properties
from amqp_sansio.broker import Settings
from amqp_sansio.client.recovery import RecoveryPolicy
from tests.kit.user import User, opened, world_of

CLASSIC: Final = (AMQP_0_8, AMQP_0_9_1)
XID: Final = Xid(1, b"global", b"branch")


class Bed(NamedTuple):
    """A connection that recovers, and something of each kind on it."""

    connection: Any
    part: Any
    """A channel, or a session: one of 0-10 that can be resumed."""
    sends: Any
    """A channel with confirms, or a link."""
    takes: Any
    """A subscription without credit, or a link of that kind."""
    asks: Any
    """The object of a client that sends requests."""


async def bed_of(connection: Any, version: Version) -> Bed:
    """Open one of each, and the queues "q" and "rpc"."""
    if version in CLASSIC:
        channel = await connection.open_channel()
        for name in ("q", "rpc"):
            await channel.declare_queue(name, durable=True)
        sends = await connection.open_channel(confirm=True) if version is AMQP_0_9_1 else channel
        return Bed(connection, channel, sends, None, channel)
    if version is AMQP_0_10:
        session = await connection.open_session(timeout=60)
        for name in ("q", "rpc"):
            await session.declare_queue(name, durable=True)
        takes = await session.subscribe("q", credit=0, flow_mode=CREDIT)
        return Bed(connection, session, session, takes, session)
    session = await connection.open_session()
    takes = await session.open_receiver("q", credit=0)
    return Bed(connection, session, await session.open_sender("q"), takes, await session.open_requester("rpc"))


async def within(context: Any) -> None:
    """Enter a context, and leave it."""
    async with context:
        pass


Act = Callable[[Bed], Awaitable[object]]
OLD: Final[dict[str, Act]] = {
    "open_channel": lambda bed: opened(bed.connection.open_channel()),
    "declare_queue": lambda bed: bed.part.declare_queue("q", durable=True),
    "declare_exchange": lambda bed: bed.part.declare_exchange("x", "topic"),
    "bind_queue": lambda bed: bed.part.bind_queue("q", "amq.fanout"),
    "purge_queue": lambda bed: bed.part.purge_queue("q"),
    "get": lambda bed: bed.part.get("q"),
    "set_prefetch": lambda bed: bed.part.set_prefetch(3),
    "publish": lambda bed: bed.sends.publish(b"x", routing_key="q"),
    "consume": lambda bed: bed.part.consume("q").start(),
    "transaction": lambda bed: within(bed.part.transaction()),
    "request": lambda bed: bed.asks.request(b"ping", routing_key="rpc"),
}
TEN: Final[dict[str, Act]] = {
    "open_session": lambda bed: opened(bed.connection.open_session()),
    "declare_queue": lambda bed: bed.part.declare_queue("q", durable=True),
    "declare_exchange": lambda bed: bed.part.declare_exchange("x", "topic"),
    "bind_queue": lambda bed: bed.part.bind_queue("q", "amq.fanout"),
    "sync": lambda bed: bed.part.sync(),
    "get": lambda bed: bed.part.get("q"),
    "publish": lambda bed: bed.sends.publish(b"x", "", "q"),
    "subscribe": lambda bed: opened(bed.part.subscribe("q")),
    "grant": lambda bed: bed.takes.grant(3),
    "flush": lambda bed: bed.takes.flush(),
    "stop": lambda bed: bed.takes.stop(),
    "transaction": lambda bed: within(bed.part.transaction()),
    "branch": lambda bed: within(bed.part.branch(XID)),
    "recover": lambda bed: bed.part.recover(),
    "request_timeout": lambda bed: bed.part.request_timeout(90),
    "detach": lambda bed: bed.part.detach(),
    "request": lambda bed: bed.asks.request(b"ping", "", "rpc"),
}
ONE: Final[dict[str, Act]] = {
    "open_session": lambda bed: opened(bed.connection.open_session()),
    "open_sender": lambda bed: opened(bed.part.open_sender("q")),
    "open_receiver": lambda bed: opened(bed.part.open_receiver("q")),
    "open_requester": lambda bed: opened(bed.part.open_requester("rpc")),
    "send": lambda bed: bed.sends.send(b"x"),
    "fetch": lambda bed: bed.takes.fetch(0.1),
    "drain": lambda bed: bed.takes.drain(),
    "wait_credit": lambda bed: bed.sends.wait_credit(),
    "transaction": lambda bed: within(bed.part.transaction()),
    "call": lambda bed: bed.asks.call(b"ping"),
}
ACTS: Final[dict[Version, dict[str, Act]]] = {AMQP_0_8: OLD, AMQP_0_9_1: OLD, AMQP_0_10: TEN, AMQP_1_0: ONE}
each_old = pytest.mark.parametrize("name", OLD)
each_classic = pytest.mark.parametrize("version", CLASSIC, ids=lambda each: each.label)
each_ten = pytest.mark.parametrize("name", TEN)
each_one = pytest.mark.parametrize("name", ONE)


async def answer(connection: Any, version: Version) -> None:
    """Answer the first request that was sent to the queue "rpc"."""
    if version in CLASSIC:
        channel = await connection.open_channel()
        found = await channel.get("rpc", no_ack=True)
        to, number = found.properties.reply_to, found.properties.correlation_id
        await channel.publish(b"pong", routing_key=to, properties=BasicProperties(correlation_id=number))
    elif version is AMQP_0_10:
        session = await connection.open_session()
        found = await session.get("rpc")
        asked = found.message_properties
        reply = Message(b"pong", message_properties=MessageProperties(correlation_id=asked.correlation_id))
        await session.publish(reply, "", asked.reply_to.routing_key)
    else:
        session = await connection.open_session()
        found = await (await session.open_receiver("rpc")).__anext__()
        asked = found.message.properties
        sender = await session.open_sender(asked.reply_to)
        await sender.send(NewMessage(b"pong", properties=Properties(correlation_id=asked.message_id)))


def lost(version: Version, **policy: Any) -> tuple[User, Bed]:
    """A user whose connection is lost, with all that was opened before."""
    world = world_of(settings=Settings(seed=b"user", heartbeat=0, auto_create=True))
    user = User(world, version=version, recover=RecoveryPolicy(jitter=0.0, **policy))
    bed = user.run(bed_of(user.connection, version))
    user.cut()
    return user, bed


async def done(act: Act, bed: Bed) -> object:
    """Do it, as a coroutine."""
    return await act(bed)


def goes_on(version: Version, name: str) -> None:
    """Check that a call gets its answer of the next connection."""
    user, bed = lost(version)
    call = user.begin(done(ACTS[version][name], bed))
    assert not call.done
    user.wait_back()
    user.turn(1.0)
    if name in ("request", "call"):
        assert not call.done
        user.run(answer(bed.connection, version))
        assert call.result.body == b"pong"
    assert call.done
    assert not isinstance(call.result, BaseException)  # It raises the call's own error.
    assert bed.connection.is_open


def ends(version: Version, name: str) -> None:
    """Check that a call ends with the reason why the connection was given up."""
    user, bed = lost(version, attempts=1)
    ended = user.begin(bed.connection.wait_closed())
    call = user.begin(done(ACTS[version][name], bed))
    user.refuse()
    user.turn(60.0)
    report = ended.result
    with pytest.raises(EndpointClosed) as caught:
        _ = call.result
    assert caught.value.report == report == bed.connection.report


@each_classic
@each_old
def test_a_call_on_a_channel_goes_on_with_the_next_connection(version: Version, name: str) -> None:
    goes_on(version, name)


@each_ten
def test_a_call_of_0_10_goes_on_with_the_next_connection(name: str) -> None:
    goes_on(AMQP_0_10, name)


@each_one
def test_a_call_of_1_0_goes_on_with_the_next_connection(name: str) -> None:
    goes_on(AMQP_1_0, name)


@each_classic
@each_old
def test_a_call_on_a_channel_ends_when_the_connection_is_given_up(version: Version, name: str) -> None:
    ends(version, name)


@each_ten
def test_a_call_of_0_10_ends_when_the_connection_is_given_up(name: str) -> None:
    ends(AMQP_0_10, name)


@each_one
def test_a_call_of_1_0_ends_when_the_connection_is_given_up(name: str) -> None:
    ends(AMQP_1_0, name)
