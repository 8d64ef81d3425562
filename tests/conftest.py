"""What all tests share: folders of captures, plug-ins, Spark's process."""

import gc
import os
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from xdist.scheduler import LoadScopeScheduling  # type: ignore[import-untyped]  # pyright: ignore[reportMissingTypeStubs]

pytest_plugins = ["tests.kit.rules", "tests.kit.examples"]

ROOT = Path(__file__).resolve().parents[1]


STREAMS = ("spark/test_stream_source.py", "spark/test_streaming.py")
"""Tests whose streams take so long that they have a Spark session of their own."""


class Groups(LoadScopeScheduling):  # type: ignore[misc]
    """One process runs the tests of the shared Spark session, another those with a Java process of their own."""

    def _split_scope(self, nodeid: str) -> str:
        return _scope_of(nodeid.partition("::")[0]) or nodeid


@cache
def _scope_of(path: str) -> str:
    """The group of a test module, by the `spark` fixture or mark in its text; empty for a module without Spark."""
    text = (ROOT / path).read_text(encoding="utf-8")
    if "spark: SparkSession" in text and not path.endswith(STREAMS):
        return "spark"
    return "java" if "mark.spark" in text else ""


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Groups:
    """With several processes, whatever `--dist` says: xdist's own groups are ignored by pytest 9.2."""
    return Groups(config, log)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Refuse a module that uses the `spark` fixture so that the scheduler, which sees the text only, can't tell."""
    for module in {each.nodeid.partition("::")[0] for each in items if "spark" in getattr(each, "fixturenames", ())}:
        if not _scope_of(module):
            raise pytest.UsageError(f"{module}: write pytest.mark.spark, or the scheduler starts a session for it")


def pytest_collection_finish() -> None:
    """The collector need not go through all the collected tests again and again."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(10_000, 20, 20)


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
