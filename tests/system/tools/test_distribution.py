"""A wheel is for every system, and git checks files out with line feeds where it is told to write other ends.

`make dist` runs the tests of an unpacked sdist.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Final

import pytest

from tests.kit.captures import ROOT

FILES: Final = (
    ".ci/run",
    ".gitattributes",
    "Makefile",
    "tools/dev/venv.sh",
    "docs/rules/rules-0-8.csv",
    "adapters/report/amqp_sansio_report/assets/rules.csv",
    "tests/data/captures/o091_pika_basic.pcap",
    "tests/data/captures/o091_pika_basic.json",
    "tests/kit/captures.py",
)


def run(folder: Path, *command: str) -> str:
    """What a command says that must not fail."""
    environment = {**os.environ, "PYTHONPATH": "", "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return done.stdout


def test_a_wheel_is_for_every_system_and_has_nothing_in_c(tmp_path: Path) -> None:
    run(ROOT, sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path))
    (packed,) = tmp_path.iterdir()
    assert packed.name.endswith("-py3-none-any.whl")
    with zipfile.ZipFile(packed) as archive:
        files = archive.namelist()
    assert "amqp_sansio/_compiled.py" in files
    assert not [name for name in files if "_speedups" in name]


@pytest.mark.parametrize("ends", ["autocrlf=true", "eol=crlf"])
def test_a_checkout_where_lines_end_otherwise(tmp_path: Path, ends: str) -> None:
    if shutil.which("git") is None:
        pytest.skip("git isn't installed")
    for name in FILES:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    git = ("git", "-c", f"core.{ends}", "-c", "user.name=a", "-c", "user.email=a@localhost")
    run(tmp_path, *git, "init", "--quiet")
    run(tmp_path, *git, "add", "--all")
    run(tmp_path, *git, "commit", "--quiet", "--message", "all")
    for name in FILES:
        (tmp_path / name).unlink()
    run(tmp_path, *git, "checkout", "--quiet", "--", ".")
    assert {name: (tmp_path / name).read_bytes() for name in FILES} == {
        name: (ROOT / name).read_bytes() for name in FILES
    }
