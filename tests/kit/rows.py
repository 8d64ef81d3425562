"""Pytest plug-in: the default suite takes some of a test's rows, `make test-system` takes the others.

A test that is generated over all methods, fields or states has hundreds of rows, and most changes break many of them at
once or none. So of a test with more than `MOST` rows the default suite takes `MOST`, spread evenly, always the same,
and each row that names a rule which no other row names. `--rows=N` takes N in place of that, and no more for rules: for
another interpreter or build of the same code, with which a test passes in each row or in none. `--all-rows` takes all
of them, and so does who names a test on the command line (`pytest tests/x.py::test_y`); `--full-examples` takes those
that the default suite leaves out.

What has the mark `large` takes longer than a case of the default suite may, and others prove its kind in small.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from collections.abc import Set as AbstractSet
from typing import Final, cast

import pytest

MOST: Final = 16
"""Rows of a test that the default suite takes at least, if there are as many."""


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("rows")
    group.addoption("--all-rows", action="store_true", help=f"take all rows of a test, also of one with over {MOST}")
    group.addoption("--rows", type=int, metavar="N", help=f"take N rows of a test that has more, in place of {MOST}")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave rows out, the same whatever order the tests have been put into."""
    if takes_all(config):
        return
    dropped = left_out(items, cast("int | None", config.getoption("--rows")))
    keep(config, items, lambda item: item.nodeid not in dropped)


def keep(config: pytest.Config, items: list[pytest.Item], is_kept: Callable[[pytest.Item], bool]) -> None:
    """Leave out the tests of a run that aren't kept, and let pytest count them."""
    dropped: list[pytest.Item] = []
    kept: list[pytest.Item] = []
    for item in items:
        (kept if is_kept(item) else dropped).append(item)
    if dropped:
        config.hook.pytest_deselected(items=dropped)
        items[:] = kept


def takes_all(config: pytest.Config) -> bool:
    """Whether the run takes all rows: by its options, or because its arguments name a test."""
    return (
        bool(config.getoption("--all-rows"))
        or bool(config.getoption("--full-examples"))
        or config.getoption("--explore") is not None
        or any("::" in each for each in config.args)
    )


def left_out(items: Iterable[pytest.Item], most: int | None = None) -> set[str]:
    """Return the ids of the rows that the default suite leaves out; none of tests/system and tests/interop.

    With `most`, so many rows of a test are taken, whatever rules the others name.
    """
    small: list[pytest.Item] = []
    dropped: set[str] = set()
    for item in items:
        if item.nodeid.startswith(("tests/system/", "tests/interop/")):
            continue
        if item.get_closest_marker("large") is not None:
            dropped.add(item.nodeid)
        else:
            small.append(item)
    for rows in rows_of(small).values():
        chosen = spread(len(rows), MOST if most is None else most)
        if len(chosen) < len(rows):
            rules = [_rules(row) if most is None else frozenset[str]() for row in rows]
            dropped.update(rows[at].nodeid for at in others(rules, chosen))
    return dropped


def rows_of(items: Iterable[pytest.Item]) -> dict[str, list[pytest.Item]]:
    """Return the rows of each test, by its id without a row's, in the test's own order, whatever that of `items`."""
    tests: defaultdict[str, list[pytest.Item]] = defaultdict(list)
    for item in items:
        tests[item.nodeid.partition("[")[0]].append(item)
    return {name: sorted(rows, key=_place) for name, rows in tests.items()}


def _place(item: pytest.Item) -> tuple[int, ...]:
    """Where a row stands among those of its test, as the test has them."""
    callspec = getattr(item, "callspec", None)
    return () if callspec is None else tuple(callspec.indices.values())


def spread(count: int, most: int = MOST) -> frozenset[int]:
    """Return which of so many rows are taken: `most` at most, the first and the last among them."""
    if count <= most:
        return frozenset(range(count))
    return frozenset(round(each * (count - 1) / max(most - 1, 1)) for each in range(most))


def others(rules: Sequence[AbstractSet[str]], chosen: AbstractSet[int]) -> Iterable[int]:
    """Return, of rows with these rules, those that are neither chosen nor name a rule that no row before them names."""
    named = {rule for at in chosen for rule in rules[at]}
    for at, row in enumerate(rules):
        if at in chosen:
            continue
        if row <= named:
            yield at
        named |= row


def _rules(item: pytest.Item) -> set[str]:
    return {cast("str", each) for mark in item.iter_markers("rule") for each in mark.args}
