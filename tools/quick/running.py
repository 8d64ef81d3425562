"""Runs the chosen test modules in this process, nearest first, and starts no more tests when the time is over."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import Final

import pytest

OPTIONS: Final = ("-q", "-p", "no:randomly", "-p", "no:cacheprovider", "-p", "no:xdist")


def run(names: Iterable[str], until: float) -> int:
    """Run the tests of these modules until the process's clock shows `until`; return pytest's exit status."""
    return int(pytest.main([*OPTIONS, *names], plugins=[Limit(until)]))


class Limit:
    """Leaves out the tests that would begin after a time, and says how many: the costs are of another machine."""

    def __init__(self, until: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._until = until
        self._clock = clock
        self.left_out = 0

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self) -> bool | None:
        """Take the test's place when the time is over."""
        if self._clock() < self._until:
            return None
        self.left_out += 1
        return True

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Say what wasn't run."""
        if self.left_out:
            terminalreporter.write_line(f"The time is over: {self.left_out} tests of these modules weren't run.")
