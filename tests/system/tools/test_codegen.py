"""The code generator as a process: it runs whatever state the generated files are in that the package imports."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest

from tests.test_layout import ROOT
from tools.codegen import initializers, layouts

COPIED: Final = ("amqp_sansio", "tools", "adapters/sync")
IMPORTED: Final = (initializers.TARGET, layouts.TARGET)
"""The generated files that a part of the package imports whose text they are made of."""
DAMAGES: Final[dict[str, Callable[[Path], object]]] = {
    "missing": lambda path: path.unlink(),
    "empty": lambda path: path.write_text("", encoding="utf-8"),
    "no Python": lambda path: path.write_text("<<<<<<< HEAD\n", encoding="utf-8"),
    "one that raises": lambda path: path.write_text("raise RuntimeError\n", encoding="utf-8"),
    "one that lacks the last half": lambda path: path.write_text(
        path.read_text(encoding="utf-8")[: path.stat().st_size // 2], encoding="utf-8"
    ),
    "one whose functions take other arguments": lambda path: path.write_text(
        path.read_text(encoding="utf-8").replace("def make(", "def make(another, "), encoding="utf-8"
    ),
}


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A copy of what the generator reads and writes."""
    for name in COPIED:
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    return tmp_path


def generate(tree: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    paths = os.pathsep.join(str(tree / each) for each in ("", "adapters/sync"))
    return subprocess.run(
        [sys.executable, "-m", "tools.codegen", *arguments],
        cwd=tree,
        env={**os.environ, "PYTHONPATH": paths},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("damage", DAMAGES)
def test_damaged_files_are_written_anew(tree: Path, damage: str) -> None:
    for name in IMPORTED:
        DAMAGES[damage](tree / name)
    written = generate(tree)
    assert written.returncode == 0, written.stderr
    for each in IMPORTED:
        assert (tree / each).read_bytes() == (ROOT / each).read_bytes()


def test_a_record_with_another_field_gets_its_initializer(tree: Path) -> None:
    path = tree / "amqp_sansio/broker/model/commands.py"
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace("    settles: bool = False\n", "    settles: bool = False\n    another: int = 7\n", 1))
    checked = generate(tree, "--check")
    assert checked.returncode == 1
    assert f"{initializers.TARGET} is stale" in checked.stderr, checked.stderr
    written = generate(tree)
    assert written.returncode == 0, written.stderr
    assert "another=another" in (tree / initializers.TARGET).read_text(encoding="utf-8")
    assert generate(tree, "--check").returncode == 0
