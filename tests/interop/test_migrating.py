"""docs/migrating: each publisher of a page works with each consumer, on a real broker."""

from __future__ import annotations

import asyncio
import inspect
import re
from collections.abc import Iterator
from typing import Any

import pytest

from amqp_sansio_sync import connect
from tests.test_layout import ROOT

BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
PAGES = {**dict.fromkeys(("pika", "aio-pika", "kombu"), "rabbitmq"), "proton": "brokerj", "azure": "embedded"}


@pytest.fixture
def url(request: pytest.FixtureRequest) -> Iterator[str]:
    """The page's broker, with an empty queue."""
    broker = request.getfixturevalue(request.param)
    found = f"amqp://{broker.user}:{broker.password}@{broker.host}:{broker.port}/"
    with connect(found) as connection, connection.open_channel() as channel:
        channel.declare_queue("jobs", durable=True)
        channel.purge_queue("jobs")
        yield found
        channel.delete_queue("jobs")


@pytest.mark.parametrize("consumer", [2, 3], ids=["to theirs", "to ours"])
@pytest.mark.parametrize("publisher", [0, 1], ids=["theirs", "ours"])
@pytest.mark.parametrize(("page", "url"), PAGES.items(), indirect=["url"], ids=list(PAGES))
def test_programs_of_a_page(page: str, url: str, publisher: int, consumer: int) -> None:
    text = (ROOT / "docs" / "migrating" / f"{page}.md").read_text(encoding="utf-8")
    names: dict[str, Any] = {"__name__": page}
    for block in (publisher, consumer):
        exec(compile(BLOCK.findall(text)[block], f"{page}.md", "exec"), names)
    bodies = [b"%d" % number for number in range(20)]
    run(names["publish"](url, bodies))
    assert sorted(run(names["consume"](url, len(bodies)))) == sorted(bodies)


def run(result: Any) -> Any:
    """The result of a program, which may be a coroutine."""
    return asyncio.run(asyncio.wait_for(result, 60)) if inspect.isawaitable(result) else result
