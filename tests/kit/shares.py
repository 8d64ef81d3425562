"""Pytest plug-in: `--share=K/N` takes each N-th row of a test, beginning with row K, so that N runs take them all.

It is for continuous integration, where a run takes a share and the next commit another: a fault that a test of many
rows finds is mostly in many of them. A test with fewer rows than N is taken whole, unless it has the mark `large` or
`spark`: the main way in Spark is in the default suite, and all of its tests take as long as a third of the others. With
`--full-examples`, which leaves the other tests to the default suite, each is taken by one of the N runs.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final, NamedTuple, cast
from zlib import crc32

import pytest

from .rows import keep, rows_of


class Share(NamedTuple):
    """The rows of one of several runs."""

    number: int
    """The number of the run, from 0 on."""
    of: int
    """The number of runs that take all rows together."""


_FORM: Final = re.compile(r"(\d+)/(\d+)", re.ASCII)


def share(text: str) -> Share:
    """Return the share that a text like `0/4` names. Raises ValueError if there is none of this number."""
    read = _FORM.fullmatch(text)
    if read is None:
        raise ValueError(text)
    named = Share(int(read[1]), int(read[2]))
    if named.number >= named.of:
        raise ValueError(text)
    return named


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("rows")
    group.addoption("--share", type=share, metavar="K/N", help="take each N-th row of a test, beginning with row K")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave the rows of the other shares out, after all that leaves rows out for other reasons."""
    chosen = cast("Share | None", config.getoption("--share"))
    if chosen is not None:
        dropped = of_other_shares(items, chosen, whole=not config.getoption("--full-examples"))
        keep(config, items, lambda item: item.nodeid not in dropped)


def of_other_shares(items: Iterable[pytest.Item], chosen: Share, whole: bool) -> set[str]:
    """Return the ids of the rows that other shares have; none of a test with few rows that is taken `whole`."""
    dropped: set[str] = set()
    for name, rows in rows_of(items).items():
        if whole and len(rows) < chosen.of and not _takes_long(rows[0]):
            continue
        # Each test begins elsewhere: tests with one row would all be in the first share.
        begin = crc32(name.encode())
        dropped.update(row.nodeid for at, row in enumerate(rows) if (begin + at) % chosen.of != chosen.number)
    return dropped


def _takes_long(item: pytest.Item) -> bool:
    return any(item.get_closest_marker(name) is not None for name in ("large", "spark"))
