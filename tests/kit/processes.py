"""Processes that tests start: each in a group of its own, of which nothing is left."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

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
        try:
            yield process
        finally:
            end(process)


def end(process: subprocess.Popen[bytes]) -> None:
    """Kill the group of a process that hasn't ended."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
