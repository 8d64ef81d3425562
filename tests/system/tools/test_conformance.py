"""How the tests of each rule ended is recorded by a run of several processes as by one of one."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.kit.rule_runs import EXPECTED, SUITE, run_rules, write_facts

pytest_plugins = ["pytester"]
WORKERS = ("-n", "2")


def test_records_how_the_tests_of_each_rule_ended(pytester: pytest.Pytester, tmp_path: Path) -> None:
    result, outcomes = run_rules(pytester, write_facts(tmp_path / "rules"), SUITE, *WORKERS)
    result.assert_outcomes(passed=5, failed=1, skipped=1, errors=1)
    assert outcomes == EXPECTED
    result.stdout.fnmatch_lines(["rules of the specifications: 1 proven, 5 named by tests"])


def test_a_mark_without_a_rule_is_a_collection_error(pytester: pytest.Pytester, tmp_path: Path) -> None:
    suite = 'import pytest\n@pytest.mark.rule("0-8/a/on")\ndef test_it(): pass\n'
    result, outcomes = run_rules(pytester, write_facts(tmp_path / "rules"), suite, *WORKERS)
    assert result.ret != pytest.ExitCode.OK
    result.stdout.fnmatch_lines(["*test_it: unknown rule '0-8/a/on'*"])
    result.assert_outcomes(errors=1)
    assert outcomes is None
