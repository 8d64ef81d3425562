"""`python -m tools.ci` runs the checks of continuous integration; `--list` prints them. `.ci/run` calls it.

What is proved twice runs once: the comments at `JOBS` say where the other proof is. `make` alone runs each in full.
A run takes one of `SHARES` of the proofs that have many rows or take a minute: the commit chooses, or SHARE=K/N.
Suites that need no machine run in one process each, for jobs run side by side: a second process would collect all tests
again, which takes as long as a tenth of them.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
from types import FrameType
from typing import Final

from . import Job, run

UNSTABLE: Final = "build/unstable"
PROCESSORS: Final = 1
"""So many more than there are: none is idle while one of the jobs waits."""
SHARES: Final = 6
"""Runs that take all rows together."""
FUZZ_S: Final = "1200"
"""The fuzzer ends by the number of its inputs; after so many seconds it would leave some out."""
COMPILED: Final = ",".join(
    [
        "table-",
        "value-1.0",
        "performative-1.0",
        *(f"{end}-{version}" for end in ("client", "server", "hub", "observer") for version in ("0-8", "0-9-1", "1.0")),
    ]
)
"""The fuzzer's targets that the module in C takes part in."""


def _make(*targets: str, **variables: str) -> tuple[str, ...]:
    return ("make", *targets, *(f"{name}={value}" for name, value in variables.items()))


def _pure(title: str, command: tuple[str, ...], processors: float, after: tuple[str, ...] = ()) -> Job:
    """A job that needs no machine: no socket, no other process, and no Spark."""
    return Job(title, command, processors, after, gives_way=True)


JOBS: Final = (
    # One environment for all but what needs its own: made once, with what lint and interop want. The others are made
    # meanwhile: each waits for the network and the disk.
    Job("environment", _make("environment", INSTALLER="uv"), 1),
    Job("environment of the newest Python", _make("environment-newest", INSTALLER="uv"), 1),
    Job("environment of the documentation", _make(".venv-docs/.stamp", INSTALLER="uv"), 1),
    # A test of the system, or with another program, that fails runs once more, alone; if it passes then, the output's
    # last lines name it.
    Job("system tests", _make("test-real", SYSTEM_EXTRA=f"--again-alone={UNSTABLE}"), 1, after=("environment",)),
    _pure("ruff", _make("ruff"), 0.5, after=("environment",)),
    _pure("generated code", _make("codegen-check"), 0.5, after=("environment",)),
    _pure("types by mypy", _make("mypy"), 1, after=("environment",)),
    # Not at the same time as the system's tests: it took as long, with twice the processes that wait for each other.
    Job("interop", _make("interop", INTEROP_EXTRA=f"--again-alone={UNSTABLE}"), 1, after=("system tests",)),
    # A handful of it is real, with a session of Spark: whoever waits a minute for its processor is late for that.
    Job("tests", _make("test", WORKERS="0"), 1, after=("environment",)),
    _pure("types by pyright", _make("pyright"), 1, after=("environment",)),
    _pure("conformance", _make("conformance-check"), 0.5, after=("tests",)),
    _pure("rows and examples left out", _make("test-rest", WORKERS="0"), 1, after=("environment",)),
    # The sdist has each file of the tree. Those tests run in it that read files which git or a checkout could have had.
    # `make demo` runs here with the oldest packages, and with those of this tree, in one of the shares, in
    # tests/system/cli/test_spark_commands.py, which reads what it prints.
    Job(
        "distribution",
        _make("dist", WORKERS="0", SDIST_TESTS="tests/docs tests/tools/test_distribution.py tests/test_layout.py"),
        1,
        after=("environment",),
    ),
    # The tests that depend on the interpreter's own libraries, with two rows of each: an interpreter that behaves
    # otherwise does so in every row. A handful is real here too.
    Job(
        "newest Python",
        _make(
            "test-newest",
            WORKERS="0",
            ROWS="2",
            NEWEST="tests/core tests/asyncio tests/sync tests/client tests/messaging tests/scenarios tests/sasl"
            " tests/strategies tests/cli tests/pytest_plugin tests/arrow tests/capture tests/classic/codec",
        ),
        1,
        after=("environment", "environment of the newest Python"),
    ),
    # A count, not a time, so the inputs are the same in every run. Bombs, whose steps take longest to count, are tried
    # one by one in tests/system/tools/test_every_bomb.py.
    _pure(
        "fuzz",
        _make("fuzz", FUZZ_CASES="1500", FUZZ_S=FUZZ_S, FUZZ_ARGS="--jobs 1 --bombs none"),
        1,
        after=("environment",),
    ),
    # The module in C has no steps to count, and takes part in two targets of three.
    _pure(
        "fuzz, module in C",
        _make(
            "fuzz-compiled", FUZZ_CASES="1000", FUZZ_S=FUZZ_S, FUZZ_ARGS=f"--jobs 1 --bombs tried --target {COMPILED}"
        ),
        1,
        after=("environment",),
    ),
    # Those that compare it with the text that it stands in for run with all their rows below, under the sanitizers: the
    # same source. Here what uses it runs, with the flags of a wheel.
    _pure(
        "module in C",
        _make(
            "test-compiled",
            WORKERS="0",
            ROWS="2",
            COMPILED_TESTS="tests/core tests/classic tests/amqp_1_0/codec tests/observer tests/tables"
            " tests/system/core/test_compiled.py",
        ),
        1,
        after=("environment",),
    ),
    _pure("module in C, sanitized", _make("test-asan"), 1, after=("environment",)),
    _pure("documentation", _make("docs"), 1, after=("environment", "environment of the documentation")),
)


def share_of(commit: str) -> str:
    """Return the share that a commit's run takes, as `pytest --share` has it: the first where no commit is known."""
    return f"{int(commit or '0', 16) % SHARES}/{SHARES}"


def _commit() -> str:
    """The commit that is checked out; empty in a tree without git."""
    try:
        asked = subprocess.run(["git", "rev-parse", "HEAD"], capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return ""
    return asked.stdout.strip() if asked.returncode == 0 else ""


def main(arguments: list[str] | None = None) -> int:
    """Run or list the jobs; the exit status is that of the first that fails."""
    parser = argparse.ArgumentParser(prog="python -m tools.ci", description=__doc__)
    parser.add_argument("--list", action="store_true", help="print the jobs in their order, and run none")
    options = parser.parse_args(arguments)
    if options.list:
        for job in JOBS:
            print(f"{job.title}: {' '.join(job.command)}")
        return 0
    share = os.environ.setdefault("SHARE", share_of(_commit()))
    print(f"======== share {share} of what has many rows or takes a minute; SHARE=0/1 takes all", flush=True)
    came: list[int] = []

    def note(number: int, frame: FrameType | None) -> None:
        # An exception here could come while a job is started, which nobody would end then.
        came.append(number)

    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM):
        signal.signal(number, note)
    return run(JOBS, (os.cpu_count() or 1) + PROCESSORS, asked_to_end=lambda: 128 + came[0] if came else 0)


if __name__ == "__main__":
    sys.exit(main())
