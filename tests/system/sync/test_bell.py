"""The bell of a blocking client waits in parts where no signal interrupts a wait, as on Windows."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from typing import Any, Final

import pytest

from amqp_sansio_sync.machine import LONGEST_WAIT, QueueBell

PARTS: Final = [None, 0.01]
RUNS: Final = f"""
import os
os.name = "nt"
import sys
sys.path[:] = {sys.path!r}
from amqp_sansio_sync.machine import LONGEST_WAIT, QueueBell
print(LONGEST_WAIT)
"""


@pytest.mark.parametrize("longest", PARTS)
def test_it_wakes_who_waits_and_who_waits_next(longest: float | None) -> None:
    bell = QueueBell(longest)
    bell.ring()
    bell.ring()
    bell.wait(None)
    woken = threading.Event()

    def wait() -> None:
        bell.wait(None)
        woken.set()

    thread = threading.Thread(target=wait, daemon=True)
    thread.start()
    assert not woken.wait(0.05)
    bell.ring()
    assert woken.wait(60)
    thread.join(60)


@pytest.mark.parametrize("longest", PARTS)
@pytest.mark.parametrize("seconds", [0.0, 0.005, 0.035])
def test_it_waits_as_long_as_it_should(longest: float | None, seconds: float) -> None:
    begun = time.monotonic()
    QueueBell(longest).wait(seconds)
    assert time.monotonic() - begun >= seconds


def test_a_long_wait_is_one_of_many_parts() -> None:
    """Each part is a moment at which a handler of signals runs."""
    parts: list[float] = []

    class Counted(QueueBell):
        def __init__(self) -> None:
            super().__init__(0.01)
            inner: Any = self._queue

            class Queue:
                def get(self, *, timeout: float) -> None:
                    parts.append(timeout)
                    inner.get(timeout=timeout)

            self._queue: Any = Queue()

    Counted().wait(0.055)
    assert len(parts) >= 5
    assert max(parts) <= 0.01


def test_the_parts_are_half_a_second_on_windows_only() -> None:
    done = subprocess.run([sys.executable, "-c", RUNS], capture_output=True, text=True, timeout=60, check=False)
    assert (done.stdout, done.stderr) == ("0.5\n", "")
    assert LONGEST_WAIT is None or os.name == "nt"
