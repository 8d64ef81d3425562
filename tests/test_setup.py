"""What `make test` installs is enough to collect the tests: other people's clients come with `make interop` only."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

WITHOUT = """
import sys
from importlib.abc import MetaPathFinder

class Without(MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {names!r}:
            raise ModuleNotFoundError("No module named " + repr(name), name=name)
        return None

sys.meta_path.insert(0, Without())
import pytest
sys.exit(pytest.main(["--collect-only", "-q", "-p", "no:cacheprovider", "tests"]))
"""


def test_the_suite_is_collected_without_any_other_client() -> None:
    groups = tomllib.loads((ROOT / "pyproject.toml").read_text())["dependency-groups"]
    only = {name_of(each) for group in ("peers", "clients") for each in groups[group]}
    assert {"pika", "python-qpid-proton", "kombu"} <= only
    foreign = {
        module for module, of in packages_distributions().items() if only & {each.lower() for each in of}
    } - {"tests"}
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT.format(names=sorted(foreign))],
        cwd=ROOT,
        env={**os.environ, "PYTEST_ADDOPTS": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]


def name_of(requirement: str) -> str:
    """The name of the distribution that a requirement wants."""
    found = re.match(r"[\w.-]+", requirement)
    assert found is not None
    return found[0].lower()
