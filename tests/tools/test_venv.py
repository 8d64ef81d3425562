"""`tools/dev/venv.sh` says in one line what a machine is missing."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "tools" / "dev" / "venv.sh"
TOOLS = ("bash", "cat", "dirname", "env", "grep", "rm", "sed", "tail", "touch")


class Machine:
    """A PATH with a few of this machine's tools and with programs made up by the test."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.bin = folder / "bin"
        self.bin.mkdir()
        for tool in TOOLS:
            found = shutil.which(tool)
            assert found is not None
            (self.bin / tool).symlink_to(found)

    def program(self, name: str, text: str) -> None:
        """Put a shell script on PATH."""
        path = self.bin / name
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)

    def run(self, *arguments: str, **env: str) -> tuple[int, list[str]]:
        """Exit status and lines on standard error."""
        run = subprocess.run(
            [str(self.bin / "bash"), str(SCRIPT), "venv", "stamp", *arguments],
            cwd=self.folder,
            env={"PATH": str(self.bin), "HOME": str(self.folder), "LC_ALL": "C", **env},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        assert not run.stdout
        assert run.returncode == 0 or not (self.folder / "stamp").exists()
        return run.returncode, run.stderr.splitlines()


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    """A machine without Python and Java."""
    return Machine(tmp_path)


OLD_PYTHON = 'case $1 in --version) echo "Python 3.9.2" ;; *) exit 1 ;; esac'


def test_no_python(machine: Machine) -> None:
    assert machine.run() == (1, ["setup: Python 3.11 or newer is needed; no python3 was found on PATH"])


def test_python_too_old(machine: Machine) -> None:
    machine.program("python3", OLD_PYTHON)
    expected = ["setup: Python 3.11 or newer is needed; python3 is Python 3.9.2"]
    assert machine.run() == (1, expected)


def test_python_named_and_too_old(machine: Machine) -> None:
    machine.program("old", OLD_PYTHON)
    expected = ["setup: Python 3.11 or newer is needed; PYTHON names Python 3.9.2"]
    assert machine.run(PYTHON="old") == (1, expected)


def test_python_named_and_missing(machine: Machine) -> None:
    expected = ["setup: PYTHON names nowhere, which isn't there"]
    assert machine.run(PYTHON="nowhere") == (1, expected)


def test_a_newer_python_beside_an_old_one_is_found(machine: Machine) -> None:
    machine.program("python3", OLD_PYTHON)
    is_version_check = 'case "$2" in *version_info*) exit 0 ;; esac'
    machine.program("python3.12", f'{is_version_check}\n[ "$1" = --version ] && echo 3.12; exit 1')
    status, lines = machine.run()
    assert status == 1
    assert lines[-1].startswith("setup: python3.12 has no venv module")


def test_no_java(machine: Machine) -> None:
    expected = ["setup: Java 17 or newer is needed (for Spark); java wasn't found"]
    assert machine.run("--java") == (1, expected)


@pytest.mark.parametrize(
    ("first_line", "version"), [('openjdk version "11.0.22" 2024-01-16', "11"), ('java version "1.8.0_392"', "8")]
)
def test_java_too_old(machine: Machine, first_line: str, version: str) -> None:
    machine.program("java", f"echo '{first_line}' >&2; echo 'Runtime Environment' >&2")
    expected = f"setup: Java 17 or newer is needed (for Spark); java is version {version}"
    assert machine.run("--java") == (1, [expected])


@pytest.mark.parametrize("first_line", ['openjdk version "17.0.15" 2025-04-15', 'openjdk version "21" 2023-09-19'])
def test_java_new_enough(machine: Machine, first_line: str) -> None:
    machine.program("java", f"echo 'Picked up JAVA_TOOL_OPTIONS' >&2; echo '{first_line}' >&2")
    _, lines = machine.run("--java")
    assert lines == ["setup: Python 3.11 or newer is needed; no python3 was found on PATH"]


def test_java_home_counts(machine: Machine) -> None:
    machine.program("java", "echo 'openjdk version \"17.0.15\"' >&2")
    status, lines = machine.run("--java", JAVA_HOME="/nowhere")
    assert (status, lines[0].endswith("/nowhere/bin/java wasn't found")) == (1, True)


@pytest.mark.slow
def test_no_network(machine: Machine) -> None:
    nobody = {"PIP_INDEX_URL": "http://127.0.0.1:9/simple", "PIP_RETRIES": "0", "PIP_TIMEOUT": "1"}
    status, lines = machine.run(PYTHON=sys.executable, PIP_CONFIG_FILE=os.devnull, **nobody)
    assert status == 1
    assert lines[-1] == (
        "setup: no network: packages could not be fetched; is a package index reachable?"
        " (venv/setup.log has the details)"
    )
