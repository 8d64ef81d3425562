"""Growth, every case: the default suite has a sample (tests/broker/test_growth.py)."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.broker.test_growth import (
    CASES,
    LINKS,
    REQUESTS,
    Asked,
    assert_no_growth_of_acts,
    assert_no_growth_of_commands,
    assert_no_growth_of_requests,
)


@pytest.mark.parametrize("name", CASES)
def test_commands_cost_the_same_however_many_came_before(name: str) -> None:
    assert_no_growth_of_commands(name)


@pytest.mark.parametrize("asked", REQUESTS, ids=lambda asked: asked.name)
def test_requests_cost_the_same_however_many_came_before(asked: Asked) -> None:
    assert_no_growth_of_requests(asked)


@pytest.mark.parametrize(("acts", "name"), LINKS)
def test_acts_of_1_0_and_0_10_cost_the_same(acts: Callable[[str], Callable[[int], object]], name: str) -> None:
    assert_no_growth_of_acts(acts, name)
