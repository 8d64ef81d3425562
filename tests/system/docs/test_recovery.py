"""docs/recovery.md: its programs publish and consume everything while connections are cut."""

from __future__ import annotations

import asyncio
import re
from typing import Any, Final

import pytest

from amqp_sansio_pytest import EmbeddedBroker
from tests.test_layout import ROOT

PAGE: Final = (ROOT / "docs" / "recovery.md").read_text(encoding="utf-8")
BLOCKS: Final = re.findall(r"^```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


def loaded() -> dict[str, Any]:
    """The names of all blocks."""
    names: dict[str, Any] = {"__name__": "recovery"}
    for block in BLOCKS:
        exec(compile(block, "recovery.md", "exec"), names)
    return names


def test_all_is_published_and_consumed_although_connections_are_cut() -> None:
    names = loaded()
    bodies = [b"%d" % number for number in range(200)]
    with EmbeddedBroker() as broker:
        with broker.faults.cut_after(3000) as fault:
            asyncio.run(names["publish_all"](broker.url, bodies))
            fault.wait_hit()
        found = names["take_all"](broker.url, len(broker.messages("jobs")))
    assert set(found) == set(bodies)


def test_the_events_tell_of_the_attempts() -> None:
    names = loaded()

    async def main(broker: EmbeddedBroker) -> list[str]:
        async with names["connect"](broker.url, recover=names["POLICY"]) as connection:
            watching = asyncio.ensure_future(names["watch"](connection))
            await asyncio.sleep(0)
            await asyncio.to_thread(broker.faults.close_connections)
            lines: list[str] = await watching
            return lines

    with EmbeddedBroker() as broker:
        first, last = asyncio.run(main(broker))
    assert first.startswith("attempt 1 to amqp://")
    assert last.endswith(": 0 sent again, 0 in doubt")


@pytest.mark.parametrize("program", ["move_exactly_once", "move_in_sessions"])
def test_what_is_resumed_moves_each_message_once(program: str) -> None:
    names = loaded()
    bodies = [b"%d" % number for number in range(300)]
    with EmbeddedBroker(definitions={"queues": ["jobs"]}) as broker:
        with broker.faults.cut_after(9000) as fault:
            found = asyncio.run(names[program](broker.url, bodies))
            fault.wait_hit()
        assert not broker.messages("jobs")
    assert found == bodies


def test_a_program_starts_before_its_broker() -> None:
    with EmbeddedBroker() as broker:
        assert loaded()["start"](broker.url)
