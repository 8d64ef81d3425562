"""The examples of Hypothesis tests: the same in every run, or new ones to explore."""

from __future__ import annotations

import importlib.util
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from tests.kit.examples import SHRINKING_SECONDS
from tools.explore.__main__ import ROOT, main

TESTS = """\
from hypothesis import given, settings, strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule

tried = 0

@settings(max_examples=7)
@given(st.none())
def test_passes(n):
    pass

@settings(max_examples=4)
@given(st.binary(min_size=8))
def test_is_counted(octets):
    global tried
    tried += 1
    assert tried <= 4, "more than the usual four"

@given(st.integers())
def test_finds(number):
    assert number < 1000, f"{number} of '{number}'"

class Machine(RuleBasedStateMachine):
    @rule(number=st.integers(0, 5))
    def step(self, number):
        assert number != 4

TestMachine = Machine.TestCase

def test_draws_nothing():
    open(__file__ + ".ran", "w").close()
"""


def drawn() -> list[int]:
    numbers: list[int] = []

    @settings(max_examples=400)
    @given(st.integers())
    def test(number: int) -> None:
        numbers.append(number)

    test()
    return numbers


def test_modules_that_happen_to_be_loaded_change_no_example(tmp_path: Path) -> None:
    before = drawn()
    file = tmp_path / "constants_of_its_own.py"
    file.write_text(f"NUMBERS = {list(range(5_000_000, 5_000_400, 7))}\n")
    spec = importlib.util.spec_from_file_location("constants_of_its_own", file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["constants_of_its_own"] = module
    try:
        spec.loader.exec_module(module)
        assert drawn() == before
    finally:
        del sys.modules["constants_of_its_own"]
    assert len(before) == 400


def test_a_failing_test_ends_soon_and_leaves_nothing_behind() -> None:
    usual = settings.get_profile("steady")
    assert usual.derandomize and usual.database is None and usual.deadline is None
    assert Phase.reuse not in usual.phases and Phase.explain not in usual.phases
    assert SHRINKING_SECONDS <= 30


def test_failures_are_collected_with_what_reproduces_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "test_explored.py"
    file.write_text(TESTS)
    status = main(["--seconds=60", "--seed=5", "--jobs=1", "--rounds=2", str(file)])
    output = capsys.readouterr().out
    assert status == 1
    assert "explore: 3 distinct failures" in output
    assert "round with seed 5, factor 1: 2 failed, 2 passed, 1 deselected" in output
    assert "round with seed 6, factor 2: 3 failed, 1 passed, 1 deselected" in output
    assert "Failing test case" in output and "@reproduce_failure" in output
    assert not Path(f"{file}.ran").exists()
    summary = output.partition("distinct failures")[2]
    [command] = [line for line in summary.splitlines() if "reproduce: " in line and "finds" in line]
    words = shlex.split(command.partition("reproduce: ")[2])
    # Pytest names tests from the folder that they have in common with the project, unless that is the root of all.
    common = Path(os.path.commonpath([ROOT, tmp_path]))
    again = subprocess.run(
        [sys.executable, *words[1:]],
        cwd=tmp_path if common == Path(common.anchor) else common,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )
    assert again.returncode == 1
    assert "number=1000" in again.stdout


def test_nothing_found(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "test_explored.py"
    file.write_text(TESTS.partition("@settings(max_examples=4)")[0])
    assert main(["--seconds=60", "--jobs=1", "--rounds=1", str(file)]) == 0
    assert "explore: 0 distinct failures" in capsys.readouterr().out


def test_tests_that_cannot_run_are_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "test_explored.py"
    file.write_text("import nothing_of_this_name\n")
    assert main(["--seconds=60", "--jobs=1", "--rounds=1", str(file)]) == 1
    assert "nothing_of_this_name" in capsys.readouterr().out
