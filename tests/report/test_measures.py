"""Sums of bounded size: merged in any way they say what one of them says, and how wrong they are is known."""

import pickle
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import pairwise
from math import ceil
from typing import Any, TypeVar

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from amqp_sansio_report.measures import (
    WIDTHS,
    Clouds,
    Histogram,
    Largest,
    Series,
    Top,
    bucket,
    edges,
    priority,
    quarter,
    quarter_edge,
    rates,
    width_for,
)

Sum = TypeVar("Sum", Histogram, Series, Clouds, Top, Largest[str])
Row = tuple[int, int]
"""A time or key, and an amount."""

ROWS = st.lists(st.tuples(st.integers(0, 10**11), st.integers(0, 10**6)), max_size=80)
PRIORITY = 10_831_612_129_113_404_590
SPLITS = st.lists(st.integers(0, 5), min_size=80, max_size=80)


def parts(rows: Sequence[Row], split: Sequence[int]) -> list[list[Row]]:
    """The rows dealt out to six."""
    found: list[list[Row]] = [[] for _ in range(6)]
    for row, to in zip(rows, split, strict=False):
        found[to].append(row)
    return found


def merged(make: Callable[[], Sum], add: Callable[[Sum, Row], None], rows: Sequence[Row], split: Sequence[int]) -> Sum:
    """The sum of sums of parts, some of them pickled on the way, merged as a tree."""
    sums: list[Sum] = []
    for number, part in enumerate(parts(rows, split)):
        one = make()
        for row in reversed(part) if number % 2 else part:
            add(one, row)
        sums.append(pickle.loads(pickle.dumps(one)) if number % 3 else one)
    while len(sums) > 1:
        one = sums.pop(0)
        one.merge(sums.pop())
        sums.append(one)
    return sums[0]


def whole(make: Callable[[], Sum], add: Callable[[Sum, Row], None], rows: Sequence[Row]) -> Sum:
    one = make()
    for row in rows:
        add(one, row)
    return one


def of_series(one: Series, row: Row) -> None:
    one.add(row[0], row[1] % 7 - 3)


def of_clouds(one: Clouds, row: Row) -> None:
    one.add(*row)


def of_histogram(one: Histogram, row: Row) -> None:
    one.add(row[1])


def of_top(one: Top, row: Row) -> None:
    one.add((f"k{row[1] % 17}",), priority("ab", row[0]), (row[1],))


def of_largest(one: Largest[str], row: Row) -> None:
    one.add((-row[1], row[0]), str(row))


def seen(one: Any) -> object:
    """What a sum says to the outside."""
    if isinstance(one, Histogram):
        return (one.counts, one.count, one.total, one.least, one.most, one.quantile(0.5), one.quantile(0.99))
    if isinstance(one, Series):
        return one.width, one.steps(), one.levels(), one.total
    if isinstance(one, Clouds):
        return one.width, one.cells
    if isinstance(one, Top):
        return one.rows, one.sums, one.exact, one.keys, one.ranks(100)
    return one.items(), one.count, one.cut


CASES: list[tuple[Callable[[], Any], Callable[[Any, Row], None]]] = [
    (Histogram, of_histogram),
    (lambda: Series(9), of_series),
    (lambda: Clouds(9), of_clouds),
    (lambda: Top(9, 1), of_top),
    (lambda: Top(30, 1), of_top),
    (lambda: Largest[str](9), of_largest),
]


@pytest.mark.parametrize(("make", "add"), CASES, ids=["histogram", "series", "clouds", "sample", "top", "largest"])
@given(rows=ROWS, split=SPLITS)
def test_merged_in_any_way_they_say_the_same(
    make: Callable[[], Any], add: Callable[[Any, Row], None], rows: list[Row], split: list[int]
) -> None:
    if make() is not None and isinstance(make(), Largest):
        rows = list(dict.fromkeys(rows))  # ranks are unique
    assert seen(merged(make, add, rows, split)) == seen(whole(make, add, rows))


@given(values=st.lists(st.integers(0, 2**60), min_size=1), share=st.sampled_from([0.01, 0.5, 0.95, 0.99, 1.0]))
def test_quantiles_are_those_of_the_values_within_a_64th(values: list[int], share: float) -> None:
    histogram = Histogram()
    for value in values:
        histogram.add(value)
    exact = sorted(values)[max(0, ceil(share * len(values)) - 1)]
    found = histogram.quantile(share)
    assert found is not None
    assert abs(found - exact) <= exact / 64
    assert (histogram.count, histogram.total) == (len(values), sum(values))
    assert (histogram.least, histogram.most) == (min(values), max(values))


@given(value=st.integers(0, 2**64))
@example(value=2)
def test_a_value_lies_in_its_bucket(value: int) -> None:
    low, high = edges(bucket(value))
    assert low <= value < high
    assert high - low == 1 or (high - low) * 32 <= low
    index = quarter(value)
    assert quarter_edge(index) <= max(value, 1)
    # Below 4 the quarters of a power of two begin between whole numbers.
    assert value < max(quarter_edge(index + 1), 4)


def test_each_width_divides_the_next() -> None:
    assert WIDTHS[0] == 1
    assert all(wide % narrow == 0 for narrow, wide in pairwise(WIDTHS))


@given(rows=ROWS)
def test_a_series_is_exact_until_it_has_too_many_steps(rows: list[Row]) -> None:
    series = whole(lambda: Series(1000), of_series, rows)
    sums: Counter[int] = Counter()
    for at, amount in rows:
        sums[at] += amount % 7 - 3
    assert series.width == 1
    assert series.steps() == sorted(sums.items())


@given(rows=ROWS)
def test_a_series_has_the_smallest_width_that_is_enough(rows: list[Row]) -> None:
    series = whole(lambda: Series(5), of_series, rows)
    assert len(series.cells) <= 5
    if series.level:
        narrower = WIDTHS[series.level - 1]
        assert len({at // narrower for at, _ in rows}) > 5
    assert series.total == sum(amount % 7 - 3 for _, amount in rows)


@given(rows=ROWS)
def test_rates_lose_nothing(rows: list[Row]) -> None:
    series = whole(lambda: Series(50), of_series, rows)
    width = width_for(10**11, 40, [series])
    assert width >= series.width
    steps = rates(series, width)
    assert sum(steps.values()) == series.total
    assert set(steps) == {at // width for at, _ in rows}


def test_a_cloud_stays_bounded_when_all_time_is_one_step() -> None:
    clouds = Clouds(3)
    for power in range(40):
        clouds.add(power * 10**17, 2**power)
    assert sum(clouds.cells.values()) == 40
    assert len({index for index, _ in clouds.cells}) == 1


def test_a_sample_finds_what_comes_often() -> None:
    """One key in ten is the same, all others are different: more keys than can be counted."""
    top = Top(1000, 1)
    for number in range(50_000):
        name = "often" if number % 10 == 0 else f"once-{number}"
        top.add((name,), priority("5eed", number), (2,))
    (key, count, (amount,)), *_ = top.ranks(5)
    assert (top.exact, top.rows, top.sums, top.keys) == (False, 50_000, (100_000,), None)
    assert key == ("often",)
    assert abs(count - 5000) < 1500  # five times the standard deviation of such a sample
    assert amount == pytest.approx(2 * count, abs=2)
    assert len(pickle.dumps(top)) < 100_000


def test_priorities_are_spread_and_the_same_on_every_run() -> None:
    numbers = [priority("00ff", number) for number in range(4000)]
    assert len(set(numbers)) == 4000
    assert abs(sum(numbers) / 4000 / 2**63 - 1) < 0.05
    assert priority("00ff", 1) == PRIORITY
