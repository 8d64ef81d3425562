"""The default suite takes some rows of a test with many."""

from __future__ import annotations

import itertools

import pytest

from tests.kit.rows import MOST, others, spread, takes_all

ROWS = 3 * MOST


@pytest.mark.parametrize("row", range(ROWS))
def test_a_row(row: int) -> None:
    assert 0 <= row < ROWS


def test_some_rows_are_taken_or_all(request: pytest.FixtureRequest) -> None:
    taken = [item for item in request.session.items if item.name.startswith("test_a_row[")]
    wanted = request.config.getoption("--rows")
    assert len(taken) in ({0, ROWS} if takes_all(request.config) else {MOST if wanted is None else wanted})


def test_a_row_with_a_rule_of_its_own_is_taken() -> None:
    rules = [{"a"}, {"b"}, {"a", "c"}, {"b"}, {"a", "b"}, {"d"}]
    assert [*others(rules, {0, 4})] == [1, 3]


@pytest.mark.parametrize("count", [0, 1, MOST, MOST + 1, 2 * MOST, 10_000])
def test_rows_are_spread_over_all(count: int) -> None:
    taken = sorted(spread(count))
    assert len(taken) == min(count, MOST)
    assert taken[:1] == [0][:count]
    assert taken[-1:] == [count - 1][:count]
    gaps = {after - before for before, after in itertools.pairwise(taken)}
    assert not gaps or max(gaps) - min(gaps) <= 1
