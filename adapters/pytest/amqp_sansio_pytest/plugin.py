"""The pytest plug-in: fixtures `amqp_broker`, `amqp_broker_url` and `amqp_broker_factory`."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

import pytest

if TYPE_CHECKING:
    from .embedded import EmbeddedBroker

_LINES: Final = 50
"""Lines of history in the report of a failed test."""
_BROKERS: Final = pytest.StashKey[list["EmbeddedBroker"]]()
_MARK: Final = (
    "amqp_broker(users=..., vhosts=..., clock='virtual'|'real', definitions=..., settings=..., history=...): "
    "arguments for the broker of the fixtures amqp_broker and amqp_broker_url, see EmbeddedBroker"
)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add options of the command line and of the configuration file."""
    group = parser.getgroup("amqp_sansio")
    group.addoption(
        "--amqp-broker-clock",
        choices=("virtual", "real"),
        help="the clock of embedded AMQP brokers whose test names none (default: amqp_broker_clock, else virtual)",
    )
    group.addoption(
        "--amqp-broker-record",
        metavar="FOLDER",
        help="record the connections of each test's embedded AMQP brokers, as pcapng files",
    )
    parser.addini("amqp_broker_clock", "the clock of embedded AMQP brokers: virtual or real", default="virtual")


def pytest_configure(config: pytest.Config) -> None:
    """Register the mark."""
    config.addinivalue_line("markers", _MARK)


@pytest.fixture
def amqp_broker_factory(request: pytest.FixtureRequest) -> Iterator[Callable[..., EmbeddedBroker]]:
    """Create and start brokers, with the arguments of `EmbeddedBroker`; they end with the test.

    >>> def test_two(amqp_broker_factory):
    ...     one, other = amqp_broker_factory(), amqp_broker_factory(users={"me": "secret"})
    """
    from .embedded import EmbeddedBroker

    made: list[EmbeddedBroker] = []
    request.node.stash[_BROKERS] = made

    def make(**arguments: Any) -> EmbeddedBroker:
        config = request.config
        clock = config.getoption("--amqp-broker-clock") or config.getini("amqp_broker_clock")
        arguments.setdefault("clock", clock)
        folder = config.getoption("--amqp-broker-record")
        if folder is not None:
            arguments.setdefault("record", _recording(Path(folder), request.node.nodeid, len(made)))
        broker = EmbeddedBroker(**arguments)
        made.append(broker)
        return broker.start()

    yield make
    errors: list[BaseException] = []
    for broker in made:
        broker.stop()
        errors += broker.errors
    if errors:
        raise BaseExceptionGroup("the embedded AMQP broker failed", errors)


@pytest.fixture
def amqp_broker(request: pytest.FixtureRequest, amqp_broker_factory: Callable[..., EmbeddedBroker]) -> EmbeddedBroker:
    """A fresh AMQP broker on a port of 127.0.0.1, for clients of every version; see `EmbeddedBroker`.

    The mark `amqp_broker` passes arguments to it:

    >>> @pytest.mark.amqp_broker(users={"me": "secret"}, definitions={"queues": ["jobs"]})
    ... def test_orders(amqp_broker): ...
    """
    arguments: dict[str, Any] = {}
    node = cast(pytest.Item, request.node)
    # The marks nearest to the test come first, and win.
    for mark in node.iter_markers("amqp_broker"):
        if mark.args:
            raise pytest.UsageError("the mark amqp_broker takes arguments by name only")
        given: Mapping[str, Any] = mark.kwargs
        arguments = {**given, **arguments}
    return amqp_broker_factory(**arguments)


@pytest.fixture
def amqp_broker_url(amqp_broker: EmbeddedBroker) -> str:
    """The URL of `amqp_broker`, with its first user and virtual host: "amqp://guest:guest@127.0.0.1:PORT/%2F"."""
    return amqp_broker.url


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Add the end of the brokers' history to the report of a failed test."""
    report = yield
    if report.failed and call.when == "call":
        none: list[EmbeddedBroker] = []
        for broker in item.stash.get(_BROKERS, none):
            if broker.is_running:
                report.sections.append((f"AMQP broker on port {broker.port}", _state_of(broker)))
    return report


def _state_of(broker: EmbeddedBroker) -> str:
    """Return the queues, and the end of the history."""
    lines = [repr(each) for each in broker.connections]
    for name in broker.queues:
        queue = broker.queue(name)
        lines.append(f"queue {name!r}: {queue.ready} ready, {queue.unsettled} unsettled, {queue.consumers} consumers")
    if len(broker.history):
        happened = broker.history.all()
        if len(happened) > _LINES:
            lines.append(f"... {len(happened) - _LINES} earlier records")
        lines += [str(each) for each in happened[-_LINES:]]
    return "\n".join(lines) or "no queues, nothing happened"


def _recording(folder: Path, nodeid: str, number: int) -> Path:
    """Return the recording's path for one broker of a test."""
    folder.mkdir(parents=True, exist_ok=True)
    name = "".join([each if each.isalnum() or each in "-_." else "_" for each in nodeid])
    return folder / f"{name[-150:]}-{number}.pcapng"
