"""Scripts of hostile servers against the blocking adapter: no exception that isn't documented, and no call that hangs.

HOSTILE_SCRIPTS says how many there are; `run(seed)` of tests/kit/hostile_sync.py plays one.
"""

from __future__ import annotations

import os
from typing import Any

import pytest

from amqp_sansio.client.driving import BaseClient
from tests.kit.hostile_servers import VERSIONS, HostileServer
from tests.kit.hostile_sync import run

COUNT = int(os.environ.get("HOSTILE_SCRIPTS", "40"))


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


def test_an_undocumented_exception_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(self: Any, *_: Any) -> None:
        raise KeyError("nobody expects this")

    monkeypatch.setattr(BaseClient, "_over", fail)
    with pytest.raises(AssertionError, match="nobody expects this"):
        for seed in range(200):
            run(seed)
