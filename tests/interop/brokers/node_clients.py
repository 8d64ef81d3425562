"""Clients on Node.js for the embedded broker: a package of npm and a program in peers/ for each."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.interop.brokers.embedded import Embedded
from tests.interop.brokers.process import BrokerError, apt_install, run_install

PEERS = Path(__file__).resolve().parents[1] / "peers"
BUILD = Path(__file__).resolve().parents[3] / "build"


@dataclass(frozen=True)
class NodeClient:
    """A package, its version, and the program that has scenarios on it."""

    package: str
    version: str
    program: str

    def install(self) -> Path:
        """Put the package into a folder of its own, once; the folder with the modules. Raises BrokerError."""
        folder = BUILD / f"npm-{self.program}"
        modules = folder / "node_modules"
        found = modules / self.package / "package.json"
        if found.exists() and json.loads(found.read_text())["version"] == self.version:
            return modules
        if shutil.which("node") is None or shutil.which("npm") is None:
            apt_install("nodejs", "npm")
        folder.mkdir(parents=True, exist_ok=True)
        options = ["--no-audit", "--no-fund", "--no-save", "--loglevel=error"]
        what = f"{self.package}@{self.version}"
        run_install(self.package, ["npm", "install", "--prefix", str(folder), *options, what])
        if not found.exists():
            raise BrokerError(f"npm left no {self.package} in {folder}")
        return modules

    def run(self, embedded: Embedded, scenario: str, timeout: float = 30) -> Any:
        """Run one scenario against the broker; what it found. Raises AssertionError."""
        modules = self.install()
        run = subprocess.run(
            ["node", str(PEERS / f"{self.program}_client.js"), str(embedded.port), scenario],
            env={**os.environ, "NODE_PATH": str(modules)},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )
        assert run.returncode == 0, f"{scenario} ended with {run.returncode}: {run.stderr}{run.stdout}"
        return json.loads(run.stdout.splitlines()[-1])


AMQPLIB = NodeClient("amqplib", "2.3.1", "amqplib")
CLOUDAMQP = NodeClient("@cloudamqp/amqp-client", "4.1.1", "cloudamqp")

__all__ = ["AMQPLIB", "CLOUDAMQP", "NodeClient"]
