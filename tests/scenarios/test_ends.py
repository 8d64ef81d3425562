"""Ends that the peer doesn't answer, in every version: those of contexts within each other take no longer than one."""

from __future__ import annotations

from contextlib import AsyncExitStack
from typing import Any

import pytest

from amqp_sansio.versions import AMQP_0_9_1, AMQP_0_10, AMQP_1_0, Version
from tests.kit.scripted import ScriptedBroker
from tests.kit.worlds import VIRTUAL_WORLDS, World

CLOSE_TIMEOUT = 0.5
IN_TIME = r"within 0\.5 seconds"


async def enter(world: World, broker: ScriptedBroker, version: Version, stack: AsyncExitStack) -> Any:
    """Enter a connection and what it has of everything within each other; then let the peer read nothing any more."""
    enter = stack.enter_async_context
    connection: Any
    if version is AMQP_0_9_1:
        connection = await enter(world.connect(broker.url, close_timeout=CLOSE_TIMEOUT))
        channel: Any = await enter(connection.open_channel())
        await enter(channel.consume("q"))
    elif version is AMQP_0_10:
        connection = await enter(world.connect_0_10(broker.url, close_timeout=CLOSE_TIMEOUT))
        session: Any = await enter(connection.open_session())
        await enter(session.subscribe("q"))
    else:
        connection = await enter(world.connect_1_0(broker.url, close_timeout=CLOSE_TIMEOUT))
        links: Any = await enter(connection.open_session())
        await enter(links.open_sender("q"))
        await enter(links.open_receiver("q"))
    broker.peers[-1].hold()
    return connection


@pytest.mark.parametrize("version", [AMQP_0_9_1, AMQP_0_10, AMQP_1_0], ids=lambda each: each.label)
async def test_ends_that_nobody_answers_take_the_time_of_one(
    world: World, broker: ScriptedBroker, version: Version
) -> None:
    broker.fill("q")
    began, connection = 0.0, None
    with pytest.raises(TimeoutError, match=IN_TIME):
        async with AsyncExitStack() as stack:
            connection = await enter(world, broker, version, stack)
            began = world.now()
    took = world.now() - began
    assert took >= CLOSE_TIMEOUT
    assert took < CLOSE_TIMEOUT * 1.5 or type(world) not in VIRTUAL_WORLDS
    assert connection is not None and not connection.is_open


@pytest.mark.parametrize("version", [AMQP_0_9_1, AMQP_0_10, AMQP_1_0], ids=lambda each: each.label)
async def test_an_error_that_leaves_is_the_better_reason(
    world: World, broker: ScriptedBroker, version: Version
) -> None:
    broker.fill("q")
    with pytest.raises(ValueError, match="mine") as caught:
        async with AsyncExitStack() as stack:
            await enter(world, broker, version, stack)
            raise ValueError("mine")
    assert caught.value.args == ("mine",)
