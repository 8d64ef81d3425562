"""The blocking adapter has the client's classes: the same names, parameters and defaults, but for `timeout`."""

from __future__ import annotations

import inspect
from typing import Any, Final

import pytest

import amqp_sansio_asyncio
import amqp_sansio_sync
from amqp_sansio import messaging
from amqp_sansio_asyncio import amqp_0_10 as asyncio_0_10
from amqp_sansio_asyncio import amqp_1_0 as asyncio_1_0
from amqp_sansio_sync import amqp_0_10 as sync_0_10
from amqp_sansio_sync import amqp_1_0 as sync_1_0
from amqp_sansio_sync import neutral

PAIRS: Final = [
    (getattr(theirs, name), getattr(ours, name))
    for theirs, ours in (
        (amqp_sansio_asyncio, amqp_sansio_sync),
        (asyncio_0_10, sync_0_10),
        (asyncio_1_0, sync_1_0),
        (messaging, neutral),
    )
    for name in sorted(set(dir(theirs)) & set(dir(ours)))
    if inspect.isclass(getattr(theirs, name)) and getattr(theirs, name) is not getattr(ours, name)
    if name not in ("Recorder", "RecordedConnection")
]

APART: Final = {
    "uri": "set by the constructor in asyncio",
    "start": "a blocking consumer has started when consume returns",
    "session": "a blocking branch belongs to the session that made it",
    "native": "a neutral object's version of its own is reached in asyncio only",
}
"""Names that only one adapter has."""
LIMITS: Final = ("self", "timeout", "open_timeout")
"""Parameters that only blocking calls have; `timeout` of a 0-10 session is the session's own."""


def shown(kind: type[Any]) -> dict[str, object]:
    """The public attributes of a class: the parameters of its methods, None for what isn't called."""
    found: dict[str, object] = {}
    for name in dir(kind):
        value = inspect.getattr_static(kind, name)
        if name.startswith("_") or name in (*APART, "timeout"):
            continue
        found[name] = None
        if callable(value) or isinstance(value, (classmethod, staticmethod)):
            parameters = inspect.signature(getattr(kind, name)).parameters.values()
            found[name] = [(each.name, each.kind, each.default) for each in parameters if each.name not in LIMITS]
    return found


@pytest.mark.parametrize(("theirs", "ours"), PAIRS, ids=lambda kind: f"{kind.__module__}.{kind.__name__}")
def test_both_adapters_have_the_same_calls(theirs: type[Any], ours: type[Any]) -> None:
    asked, given = shown(theirs), shown(ours)
    assert len(PAIRS) > 20
    assert sorted(given) == sorted(asked)
    for name, parameters in asked.items():
        assert given[name] == parameters, name
