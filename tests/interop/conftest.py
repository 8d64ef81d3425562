"""Real brokers as fixtures: one of each kind for the run, started when a test first asks for it.

INTEROP_SKIP names the brokers to do without (`rabbitmq`, `brokerj`); the last line of the run says
what was left out.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Generator, Iterator
from pathlib import Path
from types import FrameType

import pytest

from tests.interop.brokers.brokerj import BrokerJ, run_brokerj
from tests.interop.brokers.rabbitmq import RabbitMQ, run_rabbitmq

KINDS = ("rabbitmq", "brokerj")

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


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.is_relative_to(Path(__file__).parent):
            item.add_marker(pytest.mark.interop)


@pytest.fixture(scope="session")
def rabbitmq(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[RabbitMQ]:
    """A RabbitMQ node for the whole run; a test cleans up what it declares."""
    _skip_when_named(request.config, "rabbitmq")
    with run_rabbitmq(tmp_path_factory.mktemp("rabbitmq")) as broker:
        request.config.stash[_used].append(broker.describe())
        yield broker


@pytest.fixture(scope="session")
def brokerj(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[BrokerJ]:
    """A Qpid Broker-J for the whole run; a test cleans up what it declares."""
    _skip_when_named(request.config, "brokerj")
    with run_brokerj(tmp_path_factory.mktemp("brokerj")) as broker:
        request.config.stash[_used].append(broker.describe())
        yield broker


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    if config.stash[_used]:
        terminalreporter.section("brokers")
    for line in config.stash[_used]:
        terminalreporter.write_line(line)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_sessionfinish(session: pytest.Session) -> Generator[None, None, None]:
    """Comes after the terminal reporter's own closing line."""
    yield
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    skipped = session.config.stash[_skipped]
    if isinstance(reporter, pytest.TerminalReporter) and skipped:
        reporter.write_line(f"INTEROP_SKIP: nothing was tested against {', '.join(skipped)}")


def _named_by_environment() -> set[str]:
    return set(os.environ.get("INTEROP_SKIP", "").replace(",", " ").split())


def _skip_when_named(config: pytest.Config, kind: str) -> None:
    if kind in _named_by_environment():
        config.stash[_skipped].append(kind)
        pytest.skip(f"INTEROP_SKIP names {kind}")


def _end_run(number: int, frame: FrameType | None) -> None:
    pytest.exit(f"ended by {signal.Signals(number).name}", returncode=128 + number)
