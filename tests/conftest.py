"""What all tests share: folders of captures, plug-ins, Spark's process."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

pytest_plugins = ["tests.support.rules", "tests.support.examples"]

ROOT = Path(__file__).resolve().parents[1]


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """With `--dist loadgroup` one process runs all tests of one Spark session, which serves them all; another runs, one
    after the other, those that start a Java process of their own.
    """
    for item in items:
        if item.get_closest_marker("spark") is not None:
            shared = "spark" in getattr(item, "fixturenames", ())
            item.add_marker(pytest.mark.xdist_group("spark" if shared else "java"))


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
