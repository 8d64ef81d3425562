"""The examples of the docstrings of 0-10 and 1.0: they are defined as doctests do, and then run against a broker."""

from __future__ import annotations

import asyncio
import doctest
import inspect
from collections.abc import Callable, Coroutine
from types import ModuleType
from typing import Any, Final

import pytest

from amqp_sansio import AMQP_0_10, AMQP_1_0, Accepted, Version, amqp_1_0
from amqp_sansio.amqp_0_10.endpoint import kept_sessions
from amqp_sansio.amqp_0_10.spec import ExchangeDeclare, Xid
from amqp_sansio.amqp_1_0 import Message
from amqp_sansio.client.amqp_0_10 import connection as connection_0_10
from amqp_sansio.client.amqp_0_10 import publishing, subscription
from amqp_sansio.client.amqp_0_10 import session as session_0_10
from amqp_sansio.client.amqp_0_10 import transaction as transaction_0_10
from amqp_sansio.client.amqp_1_0 import connection, link, receiver, requester, sender, session, transaction
from amqp_sansio_asyncio import client, connect, server
from amqp_sansio_asyncio import serve as serve_one
from amqp_sansio_asyncio.amqp_0_10 import server as server_0_10
from amqp_sansio_asyncio.amqp_0_10 import session_registry
from amqp_sansio_asyncio.amqp_1_0 import server as server_1_0
from tests.kit.asyncio_broker import url_of
from tests.kit.asyncio_loops import run
from tests.kit.held_1_0 import answer
from tests.kit.world_broker import WorldBroker

serve: Any = serve_one
"""For a version that a parameter names."""
Example = Callable[..., Coroutine[Any, Any, object]]

USED: Final = {
    AMQP_0_10: (connection_0_10, session_0_10, subscription, transaction_0_10),
    AMQP_1_0: (connection, link, receiver, requester, sender, session, transaction),
}
"""The modules whose examples are run, by version; those of the others are only defined."""
OTHERS: Final = (client, server, server_0_10, server_1_0, session_registry, kept_sessions, publishing)
ENDLESS: Final = {"accept_session", "accept_link", "open_receiver", "subscribe"}
"""Their examples wait for what happens next, for as long as the connection lives."""
NAMES: Final = {
    *("open_session", "open_sender", "open_receiver", "open_requester", "transaction", "branch", "resume_session"),
    *("send", "fetch", "call", "accept_session", "accept_link", "flow", "accept", "detach", "publish", "subscribe"),
    *("Connection", "ReceivedDelivery", "Transaction", "saved_state", "wait_credit", "grant", "ReceivedMessage"),
}
"""Some that have an example."""


def examples(module: ModuleType) -> list[tuple[str, str, dict[str, Any]]]:
    """The coroutines of a module's examples: where each is, its source, and the names it may use."""
    found: list[tuple[str, str, dict[str, Any]]] = []
    for test in doctest.DocTestFinder().find(module):
        source = "".join(each.source for each in test.examples)
        if "async def " in source:
            found.append((test.name, source, dict(vars(module))))
    return found


FOUND: Final = [(version, *each) for version, modules in USED.items() for one in modules for each in examples(one)]


def test_there_are_examples() -> None:
    assert {name.rpartition(".")[2] for _, name, _, _ in FOUND} >= NAMES
    results = [doctest.testmod(module) for module in (*OTHERS, *USED[AMQP_0_10], *USED[AMQP_1_0])]
    assert sum(each.attempted > 0 for each in results) > 14
    assert not any(each.failed for each in results)


async def given(version: Version, opened: Any, url: str) -> dict[str, object]:
    """What an example may ask for, by the names of its parameters."""
    one = await opened.open_session(**({"timeout": 100} if version is AMQP_0_10 else {}))
    if version is AMQP_0_10:
        await one.call(ExchangeDeclare("answers", "direct"))
        kept = await opened.open_session("kept", timeout=100)
        return {
            "state": await kept.detach(),
            "session": one,
            "subscription": await one.subscribe("jobs", credit=1),
            "xid": Xid(1, b"g", b"b"),
            "connection": opened,
            "url": url,
        }
    sends = await one.open_sender("jobs")
    await sends.send(Message("ping"))
    return {
        "connection": opened,
        "session": one,
        "sender": sends,
        "receiver": await one.open_receiver("jobs", credit=0),
        "requester": await one.open_requester("rpc"),
        "url": url,
    }


@pytest.mark.parametrize(("version", "name", "source", "names"), FOUND, ids=[each[1] for each in FOUND])
def test_the_example_runs(version: Version, name: str, source: str, names: dict[str, Any]) -> None:
    names["asyncio"] = asyncio
    exec(source, names)
    example: Example = names["example"]

    async def main(url: str) -> None:
        async with connect(url, version=version) as opened:
            found = await given(version, opened, url)
            replies = asyncio.ensure_future(answer(opened, 1)) if version is AMQP_1_0 else None
            wanted = [found[each] for each in inspect.signature(example).parameters]
            if name.rpartition(".")[2] in ENDLESS:
                with pytest.raises(TimeoutError):
                    async with asyncio.timeout(0.1):
                        await example(*wanted)
            else:
                await example(*wanted)
            if replies is not None:
                replies.cancel()
                await asyncio.wait([replies])

    with WorldBroker() as broker:
        for queue in ("jobs", "rpc", "orders", "temporary", "answers", "replies"):
            broker.fill(queue)
        broker.publish(b"1", routing_key="jobs")
        run(main(broker.url), world=broker.world)


@pytest.mark.parametrize("module", [server_0_10, server_1_0])
def test_the_server_of_the_docstring(module: ModuleType) -> None:
    ((_, source, names),) = [each for each in examples(module) if "handle(connection" in each[1]]
    exec(source, names)

    async def main() -> None:
        version = AMQP_0_10 if module is server_0_10 else AMQP_1_0
        async with (
            serve(names["handle"], version=version) as listening,
            connect(url_of(listening), version=version) as opened,
        ):
            one: Any = await opened.open_session()
            if version is AMQP_0_10:
                assert await one.publish(b"x", "anything") == Accepted()
            else:
                async with one.open_sender("anything") as sends:
                    assert await sends.send(b"x") == amqp_1_0.Accepted()

    run(main())
