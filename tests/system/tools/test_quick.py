"""`make quick`, with a real git: what counts as changed, and the command as a process."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.test_layout import ROOT
from tools.quick.changes import NoChanges, changed_files, python_files


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A repository with a branch `main` of two files, on a branch of its own without changes."""
    _git(tmp_path, "init", "-q", "-b", "main")
    (tmp_path / "kept.py").write_text("1", encoding="utf-8")
    (tmp_path / "gone.py").write_text("1", encoding="utf-8")
    (tmp_path / ".gitignore").write_text("ignored.py", encoding="utf-8")
    _commit(tmp_path)
    _git(tmp_path, "switch", "-q", "-c", "branch")
    return tmp_path


def _commit(root: Path) -> None:
    _git(root, "add", "-A")
    _git(root, "-c", "user.name=name", "-c", "user.email=name@example.org", "commit", "-q", "-m", "subject")


def _git(root: Path, *arguments: str) -> None:
    subprocess.run(["git", *arguments], cwd=root, check=True, capture_output=True)


def test_nothing_changed(checkout: Path) -> None:
    assert changed_files(checkout, "HEAD") == []


def test_uncommitted_new_and_deleted_files_changed(checkout: Path) -> None:
    (checkout / "kept.py").write_text("2", encoding="utf-8")
    (checkout / "gone.py").unlink()
    (checkout / "new file.py").touch()
    (checkout / "ignored.py").touch()
    assert changed_files(checkout, "HEAD") == ["gone.py", "kept.py", "new file.py"]
    assert [path.name for path in python_files(checkout)] == ["kept.py", "new file.py"]


def test_what_the_other_branch_gained_did_not_change_here(checkout: Path) -> None:
    (checkout / "own.py").touch()
    _commit(checkout)
    _git(checkout, "switch", "-q", "main")
    (checkout / "theirs.py").touch()
    _commit(checkout)
    _git(checkout, "switch", "-q", "branch")
    assert changed_files(checkout, "HEAD") == []
    assert changed_files(checkout, "main") == ["own.py"]


def test_an_unknown_commit(checkout: Path) -> None:
    with pytest.raises(NoChanges, match="nowhere"):
        changed_files(checkout, "nowhere")


def test_no_repository(tmp_path: Path) -> None:
    with pytest.raises(NoChanges, match="not a git repository"):
        changed_files(tmp_path, "HEAD")


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="this is no checkout")
def test_the_command_says_what_is_near() -> None:
    run = _run(ROOT, "-m", "tools.quick", "--list")
    assert run.returncode == 0, run.stderr
    assert "Nothing has changed since HEAD" in run.stdout or "Nearest to that:" in run.stdout


def test_the_command_names_an_unknown_commit() -> None:
    run = _run(ROOT, "-m", "tools.quick", "--since", "nowhere")
    assert run.returncode == 2
    assert run.stderr.startswith("quick: ")


@pytest.mark.parametrize(
    ("seconds", "last"),
    [(100, "2 passed"), (-1, "The time is over: 2 tests of these modules weren't run.")],
    ids=["in time", "too late"],
)
def test_the_chosen_modules_run_in_their_order(tmp_path: Path, seconds: int, last: str) -> None:
    for name in ("test_a.py", "test_b.py"):
        (tmp_path / name).write_text(f"def test_prints():\n    print('{name}')\n", encoding="utf-8")
    code = (
        "import sys, time; from tools.quick.running import run\n"
        f"sys.exit(run(['-s', 'test_b.py', 'test_a.py'], time.monotonic() + {seconds}))"
    )
    run = _run(tmp_path, "-c", code)
    assert run.returncode == 0, run.stdout + run.stderr
    assert last in run.stdout
    assert re.findall(r"test_[ab].py", run.stdout) == (["test_b.py", "test_a.py"] if seconds > 0 else [])


def _run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])}
    return subprocess.run(
        [sys.executable, *arguments], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
