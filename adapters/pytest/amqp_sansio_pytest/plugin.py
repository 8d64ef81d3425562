"""The pytest plug-in: fixtures `amqp_broker`, `amqp_broker_url` and `amqp_broker_factory`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast

import pytest

from .making import making, unknown_argument

if TYPE_CHECKING:
    from .azure import Azure, ServiceBus
    from .embedded import EmbeddedBroker
    from .event_hubs import EventHubs

_Azure = TypeVar("_Azure", bound="Azure")

_LINES: Final = 50
"""Lines of history in the report of a failed test."""
_FACTORY: Final = f"{__package__}.fixtures"
_BROKERS: Final = pytest.StashKey[list["EmbeddedBroker"]]()
_MARK: Final = (
    "amqp_broker(users=..., vhosts=..., clock='virtual'|'real', definitions=..., settings=..., rabbitmq=..., "
    "history=...): arguments for the broker of the fixtures amqp_broker and amqp_broker_url, see EmbeddedBroker"
)
_SERVICE_BUS: Final = "service_bus(config=..., namespace=...): arguments for the fixture service_bus, see ServiceBus"
_EVENT_HUBS: Final = "event_hubs(config=..., namespace=...): arguments for the fixture event_hubs, see EventHubs"


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
    """Register the marks."""
    config.addinivalue_line("markers", _MARK)
    config.addinivalue_line("markers", _SERVICE_BUS)
    config.addinivalue_line("markers", _EVENT_HUBS)


@pytest.fixture
def amqp_broker_factory(request: pytest.FixtureRequest) -> Iterator[Callable[..., EmbeddedBroker]]:
    """Create and start brokers, with the arguments of `EmbeddedBroker`; they end with the test.

    >>> def test_two(amqp_broker_factory):
    ...     one, other = amqp_broker_factory(), amqp_broker_factory(users={"me": "secret"})
    """
    made: list[EmbeddedBroker] = []
    request.node.stash[_BROKERS] = made
    with making(request.config, request.node.nodeid, made) as make:
        yield make


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
        wrong = unknown_argument(given)
        if wrong:
            raise pytest.UsageError(f"the mark amqp_broker has no {wrong}")
        arguments = {**given, **arguments}
    return amqp_broker_factory(**arguments)


@pytest.fixture
def amqp_broker_url(amqp_broker: EmbeddedBroker) -> str:
    """The URL of `amqp_broker`, with its first user and virtual host: "amqp://guest:guest@127.0.0.1:PORT/%2F"."""
    return amqp_broker.url


@pytest.fixture
def service_bus(request: pytest.FixtureRequest) -> Iterator[ServiceBus]:
    """An Azure Service Bus on a port of 127.0.0.1, with a clock that the test advances; see `ServiceBus`.

    The mark `service_bus` passes arguments to it:

    >>> @pytest.mark.service_bus(config="emulator.json")
    ... def test_orders(service_bus): ...
    """
    from .azure import ServiceBus

    with ServiceBus(**_arguments(request, "service_bus")) as found:
        yield _watched(request, found)
    _check(found)


@pytest.fixture
def event_hubs(request: pytest.FixtureRequest) -> Iterator[EventHubs]:
    """An Azure Event Hubs on a port of 127.0.0.1, with a clock that the test advances; see `EventHubs`.

    The mark `event_hubs` passes arguments to it:

    >>> @pytest.mark.event_hubs(config="emulator.json")
    ... def test_clicks(event_hubs): ...
    """
    from .event_hubs import EventHubs

    with EventHubs(**_arguments(request, "event_hubs")) as found:
        yield _watched(request, found)
    _check(found)


def _arguments(request: pytest.FixtureRequest, name: str) -> dict[str, Any]:
    """Return the arguments that a test's marks of a name give; the nearest wins."""
    arguments: dict[str, Any] = {}
    for mark in cast(pytest.Item, request.node).iter_markers(name):
        if mark.args:
            raise pytest.UsageError(f"the mark {name} takes arguments by name only")
        arguments = {**mark.kwargs, **arguments}
    return arguments


def _watched(request: pytest.FixtureRequest, azure: _Azure) -> _Azure:
    """Have the report of a failed test tell of its broker."""
    request.node.stash[_BROKERS] = [*request.node.stash.get(_BROKERS, []), azure.broker]
    return azure


def _check(azure: Azure) -> None:
    if azure.broker.errors:
        raise AssertionError("the broker itself failed") from azure.broker.errors[0]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Add the end of the brokers' history to the report of a failed test."""
    report = yield
    if report.failed and call.when == "call":
        none: list[EmbeddedBroker] = []
        brokers = {id(each): each for each in item.stash.get(_BROKERS, none)}
        if _FACTORY in sys.modules:
            # Those of a wider scope are values of fixtures.
            brokers.update({id(each): each for each in sys.modules[_FACTORY].among(_values(item))})
        for broker in brokers.values():
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


def _values(item: pytest.Item) -> Iterable[object]:
    """Return the values of a test's fixtures."""
    found: Mapping[str, object] = getattr(item, "funcargs", {})
    return found.values()
