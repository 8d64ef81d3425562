"""The functions of docs/publishing.md: each publishes everything once, in order, and tells of what isn't taken."""

from __future__ import annotations

from typing import Any

import pytest

from amqp_sansio_asyncio import connect
from tests.docs.test_pages import BLOCK, DOCS
from tests.kit.asyncio_loops import run
from tests.kit.world_broker import WorldBroker

WAYS = ("one_by_one", "together", "later")


def functions() -> dict[str, Any]:
    (block,) = BLOCK.findall((DOCS / "publishing.md").read_text(encoding="utf-8"))
    names: dict[str, Any] = {"__name__": "publishing"}
    exec(compile(block, "publishing.md", "exec"), names)
    return names


async def _publish(url: str, way: str, bodies: list[bytes], bound: int, room: int | None = None) -> None:
    arguments = {} if room is None else {"x-max-length": room, "x-overflow": "reject-publish"}
    async with connect(url) as connection, connection.open_channel(confirm=True) as channel:
        await channel.declare_queue("jobs", arguments=arguments, durable=True)
        bounds = {} if way == "one_by_one" else {"size" if way == "together" else "most": bound}
        await functions()[way](channel, bodies, **bounds)


@pytest.mark.parametrize("way", WAYS)
def test_everything_is_published_once_and_in_order(way: str) -> None:
    bodies = [b"%d" % number for number in range(25)]
    with WorldBroker() as broker:
        run(_publish(broker.url, way, bodies, 10), world=broker.world)
        assert [each.body for each in broker.messages("jobs")] == bodies


@pytest.mark.parametrize("way", WAYS)
def test_what_is_not_taken_is_told(way: str) -> None:
    with WorldBroker() as broker, pytest.raises(RuntimeError, match="has not taken it: Rejected"):
        run(_publish(broker.url, way, [b"x"] * 12, 4, room=9), world=broker.world)
