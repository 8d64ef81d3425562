"""Pytest plug-in: counts the processor time of each test, and names those that take too much.

A test outside tests/system that takes more than `MOST` seconds is named at the end of the run: it is to be made smaller
or moved. Above `TOO_MUCH` it fails the run; the room between the two is for slow machines, so no run fails by luck.
Processor time, that of child processes included, doesn't depend on what else the machine does.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Generator
from pathlib import Path
from typing import Final, cast

import pytest

from tools.quick.costs import write_costs

from .guard import is_free

MOST: Final = 1.0
"""Seconds of processor time that a test of the default suite should not reach."""
TOO_MUCH: Final = 4.0
"""Seconds that fail the run."""
SHOWN: Final = 20
_PROPERTY = "processor seconds"


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("costs")
    group.addoption("--costs", metavar="FILE", type=Path, help="write the processor time of each test module")


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(_Meter(), "cost-meter")
    if not hasattr(config, "workerinput"):
        # With all their examples, tests may take as long as they need.
        is_large = bool(config.getoption("--full-examples")) or config.getoption("--explore") is not None
        config.pluginmanager.register(_Costs(cast("Path | None", config.getoption("--costs")), is_large), "costs")


def processor_seconds() -> float:
    """Processor time of this process and of those of its children that have ended."""
    now = os.times()
    return now.user + now.system + now.children_user + now.children_system


class _Meter:
    """In the process that runs a test: puts its cost into the report of its last phase."""

    def __init__(self) -> None:
        self._began = 0.0

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self) -> Generator[None, object, object]:
        self._began = processor_seconds()
        return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        report = yield
        if call.when == "teardown":
            report.user_properties.append((_PROPERTY, (processor_seconds() - self._began, is_free(item))))
        return report


class _Costs:
    """In the process that the user started: gathers what all have measured."""

    def __init__(self, target: Path | None, is_large: bool) -> None:
        self._target = target
        self._is_large = is_large
        self._costs: dict[str, float] = {}
        self._offenders: dict[str, float] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        for name, value in report.user_properties:
            if name == _PROPERTY and report.when == "teardown":
                seconds, free = cast("tuple[float, bool]", value)
                self._costs[report.nodeid] = seconds
                if seconds > MOST and not free and not self._is_large:
                    self._offenders[report.nodeid] = seconds

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if self._target is not None:
            modules: defaultdict[str, float] = defaultdict(float)
            for name, seconds in self._costs.items():
                modules[name.partition("::")[0]] += seconds
            write_costs(self._target, modules, session.config.rootpath)
        if max(self._offenders.values(), default=0.0) > TOO_MUCH and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        write = terminalreporter.write_line
        write(f"processor time of the tests: {sum(self._costs.values()):.0f} s")
        for name, seconds in sorted(self._offenders.items(), key=lambda row: -row[1])[:SHOWN]:
            limit = TOO_MUCH if seconds > TOO_MUCH else MOST
            write(f"takes more than {limit:g} s of processor time, make it smaller or move it: {seconds:.1f} s {name}")
