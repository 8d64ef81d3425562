"""What `make test` installs is enough to collect the tests: other people's clients come with `make interop` only."""

import os
import re
import subprocess
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
INTEROP = ROOT / "tests" / "interop"

WITHOUT = """
import sys
from importlib.abc import MetaPathFinder

class Without(MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {names!r}:
            raise ModuleNotFoundError("No module named " + repr(name), name=name)
        return None

class Only:
    def pytest_ignore_collect(self, collection_path):
        return True if collection_path.suffix == ".py" and str(collection_path) not in sys.argv else None

sys.meta_path.insert(0, Without())
import pytest
sys.exit(pytest.main(["--collect-only", "-q", "-p", "no:cacheprovider", "tests"], [Only()]))
"""


def test_the_suite_is_collected_without_any_other_client() -> None:
    groups = tomllib.loads((ROOT / "pyproject.toml").read_text())["dependency-groups"]
    only = {name_of(each) for group in ("peers", "clients") for each in groups[group]}
    assert {"pika", "python-qpid-proton", "kombu"} <= only
    foreign = {module for module, of in packages_distributions().items() if only & {each.lower() for each in of}} - {
        "tests"
    }
    if not foreign:
        pytest.skip("no other client is installed: whatever is collected here is collected without")
    uses = re.compile(rf"\b(?:import|from|importorskip\(.)\s*(?:{'|'.join(foreign)}|tests\.interop)\b")
    # The other modules can't miss what they don't name; to collect them all takes long.
    tests = {path for path in (ROOT / "tests").rglob("*.py") if uses.search(path.read_text(encoding="utf-8"))}
    elsewhere = [path.name for path in tests if not path.is_relative_to(INTEROP)]
    assert len(tests) > len(elsewhere) > 1
    assert all(name.startswith("test_") for name in elsewhere), f"others may import one of {elsewhere}"
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT.format(names=sorted(foreign)), *map(str, sorted(tests))],
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
