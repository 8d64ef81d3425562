"""The usual form of a consumer, `delivery.process()`, in every version, the neutral API and both adapters."""

from __future__ import annotations

from contextlib import AsyncExitStack
from typing import Any

import pytest

from amqp_sansio import AMQP_0_8, AMQP_0_9_1, AMQP_0_10, AMQP_1_0, Version
from amqp_sansio.client.recovery import RecoveryPolicy
from tests.kit.scenarios import is_adapter, only
from tests.kit.scripted import ScriptedBroker
from tests.kit.worlds import World

VERSIONS = (AMQP_0_8, AMQP_0_9_1, AMQP_0_10, AMQP_1_0)
KINDS = [*((version, False) for version in VERSIONS), *((version, True) for version in VERSIONS[1:])]
each_kind = pytest.mark.parametrize(
    ("version", "is_neutral"), KINDS, ids=[f"{each.label}{' neutral' * neutral}" for each, neutral in KINDS]
)
each_adapter = only(is_adapter)
SOON = RecoveryPolicy(first_delay=0.1, jitter=0.0)


async def opened(world: World, url: str, version: Version, is_neutral: bool, stack: AsyncExitStack) -> Any:
    """Deliveries from the queue "jobs"."""
    if is_neutral:
        neutral: Any = world.connect_any(f"{url}?version={version.label}", recover=SOON)
        connection = await stack.enter_async_context(neutral)
        return await stack.enter_async_context(connection.receiver("/queues/jobs", credit=1))
    options: Any = world.connect(url, version, recover=SOON)
    connection = await stack.enter_async_context(options)
    if version is AMQP_1_0:
        session = await connection.open_session()
        return await session.open_receiver("jobs", credit=1)
    if version is AMQP_0_10:
        session = await connection.open_session()
        return await session.subscribe("jobs", credit=1)
    channel = await connection.open_channel()
    return await stack.enter_async_context(channel.consume("jobs", prefetch=1))


@each_adapter
@each_kind
async def test_work_is_accepted_at_its_end_and_released_by_an_exception(
    world: World, broker: ScriptedBroker, version: Version, is_neutral: bool
) -> None:
    broker.fill("jobs", b"1", b"2")
    async with AsyncExitStack() as stack:
        deliveries = await opened(world, broker.url, version, is_neutral, stack)
        delivery = await anext(deliveries)
        with pytest.raises(KeyError):
            async with delivery.process():
                raise KeyError
        # One of these is the first once more.
        for _ in range(2):
            async with (await anext(deliveries)).process():
                pass
        await world.until(lambda: not broker.messages("jobs"))
    assert broker.bodies("jobs") == []


@each_adapter
@each_kind
async def test_what_was_settled_within_stays_as_it_is(
    world: World, broker: ScriptedBroker, version: Version, is_neutral: bool
) -> None:
    broker.fill("jobs", b"1", b"2")
    async with AsyncExitStack() as stack:
        deliveries = await opened(world, broker.url, version, is_neutral, stack)
        delivery = await anext(deliveries)
        async with delivery.process():
            await delivery.reject()
        async with (await anext(deliveries)).process():
            pass
    assert broker.bodies("jobs") == []


@each_adapter
@each_kind
async def test_a_stale_one_is_passed_over_and_comes_again(
    world: World, broker: ScriptedBroker, version: Version, is_neutral: bool
) -> None:
    broker.fill("jobs", b"1")
    found = 0
    async with AsyncExitStack() as stack:
        deliveries = await opened(world, broker.url, version, is_neutral, stack)
        for each in range(2):
            delivery = await anext(deliveries)
            async with delivery.process():
                found += 1
                if not each:
                    broker.peer.cut()
                    await world.pause(6.0)
                    await world.until(lambda: len(broker.peers) == 2)
        await world.until(lambda: not broker.messages("jobs"))
    assert found == 2
