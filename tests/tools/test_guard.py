"""The guard: a test of the default suite can't use the machine, and is told so."""

import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable

import pytest

from tests.kit.guard import GUARD, Guard, MachineUsed

USES: dict[str, Callable[[], object]] = {
    "sleep": lambda: time.sleep(0),
    "time": lambda: time.time(),
    "monotonic": lambda: time.monotonic(),
    "perf_counter": lambda: time.perf_counter(),
    "socket": lambda: socket.socket(),
    "pair of sockets": lambda: socket.socketpair(),
    "thread": lambda: threading.Thread(target=print).start(),
    "process": lambda: subprocess.Popen([sys.executable, "-c", ""]),
}
if hasattr(os, "fork"):
    USES["fork"] = os.fork


@pytest.mark.parametrize("use", USES.values(), ids=USES)
def test_a_use_of_the_machine_is_refused(use: Callable[[], object]) -> None:
    with pytest.raises(MachineUsed, match="has no machine"):
        use()
    assert GUARD.take()


class Holding:
    """Has taken functions out of `time` when the guard of the test below is installed."""

    now = staticmethod(time.monotonic)
    sleep = staticmethod(time.sleep)


def test_a_class_that_was_imported_before_is_refused_too() -> None:
    before = dict(vars(Holding))
    guard = Guard()
    guard.install()
    try:
        guard.shut()
        for use in (Holding.now, Holding().now, lambda: Holding.sleep(0)):
            with pytest.raises(MachineUsed, match="has no machine"):
                use()
            assert guard.take()
    finally:
        guard.is_shut = False
        guard.uninstall()
    assert (vars(Holding)["now"], vars(Holding)["sleep"]) == (before["now"], before["sleep"])


def test_the_processor_time_of_the_process_may_be_read() -> None:
    assert time.process_time() >= 0.0
    assert not GUARD.found


@pytest.mark.real("shows that a mark opens the guard")
def test_a_marked_test_has_the_machine() -> None:
    with socket.socket() as made:
        assert made.fileno() >= 0
    time.sleep(0)
    assert not GUARD.found
