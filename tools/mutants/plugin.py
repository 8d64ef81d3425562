"""Pytest plug-in of the processes of `python -m tools.mutants`: imports changed modules, bounds what a test takes.

A mutant may loop for ever, or fill the memory. A test that takes too much CPU ends the process, and so does a process
that takes too much in all.
"""

from __future__ import annotations

import os
import resource
import signal
import time
from collections.abc import Generator
from pathlib import Path
from types import FrameType
from typing import Final

import pytest
from hypothesis import Phase, settings

from tools.mutants.job import VARIABLE, Answer, Job
from tools.mutants.loading import Finder

_MEMORY: Final = 4 << 30
_UNKNOWN: Final = 60.0
"""The most CPU seconds of a test whose cost isn't known."""


class Run:
    """Chooses the tests, and notes how they end."""

    def __init__(self, job: Job) -> None:
        self._job = job
        self._answer = Answer()
        self._reached: set[str] = set()
        self._current = ""

    def begin(self) -> None:
        """Before any module of the project is imported: the changed ones from here on, and the bounds."""
        Finder(self._job.trees(), self._reached.add).install()
        self._answer.write(Path(self._job.answer))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
        resource.setrlimit(resource.RLIMIT_CPU, (self._job.cpu, self._job.cpu + 5))
        signal.signal(signal.SIGPROF, self._end)

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        if self._job.tests is not None:
            known = {item.nodeid: item for item in items}
            items[:] = [known[test] for test in self._job.tests if test in known]

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        self._current = item.nodeid
        self._reached.clear()
        began = time.process_time()
        signal.setitimer(signal.ITIMER_PROF, self._job.limits.get(item.nodeid, _UNKNOWN))
        try:
            return (yield)
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
            self._answer.costs[item.nodeid] = round(time.process_time() - began, 4)
            for name in self._reached:
                self._answer.reached.setdefault(name, []).append(item.nodeid)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed and report.nodeid not in self._answer.failed:
            self._answer.failed.append(report.nodeid)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self._answer.failed.append(report.nodeid or "collection")

    def pytest_sessionfinish(self) -> None:
        self._answer.ended = True
        self._answer.write(Path(self._job.answer))

    def _end(self, number: int, frame: FrameType | None) -> None:
        self._answer.failed.append(self._current)
        self._answer.timed_out = True
        self._answer.ended = True
        self._answer.write(Path(self._job.answer))
        # No exception: the code that loops could catch it.
        os._exit(1)


@pytest.hookimpl(trylast=True)
def pytest_configure(config: pytest.Config) -> None:
    """After the plug-in that chooses the examples, before any test module takes them."""
    if _run is None:
        return
    config.pluginmanager.register(_run, "mutants-run")
    # A failing example is enough: nobody reads the smallest one.
    usual = settings.get_profile("steady")
    phases = [phase for phase in usual.phases if phase is not Phase.shrink]
    settings.register_profile("mutants", usual, phases=phases)
    settings.load_profile("mutants")


def _begun() -> Run | None:
    if VARIABLE not in os.environ:
        return None
    run = Run(Job.read(Path(os.environ[VARIABLE])))
    run.begin()
    return run


# When it is imported, by `-p`: plug-ins that are found by entry points come later, and import the project.
_run = _begun()
