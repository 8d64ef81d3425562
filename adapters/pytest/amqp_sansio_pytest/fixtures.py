"""Fixtures of a wider scope: one broker for a class, a module, a package or the whole session."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Literal

import pytest

from .embedded import EmbeddedBroker
from .making import making, unknown_argument

Scope = Literal["function", "class", "module", "package", "session"]


def broker_fixture(
    scope: Scope = "session", *, name: str | None = None, autouse: bool = False, **arguments: Any
) -> Callable[[pytest.FixtureRequest], Iterator[EmbeddedBroker]]:
    """Return a fixture with a broker that all tests of a scope share.

    Assign it to a name in a test module or in conftest.py; with the name `amqp_broker` it takes the place of the
    plug-in's own, and `amqp_broker_url` follows it. `arguments` are those of `EmbeddedBroker`, checked at once. What
    one test leaves in the broker, the next one finds: give each test a queue or a virtual host of its own, or
    `broker.history.clear()` and `broker.queue(name).purge()`.

    Raises TypeError for an argument that `EmbeddedBroker` doesn't have.

    >>> orders_broker = broker_fixture("module", definitions={"queues": ["orders"]})
    """
    wrong = unknown_argument(arguments)
    if wrong:
        raise TypeError(f"EmbeddedBroker has no argument {wrong}")

    @pytest.fixture(scope=scope, name=name, autouse=autouse)
    def shared_broker(request: pytest.FixtureRequest) -> Iterator[EmbeddedBroker]:
        """A broker that several tests share."""
        with making(request.config, f"{request.node.nodeid}-{request.fixturename}", []) as make:
            yield make(**arguments)

    return shared_broker


def among(values: Iterable[object]) -> list[EmbeddedBroker]:
    """Return the brokers among the values of a test's fixtures."""
    return [each for each in values if isinstance(each, EmbeddedBroker)]


__all__ = ["Scope", "among", "broker_fixture"]
