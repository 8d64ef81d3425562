"""Runs scenarios: coroutines that take a `world` and are run by it, in each world of a list."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Coroutine, Generator
from contextlib import contextmanager
from typing import Any, TypeVar

import pytest

from amqp_sansio_sync import driver
from tests.kit.examples import in_system
from tests.kit.scripted import ScriptedBroker
from tests.kit.worlds import REAL_WORLDS, VIRTUAL_WORLDS, World

_F = TypeVar("_F", bound=Callable[..., object])
Where = Callable[[type[World]], bool]


def only(where: Where) -> Callable[[_F], _F]:
    """Run a scenario only in the worlds of which `where` is true."""

    def mark(scenario: _F) -> _F:
        scenario.worlds = where  # type: ignore[attr-defined]  # pyright: ignore[reportFunctionMemberAccess]
        return scenario

    return mark


def has_one_thread(kind: type[World]) -> bool:
    """Whether the world's client is the asynchronous one."""
    return not kind.has_threads


def is_adapter(kind: type[World]) -> bool:
    """Whether it is one of the project's adapters."""
    return kind.is_adapter


def in_each(metafunc: pytest.Metafunc, every: Where = lambda _: True) -> None:
    """Run a test that takes a world in each virtual one, a test of tests/system in each that has sockets and real time;
    only in those of which `every` and the test's own mark are true."""
    if "world" in metafunc.fixturenames:
        where: Where = getattr(metafunc.function, "worlds", lambda _: True)
        worlds = filter(every, REAL_WORLDS if in_system(metafunc.definition) else VIRTUAL_WORLDS)
        kinds = [each for each in worlds if where(each)]
        metafunc.parametrize("world", kinds, indirect=True, ids=[each.name for each in kinds])


def run_scenario(pyfuncitem: pytest.Function) -> bool | None:
    """Run a test that is a coroutine in its world; None if it isn't one."""
    scenario: Callable[..., Coroutine[Any, Any, None]] = pyfuncitem.obj
    if not inspect.iscoroutinefunction(scenario):
        return None
    arguments: dict[str, Any] = {name: pyfuncitem.funcargs[name] for name in inspect.signature(scenario).parameters}
    arguments["world"].run(scenario(**arguments))
    return True


@pytest.fixture
def world(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Generator[World]:
    """Where a scenario runs. In real time the blocking adapter looks often at a connection that nobody uses."""
    kind: type[World] = request.param
    if kind in REAL_WORLDS:
        monkeypatch.setattr(driver, "IDLE", 0.02)
    with kind() as made:
        yield made


@contextmanager
def broker_in(world: World, **options: Any) -> Generator[ScriptedBroker]:
    """A broker for one scenario, whose clients a script may treat worse than a broker does."""
    with world.broker(**options) as broker:
        yield broker
        assert broker.errors == []


__all__ = ["broker_in", "has_one_thread", "in_each", "is_adapter", "only", "run_scenario", "world"]
