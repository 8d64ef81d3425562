"""docs/messaging.md's service goes on whatever one request is, in every version, in a simulated world."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Coroutine
from pathlib import Path
from typing import Any, Final

import pytest

from amqp_sansio.messaging import Message
from amqp_sansio.testing.simulate import World
from amqp_sansio_asyncio.messaging import connect
from amqp_sansio_asyncio.simulated import simulated_loop

PAGE: Final = (Path(__file__).resolve().parents[2] / "docs" / "messaging.md").read_text(encoding="utf-8")
BLOCKS: Final = re.findall(r"^```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
VERSIONS: Final = pytest.mark.parametrize("version", ["0-8", "0-9-1", "0-10", "1.0"])
POISON: Final[dict[str, dict[str, Any]]] = {
    "without a reply address": {},
    "to a queue that is gone": {"reply_to": "/queues/gone"},
    "to an exchange that isn't there": {"reply_to": "/exchanges/nope/key"},
    "to a full queue": {"reply_to": "/queues/full"},
    "to no address": {"reply_to": "/queues/%"},
    "to nobody": {"reply_to": "amq.rabbitmq.reply-to.gone"},
}


def names() -> dict[str, Any]:
    """What the page's service defines."""
    (block,) = [each for each in BLOCKS if "async def serve(" in each]
    found: dict[str, Any] = {"__name__": "messaging"}
    exec(compile(re.sub(r"^asyncio\.run\(.*\n", "", block, flags=re.MULTILINE), "messaging.md", "exec"), found)
    return found


def run(world: World, main: Coroutine[Any, Any, None]) -> None:
    with asyncio.Runner(loop_factory=lambda: simulated_loop(world)) as runner:
        runner.run(asyncio.wait_for(main, 3600))


@VERSIONS
def test_the_page_runs(version: str, capsys: pytest.CaptureFixture[str]) -> None:
    with World() as world:
        world.declare("rpc")
        world.declare("jobs")
        run(world, names()["main"](f"amqp://broker/?version={version}"))
        queue = world.hub().model.vhosts["/"].queues["jobs"]
        assert queue.messages == 2
    assert capsys.readouterr().out == "PING\n"


@VERSIONS
@pytest.mark.parametrize("poison", POISON)
def test_a_service_goes_on_behind_a_request_that_can_not_be_answered(version: str, poison: str) -> None:
    """At its next start, too: the request doesn't come again."""
    url = f"amqp://broker/?version={version}"

    async def main(world: World) -> None:
        async with connect(url) as connection, connect(url) as asking:
            async with asking.sender("/queues/rpc") as sender:
                await sender.send(Message(b"x", **POISON[poison]))
            for _ in range(2):
                service = asyncio.create_task(names()["serve"](connection))
                reply = await asking.request("/queues/rpc", Message(b"ping"), timeout=60)
                assert reply.body == b"PING"
                # What it does behind the reply is done.
                await asyncio.sleep(1)
                assert not service.done()
                service.cancel()
                await asyncio.wait([service])
            assert world.hub().model.vhosts["/"].queues["rpc"].messages == 0

    with World() as world:
        world.declare("rpc")
        run(world, fill(world, url))
        run(world, main(world))


async def fill(world: World, url: str) -> None:
    """A queue that takes nothing."""
    from amqp_sansio.broker.model.commands import DeclareQueue, OpenOwner

    owner = world.hub().apply(OpenOwner("/"))
    arguments = {"x-max-length": 0, "x-overflow": "reject-publish"}
    world.hub().apply(DeclareQueue(owner, "full", durable=True, arguments=arguments))


@VERSIONS
def test_a_service_goes_on_when_its_connection_is_lost_under_a_request(version: str) -> None:
    url = f"amqp://broker/?version={version}"

    async def main(world: World) -> None:
        async with connect(url, recover=True) as connection:
            service = asyncio.create_task(names()["serve"](connection))
            await asyncio.sleep(1)
            lines = list(world.lines)
            async with connect(url) as asking:
                await asyncio.sleep(1)
                asked = asyncio.create_task(asking.request("/queues/rpc", Message(b"ping"), timeout=600))
                for _ in range(3):
                    await asyncio.sleep(0)
                for line in lines:
                    world.cut(line)
                assert (await asked).body == b"PING"
                await asyncio.sleep(1)
            assert not service.done()
            service.cancel()
            await asyncio.wait([service])

    with World() as world:
        world.declare("rpc")
        run(world, main(world))


@VERSIONS
@pytest.mark.parametrize("opens", ["sender", "receiver"])
def test_no_address_is_a_value_error_in_every_version(version: str, opens: str) -> None:
    """A request that asks for no reply has the address None, which its type tells only those who check types."""

    async def main() -> None:
        async with connect(f"amqp://broker/?version={version}") as connection:
            for address in (Message(b"").reply_to, ""):
                with pytest.raises(ValueError, match=r"an address is (None|empty)"):
                    await getattr(connection, opens)(address)
            assert connection.is_open

    with World() as world:
        run(world, main())
