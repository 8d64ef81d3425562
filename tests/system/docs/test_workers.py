"""docs/workers.md: its pools do their jobs, put aside what they cannot do, and end at SIGTERM with all settled."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import threading
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any, Final

import pytest

from amqp_sansio_pytest import EmbeddedBroker
from amqp_sansio_sync import connect
from tests.test_layout import ROOT

BLOCKS: Final = re.findall(
    r"^```python\n(.*?)^```", (ROOT / "docs" / "workers.md").read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
)
IN_ASYNCIO, IN_THREADS, ASKING, RETRYING = BLOCKS


def loaded(block: str) -> Any:
    """A block's names."""
    names: dict[str, Any] = {"__name__": "workers"}
    exec(compile(block, "workers.md", "exec"), names)
    return SimpleNamespace(**names)


@pytest.fixture
def broker() -> Iterator[EmbeddedBroker]:
    """A broker with somewhere for dead letters to go."""
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    with EmbeddedBroker() as broker:
        broker.preload(
            {
                "queues": ["aside"],
                "exchanges": [{"name": "failed", "type": "fanout", "durable": True}],
                "bindings": [{"source": "failed", "destination": "aside"}],
            }
        )
        yield broker
    for number, handler in before.items():
        signal.signal(number, handler)


def ask_and_end(broker: EmbeddedBroker, answers: list[int]) -> None:
    """Wait for the pool, ask it, give it a job that it can't do, and end it."""
    broker.wait_for(lambda it: "jobs" in it.queues and it.queue("jobs").consumers)
    broker.publish(b"no job", routing_key="jobs")
    answers += [loaded(ASKING).ask(broker.url, [number, 2]) for number in range(20)]
    os.kill(os.getpid(), signal.SIGTERM)


def lacks(*_: object) -> None:
    """What loops do for which Windows has nothing."""
    raise NotImplementedError


@pytest.mark.parametrize("block", [IN_ASYNCIO, IN_THREADS], ids=["asyncio", "threads"])
def test_a_pool(block: str, broker: EmbeddedBroker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asyncio.SelectorEventLoop, "add_signal_handler", lacks)
    answers: list[int] = []
    asking = threading.Thread(target=ask_and_end, args=(broker, answers))
    asking.start()
    running = loaded(block).main(broker.url)
    if running is not None:
        asyncio.run(running)
    asking.join()
    assert answers == [number + 2 for number in range(20)]
    assert [message.body for message in broker.messages("aside")] == [b"no job"]
    assert (broker.queue("jobs").ready, broker.queue("jobs").unsettled) == (0, 0)


def test_a_job_comes_back(broker: EmbeddedBroker) -> None:
    loaded(RETRYING).declare_retries(broker.url, 60_000)
    with connect(broker.url) as connection, connection.open_channel(confirm=True) as channel:
        channel.publish(json.dumps([1]).encode(), routing_key="jobs")
        delivery = channel.get("jobs")
        assert delivery is not None
        delivery.reject()
        assert channel.get("jobs") is None
        broker.clock.advance(60)
        again = channel.get("jobs")
        assert again is not None
        assert again.headers["x-death"][0]["count"] == 1
