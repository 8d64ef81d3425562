"""`python -m tools.explore` runs the properties and state machines of the suite in rounds, each with a new seed.

Each process runs rounds of its own until the time is over, with more examples in each round. A failure ends nothing:
the summary names each once, with the command that reproduces it, and the exit status is 1.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from random import SystemRandom
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]
FACTORS: Final = (1, 2, 4, 8, 16, 32)
"""For the rounds of one process; the last one applies to all that follow."""


@dataclass(frozen=True)
class Round:
    """One run over all Hypothesis tests."""

    seed: int
    factor: int

    def options(self) -> list[str]:
        """Return pytest's options for these examples."""
        plugin = ["-p", "tests.kit.examples"]
        return [*plugin, f"--explore={self.factor}", f"--hypothesis-seed={self.seed}"]


@dataclass(frozen=True)
class Failure:
    """The first of several equal failures: of one test, at one place, with one message."""

    test: str
    where: str
    text: str
    round: Round

    @property
    def kind(self) -> tuple[str, str]:
        """The key shared by failures that differ only in values."""
        return self.test, re.sub(r"\d+|b?'[^']*'|b?\"[^\"]*\"", "*", self.where)

    def command(self) -> str:
        """Return the command that reproduces the failure, with the same version of Hypothesis."""
        return shlex.join([".venv/bin/python", "-m", "pytest", self.test, *self.round.options()])


@dataclass
class Worker:
    """Runs one process after the other, a round each."""

    rounds: Iterator[Round]
    folder: Path
    tests: list[str]
    process: subprocess.Popen[bytes] | None = None
    round: Round = field(init=False)

    def begin(self) -> None:
        """Start the next round, if there is one."""
        self.process = None
        following = next(self.rounds, None)
        if following is None:
            return
        self.round = following
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--color=no"]
        command += [*self.round.options(), f"--explore-report={self.report}", *self.tests]
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                command, cwd=ROOT, stdout=log, stderr=subprocess.STDOUT, start_new_session=True
            )

    @property
    def report(self) -> Path:
        """The file for this round's failures."""
        return self.folder / f"{self.round.seed}.jsonl"

    @property
    def log(self) -> Path:
        """The file for pytest's output."""
        return self.folder / f"{self.round.seed}.log"

    def failures(self) -> list[Failure]:
        """Return the failures of this round so far. An unfinished line is ignored."""
        if not self.report.exists():
            return []
        lines = self.report.read_text(encoding="utf-8").split("\n")[:-1]
        return [Failure(**json.loads(line), round=self.round) for line in lines]

    def ended(self) -> bool:
        """Whether the round has ended."""
        return self.process is not None and self.process.poll() is not None

    def stop(self) -> None:
        """End the round now, with all processes it started."""
        if self.process is not None and self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()


def rounds_of(seed: int, worker: int, workers: int, rounds: int | None) -> Iterator[Round]:
    """Yield the rounds of one of several workers: no two have a seed in common."""
    for number in count() if rounds is None else range(rounds):
        yield Round(seed + worker + number * workers, FACTORS[min(number, len(FACTORS) - 1)])


def explore(seconds: float, seed: int, jobs: int, rounds: int | None, tests: list[str]) -> int:
    """Run rounds for `seconds`, print each new failure, and return the exit status."""
    found: dict[tuple[str, str], Failure] = {}
    broken: list[str] = []
    end = time.monotonic() + seconds
    print(f"explore: {seconds:.0f} s in {jobs} processes, seeds from {seed} on", flush=True)
    with tempfile.TemporaryDirectory(prefix="explore-") as name:
        workers = [Worker(rounds_of(seed, number, jobs, rounds), Path(name), tests) for number in range(jobs)]
        try:
            for worker in workers:
                worker.begin()
            while time.monotonic() < end and not broken and any(w.process for w in workers):
                time.sleep(0.2)
                for worker in workers:
                    if worker.process is None:
                        continue
                    note(worker, found)
                    if worker.ended():
                        note(worker, found)
                        broken += finish(worker)
                        worker.begin()
        except KeyboardInterrupt:
            print("explore: interrupted", flush=True)
        finally:
            for worker in workers:
                worker.stop()
        for worker in workers:
            if worker.process is not None:
                note(worker, found)
    for line in broken:
        print(line)
    print(f"explore: {len(found)} distinct failures", flush=True)
    for failure in found.values():
        print(f"  {failure.test}\n    {failure.where}\n    reproduce: {failure.command()}")
    return 1 if found or broken else 0


def note(worker: Worker, found: dict[tuple[str, str], Failure]) -> None:
    """Print new failures."""
    for failure in worker.failures():
        if failure.kind not in found:
            found[failure.kind] = failure
            print(f"\n======== {failure.test}\n{failure.text}")
            print(f"reproduce: {failure.command()}", flush=True)


def finish(worker: Worker) -> list[str]:
    """Report the end of a round; return errors that kept the tests from running at all."""
    assert worker.process is not None
    status = worker.process.returncode
    log = worker.log.read_text(encoding="utf-8", errors="replace")
    last = log.strip().rpartition("\n")[2]
    print(f"round with seed {worker.round.seed}, factor {worker.round.factor}: {last}", flush=True)
    # 0: all passed; 1: some failed, and are in the report.
    return [] if status in (0, 1) else [f"pytest ended with status {status}:\n{log}"]


def main(arguments: list[str] | None = None) -> int:
    """Run the command line; the exit status is 1 if anything was found."""
    parser = argparse.ArgumentParser(prog="python -m tools.explore", description=__doc__)
    parser.add_argument("--seconds", type=float, default=300, help="time budget (default: 300)")
    parser.add_argument("--seed", type=int, help="the first seed (default: a new one)")
    parser.add_argument("--rounds", type=int, help="of each process (default: no end)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes")
    parser.add_argument("tests", nargs="*", default=["tests"], help="files, folders or ids")
    options = parser.parse_args(arguments)
    seed = SystemRandom().randrange(10**9) if options.seed is None else options.seed
    return explore(options.seconds, seed, options.jobs, options.rounds, options.tests)


if __name__ == "__main__":
    raise SystemExit(main())
