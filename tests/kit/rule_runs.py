"""Runs of pytest with `tests/kit/rules.py`, over facts of a few rules."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest

from tools.conformance.outcomes import Outcome, read_outcomes
from tools.conformance.rules import VERSIONS

ROOT: Final = Path(__file__).resolve().parents[2]
ALONE: Final = ("-p", "no:randomly")
"""A run within another one is without the plug-in that loads numpy, which no process can load again."""

FACTS: Final = """\
id,who,level,layer
0-8/a/one,B,must,wire
0-8/a/two -> socket close,S,must,conn
0-8/a/three,S,should,wire
0-8/m/one,S,must,model
0-8/m/two,S,may,model
"""
SUITE: Final = """
    import pytest

    @pytest.fixture
    def broken():
        yield
        raise OSError

    @pytest.mark.rule("0-8/a/one")
    @pytest.mark.parametrize("number", [1, 2])
    def test_one(number): pass

    @pytest.mark.rule("0-8/a/two")
    class TestTwo:
        def test_passes(self): pass
        @pytest.mark.rule("0-8/m/one", "0-8/a/two -> socket close")
        def test_fails(self): assert False

    @pytest.mark.rule("0-8/a/three")
    def test_teardown_fails(broken): pass

    @pytest.mark.rule("0-8/m/two")
    def test_skipped(): pytest.skip("not here")

    def test_without_a_mark(): pass
"""
EXPECTED: Final = {
    "0-8/a/one": Outcome(passed=2),
    "0-8/a/two -> socket close": Outcome(passed=1, failed=1),
    "0-8/a/three": Outcome(passed=1, failed=1),
    "0-8/m/one": Outcome(failed=1),
    "0-8/m/two": Outcome(skipped=1),
}


def write_facts(folder: Path) -> Path:
    """A folder of rule facts with five rules of 0-8 and none of the other versions."""
    folder.mkdir()
    for version in VERSIONS:
        text = FACTS if version == "0-8" else "id,who,level,layer\n"
        (folder / f"rules-{version}.csv").write_text(text)
    (folder / "not-applicable.csv").write_text("id,reason\n0-8/*:model,the broker decides\n")
    return folder


def run_rules(
    pytester: pytest.Pytester, facts: Path, test: str, *arguments: str
) -> tuple[pytest.RunResult, dict[str, Outcome] | None]:
    """Run a test module, with several workers in processes of their own; gives what it wrote, if it did."""
    pytester.makepyfile(test)
    pytester.makepyprojecttoml(f"""
        [tool.pytest.ini_options]
        addopts = ["--import-mode=importlib", "--strict-markers", "-p", "tests.kit.rules"]
        pythonpath = [{str(ROOT)!r}]
        markers = ["rule(id): a rule"]
    """)
    target = pytester.path / "outcomes.json"
    run = pytester.runpytest_subprocess if "-n" in arguments else pytester.runpytest_inprocess
    result = run(*ALONE, f"--rule-facts={facts}", f"--rule-outcomes={target}", *arguments)
    return result, read_outcomes(target) if target.exists() else None
