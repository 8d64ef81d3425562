"""Takes a sample of mutants, finds the tests that reach each, and runs these until one fails."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Final, Literal

from tools.mutants.job import ROOT, VARIABLE, Answer, Job, name_of
from tools.mutants.mutations import Mutation, mutations

PARTS: Final[Mapping[str, tuple[str, ...]]] = {
    "amqp_sansio/_classic/model": ("tests/classic", "tests/conformance"),
    "amqp_sansio/amqp_0_10/model": ("tests/amqp_0_10",),
    "amqp_sansio/amqp_1_0/model": ("tests/amqp_1_0",),
    "amqp_sansio/broker/model": ("tests/broker",),
    # What a version's client does for its user is tested by the scenarios, once for all adapters; tokens with one.
    "amqp_sansio/client": ("tests/client", "tests/scenarios", "tests/asyncio/test_cbs.py"),
}
"""The code that is changed, and the folders whose tests must notice."""

_ADAPTERS: Final = ("asyncio", "sync", "spark", "cli", "pytest", "report", "arrow", "probe", "azure")
_PATHS: Final = (".", *(f"adapters/{name}" for name in _ADAPTERS))
DEAREST: Final = 1.0
"""CPU seconds: no test of the default suite takes more."""
_SLOWER: Final = 10
"""A test may take this many times its usual CPU time, and `_SPARE` seconds more."""
_SPARE: Final = 3.0
_STARTING: Final = 60
"""CPU seconds for imports, collection and fixtures."""
_REACHING: Final = 3600
_FEW_FILES: Final = 3
_FEW_SECONDS: Final = 5.0
_WAITING: Final = 5
"""Seconds of a process for each second of CPU that it may take: tests wait, and the machine does other work."""

Outcome = Literal["killed", "timed out", "lives", "not reached"]


class MutantsError(Exception):
    """The tests can't tell anything: the text says why."""


@dataclass(frozen=True)
class Mutant:
    """A mutation of one module."""

    path: str
    mutation: Mutation

    @property
    def name(self) -> str:
        return name_of(self.path, self.mutation.number)

    @property
    def part(self) -> str:
        """The key of `PARTS`."""
        return next(part for part in PARTS if self.path.startswith(f"{part}/"))


@dataclass(frozen=True)
class Result:
    """How a mutant ended, and the test that noticed it."""

    mutant: Mutant
    outcome: Outcome
    test: str = ""

    @property
    def is_killed(self) -> bool:
        """Whether a test noticed it."""
        return self.outcome in ("killed", "timed out")


@dataclass
class Reach:
    """The tests of a part, by what they reach and cost, without any change."""

    costs: dict[str, float] = field(default_factory=dict[str, float])
    tests: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    failed: list[str] = field(default_factory=list[str])
    """Tests that fail without a change, as these processes run them, and so say nothing."""
    dear: list[str] = field(default_factory=list[str])
    """Tests that take too long."""


def all_mutants(under: str = "") -> list[Mutant]:
    """Return every mutant of the modules whose path begins with `under`."""
    found: list[Mutant] = []
    for part in PARTS:
        for file in sorted((ROOT / part).rglob("*.py")):
            path = file.relative_to(ROOT).as_posix()
            if path.startswith(under):
                found += [Mutant(path, each) for each in mutations(file.read_text(encoding="utf-8"))]
    return found


def sample(mutants: list[Mutant], seed: int, count: int) -> list[Mutant]:
    """Return `count` of the mutants, in their order, by the seed.

    What a mutant is decides whether it belongs to the sample, not how many others there are: a change of the code
    replaces those of the changed lines only.
    """
    alike: Counter[str] = Counter()
    ranks: dict[Mutant, bytes] = {}
    for mutant in mutants:
        _, kind, _, function, before, after = mutant.mutation
        what = f"{seed}\n{mutant.path}\n{function}\n{kind}\n{before}\n{after}"
        alike[what] += 1
        ranks[mutant] = sha256(f"{what}\n{alike[what]}".encode()).digest()
    chosen = set(sorted(mutants, key=ranks.__getitem__)[:count])
    return [mutant for mutant in mutants if mutant in chosen]


def in_order(tests: Iterable[str], path: str, costs: Mapping[str, float]) -> list[str]:
    """Return the tests with those that most likely notice a change of a module soon first.

    File by file: the nearest by name, then those whose tests are cheap; in each file the cheapest first.
    """
    files: dict[str, list[str]] = {}
    for test in tests:
        files.setdefault(test.partition("::")[0], []).append(test)
    words = _words(path)

    def key(file: str) -> tuple[int, float, str]:
        cost = sum(costs.get(test, 0.0) for test in files[file])
        return -len(words & _words(file)), cost / len(files[file]), file

    return [
        test for file in sorted(files, key=key) for test in sorted(files[file], key=lambda each: costs.get(each, 0.0))
    ]


def first_of(tests: list[str], costs: Mapping[str, float]) -> int:
    """Return how many of the tests in order to run first, in a process of their own.

    They come from few files, since a process collects whole ones, and most mutants need no more.
    """
    files: set[str] = set()
    total = 0.0
    for place, test in enumerate(tests):
        files.add(test.partition("::")[0])
        total += costs[test]
        if len(files) > _FEW_FILES or total > _FEW_SECONDS:
            return max(1, place)
    return len(tests)


def run(mutants: list[Mutant], say: Callable[[str], None], dearest: float = DEAREST) -> Iterator[Result]:
    """Yield the result of each mutant, part by part. Tests that take more CPU seconds than `dearest` are left out."""
    for part, folders in PARTS.items():
        chosen = [mutant for mutant in mutants if mutant.part == part]
        if not chosen:
            continue
        reach = reached(chosen, folders, dearest)
        say(f"{part}: {len(reach.costs)} tests, {sum(reach.costs.values()):.0f} s of CPU, {len(reach.dear)} left out")
        if reach.failed:
            say(f"{part}: left out, since they fail without a change: {', '.join(reach.failed)}")
        for mutant in chosen:
            yield tried(mutant, reach)


def reached(mutants: list[Mutant], folders: tuple[str, ...], dearest: float = DEAREST) -> Reach:
    """Run the tests of the folders without any change, and return which reach the places of the mutants."""
    changes: dict[str, list[int]] = {}
    for mutant in mutants:
        changes.setdefault(mutant.path, []).append(mutant.mutation.number)
    answer = _unchanged(folders, changes, None)
    failed = answer.failed
    if failed:
        # Those that count the lines that run see the probes. Those that measure CPU time fail again, and are left out:
        # with a bound on CPU, which all these processes have, Linux counts a process's time in ticks.
        files = tuple(dict.fromkeys(test.partition("::")[0] for test in failed))
        failed = _unchanged(files, {}, failed).failed
    dear = [test for test, cost in answer.costs.items() if cost > dearest]
    without = {*failed, *dear}
    costs = {test: cost for test, cost in answer.costs.items() if test not in without}
    tests: dict[str, list[str]] = {}
    for mutant in mutants:
        # What runs when a module is imported is reached by all.
        found = answer.reached.get(mutant.name, []) if mutant.mutation.function else list(costs)
        tests[mutant.name] = [test for test in found if test not in without]
    return Reach(costs, tests, failed, dear)


def _unchanged(folders: tuple[str, ...], changes: dict[str, list[int]], tests: list[str] | None) -> Answer:
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        job = Job(answer=f"{folder}/answer", changes=changes, probes=True, cpu=_REACHING, tests=tests)
        answer, output = _process(job, folders, Path(folder))
    if answer is None or not answer.ended or not answer.costs or answer.timed_out:
        raise MutantsError(f"the tests of {', '.join(folders)} don't run without a change:\n{output}")
    return answer


def tried(mutant: Mutant, reach: Reach) -> Result:
    """Run the tests that reach a mutant until one fails."""
    tests = in_order(reach.tests[mutant.name], mutant.path, reach.costs)
    if not tests:
        return Result(mutant, "not reached")
    first = first_of(tests, reach.costs)
    for some in (tests[:first], tests[first:]):
        result = _tried_by(mutant, some, reach.costs) if some else None
        if result is not None:
            return result
    return Result(mutant, "lives")


def _tried_by(mutant: Mutant, tests: list[str], costs: Mapping[str, float]) -> Result | None:
    files = tuple(dict.fromkeys(test.partition("::")[0] for test in tests))
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        job = Job(
            answer=f"{folder}/answer",
            changes={mutant.path: [mutant.mutation.number]},
            probes=False,
            cpu=int(sum(costs[test] for test in tests) * 3) + _STARTING,
            tests=tests,
            limits={test: costs[test] * _SLOWER + _SPARE for test in tests},
        )
        answer, output = _process(job, files, Path(folder))
    if answer is None:
        raise MutantsError(f"no process could begin with {mutant.name}:\n{output}")
    if not answer.ended:
        # Pytest comes to its end without a change: the project can't be imported, or the CPU time was over.
        return Result(mutant, "timed out" if output is None else "killed", "the whole run")
    if answer.failed:
        return Result(mutant, "timed out" if answer.timed_out else "killed", answer.failed[-1])
    if not answer.costs:
        raise MutantsError(f"none of the tests that reach {mutant.name} were found again:\n{output}")
    return None


def _process(job: Job, tests: tuple[str, ...], folder: Path) -> tuple[Answer | None, str | None]:
    """Run pytest; return the answer if there is one, and its output, which is None if it took too long."""
    path = folder / "job"
    job.write(path)
    command = [sys.executable, "-m", "pytest", "-q", "--tb=no", "--color=no", "-p", "tools.mutants.plugin"]
    # All rows of a test: what the default suite leaves to another run is noticed as well.
    command += ["--all-rows", "-p", "no:randomly", "-p", "no:cacheprovider", *([] if job.probes else ["-x"]), *tests]
    environment = {
        **os.environ,
        VARIABLE: str(path),
        "PYTHONPATH": os.pathsep.join(str(ROOT / name) for name in _PATHS),
        "PYTHONHASHSEED": "0",
    }
    log = folder / "log"
    with log.open("wb") as file:
        process = subprocess.Popen(
            command, cwd=ROOT, env=environment, stdout=file, stderr=subprocess.STDOUT, start_new_session=True
        )
        try:
            status = process.wait(job.cpu * _WAITING)
        except subprocess.TimeoutExpired:
            status = None
        finally:
            _end_group(process)
    answer = Answer.read(Path(job.answer)) if Path(job.answer).exists() else None
    text = log.read_text(encoding="utf-8", errors="replace")
    return answer, None if status is None or status == -signal.SIGXCPU else text


def _end_group(process: subprocess.Popen[bytes]) -> None:
    """End the process, and what it may have started."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _words(path: str) -> set[str]:
    return set(re.findall(r"[a-z0-9]+", path.rpartition("/")[2])) - {"py", "test"}


__all__ = [
    "DEAREST",
    "PARTS",
    "Mutant",
    "MutantsError",
    "Reach",
    "Result",
    "all_mutants",
    "first_of",
    "in_order",
    "reached",
    "run",
    "sample",
    "tried",
]
