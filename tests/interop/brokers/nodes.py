"""Message nodes on other libraries, for AMQP 1.0: python-qpid-proton and rhea, each a small program in peers/."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from tests.interop.brokers.process import (
    BUILD,
    HOST,
    BrokerError,
    Program,
    answers,
    apt_install,
    free_ports,
    run_install,
)

PEERS = Path(__file__).resolve().parents[1] / "peers"
MODULES = BUILD / "npm"
RHEA = "3.0.5"
FRAME_SIZE = 4096
GREETING = b"AMQP\x03\x01\x00\x00"


@dataclass(frozen=True)
class Node:
    """A running node; what its addresses mean is said in peers/proton_node.py.

    It announces a max-frame-size of 4,096 octets and wants an octet every 30 seconds. `mechanisms` is what it
    offers; where PLAIN is among them it takes `user` with `password`.
    """

    library: str
    version: str
    host: str
    port: int
    mechanisms: frozenset[str]
    pid: int
    user: str = "guest"
    password: str = "guest"

    def describe(self) -> str:
        """One line for people."""
        return f"{self.library} {self.version}: {self.host}:{self.port}, pid {self.pid}"


@contextmanager
def run_proton(folder: Path) -> Generator[Node]:
    """A node on python-qpid-proton, as PyPI builds it: without Cyrus SASL it offers only ANONYMOUS to clients."""
    command = [sys.executable, str(PEERS / "proton_node.py")]
    with _run("proton", command, folder) as (port, pid):
        yield Node("python-qpid-proton", version("python-qpid-proton"), HOST, port, frozenset({"ANONYMOUS"}), pid)


@contextmanager
def run_rhea(folder: Path) -> Generator[Node]:
    install_rhea()
    with _run("rhea", ["node", str(PEERS / "rhea_node.js")], folder) as (port, pid):
        yield Node("rhea", RHEA, HOST, port, frozenset({"ANONYMOUS", "PLAIN"}), pid)


def run_rhea_client(port: int, scenario: str, user: str = "guest", timeout: float = 30) -> Any:
    """Run one scenario of peers/rhea_client.js against the node on `port`; what it found. Raises AssertionError."""
    install_rhea()
    run = subprocess.run(
        ["node", str(PEERS / "rhea_client.js"), str(port), scenario, str(FRAME_SIZE), user],
        env=_environment(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )
    assert run.returncode == 0, f"{scenario} ended with {run.returncode}: {run.stderr}{run.stdout}"
    return json.loads(run.stdout.splitlines()[-1])


def install_rhea() -> None:
    """Put rhea into the folder for npm's packages, once. Raises BrokerError."""
    found = MODULES / "node_modules" / "rhea" / "package.json"
    if found.exists() and json.loads(found.read_text())["version"] == RHEA:
        return
    if shutil.which("node") is None or shutil.which("npm") is None:
        apt_install("nodejs", "npm")
    MODULES.mkdir(parents=True, exist_ok=True)
    options = ["--no-audit", "--no-fund", "--no-save", "--loglevel=error"]
    run_install("rhea", ["npm", "install", "--prefix", str(MODULES), *options, f"rhea@{RHEA}"])
    if not found.exists():
        raise BrokerError(f"npm left no rhea in {MODULES}")


@contextmanager
def _run(name: str, command: Sequence[str], folder: Path) -> Generator[tuple[int, int]]:
    (port,) = free_ports(1)
    node = Program(name, [*command, str(port), str(FRAME_SIZE)], folder, _environment())
    try:
        node.wait_until(lambda: answers(port, GREETING), 60)
        yield port, node.pid
    finally:
        node.stop()


def _environment() -> dict[str, str]:
    return {**os.environ, "NODE_PATH": str(MODULES / "node_modules")}
