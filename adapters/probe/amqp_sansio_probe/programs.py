"""Clients under test: any program that is told by its environment what to do, and prints what comes of it."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import threading
from collections import deque
from collections.abc import Mapping
from contextlib import suppress
from typing import IO, Any, Final, NamedTuple, Protocol, cast

from .verdicts import Unusable

CANNOT: Final = 89
"""The exit status with which a program says that it can't do this."""
MOST_LINES: Final = 10_000
"""Lines of a program that are kept; the others are dropped."""
MOST_OCTETS: Final = 65_536
"""Octets of one line."""
_COMPLAINTS: Final = 20
"""Lines of standard error that are kept."""


class Order(NamedTuple):
    """What a program is told to do, and how.

    `do` is `AMQP_DO`: "open", "publish N", "consume N accept", "consume N reject" or "rpc". `size` is the number of
    octets of a published body (`AMQP_SIZE`), `busy` how many seconds the program works on each message, without letting
    its library run (`AMQP_BUSY`).
    """

    do: str
    size: int = 5
    busy: float = 0.0

    @property
    def skill(self) -> str:
        """What a program must be able to do for it."""
        words = self.do.split()
        return " ".join([each for each in words if not each.isdigit()])

    def environment(self, version: str, url: str) -> dict[str, str]:
        """Return the variables of the environment that say it."""
        return {
            "AMQP_URL": url,
            "AMQP_VERSION": version,
            "AMQP_DO": self.do,
            "AMQP_QUEUE": QUEUE,
            "AMQP_SIZE": str(self.size),
            "AMQP_BUSY": f"{self.busy:g}",
        }


QUEUE: Final = "probe"
"""The queue or address that programs use."""


class Program(Protocol):
    """A running program."""

    def events(self) -> list[Mapping[str, Any]]:
        """Return what it printed since the last call: an object for each line."""
        ...

    def status(self) -> int | None:
        """Return its exit status, None while it runs."""
        ...

    def complaint(self) -> str:
        """Return the last line of its standard error."""
        ...

    def wait(self, seconds: float) -> None:
        """Let it run for a moment, at most until its end."""

    def end(self) -> None:
        """End it, if it still runs."""


class Starter(Protocol):
    """Starts the program under test."""

    def __call__(self, environment: Mapping[str, str]) -> Program: ...


class Command:
    """Starts a command, a line as of a shell, without one. Raises Unusable."""

    def __init__(self, line: str) -> None:
        try:
            self._words = shlex.split(line)
        except ValueError as error:
            raise Unusable(f"the client's command can't be read: {error}") from None
        if not self._words:
            raise Unusable("the client's command is empty")

    def __call__(self, environment: Mapping[str, str]) -> Program:
        return _Process(self._words, {**os.environ, **environment})


class _Process:
    """A process in a group of its own, whose lines a thread reads."""

    def __init__(self, words: list[str], environment: Mapping[str, str]) -> None:
        try:
            self._process = subprocess.Popen(
                words,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )
        except OSError as error:
            raise Unusable(f"can't start {words[0]}: {(error.strerror or str(error)).lower()}") from None
        self._lines: deque[bytes] = deque(maxlen=MOST_LINES)
        self._errors: deque[bytes] = deque(maxlen=_COMPLAINTS)
        self._pipes = [cast("IO[bytes]", each) for each in (self._process.stdout, self._process.stderr)]
        self._readers = [
            threading.Thread(target=_read, args=(pipe, lines), daemon=True)
            for pipe, lines in zip(self._pipes, (self._lines, self._errors), strict=True)
        ]
        for each in self._readers:
            each.start()

    def events(self) -> list[Mapping[str, Any]]:
        found: list[Mapping[str, Any]] = []
        while self._lines:
            try:
                told = json.loads(self._lines.popleft())
            except (ValueError, RecursionError):
                continue  # A program may print more than what it is to tell.
            if isinstance(told, dict):
                found.append(cast("dict[str, Any]", told))
        return found

    def status(self) -> int | None:
        status = self._process.poll()
        if status is not None:
            self._join()
        return status

    def _join(self) -> None:
        # A child of the program may hold the pipes open: what it prints then doesn't matter.
        for each in self._readers:
            each.join(1.0)

    def complaint(self) -> str:
        lines = [line.decode("utf-8", "replace").strip() for line in self._errors]
        return next((line for line in reversed(lines) if line), "")

    def wait(self, seconds: float) -> None:
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(seconds)
            return

    def end(self) -> None:
        if self._process.poll() is None:
            with suppress(OSError):
                if hasattr(os, "killpg"):
                    os.killpg(self._process.pid, signal.SIGKILL)
                else:
                    self._process.kill()
            self._process.wait()
        self._join()
        for pipe, reader in zip(self._pipes, self._readers, strict=True):
            if not reader.is_alive():
                pipe.close()


def _read(pipe: IO[bytes], lines: deque[bytes]) -> None:
    while line := pipe.readline(MOST_OCTETS):
        lines.append(line)
