"""Scenarios: each is written once, as a coroutine over the client's API, and runs in every world."""

import inspect
from collections.abc import Generator
from typing import Any

import pytest

from amqp_sansio_sync import driver
from tests.kit.scripted import ScriptedBroker
from tests.kit.worlds import WORLDS, World


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run a scenario in its world."""
    scenario = pyfuncitem.obj
    if not inspect.iscoroutinefunction(scenario):
        return None
    arguments: dict[str, Any] = {name: pyfuncitem.funcargs[name] for name in inspect.signature(scenario).parameters}
    arguments["world"].run(scenario(**arguments))
    return True


@pytest.fixture(params=WORLDS, ids=lambda kind: kind.name)
def world(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> World:
    """Where the scenario runs. The blocking adapter looks often at a connection that nobody uses."""
    monkeypatch.setattr(driver, "IDLE", 0.02)
    made: World = request.param()
    return made


@pytest.fixture
def broker() -> Generator[ScriptedBroker]:
    """A broker for one scenario, whose clients a script may treat worse than a broker does."""
    with ScriptedBroker() as broker:
        yield broker
        assert broker.errors == []
