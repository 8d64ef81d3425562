"""The prober's programs of other clients: each does what it is told, and fails no case but those that are known.

A program starts anew for each case, so clients of a version that several speak run a third of the cases each, in turn;
with `--all-rows` they run all.
"""

import os
import shutil
import sys
from collections.abc import Callable, Mapping
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from amqp_sansio_probe import CLIENT_CASES, ClientCase, ClientRunner, Command, Patience, SocketListener
from amqp_sansio_probe.client_running import CLIENT_WORKERS
from amqp_sansio_probe.verdicts import FAILURES
from tests.interop.brokers.maven import class_path, compiled
from tests.interop.brokers.node_clients import AMQPLIB, NodeClient
from tests.interop.brokers.nodes import RHEA
from tests.interop.brokers.process import BUILD, apt_install, run_install
from tools.docs.pages import ROOT

Share = Callable[[str, list[ClientCase]], list[ClientCase]]
WAITS = ("/wire/heartbeat", "/connection.heartbeat", "/transport/connection/idle")
"""What the names of cases have that wait for seconds: they are in tests/system, with this project's clients."""
ALL = ("open", "publish", "consume accept", "consume reject", "rpc")
SHARES = 3
KNOWN: Mapping[str, frozenset[str]] = {
    "pika": frozenset(
        {
            "0-9-1/wire/header-client-first/client",
            "0-9-1/connection.start-ok/mechanism-notnull/client",
            "0-9-1/connection.start-ok/locale-notnull/client",
            "0-9-1/connection.start-ok/locale-offered/client",
            "0-9-1/connection.start-ok/response-notnull/client",
            "0-9-1/connection.tune-ok/channel-max-le/client/offer-of-5",
            "0-9-1/connection.tune-ok/channel-max-notnull/client/offer-of-0",
            "0-9-1/connection.tune-ok/lower/client/offer-of-100-and-65536",
            "0-9-1/domain/path.notnull/client",
            "0-9-1/connection.close/answer/client",
            "0-9-1/connection.close/answer/client/in-the-middle-of-a-body",
            "0-9-1/connection/error-scope/client/told",
            "0-9-1/rabbitmq/connection.blocked/client",
            "0-9-1/wire/content-incomplete/client/method-for-header",
        }
    ),
    "aio_pika": frozenset({"0-9-1/connection.start/client-support/client/version-0-1"}),
    "py_amqp": frozenset(
        {"0-9-1/connection.start/client-support/client/version-0-1", "0-9-1/connection.close/discard/client"}
    ),
    "proton": frozenset({"1.0/transport/flow/drain/client/nothing-to-send"}),
    "azure": frozenset(
        {
            "1.0/transport/open/channel-max/client/of-0",
            "1.0/transport/flow/link-credit/client/of-2",
            "1.0/transport/flow/drain/client/nothing-to-send",
            "1.0/transport/session.window/remote-incoming/client/of-2",
            "1.0/transport/transfer/aborted/client",
            "1.0/transport/link/unattached-handle/client",
            "1.0/transport/connection/pre-open-limits/client/slow-open",
        }
    ),
    "amqplib_0_8": frozenset({"0-8/connection.start/client-cannot-do-version/client/version-0-1"}),
    "amqplib": frozenset({"0-9-1/connection.start/client-support/client/version-0-1"}),
    "amqp091_go": frozenset(
        {
            "0-9-1/connection.start/client-support/client/version-0-1",
            "0-9-1/wire/content-incomplete/client/method-for-header",
        }
    ),
    "go_amqp": frozenset({"1.0/transport/flow/drain/client/nothing-to-send"}),
    "java": frozenset(),
    "qpid_jms": frozenset(
        {
            "0-10/connection.tune-ok/no-heartbeat-min/client/no-bounds",
            "0-10/session.completed/known-completed-reply/client",
            "0-10/session/exception-then-detach/client/told",
        }
    ),
    "rhea": frozenset({"1.0/transport/transfer/aborted/client"}),
}
"""The failures of each client: docs/probe/results.md has the reasons, and the versions."""


SHARE: Mapping[str, int] = {
    **{name: at % SHARES for at, name in enumerate(("pika", "aio_pika", "py_amqp", "amqplib", "amqp091_go", "java"))},
    **{name: at % SHARES for at, name in enumerate(("proton", "azure", "go_amqp", "rhea"))},
}
"""The share of its version's cases that a client runs, so that some client runs each; the others run all."""


@pytest.fixture
def share(request: pytest.FixtureRequest) -> Share:
    """Choose a client's cases among those of its version."""

    def chosen(name: str, cases: list[ClientCase]) -> list[ClientCase]:
        return cases if name not in SHARE or request.config.getoption("--all-rows") else cases[SHARE[name] :: SHARES]

    return chosen


def assert_known(name: str, line: str, version: str, skills: tuple[str, ...], share: Share) -> None:
    """Run the program with its share of the cases of a version that don't wait."""
    quick = [each for each in CLIENT_CASES if each.version == version and not any(word in each.name for word in WAITS)]
    cases = share(name, quick)
    assert len(cases) > 10
    with ExitStack() as opened:
        listeners = [opened.enter_context(closing(SocketListener("127.0.0.1", 0))) for _ in range(CLIENT_WORKERS)]
        runner = ClientRunner(listeners, Command(line), patience=Patience(answer=2.0))
        problems = {each.skill: each.problem for each in runner.ask((version,))}
        assert {skill: problems[skill] for skill in skills} == dict.fromkeys(skills, "")
        results = list(runner.run(cases))
    failed = {each.case.name: each.seen for each in results if each.verdict in FAILURES}
    assert {case: seen for case, seen in failed.items() if case not in KNOWN[name]} == {}


@pytest.mark.parametrize(
    ("name", "version", "skills"),
    [
        ("pika", "0-9-1", ALL),
        ("aio_pika", "0-9-1", ALL),
        ("py_amqp", "0-9-1", ALL),
        ("proton", "1.0", ALL),
        ("azure", "1.0", ALL[:4]),
    ],
)
def test_clients_in_python(
    name: str, version: str, skills: tuple[str, ...], monkeypatch: pytest.MonkeyPatch, share: Share
) -> None:
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]))
    assert_known(name, f"{sys.executable} -m examples.probe.{name}_client", version, skills, share)


def test_the_client_of_0_8_in_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, share: Share) -> None:
    package = Path("/usr/lib/python3/dist-packages/amqplib")
    if not package.exists():
        apt_install("python3-amqplib")
    # Without what else Debian's Python has.
    (tmp_path / "amqplib").symlink_to(package)
    path = os.pathsep.join([str(ROOT), str(tmp_path), os.environ.get("PYTHONPATH", "")])
    monkeypatch.setenv("PYTHONPATH", path)
    assert_known("amqplib_0_8", f"{sys.executable} -m examples.probe.amqplib_0_8_client", "0-8", ALL, share)


@pytest.mark.parametrize(
    ("client", "name", "version"), [(AMQPLIB, "amqplib", "0-9-1"), (RHEA, "rhea", "1.0")], ids=["amqplib", "rhea"]
)
def test_clients_in_node(
    client: NodeClient, name: str, version: str, monkeypatch: pytest.MonkeyPatch, share: Share
) -> None:
    monkeypatch.setenv("NODE_PATH", str(client.install()))
    program = ROOT / "examples" / "probe" / f"{name}_client.js"
    assert_known(name, f"{shutil.which('node')} {program}", version, ALL, share)


@pytest.mark.parametrize(
    ("name", "module", "version"),
    [
        ("amqp091_go", "github.com/rabbitmq/amqp091-go@v1.10.0", "0-9-1"),
        ("go_amqp", "github.com/Azure/go-amqp@v1.4.0", "1.0"),
    ],
    ids=["amqp091-go", "go-amqp"],
)
def test_clients_in_go(name: str, module: str, version: str, tmp_path: Path, share: Share) -> None:
    if shutil.which("go") is None:
        apt_install("golang-go")
    shutil.copy(ROOT / "examples" / "probe" / name / "main.go", tmp_path)
    kept = (f"GOPATH={BUILD / 'go'}", f"GOCACHE={BUILD / 'go-cache'}", "GOFLAGS=-modcacherw")
    for command in (["mod", "init", "probe"], ["get", module], ["build", "-o", "client"]):
        run_install(f"go {command[0]} of {module}", ["env", "-C", str(tmp_path), *kept, "go", *command])
    assert_known(name, str(tmp_path / "client"), version, ALL, share)


@pytest.mark.parametrize(
    ("name", "what", "program", "more", "version", "skills"),
    [
        ("java", "RabbitMQ's Java client", "RabbitClient", "", "0-9-1", ALL),
        # JMS has no rejection.
        ("qpid_jms", "Qpid's JMS client", "QpidClient", "-Dqpid.amqp.version=0-10", "0-10", (*ALL[:3], ALL[4])),
    ],
    ids=["rabbitmq", "qpid-jms"],
)
def test_clients_in_java(
    name: str, what: str, program: str, more: str, version: str, skills: tuple[str, ...], share: Share
) -> None:
    folder = ROOT / "examples" / "probe" / name
    jars = class_path(what, folder / "pom.xml")
    classes = compiled("its program", [folder / f"{program}.java"], jars)
    # A machine that starts for a second needs no better code, and no threads to collect garbage.
    options = f"-XX:TieredStopAtLevel=1 -XX:+UseSerialGC {more}"
    assert_known(name, f"java {options} -cp {classes}{os.pathsep}{jars} {program}", version, skills, share)
