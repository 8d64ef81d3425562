"""A failed test of tests/system or tests/interop runs again alone, where continuous integration asks for it."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
SOMETIMES = """
from pathlib import Path

def test_sometimes():
    seen = Path(__file__).with_name("seen")
    was = seen.exists()
    seen.touch()
    assert was, "the first time it fails"
"""


def run(folder: Path, **modules: str) -> subprocess.CompletedProcess[str]:
    for name, text in modules.items():
        path = folder / f"{name.replace('__', '/')}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (folder / "pytest.ini").write_text("[pytest]\n")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "tests.kit.unstable", "-p", "no:randomly", "-p", "no:xdist"]
    command += ["--import-mode=importlib", f"--again-alone={folder / 'kept'}", "tests"]
    return subprocess.run(
        command, cwd=folder, capture_output=True, text=True, check=False, env={"PYTHONPATH": str(ROOT), "PATH": ""}
    )


@pytest.mark.parametrize("suite", ["system", "interop"])
def test_what_passes_alone_is_named_and_the_run_is_green(tmp_path: Path, suite: str) -> None:
    ended = run(tmp_path, **{f"tests__{suite}__test_a": SOMETIMES})
    assert ended.returncode == 0, ended.stdout
    assert f"unstable: tests/{suite}/test_a.py::test_sometimes" in ended.stdout
    first, second = sorted((tmp_path / "kept").iterdir())
    assert "the first time it fails" in first.read_text()
    assert "1 passed" in second.read_text()


@pytest.mark.parametrize(
    "modules",
    [
        {"tests__system__test_a": "def test_never(): assert False"},
        {"tests__system__test_a": SOMETIMES, "tests__system__test_b": "def test_never(): assert False"},
        {"tests__test_a": SOMETIMES},
        {"tests__system__test_a": SOMETIMES, "tests__test_b": "def test_never(): assert False"},
        {"tests__system__test_a": SOMETIMES, "tests__system__test_b": "import nothing_of_that_name"},
        {f"tests__system__test_{number}": SOMETIMES.replace("seen", f"seen{number}") for number in range(6)},
    ],
    ids=["it fails again", "another fails again", "default suite", "both suites", "collection fails", "six fail"],
)
def test_everything_else_stays_red(tmp_path: Path, modules: dict[str, str]) -> None:
    ended = run(tmp_path, **modules)
    assert ended.returncode != 0, ended.stdout
    assert "unstable:" not in ended.stdout
