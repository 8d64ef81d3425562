"""The examples of the 0-10 docstrings: they are defined as doctests do, and then run against a broker."""

from __future__ import annotations

import asyncio
import doctest
import inspect
import types
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from amqp_sansio import AMQP_0_10
from amqp_sansio.amqp_0_10 import Xid
from amqp_sansio.amqp_0_10.endpoint import kept_sessions
from amqp_sansio.client.amqp_0_10 import connection, publishing, session, subscription, transaction
from amqp_sansio.events import Accepted
from amqp_sansio_asyncio import connect, serve
from amqp_sansio_asyncio.amqp_0_10 import server as server_module
from amqp_sansio_asyncio.amqp_0_10 import session_registry
from tests.kit.asyncio_broker import url_of
from tests.kit.asyncio_loops import run
from tests.kit.asyncio_node_0_10 import node

Example = Callable[..., Coroutine[Any, Any, object]]
MODULES = (connection, session_registry, kept_sessions, publishing, session, subscription, transaction, server_module)

ENDLESS = {"subscribe"}
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


FOUND = examples(connection, session, subscription, transaction)


def test_there_are_examples() -> None:
    names = {name.rpartition(".")[2] for name, _, _ in FOUND}
    assert names >= {
        *("open_session", "resume_session", "call", "publish", "subscribe", "accept", "transaction"),
        *("branch", "detach", "fetch", "grant", "Connection", "ReceivedMessage"),
    }
    attempted = 0
    for module in MODULES:
        results = doctest.testmod(module)
        attempted += results.attempted
        assert results.failed == 0
    assert attempted > 20


@pytest.mark.parametrize(("name", "source", "names"), FOUND, ids=[each[0] for each in FOUND])
def test_the_example_runs(name: str, source: str, names: dict[str, Any]) -> None:
    names["asyncio"] = asyncio
    exec(source, names)
    example: Example = names["example"]

    async def main() -> None:
        async with node() as (listening, made), connect(url_of(listening), version=AMQP_0_10) as opened:
            made.put("jobs", b"1")
            made.exchanges["answers"] = "direct"
            kept_one = await opened.open_session("kept", timeout=100)
            state = await kept_one.detach()
            one = await opened.open_session(timeout=100)
            given: dict[str, object] = {
                "url": url_of(listening),
                "connection": opened,
                "session": one,
                "state": state,
                "subscription": await one.subscribe("jobs", credit=1),
                "xid": Xid(1, b"g", b"b"),
            }
            wanted = [given[each] for each in inspect.signature(example).parameters]
            if name.rpartition(".")[2] in ENDLESS:
                with pytest.raises(TimeoutError):
                    async with asyncio.timeout(0.1):
                        await example(*wanted)
            else:
                await example(*wanted)

    run(main())


def test_the_server_of_the_docstring() -> None:
    ((_, source, names),) = [each for each in examples(server_module) if "handle(connection" in each[1]]
    exec(source, names)

    async def main() -> None:
        async with (
            serve(names["handle"], version=AMQP_0_10) as listening,
            connect(url_of(listening), version=AMQP_0_10) as opened,
        ):
            one = await opened.open_session()
            assert await one.publish(b"x", "anything") == Accepted()

    run(main())
