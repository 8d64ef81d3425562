"""Pytest plug-in: checks the ids that `@pytest.mark.rule` names, records which rules a run proves.

With `--rule-outcomes=FILE` the run writes how the tests of each rule ended;
`python -m tools.conformance` makes the report of it.
"""

from collections.abc import Generator, Iterator
from pathlib import Path
from typing import cast

import pytest

from tools.conformance.outcomes import Outcome, write_outcomes
from tools.conformance.rules import RULES_FOLDER, RuleError, Rules, read_rules

_PROPERTY = "rule"


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("rules")
    group.addoption("--rule-outcomes", metavar="FILE", help="write how each rule's tests ended")
    group.addoption("--rule-facts", metavar="FOLDER", default=str(RULES_FOLDER), help="folder of the rule facts")


def pytest_configure(config: pytest.Config) -> None:
    try:
        rules = read_rules(Path(cast("str", config.getoption("--rule-facts"))))
    except (OSError, RuleError) as error:
        raise pytest.UsageError(str(error)) from error
    config.pluginmanager.register(_RuleMarks(rules), "rule-marks")
    target = cast("str | None", config.getoption("--rule-outcomes"))
    if target is not None and not hasattr(config, "workerinput"):
        config.pluginmanager.register(_RuleRecorder(Path(target)), "rule-recorder")


class _RuleMarks:
    """Refuses unknown ids at collection and puts the ids of each test into its reports."""

    def __init__(self, rules: Rules) -> None:
        self._rules = rules

    @pytest.hookimpl(wrapper=True)
    def pytest_make_collect_report(self) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
        report = yield
        wrong = [
            f"{node.nodeid}: {problem}"
            for node in report.result or ()
            if isinstance(node, pytest.Item)
            for problem in self._problems(node)
        ]
        if wrong:
            report.outcome = "failed"
            report.longrepr = "\n".join(wrong)
            report.result = []
        return report

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        report = yield
        found = {self._rules.find(str(name)) for name in _named(item)}
        report.user_properties += [(_PROPERTY, rule.id) for rule in found if rule is not None]
        return report

    def _problems(self, item: pytest.Item) -> Iterator[str]:
        for mark in item.iter_markers("rule"):
            if not mark.args or mark.kwargs:
                yield "the mark `rule` takes one or more ids and nothing else"
        for name in _named(item):
            if not isinstance(name, str) or self._rules.find(name) is None:
                yield f"unknown rule {name!r}"


class _RuleRecorder:
    """Collects the reports of all workers and writes the outcomes when the run is whole."""

    def __init__(self, target: Path) -> None:
        self._target = target
        self._outcomes: dict[str, Outcome] = {}
        self._collected = True
        target.unlink(missing_ok=True)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        self._collected = self._collected and not report.failed

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        for key, name in report.user_properties:
            if key != _PROPERTY:
                continue
            outcome = self._outcomes.setdefault(str(name), Outcome())
            if report.failed:
                outcome.failed += 1
            elif report.skipped:
                outcome.skipped += 1
            elif report.when == "call":
                outcome.passed += 1

    def pytest_sessionfinish(self, exitstatus: int) -> None:
        ran = exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED)
        if ran and self._collected:
            write_outcomes(self._outcomes, self._target)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        proven = sum(outcome.proves for outcome in self._outcomes.values())
        terminalreporter.write_line(
            f"rules of the specifications: {proven} proven, {len(self._outcomes)} named by tests"
        )


def _named(item: pytest.Item) -> Iterator[object]:
    for mark in item.iter_markers("rule"):
        yield from mark.args
