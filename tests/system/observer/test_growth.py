"""Growth, every case: the default suite has a sample (tests/observer/test_growth.py)."""

from __future__ import annotations

from typing import Any

import pytest

from amqp_sansio import Version
from amqp_sansio.amqp_0_9_1.spec import Method
from tests.observer.test_growth import (
    CASES_0_10,
    METHODS,
    PERFORMATIVES,
    REQUESTS,
    assert_no_growth_of_commands_of_0_10,
    assert_no_growth_of_methods,
    assert_no_growth_of_performatives,
    assert_reply_is_matched,
)


@pytest.mark.parametrize(("version", "kind", "side", "variety"), METHODS)
def test_methods_cost_the_same_however_many_came_before(
    version: Version, kind: type[Method], side: str, variety: str
) -> None:
    assert_no_growth_of_methods(version, kind, side, variety)


@pytest.mark.parametrize(("act", "side", "variety"), PERFORMATIVES)
def test_performatives_cost_the_same_however_many_came_before(act: str, side: str, variety: str) -> None:
    assert_no_growth_of_performatives(act, side, variety)


@pytest.mark.parametrize("kind", REQUESTS, ids=lambda kind: kind.NAME)
def test_a_reply_finds_its_request_among_many_others(kind: type[Method]) -> None:
    assert_reply_is_matched(kind)


@pytest.mark.parametrize(("kind", "side", "variety"), CASES_0_10)
def test_commands_of_0_10_cost_the_same_however_many_came_before(kind: type[Any], side: str, variety: str) -> None:
    assert_no_growth_of_commands_of_0_10(kind, side, variety)
