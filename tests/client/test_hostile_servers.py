"""Scripts of hostile servers against adapters: no exception that isn't documented, and no call that hangs.

HOSTILE_SCRIPTS says how many there are; `run(seed)` of tests/kit/hostile_asyncio.py or hostile_sync.py plays one.
tests/system/client has those against the blocking adapter over loopback.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterable
from typing import Any

import pytest

from amqp_sansio import By
from amqp_sansio.client.driving import BaseClient
from tests.kit import hostile_asyncio, hostile_sync
from tests.kit.hostile_asyncio import CLOSE, Attempt, run_main
from tests.kit.hostile_servers import VERSIONS, HostileServer

Run = Callable[[int], Iterable[str]]
RUNS: dict[str, tuple[Run, int]] = {"asyncio": (hostile_asyncio.run, 100), "sync": (hostile_sync.run, 100)}
"""For each adapter how a script is played, and how many are by default."""


def play(run: Run, count: int) -> None:
    """Play so many scripts: none finds a fault, some get through to the end, others stop the client on its way."""
    faults: list[str] = []
    reached: dict[str, set[str]] = {version.label: set() for version in VERSIONS}
    for seed in range(int(os.environ.get("HOSTILE_SCRIPTS", count))):
        try:
            reached[HostileServer(seed).version.label].update(run(seed))
        except AssertionError as error:
            faults.append(str(error))
    assert faults == []
    for label, notes in reached.items():
        assert {"open", "next", "accept", "close"} <= notes, label
        assert any("Closed" in note or "Ended" in note for note in notes), label


def break_client(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the client raise what no user expects."""

    def fail(self: Any, *_: Any) -> None:
        raise KeyError("nobody expects this")

    monkeypatch.setattr(BaseClient, "_over", fail)


@pytest.mark.parametrize("adapter", RUNS)
def test_no_script_hangs_a_client_or_gets_an_undocumented_exception_out_of_it(adapter: str) -> None:
    play(*RUNS[adapter])


@pytest.mark.parametrize("number", range(4), ids=[version.label for version in VERSIONS])
def test_a_close_takes_its_timeout_at_most_whatever_comes_meanwhile(number: int) -> None:
    async def main() -> None:
        attempt = Attempt(HostileServer(number, honest=True))
        connection = await attempt.connect()
        end, loop = attempt.end, asyncio.get_running_loop()
        assert end is not None
        end.deafen()
        # Nothing can be read any more behind this, so that only what is to be sent is waited for.
        loop.call_later(CLOSE / 2, attempt.drivers[0].data_received, b"\xff" * 64)
        begun = loop.time()
        assert (await connection.close()).by is By.LOCAL
        assert loop.time() - begun <= CLOSE + 0.001

    run_main(main())


def test_a_call_that_waits_for_ever_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def forget(self: Any, *_: Any) -> None:
        """Wake nobody."""

    monkeypatch.setattr(BaseClient, "done", forget)
    with pytest.raises(AssertionError, match=r"somebody waits still|never comes|takes too long"):
        for seed in range(200):
            hostile_asyncio.run(seed)


@pytest.mark.parametrize("adapter", RUNS)
def test_an_undocumented_exception_is_found(adapter: str, monkeypatch: pytest.MonkeyPatch) -> None:
    break_client(monkeypatch)
    with pytest.raises(AssertionError, match="nobody expects this"):
        for seed in range(200):
            RUNS[adapter][0](seed)
