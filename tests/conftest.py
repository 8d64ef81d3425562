"""What all tests share: folders of captures, hypothesis profiles, plug-ins, Spark's process."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

pytest_plugins = ["tests.support.rules"]

ROOT = Path(__file__).resolve().parents[1]

# The time an example takes says nothing on a machine that does other work too.
settings.register_profile(
    "dev",
    max_examples=25,
    stateful_step_count=30,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile(
    "ci", settings.get_profile("dev"), max_examples=60, derandomize=True, database=None
)
settings.register_profile("deep", settings.get_profile("dev"), max_examples=2000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "dev"))


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """With `-n 2 --dist loadgroup` one process runs all Spark tests: one session serves them."""
    for item in items:
        if item.get_closest_marker("spark") is not None:
            item.add_marker(pytest.mark.xdist_group("spark"))


@pytest.fixture(scope="session")
def captures_dir() -> Path:
    """The big set of recorded traffic: AMQP_SANSIO_CAPTURES, or a folder beside the repository."""
    folder = Path(os.environ.get("AMQP_SANSIO_CAPTURES", ROOT.parent / "shared" / "captures"))
    if not folder.is_dir():
        pytest.skip(f"the big set of captures isn't there: {folder}")
    return folder


@pytest.fixture(scope="session")
def carried_captures() -> Path:
    """The captures that the repository carries."""
    return ROOT / "tests" / "data" / "captures"
