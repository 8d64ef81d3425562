"""The examples of the 1.0 docstrings: they are defined as doctests do, and then run against a broker."""

from __future__ import annotations

import asyncio
import doctest
import inspect
import types
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from amqp_sansio import AMQP_1_0
from amqp_sansio.amqp_1_0 import Accepted, Message
from amqp_sansio.client.amqp_1_0 import connection, link, receiver, requester, sender, session, transaction
from amqp_sansio_asyncio import client, connect, serve, server
from amqp_sansio_asyncio.amqp_1_0 import server as server_module
from tests.kit.asyncio_broker import url_of
from tests.kit.asyncio_loops import run
from tests.kit.asyncio_nodes import nodes
from tests.kit.held_1_0 import answer

Example = Callable[..., Coroutine[Any, Any, object]]

ENDLESS = {"accept_session", "accept_link", "open_receiver"}
"""Their examples wait for what happens next, for as long as the connection lives."""


def examples(*modules: types.ModuleType) -> list[tuple[str, str, dict[str, Any]]]:
    """The examples of modules: where each is, its source, and the names it may use."""
    found: list[tuple[str, str, dict[str, Any]]] = []
    for module in modules:
        for test in doctest.DocTestFinder().find(module):
            source = "".join(each.source for each in test.examples)
            if "async def " in source:
                found.append((test.name, source, dict(vars(module))))
    return found


FOUND = examples(connection, link, receiver, requester, sender, session, transaction)


def test_there_are_examples() -> None:
    names = {name.rpartition(".")[2] for name, _, _ in FOUND}
    assert names >= {
        *("open_session", "open_sender", "open_receiver", "open_requester", "transaction"),
        *("send", "fetch", "call", "accept_session", "accept_link", "flow", "accept", "detach"),
        *("Connection", "ReceivedDelivery", "Transaction", "saved_state", "wait_credit"),
    }
    for module in (
        *(client, connection, link, receiver, requester, sender, server),
        *(server_module, session, transaction),
    ):
        results = doctest.testmod(module)
        assert results.attempted > 0
        assert results.failed == 0


@pytest.mark.parametrize(("name", "source", "names"), FOUND, ids=[each[0] for each in FOUND])
def test_the_example_runs(name: str, source: str, names: dict[str, Any]) -> None:
    names["asyncio"] = asyncio
    exec(source, names)
    example: Example = names["example"]

    async def main() -> None:
        async with nodes() as (listening, _), connect(url_of(listening), version=AMQP_1_0) as opened:
            one = await opened.open_session()
            sends = await one.open_sender("jobs")
            await sends.send(Message("ping"))
            given: dict[str, object] = {
                "url": url_of(listening),
                "connection": opened,
                "session": one,
                "sender": sends,
                "receiver": await one.open_receiver("jobs", credit=0),
                "requester": await one.open_requester("rpc"),
            }
            replies = asyncio.ensure_future(answer(opened, 1))
            wanted = [given[each] for each in inspect.signature(example).parameters]
            if name.rpartition(".")[2] in ENDLESS:
                with pytest.raises(TimeoutError):
                    async with asyncio.timeout(0.1):
                        await example(*wanted)
            else:
                await example(*wanted)
            replies.cancel()
            await asyncio.wait([replies])

    run(main())


def test_the_server_of_the_docstring() -> None:
    ((_, source, names),) = [each for each in examples(server_module) if "handle(connection" in each[1]]
    exec(source, names)

    async def main() -> None:
        async with (
            serve(names["handle"], version=AMQP_1_0) as listening,
            connect(url_of(listening), version=AMQP_1_0) as opened,
        ):
            one = await opened.open_session()
            async with one.open_sender("anything") as sends:
                assert await sends.send(b"x") == Accepted()

    run(main())
