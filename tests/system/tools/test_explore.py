"""Rounds of new examples, each in processes of their own: what fails is collected, with what reproduces it."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

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
