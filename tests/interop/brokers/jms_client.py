"""Apache Qpid's JMS client for AMQP 0-10: its jars from Maven Central, the scenarios in peers/java_0_10."""

import json
import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.interop.brokers.maven import class_path, compiled
from tests.interop.brokers.process import Program, apt_install

SOURCES = Path(__file__).resolve().parents[1] / "peers" / "java_0_10"
POM = SOURCES / "pom.xml"
WHAT = "Qpid's JMS client"
BACK = "there and back"
_EVERYTHING = ["one", "two", "three"]
TOLD: dict[str, Any] = {
    "basic": {"version": "0-10", "received": [[f"m{n}", n, n % 2 == 0] for n in range(50)], "left": None},
    "scram": BACK,
    "auto": ["m0", "m1", "m2"],
    "client": {"fourth": ["four", False], "again": ["four", True]},
    "dupsOk": [str(n) for n in range(10)],
    "transacted": {
        "committed": ["kept", "kept too"],
        "rolledBack": ["kept", "kept too"],
        "first": ["kept", False],
        "again": ["kept", True],
        "left": ["kept too", False],
        "nothing": None,
    },
    "branches": {
        "vote": True,
        "prepared": [],
        "inDoubt": 1,
        "committed": ["two phases"],
        "rolledBack": ["two phases"],
        "onePhase": ["two phases", "one phase"],
        "timeout": True,
    },
    "recover": {
        "first": [["one", False], ["two", False]],
        "again": [["one", True], ["two", True], ["three", False]],
        "left": None,
    },
    "browser": {"seen": _EVERYTHING, "again": _EVERYTHING, "taken": _EVERYTHING},
    "acquire": {"odd": ["m1", "m3", "m5"], "left": ["m0", "m2", "m4"]},
    "large": [True] * 3,
    "sessions": {"own": [f"to {n}" for n in range(10)], "shared": [f"shared {n}" for n in range(10)], "behind": []},
    "prefetch": [str(n) for n in range(20)],
    "single": [str(n) for n in range(20)],
    "listener": {"heard": _EVERYTHING, "silent": None, "resumed": "stopped"},
    "topic": {"found": ["to all"] * 3, "elsewhere": None},
    "heartbeat": BACK,
}
"""What a scenario finds at every server that does as it should."""


@dataclass(frozen=True)
class JmsClient:
    """The compiled scenarios, and where their jars are."""

    class_path: str

    def check(self, port: int, scenario: str) -> None:
        """Run a scenario that finds the same everywhere. Raises AssertionError."""
        assert self.run(port, scenario) == TOLD[scenario]

    def run(self, port: int, scenario: str, timeout: float = 60) -> Any:
        """Run a scenario against the server on `port`; what it found. Raises AssertionError."""
        run = subprocess.run(
            self.command(port, scenario),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )
        assert run.returncode == 0, f"{scenario} ended with {run.returncode}: {run.stderr}{run.stdout}"
        return json.loads(run.stdout.splitlines()[-1])

    def start(self, port: int, scenario: str, folder: Path) -> Program:
        """Start a scenario without waiting for it; its output is in the program's log in `folder`."""
        return Program("jms-client", self.command(port, scenario), folder)

    def command(self, port: int, scenario: str) -> list[str]:
        return [
            *("java", "-Xmx256m", "-XX:TieredStopAtLevel=1", "-cp", self.class_path),
            *("-Dorg.slf4j.simpleLogger.defaultLogLevel=warn", "Client_0_10", str(port), scenario),
        ]


def install_jms_client() -> JmsClient:
    """Make sure that jars and compiled scenarios are there. Raises BrokerError."""
    if shutil.which("javac") is None:
        apt_install("default-jdk-headless")
    jars = class_path(WHAT, POM)
    classes = compiled(WHAT, sorted(SOURCES.glob("*.java")), jars)
    return JmsClient(os.pathsep.join([str(classes), jars]))
