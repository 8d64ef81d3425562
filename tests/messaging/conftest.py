"""The programs of these tests run on every version, in each virtual world of an adapter.

tests/system/messaging runs the same over sockets.
"""

from collections.abc import Generator

import pytest

from amqp_sansio import Version
from tests.kit.messaging_programs import Runner
from tests.kit.scenarios import broker_in, in_each, is_adapter, world
from tests.kit.scripted import ScriptedBroker
from tests.kit.worlds import World

__all__ = ["broker", "echo", "pytest_generate_tests", "runner", "version", "world"]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run each test in every world that has an adapter."""
    in_each(metafunc, is_adapter)


@pytest.fixture(params=list(Version), ids=lambda each: each.label)
def version(request: pytest.FixtureRequest) -> Version:
    """Each version."""
    found: Version = request.param
    return found


@pytest.fixture
def broker(world: World) -> Generator[ScriptedBroker]:
    """A broker with two queues."""
    with broker_in(world, definitions={"queues": ["jobs", "rpc"]}, clock="real") as made:
        yield made


@pytest.fixture
def runner(world: World, broker: ScriptedBroker, version: Version) -> Runner:
    """Runs programs on each version and adapter."""
    return Runner(world, broker, version)


@pytest.fixture
def echo(runner: Runner) -> Generator[None]:
    """A service on the queue rpc, which answers each request with its body twice."""
    with runner.echo():
        yield
