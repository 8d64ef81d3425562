"""Jobs of continuous integration: as many at a time as keep the processors busy, each with its output in one block.

A job begins when those that it comes after have passed and its processors are free; the jobs are in the order in which
they are to begin. The first that fails ends the run with its status: the others are ended, with all the processes of
their groups and those that tests noted in the folder that AMQP_SANSIO_PIDS names. Only the standard library is needed.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple, TextIO

LOOK_S: Final = 0.1
"""Seconds between two looks at what runs."""
NICE: Final = 10
"""The priority of jobs that give way, as `nice` has it: a tenth of what the others get."""
PATIENCE_S: Final = 10.0
"""Seconds that a group of processes has to end when it is asked to."""
NOTES: Final = "AMQP_SANSIO_PIDS"
"""The variable that names the folder where tests note the groups of processes that they start."""


class Job(NamedTuple):
    """A command, and when it may run."""

    title: str
    command: tuple[str, ...]
    processors: float
    """The number of processors that it keeps busy, on average; one that waits for others takes a part of one."""
    after: tuple[str, ...] = ()
    """Titles of the jobs whose results it needs."""
    gives_way: bool = False
    """Whether the jobs that don't get the processors first: they have sockets, and wait for other processes."""


class Ended(NamedTuple):
    """The result of a job: its status as a shell has it, and what it took."""

    job: Job
    status: int
    seconds: float
    processor_s: float
    """Seconds of processor time of the command and all that it waited for."""


class _Running:
    """A job that has begun, in a session of its own."""

    def __init__(self, job: Job, folder: Path) -> None:
        self.job = job
        self._began = time.monotonic()
        self.output = folder / f"{job.title.replace('/', '-')}.log"
        """The text that the job has written so far, on both its outputs."""
        with self.output.open("wb") as output:
            self.process = subprocess.Popen(
                job.command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, start_new_session=True
            )
            """The command; its number is that of its group too."""
        if job.gives_way:
            _give_way(self.process.pid)

    def ended(self) -> Ended | None:
        """Return what it came to; None while it runs."""
        number, status, used = os.wait4(self.process.pid, os.WNOHANG)
        if number == 0:
            return None
        code = os.waitstatus_to_exitcode(status)
        # The process is gone, and nobody else may wait for it.
        self.process.returncode = code
        seconds = time.monotonic() - self._began
        return Ended(self.job, code if code >= 0 else 128 - code, seconds, used.ru_utime + used.ru_stime)


def never() -> int:
    """Nothing asks the run to end."""
    return 0


def run(
    jobs: Sequence[Job], processors: float, out: TextIO = sys.stdout, asked_to_end: Callable[[], int] = never
) -> int:
    """Run all jobs, so that those that run at a time keep at most `processors` busy, or one alone that takes more.

    Returns 0, or the status of the first job that failed, or what `asked_to_end` returns that isn't 0. Raises
    ValueError if a job comes after one that isn't before it in `jobs`.
    """
    _check(jobs)
    began = time.monotonic()
    passed: list[Ended] = []
    running: list[_Running] = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        notes = folder / "pids"
        notes.mkdir()
        before = os.environ.get(NOTES)
        os.environ[NOTES] = str(notes)
        waiting = list(jobs)
        try:
            while waiting or running:
                status = asked_to_end()
                if status:
                    return status
                for job in _ready(waiting, {each.job.title for each in passed}, running, processors):
                    waiting.remove(job)
                    print(f"======== {job.title} begins: {' '.join(job.command)}", file=out, flush=True)
                    running.append(_Running(job, folder))
                for each in tuple(running):
                    ended = each.ended()
                    if ended is None:
                        continue
                    end_group(each.process.pid)
                    running.remove(each)
                    _show(each, ended, out)
                    if ended.status:
                        for other in running:
                            print(f"======== {other.job.title} is ended", file=out, flush=True)
                        return ended.status
                    passed.append(ended)
                time.sleep(LOOK_S)
        finally:
            for each in running:
                end_group(each.process.pid)
                each.process.wait()
            for note in notes.iterdir():
                end_group(int(note.name))
            if before is None:
                del os.environ[NOTES]
            else:
                os.environ[NOTES] = before
    print(_summary(passed, time.monotonic() - began), file=out, flush=True)
    return 0


def _give_way(number: int) -> None:
    """Lower the priority of a group of processes that has just begun: what they start inherits it."""
    # One that has ended already needs none.
    with suppress(ProcessLookupError):
        os.setpriority(os.PRIO_PGRP, number, NICE)
    # Linux shares processors among sessions first, and only in each by priority: a job is a session.
    with suppress(OSError):
        Path(f"/proc/{number}/autogroup").write_text(str(NICE))


def _check(jobs: Sequence[Job]) -> None:
    seen: set[str] = set()
    for job in jobs:
        missing = set(job.after) - seen
        if missing or job.title in seen:
            raise ValueError(f"job {job.title!r}: {'not before it' if missing else 'twice'}: {missing or job.title}")
        seen.add(job.title)


def _ready(
    waiting: Sequence[Job], passed: Collection[str], running: Sequence[_Running], processors: float
) -> Iterator[Job]:
    """Yield the jobs that may begin now, in their order; a small one may begin before a large one that has no room."""
    busy = sum(each.job.processors for each in running)
    alone = not running
    for job in tuple(waiting):
        is_free = alone or busy + job.processors <= processors
        if is_free and all(each in passed for each in job.after):
            busy += job.processors
            alone = False
            yield job


def _show(each: _Running, ended: Ended, out: TextIO) -> None:
    """Print the output of a job that has ended, in one block."""
    took = f"{ended.seconds:.0f} s, {ended.processor_s:.0f} s of processor time"
    print(f"\n======== {ended.job.title}: {' '.join(ended.job.command)}", file=out)
    out.write(each.output.read_text(encoding="utf-8", errors="replace"))
    if ended.status:
        print(f"======== {ended.job.title} FAILED with status {ended.status} after {took}", file=out, flush=True)
    else:
        print(f"======== {ended.job.title} passed in {took}", file=out, flush=True)


def _summary(passed: Sequence[Ended], seconds: float) -> str:
    rows = ", ".join(f"{each.job.title} {each.seconds:.0f} ({each.processor_s:.0f})" for each in passed)
    whole = sum(each.processor_s for each in passed)
    return (
        f"\n======== times in seconds, with those of a processor: {rows}"
        f"\n======== all checks passed in {seconds:.0f} s, with {whole:.0f} s of processor time"
    )


def end_group(number: int) -> None:
    """End a group of processes: ask, wait up to ten seconds, then force."""
    until = time.monotonic() + PATIENCE_S
    with suppress(ProcessLookupError):
        os.killpg(number, signal.SIGTERM)
        while time.monotonic() < until:
            _reap(number)
            os.killpg(number, 0)
            time.sleep(LOOK_S)
        os.killpg(number, signal.SIGKILL)
        _reap(number)


def _reap(number: int) -> None:
    """A process of ours that has ended stays in its group until somebody has waited for it."""
    with suppress(ChildProcessError):
        os.waitpid(-number, os.WNOHANG)


__all__ = ["Ended", "Job", "end_group", "run"]
