"""Which rows of a test a run takes: as many as are wanted, always the same, the first and the last among them."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
MANY = """
import pytest

@pytest.mark.parametrize("row", [pytest.param(row, marks=pytest.mark.rule(f"r{row // 50}")) for row in range(100)])
def test_many(row): pass

@pytest.mark.parametrize("row", range(3))
def test_few(row): pass

@pytest.mark.large
def test_large(): pass
"""


def taken(folder: Path, *options: str) -> list[str]:
    """The tests that a run collects."""
    tests = folder / "tests"
    tests.mkdir()
    (tests / "test_rows.py").write_text(MANY)
    (folder / "pytest.ini").write_text("[pytest]\nmarkers =\n    rule(id)\n    large\n")
    command = [sys.executable, "-m", "pytest", "-q", "--collect-only", "-p", "no:xdist"]
    command += [] if any("randomly" in option for option in options) else ["-p", "no:randomly"]
    command += [
        "-p",
        "tests.kit.rows",
        "-p",
        "tests.kit.examples",
        "-p",
        "tests.kit.shares",
        "--import-mode=importlib",
        *options,
        "tests",
    ]
    environment = {"PYTHONPATH": str(ROOT), "PATH": ""}
    ended = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, env=environment)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return [line.partition("::")[2] for line in ended.stdout.splitlines() if "::" in line]


FEW = ["test_few[0]", "test_few[1]", "test_few[2]"]


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ("4", ["test_many[0]", "test_many[33]", "test_many[66]", "test_many[99]", *FEW]),
        ("2", ["test_many[0]", "test_many[99]", "test_few[0]", "test_few[2]"]),
        ("1", ["test_many[0]", "test_few[0]"]),
    ],
)
def test_so_many_rows_as_are_asked_for(tmp_path: Path, rows: str, expected: list[str]) -> None:
    assert taken(tmp_path, f"--rows={rows}") == expected


def test_the_default_and_what_it_leaves_out_are_all(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    usual, rest = taken(tmp_path / "a"), taken(tmp_path / "b", "--full-examples")
    assert len(usual) == 16 + len(FEW)
    assert not set(usual) & set(rest)
    assert len(usual) + len(rest) == 100 + len(FEW) + 1


@pytest.mark.parametrize("option", ["--rows=4", "--rows=16", "--full-examples", "--share=1/3"])
def test_they_are_the_same_whatever_the_order(tmp_path: Path, option: str) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    usual, shuffled = taken(tmp_path / "a", option), taken(tmp_path / "b", option, "--randomly-seed=11")
    assert usual != shuffled
    assert sorted(usual) == sorted(shuffled)


def test_the_shares_are_all_together_and_few_rows_belong_to_each(tmp_path: Path) -> None:
    shares: list[list[str]] = []
    for number in range(4):
        folder = tmp_path / str(number)
        folder.mkdir()
        shares.append(taken(folder, "--all-rows", f"--share={number}/4"))
    assert all(set(FEW) < set(share) for share in shares)
    assert {sum("many" in name for name in share) for share in shares} == {25}
    once = [name for share in shares for name in share if name not in FEW]
    assert sorted(once) == sorted([*(f"test_many[{row}]" for row in range(100)), "test_large"])


def test_each_share_of_what_is_left_out_is_taken_once(tmp_path: Path) -> None:
    (tmp_path / "all").mkdir()
    rest = taken(tmp_path / "all", "--full-examples")
    shares: list[str] = []
    for number in range(3):
        (tmp_path / str(number)).mkdir()
        shares += taken(tmp_path / str(number), "--full-examples", f"--share={number}/3")
    assert sorted(shares) == sorted(rest)


@pytest.mark.parametrize("text", ["4/4", "1", "0/0", "-1/4", "a/b"])
def test_a_share_that_is_none_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(AssertionError, match="invalid share value"):
        taken(tmp_path, f"--share={text}")
