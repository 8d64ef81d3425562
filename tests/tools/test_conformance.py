"""The conformance tool: rule facts, the marks of tests, the outcomes of a run and the report."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.kit.rule_runs import EXPECTED, SUITE, run_rules, write_facts
from tools.conformance.__main__ import main
from tools.conformance.outcomes import Outcome, read_outcomes, write_outcomes
from tools.conformance.report import LAYERS, Report
from tools.conformance.rules import RULES_FOLDER, VERSIONS, Rule, RuleError, Rules, read_not_applicable, read_rules

pytest_plugins = ["pytester"]

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def facts(tmp_path: Path) -> Path:
    return write_facts(tmp_path / "rules")


def report(facts: Path, **outcomes: Outcome) -> Report:
    """A report over `facts`; the keywords are the last two parts of an id, joined by `_`."""
    rules = read_rules(facts)
    named = {f"0-8/{name.replace('_', '/')}": outcome for name, outcome in outcomes.items()}
    return Report(rules, read_not_applicable(rules, facts), named)


def test_the_carried_facts_are_whole() -> None:
    rules = read_rules()
    by_version = {version: 0 for version in VERSIONS}
    for rule in rules:
        by_version[rule.version] += 1
    assert by_version == {"0-8": 327, "0-9-1": 328, "0-10": 323, "1.0": 430}
    assert sum(rule.level == "must" for rule in rules) == 720
    assert {rule.layer for rule in rules} == set(LAYERS)
    assert set(read_not_applicable(rules)) <= {rule.id for rule in rules}


def test_a_rule_is_found_with_and_without_its_reaction(facts: Path) -> None:
    rules = read_rules(facts)
    expected = Rule("0-8/a/two -> socket close", "0-8", "S", "must", "conn")
    assert rules.find("0-8/a/two") == rules.find("0-8/a/two -> socket close") == expected
    assert rules.find("0-8/a/two -> 501") is None
    assert rules.find("a/one") is None
    assert len(rules) == 5


def test_ids_that_differ_by_their_reaction_only_are_refused() -> None:
    one = Rule("0-8/a/b -> 501", "0-8", "B", "must", "wire")
    two = Rule("0-8/a/b -> 502", "0-8", "B", "must", "wire")
    with pytest.raises(RuleError, match="stands twice"):
        Rules([one, two])


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("id,who,layer\n", "the columns must be"),
        ("id,who,level,layer\n0-9-1/a/b,B,must,wire\n", "rules-0-8.csv:2: not a rule of 0-8"),
        ("id,who,level,layer\n0-8/a/b,B,always,wire\n", "rules-0-8.csv:2: not a rule of 0-8"),
        ("id,who,level,layer\n0-8/a/b,B,must\n", "rules-0-8.csv:2: wrong number of columns"),
    ],
)
def test_facts_that_are_no_rules_are_refused(facts: Path, text: str, problem: str) -> None:
    (facts / "rules-0-8.csv").write_text(text)
    with pytest.raises(RuleError, match=problem):
        read_rules(facts)


@pytest.mark.parametrize(
    ("entries", "expected"),
    [
        ("0-8/*:model,why\n", {"0-8/m/one": "why", "0-8/m/two": "why"}),
        ("0-8/a/two,why\n", {"0-8/a/two -> socket close": "why"}),
        ("0-8/m/one,first\n0-8/m/*,then\n", {"0-8/m/one": "first", "0-8/m/two": "then"}),
    ],
)
def test_not_applicable_entries(facts: Path, entries: str, expected: dict[str, str]) -> None:
    (facts / "not-applicable.csv").write_text(f"id,reason\n{entries}")
    assert read_not_applicable(read_rules(facts), facts) == expected


@pytest.mark.parametrize(
    ("entry", "problem"),
    [("0-8/x/*,why", "fits no rule"), ("0-8/*:tx,why", "fits no rule"), ("0-8/m/*, ", "no reason")],
)
def test_not_applicable_entries_that_say_nothing(facts: Path, entry: str, problem: str) -> None:
    (facts / "not-applicable.csv").write_text(f"id,reason\n{entry}\n")
    with pytest.raises(RuleError, match=problem):
        read_not_applicable(read_rules(facts), facts)


@pytest.mark.parametrize(
    ("outcome", "proves"),
    [
        (Outcome(passed=1), True),
        (Outcome(passed=2, skipped=1), True),
        (Outcome(passed=1, failed=1), False),
        (Outcome(skipped=1), False),
        (Outcome(), False),
    ],
)
def test_one_passed_and_none_failed_is_a_proof(outcome: Outcome, proves: bool) -> None:
    assert outcome.proves is proves


def test_numbers(facts: Path) -> None:
    numbers = report(facts, a_one=Outcome(1), a_three=Outcome(1), m_one=Outcome(1)).numbers()
    assert list(numbers) == ["0-8", "0-9-1", "0-10", "1.0"]
    assert numbers["0-8"] == {"must": 3, "must_proven": 2, "must_not_applicable": 0, "should": 1, "should_proven": 1}
    assert set(numbers["1.0"].values()) == {0}
    assert report(facts).numbers()["0-8"]["must_not_applicable"] == 1


def test_markdown(facts: Path) -> None:
    text = report(facts, a_one=Outcome(1)).markdown()
    assert "| wire | 2 | 1 | 1 | 0 | 0 | 1 | 0 | 0 | 0 | 0 | 0 | 0 |\n" in text
    assert "| the broker decides | 1 | 0 | 1 | `0-8/m/one`, `0-8/m/two` |\n" in text
    assert "### Open MUST rules (1)\n\n- `0-8/a/two -> socket close`\n" in text
    assert text == report(facts, a_one=Outcome(7, 0, 2)).markdown()


def test_many_rules_with_one_reason_are_named_by_their_layers() -> None:
    rules = [Rule(f"0-8/m/{n}", "0-8", "S", "must", "model") for n in range(20)]
    reasons = {rule.id: "why" for rule in rules}
    text = Report(Rules(rules), reasons, {}).markdown()
    assert "| why | 20 | 0 | 0 | exchange and queue model |\n" in text


def test_an_outcome_of_no_rule_is_refused(facts: Path) -> None:
    with pytest.raises(RuleError, match="0-8/no/rule is no rule"):
        report(facts, no_rule=Outcome(1))


def test_outcomes_survive_their_file(tmp_path: Path) -> None:
    outcomes = {"0-8/b": Outcome(1, 2, 3), "0-8/a": Outcome(4)}
    path = tmp_path / "made" / "outcomes.json"
    write_outcomes(outcomes, path)
    assert read_outcomes(path) == outcomes
    assert list(json.loads(path.read_text())) == ["0-8/a", "0-8/b"]


class TestCommand:
    """`python -m tools.conformance`."""

    def run(self, facts: Path, folder: Path, what: str, **outcomes: Outcome) -> int:
        named = {f"0-8/{name.replace('_', '/')}": outcome for name, outcome in outcomes.items()}
        write_outcomes(named, folder / "outcomes.json")
        arguments = ["--outcomes", str(folder / "outcomes.json"), "--rules", str(facts)]
        return main([*arguments, what, str(folder)])

    def test_writes_both_files(self, facts: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert self.run(facts, tmp_path, "--write", a_one=Outcome(1)) == 0
        assert json.loads((tmp_path / "conformance.json").read_text())["0-8"]["must_proven"] == 1
        assert (tmp_path / "conformance.md").read_text().startswith("# Conformance\n")
        assert "0-8    MUST: 3, proven 1, not applicable 1, open 1\n" in capsys.readouterr().out

    def test_a_report_that_is_up_to_date(self, facts: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.run(facts, tmp_path, "--write", a_one=Outcome(1))
        assert self.run(facts, tmp_path, "--check", a_one=Outcome(3)) == 0
        assert "says what this run proves" in capsys.readouterr().out

    def test_a_report_that_is_behind(self, facts: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.run(facts, tmp_path, "--write", a_one=Outcome(1))
        assert self.run(facts, tmp_path, "--check", a_one=Outcome(1), a_three=Outcome(1)) == 0
        assert "is behind this run" in capsys.readouterr().out

    @pytest.mark.parametrize("now", [Outcome(), Outcome(1, 1), Outcome(0, 1)])
    def test_a_report_that_claims_a_must_too_much(
        self, facts: Path, tmp_path: Path, now: Outcome, capsys: pytest.CaptureFixture[str]
    ) -> None:
        self.run(facts, tmp_path, "--write", a_one=Outcome(1))
        assert self.run(facts, tmp_path, "--check", a_one=now) == 1
        assert "  0-8/a/one\n" in capsys.readouterr().err

    def test_a_report_that_claims_a_should_too_much(
        self, facts: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        self.run(facts, tmp_path, "--write", a_three=Outcome(1))
        assert self.run(facts, tmp_path, "--check") == 1
        assert "0-8: 1 SHOULD rules, 0 in this run" in capsys.readouterr().err

    def test_what_was_skipped_is_not_judged(self, facts: Path, tmp_path: Path) -> None:
        self.run(facts, tmp_path, "--write", a_one=Outcome(1), a_three=Outcome(1))
        skipped = Outcome(skipped=1)
        assert self.run(facts, tmp_path, "--check", a_one=skipped, a_three=skipped) == 0

    def test_a_run_without_outcomes(self, facts: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        arguments = ["--outcomes", str(tmp_path / "none.json"), "--rules", str(facts)]
        assert main([*arguments, "--write", str(tmp_path)]) == 2
        assert capsys.readouterr().err.startswith("conformance: ")
        assert not (tmp_path / "conformance.md").exists()


class TestPlugin:
    """`tests/kit/rules.py`, in a run of its own; tests/system/tools has runs with several processes."""

    def test_records_how_the_tests_of_each_rule_ended(self, pytester: pytest.Pytester, facts: Path) -> None:
        result, outcomes = run_rules(pytester, facts, SUITE)
        result.assert_outcomes(passed=5, failed=1, skipped=1, errors=1)
        assert outcomes == EXPECTED
        result.stdout.fnmatch_lines(["rules of the specifications: 1 proven, 5 named by tests"])

    @pytest.mark.parametrize(
        ("mark", "problem"),
        [
            ('"0-8/a/on"', "*test_it: unknown rule '0-8/a/on'*"),
            ("8", "*test_it: unknown rule 8*"),
            ("", "*test_it: the mark `rule` takes one or more ids*"),
            ('id="0-8/a/one"', "*test_it: the mark `rule` takes one or more ids*"),
        ],
        ids=["unknown", "no string", "nothing", "keyword"],
    )
    def test_a_mark_without_a_rule_is_a_collection_error(
        self, pytester: pytest.Pytester, facts: Path, mark: str, problem: str
    ) -> None:
        suite = f"import pytest\n@pytest.mark.rule({mark})\ndef test_it(): pass\n"
        result, outcomes = run_rules(pytester, facts, suite)
        assert result.ret != pytest.ExitCode.OK
        result.stdout.fnmatch_lines([problem])
        result.assert_outcomes(errors=1)
        assert outcomes is None

    def test_facts_that_cannot_be_read(self, pytester: pytest.Pytester, tmp_path: Path) -> None:
        result, _ = run_rules(pytester, tmp_path / "nowhere", "def test_it(): pass")
        assert result.ret == pytest.ExitCode.USAGE_ERROR


def test_the_folder_of_rules_is_part_of_the_documentation() -> None:
    assert RULES_FOLDER == ROOT / "docs" / "rules"
