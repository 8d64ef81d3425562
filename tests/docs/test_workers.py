"""docs/workers.md: its pools go on after every loss, in a simulated world."""

from __future__ import annotations

import re
from typing import Any, Final

import pytest

from amqp_sansio.amqp_0_9_1 import BasicProperties
from amqp_sansio.testing.simulate import Fault, Hazards, Kind, Process, Seeded, World
from amqp_sansio_asyncio.simulated import simulated
from tests.test_layout import ROOT

BLOCKS: Final = re.findall(
    r"^```python\n(.*?)^```", (ROOT / "docs" / "workers.md").read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
)
URL: Final = "amqp://guest:guest@broker/"


@pytest.mark.parametrize("seed", range(4))
def test_the_pool_of_asyncio_goes_on_after_every_loss(seed: int) -> None:
    names: dict[str, Any] = {"__name__": "workers"}
    exec(compile(BLOCKS[0], "workers.md", "exec"), names)
    jobs = 30
    with World(Seeded(seed), Hazards(faults=(), most=0)) as world:
        world.declare("answers")
        pool = world.start(simulated(lambda: names["main"](URL), name="pool"), restarts=False)

        async def asker(process: Process) -> None:
            async with process.connect(recover=True) as connection, connection.open_channel(confirm=True) as channel:
                await process.sleep(1.0)
                for number in range(jobs):
                    properties = BasicProperties(reply_to="answers", correlation_id=str(number))
                    await channel.publish_json([number, 1], routing_key="jobs", properties=properties)
                    await process.sleep(0.3)

        world.start(asker, ends=True)
        world.pass_time(1.0)
        for number in range(12):
            # Between two steps, so that deliveries and answers are under way.
            for _ in range(50 + 7 * number + seed):
                world.step()
            world.go_wrong((Fault.CUT,), number + seed)
        world.run()
        left = [each for each in world.findings() if each.kind is Kind.LEFT]
        assert world.findings() == left
        assert {each.body for each in left} == {b"%d" % (number + 1) for number in range(jobs)}
        assert pool.is_alive
