"""`tools/dev/venv.sh` says in one line all that a machine is missing."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[3] / "tools" / "dev" / "venv.sh"
TOOLS = ("bash", "cat", "dirname", "env", "grep", "make", "rm", "sed", "tail", "touch")


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
WITHOUT_VENV = 'case "$2" in *version_info*) exit 0 ;; esac\n[ "$1" = --version ] && echo 3.12; exit 1'


def missing(*things: str, packages: str) -> tuple[int, list[str]]:
    """What the script says when these are missing."""
    return 1, [f"setup: missing: {'; '.join(things)}. On Debian: apt-get install {packages}"]


def test_no_python(machine: Machine) -> None:
    assert machine.run() == missing("Python 3.11 or newer (no python3 is on PATH)", packages="python3")


def test_python_too_old(machine: Machine) -> None:
    machine.program("python3", OLD_PYTHON)
    assert machine.run() == missing("Python 3.11 or newer (python3 is Python 3.9.2)", packages="python3")


def test_python_named_and_too_old(machine: Machine) -> None:
    machine.program("old", OLD_PYTHON)
    expected = missing("Python 3.11 or newer (PYTHON names Python 3.9.2)", packages="python3")
    assert machine.run(PYTHON="old") == expected


def test_python_named_and_missing(machine: Machine) -> None:
    expected = missing("Python 3.11 or newer (PYTHON names nowhere, which isn't there)", packages="python3")
    assert machine.run(PYTHON="nowhere") == expected


def test_a_newer_python_beside_an_old_one_is_found(machine: Machine) -> None:
    machine.program("python3", OLD_PYTHON)
    machine.program("python3.12", WITHOUT_VENV)
    assert machine.run() == missing("the module venv of python3.12", packages="python3-venv")


def test_all_that_is_missing_is_in_one_line(machine: Machine) -> None:
    machine.program("python3", WITHOUT_VENV)
    (machine.bin / "make").unlink()
    assert machine.run("--java") == missing(
        "make",
        "the module venv of python3",
        "Java 17 or newer, for Spark (java isn't there)",
        packages="make python3-venv default-jre-headless",
    )
    (machine.bin / "python3").unlink()
    assert machine.run("--java") == missing(
        "make",
        "Python 3.11 or newer (no python3 is on PATH)",
        "Java 17 or newer, for Spark (java isn't there)",
        packages="make python3 default-jre-headless",
    )


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("echo 'openjdk version \"11.0.22\" 2024-01-16' >&2; echo 'Runtime Environment' >&2", "java is version 11"),
        ("echo 'java version \"1.8.0_392\"' >&2", "java is version 8"),
        ("echo 'something' >&2", "java doesn't tell its version"),
        ("exit 1", "java doesn't run"),
    ],
)
def test_java_that_cannot_be_used(machine: Machine, script: str, said: str) -> None:
    machine.program("java", script)
    machine.program("python3", WITHOUT_VENV)
    assert machine.run("--java") == missing(
        "the module venv of python3",
        f"Java 17 or newer, for Spark ({said})",
        packages="python3-venv default-jre-headless",
    )


def test_java_of_some_modules(machine: Machine) -> None:
    said = "echo 'openjdk version \"21.0.8\" 2025-07-15 LTS' >&2"
    machine.program("java", f"case $1 in --add-modules=*) exit 1 ;; esac; {said}")
    machine.program("python3", WITHOUT_VENV)
    assert machine.run("--java") == missing(
        "the module venv of python3",
        "a whole Java, for Spark (java lacks the module jdk.incubator.vector)",
        packages="python3-venv default-jre-headless",
    )


@pytest.mark.parametrize("first_line", ['openjdk version "17.0.15" 2025-04-15', 'openjdk version "21" 2023-09-19'])
def test_java_new_enough(machine: Machine, first_line: str) -> None:
    machine.program("java", f"echo 'Picked up JAVA_TOOL_OPTIONS' >&2; echo '{first_line}' >&2")
    assert machine.run("--java") == missing("Python 3.11 or newer (no python3 is on PATH)", packages="python3")


def test_java_home_counts(machine: Machine) -> None:
    machine.program("java", "echo 'openjdk version \"17.0.15\"' >&2")
    status, lines = machine.run("--java", JAVA_HOME="/nowhere")
    assert status == 1
    assert "Java 17 or newer, for Spark (/nowhere/bin/java isn't there)" in lines[0]


@pytest.mark.parametrize("installer", ["pip", "uv"])
def test_no_network(machine: Machine, installer: str) -> None:
    nobody = {"PIP_INDEX_URL": "http://127.0.0.1:9/simple", "PIP_RETRIES": "0", "PIP_TIMEOUT": "1"}
    status, lines = machine.run(PYTHON=sys.executable, PIP_CONFIG_FILE=os.devnull, INSTALLER=installer, **nobody)
    assert status == 1
    assert lines[-1] == (
        "setup: no network: packages could not be fetched; is a package index reachable?"
        " (venv/setup.log has the details)"
    )
