"""Processes that tests start: each in a group of its own, of which nothing is left."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from tools.ci import NOTES

LIMIT: Final = 60.0
"""Seconds after which a test gives up what it waits for; it takes a second at most."""


@contextmanager
def running(
    command: Sequence[str | Path],
    *,
    env: Mapping[str, str],
    stdin: int | None = None,
    stdout: int | None = None,
    stderr: int | None = None,
) -> Generator[subprocess.Popen[bytes]]:
    """A process; one that hasn't ended when the block does is killed, with all of its group."""
    with subprocess.Popen(
        command, env=env, stdin=stdin, stdout=stdout, stderr=stderr, start_new_session=True
    ) as process:
        note(process.pid, str(command[0]))
        try:
            yield process
        finally:
            end(process)


def end(process: subprocess.Popen[bytes]) -> None:
    """Kill the group of a process that hasn't ended, and take its note back."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
    forget(process.pid)


def note(number: int, what: str) -> None:
    """Tell whoever started the tests of a group of processes: it ends the group if the tests are killed."""
    folder = os.environ.get(NOTES)
    if folder:
        Path(folder, str(number)).write_text(what, encoding="utf-8")


def forget(number: int) -> None:
    """Take the note of a group back: it has ended."""
    folder = os.environ.get(NOTES)
    if folder:
        Path(folder, str(number)).unlink(missing_ok=True)
