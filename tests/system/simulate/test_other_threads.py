"""Threads of the machine that go on beside a world, as those of a JVM's gateway, are given the machine's functions."""

from __future__ import annotations

import time
from threading import Thread
from typing import Final

import pytest

from tests.simulate.test_outside import ASKED, WORLDS, run

OF_THE_MACHINE: Final = [
    name for name in ASKED if name.startswith(("time.", "os.", "secrets.", "uuid.")) or name == "random.SystemRandom"
]


def _elsewhere(name: str, kind: str) -> tuple[object, object]:
    """What a function gives in a program of a world, and meanwhile in a thread of the machine."""
    found: list[object] = []

    def act() -> None:
        found.append(ASKED[name]())
        thread = Thread(target=lambda: found.append(ASKED[name]()))
        thread.start()
        thread.join()

    run(kind, act)
    here, there = found
    return here, there


@WORLDS
@pytest.mark.parametrize("name", OF_THE_MACHINE)
def test_a_thread_beside_a_world_is_given_the_machines(name: str, kind: str) -> None:
    runs = [_elsewhere(name, kind) for _ in range(2)]
    assert runs[0][0] == runs[1][0]
    assert all(here != there for here, there in runs)
    if not name.startswith("time."):
        assert runs[0][1] != runs[1][1]


@WORLDS
def test_a_thread_beside_a_world_may_sleep(kind: str) -> None:
    done: list[str] = []

    def rest() -> None:
        time.sleep(0.001)
        done.append("rested")

    def act() -> None:
        thread = Thread(target=rest)
        thread.start()
        thread.join()

    run(kind, act)
    assert done == ["rested"]
