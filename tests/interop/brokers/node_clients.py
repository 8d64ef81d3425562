"""Clients on Node.js: a package of npm and a program in peers/ for each."""

import json
import os
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.interop.brokers.process import BUILD, BrokerError, apt_install, installing, run_install

PEERS = Path(__file__).resolve().parents[1] / "peers"


def npm_install(folder: Path, packages: Mapping[str, str]) -> Path:
    """Put packages of npm into a folder of their own, once; the folder with the modules. Raises BrokerError."""
    with installing(folder.name):
        return _npm_install(folder, packages)


def _npm_install(folder: Path, packages: Mapping[str, str]) -> Path:
    modules = folder / "node_modules"
    if all(_version(modules / name) == version for name, version in packages.items()):
        return modules
    if shutil.which("node") is None or shutil.which("npm") is None:
        apt_install("nodejs", "npm")
    folder.mkdir(parents=True, exist_ok=True)
    options = ["--no-audit", "--no-fund", "--no-save", "--loglevel=error"]
    what = [f"{name}@{version}" for name, version in packages.items()]
    run_install(", ".join(what), ["npm", "install", "--prefix", str(folder), *options, *what])
    for name, version in packages.items():
        if _version(modules / name) != version:
            raise BrokerError(f"npm left no {name} {version} in {folder}")
    return modules


def _version(module: Path) -> str | None:
    package = module / "package.json"
    return str(json.loads(package.read_text())["version"]) if package.exists() else None


@dataclass(frozen=True)
class NodeClient:
    """A package, its version, and the program that has scenarios on it."""

    package: str
    version: str
    program: str

    def install(self) -> Path:
        """Put the package into a folder of its own, once; the folder with the modules. Raises BrokerError."""
        return npm_install(BUILD / f"npm-{self.program}", {self.package: self.version})

    def run(self, port: int, scenario: str, *arguments: str, timeout: float = 30) -> Any:
        """Run one scenario against what listens on `port`; what it found. Raises AssertionError."""
        modules = self.install()
        run = subprocess.run(
            ["node", str(PEERS / f"{self.program}_client.js"), str(port), scenario, *arguments],
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
AZURE_EVENT_HUBS = NodeClient("@azure/event-hubs", "6.0.4", "azure_eventhubs")
