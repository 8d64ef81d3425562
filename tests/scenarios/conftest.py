"""Scenarios: each is written once, as a coroutine over the client's API, and runs in every virtual world.

tests/system/scenarios runs the same in the worlds that have sockets and real time.
"""

from collections.abc import Generator

import pytest

from tests.kit.scenarios import broker_in, in_each, run_scenario, world
from tests.kit.scripted import ScriptedBroker
from tests.kit.worlds import World

__all__ = ["broker", "pytest_generate_tests", "pytest_pyfunc_call", "world"]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run each scenario in every world."""
    in_each(metafunc)


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run a scenario in its world."""
    return run_scenario(pyfuncitem)


@pytest.fixture
def broker(world: World) -> Generator[ScriptedBroker]:
    """A broker for one scenario, whose clients a script may treat worse than a broker does."""
    with broker_in(world) as made:
        yield made
