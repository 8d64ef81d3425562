"""Recovery at its edges, in both adapters: losses at once, under back-pressure, again and again; failing attempts."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import pytest

from amqp_sansio import AMQP_0_8, AMQP_0_9_1, AMQP_0_10, AMQP_1_0, Accepted, AnswerTimeout, By, EndpointClosed, Version
from amqp_sansio.client.recovery import Recovered, Recovering, RecoveryPolicy
from amqp_sansio.events import Event, OpenRequested
from tests.kit.scenarios import has_one_thread, is_adapter, only
from tests.kit.scripted import Peer, ScriptedBroker
from tests.kit.worlds import World

VERSIONS = (AMQP_0_8, AMQP_0_9_1, AMQP_0_10, AMQP_1_0)
each_version = pytest.mark.parametrize("version", VERSIONS, ids=lambda each: each.label)
each_adapter = only(is_adapter)
SOON = RecoveryPolicy(first_delay=0.1, jitter=0.0)
LOGGERS = {"asyncio": "amqp_sansio_asyncio", "sync": "amqp_sansio_sync"}


async def opened(connection: Any, version: Version) -> object:
    """Open a part of a connection, which waits while it is lost."""
    part: object = await (connection.open_channel() if version in VERSIONS[:2] else connection.open_session())
    return part


@each_adapter
@each_version
async def test_the_second_address_is_tried_while_a_caller_waits(world: World, version: Version) -> None:
    with world.broker() as first, world.broker() as second:
        nobody = "amqp://guest:guest@127.0.0.1:1/"
        policy = RecoveryPolicy(addresses=(nobody, second.url), first_delay=0.1, deadline=20.0)
        async with world.connect(first.url, version, recover=policy) as connection:
            waiting = world.start(connection.wait_closed())
            await world.pause(0.05)
            first.stop()
            await opened(connection, version)
            assert len(second.peers) == 1
            assert not waiting.done


@each_adapter
async def test_publishes_that_wait_for_room_go_on_after_a_loss(world: World, broker: ScriptedBroker) -> None:
    broker.fill("jobs")
    async with world.connect(broker.url, recover=SOON) as connection:
        channel = await connection.open_channel(confirm=True)
        broker.faults.cut_after(100, direction="from_client", on="current")
        publishes = [channel.publish(bytes(400_000), routing_key="jobs") for _ in range(6)]
        assert await world.gather(*publishes) == [Accepted()] * 6
        assert channel.is_open
    assert len(broker.bodies("jobs")) >= 6


@each_adapter
@pytest.mark.parametrize("wait", [0.0, 0.01], ids=["at once", "a moment later"])
async def test_a_loss_behind_the_opening_is_recovered(world: World, broker: ScriptedBroker, wait: float) -> None:
    def script(peer: Peer, event: Event) -> bool:
        if isinstance(event, OpenRequested) and len(broker.peers) == 1:
            peer.pass_on(event)
            peer.line.call_later(wait, peer.line.cut)
            return True
        return False

    broker.script = script
    async with world.connect(broker.url, recover=SOON) as connection:
        await world.until(lambda: len(broker.peers) == 2)
        channel = await connection.open_channel()
        await channel.declare_queue("jobs", durable=True)


@each_adapter
async def test_a_connection_that_never_lives_long_uses_up_its_attempts(world: World, broker: ScriptedBroker) -> None:
    begun = world.now()

    def script(peer: Peer, event: Event) -> bool:
        if isinstance(event, OpenRequested):
            peer.line.call_later(0.05, peer.line.cut)
        return False

    broker.script = script
    policy = RecoveryPolicy(first_delay=0.1, jitter=0.0, attempts=3)
    connection = await world.connect(broker.url, recover=policy)
    report = await connection.wait_closed()
    assert len(broker.peers) == 4
    assert "given up after 3 attempts" in str(report)
    # The delays grow: 0.1, 0.2 and 0.4 seconds.
    assert world.now() - begun >= 0.7


@each_adapter
@pytest.mark.parametrize("confirm", [False, True], ids=["plain", "with confirms"])
async def test_a_publish_that_waited_hears_why_its_connection_was_given_up(world: World, confirm: bool) -> None:
    """As every other call does: not why the connection was lost before that."""
    with world.broker() as broker:
        policy = RecoveryPolicy(first_delay=0.1, jitter=0.0, attempts=1)
        connection = await world.connect(broker.url, recover=policy)
        channel = await connection.open_channel(confirm=confirm)
        broker.stop()
        waiting = world.start(channel.publish(b"x", routing_key="jobs"))
        report = await connection.wait_closed()
        with pytest.raises(EndpointClosed, match="given up after 1 attempts") as caught:
            await waiting
        assert caught.value.report == report == channel.report


@each_adapter
async def test_a_connection_that_has_lived_for_a_while_begins_its_attempts_anew(world: World) -> None:
    with world.broker() as broker:
        policy = RecoveryPolicy(first_delay=0.1, jitter=0.0, attempts=1, steady=1.0)
        async with world.connect(broker.url, recover=policy) as connection:
            for _ in range(3):
                broker.peer.cut()
                await connection.open_channel()
                await world.pause(2.0)
            assert connection.is_open


async def publishes(connection: Any, version: Version) -> Callable[[bytes], Any]:
    """Return what publishes to the queue jobs, and waits for the outcome."""
    if version is AMQP_1_0:
        sender = await (await connection.open_session()).open_sender("jobs")
        return lambda body: sender.send(body)
    part: Any = await (connection.open_channel(confirm=True) if version is AMQP_0_9_1 else connection.open_session())
    return lambda body: part.publish(body, routing_key="jobs")


def body_of(event: object) -> object:
    """The body of a message that a broker has got; None for another event."""
    message: Any = event if hasattr(event, "body") else getattr(event, "message", None)
    return getattr(message, "body", None)


def doubts(event: Recovered) -> list[object]:
    """The bodies of the messages in doubt, each of which is a whole message in 1.0."""
    return [getattr(each.body, "body", each.body) for each in event.in_doubt]


CONFIRMED = pytest.mark.parametrize("version", VERSIONS[1:], ids=lambda each: each.label)


@each_adapter
@CONFIRMED
async def test_a_message_that_ends_each_connection_is_reported_and_the_rest_goes_on(
    world: World, broker: ScriptedBroker, version: Version
) -> None:
    broker.fill("jobs")

    def script(peer: Peer, event: Event) -> bool:
        if body_of(event) == b"poison":
            peer.line.cut()
            return True
        return False

    broker.script = script
    policy = RecoveryPolicy(first_delay=0.01, tries=3)
    async with world.connect(broker.url, version, recover=policy) as connection:
        publish = await publishes(connection, version)
        events = connection.events(Recovered)
        with pytest.raises(EndpointClosed):
            await publish(b"poison")
        found = [await anext(events) for _ in range(3)]
        assert [doubts(event) for event in found] == [[], [], [b"poison"]]
        assert type(await publish(b"good")).__name__ == "Accepted"
    assert broker.bodies("jobs") == [b"good"]


@each_adapter
@CONFIRMED
async def test_a_message_whose_caller_was_told_that_it_is_in_doubt_is_not_sent_again(
    world: World, broker: ScriptedBroker, version: Version
) -> None:
    """The caller may have sent a copy, and would count it twice."""
    broker.fill("jobs")
    got: list[object] = []

    def script(peer: Peer, event: Event) -> bool:
        if body_of(event) == b"silence":
            got.append(event)
            return True
        return False

    broker.script = script
    options: Any = {"recover": SOON, "outcome_timeout": 2.0}
    async with world.connect(broker.url, version, **options) as connection:
        publish = await publishes(connection, version)
        events = connection.events(Recovered)
        with pytest.raises(AnswerTimeout, match=r"no answer within 2 seconds; the message is in doubt"):
            await publish(b"silence")
        broker.peer.cut()
        event = await anext(events)
        assert (doubts(event), event.resent) == ([b"silence"], 0)
        assert type(await publish(b"good")).__name__ == "Accepted"
        assert len(got) == 1
    assert broker.bodies("jobs") == [b"good"]


@each_adapter
@CONFIRMED
async def test_every_wait_of_a_publisher_ends_when_the_server_reads_nothing(
    world: World, broker: ScriptedBroker, version: Version
) -> None:
    broker.fill("jobs")
    async with world.connect(broker.url, version, outcome_timeout=2.0, close_timeout=1.0) as connection:
        publish = await publishes(connection, version)
        await publish(b"good")
        broker.peer.hold()
        for _ in range(6):
            begun = world.now()
            with pytest.raises(AnswerTimeout, match="no answer within 2 seconds"):
                await publish(bytes(1_000_000))
            assert world.now() - begun <= 6.1  # It waits for room, for credit and for the outcome, one after the other.


@only(lambda kind: is_adapter(kind) and has_one_thread(kind))
async def test_a_connector_that_raises_anything_fails_its_attempt_only(world: World, broker: ScriptedBroker) -> None:
    import asyncio

    calls: list[float] = []

    async def connector(factory: Any) -> object:
        calls.append(world.now())
        if len(calls) == 2:
            raise KeyError("a proxy's own exception")
        return await asyncio.get_running_loop().create_connection(factory, "127.0.0.1", broker.port)

    async with world.connect(broker.url, connector=connector, recover=SOON) as connection:
        broker.peer.cut()
        await connection.open_channel()
    assert len(calls) == 3


@each_adapter
@each_version
async def test_connection_timeout_bounds_the_whole_opening(world: World, version: Version) -> None:
    with world.broker() as broker:
        broker.faults.stall("to_client", on="next")
        begun = world.now()
        with pytest.raises(TimeoutError, match=r"127.*within 2 seconds"):
            await world.connect(f"{broker.url}?connection_timeout=2000", version)
        assert world.now() - begun < 3.0


@each_adapter
@each_version
async def test_connection_timeout_bounds_each_attempt_until_it_is_open(world: World, version: Version) -> None:
    with world.broker() as broker:
        async with world.connect(f"{broker.url}?connection_timeout=2000", version, recover=SOON) as connection:
            begun = world.now()
            events = connection.events(Recovering)
            broker.faults.stall("to_client", on="next")
            broker.peer.cut()
            await opened(connection, version)
            reports = [str((await anext(events)).report) for _ in range(2)]
            assert "it wasn't open within 2 seconds" in reports[1]
            assert 2.0 <= world.now() - begun < 5.0


@each_adapter
async def test_a_loss_and_each_failed_attempt_are_one_warning(
    world: World, broker: ScriptedBroker, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    nobody = "amqp://guest:guest@127.0.0.1:1/"
    policy = RecoveryPolicy(addresses=(nobody,), first_delay=0.1)
    async with world.connect(broker.url, recover=policy) as connection:
        waiting = world.start(connection.wait_closed())
        await world.pause(0.1)
        refusing = broker.faults.refuse()
        broker.peer.cut()
        await world.pause(0.5)
        refusing.remove()
        await connection.open_channel()
        assert not waiting.done
    lines = [each.getMessage() for each in caplog.records if each.name == LOGGERS[world.name]]
    assert "lost: " in lines[0]
    assert f"attempt 1 at amqp://guest:***@127.0.0.1:{broker.port}/" in lines[0]
    failed = [each for each in lines[1:] if "failed: " in each]
    assert failed == lines[1:]
    (refused,) = [each for each in failed if "at amqp://guest:***@127.0.0.1:1/%2F failed" in each][:1]
    assert "refused" in refused
    assert "header" not in refused
    assert "?" not in "".join(lines)
    assert "guest:guest" not in "".join(lines)


@only(lambda kind: is_adapter(kind) and has_one_thread(kind))
async def test_a_closed_connection_leaves_no_timer(world: World, broker: ScriptedBroker) -> None:
    import asyncio

    loop: Any = asyncio.get_running_loop()
    before = len(loop._world_timers)
    for _ in range(3):
        async with world.connect(broker.url, close_timeout=600.0, handshake_timeout=700.0):
            pass
    await world.pause(1.0)
    assert len(loop._world_timers) <= before + 1


@each_adapter
@each_version
async def test_a_connection_says_that_it_recovers_and_why(
    world: World, broker: ScriptedBroker, version: Version
) -> None:
    policy = RecoveryPolicy(first_delay=5.0, jitter=0.0)
    async with world.connect(broker.url, version, recover=policy) as connection:
        assert connection.report is None
        broker.peer.cut()
        await world.until(lambda: not connection.is_open)
        report = connection.report
        assert report is not None
        assert report.by is By.TRANSPORT
        assert report.hint.startswith("recovering, waiting for attempt 1 at amqp://")
        assert "recovering, waiting for attempt 1 at amqp://" in repr(connection)
        assert report.text in repr(connection)
        await world.until(lambda: connection.is_open)
        assert connection.report is None
        assert ", open>" in repr(connection)


@each_adapter
@each_version
async def test_a_first_connection_waits_for_its_broker(world: World, version: Version) -> None:
    with world.broker() as first:
        port, url = first.port, first.url
    begun = world.now()
    opening = world.start(world.connect(url, version, wait=60.0))
    await world.pause(4.0)
    assert not opening.done
    with world.broker(port=port):
        connection = await opening
        assert connection.is_open
        await connection.close()
    assert 4.0 <= world.now() - begun < 10.0


@each_adapter
async def test_a_wait_for_a_broker_ends_and_a_refusal_is_told_at_once(world: World, broker: ScriptedBroker) -> None:
    begun = world.now()
    with pytest.raises(OSError, match="refused") as caught:
        await world.connect("amqp://127.0.0.1:1/", wait=7.0)
    assert 7.0 <= world.now() - begun < 7.5
    assert any("for 7 seconds (wait)" in each for each in caught.value.__notes__)
    begun = world.now()
    with pytest.raises(EndpointClosed, match="403"):
        await world.connect(broker.url.replace("guest:guest", "guest:wrong"), wait=60.0)
    assert world.now() - begun < 2.0
    with pytest.raises(ValueError, match="wait is in seconds"):
        await world.connect(broker.url, wait=-1.0)
