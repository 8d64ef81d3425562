"""Real brokers as fixtures: one of each kind for the run, or for each of its processes that uses it (`tests.conftest`
says which tests share one); those of one kind of test start together.

So do the test suites of other clients, each with a broker of its own, whose reports are fixtures too: they wait more
than they work. INTEROP_SKIP names what to do without (`rabbitmq`, `brokerj`, `mortal_rabbitmq`, `managed_rabbitmq`,
`mortal_brokerj`, `proton`, `rhea`, `embedded`, `py_amqp_suite`, `kombu_suite`, `amqplib_suite`); the last line of the
run says what was left out.
"""

import os
import shutil
import signal
from collections.abc import Generator, Iterable, Iterator
from functools import partial
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

import pytest

from tests.interop.brokers.brokerj import run_brokerj
from tests.interop.brokers.embedded import run_embedded
from tests.interop.brokers.facing_1_0 import Peer, Server
from tests.interop.brokers.nodes import run_proton, run_rhea
from tests.interop.brokers.process import BrokerError, apt_install
from tests.interop.brokers.rabbitmq import run_rabbitmq
from tests.interop.brokers.starting import Brokers, Runner
from tests.interop.brokers.suites import run_amqplib, run_kombu, run_py_amqp
from tests.kit.node_1_0 import ServerNode
from tests.kit.worlds import RealAsyncioWorld, RealSyncWorld, World

if TYPE_CHECKING:
    from playwright.sync_api import Browser

RUNNERS: dict[str, Runner] = {
    "rabbitmq": run_rabbitmq,
    "brokerj": run_brokerj,
    "mortal_rabbitmq": run_rabbitmq,
    "managed_rabbitmq": partial(run_rabbitmq, management=True),
    "mortal_brokerj": partial(run_brokerj, durable=True),
    "proton": run_proton,
    "rhea": run_rhea,
    "embedded": run_embedded,
    "py_amqp_suite": run_py_amqp,
    "kombu_suite": run_kombu,
    "amqplib_suite": run_amqplib,
}
KINDS = tuple(RUNNERS)
BESIDE = (
    ("rabbitmq", "mortal_rabbitmq", "managed_rabbitmq"),
    ("brokerj", "mortal_brokerj"),
    ("py_amqp_suite", "kombu_suite", "amqplib_suite"),
)
"""Kinds that start together, when a test asks for the first of them: one process of a run has the tests of each set
(`tests.conftest`), and would start the others for nothing."""
_HERE = Path(__file__).parent

_used = pytest.StashKey[list[str]]()
_skipped = pytest.StashKey[list[str]]()


def pytest_configure(config: pytest.Config) -> None:
    config.stash[_used] = []
    config.stash[_skipped] = []
    unknown = _named_by_environment() - set(KINDS)
    if unknown:
        raise pytest.UsageError(f"INTEROP_SKIP names {', '.join(sorted(unknown))}; known: {KINDS}")
    # The default action would end the run at once and leave its brokers behind.
    signal.signal(signal.SIGTERM, _end_run)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    # A run that deselects them all may do without the clients that they import. Whoever names them learns of it.
    folder = config.invocation_params.dir
    named = any((folder / argument.partition("::")[0]).is_relative_to(_HERE) for argument in config.args)
    return True if "not interop" in config.option.markexpr and not named else None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.is_relative_to(_HERE):
            item.add_marker(pytest.mark.interop)


@pytest.fixture(scope="session")
def brokers(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Brokers]:
    """All brokers that the collected tests name."""
    wanted = _kinds_in(request.session.items) - _named_by_environment()
    folders = {kind: tmp_path_factory.mktemp(kind) for kind in wanted}
    found = Brokers({kind: RUNNERS[kind] for kind in wanted}, folders, BESIDE)
    try:
        yield found
    finally:
        found.stop()


def _whole_run(kind: str) -> Any:
    """A fixture with what was started for the whole run under this name."""

    @pytest.fixture(scope="session", name=kind)
    def running(request: pytest.FixtureRequest, brokers: Brokers) -> Any:
        return _running(request.config, brokers, kind)

    return running


# Brokers: a test cleans up what it declares, or has addresses and names of its own.
rabbitmq = _whole_run("rabbitmq")
brokerj = _whole_run("brokerj")
# Those that a test kills, and starts again.
mortal_rabbitmq = _whole_run("mortal_rabbitmq")
# The one with the management API.
managed_rabbitmq = _whole_run("managed_rabbitmq")
mortal_brokerj = _whole_run("mortal_brokerj")
proton = _whole_run("proton")
rhea = _whole_run("rhea")
embedded = _whole_run("embedded")
# What became of the own tests of py-amqp, of kombu's transport for py-amqp, and of amqplib.
py_amqp_suite = _whole_run("py_amqp_suite")
kombu_suite = _whole_run("kombu_suite")
amqplib_suite = _whole_run("amqplib_suite")


@pytest.fixture(scope="session")
def chromium() -> str:
    """The browser's program, installed when it's missing."""
    names = ("chromium", "chromium-browser", "google-chrome")
    if not any(map(shutil.which, names)):
        try:
            apt_install("chromium", "fonts-dejavu-core")
        except BrokerError as error:
            pytest.skip(str(error))
    return next(found for name in names if (found := shutil.which(name)))


@pytest.fixture(scope="module")
def browser(chromium: str) -> "Iterator[Browser]":
    """A headless browser for a module: while it is there, this thread has an event loop that runs."""
    api = pytest.importorskip("playwright.sync_api", reason="needs playwright, of the group dev")
    with api.sync_playwright() as playwright:
        # As root there is no sandbox; it opens pages of our own only.
        arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
        browser = playwright.chromium.launch(executable_path=chromium, args=arguments)
        yield browser
        browser.close()


@pytest.fixture
def all_of(request: pytest.FixtureRequest) -> dict[str, Any]:
    """The brokers of the kinds that a test names as its parameter, for what may as well go on with all at once."""
    kinds: tuple[str, ...] = request.param
    left = [kind for kind in kinds if kind not in _named_by_environment()]
    return {kind: request.getfixturevalue(kind) for kind in left or kinds}


@pytest.fixture(params=(RealAsyncioWorld, RealSyncWorld), ids=lambda kind: kind.name)
def world(request: pytest.FixtureRequest) -> World:
    """Each adapter in turn, for a scenario of both."""
    found: World = request.param()
    return found


@pytest.fixture(scope="session")
def core() -> Iterator[ServerNode]:
    """A node on the core for the whole run; a test has addresses of its own."""
    with ServerNode() as node:
        yield node


@pytest.fixture
def sound(core: ServerNode) -> Iterator[None]:
    """The node on the core is alive after the test."""
    yield
    assert core.errors == []


def _server(request: pytest.FixtureRequest) -> Server:
    return Server(request.param, request.getfixturevalue(request.param).port)


def _peer(request: pytest.FixtureRequest) -> Iterator[Peer]:
    peer = Peer(request.param, request.getfixturevalue(request.param))
    yield peer
    for wire in peer.wires:
        wire.socket.close()


# AMQP 1.0: what clients of other libraries connect to. Where nodes on those libraries fail, it isn't the core's fault.
server = pytest.fixture(params=("core", "proton", "rhea"), name="server")(_server)
server_with_passwords = pytest.fixture(params=("core", "rhea"), name="server_with_passwords")(_server)

# AMQP 1.0: what the core's client connects to. All; those that have passwords; those that need none; nodes that answer
# as they are asked to; those that make nodes of any name; those that keep messages as they are.
peer = pytest.fixture(params=("brokerj", "rabbitmq", "proton", "rhea"), name="peer")(_peer)
locked = pytest.fixture(params=("brokerj", "rabbitmq", "rhea"), name="locked")(_peer)
unlocked = pytest.fixture(params=("rabbitmq", "proton", "rhea"), name="unlocked")(_peer)
node = pytest.fixture(params=("proton", "rhea"), name="node")(_peer)
named = pytest.fixture(params=("brokerj", "proton", "rhea"), name="named")(_peer)
exact = pytest.fixture(params=("brokerj", "proton"), name="exact")(_peer)


@pytest.fixture
def wire(peer: Any) -> Iterator[Any]:
    """An open connection to the module's peer, which is closed with a handshake in the end."""
    found = peer.open()
    yield found
    found.close()


@pytest.fixture
def session(wire: Any) -> Any:
    """A session on that connection."""
    return wire.session()


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Take what a process of the run has used and left out."""
    output: dict[str, list[str]] = getattr(node, "workeroutput", {})
    node.config.stash[_used].extend(output.get("interop used", ()))
    node.config.stash[_skipped].extend(output.get("interop skipped", ()))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    used = config.stash[_used]
    if used:
        terminalreporter.section("brokers and suites")
    for line in dict.fromkeys(used):
        terminalreporter.write_line(line)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_sessionfinish(session: pytest.Session) -> Generator[None, None, None]:
    """Comes after the terminal reporter's own closing line."""
    output: dict[str, list[str]] | None = getattr(session.config, "workeroutput", None)
    if output is not None:
        output |= {"interop used": session.config.stash[_used], "interop skipped": session.config.stash[_skipped]}
    yield
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    skipped = session.config.stash[_skipped]
    if isinstance(reporter, pytest.TerminalReporter) and skipped:
        reporter.write_line(f"INTEROP_SKIP: nothing was tested against {', '.join(dict.fromkeys(skipped))}")


def _named_by_environment() -> set[str]:
    return set(os.environ.get("INTEROP_SKIP", "").replace(",", " ").split())


def _kinds_in(items: Iterable[pytest.Item]) -> set[str]:
    """The kinds that tests name as fixtures or in their parameters."""
    found: set[str] = set()
    for item in items:
        if isinstance(item, pytest.Function):
            found.update(item.fixturenames)
            params: dict[str, Any] = item.callspec.params if hasattr(item, "callspec") else {}
            for value in params.values():
                found.update(part for part in KINDS if part == value)
                found.update(part for part in KINDS if isinstance(value, tuple) and part in value)
    return found & set(KINDS)


def _running(config: pytest.Config, brokers: Brokers, kind: str) -> Any:
    if kind in _named_by_environment():
        config.stash[_skipped].append(kind)
        pytest.skip(f"INTEROP_SKIP names {kind}")
    broker = brokers.get(kind)
    config.stash[_used].append(broker.describe())
    return broker


def _end_run(number: int, frame: FrameType | None) -> None:
    pytest.exit(f"ended by {signal.Signals(number).name}", returncode=128 + number)
