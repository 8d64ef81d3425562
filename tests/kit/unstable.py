"""Pytest plug-in: with `--again-alone=FOLDER`, a failed test of what is real runs once more, alone in a fresh process.

That is tests/system, and tests/interop, whose peers are other programs. Continuous integration uses it. If all that
failed pass then, the run is green, and its last lines say `unstable: NAME` for each; FOLDER keeps both outputs. Whoever
sees such a line mends the test next. The default suite is never run again, and neither is anything when more than
`MOST` tests failed.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Final, cast

import pytest

MOST: Final = 5
"""Failed tests of one run that may run again."""
SECONDS: Final = 600
REAL: Final = ("tests/system/", "tests/interop/")


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("unstable")
    group.addoption(
        "--again-alone",
        metavar="FOLDER",
        type=Path,
        help="run failed tests of tests/system and tests/interop again, each alone",
    )


def pytest_configure(config: pytest.Config) -> None:
    folder = cast("Path | None", config.getoption("--again-alone"))
    if folder is not None and not hasattr(config, "workerinput"):
        config.pluginmanager.register(AgainAlone(folder), "again-alone")


class AgainAlone:
    """Notes what failed, and runs it again at the end."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._failed: dict[str, str] = {}
        self._others = False
        self.unstable: list[str] = []

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        self._others = self._others or report.failed

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            text = "\n".join((report.longreprtext, *(f"{title}:\n{body}" for title, body in report.sections)))
            self._failed[report.nodeid] = self._failed.get(report.nodeid, "") + text
            self._others = self._others or not report.nodeid.startswith(REAL)

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if session.exitstatus != pytest.ExitCode.TESTS_FAILED or self._others or not 0 < len(self._failed) <= MOST:
            return
        self._folder.mkdir(parents=True, exist_ok=True)
        passed = [name for name, text in self._failed.items() if self._passes_alone(name, text)]
        if len(passed) == len(self._failed):
            self.unstable = passed
            session.exitstatus = pytest.ExitCode.OK

    def _passes_alone(self, name: str, text: str) -> bool:
        stem = re.sub(r"[^\w.-]+", "_", name)[:150]
        (self._folder / f"{stem}.first.txt").write_text(text, encoding="utf-8")
        with (self._folder / f"{stem}.second.txt").open("w", encoding="utf-8") as output:
            command = [sys.executable, "-m", "pytest", "-q", "-p", "no:randomly", name]
            try:
                run = subprocess.run(command, stdout=output, stderr=subprocess.STDOUT, timeout=SECONDS, check=False)
            except subprocess.TimeoutExpired:
                return False
        return run.returncode == 0

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        for name in self.unstable:
            terminalreporter.write_line(f"unstable: {name} (both outputs are in {self._folder})")


__all__ = ["MOST", "AgainAlone"]
