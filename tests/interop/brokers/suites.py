"""Other clients' own test suites, unchanged, against the embedded broker: fetched by name, run, and read test by test.

Each suite has brokers of its own, which are gone when it has run. What was fetched stays in build/suites.
"""

import json
import os
import re
import shutil
import sys
from collections import Counter
from collections.abc import Generator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from xml.etree import ElementTree

from tests.interop.brokers.embedded import Embedded, run_embedded
from tests.interop.brokers.node_clients import PEERS, npm_install
from tests.interop.brokers.process import BUILD, BrokerError, Program, installing, run_install
from tests.kit.certificates import make_certificates

SUITES = BUILD / "suites"
OLDER = "--rabbitmq", "3.13"
"""What the suites were written for: they declare queues that RabbitMQ 4.3 refuses."""


@dataclass(frozen=True)
class Outcome:
    """What became of one test: `passed`, `failed` or `skipped`, and the suite's words for why."""

    name: str
    how: str
    reason: str = ""


@dataclass(frozen=True)
class Report:
    """What became of all tests of a suite, in the suite's order."""

    suite: str
    outcomes: tuple[Outcome, ...]

    @property
    def passed(self) -> int:
        return sum(each.how == "passed" for each in self.outcomes)

    def describe(self) -> str:
        """One line for people."""
        found = Counter(each.how for each in self.outcomes)
        return f"{self.suite}: " + ", ".join(f"{count} {how}" for how, count in sorted(found.items()))

    def expect(self, *, passed: int, failed: Mapping[str, str], left_out: frozenset[str] = frozenset()) -> None:
        """Raise AssertionError unless at least `passed` tests passed, and exactly those of `failed` didn't.

        `failed` has a regular expression for the reason of each. A skipped test counts as one that didn't pass.
        None of `left_out` may have been run.
        """
        found = {each.name: f"{each.how}: {each.reason}" for each in self.outcomes if each.how != "passed"}
        more = [f"{name} {told}" for name, told in found.items() if name not in failed]
        assert not more, "not passed:\n" + "\n".join(more)
        fewer = sorted(set(failed) - set(found))
        assert not fewer, f"expected to fail: {fewer}"
        wrong = [f"{name} {told}" for name, told in found.items() if not re.search(failed[name], told)]
        assert not wrong, "failed for another reason:\n" + "\n".join(wrong)
        ran = sorted(left_out & {each.name for each in self.outcomes})
        assert not ran, f"expected to be left out: {ran}"
        assert self.passed >= passed, f"{self.passed} tests passed, {passed} were expected"


@dataclass(frozen=True)
class PythonSuite:
    """Tests in a source package of PyPI that run with pytest: the file or folder of them, and what they need.

    `needs` are packages with their versions for the virtual environment that the tests run in; the client itself
    comes from the source package. `left_out` are tests by name: MODULE.CLASS.TEST.
    """

    package: str
    version: str
    tests: str
    needs: tuple[str, ...]
    left_out: frozenset[str] = frozenset()

    def describe(self) -> str:
        """One line for people."""
        return f"{self.package} {self.version}, {self.tests}"

    def install(self) -> tuple[Path, Path]:
        """Fetch package and environment, once: the source's folder and the environment's Python. Raises BrokerError."""
        folder = SUITES / f"{self.package}-{self.version}"
        with installing(folder.name):
            return self._install(folder)

    def _install(self, folder: Path) -> tuple[Path, Path]:
        source, python = folder / folder.name, folder / "venv" / "bin" / "python"
        stamp, wanted = folder / "installed", f"{sys.version} {self.needs}"
        if stamp.exists() and stamp.read_text() == wanted:
            return source, python
        if folder.exists():
            shutil.rmtree(folder)
        folder.mkdir(parents=True)
        run_install("a virtual environment", [sys.executable, "-m", "venv", str(folder / "venv")])
        pip = [str(python), "-m", "pip", "--disable-pip-version-check"]
        run_install(", ".join(self.needs), [*pip, "install", *self.needs])
        what = f"{self.package}=={self.version}"
        options = ["--no-deps", "--no-binary", self.package, "--dest", str(folder)]
        run_install(f"the source of {what}", [*pip, "download", *options, what])
        run_install(f"the source of {what}", ["tar", "-xzf", f"{source}.tar.gz", "-C", str(folder)])
        if not (source / self.tests).exists():
            raise BrokerError(f"{what} has no {self.tests}")
        stamp.write_text(wanted)
        return source, python

    def run(self, folder: Path, env: Mapping[str, str], timeout: float) -> Report:
        """Run the tests with `folder` as the working directory. Raises BrokerError when there is no result."""
        source, python = self.install()
        result = folder / "outcomes.xml"
        command = [
            str(python),
            "-B",
            "-m",
            "pytest",
            "-p",
            "no:randomly",
            str(source / self.tests),
            f"--junitxml={result}",
        ]
        # Marks of plug-ins that repeat what fails are warned of: those plug-ins aren't installed.
        command += ["-p", "no:cacheprovider", "--tb=short", "-W", "ignore"]
        for name in sorted(self.left_out):
            module, _, test = name.partition(".")
            command.append(f"--deselect={self._modules / module}.py::{test.replace('.', '::')}")
        _run(command, folder, env, timeout)
        if not result.exists():
            raise BrokerError(f"{self.describe()} left no result; see {folder}")
        above = ".".join(self._modules.parts) + "."
        cases = ElementTree.parse(result).getroot().iter("testcase")
        return Report(self.describe(), tuple(_outcome_of(case, above) for case in cases))

    @property
    def _modules(self) -> Path:
        """The folder of the tests' modules, in the source."""
        tests = Path(self.tests)
        return tests.parent if tests.suffix else tests


def _outcome_of(case: ElementTree.Element, above: str) -> Outcome:
    """One test case of a JUnit file, as pytest writes it."""
    name = f"{case.get('classname', '')}.{case.get('name', '')}".removeprefix(above)
    for tag, how in (("failure", "failed"), ("error", "failed"), ("skipped", "skipped")):
        found = case.find(tag)
        if found is not None:
            return Outcome(name, how, f"{found.get('message', '')}\n{found.text or ''}")
    return Outcome(name, "passed")


@dataclass(frozen=True)
class NodeSuite:
    """Tests in a package of npm that run with `node --test`, and the packages that they need, by version.

    A test's name is made of those of the suites that it stands in and of its own: SUITE > TEST.
    """

    package: str
    version: str
    needs: Mapping[str, str] = field(default_factory=dict[str, str])

    def describe(self) -> str:
        """One line for people."""
        return f"{self.package} {self.version}, node --test"

    def install(self) -> Path:
        """Fetch the packages, once: the folder of the one that has the tests. Raises BrokerError."""
        packages = {self.package: self.version, **self.needs}
        return npm_install(SUITES / f"npm-{self.package}-{self.version}", packages) / self.package

    def run(self, folder: Path, port: int, timeout: float) -> Report:
        """Run the tests, with what they connect to 5672 sent to `port`. Raises BrokerError when there is no result."""
        source = self.install()
        result = folder / "outcomes.jsonl"
        command = ["node", "--test", f"--test-reporter={PEERS / 'outcomes_reporter.js'}"]
        command.append(f"--test-reporter-destination={result}")
        env = {"AMQP_REDIRECTED_PORT": str(port), "NODE_OPTIONS": f"--require={PEERS / 'redirect_port.js'}"}
        _run(command, folder, env, timeout, source)
        outcomes = [Outcome(**json.loads(line)) for line in result.read_text().splitlines()]
        if not outcomes:
            raise BrokerError(f"{self.describe()} left no result; see {folder}")
        return Report(self.describe(), tuple(outcomes))


def _run(command: list[str], folder: Path, env: Mapping[str, str], timeout: float, cwd: Path | None = None) -> None:
    """Run a suite's tests to the end, which is with an error where a test fails; they see nothing of this run's."""
    clean = {"PATH": os.environ.get("PATH", os.defpath), "HOME": str(folder), "LANG": "C.UTF-8", **env}
    program = Program("suite", command, folder, clean, cwd)
    try:
        program.wait(timeout)
    finally:
        program.stop()


PY_AMQP = PythonSuite(
    "amqp",
    "5.4.2",
    "t/integration",
    ("amqp==5.4.2", "vine==5.1.0", "pytest==8.0.0"),
    left_out=frozenset({"test_rmq.test_tls_default_certs", "test_rmq.test_tls_no_default_certs_fails"}),
)
KOMBU = PythonSuite(
    "kombu",
    "5.7.0",
    "t/integration/test_py_amqp.py",
    ("kombu==5.7.0", "amqp==5.4.2", "vine==5.1.0", "packaging==26.3", "pytest==9.1.1"),
)
AMQPLIB = NodeSuite("amqplib", "2.0.1", {"claire": "0.4.1"})


@contextmanager
def run_py_amqp(folder: Path) -> Generator[Report]:
    """py-amqp's suite, which wants a port without TLS, one with, and certificates beside it."""
    with ExitStack() as stack:
        plain = stack.enter_context(run_embedded(_made(folder / "plain"), *OLDER))
        certificates = make_certificates(_made(folder / "certificates"))
        strangers = make_certificates(_made(folder / "strangers"))
        tls = ["--tls-cert", certificates.server, "--tls-key", certificates.server_key, "--tls-ca", certificates.ca]
        locked = stack.enter_context(run_embedded(_made(folder / "tls"), *OLDER, *map(str, tls)))
        expected = {
            "ca_certificate": certificates.ca,
            "client_certificate": certificates.client,
            "client_key": certificates.client_key,
            "client_certificate_broken": strangers.client,
            "client_key_broken": strangers.client_key,
        }
        beside = _made(folder / "t" / "certs")
        for name, path in expected.items():
            shutil.copy(path, beside / f"{name}.pem")
        report = PY_AMQP.run(folder, {**_named(plain), "RABBITMQ_5671_TCP": str(locked.port)}, 60)
    yield report


@contextmanager
def run_kombu(folder: Path) -> Generator[Report]:
    """kombu's suite for py-amqp."""
    with run_embedded(_made(folder / "broker"), *OLDER) as embedded:
        report = KOMBU.run(folder, _named(embedded), 180)
    yield report


@contextmanager
def run_amqplib(folder: Path) -> Generator[Report]:
    """amqplib's suite."""
    with run_embedded(_made(folder / "broker"), *OLDER) as embedded:
        report = AMQPLIB.run(folder, embedded.port, 120)
    yield report


def _named(embedded: Embedded) -> dict[str, str]:
    """Where the broker is, as tests of py-amqp and kombu are told."""
    return {"RABBITMQ_HOST": embedded.host, "RABBITMQ_5672_TCP": str(embedded.port)}


def _made(folder: Path) -> Path:
    folder.mkdir(parents=True)
    return folder
