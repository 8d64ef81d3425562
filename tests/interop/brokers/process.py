"""Programs that the tests install, start and stop: ports, readiness, an end without remains."""

import fcntl
import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

from tests.kit.processes import forget, note

HOST = "127.0.0.1"
BUILD = Path(__file__).resolve().parents[3] / "build"
"""What was fetched or compiled, and is there for the next run."""


class BrokerError(RuntimeError):
    """A broker that can't be installed or started."""


def free_ports(count: int) -> list[int]:
    """Ports on the loopback address that nothing listens on."""
    sockets = [socket.socket() for _ in range(count)]
    try:
        for each in sockets:
            each.bind((HOST, 0))
        return [each.getsockname()[1] for each in sockets]
    finally:
        for each in sockets:
            each.close()


def answers(port: int, greeting: bytes = b"") -> bool:
    """Whether something takes a connection on `port` and, where `greeting` is given, answers it."""
    try:
        with socket.create_connection((HOST, port), timeout=2) as connection:
            if not greeting:
                return True
            connection.sendall(greeting)
            return len(connection.recv(1)) == 1
    except OSError:
        return False


@contextmanager
def installing(what: str) -> Generator[None]:
    """Be the only one that installs `what`, a word of a file's name: other threads and processes of the run wait."""
    BUILD.mkdir(exist_ok=True)
    with (BUILD / f"{what}.lock").open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def run_install(what: str, command: Sequence[str], timeout: float = 600, pauses: Sequence[float] = (5, 20)) -> str:
    """Run a command that installs, and again after each of these pauses if it fails: a registry may be busy.

    Returns what it printed. Raises BrokerError with its last lines.
    """
    for seconds in pauses:
        try:
            return _run_install(what, command, timeout)
        except BrokerError:
            time.sleep(seconds)
    return _run_install(what, command, timeout)


def _run_install(what: str, command: Sequence[str], timeout: float) -> str:
    try:
        run = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=timeout,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise BrokerError(f"{what} can't be installed: {error}") from error
    if run.returncode != 0:
        last = "\n".join(run.stdout.strip().splitlines()[-15:])
        raise BrokerError(f"{what} can't be installed: {' '.join(command)}\n{last}")
    return run.stdout


def apt_install(*packages: str) -> None:
    """Install Debian packages without letting them start their services. Raises BrokerError."""
    if shutil.which("apt-get") is None or os.geteuid() != 0:
        raise BrokerError(f"{', '.join(packages)}: missing; installing it needs root and apt-get")
    with installing("apt"):
        _apt_install(packages)


def _apt_install(packages: Sequence[str]) -> None:
    env = ["env", "DEBIAN_FRONTEND=noninteractive"]
    # Debian's way to say that no service may be started; the machine's own is left alone.
    policy = Path("/usr/sbin/policy-rc.d")
    ours = not policy.exists()
    if ours:
        policy.write_text("#!/bin/sh\nexit 101\n")
        policy.chmod(0o755)
    try:
        run_install("the package list", [*env, "apt-get", "update"])
        options = ["-y", "-q", "--no-install-recommends"]
        run_install(", ".join(packages), [*env, "apt-get", "install", *options, *packages])
    finally:
        if ours:
            policy.unlink()


class Program:
    """A program in a process group of its own, with its output in a file in `folder`.

    It runs in `cwd`, by default `folder`, with `env`, by default the tests' own.

    Where the environment names a folder AMQP_SANSIO_PIDS, a file there has the group's number as
    its name while the program runs: whoever started the tests can end it if they are killed.
    """

    def __init__(
        self,
        name: str,
        command: Sequence[str],
        folder: Path,
        env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
    ) -> None:
        self.name = name
        self.log = folder / f"{name}.log"
        self._start = partial(self._run, command, cwd or folder, env)
        self._is_ready: Callable[[], bool] = lambda: True
        self._process = self._start()
        self.pid = self._process.pid
        note(self.pid, name)

    def _run(self, command: Sequence[str], cwd: Path, env: Mapping[str, str] | None) -> subprocess.Popen[bytes]:
        with self.log.open("ab") as log:
            return subprocess.Popen(
                command,
                cwd=cwd,
                env=env,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def kill(self) -> None:
        """Kill the program and its group, without a warning."""
        with suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)
        self._process.wait()

    def start_again(self) -> None:
        """Start it once more after `kill`, and wait until it is as ready as it was."""
        forget(self.pid)
        self._process = self._start()
        self.pid = self._process.pid
        note(self.pid, self.name)
        self.wait_until(self._is_ready)

    def wait_until(self, is_ready: Callable[[], bool], timeout: float = 120) -> None:
        """Return when `is_ready`; BrokerError when the program ends or `timeout` seconds pass."""
        self._is_ready = is_ready
        deadline = time.monotonic() + timeout
        while not is_ready():
            if self._process.poll() is not None:
                raise self._error(f"ended with status {self._process.returncode}")
            if time.monotonic() > deadline:
                raise self._error(f"wasn't ready after {timeout:.0f} s")
            time.sleep(0.1)

    def wait(self, timeout: float) -> int:
        """Return the status that the program ends with; BrokerError when `timeout` seconds pass before."""
        try:
            return self._process.wait(timeout)
        except subprocess.TimeoutExpired:
            raise self._error(f"hasn't ended after {timeout:.0f} s") from None

    def stop(self, timeout: float = 30) -> None:
        """Ask the program to end, end what is left of its group, and wait until it is gone."""
        if self._process.poll() is None:
            self._process.terminate()
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(timeout)
        with suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)
        self._process.wait()
        forget(self.pid)

    def _error(self, text: str) -> BrokerError:
        last = "\n".join(self.log.read_text(errors="replace").strip().splitlines()[-25:])
        return BrokerError(f"{self.name} {text}; the end of {self.log}:\n{last}")
