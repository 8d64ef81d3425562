"""The examples in the documentation of the blocking adapter do what they say."""

from __future__ import annotations

import doctest
import signal
from types import ModuleType
from typing import Any

import pytest

from amqp_sansio import Accepted
from amqp_sansio_sync import Channel, amqp_0_10, amqp_1_0, classic, connect
from tests.kit.scripted import ScriptedBroker


def examples(of: object, names: dict[str, Any]) -> dict[str, Any]:
    """What the examples in a docstring define."""
    (found,) = [test for test in doctest.DocTestFinder(recurse=False).find(of, globs=names)]
    names = found.globs
    assert doctest.DocTestRunner().run(found, clear_globs=False).failed == 0
    return names


@pytest.mark.parametrize("module", [classic, amqp_0_10, amqp_1_0], ids=lambda module: module.__name__)
def test_examples_are_python_and_none_waits_as_asyncio_does(module: ModuleType) -> None:
    names = dict(vars(module)) | {"signal": signal}
    found = [
        test
        for kind in vars(module).values()
        if isinstance(kind, type) and kind.__module__ == module.__name__
        for test in doctest.DocTestFinder().find(kind, kind.__name__, globs=names)
    ]
    assert sum(bool(test.examples) for test in found)
    for test in found:
        assert doctest.DocTestRunner().run(test).failed == 0
        for word in ("await", "async ", "asyncio"):
            assert word not in (test.docstring or ""), test.name


def test_the_example_of_connect(broker: ScriptedBroker) -> None:
    names = examples(connect, {"connect": connect})
    assert names["example"](broker.url) == 1


def test_the_example_of_publish(broker: ScriptedBroker) -> None:
    names = examples(Channel.publish, dict(vars(classic)))
    with connect(broker.url) as connection:
        channel = connection.open_channel(confirm=True)
        assert names["publish_all"](channel, [b"1", b"2"]) == [Accepted()] * 2
