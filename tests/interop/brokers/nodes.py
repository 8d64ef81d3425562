"""Message nodes on other libraries, for AMQP 1.0: python-qpid-proton and rhea, each a small program in peers/."""

import os
import sys
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from tests.interop.brokers.node_clients import PEERS, NodeClient
from tests.interop.brokers.process import HOST, Program, answers, free_ports

RHEA = NodeClient("rhea", "3.0.5", "rhea")
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
    environment = {**os.environ, "NODE_PATH": str(RHEA.install())}
    with _run("rhea", ["node", str(PEERS / "rhea_node.js")], folder, environment) as (port, pid):
        yield Node("rhea", RHEA.version, HOST, port, frozenset({"ANONYMOUS", "PLAIN"}), pid)


def run_rhea_client(port: int, scenario: str, user: str = "guest") -> Any:
    """Run one scenario of peers/rhea_client.js against the node on `port`; what it found. Raises AssertionError."""
    return RHEA.run(port, scenario, str(FRAME_SIZE), user)


@contextmanager
def _run(
    name: str, command: Sequence[str], folder: Path, environment: Mapping[str, str] | None = None
) -> Generator[tuple[int, int]]:
    (port,) = free_ports(1)
    node = Program(name, [*command, str(port), str(FRAME_SIZE)], folder, environment)
    try:
        node.wait_until(lambda: answers(port, GREETING), 60)
        yield port, node.pid
    finally:
        node.stop()
