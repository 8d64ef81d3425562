"""What changed since a commit, as git tells it: committed, uncommitted and new files."""

from __future__ import annotations

import subprocess
from pathlib import Path


class NoChanges(Exception):
    """Git isn't there, this is no checkout, or the commit is unknown; its text says which."""


def changed_files(root: Path, since: str) -> list[str]:
    """Return the paths, from `root`, of files that differ from where the branch left `since`; deleted ones too."""
    base = _git(root, "merge-base", since, "HEAD").strip()
    changed = _names(_git(root, "diff", "--name-only", "--no-renames", "-z", base, "--"))
    new = _names(_git(root, "ls-files", "--others", "--exclude-standard", "-z"))
    return sorted({*changed, *new})


def python_files(root: Path) -> list[Path]:
    """Return the Python files of the checkout, new ones too."""
    names = _names(_git(root, "ls-files", "--cached", "--others", "--exclude-standard", "-z", "--", "*.py"))
    return [root / name for name in sorted(set(names)) if (root / name).is_file()]


def _names(output: str) -> list[str]:
    return [name for name in output.split("\0") if name]


def _git(root: Path, *arguments: str) -> str:
    try:
        run = subprocess.run(["git", *arguments], cwd=root, capture_output=True, text=True, check=False)
    except OSError as error:
        raise NoChanges(f"git can't be started: {error}") from error
    if run.returncode != 0:
        raise NoChanges(run.stderr.strip() or f"git {arguments[0]} failed")
    return run.stdout
