"""What all tests share: folders of captures, plug-ins, Spark's process."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from xdist.scheduler import LoadScopeScheduling  # type: ignore[import-untyped]  # pyright: ignore[reportMissingTypeStubs]

pytest_plugins = ["tests.support.rules", "tests.support.examples"]

ROOT = Path(__file__).resolve().parents[1]


SPARK = (
    "spark/test_generated", "spark/test_hot", "spark/test_interpreter", "spark/test_joining", "spark/test_queries",
    "spark/test_readme", "spark/test_replay", "spark/test_shapes", "spark/test_source.py", "spark/test_source_spark",
    "report/test_spark_report",
)  # fmt: skip
"""The tests of one Spark session, which serves them all."""
JAVA = (
    "spark/test_cluster", "spark/test_stream_source", "spark/test_streaming",
    "cli/test_report_command", "cli/test_spark_commands",
)  # fmt: skip
"""Those that start a Java process of their own, or whose streams take long."""


class Groups(LoadScopeScheduling):  # type: ignore[misc]
    """One process runs the tests of the shared Spark session, another those with a Java process of their own."""

    def _split_scope(self, nodeid: str) -> str:
        path = nodeid.removeprefix("tests/")
        return "spark" if path.startswith(SPARK) else "java" if path.startswith(JAVA) else nodeid


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Groups:
    """With several processes, whatever `--dist` says: xdist's own groups are ignored by pytest 9.2."""
    return Groups(config, log)


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
