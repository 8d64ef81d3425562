"""docs/tutorials.md: each tutorial does what it says, with asyncio and blocking."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Iterator
from typing import Any, Final

import pytest

from amqp_sansio.amqp_1_0 import Message
from amqp_sansio_pytest import EmbeddedBroker
from amqp_sansio_sync import connect
from tests.docs.test_pages import BLOCK, DOCS

CALLS: Final[dict[str, tuple[tuple[Any, ...], Any]]] = {
    "hello": ((), "Hello World!"),
    "work": ((["one", "two"],), ["one", "two"]),
    "logs": (("a line",), ["a line", "a line"]),
    "errors_only": ((), "error: disk"),
    "by_topic": ((), "kern.critical"),
    "fibonacci": ((30,), "832040"),
    "confirmed": (([b"1", b"2", b"3"],), 3),
}


@pytest.fixture(scope="module")
def broker() -> Iterator[EmbeddedBroker]:
    with EmbeddedBroker() as broker:
        yield broker


def names_of(*, blocking: bool) -> dict[str, Any]:
    blocks: list[str] = BLOCK.findall((DOCS / "tutorials.md").read_text(encoding="utf-8"))
    names: dict[str, Any] = {"__name__": "page"}
    for block in blocks[-2:] if blocking else blocks[:-2]:
        exec(compile(block, "tutorials.md", "exec"), names)
    return names


@pytest.mark.parametrize("blocking", [False, True], ids=["asyncio", "blocking"])
@pytest.mark.parametrize("name", CALLS)
def test_a_tutorial_does_what_it_says(broker: EmbeddedBroker, name: str, blocking: bool) -> None:
    arguments, expected = CALLS[name]
    result = names_of(blocking=blocking)[name](broker.url, *arguments)
    if inspect.iscoroutine(result):
        result = asyncio.run(asyncio.wait_for(result, 60))
    assert result == expected


def test_a_filter_selects(broker: EmbeddedBroker) -> None:
    names = names_of(blocking=True)
    with connect(broker.url) as connection:
        connection.open_channel().declare_queue("colours", durable=True)
    with (
        connect(broker.url, version="1.0") as newer,
        newer.open_session() as session,
        session.open_sender("colours") as sender,
    ):
        for colour in ("blue", "red"):
            sender.send(Message(colour.encode(), application_properties={"colour": colour}))
    assert names["take_red"](broker.url, "colours") == b"red"
