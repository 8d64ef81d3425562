"""Pytest plug-in: the examples of the Hypothesis tests, the same in each run or new ones to explore.

Without options a test tries the same examples in every run, on every machine, alone or among others: under
`tests/system` all of them, elsewhere a part. With `--full-examples` what that leaves out runs: the Hypothesis tests
with all their examples, and the rows of others that `tests.kit.rows` leaves out. With `--explore=FACTOR` only the
Hypothesis tests run, with FACTOR times their examples, drawn from `--hypothesis-seed`.
"""

import json
import sys
from collections.abc import Callable, Collection
from pathlib import Path
from random import Random
from typing import Any, Final, TypeVar, cast

import pytest
from hypothesis import HealthCheck, Phase, is_hypothesis_test, settings
from hypothesis.internal import charmap
from hypothesis.internal.conjecture import engine, providers
from hypothesis.internal.constants_ast import Constants

from .rows import keep, left_out

SHRINKING_SECONDS: Final = 20
"""A failing test ends this long after its failure is found; what is found by then may not be minimal."""
EXAMPLES_SHARE: Final = 0.25
"""The part of its examples that a test tries outside `tests/system`."""
STEPS_SHARE: Final = 0.5
"""The part of its steps that an example of a state machine has outside `tests/system`."""
FEWEST, MOST = 3, 20
"""Of its examples a test tries this many at least outside `tests/system`, if it has as many, and this many at most."""

Test = TypeVar("Test", bound=Callable[..., object])
_SAMPLE: Final = "_amqp_sansio_sample"


def sample(most: int) -> Callable[[Test], Test]:
    """Let a costly Hypothesis test try so many examples at most outside `tests/system`."""

    def mark(test: Test) -> Test:
        setattr(test, _SAMPLE, most)
        return test

    return mark


# The time an example takes says nothing on a machine that does other work too. The database and the explain phase
# would make a run depend on the one before it, and a failing test take longer.
settings.register_profile(
    "steady",
    max_examples=25,
    stateful_step_count=30,
    deadline=None,
    derandomize=True,
    database=None,
    phases=[Phase.explicit, Phase.generate, Phase.target, Phase.shrink],
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile("explore", settings.get_profile("steady"), derandomize=False, print_blob=True)


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("examples")
    group.addoption(
        "--explore",
        metavar="FACTOR",
        type=float,
        help="run the Hypothesis tests only, with FACTOR times their examples, of --hypothesis-seed",
    )
    group.addoption(
        "--full-examples",
        action="store_true",
        help="run what the default suite leaves out: the Hypothesis tests with all their examples, and the other rows",
    )
    group.addoption(
        "--explore-report", metavar="FILE", type=Path, help="with --explore: append a line of JSON for each failure"
    )


def pytest_configure(config: pytest.Config) -> None:
    """Before any test module is imported: `@settings` takes from the profile what it doesn't name."""
    factor = cast("float | None", config.getoption("--explore"))
    settings.load_profile("steady" if factor is None else "explore")
    engine.MAX_SHRINKING_SECONDS = SHRINKING_SECONDS
    # Hypothesis mixes constants of all the modules that happen to be loaded into what it draws: a test would
    # try other examples alone than after others.
    setattr(providers, "_get_local_constants", Constants)  # noqa: B010
    if factor is None:
        full = cast("bool", config.getoption("--full-examples"))
        config.pluginmanager.register(_Full() if full else _Sample(), "number-of-examples")
    else:
        seed = str(cast("object", config.getoption("--hypothesis-seed")))
        report = cast("Path | None", config.getoption("--explore-report"))
        config.pluginmanager.register(_Explorer(factor, seed, report), "explorer")


@pytest.fixture(scope="module")
def at_large(request: Any) -> bool:
    """Whether a test takes all its cases, at their full size: those that a module of `tests/system` imports."""
    return in_system(request.node)


class _Sample:
    """Gives the Hypothesis tests outside `tests/system` a part of their examples and steps."""

    def __init__(self) -> None:
        self._scaled: dict[int, Any] = {}

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        for item in items:
            test = _test_of(item)
            # The cases of a parametrized test share one function.
            if test is None or id(test) in self._scaled or in_system(item):
                continue
            self._scaled[id(test)] = test
            _scale(test, EXAMPLES_SHARE, STEPS_SHARE, getattr(test, _SAMPLE, MOST))
        if self._scaled:
            # In a new checkout that takes two seconds, which whoever draws the first text would be blamed for.
            charmap.intervals_from_codec("utf-8")


class _Full:
    """Leaves out what the default suite runs as a whole."""

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        _keep_hypothesis_tests(config, items, left_out(items))


class _Explorer:
    """Leaves the other tests out, gives each Hypothesis test more examples, and notes what fails."""

    def __init__(self, factor: float, seed: str, report: Path | None) -> None:
        self._factor = factor
        self._seed = seed
        self._report = report

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        """In an order of the seed's: a run that is ended early leaves out other tests each time."""
        _keep_hypothesis_tests(config, items)
        # The cases of a parametrized test share one function.
        for test in {id(test): test for test in map(_test_of, items)}.values():
            _scale(test, self._factor)
        Random(self._seed).shuffle(items)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed and self._report is not None:
            sections = [f"{title}:\n{text}" for title, text in report.sections]
            failure = {
                "test": report.nodeid,
                "where": _where(report),
                "text": "\n".join((report.longreprtext, *sections)),
            }
            with self._report.open("a", encoding="utf-8") as file:
                file.write(json.dumps(failure) + "\n")


def _test_of(item: pytest.Item) -> Any:
    """The object that holds the settings of a Hypothesis test: its function, or a state machine's TestCase."""
    if not isinstance(item, pytest.Function) or not is_hypothesis_test(item.obj):
        return None
    machine = getattr(item.obj, "_hypothesis_state_machine_class", None)
    return getattr(item.obj, "__func__", item.obj) if machine is None else item.cls


def _keep_hypothesis_tests(
    config: pytest.Config, items: list[pytest.Item], more: Collection[str] = frozenset()
) -> None:
    """Leave out other tests but those whose ids are among `more`."""
    keep(config, items, lambda item: _test_of(item) is not None or item.nodeid in more)


def in_system(item: pytest.Item) -> bool:
    """Whether a test is one of `tests/system`."""
    return item.nodeid.startswith("tests/system/")


def _scale(test: Any, factor: float, steps: float = 1, most: int = sys.maxsize) -> None:
    name = "settings" if isinstance(test, type) else "_hypothesis_internal_use_settings"
    usual: settings = getattr(test, name)
    fewest = min(FEWEST, usual.max_examples)
    scaled = settings(
        usual,
        max_examples=min(most, max(fewest, round(usual.max_examples * factor))),
        stateful_step_count=max(1, round(usual.stateful_step_count * steps)),
    )
    setattr(test, name, scaled)


def _where(report: pytest.TestReport) -> str:
    """The place and the first line of an error: what tells failures of one test apart."""
    crash = getattr(report.longrepr, "reprcrash", None)
    if crash is None:
        return report.longreprtext.strip().rpartition("\n")[2]
    return f"{crash.path}:{crash.lineno}: {crash.message.partition(chr(10))[0]}"
