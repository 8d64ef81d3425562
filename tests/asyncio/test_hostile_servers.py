"""Scripts of hostile servers against the asyncio adapter: no exception that isn't documented, and no call that hangs.

HOSTILE_SCRIPTS says how many there are; `run(seed)` of tests/kit/hostile_asyncio.py plays one.
"""

from __future__ import annotations

import asyncio
import os
from typing import Any

import pytest

from amqp_sansio import By
from amqp_sansio.client.driving import BaseClient
from tests.kit.hostile_asyncio import CLOSE, Attempt, MadeUpTime, run
from tests.kit.hostile_servers import VERSIONS, HostileServer

COUNT = int(os.environ.get("HOSTILE_SCRIPTS", "100"))


def test_no_script_hangs_a_client_or_gets_an_undocumented_exception_out_of_it() -> None:
    faults: list[str] = []
    reached: dict[str, set[str]] = {version.label: set() for version in VERSIONS}
    for seed in range(COUNT):
        try:
            reached[HostileServer(seed).version.label].update(run(seed))
        except AssertionError as error:
            faults.append(str(error))
    assert faults == []
    for label, notes in reached.items():
        # Some scripts get through to the end, others stop the client on its way.
        assert {"open", "next", "accept", "close"} <= notes, label
        assert any("Closed" in note or "Ended" in note for note in notes), label


@pytest.mark.parametrize("number", range(4), ids=[version.label for version in VERSIONS])
def test_a_close_takes_its_timeout_at_most_whatever_comes_meanwhile(number: int) -> None:
    async def main() -> None:
        attempt = Attempt(HostileServer(number, honest=True))
        connection = await attempt.connect()
        line, loop = attempt.line, asyncio.get_running_loop()
        assert line is not None
        line.deafen()
        # Nothing can be read any more behind this, so that only what is to be sent is waited for.
        loop.call_later(CLOSE / 2, attempt.drivers[0].data_received, b"\xff" * 64)
        begun = loop.time()
        assert (await connection.close()).by is By.LOCAL
        assert loop.time() - begun <= CLOSE + 0.001

    with asyncio.Runner(loop_factory=MadeUpTime) as runner:
        runner.run(main())


def test_a_call_that_waits_for_ever_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def forget(self: Any, *_: Any) -> None:
        """Wake nobody."""

    monkeypatch.setattr(BaseClient, "done", forget)
    with pytest.raises(AssertionError, match=r"somebody waits still|nothing is due|takes too long"):
        for seed in range(200):
            run(seed)


def test_an_undocumented_exception_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(self: Any, *_: Any) -> None:
        raise KeyError("nobody expects this")

    monkeypatch.setattr(BaseClient, "_over", fail)
    with pytest.raises(AssertionError, match="nobody expects this"):
        for seed in range(200):
            run(seed)
