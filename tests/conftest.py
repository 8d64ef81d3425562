"""What all tests share: folders of captures, plug-ins, Spark's process.

`pytest` alone runs the default suite, which needs no machine (`tests.kit.guard`); tests/system and tests/interop run
when they are named.
"""

import gc
import logging
import os
import re
import signal
from collections import Counter
from collections.abc import Generator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from xdist.scheduler import LoadScopeScheduling  # type: ignore[import-untyped]  # pyright: ignore[reportMissingTypeStubs]

pytest_plugins = [
    "tests.kit.guard",
    "tests.kit.cost",
    "tests.kit.unstable",
    "tests.kit.rules",
    "tests.kit.rows",
    "tests.kit.examples",
    "tests.kit.shares",
]

ROOT = Path(__file__).resolve().parents[1]


ASIDE = (ROOT / "tests" / "system", ROOT / "tests" / "interop")
"""Folders whose tests run only when an argument names them."""
QUERIES = tuple(
    [
        f"system/spark/test_{name}.py"
        for name in ("joining", "queries", "queries_in_duckdb", "readme", "shapes", "stream_source", "streaming")
    ]
)
"""Tests that share a second session: one for all is busy longer than all other tests together."""


SHARING = frozenset({"spark", "queries", "java", "rabbitmq", "brokerj"})
"""Groups of several modules; they take longest, so they begin first."""
_RABBITMQ = re.compile(r"\b(mortal_|managed_)?rabbitmq\b")
_BROKERJ = re.compile(r"\b(mortal_)?brokerj\b")


TOGETHER = 16
"""Tests of one module of the default suite that a process is given at once."""


class Groups(LoadScopeScheduling):  # type: ignore[misc]
    """One process each runs the tests of a shared Spark session, another those with a Java process of their own, one
    or two those of foreign brokers.

    What is done is forgotten: xdist goes through all that a process was ever given after each test, which with 26,000
    tests costs more than a tenth of them.
    """

    def __init__(self, config: pytest.Config, log: Any) -> None:
        super().__init__(config, log)
        self._scopes: dict[str, str] = {}
        """The group of each test, by its id; set when xdist asks for it first, which it does in the tests' order."""
        self._counts: Counter[str] = Counter()
        """Tests of each module that have a group."""

    def _split_scope(self, nodeid: str) -> str:
        scope = self._scopes.get(nodeid)
        if scope is None:
            path = nodeid.partition("::")[0]
            scope = _scope_of(path)
            if not scope:
                is_small = not path.startswith(("tests/system/", "tests/interop/"))
                scope = f"{path} {self._counts[path] // TOGETHER}" if is_small else nodeid
                self._counts[path] += 1
            self._scopes[nodeid] = scope
        return scope

    def mark_test_complete(self, node: Any, item_index: int, duration: float = 0) -> None:
        """As xdist has it, but a group that is done goes."""
        nodeid = self.registered_collections[node][item_index]
        scope = self._split_scope(nodeid)
        unit = self.assigned_work[node][scope]
        unit[nodeid] = True
        if all(unit.values()):
            del self.assigned_work[node][scope]
        self._reschedule(node)


@cache
def _scope_of(path: str) -> str:
    """The group of a test module, by what its text names; empty where each test may run by itself."""
    text = (ROOT / path).read_text(encoding="utf-8")
    if path.startswith("tests/interop/"):
        # Two groups in place of one, so that neither takes half of the time: a second Broker-J costs little.
        return "rabbitmq" if _RABBITMQ.search(text) else "brokerj" if _BROKERJ.search(text) else path
    if "spark: SparkSession" in text:
        return "queries" if path.endswith(QUERIES) else "spark"
    return "java" if "mark.spark" in text else ""


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Groups:
    """With several processes, whatever `--dist` says: xdist's own groups are ignored by pytest 9.2."""
    return Groups(config, log)


def pytest_configure() -> None:
    """Take interrupts, as the programs that tests start then do: a shell ignores them for both in `command &`."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave the suites that need a machine out of the one that needs none."""
    if collection_path not in ASIDE:
        return None
    named = [(config.invocation_params.dir / each.partition("::")[0]).resolve() for each in config.args]
    return None if any(each.is_relative_to(collection_path) for each in named) else True


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put Spark's tests first, because they wait a lot, and those of foreign brokers.

    Refuse a module that uses the `spark` fixture so that the scheduler, which sees the text only, can't tell.
    """
    items.sort(key=lambda item: _scope_of(item.nodeid.partition("::")[0]) not in SHARING)
    for module in {each.nodeid.partition("::")[0] for each in items if "spark" in getattr(each, "fixturenames", ())}:
        if not _scope_of(module):
            raise pytest.UsageError(f"{module}: write pytest.mark.spark, or the scheduler starts a session for it")


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Nothing that is collected becomes garbage: the collector would go through all of it again and again."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


def pytest_collection_finish() -> None:
    """The collector need not go through all the collected tests again and again."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(10_000, 20, 20)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol() -> Generator[None, object, object]:
    """Put the root logger's level back: a program of the docs sets it, and later tests would read an empty log."""
    before = logging.root.level
    try:
        return (yield)
    finally:
        logging.root.setLevel(before)


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
