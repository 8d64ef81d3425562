"""Microsoft's SDKs in other languages: a program of peers/ each, which runs scenarios one after the other."""

from __future__ import annotations

import json
import os
import queue
import shutil
import signal
import subprocess
import threading
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import IO, Any, Final

from tests.interop.brokers.maven import class_path, compiled, digest_of
from tests.interop.brokers.node_clients import PEERS, npm_install
from tests.interop.brokers.process import BUILD, BrokerError, apt_install, installing, run_install
from tests.kit.processes import forget, note

PATIENCE: Final = 30.0
"""Seconds that a program may be silent."""


class Sdk:
    """A running program: a line with a request goes in, lines come out until one has what the scenario found."""

    def __init__(self, command: Sequence[str], env: Mapping[str, str] | None = None) -> None:
        self._command = command
        self._env = {**os.environ, **(env or {})}
        self._process: subprocess.Popen[str] | None = None
        self._lines: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._errors: list[str] = []
        self._readers: list[threading.Thread] = []

    def run(self, scenario: str, port: int, advance: Callable[[float], object]) -> Any:
        """Run a scenario; what it found. `advance` moves the service's clock. Raises AssertionError."""
        if self._process is None:
            self._start()
        self._write({"scenario": scenario, "port": port})
        while True:
            answer = self._answer(scenario)
            if "advance" in answer:
                advance(answer["advance"])
                self._write({})
                continue
            assert "told" in answer, f"{scenario}: {answer['failed']}\n{self._last()}"
            return answer["told"]

    def stop(self) -> None:
        """End it, and wait until it is gone."""
        process, self._process = self._process, None
        if process is not None:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            forget(process.pid)
            for each in self._readers:
                each.join()
            for pipe in (process.stdin, process.stdout, process.stderr):
                if pipe is not None:
                    pipe.close()

    def _start(self) -> None:
        process = subprocess.Popen(
            self._command,
            env=self._env,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        note(process.pid, self._command[0])
        assert process.stdout is not None and process.stderr is not None
        self._process = process
        self._lines = queue.SimpleQueue()
        self._errors.clear()
        self._readers = [
            threading.Thread(target=self._read, args=(process.stdout, self._lines.put), daemon=True),
            threading.Thread(target=self._read, args=(process.stderr, self._keep), daemon=True),
        ]
        for each in self._readers:
            each.start()

    def _write(self, value: Mapping[str, Any]) -> None:
        assert self._process is not None and self._process.stdin is not None
        self._process.stdin.write(json.dumps(value) + "\n")
        self._process.stdin.flush()

    def _answer(self, scenario: str) -> dict[str, Any]:
        try:
            line = self._lines.get(timeout=PATIENCE)
        except queue.Empty:
            self.stop()
            raise AssertionError(f"{scenario} said nothing for {PATIENCE:.0f} s\n{self._last()}") from None
        if not line:
            self.stop()
            raise AssertionError(f"{scenario}: the program ended\n{self._last()}")
        found: dict[str, Any] = json.loads(line)
        return found

    @staticmethod
    def _read(stream: IO[str], put: Callable[[str], object]) -> None:
        """Hand on lines; an empty one is the end."""
        for line in stream:
            put(line)
        put("")

    def _keep(self, line: str) -> None:
        self._errors.append(line)
        del self._errors[:-60]

    def _last(self) -> str:
        return "".join(self._errors)


def node(program: str, package: str, version: str) -> Sdk:
    """A program on Node.js, with a package of npm. Raises BrokerError."""
    modules = npm_install(BUILD / f"npm-{program}", {package: version})
    return Sdk(["node", str(PEERS / f"{program}_client.js")], {"NODE_PATH": str(modules)})


def node_service_bus() -> Sdk:
    """The SDK for JavaScript. Raises BrokerError."""
    return node("azure_servicebus", "@azure/service-bus", "7.9.5")


def go() -> Sdk:
    """The SDKs for Go, at the versions of their go.mod, built once for each text of the sources. Raises BrokerError."""
    folder = PEERS / "azure_go"
    if shutil.which("go") is None:
        raise BrokerError("go is missing: the SDKs want 1.25 or newer, which Debian doesn't have")
    made = BUILD / "go" / f"azure_go-{digest_of(*(each.read_bytes() for each in sorted(folder.iterdir())))}"
    with installing(made.name):
        if not made.exists():
            run_install("Azure's SDKs for Go", ["go", "build", "-C", str(folder), "-o", str(made), "."])
    return Sdk([str(made)])


def java(program: str) -> Sdk:
    """One of the SDKs for Java, at the versions of their POM, compiled once for each text. Raises BrokerError."""
    if shutil.which("javac") is None:
        apt_install("default-jdk-headless")
    folder = PEERS / "azure_java"
    jars = class_path("Azure's SDKs for Java", folder / "pom.xml")
    classes = compiled("Azure's SDKs for Java", sorted(folder.glob("*.java")), jars, lint="all,-classfile")
    options = ["-Xmx256m", "-XX:TieredStopAtLevel=1", "-cp", os.pathsep.join([str(classes), jars])]
    return Sdk(["java", *options, program])


SERVICE_BUS: Final[Mapping[str, Callable[[], Sdk]]] = {
    "node": node_service_bus,
    "go": go,
    "java": partial(java, "ServiceBus"),
}
"""What starts the program of a language for Service Bus."""
EVENT_HUBS: Final[Mapping[str, Callable[[], Sdk]]] = {"go": go, "java": partial(java, "EventHubs")}
"""What starts the program of a language for Event Hubs; that for JavaScript has a table of its own."""
